//! *Makers*: workers that are processes of their own, on any machine of their party. The process with the
//! party's store is their *coordinator*. The peer cannot tell a maker from any other worker.
//!
//! ```text
//!   coordinator -> maker    whom it meets: role, terms, the connection on which the parties have met
//!   maker -> coordinator    what the greetings on its connection with the peer gave
//!   in each step
//!     coordinator -> maker  its share, and the number whose ranges it may draw from, once; the epoch's
//!                           secrets, unless it has them
//!     maker -> coordinator  now and then, that it lives;  coordinator: that it goes on, or is to stop
//!                           segments and records, as they come; batches; that all is sent
//!     coordinator -> maker  that all of it is durable
//!     maker -> coordinator  that its end and the peer's have said so to each other, or how it ended;
//!     coordinator -> maker  that this was heard
//! ```
//!
//! The coordinator has the log, the store and its key. It gives each maker a log number, from which the maker
//! derives its ranges. It encrypts and stores the data that comes back. The data is on the coordinator's disk
//! before the maker tells the peer that it is stored. A maker stores nothing on a disk.
//!
//! **A maker that is lost without a report burns the epoch.** A worker that is a thread ends together with
//! the process that can burn the epoch. So a thread that sees a failed check also burns the epoch. A maker
//! may see a failed check without being able to report it. Its connection to the coordinator can break, by
//! accident or because the peer controls the network, or the coordinator may have crashed. If such a loss
//! counted only as an attempt, a peer could cheat, cut the maker's connection to its coordinator, and guess
//! again about the same secrets. Therefore the burn is recorded before a maker gets a step
//! ([`EpochEntry::Lent`](brickwork_store::EpochEntry)). This entry is taken back when all makers have
//! reported and none has seen a failed check (`Returned`). Until then the log accepts no other entry, and the
//! next process that opens the store burns the epoch.
//!
//! A maker that reports a lost peer or a requested stop counts like any other lost worker. The coordinator
//! trusts the report, because a party's makers belong to the party.

mod away;
mod home;
#[cfg(test)]
mod tests;

pub use away::heard;
pub(super) use away::{Away, Ended};
pub use home::HomeMaker;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::msg;
use crate::{SessionId, Terms};
use brickwork_base::stop::Stopped;
use brickwork_base::{Cheat, Error, Party, Security};
use brickwork_kernels::Erasing;
use brickwork_store::{Batch, Bulk, EpochId, LogHead, Serial};
use brickwork_wire::{Channel, MAX_FRAME_BYTES};

/// The interval at which a maker asks whether to continue.
const BEAT: Duration = Duration::from_millis(250);

/// The time within which a stopping maker must report. It is long, because a maker notices the stop only at
/// its next message.
const STOPPING: Duration = Duration::from_secs(300);

/// The largest number of bytes of a share, and of an epoch's secrets.
const MAX_SENT_BYTES: u64 = 1 << 28;

/// The largest numbers of records in a bulk, and of a share's batches that are open at the same time.
const MAX_RECORDS: u64 = 1 << 26;
const MAX_OPEN: usize = 1 << 12;

/// Bytes of the first key of a batch's items.
const KEY_BYTES: u64 = 32;

/// The longest text in a message.
const MAX_TEXT_BYTES: usize = 2048;

/// A message of a coordinator.
#[derive(Serialize, Deserialize)]
enum Told {
    Meet(MakerMeeting),
    /// The share. The epoch's secrets follow, with this many bytes.
    Share(Share),
    GoOn,
    Stop,
    /// The whole share is stored on the coordinator's disk.
    Durable,
    /// The coordinator has recorded the maker's report. If a check failed, the epoch is burned.
    Heard,
    /// There are no more shares.
    End,
}

/// The data that a maker needs to meet the peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MakerMeeting {
    /// This party's role.
    pub role: Party,
    /// The protocol's name.
    pub protocol: String,
    /// The number of workers, and for a garbler's maker its own number.
    of: u32,
    number: u32,
    /// The identifier of the session in which the coordinators greeted each other.
    session: SessionId,
    security: Security,
    identities: [[u8; 32]; 2],
    post_quantum: bool,
    table_memory: u64,
}

