//! The command line: all commands and the flags of every command.

pub mod assemble;
pub mod bench;
pub mod beside;
pub mod child;
pub mod cluster;
pub mod compile;
pub mod demo_cheat;
pub mod doctor;
pub mod examples;
pub mod files;
pub mod garble;
pub mod info;
pub mod keygen;
pub mod maker;
pub mod manual;
pub mod party;
pub mod plan;
pub mod preprocess;
pub mod programs;
pub mod run;
pub mod session;
pub mod simulate;
pub mod sql;
pub mod stock;
pub mod worker;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::render::appended::Rotation;
use crate::render::failure::{self, Failure};
use crate::render::log::LogFormat;
use crate::render::report::Report;
use crate::serve;

/// Secure two-party computation from garbled components.
///
/// Two parties who do not trust each other compute a function of their private inputs; neither learns more
/// than its own output.
#[derive(Parser)]
#[command(
    name = "brickwork",
    version,
    max_term_width = 100,
    after_long_help = failure::codes_text()
)]
pub struct Cli<C: Subcommand = Command> {
    /// Print one JSON object on stdout, also for errors
    #[arg(long, global = true, display_order = 100)]
    pub json: bool,
    /// Print no progress, no warnings and no tables of phases
    #[arg(long, global = true, display_order = 100)]
    pub quiet: bool,
    /// Also append warnings, the events of a listener, and the error of a command that fails, to this file
    #[arg(long, global = true, display_order = 100, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// The form of all lines on stderr and in the log: text for people, json for programs
    #[arg(long, global = true, display_order = 100, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
    /// Append a line of JSON to this file for each meeting, run, fill, burn, refusal, start and end
    /// (docs/reference/json.md); no line has an input or an output
    #[arg(long, global = true, display_order = 100, value_name = "FILE")]
    pub audit: Option<PathBuf>,
    /// Begin new files for --log and --audit at this size or age, such as 100MiB, 24h or 100MiB,24h; the old
    /// file gets the time in its name
    #[arg(long, global = true, display_order = 100, value_name = "SIZE,AGE")]
    pub rotate: Option<Rotation>,
    #[command(subcommand)]
    pub command: C,
}

impl<C: Subcommand> Cli<C> {
    /// Returns the flags before the command, for another program that has them, too.
    pub fn flags(&self) -> Vec<OsString> {
        let mut flags: Vec<OsString> = Vec::new();
        flags.extend(self.json.then(|| "--json".into()));
        flags.extend(self.quiet.then(|| "--quiet".into()));
        if let Some(log) = &self.log {
            flags.extend(["--log".into(), log.into()]);
        }
        if self.log_format == LogFormat::Json {
            flags.push("--log-format=json".into());
        }
        if let Some(audit) = &self.audit {
            flags.extend(["--audit".into(), audit.into()]);
        }
        flags
    }
}

#[derive(Subcommand)]
pub enum Command {
    Compile(compile::CompileFlags),
    Assemble(assemble::AssembleFlags),
    Examples(examples::ExamplesFlags),
    Info(info::InfoFlags),
    Simulate(simulate::SimulateFlags),
    Keygen(keygen::KeygenFlags),
    Run(run::RunFlags),
    /// Garble: the first party of a computation
    Garbler(party::PartyFlags),
    /// Evaluate: the second party of a computation
    Evaluator(party::EvaluatorArguments),
    Session(session::SessionFlags),
    Serve(serve::ServeFlags),
    Request(serve::request::RequestFlags),
    Health(serve::health::HealthFlags),
    Cluster(cluster::ClusterFlags),
    #[command(flatten)]
    Started(Started),
    Preprocess(preprocess::PreprocessFlags),
    Maker(maker::MakerFlags),
    Stock(stock::StockFlags),
    DemoCheat(demo_cheat::DemoCheatFlags),
    Doctor(doctor::DoctorFlags),
    Plan(plan::PlanFlags),
    Sql(sql::SqlFlags),
    Bench(bench::BenchFlags),
    Garble(garble::GarbleCommand),
    GarbledInputs(garble::TokensCommand),
    EvaluateGarbled(garble::EvaluateCommand),
    DecodeGarbled(garble::Decode),
    Completions(manual::Completions),
    Man(manual::Manual),
}

/// The processes that commands start from their own program.
#[derive(Subcommand)]
pub enum Started {
    /// A party of `brickwork run`
    #[command(name = child::COMMAND, hide = true)]
    Child,
    Worker(worker::WorkerFlags),
}

impl Started {
    /// Runs the process to its end.
    pub fn run(&self, quiet: bool) -> Result<Report, Failure> {
        match self {
            Started::Child => child::run(quiet),
            Started::Worker(_) => worker::run(),
        }
    }
}
