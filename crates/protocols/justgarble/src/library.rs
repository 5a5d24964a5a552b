//! The circuits of the paper's measurements (section V, figures 1, 8 and 9).

use brickwork_base::Error;
use brickwork_circuit::{Bit, Builder, library};

use crate::circuit::{GateFunction, NormalCircuit, NormalGate};

/// Builds AES-128 with the paper's numbers of gates: 36 480 gates, of which 29 820 are XORs. The inputs are
/// eleven round keys and a block, the output is the ciphertext. Each of them is an integer whose lowest bit
/// comes first, and whose highest byte is the first byte of the standard.
///
/// The paper gives only these two numbers. The following parts have the same numbers, with FIPS 197's ten
/// rounds, of which the last has no MixColumns, and eleven round keys:
///
/// | | how many | gates | XORs |
/// | --- | ---: | ---: | ---: |
/// | S-box | 160 | 185 | 149 |
/// | a column in MixColumns | 36 | 152 | 127 |
/// | bit of a round key | 1 408 | 1 | 1 |
///
/// These are 160 · 36 + 36 · 25 = 6 660 gates that are not XORs. With fewer than 65 such gates for a column,
/// no other numbers give this sum. An S-box inverts in a tower of fields. The circuit has nine gates for each
/// of three products in GF(2^4), and nine for the inversion in GF(2^4). Each sum has its own XOR gates, and
/// the constant comes from negated products. By its definition, a column has 140 XORs. The circuit gets 13 of
/// them without XOR gates.
///
/// # Errors
/// Only those of [`NormalCircuit::new`], as for all circuits here.
pub fn aes() -> Result<NormalCircuit, Error> {
    let mut maker = Maker { inputs: 12 * 128, gates: Vec::new() };
    // The bytes of a block in the order of the standard.
    let word = |number: u32| -> Vec<Byte> {
        (0..16).map(|k| std::array::from_fn(|bit| 128 * number + 8 * (15 - k) + bit as u32)).collect()
    };
    let mut state = maker.add(&word(11), &word(0));
    for round in 1..=10 {
        let substituted: Vec<Byte> = state.iter().map(|byte| maker.sub_byte(byte)).collect();
        let mut moved: Vec<Byte> = (0..16).map(|i| substituted[(i + 4 * (i % 4)) % 16]).collect();
        if round < 10 {
            moved = moved.chunks_exact(4).flat_map(|column| maker.mix_column(column)).collect();
        }
        state = maker.add(&moved, &word(round));
    }
    let outputs = state.iter().rev().flatten().copied().collect();
    NormalCircuit::new(maker.inputs, maker.gates, outputs)
}

/// The wires of a byte, the lowest bit first.
type Byte = [u32; 8];

/// The tower of fields for the S-box: GF(2^8) as GF(2^4)\[y\]/(y² + y + λ), GF(2^4) as GF(2^2)\[z\]/(z² + z +
/// w), GF(2^2) as GF(2)\[w\]/(w² + w + 1), with λ = (w + 1)z + w + 1. The element x of the standard's field
/// becomes 0x6f, a root of the standard's polynomial. Bit j of row i of a matrix is set if bit j of the
/// vector is a term of bit i of the product.
mod tower {
    /// The matrix from the standard's field to the tower.
    pub const ENTER: [u8; 8] = [0xff, 0x76, 0x56, 0x1a, 0xdc, 0xd2, 0x7e, 0xa0];
    /// The matrix back, with the linear part of the standard's affine map.
    pub const LEAVE: [u8; 8] = [0x31, 0x7b, 0xdf, 0x71, 0x6d, 0xac, 0x90, 0xb4];
    /// The matrix for λ times the square of an element of GF(2^4).
    pub const SCALED_SQUARE: [u8; 4] = [0x1, 0x3, 0xd, 0xb];
    /// The matrix `LEAVE` maps this value to the constant 0x63.
    pub const CONSTANT: u8 = 0x56;
}

/// The gates of a circuit under construction.
struct Maker {
    inputs: u32,
    gates: Vec<NormalGate>,
}

impl Maker {
    /// Adds a gate of two different wires, and returns its wire.
    fn gate(&mut self, a: u32, b: u32, function: GateFunction) -> u32 {
        self.gates.push(NormalGate::in_order(a, b, function));
        self.inputs + self.gates.len() as u32 - 1
    }

    fn xor(&mut self, a: u32, b: u32) -> u32 {
        self.gate(a, b, GateFunction::XOR)
    }

