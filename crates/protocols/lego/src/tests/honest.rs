//! Honest runs, compared with plain computations.
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use super::support::*;
use crate::layout::Layout;
use crate::{Parameters, evaluator, garbler};
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_circuit::library::aes::{KeySize, aes_from_rounds};
use brickwork_protocol::{AgreedJob, PhaseReport, Unobserved};
use brickwork_testing::Replayable as _;
use brickwork_wire::memory_pair;
use std::sync::Arc;

#[test]
fn random_programs_come_out_right() {
    let mut rng = Rng::replayable("test lego honest");
    of_toy().run().survived();
    for round in 0..40 {
        case(random_program(&mut rng), &mut rng).threads(1 + round % 2).run().survived();
    }
}

/// Uses the secure parameters, which the evaluator accepts.
#[test]
fn a_block_cipher_comes_out_right() {
    let program = Arc::new(aes_from_rounds(KeySize::Aes128).unwrap());
    let mut rng = Rng::replayable("test lego honest");
    let inputs = random_inputs(&program, &mut rng);
    let job = AgreedJob { threads: 2, ..AgreedJob::new(program.clone(), 40, [[1; 32], [2; 32]]) };
    let (left, right) = memory_pair();
    let (garbler, evaluator) = std::thread::scope(|scope| {
        let garbler = scope.spawn(|| garbler(left, &job, &inputs[0], Unobserved).unwrap());
        let evaluator = evaluator(right, &job, &inputs[1], Unobserved).unwrap();
        (garbler.join().unwrap(), evaluator)
    });
    let clear = program.simulate(&inputs[0], &inputs[1]).concat();
    assert_eq!(garbler.outputs, clear);
    assert_eq!(evaluator.outputs, clear);
    assert!(evaluator.promise.bound_log2 <= -40.0 && !evaluator.aside.recovered);
    let sent = garbler.phases.iter().map(|phase| phase.garbler_sent_bytes).sum::<u64>();
    assert_eq!(sent, crate::sent_bytes(&program, &garbler.proposal).unwrap()[0]);
}

/// Row 19 of the table of attacks: an input of another length is refused before anything is sent.
#[test]
fn row_19_inputs_of_another_length() {
    let program = Arc::new(toy());
    let job = AgreedJob::new(program.clone(), 40, [[1; 32], [2; 32]]);
    for party in [Party::Garbler, Party::Evaluator] {
        let input = vec![false; program.input_width(party) + 1];
        let (channel, _) = memory_pair();
        let result = match party {
            Party::Garbler => garbler(channel, &job, &input, Unobserved),
            Party::Evaluator => evaluator(channel, &job, &input, Unobserved),
        };
        assert!(matches!(result, Err(Error::Input(_))), "{party:?}");
    }
}

/// The script predicts the messages of a run one by one.
#[test]
fn bytes_are_those_of_the_script() {
    let mut rng = Rng::replayable("test lego honest");
    for round in 0..25 {
        let program = if round == 0 { toy() } else { random_program(&mut rng) };
        let cuts = cuts([2, 5 + round], [3, 7], [3, 4]);
        let layout = Layout::new(&program).unwrap();
        let (ands, wires) = (layout.ands as u64, layout.garbler as u64);
        let parameters = Parameters::of_bucketings(ands, wires, 40, &cuts).unwrap();
        let expected = crate::sent_bytes(&program, &parameters).unwrap();
        let outcome = Case::new(&Arc::new(program), Some(cuts), &mut rng).run();
        outcome.survived();
        for report in [outcome.garbler, outcome.evaluator].map(Result::unwrap) {
            let sent = |of: fn(&PhaseReport) -> u64| report.phases.iter().map(of).sum::<u64>();
            let sent = [sent(|phase| phase.garbler_sent_bytes), sent(|phase| phase.evaluator_sent_bytes)];
            assert_eq!(sent, expected);
        }
    }
}
