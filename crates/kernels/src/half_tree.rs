//! Correlated GGM trees (Guo, Yang, Wang, Zhang, Xie, Liu, Zhao, *Half-Tree*, EUROCRYPT 2023): the nodes of
//! every level add up to the same offset.
//!
//! A node x has the left child `H(x)` and the right child `x ⊕ H(x)`, with `H(x) = AES_k(σ(x)) ⊕ σ(x)`. So
//! every level has the same sum as the level before, and a tree costs one AES call for each leaf. Bit i of a
//! leaf's number selects the child of its path on level i + 1. On a level, the left children of m nodes
//! overwrite their parents, and the right children follow m positions later.

use std::hint::black_box;

use crate::vector::{Vector, VectorLoop};
use crate::{Aes128, Kernel, erase};

/// The number of registers that are processed together.
const FLIGHT: usize = 8;
/// The largest number of nodes in these registers.
const MOST: usize = 4 * FLIGHT;

/// Grows a tree with the first level `first` under this key. Writes its leaves, whose last bits become 0, and
/// the sum of the left nodes of each level.
///
/// # Panics
/// If the number of leaves is not 2^n for n > 0 levels.
pub fn grow_tree(kernel: Kernel, key: &Aes128, first: [u128; 2], leaves: &mut [u128], lefts: &mut [u128]) {
    assert!(
        !lefts.is_empty() && leaves.len() == 1 << lefts.len(),
        "the last level must have two nodes for each node of the level above"
    );
    kernel.run(Grow { key, first, leaves, lefts });
}

/// Completes a tree with one unknown path. `path` is the number of the path's leaf. For each level, `known`
/// has the sum of the nodes that are not on the path but on the side that the path does not take. Writes the
/// leaves as [`grow_tree`] does. In the place of the unknown leaf it writes the sum of all others, whose last
/// bit becomes 1. Takes constant time.
///
/// # Panics
/// If the number of leaves is not 2^n for n > 0 levels.
pub fn complete_tree(kernel: Kernel, key: &Aes128, path: usize, known: &[u128], leaves: &mut [u128]) {
    assert!(
        !known.is_empty() && leaves.len() == 1 << known.len(),
        "the last level must have two nodes for each node of the level above"
    );
    kernel.run(Complete { key, path, known, leaves });
}

/// Returns the sum of the values whose word ends in 1. Takes constant time.
///
/// # Panics
/// If the numbers of words and values differ.
pub fn sum_where(kernel: Kernel, words: &[u128], values: &[u128]) -> u128 {
    assert_eq!(words.len(), values.len(), "each value must have a word");
    kernel.run(SumWhere { words, values })
}

/// Returns all ones if two numbers are equal, else zero. `black_box` hides from the compiler that there are
/// only these two results.
#[inline(always)]
fn equal(a: usize, b: usize) -> u128 {
    let difference = (a ^ b) as u64;
    u128::from(black_box((difference | difference.wrapping_neg()) >> 63)).wrapping_sub(1)
}

#[inline(always)]
fn either(bit: usize, zero: u128, one: u128) -> u128 {
    zero ^ (zero ^ one) & equal(bit, 1)
}

/// A correction that is added to the node at a secret position.
#[derive(Clone, Copy)]
struct Missing {
    place: usize,
    word: u128,
}

/// A correction in a stretch of words as long as the registers: the correction is at its position, and all
/// other words are zero. It is erased when dropped.
struct Spread {
    words: [u128; MOST],
    stretch: usize,
}

impl Drop for Spread {
    fn drop(&mut self) {
        erase(&mut self.words);
    }
}

impl Missing {
    const NONE: Missing = Missing { place: 0, word: 0 };

    /// Writes the correction for stretches of `nodes` nodes, a power of two. The position is secret, so this
    /// uses masks and shifts: the time of a division would depend on the quotient.
    #[inline(always)]
    fn spread(self, nodes: usize, to: &mut Spread) {
        let within = self.place & (nodes - 1);
        for (place, word) in to.words.iter_mut().enumerate().take(nodes) {
            *word = self.word & equal(place, within);
        }
        to.stretch = self.place >> nodes.trailing_zeros();
    }
}

impl Spread {
    /// A value without a correction, to be filled in place. Moving a filled value would leave a copy of it
    /// behind.
    const NONE: Spread = Spread { words: [0; MOST], stretch: 0 };

    /// Adds the correction to the stretch of nodes with this number.
    ///
    /// # Safety
    /// The machine has the features of `V`.
    #[inline(always)]
    unsafe fn add<V: Vector>(&self, stretch: usize, nodes: &mut [V; FLIGHT]) {
        // SAFETY: the caller guarantees the features of `V`, of which `MOST` words fill all registers.
        unsafe {
            let mask = V::splat(equal(stretch, self.stretch));
            for (n, node) in nodes.iter_mut().enumerate() {
                *node = node.xor(V::load(self.words.as_ptr().add(n * V::BLOCKS)).and(mask));
            }
        }
    }
}

#[inline(always)]
unsafe fn total<V: Vector>(register: V) -> u128 {
    let mut blocks = [0; 4];
    // SAFETY: the caller guarantees the features of `V`, whose registers have at most four blocks.
    unsafe { register.store(blocks.as_mut_ptr()) };
    blocks.iter().fold(0, |sum, block| sum ^ block)
}

