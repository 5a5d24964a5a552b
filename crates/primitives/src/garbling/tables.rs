//! Where tables go to and come from.

use std::ops::Range;

use brickwork_base::Error;

/// Where tables go.
pub trait TableSink {
    /// Takes the next bytes of the tables of a copy, 16 KiB or the rest; `copy` is its position in the
    /// garbling's list. The bytes of a copy come in order, those of different copies mixed.
    ///
    /// # Errors
    /// The error that keeps the sink from taking them; the walk ends there.
    fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error>;

    /// Takes the next bytes of the tables of several copies, all of one length; by default one after the
    /// other.
    ///
    /// # Errors
    /// As [`TableSink::tables`].
    fn section(&mut self, copies: &[usize], tables: &[&[u8]]) -> Result<(), Error> {
        copies.iter().zip(tables).try_for_each(|(&copy, bytes)| self.tables(copy, bytes))
    }
}

/// Where tables come from.
pub trait TableSource {
    /// Prepares the tables of a few copies, before these of a few copies are asked for section by section:
    /// `bytes` of each of them is next. A source that streams gets them here.
    ///
    /// # Errors
    /// The error that keeps the source from having them; the walk ends there.
    fn prepare(&mut self, copies: &[usize], bytes: Range<usize>) -> Result<(), Error>;

    /// Returns these bytes of the tables of a copy; `copy` is its position in the list that the evaluation
    /// was given.
    fn tables(&self, copy: usize, bytes: Range<usize>) -> &[u8];
}

/// Tables that are in memory, copy by copy.
impl<T: AsRef<[u8]>> TableSource for &[T] {
    fn prepare(&mut self, _: &[usize], _: Range<usize>) -> Result<(), Error> {
        Ok(())
    }

    fn tables(&self, copy: usize, bytes: Range<usize>) -> &[u8] {
        &self[copy].as_ref()[bytes]
    }
}

/// Keeps the tables of every copy.
pub struct Collect {
    tables: Vec<Vec<u8>>,
}

impl Collect {
    /// Makes a sink for this many copies, with tables of this many bytes each.
    pub fn new(copies: usize, table_bytes: usize) -> Self {
        Collect { tables: (0..copies).map(|_| Vec::with_capacity(table_bytes)).collect() }
    }

    /// Returns the tables, copy by copy.
    pub fn finish(self) -> Vec<Vec<u8>> {
        self.tables
    }
}

impl TableSink for Collect {
    fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error> {
        self.tables[copy].extend_from_slice(bytes);
        Ok(())
    }
}
