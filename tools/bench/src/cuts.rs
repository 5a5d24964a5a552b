//! `brickwork bench cuts`: checks whether the cut that a run chooses is the faster one.

use brickwork_cli::parts::{Both, Choice, Failure, LinkArguments, Report, Resources, programs, security};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use brickwork::SourceOptions;
use brickwork::circuit::Program;
use brickwork::circuit::formats::InputMap;
use brickwork::circuit::library::{aes, matrix, papers};
use brickwork::cut::{Cut, CutChoice};
use brickwork::engine::cuts::{Decomposition, Pricing, Rivals, rivals};
use brickwork::engine::machine;
use brickwork::engine::request::{Parameters, Protocol, RunRequest};
use brickwork_kernels::Kernel;
use brickwork_lang::std_library;
use clap::Args;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::median::median;
use crate::protocol::measure;
use crate::stock::folder;

/// Time programs in the cut of the file and in the cut that a run would choose, or the best other one
#[derive(Args)]
pub struct Arguments {
    /// The programs; the default is those of the standard library and the papers, and random ones
    files: Vec<PathBuf>,
    /// Rounds, in each of which both cuts run, in turn; the medians are compared
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Leave out programs that are predicted to take more seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    longest: u32,
    /// Statistical security in bits
    #[arg(long, value_name = "40|64|80", default_value = "40", value_parser = security)]
    security: u32,
    #[command(flatten)]
    link: LinkArguments,
    #[command(flatten)]
    resources: Resources,
    #[command(flatten)]
    choice: Choice,
}

/// Fifty rows against fifty: many small components, or a single one of 238 000 AND gates.
const ACCOUNTS: &str = include_str!("accounts.wir");

/// Returns the programs that are timed by default, as files.
fn programs(folder: &TempDir) -> Result<Vec<PathBuf>, Failure> {
    let write = |name: &str, bytes: &[u8]| -> Result<PathBuf, Failure> {
        let path = folder.path().join(name);
        fs::write(&path, bytes).map_err(|e| Failure::cannot_write(&path, &e))?;
        Ok(path)
    };
    let mut all = Vec::new();
    for file in std_library() {
        let path = write(file.name, file.text.as_bytes())?;
        if file.example.is_some() {
            all.push(path);
        }
    }
    all.push(write("accounts.wir", ACCOUNTS.as_bytes())?);
    for program in built()? {
        all.push(write(&format!("{}.bwp", program.name()), &program.to_bytes())?);
    }
    Ok(all)
}

