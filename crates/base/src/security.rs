//! Levels of statistical security.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;

/// The statistical security of a session: a cheater succeeds with probability at most `2^-s`. If several
/// sessions share one promise, each has an equal part of it.
///
/// Parts add up: all sessions with parts of one promise together keep `2^-s`, whatever their purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Security {
    bits: u32,
    shares: u32,
}

/// The levels for which codes and checks are made, in bits.
const LEVELS: [u32; 3] = [40, 64, 80];

impl Security {
    /// The largest number of parts of a promise, which is enough for jobs of a thousand lanes with retries.
    pub const MAX_SHARES: u32 = 1 << 20;

    /// Returns the security with the whole probability `2^-bits`.
    pub const fn of(bits: u32) -> Self {
        Security { bits, shares: 1 }
    }

    /// Returns one of `shares` equal parts of a promise; `None` if `shares` is 0 or too large.
    pub fn shared(bits: u32, shares: u32) -> Option<Self> {
        (1..=Self::MAX_SHARES).contains(&shares).then_some(Security { bits, shares })
    }

    /// Returns s, for the whole promise.
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// Returns the number of parts of the promise.
    pub const fn shares(self) -> u32 {
        self.shares
    }

    /// Returns s, for a protocol whose sessions always have a whole promise.
    ///
    /// # Errors
    /// [`Error::Usage`] if the session has only a share of its job's promise.
    pub fn whole(self) -> Result<u32, Error> {
        match self.is_share() {
            false => Ok(self.bits),
            true => Err(Error::Usage("the lanes of a job can only run the protocol duplo today".into())),
        }
    }

    /// Returns whether this is one of several parts of a promise.
    pub const fn is_share(self) -> bool {
        self.shares > 1
    }

    /// Returns the base-2 logarithm of the allowed probability: at most `-s`.
    pub fn log2(self) -> f64 {
        -f64::from(self.bits) - f64::from(self.shares).log2()
    }

    /// Returns the allowed probability in units of 2^-128, rounded down.
    pub fn units(self) -> u128 {
        (128.0 + self.log2()).exp2() as u128
    }

    /// Returns the level in bits for codes and checks that cost almost nothing: the smallest k such
    /// that 2^-k is at most this part of the promise. For a whole promise it is s itself.
    pub fn level(self) -> u32 {
        if !self.is_share() {
            return self.bits;
        }
        let least = self.bits + self.shares.next_power_of_two().ilog2();
        LEVELS.into_iter().find(|level| *level >= least).unwrap_or(least)
    }

    /// Returns the command's flag that requests this security.
    pub fn flag(self) -> String {
        match self.shares {
            1 => format!("--security {}", self.bits),
            shares => format!("--security {} in {shares} shares", self.bits),
        }
    }
}

impl From<u32> for Security {
    fn from(bits: u32) -> Self {
        Security::of(bits)
    }
}

impl fmt::Display for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shares {
            1 => write!(f, "2^-{}", self.bits),
            shares => write!(f, "a share of 2^-{} in {shares}", self.bits),
        }
    }
}

/// Writes `2^log2` with two decimals of the exponent, rounded up, so that the displayed bound is never below
/// the true one. Every displayed bound is written by this function.
pub fn at_most(log2: f64) -> String {
    if log2 == f64::NEG_INFINITY {
        return "0".into();
    }
    let hundredths = (log2 * 100.0).ceil();
    let text = |hundredths: f64| format!("{:.2}", hundredths / 100.0);
    // The product may have been rounded down, so the text may be too small.
    let below = text(hundredths).parse().is_ok_and(|read: f64| read < log2);
    format!("2^{}", text(if below { hundredths + 1.0 } else { hundredths }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_promise() {
        for (bits, shares, level) in [(40, 1, 40), (40, 2, 64), (40, 1 << 20, 64), (64, 20, 80), (80, 3, 82)]
        {
            let share = Security::shared(bits, shares).unwrap();
            assert!((f64::from(shares) * share.log2().exp2()).log2() <= -f64::from(bits) + 1e-9);
            assert_eq!(share.level(), level, "{share}");
            assert_eq!((share.bits(), share.shares()), (bits, shares));
        }
        assert_eq!(Security::shared(40, 0), None);
        assert_eq!(Security::shared(40, Security::MAX_SHARES + 1), None);
        assert_eq!(Security::from(64), Security::shared(64, 1).unwrap());
    }

    /// The level of a part, used as a number of bits, is within the part.
    #[test]
    fn the_level_covers_the_share() {
        for shares in 1..5000 {
            let share = Security::shared(40, shares).unwrap();
            assert!(-f64::from(share.level()) <= share.log2(), "{share}");
        }
    }

    /// The displayed bound is never below the true one, and close to it.
    #[test]
    fn a_bound_is_written_rounded_up() {
        for hundredths in -30_000..0 {
            let near = f64::from(hundredths) / 100.0;
            for log2 in [near, near.next_up(), near.next_down(), near + 1e-9, near - 1e-9, near * 0.777] {
                let text = at_most(log2);
                let read: f64 = text.strip_prefix("2^").and_then(|text| text.parse().ok()).expect("a power");
                assert!(read >= log2 && read < log2 + 0.0101, "{log2} is written as {read}");
            }
        }
        for (log2, text) in [
            (-40.2, "2^-40.20"),
            (-40.199, "2^-40.19"),
            (-40.2001, "2^-40.20"),
            (-40.0, "2^-40.00"),
            (-39.999, "2^-39.99"),
            (f64::NEG_INFINITY, "0"),
        ] {
            assert_eq!(at_most(log2), text);
        }
    }
}
