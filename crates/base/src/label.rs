//! Wire labels and the offsets between them: 128-bit strings with only the operators that the protocol
//! allows.
//!
//! On the wire and in hashes a label is 16 bytes, little endian; its *colour* is its least significant bit
//! (point-and-permute).

use std::ops::{BitXor, BitXorAssign};

use bytemuck::{Pod, TransparentWrapper, Zeroable};
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroize;

/// A wire label, or an XOR of labels (Kolesnikov et al. 2017, section 5.1).
#[derive(Clone, Copy, Default, PartialEq, Eq, Zeroize, Pod, Zeroable, TransparentWrapper)]
#[repr(transparent)]
pub struct Label(u128);

/// A free-XOR offset. The least significant bit of an offset is always 1.
#[derive(Clone, Copy, PartialEq, Eq, Zeroize, TransparentWrapper)]
#[repr(transparent)]
pub struct Delta(u128);

/// Number of bytes of a label on the wire.
pub const LABEL_BYTES: usize = 16;

impl Label {
    /// The all-zero label.
    pub const ZERO: Label = Label(0);

    /// Makes the label with these bits, least significant first.
    #[inline]
    pub fn from_bits(bits: u128) -> Self {
        Label(bits)
    }

    /// Returns the bits of the label.
    #[inline]
    pub fn bits(self) -> u128 {
        self.0
    }

    /// Reads a label from its 16 bytes on the wire.
    #[inline]
    pub fn from_bytes(bytes: [u8; LABEL_BYTES]) -> Self {
        Label(u128::from_le_bytes(bytes))
    }

    /// Returns the 16 bytes of the label on the wire.
    #[inline]
    pub fn to_bytes(self) -> [u8; LABEL_BYTES] {
        self.0.to_le_bytes()
    }

    /// Returns the colour bit, 0 or 1.
    #[inline]
    pub fn colour(self) -> u8 {
        (self.0 & 1) as u8
    }

    /// Returns this label with its colour bit replaced by `bit` (0 or 1).
    #[inline]
    pub fn with_colour(self, bit: u8) -> Self {
        Label(self.0 & !1 | (bit & 1) as u128)
    }

    /// Returns `self` if `bit` is 1, the zero label if it is 0; in constant time.
    #[inline]
    pub fn times(self, bit: u8) -> Self {
        Label(self.0 & (bit as u128 & 1).wrapping_neg())
    }
}

impl Delta {
    /// Makes the offset with these bits, its least significant one set.
    #[inline]
    pub fn new(bits: u128) -> Self {
        Delta(bits | 1)
    }

    /// Returns the offset with these bits; `None` if the least significant one is 0, which only a cheater
    /// produces.
    #[inline]
    pub fn checked(bits: u128) -> Option<Self> {
        if bits & 1 == 1 { Some(Delta(bits)) } else { None }
    }

    /// Returns the bits of the offset.
    #[inline]
    pub fn bits(self) -> u128 {
        self.0
    }

    /// Returns the offset as a difference of labels.
    #[inline]
    pub fn label(self) -> Label {
        Label(self.0)
    }

    /// Returns the offset if `bit` is 1, zero if it is 0; in constant time.
    #[inline]
    pub fn times(self, bit: u8) -> Label {
        Label(self.0).times(bit)
    }
}

impl BitXor for Label {
    type Output = Label;
    #[inline]
    fn bitxor(self, other: Label) -> Label {
        Label(self.0 ^ other.0)
    }
}

impl BitXorAssign for Label {
    #[inline]
    fn bitxor_assign(&mut self, other: Label) {
        self.0 ^= other.0;
    }
}

impl BitXor<Delta> for Label {
    type Output = Label;
    #[inline]
    fn bitxor(self, delta: Delta) -> Label {
        Label(self.0 ^ delta.0)
    }
}

impl ConstantTimeEq for Label {
    fn ct_eq(&self, other: &Self) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl std::fmt::Debug for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Label(secret)")
    }
}

impl std::fmt::Debug for Delta {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Delta(secret)")
    }
}
