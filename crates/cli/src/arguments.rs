//! The command line.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brickwork::circuit::formats::InputMap;
use brickwork::circuit::{Party, Program};
use brickwork::duplo;
use brickwork::plan::{self, Machine};
use brickwork::wire::tls::{self, PublicKey};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::failure::Failure;
use crate::link::{self, Link};
use crate::{
    bench, compile, decimal, demo_cheat, doctor, examples, failure, files, info, keygen, manual, party,
    preprocess, run, simulate, stock,
};

/// What `--version` says. Cargo compiles hooks for a cheater into all programs that it builds together with
/// the adversary's.
const VERSION: &str = match brickwork::HAS_HOOKS {
    false => env!("CARGO_PKG_VERSION"),
    true => concat!(env!("CARGO_PKG_VERSION"), ", with hooks for a cheater: for tests alone"),
};

/// Secure two-party computation from garbled components.
///
/// Two parties who do not trust each other compute a function of their private inputs; neither learns more
/// than its own output.
#[derive(Parser)]
#[command(
    name = "brickwork",
    version = VERSION,
    max_term_width = 100,
    after_long_help = failure::codes_text()
)]
pub struct Cli {
    /// Print one JSON object on stdout, also for errors
    #[arg(long, global = true, display_order = 100)]
    pub json: bool,
    /// No progress, no warnings and no tables of phases
    #[arg(long, global = true, display_order = 100)]
    pub quiet: bool,
    /// Write warnings, and what happens at a listener, to the end of this file, too
    #[arg(long, global = true, display_order = 100, value_name = "FILE")]
    pub log: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Compile(compile::Arguments),
    Examples(examples::Arguments),
    Info(info::Arguments),
    Simulate(simulate::Arguments),
    Keygen(keygen::Arguments),
    Run(run::Arguments),
    /// Garble: the first party of a computation
    Garbler(party::Arguments),
    /// Evaluate: the second party of a computation
    Evaluator(party::EvaluatorArguments),
    Preprocess(preprocess::Arguments),
    Stock(stock::Arguments),
    DemoCheat(demo_cheat::Arguments),
    Doctor(doctor::Arguments),
    Plan(crate::plan::Arguments),
    Bench(bench::Arguments),
    Completions(manual::Completions),
    Man(manual::Manual),
}

/// The program that a command works on.
#[derive(Args)]
pub struct ProgramArguments {
    /// The program: a .wir source, or a .bwp, Bristol or .GC_duplo file; the content tells which
    pub file: PathBuf,
    #[command(flatten)]
    pub map: Map,
}

/// Whose the inputs of a Bristol circuit are.
#[derive(Args, Clone)]
pub struct Map {
    /// Whose an input of a Bristol circuit is, such as in2=garbler; in0 is the garbler's and in1 the
    /// evaluator's
    #[arg(long = "map", value_name = "INPUT=PARTY", value_parser = map_entry)]
    pub entries: Vec<(String, Party)>,
}

impl Map {
    /// Whose which input is.
    pub fn parties(&self) -> InputMap {
        self.entries.iter().cloned().collect()
    }

    /// The flags that say the same.
    pub fn as_flags(&self) -> impl Iterator<Item = String> {
        self.entries.iter().map(|(name, party)| format!("--map={name}={}", files::role(*party)))
    }
}

fn map_entry(text: &str) -> Result<(String, Party), String> {
    match text.split_once('=') {
        Some((name, "garbler")) => Ok((name.into(), Party::Garbler)),
        Some((name, "evaluator")) => Ok((name.into(), Party::Evaluator)),
        _ => Err("expected an input and a party, such as in2=garbler".into()),
    }
}

/// How often the program is evaluated.
#[derive(Args)]
pub struct Executions {
    /// Evaluate N times with one preprocessing; every value is then an array of N values
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub executions: Option<u32>,
}

