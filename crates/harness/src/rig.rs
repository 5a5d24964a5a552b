//! The attack rig: a run of two parties in which a cheater alters messages, or its state.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use brickwork_base::random::Rng;
use brickwork_base::{Cheat, Error, Party};
use brickwork_circuit::Program;
use brickwork_primitives::hooks::Hooks;
use brickwork_protocol::{AgreedJob, Observer, Report, SessionProtocol};
use brickwork_wire::{Channel, Tag};

use crate::{Events, PartyAction, SEED, other, play};

/// A protocol whose parties the rig can run.
pub trait Rigged: SessionProtocol<Proposal: Send, Aside: Send> {
    /// The points at which a party's state can be altered.
    type Point: Copy + PartialEq + Send + 'static;
    /// The settings of a test. Both parties must have the same, except in attacks on the agreement.
    type Settings: Clone + Send + 'static;
    /// The settings that the hooks replace.
    type Forced;

    /// The tag of the message in which the evaluator sends the labels of the garbler's outputs.
    const OUTPUT_LABELS: Tag;
    /// The point with the seeds of the evaluator's challenges.
    const CHALLENGE: Option<Self::Point>;
    /// The point with a party's offset, of which its later lies may depend.
    const OFFSET: Self::Point;

    /// Returns whether the evaluator had to recover the outputs.
    fn recovered(aside: &Self::Aside) -> bool;

    /// Returns whether this check of the garbler may fail at the evaluator's last message, which can arrive
    /// after the garbler has sent everything.
    fn fails_last(cheat: Cheat) -> bool;

    /// Names these settings; honest runs with the same name have the same messages.
    fn key(settings: &Self::Settings) -> String;

    /// Runs a party with hooks, which still have no settings.
    ///
    /// # Errors
    /// As the protocol.
    fn run(
        role: Party,
        channel: Channel,
        job: &AgreedJob,
        input: &[bool],
        settings: Self::Settings,
        observer: Box<dyn Observer>,
        hooks: Hooks<Self::Point, Self::Forced>,
    ) -> Result<Report<Self>, Error>;
}

/// Alters a party's state at a point; the second argument is the party's offset, empty before it is drawn.
type Lie<P> = Box<dyn FnMut(P, &[u8], &mut [u8]) + Send>;
/// Alters a message before it is sent.
type Rewrite = Box<dyn FnMut(Tag, &mut Vec<u8>) + Send>;

/// The input, the settings and the cheats of one party.
struct PartyLies<P: Rigged> {
    job: AgreedJob,
    settings: P::Settings,
    input: Vec<bool>,
    lies: Vec<Lie<P::Point>>,
    rewrites: Vec<Rewrite>,
}

/// A run with the cheats of both parties.
pub struct Case<P: Rigged> {
    parties: [PartyLies<P>; 2],
    dealer: Option<[u8; 32]>,
}

/// Draws random inputs of both parties.
pub fn random_inputs(program: &Program, rng: &mut Rng) -> [Vec<bool>; 2] {
    [Party::Garbler, Party::Evaluator]
        .map(|party| (0..program.input_width(party)).map(|_| rng.below(2) == 1).collect())
}

impl<P: Rigged> Case<P> {
    /// Makes an honest run at 40 bits with random inputs, base OTs and a random challenge.
    pub fn new(program: &Arc<Program>, settings: P::Settings, rng: &mut Rng) -> Self {
        let parties = random_inputs(program, rng).map(|input| PartyLies {
            job: AgreedJob::new(program.clone(), 40, [[1; 32], [2; 32]]),
            settings: settings.clone(),
            input,
            lies: Vec::new(),
            rewrites: Vec::new(),
        });
        Case { parties, dealer: None }
    }

    /// Returns the garbler's program.
    pub fn program(&self) -> &Arc<Program> {
        &self.parties[0].job.program
    }

    /// Returns the garbler's settings.
    pub fn settings(&self) -> &P::Settings {
        &self.parties[0].settings
    }

    /// Makes the evaluator draw the challenge of [`SEED`], which a garbler of a test knows in advance.
    pub fn known(self) -> Self {
        match P::CHALLENGE {
            Some(point) => self.evaluator_lies(point, |seeds| seeds.fill(SEED)),
            None => self,
        }
    }

