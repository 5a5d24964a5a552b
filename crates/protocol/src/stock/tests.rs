//! Tests stock with a toy protocol: both parties derive pads from a key of the session and a number, and each
//! pad hides one message. The toy protocol implements everything that a protocol must provide.
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use brickwork_testing::Replayable as _;
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::epochs::{Epochs, digest};
use super::fill::job_digest;
use super::intent::Intent;
use super::records::{Batches, In, Keeper, NewItemsPlace, Out, Records, TakenItems};
use super::{
    Lacking, Preprocessed, PreprocessingStep, RunOutcome, Stand, StockProtocol, StockSession, Stocked,
};
use crate::tests::Empty;
use crate::{Metered, PROTOCOL_VERSION, SessionId, SessionProtocol as _, Terms, Unobserved};
use brickwork_base::random::Rng;
use brickwork_base::stop::Stop;
use brickwork_base::{Error, Malformed, Party, Security};
use brickwork_store::{
    Batch, Counted, Counter, Epoch, EpochEntry, EpochId, EpochSecrets, EpochState, FillStep,
    Range as Numbers, Ranges, SERIALS, Serial, Store, StoreKey, Writers,
};
use brickwork_wire::{Channel, FRAME_HEADER_BYTES, Stream, Tag, memory_pair};

pub(super) const KEY: StoreKey = StoreKey::from_bytes([7; 32]);
pub(super) const TERMS: Terms = Terms {
    security: Security::of(40),
    threads: 1,
    table_memory: 0,
    identities: [[1; 32], [2; 32]],
    post_quantum: false,
};

/// From both parties, at the same time: 32 random bytes.
const NONCE: Tag = Tag(100);
/// From both parties, at the same time: the first pad that is made.
const FIRST: Tag = Tag(101);
/// Garbler: its message, hidden by pads.
const HIDDEN: Tag = Tag(102);
/// From both parties, at the same time: all values of the step are fixed.
const FIXED: Tag = Tag(104);
/// Evaluator: the challenge, after which a cheating garbler would break off.
const CHALLENGE: Tag = Tag(103);

/// The counter of pads. Each number is used for one message only.
pub(super) const PADS: Counter = Counter::new("pads", 20);

/// The kind of the items of a batch.
const KIND: u8 = 7;

/// How a party behaves in a test: the point where it crashes, or its way to cheat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    Lives,
    DiesInSetup,
    DiesBeforeFilling,
    DiesBehindTheChallenge,
    DiesAfterFilling,
    DiesBeforeSending,
    DiesAfterSending,
    SendsTooMuch,
    /// The party makes the share of another worker.
    FillsAnother,
}

/// State that passes from session to session of a connection: the behaviour, and for each role all pads that
/// were used for a message.
#[derive(Clone, Copy)]
pub(crate) struct Carried {
    pub fate: Fate,
    pub sent: &'static Mutex<BTreeSet<[u8; 32]>>,
}

/// The pads of a batch, by their numbers.
struct Pads(Vec<u64>);

impl Records for Pads {
    type Context<'c> = ();

    fn count(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        out.pods(&self.0[items]);
        Ok(())
    }

    fn decode((): &(), count: usize, record: &mut In) -> Result<Self, Error> {
        Ok(Pads(record.pods(count)?))
    }
}

pub(crate) struct Asks(pub usize);

/// A number of pads that does not fit on the evaluator's disk.
const TOO_LARGE: usize = 77;

impl PreprocessingStep for Asks {
    fn request(&self) -> [u8; 32] {
        digest("test request", &[&[self.0 as u8; 32]])
    }

    fn parameters(&self) -> [u8; 32] {
        [0; 32]
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn stored_bytes(&self, role: Party) -> u64 {
        if self.0 == TOO_LARGE && role == Party::Evaluator { u64::MAX } else { 0 }
    }

    fn encoded(&self) -> Result<Vec<u8>, Error> {
        Ok(vec![self.0 as u8])
    }
}

/// A party.
pub(super) struct Toy {
    run: Metered,
    id: SessionId,
    carried: Carried,
    pads: Numbers,
    serials: Numbers,
    made: Vec<u64>,
}

impl Toy {
    fn restored(run: Metered, id: SessionId, carried: Carried) -> Self {
        Toy { run, id, carried, pads: PADS.none(), serials: SERIALS.none(), made: Vec::new() }
    }

    fn dies(&self, here: Fate) -> Result<(), Error> {
        if self.carried.fate == here { Err(std::io::Error::other("dead").into()) } else { Ok(()) }
    }

    /// Exchanges messages with the other party.
    fn swap(&mut self, tag: Tag, bytes: &[u8]) -> Result<Vec<u8>, Error> {
        self.run.channel.send(tag, bytes)?;
        self.run.channel.receive(tag, bytes.len())
    }
}

impl StockProtocol for Empty {
    const AGREEMENT: &'static str = "run";
    type Carried = Carried;
    type FillStep<'s> = Asks;
    /// The execution is the garbler's message.
    type Execution<'j> = &'j [u8];
    type Outcome = Vec<u8>;
    type Kept = ();

    fn counted(_: Party) -> Counted {
        Counted::BrokenOffOrThrownAway
    }

    fn setup(run: Metered, _: &Terms, carried: Carried) -> Result<Box<dyn StockSession<Self>>, Error> {
        let mut nonce = [0; 32];
        Rng::replayable("test nonce").fill(&mut nonce);
        let mut ranges = Ranges::of_setup();
        let (pads, serials) = (ranges.take(&PADS)?, ranges.take(&SERIALS)?);
        let mut toy = Toy { pads, serials, ..Toy::restored(run, [0; 32], carried) };
        let theirs = toy.swap(NONCE, &nonce)?;
        let mut both = [nonce.to_vec(), theirs];
        both.sort();
        toy.id = blake3::derive_key("test session", &both.concat());
        toy.dies(Fate::DiesInSetup)?;
        Ok(Box::new(toy))
    }

    fn restore(
        run: Metered,
        _: &Terms,
        secrets: &EpochSecrets,
        carried: Carried,
    ) -> Result<Box<dyn StockSession<Self>>, Error> {
        let id = secrets.fixed[..].try_into().map_err(|_| Error::Stock("malformed".into()))?;
        Ok(Box::new(Toy::restored(run, id, carried)))
    }

    /// At most this many steps may be given up in an epoch.
    fn may_begin(state: &EpochState, _: &Terms) -> Result<bool, Error> {
        Ok(!state.is_used() && state.given_up().risk < 6)
    }

    fn fixed(_: &Terms) -> Result<u128, Error> {
        Ok(2)
    }

    fn early_risk(_: Party, _: &Terms) -> Result<u128, Error> {
        Ok(0)
    }

    fn program(job: &&[u8]) -> [u8; 32] {
        digest("test program", &[&[job.len() as u8; 32]])
    }

    fn needs(job: &&[u8]) -> String {
        format!("{} pads", job.len())
    }

    fn choose(job: &&[u8], batches: &Batches, _: &Terms) -> Result<Vec<(Serial, u32)>, Error> {
        let mut taken = Vec::new();
        // Pads that are already noted are not taken twice.
        let mut from = batches.take(KIND, &[0; 32], job.len().min(1), &mut taken)?;
        from.extend(batches.take(KIND, &[0; 32], job.len().saturating_sub(1), &mut taken)?);
        match taken.iter().map(|(_, count)| *count as usize).sum::<usize>() == job.len() && !from.is_empty() {
            true => Ok(taken),
            false => Err(Error::Stock("too few pads".into())),
        }
    }
}

impl StockSession<Empty> for Toy {
    fn secrets(&self) -> EpochSecrets {
        EpochSecrets::fixed(&self.id)
    }

