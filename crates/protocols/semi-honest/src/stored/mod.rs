//! OTs on disk, made before programs are known, and runs of programs that use them. All protocols share the
//! code that compares stores, fills them and takes items ([`brickwork_session::stock`]). This module has the
//! records of OTs, and the number of OTs of a program.
//!
//! All programs that use OTs of a session share its Δ. This is secure, as docs/protocols/semi-honest.md
//! explains: each call of the hash uses a key of one program. So an attacker can test a guess of Δ only
//! against the calls under one key, however many programs there are. Each OT hides only one input bit,
//! because both parties burn an item before either sends anything that depends on it.

mod side;
#[cfg(test)]
mod tests;

use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
use brickwork_primitives::ot::extension;
use brickwork_session::stock as stocked;
use brickwork_session::stock::inventory::{Inventory, Kinds, inventory_of};
use brickwork_session::stock::meeting::{self, Owner};
use brickwork_session::stock::plain::{OnDisk, without_level};
pub use brickwork_session::stock::{Lacking, Preprocessed};
use brickwork_session::{Metered, Observer, PhaseReport, Protocol, Terms};
use brickwork_stock::{Batch, Store};
use brickwork_wire::Channel;

use crate::layout::Layout;
use crate::report::{SemiHonest, promise};
use crate::setup::Session;
use side::{Execution, Filling, Role};

fn owner(role: Party, terms: &Terms) -> Owner<'_> {
    Owner { protocol: SemiHonest::NAME, role, terms }
}

/// Returns the number of OTs for this many executions of a program: one for each of the evaluator's input
/// bits. If it has none, the number is 1, because a log entry without items would burn nothing.
///
/// # Errors
/// [`Error::Input`] if `executions` is 0, [`Error::Limit`] if a run from stock cannot have that many gates or
/// inputs.
pub fn ots(program: &Program, executions: usize) -> Result<usize, Error> {
    let layout = Layout::new(program, executions)?;
    side::needed(&layout)
}

/// Returns whether this party's store has enough OTs for a program, among those that both parties may still
/// use.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered, or as [`ots`].
pub fn in_stock(
    store: &Store,
    party: Party,
    terms: &Terms,
    program: &Program,
    executions: usize,
) -> Result<bool, Error> {
    let layout = Layout::new(program, executions)?;
    stocked::in_stock(store, &owner(party, &without_level(terms)), |held| side::choose(&layout, held))
}

/// Exchanges the pairs and the positions of the logs with the peer, without changing either store. Returns
/// the number of epochs that both may use.
///
/// # Errors
/// [`Error::Strangers`] if the stores do not belong together, so that a run would be refused.
/// [`Error::Stock`] if their logs do not agree, so that a run would burn the differing epochs.
pub fn compare_stores(
    channel: &mut Channel,
    store: Option<&Store>,
    role: Party,
    terms: &Terms,
) -> Result<usize, Error> {
    meeting::compare_stores(channel, store, &owner(role, &without_level(terms)))
}

/// Returns the inventory of the parts of a store that belong to this protocol, oldest first, with burned
/// epochs.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub fn inventory(store: &Store) -> Result<Vec<Inventory>, Error> {
    struct Ots;
    impl Kinds for Ots {
        const PROTOCOL: &'static str = SemiHonest::NAME;

        fn kind(_: &Batch) -> &'static str {
            "ots"
        }
    }
    inventory_of::<Ots>(store)
}

/// The result of a program from stock. `made` is the number of OTs that were made on the spot.
pub type FromStock = stocked::FromStock<usize>;

/// A connection between two parties with stock on disk. After an error it cannot be used any more.
pub struct Stocked(Of);

enum Of {
    Garbler(Box<Line<extension::Sender>>),
    Evaluator(Box<Line<extension::Receiver>>),
}

type Line<C> = stocked::Stocked<OnDisk<Session<C>>>;

