//! For tests and the adversary: both parties with hooks into their state, and a harness that plays attacks.
//! Only builds with the feature `adversary` have this module; no other module can make hooks that alter
//! anything.

use std::sync::Arc;

pub use crate::hooks::{Hooks, Point};
pub use crate::layout::Forced;
pub use crate::parameters::{StatisticalLengths, TriplePool};
use crate::report::Authenticated;
pub use crate::words::{add_chosen, add_where, add_where_coloured};
use crate::{Cheat, Cot, Report, Stocked, evaluator_with, garbler_with, msg};
use brickwork_base::random::Rng;
use brickwork_base::{self as base, Error, Party};
use brickwork_circuit::{Builder, Component, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_harness::Rigged;
pub use brickwork_harness::{Ending, PartyAction};
use brickwork_protocol::{AgreedJob, Observer, Terms, Unobserved};
use brickwork_store::Store;
use brickwork_wire::{Channel, Tag};

/// Does the same as [`super::garbler`], with hooks.
///
/// # Errors
/// As [`super::garbler`].
pub fn garbler(
    channel: Channel,
    job: &AgreedJob,
    cot: Cot,
    input: &[bool],
    hooks: Hooks,
) -> Result<Report, Error> {
    garbler_with(channel, job, cot, input, Box::new(Unobserved), hooks)
}

/// Does the same as [`super::evaluator`], with hooks.
///
/// # Errors
/// As [`super::evaluator`].
pub fn evaluator(
    channel: Channel,
    job: &AgreedJob,
    cot: Cot,
    input: &[bool],
    hooks: Hooks,
) -> Result<Report, Error> {
    evaluator_with(channel, job, cot, input, Box::new(Unobserved), hooks)
}

/// Does the same as [`Stocked::open`], with hooks.
///
/// # Errors
/// As [`Stocked::open`].
pub fn stocked(
    party: Party,
    channel: Channel,
    store: &Store,
    terms: &Terms,
    cot: Cot,
    hooks: Hooks,
) -> Result<Stocked, Error> {
    Stocked::open_with(party, channel, store, terms, cot, Box::new(Unobserved), hooks)
}

/// A run with its cheats.
pub type Case = brickwork_harness::Case<Authenticated>;

/// The result of a run.
pub type Outcome = brickwork_harness::Outcome<Authenticated>;

impl Rigged for Authenticated {
    type Point = Point;
    /// The lengths, and the kind of OTs that the masks come from.
    type Settings = (Forced, Cot);
    type Forced = Forced;

    /// The message by which the garbler gets its outputs: the evaluator's shares of their masks.
    const OUTPUT_LABELS: Tag = msg::OUTPUT_MASKS;
    const CHALLENGE: Option<Point> = None;
    const OFFSET: Point = Point::Offset;

    /// This protocol recovers nothing: it detects a cheat and stops.
    fn recovered(&(): &()) -> bool {
        false
    }

    fn fails_last(cheat: base::Cheat) -> bool {
        cheat == Cheat::Opening || cheat == Cheat::UnexpectedMessage
    }

    fn key((forced, cot): &Self::Settings) -> String {
        format!("{:?} {cot:?}", forced.level)
    }

    fn run(
        role: Party,
        channel: Channel,
        job: &AgreedJob,
        input: &[bool],
        (forced, cot): Self::Settings,
        observer: Box<dyn Observer>,
        hooks: Hooks,
    ) -> Result<Report, Error> {
        let looks_away = hooks.is_lying();
        let hooks = hooks.with(Forced { looks_away, ..forced });
        match role {
            Party::Garbler => garbler_with(channel, job, cot, input, observer, hooks),
            Party::Evaluator => evaluator_with(channel, job, cot, input, observer, hooks),
        }
    }
}

/// Makes an honest run with random inputs, s = 40 and two buckets of three. Its base OTs come from a dealer.
///
/// # Panics
/// Never: 40 is a level.
pub fn case(program: &Arc<Program>, rng: &mut Rng) -> Case {
    let forced = Forced {
        level: Some(StatisticalLengths::of(40).expect("a level")),
        pool: Some(TriplePool { size: 2, bucket: 3 }),
        ..Forced::default()
    };
    Case::new(program, (forced, Cot::default()), rng).dealt(rng)
}

/// Makes both parties use other lengths.
///
/// # Panics
/// If the case has no lengths.
pub fn of_lengths(case: Case, change: impl Fn(&mut StatisticalLengths)) -> Case {
    case.set(|(forced, _)| change(forced.level.as_mut().expect("lengths")))
}

/// Makes a program for a·b·c of two slots with one AND gate each; the second slot multiplies `a·b` by `c`.
/// The garbler's input is a, the evaluator's is b and c, and `to` gets the product.
///
/// # Panics
/// Never: the program is valid.
pub fn chain(to: Recipient) -> Arc<Program> {
    let mut builder = Builder::new(2);
    let [a, b] = [0, 1].map(|i| builder.all_inputs()[i]);
    let and = builder.and(a, b);
    let component = Component {
        name: "and".into(),
        inputs: vec![Port::new("a", Type::Uint(2))],
        outputs: vec![Port::new("z", Type::Uint(1))],
        circuit: Arc::new(builder.finish(&[and]).expect("a gate")),
    };
    let port = |name, width| vec![Port::new(name, Type::Uint(width))];
    let mut program = ProgramBuilder::new("chain", port("x", 1), port("y", 2)).expect("three inputs");
    let and = program.component(component).expect("a component");
    let first = program.slot(and, &[0, 1]).expect("a slot");
    let second = program.slot(and, &[first, 2]).expect("a slot");
    program.output(Port::new("z", Type::Uint(1)), to, vec![second]).expect("an output");
    Arc::new(program.finish().expect("a program"))
}
