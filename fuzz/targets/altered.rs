//! Two parties of whom one gets altered bytes, and their stores: the part that the targets of whole sessions
//! share.
#![allow(dead_code)]

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};

use brickwork::circuit::Party;
use brickwork::disk::{EpochEntry, Store, StoreKey};
use brickwork::protocol::{TABLE_MEMORY, Terms};
use brickwork::wire::{Channel, Stream};
use brickwork::{ProtocolError as Error, Security};

/// The bytes in transit between two parties.
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
    /// True if no more bytes can come for this party. After a changed message both parties may wait for each
    /// other.
    fn is_over(&self, party: usize) -> bool {
        let other = self.state[1 - party];
        self.sent[1 - party].is_empty()
            && (other == State::HasLeft || other == State::Waits && self.sent[party].is_empty())
    }
}

/// One party's end of a connection. Bytes that are read from this end may have been changed.
struct End {
    line: Arc<(Mutex<Line>, Condvar)>,
    party: usize,
    current: Vec<u8>,
    position: usize,
    edits: Edits,
}

impl End {
    /// Returns the bytes that the other party sent, or `None` if no more can come.
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

/// Edits of a stream: for each, the position, the kind and a value.
#[derive(Clone, Default)]
pub struct Edits {
    list: Vec<(usize, u8, u8)>,
    seen: usize,
    over: bool,
}

impl Edits {
    /// Reads edits of four bytes: the distance from the previous edit (two bytes), the kind, and a value.
    pub fn parse(data: &[u8]) -> Self {
        let mut at = 0;
        let edit = |e: &[u8]| {
            at += usize::from(u16::from_le_bytes([e[0], e[1]]));
            (at, e[2], e[3])
        };
        Edits { list: data.chunks_exact(4).take(8).map(edit).collect(), seen: 0, over: false }
    }

    /// Returns whether nothing is altered.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Alters the next bytes.
    pub fn apply(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        let (start, end) = (self.seen, self.seen + bytes.len());
        self.seen = end;
        let mut altered = bytes;
        for &(at, what, value) in self.list.iter().rev().filter(|(at, ..)| (start..end).contains(at)) {
            let at = at - start;
            // An edit at the same position may have cut off the bytes here.
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

/// Makes a line between two parties, on which `victim` receives altered bytes. Returns the garbler's end and
/// the evaluator's end.
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

/// Runs both parties, each with its end of the line. Returns the result of the victim.
pub fn both<T: Send>(
    victim: Party,
    edits: &Edits,
    one: impl Fn(Party, Channel) -> Result<T, Error> + Sync,
) -> Result<T, Error> {
    let [left, right] = line(victim, edits);
    let (garbled, evaluated) = std::thread::scope(|scope| {
        let garbled = scope.spawn(|| one(Party::Garbler, left));
        let evaluated = one(Party::Evaluator, right);
        (garbled.join().expect("the garbler does not panic"), evaluated)
    });
    if victim == Party::Garbler { garbled } else { evaluated }
}

/// The identities of the parties, and their agreement.
pub const IDENTITIES: [[u8; 32]; 2] = [[1; 32], [2; 32]];
pub const TERMS: Terms = Terms {
    security: Security::of(40),
    threads: 1,
    table_memory: TABLE_MEMORY,
    identities: IDENTITIES,
    post_quantum: false,
};

const KEY: StoreKey = StoreKey::from_bytes([7; 32]);

/// Opens a party's store in a folder of both.
pub fn open(folder: &Path, party: Party) -> Result<Store, Error> {
    Store::open(&folder.join(format!("{party:?}")), &KEY)
}

/// The files of both parties' stores.
pub struct Stores(Vec<(PathBuf, Vec<u8>)>);

impl Stores {
    /// Lets honest parties fill their stores in a folder.
    pub fn filled(fill: impl FnOnce(&Path) -> Result<(), Error>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fill(folder.path()).expect("honest parties make stock");
        let mut files = Vec::new();
        let mut folders = vec![folder.path().to_owned()];
        while let Some(below) = folders.pop() {
            let entries = std::fs::read_dir(below).expect("a folder");
            for entry in entries.map(|entry| entry.expect("an entry").path()) {
                match entry.is_dir() {
                    true => folders.push(entry),
                    false => {
                        let bytes = std::fs::read(&entry).expect("a file");
                        files.push((entry.strip_prefix(folder.path()).expect("below it").to_owned(), bytes));
                    }
                }
            }
        }
        Stores(files)
    }

    /// Lets both parties take items from copies of these stores. Checks that the victim's store is undamaged
    /// afterwards. If items were taken from it before the peer was caught, its stock must be burned. If the
    /// stores were no pair, nothing may be burned.
    pub fn taken_from<T>(
        &self,
        victim: Party,
        take: impl FnOnce(&Path) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, bytes) in &self.0 {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, bytes).expect("a file");
        }
        let ended = take(folder.path());
        let store = open(folder.path(), victim).expect("a store");
        store.verify().expect("it is sound");
        for (id, _) in store.epochs().expect("an index") {
            let taken =
                store.log(&id).expect("a log").iter().any(|entry| matches!(entry, EpochEntry::Use { .. }));
            let burned = store.state(&id).expect("a log").burned().is_some();
            let caught = matches!(ended, Err(Error::Peer(_)));
            assert!(burned || !taken || !caught, "the party found a cheat, but did not burn its stock");
            assert!(!burned || !matches!(ended, Err(Error::Strangers(_))), "a mistake burns nothing");
        }
        ended
    }
}
