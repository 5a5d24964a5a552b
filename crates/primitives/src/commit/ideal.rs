//! The ideal functionality, only for tests: values travel in the clear, a share is the value itself, and each
//! claim is compared with it. This scheme uses only the interface that every scheme has, so tests of other
//! crates can include this file.

use brickwork_testing::Replayable as _;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::random::Rng;
use brickwork_primitives::commit::{
    self, Cheat, Claimed, Claims, Column, CommitmentLevel, CommitmentRow, CommitmentScheme, Committed,
    DIMENSION, Lsb, Names, New, Pending, Proof, Shares,
};
use brickwork_primitives::ot::{CotReceiver, CotSender};
use brickwork_primitives::spill::Fault;
use brickwork_store::{Counter, Range, Ranges};
use brickwork_wire::{Channel, Tag};

const VALUES: Tag = Tag(230);

/// The ideal scheme.
pub struct Ideal;

impl CommitmentScheme for Ideal {
    const NAME: &'static str = "ideal";

    type Sender = Sender;
    type Receiver = Receiver;

    fn level(_: u32) -> Option<CommitmentLevel> {
        let (binding_log2, misses) = (f64::NEG_INFINITY, 0.0);
        Some(CommitmentLevel {
            code: [DIMENSION, DIMENSION, 1],
            ots: 0,
            random_bits: DIMENSION,
            chosen_bits: DIMENSION,
            words: 2,
            binding_log2,
            misses,
        })
    }
}

/// The sender's state in a stock: the values that this party chose, with their places in the stream. Random
/// values follow from the seed.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct SenderState {
    seed: [u8; 32],
    chosen: BTreeMap<u64, u128>,
}

impl Zeroize for SenderState {
    fn zeroize(&mut self) {
        *self = SenderState::default();
    }
}

/// The party that commits.
pub struct Sender {
    state: SenderState,
    next: Range,
    fault: Arc<Fault>,
}

/// The receiver, which sees all values.
pub struct Receiver {
    names: Names,
    next: Range,
    fault: Arc<Fault>,
}

const PLACES: Counter = Counter::new("numbers of ideal commitments", 40);

fn of_setup() -> Range {
    Ranges::of_setup().take(&PLACES).expect("no range was taken before")
}

fn shares(values: &[Label]) -> Shares {
    Shares::of_columns(2, values.iter().flat_map(|v| [v.bits() as u64, (v.bits() >> 64) as u64]).collect())
}

fn value_of(column: &Column) -> u128 {
    u128::from(column[0]) | u128::from(column[1]) << 64
}

impl Sender {
    fn beginning(state: SenderState, next: Range) -> Self {
        Sender { state, next, fault: Arc::default() }
    }

    fn random(&self, place: u64, lsb: Lsb) -> Label {
        let bytes = *blake3::keyed_hash(&self.state.seed, &place.to_le_bytes()).as_bytes();
        let label = Label::from_bytes(*bytes.first_chunk().expect("32 bytes"));
        match lsb {
            Lsb::Random => label,
            Lsb::Zero => label.with_colour(0),
            Lsb::One => label.with_colour(1),
        }
    }

    /// Sends values, and assigns them the next places of the stream.
    fn send(&mut self, channel: &mut Channel, values: &[Label]) -> Result<Committed, Error> {
        send(channel, self.next.draw(values.len() as u64)?, values)?;
        Ok(Committed { values: values.to_vec(), shares: shares(values) })
    }
}

impl Receiver {
    fn beginning(next: Range) -> Self {
        Receiver { names: Names::default(), next, fault: Arc::default() }
    }
}

fn send(channel: &mut Channel, first: u64, values: &[Label]) -> Result<(), Error> {
    channel.send(VALUES, &[&first.to_le_bytes()[..], bytemuck::cast_slice(values)].concat())
}

/// The values of a row that begins at this place of the stream.
pub struct Committing {
    first: u64,
    count: usize,
    values: Vec<Label>,
}

impl commit::Sender for Sender {
    type State = SenderState;
    type Committing = Committing;

    fn set_up(_: &mut Channel, _: &mut impl CotSender, _: u32, _: u64) -> Result<Self, Error> {
        let mut seed = [0; 32];
        Rng::replayable("ideal commitments").fill(&mut seed);
        Ok(Sender::beginning(SenderState { seed, chosen: BTreeMap::new() }, of_setup()))
    }

    fn restored(state: &SenderState, _: u32, _: u64) -> Result<Self, Error> {
        Ok(Sender::beginning(state.clone(), PLACES.none()))
    }

