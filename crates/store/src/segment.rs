//! A segment: the file with the items of one batch, which is written once.
//!
//! ```text
//! segment = "brickws\x02" id:[u8; 16] epoch:[u8; 32] serial:u64 (big endian) tag:[u8; 16]
//!           bulk-record* record*      the lengths are in the index
//! (bulk-)record = ciphertext tag:[u8; 16]
//! ```
//!
//! A segment is written under a temporary name, made durable, and then renamed. Only then the index names it.
//! The header contains the epoch and the serial of the batch. So the log can tell which segments are not
//! needed, even if the index does not name them.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::disk::Disk;
use super::folder;
use super::index::{BATCHES, about};
use super::log::{EpochId, Serial};
use super::poison::Poison;
use super::seal::{RecordsKey, StoreKey, TAG_BYTES};
use brickwork_base::Error;
use brickwork_base::place::read_at;
use brickwork_base::process::Process;

const MAGIC: &[u8; 8] = b"brickws\x02";
/// Bytes of the epoch and the serial in the header.
const NAME_BYTES: usize = 32 + 8;
const HEADER_BYTES: u64 = 8 + 16 + NAME_BYTES as u64 + TAG_BYTES as u64;

/// The largest record; larger data is cut into several records.
pub const MAX_RECORD_BYTES: usize = 1 << 30;

/// Small units share a record of at most this many bytes, which is the smallest amount that is read.
const SHARED_BYTES: u64 = 64 << 10;
/// At most this many units share a record.
const MOST_SHARING: u32 = 16;
/// Larger units are cut into chunks of this many bytes.
const CHUNK_BYTES: u64 = 32 << 20;

/// Data of a batch besides the records of its items: units of the same size, such as the tables of copies.
/// Units are written while they arrive, in any order and by any thread. A record begins with the numbers of
/// its items' units, so that the store finds the units before the items are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bulk {
    /// The number of units.
    pub units: u32,
    /// Bytes of each unit.
    pub unit_bytes: u64,
    /// The number of units that each item has. A record begins with this many numbers for each of its items,
    /// little endian.
    pub each: u32,
}

impl Bulk {
    /// Returns the units that belong to some of a record's items.
    ///
    /// # Errors
    /// [`Error::Stock`] if the record is too short, or the units do not exist.
    pub(super) fn of_items(&self, record: &[u8], items: Range<usize>) -> Result<Vec<u32>, Error> {
        let number = size_of::<u32>();
        let bytes =
            record.get(items.start * self.each as usize * number..items.end * self.each as usize * number);
        let (numbers, _) = bytes.unwrap_or_default().as_chunks();
        let units: Vec<u32> = numbers.iter().map(|number| u32::from_le_bytes(*number)).collect();
        match bytes.is_some() && units.iter().all(|unit| *unit < self.units) {
            true => Ok(units),
            false => Err(Error::Stock("a record has no list of its items' units".into())),
        }
    }

    /// Returns the number of units that share a record: a power of two.
    fn sharing(&self) -> u32 {
        let mut sharing = 1;
        while 2 * sharing <= MOST_SHARING
            && u64::from(2 * sharing).saturating_mul(self.unit_bytes) <= SHARED_BYTES
        {
            sharing *= 2;
        }
        sharing
    }

    /// Returns the number of records of each unit, if units do not share records.
    fn chunks(&self) -> u64 {
        self.unit_bytes.div_ceil(CHUNK_BYTES)
    }

    /// Returns the number of records of the bulk.
    pub fn records(&self) -> u64 {
        u64::from(self.units.div_ceil(self.sharing())) * self.chunks()
    }

    /// Returns the record that contains byte `at` of a unit.
    fn record_of(&self, unit: u32, at: u64) -> u64 {
        u64::from(unit / self.sharing()) * self.chunks() + at / CHUNK_BYTES
    }

    /// Returns the position of a record in the bulk, without tags, and its length.
    fn span(&self, record: u64) -> (u64, u64) {
        let (group, chunk) = (record / self.chunks(), record % self.chunks());
        let sharing = u64::from(self.sharing());
        let units = sharing.min(u64::from(self.units) - group * sharing);
        let first = chunk * CHUNK_BYTES;
        (group * sharing * self.unit_bytes + first, (units * self.unit_bytes - first).min(CHUNK_BYTES))
    }

