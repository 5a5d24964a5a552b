//! Sessions whose stock lies on disk: two real stores in a temporary folder, and what is done to them, to the line between
//! them, or by one of the parties.
//!
//! A play ends as it must only if all of this held: the honest party ended with a typed error, it had sent the beginning
//! of what an honest party sends, and what the cheat was about is burned at both parties, so that a retry is refused.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use brickwork::circuit::{Party, Program};
use brickwork::duplo::adversary::harness::{self, Ending, SEED, chosen, stock_cut, toy};
use brickwork::duplo::adversary::{Hooks, Point, stocked};
use brickwork::duplo::{Lacking, Request, msg};
use brickwork::random::Rng;
use brickwork::session::msg::{DECOMPOSITION, HELLO, NEXT};
use brickwork::session::{TABLE_MEMORY, Terms, Unobserved};
use brickwork::stock::{Change, Entry, Faults, NoFaults, Store, StoreKey};
use brickwork::wire::{Channel, Stream, Tag};
use brickwork::{Cheat, Error};
use tempfile::TempDir;

const KEY: StoreKey = StoreKey::from_bytes([7; 32]);

const TERMS: Terms = Terms { security: 40, threads: 1, table_memory: TABLE_MEMORY, identities: [[1; 32], [2; 32]] };

/// How often the program can be run on the stock.
pub const RUNS: usize = 2;

static PROGRAM: LazyLock<Arc<Program>> = LazyLock::new(toy);

/// Both parties' stores, filled for [`RUNS`] runs.
static FILLED: LazyLock<Stores> = LazyLock::new(|| {
    let stores = Stores::empty();
    stores.connect(What::Fill, Default::default()).result.into_iter().for_each(|result| result.expect("honest parties make stock"));
    stores
});

/// What honest parties send and receive.
static HONEST: LazyLock<[Met; 4]> =
    LazyLock::new(|| [What::Fill, What::Run, What::More, What::Runs].map(|what| what.begin().connect(what, Default::default())));

/// What both parties want of a connection.
#[derive(Clone, Copy, PartialEq)]
pub enum What {
    /// Make stock for [`RUNS`] runs.
    Fill = 0,
    /// Run the program from stock.
    Run = 1,
    /// Make more stock, with the secrets of what there is.
    More = 2,
    /// Run the program [`RUNS`] times.
    Runs = 3,
}

impl What {
    /// What there is before.
    fn begin(self) -> Stores {
        if self == What::Fill { Stores::empty() } else { Stores::filled() }
    }

    fn makes(self) -> bool {
        matches!(self, What::Fill | What::More)
    }
}

/// The tag and the length of a message.
type Sent = (Tag, usize);

/// Alters a party's state at a point.
type Lie = (Point, Box<dyn FnMut(&mut [u8]) + Send + Sync>);
/// Rewrites a party's `n`th message of a tag.
type Rewrite = (Tag, usize, Box<dyn FnMut(&mut Vec<u8>) + Send>);

/// One end of a connection.
pub struct Side {
    lies: Vec<Lie>,
    rewrite: Option<Rewrite>,
    faults: Arc<dyn Faults>,
    /// Bytes that this party receives before the line is cut.
    line: usize,
}

impl Default for Side {
    fn default() -> Self {
        Side { lies: Vec::new(), rewrite: None, faults: Arc::new(NoFaults), line: usize::MAX }
    }
}

impl Side {
    /// It alters its state.
    pub fn lies(point: Point, lie: impl FnMut(&mut [u8]) + Send + Sync + 'static) -> Side {
        Side { lies: vec![(point, Box::new(lie))], ..Side::default() }
    }

    /// It alters its `nth` message of this tag.
    pub fn rewrites(tag: Tag, nth: usize, rewrite: impl FnMut(&mut Vec<u8>) + Send + 'static) -> Side {
        Side { rewrite: Some((tag, nth, Box::new(rewrite))), ..Side::default() }
    }

    /// Its disk fails.
    pub fn fails(faults: Arc<dyn Faults>) -> Side {
        Side { faults, ..Side::default() }
    }

    /// Its line is cut after so many bytes.
    pub fn cut(line: usize) -> Side {
        Side { line, ..Side::default() }
    }
}

