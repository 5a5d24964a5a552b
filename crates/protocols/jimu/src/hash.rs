//! The hash of the garbling: decision 2 of the design, of compressed labels, with as many blocks as a label
//! has.
//!
//! `H(x, i) = AES_k(y) ⊕ y`, `y = σ(x) ⊕ i`. A key serves 2^15 calls at most.

use brickwork_base::stop::look;
use brickwork_kernels::Aes128;
use zeroize::Zeroizing;

/// Most calls of the hash under one key (decision 2 of the design).
const MAX_CALLS: usize = 1 << 15;

/// Labels of a wire: a garbler hashes both with the same index.
const LABELS: usize = 2;

/// The hash, with the keys of so many indices.
pub(super) struct LabelHash {
    keys: Vec<Aes128>,
    blocks: usize,
}

impl LabelHash {
    /// Makes it for indices `0..indices`, of each of which two labels are hashed, to `blocks` blocks. `start`
    /// is the garbler's choice, sent with what is garbled; `context` says what that is.
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

    /// Hashes labels, each with its index: returns `[label][block]`. Labels whose indices share a key go
    /// together.
    ///
    /// # Panics
    /// If an index is greater than said.
    pub fn hashes(&self, labels: impl ExactSizeIterator<Item = (u128, usize)>) -> Zeroizing<Vec<u128>> {
        look();
        let (each, n) = (indices_of_a_key(self.blocks), self.blocks);
        let labels: Zeroizing<Vec<(u128, usize)>> = Zeroizing::new(labels.collect());
        // Where the labels of each key begin.
        let mut places = vec![0; self.keys.len() + 1];
        labels.iter().for_each(|&(_, index)| places[index / each + 1] += 1);
        (0..self.keys.len()).for_each(|key| places[key + 1] += places[key]);
        let (starts, mut next) = (places.clone(), places);
        let mut inputs = Zeroizing::new(vec![0; labels.len() * n]);
        let mut place_of = Vec::with_capacity(labels.len());
        for &(label, index) in &*labels {
            let (key, number) = (index / each, index % each);
            let place = next[key];
            next[key] += 1;
            place_of.push(place);
            let (low, high) = (label as u64, (label >> 64) as u64);
            let sigma = u128::from(high ^ low) << 64 | u128::from(high);
            for (block, input) in inputs[place * n..][..n].iter_mut().enumerate() {
                *input = sigma ^ (number * n + block) as u128;
            }
        }
        let mut encrypted = inputs.clone();
        for (key, ends) in self.keys.iter().zip(starts.windows(2)) {
            key.encrypt(&mut encrypted[ends[0] * n..ends[1] * n]);
        }
        encrypted.iter_mut().zip(&*inputs).for_each(|(hash, input)| *hash ^= input);
        if place_of.is_sorted() {
            return encrypted;
        }
        let mut hashes = Zeroizing::new(Vec::with_capacity(labels.len() * n));
        place_of.iter().for_each(|&place| hashes.extend_from_slice(&encrypted[place * n..][..n]));
        hashes
    }
}

/// Indices that share a key.
fn indices_of_a_key(blocks: usize) -> usize {
    MAX_CALLS / (LABELS * blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each block is the hash by its definition, under the key of its index, and no key serves too many
    /// calls.
    #[test]
    fn hashes_are_those_of_the_definition() {
        for blocks in [3, 4] {
            let each = indices_of_a_key(blocks);
            assert!(each * blocks * LABELS <= MAX_CALLS && (each + 1) * blocks * LABELS > MAX_CALLS);
            let hash = LabelHash::new("test", 7, 2 * each + 1, blocks);
            assert_eq!(hash.keys.len(), 3);
            let asked = [(5 << 70 | 3, 0), (9, each - 1), (9, each), (1, 2 * each), (9, each - 1)];
            let hashes = hash.hashes(asked.into_iter());
            for (k, (x, index)) in asked.into_iter().enumerate() {
                let sigma = ((x >> 64) ^ (x & u128::from(u64::MAX))) << 64 | x >> 64;
                for block in 0..blocks {
                    let y = sigma ^ (index % each * blocks + block) as u128;
                    let mut one = [y];
                    hash.keys[index / each].encrypt(&mut one);
                    assert_eq!(hashes[k * blocks + block], one[0] ^ y);
                }
            }
            assert!(hash.hashes([].into_iter()).is_empty());
        }
    }
}
