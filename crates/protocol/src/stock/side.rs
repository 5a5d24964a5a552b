//! The interface that a protocol implements to keep stock: the part that both roles share, and a role's
//! session.

use super::meeting::same_stand;
use super::msg;
use super::records::{Batches, Keeper, TakenItems};
use crate::{Metered, SessionId, SessionProtocol, Terms};
use brickwork_base::Error;
use brickwork_circuit::Party;
use brickwork_store::{Counted, EpochSecrets, EpochState, Ranges, Serial, Writers};

/// The share that one preprocessing with cut-and-choose may use of 2^-s, after the fixed checks of a session.
///
/// Thus 64 interrupted steps fit into the [other half](GIVEN_UP_SHARE), and a program may take items from as
/// many steps. Compared with a quarter of 2^-s this costs about five bits, or a few additional copies.
pub const STOCK_SHARE: f64 = 1.0 / 128.0;

/// The share that the given-up steps of an epoch may use so that another step may still begin in it. If they
/// used more, programs could soon not use new stock.
pub const GIVEN_UP_SHARE: f64 = 0.5;

/// The reaction if stock that a program needs is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Lacking {
    /// Make the missing stock immediately.
    Make,
    /// Refuse the program.
    Refuse,
}

/// The result of [`Stocked::fill`](super::Stocked::fill).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preprocessed {
    /// The number of steps.
    pub steps: u32,
    /// The number of steps that an interrupted run had completed.
    pub resumed: u32,
}

/// A step of preprocessing: the items to make, and their parameters.
pub trait PreprocessingStep {
    /// Returns a digest of the items, by which an interrupted step is recognised.
    fn request(&self) -> [u8; 32];

    /// Returns a digest of the parameters, which must be the same at both parties.
    fn parameters(&self) -> [u8; 32];

    /// Returns the approximate number of bytes that the step sends. The progress display uses it.
    fn bytes(&self) -> u64;

    /// Returns a lower bound on the bytes that the items of the step need in a role's store. Most of these
    /// bytes are tables, which only the evaluator keeps.
    fn stored_bytes(&self, role: Party) -> u64 {
        match role {
            Party::Garbler => 0,
            Party::Evaluator => self.bytes(),
        }
    }

    /// Encodes the step for a maker of this party, which is another process.
    ///
    /// # Errors
    /// [`Error::Usage`] if the protocol has no makers.
    fn encoded(&self) -> Result<Vec<u8>, Error> {
        Err(Error::Usage(
            "workers on other machines cannot help with this protocol; its stock is made in one process"
                .into(),
        ))
    }
}

/// A protocol that keeps stock. Its sessions have the role of their connection.
pub trait StockProtocol: SessionProtocol {
    /// The phase in which both agree on a program and on its items.
    const AGREEMENT: &'static str;
    /// State that passes from one session of a connection to the next, besides the connection itself.
    type Carried: Send;
    /// A step of preprocessing.
    type FillStep<'s>: PreprocessingStep + Sync;
    /// A program and this party's input.
    type Execution<'j>;
    /// The result of a program.
    type Outcome;
    /// The secrets that steps keep for later ones.
    type Kept: ?Sized;

    /// Returns the terms on which both stores must agree.
    fn terms(terms: &Terms) -> Terms {
        terms.clone()
    }

    /// Returns which attempts of the peer a party in this role counts.
    fn counted(role: Party) -> Counted;

    /// Sets a session up.
    ///
    /// # Errors
    /// If the peer cheats or goes away.
    fn setup(
        run: Metered,
        terms: &Terms,
        carried: Self::Carried,
    ) -> Result<Box<dyn StockSession<Self>>, Error>;

    /// Restores a session from its [secrets](StockSession::secrets). It draws from no counter before
    /// [`StockSession::enter`] is called.
    ///
    /// # Errors
    /// [`Error::Stock`] if the secrets are malformed.
    fn restore(
        run: Metered,
        terms: &Terms,
        secrets: &EpochSecrets,
        carried: Self::Carried,
    ) -> Result<Box<dyn StockSession<Self>>, Error>;

    /// Returns whether another step may begin in an epoch in this state. The answer depends on whether a
    /// program has used the epoch, and on the steps that were given up. Existing items stay usable.
    ///
    /// # Errors
    /// [`Error::Usage`] if the protocol does not support the security level of `terms`.
    fn may_begin(state: &EpochState, terms: &Terms) -> Result<bool, Error>;

    /// Returns the level of stock for these terms in words: ` for --security 40`. It is empty if the protocol
    /// has no levels.
    fn level(terms: &Terms) -> String {
        format!(" for {}", terms.security.flag())
    }

