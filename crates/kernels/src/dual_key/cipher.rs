//! A garbling: its circuit, its style and its cipher.

use crate::Aes128;
use crate::script::GateList;

/// How gates are garbled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Four rows, and two tokens for a wire that have nothing to do with each other.
    Ga,
    /// Four rows, and tokens that differ by the copy's offset, as in all that follow.
    GaX,
    /// Three rows.
    GaXR,
    /// Two rows.
    HalfGates,
    /// One row; the type of a token is the wire's bit.
    PrivacyFree,
}

impl Style {
    /// Returns the rows of a gate.
    pub const fn rows(self) -> usize {
        match self {
            Style::Ga | Style::GaX => 4,
            Style::GaXR => 3,
            Style::HalfGates => 2,
            Style::PrivacyFree => 1,
        }
    }

    /// Returns how many tokens a garbler keeps of a wire: both, or that for 0 alone.
    pub const fn tokens(self) -> usize {
        match self {
            Style::Ga => 2,
            _ => 1,
        }
    }
}

/// The definition of 2A, the doubling of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubling {
    /// A itself: keys add up.
    None,
    /// Each half of the block shifted to the right by one bit; for tokens of 128 bits.
    HalvesRight,
    /// The halves shifted to the left, and their carries.
    Left(Carry),
    /// The halves shifted to the right, and their carries.
    Right(Carry),
}

/// The carry where the halves of a block are shifted: each half gets its half of `value` if the other half
/// has a bit of `test` at the same place; then the bits that are not in `keep` go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carry {
    /// Bits that are looked for in the other half.
    pub test: u128,
    /// The value that is added where there is a carry.
    pub value: u128,
    /// The bits that remain.
    pub keep: u128,
}

/// A dual-key cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DualKey {
    /// How the keys go into K.
    pub doubling: Doubling,
    /// Bits of a token: 128 or 80.
    pub bits: u32,
}

impl DualKey {
    /// Returns the bits of a block that are a token's.
    pub fn token(self) -> u128 {
        u128::MAX << (128 - self.bits)
    }

    /// Returns the last bit of a token.
    pub fn last(self) -> u128 {
        1 << (128 - self.bits)
    }

    /// Returns, for `Vector::colours_at`, the byte with the last bit of a token.
    pub(super) fn byte_of_last(self) -> u128 {
        u128::from((128 - self.bits) / 8) * (u128::MAX / 255)
    }
}

/// A circuit as the loops take it.
#[derive(Clone, Copy)]
pub struct Gates<'a> {
    /// Its steps: gates with rows in the place of AND gates.
    pub script: &'a GateList,
    /// The tweak of each gate with rows, in order; a block each, as that is read into all blocks of a
    /// register at once.
    pub tweaks: &'a [u128],
    /// The function of each gate with rows, for the garbler, and without privacy for the evaluator: bit 2a +
    /// b is its value. It must not be linear with half-gates and without privacy.
    pub functions: &'a [u8],
}

/// The keys of a copy.
pub struct CopyKeys {
    /// The key of π, which is public.
    pub permutation: Aes128,
    /// The key of the copy's tokens, which is the garbler's secret: counter mode over the number of the draw.
    pub tokens: Aes128,
}
