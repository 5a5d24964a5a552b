//! Dual-key ciphers (sections II and III, figures 1, 6 and 8): E(A, B, T, X) masks a token by two others and
//! a tweak, the gate's number.
//!
//! | cipher | mask of X | tokens | with |
//! | --- | --- | --- | --- |
//! | A1 | π(K) ⊕ K, K = A ⊕ B ⊕ T | 16 bytes | Ga |
//! | A2 | π(K) ⊕ K, K = 2A ⊕ 4B ⊕ T | 16 | all |
//! | A3 | π(K ‖ T)\[1:80\] ⊕ K, K = A ⊕ B | 10 | Ga |
//! | A4 | π(K ‖ T)\[1:80\] ⊕ K, K = 2A ⊕ 4B | 10 | all |
//! | AES-256 (KSS) | AES256 under A ‖ B of T | 16 | all |
//! | SHA-1 (HEKM) | SHA-1(A ‖ B ‖ T)\[1:128\] | 16 | all |
//!
//! π is AES-128 under a public key that is drawn for each garbling: knowledge about one does not help with
//! another.

use aes::Aes256;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use brickwork_kernels::{self as kernels, Aes128, Carry, DualKey, Kernel};
use sha1::{Digest, Sha1};

/// Bits of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// 80 bits, 10 bytes.
    Short,
    /// 128 bits, 16 bytes.
    Long,
}

impl Length {
    /// Returns k: how many bits.
    pub const fn bits(self) -> u32 {
        match self {
            Length::Short => 80,
            Length::Long => 128,
        }
    }

    /// Returns k in bytes.
    pub const fn bytes(self) -> usize {
        self.bits() as usize / 8
    }

    /// Returns the token's part of a block: its first k bits, of which bit 127 is the first.
    pub const fn mask(self) -> u128 {
        u128::MAX << (128 - self.bits())
    }

    /// Returns the last bit of a token, its type.
    pub const fn last(self) -> u128 {
        1 << (128 - self.bits())
    }

    /// Returns the type of a token, 0 or 1.
    #[inline]
    pub const fn type_of(self, token: u128) -> u8 {
        (token >> (128 - self.bits())) as u8 & 1
    }
}

/// Ways to double a string (section III): the meaning of 2A, and of 4B, which is doubled twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubling {
    /// Multiplication by x in GF(2^k).
    D1,
    /// Shift to the left.
    D2,
    /// Shift to the right.
    D3,
    /// Rotation to the left.
    D4,
    /// Rotation to the right.
    D5,
    /// Shift to the left of each half.
    D6,
    /// Shift to the right of each half.
    D7,
}

impl Doubling {
    /// All of them.
    pub const ALL: [Doubling; 7] =
        [Doubling::D1, Doubling::D2, Doubling::D3, Doubling::D4, Doubling::D5, Doubling::D6, Doubling::D7];

    /// Returns the doubling of this name, d1 to d7.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|doubling| doubling.to_string() == name)
    }

    /// Returns 2A, for A of this length.
    #[inline]
    pub fn double(self, a: u128, length: Length) -> u128 {
        let (mask, last) = (length.mask(), length.last());
        // Without the bits that are the first and the last one of a half.
        let firsts = 1 << 127 | last << (length.bits() / 2 - 1);
        let lasts = firsts >> (length.bits() / 2 - 1);
        let is = |bit: bool| u128::from(bit);
        match self {
            // x^128 + x^7 + x^2 + x + 1 and x^80 + x^9 + x^4 + x^2 + 1.
            Doubling::D1 => {
                let reduced = if length == Length::Long { 0x87 } else { 0x215 };
                (a << 1) ^ ((a >> 127) * (reduced * last))
            }
            Doubling::D2 => a << 1,
            Doubling::D3 => a >> 1 & mask,
            Doubling::D4 => (a << 1) | ((a >> 127) * last),
            Doubling::D5 => a >> 1 & mask | is(a & last != 0) << 127,
            Doubling::D6 => (a & !firsts) << 1,
            Doubling::D7 => (a & !lasts) >> 1,
        }
    }

    /// Returns the same cipher in the form of the kernels.
    pub(crate) fn of_kernels(self, length: Length) -> kernels::Doubling {
        let (mask, last) = (length.mask(), length.last());
        // The bits of a half whose neighbour is in the other half, or nowhere.
        let (top, bottom) = (1 << 63 | 1 << 127, 1 | 1 << 64);
        let high = |half: u128| half << 64;
        let reduced = if length == Length::Long { 0x87 } else { 0x215 };
        let left = |value| kernels::Doubling::Left(Carry { test: top, value, keep: mask });
        match self {
            Doubling::D1 => left(high(1) | (reduced * last)),
            Doubling::D2 => left(high(1)),
            Doubling::D3 => kernels::Doubling::Right(Carry { test: bottom, value: 1 << 63, keep: mask }),
            Doubling::D4 => left(high(1) | last),
            // The lower half replaces the higher one, and its last bit goes to the top.
            Doubling::D5 => kernels::Doubling::Right(Carry { test: high(last) | 1, value: top, keep: mask }),
            Doubling::D6 if length == Length::Long => left(0),
            Doubling::D7 if length == Length::Long => kernels::Doubling::HalvesRight,
            // Halves of 40 bits: nothing goes from bit 87 to bit 88 or back.
            Doubling::D6 => {
                kernels::Doubling::Left(Carry { test: top, value: high(1), keep: mask & !(1 << 88) })
            }
            Doubling::D7 => {
                kernels::Doubling::Right(Carry { test: bottom, value: 1 << 63, keep: mask & !(1 << 87) })
            }
        }
    }

    /// Returns the number r by which the bounds of theorems 2 and 3 grow (figure 6, strong regularity).
    pub fn strong_regularity(self) -> u32 {
        match self {
            Doubling::D1 => 1,
            Doubling::D6 | Doubling::D7 => 16,
            _ => 4,
        }
    }
}

