//! Why a store is of no use until it is opened anew.

use std::sync::{Arc, OnceLock};

use brickwork_base::Error;

/// A reason, if there is one; the first counts. All who write to a store share it.
#[derive(Clone, Default)]
pub(super) struct Poison(Arc<OnceLock<String>>);

impl Poison {
    /// Remembers that a write failed: nobody knows what is on the disk.
    pub fn by(&self, error: &Error) {
        self.because(format!(
            "a write failed before ({error}); nothing is taken from it until it is opened anew"
        ));
    }

    /// Remembers another reason.
    pub fn because(&self, why: String) {
        let _ = self.0.set(why);
    }

    /// Checks that nothing has failed.
    ///
    /// # Errors
    /// [`Error::Stock`] with the reason, if there is one.
    pub fn none(&self) -> Result<(), Error> {
        match self.0.get() {
            Some(why) => Err(Error::Stock(why.clone())),
            None => Ok(()),
        }
    }
}
