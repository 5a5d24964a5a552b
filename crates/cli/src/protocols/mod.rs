//! The protocols of the family, as the command plays them. One that comes brings a file of this folder, its
//! name among [`Protocol`] and its line in [`played`].

mod compgc;
mod duplo;
mod jimu;
mod seam;
mod semi_honest;

use brickwork::Error;
use brickwork::circuit::Program;
use brickwork::compgc::CompGc;
use brickwork::duplo::Duplo;
use brickwork::jimu::Jimu;
use brickwork::semi_honest::SemiHonest;
use brickwork::session::stock::inventory::Inventory;
use brickwork::stock::Store;
use clap::ValueEnum;

use crate::arguments::Protocol;

pub use duplo::Proposed;
pub use seam::{Done, Only, Played, Ready};

/// What a store holds, of any protocol, oldest first.
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

/// The protocol of this name.
pub fn played(protocol: Protocol) -> &'static dyn Played {
    match protocol {
        Protocol::Duplo => &Duplo,
        Protocol::SemiHonest => &SemiHonest,
        Protocol::CompGc => &CompGc,
        Protocol::Jimu => &Jimu,
    }
}
