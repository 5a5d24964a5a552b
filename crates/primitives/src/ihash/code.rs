//! Reed–Solomon codes: a word has ℓ symbols, which are the values of a polynomial of degree below ℓ at ℓ
//! points. The codeword has the polynomial's values at n points, of which the first ℓ are the word itself.
//! The polynomial also has values at all other points of the field; these are never sent:
//! [`SymbolCode::unsent`].

use brickwork_base::random::{Rng, Seed};
use brickwork_base::stop::look;
use brickwork_kernels::{Matrix, Picks, SecretBlocks, add_products, add_row_products};
use zeroize::Zeroizing;

use super::field::Field;
use super::parameters::HashParameters;
use super::watch::WatchedSymbols;
use super::words::{BLOCK, Words, packed_bytes};

/// The number of words that are multiplied before the code looks whether it must stop.
const AT_ONCE: usize = 1 << 13;

/// Adds the product of each word with a matrix to the sum at the same index, like [`add_products`]. After
/// each portion, it looks whether it must stop.
///
/// # Panics
/// Panics under the conditions of [`add_products`].
pub(super) fn multiply(matrix: &Matrix, words: &[u128], sums: &mut [u128]) {
    let blocks = |symbols: usize| symbols.div_ceil(BLOCK).max(1);
    let [from, to] = [matrix.inputs(), matrix.outputs()].map(blocks);
    for first in (0..words.len() / from).step_by(AT_ONCE) {
        look();
        let end = (words.len() / from).min(first + AT_ONCE);
        let here = if matrix.outputs() == 0 { 0..0 } else { first * to..end * to };
        add_products(matrix, &words[first * from..end * from], &mut sums[here]);
    }
}

/// An error-correcting code: its field, and the points at which its polynomials are evaluated. Point `i` is
/// the element `i` of the field.
#[derive(Clone, Debug)]
pub struct SymbolCode {
    field: Field,
    parameters: HashParameters,
    /// For each symbol of a word, the common factor of its Lagrange coefficients: the inverse of the product
    /// of all differences between its point and the other points.
    weights: Vec<u8>,
    /// The matrix that computes the parity symbols of a word.
    parity: Matrix,
}

impl SymbolCode {
    /// Returns the code with these parameters.
    pub fn new(parameters: &HashParameters) -> Self {
        let (field, l, n) = (parameters.field(), parameters.l(), parameters.n());
        let weight = |j: usize| {
            let others = (0..l).filter(|&m| m != j);
            field.inverse(others.fold(1, |product, m| field.mul(product, (j ^ m) as u8)))
        };
        let weights: Vec<u8> = (0..l).map(weight).collect();
        let rows: Vec<Vec<u8>> = (l..n).map(|point| row_at(field, &weights, point as u8)).collect();
        let parity = Matrix::new(n - l, l, |i, j| field.factor(rows[i][j]));
        SymbolCode { field, parameters: *parameters, weights, parity }
    }

    /// Returns the parameters of the code.
    pub fn parameters(&self) -> &HashParameters {
        &self.parameters
    }

    /// Returns the field of the symbols.
    pub fn field(&self) -> Field {
        self.field
    }

    /// Returns words packed into the bytes of a message, [`chosen_bytes`](super::chosen_bytes) in number.
    ///
    /// # Panics
    /// If the words do not have ℓ symbols.
    pub fn pack(&self, words: &Words) -> SecretBlocks<u8> {
        assert_eq!(words.symbols(), self.parameters.l(), "each word must have ℓ symbols");
        self.packed(words)
    }

    /// Returns the `count` words that [`SymbolCode::pack`] packed into these bytes. Every byte string of the
    /// right length is valid.
    ///
    /// # Panics
    /// If the number of bytes is wrong.
    pub fn unpack(&self, count: usize, packed: &[u8]) -> Words {
        self.unpacked(self.parameters.l(), count, packed)
    }

    /// Packs words, or their values at some points, into the bytes of a message.
    pub(super) fn packed(&self, words: &Words) -> SecretBlocks<u8> {
        // The capacity includes the spare bytes that packing writes after the last word, so the list never
        // grows.
        let bytes = packed_bytes(words.symbols(), words.count(), self.field.bits());
        let mut message = SecretBlocks::with_capacity(bytes + BLOCK);
        words.pack(self.field.bits(), &mut message);
        message
    }

    /// Reverses [`SymbolCode::packed`]: returns `count` words of this many symbols.
    pub(super) fn unpacked(&self, symbols: usize, count: usize, packed: &[u8]) -> Words {
        let bits = self.field.bits();
        assert_eq!(
            packed.len(),
            packed_bytes(symbols, count, bits),
            "the buffer must have the size of the packed words"
        );
        Words::unpack(symbols, count, bits, packed)
    }

