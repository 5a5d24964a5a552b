//! Garbled AND gates with labels longer than a block (figure 3, repaired).
//!
//! A label is a word of ℓ bytes of an interactive hash. The evaluator watches some of its symbols, so a label
//! must be longer than the part of it that must stay hidden. The input of the hash function is the label's
//! *compression*: its values at 16 points that the code never sends, drawn after the evaluator chose the
//! symbols that it watches. For any watched symbols, the compression contains all bits of the label that stay
//! hidden, up to 128 (`ihash::Code::evaluation`). The paper's random matrix would lose some bits on average.
//! The figure also hashes the label itself, but the paper's text means the compression.
//!
//! ```text
//!   T_G = H(l, j) ⊕ H(l ⊕ Δ, j) ⊕ c(r)·Δ           T_E = H(r, j') ⊕ H(r ⊕ Δ, j') ⊕ l
//!   o   = H(l, j) ⊕ c(l)·T_G ⊕ H(r, j') ⊕ c(r)·(T_E ⊕ l)
//! ```
//!
//! where l, r, o are false labels, and c is the colour, the lowest bit of the compression. The evaluator
//! computes the last line of each row on active labels.
//!
//! # Two wrong rows
//!
//! The four outputs of arbitrary tables, on the four pairs of labels, add up to `(c(r) ⊕ c(r ⊕ Δ))·Δ`,
//! because all other terms occur twice. That is Δ if Δ has colour 1, and so is the sum of the four outputs of
//! AND. So if three outputs are right, the fourth is right, too. A bad gate therefore has at least two wrong
//! outputs. Opening one row detects a bad gate with probability 1/2 (lemma 5.3, whose proof in the paper
//! needs more than this). If Δ has colour 0, the outputs add up to 0, and at least one output of every gate
//! is wrong: `parameters::Level::of_copies` bounds how often such gates stay undetected. With Δ = 0, no
//! output would be wrong, so `buckets::Checks::new` refuses it.

use brickwork_kernels::SecretBlocks;
use brickwork_primitives::ihash::{SymbolCode, Unsent, Words};
use zeroize::Zeroizing;

use crate::hash::LabelHash;

/// The number of gates whose labels are hashed at a time: at the garbler, and at the evaluator if the gates
/// use different keys.
const TOGETHER: usize = 64;
pub(crate) const GATES_AT_ONCE: usize = 1 << 7;

/// Labels, each with its compression.
#[derive(Clone)]
pub struct CompressedLabels {
    /// The labels, `[label][symbol]`.
    pub wide: Words,
    /// The compressions of these labels.
    pub short: Zeroizing<Vec<u128>>,
}

impl CompressedLabels {
    /// Compresses labels at these points, as many as a block has symbols.
    ///
    /// # Panics
    /// If the labels are not words of this code.
    pub fn new(code: &SymbolCode, compression: &Unsent, wide: Words) -> Self {
        CompressedLabels { short: compressed(code, compression, &wide), wide }
    }
}

/// Returns the compressions of labels.
///
/// # Panics
/// If the labels are not words of this code.
pub fn compressed(code: &SymbolCode, compression: &Unsent, wide: &Words) -> Zeroizing<Vec<u128>> {
    first_blocks(&code.at(compression, wide))
}

/// Returns the first block of each word: the compressions of labels, given by their values at all opening
/// points.
pub fn first_blocks(words: &Words) -> Zeroizing<Vec<u128>> {
    let blocks = words.blocks().max(1);
    Zeroizing::new(words.data().iter().step_by(blocks).copied().collect())
}

/// The number of blocks of the values that open a label. The hidden part of a label has more bytes than one
/// block, and at most as many as two.
pub const VALUES: usize = 2;

/// Returns the blocks of the values that open label `k`.
pub fn values_of(values: &Words, k: usize) -> [u128; VALUES] {
    *values.word(k).first_chunk().expect("an opening of a label has VALUES blocks")
}

/// Returns the colour of a compressed label.
pub fn colour(short: u128) -> u8 {
    short as u8 & 1
}

