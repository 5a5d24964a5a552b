//! The registry of the protocols, as the engine runs them. A new protocol of the family adds a file to this
//! folder, a name to [`Protocol`] and an element to `FAMILY`. Callers [`register`] protocols of their own.

mod authenticated;
mod compgc;
mod duplo;
mod jimu;
mod lego;
mod seam;
mod semi_honest;

use std::sync::{PoisonError, RwLock};

use brickwork_authenticated::Authenticated;
use brickwork_base::Error as ProtocolError;
use brickwork_circuit::Program;
use brickwork_compgc::CompGc;
use brickwork_duplo::Duplo;
use brickwork_jimu::Jimu;
use brickwork_lego::Lego;
use brickwork_protocol::Model;
use brickwork_protocol::stock::inventory::Inventory;
use brickwork_semi_honest::SemiHonest;
use brickwork_store::Store;

use super::request::{AgreedParameters, Protocol, RunRequest};
use super::sessions::Begin;
use crate::failure::Error;

pub use duplo::Proposed;
pub use seam::{EngineProtocol, Only, PreparedRun, RunResult, says_nothing};

/// Returns the contents of a store, of all protocols, oldest first.
///
/// # Errors
/// If the store cannot be read or was altered.
pub fn inventory(store: &Store) -> Result<Vec<Inventory>, ProtocolError> {
    let mut all = Vec::new();
    for stocks in Protocol::all().into_iter().filter_map(|protocol| played(protocol).stocks()) {
        all.extend(stocks.inventory(store)?);
    }
    all.sort_by_key(|part| part.epoch.created);
    Ok(all)
}

/// Counts the executions of a program for which a part of a store has enough items, in any protocol.
///
/// # Errors
/// As [`inventory`].
pub fn executions(part: &Inventory, store: &Store, program: &Program) -> Result<u64, ProtocolError> {
    let made_by = |protocol: &Protocol| protocol.name() == part.epoch.protocol;
    let stocks = Protocol::all().into_iter().find(made_by).and_then(|protocol| played(protocol).stocks());
    stocks.map_or(Ok(0), |stocks| stocks.executions(part, store, program))
}

/// The protocols of the family.
pub(crate) static FAMILY: [&dyn EngineProtocol; 6] =
    [&Duplo, &SemiHonest, &CompGc, &Jimu, &Lego, &Authenticated];

/// The protocols that the caller has registered.
static REGISTERED: RwLock<Vec<(Protocol, &'static dyn EngineProtocol)>> = RwLock::new(Vec::new());

/// Adds a protocol of the caller: from now on runs, plans and options accept its name. Both parties must add
/// the protocol.
///
/// # Errors
/// An error of usage if a protocol has this name.
pub fn register(name: &'static str, played: &'static dyn EngineProtocol) -> Result<Protocol, Error> {
    // The lock is taken first, so a caller who finds the name also finds the protocol.
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let protocol = Protocol::add(name)?;
    registered.push((protocol, played));
    Ok(protocol)
}

/// Returns the implementation of a protocol.
pub fn played(protocol: Protocol) -> &'static dyn EngineProtocol {
    let family = Protocol::FAMILY.into_iter().zip(FAMILY);
    if let Some((_, played)) = family.into_iter().find(|(known, _)| *known == protocol) {
        return played;
    }
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    match registered.iter().find(|(known, _)| *known == protocol) {
        Some((_, played)) => *played,
        None => unreachable!("only the registry makes protocols"),
    }
}

impl AgreedParameters {
    /// Returns the protocol with the flags that both parties must give alike.
    pub fn way(&self) -> String {
        let base_ots = if self.post_quantum { " --post-quantum" } else { "" };
        format!("{}{}{base_ots}", self.protocol, played(self.protocol).way(self))
    }
}

/// Returns the function with which a protocol begins a session in memory.
///
/// # Errors
/// An error of usage if the protocol has no such sessions.
pub fn sessions(protocol: Protocol) -> Result<Begin, Error> {
    played(protocol).sessions().ok_or_else(|| {
        Error::usage(
            format!("a session with --protocol {protocol} needs a store"),
            "give --protocol duplo or authenticated; or use a store, from Rust or from Python",
        )
    })
}

/// Logs the warning that users must see before they trust this protocol.
pub fn warn(protocol: Protocol) {
    if let Some(warning) = played(protocol).warning() {
        tracing::warn!("{warning}");
    }
}

/// The reason why `--cot` has no effect.
pub(super) const ONE_COT: &str = "this protocol has only one kind of correlated OTs";

/// Refuses flags that have no effect with this protocol or with the other flags, so that no user relies on
/// them.
///
/// # Errors
/// A mistake of usage that names the flag.
pub fn allows(request: &RunRequest) -> Result<(), Error> {
    if request.parameters.post_quantum && request.stored {
        return Err(Error::usage(
            "--post-quantum cannot be used with a store: the security of stock rests on base OTs from an \
             elliptic curve",
            "leave out --store or --post-quantum",
        ));
    }
    let protocol = request.parameters.protocol;
    let played = played(protocol);
    let cot = request.parameters.cot.is_some() && !played.has_cots();
    says_nothing(protocol.name(), &[(cot, "--cot", ONE_COT)])?;
    played.allows(request)
}

/// Returns all ways in which a protocol can run this number of executions. Protocols that are secure against
/// a cheater have this statistical security.
pub fn ways(protocol: Protocol, security: Option<u32>, executions: Option<u32>) -> Vec<AgreedParameters> {
    let played = played(protocol);
    let security = security.filter(|_| played.model() == Model::Malicious);
    played.ways(&AgreedParameters { security, executions, ..AgreedParameters::new(protocol) })
}
