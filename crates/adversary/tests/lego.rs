//! The attacks on LEGO: a few runs of each, every check, both inputs compared, and the tables in the
//! documentation.

use std::collections::BTreeSet;

use brickwork::lego::Cheat;
use brickwork::lego::adversary::Ending;
use brickwork_adversary::family::name;
use brickwork_adversary::lego::{catalogue, page};

/// Runs of each attack here; `cargo xtask attacks` plays a thousand.
const RUNS: usize = 30;

#[test]
fn every_attack_ends_as_its_row_requires() {
    for attack in catalogue() {
        let result = attack.played(if attack.endings.len() == 1 { 2 } else { RUNS });
        assert!(result.holds, "row {} {}: {:?}", attack.row, attack.variant, result.fault);
    }
}

/// Every check but one, of which the page says why no cheater can provoke it.
#[test]
fn every_check_is_seen_to_fail() {
    let all = catalogue();
    for &check in Cheat::ALL {
        let seen = all.iter().any(|a| a.endings.iter().any(|(e, _)| *e == Ending::Caught(check.into())));
        assert_eq!(seen, check != Cheat::ThirdLabel, "{check:?}");
    }
    let third: brickwork::Cheat = Cheat::ThirdLabel.into();
    assert!(page().unprovoked.iter().map(|(check, _)| *check).eq([third]));
}

#[test]
fn names_and_probabilities_make_sense() {
    let all = catalogue();
    let names: BTreeSet<_> = all.iter().map(|a| (a.row, a.variant)).collect();
    let stories: BTreeSet<_> = all.iter().map(|a| a.story).collect();
    assert_eq!((names.len(), stories.len()), (all.len(), all.len()), "a name or a story twice");
    for attack in &all {
        let total: f64 = attack.endings.iter().map(|(_, p)| p).sum();
        assert!((total - 1.0).abs() < 1e-9 && attack.story.ends_with('.'), "{}", attack.variant);
        assert!(attack.endings.iter().all(|(_, p)| *p > 0.0), "{}", attack.variant);
    }
}

/// A thousand runs tell a rate from half or twice as much, for every attack that has one.
#[test]
fn rates_are_told_from_their_neighbours() {
    for attack in catalogue().iter().filter(|attack| attack.endings.len() > 1) {
        let n = attack.trials as f64;
        assert!(n >= 1000.0, "{}", attack.variant);
        for (ending, p) in &attack.endings {
            let (twice, deviation) = (f64::min(2.0 * p, 1.0 - (1.0 - p) / 2.0), (p * (1.0 - p) / n).sqrt());
            let far = (twice - p).min(p / 2.0) / deviation;
            // By 4.5 standard deviations, but for endings that are rare.
            assert!(far > 4.5 || *p < 0.1 || *p > 0.9, "{} {}: {far}", attack.variant, name(ending));
        }
    }
}

/// Selective failure: how often each ending comes does not depend on the inputs, 0…0 or 1…1, by a test of two
/// proportions.
#[test]
fn aborts_do_not_depend_on_inputs() {
    let (all, runs) = (catalogue(), 150);
    let mut pairs = 0;
    for zeros in all.iter().filter(|attack| attack.variant.ends_with("for_inputs_of_0")) {
        let other = zeros.variant.replace("of_0", "of_1");
        let ones = all.iter().find(|attack| (attack.row, attack.variant) == (zeros.row, other.as_str()));
        let [zeros, ones] = [zeros, ones.expect("the same against inputs of 1")].map(|a| a.played(runs));
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
    assert_eq!(pairs, 4);
}

/// A cheat that does not cheat would hold by luck: one that ends otherwise is told.
#[test]
fn what_does_not_end_as_predicted_is_told() {
    let mut attack = catalogue().into_iter().find(|a| a.variant == "two_coordinates").unwrap();
    attack.endings.iter_mut().for_each(|(_, p)| *p = 1.0 - *p);
    assert!(!attack.played(200).holds);
    let mut attack = catalogue().into_iter().find(|a| a.variant == "whole_bucket").unwrap();
    let told = name(&attack.endings[0].0);
    attack.endings = vec![(Ending::Survived, 1.0)];
    let result = attack.played(1);
    assert_eq!((result.holds, result.fault), (false, Some(format!("it ended as {told}"))));
}

#[test]
fn the_documentation_has_the_present_tables() {
    let text = std::fs::read_to_string(page().path()).unwrap();
    assert!(page().is_current(&text), "docs/lego.md is stale: cargo xtask attacks --write lego");
}