/// The keys for hashing gates.
pub struct GateHashKeys {
    start: u128,
    hash: LabelHash,
    blocks: usize,
}

impl GateHashKeys {
    /// Makes the keys for garbling or evaluating gates `0..gates`, if labels have this many blocks. The
    /// garbler chooses `start`, and sends it with the gates.
    ///
    /// # Panics
    /// If labels do not have two to four blocks.
    pub fn new(start: u128, gates: usize, blocks: usize) -> Self {
        assert!((2..=4).contains(&blocks), "{OF_BLOCKS}");
        let hash = LabelHash::new("brickwork 2026-11 JIMU garbling hash keys", start, 2 * gates, blocks);
        GateHashKeys { start, hash, blocks }
    }

    /// Returns the start of the hash keys.
    pub fn start(&self) -> u128 {
        self.start
    }

    /// Garbles gates from number `first` on. `operands` has the false labels of their operands,
    /// `[gate][operand]`, and `offset` is a single label. Returns the false labels of their outputs, and the
    /// rows T_G and T_E of each gate.
    ///
    /// # Panics
    /// If there are more gates than were announced, or an operand is missing.
    pub fn garble(
        &self,
        first: usize,
        offset: &CompressedLabels,
        operands: &CompressedLabels,
    ) -> (Words, Words) {
        assert_eq!((operands.wide.count() % 2, operands.wide.count()), (0, operands.short.len()));
        match self.blocks {
            2 => self.garble_of::<2>(first, offset, operands),
            3 => self.garble_of::<3>(first, offset, operands),
            4 => self.garble_of::<4>(first, offset, operands),
            _ => unreachable!("{OF_BLOCKS}"),
        }
    }

    fn garble_of<const N: usize>(
        &self,
        first: usize,
        offset: &CompressedLabels,
        operands: &CompressedLabels,
    ) -> (Words, Words) {
        let CompressedLabels { wide, short } = operands;
        let (delta, short_delta) = (block_of::<N>(&offset.wide, 0), offset.short[0]);
        let (symbols, count) = (wide.symbols(), short.len() / 2);
        let (mut outputs, mut tables) = (Words::zeros(symbols, count), Words::zeros(symbols, 2 * count));
        let mut asked = SecretBlocks::with_capacity(4 * TOGETHER);
        let mut hashes = SecretBlocks::<u128>::zeros(4 * N * TOGETHER.min(count));
        let rows = tables.data_mut().as_chunks_mut::<N>().0.as_chunks_mut::<2>().0;
        let results = outputs.data_mut().as_chunks_mut::<N>().0.iter_mut().zip(rows);
        let lefts = wide.data().as_chunks::<N>().0.as_chunks::<2>().0;
        let mut gates = results.zip(lefts).zip(short.as_chunks::<2>().0);
        for start in (0..count).step_by(TOGETHER) {
            let here = TOGETHER.min(count - start);
            // The labels to hash: both labels of each operand.
            asked.clear();
            asked.extend(
                (4 * start..4 * (start + here))
                    .map(|k| (short[k / 2] ^ (short_delta & mask(k as u8 & 1)), 2 * first + k / 2)),
            );
            let hashes = &mut hashes[..4 * N * here];
            self.hash.hash::<N>(&asked, hashes);
            let hashes = hashes.as_chunks::<N>().0.as_chunks::<4>().0;
            for ([l, other_l, r, other_r], (((output, rows), [left, _]), short)) in
                hashes.iter().zip(&mut gates)
            {
                let [of_l, of_r] = short.map(|short| mask(colour(short)));
                for k in 0..N {
                    let row = l[k] ^ other_l[k] ^ (delta[k] & of_r);
                    let right = r[k] ^ other_r[k];
                    (rows[0][k], rows[1][k]) = (row, right ^ left[k]);
                    output[k] = l[k] ^ r[k] ^ (row & of_l) ^ (right & of_r);
                }
            }
        }
        (outputs, tables)
    }

