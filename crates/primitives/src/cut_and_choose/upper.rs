//! Numbers that are computed with upward rounding.

use std::iter::Sum;
use std::ops::{Add, Mul};

/// An upper bound of a non-negative number. Every operation rounds up, so the result is never less than the
/// exact value. The mantissa has 64 bits, and the exponent too, so that binomial coefficients of millions
/// fit.
///
/// An operation errs by a factor of at most `1 + 2^-63`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Upper {
    // The derived comparison compares the fields in this order, exponent first. This is the numeric order,
    // because mantissas have their top bit set and zero has the least exponent.
    exponent: i64,
    mantissa: u64,
}

/// A margin that is added to each logarithm: much more than the error of the library's `log2`, and too small
/// to matter.
const LOG2_SLACK: f64 = 1e-9;

impl Upper {
    /// The number 0.
    pub const ZERO: Upper = Upper { exponent: i64::MIN, mantissa: 0 };
    /// The number 1.
    pub const ONE: Upper = Upper { exponent: -63, mantissa: 1 << 63 };

    fn rounded(mantissa: u128, exponent: i64) -> Self {
        if mantissa == 0 {
            return Self::ZERO;
        }
        let length = i64::from(128 - mantissa.leading_zeros());
        let exponent = exponent + length - 64;
        if length <= 64 {
            return Upper { exponent, mantissa: (mantissa << (64 - length)) as u64 };
        }
        let (kept, lost) = (mantissa >> (length - 64), mantissa << (128 - (length - 64)));
        match (kept as u64).checked_add(u64::from(lost != 0)) {
            Some(mantissa) => Upper { exponent, mantissa },
            None => Upper { exponent: exponent + 1, mantissa: 1 << 63 },
        }
    }

    /// Returns an integer.
    pub fn integer(n: u64) -> Self {
        Self::rounded(n.into(), 0)
    }

    /// Returns `numerator / denominator`, rounded up.
    ///
    /// # Panics
    /// If the denominator is 0.
    pub fn ratio(numerator: u64, denominator: u64) -> Self {
        if numerator == 0 {
            return Self::ZERO;
        }
        let shift = u128::from(numerator).leading_zeros();
        Self::rounded((u128::from(numerator) << shift).div_ceil(denominator.into()), -i64::from(shift))
    }

    /// Returns a number of units of 2^-128.
    pub fn fixed(units: u128) -> Self {
        Self::rounded(units, -128)
    }

    /// Returns the number in units of 2^-128, rounded up and at most `u128::MAX`.
    pub fn to_fixed(self) -> u128 {
        let mantissa = u128::from(self.mantissa);
        match self.exponent.saturating_add(128) {
            left @ 0..=64 => mantissa << left,
            65.. => u128::MAX,
            right @ -63..0 => mantissa.div_ceil(1 << -right),
            _ => u128::from(mantissa > 0),
        }
    }

    /// Returns a positive finite number, rounded up, or zero for any other number.
    pub(super) fn float(x: f64) -> Self {
        let (bits, normal) = (x.to_bits(), x.is_normal() && x > 0.0);
        // The exponent is biased by 1023, and the mantissa has a hidden bit above its 52.
        if normal {
            Self::rounded(u128::from(bits & ((1 << 52) - 1) | 1 << 52), (bits >> 52) as i64 - 1075)
        } else {
            Self::ZERO
        }
    }

    /// Returns the nearest floating-point number or its neighbour, within the range of the type.
    pub(super) fn to_float(self) -> f64 {
        let power = |exponent: i64| f64::from_bits(((exponent + 1023).clamp(1, 2046) as u64) << 52);
        if self == Self::ZERO { 0.0 } else { self.mantissa as f64 * power(self.exponent) }
    }

    /// Returns `2^log2`, or slightly less, as a limit for bounds.
    pub fn limit(log2: f64) -> Self {
        let whole = (log2 - 2.0 * LOG2_SLACK).floor();
        let mantissa = ((log2 - 2.0 * LOG2_SLACK - whole).exp2() * (1_u64 << 52) as f64) as u64;
        Upper::rounded(mantissa.into(), whole as i64 - 52)
    }

    /// Returns `2^log2`, or slightly more.
    pub fn exp2(log2: f64) -> Self {
        Self::limit(log2 + 4.0 * LOG2_SLACK)
    }

    /// Returns an upper bound of the binary logarithm.
    pub fn log2(self) -> f64 {
        if self == Self::ZERO {
            f64::NEG_INFINITY
        } else {
            self.exponent as f64 + (self.mantissa as f64).log2() + LOG2_SLACK
        }
    }

    /// Returns half of the number, exactly.
    pub fn halved(self) -> Self {
        if self == Self::ZERO { self } else { Upper { exponent: self.exponent - 1, ..self } }
    }
}

impl Mul for Upper {
    type Output = Upper;
    fn mul(self, other: Upper) -> Upper {
        if self == Self::ZERO || other == Self::ZERO {
            return Self::ZERO;
        }
        Self::rounded(u128::from(self.mantissa) * u128::from(other.mantissa), self.exponent + other.exponent)
    }
}

impl Add for Upper {
    type Output = Upper;
    fn add(self, other: Upper) -> Upper {
        let (great, small) = if self < other { (other, self) } else { (self, other) };
        if small == Self::ZERO {
            return great;
        }
        // The sum has 63 bits below the greater mantissa. If the sum drops lower bits, it still has a bit
        // below the 64 bits of the result. So it is rounded up in any case.
        let great_bits = u128::from(great.mantissa) << 63;
        let small_bits = u128::from(small.mantissa) << 63;
        let aligned = small_bits >> (great.exponent - small.exponent).min(126);
        Self::rounded(great_bits + aligned, great.exponent - 63)
    }
}

