//! Where the evaluator keeps the tables of the chosen copies until it evaluates them: in memory, or, where there are more than
//! fit its share, in a temporary file without a name, from which they are read piece by piece.
//!
//! A file holds nothing that the garbler does not know, and a reader of it without a label of every input wire learns nothing.

use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::{Cheat, Error};
use crate::garbling::TableSource;

/// Messages in hand while tables go to a file.
const MESSAGES_IN_HAND: usize = 4;

/// Copies in the order of their numbers, in which their tables travel and lie: neighbours share hash keys, so that they are
/// garbled and evaluated side by side.
pub(super) fn ranked(copies: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..copies.len()).collect();
    order.sort_unstable_by_key(|&place| copies[place]);
    order
}

/// The tables of some chosen copies.
#[derive(Clone)]
pub(super) struct Tables {
    kept: Arc<Kept>,
    table_bytes: usize,
    /// Of each copy how many lie before it.
    ranks: Vec<u32>,
}

enum Kept {
    Memory(Vec<u8>),
    File(File),
}

impl Tables {
    /// Room for the tables of as many copies as `order` has; `in_memory` is what memory there is for them, and gets less.
    ///
    /// # Errors
    /// Those of `receive`; [`Error::Resource`] if there is no room for a file, [`Cheat::ChosenTables`] if a check fails.
    pub fn receive(
        order: &[usize],
        table_bytes: usize,
        in_memory: &mut u64,
        copies_a_message: usize,
        receive: impl FnMut(&mut [u8]) -> Result<(), Error> + Send,
        check: impl Fn(usize, &[u8]) -> bool + Sync,
    ) -> Result<Tables, Error> {
        let total = order.len() as u64 * table_bytes as u64;
        let message = copies_a_message * table_bytes;
        let bad = AtomicBool::new(false);
        let check = |first: usize, tables: &[u8]| {
            if !tables.chunks(table_bytes).enumerate().all(|(k, table)| check(order[first + k], table)) {
                bad.store(true, Ordering::Relaxed);
            }
        };
        let kept = if total <= *in_memory {
            *in_memory -= total;
            let mut bytes = vec![0u8; total as usize];
            into_memory(&mut bytes, message, receive, |k, tables| check(k * copies_a_message, tables))?;
            Kept::Memory(bytes)
        } else {
            let file = tempfile::tempfile().map_err(|e| no_room(&e))?;
            into_file(&file, total, message, receive, |k, tables| check(k * copies_a_message, tables))?;
            Kept::File(file)
        };
        if bad.into_inner() {
            return Err(Cheat::ChosenTables.into());
        }
        let mut ranks = vec![0; order.len()];
        order.iter().zip(0..).for_each(|(&place, rank)| ranks[place] = rank);
        Ok(Tables { kept: Arc::new(kept), table_bytes, ranks })
    }

    /// No tables, of any number of copies.
    pub fn none(copies: usize) -> Tables {
        Tables { kept: Arc::new(Kept::Memory(Vec::new())), table_bytes: 0, ranks: vec![0; copies] }
    }

    /// Those of some of the copies.
    pub fn slice(&self, places: Range<usize>) -> Tables {
        Tables { kept: self.kept.clone(), table_bytes: self.table_bytes, ranks: self.ranks[places].to_vec() }
    }

    /// Tables that are in memory, copy after copy.
    pub fn of(bytes: Vec<u8>, table_bytes: usize, copies: usize) -> Tables {
        assert_eq!(bytes.len(), copies * table_bytes, "tables of {copies} copies");
        Tables { kept: Arc::new(Kept::Memory(bytes)), table_bytes, ranks: (0..copies as u32).collect() }
    }

    /// The tables of the copies at these places, copy after copy.
    ///
    /// # Errors
    /// [`Error::Resource`] if they lie in a file that cannot be read.
    pub fn bytes(&self, places: Range<usize>) -> Result<Vec<u8>, Error> {
        let mut source = self.walk(places.collect());
        let mut bytes = Vec::with_capacity(source.places.len() * self.table_bytes);
        for copy in 0..source.places.len() {
            source.prepare(&[copy], 0..self.table_bytes)?;
            bytes.extend_from_slice(source.tables(copy, 0..self.table_bytes));
        }
        Ok(bytes)
    }

    /// Gives a walk the tables of the copies at these places.
    pub fn walk(&self, places: Vec<usize>) -> Source<'_> {
        Source { tables: self, places, members: Vec::new(), buffer: Vec::new(), piece: 0 }
    }
}

/// Each message is checked while the next one comes.
fn into_memory(
    bytes: &mut [u8],
    message: usize,
    mut receive: impl FnMut(&mut [u8]) -> Result<(), Error> + Send,
    check: impl Fn(usize, &[u8]) + Sync,
) -> Result<(), Error> {
    rayon::scope(|scope| {
        for (k, tables) in bytes.chunks_mut(message).enumerate() {
            receive(tables)?;
            let (tables, check) = (&*tables, &check);
            scope.spawn(move |_| check(k, tables));
        }
        Ok(())
    })
}

