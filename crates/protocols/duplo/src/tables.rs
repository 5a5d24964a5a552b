//! Stores the tables of the chosen copies at the evaluator until they are evaluated: in memory or, if they
//! are too large, in temporary files without a name. They are read message by message. Tables of a stock go
//! into a segment as they arrive.
//!
//! The garbler knows everything in such a file. Without a label of every input wire the file reveals nothing.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use super::{Cheat, Error};
use brickwork_base::pool;
use brickwork_primitives::garbling::TableSource;
use brickwork_primitives::spill::SpillFile;
use brickwork_store::BatchWriter;

/// The number of messages in memory while tables are written to files.
const MESSAGES_IN_HAND: usize = 4;

/// Sorts copies by their numbers. Tables are sent and stored in this order. Copies with close numbers share
/// hash keys, so they are garbled and evaluated side by side.
pub(super) fn ranked(copies: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..copies.len()).collect();
    order.sort_unstable_by_key(|&place| copies[place]);
    order
}

/// The tables of some chosen copies.
#[derive(Clone)]
pub(super) struct Tables {
    storage: Arc<TableStorage>,
    table_bytes: usize,
    /// For each copy its rank: the number of copies that are stored before it.
    ranks: Vec<u32>,
}

enum TableStorage {
    Memory(Vec<u8>),
    Files(Files),
    /// A segment whose bulk has the tables as units, in order.
    Segment(Box<BatchWriter>),
}

/// Tables in two files; messages go to the files in turn, because threads that write to one file wait for
/// each other.
struct Files {
    files: [SpillFile; 2],
    copies_a_message: usize,
    table_bytes: usize,
}

impl Files {
    fn new(copies_a_message: usize, table_bytes: usize) -> Result<Self, Error> {
        Ok(Files { files: [SpillFile::new()?, SpillFile::new()?], copies_a_message, table_bytes })
    }

    /// Returns the file and the position of the tables of the copy with this rank.
    fn place(&self, rank: usize) -> (&SpillFile, u64) {
        let (message, within) = (rank / self.copies_a_message, rank % self.copies_a_message);
        let before = message / self.files.len() * self.copies_a_message + within;
        (&self.files[message % self.files.len()], before as u64 * self.table_bytes as u64)
    }

    fn write(&self, message: usize, tables: &[u8]) -> Result<(), Error> {
        let (file, offset) = self.place(message * self.copies_a_message);
        file.write(tables, offset)
    }
}

/// The place where received tables are stored.
pub(super) enum TablePlace<'a> {
    /// Memory, if the tables fit into this much room, which then shrinks by their size; otherwise files.
    Here(&'a mut u64),
    /// In a segment whose bulk has a unit for each copy.
    Segment(Box<BatchWriter>),
}

