//! Temporary files without a name, for data that exceeds a party's share of memory. The system deletes them
//! when the process ends, even after a crash. The contents of the files are public, or encrypted before they
//! are written.

use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytemuck::Pod;

use brickwork_base::Error;
use brickwork_base::place::{read_at, write_at};
use brickwork_wire::MAX_FRAME_BYTES;

/// A file of at most this many bytes is closed directly, which is faster than starting a thread.
const AT_ONCE: u64 = 16 << 20;

/// A temporary file, in the system's folder for temporary files.
pub struct SpillFile(Option<File>);

impl SpillFile {
    /// Makes a temporary file without a name.
    ///
    /// # Errors
    /// [`Error::Resource`] if the file cannot be created.
    pub fn new() -> Result<Self, Error> {
        tempfile::tempfile().map(|file| SpillFile(Some(file))).map_err(|e| no_room(&e))
    }

    /// Writes bytes at this offset.
    ///
    /// # Errors
    /// [`Error::Resource`] if the disk is full.
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        write_at(self.file(), bytes, offset).map_err(|e| no_room(&e))
    }

    /// Reads bytes at this offset.
    ///
    /// # Errors
    /// [`Error::Resource`] if the bytes cannot be read.
    pub fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), Error> {
        read_at(self.file(), bytes, offset).map_err(|e| {
            Error::Resource(format!(
                "a temporary file cannot be read ({e}); check the disk of the folder \
                 for temporary files (TMPDIR)"
            ))
        })
    }
}

impl SpillFile {
    fn file(&self) -> &File {
        self.0.as_ref().expect("the file is open until it is dropped")
    }
}

impl Drop for SpillFile {
    /// Closes the file. The system frees a file's contents on the thread that closes it, which takes seconds
    /// for gigabytes. So another thread closes large files.
    fn drop(&mut self) {
        if self.file().metadata().is_ok_and(|file| file.len() > AT_ONCE) {
            let file = self.0.take();
            // If no thread can be started, the file is closed on this thread.
            let _ = std::thread::Builder::new().name("brickwork-close".into()).spawn(|| drop(file));
        }
    }
}

#[cfg(test)]
impl SpillFile {
    /// Truncates the file. Tests use it to cause read errors.
    pub fn lose(&self) {
        self.file().set_len(0).unwrap();
    }

    /// Returns the length of the file.
    pub fn bytes(&self) -> u64 {
        self.file().metadata().unwrap().len()
    }
}

/// Returns an error if the system reports less than `bytes` of free space for temporary files.
///
/// # Errors
/// [`Error::Resource`] if the free space is too small.
pub fn check_room(bytes: u64) -> Result<(), Error> {
    let place = std::env::temp_dir();
    match brickwork_store::free_bytes(&place) {
        Some(free) if free < bytes => Err(Error::Resource(format!(
            "the temporary files of this run need some {} MiB in {}, but only {} MiB are free; free space \
             there, or set TMPDIR to a folder on a larger disk",
            bytes.div_ceil(1 << 20),
            place.display(),
            free >> 20
        ))),
        _ => Ok(()),
    }
}

fn no_room(error: &std::io::Error) -> Error {
    let place = std::env::temp_dir();
    Error::Resource(format!(
        "a temporary file in {} failed ({error}); free space there, set TMPDIR to a folder on a larger \
         disk, or raise --max-ram",
        place.display()
    ))
}

/// A budget of memory in bytes that several users share. Data that exceeds it goes to files.
#[derive(Clone)]
pub struct MemoryBudget(Arc<AtomicU64>);

/// A reserved part of a budget, returned to the budget when dropped.
pub struct HeldBudget {
    budget: MemoryBudget,
    bytes: u64,
}

impl MemoryBudget {
    /// Makes a budget of this many bytes.
    pub fn new(bytes: u64) -> Self {
        MemoryBudget(Arc::new(AtomicU64::new(bytes)))
    }

    /// Reserves this many bytes, if they are left.
    pub fn take(&self, bytes: u64) -> Option<HeldBudget> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        left.ok().map(|_| HeldBudget { budget: self.clone(), bytes })
    }
}

