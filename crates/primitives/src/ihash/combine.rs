//! Random combinations of words.

use brickwork_base::random::{Rng, Seed};
use brickwork_base::stop::look;
use brickwork_kernels::{Scale, add_scaled};
use zeroize::Zeroizing;

use super::field::Field;
use super::words::Words;

/// Words that are first added up with coefficients of their own: every 64th has the same, and then each of
/// the 64 sums has another. So a combination of words that are not all 0 is 0 with probability 2·2^-σ at
/// most.
const FOLDED: usize = 64;

/// The number of terms of these sums that are added between two checks for a stop.
const TERMS_AT_ONCE: usize = 1 << 9;

/// Blocks in the widest register.
const REGISTER: usize = 4;

/// Where the coefficients of combinations come from.
pub(super) struct Coefficients {
    rng: Rng,
    field: Field,
    scale: Scale,
    number: usize,
}

impl Coefficients {
    /// Expands a seed to this many combinations.
    pub(super) fn expand(seed: &Seed, field: Field, number: usize) -> Self {
        let rng = Rng::expand(seed, "brickwork interactive hash combinations");
        Coefficients { rng, field, scale: field.scale(), number }
    }

    /// Adds to each of `sums`, one for each combination, the combination of these words, each with the next
    /// coefficients. Words that are added with the same `at` have the same ones.
    fn add(&self, at: &[[Vec<u8>; 2]], words: &Words, sums: &mut Words) {
        let blocks = words.blocks();
        let lanes: Vec<Vec<u8>> = at.iter().map(|lists| lists[1].clone()).collect();
        let mut folded = Zeroizing::new(vec![0; self.number * FOLDED * blocks]);
        let some = (TERMS_AT_ONCE * FOLDED * blocks).max(1);
        for (k, words) in words.data().chunks(some).enumerate() {
            look();
            let terms = words.len().div_ceil(FOLDED * blocks);
            let here = k * TERMS_AT_ONCE..k * TERMS_AT_ONCE + terms;
            let chunks: Vec<Vec<u8>> = at.iter().map(|lists| lists[0][here.clone()].to_vec()).collect();
            add_scaled(&self.scale, &chunks, words, FOLDED * blocks, &mut folded);
        }
        let wide = blocks.next_multiple_of(REGISTER);
        let mut padded = Zeroizing::new(vec![0; FOLDED * wide]);
        let mut sum = Zeroizing::new(vec![0; wide]);
        for (v, folded) in folded.chunks_exact((FOLDED * blocks).max(1)).enumerate() {
            look();
            padded.chunks_exact_mut(wide).zip(folded.chunks_exact(blocks)).for_each(|(to, from)| {
                to[..blocks].copy_from_slice(from);
            });
            sum.fill(0);
            add_scaled(&self.scale, &lanes[v..=v], &padded, wide, &mut sum);
            sums.add_to(v, &sum[..blocks], 1);
        }
    }

    /// Draws the coefficients of this many words: for each combination one per 64 words, and one for each of
    /// the 64 sums.
    fn draw(&mut self, count: usize) -> Vec<[Vec<u8>; 2]> {
        let mask = self.field.mask();
        let mut list = |length: usize| {
            let mut coefficients = vec![0; length];
            self.rng.fill(&mut coefficients);
            coefficients.iter_mut().for_each(|x| *x &= mask);
            coefficients
        };
        (0..self.number).map(|_| [list(count.div_ceil(FOLDED)), list(FOLDED)]).collect()
    }

    /// Adds to `sums` the combinations of these words, one to each, with the next coefficients; `others` adds
    /// those of as many words that go with these, with the same ones, to sums of their own.
    ///
    /// # Panics
    /// If there are not as many sums as combinations, or not as many words of either.
    pub(super) fn combine(&mut self, words: &Words, sums: &mut Words, others: Option<(&Words, &mut Words)>) {
        assert_eq!(sums.count(), self.number, "a sum for each combination");
        let at = self.draw(words.count());
        self.add(&at, words, sums);
        if let Some((others, sums)) = others {
            assert_eq!(
                (others.count(), sums.count()),
                (words.count(), self.number),
                "words that go together"
            );
            self.add(&at, others, sums);
        }
    }
}
