//! The interface of a commitment scheme for the protocols: a [`Scheme`] is its two parties, and the cost of a
//! level of security.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroize;

use super::Lsb;
use super::claims::Claims;
use super::proof::{Claimed, Pending, Proof};
use super::row::{Committed, New, Row};
use super::shares::Shares;
use crate::ot::{CotReceiver, CotSender};
use crate::spill::Fault;
use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::random::Rng;
use brickwork_stock::Ranges;
use brickwork_wire::Channel;

/// A homomorphic commitment scheme.
pub trait Scheme: Sized + Send + Sync + 'static {
    /// The name that people use.
    const NAME: &'static str;

    /// The party that commits.
    type Sender: Sender;
    /// The party that verifies the openings.
    type Receiver: Receiver;

    /// Returns the level for `security` bits of statistical security; none if it is not offered.
    fn level(security: u32) -> Option<Level>;
}

/// The cost of a level of security.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Length, dimension and distance of the code, in bits; a scheme without one has the values as they are.
    pub code: [usize; 3],
    /// Correlated OTs of the setup, in which the receiver chooses.
    pub ots: usize,
    /// Bits that a random commitment takes on the line, in messages of many.
    pub random_bits: usize,
    /// Bits that a commitment to a chosen value takes on the line, in messages of many.
    pub chosen_bits: usize,
    /// The number of 64-bit words of a share, which a store keeps of a commitment.
    pub words: usize,
    /// Base-2 logarithm of the probability that a committer opens a commitment in two ways.
    pub binding_log2: f64,
    /// Chances in 2^128 that one proof has to let a false claim pass, other than by
    /// [binding](Level::binding_log2).
    pub misses: f64,
}

/// The party that commits: the garbler.
///
/// Commitments are in sequence in a stream, in which each row begins a new block. The sender can compute its
/// data about random ones, and its shares of any, again from its secrets and their position. The stream has
/// separate *ranges*: a session with stock [enters](Sender::enter) a range that was not entered before.
pub trait Sender: Sized + Send {
    /// The state that a stock keeps of it.
    type State: Serialize + DeserializeOwned + Zeroize;
    /// A row of commitments to values that come one after the other.
    type Committing;

    /// Begins, with OTs in which the other party chooses. At most `memory` bytes of values are held at a
    /// time; others are made again.
    ///
    /// # Errors
    /// [`Error::Usage`] if the level is not offered; those of the OTs.
    fn set_up(
        channel: &mut Channel,
        cot: &mut impl CotSender,
        security: u32,
        memory: u64,
    ) -> Result<Self, Error>;

    /// Continues from the state that a stock kept. Nothing is drawn before a range is entered.
    ///
    /// # Errors
    /// [`Error::Stock`] if the state is malformed or of another level.
    fn restored(state: &Self::State, security: u32, memory: u64) -> Result<Self, Error>;

    /// Returns the state for a stock.
    fn state(&self) -> Self::State;

    /// Goes on with the range of the stream that belongs to an entry; the receiver does the same.
    ///
    /// # Errors
    /// [`Error::Usage`] if it is taken already.
    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error>;

    /// Returns where in the stream the next row begins.
    fn next_row(&self) -> u64;

    /// Returns the place to note read errors while claims are combined: then no proof is sent.
    fn fault(&self) -> &Arc<Fault>;

