//! The sender of the PCG, which chooses the offset and grows trees.

use crate::Labels;
use brickwork_base::bits::unpack;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::Seed;
use brickwork_base::{Error, stop};
use brickwork_kernels::{Kernel, SecretBlocks, erase, grow_tree};
use brickwork_store::{Forward, Ranges};
use brickwork_wire::Channel;

use super::iterations::Iterations;
use super::{Elements, Keys, PARAMETERS, PcgParameters, lpn_bits, msg, packed, product, transcript};
use crate::ot::cot::{CotSender, Series};
use crate::ot::softspoken;

/// The construction of the first iteration's OTs.
type Base = softspoken::Sender<8>;

/// The sender of the PCG, which chooses the offset.
pub struct Sender {
    base: Base,
    pub(super) iterations: Iterations,
}

/// An iteration whose trees are grown but not checked.
pub(crate) struct Offered {
    reserve: SecretBlocks<Label>,
    leaves: SecretBlocks<Label>,
    corrections: Vec<u128>,
    pub(super) keys: Keys,
}

impl Sender {
    /// Makes a sender whose first iteration takes its OTs from `base`.
    pub(super) fn over(base: Base, parameters: PcgParameters) -> Self {
        Sender { base, iterations: Iterations::new(parameters) }
    }

    /// Begins enough iterations for `count` OTs, and returns the OTs with which each iteration begins.
    pub(crate) fn begin(
        &mut self,
        channel: &mut Channel,
        count: usize,
    ) -> Result<Vec<SecretBlocks<Label>>, Error> {
        let Sender { base, iterations } = self;
        iterations.begin(count, |reserve| base.random_bits(channel, reserve))
    }

    /// Grows the trees of all iterations, and sends their corrections. `alter` may change the corrections;
    /// only tests do so.
    pub(crate) fn offer(
        &mut self,
        channel: &mut Channel,
        reserves: Vec<SecretBlocks<Label>>,
        mut alter: impl FnMut(&mut [u128]),
    ) -> Result<Vec<Offered>, Error> {
        let hashed = self.base.hashed();
        let mut all = Vec::with_capacity(reserves.len());
        for (k, reserve) in reserves.into_iter().enumerate() {
            let mut offered = self.grow(Keys::new(&hashed, k, &self.iterations.parameters), reserve);
            alter(&mut offered.corrections);
            channel.send(msg::CORRECTIONS, bytemuck::cast_slice(&offered.corrections))?;
            all.push(offered);
        }
        channel.flush()?;
        Ok(all)
    }

    fn grow(&mut self, keys: Keys, reserve: SecretBlocks<Label>) -> Offered {
        let PcgParameters { depth, dimension, .. } = self.iterations.parameters;
        let delta = self.offset().bits();
        let mut leaves = SecretBlocks::<Label>::zeros(self.iterations.parameters.samples());
        let mut corrections = vec![0; self.iterations.parameters.corrections()];
        let of_trees = leaves.chunks_exact_mut(1 << depth).zip(corrections.chunks_exact_mut(depth - 1));
        let of_trees = of_trees.zip(reserve[dimension..].chunks_exact(depth));
        let mut lefts = vec![0; depth];
        for (key, ((leaves, corrections), levels)) in keys.trees.iter().zip(of_trees) {
            stop::look();
            // The receiver's mac is itself a node of the first level, so no correction is needed.
            let left = levels[0].bits();
            let leaves = bytemuck::cast_slice_mut(leaves);
            grow_tree(Kernel::best(), key, [left, left ^ delta], leaves, &mut lefts);
            let sums = lefts[1..].iter().zip(&levels[1..]);
            corrections.iter_mut().zip(sums).for_each(|(word, (sum, key))| *word = sum ^ key.bits());
        }
        erase(&mut lefts);
        Offered { reserve, leaves, corrections, keys }
    }

