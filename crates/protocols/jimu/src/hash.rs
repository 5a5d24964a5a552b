//! The hash of the garbling: decision 2 of the design, of compressed labels, with as many blocks as a label
//! has.
//!
//! `H(x, i) = AES_k(y) ⊕ y`, `y = σ(x) ⊕ i`. A key serves 2^15 calls at most.

use brickwork_base::stop::look;
use brickwork_kernels::{Aes128, Secrets};

/// Most calls of the hash under one key (decision 2 of the design).
const MAX_CALLS: usize = 1 << 15;

/// Labels that are hashed one by one, as it is not worth while to put those of a key together.
const FEW: usize = 16;

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

    /// Hashes labels as [`LabelHash::hashes`], to as many blocks as this is made for: two, three or four.
    ///
    /// # Panics
    /// As there.
    pub fn of(&self, labels: &[(u128, usize)]) -> Secrets<u128> {
        match self.blocks {
            2 => self.hashes::<2>(labels),
            3 => self.hashes::<3>(labels),
            _ => self.hashes::<4>(labels),
        }
    }

    /// Hashes labels, each with its index, to N blocks: returns `[label][block]`. Labels whose indices share
    /// a key go together.
    ///
    /// # Panics
    /// If an index is greater than said, or this is made for another number of blocks.
    pub fn hashes<const N: usize>(&self, labels: &[(u128, usize)]) -> Secrets<u128> {
        look();
        assert_eq!(self.blocks, N, "blocks of a label");
        let each = indices_of_a_key(N);
        let key_of = |&(_, index): &(u128, usize)| index / each;
        if labels.len() <= FEW {
            let mut hashes = Secrets::zeros(labels.len() * N);
            for (to, label) in hashes.as_chunks_mut::<N>().0.iter_mut().zip(labels) {
                let input = input::<N>(label.0, label.1 % each);
                *to = input;
                self.keys[key_of(label)].encrypt(to);
                to.iter_mut().zip(input).for_each(|(hash, input)| *hash ^= input);
            }
            return hashes;
        }
        if labels.is_sorted_by_key(key_of) {
            let inputs = labels.iter().map(|&(label, index)| input::<N>(label, index % each));
            let runs = labels.chunk_by(|a, b| key_of(a) == key_of(b)).map(|run| (key_of(&run[0]), run.len()));
            return self.hashed(inputs, runs);
        }
        // Where the labels of each key begin.
        let mut next = vec![0; self.keys.len() + 1];
        labels.iter().for_each(|label| next[key_of(label) + 1] += 1);
        let runs: Vec<(usize, usize)> = next[1..].iter().copied().enumerate().collect();
        (0..self.keys.len()).for_each(|key| next[key + 1] += next[key]);
        let mut place_of = Vec::with_capacity(labels.len());
        let mut ordered = Secrets::zeros(labels.len() * N);
        for label in labels {
            let place = &mut next[key_of(label)];
            ordered.as_chunks_mut::<N>().0[*place] = input(label.0, label.1 % each);
            place_of.push(*place);
            *place += 1;
        }
        let hashed = self.hashed(ordered.as_chunks::<N>().0.iter().copied(), runs.into_iter());
        let mut hashes = Secrets::zeros(labels.len() * N);
        let places = hashes.as_chunks_mut::<N>().0.iter_mut().zip(place_of);
        places.for_each(|(hash, place)| *hash = hashed.as_chunks::<N>().0[place]);
        hashes
    }

    /// Hashes what the hash encrypts, of so many labels in turn with each of these keys.
    fn hashed<const N: usize>(
        &self,
        inputs: impl ExactSizeIterator<Item = [u128; N]>,
        runs: impl Iterator<Item = (usize, usize)>,
    ) -> Secrets<u128> {
        let mut hashes = Secrets::zeros(inputs.len() * N);
        hashes.as_chunks_mut::<N>().0.iter_mut().zip(inputs).for_each(|(to, input)| *to = input);
        let inputs = hashes.clone();
        let mut first = 0;
        for (key, labels) in runs {
            self.keys[key].encrypt(&mut hashes[first * N..(first + labels) * N]);
            first += labels;
        }
        hashes.iter_mut().zip(&**inputs).for_each(|(hash, input)| *hash ^= input);
        hashes
    }
}

/// What is encrypted for the hash of a label, with its number among the indices of a key.
fn input<const N: usize>(label: u128, number: usize) -> [u128; N] {
    let (low, high) = (label as u64, (label >> 64) as u64);
    let sigma = u128::from(high ^ low) << 64 | u128::from(high);
    std::array::from_fn(|block| sigma ^ (number * N + block) as u128)
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
        fn of<const N: usize>() {
            let blocks = N;
            let each = indices_of_a_key(blocks);
            assert!(each * blocks * LABELS <= MAX_CALLS && (each + 1) * blocks * LABELS > MAX_CALLS);
            let hash = LabelHash::new("test", 7, 2 * each + 1, blocks);
            assert_eq!(hash.keys.len(), 3);
            let asked = [(5 << 70 | 3, 0), (9, each - 1), (9, each), (1, 2 * each), (9, each - 1)];
            let many = asked.repeat(FEW);
            // All of them, those whose keys are in order, and many.
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
