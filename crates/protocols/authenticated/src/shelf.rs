//! Lists of secrets that wait for their program. They are in memory or, if they are too large, in a file that
//! is encrypted under a key of this process.

use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use brickwork_base::Error;
use brickwork_base::random::Rng;
use brickwork_kernels::Aes128;
use brickwork_primitives::spill::SpillFile;
use bytemuck::{Pod, cast_slice, cast_slice_mut};

use crate::secrets::Secrets;

/// The bytes that are encrypted at a time.
const IN_HAND: usize = 1 << 18;

/// The bytes of a block of the cipher. Each list in the file begins at a multiple of it.
const BLOCK: usize = 16;

/// A file, encrypted in counter mode: block `k` of the file has counter `k`.
pub(super) struct Encrypted {
    file: SpillFile,
    key: Aes128,
    end: AtomicU64,
}

impl Encrypted {
    /// Adds the key stream to blocks that begin at byte `offset` of the file.
    fn crypt(&self, bytes: &mut [u128], offset: u64) {
        let mut stream = Secrets::zeros(bytes.len());
        self.key.ctr(u128::from(offset / BLOCK as u64), &mut stream);
        bytes.iter_mut().zip(stream.iter()).for_each(|(block, key)| *block ^= key);
    }

    /// Appends bytes to the file. Returns the offset of the first byte.
    fn write(&self, bytes: &[u8]) -> Result<u64, Error> {
        let first = self.end.fetch_add(bytes.len().next_multiple_of(BLOCK) as u64, Ordering::Relaxed);
        let mut offset = first;
        for some in bytes.chunks(IN_HAND) {
            let mut blocks = Secrets::<u128>::zeros(some.len().div_ceil(BLOCK));
            cast_slice_mut::<_, u8>(&mut blocks)[..some.len()].copy_from_slice(some);
            self.crypt(&mut blocks, offset);
            self.file.write(cast_slice(&blocks), offset)?;
            offset += some.len() as u64;
        }
        Ok(first)
    }

    /// Reads bytes at any offset.
    fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), Error> {
        let before = (offset % BLOCK as u64) as usize;
        let mut blocks = Secrets::<u128>::zeros((before + bytes.len()).div_ceil(BLOCK));
        self.file.read(cast_slice_mut(&mut blocks), offset - before as u64)?;
        self.crypt(&mut blocks, offset - before as u64);
        bytes.copy_from_slice(&cast_slice::<_, u8>(&blocks)[before..][..bytes.len()]);
        Ok(())
    }
}

/// The place where lists are kept: memory if this is `None`.
pub(super) struct Shelf(Option<Arc<Encrypted>>);

impl Shelf {
    /// Makes a shelf for lists of about `bytes` bytes in all: in memory if this is at most the limit
    /// `memory`.
    ///
    /// # Errors
    /// [`Error::Resource`] if the file cannot be made.
    pub fn new(bytes: u64, memory: u64, rng: &mut Rng) -> Result<Self, Error> {
        if bytes <= memory {
            return Ok(Shelf(None));
        }
        let encrypted =
            Encrypted { file: SpillFile::new()?, key: Aes128::new(rng.block()), end: AtomicU64::new(0) };
        Ok(Shelf(Some(Arc::new(encrypted))))
    }

    /// Makes a shelf in memory without a limit.
    pub fn memory() -> Self {
        Shelf(None)
    }

    /// Keeps a list.
    ///
    /// # Errors
    /// [`Error::Resource`] if the disk is full.
    pub fn keep<T: Pod + Default>(&self, list: Secrets<T>) -> Result<Shelved<T>, Error> {
        match &self.0 {
            None => Ok(Shelved::Memory(list)),
            Some(file) => Ok(Shelved::File {
                file: file.clone(),
                first: file.write(cast_slice(&list))?,
                len: list.len(),
            }),
        }
    }
}

/// A list on a shelf, in memory or in the file.
pub(super) enum Shelved<T: Pod + Default> {
    Memory(Secrets<T>),
    /// A list of `len` values that begins at byte `first`.
    File {
        file: Arc<Encrypted>,
        first: u64,
        len: usize,
    },
}

/// Some values of a list, borrowed or read from the file.
pub(super) enum Slice<'a, T: Pod + Default> {
    Here(&'a [T]),
    Read(Secrets<T>),
}

impl<T: Pod + Default> Deref for Slice<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        match self {
            Slice::Here(some) => some,
            Slice::Read(some) => some,
        }
    }
}

impl<T: Pod + Default> Shelved<T> {
    /// Returns the whole list.
    ///
    /// # Errors
    /// [`Error::Resource`] if the file cannot be read.
    pub fn whole(self) -> Result<Secrets<T>, Error> {
        match self {
            Shelved::Memory(list) => Ok(list),
            Shelved::File { len, .. } => match self.read(0..len)? {
                Slice::Read(all) => Ok(all),
                Slice::Here(all) => Ok(Secrets::new(all.to_vec())),
            },
        }
    }

    /// Reads the values at these places.
    ///
    /// # Errors
    /// [`Error::Resource`] if the file cannot be read.
    ///
    /// # Panics
    /// If the list ends before these places.
    pub fn read(&self, places: Range<usize>) -> Result<Slice<'_, T>, Error> {
        match self {
            Shelved::Memory(list) => Ok(Slice::Here(&list[places])),
            Shelved::File { file, first, len } => {
                assert!(places.end <= *len, "places beyond the end of the list");
                let mut some = Secrets::zeros(places.len());
                let offset = first + (places.start * size_of::<T>()) as u64;
                file.read(cast_slice_mut(&mut some), offset)?;
                Ok(Slice::Read(some))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_testing::Replayable as _;

    /// A file returns the stored lists, read from any place, and does not contain them in the clear.
    #[test]
    fn lists_come_back_from_files() {
        let mut rng = Rng::replayable("test lists");
        for memory in [0, u64::MAX] {
            let shelf = Shelf::new(1, memory, &mut rng).unwrap();
            assert_eq!(shelf.0.is_some(), memory == 0);
            let lists: Vec<Vec<u8>> = [0, 1, 15, 16, 17, 1000, IN_HAND + 5, 3 * IN_HAND]
                .into_iter()
                .map(|n| (0..n).map(|_| rng.below(256) as u8).collect())
                .collect();
            let kept: Vec<Shelved<u8>> =
                lists.iter().map(|list| shelf.keep(Secrets::new(list.clone())).unwrap()).collect();
            for (list, kept) in lists.iter().zip(&kept) {
                for (first, end) in
                    [(0, list.len()), (list.len() / 3, list.len() / 2), (1, 14), (5, list.len())]
                {
                    if first <= end && end <= list.len() {
                        assert_eq!(kept.read(first..end).unwrap()[..], list[first..end]);
                    }
                }
                if let (Shelved::File { file, first, len }, true) = (kept, list.len() > 100) {
                    let mut raw = vec![0; *len];
                    file.file.read(&mut raw, *first).unwrap();
                    let same = raw.iter().zip(list).filter(|(raw, byte)| raw == byte).count();
                    assert!(same < list.len() / 50 + 20, "{same} of {} bytes in the clear", list.len());
                }
            }
        }
    }
}
