//! Correlated OTs of a construction that is chosen at run time.

use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::{Rng, Seed};
use brickwork_store::{Forward, Ranges};
use brickwork_wire::Channel;
use serde::{Deserialize, Serialize};

use super::{CotReceiver, CotSender, Series, extension, pcg, softspoken};

/// The construction of correlated OTs. A construction with more bits of the offset in a row sends fewer bytes
/// for an OT, and computes more streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cot {
    /// [`extension`]: a row for each bit of the offset.
    Extension,
    /// [`softspoken`] with K = 2.
    SoftSpoken2,
    /// [`softspoken`] with K = 4: the fastest on most networks.
    #[default]
    SoftSpoken4,
    /// [`softspoken`] with K = 8.
    SoftSpoken8,
    /// [`pcg`]: sends the fewest bytes.
    Pcg,
}

impl Cot {
    /// All constructions.
    pub const ALL: [Cot; 5] =
        [Cot::Extension, Cot::SoftSpoken2, Cot::SoftSpoken4, Cot::SoftSpoken8, Cot::Pcg];

    /// Returns the name by which users choose the construction.
    pub fn name(self) -> &'static str {
        match self {
            Cot::Extension => "extension",
            Cot::SoftSpoken2 => "softspoken-2",
            Cot::SoftSpoken4 => "softspoken-4",
            Cot::SoftSpoken8 => "softspoken-8",
            Cot::Pcg => "pcg",
        }
    }

    /// Returns the number of keys of a series that a stock keeps: at its sender, and at its receiver.
    pub fn keys(self) -> [usize; 2] {
        match self {
            Cot::Extension => [extension::Sender::KEYS, extension::Receiver::KEYS],
            Cot::SoftSpoken2 => [softspoken::Sender::<2>::KEYS, softspoken::Receiver::<2>::KEYS],
            Cot::SoftSpoken4 => [softspoken::Sender::<4>::KEYS, softspoken::Receiver::<4>::KEYS],
            Cot::SoftSpoken8 => [softspoken::Sender::<8>::KEYS, softspoken::Receiver::<8>::KEYS],
            Cot::Pcg => [pcg::Sender::KEYS, pcg::Receiver::KEYS],
        }
    }

    /// Returns the number of rows of corrections that OTs of random choices need. The number is also the
    /// number of bits that an OT costs. OTs of [`pcg`] are made in advance ([`provide`]), so they cost
    /// nothing when they are used.
    pub fn rows(self) -> usize {
        match self {
            Cot::Extension => super::BASE_OTS,
            Cot::SoftSpoken2 => super::BASE_OTS / 2 - 1,
            Cot::SoftSpoken4 => super::BASE_OTS / 4 - 1,
            Cot::SoftSpoken8 => super::BASE_OTS / 8 - 1,
            Cot::Pcg => 0,
        }
    }

    /// Returns whether the receiver proves its trees when a series is set up.
    pub fn has_trees(self) -> bool {
        self != Cot::Extension
    }
}

/// The sender of a series, which chose the offset.
#[allow(clippy::large_enum_variant)]
pub enum Sender {
    /// The sender of [`Cot::Extension`].
    Extension(extension::Sender),
    /// The sender of [`Cot::SoftSpoken2`].
    SoftSpoken2(softspoken::Sender<2>),
    /// The sender of [`Cot::SoftSpoken4`].
    SoftSpoken4(softspoken::Sender<4>),
    /// The sender of [`Cot::SoftSpoken8`].
    SoftSpoken8(softspoken::Sender<8>),
    /// The sender of [`Cot::Pcg`].
    Pcg(pcg::Sender),
}

impl Sender {
    /// Sets up a series of this construction, as [`CotSender::set_up`].
    ///
    /// # Errors
    /// As [`CotSender::set_up`].
    pub fn set_up(
        cot: Cot,
        channel: &mut Channel,
        series: &Series,
        offset: Delta,
        seeds: &[Seed],
    ) -> Result<Self, Error> {
        Ok(match cot {
            Cot::Extension => Sender::Extension(CotSender::set_up(channel, series, offset, seeds)?),
            Cot::SoftSpoken2 => Sender::SoftSpoken2(CotSender::set_up(channel, series, offset, seeds)?),
            Cot::SoftSpoken4 => Sender::SoftSpoken4(CotSender::set_up(channel, series, offset, seeds)?),
            Cot::SoftSpoken8 => Sender::SoftSpoken8(CotSender::set_up(channel, series, offset, seeds)?),
            Cot::Pcg => Sender::Pcg(CotSender::set_up(channel, series, offset, seeds)?),
        })
    }