impl Drop for HeldBudget {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

/// Records a read error in code that cannot return one. After a read error, the missing value is replaced by
/// a wrong one. So a later proof fails although the peer is honest; the party checks the fault first.
#[derive(Default)]
pub struct Fault(Mutex<Option<Error>>);

impl Fault {
    /// Records an error, unless there is an earlier one.
    pub fn note(&self, error: Error) {
        if let Ok(mut first) = self.0.lock() {
            first.get_or_insert(error);
        }
    }

    /// Checks that no error was recorded.
    ///
    /// # Errors
    /// Returns the first error since the last check.
    pub fn check(&self) -> Result<(), Error> {
        let first = self
            .0
            .lock()
            .map_err(|_| Error::Resource("the thread that reads a temporary file failed".into()))?
            .take();
        first.map_or(Ok(()), Err)
    }
}

/// The storage for long rows of values: all in memory, or all in one file.
#[derive(Clone)]
pub struct Spill(Option<Arc<Rows>>);

/// The file of a spill, which contains row after row.
struct Rows {
    file: SpillFile,
    end: AtomicU64,
    fault: Arc<Fault>,
}

impl Spill {
    /// Makes a spill in memory.
    pub fn memory() -> Self {
        Spill(None)
    }

    /// Makes a spill in a file. A read error that cannot be returned is recorded in `fault`.
    ///
    /// # Errors
    /// [`Error::Resource`] if the file cannot be created.
    pub fn file(fault: &Arc<Fault>) -> Result<Self, Error> {
        Ok(Spill(Some(Arc::new(Rows {
            file: SpillFile::new()?,
            end: AtomicU64::new(0),
            fault: fault.clone(),
        }))))
    }

    /// Returns another spill of the same kind. The new spill has a file of its own, which is freed as soon as
    /// the values in it are dropped.
    ///
    /// # Errors
    /// As [`Spill::file`].
    pub fn another(&self) -> Result<Self, Error> {
        self.0.as_ref().map_or_else(|| Ok(Spill::memory()), |rows| Spill::file(&rows.fault))
    }

    /// Stores `len` values, which `next` produces from front to back: in memory all at once, in a file one
    /// message frame at a time.
    ///
    /// # Errors
    /// The errors of `next`, and [`Error::Resource`] if the disk is full.
    pub fn fill<T: Pod>(
        &self,
        len: usize,
        mut next: impl FnMut(&mut [T]) -> Result<(), Error>,
    ) -> Result<SpilledVec<T>, Error> {
        let Some(rows) = &self.0 else {
            let mut values = vec![T::zeroed(); len];
            next(&mut values)?;
            return Ok(SpilledVec::of(values));
        };
        let (at_once, mut left) = (MAX_FRAME_BYTES / size_of::<T>(), len);
        let first = rows.end.fetch_add((len * size_of::<T>()) as u64, Ordering::Relaxed);
        let (mut buffer, mut offset) = (vec![T::zeroed(); at_once.min(len)], first);
        loop {
            let values = &mut buffer[..at_once.min(left)];
            next(values)?;
            rows.file.write(bytemuck::cast_slice(values), offset)?;
            (left, offset) = (left - values.len(), offset + size_of_val(values) as u64);
            if left == 0 {
                return Ok(SpilledVec { storage: Storage::File(rows.clone(), first), len });
            }
        }
    }

    /// Stores the given values.
    ///
    /// # Errors
    /// [`Error::Resource`] if the disk is full.
    pub fn put<T: Pod>(&self, values: Vec<T>) -> Result<SpilledVec<T>, Error> {
        if self.0.is_none() {
            return Ok(SpilledVec::of(values));
        }
        let mut rest = &values[..];
        self.fill(values.len(), |some| {
            let (first, behind) = rest.split_at(some.len());
            some.copy_from_slice(first);
            rest = behind;
            Ok(())
        })
    }

