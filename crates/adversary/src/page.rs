//! The tables on a protocol's page: every check with its detections, and every attack with the endings of its
//! variants.
//!
//! The first table's other columns belong to the page's author. The tables are between two comments; other
//! lines between these comments stay as they are.

use std::collections::BTreeSet;
use std::path::PathBuf;

use brickwork_harness::Ending;

use crate::attack::Attack;
use crate::trials::{Count, Result, name};

/// A line of the first table.
pub struct CheckLine {
    /// The check, or an ending without a failed check.
    pub ending: Ending,
    /// Rows that only unit tests play, with the row's number in their names.
    pub tests: &'static [u8],
    /// The reason why no attack has this ending, if there is none.
    pub unprovoked: Option<&'static str>,
}

/// The page of a protocol.
pub struct AttackPage {
    /// The protocol, as users name it.
    pub protocol: &'static str,
    /// The page, relative to `docs`.
    pub file: &'static str,
    /// All attacks, by row.
    pub attacks: Vec<Attack>,
    /// The lines of the first table.
    pub checks: Vec<CheckLine>,
}

const END: &str = "<!-- end -->";

/// Returns lines for these checks, without repetitions.
pub fn lines(checks: impl IntoIterator<Item = brickwork::Cheat>) -> Vec<CheckLine> {
    let mut lines: Vec<CheckLine> = Vec::new();
    for ending in checks.into_iter().map(Ending::Caught) {
        if lines.iter().all(|line| line.ending != ending) {
            lines.push(CheckLine { ending, tests: &[], unprovoked: None });
        }
    }
    lines
}

/// Returns the cells of a line of a table.
fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