/// How values are read.
#[derive(Args, Default)]
pub struct Reading {
    /// Read decimals for a column or field of integers: with amount=2, 12.50 is 1250; more digits are
    /// refused
    #[arg(long = "scale", value_name = "NAME=DIGITS", value_parser = scale)]
    pub scales: Vec<Scale>,
    /// Leave out the columns of a table that the program does not know
    #[arg(long)]
    pub ignore_extra_columns: bool,
}

/// How many digits after the point the decimals of a field have.
#[derive(Clone)]
pub struct Scale {
    /// The field's name, or with those around it, such as `price.net`.
    pub name: String,
    pub digits: u8,
}

fn scale(text: &str) -> Result<Scale, String> {
    let digits = |digits: &str| digits.parse().ok().filter(|digits| *digits <= decimal::MAX_DIGITS);
    match text.split_once('=').map(|(name, number)| (name, digits(number))) {
        Some((name, Some(digits))) if !name.is_empty() => Ok(Scale { name: name.into(), digits }),
        _ => Err(format!("expected a field and a number up to {}, such as amount=2", decimal::MAX_DIGITS)),
    }
}

/// What the parties must agree on, apart from the program.
#[derive(Args)]
pub struct Parameters {
    /// The protocol
    #[arg(long, value_name = "NAME", default_value = "duplo")]
    pub protocol: Protocol,
    /// The commitment scheme
    #[arg(long, value_name = "NAME", default_value = "split")]
    pub commitments: Commitments,
    /// Statistical security in bits: a cheater succeeds with probability at most 2^-S
    #[arg(long, value_name = "40|64|80", default_value = "40", hide_default_value = true, value_parser = security)]
    pub security: u32,
    #[command(flatten)]
    pub executions: Executions,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    Duplo,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Commitments {
    Split,
}

pub fn security(text: &str) -> Result<u32, String> {
    match text {
        "40" => Ok(40),
        "64" => Ok(64),
        "80" => Ok(80),
        _ => Err("the statistical security is 40, 64 or 80 bits".into()),
    }
}

impl Parameters {
    /// The flags that say the same.
    pub fn as_flags(&self) -> Vec<String> {
        let Parameters { protocol, commitments, security, executions } = self;
        let Protocol::Duplo = protocol;
        let Commitments::Split = commitments;
        let fixed =
            ["--protocol=duplo".into(), "--commitments=split".into(), format!("--security={security}")];
        fixed.into_iter().chain(executions.executions.map(|n| format!("--executions={n}"))).collect()
    }
}

/// How the garbler chooses what the evaluator then checks.
#[derive(Args)]
pub struct Choice {
    /// Which buckets the garbler proposes: those that are predicted to be fastest here, or the standard ones,
    /// which are the same on every machine
    #[arg(
        long,
        value_name = "fastest|standard",
        default_value = "fastest",
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub buckets: Buckets,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Buckets {
    Fastest,
    Standard,
}

impl Choice {
    /// The parameters for a program.
    pub fn choose(
        &self,
        program: &Program,
        security: u32,
        machine: &Machine,
        link: &plan::Link,
    ) -> Result<duplo::Parameters, Failure> {
        Ok(match self.buckets {
            Buckets::Fastest => duplo::cost::choose(program, security, machine, link)?,
            Buckets::Standard => duplo::Parameters::choose(program, security)?,
        })
    }

