//! Garbling of single AND gates: each gate is a copy of a circuit of one gate, and many are processed at a
//! time in any order.
//!
//! The result is the same as that of [`HalfGates`](super::HalfGates) for such copies. This module sorts the
//! gates by hash key, so that every register is full in any order of the gates.

use brickwork_kernels::{Aes128, Kernel, erase};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::keys::GarblingKeys;
use brickwork_base::label::{Delta, Label};

/// T_G and T_E of a gate.
pub type AndTable = [u128; 2];

/// A batch of AND gates, for garbling and evaluating.
pub struct AndGates {
    kernel: Kernel,
    start: u128,
    count: usize,
    keys: GarblingKeys,
    /// The expanded key of each group.
    expanded: Vec<Aes128>,
}

/// Buffers for gates while they are hashed, reused by every call and erased when they are dropped.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
pub struct AndRoom {
    /// For each group, the end of its gates among the sorted gates.
    ends: Vec<u32>,
    order: Vec<u32>,
    blocks: Vec<u128>,
    hashes: Vec<u128>,
}

/// Applies the orthomorphism σ: `(hi ⊕ lo) ‖ hi`.
#[inline]
fn sigma(x: u128) -> u128 {
    let hi = x >> 64;
    ((hi ^ (x & u128::from(u64::MAX))) << 64) | hi
}

/// Returns a word of all ones for a bit of 1, and zero for a bit of 0.
#[inline]
fn mask(bit: u128) -> u128 {
    (bit & 1).wrapping_neg()
}

/// Returns the labels of both inputs of the gate at this place.
#[inline]
fn both(inputs: &[Label], place: u32) -> (u128, u128) {
    let place = 2 * place as usize;
    (inputs[place].bits(), inputs[place + 1].bits())
}

/// The index of a gate's second half.
const SECOND: u128 = 1;

impl AndGates {
    /// Makes a batch of `count` gates. `start` determines their hash keys.
    pub fn new(start: u128, count: usize) -> Self {
        Self::with_kernel(Kernel::best(), start, count)
    }

    /// Does the same as [`AndGates::new`] with a kernel of the caller's choice, which does not change the
    /// result.
    pub fn with_kernel(kernel: Kernel, start: u128, count: usize) -> Self {
        let keys = GarblingKeys::new(start, count, 1);
        let groups = if count == 0 { 0 } else { keys.group_of(count as u32 - 1) + 1 };
        let expanded = (0..groups).map(|group| keys.of_group(kernel, group).of_section(0, 1).keys[0].clone());
        AndGates { kernel, start, count, keys, expanded: expanded.collect() }
    }

    /// Returns the start of the hash keys.
    pub fn start(&self) -> u128 {
        self.start
    }

    /// Returns the number of gates in the batch.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Sorts gates by their hash keys: counts the gates of each group, then assigns the places in the sorted
    /// list.
    fn sort(&self, gates: &[u32], room: &mut AndRoom) {
        let AndRoom { ends, order, .. } = room;
        ends.clear();
        ends.resize(self.expanded.len() + 1, 0);
        gates.iter().for_each(|&gate| ends[self.keys.group_of(gate) as usize + 1] += 1);
        for group in 1..ends.len() {
            ends[group] += ends[group - 1];
        }
        order.resize(gates.len(), 0);
        for (place, &gate) in (0..).zip(gates) {
            let end = &mut ends[self.keys.group_of(gate) as usize];
            order[*end as usize] = place;
            *end += 1;
        }
        // Each entry of `ends` is now the end of its group. The last entry repeats the end of the last group.
        let _ = ends.pop();
    }

    /// Hashes `each` blocks of each sorted gate, under the key of its group.
    fn hash(&self, room: &mut AndRoom, each: usize) {
        let AndRoom { ends, blocks, hashes, .. } = room;
        fresh(hashes, blocks.len());
        hashes.copy_from_slice(blocks);
        let mut first = 0;
        for (key, &end) in self.expanded.iter().zip(&*ends) {
            let end = end as usize * each;
            key.encrypt_with(self.kernel, &mut hashes[first..end]);
            first = end;
        }
        hashes.iter_mut().zip(&*blocks).for_each(|(hash, block)| *hash ^= block);
    }

    /// Evaluates gates. `inputs` has the active labels, `[gate][left or right]`. `table` returns the table of
    /// the gate at a place of `gates`. The output labels are written into `outputs`.
    ///
    /// # Panics
    /// If the lists differ in length, or a gate does not belong to the batch.
    pub fn evaluate(
        &self,
        gates: &[u32],
        table: impl Fn(usize) -> AndTable,
        inputs: &[Label],
        outputs: &mut [Label],
        room: &mut AndRoom,
    ) {
        assert!(
            inputs.len() == 2 * gates.len() && outputs.len() == gates.len(),
            "each gate must have two input labels and an output label"
        );
        self.sort(gates, room);
        fresh(&mut room.blocks, 2 * gates.len());
        for (block, &place) in room.blocks.chunks_exact_mut(2).zip(&room.order) {
            let (left, right) = both(inputs, place);
            block.copy_from_slice(&[sigma(left), sigma(right) ^ SECOND]);
        }
        self.hash(room, 2);
        for (hash, &place) in room.hashes.chunks_exact(2).zip(&room.order) {
            let (left, right) = both(inputs, place);
            let [t_g, t_e] = table(place as usize);
            let label = hash[0] ^ (mask(left) & t_g) ^ hash[1] ^ (mask(right) & (t_e ^ left));
            outputs[place as usize] = Label::from_bits(label);
        }
    }

