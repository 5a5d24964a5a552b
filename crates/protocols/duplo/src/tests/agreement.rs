//! Row 19 of the table of attacks (docs/concepts/security.md, section 14): the parties do not want the same
//! run.

use std::sync::Arc;

use super::harness::*;
use crate::Cheat;
use crate::msg::{DECOMPOSITION, PROPOSAL};
use crate::{Parameters, Proposal, ProposalLimits};
use brickwork_base::Error;
use brickwork_circuit::{Party, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_primitives::ot::BASE_OT;
use brickwork_protocol::ItemKind;
use brickwork_protocol::msg::HELLO;
use brickwork_protocol::{AgreedJob, PROTOCOL_VERSION, Unobserved};
use brickwork_wire::{Tag, memory_pair};

/// Returns whether a party sent only messages that need no agreement: its greeting, the garbler's proposal,
/// and base OTs, which leave with it and depend on fresh randomness alone.
fn greeting(events: &[PartyAction]) -> bool {
    let sent: Vec<Tag> = events
        .iter()
        .filter_map(|e| if let PartyAction::Sent(tag, _) = e { Some(*tag) } else { None })
        .collect();
    matches!(events[0], PartyAction::Phase("setup"))
        && (sent == [HELLO, BASE_OT] || sent == [HELLO, DECOMPOSITION, PROPOSAL, BASE_OT])
}

/// Checks that both parties refuse with a reason that names the difference, and have sent only messages that
/// need no agreement.
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
        refused(on_toy().wants(party, |job, _| job.security = 64), "--security");
    }
}

#[test]
fn row_19_another_program() {
    refused(on_toy().wants(Party::Garbler, |job, _| job.program = ands(3, Recipient::Both)), "program");
    // The programs differ only in the recipient of the output.
    let (to_both, to_garbler) = (ands(1, Recipient::Both), ands(1, Recipient::Garbler));
    let case = run_of(&to_both, small(&to_both, [3, 4], [3, 6], [3, 4]));
    refused(case.wants(Party::Garbler, |job, _| job.program = to_garbler), "program");
}

/// A proposal is not valid for this program if it has a wrong length, or sizes for a batch that the program
/// does not use.
#[test]
fn row_19_a_proposal_for_another_program() {
    // Without inputs of the garbler and outputs for the garbler alone, no input authenticators are used.
    let mut program = ProgramBuilder::new("own", vec![], vec![Port::new("y", Type::Uint(2))]).unwrap();
    let and = program.component(component("and", 2, |b, w| vec![b.and(w[0], w[1])])).unwrap();
    let result = program.slot(and, &[0, 1]).unwrap();
    program.output(Port::new("z", Type::Uint(1)), Recipient::Evaluator, vec![result]).unwrap();
    let program = program.finish().unwrap();
    let proposal = Parameters::choose(&program, 40).unwrap().proposal();
    let refusal = |proposal: &[u8]| match Parameters::proposed(&program, 40, proposal) {
        Err(Error::Mismatch(reason)) => reason,
        other => panic!("{:?}", other.map(drop)),
    };
    assert!(Parameters::proposed(&program, 40, &proposal).is_ok());
    let unused = |bucket: u8, opened: u8| {
        [&proposal[..proposal.len() - 8], &[bucket, 0, 0, 0, opened, 0, 0, 0]].concat()
    };
    assert_eq!(unused(1, 0), proposal);
    for proposal in [unused(0, 0), unused(1, 1)] {
        assert!(refusal(&proposal).contains("a component that the program does not use"));
    }
    for other in [
        &proposal[..proposal.len() - 8],
        &proposal[..proposal.len() - 1],
        &[&proposal[..], &[0]].concat(),
        &[&proposal[..], &[0; 8]].concat(),
    ] {
        assert!(refusal(other).contains("are not for this program"));
    }
}

/// The evaluator refuses. Both parties have sent only greetings, the garbler's proposal and base OTs.
#[test]
fn row_19_other_parameters() {
    type Change = fn(&mut Parameters);
    let changes: [(Party, Change); 6] = [
        (Party::Garbler, |p| p.components[1].opened -= 1),
        (Party::Garbler, |p| p.components[0].bucket = 2),
        (Party::Evaluator, |p| p.plain.bucket = 5),
        (Party::Evaluator, |p| p.input.opened += 1),
        (Party::Garbler, |p| p.ot_binding = 1),
        (Party::Garbler, |p| p.security = 64.into()),
    ];
    for (party, change) in changes {
        let outcome = on_toy().wants(party, |_, p| change(p)).run_alone();
        assert!(matches!(&outcome.evaluator, Err(Error::Mismatch(why)) if why.contains("parameters")));
        assert!(matches!(outcome.garbler, Err(Error::Io(_))));
        assert!(outcome.events.iter().all(|events| greeting(events)), "{:?}", outcome.events);
    }
}

