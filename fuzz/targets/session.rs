//! Whole sessions with a peer that says anything: what it says is altered on its way.
//!
//! Used by the fuzz target and, with the seeds, by the tests.
#![allow(dead_code)]

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, LazyLock, Mutex};

use brickwork::authenticated::adversary as authenticated;
use brickwork::circuit::{Party, Program, Recipient};
use brickwork::duplo::adversary::harness::{ands, small};
use brickwork::duplo::adversary::{Hooks, evaluator, garbler, stocked};
use brickwork::duplo::{Lacking, Parameters, Request};
use brickwork::ot::Cot;
use brickwork::session::{Job, TABLE_MEMORY, Terms, Unobserved};
use brickwork::stock::{Entry, Store, StoreKey};
use brickwork::wire::{Channel, Stream};
use brickwork::{Error, Security};

/// What is on its way between two parties, and what becomes of them.
#[derive(Default)]
struct Line {
    sent: [VecDeque<Vec<u8>>; 2],
    state: [State; 2],
}

#[derive(Clone, Copy, Default, PartialEq)]
enum State {
    #[default]
    Works,
    Waits,
    HasLeft,
}

impl Line {
    /// Whether nothing more can come for this party. What was altered may leave both waiting.
    fn is_over(&self, party: usize) -> bool {
        let other = self.state[1 - party];
        self.sent[1 - party].is_empty()
            && (other == State::HasLeft || other == State::Waits && self.sent[party].is_empty())
    }
}

/// One party's end of a line. What is read from it may have been altered.
struct End {
    line: Arc<(Mutex<Line>, Condvar)>,
    party: usize,
    current: Vec<u8>,
    position: usize,
    edits: Edits,
}

