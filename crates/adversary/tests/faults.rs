//! Rows 18 and 20 of the table of attacks (docs/concepts/security.md, section 14): connections that are cut
//! anywhere or deliver single bytes, messages that are repeated or out of order, and peers that send too
//! much.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brickwork::ProtocolError as Error;
use brickwork::circuit::{Program, Recipient};
use brickwork::commit::split::msg::{CORRECTIONS, SEED};
use brickwork::duplo::Cheat;
use brickwork::duplo::Report;
use brickwork::duplo::adversary::harness::{ands, small};
use brickwork::duplo::adversary::{Hooks, evaluator, garbler};
use brickwork::duplo::{Parameters, msg};
use brickwork::protocol::AgreedJob;
use brickwork::wire::{Channel, FRAME_HEADER_BYTES, MAX_FRAME_BYTES, Stream, Tag};

/// If this variable is set, the connection is cut at every byte.
const EVERY_BYTE: &str = "BRICKWORK_EVERY_BYTE";

const RUNS_AT_A_TIME: usize = 4;

/// A stream that ends after this many bytes, and gives at most this many at a time.
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

/// The bytes that the parties read, and the starts of their messages.
struct Run {
    results: [Result<Report, Error>; 2],
    read: [usize; 2],
    /// For each party the ends of its sent messages.
    ends: [Vec<usize>; 2],
}

fn small_run() -> (Arc<Program>, Parameters) {
    let program = ands(1, Recipient::Both);
    let parameters = small(&program, [1, 1], [1, 1], [1, 1]);
    (program, parameters)
}

/// Runs a session with dealt base OTs; `left` and `at_a_time` limit the garbler's and the evaluator's reads.
fn run(left: [usize; 2], at_a_time: usize) -> Run {
    let (program, parameters) = small_run();
    let job = AgreedJob::new(program, 40, [[1; 32], [2; 32]]);
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
    let hooks = || Hooks::none().with(parameters.clone().into()).dealt_by([7; 32]);
    let results = std::thread::scope(|scope| {
        let (job, hooks) = (&job, &hooks);
        let garbled = scope.spawn(move || garbler(left, job, &[true], hooks()));
        let evaluated = evaluator(right, job, &[true], hooks());
        [garbled.join().expect("the garbler does not panic"), evaluated]
    });
    Run { results, read: read.map(|r| *r.lock().unwrap()), ends: ends.map(|e| e.lock().unwrap().clone()) }
}

/// Cuts the connection while one party reads.
fn cut_at(victim: usize, cut: usize, total: usize) {
    let mut left = [usize::MAX; 2];
    left[victim] = cut;
    let outcome = run(left, usize::MAX);
    assert!(matches!(outcome.results[victim], Err(Error::Io(_))), "party {victim}, cut at {cut} of {total}");
    assert_eq!(outcome.read[victim], cut);
    // The other party finds the connection closed, or has already finished.
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
            None => std::iter::once(0)
                .chain(ends.iter().flat_map(|&end| [end - 1, end, end + 1]))
                .filter(|&cut| cut < total)
                .collect(),
        };
        // Runs mostly wait for messages, so there are more of them at a time than cores.
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
        println!(
            "counted: {} cuts of what the {} reads, {total} bytes",
            cuts.len(),
            ["garbler", "evaluator"][victim]
        );
        let mut left = [usize::MAX; 2];
        left[victim] = total;
        assert!(run(left, usize::MAX).results.iter().all(Result::is_ok), "nothing is read after the end");
    }
}

#[test]
fn row_18_a_byte_at_a_time_is_slow_and_fine() {
    assert!(
        run([usize::MAX; 2], 1).results.iter().all(|r| matches!(r, Ok(report) if report.outputs == [true]))
    );
}