impl Tables {
    /// Receives the tables of the copies in `order`, and checks them.
    ///
    /// # Errors
    /// The errors of `receive`; [`Error::Resource`] if a file has no room, [`Error::Stock`] if a segment has
    /// none, [`Cheat::ChosenTables`] if a check fails.
    pub fn receive(
        order: &[usize],
        table_bytes: usize,
        room: TablePlace,
        copies_a_message: usize,
        receive: impl FnMut(&mut [u8]) -> Result<(), Error>,
        check: impl Fn(usize, &[u8]) -> bool + Sync,
    ) -> Result<Tables, Error> {
        let total = order.len() as u64 * table_bytes as u64;
        let message = copies_a_message * table_bytes;
        let bad = AtomicBool::new(false);
        let good = |first: usize, tables: &[u8]| {
            let good =
                tables.chunks(table_bytes).enumerate().all(|(k, table)| check(order[first + k], table));
            if !good {
                bad.store(true, Ordering::Relaxed);
            }
            good
        };
        let received = || -> Result<TableStorage, Error> {
            match room {
                TablePlace::Here(in_memory) if total <= *in_memory => {
                    *in_memory -= total;
                    let mut bytes = vec![0u8; total as usize];
                    let check = |k: usize, tables: &[u8]| {
                        good(k * copies_a_message, tables);
                    };
                    into_memory(&mut bytes, message, receive, check)?;
                    Ok(TableStorage::Memory(bytes))
                }
                TablePlace::Here(_) => {
                    let files = Files::new(copies_a_message, table_bytes)?;
                    let write = |k: usize, tables: &mut [u8]| match good(k * copies_a_message, tables) {
                        true => files.write(k, tables),
                        false => Ok(()),
                    };
                    message_by_message(total, message, receive, write)?;
                    Ok(TableStorage::Files(files))
                }
                TablePlace::Segment(writer) => {
                    // The tables are checked before the segment encrypts them, because it encrypts them in
                    // place.
                    let write = |k: usize, tables: &mut [u8]| match good(k * copies_a_message, tables) {
                        true => writer.put((k * copies_a_message) as u32, 0, tables),
                        false => Ok(()),
                    };
                    message_by_message(total, message, receive, write)?;
                    Ok(TableStorage::Segment(writer))
                }
            }
        };
        let received = received();
        // A failed check is a cheat, even if the connection broke after it.
        if bad.into_inner() {
            return Err(Cheat::ChosenTables.into());
        }
        let storage = received?;
        let mut ranks = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&place, rank)| ranks[place] = rank);
        Ok(Tables { storage: Arc::new(storage), table_bytes, ranks })
    }

    /// Makes the tables of copies without AND gates.
    pub fn none(copies: usize) -> Tables {
        Tables { storage: Arc::new(TableStorage::Memory(Vec::new())), table_bytes: 0, ranks: vec![0; copies] }
    }

    pub fn slice(&self, places: Range<usize>) -> Tables {
        Tables {
            storage: self.storage.clone(),
            table_bytes: self.table_bytes,
            ranks: self.ranks[places].to_vec(),
        }
    }

    /// Makes tables in memory, copy after copy.
    pub fn of(bytes: Vec<u8>, table_bytes: usize, copies: usize) -> Tables {
        assert_eq!(
            bytes.len(),
            copies * table_bytes,
            "the tables must have {copies} copies of {table_bytes} bytes each"
        );
        Tables {
            storage: Arc::new(TableStorage::Memory(bytes)),
            table_bytes,
            ranks: (0..copies as u32).collect(),
        }
    }

    /// Returns the rank of each copy.
    pub fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// Makes tables that have only the ranks of copies; the bytes are stored elsewhere.
    pub fn elsewhere(ranks: Vec<u32>) -> Tables {
        Tables { ranks, ..Self::none(0) }
    }

    /// Returns the segment that has the tables, if there is one.
    pub fn into_segment(self) -> Option<BatchWriter> {
        match Arc::into_inner(self.storage)? {
            TableStorage::Segment(writer) => Some(*writer),
            _ => None,
        }
    }

    /// Returns the tables of the copies at these positions, for evaluation.
    pub fn walk(&self, places: Vec<usize>) -> EvaluationTables<'_> {
        EvaluationTables { tables: self, places, members: Vec::new(), buffer: Vec::new(), section: 0 }
    }
}

/// Receives tables into memory. Each message is checked while the next one is received.
fn into_memory(
    bytes: &mut [u8],
    message: usize,
    mut receive: impl FnMut(&mut [u8]) -> Result<(), Error>,
    check: impl Fn(usize, &[u8]) + Sync,
) -> Result<(), Error> {
    pool::scope(|scope| {
        for (k, tables) in bytes.chunks_mut(message).enumerate() {
            receive(tables)?;
            let (tables, check) = (&*tables, &check);
            scope.spawn(move |_| check(k, tables));
        }
        Ok(())
    })
}

