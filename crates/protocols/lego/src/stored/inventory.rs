//! Lists the stored items of LEGO in a form for people.

use super::needs::{Request, kind};
use super::origins::{CutAndChoose, Header, bound_of_epoch};
use crate::report::Lego;
use brickwork_base::Error;
use brickwork_circuit::Program;
use brickwork_primitives::cut_and_choose::{Bucketing, Upper};
use brickwork_protocol::stock::inventory::{CutInventory, ItemKinds};
use brickwork_protocol::stock::records::Batches;
use brickwork_store::{Batch, Epoch, EpochId, GivenUp, Store};

fn cut(of: &'static str, bucketing: &Bucketing) -> CutInventory {
    let Bucketing { bucket: bucket_size, opened, .. } = *bucketing;
    CutInventory { of, bucket_size, items: bucketing.copies(), opened }
}

impl ItemKinds for Lego {
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

    /// The programs that are built, and those for which there are gates, inputs and OTs.
    fn executions(there: &Batches, program: &Program) -> Result<u64, Error> {
        let digest = program.digest();
        let built = there.of_kind(kind::PROGRAM).filter(|left| left.batch.component == digest);
        Ok(built.map(|left| left.left).sum::<u64>() + Request::of(program)?.suffices(there))
    }
}
