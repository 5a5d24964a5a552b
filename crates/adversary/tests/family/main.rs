//! The attacks on protocols other than DUPLO: a few runs of each, every check, and the tables in the
//! documentation.

mod authenticated;
mod jimu;
mod lego;

use std::collections::BTreeSet;

use brickwork_adversary::family::{Attack, ProtocolPage, name};
use brickwork_harness::Ending;

/// Asserts that every attack ends as its row requires, in the number of runs that `runs` gives.
fn every_attack_ends_as_required(attacks: &[Attack], runs: impl Fn(&Attack) -> usize) {
    for attack in attacks {
        let result = attack.played(runs(attack));
        assert!(result.holds, "row {} {}: {:?}", attack.row, attack.variant, result.fault);
    }
}

/// Asserts that each check is failed by an attack, except checks for which the page has a reason why no
/// cheater can fail them.
fn every_check_is_seen_to_fail(page: &ProtocolPage) {
    for check in &page.checks {
        let sees = |attack: &Attack| attack.endings.iter().any(|(e, _)| *e == Ending::Caught(*check));
        let unprovoked = page.unprovoked.iter().any(|(other, _)| other == check);
        assert_eq!(page.attacks.iter().any(sees), !unprovoked, "{check:?}");
    }
}

/// Asserts that no two attacks share a name or a story, and that the probabilities of endings add up to 1.
fn names_and_probabilities_make_sense(attacks: &[Attack]) {
    let names: BTreeSet<_> = attacks.iter().map(|a| (a.row, a.variant)).collect();
    let stories: BTreeSet<_> = attacks.iter().map(|a| a.story).collect();
    assert_eq!((names.len(), stories.len()), (attacks.len(), attacks.len()), "a name or a story twice");
    for attack in attacks {
        let total: f64 = attack.endings.iter().map(|(_, p)| p).sum();
        assert!((total - 1.0).abs() < 1e-9 && attack.story.ends_with('.'), "{}", attack.variant);
        assert!(attack.endings.iter().all(|(_, p)| *p > 0.0), "{}", attack.variant);
    }
}

/// Asserts that an honest run in place of an attack is reported as an error, for an attack with a rate and
/// for one with a certain ending.
fn what_ends_otherwise_is_told(attacks: Vec<Attack>, [with_rate, certain]: [&str; 2]) {
    let mut chosen = attacks.into_iter().filter(|a| [with_rate, certain].contains(&a.variant));
    let (mut rate, mut sure) = (chosen.next().expect("an attack"), chosen.next().expect("another"));
    if rate.variant == certain {
        std::mem::swap(&mut rate, &mut sure);
    }
    rate.endings.iter_mut().for_each(|(_, p)| *p = 1.0 - *p);
    assert!(!rate.played(200).holds);
    let told = name(&sure.endings[0].0);
    sure.endings = vec![(Ending::Survived, 1.0)];
    let result = sure.played(1);
    assert_eq!((result.holds, result.fault), (false, Some(format!("it ended as {told}"))));
}

/// Asserts that the page has the current tables of these attacks.
fn the_page_has_the_present_tables(page: &ProtocolPage) {
    let text = std::fs::read_to_string(page.path()).unwrap();
    assert!(
        page.is_current(&text),
        "docs/protocols/{protocol}.md is stale: cargo xtask attacks --write {protocol}",
        protocol = page.protocol
    );
}

/// The tests of one protocol's catalogue: the number of runs, and two attacks to test that a wrong ending is
/// reported, one with a rate and one with a certain ending.
macro_rules! tests {
    ($protocol:ident, $runs:expr, $told:expr) => {
        #[test]
        fn every_attack_ends_as_its_row_requires() {
            crate::every_attack_ends_as_required(&$protocol::catalogue(), $runs);
        }

        #[test]
        fn every_check_is_seen_to_fail() {
            crate::every_check_is_seen_to_fail(&$protocol::page());
        }

        #[test]
        fn names_and_probabilities_make_sense() {
            crate::names_and_probabilities_make_sense(&$protocol::catalogue());
        }

        #[test]
        fn what_does_not_end_as_predicted_is_told() {
            crate::what_ends_otherwise_is_told($protocol::catalogue(), $told);
        }

        #[test]
        fn the_documentation_has_the_present_tables() {
            crate::the_page_has_the_present_tables(&$protocol::page());
        }
    };
}
use tests;