    /// Takes the keys of the base OTs from a dealer, because tests make thousands of runs.
    pub fn dealt(mut self, rng: &mut Rng) -> Self {
        let mut dealer = [0; 32];
        rng.fill(&mut dealer);
        self.dealer = Some(dealer);
        self
    }

    /// Uses base OTs from lattices.
    pub fn post_quantum(mut self) -> Self {
        self.parties.iter_mut().for_each(|party| party.job.post_quantum = true);
        self
    }

    /// Runs the base OTs, without a dealer.
    pub fn with_base_ots(mut self) -> Self {
        self.dealer = None;
        self
    }

    /// Uses these inputs instead of random ones.
    pub fn inputs(mut self, x: &[bool], y: &[bool]) -> Self {
        (self.parties[0].input, self.parties[1].input) = (x.to_vec(), y.to_vec());
        self
    }

    /// Gives each party this many threads.
    pub fn threads(mut self, threads: usize) -> Self {
        self.parties.iter_mut().for_each(|party| party.job.threads = threads);
        self
    }

    /// Makes the evaluator keep data in files wherever that is possible.
    pub fn in_files(mut self) -> Self {
        self.parties[1].job.table_memory = 0;
        self
    }

    /// Changes the job and the settings of one party.
    pub fn wants(mut self, role: Party, change: impl FnOnce(&mut AgreedJob, &mut P::Settings)) -> Self {
        let party = &mut self.parties[role as usize];
        change(&mut party.job, &mut party.settings);
        self
    }

    /// Changes the settings of both parties.
    pub fn set(self, change: impl Fn(&mut P::Settings)) -> Self {
        self.wants(Party::Garbler, |_, all| change(all)).wants(Party::Evaluator, |_, all| change(all))
    }

    /// Alters the garbler's state at a point.
    pub fn lie(self, point: P::Point, alter: impl FnMut(&mut [u8]) + Send + 'static) -> Self {
        self.lies(Party::Garbler, point, alter)
    }

    /// Alters the evaluator's state at a point.
    pub fn evaluator_lies(self, point: P::Point, alter: impl FnMut(&mut [u8]) + Send + 'static) -> Self {
        self.lies(Party::Evaluator, point, alter)
    }

    /// Alters a party's state at a point.
    pub fn lies(
        self,
        role: Party,
        point: P::Point,
        mut alter: impl FnMut(&mut [u8]) + Send + 'static,
    ) -> Self {
        self.lies_with(role, point, move |_, bytes| alter(bytes))
    }

    /// Alters the garbler's state at a point. `alter` gets the garbler's offset, if it is drawn already.
    pub fn lie_with(self, point: P::Point, alter: impl FnMut(&[u8], &mut [u8]) + Send + 'static) -> Self {
        self.lies_with(Party::Garbler, point, alter)
    }

    /// Alters a party's state at a point. `alter` gets the party's offset, if it is drawn already.
    pub fn lies_with(
        self,
        role: Party,
        point: P::Point,
        mut alter: impl FnMut(&[u8], &mut [u8]) + Send + 'static,
    ) -> Self {
        self.lies_at(role, move |here, offset, bytes| {
            if here == point {
                alter(offset, bytes);
            }
        })
    }

    /// Alters a party's state at all points for which `alter` does something.
    pub fn lies_at(
        mut self,
        role: Party,
        alter: impl FnMut(P::Point, &[u8], &mut [u8]) + Send + 'static,
    ) -> Self {
        self.parties[role as usize].lies.push(Box::new(alter));
        self
    }

    /// Alters a party's messages when it sends them.
    pub fn tampers(mut self, role: Party, tamper: impl FnMut(Tag, &mut Vec<u8>) + Send + 'static) -> Self {
        self.parties[role as usize].rewrites.push(Box::new(tamper));
        self
    }

    /// Alters the `nth` message of a party with this tag.
    pub fn sends(
        self,
        role: Party,
        tag: Tag,
        nth: usize,
        mut rewrite: impl FnMut(&mut Vec<u8>) + Send + 'static,
    ) -> Self {
        let mut left = nth;
        self.tampers(role, move |sent, message| {
            if sent == tag {
                if left == 0 {
                    rewrite(message);
                }
                left = left.wrapping_sub(1);
            }
        })
    }