    fn id(&self) -> &SessionId {
        &self.id
    }

    fn run(&mut self) -> &mut Metered {
        &mut self.run
    }

    fn release(self: Box<Self>) -> (Metered, Carried) {
        let Toy { run, carried, .. } = *self;
        (run, carried)
    }

    fn enter(&mut self, mut ranges: Ranges) -> Result<(), Error> {
        (self.pads, self.serials) = (ranges.take(&PADS)?, ranges.take(&SERIALS)?);
        Ok(())
    }

    fn risk(&self, _: &Asks) -> u128 {
        1
    }

    fn fill(&mut self, step: &Asks, _: Writers) -> Result<(), Error> {
        self.dies(Fate::DiesBeforeFilling)?;
        // When all values of the step are fixed, the evaluator sends the challenge.
        self.swap(FIXED, &[])?;
        if self.run.role == Party::Evaluator {
            self.run.expose()?;
            self.run.channel.send(CHALLENGE, &[])?;
            self.run.channel.flush()?;
        } else {
            self.run.channel.receive(CHALLENGE, 0)?;
            self.run.expose()?;
        }
        self.dies(Fate::DiesBehindTheChallenge)?;
        let mut first = self.pads.draw(step.0 as u64)?;
        if self.carried.fate == Fate::FillsAnother {
            first ^= 1 << 20;
        }
        if self.swap(FIRST, &first.to_le_bytes())? != first.to_le_bytes() {
            return Err(Malformed::UnexpectedMessage.into());
        }
        self.made = (first..first + step.0 as u64).collect();
        self.dies(Fate::DiesAfterFilling)
    }

    fn keep(&mut self, _: &Asks, keeper: &mut Keeper) -> Result<(), Error> {
        let batch = Batch { kind: KIND, name: "pads".into(), component: [0; 32], header: Vec::new() };
        keeper.put(self.serials.draw(1)?, &batch, Pads(std::mem::take(&mut self.made)))
    }

    fn take(&mut self, items: &TakenItems, job: &&[u8], stand: Stand) -> Result<Vec<u8>, Error> {
        stand.confirm(&mut self.run)?;
        let mut pads = Vec::new();
        items.each(|batch| {
            pads.extend(batch.assemble::<Pads>(&())?.0);
            Ok(())
        })?;
        let pads: Vec<[u8; 32]> = pads
            .iter()
            .map(|number| blake3::derive_key("test pad", &[&self.id[..], &number.to_le_bytes()].concat()))
            .collect();
        self.dies(Fate::DiesBeforeSending)?;
        if self.run.role == Party::Evaluator {
            let hidden = self.run.channel.receive(HIDDEN, job.len())?;
            return Ok(hidden.iter().zip(pads).map(|(byte, pad)| byte ^ pad[0]).collect());
        }
        let mut hidden: Vec<u8> = job.iter().zip(&pads).map(|(byte, pad)| byte ^ pad[0]).collect();
        if self.carried.fate == Fate::SendsTooMuch {
            hidden.push(0);
        }
        for pad in pads {
            assert!(self.carried.sent.lock().unwrap().insert(pad), "a pad hides two messages");
        }
        self.run.channel.send(HIDDEN, &hidden)?;
        self.run.channel.flush()?;
        self.dies(Fate::DiesAfterSending)?;
        Ok(job.to_vec())
    }
}

/// The purpose of a connection.
#[derive(Clone, Copy)]
pub(super) enum TestedAction<'w> {
    Fill(&'w [usize]),
    Run(&'w [u8], Lacking),
}

fn one(
    root: &Path,
    role: Party,
    channel: Channel,
    carried: Carried,
    what: TestedAction,
) -> Result<(Vec<u8>, Option<Preprocessed>), Error> {
    let store = Store::open(&root.join(format!("{role:?}")), &KEY)?;
    let observer = Box::new(Unobserved);
    let run = Metered::new::<Empty>(channel, role, observer);
    let mut line = Stocked::<Empty>::open(run, carried, &store, &TERMS, &[9; 32])?;
    let (done, line) = match what {
        TestedAction::Fill(steps) => {
            let epoch = line.open_epoch()?;
            let steps: Vec<Asks> = steps.iter().map(|&count| Asks(count)).collect();
            let (made, line) = line.fill(epoch, &steps)?;
            ((Vec::new(), Some(made)), line)
        }
        TestedAction::Run(message, lacking) => {
            let message = if role == Party::Garbler { message.to_vec() } else { vec![0; message.len()] };
            let job = &message[..];
            let ran = match line.run(&job, lacking)? {
                RunOutcome::Lacks { mut next, .. } => {
                    let epoch = next.open_epoch()?;
                    next.fill(epoch, &[Asks(job.len())])?.1.run(&job, Lacking::Refuse)?
                }
                done => done,
            };
            match ran {
                RunOutcome::Done { outcome, next, .. } => ((outcome, None), next),
                RunOutcome::Lacks { why, .. } => return Err(why),
            }
        }
    };
    line.close()?;
    Ok(done)
}

/// The two parties' folders, and all pads that were ever used.
pub(super) struct World {
    pub root: tempfile::TempDir,
    pub sent: &'static Mutex<BTreeSet<[u8; 32]>>,
}

type Done = Result<(Vec<u8>, Option<Preprocessed>), Error>;

impl World {
    pub fn new() -> Self {
        World { root: tempfile::tempdir().unwrap(), sent: Box::leak(Box::default()) }
    }

    fn connect(&self, fates: [Fate; 2], what: TestedAction) -> [Done; 2] {
        let (left, right) = memory_pair();
        let carried = fates.map(|fate| Carried { fate, sent: self.sent });
        std::thread::scope(|scope| {
            let garbler = scope.spawn(|| one(self.root.path(), Party::Garbler, left, carried[0], what));
            let evaluator = one(self.root.path(), Party::Evaluator, right, carried[1], what);
            [garbler.join().unwrap(), evaluator]
        })
    }

    fn good(&self, what: TestedAction) -> (Vec<u8>, Option<Preprocessed>) {
        let [garbler, evaluator] = self.connect([Fate::Lives; 2], what);
        let (garbler, evaluator) = (garbler.unwrap(), evaluator.unwrap());
        assert_eq!(garbler, evaluator);
        evaluator
    }

    /// Returns for each party and epoch, oldest first, why it is burned, and how much is left.
    fn left(&self) -> [Vec<(Option<String>, u64)>; 2] {
        [Party::Garbler, Party::Evaluator].map(|role| {
            let store = Store::open(&self.root.path().join(format!("{role:?}")), &KEY).unwrap();
            let of = |(id, _): (EpochId, Epoch)| {
                let left = store.batches(&id).unwrap().iter().map(|batch| batch.left).sum();
                (store.state(&id).unwrap().burned().map(str::to_owned), left)
            };
            store.epochs().unwrap().into_iter().map(of).collect()
        })
    }
}

/// Two parties with an open store each, and any number of connections between them at the same time.
pub(super) struct Together {
    pub world: World,
    pub stores: [Store; 2],
}

impl Together {
    /// Makes two parties with this many epochs of this many pads each.
    pub fn new(epochs: usize, pads: usize) -> Self {
        let world = World::new();
        let open = |role: Party| Store::open(&world.root.path().join(format!("{role:?}")), &KEY).unwrap();
        let stores = [Party::Garbler, Party::Evaluator].map(open);
        let both = Together { world, stores };
        for _ in 0..epochs {
            let (garbler, evaluator) = both.open([Fate::Lives; 2]);
            std::thread::scope(|scope| {
                let garbler = scope.spawn(|| garbler.fill(None, &[Asks(pads)]).map(drop));
                evaluator.fill(None, &[Asks(pads)]).unwrap();
                garbler.join().unwrap().unwrap();
            });
        }
        both
    }

    fn line(&self, role: Party, channel: Channel, fate: Fate) -> Result<Stocked<Empty>, Error> {
        let run = Metered::new::<Empty>(channel, role, Box::new(Unobserved));
        let carried = Carried { fate, sent: self.world.sent };
        Stocked::<Empty>::open(run, carried, &self.stores[role as usize], &TERMS, &[9; 32])
    }

    /// Opens a new connection and compares the stores; returns both parties' ends.
    pub fn open(&self, fates: [Fate; 2]) -> (Stocked<Empty>, Stocked<Empty>) {
        self.try_open(fates).unwrap()
    }

    pub fn try_open(&self, fates: [Fate; 2]) -> Result<(Stocked<Empty>, Stocked<Empty>), Error> {
        let (left, right) = memory_pair();
        std::thread::scope(|scope| {
            let garbler = scope.spawn(|| self.line(Party::Garbler, left, fates[0]));
            let evaluator = self.line(Party::Evaluator, right, fates[1]);
            Ok((garbler.join().unwrap()?, evaluator?))
        })
    }

    /// Returns for each epoch, oldest first, why it is burned, and how much is left.
    pub fn left(&self, role: usize) -> Vec<(Option<String>, u64)> {
        let store = &self.stores[role];
        let of = |(id, _): (EpochId, Epoch)| {
            let left = store.batches(&id).unwrap().iter().map(|batch| batch.left).sum();
            (store.state(&id).unwrap().burned().map(str::to_owned), left)
        };
        store.epochs().unwrap().into_iter().map(of).collect()
    }
}

/// Runs a program on an open connection. Returns the results of both parties, and the connections if it
/// succeeded.
#[allow(clippy::type_complexity)]
pub(super) fn runs(
    (garbler, evaluator): (Stocked<Empty>, Stocked<Empty>),
    message: &[u8],
    lacking: Lacking,
) -> [Result<(Vec<u8>, EpochId, Box<dyn std::any::Any + Send>), Error>; 2] {
    fn one(
        line: Stocked<Empty>,
        message: &[u8],
        lacking: Lacking,
    ) -> Result<(Vec<u8>, EpochId, Box<dyn std::any::Any + Send>), Error> {
        let ran = match line.run(&message, lacking)? {
            RunOutcome::Lacks { mut next, .. } => {
                let epoch = next.open_epoch()?;
                next.fill(epoch, &[Asks(message.len())])?.1.run(&message, Lacking::Refuse)?
            }
            done => done,
        };
        match ran {
            RunOutcome::Done { outcome, epoch, next } => Ok((outcome, epoch, Box::new(next))),
            RunOutcome::Lacks { why, .. } => Err(why),
        }
    }
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| one(garbler, message, lacking));
        let zeros = vec![0; message.len()];
        let evaluator = one(evaluator, &zeros, lacking);
        [garbler.join().unwrap(), evaluator]
    })
}

