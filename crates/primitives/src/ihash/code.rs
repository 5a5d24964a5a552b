//! Reed–Solomon codes: a word is a polynomial of degree below ℓ, by its values at ℓ points; its codeword are
//! the values at n points, the first ℓ of them the word itself. At all other points of the field it has
//! values too, which are never sent: of them [`Code::unsent`] speaks.

use zeroize::Zeroizing;

use super::field::Field;
use super::parameters::Parameters;
use brickwork_base::random::{Rng, Seed};
use brickwork_base::stop::look;

/// How a word is made of others ([`Symbols::follow`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is this one of the given words.
    Given(u32),
    /// It is the sum of what these two earlier steps made.
    Sum(u32, u32),
}

/// Symbols of many words side by side: row after row, the same symbol of each word. Erased when dropped.
#[derive(Clone)]
pub struct Symbols {
    rows: usize,
    count: usize,
    blocks: Zeroizing<Vec<u128>>,
}

impl Symbols {
    /// Zeros: `rows` symbols of `count` words.
    pub fn zeros(rows: usize, count: usize) -> Self {
        Symbols { rows, count, blocks: Zeroizing::new(vec![0; rows * count.div_ceil(16)]) }
    }

    /// Takes these words, a slice of `rows` symbols each.
    ///
    /// # Panics
    /// If a word has another length.
    pub fn of_words<'a>(rows: usize, words: impl ExactSizeIterator<Item = &'a [u8]>) -> Self {
        let mut symbols = Self::zeros(rows, words.len());
        let width = symbols.width();
        let bytes = symbols.bytes_mut();
        for (t, word) in words.enumerate() {
            assert_eq!(word.len(), rows, "a word of another length");
            word.iter().enumerate().for_each(|(i, &symbol)| bytes[i * width + t] = symbol);
        }
        symbols
    }

    /// Symbols of a word.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns how many words there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Symbols `i` of all words.
    pub fn row(&self, i: usize) -> &[u8] {
        &bytemuck::cast_slice(&self.blocks)[i * self.width()..][..self.count]
    }

    /// Returns one word.
    pub fn word(&self, t: usize) -> Zeroizing<Vec<u8>> {
        Zeroizing::new((0..self.rows).map(|i| self.row(i)[t]).collect())
    }

    /// Returns the words with these numbers, in this order.
    pub fn select(&self, words: &[usize]) -> Self {
        let mut selected = Self::zeros(self.rows, words.len());
        let width = selected.width();
        for i in 0..self.rows {
            let (row, out) = (self.row(i), &mut selected.bytes_mut()[i * width..]);
            out.iter_mut().zip(words).for_each(|(symbol, &t)| *symbol = row[t]);
        }
        selected
    }

    /// Makes the words of all of these, one after the other.
    ///
    /// # Panics
    /// If there are none, or their words have different lengths.
    pub fn join(all: &[&Symbols]) -> Self {
        let rows = all[0].rows;
        assert!(all.iter().all(|one| one.rows == rows), "words of one length");
        let mut joined = Self::zeros(rows, all.iter().map(|one| one.count).sum());
        for i in 0..rows {
            let mut rest = joined.row_mut(i);
            for one in all {
                let (here, behind) = rest.split_at_mut(one.count);
                here.copy_from_slice(one.row(i));
                rest = behind;
            }
        }
        joined
    }

    /// Returns what steps make of these words, one after the other: a word for each step.
    ///
    /// # Panics
    /// If a step names a word that there is not, or is not yet.
    pub fn follow(&self, steps: &[Step]) -> Self {
        let mut made = Self::zeros(self.rows, steps.len());
        for i in 0..self.rows {
            let (given, row) = (self.row(i), made.row_mut(i));
            for (k, step) in steps.iter().enumerate() {
                row[k] = match *step {
                    Step::Given(word) => given[word as usize],
                    Step::Sum(a, b) => row[..k][a as usize] ^ row[..k][b as usize],
                };
            }
        }
        made
    }

    /// Adds other words, one to each.
    ///
    /// # Panics
    /// If there are not as many, of as many symbols.
    pub fn add(&mut self, other: &Symbols) {
        assert_eq!((self.rows, self.count), (other.rows, other.count), "words of equal length and number");
        self.blocks.iter_mut().zip(&*other.blocks).for_each(|(block, other)| *block ^= other);
    }

    /// Returns some of the rows.
    pub(super) fn rows_of(&self, rows: std::ops::Range<usize>) -> Self {
        let width = self.row_blocks();
        let blocks = self.blocks[rows.start * width..rows.end * width].to_vec();
        Symbols { rows: rows.len(), count: self.count, blocks: Zeroizing::new(blocks) }
    }

    /// Adds rows to those from `first` on.
    pub(super) fn add_rows(&mut self, first: usize, other: &Symbols) {
        let width = self.row_blocks();
        self.blocks[first * width..]
            .iter_mut()
            .zip(&*other.blocks)
            .for_each(|(block, other)| *block ^= other);
    }

    /// Returns the first `count` words, and the others.
    pub(super) fn split(&self, count: usize) -> (Self, Self) {
        let part = |words: std::ops::Range<usize>| {
            let mut part = Self::zeros(self.rows, words.len());
            (0..self.rows).for_each(|i| part.row_mut(i).copy_from_slice(&self.row(i)[words.clone()]));
            part
        };
        (part(0..count), part(count..self.count))
    }

    /// Clears what stands behind the last word of each row.
    pub(super) fn clear_behind(&mut self) {
        let (width, count) = (self.width(), self.count);
        if width > 0 {
            self.bytes_mut().chunks_exact_mut(width).for_each(|row| row[count..].fill(0));
        }
    }

    /// Bytes of a row, with those behind the last word.
    fn width(&self) -> usize {
        16 * self.row_blocks()
    }

    /// Returns the blocks of 16 symbols in a row.
    pub(super) fn row_blocks(&self) -> usize {
        self.count.div_ceil(16)
    }

    pub(super) fn blocks(&self) -> &[u128] {
        &self.blocks
    }

    pub(super) fn blocks_mut(&mut self) -> &mut [u128] {
        &mut self.blocks
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.blocks)
    }

    /// Returns row `i`, to write.
    pub(super) fn row_mut(&mut self, i: usize) -> &mut [u8] {
        let (width, count) = (self.width(), self.count);
        &mut self.bytes_mut()[i * width..][..count]
    }

    /// Packs some rows, `bits` bits a symbol, row after row.
    pub(super) fn pack(&self, rows: std::ops::Range<usize>, bits: u32) -> Vec<u8> {
        let mut packed = Vec::with_capacity(packed_bytes(rows.len(), self.count, bits));
        for i in rows {
            look();
            let (mut waiting, mut waits) = (0_u32, 0);
            for &symbol in self.row(i) {
                waiting |= u32::from(symbol) << waits;
                waits += bits;
                while waits >= 8 {
                    packed.push(waiting as u8);
                    (waiting, waits) = (waiting >> 8, waits - 8);
                }
            }
            if waits > 0 {
                packed.push(waiting as u8);
            }
        }
        packed
    }

    /// Does the inverse of [`Symbols::pack`]: all rows. What stands behind the last symbol of a row is
    /// ignored.
    pub(super) fn unpack(rows: usize, count: usize, packed: &[u8], bits: u32, mask: u8) -> Self {
        let mut symbols = Self::zeros(rows, count);
        let mut rest = packed;
        for i in 0..rows {
            look();
            let (row, behind) = rest.split_at(packed_bytes(1, count, bits));
            let mut bytes = row.iter();
            let (mut waiting, mut waits) = (0_u32, 0);
            for symbol in symbols.row_mut(i) {
                if waits < bits {
                    waiting |= u32::from(bytes.next().copied().unwrap_or(0)) << waits;
                    waits += 8;
                }
                *symbol = waiting as u8 & mask;
                (waiting, waits) = (waiting >> bits, waits - bits);
            }
            rest = behind;
        }
        symbols
    }
}