impl Sum for Upper {
    fn sum<I: Iterator<Item = Upper>>(terms: I) -> Upper {
        terms.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use num_bigint::BigInt;
    use num_rational::BigRational;
    use num_traits::{One, Signed, Zero};
    use proptest::prelude::*;

    use super::*;

    pub fn exact(x: Upper) -> BigRational {
        if x == Upper::ZERO {
            return BigRational::zero();
        }
        let power = BigRational::from_integer(BigInt::one() << x.exponent.unsigned_abs());
        let mantissa = BigRational::from_integer(x.mantissa.into());
        if x.exponent < 0 { mantissa / power } else { mantissa * power }
    }

    /// Returns whether a bound exceeds the exact value by a factor of at most `1 + 2^-60`.
    fn is_just_above(x: Upper, value: &BigRational) -> bool {
        let excess = exact(x) - value;
        !excess.is_negative() && excess * BigInt::from(1_u64 << 60) <= *value
    }

    fn number() -> impl Strategy<Value = Upper> {
        let mantissa = prop_oneof![Just(0), Just(1), Just(u64::MAX), any::<u64>(), 0_u64..100];
        (mantissa, -200_i64..200).prop_map(|(mantissa, exponent)| Upper::rounded(mantissa.into(), exponent))
    }

    #[test]
    fn units_of_a_fixed_point_are_rounded_up() {
        for (x, units) in [
            (Upper::ZERO, 0),
            (Upper::ONE, u128::MAX),
            (Upper::ONE.halved(), 1 << 127),
            (Upper::fixed(1), 1),
            (Upper::fixed(1).halved(), 1),
            (Upper::fixed(3).halved(), 2),
            (Upper::limit(-1000.0), 1),
            (Upper::integer(3), u128::MAX),
            (Upper::fixed(u128::from(u64::MAX)), u128::from(u64::MAX)),
            (Upper::fixed(u128::MAX - 1), u128::MAX),
        ] {
            assert_eq!(x.to_fixed(), units, "{x:?}");
        }
    }

    proptest! {
        #[test]
        fn units_of_a_fixed_point_come_back(units in any::<u128>(), a in number()) {
            prop_assert!(Upper::fixed(units).to_fixed() >= units);
            let (back, x) = (exact(Upper::fixed(a.to_fixed())), exact(a));
            let unit = exact(Upper::fixed(1));
            prop_assert!(a.to_fixed() == u128::MAX
                || (back >= x && back - &x <= unit + x / BigInt::from(1_u64 << 60)));
        }

        #[test]
        fn every_operation_rounds_up_by_a_hair(
            a in number(), b in number(), n in any::<u64>(), d in 1..u64::MAX,
        ) {
            let (x, y) = (exact(a), exact(b));
            prop_assert!(is_just_above(a + b, &(&x + &y)));
            prop_assert!(is_just_above(a * b, &(&x * &y)));
            prop_assert_eq!(exact(a.halved()) * BigInt::from(2), x.clone());
            prop_assert!(is_just_above(Upper::integer(n), &BigRational::from_integer(n.into())));
            prop_assert!(is_just_above(Upper::ratio(n, d), &BigRational::new(n.into(), d.into())));
            prop_assert_eq!(a.cmp(&b), x.cmp(&y));
        }

        #[test]
        fn logarithms_err_upwards_and_limits_downwards(log2 in -300.0..300.0) {
            prop_assert!(Upper::limit(log2).log2() <= log2);
            prop_assert!(Upper::limit(log2).log2() > log2 - 1e-8);
            prop_assert!(Upper::exp2(log2).log2() >= log2 + LOG2_SLACK);
            prop_assert!(Upper::exp2(log2).log2() < log2 + 1e-8);
        }
    }

    #[test]
    fn sums_round_up_however_far_apart_the_terms_are() {
        for great in [Upper::ONE, Upper::integer(u64::MAX), Upper::ratio(1, 3)] {
            for start in [Upper::ONE, Upper::integer(u64::MAX), Upper::ratio(1, 3)] {
                let mut small = start;
                for _ in 0..200 {
                    assert!(
                        is_just_above(great + small, &(exact(great) + exact(small))),
                        "{great:?} {small:?}"
                    );
                    small = small.halved();
                }
            }
        }
    }

    #[test]
    fn floats_there_and_back() {
        for x in [1.0, 0.1, 3e-200, 7e200, 1.0 / 3.0, 2.0_f64.powi(-40)] {
            assert_eq!(Upper::float(x).to_float(), x);
            assert!((Upper::float(x).log2() - x.log2()).abs() < 1e-8);
        }
        for x in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Upper::float(x), Upper::ZERO);
        }
    }

    #[test]
    fn powers_of_two_are_exact() {
        assert_eq!(Upper::ratio(1, 8), Upper::ONE.halved().halved().halved());
        assert_eq!(Upper::integer(1), Upper::ONE);
        assert!((Upper::ratio(1, 1 << 40).log2() + 40.0).abs() < 1e-8);
        assert_eq!(Upper::ZERO.log2(), f64::NEG_INFINITY);
        assert!(
            Upper::limit(-40.0) < Upper::ratio(1, 1 << 40) && Upper::ratio(1, 1 << 40) < Upper::exp2(-40.0)
        );
    }
}
