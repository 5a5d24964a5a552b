//! The interface between a commitment scheme and the protocols: the two parties of the scheme, and the costs
//! of its security levels.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroize;

use super::Lsb;
use super::claims::Claims;
use super::proof::{Claimed, Pending, Proof};
use super::row::{CommitmentRow, Committed, New};
use super::shares::Shares;
use crate::ot::{CotReceiver, CotSender};
use crate::spill::Fault;
use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::random::Rng;
use brickwork_store::Ranges;
use brickwork_wire::Channel;

/// A homomorphic commitment scheme.
pub trait CommitmentScheme: Sized + Send + Sync + 'static {
    /// The name of the scheme, as users see it.
    const NAME: &'static str;

    /// The party that commits.
    type Sender: Sender;
    /// The party that verifies the openings.
    type Receiver: Receiver;

    /// Returns the level for `security` bits of statistical security, or `None` if the scheme does not offer
    /// it.
    fn level(security: u32) -> Option<CommitmentLevel>;
}

/// A security level of a scheme, and its costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommitmentLevel {
    /// Length, dimension and distance of the code, in bits. A scheme without a code sends the values
    /// themselves.
    pub code: [usize; 3],
    /// The number of correlated OTs in the setup; the receiver of commitments chooses in them.
    pub ots: usize,
    /// The bits that the sender sends for one random commitment of many.
    pub random_bits: usize,
    /// The bits that the sender sends for one commitment of many to chosen values.
    pub chosen_bits: usize,
    /// The number of 64-bit words of a share in a store.
    pub words: usize,
    /// The base-2 logarithm of the probability that a sender can open a commitment in two ways.
    pub binding_log2: f64,
    /// The probability, in units of 2^-128, that one proof accepts a false claim for reasons other than
    /// [binding](CommitmentLevel::binding_log2).
    pub misses: f64,
}

/// The party that commits: in `duplo`, the garbler.
///
/// Commitments follow each other in a stream, and each row begins a new block. The sender can recompute its
/// shares, and its random values, from its secrets and the position in the stream. The stream has separate
/// *ranges*: a session with stock [enters](Sender::enter) a range that no session has entered before.
pub trait Sender: Sized + Send {
    /// The state that a stock keeps of the sender.
    type State: Serialize + DeserializeOwned + Zeroize;
    /// A row of commitments that is still being filled.
    type Committing;

    /// Sets the sender up, with OTs in which the receiver chooses. At most `memory` bytes of values are kept
    /// in memory; the others are recomputed.
    ///
    /// # Errors
    /// [`Error::Usage`] if the level is not offered, and the errors of the OTs.
    fn set_up(
        channel: &mut Channel,
        cot: &mut impl CotSender,
        security: u32,
        memory: u64,
    ) -> Result<Self, Error>;

    /// Continues from the state that a stock kept. The sender can commit to nothing before it enters a range.
    ///
    /// # Errors
    /// [`Error::Stock`] if the state is malformed or of another level.
    fn restored(state: &Self::State, security: u32, memory: u64) -> Result<Self, Error>;

    /// Returns the state for a stock.
    fn state(&self) -> Self::State;

    /// Enters the range of the stream that belongs to an entry of the log. The receiver does the same.
    ///
    /// # Errors
    /// [`Error::Usage`] if the range is already in use.
    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error>;

    /// Returns the position in the stream at which the next row begins.
    fn next_row(&self) -> u64;

    /// Returns the object that records read errors while claims are combined. After an error, the sender
    /// sends no proof.
    fn fault(&self) -> &Arc<Fault>;

