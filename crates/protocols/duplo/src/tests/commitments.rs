//! Runs the protocol over another commitment scheme, because the protocol uses only the interface of the
//! scheme.

use ideal::Ideal;

use super::harness::toy;
use crate::adversary::proposal;
use crate::hooks::Hooks;
use crate::{Commitments, ProposalLimits, evaluator_with, garbler_with};
use brickwork_circuit::Party;
use brickwork_primitives::commit;
use brickwork_protocol::{AgreedJob, Unobserved};
use brickwork_wire::memory_pair;

#[path = "../../../../primitives/src/commit/ideal.rs"]
mod ideal;

/// Runs a program over a scheme. Returns the outputs of the garbler and of the evaluator.
fn run<C: commit::CommitmentScheme>(job: &AgreedJob, inputs: [&[bool]; 2]) -> [Vec<bool>; 2] {
    let (left, right) = memory_pair();
    std::thread::scope(|scope| {
        let garbler = scope.spawn(move || {
            let hooks = Hooks::none();
            let proposal = proposal(job, &hooks).unwrap();
            garbler_with::<C>(left, job, proposal, inputs[0], Box::new(Unobserved), hooks).unwrap().outputs
        });
        let (limits, hooks) = (ProposalLimits::default(), Hooks::none());
        let evaluator =
            evaluator_with::<C>(right, job, &limits, inputs[1], Box::new(Unobserved), hooks).unwrap();
        [garbler.join().unwrap(), evaluator.outputs]
    })
}

/// A whole run over the ideal scheme, which checks every claim one by one.
#[test]
fn a_run_is_the_same_over_any_commitments() {
    let job = AgreedJob::new(toy(), 40, [[1; 32], [2; 32]]);
    for inputs in [[[true, false, true], [true; 3]], [[false, true, true], [true, false, false]]] {
        let [x, y] = &inputs;
        let simulated = job.program.simulate(x, y);
        let expected =
            [Party::Garbler, Party::Evaluator].map(|party| job.program.output_bits(party, &simulated));
        assert_eq!(run::<Commitments>(&job, [x, y]), expected);
        assert_eq!(run::<Ideal>(&job, [x, y]), expected);
    }
}
