//! The attacks on authenticated masks: a few runs of each, every check, and the tables in the documentation.

use std::collections::BTreeSet;

use brickwork::authenticated::adversary::Ending;
use brickwork_adversary::authenticated::{catalogue, page};
use brickwork_adversary::family::name;

/// Runs of an attack here whose ending is certain, and of one with a rate; those that a guess of seven bits
/// decides are all played, as fewer might see no right one.
const CERTAIN: usize = 6;
const RATE: usize = 300;
const GUESSED: usize = 3000;

#[test]
fn every_attack_ends_as_its_row_requires() {
    let all = catalogue();
    std::thread::scope(|scope| {
        for half in 0..2 {
            let of_half = all.iter().skip(half).step_by(2);
            scope.spawn(move || {
                for attack in of_half {
                    let result = attack.played(match attack.trials {
                        GUESSED => GUESSED,
                        _ if attack.endings.len() == 1 => CERTAIN,
                        _ => RATE,
                    });
                    assert!(result.holds, "row {} {}: {:?}", attack.row, attack.variant, result.fault);
                }
            });
        }
    });
    assert_eq!(all.iter().filter(|attack| attack.trials == GUESSED).count(), 4);
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
