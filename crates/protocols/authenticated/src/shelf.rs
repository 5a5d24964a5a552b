//! Lists of secrets that wait for their program, and lists that grow with a program. They are in memory or,
//! if they are too large, in a file that is encrypted under a key of this process.

use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::random::Rng;
use brickwork_kernels::Aes128;
use brickwork_primitives::spill::SpillFile;
use bytemuck::{Pod, cast_slice, cast_slice_mut, try_cast_slice_mut};

use crate::secrets::SecretBlocks;
use crate::share::{MaskShares, Share};

/// The bytes that are encrypted at a time.
const IN_HAND: usize = 1 << 18;

/// The blocks of key stream that are made at a time.
const STRIP: usize = 1 << 8;

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
        // The strips stay in the cache.
        let mut stream = SecretBlocks::zeros(bytes.len().min(STRIP));
        let mut counter = u128::from(offset / BLOCK as u64);
        for some in bytes.chunks_mut(STRIP) {
            let stream = &mut stream[..some.len()];
            self.key.ctr(counter, stream);
            some.iter_mut().zip(stream.iter()).for_each(|(block, key)| *block ^= key);
            counter += some.len() as u128;
        }
    }

    /// Appends bytes to the file. Returns the offset of the first byte.
    fn write(&self, bytes: &[u8]) -> Result<u64, Error> {
        let first = self.end.fetch_add(bytes.len().next_multiple_of(BLOCK) as u64, Ordering::Relaxed);
        let mut offset = first;
        for some in bytes.chunks(IN_HAND) {
            let mut blocks = SecretBlocks::<u128>::zeros(some.len().div_ceil(BLOCK));
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
        if let (0, Ok(blocks)) = (before, try_cast_slice_mut::<_, u128>(bytes)) {
            self.file.read(cast_slice_mut(blocks), offset)?;
            self.crypt(blocks, offset);
            return Ok(());
        }
        let mut blocks = SecretBlocks::<u128>::zeros((before + bytes.len()).div_ceil(BLOCK));
        self.file.read(cast_slice_mut(&mut blocks), offset - before as u64)?;
        self.crypt(&mut blocks, offset - before as u64);
        bytes.copy_from_slice(&cast_slice::<_, u8>(&blocks)[before..][..bytes.len()]);
        Ok(())
    }
}

/// The place where lists are kept.
pub(super) struct ListPlace {
    /// The largest number of bytes of lists that are kept in memory.
    memory: u64,
    /// The file, or nothing if the lists are in memory.
    file: Option<Arc<Encrypted>>,
}

impl ListPlace {
    /// Makes a place for lists with about `bytes` bytes in total. They are in memory if this is at most the
    /// limit `memory`.
    ///
    /// # Errors
    /// [`Error::Resource`] if the file cannot be made.
    pub fn new(bytes: u64, memory: u64, rng: &mut Rng) -> Result<Self, Error> {
        let encrypted = || -> Result<_, Error> {
            let (file, key) = (SpillFile::new()?, Aes128::new(rng.block()));
            Ok(Arc::new(Encrypted { file, key, end: AtomicU64::new(0) }))
        };
        Ok(ListPlace { memory, file: (bytes > memory).then(encrypted).transpose()? })
    }

    /// Returns the bytes of the file.
    #[cfg(test)]
    pub fn written(&self) -> u64 {
        self.file.as_ref().map_or(0, |file| file.end.load(Ordering::Relaxed))
    }

    /// Makes a place in memory without a limit.
    pub fn memory() -> Self {
        ListPlace { memory: u64::MAX, file: None }
    }

    /// Makes another place with the same limit, for lists with about `bytes` bytes.
    ///
    /// # Errors
    /// As [`ListPlace::new`].
    pub fn another(&self, bytes: u64, rng: &mut Rng) -> Result<Self, Error> {
        ListPlace::new(bytes, self.memory, rng)
    }

    /// Keeps a list.
    ///
    /// # Errors
    /// [`Error::Resource`] if the disk is full.
    pub fn keep<T: Pod + Default>(&self, list: SecretBlocks<T>) -> Result<Shelved<T>, Error> {
        match &self.file {
            None => Ok(Shelved::Memory(list)),
            Some(file) => Ok(Shelved::File {
                file: file.clone(),
                first: file.write(cast_slice(&list))?,
                len: list.len(),
            }),
        }
    }

