//! Garbled AND gates with labels longer than a block (figure 3, repaired).
//!
//! A label is a word of ℓ bytes of an interactive hash: part of it is watched, so it must be longer than what
//! it hides. What is hashed is its *compression*: its values at 16 points that the code never sends, drawn
//! after the evaluator chose what it watches. These have all the bits that the label hides, up to 128,
//! whatever is watched (`ihash::Code::evaluation`). The paper's random matrix is as good but for some bits on
//! average; its figure hashes the label itself, where the compression is meant.
//!
//! The hash is that of all other garbling here, decision 2 of the design: `H(x, i) = AES_k(y) ⊕ y`, `y = σ(x)
//! ⊕ i`, for as many `i` as a label has blocks. A key serves 2^15 calls at most.
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
//! and one at least is wrong of every gate: `parameters::Level::bound` counts how often that survives. Only Δ
//! = 0 spoils nothing that way, and `buckets::Checks::new` refuses it.

use brickwork_base::label::Label;
use brickwork_base::random::Seed;
use brickwork_kernels::Aes128;
use brickwork_primitives::ihash::{Code, Symbols, Unsent};
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

use crate::cheat::Cheat;

/// Most calls of the hash under one key (decision 2 of the design).
const MAX_CALLS: usize = 1 << 15;

/// Bytes of a block.
const BLOCK: usize = 16;

/// Labels of several blocks each, one after the other. Erased when dropped.
#[derive(Clone)]
pub struct Wide {
    blocks: usize,
    labels: Zeroizing<Vec<u128>>,
}

impl Wide {
    /// Zeros: so many labels of so many blocks.
    pub fn zeros(blocks: usize, count: usize) -> Self {
        Wide { blocks, labels: Zeroizing::new(vec![0; blocks * count]) }
    }

    /// Takes words of a hash as labels.
    ///
    /// # Panics
    /// If a word is no whole number of blocks.
    pub fn of(words: &Symbols) -> Self {
        assert_eq!(words.rows() % BLOCK, 0, "labels of whole blocks");
        let mut labels = Self::zeros(words.rows() / BLOCK, words.count());
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut labels.labels);
        for i in 0..words.rows() {
            bytes.iter_mut().skip(i).step_by(words.rows()).zip(words.row(i)).for_each(|(byte, s)| *byte = *s);
        }
        labels
    }

    /// Takes labels that came in a message, `blocks` blocks each.
    ///
    /// # Panics
    /// If it is no whole number of labels.
    pub fn from_bytes(blocks: usize, bytes: &[u8]) -> Self {
        let mut labels = Self::zeros(blocks, bytes.len() / (BLOCK * blocks));
        bytemuck::cast_slice_mut::<u128, u8>(&mut labels.labels).copy_from_slice(bytes);
        labels
    }

    /// Returns the bytes of all labels, as a message has them.
    pub fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.labels)
    }

    /// Returns the labels with these numbers, in this order.
    pub fn select(&self, numbers: impl ExactSizeIterator<Item = usize>) -> Self {
        let mut selected = Self::zeros(self.blocks, numbers.len());
        let places = selected.labels.chunks_exact_mut(self.blocks);
        places.zip(numbers).for_each(|(place, k)| place.copy_from_slice(self.label(k)));
        selected
    }

    /// Adds other labels, one to each.
    ///
    /// # Panics
    /// If there are not as many, of as many blocks.
    pub fn add_all(&mut self, others: &Wide) {
        assert_eq!((self.blocks, self.labels.len()), (others.blocks, others.labels.len()), "one for each");
        add(&mut self.labels, &others.labels, 1);
    }

    /// Returns these labels as words of a hash.
    pub fn words(&self) -> Symbols {
        let bytes: &[u8] = bytemuck::cast_slice(&self.labels);
        Symbols::of_words(BLOCK * self.blocks, bytes.chunks_exact(BLOCK * self.blocks))
    }

    /// Returns the blocks of all labels.
    pub fn blocks_mut(&mut self) -> &mut [u128] {
        &mut self.labels
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.labels.len() / self.blocks
    }

    /// Returns the blocks of a label.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Returns one label.
    pub fn label(&self, k: usize) -> &[u128] {
        &self.labels[k * self.blocks..][..self.blocks]
    }

    /// Returns one label, to write.
    pub fn label_mut(&mut self, k: usize) -> &mut [u128] {
        &mut self.labels[k * self.blocks..][..self.blocks]
    }

    /// Adds a label to one of them where `bit` is 1, in constant time.
    pub fn add(&mut self, k: usize, label: &[u128], bit: u8) {
        add(self.label_mut(k), label, bit);
    }

    /// Adds two of them to a third, or the first one alone.
    pub fn sum(&mut self, k: usize, [a, b]: [Option<usize>; 2]) {
        for from in [a, b].into_iter().flatten() {
            for block in 0..self.blocks {
                self.labels[k * self.blocks + block] ^= self.labels[from * self.blocks + block];
            }
        }
    }

    /// Returns whether one of them is this label, in constant time.
    pub fn is(&self, k: usize, label: &[u128]) -> Choice {
        self.label(k).ct_eq(label)
    }
}