    fn state(&self) -> SenderState {
        self.state.clone()
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.next = ranges.take(&PLACES)?;
        Ok(())
    }

    fn next_row(&self) -> u64 {
        self.next.next()
    }

    fn fault(&self) -> &Arc<Fault> {
        &self.fault
    }

    fn commit_random(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<Committed, Error> {
        let values: Vec<Label> =
            (self.next.next()..).take(count).map(|place| self.random(place, lsb)).collect();
        self.send(channel, &values)
    }

    fn commit(&mut self, channel: &mut Channel, values: &[Label]) -> Result<Committed, Error> {
        let first = self.next.next();
        let committed = self.send(channel, values)?;
        self.state.chosen.extend((first..).zip(values.iter().map(|value| value.bits())));
        Ok(committed)
    }

    fn row(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<CommitmentRow, Error> {
        Ok(self.commit_random(channel, count, lsb)?.into())
    }

    fn begin_row(&mut self, count: usize) -> Result<Committing, Error> {
        let first = self.next.draw(count as u64)?;
        Ok(Committing { first, count, values: Vec::new() })
    }

    fn push(&mut self, channel: &mut Channel, row: &mut Committing, values: &[Label]) -> Result<(), Error> {
        row.values.extend_from_slice(values);
        if row.values.len() == row.count && !values.is_empty() {
            self.state.chosen.extend((row.first..).zip(row.values.iter().map(|value| value.bits())));
            send(channel, row.first, &row.values)?;
        }
        Ok(())
    }

    fn finish(&self, row: Committing) -> CommitmentRow {
        assert_eq!(row.values.len(), row.count, "each commitment must have a value");
        Committed { shares: shares(&row.values), values: row.values }.into()
    }

    fn again(&self, row: u64, lsb: Lsb, numbers: &[u64]) -> Committed {
        let values: Vec<Label> = numbers.iter().map(|&number| self.random(row + number, lsb)).collect();
        Committed { shares: shares(&values), values }
    }

    fn shares_again(&self, row: u64, numbers: &[u64]) -> Shares {
        let value = |place: u64| match self.state.chosen.get(&place) {
            Some(&value) => Label::from_bits(value),
            None => self.random(place, Lsb::Random),
        };
        shares(&numbers.iter().map(|&number| value(row + number)).collect::<Vec<_>>())
    }

    fn prove(&mut self, channel: &mut Channel, _: &[New], _: &Claims) -> Result<(), Error> {
        self.fault.check()?;
        channel.flush()
    }
}

impl commit::Receiver for Receiver {
    type State = ();

    fn set_up(_: &mut Channel, _: &mut impl CotReceiver, _: &mut Rng, _: u32, _: u64) -> Result<Self, Error> {
        Ok(Receiver::beginning(of_setup()))
    }

    fn restored((): &(), _: u32, _: u64) -> Result<Self, Error> {
        Ok(Receiver::beginning(PLACES.none()))
    }

    fn state(&self) {}

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.next = ranges.take(&PLACES)?;
        Ok(())
    }

    fn fault(&self) -> &Arc<Fault> {
        &self.fault
    }

    fn receive_random(&mut self, channel: &mut Channel, count: usize, _: Lsb) -> Result<Pending, Error> {
        self.receive(channel, count)
    }

    fn receive(&mut self, channel: &mut Channel, count: usize) -> Result<Pending, Error> {
        let first = self.next.draw(count as u64)?;
        let message = channel.receive(VALUES, 8 + 16 * count)?;
        let (place, values) = message.split_first_chunk::<8>().expect("the message has the requested length");
        if u64::from_le_bytes(*place) != first {
            return Err(Cheat::Commitment.into());
        }
        let values: Vec<Label> = values.as_chunks::<16>().0.iter().map(|&v| Label::from_bytes(v)).collect();
        Ok(self.names.pending(shares(&values)))
    }

    fn verify(&mut self, _: &mut Channel, new: &[&Pending], claims: &Claims) -> Result<Proof, Error> {
        let wrong = claims.wrong(value_of);
        self.fault.check()?;
        match wrong {
            Some(cheat) => Err(cheat.into()),
            None => Ok(self.names.proof(new, claims.names())),
        }
    }

    fn no_commitments(&mut self) -> Pending {
        self.names.pending(Shares::default())
    }

    fn claimed<T>(&mut self, received: T) -> Claimed<T> {
        self.names.claimed(received)
    }
}
