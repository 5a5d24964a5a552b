//! Values that must be used only once, and their processes. Such a value is a key that numbers its records,
//! labels, or stock. A forked process has a copy of everything, including the state of every generator. Using
//! such a value twice breaks security. Therefore it records its process ([`Process`]), and a copy in another
//! process is neither used nor dropped ([`Owned`]).
//!
//! A process and its forks are distinguished by their process numbers. A fork in a namespace of its own can
//! have the same number, so a caller that knows of a fork reports it ([`forked`]).

use std::sync::atomic::{AtomicU32, Ordering};

use crate::Error;

/// The number of reports that this process is a fork.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Reports that this process was just forked: all earlier values belong to another process.
pub fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// The identity of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    number: u32,
    forks: u32,
}

impl Process {
    /// Returns the identity of the calling process.
    pub fn here() -> Self {
        Process { number: std::process::id(), forks: FORKS.load(Ordering::Relaxed) }
    }

    /// Returns whether this is the calling process, and not one from which it was forked.
    pub fn is_here(&self) -> bool {
        *self == Process::here()
    }

    /// Checks that this is still the process of the value.
    ///
    /// # Errors
    /// [`Error::Usage`] in a fork.
    pub fn check(&self) -> Result<(), Error> {
        match self.is_here() {
            true => Ok(()),
            false => Err(Error::Usage(
                "this object belongs to the parent process; a forked child must open \
                 its own"
                    .into(),
            )),
        }
    }
}

/// A value that only one process may use. A fork can neither use its copy nor drop it, because dropping could
/// write, unlock or send something for the original process.
#[derive(Debug)]
pub struct Owned<T> {
    process: Process,
    /// `None` after the value was dropped.
    inner: Option<T>,
}

impl<T> Owned<T> {
    /// Makes a value that belongs to the calling process.
    pub fn new(inner: T) -> Self {
        Owned { process: Process::here(), inner: Some(inner) }
    }

    /// Returns the process to which the value belongs.
    pub fn process(&self) -> Process {
        self.process
    }

    /// Returns the value, only in the process that made it.
    ///
    /// # Errors
    /// [`Error::Usage`] in a fork.
    pub fn get(&self) -> Result<&T, Error> {
        self.process.check()?;
        Ok(self.inner.as_ref().expect("the value exists until it is dropped"))
    }

    /// Returns the value, only in the process that made it.
    ///
    /// # Errors
    /// [`Error::Usage`] in a fork.
    pub fn get_mut(&mut self) -> Result<&mut T, Error> {
        self.process.check()?;
        Ok(self.inner.as_mut().expect("the value exists until it is dropped"))
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

    /// A value that was made before a fork is neither returned nor dropped in the child; a value that the
    /// child made is. (The tests of the Python package check a real fork.)
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
