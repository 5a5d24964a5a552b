//! Records of copies and input masks: lists of plain values. The circuit and the security level determine the
//! bytes of each item.

use std::ops::Range;

use brickwork_base::Error;
use brickwork_base::label::{LABEL_BYTES, Label};
use brickwork_circuit::Circuit;
use brickwork_protocol::stock::records::{In, Out, Records};
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use serde::{Deserialize, Serialize};

use brickwork_store::Serial;

use crate::parameters::LotOrigin;
use crate::secrets::SecretBlocks;
use crate::share::MaskShares;

const VERSION: u32 = 1;

/// The data that all items of a batch share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    version: u32,
    /// The first batch of the lot. All batches of a lot share a pool.
    pub step: Serial,
    pub origin: LotOrigin,
    /// For copies: the groups whose hash keys have a common start, in order.
    pub parts: Vec<CopyKeyRange>,
}

/// The start of the hash keys of some copies, and the number of these copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CopyKeyRange {
    pub start: u128,
    pub copies: u32,
}

impl Header {
    pub fn new(step: Serial, origin: LotOrigin, parts: Vec<CopyKeyRange>) -> Self {
        Header { version: VERSION, step, origin, parts }
    }

    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("each header has an encoding")
    }

    /// Reads a header.
    ///
    /// # Errors
    /// [`Error::Stock`] if the header is malformed or has impossible values.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let malformed = |what: &str| Error::Stock(format!("the header of a batch {what}"));
        let header: Header = postcard::from_bytes(bytes).map_err(|_| malformed("is malformed"))?;
        if header.version != VERSION {
            return Err(malformed("has another version"));
        }
        let pool = header.origin.pool;
        match (pool.size == 0) == (pool.bucket == 0) && header.parts.iter().all(|keys| keys.copies > 0) {
            true => Ok(header),
            false => Err(malformed("has impossible values")),
        }
    }

    /// Splits items of the batch by the start of their hash keys. Returns for each group its items, its keys,
    /// and the number of its first item under these keys.
    pub fn cut(&self, items: Range<usize>) -> Vec<(Range<usize>, CopyKeyRange, u32)> {
        let (mut first, mut cut) = (0, Vec::new());
        for &keys in &self.parts {
            let part = first..first + keys.copies as usize;
            let here = items.start.max(part.start)..items.end.min(part.end);
            if !here.is_empty() {
                cut.push((here.clone(), keys, (here.start - first) as u32));
            }
            first = part.end;
        }
        cut
    }
}

/// The number of bytes of an item in each list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape(pub Vec<usize>);

impl Shape {
    /// Makes a shape of lists with this many labels for each item.
    pub fn of_words(words: impl IntoIterator<Item = usize>) -> Self {
        Shape(words.into_iter().map(|count| count * LABEL_BYTES).collect())
    }

    /// Adds lists with this many tags of `c` bytes for each AND gate.
    #[must_use]
    pub fn and_tags(mut self, circuit: &Circuit, c: usize, tags: impl IntoIterator<Item = usize>) -> Self {
        self.0.extend(tags.into_iter().map(|count| count * c * circuit.and_gates()));
        self
    }
}

/// A list of values.
pub(super) enum ValueList {
    Words(SecretBlocks<Label>),
    /// Bytes, which spare bytes may follow.
    Bytes(SecretBlocks<u8>),
}

impl ValueList {
    fn bytes(&self) -> &[u8] {
        match self {
            ValueList::Words(words) => cast_slice(words),
            ValueList::Bytes(bytes) => bytes,
        }
    }
}

/// Splits shares into the list of keys and the list of MACs.
pub(super) fn of_shares(shares: MaskShares) -> [ValueList; 2] {
    let MaskShares { keys, macs } = shares;
    [ValueList::Words(keys), ValueList::Words(macs)]
}

/// Items that were appended in one call.
struct Chunk {
    count: usize,
    lists: Vec<ValueList>,
}

/// The items of one batch, or of some records of it.
pub(super) struct BatchItems {
    shape: Shape,
    chunks: Vec<Chunk>,
}

impl BatchItems {
    pub fn new(shape: Shape) -> Self {
        BatchItems { shape, chunks: Vec::new() }
    }

    /// Appends `count` items.
    ///
    /// # Panics
    /// If a list is too short.
    pub fn push(&mut self, count: usize, lists: Vec<ValueList>) {
        assert_eq!(
            lists.len(),
            self.shape.0.len(),
            "the record must have one list for each list of its shape"
        );
        let long_enough =
            lists.iter().zip(&self.shape.0).all(|(list, each)| list.bytes().len() >= count * each);
        assert!(long_enough, "a list of the record is too short");
        self.chunks.push(Chunk { count, lists });
    }

    /// Returns the chunks that have some of these items, each with the range of these items in it.
    fn within(&self, items: Range<usize>) -> impl Iterator<Item = (&Chunk, Range<usize>)> {
        let firsts = self.chunks.iter().scan(0, |next, chunk| {
            let first = *next;
            *next += chunk.count;
            Some((chunk, first))
        });
        firsts.filter_map(move |(chunk, first)| {
            let here = items.start.max(first)..items.end.min(first + chunk.count);
            (!here.is_empty()).then(|| (chunk, here.start - first..here.end - first))
        })
    }

