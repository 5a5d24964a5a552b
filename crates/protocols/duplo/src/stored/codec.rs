//! Bytes of records: arrays of plain values one after the other. How many there are follows from the batch's
//! header, never from the bytes.

use bytemuck::Pod;
use zeroize::Zeroizing;

use brickwork_base::Error;
use brickwork_primitives::commit::Shares;
use brickwork_stock::TAG_BYTES;

/// A record that is being written.
#[derive(Default)]
pub(super) struct Out(Zeroizing<Vec<u8>>);

impl Out {
    pub fn pods<T: Pod>(&mut self, values: &[T]) {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        self.reserve(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn reserve(&mut self, more: usize) {
        if self.0.capacity() < self.0.len() + more {
            // What grows leaves copies behind; so it is made anew.
            let mut larger = Zeroizing::new(Vec::with_capacity(2 * (self.0.len() + more)));
            larger.extend_from_slice(&self.0);
            self.0 = larger;
        }
    }

    pub fn shares(&mut self, shares: &Shares) {
        self.pods(shares.words());
    }

    /// The record, with room for what sealing adds.
    pub fn finish(mut self) -> Zeroizing<Vec<u8>> {
        self.reserve(TAG_BYTES);
        self.0
    }
}

/// A record that is being read.
pub(super) struct In<'a> {
    bytes: &'a [u8],
    /// Words of a share.
    words: usize,
}

impl<'a> In<'a> {
    pub fn new(bytes: &'a [u8], words: usize) -> Self {
        In { bytes, words }
    }

    fn broken() -> Error {
        Error::Stock("a record is shorter or longer than what it should hold".into())
    }

    pub fn pods<T: Pod>(&mut self, count: usize) -> Result<Vec<T>, Error> {
        let length = count
            .checked_mul(size_of::<T>())
            .filter(|&length| length <= self.bytes.len())
            .ok_or_else(Self::broken)?;
        let (bytes, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        let mut values = vec![T::zeroed(); count];
        bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
        Ok(values)
    }

    pub fn shares(&mut self, count: usize) -> Result<Shares, Error> {
        let words = self.words;
        Ok(Shares::of_columns(words, self.pods(count * words)?))
    }

    /// Everything must have been read.
    pub fn end(self) -> Result<(), Error> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Self::broken()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written of secrets leaves no copies behind: nothing grows where it lies.
    #[test]
    fn a_record_that_outgrows_its_room_is_made_anew() {
        let mut out = Out::default();
        for more in [30, 30, 1, 2] {
            let (room, needed) = (out.0.capacity(), out.0.len() + more);
            out.pods(&vec![7u8; more]);
            assert_eq!(out.0.len(), needed);
            match room >= needed {
                true => assert_eq!(out.0.capacity(), room, "{needed}"),
                // A vector that grows by itself takes less.
                false => assert!(out.0.capacity() >= 2 * needed, "{needed}"),
            }
        }
        // And it does not move to be sealed.
        let mut full = Out::default();
        (0..2).for_each(|_| full.pods(&[7u8; 30]));
        assert!(full.finish().capacity() >= 60 + TAG_BYTES);
    }

    #[test]
    fn a_record_is_read_to_its_end_and_no_further() {
        let bytes = [0; 16];
        let read = |bytes, count| {
            let mut record = In::new(bytes, 5);
            record.pods::<u64>(count).and_then(|_| record.end())
        };
        assert!(read(&bytes, 2).is_ok());
        for (bytes, count) in [(&bytes[..], 1), (&bytes[..], 3), (&bytes[..15], 2), (&bytes[..], usize::MAX)]
        {
            assert!(
                matches!(read(bytes, count), Err(Error::Stock(why)) if why.contains("shorter or longer"))
            );
        }
    }
}
