//! Tests of the catalogues: a few runs of each attack, the exact figures of the sampler, and the tables in
//! the documentation.

use std::collections::BTreeSet;

use brickwork::circuit::Party;
use brickwork::cut_and_choose::{BucketRule, Bucketing};
use brickwork::duplo::Cheat;
use brickwork::random::Rng;
use brickwork_adversary::sampler::{bad_for, exact, successes};
use brickwork_adversary::{Attack, AttackPage, authenticated, duplo, jimu, lego, name, pages, play, within};
use brickwork_harness::Ending;
use brickwork_testing::Replayable as _;

/// The number of runs of an attack that depends on a guess of seven bits: fewer runs might have no right
/// guess.
const GUESSED: usize = 3000;

/// Plays all attacks a few times: this often if the ending is certain, and otherwise `rate` times. `cargo
/// xtask attacks` plays thousands.
fn every_attack_ends_as_required(attacks: &[Attack], certain: usize, rate: usize) {
    for attack in attacks {
        let runs = match attack.endings.len() {
            1 => certain,
            _ if attack.protocol == "authenticated" && attack.trials == GUESSED => GUESSED,
            _ => rate,
        };
        let result = play(attack, runs);
        assert!(result.holds, "row {} {}: {:?}", attack.row, attack.variant, result.fault);
    }
}

#[test]
fn duplo_ends_every_attack_as_its_row_requires() {
    every_attack_ends_as_required(&duplo::catalogue(), 2, 40);
}

/// Plays the cheats against copies, authenticators and OTs whose success has a rate as often as it takes to
/// count the successes.
#[test]
fn duplo_cheats_succeed_at_their_rates() {
    let mut attacks = duplo::catalogue();
    attacks.retain(|attack| [5, 8, 9, 12, 14].contains(&attack.row) && attack.endings.len() > 1);
    assert!(attacks.len() >= 8, "{} attacks", attacks.len());
    for attack in attacks {
        let result = play(&attack, attack.trials);
        assert!(result.holds, "row {} {}: {:?}", attack.row, attack.variant, result.fault);
    }
}

#[test]
fn jimu_ends_every_attack_as_its_row_requires() {
    every_attack_ends_as_required(&jimu::catalogue(), 2, 30);
}

#[test]
fn lego_ends_every_attack_as_its_row_requires() {
    every_attack_ends_as_required(&lego::catalogue(), 2, 30);
}

#[test]
fn authenticated_ends_every_attack_as_its_row_requires() {
    let all = authenticated::catalogue();
    assert_eq!(all.iter().filter(|attack| attack.trials == GUESSED).count(), 4);
    every_attack_ends_as_required(&all, 6, 300);
}

/// Attacks fail each check, except checks for which the page has a reason why no cheater can fail them.
#[test]
fn every_check_is_seen_to_fail() {
    for page in pages() {
        for line in &page.checks {
            let sees = |attack: &Attack| attack.endings.iter().any(|(ending, _)| *ending == line.ending);
            let seen = page.attacks.iter().any(sees);
            assert_eq!(seen, line.unprovoked.is_none(), "{} {:?}", page.protocol, line.ending);
        }
    }
    // Two labels of one colour need a collision of a hash; unit tests provoke these checks.
    let unprovoked =
        pages().into_iter().flat_map(|page| page.checks).filter(|line| line.unprovoked.is_some());
    assert!(unprovoked.map(|line| name(&line.ending)).eq(["ThirdLabel", "ThirdLabel"]));
}

/// Every row is in DUPLO's list.
#[test]
fn every_row_is_there() {
    let rows: BTreeSet<u8> = duplo::catalogue().iter().map(|a| a.row).collect();
    assert!(rows.into_iter().eq(1..=30));
}

/// Rule (d): for each check that can fail while a store has secrets, the catalogue has a cheat that burns
/// these secrets.
#[test]
fn every_check_burns() {
    let all = duplo::catalogue();
    for &cheat in Cheat::ALL {
        let caught = [(Ending::caught(cheat), 1.0)];
        let burns = all.iter().any(|a| a.variant.contains("burn") && a.endings == caught);
        // Base OTs come before there are secrets, and a third label needs a collision.
        let never = [Cheat::BaseOtPoint, Cheat::BaseOtIdentity, Cheat::BaseOtVector, Cheat::ThirdLabel];
        assert_eq!(burns, !never.contains(&cheat), "{cheat:?}");
    }
}

/// No two attacks of a protocol share a name or a story, and the probabilities of endings add up to 1.
#[test]
fn names_and_probabilities_make_sense() {
    for AttackPage { attacks, .. } in pages() {
        let names: BTreeSet<_> = attacks.iter().map(|a| (a.row, a.variant)).collect();
        let stories: BTreeSet<_> = attacks.iter().map(|a| a.story).collect();
        assert_eq!((names.len(), stories.len()), (attacks.len(), attacks.len()), "a name or a story twice");
        for attack in &attacks {
            let total: f64 = attack.endings.iter().map(|(_, p)| p).sum();
            assert!((total - 1.0).abs() < 1e-9, "{}", attack.variant);
            assert!(attack.endings.iter().all(|(_, p)| *p > 0.0), "{}", attack.variant);
            // A story must not refer to another story, because its reader has not read the others.
            let refers = ["The same with", "The same when", "The same,"]
                .iter()
                .any(|start| attack.story.starts_with(start));
            assert!(attack.story.ends_with('.') && !refers, "{}", attack.story);
        }
    }
}

