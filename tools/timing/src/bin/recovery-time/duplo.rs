//! DUPLO: one copy of a bucket gives the opposite output, with a valid label.

use std::sync::Arc;

use brickwork::circuit::Program;
use brickwork::duplo::Parameters;
use brickwork::duplo::adversary::harness::{SEED, chosen, small};
use brickwork::duplo::adversary::{Hooks, Point, evaluator, garbler};
use brickwork::random::Rng;

use crate::session::{self, TimedSessions};

/// Returns the sessions of AES-128 in buckets of three: honest ones, and sessions with a bad copy.
pub fn session(program: &Arc<Program>) -> TimedSessions {
    let parameters = small(program, [3, 2], [3, 2], [3, 2]);
    let outputs = program.components()[0].circuit.outputs().len();
    let lie = 16 * outputs * chosen(parameters.components[0])[1];
    let program = program.clone();
    TimedSessions {
        about: "AES-128 by DUPLO, buckets of 3".into(),
        cheats: vec!["one copy lies"],
        play: Box::new(move |cheat, rng| one(&program, &parameters, cheat.map(|_| lie), rng)),
    }
}

fn one(program: &Arc<Program>, parameters: &Parameters, lie: Option<usize>, rng: &mut Rng) -> (f64, bool) {
    let hooks = |hooks: Hooks| hooks.with(parameters.clone().into()).dealt_by([7; 32]);
    let lies = hooks(Hooks::at(Point::CommittedOutputs(0), move |bytes| {
        lie.into_iter().for_each(|lie: usize| bytes[lie] ^= 1)
    }));
    let known = hooks(Hooks::at(Point::Challenge, |bytes| bytes.fill(SEED)));
    session::timed(
        program,
        rng,
        move |channel, job, input| garbler(channel, job, input, lies).map(drop),
        move |channel, job, input| Ok(evaluator(channel, job, input, known)?.aside.recovered),
    )
}