    /// Keeps shares.
    ///
    /// # Errors
    /// As [`ListPlace::keep`].
    pub fn keep_shares(&self, MaskShares { keys, macs }: MaskShares) -> Result<ShelvedShares, Error> {
        Ok(ShelvedShares { keys: self.keep(keys)?, macs: self.keep(macs)? })
    }

    /// Begins a list of at most `most` values.
    pub fn paged<T: Pod + Default>(&self, most: usize) -> Paged<T> {
        let in_memory = if self.file.is_some() { PAGE } else { most };
        Paged {
            file: self.file.clone(),
            last: SecretBlocks::with_capacity(in_memory),
            pages: Vec::new(),
            cache: Vec::new(),
            hand: 0,
        }
    }
}

/// A stored list, in memory or in the file.
pub(super) enum Shelved<T: Pod + Default> {
    Memory(SecretBlocks<T>),
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
    Read(SecretBlocks<T>),
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
    pub fn whole(self) -> Result<SecretBlocks<T>, Error> {
        match self {
            Shelved::Memory(list) => Ok(list),
            Shelved::File { len, .. } => match self.read(0..len)? {
                Slice::Read(all) => Ok(all),
                Slice::Here(all) => Ok(SecretBlocks::new(all.to_vec())),
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
                assert!(places.end <= *len, "the places must lie in the list");
                let mut some = SecretBlocks::zeros(places.len());
                let offset = first + (places.start * size_of::<T>()) as u64;
                file.read(cast_slice_mut(&mut some), offset)?;
                Ok(Slice::Read(some))
            }
        }
    }
}

/// Shares on a shelf.
pub(super) struct ShelvedShares {
    keys: Shelved<Label>,
    macs: Shelved<Label>,
}

/// Some shares of a list, borrowed or read from the file.
pub(super) struct SomeShares<'a> {
    keys: Slice<'a, Label>,
    macs: Slice<'a, Label>,
}

impl ShelvedShares {
    /// Returns all shares.
    ///
    /// # Errors
    /// As [`Shelved::whole`].
    pub fn whole(self) -> Result<MaskShares, Error> {
        Ok(MaskShares { keys: self.keys.whole()?, macs: self.macs.whole()? })
    }

    /// Reads the shares at these places.
    ///
    /// # Errors
    /// As [`Shelved::read`].
    pub fn read(&self, places: Range<usize>) -> Result<SomeShares<'_>, Error> {
        Ok(SomeShares { keys: self.keys.read(places.clone())?, macs: self.macs.read(places)? })
    }
}

impl SomeShares<'_> {
    /// Visits the shares in order.
    pub fn each(&self) -> impl Iterator<Item = Share> + '_ {
        self.keys.iter().zip(self.macs.iter()).map(|(&key, &mac)| Share { key, mac })
    }
}

/// The number of values of a page.
const PAGE: usize = 256;

/// The largest number of bytes of pages that one list keeps in memory.
pub const CACHE_BYTES: usize = 32 << 20;

/// A list that grows at its end and is read at any place. In a file, it consists of full pages, and of a last
/// page that is not full. Recently used pages stay in memory.
pub(super) struct Paged<T: Pod + Default> {
    file: Option<Arc<Encrypted>>,
    /// The values that are not in the file. For a list in memory, these are all values.
    last: SecretBlocks<T>,
    pages: Vec<Page>,
    cache: Vec<Cached<T>>,
    /// The cached page that is examined next when room is needed (clock algorithm).
    hand: usize,
}

/// A full page: its offset in the file and, if it is in memory, its place in the cache.
struct Page {
    offset: u64,
    cached: Option<u32>,
}

/// A page in memory.
struct Cached<T: Pod + Default> {
    page: usize,
    /// True if the page was used since `hand` passed it.
    used: bool,
    values: SecretBlocks<T>,
}

impl<T: Pod + Default> Paged<T> {
    /// Appends a value.
    ///
    /// # Errors
    /// [`Error::Resource`] if the disk is full.
    pub fn push(&mut self, value: T) -> Result<(), Error> {
        self.last.push(value);
        if let (Some(file), PAGE) = (&self.file, self.last.len()) {
            let offset = file.write(cast_slice(&self.last))?;
            let values = std::mem::replace(&mut self.last, SecretBlocks::with_capacity(PAGE));
            self.pages.push(Page { offset, cached: None });
            let _ = self.admit(self.pages.len() - 1, values);
        }
        Ok(())
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.pages.len() * PAGE + self.last.len()
    }

