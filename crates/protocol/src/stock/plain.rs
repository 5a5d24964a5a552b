//! The stock of protocols that need only correlated OTs. They have no cut-and-choose, so no opened item and
//! no step that was given up counts in a bound, and there are no levels of security. A protocol implements
//! [`Plain`], and [`PlainRole`] for each role; the code that both roles and all such protocols share is here.

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::ots::OtEnd;
use super::records::{Batches, Keeper, TakenItems};
use super::side::{PreprocessingStep, Stand, StockProtocol, StockSession};
use crate::{Digests, Metered, PlainSession, SessionId, SessionProtocol, Terms};
use brickwork_base::Error;
use brickwork_base::label::Delta;
use brickwork_base::random::Rng;
use brickwork_circuit::Party;
use brickwork_primitives::ot::{Direction, Series, extension};
use brickwork_store::{Counted, EpochSecrets, EpochState, Range, Ranges, SERIALS, Serial, Writers};

/// Version of the saved secrets.
const VERSION: u32 = 1;

/// A protocol whose stock consists only of correlated OTs. The descriptions of [`StockProtocol`] apply to
/// members of the same name.
pub trait Plain: SessionProtocol {
    /// A step of preprocessing.
    type FillStep: PreprocessingStep + Sync;
    /// A program and this party's input.
    type Execution<'j>;
    /// A party's data of the program that runs.
    type Program: Default + Send + 'static;

    /// Returns a digest of the program, which must be the same at both parties.
    fn program(job: &Self::Execution<'_>) -> [u8; 32];

    /// Describes the items that a program needs, for people.
    fn needs(job: &Self::Execution<'_>) -> String;

    /// Chooses the items that a program takes, at least one: the batches, and the number of items of each.
    /// Both parties make the same choice.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is not enough.
    fn choose(job: &Self::Execution<'_>, batches: &Batches) -> Result<Vec<(Serial, u32)>, Error>;
}

/// One role of a [`Plain`] protocol, in a session. The descriptions of [`StockSession`] apply to members of
/// the same name.
pub trait PlainRole<C: OtEnd>: Plain {
    /// The result of a step.
    type Made: Send;

    /// Makes the stock of a step.
    ///
    /// # Errors
    /// If the peer sends a message that is not of the protocol, or closes the connection.
    fn make(session: &mut PlainSession<C, Self::Program>, step: &Self::FillStep)
    -> Result<Self::Made, Error>;

    /// Stores the result of a step under this serial.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    fn keep(
        step: &Self::FillStep,
        made: Self::Made,
        serial: Serial,
        keeper: &mut Keeper<'_>,
    ) -> Result<(), Error>;

    /// Runs a program on the items that it took. Returns this party's outputs.
    ///
    /// # Errors
    /// If the peer sends an unexpected message or closes the connection, or some of the stock cannot be read.
    fn take(
        session: &mut PlainSession<C, Self::Program>,
        items: &TakenItems<'_>,
        job: &Self::Execution<'_>,
        stand: Stand,
    ) -> Result<Vec<bool>, Error>;
}

/// A [`Plain`] protocol with both of its roles.
pub trait PlainStock: PlainRole<extension::Sender> + PlainRole<extension::Receiver> {}

impl<P: PlainRole<extension::Sender> + PlainRole<extension::Receiver>> PlainStock for P {}

/// The stored state from which another process can resume a session, without the keys of its OTs.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct Fixed {
    version: u32,
    session: SessionId,
    /// The bits of the garbler's offset; `None` at the evaluator.
    offset: Option<u128>,
}

/// A role's session, in the form that the stock uses.
struct OnDisk<P: PlainRole<C>, C: OtEnd> {
    /// The session is in a box, because moving it would leave copies of its secrets behind.
    session: Box<PlainSession<C, P::Program>>,
    serials: Range,
    /// The result of the current step.
    made: Option<<P as PlainRole<C>>::Made>,
}

fn on_disk<P: PlainStock + PlainRole<C>, C: OtEnd>(
    session: PlainSession<C, P::Program>,
) -> Box<dyn StockSession<P>> {
    Box::new(OnDisk::<P, C> { session: Box::new(session), serials: SERIALS.none(), made: None })
}

fn set_up<P: PlainStock + PlainRole<C>, C: OtEnd>(
    run: Metered,
    terms: &Terms,
) -> Result<Box<dyn StockSession<P>>, Error> {
    // A session that makes stock does not know the programs yet.
    let digests = Digests { stock: true, program: [0; 32], parameters: [0; 32] };
    PlainSession::<C, _>::set_up::<P>(run, terms, &digests, P::Program::default).map(on_disk)
}

fn restored<P: PlainStock + PlainRole<C>, C: OtEnd>(
    run: Metered,
    secrets: &EpochSecrets,
) -> Result<Box<dyn StockSession<P>>, Error> {
    let malformed = || {
        Error::Stock("the stored secrets of this session are malformed, or another version wrote them".into())
    };
    let fixed: Fixed = postcard::from_bytes(&secrets.fixed).map_err(|_| malformed())?;
    let offset = fixed.offset.map(|bits| Delta::checked(bits).ok_or_else(malformed)).transpose()?;
    if fixed.version != VERSION || offset.is_some() != (run.role == Party::Garbler) {
        return Err(malformed());
    }
    let (id, series) = (fixed.session, Series::new(&fixed.session, Direction::GarblerSends));
    let cot = C::restored(&series, offset, secrets.forward.clone())?;
    let rng = Rng::new("brickwork session from stock")?;
    Ok(on_disk(PlainSession { run, id, rng, cot, program: P::Program::default() }))
}

impl<P: PlainStock> StockProtocol for P {
    const AGREEMENT: &'static str = "prepare";
    type Carried = ();
    type FillStep<'s> = P::FillStep;
    type Execution<'j> = P::Execution<'j>;
    type Outcome = Vec<bool>;
    type Kept = ();

