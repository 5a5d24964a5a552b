//! The messages in which both parties agree on their next action.

use super::msg;
use super::side::Lacking;
use crate::Metered;
use brickwork_base::{Error, Malformed};
use brickwork_stock::{Entry, EpochId};

/// The next action, and the epoch for it. The garbler sends it, and the evaluator answers with the same if it
/// agrees. Several sessions between the same stores use different epochs, in any order of their start.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Intent {
    pub what: u8,
    /// The epoch; zeros for none.
    pub epoch: EpochId,
    /// A digest of the action and of the log's position before it; or zeros.
    pub next: [u8; 32],
}

/// The largest number of bytes of a list of unreadable items: 4096 ranges.
const MOST_DAMAGED_BYTES: usize = 1 << 17;

impl Intent {
    /// Nothing is taken or made.
    pub const REFUSE: u8 = 0;
    /// A program takes items from the epoch.
    pub const USE: u8 = 1;
    /// The items that a program lacks are made.
    pub const MAKE: u8 = 2;
    /// Stock is added to the epoch, or to a new one.
    pub const ADD: u8 = 3;
    /// Other sessions hold the epochs with the program's items, and nothing is made.
    pub const BUSY: u8 = 4;

    /// Items of the epoch that the program would have taken cannot be read; both parties remove them.
    pub const DAMAGED: u8 = 5;

    const BYTES: usize = 65;

    pub fn only(what: u8) -> Self {
        Intent { what, epoch: [0; 32], next: [0; 32] }
    }

    /// Sends it, after the peer's message if the peer sent first.
    pub fn send(&self, run: &mut Metered) -> Result<(), Error> {
        run.channel.send(msg::INTENT, &[&[self.what][..], &self.epoch, &self.next].concat())?;
        run.channel.flush()?;
        Ok(())
    }

    /// Sends the list of items that cannot be read: those of this entry.
    pub fn send_damaged(&self, run: &mut Metered, damaged: &Entry) -> Result<(), Error> {
        let Entry::Damaged(items) = damaged else { return Err(different()) };
        let items = postcard::to_stdvec(items).map_err(|_| Error::Stock("items cannot be named".into()))?;
        run.channel.send(msg::INTENT, &[&[self.what][..], &self.epoch, &self.next].concat())?;
        run.channel.send(msg::DAMAGED, &items)?;
        run.channel.flush()?;
        Ok(())
    }

    /// Receives the list of items that the peer cannot read, after an intent that announces it.
    pub fn receive_damaged(run: &mut Metered) -> Result<Entry, Error> {
        let items = run.channel.receive_up_to(msg::DAMAGED, MOST_DAMAGED_BYTES)?;
        postcard::from_bytes(&items).map(Entry::Damaged).map_err(|_| Malformed::UnexpectedMessage.into())
    }

    pub fn receive(run: &mut Metered) -> Result<Self, Error> {
        let bytes = run.channel.receive(msg::INTENT, Self::BYTES)?;
        let mut intent = Intent::only(bytes[0]);
        intent.epoch.copy_from_slice(&bytes[1..33]);
        intent.next.copy_from_slice(&bytes[33..]);
        Ok(intent)
    }
}

pub(super) fn make_or_refuse(lacking: Lacking) -> Intent {
    Intent::only(if lacking == Lacking::Make { Intent::MAKE } else { Intent::REFUSE })
}

pub(super) fn busy() -> Error {
    Error::Busy(
        "another session between these stores has the part that this one needs; run again when it is over"
            .into(),
    )
}

pub(super) fn different() -> Error {
    Error::Stock(
        "this store and the peer's do not hold the same; `brickwork stock ls` on both sides tells".into(),
    )
}

/// Tells the peer that this party begins nothing, and returns the reason to this party's user.
pub(super) fn refused(run: &mut Metered, why: Error) -> Result<(), Error> {
    Intent::only(Intent::REFUSE).send(run)?;
    Err(why)
}

pub(super) fn peer_makes_nothing() -> Error {
    Error::Stock(
        "the peer makes no more stock with this party: its own message says why, such as that its disk is \
         full, that it was stopped, or that too much that was begun came to nothing"
            .into(),
    )
}

pub(super) fn peer_refuses() -> Error {
    Error::Stock("the stock lacks something, and the peer makes nothing on the spot".into())
}
