//! The reason why a store cannot be used until it is opened again.

use std::sync::{Arc, OnceLock};

use brickwork_base::Error;

/// The first reason, if there is one. All writers of a store share it.
#[derive(Clone, Default)]
pub(super) struct Poison(Arc<OnceLock<String>>);

impl Poison {
    /// Records that a write failed, so that the content of the disk is unknown.
    pub fn by(&self, error: &Error) {
        self.because(format!(
            "an earlier write to the store failed ({error}); open the store again before you use it"
        ));
    }

    /// Records another reason why the store cannot be used.
    pub fn because(&self, why: String) {
        let _ = self.0.set(why);
    }

    /// Checks that there is no reason.
    ///
    /// # Errors
    /// [`Error::Stock`] with the reason, if the store is poisoned.
    pub fn none(&self) -> Result<(), Error> {
        match self.0.get() {
            Some(why) => Err(Error::Stock(why.clone())),
            None => Ok(()),
        }
    }
}