/// Rows 16 and 24 of the table of attacks: two connections between the same two stores are open at the same
/// time, and both list all epochs. Each uses another epoch. A third connection finds no free epoch. This
/// burns nothing, and the third session may make a new epoch. The epoch of a session is free again when the
/// session has ended.
#[test]
fn rows_16_and_24_sessions_at_once_are_in_epochs_of_their_own() {
    let both = Together::new(2, 6);
    let lines = [(); 3].map(|()| both.open([Fate::Lives; 2]));
    let [first, second, third] = lines;
    let first = runs(first, b"first", Lacking::Refuse).map(Result::unwrap);
    let second = runs(second, b"other", Lacking::Refuse).map(Result::unwrap);
    assert_eq!((&first[1].0[..], &second[1].0[..]), (&b"first"[..], &b"other"[..]));
    assert_eq!((first[0].1, second[0].1), (first[1].1, second[1].1));
    assert!(first[0].1 != second[0].1, "two sessions in one epoch");
    let refused = runs(third, b"x", Lacking::Refuse);
    assert!(
        refused.iter().all(|met| matches!(met, Err(Error::Busy(_)))),
        "a session took items from the \
        epoch of another session"
    );
    // A session that begins now finds no free epoch.
    let late = runs(both.open([Fate::Lives; 2]), b"x", Lacking::Refuse);
    let lacks = |met: &Result<_, _>| matches!(met, Err(Error::Stock(why)) if why.contains("another session"));
    assert!(late.iter().all(lacks), "a session took items from the epoch of another session");
    let made = runs(both.open([Fate::Lives; 2]), b"made", Lacking::Make).map(Result::unwrap);
    assert!(made[1].0 == b"made" && ![first[0].1, second[0].1].contains(&made[0].1));
    drop((first, second, made));
    let again = runs(both.open([Fate::Lives; 2]), b"x", Lacking::Refuse).map(Result::unwrap);
    assert_eq!(again[1].0, b"x");
    drop(again);
    assert_eq!(both.left(0), both.left(1));
    let innocent = |(burned, _): &(Option<String>, u64)| {
        burned.as_ref().is_none_or(|why| why == "all its items are used")
    };
    assert!(both.left(0).iter().all(innocent), "{:?}", both.left(0));
}

/// Rows 16, 20 and 24 of the table of attacks: in one of two sessions the peer cheats or dies. The other
/// session continues in its own epoch.
#[test]
fn rows_16_20_and_24_the_other_session_goes_on() {
    for fate in [Fate::SendsTooMuch, Fate::DiesBeforeSending, Fate::DiesAfterSending] {
        let both = Together::new(2, 8);
        let (bad, good) = (both.open([fate, Fate::Lives]), both.open([Fate::Lives; 2]));
        let good = runs(good, b"before", Lacking::Refuse).map(Result::unwrap);
        let epoch = good[0].1;
        let met = runs(bad, b"bad", Lacking::Refuse);
        assert!(met.iter().any(Result::is_err), "{fate:?}");
        drop(met);
        // Connections that begin now do not touch the epoch of the honest session.
        drop(both.try_open([Fate::Lives; 2]));
        for store in &both.stores {
            assert!(store.state(&epoch).unwrap().burned().is_none(), "{fate:?}");
        }
        drop(good);
        let cheated = |why: &Option<String>| why.as_ref().is_some_and(|why| why.contains("cheated"));
        assert_eq!(
            both.left(1).iter().filter(|(why, _)| cheated(why)).count(),
            usize::from(fate == Fate::SendsTooMuch)
        );
        // The first connection burns the epochs that the cheater's peer has burned. The next one then runs.
        let last = (0..2)
            .find_map(|_| both.try_open([Fate::Lives; 2]).ok().map(|line| runs(line, b"x", Lacking::Make)));
        assert!(last.unwrap().iter().all(Result::is_ok), "{fate:?}");
        assert!(both.stores.iter().all(|store| store.state(&epoch).unwrap().burned().is_none()), "{fate:?}");
    }
}

