//! Rows 16 and 20 to 25 of the table of attacks (docs/concepts/security.md, section 14): no item is used
//! twice, whatever fault the disk has.

#![allow(clippy::single_range_in_vec_init, reason = "items are lists of ranges")]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::index::{EPOCHS, PAIRS};
use super::*;
use brickwork_base::place::write_at;
use brickwork_base::{Error, Party, Security};

const KEY: StoreKey = StoreKey::from_bytes([7; 32]);
const ID: EpochId = [3; 32];

fn epoch() -> Epoch {
    Epoch {
        protocol: "test".into(),
        version: 1,
        role: Party::Garbler,
        security: Security::of(40),
        identities: [[1; 32], [2; 32]],
        created: 5,
        max_age: u64::MAX,
        fixed: 0,
        early: 0,
        counted: crate::Counted::Nothing,
    }
}

fn batch(name: &str) -> Batch {
    Batch { kind: 0, name: name.into(), component: [9; 32], header: vec![1, 2, 3] }
}

/// The serials of the two batches that the first step makes.
const ONE: Serial = 1 << 16;
const TWO: Serial = ONE + 1;

fn step(job: u8, number: u32, of: u32) -> FillStep {
    FillStep { job: [job; 32], number, of, risk: 0, workers: 1 }
}

/// Returns a unit of the bulk, whose twenty units lie in two records of sixteen and four.
fn unit(serial: Serial, i: u32) -> Vec<u8> {
    vec![serial as u8 ^ (8 * i as u8); UNIT_BYTES as usize]
}

const UNIT_BYTES: u64 = 50;
const BULK: Bulk = Bulk { units: 20, unit_bytes: UNIT_BYTES, each: 2 };

/// Returns the units of an item: one in each record of the bulk.
fn units_of(item: u8) -> [u32; 2] {
    [item.into(), u32::from(item) + 10]
}

/// The bytes of an item in its record: the numbers of its two units, and two bytes of its own.
const ITEM_BYTES: usize = 2 * 4 + 2;

/// Writes a batch of ten items in records of 4, 4 and 2. Item i of batch b has the two bytes (b, i), which
/// come after the unit numbers of all items. The bulk is written first, and its last unit before its other
/// units.
fn put(store: &Store, serial: Serial, name: &str) -> Result<(), Error> {
    let mut writer = store.writers(&ID).begin(serial, Some(BULK))?;
    for units in [16..20, 0..16] {
        writer.put(units.start, 0, &mut units.clone().flat_map(|i| unit(serial, i)).collect::<Vec<_>>())?;
    }
    for items in [0..4u8, 4..8, 8..10] {
        let (first, count) = (items.start.into(), items.len() as u32);
        let units = items.clone().flat_map(units_of).flat_map(u32::to_le_bytes);
        writer.record(
            first,
            count,
            units.chain(items.flat_map(|i| [serial as u8, i])).collect::<Vec<_>>().into(),
        )?;
    }
    store.put(&ID, serial, &batch(name), writer, &Chain::of(&[1; 32]))
}

fn take(serial: Serial, count: u32) -> EpochEntry {
    EpochEntry::Use { program: [4; 32], taken: vec![(serial, count)] }
}

/// Takes items of the first batch, and returns the item numbers that their bytes contain.
fn draw(store: &Store, count: u32) -> Result<Vec<u8>, Error> {
    let before = store.state(&ID)?.gone(ONE);
    let taken = store.append(&ID, &take(ONE, count))?;
    assert_eq!(taken.items(), [(ONE, vec![before..before + u64::from(count)])]);
    let drawn = read(store, &taken)?;
    // Units can be read in any order.
    assert_eq!(store.read_units(&taken, ONE, &[19, 0, 8, 0])?, [19, 0, 8, 0].map(|i| unit(ONE, i)).concat());
    refused(store.read_units(&taken, ONE, &[20]), "does not have the requested units");
    refused(store.read_units(&taken, TWO, &[0]), "used up or burned");
    Ok(drawn)
}

/// Reads taken items, and returns the item numbers that their bytes contain.
fn read(store: &Store, taken: &TakenEntry) -> Result<Vec<u8>, Error> {
    let mut drawn = Vec::new();
    store.read(taken, |serial, record| {
        let (items, mut of_batch) =
            (record.items as usize, taken.items().iter().filter(|(of, _)| *of == serial));
        assert_eq!(record.bytes.len(), ITEM_BYTES * items);
        let of_batch: Vec<_> = of_batch.by_ref().flat_map(|(_, items)| items.clone()).collect();
        for (k, item) in record.bytes[(ITEM_BYTES - 2) * items..].chunks(2).enumerate() {
            assert_eq!((item[0], u64::from(item[1])), (serial as u8, record.first + k as u64));
            if of_batch.iter().any(|items| items.contains(&item[1].into())) {
                drawn.push(item[1]);
            }
        }
        Ok(())
    })?;
    Ok(drawn)
}

/// A bulk is written completely, in whole records, and each record only once.
#[test]
fn a_bulk_is_written_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &KEY).unwrap();
    store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))).unwrap();
    let writer = store.writers(&ID).begin(ONE, Some(BULK)).unwrap();
    let wrong = |first: u32, at: u64, length: u64| {
        let result = writer.put(first, at, &mut vec![1; length as usize]);
        assert!(matches!(result, Err(Error::Usage(_))), "{first} {at} {length}: {result:?}");
    };
    wrong(1, 0, 19 * UNIT_BYTES);
    wrong(0, 0, UNIT_BYTES);
    wrong(0, 1, 16 * UNIT_BYTES);
    wrong(20, 0, UNIT_BYTES);
    wrong(16, 0, 5 * UNIT_BYTES);
    writer.put(0, 0, &mut vec![1; 16 * UNIT_BYTES as usize]).unwrap();
    wrong(0, 0, 16 * UNIT_BYTES);
    let files = || fs::read_dir(directory.path().join("segments")).unwrap().count();
    assert_eq!(files(), 1);
    assert!(
        matches!(store.put(&ID, ONE, &batch("one"), writer, &Chain::of(&[1; 32])), Err(Error::Usage(_))),
        "is not complete"
    );
    // No file of the batch is left.
    assert_eq!((files(), store.batches(&ID).unwrap().len()), (0, 0));
    put(&store, ONE, "one").unwrap();
    // A bulk without units, or with empty units, does not count as complete.
    for bulk in [None, Some(Bulk { units: 0, ..BULK }), Some(Bulk { unit_bytes: 0, ..BULK })] {
        let writer = store.writers(&ID).begin(TWO, bulk).unwrap();
        assert!(matches!(writer.put(0, 0, &mut []), Err(Error::Usage(_))), "{bulk:?}");
    }
}

/// The data of a step that is given up is removed when the next step begins, without opening the store again.
/// Nothing else is removed.
#[test]
fn what_is_given_up_goes_with_the_next_step() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &KEY).unwrap();
    let files = || fs::read_dir(directory.path().join("segments")).unwrap().count();
    store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    let begin = |job| drop(store.append(&ID, &EpochEntry::Fill(step(job, 0, 1))).unwrap());
    begin(1);
    put(&store, ONE, "one").unwrap();
    for entry in [EpochEntry::Stored, EpochEntry::Made] {
        let _ = store.append(&ID, &entry).unwrap();
    }
    let open = || store.state(&ID).unwrap().open().unwrap().0;
    for _ in 0..3 {
        begin(2);
        put(&store, serial(open(), 1), "again").unwrap();
        let _ = store.append(&ID, &EpochEntry::Stored).unwrap();
        assert_eq!((files(), store.batches(&ID).unwrap().len()), (2, 2));
    }
    begin(3);
    assert_eq!((files(), store.batches(&ID).unwrap().len()), (1, 1));
    let _ = draw(&store, 1).unwrap();
}

/// Makes a batch of one item whose bulk is written in these parts: the first unit, the position in it, and
/// the bytes. The item is taken.
fn with_bulk(store: &Store, bulk: Bulk, parts: &[(u32, usize, &[u8])]) -> TakenEntry {
    store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))).unwrap();
    let mut writer = store.writers(&ID).begin(ONE, Some(bulk)).unwrap();
    parts.iter().for_each(|(first, at, bytes)| writer.put(*first, *at as u64, &mut bytes.to_vec()).unwrap());
    writer.record(0, 1, vec![1, 2].into()).unwrap();
    store.put(&ID, ONE, &batch("one"), writer, &Chain::of(&[1; 32])).unwrap();
    for entry in [EpochEntry::Stored, EpochEntry::Made] {
        let _ = store.append(&ID, &entry).unwrap();
    }
    store.append(&ID, &take(ONE, 1)).unwrap()
}

/// Units are read wherever they lie in the bulk.
#[test]
fn units_that_lie_far_apart_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &KEY).unwrap();
    let bulk = Bulk { units: 300, unit_bytes: UNIT_BYTES, each: 0 };
    let all: Vec<Vec<u8>> = (0..300u32).map(|i| vec![(i ^ i >> 3) as u8; UNIT_BYTES as usize]).collect();
    let taken = with_bulk(&store, bulk, &[(0, 0, &all.concat())]);
    for wanted in [&[1, 256][..], &[299, 16, 17, 0, 15], &[250, 3, 49, 48, 3]] {
        let expected: Vec<u8> = wanted.iter().flat_map(|&i| all[i as usize].clone()).collect();
        assert!(store.read_units(&taken, ONE, wanted).unwrap() == expected, "{wanted:?}");
    }
}

