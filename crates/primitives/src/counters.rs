//! The counters of a session with cut-and-chosen items: indices of authenticators, and serials.

use brickwork_base::Error;
use brickwork_stock::{Counter, Range as Numbers, Ranges, SERIALS, Serial};

/// The counter of a session's authenticators: those of one kind have different indices.
const AUTHENTICATORS: Counter = Counter::new("authenticators", 36);

/// The counters of a session besides the blocks of its streams; both parties count alike.
pub struct Counters {
    /// Indices of authenticators.
    authenticators: Numbers,
    /// Serials of cut-and-chooses; in a store a batch has that of its first one.
    serials: Numbers,
}

impl Counters {
    /// Takes the ranges of a log entry.
    ///
    /// # Errors
    /// [`Error::Usage`] if it is taken.
    pub fn of_entry(ranges: &mut Ranges) -> Result<Self, Error> {
        Ok(Counters { authenticators: ranges.take(&AUTHENTICATORS)?, serials: ranges.take(&SERIALS)? })
    }

    /// Takes the ranges of a setup.
    ///
    /// # Errors
    /// As [`Counters::of_entry`].
    pub fn of_setup() -> Result<Self, Error> {
        Self::of_entry(&mut Ranges::of_setup())
    }

    /// Makes those of a session that was restored and has entered no range.
    pub fn none() -> Self {
        Counters { authenticators: AUTHENTICATORS.none(), serials: SERIALS.none() }
    }

    /// Draws a serial.
    ///
    /// # Errors
    /// [`Error::Limit`] if there are no more.
    pub fn serial(&mut self) -> Result<Serial, Error> {
        self.serials.draw(1)
    }

    /// Draws the indices of this many authenticators; returns the first.
    ///
    /// # Errors
    /// [`Error::Limit`] if there are not as many.
    pub fn authenticators(&mut self, count: u64) -> Result<u64, Error> {
        self.authenticators.draw(count)
    }
}