impl Stocked {
    /// Greets the peer and compares both stores.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer requests something else. [`Error::Strangers`] if the two stores do not
    /// belong together. [`Error::Stock`] if one of them is an old copy, and then the differing epochs are
    /// burned. [`Error::Stock`] also if a store has stock of another protocol, and then nothing is burned.
    /// [`Error::Io`] if the connection ends.
    pub fn open(
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        observer: impl Observer + 'static,
    ) -> Result<Self, Error> {
        Self::begin(
            Metered::new::<SemiHonest>(channel, party, Box::new(observer)),
            store,
            &without_level(terms),
        )
    }

    fn begin(run: Metered, store: &Store, terms: &Terms) -> Result<Self, Error> {
        Ok(Stocked(match run.role {
            Party::Garbler => Of::Garbler(Box::new(open(run, store, terms)?)),
            Party::Evaluator => Of::Evaluator(Box::new(open(run, store, terms)?)),
        }))
    }

    /// Makes `count` OTs, one step after another. Steps that an interrupted call for the same number
    /// completed are not repeated.
    ///
    /// # Errors
    /// As [`Stocked::open`]; [`Error::Usage`] if `count` is 0; [`Error::Peer`] if the peer sends an invalid
    /// message, and then the epoch is burned.
    pub fn preprocess(self, count: usize) -> Result<(Preprocessed, Self), Error> {
        if count == 0 {
            return Err(Error::Usage("no OTs are requested".into()));
        }
        Ok(match self.0 {
            Of::Garbler(line) => {
                fill(*line, count).map(|(done, line)| (done, Stocked(Of::Garbler(Box::new(line)))))?
            }
            Of::Evaluator(line) => {
                fill(*line, count).map(|(done, line)| (done, Stocked(Of::Evaluator(Box::new(line)))))?
            }
        })
    }

    /// Runs a program this many times with OTs from the store. `input` are the bits of this party's input
    /// ports, `[execution][bit]`.
    ///
    /// # Errors
    /// As [`Stocked::preprocess`]; [`Error::Stock`] if OTs are missing and must not be made, [`Error::Input`]
    /// if `input` has the wrong length, [`Error::Limit`] if the run would exceed the limits of the promise.
    pub fn run(
        self,
        program: &Program,
        executions: usize,
        input: &[bool],
        lacking: Lacking,
    ) -> Result<(FromStock, Self), Error> {
        let layout = Layout::new(program, executions)?;
        Ok(match self.0 {
            Of::Garbler(line) => run(*line, &layout, input, lacking)
                .map(|(done, line)| (done, Stocked(Of::Garbler(Box::new(line)))))?,
            Of::Evaluator(line) => run(*line, &layout, input, lacking)
                .map(|(done, line)| (done, Stocked(Of::Evaluator(Box::new(line)))))?,
        })
    }

    /// Closes the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection has ended.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        match self.0 {
            Of::Garbler(line) => line.close(),
            Of::Evaluator(line) => line.close(),
        }
    }
}

fn open<C: Role>(run: Metered, store: &Store, terms: &Terms) -> Result<Line<C>, Error> {
    Line::greet::<SemiHonest>(run, (), store, terms, "brickwork 2026-11 semi-honest stock")
}

fn fill<C: Role>(mut line: Line<C>, count: usize) -> Result<(Preprocessed, Line<C>), Error> {
    let epoch = line.open_epoch()?;
    line.fill(epoch, &Filling::steps(count))
}

fn run<C: Role>(
    line: Line<C>,
    layout: &Layout,
    input: &[bool],
    lacking: Lacking,
) -> Result<(FromStock, Line<C>), Error> {
    let _ = layout.inputs(C::ROLE, input)?;
    let (outputs, _, made, next) =
        line.run_or_make(&Execution { layout, input }, lacking, |mut next, why| {
            let epoch = next.open_epoch()?;
            let missing = side::missing(next.store(), epoch, layout)?;
            tracing::warn!("{why}; {missing} OTs are made on the spot");
            let (_, next) = next.fill(epoch, &Filling::steps(missing))?;
            Ok((missing, next))
        })?;
    Ok((FromStock { outputs, kept: Vec::new(), recovered: false, promise: promise(), made }, next))
}
