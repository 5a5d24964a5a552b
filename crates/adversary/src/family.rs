//! The common code for the attacks on protocols other than DUPLO: attacks, their repetition, and the tables
//! on a protocol's page.

use std::path::PathBuf;

use brickwork::circuit::Party;
use brickwork::random::Rng;
use brickwork_harness::Ending;

use crate::trials::{Result, Title, repeat};

/// Returns an ending's name, for people and machines.
pub fn name(ending: &Ending) -> String {
    match ending {
        Ending::Caught(check) => check.check().into(),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// The ending of one run for the honest party, or the rule that was broken.
pub type Played = std::result::Result<Ending, String>;

/// Plays an attack once.
pub type Play = dyn Fn(&mut Rng) -> Played + Send + Sync;

/// An attack of a cheater.
pub struct Attack {
    /// The protocol, as users name it.
    pub protocol: &'static str,
    /// Row of the catalogue.
    pub row: u8,
    /// The attack's name within the row.
    pub variant: &'static str,
    /// The action of the cheater, and its possible gain.
    pub story: &'static str,
    /// The cheater, or `None` if the attack only observes.
    pub cheater: Option<Party>,
    /// Every way in which a run may end for the other party, with its exact probability.
    pub endings: Vec<(Ending, f64)>,
    /// The number of runs that is needed to distinguish the rates from similar ones. It is small if the
    /// ending is certain.
    pub trials: usize,
    /// Plays it once.
    pub play: Box<Play>,
}

impl Attack {
    /// Plays the attack this many times.
    ///
    /// # Panics
    /// If the operating system has no randomness, or a party panics or hangs.
    pub fn played(&self, trials: usize) -> Result {
        let Attack { protocol, row, variant, cheater, .. } = *self;
        let title = Title { protocol, row, variant, cheater };
        repeat(&title, &self.endings, name, trials, &*self.play)
    }
}

/// The tables on a protocol's page: every check with its detections, and every attack with the endings of its
/// variants.
pub struct ProtocolPage {
    /// The protocol, as users name it.
    pub protocol: &'static str,
    /// All attacks, by row.
    pub attacks: Vec<Attack>,
    /// Every check that a peer can fail.
    pub checks: Vec<brickwork::Cheat>,
    /// Checks that no cheater can fail, with the reasons.
    pub unprovoked: Vec<(brickwork::Cheat, &'static str)>,
}

const END: &str = "<!-- end -->";

/// Returns the checks without repetitions.
pub fn distinct(checks: impl IntoIterator<Item = brickwork::Cheat>) -> Vec<brickwork::Cheat> {
    let mut seen = Vec::new();
    checks.into_iter().for_each(|check| {
        if !seen.contains(&check) {
            seen.push(check);
        }
    });
    seen
}

impl ProtocolPage {
    fn begin(&self) -> String {
        format!("<!-- written by `cargo xtask attacks --write {}` -->", self.protocol)
    }

    /// Returns the path of the page with the tables.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocols"))
            .join(format!("{}.md", self.protocol))
    }

    /// Returns the rows of the first table without measurements: each check, and the attacks that it detects.
    fn by_check(&self) -> Vec<String> {
        let of = |&check: &brickwork::Cheat| {
            let sees = |attack: &&Attack| attack.endings.iter().any(|(e, _)| *e == Ending::Caught(check));
            let mut rows: Vec<u8> = self.attacks.iter().filter(sees).map(|attack| attack.row).collect();
            rows.dedup();
            let rows: Vec<String> = rows.iter().map(u8::to_string).collect();
            format!("| `{}` | {check} | {} |", check.check(), rows.join(", "))
        };
        self.checks.iter().map(of).collect()
    }

    /// Returns the measurements of the attacks on a check, or the reason why there are none.
    fn measured(&self, check: brickwork::Cheat, results: &[Result]) -> String {
        if let Some((_, why)) = self.unprovoked.iter().find(|(other, _)| *other == check) {
            return (*why).into();
        }
        let counts = results.iter().flat_map(|result| {
            let here = result.endings.iter().filter(|count| count.ending == check.check());
            here.map(move |count| (result.trials, count))
        });
        let (certain, rates): (Vec<_>, Vec<_>) = counts.partition(|(_, count)| count.predicted_rate == 1.0);
        let sum =
            |(seen, all), (trials, count): &(usize, &crate::Count)| (seen + count.observed, all + trials);
        let (seen, trials) = certain.iter().fold((0, 0), sum);
        let certain = (trials > 0).then(|| format!("{seen} of {trials}"));
        let rates = rates.iter().map(|(trials, count)| {
            format!("{} of {trials} ({:.1} predicted)", count.observed, count.predicted_rate * *trials as f64)
        });
        certain.into_iter().chain(rates).collect::<Vec<_>>().join("; ")
    }

    /// Returns all rows, with their variants.
    fn rows(&self) -> Vec<(u8, Vec<&'static str>)> {
        let rows = self.attacks.chunk_by(|a, b| a.row == b.row);
        rows.map(|row| (row[0].row, row.iter().map(|attack| attack.variant).collect())).collect()
    }

    /// Writes the tables with these measurements.
    ///
    /// # Errors
    /// If the page cannot be read or written, or has no place for the tables.
    pub fn write(&self, results: &[Result]) -> std::result::Result<(), String> {
        let (path, begin) = (self.path(), self.begin());
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let (before, rest) = text.split_once(&begin).ok_or(format!("{}: no {begin}", path.display()))?;
        let (_, after) = rest.split_once(END).ok_or(format!("{}: no {END}", path.display()))?;
        let mut lines = vec!["| check | it says | rows | measured |".to_string()];
        lines.push("| --- | --- | --- | --- |".to_string());
        let with = |(line, &check)| format!("{line} {} |", self.measured(check, results));
        lines.extend(self.by_check().into_iter().zip(&self.checks).map(with));
        lines.push(String::new());
        lines.extend(["| row | variants, and how often they ended how |", "| --- | --- |"].map(String::from));
        for (row, variants) in self.rows() {
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
        std::fs::write(&path, format!("{before}{begin}\n{}\n{END}{after}", lines.join("\n")))
            .map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Returns whether a page has the current tables, apart from the measurements.
    pub fn is_current(&self, text: &str) -> bool {
        let Some((_, tables)) = text.split_once(&self.begin()) else { return false };
        let Some((tables, _)) = tables.split_once(END) else { return false };
        let (checks, by_row): (Vec<&str>, Vec<&str>) =
            tables.lines().filter(|line| line.contains('`')).partition(|line| line.starts_with("| `"));
        let names = |line: &str| line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        checks.len() == self.checks.len()
            && checks.iter().zip(self.by_check()).all(|(line, row)| line.starts_with(&row))
            && by_row.len() == self.rows().len()
            && by_row.iter().zip(self.rows()).all(|(line, (row, variants))| {
                line.starts_with(&format!("| {row} | ")) && names(line) == variants
            })
    }
}
