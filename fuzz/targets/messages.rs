//! A peer's messages, one by one: each is read or refused, and different bytes are never accepted as the same
//! message.
//!
//! Used by the fuzz target and, with the seeds, by the tests.
#![allow(dead_code)]

use std::io::{self, Read, Write};
use std::sync::{Arc, LazyLock};

use brickwork::circuit::{Party, Program, Recipient};
use brickwork::disk::{EpochEntry, EpochState, EpochVerdict};
use brickwork::duplo::adversary::harness::{ands, toy};
use brickwork::duplo::adversary::parsers;
use brickwork::ot;
use brickwork::protocol::{GREETING_BYTES, TABLE_MEMORY, Terms};
use brickwork::wire::{Channel, FRAME_HEADER_BYTES, Stream, Tag};
use brickwork::{Malformed, ProtocolError as Error, Security};

/// Reads a message. The lower bits of the first byte select the message, and the upper bits its receiver.
/// Returns whether the message was accepted.
pub fn messages(data: &[u8]) -> bool {
    let Some((&what, data)) = data.split_first() else { return false };
    let [yes, too] = [0x80, 0x40].map(|bit| what & bit != 0);
    match what & 7 {
        0 => frames(data),
        1 => transport(data),
        2 => greeting(yes, data),
        3 => proposal(yes, too, data),
        4 => decomposition(yes, data),
        5 => standings(data),
        6 if yes => coordinators(too, data),
        6 => base_ots(data),
        _ if yes => again(too, data),
        _ => bits(data),
    }
}

const TERMS: Terms = Terms {
    security: Security::of(40),
    threads: 1,
    table_memory: TABLE_MEMORY,
    identities: [[1; 32], [2; 32]],
    post_quantum: false,
};

/// The position of the role in the frame of a greeting.
const ROLE: usize = FRAME_HEADER_BYTES + 12;
/// The positions in a greeting where both parties' bytes may differ: the parameters and the nonce.
const FREE: [std::ops::Range<usize>; 2] =
    [FRAME_HEADER_BYTES + 48..FRAME_HEADER_BYTES + 80, FRAME_HEADER_BYTES + 112..FRAME_HEADER_BYTES + 144];

/// A peer that sends back the messages that it receives, in the other role and with some bits flipped.
struct Mirror {
    told: Vec<u8>,
    said: usize,
    flips: Vec<u8>,
}

impl Read for Mirror {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = buffer.len().min(self.told.len() - self.said);
        for (i, byte) in (self.said..).zip(&mut buffer[..n]) {
            *byte = self.told[i] ^ u8::from(i == ROLE) ^ self.flips.get(i).copied().unwrap_or(0);
        }
        self.said += n;
        Ok(n)
    }
}