    fn add(&mut self, a: &[Byte], b: &[Byte]) -> Vec<Byte> {
        let bytes = a.iter().zip(b);
        bytes.map(|(a, b)| std::array::from_fn(|bit| self.xor(a[bit], b[bit]))).collect()
    }

    /// Multiplies a matrix by a vector, with XOR gates that no two rows share.
    fn times<const N: usize>(&mut self, rows: &[u8; N], x: &[u32]) -> [u32; N] {
        rows.map(|row| {
            let mut terms = (0..x.len()).filter(|j| row >> j & 1 == 1).map(|j| x[j]);
            let first = terms.next().unwrap_or_default();
            terms.fold(first, |sum, term| self.xor(sum, term))
        })
    }

    /// Returns a AND b, negated on request.
    fn product(&mut self, a: u32, b: u32, negated: bool) -> u32 {
        self.gate(a, b, if negated { GateFunction::NAND } else { GateFunction::AND })
    }

    /// Returns the product in GF(2^2), lower half first. `not` says which of two partial products to negate:
    /// that of the higher halves, and that of the sums of halves.
    fn multiply2(&mut self, a: [u32; 2], b: [u32; 2], not: [bool; 2]) -> [u32; 2] {
        let (sum_a, sum_b) = (self.xor(a[0], a[1]), self.xor(b[0], b[1]));
        let high = self.product(a[1], b[1], not[0]);
        let low = self.product(a[0], b[0], false);
        let both = self.product(sum_a, sum_b, not[1]);
        [self.xor(high, low), self.xor(both, low)]
    }

    /// Returns the product in GF(2^4) plus a constant.
    fn multiply4(&mut self, a: [u32; 4], b: [u32; 4], constant: u8) -> [u32; 4] {
        let add = |maker: &mut Self, x: [u32; 4]| [maker.xor(x[0], x[2]), maker.xor(x[1], x[3])];
        let (sum_a, sum_b) = (add(self, a), add(self, b));
        let bit = |i: u8| constant >> i & 1 == 1;
        // The product of the higher halves is multiplied by w and added to the lower half of the result.
        let high = self.multiply2([a[2], a[3]], [b[2], b[3]], [bit(0) ^ bit(1), bit(0)]);
        let low = self.multiply2([a[0], a[1]], [b[0], b[1]], [false; 2]);
        let both = self.multiply2(sum_a, sum_b, [bit(2), bit(3)]);
        let scaled = [high[1], self.xor(high[0], high[1])];
        [
            self.xor(scaled[0], low[0]),
            self.xor(scaled[1], low[1]),
            self.xor(both[0], low[0]),
            self.xor(both[1], low[1]),
        ]
    }

    /// Returns the inverse in GF(2^4). The inverse of 0 is 0.
    fn invert4(&mut self, [a0, a1, a2, a3]: [u32; 4]) -> [u32; 4] {
        let sum = [self.xor(a0, a2), self.xor(a1, a3)];
        // Multiplying the square of the higher half by w exchanges its two bits.
        let [n0, n1] = self.multiply2(sum, [a0, a1], [false; 2]);
        let norm = [self.xor(n0, a3), self.xor(n1, a2)];
        // In GF(2^2), the inverse is the square.
        let inverse = [self.xor(norm[0], norm[1]), norm[1]];
        let [high0, high1] = self.multiply2([a2, a3], inverse, [false; 2]);
        let [low0, low1] = self.multiply2(sum, inverse, [false; 2]);
        [low0, low1, high0, high1]
    }

    /// Returns SubBytes of a byte, with 185 gates, of which 36 are not XORs.
    fn sub_byte(&mut self, byte: &Byte) -> Byte {
        let [l0, l1, l2, l3, h0, h1, h2, h3] = self.times(&tower::ENTER, byte);
        let (low, high) = ([l0, l1, l2, l3], [h0, h1, h2, h3]);
        let sum = [self.xor(l0, h0), self.xor(l1, h1), self.xor(l2, h2), self.xor(l3, h3)];
        let squared = self.times(&tower::SCALED_SQUARE, &high);
        let product = self.multiply4(sum, low, 0);
        let norm = std::array::from_fn(|i| self.xor(squared[i], product[i]));
        let inverse = self.invert4(norm);
        let [h0, h1, h2, h3] = self.multiply4(high, inverse, tower::CONSTANT >> 4);
        let [l0, l1, l2, l3] = self.multiply4(sum, inverse, tower::CONSTANT & 0xf);
        self.times(&tower::LEAVE, &[l0, l1, l2, l3, h0, h1, h2, h3])
    }