    /// Returns the number of records up to this byte of the bulk, if a record ends at the byte.
    fn records_to(&self, end: u64) -> Option<u64> {
        if end == u64::from(self.units) * self.unit_bytes {
            return Some(self.records());
        }
        let record = self.record_of(u32::try_from(end / self.unit_bytes).ok()?, end % self.unit_bytes);
        (record < self.records() && self.span(record).0 == end).then_some(record)
    }

    /// Returns the position of a record in its file.
    fn offset(&self, record: u64) -> u64 {
        HEADER_BYTES + self.span(record).0 + record * TAG_BYTES as u64
    }

    /// Returns whether a file can hold this bulk, with at most this many records. Callers use it to check the
    /// description of a bulk that another process has sent.
    pub fn is_within(&self, records: u64) -> bool {
        let sound = u64::from(self.units).checked_mul(self.unit_bytes).is_some_and(|all| all <= 1 << 60);
        let few = || u64::from(self.units.div_ceil(self.sharing())).checked_mul(self.chunks());
        sound && self.units > 0 && self.unit_bytes > 0 && few().is_some_and(|all| all <= records)
    }

    fn end(bulk: &Option<Bulk>) -> u64 {
        bulk.map_or(HEADER_BYTES, |b| {
            HEADER_BYTES + u64::from(b.units) * b.unit_bytes + b.records() * TAG_BYTES as u64
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SegmentPlace {
    /// The number of the record's first item in the batch.
    pub first: u64,
    pub items: u32,
    offset: u64,
    /// The record's length without the tag.
    length: u32,
}

impl SegmentPlace {
    /// Returns the items of the record.
    pub fn items(&self) -> Range<u64> {
        self.first..self.first + u64::from(self.items)
    }
}

/// A segment as the index describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexedSegment {
    pub id: [u8; 16],
    /// The number of items in the batch.
    pub items: u64,
    pub bulk: Option<Bulk>,
    pub places: Vec<SegmentPlace>,
}

/// The stored data of some items of a batch, without the bulk.
pub struct Record {
    /// The number of the record's first item in the batch.
    pub first: u64,
    /// The number of the record's items.
    pub items: u32,
    /// The bytes as they were written.
    pub bytes: Zeroizing<Vec<u8>>,
}

impl Record {
    /// Returns the number behind the record's last item.
    pub fn end(&self) -> u64 {
        self.first + u64::from(self.items)
    }

    /// Returns whether the record has this item of the batch.
    pub fn has(&self, item: u64) -> bool {
        (self.first..self.end()).contains(&item)
    }
}

/// A segment that is being written under a temporary name. If it is dropped before it is finished, the file
/// is removed. A forked process has a copy of the encryption key, and could encrypt other data under the same
/// numbers. So a forked process writes nothing and removes nothing.
pub(super) struct Writing {
    segment: IndexedSegment,
    length: u64,
    /// The file; `None` after it got its final name.
    file: Option<File>,
    sealer: RecordsKey,
    name: Vec<u8>,
    about: Vec<u8>,
    /// For each record of the bulk, whether it was written. A record is written only once, because its number
    /// is its nonce.
    written: Vec<AtomicBool>,
    poisoned: Poison,
    disk: Disk,
    unfinished: PathBuf,
    path: PathBuf,
    process: Process,
}

/// Returns the header of the segment with this identifier, for the batch with this name: epoch and serial.
fn header(sealer: &RecordsKey, id: &[u8; 16], name: &[u8]) -> Vec<u8> {
    let header = [&MAGIC[..], id, name].concat();
    // The tag is made with a number that no record has.
    let tag = sealer.seal_apart(u64::MAX, &header, &mut []);
    [&header[..], &tag].concat()
}

impl Writing {
    /// Begins the segment of the batch with this name (its epoch and serial).
    pub(super) fn new(
        disk: &Disk,
        directory: &Path,
        key: &StoreKey,
        name: Vec<u8>,
        bulk: Option<Bulk>,
        poisoned: Poison,
    ) -> Result<Self, Error> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|error| {
            Error::Resource(format!("the operating system gave no random bytes ({error})"))
        })?;
        let path = IndexedSegment::path(directory, &id);
        let (unfinished, sealer) = (path.with_extension("unfinished"), key.segment(&id));
        let make = || {
            let file = disk.create(&unfinished)?;
            disk.write_at(&file, &header(&sealer, &id, &name), 0)?;
            Ok(file)
        };
        let file = make().map_err(failed(&path)).inspect_err(|error| poisoned.by(error))?;
        Ok(Writing {
            length: Bulk::end(&bulk),
            file: Some(file),
            sealer,
            about: about(BATCHES, &name),
            name,
            written: (0..bulk.map_or(0, |bulk| bulk.records())).map(|_| AtomicBool::new(false)).collect(),
            poisoned,
            disk: disk.clone(),
            unfinished,
            path,
            process: Process::here(),
            segment: IndexedSegment { id, items: 0, bulk, places: Vec::new() },
        })
    }

    /// Seals and writes the bytes given to [`Writer::put`](super::Writer::put).
    pub fn put(&self, first: u32, at: u64, bytes: &mut [u8]) -> Result<(), Error> {
        self.process.check()?;
        let wrong = || Error::Usage("the data must be whole records of the batch's bulk data".into());
        let bulk =
            self.segment.bulk.filter(|bulk| first < bulk.units && at < bulk.unit_bytes).ok_or_else(wrong)?;
        let (record, start) = (bulk.record_of(first, at), u64::from(first) * bulk.unit_bytes + at);
        let records = record..bulk.records_to(start + bytes.len() as u64).ok_or_else(wrong)?;
        if bulk.span(record).0 != start {
            return Err(wrong());
        }
        let mut rest = bytes;
        for record in records {
            let (now, later) = rest.split_at_mut(bulk.span(record).1 as usize);
            if self.written[record as usize].swap(true, Ordering::Relaxed) {
                return Err(Error::Usage("a record of the batch's bulk data was written twice".into()));
            }
            let tag = self.sealer.seal_apart(record, &self.about, now);
            self.write(now, bulk.offset(record))?;
            self.write(&tag, bulk.offset(record) + now.len() as u64)?;
            rest = later;
        }
        Ok(())
    }

    /// Seals and writes the bytes given to [`Writer::record`](super::Writer::record).
    pub fn record(&mut self, first: u64, items: u32, mut bytes: Zeroizing<Vec<u8>>) -> Result<(), Error> {
        self.process.check()?;
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(Error::Usage("a record must not have more than 1 GiB".into()));
        }
        let end = first.checked_add(items.into());
        let end =
            end.ok_or_else(|| Error::Usage("the item numbers of a record must fit into 32 bits".into()))?;
        let place = SegmentPlace { first, items, offset: self.length, length: bytes.len() as u32 };
        let number = self.written.len() + self.segment.places.len();
        self.sealer.seal(number as u64, &self.about, &mut bytes);
        self.write(&bytes, self.length)?;
        self.length += bytes.len() as u64;
        self.segment.items = self.segment.items.max(end);
        self.segment.places.push(place);
        Ok(())
    }

