//! Attacks on the connection, by a peer or by a stranger, and attacks on the randomness.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brickwork::ProtocolError as Error;
use brickwork::circuit::{Party, Program, Recipient};
use brickwork::duplo::Cheat;
use brickwork::duplo::Report;
use brickwork::duplo::adversary::harness::{HonestEnding, ands, known, small};
use brickwork::duplo::adversary::{Hooks, evaluator, garbler};
use brickwork::duplo::msg::{DECOMPOSITION, PROPOSAL};
use brickwork::protocol::AgreedJob;
use brickwork::wire::{Channel, Stream, Tag, memory_pair};

use super::attacks::Catalogue;
use crate::stores::StorePlayed;

/// The time for which a party waits for a silent peer.
const PATIENCE: Duration = Duration::from_millis(200);

/// A socket that gives at most this many bytes at a time.
struct Slow {
    socket: UnixStream,
    at_a_time: usize,
}

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.at_a_time);
        self.socket.read(&mut buffer[..most])
    }
}

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl Stream for Slow {}

fn channel(socket: UnixStream, at_a_time: usize, patience: Duration) -> Channel {
    socket.set_read_timeout(Some(patience)).expect("a timeout");
    Channel::new(vec![Box::new(Slow { socket, at_a_time })])
}

fn job() -> AgreedJob {
    let program: Arc<Program> = ands(1, Recipient::Both);
    AgreedJob::new(program, 40, [[1; 32], [2; 32]])
}

/// Runs a party with small parameters and dealt base OTs.
fn party(role: Party, channel: Channel) -> Result<Report, Error> {
    let job = job();
    let parameters = small(&job.program, [3, 2], [3, 2], [3, 2]);
    let hooks = Hooks { parameters: Some(parameters), dealer: Some([7; 32]), ..Hooks::default() };
    match role {
        Party::Garbler => garbler(channel, &job, &[true], hooks),
        Party::Evaluator => evaluator(channel, &job, &[true], hooks),
    }
}

fn ending(result: Result<Report, Error>) -> StorePlayed {
    match result {
        Ok(report) if report.outputs == [true] => Ok(HonestEnding::Survived),
        Ok(_) => Ok(HonestEnding::Fooled),
        Err(Error::Peer(cheat)) => Ok(HonestEnding::Caught(known(cheat))),
        Err(Error::Mismatch(_)) => Ok(HonestEnding::Refused),
        Err(Error::Io(_)) => Ok(HonestEnding::Gone),
        Err(other) => Err(other.to_string()),
    }
}

