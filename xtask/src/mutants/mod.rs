//! Mutation testing of all code that checks data of the peer, the disk or a file: does a test fail if a check
//! is weakened?
//!
//! `cargo mutants` lists the mutants, and `.cargo/mutants.toml` the files that contain checks; further
//! mutants switch off one whole check. One build contains all mutants, each behind a switch, and each mutant
//! is tried only on tests that reach it.

mod build;
mod find;
mod trial;
mod watch;
mod weave;

use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use find::Mutant;
use trial::{Bench, MutantOutcome, Trials};
pub use watch::{TICK, WatchedProcess};

/// The page with the mutants that no test catches, and the reason why each is harmless.
const PAGE: &str = "docs/project/mutants.md";

/// The usage of the command.
pub const USAGE: &str = "mutants [--list | --missed | --rest] [--checks] [--package=NAME…] [--seconds=N] \
                         [--tests=PART] [SHARD…]";

/// Tries all mutants, or only those whose name contains one of these parts, in the order of the parts.
///
/// - `--missed`: only mutants that no test caught last time or, without a result, the mutants on the page.
/// - `--rest`: only mutants that were not tried before.
/// - `--seconds=N`: on tests of N seconds in all.
/// - `--tests=PART`: with `--missed`, only on tests with this part in their names.
/// - `--checks`: only switched-off checks, changed comparisons and changed results.
/// - `--package=NAME`: only mutants of these packages, on their own tests.
/// - `--list`: none; shows the results so far.
pub fn run(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let (options, shards): (Vec<&str>, Vec<&str>) = arguments.iter().partition(|a| a.starts_with("--"));
    let (mut seconds, mut part, mut packages) = (f64::INFINITY, "", Vec::new());
    for option in &options {
        if let Some(name) = option.strip_prefix("--package=") {
            let place = build::PACKAGES.into_iter().find(|place| place.rsplit('/').next() == Some(name));
            packages.push(place.ok_or_else(|| format!("{name} is no package with checks"))?);
            continue;
        }
        if let Some(name) = option.strip_prefix("--tests=") {
            part = name;
            continue;
        }
        match option.strip_prefix("--seconds=").map(str::parse) {
            Some(Ok(number)) => seconds = number,
            None if ["--list", "--missed", "--rest", "--checks"].contains(option) => {}
            _ => return Err(format!("{option} is no option: cargo xtask {USAGE}")),
        }
    }
    if !part.is_empty() && !options.contains(&"--missed") {
        return Err("--tests goes with --missed: what other tests have caught would count as missed".into());
    }
    let work = root.join("target/mutation");
    std::fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    if packages.is_empty() {
        packages.extend(build::PACKAGES);
    }
    let mut mutants = find::mutants(root, &packages)?;
    if options.contains(&"--checks") {
        mutants.retain(|mutant| is_of_a_check(&mutant.name));
    }
    let mut results = Results::read(&work)?;
    if !options.contains(&"--list") {
        let (missed, explained) = (results.missed(), explained(root));
        let missed = |name: &str| match results.outcomes.contains_key(name) {
            true => missed.contains(name),
            false => explained.contains(&*lasting(name)),
        };
        let wanted = |m: &Mutant| match (options.contains(&"--missed"), options.contains(&"--rest")) {
            (false, false) => true,
            (again, rest) => again && missed(&m.name) || rest && !results.outcomes.contains_key(&m.name),
        };
        let mut order: Vec<usize> = Vec::new();
        for shard in if shards.is_empty() { vec![""] } else { shards } {
            let here = (0..mutants.len()).filter(|&m| mutants[m].name.contains(shard) && wanted(&mutants[m]));
            order.extend(here.filter(|m| !order.contains(m)).collect::<Vec<_>>());
        }
        try_all(root, &work, (&packages, &mutants), &order, (seconds, part), &mut results)?;
    }
    report(root, &mutants, &results)
}

