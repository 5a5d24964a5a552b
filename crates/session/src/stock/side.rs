//! What a protocol brings to have stock: its two roles as sessions whose stock lies on disk.

use super::meeting::same_stand;
use super::msg;
use super::records::{Batches, Keeper, TakenItems};
use crate::{Metered, SessionId, Terms};
use brickwork_base::Error;
use brickwork_circuit::Party;
use brickwork_stock::{Counted, Ranges, Secrets, Serial, State, Writers};

/// The share that one preprocessing may take of what the fixed checks of its session leave of 2^-s, where it
/// is checked by cut-and-choose.
///
/// So little that 64 steps which were broken off fit into the [other half](GIVEN_UP_SHARE), and that programs
/// may draw on as many: it takes some five bits more than a fourth, which are few copies more.
pub const STOCK_SHARE: f64 = 1.0 / 128.0;

/// The share of it that steps which were given up may have spent in an epoch for another one to be begun
/// there: beyond it, what is made would soon be of use to no program.
pub const GIVEN_UP_SHARE: f64 = 0.5;

/// What to do about stock that a program lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// Make it on the spot.
    Make,
    /// Refuse the program.
    Refuse,
}

/// What [`Stocked::fill`](super::Stocked::fill) has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preprocessed {
    /// The steps.
    pub steps: u32,
    /// How many of them were there from a run that was interrupted.
    pub resumed: u32,
}

/// A step of preprocessing: what is asked for, and how it is made.
pub trait Asked {
    /// Names what is asked for; by this a step is known again after an interruption.
    fn request(&self) -> [u8; 32];

    /// Names how it is made: both parties must mean the same.
    fn parameters(&self) -> [u8; 32];

    /// Returns about how many bytes will pass, for who watches.
    fn bytes(&self) -> u64;

    /// Returns how many bytes of its items a role's store takes at least: most of it are tables, which the
    /// evaluator keeps.
    fn stored_bytes(&self, role: Party) -> u64 {
        match role {
            Party::Garbler => 0,
            Party::Evaluator => self.bytes(),
        }
    }

    /// Writes it down for a maker of this party, which is another process.
    ///
    /// # Errors
    /// [`Error::Usage`] where the protocol has none.
    fn encoded(&self) -> Result<Vec<u8>, Error> {
        Err(Error::Usage("this protocol's stock is made in one process".into()))
    }
}

/// One role of a protocol, in a session whose stock lies on disk. After an error nothing more is done with
/// it, but it has the connection: that must not close before what a cheat was about is burned.
pub trait Side: Sized {
    /// The protocol's name in a store.
    const PROTOCOL: &'static str;
    /// The role.
    const ROLE: Party;
    /// The phase in which both agree on a program and on what it takes.
    const AGREEMENT: &'static str;
    /// The attempts of the other role that count here.
    const COUNTED: Counted;
    /// What goes from one session of a connection to the next, beside the connection itself.
    type Carried;
    /// A step of preprocessing.
    type FillStep<'s>: Asked;
    /// A program and this party's input.
    type Execution<'j>;
    /// What a program gives.
    type Outcome;

    /// Sets a session up.
    ///
    /// # Errors
    /// If the peer cheats or goes away.
    fn setup(run: Metered, terms: &Terms, carried: Self::Carried) -> Result<Self, Error>;

    /// Returns the secrets from which [`Side::restore`] goes on in another process.
    fn secrets(&self) -> Secrets;

    /// Makes the session again that [`Side::secrets`] are of. It draws from no counter before
    /// [`Side::enter`].
    ///
    /// # Errors
    /// [`Error::Stock`] if the secrets are malformed.
    fn restore(run: Metered, terms: &Terms, secrets: &Secrets, carried: Self::Carried)
    -> Result<Self, Error>;

    /// Returns the session's identifier.
    fn id(&self) -> &SessionId;

    /// Returns the connection.
    fn run(&mut self) -> &mut Metered;

    /// Returns the connection, to be looked at.
    fn line(&self) -> &Metered;

