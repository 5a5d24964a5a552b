//! What a peer says before anything is agreed on: greetings, proposals, and where the log of its store stands.
//!
//! Used by the fuzz targets and, with the seeds, by the tests.
#![allow(dead_code)]

use std::io::{self, Read, Write};
use std::sync::LazyLock;

use brickwork::circuit::{Party, Recipient};
use brickwork::duplo::adversary::harness::{ands, toy};
use brickwork::duplo::adversary::parsers;
use brickwork::session::{TABLE_MEMORY, Terms};
use brickwork::stock::{Entry, State, Verdict};
use brickwork::wire::{Channel, FRAME_HEADER_BYTES, Stream};
use brickwork::{Cheat, Error};

const TERMS: Terms = Terms { security: 40, threads: 1, table_memory: TABLE_MEMORY, identities: [[1; 32], [2; 32]] };

/// Where the role stands in a greeting, in its frame.
const ROLE: usize = FRAME_HEADER_BYTES + 12;
/// What may differ: what is said of the parameters, and the nonce.
const FREE: [std::ops::Range<usize>; 2] =
    [FRAME_HEADER_BYTES + 48..FRAME_HEADER_BYTES + 80, FRAME_HEADER_BYTES + 112..FRAME_HEADER_BYTES + 144];

/// A peer that says what it is told, in the other role and with some bits flipped.
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

/// The first byte says what comes: 0 the first bytes on a connection, 1 flips of an honest greeting, 2 a proposal.
/// Returns whether it was accepted.
pub fn hello(data: &[u8]) -> bool {
    let Some((what, data)) = data.split_first() else { return false };
    match what % 3 {
        0 => transport(data),
        1 => greeting(*what & 0x80 != 0, data),
        _ => proposal(*what & 0x80 != 0, *what & 0x40 != 0, data),
    }
}

fn transport(data: &[u8]) -> bool {
    let Some(bytes) = data.first_chunk() else { return false };
    let again = parsers::transport_hello(*bytes);
    assert!(again.is_none_or(|again| again == *bytes));
    again.is_some()
}

/// Whatever may not differ, does not.
fn greeting(garbles: bool, flips: &[u8]) -> bool {
    let role = if garbles { Party::Garbler } else { Party::Evaluator };
    let mut channel = Channel::new(vec![Box::new(Mirror { told: Vec::new(), said: 0, flips: flips.to_vec() })]);
    let result = parsers::greeting(&mut channel, role, &TERMS, [7; 32]);
    let length = FRAME_HEADER_BYTES + 144;
    let honest = flips.iter().take(length).enumerate().all(|(i, flip)| *flip == 0 || FREE.iter().any(|free| free.contains(&i)));
    match result {
        Ok(_) => assert!(honest, "a difference was overlooked"),
        Err(Error::Mismatch(why)) => assert!(!honest && !why.is_empty()),
        Err(Error::Peer(Cheat::UnexpectedMessage) | Error::Io(_)) => assert!(!honest),
        Err(other) => panic!("{other}"),
    }
    honest
}

/// What is accepted keeps its bound, and says the same when it is said again.
fn proposal(large: bool, more: bool, bytes: &[u8]) -> bool {
    static PROGRAMS: LazyLock<[std::sync::Arc<brickwork::circuit::Program>; 2]> = LazyLock::new(|| [toy(), ands(500, Recipient::Both)]);
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

/// Two bytes give the length of a log, entry after entry; then follows what a peer says of its own logs.
pub fn standings(data: &[u8]) {
    let Some((length, data)) = data.split_first_chunk() else { return };
    let (mut log, told) = data.split_at(data.len().min(usize::from(u16::from_le_bytes(*length))));
    let mut state = State::new(&[5; 32]);
    let mut serials = Vec::new();
    while let Ok((entry, rest)) = postcard::take_from_bytes::<Entry>(log) {
        log = rest;
        if let Entry::Use { taken, .. } = &entry {
            serials.extend(taken.iter().map(|(serial, _)| *serial));
        }
        let before = state.clone();
        match state.apply(&entry) {
            Ok(()) => assert!(before.burned().is_none()),
            Err(_) => assert_eq!(state, before),
        }
        assert!(serials.iter().all(|serial| state.gone(*serial) >= before.gone(*serial)), "a cursor goes back");
    }
    assert_eq!(state.compare(&state.standing()), Verdict::Same);
    for verdict in parsers::standings(&state, told).unwrap_or_default() {
        if let Verdict::Behind(entry) = verdict {
            let before = state.shared();
            let mut next = state.clone();
            next.apply(&entry).expect("what is to be caught up with can be");
            assert_eq!(next.shared(), before + 1);
        }
    }
}
