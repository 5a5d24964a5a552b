//! For tests and the adversary: both parties with hooks into their state, and a harness that plays attacks.
//! Only in builds with the feature `adversary`; nothing outside this module can make hooks that do anything.
//!
//! Whoever detects a cheat ends with a typed error, does not panic, does not hang, and sends not one message
//! more: its transcript is the beginning of an honest one. What the other side sees is a closed connection,
//! whatever the cause.

use brickwork_testing::Replayable as _;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::choice::Choice;
pub use crate::hooks::{Hooks, Point, StateHook};
use crate::layout::Layout;
use crate::parameters::{Level, Sizes, Unit};
use crate::{Report, evaluator_with, garbler_with, msg};
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::{Cheat, Error, Party};
use brickwork_circuit::Program;
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_session::{Job, Observer, TABLE_MEMORY, Unobserved};
use brickwork_wire::{Channel, Tag, memory_pair};

/// Does what [`super::garbler`] does, with its hands in the machine.
///
/// # Errors
/// As [`super::garbler`].
pub fn garbler(
    channel: Channel,
    job: &Job,
    unit: Unit,
    input: &[bool],
    hooks: Hooks,
) -> Result<Report, Error> {
    garbler_with(channel, job, unit, input, Box::new(Unobserved), hooks)
}

/// Does what [`super::evaluator`] does, with its hands in the machine.
///
/// # Errors
/// As [`super::garbler`].
pub fn evaluator(
    channel: Channel,
    job: &Job,
    unit: Unit,
    input: &[bool],
    hooks: Hooks,
) -> Result<Report, Error> {
    evaluator_with(channel, job, unit, input, Box::new(Unobserved), hooks)
}

/// Adds an offset to some labels among these.
pub fn add(labels: &mut [u8], offset: &[u128], which: impl IntoIterator<Item = usize>) {
    let offset: &[u8] = bytemuck::cast_slice(offset);
    for k in which {
        let label = &mut labels[k * offset.len()..][..offset.len()];
        label.iter_mut().zip(offset).for_each(|(byte, other)| *byte ^= other);
    }
}

/// A run takes a fraction of a second; a party that waits for another gives up after a minute.
const PATIENCE: Duration = Duration::from_secs(50);

/// Every byte of the seed of a challenge that tests know.
pub const SEED: u8 = 0x5e;

/// What a party did, in order. Of messages the tag and the length: all that an onlooker or the peer can tell
/// apart before it looks at values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A phase began.
    Phase(&'static str),
    /// It sent a message of so many bytes.
    Sent(Tag, usize),
}

type Events = Arc<Mutex<Vec<Event>>>;
type Alter = Box<dyn FnMut(&[u128], &mut [u8]) + Send>;
type Rewrite = Box<dyn FnMut(&mut Vec<u8>) + Send>;

struct Log(Events);

impl Observer for Log {
    fn phase(&mut self, name: &'static str) {
        self.0.lock().expect("no panic").push(Event::Phase(name));
    }
    fn progress(&mut self, _: u64, _: u64) {}
}

/// How one party cheats.
#[derive(Default)]
struct Side {
    input: Vec<bool>,
    lies: Vec<(Point, Alter)>,
    rewrites: Vec<(Tag, usize, Rewrite)>,
}

/// A run, and the lies told in it.
pub struct Case {
    jobs: [Job; 2],
    sizes: [Sizes; 2],
    sides: [Side; 2],
    dealer: Option<[u8; 32]>,
}

/// How a run ended.
pub struct Outcome {
    /// What the garbler and the evaluator returned.
    pub results: [Result<Report, Error>; 2],
    /// What either did.
    pub events: [Vec<Event>; 2],
    honest: [Vec<Event>; 2],
    expected: [Vec<bool>; 2],
}

/// How a run ended for the party that does not cheat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It detected a cheat.
    Caught(Cheat),
    /// It did not agree to what the other wanted.
    Refused,
    /// It found the connection closed.
    Gone,
    /// It has the right outputs and noticed nothing.
    Survived,
    /// It has the right outputs, and the cheater's offset.
    Recovered,
    /// It has wrong outputs: the cheater won.
    Fooled,
}

/// Returns the sizes of an honest run of a program.
///
/// # Panics
/// If there are none.
pub fn sizes(program: &Program, unit: Unit) -> Sizes {
    Layout::new(program, unit, 40, None).expect("a program that can be run").sizes.clone()
}

/// Sizes that are far from safe: of a bucket and how many are opened, of all kinds of copies and of
/// authenticators.
///
/// # Panics
/// If the program cannot be run.
pub fn small(program: &Program, unit: Unit, copies: [u32; 2], authenticators: [u32; 2]) -> Sizes {
    let safe = sizes(program, unit);
    let cut = |slots: u32, [bucket, opened]: [u32; 2]| Bucketing { slots, bucket, opened };
    Sizes {
        level: Level::of(40).expect("a level"),
        unit,
        copies: safe.copies.iter().map(|safe| cut(safe.slots, copies)).collect(),
        authenticators: cut(safe.authenticators.slots, authenticators),
    }
}

