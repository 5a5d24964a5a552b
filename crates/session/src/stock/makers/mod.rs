//! Workers that are processes of their own, on any machine of their party: *makers*. The process that has
//! the party's store is their *coordinator*. To the peer, which need not know, a maker is a worker like
//! any other.
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
//! The coordinator has the log, the store and its key: it hands out numbers that are in the log, seals what
//! comes, and makes it durable before the maker tells the peer that it is. A maker has nothing on a disk.
//!
//! **A maker that is lost without a word burns the epoch.** A worker that is a thread ends with the process
//! that burns: a check that it sees fail is burned by it, or was never seen. A maker sees, and may be unable
//! to tell: its line to the coordinator breaks, by chance or by a peer that has the network, or the
//! coordinator is dead. If that were an attempt that merely counts, a peer could cheat at a maker's line, cut
//! the other one, and have another guess at the same secrets. So the burn is written before a maker hears of
//! a step ([`Entry::Lent`](brickwork_stock::Entry)), and taken back when all makers have said how they
//! ended and none that a check failed (`Returned`). Until then the log lets nothing follow; whoever opens the
//! store next burns.
//!
//! A maker that says that it lost the peer, or was stopped, is a lost worker like any other. A word is
//! believed: a party's makers are the party.

mod away;
mod home;
#[cfg(test)]
mod tests;

pub use away::heard;
pub(super) use away::{Away, Ended};
pub use home::Maker;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::msg;
use crate::{SessionId, Terms};
use brickwork_base::stop::Stopped;
use brickwork_base::{Cheat, Error, Party, Security};
use brickwork_kernels::Erasing;
use brickwork_stock::{Batch, Bulk, EpochId, Head, Serial};
use brickwork_wire::{Channel, MAX_FRAME_BYTES};

/// How often a maker asks whether it is to go on.
const BEAT: Duration = Duration::from_millis(250);

/// How long one that is to stop may take to say how it ended: what computes goes on to its next message.
const STOPPING: Duration = Duration::from_secs(300);

/// Most bytes of a share, and of an epoch's secrets.
const MAX_SENT_BYTES: u64 = 1 << 28;

/// Most records of the bulks, and most batches of a share, that are written at a time.
const MAX_RECORDS: u64 = 1 << 26;
const MAX_OPEN: usize = 1 << 12;

/// Bytes of the first key of a batch's items.
const KEY_BYTES: u64 = 32;

/// Longest text of a word.
const MAX_TEXT_BYTES: usize = 2048;

/// What a coordinator says.
#[derive(Serialize, Deserialize)]
enum Told {
    Meet(Meeting),
    /// The share follows, then so many bytes of secrets.
    Share(Share),
    GoOn,
    Stop,
    /// All that was sent is.
    Durable,
    /// What was said last is written down; where a check failed, the epoch is burned.
    Heard,
    /// There is nothing more to do.
    End,
}

/// Whom a maker meets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Meeting {
    /// This party's role.
    pub role: Party,
    /// The protocol's name.
    pub protocol: String,
    /// How many workers there are, and which one a garbler's maker is.
    of: u32,
    number: u32,
    /// That of the greeting on which the parties have met.
    session: SessionId,
    security: Security,
    identities: [[u8; 32]; 2],
    post_quantum: bool,
    table_memory: u64,
}

impl Meeting {
    /// Returns the terms, for so many threads of this process.
    pub fn terms(&self, threads: usize) -> Terms {
        let Meeting { security, identities, post_quantum, table_memory, .. } = *self;
        Terms { security, threads, table_memory, identities, post_quantum }
    }
}

#[derive(Clone, Serialize, Deserialize)]
struct Share {
    epoch: EpochId,
    head: Head,
    /// Which worker's it is.
    worker: u32,
    /// That whose ranges it may draw from.
    number: u64,
    /// What the step's encoding must give.
    request: [u8; 32],
    parameters: [u8; 32],
    step_bytes: u64,
    secrets_bytes: u64,
}