    /// Commits to `count` values drawn by the protocol.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails, [`Error::Limit`] if the range ends before them.
    fn commit_random(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<Committed, Error>;

    /// Commits to these values.
    ///
    /// # Errors
    /// As [`Sender::commit_random`].
    fn commit(&mut self, channel: &mut Channel, values: &[Label]) -> Result<Committed, Error>;

    /// Does the same as [`Sender::commit_random`], for so many commitments that their values may have to be
    /// computed again.
    ///
    /// # Errors
    /// As there.
    fn row(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<Row, Error>;

    /// Commits to `count` values that [`Sender::push`] is given.
    ///
    /// # Errors
    /// [`Error::Resource`] if there is no room for a file.
    fn begin_row(&mut self, count: usize) -> Result<Self::Committing, Error>;

    /// Commits to the next values.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails, [`Error::Resource`] if there is no room for a file.
    fn push(
        &mut self,
        channel: &mut Channel,
        row: &mut Self::Committing,
        values: &[Label],
    ) -> Result<(), Error>;

    /// Returns the row, when all values are there.
    ///
    /// # Panics
    /// If they are not.
    fn finish(&self, row: Self::Committing) -> Row;

    /// Makes random commitments again: of those that began at `row` the ones with these numbers, which are no
    /// secret.
    fn again(&self, row: u64, lsb: Lsb, numbers: &[u64]) -> Committed;

    /// Makes the shares of commitments to values of this party's choice again.
    fn shares_again(&self, row: u64, numbers: &[u64]) -> Shares;

    /// Proves that the commitments in `new` are valid and that all claims are true. It reveals nothing more
    /// about `new` and about the claims in [`Claims::bits`]. Rounds: 1.
    ///
    /// # Errors
    /// As [`Sender::commit_random`]; also an error that was noted in [`Sender::fault`].
    fn prove(&mut self, channel: &mut Channel, new: &[New], claims: &Claims) -> Result<(), Error>;
}

/// The party that verifies the openings: the evaluator.
pub trait Receiver: Sized + Send {
    /// The state that a stock keeps of it.
    type State: Serialize + DeserializeOwned + Zeroize;

    /// Begins, with OTs in which it draws its choices with `rng`. At most `memory` bytes of received data are
    /// kept in memory, and the rest in temporary files.
    ///
    /// # Errors
    /// As [`Sender::set_up`].
    fn set_up(
        channel: &mut Channel,
        cot: &mut impl CotReceiver,
        rng: &mut Rng,
        security: u32,
        memory: u64,
    ) -> Result<Self, Error>;

    /// Continues from the state that a stock kept. Nothing is drawn before a range is entered.
    ///
    /// # Errors
    /// As [`Sender::restored`].
    fn restored(state: &Self::State, security: u32, memory: u64) -> Result<Self, Error>;

    /// Returns the state for a stock.
    fn state(&self) -> Self::State;

    /// Goes on with the range of the stream that belongs to an entry; the sender does the same.
    ///
    /// # Errors
    /// [`Error::Usage`] if it is taken already.
    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error>;

    /// Returns the place to note read errors while claims are combined: then the peer is not accused.
    fn fault(&self) -> &Arc<Fault>;

    /// Receives `count` commitments to values drawn by the protocol.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails, [`Error::Peer`] if something else comes.
    fn receive_random(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<Pending, Error>;

    /// Receives `count` commitments to values of the sender's choice.
    ///
    /// # Errors
    /// As [`Receiver::receive_random`].
    fn receive(&mut self, channel: &mut Channel, count: usize) -> Result<Pending, Error>;

    /// Checks that the commitments in `new` are commitments and that all claims are true.
    ///
    /// # Errors
    /// [`Cheat::Commitment`](super::Cheat::Commitment) if `new` contains an invalid commitment,
    /// [`Cheat::Indicator`](super::Cheat::Indicator) if a claimed bit is wrong,
    /// [`Cheat::Opening`](super::Cheat::Opening) if a claimed value is wrong. An error in [`Receiver::fault`]
    /// is returned before anybody is accused. The receiver must not be used again after an error.
    ///
    /// # Panics
    /// If something in `new` or [behind the claims](Claims::about) belongs to another receiver.
    fn verify(&mut self, channel: &mut Channel, new: &[&Pending], claims: &Claims) -> Result<Proof, Error>;

    /// Returns no commitments, for where a step may need some.
    fn no_commitments(&mut self) -> Pending;

    /// Wraps the sender's openings until the claims about them are proven to this receiver.
    fn claimed<T>(&mut self, received: T) -> Claimed<T>;
}
