//! Lists the contents of a store for people. Each protocol describes its own batches.

use serde::Serialize;

use brickwork_base::Error;
use brickwork_circuit::Program;
use brickwork_store::{Batch, Epoch, EpochEntry, EpochId, EpochState, GivenUp, PairId, Serial, Store};

use super::records::Batches;
use crate::SessionProtocol;

/// An epoch of a store.
#[derive(Clone, Debug)]
pub struct Inventory {
    /// The epoch's identifier, which is the same at both parties.
    pub id: EpochId,
    /// The protocol, the parties and the options for which the epoch was made.
    pub epoch: Epoch,
    /// The pair of stores to which the epoch belongs.
    pub pair: Option<PairId>,
    /// The state of the epoch's log, which is the same at both parties between two runs.
    pub state: EpochState,
    /// The steps that were begun in it and not completed.
    pub given_up: GivenUpInventory,
    /// The number of programs that took items from the epoch.
    pub uses: u64,
    /// The completed steps of the last preprocessing, and the number of all its steps.
    pub progress: Option<(u32, u32)>,
    /// The batches that were made in the epoch, including used ones.
    pub batches: Vec<BatchInventory>,
    /// Base-2 logarithm of the bound on a cheating garbler's success in all programs together that use the
    /// epoch; `None` if it is burned.
    pub bound_log2: Option<f64>,
}

/// Steps that were begun in an epoch and not completed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GivenUpInventory {
    /// The number of steps.
    pub steps: u32,
    /// Base-2 logarithm of the bound on a cheating garbler's success in all of them; none if there was no
    /// cut-and-choose. It counts in the bound of every program from the epoch.
    pub bound_log2: Option<f64>,
}

/// A batch of an epoch.
#[derive(Clone, Debug, Serialize)]
pub struct BatchInventory {
    /// The batch's number in the epoch.
    pub serial: Serial,
    /// The name of the component or of another kind of item.
    pub name: String,
    /// The kind of its items, in the protocol's terms.
    pub kind: &'static str,
    /// Digest of the component; zeros for other kinds.
    #[serde(skip)]
    pub component: [u8; 32],
    /// The number of items (slots, wires or OTs) that were made in the batch.
    pub items: u64,
    /// The number of items that are left.
    pub left: u64,
    /// The number of items that cannot be read at this party or at the peer. Damage that the peer has not
    /// reported yet is not counted.
    pub damaged: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// The fault of the batch's segment, if the segment is missing or has the wrong length. Then no program
    /// can use the store.
    pub missing: Option<String>,
    /// The cut-and-choose runs that checked the batch; empty without cut-and-choose.
    pub cuts: Vec<CutInventory>,
    /// Base-2 logarithm of the bound on a cheating garbler's success with this batch; none without
    /// cut-and-choose. It does not include steps that were given up before.
    pub bound_log2: Option<f64>,
}

/// A cut-and-choose of a batch.
#[derive(Clone, Debug, Serialize)]
pub struct CutInventory {
    /// The kind of copies that were opened or put into buckets, in the protocol's terms.
    pub of: &'static str,
    /// The bucket size B.
    pub bucket_size: u32,
    /// The number of all copies that were made.
    pub items: u64,
    /// The number of copies that were opened.
    pub opened: u32,
}

/// A protocol's names and bounds for the items that it keeps. Items without cut-and-choose have no bound.
pub trait ItemKinds: SessionProtocol {
    /// Names the items of a batch.
    fn kind(batch: &Batch) -> &'static str;

    /// Returns the cut-and-choose runs of a batch, and the base-2 logarithm of the bound on their failure.
    ///
    /// # Errors
    /// [`Error::Stock`] if the batch's header is malformed.
    fn cuts(_: &Batch, _: GivenUp) -> Result<(Vec<CutInventory>, Option<f64>), Error> {
        Ok((Vec::new(), None))
    }

    /// Returns the base-2 logarithm of the bound on all programs together from an epoch that is not burned.
    ///
    /// # Errors
    /// [`Error::Stock`] if the store cannot be read or was altered.
    fn bound_log2(_: &Store, _: &EpochId, _: &Epoch) -> Result<Option<f64>, Error> {
        Ok(None)
    }

    /// Converts a risk in units of 2^-128, which is not 0, to its base-2 logarithm.
    fn risk_log2(_: u128) -> Option<f64> {
        None
    }

    /// Counts the executions of a program for which these items are enough, without regard to the bound.
    ///
    /// # Errors
    /// [`Error::Stock`] if a header is malformed, or as the protocol's request for the program.
    fn executions(there: &Batches, program: &Program) -> Result<u64, Error>;
}

/// Counts the executions of a program for which a part of a store is enough, without regard to the bound. It
/// returns `None` while a file of this part is missing.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered, or as [`ItemKinds::executions`].
pub fn executions<K: ItemKinds>(part: &Inventory, store: &Store, program: &Program) -> Result<u64, Error> {
    if part.is_lost() { Ok(0) } else { K::executions(&Batches::of(store, &part.id)?, program) }
}

/// Lists a store's epochs of a protocol, oldest first, including burned ones.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub fn inventory<K: ItemKinds>(store: &Store) -> Result<Vec<Inventory>, Error> {
    let ours = store.epochs()?.into_iter().filter(|(_, epoch)| epoch.protocol == K::NAME);
    ours.map(|(id, epoch)| of_epoch::<K>(store, id, epoch)).collect()
}

fn of_epoch<K: ItemKinds>(store: &Store, id: EpochId, epoch: Epoch) -> Result<Inventory, Error> {
    let state = store.state(&id)?;
    let uses = store.log(&id)?.iter().filter(|entry| matches!(entry, EpochEntry::Use { .. })).count() as u64;
    let open = state.open().map(|(_, step)| (step.number, step.of));
    let progress = open.or_else(|| state.made().last().map(|(_, step)| (step.number + 1, step.of)));
    let missing = store.missing(&id)?;
    let mut batches = Vec::new();
    for left in store.batches(&id)? {
        let (cuts, bound_log2) = K::cuts(&left.batch, state.given_up())?;
        batches.push(BatchInventory {
            serial: left.serial,
            kind: K::kind(&left.batch),
            name: left.batch.name,
            component: left.batch.component,
            items: left.items,
            left: left.left,
            damaged: left.damaged,
            bytes: left.bytes,
            missing: missing
                .iter()
                .find(|(serial, _)| *serial == left.serial)
                .map(|(_, why)| why.to_string()),
            cuts,
            bound_log2,
        });
    }
    let bound_log2 = match state.burned() {
        None => K::bound_log2(store, &id, &epoch)?,
        Some(_) => None,
    };
    let pair = store.pair(&epoch.relation())?;
    let vain = state.given_up();
    let bound_of_given_up = Some(vain.risk).filter(|&risk| risk > 0).and_then(K::risk_log2);
    let given_up = GivenUpInventory { steps: vain.steps, bound_log2: bound_of_given_up };
    Ok(Inventory { id, epoch, pair, state, given_up, uses, progress, batches, bound_log2 })
}

impl Inventory {
    /// Returns whether no program can take items from the epoch, because it is burned or a segment is
    /// missing.
    pub fn is_lost(&self) -> bool {
        self.state.burned().is_some() || self.batches.iter().any(|batch| batch.missing.is_some())
    }
}
