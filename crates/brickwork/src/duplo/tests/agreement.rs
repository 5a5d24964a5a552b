//! Row 19: parties that do not want the same.

use super::harness::*;
use crate::circuit::{Party, Recipient};
use crate::ot::BASE_OT;
use crate::session::{Job, msg::HELLO};
use crate::wire::memory_pair;
use crate::{Cheat, Error};

/// The greeting, and base OTs, which leave with it and depend on nothing but fresh randomness.
fn greeting(events: &[Event]) -> bool {
    matches!(events[..], [Event::Phase("setup"), Event::Sent(HELLO, _), Event::Sent(BASE_OT, _)])
}

/// Both parties refuse, with a reason that names what differs, and have sent nothing but what needs no agreement.
#[track_caller]
fn refused(case: Case, why: &str) {
    let outcome = case.run_alone();
    for (party, events) in [Party::Garbler, Party::Evaluator].into_iter().zip(&outcome.events) {
        match outcome.result(party) {
            Err(Error::Mismatch(reason)) => assert!(reason.contains(why), "{reason}"),
            other => panic!("{party:?}: {:?}", other.as_ref().map(|_| ())),
        }
        assert!(greeting(events), "{party:?} said more: {events:?}");
    }
}

#[test]
fn row_19_another_security_level() {
    for party in [Party::Garbler, Party::Evaluator] {
        refused(Case::toy().wants(party, |job, _| job.security = 64), "--security");
    }
}

#[test]
fn row_19_another_program() {
    refused(Case::toy().wants(Party::Garbler, |job, _| job.program = ands(3, Recipient::Both)), "program");
    // Only who learns the output differs.
    let (to_both, to_garbler) = (ands(1, Recipient::Both), ands(1, Recipient::Garbler));
    let case = Case::new(&to_both, small(&to_both, [3, 4], [3, 6], [3, 4]));
    refused(case.wants(Party::Garbler, |job, _| job.program = to_garbler), "program");
}

#[test]
fn row_19_other_parameters() {
    refused(Case::toy().wants(Party::Garbler, |_, p| p.components[1].opened -= 1), "parameters");
    refused(Case::toy().wants(Party::Garbler, |_, p| p.components[0].bucket = 2), "parameters");
    refused(Case::toy().wants(Party::Evaluator, |_, p| p.plain.bucket = 5), "parameters");
    refused(Case::toy().wants(Party::Evaluator, |_, p| p.input.opened += 1), "parameters");
    refused(Case::toy().wants(Party::Garbler, |_, p| p.ot_binding = 1), "parameters");
    refused(Case::toy().wants(Party::Garbler, |_, p| p.security = 64), "parameters");
}

#[test]
fn row_19_other_identities() {
    refused(Case::toy().wants(Party::Evaluator, |job, _| job.identities.swap(0, 1)), "identities");
}

/// A greeting that is altered: the party that gets it refuses it, the other finds the connection closed.
#[test]
fn row_19_altered_greetings() {
    // Magic, version, security, role, padding, program, parameters, identities.
    for byte in [0, 4, 7, 8, 12, 13, 16, 47, 48, 79, 80, 111] {
        for (party, other) in [(Party::Garbler, Party::Evaluator), (Party::Evaluator, Party::Garbler)] {
            let outcome = Case::toy().sends(party, HELLO, 0, move |hello| hello[byte] ^= 0x41).run_alone();
            assert!(matches!(outcome.result(other), Err(Error::Mismatch(_))), "byte {byte}");
            assert!(greeting(&outcome.events[other as usize]));
            assert!(matches!(outcome.result(party), Err(Error::Io(_))));
        }
    }
}

/// An older version is refused, not spoken.
#[test]
fn row_19_an_older_version() {
    let outcome = Case::toy().sends(Party::Garbler, HELLO, 0, |hello| hello[4] -= 1).run_alone();
    assert!(matches!(outcome.evaluator, Err(Error::Mismatch(why)) if why.contains("version 2") && why.contains("is 1")));
}

/// A party whose own messages come back, or two parties of one role.
#[test]
fn row_19_two_garblers() {
    let (left, right) = memory_pair();
    let program = ands(1, Recipient::Both);
    let job = Job { program, security: 40, threads: 1, identities: [[1; 32], [2; 32]] };
    std::thread::scope(|scope| {
        let run = |channel| crate::duplo::garbler(channel, &job, &[true], &mut crate::session::Unobserved);
        let one = scope.spawn(move || run(left));
        for result in [run(right), one.join().unwrap()] {
            assert!(matches!(result, Err(Error::Mismatch(why)) if why.contains("both parties are")));
        }
    });
}

/// A nonce altered on its way leaves the parties with two session identifiers, under which nothing fits together: the
/// keys of the base OTs differ, and with them the rows of their extension.
#[test]
fn row_19_two_sessions() {
    let outcome = Case::toy().sends(Party::Garbler, HELLO, 0, |hello| hello[112] ^= 1).run();
    outcome.caught(Party::Garbler, Cheat::OtExtension, "setup", BASE_OT);
}

/// What is agreed on is what a party computes itself: parameters that are weaker than asked for cannot be proposed.
#[test]
fn row_19_parameters_are_computed_not_negotiated() {
    let program = toy();
    let safe = crate::duplo::Parameters::choose(&program, 40).unwrap();
    assert!(safe.bound_log2 <= -40.0);
    let (left, right) = memory_pair();
    let job = Job { program, security: 40, threads: 1, identities: [[1; 32], [2; 32]] };
    let weaker = small(&job.program, [1, 1], [1, 1], [1, 1]);
    std::thread::scope(|scope| {
        let hooks = crate::duplo::hooks::Hooks { parameters: Some(weaker), ..Default::default() };
        let garbler = scope.spawn(|| crate::duplo::adversary::garbler(left, &job, &[true; 3], hooks));
        let evaluator = crate::duplo::evaluator(right, &job, &[true; 3], &mut crate::session::Unobserved);
        assert!(matches!(evaluator, Err(Error::Mismatch(why)) if why.contains("parameters")));
        assert!(garbler.join().unwrap().is_err());
    });
}