impl AttackPage {
    /// Returns the path of the page.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(self.file)
    }

    /// Returns the page's text before the tables, the tables, and the text after them.
    fn parts<'a>(&self, text: &'a str) -> std::result::Result<[&'a str; 3], String> {
        let begin = format!("<!-- written by `cargo xtask attacks --write {}` -->", self.protocol);
        let missing = |mark: &str| format!("{}: no {mark}", self.file);
        let at = text.find(&begin).ok_or_else(|| missing(&begin))? + begin.len();
        let end = at + text[at..].find(END).ok_or_else(|| missing(END))?;
        Ok([&text[..at], &text[at..end], &text[end..]])
    }

    /// Returns the rows whose attacks a check detects.
    fn rows(&self, check: &CheckLine) -> String {
        let sees = |attack: &&Attack| attack.endings.iter().any(|(ending, _)| *ending == check.ending);
        let rows = self.attacks.iter().filter(sees).map(|attack| attack.row);
        let rows: BTreeSet<u8> = rows.chain(check.tests.iter().copied()).collect();
        rows.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")
    }

    /// Returns the measurements of the attacks on a check: the sum if the ending is certain, and otherwise
    /// each rate beside the predicted rate; or the reason why there are none.
    fn measured(check: &CheckLine, results: &[Result]) -> String {
        if let Some(why) = check.unprovoked {
            return why.into();
        }
        let counts = results.iter().flat_map(|result| {
            let here = result.endings.iter().filter(|count| count.ending == name(&check.ending));
            here.map(move |count| (result.trials, count))
        });
        let (certain, rates): (Vec<_>, Vec<_>) = counts.partition(|(_, count)| count.predicted_rate == 1.0);
        let sum = |(seen, all), (trials, count): &(usize, &Count)| (seen + count.observed, all + trials);
        let (seen, trials) = certain.iter().fold((0, 0), sum);
        let certain = (trials > 0).then(|| format!("{seen} of {trials}"));
        let rates = rates.iter().map(|(trials, count)| {
            format!("{} of {trials} ({:.1} predicted)", count.observed, count.predicted_rate * *trials as f64)
        });
        certain.into_iter().chain(rates).collect::<Vec<_>>().join("; ")
    }

    /// Returns a line of the first table with the present cells: what the check says, the rows, and the
    /// measurements if there are any.
    fn check_line(
        &self,
        header: &[&str],
        line: &str,
        results: &[Result],
    ) -> std::result::Result<String, String> {
        let old = cells(line);
        let named = |check: &&CheckLine| old.first() == Some(&format!("`{}`", name(&check.ending)).as_str());
        let check = self.checks.iter().find(named).ok_or_else(|| format!("there is no check {line}"))?;
        let cell = |(column, old): (&&str, &&str)| match (*column, check.ending) {
            ("it says", Ending::Caught(cheat)) => cheat.to_string(),
            ("rows", _) => self.rows(check),
            ("measured", _) if !results.is_empty() => Self::measured(check, results),
            _ => (*old).to_owned(),
        };
        let cells: Vec<String> = header.iter().zip(&old).map(cell).collect();
        Ok(format!("| {} |", cells.join(" | ")))
    }

    /// Returns the line of the second table for a row.
    fn row_line(row: &[Attack], results: &[Result]) -> String {
        let one = |attack: &Attack| {
            let same =
                |result: &&Result| (result.row, result.variant.as_str()) == (attack.row, attack.variant);
            let ended = results.iter().find(same).into_iter().flat_map(|result| &result.endings);
            let ended: Vec<String> = ended.map(|e| format!("{} {}", e.observed, e.ending)).collect();
            format!("`{}` {}", attack.variant, ended.join(", "))
        };
        format!("| {} | {} |", row[0].row, row.iter().map(one).collect::<Vec<_>>().join("; "))
    }

    /// Writes the tables with these measurements.
    ///
    /// # Errors
    /// If the page cannot be read or written, or has no place for the tables.
    pub fn write(&self, results: &[Result]) -> std::result::Result<(), String> {
        let fails = |error: std::io::Error| format!("{}: {error}", self.file);
        let text = std::fs::read_to_string(self.path()).map_err(fails)?;
        let [before, tables, after] = self.parts(&text)?;
        let (mut written, mut header) = (Vec::new(), Vec::new());
        for line in tables.lines() {
            if line.starts_with("| check ") {
                header = cells(line);
            }
            let is_row = line.starts_with("| ") && line.as_bytes().get(2).is_some_and(u8::is_ascii_digit);
            match line.starts_with("| `") {
                true => written.push(self.check_line(&header, line, results)?),
                false if is_row => (),
                false => written.push(line.to_owned()),
            }
        }
        let rows = self.attacks.chunk_by(|a, b| a.row == b.row);
        written.extend(rows.map(|row| Self::row_line(row, results)));
        std::fs::write(self.path(), format!("{before}{}\n{after}", written.join("\n"))).map_err(fails)
    }

    /// Checks that a page has the present tables, apart from the measurements and the order of variants.
    ///
    /// # Errors
    /// The line that differs.
    pub fn check(&self, text: &str) -> std::result::Result<(), String> {
        let [_, tables, _] = self.parts(text)?;
        let header = tables.lines().find(|line| line.starts_with("| check ")).map(cells).unwrap_or_default();
        let checks: Vec<&str> = tables.lines().filter(|line| line.starts_with("| `")).collect();
        for line in &checks {
            let present = self.check_line(&header, line, &[])?;
            if present != **line {
                return Err(format!("{line}\nshould be\n{present}"));
            }
        }
        if checks.len() != self.checks.len() {
            return Err(format!("{} checks instead of {}", checks.len(), self.checks.len()));
        }
        let names = |line: &str| -> BTreeSet<String> {
            line.split('`').skip(1).step_by(2).map(str::to_owned).collect()
        };
        let rows = tables.lines().filter(|line| line.contains('`') && !line.starts_with("| `"));
        let rows: Vec<_> = rows.map(|line| (cells(line)[0].to_owned(), names(line))).collect();
        let present = self.attacks.chunk_by(|a, b| a.row == b.row);
        let present: Vec<_> = present
            .map(|row| (row[0].row.to_string(), row.iter().map(|attack| attack.variant.to_owned()).collect()))
            .collect();
        let stale = rows.iter().zip(&present).find(|(old, new)| old != new);
        match stale {
            Some((old, new)) => Err(format!("{old:?}\nshould be\n{new:?}")),
            None if rows.len() != present.len() => Err("rows are missing".into()),
            None => Ok(()),
        }
    }
}
