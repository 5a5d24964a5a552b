//! Rows 18 and 20: a connection that is cut anywhere, that trickles, and peers that say too much.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brickwork::circuit::{Program, Recipient};
use brickwork::duplo::Parameters;
use brickwork::duplo::adversary::harness::{ands, small};
use brickwork::duplo::adversary::{Hooks, evaluator, garbler};
use brickwork::session::{Job, Report, TABLE_MEMORY};
use brickwork::wire::{Channel, FRAME_HEADER_BYTES, MAX_FRAME_BYTES, Stream};
use brickwork::{Cheat, Error};

/// With this set the connection is cut at every byte.
const EVERY_BYTE: &str = "BRICKWORK_EVERY_BYTE";

const RUNS_AT_A_TIME: usize = 4;

/// A stream that ends after so many bytes, and gives at most so many at a time.
struct Bad {
    stream: UnixStream,
    left: usize,
    at_a_time: usize,
    read: Arc<Mutex<usize>>,
}

impl Read for Bad {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.left).min(self.at_a_time);
        let n = if most == 0 { 0 } else { self.stream.read(&mut buffer[..most])? };
        self.left -= n;
        *self.read.lock().unwrap() += n;
        Ok(n)
    }
}

impl Write for Bad {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Stream for Bad {}

/// What the parties read, and where their messages begin.
struct Run {
    results: [Result<Report, Error>; 2],
    read: [usize; 2],
    /// For each party where the messages end that it sent.
    ends: [Vec<usize>; 2],
}

fn small_run() -> (Arc<Program>, Parameters) {
    let program = ands(1, Recipient::Both);
    let parameters = small(&program, [1, 1], [1, 1], [1, 1]);
    (program, parameters)
}

/// A session with dealt base OTs; `left` and `at_a_time` are for what the garbler and the evaluator read.
fn run(left: [usize; 2], at_a_time: usize) -> Run {
    let (program, parameters) = small_run();
    let job = Job { program, security: 40, threads: 1, table_memory: TABLE_MEMORY, identities: [[1; 32], [2; 32]] };
    let (a, b) = UnixStream::pair().unwrap();
    let read = [Arc::default(), Arc::default()];
    let ends: [Arc<Mutex<Vec<usize>>>; 2] = [Arc::default(), Arc::default()];
    let end = |stream: UnixStream, party: usize| {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let bad = Bad { stream, left: left[party], at_a_time, read: Arc::clone(&read[party]) };
        let mut channel = Channel::new(vec![Box::new(bad)]);
        let (seen, mut at) = (ends[party].clone(), 0);
        channel.set_tamper(Box::new(move |_, payload| {
            at += payload.len() + FRAME_HEADER_BYTES * payload.len().div_ceil(MAX_FRAME_BYTES).max(1);
            seen.lock().unwrap().push(at);
        }));
        channel
    };
    let (left, right) = (end(a, 0), end(b, 1));
    let hooks = || Hooks { parameters: Some(parameters.clone()), dealer: Some([7; 32]), ..Hooks::default() };
    let results = std::thread::scope(|scope| {
        let (job, hooks) = (&job, &hooks);
        let garbled = scope.spawn(move || garbler(left, job, &[true], hooks()));
        let evaluated = evaluator(right, job, &[true], hooks());
        [garbled.join().expect("the garbler does not panic"), evaluated]
    });
    Run { results, read: read.map(|r| *r.lock().unwrap()), ends: ends.map(|e| e.lock().unwrap().clone()) }
}

/// Cuts what one party reads.
fn cut_at(victim: usize, cut: usize, total: usize) {
    let mut left = [usize::MAX; 2];
    left[victim] = cut;
    let outcome = run(left, usize::MAX);
    assert!(matches!(outcome.results[victim], Err(Error::Io(_))), "party {victim}, cut at {cut} of {total}");
    assert_eq!(outcome.read[victim], cut);
    // The other one finds the connection closed, or was done before.
    match &outcome.results[1 - victim] {
        Err(Error::Io(_)) => {}
        Ok(report) => assert_eq!(report.outputs, [true]),
        Err(other) => panic!("party {victim}, cut at {cut} of {total}: the other one ends with {other}"),
    }
}

#[test]
fn row_20_the_connection_is_cut() {
    let whole = run([usize::MAX; 2], usize::MAX);
    assert!(whole.results.iter().all(|r| matches!(r, Ok(report) if report.outputs == [true])));
    for victim in 0..2 {
        let (total, ends) = (whole.read[victim], &whole.ends[1 - victim]);
        assert_eq!(ends.last(), Some(&total));
        let cuts: Vec<usize> = match std::env::var_os(EVERY_BYTE) {
            Some(_) => (0..total).collect(),
            None => std::iter::once(0).chain(ends.iter().flat_map(|&end| [end - 1, end, end + 1])).filter(|&cut| cut < total).collect(),
        };
        // Runs mostly wait for each other, so there are more of them at a time than cores.
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..RUNS_AT_A_TIME {
                scope.spawn(|| {
                    while let Some(&cut) = cuts.get(next.fetch_add(1, Ordering::Relaxed)) {
                        cut_at(victim, cut, total);
                    }
                });
            }
        });
        println!("counted: {} cuts of what the {} reads, {total} bytes", cuts.len(), ["garbler", "evaluator"][victim]);
        let mut left = [usize::MAX; 2];
        left[victim] = total;
        assert!(run(left, usize::MAX).results.iter().all(Result::is_ok), "nothing is read after the end");
    }
}

#[test]
fn row_18_a_byte_at_a_time_is_slow_and_fine() {
    assert!(run([usize::MAX; 2], 1).results.iter().all(|r| matches!(r, Ok(report) if report.outputs == [true])));
}

/// A peer that says this and then keeps the line open.
fn told(bytes: Vec<u8>) -> Error {
    let (program, _) = small_run();
    let job = Job { program, security: 40, threads: 1, table_memory: TABLE_MEMORY, identities: [[1; 32], [2; 32]] };
    let (a, mut b) = UnixStream::pair().unwrap();
    a.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let channel = Channel::new(vec![Box::new(Bad { stream: a, left: usize::MAX, at_a_time: usize::MAX, read: Arc::default() })]);
    let speaker = std::thread::spawn(move || {
        // The other end may be closed before all is said.
        let _ = b.write_all(&bytes);
        let mut answer = Vec::new();
        let _ = b.read_to_end(&mut answer);
    });
    let error = brickwork::duplo::evaluator(channel, &job, &[true], &mut brickwork::session::Unobserved).expect_err("no session");
    speaker.join().unwrap();
    error
}

#[test]
fn row_18_lengths_that_nobody_has_memory_for() {
    for length in [0u32, 1, 143, 145, 1 << 20, (1 << 20) + 1, u32::MAX] {
        let mut frame = vec![1];
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(&[0; 64]);
        let error = told(frame);
        assert!(matches!(error, Error::Peer(Cheat::UnexpectedMessage) | Error::Mismatch(_)), "{length}: {error}");
    }
}

#[test]
fn row_18_a_flood_and_silence() {
    // Any other tag, and a mebibyte of it.
    assert!(matches!(told(vec![0x54; 1 << 20]), Error::Peer(Cheat::UnexpectedMessage)));
    // Signs of life, and then nothing: the stream's own deadline ends it.
    let silent = told([0xff, 0, 0, 0, 0].repeat(1000));
    assert!(matches!(&silent, Error::Io(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)), "{silent}");
    assert!(matches!(told(Vec::new()), Error::Io(_)));
}
