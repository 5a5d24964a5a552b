//! The request for a run: its protocol, its parameters and its resources. Commands, services and Python make
//! a request, and the engine decides how to run it.

use std::fmt;
use std::str::FromStr;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use brickwork_authenticated::Authenticated;
use brickwork_circuit::{Party, Program};
use brickwork_compgc::{CompGc, Linking};
use brickwork_duplo::{self as duplo, Duplo};
use brickwork_jimu::Jimu;
use brickwork_lego::Lego;
use brickwork_plan::{self as plan, Machine};
use brickwork_primitives::ot::Cot;
use brickwork_protocol::SessionProtocol as _;
use brickwork_protocol::stock::Lacking;
use brickwork_semi_honest::SemiHonest;
use brickwork_wire::tls;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cut::CutChoice;
use crate::failure::Error;

/// A protocol of the family, or one that the caller [has registered](super::protocols::register).
///
/// ```
/// use brickwork::Protocol;
///
/// assert_eq!("duplo".parse(), Ok(Protocol::DUPLO));
/// assert!(Protocol::all().iter().all(|protocol| protocol.name().parse() == Ok(*protocol)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Protocol(&'static str);

/// The protocols that the caller has registered.
static REGISTERED: RwLock<Vec<Protocol>> = RwLock::new(Vec::new());

impl Protocol {
    /// Components in buckets, soldered by commitments; secure against a cheater.
    pub const DUPLO: Protocol = Protocol(Duplo::NAME);
    /// Yao's protocol with half-gates; secure against a peer that follows it.
    pub const SEMI_HONEST: Protocol = Protocol(SemiHonest::NAME);
    /// Components garbled ahead of time and linked online; secure against a peer that follows it.
    pub const COMPGC: Protocol = Protocol(CompGc::NAME);
    /// Gates or components in buckets with hashed wires; secure against a cheater.
    pub const JIMU: Protocol = Protocol(Jimu::NAME);
    /// AND gates in buckets that fit any program; secure against a cheater.
    pub const LEGO: Protocol = Protocol(Lego::NAME);
    /// Components with authenticated masks, each garbled once; secure against a cheater.
    pub const AUTHENTICATED: Protocol = Protocol(Authenticated::NAME);

    /// The protocols of the family, in the order in which users see them.
    pub const FAMILY: [Protocol; 6] = [
        Protocol::DUPLO,
        Protocol::SEMI_HONEST,
        Protocol::COMPGC,
        Protocol::JIMU,
        Protocol::LEGO,
        Protocol::AUTHENTICATED,
    ];

    /// The protocol that makes new stock if the user names none. Both parties must make stock of the same
    /// protocol before a program is known. DUPLO's runs from stock send the fewest bytes.
    pub const OF_NEW_STOCK: Protocol = Protocol::DUPLO;

    /// Returns the protocols of the family, followed by those that the caller has registered.
    pub fn all() -> Vec<Protocol> {
        let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
        Self::FAMILY.into_iter().chain(registered.iter().copied()).collect()
    }

    /// Adds a protocol with a new name.
    ///
    /// # Errors
    /// An error of usage if a protocol has this name.
    pub(super) fn add(name: &'static str) -> Result<Protocol, Error> {
        let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
        let new = Protocol(name);
        if Self::FAMILY.contains(&new) || registered.contains(&new) {
            return Err(Error::usage(format!("there is a protocol called {name}"), "choose another name"));
        }
        registered.push(new);
        Ok(new)
    }

    /// Returns the name that users give.
    pub fn name(self) -> &'static str {
        self.0
    }
}

impl Serialize for Protocol {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0)
    }
}

impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let all = Self::all();
        let named = all.iter().copied().find(|protocol| protocol.name() == name);
        let names = || all.iter().map(|protocol| protocol.name()).collect::<Vec<_>>().join(", ");
        named.ok_or_else(|| format!("the protocols are {}", names()))
    }
}

/// Returns the correlated OTs of this name.
pub fn cot(name: &str) -> Result<Cot, String> {
    let named = Cot::ALL.into_iter().find(|cot| cot.name() == name);
    named.ok_or_else(|| format!("the correlated OTs are {}", Cot::ALL.map(Cot::name).join(", ")))
}

/// Returns the way to link components that has this name.
pub fn linking(name: &str) -> Result<Linking, String> {
    let named = Linking::ALL.into_iter().find(|linking| linking.name() == name);
    named.ok_or_else(|| {
        format!("the ways to link components are {}", Linking::ALL.map(Linking::name).join(", "))
    })
}

