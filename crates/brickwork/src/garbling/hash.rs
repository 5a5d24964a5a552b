//! Hashes of tables, by which the garbler is bound to them: BLAKE3, of many copies side by side.

use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};
use brickwork_kernels::{Kernel, SUBTREE_BYTES, Subtree, subtree_values};

use super::TableSink;
use crate::Error;

/// Bytes of a hash of tables.
pub const TABLE_HASH_BYTES: usize = 32;

/// Bytes of a chunk of BLAKE3.
const CHUNK_BYTES: usize = 1024;

/// A hash, or the value of a node within BLAKE3's tree.
type Value = [u8; TABLE_HASH_BYTES];

/// The hash of a copy's tables: BLAKE3.
pub fn table_hash(tables: &[u8]) -> Value {
    if !is_long(tables.len()) {
        return *blake3::hash(tables).as_bytes();
    }
    let (pieces, last) = tables.as_chunks::<SUBTREE_BYTES>();
    let mut tree = Tree::default();
    for pieces in pieces.chunks(16) {
        let subtrees: Vec<Subtree> = pieces.iter().enumerate().map(|(k, bytes)| tree.subtree(k, bytes)).collect();
        let mut values = vec![[0; TABLE_HASH_BYTES]; pieces.len()];
        subtree_values(&subtrees, &mut values);
        values.into_iter().for_each(|value| tree.push(value));
    }
    if !last.is_empty() {
        tree.push_last(last);
    }
    tree.finish()
}

/// Whether tables of so many bytes are a tree of several pieces, and the machine hashes pieces in registers wide enough to be
/// faster than the blake3 crate.
fn is_long(table_bytes: usize) -> bool {
    table_bytes > SUBTREE_BYTES && Kernel::best().is_wide()
}

/// Hashes the tables of each copy and keeps nothing else.
pub struct HashTables(Hashers);

enum Hashers {
    Short(Vec<blake3::Hasher>),
    Long(Vec<Tree>),
}

impl HashTables {
    /// A sink for this many copies, with tables of so many bytes each.
    pub fn new(copies: usize, table_bytes: usize) -> Self {
        HashTables(match is_long(table_bytes) {
            true => Hashers::Long((0..copies).map(|_| Tree::default()).collect()),
            false => Hashers::Short(vec![blake3::Hasher::new(); copies]),
        })
    }

    /// The hashes, copy by copy.
    pub fn finish(&self) -> Vec<Value> {
        match &self.0 {
            Hashers::Short(hashers) => hashers.iter().map(|hasher| *hasher.finalize().as_bytes()).collect(),
            Hashers::Long(trees) => trees.iter().map(|tree| tree.clone().finish()).collect(),
        }
    }
}

impl TableSink for HashTables {
    fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error> {
        self.piece(&[copy], &[bytes])
    }

    fn piece(&mut self, copies: &[usize], tables: &[&[u8]]) -> Result<(), Error> {
        match &mut self.0 {
            Hashers::Short(hashers) => copies.iter().zip(tables).for_each(|(&copy, bytes)| {
                hashers[copy].update(bytes);
            }),
            Hashers::Long(trees) => {
                // All pieces have the same length; only the last ones are not whole.
                let whole = copies.iter().zip(tables).filter_map(|(&copy, bytes)| Some(trees[copy].subtree(0, (*bytes).try_into().ok()?)));
                let subtrees: Vec<Subtree> = whole.collect();
                if subtrees.len() < copies.len() {
                    copies.iter().zip(tables).for_each(|(&copy, bytes)| trees[copy].push_last(bytes));
                    return Ok(());
                }
                let mut values = vec![[0; TABLE_HASH_BYTES]; subtrees.len()];
                subtree_values(&subtrees, &mut values);
                copies.iter().zip(values).for_each(|(&copy, value)| trees[copy].push(value));
            }
        }
        Ok(())
    }
}

/// The upper part of BLAKE3's tree over an input of several pieces, while they come.
#[derive(Clone, Default)]
struct Tree {
    /// Whole subtrees that are not joined yet, from left to right.
    stack: Vec<Value>,
    pieces: u64,
}

impl Tree {
    /// The piece that comes `k` pieces from now.
    fn subtree<'a>(&self, k: usize, bytes: &'a [u8; SUBTREE_BYTES]) -> Subtree<'a> {
        Subtree { bytes, first_chunk: (self.pieces + k as u64) * (SUBTREE_BYTES / CHUNK_BYTES) as u64 }
    }

    /// Adds the value of the next piece. Subtrees are joined only when more follows, because the last join makes the root.
    fn push(&mut self, value: Value) {
        while self.stack.len() > self.pieces.count_ones() as usize {
            self.join();
        }
        self.stack.push(value);
        self.pieces += 1;
    }

    /// Adds the last piece, of any length but 0.
    fn push_last(&mut self, bytes: &[u8]) {
        let start = self.pieces * SUBTREE_BYTES as u64;
        self.push(blake3::Hasher::new().set_input_offset(start).update(bytes).finalize_non_root());
    }

    fn join(&mut self) {
        if let (Some(right), Some(left)) = (self.stack.pop(), self.stack.pop()) {
            self.stack.push(merge_subtrees_non_root(&left, &right, Mode::Hash));
        }
    }

    /// The hash.
    ///
    /// # Panics
    /// If there were fewer than two pieces.
    fn finish(mut self) -> Value {
        while self.stack.len() > 2 {
            self.join();
        }
        let [left, right] = self.stack[..] else { panic!("a tree of fewer than two pieces") };
        *merge_subtrees_root(&left, &right, Mode::Hash).as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fixed for good: another hash is another protocol.
    #[test]
    fn hashes_are_those_of_blake3_for_every_length() {
        let bytes: Vec<u8> = (0..40 * SUBTREE_BYTES as u32 + 5000).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let around = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40].map(|pieces| pieces * SUBTREE_BYTES);
        for length in around.iter().flat_map(|&n| [n.saturating_sub(32), n, n + 32, n + 1024, n + 5000]) {
            let expected = *blake3::hash(&bytes[..length]).as_bytes();
            assert_eq!(table_hash(&bytes[..length]), expected, "{length}");
            let mut sink = HashTables::new(3, length);
            for piece in bytes[..length].chunks(SUBTREE_BYTES) {
                sink.piece(&[0, 2], &[piece, piece]).unwrap();
                sink.tables(1, piece).unwrap();
            }
            assert_eq!(sink.finish(), [expected; 3], "{length}");
        }
    }

    #[test]
    fn copies_do_not_mix() {
        let tables = |copy: u8| vec![copy; 3 * SUBTREE_BYTES];
        let mut sink = HashTables::new(20, 3 * SUBTREE_BYTES);
        let all: Vec<Vec<u8>> = (0..20).map(tables).collect();
        for piece in 0..3 {
            for copies in [(0..7).collect::<Vec<usize>>(), (7..20).rev().collect()] {
                let parts: Vec<&[u8]> = copies.iter().map(|&c| &all[c][piece * SUBTREE_BYTES..][..SUBTREE_BYTES]).collect();
                sink.piece(&copies, &parts).unwrap();
            }
        }
        let expected: Vec<Value> = all.iter().map(|tables| *blake3::hash(tables).as_bytes()).collect();
        assert_eq!(sink.finish(), expected);
    }
}