/// Plays a peer that sends these bytes and then keeps the connection open.
fn told(role: Party, bytes: &[u8]) -> StorePlayed {
    let (mine, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    let result = std::thread::scope(|scope| {
        scope.spawn(move || {
            // The other end may close the connection before all bytes are sent.
            let _ = theirs.write_all(bytes);
            let _ = theirs.read_to_end(&mut Vec::new());
        });
        party(role, channel(mine, usize::MAX, PATIENCE))
    });
    ending(result)
}

/// Plays two honest parties, one of which receives a byte at a time.
fn trickle(role: Party) -> StorePlayed {
    let (left, right) = UnixStream::pair().expect("a pair of sockets");
    let at_a_time = |party| if party == role { 1 } else { usize::MAX };
    let long = Duration::from_secs(30);
    let [garbled, evaluated] = std::thread::scope(|scope| {
        let garbled = scope.spawn(|| party(Party::Garbler, channel(left, at_a_time(Party::Garbler), long)));
        let evaluated = party(Party::Evaluator, channel(right, at_a_time(Party::Evaluator), long));
        [garbled.join().expect("no panic"), evaluated]
    });
    ending(if role == Party::Garbler { garbled } else { evaluated })
}

/// A message that a party sent.
type Message = (Tag, Vec<u8>);

/// Returns all messages of both parties in a session, always on the same inputs. Each session has its own
/// base OTs.
fn said() -> Result<[Vec<Message>; 2], String> {
    let job = job();
    let (mut left, mut right) = memory_pair();
    let said: [Arc<Mutex<Vec<Message>>>; 2] = Default::default();
    for (channel, said) in [&mut left, &mut right].into_iter().zip(&said) {
        let said = said.clone();
        channel.set_tamper(Box::new(move |tag, bytes| {
            said.lock().expect("no panic").push((tag, bytes.clone()))
        }));
    }
    let hooks =
        || Hooks { parameters: Some(small(&job.program, [3, 2], [3, 2], [3, 2])), ..Hooks::default() };
    let results = std::thread::scope(|scope| {
        let garbled = scope.spawn(|| garbler(left, &job, &[true], hooks()));
        let evaluated = evaluator(right, &job, &[true], hooks());
        [garbled.join().expect("no panic"), evaluated]
    });
    for result in results {
        result.map_err(|error| error.to_string())?;
    }
    Ok(said.map(|said| std::mem::take(&mut *said.lock().expect("no panic"))))
}

/// Checks that no part of a party's messages that is as long as a key occurs in two sessions, except for
/// public values.
fn nothing_twice(role: Party) -> StorePlayed {
    let [one, two] = [said()?, said()?].map(|mut said| std::mem::take(&mut said[role as usize]));
    let again = one.iter().zip(&two).find(|((tag, one), (_, two))| {
        ![PROPOSAL, DECOMPOSITION].contains(tag) && one.len() >= 16 && one == two
    });
    match again {
        Some(((tag, _), _)) => Err(format!("the {role:?} says the same {tag:?} twice")),
        None => Ok(HonestEnding::Survived),
    }
}

pub(super) fn attacks(all: &mut Catalogue) {
    let unexpected = || HonestEnding::Caught(Cheat::UnexpectedMessage);
    for (victim, cheater, attacks) in [
        (
            Party::Evaluator,
            Party::Garbler,
            [
                (
                    "garbler_claims_4_gib",
                    "The garbler begins with a message whose announced length is 4 GiB: the evaluator \
                     refuses it before memory is taken.",
                ),
                ("garbler_claims_nothing", "The garbler sends an empty greeting."),
                (
                    "garbler_floods",
                    "The garbler sends a mebibyte of messages that the evaluator does not wait for: the \
                     first one is refused.",
                ),
                (
                    "garbler_gives_signs_of_life_only",
                    "The garbler sends only keep-alive messages: a deadline of the evaluator ends the run.",
                ),
                (
                    "garbler_trickles",
                    "The garbler's messages arrive one byte at a time, but completely: for the evaluator \
                     this is an honest peer with a slow connection.",
                ),
                (
                    "evaluator_starts_afresh",
                    "The same inputs in two sessions of one process: no message of the evaluator is the \
                     same, so no generator was used twice.",
                ),
            ],
        ),
        (
            Party::Garbler,
            Party::Evaluator,
            [
                (
                    "evaluator_claims_4_gib",
                    "The evaluator begins with a message whose announced length is 4 GiB: the garbler \
                     refuses it before memory is taken.",
                ),
                ("evaluator_claims_nothing", "The evaluator sends an empty greeting."),
                (
                    "evaluator_floods",
                    "The evaluator sends a mebibyte of messages that the garbler does not wait for: the \
                     first one is refused.",
                ),
                (
                    "evaluator_gives_signs_of_life_only",
                    "The evaluator sends only keep-alive messages: a deadline of the garbler ends the run.",
                ),
                (
                    "evaluator_trickles",
                    "The evaluator's messages arrive one byte at a time, but completely: for the garbler \
                     this is an honest peer with a slow connection.",
                ),
                (
                    "garbler_starts_afresh",
                    "The same inputs in two sessions of one process: no message of the garbler is the same, \
                     so neither an offset nor a label occurs twice.",
                ),
            ],
        ),
    ] {
        let [huge, empty, flood, alive, slow, fresh] = attacks;
        all.played((18, huge.0), huge.1, Some(cheater), unexpected(), move |_| {
            told(victim, &[1, 0xff, 0xff, 0xff, 0xff, 0, 0])
        });
        all.played((18, empty.0), empty.1, Some(cheater), unexpected(), move |_| {
            told(victim, &[1, 0, 0, 0, 0])
        });
        all.played((18, flood.0), flood.1, Some(cheater), unexpected(), move |_| {
            told(victim, &[0x54; 1 << 20])
        });
        all.played((18, alive.0), alive.1, Some(cheater), HonestEnding::Gone, move |_| {
            told(victim, &[0xff, 0, 0, 0, 0].repeat(1000))
        });
        all.played((18, slow.0), slow.1, Some(cheater), HonestEnding::Survived, move |_| trickle(victim));
        all.played((26, fresh.0), fresh.1, None, HonestEnding::Survived, move |_| nothing_twice(victim));
    }
}