    /// Commits to `count` random values.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails, [`Error::Limit`] if the range is used up.
    fn commit_random(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<Committed, Error>;

    /// Commits to the given values.
    ///
    /// # Errors
    /// As [`Sender::commit_random`].
    fn commit(&mut self, channel: &mut Channel, values: &[Label]) -> Result<Committed, Error>;

    /// Does the same as [`Sender::commit_random`] for a long row: its values may be recomputed instead of
    /// kept.
    ///
    /// # Errors
    /// As [`Sender::commit_random`].
    fn row(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<CommitmentRow, Error>;

    /// Begins a row of `count` commitments. [`Sender::push`] gets its values.
    ///
    /// # Errors
    /// [`Error::Resource`] if a temporary file cannot be created.
    fn begin_row(&mut self, count: usize) -> Result<Self::Committing, Error>;

    /// Commits to the next values.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails, [`Error::Resource`] if a temporary file cannot be written.
    fn push(
        &mut self,
        channel: &mut Channel,
        row: &mut Self::Committing,
        values: &[Label],
    ) -> Result<(), Error>;

    /// Returns the row after all its values have been pushed.
    ///
    /// # Panics
    /// If values are missing.
    fn finish(&self, row: Self::Committing) -> CommitmentRow;

    /// Recomputes commitments to random values, by their numbers in the row that began at `row`. The numbers
    /// are public.
    fn again(&self, row: u64, lsb: Lsb, numbers: &[u64]) -> Committed;

    /// Recomputes the shares of commitments to values that this party chose.
    fn shares_again(&self, row: u64, numbers: &[u64]) -> Shares;

    /// Proves that the commitments in `new` are valid and that all claims are true. The proof reveals nothing
    /// more about the values in `new`, nor about the sums in [`Claims::bits`]. Rounds: 1.
    ///
    /// # Errors
    /// As [`Sender::commit_random`], and any error recorded in [`Sender::fault`].
    fn prove(&mut self, channel: &mut Channel, new: &[New], claims: &Claims) -> Result<(), Error>;
}

/// The party that verifies openings: in `duplo`, the evaluator.
pub trait Receiver: Sized + Send {
    /// The state that a stock keeps of the receiver.
    type State: Serialize + DeserializeOwned + Zeroize;

    /// Sets the receiver up. The receiver draws its choices in the OTs with `rng`. At most `memory` bytes of
    /// received data are kept in memory, and the rest in temporary files.
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

    /// Continues from the state that a stock kept. The receiver can receive nothing before it enters a range.
    ///
    /// # Errors
    /// As [`Sender::restored`].
    fn restored(state: &Self::State, security: u32, memory: u64) -> Result<Self, Error>;

    /// Returns the state for a stock.
    fn state(&self) -> Self::State;

    /// Enters the range of the stream that belongs to an entry of the log. The sender does the same.
    ///
    /// # Errors
    /// [`Error::Usage`] if the range is already in use.
    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error>;

    /// Returns the object that records read errors while claims are combined. After an error, the receiver
    /// does not accuse the peer.
    fn fault(&self) -> &Arc<Fault>;

    /// Receives `count` commitments to random values.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails, [`Error::Peer`] if another message arrives.
    fn receive_random(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<Pending, Error>;

    /// Receives `count` commitments to values of the sender's choice.
    ///
    /// # Errors
    /// As [`Receiver::receive_random`].
    fn receive(&mut self, channel: &mut Channel, count: usize) -> Result<Pending, Error>;

    /// Checks that the commitments in `new` are valid and that all claims are true.
    ///
    /// # Errors
    /// [`Cheat::Commitment`](super::Cheat::Commitment) if `new` contains an invalid commitment,
    /// [`Cheat::Indicator`](super::Cheat::Indicator) if a claimed bit is wrong,
    /// [`Cheat::Opening`](super::Cheat::Opening) if a claimed value is wrong. After an error in
    /// [`Receiver::fault`], this error is returned instead of an accusation. The receiver must not be used
    /// again after an error.
    ///
    /// # Panics
    /// If commitments in `new`, or an opening that [depends on the claims](Claims::about), belong to another
    /// receiver.
    fn verify(&mut self, channel: &mut Channel, new: &[&Pending], claims: &Claims) -> Result<Proof, Error>;

    /// Returns an empty list, for a step of a protocol that needs no commitments.
    fn no_commitments(&mut self) -> Pending;

    /// Wraps values that the sender opened, until this receiver has verified the claims about them.
    fn claimed<T>(&mut self, received: T) -> Claimed<T>;
}