    /// Returns the values of a row at these places, in this order. No place occurs twice.
    ///
    /// # Errors
    /// [`Error::Resource`] if the disk is full or a value cannot be read.
    pub fn gather<T: Pod>(&self, from: &SpilledVec<T>, order: &[u32]) -> Result<SpilledVec<T>, Error> {
        if self.0.is_none() {
            let values = from.read(0..from.len())?;
            return Ok(SpilledVec::of(order.iter().map(|&k| values[k as usize]).collect()));
        }
        // The row is read from front to back, and its values are sorted into bins. A bin covers a range of
        // the result's places, and fits into memory.
        let mut places = vec![NOWHERE; from.len()];
        order.iter().zip(0..).for_each(|(&k, place)| places[k as usize] = place);
        let mut bins = Bins::new(order.len())?;
        for first in (0..from.len()).step_by(BIN) {
            let values = from.read(first..from.len().min(first + BIN))?;
            let wanted = values.iter().zip(&places[first..]).filter(|(_, place)| **place != NOWHERE);
            wanted.into_iter().try_for_each(|(value, &place)| bins.put(place, value))?;
        }
        drop(places);
        let (mut ready, mut done, mut bin) = (Vec::new(), 0, 0);
        self.fill(order.len(), |mut some| {
            while !some.is_empty() {
                if done == ready.len() {
                    ready = bins.take(bin)?;
                    (done, bin) = (0, bin + 1);
                }
                let here = some.len().min(ready.len() - done);
                let (first, behind) = some.split_at_mut(here);
                first.copy_from_slice(&ready[done..done + here]);
                (some, done) = (behind, done + here);
            }
            Ok(())
        })
    }
}

/// The number of places in a bin; it is also the number of values that a bin collects before it writes them.
const BIN: usize = 1 << 18;
const BIN_IN_HAND: usize = 1 << 11;

/// The number of values that are read from a file at a time.
const PART: usize = 1 << 16;

/// Marks a value that is not gathered.
const NOWHERE: u32 = u32::MAX;

/// Values that wait to be put into their places. The file has a row of places and a row of values.
struct Bins<T> {
    file: SpillFile,
    len: usize,
    bins: Vec<Bin<T>>,
}

struct Bin<T> {
    /// The place within the bin of each waiting value.
    places: Vec<u32>,
    values: Vec<T>,
    written: usize,
}

impl<T: Pod> Bins<T> {
    fn new(len: usize) -> Result<Self, Error> {
        let bin = |_| Bin { places: Vec::new(), values: Vec::new(), written: 0 };
        Ok(Bins { file: SpillFile::new()?, len, bins: (0..len.div_ceil(BIN)).map(bin).collect() })
    }

    /// Returns the offsets of the place and of the value with number `k` in the file.
    fn offsets(&self, k: usize) -> [u64; 2] {
        [k * size_of::<u32>(), self.len * size_of::<u32>() + k * size_of::<T>()].map(|offset| offset as u64)
    }

    fn put(&mut self, place: u32, value: &T) -> Result<(), Error> {
        let number = place as usize / BIN;
        let bin = &mut self.bins[number];
        bin.places.push(place % BIN as u32);
        bin.values.push(*value);
        if bin.places.len() == BIN_IN_HAND { self.write(number) } else { Ok(()) }
    }

    fn write(&mut self, number: usize) -> Result<(), Error> {
        let [places, values] = self.offsets(number * BIN + self.bins[number].written);
        let bin = &mut self.bins[number];
        self.file.write(bytemuck::cast_slice(&bin.places), places)?;
        self.file.write(bytemuck::cast_slice(&bin.values), values)?;
        bin.written += bin.places.len();
        bin.places.clear();
        bin.values.clear();
        Ok(())
    }

