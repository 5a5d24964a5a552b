//! The stock of protocols that need only correlated OTs. They have no cut-and-choose, so their stock has no
//! bounds and no levels of security. A protocol implements [`Member`] for each role, and this module
//! implements the rest.

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::records::{Batches, Keeper, TakenItems};
use super::side::{Asked, Side, Stand};
use crate::{Metered, SessionId, Terms};
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_circuit::Party;
use brickwork_stock::{Counted, Forward, Range, Ranges, SERIALS, Secrets, Serial, State, Writers};

/// Version of the saved secrets.
const VERSION: u32 = 1;

/// Returns the terms without statistical security, because nothing is opened and checked in such protocols.
/// So stores need not agree on a level.
pub fn without_level(terms: &Terms) -> Terms {
    Terms { security: 0.into(), ..terms.clone() }
}

/// One role of such a protocol, in a session. Methods with the name of a [`Side`] method do what is described
/// there.
pub trait Member: Sized {
    /// The protocol's name in a store.
    const PROTOCOL: &'static str;
    /// The role.
    const ROLE: Party;
    /// A step of preprocessing.
    type FillStep: Asked;
    /// The result of such a step.
    type Made;
    /// A program and this party's input.
    type Execution<'j>;

    /// Sets a session up.
    ///
    /// # Errors
    /// If the peer sends an unexpected message, or closes the connection.
    fn set_up(run: Metered, terms: &Terms) -> Result<Self, Error>;

    /// Restores the session from these keys of its OTs, and the garbler's session also from its offset.
    ///
    /// # Errors
    /// [`Error::Stock`] if the number of keys is wrong, or the garbler's offset is missing.
    fn restored(
        run: Metered,
        session: SessionId,
        offset: Option<Delta>,
        keys: Forward,
    ) -> Result<Self, Error>;

    /// Returns the offset of the OTs, if this party has it.
    fn offset(&self) -> Option<Label>;

    /// Returns the keys of the OTs that a store keeps.
    fn keys_behind(&self) -> Forward;

    /// Returns the session's identifier.
    fn id(&self) -> &SessionId;

    /// Returns the connection.
    fn run(&mut self) -> &mut Metered;

    /// Returns the connection for reading its state.
    fn line(&self) -> &Metered;

    /// Ends the session and returns the connection. All other data is dropped in its box, and erased.
    fn release(self: Box<Self>) -> Metered;

    /// Continues with these ranges of the OTs' counters.
    ///
    /// # Errors
    /// [`Error::Usage`] if a range is taken twice.
    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error>;

    /// Makes the stock of a step.
    ///
    /// # Errors
    /// If the peer sends an unexpected message, or closes the connection.
    fn make(&mut self, step: &Self::FillStep) -> Result<Self::Made, Error>;

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

    /// Runs a program on the items that it took. Returns this party's outputs.
    ///
    /// # Errors
    /// If the peer sends an unexpected message or closes the connection, or some of the stock cannot be read.
    fn take(
        &mut self,
        items: &TakenItems<'_>,
        job: &Self::Execution<'_>,
        stand: Stand,
    ) -> Result<Vec<bool>, Error>;
}

/// The state from which another process can resume a session, apart from the keys of its OTs.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct Fixed {
    version: u32,
    session: SessionId,
    /// The bits of the garbler's offset; `None` at the evaluator.
    offset: Option<u128>,
}

/// A role's session, in the form that the stock uses.
pub struct OnDisk<M: Member> {
    /// The role's session, in a box because moving it would leave copies of its secrets behind.
    member: Box<M>,
    serials: Range,
    /// The result of the current step.
    made: Option<M::Made>,
}

impl<M: Member> OnDisk<M> {
    fn of(member: M) -> Self {
        OnDisk { member: Box::new(member), serials: SERIALS.none(), made: None }
    }
}

impl<M: Member> Side for OnDisk<M> {
    const PROTOCOL: &'static str = M::PROTOCOL;
    const ROLE: Party = M::ROLE;
    const AGREEMENT: &'static str = "prepare";
    /// These protocols check nothing, so a peer gains nothing by breaking off before a check.
    const COUNTED: Counted = Counted::Nothing;
    type Carried = ();
    type FillStep<'s> = M::FillStep;
    type Execution<'j> = M::Execution<'j>;
    type Outcome = Vec<bool>;

    fn setup(run: Metered, terms: &Terms, (): ()) -> Result<Self, Error> {
        M::set_up(run, terms).map(OnDisk::of)
    }

    fn secrets(&self) -> Secrets {
        let offset = self.member.offset().map(|offset| offset.bits());
        let fixed = Fixed { version: VERSION, session: *self.member.id(), offset };
        Secrets::new(&fixed, self.member.keys_behind())
    }

    fn restore(run: Metered, _: &Terms, secrets: &Secrets, (): ()) -> Result<Self, Error> {
        let malformed =
            || Error::Stock("the secrets of a session are malformed or of another version".into());
        let fixed: Fixed = postcard::from_bytes(&secrets.fixed).map_err(|_| malformed())?;
        let offset = fixed.offset.map(|bits| Delta::checked(bits).ok_or_else(malformed)).transpose()?;
        if fixed.version != VERSION || offset.is_some() != (M::ROLE == Party::Garbler) {
            return Err(malformed());
        }
        M::restored(run, fixed.session, offset, secrets.forward.clone()).map(OnDisk::of)
    }

    fn id(&self) -> &SessionId {
        self.member.id()
    }

    fn run(&mut self) -> &mut Metered {
        self.member.run()
    }

    fn line(&self) -> &Metered {
        self.member.line()
    }

    fn release(self: Box<Self>) -> (Metered, ()) {
        (self.member.release(), ())
    }

    /// A step may always begin, because programs do not affect the bounds of other items.
    fn may_begin(_: &State, _: &Terms) -> Result<bool, Error> {
        Ok(true)
    }

    fn level(_: &Terms) -> String {
        String::new()
    }

    fn enter(&mut self, mut ranges: Ranges) -> Result<(), Error> {
        self.serials = ranges.take(&SERIALS)?;
        self.member.enter(&mut ranges)
    }

    /// The risk is 0, because nothing is opened and checked.
    fn risk(&self, _: &M::FillStep) -> u128 {
        0
    }

    fn fixed(_: &Terms) -> Result<u128, Error> {
        Ok(0)
    }

    fn early_risk(_: &Terms) -> Result<u128, Error> {
        Ok(0)
    }

    fn fill(&mut self, step: &M::FillStep, _: Writers) -> Result<(), Error> {
        self.made = Some(self.member.make(step)?);
        Ok(())
    }

    fn keep(&mut self, step: &M::FillStep, keeper: &mut Keeper) -> Result<(), Error> {
        let made = self.made.take().ok_or_else(|| Error::Usage("nothing was made".into()))?;
        M::keep(step, made, self.serials.draw(1)?, keeper)
    }

    fn program(job: &M::Execution<'_>) -> [u8; 32] {
        M::program(job)
    }

    fn needs(job: &M::Execution<'_>) -> String {
        M::needs(job)
    }

    fn choose(job: &M::Execution<'_>, batches: &Batches, _: &Terms) -> Result<Vec<(Serial, u32)>, Error> {
        M::choose(job, batches)
    }

    fn take(&mut self, items: &TakenItems, job: &M::Execution<'_>, stand: Stand) -> Result<Vec<bool>, Error> {
        self.member.take(items, job, stand)
    }
}
