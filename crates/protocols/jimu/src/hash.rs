//! The garbling hash. It is applied to compressed labels, and its output has as many blocks as a label.
//!
//! `H(x, i) = AES_k(y) ⊕ y`, `y = σ(x) ⊕ i`. At most 2^15 calls use the same key.

use brickwork_base::stop::look;
use brickwork_kernels::{Aes128, SecretBlocks, encrypt_each};

/// The largest number of calls of the hash under one key.
const MAX_CALLS: usize = 1 << 15;

/// If there are at most this many labels, each is encrypted by itself, even if all have the same key.
const FEW: usize = 16;

/// The number of labels of a wire. A garbler hashes both labels of a wire with the same index.
const LABELS: usize = 2;

/// The hash, with the keys for this many indices.
pub(super) struct LabelHash {
    keys: Vec<Aes128>,
    blocks: usize,
}

impl LabelHash {
    /// Makes the hash for indices `0..indices`, with two labels per index and `blocks` blocks of output. The
    /// garbler chooses `start`, and sends it with the garbled items. `context` is the domain separator of the
    /// keys.
    pub fn new(context: &'static str, start: u128, indices: usize, blocks: usize) -> Self {
        let key = |chunk: usize| {
            let mut hasher = blake3::Hasher::new_derive_key(context);
            hasher.update(&start.to_le_bytes()).update(&(chunk as u64).to_le_bytes());
            let mut key = [0; 16];
            hasher.finalize_xof().fill(&mut key);
            Aes128::new(u128::from_le_bytes(key))
        };
        let keys = (0..indices.div_ceil(indices_of_a_key(blocks))).map(key).collect();
        LabelHash { keys, blocks }
    }

    /// Hashes labels like [`LabelHash::hashes`], to the hash's own number of blocks: two, three or four.
    ///
    /// # Panics
    /// As [`LabelHash::hash`].
    pub fn of(&self, labels: &[(u128, usize)]) -> SecretBlocks<u128> {
        match self.blocks {
            2 => self.hashes::<2>(labels),
            3 => self.hashes::<3>(labels),
            _ => self.hashes::<4>(labels),
        }
    }

    /// Hashes labels, each with its index, to N blocks: returns `[label][block]`.
    ///
    /// # Panics
    /// As [`LabelHash::hash`].
    pub fn hashes<const N: usize>(&self, labels: &[(u128, usize)]) -> SecretBlocks<u128> {
        let mut hashes = SecretBlocks::zeros(labels.len() * N);
        self.hash::<N>(labels, &mut hashes);
        hashes
    }

    /// Hashes labels, each with its index, to N blocks, and overwrites `hashes`, `[label][block]`.
    /// Consecutive labels that share a key are encrypted together.
    ///
    /// # Panics
    /// If an index is too large, the hash has another number of blocks, or the output has the wrong length.
    pub fn hash<const N: usize>(&self, labels: &[(u128, usize)], hashes: &mut [u128]) {
        look();
        assert_eq!(
            (self.blocks, labels.len() * N),
            (N, hashes.len()),
            "each label must have N blocks and a hash"
        );
        let each = indices_of_a_key(N);
        let key_of = |&(_, index): &(u128, usize)| index / each;
        let input = |&(label, index): &(u128, usize)| input::<N>(label, index % each);
        let lists = hashes.as_chunks_mut::<N>().0;
        lists.iter_mut().zip(labels).for_each(|(list, label)| *list = input(label));
        if labels.len() > FEW && labels.is_sorted_by_key(key_of) {
            let mut first = 0;
            for run in labels.chunk_by(|a, b| key_of(a) == key_of(b)) {
                let here = &mut lists[first..first + run.len()];
                self.keys[key_of(&run[0])].encrypt(here.as_flattened_mut());
                first += run.len();
            }
        } else {
            encrypt_each(lists, |k| &self.keys[key_of(&labels[k])]);
        }
        for (list, label) in lists.iter_mut().zip(labels) {
            list.iter_mut().zip(input(label)).for_each(|(hash, input)| *hash ^= input);
        }
    }
}

/// Returns the blocks to encrypt for the hash of a label. `number` is the label's number among the indices of
/// its key.
fn input<const N: usize>(label: u128, number: usize) -> [u128; N] {
    let (low, high) = (label as u64, (label >> 64) as u64);
    let sigma = u128::from(high ^ low) << 64 | u128::from(high);
    std::array::from_fn(|block| sigma ^ (number * N + block) as u128)
}

/// Returns the number of indices that share a key.
fn indices_of_a_key(blocks: usize) -> usize {
    MAX_CALLS / (LABELS * blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each block follows the definition of the hash, with the key of its index. No key is used for too many
    /// calls.
    #[test]
    fn hashes_are_those_of_the_definition() {
        fn of<const N: usize>() {
            let blocks = N;
            let each = indices_of_a_key(blocks);
            assert!(each * blocks * LABELS <= MAX_CALLS && (each + 1) * blocks * LABELS > MAX_CALLS);
            let hash = LabelHash::new("test", 7, 2 * each + 1, blocks);
            assert_eq!(hash.keys.len(), 3);
            let asked = [(5 << 70 | 3, 0), (9, each - 1), (9, each), (1, 2 * each), (9, each - 1)];
            let many = asked.repeat(FEW);
            // The cases: all labels, labels in the order of their keys, many labels, and one index many
            // times.
            for asked in [&asked[..], &asked[..4], &many, &[asked[0]; FEW + 1]] {
                let hashes = hash.hashes::<N>(asked);
                assert_eq!(hashes.len(), asked.len() * blocks);
                for (k, &(x, index)) in asked.iter().enumerate() {
                    let sigma = ((x >> 64) ^ (x & u128::from(u64::MAX))) << 64 | x >> 64;
                    for block in 0..blocks {
                        let y = sigma ^ (index % each * blocks + block) as u128;
                        let mut one = [y];
                        hash.keys[index / each].encrypt(&mut one);
                        assert_eq!(hashes[k * blocks + block], one[0] ^ y);
                    }
                }
            }
            assert!(hash.hashes::<N>(&[]).is_empty());
        }
        of::<2>();
        of::<3>();
        of::<4>();
    }
}