    /// Garbles gates with one offset. `inputs` has the false labels, `[gate][left or right]`. The false
    /// labels of the outputs are written into `outputs`, and the tables into `tables`.
    ///
    /// # Panics
    /// As [`AndGates::evaluate`].
    pub fn garble(
        &self,
        gates: &[u32],
        delta: Delta,
        inputs: &[Label],
        (outputs, tables): (&mut [Label], &mut [AndTable]),
        room: &mut AndRoom,
    ) {
        assert!(
            inputs.len() == 2 * gates.len() && outputs.len() == gates.len(),
            "each gate must have two input labels and an output label"
        );
        assert_eq!(tables.len(), gates.len(), "each gate must have a table");
        self.sort(gates, room);
        let sigma_delta = sigma(delta.bits());
        fresh(&mut room.blocks, 4 * gates.len());
        for (block, &place) in room.blocks.chunks_exact_mut(4).zip(&room.order) {
            let (a, b) = both(inputs, place);
            let (a, b) = (sigma(a), sigma(b));
            block.copy_from_slice(&[a, a ^ sigma_delta, b ^ SECOND, b ^ SECOND ^ sigma_delta]);
        }
        self.hash(room, 4);
        for (hash, &place) in room.hashes.chunks_exact(4).zip(&room.order) {
            let (a, b) = both(inputs, place);
            let place = place as usize;
            let t_g = hash[0] ^ hash[1] ^ (mask(b) & delta.bits());
            let t_e = hash[2] ^ hash[3] ^ a;
            let label = hash[0] ^ (mask(a) & t_g) ^ hash[2] ^ (mask(b) & (t_e ^ a));
            outputs[place] = Label::from_bits(label);
            tables[place] = [t_g, t_e];
        }
    }
}

/// Resizes a buffer to `count` blocks that will be overwritten. If the buffer grows, its old content is
/// erased.
fn fresh(blocks: &mut Vec<u128>, count: usize) {
    if blocks.capacity() < count {
        erase(blocks);
        *blocks = Vec::with_capacity(count);
    }
    blocks.resize(count, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::garbling::{GarblingScheme, HalfGates, TableSink, TableSource};
    use brickwork_base::Error;
    use brickwork_base::random::Rng;
    use brickwork_circuit::{Circuit, Gate};
    use brickwork_testing::Replayable as _;

    #[derive(Default)]
    struct Tables(Vec<AndTable>);

    impl TableSink for Tables {
        fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error> {
            bytemuck::bytes_of_mut(&mut self.0[copy]).copy_from_slice(bytes);
            Ok(())
        }
    }

    impl TableSource for Tables {
        fn prepare(&mut self, _: &[usize], _: std::ops::Range<usize>) -> Result<(), Error> {
            Ok(())
        }

        fn tables(&self, copy: usize, bytes: std::ops::Range<usize>) -> &[u8] {
            &bytemuck::bytes_of(&self.0[copy])[bytes]
        }
    }

    /// The gates equal those of [`HalfGates`](super::super::HalfGates) with every kernel, for batches with
    /// one key or several, in any order.
    #[test]
    fn gates_are_those_of_half_gates() {
        let mut rng = Rng::replayable("test AND gates");
        let circuit = Circuit::new(2, vec![Gate::And(0, 1)], vec![2]).unwrap();
        let schedule = HalfGates::schedule(&circuit);
        for (count, some) in [(1, 1), (3, 2), (100, 100), (1000, 77), (8192, 9), (20_000, 700), (40_000, 1)] {
            let start = rng.block();
            let keys = HalfGates::keys(start, count, &schedule);
            let gates: Vec<u32> = (0..some).map(|_| rng.below(count as u64) as u32).collect();
            let delta = rng.delta();
            let inputs: Vec<Label> = (0..2 * some).map(|_| rng.label()).collect();
            let (mut outputs, mut tables) = (vec![Label::ZERO; some], Tables(vec![[0; 2]; some]));
            let deltas = vec![delta; some];
            HalfGates::garble(&schedule, &keys, &gates, &deltas, &inputs, &mut outputs, &mut tables).unwrap();
            let bits: Vec<u8> = (0..2 * some).map(|_| rng.below(2) as u8).collect();
            let active: Vec<Label> =
                inputs.iter().zip(&bits).map(|(&label, &bit)| label ^ delta.times(bit)).collect();
            let mut evaluated = vec![Label::ZERO; some];
            HalfGates::evaluate(&schedule, &keys, &gates, &active, &mut tables, &mut evaluated).unwrap();
            for kernel in Kernel::all_available() {
                let ands = AndGates::with_kernel(kernel, start, count);
                assert_eq!((ands.start(), ands.count()), (start, count));
                let mut room = AndRoom::default();
                for _ in 0..2 {
                    let (mut made, mut of) = (vec![Label::ZERO; some], vec![[0; 2]; some]);
                    ands.garble(&gates, delta, &inputs, (&mut made, &mut of), &mut room);
                    assert!(made == outputs && of == tables.0, "{count} {some} {kernel:?}");
                    let mut came_out = vec![Label::ZERO; some];
                    ands.evaluate(&gates, |k| of[k], &active, &mut came_out, &mut room);
                    assert_eq!(came_out, evaluated, "{count} {some} {kernel:?}");
                }
            }
            for ((label, output), bits) in evaluated.iter().zip(&outputs).zip(bits.chunks(2)) {
                assert_eq!(*label, *output ^ delta.times(bits[0] & bits[1]));
            }
        }
    }

    #[test]
    fn no_gates_are_no_gates() {
        let ands = AndGates::new(7, 0);
        let mut room = AndRoom::default();
        ands.evaluate(&[], |_| [0; 2], &[], &mut [], &mut room);
        ands.garble(&[], Delta::new(1), &[], (&mut [], &mut []), &mut room);
    }
}
