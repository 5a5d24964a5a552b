//! Rows 4, 6 and 20 of the table of attacks (docs/concepts/security.md, section 14). A broken connection
//! counts as an attempt only if the party that went away may have seen that its cheat would be caught. While
//! stock is made, one party dies before each message in turn.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

use brickwork::cut_and_choose::Upper;
use brickwork::disk::Store;
use brickwork::ot::Cot;
use brickwork::protocol::AgreedJob;
use brickwork::wire::{Channel, Tag};
use brickwork::{authenticated, compgc, duplo, jimu, lego, semi_honest};

use super::disk::{Folders, KEY};
use super::*;

const BOTH: [Party; 2] = [Party::Garbler, Party::Evaluator];

/// For each party, the message before which it records an attempt, because the message tells the peer whether
/// its cheat would be caught. `None` if the attempts of this party do not count.
type Exposing = [Option<Tag>; 2];

/// Fills a protocol's store with the items for two of the smallest programs.
type Fill<'f> = &'f (dyn Fn(Party, Channel, &Store) -> Result<(), Error> + Sync);

/// One party's part in a run.
type Act<'a> = &'a (dyn Fn(Party, Channel) -> Result<(), Error> + Sync);

/// A protocol: its name, the exposing messages of a step for each party, and the function that fills its
/// store.
type Protocol<'f> = (&'f str, Exposing, Fill<'f>);

/// A message that was sent, or that a party was about to send when it went away.
type Sent = (Party, Tag);

/// Both parties fill their stores; one party dies before its message of this number.
fn connect(
    folders: &Folders,
    fill: Fill,
    gone: Option<(Party, usize)>,
) -> ([Result<(), Error>; 2], Vec<Sent>) {
    talk(&|party, channel| fill(party, channel, &Store::open(&folders.of(party), &KEY)?), gone)
}

/// Both parties act; one party dies before its message of this number.
fn talk(act: Act, gone: Option<(Party, usize)>) -> ([Result<(), Error>; 2], Vec<Sent>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let (mut left, mut right) = memory_pair();
    for (party, channel) in BOTH.into_iter().zip([&mut left, &mut right]) {
        let (sent, mut count) = (sent.clone(), 0);
        channel.set_tamper(Box::new(move |tag, _| {
            sent.lock().unwrap().push((party, tag));
            if gone == Some((party, count)) {
                resume_unwind(Box::new("it goes away"));
            }
            count += 1;
        }));
    }
    let one = |party: Party, channel| {
        let acted = catch_unwind(AssertUnwindSafe(|| act(party, channel)));
        acted.unwrap_or_else(|_| Err(io::Error::other("it went away").into()))
    };
    let results = std::thread::scope(|scope| {
        let garbler = scope.spawn(|| one(Party::Garbler, left));
        let evaluator = one(Party::Evaluator, right);
        [garbler.join().unwrap(), evaluator]
    });
    let sent = std::mem::take(&mut *sent.lock().unwrap());
    (results, sent)
}

/// Returns the sum of a party's failed attempts, and the number of steps that it has made.
fn counted(folders: &Folders, party: Party) -> (u128, usize) {
    let store = folders.store(party);
    let vain = store.accounts().unwrap().iter().map(|(_, vain)| vain).sum();
    let states = store.epochs().unwrap().into_iter().map(|(id, _)| store.state(&id).unwrap());
    let states: Vec<_> = states.collect();
    assert!(states.iter().all(|state| state.burned().is_none()), "nothing burns for a broken line");
    (vain, states.iter().map(|state| state.made().count()).sum())
}

/// Returns the numbers of the messages before which a party dies: the first and the last one of each tag.
fn tried(sent: &[Sent], party: Party) -> Vec<usize> {
    let own: Vec<Tag> = sent.iter().filter(|(of, _)| *of == party).map(|(_, tag)| *tag).collect();
    let is_tried = |k: &usize| {
        let is_it = |other: &Tag| *other == own[*k];
        !own[..*k].iter().any(is_it) || !own[*k + 1..].iter().any(is_it)
    };
    (0..own.len()).filter(is_tried).collect()
}

