//! Compares all kernels of the machine with the portable one, for any length.
//!
//! Used by the fuzz target and, with the seeds, by the tests.
#![allow(dead_code)]

use brickwork_kernels::{
    Aes128, And, CHUNK_BYTES, GateListBuilder, HashKeys, Kernel, LANES, LAYER, ONE, Subtree, WalkLabels,
    ctr_rows_with, hash_accumulate_with, hash_rows_with, keyed_hashes_with, parent_values_with,
    parity_rows_with, subtree_values_with, transpose_back_with, transpose_with, words_for_rows,
};

/// The input bytes: they select the operation and then give the data, which is repeated with a mask.
struct Source<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        let (round, place) = (self.at / self.bytes.len(), self.at % self.bytes.len());
        self.at += 1;
        self.bytes[place] ^ (round as u8).wrapping_mul(0x9d)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    fn block(&mut self) -> u128 {
        u128::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    fn blocks(&mut self, count: usize) -> Vec<u128> {
        (0..count).map(|_| self.block()).collect()
    }

    /// Returns blocks that begin at any permitted address, not only at the boundary of a register.
    fn shifted(&mut self, count: usize) -> (Vec<u128>, usize) {
        let shift = self.below(4);
        (self.blocks(count + shift), shift)
    }
}

/// Runs one of the loops, which the first byte selects.
pub fn kernels(data: &[u8]) {
    let Some((what, bytes)) = data.split_first() else { return };
    if bytes.is_empty() {
        return;
    }
    let mut source = Source { bytes, at: 0 };
    match what % 9 {
        0 => agree(&mut source, aes),
        1 => agree(&mut source, counters),
        2 => agree(&mut source, hashes),
        3 => agree(&mut source, universal),
        4 => agree(&mut source, parity),
        5 => agree(&mut source, transposed),
        6 => agree(&mut source, garbled),
        7 => agree(&mut source, subtrees),
        _ => agree(&mut source, parents),
    }
}

/// Runs the loop with each kernel on the same data.
fn agree<T: PartialEq + std::fmt::Debug>(source: &mut Source, run: impl Fn(&mut Source, Kernel) -> T) {
    let start = source.at;
    let expected = run(source, Kernel::PORTABLE);
    for kernel in Kernel::all_available() {
        source.at = start;
        assert_eq!(run(source, kernel), expected, "{kernel:?}");
    }
}

fn aes(source: &mut Source, kernel: Kernel) -> Vec<u128> {
    let count = source.below(70);
    let key = source.block();
    let (mut blocks, shift) = source.shifted(count);
    Aes128::with_kernel(kernel, key).encrypt_with(kernel, &mut blocks[shift..]);
    blocks
}

fn counters(source: &mut Source, kernel: Kernel) -> Vec<u128> {
    let (keys, row) = (source.below(9), source.below(40));
    let (keys, counter) = (source.blocks(keys), source.block());
    let mut expanded = Vec::new();
    Aes128::expand_many(kernel, &keys, &mut expanded);
    let mut out = vec![0; keys.len() * row];
    ctr_rows_with(kernel, &expanded, counter, &mut out, row);
    out
}

fn hashes(source: &mut Source, kernel: Kernel) -> Vec<u128> {
    let count = source.below(80);
    let key = std::array::from_fn(|_| source.byte());
    let messages: Vec<[u128; 2]> = (0..count).map(|_| [source.block(), source.block()]).collect();
    let mut hashes = vec![0; count];
    keyed_hashes_with(kernel, &key, &messages, &mut hashes);
    hashes
}

fn subtrees(source: &mut Source, kernel: Kernel) -> Vec<[u8; 32]> {
    let (count, size, shift) = (source.below(40), CHUNK_BYTES << source.below(5), source.below(64));
    let first = u64::from(source.byte()) << source.below(45);
    let few = source.blocks(9);
    let bytes: Vec<u8> =
        few.iter().flat_map(|block| block.to_le_bytes()).cycle().take(shift + count * size).collect();
    let chunks = (size / CHUNK_BYTES) as u64;
    let numbered = bytes[shift..].chunks(size).zip(0..);
    let subtrees: Vec<Subtree> =
        numbered.map(|(bytes, k)| Subtree { bytes, first_chunk: (first + k) * chunks }).collect();
    let mut values = vec![[0; 32]; count];
    subtree_values_with(kernel, &subtrees, &mut values);
    values
}

fn parents(source: &mut Source, kernel: Kernel) -> Vec<[u8; 32]> {
    let count = source.below(100);
    let children: Vec<[[u8; 32]; 2]> =
        (0..count).map(|_| [0; 2].map(|_| std::array::from_fn(|_| source.byte()))).collect();
    let mut values = vec![[0; 32]; count];
    parent_values_with(kernel, &children, &mut values);
    values
}

fn universal(source: &mut Source, kernel: Kernel) -> Vec<[u128; 2]> {
    let (count, blocks) = (source.below(20), source.below(10));
    let chis = source.blocks(blocks);
    let (rows, shift) = source.shifted(count * blocks);
    let mut sums = vec![[0; 2]; count];
    hash_rows_with(kernel, &mut sums, &rows[shift..], &chis);
    let one = source.blocks(count);
    hash_accumulate_with(kernel, &mut sums, &one, source.block());
    sums
}

