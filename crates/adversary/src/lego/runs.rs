//! Runs for the attacks on LEGO, and the list of attacks.

use std::sync::Arc;

use brickwork::circuit::Party::{self, Garbler};
use brickwork::circuit::{Program, Recipient};
use brickwork::duplo::adversary::harness::ands;
use brickwork::lego::Cheat;
use brickwork::lego::adversary::{Bucketings, Case, Ending, Point, toy};
use brickwork::random::Rng;

use crate::family::Attack;

/// The protocol, as users name it.
pub(super) const PROTOCOL: &str = "lego";

/// The number of runs of an attack with a certain ending.
pub(super) const CERTAIN: usize = 20;

/// The number of runs of an attack with several endings.
pub(super) const MANY: usize = 1000;

/// The row and the variant.
pub(super) type Name = (u8, &'static str);

/// The list of attacks, before it is sorted.
#[derive(Default)]
pub(super) struct Catalogue(pub(super) Vec<Attack>);

impl Catalogue {
    /// Adds an attack on a run.
    pub(super) fn add(
        &mut self,
        (row, variant): Name,
        story: &'static str,
        cheater: Party,
        endings: Vec<(Ending, f64)>,
        case: impl Fn(&mut Rng) -> Case + Send + Sync + 'static,
    ) {
        let endings: Vec<_> = endings.into_iter().filter(|(_, rate)| *rate > 1e-12).collect();
        let trials = if endings.len() == 1 { CERTAIN } else { MANY };
        let play = Box::new(move |rng: &mut Rng| case(rng).run().ending(cheater));
        self.0.push(Attack {
            protocol: PROTOCOL,
            row,
            variant,
            story,
            cheater: Some(cheater),
            endings,
            trials,
            play,
        });
    }

    /// Adds an attack on the toy program with a certain ending.
    pub(super) fn always(
        &mut self,
        name: Name,
        ending: Ending,
        cheater: Party,
        story: &'static str,
        cheat: impl Fn(Case) -> Case + Send + Sync + 'static,
    ) {
        self.add(name, story, cheater, vec![(ending, 1.0)], move |rng| cheat(of_toy(rng)));
    }

    /// Adds a garbler that alters its state at a point, which this check always detects.
    pub(super) fn lies(
        &mut self,
        name: Name,
        check: Cheat,
        point: Point,
        story: &'static str,
        alter: impl Fn(&mut [u8]) + Clone + Send + Sync + 'static,
    ) {
        self.always(name, caught(check), Garbler, story, move |case| {
            let alter = alter.clone();
            case.lie(Garbler, point, move |bytes| alter(bytes))
        });
    }
}

/// Returns the ending in which this check detects the cheat.
pub(super) fn caught(check: Cheat) -> Ending {
    Ending::Caught(check.into())
}

/// Returns a change that flips a bit of these labels or hashes.
pub(super) fn flip(labels: &[usize], byte: usize) -> impl Fn(&mut [u8]) + Clone + Send + Sync + 'static {
    let labels = labels.to_vec();
    move |bytes: &mut [u8]| labels.iter().for_each(|label| bytes[16 * label + byte] ^= 1)
}

/// Returns a change that flips a bit of every label or hash.
pub(super) fn flip_all(byte: usize) -> impl Fn(&mut [u8]) + Clone + Send + Sync + 'static {
    move |bytes: &mut [u8]| bytes.chunks_mut(16).for_each(|label| label[byte] ^= 1)
}

/// Returns the sizes of buckets and the numbers of opened items, of gates, wire authenticators and input
/// authenticators.
pub(super) fn cuts(gates: [u32; 2], authenticators: [u32; 2], inputs: [u32; 2]) -> Bucketings {
    Bucketings { gates, authenticators, inputs }
}

/// The sizes for the toy program, which has four gates between two bits of each party and outputs to both:
/// buckets of two gates and three wire authenticators.
pub(super) const TOY: [[u32; 2]; 3] = [[2, 6], [3, 6], [3, 4]];

/// The gates of the toy program.
pub(super) const GATES: u32 = 4;

/// The garbler's inputs of the toy program, with the masks of its outputs.
pub(super) const INPUTS: u32 = 4;

/// Makes a run of the toy program with a challenge that the garbler knows in advance.
pub(super) fn of_toy(rng: &mut Rng) -> Case {
    let [gates, authenticators, inputs] = TOY;
    let program: Arc<Program> = Arc::new(toy());
    Case::new(&program, Some(cuts(gates, authenticators, inputs)), rng).known().dealt(rng)
}

/// Makes a run of `slots` AND gates, each of a bit of either party, all results to both, with a random
/// challenge.
pub(super) fn products(slots: u32, cuts: Bucketings, rng: &mut Rng) -> Case {
    Case::new(&ands(slots, Recipient::Both), Some(cuts), rng).dealt(rng)
}
