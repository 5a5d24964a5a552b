//! BLAKE3 (O'Connor, Aumasson, Neves, Wilcox-O'Hearn 2020) for many inputs side by side: short messages, and
//! the chunks of long ones. A register contains one word of the state of several inputs, as many as it has
//! 32-bit lanes. A hash is a chain of dependent steps, so two sets of registers alternate. No registers are
//! left for the input words, so these are read from memory where they are added. The blake3 crate has one set
//! of registers, and waits for the end of each step: with AVX-512 it takes almost twice as long.

mod subtree;

use zeroize::Zeroize;

use crate::Kernel;
use crate::vector::{Vector, VectorLoop};

pub use subtree::{
    CHUNK_BYTES, SUBTREE_BYTES, Subtree, parent_values, parent_values_with, subtree_values,
    subtree_values_with,
};

/// The largest number of inputs that are compressed together: two registers of 16.
const MOST_LANES: usize = 32;

const IV: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const PARENT: u32 = 4;
const ROOT: u32 = 8;
const KEYED_HASH: u32 = 16;

/// For each of the sixteen positions in a round, the index of its message word.
const SCHEDULE: [[usize; 16]; 7] = {
    const PERMUTATION: [usize; 16] = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
    let mut schedule = [[0; 16]; 7];
    let (mut round, mut i) = (0, 0);
    while i < 7 * 16 {
        let place = i % 16;
        schedule[round][place] = if round == 0 { place } else { schedule[round - 1][PERMUTATION[place]] };
        i += 1;
        round = i / 16;
    }
    schedule
};

/// Writes the first 16 bytes of the keyed hash of each message, little endian: message `i` is the 32 bytes of
/// `messages[i]`. Takes constant time.
///
/// # Panics
/// If the numbers of messages and hashes differ.
pub fn keyed_hashes(key: &[u8; 32], messages: &[[u128; 2]], hashes: &mut [u128]) {
    keyed_hashes_with(Kernel::best(), key, messages, hashes);
}

/// Does the same as [`keyed_hashes`] with a kernel of the caller's choice.
///
/// # Panics
/// As [`keyed_hashes`].
pub fn keyed_hashes_with(kernel: Kernel, key: &[u8; 32], messages: &[[u128; 2]], hashes: &mut [u128]) {
    assert_eq!(messages.len(), hashes.len(), "each message must have one place for its hash");
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(key.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    kernel.run(Keyed { key: words, messages, hashes });
    words.zeroize();
}

/// The state of as many inputs as a register has lanes, as rows in the paper's order.
pub(crate) type Blake3Rows<V> = [[V; 4]; 4];

/// The seven rounds on two sets of inputs. The sets alternate, so that no step waits for the one before it.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn rounds<V: Vector>(states: &mut [Blake3Rows<V>; 2], messages: &[[V; 16]; 2]) {
    // SAFETY: guaranteed by the caller. Each round is a separate call, so that the compiler sees its part of
    // the schedule as a constant.
    unsafe {
        round(states, messages, &SCHEDULE[0]);
        round(states, messages, &SCHEDULE[1]);
        round(states, messages, &SCHEDULE[2]);
        round(states, messages, &SCHEDULE[3]);
        round(states, messages, &SCHEDULE[4]);
        round(states, messages, &SCHEDULE[5]);
        round(states, messages, &SCHEDULE[6]);
    }
}

/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn round<V: Vector>([v, w]: &mut [Blake3Rows<V>; 2], [m, n]: &[[V; 16]; 2], s: &[usize; 16]) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        V::mix32::<16, 12>(v, [&m[s[0]], &m[s[2]], &m[s[4]], &m[s[6]]]);
        V::mix32::<16, 12>(w, [&n[s[0]], &n[s[2]], &n[s[4]], &n[s[6]]]);
        V::mix32::<8, 7>(v, [&m[s[1]], &m[s[3]], &m[s[5]], &m[s[7]]]);
        V::mix32::<8, 7>(w, [&n[s[1]], &n[s[3]], &n[s[5]], &n[s[7]]]);
        (*v, *w) = (to_diagonals(*v), to_diagonals(*w));
        V::mix32::<16, 12>(v, [&m[s[8]], &m[s[10]], &m[s[12]], &m[s[14]]]);
        V::mix32::<16, 12>(w, [&n[s[8]], &n[s[10]], &n[s[12]], &n[s[14]]]);
        V::mix32::<8, 7>(v, [&m[s[9]], &m[s[11]], &m[s[13]], &m[s[15]]]);
        V::mix32::<8, 7>(w, [&n[s[9]], &n[s[11]], &n[s[13]], &n[s[15]]]);
        (*v, *w) = (to_columns(*v), to_columns(*w));
    }
}

/// Rotates the rows so that diagonals become columns. This renames registers and moves no data.
#[inline(always)]
fn to_diagonals<V: Copy>([a, b, c, d]: Blake3Rows<V>) -> Blake3Rows<V> {
    [a, [b[1], b[2], b[3], b[0]], [c[2], c[3], c[0], c[1]], [d[3], d[0], d[1], d[2]]]
}

/// Reverses [`to_diagonals`].
#[inline(always)]
fn to_columns<V: Copy>([a, b, c, d]: Blake3Rows<V>) -> Blake3Rows<V> {
    [a, [b[3], b[0], b[1], b[2]], [c[2], c[3], c[0], c[1]], [d[1], d[2], d[3], d[0]]]
}