    /// Returns the values of a list for these items, with room for `spare` further values.
    pub fn list<T: Pod + Default>(
        &self,
        number: usize,
        items: Range<usize>,
        spare: usize,
    ) -> SecretBlocks<T> {
        let each = self.shape.0[number];
        let mut all = SecretBlocks::<T>::zeros(items.len() * each / size_of::<T>() + spare);
        let (bytes, mut at) = (cast_slice_mut::<T, u8>(&mut all), 0);
        for (chunk, here) in self.within(items) {
            let some = &chunk.lists[number].bytes()[here.start * each..here.end * each];
            bytes[at..at + some.len()].copy_from_slice(some);
            at += some.len();
        }
        all
    }

    /// Returns the shares whose keys are in list `number` and whose MACs are in the next list.
    pub fn shares(&self, number: usize, items: &Range<usize>) -> MaskShares {
        MaskShares {
            keys: self.list(number, items.clone(), 0),
            macs: self.list(number + 1, items.clone(), 0),
        }
    }
}

impl Records for BatchItems {
    type Context<'c> = Shape;

    fn count(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.count).sum()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        (0..self.shape.0.len()).for_each(|number| out.pods(&self.list::<u8>(number, items.clone(), 0)));
        Ok(())
    }

    fn decode(shape: &Shape, count: usize, record: &mut In) -> Result<Self, Error> {
        let mut list = |each: &usize| {
            let bytes =
                each.checked_mul(count).ok_or_else(|| Error::Stock("a stored record is too long".into()))?;
            Ok::<_, Error>(ValueList::Bytes(SecretBlocks::new(record.pods(bytes)?)))
        };
        let lists = shape.0.iter().map(&mut list).collect::<Result<_, _>>()?;
        Ok(BatchItems { shape: shape.clone(), chunks: vec![Chunk { count, lists }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::TriplePool;
    use brickwork_protocol::stock::records::rewritten;

    fn items() -> BatchItems {
        let mut items = BatchItems::new(Shape(vec![16, 3]));
        for (first, count) in [(0u8, 3), (3, 1), (4, 4)] {
            let words = (first..first + count).map(|k| Label::from_bits(k.into())).collect();
            let tags = (first..first + count).flat_map(|k| [k, k + 50, k + 100]).chain([255; 5]).collect();
            items
                .push(count.into(), vec![ValueList::Words(words), ValueList::Bytes(SecretBlocks::new(tags))]);
        }
        items
    }

    fn is(items: &BatchItems, expected: Range<u8>) {
        let all = 0..items.count();
        let words: Vec<u128> =
            items.list::<Label>(0, all.clone(), 0).iter().map(|word| word.bits()).collect();
        assert_eq!(words, expected.clone().map(u128::from).collect::<Vec<_>>());
        let tags: Vec<u8> = expected.flat_map(|k| [k, k + 50, k + 100]).collect();
        assert_eq!(items.list::<u8>(1, all.clone(), 0)[..], tags);
        let spare = items.list::<u8>(1, all, 7);
        assert_eq!(spare[..], [&tags[..], &[0; 7]].concat());
    }

    /// Written items can be read back, however they are divided into chunks and records. A record of a wrong
    /// length is refused.
    #[test]
    fn records_are_read_as_they_were_written() {
        let items = items();
        is(&items, 0..8);
        let shape = Shape(vec![16, 3]);
        (1..8).for_each(|at| is(&rewritten(&items, at, &shape).unwrap(), 0..8));
        let mut out = Out::of(8);
        items.encode(0..8, &mut out).unwrap();
        let bytes = out.plain();
        assert_eq!(bytes.len(), 19 * 8);
        for length in [bytes.len() - 1, 0] {
            let cut = BatchItems::decode(&shape, 8, &mut In::new(&bytes[..length]));
            assert!(matches!(cut, Err(Error::Stock(_))));
        }
    }

    /// Headers that are malformed or have impossible values are refused.
    #[test]
    fn headers_that_are_none_are_refused() {
        let origin = |size, bucket| LotOrigin { pool: TriplePool { size, bucket }, calls: 2, openings: 1 };
        let parts = |copies| vec![CopyKeyRange { start: 3, copies }];
        let good = Header::new(7, origin(10, 3), parts(4));
        assert_eq!(Header::decode(&good.encode()).unwrap(), good);
        let none = Header::new(7, origin(0, 0), Vec::new());
        assert_eq!(Header::decode(&none.encode()).unwrap(), none);
        let later = Header { version: 2, ..good.clone() };
        let bad = [Header::new(7, origin(10, 0), parts(4)), Header::new(7, origin(10, 3), parts(0)), later];
        for header in bad {
            assert!(matches!(Header::decode(&header.encode()), Err(Error::Stock(_))));
        }
        assert!(matches!(Header::decode(&good.encode()[..5]), Err(Error::Stock(_))));
    }

    /// A copy keeps the number under which it was garbled.
    #[test]
    fn items_are_cut_where_their_keys_begin() {
        let keys = |start, copies| CopyKeyRange { start, copies };
        let parts = vec![keys(5, 4), keys(6, 1), keys(7, 4)];
        let header = Header::new(0, LotOrigin { pool: TriplePool::NONE, calls: 0, openings: 3 }, parts);
        assert_eq!(header.cut(0..4), [(0..4, keys(5, 4), 0)]);
        assert_eq!(header.cut(1..2), [(1..2, keys(5, 4), 1)]);
        assert_eq!(header.cut(3..9), [(3..4, keys(5, 4), 3), (4..5, keys(6, 1), 0), (5..9, keys(7, 4), 0)]);
        assert_eq!(header.cut(7..8), [(7..8, keys(7, 4), 2)]);
    }
}