/// What a maker says.
#[derive(Serialize, Deserialize)]
enum Said {
    /// Which worker it is.
    Greeted {
        number: u32,
    },
    Alive,
    Begin {
        serial: Serial,
        bulk: Option<Bulk>,
    },
    /// So many bytes follow.
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
    /// The first key of its items follows.
    Finish {
        serial: Serial,
        batch: Batch,
    },
    /// All is sent.
    Stored,
    /// Its end of the connection and the peer's know that both have it.
    Made,
    Ended(Word),
    /// By name, what each phase took: seconds and the bytes that either party sent.
    Phases(Vec<(String, f64, [u64; 2])>),
}

/// How a maker ended that has not made its share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Word {
    /// A check failed: its part, its name, and what it says.
    Cheated([String; 3]),
    Stopped,
    Io(String),
    Mismatch(String),
    Stock(String),
    Other(String),
}

/// Cuts a text to what a word holds.
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
            // A check is named by constants of the program; here it is named once, by who ends with it.
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

/// An error of a line within the party, which accuses no peer whatever came on it.
fn within(error: Error) -> Error {
    match error {
        Error::Io(_) => error,
        Error::Peer(_) => broken("it sent what no release sends here"),
        other => std::io::Error::other(other.to_string()).into(),
    }
}

fn broken(why: &str) -> Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, why).into()
}

fn too_much() -> Error {
    broken("it announced more bytes than there may be")
}

fn tell(channel: &mut Channel, told: &Told) -> Result<(), Error> {
    let bytes = postcard::to_stdvec(told).map_err(|_| broken("a word that cannot be encoded"))?;
    channel.send(msg::TOLD, &bytes).and_then(|()| channel.flush()).map_err(within)
}

fn told(channel: &mut Channel) -> Result<Told, Error> {
    let bytes = channel.receive_up_to(msg::TOLD, MAX_TEXT_BYTES).map_err(within)?;
    postcard::from_bytes(&bytes).map_err(|_| broken("the coordinator said what no release says"))
}

fn say(channel: &mut Channel, said: &Said) -> Result<(), Error> {
    let bytes = postcard::to_stdvec(said).map_err(|_| broken("a word that cannot be encoded"))?;
    if bytes.len() > MAX_FRAME_BYTES {
        return Err(Error::Limit("a batch that needs more words than a line within a party has".into()));
    }
    channel.send(msg::SAID, &bytes).map_err(within)
}

fn said(channel: &mut Channel) -> Result<Said, Error> {
    let bytes = channel.receive_up_to(msg::SAID, MAX_FRAME_BYTES).map_err(within)?;
    read(&bytes)
}

fn read(bytes: &[u8]) -> Result<Said, Error> {
    postcard::from_bytes(bytes).map_err(|_| broken("it said what no release says"))
}

/// Returns a maker's word, read and written again, for the fuzz target; `None` if it is none.
pub fn said_again(bytes: &[u8]) -> Option<Vec<u8>> {
    postcard::to_stdvec(&read(bytes).ok()?).ok()
}

/// Returns a coordinator's word, read and written again, for the fuzz target; `None` if it is none.
pub fn told_again(bytes: &[u8]) -> Option<Vec<u8>> {
    postcard::to_stdvec(&postcard::from_bytes::<Told>(bytes).ok()?).ok()
}

/// Sends secrets, which libraries below erase only where they are told to.
fn send_secret(channel: &mut Channel, bytes: &[u8]) -> Result<(), Error> {
    let _erasing = Erasing::begin();
    channel.send(msg::BYTES, bytes).and_then(|()| channel.flush()).map_err(within)
}

/// Receives so many secret bytes, with room behind them for what sealing adds.
fn receive_secret(channel: &mut Channel, bytes: u64, most: u64) -> Result<Zeroizing<Vec<u8>>, Error> {
    if bytes > most {
        return Err(too_much());
    }
    let _erasing = Erasing::begin();
    let mut secret = Zeroizing::new(Vec::with_capacity(bytes as usize + brickwork_stock::TAG_BYTES));
    secret.resize(bytes as usize, 0);
    channel.receive_into(msg::BYTES, &mut secret).map_err(within)?;
    Ok(secret)
}