/// Returns the number of bytes of packed rows.
pub(super) fn packed_bytes(rows: usize, count: usize, bits: u32) -> usize {
    rows * (count * bits as usize).div_ceil(8)
}

/// A code with its field and points: point `i` is the element `i` of the field.
#[derive(Clone, Debug)]
pub struct Code {
    field: Field,
    parameters: Parameters,
    /// Of each symbol of a word what its coefficients have in common: the inverse of the product of all
    /// differences between its point and the others.
    weights: Vec<u8>,
    /// The row of each parity symbol: its coefficients in the word.
    parity: Vec<Vec<u8>>,
}

impl Code {
    /// Makes the code of these parameters.
    pub fn new(parameters: &Parameters) -> Self {
        let field = parameters.field();
        let l = parameters.l() as u8;
        let weight = |j: u8| {
            let others = (0..l).filter(|&m| m != j);
            field.inverse(others.fold(1, |product, m| field.mul(product, j ^ m)))
        };
        let weights = (0..l).map(weight).collect();
        let mut code = Code { field, parameters: *parameters, weights, parity: Vec::new() };
        code.parity = (parameters.l()..parameters.n()).map(|point| code.row_at(point as u8)).collect();
        code
    }

    /// Returns its parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Returns its field.
    pub fn field(&self) -> Field {
        self.field
    }

