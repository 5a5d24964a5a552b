//! `brickwork bench cuts`: checks whether the cut that a run chooses is the faster one.

use std::fs;
use std::path::{Path, PathBuf};

use brickwork::circuit::Program;
use brickwork::circuit::library::{aes, matrix, papers};
use brickwork::engine::cuts::{PricedCut, Pricing, Rivals, rivals};
use brickwork::engine::machine;
use brickwork::engine::request::{AgreedParameters, Protocol};
use brickwork_cli::parts::{Failure, LinkArguments, ProtocolFlags, Report, ResourceFlags, security};
use brickwork_kernels::Kernel;
use brickwork_lang::std_library;
use clap::Args;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::runs::{MeasuredRuns, Setting, folder, median};
use crate::table::{Form, MS, TableColumn, say, skipped, table};

/// Time programs in the cut of the file, and in the cut that a run would choose or the best other cut
#[derive(Args)]
pub struct BenchCutsFlags {
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
    resources: ResourceFlags,
    #[command(flatten)]
    choice: ProtocolFlags,
}

/// A program that joins fifty rows with fifty: it has many small components, or a single one of 238 000 AND
/// gates.
const ACCOUNTS: &str = include_str!("accounts.wir");

/// Returns the programs that are timed by default, as files.
fn defaults(folder: &TempDir) -> Result<Vec<PathBuf>, Failure> {
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

/// Returns the programs that the library builds, and that have no source.
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

pub fn run(arguments: &BenchCutsFlags, quiet: bool) -> Result<Report, Failure> {
    let folder = folder()?;
    let files = if arguments.files.is_empty() { defaults(&folder)? } else { arguments.files.clone() };
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for file in &files {
        match row(file, arguments)? {
            Ok(row) => {
                say(quiet, &format!("{} is measured", stem(file)));
                rows.push(row);
            }
            Err(why) => left_out.push(json!({ "row": stem(file), "why": why })),
        }
    }
    let (kernel, rounds) = (Kernel::best().name(), arguments.rounds);
    let constants = if machine::kept().is_some() { "measured" } else { "estimated" };
    let human = format!(
        "Cuts on kernel {kernel}, medians of {rounds}, constants {constants}; milliseconds, CPU of both \
         parties\n\n{}{}",
        table(&COLUMNS, &rows),
        skipped(&left_out),
    );
    let json = json!({
        "kernel": kernel, "constants": constants, "rounds": rounds, "rows": rows, "skipped": left_out,
    });
    Report::new(&json, human)
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns a cut, as predicted and as measured.
fn timed(cut: &PricedCut, rounds: &[MeasuredRuns]) -> Value {
    let middle = |of: fn(&MeasuredRuns) -> f64| median(rounds.iter().map(of).collect());
    json!({
        "cut": cut.cut.to_string(),
        "slots": cut.slots,
        "predicted_seconds": cut.cost.seconds(),
        "predicted_cpu_seconds": cut.cost.cpu_seconds,
        "seconds": middle(|of| of.seconds),
        "cpu_seconds": middle(|of| of.cpu_seconds),
    })
}

/// Returns the predictions and measurements of a program, or the reason why it is skipped.
fn row(file: &Path, arguments: &BenchCutsFlags) -> Result<Result<Value, String>, Failure> {
    let program = brickwork::Program::load(file)?;
    let BenchCutsFlags { resources, security, choice, .. } = arguments;
    let machine = machine::at_hand()?.with_threads(resources.threads);
    let link = arguments.link.line().with_lanes(resources.lanes);
    let pricing = Pricing {
        executions: None,
        security: *security,
        buckets: choice.buckets,
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
    let setting = Setting { resources, line: arguments.link.line(), buckets: choice.buckets, rounds: 1 };
    let mut rounds = [Vec::new(), Vec::new()];
    for _ in 0..arguments.rounds {
        for (cut, rounds) in [&given, &other].into_iter().zip(&mut rounds) {
            let parameters =
                AgreedParameters { security: Some(*security), ..AgreedParameters::new(Protocol::DUPLO) };
            rounds.push(setting.measure(&program, parameters, &cut.cut)?);
        }
    }
    let (given, other) = (timed(&given, &rounds[0]), timed(&other, &rounds[1]));
    let chosen = if is_other_chosen { &other } else { &given };
    let number = |of: &Value, field: &str| of[field].as_f64().unwrap_or_default();
    let ratio = |field: &str| number(chosen, field) / number(&given, field);
    Ok(Ok(json!({
        "program": stem(file),
        "and_gates": program.and_gates(),
        "chosen": chosen["cut"],
        "chosen_by_given": { "seconds": ratio("seconds"), "cpu_seconds": ratio("cpu_seconds") },
        "given": given,
        "other": other,
    })))
}

const COLUMNS: [TableColumn; 12] = [
    ("program", "/program", Form::Word),
    ("other cut", "/other/cut", Form::Word),
    ("chosen", "/chosen", Form::Word),
    ("AND gates", "/and_gates", Form::Count),
    ("predicted, given", "/given/predicted_seconds", MS),
    ("other", "/other/predicted_seconds", MS),
    ("measured, given", "/given/seconds", MS),
    ("other", "/other/seconds", MS),
    ("CPU, given", "/given/cpu_seconds", MS),
    ("other", "/other/cpu_seconds", MS),
    ("chosen by given", "/chosen_by_given/seconds", Form::Scaled(1.0, 2)),
    ("CPU", "/chosen_by_given/cpu_seconds", Form::Scaled(1.0, 2)),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// There are as many programs as the table in `docs/project/benchmarks.md` has, and each has more than
    /// one component.
    #[test]
    fn there_are_programs_to_compare() {
        let folder = folder().expect("a folder");
        let files = defaults(&folder).expect("programs");
        assert!(files.len() > 30, "{files:?}");
        for program in built().expect("programs") {
            assert!(program.slot_count() > 1, "{}", program.name());
        }
    }
}