/// Adds a label where `bit` is 1.
fn add(sum: &mut [u128], label: &[u128], bit: u8) {
    let mask = u128::from(bit & 1).wrapping_neg();
    sum.iter_mut().zip(label).for_each(|(sum, block)| *sum ^= block & mask);
}

/// Labels, each with its compression.
pub struct Labels {
    /// The labels.
    pub wide: Wide,
    /// Their compressions. Erased when dropped.
    pub short: Zeroizing<Vec<Label>>,
}

/// How labels are compressed, and where the keys of the hash come from.
pub struct Garbling {
    code: Code,
    points: Unsent,
    keys: Vec<Aes128>,
    blocks: usize,
}

impl Garbling {
    /// Makes what garbles or evaluates gates `0..gates`. `code` is that of the labels. `points` draws the
    /// compression; its seed is the garbler's, sent when the evaluator has proven what it watches. `start` is
    /// the garbler's as well, sent with the gates.
    ///
    /// # Panics
    /// If a word of the code is no whole number of blocks of bytes.
    pub fn new(code: Code, points: &Seed, start: u128, gates: usize) -> Self {
        let (bits, l) = (code.parameters().bits(), code.parameters().l());
        assert!(bits == 8 && l.is_multiple_of(BLOCK), "labels of whole blocks");
        let points = code.drawn_evaluation(points, BLOCK);
        let blocks = l / BLOCK;
        let key = |chunk: usize| {
            let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 JIMU garbling hash keys");
            hasher.update(&start.to_le_bytes()).update(&(chunk as u64).to_le_bytes());
            let mut key = [0; 16];
            hasher.finalize_xof().fill(&mut key);
            Aes128::new(u128::from_le_bytes(key))
        };
        let keys = (0..gates.div_ceil(gates_of_a_key(blocks))).map(key).collect();
        Garbling { code, points, keys, blocks }
    }

    /// Returns the colour of a single label if these points compress it.
    pub fn colour(code: &Code, points: &Seed, label: &Wide) -> u8 {
        code.at(&code.drawn_evaluation(points, BLOCK), &label.words()).row(0)[0] & 1
    }

    /// Compresses labels.
    pub fn compress(&self, wide: Wide) -> Labels {
        let short = self.code.at(&self.points, &wide.words());
        let label = |k: usize| Label::from_bytes(std::array::from_fn(|i| short.row(i)[k]));
        let short = Zeroizing::new((0..wide.count()).map(label).collect());
        Labels { wide, short }
    }

