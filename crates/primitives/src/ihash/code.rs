//! Reed–Solomon codes: a word is a polynomial of degree below ℓ, given by its values at ℓ points. Its
//! codeword has the values at n points, of which the first ℓ are the word itself. At all other points of the
//! field it has values too, which are never sent: [`Code::unsent`].

use brickwork_base::random::{Rng, Seed};
use brickwork_base::stop::look;
use brickwork_kernels::{Matrix, Picks, Secrets, add_products, add_row_products};
use zeroize::Zeroizing;

use super::field::Field;
use super::parameters::Parameters;
use super::watch::Watch;
use super::words::{BLOCK, Words, packed_bytes};

/// Words that are multiplied between two looks whether this thread is to stop.
const AT_ONCE: usize = 1 << 13;

/// Adds to each of `sums` the product of a word with a matrix, as [`add_products`], some at a time.
///
/// # Panics
/// As there.
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

/// A code with its field and points: point `i` is the element `i` of the field.
#[derive(Clone, Debug)]
pub struct Code {
    field: Field,
    parameters: Parameters,
    /// For each symbol of a word the common factor of its coefficients: the inverse of the product of all
    /// differences between its point and the others.
    weights: Vec<u8>,
    /// The parity symbols of a word.
    parity: Matrix,
}

impl Code {
    /// Returns the code of these parameters.
    pub fn new(parameters: &Parameters) -> Self {
        let (field, l, n) = (parameters.field(), parameters.l(), parameters.n());
        let weight = |j: usize| {
            let others = (0..l).filter(|&m| m != j);
            field.inverse(others.fold(1, |product, m| field.mul(product, (j ^ m) as u8)))
        };
        let weights: Vec<u8> = (0..l).map(weight).collect();
        let rows: Vec<Vec<u8>> = (l..n).map(|point| row_at(field, &weights, point as u8)).collect();
        let parity = Matrix::new(n - l, l, |i, j| field.factor(rows[i][j]));
        Code { field, parameters: *parameters, weights, parity }
    }

    /// Returns its parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Returns its field.
    pub fn field(&self) -> Field {
        self.field
    }

    /// Returns words as bytes of a message: [`chosen_bytes`](super::chosen_bytes) of them.
    ///
    /// # Panics
    /// If they are no words of this code.
    pub fn pack(&self, words: &Words) -> Secrets<u8> {
        assert_eq!(words.symbols(), self.parameters.l(), "words of this code");
        self.packed(words)
    }

    /// Returns the words that [`Code::pack`] made these bytes of, `count` of them. All bytes are some.
    ///
    /// # Panics
    /// If it is another number of bytes.
    pub fn unpack(&self, count: usize, packed: &[u8]) -> Words {
        self.unpacked(self.parameters.l(), count, packed)
    }

    /// Returns values or words as bytes of a message.
    pub(super) fn packed(&self, words: &Words) -> Secrets<u8> {
        // It has room for bytes after the last word, so that it does not grow.
        let bytes = packed_bytes(words.symbols(), words.count(), self.field.bits());
        let mut message = Secrets::with_capacity(bytes + BLOCK);
        words.pack(self.field.bits(), &mut message);
        message
    }

    /// Reverses this: returns `count` words of this many symbols.
    pub(super) fn unpacked(&self, symbols: usize, count: usize, packed: &[u8]) -> Words {
        let bits = self.field.bits();
        assert_eq!(packed.len(), packed_bytes(symbols, count, bits), "bytes of so many words");
        Words::unpack(symbols, count, bits, packed)
    }

    /// Adds the parity symbols of words, which follow the word in its codeword, to others.
    pub(super) fn add_parity(&self, words: &[u128], sums: &mut Words) {
        multiply(&self.parity, words, sums.data_mut());
    }

    /// Adds the parity symbols of words in rows to others in rows, with this many blocks each.
    pub(super) fn add_parity_rows(&self, rows: &[u128], sums: &mut [u128], row_blocks: usize) {
        add_row_products(&self.parity, rows, sums, row_blocks);
    }

    /// Returns the codewords of words: `[word][symbol]`, n symbols each.
    ///
    /// # Panics
    /// If they are no words of this code.
    pub fn encode(&self, words: &Words) -> Words {
        let (l, n) = (self.parameters.l(), self.parameters.n());
        assert_eq!(words.symbols(), l, "words of this code");
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

    /// Returns the values of words at points that are never sent: `[word][point]`.
    ///
    /// # Panics
    /// If they are no words of this code.
    pub fn at(&self, unsent: &Unsent, words: &Words) -> Words {
        assert_eq!(words.symbols(), self.parameters.l(), "words of this code");
        let mut values = Words::zeros(unsent.points.len(), words.count());
        multiply(&unsent.values, words.data(), values.data_mut());
        values
    }

    /// Returns the points that no codeword has a value at, in ascending order.
    pub fn unsent(&self) -> Vec<u8> {
        (self.parameters.n()..=usize::from(self.field.mask())).map(|point| point as u8).collect()
    }

    /// Returns the evaluation at `count` points that are never sent, which a seed draws; at fewer of them it
    /// is that at the first ones.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn seeded_evaluation(&self, seed: &Seed, count: usize) -> Unsent {
        let mut points = self.unsent();
        let mut rng = Rng::expand(seed, "brickwork interactive hash: points that are never sent");
        for i in 0..count {
            let other = i + rng.below((points.len() - i) as u64) as usize;
            points.swap(i, other);
        }
        self.evaluation(&points[..count])
    }