/// Reads the name of a commitment scheme; there is one.
pub fn commitments(name: &str) -> Result<(), String> {
    if name == "split" { Ok(()) } else { Err("the only commitment scheme is split".into()) }
}

/// Reads the choice of buckets.
pub fn buckets(name: &str) -> Result<BucketChoice, String> {
    match name {
        "fastest" => Ok(BucketChoice::Fastest),
        "standard" => Ok(BucketChoice::Standard),
        _ => Err("buckets are fastest or standard".into()),
    }
}

/// Reads the statistical security in bits.
pub fn security(text: &str) -> Result<u32, String> {
    match text {
        "40" => Ok(40),
        "64" => Ok(64),
        "80" => Ok(80),
        _ => Err("the statistical security must be 40, 64 or 80 bits".into()),
    }
}

/// Half-gates: the garbling scheme of every protocol.
#[derive(Clone, Copy, Debug)]
pub struct OnlyHalfGates;

/// Returns the garbling scheme of this name.
pub fn scheme(name: &str) -> Result<OnlyHalfGates, String> {
    match name {
        "half-gates" => Ok(OnlyHalfGates),
        "ga" | "gax" | "gaxr" => Err(format!(
            "{name} is only for research, with `brickwork garble --scheme {name}`: no protocol is proven \
             secure with it against a cheating garbler, because soldering and checks rest on half-gates \
             with one offset"
        )),
        "privacy-free" => Err("privacy-free shows the evaluator every bit of the inputs, so no protocol \
                               uses it; it is only for research, with `brickwork garble --scheme \
                               privacy-free`"
            .into()),
        _ => Err("protocols garble only with half-gates".into()),
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
        other => {
            return Err(format!("{other} is not a unit of bytes; expected a size such as 4GiB or 500MB"));
        }
    };
    let bytes =
        digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit)).filter(|&bytes| bytes > 0);
    bytes.ok_or_else(|| "expected a size such as 4GiB or 500MB".into())
}

/// Statistical security in bits, if a request does not name one.
pub const SECURITY: u32 = 40;

/// The parameters that both parties must give alike, apart from the program. `P` is one protocol, or several
/// while the choice is open.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgreedParameters<P = Protocol> {
    /// The protocol.
    pub protocol: P,
    /// The way in which CompGC links components.
    pub linking: Option<Linking>,
    /// The correlated OTs of authenticated masks.
    pub cot: Option<Cot>,
    /// True if the user named the commitment scheme; only one exists.
    pub commitments: bool,
    /// Statistical security in bits: 40, 64 or 80.
    pub security: Option<u32>,
    /// True if base OTs use lattices, which resist quantum computers.
    pub post_quantum: bool,
    /// The number of executions of the program; then each value is an array.
    pub executions: Option<u32>,
}

impl<P> AgreedParameters<P> {
    /// Makes parameters with this protocol and nothing else chosen.
    pub fn new(protocol: P) -> Self {
        AgreedParameters {
            protocol,
            linking: None,
            cot: None,
            commitments: false,
            security: None,
            post_quantum: false,
            executions: None,
        }
    }

    /// Returns the statistical security in bits.
    pub fn security(&self) -> u32 {
        self.security.unwrap_or(SECURITY)
    }

    /// Returns the OTs for masks if no price is compared: the named OTs, or else the OTs that are fastest on
    /// most networks.
    pub fn cot(&self) -> Cot {
        self.cot.unwrap_or_default()
    }

    /// Returns the way in which components are linked, if the protocol links them.
    pub fn linking(&self) -> Linking {
        self.linking.unwrap_or(Linking::Standard)
    }

    /// Returns these parameters with this protocol.
    pub fn with<Q>(&self, protocol: Q) -> AgreedParameters<Q> {
        let AgreedParameters { linking, cot, commitments, security, post_quantum, executions, .. } = *self;
        AgreedParameters { protocol, linking, cot, commitments, security, post_quantum, executions }
    }
}

/// The buckets that a garbler proposes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BucketChoice {
    /// The buckets that are predicted to be fastest.
    #[default]
    Fastest,
    /// The same buckets on every machine.
    Standard,
}

impl BucketChoice {
    /// Returns the parameters of DUPLO for a program.
    ///
    /// # Errors
    /// An error of usage if no parameters reach this security.
    pub fn choose(
        self,
        program: &Program,
        security: u32,
        machine: &Machine,
        link: &plan::Link,
    ) -> Result<duplo::Parameters, Error> {
        Ok(match self {
            BucketChoice::Fastest => duplo::cost::choose(program, security, machine, link)?,
            BucketChoice::Standard => duplo::Parameters::choose(program, security)?,
        })
    }