/// Returns whether a mutant switches a check off, turns a comparison around, or changes a result.
fn is_of_a_check(name: &str) -> bool {
    let what = name.split_once(": ").map_or(name, |(_, what)| what);
    let comparison = ["==", "!=", "<", ">", "<=", ">="];
    let replaced = what.strip_prefix("replace ").and_then(|rest| rest.split_once(" with "));
    match replaced {
        Some((from, to)) => {
            comparison.contains(&from) || ["true", "false", "Ok("].iter().any(|r| to.starts_with(r))
        }
        None => ["delete ", "ignore ", "never ", "always "].iter().any(|kind| what.starts_with(kind)),
    }
}

/// Returns the names on the page, without the places in their files.
fn explained(root: &Path) -> HashSet<String> {
    let page = std::fs::read_to_string(root.join(PAGE)).unwrap_or_default();
    let names = page.lines().filter_map(|line| line.trim_start().strip_prefix("* `"));
    names.filter_map(|line| Some(line.split_once('`')?.0.to_owned())).collect()
}

/// Builds all mutants and tries some of them, on tests that take this many seconds together and have this
/// part in their names.
fn try_all(
    root: &Path,
    work: &Path,
    (packages, mutants): (&[&str], &[Mutant]),
    order: &[usize],
    on: (f64, &str),
    results: &mut Results,
) -> Result<(), String> {
    eprintln!("xtask: {} mutants, {} to try", mutants.len(), order.len());
    let built = build::build(root, work, packages, mutants)?;
    // There are twice as many workers as processors, because tests that hang do not work.
    let workers = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let benches: Vec<Bench> = (0..workers).map(|n| Bench::new(work, n)).collect();
    let trials = Trials::prepare(&built, work, &benches)?;
    let (tests, all) = trials.tests();
    eprintln!(
        "xtask: {} mutants compile; {tests} tests, {all:.0} s one after another",
        mutants.len() - built.unviable.len()
    );
    trials
        .unusable
        .iter()
        .for_each(|test| eprintln!("xtask: without a mutant {test} fails or takes too long: it is left out"));
    for (name, (outcome, test)) in &results.outcomes {
        if outcome == "caught" {
            trials.remember(name.split(':').next().unwrap_or(name), test);
        }
    }
    let results = Mutex::new(results);
    trial::each(&benches, order.len(), |bench, i| {
        let Mutant { name, file, change } = &mutants[order[i]];
        let (outcome, about) = match (change, built.unviable.get(&order[i])) {
            (None, _) => ("not woven", String::new()),
            // A constant cannot be switched at run time.
            (_, Some(why)) if why.starts_with("E0015") => ("not woven", why.clone()),
            (_, Some(why)) => ("unviable", why.clone()),
            _ => match trials.try_one(bench, file, order[i], on)? {
                MutantOutcome::Caught(test) => ("caught", test),
                MutantOutcome::Hung(test) => ("hung", test),
                MutantOutcome::Missed(tests) => ("missed", format!("tried on {tests} tests")),
            },
        };
        if outcome != "unviable" {
            eprintln!("{}/{} {outcome}: {name} ({about})", i + 1, order.len());
        }
        results.lock().expect("no worker panics").add(name, outcome, &about)
    })?;
    Ok(())
}

/// The results of mutants, by name: the outcome and its details. A file keeps the results between runs.
struct Results {
    file: std::fs::File,
    outcomes: BTreeMap<String, (String, String)>,
}

impl Results {
    fn read(work: &Path) -> Result<Self, String> {
        let path = work.join("results.txt");
        let outcomes = std::fs::read_to_string(&path).unwrap_or_default();
        let outcomes = outcomes.lines().filter_map(|line| {
            let mut fields = line.split('\t').map(String::from);
            Some((fields.next()?, (fields.next()?, fields.next()?)))
        });
        let file = std::fs::File::options().create(true).append(true).open(&path);
        Ok(Results {
            file: file.map_err(|e| format!("{}: {e}", path.display()))?,
            outcomes: outcomes.collect(),
        })
    }

