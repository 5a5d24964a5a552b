//! The tree of BLAKE3 over long inputs: from chunks to subtrees of up to sixteen chunks.

use super::{
    Blake3Rows, CHUNK_END, CHUNK_START, IV, MOST_LANES, PARENT, folded, lanes, load_words, rounds,
    splat_words, splat32, state, store_words,
};
use crate::Kernel;
use crate::vector::{Vector, VectorLoop, prefetch};

/// The largest number of chunks in a subtree.
const CHUNKS: usize = 16;

/// Bytes of a chunk.
pub const CHUNK_BYTES: usize = 1024;

/// The number of blocks in a chunk, of 64 bytes each.
const BLOCKS: usize = CHUNK_BYTES / 64;

/// The largest number of bytes in a subtree.
pub const SUBTREE_BYTES: usize = CHUNKS * CHUNK_BYTES;

/// The number of subtrees that are hashed together, so that their parents fill the registers, too.
const TOGETHER: usize = 16;

/// A chaining value, little endian.
type Value = [u128; 2];

/// A part of an input that is a whole subtree of BLAKE3's tree, but not the whole tree.
#[derive(Clone, Copy)]
pub struct Subtree<'a> {
    /// The data to hash: 1, 2, 4, 8 or 16 chunks.
    pub bytes: &'a [u8],
    /// The number of its first chunk in the input: a multiple of its own number of chunks.
    pub first_chunk: u64,
}

/// Writes the chaining values of subtrees of the same size, without a key. The values are those of the blake3
/// crate's `hazmat` module. Takes constant time.
///
/// # Panics
/// If the number of values is wrong, or the subtrees' sizes are invalid or differ.
pub fn subtree_values(subtrees: &[Subtree], values: &mut [[u8; 32]]) {
    subtree_values_with(Kernel::best(), subtrees, values);
}

/// Does the same as [`subtree_values`] with a kernel of the caller's choice.
///
/// # Panics
/// As [`subtree_values`].
pub fn subtree_values_with(kernel: Kernel, subtrees: &[Subtree], values: &mut [[u8; 32]]) {
    assert_eq!(subtrees.len(), values.len(), "each subtree must have one place for its value");
    let Some(bytes) = subtrees.first().map(|subtree| subtree.bytes.len()) else { return };
    let chunks = bytes / CHUNK_BYTES;
    assert!(
        bytes == chunks * CHUNK_BYTES && chunks.is_power_of_two() && chunks <= CHUNKS,
        "a subtree cannot have {bytes} bytes"
    );
    assert!(
        subtrees.iter().all(|subtree| subtree.bytes.len() == bytes),
        "all subtrees must have the same size"
    );
    let mut nodes = [[0; 2]; TOGETHER * CHUNKS];
    for (subtrees, values) in subtrees.chunks(TOGETHER).zip(values.chunks_mut(TOGETHER)) {
        kernel.run(Trees { inputs: Inputs { subtrees, chunks }, nodes: &mut nodes });
        write_values(&nodes, values);
    }
}

/// Writes the chaining value of each pair of subtrees. A pair must not be a whole input. Takes constant time.
///
/// # Panics
/// If the numbers of pairs and values differ.
pub fn parent_values(children: &[[[u8; 32]; 2]], values: &mut [[u8; 32]]) {
    parent_values_with(Kernel::best(), children, values);
}

/// Does the same as [`parent_values`] with a kernel of the caller's choice.
///
/// # Panics
/// As [`parent_values`].
pub fn parent_values_with(kernel: Kernel, children: &[[[u8; 32]; 2]], values: &mut [[u8; 32]]) {
    assert_eq!(children.len(), values.len(), "each pair of children must have one place for its value");
    let mut nodes = [[0; 2]; 2 * MOST_LANES];
    for (children, values) in children.chunks(MOST_LANES).zip(values.chunks_mut(MOST_LANES)) {
        for (node, child) in nodes.iter_mut().zip(children.as_flattened()) {
            let [low, high] = [child.first_chunk(), child.last_chunk()]
                .map(|half| *half.expect("a half of 32 bytes has 16 bytes"));
            *node = [u128::from_le_bytes(low), u128::from_le_bytes(high)];
        }
        kernel.run(Parents { nodes: &mut nodes, count: children.len() });
        write_values(&nodes, values);
    }
}

