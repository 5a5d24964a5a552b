//! The stock of protocols whose session is an end of correlated OTs and no more: there is no cut-and-choose,
//! so nothing that is opened or given up counts against a bound, and there are no levels of security. A
//! protocol brings its [`Member`]; what the two roles and all such protocols have in common is here.

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::records::{Batches, Keeper, TakenItems};
use super::side::{Asked, Side, Stand};
use crate::{Metered, SessionId, Terms};
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_circuit::Party;
use brickwork_stock::{Counted, Forward, Range, Ranges, SERIALS, Secrets, Serial, State, Writers};

/// Version of the secrets.
const VERSION: u32 = 1;

/// Returns the terms without statistical security, which stores of such protocols do not agree on: nothing is
/// opened and checked.
pub fn without_level(terms: &Terms) -> Terms {
    Terms { security: 0.into(), ..terms.clone() }
}

/// One role of such a protocol, in a session. What is said of [`Side`] holds of what has the same name.
pub trait Member: Sized {
    /// The protocol's name in a store.
    const PROTOCOL: &'static str;
    /// The role.
    const ROLE: Party;
    /// A step of preprocessing.
    type FillStep: Asked;
    /// What such a step makes.
    type Made;
    /// A program and this party's input.
    type Execution<'j>;

    /// Sets a session up.
    ///
    /// # Errors
    /// If the peer sends what is no message of the protocol, or goes away.
    fn set_up(run: Metered, terms: &Terms) -> Result<Self, Error>;

    /// Makes the session again of this offset, which only the garbler has, and whose OTs have these keys.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are not as many keys, or there is no offset where one must be.
    fn restored(
        run: Metered,
        session: SessionId,
        offset: Option<Delta>,
        keys: Forward,
    ) -> Result<Self, Error>;

    /// Returns the offset of the OTs, where this party has it.
    fn offset(&self) -> Option<Label>;

    /// Returns the keys of the OTs that a store keeps.
    fn keys_behind(&self) -> Forward;

    /// Returns the session's identifier.
    fn id(&self) -> &SessionId;

    /// Returns the connection.
    fn run(&mut self) -> &mut Metered;

    /// Returns the connection, to be looked at.
    fn line(&self) -> &Metered;

    /// Ends the session and hands on the connection. What is not moved out is dropped where it is, and
    /// erased.
    fn release(self: Box<Self>) -> Metered;

    /// Goes on with the ranges of the OTs' counters.
    ///
    /// # Errors
    /// [`Error::Usage`] if one is taken twice.
    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error>;

    /// Makes what a step asks for.
    ///
    /// # Errors
    /// If the peer sends what is no message of the protocol, or goes away.
    fn make(&mut self, step: &Self::FillStep) -> Result<Self::Made, Error>;

    /// Puts what a step has made into the store, under this serial.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    fn keep(
        step: &Self::FillStep,
        made: Self::Made,
        serial: Serial,
        keeper: &mut Keeper<'_>,
    ) -> Result<(), Error>;

    /// Names a program; both parties must run the same.
    fn program(job: &Self::Execution<'_>) -> [u8; 32];

    /// Says what a program needs, for people.
    fn needs(job: &Self::Execution<'_>) -> String;

    /// Chooses what a program takes, at least an item: how many of which batch. Both parties choose alike.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is not enough.
    fn choose(job: &Self::Execution<'_>, batches: &Batches) -> Result<Vec<(Serial, u32)>, Error>;

    /// Runs a program on what it took. Returns this party's outputs.
    ///
    /// # Errors
    /// If the peer sends what is no message of the protocol, or goes away, or something of the stock cannot
    /// be read.
    fn take(
        &mut self,
        items: &TakenItems<'_>,
        job: &Self::Execution<'_>,
        stand: Stand,
    ) -> Result<Vec<bool>, Error>;
}

/// The state with which a session goes on in another process, besides the keys of its OTs.
#[derive(Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct Fixed {
    version: u32,
    session: SessionId,
    /// The bits of the garbler's offset; none at the evaluator.
    offset: Option<u128>,
}

/// A role's session, as the stock sees it.
pub struct OnDisk<M: Member> {
    /// In a box: what is moved leaves a copy behind, and it has secrets.
    member: Box<M>,
    serials: Range,
    /// What the step at hand has made.
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
    /// Nothing is checked, so nobody breaks off because a check would fail.
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

    /// As long as there is stock of it: a program leaves of the others' what it was.
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

    /// Nothing is opened, so there is nothing to get away with.
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
