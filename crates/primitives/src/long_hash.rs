//! BLAKE3 of what is long and comes piece by piece. The result is that of [`blake3::Hasher`], which is at its
//! best only where pieces begin and end at powers of two: a few bytes in front of all that follows, which name
//! it, leave every piece across such a place, and most of it is then hashed a few chunks at a time. Here
//! pieces gather until a whole section of the tree is there.

use blake3::hazmat::{
    HasherExt, Mode, hash_derive_key_context, merge_subtrees_non_root, merge_subtrees_root,
};
use brickwork_kernels::{
    CHUNK_BYTES, HashMode, Kernel, SUBTREE_BYTES, Secrets, Subtree, subtree_values_with,
};
use zeroize::Zeroize;

/// Subtrees of a section, which are hashed side by side.
const SUBTREES: usize = 4;

/// Bytes of a section.
const SECTION: usize = SUBTREES * SUBTREE_BYTES;

/// Bytes of what most hashes are of: no room for a section is made for these.
const FEW: usize = 512;

/// A hash, or the value of a node within the tree.
type Value = [u8; 32];

/// A hash in the making, of secrets or not: it is erased when dropped.
pub struct LongHash {
    kernel: Kernel,
    mode: HashMode,
    /// What is not hashed yet, at most a section.
    waiting: Secrets<u8>,
    /// Values of whole subtrees of which none is as large as the next one, from left to right.
    nodes: Vec<Value>,
    /// Sections that are hashed.
    sections: u64,
}

impl LongHash {
    /// Begins a hash under a key.
    pub fn keyed(key: &[u8; 32]) -> Self {
        LongHash::of(Kernel::best(), HashMode::KeyedHash(*key))
    }

    /// Begins a key that is derived in this context.
    pub fn derived(context: &str) -> Self {
        LongHash::of(Kernel::best(), HashMode::DeriveKey(hash_derive_key_context(context)))
    }

    fn of(kernel: Kernel, mode: HashMode) -> Self {
        let waiting = Secrets::with_capacity(FEW);
        LongHash { kernel, mode, waiting, nodes: Vec::new(), sections: 0 }
    }

    /// Takes in these bytes, behind all others.
    pub fn update(&mut self, mut bytes: &[u8]) -> &mut Self {
        while !bytes.is_empty() {
            // The last section is the root's, and waits until it is known that it is not.
            if self.waiting.len() == SECTION {
                self.hash_section();
            }
            let (some, rest) = bytes.split_at(bytes.len().min(SECTION - self.waiting.len()));
            if self.waiting.capacity() < self.waiting.len() + some.len() {
                let mut room = Secrets::with_capacity(SECTION);
                room.extend_from_slice(&self.waiting);
                self.waiting = room;
            }
            self.waiting.extend_from_slice(some);
            bytes = rest;
        }
        self
    }

    /// Hashes a section behind which there is more.
    fn hash_section(&mut self) {
        let first = self.sections * (SECTION / CHUNK_BYTES) as u64;
        let value = if self.kernel.is_wide() {
            let subtrees: [Subtree; SUBTREES] = std::array::from_fn(|k| Subtree {
                bytes: &self.waiting[k * SUBTREE_BYTES..][..SUBTREE_BYTES],
                first_chunk: first + (k * SUBTREE_BYTES / CHUNK_BYTES) as u64,
            });
            let mut values = [[0; 32]; SUBTREES];
            subtree_values_with(self.kernel, &self.mode, &subtrees, &mut values);
            let [a, b, c, d] = values;
            self.joined(&self.joined(&a, &b), &self.joined(&c, &d))
        } else {
            self.value_of_waiting()
        };
        self.waiting.clear();
        self.sections += 1;
        self.nodes.push(value);
        while self.nodes.len() > self.sections.count_ones() as usize {
            self.join();
        }
    }

    /// The crate's hasher in this mode.
    fn hasher(&self) -> blake3::Hasher {
        match &self.mode {
            HashMode::Hash => blake3::Hasher::new(),
            HashMode::KeyedHash(key) => blake3::Hasher::new_keyed(key),
            HashMode::DeriveKey(key) => blake3::Hasher::new_from_context_key(key),
        }
    }

    /// This mode, as the crate has it.
    fn mode(&self) -> Mode<'_> {
        match &self.mode {
            HashMode::Hash => Mode::Hash,
            HashMode::KeyedHash(key) => Mode::KeyedHash(key),
            HashMode::DeriveKey(key) => Mode::DeriveKeyMaterial(key),
        }
    }

    /// The value of the subtree over what waits, which is not all.
    fn value_of_waiting(&self) -> Value {
        let mut hasher = self.hasher();
        let value =
            hasher.set_input_offset(self.sections * SECTION as u64).update(&self.waiting).finalize_non_root();
        hasher.zeroize();
        value
    }

    fn joined(&self, left: &Value, right: &Value) -> Value {
        merge_subtrees_non_root(left, right, self.mode())
    }

    fn join(&mut self) {
        if let (Some(right), Some(left)) = (self.nodes.pop(), self.nodes.pop()) {
            let value = self.joined(&left, &right);
            self.nodes.push(value);
        }
    }

    /// Returns the hash of all that was taken in.
    pub fn finish(mut self) -> Value {
        if self.sections == 0 {
            let mut hasher = self.hasher();
            let hash = *hasher.update(&self.waiting).finalize().as_bytes();
            hasher.zeroize();
            return hash;
        }
        // Whatever was hashed has something behind it that was not.
        let last = self.value_of_waiting();
        self.nodes.push(last);
        while self.nodes.len() > 2 {
            self.join();
        }
        merge_subtrees_root(&self.nodes[0], &self.nodes[1], self.mode()).into()
    }
}

impl Drop for LongHash {
    fn drop(&mut self) {
        self.nodes.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fixed for good: another hash is another protocol. Pieces of all lengths, about the ends of sections.
    #[test]
    fn hashes_are_those_of_blake3_for_every_length_and_mode() {
        let bytes: Vec<u8> =
            (0..9 * SECTION as u32 + 77).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let about = (0..9).flat_map(|n| [n * SECTION, n * SECTION + 1, (n + 1) * SECTION - 1]);
        let lengths: Vec<usize> =
            about.chain([2, FEW, FEW + 1, 1025, SECTION + 70_000, bytes.len()]).collect();
        let key = [7; 32];
        for (k, &length) in lengths.iter().enumerate() {
            let bytes = &bytes[..length];
            let piece = [1 + length / 3, 10, 63_488, SECTION, SECTION + 1, length.max(1)][k % 6].min(1 << 18);
            for kernel in Kernel::all_available() {
                let hash = |mode| {
                    let mut hash = LongHash::of(kernel, mode);
                    bytes.chunks(piece).for_each(|some| _ = hash.update(some));
                    hash.finish()
                };
                let context = hash_derive_key_context("test");
                assert_eq!(hash(HashMode::Hash), *blake3::hash(bytes).as_bytes(), "{length} by {piece}");
                assert_eq!(hash(HashMode::KeyedHash(key)), *blake3::keyed_hash(&key, bytes).as_bytes());
                assert_eq!(hash(HashMode::DeriveKey(context)), blake3::derive_key("test", bytes));
            }
            let mut hashes = [LongHash::keyed(&key), LongHash::derived("test")];
            hashes.iter_mut().for_each(|hash| _ = hash.update(bytes));
            let expected = [*blake3::keyed_hash(&key, bytes).as_bytes(), blake3::derive_key("test", bytes)];
            assert_eq!(hashes.map(LongHash::finish), expected);
        }
    }
}
