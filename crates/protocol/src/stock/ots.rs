//! A party's part of correlated OTs that have one offset for a session, and their records: for each OT, the
//! garbler keeps the label for choice 0, and the evaluator its choice and its label.

use std::ops::Range;

use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::Rng;
use brickwork_kernels::SecretBlocks;
use brickwork_primitives::ot::base::SeriesKeys;
use brickwork_primitives::ot::{CotReceiver, CotSender, Series, extension};
use brickwork_store::{Forward, Ranges};
use brickwork_wire::Channel;

use crate::stock::records::{In, Out, Records};

/// A party's part of the OTs of a session, in which the garbler is the sender.
pub trait OtEnd: Sized + Send + 'static {
    /// This party's data about OTs with random choices.
    type Ots: Records<Context<'static> = ()> + Default + Send;

    /// Begins with the keys of base OTs, in which the garbler chose by the bits of its offset.
    ///
    /// # Errors
    /// If the peer sends an unexpected message or closes the connection.
    fn set_up(
        channel: &mut Channel,
        series: &Series,
        offset: Option<&Delta>,
        keys: &SeriesKeys,
    ) -> Result<Self, Error>;

    /// Continues with OTs whose keys were stored. The garbler also needs their offset.
    ///
    /// # Errors
    /// [`Error::Stock`] if the number of keys is wrong, or the garbler's offset is missing.
    fn restored(series: &Series, offset: Option<Delta>, keys: Forward) -> Result<Self, Error>;

    /// Returns the offset, at the garbler.
    fn offset(&self) -> Option<Label>;

    /// Returns the keys to store.
    fn keys_behind(&self) -> Forward;

    /// Enters these ranges of its counters.
    ///
    /// # Errors
    /// [`Error::Usage`] if one is taken twice.
    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error>;

    /// Makes OTs with random choices.
    ///
    /// # Errors
    /// If the peer cheats, or goes away.
    fn draw(&mut self, channel: &mut Channel, rng: &mut Rng, count: usize) -> Result<Self::Ots, Error>;
}

fn no_offset() -> Error {
    Error::Stock("the garbler's stored secrets lack the offset".into())
}

impl OtEnd for extension::Sender {
    type Ots = GarblerOts;

    fn set_up(
        channel: &mut Channel,
        series: &Series,
        offset: Option<&Delta>,
        keys: &SeriesKeys,
    ) -> Result<Self, Error> {
        CotSender::set_up(channel, series, *offset.ok_or_else(no_offset)?, &keys.received)
    }

    fn restored(series: &Series, offset: Option<Delta>, keys: Forward) -> Result<Self, Error> {
        CotSender::restored(series, offset.ok_or_else(no_offset)?, keys)
    }

    fn offset(&self) -> Option<Label> {
        Some(CotSender::offset(self))
    }

    fn keys_behind(&self) -> Forward {
        CotSender::keys_behind(self)
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        CotSender::enter(self, ranges)
    }

    fn draw(&mut self, channel: &mut Channel, _: &mut Rng, count: usize) -> Result<GarblerOts, Error> {
        Ok(GarblerOts(self.random(channel, count)?))
    }
}

impl OtEnd for extension::Receiver {
    type Ots = EvaluatorOts;

    fn set_up(
        channel: &mut Channel,
        series: &Series,
        _: Option<&Delta>,
        keys: &SeriesKeys,
    ) -> Result<Self, Error> {
        CotReceiver::set_up(channel, series, &keys.sent)
    }

    fn restored(series: &Series, _: Option<Delta>, keys: Forward) -> Result<Self, Error> {
        CotReceiver::restored(series, keys)
    }

    fn offset(&self) -> Option<Label> {
        None
    }

    fn keys_behind(&self) -> Forward {
        CotReceiver::keys_behind(self)
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        CotReceiver::enter(self, ranges)
    }

    fn draw(&mut self, channel: &mut Channel, rng: &mut Rng, count: usize) -> Result<EvaluatorOts, Error> {
        let (choices, labels) = self.random(channel, rng, count)?;
        Ok(EvaluatorOts { choices, labels })
    }
}

/// For each OT, the label M for choice 0.
#[derive(Default)]
pub struct GarblerOts(pub SecretBlocks<Label>);

/// The evaluator's choice c (0 or 1) and label T = M ⊕ cΔ of each OT.
#[derive(Default)]
pub struct EvaluatorOts {
    /// The choice c of each OT.
    pub choices: SecretBlocks<u8>,
    /// The label T of each OT.
    pub labels: SecretBlocks<Label>,
}

impl Records for GarblerOts {
    type Context<'c> = ();

    fn count(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        out.pods(&self.0[items]);
        Ok(())
    }

    fn decode((): &(), count: usize, record: &mut In) -> Result<Self, Error> {
        Ok(GarblerOts(SecretBlocks::new(record.pods(count)?)))
    }
}

impl Records for EvaluatorOts {
    type Context<'c> = ();

    fn count(&self) -> usize {
        self.labels.len()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        out.pods(&self.choices[items.clone()]);
        out.pods(&self.labels[items]);
        Ok(())
    }

    fn decode((): &(), count: usize, record: &mut In) -> Result<Self, Error> {
        let choices = SecretBlocks::new(record.pods::<u8>(count)?);
        let labels = SecretBlocks::new(record.pods(count)?);
        match choices.iter().fold(0, |all, choice| all | choice) {
            0 | 1 => Ok(EvaluatorOts { choices, labels }),
            _ => Err(Error::Stock("a stored record contains a choice bit that is neither 0 nor 1".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    // Rows are those of the table of attacks (docs/concepts/security.md, section 14).

    use super::*;
    use crate::stock::records::rewritten;
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;

    /// Row 25 of the table of attacks: records are read as they were written, and a choice that is neither 0
    /// nor 1 is refused.
    #[test]
    fn row_25_records_are_read_as_they_were_written() {
        let mut rng = Rng::replayable("test OTs");
        let labels = SecretBlocks::new((0..9).map(|_| rng.label()).collect());
        for (choice, good) in [(0, true), (1, true), (2, false), (255, false)] {
            let mut choices = SecretBlocks::new(vec![1; 9]);
            choices[4] = choice;
            let all = EvaluatorOts { choices: choices.clone(), labels: labels.clone() };
            match rewritten(&all, 3, &()) {
                Ok(ots) => assert!(good && ots.choices[..] == choices[..] && ots.labels[..] == labels[..]),
                Err(refused) => assert!(!good && refused.to_string().contains("neither 0 nor 1")),
            }
        }
    }
}
