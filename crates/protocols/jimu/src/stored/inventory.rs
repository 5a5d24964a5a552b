//! The inventory of JIMU's part of a store.

use brickwork_base::Error;
use brickwork_circuit::Program;
use brickwork_primitives::cut_and_choose::Upper;
use brickwork_protocol::stock::inventory::{CutInventory, ItemKinds};
use brickwork_protocol::stock::records::Batches;
use brickwork_store::{Batch, Epoch, EpochId, GivenUp, Store};

use super::needs::{Request, kind};
use super::origins::{Header, Origin, bound_of_epoch};
use crate::parameters::Unit;
use crate::report::Jimu;

impl ItemKinds for Jimu {
    fn kind(batch: &Batch) -> &'static str {
        match batch.kind {
            kind::GATES => "gates",
            kind::COPIES => "component",
            kind::INPUTS => "inputs",
            _ => "ots",
        }
    }

    fn cuts(batch: &Batch, _: GivenUp) -> Result<(Vec<CutInventory>, Option<f64>), Error> {
        let Some(Origin { cut, .. }) = Origin::of(0, batch)? else { return Ok((Vec::new(), None)) };
        let level = Header::decode(&batch.header)?.level()?;
        let shown = CutInventory {
            of: match cut.unit {
                Unit::Gates => "gates",
                Unit::Components => "copies",
            },
            bucket_size: cut.bucketing.bucket,
            items: cut.bucketing.copies(),
            opened: cut.bucketing.opened,
        };
        Ok((vec![shown], Some(cut.bound(&level).log2())))
    }

    fn bound_log2(store: &Store, id: &EpochId, epoch: &Epoch) -> Result<Option<f64>, Error> {
        Ok(Some(bound_of_epoch(store, id, epoch.security.whole()?)?.log2()))
    }

    fn risk_log2(risk: u128) -> Option<f64> {
        Some(Upper::fixed(risk).log2())
    }

    /// The number of executions, first by gates and then by components.
    fn executions(there: &Batches, program: &Program) -> Result<u64, Error> {
        let [gates, components] = [Unit::Gates, Unit::Components].map(|unit| Request::of(program, unit));
        let (gates, components) = (gates?, components?);
        let inputs = Request { gates: 0, components: Vec::new(), ..gates.clone() };
        if inputs == gates {
            return Ok(inputs.suffices(there));
        }
        let without = |request: Request| Request { inputs: 0, ots: 0, ..request }.suffices(there);
        let buckets = without(gates).saturating_add(without(components));
        Ok(if inputs.is_empty() { buckets } else { buckets.min(inputs.suffices(there)) })
    }
}
