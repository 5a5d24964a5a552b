//! Sessions with stock on disk: two real stores in a temporary folder, and changes of the stores, of the
//! connection, or of a party.
//!
//! This module has the building blocks of attacks on stock; [`plays`] has the attacks.

pub mod plays;

use brickwork_testing::Replayable as _;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use brickwork::circuit::{Party, Program};
use brickwork::disk::{DiskChange, EpochEntry, Faults, NoFaults, Store, StoreKey};
use brickwork::duplo::adversary::harness::toy;
use brickwork::duplo::adversary::{Hooks, Point, stocked};
use brickwork::duplo::{Duplo, Lacking, Request, msg};
use brickwork::protocol::msg::{HELLO, NEXT};
use brickwork::protocol::{TABLE_MEMORY, Terms, Unobserved};
use brickwork::random::Rng;
use brickwork::wire::{Channel, Stream, Tag};
use brickwork::{ProtocolError as Error, Security};
use brickwork_harness::{Ending, Rigged as _};
use tempfile::TempDir;

use crate::attack::Played;

const KEY: StoreKey = StoreKey::from_bytes([7; 32]);

const TERMS: Terms = Terms {
    security: Security::of(40),
    threads: 1,
    table_memory: TABLE_MEMORY,
    identities: [[1; 32], [2; 32]],
    post_quantum: false,
};

/// The number of times that the program can run on the stock.
pub const RUNS: usize = 2;

static PROGRAM: LazyLock<Arc<Program>> = LazyLock::new(toy);

/// Both parties' stores, filled for [`RUNS`] runs.
static FILLED: LazyLock<PartyFolders> = LazyLock::new(|| {
    let stores = PartyFolders::empty();
    stores
        .connect(StoreAction::Fill, Default::default())
        .result
        .into_iter()
        .for_each(|result| result.expect("honest parties make stock"));
    stores
});

/// Both parties' stores without OTs; each run makes its own OTs.
static WITHOUT_OTS: LazyLock<PartyFolders> = LazyLock::new(|| {
    let stores = PartyFolders::empty();
    let met = stores.connect(StoreAction::FillWithoutOts, Default::default());
    met.result.into_iter().for_each(|result| result.expect("honest parties make stock"));
    stores
});

/// The messages of honest parties.
static HONEST: LazyLock<[ConnectionResult; 6]> = LazyLock::new(|| {
    use StoreAction::{Fill, FillWithoutOts, More, Run, RunMakingOts, Runs};
    [Fill, Run, More, Runs, FillWithoutOts, RunMakingOts]
        .map(|what| what.begin().connect(what, Default::default()))
});

/// The action of both parties on a connection.
#[derive(Clone, Copy, PartialEq)]
pub enum StoreAction {
    /// Make stock for [`RUNS`] runs.
    Fill = 0,
    /// Run the program from stock.
    Run = 1,
    /// Make more stock, with the secrets of the existing epoch.
    More = 2,
    /// Run the program [`RUNS`] times.
    Runs = 3,
    /// Make stock without OTs.
    FillWithoutOts = 4,
    /// Run the program from stock without OTs.
    RunMakingOts = 5,
}

impl StoreAction {
    /// Returns the stores before the connection.
    fn begin(self) -> PartyFolders {
        match self {
            StoreAction::Fill | StoreAction::FillWithoutOts => PartyFolders::empty(),
            StoreAction::RunMakingOts => WITHOUT_OTS.copy(),
            StoreAction::Run | StoreAction::More | StoreAction::Runs => PartyFolders::filled(),
        }
    }

    /// Returns the requested stock, if stock is made.
    fn makes(self) -> Option<Request> {
        match self {
            StoreAction::Fill => Some(request(RUNS)),
            StoreAction::More => Some(request(1)),
            StoreAction::FillWithoutOts => Some(Request { ots: None, ..request(RUNS) }),
            StoreAction::Run | StoreAction::Runs | StoreAction::RunMakingOts => None,
        }
    }
}

/// The tag and the length of a message.
type Sent = (Tag, usize);

/// Alters a party's state at a point.
type Lie = (Point, Box<dyn FnMut(&mut [u8]) + Send + Sync>);
/// Rewrites a party's `n`th message of a tag.
type Rewrite = (Tag, usize, Box<dyn FnMut(&mut Vec<u8>) + Send>);

/// One end of a connection, with its cheats.
pub struct PartyLies {
    lies: Vec<Lie>,
    rewrite: Option<Rewrite>,
    faults: Arc<dyn Faults>,
    /// The number of bytes that this party receives before the connection breaks.
    line: usize,
}