    fn missed(&self) -> HashSet<String> {
        self.outcomes
            .iter()
            .filter(|(_, (outcome, _))| outcome == "missed")
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn add(&mut self, name: &str, outcome: &str, about: &str) -> Result<(), String> {
        let about = about.replace(['\n', '\t'], " ");
        writeln!(self.file, "{name}\t{outcome}\t{about}").map_err(|e| format!("the file of results: {e}"))?;
        self.outcomes.insert(name.into(), (outcome.into(), about));
        Ok(())
    }
}

/// Returns a mutant's name without its line and column, which other changes shift.
fn lasting(name: &str) -> String {
    let (place, what) = name.split_once(": ").unwrap_or((name, ""));
    format!("{}: {what}", place.split(':').next().unwrap_or(place))
}

/// Prints a table by file and the missed mutants; fails if the page has no reason why a missed mutant is
/// harmless.
fn report(root: &Path, mutants: &[Mutant], results: &Results) -> Result<(), String> {
    const OUTCOMES: [&str; 5] = ["caught", "hung", "missed", "unviable", "not woven"];
    let mut files: BTreeMap<&str, [usize; 7]> = BTreeMap::new();
    let (mut all, mut missed) = ([0; 7], Vec::new());
    for mutant in mutants {
        let outcome = results.outcomes.get(&mutant.name).map(|(outcome, _)| outcome.as_str());
        let column = OUTCOMES.iter().position(|o| Some(*o) == outcome).map_or(6, |o| o + 1);
        for row in [files.entry(&mutant.file).or_default(), &mut all] {
            row[0] += 1;
            row[column] += 1;
        }
        if outcome == Some("missed") {
            missed.push(mutant);
        }
    }
    println!(
        "| file | mutants | caught | hung | missed | unviable | not woven | not tried |\n| --- | ---: | \
         ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for (file, row) in files.into_iter().chain([("all", all)]) {
        let numbers: Vec<String> = row.iter().map(usize::to_string).collect();
        println!(
            "| `{}` | {} |",
            file.trim_start_matches("crates/").replace("src/", ""),
            numbers.join(" | ")
        );
    }
    let explained = explained(root);
    let unexplained: Vec<&&Mutant> =
        missed.iter().filter(|m| !explained.contains(&*lasting(&m.name))).collect();
    println!("\n{} missed, {} of them not in {PAGE}:", missed.len(), unexplained.len());
    unexplained.iter().for_each(|m| println!("{}", m.name));
    if unexplained.is_empty() {
        Ok(())
    } else {
        Err(format!("{} mutants are missed and not explained", unexplained.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_last_when_lines_shift() {
        let name = "crates/base/src/bits.rs:22:5: replace == with != in unpack";
        assert_eq!(lasting(name), "crates/base/src/bits.rs: replace == with != in unpack");
    }

    #[test]
    fn checks_are_told_from_arithmetic() {
        let of = |what: &str| is_of_a_check(&format!("crates/base/src/bits.rs:22:5: {what} in unpack"));
        for check in ["replace == with !=", "never x > 1", "ignore a()?;", "replace f -> bool with true"] {
            assert!(of(check), "{check}");
        }
        for other in ["replace + with -", "replace f -> usize with 0", "replace ^= with |="] {
            assert!(!of(other), "{other}");
        }
    }

    /// The page names existing files, because a renamed file would lose its reasons.
    #[test]
    fn what_does_no_harm_lies_in_files_that_exist() {
        let page = std::fs::read_to_string(crate::root().join(PAGE)).expect("the page");
        let (_, missed) = page.split_once("## Missed mutants that do no harm").expect("its last section");
        let mut seen = 0;
        for entry in missed.split("`crates/").skip(1) {
            let file = entry.split([':', '`']).next().expect("a name");
            assert!(crate::root().join("crates").join(file).exists(), "{file} is not there");
            seen += 1;
        }
        assert!(seen > 100, "{seen}");
    }
}