/// Plays a peer that sends these bytes and then keeps the connection open; returns the party's error.
fn told(bytes: Vec<u8>) -> Error {
    let (program, _) = small_run();
    let job = AgreedJob::new(program, 40, [[1; 32], [2; 32]]);
    let (a, mut b) = UnixStream::pair().unwrap();
    a.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let channel = Channel::new(vec![Box::new(Bad {
        stream: a,
        left: usize::MAX,
        at_a_time: usize::MAX,
        read: Arc::default(),
    })]);
    let speaker = std::thread::spawn(move || {
        // The other end may close the connection before all bytes are sent.
        let _ = b.write_all(&bytes);
        let mut answer = Vec::new();
        let _ = b.read_to_end(&mut answer);
    });
    let error = brickwork::duplo::evaluator(channel, &job, &[true], brickwork::protocol::Unobserved)
        .expect_err("no session");
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
        assert!(
            error.is_cheat(Cheat::UnexpectedMessage) || matches!(error, Error::Mismatch(_)),
            "{length}: {error}"
        );
    }
}

#[test]
fn row_18_a_flood_and_silence() {
    // A mebibyte of messages with any other tag is refused.
    assert!(told(vec![0x54; 1 << 20]).is_cheat(Cheat::UnexpectedMessage));
    // The peer sends keep-alive frames, and then nothing. The timeout of the stream ends the run.
    let silent = told([0xff, 0, 0, 0, 0].repeat(1000));
    assert!(
        matches!(&silent, Error::Io(e)
            if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)),
        "{silent}"
    );
    assert!(matches!(told(Vec::new()), Error::Io(_)));
}

/// A message of a party, and the number of bytes that the party had read before.
struct Said {
    tag: Tag,
    bytes: usize,
    read: usize,
}

impl Said {
    /// Returns the tag and the length, which a receiver checks before the values.
    fn form(&self) -> (Tag, usize) {
        (self.tag, self.bytes)
    }
}

/// The fate of one of a party's messages.
#[derive(Clone, Copy, Debug)]
enum Edit {
    /// The message comes twice.
    Twice(usize),
    /// The message arrives after the next one.
    Swapped(usize),
}

/// Passes on whole frames until one of the ends is closed.
fn relay(from: &UnixStream, mut to: &UnixStream, edit: Option<Edit>) {
    let frame = |mut from: &UnixStream| -> io::Result<Vec<u8>> {
        let mut frame = vec![0; FRAME_HEADER_BYTES];
        from.read_exact(&mut frame)?;
        let length = u32::from_le_bytes(frame[1..].try_into().expect("4 bytes")) as usize;
        frame.resize(FRAME_HEADER_BYTES + length, 0);
        from.read_exact(&mut frame[FRAME_HEADER_BYTES..])?;
        Ok(frame)
    };
    let mut held = Vec::new();
    for number in 0.. {
        let Ok(frame) = frame(from) else { break };
        let frames = match edit {
            Some(Edit::Twice(at)) if at == number => frame.repeat(2),
            Some(Edit::Swapped(at)) if at == number => {
                held = frame;
                continue;
            }
            _ => [frame, std::mem::take(&mut held)].concat(),
        };
        if to.write_all(&frames).is_err() {
            break;
        }
    }
    // Either end may be closed by now.
    let _ = (to.shutdown(Shutdown::Write), from.shutdown(Shutdown::Read));
}

