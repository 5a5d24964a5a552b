//! A garbling with a dual-key cipher: its circuit, its style and its cipher.

use crate::Aes128;
use crate::script::GateList;

/// The style of garbling a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Four rows, and two independent tokens for each wire.
    Ga,
    /// Four rows, and two tokens that differ by the copy's offset, as in all following styles.
    GaX,
    /// Three rows; tokens as in `GaX`.
    GaXR,
    /// Two rows.
    HalfGates,
    /// One row. The type of a token is the wire's bit, and the evaluator knows this bit.
    PrivacyFree,
}

impl Style {
    /// Returns the number of rows of a gate.
    pub const fn rows(self) -> usize {
        match self {
            Style::Ga | Style::GaX => 4,
            Style::GaXR => 3,
            Style::HalfGates => 2,
            Style::PrivacyFree => 1,
        }
    }

    /// Returns the number of tokens that a garbler keeps of a wire: both, or only the token for 0.
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
    /// 2A is A itself, so keys add up.
    None,
    /// Each half of the block is shifted to the right by one bit, for tokens of 128 bits.
    HalvesRight,
    /// Both halves are shifted to the left, with carries between them.
    Left(Carry),
    /// Both halves are shifted to the right, with carries between them.
    Right(Carry),
}

/// The carries of a shift that shifts both halves of a block separately. Each half gets its half of `value`
/// if the other half has a bit of `test`. Then all bits outside `keep` are cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carry {
    /// The bits of the other half that cause a carry.
    pub test: u128,
    /// The value that is added for a carry.
    pub value: u128,
    /// The bits that remain.
    pub keep: u128,
}

/// A dual-key cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DualKey {
    /// The doubling of keys, which determines K.
    pub doubling: Doubling,
    /// The number of bits of a token: 128 or 80.
    pub bits: u32,
}

impl DualKey {
    /// Returns the mask of a token's bits within a block.
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

/// A circuit in the form that the loops process.
#[derive(Clone, Copy)]
pub struct LoopGates<'a> {
    /// The circuit's steps. The gates with rows are in the place of the AND gates.
    pub script: &'a GateList,
    /// The tweak of each gate with rows, in order. A tweak has a whole block, because it is loaded into all
    /// blocks of a register at once.
    pub tweaks: &'a [u128],
    /// The function of each gate with rows, as its truth table: bit 2a + b is the value for a and b. The
    /// garbler needs it. The evaluator needs it only in the style without privacy. In half-gates and in the
    /// style without privacy, the function must not be linear.
    pub functions: &'a [u8],
}

/// The keys of a copy.
pub struct CopyKeys {
    /// The public key of π.
    pub permutation: Aes128,
    /// The garbler's secret key of the copy's tokens, which are counter mode over the number of the draw.
    pub tokens: Aes128,
}
