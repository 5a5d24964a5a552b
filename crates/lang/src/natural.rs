//! Natural numbers of any size, as sources contain them.

use std::fmt;
use std::rc::Rc;

/// The largest number of bits of a number in a source.
pub const MAX_BITS: usize = 1 << 16;

/// A natural number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Natural(Rc<[u64]>);

impl Natural {
    /// Returns the number that these digits represent, if it has at most [`MAX_BITS`] bits. Every byte must
    /// be a digit of the base, which is at most 16.
    pub fn parse(digits: &[u8], base: u32) -> Option<Natural> {
        let mut limbs: Vec<u64> = Vec::new();
        for digit in digits {
            let mut carry = u128::from((*digit as char).to_digit(base)?);
            for limb in &mut limbs {
                carry += u128::from(*limb) * u128::from(base);
                *limb = carry as u64;
                carry >>= 64;
            }
            if carry > 0 {
                limbs.push(carry as u64);
            }
            if limbs.len() > MAX_BITS / 64 {
                return None;
            }
        }
        Some(Natural(limbs.into()))
    }

    /// Returns the number of bits, which is 0 for the number 0.
    pub fn bits(&self) -> u32 {
        self.0.last().map_or(0, |top| self.0.len() as u32 * 64 - top.leading_zeros())
    }

    /// Returns bit `i`.
    pub fn bit(&self, i: u32) -> bool {
        self.0.get(i as usize / 64).is_some_and(|limb| limb >> (i % 64) & 1 == 1)
    }

    /// Returns the lowest `width` bits.
    pub fn low(&self, width: u32) -> Natural {
        let cut = |(at, limb): (usize, &u64)| {
            let left = width.saturating_sub(at as u32 * 64);
            if left >= 64 { *limb } else { limb & ((1 << left) - 1) }
        };
        let limbs: Vec<u64> = self.0.iter().enumerate().map(cut).collect();
        let length = limbs.iter().rposition(|limb| *limb != 0).map_or(0, |last| last + 1);
        Natural(limbs[..length].into())
    }

    /// Returns the number, if it is below 2^128.
    pub fn small(&self) -> Option<u128> {
        match *self.0 {
            [] => Some(0),
            [low] => Some(u128::from(low)),
            [low, high] => Some(u128::from(high) << 64 | u128::from(low)),
            _ => None,
        }
    }
}

impl From<u64> for Natural {
    fn from(value: u64) -> Natural {
        Natural(if value == 0 { [].into() } else { [value].into() })
    }
}

impl fmt::Display for Natural {
    /// Shows numbers from 2^128 on in hexadecimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(value) = self.small() {
            return write!(f, "{value}");
        }
        f.write_str("0x")?;
        for (at, limb) in self.0.iter().enumerate().rev() {
            if at + 1 == self.0.len() { write!(f, "{limb:x}")? } else { write!(f, "{limb:016x}")? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size() {
        let wide = Natural::parse(b"123456789abcdef0fedcba9876543210f0", 16).unwrap();
        assert_eq!((wide.bits(), wide.small()), (133, None));
        assert_eq!(wide.to_string(), "0x123456789abcdef0fedcba9876543210f0");
        assert_eq!(wide.low(72).small(), Some(0xfedcba9876543210f0));
        assert_eq!((wide.bit(4), wide.bit(0), wide.bit(132), wide.bit(5000)), (true, false, true, false));
        let decimal = Natural::parse(b"340282366920938463463374607431768211456", 10).unwrap();
        assert_eq!(decimal.to_string(), format!("0x1{}", "0".repeat(32)));
        assert_eq!(Natural::parse(b"000", 10), Some(Natural::from(0)));
        assert_eq!(Natural::parse(b"102", 2), None);
        assert_eq!(Natural::parse(&[b'f'; MAX_BITS / 4], 16).map(|n| n.bits()), Some(1 << 16));
        assert_eq!(Natural::parse(&[b'1'; MAX_BITS / 4 + 1], 16), None);
        assert_eq!(wide.low(0), Natural::from(0));
    }
}
