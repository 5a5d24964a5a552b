//! For tests and the adversary: both parties with hooks into their state, and a harness that runs attacks.
//! This module exists only in builds with the feature `adversary`; code outside this module cannot make hooks
//! with an effect.

use brickwork_testing::Replayable as _;
use std::sync::{Arc, Mutex};

use crate::choice::Choice;
pub use crate::hooks::{Hooks, Point, StateHook};
use crate::layout::Layout;
pub use crate::ots::AllSeeds;
use crate::parameters::{HashLevel, Sizes, Unit};
use crate::report::{Aside, Jimu};
use crate::{Report, evaluator_with, garbler_with, msg};
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
pub use brickwork_harness::{Ending, PartyAction, SEED};
use brickwork_harness::{Events, HonestActions, JudgedProtocol, play};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_protocol::{AgreedJob, Unobserved};
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

/// Adds an offset to the labels that `which` names.
pub fn add(labels: &mut [u8], offset: &[u128], which: impl IntoIterator<Item = usize>) {
    let offset: &[u8] = bytemuck::cast_slice(offset);
    for k in which {
        let label = &mut labels[k * offset.len()..][..offset.len()];
        label.iter_mut().zip(offset).for_each(|(byte, other)| *byte ^= other);
    }
}

type Alter = Box<dyn FnMut(&[u128], &mut [u8]) + Send>;
type Rewrite = Box<dyn FnMut(&mut Vec<u8>) + Send>;

/// The cheats of one party, as functions that change its state or messages.
#[derive(Default)]
struct PartyLies {
    input: Vec<bool>,
    lies: Vec<(Point, Alter)>,
    rewrites: Vec<(Tag, usize, Rewrite)>,
}

/// A run with its cheats.
pub struct Case {
    jobs: [AgreedJob; 2],
    sizes: [Sizes; 2],
    sides: [PartyLies; 2],
    dealer: Option<[u8; 32]>,
}

/// The result of a run.
pub type Outcome = brickwork_harness::JudgedRun<Jimu>;

impl JudgedProtocol for Jimu {
    const OUTPUT_LABELS: Tag = msg::OUTPUT_LABELS;

    fn recovered(aside: &Aside) -> bool {
        aside.recovered
    }
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

impl Case {
    /// Makes an honest run with random inputs and a challenge that tests know.
    pub fn new(program: &Arc<Program>, sizes: Sizes, rng: &mut Rng) -> Case {
        let job = || AgreedJob::new(program.clone(), 40, [[1; 32], [2; 32]]);
        let mut side = |party| PartyLies {
            input: (0..program.input_width(party)).map(|_| rng.below(2) == 1).collect(),
            ..PartyLies::default()
        };
        let sides = [side(Party::Garbler), side(Party::Evaluator)];
        let case = Case { jobs: [job(), job()], sizes: [sizes.clone(), sizes], sides, dealer: None };
        case.lie(Party::Evaluator, Point::Challenge, |_, seed| seed.fill(SEED))
    }

    /// Changes a party's state at a point. `alter` gets Δ if it exists at this point.
    pub fn lie(
        mut self,
        party: Party,
        point: Point,
        alter: impl FnMut(&[u128], &mut [u8]) + Send + 'static,
    ) -> Case {
        self.sides[party as usize].lies.push((point, Box::new(alter)));
        self
    }

    /// Changes the `nth` message of a party with this tag.
    pub fn sends(
        mut self,
        party: Party,
        tag: Tag,
        nth: usize,
        rewrite: impl FnMut(&mut Vec<u8>) + Send + 'static,
    ) -> Case {
        self.sides[party as usize].rewrites.push((tag, nth, Box::new(rewrite)));
        self
    }

    /// Makes the rows of output `output` give the opposite labels, for these copies of a kind of component
    /// and under the copies' own offsets. All copies of the kind must be garbled at the same time.
    pub fn opposite(mut self, kind: usize, copies: impl IntoIterator<Item = u32>, output: usize) -> Case {
        let outputs = self.jobs[0].program.components()[kind].circuit.outputs().len();
        let offsets: Arc<Mutex<Vec<u8>>> = Default::default();
        let noted = offsets.clone();
        self = self.lie(Party::Garbler, Point::CopyOffsets(kind), move |_, all| {
            let mut noted = noted.lock().expect("no panic");
            if noted.is_empty() {
                noted.extend_from_slice(all);
            }
        });
        for copy in copies {
            let offsets = offsets.clone();
            self = self.lie(Party::Garbler, Point::CopyTables(kind, copy), move |delta, tables| {
                let label = 16 * delta.len();
                let offsets = offsets.lock().expect("no panic");
                let own = offsets[label * copy as usize..][..label].as_chunks().0;
                let own: Vec<u128> = own.iter().map(|block| u128::from_ne_bytes(*block)).collect();
                let rows = tables.len() - 2 * label * (outputs - output);
                add(&mut tables[rows..], &own, [0, 1]);
            });
        }
        self
    }

