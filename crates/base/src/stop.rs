//! Requests to stop the work of a thread. A thread [enters](Stop::enter) a stop, as it enters a pool
//! ([`crate::pool`]), and regularly checks whether another thread has [requested](Stop::ask) it. A thread
//! that waits for the peer calls [`check`] between two slices of waiting, and a thread that computes calls
//! [`look`] between two tasks.
//!
//! Computing code returns values and no errors, so it ends by unwinding, like a panic but without a message.
//! The unwinding ends at [`Stop::run`], which returns an error. All values on the way are dropped. Some
//! secrets are erased by an explicit line and not by a destructor. Therefore the requesting thread makes the
//! allocator erase freed memory meanwhile (`brickwork_kernels::Erasing`). Helping threads enter the same stop
//! ([`carried`]), and pools do so by themselves. Burned items and durable changes stay. The peer sees a
//! closed connection, as if this party had ended for any other reason.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, io, thread};

thread_local! {
    static ENTERED: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// The error of a thread that was asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this party was asked to stop, and stopped")
    }
}

impl std::error::Error for Stopped {}

impl From<Stopped> for io::Error {
    fn from(stopped: Stopped) -> Self {
        io::Error::new(io::ErrorKind::ConnectionAborted, stopped)
    }
}

/// A request to stop, which can be made once. Clones are the same request.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Arc<AtomicBool>,
    /// True if a caller catches the unwinding of a computation.
    caught: bool,
}

impl Stop {
    /// Makes a stop that nobody has requested yet.
    pub fn new() -> Self {
        Stop::default()
    }

    /// Requests all threads that have entered this stop to end. A waiting thread ends within a tenth of a
    /// second, and a computing thread after its current task.
    pub fn ask(&self) {
        self.asked.store(true, Ordering::Release);
    }

    /// Returns whether the stop was requested.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// Calls `work` on this thread; if `work` waits, the wait ends when the stop is requested. Computations
    /// continue, unless [`Stop::run`] is among the callers.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Restores the stop that was entered before, also when `work` panics.
        struct Back(Option<Stop>);
        impl Drop for Back {
            fn drop(&mut self) {
                ENTERED.set(self.0.take());
            }
        }
        let _back = Back(ENTERED.replace(Some(self.clone())));
        work()
    }

    /// Calls `work` on this thread; waits and computations in it end when the stop is requested.
    ///
    /// # Errors
    /// [`Stopped`] if the request ended a computation. The values of the computation are dropped. If the
    /// request ended a wait, `work` returns its own error.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T, Stopped> {
        let caught = Stop { caught: true, ..self.clone() };
        // Locks protect the state that `work` shares with other threads, so the state is valid as after a
        // panic.
        match catch_unwind(AssertUnwindSafe(|| caught.enter(work))) {
            Ok(done) => Ok(done),
            Err(payload) if payload.is::<Stopped>() => Err(Stopped),
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// Checks for a request to stop, between two slices of waiting.
///
/// # Errors
/// [`io::ErrorKind::ConnectionAborted`] if a stop was requested.
pub fn check() -> io::Result<()> {
    match ENTERED.with_borrow(|stop| stop.as_ref().is_some_and(Stop::is_asked)) {
        false => Ok(()),
        true => Err(Stopped.into()),
    }
}

/// Checks for a request to stop, between two tasks of a computation. If there is a request, this does not
/// return, but unwinds up to [`Stop::run`].
pub fn look() {
    let ends = |stop: &Stop| stop.caught && stop.is_asked();
    // A destructor that runs during the unwinding may compute too, and must not unwind again.
    if ENTERED.with_borrow(|stop| stop.as_ref().is_some_and(ends)) && !thread::panicking() {
        resume_unwind(Box::new(Stopped));
    }
}

/// Passes the items on and calls [`look`] regularly, for loops over many gates or wires.
pub fn looking<T>(items: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    /// For the cheapest items, this many take some microseconds.
    const EVERY: usize = 1 << 12;
    items.into_iter().enumerate().map(|(place, item)| {
        if place.is_multiple_of(EVERY) {
            look();
        }
        item
    })
}

/// The stop of a thread, for other threads that help it.
#[derive(Clone, Debug)]
pub struct CarriedStop(Option<Stop>);

/// Returns the stop that this thread has entered.
pub fn carry() -> CarriedStop {
    CarriedStop(ENTERED.with_borrow(Clone::clone))
}

impl CarriedStop {
    /// Calls `work` on this thread with the carried stop.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(stop) => stop.enter(work),
            None => work(),
        }
    }
}

/// Returns `work` for another thread that helps this one: it enters the same stop.
pub fn carried<'w, T>(work: impl FnOnce() -> T + 'w) -> impl FnOnce() -> T + 'w {
    let carried = carry();
    move || carried.enter(work)
}

/// Returns the result of a helping thread that was joined. If that thread was stopped, this one stops too,
/// and this does not return.
///
/// # Errors
/// Those of [`thread::JoinHandle::join`].
pub fn joined<T>(result: thread::Result<T>) -> thread::Result<T> {
    match result {
        Err(payload) if payload.is::<Stopped>() => resume_unwind(payload),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stops_when_it_is_asked_and_no_other_does() {
        let (mine, other) = (Stop::new(), Stop::new());
        assert!(check().is_ok());
        mine.enter(|| {
            other.ask();
            assert!(check().is_ok());
            other.enter(|| assert!(check().is_err()));
            assert!(check().is_ok());
            std::thread::scope(|scope| {
                scope.spawn(|| mine.ask());
            });
            assert_eq!(check().unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
            // Nobody catches the unwinding here.
            look();
            std::thread::scope(|scope| {
                scope.spawn(|| assert!(check().is_ok(), "a thread that has not entered the stop"));
            });
        });
        assert!(check().is_ok() && mine.is_asked());
    }

    /// A stopped computation ends at its next check, on this thread and on the threads that help it. The
    /// values of the computation are dropped.
    #[test]
    fn what_computes_stops_between_two_tasks() {
        struct Held<'a>(&'a AtomicBool);
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                // A destructor may compute too, and is not stopped.
                look();
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let stop = Stop::new();
        assert_eq!(stop.run(|| (look(), 7).1), Ok(7));
        let dropped = AtomicBool::new(false);
        let here = stop.run(|| {
            let _held = Held(&dropped);
            stop.ask();
            look();
            unreachable!("it was stopped");
        });
        assert_eq!(here, Err(Stopped));
        assert!(dropped.into_inner() && check().is_ok());
        let there = stop.run(|| {
            std::thread::scope(|scope| {
                let helper = scope.spawn(carried(|| {
                    look();
                    unreachable!("it was stopped, too");
                }));
                joined(helper.join()).unwrap_or(())
            });
        });
        assert_eq!(there, Err(Stopped));
        assert!(joined(std::thread::spawn(|| 3).join()).is_ok_and(|three| three == 3));
    }

    #[test]
    fn a_loop_that_looks_ends_soon() {
        let stop = Stop::new();
        let mut passed = 0u64;
        let ended = stop.run(|| {
            for _ in looking(0..u64::MAX) {
                passed += 1;
                stop.ask();
            }
        });
        assert_eq!((ended, passed), (Err(Stopped), 1 << 12));
        assert_eq!(looking([3, 4]).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn a_panic_is_no_stop() {
        let panics = || Stop::new().run(|| panic!("as a test wants it"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        let thread = std::thread::spawn(|| panic!("as a test wants it"));
        assert!(joined(thread.join()).is_err());
    }
}
