//! Fields of 2 to 256 elements, in constant time: an element is a byte, whose bits are the coefficients of a
//! polynomial over F_2.

use brickwork_base::stop::look;
use zeroize::Zeroize;

/// GF(2^bits), for 2 to 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    bits: u32,
    /// What x^bits is.
    reduction: u8,
}

/// What x^bits is, from 2 bits on: an irreducible polynomial without its leading term.
const REDUCTIONS: [u8; 7] = [0b11, 0b11, 0b11, 0b101, 0b11, 0b11, 0b1_1011];

/// Blocks of 16 symbols that are handled at a time.
const CHUNK: usize = 4;

/// The same symbol of many words, as many as are handled at a time.
type Chunk = [u128; CHUNK];

impl Field {
    /// Returns the field of 2^bits elements; `None` if it has fewer than 4 or more than 256.
    pub fn of_bits(bits: u32) -> Option<Self> {
        let reduction = *REDUCTIONS.get(bits.checked_sub(2)? as usize)?;
        Some(Field { bits, reduction })
    }

    /// Returns the bits of an element.
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// Returns the bits that an element has within its byte.
    pub fn mask(self) -> u8 {
        (u16::MAX >> (16 - self.bits)) as u8
    }

    /// Returns the product. Its time depends on nothing.
    pub fn mul(self, a: u8, b: u8) -> u8 {
        let (mut power, mut product) = (a, 0);
        for bit in 0..self.bits {
            product ^= power & (b >> bit & 1).wrapping_neg();
            let carry = (power >> (self.bits - 1) & 1).wrapping_neg();
            power = (power << 1 & self.mask()) ^ (carry & self.reduction);
        }
        product
    }

    /// Returns the inverse; that of 0 is 0.
    pub fn inverse(self, a: u8) -> u8 {
        // a^(2^bits − 2): the product of all a^(2^i) but the first.
        (1..self.bits)
            .fold((1, a), |(product, power), _| {
                let power = self.mul(power, power);
                (self.mul(product, power), power)
            })
            .0
    }

    /// x times each of these symbols.
    fn double(self, symbols: Chunk) -> Chunk {
        const ONES: u64 = u64::MAX / 0xff;
        let (mask, reduction) = (ONES * u64::from(self.mask()), ONES * u64::from(self.reduction));
        let words: [u64; 2 * CHUNK] = bytemuck::cast(symbols);
        bytemuck::cast(words.map(|word| {
            let carry = word >> (self.bits - 1) & ONES;
            // Of each byte with a carry all ones.
            let carried = (carry << 8).wrapping_sub(carry);
            (word << 1 & mask & !ONES) ^ (carried & reduction)
        }))
    }

    /// Multiplies rows of secret symbols with a public matrix: adds, to each row of `out`, the rows of
    /// `input`, each times its coefficient. `coefficient(i, j)` is that of row `j` in row `i` of the result.
    ///
    /// # Panics
    /// If a row is not `blocks` blocks long.
    pub fn multiply(
        self,
        coefficient: impl Fn(usize, usize) -> u8,
        input: &[u128],
        out: &mut [u128],
        blocks: usize,
    ) {
        if blocks == 0 {
            return;
        }
        let (inputs, outs) = (input.len() / blocks, out.len() / blocks);
        assert_eq!((inputs * blocks, outs * blocks), (input.len(), out.len()), "rows of equal length");
        let matrix: Vec<u8> = (0..inputs)
            .flat_map(|j| (0..outs).map(move |i| (i, j)))
            .map(|(i, j)| coefficient(i, j))
            .collect();
        let mut products = Products::new(self);
        let mut sums: Vec<Chunk> = vec![[0; CHUNK]; outs];
        for first in (0..blocks).step_by(CHUNK) {
            look();
            let here = CHUNK.min(blocks - first);
            for (sum, row) in sums.iter_mut().zip(out.chunks_exact(blocks)) {
                sum[..here].copy_from_slice(&row[first..first + here]);
            }
            for (row, coefficients) in input.chunks_exact(blocks).zip(matrix.chunks_exact(outs.max(1))) {
                let mut symbols = [0; CHUNK];
                symbols[..here].copy_from_slice(&row[first..first + here]);
                products.make(symbols);
                sums.iter_mut().zip(coefficients).for_each(|(sum, &by)| products.add(by, sum));
            }
            for (sum, row) in sums.iter().zip(out.chunks_exact_mut(blocks)) {
                row[first..first + here].copy_from_slice(&sum[..here]);
            }
        }
        sums.zeroize();
    }

