//! Runs two parties in two threads, one of which may cheat, and checks rules that every run must keep. It is
//! for tests and the adversary only: a protocol with the feature `adversary` adds its own points, cuts and
//! lies.
//!
//! A party that detects a cheat ends with a typed error, does not panic or hang, and sends no further
//! message: its transcript is the beginning of an honest transcript. The cheater sees a closed connection,
//! whatever its cheat was.
#![forbid(unsafe_code)]

pub mod measured;
#[cfg(feature = "rig")]
mod rig;
pub mod stores;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brickwork_base::pool::Pool;
use brickwork_base::{Error, Party};
use brickwork_protocol::Observer;
use brickwork_wire::{Channel, Tag, memory_pair};
#[cfg(feature = "rig")]
pub use rig::{Case, Ending, Outcome, Rigged, add, flip, flip_all, flips, random_inputs, swap};

/// A run takes a fraction of a second; a party waits for a message for at most a minute, so this time tells a
/// hanging party.
const PATIENCE: Duration = Duration::from_secs(50);

/// Every byte of the seeds of a challenge that a test knows in advance.
pub const SEED: u8 = 0x5e;

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