/// A unit of more than 32 MiB is written and read in chunks.
#[test]
fn a_large_unit_is_pieced_together() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &KEY).unwrap();
    let unit: Vec<u8> = (0..(32 << 20) + 50).map(|i: u32| (i >> 5 ^ i >> 20) as u8).collect();
    let (first, last) = unit.split_at(32 << 20);
    let taken = with_bulk(
        &store,
        Bulk { units: 1, unit_bytes: unit.len() as u64, each: 0 },
        &[(0, first.len(), last), (0, 0, first)],
    );
    assert!(store.read_units(&taken, ONE, &[0]).unwrap() == unit);
}

fn filled(directory: &Path) -> Store {
    let store = Store::open(directory, &KEY).unwrap();
    store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))).unwrap();
    put(&store, ONE, "one").unwrap();
    put(&store, TWO, "two").unwrap();
    for entry in [EpochEntry::Stored, EpochEntry::Made, EpochEntry::Confirmed] {
        let _ = store.append(&ID, &entry).unwrap();
    }
    store
}

fn refused<T>(result: Result<T, Error>, why: &str) {
    match result {
        Err(Error::Stock(text)) if text.contains(why) => {}
        Err(other) => panic!("{other} instead of {why}"),
        Ok(_) => panic!("not refused: {why}"),
    }
}

#[test]
fn row_16_every_item_is_read_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    assert_eq!(draw(&store, 3).unwrap(), [0, 1, 2]);
    drop(store);
    let store = Store::open(directory.path(), &KEY).unwrap();
    assert_eq!(store.secrets(&ID).unwrap(), EpochSecrets::fixed(b"secrets"));
    assert_eq!(store.epochs().unwrap(), [(ID, epoch())]);
    let left: Vec<_> =
        store.batches(&ID).unwrap().into_iter().map(|b| (b.serial, b.batch, b.items, b.left)).collect();
    assert_eq!(left, [(ONE, batch("one"), 10, 7), (TWO, batch("two"), 10, 10)]);
    assert_eq!(draw(&store, 6).unwrap(), [3, 4, 5, 6, 7, 8]);
    refused(draw(&store, 2), "1 items left");
    assert_eq!(draw(&store, 1).unwrap(), [9]);
    // An entry that names a batch twice counts the items of both.
    let twice = EpochEntry::Use { program: [0; 32], taken: vec![(TWO, 6), (TWO, 5)] };
    refused(store.append(&ID, &twice), "items left");
    // A later step has other serials, and no entry can follow a burn.
    refused(store.writer(&ID, ONE + 2).map(drop), "cannot be added");
    let _ = store.append(&ID, &EpochEntry::Fill(step(2, 0, 1))).unwrap();
    refused(store.writer(&ID, ONE + 2).map(drop), "cannot be added");
    let number = store.state(&ID).unwrap().shared();
    assert!(store.writer(&ID, crate::serial(number, 0)).is_ok());
    let segments = || fs::read_dir(directory.path().join("segments")).unwrap().count();
    assert_eq!(segments(), 2);
    let _ = store.append(&ID, &EpochEntry::Burned("the peer cheated".into())).unwrap();
    refused(store.append(&ID, &take(TWO, 1)), "the peer cheated");
    refused(store.secrets(&ID), "burned");
    assert!(store.batches(&ID).unwrap().is_empty());
    assert_eq!(segments(), 0);
}

/// Row 16 of the table of attacks: if an entry takes from a batch twice, it gets different items each time.
#[test]
fn row_16_a_batch_that_is_named_twice_gives_other_items() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let taken = vec![(TWO, 2), (ONE, 1), (TWO, 3)];
    let taken = store.append(&ID, &EpochEntry::Use { program: [4; 32], taken }).unwrap();
    assert_eq!(taken.items(), [(TWO, vec![0..2]), (ONE, vec![0..1]), (TWO, vec![2..5])]);
}

/// Row 16 of the table of attacks: only records with taken items can be read.
#[test]
fn row_16_only_what_was_taken_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    for (count, expected) in [(4, &[0][..]), (3, &[4]), (2, &[4, 8]), (1, &[8])] {
        let taken = store.append(&ID, &take(ONE, count)).unwrap();
        let mut records = Vec::new();
        let each = |_, record: Record| {
            records.push(record.first);
            Ok(())
        };
        store.read(&taken, each).unwrap();
        assert_eq!(records, expected);
    }
}

/// Names of the files in a folder, in order.
fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Row 23 of the table of attacks: the segment of a used batch is removed when the store is opened again. An
/// unknown file is moved aside, and so is another unknown file with the same name.
#[test]
fn row_23_an_unknown_file_is_moved_aside() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    draw(&store, 10).unwrap();
    let (segments, unknown) = (store.segments(), directory.path().join("unknown"));
    drop(store);
    let strange = ["00.segment", "11.unfinished", "note.txt"];
    for again in 0..3 {
        strange.iter().for_each(|name| fs::write(segments.join(name), format!("{name} {again}")).unwrap());
        let store = Store::open(directory.path(), &KEY).unwrap();
        let batches = store.batches(&ID).unwrap();
        // The index still has the parameters of the used batch.
        let left: Vec<_> = batches.iter().map(|batch| (batch.serial, batch.left, batch.bytes > 0)).collect();
        assert_eq!(left, [(ONE, 0, false), (TWO, 10, true)]);
        assert!(matches!(&names(&segments)[..], [two] if two.ends_with(".segment") && two.len() == 40));
        store.verify().unwrap();
    }
    let expected = strange.map(|name| [name.to_owned(), format!("{name}.1"), format!("{name}.2")]).concat();
    assert_eq!(names(&unknown), expected);
    for (again, name) in expected.iter().enumerate().map(|(k, name)| (k % 3, name)) {
        let text = fs::read_to_string(unknown.join(name)).unwrap();
        assert_eq!(text, format!("{} {again}", strange.iter().find(|s| name.starts_with(**s)).unwrap()));
    }
}

/// Row 23 of the table of attacks: a folder without an index becomes a new store only if it contains no other
/// file. If the index was moved away and is back, nothing is lost.
#[test]
fn row_23_a_missing_index_is_no_new_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let incomplete = |why: &str| {
        for opened in
            [Store::open(path, &KEY), Store::view(path, &KEY), Store::exists(path).map(|_| panic!())]
        {
            assert!(matches!(&opened, Err(Error::Incomplete(text)) if text.contains(why)), "{opened:?}");
        }
    };
    drop(filled(path));
    let segments = names(&path.join("segments"));
    fs::rename(path.join("index.redb"), path.join("away")).unwrap();
    incomplete("away");
    fs::rename(path.join("away"), path.join("../away")).unwrap();
    incomplete("keys");
    let folders = ["keys", "lock", "segments"].map(String::from).to_vec();
    assert_eq!((names(path), names(&path.join("segments"))), (folders, segments));
    fs::rename(path.join("../away"), path.join("index.redb")).unwrap();
    assert!(Store::exists(path).unwrap());
    Store::open(path, &KEY).unwrap().verify().unwrap();
    // These files show earlier use: a service's budgets, a job's lane, files that were moved aside, or a
    // user's file.
    for name in ["runs", "attempt", "ledger", "said", "unknown", "notes.txt"] {
        let other = tempfile::tempdir_in(path).unwrap();
        fs::write(other.path().join(name), "").unwrap();
        let opened = Store::open(other.path(), &KEY);
        assert!(matches!(&opened, Err(Error::Incomplete(why)) if why.contains(name)), "{opened:?}");
        assert_eq!(names(other.path()), [name]);
    }
    // The remains of a process that died while it made a store do not prevent a new store.
    let other = tempfile::tempdir_in(path).unwrap();
    ["keys", "segments"].iter().for_each(|name| fs::create_dir(other.path().join(name)).unwrap());
    ["lock", "index.unfinished"].iter().for_each(|name| fs::write(other.path().join(name), "").unwrap());
    assert!(!Store::exists(other.path()).unwrap());
    drop(filled(other.path()));
}

/// Row 23 of the table of attacks: an older copy of the index beside newer segments removes no segment that
/// the newer index needs. The copy may be there by mistake, or a backup restores the index last.
#[test]
fn row_23_an_older_index_removes_nothing_that_a_newer_one_needs() {
    let directory = tempfile::tempdir().unwrap();
    let (path, index) = (directory.path(), directory.path().join("index.redb"));
    let store = Store::open(path, &KEY).unwrap();
    let mut older = Vec::new();
    let mut copy = || older.push(fs::read(&index).unwrap());
    copy();
    store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    copy();
    for (job, serials) in [(1, [ONE, TWO]), (2, [4 << 16, (4 << 16) + 1])] {
        for again in 0..2 {
            let _ = store.append(&ID, &EpochEntry::Fill(step(job, 0, 1))).unwrap();
            copy();
            let number = store.state(&ID).unwrap().shared();
            for k in 0..2 {
                put(&store, serial(number, k), "some").unwrap();
                copy();
            }
            if again == 1 || job == 1 {
                assert_eq!(serials, [0, 1].map(|k| serial(number, k)));
                for entry in [EpochEntry::Stored, EpochEntry::Made, EpochEntry::Confirmed] {
                    let _ = store.append(&ID, &entry).unwrap();
                    copy();
                }
                break;
            }
        }
    }
    let (segments, unknown) = (store.segments(), path.join("unknown"));
    drop(store);
    let newest = fs::read(&index).unwrap();
    let needed = names(&segments);
    assert_eq!((needed.len(), older.len()), (4, 17));
    let mut moved = 0;
    for (k, old) in older.iter().enumerate() {
        fs::write(&index, old).unwrap();
        drop(Store::open(path, &KEY).unwrap());
        for name in names(&unknown) {
            fs::rename(unknown.join(&name), segments.join(&name)).unwrap();
            moved += 1;
        }
        fs::write(&index, &newest).unwrap();
        let store = Store::open(path, &KEY).unwrap();
        assert_eq!((names(&segments), names(&unknown)), (needed.clone(), vec![]), "{k}");
        store.verify().unwrap();
    }
    assert!(moved > 20, "{moved}");
}

