//! Attacks on the connection, by a peer or by a stranger, and attacks on the randomness.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use brickwork::ProtocolError as Error;
use brickwork::circuit::{Party, Recipient};
use brickwork::duplo::adversary::harness::{ands, cheap, small};
use brickwork::duplo::adversary::{Hooks, evaluator, garbler};
use brickwork::duplo::msg::{DECOMPOSITION, PROPOSAL};
use brickwork::duplo::{Cheat, Duplo, Report};
use brickwork::protocol::AgreedJob;
use brickwork::random::Rng;
use brickwork::wire::{Channel, Stream};
use brickwork_harness::Ending;

use crate::attack::{Catalogue, Played};
use crate::shared;

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
    AgreedJob::new(ands(1, Recipient::Both), 40, [[1; 32], [2; 32]])
}

/// Runs a party with small parameters and dealt base OTs.
fn party(role: Party, channel: Channel) -> Result<Report, Error> {
    let job = job();
    let parameters = small(&job.program, [3, 2], [3, 2], [3, 2]);
    let hooks = Hooks::none().with(parameters.into()).dealt_by([7; 32]);
    match role {
        Party::Garbler => garbler(channel, &job, &[true], hooks),
        Party::Evaluator => evaluator(channel, &job, &[true], hooks),
    }
}

fn ending(result: Result<Report, Error>) -> Played {
    match result {
        Ok(report) if report.outputs == [true] => Ok(Ending::Survived),
        Ok(_) => Ok(Ending::Fooled),
        Err(Error::Peer(cheat)) => Ok(Ending::Caught(cheat)),
        Err(Error::Mismatch(_)) => Ok(Ending::Refused),
        Err(Error::Io(_)) => Ok(Ending::Gone),
        Err(other) => Err(other.to_string()),
    }
}

/// Plays a peer that sends these bytes and then keeps the connection open.
fn told(role: Party, bytes: &[u8]) -> Played {
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
fn trickle(role: Party) -> Played {
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

pub(super) fn attacks(all: &mut Catalogue<Duplo>) {
    let unexpected = || Ending::caught(Cheat::UnexpectedMessage);
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
            ],
        ),
    ] {
        let [huge, empty, flood, alive, trickles] = attacks;
        all.slow((18, huge.0), huge.1, Some(cheater), unexpected(), move |_| {
            told(victim, &[1, 0xff, 0xff, 0xff, 0xff, 0, 0])
        });
        all.slow((18, empty.0), empty.1, Some(cheater), unexpected(), move |_| {
            told(victim, &[1, 0, 0, 0, 0])
        });
        all.slow((18, flood.0), flood.1, Some(cheater), unexpected(), move |_| {
            told(victim, &[0x54; 1 << 20])
        });
        all.slow((18, alive.0), alive.1, Some(cheater), Ending::Gone, move |_| {
            told(victim, &[0xff, 0, 0, 0, 0].repeat(1000))
        });
        all.slow((18, trickles.0), trickles.1, Some(cheater), Ending::Survived, move |_| trickle(victim));
    }
    let run = |rng: &mut Rng| {
        let program = ands(1, Recipient::Both);
        cheap(&program, small(&program, [3, 2], [3, 2], [3, 2]), rng)
    };
    let garbler = "The same inputs in two sessions of one process: no message of the garbler is the same, so \
                   neither an offset nor a label occurs twice.";
    let evaluator = "The same inputs in two sessions of one process: no message of the evaluator is the \
                     same, so no generator was used twice.";
    shared::fresh(all, run, [garbler, evaluator], &[PROPOSAL, DECOMPOSITION]);
}