    /// Returns MixColumns of a column, with 152 gates, of which 25 are not XORs.
    fn mix_column(&mut self, column: &[Byte]) -> Vec<Byte> {
        // Doubling the four bytes of a column needs twelve sums. The first is an OR of two gates that are
        // never both 1, the second is an XOR. The other ten negate the first input, and then the sum with the
        // second input.
        let mut sums = 0;
        let mut sum = |maker: &mut Self, a: u32, b: u32| {
            sums += 1;
            match sums {
                1 => {
                    let (first, second) =
                        (maker.gate(a, b, GateFunction::AND_NOT), maker.gate(b, a, GateFunction::AND_NOT));
                    maker.gate(first, second, GateFunction::OR)
                }
                2 => maker.xor(a, b),
                _ => {
                    let not = maker.gate(a, b, GateFunction::NOT_FIRST);
                    maker.gate(not, b, GateFunction::XNOR)
                }
            }
        };
        let doubled: Vec<Byte> = column
            .iter()
            .map(|a| {
                let carried: [u32; 3] = [0, 2, 3].map(|bit| sum(self, a[bit], a[7]));
                [a[7], carried[0], a[1], carried[1], carried[2], a[4], a[5], a[6]]
            })
            .collect();
        (0..4)
            .map(|i| {
                let [next, third, fourth] = [1, 2, 3].map(|k| (i + k) % 4);
                std::array::from_fn(|bit| {
                    // Two negations of the first sum cancel out.
                    let first = if (i, bit) == (0, 0) { GateFunction::XNOR } else { GateFunction::XOR };
                    let doubled = self.gate(doubled[i][bit], doubled[next][bit], first);
                    let with_next = self.gate(doubled, column[next][bit], first);
                    let with_third = self.xor(with_next, column[third][bit]);
                    self.xor(with_third, column[fourth][bit])
                })
            })
            .collect()
    }
}

/// Builds MEXP (figure 9): a^b for numbers of n bits, modulo the number with eight ones, n - 9 zeros and a
/// one. The circuit consists of squarings and products, each by doubling and adding.
///
/// # Errors
/// [`Error::Usage`] if n is below 10 or above 64.
pub fn modular_exponentiation(bits: usize) -> Result<NormalCircuit, Error> {
    if !(10..=64).contains(&bits) {
        return Err(Error::Usage("modular exponentiation needs numbers of 10 to 64 bits".into()));
    }
    let modulus = modulus(bits);
    let mut b = Builder::new(2 * bits as u32);
    let inputs = b.all_inputs();
    let (base, exponent) = inputs.split_at(bits);
    let constant = |number: u128, width: usize| -> Vec<Bit> {
        (0..width).map(|i| if number >> i & 1 == 1 { Bit::ONE } else { Bit::ZERO }).collect()
    };
    let modulus_bits = constant(modulus, bits + 1);
    // Reduces a number that is below twice the modulus.
    let reduced = |b: &mut Builder, x: &[Bit]| {
        let less = library::less_than(b, x, &modulus_bits);
        let difference = library::subtract(b, x, &modulus_bits);
        library::select(b, less, &x[..bits], &difference[..bits])
    };
    let product = |b: &mut Builder, x: &[Bit], y: &[Bit]| {
        y.iter().rev().fold(constant(0, bits), |sum, &bit| {
            let doubled = [&[Bit::ZERO], &sum[..]].concat();
            let doubled = reduced(b, &doubled);
            let addend: Vec<Bit> = x.iter().map(|&x| b.and(x, bit)).chain([Bit::ZERO]).collect();
            let sum = library::add(b, &[&doubled[..], &[Bit::ZERO]].concat(), &addend);
            reduced(b, &sum)
        })
    };
    let base = reduced(&mut b, &[base, &[Bit::ZERO]].concat());
    let mut power = constant(1, bits);
    for &bit in exponent.iter().rev() {
        power = product(&mut b, &power, &power);
        let times = product(&mut b, &power, &base);
        power = library::select(&mut b, bit, &times, &power);
    }
    NormalCircuit::of(&b.finish(&power)?)
}

pub(crate) fn modulus(bits: usize) -> u128 {
    (1 << bits) - (1 << (bits - 8)) + 1
}

/// Builds EDT (figure 9): the edit distance of two strings of this many bits.
///
/// # Errors
/// [`Error::Usage`] if `bits` is 0.
pub fn edit_distance(bits: u32) -> Result<NormalCircuit, Error> {
    NormalCircuit::of(&library::compgc::levenshtein([bits, bits], 1)?.flatten()?)
}
