//! Runs of DUPLO in which a party may cheat, and the programs of the tests.

use std::sync::Arc;

use super::super::adversary::proposal;
use super::super::challenge::{BatchSizes, Challenge};
use super::super::{Parameters, ProposalLimits, Request, evaluator_with, garbler_with, msg};
use crate::hooks::{Forced, Hooks, Point};
use crate::report::{Aside, Duplo};
use crate::{Cheat, Commitments, Report};
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::{self as base, Error};
use brickwork_circuit::{Bit, Builder, Component, Party, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_harness::Rigged;
pub use brickwork_harness::{Ending, PartyAction, SEED, flip, flips, swap};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_protocol::{AgreedJob, Observer};
use brickwork_testing::Replayable as _;
use brickwork_wire::{Channel, Tag};

/// A run with its cheats.
pub type Case = brickwork_harness::Case<Duplo>;

/// The result of a run.
pub type Outcome = brickwork_harness::Outcome<Duplo>;

impl Rigged for Duplo {
    type Point = Point;
    type Settings = Parameters;
    type Forced = Forced;

    const OUTPUT_LABELS: Tag = msg::OUTPUT_LABELS;
    const CHALLENGE: Option<Point> = Some(Point::Challenge);
    const OFFSET: Point = Point::OtOffset;

    fn recovered(aside: &Aside) -> bool {
        aside.recovered
    }

    fn fails_last(cheat: base::Cheat) -> bool {
        cheat == Cheat::ForgedOutput || cheat == Cheat::UnexpectedMessage
    }

    fn key(parameters: &Parameters) -> String {
        format!("{:?}", parameters.digest())
    }

    fn run(
        role: Party,
        channel: Channel,
        job: &AgreedJob,
        input: &[bool],
        parameters: Parameters,
        observer: Box<dyn Observer>,
        hooks: Hooks,
    ) -> Result<Report, Error> {
        let hooks = hooks.with(parameters.into());
        match role {
            Party::Garbler => {
                let proposal = proposal(job, &hooks)?;
                garbler_with::<Commitments>(channel, job, proposal, input, observer, hooks)
            }
            Party::Evaluator => {
                let limits = ProposalLimits::default();
                evaluator_with::<Commitments>(channel, job, &limits, input, observer, hooks)
            }
        }
    }
}

/// Makes an honest run of `program` with random inputs and a challenge that is known to the test.
pub fn run_of(program: &Arc<Program>, parameters: Parameters) -> Case {
    Case::new(program, parameters, &mut Rng::replayable("test inputs")).known().threads(2)
}

/// Makes an honest run with random inputs, dealt base OTs, a random challenge and one thread, for thousands
/// of runs.
pub fn cheap(program: &Arc<Program>, parameters: Parameters, rng: &mut Rng) -> Case {
    Case::new(program, parameters, rng).dealt(rng)
}

/// Makes a run of the [`toy`] program, with buckets of 3.
pub fn on_toy() -> Case {
    let program = toy();
    let parameters = small(&program, [3, 4], [3, 6], [3, 4]);
    run_of(&program, parameters)
}

/// Lies about tables.
pub trait TableLies {
    /// Alters the garbler's tables, before it hashes them and when it sends them: component, copy, offset,
    /// bytes.
    #[must_use]
    fn tables(self, alter: impl Fn(usize, usize, usize, &mut [u8]) + Send + 'static) -> Self;
}

impl TableLies for Case {
    fn tables(self, alter: impl Fn(usize, usize, usize, &mut [u8]) + Send + 'static) -> Self {
        self.lies_at(Party::Garbler, move |point, _, bytes| {
            if let Point::CopyTables(component, copy, offset) = point {
                alter(component, copy, offset, bytes);
            }
        })
    }
}

/// Returns the opened items of a challenge, and the chosen items, bucket after bucket.
pub fn challenge(bucketing: Bucketing, seed: &Seed) -> (Vec<usize>, Vec<usize>) {
    let Challenge { opened, chosen } = Challenge::expand(seed, &BatchSizes::from(bucketing));
    (places(&opened), places(&chosen))
}

fn places(items: &[u32]) -> Vec<usize> {
    items.iter().map(|&item| item as usize).collect()
}

fn known_challenge(bucketing: Bucketing) -> Challenge {
    Challenge::expand(&Seed::from_bytes([SEED; SEED_BYTES]), &BatchSizes::from(bucketing))
}

/// Returns the copies that the known challenge opens.
pub fn opened(bucketing: Bucketing) -> Vec<usize> {
    places(&known_challenge(bucketing).opened)
}

/// Returns the copies that the known challenge puts into buckets, bucket after bucket.
pub fn chosen(bucketing: Bucketing) -> Vec<usize> {
    places(&known_challenge(bucketing).chosen)
}

/// Returns the bucketing of a component when stock is made.
pub fn stock_bucketing(request: &Request, component: usize) -> Bucketing {
    Parameters::for_stock(request, 40.into()).expect("the request can be met").components[component]
}

/// Returns parameters with these bucket sizes and numbers of opened items, for components, plain and input
/// authenticators. They are not secure.
pub fn small(program: &Program, component: [u32; 2], plain: [u32; 2], input: [u32; 2]) -> Parameters {
    let request = Request::of(program);
    let (plain_slots, input_slots) = (request.plain_wires(), request.garbler_wires);
    let bucketing =
        |slots: usize, [bucket, opened]: [u32; 2]| Bucketing { slots: slots as u32, bucket, opened };
    Parameters {
        decomposition: String::new(),
        security: 40.into(),
        components: program
            .slots_by_component()
            .into_iter()
            .map(|slots| bucketing(slots, component))
            .collect(),
        plain: bucketing(plain_slots, plain),
        input: bucketing(input_slots, input),
        ot_binding: 48,
        bound_log2: 0.0,
    }
}

/// Returns a component with one input port and one output port.
pub fn component(name: &str, inputs: u32, circuit: impl Fn(&mut Builder, &[Bit]) -> Vec<Bit>) -> Component {
    let mut builder = Builder::new(inputs);
    let bits = builder.all_inputs();
    let outputs = circuit(&mut builder, &bits);
    Component {
        name: name.into(),
        inputs: vec![Port::new("in", Type::Uint(inputs))],
        outputs: vec![Port::new("out", Type::Uint(outputs.len() as u32))],
        circuit: Arc::new(builder.finish(&outputs).unwrap()),
    }
}

/// Returns component 0 of the toy program: a ∧ b and a ⊕ b.
pub fn pair() -> Component {
    component("pair", 2, |b, w| vec![b.and(w[0], w[1]), b.xor(w[0], w[1])])
}

/// Returns component 1 of the toy program: four AND gates.
fn mix() -> Component {
    component("mix", 4, |b, w| {
        let (p, q, r) = (b.and(w[0], w[1]), b.and(w[2], w[3]), b.and(w[0], w[2]));
        let odd = b.xor(w[1], w[3]);
        vec![b.xor(p, q), b.and(r, !odd)]
    })
}

/// Returns a program without slots. Its outputs are wires of both parties' inputs.
pub fn wires(garblers: u32, evaluators: u32, outputs: &[(Recipient, Vec<u32>)]) -> Arc<Program> {
    let port = |name: &str, width: u32| Port::new(name, Type::Uint(width));
    let inputs = |name, width| if width > 0 { vec![port(name, width)] } else { vec![] };
    let mut program = ProgramBuilder::new("wires", inputs("x", garblers), inputs("y", evaluators)).unwrap();
    for (k, (to, wires)) in outputs.iter().enumerate() {
        program.output(port(&format!("z{k}"), wires.len() as u32), *to, wires.clone()).unwrap();
    }
    Arc::new(program.finish().unwrap())
}

/// Returns the toy program. It has three input bits from each party, two components with two slots each, and
/// outputs to the garbler, to the evaluator and to both. One of the outputs is an input of the garbler.
pub fn toy() -> Arc<Program> {
    let mut program =
        ProgramBuilder::new("toy", vec![Port::new("x", Type::Uint(3))], vec![Port::new("y", Type::Uint(3))])
            .unwrap();
    let (pair, mix) = (program.component(pair()).unwrap(), program.component(mix()).unwrap());
    let p = program.slot(pair, &[0, 3]).unwrap();
    let q = program.slot(pair, &[1, 4]).unwrap();
    let m = program.slot(mix, &[p, p + 1, q, 2]).unwrap();
    let n = program.slot(mix, &[m, 5, q + 1, m + 1]).unwrap();
    program.output(Port::new("g", Type::Uint(2)), Recipient::Garbler, vec![n, p + 1]).unwrap();
    program.output(Port::new("e", Type::Uint(2)), Recipient::Evaluator, vec![n + 1, m]).unwrap();
    program.output(Port::new("b", Type::Uint(3)), Recipient::Both, vec![m + 1, q, 0]).unwrap();
    Arc::new(program.finish().unwrap())
}

/// Returns a program of `slots` AND gates, each with one input bit of each party. All results go to `to`.
pub fn ands(slots: u32, to: Recipient) -> Arc<Program> {
    let ports = |name: &str| vec![Port::new(name, Type::Uint(slots))];
    let mut program = ProgramBuilder::new("ands", ports("x"), ports("y")).unwrap();
    let and = program.component(component("and", 2, |b, w| vec![b.and(w[0], w[1])])).unwrap();
    let results = (0..slots).map(|i| program.slot(and, &[i, slots + i]).unwrap()).collect();
    program.output(Port::new("z", Type::Uint(slots)), to, results).unwrap();
    Arc::new(program.finish().unwrap())
}
