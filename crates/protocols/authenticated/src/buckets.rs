//! Triples: layers of leaky ANDs. A coin of both parties determines how the layers are shifted against each
//! other. A bucket takes one leaky AND of each layer. A cheater learns something about the triple of a bucket
//! only if it bet on each of the bucket's leaky ANDs.
//!
//! ```text
//!   x = x_0 + Σ x_k        y = y_0        z = z_0 + Σ (z_k + δ_k·x_k),   δ_k = y_0 + y_k, opened
//! ```

use std::ops::Range;

use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::random::{Rng, Seed};

use crate::leaky::{self, DrawnMasks, Of};
use crate::parameters::{MaskDraws, TriplePool};
use crate::secrets::SecretBlocks;
use crate::setup::SessionState;
use crate::share::{ShareList, ShareView};
use crate::words::{add, add_chosen};

/// The triples of a lot, in buckets, and the lot's other masks.
pub(super) struct Triples {
    drawn: DrawnMasks,
    pool: TriplePool,
    /// The number of leaky ANDs in a full portion.
    each: usize,
    shifts: Vec<usize>,
}

/// Draws the shift of each layer from the coin; the first layer has shift 0.
fn shifts(coin: &Seed, pool: TriplePool) -> Vec<usize> {
    let mut rng = Rng::expand(coin, "brickwork buckets of leaky ANDs");
    (0..pool.bucket).map(|k| if k == 0 { 0 } else { rng.below(pool.size as u64) as usize }).collect()
}

impl Triples {
    /// Makes a lot's leaky ANDs and draws its other masks. `room` is memory of an earlier lot, which is used
    /// again.
    ///
    /// # Errors
    /// As [`leaky::make`].
    pub fn make(
        member: &mut SessionState,
        pool: TriplePool,
        draws: MaskDraws,
        mut room: DrawnMasks,
    ) -> Result<Self, Error> {
        let shifts = if pool.size == 0 {
            leaky::others(member, draws, &mut room)?;
            Vec::new()
        } else {
            shifts(&leaky::make(member, draws, &mut room)?, pool)
        };
        Ok(Triples { drawn: room, pool, each: draws.portion, shifts })
    }

    /// Builds triples from the given leaky ANDs and shifts, for measuring.
    pub fn of(drawn: DrawnMasks, each: usize, pool: TriplePool, shifts: Vec<usize>) -> Self {
        Triples { drawn, pool, each, shifts }
    }

    /// Returns the memory of this lot, for the next lot.
    pub fn room(self) -> DrawnMasks {
        self.drawn
    }

    /// Returns the number of layers: leaky ANDs in a bucket.
    pub fn layers(&self) -> usize {
        self.pool.bucket
    }