/// The digest in the greeting must match the proposal behind it.
#[test]
fn row_19_altered_proposals() {
    for byte in [0, 4, 31] {
        let outcome =
            on_toy().sends(Party::Garbler, PROPOSAL, 0, move |proposal| proposal[byte] ^= 1).run_alone();
        assert!(
            matches!(&outcome.evaluator, Err(Error::Mismatch(why)) if why.contains("parameters")),
            "byte {byte}"
        );
        assert!(greeting(&outcome.events[1]));
    }
    let longer = on_toy().sends(Party::Garbler, PROPOSAL, 0, |proposal| proposal.push(0)).run_alone();
    assert_eq!(longer.cheat(), Some((Party::Evaluator, Cheat::UnexpectedMessage.into())));
}

#[test]
fn row_19_other_identities() {
    refused(on_toy().wants(Party::Evaluator, |job, _| job.identities.swap(0, 1)), "public keys");
}

/// An altered greeting: the receiver refuses it, and the sender finds the connection closed.
#[test]
fn row_19_altered_greetings() {
    // Magic, version, security, role, padding, program, parameters, identities.
    for byte in [0, 4, 7, 8, 12, 13, 16, 47, 48, 79, 80, 111] {
        for (party, other) in [(Party::Garbler, Party::Evaluator), (Party::Evaluator, Party::Garbler)] {
            let outcome = on_toy().sends(party, HELLO, 0, move |hello| hello[byte] ^= 0x41).run_alone();
            assert!(matches!(outcome.result(other), Err(Error::Mismatch(_))), "byte {byte}");
            assert!(greeting(&outcome.events[other as usize]));
            assert!(matches!(outcome.result(party), Err(Error::Io(_))));
        }
    }
}

/// A peer with an older version is refused.
#[test]
fn row_19_an_older_version() {
    let outcome = on_toy().sends(Party::Garbler, HELLO, 0, |hello| hello[4] -= 1).run_alone();
    let [mine, older] = [PROTOCOL_VERSION, PROTOCOL_VERSION - 1].map(|version| version.to_string());
    assert!(matches!(&outcome.evaluator, Err(Error::Mismatch(why))
            if why.contains(&format!("version {mine}")) && why.contains(&format!("has version {older}"))));
}

/// Two garblers, as if a party got its own messages back.
#[test]
fn row_19_two_garblers() {
    let (left, right) = memory_pair();
    let program = ands(1, Recipient::Both);
    let job = AgreedJob::new(program, 40, [[1; 32], [2; 32]]);
    std::thread::scope(|scope| {
        let run = |channel| crate::garbler(channel, &job, &[true], brickwork_protocol::Unobserved);
        let one = scope.spawn(move || run(left));
        for result in [run(right), one.join().unwrap()] {
            assert!(
                matches!(result, Err(Error::Mismatch(why)) if why.contains("both parties were started as"))
            );
        }
    });
}

/// An input of a wrong length is the caller's mistake: nothing is sent.
#[test]
fn row_19_inputs_of_another_length() {
    let job = AgreedJob {
        program: toy(),
        security: 40,
        threads: 1,
        table_memory: 0,
        identities: [[1; 32], [2; 32]],
        post_quantum: false,
    };
    for length in [0, 2, 4] {
        for party in [Party::Garbler, Party::Evaluator] {
            let (left, right) = memory_pair();
            let result = match party {
                Party::Garbler => crate::garbler(left, &job, &vec![true; length], Unobserved),
                Party::Evaluator => crate::evaluator(left, &job, &vec![true; length], Unobserved),
            };
            assert!(matches!(result, Err(Error::Input(_))), "{party:?}, {length} bits: {result:?}");
            let mut right = right;
            assert!(matches!(right.receive(HELLO, 0), Err(Error::Io(_))), "{party:?} greeted");
        }
    }
}

