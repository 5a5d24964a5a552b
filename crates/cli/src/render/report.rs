//! The output of a successful command: one JSON object, or text for people.

use std::fmt::Display;

use brickwork::circuit::value;
use serde::Serialize;
use serde_json::Value;

use crate::render::failure::Failure;

pub use brickwork_report::words::{bytes, plural, thousands};

/// The result of a command in both forms.
pub struct Report {
    pub json: Value,
    pub human: String,
    pub exit: u8,
}

impl Report {
    /// Makes the report of a success from its fields and its text for people.
    pub fn new(fields: &impl Serialize, human: String) -> Result<Self, Failure> {
        let json = serde_json::to_value(fields).map_err(|e| Failure::fault(format!("no JSON: {e}")))?;
        Ok(Report { json, human, exit: 0 })
    }

    /// Makes the report of a result that the library gave.
    pub fn of(result: &(impl Serialize + Display)) -> Result<Self, Failure> {
        Report::new(result, result.to_string())
    }

    /// Returns the text for stdout.
    pub fn text(&self, json: bool) -> String {
        if json { format!("{}\n", self.json) } else { self.human.clone() }
    }
}

/// Writes bits of wires as `0110…`, wire 0 first.
pub fn bit_string(bits: &[bool]) -> String {
    let mut text = String::with_capacity(bits.len());
    value::write_bits(bits, &mut text);
    text
}

/// Writes bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_read_well() {
        assert_eq!(bit_string(&[false, true, true]), "011");
    }
}