    /// Returns whether something lives in this session that later programs may carry on: then they all run in
    /// it.
    fn stays(&self) -> bool {
        false
    }

    /// Ends the session and hands on the connection.
    fn release(self: Box<Self>) -> (Metered, Self::Carried);

    /// Returns whether an epoch that stands here may have another step: whether it had a program already, and
    /// how much was given up in it. What is there stays of use.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such level.
    fn may_begin(state: &State, terms: &Terms) -> Result<bool, Error>;

    /// Names the level that stock of these terms is for, in words: ` for --security 40`. Empty where there
    /// are no levels.
    fn level(terms: &Terms) -> String;

    /// Goes on with the ranges of all counters that belong to an entry of the log.
    ///
    /// # Errors
    /// [`Error::Usage`] if one is taken twice.
    fn enter(&mut self, ranges: Ranges) -> Result<(), Error>;

    /// Returns the bound on a cheating peer's success in a step of this session, in units of 2^-128: where it
    /// is given up, this counts in all that its epoch gives.
    fn risk(&self, step: &Self::FillStep<'_>) -> u128;

    /// Returns the bound on a cheating peer's success in a session of these terms beside its steps, in units
    /// of 2^-128: where the peer fails a check, this counts as tried in vain.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such level.
    fn fixed(terms: &Terms) -> Result<u128, Error>;

    /// Returns how likely it is, in units of 2^-128, that a peer which breaks off early, whenever it sees
    /// that a cheat would show, sees that it would not. This counts for each setup that is begun, and for
    /// each step that is broken off before it is [exposed](Metered::expose).
    ///
    /// # Errors
    /// [`Error::Usage`] if there is no such level.
    fn early_risk(terms: &Terms) -> Result<u128, Error>;

    /// Makes what a step asks for; what need not wait goes into segments as it comes. Before a message with
    /// which it gives away what a cheating peer could act on, it [exposes](Metered::expose) the step.
    ///
    /// # Errors
    /// If the peer cheats or goes away, or the disk fails.
    fn fill(&mut self, step: &Self::FillStep<'_>, segments: Writers) -> Result<(), Error>;

    /// Puts what was made into the store.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    fn keep(&mut self, step: &Self::FillStep<'_>, keeper: &mut Keeper<'_>) -> Result<(), Error>;

    /// Names a program; both parties must run the same.
    fn program(job: &Self::Execution<'_>) -> [u8; 32];

    /// Says what a program needs, for people.
    fn needs(job: &Self::Execution<'_>) -> String;

    /// Chooses what a program takes, at least an item: how many of which batch. Both parties choose alike.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is not enough, or what there is exceeds the bound.
    fn choose(
        job: &Self::Execution<'_>,
        batches: &Batches,
        terms: &Terms,
    ) -> Result<Vec<(Serial, u32)>, Error>;

    /// Runs a program on what it took.
    ///
    /// # Errors
    /// If the peer cheats or goes away, or something of the stock cannot be read.
    fn take(
        &mut self,
        items: &TakenItems<'_>,
        job: &Self::Execution<'_>,
        stand: Stand,
    ) -> Result<Self::Outcome, Error>;
}

/// This party has burned what it takes, and has said where its log stands now. That the peer's stands there,
/// too, is still to be confirmed: before anything leaves that is worth something to a peer whose log does
/// not.
#[must_use]
pub struct Stand([u8; 32]);

impl Stand {
    pub(super) fn send(run: &mut Metered, mine: [u8; 32]) -> Result<Self, Error> {
        run.channel.send(msg::STAND, &mine)?;
        Ok(Stand(mine))
    }

    /// Hears where the peer's log stands.
    ///
    /// # Errors
    /// [`Error::Stock`] if it stands elsewhere; [`Error::Io`] if the peer goes away.
    pub fn confirm(self, run: &mut Metered) -> Result<(), Error> {
        same_stand(&self.0, &run.channel.receive(msg::STAND, self.0.len())?)
    }
}