/// A disk on which one change fails, and all that follow if the world ends there.
#[derive(Debug)]
pub struct Failing {
    at: usize,
    /// Whether it is over then.
    ends: bool,
    /// Bytes of the failing write that arrive.
    some: usize,
    seen: AtomicUsize,
}

impl Failing {
    /// The change number `at` fails, after `some` bytes of it.
    pub fn once(at: usize, some: usize) -> Arc<Self> {
        Arc::new(Failing { at, ends: false, some, seen: AtomicUsize::new(0) })
    }

    /// From change number `at` on nothing arrives: the process was killed.
    pub fn killed(at: usize, some: usize) -> Arc<Self> {
        Arc::new(Failing { at, ends: true, some, seen: AtomicUsize::new(0) })
    }

    /// Changes so far.
    fn seen(&self) -> usize {
        self.seen.load(Ordering::Relaxed)
    }
}

impl Faults for Failing {
    fn before(&self, _: Change) -> Result<(), (usize, io::Error)> {
        let now = self.seen.fetch_add(1, Ordering::Relaxed);
        if now < self.at || now > self.at && !self.ends {
            return Ok(());
        }
        Err((if now == self.at { self.some } else { 0 }, io::Error::from(io::ErrorKind::StorageFull)))
    }
}

/// A socket that ends after so many bytes.
struct Line {
    socket: UnixStream,
    left: usize,
    read: Arc<AtomicUsize>,
    /// Where the peer's segments lie, and how many there were when it was found to have closed the line.
    peer: PathBuf,
    found: Arc<Mutex<Option<usize>>>,
}

impl Line {
    fn closed(&self) {
        let count = || std::fs::read_dir(&self.peer).map_or(0, Iterator::count);
        self.found.lock().expect("no panic").get_or_insert_with(count);
    }
}

impl Read for Line {
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

impl Write for Line {
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

impl Stream for Line {}

/// How a play ended, or what did not hold.
pub type Played = Result<Ending, String>;

/// What became of a connection.
pub struct Met {
    /// By party.
    pub result: [Result<(), Error>; 2],
    /// The tags and lengths of what a party sent.
    pub sent: [Vec<Sent>; 2],
    /// Bytes that a party received.
    pub read: [usize; 2],
    /// For each run whether a party had to recover its outputs.
    pub recovered: [Vec<bool>; 2],
    /// Of a party that found the line closed: how many segments the other one had then.
    pub found: [Option<usize>; 2],
}

/// The folders of both parties.
pub struct Stores(TempDir);

impl Stores {
    /// With nothing in them.
    pub fn empty() -> Self {
        Stores(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Filled for [`RUNS`] runs.
    pub fn filled() -> Self {
        FILLED.copy()
    }

    fn copy(&self) -> Self {
        let copy = Stores::empty();
        copy_folder(self.0.path(), copy.0.path());
        copy
    }

    /// A party's folder.
    pub fn of(&self, party: Party) -> PathBuf {
        self.0.path().join(format!("{party:?}"))
    }

    /// Brings a party's folder back as it was there.
    pub fn restore(&self, party: Party, from: &Stores) {
        std::fs::remove_dir_all(self.of(party)).expect("a folder");
        copy_folder(&from.of(party), &self.of(party));
    }

    /// A party's store.
    ///
    /// # Errors
    /// If it is refused.
    pub fn open(&self, party: Party) -> Result<Store, Error> {
        Store::open(&self.of(party), &KEY)
    }

    /// The segments of a party.
    pub fn segments(&self, party: Party) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.of(party).join("segments")).expect("a folder");
        let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
        files.sort();
        files
    }

    /// Both parties' logs, their own notes left out, of the one epoch that there is.
    fn logs(&self) -> Result<[Vec<Entry>; 2], String> {
        let log = |party| -> Result<Vec<Entry>, Error> {
            let store = self.open(party)?;
            let mut entries = Vec::new();
            for (id, _) in store.epochs()? {
                entries.extend(store.log(&id)?.into_iter().filter(|e| matches!(e, Entry::Fill(_) | Entry::Made | Entry::Use { .. })));
            }
            Ok(entries)
        };
        Ok([log(Party::Garbler).map_err(|e| e.to_string())?, log(Party::Evaluator).map_err(|e| e.to_string())?])
    }