/// Computes the children of `m` nodes, and adds the correction `missing` to its node. Returns the sums of the
/// left and of the right children.
///
/// # Safety
/// The machine has the features of `V`, and `nodes` has room for `2 * m` nodes.
#[inline(always)]
unsafe fn children<V: Vector>(key: &V::Keys, nodes: *mut u128, m: usize, missing: Missing) -> [u128; 2] {
    let width = FLIGHT * V::BLOCKS;
    let mut spread = Spread::NONE;
    missing.spread(width, &mut spread);
    // SAFETY: guaranteed by the caller. If there are fewer nodes than registers hold, they are copied to a
    // larger buffer.
    unsafe {
        let mut few = [0u128; 2 * MOST];
        let (from, room) = if m < width {
            few[..m].copy_from_slice(std::slice::from_raw_parts(nodes, m));
            (few.as_mut_ptr(), MOST)
        } else {
            (nodes, m)
        };
        let mut sums = [V::splat(0); 2];
        for (stretch, at) in (0..m).step_by(width).enumerate() {
            let mut x = [V::splat(0); FLIGHT];
            for (n, x) in x.iter_mut().enumerate() {
                *x = V::load(from.add(at + n * V::BLOCKS));
            }
            spread.add(stretch, &mut x);
            let mut y = x;
            for y in &mut y {
                *y = y.sigma();
            }
            let encrypted = V::encrypt(key, y);
            for n in 0..FLIGHT {
                let left = encrypted[n].xor(y[n]);
                let right = left.xor(x[n]);
                left.store(from.add(at + n * V::BLOCKS));
                right.store(from.add(room + at + n * V::BLOCKS));
                sums = [sums[0].xor(left), sums[1].xor(right)];
            }
        }
        if m < width {
            let (left, right) = (&few[..m], &few[MOST..MOST + m]);
            std::slice::from_raw_parts_mut(nodes, m).copy_from_slice(left);
            std::slice::from_raw_parts_mut(nodes.add(m), m).copy_from_slice(right);
            let sums = [left, right].map(|some| some.iter().fold(0, |sum, node| sum ^ node));
            erase(&mut few);
            return sums;
        }
        [total(sums[0]), total(sums[1])]
    }
}

struct Grow<'a> {
    key: &'a Aes128,
    first: [u128; 2],
    leaves: &'a mut [u128],
    lefts: &'a mut [u128],
}

impl VectorLoop for Grow<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Grow { key, first, leaves, lefts } = self;
        leaves[..2].copy_from_slice(&first);
        lefts[0] = first[0];
        // SAFETY: the caller guarantees the features of `V`; a level has half as many nodes as the next one.
        unsafe {
            let key = V::keys(key.round_keys());
            for (level, left) in lefts.iter_mut().enumerate().skip(1) {
                [*left, _] = children::<V>(&key, leaves.as_mut_ptr(), 1 << level, Missing::NONE);
            }
        }
        leaves.iter_mut().for_each(|leaf| *leaf &= !1);
    }
}

struct Complete<'a> {
    key: &'a Aes128,
    path: usize,
    known: &'a [u128],
    leaves: &'a mut [u128],
}

impl VectorLoop for Complete<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let Complete { key, path, known, leaves } = self;
        let bit = |level: usize| path >> level & 1;
        // The node on the path is unknown, and zero in its place. Its descendants have meaningless values.
        (leaves[0], leaves[1]) = (either(bit(0), 0, known[0]), either(bit(0), known[0], 0));
        let (mut missing, mut total) = (Missing::NONE, known[0]);
        // SAFETY: as in `Grow::run`.
        unsafe {
            let key = V::keys(key.round_keys());
            for (level, known) in known.iter().enumerate().skip(1) {
                let m = 1 << level;
                let [left, right] = children::<V>(&key, leaves.as_mut_ptr(), m, missing);
                // The sibling of the path's node was computed from a meaningless parent, so it is corrected.
                let place = (path & (m - 1)) + m * (bit(level) ^ 1);
                missing = Missing { place, word: known ^ either(bit(level), right, left) };
                total = left ^ right ^ missing.word;
            }
        }
        // The path's own leaf is meaningless, but its value was added to the sum.
        let others = Missing { place: path, word: total | 1 };
        let missing = Missing { word: missing.word & !1, ..missing };
        finish(leaves, [missing, others]);
    }
}

/// Clears the last bits, and adds the corrections at two places.
#[inline(always)]
fn finish(leaves: &mut [u128], missing: [Missing; 2]) {
    let width = MOST.min(leaves.len());
    let mut spread = [Spread::NONE, Spread::NONE];
    missing.iter().zip(&mut spread).for_each(|(missing, spread)| missing.spread(width, spread));
    for (stretch, leaves) in leaves.chunks_exact_mut(width).enumerate() {
        let masks = [0, 1].map(|k| equal(stretch, spread[k].stretch));
        for (place, leaf) in leaves.iter_mut().enumerate() {
            *leaf = *leaf & !1 ^ spread[0].words[place] & masks[0] ^ spread[1].words[place] & masks[1];
        }
    }
}

struct SumWhere<'a> {
    words: &'a [u128],
    values: &'a [u128],
}

impl VectorLoop for SumWhere<'_> {
    type Output = u128;
    #[inline(always)]
    unsafe fn run<V: Vector>(self) -> u128 {
        let SumWhere { words, values } = self;
        let whole = words.len() - words.len() % V::BLOCKS;
        // SAFETY: the caller guarantees the features of `V`; there are whole registers before `whole`.
        unsafe {
            let mut sum = V::splat(0);
            for at in (0..whole).step_by(V::BLOCKS) {
                let word = V::load(words.as_ptr().add(at));
                sum = sum.xor_if(word.colours(), V::load(values.as_ptr().add(at)));
            }
            let rest = words[whole..].iter().zip(&values[whole..]);
            rest.fold(total(sum), |sum, (word, value)| sum ^ value & black_box(word & 1).wrapping_neg())
        }
    }
}