    /// Hashes two compressed labels, each with its half gate of a gate, into `sums`: two labels.
    fn hash(&self, gate: usize, halves: [(Label, usize); 2], sums: &mut [u128]) {
        let (chunk, place) = (gate / gates_of_a_key(self.blocks), gate % gates_of_a_key(self.blocks));
        for ((x, half), sum) in halves.into_iter().zip(sums.chunks_exact_mut(self.blocks)) {
            let (low, high) = (x.bits() as u64, (x.bits() >> 64) as u64);
            let sigma = u128::from(high ^ low) << 64 | u128::from(high);
            let first = (2 * place + half) * self.blocks;
            sum.iter_mut().zip(first..).for_each(|(block, index)| *block = sigma ^ index as u128);
        }
        let inputs: Zeroizing<Vec<u128>> = Zeroizing::new(sums.to_vec());
        self.keys[chunk].encrypt(sums);
        sums.iter_mut().zip(&*inputs).for_each(|(sum, input)| *sum ^= input);
    }

    /// Garbles gates from number 0 on, with these false labels of their operands; `offset` is one label.
    /// Returns the false labels of their outputs, and the tables: T_G and T_E of each.
    ///
    /// # Panics
    /// If there are more gates than said, or not as many left labels as right ones.
    pub fn garble(&self, offset: &Labels, left: &Labels, right: &Labels) -> (Wide, Wide) {
        let (count, n) = (left.wide.count(), self.blocks);
        assert_eq!(count, right.wide.count(), "two operands a gate");
        let (delta, short) = (offset.wide.label(0), offset.short[0]);
        let (mut outputs, mut tables) = (Wide::zeros(n, count), Wide::zeros(n, 2 * count));
        let mut hashes = Zeroizing::new(vec![0; 4 * n]);
        for gate in 0..count {
            let (l, r) = (left.short[gate], right.short[gate]);
            let (here, other) = hashes.split_at_mut(2 * n);
            self.hash(gate, [(l, 0), (r, 1)], here);
            self.hash(gate, [(l ^ short, 0), (r ^ short, 1)], other);
            let (hl, hr) = here.split_at(n);
            for (half, sum) in here.chunks_exact(n).zip(other.chunks_exact(n)).enumerate() {
                let table = tables.label_mut(2 * gate + half);
                add(table, sum.0, 1);
                add(table, sum.1, 1);
            }
            add(tables.label_mut(2 * gate), delta, r.colour());
            add(tables.label_mut(2 * gate + 1), left.wide.label(gate), 1);
            outputs.add(gate, hl, 1);
            outputs.add(gate, hr, 1);
            outputs.add(gate, tables.label(2 * gate), l.colour());
            outputs.add(gate, tables.label(2 * gate + 1), r.colour());
            outputs.add(gate, left.wide.label(gate), r.colour());
        }
        (outputs, tables)
    }

    /// Evaluates gates with these numbers on the active labels of their operands. `tables` are theirs, in the
    /// order of `gates`. Returns the labels that come out, active ones of good gates.
    ///
    /// # Panics
    /// If a gate has a greater number than said, or there are not as many labels and tables.
    pub fn evaluate(&self, gates: &[u32], left: &Labels, right: &Labels, tables: &Wide) -> Wide {
        let (count, n) = (gates.len(), self.blocks);
        assert_eq!((left.wide.count(), right.wide.count(), tables.count()), (count, count, 2 * count));
        let mut outputs = Wide::zeros(n, count);
        let mut hashes = Zeroizing::new(vec![0; 2 * n]);
        for (k, &gate) in gates.iter().enumerate() {
            let (l, r) = (left.short[k], right.short[k]);
            self.hash(gate as usize, [(l, 0), (r, 1)], &mut hashes);
            hashes.chunks_exact(n).for_each(|hash| outputs.add(k, hash, 1));
            outputs.add(k, tables.label(2 * k), l.colour());
            outputs.add(k, tables.label(2 * k + 1), r.colour());
            outputs.add(k, left.wide.label(k), r.colour());
        }
        outputs
    }

