//! Tests makers of both parties with a toy protocol. Some makers crash before a message, see a peer cheat, or
//! send invalid messages.
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::stock::tests::{Asks, Carried, Fate, TERMS, Together, runs};
use crate::stock::workers::Workers;
use crate::stock::{Lacking, Preprocessed, Stocked};
use crate::tests::Empty;
use crate::{Metered, Observer, Unobserved};
use brickwork_base::random::Rng;
use brickwork_store::{EpochEntry, Store, StoreKey};
use brickwork_testing::Replayable as _;
use brickwork_wire::memory_pair;

const MET: SessionId = [9; 32];

/// The work of each of three workers in two steps.
const STEPS: [&[usize]; 2] = [&[4, 5, 6], &[2, 2]];

/// Changes a message.
type Change = fn(&mut Vec<u8>);

/// The fault of a maker in a test.
#[derive(Clone, Copy)]
enum Lot {
    Works,
    /// The maker is killed before it sends this message to its coordinator. Messages that only ask whether to
    /// continue are not counted.
    Dies(usize),
    /// The maker changes this message.
    Says(usize, Change),
}

/// The three workers of each party: threads or makers.
#[derive(Clone)]
struct Crew {
    /// For each party and worker, what happens to the maker; `None` for a thread.
    makers: [[Option<Lot>; 3]; 2],
    fates: [[Fate; 3]; 2],
}

impl Crew {
    fn new(makers: [[bool; 3]; 2]) -> Self {
        let makers = makers.map(|party| party.map(|maker| maker.then_some(Lot::Works)));
        Crew { makers, fates: [[Fate::Lives; 3]; 2] }
    }

    fn lot(mut self, role: usize, worker: usize, lot: Lot) -> Self {
        self.makers[role][worker] = Some(lot);
        self
    }

    fn fate(mut self, role: usize, worker: usize, fate: Fate) -> Self {
        self.fates[role][worker] = fate;
        self
    }
}

/// The results of makers; `None` if the maker was killed.
type Ends = Vec<Option<Result<u32, Error>>>;

/// An object that exists as long as a maker's connection. When it is dropped, it notes whether an epoch is
/// burned.
struct AtClose(Store, Arc<AtomicBool>);

