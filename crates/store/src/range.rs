//! Ranges of counters: the owner of a range may use each of its numbers once, and no other numbers.
//!
//! Numbers of streams, authenticators, hash keys and batches come from counters that never go back, even
//! after a crash. So each entry of an epoch's log has a range of every counter, which begins where the range
//! of the previous entry ends. The ranges of an entry are returned only once, together with the entry
//! ([`Taken::ranges`](crate::Taken::ranges)). They cannot be copied. If a range is used up, the result is an
//! error, and never a number of the next range.
//!
//! ```text
//!   a counter of b bits:    | setup: 0 .. 2^b | entry 1: 2^b .. 2·2^b | entry 2 | … | entry 2^19 - 1 |
//! ```

use brickwork_base::Error;

/// The base-2 logarithm of the number of entries of an epoch, including the setup as number 0.
const ENTRY_BITS: u32 = 19;

/// The number of ranges of every counter in an epoch.
pub(crate) const RANGES: u64 = 1 << ENTRY_BITS;

/// A counter of a session, for one stream or one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    name: &'static str,
    bits: u32,
}

impl Counter {
    /// Makes a counter with ranges of 2^`bits` numbers. The counters of a session need different names.
    ///
    /// # Panics
    /// If all ranges together have more than 2^64 numbers; for a constant, the compiler reports it.
    pub const fn new(name: &'static str, bits: u32) -> Self {
        assert!(bits <= u64::BITS - ENTRY_BITS, "all ranges of a counter together must fit into 64 bits");
        Counter { name, bits }
    }

    /// Makes another counter with ranges of the same size, for a session with two streams of the same kind.
    pub const fn named(self, name: &'static str) -> Self {
        Counter { name, ..self }
    }

    /// Returns an empty range, for a restored session that has no range yet.
    pub const fn none(&self) -> Range {
        Range { bits: self.bits, next: 0, end: 0 }
    }

    /// Returns the range of an entry.
    fn range(&self, entry: u64) -> Range {
        assert!(entry < RANGES, "an epoch must not have more entries than ranges");
        // The last range of a counter with 64 bits ends one number before the maximum.
        let first = entry << self.bits;
        Range { bits: self.bits, next: first, end: first.saturating_add(1 << self.bits) }
    }

    /// Returns number `k` of an entry's range as a name. This gives no right to use the number.
    pub(crate) fn number(&self, entry: u64, k: u64) -> u64 {
        let Range { next, end, .. } = self.range(entry);
        assert!(k < end - next, "the number must lie in the range of its entry");
        next + k
    }

    /// Returns the entry to whose range a number belongs.
    pub(crate) const fn entry_of(&self, number: u64) -> u64 {
        number >> self.bits
    }
}

/// Numbers of a counter that belong to nobody else, from the next number up to an end. It cannot be copied.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Range {
    bits: u32,
    next: u64,
    end: u64,
}

impl Range {
    /// Draws `count` consecutive numbers, and returns the first.
    ///
    /// # Errors
    /// [`Error::Limit`] if the range is too short; then none is drawn.
    pub fn draw(&mut self, count: u64) -> Result<u64, Error> {
        if count > self.end - self.next {
            return Err(Error::Limit(
                "one step or program needs more numbers than the range of a counter has; make less at a time"
                    .into(),
            ));
        }
        let first = self.next;
        self.next += count;
        Ok(first)
    }

    /// Returns the next number.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns the range for code that uses this counter.
    ///
    /// # Panics
    /// If the range's counter has ranges of another size, because then ranges would overlap.
    pub fn of(self, counter: &Counter) -> Self {
        assert_eq!(self.bits, counter.bits, "the range must belong to this counter");
        self
    }
}

/// The ranges of one entry of an epoch, or of its setup. It has one range of every counter, and each can be
/// taken once.
#[derive(Debug)]
#[must_use]
pub struct Ranges {
    entry: u64,
    taken: Vec<&'static str>,
}

impl Ranges {
    /// Returns the ranges of a setup, whose secrets are new.
    pub fn of_setup() -> Self {
        Ranges::of_entry(0)
    }

    /// Returns the ranges of an entry that is on disk.
    pub(crate) fn of_entry(entry: u64) -> Self {
        Ranges { entry, taken: Vec::new() }
    }

    /// Returns the number of the entry, 0 for a setup.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Gives the ranges away to another process of this party, which makes them again from this number
    /// ([`Ranges::lent`]).
    ///
    /// # Errors
    /// [`Error::Usage`] if a range was already taken.
    pub fn lend(self) -> Result<u64, Error> {
        match self.taken.is_empty() {
            true => Ok(self.entry),
            false => Err(Error::Usage("ranges that are already in use cannot be lent to a maker".into())),
        }
    }