    /// Checks opened gates (section 5.1, step 4(c)): on these labels of their operands they must give these.
    /// That all labels are the hashed ones of the bits that were asked for is checked before.
    ///
    /// # Errors
    /// [`Cheat::OpenedGate`] if one gives another.
    ///
    /// # Panics
    /// As [`Garbling::evaluate`], or if there are not as many expected ones.
    pub fn check(
        &self,
        gates: &[u32],
        left: &Labels,
        right: &Labels,
        tables: &Wide,
        expected: &Wide,
    ) -> Result<(), Cheat> {
        assert_eq!(expected.count(), gates.len(), "an output for each gate");
        let outputs = self.evaluate(gates, left, right, tables);
        if outputs.labels.ct_eq(&expected.labels).into() { Ok(()) } else { Err(Cheat::OpenedGate) }
    }
}

/// Gates that share a key: each takes four hashes of so many calls.
fn gates_of_a_key(blocks: usize) -> usize {
    MAX_CALLS / (4 * blocks)
}

#[cfg(test)]
pub(crate) mod tests {
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;

    use super::*;
    use crate::parameters::{FIGURE_7, Level};

    /// Gates with an offset, and the false labels of their operands.
    pub(crate) struct Garbled {
        pub garbling: Garbling,
        pub offset: Labels,
        pub left: Wide,
        pub right: Wide,
        pub outputs: Wide,
        pub tables: Wide,
    }

    pub(crate) fn random(blocks: usize, count: usize, rng: &mut Rng) -> Wide {
        let mut wide = Wide::zeros(blocks, count);
        rng.fill(bytemuck::cast_slice_mut(&mut wide.labels));
        wide
    }

    /// A label whose compression has this colour.
    fn coloured(garbling: &Garbling, colour: u8, rng: &mut Rng) -> Labels {
        loop {
            let label = garbling.compress(random(garbling.blocks, 1, rng));
            if label.short[0].colour() == colour {
                return label;
            }
        }
    }

    pub(crate) fn garbled(level: &Level, count: usize, colour: u8, rng: &mut Rng) -> Garbled {
        let garbling = Garbling::new(Code::new(&level.labels), &rng.seed(), rng.block(), count);
        let offset = coloured(&garbling, colour, rng);
        let (left, right) = (random(garbling.blocks, count, rng), random(garbling.blocks, count, rng));
        let (l, r) = (garbling.compress(left.clone()), garbling.compress(right.clone()));
        let (outputs, tables) = garbling.garble(&offset, &l, &r);
        Garbled { garbling, offset, left, right, outputs, tables }
    }

    impl Garbled {
        /// Returns the labels of bit `bit`.
        pub fn active(&self, labels: &Wide, bit: u8) -> Wide {
            let mut labels = labels.clone();
            (0..labels.count()).for_each(|k| labels.add(k, self.offset.wide.label(0), bit));
            labels
        }