    /// Evaluates gates with these numbers on the compressed active labels of their operands,
    /// `[gate][operand]`. `tables` has the rows of gates, and `at` returns the index of a gate's rows.
    /// Overwrites `outputs`, `[gate][block]`. The caller must still add the left labels ([`add_lefts`]).
    /// After that, the outputs are the resulting labels, which are active if a gate is good. `room` is a
    /// buffer for the hashes.
    ///
    /// # Panics
    /// If a number is too large, or there are too few labels or rows.
    pub fn evaluate(
        &self,
        gates: &[u32],
        short: &[[u128; 2]],
        tables: &Words,
        at: impl Fn(usize) -> usize,
        (room, outputs): (&mut LabelBuffer, &mut [u128]),
    ) {
        assert_eq!(gates.len(), short.len(), "each gate must have two operands");
        match self.blocks {
            2 => self.evaluate_of::<2>(gates, short, tables, at, (room, outputs)),
            3 => self.evaluate_of::<3>(gates, short, tables, at, (room, outputs)),
            4 => self.evaluate_of::<4>(gates, short, tables, at, (room, outputs)),
            _ => unreachable!("{OF_BLOCKS}"),
        }
    }

    /// Implements [`GateHashKeys::evaluate`] for labels of N blocks.
    fn evaluate_of<const N: usize>(
        &self,
        gates: &[u32],
        short: &[[u128; 2]],
        tables: &Words,
        at: impl Fn(usize) -> usize,
        (LabelBuffer { asked, hashes }, outputs): (&mut LabelBuffer, &mut [u128]),
    ) {
        let rows = tables.data().as_chunks::<N>().0.as_chunks::<2>().0;
        let outputs = outputs.as_chunks_mut::<N>().0;
        assert_eq!(gates.len(), outputs.len(), "each gate must have a label");
        let (mut all, mut first) = (outputs.iter_mut().zip(short), 0);
        hashes.resize(2 * N * GATES_AT_ONCE, 0);
        for gates in gates.chunks(GATES_AT_ONCE) {
            let here = &short[first..first + gates.len()];
            asked.clear();
            asked.extend(
                gates
                    .iter()
                    .zip(here)
                    .flat_map(|(&gate, short)| [0, 1].map(|side| (short[side], 2 * gate as usize + side))),
            );
            let hashes = &mut hashes[..2 * N * gates.len()];
            self.hash.hash::<N>(asked, hashes);
            for ((k, [l, r]), (output, short)) in
                (first..).zip(hashes.as_chunks::<N>().0.as_chunks::<2>().0).zip(&mut all)
            {
                let rows = &rows[at(k)];
                let [of_l, of_r] = short.map(|short| mask(colour(short)));
                *output = std::array::from_fn(|k| l[k] ^ r[k] ^ (rows[0][k] & of_l) ^ (rows[1][k] & of_r));
            }
            first += gates.len();
        }
    }
}

/// Adds the left label to each result of [`GateHashKeys::evaluate`] whose right label has colour 1 by its
/// compression. Results and left labels may be in any form.
///
/// # Panics
/// If the numbers differ.
pub fn add_lefts(outputs: &mut Words, left: &Words, short: &[[u128; 2]]) {
    let colours: Zeroizing<Vec<u8>> = Zeroizing::new(short.iter().map(|&[_, right]| colour(right)).collect());
    outputs.add_each(left, &colours);
}

/// A buffer for hashing labels. A caller that evaluates few gates at a time reuses it.
pub struct LabelBuffer {
    asked: SecretBlocks<(u128, usize)>,
    hashes: SecretBlocks<u128>,
}

impl Default for LabelBuffer {
    /// Allocates the buffer with its full size, so that it does not grow and leave copies behind.
    fn default() -> Self {
        LabelBuffer { asked: SecretBlocks::with_capacity(2 * GATES_AT_ONCE), hashes: SecretBlocks::default() }
    }
}

/// The message for labels of any other length.
pub(crate) const OF_BLOCKS: &str = "a label must have two, three or four blocks";