    /// Receives the challenges and answers them, which completes the iterations. `alter` may change V; only
    /// tests do so.
    pub(crate) fn answer(
        &mut self,
        channel: &mut Channel,
        offered: Vec<Offered>,
        mut alter: impl FnMut(&Elements, u128) -> u128,
    ) -> Result<(), Error> {
        let PcgParameters { dimension, .. } = self.iterations.parameters;
        let delta = [self.offset().bits()];
        let mut sent = Vec::with_capacity(offered.len());
        for Offered { reserve, leaves, corrections, keys } in &offered {
            let mut challenge = [0u128; 2];
            channel.receive_into(msg::CHALLENGE, bytemuck::cast_slice_mut(&mut challenge))?;
            let elements = Elements::new(challenge[0], &self.iterations.parameters);
            let check = &reserve[dimension + self.iterations.parameters.levels()..];
            let v = elements.combine(leaves) ^ packed(check) ^ product(&challenge[1..], &delta);
            channel.send(msg::PROOF, &keys.proof(alter(&elements, v)))?;
            sent.push(transcript(corrections, &challenge));
        }
        channel.flush()?;
        let made = offered.into_iter().zip(&sent).map(|(Offered { reserve, mut leaves, keys, .. }, sent)| {
            keys.encode(&reserve[..dimension], &mut leaves);
            self.base.follow(sent);
            leaves
        });
        self.iterations.end(made);
        Ok(())
    }

    /// Runs iterations until `count` OTs are left.
    fn provide(&mut self, channel: &mut Channel, count: usize) -> Result<(), Error> {
        while self.iterations.left() < count {
            let reserves = self.begin(channel, count)?;
            let offered = self.offer(channel, reserves, |_| {})?;
            self.answer(channel, offered, |_, v| v)?;
        }
        Ok(())
    }
}

impl CotSender for Sender {
    const KEYS: usize = Base::KEYS;

    /// The probability for the OTs of the first iteration. The check of an iteration adds
    /// [`check_log2`](super::check_log2).
    const CHECK_LOG2: f64 = Base::CHECK_LOG2;

    /// Rounds: half of one.
    fn set_up(channel: &mut Channel, series: &Series, offset: Delta, seeds: &[Seed]) -> Result<Self, Error> {
        PARAMETERS.checked(lpn_bits())?;
        Ok(Sender::over(Base::set_up(channel, series, offset, seeds)?, PARAMETERS))
    }

    /// A stock keeps no OTs of an iteration, so an entry begins with a first iteration.
    fn restored(series: &Series, offset: Delta, keys: Forward) -> Result<Self, Error> {
        PARAMETERS.checked(lpn_bits())?;
        Ok(Sender::over(Base::restored(series, offset, keys)?, PARAMETERS))
    }

    fn keys_behind(&self) -> Forward {
        self.base.keys_behind()
    }

    fn offset(&self) -> Label {
        self.base.offset()
    }

    /// Unused OTs of the previous entry are lost.
    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.iterations.forget();
        self.base.enter(ranges)
    }

    /// Rounds: half of one if enough OTs are left, and one and a half for each iteration.
    fn extend(&mut self, channel: &mut Channel, count: usize) -> Result<Labels, Error> {
        let mut labels = self.random(channel, count)?;
        let delta = Delta::new(self.offset().bits());
        let differences = unpack(&channel.receive(msg::DIFFERENCES, count.div_ceil(8))?, count)?;
        labels.iter_mut().zip(differences).for_each(|(label, bit)| *label ^= delta.times(bit));
        Ok(labels)
    }

    fn random(&mut self, channel: &mut Channel, count: usize) -> Result<Labels, Error> {
        let mut labels = SecretBlocks::zeros(count);
        self.random_bits(channel, &mut labels)?;
        Ok(labels)
    }

    fn random_bits(&mut self, channel: &mut Channel, keys: &mut [Label]) -> Result<(), Error> {
        self.provide(channel, keys.len())?;
        self.iterations.draw(keys);
        Ok(())
    }

    fn keys(&mut self, labels: &[Label]) -> Result<Vec<[Seed; 2]>, Error> {
        self.base.keys(labels)
    }
}
