//! Numbers as people read them.

use serde_json::Value;

/// Returns `1234567` as `1 234 567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> =
        digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group)).collect();
    groups.join(" ")
}

/// Returns a number of bytes in the largest unit that leaves a number of at least 1.
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

/// Writes a number with a noun, which gets an `s` unless the number is 1.
pub fn plural(count: u64, noun: &str) -> String {
    let number = thousands(count);
    match noun.strip_suffix('y') {
        _ if count == 1 => format!("{number} {noun}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {noun}s"),
    }
}

/// Returns a time in the unit that leaves few digits.
pub fn seconds(time: f64) -> String {
    match time.abs() {
        0.0 => "0 s".into(),
        size if size < 1e-3 => format!("{:.0} µs", time * 1e6),
        size if size < 0.1 => format!("{:.1} ms", time * 1e3),
        size if size < 1.0 => format!("{:.0} ms", time * 1e3),
        size if size < 100.0 => format!("{time:.2} s"),
        _ => format!("{time:.0} s"),
    }
}

/// Returns a bound by its logarithm, rounded up.
pub fn at_most(log2: f64) -> String {
    format!("2^{:.1}", (log2 * 10.0).ceil() / 10.0)
}

/// Returns a number of a JSON value: integers in groups of three digits, other numbers with few digits.
pub(crate) fn number(value: &Value) -> String {
    match (value.as_u64(), value.as_f64()) {
        (Some(integer), _) => thousands(integer),
        (None, Some(number)) => match number.abs() {
            0.0 => "0".into(),
            size if (1e-3..1e6).contains(&size) => format!("{}", (number * 1e4).round() / 1e4),
            _ => format!("{number:.3e}"),
        },
        (None, None) => String::new(),
    }
}

/// Returns a name, shortened to `most` letters.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.into();
    }
    name.chars().take(most.saturating_sub(1)).chain(['…']).collect()
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
        let times = [0.0, 4.2e-5, 0.0123, 0.5, 12.3456, 1234.5];
        assert_eq!(times.map(seconds), ["0 s", "42 µs", "12.3 ms", "500 ms", "12.35 s", "1234 s"]);
        assert_eq!([-40.06, -40.0, -39.91].map(at_most), ["2^-40.0", "2^-40.0", "2^-39.9"]);
        assert_eq!(shortened("abcdef", 6), "abcdef");
        assert_eq!(shortened("äbcdefg", 6), "äbcde…");
    }
}
