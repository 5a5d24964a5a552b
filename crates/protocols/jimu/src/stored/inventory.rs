//! What a store holds of JIMU's, for people.

use brickwork_base::Error;
use brickwork_circuit::Program;
use brickwork_primitives::cut_and_choose::{Bucketing, Upper};
use brickwork_session::Protocol;
use brickwork_session::stock::inventory::{CutInventory, Inventory, Kinds, inventory_of};
use brickwork_session::stock::records::Batches;
use brickwork_stock::{Batch, Epoch, EpochId, GivenUp, Store};

use super::needs::{Request, kind};
use super::origins::{Header, bound_of_epoch};
use crate::report::Jimu;

/// Returns what a store holds of this protocol, oldest first; burned epochs too.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub fn inventory(store: &Store) -> Result<Vec<Inventory>, Error> {
    inventory_of::<Ours>(store)
}

/// JIMU's batches.
struct Ours;

impl Kinds for Ours {
    const PROTOCOL: &'static str = Jimu::NAME;

    fn kind(batch: &Batch) -> &'static str {
        match batch.kind {
            kind::GATES => "gates",
            kind::INPUTS => "inputs",
            _ => "ots",
        }
    }

    fn cuts(batch: &Batch, _: GivenUp) -> Result<(Vec<CutInventory>, Option<f64>), Error> {
        let cut = |bucketing: Bucketing| {
            let Bucketing { bucket: bucket_size, opened, .. } = bucketing;
            CutInventory { of: "gates", bucket_size, items: bucketing.copies(), opened }
        };
        let header = Header::decode(&batch.header)?;
        let cuts = header.cut.map(|gates| cut(gates.0));
        Ok((cuts.into_iter().collect(), header.bound_log2()?))
    }

    fn bound_log2(store: &Store, id: &EpochId, epoch: &Epoch) -> Result<Option<f64>, Error> {
        Ok(Some(bound_of_epoch(store, id, epoch.security.whole()?)?.log2()))
    }

    fn risk_log2(risk: u128) -> Option<f64> {
        Some(Upper::fixed(risk).log2())
    }
}

/// Counts the executions of a program that a part of a store makes, leaving aside what the bound allows. None
/// while a part of it is missing.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered, or as [`Request::of`].
pub fn executions(part: &Inventory, store: &Store, program: &Program) -> Result<u64, Error> {
    match part.is_lost() {
        true => Ok(0),
        false => Ok(Request::of(program)?.suffices(&Batches::of(store, &part.id)?)),
    }
}