    /// Makes the ranges that the process with the log has [lent](Ranges::lend). It must be called only once
    /// for each number.
    ///
    /// # Errors
    /// [`Error::Usage`] if no entry has this number.
    pub fn lent(number: u64) -> Result<Self, Error> {
        match (1..RANGES).contains(&number) {
            true => Ok(Ranges::of_entry(number)),
            false => Err(Error::Usage(format!("a log cannot have an entry number {number}"))),
        }
    }

    /// Takes the range of a counter.
    ///
    /// # Errors
    /// [`Error::Usage`] if this range was already taken.
    pub fn take(&mut self, counter: &Counter) -> Result<Range, Error> {
        if self.taken.contains(&counter.name) {
            return Err(Error::Usage(format!("the range of {} was already taken", counter.name)));
        }
        self.taken.push(counter.name);
        Ok(counter.range(self.entry))
    }
}

#[cfg(test)]
mod tests {
    // Rows are those of the table of attacks (docs/concepts/security.md, section 14).

    use super::*;

    /// Row 16 of the table of attacks: the ranges of neighbouring entries are adjacent, without a gap or an
    /// overlap, including the first and the last.
    #[test]
    fn row_16_ranges_do_not_meet() {
        for bits in [0, 1, 16, 40, 45] {
            let counter = Counter::new("test", bits);
            let entries = [0, 1, 2, 77, RANGES / 2, RANGES - 2, RANGES - 1];
            for entry in entries {
                let range = Ranges::of_entry(entry).take(&counter).unwrap();
                assert_eq!((counter.entry_of(range.next), counter.entry_of(range.end - 1)), (entry, entry));
                let last = bits == 45 && entry == RANGES - 1;
                assert_eq!(range.end - range.next, (1 << bits) - u64::from(last));
                if entry + 1 < RANGES {
                    assert_eq!(range.end, counter.range(entry + 1).next);
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "an epoch must not have more entries than ranges")]
    fn row_16_there_is_no_range_behind_the_last() {
        let _ = Counter::new("test", 4).range(RANGES);
    }

    /// Row 16 of the table of attacks: a range ends, and a request that does not fit takes no number.
    #[test]
    fn row_16_no_number_behind_the_end_is_drawn() {
        let mut range = Counter::new("test", 3).range(5);
        assert_eq!((range.draw(0).unwrap(), range.draw(3).unwrap(), range.next()), (40, 40, 43));
        for too_many in [6, u64::MAX] {
            assert!(matches!(range.draw(too_many), Err(Error::Limit(_))));
        }
        assert_eq!((range.draw(5).unwrap(), range.next()), (43, 48));
        assert!(matches!(range.draw(1), Err(Error::Limit(_))));
        assert!(matches!(Counter::new("test", 3).none().draw(1), Err(Error::Limit(_))));
    }

    /// Row 16 of the table of attacks: an entry's range of a counter can be taken only once. Two streams of
    /// the same kind need two names.
    #[test]
    fn row_16_a_range_is_taken_once() {
        let counter = Counter::new("test", 3);
        let mut ranges = Ranges::of_entry(1);
        assert_eq!(ranges.take(&counter).unwrap().next(), 8);
        assert!(matches!(ranges.take(&counter), Err(Error::Usage(why)) if why.contains("test")));
        assert_eq!(ranges.take(&counter.named("other")).unwrap().next(), 8);
    }

    /// Row 16 of the table of attacks: a process that lends ranges does not have them any more, and a range
    /// that was taken cannot be lent.
    #[test]
    fn row_16_what_is_lent_is_gone() {
        let counter = Counter::new("test", 3);
        let number = Ranges::of_entry(7).lend().unwrap();
        assert_eq!(Ranges::lent(number).unwrap().take(&counter).unwrap(), counter.range(7));
        let mut used = Ranges::of_entry(7);
        let _ = used.take(&counter).unwrap();
        assert!(matches!(used.lend(), Err(Error::Usage(_))));
        for number in [0, RANGES, u64::MAX] {
            assert!(matches!(Ranges::lent(number), Err(Error::Usage(_))), "{number}");
        }
    }

    #[test]
    #[should_panic(expected = "the range must belong to this counter")]
    fn row_16_a_range_of_another_size_is_refused() {
        let _ = Counter::new("test", 3).range(1).of(&Counter::new("test", 4));
    }
}
