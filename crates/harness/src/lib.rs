//! Runs two parties in two threads, one of which may cheat, and checks rules that every run must keep. It is
//! for tests and the adversary only: a protocol with the feature `adversary` adds its own points, cuts and
//! lies.
//!
//! A party that detects a cheat ends with a typed error, does not panic or hang, and sends no further
//! message: its transcript is the beginning of an honest transcript. The cheater sees a closed connection,
//! whatever its cheat was.
#![forbid(unsafe_code)]

pub mod measured;
pub mod stores;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brickwork_base::pool::Pool;
use brickwork_base::random::{SEED_BYTES, Seed};
use brickwork_base::{Cheat, Error, Party};
use brickwork_primitives::ot::base::SeriesKeys;
use brickwork_protocol::{Observer, Report, SessionProtocol};
use brickwork_wire::{Channel, Tag, memory_pair};

/// The longest time of a run in seconds. A run takes a fraction of a second, and a party waits for a message
/// for at most a minute. So a longer run means that a party hangs.
const PATIENCE: Duration = Duration::from_secs(50);

/// Every byte of the seeds of a challenge, which a test knows in advance.
pub const SEED: u8 = 0x5e;

/// Returns a party's keys of the base OTs. A dealer draws the keys of both parties, which is faster than base
/// OTs in thousands of runs. The party is the sender of `send` OTs, and the receiver of an OT for each of
/// `choices`.
pub fn dealt(dealer: &[u8; 32], role: Party, send: usize, choices: &[u8]) -> SeriesKeys {
    let key = |garbler_sends: bool, index: usize, bit: u8| {
        let mut hasher = blake3::Hasher::new_keyed(dealer);
        hasher.update(&[garbler_sends.into(), bit]).update(&(index as u64).to_le_bytes());
        Seed::from_bytes(*hasher.finalize().as_bytes().first_chunk::<SEED_BYTES>().expect("32 bytes"))
    };
    let garbler = role == Party::Garbler;
    SeriesKeys {
        sent: (0..send).map(|i| [0, 1].map(|bit| key(garbler, i, bit))).collect(),
        received: choices.iter().enumerate().map(|(i, &bit)| key(!garbler, i, bit)).collect(),
    }
}

/// An action of a party. A message counts by its tag and length, which an onlooker and the peer can see
/// before its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartyAction {
    /// A phase began.
    Phase(&'static str),
    /// The party sent a message of this length.
    Sent(Tag, usize),
}

/// A list of a party's actions, recorded while the party runs.
#[derive(Clone, Default)]
pub struct Events(Arc<Mutex<Vec<PartyAction>>>);

impl Events {
    fn push(&self, event: PartyAction) {
        self.0.lock().expect("no panic").push(event);
    }

    /// Records each message of a channel, after `rewrite` may have changed it.
    pub fn watch(&self, channel: &mut Channel, mut rewrite: impl FnMut(Tag, &mut Vec<u8>) + Send + 'static) {
        let log = self.clone();
        channel.set_tamper(Box::new(move |tag, payload| {
            rewrite(tag, payload);
            log.push(PartyAction::Sent(tag, payload.len()));
        }));
    }
}

impl Observer for Events {
    fn phase(&mut self, name: &'static str) {
        self.push(PartyAction::Phase(name));
    }
    fn progress(&mut self, _: u64, _: u64) {}
}

/// Returns the other party.
pub fn other(party: Party) -> Party {
    if party == Party::Garbler { Party::Evaluator } else { Party::Garbler }
}

/// The results and the actions of both parties, garbler first.
pub type BothActions<R> = ([Result<R, Error>; 2], [Vec<PartyAction>; 2]);

/// Runs the garbler and the evaluator in two threads. If this thread has entered a pool, both parties compute
/// on it, so that thousands of runs share its threads.
///
/// # Panics
/// If a party panics or hangs.
pub fn play<R, G, E>(garbler: G, evaluator: E) -> BothActions<R>
where
    R: Send + 'static,
    G: FnOnce(Channel, Events) -> Result<R, Error> + Send + 'static,
    E: FnOnce(Channel, Events) -> Result<R, Error> + Send + 'static,
{
    let (left, right) = memory_pair();
    let (done, results) = channel();
    let events = [Events::default(), Events::default()];
    let (told, seen, pool) = (done.clone(), events[0].clone(), Pool::entered());
    std::thread::spawn(move || drop(told.send((Party::Garbler, on(pool, || garbler(left, seen))))));
    let (seen, pool) = (events[1].clone(), Pool::entered());
    std::thread::spawn(move || drop(done.send((Party::Evaluator, on(pool, || evaluator(right, seen))))));
    let mut ends = [None, None];
    for _ in 0..2 {
        match results.recv_timeout(PATIENCE) {
            Ok((role, result)) => ends[role as usize] = Some(result),
            Err(RecvTimeoutError::Timeout) => panic!("a party hangs"),
            Err(RecvTimeoutError::Disconnected) => panic!("a party panicked"),
        }
    }
    let events = events.map(|events| std::mem::take(&mut *events.0.lock().expect("no panic")));
    (ends.map(|end| end.expect("both came")), events)
}