impl Observer for AtClose {
    fn phase(&mut self, _: &'static str) {}
    fn progress(&mut self, _: u64, _: u64) {}
}

impl Drop for AtClose {
    fn drop(&mut self) {
        let epochs = self.0.epochs().unwrap();
        let burned = epochs.iter().any(|(id, _)| self.0.state(id).unwrap().burned().is_some());
        self.1.store(burned, Ordering::Relaxed);
    }
}

/// Runs a maker like a process of its own: all its state is gone when it is killed.
fn maker(
    role: Party,
    mut home: Channel,
    peer: Channel,
    (lot, fate): (Lot, Fate),
    both: &Together,
) -> Option<Result<u32, Error>> {
    let mut count = 0;
    home.set_tamper(Box::new(move |tag, bytes| {
        if tag != msg::SAID || matches!(read(bytes), Ok(Said::Alive)) {
            return;
        }
        match lot {
            Lot::Dies(at) if at == count => resume_unwind(Box::new("killed")),
            Lot::Says(at, change) if at == count => change(bytes),
            _ => {}
        }
        count += 1;
    }));
    let burned = Arc::<AtomicBool>::default();
    let at_close = AtClose(both.stores[role as usize].clone(), burned.clone());
    let works = || {
        let maker = HomeMaker::hear(home)?;
        assert_eq!((maker.meeting().role, &*maker.meeting().protocol), (role, "empty"));
        let terms = maker.meeting().terms(1);
        let run = Metered::new::<Empty>(peer, role, Box::new(at_close));
        let carried = Carried { fate, sent: both.world.sent };
        maker.works::<Empty, usize>(
            (run, carried),
            &terms,
            |bytes| Ok(bytes.first().copied().unwrap_or(0).into()),
            |&count| Asks(count),
        )
    };
    let end = catch_unwind(AssertUnwindSafe(works)).ok();
    let cheated = matches!(end, Some(Err(Error::Peer(_))));
    assert!(!cheated || burned.load(Ordering::Relaxed), "the peer sees the connection close before the burn");
    end
}

/// Runs one party: its coordinator on this thread, its makers on others.
fn party(
    mut line: Stocked<Empty>,
    peers: Vec<Channel>,
    crew: &Crew,
    steps: &[&[usize]],
    both: &Together,
) -> (Result<Preprocessed, Error>, Ends) {
    let (role, party) = (line.role() as usize, line.role());
    std::thread::scope(|scope| {
        let (mut lines, mut lent, mut makers) = (Vec::new(), Vec::new(), Vec::new());
        for (worker, peer) in peers.into_iter().enumerate() {
            let fate = crew.fates[role][worker];
            match crew.makers[role][worker] {
                None => {
                    let run = Metered::new::<Empty>(peer, party, Box::new(Unobserved));
                    lines.push((run, Carried { fate, sent: both.world.sent }));
                }
                Some(lot) => {
                    let (mine, its) = memory_pair();
                    lent.push(mine);
                    makers.push(scope.spawn(move || maker(party, its, peer, (lot, fate), both)));
                }
            }
        }
        let fills = || {
            let mut workers = Workers::greet(party, lines, lent, &TERMS, &MET)?;
            let epoch = line.open_epoch()?;
            let steps: Vec<Vec<Asks>> =
                steps.iter().map(|shares| shares.iter().map(|&count| Asks(count)).collect()).collect();
            let (done, line) = line.fill_by(&mut workers, epoch, &steps)?;
            assert_eq!(workers.close()?.len(), 3);
            line.close()?;
            Ok(done)
        };
        let done = fills();
        (done, makers.into_iter().map(|maker| maker.join().unwrap()).collect())
    })
}

type Filled = [(Result<Preprocessed, Error>, Ends); 2];

/// Makes stock at both parties. The garbler's threads connect first, so its makers are the last workers.
fn fill(both: &Together, crew: &Crew, steps: &[&[usize]]) -> Filled {
    let (garbler, evaluator) = both.open([Fate::Lives; 2]);
    let (left, right): (Vec<_>, Vec<_>) = (0..3).map(|_| memory_pair()).unzip();
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| party(garbler, left, crew, steps, both));
        let evaluator = party(evaluator, right, crew, steps, both);
        [garbler.join().unwrap(), evaluator]
    })
}

/// Returns why a party's first epoch is burned, if it is burned.
fn burned(both: &Together, role: usize) -> Option<String> {
    both.left(role).first().and_then(|(burned, _)| burned.clone())
}

/// Checks that all makers with secrets have reported, and that all stock can be read.
fn sound(both: &Together) {
    for store in &both.stores {
        store.verify().unwrap();
        for (id, _) in store.epochs().unwrap() {
            let state = store.state(&id).unwrap();
            assert!(state.burned().is_some() || !state.is_lent());
        }
    }
}

/// Checks that both parties can still make and use stock.
fn goes_on(both: &Together) {
    drop(both.try_open([Fate::Lives; 2]));
    let all = Crew::new([[true; 3]; 2]);
    for (done, ends) in fill(both, &all, &STEPS) {
        assert_eq!(done.unwrap().steps, 2);
        assert!(ends.into_iter().all(|end| matches!(end, Some(Ok(2 | 1)))));
    }
    let message = b"more than any made";
    let heard = runs(both.open([Fate::Lives; 2]), message, Lacking::Refuse).map(Result::unwrap);
    assert_eq!(heard[1].0, message);
    sound(both);
}

