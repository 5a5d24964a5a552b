//! Flags that several commands use.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use brickwork::StoreRequest;
use brickwork::circuit::Party;
use brickwork::circuit::formats::InputMap;
use brickwork::cut::CutChoice;
use brickwork::engine::request::{self, LinkSpeed, RunRequest};
use brickwork::engine::task::Endpoint;
use brickwork::ot::Cot;
use brickwork::protocol::Model;
use brickwork::protocol::stock::Lacking;
use brickwork::reading::{self, DecimalScale};
use brickwork::wire::tls;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use zeroize::Zeroizing;

use brickwork::engine::link;

use crate::render::failure::Failure;

pub use brickwork::compgc::Linking;
pub use brickwork::engine::request::{
    AgreedParameters, BucketChoice, OnlyHalfGates, Protocol, SECURITY, cot, scheme, security, size,
};
pub use brickwork::engine::ways::Protocols;

/// The program that a command works on.
#[derive(Args)]
pub struct ProgramArguments {
    /// The program: a .wir source, or a .bwp, Bristol, SCD or .GC_duplo file; the content tells which
    pub file: PathBuf,
    #[command(flatten)]
    pub map: Map,
}

/// The parties to which the inputs of a Bristol or SCD circuit belong.
#[derive(Args, Clone)]
pub struct Map {
    /// The party that has an input of a Bristol circuit, such as in2=garbler; by default in0 belongs to the
    /// garbler and in1 to the evaluator. For an SCD circuit, ranges of inputs such as in0-63=garbler; name
    /// all inputs or none
    #[arg(long = "map", value_name = "INPUT=PARTY", value_parser = map_entry)]
    pub entries: Vec<(String, Party)>,
}

impl Map {
    /// Returns the party to which each input belongs.
    pub fn parties(&self) -> InputMap {
        self.entries.iter().cloned().collect()
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

/// The role that a flag names.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleFlag {
    Garbler,
    Evaluator,
}

impl From<RoleFlag> for Party {
    fn from(role: RoleFlag) -> Party {
        match role {
            RoleFlag::Garbler => Party::Garbler,
            RoleFlag::Evaluator => Party::Evaluator,
        }
    }
}

/// The number of executions.
#[derive(Args, Clone)]
pub struct ExecutionsFlag {
    /// Evaluate N times with one preprocessing; every value is then an array of N values
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub executions: Option<u32>,
}

/// The flags about reading values.
#[derive(Args, Clone, Default)]
pub struct ReadingFlags {
    /// Read decimals for a column or field of integers: with amount=2, 12.50 is 1250; more digits are
    /// refused
    #[arg(long = "scale", value_name = "NAME=DIGITS", value_parser = DecimalScale::from_str)]
    scales: Vec<DecimalScale>,
    /// Leave out the columns of a table that the program does not know
    #[arg(long)]
    ignore_extra_columns: bool,
    /// Round an input for a fixed-point type to the nearest number that the type holds (ties go to the larger
    /// one); without this flag such an input is refused
    #[arg(long)]
    rounding: bool,
}

impl ReadingFlags {
    /// Returns the way in which values are read.
    pub fn given(&self) -> reading::ReadingOptions {
        let ReadingFlags { scales, ignore_extra_columns, rounding } = self.clone();
        reading::ReadingOptions { scales, ignore_extra_columns, rounding, private: false }
    }
}

/// The settings that must be the same at both parties, apart from the program.
#[derive(Args, Clone)]
pub struct ParameterArguments {
    /// The protocol: duplo, authenticated, lego and jimu hold against a cheater, semi-honest and compgc only
    /// against a peer that follows it. With auto, the garbler takes the one of the first four that it
    /// predicts to be fastest on this machine and network with this stock, and that the evaluator accepts
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = protocols())]
    pub protocol: Protocols,
    /// With --protocol auto: take only protocols from this list
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "protocol")]
    pub accept: Vec<Protocol>,
    /// How compgc links components: standard (components garbled in advance, for any program), scmc (fewer
    /// bytes, but components are garbled for one program) or naive (garbled online); the default is standard
    #[arg(long, value_name = "NAME", value_parser = linkings())]
    pub linking: Option<Linking>,
    /// The correlated OTs of authenticated: extension, or softspoken-2, -4 or -8, where a larger number means
    /// fewer bytes and more computation. pcg sends the fewest bytes for many gates, and both parties must
    /// name it. By default it is the kind that the peer's user named, or the fastest one by the garbler's
    /// estimate for --bandwidth and --rtt; with --store it is softspoken-4
    #[arg(long, value_name = "NAME", value_parser = cot)]
    pub cot: Option<Cot>,
    /// The garbling scheme; every protocol uses half-gates, and `brickwork garble` has others
    #[arg(long, value_name = "half-gates", value_parser = scheme)]
    pub scheme: Option<OnlyHalfGates>,
    /// The commitment scheme of duplo and lego; the default is split
    #[arg(long, value_name = "NAME")]
    pub commitments: Option<CommitmentFlag>,
    /// Statistical security of duplo, authenticated, lego and jimu in bits: a cheater succeeds with
    /// probability at most 2^-S; the default is 40
    #[arg(long, value_name = "40|64|80", value_parser = security)]
    pub security: Option<u32>,
    /// Use base OTs from lattices (ML-KEM-768) instead of an elliptic curve, so that no secret of a run
    /// depends on discrete logarithms; sends half a megabyte more; not with a store
    #[arg(long)]
    pub post_quantum: bool,
    #[command(flatten)]
    pub executions: ExecutionsFlag,
}

