//! Sessions step by step, with their stock in memory.

use crate::adversary::harness::wires;
use crate::hooks::Hooks;
use crate::{Duplo, Evaluator, Garbler, Request};
use brickwork_base::{Error, Security};
use brickwork_circuit::{Party, Recipient};
use brickwork_protocol::{Metered, PhaseReport, SessionProtocol, Terms, Unobserved};
use brickwork_wire::{Channel, memory_pair};

/// Runs a closure for each party with its session; both run side by side.
pub fn both<G: Send, E>(
    garbler: impl FnOnce(Garbler) -> Result<G, Error> + Send,
    evaluator: impl FnOnce(Evaluator) -> Result<E, Error>,
) -> (Result<G, Error>, Result<E, Error>) {
    both_with([Hooks::none(), Hooks::none()], garbler, evaluator)
}

/// Does the same as [`both`], with hooks of the garbler and the evaluator.
pub fn both_with<G: Send, E>(
    [garblers, evaluators]: [Hooks; 2],
    garbler: impl FnOnce(Garbler) -> Result<G, Error> + Send,
    evaluator: impl FnOnce(Evaluator) -> Result<E, Error>,
) -> (Result<G, Error>, Result<E, Error>) {
    over(memory_pair(), [garblers, evaluators], garbler, evaluator)
}

/// Does the same as [`both_with`] over this pair of channels.
pub fn over<G: Send, E>(
    (left, right): (Channel, Channel),
    [garblers, evaluators]: [Hooks; 2],
    garbler: impl FnOnce(Garbler) -> Result<G, Error> + Send,
    evaluator: impl FnOnce(Evaluator) -> Result<E, Error>,
) -> (Result<G, Error>, Result<E, Error>) {
    let terms = Terms {
        security: Security::of(40),
        threads: 1,
        table_memory: brickwork_protocol::TABLE_MEMORY,
        identities: [[1; 32], [2; 32]],
        post_quantum: false,
    };
    std::thread::scope(|scope| {
        let run = |party, channel| Metered::new::<Duplo>(channel, party, Box::new(Unobserved));
        let left = run(Party::Garbler, left);
        let garbler = scope.spawn(|| garbler(Garbler::set_up(left, &terms, garblers)?));
        let right = run(Party::Evaluator, right);
        let evaluator = Evaluator::set_up(right, &terms, evaluators).and_then(evaluator);
        (garbler.join().unwrap(), evaluator)
    })
}

/// The garbler's wires come from two batches that were made at different times: two inputs from the first
/// batch, the third input and all private outputs from the second.
#[test]
fn a_program_draws_on_two_batches() {
    let private = (0..20).map(|k| k % 4).collect();
    let program = wires(3, 1, &[(Recipient::Garbler, private), (Recipient::Both, vec![2])]);
    let requests = [(2, Some(1)), (21, None)].map(|(garbler_wires, ots)| Request {
        components: Vec::new(),
        garbler_wires,
        ots,
    });
    let (x, y) = ([true, false, true], [true]);
    let (garbled, evaluated) = both(
        |mut session| {
            for request in &requests {
                session = session.fill(request)?;
            }
            let (outputs, session) = session.build(&program)?.evaluate(&x)?.decode()?;
            Ok((outputs, session.close()?))
        },
        |mut session| {
            for request in &requests {
                session = session.fill(request)?;
            }
            let (outputs, recovered, session) = session.build(&program)?.evaluate(&y)?.decode()?;
            assert!(!recovered);
            Ok((outputs, session.close()?))
        },
    );
    let ((garbled, garblers_phases), (evaluated, evaluators_phases)) = (garbled.unwrap(), evaluated.unwrap());
    let expected = program.simulate(&x, &y);
    assert_eq!(garbled, program.output_bits(Party::Garbler, &expected));
    assert_eq!(evaluated, program.output_bits(Party::Evaluator, &expected));
    // Both parties report the cost of each phase with the same bytes.
    let bytes = |phases: &[PhaseReport]| {
        phases
            .iter()
            .map(|p| (p.name.clone(), p.garbler_sent_bytes, p.evaluator_sent_bytes))
            .collect::<Vec<_>>()
    };
    assert_eq!(bytes(&garblers_phases), bytes(&evaluators_phases));
    assert_eq!(garblers_phases.iter().map(|phase| &*phase.name).collect::<Vec<_>>(), Duplo::PHASES);
}

/// An input of a wrong length is the caller's mistake: the input is not sent.
#[test]
fn row_19_inputs_of_another_length_for_what_was_built() {
    let program = wires(0, 2, &[(Recipient::Evaluator, vec![0, 1])]);
    let (garbled, evaluated) = both(
        |session| session.build(&program)?.evaluate(&[true]).map(drop),
        |session| session.build(&program)?.evaluate(&[true]).map(drop),
    );
    assert!(matches!(garbled, Err(Error::Input(_))), "{garbled:?}");
    assert!(matches!(evaluated, Err(Error::Input(_))), "{evaluated:?}");
}
