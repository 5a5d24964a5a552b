//! BLAKE3 hashes of garbled tables, which bind the garbler to them, computed for many copies side by side.

use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};
use brickwork_kernels::{
    CHUNK_BYTES, Kernel, SUBTREE_BYTES, Subtree, parent_values_with, subtree_values_with,
};

use super::tables::TableSink;
use brickwork_base::Error;

/// Bytes of a table hash.
pub const TABLE_HASH_BYTES: usize = 32;

/// A hash, or the value of a node in BLAKE3's tree.
type Value = [u8; TABLE_HASH_BYTES];

/// Returns the BLAKE3 hash of a copy's tables.
pub fn table_hash(tables: &[u8]) -> Value {
    table_hash_with(Kernel::best(), tables)
}

fn table_hash_with(kernel: Kernel, tables: &[u8]) -> Value {
    if !is_long(tables.len()) || !kernel.is_wide() {
        return *blake3::hash(tables).as_bytes();
    }
    let mut tree = Tree::default();
    for some in tables.chunks(16 * SUBTREE_BYTES) {
        let (sections, last) = some.as_chunks::<SUBTREE_BYTES>();
        let subtrees: Vec<Subtree> =
            sections.iter().enumerate().map(|(k, bytes)| tree.subtree(k, bytes)).collect();
        values(kernel, &subtrees).into_iter().for_each(|value| tree.push(value, SUBTREE_BYTES));
        push_section(kernel, &mut [&mut tree], &[last]);
    }
    tree.finish()
}

/// Returns the values of subtrees of the same size. The blake3 crate computes a single subtree, because the
/// kernel would leave half of its registers empty. It also computes them if registers are narrow.
fn values(kernel: Kernel, subtrees: &[Subtree]) -> Vec<Value> {
    if subtrees.len() < 2 || !kernel.is_wide() {
        return subtrees.iter().map(|subtree| value(subtree.bytes, subtree.first_chunk)).collect();
    }
    let mut values = vec![[0; TABLE_HASH_BYTES]; subtrees.len()];
    subtree_values_with(kernel, subtrees, &mut values);
    values
}

/// Returns the value of one subtree, or of the last bytes of an input, computed by the blake3 crate.
fn value(bytes: &[u8], first_chunk: u64) -> Value {
    let start = first_chunk * CHUNK_BYTES as u64;
    blake3::Hasher::new().set_input_offset(start).update(bytes).finalize_non_root()
}

/// Adds the next bytes of several inputs, the same number for each input and at most a section. The bytes are
/// split into subtrees, the largest first; less than a chunk may remain.
fn push_section(kernel: Kernel, trees: &mut [&mut Tree], sections: &[&[u8]]) {
    let bytes = sections.first().map_or(0, |section| section.len());
    let mut done = 0;
    while bytes - done >= CHUNK_BYTES {
        let size = 1 << (bytes - done).min(SUBTREE_BYTES).ilog2();
        let subtrees: Vec<Subtree> = trees
            .iter()
            .zip(sections)
            .map(|(tree, section)| tree.subtree(0, &section[done..done + size]))
            .collect();
        let values = values(kernel, &subtrees);
        join_due(kernel, trees);
        trees.iter_mut().zip(values).for_each(|(tree, value)| tree.push(value, size));
        done += size;
    }
    if done < bytes {
        trees.iter_mut().zip(sections).for_each(|(tree, section)| tree.push_last(&section[done..]));
    }
}

/// Joins those subtrees that the next one would join anyway, in many trees at a time.
fn join_due(kernel: Kernel, trees: &mut [&mut Tree]) {
    loop {
        let mut due: Vec<&mut Tree> =
            trees.iter_mut().map(|tree| &mut **tree).filter(|tree| tree.join_is_due()).collect();
        // If there are few pairs, or registers are narrow, the loop that pushes subtrees joins them faster.
        if due.len() < 4 || !kernel.is_wide() {
            return;
        }
        let pairs: Vec<[Value; 2]> = due.iter().filter_map(|tree| tree.stack.last_chunk()).copied().collect();
        let mut values = vec![[0; TABLE_HASH_BYTES]; pairs.len()];
        parent_values_with(kernel, &pairs, &mut values);
        for (tree, value) in due.iter_mut().zip(values) {
            tree.stack.truncate(tree.stack.len() - 2);
            tree.stack.push(value);
        }
    }
}

/// Returns whether tables of this many bytes arrive in several sections.
fn is_long(table_bytes: usize) -> bool {
    table_bytes > SUBTREE_BYTES
}

/// Hashes the tables of each copy as they arrive, and does not keep the tables. A list of `blake3::Hasher`
/// would need more memory. A `Hasher` has 1.9 KB, most of them never written. Moving it to the heap would
/// copy old stack contents, such as spilled offsets, there.
pub struct HashTables {
    kernel: Kernel,
    hashes: Hashes,
}

enum Hashes {
    /// Hashes of tables that have this many bytes and arrive in one section.
    Short(usize, Vec<Value>),
    Long(Vec<Tree>),
}

impl HashTables {
    /// Makes hashers for `copies` copies with `table_bytes` bytes of tables each.
    pub fn new(copies: usize, table_bytes: usize) -> Self {
        Self::with_kernel(Kernel::best(), copies, table_bytes)
    }