/// Row 21 of the table of attacks: the data of a process that died in a step is removed only when the step is
/// given up.
#[test]
fn row_21_an_interrupted_step_is_removed_when_it_is_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let segments = directory.path().join("segments");
    let store = Store::open(directory.path(), &KEY).unwrap();
    store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))).unwrap();
    put(&store, ONE, "one").unwrap();
    let mut writer = store.writers(&ID).begin(TWO, None).unwrap();
    writer.record(0, 1, vec![1].into()).unwrap();
    let kept = directory.path().join("kept");
    let unfinished = names(&segments).into_iter().find(|name| name.ends_with(".unfinished")).unwrap();
    fs::copy(segments.join(&unfinished), &kept).unwrap();
    drop((writer, store));
    for _ in 0..2 {
        // The process died while it wrote this file.
        fs::copy(&kept, segments.join(&unfinished)).unwrap();
        let store = Store::open(directory.path(), &KEY).unwrap();
        assert_eq!(names(&segments).len(), 2);
        let _ = store.append(&ID, &EpochEntry::Confirmed).unwrap();
        assert_eq!(names(&segments).len(), 2);
    }
    let store = Store::open(directory.path(), &KEY).unwrap();
    let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))).unwrap();
    assert_eq!(names(&segments).len(), 0);
    drop(store);
    // The file is removed at the latest when the store is opened again.
    fs::copy(&kept, segments.join(&unfinished)).unwrap();
    drop(Store::open(directory.path(), &KEY).unwrap());
    assert_eq!((names(&segments).len(), directory.path().join("unknown").exists()), (0, false));
}

#[test]
fn row_24_one_process_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let again = Store::open(directory.path(), &KEY);
    assert!(
        matches!(&again, Err(Error::Busy(why)) if why.contains("another process uses the store")),
        "{again:?}"
    );
    drop(store);
    refused(Store::open(directory.path(), &StoreKey::from_bytes([8; 32])), "key");
    Store::open(directory.path(), &KEY).unwrap();
}

/// A store that another process has open can be viewed, and shows its present state, even if it was never
/// closed. Nothing can be changed or taken through a view.
#[test]
fn a_store_that_is_open_can_be_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    refused(Store::view(directory.path(), &KEY), "index.redb");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is made");
    let store = filled(directory.path());
    let told = |store: &Store| (store.log(&ID).unwrap(), store.batches(&ID).unwrap(), store.pairs().unwrap());
    for count in [1, 3, 6] {
        let view = Store::view(directory.path(), &KEY).unwrap();
        assert_eq!(told(&view), told(&store));
        assert!(view.missing(&ID).unwrap().is_empty());
        draw(&store, count).unwrap();
        assert_ne!(told(&view), told(&store), "reading a store must not change it");
    }
    let view = Store::view(directory.path(), &KEY).unwrap();
    assert_eq!(view.batches(&ID).unwrap().iter().map(|batch| batch.left).collect::<Vec<_>>(), [0, 10]);
    for result in [
        view.append(&ID, &EpochEntry::Burned("test".into())).map(drop),
        view.begin(&[8; 32], &epoch(), &EpochSecrets::fixed(b"secrets")),
        view.set_pair(&epoch().relation(), &[1; 32]),
        view.secrets(&ID).map(drop),
        view.forget(&ID),
    ] {
        assert!(result.is_err(), "{result:?}");
    }
    refused(Store::view(directory.path(), &StoreKey::from_bytes([8; 32])), "key");
    // The error names the missing part.
    fs::read_dir(store.segments()).unwrap().for_each(|file| fs::remove_file(file.unwrap().path()).unwrap());
    let view = Store::view(directory.path(), &KEY).unwrap();
    assert_eq!(view.missing(&ID).unwrap().iter().map(|(serial, _)| *serial).collect::<Vec<_>>(), [TWO]);
}

/// A store that is written to all the time can be viewed. A view always shows the state on the disk.
#[test]
fn a_store_that_changes_can_be_looked_at() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..200 {
                let _ = store.append(&ID, &EpochEntry::Confirmed).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut last = 0;
        while !done.load(Ordering::Relaxed) {
            match Store::view(directory.path(), &KEY) {
                Ok(view) => {
                    let now = view.log(&ID).unwrap().len();
                    assert!(now >= last, "it went back");
                    last = now;
                }
                Err(error) => refused::<()>(Err(error), "all the time"),
            }
        }
    });
    assert_eq!(Store::view(directory.path(), &KEY).unwrap().log(&ID).unwrap().len(), 204);
}

/// Row 21 of the table of attacks: incomplete batches are not used, and steps must come in their order.
#[test]
fn row_21_unfinished_batches_are_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &KEY).unwrap();
    store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    for bad in [step(1, 1, 2), step(1, 1, 1), step(1, 0, 0)] {
        refused(store.append(&ID, &EpochEntry::Fill(bad)), "out of order");
    }
    let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 2))).unwrap();
    put(&store, ONE, "one").unwrap();
    refused(store.append(&ID, &take(ONE, 1)), "never finished");
    let _ = store.append(&ID, &EpochEntry::Stored).unwrap();
    refused(store.append(&ID, &take(ONE, 1)), "never finished");
    let _ = store.append(&ID, &EpochEntry::Made).unwrap();
    refused(store.append(&ID, &EpochEntry::Fill(step(1, 1, 3))), "out of order");
    assert_eq!(draw(&store, 1).unwrap(), [0]);
}

/// Row 21 of the table of attacks: a step is stored and completed once, in this order, and a completed job
/// may be done again.
#[test]
fn row_21_a_step_is_finished_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &KEY).unwrap();
    store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    let nothing = |store: &Store, entry: EpochEntry| refused(store.append(&ID, &entry), "no step is open");
    for entry in [EpochEntry::Stored, EpochEntry::Made] {
        nothing(&store, entry);
    }
    let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))).unwrap();
    nothing(&store, EpochEntry::Made);
    put(&store, ONE, "one").unwrap();
    for entry in [EpochEntry::Stored, EpochEntry::Made] {
        let _ = store.append(&ID, &entry).unwrap();
    }
    for entry in [EpochEntry::Stored, EpochEntry::Made] {
        nothing(&store, entry);
    }
    let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))).unwrap();
    // Another step was stored, so this step cannot be completed.
    nothing(&store, EpochEntry::Made);
}

/// Row 23 of the table of attacks: a row is valid only for its own table and key.
#[test]
fn row_23_a_row_serves_at_no_other_place() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let row = vec![1_u8, 2, 3];
    let (_, key, sealed) = store.sealed(PAIRS, ID.to_vec(), &row).unwrap();
    let sealed = sealed.unwrap();
    assert_eq!(store.open_row::<Vec<u8>>(PAIRS, &key, &sealed).unwrap(), row);
    refused(store.open_row::<Vec<u8>>(EPOCHS, &key, &sealed), "altered");
    refused(store.open_row::<Vec<u8>>(PAIRS, &[4; 32], &sealed), "altered");
    refused(store.open_row::<Vec<u8>>(PAIRS, &key[1..], &sealed), "altered");
    // Encrypting again uses a new nonce. Two texts encrypted under one nonce would reveal their sum and the
    // authentication key.
    let (_, _, again) = store.sealed(PAIRS, key, &row).unwrap();
    assert_ne!(again.unwrap()[..12], sealed[..12]);
}

/// Row 22 of the table of attacks: after a failed write, a store returns neither secrets nor items that were
/// taken before. Nothing can be added either.
#[test]
fn row_22_nothing_comes_out_of_a_store_that_failed() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let taken = store.append(&ID, &take(ONE, 2)).unwrap();
    store.read(&taken, |_, _| Ok(())).unwrap();
    store.shared.poisoned.by(&Error::Stock("test".into()));
    let failed = "an earlier write to the store failed (stock: test)";
    refused(store.secrets(&ID), failed);
    refused(store.read(&taken, |_, _| panic!("an item was read")), failed);
    refused(store.read_units(&taken, ONE, &[0]), failed);
    refused(store.append(&ID, &take(ONE, 1)), failed);
    refused(store.writer(&ID, ONE + 2).map(drop), failed);
}

/// Row 23 of the table of attacks: a batch consists only of the records of its own writer.
#[test]
fn row_23_a_writer_serves_one_batch() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &KEY).unwrap();
    store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))).unwrap();
    let writer = store.writer(&ID, TWO).unwrap();
    assert!(
        matches!(store.put(&ID, ONE, &batch("one"), writer, &Chain::of(&[1; 32])), Err(Error::Usage(why))
            if why.contains("another batch"))
    );
    // Only serials of this step are accepted.
    refused(store.writer(&ID, ONE - 1).map(drop), "cannot be added");
    refused(store.writer(&ID, 2 << 16).map(drop), "cannot be added");
    put(&store, ONE, "one").unwrap();
    refused(store.writer(&ID, ONE).map(drop), "cannot be added");
}