    /// Continues a series from a stock's keys, as [`CotSender::restored`].
    ///
    /// # Errors
    /// As [`CotSender::restored`].
    pub fn restored(cot: Cot, series: &Series, offset: Delta, keys: Forward) -> Result<Self, Error> {
        Ok(match cot {
            Cot::Extension => Sender::Extension(CotSender::restored(series, offset, keys)?),
            Cot::SoftSpoken2 => Sender::SoftSpoken2(CotSender::restored(series, offset, keys)?),
            Cot::SoftSpoken4 => Sender::SoftSpoken4(CotSender::restored(series, offset, keys)?),
            Cot::SoftSpoken8 => Sender::SoftSpoken8(CotSender::restored(series, offset, keys)?),
            Cot::Pcg => Sender::Pcg(CotSender::restored(series, offset, keys)?),
        })
    }

    /// Returns the keys for a stock, as [`CotSender::keys_behind`].
    pub fn keys_behind(&self) -> Forward {
        match self {
            Sender::Extension(sender) => sender.keys_behind(),
            Sender::SoftSpoken2(sender) => sender.keys_behind(),
            Sender::SoftSpoken4(sender) => sender.keys_behind(),
            Sender::SoftSpoken8(sender) => sender.keys_behind(),
            Sender::Pcg(sender) => sender.keys_behind(),
        }
    }

    /// Returns the construction.
    pub fn cot(&self) -> Cot {
        match self {
            Sender::Extension(_) => Cot::Extension,
            Sender::SoftSpoken2(_) => Cot::SoftSpoken2,
            Sender::SoftSpoken4(_) => Cot::SoftSpoken4,
            Sender::SoftSpoken8(_) => Cot::SoftSpoken8,
            Sender::Pcg(_) => Cot::Pcg,
        }
    }

    /// Returns Δ, as [`CotSender::offset`].
    pub fn offset(&self) -> Label {
        match self {
            Sender::Extension(sender) => sender.offset(),
            Sender::SoftSpoken2(sender) => sender.offset(),
            Sender::SoftSpoken4(sender) => sender.offset(),
            Sender::SoftSpoken8(sender) => sender.offset(),
            Sender::Pcg(sender) => sender.offset(),
        }
    }

    /// Continues with the ranges of an entry, as [`CotSender::enter`].
    ///
    /// # Errors
    /// As [`CotSender::enter`].
    pub fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        match self {
            Sender::Extension(sender) => sender.enter(ranges),
            Sender::SoftSpoken2(sender) => sender.enter(ranges),
            Sender::SoftSpoken4(sender) => sender.enter(ranges),
            Sender::SoftSpoken8(sender) => sender.enter(ranges),
            Sender::Pcg(sender) => sender.enter(ranges),
        }
    }

    /// Makes OTs of random choices in place, as [`CotSender::random_bits`].
    ///
    /// # Errors
    /// As [`CotSender::random_bits`].
    pub fn random_bits(&mut self, channel: &mut Channel, keys: &mut [Label]) -> Result<(), Error> {
        match self {
            Sender::Extension(sender) => sender.random_bits(channel, keys),
            Sender::SoftSpoken2(sender) => sender.random_bits(channel, keys),
            Sender::SoftSpoken4(sender) => sender.random_bits(channel, keys),
            Sender::SoftSpoken8(sender) => sender.random_bits(channel, keys),
            Sender::Pcg(sender) => sender.random_bits(channel, keys),
        }
    }
}

/// The receiver of a series, which has the choices.
#[allow(clippy::large_enum_variant)]
pub enum Receiver {
    /// The receiver of [`Cot::Extension`].
    Extension(extension::Receiver),
    /// The receiver of [`Cot::SoftSpoken2`].
    SoftSpoken2(softspoken::Receiver<2>),
    /// The receiver of [`Cot::SoftSpoken4`].
    SoftSpoken4(softspoken::Receiver<4>),
    /// The receiver of [`Cot::SoftSpoken8`].
    SoftSpoken8(softspoken::Receiver<8>),
    /// The receiver of [`Cot::Pcg`].
    Pcg(pcg::Receiver),
}

