//! Decimals as integers: `12.50` with two digits after the point is 1250, exactly, or an error.

use std::borrow::Cow;

/// The largest number of digits after the point.
pub const MAX_DIGITS: u8 = 100;

/// Returns the integer of a decimal with at most this many digits after this mark, or without a mark. Other
/// texts are returned unchanged, including hexadecimal numbers and wire bits: they become bits or are refused
/// later. An error does not contain the text.
pub fn integer(text: &str, digits: Option<u8>, mark: char) -> Result<Cow<'_, str>, String> {
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = magnitude.split_once(mark).unwrap_or((magnitude, ""));
    if !is_number(whole) || !is_number(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return Ok(text.into());
    }
    let Some(digits) = digits.map(usize::from) else {
        return match magnitude.contains(mark) {
            true => Err("expected an integer, not a decimal".into()),
            false => Ok(text.into()),
        };
    };
    if fraction.len() > digits {
        let most = if digits == 1 { "1 digit".into() } else { format!("{digits} digits") };
        return Err(format!("expected at most {most} after the point, because numbers are not rounded"));
    }
    Ok(format!("{sign}{whole}{fraction}{}", "0".repeat(digits - fraction.len())).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_move_their_point() {
        for (text, digits, expected) in [
            ("12.50", 2, "1250"),
            ("12.5", 2, "1250"),
            ("12", 2, "1200"),
            ("12.", 2, "1200"),
            (".5", 2, "50"),
            ("-0.05", 2, "-005"),
            ("-.5", 1, "-5"),
            ("7", 0, "7"),
            ("99999999999999999999999999.999", 3, "99999999999999999999999999999"),
        ] {
            assert_eq!(integer(text, Some(digits), '.').as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(integer("12,5", Some(2), ',').as_deref(), Ok("1250"));
    }

    #[test]
    fn nothing_is_rounded() {
        for (text, digits) in [("12.505", 2), ("12.500", 2), ("0.1", 0), ("-1.23", 1)] {
            let why = integer(text, Some(digits), '.').expect_err(text);
            assert!(why.contains("at most") && !why.contains(text), "{why}");
        }
        let why = integer("77.5", None, '.').expect_err("a decimal");
        assert!(why.contains("not a decimal") && !why.contains("77"), "{why}");
    }

    /// A text that is not a number stays the same, and gets no zeros.
    #[test]
    fn what_is_no_decimal_stays_what_it_is() {
        for text in [
            "", "-", ".", "-.", "1e3", "1.5e3", "+5", "1.2.3", "1,5", "1 000.50", "--1", "1.-5", "0x10",
            "bits:01", "٣.٥", "NaN", "-0x8",
        ] {
            for digits in [None, Some(0), Some(2)] {
                assert_eq!(integer(text, digits, '.').as_deref(), Ok(text), "{text:?}");
            }
        }
    }
}