    /// Runs the case, and an honest run of the same program for comparison.
    ///
    /// # Panics
    /// If a party panics or hangs, or the honest run fails.
    pub fn run(self) -> Outcome<P> {
        let PartyLies { job, settings, .. } = &self.parties[1];
        let honest = honest_events::<P>(job, settings, self.dealer.is_some());
        Outcome { honest, ..self.run_alone() }
    }

    /// Runs the case alone.
    ///
    /// # Panics
    /// If a party panics or hangs.
    pub fn run_alone(self) -> Outcome<P> {
        let Case { parties: [x, y], dealer } = self;
        let program = y.job.program.clone();
        let clear = program.simulate(&x.input, &y.input);
        let expected = [Party::Garbler, Party::Evaluator].map(|party| program.output_bits(party, &clear));
        let ([garbler, evaluator], events) = play(
            move |channel, events| x.run(Party::Garbler, channel, dealer, events),
            move |channel, events| y.run(Party::Evaluator, channel, dealer, events),
        );
        Outcome { garbler, evaluator, events, honest: Default::default(), expected }
    }
}

impl<P: Rigged> PartyLies<P> {
    fn run(
        self,
        role: Party,
        mut channel: Channel,
        dealer: Option<[u8; 32]>,
        events: Events,
    ) -> Result<Report<P>, Error> {
        let PartyLies { job, settings, input, mut lies, mut rewrites } = self;
        let cheats = !lies.is_empty() || !rewrites.is_empty();
        events.watch(&mut channel, move |tag, message| {
            rewrites.iter_mut().for_each(|rewrite| rewrite(tag, message));
        });
        let mut offset = Vec::new();
        let alter = move |point: P::Point, bytes: &mut [u8]| {
            if point == P::OFFSET {
                offset = bytes.to_vec();
            }
            lies.iter_mut().for_each(|alter| alter(point, &offset, bytes));
        };
        let mut hooks = if cheats { Hooks::lying(alter) } else { Hooks::none() };
        hooks.dealer = dealer;
        P::run(role, channel, &job, &input, settings, Box::new(events), hooks)
    }
}

/// Returns the actions of both parties in an honest run with these settings, which is played once.
fn honest_events<P: Rigged>(job: &AgreedJob, settings: &P::Settings, dealt: bool) -> [Vec<PartyAction>; 2] {
    static KNOWN: Mutex<Option<HashMap<String, [Vec<PartyAction>; 2]>>> = Mutex::new(None);
    let (program, lattices, level) = (job.program.digest(), job.post_quantum, P::key(settings));
    let key = format!("{} {program:?} {lattices} {dealt} {level}", P::NAME);
    if let Some(known) = KNOWN.lock().expect("no panic").get_or_insert_default().get(&key) {
        return known.clone();
    }
    let inputs = [Party::Garbler, Party::Evaluator].map(|party| vec![true; job.program.input_width(party)]);
    let parties = inputs.map(|input| PartyLies {
        job: job.clone(),
        settings: settings.clone(),
        input,
        lies: Vec::new(),
        rewrites: Vec::new(),
    });
    let outcome = Case::<P> { parties, dealer: dealt.then_some([1; 32]) }.run_alone();
    for (result, expected) in [&outcome.garbler, &outcome.evaluator].into_iter().zip(&outcome.expected) {
        let report = result.as_ref().expect("an honest run");
        assert_eq!((&report.outputs, P::recovered(&report.aside)), (expected, false));
    }
    let _ = KNOWN.lock().expect("no panic").get_or_insert_default().insert(key, outcome.events.clone());
    outcome.events
}

/// How a run ended for the honest party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The party detected a cheat.
    Caught(Cheat),
    /// The party did not agree to the peer's terms.
    Refused,
    /// The party's store refused: it was altered, does not match the peer's store, or fails.
    Stopped,
    /// The party found the connection closed.
    Gone,
    /// The party has the right outputs and noticed nothing.
    Survived,
    /// The party has the right outputs, and the cheater's offset.
    Recovered,
    /// The party has wrong outputs: the cheater won.
    Fooled,
}

impl Ending {
    /// Returns the ending in which a check fails.
    pub fn caught(check: impl Into<Cheat>) -> Self {
        Ending::Caught(check.into())
    }

