//! LEGO's stock on disk: gates, inputs and OTs, which depend on no program; built programs, which depend on
//! no input; and runs of programs from either. All protocols share the code that compares stores, fills them
//! and takes items ([`brickwork_session::stock`]). This module has LEGO's own parts.
//!
//! All gates of an epoch, and all programs that use them, share the session's Δ. This is secure
//! (docs/protocols/lego.md) because the openings are sums of active labels, and each batch of gates has its
//! own hash keys. After a program an evaluator forgets a Δ that it learned from a garbler's cheat.

mod inventory;
mod needs;
mod origins;
mod records;
mod side;
#[cfg(test)]
mod tests;

use brickwork_base::{Error, Party};
use brickwork_circuit::Program;
use brickwork_session::stock as stocked;
use brickwork_session::stock::meeting::{self, Owner};
use brickwork_session::stock::records::Batches;
pub use brickwork_session::stock::{Lacking, Preprocessed};
use brickwork_session::{Digests, Greeting, Metered, Observer, PhaseReport, Promise, Protocol, Terms};
use brickwork_stock::{EpochId, GivenUp, Store};
use brickwork_wire::Channel;

use crate::hooks::Hooks;
use crate::layout::Layout;
use crate::report::Lego;
use crate::setup::{self, Garbler};
pub use inventory::{executions, inventory};
pub use needs::Request;
use needs::{Execution, Filling, Purpose};
use origins::{CutAndChoose, Origin};
use side::{EvaluatorSession, OnDisk, Role};

/// The largest number of AND gates in a stored built program, because such a program is one record of a
/// store.
const MOST_BUILT: usize = 1 << 20;

fn owner(role: Party, terms: &Terms) -> Owner<'_> {
    Owner { protocol: Lego::NAME, role, terms }
}

/// Returns whether this party's store has enough items for a program, among the items that both parties may
/// still use.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered, or as [`Request::of`].
pub fn in_stock(store: &Store, party: Party, terms: &Terms, program: &Program) -> Result<bool, Error> {
    let layout = Layout::new(program)?;
    let job = Execution { layout: &layout, purpose: Purpose::Run, input: &[] };
    stocked::in_stock(store, &owner(party, terms), |held| {
        <OnDisk<Garbler> as stocked::Side>::choose(&job, held, terms)
    })
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
    meeting::compare_stores(channel, store, &owner(role, terms))
}

/// Returns the promise of a program if a preprocessing for this program makes all its items.
///
/// # Errors
/// [`Error::Usage`] if the security is not offered, [`Error::Limit`] if one preprocessing cannot make that
/// many items.
pub fn stock_promise(program: &Program, security: u32) -> Result<Promise, Error> {
    let mut origins = Vec::new();
    for (step, serial) in Request::of(program)?.steps(security)?.iter().zip(0..) {
        let Filling::Items(_, parameters) = step else { continue };
        let gates = parameters.mixed().map(CutAndChoose::Gates);
        let inputs = (parameters.inputs.slots > 0).then_some(CutAndChoose::Inputs(parameters.inputs));
        origins.extend(gates.into_iter().chain(inputs).map(|cut| Origin { serial, cut }));
    }
    origins::promise(&origins, GivenUp::default(), security)
}

/// The result of a program from stock; [`Aside`](crate::Aside) explains how to treat `recovered`.
pub type FromStock = brickwork_session::stock::FromStock<Request>;

/// A connection between two parties with stock on disk. After an error it cannot be used any more.
pub struct Stocked(Of);

enum Of {
    Garbler(Box<Line<Garbler>>),
    Evaluator(Box<Line<EvaluatorSession>>),
}

type Line<R> = stocked::Stocked<OnDisk<R>>;

impl From<Line<Garbler>> for Stocked {
    fn from(line: Line<Garbler>) -> Self {
        Stocked(Of::Garbler(Box::new(line)))
    }
}

