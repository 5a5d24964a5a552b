//! Multiplication by an element of a small field, in the forms that kernels need.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// A map of bytes that is linear in their bits, given by the images of bits 0 to 7.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Factor(pub [u8; 8]);

impl Factor {
    /// Returns the form for the vector instruction for linear maps: byte 7 − i has the bits that go into bit
    /// i.
    fn rows(self) -> u64 {
        let row = |i: usize| (0..8).fold(0, |row, j| row | (self.0[j] >> i & 1) << j);
        u64::from_be_bytes(std::array::from_fn(row))
    }

    /// Returns the images of all bytes below 16, and of all multiples of 16.
    fn nibbles(self) -> [u128; 2] {
        [0, 4].map(|first: usize| {
            let image = |nibble: usize| {
                (0..4).fold(0, |image, j| image ^ self.0[first + j] & (nibble as u8 >> j & 1).wrapping_neg())
            };
            u128::from_le_bytes(std::array::from_fn(image))
        })
    }
}

/// Factors in the forms that kernels need. Erased when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Factors {
    pub(crate) rows: Vec<u64>,
    pub(crate) nibbles: Vec<[u128; 2]>,
}

impl Factors {
    pub(crate) fn of(factors: impl ExactSizeIterator<Item = Factor>) -> Self {
        let mut forms =
            Factors { rows: Vec::with_capacity(factors.len()), nibbles: Vec::with_capacity(factors.len()) };
        for factor in factors {
            forms.rows.push(factor.rows());
            forms.nibbles.push(factor.nibbles());
        }
        forms
    }
}