        /// Returns of each gate how many of the four outputs are wrong.
        pub fn wrong(&self, tables: &Wide) -> Vec<u32> {
            let gates: Vec<u32> = (0..self.left.count() as u32).collect();
            let mut wrong = vec![0; gates.len()];
            for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let l = self.garbling.compress(self.active(&self.left, a));
                let r = self.garbling.compress(self.active(&self.right, b));
                let outputs = self.garbling.evaluate(&gates, &l, &r, tables);
                let expected = self.active(&self.outputs, a & b);
                for (k, wrong) in wrong.iter_mut().enumerate() {
                    *wrong += u32::from(!bool::from(outputs.is(k, expected.label(k))));
                }
            }
            wrong
        }
    }

    fn levels() -> Vec<Level> {
        [40, 64, 80].map(|security| Level::of(security).unwrap()).into_iter().chain(FIGURE_7).collect()
    }

    #[test]
    fn gates_compute_and() {
        let mut rng = Rng::replayable("test gates");
        for level in levels() {
            // More than one key serves.
            let garbled = garbled(&level, 3000, 1, &mut rng);
            assert!(garbled.garbling.keys.len() <= 1 + 3000 / 2000);
            assert!(garbled.wrong(&garbled.tables).iter().all(|&wrong| wrong == 0));
        }
    }

    #[test]
    fn no_key_serves_more_calls_than_allowed() {
        for blocks in 2..=4 {
            assert!(gates_of_a_key(blocks) * 4 * blocks <= MAX_CALLS);
        }
    }

    /// Lemma 5.3: whatever the tables and the hashed output are, one wrong row is never alone.
    #[test]
    fn row_05_a_bad_gate_has_two_wrong_rows_at_least() {
        let mut rng = Rng::replayable("test bad gates");
        let level = Level::of(40).unwrap();
        let mut garbled = garbled(&level, 600, 1, &mut rng);
        let mut tables = garbled.tables.clone();
        let offset = garbled.offset.wide.label(0).to_vec();
        let noise = random(offset.len(), 600, &mut rng);
        for k in 0..600 {
            // A row off, by anything or by the offset, which flips what comes out; or another output hashed.
            let by = if k % 2 == 0 { &offset } else { noise.label(k) };
            match k / 2 % 4 {
                0 => tables.add(2 * k, by, 1),
                1 => tables.add(2 * k + 1, by, 1),
                2 => garbled.outputs.add(k, by, 1),
                _ => {
                    tables.add(2 * k, by, 1);
                    garbled.outputs.add(k, noise.label(599 - k), 1);
                }
            }
        }
        let wrong = garbled.wrong(&tables);
        assert!(wrong.iter().all(|&wrong| wrong >= 2), "{wrong:?}");
        assert!(wrong.contains(&2) && wrong.contains(&4));
    }

    /// An offset of colour 0: the lemma does not hold, and no gate is right.
    #[test]
    fn row_06_an_offset_of_colour_0_spoils_a_row_of_every_gate() {
        let mut rng = Rng::replayable("test colour");
        let garbled = garbled(&Level::of(40).unwrap(), 500, 0, &mut rng);
        assert!(garbled.wrong(&garbled.tables).iter().all(|&wrong| wrong >= 1));
    }

    #[test]
    fn labels_are_words_there_and_back() {
        let mut rng = Rng::replayable("test labels");
        let labels = random(3, 37, &mut rng);
        let again = Wide::of(&labels.words());
        assert!((0..37).all(|k| bool::from(again.is(k, labels.label(k)))));
        assert_eq!((again.count(), again.blocks()), (37, 3));
    }

    /// Whoever has a false label's compression and an active one has the offset's.
    #[test]
    fn what_is_compressed_is_erased() {
        fn erased(_: &impl zeroize::ZeroizeOnDrop) {}
        let mut rng = Rng::replayable("test erased");
        let garbled = garbled(&Level::of(40).unwrap(), 3, 1, &mut rng);
        let Labels { wide, short } = garbled.garbling.compress(garbled.left);
        erased(&wide.labels);
        erased(&short);
        let code = Code::new(&Level::of(40).unwrap().permutations);
        let rho = Symbols::zeros(code.parameters().l(), 3);
        erased(&crate::buckets::permutation_bits(&code, &code.drawn_evaluation(&rng.seed(), 1), &rho));
    }

    /// Compression is linear: that of an active label differs from the false one's by that of the offset.
    #[test]
    fn compressions_add_up() {
        let mut rng = Rng::replayable("test compression");
        let garbled = garbled(&Level::of(40).unwrap(), 20, 1, &mut rng);
        let [zero, one] =
            [0, 1].map(|bit| garbled.garbling.compress(garbled.active(&garbled.left, bit)).short);
        assert!(zero.iter().zip(&*one).all(|(&zero, &one)| zero ^ one == garbled.offset.short[0]));
        assert_eq!(garbled.offset.short[0].colour(), 1);
    }
}
