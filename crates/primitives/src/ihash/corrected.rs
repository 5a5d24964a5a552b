//! The place where the corrections of random words are kept.

use brickwork_kernels::words_of_rows;

use super::code::Code;
use super::sender::Stream;
use super::words::Words;

/// The sender's message about random words: where they begin in the streams, and the corrections of their
/// parity symbols.
pub(super) struct Corrected {
    first: u64,
    corrections: Words,
}

impl Corrected {
    pub(super) fn new(first: u64, corrections: Words) -> Self {
        Corrected { first, corrections }
    }

    /// Returns how many words they are of.
    pub(super) fn count(&self) -> usize {
        self.corrections.count()
    }

    /// Returns all symbols of these words, n each, by the seeds of all of them.
    pub(super) fn symbols(&self, code: &Code, stream: &Stream) -> Words {
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