/// Receives tables to be written. Each message is checked and written while the next few are received.
/// Buffers are allocated only when they are needed: sixteen copies of a large component take hundreds of
/// megabytes.
fn message_by_message(
    total: u64,
    message: usize,
    mut receive: impl FnMut(&mut [u8]) -> Result<(), Error>,
    write: impl Fn(usize, &mut [u8]) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let failed = Mutex::new(None);
    let (give, free) = mpsc::channel();
    let mut new = vec![Vec::new(); MESSAGES_IN_HAND];
    pool::scope(|scope| -> Result<(), Error> {
        for k in 0..total.div_ceil(message as u64) {
            // Prefers a used buffer, whose memory is allocated already. If all buffers are in use, this
            // thread waits for one.
            let given = free.try_recv().ok().or_else(|| new.pop());
            let mut buffer = given.map_or_else(|| free.recv().map_err(|_| lost()), Ok)?;
            let start = k * message as u64;
            let here = (total - start).min(message as u64) as usize;
            if buffer.is_empty() {
                // Memory that the system zeroes page by page when it is touched.
                buffer = vec![0; here];
            }
            receive(&mut buffer[..here])?;
            let (give, write, failed) = (give.clone(), &write, &failed);
            scope.spawn(move |_| {
                if let Err(error) = write(k as usize, &mut buffer[..here])
                    && let Ok(mut failed) = failed.lock()
                {
                    failed.get_or_insert(error);
                }
                // After the last message the other thread takes no buffer, so this send may fail.
                let _ = give.send(buffer);
            });
        }
        Ok(())
    })?;
    match failed.into_inner() {
        Ok(None) => Ok(()),
        Ok(Some(error)) => Err(error),
        Err(_) => Err(lost()),
    }
}

fn lost() -> Error {
    Error::Resource("the thread that writes tables failed".into())
}

/// The tables of a few copies, for one evaluation.
pub(super) struct EvaluationTables<'a> {
    tables: &'a Tables,
    /// The positions in `tables` of the evaluated copies.
    places: Vec<usize>,
    /// The copies whose section was read last, if the tables are in files.
    members: Vec<usize>,
    buffer: Vec<u8>,
    section: usize,
}

/// The space between the data of two copies in the buffer, so that they do not compete for the same cache
/// lines.
const SPACE: usize = 64;

impl EvaluationTables<'_> {
    fn rank(&self, copy: usize) -> usize {
        self.tables.ranks[self.places[copy]] as usize
    }
}

