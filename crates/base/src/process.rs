//! The process that made something which is used once: a key that numbers its records, labels, what is in
//! stock. A fork of that process has a copy of it all, down to the state of every generator, and a second
//! use is the worst that can happen to any of them. So whatever is used once is noted with its process
//! ([`Process`]), and a copy of it is neither used nor ended ([`Owned`]).
//!
//! A process is told from its forks by its number. As the number of a fork can be the same, in a namespace
//! of its own, who can hear of a fork says so ([`forked`]).

use std::sync::atomic::{AtomicU32, Ordering};

use crate::Error;

/// How often somebody has said that this process is a fork.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Says that this process was forked a moment ago: all that was made before is another one's.
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// A process, as it sees itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    number: u32,
    forks: u32,
}

impl Process {
    /// Returns the process that asks.
    pub fn here() -> Self {
        Process { number: std::process::id(), forks: FORKS.load(Ordering::Relaxed) }
    }

    /// Returns whether this is the process that asks, and not one that it was forked from.
    pub fn is_here(&self) -> bool {
        *self == Process::here()
    }

    /// Refuses in a fork of this process.
    ///
    /// # Errors
    /// [`Error::Usage`] there.
    pub fn check(&self) -> Result<(), Error> {
        match self.is_here() {
            true => Ok(()),
            false => Err(Error::Usage("this belongs to the process that this one was forked from".into())),
        }
    }
}

/// A value that one process alone may use. A fork of it gets nothing of its copy, and does not drop it
/// either: whatever that would write, unlock or tell a peer is the process's own.
#[derive(Debug)]
pub struct Owned<T> {
    process: Process,
    /// None once it is dropped.
    inner: Option<T>,
}

impl<T> Owned<T> {
    /// Makes this the own of the process that calls.
    pub fn new(inner: T) -> Self {
        Owned { process: Process::here(), inner: Some(inner) }
    }

    /// Returns the process whose own it is.
    pub fn process(&self) -> Process {
        self.process
    }

    /// Returns it, in the process that made it.
    ///
    /// # Errors
    /// [`Error::Usage`] in a fork.
    pub fn get(&self) -> Result<&T, Error> {
        self.process.check()?;
        Ok(self.inner.as_ref().expect("it is there until it is dropped"))
    }

    /// Returns it, in the process that made it.
    ///
    /// # Errors
    /// [`Error::Usage`] in a fork.
    pub fn get_mut(&mut self) -> Result<&mut T, Error> {
        self.process.check()?;
        Ok(self.inner.as_mut().expect("it is there until it is dropped"))
    }
}

impl<T: Default> Default for Owned<T> {
    fn default() -> Self {
        Owned::new(T::default())
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.process.is_here() {
            std::mem::forget(self.inner.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counted<'a>(&'a AtomicU32);

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A value that was made before a fork is neither given out nor dropped in the child; one that is made
    /// there is. (That a real fork is seen the tests of the Python package show, which can fork.)
    #[test]
    fn row_26_a_fork_has_nothing_of_its_process() {
        let dropped = AtomicU32::new(0);
        let mut before = Owned::new(Counted(&dropped));
        assert!(before.get().is_ok() && before.get_mut().is_ok());
        let process = Process::here();
        forked();
        assert!(matches!(before.get().map(drop), Err(Error::Usage(_))) && before.get_mut().is_err());
        assert!(process.check().is_err() && Process::here().check().is_ok());
        drop(before);
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        drop(Owned::new(Counted(&dropped)));
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        assert!(!Process { number: process.number.wrapping_add(1), ..Process::here() }.is_here());
    }
}