fn write_values(nodes: &[Value], values: &mut [[u8; 32]]) {
    for (value, [low, high]) in values.iter_mut().zip(nodes) {
        value[..16].copy_from_slice(&low.to_le_bytes());
        value[16..].copy_from_slice(&high.to_le_bytes());
    }
}

/// One level of the tree.
struct Parents<'a> {
    /// Nodes `2 k` and `2 k + 1` are the children of parent `k`, which overwrites place `k`.
    nodes: &'a mut [Value],
    count: usize,
}

impl VectorLoop for Parents<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Parents { nodes, count } = self;
        for first in (0..count).step_by(2 * lanes::<V>()) {
            // SAFETY: the caller guarantees the features of `V`.
            unsafe { parents::<V>(nodes, first, (first + 2 * lanes::<V>()).min(count)) };
        }
    }
}

/// Subtrees of `chunks` chunks each. All their chunks are numbered consecutively.
#[derive(Clone, Copy)]
struct Inputs<'a> {
    subtrees: &'a [Subtree<'a>],
    chunks: usize,
}

impl Inputs<'_> {
    fn count(&self) -> usize {
        self.subtrees.len() * self.chunks
    }

    fn start(&self, chunk: usize) -> *const u8 {
        self.subtrees[chunk / self.chunks].bytes[chunk % self.chunks * CHUNK_BYTES..].as_ptr()
    }

    /// Returns the number of a chunk within its input.
    fn counter(&self, chunk: usize) -> u64 {
        self.subtrees[chunk / self.chunks].first_chunk + (chunk % self.chunks) as u64
    }
}

struct Trees<'a> {
    inputs: Inputs<'a>,
    /// A buffer for the nodes. At the end, the values of the subtrees are at its beginning.
    nodes: &'a mut [Value; TOGETHER * CHUNKS],
}

impl VectorLoop for Trees<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Trees { inputs, nodes } = self;
        let at_once = 2 * lanes::<V>();
        let mut count = inputs.count();
        for first in (0..count).step_by(at_once) {
            let numbers = first..(first + at_once).min(count);
            // SAFETY: the caller guarantees the features of `V`; there are as many nodes as chunks.
            unsafe { chunks::<V>(inputs, numbers.start, &mut nodes[numbers]) };
        }
        // Each step halves the number of nodes, until each subtree has one.
        for _ in 0..inputs.chunks.ilog2() {
            count /= 2;
            // SAFETY: the caller guarantees the features of `V`.
            unsafe { Parents { nodes, count }.run::<V>() };
        }
    }
}

/// The number of blocks by which prefetching is ahead of compressing.
const AHEAD: usize = 4;