    fn write(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        let file = self.file.as_ref().expect("the segment is open for writing");
        self.disk
            .write_at(file, bytes, offset)
            .map_err(failed(&self.path))
            .inspect_err(|error| self.poisoned.by(error))
    }

    /// Makes the segment durable under its final name.
    pub(super) fn finish(mut self) -> Result<IndexedSegment, Error> {
        self.process.check()?;
        if self.written.iter().any(|written| !written.load(Ordering::Relaxed)) {
            return Err(Error::Usage("the bulk data of the batch is not complete".into()));
        }
        let finish = || -> io::Result<()> {
            self.disk.sync(self.file.as_ref().expect("the segment is open for writing"))?;
            self.disk.rename(&self.unfinished, &self.path)?;
            self.disk.sync_directory(self.path.parent().unwrap_or(Path::new(".")))
        };
        finish().map_err(failed(&self.path)).inspect_err(|error| self.poisoned.by(error))?;
        self.file = None;
        Ok(self.segment.clone())
    }

    /// Returns the name of the segment's batch.
    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if self.file.take().is_some() && self.process.is_here() {
            // If removing fails, the file is removed when the store is opened.
            let _ = self.disk.remove(&self.unfinished);
        }
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error {
    move |error| folder::of_disk(&error, format!("the store cannot write {}: {error}", path.display()))
}

impl IndexedSegment {
    pub fn path(directory: &Path, id: &[u8; 16]) -> PathBuf {
        directory.join(id.iter().map(|b| format!("{b:02x}")).collect::<String>() + ".segment")
    }

