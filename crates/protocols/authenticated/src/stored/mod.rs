//! Components and masks made ahead of time: a connection between two parties with stores. All protocols share
//! the code for meeting, filling and taking ([`brickwork_session::stock`]). This module has the records of
//! copies and input masks, and the items of a program.
//!
//! All items of an epoch, and all programs that take from it, share the session's offsets. A failed check has
//! told the peer something about an offset or about masks. So after any failed check the epoch is burned
//! before the connection closes, and the peer is not told which check it was. Steps that a peer breaks off
//! are given up; they count in the bound of every program from the epoch (docs/protocols/authenticated.md).

mod needs;
mod records;
mod side;
#[cfg(test)]
mod tests;

use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
use brickwork_primitives::cut_and_choose::Upper;
use brickwork_primitives::ot::Cot;
use brickwork_session::steps::{Secret, Step};
use brickwork_session::stock::Side as _;
use brickwork_session::stock::inventory::{Inventory, Kinds, inventory_of};
use brickwork_session::stock::meeting::{self, Owner};
use brickwork_session::stock::records::Batches;
use brickwork_session::stock::{self as stocked, Ran};
pub use brickwork_session::stock::{Lacking, Preprocessed};
use brickwork_session::{Digests, Greeting, Metered, Observer, PhaseReport, Promise, Protocol, Terms};
use brickwork_stock::{Batch, Epoch, EpochId, Store};
use brickwork_wire::Channel;

use crate::components::{Garbled, Received};
use crate::hooks::Hooks;
use crate::layout::{Forced, Layout};
use crate::parameters::Level;
use crate::report::{Authenticated, promise_of};
pub(crate) use needs::Filling;
pub use needs::Request;
use needs::{Execution, MASKS, budget, keeps_promise};
use side::{Carried, OnDisk, Outcome, Recorded};

fn owner(role: Party, terms: &Terms) -> Owner<'_> {
    Owner { protocol: Authenticated::NAME, role, terms }
}

/// Returns whether this party's store has enough for a program, counting only items that both parties may
/// still use.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered, or as [`Request::of`].
pub fn in_stock(store: &Store, party: Party, terms: &Terms, program: &Program) -> Result<bool, Error> {
    let (needs, level) = (Request::of(program)?, Level::of(terms.security.whole()?)?);
    stocked::in_stock(store, &owner(party, terms), |there| {
        let taken = needs.choose(there)?;
        keeps_promise(there, level).map(|()| taken)
    })
}

/// Returns how often a program can run on this part of a store.
///
/// # Errors
/// As [`in_stock`].
pub fn executions(part: &Inventory, store: &Store, program: &Program) -> Result<u64, Error> {
    let needs = Request::of(program)?;
    Ok(if part.is_lost() { 0 } else { needs.suffices(&Batches::of(store, &part.id)?) })
}

/// Compares the stores with the peer's without a run: exchanges their pairs and the positions of their logs,
/// and changes neither store. Returns how many epochs both parties may use.
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
    meeting::compare_stores(channel, store, &owner(role, terms))
}

/// Returns the promise of a program if all its items were made by one preprocessing for it.
///
/// # Errors
/// [`Error::Usage`] for a security other than 40, 64 or 80, or as [`Request::of`].
pub fn stock_promise(program: &Program, security: u32, cot: Cot) -> Result<Promise, Error> {
    let (layout, level) = (Layout::new(program)?, Level::of(security)?);
    needs::promise(&layout, &Request::of_layout(&layout)?, level, cot)
}

/// Lists this protocol's items in a store, oldest first, burned epochs included.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub fn inventory(store: &Store) -> Result<Vec<Inventory>, Error> {
    inventory_of::<Ours>(store)
}

/// Describes this protocol's batches.
struct Ours;

impl Kinds for Ours {
    const PROTOCOL: &'static str = Authenticated::NAME;