impl MakerMeeting {
    /// Returns the terms of the session, with this number of threads in this process.
    pub fn terms(&self, threads: usize) -> Terms {
        let MakerMeeting { security, identities, post_quantum, table_memory, .. } = *self;
        Terms { security, threads, table_memory, identities, post_quantum }
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Share {
    epoch: EpochId,
    head: LogHead,
    /// The number of the worker that makes this share.
    worker: u32,
    /// The number of the log entry whose ranges the worker may use.
    number: u64,
    /// The digest of the encoded step, which the maker checks.
    request: [u8; 32],
    parameters: [u8; 32],
    step_bytes: u64,
    secrets_bytes: u64,
}

/// A message of a maker.
#[derive(Serialize, Deserialize)]
enum Said {
    /// The greeting with the peer succeeded; this is the number of the worker.
    Greeted {
        number: u32,
    },
    Alive,
    Begin {
        serial: Serial,
        bulk: Option<Bulk>,
    },
    /// A part of a bulk. This many bytes follow.
    Bulk {
        serial: Serial,
        first: u32,
        at: u64,
        bytes: u64,
    },
    Record {
        serial: Serial,
        first: u64,
        items: u32,
        bytes: u64,
    },
    /// The end of a batch. The first key of its items follows.
    Finish {
        serial: Serial,
        batch: Batch,
    },
    /// The whole share was sent.
    Stored,
    /// Both parties know that both have the share.
    Made,
    Ended(Word),
    /// For each phase its name, its seconds, and the bytes that each party sent.
    Phases(Vec<(String, f64, [u64; 2])>),
}

/// A maker's report that it has not made its share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Word {
    /// A check failed: the name of the protocol's part, of the check, and the message.
    Cheated([String; 3]),
    Stopped,
    Io(String),
    Mismatch(String),
    Stock(String),
    Other(String),
}

/// Shortens a text to the limit for messages.
fn short(text: &str) -> String {
    text.chars().take(MAX_TEXT_BYTES / 4).collect()
}

impl Word {
    fn of(error: &Error) -> Self {
        let text = || short(&error.to_string());
        match error {
            Error::Peer(cheat) => Word::Cheated([cheat.part(), cheat.check(), &cheat.to_string()].map(short)),
            Error::Io(io) if io.get_ref().is_some_and(|inner| inner.is::<Stopped>()) => Word::Stopped,
            Error::Io(io) => Word::Io(short(&io.to_string())),
            Error::Mismatch(why) => Word::Mismatch(short(why)),
            Error::Stock(why) => Word::Stock(short(why)),
            _ => Word::Other(text()),
        }
    }

    fn into_error(self) -> Error {
        match self {
            // The names of checks are static, so a received name must become static, too, by leaking its
            // memory. This happens only once, because the process then ends.
            Word::Cheated(words) => {
                let [part, check, says] = words.map(|word| &*Box::leak(word.into_boxed_str()));
                Error::Peer(Cheat::new(part, check, says))
            }
            Word::Stopped => std::io::Error::from(Stopped).into(),
            Word::Io(why) => std::io::Error::other(why).into(),
            Word::Mismatch(why) => Error::Mismatch(why),
            Word::Stock(why) => Error::Stock(why),
            Word::Other(why) => Error::Resource(why),
        }
    }
}

/// Changes the error of a connection within the party, so that it does not accuse the peer.
fn within(error: Error) -> Error {
    match error {
        Error::Io(_) => error,
        Error::Peer(_) => broken("the other process sent an unknown message"),
        other => std::io::Error::other(other.to_string()).into(),
    }
}

fn broken(why: &str) -> Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, why).into()
}

fn too_much() -> Error {
    broken("the other process announced more bytes than a message may have")
}

fn tell(channel: &mut Channel, told: &Told) -> Result<(), Error> {
    let bytes = postcard::to_stdvec(told).map_err(|_| broken("a message cannot be encoded"))?;
    channel.send(msg::TOLD, &bytes).and_then(|()| channel.flush()).map_err(within)
}

fn told(channel: &mut Channel) -> Result<Told, Error> {
    let bytes = channel.receive_up_to(msg::TOLD, MAX_TEXT_BYTES).map_err(within)?;
    postcard::from_bytes(&bytes).map_err(|_| broken("the coordinator sent an unknown message"))
}

fn say(channel: &mut Channel, said: &Said) -> Result<(), Error> {
    let bytes = postcard::to_stdvec(said).map_err(|_| broken("a message cannot be encoded"))?;
    if bytes.len() > MAX_FRAME_BYTES {
        return Err(Error::Limit("a batch is too large for one message of a maker".into()));
    }
    channel.send(msg::SAID, &bytes).map_err(within)
}

fn said(channel: &mut Channel) -> Result<Said, Error> {
    let bytes = channel.receive_up_to(msg::SAID, MAX_FRAME_BYTES).map_err(within)?;
    read(&bytes)
}

fn read(bytes: &[u8]) -> Result<Said, Error> {
    postcard::from_bytes(bytes).map_err(|_| broken("the other process sent an unknown message"))
}

/// Reads a maker's message and writes it again, for the fuzz target; `None` if it is invalid.
pub fn said_again(bytes: &[u8]) -> Option<Vec<u8>> {
    postcard::to_stdvec(&read(bytes).ok()?).ok()
}

/// Reads a coordinator's message and writes it again, for the fuzz target; `None` if it is invalid.
pub fn told_again(bytes: &[u8]) -> Option<Vec<u8>> {
    postcard::to_stdvec(&postcard::from_bytes::<Told>(bytes).ok()?).ok()
}

/// Sends secrets, and asks the libraries below to erase their buffers, which they do only on request.
fn send_secret(channel: &mut Channel, bytes: &[u8]) -> Result<(), Error> {
    let _erasing = Erasing::begin();
    channel.send(msg::BYTES, bytes).and_then(|()| channel.flush()).map_err(within)
}

/// Receives this many secret bytes into a buffer with room for the tag that sealing adds.
fn receive_secret(channel: &mut Channel, bytes: u64, most: u64) -> Result<Zeroizing<Vec<u8>>, Error> {
    if bytes > most {
        return Err(too_much());
    }
    let _erasing = Erasing::begin();
    let mut secret = Zeroizing::new(Vec::with_capacity(bytes as usize + brickwork_store::TAG_BYTES));
    secret.resize(bytes as usize, 0);
    channel.receive_into(msg::BYTES, &mut secret).map_err(within)?;
    Ok(secret)
}