/// A nonce that is altered on its way gives the parties two session identifiers. Then the keys of their base
/// OTs differ, and with them the rows of the OT extension.
#[test]
fn row_19_two_sessions() {
    let outcome = on_toy().sends(Party::Garbler, HELLO, 0, |hello| hello[112] ^= 1).run();
    outcome.caught(Party::Garbler, Cheat::OtExtension, "setup", BASE_OT);
}

/// Runs an honest evaluator against a garbler that proposes these parameters.
fn proposed(
    program: &Arc<Program>,
    parameters: Parameters,
    limits: ProposalLimits,
) -> [Result<crate::Report, Error>; 2] {
    let (left, right) = memory_pair();
    let job = AgreedJob::new(program.clone(), 40, [[1; 32], [2; 32]]);
    let zeros = |party| vec![false; program.input_width(party)];
    std::thread::scope(|scope| {
        let hooks = crate::hooks::Hooks::none().with(parameters.into());
        let garbler = scope.spawn(|| crate::adversary::garbler(left, &job, &zeros(Party::Garbler), hooks));
        let evaluator = crate::evaluator_within(right, &job, &limits, &zeros(Party::Evaluator), Unobserved);
        [garbler.join().unwrap(), evaluator]
    })
}

/// The evaluator computes the bound of a proposal, and refuses weak or implausible parameters.
#[test]
fn row_19_weaker_parameters_are_refused() {
    let program = toy();
    let safe = Parameters::choose(&program, 40).unwrap();
    assert!(safe.bound_log2 <= -40.0);
    let changes: [fn(&mut Parameters); 8] = [
        |p| p.components[0].opened -= 1,
        |p| p.components[1].bucket -= 1,
        |p| p.plain.opened /= 2,
        |p| p.input.bucket = 1,
        |p| p.components[0].bucket = 0,
        |p| p.plain.bucket += 1,
        |p| p.components[1].bucket = u32::MAX,
        |p| p.input.opened = u32::MAX,
    ];
    for (k, change) in changes.into_iter().enumerate() {
        let mut other = safe.clone();
        change(&mut other);
        let [garbler, evaluator] = proposed(&program, other, ProposalLimits::default());
        assert!(
            matches!(&evaluator, Err(Error::Mismatch(why)) if why.contains("parameters")),
            "{k}: {evaluator:?}"
        );
        assert!(matches!(garbler, Err(Error::Io(_))), "{k}");
    }
    for result in proposed(&program, small(&program, [1, 1], [1, 1], [1, 1]), ProposalLimits::default()) {
        assert!(result.is_err());
    }
}

/// Other parameters that keep the bound are accepted, and both parties report them. They are refused only if
/// they exceed the evaluator's limits.
#[test]
fn row_19_what_keeps_the_bound_is_the_garblers_choice() {
    let program = toy();
    let standard = Parameters::choose(&program, 40).unwrap();
    for other in standard.alternatives(&program).unwrap().into_iter().take(3) {
        let bound = other.bound_log2;
        let reports = proposed(&program, other.clone(), ProposalLimits::default()).map(Result::unwrap);
        for report in &reports {
            assert_eq!(report.proposal.parameters.proposal(), other.proposal());
            assert!(report.promise.bound_log2 <= -40.0 && bound <= -40.0);
            let of_checks = report.promise.budget.iter().map(|spent| spent.bound_log2.exp2()).sum::<f64>();
            assert!((of_checks.log2() - bound).abs() < 1e-6, "{:?}", report.promise);
        }
        assert_eq!(
            reports[0].outputs,
            program.output_bits(Party::Garbler, &program.simulate(&[false; 3], &[false; 3]))
        );
    }
    let [_, memory] = crate::memory::peaks(&program, &standard);
    let [_, evaluator] =
        proposed(&program, standard.clone(), ProposalLimits { memory_bytes: Some(memory), decompose: None });
    evaluator.unwrap();
    let [_, evaluator] =
        proposed(&program, standard, ProposalLimits { memory_bytes: Some(memory - 1), decompose: None });
    assert!(matches!(evaluator, Err(Error::Mismatch(why)) if why.contains("memory")));
}

/// An honest garbler never proposes parameters that the evaluator would refuse.
#[test]
fn row_19_an_honest_garbler_proposes_nothing_weak() {
    let program = toy();
    let weak = small(&program, [1, 1], [1, 1], [1, 1]);
    let job = AgreedJob::new(program, 40, [[1; 32], [2; 32]]);
    let (left, right) = memory_pair();
    drop(right);
    let result = crate::garbler_proposing(left, &job, &Proposal::given(&job, weak), &[true; 3], Unobserved);
    assert!(matches!(result, Err(Error::Mismatch(why)) if why.contains("parameters")));
}