    /// Returns the coefficients, in the word, of the value at a point that is none of the word's: Lagrange's.
    pub(super) fn row_at(&self, point: u8) -> Vec<u8> {
        let (field, l) = (self.field, self.parameters.l() as u8);
        let all = (0..l).fold(1, |product, m| field.mul(product, point ^ m));
        let of = |(j, &weight): (u8, &u8)| field.mul(field.mul(all, field.inverse(point ^ j)), weight);
        (0..l).zip(&self.weights).map(of).collect()
    }

    /// Returns the words as bytes of a message, [`super::chosen_bytes`] of them.
    ///
    /// # Panics
    /// If they are no words of this code.
    pub fn pack(&self, words: &Symbols) -> Zeroizing<Vec<u8>> {
        assert_eq!(words.rows(), self.parameters.l(), "words of this code");
        Zeroizing::new(words.pack(0..words.rows(), self.parameters.bits()))
    }

    /// Reads `count` words, the inverse of [`Code::pack`]. All bytes are some.
    ///
    /// # Panics
    /// If it is another number of bytes.
    pub fn unpack(&self, count: usize, packed: &[u8]) -> Symbols {
        let (l, bits) = (self.parameters.l(), self.parameters.bits());
        assert_eq!(packed.len(), packed_bytes(l, count, bits), "bytes of so many words");
        Symbols::unpack(l, count, packed, bits, self.field.mask())
    }

    /// Returns the parity symbols of words: what their codewords have besides themselves.
    pub fn parity(&self, words: &Symbols) -> Symbols {
        self.values(&self.parity, words)
    }

    /// Returns the codewords of words.
    pub fn encode(&self, words: &Symbols) -> Symbols {
        let parity = self.parity(words);
        let blocks = [words.blocks(), parity.blocks()].concat();
        Symbols { rows: self.parameters.n(), count: words.count(), blocks: Zeroizing::new(blocks) }
    }

    /// Returns the values of words at points that are never sent.
    pub fn at(&self, unsent: &Unsent, words: &Symbols) -> Symbols {
        self.values(&unsent.0, words)
    }

    fn values(&self, rows: &[Vec<u8>], words: &Symbols) -> Symbols {
        assert_eq!(words.rows(), self.parameters.l(), "words of this code");
        let mut values = Symbols::zeros(rows.len(), words.count());
        let blocks = words.row_blocks();
        self.field.multiply(|i, j| rows[i][j], words.blocks(), values.blocks_mut(), blocks);
        values
    }

    /// Returns the points that no codeword has a value at, in ascending order.
    pub fn unsent(&self) -> Vec<u8> {
        (self.parameters.n()..=usize::from(self.field.mask())).map(|point| point as u8).collect()
    }

    /// Makes the evaluation at `count` points that are never sent, drawn by a seed.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn drawn_evaluation(&self, seed: &Seed, count: usize) -> Unsent {
        let mut points = self.unsent();
        let mut rng = Rng::expand(seed, "brickwork interactive hash: points that are never sent");
        for i in 0..count {
            let other = i + rng.below((points.len() - i) as u64) as usize;
            points.swap(i, other);
        }
        self.evaluation(&points[..count])
    }

    /// Makes the evaluation at some points that are never sent: whatever the receiver watches, any `ℓ − w` of
    /// these values are uniform and independent of it.
    ///
    /// # Panics
    /// If one of the points is sent, or comes twice.
    pub fn evaluation(&self, points: &[u8]) -> Unsent {
        let unsent = self.unsent();
        let mut sorted = points.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert!(sorted.len() == points.len() && sorted.iter().all(|point| unsent.contains(point)));
        Unsent(points.iter().map(|&point| self.row_at(point)).collect())
    }
}

/// How words are evaluated at points that are never sent.
#[derive(Clone, Debug)]
pub struct Unsent(Vec<Vec<u8>>);