/// Row 23 of the table of attacks: an error names a missing file before anything is used. `verify` reads all
/// files.
#[test]
fn row_23_missing_segments_and_secrets_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let segments: Vec<_> = fs::read_dir(store.segments()).unwrap().map(|file| file.unwrap().path()).collect();
    let bytes: u64 = segments.iter().map(|path| path.metadata().unwrap().len()).sum();
    assert_eq!((segments.len(), store.verify().unwrap()), (2, bytes));
    store.present(&ID).unwrap();
    for path in &segments {
        let good = fs::read(path).unwrap();
        fs::remove_file(path).unwrap();
        refused(store.present(&ID), &path.display().to_string());
        fs::write(path, &good[1..]).unwrap();
        refused(store.present(&ID), &path.display().to_string());
        fs::write(path, &good).unwrap();
        store.present(&ID).unwrap();
    }
    let keys = key_file(&store);
    fs::write(&keys, vec![1; 8192]).unwrap();
    refused(store.verify(), "altered");
    refused(store.present(&ID), "altered");
    fs::remove_file(&keys).unwrap();
    refused(store.verify(), "does not have this epoch");
}

/// Row 23 of the table of attacks: a store whose keys of one epoch were altered can be opened. No item of
/// this epoch is used or burned, and the user can burn the epoch.
#[test]
fn row_23_an_epoch_without_its_keys_can_be_burned() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    fs::write(key_file(&store), vec![1; 8192]).unwrap();
    drop(store);
    let store = Store::open(directory.path(), &KEY).unwrap();
    let log = store.log(&ID).unwrap();
    refused(store.append(&ID, &take(ONE, 1)), "burn");
    assert_eq!(store.log(&ID).unwrap(), log);
    let _ = store.append(&ID, &EpochEntry::Burned("test".into())).unwrap();
    assert!(fs::read_dir(store.keys()).unwrap().next().is_none());
}

/// Row 25 of the table of attacks: the file of keys is an old copy beside a newer index. The keys advance to
/// the position of the log. If the keys of a batch are missing, the batch cannot be used. This is noticed
/// before anything is burned.
#[test]
fn row_25_keys_that_are_behind_their_index_go_forward() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &KEY).unwrap();
    let forward = Forward::of_setup(vec![7; 3]).behind();
    store.begin(&ID, &epoch(), &EpochSecrets { fixed: Vec::new(), forward }).unwrap();
    let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))).unwrap();
    let mut old = vec![fs::read(key_file(&store)).unwrap()];
    put(&store, ONE, "one").unwrap();
    put(&store, TWO, "two").unwrap();
    for entry in [EpochEntry::Stored, EpochEntry::Made] {
        let _ = store.append(&ID, &entry).unwrap();
    }
    old.push(fs::read(key_file(&store)).unwrap());
    for entry in [take(ONE, 3), EpochEntry::Confirmed] {
        let _ = store.append(&ID, &entry).unwrap();
    }
    let (keys, log) = (key_file(&store), store.log(&ID).unwrap());
    drop(store);
    for (old, has_items) in old.iter().zip([false, true]) {
        fs::write(&keys, old).unwrap();
        let store = Store::open(directory.path(), &KEY).unwrap();
        check_keys(&store, &store.state(&ID).unwrap());
        assert_eq!(store.present(&ID).is_ok(), has_items);
        match has_items {
            true => assert_eq!(draw(&store, 1).unwrap(), [3]),
            false => {
                refused(store.append(&ID, &take(ONE, 1)), "old copy");
                assert_eq!(store.log(&ID).unwrap(), log);
            }
        }
    }
}

/// Returns the key file of the only epoch.
fn key_file(store: &Store) -> PathBuf {
    let files: Vec<_> = fs::read_dir(store.keys()).unwrap().map(|file| file.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    file.clone()
}

/// Returns the sealed keys on the disk, of all versions.
fn sealed_keys(store: &Store) -> Vec<Vec<u8>> {
    let bytes = fs::read(key_file(store)).unwrap();
    let slots = bytes.chunks(bytes.len() / 2);
    slots.map(|slot| slot[12..52].to_vec()).filter(|sealed| sealed.iter().any(|&byte| byte != 0)).collect()
}

/// Checks that the keys are those of the next entry, and of each batch's first remaining item.
#[track_caller]
fn check_keys(store: &Store, state: &EpochState) {
    let kept = store.kept(&ID).unwrap();
    let mut forward = Forward::of_setup(vec![7; 3]);
    forward.go_to(state.shared() + 1).unwrap();
    assert_eq!(kept.secrets.forward, forward, "keys of another entry");
    for (serial, chain) in &kept.chains {
        let mut left = Chain::of(&[1; 32]);
        left.go_to(state.gone(*serial)).unwrap();
        assert_eq!(chain, &left, "keys of another item");
    }
}

/// Row 16 of the table of attacks: programs and steps leave no keys of used items, however they end. The keys
/// of remaining items stay.
#[test]
fn row_16_the_keys_of_what_was_used_are_erased() {
    let secrets =
        EpochSecrets { fixed: b"secrets".to_vec(), forward: Forward::of_setup(vec![7; 3]).behind() };
    for end in ["well", "failed", "killed"] {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path(), &KEY).unwrap();
        store.begin(&ID, &epoch(), &secrets).unwrap();
        let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))).unwrap();
        assert_eq!(store.secrets(&ID).unwrap(), secrets, "the step may use these keys");
        put(&store, ONE, "one").unwrap();
        put(&store, TWO, "two").unwrap();
        for entry in [EpochEntry::Stored, EpochEntry::Made] {
            let _ = store.append(&ID, &entry).unwrap();
        }
        assert_eq!(store.secrets(&ID).unwrap().forward.entry(), 3, "the keys after the step and its end");
        let before = sealed_keys(&store);
        assert_eq!(before.len(), 1);
        let taken = store.append(&ID, &take(ONE, 3)).unwrap();
        assert_eq!(taken.chain(ONE).unwrap(), &Chain::of(&[1; 32]));
        assert!(taken.chain(TWO).is_err());
        assert_eq!(store.secrets(&ID).unwrap().forward.entry(), 3, "the program may use these keys");
        match end {
            "well" => drop(store.append(&ID, &EpochEntry::Confirmed).unwrap()),
            "failed" => store.erase_used(&ID).unwrap(),
            _ => {
                drop(store);
                store = Store::open(directory.path(), &KEY).unwrap();
            }
        }
        let mut forward = secrets.forward.clone();
        forward.go_to(4).unwrap();
        assert_eq!(store.secrets(&ID).unwrap().forward, forward, "{end}");
        let after = sealed_keys(&store);
        assert!(after.len() == 1 && after != before, "{end}: the earlier version is overwritten");
        let mut chain = Chain::of(&[1; 32]);
        chain.go_to(3).unwrap();
        let taken = store.append(&ID, &take(ONE, 1)).unwrap();
        assert_eq!(taken.chain(ONE).unwrap(), &chain, "{end}");
        // No keys of a burned epoch remain.
        let _ = store.append(&ID, &EpochEntry::Burned("test".into())).unwrap();
        assert!(fs::read_dir(store.keys()).unwrap().next().is_none());
    }
}

/// Row 25 of the table of attacks: the index is an old copy beside newer keys. The keys of its items are
/// erased, and the error names this reason.
#[test]
fn row_25_an_index_that_is_behind_its_keys_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &KEY).unwrap();
    let forward = Forward::of_setup(vec![7; 3]).behind();
    store.begin(&ID, &epoch(), &EpochSecrets { fixed: Vec::new(), forward }).unwrap();
    let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))).unwrap();
    put(&store, ONE, "one").unwrap();
    for entry in [EpochEntry::Stored, EpochEntry::Made] {
        let _ = store.append(&ID, &entry).unwrap();
    }
    drop(store);
    let index = directory.path().join("index.redb");
    let old = fs::read(&index).unwrap();
    let store = Store::open(directory.path(), &KEY).unwrap();
    for entry in [take(ONE, 3), EpochEntry::Confirmed] {
        let _ = store.append(&ID, &entry).unwrap();
    }
    drop(store);
    fs::write(&index, old).unwrap();
    let store = Store::open(directory.path(), &KEY).unwrap();
    refused(store.secrets(&ID), "old copy");
    refused(store.append(&ID, &take(ONE, 1)), "old copy");
}

/// Row 23 of the table of attacks: a file of keys of an unknown epoch stays unchanged.
#[test]
fn row_23_keys_of_an_unknown_epoch_stay() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let keys = key_file(&store);
    let unknown = ["unfinished", "keys"].map(|kind| store.keys().join(format!("{}.{kind}", "07".repeat(32))));
    unknown.iter().for_each(|other| assert!(fs::copy(&keys, other).is_ok()));
    drop(store);
    drop(Store::open(directory.path(), &KEY).unwrap());
    unknown.iter().for_each(|other| assert_eq!(fs::read(other).unwrap(), fs::read(&keys).unwrap()));
}

/// Row 16 of the table of attacks: the ranges of an entry are returned only once, and no batch has a serial
/// of another entry.
#[test]
fn row_16_the_ranges_of_an_entry_are_handed_out_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &KEY).unwrap();
    store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    let mut firsts = Vec::new();
    for entry in [
        EpochEntry::Fill(step(1, 0, 1)),
        EpochEntry::Fill(step(1, 0, 1)),
        EpochEntry::Stored,
        EpochEntry::Made,
    ] {
        let mut taken = store.append(&ID, &entry).unwrap();
        match entry.is_shared() {
            true => firsts.push(taken.ranges().unwrap().take(&SERIALS).unwrap().next()),
            false => assert!(taken.ranges().is_err(), "a note has none"),
        }
        assert!(matches!(taken.ranges(), Err(Error::Usage(_))));
    }
    assert_eq!(firsts, [1, 2, 3].map(|entry| serial(entry, 0)));
    // A batch can only have a serial of the current step.
    let _ = store.append(&ID, &EpochEntry::Fill(step(2, 0, 1))).unwrap();
    let of_setup = Ranges::of_setup().take(&SERIALS).unwrap().next();
    for wrong in firsts.iter().chain([&of_setup, &serial(5, 0)]) {
        refused(store.writer(&ID, *wrong).map(drop), "cannot be added");
    }
    store.writer(&ID, serial(4, 0)).unwrap();
}

