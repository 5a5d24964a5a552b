//! Flags that several commands take.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use brickwork::circuit::Party;
use brickwork::circuit::formats::InputMap;
use brickwork::cut::CutChoice;
use brickwork::engine::request::{self, LinkSpeed, RunRequest};
use brickwork::ot::Cot;
use brickwork::session::Model;
use brickwork::wire::tls;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use zeroize::Zeroizing;

use crate::decimal;
use crate::files;
use crate::link;
use crate::store::StoreArguments;

pub use brickwork::compgc::Linking;
pub use brickwork::engine::request::{Buckets, Parameters, Protocol, SECURITY, cot};

/// The program that a command works on.
#[derive(Args)]
pub struct ProgramArguments {
    /// The program: a .wir source, or a .bwp, Bristol, SCD or .GC_duplo file; the content tells which
    pub file: PathBuf,
    #[command(flatten)]
    pub map: Map,
    /// The program in the file, if this process has read it before.
    #[arg(skip)]
    pub loaded: Option<brickwork::Program>,
}

impl ProgramArguments {
    /// Names the program of a file.
    pub fn of(file: PathBuf) -> Self {
        ProgramArguments { file, map: Map { entries: Vec::new() }, loaded: None }
    }
}

/// Whose the inputs of a Bristol or SCD circuit are.
#[derive(Args, Clone)]
pub struct Map {
    /// Whose an input of a Bristol circuit is, such as in2=garbler; in0 is the garbler's and in1 the
    /// evaluator's. Of an SCD circuit ranges of inputs, such as in0-63=garbler, all of them or none
    #[arg(long = "map", value_name = "INPUT=PARTY", value_parser = map_entry)]
    pub entries: Vec<(String, Party)>,
}

impl Map {
    /// Returns whose which input is.
    pub fn parties(&self) -> InputMap {
        self.entries.iter().cloned().collect()
    }

    /// Returns the flags that say the same.
    pub fn as_flags(&self) -> impl Iterator<Item = String> {
        self.entries.iter().map(|(name, party)| format!("--map={name}={}", files::role(*party)))
    }
}

fn map_entry(text: &str) -> Result<(String, Party), String> {
    let entry = text.split_once('=').and_then(|(name, of)| Some((name.to_owned(), party(of).ok()?)));
    entry.ok_or_else(|| "expected an input and a party, such as in2=garbler".into())
}

/// Returns the party of this name.
pub fn party(text: &str) -> Result<Party, String> {
    match text {
        "garbler" => Ok(Party::Garbler),
        "evaluator" => Ok(Party::Evaluator),
        _ => Err("expected garbler or evaluator".into()),
    }
}

/// How often the program is evaluated.
#[derive(Args, Clone)]
pub struct Executions {
    /// Evaluate N times with one preprocessing; every value is then an array of N values
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub executions: Option<u32>,
}