    /// Returns the evaluation at some points that are never sent: whatever the receiver watches, any `ℓ − w`
    /// of these values are uniform and independent of it.
    ///
    /// # Panics
    /// If one of the points is sent, or comes twice.
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

    /// Returns the watched symbols of a word's codeword, and the watched part of its parity symbols. In
    /// constant time.
    pub(super) fn watched(&self, watch: &Watch, coefficients: &[u8]) -> (Matrix, Picks) {
        let (field, l, n, w) = (self.field, self.parameters.l(), self.parameters.n(), self.parameters.w());
        // Where a symbol of the word is watched, this is a number that no parity symbol has.
        let parity = |o: usize| watch.place(o).wrapping_sub(l as u8);
        let watched = Matrix::new(w, l, |o, j| field.factor(coefficients[o * l + j]));
        (watched, Picks::new(w, n - l, parity))
    }

    /// Returns the receiver's view of a word: its values at these points, and then its watched symbols. It
    /// takes constant time with respect to the watched symbols.
    pub(super) fn sight(&self, watched: &[u8], unsent: &Unsent) -> Matrix {
        let l = self.parameters.l();
        let mut coefficients = Zeroizing::new(Vec::with_capacity(unsent.count() * l + watched.len()));
        unsent.points.iter().for_each(|&point| {
            coefficients.extend(row_at(self.field, &self.weights, point));
        });
        coefficients.extend_from_slice(watched);
        Matrix::new(coefficients.len() / l, l, |i, j| self.field.factor(coefficients[i * l + j]))
    }

    /// Returns of each watched symbol its coefficients in the word, which take a while. In constant time.
    pub(super) fn watched_coefficients(&self, watch: &Watch) -> Zeroizing<Vec<u8>> {
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

    /// The coefficients, in the word, of its value at any point.
    fn row_of(&self, point: usize) -> Vec<u8> {
        let l = self.parameters.l();
        if point < l {
            return (0..l).map(|j| u8::from(j == point)).collect();
        }
        row_at(self.field, &self.weights, point as u8)
    }

    /// Makes words of their watched symbols and of their values at ℓ − w points that are never sent: two
    /// matrices whose products add up to them. It takes constant time with respect to the watched symbols.
    ///
    /// # Panics
    /// If there are not as many points.
    pub(super) fn completion(&self, watch: &Watch, unsent: &Unsent) -> [Matrix; 2] {
        let (field, l, w) = (self.field, self.parameters.l(), self.parameters.w());
        assert_eq!(unsent.points.len(), l - w, "as many values as are not watched");
        let mut points = Zeroizing::new(vec![0; w]);
        for (o, point) in points.iter_mut().enumerate() {
            *point = watch.place(o);
        }
        points.extend_from_slice(&unsent.points);
        // Lagrange's coefficients: of point j in the value at x, the product of (x − y) / (j − y) over all
        // other points y.
        let weight = |j: usize| {
            let others = (0..l).filter(|&m| m != j);
            field.inverse(others.fold(1, |product, m| field.mul(product, points[j] ^ points[m])))
        };
        let weights = Zeroizing::new((0..l).map(weight).collect::<Vec<u8>>());
        let mut coefficients = Zeroizing::new(vec![0; l * l]);
        for (x, row) in coefficients.chunks_exact_mut(l).enumerate() {
            // The products over the points before each one, then over those behind it.
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

/// Returns the coefficients of the word in the value at another point (Lagrange).
fn row_at(field: Field, weights: &[u8], point: u8) -> Vec<u8> {
    let all = (0..weights.len()).fold(1, |product, m| field.mul(product, point ^ m as u8));
    let of = |(j, &weight): (usize, &u8)| field.mul(field.mul(all, field.inverse(point ^ j as u8)), weight);
    weights.iter().enumerate().map(of).collect()
}

/// How words are evaluated at points that are never sent.
#[derive(Clone, Debug)]
pub struct Unsent {
    points: Vec<u8>,
    values: Matrix,
}

impl Unsent {
    /// Returns how many points there are.
    pub fn count(&self) -> usize {
        self.points.len()
    }

    /// Returns the points.
    pub(super) fn points(&self) -> &[u8] {
        &self.points
    }
}