/// A run that ends otherwise than predicted is reported, for an attack with a rate and one with a certain
/// ending.
#[test]
fn what_does_not_end_as_predicted_is_told() {
    for (mut attacks, rate, certain) in [
        (duplo::catalogue(), "one_coordinate", "flipped_table"),
        (jimu::catalogue(), "one_symbol", "whole_bucket"),
        (lego::catalogue(), "two_coordinates", "whole_bucket"),
        (authenticated::catalogue(), "garblers_three_bets", "first_gate_is_nand"),
    ] {
        let named = |variant: &str, attacks: &mut Vec<Attack>| {
            attacks.remove(attacks.iter().position(|attack| attack.variant == variant).expect("an attack"))
        };
        let mut rate = named(rate, &mut attacks);
        let one = rate.endings[0].1;
        rate.endings[0].1 = one * 0.6 + 0.3 * f64::from(u8::from(one < 0.5));
        rate.endings[1].1 = 1.0 - rate.endings[0].1;
        assert!(!play(&rate, 300).holds);
        let mut certain = named(certain, &mut attacks);
        assert_eq!(certain.cheater, Some(Party::Garbler));
        let told = name(&certain.endings[0].0);
        certain.endings = vec![(Ending::Survived, 1.0)];
        let result = play(&certain, 1);
        assert_eq!((result.holds, result.fault), (false, Some(format!("it ended as {told}"))));
    }
}

/// A thousand runs distinguish each rate of LEGO from half or twice the rate.
#[test]
fn rates_are_told_from_their_neighbours() {
    for attack in lego::catalogue().iter().filter(|attack| attack.endings.len() > 1) {
        let n = attack.trials as f64;
        assert!(n >= 1000.0, "{}", attack.variant);
        for (ending, p) in &attack.endings {
            let (twice, deviation) = (f64::min(2.0 * p, 1.0 - (1.0 - p) / 2.0), (p * (1.0 - p) / n).sqrt());
            let far = (twice - p).min(p / 2.0) / deviation;
            // The distance is 4.5 standard deviations, except for rare endings.
            assert!(far > 4.5 || *p < 0.1 || *p > 0.9, "{} {}: {far}", attack.variant, name(ending));
        }
    }
}

/// Selective failure: the frequency of each ending is the same for inputs 0…0 and 1…1, by a test of two
/// proportions.
#[test]
fn aborts_do_not_depend_on_inputs() {
    for (all, expected, runs) in
        [(lego::catalogue(), 4, 150), (duplo::catalogue(), 1, 1200), (jimu::catalogue(), 2, 150)]
    {
        let mut pairs = 0;
        for (zeros, of) in all.iter().filter_map(|attack| {
            let of = ["for_inputs_of_", "for_input_"].into_iter().find(|of| attack.variant.contains(*of))?;
            attack.variant.ends_with('0').then_some((attack, of))
        }) {
            let other = zeros.variant.replace(&format!("{of}0"), &format!("{of}1"));
            let ones = all.iter().find(|attack| (attack.row, attack.variant) == (zeros.row, other.as_str()));
            let ones = ones.expect("the same against inputs of 1");
            // Against copies whose offsets have colour 0, the ending depends on the input, as the story says.
            if zeros.endings != ones.endings {
                continue;
            }
            let [zeros, ones] = [zeros, ones].map(|attack| play(attack, runs));
            assert!(zeros.holds && ones.holds, "{:?} {:?}", zeros.fault, ones.fault);
            for (zero, one) in zeros.endings.iter().zip(&ones.endings) {
                assert_eq!(zero.ending, one.ending);
                let (a, b) = (zero.observed as f64, one.observed as f64);
                let pooled = (a + b) / (2 * runs) as f64;
                let deviation = (2.0 * pooled * (1.0 - pooled) * runs as f64).sqrt();
                assert!((a - b).abs() <= 4.5 * deviation, "{}: {a} and {b} of {runs}", zero.ending);
            }
            pairs += 1;
        }
        assert_eq!(pairs, expected);
    }
}

/// The sampler agrees with the exact figures for small parameters, with a million trials for each.
#[test]
fn the_sampler_agrees_with_the_exact_figures() {
    let figures = [
        (Bucketing { slots: 4, bucket: 2, opened: 8 }, BucketRule::COMPONENT, 3, 0.0429),
        (Bucketing { slots: 8, bucket: 2, opened: 16 }, BucketRule::COMPONENT, 3, 0.0226),
        (Bucketing { slots: 8, bucket: 3, opened: 24 }, BucketRule::INPUT_AUTHENTICATOR, 3, 0.0296),
        (Bucketing { slots: 4, bucket: 3, opened: 12 }, BucketRule::COMPONENT, 4, 0.0034),
        (Bucketing { slots: 4, bucket: 3, opened: 12 }, BucketRule::COMPONENT, 5, 0.0034),
    ];
    let mut rng = Rng::replayable("test");
    for (cut, rule, bad, expected) in figures {
        let p = exact(cut, bad_for(cut, rule) as u32, bad);
        assert!((p - expected).abs() < 5e-5, "{cut:?}: {p}");
        let bound = cut.bound(rule).log2().exp2();
        assert!(
            (bound / p - 1.0).abs() < 1e-6,
            "{cut:?}: the bound is {bound}, its best attack succeeds with {p}"
        );
        let trials = 1_000_000;
        let observed = successes(cut, rule, bad as usize, trials, &mut rng);
        println!("{cut:?}, {bad} bad: {observed} of {trials}, exactly {:.1}", p * trials as f64);
        assert!(
            within(observed, trials, p),
            "{cut:?}, {bad} bad: {observed} of {trials}, exactly {:.1}",
            p * trials as f64
        );
    }
}

#[test]
fn the_documentation_has_the_present_tables() {
    for page in pages() {
        let text = std::fs::read_to_string(page.path()).unwrap();
        let stale = page.check(&text).err();
        assert_eq!(stale, None, "cargo xtask attacks --write {}", page.protocol);
    }
}
