//! The tables in docs/concepts/security.md: every check with its attacks and its frequency, and every attack
//! with the endings of its variants.

use std::path::PathBuf;

use crate::trials::checks;
use crate::{Attack, Result, catalogue};

/// A check of the protocol.
struct Check {
    /// The name of the `Cheat`.
    cheat: &'static str,
    by: &'static str,
    what: &'static str,
    step: &'static str,
    /// The probability that the check detects one lie of its kind, unless the cut-and-choose determines it.
    seen: &'static str,
    /// Rows whose cheats are in unit tests, which have the row's number in their names, and not in the
    /// catalogue.
    tests: &'static [u8],
}

const CHECKS: &[Check] = &[
    Check {
        cheat: "UnexpectedMessage",
        by: "both",
        what: "tag and length of every message; unused bits of packed bits are 0",
        step: "-",
        seen: "1",
        tests: &[4, 18],
    },
    Check { cheat: "BaseOtPoint", by: "both", what: "points decode", step: "MR19", seen: "1", tests: &[1] },
    Check {
        cheat: "BaseOtIdentity",
        by: "both",
        what: "points are not the identity",
        step: "MR19",
        seen: "1",
        tests: &[1],
    },
    Check {
        cheat: "BaseOtVector",
        by: "both",
        what: "numbers of a vector are below the modulus",
        step: "MR19, FIPS 203",
        seen: "1",
        tests: &[1],
    },
    Check {
        cheat: "OtExtension",
        by: "G",
        what: "rows agree on the choices",
        step: "Roy22",
        seen: "1 - 2^-e for e guessed bits of Δ_ot, at most 2^-115 a call otherwise",
        tests: &[1, 2, 16, 19],
    },
    Check {
        cheat: "Commitment",
        by: "E",
        what: "new words are codewords",
        step: "FJNT16",
        seen: "1 - 2^-(coordinates)",
        tests: &[3, 11],
    },
    Check {
        cheat: "Opening",
        by: "E",
        what: "claimed values are the committed ones; sums of OTs: labels and offset are the committed ones",
        step: "Open, GENSOLD, VERWIRE, VERSUB, INPUTE, PREPROCESSOTINIT",
        seen: "1 - 2^-d; of another OT offset 1/2 for each of s + 8",
        tests: &[3, 6, 10, 11, 12],
    },
    Check {
        cheat: "Indicator",
        by: "E",
        what: "claimed bits are the committed ones",
        step: "section 5.1, OUTPUTE",
        seen: "1 - 2^-d",
        tests: &[7, 13],
    },
    Check {
        cheat: "OffsetColour",
        by: "E",
        what: "opened offsets end in 1",
        step: "VERWIRE",
        seen: "1, if opened",
        tests: &[6],
    },
    Check {
        cheat: "DeltaDifferenceColour",
        by: "E",
        what: "delta differences and S_ot end in 0",
        step: "GENSOLD",
        seen: "1",
        tests: &[6],
    },
    Check {
        cheat: "OpenedCopy",
        by: "E",
        what: "tables of opened copies, garbled again, have their hash",
        step: "VERSUB",
        seen: "1, if opened",
        tests: &[5, 6, 11],
    },
    Check {
        cheat: "ChosenTables",
        by: "E",
        what: "tables of chosen copies have their hash",
        step: "section 5.1",
        seen: "1",
        tests: &[5],
    },
    Check {
        cheat: "KeyAuthenticator",
        by: "E",
        what: "the challenged half of a checked plain authenticator",
        step: "VERKEYAUTH",
        seen: "1/2, if checked",
        tests: &[8],
    },
    Check {
        cheat: "InputAuthenticator",
        by: "E",
        what: "a checked input authenticator follows from its offset",
        step: "VERINKEYAUTH",
        seen: "1, if checked",
        tests: &[9],
    },
    Check {
        cheat: "OtBinding",
        by: "G",
        what: "E's sums of labels are its own, all before any is answered; bits are 0 or 1",
        step: "PREPROCESSOTINIT",
        seen: "1 - 2^-128",
        tests: &[27],
    },
    Check {
        cheat: "InputLabel",
        by: "E",
        what: "authenticators accept the labels of G's input",
        step: "INPUTG",
        seen: "1",
        tests: &[13],
    },
    Check {
        cheat: "NoValidLabel",
        by: "E",
        what: "some copy of each bucket gave an accepted label",
        step: "EVKAS",
        seen: "happens if cut-and-choose failed",
        tests: &[5, 8],
    },
    Check {
        cheat: "ThirdLabel",
        by: "E",
        what: "at most two accepted labels, of different colours",
        step: "EVKAS",
        seen: "happens if a hash collided",
        tests: &[29],
    },
    Check {
        cheat: "ForgedOutput",
        by: "G",
        what: "the hash over the labels of its outputs",
        step: "OUTPUTG",
        seen: "1 - 2^-256, forgery aside",
        tests: &[15],
    },
    Check {
        cheat: "refused",
        by: "both",
        what: "hello: version, s, roles, program, identities; by E the proposed cut: made of its own file, \
               with the same digest, inputs and outputs; the proposed B and c: the exact bound of all \
               batches and checks together, no cut that nobody would choose, E's limits, the greeting's \
               digest",
        step: "-",
        seen: "1",
        tests: &[19],
    },
    Check {
        cheat: "stopped",
        by: "both",
        what: "stores: one process, the pair that they are of, seals, lengths and names of files, the log \
               against the peer's, items that are left; a failing disk",
        step: "-",
        seen: "1",
        tests: &[16, 20, 21, 22, 23, 24, 25],
    },
    Check {
        cheat: "recovered",
        by: "E",
        what: "two accepted labels: no error, the garbler's input",
        step: "RECOVER",
        seen: "-",
        tests: &[14, 28],
    },
];

