//! Runs that the attacks are played on, and the list that they are put in.

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

/// Runs of an attack whose ending is certain.
pub(super) const CERTAIN: usize = 20;

/// Runs of one whose ending is not.
pub(super) const MANY: usize = 1000;

/// Row and variant.
pub(super) type Name = (u8, &'static str);

/// The list, as it is written.
#[derive(Default)]
pub(super) struct Catalogue(pub(super) Vec<Attack>);

impl Catalogue {
    /// Adds an attack that is a run.
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

    /// Adds an attack on the toy program that always ends like this.
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

    /// Adds a garbler that alters its state at a point, which always shows.
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

/// Returns the ending in which this check notices the cheat.
pub(super) fn caught(check: Cheat) -> Ending {
    Ending::Caught(check.into())
}

/// Flips a bit of some labels, or hashes.
pub(super) fn flip(labels: &[usize], byte: usize) -> impl Fn(&mut [u8]) + Clone + Send + Sync + 'static {
    let labels = labels.to_vec();
    move |bytes: &mut [u8]| labels.iter().for_each(|label| bytes[16 * label + byte] ^= 1)
}

/// Flips a bit of each.
pub(super) fn flip_all(byte: usize) -> impl Fn(&mut [u8]) + Clone + Send + Sync + 'static {
    move |bytes: &mut [u8]| bytes.chunks_mut(16).for_each(|label| label[byte] ^= 1)
}

/// Returns sizes of buckets and opened items: of gates, wire authenticators, input authenticators.
pub(super) fn cuts(gates: [u32; 2], authenticators: [u32; 2], inputs: [u32; 2]) -> Bucketings {
    Bucketings { gates, authenticators, inputs }
}

/// Four gates between two bits of each party, with outputs to all: in buckets of two gates and three wire
/// authenticators.
pub(super) const TOY: [[u32; 2]; 3] = [[2, 6], [3, 6], [3, 4]];

/// Gates of the toy.
pub(super) const GATES: u32 = 4;

/// Inputs of the garbler's in the toy, those that mask its outputs included.
pub(super) const INPUTS: u32 = 4;

/// Makes a run of the toy with a challenge that the garbler knows beforehand.
pub(super) fn of_toy(rng: &mut Rng) -> Case {
    let [gates, authenticators, inputs] = TOY;
    let program: Arc<Program> = Arc::new(toy());
    Case::new(&program, Some(cuts(gates, authenticators, inputs)), rng).known().dealt(rng)
}

/// Makes a run of `slots` AND gates, each of a bit of either party, all results to both, with a challenge
/// that nobody knows.
pub(super) fn products(slots: u32, cuts: Bucketings, rng: &mut Rng) -> Case {
    Case::new(&ands(slots, Recipient::Both), Some(cuts), rng).dealt(rng)
}
