//! The set of states that a search has visited.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

/// The states that a search has visited, each as a hash of 128 bits. Whole states would need too much memory,
/// and comparing them is most of the search's work.
pub(super) struct VisitedStates<W> {
    names: HashSet<u128>,
    states: PhantomData<W>,
}

impl<W: Hash> VisitedStates<W> {
    /// Makes a set with only this state.
    pub(super) fn from(first: &W) -> Self {
        let mut seen = VisitedStates { names: HashSet::new(), states: PhantomData };
        seen.is_new(first);
        seen
    }

    /// Adds a state. Returns whether it is new.
    pub(super) fn is_new(&mut self, state: &W) -> bool {
        let mut name = Name(0);
        state.hash(&mut name);
        self.names.insert(name.0)
    }

    /// Returns the number of states.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }
}

/// A hash of 128 bits, for inputs that no adversary chooses. It adds each word and mixes it into all bits.
struct Name(u128);

impl Name {
    /// A prime close to 2^128 / φ.
    const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;

    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ u128::from(word)).wrapping_mul(Self::FACTOR).rotate_left(59);
    }
}

impl Hasher for Name {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        words.iter().for_each(|&word| self.add(u64::from_le_bytes(word)));
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.add(u64::from_le_bytes(last));
            self.add(rest.len() as u64);
        }
    }

    fn write_u8(&mut self, word: u8) {
        self.add(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.add(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }

    fn finish(&self) -> u64 {
        (self.0 >> 64) as u64
    }
}

/// States that differ in any bit have different hashes, and equal states have the same.
#[test]
fn states_are_told_apart() {
    let mut seen = VisitedStates::from(&[0u64; 3]);
    for (word, bit) in (0..3).flat_map(|word| (0..64).map(move |bit| (word, bit))) {
        let mut state = [0; 3];
        state[word] = 1 << bit;
        assert!(seen.is_new(&state) && !seen.is_new(&state), "bit {bit} of word {word}");
    }
    assert_eq!(seen.len(), 1 + 3 * 64);
    let mut lengths = VisitedStates::from(&vec![0u8; 0]);
    assert!((1..40).all(|length| lengths.is_new(&vec![0; length])), "lengths");
}
