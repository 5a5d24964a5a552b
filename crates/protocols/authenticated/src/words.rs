//! Loops over lists of words. Each word is processed as two halves, because the compiler vectorises only
//! loops over halves. Bits are bytes of value 0 or 1. They may be secret, so no branch or index depends on
//! them.

use brickwork_base::label::Label;
use bytemuck::{cast_slice, cast_slice_mut};

/// A word as two halves.
type Halves = [u64; 2];

/// Returns all ones for 1, and 0 for 0.
fn mask(bit: u8) -> u64 {
    u64::from(bit & 1).wrapping_neg()
}

/// Adds `words` to `to`, word by word.
///
/// # Panics
/// If the lists have different lengths. This also holds for the other functions of this module.
pub fn add(to: &mut [Label], words: &[Label]) {
    assert_eq!(to.len(), words.len());
    let to = cast_slice_mut::<_, u64>(to);
    to.iter_mut().zip(cast_slice::<_, u64>(words)).for_each(|(to, word)| *to ^= word);
}

/// Adds the words whose bit is 1 to the words of `to`.
pub fn add_chosen(to: &mut [Label], words: &[Label], bits: &[u8]) {
    assert!(to.len() == words.len() && to.len() == bits.len());
    let words = cast_slice::<_, Halves>(words).iter().zip(bits);
    for (to, (word, &bit)) in cast_slice_mut::<_, Halves>(to).iter_mut().zip(words) {
        (to[0], to[1]) = (to[0] ^ word[0] & mask(bit), to[1] ^ word[1] & mask(bit));
    }
}

/// Adds one word to the words of `to` whose bit is 1.
pub fn add_where(to: &mut [Label], word: Label, bits: &[u8]) {
    assert_eq!(to.len(), bits.len());
    let [low, high] = bytemuck::cast::<Label, Halves>(word);
    for (to, &bit) in cast_slice_mut::<_, Halves>(to).iter_mut().zip(bits) {
        (to[0], to[1]) = (to[0] ^ low & mask(bit), to[1] ^ high & mask(bit));
    }
}

/// Adds one word to each word of `to` whose counterpart in `coloured` ends in 1.
pub fn add_where_coloured(to: &mut [Label], word: Label, coloured: &[Label]) {
    assert_eq!(to.len(), coloured.len());
    let [low, high] = bytemuck::cast::<Label, Halves>(word);
    let coloured = cast_slice::<_, Halves>(coloured);
    for (to, coloured) in cast_slice_mut::<_, Halves>(to).iter_mut().zip(coloured) {
        let mask = (coloured[0] & 1).wrapping_neg();
        (to[0], to[1]) = (to[0] ^ low & mask, to[1] ^ high & mask);
    }
}

/// Adds words of two lists to `to` in turn: first a word of `first`, then a word of `second`.
pub fn add_in_turn(to: &mut [Label], first: &[Label], second: &[Label]) {
    assert!(to.len() == 2 * first.len() && first.len() == second.len());
    for (to, (a, b)) in to.as_chunks_mut::<2>().0.iter_mut().zip(first.iter().zip(second)) {
        (to[0], to[1]) = (to[0] ^ *a, to[1] ^ *b);
    }
}

/// Adds pairs of words to `to`, with the two words of each pair exchanged.
pub fn add_crosswise(to: &mut [Label], pairs: &[Label]) {
    assert_eq!(to.len(), pairs.len());
    for (to, pair) in to.as_chunks_mut::<2>().0.iter_mut().zip(pairs.as_chunks::<2>().0) {
        (to[0], to[1]) = (to[0] ^ pair[1], to[1] ^ pair[0]);
    }
}

/// Returns the last bit of each word.
pub fn colours(words: &[Label]) -> impl Iterator<Item = u8> + '_ {
    words.iter().map(|word| word.colour())
}

/// The spare bytes after a list of short words, so that each can be read and written as a whole word.
pub const SPARE: usize = 16;

/// Packs the lower `bytes` bytes of each word into a list with [`SPARE`] bytes at its end.
pub fn pack_words<'a>(to: &mut [u8], bytes: usize, words: impl IntoIterator<Item = &'a Label>) {
    for (k, word) in words.into_iter().enumerate() {
        put_word(to, bytes, k, *word);
    }
}

/// Writes word number `k` in a list of words of `bytes` bytes. The following bytes are overwritten, up to the
/// end of a whole word.
#[inline]
pub fn put_word(to: &mut [u8], bytes: usize, k: usize, word: Label) {
    *to[k * bytes..].first_chunk_mut().expect("the buffer has spare bytes at its end") = word.to_bytes();
}

/// Reads word number `k` in a list of words of `bytes` bytes. The upper bytes of the result come from the
/// following words.
#[inline]
pub fn word(from: &[u8], bytes: usize, k: usize) -> Label {
    Label::from_bytes(*from[k * bytes..].first_chunk().expect("the buffer has spare bytes at its end"))
}

/// Returns the word with these bytes at its low end.
pub fn short_word(bytes: &[u8]) -> Label {
    let mut all = [0; 16];
    all[..bytes.len()].copy_from_slice(bytes);
    Label::from_bytes(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;

    #[test]
    fn loops_do_what_each_word_needs() {
        let mut rng = Rng::replayable("test words");
        for count in [0, 1, 2, 3, 17, 100] {
            let mut words = |_| -> Vec<Label> { (0..count).map(|_| rng.label()).collect() };
            let [to, others, coloured] = [0; 3].map(&mut words);
            let (word, bits): (Label, Vec<u8>) =
                (rng.label(), (0..count).map(|_| rng.below(2) as u8).collect());
            let after = |act: &dyn Fn(&mut [Label])| {
                let mut all = to.clone();
                act(&mut all);
                all
            };
            let is = |all: Vec<Label>, added: &dyn Fn(usize) -> Label| {
                assert!(all.iter().enumerate().all(|(k, sum)| *sum == to[k] ^ added(k)));
            };
            is(after(&|all| add(all, &others)), &|k| others[k]);
            is(after(&|all| add_chosen(all, &others, &bits)), &|k| others[k].times(bits[k]));
            is(after(&|all| add_where(all, word, &bits)), &|k| word.times(bits[k]));
            is(after(&|all| add_where_coloured(all, word, &coloured)), &|k| word.times(coloured[k].colour()));
            for bytes in [1, 6, 8, 11, 16] {
                let mut packed = vec![0xff; bytes * count + SPARE];
                pack_words(&mut packed, bytes, &to);
                for (k, expected) in to.iter().enumerate() {
                    assert_eq!(packed[k * bytes..][..bytes], expected.to_bytes()[..bytes]);
                    assert!(
                        super::word(&packed, bytes, k).to_bytes()[..bytes] == expected.to_bytes()[..bytes]
                    );
                }
            }
        }
    }
}
