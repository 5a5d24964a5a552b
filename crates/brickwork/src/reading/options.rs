//! The options with which values are read.

use std::str::FromStr;

use super::decimal;

/// The way in which values are read.
#[derive(Clone, Default)]
pub struct ReadingOptions {
    /// Fields of integers that are given as decimals.
    pub scales: Vec<DecimalScale>,
    /// True to leave out the columns of a table that the program does not know.
    pub ignore_extra_columns: bool,
    /// True to refuse files with values that other users can read or change.
    pub private: bool,
    /// True to round numbers to the nearest one that a fixed-point type holds; ties go to the larger one.
    pub rounding: bool,
}

/// The number of digits after the point in the decimals of a field.
#[derive(Clone)]
pub struct DecimalScale {
    /// The field's name, alone or with the names of the fields around it, such as `price.net`.
    pub name: String,
    /// The number of digits.
    pub digits: u8,
}

impl FromStr for DecimalScale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = |digits: &str| digits.parse().ok().filter(|digits| *digits <= decimal::MAX_DIGITS);
        match text.split_once('=').map(|(name, number)| (name, digits(number))) {
            Some((name, Some(digits))) if !name.is_empty() => Ok(DecimalScale { name: name.into(), digits }),
            _ => Err(format!(
                "expected a field and a number of at most {}, such as amount=2",
                decimal::MAX_DIGITS
            )),
        }
    }
}