    /// Returns the number of bytes of the file.
    pub fn length(&self) -> u64 {
        self.places
            .last()
            .map_or(Bulk::end(&self.bulk), |p| p.offset + u64::from(p.length) + TAG_BYTES as u64)
    }

    /// Returns the number of records of the bulk. The other records are numbered after them.
    pub fn bulk_records(&self) -> u64 {
        self.bulk.map_or(0, |bulk| bulk.records())
    }

    /// Returns the batch to which a file belongs, if it is a segment of the store with this key.
    pub fn named(path: &Path, key: &StoreKey) -> Option<(EpochId, Serial)> {
        let mut found = [0; HEADER_BYTES as usize];
        read_at(&File::open(path).ok()?, &mut found, 0).ok()?;
        let (id, rest) = found[MAGIC.len()..].split_first_chunk::<16>()?;
        let (name, _) = rest.split_first_chunk::<NAME_BYTES>()?;
        if found[..] != header(&key.segment(id), id, name) {
            return None;
        }
        let (epoch, serial) = name.split_first_chunk()?;
        Some((*epoch, u64::from_be_bytes(*serial.first_chunk()?)))
    }

    /// Opens the segment of the batch with this name for reading. It must have the right length and the
    /// header of this batch. A record is checked only when it is read.
    pub fn open(&self, directory: &Path, key: &StoreKey, name: &[u8]) -> Result<Reader<'_>, Error> {
        let path = Self::path(directory, &self.id);
        let refused = |why: String| Error::Stock(format!("{}: {why}", path.display()));
        let file = File::open(&path).map_err(|error| refused(error.to_string()))?;
        let length = file.metadata().map_err(|error| refused(error.to_string()))?.len();
        if length != self.length() {
            return Err(refused(format!(
                "the file has {length} bytes instead of {}; it was cut off or exchanged",
                self.length()
            )));
        }
        let (mut found, sealer) = ([0; HEADER_BYTES as usize], key.segment(&self.id));
        read_at(&file, &mut found, 0).map_err(|error| refused(error.to_string()))?;
        let header = header(&sealer, &self.id, name);
        let is_damaged = found[..] != header;
        // If only the header is damaged, the records may be good. Records of another segment could not be
        // decrypted.
        if is_damaged && Self::named(&path, key).is_some() {
            return Err(refused("the file has the header of another segment; it was exchanged".into()));
        }
        Ok(Reader { segment: self, sealer, file, path, about: about(BATCHES, name), is_damaged })
    }
}

/// An open segment.
pub(super) struct Reader<'s> {
    segment: &'s IndexedSegment,
    sealer: RecordsKey,
    file: File,
    path: PathBuf,
    about: Vec<u8>,
    /// True if the header was altered.
    is_damaged: bool,
}

