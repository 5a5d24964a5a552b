//! Runs two parties in two threads, one of which may cheat, and checks the rules that hold for every cheat.
//!
//! A party that detects a cheat ends with a typed error. It does not panic or block, and sends no further
//! message, so its transcript is a prefix of an honest one. The cheater only sees a closed connection,
//! whatever the cause.

use brickwork_testing::Replayable as _;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::super::adversary::proposal;
use super::super::challenge::{BatchSizes, Challenge};
use super::super::{Parameters, ProposalLimits, Request, evaluator_with, garbler_with, msg};
use crate::Commitments;
use crate::hooks::{Hooks, Point};
use crate::{Cheat, Report};
use brickwork_base::Error;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_circuit::{Bit, Builder, Component, Party, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_harness::{Events, other, play};
pub use brickwork_harness::{PartyAction, SEED};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_protocol::AgreedJob;
use brickwork_wire::{Channel, Tag};

type Alter = Box<dyn FnMut(&mut [u8]) + Send + Sync>;
type Rewrite = Box<dyn FnMut(&mut Vec<u8>) + Send>;

/// The input of one party, and its cheats.
struct PartyLies {
    job: AgreedJob,
    input: Vec<bool>,
    parameters: Parameters,
    lies: Vec<(Point, Alter)>,
    rewrites: Vec<(Tag, usize, Rewrite)>,
    tables: Option<crate::hooks::TableHook>,
}

/// A run and the cheats of both parties.
pub struct Case {
    garbler: PartyLies,
    evaluator: PartyLies,
    dealer: Option<[u8; 32]>,
}

/// The results of a run.
pub struct Outcome {
    /// The garbler's result.
    pub garbler: Result<Report, Error>,
    /// The evaluator's result.
    pub evaluator: Result<Report, Error>,
    /// The events of both parties.
    pub events: [Vec<PartyAction>; 2],
    honest: Option<[Vec<PartyAction>; 2]>,
    expected: [Vec<bool>; 2],
}

/// The result of the honest party in a run with a cheater.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HonestEnding {
    /// The party detected a cheat.
    Caught(Cheat),
    /// The party did not accept the other party's terms.
    Refused,
    /// The party's store ended the run: it was altered, does not match the peer's store, or fails.
    Stopped,
    /// The party found the connection closed.
    Gone,
    /// The party got its right outputs and noticed nothing.
    Survived,
    /// The party got its right outputs, and the cheater's input.
    Recovered,
    /// The party got wrong outputs: the cheater won.
    Fooled,
}

/// Every check that a peer can fail.
pub const CHEATS: &[Cheat] = Cheat::ALL;

/// Converts a cheat to this protocol's type.
///
/// # Panics
/// If the check does not belong to this protocol.
pub fn known(cheat: brickwork_base::Cheat) -> Cheat {
    Cheat::of(cheat).unwrap_or_else(|| panic!("{cheat:?} is not a check of this protocol"))
}

impl Case {
    /// Makes an honest run of `program` with random inputs and a challenge that is known to the test.
    pub fn new(program: &Arc<Program>, parameters: Parameters) -> Case {
        let mut rng = Rng::replayable("test inputs");
        let mut side = |role: Party| PartyLies {
            job: AgreedJob { threads: 2, ..AgreedJob::new(program.clone(), 40, [[1; 32], [2; 32]]) },
            input: (0..program.input_width(role)).map(|_| rng.below(2) == 1).collect(),
            parameters: parameters.clone(),
            lies: Vec::new(),
            rewrites: Vec::new(),
            tables: None,
        };
        Case { garbler: side(Party::Garbler), evaluator: side(Party::Evaluator), dealer: None }
            .evaluator_lies(Point::Challenge, |seeds| seeds.fill(SEED))
    }

    /// Makes the [`toy`] program, with buckets of 3.
    pub fn toy() -> Case {
        let program = toy();
        let parameters = small(&program, [3, 4], [3, 6], [3, 4]);
        Case::new(&program, parameters)
    }

    /// Uses base OTs from lattices.
    pub fn post_quantum(mut self) -> Case {
        self.garbler.job.post_quantum = true;
        self.evaluator.job.post_quantum = true;
        self
    }

    fn side(&mut self, role: Party) -> &mut PartyLies {
        if role == Party::Garbler { &mut self.garbler } else { &mut self.evaluator }
    }

    /// Changes the garbler's state at a point.
    pub fn lie(mut self, point: Point, alter: impl FnMut(&mut [u8]) + Send + Sync + 'static) -> Case {
        self.garbler.lies.push((point, Box::new(alter)));
        self
    }

