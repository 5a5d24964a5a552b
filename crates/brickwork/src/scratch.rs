//! Temporary files without a name, for what does not fit the share of memory that a party wants to use. They are gone with the
//! process, however it ends. What goes into them is either no secret or sealed before.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;
use crate::stock::{read_at, write_at};

/// A temporary file, in the folder that the system has for them.
pub(crate) struct Scratch(File);

impl Scratch {
    /// # Errors
    /// [`Error::Resource`] if there can be none.
    pub fn new() -> Result<Self, Error> {
        tempfile::tempfile().map(Scratch).map_err(|e| no_room(&e))
    }

    /// Writes bytes from `offset` on.
    ///
    /// # Errors
    /// [`Error::Resource`] if there is no room.
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        write_at(&self.0, bytes, offset).map_err(|e| no_room(&e))
    }

    /// Reads bytes from `offset` on.
    ///
    /// # Errors
    /// [`Error::Resource`] if they cannot be read.
    pub fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), Error> {
        read_at(&self.0, bytes, offset)
            .map_err(|e| Error::Resource(format!("a temporary file cannot be read ({e}); check the disk that it is on")))
    }
}

#[cfg(test)]
impl Scratch {
    /// As if the disk had lost what was written.
    pub fn lose(&self) {
        self.0.set_len(0).unwrap();
    }
}

fn no_room(error: &std::io::Error) -> Error {
    let place = std::env::temp_dir();
    Error::Resource(format!(
        "a temporary file in {} failed ({error}); make room there, set TMPDIR to a folder on a larger disk, or raise --max-ram",
        place.display()
    ))
}

/// Bytes of memory that several may use in turn; what finds no room goes to files.
#[derive(Clone)]
pub(crate) struct Budget(Arc<AtomicU64>);

/// A part of a budget, which goes back when it is dropped.
pub(crate) struct Held {
    budget: Budget,
    bytes: u64,
}

impl Budget {
    pub fn new(bytes: u64) -> Self {
        Budget(Arc::new(AtomicU64::new(bytes)))
    }

    /// So many bytes, if they are left.
    pub fn take(&self, bytes: u64) -> Option<Held> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        left.ok().map(|_| Held { budget: self.clone(), bytes })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_gets_back_what_was_taken() {
        let budget = Budget::new(10);
        let held = budget.take(7).unwrap();
        assert!(budget.take(4).is_none());
        let rest = budget.take(3).unwrap();
        drop(held);
        assert!(budget.take(8).is_none() && budget.take(7).is_some());
        drop(rest);
        assert!(budget.take(10).is_some());
    }

    #[test]
    fn what_was_written_is_read() {
        let scratch = Scratch::new().unwrap();
        scratch.write(&[4, 5, 6], 3).unwrap();
        scratch.write(&[1, 2, 3], 0).unwrap();
        let mut bytes = [0; 4];
        scratch.read(&mut bytes, 1).unwrap();
        assert_eq!(bytes, [2, 3, 4, 5]);
        assert!(matches!(scratch.read(&mut bytes, 3), Err(Error::Resource(_))));
    }
}