/// Computes the values of the chunks from `first` on, at most two registers of them.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn chunks<V: Vector>(inputs: Inputs, first: usize, values: &mut [Value]) {
    let last = first + values.len() - 1;
    // Lanes without a chunk repeat the last one.
    let chunk = |i: usize| (first + i).min(last);
    let start: [*const u8; MOST_LANES] = std::array::from_fn(|i| inputs.start(chunk(i)));
    // The chunks after these are prefetched, because the processor's prefetcher follows fewer streams than
    // there are.
    let next: [*const u8; MOST_LANES] =
        std::array::from_fn(|i| inputs.start((first + 2 * lanes::<V>() + i).min(inputs.count() - 1)));
    let mut counters = [[[0u32; MOST_LANES / 2]; 2]; 2];
    for i in 0..2 * lanes::<V>() {
        let (set, lane) = (i / lanes::<V>(), i % lanes::<V>());
        let number = inputs.counter(chunk(i));
        let place = lane % V::BLOCKS * 4 + lane / V::BLOCKS;
        counters[set][0][place] = number as u32;
        counters[set][1][place] = (number >> 32) as u32;
    }
    // SAFETY: the caller guarantees the features of `V`. A chunk has sixteen blocks of 64 bytes, and a
    // register has at most `MOST_LANES / 2` counters.
    unsafe {
        let mut chains = [splat_words(&IV); 2];
        let [first, second] = &counters;
        let counters = [
            [load_counters(&first[0]), load_counters(&first[1])],
            [load_counters(&second[0]), load_counters(&second[1])],
        ];
        for block in 0..BLOCKS {
            let (streams, ahead) = if block + AHEAD < BLOCKS {
                (&start, block + AHEAD)
            } else {
                (&next, block + AHEAD - BLOCKS)
            };
            for stream in &streams[..2 * lanes::<V>()] {
                prefetch(stream.wrapping_add(64 * ahead));
            }
            let flags =
                if block == 0 { CHUNK_START } else { 0 } | if block == BLOCKS - 1 { CHUNK_END } else { 0 };
            let states = [state(chains[0], counters[0], 64, flags), state(chains[1], counters[1], 64, flags)];
            chains = compress::<V>(states, |i| start[i].add(64 * block).cast());
        }
        store::<V>(chains, values);
    }
}

/// Replaces nodes `2 first..2 end` by their parents `first..end`, at most two registers of them.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn parents<V: Vector>(nodes: &mut [Value], first: usize, end: usize) {
    let children = &nodes[2 * first..2 * end];
    // SAFETY: the caller guarantees the features of `V`; a parent's block is the 64 bytes of its two
    // children.
    unsafe {
        let start = state(splat_words(&IV), [splat32(0); 2], 64, PARENT);
        let chains = compress::<V>([start; 2], |i| children[2 * i.min(end - first - 1)..].as_ptr().cast());
        store::<V>(chains, &mut nodes[first..end]);
    }
}

/// Compresses a block of 64 bytes of each input, read at `from(input)`.
///
/// # Safety
/// The machine has the features of `V`, and there are the bytes of `2 * lanes::<V>()` inputs.
#[inline(always)]
unsafe fn compress<V: Vector>(
    mut states: [Blake3Rows<V>; 2],
    from: impl Fn(usize) -> *const u128,
) -> [[V; 8]; 2] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let words = [load_block::<V>(&from), load_block::<V>(|i| from(lanes::<V>() + i))];
        rounds(&mut states, &words);
        [folded(&states[0]), folded(&states[1])]
    }
}

/// Reads all sixteen words of a block of each input of a register.
///
/// # Safety
/// The machine has the features of `V`, and there are the bytes of `lanes::<V>()` inputs.
#[inline(always)]
unsafe fn load_block<V: Vector>(from: impl Fn(usize) -> *const u128) -> [V; 16] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let [w0, w1, w2, w3, w4, w5, w6, w7] = load_words::<V>(&from);
        let [w8, w9, w10, w11, w12, w13, w14, w15] = load_words::<V>(|i| from(i).add(2));
        [w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15]
    }
}

/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn load_counters<V: Vector>(counters: &[u32; MOST_LANES / 2]) -> V {
    // SAFETY: guaranteed by the caller; a register has no more lanes.
    unsafe { V::load(counters.as_ptr().cast()) }
}

/// Writes the values of the first inputs, until `values` is full.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn store<V: Vector>([first, second]: [[V; 8]; 2], values: &mut [Value]) {
    let mut all: [Value; MOST_LANES] = [[0; 2]; MOST_LANES];
    let at = all.as_mut_ptr();
    // SAFETY: guaranteed by the caller; two registers have at most `MOST_LANES` inputs.
    unsafe {
        store_words(first, |i| at.add(i).cast());
        store_words(second, |i| at.add(lanes::<V>() + i).cast());
    }
    values.copy_from_slice(&all[..values.len()]);
}