/// Row 16 of the table of attacks: the workers of a step have adjacent ranges, each returned once. Their
/// batches are completed together or not at all.
#[test]
fn row_16_workers_have_ranges_of_their_own() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &KEY).unwrap();
    store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    let by = |job, workers| EpochEntry::Fill(FillStep { workers, ..step(job, 0, 1) });
    for (wrong, why) in
        [(0, "1 to 256 workers"), (MAX_WORKERS + 1, "1 to 256 workers"), (u32::MAX, "is full")]
    {
        refused(store.append(&ID, &by(1, wrong)).map(drop), why);
    }
    // The first step is given up, so its three log numbers are not used again.
    let mut firsts = Vec::new();
    for (job, workers) in [(1, 3), (2, 1), (3, MAX_WORKERS)] {
        let mut taken = store.append(&ID, &by(job, workers)).unwrap();
        if workers > 1 {
            let mut other = store.append(&ID, &by(job, workers)).unwrap();
            assert!(matches!(other.ranges(), Err(Error::Usage(why)) if why.contains("several workers")));
            assert!(matches!(other.ranges_of_workers(), Err(Error::Usage(_))), "they are gone, too");
        }
        let all = taken.ranges_of_workers().unwrap();
        assert_eq!(all.len(), workers as usize);
        assert!(matches!(taken.ranges_of_workers(), Err(Error::Usage(_))));
        let counter = Counter::new("test", 5);
        for mut ranges in all {
            let serials = ranges.take(&SERIALS).unwrap().next();
            let mut numbers = ranges.take(&counter).unwrap();
            assert_eq!(counter.entry_of(numbers.draw(32).unwrap()), SERIALS.entry_of(serials));
            assert!(numbers.draw(1).is_err(), "the range of the next worker begins there");
            firsts.push(SERIALS.entry_of(serials));
        }
    }
    let last = u64::from(MAX_WORKERS);
    assert_eq!(firsts, [&[1, 2, 3, 7][..], &(8..8 + last).collect::<Vec<_>>()].concat());
    let state = store.state(&ID).unwrap();
    assert_eq!(state.shared(), 7 + 2 * last);
    // Only serials of the last step are allowed, for any of its workers.
    let open = |number| store.writer(&ID, serial(number, 0)).map(drop);
    let (first, end) = (8 + last, 8 + 2 * last);
    [first, first + 1, end - 1].into_iter().for_each(|number| open(number).unwrap());
    [1, 7, first - 1, end].into_iter().for_each(|number| refused(open(number), "cannot be added"));
    for number in [first, end - 1] {
        put(&store, serial(number, 0), "share").unwrap();
    }
    let left = || store.batches(&ID).unwrap().iter().map(|batch| batch.left).collect::<Vec<_>>();
    let take = |number| store.append(&ID, &take(serial(number, 0), 1)).map(drop);
    assert_eq!(left(), [0, 0]);
    let _ = store.append(&ID, &EpochEntry::Stored).unwrap();
    refused(take(first), "never finished");
    let _ = store.append(&ID, &EpochEntry::Made).unwrap();
    assert_eq!(left(), [10, 10]);
    refused(take(first - 1), "never finished");
    refused(take(end), "never finished");
    take(first).unwrap();
    take(end - 1).unwrap();
    // A program has run, so inputs depend on the epoch's secrets now.
    refused(store.append(&ID, &by(4, 2)).map(drop), "after the first program");
    let _ = store.append(&ID, &by(4, 1)).unwrap();
    store.verify().unwrap();
}

/// Row 16 of the table of attacks: no worker has a range after the last one of an epoch.
#[test]
fn row_16_workers_end_where_the_ranges_do() {
    let mut state = EpochState::new(&ID);
    let by = |job: u64, workers| {
        let mut name = [0; 32];
        name[..8].copy_from_slice(&job.to_le_bytes());
        EpochEntry::Fill(FillStep { job: name, number: 0, of: 1, risk: 0, workers })
    };
    let mut job = 0;
    while state.entries_left() >= u64::from(MAX_WORKERS) {
        state.apply(&by(job, MAX_WORKERS)).unwrap();
        job += 1;
    }
    let left = state.entries_left() as u32;
    assert_eq!(left, MAX_WORKERS - 1);
    refused(state.clone().apply(&by(job, MAX_WORKERS)), "is full");
    state.apply(&by(job, left)).unwrap();
    assert_eq!(state.entries_left(), 0);
    refused(state.clone().apply(&by(job, 1)), "is full");
    state.apply(&EpochEntry::Stored).unwrap();
    refused(state.apply(&EpochEntry::Made), "is full");
}

/// Row 16 of the table of attacks: an epoch begins once, and can be forgotten only while its log has no
/// shared entries.
#[test]
fn row_16_an_epoch_begins_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &KEY).unwrap();
    refused(store.log(&ID), "does not have this epoch");
    refused(store.state(&ID), "does not have this epoch");
    refused(store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))), "does not have this epoch");
    store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    refused(store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"others")), "already has this epoch");
    assert_eq!(store.secrets(&ID).unwrap(), EpochSecrets::fixed(b"secrets"));
    // A note that the peer has the same entries does not prevent the forgetting.
    let _ = store.append(&ID, &EpochEntry::Confirmed).unwrap();
    store.forget(&ID).unwrap();
    refused(store.state(&ID), "does not have this epoch");
    let store = {
        drop(store);
        filled(&directory.path().join("other"))
    };
    refused(store.forget(&ID), "still has items");
    assert_eq!(store.secrets(&ID).unwrap(), EpochSecrets::fixed(b"secrets"));
}

#[test]
fn keys_are_64_digits() {
    assert!(StoreKey::from_hex(&format!("{}\n", "0f".repeat(32))).is_ok());
    let bytes: [u8; 32] = std::array::from_fn(|i| 0x1e ^ (i as u8 * 37));
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    for digits in [&digits, &digits.to_uppercase()] {
        let sealed = StoreKey::from_hex(digits).unwrap().rows().seal(b"about", b"row").unwrap();
        assert_eq!(*StoreKey::from_bytes(bytes).rows().open(b"about", &sealed).unwrap(), *b"row");
    }
    for bad in ["", "0f", &"0f".repeat(31), &"0g".repeat(32), &"0f".repeat(33), &"é".repeat(32)] {
        assert!(matches!(StoreKey::from_hex(bad), Err(Error::Input(_))), "{bad}");
    }
}

/// Simulates a crash at change number `at`: a part of this write reaches the disk, and nothing after it does.
#[derive(Debug)]
struct EndOfTheWorld {
    at: usize,
    some: usize,
    /// True if only this change fails, so that it is an error and not a crash.
    only_once: bool,
    /// The system's error number.
    error: i32,
    seen: AtomicUsize,
}

impl Faults for EndOfTheWorld {
    fn before(&self, _: DiskChange) -> Result<(), (usize, io::Error)> {
        let now = self.seen.fetch_add(1, Ordering::Relaxed);
        let some = if now == self.at { self.some } else { 0 };
        match now < self.at || self.only_once && now > self.at {
            true => Ok(()),
            false => Err((some, io::Error::from_raw_os_error(self.error))),
        }
    }
}

/// Allows all changes, and records them.
#[derive(Debug, Default)]
struct Watched(Mutex<Vec<DiskChange>>);

impl Faults for Watched {
    fn before(&self, change: DiskChange) -> Result<(), (usize, io::Error)> {
        self.0.lock().unwrap().push(change);
        Ok(())
    }
}

/// Rows 21 and 22 of the table of attacks: a batch is durable before it gets its name, and the name is
/// durable before the index names it. (No test can show the effects of a power failure.)
#[test]
fn rows_21_and_22_a_batch_is_durable_before_it_has_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let watched = Arc::new(Watched::default());
    let store = Store::open_with(directory.path(), &KEY, watched.clone()).unwrap();
    store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))).unwrap();
    watched.0.lock().unwrap().clear();
    put(&store, ONE, "one").unwrap();
    let changes = watched.0.lock().unwrap();
    let named: Vec<usize> = (0..changes.len()).filter(|&i| changes[i] == DiskChange::Rename).collect();
    let [named] = named[..] else { panic!("{changes:?}") };
    assert_eq!(
        changes[named - 1..=named + 1],
        [DiskChange::Sync, DiskChange::Rename, DiskChange::Sync],
        "{changes:?}"
    );
    let writes = |change: &DiskChange| matches!(change, DiskChange::Write(_));
    assert!(
        changes[1..named - 1].iter().all(writes) && changes[named + 2..].iter().any(writes),
        "{changes:?}"
    );
}

/// A disk with room for ten MiB, which becomes full when the flag is set.
#[derive(Debug, Default)]
struct Full(AtomicBool);

impl Faults for Full {
    fn before(&self, _: DiskChange) -> Result<(), (usize, io::Error)> {
        if self.0.load(Ordering::Relaxed) { Err((0, io::ErrorKind::StorageFull.into())) } else { Ok(()) }
    }

