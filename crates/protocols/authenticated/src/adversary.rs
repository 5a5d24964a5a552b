//! For tests and the adversary: both parties with hooks into their state, and a harness that plays attacks.
//! Only builds with the feature `adversary` have this module; no other module can make hooks that alter
//! anything.

use std::sync::{Arc, Mutex};

pub use crate::hooks::{Hooks, Point};
pub use crate::parameters::{StatisticalLengths, TriplePool};
use crate::report::Authenticated;
pub use crate::words::{add_chosen, add_where, add_where_coloured};
use crate::{Cot, Report, Stocked, evaluator_with, garbler_with, msg};
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_circuit::{Builder, Component, Port, Program, ProgramBuilder, Recipient, Type};
pub use brickwork_harness::{Ending, PartyAction};
use brickwork_harness::{Events, HonestActions, JudgedProtocol, play};
use brickwork_protocol::{AgreedJob, TABLE_MEMORY, Terms, Unobserved};
use brickwork_store::Store;
use brickwork_testing::Replayable as _;
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

/// How a run ended.
pub type Outcome = brickwork_harness::JudgedRun<Authenticated>;

impl JudgedProtocol for Authenticated {
    /// The message by which the garbler gets its outputs: the evaluator's shares of their masks.
    const OUTPUT_LABELS: Tag = msg::OUTPUT_MASKS;

    /// This protocol recovers nothing: it detects a cheat and stops.
    fn recovered(&(): &()) -> bool {
        false
    }
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

/// Alters the bytes of a party's state; the first argument is the party's own offset.
type Alter = Box<dyn FnMut(u128, &mut [u8]) + Send>;
type Rewrite = Box<dyn FnMut(&mut Vec<u8>) + Send>;

/// The input and the lies of one party.
#[derive(Default)]
struct PartyLies {
    input: Vec<bool>,
    lies: Vec<(Point, Alter)>,
    rewrites: Vec<(Tag, usize, Rewrite)>,
}

/// The settings that both parties share.
#[derive(Clone)]
struct Common {
    program: Arc<Program>,
    level: StatisticalLengths,
    pool: TriplePool,
    cot: Cot,
    post_quantum: bool,
    dealer: Option<[u8; 32]>,
}

/// A run and the lies of both parties.
pub struct Case {
    common: Common,
    sides: [PartyLies; 2],
}

impl Case {
    /// Makes an honest run with random inputs, s = 40 and two buckets of three. The keys of its base OTs come
    /// from a dealer.
    pub fn new(program: &Arc<Program>, rng: &mut Rng) -> Case {
        let mut side = |party| PartyLies {
            input: (0..program.input_width(party)).map(|_| rng.below(2) == 1).collect(),
            ..PartyLies::default()
        };
        let sides = [side(Party::Garbler), side(Party::Evaluator)];
        let mut dealer = [0; 32];
        rng.fill(&mut dealer);
        let common = Common {
            program: program.clone(),
            level: StatisticalLengths::of(40).expect("a level"),
            pool: TriplePool { size: 2, bucket: 3 },
            cot: Cot::default(),
            post_quantum: false,
            dealer: Some(dealer),
        };
        Case { common, sides }
    }

    /// Lets a party alter its state at a point; the function gets the party's offset.
    pub fn lie(
        mut self,
        party: Party,
        point: Point,
        alter: impl FnMut(u128, &mut [u8]) + Send + 'static,
    ) -> Case {
        self.sides[party as usize].lies.push((point, Box::new(alter)));
        self
    }

    /// Lets a party alter its `nth` message of this tag.
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

    /// Runs base OTs, instead of taking their keys from a dealer. They are post-quantum ones if
    /// `post_quantum` is set.
    pub fn with_base_ots(mut self, post_quantum: bool) -> Case {
        (self.common.dealer, self.common.post_quantum) = (None, post_quantum);
        self
    }

