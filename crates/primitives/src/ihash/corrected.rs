//! Corrections of random words. With them, the sender can recompute the words later.

use brickwork_kernels::words_of_rows;

use super::code::SymbolCode;
use super::sender::SymbolStream;
use super::words::Words;

/// The sender's corrections of random words: the position of these words in the streams, and the corrections
/// of their parity symbols.
pub(super) struct Corrected {
    first: u64,
    corrections: Words,
}

impl Corrected {
    pub(super) fn new(first: u64, corrections: Words) -> Self {
        Corrected { first, corrections }
    }

    /// Returns the number of words.
    pub(super) fn count(&self) -> usize {
        self.corrections.count()
    }

    /// Returns all n symbols of each word. `stream` has the seeds of all symbols.
    pub(super) fn symbols(&self, code: &SymbolCode, stream: &SymbolStream) -> Words {
        let (l, count) = (code.parameters().l(), self.corrections.count());
        let mut words = Words::zeros(code.parameters().n(), count);
        let each = words.blocks();
        stream.rows(self.first, count, |here, rows, blocks| {
            words_of_rows(rows, blocks, &mut words.data_mut()[here.start * each..here.end * each]);
        });
        for k in 0..count {
            let parity = words.symbols_mut(k)[l..].iter_mut();
            parity.zip(self.corrections.symbols_of(k)).for_each(|(symbol, correction)| *symbol ^= correction);
        }
        words
    }
}