    /// Adds the parity symbols of each word to the element of `sums` at the same index. In a codeword, the
    /// parity symbols follow the word.
    pub(super) fn add_parity(&self, words: &[u128], sums: &mut Words) {
        multiply(&self.parity, words, sums.data_mut());
    }

    /// Adds the parity symbols of words in rows, one row for each symbol, to `sums` in rows. Each row has
    /// `row_blocks` blocks.
    pub(super) fn add_parity_rows(&self, rows: &[u128], sums: &mut [u128], row_blocks: usize) {
        add_row_products(&self.parity, rows, sums, row_blocks);
    }

    /// Returns the codewords of these words: `[word][symbol]`, n symbols each.
    ///
    /// # Panics
    /// If the words do not have ℓ symbols.
    pub fn encode(&self, words: &Words) -> Words {
        let (l, n) = (self.parameters.l(), self.parameters.n());
        assert_eq!(words.symbols(), l, "each word must have ℓ symbols");
        let mut parity = Words::zeros(n - l, words.count());
        self.add_parity(words.data(), &mut parity);
        let mut codewords = Words::zeros(n, words.count());
        for k in 0..words.count() {
            let (word, rest) = codewords.symbols_mut(k).split_at_mut(l);
            word.copy_from_slice(words.symbols_of(k));
            rest.copy_from_slice(parity.symbols_of(k));
        }
        codewords
    }

    /// Returns the values of words at the points of `unsent`, which are never sent: `[word][point]`.
    ///
    /// # Panics
    /// If the words do not have ℓ symbols.
    pub fn at(&self, unsent: &Unsent, words: &Words) -> Words {
        assert_eq!(words.symbols(), self.parameters.l(), "each word must have ℓ symbols");
        let mut values = Words::zeros(unsent.points.len(), words.count());
        multiply(&unsent.values, words.data(), values.data_mut());
        values
    }

    /// Returns the points outside the codeword, in ascending order. No value at these points is ever sent.
    pub fn unsent(&self) -> Vec<u8> {
        (self.parameters.n()..=usize::from(self.field.mask())).map(|point| point as u8).collect()
    }

    /// Returns the evaluation at `count` points that the seed draws among the points that are never sent. A
    /// smaller `count` gives the first of the same points.
    ///
    /// # Panics
    /// If the field has fewer than `count` such points.
    pub fn seeded_evaluation(&self, seed: &Seed, count: usize) -> Unsent {
        let mut points = self.unsent();
        let mut rng = Rng::expand(seed, "brickwork interactive hash: points that are never sent");
        for i in 0..count {
            let other = i + rng.below((points.len() - i) as u64) as usize;
            points.swap(i, other);
        }
        self.evaluation(&points[..count])
    }

    /// Returns the evaluation at some points that are never sent. Any `ℓ − w` of these values are uniform and
    /// independent of the symbols that the receiver watches.
    ///
    /// # Panics
    /// If a point belongs to the codeword, or occurs twice.
    pub fn evaluation(&self, points: &[u8]) -> Unsent {
        let unsent = self.unsent();
        let mut sorted = points.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert!(sorted.len() == points.len() && sorted.iter().all(|point| unsent.contains(point)));
        let rows: Vec<Vec<u8>> =
            points.iter().map(|&point| row_at(self.field, &self.weights, point)).collect();
        let values = Matrix::new(points.len(), self.parameters.l(), |i, j| self.field.factor(rows[i][j]));
        Unsent { points: points.to_vec(), values }
    }

    /// Returns two matrices: one computes the watched symbols of a codeword from its word, one computes the
    /// watched parity symbols from all parity symbols. Takes constant time.
    pub(super) fn watched(&self, watch: &WatchedSymbols, coefficients: &[u8]) -> (Matrix, Picks) {
        let (field, l, n, w) = (self.field, self.parameters.l(), self.parameters.n(), self.parameters.w());
        // A watched symbol of the word itself gives a number here that no parity symbol has.
        let parity = |o: usize| watch.place(o).wrapping_sub(l as u8);
        let watched = Matrix::new(w, l, |o, j| field.factor(coefficients[o * l + j]));
        (watched, Picks::new(w, n - l, parity))
    }

    /// Returns the matrix that computes the receiver's view of a word: its values at the points of `unsent`,
    /// then its watched symbols. Takes constant time with respect to the choice of the watched symbols.
    pub(super) fn sight(&self, watched: &[u8], unsent: &Unsent) -> Matrix {
        let l = self.parameters.l();
        let mut coefficients = Zeroizing::new(Vec::with_capacity(unsent.count() * l + watched.len()));
        unsent.points.iter().for_each(|&point| {
            coefficients.extend(row_at(self.field, &self.weights, point));
        });
        coefficients.extend_from_slice(watched);
        Matrix::new(coefficients.len() / l, l, |i, j| self.field.factor(coefficients[i * l + j]))
    }