const BEGIN: &str = "<!-- written by `cargo xtask attacks --write` -->";
const BETWEEN: &str = "*stopped*: a store refused. *gone*: the line was closed. *survived*: right outputs, \
                       nothing noticed. For rows\n20 and 21 it is the result of a later run.";
const END: &str = "<!-- end -->";

/// Returns the path of the page with the tables.
pub fn page() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/concepts/security.md"))
}

/// Returns whether a check, or an ending without an error, is among an attack's endings.
fn sees(attack: &Attack, check: &str) -> bool {
    checks(attack).any(|cheat| format!("{cheat:?}") == check)
        || attack.endings.iter().any(|(e, _)| crate::name(e) == check)
}

/// Returns the rows of the table, without the last column, which is measured.
pub fn rows() -> Vec<String> {
    let attacks = catalogue();
    let row = |check: &Check| {
        let mut rows: Vec<u8> = attacks
            .iter()
            .filter(|a| sees(a, check.cheat))
            .map(|a| a.row)
            .chain(check.tests.iter().copied())
            .collect();
        rows.sort_unstable();
        rows.dedup();
        let rows = rows.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
        let Check { cheat, by, what, step, seen, .. } = check;
        format!("| `{cheat}` | {by} | {what} | {step} | {rows} | {seen} |")
    };
    CHECKS.iter().map(row).collect()
}

/// Returns the measurements of the attacks on each check: the sum of all attacks if the ending is certain,
/// and otherwise each rate beside the predicted one.
fn measured(results: &[Result]) -> Vec<String> {
    let of = |check: &Check| {
        let counts = results
            .iter()
            .flat_map(|r| r.endings.iter().filter(|e| e.ending == check.cheat).map(move |e| (r.trials, e)));
        let (certain, rates): (Vec<_>, Vec<_>) = counts.partition(|(_, e)| e.predicted_rate == 1.0);
        let mut parts = Vec::new();
        if !certain.is_empty() {
            let (seen, trials) =
                certain.iter().fold((0, 0), |(s, t), (trials, e)| (s + e.observed, t + trials));
            parts.push(format!("{seen} of {trials}"));
        }
        parts.extend(rates.iter().map(|(trials, e)| {
            format!("{} of {trials} ({:.1} predicted)", e.observed, e.predicted_rate * *trials as f64)
        }));
        if parts.is_empty() { "by unit tests".to_string() } else { parts.join("; ") }
    };
    CHECKS.iter().map(of).collect()
}