impl From<Line<EvaluatorSession>> for Stocked {
    fn from(line: Line<EvaluatorSession>) -> Self {
        Stocked(Of::Evaluator(Box::new(line)))
    }
}

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
        Self::open_with(party, channel, store, terms, Box::new(observer), Hooks::none())
    }

    pub(super) fn open_with(
        party: Party,
        channel: Channel,
        store: &Store,
        terms: &Terms,
        observer: Box<dyn Observer>,
        hooks: Hooks,
    ) -> Result<Self, Error> {
        let run = Metered::new::<Lego>(channel, party, observer);
        match party {
            Party::Garbler => open::<Garbler>(run, store, terms, hooks).map(Stocked::from),
            Party::Evaluator => open::<EvaluatorSession>(run, store, terms, hooks).map(Stocked::from),
        }
    }

    /// Makes the requested stock, one step after another. Steps that an interrupted call for the same request
    /// completed are not repeated. The items go into an epoch of which nothing was used yet, or into a new
    /// one.
    ///
    /// # Errors
    /// As [`Stocked::open`]; [`Error::Usage`] if nothing is requested; [`Error::Peer`] if the peer cheats,
    /// and then the epoch is burned.
    pub fn preprocess(self, asked: &Request) -> Result<(Preprocessed, Self), Error> {
        match self.0 {
            Of::Garbler(line) => fill(*line, asked),
            Of::Evaluator(line) => fill(*line, asked),
        }
    }

    /// Builds a program from stock, and stores the built program. A run of this built program only needs the
    /// inputs.
    ///
    /// # Errors
    /// As [`Stocked::run`].
    pub fn build(self, program: &Program, lacking: Lacking) -> Result<(Option<Request>, Self), Error> {
        let layout = Layout::new(program)?;
        if layout.ands > MOST_BUILT {
            return Err(Error::Limit(format!(
                "a program that is built to be kept has at most {MOST_BUILT} AND gates; run it on gates \
                 from stock"
            )));
        }
        match self.0 {
            Of::Garbler(line) => build(*line, &layout, lacking),
            Of::Evaluator(line) => build(*line, &layout, lacking),
        }
    }

    /// Runs a program on stock: on a built program if there is one, otherwise on gates. `input` are the bits
    /// of this party's input ports.
    ///
    /// # Errors
    /// As [`Stocked::preprocess`]; [`Error::Stock`] if items are missing and must not be made,
    /// [`Error::Input`] if `input` has the wrong length, [`Error::Limit`] as [`Request::of`].
    pub fn run(
        self,
        program: &Program,
        input: &[bool],
        lacking: Lacking,
    ) -> Result<(FromStock, Self), Error> {
        let layout = Layout::new(program)?;
        match self.0 {
            Of::Garbler(line) => run(*line, &layout, input, lacking),
            Of::Evaluator(line) => run(*line, &layout, input, lacking),
        }
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

fn open<R: Role>(mut run: Metered, store: &Store, terms: &Terms, hooks: Hooks) -> Result<Line<R>, Error> {
    run.phase("setup");
    let program = blake3::derive_key("brickwork 2026-11 lego stock", &[]);
    let digests = Digests { stock: true, program, parameters: [0; 32] };
    let greeting = Greeting::send::<Lego>(&mut run.channel, run.role, terms, &digests)?;
    let answer = greeting.answered(&mut run.channel)?;
    setup::no_proposal(&answer)?;
    stocked::Stocked::open(run, hooks, store, terms, &answer.session)
}

/// Fills the newest epoch that may be filled, or a new one.
fn fill<R: Role>(mut line: Line<R>, asked: &Request) -> Result<(Preprocessed, Stocked), Error>
where
    Stocked: From<Line<R>>,
{
    if asked.is_empty() {
        return Err(Error::Usage("neither gates nor inputs nor OTs are requested".into()));
    }
    let epoch = line.open_epoch()?;
    let steps = asked.steps(line.terms().security.whole()?)?;
    line.fill(epoch, &steps).map(|(done, line)| (done, line.into()))
}

/// Makes the missing items of a program. All items of a program must exist before its session's first input.
/// So missing items are added to an epoch of which nothing was used, if there is one. Otherwise a new epoch
/// gets everything that the program needs.
fn make<R: Role>(mut next: Line<R>, layout: &Layout, why: &Error) -> Result<(Request, Line<R>), Error> {
    let everything = Request::of_layout(layout);
    let mut epoch = next.open_epoch()?;
    let there = epoch.map(|id| Batches::of(next.store(), &id)).transpose()?;
    let mut missing = there.map_or(everything, |there| everything.missing(&there));
    if missing.is_empty() {
        // There are enough items, but they come from too many batches.
        (epoch, missing) = (None, everything);
    }
    tracing::warn!("{why}; {missing} are made on the spot");
    let steps = missing.steps(next.terms().security.whole()?)?;
    let (_, next) = next.fill(epoch, &steps)?;
    Ok((missing, next))
}

fn build<R: Role>(
    line: Line<R>,
    layout: &Layout,
    lacking: Lacking,
) -> Result<(Option<Request>, Stocked), Error>
where
    Stocked: From<Line<R>>,
{
    let job = Execution { layout, purpose: Purpose::Build, input: &[] };
    let (_, epoch, made, next) = line.run_or_make(&job, lacking, |next, why| make(next, layout, why))?;
    let kept = [Filling::Program(layout.program.digest(), layout.program.name())];
    let (_, next) = next.fill(Some(epoch), &kept)?;
    Ok((made, next.into()))
}

fn run<R: Role>(
    line: Line<R>,
    layout: &Layout,
    input: &[bool],
    lacking: Lacking,
) -> Result<(FromStock, Stocked), Error>
where
    Stocked: From<Line<R>>,
{
    layout.takes(R::ROLE, input)?;
    let job = Execution { layout, purpose: Purpose::Run, input };
    let (outcome, epoch, made, next) =
        line.run_or_make(&job, lacking, |next, why| make(next, layout, why))?;
    let side::Ran { outputs, recovered, mut promise } =
        outcome.ok_or_else(|| Error::Usage("a program that is only built has no outputs".into()))?;
    promise.epoch_bound_log2 = Some(bound_of_epoch(&next, &epoch)?);
    Ok((FromStock { outputs, kept: Vec::new(), recovered, promise, made }, next.into()))
}

/// Returns the base-2 logarithm of the bound of all programs together that use an epoch.
fn bound_of_epoch<R: Role>(line: &Line<R>, epoch: &EpochId) -> Result<f64, Error> {
    Ok(origins::bound_of_epoch(line.store(), epoch, line.terms().security.whole()?)?.log2())
}
