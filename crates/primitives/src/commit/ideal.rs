//! The ideal functionality, for tests, and nothing but them: values travel in the clear, a share is the value
//! itself, and each claim is compared.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::claims::{Claims, Each, Known, Weights};
use super::proof::{Names, Pending, Proof};
use super::row::{Committed, New, Row};
use super::rows::{BLOCK, Column, DIMENSION};
use super::scheme::{self, Level, Scheme};
use super::shares::Shares;
use super::{Cheat, Lsb};
use crate::ot::{CotReceiver, CotSender};
use crate::spill::Fault;
use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::random::Rng;
use brickwork_stock::{Counter, Range, Ranges};
use brickwork_wire::{Channel, Tag};

const VALUES: Tag = Tag(230);

/// The functionality.
pub struct Ideal;

impl Scheme for Ideal {
    const NAME: &'static str = "ideal";

    type Sender = Sender;
    type Receiver = Receiver;

    fn level(_: u32) -> Option<Level> {
        let (binding_log2, misses) = (f64::NEG_INFINITY, 0.0);
        Some(Level {
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

/// What a stock keeps: values of this party's choice, by their place in the stream; random ones follow from
/// the seed.
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

/// The party that is committed to, and sees everything.
pub struct Receiver {
    names: Names,
    next: Range,
    fault: Arc<Fault>,
}

/// The counter of places in the stream.
const PLACES: Counter = Counter::new("places of ideal commitments", 40);

/// The range of places of a setup.
fn of_setup() -> Range {
    Ranges::of_setup().take(&PLACES).expect("nothing is taken")
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

    /// Sends values that lie at the next places.
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

/// Values that come one after the other, from this place on.
pub struct Committing {
    first: u64,
    count: usize,
    values: Vec<Label>,
}

impl scheme::Sender for Sender {
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

    fn row(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<Row, Error> {
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

    fn finish(&self, row: Committing) -> Row {
        assert_eq!(row.values.len(), row.count, "a value for each commitment");
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

impl scheme::Receiver for Receiver {
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
        let (place, values) = message.split_first_chunk::<8>().expect("as long as was asked for");
        if u64::from_le_bytes(*place) != first {
            return Err(Cheat::Commitment.into());
        }
        let values: Vec<Label> = values.as_chunks::<16>().0.iter().map(|&v| Label::from_bytes(v)).collect();
        Ok(self.names.pending(shares(&values)))
    }

    fn verify(&mut self, _: &mut Channel, new: &[&Pending], claims: &Claims) -> Result<Proof, Error> {
        let wrong_bit = claims.bits.iter().any(|(count, claim)| {
            (0..*count).any(|i| {
                let mut sum = Column::default();
                u128::from(claim(i, &mut sum).colour()) != value_of(&sum) & 1
            })
        });
        let wrong_value = wrong_values(claims);
        self.fault.check()?;
        if wrong_bit || wrong_value {
            // A lie about a value is often one about a bit, too: the value says more.
            return Err(if wrong_value { Cheat::Opening } else { Cheat::Indicator }.into());
        }
        Ok(self.names.proof(new, &claims.about))
    }

    fn names(&mut self) -> &mut Names {
        &mut self.names
    }
}

/// Whether a claimed value is wrong. Weights that are `x^k` for claim k of one block, and 0 for all other
/// claims, keep the claims of that block apart: what all sums and values come to, each times its weight, has
/// in bit k what claim k is off by.
fn wrong_values(claims: &Claims) -> bool {
    let counts: Vec<usize> = claims.known.iter().map(Known::count).collect();
    let blocks =
        counts.iter().enumerate().flat_map(|(g, count)| (0..count.div_ceil(BLOCK)).map(move |b| (g, b)));
    blocks.into_iter().any(|(group, block)| {
        let elements = |(g, count): (usize, &usize)| {
            (0..count.div_ceil(BLOCK)).map(|b| u128::from((g, b) == (group, block))).collect()
        };
        let weights = Weights::new(counts.iter().enumerate().map(elements).collect());
        let mut off = [0u128; DIMENSION];
        let mut add = |value: u128, weight: u128| {
            off.iter_mut().enumerate().for_each(|(i, off)| *off ^= weight & (value >> i & 1).wrapping_neg());
        };
        for k in block * BLOCK..counts[group].min((block + 1) * BLOCK) {
            let mut sum = Column::default();
            let claimed = match &claims.known[group] {
                Known::Sums(_, claim) => claim(k, &mut sum),
                Known::Each(each) => claim_of(each, k, &mut sum),
            };
            add(value_of(&sum) ^ claimed.bits(), 1 << (k % BLOCK));
        }
        for (shares, weigh) in &claims.weighted {
            let mut sums = vec![0; shares.len()];
            weigh(&weights, 0, &mut sums);
            for (k, &weight) in sums.iter().enumerate().filter(|(_, weight)| **weight != 0) {
                let mut column = Column::default();
                shares.add(k, &mut column);
                add(value_of(&column), weight);
            }
        }
        for (count, tell) in &claims.values {
            let (mut values, mut of) = (vec![Label::ZERO; *count], vec![0; *count]);
            tell(&weights, 0, &mut values, &mut of);
            values.iter().zip(of).for_each(|(value, weight)| add(value.bits(), weight));
        }
        off.iter().any(|&off| off != 0)
    })
}

/// The sum and the value of a claim that follows rows of commitments, without those that are weighted.
fn claim_of(each: &Each, k: usize, sum: &mut Column) -> Label {
    each.places(k..k + 1).next().map_or(Label::ZERO, |(item, wire)| {
        each.terms.iter().for_each(|(shares, coefficient)| shares.add_if(coefficient(item, wire), k, sum));
        each.one.iter().for_each(|(shares, coefficient)| shares.add_if(coefficient(item, wire), 0, sum));
        let mut value = [Label::ZERO];
        each.values.iter().for_each(|values| values(item, wire..wire + 1, &mut value));
        value[0]
    })
}
