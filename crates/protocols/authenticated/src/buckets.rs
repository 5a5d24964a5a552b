//! Triples: layers of leaky ANDs, shifted against each other by coins. A bucket, one leaky AND of each layer,
//! is as good as one of them: all must have been bet on to know anything of its triple.
//!
//! ```text
//!   x = x_0 + Σ x_k        y = y_0        z = z_0 + Σ (z_k + δ_k·x_k),   δ_k = y_0 + y_k, opened
//! ```

use std::ops::Range;

use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::random::{Rng, Seed};

use crate::leaky::{self, Drawn, Of};
use crate::parameters::{Draws, Pool};
use crate::secrets::Secrets;
use crate::setup::Member;
use crate::share::{List, View};
use crate::words::{add, add_chosen};

/// A lot's triples, in buckets, and its other masks.
pub(super) struct Triples {
    drawn: Drawn,
    pool: Pool,
    /// Leaky ANDs of a portion.
    each: usize,
    /// The shift of each layer.
    shifts: Vec<usize>,
}

/// How far the layers are shifted, by this coin: the first one is not.
fn shifts(coin: &Seed, pool: Pool) -> Vec<usize> {
    let mut rng = Rng::expand(coin, "brickwork buckets of leaky ANDs");
    (0..pool.bucket).map(|k| if k == 0 { 0 } else { rng.below(pool.size as u64) as usize }).collect()
}

impl Triples {
    /// Makes a lot's leaky ANDs and draws its other masks, in the room of another lot.
    ///
    /// # Errors
    /// As [`leaky::make`].
    pub fn make(member: &mut Member, pool: Pool, draws: Draws, mut room: Drawn) -> Result<Self, Error> {
        let shifts = if pool.size == 0 {
            leaky::others(member, draws, &mut room)?;
            Vec::new()
        } else {
            shifts(&leaky::make(member, draws, &mut room)?, pool)
        };
        Ok(Triples { drawn: room, pool, each: draws.portion, shifts })
    }

    /// Takes these leaky ANDs with these portions and shifts, for measuring.
    pub fn of(drawn: Drawn, each: usize, pool: Pool, shifts: Vec<usize>) -> Self {
        Triples { drawn, pool, each, shifts }
    }

    /// Gives the room back, for the next lot.
    pub fn room(self) -> Drawn {
        self.drawn
    }

    /// Layers of leaky ANDs.
    pub fn layers(&self) -> usize {
        self.pool.bucket
    }

    /// Returns the masks that are not for triples, in their order.
    pub fn others(&self) -> impl Iterator<Item = View<'_>> {
        self.drawn.others()
    }

    /// Visits the masks of a layer in these buckets: `each` gets adjacent ones, and their position among the
    /// buckets.
    fn each(
        &self,
        of: Of,
        layer: usize,
        buckets: Range<usize>,
        mut each: impl FnMut(Range<usize>, View<'_>),
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

    /// Puts words of a layer's masks behind others.
    fn put(&self, of: Of, layer: usize, buckets: Range<usize>, list: List, to: &mut Secrets<Label>) {
        self.each(of, layer, buckets, |_, masks| to.extend_from_slice(masks.list(list)));
    }

    /// Adds words of a layer's masks to these.
    fn add(&self, of: Of, layer: usize, buckets: Range<usize>, list: List, to: &mut [Label]) {
        self.each(of, layer, buckets, |at, masks| add(&mut to[at], masks.list(list)));
    }

    /// Puts sums of all layers behind others.
    fn sums(&self, of: Of, buckets: Range<usize>, list: List, to: &mut Secrets<Label>) {
        if self.layers() > 0 {
            let first = to.len();
            self.put(of, 0, buckets.clone(), list, to);
            (1..self.layers()).for_each(|layer| self.add(of, layer, buckets.clone(), list, &mut to[first..]));
        }
    }

    /// Visits the openings for joining some buckets: for each layer except the first, the differences of y.
    pub fn differences(&self, buckets: Range<usize>, list: List, each: &mut dyn FnMut(&[Label])) {
        let mut room = Secrets::with_capacity(STRIP);
        for layer in 1..self.layers() {
            for strip in strips(buckets.clone()) {
                room.clear();
                self.put(Of::Y, 0, strip.clone(), list, &mut room);
                self.add(Of::Y, layer, strip, list, &mut room);
                each(&room);
            }
        }
    }

    /// Puts words of the masks x of some buckets' triples behind others; there must be room, here and below.
    /// They are known before anything is opened, as y is.
    pub fn x(&self, buckets: Range<usize>, list: List, to: &mut Secrets<Label>) {
        self.sums(Of::X, buckets, list, to);
    }

    /// Puts words of the masks y behind others.
    pub fn y(&self, buckets: Range<usize>, list: List, to: &mut Secrets<Label>) {
        self.put(Of::Y, 0, buckets, list, to);
    }

    /// Appends words of the products, from the opened differences: for each layer except the first, those of
    /// these buckets.
    pub fn z<'d>(
        &self,
        buckets: Range<usize>,
        differences: impl Fn(usize) -> &'d [u8],
        list: List,
        to: &mut Secrets<Label>,
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

/// The number of buckets that are processed at a time: their results stay in the cache.
pub(super) const STRIP: usize = 1 << 10;

/// Returns some places, strip after strip.
pub(super) fn strips(places: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = places.end;
    places.step_by(STRIP).map(move |first| first..end.min(first + STRIP))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_testing::Replayable as _;

    /// If a cheater has won one bet in each layer, they fill one bucket with probability N^-(B-1): all shifts
    /// are equally likely, so it does not matter which bets. (`parameters::tests` computes the consequence
    /// for all strategies.)
    #[test]
    fn row_04_every_shift_is_as_likely() {
        const RUNS: usize = 12_000;
        let mut rng = Rng::replayable("test coins");
        for (size, bucket) in [(2, 3), (5, 2), (3, 3)] {
            let all = usize::pow(size, bucket as u32 - 1);
            let mut seen = vec![0; all];
            for _ in 0..RUNS {
                let shifts = shifts(&rng.seed(), Pool { size, bucket });
                assert!(shifts.len() == bucket && shifts[0] == 0);
                seen[shifts[1..].iter().fold(0, |number, shift| number * size + shift)] += 1;
            }
            let (mean, rate) = (RUNS / all, 1.0 / all as f64);
            let deviation = (RUNS as f64 * rate * (1.0 - rate)).sqrt();
            assert!(seen.iter().all(|&n: &usize| n.abs_diff(mean) as f64 <= 4.5 * deviation), "{seen:?}");
        }
    }
}
