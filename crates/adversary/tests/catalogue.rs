//! Tests of the catalogue: a few runs of each attack, the exact figures of the sampler, and the table in the
//! documentation.

use brickwork::circuit::Party;
use brickwork::cut_and_choose::{BucketRule, Bucketing};
use brickwork::duplo::Cheat;
use brickwork::duplo::adversary::harness::{CHEATS, HonestEnding};
use brickwork::random::Rng;
use brickwork_adversary::sampler::{bad_for, exact, successes};
use brickwork_adversary::{catalogue, play, table, within};
use brickwork_testing::Replayable as _;

/// The number of runs of each attack here; `cargo xtask attacks` plays thousands.
const RUNS: usize = 40;

#[test]
fn every_attack_ends_as_its_row_requires() {
    for attack in catalogue() {
        let certain = attack.endings.len() == 1;
        let result = play(&attack, if certain { 2 } else { RUNS });
        assert!(result.holds, "row {} {}: {:?}", attack.row, attack.variant, result.fault);
    }
}

/// Every row is in the catalogue, except rows that only a test of a single function can show.
#[test]
fn every_row_and_every_check_is_there() {
    let all = catalogue();
    let rows: std::collections::BTreeSet<u8> = all.iter().map(|a| a.row).collect();
    assert!(rows.into_iter().eq(1..=30));
    for &cheat in CHEATS {
        let seen =
            all.iter().any(|a| a.endings.iter().any(|(ending, _)| *ending == HonestEnding::Caught(cheat)));
        // Two accepted labels of one colour need a collision of BLAKE3, so a unit test provokes this check.
        assert_eq!(seen, cheat != Cheat::ThirdLabel, "{cheat:?}");
    }
}

/// Rule (d): for each check that can fail while a store has secrets, the catalogue has a cheat that burns
/// these secrets.
#[test]
fn every_check_burns() {
    let all = catalogue();
    for &cheat in CHEATS {
        let burns = all
            .iter()
            .any(|a| a.variant.contains("burn") && a.endings == [(HonestEnding::Caught(cheat), 1.0)]);
        // Base OTs come before there are secrets, and a third label needs a collision.
        assert_eq!(
            burns,
            ![Cheat::BaseOtPoint, Cheat::BaseOtIdentity, Cheat::BaseOtVector, Cheat::ThirdLabel]
                .contains(&cheat),
            "{cheat:?}"
        );
    }
}

#[test]
fn names_and_probabilities_make_sense() {
    let all = catalogue();
    let mut names: Vec<_> = all.iter().map(|a| (a.row, a.variant)).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len(), "a name twice");
    for attack in &all {
        let total: f64 = attack.endings.iter().map(|(_, p)| p).sum();
        assert!((total - 1.0).abs() < 1e-9 && (1..=30).contains(&attack.row), "{}", attack.variant);
        // A story must not refer to another story, because its reader has not read the others.
        let refers = ["The same with", "The same when", "The same,"]
            .iter()
            .any(|start| attack.story.starts_with(start));
        assert!(attack.story.ends_with('.') && !refers, "{}", attack.story);
    }
    let mut stories: Vec<_> = all.iter().map(|attack| attack.story).collect();
    stories.sort_unstable();
    let twice = stories.windows(2).find(|pair| pair[0] == pair[1]);
    assert!(twice.is_none(), "a story twice: {twice:?}");
}

/// The catalogue reports an error if a run with an attack ends like an honest run.
#[test]
fn what_does_not_end_as_predicted_is_told() {
    let mut attack = catalogue().into_iter().find(|a| a.variant == "flipped_table").unwrap();
    attack.endings = vec![(HonestEnding::Survived, 1.0)];
    assert!(!play(&attack, 1).holds);
    let mut attack = catalogue().into_iter().find(|a| a.variant == "one_coordinate").unwrap();
    attack.endings = vec![(HonestEnding::Caught(Cheat::Commitment), 0.999), (HonestEnding::Survived, 0.001)];
    assert!(!play(&attack, RUNS).holds);
    assert_eq!(attack.cheater, Some(Party::Garbler));
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
fn the_documentation_has_the_present_table() {
    let text = std::fs::read_to_string(table::page()).unwrap();
    assert!(table::is_current(&text), "docs/concepts/security.md is stale: cargo xtask attacks --write");
}