impl TableSource for EvaluationTables<'_> {
    fn prepare(&mut self, copies: &[usize], bytes: Range<usize>) -> Result<(), Error> {
        let files = match &*self.tables.storage {
            TableStorage::Memory(_) => return Ok(()),
            TableStorage::Segment(_) => {
                return Err(Error::Stock(
                    "tables in a segment must be loaded before they are evaluated".into(),
                ));
            }
            TableStorage::Files(files) => files,
        };
        self.section = bytes.len();
        self.members.clear();
        self.members.extend_from_slice(copies);
        self.buffer.resize(copies.len() * (bytes.len() + SPACE), 0);
        for (k, &copy) in copies.iter().enumerate() {
            let (file, start) = files.place(self.rank(copy));
            file.read(
                &mut self.buffer[k * (bytes.len() + SPACE)..][..bytes.len()],
                start + bytes.start as u64,
            )?;
        }
        Ok(())
    }

    fn tables(&self, copy: usize, bytes: Range<usize>) -> &[u8] {
        match &*self.tables.storage {
            TableStorage::Memory(tables) => &tables[self.rank(copy) * self.tables.table_bytes..][bytes],
            TableStorage::Segment(_) => unreachable!("`prepare` refuses tables in a segment"),
            TableStorage::Files(_) => {
                let k = self.members.iter().position(|&member| member == copy).expect("prepared");
                &self.buffer[k * (self.section + SPACE)..][..self.section]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COPIES: [u32; 5] = [40, 7, 23, 8, 0];
    const BYTES: usize = 96;

    fn table(place: usize) -> Vec<u8> {
        (0..BYTES).map(|i| (place * 50 + i) as u8).collect()
    }

    fn receive(mut in_memory: u64, wrong: Option<usize>) -> Result<Tables, Error> {
        let order = ranked(&COPIES);
        let mut sent = order.iter().flat_map(|&place| table(place));
        let next = |bytes: &mut [u8]| {
            bytes.iter_mut().for_each(|byte| *byte = sent.next().unwrap());
            Ok(())
        };
        let check = |place: usize, bytes: &[u8]| bytes == table(place) && wrong != Some(place);
        Tables::receive(&order, BYTES, TablePlace::Here(&mut in_memory), 2, next, check)
    }

    #[test]
    fn files_and_memory_give_every_copy_its_tables() {
        assert_eq!(ranked(&COPIES), [4, 1, 3, 2, 0]);
        for in_memory in [0, 5 * BYTES as u64 - 1, 5 * BYTES as u64] {
            let tables = receive(in_memory, None).unwrap();
            assert_eq!(matches!(*tables.storage, TableStorage::Memory(_)), in_memory == 5 * BYTES as u64);
            let mut source = tables.walk(vec![3, 0, 4]);
            for section in [0..32, 32..96] {
                source.prepare(&[2, 0], section.clone()).unwrap();
                assert_eq!(source.tables(2, section.clone()), &table(4)[section.clone()]);
                assert_eq!(source.tables(0, section.clone()), &table(3)[section.clone()]);
            }
            let part = tables.slice(1..3);
            let mut source = part.walk(vec![0, 1]);
            source.prepare(&[0, 1], 0..BYTES).unwrap();
            assert_eq!(source.tables(1, 0..BYTES), table(2));
            // All copies at once: each must get its own tables.
            let mut all = tables.walk((0..5).collect());
            all.prepare(&[0, 1, 2, 3, 4], 0..BYTES).unwrap();
            (0..5).for_each(|place| assert_eq!(all.tables(place, 0..BYTES), table(place), "{place}"));
        }
    }

    /// Tables in memory leave less memory for other tables.
    #[test]
    fn tables_take_their_part_of_the_memory() {
        let mut left = 7 * BYTES as u64;
        for (copies, rest) in [(4, 3), (4, 3), (2, 1), (1, 0), (1, 0)] {
            let room = left;
            let order: Vec<usize> = (0..copies).collect();
            let tables =
                Tables::receive(&order, BYTES, TablePlace::Here(&mut left), 2, |_| Ok(()), |_, _| true)
                    .unwrap();
            assert_eq!(left, rest * BYTES as u64);
            assert_eq!(matches!(*tables.storage, TableStorage::Memory(_)), room >= (copies * BYTES) as u64);
        }
    }

    #[test]
    fn one_wrong_table_is_refused_wherever_it_is_kept() {
        for (in_memory, wrong) in [0, u64::MAX].into_iter().flat_map(|m| (0..5).map(move |w| (m, w))) {
            assert!(matches!(receive(in_memory, Some(wrong)), Err(Error::Peer(cheat))
                    if cheat == Cheat::ChosenTables));
        }
    }

    /// A failed check is reported as the peer's cheat, even if the connection breaks after it.
    #[test]
    fn a_wrong_table_is_seen_though_the_line_breaks() {
        for mut in_memory in [0, u64::MAX] {
            let mut sent = 0;
            let breaks = |bytes: &mut [u8]| {
                sent += 1;
                bytes.fill(1);
                if sent == 1 { Ok(()) } else { Err(std::io::Error::other("gone").into()) }
            };
            let result =
                Tables::receive(&[0, 1], BYTES, TablePlace::Here(&mut in_memory), 1, breaks, |_, b| {
                    b[0] == 0
                });
            assert!(matches!(result, Err(Error::Peer(cheat)) if cheat == Cheat::ChosenTables), "{sent}");
        }
    }

    #[test]
    fn a_failing_line_ends_it() {
        for mut in_memory in [0, u64::MAX] {
            let gone = |_: &mut [u8]| Err(Error::Resource("gone".into()));
            let result =
                Tables::receive(&[0, 1], BYTES, TablePlace::Here(&mut in_memory), 1, gone, |_, _| true);
            assert!(matches!(result, Err(Error::Resource(_))));
        }
    }
}
