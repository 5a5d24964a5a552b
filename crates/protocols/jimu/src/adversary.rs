//! For tests and the adversary: both parties with hooks into their state, and a harness that runs attacks.
//! This module exists only in builds with the feature `adversary`; code outside this module cannot make hooks
//! with an effect.

use crate::choice::Choice;
pub use crate::hooks::{Hooks, Point};
use crate::layout::Layout;
pub use crate::ots::AllSeeds;
use crate::parameters::{HashLevel, Sizes, Unit};
use crate::report::{Aside, Jimu};
use crate::{Cheat, Report, evaluator_with, garbler_with, msg};
use brickwork_base::random::{SEED_BYTES, Seed};
use brickwork_base::{self as base, Error, Party};
use brickwork_circuit::Program;
use brickwork_harness::Rigged;
pub use brickwork_harness::{Ending, PartyAction, SEED, add};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_protocol::{AgreedJob, Observer, Unobserved};
use brickwork_wire::{Channel, Tag};

/// Does the same as [`super::garbler`], with hooks.
///
/// # Errors
/// As [`super::garbler`].
pub fn garbler(
    channel: Channel,
    job: &AgreedJob,
    unit: Unit,
    input: &[bool],
    hooks: Hooks,
) -> Result<Report, Error> {
    garbler_with(channel, job, unit, input, Box::new(Unobserved), hooks)
}

/// Does the same as [`super::evaluator`], with hooks.
///
/// # Errors
/// As [`super::garbler`].
pub fn evaluator(
    channel: Channel,
    job: &AgreedJob,
    unit: Unit,
    input: &[bool],
    hooks: Hooks,
) -> Result<Report, Error> {
    evaluator_with(channel, job, unit, input, Box::new(Unobserved), hooks)
}

/// A run with its cheats.
pub type Case = brickwork_harness::Case<Jimu>;

/// The result of a run.
pub type Outcome = brickwork_harness::Outcome<Jimu>;

impl Rigged for Jimu {
    type Point = Point;
    type Settings = Sizes;
    type Forced = Sizes;

    const OUTPUT_LABELS: Tag = msg::OUTPUT_LABELS;
    const CHALLENGE: Option<Point> = Some(Point::Challenge);
    const OFFSET: Point = Point::Offset;

    fn recovered(aside: &Aside) -> bool {
        aside.recovered
    }

    fn fails_last(cheat: base::Cheat) -> bool {
        cheat == Cheat::OutputLabel || cheat == Cheat::UnexpectedMessage
    }

    fn key(sizes: &Sizes) -> String {
        format!("{sizes:?}")
    }

    fn run(
        role: Party,
        channel: Channel,
        job: &AgreedJob,
        input: &[bool],
        sizes: Sizes,
        observer: Box<dyn Observer>,
        hooks: Hooks,
    ) -> Result<Report, Error> {
        let (unit, hooks) = (sizes.unit, hooks.with(sizes));
        match role {
            Party::Garbler => garbler_with(channel, job, unit, input, observer, hooks),
            Party::Evaluator => evaluator_with(channel, job, unit, input, observer, hooks),
        }
    }
}

/// Makes the rows of output `output` give the opposite labels, for these copies of a kind of component and
/// under the copies' own offsets. All copies of the kind must be garbled at the same time.
///
/// # Panics
/// If the program has no such kind.
pub fn opposite(case: Case, kind: usize, copies: impl IntoIterator<Item = u32>, output: usize) -> Case {
    let outputs = case.program().components()[kind].circuit.outputs().len();
    let copies: Vec<u32> = copies.into_iter().collect();
    let mut offsets = Vec::new();
    case.lies_at(Party::Garbler, move |point, delta, bytes| match point {
        Point::CopyOffsets(here) if here == kind && offsets.is_empty() => offsets = bytes.to_vec(),
        Point::CopyTables(here, copy) if here == kind && copies.contains(&copy) => {
            let label = delta.len();
            let own = &offsets[label * copy as usize..][..label];
            let rows = bytes.len() - 2 * label * (outputs - output);
            add(&mut bytes[rows..], own, [0, 1]);
        }
        _ => (),
    })
}

/// Returns the sizes of an honest run of a program.
///
/// # Panics
/// If the program cannot be run.
pub fn sizes(program: &Program, unit: Unit) -> Sizes {
    Layout::new(program, unit, 40, None).expect("the program can be run").sizes.clone()
}

/// Returns insecure sizes: the given bucket size and number of opened copies, for all kinds.
///
/// # Panics
/// If the program cannot be run.
pub fn small(program: &Program, unit: Unit, copies: [u32; 2]) -> Sizes {
    let safe = sizes(program, unit);
    let cut = |slots: u32, [bucket, opened]: [u32; 2]| Bucketing { slots, bucket, opened };
    Sizes {
        level: HashLevel::of(40).expect("a level"),
        unit,
        copies: safe.copies.iter().map(|safe| cut(safe.slots, copies)).collect(),
    }
}

/// Returns the copies that the known challenge puts into buckets, bucket after bucket, for each kind.
///
/// # Panics
/// If the program cannot be run.
pub fn chosen(program: &Program, sizes: &Sizes) -> Vec<Vec<usize>> {
    let layout = Layout::new(program, sizes.unit, 40, Some(sizes.clone())).expect("the program can be run");
    let choice = Choice::expand(&Seed::from_bytes([SEED; SEED_BYTES]), &layout);
    let kept = |kept: Vec<u32>| kept.into_iter().map(|k| k as usize).collect();
    choice.copies.into_iter().map(|chosen| kept(chosen.kept)).collect()
}