/// Rows 16, 20 and 24 of the table of attacks: many sessions of the same two parties run to the end at the
/// same time. No pad hides two messages, nothing is burned, and both logs are the same.
#[test]
fn rows_16_20_and_24_many_sessions_at_once() {
    let both = Together::new(3, 20);
    let one = |k: usize| -> usize {
        let message = [k as u8 + 1; 3];
        let (left, right) = memory_pair();
        let done = std::thread::scope(|scope| {
            let garbler = scope.spawn(|| {
                let line = both.line(Party::Garbler, left, Fate::Lives)?;
                match line.run(&&message[..], Lacking::Refuse)? {
                    RunOutcome::Done { next, .. } => next.close().map(drop),
                    RunOutcome::Lacks { why, .. } => Err(why),
                }
            });
            let evaluator = || {
                let line = both.line(Party::Evaluator, right, Fate::Lives)?;
                match line.run(&&[0; 3][..], Lacking::Refuse)? {
                    RunOutcome::Done { outcome, next, .. } => next.close().map(|_| outcome),
                    RunOutcome::Lacks { why, .. } => Err(why),
                }
            };
            let evaluator = evaluator();
            (garbler.join().unwrap(), evaluator)
        });
        // A session that finds no free epoch gets an error that says only this.
        let innocent = |error: &Error| {
            matches!(error, Error::Busy(_) | Error::Io(_))
                || matches!(error, Error::Stock(why) if !why.contains("the logs of this store"))
        };
        assert!(done.0.as_ref().err().is_none_or(innocent), "{:?}", done.0);
        match &done.1 {
            Ok(heard) => assert_eq!(heard[..], message),
            Err(error) => assert!(innocent(error), "{error:?}"),
        }
        usize::from(done.1.is_ok())
    };
    let ran: usize = std::thread::scope(|scope| {
        let one = &one;
        let sessions: Vec<_> =
            (0..4).map(|t| scope.spawn(move || (0..10).map(|k| one(10 * t + k)).sum::<usize>())).collect();
        sessions.into_iter().map(|session| session.join().unwrap()).sum()
    });
    println!("counted: {ran} of 40 sessions found an epoch");
    assert!(ran >= 10, "{ran}");
    drop(both.open([Fate::Lives; 2]));
    assert_eq!(both.left(0), both.left(1));
    assert!(
        both.left(0)
            .iter()
            .all(|(burned, _)| burned.as_deref().is_none_or(|why| why == "all its items are used"))
    );
    let logs = both.stores.each_ref().map(|store| {
        let shared = |id: &EpochId| *store.state(id).unwrap().head();
        store.epochs().unwrap().iter().map(|(id, _)| shared(id)).collect::<BTreeSet<_>>()
    });
    assert_eq!(logs[0], logs[1]);
}

/// Steps are made, their items are used over several connections, and they are repeated if items are missing.
#[test]
fn another_protocol_fills_and_takes() {
    let world = World::new();
    assert_eq!(world.good(TestedAction::Fill(&[3, 4])).1, Some(Preprocessed { steps: 2, resumed: 0 }));
    assert_eq!(world.good(TestedAction::Run(b"hello", Lacking::Refuse)).0, b"hello");
    assert_eq!(world.left(), [(); 2].map(|()| vec![(None, 2)]));
    let refused = world.connect([Fate::Lives; 2], TestedAction::Run(b"world", Lacking::Refuse));
    assert!(refused.iter().all(|result| matches!(result, Err(Error::Stock(_)))), "{refused:?}");
    assert_eq!(world.left(), [(); 2].map(|()| vec![(None, 2)]));
    assert_eq!(world.good(TestedAction::Run(b"world", Lacking::Make)).0, b"world");
    assert_eq!(world.good(TestedAction::Run(b"ab", Lacking::Refuse)).0, b"ab");
    assert_eq!(world.sent.lock().unwrap().len(), 12);
}

/// Rows 16, 20 and 21 of the table of attacks: wherever either party crashes, the next connections continue.
/// No pad hides two messages, and only the items that a program took are burned.
#[test]
fn rows_16_20_and_21_another_protocol_dies_anywhere() {
    use Fate::{
        DiesAfterFilling, DiesAfterSending, DiesBeforeFilling, DiesBeforeSending, DiesBehindTheChallenge,
        DiesInSetup,
    };
    let fills = [DiesInSetup, DiesBeforeFilling, DiesBehindTheChallenge, DiesAfterFilling];
    for fate in fills.into_iter().chain([DiesBeforeSending, DiesAfterSending]) {
        for who in 0..2 {
            let world = World::new();
            let mut fates = [Fate::Lives; 2];
            fates[who] = fate;
            let filled = world.connect(fates, TestedAction::Fill(&[3, 3]));
            let in_fill = fills.contains(&fate);
            assert_eq!(filled[who].is_err(), in_fill, "{fate:?} of {who}");
            world.good(TestedAction::Fill(&[3, 3]));
            let ran = world.connect(fates, TestedAction::Run(b"abc", Lacking::Refuse));
            assert_eq!(
                ran[who].is_err(),
                [DiesBeforeSending, DiesAfterSending].contains(&fate)
                    && !(fate == DiesAfterSending && who == 1)
            );
            assert_eq!(world.good(TestedAction::Run(b"def", Lacking::Make)).0, b"def");
            assert_eq!(world.good(TestedAction::Run(b"ghi", Lacking::Make)).0, b"ghi");
            let left = world.left();
            assert_eq!(left[0], left[1]);
            assert!(
                left[0]
                    .iter()
                    .all(|(burned, _)| burned.as_ref().is_none_or(|why| why == "all its items are used"))
            );
        }
    }
}

/// Row 16 of the table of attacks: a party that fails a check costs the other party its epoch. The burn is on
/// disk before a retry.
#[test]
fn row_16_a_cheat_burns_another_protocols_epoch() {
    let world = World::new();
    world.good(TestedAction::Fill(&[6]));
    let met = world.connect([Fate::SendsTooMuch, Fate::Lives], TestedAction::Run(b"abc", Lacking::Refuse));
    assert!(matches!(&met[1], Err(Error::Peer(_))), "{met:?}");
    assert!(matches!(&world.left()[1][..], [(Some(why), _)] if why.contains("cheated")));
    let again = world.connect([Fate::Lives; 2], TestedAction::Run(b"abc", Lacking::Refuse));
    assert!(again.iter().all(|result| matches!(result, Err(Error::Stock(_)))), "{again:?}");
}

/// Row 16 of the table of attacks: if an entry names a batch twice, it gets different items each time, even
/// if they share a record.
#[test]
fn row_16_a_batch_that_is_named_twice_gives_other_items() {
    let folder = tempfile::tempdir().unwrap();
    let (store, id) = (Store::open(folder.path(), &KEY).unwrap(), [3; 32]);
    let epoch = Epoch {
        protocol: Empty::NAME.into(),
        version: PROTOCOL_VERSION,
        role: Party::Garbler,
        security: Security::of(40),
        identities: TERMS.identities,
        created: 0,
        max_age: u64::MAX,
        fixed: 0,
        early: 0,
        counted: brickwork_store::Counted::Nothing,
    };
    store.begin(&id, &epoch, &EpochSecrets::fixed(b"secrets")).unwrap();
    let step = FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 };
    let serial = store
        .append(&id, &EpochEntry::Fill(step))
        .unwrap()
        .ranges()
        .unwrap()
        .take(&SERIALS)
        .unwrap()
        .draw(1)
        .unwrap();
    let batch = Batch { kind: KIND, name: "pads".into(), component: [0; 32], header: Vec::new() };
    Keeper::new(&NewItemsPlace::Here(&store, &id)).put(serial, &batch, Pads((10..20).collect())).unwrap();
    for entry in [EpochEntry::Stored, EpochEntry::Made] {
        let _ = store.append(&id, &entry).unwrap();
    }
    let entry = EpochEntry::Use { program: [1; 32], taken: vec![(serial, 1), (serial, 3)] };
    let taken = store.append(&id, &entry).unwrap();
    let mut all = Vec::new();
    let read = TakenItems::new(&store, &id, &taken).each(|batch| {
        all.push(batch.assemble::<Pads>(&())?.0);
        Ok(())
    });
    read.unwrap();
    assert_eq!(all, [vec![10], vec![11, 12, 13]]);
    // A stream returns the same items, however many are requested at a time, and ends where the entry ends.
    let items = TakenItems::new(&store, &id, &taken);
    for most in 1..5 {
        let (mut stream, mut all) = (items.stream(), Vec::new());
        while all.len() < 4 {
            let some = stream.next::<Pads>(&(), most).unwrap().0;
            assert!((1..=most).contains(&some.len()));
            all.extend(some);
        }
        assert_eq!(all, [10, 11, 12, 13]);
        assert!(
            matches!(stream.next::<Pads>(&(), most), Err(Error::Stock(why)) if why.contains("lacks a record"))
        );
    }
    assert!(store.read_at(&taken, serial, 3).is_ok());
    for other in [store.read_at(&taken, serial, 4), store.read_at(&taken, serial + 1, 0)] {
        assert!(matches!(other, Err(Error::Stock(why)) if why.contains("not among the taken items")));
    }
}