/// Reads the name of a protocol, or `auto`.
pub fn protocols() -> impl TypedValueParser<Value = Protocols> {
    let names = ["auto"].into_iter().chain(Protocol::FAMILY.map(Protocol::name));
    PossibleValuesParser::new(names).try_map(|name| match name.as_str() {
        "auto" => Ok(Protocols::auto()),
        name => name.parse::<Protocol>().map(Protocols::from),
    })
}

/// Reads the name of a linking.
fn linkings() -> impl TypedValueParser<Value = Linking> {
    // The help lists the linkings in this order.
    let all = [Linking::Standard, Linking::Scmc, Linking::Naive];
    PossibleValuesParser::new(all.map(Linking::name)).try_map(move |name| {
        all.into_iter().find(|linking| linking.name() == name).ok_or("there is no such linking")
    })
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CommitmentFlag {
    Split,
}

/// Takes a text that is erased when it is dropped.
pub fn secret(text: &str) -> Result<Zeroizing<String>, Infallible> {
    Ok(Zeroizing::new(text.to_owned()))
}

/// Reads the kind of adversary against which a protocol must be secure.
pub fn model(name: &str) -> Result<Model, String> {
    let named = [Model::SemiHonest, Model::Malicious].into_iter().find(|model| model.name() == name);
    named.ok_or_else(|| "the model must be semi-honest or malicious".into())
}

impl ParameterArguments {
    /// Returns the parameters that these flags give.
    pub fn of_request(&self) -> AgreedParameters<Protocols> {
        let accepted = self.accept.iter().copied();
        AgreedParameters {
            protocol: if self.accept.is_empty() { self.protocol.clone() } else { Protocols::of(accepted) },
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

#[derive(Args)]
pub struct ProtocolFlags {
    /// The buckets that the garbler proposes: those that are predicted to be fastest here, or standard ones,
    /// which are the same on every machine
    #[arg(
        long,
        value_name = "fastest|standard",
        default_value = "fastest",
        value_parser = buckets(),
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub buckets: BucketChoice,
}

/// Reads the choice of buckets.
fn buckets() -> impl TypedValueParser<Value = BucketChoice> {
    PossibleValuesParser::new(["fastest", "standard"]).map(|name| match name.as_str() {
        "standard" => BucketChoice::Standard,
        _ => BucketChoice::Fastest,
    })
}

/// The cut of the program into components.
#[derive(Args)]
pub struct CutArguments {
    /// The cut of the program into components: the fastest by prediction (the garbler proposes a cut, and the
    /// evaluator makes the same cut of its own file), that of the file (given), a single component (whole),
    /// or a list such as inline:F,component:G. An evaluator with a list refuses other cuts. With jimu, it is
    /// the file's components (given) or single AND gates (gates). By default jimu takes the one that sends
    /// fewer bytes, or components if a store has all of them
    #[arg(
        long,
        value_name = "fastest|given|whole|gates|LIST",
        default_value = "fastest",
        hide_default_value = true
    )]
    pub cut: CutChoice,
}

/// The network to the peer, as far as the user knows it. The fastest parameters depend on it.
#[derive(Args)]
pub struct LineArguments {
    /// The bandwidth of the network to the peer, such as 200Mbit, for the garbler's choice of buckets
    #[arg(long, value_name = "RATE", value_parser = link::bits_per_second)]
    pub bandwidth: Option<u64>,
    /// The round-trip time of this network, such as 96ms
    #[arg(long, value_name = "TIME", value_parser = link::time)]
    pub rtt: Option<Duration>,
}

impl LineArguments {
    /// Returns the network between the parties.
    pub fn line(&self) -> LinkSpeed {
        LinkSpeed { bits_per_second: self.bandwidth, rtt: self.rtt.unwrap_or_default() }
    }
}

/// The settings that each party chooses for itself.
#[derive(Args)]
pub struct ResourceFlags {
    /// Threads; all cores by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Connections that carry bulk data in parallel; the smaller number of both parties is used
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u8).range(1..=i64::from(tls::MAX_LANES)))]
    pub lanes: u8,
    /// Memory that this party may use, such as 4GiB; a run that is predicted to use more is refused. By
    /// default an evaluator refuses proposals that need more memory than is free
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_ram: Option<u64>,
    /// The time in seconds for which a peer may stall, and for which --connect tries to connect
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub timeout: u32,
}

