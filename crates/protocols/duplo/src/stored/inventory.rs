//! What a store holds, for people.

use serde::Serialize;

use super::batches::{bound_of_epoch, counts, kind};
use super::records::Header;
use super::side::PROTOCOL;
use crate::parameters::known_bound;
use brickwork_base::Error;
use brickwork_circuit::{Party, Program};
use brickwork_primitives::cut_and_choose::{BatchKind, Upper};
use brickwork_session::stock::records::Batches;
use brickwork_stock::{Entry, Epoch, EpochId, PairId, Serial, State, Store};

/// An epoch of a store.
#[derive(Clone, Debug)]
pub struct Inventory {
    /// Its identifier, the same at both parties.
    pub id: EpochId,
    /// What it is for.
    pub epoch: Epoch,
    /// The pair of stores that it is of.
    pub pair: Option<PairId>,
    /// Where its log stands: the same at both parties between two runs.
    pub state: State,
    /// The steps that were begun in it and not made.
    pub given_up: GivenUpInventory,
    /// Programs that took from it.
    pub uses: u64,
    /// Steps of the last preprocessing that are made, and of how many.
    pub progress: Option<(u32, u32)>,
    /// What it holds, and what it held.
    pub batches: Vec<BatchInventory>,
    /// Base-2 logarithm of the bound on a cheating garbler's success in all programs together that take from
    /// it; none where it is burned.
    pub bound_log2: Option<f64>,
}

/// What was begun in an epoch and not made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GivenUpInventory {
    /// How many steps.
    pub steps: u32,
    /// Base-2 logarithm of the bound on a cheating garbler's success in all of them; none where nothing was
    /// cut and chosen. It counts in the bound of every program from the epoch.
    pub bound_log2: Option<f64>,
}

/// A batch of an epoch.
#[derive(Clone, Debug, Serialize)]
pub struct BatchInventory {
    /// Its number in the epoch.
    pub serial: Serial,
    /// The component, or what else it is.
    pub name: String,
    /// `component`, `input authenticators` or `ots`.
    pub kind: &'static str,
    /// Digest of the component; zeros for other kinds.
    #[serde(skip)]
    pub component: [u8; 32],
    /// Items (slots, wires or OTs) that it was made for.
    pub items: u64,
    /// Items that are left.
    pub left: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// What is wrong with its segment, if it is not there or not of the right length: then no program takes
    /// from the store.
    pub missing: Option<String>,
    /// Copies in a bucket, and opened ones.
    pub cuts: Vec<CutInventory>,
    /// Base-2 logarithm of the bound on a cheating garbler's success with this batch, without what was given
    /// up before it was made; none where nothing is cut and chosen.
    pub bound_log2: Option<f64>,
}

/// A cut-and-choose of a batch.
#[derive(Clone, Debug, Serialize)]
pub struct CutInventory {
    /// `copies`, `key authenticators` or `input authenticators`.
    pub of: &'static str,
    /// B.
    pub bucket_size: u32,
    /// All that were made.
    pub items: u64,
    /// How many of them were opened.
    pub opened: u32,
}

/// What a store holds, oldest first; burned epochs too.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub fn inventory(store: &Store) -> Result<Vec<Inventory>, Error> {
    store
        .epochs()?
        .into_iter()
        .filter(|(_, epoch)| epoch.protocol == PROTOCOL)
        .map(|(id, epoch)| of_epoch(store, id, epoch))
        .collect()
}

fn of_epoch(store: &Store, id: EpochId, epoch: Epoch) -> Result<Inventory, Error> {
    let state = store.state(&id)?;
    let uses = store.log(&id)?.iter().filter(|entry| matches!(entry, Entry::Use { .. })).count() as u64;
    let open = state.open().map(|(_, step)| (step.number, step.of));
    let progress = open.or_else(|| state.made().last().map(|(_, step)| (step.number + 1, step.of)));
    let missing = store.missing(&id)?;
    let mut batches = Vec::new();
    for left in store.batches(&id)? {
        let header = Header::decode(&left.batch.header, state.given_up())?;
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
        let cuts = cuts.collect();
        let bound: Upper = header.origins.iter().map(|o| known_bound(o.kind, o.bucketing)).sum();
        batches.push(BatchInventory {
            serial: left.serial,
            kind: match left.batch.kind {
                kind::COMPONENT => "component",
                kind::INPUT => "input authenticators",
                _ => "ots",
            },
            name: left.batch.name,
            component: left.batch.component,
            items: left.items,
            left: left.left,
            bytes: left.bytes,
            missing: missing
                .iter()
                .find(|(serial, _)| *serial == left.serial)
                .map(|(_, why)| why.to_string()),
            cuts,
            bound_log2: (!header.origins.is_empty()).then(|| bound.log2()),
        });
    }
    let bound_log2 = match state.burned() {
        None => Some(bound_of_epoch(store, &id, epoch.security)?.log2()),
        Some(_) => None,
    };
    let pair = store.pair(&epoch.relation())?;
    let vain = state.given_up();
    let given_up = GivenUpInventory {
        steps: vain.steps,
        bound_log2: (vain.risk > 0).then(|| Upper::fixed(vain.risk).log2()),
    };
    Ok(Inventory { id, epoch, pair, state, given_up, uses, progress, batches, bound_log2 })
}

impl Inventory {
    /// How many executions of a program this epoch makes, leaving aside what the bound allows; none while a
    /// part of it is missing.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered.
    pub fn executions(&self, store: &Store, program: &Program) -> Result<u64, Error> {
        if self.state.burned().is_some() || self.batches.iter().any(|batch| batch.missing.is_some()) {
            return Ok(0);
        }
        let counts = counts(&Batches::of(store, &self.id)?);
        let mut needs: Vec<(usize, usize)> = Vec::new();
        let slots = program.slots_by_component();
        for digest in program.component_digests() {
            // Under several names it may be one component.
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
