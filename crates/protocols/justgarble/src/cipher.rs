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
//! π is AES-128 under a key that everybody knows, and that is drawn for each garbling: what is learned of one
//! helps with no other.

use aes::Aes256;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use brickwork_kernels::{Aes128, Kernel};
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

    /// Returns what of 128 bits is in a token: the lowest k, of which bit 0 is the last of the paper's
    /// string.
    pub const fn mask(self) -> u128 {
        u128::MAX >> (128 - self.bits())
    }
}

/// Ways to double a string (section III): what 2A means, and 4B, which is doubled twice.
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

    /// Returns 2A, for A of this length.
    #[inline]
    pub fn double(self, a: u128, length: Length) -> u128 {
        let (k, mask) = (length.bits(), length.mask());
        let half = k / 2;
        let low = mask >> half;
        let halves = |upper: u128, lower: u128| (upper & low) << half | lower & low;
        match self {
            // x^128 + x^7 + x^2 + x + 1 and x^80 + x^9 + x^4 + x^2 + 1.
            Doubling::D1 => {
                let reduced = if length == Length::Long { 0x87 } else { 0x215 };
                (a << 1 & mask) ^ ((a >> (k - 1)) * reduced)
            }
            Doubling::D2 => a << 1 & mask,
            Doubling::D3 => a >> 1,
            Doubling::D4 => (a << 1 | a >> (k - 1)) & mask,
            Doubling::D5 => a >> 1 | (a & 1) << (k - 1),
            Doubling::D6 => halves(a >> half << 1, a << 1),
            Doubling::D7 => halves(a >> half >> 1, (a & low) >> 1),
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

/// What a garbling scheme needs of a dual-key cipher.
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

/// Bits of a tweak behind a short token.
const TWEAK_BITS: u32 = 128 - Length::Short.bits();

impl DualKeyCipher for Keyed {
    fn length(&self) -> Length {
        self.cipher.length()
    }

    #[inline]
    fn masks<const N: usize>(&self, keys: [(u128, u128, u64); N]) -> [u128; N] {
        let combined = |doubling: Doubling, length, a, b| {
            doubling.double(a, length) ^ doubling.double(doubling.double(b, length), length)
        };
        // ρ(K) = π(K) ⊕ K, of which a short token takes the first 80 bits.
        let davies_meyer = |blocks: [u128; N]| {
            let mut encrypted = blocks;
            self.permutation.encrypt_with(self.kernel, &mut encrypted);
            let cut = 128 - self.length().bits();
            std::array::from_fn(|i| (encrypted[i] ^ blocks[i]) >> cut)
        };
        match self.cipher {
            Cipher::A1 => davies_meyer(keys.map(|(a, b, tweak)| a ^ b ^ u128::from(tweak))),
            Cipher::A2(doubling) => davies_meyer(
                keys.map(|(a, b, tweak)| combined(doubling, Length::Long, a, b) ^ u128::from(tweak)),
            ),
            Cipher::A3 => davies_meyer(keys.map(|(a, b, tweak)| (a ^ b) << TWEAK_BITS | u128::from(tweak))),
            Cipher::A4(doubling) => davies_meyer(keys.map(|(a, b, tweak)| {
                combined(doubling, Length::Short, a, b) << TWEAK_BITS | u128::from(tweak)
            })),
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
