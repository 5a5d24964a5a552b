//! For tests and the adversary: both parties with hooks into their state, and a harness that runs attacks.
//! This module exists only in builds with the feature `adversary`; code outside this module cannot make hooks
//! with an effect.

use std::sync::Arc;

use crate::assignment::{Assignment, colours};
pub use crate::hooks::{Bucketings, Hooks, Point};
use crate::layout::Layout;
use crate::report::{Aside, Lego};
use crate::{Cheat, Parameters, Report, Stocked, evaluator_with, garbler_with, msg};
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::{self as base, Error, Party};
use brickwork_circuit::{Builder, Component, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_harness::Rigged;
pub use brickwork_harness::{Ending, PartyAction, SEED, random_inputs};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_protocol::{AgreedJob, Observer, Terms, Unobserved};
use brickwork_store::Store;
use brickwork_wire::{Channel, Tag};

/// Does the same as [`super::garbler`], with hooks. If the hooks contain cuts, the garbler proposes these.
///
/// # Errors
/// As [`super::garbler`].
pub fn garbler(channel: Channel, job: &AgreedJob, input: &[bool], hooks: Hooks) -> Result<Report, Error> {
    let parameters = proposal(job, &hooks)?;
    garbler_with(channel, job, &parameters, input, Box::new(Unobserved), hooks)
}

/// Does the same as [`super::evaluator`], with hooks.
///
/// # Errors
/// As [`super::evaluator`].
pub fn evaluator(channel: Channel, job: &AgreedJob, input: &[bool], hooks: Hooks) -> Result<Report, Error> {
    evaluator_with(channel, job, input, Box::new(Unobserved), hooks)
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
    hooks: Hooks,
) -> Result<Stocked, Error> {
    Stocked::open_with(party, channel, store, terms, Box::new(Unobserved), hooks)
}

fn proposal(job: &AgreedJob, hooks: &Hooks) -> Result<Parameters, Error> {
    let layout = Layout::new(&job.program)?;
    let (ands, wires) = (layout.ands as u64, layout.garbler as u64);
    match hooks.settings() {
        Some(cuts) => Parameters::of_bucketings(ands, wires, job.security, cuts),
        None => Parameters::choose(ands, wires, job.security),
    }
}

/// Returns the items that the known challenge puts into buckets, bucket after bucket. `slots` is the number
/// of buckets; the pair has the bucket size and the number of opened items.
pub fn chosen(slots: u32, [bucket, opened]: [u32; 2]) -> Vec<usize> {
    let cut = Bucketing { slots, bucket, opened };
    let assigned = Assignment::expand(&Seed::from_bytes([SEED; SEED_BYTES]), &cut);
    assigned.chosen.iter().map(|&item| item as usize).collect()
}

/// Makes a port of unsigned integers.
pub fn port(name: &str, width: u32) -> Port {
    Port::new(name, Type::Uint(width))
}

fn component(name: &str, inputs: u32, outputs: u32, gates: u64, rng: &mut Rng) -> Component {
    let mut builder = Builder::new(inputs);
    let mut wires = builder.all_inputs();
    for _ in 0..gates {
        let [a, b] = [0, 1].map(|_| wires[rng.below(wires.len() as u64) as usize]);
        let next = match rng.below(4) {
            0 | 1 => builder.and(a, b),
            2 => builder.xor(a, b),
            _ => !a,
        };
        wires.push(next);
    }
    let outs: Vec<_> = (0..outputs).map(|_| wires[rng.below(wires.len() as u64) as usize]).collect();
    Component {
        name: name.into(),
        inputs: vec![port("in", inputs)],
        outputs: vec![port("out", outputs)],
        circuit: Arc::new(builder.finish(&outs).unwrap()),
    }
}

/// Returns a program with a few components in slots that read random wires. The outputs go to both parties;
/// some are inputs, and some occur twice.
///
/// # Panics
/// Never: the program is valid.
pub fn random_program(rng: &mut Rng) -> Program {
    let (x, y) = (1 + rng.below(6) as u32, 1 + rng.below(6) as u32);
    let mut program = ProgramBuilder::new("random", vec![port("x", x)], vec![port("y", y)]).unwrap();
    let kinds: Vec<_> = (0..3)
        .map(|k| {
            let (inputs, outputs) = (1 + rng.below(6) as u32, 1 + rng.below(6) as u32);
            let made = component(&format!("c{k}"), inputs, outputs, rng.below(12), rng);
            (program.component(made).unwrap(), inputs)
        })
        .collect();
    for _ in 0..rng.below(8) {
        let (kind, width) = kinds[rng.below(2) as usize];
        let inputs: Vec<u32> = (0..width).map(|_| rng.below(program.wires().into()) as u32).collect();
        program.slot(kind, &inputs).unwrap();
    }
    for to in [Recipient::Garbler, Recipient::Evaluator, Recipient::Both, Recipient::Nobody] {
        let width = rng.below(6) as u32;
        if width > 0 {
            let wires = (0..width).map(|_| rng.below(program.wires().into()) as u32).collect();
            program.output(port(&format!("{to:?}"), width), to, wires).unwrap();
        }
    }
    program.output(port("one", 1), Recipient::Both, vec![0]).unwrap();
    program.finish().unwrap()
}

/// Returns a program with four AND gates in two layers and outputs for both parties, such as `((x0 ∧ y0) ⊕
/// y1) ∧ ¬(x1 ∧ y1)`.
///
/// # Panics
/// Never: the program is valid.
pub fn toy() -> Program {
    let mut builder = Builder::new(4);
    let w = builder.all_inputs();
    let (a, b) = (builder.and(w[0], w[2]), builder.and(w[1], w[3]));
    let c = builder.xor(a, w[3]);
    let d = builder.and(c, !b);
    let e = builder.and(d, w[0]);
    let gates = Component {
        name: "gates".into(),
        inputs: vec![port("in", 4)],
        outputs: vec![port("out", 4)],
        circuit: Arc::new(builder.finish(&[a, b, d, e]).unwrap()),
    };
    let mut program = ProgramBuilder::new("toy", vec![port("x", 2)], vec![port("y", 2)]).unwrap();
    let gates = program.component(gates).unwrap();
    let first = program.slot(gates, &[0, 1, 2, 3]).unwrap();
    program.output(port("private", 2), Recipient::Garbler, vec![first, first + 2]).unwrap();
    program.output(port("own", 2), Recipient::Evaluator, vec![first + 1, first + 3]).unwrap();
    program.output(port("both", 2), Recipient::Both, vec![first + 3, 0]).unwrap();
    program.finish().unwrap()
}

/// Lists the items that the known challenge opens. Each item occurs with each of its `each` challenged
/// colours.
pub fn opened(slots: u32, [bucket, opened]: [u32; 2], each: usize) -> Vec<(usize, Vec<u8>)> {
    let (cut, seed) = (Bucketing { slots, bucket, opened }, Seed::from_bytes([SEED; SEED_BYTES]));
    let asked = colours(&seed, each * opened as usize);
    let items = Assignment::expand(&seed, &cut).opened;
    items.iter().zip(asked.chunks(each)).map(|(&item, asked)| (item as usize, asked.to_vec())).collect()
}

/// A run with its cheats.
pub type Case = brickwork_harness::Case<Lego>;

/// The result of a run.
pub type Outcome = brickwork_harness::Outcome<Lego>;

impl Rigged for Lego {
    type Point = Point;
    /// Without cuts, the parties use the secure ones.
    type Settings = Option<Bucketings>;
    type Forced = Bucketings;

    const OUTPUT_LABELS: Tag = msg::OUTPUT_LABELS;
    const CHALLENGE: Option<Point> = Some(Point::Challenge);
    const OFFSET: Point = Point::GateOffset;

    fn recovered(aside: &Aside) -> bool {
        aside.recovered
    }

    fn fails_last(cheat: base::Cheat) -> bool {
        cheat == Cheat::ForgedOutput || cheat == Cheat::UnexpectedMessage
    }

    fn key(cuts: &Self::Settings) -> String {
        format!("{cuts:?}")
    }

    fn run(
        role: Party,
        channel: Channel,
        job: &AgreedJob,
        input: &[bool],
        cuts: Option<Bucketings>,
        observer: Box<dyn Observer>,
        mut hooks: Hooks,
    ) -> Result<Report, Error> {
        hooks.settings = cuts;
        match role {
            Party::Garbler => garbler_with(channel, job, &proposal(job, &hooks)?, input, observer, hooks),
            Party::Evaluator => evaluator_with(channel, job, input, observer, hooks),
        }
    }
}