/// Runs an evaluator with these limits against a garbler that makes this proposal, honest or not. `tamper`
/// alters the garbler's messages. Returns both results, and the tags of both parties' messages.
fn cut(
    proposal: &Proposal,
    tamper: impl FnMut(Tag, &mut Vec<u8>) + Send + 'static,
    limits: ProposalLimits,
) -> ([Result<crate::Report, Error>; 2], [Vec<Tag>; 2]) {
    let program = toy();
    let (mut left, mut right) = memory_pair();
    let job = AgreedJob::new(program, 40, [[1; 32], [2; 32]]);
    let (sent, log) = std::sync::mpsc::channel();
    let tampers: [brickwork_wire::Tamper; 2] = [Box::new(tamper), Box::new(|_, _| ())];
    for ((party, channel), mut tamper) in [&mut left, &mut right].into_iter().enumerate().zip(tampers) {
        let sent = sent.clone();
        channel.set_tamper(Box::new(move |tag, payload| {
            sent.send((party, tag)).unwrap();
            tamper(tag, payload);
        }));
    }
    drop(sent);
    let results = std::thread::scope(|scope| {
        let hooks = crate::hooks::Hooks::default();
        let garbler = || {
            crate::garbler_with::<crate::Commitments>(
                left,
                &job,
                proposal.clone(),
                &[true, false, true],
                Box::new(Unobserved),
                hooks,
            )
        };
        let garbler = scope.spawn(garbler);
        let evaluator = crate::evaluator_within(right, &job, &limits, &[true; 3], Unobserved);
        [garbler.join().unwrap(), evaluator]
    });
    let mut tags = [Vec::new(), Vec::new()];
    log.into_iter().for_each(|(party, tag): (usize, Tag)| tags[party].push(tag));
    (results, tags)
}

/// Proposes the toy program as a single component.
fn whole() -> Proposal {
    let program = Arc::new(toy().whole().unwrap());
    let parameters = Parameters::choose(&program, 40).unwrap().of_decomposition("whole");
    Proposal { program, parameters }
}

/// Makes the evaluator's program in the cut with this name.
fn cuts(name: &str) -> Result<Arc<Program>, Error> {
    match name {
        "whole" => Ok(Arc::new(toy().whole()?)),
        "" | "given" => Ok(toy()),
        "another" => Ok(ands(3, Recipient::Both)),
        _ => Err(Error::Mismatch("there is no such cut".into())),
    }
}

const CUTS: ProposalLimits = ProposalLimits { memory_bytes: None, decompose: Some(&cuts) };

