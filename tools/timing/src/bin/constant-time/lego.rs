//! LEGO's computation with labels: the vote in buckets, and the garbler's inputs from an offset.

use std::hint::black_box;
use std::rc::Rc;

use brickwork::lego::timed::{TimedRecovery, Vote};
use brickwork::pool::Pool;
use brickwork::random::Rng;

use crate::subjects::{Subject, TimedCall, subject};

const BUCKETS: usize = 64;

/// The size of a bucket of gates and wire authenticators, and of input authenticators.
const SIZES: [usize; 2] = [5, 4];
const INPUTS: usize = 9;

/// Makes the subjects: buckets whose gates agree, or in which a gate gives the other label; labels of inputs
/// with Δ, or with another offset.
pub fn subjects() -> Vec<Subject> {
    let judge = |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let mut vote = Vote::new(BUCKETS, SIZES, class, rng);
        Box::new(move || _ = black_box(vote.judge()))
    };
    let pool = Rc::new(Pool::new(1).expect("a thread"));
    let recover = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let (pool, bits) = (pool.clone(), crate::subjects::bits(true, BUCKETS, rng));
        let recovery = TimedRecovery::new(&bits, INPUTS, class, rng);
        Box::new(move || _ = black_box(pool.enter(|| recovery.recover())))
    };
    vec![
        subject("LEGO: buckets with one label or two", judge),
        subject("LEGO: inputs from Δ or another offset", recover),
    ]
}