/// If stock does not fit on the disk, it is refused before any step begins, and does not count as an attempt.
#[test]
fn what_finds_no_room_is_not_begun() {
    let world = World::new();
    let [garbler, evaluator] = world.connect([Fate::Lives; 2], TestedAction::Fill(&[6, TOO_LARGE]));
    assert!(matches!(&evaluator, Err(Error::Resource(why)) if why.contains("of disk")), "{evaluator:?}");
    assert!(
        matches!(&garbler, Err(Error::Stock(why)) if why.contains("the peer's own output says why")),
        "{garbler:?}"
    );
    assert!(world.left().iter().flatten().all(|left| *left == (None, 0)));
    world.good(TestedAction::Fill(&[6]));
    assert!(world.left().iter().all(|left| left.contains(&(None, 6))));
}

/// Flips the bit at this distance from the end of a party's only segment.
fn flip(world: &World, role: &str, from_the_end: &[usize]) {
    let segments = world.root.path().join(role).join("segments");
    let path = std::fs::read_dir(segments).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len();
    from_the_end.iter().for_each(|k| bytes[end - 1 - k] ^= 1);
    std::fs::write(path, bytes).unwrap();
}

/// Returns the shared entries of each party's only epoch.
fn shared(world: &World) -> [Vec<EpochEntry>; 2] {
    ["Garbler", "Evaluator"].map(|role| {
        let store = Store::open(&world.root.path().join(role), &KEY).unwrap();
        let log = store.log(&store.epochs().unwrap()[0].0).unwrap();
        log.into_iter()
            .filter(|entry| matches!(entry, EpochEntry::Damaged(_) | EpochEntry::Use { .. }))
            .collect()
    })
}

/// Bytes of a record of pads: the column, two numbers, and the tag. A batch has 16 records.
const A_RECORD: usize = 10_000 + 2 * 4 + 16;
const PADS_IN_16_RECORDS: usize = 20_000;

/// Row 23 of the table of attacks: a record that is damaged at one party, or at each, is lost at both. The
/// program still runs, and both logs record the loss.
#[test]
fn row_23_a_damaged_record_costs_itself_at_both_parties() {
    let a_record = PADS_IN_16_RECORDS as u64 / 16;
    for damaged in [&["Garbler"][..], &["Evaluator"], &["Garbler", "Evaluator"]] {
        let world = World::new();
        world.good(TestedAction::Fill(&[PADS_IN_16_RECORDS]));
        for (k, role) in damaged.iter().enumerate() {
            flip(&world, role, &[(15 - k) * A_RECORD + 40]);
        }
        assert_eq!(world.good(TestedAction::Run(b"abc", Lacking::Refuse)).0, b"abc");
        let [garblers, evaluators] = shared(&world);
        assert_eq!(garblers, evaluators);
        assert!(
            garblers.len() == damaged.len() + 1 && matches!(garblers.last(), Some(EpochEntry::Use { .. }))
        );
        for (k, entry) in garblers[..damaged.len()].iter().enumerate() {
            let EpochEntry::Damaged(items) = entry else { panic!("{entry:?}") };
            assert_eq!(
                items.iter().map(|item| (item.1, item.2)).collect::<Vec<_>>(),
                [(k as u64 * a_record, a_record)]
            );
        }
        let left = PADS_IN_16_RECORDS as u64 - damaged.len() as u64 * a_record - 3;
        assert_eq!(world.left(), [(); 2].map(|()| vec![(None, left)]));
        assert_eq!(world.good(TestedAction::Run(b"def", Lacking::Refuse)).0, b"def");
        assert_eq!(world.left(), [(); 2].map(|()| vec![(None, left - 3)]));
    }
}

/// Row 23 of the table of attacks: a party whose whole stock is damaged, or that claims so, costs the other
/// party only a few records before the program is refused.
#[test]
fn row_23_damage_without_end_is_refused() {
    for role in ["Garbler", "Evaluator"] {
        let world = World::new();
        world.good(TestedAction::Fill(&[PADS_IN_16_RECORDS]));
        flip(&world, role, &(0..16).map(|k| k * A_RECORD + 40).collect::<Vec<_>>());
        let refused = world.connect([Fate::Lives; 2], TestedAction::Run(b"abc", Lacking::Make));
        let is_refused =
            |done: &Result<_, _>| matches!(done, Err(Error::Stock(why)) if why.contains("too many items"));
        assert!(refused.iter().all(is_refused), "{refused:?}");
        let left = PADS_IN_16_RECORDS as u64 / 2;
        assert_eq!(world.left(), [(); 2].map(|()| vec![(None, left)]));
        assert!(shared(&world).iter().flatten().all(|entry| matches!(entry, EpochEntry::Damaged(_))));
    }
}

/// Row 21 of the table of attacks: one party has removed damaged items, and the other crashed before that. It
/// removes them in the next connection.
#[test]
fn row_21_damaged_items_are_taken_out_at_both_or_soon() {
    for ahead in ["Garbler", "Evaluator"] {
        let world = World::new();
        world.good(TestedAction::Fill(&[6]));
        let store = Store::open(&world.root.path().join(ahead), &KEY).unwrap();
        let id = store.epochs().unwrap()[0].0;
        let serial = store.batches(&id).unwrap()[0].serial;
        let _ = store.append(&id, &EpochEntry::Damaged(vec![(serial, 1, 2)])).unwrap();
        drop(store);
        assert_eq!(world.good(TestedAction::Run(b"abc", Lacking::Refuse)).0, b"abc");
        let [garblers, evaluators] = shared(&world);
        assert!(garblers == evaluators && garblers.len() == 2, "{garblers:?}");
        assert_eq!(world.left(), [(); 2].map(|()| vec![(None, 1)]));
    }
}