/// Each message is checked and written while the next ones come, a few at most.
fn into_file(
    file: &File,
    total: u64,
    message: usize,
    mut receive: impl FnMut(&mut [u8]) -> Result<(), Error> + Send,
    check: impl Fn(usize, &[u8]) + Sync,
) -> Result<(), Error> {
    let failed = Mutex::new(None);
    let free = Mutex::new(vec![vec![0; message]; MESSAGES_IN_HAND]);
    let take = || free.lock().map(|mut free| free.pop()).map_err(|_| lost());
    rayon::scope(|scope| -> Result<(), Error> {
        for k in 0..total.div_ceil(message as u64) {
            let mut buffer = loop {
                match take()? {
                    Some(buffer) => break buffer,
                    // They are all in hand; this thread may be the only one to work on them.
                    None if rayon::yield_now() == Some(rayon::Yield::Executed) => {}
                    None => std::thread::yield_now(),
                }
            };
            let start = k * message as u64;
            let here = (total - start).min(message as u64) as usize;
            receive(&mut buffer[..here])?;
            let (free, check, failed) = (&free, &check, &failed);
            scope.spawn(move |_| {
                check(k as usize, &buffer[..here]);
                if let Err(error) = write_at(file, &buffer[..here], start)
                    && let Ok(mut failed) = failed.lock()
                {
                    failed.get_or_insert(error);
                }
                if let Ok(mut free) = free.lock() {
                    free.push(buffer);
                }
            });
        }
        Ok(())
    })?;
    match failed.into_inner() {
        Ok(None) => Ok(()),
        Ok(Some(error)) => Err(no_room(&error)),
        Err(_) => Err(lost()),
    }
}

fn lost() -> Error {
    Error::Resource("a thread that kept tables failed".into())
}

fn no_room(error: &std::io::Error) -> Error {
    let place = std::env::temp_dir();
    Error::Resource(format!(
        "a temporary file in {} failed ({error}); make room there, set TMPDIR to a folder on a larger disk, or raise --max-ram",
        place.display()
    ))
}

fn unreadable(error: &std::io::Error) -> Error {
    Error::Resource(format!("the temporary file with the tables cannot be read ({error}); check the disk that it is on"))
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_at(file: &File, mut bytes: &[u8], mut offset: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let written = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        (bytes, offset) = (&bytes[written..], offset + written as u64);
    }
    Ok(())
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> std::io::Result<()> {
    while !bytes.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        (bytes, offset) = (&mut bytes[read..], offset + read as u64);
    }
    Ok(())
}

/// The tables of a few copies, for one walk.
pub(super) struct Source<'a> {
    tables: &'a Tables,
    /// The copies of the walk, by their places in `tables`.
    places: Vec<usize>,
    /// The copies whose piece is at hand, if it came from a file.
    members: Vec<usize>,
    buffer: Vec<u8>,
    piece: usize,
}

impl Source<'_> {
    fn start(&self, copy: usize) -> usize {
        self.tables.ranks[self.places[copy]] as usize * self.tables.table_bytes
    }
}

impl TableSource for Source<'_> {
    fn prepare(&mut self, copies: &[usize], bytes: Range<usize>) -> Result<(), Error> {
        let Kept::File(file) = &*self.tables.kept else { return Ok(()) };
        self.piece = bytes.len();
        self.members.clear();
        self.members.extend_from_slice(copies);
        self.buffer.resize(copies.len() * bytes.len(), 0);
        for (k, &copy) in copies.iter().enumerate() {
            let start = (self.start(copy) + bytes.start) as u64;
            read_at(file, &mut self.buffer[k * bytes.len()..(k + 1) * bytes.len()], start).map_err(|e| unreadable(&e))?;
        }
        Ok(())
    }

    fn tables(&self, copy: usize, bytes: Range<usize>) -> &[u8] {
        match &*self.tables.kept {
            Kept::Memory(tables) => &tables[self.start(copy)..][bytes],
            Kept::File(_) => {
                let k = self.members.iter().position(|&member| member == copy).expect("prepared");
                &self.buffer[k * self.piece..(k + 1) * self.piece]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COPIES: [usize; 5] = [40, 7, 23, 8, 0];
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
        Tables::receive(&order, BYTES, &mut in_memory, 2, next, check)
    }

    #[test]
    fn a_file_and_memory_give_every_copy_its_tables() {
        assert_eq!(ranked(&COPIES), [4, 1, 3, 2, 0]);
        for in_memory in [0, 5 * BYTES as u64 - 1, 5 * BYTES as u64] {
            let tables = receive(in_memory, None).unwrap();
            assert_eq!(matches!(*tables.kept, Kept::Memory(_)), in_memory == 5 * BYTES as u64);
            let mut source = tables.walk(vec![3, 0, 4]);
            for piece in [0..32, 32..96] {
                source.prepare(&[2, 0], piece.clone()).unwrap();
                assert_eq!(source.tables(2, piece.clone()), &table(4)[piece.clone()]);
                assert_eq!(source.tables(0, piece.clone()), &table(3)[piece.clone()]);
            }
            assert_eq!(tables.bytes(0..5).unwrap(), (0..5).flat_map(table).collect::<Vec<_>>());
            let again = Tables::of(tables.bytes(1..3).unwrap(), BYTES, 2);
            assert_eq!(again.bytes(1..2).unwrap(), table(2));
            let part = tables.slice(1..3);
            let mut source = part.walk(vec![0, 1]);
            source.prepare(&[0, 1], 0..BYTES).unwrap();
            assert_eq!(source.tables(1, 0..BYTES), table(2));
        }
    }

    #[test]
    fn one_wrong_table_is_refused_wherever_it_is_kept() {
        for (in_memory, wrong) in [0, u64::MAX].into_iter().flat_map(|m| (0..5).map(move |w| (m, w))) {
            assert!(matches!(receive(in_memory, Some(wrong)), Err(Error::Peer(Cheat::ChosenTables))));
        }
    }

    #[test]
    fn a_failing_line_ends_it() {
        for mut in_memory in [0, u64::MAX] {
            let gone = |_: &mut [u8]| Err(Error::Resource("gone".into()));
            let result = Tables::receive(&[0, 1], BYTES, &mut in_memory, 1, gone, |_, _| true);
            assert!(matches!(result, Err(Error::Resource(_))));
        }
    }
}