    /// Makes both parties use base OTs from lattices.
    pub fn post_quantum(mut self) -> Case {
        self.jobs.iter_mut().for_each(|job| job.post_quantum = true);
        self
    }

    /// Uses these inputs instead of random ones.
    pub fn inputs(mut self, x: &[bool], y: &[bool]) -> Case {
        (self.sides[0].input, self.sides[1].input) = (x.to_vec(), y.to_vec());
        self
    }

    /// Changes the job of one party.
    pub fn wants(mut self, party: Party, change: impl FnOnce(&mut AgreedJob, &mut Sizes)) -> Case {
        change(&mut self.jobs[party as usize], &mut self.sizes[party as usize]);
        self
    }

    /// Deals the base OTs instead of running them, which is faster.
    pub fn dealt(mut self, rng: &mut Rng) -> Case {
        let mut dealer = [0; 32];
        rng.fill(&mut dealer);
        self.dealer = Some(dealer);
        self
    }

    /// Deals the base OTs and draws a random challenge. It is for thousands of runs.
    pub fn cheap(mut self, rng: &mut Rng) -> Case {
        self.sides[1].lies.retain(|(point, _)| *point != Point::Challenge);
        self.dealt(rng)
    }

    /// Runs the case, and compares it with an honest run of the same program.
    ///
    /// # Panics
    /// If a party panics or blocks, or the honest run fails.
    pub fn run(self) -> Outcome {
        let honest = honest_events(&self.jobs[1], &self.sizes[1], self.dealer.is_some());
        let mut outcome = self.run_alone();
        outcome.honest = honest;
        outcome
    }

    fn run_alone(self) -> Outcome {
        let Case { jobs, sizes, sides, dealer } = self;
        let program = jobs[1].program.clone();
        let clear = program.simulate(&sides[0].input, &sides[1].input);
        let expected = [Party::Garbler, Party::Evaluator].map(|party| program.output_bits(party, &clear));
        let ([left, right], [of_left, of_right], [x, y]) = (jobs, sizes, sides);
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
        sizes: Sizes,
        mut channel: Channel,
        dealer: Option<[u8; 32]>,
        events: Events,
    ) -> Result<Report, Error> {
        let PartyLies { input, mut lies, mut rewrites } = self;
        events.watch(&mut channel, move |tag, payload| {
            for (_, left, rewrite) in rewrites.iter_mut().filter(|(t, ..)| *t == tag) {
                if *left == 0 {
                    rewrite(payload);
                }
                *left = left.wrapping_sub(1);
            }
        });
        let mut delta = Vec::new();
        let alter = move |point: Point, bytes: &mut [u8]| {
            if point == Point::Offset {
                delta = bytemuck::cast_slice(bytes).to_vec();
            }
            lies.iter_mut().filter(|(p, _)| *p == point).for_each(|(_, alter)| alter(&delta, bytes));
        };
        let unit = sizes.unit;
        let hooks = Hooks { alter: Some(Box::new(alter)), sizes: Some(sizes), dealer };
        match role {
            Party::Garbler => garbler_with(channel, job, unit, &input, Box::new(events), hooks),
            Party::Evaluator => evaluator_with(channel, job, unit, &input, Box::new(events), hooks),
        }
    }
}

fn honest_events(job: &AgreedJob, sizes: &Sizes, dealt: bool) -> [Vec<PartyAction>; 2] {
    static KNOWN: HonestActions<([u8; 32], Sizes, bool)> = HonestActions::new();
    KNOWN.of((job.program.digest(), sizes.clone(), dealt), || {
        let mut rng = Rng::replayable("test honest run");
        let mut case = Case::new(&job.program, sizes.clone(), &mut rng);
        case.dealer = dealt.then_some([1; 32]);
        case.run_alone()
    })
}