    /// Returns whether the party noticed a fault, and has no outputs.
    pub fn is_noticed(self) -> bool {
        !matches!(self, Ending::Fooled | Ending::Recovered | Ending::Survived)
    }
}

/// The results and actions of a run, beside an honest run.
pub struct Outcome<P: Rigged> {
    /// The garbler's result.
    pub garbler: Result<Report<P>, Error>,
    /// The evaluator's result.
    pub evaluator: Result<Report<P>, Error>,
    /// The actions of the garbler and the evaluator.
    pub events: [Vec<PartyAction>; 2],
    /// The parties' actions in an honest run; empty after [`Case::run_alone`].
    pub honest: [Vec<PartyAction>; 2],
    /// The parties' right outputs.
    pub expected: [Vec<bool>; 2],
}

fn is_message(event: &PartyAction) -> bool {
    matches!(event, PartyAction::Sent(..))
}

impl<P: Rigged> Outcome<P> {
    /// Returns a party's result.
    pub fn result(&self, party: Party) -> &Result<Report<P>, Error> {
        if party == Party::Garbler { &self.garbler } else { &self.evaluator }
    }

    /// Returns whether a party sent a message with this tag.
    pub fn says(&self, party: Party, tag: Tag) -> bool {
        let is = |event: &PartyAction| matches!(event, PartyAction::Sent(sent, _) if *sent == tag);
        self.events[party as usize].iter().any(is)
    }

    /// Returns how the run ended for the honest party, after checks of the rules for all runs. The honest
    /// party sent the beginning of an honest transcript, and nothing after it noticed the cheat, least of all
    /// a message that depends on an output. The cheater sees a closed connection and nothing else. If the
    /// honest party noticed nothing, or recovered, it sent a whole honest transcript. ([`play`] has checked
    /// that no party panics or hangs.)
    ///
    /// # Errors
    /// The broken rule.
    pub fn ending(&self, cheater: Party) -> Result<Ending, String> {
        let victim = other(cheater);
        let (sent, honest) = (&self.events[victim as usize], &self.honest[victim as usize]);
        let ending = match self.result(victim) {
            Ok(report) if report.outputs != self.expected[victim as usize] => Ending::Fooled,
            Ok(report) if P::recovered(&report.aside) => Ending::Recovered,
            Ok(_) => Ending::Survived,
            Err(Error::Peer(cheat)) => Ending::Caught(*cheat),
            Err(Error::Mismatch(_)) => Ending::Refused,
            Err(Error::Io(_)) => Ending::Gone,
            Err(other) => return Err(format!("the {victim:?} ends with {other}")),
        };
        if !honest.starts_with(sent) {
            return Err(format!("{ending:?}: the {victim:?} sent what an honest party does not: {sent:?}"));
        }
        if !ending.is_noticed() && sent != honest {
            return Err(format!("{ending:?}: the {victim:?} did not finish"));
        }
        if ending.is_noticed() && !self.kept_back(victim, ending) {
            return Err(format!("{ending:?}: the {victim:?} sent more than an honest party"));
        }
        // The party that sends last may end before the other party notices the cheat.
        match self.result(cheater) {
            Ok(_) | Err(Error::Io(_)) => Ok(ending),
            Err(Error::Mismatch(_)) if ending == Ending::Refused => Ok(ending),
            Err(other) => Err(format!("{ending:?}: the cheater was told {other}")),
        }
    }

    /// Returns whether a party that noticed a cheat held messages back, and whether an evaluator sent nothing
    /// about the garbler's outputs. An exception is a fault in the evaluator's last message: the garbler may
    /// have sent its own last message before.
    fn kept_back(&self, victim: Party, ending: Ending) -> bool {
        let messages = |events: &[PartyAction]| events.iter().filter(|event| is_message(event)).count();
        let not_all = messages(&self.events[victim as usize]) < messages(&self.honest[victim as usize]);
        let outputs = self.says(Party::Evaluator, P::OUTPUT_LABELS);
        match (victim, ending) {
            (Party::Evaluator, _) => not_all && !outputs,
            (Party::Garbler, Ending::Caught(cheat)) => not_all || outputs && P::fails_last(cheat),
            (Party::Garbler, Ending::Gone) => not_all || !outputs,
            (Party::Garbler, _) => not_all,
        }
    }