/// Breaks the connection before the messages of a filling. Checks that each break costs at most as much as
/// the peer can have learnt. Then both parties make the same step.
fn play((name, exposing, fill): Protocol) {
    let folders = Folders::new();
    let (honest, sent) = connect(&folders, fill, None);
    assert!(honest.iter().all(Result::is_ok), "{name}: {honest:?}");
    // Each setup counts as a small attempt.
    let setups = BOTH.map(|party| counted(&folders, party).0);
    let security = terms().security;
    assert!(setups.iter().all(|&setup| setup <= security.units() >> 20), "{name}: {setups:?}");
    let mut costs: BTreeMap<u128, Vec<String>> = BTreeMap::new();
    for party in BOTH {
        for k in tried(&sent, party) {
            let folders = Folders::new();
            let (results, sent) = connect(&folders, fill, Some((party, k)));
            assert!(results[party as usize].is_err(), "{name}");
            let last = *sent.iter().rfind(|(of, _)| *of == party).unwrap();
            for counts in BOTH {
                let (vain, made) = counted(&folders, counts);
                let exposing = exposing[counts as usize].map(|tag| (counts, tag));
                let is_exposed = sent.iter().filter(|sent| Some(**sent) == exposing).count() > made;
                let cost = vain.saturating_sub(setups[counts as usize]);
                // A step that ends before its challenge costs no more than a setup.
                let more = cost > setups[counts as usize];
                // A step that makes only OTs risks nothing.
                let is_right = if made == 0 { more == is_exposed } else { !more || is_exposed };
                assert!(is_right, "{name}: {counts:?} where {last:?} is not sent: {cost}");
                // So 64 breaks still cost less than the promise of a run.
                assert!(cost * 64 < security.units(), "{name}: {cost}");
                costs.entry(cost).or_default().push(format!("{:?} {}", last.0, last.1.0));
            }
            let (again, _) = connect(&folders, fill, None);
            assert!(again.iter().all(Result::is_ok), "{name}: {last:?}: {again:?}");
        }
    }
    for (cost, mut places) in costs {
        places.sort();
        places.dedup();
        let cuts = security.units().checked_div(cost);
        let cuts = cuts.map_or("any number of cuts".into(), |cuts| format!("{cuts} cuts"));
        let of = Upper::fixed(cost).log2();
        println!("counted: {name}: {cuts} of 2^{of:.1} before {} messages: {places:?}", places.len());
    }
    let none = exposing == [None; 2];
    assert_eq!(setups == [0; 2], none, "{name}");
}

/// Rows 4, 6 and 20 of the table of attacks: attempts whose connection breaks are counted, in each protocol
/// that has stock.
#[test]
fn row_04_a_broken_line_costs_what_it_can_have_taught() {
    let program = program(0, Recipient::Both);
    let challenge = |tag| [None, Some(Tag(tag))];
    let request = Request { ots: Some(8), ..Request::of(&program) };
    play(("duplo", challenge(50), &|party, channel, store| {
        let line = duplo::Stocked::open(party, channel, store, &terms(), Unobserved)?;
        line.preprocess(std::slice::from_ref(&request))?.1.close().map(drop)
    }));
    let request = lego::Request::of(&program).unwrap();
    play(("lego", challenge(203), &|party, channel, store| {
        let line = lego::Stocked::open(party, channel, store, &terms(), Unobserved)?;
        line.preprocess(&request)?.1.close().map(drop)
    }));
    for unit in jimu::Unit::ALL {
        let request = jimu::Request::of(&program, unit).unwrap();
        play(("jimu", challenge(231), &|party, channel, store| {
            let line = jimu::Stocked::open(party, channel, store, &terms(), Unobserved)?;
            line.preprocess(&request)?.1.close().map(drop)
        }));
    }
    let request = authenticated::Request::of(&program).unwrap();
    play(("authenticated", [Some(Tag(131)), Some(Tag(132))], &|party, channel, store| {
        let cot = Cot::default();
        let line = authenticated::Stocked::open(party, channel, store, &terms(), cot, Unobserved)?;
        line.preprocess(&request)?.1.close().map(drop)
    }));
    let request = compgc::Request::of(&program).unwrap();
    play(("compgc", [None; 2], &|party, channel, store| {
        let line = compgc::Stocked::open(party, channel, store, &terms(), Unobserved)?;
        line.preprocess(&request)?.1.close().map(drop)
    }));
    play(("semi-honest", [None; 2], &|party, channel, store| {
        let line = semi_honest::Stocked::open(party, channel, store, &terms(), Unobserved)?;
        line.preprocess(100)?.1.close().map(drop)
    }));
}

