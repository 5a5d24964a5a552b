//! Sinks that receive the garbler's tables, and sources from which the evaluator reads them.

use std::ops::Range;

use brickwork_base::Error;

/// A receiver of garbled tables.
pub trait TableSink {
    /// Receives the next bytes of the tables of a copy: 16 KiB, or less at the end. `copy` is its position in
    /// the garbler's list. The bytes of a copy arrive in order, interleaved with those of other copies.
    ///
    /// # Errors
    /// An error of the sink, which ends the garbling.
    fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error>;

    /// Receives the next bytes of the tables of several copies, the same number for each. By default it
    /// passes them on one by one.
    ///
    /// # Errors
    /// As [`TableSink::tables`].
    fn section(&mut self, copies: &[usize], tables: &[&[u8]]) -> Result<(), Error> {
        copies.iter().zip(tables).try_for_each(|(&copy, bytes)| self.tables(copy, bytes))
    }
}

/// A source of garbled tables.
pub trait TableSource {
    /// Prepares the next `bytes` of the tables of each of these copies, before they are read section by
    /// section. A source that streams receives them here.
    ///
    /// # Errors
    /// An error of the source, which ends the evaluation.
    fn prepare(&mut self, copies: &[usize], bytes: Range<usize>) -> Result<(), Error>;

    /// Returns these bytes of the tables of a copy. `copy` is its position in the evaluator's list.
    fn tables(&self, copy: usize, bytes: Range<usize>) -> &[u8];
}

/// Reads tables from memory, copy by copy.
impl<T: AsRef<[u8]>> TableSource for &[T] {
    fn prepare(&mut self, _: &[usize], _: Range<usize>) -> Result<(), Error> {
        Ok(())
    }

    fn tables(&self, copy: usize, bytes: Range<usize>) -> &[u8] {
        &self[copy].as_ref()[bytes]
    }
}

/// A sink that keeps the tables of every copy.
pub struct Collect {
    tables: Vec<Vec<u8>>,
}

impl Collect {
    /// Makes a sink for `copies` copies with `table_bytes` bytes of tables each.
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
