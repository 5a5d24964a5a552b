//! The evaluator's challenge: it decides which copies are opened, and to which bucket each other copy
//! belongs.

use super::Bucketing;
use brickwork_base::random::Rng;
use brickwork_base::stop::looking;

/// The outcome of a challenge: the opened copies of a batch, and the bucket of each other copy.
///
/// Both parties draw it from the same public stream, so the peer sends no counts or indices that could be
/// wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchChallenge {
    opened: Vec<u32>,
    kept: Vec<u32>,
    bucket: usize,
}

impl BatchChallenge {
    /// Draws the challenge for a batch with this bucketing. `rng` is [`Rng::expand`]ed from a seed that the
    /// evaluator draws after the garbler is bound to all copies.
    ///
    /// # Panics
    /// If the bucketing has 2^32 copies or more. [`super::Budget`] never returns such a bucketing.
    pub fn draw(rng: &mut Rng, bucketing: &Bucketing) -> Self {
        let copies = u32::try_from(bucketing.copies()).expect("a batch has fewer than 2^32 copies");
        let mut order: Vec<u32> = (0..copies).collect();
        // A Fisher–Yates shuffle makes every order equally likely. So every set of opened copies, and every
        // assignment of the others, is equally likely.
        for i in looking((1..order.len()).rev()) {
            order.swap(i, rng.below(i as u64 + 1) as usize);
        }
        let kept = order.split_off(bucketing.opened as usize);
        order.shrink_to_fit();
        // The order of the opened copies carries no information, so they are sorted and can be read from
        // front to back.
        order.sort_unstable();
        BatchChallenge { opened: order, kept, bucket: bucketing.bucket as usize }
    }

    /// Returns the opened copies, in ascending order.
    pub fn opened(&self) -> &[u32] {
        &self.opened
    }

    /// Returns the copies in the bucket of each slot. The first copy of a bucket is its head.
    pub fn buckets(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.kept.chunks_exact(self.bucket)
    }

    /// Returns the opened copies, in ascending order, and the copies in buckets, slot after slot.
    pub fn into_parts(self) -> (Vec<u32>, Vec<u32>) {
        (self.opened, self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_base::random::Seed;

    fn draw(seed: u8, bucketing: &Bucketing) -> BatchChallenge {
        BatchChallenge::draw(&mut Rng::expand(&Seed::from_bytes([seed; 16]), "test"), bucketing)
    }

    #[test]
    fn row_04_counts_are_those_of_the_cut_and_no_copy_comes_twice() {
        for (slots, bucket, opened) in
            [(1, 1, 0), (1, 11, 56), (128, 7, 273), (0, 3, 0), (0, 3, 5), (5, 3, 0)]
        {
            let bucketing = Bucketing { slots, bucket, opened };
            let challenge = draw(1, &bucketing);
            assert_eq!(challenge.opened().len(), opened as usize);
            assert_eq!(challenge.buckets().len(), slots as usize);
            assert!(challenge.buckets().all(|copies| copies.len() == bucket as usize));
            assert!(challenge.opened().is_sorted());
            let mut all = [challenge.opened(), &challenge.kept].concat();
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..bucketing.copies() as u32));
        }
    }

    #[test]
    fn one_seed_gives_one_challenge() {
        let bucketing = Bucketing { slots: 16, bucket: 3, opened: 20 };
        assert_eq!(draw(1, &bucketing), draw(1, &bucketing));
        assert_ne!(draw(1, &bucketing), draw(2, &bucketing));
    }

    #[test]
    fn every_place_is_equally_likely_for_every_copy() {
        let bucketing = Bucketing { slots: 2, bucket: 2, opened: 3 };
        let mut rng = Rng::expand(&Seed::from_bytes([9; 16]), "test");
        let trials = 70_000;
        let mut counts = [[0_u32; 3]; 7];
        for _ in 0..trials {
            let challenge = BatchChallenge::draw(&mut rng, &bucketing);
            challenge.opened().iter().for_each(|&copy| counts[copy as usize][0] += 1);
            for (slot, copies) in challenge.buckets().enumerate() {
                copies.iter().for_each(|&copy| counts[copy as usize][1 + slot] += 1);
            }
        }
        // The means are 30 000, 20 000 and 20 000, with standard deviations of 131 and 120.
        let fair = |[opened, a, b]: [u32; 3]| {
            opened.abs_diff(30_000) < 655 && a.abs_diff(20_000) < 600 && b.abs_diff(20_000) < 600
        };
        assert!(counts.into_iter().all(fair), "{counts:?}");
    }
}
