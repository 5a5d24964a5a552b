//! LEGO: one gate of one bucket or of many buckets computes NAND.

use std::sync::Arc;

use brickwork::circuit::Program;
use brickwork::lego::adversary::{Bucketings, Hooks, Point, SEED, chosen, evaluator, garbler};
use brickwork::random::Rng;

use crate::session::{self, TimedSessions};

/// LEGO's buckets for the 6 400 gates of AES-128 and s = 40, with small differences.
const CUTS: Bucketings = Bucketings { gates: [5, 8256], authenticators: [4, 8256], inputs: [5, 64] };

/// The number of buckets with a bad gate in the large case. Hardly ever do more bad gates pass a challenge.
const MANY: usize = 300;

/// Returns the sessions of AES-128: honest ones, and sessions with bad gates.
pub fn session(program: &Arc<Program>) -> TimedSessions {
    let [beta, opened] = CUTS.gates;
    let gates = chosen(program.and_gates() as u32, [beta, opened]);
    // The second gate of each bucket is bad.
    let bad: Vec<usize> = gates.chunks(beta as usize).take(MANY).map(|bucket| bucket[1]).collect();
    let program = program.clone();
    TimedSessions {
        about: "AES-128 by LEGO, buckets of 5 gates and 4 wire authenticators".into(),
        cheats: vec!["one gate lies", "gates of 300 buckets lie"],
        play: Box::new(move |cheat, rng| {
            let lies = cheat.map_or(0, |cheat| [1, MANY][cheat]);
            one(&program, bad[..lies].to_vec(), rng)
        }),
    }
}

fn one(program: &Arc<Program>, bad: Vec<usize>, rng: &mut Rng) -> (f64, bool) {
    let hooks = |hooks: Hooks| hooks.with(CUTS).dealt_by([7; 32]);
    let mut first = 0;
    let lies = hooks(Hooks::at(Point::GateOutputs, move |bytes| {
        // The hook gets the outputs of all gates in several parts.
        let here = first..first + bytes.len() / 16;
        bad.iter().filter(|gate| here.contains(gate)).for_each(|gate| bytes[16 * (gate - first)] ^= 1);
        first = here.end;
    }));
    let known = hooks(Hooks::at(Point::Challenge, |bytes| bytes.fill(SEED)));
    session::timed(
        program,
        rng,
        move |channel, job, input| garbler(channel, job, input, lies).map(drop),
        move |channel, job, input| Ok(evaluator(channel, job, input, known)?.aside.recovered),
    )
}