    /// Returns the values of a bin in the order of their places.
    fn take(&mut self, number: usize) -> Result<Vec<T>, Error> {
        self.write(number)?;
        let count = self.bins[number].written;
        let (mut places, mut values, mut ready) =
            (vec![0u32; count], vec![T::zeroed(); count], vec![T::zeroed(); count]);
        let [at_places, at_values] = self.offsets(number * BIN);
        self.file.read(bytemuck::cast_slice_mut(&mut places), at_places)?;
        self.file.read(bytemuck::cast_slice_mut(&mut values), at_values)?;
        places.iter().zip(values).for_each(|(&place, value)| ready[place as usize] = value);
        Ok(ready)
    }
}

/// Values that were written from front to back and can be read at any place.
#[derive(Clone)]
pub struct SpilledVec<T> {
    storage: Storage<T>,
    len: usize,
}

#[derive(Clone)]
enum Storage<T> {
    Memory(Vec<T>),
    /// The file, and the offset of the first value.
    File(Arc<Rows>, u64),
}

impl<T: Pod> Default for SpilledVec<T> {
    fn default() -> Self {
        SpilledVec::of(Vec::new())
    }
}

impl<T: Pod> SpilledVec<T> {
    /// Returns a row in memory.
    pub fn of(values: Vec<T>) -> Self {
        let len = values.len();
        SpilledVec { storage: Storage::Memory(values), len }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the row is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns all values if they are in memory.
    pub fn in_memory(&self) -> Option<&[T]> {
        match &self.storage {
            Storage::Memory(values) => Some(values),
            Storage::File(..) => None,
        }
    }

    /// Returns the values of a range.
    ///
    /// # Errors
    /// [`Error::Resource`] if the values cannot be read.
    pub fn read(&self, places: Range<usize>) -> Result<Cow<'_, [T]>, Error> {
        assert!(places.start <= places.end && places.end <= self.len, "the range must lie in the row");
        match &self.storage {
            Storage::Memory(values) => Ok(Cow::Borrowed(&values[places])),
            Storage::File(rows, first) => {
                let mut values = vec![T::zeroed(); places.len()];
                rows.file.read(
                    bytemuck::cast_slice_mut(&mut values),
                    first + (places.start * size_of::<T>()) as u64,
                )?;
                Ok(Cow::Owned(values))
            }
        }
    }

    /// Returns the values of a range. If they cannot be read, it records the error in the spill's fault and
    /// returns arbitrary values.
    pub fn read_or_note(&self, places: Range<usize>) -> Cow<'_, [T]> {
        let count = places.len();
        self.read(places).unwrap_or_else(|error| {
            if let Storage::File(rows, _) = &self.storage {
                rows.fault.note(error);
            }
            Cow::Owned(vec![T::zeroed(); count])
        })
    }

    /// Passes all values to `show` from front to back, in parts. `show` also gets the place of the first
    /// value of each part.
    ///
    /// # Errors
    /// [`Error::Resource`] if the values cannot be read.
    pub fn in_parts(&self, mut show: impl FnMut(usize, &[T])) -> Result<(), Error> {
        let (rows, start) = match &self.storage {
            Storage::Memory(values) => {
                show(0, values);
                return Ok(());
            }
            Storage::File(rows, start) => (rows, *start),
        };
        let mut buffer = vec![T::zeroed(); PART.min(self.len)];
        for first in (0..self.len).step_by(PART) {
            let values = &mut buffer[..PART.min(self.len - first)];
            rows.file.read(bytemuck::cast_slice_mut(values), start + (first * size_of::<T>()) as u64)?;
            show(first, values);
        }
        Ok(())
    }

    /// Returns a range of the values: a copy if they are in memory, and a reference to the same file
    /// otherwise.
    pub fn slice(&self, places: Range<usize>) -> Self {
        assert!(places.start <= places.end && places.end <= self.len, "the range must lie in the row");
        match &self.storage {
            Storage::Memory(values) => SpilledVec::of(values[places].to_vec()),
            Storage::File(rows, first) => SpilledVec {
                storage: Storage::File(rows.clone(), first + (places.start * size_of::<T>()) as u64),
                len: places.len(),
            },
        }
    }

    /// Splits a row into consecutive parts of these lengths. A single part is not copied.
    pub fn split(self, lengths: &[usize]) -> Vec<Self> {
        match lengths {
            [length] if *length == self.len => vec![self],
            _ => {
                let mut end = 0;
                let part = |&length: &usize| {
                    end += length;
                    self.slice(end - length..end)
                };
                lengths.iter().map(part).collect()
            }
        }
    }
}

