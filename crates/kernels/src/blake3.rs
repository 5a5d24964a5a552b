//! BLAKE3 (O'Connor, Aumasson, Neves, Wilcox-O'Hearn 2020) of many short messages side by side, which the blake3 crate does
//! only for the chunks of a long one. A register holds one word of the state for as many messages as it has 32-bit lanes;
//! as a hash is a chain of dependent steps, two registers go through together.

use zeroize::Zeroize;

use crate::Kernel;
use crate::vector::{Task, Vector};

/// Most messages that are compressed together: two registers of 16.
const MOST_LANES: usize = 32;
/// Words of 32 bits of a message; those of a block beyond it are 0.
const WORDS: usize = 8;

const IV: [u32; 8] = [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const ROOT: u32 = 8;
const KEYED_HASH: u32 = 16;

/// Which word of the message goes in at each of the sixteen places of a round.
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

/// The first 16 bytes of the keyed hash of each message, little endian: message `i` is the 32 bytes of `messages[i]`.
/// In constant time.
///
/// # Panics
/// If there is not one place for each hash.
pub fn keyed_hashes(key: &[u8; 32], messages: &[[u128; 2]], hashes: &mut [u128]) {
    keyed_hashes_with(Kernel::best(), key, messages, hashes);
}

/// [`keyed_hashes`] with a kernel of the caller's choice.
///
/// # Panics
/// Like [`keyed_hashes`].
pub fn keyed_hashes_with(kernel: Kernel, key: &[u8; 32], messages: &[[u128; 2]], hashes: &mut [u128]) {
    assert_eq!(messages.len(), hashes.len(), "one place for each hash");
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(key.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    kernel.run(Keyed { key: words, messages, hashes });
    words.zeroize();
}

/// One word of the state, or of the message, in two registers of messages.
type Pair<V> = [V; 2];

/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn add<V: Vector>(a: Pair<V>, b: Pair<V>) -> Pair<V> {
    // SAFETY: as the caller vouches.
    unsafe { [a[0].add32(b[0]), a[1].add32(b[1])] }
}

/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn xor_rotate<V: Vector, const BITS: u32>(a: Pair<V>, b: Pair<V>) -> Pair<V> {
    // SAFETY: as the caller vouches.
    unsafe { [a[0].xor(b[0]).rotate32::<BITS>(), a[1].xor(b[1]).rotate32::<BITS>()] }
}

/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn rounds<V: Vector>(v: &mut [Pair<V>; 16], m: &[Pair<V>; WORDS]) {
    // SAFETY: as the caller vouches. One call for each round, so that the schedule is known where the code is made.
    unsafe {
        round(v, m, &SCHEDULE[0]);
        round(v, m, &SCHEDULE[1]);
        round(v, m, &SCHEDULE[2]);
        round(v, m, &SCHEDULE[3]);
        round(v, m, &SCHEDULE[4]);
        round(v, m, &SCHEDULE[5]);
        round(v, m, &SCHEDULE[6]);
    }
}

/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn round<V: Vector>(v: &mut [Pair<V>; 16], m: &[Pair<V>; WORDS], order: &[usize; 16]) {
    // SAFETY: as the caller vouches.
    unsafe {
        mix(v, 0, m, [order[0], order[2], order[4], order[6]], [order[1], order[3], order[5], order[7]]);
        mix(v, 1, m, [order[8], order[10], order[12], order[14]], [order[9], order[11], order[13], order[15]]);
    }
}

/// Four quarter-rounds side by side, on the columns (`turn` 0) or on the diagonals (`turn` 1).
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn mix<V: Vector>(v: &mut [Pair<V>; 16], turn: usize, m: &[Pair<V>; WORDS], first: [usize; 4], second: [usize; 4]) {
    // SAFETY: as the caller vouches.
    unsafe {
        half_mix::<V, 16, 12>(v, turn, m, first);
        half_mix::<V, 8, 7>(v, turn, m, second);
    }
}

/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn half_mix<V: Vector, const D: u32, const B: u32>(v: &mut [Pair<V>; 16], turn: usize, m: &[Pair<V>; WORDS], words: [usize; 4]) {
    let at = |row: usize, k: usize| 4 * row + (k + row * turn) % 4;
    // SAFETY: as the caller vouches.
    unsafe {
        for (k, word) in words.into_iter().enumerate() {
            let a = if word < WORDS { add(v[at(0, k)], m[word]) } else { v[at(0, k)] };
            v[at(0, k)] = add(a, v[at(1, k)]);
        }
        for k in 0..4 {
            v[at(3, k)] = xor_rotate::<V, D>(v[at(3, k)], v[at(0, k)]);
        }
        for k in 0..4 {
            v[at(2, k)] = add(v[at(2, k)], v[at(3, k)]);
        }
        for k in 0..4 {
            v[at(1, k)] = xor_rotate::<V, B>(v[at(1, k)], v[at(2, k)]);
        }
    }
}

/// The same word for all inputs.
///
/// # Safety
/// The machine has the features of `V`.
#[inline(always)]
unsafe fn splat32<V: Vector>(word: u32) -> Pair<V> {
    // SAFETY: as the caller vouches.
    unsafe { [V::splat(u128::from(word) * (u128::MAX / u128::from(u32::MAX))); 2] }
}

/// Messages in a register.
const fn lanes<V: Vector>() -> usize {
    4 * V::BLOCKS
}

/// Reads the words of the messages of a register, one register for each word. Message `j · BLOCKS + k` goes to lane `j` of
/// block `k`.
///
/// # Safety
/// The machine has the features of `V`, and there are `lanes::<V>()` messages.
#[inline(always)]
unsafe fn load_words<V: Vector>(messages: *const [u128; 2]) -> [V; WORDS] {
    // SAFETY: as the caller vouches.
    unsafe {
        let pairs = |j: usize| V::load_pairs(|k| messages.add(j * V::BLOCKS + k).cast());
        let [(a0, b0), (a1, b1), (a2, b2), (a3, b3)] = [pairs(0), pairs(1), pairs(2), pairs(3)];
        let [w0, w1, w2, w3] = V::transpose32([a0, a1, a2, a3]);
        let [w4, w5, w6, w7] = V::transpose32([b0, b1, b2, b3]);
        [w0, w1, w2, w3, w4, w5, w6, w7]
    }
}

struct Keyed<'a> {
    key: [u32; 8],
    messages: &'a [[u128; 2]],
    hashes: &'a mut [u128],
}

impl Task for Keyed<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Keyed { key, messages, hashes } = self;
        let both = 2 * lanes::<V>();
        let mut groups = messages.chunks_exact(both);
        let mut places = hashes.chunks_exact_mut(both);
        // SAFETY: the caller vouches for the features of `V`; there are messages and places for two registers of inputs.
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
/// The machine has the features of `V`; there are `2 * lanes::<V>()` messages and places.
#[inline(always)]
unsafe fn keyed_group<V: Vector>(key: &[u32; 8], messages: *const [u128; 2], hashes: *mut u128) {
    // SAFETY: as the caller vouches.
    unsafe {
        let (first, second) = (load_words::<V>(messages), load_words::<V>(messages.add(lanes::<V>())));
        let mut m = [splat32(0); WORDS];
        for (w, m) in m.iter_mut().enumerate() {
            *m = [first[w], second[w]];
        }
        let mut v = [splat32(0); 16];
        let flags = CHUNK_START | CHUNK_END | ROOT | KEYED_HASH;
        let rest = [IV[0], IV[1], IV[2], IV[3], 0, 0, 4 * WORDS as u32, flags];
        for (v, word) in v.iter_mut().zip(key.iter().chain(&rest)) {
            *v = splat32(*word);
        }
        rounds(&mut v, &m);
        for n in [0, 1] {
            let word = |w: usize| v[w][n].xor(v[w + 8][n]);
            let rows = V::transpose32([word(0), word(1), word(2), word(3)]);
            for (j, row) in rows.iter().enumerate() {
                row.store(hashes.add(n * lanes::<V>() + j * V::BLOCKS));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn short_messages_hash_as_blake3_has_it(key: [u8; 32], messages in prop::collection::vec(any::<[u128; 2]>(), 0..100)) {
            let expected: Vec<u128> = messages.iter().map(|[a, b]| {
                let hash = blake3::keyed_hash(&key, &[a.to_le_bytes(), b.to_le_bytes()].concat());
                u128::from_le_bytes(*hash.as_bytes().first_chunk().unwrap())
            }).collect();
            for kernel in Kernel::all_available() {
                let mut hashes = vec![0; messages.len()];
                keyed_hashes_with(kernel, &key, &messages, &mut hashes);
                assert_eq!(hashes, expected, "{kernel:?}");
            }
        }
    }

    #[test]
    fn a_place_for_each_hash() {
        assert!(std::panic::catch_unwind(|| keyed_hashes(&[0; 32], &[[0; 2]], &mut [])).is_err());
    }
}