    /// The flag that says the same.
    pub fn as_flag(&self) -> &'static str {
        match self.buckets {
            Buckets::Fastest => "--buckets=fastest",
            Buckets::Standard => "--buckets=standard",
        }
    }
}

/// The line to the peer, as far as it is known: what is fastest depends on it.
#[derive(Args)]
pub struct LineArguments {
    /// The bandwidth of the line to the peer, such as 200Mbit, for the garbler's choice of buckets
    #[arg(long, value_name = "RATE", value_parser = link::bits_per_second)]
    pub bandwidth: Option<u64>,
    /// Its round-trip time, such as 96ms
    #[arg(long, value_name = "TIME", value_parser = link::time)]
    pub rtt: Option<Duration>,
}

impl LineArguments {
    /// What lies between the parties.
    pub fn link(&self) -> Link {
        Link { bits_per_second: self.bandwidth, rtt: self.rtt.unwrap_or_default() }
    }
}

/// What a party decides for itself.
#[derive(Args)]
pub struct Resources {
    /// Threads; all cores by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Connections that carry bulk data in parallel; the smaller wish of the two sides counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=i64::from(tls::MAX_LANES)))]
    pub lanes: u8,
    /// Memory that this party may take, such as 4GiB; what is predicted to take more is refused. An evaluator
    /// refuses what is proposed to it by what is free, if this is not given
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_ram: Option<u64>,
    /// How long a peer may stall, and how long --connect tries
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub timeout: u32,
}

impl Resources {
    pub fn threads(&self) -> usize {
        self.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()), usize::from)
    }

    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout.into())
    }

    pub fn options(&self, party: Party) -> tls::Options {
        tls::Options { party, lanes: self.lanes, timeout: self.timeout() }
    }
}

/// A number of bytes.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        "kB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        other => return Err(format!("{other} is no unit of bytes; expected a size such as 4GiB or 500MB")),
    };
    let bytes =
        digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).filter(|&bytes| bytes > 0);
    bytes.ok_or_else(|| "expected a size such as 4GiB or 500MB".into())
}

/// A link to be imitated.
#[derive(Args)]
pub struct LinkArguments {
    /// Imitate a link of this bandwidth in each direction, such as 200Mbit
    #[arg(long, value_name = "RATE", value_parser = link::bits_per_second)]
    pub bandwidth: Option<u64>,
    /// Imitate a link of this round-trip time, such as 96ms
    #[arg(long, value_name = "TIME", value_parser = link::time)]
    pub rtt: Option<Duration>,
}

impl LinkArguments {
    /// What is to be imitated.
    pub fn link(&self) -> Link {
        Link { bits_per_second: self.bandwidth, rtt: self.rtt.unwrap_or_default() }
    }
}

/// Where the peer is.
#[derive(Args)]
#[group(multiple = false)]
pub struct Address {
    /// Wait for the peer at this address of this machine; port 0 lets the system choose
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<String>,
    /// Connect to the peer, who listens at this address
    #[arg(long, value_name = "HOST:PORT")]
    pub connect: Option<String>,
}

/// How long a listener waits.
#[derive(Args)]
pub struct Keep {
    /// With --listen: a peer that comes with another program, other flags or another version is told why, and
    /// does not end the waiting. The first run that begins is the only one: it ends the command, whether it
    /// is done (code 0), breaks off (4) or the peer cheats (5)
    #[arg(long, conflicts_with = "connect")]
    pub keep: bool,
}

/// Reads a public key, given inline or as `@FILE`.
pub fn public_key(text: &str) -> Result<PublicKey, Failure> {
    let hint = "ask the other party for the public key that its own `brickwork keygen` printed";
    let Some(path) = text.strip_prefix('@') else {
        return text.parse().map_err(|e: brickwork::Error| {
            let failure = Failure::usage(format!("--peer: {e}"), hint);
            match Path::new(text).is_file() {
                true => {
                    failure.advise("this is the name of a file: write an @ before it, as in --peer @FILE")
                }
                false => failure,
            }
        });
    };
    let bytes =
        files::read_all(File::open(path), files::MAX_KEY_BYTES, path).map_err(|e| e.within("--peer"))?;
    let key = files::utf8(&bytes, path, hint).map_err(|e| e.within("--peer"))?;
    if key.contains("PRIVATE KEY") {
        return Err(Failure::input(
            format!("--peer: {path} holds a private key, and the public one is needed"),
            "`brickwork keygen` printed it for its owner; a private key stays with its owner: if this one is \
             not yours, tell its owner to make another one",
        ));
    }
    key.trim().parse().map_err(|e: brickwork::Error| Failure::input(format!("--peer: {path}: {e}"), hint))
}