impl Write for Mirror {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.told.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Mirror {}

/// Reads the messages between the coordinators of a job, with their limits.
fn coordinators(leads: bool, data: &[u8]) -> bool {
    use brickwork::jobs::control::{FollowerAnswer, LeaderProposal};
    use brickwork::jobs::coordinator::{MAX_NEWS, MAX_PROPOSED};
    match leads {
        true => LeaderProposal::read(data).is_ok_and(|said| {
            assert!(said.entries.len() <= MAX_PROPOSED && said.news.len() <= MAX_NEWS);
            true
        }),
        false => FollowerAnswer::read(data).is_ok_and(|said| {
            assert!(said.news.len() <= MAX_NEWS);
            true
        }),
    }
}

/// A message of fixed length that is accepted is written with the same bytes again: the first message of a
/// coordinator, or the plan of a party with stock.
fn again(leads: bool, data: &[u8]) -> bool {
    use brickwork::jobs::control::hello_again;
    use brickwork::protocol::stock::intent_again;
    let once = match leads {
        true => data.try_into().ok().and_then(hello_again).map(Vec::from),
        false => intent_again(data),
    };
    assert!(once.as_ref().is_none_or(|once| once == data));
    once.is_some()
}

fn transport(data: &[u8]) -> bool {
    let Some(bytes) = data.first_chunk() else { return false };
    let again = parsers::transport_hello(*bytes);
    assert!(again.is_none_or(|again| again == *bytes));
    again.is_some()
}

/// All other bytes of both greetings are the same.
fn greeting(garbles: bool, flips: &[u8]) -> bool {
    let role = if garbles { Party::Garbler } else { Party::Evaluator };
    let mut channel =
        Channel::new(vec![Box::new(Mirror { told: Vec::new(), said: 0, flips: flips.to_vec() })]);
    let result = parsers::greeting(&mut channel, role, &TERMS, [7; 32]);
    let length = FRAME_HEADER_BYTES + GREETING_BYTES;
    let honest = flips
        .iter()
        .take(length)
        .enumerate()
        .all(|(i, flip)| *flip == 0 || FREE.iter().any(|free| free.contains(&i)));
    match result {
        Ok(_) => assert!(honest, "a difference was overlooked"),
        Err(Error::Mismatch(why)) => assert!(!honest && !why.is_empty()),
        Err(Error::Io(_)) => assert!(!honest),
        // A changed tag can make the greeting a refusal, whose text is shown.
        Err(Error::Refused(why)) => assert!(!honest && !why.contains(char::is_control)),
        Err(error) if error.is_cheat(Malformed::UnexpectedMessage) => assert!(!honest),
        Err(other) => panic!("{other}"),
    }
    honest
}

/// An accepted message keeps its bound, and has the same meaning after it was written again.
fn proposal(large: bool, more: bool, bytes: &[u8]) -> bool {
    static PROGRAMS: LazyLock<[Arc<Program>; 2]> = LazyLock::new(|| [toy(), ands(500, Recipient::Both)]);
    let security = if more { 80 } else { 40 };
    match parsers::proposal(&PROGRAMS[usize::from(large)], security, bytes) {
        Ok((parameters, again)) => {
            assert_eq!(again, bytes);
            assert!(parameters.bound_log2 <= -f64::from(security));
            true
        }
        Err(Error::Mismatch(_) | Error::Resource(_)) => false,
        Err(other) => panic!("{other}"),
    }
}

/// With any name of a cut, this party made the program itself, and its interface is the same.
fn decomposition(makes_cuts: bool, bytes: &[u8]) -> bool {
    static CUTS: LazyLock<[Arc<Program>; 3]> =
        LazyLock::new(|| [toy(), Arc::new(toy().whole().expect("a component")), ands(3, Recipient::Both)]);
    let [given, whole, other] = &*CUTS;
    let decompose = |name: &str| match name {
        "" => Ok(given.clone()),
        "whole" => Ok(whole.clone()),
        "other" => Ok(other.clone()),
        _ => Err(Error::Mismatch("there is no such cut".into())),
    };
    match parsers::decomposition(given, bytes, makes_cuts.then_some(&decompose)) {
        Ok((program, again)) => {
            assert_eq!(again, bytes);
            assert!(Arc::ptr_eq(&program, given) || makes_cuts && Arc::ptr_eq(&program, whole));
            assert!(bytes == [0; 32] || bytes[..32] == program.digest());
            true
        }
        Err(Error::Mismatch(_)) => false,
        Err(error) if error.is_cheat(Malformed::UnexpectedMessage) => false,
        Err(other) => panic!("{other}"),
    }
}

/// The first byte gives the number of OTs in which the peer chooses; each has a key of its own.
fn base_ots(data: &[u8]) -> bool {
    let Some((count, bytes)) = data.split_first() else { return false };
    match parsers::base_ots(usize::from(count % 4), bytes) {
        Ok(keys) => {
            assert!(
                keys.iter().enumerate().all(|(i, key)| !keys[..i].contains(key)),
                "two keys are the same"
            );
            true
        }
        Err(Error::Peer(cheat))
            if ot::Cheat::of(cheat).is_some_and(|cheat| cheat != ot::Cheat::OtExtension) =>
        {
            false
        }
        Err(other) => panic!("{other}"),
    }
}

/// The first byte gives the expected number of bits.
fn bits(data: &[u8]) -> bool {
    let Some((&count, bytes)) = data.split_first() else { return false };
    let again = parsers::bits(bytes, count.into());
    assert!(again.as_ref().is_none_or(|again| again == bytes));
    again.is_some()
}

/// Two bytes give the length of a log. After the entries of the log follow the positions of the peer's logs,
/// as the peer claims them.
fn standings(data: &[u8]) -> bool {
    let Some((length, data)) = data.split_first_chunk() else { return false };
    let (mut log, told) = data.split_at(data.len().min(usize::from(u16::from_le_bytes(*length))));
    let mut state = EpochState::new(&[5; 32]);
    let mut serials = Vec::new();
    while let Ok((entry, rest)) = postcard::take_from_bytes::<EpochEntry>(log) {
        log = rest;
        if let EpochEntry::Use { taken, .. } = &entry {
            serials.extend(taken.iter().map(|(serial, _)| *serial));
        }
        let before = state.clone();
        match state.apply(&entry) {
            Ok(()) => assert!(before.burned().is_none()),
            Err(_) => assert_eq!(state, before),
        }
        assert!(
            serials.iter().all(|serial| state.gone(*serial) >= before.gone(*serial)),
            "a cursor goes back"
        );
    }
    assert_eq!(state.compare(&state.standing()), EpochVerdict::Same);
    let Ok(verdicts) = parsers::standings(&state, told) else { return false };
    for verdict in verdicts {
        if let EpochVerdict::Behind(entry) = verdict {
            let before = state.shared();
            let mut next = state.clone();
            next.apply(&entry).expect("what is to be caught up with can be");
            let numbers = match &entry {
                EpochEntry::Fill(step) => step.workers.into(),
                _ => 1,
            };
            assert_eq!(next.shared(), before + numbers);
        }
    }
    true
}

/// A stream of these bytes, which then ends.
struct Bytes {
    bytes: Vec<u8>,
    position: usize,
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = buffer.len().min(self.bytes.len() - self.position);
        buffer[..n].copy_from_slice(&self.bytes[self.position..self.position + n]);
        self.position += n;
        Ok(n)
    }
}

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Bytes {}

/// The first bytes describe the expected messages, with three bytes each (kind, tag, length). After a byte
/// 0xff come the actual messages.
fn frames(data: &[u8]) -> bool {
    let Some(end) = data.iter().position(|&b| b == 0xff) else { return false };
    let (expected, bytes) = (&data[..end], &data[end + 1..]);
    let mut peer = Channel::new(vec![Box::new(Bytes { bytes: bytes.to_vec(), position: 0 })]);
    for wanted in expected.chunks_exact(3) {
        let (tag, length) = (Tag(wanted[1]), usize::from(wanted[2]) * 7);
        let result = match wanted[0] % 3 {
            0 => peer.receive(tag, length).map(|payload| assert_eq!(payload.len(), length)),
            1 => peer.receive_up_to(tag, length).map(|payload| assert!(payload.len() <= length)),
            _ => {
                let mut payload = vec![0; length];
                peer.receive_bulk_into(tag, &mut payload)
            }
        };
        assert!(peer.received_bytes() <= bytes.len() as u64);
        match result {
            Ok(()) => {}
            Err(Error::Io(_)) => return false,
            Err(error) if error.is_cheat(Malformed::UnexpectedMessage) => return false,
            Err(other) => panic!("{other}"),
        }
    }
    true
}
