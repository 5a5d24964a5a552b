//! The keys of the hash function for garbling, and the number of hash calls under each key.

use brickwork_kernels::{Aes128, HashKeys, Kernel, SECTION};

/// The largest number of hash calls under one key.
pub(super) const MAX_CALLS: usize = 1 << 15;

/// The largest number of hash calls for an AND gate of a copy.
pub(super) const CALLS_PER_GATE: usize = 4;

/// The largest product of AND gates and copies under one key.
const CELLS: usize = MAX_CALLS / CALLS_PER_GATE;

/// The hash keys of a batch. The garbler chooses `start`, and both parties derive the same keys from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GarblingKeys {
    start: u128,
    /// The number of copies that share keys, a power of two.
    group: usize,
    /// The number of AND gates that share keys, a power of two. `group * chunk` is [`CELLS`].
    chunk: usize,
    and_gates: usize,
}

impl GarblingKeys {
    /// Makes the keys of a batch of `copies` copies of a circuit with `and_gates` AND gates.
    ///
    /// A group is the whole batch, rounded up to a power of two, but at most 1024 copies. So a chunk has at
    /// least 8 gates, which keeps new keys cheap. Circuits of fewer gates use their keys for more copies.
    pub fn new(start: u128, copies: usize, and_gates: usize) -> Self {
        let gates = and_gates.clamp(1, CELLS).next_power_of_two();
        let most = (CELLS / gates).max(1024);
        let group = copies.clamp(1, most).next_power_of_two();
        GarblingKeys { start, group, chunk: CELLS / group, and_gates }
    }

    /// Makes the keys of a circuit that is garbled again and again, `lanes` copies at a time (a power of
    /// two). It makes as few keys as the limit of calls allows.
    pub fn streamed(start: u128, lanes: usize, and_gates: usize) -> Self {
        let gates = and_gates.clamp(1, CELLS).next_power_of_two();
        let group = (CELLS / gates).max(lanes);
        GarblingKeys { start, group, chunk: CELLS / group, and_gates }
    }

    /// Returns the random start of the batch, which the garbler sends together with the copies' hashes.
    pub fn start(&self) -> u128 {
        self.start
    }

    pub(super) fn group_of(&self, copy: u32) -> u64 {
        u64::from(copy) / self.group as u64
    }

    /// Returns whether all gates of a section have the same key, which garbling a single copy requires.
    pub(super) fn one_for_a_section(&self) -> bool {
        self.chunk >= SECTION.min(self.and_gates)
    }

    pub(super) fn of_group(&self, kernel: Kernel, group: u64) -> GroupKeys {
        let mut hasher = blake3::Hasher::new_derive_key("brickwork garbling hash keys v1");
        hasher.update(&self.start.to_le_bytes());
        hasher.update(&group.to_le_bytes());
        let mut key = [0; 16];
        hasher.finalize_xof().fill(&mut key);
        let group_key = Aes128::with_kernel(kernel, u128::from_le_bytes(key));
        GroupKeys {
            kernel,
            group,
            group_key,
            chunk: self.chunk,
            section: None,
            derived: Vec::new(),
            expanded: Vec::new(),
        }
    }
}

/// The keys of one group. The key of chunk `c` is the encryption of `c` under the group's key, so the keys of
/// a group are random and distinct. The keys of one section of the circuit are computed at a time.
pub(super) struct GroupKeys {
    kernel: Kernel,
    group: u64,
    group_key: Aes128,
    chunk: usize,
    /// The section whose keys are computed.
    section: Option<usize>,
    derived: Vec<u128>,
    expanded: Vec<Aes128>,
}

impl GroupKeys {
    pub(super) fn group(&self) -> u64 {
        self.group
    }

    /// Returns the expanded keys for the `gates` AND gates of a section.
    pub(super) fn of_section(&mut self, section: usize, gates: usize) -> HashKeys<'_> {
        let gates_per_key = self.chunk.min(SECTION);
        if self.section != Some(section) {
            let first_chunk = section * SECTION / self.chunk;
            self.derived.resize(gates.div_ceil(gates_per_key).max(1), 0);
            self.group_key.ctr_with(self.kernel, first_chunk as u128, &mut self.derived);
            Aes128::expand_many(self.kernel, &self.derived, &mut self.expanded);
            self.section = Some(section);
        }
        HashKeys { keys: &self.expanded, gates_per_key }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_serves_more_calls_than_allowed() {
        for copies in (0..70).chain([100, 127, 128, 129, 1000, 1023, 1024, 1025, 5000, 1 << 20, usize::MAX]) {
            for gates in (0..70).chain([511, 512, 513, 6400, 1 << 20, usize::MAX]) {
                let keys = GarblingKeys::new(0, copies, gates);
                assert_eq!(keys.group * keys.chunk * CALLS_PER_GATE, MAX_CALLS, "{copies} {gates}");
                assert!(keys.group >= copies.min(1024), "{copies} {gates}");
                assert!(keys.chunk >= 8 || keys.chunk >= gates, "{copies} {gates}");
            }
        }
    }

    #[test]
    fn the_largest_batches_of_tiny_circuits_share_more() {
        assert_eq!(
            (GarblingKeys::new(0, 1 << 20, 1).group, GarblingKeys::new(0, 1 << 20, 1).chunk),
            (8192, 1)
        );
        assert_eq!(GarblingKeys::new(0, 1 << 20, 6400).chunk, 8);
        assert_eq!(GarblingKeys::new(0, 79, 6400).group, 128);
    }
}