/// Returns all ones for 1, and zeros for 0. The `black_box` hides from the compiler that there are only two
/// values. Otherwise it would split a loop that uses the mask, and the loop's time would reveal the bit, as
/// `cargo xtask constant-time` has shown.
pub(crate) fn mask(bit: u8) -> u128 {
    std::hint::black_box(u128::from(bit).wrapping_neg())
}

fn block_of<const N: usize>(words: &Words, k: usize) -> [u128; N] {
    words.data().as_chunks::<N>().0[k]
}

#[cfg(test)]
mod tests {
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;

    use super::*;
    use crate::parameters::{FIGURE_7, HashLevel};

    /// Gates with an offset, and the false labels of their operands, `[gate][operand]`.
    struct Garbled {
        code: SymbolCode,
        compression: Unsent,
        garbling: GateHashKeys,
        offset: CompressedLabels,
        operands: Words,
        outputs: Words,
        tables: Words,
    }

    fn garbled(level: &HashLevel, count: usize, of_offset: u8, rng: &mut Rng) -> Garbled {
        let (code, symbols) = (SymbolCode::new(&level.labels), level.labels.l());
        let compression = code.seeded_evaluation(&rng.seed(), crate::parameters::COMPRESSED);
        let garbling = GateHashKeys::new(rng.block(), count, level.blocks());
        let offset = loop {
            let offset = CompressedLabels::new(&code, &compression, Words::random(symbols, 1, rng));
            if colour(offset.short[0]) == of_offset {
                break offset;
            }
        };
        let operands = Words::random(symbols, 2 * count, rng);
        let labels = CompressedLabels::new(&code, &compression, operands.clone());
        let (outputs, tables) = garbling.garble(0, &offset, &labels);
        Garbled { code, compression, garbling, offset, operands, outputs, tables }
    }

    impl Garbled {
        fn count(&self) -> usize {
            self.outputs.count()
        }

        /// Returns the labels of bit `bit` of an operand, or of the output.
        fn active(&self, labels: &Words, bit: u8) -> Words {
            let mut labels = labels.clone();
            labels.add_where(self.offset.wide.word(0), &vec![bit; labels.count()]);
            labels
        }

        fn operand(&self, side: usize, bit: u8) -> CompressedLabels {
            let labels = self.operands.select((0..self.count()).map(|k| 2 * k + side));
            CompressedLabels::new(&self.code, &self.compression, self.active(&labels, bit))
        }