    /// Changes the evaluator's state at a point.
    pub fn evaluator_lies(
        mut self,
        point: Point,
        alter: impl FnMut(&mut [u8]) + Send + Sync + 'static,
    ) -> Case {
        self.evaluator.lies.push((point, Box::new(alter)));
        self
    }

    /// Changes the `nth` message of a party with this tag.
    pub fn sends(
        mut self,
        role: Party,
        tag: Tag,
        nth: usize,
        rewrite: impl FnMut(&mut Vec<u8>) + Send + 'static,
    ) -> Case {
        self.side(role).rewrites.push((tag, nth, Box::new(rewrite)));
        self
    }

    /// Changes the garbler's tables, before it hashes them and when it sends them: component, copy, offset,
    /// bytes.
    pub fn tables(mut self, alter: impl Fn(usize, usize, usize, &mut [u8]) + Send + Sync + 'static) -> Case {
        self.garbler.tables = Some(Box::new(alter));
        self
    }

    /// Uses these inputs instead of random ones.
    pub fn inputs(mut self, x: &[bool], y: &[bool]) -> Case {
        (self.garbler.input, self.evaluator.input) = (x.to_vec(), y.to_vec());
        self
    }

    /// Sets the number of threads of each party.
    pub fn threads(mut self, threads: usize) -> Case {
        (self.garbler.job.threads, self.evaluator.job.threads) = (threads, threads);
        self
    }

    /// Makes the evaluator keep data in files wherever that is possible.
    pub fn in_files(mut self) -> Case {
        self.evaluator.job.table_memory = 0;
        self
    }

    /// Changes the job of one party.
    pub fn wants(mut self, role: Party, change: impl FnOnce(&mut AgreedJob, &mut Parameters)) -> Case {
        let side = self.side(role);
        change(&mut side.job, &mut side.parameters);
        self
    }

    /// Uses dealt base OTs, random challenges and one thread, for thousands of runs.
    pub fn cheap(mut self, rng: &mut Rng) -> Case {
        let mut dealer = [0; 32];
        rng.fill(&mut dealer);
        self.dealer = Some(dealer);
        self.evaluator.lies.retain(|(point, _)| *point != Point::Challenge);
        self.threads(1)
    }

    /// Runs the case, and compares it with an honest run of the same program.
    ///
    /// # Panics
    /// If a party panics or blocks.
    pub fn run(self) -> Outcome {
        let (job, parameters) = (self.evaluator.job.clone(), self.evaluator.parameters.clone());
        let dealt = self.dealer.is_some();
        let mut outcome = self.run_alone();
        outcome.honest = Some(honest_events(&job, &parameters, dealt));
        outcome
    }

    /// Runs the case alone.
    ///
    /// # Panics
    /// As [`Case::run`].
    pub fn run_alone(self) -> Outcome {
        let program = self.evaluator.job.program.clone();
        let clear = program.simulate(&self.garbler.input, &self.evaluator.input);
        let Case { garbler, evaluator, dealer } = self;
        let ([garbler, evaluator], events) = play(
            move |channel, events| garbler.run(Party::Garbler, channel, dealer, events),
            move |channel, events| evaluator.run(Party::Evaluator, channel, dealer, events),
        );
        let expected = [Party::Garbler, Party::Evaluator].map(|party| program.output_bits(party, &clear));
        Outcome { garbler, evaluator, events, honest: None, expected }
    }
}

impl PartyLies {
    fn run(
        self,
        role: Party,
        mut channel: Channel,
        dealer: Option<[u8; 32]>,
        events: Events,
    ) -> Result<Report, Error> {
        let PartyLies { job, input, parameters, mut lies, mut rewrites, tables } = self;
        events.watch(&mut channel, move |tag, payload| {
            for (_, left, rewrite) in rewrites.iter_mut().filter(|(t, ..)| *t == tag) {
                if *left == 0 {
                    rewrite(payload);
                }
                *left = left.wrapping_sub(1);
            }
        });
        let alter = move |point: Point, bytes: &mut [u8]| {
            lies.iter_mut().filter(|(p, _)| *p == point).for_each(|(_, alter)| alter(bytes))
        };
        let hooks = Hooks {
            alter: Some(Box::new(alter)),
            tables,
            parameters: Some(parameters),
            dealer,
            ..Hooks::none()
        };
        match role {
            Party::Garbler => garbler_with::<Commitments>(
                channel,
                &job,
                proposal(&job, &hooks)?,
                &input,
                Box::new(events),
                hooks,
            ),
            Party::Evaluator => evaluator_with::<Commitments>(
                channel,
                &job,
                &ProposalLimits::default(),
                &input,
                Box::new(events),
                hooks,
            ),
        }
    }
}