    fn free_bytes(&self, _: &Path) -> Option<u64> {
        Some(10 << 20)
    }
}

/// A full disk is reported as a full disk, and not as missing stock, before an action begins and during it.
#[test]
fn a_full_disk_is_no_lack_of_stock() {
    let directory = tempfile::tempdir().unwrap();
    let disk = Arc::new(Full::default());
    let store = Store::open_with(directory.path(), &KEY, disk.clone()).unwrap();
    assert!(store.check_room(10 << 20).is_ok());
    let refused = store.check_room((10 << 20) + 1);
    let words = "needs at least 11 MiB of disk, but only 10 MiB are free";
    assert!(matches!(&refused, Err(Error::Resource(why)) if why.contains(words)), "{refused:?}");
    store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
    let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))).unwrap();
    disk.0.store(true, Ordering::Relaxed);
    let failed = [put(&store, ONE, "one"), store.keep_chain(&ID, ONE, &Chain::of(&[1; 32]))];
    assert!(failed.iter().all(|failed| matches!(failed, Err(Error::Resource(_)))), "{failed:?}");
}

/// A disk that fails as long as the flag is set.
#[derive(Debug, Default)]
struct Failing(AtomicBool);

impl Faults for Failing {
    fn before(&self, _: DiskChange) -> Result<(), (usize, io::Error)> {
        if self.0.load(Ordering::Relaxed) { Err((0, io::Error::from_raw_os_error(5))) } else { Ok(()) }
    }
}

/// Row 22 of the table of attacks: if any part of a batch cannot be written, its store returns nothing more.
#[test]
fn row_22_a_batch_that_cannot_be_written_poisons_its_store() {
    for failing in 0..4 {
        let directory = tempfile::tempdir().unwrap();
        let disk = Arc::new(Failing::default());
        let store = Store::open_with(directory.path(), &KEY, disk.clone()).unwrap();
        store.begin(&ID, &epoch(), &EpochSecrets::fixed(b"secrets")).unwrap();
        let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1))).unwrap();
        let now = |part: usize| disk.0.store(part == failing, Ordering::Relaxed);
        let write = || -> Result<(), Error> {
            now(0);
            let mut writer =
                store.writers(&ID).begin(ONE, Some(Bulk { units: 1, unit_bytes: UNIT_BYTES, each: 0 }))?;
            now(1);
            writer.put(0, 0, &mut [1; UNIT_BYTES as usize])?;
            now(2);
            writer.record(0, 1, vec![1, 2].into())?;
            now(3);
            store.put(&ID, ONE, &batch("one"), writer, &Chain::of(&[1; 32]))
        };
        refused(write(), "cannot write");
        // The store does not try again, even if the disk works again.
        now(4);
        refused(store.append(&ID, &EpochEntry::Stored), "an earlier write to the store failed");
        refused(store.secrets(&ID), "an earlier write to the store failed");
    }
}

/// The events that a caller of the store has seen.
#[derive(Default)]
struct Seen {
    drawn: BTreeSet<u8>,
    /// Batches whose writing was reported as successful.
    put: Vec<Serial>,
    /// The number of items that successful calls have burned.
    burned: u64,
    reached_the_end: bool,
    /// The changes of the disk while the store was open.
    changes: std::ops::Range<usize>,
}

fn story(directory: &Path, faults: Arc<EndOfTheWorld>, seen: &mut Seen) -> Result<(), Error> {
    let store = Store::open_with(directory, &KEY, faults.clone())?;
    let opened = faults.seen.load(Ordering::Relaxed);
    let result = chapters(&store, seen);
    seen.changes = opened..faults.seen.load(Ordering::Relaxed);
    if let Err(error) = &result {
        // Row 22 of the table of attacks: the error contains the system's message, and the store returns
        // nothing more.
        let said = io::Error::from_raw_os_error(faults.error).to_string();
        let says = matches!(error, Error::Stock(why) | Error::Resource(why) if why.contains(&said));
        assert!(says, "{error} does not say {said}");
        if store.shared.poisoned.none().is_err() {
            refused(store.append(&ID, &take(ONE, 1)), "an earlier write to the store failed");
            refused(
                store.begin(&[8; 32], &epoch(), &EpochSecrets::default()),
                "an earlier write to the store failed",
            );
        }
    }
    result
}

fn chapters(store: &Store, seen: &mut Seen) -> Result<(), Error> {
    let forward = Forward::of_setup(vec![7; 3]).behind();
    store.begin(&ID, &epoch(), &EpochSecrets { fixed: b"secrets".to_vec(), forward })?;
    let _ = store.append(&ID, &EpochEntry::Fill(step(1, 0, 1)))?;
    for serial in [ONE, TWO] {
        put(store, serial, "some")?;
    }
    let _ = store.append(&ID, &EpochEntry::Stored)?;
    let _ = store.append(&ID, &EpochEntry::Made)?;
    seen.put.extend([ONE, TWO]);
    for count in [3, 2] {
        for item in draw(store, count)? {
            assert!(seen.drawn.insert(item), "item {item} twice");
        }
        seen.burned += u64::from(count);
        let _ = store.append(&ID, &EpochEntry::Confirmed)?;
    }
    seen.reached_the_end = true;
    Ok(())
}

/// Rows 21 and 22 of the table of attacks: each write, fsync, rename, creation and removal fails in turn.
#[test]
fn rows_21_and_22_fresh_or_burned_at_every_point() {
    let (mut runs, mut during) = (0, 0);
    // The disk is full or has another error, once or from that change on. An interrupted write has written a
    // part.
    const FULL: i32 = 28;
    const FAULTY: i32 = 5;
    let kinds = [
        (0, false, FAULTY),
        (100, false, FULL),
        (usize::MAX, false, FAULTY),
        (0, true, FULL),
        (100, true, FAULTY),
    ];
    for (some, only_once, error) in kinds {
        for at in 0.. {
            let directory = tempfile::tempdir().unwrap();
            let mut seen = Seen::default();
            let end = Arc::new(EndOfTheWorld { at, some, only_once, error, seen: AtomicUsize::new(0) });
            let result = story(directory.path(), end.clone(), &mut seen);
            runs += 1;

            let store = Store::open(directory.path(), &KEY)
                .unwrap_or_else(|error| panic!("{at} {some} {only_once}: {error}"));
            store.verify().unwrap();
            // Only needed keys are on the disk. An empty epoch that did not get into the index may leave one
            // file.
            let files = fs::read_dir(store.keys()).unwrap().count();
            assert!(files <= 1, "{at}");
            if store.epochs().unwrap().is_empty() {
                assert!(seen.put.is_empty() && seen.drawn.is_empty());
            } else {
                assert_eq!(sealed_keys(&store).len(), 1, "{at}");
                let left: Vec<(Serial, u64)> =
                    store.batches(&ID).unwrap().into_iter().map(|b| (b.serial, b.left)).collect();
                assert!(
                    seen.put.iter().all(|serial| left.iter().any(|(s, _)| s == serial)),
                    "a batch is lost"
                );
                let state = store.state(&ID).unwrap();
                check_keys(&store, &state);
                assert!(state.is_made(ONE) || left.iter().all(|&(_, left)| left == 0), "an unfinished batch");
                assert!(
                    left.iter()
                        .all(|&(serial, left)| serial == ONE
                            || left == if state.is_made(TWO) { 10 } else { 0 }),
                    "lost"
                );
                let gone = state.gone(ONE);
                // The items of each program are all fresh or all burned, and at least the returned items are
                // burned.
                assert!(
                    [0, 3, 5].contains(&gone) && gone >= seen.burned && gone >= seen.drawn.len() as u64,
                    "{gone}"
                );
                if state.is_made(ONE) {
                    for item in draw(&store, 10 - gone as u32).unwrap() {
                        assert!(seen.drawn.insert(item), "item {item} twice");
                    }
                }
            }
            // Every failure while the store is open becomes an error. (An index that could not be closed
            // properly is repaired when it is opened again.)
            assert_eq!(result.is_ok(), seen.reached_the_end);
            assert!(
                result.is_err() || !seen.changes.contains(&at),
                "change {at} of {:?} failed unnoticed",
                seen.changes
            );
            during += usize::from(seen.changes.contains(&at));
            if end.seen.load(Ordering::Relaxed) <= at {
                result.unwrap();
                break;
            }
        }
    }
    println!("counted: {runs} ends and errors of a store's disk, {during} of them while the store was open");
    assert!(runs > during && during > 80, "{runs} runs, {during} of them while the store was open");
}

/// Bytes of a segment's header.
const HEADER: usize = 80;