        /// Returns for each gate the number of wrong outputs among four.
        fn wrong(&self, outputs: &Words, tables: &Words) -> Vec<u32> {
            // Evaluates the gates in an order that differs from the order of garbling.
            let gates: Vec<u32> = (0..self.count() as u32).rev().collect();
            let numbers = || gates.iter().map(|&gate| gate as usize);
            let mut wrong = vec![0; gates.len()];
            for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let [l, r] = [(0, a), (1, b)].map(|(side, bit)| self.operand(side, bit));
                let short: Vec<[u128; 2]> = numbers().map(|k| [l.short[k], r.short[k]]).collect();
                let left = l.wide.select(numbers());
                let mut results = Words::zeros(left.symbols(), gates.len());
                let to = (&mut LabelBuffer::default(), results.data_mut());
                self.garbling.evaluate(&gates, &short, tables, |k| gates[k] as usize, to);
                add_lefts(&mut results, &left, &short);
                let expected = self.active(outputs, a & b);
                for (k, gate) in numbers().enumerate() {
                    wrong[gate] += u32::from(!bool::from(results.is(k, expected.word(gate))));
                }
            }
            wrong
        }
    }

    #[test]
    fn gates_compute_and() {
        let mut rng = Rng::replayable("test gates");
        let levels =
            [40, 64, 80].map(|security| HashLevel::of(security).unwrap()).into_iter().chain(FIGURE_7);
        for level in levels {
            // More than one key is used.
            let garbled = garbled(&level, 6000, 1, &mut rng);
            assert!(garbled.wrong(&garbled.outputs, &garbled.tables).iter().all(|&wrong| wrong == 0));
        }
    }

    /// Gates that are garbled in several parts are the same as gates that are garbled at once.
    #[test]
    fn parts_are_garbled_alike() {
        let mut rng = Rng::replayable("test parts");
        let all = garbled(&HashLevel::of(64).unwrap(), 150, 1, &mut rng);
        for (first, end) in [(0, 70), (70, 150)] {
            let operands = all.operands.range(2 * first..2 * end);
            let operands = CompressedLabels::new(&all.code, &all.compression, operands);
            let (outputs, tables) = all.garbling.garble(first, &all.offset, &operands);
            assert!(outputs.data() == all.outputs.range(first..end).data());
            assert!(tables.data() == all.tables.range(2 * first..2 * end).data());
        }
    }

    /// Lemma 5.3: for any tables and any hashed output, there is never exactly one wrong row.
    #[test]
    fn row_05_a_bad_gate_has_two_wrong_rows_at_least() {
        let mut rng = Rng::replayable("test bad gates");
        let garbled = garbled(&HashLevel::of(40).unwrap(), 600, 1, &mut rng);
        let (mut tables, mut outputs) = (garbled.tables.clone(), garbled.outputs.clone());
        let noise = Words::random(outputs.symbols(), 600, &mut rng);
        for k in 0..600 {
            // The test changes a row by any value, or by the offset, which flips the result. Or it hashes
            // another output.
            let by = if k % 2 == 0 { garbled.offset.wide.word(0) } else { noise.word(k) };
            match k / 2 % 4 {
                0 => tables.add_to(2 * k, by, 1),
                1 => tables.add_to(2 * k + 1, by, 1),
                2 => outputs.add_to(k, by, 1),
                _ => {
                    tables.add_to(2 * k, by, 1);
                    outputs.add_to(k, noise.word(599 - k), 1);
                }
            }
        }
        let wrong = garbled.wrong(&outputs, &tables);
        assert!(wrong.iter().all(|&wrong| wrong >= 2), "{wrong:?}");
        assert!(wrong.contains(&2) && wrong.contains(&4));
    }

    /// With an offset of colour 0 the lemma does not hold, and every gate has a wrong row.
    #[test]
    fn row_06_an_offset_of_colour_0_spoils_a_row_of_every_gate() {
        let mut rng = Rng::replayable("test colour");
        let garbled = garbled(&HashLevel::of(40).unwrap(), 500, 0, &mut rng);
        assert!(garbled.wrong(&garbled.outputs, &garbled.tables).iter().all(|&wrong| wrong >= 1));
    }

    /// Compression is linear: the sum of the compressions of a false and a true label is the compression of
    /// the offset.
    #[test]
    fn compressions_add_up() {
        let mut rng = Rng::replayable("test compression");
        let garbled = garbled(&HashLevel::of(40).unwrap(), 20, 1, &mut rng);
        let [zero, one] = [0, 1].map(|bit| garbled.operand(0, bit).short);
        assert!(zero.iter().zip(&*one).all(|(&zero, &one)| zero ^ one == garbled.offset.short[0]));
        assert_eq!(colour(garbled.offset.short[0]), 1);
    }

    /// The compressions are erased, because the compressions of a false and of an active label together
    /// reveal the offset's compression.
    #[test]
    fn what_is_compressed_is_erased() {
        fn erased(_: &impl zeroize::ZeroizeOnDrop) {}
        let mut rng = Rng::replayable("test erased");
        let garbled = garbled(&HashLevel::of(40).unwrap(), 3, 1, &mut rng);
        erased(&garbled.operand(1, 0).short);
        let code = SymbolCode::new(&HashLevel::of(40).unwrap().permutations);
        let rho = Words::zeros(code.parameters().l(), 3);
        let point = code.seeded_evaluation(&rng.seed(), 1);
        erased(&crate::buckets::permutation_bits(&code, &point, &rho));
    }
}