/// Returns the programs that are not sources.
fn built() -> Result<Vec<Program>, Failure> {
    let mut all = vec![
        papers::aes_in_rounds()?,
        papers::aes_in_functions()?,
        aes::aes_from_rounds(aes::KeySize::Aes256)?,
        papers::cbc_mac_in(16, 1)?,
        papers::cbc_mac_in(16, 4)?,
        matrix::product(4, 32, 1)?,
        matrix::product(4, 32, 2)?,
    ];
    for (n, t) in
        [(10, 2), (10, 6), (12, 4), (12, 8), (14, 6), (14, 10), (16, 8), (16, 12), (18, 10), (18, 14)]
    {
        all.push(papers::random(n, t)?);
    }
    Ok(all)
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let folder = folder()?;
    let files = if arguments.files.is_empty() { programs(&folder)? } else { arguments.files.clone() };
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for file in &files {
        match row(file, arguments)? {
            Ok(row) => {
                if !quiet {
                    // If stderr is closed, the benchmark goes on.
                    let _ = writeln!(std::io::stderr(), "{}", line(&row));
                }
                rows.push(row);
            }
            Err(why) => skipped.push(json!({ "program": stem(file), "why": why })),
        }
    }
    let constants = if machine::kept().is_some() { "measured" } else { "estimated" };
    let json = json!({
        "kernel": Kernel::best().name(),
        "constants": constants,
        "rounds": arguments.rounds,
        "rows": rows,
        "skipped": skipped,
    });
    Ok(Report::new(json.clone(), text(&json)))
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the predictions and measurements of a program, or the reason why it is skipped.
fn row(file: &Path, arguments: &Arguments) -> Result<Result<Value, String>, Failure> {
    let program = programs::load_with(file, &InputMap::default(), &SourceOptions::default())?;
    let machine = machine::at_hand()?.with_threads(arguments.resources.threads);
    let link = arguments.link.line().with_lanes(arguments.resources.lanes);
    let pricing = Pricing {
        executions: None,
        security: arguments.security,
        buckets: arguments.choice.buckets,
        machine: &machine,
        link: &link,
        rival: f64::INFINITY,
    };
    let Rivals { given, other, is_other_chosen } = rivals(&program, &pricing)?;
    let Some(other) = other else { return Ok(Err("there is no other cut".into())) };
    let seconds = given.cost.seconds() + other.cost.seconds();
    if seconds > f64::from(arguments.longest) {
        return Ok(Err(format!("it would take some {seconds:.0} seconds a round")));
    }
    let mut rounds = [Vec::new(), Vec::new()];
    for _ in 0..arguments.rounds {
        for (cut, rounds) in [&given, &other].into_iter().zip(&mut rounds) {
            rounds.push(once(&program, &cut.cut, arguments)?);
        }
    }
    let [given, other] =
        [(&given, &rounds[0]), (&other, &rounds[1])].map(|(cut, rounds)| measured(cut, rounds));
    let number = |of: &Value, field: &str| of[field].as_f64().unwrap_or_default();
    let ratio = |field: &str| {
        let chosen = if is_other_chosen { &other } else { &given };
        number(chosen, field) / number(&given, field)
    };
    Ok(Ok(json!({
        "program": stem(file),
        "and_gates": program.and_gates(),
        "chosen": if is_other_chosen { &other["cut"] } else { &given["cut"] },
        "chosen_by_given": { "seconds": ratio("seconds"), "cpu_seconds": ratio("cpu_seconds") },
        "given": given,
        "other": other,
    })))
}

/// Returns the cost of one run with this cut.
fn once(program: &brickwork::Program, cut: &Cut, arguments: &Arguments) -> Result<Value, Failure> {
    let mut parameters = Parameters::new(Protocol::Duplo);
    parameters.security = Some(arguments.security);
    let request = RunRequest {
        resources: arguments.resources.of_request(),
        line: arguments.link.line(),
        buckets: arguments.choice.buckets,
        cut: CutChoice::Fixed(cut.clone()),
        ..RunRequest::new(parameters)
    };
    let measured = measure(&Both::of(program, &request), 1, true);
    measured.map_err(|failure| failure.within(&format!("{}, {cut}", program.name())))
}

fn measured(cut: &Decomposition, rounds: &[Value]) -> Value {
    let middle =
        |field: &str| median(rounds.iter().filter_map(|round| round[field].as_f64()).collect::<Vec<f64>>());
    json!({
        "cut": cut.cut.to_string(),
        "slots": cut.slots,
        "predicted_seconds": cut.cost.seconds(),
        "predicted_cpu_seconds": cut.cost.cpu_seconds,
        "seconds": middle("seconds"),
        "cpu_seconds": middle("cpu_seconds"),
    })
}

const HEAD: &str = "\
    \x20 program               AND gates   predicted ms     measured ms      CPU ms, both\
    \x20    chosen by given   cuts, * is chosen\n\
    \x20                                   given   other    given   other    given   other    wall    CPU\n";

fn line(row: &Value) -> String {
    let milliseconds = |of: &str, field: &str| 1e3 * row[of][field].as_f64().unwrap_or_default();
    let pair =
        |field: &str| format!("{:>7.1} {:>7.1}", milliseconds("given", field), milliseconds("other", field));
    let ratio = |field: &str| row["chosen_by_given"][field].as_f64().unwrap_or_default();
    let star = |of: &str| if row[of]["cut"] == row["chosen"] { "*" } else { "" };
    format!(
        "  {:20} {:>10}  {}  {}  {}   {:>5.2}  {:>5.2}   {}given, {}{}",
        row["program"].as_str().unwrap_or_default(),
        row["and_gates"],
        pair("predicted_seconds"),
        pair("seconds"),
        pair("cpu_seconds"),
        ratio("seconds"),
        ratio("cpu_seconds"),
        star("given"),
        star("other"),
        row["other"]["cut"].as_str().unwrap_or_default(),
    )
}

fn text(json: &Value) -> String {
    let array = |field: &str| json[field].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text = format!(
        "Cuts on kernel {}, medians of {}, constants {}\n{HEAD}",
        json["kernel"].as_str().unwrap_or_default(),
        json["rounds"],
        json["constants"].as_str().unwrap_or_default(),
    );
    array("rows").iter().for_each(|row| text += &format!("{}\n", line(row)));
    for row in array("skipped") {
        text += &format!(
            "skipped {}: {}\n",
            row["program"].as_str().unwrap_or_default(),
            row["why"].as_str().unwrap_or_default()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There are as many programs as the table in `docs/project/benchmarks.md` has, sources and others, and
    /// each has more than one piece.
    #[test]
    fn there_are_programs_to_compare() {
        let folder = folder().expect("a folder");
        let files = programs(&folder).expect("programs");
        assert!(files.len() > 30, "{files:?}");
        for program in built().expect("programs") {
            assert!(program.slot_count() > 1, "{}", program.name());
        }
    }
}
