//! Dual-key ciphers (sections II and III, figures 1, 6 and 8). E(A, B, T, X) masks the token X under the keys
//! A and B and a tweak T, which is the gate's number.
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
//! π is AES-128 under a public key that is drawn anew for each garbling. So knowledge about one π does not
//! help an attacker with another.

use aes::Aes256;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use brickwork_kernels::{self as kernels, Aes128, Carry, DualKey, Kernel};
use sha1::{Digest, Sha1};

/// The length of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// 80 bits, 10 bytes.
    Short,
    /// 128 bits, 16 bytes.
    Long,
}

impl Length {
    /// Returns k, the number of bits.
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

    /// Returns the mask of a token's bits in a block: the first k bits, beginning with bit 127.
    pub const fn mask(self) -> u128 {
        u128::MAX << (128 - self.bits())
    }

    /// Returns the mask of a token's last bit, which is the token's type.
    pub const fn last(self) -> u128 {
        1 << (128 - self.bits())
    }

    /// Returns the type of a token, 0 or 1.
    #[inline]
    pub const fn type_of(self, token: u128) -> u8 {
        (token >> (128 - self.bits())) as u8 & 1
    }
}

/// The ways to double a string (section III). A doubling defines 2A; 4B is B doubled twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubling {
    /// Multiplication by x in GF(2^k).
    D1,
    /// Shift to the left by one bit.
    D2,
    /// Shift to the right by one bit.
    D3,
    /// Rotation to the left by one bit.
    D4,
    /// Rotation to the right by one bit.
    D5,
    /// Shift to the left by one bit, in each half.
    D6,
    /// Shift to the right by one bit, in each half.
    D7,
}

impl Doubling {
    /// All doublings.
    pub const ALL: [Doubling; 7] =
        [Doubling::D1, Doubling::D2, Doubling::D3, Doubling::D4, Doubling::D5, Doubling::D6, Doubling::D7];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|doubling| doubling.to_string() == name)
    }

    /// Returns 2A for a string of this length.
    #[inline]
    pub fn double(self, a: u128, length: Length) -> u128 {
        let (mask, last) = (length.mask(), length.last());
        // The first bits of both halves of a string, and then the last bits.
        let firsts = 1 << 127 | last << (length.bits() / 2 - 1);
        let lasts = firsts >> (length.bits() / 2 - 1);
        let is = |bit: bool| u128::from(bit);
        match self {
            // The polynomials x^128 + x^7 + x^2 + x + 1 and x^80 + x^9 + x^4 + x^2 + 1.
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

    pub(crate) fn of_kernels(self, length: Length) -> kernels::Doubling {
        let (mask, last) = (length.mask(), length.last());
        // The first and the last bits of both halves of a block.
        let (top, bottom) = (1 << 63 | 1 << 127, 1 | 1 << 64);
        let high = |half: u128| half << 64;
        let reduced = if length == Length::Long { 0x87 } else { 0x215 };
        let left = |value| kernels::Doubling::Left(Carry { test: top, value, keep: mask });
        match self {
            Doubling::D1 => left(high(1) | (reduced * last)),
            Doubling::D2 => left(high(1)),
            Doubling::D3 => kernels::Doubling::Right(Carry { test: bottom, value: 1 << 63, keep: mask }),
            Doubling::D4 => left(high(1) | last),
            // The kernel tests the block after its halves are exchanged, so the token's last bit goes to the
            // top.
            Doubling::D5 => kernels::Doubling::Right(Carry { test: high(last) | 1, value: top, keep: mask }),
            Doubling::D6 if length == Length::Long => left(0),
            Doubling::D7 if length == Length::Long => kernels::Doubling::HalvesRight,
            // The halves have 40 bits, so the boundary is between the bits 87 and 88.
            Doubling::D6 => {
                kernels::Doubling::Left(Carry { test: top, value: high(1), keep: mask & !(1 << 88) })
            }
            Doubling::D7 => {
                kernels::Doubling::Right(Carry { test: bottom, value: 1 << 63, keep: mask & !(1 << 87) })
            }
        }
    }

    /// Returns the number r by which this doubling increases the bounds of theorems 2 and 3 (figure 6, strong
    /// regularity).
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

/// A dual-key cipher, as garbling schemes use it.
pub trait DualKeyCipher {
    /// Returns the length of tokens.
    fn length(&self) -> Length;

    /// Returns E(A, B, T, 0) for each triple of A, B and T. The sum of this mask and a token is the encrypted
    /// token.
    fn masks<const N: usize>(&self, keys: [(u128, u128, u64); N]) -> [u128; N];
}

/// The dual-key ciphers of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// The cipher A1, only for Ga.
    A1,
    /// The cipher A2 with this doubling.
    A2(Doubling),
    /// The cipher A3, only for Ga.
    A3,
    /// The cipher A4 with this doubling.
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

    /// Returns whether the cipher is secure with free XOR, where all pairs of tokens have the same secret sum
    /// R. A1 and A3 are not secure with it: the sum of two keys does not change if R is added to both, so two
    /// rows have the same mask (section III and a test).
    pub fn bears_free_xor(self) -> bool {
        !matches!(self, Cipher::A1 | Cipher::A3)
    }

    /// Returns the cipher in the form of the kernels, or none if it is not made of π.
    pub(crate) fn of_kernels(self) -> Option<DualKey> {
        let length = self.length();
        let doubling = match self {
            Cipher::A1 | Cipher::A3 => kernels::Doubling::None,
            Cipher::A2(doubling) | Cipher::A4(doubling) => doubling.of_kernels(length),
            Cipher::Aes256 | Cipher::Sha1 => return None,
        };
        Some(DualKey { doubling, bits: length.bits() })
    }

    /// Returns the cipher with this public key of π.
    pub fn keyed(self, key: u128) -> Keyed {
        Keyed { cipher: self, permutation: Aes128::new(key), kernel: Kernel::best().for_few_blocks() }
    }
}

/// A cipher with a key of π.
pub struct Keyed {
    cipher: Cipher,
    permutation: Aes128,
    /// The fastest kernel for the few blocks of a gate, one to four.
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
        // The mask is ρ(K) = π(K) ⊕ K. For short tokens it is the first 80 bits, and the tweak is in the last
        // 48 bits of the block.
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