    /// Returns, for each watched symbol, the coefficients with which it is computed from the word. The
    /// computation is slow, so the receiver keeps the result. Takes constant time.
    pub(super) fn watched_coefficients(&self, watch: &WatchedSymbols) -> Zeroizing<Vec<u8>> {
        let (l, n, w) = (self.parameters.l(), self.parameters.n(), self.parameters.w());
        let rows: Vec<Vec<u8>> = (0..n).map(|point| self.row_of(point)).collect();
        let mut coefficients = Zeroizing::new(vec![0; w * l]);
        for (o, coefficients) in coefficients.chunks_exact_mut(l).enumerate() {
            for (i, row) in rows.iter().enumerate() {
                let here = watch.is_number(i, o);
                coefficients.iter_mut().zip(row).for_each(|(sum, coefficient)| *sum ^= coefficient & here);
            }
        }
        coefficients
    }

    /// Returns the coefficients that compute the polynomial's value at any point from the symbols of the
    /// word.
    fn row_of(&self, point: usize) -> Vec<u8> {
        let l = self.parameters.l();
        if point < l {
            return (0..l).map(|j| u8::from(j == point)).collect();
        }
        row_at(self.field, &self.weights, point as u8)
    }

    /// Returns two matrices that together recover a word: one is applied to its watched symbols, one to its
    /// values at ℓ − w points that are never sent, and the word is the sum. Takes constant time with respect
    /// to the choice of the watched symbols.
    ///
    /// # Panics
    /// If `unsent` does not have ℓ − w points.
    pub(super) fn completion(&self, watch: &WatchedSymbols, unsent: &Unsent) -> [Matrix; 2] {
        let (field, l, w) = (self.field, self.parameters.l(), self.parameters.w());
        assert_eq!(unsent.points.len(), l - w, "there must be ℓ − w points");
        let mut points = Zeroizing::new(vec![0; w]);
        for (o, point) in points.iter_mut().enumerate() {
            *point = watch.place(o);
        }
        points.extend_from_slice(&unsent.points);
        // Lagrange's coefficient of point j in the value at x is the product of (x − y) / (j − y) over all
        // other points y.
        let weight = |j: usize| {
            let others = (0..l).filter(|&m| m != j);
            field.inverse(others.fold(1, |product, m| field.mul(product, points[j] ^ points[m])))
        };
        let weights = Zeroizing::new((0..l).map(weight).collect::<Vec<u8>>());
        let mut coefficients = Zeroizing::new(vec![0; l * l]);
        for (x, row) in coefficients.chunks_exact_mut(l).enumerate() {
            // For each point, the code multiplies the factors of all points before it, and then those of all
            // points behind it.
            let mut product = 1;
            for (coefficient, y) in row.iter_mut().zip(&*points) {
                *coefficient = product;
                product = field.mul(product, x as u8 ^ y);
            }
            product = 1;
            for (j, coefficient) in row.iter_mut().enumerate().rev() {
                *coefficient = field.mul(field.mul(*coefficient, product), weights[j]);
                product = field.mul(product, x as u8 ^ points[j]);
            }
        }
        let of = |first: usize| move |i: usize, j: usize| (i, first + j);
        let factor = |(i, j): (usize, usize)| field.factor(coefficients[i * l + j]);
        let [watched, rest] = [of(0), of(w)];
        [Matrix::new(l, w, |i, j| factor(watched(i, j))), Matrix::new(l, l - w, |i, j| factor(rest(i, j)))]
    }
}

/// Returns Lagrange's coefficients for the value at a point outside the word.
fn row_at(field: Field, weights: &[u8], point: u8) -> Vec<u8> {
    let all = (0..weights.len()).fold(1, |product, m| field.mul(product, point ^ m as u8));
    let of = |(j, &weight): (usize, &u8)| field.mul(field.mul(all, field.inverse(point ^ j as u8)), weight);
    weights.iter().enumerate().map(of).collect()
}

/// The evaluation of words at points that are never sent.
#[derive(Clone, Debug)]
pub struct Unsent {
    points: Vec<u8>,
    values: Matrix,
}

impl Unsent {
    /// Returns the number of points.
    pub fn count(&self) -> usize {
        self.points.len()
    }

    /// Returns the points in the order of the values.
    pub(super) fn points(&self) -> &[u8] {
        &self.points
    }
}
