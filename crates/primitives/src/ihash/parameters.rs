//! The sizes of an interactive hash, and their security (Zhu and Huang 2017, sections 6.1 and 6.2).

use super::field::Field;
use crate::cut_and_choose::Upper;

/// The sizes of an interactive hash: words of ℓ symbols of σ bits, and codewords of n symbols. The receiver
/// watches w of the n symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashParameters {
    n: usize,
    l: usize,
    bits: u32,
    w: usize,
}

impl HashParameters {
    /// The paper's figure 7, s = 40, k = 88: words are labels of 32 bytes.
    pub const LABELS_88: HashParameters = HashParameters { n: 86, l: 32, bits: 8, w: 21 };
    /// The paper's figure 7, s = 40, k = 127: words are labels of 48 bytes.
    pub const LABELS_127: HashParameters = HashParameters { n: 88, l: 48, bits: 8, w: 32 };
    /// The paper's figure 7: words are permutation messages.
    pub const PERMUTATIONS: HashParameters = HashParameters { n: 44, l: 20, bits: 6, w: 19 };

    /// Makes parameters of these sizes. Returns `None` unless `1 ≤ w < ℓ < n < 2^σ` and σ is 2 to 8; n is
    /// below 2^σ so that at least one point is never sent.
    pub fn new(n: usize, l: usize, bits: u32, w: usize) -> Option<Self> {
        let field = Field::of_bits(bits)?;
        (0 < w && w < l && l < n && n <= usize::from(field.mask())).then_some(HashParameters {
            n,
            l,
            bits,
            w,
        })
    }

    /// Returns n, the symbols of a codeword.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Returns ℓ, the symbols of a word.
    pub fn l(&self) -> usize {
        self.l
    }

    /// Returns σ, the bits of a symbol.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns w, the symbols that the receiver watches.
    pub fn w(&self) -> usize {
        self.w
    }

    /// Returns the field of the symbols.
    pub fn field(&self) -> Field {
        Field::of_bits(self.bits).expect("Parameters::new allows only 2 to 8 bits")
    }

    /// Returns the probability that a word other than the hashed one fits the hash: `C(ℓ − 1, w) / C(n, w)`.
    /// Two codewords agree in ℓ − 1 symbols at most, and all watched symbols must be among these.
    pub fn binding(&self) -> Upper {
        (0..self.w as u64)
            .map(|i| Upper::ratio(self.l as u64 - 1 - i, self.n as u64 - i))
            .fold(Upper::ONE, |product, factor| product * factor)
    }

    /// Returns the number of bits of a uniform word that the receiver does not know. The number is σ(ℓ − w)
    /// for every choice of the watched symbols.
    pub fn hidden_bits(&self) -> u32 {
        self.bits * (self.l - self.w) as u32
    }

    /// Returns the probability, besides [`HashParameters::binding`], that words which are not codewords pass
    /// a check of `masks` combinations. There are at most 2^n sets of symbols on which the words disagree
    /// with all codewords. For each of them, a combination agrees with probability 2·2^-σ at most.
    pub fn check(&self, masks: usize) -> Upper {
        let exponent = self.n as f64 - (f64::from(self.bits) - 1.0) * masks as f64;
        Upper::exp2(exponent).min(Upper::ONE)
    }

    /// Returns the smallest number of combinations with which words that are not codewords pass with
    /// probability 2^-security at most.
    pub fn masks(&self, security: u32) -> usize {
        (self.n + 1 + security as usize).div_ceil(self.bits as usize - 1)
    }

    /// Returns the probability, besides [`HashParameters::binding`], that a wrong opened value passes a check
    /// of `openings` combinations. In each combination, the errors add up to 0 with probability 2·2^-σ at
    /// most.
    pub fn opening(&self, openings: usize) -> Upper {
        Upper::exp2(-(f64::from(self.bits) - 1.0) * openings as f64)
    }

    /// Returns the smallest number of combinations with which a wrong opened value passes with probability
    /// 2^-security at most.
    pub fn openings(&self, security: u32) -> usize {
        (security as usize).div_ceil(self.bits as usize - 1)
    }

    /// Returns the bits that the sender sends for a random word: those of its parity symbols.
    pub fn correction_bits(&self) -> usize {
        (self.n - self.l) * self.bits as usize
    }

    /// Returns the parameters of least cost with [`HashParameters::binding`] at most `limit`, at least
    /// `hidden` hidden bits and at least `unsent` points that are never sent. Among parameters of equal cost,
    /// it takes the shortest codewords. Returns `None` if no parameters fulfil these conditions.
    pub fn cheapest(
        limit: Upper,
        hidden: u32,
        unsent: usize,
        cost: impl Fn(&HashParameters) -> usize,
    ) -> Option<Self> {
        let of_field = |bits: u32| {
            let apart = (hidden.div_ceil(bits) as usize).max(1);
            // For each number of watched symbols, take the shortest codewords that reach the limit.
            (1..(1_usize << bits).saturating_sub(apart)).filter_map(move |w| {
                let longest = (1_usize << bits).checked_sub(unsent.max(1))?;
                let with = |n: usize| HashParameters::new(n, w + apart, bits, w);
                let binds = |n: usize| with(n).is_some_and(|parameters| parameters.binding() <= limit);
                let (mut too_short, mut enough) = (w + apart, longest);
                if enough <= too_short || !binds(enough) {
                    return None;
                }
                while enough - too_short > 1 {
                    let middle = (too_short + enough) / 2;
                    if binds(middle) { enough = middle } else { too_short = middle }
                }
                with(enough)
            })
        };
        (2..=8).flat_map(of_field).min_by_key(|parameters| (cost(parameters), parameters.n))
    }
}