impl Default for PartyLies {
    fn default() -> Self {
        PartyLies { lies: Vec::new(), rewrite: None, faults: Arc::new(NoFaults), line: usize::MAX }
    }
}

impl PartyLies {
    /// Alters the party's state at a point.
    pub fn lies(point: Point, lie: impl FnMut(&mut [u8]) + Send + Sync + 'static) -> PartyLies {
        PartyLies { lies: vec![(point, Box::new(lie))], ..PartyLies::default() }
    }

    /// Alters the party's state at a further point.
    #[must_use]
    pub fn and_lies(mut self, point: Point, lie: impl FnMut(&mut [u8]) + Send + Sync + 'static) -> PartyLies {
        self.lies.push((point, Box::new(lie)));
        self
    }

    /// Alters the party's `nth` message of this tag.
    pub fn rewrites(tag: Tag, nth: usize, rewrite: impl FnMut(&mut Vec<u8>) + Send + 'static) -> PartyLies {
        PartyLies { rewrite: Some((tag, nth, Box::new(rewrite))), ..PartyLies::default() }
    }

    /// Makes the party's disk fail.
    pub fn fails(faults: Arc<dyn Faults>) -> PartyLies {
        PartyLies { faults, ..PartyLies::default() }
    }

    /// Cuts the party's connection after this many received bytes.
    pub fn cut(line: usize) -> PartyLies {
        PartyLies { line, ..PartyLies::default() }
    }
}

/// A disk on which one change fails, or this change and all later ones.
#[derive(Debug)]
pub struct Failing {
    at: usize,
    /// True if all later changes fail, too.
    ends: bool,
    /// The number of bytes that the failing write still stores.
    some: usize,
    seen: AtomicUsize,
}

impl Failing {
    /// Makes change number `at` fail, after `some` bytes of it.
    pub fn once(at: usize, some: usize) -> Arc<Self> {
        Arc::new(Failing { at, ends: false, some, seen: AtomicUsize::new(0) })
    }

    /// Makes change number `at` and all later changes fail, as for a killed process.
    pub fn killed(at: usize, some: usize) -> Arc<Self> {
        Arc::new(Failing { at, ends: true, some, seen: AtomicUsize::new(0) })
    }

    /// Returns the number of changes so far.
    fn seen(&self) -> usize {
        self.seen.load(Ordering::Relaxed)
    }
}

impl Faults for Failing {
    fn before(&self, _: DiskChange) -> Result<(), (usize, io::Error)> {
        let now = self.seen.fetch_add(1, Ordering::Relaxed);
        if now < self.at || now > self.at && !self.ends {
            return Ok(());
        }
        Err((if now == self.at { self.some } else { 0 }, io::Error::from(io::ErrorKind::StorageFull)))
    }
}

/// A socket that ends after this many bytes.
struct AlteredLine {
    socket: UnixStream,
    left: usize,
    read: Arc<AtomicUsize>,
    /// The folder of the peer's segments. Their number is taken when the peer has closed the connection.
    peer: PathBuf,
    found: Arc<Mutex<Option<usize>>>,
}

impl AlteredLine {
    fn closed(&self) {
        let count = || std::fs::read_dir(&self.peer).map_or(0, Iterator::count);
        self.found.lock().expect("no panic").get_or_insert_with(count);
    }
}

impl Read for AlteredLine {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.left);
        if most == 0 {
            return Ok(0);
        }
        let read = self.socket.read(&mut buffer[..most]);
        if read.as_ref().map_or_else(|error| error.kind() != io::ErrorKind::Interrupted, |n| *n == 0) {
            self.closed();
        }
        let n = read?;
        self.left -= n;
        self.read.fetch_add(n, Ordering::Relaxed);
        Ok(n)
    }
}

impl Write for AlteredLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.socket.write(bytes);
        if written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            self.closed();
        }
        written
    }
    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl Stream for AlteredLine {}

/// The result of a connection.
pub struct ConnectionResult {
    /// By party.
    pub result: [Result<(), Error>; 2],
    /// The tags and lengths of a party's messages.
    pub sent: [Vec<Sent>; 2],
    /// Bytes that a party received.
    pub read: [usize; 2],
    /// For each party and run, whether the party recovered its outputs.
    pub recovered: [Vec<bool>; 2],
    /// For a party that found the connection closed: the number of the other party's segments at that time.
    pub found: [Option<usize>; 2],
}