/// Row 16 of the table of attacks: makers of one party or of both work beside threads, and a program takes
/// items that all workers made.
#[test]
fn row_16_a_program_takes_what_makers_made() {
    for makers in [
        [[false, true, true], [false; 3]],
        [[false; 3], [true, false, true]],
        [[false, false, true], [false, true, true]],
        [[true; 3], [true; 3]],
    ] {
        let both = Together::new(0, 0);
        for (done, ends) in fill(&both, &Crew::new(makers), &STEPS) {
            assert_eq!(done.unwrap(), Preprocessed { steps: 2, resumed: 0 });
            assert!(ends.into_iter().all(|end| matches!(end, Some(Ok(1 | 2)))));
        }
        for (role, store) in both.stores.iter().enumerate() {
            assert_eq!(both.left(role), [(None, 19)]);
            let (id, _) = store.epochs().unwrap()[0];
            let log = store.log(&id).unwrap();
            let lent = log.iter().filter(|entry| **entry == EpochEntry::Lent).count();
            let returned = log.iter().filter(|entry| **entry == EpochEntry::Returned).count();
            // In the second step, only the first two workers have shares, so a maker has one only if it is
            // one of them.
            assert!(lent == returned && lent <= 2 && (lent > 0) == makers[role].contains(&true), "{log:?}");
        }
        let message = b"of all makers there";
        let heard = runs(both.open([Fate::Lives; 2]), message, Lacking::Refuse).map(Result::unwrap);
        assert_eq!(heard[1].0, message);
        sound(&both);
    }
}

/// Rows 16, 20 and 21 of the table of attacks: a maker of either party is killed before each of its messages.
/// Before it has a share, nothing has begun. Afterwards its own party burns the epoch at once, and the peer
/// burns it in the next connection. No program uses an item of the epoch.
#[test]
fn rows_16_and_21_a_maker_that_is_lost_without_a_word_burns_the_epoch() {
    for role in 0..2 {
        // The maker's messages in order: the greeting (0); a batch, its record and its end (1 to 3); `Stored`
        // (4); `Made` (5); the same five for the second step (6 to 10); the phases (11).
        let (first, last) = (1, 11);
        for at in 0..=last {
            let both = Together::new(0, 0);
            let mut crew = Crew::new([[false; 3]; 2]);
            // If the garbler has no threads, its makers are the first workers, which have a share of each
            // step.
            if role == 0 {
                crew = Crew::new([[true; 3], [false; 3]]);
            }
            let filled = fill(&both, &crew.lot(role, 0, Lot::Dies(at)), &STEPS);
            let lost = &filled[role].0;
            assert!(matches!(lost, Err(Error::Io(_))), "{role} {at}: {lost:?}");
            let why = burned(&both, role);
            let share = (first..last).contains(&at);
            assert_eq!(why.is_some(), share, "{role} {at}: {why:?} {lost:?}");
            assert!(why.is_none_or(|why| why.contains("without a report")));
            assert!(!share || lost.as_ref().is_err_and(|lost| lost.to_string().contains("without a report")));
            assert!(burned(&both, 1 - role).is_none(), "the peer only saw that the connection ended");
            sound(&both);
            drop(both.try_open([Fate::Lives; 2]));
            assert_eq!(burned(&both, 1 - role).is_some(), share, "{role} {at}");
            goes_on(&both);
        }
    }
}

/// Rows 17 and 21 of the table of attacks: if a maker reports that it lost the peer, this counts like any
/// other lost worker, so no epoch is burned.
#[test]
fn row_21_a_maker_that_says_that_it_lost_the_peer_burns_nothing() {
    for (role, fate) in [0, 1]
        .into_iter()
        .flat_map(|role| [Fate::DiesBeforeFilling, Fate::DiesAfterFilling].map(|fate| (role, fate)))
    {
        // Either the thread at the other end dies, or the maker's own session.
        for dies in [role, 1 - role] {
            let mut makers = [[false; 3]; 2];
            makers[role] = [true; 3];
            let both = Together::new(0, 0);
            let filled = fill(&both, &Crew::new(makers).fate(dies, 1, fate), &STEPS);
            for (done, _) in &filled {
                let why = done.as_ref().map_err(ToString::to_string);
                assert!(why.is_err_and(|why| why.contains("given up")), "{role} {dies} {fate:?}: {done:?}");
            }
            assert_eq!([burned(&both, 0), burned(&both, 1)], [None, None]);
            let (id, _) = both.stores[role].epochs().unwrap()[0];
            assert_eq!(both.stores[role].state(&id).unwrap().given_up().steps, 1);
            sound(&both);
            goes_on(&both);
        }
    }
}

