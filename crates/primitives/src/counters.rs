//! The counters of a session with cut-and-choose: indices of authenticators, and serials.

use brickwork_base::Error;
use brickwork_store::{Counter, Range as Numbers, Ranges, SERIALS, Serial};

/// The counter of a session's authenticators: no two authenticators of one kind may have the same index.
const AUTHENTICATORS: Counter = Counter::new("authenticators", 36);

/// The counters of a session besides the blocks of its streams. Both parties count in the same way.
pub struct Counters {
    authenticators: Numbers,
    /// The serials of the cut-and-choose batches. If several of them make one batch of a store, this batch
    /// has the serial of the first.
    serials: Numbers,
}

impl Counters {
    /// Takes the counters' ranges for a log entry.
    ///
    /// # Errors
    /// [`Error::Usage`] if a range is already in use.
    pub fn of_entry(ranges: &mut Ranges) -> Result<Self, Error> {
        Ok(Counters { authenticators: ranges.take(&AUTHENTICATORS)?, serials: ranges.take(&SERIALS)? })
    }

    /// Takes the counters' ranges for a setup.
    ///
    /// # Errors
    /// As [`Counters::of_entry`].
    pub fn of_setup() -> Result<Self, Error> {
        Self::of_entry(&mut Ranges::of_setup())
    }

    /// Returns the counters of a restored session that has entered no range.
    pub fn none() -> Self {
        Counters { authenticators: AUTHENTICATORS.none(), serials: SERIALS.none() }
    }

    /// Draws a serial.
    ///
    /// # Errors
    /// [`Error::Limit`] if the range is used up.
    pub fn serial(&mut self) -> Result<Serial, Error> {
        self.serials.draw(1)
    }

    /// Draws the indices of `count` authenticators, and returns the first.
    ///
    /// # Errors
    /// [`Error::Limit`] if the range is used up.
    pub fn authenticators(&mut self, count: u64) -> Result<u64, Error> {
        self.authenticators.draw(count)
    }
}