impl Reader<'_> {
    fn refused(&self, number: u64, why: impl std::fmt::Display) -> Error {
        Error::Stock(format!("{}, record {number}: {why}", self.path.display()))
    }

    fn fetch(&self, number: u64, offset: u64, sealed: &mut [u8]) -> Result<(), Error> {
        read_at(&self.file, sealed, offset).map_err(|error| self.refused(number, error))
    }

    /// Reads one record; `index` does not count the records of the bulk. The inner error tells that the
    /// record was altered.
    pub fn try_read(&self, index: usize) -> Result<Result<Record, Error>, Error> {
        let (place, number) = (self.segment.places[index], self.segment.bulk_records() + index as u64);
        let mut bytes = Zeroizing::new(vec![0; place.length as usize + TAG_BYTES]);
        self.fetch(number, place.offset, &mut bytes)?;
        if !self.sealer.open(number, &self.about, &mut bytes) {
            return Ok(Err(self.altered(number)));
        }
        bytes.truncate(place.length as usize);
        Ok(Ok(Record { first: place.first, items: place.items, bytes }))
    }

    /// Reads one record; `index` does not count the records of the bulk.
    pub fn read(&self, index: usize) -> Result<Record, Error> {
        self.try_read(index)?
    }

    /// Reads a record of the bulk into the buffer `sealed`. The inner error tells that the record was
    /// altered.
    fn read_bulk<'b>(
        &self,
        bulk: &Bulk,
        record: u64,
        sealed: &'b mut Vec<u8>,
    ) -> Result<Result<&'b [u8], Error>, Error> {
        sealed.resize(bulk.span(record).1 as usize + TAG_BYTES, 0);
        self.fetch(record, bulk.offset(record), sealed)?;
        Ok(match self.sealer.open(record, &self.about, sealed) {
            true => Ok(&sealed[..sealed.len() - TAG_BYTES]),
            false => Err(self.altered(record)),
        })
    }

    fn altered(&self, number: u64) -> Error {
        self.refused(number, "the record was altered or exchanged")
    }

    /// Returns these units of the bulk, one after another.
    pub fn units(&self, wanted: &[u32]) -> Result<Vec<u8>, Error> {
        self.try_units(wanted)?
    }

    /// Returns these units of the bulk, one after another. The inner error tells that a unit was altered.
    pub fn try_units(&self, wanted: &[u32]) -> Result<Result<Vec<u8>, Error>, Error> {
        let none =
            || Error::Stock(format!("{}: the file does not have the requested units", self.path.display()));
        let bulk =
            self.segment.bulk.filter(|bulk| wanted.iter().all(|&unit| unit < bulk.units)).ok_or_else(none)?;
        let unit_bytes = bulk.unit_bytes as usize;
        let mut units = vec![0; wanted.len() * unit_bytes];
        // The units are sorted, so that each record is read only once, even if it contains several of them.
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_unstable_by_key(|&k| wanted[k]);
        let mut sealed = Vec::new();
        for group in order.chunk_by(|&a, &b| wanted[a] / bulk.sharing() == wanted[b] / bulk.sharing()) {
            let first = bulk.record_of(wanted[group[0]], 0);
            for record in first..first + bulk.chunks() {
                let (start, length) = bulk.span(record);
                let bytes = match self.read_bulk(&bulk, record, &mut sealed)? {
                    Ok(bytes) => bytes,
                    altered => return Ok(altered.map(<[u8]>::to_vec)),
                };
                for &k in group {
                    // This copies the part of the unit that is in this record.
                    let unit = u64::from(wanted[k]) * bulk.unit_bytes;
                    let (from, to) = (unit.max(start), (unit + bulk.unit_bytes).min(start + length));
                    let target = k * unit_bytes + (from - unit) as usize;
                    let source = (from - start) as usize..(to - start) as usize;
                    units[target..target + source.len()].copy_from_slice(&bytes[source]);
                }
            }
        }
        Ok(Ok(units))
    }

    /// Reads the whole segment. Returns the unreadable items, and the reasons. A damaged header costs no
    /// items, because programs do not need it.
    pub fn verify(&self) -> Vec<(Range<u64>, Error)> {
        let (mut found, mut sealed) = (Vec::new(), Vec::new());
        let bulk = self.segment.bulk.and_then(|bulk| {
            let one = |record| self.read_bulk(&bulk, record, &mut sealed).flatten().map(drop);
            Some((bulk, (0..bulk.records()).try_for_each(one).err()?))
        });
        for (index, place) in self.segment.places.iter().enumerate() {
            match (self.read(index), &bulk) {
                (Ok(record), Some((bulk, _))) => found.extend(self.verify_units(bulk, &record)),
                (Ok(_), None) => {}
                (Err(why), _) => found.push((place.items(), why)),
            }
        }
        if let Some((_, why)) = bulk.filter(|_| found.is_empty()) {
            found.push((0..self.segment.items, why));
        }
        if self.is_damaged {
            let why = "the header of this file is damaged; the store still reads its records";
            found.push((0..0, Error::Stock(format!("{}: {why}", self.path.display()))));
        }
        found
    }

    /// Reads the units of a record's items. Returns the items with an unreadable unit.
    fn verify_units(&self, bulk: &Bulk, record: &Record) -> Vec<(Range<u64>, Error)> {
        let one = |k: u32| {
            let units = bulk.of_items(&record.bytes, k as usize..k as usize + 1);
            let why = units.and_then(|units| self.units(&units)).err()?;
            let item = record.first + u64::from(k);
            Some((item..item + 1, why))
        };
        (0..record.items).filter_map(one).collect()
    }

    /// Writes the header again, if it is damaged.
    pub fn mend_header(&self, disk: &Disk) -> Result<(), Error> {
        if !self.is_damaged {
            return Ok(());
        }
        let name = &self.about[self.about.len() - NAME_BYTES..];
        let mend = || {
            let file = File::options().write(true).open(&self.path)?;
            disk.write_at(&file, &header(&self.sealer, &self.segment.id, name), 0)?;
            disk.sync(&file)
        };
        mend().map_err(failed(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte of every unit is in exactly one record, records are adjacent, and chunks end where their
    /// unit ends.
    #[test]
    fn records_of_a_bulk_cover_it() {
        for (units, unit_bytes) in [
            (1, 1),
            (5, 32),
            (16, 4096),
            (17, 4096),
            (40, 5000),
            (3, 70_000),
            (3, CHUNK_BYTES),
            (2, 2 * CHUNK_BYTES + 7),
        ] {
            let bulk = Bulk { units, unit_bytes, each: 0 };
            let (mut at, mut offset) = (0, HEADER_BYTES);
            for record in 0..bulk.records() {
                let (start, length) = bulk.span(record);
                assert_eq!((start, bulk.offset(record)), (at, offset), "{bulk:?} {record}");
                assert!(
                    length > 0
                        && (length <= SHARED_BYTES || length % unit_bytes == 0 || length <= CHUNK_BYTES)
                );
                for byte in [start, start + length - 1] {
                    assert_eq!(bulk.record_of((byte / unit_bytes) as u32, byte % unit_bytes), record);
                }
                assert!(bulk.sharing() > 1 || start / unit_bytes == (start + length - 1) / unit_bytes);
                (at, offset) = (at + length, offset + length + TAG_BYTES as u64);
            }
            assert_eq!((at, offset), (u64::from(units) * unit_bytes, Bulk::end(&Some(bulk))));
        }
    }

    /// A part of a bulk consists of whole records: it must end at the end of a record, and not after the last
    /// one.
    #[test]
    fn parts_of_a_bulk_end_where_records_do() {
        for (units, unit_bytes) in [
            (5, 32),
            (17, 4096),
            (32, 4096),
            (40, 5000),
            (3, 70_000),
            (3, CHUNK_BYTES),
            (2, 2 * CHUNK_BYTES + 7),
        ] {
            let bulk = Bulk { units, unit_bytes, each: 0 };
            for record in 0..bulk.records() {
                let (start, length) = bulk.span(record);
                assert_eq!(bulk.records_to(start), Some(record), "{bulk:?}");
                assert_eq!(bulk.records_to(start + length), Some(record + 1), "{bulk:?}");
                assert_eq!(
                    [start + 1, start + length - 1].map(|end| bulk.records_to(end)),
                    [None; 2],
                    "{bulk:?} {record}"
                );
            }
            // These units fill the last record beyond the end of the bulk, or lie in a record after it.
            let all = units.next_multiple_of(bulk.sharing());
            for units in [all, all + bulk.sharing()].into_iter().filter(|more| *more != units) {
                assert_eq!(bulk.records_to(u64::from(units) * unit_bytes), None, "{bulk:?}");
            }
        }
    }
}
