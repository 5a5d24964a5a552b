//! Random combinations of words.

use brickwork_base::random::{Rng, Seed};
use brickwork_base::stop::look;
use brickwork_kernels::{SymbolFactors, add_scaled};
use zeroize::Zeroizing;

use super::field::Field;
use super::words::Words;

/// A combination adds up the words in 64 sums first: each 64 consecutive words share a coefficient. Then it
/// adds up the 64 sums, each with a coefficient of its own. So a combination of words that are not all 0 is 0
/// with probability 2·2^-σ at most.
const FOLDED: usize = 64;

/// The number of terms that are added before the code looks whether it must stop.
const TERMS_AT_ONCE: usize = 1 << 9;

/// Blocks in the widest register.
const REGISTER: usize = 4;

/// The source of the coefficients of random combinations.
pub(super) struct Coefficients {
    rng: Rng,
    field: Field,
    scale: SymbolFactors,
    number: usize,
}

impl Coefficients {
    pub(super) fn expand(seed: &Seed, field: Field, number: usize) -> Self {
        let rng = Rng::expand(seed, "brickwork interactive hash combinations");
        Coefficients { rng, field, scale: field.scale(), number }
    }

    /// Adds one combination of `words` to each of `sums`, with the coefficients `at`.
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

    /// Draws the coefficients for this many words: for each combination, one coefficient per 64 words and one
    /// for each of the 64 sums.
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

    /// Adds one combination of `words` to each of `sums`, with the next coefficients. `others` has as many
    /// words, of another length; they are combined with the same coefficients into sums of their own.
    ///
    /// # Panics
    /// If the number of sums differs from the number of combinations, or the two lists of words differ in
    /// length.
    pub(super) fn combine(&mut self, words: &Words, sums: &mut Words, others: Option<(&Words, &mut Words)>) {
        assert_eq!(sums.count(), self.number, "each combination must have a sum");
        let at = self.draw(words.count());
        self.add(&at, words, sums);
        if let Some((others, sums)) = others {
            assert_eq!(
                (others.count(), sums.count()),
                (words.count(), self.number),
                "both lists must have the same length"
            );
            self.add(&at, others, sums);
        }
    }
}