/// How values are read.
#[derive(Args, Clone, Default)]
pub struct Reading {
    /// Read decimals for a column or field of integers: with amount=2, 12.50 is 1250; more digits are
    /// refused
    #[arg(long = "scale", value_name = "NAME=DIGITS", value_parser = scale)]
    pub scales: Vec<Scale>,
    /// Leave out the columns of a table that the program does not know
    #[arg(long)]
    pub ignore_extra_columns: bool,
    /// Refuse files with values that other users can read or change.
    #[arg(skip)]
    pub private: bool,
    /// Take the nearest number where an input of fixed point lies between two that its type holds, of two
    /// that are as near the larger; it is refused otherwise
    #[arg(long)]
    pub rounding: bool,
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
#[derive(Args, Clone)]
pub struct ParameterArguments {
    /// The protocol: duplo, authenticated, lego and jimu hold against a cheater, semi-honest and compgc only
    /// against a peer that follows it
    #[arg(long, value_name = "NAME", default_value = "duplo", value_parser = protocols())]
    pub protocol: Protocol,
    /// How compgc links components: standard (any program of components garbled before), scmc (fewer bytes,
    /// but for the program that they were garbled for) or naive (all is garbled online); standard, if it is
    /// not given
    #[arg(long, value_name = "NAME", value_parser = linkings())]
    pub linking: Option<Linking>,
    /// The correlated OTs of authenticated: extension, or softspoken-2, -4 or -8, where more means fewer
    /// bytes and more to compute, or pcg with the fewest bytes for many gates, which both parties must say.
    /// If none is given, what the peer was told to take, or what is fastest by the garbler's estimate for
    /// --bandwidth and --rtt; with --store softspoken-4
    #[arg(long, value_name = "NAME", value_parser = cot)]
    pub cot: Option<Cot>,
    /// The garbling scheme, which in every protocol is half-gates; others are for `brickwork garble`
    #[arg(long, value_name = "half-gates", value_parser = garbling)]
    pub scheme: Option<HalfGates>,
    /// The commitment scheme of duplo and lego; split, if it is not given
    #[arg(long, value_name = "NAME")]
    pub commitments: Option<Commitments>,
    /// Statistical security of duplo, authenticated, lego and jimu in bits: a cheater succeeds with
    /// probability at most 2^-S; 40, if it is not given
    #[arg(long, value_name = "40|64|80", value_parser = security)]
    pub security: Option<u32>,
    /// Base OTs from lattices (ML-KEM-768) instead of an elliptic curve, so that nothing that a run hides
    /// rests on discrete logarithms; half a megabyte more; not with a store
    #[arg(long)]
    pub post_quantum: bool,
    #[command(flatten)]
    pub executions: Executions,
}

/// Reads the name of a protocol.
pub fn protocols() -> impl TypedValueParser<Value = Protocol> {
    PossibleValuesParser::new(Protocol::ALL.map(Protocol::name)).try_map(|name| name.parse::<Protocol>())
}

/// Reads the name of a linking.
fn linkings() -> impl TypedValueParser<Value = Linking> {
    // In the order in which the help lists them.
    let all = [Linking::Standard, Linking::Scmc, Linking::Naive];
    PossibleValuesParser::new(all.map(Linking::name)).try_map(move |name| {
        all.into_iter().find(|linking| linking.name() == name).ok_or("there is no such linking")
    })
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Commitments {
    Split,
}

/// Takes a text that is erased when it is dropped.
pub fn secret(text: &str) -> Result<Zeroizing<String>, Infallible> {
    Ok(Zeroizing::new(text.to_owned()))
}

pub fn security(text: &str) -> Result<u32, String> {
    match text {
        "40" => Ok(40),
        "64" => Ok(64),
        "80" => Ok(80),
        _ => Err("the statistical security is 40, 64 or 80 bits".into()),
    }
}

/// Reads the peer that a protocol is to hold against.
pub fn model(name: &str) -> Result<Model, String> {
    let named = [Model::SemiHonest, Model::Malicious].into_iter().find(|model| model.name() == name);
    named.ok_or_else(|| "a model is semi-honest or malicious".into())
}

/// Half-gates: the scheme that every protocol garbles with.
#[derive(Clone, Copy)]
pub struct HalfGates;

/// Returns the scheme of this name, for clap.
pub fn garbling(name: &str) -> Result<HalfGates, String> {
    match name {
        "half-gates" => Ok(HalfGates),
        "ga" | "gax" | "gaxr" => Err(format!(
            "{name} is for research, with `brickwork garble --scheme {name}`: that it holds against a \
             cheater who garbles is shown for no protocol, whose soldering and checks rest on half-gates \
             and their one offset"
        )),
        "privacy-free" => Err("privacy-free shows the evaluator every bit of the inputs, so that no \
                               protocol garbles with it; it is for research, with `brickwork garble \
                               --scheme privacy-free`"
            .into()),
        _ => Err("protocols garble with half-gates, and with nothing else".into()),
    }
}

impl ParameterArguments {
    /// Returns the parameters that these flags give.
    pub fn of_request(&self) -> Parameters {
        Parameters {
            protocol: self.protocol,
            linking: self.linking,
            cot: self.cot,
            commitments: self.commitments.is_some(),
            security: self.security,
            post_quantum: self.post_quantum,
            executions: self.executions.executions,
        }
    }

    /// Returns the statistical security in bits.
    pub fn security(&self) -> u32 {
        self.security.unwrap_or(SECURITY)
    }
}

/// Returns the flags that give these parameters.
pub fn as_flags(parameters: &Parameters) -> Vec<String> {
    let Parameters { protocol, linking, cot, commitments, security, post_quantum, executions } = parameters;
    [format!("--protocol={protocol}")]
        .into_iter()
        .chain(linking.map(|linking| format!("--linking={}", linking.name())))
        .chain(cot.map(|cot| format!("--cot={}", cot.name())))
        .chain(commitments.then(|| "--commitments=split".into()))
        .chain(security.map(|bits| format!("--security={bits}")))
        .chain(post_quantum.then(|| "--post-quantum".into()))
        .chain(executions.map(|n| format!("--executions={n}")))
        .collect()
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
        value_parser = buckets(),
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub buckets: Buckets,
}

/// Reads which buckets are proposed.
fn buckets() -> impl TypedValueParser<Value = Buckets> {
    PossibleValuesParser::new(["fastest", "standard"]).map(|name| match name.as_str() {
        "standard" => Buckets::Standard,
        _ => Buckets::Fastest,
    })
}

impl Choice {
    /// Returns the flag that says the same.
    pub fn as_flag(&self) -> &'static str {
        match self.buckets {
            Buckets::Fastest => "--buckets=fastest",
            Buckets::Standard => "--buckets=standard",
        }
    }
}

/// Into which components the program is cut.
#[derive(Args)]
pub struct CutArguments {
    /// Into which components the program is cut: as is predicted to be fastest (the garbler proposes, the
    /// evaluator makes the same cut of its own file), as the file says, in one piece, or a list such as
    /// inline:F,component:G. An evaluator that is given one refuses others. With jimu it is by the file's
    /// components (given) or by single AND gates (gates). Without this flag it is by those that send fewer
    /// bytes; from a store by components, if all of these are there
    #[arg(
        long,
        value_name = "fastest|given|whole|gates|LIST",
        default_value = "fastest",
        hide_default_value = true
    )]
    pub cut: CutChoice,
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
    /// Returns what lies between the parties.
    pub fn line(&self) -> LinkSpeed {
        LinkSpeed { bits_per_second: self.bandwidth, rtt: self.rtt.unwrap_or_default() }
    }
}

