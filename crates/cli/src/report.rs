//! What a command prints when it succeeds: one JSON object, or text for people.

use std::process::ExitCode;

use serde_json::Value;

/// The result of a command in both forms.
pub struct Report {
    pub json: Value,
    pub human: String,
    pub exit: ExitCode,
}

impl Report {
    /// The report of a success.
    pub fn new(json: Value, human: String) -> Self {
        Report { json, human, exit: ExitCode::SUCCESS }
    }

    /// What goes to stdout.
    pub fn text(&self, json: bool) -> String {
        if json { format!("{}\n", self.json) } else { self.human.clone() }
    }
}

/// Wire bits as `0110…`, wire 0 first.
pub fn bit_string(bits: &[bool]) -> String {
    bits.iter().map(|&bit| if bit { '1' } else { '0' }).collect()
}

/// Hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// `1234567` as `1 234 567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> =
        digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group)).collect();
    groups.join(" ")
}

/// A number of bytes in the largest unit that leaves a number of at least 1.
pub fn bytes(count: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = "bytes";
    for next in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "bytes" { format!("{count} bytes") } else { format!("{value:.1} {unit}") }
}

/// `1 slot`, `2 slots`, `2 copies`.
pub fn plural(count: u64, noun: &str) -> String {
    let number = thousands(count);
    match noun.strip_suffix('y') {
        _ if count == 1 => format!("{number} {noun}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(1_234_567), "1 234 567");
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(u64::MAX), "16777216.0 TiB");
        assert_eq!(plural(1, "slot"), "1 slot");
        assert_eq!(plural(1000, "slot"), "1 000 slots");
        assert_eq!(plural(2, "copy"), "2 copies");
        assert_eq!(bit_string(&[false, true, true]), "011");
    }
}
