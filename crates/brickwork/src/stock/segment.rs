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
    pub places: Vec<Place>,
}

/// Some items of a batch in one piece.
pub struct Record {
    /// Number of its first item in the batch.
    pub first: u64,
    /// How many items it holds.
    pub items: u32,
    /// What its writer gave.
    pub bytes: Zeroizing<Vec<u8>>,
}

impl Segment {
    pub fn path(directory: &Path, id: &[u8; 16]) -> PathBuf {
        directory.join(id.iter().map(|b| format!("{b:02x}")).collect::<String>() + ".segment")
    }

    /// Bytes of the file.
    pub fn length(&self) -> u64 {
        self.places.last().map_or(HEADER_BYTES, |p| p.offset + u64::from(p.length) + TAG_BYTES as u64)
    }

    pub fn items(&self) -> u64 {
        self.places.last().map_or(0, |p| p.first + u64::from(p.items))
    }

    /// Writes a segment and makes it durable. `about` is the associated data of all its records.
    pub fn write(
        disk: &Disk,
        directory: &Path,
        key: &StoreKey,
        about: &[u8],
        records: &mut dyn Iterator<Item = (u32, Vec<u8>)>,
    ) -> Result<Self, Error> {
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|error| Error::Resource(format!("the operating system gives no randomness ({error})")))?;
        let sealer = key.segment(&id);
        let (path, unfinished) = (Self::path(directory, &id), Self::path(directory, &id).with_extension("unfinished"));
        let mut segment = Segment { id, places: Vec::new() };
        let mut write = || -> io::Result<()> {
            let file = disk.create(&unfinished)?;
            disk.write(&file, &[&MAGIC[..], &id].concat())?;
            for (items, mut record) in &mut *records {
                if record.len() > MAX_RECORD_BYTES {
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, "a record of more than 1 GiB"));
                }
                let place = Place { first: segment.items(), items, offset: segment.length(), length: record.len() as u32 };
                sealer.seal(segment.places.len() as u64, about, &mut record);
                disk.write(&file, &record)?;
                segment.places.push(place);
            }
            disk.sync(&file)?;
            drop(file);
            disk.rename(&unfinished, &path)?;
            disk.sync_directory(directory)
        };
        write().map_err(|error| Error::Stock(format!("writing {}: {error}", path.display())))?;
        Ok(segment)
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
    /// Reads one record.
    pub fn read(&mut self, number: usize, about: &[u8]) -> Result<Record, Error> {
        let place = self.segment.places[number];
        let refused = |why: String| Error::Stock(format!("{}, record {number}: {why}", self.path.display()));
        let mut bytes = Zeroizing::new(vec![0; place.length as usize + TAG_BYTES]);
        self.file
            .seek(SeekFrom::Start(place.offset))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(|error| refused(error.to_string()))?;
        if !self.sealer.open(number as u64, about, &mut bytes) {
            return Err(refused("it was altered or is another record".into()));
        }
        Ok(Record { first: place.first, items: place.items, bytes })
    }
}