/// Returns the events of both parties in an honest run with these settings.
fn honest_events(job: &AgreedJob, parameters: &Parameters, dealt: bool) -> [Vec<PartyAction>; 2] {
    type Known = HashMap<([[u8; 32]; 2], [bool; 2]), [Vec<PartyAction>; 2]>;
    static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
    let key = ([job.program.digest(), parameters.digest()], [dealt, job.post_quantum]);
    if let Some(known) = KNOWN.lock().unwrap().get_or_insert_default().get(&key) {
        return known.clone();
    }
    let mut case = Case::new(&job.program, parameters.clone());
    case.dealer = dealt.then_some([1; 32]);
    if job.post_quantum {
        case = case.post_quantum();
    }
    // In an honest run the challenge refuses no copy at all.
    let case = case.evaluator_lies(Point::Refused, |refused| assert!(refused.iter().all(|byte| *byte == 0)));
    let outcome = case.run_alone();
    assert_eq!(outcome.garbler.expect("the honest run succeeds").outputs, outcome.expected[0]);
    assert_eq!(outcome.evaluator.expect("the honest run succeeds").outputs, outcome.expected[1]);
    KNOWN.lock().unwrap().get_or_insert_default().insert(key, outcome.events.clone());
    outcome.events
}

impl Outcome {
    /// Returns a party's result.
    pub fn result(&self, party: Party) -> &Result<Report, Error> {
        if party == Party::Garbler { &self.garbler } else { &self.evaluator }
    }

    /// Checks the rules that hold for every cheat, and returns how the run ended for the honest party. If
    /// this party noticed a cheat, it sent a prefix of an honest transcript, and no message that depends on
    /// an output. If it noticed nothing, or recovered, it sent a whole honest transcript. The cheater saw
    /// only a closed connection. ([`Case::run`] has checked that nobody panics or blocks.)
    ///
    /// # Errors
    /// The violated rule.
    pub fn ending(&self, cheater: Party) -> Result<HonestEnding, String> {
        let victim = other(cheater);
        let (sent, honest) = (&self.events[victim as usize], &self.honest()[victim as usize]);
        let ending = match self.result(victim) {
            Ok(report) if report.outputs != self.expected[victim as usize] => HonestEnding::Fooled,
            Ok(report) if report.aside.recovered => HonestEnding::Recovered,
            Ok(_) => HonestEnding::Survived,
            Err(Error::Peer(cheat)) => HonestEnding::Caught(known(*cheat)),
            Err(Error::Mismatch(_)) => HonestEnding::Refused,
            Err(Error::Io(_)) => HonestEnding::Gone,
            Err(other) => return Err(format!("the {victim:?} ends with the error {other}")),
        };
        if !honest.starts_with(sent) {
            return Err(format!(
                "{ending:?}: the {victim:?} sent something that an honest party does not send: {sent:?}"
            ));
        }
        let noticed =
            !matches!(ending, HonestEnding::Fooled | HonestEnding::Recovered | HonestEnding::Survived);
        if !noticed && sent != honest {
            return Err(format!("{ending:?}: the {victim:?} did not finish"));
        }
        if noticed && !self.kept_back(victim, ending) {
            return Err(format!("{ending:?}: the {victim:?} sent more than an honest party"));
        }
        // The cheater may have sent the last message of the run, and ended before the victim read it.
        match self.result(cheater) {
            Ok(_) | Err(Error::Io(_)) => Ok(ending),
            Err(Error::Mismatch(_)) if ending == HonestEnding::Refused => Ok(ending),
            Err(other) => Err(format!("{ending:?}: the cheater got the error {other}")),
        }
    }

    /// Checks that a party that noticed a cheat held messages back, and that an evaluator sent nothing about
    /// the garbler's outputs. The exception is a fault in the evaluator's last message: the garbler may have
    /// sent its own last message before.
    fn kept_back(&self, victim: Party, ending: HonestEnding) -> bool {
        let messages =
            |events: &[PartyAction]| events.iter().filter(|e| matches!(e, PartyAction::Sent(..))).count();
        let not_all = messages(&self.events[victim as usize]) < messages(&self.honest()[victim as usize]);
        let outputs = self.events[Party::Evaluator as usize]
            .iter()
            .any(|e| matches!(e, PartyAction::Sent(msg::OUTPUT_LABELS, _)));
        match (victim, ending) {
            (Party::Evaluator, _) => not_all && !outputs,
            (Party::Garbler, HonestEnding::Caught(Cheat::ForgedOutput | Cheat::UnexpectedMessage)) => {
                not_all || outputs
            }
            (Party::Garbler, HonestEnding::Gone) => not_all || !outputs,
            (Party::Garbler, _) => not_all,
        }
    }