impl End {
    /// What the other party sent, or nothing if no more can come.
    fn next(&self) -> Option<Vec<u8>> {
        let (line, moved) = &*self.line;
        let mut line = line.lock().expect("no panic");
        line.state[self.party] = State::Waits;
        moved.notify_all();
        let mut line = moved
            .wait_while(line, |line| line.sent[1 - self.party].is_empty() && !line.is_over(self.party))
            .expect("no panic");
        line.state[self.party] = State::Works;
        line.sent[1 - self.party].pop_front()
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.line.0.lock().expect("no panic").state[self.party] = State::HasLeft;
        self.line.1.notify_all();
    }
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

impl Read for End {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.position >= self.current.len() {
            match if self.edits.over { None } else { self.next() } {
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

impl Write for End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut line = self.line.0.lock().expect("no panic");
        if line.state[1 - self.party] == State::HasLeft {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        line.sent[self.party].push_back(bytes.to_vec());
        self.line.1.notify_all();
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for End {}

/// A line between two parties, on which `victim` gets altered bytes: the garbler's end and the evaluator's.
fn line(victim: Party, edits: &Edits) -> [Channel; 2] {
    let line = Arc::default();
    [Party::Garbler, Party::Evaluator].map(|party| {
        let edits = if party == victim { edits.clone() } else { Edits::default() };
        Channel::new(vec![Box::new(End {
            line: Arc::clone(&line),
            party: party as usize,
            current: Vec::new(),
            position: 0,
            edits,
        })])
    })
}

const IDENTITIES: [[u8; 32]; 2] = [[1; 32], [2; 32]];

/// One AND gate, both learn the result; three copies and authenticators a bucket, two opened.
static RUN: LazyLock<(Arc<Program>, Parameters)> = LazyLock::new(|| {
    let program = ands(1, Recipient::Both);
    let parameters = small(&program, [3, 2], [3, 2], [3, 2]);
    (program, parameters)
});

/// Lets the peer of one party answer as the fuzzer likes: bit 0 of the first byte says which party gets
/// altered bytes, bits 1 and 2 are the inputs, bit 3 says whether what is needed was made before and lies in
/// stores, bit 4 without it that masks are authenticated, and bits 5 and 6 with that, that they come of a
/// PCG, which takes long. Whatever comes, that party ends with the right output or a typed error. Returns
/// which.
pub fn session(data: &[u8]) -> bool {
    let Some((&first, edits)) = data.split_first() else { return false };
    let edits = Edits::parse(edits);
    let victim = if first & 1 == 0 { Party::Garbler } else { Party::Evaluator };
    let (x, y) = (first & 2 != 0, first & 4 != 0);
    let ended = match first & 0x78 {
        stocked if stocked & 8 != 0 => from_stock(victim, [x, y], &edits),
        0x70 => with_masks(Cot::Pcg, victim, [x, y], &edits),
        masks if masks & 0x10 != 0 => with_masks(Cot::default(), victim, [x, y], &edits),
        _ => on_the_spot(victim, [x, y], &edits),
    };
    match ended {
        Ok(outputs) => {
            assert_eq!(outputs, [x && y]);
            true
        }
        Err(Error::Peer(_) | Error::Io(_) | Error::Mismatch(_)) => false,
        Err(Error::Stock(_) | Error::Strangers(_)) if first & 8 != 0 => false,
        Err(other) => panic!("{other}"),
    }
}

/// The run, as either party means it.
fn job() -> Job {
    Job {
        program: RUN.0.clone(),
        security: 40,
        threads: 1,
        table_memory: TABLE_MEMORY,
        identities: IDENTITIES,
        post_quantum: false,
    }
}

/// The same with authenticated masks, made of these OTs; the base OTs are dealt.
fn with_masks(cot: Cot, victim: Party, [x, y]: [bool; 2], edits: &Edits) -> Result<Vec<bool>, Error> {
    let (job, [left, right]) = (job(), line(victim, edits));
    let hooks = || authenticated::Hooks {
        pool: Some(authenticated::Pool { size: 2, bucket: 3 }),
        dealer: Some([7; 32]),
        ..authenticated::Hooks::default()
    };
    let (garbled, evaluated) = std::thread::scope(|scope| {
        let garbled = scope.spawn(|| authenticated::garbler(left, &job, cot, &[x], hooks()));
        let evaluated = authenticated::evaluator(right, &job, cot, &[y], hooks());
        (garbled.join().expect("the garbler does not panic"), evaluated)
    });
    Ok(if victim == Party::Garbler { garbled } else { evaluated }?.outputs)
}

/// Everything is made for this run. Base OTs are dealt.
fn on_the_spot(victim: Party, [x, y]: [bool; 2], edits: &Edits) -> Result<Vec<bool>, Error> {
    let (job, [left, right], parameters) = (job(), line(victim, edits), &RUN.1);
    let hooks = || Hooks { parameters: Some(parameters.clone()), dealer: Some([7; 32]), ..Hooks::default() };
    let (garbled, evaluated) = std::thread::scope(|scope| {
        let garbled = scope.spawn(|| garbler(left, &job, &[x], hooks()));
        let evaluated = evaluator(right, &job, &[y], hooks());
        (garbled.join().expect("the garbler does not panic"), evaluated)
    });
    Ok(if victim == Party::Garbler { garbled } else { evaluated }?.outputs)
}

const KEY: StoreKey = StoreKey::from_bytes([7; 32]);
const TERMS: Terms = Terms {
    security: Security::of(40),
    threads: 1,
    table_memory: TABLE_MEMORY,
    identities: IDENTITIES,
    post_quantum: false,
};

/// Both parties' stores, filled for one run.
static FILLED: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let honest =
        |party| meet(folder.path(), party, None, &Edits::default()).expect("honest parties make stock");
    honest(Party::Evaluator);
    let mut files = Vec::new();
    let mut folders = vec![folder.path().to_owned()];
    while let Some(below) = folders.pop() {
        for entry in std::fs::read_dir(below).expect("a folder").map(|entry| entry.expect("an entry").path())
        {
            match entry.is_dir() {
                true => folders.push(entry),
                false => {
                    let bytes = std::fs::read(&entry).expect("a file");
                    files.push((entry.strip_prefix(folder.path()).expect("below it").to_owned(), bytes));
                }
            }
        }
    }
    files
});

/// Connects both parties' stores, to be filled, or to run the program on these inputs; what one party ends
/// with.
fn meet(folder: &Path, victim: Party, inputs: Option<[bool; 2]>, edits: &Edits) -> Result<Vec<bool>, Error> {
    let program = &RUN.0;
    let [left, right] = line(victim, edits);
    let one = |party: Party, channel| {
        let store = Store::open(&folder.join(format!("{party:?}")), &KEY)?;
        let observer = Unobserved;
        let session = stocked(party, channel, &store, &TERMS, observer, Hooks::default())?;
        let (outputs, session) = match inputs {
            None => (Vec::new(), session.preprocess(&[Request { ots: Some(1), ..Request::of(program) }])?.1),
            Some(inputs) => {
                let (done, session) = session.run(program, &[inputs[party as usize]], Lacking::Refuse)?;
                (done.outputs, session)
            }
        };
        session.close()?;
        Ok(outputs)
    };
    let (garbled, evaluated) = std::thread::scope(|scope| {
        let garbled = scope.spawn(|| one(Party::Garbler, left));
        let evaluated = one(Party::Evaluator, right);
        (garbled.join().expect("the garbler does not panic"), evaluated)
    });
    if victim == Party::Garbler { garbled } else { evaluated }
}

/// The run takes from stock. The store is sound afterwards, and if something was taken from it when the peer
/// was caught, all is burned; if the stores were no pair, nothing.
fn from_stock(victim: Party, inputs: [bool; 2], edits: &Edits) -> Result<Vec<bool>, Error> {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, bytes) in FILLED.iter() {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }
    let ended = meet(folder.path(), victim, Some(inputs), edits);
    let store = Store::open(&folder.path().join(format!("{victim:?}")), &KEY).expect("a store");
    store.verify().expect("it is sound");
    for (id, _) in store.epochs().expect("an index") {
        let taken = store.log(&id).expect("a log").iter().any(|entry| matches!(entry, Entry::Use { .. }));
        let burned = store.state(&id).expect("a log").burned().is_some();
        assert!(burned || !taken || !matches!(ended, Err(Error::Peer(_))), "{ended:?}, and not burned");
        assert!(!burned || !matches!(ended, Err(Error::Strangers(_))), "a mistake burns nothing");
    }
    ended
}