/// Row 16 of the table of attacks: a peer cheats against a maker. The maker reports it, and the coordinator
/// burns the epoch before the maker closes its connection.
#[test]
fn row_16_a_peer_that_cheats_at_a_maker_burns_the_epoch() {
    for (cheater, worker) in [(0, 1), (1, 0), (1, 2)] {
        let honest = 1 - cheater;
        let mut makers = [[false; 3]; 2];
        makers[honest] = [true; 3];
        let both = Together::new(0, 0);
        let filled = fill(&both, &Crew::new(makers).fate(cheater, worker, Fate::FillsAnother), &STEPS);
        let (done, ends) = &filled[honest];
        assert!(
            done.as_ref().is_err_and(|e| e.is_cheat(brickwork_base::Malformed::UnexpectedMessage)),
            "{done:?}"
        );
        let saw = |end: &&Option<Result<u32, Error>>| matches!(end, Some(Err(Error::Peer(_))));
        assert_eq!(ends.iter().filter(saw).count(), 1, "{ends:?}");
        assert!(burned(&both, honest).is_some_and(|why| why.contains("the peer cheated")));
        let (id, _) = both.stores[honest].epochs().unwrap()[0];
        assert!(both.stores[honest].secrets(&id).is_err(), "its secrets are gone");
        sound(&both);
        goes_on(&both);
    }
}

/// Row 18 of the table of attacks: an invalid message of a maker ends the step and burns the epoch, because
/// nothing from this maker can be trusted. The error does not accuse the peer.
#[test]
fn row_18_a_broken_maker_is_refused() {
    fn again(said: Said) -> Vec<u8> {
        postcard::to_stdvec(&said).unwrap()
    }
    let changes: [(usize, Change); 9] = [
        // The case of a batch with another number, or one that no file can contain, after the greeting.
        (1, |bytes| *bytes = again(Said::Begin { serial: 1 << 30, bulk: None })),
        (1, |bytes| {
            let Ok(Said::Begin { serial, .. }) = read(bytes) else { panic!("another message") };
            let bulk = Some(Bulk { units: u32::MAX, unit_bytes: u64::MAX / 2, each: 1 });
            *bytes = again(Said::Begin { serial, bulk });
        }),
        (1, |bytes| *bytes = again(Said::Stored)),
        (1, |bytes| *bytes = again(Said::Made)),
        (1, |bytes| *bytes = vec![0xff; 100]),
        // The case of a record of a batch that has not begun, or with more bytes than follow.
        (2, |bytes| *bytes = again(Said::Record { serial: 7, first: 0, items: 1, bytes: 32 })),
        (2, |bytes| *bytes = again(Said::Record { serial: 7, first: 0, items: 1, bytes: u64::MAX })),
        (3, |bytes| *bytes = again(Said::Stored)),
        (4, |bytes| *bytes = again(Said::Greeted { number: 0 })),
    ];
    for (at, change) in changes {
        let both = Together::new(0, 0);
        let crew = Crew::new([[false; 3], [false, true, true]]).lot(1, 1, Lot::Says(at, change));
        let filled = fill(&both, &crew, &STEPS);
        assert!(matches!(&filled[1].0, Err(Error::Io(_))), "{at}: {:?}", filled[1].0);
        assert!(burned(&both, 1).is_some_and(|why| why.contains("without a report")), "{at}");
        sound(&both);
        goes_on(&both);
    }
}