    /// Whether all that a party has is burned: its secrets and its segments are gone.
    fn is_burned(&self, party: Party) -> Result<bool, String> {
        let segments = self.segments(party).len();
        let store = self.open(party).map_err(|e| e.to_string())?;
        let epochs = store.epochs().map_err(|e| e.to_string())?;
        let burned = |id| store.state(id).is_ok_and(|state| state.burned().is_some()) && store.secrets(id).is_err();
        Ok(!epochs.is_empty() && segments == 0 && epochs.iter().all(|(id, _)| burned(id)))
    }

    /// Connects both. Whoever gets outputs, gets the right ones.
    pub fn connect(&self, what: What, [garbler, evaluator]: [Side; 2]) -> Met {
        let (a, b) = UnixStream::pair().expect("a pair of sockets");
        let sent: [Arc<Mutex<Vec<Sent>>>; 2] = Default::default();
        let read: [Arc<AtomicUsize>; 2] = Default::default();
        let found: [Arc<Mutex<Option<usize>>>; 2] = Default::default();
        let recovered: [Mutex<Vec<bool>>; 2] = Default::default();
        let mut rng = Rng::new("inputs").expect("randomness");
        let inputs =
            [Party::Garbler, Party::Evaluator].map(|party| (0..PROGRAM.input_width(party)).map(|_| rng.below(2) == 1).collect::<Vec<_>>());
        let expected = PROGRAM.simulate(&inputs[0], &inputs[1]);
        let one = |party: Party, socket: UnixStream, side: Side| {
            socket.set_read_timeout(Some(Duration::from_secs(50))).expect("a timeout");
            let (read, found) = (read[party as usize].clone(), found[party as usize].clone());
            let line = Line { socket, left: side.line, read, peer: self.of(other(party)).join("segments"), found };
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
            // Who does not lie does not make lists otherwise than it would.
            let alter = (!lies.is_empty()).then(|| -> brickwork::duplo::adversary::StateHook {
                Box::new(move |point, bytes| lies.iter_mut().filter(|(at, _)| *at == point).for_each(|(_, lie)| lie(bytes)))
            });
            let hooks = Hooks { alter, ..Hooks::default() };
            let (mut store, mut observer) = (Store::open_with(&self.of(party), &KEY, side.faults)?, Unobserved);
            let mut session = stocked(party, channel, &mut store, &TERMS, &mut observer, hooks)?;
            if what.makes() {
                let runs = if what == What::Fill { RUNS } else { 1 };
                return session.preprocess(&[request(runs)])?.1.close().map(drop);
            }
            for _ in 0..if what == What::Runs { RUNS } else { 1 } {
                let done;
                (done, session) = session.run(&PROGRAM, &inputs[party as usize], Lacking::Refuse)?;
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
        let (read, found) = (read.map(|read| read.load(Ordering::Relaxed)), found.map(|found| *found.lock().expect("no panic")));
        Met { result, sent, read, recovered, found }
    }

    /// An honest run.
    fn run(&self) -> Met {
        self.connect(What::Run, Default::default())
    }

    /// An honest run must succeed.
    fn works(&self) -> Result<(), String> {
        let met = self.run();
        met.result.iter().all(Result::is_ok).then_some(()).ok_or_else(|| format!("an honest run ends as {:?}", met.result))
    }

    /// An honest run must be refused by both stores, which leaves everything burned.
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

    /// Both logs tell of as many runs, and what one of them took no other did.
    fn agree(&self, least: usize) -> Result<(), String> {
        let [mine, theirs] = self.logs()?;
        let used = mine.iter().filter(|entry| matches!(entry, Entry::Use { .. })).count();
        (mine == theirs && used >= least).then_some(()).ok_or_else(|| format!("{used} runs; the logs say {mine:?} and {theirs:?}"))
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
        components: one.components.iter().map(|(component, slots)| (component.clone(), runs * slots)).collect(),
        garbler_wires: runs * one.garbler_wires,
        ots: Some(runs * PROGRAM.input_width(Party::Evaluator)),
    }
}

/// The other party.
fn other(party: Party) -> Party {
    if party == Party::Garbler { Party::Evaluator } else { Party::Garbler }
}

/// Both sides, one of which does this.
fn only(party: Party, side: Side) -> [Side; 2] {
    let mut sides = [Side::default(), Side::default()];
    sides[party as usize] = side;
    sides
}

/// What messages look like from outside. Where a party's logs stand it says in as many bytes as it takes.
fn outside(sent: &[Sent]) -> Vec<Sent> {
    sent.iter().map(|&(tag, length)| (tag, if tag == msg::STANDINGS { 0 } else { length })).collect()
}

/// How it ended for a party, which must have sent the beginning of what an honest one sends, and not all of it if it noticed something.
fn ending(met: &Met, party: Party, what: What) -> Result<Ending, String> {
    let (sent, honest) = (outside(&met.sent[party as usize]), outside(&HONEST[what as usize].sent[party as usize]));
    if !honest.starts_with(&sent) {
        return Err(format!("the {party:?} sent what an honest party does not: {sent:?}"));
    }
    let ending = match &met.result[party as usize] {
        Ok(()) if met.recovered[party as usize].contains(&true) => Ending::Recovered,
        Ok(()) => Ending::Survived,
        Err(Error::Peer(cheat)) => Ending::Caught(*cheat),
        Err(Error::Mismatch(_)) => Ending::Refused,
        Err(Error::Stock(_)) => Ending::Stopped,
        Err(Error::Io(_)) => Ending::Gone,
        Err(other) => return Err(format!("the {party:?} ends with {other}")),
    };
    // Rule (b).
    let not_all = sent.len() < honest.len();
    let outputs = |party: Party| met.sent[party as usize].last().is_some_and(|(tag, _)| *tag == msg::OUTPUT_LABELS);
    let holds = match (party, ending) {
        (_, Ending::Survived | Ending::Recovered) => !not_all,
        // What both say last when stock is made leaves before the other's comes, and depends on nothing.
        (_, Ending::Gone) if what.makes() => true,
        (Party::Evaluator, _) => not_all && !outputs(party),
        // The garbler's last message leaves before the evaluator's comes.
        (Party::Garbler, Ending::Gone) => true,
        (Party::Garbler, Ending::Caught(Cheat::ForgedOutput | Cheat::UnexpectedMessage)) => not_all || outputs(Party::Evaluator),
        (Party::Garbler, _) => not_all,
    };
    if holds { Ok(ending) } else { Err(format!("{ending:?}: the {party:?} sent {} of {} messages", sent.len(), honest.len())) }
}

/// What must hold.
fn must(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

/// Nothing but talk about where the stores stand was sent.
fn only_talk(met: &Met, party: Party) -> Result<(), String> {
    let talk = [HELLO, DECOMPOSITION, msg::STANDINGS, msg::STAND, NEXT, msg::PLAN];
    must(met.sent[party as usize].iter().all(|(tag, _)| talk.contains(tag)), "something was sent that depends on stock")
}

/// Rule (d): a cheat in a run or a filling is seen, and what was made with the same secrets is burned at both parties.
pub fn burns(what: What, cheater: Party, side: Side) -> Played {
    let stores = what.begin();
    let met = stores.connect(what, only(cheater, side));
    burned(&stores, &met, what, cheater)
}

/// The same of a cheat that shows later, in an honest run: a bucket of only bad copies.
pub fn whole_bucket_burns() -> Played {
    static STOCK: LazyLock<Stores> = LazyLock::new(|| badly_made(&[(0, 0, usize::MAX, 99)]));
    let stores = STOCK.copy();
    let met = stores.run();
    burned(&stores, &met, What::Run, Party::Garbler)
}

fn burned(stores: &Stores, met: &Met, what: What, cheater: Party) -> Played {
    let ending = ending(met, other(cheater), what)?;
    must(matches!(met.result[cheater as usize], Ok(()) | Err(Error::Io(_))), "the cheater was told something")?;
    // Who sees the line closed sees nothing left to steal. An evaluator may have said its last word and not have waited.
    let found = met.found[cheater as usize];
    must(found == Some(0) || cheater == Party::Evaluator && found.is_none(), "the line was closed before all was burned")?;
    must(stores.is_burned(other(cheater))?, "not burned")?;
    stores.is_refused()?;
    Ok(ending)
}

/// Before both have an epoch there is nothing to burn: a retry begins with other secrets.
pub fn nothing_to_burn(cheater: Party, side: Side) -> Played {
    let stores = Stores::empty();
    let met = stores.connect(What::Fill, only(cheater, side));
    let ending = ending(&met, other(cheater), What::Fill)?;
    must(matches!(met.result[cheater as usize], Ok(()) | Err(Error::Io(_))), "the cheater was told something")?;
    let epochs = stores.open(other(cheater)).and_then(|store| store.epochs()).map_err(|e| e.to_string())?;
    must(epochs.is_empty(), "an epoch of what was broken off")?;
    goes_on(&stores, What::Fill)?;
    Ok(ending)
}

/// Stock of a garbler that knew the challenge: of a component and a bucket so many copies commit to a first output that is off in this bit.
fn badly_made(bad: &[(usize, usize, usize, usize)]) -> Stores {
    let lie = |&(component, bucket, copies, bit): &(usize, usize, usize, usize)| -> Lie {
        let cut = stock_cut(&request(RUNS), component);
        let size = cut.bucket as usize;
        let copies = &chosen(cut)[bucket * size..][..copies.min(size)];
        // Components have two outputs.
        (Point::CommittedOutputs(component), Box::new(harness::flips(copies.iter().map(|copy| 2 * copy).collect(), bit)))
    };
    let garbler = Side { lies: bad.iter().map(lie).collect(), ..Side::default() };
    let stores = Stores::empty();
    let met = stores.connect(What::Fill, [garbler, Side::lies(Point::Challenge, |seeds| seeds.fill(SEED))]);
    met.result.into_iter().for_each(|result| result.expect("nothing bad is opened"));
    stores
}

/// Rows 14 and 28: in the first of several runs a copy says the opposite, and in another component's bucket copies say nothing if
/// `and_none`. It is right, looks like nothing, and nothing is burned.
pub fn recovers(and_none: bool) -> Played {
    static STOCK: LazyLock<[Stores; 2]> = LazyLock::new(|| [badly_made(&[(0, 0, 1, 0)]), badly_made(&[(0, 0, 1, 0), (1, 1, 2, 30)])]);
    let stores = STOCK[usize::from(and_none)].copy();
    let met = stores.connect(What::Runs, Default::default());
    must(met.recovered == [vec![false; RUNS], vec![true, false]], "it was not the first run that was recovered")?;
    for party in [Party::Garbler, Party::Evaluator] {
        let honest = &HONEST[What::Runs as usize].sent[party as usize];
        must(met.sent[party as usize] == *honest, "it looks like something")?;
        let burned = || {
            let store = stores.open(party)?;
            let mut epochs = store.epochs()?.into_iter();
            epochs.try_fold(false, |any, (id, _)| Ok::<_, Error>(any || store.state(&id)?.burned().is_some()))
        };
        must(!burned().map_err(|e| e.to_string())?, "an epoch is burned")?;
    }
    stores.agree(RUNS)?;
    ending(&met, Party::Evaluator, What::Runs)
}

/// Row 16: a party names other items of the stock than those that come next.
pub fn names_other_items(cheater: Party) -> Played {
    let stores = Stores::filled();
    let met = stores.connect(What::Run, only(cheater, Side::rewrites(msg::PLAN, 0, |plan| plan[7] ^= 1)));
    only_talk(&met, other(cheater))?;
    stores.works()?;
    stores.agree(1)?;
    ending(&met, other(cheater), What::Run)
}

/// Row 16: one run more than there is stock for.
pub fn used_up(party: Party) -> Played {
    let stores = Stores::filled();
    (0..RUNS).try_for_each(|_| stores.works())?;
    let met = stores.run();
    only_talk(&met, party)?;
    ending(&met, party, What::Run)
}

/// Row 20: the line is cut at any byte that a party receives; afterwards both go on, and nothing is used twice.
pub fn cut(what: What, party: Party, rng: &mut Rng) -> Played {
    let stores = what.begin();
    let at = rng.below(HONEST[what as usize].read[party as usize] as u64) as usize;
    let met = stores.connect(what, only(party, Side::cut(at)));
    goes_on(&stores, what)?;
    ending(&met, party, what)
}

/// Row 21: a party is killed at any change of its disk, any part of which may have arrived; afterwards both go on.
pub fn killed(what: What, party: Party, rng: &mut Rng) -> Played {
    let never = Failing::killed(usize::MAX, 0);
    drop(what.begin().connect(what, only(party, Side::fails(never.clone()))));
    let (at, some) = (rng.below(never.seen() as u64) as usize, [0, 100, usize::MAX][rng.below(3) as usize]);
    let stores = what.begin();
    drop(stores.connect(what, only(party, Side::fails(Failing::killed(at, some)))));
    goes_on(&stores, what)?;
    Ok(Ending::Survived)
}

/// What was broken off is given up or was finished; the next connection has what it needs, and both logs tell the same.
fn goes_on(stores: &Stores, what: What) -> Result<(), String> {
    if what == What::Fill {
        let met = stores.connect(what, Default::default());
        must(met.result.iter().all(Result::is_ok), "stock cannot be made afterwards")?;
    }
    stores.works()?;
    stores.agree(1)?;
    for party in [Party::Garbler, Party::Evaluator] {
        let verified = stores.open(party).and_then(|store| store.verify());
        must(verified.is_ok(), "a store is damaged")?;
    }
    Ok(())
}

/// Row 22: a change of the disk fails before a program has its items. The store says so, gives nothing until it is opened
/// anew, and then the items are fresh or burned.
pub fn disk_fails(party: Party, rng: &mut Rng) -> Played {
    let stores = Stores::filled();
    let opened = Failing::once(usize::MAX, 0);
    drop(Store::open_with(&stores.of(party), &KEY, opened.clone()).map_err(|e| e.to_string())?);
    let take = |store: &mut Store| -> Result<(), Error> {
        let (id, _) = store.epochs()?[0];
        let taken = store.batches(&id)?.iter().map(|batch| (batch.serial, 1)).collect();
        store.append(&id, &Entry::Use { program: [9; 32], taken }).map(drop)
    };
    let counted = Failing::once(usize::MAX, 0);
    let mut store = Store::open_with(&stores.copy().of(party), &KEY, counted.clone()).map_err(|e| e.to_string())?;
    let before = counted.seen();
    take(&mut store).map_err(|e| e.to_string())?;
    let changes = counted.seen() - before;
    let (at, some) = (before + rng.below(changes as u64) as usize, rng.below(200) as usize);
    let mut store = Store::open_with(&stores.of(party), &KEY, Failing::once(at, some)).map_err(|e| e.to_string())?;
    must(matches!(take(&mut store), Err(Error::Stock(_))), "a failing disk was not noticed")?;
    must(matches!(take(&mut store), Err(Error::Stock(why)) if why.contains("opened anew")), "the store went on")?;
    drop(store);
    let store = stores.open(party).map_err(|e| e.to_string())?;
    let (id, _) = store.epochs().map_err(|e| e.to_string())?[0];
    let state = store.state(&id).map_err(|e| e.to_string())?;
    let gone: Vec<u64> = store.batches(&id).map_err(|e| e.to_string())?.iter().map(|batch| state.gone(batch.serial)).collect();
    must(gone.iter().all(|n| *n == gone[0] && *n <= 1), "an item is neither fresh nor burned")?;
    Ok(Ending::Stopped)
}

/// Row 23: what somebody does to the files of a party's stock.
#[derive(Clone, Copy)]
pub enum Damage {
    /// A bit of each file is flipped, anywhere.
    Flip,
    /// A file is a byte shorter.
    Cut,
    /// Two files change places.
    Swap,
}

/// Row 23: damage is found by whoever looks, and by a run that needs what was damaged.
pub fn damaged(damage: Damage, party: Party, rng: &mut Rng) -> Played {
    let stores = Stores::filled();
    let segments = stores.segments(party);
    match damage {
        Damage::Flip => segments.iter().for_each(|path| {
            let mut bytes = std::fs::read(path).expect("a segment");
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << rng.below(8);
            std::fs::write(path, bytes).expect("a segment");
        }),
        Damage::Cut => {
            let path = &segments[rng.below(segments.len() as u64) as usize];
            let bytes = std::fs::read(path).expect("a segment");
            std::fs::write(path, &bytes[..bytes.len() - 1]).expect("a segment");
        }
        Damage::Swap => {
            let [a, b] = [&segments[0], &segments[1]].map(|path| std::fs::read(path).expect("a segment"));
            std::fs::write(&segments[0], b).expect("a segment");
            std::fs::write(&segments[1], a).expect("a segment");
        }
    }
    let verified = stores.open(party).and_then(|store| store.verify());
    must(matches!(verified, Err(Error::Stock(_))), "damage was not found")?;
    let met = stores.run();
    only_talk(&met, party)?;
    ending(&met, party, What::Run)
}

/// Row 24: a second process opens a store.
pub fn second_process(party: Party) -> Played {
    let stores = Stores::filled();
    let first = stores.open(party).map_err(|e| e.to_string())?;
    let second = stores.open(party);
    drop(first);
    match second {
        Err(Error::Stock(why)) if why.contains("in use") => Ok(Ending::Stopped),
        _ => Err("a second process has it".into()),
    }
}

/// Rows 24 and 25: a party goes on with a copy of its folder that was made before the last runs.
pub fn old_copy(party: Party, runs: usize) -> Played {
    let stores = Stores::filled();
    let copy = stores.copy();
    (0..runs).try_for_each(|_| stores.works())?;
    stores.restore(party, &copy);
    // The other one has burned what is used up of itself; it knows all the same.
    let met = stores.run();
    only_talk(&met, Party::Garbler)?;
    only_talk(&met, Party::Evaluator)?;
    must(met.result.iter().all(|result| matches!(result, Err(Error::Stock(_)))), "an old copy was taken")?;
    must(stores.is_burned(party)?, "the old copy is not burned")?;
    ending(&met, other(party), What::Run)
}

/// Row 25: a party lies about where its log stands.
pub fn lies_about_its_log(cheater: Party) -> Played {
    let stores = Stores::filled();
    // Behind the number of epochs and the first one's identifier stands the head of its log.
    let met = stores.connect(What::Run, only(cheater, Side::rewrites(msg::STANDINGS, 0, |bytes| bytes[40] ^= 1)));
    only_talk(&met, other(cheater))?;
    must(stores.is_burned(other(cheater))?, "not burned")?;
    stores.is_refused()?;
    ending(&met, other(cheater), What::Run)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules that no play breaks are seen to be broken.
    #[test]
    fn who_says_too_much_is_told() {
        let lie = || Side::lies(Point::Joints(0), |solderings| solderings[3] ^= 4);
        let mut met = Stores::filled().connect(What::Run, only(Party::Garbler, lie()));
        assert_eq!(ending(&met, Party::Evaluator, What::Run), Ok(Ending::Caught(Cheat::Opening)));
        met.sent[1] = HONEST[What::Run as usize].sent[1].clone();
        assert!(ending(&met, Party::Evaluator, What::Run).is_err());
        met.sent[1] = vec![(msg::STAND, 0)];
        assert!(ending(&met, Party::Evaluator, What::Run).is_err());
        // The garbler says all before it sees forged outputs, and only then.
        let lie = || Side::lies(Point::OutputLabels, |message| message[3] ^= 4);
        let mut met = Stores::filled().connect(What::Run, only(Party::Evaluator, lie()));
        assert_eq!(ending(&met, Party::Garbler, What::Run), Ok(Ending::Caught(Cheat::ForgedOutput)));
        met.result[0] = Err(Cheat::OtBinding.into());
        assert!(ending(&met, Party::Garbler, What::Run).is_err());
        met.result[0] = Err(Cheat::UnexpectedMessage.into());
        assert!(ending(&met, Party::Garbler, What::Run).is_ok());
        let _ = met.sent[1].pop();
        assert!(ending(&met, Party::Garbler, What::Run).is_err());
    }

    /// Who leaves without having burned anything leaves something to be found.
    #[test]
    fn what_is_not_burned_is_found() {
        let stores = Stores::filled();
        let segments = stores.segments(Party::Garbler).len();
        let met = stores.connect(What::Run, only(Party::Garbler, Side::cut(HONEST[What::Run as usize].read[0] / 2)));
        assert!(segments > 0 && met.found == [None, Some(segments)], "{:?} of {segments}", met.found);
        assert!(burned(&stores, &met, What::Run, Party::Evaluator).is_err_and(|why| why.contains("before all was burned")));
    }
}