impl std::fmt::Display for Doubling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "d{}", *self as u8 + 1)
    }
}

/// The operations that a garbling scheme needs of a dual-key cipher.
pub trait DualKeyCipher {
    /// Returns the length of tokens.
    fn length(&self) -> Length;

    /// Returns E(A, B, T, 0) of each of these, which masks a token when it is added.
    fn masks<const N: usize>(&self, keys: [(u128, u128, u64); N]) -> [u128; N];
}

/// The dual-key ciphers of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// A1.
    A1,
    /// A2, with this doubling.
    A2(Doubling),
    /// A3.
    A3,
    /// A4, with this doubling.
    A4(Doubling),
    /// The block cipher of Kreuter, Shelat and Shen, for comparison.
    Aes256,
    /// The hash function of Huang, Evans, Katz and Malka, for comparison.
    Sha1,
}

impl Cipher {
    /// Returns the length of tokens.
    pub fn length(self) -> Length {
        match self {
            Cipher::A3 | Cipher::A4(_) => Length::Short,
            _ => Length::Long,
        }
    }

    /// Returns whether it stays secure where wires' tokens differ by one secret string (free XOR). A1 and A3
    /// do not: their keys add up, so A ⊕ R and B ⊕ R mask two rows alike (section III; a test shows it).
    pub fn bears_free_xor(self) -> bool {
        !matches!(self, Cipher::A1 | Cipher::A3)
    }

    /// Returns the cipher as the kernels take it; none if it is not made of π.
    pub(crate) fn of_kernels(self) -> Option<DualKey> {
        let length = self.length();
        let doubling = match self {
            Cipher::A1 | Cipher::A3 => kernels::Doubling::None,
            Cipher::A2(doubling) | Cipher::A4(doubling) => doubling.of_kernels(length),
            Cipher::Aes256 | Cipher::Sha1 => return None,
        };
        Some(DualKey { doubling, bits: length.bits() })
    }

    /// Returns the cipher with this key of π, which everybody may know.
    pub fn keyed(self, key: u128) -> Keyed {
        Keyed { cipher: self, permutation: Aes128::new(key), kernel: Kernel::best().for_few_blocks() }
    }
}

/// A cipher with its permutation.
pub struct Keyed {
    cipher: Cipher,
    permutation: Aes128,
    /// For the one to four blocks of a gate.
    kernel: Kernel,
}

impl DualKeyCipher for Keyed {
    fn length(&self) -> Length {
        self.cipher.length()
    }

    #[inline]
    fn masks<const N: usize>(&self, keys: [(u128, u128, u64); N]) -> [u128; N] {
        let length = self.length();
        let combined = |doubling: Doubling, a, b| {
            doubling.double(a, length) ^ doubling.double(doubling.double(b, length), length)
        };
        // ρ(K) = π(K) ⊕ K, of which a short token takes the first 80 bits. A tweak has 48 bits at most, those
        // behind a short token.
        let davies_meyer = |blocks: [u128; N]| {
            let mut encrypted = blocks;
            self.permutation.encrypt_with(self.kernel, &mut encrypted);
            std::array::from_fn(|i| (encrypted[i] ^ blocks[i]) & length.mask())
        };
        match self.cipher {
            Cipher::A1 | Cipher::A3 => davies_meyer(keys.map(|(a, b, tweak)| a ^ b ^ u128::from(tweak))),
            Cipher::A2(doubling) | Cipher::A4(doubling) => {
                davies_meyer(keys.map(|(a, b, tweak)| combined(doubling, a, b) ^ u128::from(tweak)))
            }
            Cipher::Aes256 => keys.map(|(a, b, tweak)| {
                let mut key = [0; 32];
                key[..16].copy_from_slice(&a.to_be_bytes());
                key[16..].copy_from_slice(&b.to_be_bytes());
                let mut block = u128::from(tweak).to_be_bytes().into();
                Aes256::new(&key.into()).encrypt_block(&mut block);
                u128::from_be_bytes(block.into())
            }),
            Cipher::Sha1 => keys.map(|(a, b, tweak)| {
                let mut hash = Sha1::new();
                hash.update(a.to_be_bytes());
                hash.update(b.to_be_bytes());
                hash.update(u128::from(tweak).to_be_bytes());
                let mut first = [0; 16];
                first.copy_from_slice(&hash.finalize()[..16]);
                u128::from_be_bytes(first)
            }),
        }
    }
}
