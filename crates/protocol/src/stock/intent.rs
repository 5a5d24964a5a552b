//! The messages by which both parties agree on their next action.

use super::msg;
use super::side::Lacking;
use crate::Metered;
use brickwork_base::{Error, Malformed};
use brickwork_store::{EpochEntry, EpochId};

/// The next action.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NextAction {
    /// No action, because the sender refuses to take or make items.
    Refuse,
    /// A program takes items from the epoch.
    Use,
    /// The parties make the items that a program lacks.
    Make,
    /// More stock is made in the epoch, or in a new one.
    Add,
    /// Other sessions have leased the epochs with the program's items, and no items are made.
    Busy,
    /// Both parties remove items of the epoch that the program would take and that one party cannot read.
    Damaged,
}

impl NextAction {
    const ALL: [Self; 6] = [Self::Refuse, Self::Use, Self::Make, Self::Add, Self::Busy, Self::Damaged];
}

/// The next action, and the epoch for it. The garbler sends it, and the evaluator sends the same back if it
/// agrees. So sessions that run side by side between the same stores use different epochs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Intent {
    pub what: NextAction,
    /// The epoch, or zeros for none.
    pub epoch: EpochId,
    /// A digest of the action and of the log's position before it, or zeros.
    pub next: [u8; 32],
}

/// The largest number of bytes of a list of unreadable items: 4096 ranges.
const MOST_DAMAGED_BYTES: usize = 1 << 17;

impl Intent {
    const BYTES: usize = 65;

    pub fn only(what: NextAction) -> Self {
        Intent { what, epoch: [0; 32], next: [0; 32] }
    }

    fn to_bytes(self) -> Vec<u8> {
        [&[self.what as u8][..], &self.epoch, &self.next].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&what, rest) = bytes.split_first()?;
        let (epoch, next) = rest.split_first_chunk()?;
        let what = *NextAction::ALL.get(usize::from(what))?;
        Some(Intent { what, epoch: *epoch, next: next.try_into().ok()? })
    }

    /// Sends the intent, after the peer's message if the peer sent first.
    pub fn send(&self, run: &mut Metered) -> Result<(), Error> {
        run.channel.send(msg::INTENT, &self.to_bytes())?;
        run.channel.flush()?;
        Ok(())
    }

    /// Sends the list of unreadable items in this entry.
    pub fn send_damaged(&self, run: &mut Metered, damaged: &EpochEntry) -> Result<(), Error> {
        let EpochEntry::Damaged(items) = damaged else { return Err(different()) };
        let items = postcard::to_stdvec(items)
            .map_err(|_| Error::Stock("the list of damaged items cannot be encoded".into()))?;
        run.channel.send(msg::INTENT, &self.to_bytes())?;
        run.channel.send(msg::DAMAGED, &items)?;
        run.channel.flush()?;
        Ok(())
    }

    /// Receives the list of items that the peer cannot read, after an intent that announces it.
    pub fn receive_damaged(run: &mut Metered) -> Result<EpochEntry, Error> {
        let items = run.channel.receive_up_to(msg::DAMAGED, MOST_DAMAGED_BYTES)?;
        postcard::from_bytes(&items).map(EpochEntry::Damaged).map_err(|_| Malformed::UnexpectedMessage.into())
    }

    pub fn receive(run: &mut Metered) -> Result<Self, Error> {
        let bytes = run.channel.receive(msg::INTENT, Self::BYTES)?;
        Self::from_bytes(&bytes).ok_or_else(|| Malformed::UnexpectedMessage.into())
    }
}

/// Returns a peer's intent, read and written again, for the fuzz targets; `None` if the bytes are malformed.
pub fn intent_again(bytes: &[u8]) -> Option<Vec<u8>> {
    Intent::from_bytes(bytes).map(Intent::to_bytes)
}

pub(super) fn make_or_refuse(lacking: Lacking) -> Intent {
    Intent::only(if lacking == Lacking::Make { NextAction::Make } else { NextAction::Refuse })
}

pub(super) fn busy() -> Error {
    Error::Busy(
        "another session between the same two stores uses the part of the stock that this session needs; \
         run again when that session has ended"
            .into(),
    )
}

pub(super) fn different() -> Error {
    Error::Stock(
        "this store and the peer's store do not have the same stock; compare `brickwork stock ls` on both \
         sides"
            .into(),
    )
}

/// Tells the peer that this party begins no action. Returns the reason, for this party's user.
pub(super) fn refused(run: &mut Metered, why: Error) -> Result<(), Error> {
    Intent::only(NextAction::Refuse).send(run)?;
    Err(why)
}

pub(super) fn peer_makes_nothing() -> Error {
    Error::Stock(
        "the peer refuses to make more stock with this party; the peer's own output says why (its disk may \
         be full, it may have been stopped, or too many attempts have failed)"
            .into(),
    )
}

pub(super) fn peer_refuses() -> Error {
    Error::Stock(
        "the stock lacks items for this program, and the peer does not allow to make them during the run"
            .into(),
    )
}