/// What a party decides for itself.
#[derive(Args)]
pub struct Resources {
    /// Threads; all cores by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Connections that carry bulk data in parallel; the smaller wish of the two sides counts
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u8).range(1..=i64::from(tls::MAX_LANES)))]
    pub lanes: u8,
    /// Memory that this party may take, such as 4GiB; what is predicted to take more is refused. An evaluator
    /// refuses what is proposed to it by what is free, if this is not given
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_ram: Option<u64>,
    /// How long a peer may stall, and how long --connect tries
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub timeout: u32,
}

impl Resources {
    pub fn threads(&self) -> usize {
        self.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()), usize::from)
    }

    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout.into())
    }

    /// Returns the means that these flags give.
    pub fn of_request(&self) -> request::Resources {
        let Resources { threads, lanes, max_ram, .. } = *self;
        request::Resources { threads, lanes, max_ram, timeout: self.timeout() }
    }

    pub fn options(&self, party: Party) -> tls::Options {
        tls::Options { party, lanes: self.lanes, timeout: self.timeout() }
    }
}

/// Returns a number of bytes.
pub fn size(text: &str) -> Result<u64, String> {
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

/// Returns the request that these flags of a party give.
pub fn request(
    parameters: &ParameterArguments,
    resources: &Resources,
    choice: &Choice,
    cut: &CutArguments,
    line: LinkSpeed,
    stock: &StoreArguments,
) -> RunRequest {
    RunRequest {
        resources: resources.of_request(),
        buckets: choice.buckets,
        cut: cut.cut.clone(),
        line,
        stored: stock.store.is_some(),
        lacking: stock.lacking(),
        ..RunRequest::new(parameters.of_request())
    }
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
    /// Returns what is to be imitated.
    pub fn line(&self) -> LinkSpeed {
        LinkSpeed { bits_per_second: self.bandwidth, rtt: self.rtt.unwrap_or_default() }
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