    /// Returns the cheat that was detected, and the party that detected it.
    pub fn cheat(&self) -> Option<(Party, Cheat)> {
        let cheat = |party| match self.result(party) {
            Err(Error::Peer(cheat)) => Some((party, known(*cheat))),
            _ => None,
        };
        cheat(Party::Garbler).or(cheat(Party::Evaluator))
    }

    fn honest(&self) -> &[Vec<PartyAction>; 2] {
        self.honest.as_ref().expect("the honest run was recorded first")
    }

    /// Asserts that `party` detected `cheat` in this phase, and sent nothing after this message.
    #[track_caller]
    pub fn caught(&self, party: Party, cheat: Cheat, phase: &str, last: Tag) {
        let told: Vec<_> = [Party::Garbler, Party::Evaluator]
            .map(|p| self.result(p).as_ref().map(|_| "fine").map_err(|e| e.to_string()))
            .into();
        assert_eq!(self.cheat(), Some((party, cheat)), "{told:?}");
        let (mine, honest) = (&self.events[party as usize], &self.honest()[party as usize]);
        assert!(
            mine.len() < honest.len() || (party == Party::Garbler && phase == "decode"),
            "the {party:?} ran to its end"
        );
        assert!(
            honest.starts_with(mine),
            "the {party:?}'s messages are not a prefix of the honest run: {mine:?}"
        );
        let running =
            mine.iter().rev().find_map(|e| if let PartyAction::Phase(name) = e { Some(*name) } else { None });
        let said =
            mine.iter().rev().find_map(|e| if let PartyAction::Sent(tag, _) = e { Some(*tag) } else { None });
        assert_eq!((running, said), (Some(phase), Some(last)));
        // The cheater is not told: it finds the connection closed, or has finished before.
        match (party, self.result(other(party))) {
            (_, Err(Error::Io(_))) => {}
            (Party::Garbler, Ok(_)) if phase == "decode" => {}
            (_, other) => panic!("the peer of the honest party ends with {:?}", other.as_ref().map(|_| ())),
        }
    }

    /// Asserts that the evaluator caught the garbler.
    #[track_caller]
    pub fn evaluator_caught(&self, cheat: Cheat, phase: &str, last: Tag) {
        self.caught(Party::Evaluator, cheat, phase, last);
    }

    /// Asserts that both parties got their outputs, and that their messages are those of an honest run.
    #[track_caller]
    pub fn survived(&self) {
        self.right_outputs(false);
    }

    /// Asserts the same as [`Outcome::survived`], and that the evaluator noticed that the garbler cheated.
    #[track_caller]
    pub fn recovered(&self) {
        self.right_outputs(true);
    }

    #[track_caller]
    fn right_outputs(&self, recovered: bool) {
        let [garbler, evaluator] = [&self.garbler, &self.evaluator].map(|r| match r {
            Ok(report) => report,
            Err(error) => panic!("{error}"),
        });
        assert_eq!((&garbler.outputs, &evaluator.outputs), (&self.expected[0], &self.expected[1]));
        assert_eq!((garbler.aside.recovered, evaluator.aside.recovered), (false, recovered));
        assert_eq!(&self.events, self.honest());
    }

    /// Returns whether the evaluator accepted a wrong output, so that the cheater won.
    pub fn fooled(&self) -> bool {
        matches!(&self.evaluator, Ok(report) if report.outputs != self.expected[1])
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

/// Flips this bit of one of the labels.
pub fn flip(label: usize, bit: usize) -> impl FnMut(&mut [u8]) + Send + Sync + 'static {
    flips(vec![label], bit)
}

/// Flips the same bit of several labels.
pub fn flips(labels: Vec<usize>, bit: usize) -> impl FnMut(&mut [u8]) + Send + Sync + 'static {
    move |bytes| labels.iter().for_each(|label| bytes[16 * label + bit / 8] ^= 1 << (bit % 8))
}

/// Swaps items `i` and `j` in a list of items of `size` bytes.
pub fn swap(size: usize, i: usize, j: usize) -> impl FnMut(&mut [u8]) + Send + Sync + 'static {
    move |bytes| (0..size).for_each(|byte| bytes.swap(i * size + byte, j * size + byte))
}