impl Receiver {
    /// Sets up a series of this construction, as [`CotReceiver::set_up`].
    ///
    /// # Errors
    /// As [`CotReceiver::set_up`].
    pub fn set_up(
        cot: Cot,
        channel: &mut Channel,
        series: &Series,
        seeds: &[[Seed; 2]],
    ) -> Result<Self, Error> {
        Ok(match cot {
            Cot::Extension => Receiver::Extension(CotReceiver::set_up(channel, series, seeds)?),
            Cot::SoftSpoken2 => Receiver::SoftSpoken2(CotReceiver::set_up(channel, series, seeds)?),
            Cot::SoftSpoken4 => Receiver::SoftSpoken4(CotReceiver::set_up(channel, series, seeds)?),
            Cot::SoftSpoken8 => Receiver::SoftSpoken8(CotReceiver::set_up(channel, series, seeds)?),
            Cot::Pcg => Receiver::Pcg(CotReceiver::set_up(channel, series, seeds)?),
        })
    }

    /// Continues a series from a stock's keys, as [`CotReceiver::restored`].
    ///
    /// # Errors
    /// As [`CotReceiver::restored`].
    pub fn restored(cot: Cot, series: &Series, keys: Forward) -> Result<Self, Error> {
        Ok(match cot {
            Cot::Extension => Receiver::Extension(CotReceiver::restored(series, keys)?),
            Cot::SoftSpoken2 => Receiver::SoftSpoken2(CotReceiver::restored(series, keys)?),
            Cot::SoftSpoken4 => Receiver::SoftSpoken4(CotReceiver::restored(series, keys)?),
            Cot::SoftSpoken8 => Receiver::SoftSpoken8(CotReceiver::restored(series, keys)?),
            Cot::Pcg => Receiver::Pcg(CotReceiver::restored(series, keys)?),
        })
    }

    /// Returns the keys for a stock, as [`CotReceiver::keys_behind`].
    pub fn keys_behind(&self) -> Forward {
        match self {
            Receiver::Extension(receiver) => receiver.keys_behind(),
            Receiver::SoftSpoken2(receiver) => receiver.keys_behind(),
            Receiver::SoftSpoken4(receiver) => receiver.keys_behind(),
            Receiver::SoftSpoken8(receiver) => receiver.keys_behind(),
            Receiver::Pcg(receiver) => receiver.keys_behind(),
        }
    }

    /// Continues with the ranges of an entry, as [`CotReceiver::enter`].
    ///
    /// # Errors
    /// As [`CotReceiver::enter`].
    pub fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        match self {
            Receiver::Extension(receiver) => receiver.enter(ranges),
            Receiver::SoftSpoken2(receiver) => receiver.enter(ranges),
            Receiver::SoftSpoken4(receiver) => receiver.enter(ranges),
            Receiver::SoftSpoken8(receiver) => receiver.enter(ranges),
            Receiver::Pcg(receiver) => receiver.enter(ranges),
        }
    }

    /// Makes OTs of random choices in place, as [`CotReceiver::random_bits`].
    ///
    /// # Errors
    /// As [`CotReceiver::random_bits`].
    pub fn random_bits(
        &mut self,
        channel: &mut Channel,
        rng: &mut Rng,
        macs: &mut [Label],
    ) -> Result<(), Error> {
        match self {
            Receiver::Extension(receiver) => receiver.random_bits(channel, rng, macs),
            Receiver::SoftSpoken2(receiver) => receiver.random_bits(channel, rng, macs),
            Receiver::SoftSpoken4(receiver) => receiver.random_bits(channel, rng, macs),
            Receiver::SoftSpoken8(receiver) => receiver.random_bits(channel, rng, macs),
            Receiver::Pcg(receiver) => receiver.random_bits(channel, rng, macs),
        }
    }
}

/// Makes OTs in advance, if the construction does so: in both directions, until this party has `count`
/// choices left. The peer calls this function at the same time, so that later calls read no messages.
///
/// # Errors
/// As [`pcg::provide`].
pub fn provide(
    channel: &mut Channel,
    sender: &mut Sender,
    receiver: &mut Receiver,
    count: usize,
) -> Result<(), Error> {
    match (sender, receiver) {
        (Sender::Pcg(sender), Receiver::Pcg(receiver)) => pcg::provide(channel, sender, receiver, count),
        _ => Ok(()),
    }
}