/// Row 23 of the table of attacks: a changed bit, a wrong length, another segment's content, and a missing
/// file are detected.
#[test]
fn row_23_altered_segments_are_named() {
    let directory = tempfile::tempdir().unwrap();
    drop(filled(directory.path()));
    let mut paths: Vec<_> =
        fs::read_dir(directory.path().join("segments")).unwrap().map(|f| f.unwrap().path()).collect();
    paths.sort();
    let store = Store::open(directory.path(), &KEY).unwrap();
    let check = |why: &str| refused(store.verify(), why);
    let good = fs::read(&paths[0]).unwrap();
    let (file, name) =
        (fs::File::options().write(true).open(&paths[0]).unwrap(), paths[0].display().to_string());
    for (place, bit) in (0..good.len()).flat_map(|place| (0..8).map(move |bit| (place, bit))) {
        write_at(&file, &[good[place] ^ 1 << bit], place as u64).unwrap();
        let Err(Error::Stock(why)) = store.verify() else { panic!("byte {place}, bit {bit}") };
        assert!(
            why.contains(&name)
                && why.contains(if place < HEADER { "header" } else { "altered or exchanged" }),
            "{why}"
        );
        write_at(&file, &good[place..=place], place as u64).unwrap();
    }
    store.verify().unwrap();
    let records = HEADER + 20 * UNIT_BYTES as usize + 2 * 16;
    fs::write(&paths[0], &good[..good.len() - 1]).unwrap();
    check("cut off or exchanged");
    fs::write(&paths[0], fs::read(&paths[1]).unwrap()).unwrap();
    check("it was exchanged");
    // Two records of the segment are exchanged.
    let mut swapped = good.clone();
    let record = 4 * ITEM_BYTES + 16;
    swapped.copy_within(records..records + record, records + record);
    swapped[records..records + record].copy_from_slice(&good[records + record..records + 2 * record]);
    fs::write(&paths[0], &swapped).unwrap();
    check("record 2");
    fs::remove_file(&paths[0]).unwrap();
    check(&paths[0].display().to_string());
    fs::write(&paths[0], &good).unwrap();
    store.verify().unwrap();
}

/// Flips a bit of a file.
fn flip(path: &Path, place: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[place] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// Returns the segment of a batch.
fn segment_of(store: &Store, serial: Serial) -> std::path::PathBuf {
    super::segment::IndexedSegment::path(
        &store.segments(),
        &store.batch_row(&ID, serial).unwrap().1.segment.id,
    )
}

/// Returns the items of batch 1 that turn out to be damaged before a program's entry is written.
fn damaged(store: &Store, count: u32) -> Vec<(u64, u64)> {
    match store.open_items(&ID, &[(ONE, count)]).unwrap() {
        ReadResult::Sound(_) => Vec::new(),
        ReadResult::Damaged(EpochEntry::Damaged(items)) => items
            .into_iter()
            .map(|(serial, first, count)| (first, count * u64::from(serial == ONE)))
            .collect(),
        ReadResult::Damaged(other) => panic!("{other:?}"),
    }
}

/// Row 23 of the table of attacks: a damaged record costs only its own items, wherever the damage is. A
/// program takes the other items, and no item is taken twice.
#[test]
fn row_23_a_damaged_record_costs_itself() {
    let bulk = |record: usize| HEADER + record * (16 * UNIT_BYTES as usize + 16);
    let record = |record: usize| bulk(1) + 4 * UNIT_BYTES as usize + 16 + record * (4 * ITEM_BYTES + 16);
    // Every item has a unit in the bulk's first record, and items 6 to 9 also have one in the second.
    let all: Vec<u64> = (0..10).collect();
    let kinds = [
        (bulk(0) + 7, &all[..]),
        (bulk(1) + 7, &all[6..]),
        (record(0) + 7, &all[..4]),
        (record(1), &all[4..8]),
        (record(2) + 2 * ITEM_BYTES + 15, &all[8..]),
        (3, &[]),
    ];
    for (place, lost) in kinds {
        for before in [0, 1, 5] {
            let directory = tempfile::tempdir().unwrap();
            let store = filled(directory.path());
            let mut drawn = if before > 0 { draw(&store, before).unwrap() } else { Vec::new() };
            flip(&segment_of(&store, ONE), place);
            let lost: Vec<u64> = lost.iter().copied().filter(|item| *item >= before.into()).collect();
            let found = damaged(&store, 10 - before);
            let items: Vec<u64> = found.iter().flat_map(|(first, count)| *first..first + count).collect();
            assert_eq!(items, lost, "byte {place} behind {before}");
            // Finding the damage burned nothing. A program that does not need the damaged items does not find
            // the damage.
            assert_eq!(store.state(&ID).unwrap().gone(ONE), u64::from(before));
            if lost.first().is_some_and(|first| *first > before.into()) {
                assert_eq!(damaged(&store, 1), []);
            }
            if !found.is_empty() {
                let entry =
                    EpochEntry::Damaged(found.iter().map(|(first, count)| (ONE, *first, *count)).collect());
                let _ = store.append(&ID, &entry).unwrap();
                refused(store.append(&ID, &entry), "already used or removed");
            }
            drop(store);
            let store = Store::open(directory.path(), &KEY).unwrap();
            let left = 10 - u64::from(before) - lost.len() as u64;
            let now = &store.batches(&ID).unwrap()[0];
            assert_eq!((now.left, now.damaged), (left, lost.len() as u64));
            refused(store.append(&ID, &take(ONE, left as u32 + 1)), "items left");
            for count in [left / 2, left - left / 2].into_iter().filter(|count| *count > 0) {
                let ReadResult::Sound(opened) = store.open_items(&ID, &[(ONE, count as u32)]).unwrap() else {
                    panic!("byte {place} behind {before}")
                };
                let taken = store.append_opened(&ID, &take(ONE, count as u32), opened).unwrap();
                let again = read(&store, &taken).unwrap();
                assert_eq!(again.len() as u64, count);
                let units: Vec<u32> = again.iter().flat_map(|item| units_of(*item)).collect();
                let expected: Vec<u8> = units.iter().flat_map(|i| unit(ONE, *i)).collect();
                assert!(store.read_units(&taken, ONE, &units).unwrap() == expected);
                drawn.extend(again);
            }
            drawn.extend(lost.iter().map(|item| *item as u8));
            drawn.sort_unstable();
            assert_eq!(drawn, (0..10).collect::<Vec<u8>>(), "byte {place} behind {before}");
        }
    }
}

/// Row 16 of the table of attacks: records that were read before an entry was written are returned only for
/// that entry.
#[test]
fn row_16_what_was_read_early_is_handed_out_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    let open = || match store.open_items(&ID, &[(ONE, 3)]).unwrap() {
        ReadResult::Sound(opened) => opened,
        ReadResult::Damaged(_) => panic!("it is damaged"),
    };
    let early = open();
    let taken = store.append_opened(&ID, &take(ONE, 3), open()).unwrap();
    assert_eq!(read(&store, &taken).unwrap(), [0, 1, 2]);
    // In another state these records are not used: the program reads the next items.
    let taken = store.append_opened(&ID, &take(ONE, 3), early).unwrap();
    assert_eq!(read(&store, &taken).unwrap(), [3, 4, 5]);
    refused(store.open_items(&ID, &[(ONE, 5)]).map(drop), "4 items left");
    // The program gets the bytes that were on the disk when they were read.
    let opened = match store.open_items(&ID, &[(ONE, 2)]).unwrap() {
        ReadResult::Sound(opened) => opened,
        ReadResult::Damaged(_) => panic!("it is damaged"),
    };
    let taken = store.append_opened(&ID, &take(ONE, 2), opened).unwrap();
    let end = segment_of(&store, ONE).metadata().unwrap().len() as usize;
    (0..4 * ITEM_BYTES + 2 * ITEM_BYTES + 32).for_each(|k| flip(&segment_of(&store, ONE), end - 1 - k));
    assert_eq!(read(&store, &taken).unwrap(), [6, 7]);
    refused(read(&store, &taken), "altered");
}

/// Row 23 of the table of attacks: the user can give up unreadable items, for any reason. Afterwards no item
/// counts as missing, and programs use the others.
#[test]
fn row_23_what_is_given_up_is_not_asked_for() {
    for lost in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let store = filled(directory.path());
        draw(&store, 1).unwrap();
        let segment = segment_of(&store, ONE);
        match lost {
            true => fs::remove_file(&segment).unwrap(),
            false => [3, HEADER + 20 * UNIT_BYTES as usize + 2 * 16 + 7]
                .map(|at| flip(&segment, at))
                .into_iter()
                .collect(),
        }
        let (_, found) = store.examine().unwrap();
        let items: Vec<_> = found.iter().map(|damage| (damage.serial, damage.items.clone())).collect();
        match lost {
            true => assert_eq!(items, [(ONE, vec![1..10])]),
            false => assert_eq!(items, [(ONE, vec![1..4]), (ONE, vec![])]),
        }
        assert_eq!(store.missing(&ID).unwrap().len(), usize::from(lost));
        store.give_up(&found).unwrap();
        drop(store);
        let store = Store::open(directory.path(), &KEY).unwrap();
        assert!(store.examine().unwrap().1.is_empty() && store.missing(&ID).unwrap().is_empty());
        store.present(&ID).unwrap();
        let now = &store.batches(&ID).unwrap()[0];
        assert_eq!((now.left, now.damaged), (9, if lost { 9 } else { 3 }));
        assert_eq!(damaged(&store, 1), [(1, if lost { 9 } else { 3 })]);
        let _ = store.append(&ID, &EpochEntry::Damaged(vec![(ONE, 1, now.damaged)])).unwrap();
        let again = &store.batches(&ID).unwrap()[0];
        assert_eq!((again.left, again.damaged), (9 - now.damaged, now.damaged));
        if !lost {
            assert_eq!(damaged(&store, 6), []);
            let taken = store.append(&ID, &take(ONE, 6)).unwrap();
            assert_eq!(read(&store, &taken).unwrap(), [4, 5, 6, 7, 8, 9]);
        }
    }
}

/// Set this variable to flip a bit of every byte of the index.
const ALL_FLIPS: &str = "BRICKWORK_ALL_FLIPS";