#[cfg(test)]
impl<T> SpilledVec<T> {
    /// Truncates the file. Tests use it to cause read errors. Returns false for values in memory.
    pub fn lose(&self) -> bool {
        match &self.storage {
            Storage::Memory(_) => false,
            Storage::File(rows, _) => {
                rows.file.lose();
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spills() -> [(Spill, Arc<Fault>); 2] {
        let fault = Arc::default();
        [(Spill::memory(), Arc::default()), (Spill::file(&fault).unwrap(), fault)]
    }

    #[test]
    fn a_row_gives_back_what_was_put_wherever_it_lies() {
        for (spill, _) in spills() {
            for len in [0, 1, 5000, MAX_FRAME_BYTES / 8, MAX_FRAME_BYTES / 8 + 1] {
                let values: Vec<u64> = (0..len as u64).map(|k| k * k + 7).collect();
                let mut given = 0;
                let next = |some: &mut [u64]| {
                    some.copy_from_slice(&values[given..given + some.len()]);
                    given += some.len();
                    Ok(())
                };
                let (filled, put) = (spill.fill(len, next).unwrap(), spill.put(values.clone()).unwrap());
                for row in [&filled, &put] {
                    assert_eq!((row.len(), row.is_empty()), (len, len == 0));
                    assert_eq!(*row.read(0..len).unwrap(), values);
                    assert_eq!(*row.read(len / 3..len / 2).unwrap(), values[len / 3..len / 2]);
                    assert_eq!(
                        *row.slice(len / 3..len).read(0..len / 2).unwrap(),
                        values[len / 3..len / 3 + len / 2]
                    );
                }
                for part in [vec![len], vec![len / 2, len - len / 2], vec![0, len, 0]] {
                    let parts = filled.clone().split(&part);
                    assert_eq!(parts.iter().map(SpilledVec::len).collect::<Vec<_>>(), part);
                    assert_eq!(
                        parts
                            .iter()
                            .flat_map(|part| part.read(0..part.len()).unwrap().to_vec())
                            .collect::<Vec<_>>(),
                        values
                    );
                }
                let mut shown = Vec::new();
                let show = |first: usize, values: &[u64]| {
                    assert_eq!(first, shown.len());
                    shown.extend_from_slice(values);
                };
                filled.slice(len / 3..len).in_parts(show).unwrap();
                assert_eq!(shown, values[len / 3..]);
            }
        }
    }

    /// Gathered values are in the requested order, even across bins and for any number of waiting values.
    #[test]
    fn what_is_gathered_stands_in_the_order_that_was_asked_for() {
        for (spill, _) in spills() {
            for len in [0, 1, BIN_IN_HAND + 1, BIN, 2 * BIN + 77] {
                // The row has a third more values than the test gathers. The step has no common factor with
                // any of the lengths.
                let all = len + len / 3;
                let order: Vec<u32> = (0..len).map(|k| (k * 7 % len + len / 3) as u32).collect();
                let row = spill.put((0..all as u64).map(|k| k * k).collect()).unwrap();
                let gathered = spill.gather(&row, &order).unwrap();
                let expected: Vec<u64> = order.iter().map(|&k| u64::from(k) * u64::from(k)).collect();
                assert_eq!(*gathered.read(0..len).unwrap(), expected, "{len}");
            }
        }
    }

    #[test]
    fn what_is_lost_is_told_or_noted() {
        let [_, (spill, fault)] = spills();
        let row = spill.put(vec![1u32, 2, 3]).unwrap();
        assert!(row.lose());
        assert!(matches!(row.read(0..2), Err(Error::Resource(_))));
        assert!(matches!(row.in_parts(|_, _| {}), Err(Error::Resource(_))));
        fault.check().unwrap();
        assert_eq!(row.read_or_note(0..2).len(), 2);
        assert!(matches!(fault.check(), Err(Error::Resource(_))));
    }

    #[test]
    fn a_budget_gets_back_what_was_taken() {
        let budget = MemoryBudget::new(10);
        let held = budget.take(7).unwrap();
        assert!(budget.take(4).is_none());
        let rest = budget.take(3).unwrap();
        drop(held);
        assert!(budget.take(8).is_none() && budget.take(7).is_some());
        drop(rest);
        assert!(budget.take(10).is_some());
    }

    #[test]
    fn what_was_written_is_read() {
        let spill = SpillFile::new().unwrap();
        spill.write(&[4, 5, 6], 3).unwrap();
        spill.write(&[1, 2, 3], 0).unwrap();
        let mut bytes = [0; 4];
        spill.read(&mut bytes, 1).unwrap();
        assert_eq!(bytes, [2, 3, 4, 5]);
        assert!(matches!(spill.read(&mut bytes, 3), Err(Error::Resource(_))));
    }
}
