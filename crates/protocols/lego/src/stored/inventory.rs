//! Lists the stored items of LEGO in a form for people.

use super::needs::{Request, kind};
use super::origins::{CutAndChoose, Header, bound_of_epoch};
use crate::report::Lego;
use brickwork_base::Error;
use brickwork_circuit::Program;
use brickwork_primitives::cut_and_choose::{Bucketing, Upper};
use brickwork_session::Protocol;
use brickwork_session::stock::inventory::{CutInventory, Inventory, Kinds, inventory_of};
use brickwork_session::stock::records::Batches;
use brickwork_stock::{Batch, Epoch, EpochId, GivenUp, Store};

/// Returns the inventory of the parts of a store that belong to LEGO, oldest first, with burned epochs.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub fn inventory(store: &Store) -> Result<Vec<Inventory>, Error> {
    inventory_of::<Ours>(store)
}

struct Ours;

fn cut(of: &'static str, bucketing: &Bucketing) -> CutInventory {
    let Bucketing { bucket: bucket_size, opened, .. } = *bucketing;
    CutInventory { of, bucket_size, items: bucketing.copies(), opened }
}

impl Kinds for Ours {
    const PROTOCOL: &'static str = Lego::NAME;

    fn kind(batch: &Batch) -> &'static str {
        match batch.kind {
            kind::GATES => "gates",
            kind::INPUTS => "input authenticators",
            kind::PROGRAM => "program",
            _ => "ots",
        }
    }

    fn cuts(batch: &Batch, _: GivenUp) -> Result<(Vec<CutInventory>, Option<f64>), Error> {
        if batch.kind == kind::PROGRAM {
            // The items of a built program count in the batches from which they come.
            return Ok((Vec::new(), None));
        }
        let header = Header::decode(&batch.header)?;
        let mut cuts = Vec::new();
        let mut bound = Upper::ZERO;
        for origin in &header.origins {
            bound = bound + origin.cut.bound(header.security);
            match &origin.cut {
                CutAndChoose::Gates(mixed) => cuts
                    .extend([cut("gates", &mixed.gates), cut("wire authenticators", &mixed.authenticators)]),
                CutAndChoose::Inputs(inputs) => cuts.push(cut("input authenticators", inputs)),
            }
        }
        Ok((cuts, (!header.origins.is_empty()).then(|| bound.log2())))
    }

    fn bound_log2(store: &Store, id: &EpochId, epoch: &Epoch) -> Result<Option<f64>, Error> {
        Ok(Some(bound_of_epoch(store, id, epoch.security.whole()?)?.log2()))
    }

    fn risk_log2(risk: u128) -> Option<f64> {
        Some(Upper::fixed(risk).log2())
    }
}

/// Counts the executions of a program for which a part of a store has enough items. The count includes built
/// executions, and those for which there are gates, inputs and OTs. The count ignores the bound. A lost part
/// of a store has no executions.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered, or as [`Request::of`].
pub fn executions(part: &Inventory, store: &Store, program: &Program) -> Result<u64, Error> {
    if part.is_lost() {
        return Ok(0);
    }
    let there = Batches::of(store, &part.id)?;
    let digest = program.digest();
    let built = there.of_kind(kind::PROGRAM).filter(|left| left.batch.component == digest);
    Ok(built.map(|left| left.left).sum::<u64>() + Request::of(program)?.suffices(&there))
}