    /// Makes the masks from another kind of OTs.
    pub fn masks_of(mut self, cot: Cot) -> Case {
        self.common.cot = cot;
        self
    }

    /// Compares this many bits of each leaky AND, instead of 48.
    pub fn comparing(mut self, bits: u32) -> Case {
        self.common.level.compared = bits;
        self
    }

    /// Uses tags of this many bytes, instead of 8.
    pub fn tagging(mut self, bytes: usize) -> Case {
        self.common.level.tag = bytes;
        self
    }

    /// Replaces the random inputs.
    pub fn inputs(mut self, x: &[bool], y: &[bool]) -> Case {
        (self.sides[0].input, self.sides[1].input) = (x.to_vec(), y.to_vec());
        self
    }

    /// Plays the case, and an honest run of the same program for comparison.
    ///
    /// # Panics
    /// If a party panics or hangs, or the honest run fails.
    pub fn run(self) -> Outcome {
        let honest = honest_events(&self.common);
        let mut outcome = self.run_alone();
        outcome.honest = honest;
        outcome
    }

    fn run_alone(self) -> Outcome {
        let Case { common, sides } = self;
        let program = common.program.clone();
        let clear = program.simulate(&sides[0].input, &sides[1].input);
        let expected = [Party::Garbler, Party::Evaluator].map(|party| program.output_bits(party, &clear));
        let ([x, y], other) = (sides, common.clone());
        let (results, events) = play(
            move |channel, events| x.run(Party::Garbler, &common, channel, events),
            move |channel, events| y.run(Party::Evaluator, &other, channel, events),
        );
        Outcome { results, events, honest: Default::default(), expected }
    }
}

impl PartyLies {
    fn run(
        self,
        role: Party,
        common: &Common,
        mut channel: Channel,
        events: Events,
    ) -> Result<Report, Error> {
        let PartyLies { input, mut lies, mut rewrites } = self;
        let Common { program, level, pool, cot, post_quantum, dealer } = common.clone();
        let looks_away = !lies.is_empty() || !rewrites.is_empty();
        events.watch(&mut channel, move |tag, payload| {
            for (_, left, rewrite) in rewrites.iter_mut().filter(|(t, ..)| *t == tag) {
                if *left == 0 {
                    rewrite(payload);
                }
                *left = left.wrapping_sub(1);
            }
        });
        let own = Mutex::new(0);
        let alter = move |point: Point, bytes: &mut [u8]| {
            let mut own = own.lock().expect("no panic");
            lies.iter_mut().filter(|(p, _)| *p == point).for_each(|(_, alter)| alter(*own, bytes));
            if point == Point::Offset {
                *own = u128::from_ne_bytes(bytes.try_into().expect("an offset")) | 1;
            }
        };
        let hooks = Hooks {
            alter: Some(Box::new(alter)),
            level: Some(level),
            pool: Some(pool),
            sizes: None,
            dealer,
            looks_away,
        };
        let job = AgreedJob {
            program,
            security: 40,
            threads: 1,
            table_memory: TABLE_MEMORY,
            identities: [[1; 32], [2; 32]],
            post_quantum,
        };
        match role {
            Party::Garbler => garbler_with(channel, &job, cot, &input, Box::new(events), hooks),
            Party::Evaluator => evaluator_with(channel, &job, cot, &input, Box::new(events), hooks),
        }
    }
}

/// Returns the events of both parties in an honest run with these settings.
fn honest_events(common: &Common) -> [Vec<PartyAction>; 2] {
    type Key = ([u8; 32], StatisticalLengths, Cot, [bool; 2]);
    static KNOWN: HonestActions<Key> = HonestActions::new();
    let how = [common.post_quantum, common.dealer.is_some()];
    KNOWN.of((common.program.digest(), common.level, common.cot, how), || {
        let mut rng = Rng::replayable("test honest run");
        let Case { sides, .. } = Case::new(&common.program, &mut rng);
        Case { common: common.clone(), sides }.run_alone()
    })
}