/// The folders of both parties.
pub struct PartyFolders(TempDir);

impl PartyFolders {
    /// Makes stores with nothing in them.
    pub fn empty() -> Self {
        PartyFolders(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Makes stores that are filled for [`RUNS`] runs.
    pub fn filled() -> Self {
        FILLED.copy()
    }

    fn copy(&self) -> Self {
        let copy = PartyFolders::empty();
        copy_folder(self.0.path(), copy.0.path());
        copy
    }

    /// Returns a party's folder.
    pub fn of(&self, party: Party) -> PathBuf {
        self.0.path().join(format!("{party:?}"))
    }

    /// Replaces a party's folder by that of `from`.
    pub fn restore(&self, party: Party, from: &PartyFolders) {
        std::fs::remove_dir_all(self.of(party)).expect("a folder");
        copy_folder(&from.of(party), &self.of(party));
    }

    /// Returns a party's store.
    ///
    /// # Errors
    /// If the store is refused.
    pub fn open(&self, party: Party) -> Result<Store, Error> {
        Store::open(&self.of(party), &KEY)
    }

    /// Returns the segments of a party.
    pub fn segments(&self, party: Party) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.of(party).join("segments")).expect("a folder");
        let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
        files.sort();
        files
    }

    /// Returns both parties' logs of the only epoch, without the notes of each party.
    fn logs(&self) -> Result<[Vec<EpochEntry>; 2], String> {
        let log = |party| -> Result<Vec<EpochEntry>, Error> {
            let store = self.open(party)?;
            let mut entries = Vec::new();
            for (id, _) in store.epochs()? {
                entries.extend(store.log(&id)?.into_iter().filter(|e| {
                    matches!(e, EpochEntry::Fill(_) | EpochEntry::Made | EpochEntry::Use { .. })
                }));
            }
            Ok(entries)
        };
        Ok([
            log(Party::Garbler).map_err(|e| e.to_string())?,
            log(Party::Evaluator).map_err(|e| e.to_string())?,
        ])
    }

    /// Returns whether all stock of a party is burned, so that its secrets and its segments are removed.
    fn is_burned(&self, party: Party) -> Result<bool, String> {
        let segments = self.segments(party).len();
        let store = self.open(party).map_err(|e| e.to_string())?;
        let epochs = store.epochs().map_err(|e| e.to_string())?;
        let burned =
            |id| store.state(id).is_ok_and(|state| state.burned().is_some()) && store.secrets(id).is_err();
        Ok(!epochs.is_empty() && segments == 0 && epochs.iter().all(|(id, _)| burned(id)))
    }

    /// Connects both parties. A party's outputs must be right.
    pub fn connect(&self, what: StoreAction, [garbler, evaluator]: [PartyLies; 2]) -> ConnectionResult {
        let (a, b) = UnixStream::pair().expect("a pair of sockets");
        let sent: [Arc<Mutex<Vec<Sent>>>; 2] = Default::default();
        let read: [Arc<AtomicUsize>; 2] = Default::default();
        let found: [Arc<Mutex<Option<usize>>>; 2] = Default::default();
        let recovered: [Mutex<Vec<bool>>; 2] = Default::default();
        let mut rng = Rng::replayable("inputs");
        let inputs = [Party::Garbler, Party::Evaluator]
            .map(|party| (0..PROGRAM.input_width(party)).map(|_| rng.below(2) == 1).collect::<Vec<_>>());
        let expected = PROGRAM.simulate(&inputs[0], &inputs[1]);
        let one = |party: Party, socket: UnixStream, side: PartyLies| {
            socket.set_read_timeout(Some(Duration::from_secs(50))).expect("a timeout");
            let (read, found) = (read[party as usize].clone(), found[party as usize].clone());
            let line = AlteredLine {
                socket,
                left: side.line,
                read,
                peer: self.of(other(party)).join("segments"),
                found,
            };
            let mut channel = Channel::new(vec![Box::new(line)]);
            let (log, mut rewrite) = (sent[party as usize].clone(), side.rewrite);
            channel.set_tamper(Box::new(move |tag, bytes| {
                if let Some((at, left, rewrite)) = &mut rewrite
                    && *at == tag
                {
                    if *left == 0 {
                        rewrite(bytes);
                    }
                    *left = left.wrapping_sub(1);
                }
                log.lock().expect("no panic").push((tag, bytes.len()));
            }));
            let mut lies = side.lies;
            // Honest parties get no hook.
            let hooks = match lies.is_empty() {
                true => Hooks::none(),
                false => Hooks::lying(move |point, bytes| {
                    lies.iter_mut().filter(|(at, _)| *at == point).for_each(|(_, lie)| lie(bytes))
                }),
            };
            let (store, observer) = (Store::open_with(&self.of(party), &KEY, side.faults)?, Unobserved);
            let mut session = stocked(party, channel, &store, &TERMS, observer, hooks)?;
            if let Some(request) = what.makes() {
                return session.preprocess(&[request])?.1.close().map(drop);
            }
            for _ in 0..if what == StoreAction::Runs { RUNS } else { 1 } {
                let done;
                (done, session) = session.run(&*PROGRAM, &inputs[party as usize], Lacking::Refuse)?;
                assert_eq!(done.outputs, PROGRAM.output_bits(party, &expected), "the cheater won");
                recovered[party as usize].lock().expect("no panic").push(done.recovered);
            }
            session.close().map(drop)
        };
        let result = std::thread::scope(|scope| {
            let garbler = scope.spawn(|| one(Party::Garbler, a, garbler));
            let evaluator = one(Party::Evaluator, b, evaluator);
            [garbler.join().expect("the garbler does not panic"), evaluator]
        });
        let sent = sent.map(|sent| std::mem::take(&mut *sent.lock().expect("no panic")));
        let recovered = recovered.map(|recovered| recovered.into_inner().expect("no panic"));
        let (read, found) = (
            read.map(|read| read.load(Ordering::Relaxed)),
            found.map(|found| *found.lock().expect("no panic")),
        );
        ConnectionResult { result, sent, read, recovered, found }
    }

