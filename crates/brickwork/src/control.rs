//! Control of work from another thread: [`Control`] stops the work, and [`Progress`] shows how far it is.

use std::sync::{Arc, Mutex, PoisonError};

use brickwork_base::stop::{Stop, Stopped};
use brickwork_kernels::Erasing;
use brickwork_protocol::Observer;

use crate::failure::{Error, ErrorKind};

/// A control for one piece of work: another thread can stop the work and see its progress.
#[derive(Default)]
pub struct Control {
    /// The request to stop.
    pub stop: Stop,
    /// The progress of the work.
    pub progress: Arc<Progress>,
    /// Present from the request to stop until the work has ended.
    erasing: Mutex<Option<Erasing>>,
}

impl Control {
    /// Asks the work to stop, from another thread. Until the work [has ended](Control::ended), all freed
    /// memory is erased. Unwinding alone would erase only values with a destructor for it.
    pub fn ask_to_stop(&self) {
        self.erasing.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Erasing::begin);
        self.stop.ask();
    }

    /// Notes that all work has ended.
    pub fn ended(&self) {
        self.erasing.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Runs work; if another thread asks to stop, the work ends at once.
    ///
    /// # Errors
    /// The error of the work, or an error that says that it was stopped.
    pub fn run<T, E: Kinded>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        match self.stop.run(work) {
            Ok(done) => self.result(done),
            Err(stopped) => Err(Error::stopped(stopped).into()),
        }
    }

    /// Runs work; if another thread asks to stop, the work ends when it next waits for the peer. So a check
    /// that has begun is completed, and its failure is reported.
    ///
    /// # Errors
    /// As [`Control::run`].
    pub fn run_to_next_wait<T, E: Kinded>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.result(self.stop.enter(work))
    }

    /// Returns the result of work that has ended. After a request to stop, any error becomes "stopped",
    /// because a party may see first that the other stopped party has closed the connection. Only a peer's
    /// cheat is reported in any case.
    fn result<T, E: Kinded>(&self, done: Result<T, E>) -> Result<T, E> {
        match done {
            Err(error) if self.stop.is_asked() && error.kind() != ErrorKind::Peer => {
                Err(Error::stopped(Stopped).into())
            }
            done => done,
        }
    }
}

/// An error of the library, or an error that a caller made from one.
pub trait Kinded: From<Error> {
    /// Returns the kind of the error.
    fn kind(&self) -> ErrorKind;
}

impl Kinded for Error {
    fn kind(&self) -> ErrorKind {
        Error::kind(self)
    }
}

/// The progress of a run, which another thread can read.
#[derive(Debug, Default)]
pub struct Progress(Mutex<(&'static str, u64, u64)>);

impl Progress {
    /// Returns the phase, the bytes that have passed, and their expected total.
    pub fn now(&self) -> (&'static str, u64, u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a function that makes observers which report here.
    pub fn watch(self: &Arc<Self>) -> impl Fn(&'static [&'static str]) -> Box<dyn Observer> + use<> {
        let progress = self.clone();
        move |phases| Box::new(Reporter { progress: progress.clone(), furthest: Furthest::new(phases) })
    }

    fn set(&self, change: impl FnOnce(&mut (&'static str, u64, u64))) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Reports the progress of one run.
struct Reporter {
    progress: Arc<Progress>,
    furthest: Furthest,
}

impl Observer for Reporter {
    fn phase(&mut self, name: &'static str) {
        if self.furthest.enters(name) {
            self.progress.set(|shown| shown.0 = name);
        }
    }

    fn progress(&mut self, done: u64, total: u64) {
        let (done, total) = self.furthest.passes(done, total);
        self.progress.set(|shown| (shown.1, shown.2) = (done, total));
    }
}

/// The furthest point of a run. A run alternates between phases, because they share flights. But the
/// displayed progress never goes back.
pub struct Furthest {
    /// The phases of the protocol, in their order.
    phases: &'static [&'static str],
    /// The index of the furthest phase so far, counted from 1.
    phase: usize,
    /// Bytes that have passed, and their expected total.
    bytes: (u64, u64),
}

impl Furthest {
    /// Begins a run of a protocol with these phases.
    pub fn new(phases: &'static [&'static str]) -> Self {
        Furthest { phases, phase: 0, bytes: (0, 0) }
    }

    /// Returns whether this phase comes after all phases so far.
    pub fn enters(&mut self, name: &str) -> bool {
        let place = self.phases.iter().position(|phase| *phase == name).map_or(0, |place| place + 1);
        let further = place > self.phase;
        self.phase = self.phase.max(place);
        further
    }

    /// Returns the bytes to display. More bytes may pass than were announced, but the display never exceeds
    /// the total.
    pub fn passes(&mut self, done: u64, total: u64) -> (u64, u64) {
        let (before, all) = self.bytes;
        self.bytes = (before.max(done), all.max(total).max(done));
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use brickwork_base::stop;

    use super::*;

    /// If work is asked to stop during a check, the check is completed and its failure is reported. Any other
    /// failure counts as stopped.
    #[test]
    fn a_check_that_has_begun_is_looked_at_to_its_end() {
        let control = Control::default();
        let fails = |kind| {
            control.run_to_next_wait(|| {
                control.ask_to_stop();
                stop::look();
                Err::<(), _>(Error::new(kind, "it failed", ""))
            })
        };
        for (kind, reported) in [
            (ErrorKind::Peer, ErrorKind::Peer),
            (ErrorKind::Network, ErrorKind::Network),
            (ErrorKind::Stock, ErrorKind::Network),
        ] {
            assert_eq!(fails(kind).map_err(|error| error.kind()), Err(reported), "{kind:?}");
        }
        assert!(control.run_to_next_wait(|| Ok::<_, Error>(())).is_ok());
        control.ended();
    }
}
