//! Describes DUPLO's items in a store for users.

use super::batches::{bound_of_epoch, counts, kind};
use super::records::Header;
use crate::parameters::known_bound;
use crate::report::Duplo;
use brickwork_base::Error;
use brickwork_circuit::{Party, Program};
use brickwork_primitives::cut_and_choose::{BatchKind, Upper};
use brickwork_protocol::stock::inventory::{CutInventory, ItemKinds};
use brickwork_protocol::stock::records::Batches;
use brickwork_store::{Batch, Epoch, EpochId, GivenUp, Store};

impl ItemKinds for Duplo {
    fn kind(batch: &Batch) -> &'static str {
        match batch.kind {
            kind::COMPONENT => "component",
            kind::INPUT => "input authenticators",
            _ => "ots",
        }
    }

    fn cuts(batch: &Batch, given_up: GivenUp) -> Result<(Vec<CutInventory>, Option<f64>), Error> {
        let header = Header::decode(&batch.header, given_up)?;
        let cuts = header.origins.iter().map(|origin| CutInventory {
            of: match origin.kind {
                BatchKind::Component => "copies",
                BatchKind::KeyAuthenticator => "key authenticators",
                BatchKind::InputAuthenticator => "input authenticators",
            },
            bucket_size: origin.bucketing.bucket,
            items: origin.bucketing.copies(),
            opened: origin.bucketing.opened,
        });
        let bound: Upper = header.origins.iter().map(|o| known_bound(o.kind, o.bucketing)).sum();
        Ok((cuts.collect(), (!header.origins.is_empty()).then(|| bound.log2())))
    }

    fn bound_log2(store: &Store, id: &EpochId, epoch: &Epoch) -> Result<Option<f64>, Error> {
        Ok(Some(bound_of_epoch(store, id, epoch.security)?.log2()))
    }

    fn risk_log2(risk: u128) -> Option<f64> {
        Some(Upper::fixed(risk).log2())
    }

    fn executions(there: &Batches, program: &Program) -> Result<u64, Error> {
        let counts = counts(there);
        let mut needs: Vec<(usize, usize)> = Vec::new();
        let slots = program.slots_by_component();
        for digest in program.component_digests() {
            // A program can have one component under several names.
            let needed = program
                .component_digests()
                .iter()
                .zip(&slots)
                .filter(|(d, _)| *d == digest)
                .map(|(_, slots)| slots)
                .sum();
            needs.push((counts.components.get(digest).copied().unwrap_or(0), needed));
        }
        needs.push((counts.input, crate::steps::garbler_wires(program)));
        needs.extend(counts.ots.map(|ots| (ots, program.input_width(Party::Evaluator))));
        Ok(needs.into_iter().filter_map(|(left, needed)| left.checked_div(needed)).min().unwrap_or(0) as u64)
    }
}