/// Returns the copies in buckets of each kind, bucket after bucket, and the authenticators likewise, if the
/// challenge is the one that tests know.
///
/// # Panics
/// If the program cannot be run.
pub fn chosen(program: &Program, sizes: &Sizes) -> (Vec<Vec<usize>>, Vec<usize>) {
    let layout =
        Layout::new(program, sizes.unit, 40, Some(sizes.clone())).expect("a program that can be run");
    let choice = Choice::expand(&Seed::from_bytes([SEED; SEED_BYTES]), &layout);
    let kept = |kept: Vec<u32>| kept.into_iter().map(|k| k as usize).collect();
    (choice.copies.into_iter().map(|chosen| kept(chosen.kept)).collect(), kept(choice.authenticators.kept))
}

impl Case {
    /// Makes an honest run with random inputs and a challenge that tests know.
    pub fn new(program: &Arc<Program>, sizes: Sizes, rng: &mut Rng) -> Case {
        let job = || Job {
            program: program.clone(),
            security: 40,
            threads: 1,
            table_memory: TABLE_MEMORY,
            identities: [[1; 32], [2; 32]],
            post_quantum: false,
        };
        let mut side = |party| Side {
            input: (0..program.input_width(party)).map(|_| rng.below(2) == 1).collect(),
            ..Side::default()
        };
        let sides = [side(Party::Garbler), side(Party::Evaluator)];
        let case = Case { jobs: [job(), job()], sizes: [sizes.clone(), sizes], sides, dealer: None };
        case.lie(Party::Evaluator, Point::Challenge, |_, seed| seed.fill(SEED))
    }

    /// Lets a party alter its state; it is told Δ, once this is there.
    pub fn lie(
        mut self,
        party: Party,
        point: Point,
        alter: impl FnMut(&[u128], &mut [u8]) + Send + 'static,
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

    /// Lets the rows of the output `output` of these copies of components of a kind lead to the opposite
    /// labels, under the copies' own offsets. All copies of the kind must be garbled at a time.
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

    /// Takes base OTs from lattices.
    pub fn post_quantum(mut self) -> Case {
        self.jobs.iter_mut().for_each(|job| job.post_quantum = true);
        self
    }

    /// Gives other inputs than random ones.
    pub fn inputs(mut self, x: &[bool], y: &[bool]) -> Case {
        (self.sides[0].input, self.sides[1].input) = (x.to_vec(), y.to_vec());
        self
    }

    /// Changes what one party wants to run.
    pub fn wants(mut self, party: Party, change: impl FnOnce(&mut Job, &mut Sizes)) -> Case {
        change(&mut self.jobs[party as usize], &mut self.sizes[party as usize]);
        self
    }

    /// Deals the base OTs.
    pub fn dealt(mut self, rng: &mut Rng) -> Case {
        let mut dealer = [0; 32];
        rng.fill(&mut dealer);
        self.dealer = Some(dealer);
        self
    }

    /// Deals the base OTs and draws a random challenge: for runs by the thousand.
    pub fn cheap(mut self, rng: &mut Rng) -> Case {
        self.sides[1].lies.retain(|(point, _)| *point != Point::Challenge);
        self.dealt(rng)
    }

    /// Runs it, and an honest one of the same program to compare it with.
    ///
    /// # Panics
    /// If a party panics or hangs, or the honest run fails.
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
        let (left, right) = memory_pair();
        let (done, results) = channel();
        let seen = [Events::default(), Events::default()];
        let parties = [Party::Garbler, Party::Evaluator].into_iter().zip(jobs).zip(sizes).zip(sides);
        for ((((role, job), sizes), side), channel) in parties.zip([left, right]) {
            let (events, done) = (seen[role as usize].clone(), done.clone());
            std::thread::spawn(move || {
                let result = side.run(role, &job, sizes, channel, dealer, events);
                drop(done.send((role, result)));
            });
        }
        drop(done);
        let mut ends = [None, None];
        for _ in 0..2 {
            match results.recv_timeout(PATIENCE) {
                Ok((role, result)) => ends[role as usize] = Some(result),
                Err(RecvTimeoutError::Timeout) => panic!("a party hangs"),
                Err(RecvTimeoutError::Disconnected) => panic!("a party panicked"),
            }
        }
        let events = seen.map(|events| std::mem::take(&mut *events.lock().expect("no panic")));
        let results = ends.map(|end| end.expect("both came"));
        Outcome { results, events, honest: Default::default(), expected }
    }
}