impl ResourceFlags {
    pub fn threads(&self) -> usize {
        self.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()), usize::from)
    }

    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout.into())
    }

    /// Returns the resources that these flags give.
    pub fn of_request(&self) -> request::Resources {
        let ResourceFlags { threads, lanes, max_ram, .. } = *self;
        request::Resources { threads, lanes, max_ram, timeout: self.timeout() }
    }

    pub fn options(&self, party: Party) -> tls::EndpointOptions {
        tls::EndpointOptions { party, lanes: self.lanes, timeout: self.timeout() }
    }
}

/// Returns the request of a party with these flags.
pub fn request(
    parameters: &ParameterArguments,
    resources: &ResourceFlags,
    choice: &ProtocolFlags,
    cut: &CutArguments,
    line: LinkSpeed,
    store: Option<&StoreRequest>,
) -> RunRequest<Protocols> {
    RunRequest {
        resources: resources.of_request(),
        buckets: choice.buckets,
        cut: cut.cut.clone(),
        line,
        stored: store.is_some(),
        lacking: store.map_or(Lacking::Make, StoreRequest::lacking),
        ..RunRequest::new(parameters.of_request())
    }
}

/// A simulated network.
#[derive(Args)]
pub struct LinkArguments {
    /// Simulate a network of this bandwidth in each direction, such as 200Mbit
    #[arg(long, value_name = "RATE", value_parser = link::bits_per_second)]
    pub bandwidth: Option<u64>,
    /// Simulate a network of this round-trip time, such as 96ms
    #[arg(long, value_name = "TIME", value_parser = link::time)]
    pub rtt: Option<Duration>,
}

impl LinkArguments {
    /// Returns the network to simulate.
    pub fn line(&self) -> LinkSpeed {
        LinkSpeed { bits_per_second: self.bandwidth, rtt: self.rtt.unwrap_or_default() }
    }
}

/// The address of the peer.
#[derive(Args)]
#[group(multiple = false)]
pub struct Address {
    /// Wait for the peer at this address of this machine; port 0 lets the system choose
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<String>,
    /// Connect to the peer, which listens at this address
    #[arg(long, value_name = "HOST:PORT")]
    pub connect: Option<String>,
}

impl Address {
    /// Returns the way to reach the peer.
    pub fn endpoint(&self) -> Result<Endpoint, Failure> {
        match (&self.listen, &self.connect) {
            (Some(address), _) => Ok(Endpoint::Listen(address.clone())),
            (None, Some(address)) => Ok(Endpoint::Connect(address.clone())),
            (None, None) => Err(no_address()),
        }
    }
}

/// Returns the error for a party without an address.
pub fn no_address() -> Failure {
    Failure::usage(
        "--listen or --connect is missing",
        "one party gives --listen HOST:PORT, and the other party gives --connect with that address",
    )
}

/// The flag with which a listener continues to wait after it has refused a peer.
#[derive(Args)]
pub struct KeepFlag {
    /// With --listen: tell a peer with another program, other flags or another version the reason, and go on
    /// waiting. The command ends after the first run that begins, whether it succeeds (code 0), is
    /// interrupted (4) or the peer cheats (5)
    #[arg(long, conflicts_with = "connect")]
    pub keep: bool,
}