fn parity(source: &mut Source, kernel: Kernel) -> Vec<u128> {
    let (masks, blocks) = (source.below(12), source.below(7));
    let masks = source.blocks(masks);
    let (message, shift) = source.shifted(128 * blocks);
    let mut parity = vec![0; masks.len() * blocks];
    parity_rows_with(kernel, &masks, &message[shift..], &mut parity, blocks);
    parity
}

fn transposed(source: &mut Source, kernel: Kernel) -> (Vec<u64>, Vec<u128>) {
    let (rows, blocks) = (source.below(200), 1 + source.below(3));
    let (matrix, shift) = source.shifted(rows * blocks);
    let mut columns = vec![0; 128 * blocks * words_for_rows(rows)];
    transpose_with(kernel, &matrix[shift..], blocks, &mut columns);
    let one = &matrix[shift..][..rows];
    let mut of_one = vec![0; 128 * words_for_rows(rows)];
    transpose_with(kernel, one, 1, &mut of_one);
    let mut again = vec![0; rows];
    transpose_back_with(kernel, &of_one, words_for_rows(rows), &mut again);
    assert_eq!(again, one, "there and back");
    (columns, again)
}

/// Garbles a circuit and evaluates it: the result is one of the two labels of each output slot.
fn garbled(source: &mut Source, kernel: Kernel) -> (Vec<u8>, Vec<u128>) {
    let (slots, lanes) = (2 + source.below(20), LANES[source.below(LANES.len())]);
    let mut script = GateListBuilder::new(slots);
    let slot = |source: &mut Source| source.below(slots) as u32;
    let mut gate = 0;
    for _ in 0..source.below(30) {
        let mut xors = Vec::new();
        for _ in 0..source.below(4) {
            let out = 1 + source.below(slots - 1) as u32;
            let (a, b) = (slot(source), slot(source));
            script.xor(a, b, out);
            xors.push([a, b, out]);
        }
        let mut ands: Vec<And> = Vec::new();
        for _ in 0..source.below(LAYER + 1) {
            let and = And { a: slot(source), b: slot(source), out: 1 + source.below(slots - 1) as u32, gate };
            // The AND gates of a layer depend neither on each other nor on the layer's XORs, and all write
            // different slots.
            let apart = |g: &And| {
                g.out != and.a && g.out != and.b && g.out != and.out && and.out != g.a && and.out != g.b
            };
            let beside = |xor: &[u32; 3]| !xor.contains(&and.out) && xor[2] != and.a && xor[2] != and.b;
            let own = and.out != and.a && and.out != and.b;
            if own && ands.iter().all(apart) && xors.iter().all(beside) {
                ands.push(and);
                gate += 1;
            }
        }
        script.layer(&ands);
    }
    let script = script.finish();
    let keys: Vec<Aes128> = source
        .blocks(if lanes == 1 { 1 } else { 8 })
        .into_iter()
        .map(|key| Aes128::with_kernel(kernel, key))
        .collect();
    let keys = HashKeys { keys: &keys, gates_per_key: if lanes == 1 { 512 } else { 64 } };
    let offsets: Vec<u128> = source.blocks(lanes).into_iter().map(|offset| offset | 1).collect();
    let labels = source.blocks(slots * lanes);
    let bits: Vec<bool> = labels.iter().map(|label| label >> 77 & 1 == 1).collect();
    let (mut garbling, mut evaluating) = (WalkLabels::new(&script, lanes), WalkLabels::new(&script, lanes));
    for slot in 1..slots as u32 {
        for (lane, offset) in offsets.iter().enumerate() {
            let at = slot as usize * lanes + lane;
            garbling.set(slot, lane, labels[at]);
            evaluating.set(slot, lane, labels[at] ^ if bits[at] { *offset } else { 0 });
        }
    }
    for (lane, offset) in offsets.iter().enumerate() {
        garbling.set(ONE, lane, *offset);
    }
    let gates = script.section_gates(0).len();
    let mut tables = vec![0; 32 * gates * lanes];
    let mut each: Vec<&mut [u8]> = if gates == 0 {
        (0..lanes).map(|_| <&mut [u8]>::default()).collect()
    } else {
        tables.chunks_exact_mut(32 * gates).collect()
    };
    garbling.garble(kernel, &script, 0, keys, &mut each);
    let each: Vec<&[u8]> = each.into_iter().map(|table| &*table).collect();
    evaluating.evaluate(kernel, &script, 0, keys, &each);
    let mut out = Vec::new();
    for slot in 1..slots as u32 {
        for (lane, offset) in offsets.iter().enumerate() {
            let (zero, active) = (garbling.get(slot, lane), evaluating.get(slot, lane));
            assert!(
                active == zero || active == zero ^ offset,
                "slot {slot} of copy {lane} has neither label"
            );
            out.extend([zero, active]);
        }
    }
    (tables, out)
}
