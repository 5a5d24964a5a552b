//! A wish that what a thread does should end: whoever waits for the peer there then stops waiting.
//!
//! A thread [enters](Stop::enter) a stop, as it enters a pool ([`crate::pool`]); whatever waits for a peer on
//! that thread looks now and then whether another thread has [asked](Stop::ask). Nothing that was burned or
//! made durable is undone, and the peer sees a closed connection, as after any other end.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// The stop that this thread has entered.
    static ENTERED: RefCell<Option<Stop>> = const { RefCell::new(None) };
}

/// A wish that can be spoken once. Clones are the same wish.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Makes one that nobody has asked yet.
    pub fn new() -> Self {
        Stop::default()
    }

    /// Asks whoever has entered this to stop. What waits for a peer ends within a tenth of a second.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether somebody has asked.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Calls `work` on this thread; what waits in it does so until somebody asks.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Puts back what was entered before, also when `work` panics.
        struct Back(Option<Stop>);
        impl Drop for Back {
            fn drop(&mut self) {
                ENTERED.set(self.0.take());
            }
        }
        let _back = Back(ENTERED.replace(Some(self.clone())));
        work()
    }
}

/// Looks whether this thread is to stop: between two slices of waiting.
///
/// # Errors
/// [`io::ErrorKind::ConnectionAborted`] if somebody asked it to.
pub fn check() -> io::Result<()> {
    match ENTERED.with_borrow(|stop| stop.as_ref().is_some_and(Stop::is_asked)) {
        false => Ok(()),
        true => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "stopped, as this party was asked to")),
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
            std::thread::scope(|scope| {
                scope.spawn(|| assert!(check().is_ok(), "a thread that has not entered it"));
            });
        });
        assert!(check().is_ok() && mine.is_asked());
    }
}
