//! Ideal correlated OTs for tests: the sender draws both labels and sends them, and the receiver reads one of
//! each pair.

use brickwork_testing::Replayable as _;

use super::BASE_OTS;
use super::cot::{CotReceiver, CotSender, Series};
use crate::Labels;
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::{Rng, Seed};
use brickwork_store::{Forward, Ranges};
use brickwork_wire::{Channel, Tag};

const PAIRS: Tag = Tag(231);

/// Keys that are hashes of the OT's number and label.
struct Keys {
    series: Series,
    next: u64,
}

impl Keys {
    fn of(&self, labels: impl Iterator<Item = Label>) -> Vec<Seed> {
        let key = |(number, label): (u64, Label)| {
            let mut hasher = blake3::Hasher::new_keyed(self.series.as_bytes());
            hasher.update(&number.to_le_bytes()).update(&label.to_bytes());
            Seed::from_bytes(*hasher.finalize().as_bytes().first_chunk().unwrap())
        };
        (self.next..).zip(labels).map(key).collect()
    }
}

pub(crate) struct Sender {
    offset: Delta,
    keys: Keys,
}

pub(crate) struct Receiver {
    keys: Keys,
}

impl CotSender for Sender {
    const KEYS: usize = 0;

    const CHECK_LOG2: f64 = f64::NEG_INFINITY;

    fn set_up(_: &mut Channel, series: &Series, offset: Delta, seeds: &[Seed]) -> Result<Self, Error> {
        assert_eq!(seeds.len(), BASE_OTS);
        Ok(Sender { offset, keys: Keys { series: *series, next: 0 } })
    }

    fn restored(series: &Series, offset: Delta, _: Forward) -> Result<Self, Error> {
        Ok(Sender { offset, keys: Keys { series: *series, next: 0 } })
    }

    fn keys_behind(&self) -> Forward {
        Forward::default()
    }

    fn offset(&self) -> Label {
        self.offset.label()
    }

    fn enter(&mut self, _: &mut Ranges) -> Result<(), Error> {
        Ok(())
    }

    fn extend(&mut self, channel: &mut Channel, count: usize) -> Result<Labels, Error> {
        let mut rng = Rng::replayable("ideal OTs");
        let labels: Labels = (0..count).map(|_| rng.label()).collect();
        let pairs: Vec<[Label; 2]> = labels.iter().map(|&label| [label, label ^ self.offset]).collect();
        channel.send(PAIRS, bytemuck::cast_slice(pairs.as_flattened()))?;
        channel.flush()?;
        Ok(labels)
    }

    fn keys(&mut self, labels: &[Label]) -> Result<Vec<[Seed; 2]>, Error> {
        let zero = self.keys.of(labels.iter().copied());
        let one = self.keys.of(labels.iter().map(|&label| label ^ self.offset));
        self.keys.next += labels.len() as u64;
        Ok(zero.into_iter().zip(one).map(|(zero, one)| [zero, one]).collect())
    }
}

impl CotReceiver for Receiver {
    const KEYS: usize = 0;

    fn set_up(_: &mut Channel, series: &Series, seeds: &[[Seed; 2]]) -> Result<Self, Error> {
        assert_eq!(seeds.len(), BASE_OTS);
        Self::restored(series, Forward::default())
    }

    fn restored(series: &Series, _: Forward) -> Result<Self, Error> {
        Ok(Receiver { keys: Keys { series: *series, next: 0 } })
    }

    fn keys_behind(&self) -> Forward {
        Forward::default()
    }

    fn enter(&mut self, _: &mut Ranges) -> Result<(), Error> {
        Ok(())
    }

    fn extend(&mut self, channel: &mut Channel, choices: &[u8]) -> Result<Labels, Error> {
        let mut pairs = vec![[Label::ZERO; 2]; choices.len()];
        channel.receive_into(PAIRS, bytemuck::cast_slice_mut(pairs.as_flattened_mut()))?;
        Ok(pairs.iter().zip(choices).map(|(pair, &choice)| pair[usize::from(choice)]).collect())
    }

    fn keys(&mut self, labels: &[Label]) -> Result<Vec<Seed>, Error> {
        let keys = self.keys.of(labels.iter().copied());
        self.keys.next += labels.len() as u64;
        Ok(keys)
    }
}

pub(crate) fn deal() -> (Sender, Receiver) {
    let series = Series::new(&[3; 32], super::Direction::GarblerSends);
    let offset = Rng::replayable("ideal OTs").delta();
    let receiver = Receiver { keys: Keys { series, next: 0 } };
    (Sender { offset, keys: Keys { series, next: 0 } }, receiver)
}