/// Checks that the evaluator refuses with this reason, and that both parties have sent only messages that
/// need no agreement.
#[track_caller]
fn cut_refused((results, sent): ([Result<crate::Report, Error>; 2], [Vec<Tag>; 2]), why: &str) {
    match &results[1] {
        Err(Error::Mismatch(reason)) => assert!(reason.contains(why), "{reason}"),
        Err(error) if error.is_cheat(Cheat::UnexpectedMessage) => assert_eq!(why, "message"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(results[0], Err(Error::Io(_))), "{:?}", results[0]);
    assert_eq!(sent, [vec![HELLO, DECOMPOSITION, PROPOSAL, BASE_OT], vec![HELLO, BASE_OT]]);
}

#[test]
fn row_19_another_cut_of_the_same_program() {
    let expected = toy().simulate(&[true, false, true], &[true; 3]);
    let (results, _) = cut(&whole(), |_, _| (), CUTS);
    for (party, result) in [Party::Garbler, Party::Evaluator].into_iter().zip(results) {
        let report = result.unwrap();
        assert_eq!(report.outputs, toy().output_bits(party, &expected));
        assert_eq!(
            (report.proposal.program.slot_count(), &*report.proposal.parameters.decomposition),
            (1, "whole")
        );
        assert_eq!(report.promise.of_kind(ItemKind::Component).count(), 1);
    }
}

/// The garbler proposes a cut whose name gives another function, or other components, at the evaluator.
#[test]
fn row_19_a_cut_that_is_another_program() {
    // This program has the same interface but another function.
    let mut others = brickwork_circuit::ProgramBuilder::new(
        "toy",
        toy().input_ports(Party::Garbler).to_vec(),
        toy().input_ports(Party::Evaluator).to_vec(),
    )
    .unwrap();
    for output in toy().outputs() {
        others.output(output.port.clone(), output.to, (0..output.wires.len() as u32).collect()).unwrap();
    }
    let other = Arc::new(others.finish().unwrap());
    let parameters = Parameters::choose(&other, 40).unwrap();
    for name in ["whole", "given"] {
        let proposal =
            Proposal { program: other.clone(), parameters: parameters.clone().of_decomposition(name) };
        cut_refused(cut(&proposal, |_, _| (), CUTS), "a different program");
    }
    // The empty name stands for the job's own program.
    cut_refused(cut(&Proposal { program: other, parameters }, |_, _| (), CUTS), "different programs");
    // The proposal has the job's program, but the name of another cut.
    let mut proposal = whole();
    proposal.parameters = proposal.parameters.of_decomposition("given");
    cut_refused(cut(&proposal, |_, _| (), CUTS), "a different program");
    // The cut has another interface, whichever party makes it.
    let other = ands(3, Recipient::Both);
    let parameters = Parameters::choose(&other, 40).unwrap().of_decomposition("another");
    let proposal = Proposal { program: other, parameters };
    cut_refused(cut(&proposal, |_, _| (), CUTS), "inputs or outputs");
    let job = AgreedJob {
        program: toy(),
        security: 40,
        threads: 1,
        table_memory: 0,
        identities: [[1; 32], [2; 32]],
        post_quantum: false,
    };
    assert!(matches!(proposal.checked(&job), Err(Error::Mismatch(_))));
}

#[test]
fn row_19_a_cut_that_the_evaluator_does_not_make() {
    let unknown =
        Proposal { parameters: whole().parameters.of_decomposition("\u{1b}[2Jcomponent:x"), ..whole() };
    cut_refused(cut(&unknown, |_, _| (), CUTS), "no such cut");
    // A name from the peer is escaped before it reaches a terminal.
    cut_refused(cut(&unknown, |_, _| (), ProposalLimits::default()), "\\u{1b}[2J");
    let [_, memory] = crate::memory::peaks(&whole().program, &whole().parameters);
    cut_refused(
        cut(&whole(), |_, _| (), ProposalLimits { memory_bytes: Some(memory - 1), ..CUTS }),
        "memory",
    );
    // An honest garbler does not propose a name that is too long for the message.
    let job = AgreedJob {
        program: toy(),
        security: 40,
        threads: 1,
        table_memory: 0,
        identities: [[1; 32], [2; 32]],
        post_quantum: false,
    };
    let long = |bytes: usize| Proposal {
        parameters: whole().parameters.of_decomposition(&"x".repeat(bytes)),
        ..whole()
    };
    assert!(matches!(long(4097).checked(&job), Err(Error::Usage(_))));
    assert!(long(4096).checked(&job).is_ok());
}

/// The greeting binds the program in its cut, the name of the cut, and the parameters.
#[test]
fn row_19_altered_cuts() {
    let alter = |change: fn(&mut Vec<u8>)| {
        move |tag: Tag, payload: &mut Vec<u8>| {
            if tag == DECOMPOSITION {
                change(payload)
            }
        }
    };
    cut_refused(cut(&whole(), alter(|cut| cut[0] ^= 1), CUTS), "a different program");
    cut_refused(cut(&whole(), alter(|cut| cut[32] ^= 1), CUTS), "no such cut");
    cut_refused(cut(&whole(), alter(|cut| cut[32] = 0xff), CUTS), "message");
    cut_refused(cut(&whole(), alter(|cut| cut.truncate(31)), CUTS), "message");
    cut_refused(cut(&whole(), alter(|cut| cut.resize(32 + 4097, b'x')), CUTS), "message");
    // Another cut that the evaluator can make, with the right digest: the message is valid, but the
    // parameters do not match it.
    let to_given = |cut: &mut Vec<u8>| *cut = [&toy().digest()[..], b"given"].concat();
    cut_refused(cut(&whole(), alter(to_given), CUTS), "message");
    // The proposal has the same cut under another name.
    let given = Proposal { program: toy(), parameters: Parameters::choose(&toy(), 40).unwrap() };
    cut_refused(cut(&given, alter(to_given), CUTS), "parameters");
}