/// Returns a register with the same word in every lane.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn splat32<V: Vector>(word: u32) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { V::splat(u128::from(word) * (u128::MAX / u128::from(u32::MAX))) }
}

/// Returns the number of inputs in a register.
const fn lanes<V: Vector>() -> usize {
    4 * V::BLOCKS
}

/// Reads eight words of each input of a register, from 32 bytes at `from(input)`. Returns one register for
/// each word. Input `j · BLOCKS + k` is in lane `j` of block `k`.
///
/// # Safety
/// The machine has the features of `V`, and there are 32 bytes for each of `lanes::<V>()` inputs.
#[inline(always)]
unsafe fn load_words<V: Vector>(from: impl Fn(usize) -> *const u128) -> [V; 8] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (mut first, mut second) = ([V::splat(0); 4], [V::splat(0); 4]);
        for j in 0..4 {
            (first[j], second[j]) = V::load_pairs(|k| from(j * V::BLOCKS + k));
        }
        let [w0, w1, w2, w3] = V::transpose32(first);
        let [w4, w5, w6, w7] = V::transpose32(second);
        [w0, w1, w2, w3, w4, w5, w6, w7]
    }
}

/// Reverses [`load_words`].
///
/// # Safety
/// The machine has the features of `V`, and there is room for 32 bytes of each of `lanes::<V>()` inputs.
#[inline(always)]
unsafe fn store_words<V: Vector>(words: [V; 8], to: impl Fn(usize) -> *mut u128) {
    let [w0, w1, w2, w3, w4, w5, w6, w7] = words;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (first, second) = (V::transpose32([w0, w1, w2, w3]), V::transpose32([w4, w5, w6, w7]));
        for (j, (first, second)) in first.into_iter().zip(second).enumerate() {
            V::store_pairs(first, second, |k| to(j * V::BLOCKS + k));
        }
    }
}

/// Returns a state before the rounds. The state consists of the previous chaining value, the halves of the
/// counters, and a part that is the same for all inputs.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn state<V: Vector>(
    [c0, c1, c2, c3, c4, c5, c6, c7]: [V; 8],
    [low, high]: [V; 2],
    bytes: u32,
    flags: u32,
) -> Blake3Rows<V> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let iv = [splat32(IV[0]), splat32(IV[1]), splat32(IV[2]), splat32(IV[3])];
        [[c0, c1, c2, c3], [c4, c5, c6, c7], iv, [low, high, splat32(bytes), splat32(flags)]]
    }
}

/// Folds a state after the rounds to eight words.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn folded<V: Vector>([a, b, c, d]: &Blake3Rows<V>) -> [V; 8] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let [a0, a1, a2, a3] = [a[0].xor(c[0]), a[1].xor(c[1]), a[2].xor(c[2]), a[3].xor(c[3])];
        [a0, a1, a2, a3, b[0].xor(d[0]), b[1].xor(d[1]), b[2].xor(d[2]), b[3].xor(d[3])]
    }
}

/// Returns registers with the same eight words for all inputs.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn splat_words<V: Vector>(words: &[u32; 8]) -> [V; 8] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut all = [splat32(0); 8];
        for (v, word) in all.iter_mut().zip(words) {
            *v = splat32(*word);
        }
        all
    }
}

struct Keyed<'a> {
    key: [u32; 8],
    messages: &'a [[u128; 2]],
    hashes: &'a mut [u128],
}

impl VectorLoop for Keyed<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Keyed { key, messages, hashes } = self;
        let both = 2 * lanes::<V>();
        let mut groups = messages.chunks_exact(both);
        let mut places = hashes.chunks_exact_mut(both);
        // SAFETY: the caller guarantees the features of `V`; there are messages and hashes for two registers
        // of inputs.
        unsafe {
            for (messages, places) in (&mut groups).zip(&mut places) {
                keyed_group::<V>(&key, messages.as_ptr(), places.as_mut_ptr());
            }
            let (rest, places) = (groups.remainder(), places.into_remainder());
            if !rest.is_empty() {
                let (mut padded, mut hashes) = ([[0; 2]; MOST_LANES], [0; MOST_LANES]);
                padded[..rest.len()].copy_from_slice(rest);
                keyed_group::<V>(&key, padded.as_ptr(), hashes.as_mut_ptr());
                places.copy_from_slice(&hashes[..rest.len()]);
                padded.zeroize();
            }
        }
    }
}

/// # Safety
/// The machine has the features of `V`; there are `2 * lanes::<V>()` messages and hashes.
#[inline(always)]
unsafe fn keyed_group<V: Vector>(key: &[u32; 8], messages: *const [u128; 2], hashes: *mut u128) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let zero = splat32(0);
        let start = state(splat_words(key), [zero; 2], 32, CHUNK_START | CHUNK_END | ROOT | KEYED_HASH);
        let (mut states, mut words) = ([start; 2], [[zero; 16]; 2]);
        for (set, words) in words.iter_mut().enumerate() {
            words[..8].copy_from_slice(&load_words::<V>(|i| messages.add(set * lanes::<V>() + i).cast()));
        }
        rounds(&mut states, &words);
        for (set, v) in states.iter().enumerate() {
            let [w0, w1, w2, w3, ..] = folded(v);
            for (j, row) in V::transpose32([w0, w1, w2, w3]).iter().enumerate() {
                row.store(hashes.add(set * lanes::<V>() + j * V::BLOCKS));
            }
        }
    }
}