/// Returns the names of a row's variants.
fn variants(row: u8) -> Vec<&'static str> {
    catalogue().iter().filter(|attack| attack.row == row).map(|attack| attack.variant).collect()
}

/// Returns the endings of a row's variants.
fn endings(row: u8, results: &[Result]) -> String {
    let one = |result: &Result| {
        let ended: Vec<String> =
            result.endings.iter().map(|e| format!("{} {}", e.observed, e.ending)).collect();
        format!("`{}` {}", result.variant, ended.join(", "))
    };
    let all: Vec<String> = results.iter().filter(|result| result.row == row).map(one).collect();
    format!("| {row} | {} |", all.join("; "))
}

/// Returns all rows that have variants.
fn all_rows() -> Vec<u8> {
    let mut rows: Vec<u8> = catalogue().iter().map(|attack| attack.row).collect();
    rows.dedup();
    rows
}

/// Writes the tables with these measurements.
///
/// # Errors
/// If the page cannot be read or written, or has no place for the tables.
pub fn write(results: &[Result]) -> std::result::Result<(), String> {
    let path = page();
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (before, rest) = text.split_once(BEGIN).ok_or(format!("{}: no {BEGIN}", path.display()))?;
    let (_, after) = rest.split_once(END).ok_or(format!("{}: no {END}", path.display()))?;
    let head = "| check | by | what | step | rows | seen with | measured |\n| --- | --- | --- | --- | --- | \
                --- | --- |";
    let lines = rows()
        .iter()
        .zip(measured(results))
        .map(|(row, measured)| format!("{row} {measured} |"))
        .collect::<Vec<_>>()
        .join("\n");
    let by_row = all_rows().into_iter().map(|row| endings(row, results)).collect::<Vec<_>>().join("\n");
    let second =
        format!("{BETWEEN}\n\n| row | variants, and how often they ended how |\n| --- | --- |\n{by_row}");
    std::fs::write(&path, format!("{before}{BEGIN}\n{head}\n{lines}\n\n{second}\n{END}{after}"))
        .map_err(|e| format!("{}: {e}", path.display()))
}

/// Returns whether a page has the current tables, apart from the measurements.
pub fn is_current(text: &str) -> bool {
    let Some((_, tables)) = text.split_once(BEGIN) else { return false };
    let Some((tables, _)) = tables.split_once(END) else { return false };
    let Some((checks, by_row)) = tables.split_once(BETWEEN) else { return false };
    let checks: Vec<&str> = checks.lines().filter(|line| line.starts_with("| `")).collect();
    let by_row: Vec<&str> = by_row.lines().filter(|line| line.contains('`')).collect();
    let names = |line: &str| line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    checks.len() == CHECKS.len()
        && checks.iter().zip(rows()).all(|(line, row)| line.starts_with(&row))
        && by_row.len() == all_rows().len()
        && by_row
            .iter()
            .zip(all_rows())
            .all(|(line, row)| line.starts_with(&format!("| {row} | ")) && names(line) == variants(row))
}

#[cfg(test)]
mod tests {
    use brickwork::duplo::adversary::harness::CHEATS;

    use super::CHECKS;

    /// Every check has a line in the table.
    #[test]
    fn every_check_has_a_line() {
        let checks = CHEATS.iter().map(|cheat| format!("{cheat:?}"));
        let others = ["refused", "stopped", "recovered"].map(String::from);
        let lines: Vec<&str> = CHECKS.iter().map(|check| check.cheat).collect();
        assert_eq!(lines, checks.chain(others).collect::<Vec<_>>());
    }
}
