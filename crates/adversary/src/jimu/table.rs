//! The tables in docs/jimu.md: every check, and how often it saw what; every row, and how its variants ended.

use std::path::PathBuf;

use brickwork::jimu::Cheat;
use brickwork::{ihash, ot};

use super::{catalogue, name};
use crate::Result;

const BEGIN: &str = "<!-- written by `cargo xtask attacks --write jimu` -->";
const END: &str = "<!-- end -->";

/// Returns where the tables stand.
pub fn page() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/jimu.md"))
}

/// Returns every check that a peer can fail: those of the OTs, of the hashes, and of the protocol.
pub fn checks() -> Vec<brickwork::Cheat> {
    let of_ots = ot::Cheat::ALL.iter().map(|&check| check.into());
    let of_hashes = ihash::Cheat::ALL.iter().map(|&check| check.into());
    let mut all: Vec<brickwork::Cheat> =
        of_ots.chain(of_hashes).chain(Cheat::ALL.iter().map(|&check| check.into())).collect();
    let mut seen = Vec::new();
    all.retain(|check| {
        !seen.contains(check) && {
            seen.push(*check);
            true
        }
    });
    all
}

/// The rows of the first table, without what was measured: a check and the rows whose attacks it sees.
fn by_check() -> Vec<String> {
    let attacks = catalogue();
    let of = |check: brickwork::Cheat| {
        let sees = |ending: &str| ending == check.check();
        let mut rows: Vec<u8> = attacks
            .iter()
            .filter(|attack| attack.endings.iter().any(|(ending, _)| sees(&name(ending))))
            .map(|attack| attack.row)
            .collect();
        rows.dedup();
        let rows: Vec<String> = rows.iter().map(u8::to_string).collect();
        format!("| `{}` | {check} | {} |", check.check(), rows.join(", "))
    };
    checks().into_iter().map(of).collect()
}

/// What the attacks on a check measured.
fn measured(check: brickwork::Cheat, results: &[Result]) -> String {
    let counts = results.iter().flat_map(|result| {
        let here = result.endings.iter().filter(|count| count.ending == check.check());
        here.map(move |count| (result.trials, count))
    });
    let (certain, rates): (Vec<_>, Vec<_>) = counts.partition(|(_, count)| count.predicted_rate == 1.0);
    let (seen, trials) =
        certain.iter().fold((0, 0), |(seen, all), (trials, count)| (seen + count.observed, all + trials));
    let certain = (trials > 0).then(|| format!("{seen} of {trials}"));
    let rates = rates.iter().map(|(trials, count)| {
        format!("{} of {trials} ({:.1} predicted)", count.observed, count.predicted_rate * *trials as f64)
    });
    certain.into_iter().chain(rates).collect::<Vec<_>>().join("; ")
}

/// All rows that have variants, with these.
fn rows() -> Vec<(u8, Vec<&'static str>)> {
    let mut rows: Vec<(u8, Vec<&'static str>)> = Vec::new();
    for attack in catalogue() {
        match rows.last_mut() {
            Some((row, variants)) if *row == attack.row => variants.push(attack.variant),
            _ => rows.push((attack.row, vec![attack.variant])),
        }
    }
    rows
}

/// Writes the tables with these measurements.
///
/// # Errors
/// If the page cannot be read or written, or has no place for it.
pub fn write(results: &[Result]) -> std::result::Result<(), String> {
    let path = page();
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (before, rest) = text.split_once(BEGIN).ok_or(format!("{}: no {BEGIN}", path.display()))?;
    let (_, after) = rest.split_once(END).ok_or(format!("{}: no {END}", path.display()))?;
    let mut lines =
        vec!["| check | it says | rows | measured |".to_string(), "| --- | --- | --- | --- |".to_string()];
    let with = |(line, check): (String, brickwork::Cheat)| format!("{line} {} |", measured(check, results));
    lines.extend(by_check().into_iter().zip(checks()).map(with));
    lines.push(String::new());
    lines.extend(["| row | variants, and how often they ended how |", "| --- | --- |"].map(String::from));
    for (row, variants) in rows() {
        let one = |variant: &&str| {
            let result = results.iter().find(|result| result.row == row && result.variant == **variant);
            let ended: Vec<String> = result
                .into_iter()
                .flat_map(|result| result.endings.iter().map(|e| format!("{} {}", e.observed, e.ending)))
                .collect();
            format!("`{variant}` {}", ended.join(", "))
        };
        lines.push(format!("| {row} | {} |", variants.iter().map(one).collect::<Vec<_>>().join("; ")));
    }
    std::fs::write(&path, format!("{before}{BEGIN}\n{}\n{END}{after}", lines.join("\n")))
        .map_err(|e| format!("{}: {e}", path.display()))
}

/// Returns whether a page has the tables that the code would write, the measurements aside.
pub fn is_current(text: &str) -> bool {
    let Some((_, tables)) = text.split_once(BEGIN) else { return false };
    let Some((tables, _)) = tables.split_once(END) else { return false };
    let (checks, by_row): (Vec<&str>, Vec<&str>) =
        tables.lines().filter(|line| line.contains('`')).partition(|line| line.starts_with("| `"));
    let names = |line: &str| line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    checks.len() == by_check().len()
        && checks.iter().zip(by_check()).all(|(line, row)| line.starts_with(&row))
        && by_row.len() == rows().len()
        && by_row.iter().zip(rows()).all(|(line, (row, variants))| {
            line.starts_with(&format!("| {row} | ")) && names(line) == variants
        })
}