    /// Does the same as [`HashTables::new`] with a kernel of the caller's choice.
    pub fn with_kernel(kernel: Kernel, copies: usize, table_bytes: usize) -> Self {
        let hashes = match is_long(table_bytes) {
            true => Hashes::Long((0..copies).map(|_| Tree::default()).collect()),
            // Empty tables never arrive, so their hash is computed here.
            false => Hashes::Short(table_bytes, vec![table_hash_with(kernel, &[]); copies]),
        };
        HashTables { kernel, hashes }
    }

    /// Returns the hashes, copy by copy.
    pub fn finish(&self) -> Vec<Value> {
        match &self.hashes {
            Hashes::Short(_, hashes) => hashes.clone(),
            Hashes::Long(trees) => trees.iter().map(|tree| tree.clone().finish()).collect(),
        }
    }
}

impl TableSink for HashTables {
    fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error> {
        self.section(&[copy], &[bytes])
    }

    fn section(&mut self, copies: &[usize], tables: &[&[u8]]) -> Result<(), Error> {
        match &mut self.hashes {
            Hashes::Short(table_bytes, hashes) => {
                for (&copy, bytes) in copies.iter().zip(tables) {
                    assert_eq!(bytes.len(), *table_bytes, "short tables must arrive in one section");
                    hashes[copy] = table_hash_with(self.kernel, bytes);
                }
            }
            Hashes::Long(trees) => {
                let mut places: Vec<Option<&mut Tree>> = trees.iter_mut().map(Some).collect();
                let mut of_copies: Vec<&mut Tree> =
                    copies.iter().filter_map(|&copy| places[copy].take()).collect();
                assert_eq!(of_copies.len(), tables.len(), "the tables of each copy must arrive exactly once");
                push_section(self.kernel, &mut of_copies, tables);
            }
        }
        Ok(())
    }
}

/// The upper part of BLAKE3's tree over an input, while its subtrees are added.
#[derive(Clone, Default)]
struct Tree {
    /// The values of subtrees that are not joined yet, from left to right.
    stack: Vec<Value>,
    /// The number of whole chunks so far.
    chunks: u64,
}

impl Tree {
    /// Returns the subtree over `bytes`, which begins after `k` further subtrees of this size.
    fn subtree<'a>(&self, k: usize, bytes: &'a [u8]) -> Subtree<'a> {
        Subtree { bytes, first_chunk: self.chunks + (k * bytes.len() / CHUNK_BYTES) as u64 }
    }

    /// Adds the value of the next subtree, which covers `bytes` bytes and is not larger than the previous
    /// one. Subtrees are joined only when more follows, because the last join makes the root.
    fn push(&mut self, value: Value, bytes: usize) {
        while self.join_is_due() {
            self.join();
        }
        self.stack.push(value);
        self.chunks += (bytes / CHUNK_BYTES) as u64;
    }

    /// Adds the value of the last bytes, which are less than a chunk.
    fn push_last(&mut self, bytes: &[u8]) {
        self.push(value(bytes, self.chunks), 0);
    }

    /// Returns whether the last two subtrees have the same size. Then the stack has at least two values.
    fn join_is_due(&self) -> bool {
        self.stack.len() > self.chunks.count_ones() as usize
    }

    fn join(&mut self) {
        if let (Some(right), Some(left)) = (self.stack.pop(), self.stack.pop()) {
            self.stack.push(merge_subtrees_non_root(&left, &right, Mode::Hash));
        }
    }

    /// Returns the hash.
    ///
    /// # Panics
    /// If there was only one subtree.
    fn finish(mut self) -> Value {
        while self.stack.len() > 2 {
            self.join();
        }
        let [left, right] = self.stack[..] else { panic!("a tree must have at least two subtrees") };
        *merge_subtrees_root(&left, &right, Mode::Hash).as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash is part of the protocol, so it must not change.
    #[test]
    fn hashes_are_those_of_blake3_for_every_length() {
        let bytes: Vec<u8> =
            (0..41 * SUBTREE_BYTES as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let around =
            [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40].map(|sections| sections * SUBTREE_BYTES);
        for length in around.iter().flat_map(|&n| {
            [n.saturating_sub(32), n, n + 32, n + 1024, n + 8192, n + 5000, n + 15 * 1024 + 992]
        }) {
            let expected = *blake3::hash(&bytes[..length]).as_bytes();
            assert_eq!(table_hash(&bytes[..length]), expected, "{length}");
            let mut sink = HashTables::new(6, length);
            for section in bytes[..length].chunks(SUBTREE_BYTES) {
                sink.section(&[0, 2, 3, 4, 5], &[section; 5]).unwrap();
                sink.tables(1, section).unwrap();
            }
            assert_eq!(sink.finish(), [expected; 6], "{length}");
        }
    }

    #[test]
    fn copies_do_not_mix() {
        let tables = |copy: u8| vec![copy; 3 * SUBTREE_BYTES];
        let mut sink = HashTables::new(20, 3 * SUBTREE_BYTES);
        let all: Vec<Vec<u8>> = (0..20).map(tables).collect();
        for section in 0..3 {
            for copies in [(0..7).collect::<Vec<usize>>(), (7..20).rev().collect()] {
                let parts: Vec<&[u8]> =
                    copies.iter().map(|&c| &all[c][section * SUBTREE_BYTES..][..SUBTREE_BYTES]).collect();
                sink.section(&copies, &parts).unwrap();
            }
        }
        let expected: Vec<Value> = all.iter().map(|tables| *blake3::hash(tables).as_bytes()).collect();
        assert_eq!(sink.finish(), expected);
    }
}
