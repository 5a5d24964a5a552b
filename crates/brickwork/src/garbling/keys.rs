//! The keys of the garbling hash.

use brickwork_kernels::{Aes128, Kernel, PIECE};

/// Most calls of the hash under one key (decision 2 of the design).
const MAX_CALLS: usize = 1 << 15;

/// Calls of the hash for an AND gate of a copy.
const CALLS_PER_GATE: usize = 4;

/// Gates times copies under one key.
const CELLS: usize = MAX_CALLS / CALLS_PER_GATE;

/// Where a batch's hash keys come from. Both parties compute the same ones; `start` is the garbler's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GarblingKeys {
    start: u128,
    /// Copies that share keys; a power of two.
    group: usize,
    /// AND gates that share keys; a power of two. `group * chunk` is [`CELLS`].
    chunk: usize,
}

impl GarblingKeys {
    /// The keys of a batch of `copies` copies of a circuit with `and_gates` AND gates.
    ///
    /// The group is the whole batch, rounded up to a power of two, but at most 1024 copies, so that a chunk has at least
    /// 8 gates and new keys stay cheap; circuits below 8 gates fill their keys with more copies.
    pub fn new(start: u128, copies: usize, and_gates: usize) -> Self {
        let gates = and_gates.clamp(1, CELLS).next_power_of_two();
        let most = (CELLS / gates).max(1024);
        let group = copies.clamp(1, most).next_power_of_two();
        GarblingKeys { start, group, chunk: CELLS / group }
    }

    /// The random start of the batch, which goes to the evaluator with the copies' hashes.
    pub fn start(&self) -> u128 {
        self.start
    }

    /// The group of a copy.
    pub(super) fn group_of(&self, copy: u32) -> u64 {
        u64::from(copy) / self.group as u64
    }

    /// The keys of a group.
    pub(super) fn of_group(&self, group: u64) -> GroupKeys {
        let mut hasher = blake3::Hasher::new_derive_key("brickwork garbling hash keys v1");
        hasher.update(&self.start.to_le_bytes());
        hasher.update(&group.to_le_bytes());
        GroupKeys { stream: hasher.finalize_xof(), chunk: self.chunk, derived: Vec::new(), expanded: Vec::new() }
    }
}

/// The keys of one group, 16 bytes a chunk out of one stream, for a piece of the circuit at a time.
pub(super) struct GroupKeys {
    stream: blake3::OutputReader,
    chunk: usize,
    derived: Vec<u128>,
    expanded: Vec<Aes128>,
}

impl GroupKeys {
    /// The expanded keys for the `gates` AND gates of a piece.
    pub(super) fn of_piece(&mut self, kernel: Kernel, piece: usize, gates: usize) -> brickwork_kernels::Keys<'_> {
        let first_chunk = piece * PIECE / self.chunk;
        self.derived.resize(gates.div_ceil(self.chunk.min(PIECE)), 0);
        self.stream.set_position(16 * first_chunk as u64);
        self.stream.fill(bytemuck::cast_slice_mut(&mut self.derived));
        Aes128::expand_many(kernel, &self.derived, &mut self.expanded);
        brickwork_kernels::Keys { keys: &self.expanded, gates_per_key: self.chunk.min(PIECE) }
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
        assert_eq!((GarblingKeys::new(0, 1 << 20, 1).group, GarblingKeys::new(0, 1 << 20, 1).chunk), (8192, 1));
        assert_eq!(GarblingKeys::new(0, 1 << 20, 6400).chunk, 8);
        assert_eq!(GarblingKeys::new(0, 79, 6400).group, 128);
    }
}