    fn kind(batch: &Batch) -> &'static str {
        if batch.kind == MASKS { "input masks" } else { "component" }
    }

    fn bound_log2(store: &Store, id: &EpochId, epoch: &Epoch) -> Result<Option<f64>, Error> {
        let level = Level::of(epoch.security.whole()?)?;
        Ok(Some(budget(&Batches::of(store, id)?, level)?.log2()))
    }

    fn risk_log2(risk: u128) -> Option<f64> {
        Some(Upper::fixed(risk).log2())
    }
}

/// The result of a program from stock.
pub type FromStock = brickwork_session::stock::FromStock<Request>;

/// A connection between two parties with stock on disk. It cannot be used after an error.
pub struct Stocked {
    of: Of,
    forced: Forced,
}

enum Of {
    Garbler(Box<Line<Garbled>>),
    Evaluator(Box<Line<Received>>),
}

type Line<C> = stocked::Stocked<OnDisk<C>>;

impl From<Line<Garbled>> for Of {
    fn from(line: Line<Garbled>) -> Self {
        Of::Garbler(Box::new(line))
    }
}

impl From<Line<Received>> for Of {
    fn from(line: Line<Received>) -> Self {
        Of::Evaluator(Box::new(line))
    }
}

impl Stocked {
    /// Greets the peer and compares both stores. A new epoch uses OTs of the kind `cot`; an existing epoch
    /// keeps its kind.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer asks for something else. [`Error::Strangers`] if the stores do not
    /// belong together. [`Error::Stock`] if a store is an old copy; the epochs that differ are then burned.
    /// It is also returned if a store has another protocol's stock; nothing is then burned. [`Error::Io`] if
    /// the peer goes away, [`Error::Usage`] for a security other than 40, 64 or 80.
    pub fn open(
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        cot: Cot,
        observer: impl Observer + 'static,
    ) -> Result<Self, Error> {
        Self::open_with(party, channel, store, terms, cot, Box::new(observer), Hooks::none())
    }

    pub(super) fn open_with(
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        cot: Cot,
        observer: Box<dyn Observer>,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        let forced = hooks.forced();
        forced.level_of(terms.security.whole()?)?;
        let run = Metered::new::<Authenticated>(channel, party, observer);
        let carried = Carried { cot, hooks };
        let of = match party {
            Party::Garbler => open::<Garbled>(run, store, terms, carried)?.into(),
            Party::Evaluator => open::<Received>(run, store, terms, carried)?.into(),
        };
        Ok(Stocked { of, forced })
    }

    /// Returns whether a later program can use this kept secret.
    pub fn keeps(&self, secret: &Secret) -> bool {
        match &self.of {
            Of::Garbler(line) => line.standing().is_some_and(|session| session.keeps(secret)),
            Of::Evaluator(line) => line.standing().is_some_and(|session| session.keeps(secret)),
        }
    }

    /// Forgets a kept secret: no later program can use it.
    pub fn forget(&mut self, secret: &Secret) {
        match &mut self.of {
            Of::Garbler(line) => line.standing_mut().into_iter().for_each(|session| session.forget(secret)),
            Of::Evaluator(line) => line.standing_mut().into_iter().for_each(|session| session.forget(secret)),
        }
    }

    /// Makes the requested stock, one batch after another. Batches that an interrupted run for the same
    /// request completed are not made again.
    ///
    /// # Errors
    /// As [`Stocked::open`]. [`Error::Usage`] if nothing is requested, [`Error::Input`] if a gate cannot be
    /// masked, [`Error::Peer`] if the peer cheats; the epoch is then burned.
    pub fn preprocess(self, asked: &Request) -> Result<(Preprocessed, Self), Error> {
        let Stocked { of, forced } = self;
        let (done, of) = match of {
            Of::Garbler(line) => fill(*line, asked, &forced)?,
            Of::Evaluator(line) => fill(*line, asked, &forced)?,
        };
        Ok((done, Stocked { of, forced }))
    }

    /// Runs a step, or a program as a step, on stock. `input` has this party's input bits. While a value is
    /// kept, all steps of the connection take from the same epoch.
    ///
    /// # Errors
    /// As [`Stocked::preprocess`]. [`Error::Stock`] if an item is missing and `lacking` forbids making it,
    /// [`Error::Input`] if `input` has the wrong length, [`Error::Limit`] as [`Request::of`],
    /// [`Error::Usage`] if a secret belongs to another session.
    pub fn run(
        self,
        step: impl Into<Step>,
        input: &[bool],
        lacking: Lacking,
    ) -> Result<(FromStock, Self), Error> {
        self.run_step(&step.into(), input, lacking)
    }