/// Row 18 of the table of attacks: a peer that reports damage in items that the program would not take, or
/// that are not in stock, changes nothing.
#[test]
fn row_18_only_items_that_are_there_can_be_damaged() {
    let world = World::new();
    world.good(TestedAction::Fill(&[4, 5]));
    let store = Store::open(&world.root.path().join("Garbler"), &KEY).unwrap();
    let id = store.epochs().unwrap()[0].0;
    let serials: Vec<Serial> = store.batches(&id).unwrap().iter().map(|batch| batch.serial).collect();
    let entry = EpochEntry::Use { program: [1; 32], taken: vec![(serials[0], 3)] };
    let epochs = vec![id];
    let (terms, between) = (TERMS, Stop::new());
    let max_age = store.max_age();
    let role = Party::Garbler;
    let held =
        Epochs { store: store.clone(), role, terms, epochs, busy: false, max_age, lease: None, between };
    let good = EpochEntry::Damaged(vec![(serials[0], 1, 2)]);
    let hear = |intent: Intent, damaged: &[u8]| {
        let (here, mut there) = memory_pair();
        let mut run = Metered::new::<Empty>(here, Party::Garbler, Box::new(Unobserved));
        there.send(super::msg::DAMAGED, damaged).unwrap();
        there.flush().unwrap();
        held.hear_damaged(&mut run, &intent, &id, &entry)
    };
    let bytes = |items: &[(Serial, u64, u64)]| postcard::to_stdvec(items).unwrap();
    let intent =
        |items: &[(Serial, u64, u64)]| held.loses(&id, &EpochEntry::Damaged(items.to_vec())).unwrap();
    let one = [(serials[0], 1, 2)];
    assert_eq!(hear(intent(&one), &bytes(&one)).unwrap(), good);
    // All items of a batch may be damaged, because the peer may have lost its segment.
    let all = [(serials[0], 0, 4)];
    assert_eq!(hear(intent(&all), &bytes(&all)).unwrap(), EpochEntry::Damaged(all.to_vec()));
    // The list has one item more than the batch has left.
    let too_many = [(serials[0], 0, 5)];
    let wrong: [&[(Serial, u64, u64)]; 9] = [
        &[],
        &too_many,
        &[(serials[0], 4, 1)],
        &[(serials[0], 1, 1 << 40)],
        &[(serials[0], 1, 0)],
        &[(serials[1], 1, 2)],
        &[(serials[0], 1, 2), (serials[0], 2, 2)],
        &[(serials[0] + 1, 1, 2)],
        &[(serials[0], 1, u64::MAX)],
    ];
    for items in wrong {
        let heard = hear(intent(items), &bytes(items));
        assert!(matches!(heard, Err(Error::Peer(_))), "{items:?}: {heard:?}");
    }
    // The list differs from the announced one, or cannot be read.
    for other in [bytes(&[(serials[0], 1, 1)]), Vec::new(), vec![0xff; 40]] {
        assert!(matches!(hear(intent(&one), &other), Err(Error::Peer(_))));
    }
    // The store refuses to remove more items than the batch has.
    assert!(matches!(
        store.append(&id, &EpochEntry::Damaged(vec![(serials[0], 3, 2)])),
        Err(Error::Stock(_))
    ));
    assert!(store.batches(&id).unwrap().iter().map(|batch| batch.left).eq([4, 5]));
}

/// Row 19 of the table of attacks: a greeting for stock that proposes parameters is refused, on the main
/// connection and by workers.
#[test]
fn row_19_a_greeting_for_stock_proposes_nothing() {
    for worker in [false, true] {
        let both = Together::new(0, 0);
        let (mut left, right) = memory_pair();
        left.set_tamper(Box::new(|tag, bytes| {
            if tag == crate::msg::HELLO {
                bytes[48] ^= 1;
            }
        }));
        let greet = |role: Party, channel: Channel| -> Result<(), Error> {
            let run = Metered::new::<Empty>(channel, role, Box::new(Unobserved));
            let carried = Carried { fate: Fate::Lives, sent: both.world.sent };
            match worker {
                true => super::workers::greet_one::<Empty>(run, carried, &TERMS, (&[9; 32], 2), 0)?
                    .answered()
                    .map(drop),
                false => Stocked::<Empty>::greet(run, carried, &both.stores[role as usize], &TERMS, "test")
                    .map(drop),
            }
        };
        std::thread::scope(|scope| {
            let garbler = scope.spawn(|| greet(Party::Garbler, left));
            let refused = greet(Party::Evaluator, right);
            let _ = garbler.join().unwrap();
            assert!(
                matches!(&refused, Err(Error::Mismatch(why)) if why.contains("greeting is malformed")),
                "{worker}: {refused:?}"
            );
        });
    }
}

/// Row 21 of the table of attacks: an epoch that a protocol has closed gets no more stock, at the request of
/// either party.
#[test]
fn row_21_a_closed_epoch_is_not_filled() {
    let world = World::new();
    world.good(TestedAction::Fill(&[6]));
    assert_eq!(world.good(TestedAction::Run(b"abc", Lacking::Refuse)).0, b"abc");
    let (left, right) = memory_pair();
    let filled = std::thread::scope(|scope| {
        let root = world.root.path();
        let garbler = scope.spawn(move || fill_the_first(root, Party::Garbler, left));
        let evaluator = fill_the_first(root, Party::Evaluator, right);
        [garbler.join().unwrap(), evaluator]
    });
    for result in filled {
        assert!(matches!(&result, Err(Error::Usage(why)) if why.contains("has just leased")), "{result:?}");
    }
    assert_eq!(world.left(), [(); 2].map(|()| vec![(None, 3)]));
}

/// Fills the first epoch of a store, whatever its state.
fn fill_the_first(root: &Path, role: Party, channel: Channel) -> Result<(), Error> {
    let store = Store::open(&root.join(format!("{role:?}")), &KEY)?;
    let (id, _) = store.epochs()?[0];
    let run = Metered::new::<Empty>(channel, role, Box::new(Unobserved));
    let carried = Carried { fate: Fate::Lives, sent: Box::leak(Box::default()) };
    let mut line = Stocked::<Empty>::open(run, carried, &store, &TERMS, &[9; 32])?;
    assert_eq!(line.open_epoch()?, None);
    line.fill(Some(id), &[Asks(1)]).map(drop)
}

/// Row 16 of the table of attacks: a restored session uses no counter before it has entered the ranges of an
/// entry, and never more than a range.
#[test]
fn row_16_more_than_a_range_is_refused() {
    let world = World::new();
    let too_many = world.connect([Fate::Lives; 2], TestedAction::Fill(&[(1 << 20) + 1]));
    assert!(too_many.iter().all(|result| matches!(result, Err(Error::Limit(_)))), "{too_many:?}");
    let observer = Box::new(Unobserved);
    let run = Metered::new::<Empty>(memory_pair().0, Party::Garbler, observer);
    let carried = Carried { fate: Fate::Lives, sent: world.sent };
    let mut toy = Toy::restored(run, [3; 32], carried);
    assert!(matches!(toy.pads.draw(1), Err(Error::Limit(_))));
}

#[test]
fn lists_of_steps_have_names_of_their_own() {
    use brickwork_testing::digest as expected;
    let lists: [&[usize]; 5] = [&[], &[1], &[2], &[1, 2], &[2, 1]];
    let asks = |list: &[usize]| list.iter().map(|&count| Asks(count)).collect::<Vec<_>>();
    let name = |list: &[usize]| job_digest(&asks(list).chunks(1).collect::<Vec<_>>());
    for (i, list) in lists.iter().enumerate() {
        assert!(lists[..i].iter().all(|other| name(other) != name(list)), "{i}");
        // One step with several shares has another digest than several steps.
        assert!(list.len() < 2 || job_digest(&[&asks(list)[..]]) != name(list));
    }
    let [one, two] = [1u64, 2].map(u64::to_le_bytes);
    let steps = [&two[..], &one, &Asks(1).request(), &one, &Asks(2).request()];
    assert_eq!(name(lists[3]), expected("brickwork 2026-11 stock job", &steps));
    let shares = [&one[..], &two, &Asks(1).request(), &Asks(2).request()];
    assert_eq!(job_digest(&[&asks(lists[3])[..]]), expected("brickwork 2026-11 stock job", &shares));
}

/// A level of security with room for sixteen units, which is eight times the risk of a setup.
const FEW: Terms = Terms { security: Security::of(124), ..TERMS };

/// Makes one attempt at a step, on a connection of its own.
fn tries(world: &World, role: Party, channel: Channel, fate: Fate, terms: &Terms) -> Result<(), Error> {
    let store = Store::open(&world.root.path().join(format!("{role:?}")), &KEY)?;
    let run = Metered::new::<Empty>(channel, role, Box::new(Unobserved));
    let carried = Carried { fate, sent: world.sent };
    let mut line = Stocked::<Empty>::open(run, carried, &store, terms, &[9; 32])?;
    let epoch = line.open_epoch()?;
    line.fill(epoch, &[Asks(3)])?.1.close().map(drop)
}

