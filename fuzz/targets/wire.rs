//! Peers that say anything: frames as they come, and whole sessions in which what the peer says is altered on its way.
//!
//! Used by the fuzz targets and, with the seeds, by the tests.
#![allow(dead_code)]

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use brickwork::circuit::{Party, Program, Recipient};
use brickwork::duplo::Parameters;
use brickwork::duplo::adversary::harness::{ands, small};
use brickwork::duplo::adversary::{Hooks, evaluator, garbler};
use brickwork::session::Job;
use brickwork::wire::{Channel, Stream, Tag};
use brickwork::{Cheat, Error};

/// Bytes that come, and then the end.
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

/// What is expected stands in the first bytes, three each (how, tag, length); behind a byte 0xff what comes.
pub fn frames(data: &[u8]) {
    let Some(end) = data.iter().position(|&b| b == 0xff) else { return };
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
            Err(Error::Peer(Cheat::UnexpectedMessage) | Error::Io(_)) => return,
            Err(other) => panic!("{other}"),
        }
    }
}

/// One end of a pipe within the process. What is read from it may have been altered.
struct Pipe {
    to: Sender<Vec<u8>>,
    from: Receiver<Vec<u8>>,
    current: Vec<u8>,
    position: usize,
    edits: Edits,
}

/// Edits of a stream: where, what, and with which value.
#[derive(Clone, Default)]
struct Edits {
    list: Vec<(usize, u8, u8)>,
    seen: usize,
    over: bool,
}

impl Edits {
    /// Four bytes an edit: the distance from the one before (two bytes), what to do, a value.
    fn parse(data: &[u8]) -> Self {
        let mut at = 0;
        let edit = |e: &[u8]| {
            at += usize::from(u16::from_le_bytes([e[0], e[1]]));
            (at, e[2], e[3])
        };
        Edits { list: data.chunks_exact(4).take(8).map(edit).collect(), seen: 0, over: false }
    }

    /// What becomes of the bytes that come next.
    fn apply(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        let (start, end) = (self.seen, self.seen + bytes.len());
        self.seen = end;
        let mut altered = bytes;
        for &(at, what, value) in self.list.iter().rev().filter(|(at, ..)| (start..end).contains(at)) {
            let at = at - start;
            // An edit at the same place may have cut it off.
            if at >= altered.len() {
                continue;
            }
            match what % 5 {
                0 => altered[at] ^= value,
                1 => altered.insert(at, value),
                2 => drop(altered.remove(at)),
                3 => altered.extend_from_within(at..),
                _ => {
                    altered.truncate(at);
                    self.over = true;
                }
            }
        }
        altered
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.position >= self.current.len() {
            // What was altered may leave both waiting.
            match if self.edits.over { None } else { self.from.recv_timeout(Duration::from_millis(300)).ok() } {
                Some(next) => (self.current, self.position) = (self.edits.apply(next), 0),
                None => return Ok(0),
            }
        }
        let n = buffer.len().min(self.current.len() - self.position);
        buffer[..n].copy_from_slice(&self.current[self.position..self.position + n]);
        self.position += n;
        Ok(n)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.send(bytes.to_vec()).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Pipe {}

/// One AND gate, both learn the result; three copies and authenticators a bucket, two opened.
static RUN: LazyLock<(Arc<Program>, Parameters)> = LazyLock::new(|| {
    let program = ands(1, Recipient::Both);
    let parameters = small(&program, [3, 2], [3, 2], [3, 2]);
    (program, parameters)
});

/// The peer of one party answers as the fuzzer likes: bit 0 of the first byte says which party gets altered bytes, bits 1 and 2
/// are the inputs. Base OTs are dealt. Whatever comes, that party ends with the right output or a typed error. Returns which.
pub fn session(data: &[u8]) -> bool {
    let Some((&first, edits)) = data.split_first() else { return false };
    let edits = Edits::parse(edits);
    let (program, parameters) = &*RUN;
    let job = Job {
        program: program.clone(),
        security: 40,
        threads: 1,
        table_memory: brickwork::session::TABLE_MEMORY,
        identities: [[1; 32], [2; 32]],
    };
    let victim = if first & 1 == 0 { Party::Garbler } else { Party::Evaluator };
    let (x, y) = (first & 2 != 0, first & 4 != 0);
    let ((to_right, from_left), (to_left, from_right)) = (channel(), channel());
    let end = |to, from, party| {
        let edits = if party == victim { edits.clone() } else { Edits::default() };
        Channel::new(vec![Box::new(Pipe { to, from, current: Vec::new(), position: 0, edits })])
    };
    let (left, right) = (end(to_right, from_right, Party::Garbler), end(to_left, from_left, Party::Evaluator));
    let hooks = || Hooks { parameters: Some(parameters.clone()), dealer: Some([7; 32]), ..Hooks::default() };
    let (garbled, evaluated) = std::thread::scope(|scope| {
        let garbled = scope.spawn(|| garbler(left, &job, &[x], hooks()));
        let evaluated = evaluator(right, &job, &[y], hooks());
        (garbled.join().expect("the garbler does not panic"), evaluated)
    });
    match if victim == Party::Garbler { garbled } else { evaluated } {
        Ok(report) => {
            assert_eq!(report.outputs, [x && y]);
            true
        }
        Err(Error::Peer(_) | Error::Io(_) | Error::Mismatch(_)) => false,
        Err(other) => panic!("{other}"),
    }
}