    /// Runs both parties honestly.
    fn run(&self) -> ConnectionResult {
        self.connect(StoreAction::Run, Default::default())
    }

    /// Checks that an honest run succeeds.
    fn works(&self) -> Result<(), String> {
        let met = self.run();
        met.result
            .iter()
            .all(Result::is_ok)
            .then_some(())
            .ok_or_else(|| format!("an honest run ends as {:?}", met.result))
    }

    /// Checks that both stores refuse an honest run, and that everything is burned.
    fn is_refused(&self) -> Result<(), String> {
        let met = self.run();
        if !met.result.iter().all(|result| matches!(result, Err(Error::Stock(_)))) {
            return Err(format!("a retry ends as {:?}", met.result));
        }
        for party in [Party::Garbler, Party::Evaluator] {
            if !self.is_burned(party)? {
                return Err(format!("not everything of the {party:?} is burned"));
            }
        }
        Ok(())
    }

    /// Returns whether none of a party's stock is burned.
    fn is_whole(&self, party: Party) -> Result<bool, String> {
        let store = self.open(party).map_err(|e| e.to_string())?;
        let epochs = store.epochs().map_err(|e| e.to_string())?;
        Ok(!epochs.is_empty()
            && epochs.iter().all(|(id, _)| {
                store.state(id).is_ok_and(|state| state.burned().is_none()) && store.secrets(id).is_ok()
            }))
    }

    /// Checks that both logs are equal and have at least this many runs, and that no item is in two runs.
    fn agree(&self, least: usize) -> Result<(), String> {
        let [mine, theirs] = self.logs()?;
        let used = mine.iter().filter(|entry| matches!(entry, EpochEntry::Use { .. })).count();
        (mine == theirs && used >= least)
            .then_some(())
            .ok_or_else(|| format!("{used} runs; the logs say {mine:?} and {theirs:?}"))
    }
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a file");
        }
    }
}

fn request(runs: usize) -> Request {
    let one = Request::of(&PROGRAM);
    Request {
        components: one
            .components
            .iter()
            .map(|(component, slots)| (component.clone(), runs * slots))
            .collect(),
        garbler_wires: runs * one.garbler_wires,
        ots: Some(runs * PROGRAM.input_width(Party::Evaluator)),
    }
}

/// Returns the other party.
fn other(party: Party) -> Party {
    if party == Party::Garbler { Party::Evaluator } else { Party::Garbler }
}

/// Returns the ends of both parties, of which one has this change.
fn only(party: Party, side: PartyLies) -> [PartyLies; 2] {
    let mut sides = [PartyLies::default(), PartyLies::default()];
    sides[party as usize] = side;
    sides
}

/// Returns messages as an observer sees them. The lengths of messages about logs are left out, because they
/// vary.
fn outside(sent: &[Sent]) -> Vec<Sent> {
    sent.iter().map(|&(tag, length)| (tag, if tag == msg::STANDINGS { 0 } else { length })).collect()
}