fn both_try(world: &World, fate: Fate, terms: &Terms) -> [Result<(), Error>; 2] {
    try_over(world, memory_pair(), fate, terms)
}

fn try_over(
    world: &World,
    (left, right): (Channel, Channel),
    fate: Fate,
    terms: &Terms,
) -> [Result<(), Error>; 2] {
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| tries(world, Party::Garbler, left, fate, terms));
        let evaluator = tries(world, Party::Evaluator, right, Fate::Lives, terms);
        [garbler.join().unwrap(), evaluator]
    })
}

/// A stream that ends after it has delivered this many bytes. It counts the bytes.
struct Cut {
    stream: UnixStream,
    left: usize,
    read: Arc<AtomicUsize>,
}

impl Read for Cut {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.left);
        let n = if most == 0 { 0 } else { self.stream.read(&mut buffer[..most])? };
        self.left -= n;
        self.read.fetch_add(n, Ordering::SeqCst);
        Ok(n)
    }
}

impl Write for Cut {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Stream for Cut {}

/// When one party's stream is dropped, the other party reads the end of it. The socket stays open for
/// writing, so the other party always fails when it reads, however fast both parties are.
impl Drop for Cut {
    fn drop(&mut self) {
        let _gone = self.stream.shutdown(std::net::Shutdown::Write);
    }
}

/// Makes a connection on which each party reads at most this many bytes. It records how much each party has
/// read, and the garbler has sent, at the time when the garbler sends that all values are fixed. The returned
/// guard keeps the connections open for writing.
fn cut(
    left: [usize; 2],
    noted: &Arc<Mutex<[usize; 2]>>,
) -> ((Channel, Channel), [Arc<AtomicUsize>; 2], [UnixStream; 2]) {
    let (one, other) = UnixStream::pair().unwrap();
    let open = [&one, &other].map(|stream| stream.try_clone().unwrap());
    let read: [Arc<AtomicUsize>; 2] = Default::default();
    let mut ends =
        [one, other].into_iter().zip(left).zip(&read).map(|((stream, left), read)| {
            Channel::new(vec![Box::new(Cut { stream, left, read: read.clone() })])
        });
    let mut garbler = ends.next().unwrap();
    let (read_by_garbler, noted, mut sent) = (read[0].clone(), noted.clone(), 0);
    garbler.set_tamper(Box::new(move |tag, bytes| {
        sent += FRAME_HEADER_BYTES + bytes.len();
        if tag == FIXED {
            *noted.lock().unwrap() = [read_by_garbler.load(Ordering::SeqCst), sent];
        }
    }));
    let evaluator = ends.next().unwrap();
    ((garbler, evaluator), read, open)
}

/// Rows 4 and 20 of the table of attacks: the connection is cut at each byte. A cut counts as an attempt only
/// between the evaluator's challenge and the end of the step. The next connection makes the step.
#[test]
fn row_04_a_cut_at_any_byte_costs_what_it_can_have_taught() {
    let noted = Arc::default();
    let (line, read, _open) = cut([usize::MAX; 2], &noted);
    assert!(try_over(&World::new(), line, Fate::Lives, &FEW).iter().all(Result::is_ok));
    let (total, fixed) = (read.map(|read| read.load(Ordering::SeqCst)), *noted.lock().unwrap());
    let mut costs = [0; 2];
    // If this variable is set, the connection is cut at every byte.
    let every = if std::env::var_os("BRICKWORK_EVERY_BYTE").is_some() { 1 } else { 11 };
    let around =
        |victim: usize| (fixed[victim] - 2..fixed[victim] + 2).chain((0..total[victim]).step_by(every));
    for (victim, at) in (0..2).flat_map(|victim| around(victim).map(move |at| (victim, at))) {
        let (world, mut left) = (World::new(), [usize::MAX; 2]);
        left[victim] = at;
        let (line, _, _open) = cut(left, &Arc::default());
        let met = try_over(&world, line, Fate::Lives, &FEW);
        assert!(matches!(&met[victim], Err(Error::Io(_))), "{victim} {at}: {met:?}");
        let store = Store::open(&world.root.path().join("Evaluator"), &KEY).unwrap();
        let made = store.epochs().unwrap().iter().any(|(id, _)| store.state(id).unwrap().made().count() > 0);
        let vain: u128 = store.accounts().unwrap().iter().map(|(_, vain)| vain).sum();
        assert_eq!(vain, u128::from(at >= fixed[victim] && !made), "{victim} {at}");
        costs[vain as usize] += 1;
        drop(store);
        let met = both_try(&world, Fate::Lives, &FEW);
        assert!(met.iter().all(Result::is_ok), "{victim} {at}: {met:?}");
    }
    println!("counted: {} cuts that cost nothing, {} that cost an attempt", costs[0], costs[1]);
    assert!(costs.iter().all(|&cuts| cuts > 5), "{costs:?}");
}

/// Returns the evaluator's account of a garbler, and its contents.
fn in_vain(world: &World) -> (brickwork_store::Account, u128, Store) {
    let store = Store::open(&world.root.path().join("Evaluator"), &KEY).unwrap();
    let accounts = store.accounts().unwrap();
    let [(account, vain)] = &accounts[..] else { panic!("{accounts:?}") };
    (account.clone(), *vain, store)
}

/// Row 4 of the table of attacks: a party that breaks off until it likes the challenge gets only as many
/// attempts as the promise of a run allows. Only the user can allow more. New epochs do not help the peer.
#[test]
fn row_04_attempts_are_counted_over_epochs() {
    let world = World::new();
    for attempt in 1..=16 {
        let met = both_try(&world, Fate::DiesBehindTheChallenge, &FEW);
        assert!(matches!(&met[1], Err(Error::Io(_))), "{attempt}: {met:?}");
        assert_eq!(in_vain(&world).1, attempt);
    }
    for _ in 0..3 {
        let met = both_try(&world, Fate::Lives, &FEW);
        assert!(met.iter().all(|met| matches!(met, Err(Error::Vain(_)))), "{met:?}");
        assert_eq!(in_vain(&world).1, 16);
    }
    let (account, _, store) = in_vain(&world);
    assert_eq!(store.epochs().unwrap().len(), 3, "an epoch takes six");
    // Burning and forgetting epochs does not reset the count.
    for (id, _) in store.epochs().unwrap() {
        let _ = store.append(&id, &EpochEntry::Burned("test".into())).unwrap();
        store.forget(&id).unwrap();
    }
    store.set_pair(&account.relation, &[8; 32]).unwrap();
    assert_eq!(store.vain(&account).unwrap(), 16);
    store.forgive(&account).unwrap();
    drop(store);
    let garblers = world.root.path().join("Garbler");
    std::fs::remove_dir_all(garblers).unwrap();
    let met = both_try(&world, Fate::Lives, &FEW);
    assert!(met.iter().all(Result::is_ok), "{met:?}");
}

/// Row 4 of the table of attacks: a peer completes a step, and then takes all its items for a program that
/// never runs. This counts as an attempt, like breaking off.
#[test]
fn row_04_what_is_made_and_thrown_away_is_an_attempt() {
    let world = World::new();
    let garblers = || Store::open(&world.root.path().join("Garbler"), &KEY).unwrap();
    let mut attempts = 0;
    loop {
        let met = both_try(&world, Fate::Lives, &FEW);
        if met.iter().any(Result::is_err) {
            assert!(matches!(met[1], Err(Error::Vain(_))), "{met:?}");
            break;
        }
        attempts += 1;
        let store = garblers();
        for (id, _) in store.epochs().unwrap() {
            let batches = store.batches(&id).unwrap();
            let taken: Vec<_> = batches.iter().map(|batch| (batch.serial, batch.left as u32)).collect();
            if store.state(&id).unwrap().burned().is_none() {
                let _ = store.append(&id, &EpochEntry::Use { program: [9; 32], taken }).unwrap();
            }
        }
        // The cheater forgives all attempts in its own store, so only the evaluator's store limits it.
        store.accounts().unwrap().iter().for_each(|(account, _)| store.forgive(account).unwrap());
        assert!(attempts < 100, "the peer can repeat this without end");
    }
    assert_eq!(
        (attempts, in_vain(&world).1),
        (16, 16),
        "each program has left the risk of its step in \
        the account"
    );
}

/// Row 4 of the table of attacks: an interrupted run counts all steps from which it took items, until a later
/// run in the same epoch has ended.
#[test]
fn row_04_a_run_that_breaks_off_counts_until_one_has_ended() {
    let world = World::new();
    world.good(TestedAction::Fill(&[6]));
    let vain = || {
        let store = Store::open(&world.root.path().join("Evaluator"), &KEY).unwrap();
        store.accounts().unwrap().iter().map(|(_, vain)| vain).sum::<u128>()
    };
    assert_eq!(vain(), 0);
    for _ in 0..2 {
        let broken = world
            .connect([Fate::DiesBeforeSending, Fate::Lives], TestedAction::Run(b"a", Lacking::Refuse))
            .map(|result| result.map(drop));
        assert!(broken.iter().all(Result::is_err), "{broken:?}");
        assert_eq!(vain(), 1, "once, however often");
    }
    assert_eq!(world.good(TestedAction::Run(b"abc", Lacking::Refuse)).0, b"abc");
    assert_eq!(vain(), 0);
    let broken =
        world.connect([Fate::DiesBeforeSending, Fate::Lives], TestedAction::Run(b"a", Lacking::Refuse));
    assert!(broken.iter().all(Result::is_err));
    assert_eq!(vain(), 0, "one has ended there");
    // No items are left. A run that takes no items does not show that an earlier program has ended.
    assert_eq!(world.left()[1], [(None, 0)]);
}

/// If a party may not begin a step, it tells the peer this before the peer counts an attempt.
#[test]
fn who_may_begin_nothing_does_not_make_it_an_attempt_of_the_other() {
    for full in [Party::Garbler, Party::Evaluator] {
        let world = World::new();
        let [mine, other] = [full, if full == Party::Garbler { Party::Evaluator } else { Party::Garbler }]
            .map(|role| world.root.path().join(format!("{role:?}")));
        let relation = brickwork_store::Relation { role: full, identities: FEW.identities };
        let account =
            brickwork_store::Account { relation, protocol: Empty::NAME.into(), security: FEW.security };
        let store = Store::open(&mine, &KEY).unwrap();
        store.attempt(&account, 16).unwrap();
        drop(store);
        for _ in 0..3 {
            let met = both_try(&world, Fate::Lives, &FEW);
            assert!(matches!(&met[full as usize], Err(Error::Vain(_))), "{met:?}");
            let is_told = |why: &str| why.contains("refuses to make more stock");
            assert!(matches!(&met[1 - full as usize], Err(Error::Stock(why)) if is_told(why)), "{met:?}");
            let others = Store::open(&other, &KEY).unwrap();
            assert_eq!(others.accounts().unwrap(), []);
        }
    }
}

/// A party that must stop between two steps completes the current one, and neither party counts an attempt.
#[test]
fn a_filling_stops_between_two_steps() {
    for before_all in [false, true] {
        let world = World::new();
        let (left, right) = memory_pair();
        let stop = Stop::new();
        if before_all {
            stop.ask();
        }
        let [garbler, evaluator] = std::thread::scope(|scope| {
            let garbler = scope.spawn(|| steps(&world, Party::Garbler, left, None));
            let evaluator = steps(&world, Party::Evaluator, right, Some(&stop));
            [garbler.join().unwrap(), evaluator]
        });
        assert!(matches!(evaluator, Err(Error::Io(_))), "{evaluator:?}");
        assert!(matches!(garbler, Err(Error::Stock(_))), "{garbler:?}");
        let made = if before_all { vec![] } else { vec![(None, 3)] };
        assert_eq!(world.left(), [made.clone(), made]);
        for role in ["Garbler", "Evaluator"] {
            let store = Store::open(&world.root.path().join(role), &KEY).unwrap();
            assert_eq!(store.accounts().unwrap(), []);
        }
    }
}

/// Makes two steps, and requests the stop in the first one.
fn steps(world: &World, role: Party, channel: Channel, stop: Option<&Stop>) -> Result<(), Error> {
    let store = Store::open(&world.root.path().join(format!("{role:?}")), &KEY)?;
    let run = Metered::new::<Empty>(channel, role, Box::new(Unobserved));
    let carried = Carried { fate: Fate::Lives, sent: world.sent };
    let mut line = Stocked::<Empty>::open(run, carried, &store, &TERMS, &[9; 32])?;
    if let Some(stop) = stop {
        line.stop_between_steps(stop);
    }
    let epoch = line.open_epoch()?;
    let asks = [Asks(3), Asks(2)];
    let shares: Vec<&[Asks]> = asks.iter().map(std::slice::from_ref).collect();
    line.fill_shares(epoch, &shares, |making, shares| {
        stop.iter().for_each(|stop| stop.ask());
        shares.iter().try_for_each(|share| making.by_this_session(share))
    })
    .map(drop)
}

/// Row 4 of the table of attacks: if a connection breaks before the peer has seen a challenge, this costs
/// nothing, however often it happens.
#[test]
fn row_04_what_breaks_before_the_challenge_is_no_attempt() {
    let world = World::new();
    for fate in [Fate::DiesInSetup, Fate::DiesBeforeFilling] {
        for _ in 0..20 {
            let met = both_try(&world, fate, &FEW);
            assert!(met.iter().all(|met| matches!(met, Err(Error::Io(_)))), "{fate:?}: {met:?}");
            let store = Store::open(&world.root.path().join("Evaluator"), &KEY).unwrap();
            assert_eq!(store.accounts().unwrap(), [], "{fate:?}");
        }
    }
    let met = both_try(&world, Fate::Lives, &FEW);
    assert!(met.iter().all(Result::is_ok), "{met:?}");
}

/// Row 4 of the table of attacks: a cheat that burns an epoch counts as an attempt.
#[test]
fn row_04_cheats_are_counted() {
    let world = World::new();
    world.good(TestedAction::Fill(&[6]));
    let cheats = world.connect([Fate::SendsTooMuch, Fate::Lives], TestedAction::Run(b"abc", Lacking::Refuse));
    assert!(matches!(&cheats[1], Err(Error::Peer(_))), "{cheats:?}");
    assert_eq!(in_vain(&world).1, 3, "the risk of the completed step and of the epoch's other checks");
}

/// If a promise is divided among several sessions, the caller that divided it counts the attempts.
#[test]
fn shares_of_a_promise_are_counted_by_who_shares_it_out() {
    let world = World::new();
    let shared = Terms { security: Security::shared(123, 2).unwrap(), ..TERMS };
    for _ in 0..20 {
        let met = both_try(&world, Fate::DiesBehindTheChallenge, &shared);
        assert!(matches!(&met[1], Err(Error::Io(_))), "{met:?}");
    }
    assert!(in_vain(&world).1 > shared.security.units());
    assert!(both_try(&world, Fate::Lives, &shared).iter().all(Result::is_ok));
}