/// Runs a session with dealt base OTs over a relay that edits the messages of one party.
fn relayed(edited: usize, edit: Option<Edit>) -> ([Result<Report, Error>; 2], [Vec<Said>; 2]) {
    let (program, parameters) = small_run();
    let job = AgreedJob::new(program, 40, [[1; 32], [2; 32]]);
    let ((a, near), (b, far)) = (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
    let said: [Arc<Mutex<Vec<Said>>>; 2] = [Arc::default(), Arc::default()];
    let end = |stream: UnixStream, party: usize| {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let read = Arc::<Mutex<usize>>::default();
        let mut channel = Channel::new(vec![Box::new(Bad {
            stream,
            left: usize::MAX,
            at_a_time: usize::MAX,
            read: read.clone(),
        })]);
        let said = said[party].clone();
        channel.set_tamper(Box::new(move |tag, bytes| {
            said.lock().unwrap().push(Said { tag, bytes: bytes.len(), read: *read.lock().unwrap() });
        }));
        channel
    };
    let (left, right) = (end(a, 0), end(b, 1));
    let hooks = || Hooks::none().with(parameters.clone().into()).dealt_by([7; 32]);
    let of = |party| edit.filter(|_| edited == party);
    let results = std::thread::scope(|scope| {
        scope.spawn(|| relay(&near, &far, of(0)));
        scope.spawn(|| relay(&far, &near, of(1)));
        let garbled = scope.spawn(|| garbler(left, &job, &[true], hooks()));
        let evaluated = evaluator(right, &job, &[true], hooks());
        [garbled.join().expect("the garbler does not panic"), evaluated]
    });
    (results, said.map(|said| std::mem::take(&mut *said.lock().unwrap())))
}

/// The ending for a party.
#[derive(Debug, PartialEq)]
enum End {
    Right,
    Caught(Cheat),
    Gone,
}

fn ended(result: &Result<Report, Error>) -> End {
    match result {
        Ok(report) if report.outputs == [true] => End::Right,
        Err(Error::Peer(cheat)) => End::Caught(Cheat::of(*cheat).expect("a check of DUPLO")),
        Err(Error::Io(_)) => End::Gone,
        other => panic!("it ends with {other:?}"),
    }
}

/// Checks a run in which one of a party's messages comes twice, or after the next message.
fn out_of_place(party: usize, edit: Edit, all: usize) {
    let (results, said) = relayed(party, Some(edit));
    let (victim, other) = (ended(&results[1 - party]), ended(&results[party]));
    let next_is_alike =
        |at: usize| said[party].get(at + 1).is_some_and(|next| next.form() == said[party][at].form());
    let expected = match edit {
        // After the last message no party reads, so a repetition has no effect.
        Edit::Twice(at) if at + 1 == all => End::Right,
        // The repetition is noticed at once. If later messages have the same form, each takes the place of
        // the next, and it is noticed after them.
        Edit::Twice(_) => End::Caught(Cheat::UnexpectedMessage),
        Edit::Swapped(at) if !next_is_alike(at) => End::Caught(Cheat::UnexpectedMessage),
        Edit::Swapped(at) => {
            assert_eq!(said[party][at].tag, CORRECTIONS);
            End::Caught(Cheat::Commitment)
        }
    };
    assert_eq!(victim, expected, "party {party}, {edit:?}");
    match edit {
        // If a garbler receives a seed twice, it answers the repeated one.
        Edit::Twice(at) if said[party][at].tag == SEED && next_is_alike(at) => {
            assert_eq!(other, End::Caught(Cheat::Opening))
        }
        // This party notices nothing, or finds the connection closed.
        _ => assert!(matches!(other, End::Right | End::Gone), "party {party}, {edit:?}: {other:?}"),
    }
    let outputs = said[1].iter().any(|message| message.tag == msg::OUTPUT_LABELS);
    assert!(party == 1 || outputs == (victim == End::Right), "party {party}, {edit:?}: outputs have left");
}

#[test]
fn row_18_messages_come_twice_or_in_another_order() {
    let (results, said) = relayed(0, None);
    assert_eq!(results.each_ref().map(ended), [End::Right, End::Right]);
    assert!(
        said.iter().flatten().all(|message| message.bytes <= MAX_FRAME_BYTES),
        "every message is one frame"
    );
    // If a sender waits for an answer between two messages, they cannot be exchanged.
    let in_one_go = |said: &[Said]| {
        (1..said.len()).filter(|&k| said[k - 1].read == said[k].read).map(|k| Edit::Swapped(k - 1)).collect()
    };
    let edits = [0, 1].into_iter().flat_map(|party| {
        let swapped: Vec<Edit> = in_one_go(&said[party]);
        (0..said[party].len()).map(Edit::Twice).chain(swapped).map(move |edit| (party, edit))
    });
    let edits: Vec<(usize, Edit)> = edits.collect();
    println!("counted: {} messages that came twice or in another order", edits.len());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..RUNS_AT_A_TIME {
            scope.spawn(|| {
                while let Some(&(party, edit)) = edits.get(next.fetch_add(1, Ordering::Relaxed)) {
                    out_of_place(party, edit, said[party].len());
                }
            });
        }
    });
}
