//! A segment: the payload of one batch, written once.
//!
//! ```text
//! segment = "brickws\x01" id:[u8; 16] (ciphertext tag:[u8; 16])*       the lengths are in the index
//! ```
//!
//! A segment is written under another name, made durable and then renamed; the index names it only after that.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::disk::Disk;
use super::seal::{Records, StoreKey, TAG_BYTES};
use crate::Error;

const MAGIC: &[u8; 8] = b"brickws\x01";
const HEADER_BYTES: u64 = 24;

/// No record is larger; whoever wants to store more cuts it into several.
pub const MAX_RECORD_BYTES: usize = 1 << 30;

/// Where a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// Which part of its items it holds.
    pub part: u8,
    /// Number of the first of its items in the batch.
    pub first: u64,
    pub items: u32,
    offset: u64,
    /// Without the tag.
    length: u32,
}

/// A segment as the index knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Segment {
    pub id: [u8; 16],
    /// Items of the batch.
    pub items: u64,
    pub places: Vec<Place>,
}

/// A part of some items of a batch. Records that name the same items are pieces of one, in order.
pub struct Record {
    /// Which part of the items it holds; the protocol's own division.
    pub part: u8,
    /// Number of its first item in the batch.
    pub first: u64,
    /// How many items it is about.
    pub items: u32,
    /// What its writer gave.
    pub bytes: Zeroizing<Vec<u8>>,
}

/// A segment that is being written, under another name. Nothing of it counts until the index names it.
pub struct Writer {
    segment: Segment,
    length: u64,
    file: File,
    sealer: Records,
    about: Vec<u8>,
    poisoned: Arc<OnceLock<String>>,
    disk: Disk,
    unfinished: PathBuf,
    path: PathBuf,
}

impl Writer {
    pub(super) fn new(
        disk: &Disk,
        directory: &Path,
        key: &StoreKey,
        about: Vec<u8>,
        poisoned: Arc<OnceLock<String>>,
    ) -> Result<Self, Error> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|error| Error::Resource(format!("the operating system gives no randomness ({error})")))?;
        let path = Segment::path(directory, &id);
        let unfinished = path.with_extension("unfinished");
        let make = || {
            let file = disk.create(&unfinished)?;
            disk.write(&file, &[&MAGIC[..], &id].concat())?;
            Ok(file)
        };
        let file = make().map_err(failed(&path))?;
        let segment = Segment { id, items: 0, places: Vec::new() };
        let (disk, sealer) = (disk.clone(), key.segment(&id));
        Ok(Writer { segment, length: HEADER_BYTES, file, sealer, about, poisoned, disk, unfinished, path })
    }

    /// Writes a record: a part of the items `first..first + items`. After a failure the store is poisoned.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails, [`Error::Usage`] for a record of more than [`MAX_RECORD_BYTES`].
    pub fn record(&mut self, part: u8, first: u64, items: u32, mut bytes: Zeroizing<Vec<u8>>) -> Result<(), Error> {
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(Error::Usage("a record of more than 1 GiB".into()));
        }
        let place = Place { part, first, items, offset: self.length, length: bytes.len() as u32 };
        self.sealer.seal(self.segment.places.len() as u64, &self.about, &mut bytes);
        self.disk.write(&self.file, &bytes).map_err(failed(&self.path)).inspect_err(|error| {
            // The first reason counts.
            let _ = self.poisoned.set(error.to_string());
        })?;
        self.length += bytes.len() as u64;
        self.segment.items = self.segment.items.max(first + u64::from(items));
        self.segment.places.push(place);
        Ok(())
    }

    /// Makes it durable under its name.
    pub(super) fn finish(self) -> Result<Segment, Error> {
        let Writer { segment, file, disk, unfinished, path, .. } = self;
        let finish = || -> io::Result<()> {
            disk.sync(&file)?;
            drop(file);
            disk.rename(&unfinished, &path)?;
            disk.sync_directory(path.parent().unwrap_or(Path::new(".")))
        };
        finish().map_err(failed(&path))?;
        Ok(segment)
    }

    /// What its records are about.
    pub(super) fn about(&self) -> &[u8] {
        &self.about
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error {
    move |error| Error::Stock(format!("writing {}: {error}", path.display()))
}

impl Segment {
    pub fn path(directory: &Path, id: &[u8; 16]) -> PathBuf {
        directory.join(id.iter().map(|b| format!("{b:02x}")).collect::<String>() + ".segment")
    }

    /// Bytes of the file.
    pub fn length(&self) -> u64 {
        self.places.last().map_or(HEADER_BYTES, |p| p.offset + u64::from(p.length) + TAG_BYTES as u64)
    }

    /// Opens the segment for reading. Its length and its header must be right; the records are checked as they are read.
    pub fn open(&self, directory: &Path, key: &StoreKey) -> Result<Reader<'_>, Error> {
        let path = Self::path(directory, &self.id);
        let refused = |why: String| Error::Stock(format!("{}: {why}", path.display()));
        let mut file = File::open(&path).map_err(|error| refused(error.to_string()))?;
        let length = file.metadata().map_err(|error| refused(error.to_string()))?.len();
        if length != self.length() {
            return Err(refused(format!("it has {length} bytes instead of {}; it was cut or exchanged", self.length())));
        }
        let mut header = [0; HEADER_BYTES as usize];
        file.read_exact(&mut header).map_err(|error| refused(error.to_string()))?;
        if header[..8] != MAGIC[..] || header[8..] != self.id {
            return Err(refused("its header is not that of this segment; it was damaged or exchanged".into()));
        }
        Ok(Reader { segment: self, sealer: key.segment(&self.id), file, path })
    }
}

/// An open segment.
pub(super) struct Reader<'s> {
    segment: &'s Segment,
    sealer: Records,
    file: File,
    path: PathBuf,
}

impl Reader<'_> {
    /// Reads one record to the end of a buffer.
    pub fn append(&mut self, number: usize, about: &[u8], buffer: &mut Vec<u8>) -> Result<(), Error> {
        let place = self.segment.places[number];
        let refused = |why: String| Error::Stock(format!("{}, record {number}: {why}", self.path.display()));
        let (start, length) = (buffer.len(), place.length as usize + TAG_BYTES);
        // What is secret does not grow: its buffer is empty. What grows is not.
        buffer.reserve(length);
        let file = &mut self.file;
        let read = file.seek(SeekFrom::Start(place.offset)).and_then(|_| file.take(length as u64).read_to_end(buffer));
        match read {
            Ok(read) if read == length => {}
            Ok(_) => return Err(refused("it is cut".into())),
            Err(error) => return Err(refused(error.to_string())),
        }
        if !self.sealer.open(number as u64, about, &mut buffer[start..]) {
            return Err(refused("it was altered or is another record".into()));
        }
        buffer.truncate(start + place.length as usize);
        Ok(())
    }

    /// Reads one record.
    pub fn read(&mut self, number: usize, about: &[u8]) -> Result<Record, Error> {
        let place = self.segment.places[number];
        let mut bytes = Zeroizing::new(Vec::new());
        self.append(number, about, &mut bytes)?;
        Ok(Record { part: place.part, first: place.first, items: place.items, bytes })
    }
}
