//! What both parties say to each other that they mean to do next.

use super::msg;
use super::side::Lacking;
use crate::Metered;
use brickwork_base::Error;
use brickwork_stock::EpochId;

/// What is done next, and in which epoch. The garbler says it, and the evaluator says it again if it does so,
/// too: of several sessions between the same stores each is in another epoch, whoever is first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Intent {
    pub what: u8,
    /// Zeros for none.
    pub epoch: EpochId,
    /// What is done, and where the log stands before it; or zeros.
    pub next: [u8; 32],
}

impl Intent {
    /// Neither is anything taken nor made.
    pub const REFUSE: u8 = 0;
    /// A program takes from the epoch.
    pub const USE: u8 = 1;
    /// What a program lacks is made.
    pub const MAKE: u8 = 2;
    /// Stock is added to the epoch, or to a new one.
    pub const ADD: u8 = 3;
    /// What the program takes is in epochs that other sessions have, and nothing is made.
    pub const BUSY: u8 = 4;

    const BYTES: usize = 65;

    pub fn only(what: u8) -> Self {
        Intent { what, epoch: [0; 32], next: [0; 32] }
    }

    /// Says it, behind what the peer said if it spoke first.
    pub fn send(&self, run: &mut Metered) -> Result<(), Error> {
        run.channel.send(msg::INTENT, &[&[self.what][..], &self.epoch, &self.next].concat())?;
        run.channel.flush()?;
        Ok(())
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

/// Lets the peer know that this party begins nothing, and why this party's user.
pub(super) fn refused(run: &mut Metered, why: Error) -> Result<(), Error> {
    Intent::only(Intent::REFUSE).send(run)?;
    Err(why)
}

pub(super) fn peer_makes_nothing() -> Error {
    Error::Stock(
        "the peer makes no more stock with this party: its own message says why, such as that too much that \
         was begun came to nothing"
            .into(),
    )
}

pub(super) fn peer_refuses() -> Error {
    Error::Stock("the stock lacks something, and the peer makes nothing on the spot".into())
}