impl Side {
    fn run(
        self,
        role: Party,
        job: &Job,
        sizes: Sizes,
        mut channel: Channel,
        dealer: Option<[u8; 32]>,
        events: Events,
    ) -> Result<Report, Error> {
        let Side { input, mut lies, mut rewrites } = self;
        let log = events.clone();
        channel.set_tamper(Box::new(move |tag, payload| {
            for (_, left, rewrite) in rewrites.iter_mut().filter(|(t, ..)| *t == tag) {
                if *left == 0 {
                    rewrite(payload);
                }
                *left = left.wrapping_sub(1);
            }
            log.lock().expect("no panic").push(Event::Sent(tag, payload.len()));
        }));
        let mut delta = Vec::new();
        let alter = move |point: Point, bytes: &mut [u8]| {
            if point == Point::Offset {
                delta = bytemuck::cast_slice(bytes).to_vec();
            }
            lies.iter_mut().filter(|(p, _)| *p == point).for_each(|(_, alter)| alter(&delta, bytes));
        };
        let unit = sizes.unit;
        let hooks = Hooks { alter: Some(Box::new(alter)), sizes: Some(sizes), dealer };
        let log = Box::new(Log(events));
        match role {
            Party::Garbler => garbler_with(channel, job, unit, &input, log, hooks),
            Party::Evaluator => evaluator_with(channel, job, unit, &input, log, hooks),
        }
    }
}

/// What honest parties do in such a run.
fn honest_events(job: &Job, sizes: &Sizes, dealt: bool) -> [Vec<Event>; 2] {
    type Known = Vec<(([u8; 32], Sizes, bool), [Vec<Event>; 2])>;
    static KNOWN: Mutex<Known> = Mutex::new(Vec::new());
    let key = (job.program.digest(), sizes.clone(), dealt);
    let known = || {
        let known = KNOWN.lock().expect("no panic");
        known.iter().find(|(other, _)| *other == key).map(|(_, events)| events.clone())
    };
    known().unwrap_or_else(|| {
        let mut rng = Rng::replayable("test honest run");
        let mut case = Case::new(&job.program, sizes.clone(), &mut rng);
        case.dealer = dealt.then_some([1; 32]);
        let outcome = case.run_alone();
        for (result, expected) in outcome.results.iter().zip(&outcome.expected) {
            let report = result.as_ref().expect("an honest run");
            assert_eq!((&report.outputs, report.aside.recovered), (expected, false));
        }
        KNOWN.lock().expect("no panic").push((key, outcome.events.clone()));
        outcome.events
    })
}

impl Outcome {
    /// Returns how it ended for the party that does not cheat, after a look at what must hold whatever the
    /// cheat: it sent the beginning of an honest transcript, and nothing after it noticed, least of all what
    /// depends on an output; the cheater sees a closed connection and no more; and if it noticed nothing, or
    /// recovered, all of an honest transcript. (That nobody panics or hangs [`Case::run`] has seen.)
    ///
    /// # Errors
    /// What did not hold.
    pub fn ending(&self, cheater: Party) -> Result<Ending, String> {
        let victim = if cheater == Party::Garbler { Party::Evaluator } else { Party::Garbler };
        let (sent, honest) = (&self.events[victim as usize], &self.honest[victim as usize]);
        let ending = match &self.results[victim as usize] {
            Ok(report) if report.outputs != self.expected[victim as usize] => Ending::Fooled,
            Ok(report) if report.aside.recovered => Ending::Recovered,
            Ok(_) => Ending::Survived,
            Err(Error::Peer(cheat)) => Ending::Caught(*cheat),
            Err(Error::Mismatch(_)) => Ending::Refused,
            Err(Error::Io(_)) => Ending::Gone,
            Err(other) => return Err(format!("the {victim:?} ends with {other}")),
        };
        if !honest.starts_with(sent) {
            return Err(format!("{ending:?}: the {victim:?} sent what an honest party does not: {sent:?}"));
        }
        let noticed = !matches!(ending, Ending::Fooled | Ending::Recovered | Ending::Survived);
        if !noticed && sent != honest {
            return Err(format!("{ending:?}: the {victim:?} did not finish"));
        }
        // The garbler has said all when the last message comes; before that, whoever noticed something has
        // not, and no label of an output has left.
        let told = |party: Party| {
            let is_output = |event: &Event| matches!(event, Event::Sent(msg::OUTPUT_LABELS, _));
            self.events[party as usize].iter().any(is_output)
        };
        let too_much = match victim {
            Party::Evaluator => told(victim),
            Party::Garbler => sent == honest && !told(cheater) && ending != Ending::Gone,
        };
        if noticed && too_much {
            return Err(format!("{ending:?}: the {victim:?} had said too much"));
        }
        // Whoever sends last is done before the other one looks.
        match &self.results[cheater as usize] {
            Ok(_) | Err(Error::Io(_)) => Ok(ending),
            Err(Error::Mismatch(_)) if ending == Ending::Refused => Ok(ending),
            Err(other) => Err(format!("{ending:?}: the cheater was told {other}")),
        }
    }
}