    /// The items have no statistical security, because no item is opened and checked.
    fn terms(terms: &Terms) -> Terms {
        Terms { security: 0.into(), ..terms.clone() }
    }

    /// This protocol checks nothing, so a peer cannot break the connection to escape a check.
    fn counted(_: Party) -> Counted {
        Counted::Nothing
    }

    fn setup(run: Metered, terms: &Terms, (): ()) -> Result<Box<dyn StockSession<P>>, Error> {
        match run.role {
            Party::Garbler => set_up::<P, extension::Sender>(run, terms),
            Party::Evaluator => set_up::<P, extension::Receiver>(run, terms),
        }
    }

    fn restore(
        run: Metered,
        _: &Terms,
        secrets: &EpochSecrets,
        (): (),
    ) -> Result<Box<dyn StockSession<P>>, Error> {
        match run.role {
            Party::Garbler => restored::<P, extension::Sender>(run, secrets),
            Party::Evaluator => restored::<P, extension::Receiver>(run, secrets),
        }
    }

    /// A program may begin as long as there is stock, because a program does not affect the items of other
    /// programs.
    fn may_begin(_: &EpochState, _: &Terms) -> Result<bool, Error> {
        Ok(true)
    }

    fn level(_: &Terms) -> String {
        String::new()
    }

    fn fixed(_: &Terms) -> Result<u128, Error> {
        Ok(0)
    }

    fn early_risk(_: Party, _: &Terms) -> Result<u128, Error> {
        Ok(0)
    }

    fn program(job: &P::Execution<'_>) -> [u8; 32] {
        P::program(job)
    }

    fn needs(job: &P::Execution<'_>) -> String {
        P::needs(job)
    }

    fn choose(job: &P::Execution<'_>, batches: &Batches, _: &Terms) -> Result<Vec<(Serial, u32)>, Error> {
        P::choose(job, batches)
    }
}

impl<P: PlainStock + PlainRole<C>, C: OtEnd> StockSession<P> for OnDisk<P, C> {
    fn secrets(&self) -> EpochSecrets {
        let PlainSession { id, cot, .. } = &*self.session;
        let offset = cot.offset().map(|offset| offset.bits());
        EpochSecrets::new(&Fixed { version: VERSION, session: *id, offset }, cot.keys_behind())
    }

    fn id(&self) -> &SessionId {
        &self.session.id
    }

    fn run(&mut self) -> &mut Metered {
        &mut self.session.run
    }

    fn release(self: Box<Self>) -> (Metered, ()) {
        (self.session.run, ())
    }

    fn enter(&mut self, mut ranges: Ranges) -> Result<(), Error> {
        self.serials = ranges.take(&SERIALS)?;
        self.session.cot.enter(&mut ranges)
    }

    /// This protocol opens nothing, so there is no check that a cheat could escape.
    fn risk(&self, _: &P::FillStep) -> u128 {
        0
    }

    fn fill(&mut self, step: &P::FillStep, _: Writers) -> Result<(), Error> {
        self.made = Some(<P as PlainRole<C>>::make(&mut self.session, step)?);
        Ok(())
    }

    fn keep(&mut self, step: &P::FillStep, keeper: &mut Keeper) -> Result<(), Error> {
        let made =
            self.made.take().ok_or_else(|| Error::Usage("a step must be made before it is kept".into()))?;
        <P as PlainRole<C>>::keep(step, made, self.serials.draw(1)?, keeper)
    }

    fn take(&mut self, items: &TakenItems, job: &P::Execution<'_>, stand: Stand) -> Result<Vec<bool>, Error> {
        <P as PlainRole<C>>::take(&mut self.session, items, job, stand)
    }
}