    fn run_step(self, step: &Step, input: &[bool], lacking: Lacking) -> Result<(FromStock, Self), Error> {
        let Stocked { of, forced } = self;
        let (done, of) = match of {
            Of::Garbler(line) => run(*line, step, input, lacking, &forced)?,
            Of::Evaluator(line) => run(*line, step, input, lacking, &forced)?,
        };
        Ok((done, Stocked { of, forced }))
    }

    /// Ends the connection. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// [`Error::Io`] if the peer went away.
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        match self.of {
            Of::Garbler(line) => line.close(),
            Of::Evaluator(line) => line.close(),
        }
    }
}

fn open<C: Recorded>(
    mut run: Metered,
    store: &Store,
    terms: &Terms,
    carried: Carried,
) -> Result<Line<C>, Error> {
    run.phase("setup");
    let program = blake3::derive_key("brickwork 2026-11 authenticated stores", &[]);
    let digests = Digests { stock: true, program, parameters: [0; 32] };
    let greeting = Greeting::send::<Authenticated>(&mut run.channel, run.role, terms, &digests)?;
    let answer = greeting.answered(&mut run.channel)?;
    stocked::Stocked::open(run, carried, store, terms, &answer.session)
}

/// Adds stock to the newest epoch, or to a new one if that epoch takes no more.
fn fill<C: Recorded>(mut line: Line<C>, asked: &Request, forced: &Forced) -> Result<(Preprocessed, Of), Error>
where
    Of: From<Line<C>>,
{
    let steps = asked.steps(forced.level_of(line.terms().security.whole()?)?, forced)?;
    if steps.is_empty() {
        return Err(Error::Usage("neither components nor input masks are asked for".into()));
    }
    let epoch = line.open_epoch()?;
    line.fill(epoch, &steps).map(|(done, line)| (done, line.into()))
}

/// Runs a program, and makes its missing items.
fn run<C: Recorded>(
    line: Line<C>,
    step: &Step,
    input: &[bool],
    lacking: Lacking,
    forced: &Forced,
) -> Result<(FromStock, Of), Error>
where
    Of: From<Line<C>>,
{
    let layout = &Layout::of_step(step)?;
    layout.takes(C::ROLE, input)?;
    step.check_session(line.session_id())?;
    let (needs, level) = (Request::of_layout(layout)?, forced.level_of(line.terms().security.whole()?)?);
    let promise = (forced.level.is_none() && forced.pool.is_none()).then_some(level);
    let job = Execution { step, layout, needs: &needs, input, promise };
    // While a value is kept, programs take only from the session of this value, and no other session begins.
    let lacking = match line.standing() {
        Some(session) if session.stays() => session.check(step).map(|()| Lacking::Refuse)?,
        _ => lacking,
    };
    let (ran, made) = match line.run(&job, lacking)? {
        Ran::Lacks { why, mut next } => {
            let epoch = next.open_epoch()?;
            let there = epoch.map(|epoch| Batches::of(next.store(), &epoch)).transpose()?;
            let missing = needs.missing(there.as_ref());
            tracing::warn!("{why}; {missing} are made on the spot");
            let (_, next) = next.fill(epoch, &missing.steps(level, forced)?)?;
            (next.run(&job, Lacking::Refuse)?, Some(missing))
        }
        done => (done, None),
    };
    match ran {
        Ran::Done { outcome: Outcome { outputs, kept, pools, cot }, epoch, next } => {
            let budget = budget(&Batches::of(next.store(), &epoch)?, level)?;
            let promise = promise_of(layout, level, cot, &budget, pools.into_iter());
            Ok((FromStock { outputs, kept, recovered: false, promise, made }, next.into()))
        }
        Ran::Lacks { why, .. } => Err(why),
    }
}