/// Row 24 of the table of attacks: two makers with one number, a maker with an unknown number, and makers
/// with another step are refused.
#[test]
fn row_24_makers_of_others_are_refused() {
    for name in [0u32, 1, 3, u32::MAX] {
        let both = Together::new(0, 0);
        fn greeted<const NAME: u32>(bytes: &mut Vec<u8>) {
            *bytes = postcard::to_stdvec(&Said::Greeted { number: NAME }).unwrap();
        }
        let change = match name {
            0 => greeted::<0>,
            1 => greeted::<1>,
            3 => greeted::<3>,
            _ => greeted::<{ u32::MAX }>,
        };
        let crew = Crew::new([[false; 3], [true; 3]]).lot(1, 2, Lot::Says(0, change));
        let filled = fill(&both, &crew, &STEPS);
        assert!(matches!(&filled[1].0, Err(Error::Peer(_))), "{name}: {:?}", filled[1].0);
        assert_eq!(both.left(1), [], "nothing has begun");
        goes_on(&both);
    }
}

/// Row 21 of the table of attacks: a coordinator dies while makers have the epoch's secrets. The next process
/// that opens the store burns the epoch, in any step.
#[test]
fn row_21_a_coordinator_that_dies_leaves_a_burn_behind() {
    let (key, role) = (StoreKey::from_bytes([7; 32]), Party::Garbler);
    for before in [true, false] {
        let both = Together::new(1, 4);
        let (id, _) = both.stores[0].epochs().unwrap()[0];
        let step = brickwork_store::FillStep { job: [1; 32], number: 0, of: 1, risk: 1, workers: 2 };
        for entry in [EpochEntry::Fill(step), EpochEntry::Lent] {
            let _ = both.stores[0].append(&id, &entry).unwrap();
        }
        if !before {
            let _ = both.stores[0].append(&id, &EpochEntry::Returned).unwrap();
        }
        // No other entry may follow before the makers have reported.
        assert_eq!(both.stores[0].append(&id, &EpochEntry::Stored).is_err(), before);
        assert!(both.stores[0].append(&id, &EpochEntry::Lent).is_err());
        let path = both.world.root.path().join(format!("{role:?}"));
        drop(both.stores);
        let store = Store::open(&path, &key).unwrap();
        let why = store.state(&id).unwrap().burned().map(str::to_owned);
        assert_eq!(why.is_some(), before, "{why:?}");
        assert!(why.is_none_or(|why| why.contains("makers had the secrets")));
    }
}

/// Row 18 of the table of attacks: a message is read completely or refused, and writing it again gives the
/// same bytes.
#[test]
fn row_18_words_are_bounded() {
    let cheat = Error::from(brickwork_base::Malformed::UnexpectedMessage);
    let word = Word::of(&cheat);
    assert!(word.clone().into_error().is_cheat(brickwork_base::Malformed::UnexpectedMessage));
    let long = Word::of(&Error::Stock("x".repeat(1 << 20)));
    assert!(matches!(&long, Word::Stock(why) if why.len() <= MAX_TEXT_BYTES));
    assert_eq!(Word::of(&std::io::Error::from(Stopped).into()), Word::Stopped);
    let bytes = postcard::to_stdvec(&Said::Ended(word)).unwrap();
    assert!((0..bytes.len()).all(|end| read(&bytes[..end]).is_err()) && read(&bytes).is_ok());
}

