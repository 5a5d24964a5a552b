//! For tests and the adversary: both parties with hooks into their state, and a harness that runs attacks.
//! This module exists only in builds with the feature `adversary`; code outside this module cannot make hooks
//! with an effect.

use std::sync::Arc;

use crate::assignment::{Assignment, colours};
pub use crate::hooks::{Bucketings, Hooks, Point, StateHook};
use crate::layout::Layout;
use crate::report::{Aside, Lego};
use crate::{Parameters, Report, Stocked, evaluator_with, garbler_with, msg};
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::{Error, Party};
use brickwork_circuit::{Builder, Component, Port, Program, ProgramBuilder, Recipient, Type};
pub use brickwork_harness::{Ending, PartyAction, SEED};
use brickwork_harness::{Events, HonestActions, JudgedProtocol, play};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_protocol::{AgreedJob, Terms, Unobserved};
use brickwork_store::Store;
use brickwork_testing::Replayable as _;
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
    match hooks.cuts() {
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

type Alter = Box<dyn FnMut(&mut [u8]) + Send>;
type Rewrite = Box<dyn FnMut(Tag, &mut Vec<u8>) + Send>;

/// The cheats of one party, as functions that change its state or messages.
#[derive(Default)]
struct PartyLies {
    input: Vec<bool>,
    lies: Vec<(Point, Alter)>,
    rewrites: Vec<Rewrite>,
}

/// A run with its cheats.
pub struct Case {
    jobs: [AgreedJob; 2],
    cuts: [Option<Bucketings>; 2],
    sides: [PartyLies; 2],
    dealer: Option<[u8; 32]>,
}

/// The result of a run.
pub type Outcome = brickwork_harness::JudgedRun<Lego>;

impl JudgedProtocol for Lego {
    const OUTPUT_LABELS: Tag = msg::OUTPUT_LABELS;

    fn recovered(aside: &Aside) -> bool {
        aside.recovered
    }
}

/// Draws random inputs of both parties.
pub fn random_inputs(program: &Program, rng: &mut Rng) -> [Vec<bool>; 2] {
    [Party::Garbler, Party::Evaluator]
        .map(|party| (0..program.input_width(party)).map(|_| rng.below(2) == 1).collect())
}

impl Case {
    /// Makes an honest run with random inputs. Without `cuts`, the parties use secure cuts.
    pub fn new(program: &Arc<Program>, cuts: Option<Bucketings>, rng: &mut Rng) -> Case {
        let job = || AgreedJob::new(program.clone(), 40, [[1; 32], [2; 32]]);
        let sides = random_inputs(program, rng).map(|input| PartyLies { input, ..PartyLies::default() });
        Case { jobs: [job(), job()], cuts: [cuts; 2], sides, dealer: None }
    }

    /// Makes the evaluator draw a challenge that tests know ([`chosen`]).
    pub fn known(self) -> Case {
        self.lie(Party::Evaluator, Point::Challenge, |seeds| seeds.fill(SEED))
    }

    /// Lets a party change its state at a point of the protocol.
    pub fn lie(mut self, party: Party, point: Point, alter: impl FnMut(&mut [u8]) + Send + 'static) -> Case {
        self.sides[party as usize].lies.push((point, Box::new(alter)));
        self
    }

    /// Changes a party's messages when it sends them.
    pub fn tampers(mut self, party: Party, tamper: impl FnMut(Tag, &mut Vec<u8>) + Send + 'static) -> Case {
        self.sides[party as usize].rewrites.push(Box::new(tamper));
        self
    }

    /// Changes the `nth` message of a party with this tag.
    pub fn sends(
        self,
        party: Party,
        tag: Tag,
        nth: usize,
        mut rewrite: impl FnMut(&mut Vec<u8>) + Send + 'static,
    ) -> Case {
        let mut left = nth;
        self.tampers(party, move |sent, bytes| {
            if sent == tag {
                if left == 0 {
                    rewrite(bytes);
                }
                left = left.wrapping_sub(1);
            }
        })
    }

    /// Uses base OTs from lattices.
    pub fn post_quantum(mut self) -> Case {
        self.jobs.iter_mut().for_each(|job| job.post_quantum = true);
        self
    }

    /// Uses these inputs instead of random ones.
    pub fn inputs(mut self, x: &[bool], y: &[bool]) -> Case {
        (self.sides[0].input, self.sides[1].input) = (x.to_vec(), y.to_vec());
        self
    }

    /// Changes the job of one party, and the cuts that it uses.
    pub fn wants(
        mut self,
        party: Party,
        change: impl FnOnce(&mut AgreedJob, &mut Option<Bucketings>),
    ) -> Case {
        change(&mut self.jobs[party as usize], &mut self.cuts[party as usize]);
        self
    }

    /// Gives each party this many threads.
    pub fn threads(mut self, threads: usize) -> Case {
        self.jobs.iter_mut().for_each(|job| job.threads = threads);
        self
    }

    /// Deals the base OTs instead of running them. This saves time, because tests make thousands of runs.
    pub fn dealt(mut self, rng: &mut Rng) -> Case {
        let mut dealer = [0; 32];
        rng.fill(&mut dealer);
        self.dealer = Some(dealer);
        self
    }

    /// Runs the case, and compares it with an honest run of the same program.
    ///
    /// # Panics
    /// If a party panics or blocks, or the honest run fails.
    pub fn run(self) -> Outcome {
        let honest = honest_events(&self.jobs[1], self.cuts[1], self.dealer.is_some());
        let mut outcome = self.run_alone();
        outcome.honest = honest;
        outcome
    }

    fn run_alone(self) -> Outcome {
        let Case { jobs, cuts, sides, dealer } = self;
        let program = jobs[1].program.clone();
        let clear = program.simulate(&sides[0].input, &sides[1].input);
        let expected = [Party::Garbler, Party::Evaluator].map(|party| program.output_bits(party, &clear));
        let ([left, right], [of_left, of_right], [x, y]) = (jobs, cuts, sides);
        let (results, events) = play(
            move |channel, events| x.run(Party::Garbler, &left, of_left, channel, dealer, events),
            move |channel, events| y.run(Party::Evaluator, &right, of_right, channel, dealer, events),
        );
        Outcome { results, events, honest: Default::default(), expected }
    }
}

impl PartyLies {
    fn run(
        self,
        role: Party,
        job: &AgreedJob,
        cuts: Option<Bucketings>,
        mut channel: Channel,
        dealer: Option<[u8; 32]>,
        events: Events,
    ) -> Result<Report, Error> {
        let PartyLies { input, mut lies, mut rewrites } = self;
        events.watch(&mut channel, move |tag, payload| {
            rewrites.iter_mut().for_each(|rewrite| rewrite(tag, payload));
        });
        let alter = move |point: Point, bytes: &mut [u8]| {
            lies.iter_mut().filter(|(p, _)| *p == point).for_each(|(_, alter)| alter(bytes));
        };
        let hooks = Hooks { alter: Some(Box::new(alter)), cuts, dealer };
        match role {
            Party::Garbler => {
                let parameters = proposal(job, &hooks)?;
                garbler_with(channel, job, &parameters, &input, Box::new(events), hooks)
            }
            Party::Evaluator => evaluator_with(channel, job, &input, Box::new(events), hooks),
        }
    }
}

fn honest_events(job: &AgreedJob, cuts: Option<Bucketings>, dealt: bool) -> [Vec<PartyAction>; 2] {
    static KNOWN: HonestActions<([u8; 32], Option<Bucketings>, [bool; 2])> = HonestActions::new();
    KNOWN.of((job.program.digest(), cuts, [dealt, job.post_quantum]), || {
        let mut rng = Rng::replayable("test honest run");
        let mut case = Case::new(&job.program, cuts, &mut rng);
        case.jobs.iter_mut().for_each(|mine| mine.post_quantum = job.post_quantum);
        case.dealer = dealt.then_some([1; 32]);
        case.run_alone()
    })
}