    /// Returns the masks that belong to no leaky AND, in order.
    pub fn others(&self) -> impl Iterator<Item = ShareView<'_>> {
        self.drawn.others()
    }

    /// Visits the masks of a layer in these buckets: calls `each` with consecutive masks and the positions of
    /// their buckets.
    fn each(
        &self,
        of: Of,
        layer: usize,
        buckets: Range<usize>,
        mut each: impl FnMut(Range<usize>, ShareView<'_>),
    ) {
        let (size, mut done) = (self.pool.size, 0);
        while done < buckets.len() {
            let shifted = buckets.start + done + self.shifts[layer];
            let place = if shifted < size { shifted } else { shifted - size };
            let number = layer * size + place;
            let (portion, first) = (&self.drawn.portions()[number / self.each], number % self.each);
            let here = (buckets.len() - done).min(size - place).min(portion.draw.leaky - first);
            each(done..done + here, self.drawn.some(portion, of, first..first + here));
            done += here;
        }
    }

    /// Appends words of a layer's masks to `to`.
    fn put(
        &self,
        of: Of,
        layer: usize,
        buckets: Range<usize>,
        list: ShareList,
        to: &mut SecretBlocks<Label>,
    ) {
        self.each(of, layer, buckets, |_, masks| to.extend_from_slice(masks.list(list)));
    }

    /// Adds words of a layer's masks to `to`.
    fn add(&self, of: Of, layer: usize, buckets: Range<usize>, list: ShareList, to: &mut [Label]) {
        self.each(of, layer, buckets, |at, masks| add(&mut to[at], masks.list(list)));
    }

    /// Appends the sums of the words of all layers to `to`.
    fn sums(&self, of: Of, buckets: Range<usize>, list: ShareList, to: &mut SecretBlocks<Label>) {
        if self.layers() > 0 {
            let first = to.len();
            self.put(of, 0, buckets.clone(), list, to);
            (1..self.layers()).for_each(|layer| self.add(of, layer, buckets.clone(), list, &mut to[first..]));
        }
    }

    /// Visits the masks that must be opened before layers can be joined: y of the first layer plus y of each
    /// other layer.
    pub fn differences(&self, buckets: Range<usize>, list: ShareList, each: &mut dyn FnMut(&[Label])) {
        let mut room = SecretBlocks::with_capacity(STRIP);
        for layer in 1..self.layers() {
            for strip in strips(buckets.clone()) {
                room.clear();
                self.put(Of::Y, 0, strip.clone(), list, &mut room);
                self.add(Of::Y, layer, strip, list, &mut room);
                each(&room);
            }
        }
    }

    /// Appends the words of the masks x of these buckets' triples. `to` must have room for them. This also
    /// holds for the following functions. For x and y, no mask needs to be opened.
    pub fn x(&self, buckets: Range<usize>, list: ShareList, to: &mut SecretBlocks<Label>) {
        self.sums(Of::X, buckets, list, to);
    }

    /// Appends words of the masks y.
    pub fn y(&self, buckets: Range<usize>, list: ShareList, to: &mut SecretBlocks<Label>) {
        self.put(Of::Y, 0, buckets, list, to);
    }

    /// Appends words of the products z. `differences` has the opened differences of each layer except the
    /// first.
    pub fn z<'d>(
        &self,
        buckets: Range<usize>,
        differences: impl Fn(usize) -> &'d [u8],
        list: ShareList,
        to: &mut SecretBlocks<Label>,
    ) {
        let first = to.len();
        self.sums(Of::Z, buckets.clone(), list, to);
        let to = &mut to[first..];
        for layer in 1..self.layers() {
            let differences = differences(layer);
            self.each(Of::X, layer, buckets.clone(), |at, x| {
                add_chosen(&mut to[at.clone()], x.list(list), &differences[at]);
            });
        }
    }
}

/// The number of buckets that are processed at a time, so that their results stay in the cache.
pub(super) const STRIP: usize = 1 << 10;

/// Splits a range of buckets into strips.
pub(super) fn strips(places: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = places.end;
    places.step_by(STRIP).map(move |first| first..end.min(first + STRIP))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_testing::Replayable as _;

    /// If a cheater has won one bet in each layer, all of them are in one bucket with probability N^-(B-1).
    /// It does not matter on which leaky ANDs it bet, because all shifts are equally likely.
    /// (`parameters::tests` computes the bound for all strategies.)
    #[test]
    fn row_04_every_shift_is_as_likely() {
        const RUNS: usize = 12_000;
        let mut rng = Rng::replayable("test coins");
        for (size, bucket) in [(2, 3), (5, 2), (3, 3)] {
            let all = usize::pow(size, bucket as u32 - 1);
            let mut seen = vec![0; all];
            for _ in 0..RUNS {
                let shifts = shifts(&rng.seed(), TriplePool { size, bucket });
                assert!(shifts.len() == bucket && shifts[0] == 0);
                seen[shifts[1..].iter().fold(0, |number, shift| number * size + shift)] += 1;
            }
            let (mean, rate) = (RUNS / all, 1.0 / all as f64);
            let deviation = (RUNS as f64 * rate * (1.0 - rate)).sqrt();
            assert!(seen.iter().all(|&n: &usize| n.abs_diff(mean) as f64 <= 4.5 * deviation), "{seen:?}");
        }
    }
}
