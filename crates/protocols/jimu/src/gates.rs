//! Garbled AND gates with labels longer than a block (figure 3, repaired).
//!
//! A label is a word of ℓ bytes of an interactive hash: part of it is watched, so it must be longer than what
//! it hides. What is hashed is its *compression*: its values at 16 points that the code never sends, drawn
//! after the evaluator chose what it watches. These have all the bits that the label hides, up to 128,
//! whatever is watched (`ihash::Code::evaluation`). The paper's random matrix is as good but for some bits on
//! average; its figure hashes the label itself, where the compression is meant.
//!
//! ```text
//!   T_G = H(l, j) ⊕ H(l ⊕ Δ, j) ⊕ c(r)·Δ           T_E = H(r, j') ⊕ H(r ⊕ Δ, j') ⊕ l
//!   o   = H(l, j) ⊕ c(l)·T_G ⊕ H(r, j') ⊕ c(r)·(T_E ⊕ l)
//! ```
//!
//! where l, r, o are false labels, and c is the colour, the lowest bit of the compression. Evaluating on
//! active labels, each row is the last line.
//!
//! # Two wrong rows
//!
//! The four outputs of any tables whatever, on the four pairs of labels, add up to `(c(r) ⊕ c(r ⊕ Δ))·Δ`: all
//! else comes twice. That is Δ if Δ has colour 1, and so are the four outputs of AND. So if three outputs are
//! right, the fourth is: of a bad gate two are wrong at least, and an opened row shows it with probability
//! 1/2 (lemma 5.3, whose proof in the paper asks for more than this). If Δ has colour 0, they add up to 0,
//! and one at least is wrong of every gate: `parameters::Level::of_copies` counts how often that survives. Only
//! Δ = 0 spoils nothing that way, and `buckets::Checks::new` refuses it.

use brickwork_primitives::ihash::{Code, Unsent, Words};
use zeroize::Zeroizing;

use crate::hash::LabelHash;

/// Gates whose labels are hashed at a time; and where they come in any order, so that many of them share a key.
const TOGETHER: usize = 64;
const SCATTERED: usize = 1 << 10;

/// Labels, each with its compression.
#[derive(Clone)]
pub struct Labels {
    /// The labels, `[label][symbol]`.
    pub wide: Words,
    /// Their compressions.
    pub short: Zeroizing<Vec<u128>>,
}

impl Labels {
    /// Compresses labels by these points, of which there are as many as a block has symbols.
    ///
    /// # Panics
    /// If they are no words of this code.
    pub fn new(code: &Code, compression: &Unsent, wide: Words) -> Self {
        Labels { short: compressed(code, compression, &wide), wide }
    }
}

/// Returns the compressions of labels.
///
/// # Panics
/// If they are no words of this code.
pub fn compressed(code: &Code, compression: &Unsent, wide: &Words) -> Zeroizing<Vec<u128>> {
    first_blocks(&code.at(compression, wide))
}

/// Returns the first block of each of these words: the compressions of labels, of their values at all points
/// that open them.
pub fn first_blocks(words: &Words) -> Zeroizing<Vec<u128>> {
    let blocks = words.blocks().max(1);
    Zeroizing::new(words.data().iter().step_by(blocks).copied().collect())
}

/// Returns the colour of a compressed label.
pub fn colour(short: u128) -> u8 {
    short as u8 & 1
}

/// Where the keys of the hash of gates come from.
pub struct Garbling {
    hash: LabelHash,
    blocks: usize,
}

impl Garbling {
    /// For gates `0..gates` with labels of so many blocks. `start` is the garbler's choice, sent with the gates.
    pub fn new(start: u128, gates: usize, blocks: usize) -> Self {
        let hash = LabelHash::new("brickwork 2026-11 JIMU garbling hash keys", start, 2 * gates, blocks);
        Garbling { hash, blocks }
    }

    /// Garbles gates from number `first` on, with these false labels of their operands, `[gate][operand]`;
    /// `offset` is one label. Returns the false labels of their outputs, and the rows: T_G and T_E of each.
    ///
    /// # Panics
    /// If there are more gates than said, or an operand is missing.
    pub fn garble(&self, first: usize, offset: &Labels, operands: &Labels) -> (Words, Words) {
        let Labels { wide, short } = operands;
        assert_eq!((wide.count() % 2, wide.count()), (0, short.len()), "two operands a gate");
        let (count, n) = (short.len() / 2, self.blocks);
        let (delta, short_delta) = (offset.wide.word(0), offset.short[0]);
        let symbols = wide.symbols();
        let (mut outputs, mut tables) = (Words::zeros(symbols, count), Words::zeros(symbols, 2 * count));
        for start in (0..count).step_by(TOGETHER) {
            let gates = start..count.min(start + TOGETHER);
            // Of each operand the hashes of both labels.
            let asked = (4 * gates.start..4 * gates.end).map(|k| {
                (short[k / 2] ^ (short_delta & u128::from(k as u8 & 1).wrapping_neg()), 2 * first + k / 2)
            });
            let hashes = self.hash.hashes(asked);
            for (gate, hashes) in gates.zip(hashes.chunks_exact(4 * n)) {
                let [l, r] = [2 * gate, 2 * gate + 1].map(|k| colour(short[k]));
                for half in 0..2 {
                    let [here, other] = [0, 1].map(|k| &hashes[(2 * half + k) * n..][..n]);
                    tables.add_to(2 * gate + half, here, 1);
                    tables.add_to(2 * gate + half, other, 1);
                    outputs.add_to(gate, here, 1);
                }
                tables.add_to(2 * gate, delta, r);
                tables.add_to(2 * gate + 1, wide.word(2 * gate), 1);
                outputs.add_to(gate, tables.word(2 * gate), l);
                outputs.add_to(gate, tables.word(2 * gate + 1), r);
                outputs.add_to(gate, wide.word(2 * gate), r);
            }
        }
        (outputs, tables)
    }

    /// Evaluates gates with these numbers on the active labels of their operands: `left` are the left ones,
    /// `short` the compressions of left and right ones. `tables` are the rows of all gates. Returns the labels
    /// that come out, active ones of good gates.
    ///
    /// # Panics
    /// If a gate has a greater number than said, or there are not as many labels.
    pub fn evaluate(&self, gates: &[u32], left: &Words, short: [&[u128]; 2], tables: &Words) -> Words {
        let n = self.blocks;
        assert_eq!(
            (left.count(), short.map(<[u128]>::len)),
            (gates.len(), [gates.len(); 2]),
            "two operands a gate"
        );
        let mut outputs = Words::zeros(left.symbols(), gates.len());
        for start in (0..gates.len()).step_by(SCATTERED) {
            let here = start..gates.len().min(start + SCATTERED);
            let asked = (2 * here.start..2 * here.end)
                .map(|k| (short[k % 2][k / 2], 2 * gates[k / 2] as usize + k % 2));
            let hashes = self.hash.hashes(asked);
            for (k, hashes) in here.zip(hashes.chunks_exact(2 * n)) {
                let gate = gates[k] as usize;
                let [l, r] = short.map(|short| colour(short[k]));
                hashes.chunks_exact(n).for_each(|hash| outputs.add_to(k, hash, 1));
                outputs.add_to(k, tables.word(2 * gate), l);
                outputs.add_to(k, tables.word(2 * gate + 1), r);
                outputs.add_to(k, left.word(k), r);
            }
        }
        outputs
    }
}