/// Row 18 of the table of attacks: any bytes are read as a message or refused, and an error never accuses the
/// peer.
#[test]
fn row_18_no_word_is_too_much() {
    let batch = Batch { kind: 1, name: "b".into(), component: [2; 32], header: vec![3; 40] };
    let words = [
        Said::Greeted { number: 1 },
        Said::Begin { serial: 1 << 20, bulk: Some(Bulk { units: 7, unit_bytes: 1 << 20, each: 1 }) },
        Said::Record { serial: 1 << 20, first: 5, items: 6, bytes: 1 << 10 },
        Said::Finish { serial: 1 << 20, batch },
        Said::Ended(Word::Cheated(["part", "check", "says"].map(str::to_owned))),
        Said::Phases(vec![("setup".into(), 0.5, [1, 2])]),
    ];
    let mut rng = Rng::replayable("words of a maker");
    let (mut refused, mut taken) = (0, 0);
    for word in &words {
        let bytes = postcard::to_stdvec(word).unwrap();
        for _ in 0..2000 {
            let mut altered = bytes.clone();
            let mut draw = [0; 8];
            rng.fill(&mut draw);
            altered[draw[0] as usize % bytes.len()] ^= draw[1];
            altered[draw[2] as usize % bytes.len()] ^= draw[3] & draw[4];
            altered.truncate(if draw[5] < 200 { bytes.len() } else { draw[6] as usize });
            match read(&altered) {
                Ok(_) => taken += 1,
                Err(error) => {
                    assert!(matches!(error, Error::Io(_)), "the error must not accuse a peer: {error:?}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 100 && taken > 100, "{refused} {taken}");
}

/// Row 18 of the table of attacks: a coordinator stops a maker that announces more batches, records or bytes
/// than a share may have.
#[test]
fn row_18_a_maker_announces_no_more_than_a_share_may_have() {
    let both = Together::new(1, 4);
    let store = &both.stores[0];
    let (id, _) = store.epochs().unwrap()[0];
    let step = brickwork_store::FillStep { job: [1; 32], number: 0, of: 1, risk: 1, workers: 1 };
    let _ = store.append(&id, &EpochEntry::Fill(step)).unwrap();
    let (number, _) = store.state(&id).unwrap().open().unwrap();
    let serial = |k: u64| brickwork_store::serial(number, k);
    // A record has sixteen units of one byte.
    let bulk = |records: u64| Some(Bulk { units: 16 * records as u32, unit_bytes: 1, each: 1 });
    let begin = |k: u64, bulk| Said::Begin { serial: serial(k), bulk };
    let ends = |messages: &mut dyn Iterator<Item = Said>| {
        let (mut maker, coordinator) = memory_pair();
        messages.for_each(|said| say(&mut maker, &said).unwrap());
        maker.flush().unwrap();
        drop(maker);
        heard(coordinator, store, &id, number).expect_err("no share was made").to_string()
    };
    let [foreign, bytes] = ["does not belong to its share", "announced more bytes"];
    let most = MAX_OPEN as u64;
    for (count, refused) in [(most, false), (most + 1, true)] {
        let why = ends(&mut (0..count).map(|k| begin(k, None)));
        assert_eq!(why.contains(foreign), refused, "{count} batches: {why}");
    }
    for (records, refused) in [(MAX_RECORDS - 1, false), (MAX_RECORDS, true)] {
        let why = ends(&mut [begin(0, bulk(records)), begin(1, bulk(1))].into_iter());
        assert_eq!(why.contains(foreign), refused, "{records} records: {why}");
    }
    assert!(ends(&mut [begin(0, None), begin(0, None)].into_iter()).contains(foreign));
    let record = |bytes| Said::Record { serial: serial(0), first: 0, items: 1, bytes };
    let part = |bytes| Said::Bulk { serial: serial(0), first: 0, at: 0, bytes };
    for (begun, more) in [
        (None, record(brickwork_store::MAX_RECORD_BYTES as u64 + 1)),
        (None, part(1)),
        (bulk(1), part(17)),
        (bulk(MAX_RECORDS), part(brickwork_store::MAX_RECORD_BYTES as u64 + 1)),
    ] {
        let why = ends(&mut [begin(0, begun), more].into_iter());
        assert!(why.contains(bytes), "{begun:?}: {why}");
    }
}
