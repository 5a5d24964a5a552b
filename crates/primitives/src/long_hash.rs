//! BLAKE3 of long inputs that are given in pieces. [`blake3::Hasher`] gives the same result, but is fast only
//! if the pieces begin and end at multiples of large powers of two. A short prefix shifts every later piece
//! away from such a multiple, and then the crate hashes much of it one or a few chunks at a time. This module
//! therefore keeps bytes until a whole section has arrived.

use blake3::Hasher;
use brickwork_kernels::SecretBlocks;
use zeroize::Zeroize;

/// Bytes of a section: as many chunks as the widest registers process side by side.
const SECTION: usize = 16 << 10;

/// Inputs of at most this many bytes, as most are, need no buffer for a section.
const FEW: usize = 512;

/// A hash in progress, erased when dropped because the input may be secret.
pub struct LongHash {
    /// The hasher of the whole sections.
    hasher: Hasher,
    /// The bytes after the last whole section.
    waiting: SecretBlocks<u8>,
}

impl LongHash {
    /// Begins a hash under a key.
    pub fn keyed(key: &[u8; 32]) -> Self {
        LongHash { hasher: Hasher::new_keyed(key), waiting: SecretBlocks::with_capacity(FEW) }
    }

    /// Begins the derivation of a key in this context.
    pub fn derived(context: &str) -> Self {
        LongHash { hasher: Hasher::new_derive_key(context), waiting: SecretBlocks::with_capacity(FEW) }
    }

    /// Appends bytes to the hashed message.
    pub fn update(&mut self, bytes: &[u8]) -> &mut Self {
        let lacking = SECTION - self.waiting.len();
        if bytes.len() < lacking {
            self.wait(bytes);
            return self;
        }
        let (first, rest) = bytes.split_at(lacking);
        self.wait(first);
        self.hasher.update(&self.waiting);
        self.waiting.clear();
        let (sections, last) = rest.split_at(rest.len() / SECTION * SECTION);
        self.hasher.update(sections);
        self.wait(last);
        self
    }

    /// Appends bytes to the waiting ones. Growing leaves no copy behind.
    fn wait(&mut self, bytes: &[u8]) {
        if self.waiting.capacity() < self.waiting.len() + bytes.len() {
            let mut room = SecretBlocks::with_capacity(SECTION);
            room.extend_from_slice(&self.waiting);
            self.waiting = room;
        }
        self.waiting.extend_from_slice(bytes);
    }

    /// Returns the hash of the whole message.
    pub fn finish(mut self) -> [u8; 32] {
        self.hasher.update(&self.waiting);
        *self.hasher.finalize().as_bytes()
    }
}

impl Drop for LongHash {
    fn drop(&mut self) {
        self.hasher.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash is part of the protocol, so it must not change. Tests pieces of many lengths, around the ends
    /// of sections.
    #[test]
    fn hashes_are_those_of_blake3_for_every_length() {
        let bytes: Vec<u8> =
            (0..9 * SECTION as u32 + 77).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let about = (0..9).flat_map(|n| [n * SECTION, n * SECTION + 1, (n + 1) * SECTION - 1]);
        let lengths = about.chain([2, FEW, FEW + 1, 1025, SECTION + 70_000, bytes.len()]);
        let key = [7; 32];
        for length in lengths {
            let bytes = &bytes[..length];
            for piece in [1 + length / 3, 10, 1000, SECTION, SECTION + 1, 63_488, length.max(1)] {
                let mut hashes = [LongHash::keyed(&key), LongHash::derived("test")];
                for hash in &mut hashes {
                    bytes.chunks(piece).for_each(|some| _ = hash.update(some));
                }
                let expected =
                    [*blake3::keyed_hash(&key, bytes).as_bytes(), blake3::derive_key("test", bytes)];
                assert_eq!(hashes.map(LongHash::finish), expected, "{length} by {piece}");
            }
        }
    }
}