/// Returns the ending for a party. It checks that the party's messages are the first ones of an honest party,
/// and not all of them if it noticed a cheat.
fn ending(met: &ConnectionResult, party: Party, what: StoreAction) -> Result<Ending, String> {
    let (sent, honest) =
        (outside(&met.sent[party as usize]), outside(&HONEST[what as usize].sent[party as usize]));
    if !honest.starts_with(&sent) {
        return Err(format!("the {party:?} sent something that an honest party does not send: {sent:?}"));
    }
    let ending = match &met.result[party as usize] {
        Ok(()) if met.recovered[party as usize].contains(&true) => Ending::Recovered,
        Ok(()) => Ending::Survived,
        Err(Error::Peer(cheat)) => Ending::Caught(*cheat),
        Err(Error::Mismatch(_)) => Ending::Refused,
        Err(Error::Stock(_) | Error::Strangers(_)) => Ending::Stopped,
        Err(Error::Io(_)) => Ending::Gone,
        Err(other) => return Err(format!("the {party:?} ends with {other}")),
    };
    // Rule (b) then follows.
    let not_all = sent.len() < honest.len();
    let outputs =
        |party: Party| met.sent[party as usize].last().is_some_and(|(tag, _)| *tag == msg::OUTPUT_LABELS);
    let holds = match (party, ending) {
        (_, Ending::Survived | Ending::Recovered) => !not_all,
        // While stock is made, each party sends its last message before the other's arrives. This message
        // depends on no secret.
        (_, Ending::Gone) if what.makes().is_some() => true,
        (Party::Evaluator, _) => not_all && !outputs(party),
        // The garbler sends its last message before the evaluator's last message arrives.
        (Party::Garbler, Ending::Gone) => true,
        (Party::Garbler, Ending::Caught(cheat)) => {
            not_all || outputs(Party::Evaluator) && Duplo::fails_last(cheat)
        }
        (Party::Garbler, _) => not_all,
    };
    if holds {
        Ok(ending)
    } else {
        Err(format!("{ending:?}: the {party:?} sent {} of {} messages", sent.len(), honest.len()))
    }
}

/// Checks a required condition.
fn must(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

/// Checks that a party sent only messages about the state of its store.
fn only_talk(met: &ConnectionResult, party: Party) -> Result<(), String> {
    let met_there = [HELLO, msg::DECOMPOSITION, msg::PAIR, msg::STANDINGS, msg::STAND];
    let talk = [&met_there[..], &[NEXT, msg::INTENT, msg::DAMAGED]].concat();
    must(
        met.sent[party as usize].iter().all(|(tag, _)| talk.contains(tag)),
        "something was sent that depends on stock",
    )
}

#[cfg(test)]
mod tests {
    use brickwork::duplo::Cheat;

    use super::*;

    /// The checks must fail for runs that break the rules.
    #[test]
    fn who_says_too_much_is_told() {
        let lie = || PartyLies::lies(Point::ProgramSolderings(0), |solderings| solderings[3] ^= 4);
        let mut met = PartyFolders::filled().connect(StoreAction::Run, only(Party::Garbler, lie()));
        assert_eq!(ending(&met, Party::Evaluator, StoreAction::Run), Ok(Ending::caught(Cheat::Opening)));
        met.sent[1] = HONEST[StoreAction::Run as usize].sent[1].clone();
        assert!(ending(&met, Party::Evaluator, StoreAction::Run).is_err());
        met.sent[1] = vec![(msg::STAND, 0)];
        assert!(ending(&met, Party::Evaluator, StoreAction::Run).is_err());
        // The garbler has sent all its messages before it sees the forged outputs. This is allowed only in
        // this case.
        let lie = || PartyLies::lies(Point::OutputLabels, |message| message[3] ^= 4);
        let mut met = PartyFolders::filled().connect(StoreAction::Run, only(Party::Evaluator, lie()));
        assert_eq!(ending(&met, Party::Garbler, StoreAction::Run), Ok(Ending::caught(Cheat::ForgedOutput)));
        met.result[0] = Err(Cheat::OtBinding.into());
        assert!(ending(&met, Party::Garbler, StoreAction::Run).is_err());
        met.result[0] = Err(Cheat::UnexpectedMessage.into());
        assert!(ending(&met, Party::Garbler, StoreAction::Run).is_ok());
        let _ = met.sent[1].pop();
        assert!(ending(&met, Party::Garbler, StoreAction::Run).is_err());
    }
}