    /// Returns the cheat that was detected, and the party that detected it.
    pub fn cheat(&self) -> Option<(Party, Cheat)> {
        let cheat = |party| match self.result(party) {
            Err(Error::Peer(cheat)) => Some((party, *cheat)),
            _ => None,
        };
        cheat(Party::Garbler).or(cheat(Party::Evaluator))
    }

    /// Asserts that `party` detected `cheat`, and that the rules for all runs hold.
    #[track_caller]
    pub fn is_caught(&self, party: Party, cheat: impl Into<Cheat>) {
        assert_eq!(self.ending(other(party)), Ok(Ending::caught(cheat)));
    }

    /// Asserts that `party` detected `cheat` in this phase, and sent nothing after this message.
    #[track_caller]
    pub fn caught(&self, party: Party, cheat: impl Into<Cheat>, phase: &str, last: Tag) {
        self.is_caught(party, cheat);
        let mine = self.events[party as usize].iter().rev();
        let running =
            mine.clone().find_map(|e| if let PartyAction::Phase(name) = e { Some(*name) } else { None });
        let said =
            mine.clone().find_map(|e| if let PartyAction::Sent(tag, _) = e { Some(*tag) } else { None });
        assert_eq!((running, said), (Some(phase), Some(last)));
        // The cheater finds the connection closed, unless it had sent the last message of the run.
        let had_finished = party == Party::Garbler && phase == "decode";
        assert!(had_finished || matches!(self.result(other(party)), Err(Error::Io(_))));
    }

    /// Asserts that the evaluator detected the garbler's cheat in this phase, after this message of its own.
    #[track_caller]
    pub fn evaluator_caught(&self, cheat: impl Into<Cheat>, phase: &str, last: Tag) {
        self.caught(Party::Evaluator, cheat, phase, last);
    }

    /// Asserts that both parties got their outputs, and that their messages are those of an honest run.
    #[track_caller]
    pub fn survived(&self) {
        self.right_outputs(Ending::Survived);
    }

    /// Asserts the same as [`Outcome::survived`], and that the evaluator noticed that the garbler cheated.
    #[track_caller]
    pub fn recovered(&self) {
        self.right_outputs(Ending::Recovered);
    }

    #[track_caller]
    fn right_outputs(&self, ending: Ending) {
        assert_eq!(self.ending(Party::Garbler), Ok(ending));
        assert_eq!(self.ending(Party::Evaluator), Ok(Ending::Survived));
    }

    /// Returns whether the evaluator accepted a wrong output, so that the cheater won.
    pub fn fooled(&self) -> bool {
        matches!(&self.evaluator, Ok(report) if report.outputs != self.expected[1])
    }
}

/// Flips a bit of one label.
pub fn flip(label: usize, bit: usize) -> impl FnMut(&mut [u8]) + Clone + Send + Sync + 'static {
    flips(vec![label], bit)
}

/// Flips the same bit of several labels.
pub fn flips(labels: Vec<usize>, bit: usize) -> impl FnMut(&mut [u8]) + Clone + Send + Sync + 'static {
    move |bytes| labels.iter().for_each(|label| bytes[16 * label + bit / 8] ^= 1 << (bit % 8))
}

/// Flips the same bit of every label or hash.
pub fn flip_all(bit: usize) -> impl FnMut(&mut [u8]) + Clone + Send + Sync + 'static {
    move |bytes| bytes.chunks_mut(16).for_each(|label| label[bit / 8] ^= 1 << (bit % 8))
}

/// Swaps items `i` and `j` in a list of items of `size` bytes.
pub fn swap(size: usize, i: usize, j: usize) -> impl FnMut(&mut [u8]) + Clone + Send + Sync + 'static {
    move |bytes| (0..size).for_each(|byte| bytes.swap(i * size + byte, j * size + byte))
}

/// Adds an offset to some labels of its length.
pub fn add(labels: &mut [u8], offset: &[u8], which: impl IntoIterator<Item = usize>) {
    for k in which {
        let label = &mut labels[k * offset.len()..][..offset.len()];
        label.iter_mut().zip(offset).for_each(|(byte, other)| *byte ^= other);
    }
}