/// Calls `work` in this pool, if there is one.
fn on<T>(pool: Option<Pool>, work: impl FnOnce() -> T) -> T {
    match pool {
        Some(pool) => pool.enter(work),
        None => work(),
    }
}

/// A protocol whose runs the adversary can judge.
pub trait JudgedProtocol: SessionProtocol {
    /// The tag of the message in which the evaluator sends the labels of the garbler's outputs.
    const OUTPUT_LABELS: Tag;

    /// Returns whether the evaluator had to recover the outputs.
    fn recovered(aside: &Self::Aside) -> bool;
}

/// How a run ended for the honest party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The party detected a cheat.
    Caught(Cheat),
    /// The party did not agree to the peer's terms.
    Refused,
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
    /// Returns whether the party noticed a fault, and has no outputs.
    pub fn is_noticed(self) -> bool {
        !matches!(self, Ending::Fooled | Ending::Recovered | Ending::Survived)
    }
}

/// The results and actions of a run, beside an honest run.
pub struct JudgedRun<P: SessionProtocol> {
    /// The results of the garbler and the evaluator.
    pub results: [Result<Report<P>, Error>; 2],
    /// The actions of the garbler and the evaluator.
    pub events: [Vec<PartyAction>; 2],
    /// The parties' actions in an honest run.
    pub honest: [Vec<PartyAction>; 2],
    /// The parties' right outputs.
    pub expected: [Vec<bool>; 2],
}

impl<P: JudgedProtocol> JudgedRun<P> {
    /// Returns how the run ended for the honest party, after checks of the rules for all runs. The honest
    /// party sent the beginning of an honest transcript. After it noticed the cheat, it sent nothing, in
    /// particular no message that depends on an output. The cheater sees a closed connection and nothing
    /// else. If the honest party noticed nothing, or recovered, it sent a whole honest transcript. ([`play`]
    /// has checked that no party panics or hangs.)
    ///
    /// # Errors
    /// The broken rule.
    pub fn ending(&self, cheater: Party) -> Result<Ending, String> {
        let victim = other(cheater);
        let (sent, honest) = (&self.events[victim as usize], &self.honest[victim as usize]);
        let ending = match &self.results[victim as usize] {
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
        if ending.is_noticed() && self.said_too_much(victim, ending) {
            return Err(format!("{ending:?}: the {victim:?} sent more than an honest party"));
        }
        // The party that sends last may end before the other party notices the cheat.
        match &self.results[cheater as usize] {
            Ok(_) | Err(Error::Io(_)) => Ok(ending),
            Err(Error::Mismatch(_)) if ending == Ending::Refused => Ok(ending),
            Err(other) => Err(format!("{ending:?}: the cheater was told {other}")),
        }
    }

    /// Returns whether a party that noticed a cheat has sent all its messages, or whether an evaluator has
    /// sent the labels of the garbler's outputs. An exception is a garbler that sends its last message before
    /// the evaluator's last message arrives, because this garbler notices an error only at the end.
    fn said_too_much(&self, victim: Party, ending: Ending) -> bool {
        let is_output =
            |event: &PartyAction| matches!(event, PartyAction::Sent(tag, _) if *tag == P::OUTPUT_LABELS);
        let outputs = self.events[Party::Evaluator as usize].iter().any(is_output);
        let all = self.events[victim as usize] == self.honest[victim as usize];
        match victim {
            Party::Evaluator => outputs,
            Party::Garbler => all && !outputs && ending != Ending::Gone,
        }
    }
}

/// The actions of honest parties, by the key of a run; each run is executed once.
pub struct HonestActions<K>(Mutex<Vec<(K, [Vec<PartyAction>; 2])>>);

impl<K> HonestActions<K> {
    /// Makes an empty list.
    pub const fn new() -> Self {
        HonestActions(Mutex::new(Vec::new()))
    }
}

impl<K> Default for HonestActions<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: PartialEq> HonestActions<K> {
    /// Returns the actions of both parties in the run with this key; executes the run at its first use.
    ///
    /// # Panics
    /// If the run fails, gives wrong outputs or recovers.
    pub fn of<P: JudgedProtocol>(&self, key: K, run: impl FnOnce() -> JudgedRun<P>) -> [Vec<PartyAction>; 2] {
        let known = || {
            let known = self.0.lock().expect("no panic");
            known.iter().find(|(other, _)| *other == key).map(|(_, events)| events.clone())
        };
        known().unwrap_or_else(|| {
            let outcome = run();
            for (result, expected) in outcome.results.iter().zip(&outcome.expected) {
                let report = result.as_ref().expect("an honest run");
                assert_eq!((&report.outputs, P::recovered(&report.aside)), (expected, false));
            }
            self.0.lock().expect("no panic").push((key, outcome.events.clone()));
            outcome.events
        })
    }
}
