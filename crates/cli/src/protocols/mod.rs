//! The protocols of the family, as the command plays them. One that comes brings a file of this folder, its
//! name among [`Protocol`] and its line in [`played`].

mod authenticated;
mod compgc;
mod duplo;
mod jimu;
mod lego;
mod seam;
mod semi_honest;

use brickwork::ProtocolError as Error;
use brickwork::authenticated::Authenticated;
use brickwork::circuit::Program;
use brickwork::compgc::CompGc;
use brickwork::duplo::Duplo;
use brickwork::jimu::Jimu;
use brickwork::lego::Lego;
use brickwork::semi_honest::SemiHonest;
use brickwork::session::stock::inventory::Inventory;
use brickwork::session::{Model, Promise};
use brickwork::stock::Store;
use clap::ValueEnum;
use serde_json::Value;

use crate::arguments::{Executions, Parameters, Protocol};
use crate::failure::Failure;
use crate::work::Choices;

pub use duplo::Proposed;
pub use jimu::cut_of_a_run;
pub use seam::{Done, Only, Played, Ready, says_nothing};

/// Returns what a store holds, of any protocol, oldest first.
///
/// # Errors
/// If the store cannot be read or was altered.
pub fn inventory(store: &Store) -> Result<Vec<Inventory>, Error> {
    let mut all = Vec::new();
    for stocks in Protocol::value_variants().iter().filter_map(|protocol| played(*protocol).stocks()) {
        all.extend(stocks.inventory(store)?);
    }
    all.sort_by_key(|part| part.epoch.created);
    Ok(all)
}

/// Counts the executions of a program that a part of a store makes, in whatever protocol made it.
///
/// # Errors
/// As [`inventory`].
pub fn executions(part: &Inventory, store: &Store, program: &Program) -> Result<u64, Error> {
    let made_by = |protocol: &&Protocol| protocol.name() == part.epoch.protocol;
    let stocks =
        Protocol::value_variants().iter().find(made_by).and_then(|protocol| played(*protocol).stocks());
    stocks.map_or(Ok(0), |stocks| stocks.executions(part, store, program))
}

/// Returns the protocol of this name.
pub fn played(protocol: Protocol) -> &'static dyn Played {
    match protocol {
        Protocol::Duplo => &Duplo,
        Protocol::SemiHonest => &SemiHonest,
        Protocol::CompGc => &CompGc,
        Protocol::Jimu => &Jimu,
        Protocol::Lego => &Lego,
        Protocol::Authenticated => &Authenticated,
    }
}

/// Logs what users are to be warned of before they trust a run to this protocol.
pub fn warn(protocol: Protocol) {
    if let Some(warning) = played(protocol).warning() {
        tracing::warn!("{warning}");
    }
}

/// Refuses flags that say nothing in the protocol that they name, so that nobody believes they did, or that
/// go with nothing else here.
///
/// # Errors
/// A mistake of usage that names the flag.
pub fn allows(choices: &Choices) -> Result<(), Failure> {
    if choices.parameters.post_quantum && choices.stored {
        return Err(Failure::usage(
            "--post-quantum does not go with a store: what is in stock rests on base OTs from an elliptic \
             curve",
            "leave --store or --post-quantum out",
        ));
    }
    let protocol = choices.parameters.protocol;
    if choices.parameters.cot.is_some() && protocol != Protocol::Authenticated {
        let why = "it has one kind of correlated OTs";
        return says_nothing(protocol.name(), &[(true, "--cot", why)]);
    }
    played(protocol).allows(choices)
}

/// Returns the promise of a run in words, from the JSON of its report.
pub fn promise_text(report: &Value) -> String {
    let promise = serde_json::from_value::<Promise>(report["promise"].clone());
    let mut text = promise.map_or(String::new(), |promise| promise.to_string());
    if report["post_quantum"] == true {
        text += "Base OTs from ML-KEM-768, keys of TLS from ML-KEM-768 and X25519 together: nothing that \
                 was hidden rests on discrete logarithms alone; that the peer is who its key says still \
                 does (Ed25519)\n";
    }
    text
}

/// Returns all ways in which a protocol runs a program so often; one that holds against a cheater does so up
/// to 2^-S with this S.
pub fn ways(protocol: Protocol, security: Option<u32>, executions: Option<u32>) -> Vec<Parameters> {
    let played = played(protocol);
    played.ways(&Parameters {
        protocol,
        linking: None,
        cot: None,
        scheme: None,
        commitments: None,
        post_quantum: false,
        security: security.filter(|_| played.model() == Model::Malicious),
        executions: Executions { executions },
    })
}