    /// Returns the value at a place.
    ///
    /// # Errors
    /// [`Error::Resource`] if the file cannot be read.
    ///
    /// # Panics
    /// If the list ends before this place.
    pub fn at(&mut self, place: usize) -> Result<T, Error> {
        let (page, within) = (place / PAGE, place % PAGE);
        let Some(file) = self.file.as_ref().filter(|_| page < self.pages.len()) else {
            return Ok(self.last[place - self.pages.len() * PAGE]);
        };
        let cached = match self.pages[page].cached {
            Some(cached) => cached as usize,
            None => {
                let mut values = SecretBlocks::zeros(PAGE);
                file.read(cast_slice_mut(&mut values), self.pages[page].offset)?;
                self.admit(page, values)
            }
        };
        self.cache[cached].used = true;
        Ok(self.cache[cached].values[within])
    }

    /// Returns all values, for a list that is in memory or short.
    ///
    /// # Errors
    /// As [`Paged::at`].
    pub fn all(&mut self) -> Result<SecretBlocks<T>, Error> {
        let mut all = SecretBlocks::with_capacity(self.len());
        for place in 0..self.len() {
            all.push(self.at(place)?);
        }
        Ok(all)
    }

    /// Puts a page into the cache. If the cache is full, the page replaces one that was not used recently.
    /// Returns the place of the page.
    fn admit(&mut self, page: usize, values: SecretBlocks<T>) -> usize {
        let place = if self.cache.len() < CACHE_BYTES / (PAGE * size_of::<T>()) {
            self.cache.push(Cached { page, used: true, values });
            self.cache.len() - 1
        } else {
            while std::mem::take(&mut self.cache[self.hand].used) {
                self.hand = (self.hand + 1) % self.cache.len();
            }
            let place = self.hand;
            self.hand = (self.hand + 1) % self.cache.len();
            self.pages[self.cache[place].page].cached = None;
            self.cache[place] = Cached { page, used: true, values };
            place
        };
        self.pages[page].cached = Some(place as u32);
        place
    }
}

impl Paged<Share> {
    /// Returns the shares at these `count` places.
    ///
    /// # Errors
    /// As [`Paged::at`].
    pub fn gathered(
        &mut self,
        count: usize,
        places: impl Iterator<Item = usize>,
    ) -> Result<MaskShares, Error> {
        let mut shares = MaskShares::with_capacity(count);
        for place in places {
            shares.push(self.at(place)?);
        }
        Ok(shares)
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
            let shelf = ListPlace::new(1, memory, &mut rng).unwrap();
            assert_eq!(shelf.file.is_some(), memory == 0);
            let lists: Vec<Vec<u8>> = [0, 1, 15, 16, 17, 1000, IN_HAND + 5, 3 * IN_HAND]
                .into_iter()
                .map(|n| (0..n).map(|_| rng.below(256) as u8).collect())
                .collect();
            let kept: Vec<Shelved<u8>> =
                lists.iter().map(|list| shelf.keep(SecretBlocks::new(list.clone())).unwrap()).collect();
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

    /// Each value of a list can be read, whether its page is in the cache or not.
    #[test]
    fn pages_come_back() {
        let mut rng = Rng::replayable("test pages");
        let value = |place: usize| [Label::from_bits(place as u128), Label::from_bits(!(place as u128))];
        let in_cache = CACHE_BYTES / size_of::<[Label; 2]>();
        for (memory, count) in [(0, 5), (0, PAGE), (0, 3 * in_cache + PAGE / 2), (u64::MAX, 3 * PAGE)] {
            let shelf = ListPlace::new(1, memory, &mut rng).unwrap();
            let mut list = shelf.paged(count);
            for place in 0..count {
                list.push(value(place)).unwrap();
                let earlier = rng.below(place as u64 + 1) as usize;
                // Most values are read shortly after they were written.
                let place = if place % 64 == 0 { earlier } else { place - earlier % (place + 1).min(1000) };
                assert!(list.at(place).unwrap() == value(place), "{place}");
            }
            assert!(list.cache.len() * PAGE <= in_cache);
            assert_eq!(list.pages.len(), if memory == 0 { count / PAGE } else { 0 });
            let bound = list.pages.iter().filter(|page| page.cached.is_some()).count();
            assert_eq!(bound, list.cache.len());
        }
    }
}