/// Row 23 of the table of attacks: if the index was altered in any way, reading returns the data that was
/// written, or fails. There is one exception that the database cannot notice: its state before the last
/// commit. This is an old copy, which the peer refuses.
#[test]
fn row_23_an_altered_index_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(directory.path());
    assert_eq!(draw(&store, 3).unwrap(), [0, 1, 2]);
    let whole = |store: &Store| {
        format!("{:?}", (store.epochs(), store.state(&ID), store.batches(&ID), store.verify()))
    };
    let (expected, log) = (whole(&store), store.log(&ID).unwrap());
    drop(store);
    let path = directory.path().join("index.redb");
    let good = fs::read(&path).unwrap();
    std::panic::set_hook(Box::new(|info| {
        if !info.location().is_some_and(|l| l.file().contains("redb")) {
            eprintln!("{info}");
        }
    }));
    let used: Vec<usize> = (0..good.len()).filter(|&i| good[i] != 0).collect();
    let step = if std::env::var_os(ALL_FLIPS).is_some() { 1 } else { used.len() / 250 };
    let (mut refused, mut unused, mut older) = (0, 0, 0);
    for &place in used.iter().step_by(step) {
        let mut bad = good.clone();
        bad[place] ^= 1 << (place % 8);
        fs::write(&path, &bad).unwrap();
        match Store::open(directory.path(), &KEY) {
            Err(Error::Stock(_)) => refused += 1,
            Err(other) => panic!("{other}"),
            // The changed bit is in an unused page, or in a copy of the header that is not current.
            Ok(store) if whole(&store) == expected => unused += 1,
            Ok(store) => {
                let found = store.log(&ID).unwrap();
                assert!(log.starts_with(&found) && found.len() < log.len(), "byte {place}: {found:?}");
                older += 1;
            }
        }
    }
    let _ = std::panic::take_hook();
    println!(
        "counted: {refused} flips in the index refused, {unused} where nothing is read, {older} that give \
         an older state"
    );
    assert!(refused > 2 * unused && older < 64, "{refused} {unused} {older}");
}

/// Row 23 of the table of attacks: a damaged page of the index causes an error and not a panic. In the new
/// index the epoch is complete or burned, and no item is taken twice.
#[test]
fn row_23_a_damaged_index_is_made_anew() {
    // In the two cases the last entry is a note of this party, or takes items.
    [true, false].into_iter().for_each(made_anew);
}

fn made_anew(confirmed: bool) {
    let root = tempfile::tempdir().unwrap();
    let [sound, broken] = ["sound", "broken"].map(|name| root.path().join(name));
    let store = filled(&sound);
    assert_eq!(draw(&store, 3).unwrap(), [0, 1, 2]);
    if confirmed {
        let _ = store.append(&ID, &EpochEntry::Confirmed).unwrap();
    }
    drop(store);
    let good = fs::read(sound.join("index.redb")).unwrap();
    let kinds: [fn(&mut [u8]); 3] =
        [|page| page[7] ^= 4, |page| page[2048..].fill(0), |page| page.fill(0xa5)];
    let used: Vec<usize> = (0..good.len()).filter(|&at| good[at] != 0).collect();
    let pages: BTreeSet<usize> = used.iter().map(|at| at / 4096 * 4096).collect();
    let mut bad: Vec<Vec<u8>> = Vec::new();
    for (page, damage) in pages.into_iter().flat_map(|page| kinds.map(|kind| (page, kind))) {
        bad.push(good.clone());
        damage(&mut bad.last_mut().unwrap()[page..page + 4096]);
    }
    let step = if std::env::var_os(ALL_FLIPS).is_some() { 1 } else { used.len() / 100 };
    for &at in used.iter().step_by(step) {
        bad.push(good.clone());
        bad.last_mut().unwrap()[at] ^= 1 << (at % 8);
    }
    let [mut sound_all_the_same, mut burned, mut gone] = [0; 3];
    for bad in bad {
        copy(&sound, &broken);
        fs::write(broken.join("index.redb"), &bad).unwrap();
        if let Ok(store) = Store::open(&broken, &KEY) {
            // Taken items do not come back.
            assert_eq!(draw(&store, 7).unwrap(), [3, 4, 5, 6, 7, 8, 9]);
            drop(store);
            assert!(Store::rebuild(&broken, &KEY).unwrap().is_none());
            sound_all_the_same += 1;
            continue;
        }
        // A view finds the same damage, and changes nothing.
        refused(Store::view(&broken, &KEY), "index");
        let lost = Store::rebuild(&broken, &KEY).unwrap().expect("it is damaged");
        assert!(broken.join("unknown").join("index.redb").exists());
        let store = Store::open(&broken, &KEY).unwrap();
        if store.epochs().unwrap().is_empty() {
            gone += 1;
            continue;
        }
        assert_eq!(lost.burned, [ID]);
        assert!(store.state(&ID).unwrap().burned().is_some() && store.secrets(&ID).is_err());
        refused(store.append(&ID, &take(ONE, 1)), "burned");
        burned += 1;
    }
    println!(
        "counted: damage leaves {sound_all_the_same} sound, burns {burned}, and loses the row of {gone}"
    );
    assert!(sound_all_the_same > 0 && burned > gone, "{burned} {gone}");
}

/// Row 23 of the table of attacks: an index that was made again from an old log restores no stock.
#[test]
fn row_23_an_old_log_is_not_made_anew() {
    let root = tempfile::tempdir().unwrap();
    let (path, index) = (root.path().join("store"), root.path().join("store").join("index.redb"));
    let store = filled(&path);
    drop(store);
    let mut old = fs::read(&index).unwrap();
    let store = Store::open(&path, &KEY).unwrap();
    assert_eq!(draw(&store, 3).unwrap(), [0, 1, 2]);
    let _ = store.append(&ID, &EpochEntry::Confirmed).unwrap();
    drop(store);
    // The database cannot read its tables, but all rows are intact.
    old[..320].fill(0);
    fs::write(&index, &old).unwrap();
    let lost = Store::rebuild(&path, &KEY).unwrap().expect("it is damaged");
    // The database cannot tell whether there were notes, and none is found.
    assert_eq!(lost, Rebuilt { burned: vec![ID], notes_may_be_lost: true });
    assert!(Store::open(&path, &KEY).unwrap().state(&ID).unwrap().burned().is_some());
    // Nothing shows which version of the note is the last one.
    let store = Store::open(&path, &KEY).unwrap();
    store.write_notes(vec![store.note(b"runs", &7).unwrap()]).unwrap();
    drop(store);
    let mut noted = fs::read(&index).unwrap();
    noted[..320].fill(0);
    fs::write(&index, &noted).unwrap();
    refused(Store::rebuild(&path, &KEY), "how many runs the service has done");
    assert!(fs::read(&index).unwrap() == noted);
    // Another key decrypts no row.
    fs::write(&index, &old).unwrap();
    refused(Store::rebuild(&path, &StoreKey::from_bytes([8; 32])), "opens no file");
    assert!(fs::read(&index).unwrap() == old);
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    for folder in ["", "segments", "keys"] {
        fs::create_dir_all(to.join(folder)).unwrap();
        for file in fs::read_dir(from.join(folder))
            .unwrap()
            .map(Result::unwrap)
            .filter(|f| f.file_type().unwrap().is_file())
        {
            fs::copy(file.path(), to.join(folder).join(file.file_name())).unwrap();
        }
    }
}

/// Row 25 of the table of attacks: one of two parties restores an old copy. The honest case, a crash between
/// two burns, is not mistaken for this.
#[test]
fn row_25_an_old_copy_does_not_fit_the_peer() {
    let root = tempfile::tempdir().unwrap();
    let (mine, theirs, old) = (root.path().join("mine"), root.path().join("theirs"), root.path().join("old"));
    drop(filled(&mine));
    copy(&mine, &theirs);
    copy(&mine, &old);
    let (mut a, mut b) = (Store::open(&mine, &KEY).unwrap(), Store::open(&theirs, &KEY).unwrap());
    let verdicts = |a: &Store, b: &Store| {
        let (a, b) = (a.state(&ID).unwrap(), b.state(&ID).unwrap());
        (a.compare(&b.standing()), b.compare(&a.standing()))
    };
    assert_eq!(verdicts(&a, &b), (EpochVerdict::Same, EpochVerdict::Same));
    // One party has burned the items and the other has not, because of a crash in between. The party that is
    // behind burns them, too.
    let _ = a.append(&ID, &take(ONE, 2)).unwrap();
    assert_eq!(verdicts(&a, &b), (EpochVerdict::Ahead, EpochVerdict::Behind(take(ONE, 2))));
    let _ = b.append(&ID, &take(ONE, 2)).unwrap();
    assert_eq!(verdicts(&a, &b), (EpochVerdict::Same, EpochVerdict::Same));
    for store in [&mut a, &mut b] {
        let _ = store.append(&ID, &EpochEntry::Confirmed).unwrap();
    }
    // Now both parties know that both have the entry, so an old copy of either store is detected.
    let stale = Store::open(&old, &KEY).unwrap();
    assert_eq!(verdicts(&a, &stale), (EpochVerdict::Apart, EpochVerdict::Apart));
    // Here the peer is two entries behind, or has another entry at the same position.
    let _ = a.append(&ID, &take(ONE, 1)).unwrap();
    let _ = b.append(&ID, &take(TWO, 1)).unwrap();
    assert_eq!(verdicts(&a, &b), (EpochVerdict::Apart, EpochVerdict::Apart));
    // A lying peer sends an entry that differs from the one in its hash chain.
    let mut lie = a.state(&ID).unwrap().standing();
    lie.last.as_mut().unwrap().1 = take(ONE, 0);
    let before = Store::open(&root.path().join("third"), &KEY).unwrap();
    before.begin(&ID, &epoch(), &EpochSecrets::default()).unwrap();
    assert_eq!(before.state(&ID).unwrap().compare(&lie), EpochVerdict::Apart);
}