/// Breaks a run without stock before each message of either party. The other party's error is deniable after
/// its exposing message, until it reads the peer's message `covered[0]`. It has certainly read that message
/// when it sends its own message `covered[1]`.
fn play_in_memory(name: &str, exposing: Exposing, covered: [Option<[Tag; 2]>; 2], act: Act) {
    let (honest, sent) = talk(act, None);
    assert!(honest.iter().all(Result::is_ok), "{name}: {honest:?}");
    let mut ends = [[0; 2]; 2];
    for party in BOTH {
        let victim = BOTH[1 - party as usize];
        for k in tried(&sent, party) {
            let (results, sent) = talk(act, Some((party, k)));
            let Err(error) = &results[victim as usize] else { continue };
            assert!(matches!(error, Error::Io(_)), "{name}: {error}");
            let of = |who: Party| sent.iter().filter(move |(of, _)| *of == who).map(|(_, tag)| *tag);
            let said = |tag: Tag| of(victim).any(|other| other == tag);
            let is_covered = covered[victim as usize].is_some_and(|[_, own]| said(own));
            if covered[victim as usize].is_some_and(|[covers, _]| of(party).take(k).any(|tag| tag == covers))
                && !is_covered
            {
                continue;
            }
            let is_exposed = exposing[victim as usize].is_some_and(said) && !is_covered;
            assert_eq!(error.is_deniable(), is_exposed, "{name}: {victim:?}: {error}: {sent:?}");
            ends[victim as usize][usize::from(is_exposed)] += 1;
        }
    }
    for (victim, [plain, deniable]) in BOTH.into_iter().zip(ends) {
        let exposes = exposing[victim as usize].is_some();
        assert!(plain > 0 && exposes == (deniable > 0), "{name}: {victim:?}: {plain}, {deniable}");
    }
}

/// Rows 4 and 6 of the table of attacks: without stock no attempts are counted. So the error itself warns
/// that the peer may have gone away because it would have been caught.
#[test]
fn row_04_without_stock_a_deniable_end_says_so() {
    let job = AgreedJob::new(program(0, Recipient::Both), 40, terms().identities);
    let input = vec![false; WIDTH as usize];
    let challenge = |tag| [None, Some(Tag(tag))];
    play_in_memory("duplo", challenge(50), [None; 2], &|party, channel| match party {
        Party::Garbler => duplo::garbler(channel, &job, &input, Unobserved).map(drop),
        Party::Evaluator => duplo::evaluator(channel, &job, &input, Unobserved).map(drop),
    });
    play_in_memory("lego", challenge(203), [None; 2], &|party, channel| match party {
        Party::Garbler => lego::garbler(channel, &job, &input, Unobserved).map(drop),
        Party::Evaluator => lego::evaluator(channel, &job, &input, Unobserved).map(drop),
    });
    let unit = jimu::Unit::ALL[0];
    play_in_memory("jimu", challenge(231), [None; 2], &|party, channel| match party {
        Party::Garbler => jimu::garbler(channel, &job, unit, &input, Unobserved).map(drop),
        Party::Evaluator => jimu::evaluator(channel, &job, unit, &input, Unobserved).map(drop),
    });
    let cot = Cot::default();
    let exposing = [Some(Tag(131)), Some(Tag(132))];
    let covered = [Some([Tag(132), Tag(133)]), Some([Tag(133), Tag(137)])];
    play_in_memory("authenticated", exposing, covered, &|party, channel| match party {
        Party::Garbler => authenticated::garbler(channel, &job, cot, &input, Unobserved).map(drop),
        Party::Evaluator => authenticated::evaluator(channel, &job, cot, &input, Unobserved).map(drop),
    });
    play_in_memory("semi-honest", [None; 2], [None; 2], &|party, channel| match party {
        Party::Garbler => semi_honest::garbler(channel, &job, 1, &input, Unobserved).map(drop),
        Party::Evaluator => semi_honest::evaluator(channel, &job, 1, &input, Unobserved).map(drop),
    });
}
