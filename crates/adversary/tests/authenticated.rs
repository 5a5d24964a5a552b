//! The attacks on authenticated masks: a few runs of each, every check, and the tables in the documentation.

use std::collections::BTreeSet;

use brickwork::authenticated::adversary::Ending;
use brickwork_adversary::authenticated::{catalogue, page};
use brickwork_adversary::family::name;

/// Runs of each attack here; `cargo xtask attacks` plays thousands.
const RUNS: usize = 30;

#[test]
fn every_attack_ends_as_its_row_requires() {
    for attack in catalogue() {
        let result = attack.played(if attack.endings.len() == 1 { 2 } else { RUNS });
        assert!(result.holds, "row {} {}: {:?}", attack.row, attack.variant, result.fault);
    }
}

#[test]
fn every_check_is_seen_to_fail() {
    let all = catalogue();
    for check in page().checks {
        let seen = all.iter().any(|a| a.endings.iter().any(|(e, _)| *e == Ending::Caught(check)));
        assert!(seen, "{check:?}");
    }
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

/// A cheat that does not cheat would hold by luck: one that ends otherwise is told.
#[test]
fn what_does_not_end_as_predicted_is_told() {
    let mut attack = catalogue().into_iter().find(|a| a.variant == "garblers_three_bets").unwrap();
    attack.endings.iter_mut().for_each(|(_, p)| *p = 1.0 - *p);
    assert!(!attack.played(200).holds);
    let mut attack = catalogue().into_iter().find(|a| a.variant == "first_gate_is_nand").unwrap();
    let told = name(&attack.endings[0].0);
    attack.endings = vec![(Ending::Survived, 1.0)];
    let result = attack.played(1);
    assert_eq!((result.holds, result.fault), (false, Some(format!("it ended as {told}"))));
}

#[test]
fn the_documentation_has_the_present_tables() {
    let text = std::fs::read_to_string(page().path()).unwrap();
    assert!(
        page().is_current(&text),
        "docs/authenticated.md is stale: cargo xtask attacks --write authenticated"
    );
}