    /// Returns the bound on a cheating peer's success in a session of these terms without its steps, in units
    /// of 2^-128. If the peer fails a check in the setup, this risk counts as a failed attempt.
    ///
    /// # Errors
    /// [`Error::Usage`] if the protocol does not support the security level of `terms`.
    fn fixed(terms: &Terms) -> Result<u128, Error>;

    /// Returns the peer's gain from breaking the connection early, as a probability in units of 2^-128. A
    /// cheating peer may break the connection whenever it sees that its cheat would be detected. The value is
    /// the probability that it sees that its cheat would not be detected. It counts for each setup that
    /// begins, and for each step that is interrupted before it is [exposed](Metered::expose).
    ///
    /// # Errors
    /// [`Error::Usage`] if the protocol does not support the security level of `terms`.
    fn early_risk(role: Party, terms: &Terms) -> Result<u128, Error>;

    /// Returns a digest of the program, which must be the same at both parties.
    fn program(job: &Self::Execution<'_>) -> [u8; 32];

    /// Describes the items that a program needs, for people.
    fn needs(job: &Self::Execution<'_>) -> String;

    /// Chooses the items that a program takes, at least one: the batches, and the number of items of each.
    /// Both parties make the same choice.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are too few, or their bound is too weak.
    fn choose(
        job: &Self::Execution<'_>,
        batches: &Batches,
        terms: &Terms,
    ) -> Result<Vec<(Serial, u32)>, Error>;
}

/// One role of a protocol, in a session with stock on disk. After an error it is not used any more, but it
/// keeps the connection open: if the peer cheated, the epoch must be burned before the connection closes.
pub trait StockSession<P: StockProtocol>: Send {
    /// Returns the secrets from which [`StockProtocol::restore`] resumes in another process.
    fn secrets(&self) -> EpochSecrets;

    /// Returns the session's identifier.
    fn id(&self) -> &SessionId;

    /// Returns the connection.
    fn run(&mut self) -> &mut Metered;

    /// Returns whether this session keeps secrets that later programs may use. Then all programs must run in
    /// it.
    fn stays(&self) -> bool {
        false
    }

    /// Returns the secrets that steps keep, if the protocol has such steps.
    fn kept(&mut self) -> Option<&mut P::Kept> {
        None
    }

    /// Ends the session and returns the connection. All other data is dropped in its box, and erased.
    fn release(self: Box<Self>) -> (Metered, P::Carried);

    /// Enters the ranges of all counters that belong to a log entry.
    ///
    /// # Errors
    /// [`Error::Usage`] if one is taken twice.
    fn enter(&mut self, ranges: Ranges) -> Result<(), Error>;

    /// Returns the bound on a cheating peer's success in a step of this session, in units of 2^-128. If the
    /// step is given up, this bound counts in the bounds of all programs from its epoch.
    fn risk(&self, step: &P::FillStep<'_>) -> u128;

    /// Makes the items of a step. Items that can be stored early are written to segments as they arrive.
    /// Before a message that can help a cheating peer, it [exposes](Metered::expose) the step.
    ///
    /// # Errors
    /// If the peer cheats or goes away, or the disk fails.
    fn fill(&mut self, step: &P::FillStep<'_>, segments: Writers) -> Result<(), Error>;

    /// Writes the result into the store.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails.
    fn keep(&mut self, step: &P::FillStep<'_>, keeper: &mut Keeper<'_>) -> Result<(), Error>;

    /// Runs a program on the items that it took.
    ///
    /// # Errors
    /// If the peer cheats or goes away, or a part of the stock cannot be read.
    fn take(
        &mut self,
        items: &TakenItems<'_>,
        job: &P::Execution<'_>,
        stand: Stand,
    ) -> Result<P::Outcome, Error>;
}

/// A proof that this party has burned the items of a program, and has sent the position of its log. Before a
/// message that would help a peer with another log, this party must confirm the position of the peer's log.
#[must_use]
pub struct Stand([u8; 32]);

impl Stand {
    pub(super) fn send(run: &mut Metered, mine: [u8; 32]) -> Result<Self, Error> {
        run.channel.send(msg::STAND, &mine)?;
        Ok(Stand(mine))
    }

    /// Receives the position of the peer's log.
    ///
    /// # Errors
    /// [`Error::Stock`] if it differs; [`Error::Io`] if the peer goes away.
    pub fn confirm(self, run: &mut Metered) -> Result<(), Error> {
        same_stand(&self.0, &run.channel.receive(msg::STAND, self.0.len())?)
    }
}