    /// Returns the parameters among which [`Self::choose`] chooses. They differ in the buckets of the
    /// dominant component.
    ///
    /// # Errors
    /// As [`Self::choose`].
    pub fn candidates(
        self,
        program: &Program,
        security: u32,
        machine: &Machine,
        link: &plan::Link,
    ) -> Result<Vec<duplo::Parameters>, Error> {
        Ok(match self {
            BucketChoice::Fastest => duplo::cost::candidates(program, security, machine, link)?,
            BucketChoice::Standard => duplo::Parameters::choose(program, security)?.alternatives(program)?,
        })
    }
}

/// The network between the parties.
///
/// ```
/// use std::time::Duration;
///
/// let link = brickwork::LinkSpeed { bits_per_second: Some(100_000_000), rtt: Duration::from_millis(20) };
/// assert!(!link.is_perfect());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSpeed {
    /// Bits per second in each direction; unlimited if none.
    pub bits_per_second: Option<u64>,
    /// The round-trip time.
    pub rtt: Duration,
}

impl LinkSpeed {
    /// Returns the network for the planner, with this number of connections.
    pub fn with_lanes(self, lanes: u8) -> plan::Link {
        let bits_per_second = self.bits_per_second.map(|rate| rate as f64);
        plan::Link { bits_per_second, rtt_seconds: self.rtt.as_secs_f64(), lanes }
    }

    /// Returns whether no limit of the network is known.
    pub fn is_perfect(&self) -> bool {
        *self == LinkSpeed::default()
    }
}

/// The resources that each party chooses for itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Resources {
    /// The number of threads; all cores if none.
    pub threads: Option<u16>,
    /// The number of connections that carry bulk data in parallel.
    pub lanes: u8,
    /// The largest predicted memory of a run that is allowed, in bytes.
    pub max_ram: Option<u64>,
    /// The time after which a silent peer is an error.
    pub timeout: Duration,
}

impl Default for Resources {
    fn default() -> Self {
        Resources { threads: None, lanes: 1, max_ram: None, timeout: Duration::from_secs(10) }
    }
}

impl Resources {
    /// Returns the number of threads.
    pub fn threads(&self) -> usize {
        self.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()), usize::from)
    }

    /// Returns the options of a party's connection.
    pub fn options(&self, party: Party) -> tls::EndpointOptions {
        tls::EndpointOptions { party, lanes: self.lanes, timeout: self.timeout }
    }
}

/// A request to run a program by one protocol, or by several while the choice is open.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRequest<P = Protocol> {
    /// The parameters that both parties must have alike.
    pub parameters: AgreedParameters<P>,
    /// The resources of this party.
    pub resources: Resources,
    /// The buckets that a garbler proposes.
    pub buckets: BucketChoice,
    /// The cut that this party proposes or accepts.
    pub cut: CutChoice,
    /// The network to the peer, as far as it is known.
    pub line: LinkSpeed,
    /// True if the run takes items from a store.
    pub stored: bool,
    /// The reaction to items that are missing in the store: make them, or refuse the run.
    pub lacking: Lacking,
    /// True if the evaluator keeps a file where it notes a garbler's cheat that must not show
    /// elsewhere.
    pub notes_recovery: bool,
    /// True if a plan draws the compared choices as a chart.
    pub drawn: bool,
}

impl<P> RunRequest<P> {
    /// Makes a request with this protocol and nothing else chosen.
    pub fn new(parameters: AgreedParameters<P>) -> Self {
        RunRequest {
            parameters,
            resources: Resources::default(),
            buckets: BucketChoice::Fastest,
            cut: CutChoice::Fastest,
            line: LinkSpeed::default(),
            stored: false,
            lacking: Lacking::Make,
            notes_recovery: false,
            drawn: false,
        }
    }

    /// Returns this request with one protocol.
    pub fn with<Q>(&self, protocol: Q) -> RunRequest<Q> {
        let RunRequest { parameters, resources, buckets, cut, line, stored, lacking, notes_recovery, drawn } =
            self;
        RunRequest {
            parameters: parameters.with(protocol),
            resources: *resources,
            buckets: *buckets,
            cut: cut.clone(),
            line: *line,
            stored: *stored,
            lacking: *lacking,
            notes_recovery: *notes_recovery,
            drawn: *drawn,
        }
    }
}