    /// Combines words at random: for each row of symbols and each of `combinations`, the sum of all blocks,
    /// each times the coefficient of its chunk of 64 words. `coefficients` has those of a combination side by
    /// side, one a chunk. Returns chunks, `[combination][row]`, of which each symbol is a sum over every 64th
    /// word.
    pub(super) fn fold(self, coefficients: &[Vec<u8>], row: &[u128], folded: &mut [Chunk]) {
        let mut products = Products::new(self);
        for (k, blocks) in row.chunks(CHUNK).enumerate() {
            look();
            let mut symbols = [0; CHUNK];
            symbols[..blocks.len()].copy_from_slice(blocks);
            products.make(symbols);
            folded.iter_mut().zip(coefficients).for_each(|(sum, by)| products.add(by[k], sum));
        }
    }
}

/// The products of one chunk with all elements of the field, as sums of two.
struct Products {
    field: Field,
    low: [Chunk; 16],
    high: [Chunk; 16],
}

impl Products {
    fn new(field: Field) -> Self {
        Products { field, low: [[0; CHUNK]; 16], high: [[0; CHUNK]; 16] }
    }

    /// Those of these symbols.
    fn make(&mut self, symbols: Chunk) {
        let (mut power, mut rest) = (symbols, self.field.bits);
        for half in [&mut self.low, &mut self.high] {
            for bit in 0..rest.min(4) {
                let (done, new) = half.split_at_mut(1 << bit);
                for (sum, other) in new.iter_mut().zip(&*done) {
                    *sum = std::array::from_fn(|k| other[k] ^ power[k]);
                }
                power = self.field.double(power);
            }
            rest = rest.saturating_sub(4);
        }
    }

    /// Adds the product with a public element.
    fn add(&self, by: u8, sum: &mut Chunk) {
        let (low, high) = (&self.low[usize::from(by & 15)], &self.high[usize::from(by >> 4)]);
        for k in 0..CHUNK {
            sum[k] ^= low[k] ^ high[k];
        }
    }
}

impl Drop for Products {
    fn drop(&mut self) {
        self.low.zeroize();
        self.high.zeroize();
    }
}

/// Words that one combination leaves side by side.
pub(super) const FOLDED: usize = 16 * CHUNK;

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;

    fn fields() -> impl Iterator<Item = Field> {
        (2..=8).map(|bits| Field::of_bits(bits).unwrap())
    }

    #[test]
    fn they_are_fields() {
        assert!([0, 1, 9].iter().all(|&bits| Field::of_bits(bits).is_none()));
        for field in fields() {
            let all = || 0..=field.mask();
            assert_eq!(usize::from(field.mask()) + 1, 1 << field.bits());
            assert_eq!(field.inverse(0), 0);
            for a in all() {
                assert_eq!((field.mul(a, 1), field.mul(a, 0)), (a, 0));
                assert!(a == 0 || field.mul(a, field.inverse(a)) == 1);
                for b in all() {
                    assert_eq!(field.mul(a, b), field.mul(b, a));
                    let c = a.wrapping_mul(7) & field.mask() ^ 1;
                    assert_eq!(field.mul(a, b ^ c), field.mul(a, b) ^ field.mul(a, c));
                    assert_eq!(field.mul(a, field.mul(b, c)), field.mul(field.mul(a, b), c));
                }
            }
        }
    }

    #[test]
    fn rows_are_multiplied_as_elements_are() {
        let mut rng = Rng::replayable("test");
        for field in fields() {
            for blocks in [1, 3, 4, 5, 9] {
                let (inputs, outs) = (5, 7);
                let mut input = vec![0_u128; inputs * blocks];
                let mut matrix = vec![0; inputs * outs];
                rng.fill(bytemuck::cast_slice_mut(&mut input));
                rng.fill(&mut matrix);
                bytemuck::cast_slice_mut::<_, u8>(&mut input).iter_mut().for_each(|x| *x &= field.mask());
                matrix.iter_mut().for_each(|x| *x &= field.mask());
                let mut out = vec![0_u128; outs * blocks];
                field.multiply(|i, j| matrix[i * inputs + j], &input, &mut out, blocks);
                let (input, out): (&[u8], &[u8]) = (bytemuck::cast_slice(&input), bytemuck::cast_slice(&out));
                for (i, row) in out.chunks_exact(16 * blocks).enumerate() {
                    for (t, &symbol) in row.iter().enumerate() {
                        let expected = (0..inputs).fold(0, |sum, j| {
                            sum ^ field.mul(matrix[i * inputs + j], input[j * 16 * blocks + t])
                        });
                        assert_eq!(symbol, expected);
                    }
                }
            }
        }
    }
}
