//! The receiver of the PCG, which has the choices and completes trees.

use crate::Labels;
use brickwork_base::bits::pack;
use brickwork_base::label::Label;
use brickwork_base::random::{Rng, Seed};
use brickwork_base::{Error, stop};
use brickwork_kernels::{Kernel, SecretBlocks, complete_tree, sum_where};
use brickwork_store::{Forward, Ranges};
use brickwork_wire::Channel;
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

use super::iterations::Iterations;
use super::{Cheat, Elements, Keys, PARAMETERS, PcgParameters, lpn_bits, msg, packed, transcript};
use crate::ot::cot::{CotReceiver, Series};
use crate::ot::softspoken;

/// The construction of the first iteration's OTs.
type Base = softspoken::Receiver<8>;

/// The receiver of the PCG, which has the choices.
pub struct Receiver {
    base: Base,
    pub(super) iterations: Iterations,
    rng: Rng,
}

/// An iteration whose trees are completed but not checked.
pub(crate) struct Completed {
    labels: SecretBlocks<Label>,
    /// The hash that the sender must send as its proof.
    proof: [u8; 32],
    sent: Seed,
}

impl Receiver {
    /// Makes a receiver whose first iteration takes its OTs from `base`.
    pub(super) fn over(base: Base, parameters: PcgParameters) -> Result<Self, Error> {
        let rng = Rng::new("brickwork PCG receiver")?;
        Ok(Receiver { base, iterations: Iterations::new(parameters), rng })
    }

    pub(crate) fn left(&self) -> usize {
        self.iterations.left()
    }

    /// Does the same as [`Sender::begin`](super::Sender::begin).
    pub(crate) fn begin(
        &mut self,
        channel: &mut Channel,
        count: usize,
    ) -> Result<Vec<SecretBlocks<Label>>, Error> {
        let Receiver { base, iterations, rng } = self;
        iterations.begin(count, |reserve| {
            base.random_bits(channel, rng, reserve)?;
            channel.flush()
        })
    }

    /// Receives the corrections of the trees of all iterations, completes the trees, and sends the
    /// challenges. `alter` may change the challenges; only tests do so.
    pub(crate) fn complete(
        &mut self,
        channel: &mut Channel,
        reserves: Vec<SecretBlocks<Label>>,
        mut alter: impl FnMut(&mut [u128; 2]),
    ) -> Result<Vec<Completed>, Error> {
        let (hashed, PcgParameters { dimension, .. }) = (self.base.hashed(), self.iterations.parameters);
        let mut all = Vec::with_capacity(reserves.len());
        for (k, reserve) in reserves.iter().enumerate() {
            let keys = Keys::new(&hashed, k, &self.iterations.parameters);
            let mut corrections = vec![0u128; self.iterations.parameters.corrections()];
            channel.receive_into(msg::CORRECTIONS, bytemuck::cast_slice_mut(&mut corrections))?;
            let labels = self.trees(&keys, reserve, &corrections);
            let check = &reserve[dimension + self.iterations.parameters.levels()..];
            let mut challenge = [self.rng.block(), 0];
            let elements = Elements::new(challenge[0], &self.iterations.parameters);
            challenge[1] = errors(&elements, &labels) ^ hidden(check);
            alter(&mut challenge);
            channel.send(msg::CHALLENGE, bytemuck::cast_slice(&challenge))?;
            let proof = keys.proof(elements.combine(&labels) ^ packed(check));
            all.push((Completed { labels, proof, sent: transcript(&corrections, &challenge) }, keys));
        }
        channel.flush()?;
        let encoded = all.into_iter().zip(&reserves).map(|((mut completed, keys), reserve)| {
            keys.encode(&reserve[..dimension], &mut completed.labels);
            completed
        });
        Ok(encoded.collect())
    }

    fn trees(&self, keys: &Keys, reserve: &[Label], corrections: &[u128]) -> SecretBlocks<Label> {
        let PcgParameters { depth, dimension, .. } = self.iterations.parameters;
        let mut labels = SecretBlocks::<Label>::zeros(self.iterations.parameters.samples());
        let of_trees = labels.chunks_exact_mut(1 << depth).zip(corrections.chunks_exact(depth - 1));
        let of_trees = of_trees.zip(reserve[dimension..].chunks_exact(depth));
        for (key, ((leaves, corrections), macs)) in keys.trees.iter().zip(of_trees) {
            stop::look();
            let sums = [0].iter().chain(corrections).zip(macs).map(|(word, mac)| word ^ mac.bits());
            let known = Zeroizing::new(sums.collect::<Vec<u128>>());
            let leaves = bytemuck::cast_slice_mut(leaves);
            complete_tree(Kernel::best(), key, path(macs), &known, leaves);
        }
        labels
    }

    /// Receives the sender's proofs, and compares all of them at once. If one differs, all OTs of the
    /// iterations are erased.
    pub(crate) fn verify(&mut self, channel: &mut Channel, completed: Vec<Completed>) -> Result<(), Error> {
        let mut same = Choice::from(1);
        for Completed { proof, .. } in &completed {
            let mut theirs = [0; 32];
            channel.receive_into(msg::PROOF, &mut theirs)?;
            same &= theirs.ct_eq(proof);
        }
        if !bool::from(same) {
            return Err(Cheat::PcgTrees.into());
        }
        let made = completed.into_iter().map(|Completed { labels, sent, .. }| {
            self.base.follow(&sent);
            labels
        });
        self.iterations.end(made);
        Ok(())
    }

    /// Runs iterations until `count` OTs are left.
    fn provide(&mut self, channel: &mut Channel, count: usize) -> Result<(), Error> {
        while self.iterations.left() < count {
            let reserves = self.begin(channel, count)?;
            let completed = self.complete(channel, reserves, |_| {})?;
            self.verify(channel, completed)?;
        }
        Ok(())
    }
}

/// Returns the path of the unknown leaf, from the macs of a tree's OTs. On each level, choice 0 means that
/// the receiver learns the left child.
pub(super) fn path(macs: &[Label]) -> usize {
    macs.iter().enumerate().fold(0, |path, (level, mac)| path | usize::from(mac.colour() ^ 1) << level)
}

/// Returns x, the sum of a_i·b_j over all errors. The errors are the last bits of the labels.
fn errors(elements: &Elements, labels: &[Label]) -> u128 {
    let trees = labels.chunks_exact(elements.leaves.len());
    let at = trees.map(|tree| sum_where(Kernel::best(), bytemuck::cast_slice(tree), &elements.leaves));
    elements.combine_trees(&Zeroizing::new(at.collect::<Vec<u128>>()))
}

/// Returns x*, which is made of the choices of the check's OTs.
fn hidden(macs: &[Label]) -> u128 {
    macs.iter().enumerate().fold(0, |bits, (l, mac)| bits | u128::from(mac.colour()) << l)
}

impl CotReceiver for Receiver {
    const KEYS: usize = Base::KEYS;

    /// Rounds: half of one.
    fn set_up(channel: &mut Channel, series: &Series, seeds: &[[Seed; 2]]) -> Result<Self, Error> {
        PARAMETERS.checked(lpn_bits())?;
        Receiver::over(Base::set_up(channel, series, seeds)?, PARAMETERS)
    }

    /// A stock keeps no OTs of an iteration, so an entry begins with a first iteration.
    fn restored(series: &Series, keys: Forward) -> Result<Self, Error> {
        PARAMETERS.checked(lpn_bits())?;
        Receiver::over(Base::restored(series, keys)?, PARAMETERS)
    }

    fn keys_behind(&self) -> Forward {
        self.base.keys_behind()
    }

    /// Unused OTs of the previous entry are lost.
    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.iterations.forget();
        self.base.enter(ranges)
    }

    /// Draws random OTs, and sends the differences between the given and the random choices.
    fn extend(&mut self, channel: &mut Channel, choices: &[u8]) -> Result<Labels, Error> {
        let mut labels = SecretBlocks::zeros(choices.len());
        self.provide(channel, labels.len())?;
        self.iterations.draw(&mut labels);
        let differences = labels.iter().zip(choices).map(|(label, choice)| label.colour() ^ choice & 1);
        channel.send(msg::DIFFERENCES, &pack(differences))?;
        channel.flush()?;
        Ok(labels)
    }

    /// The choices come from the iterations, so `rng` is not used.
    fn random(
        &mut self,
        channel: &mut Channel,
        rng: &mut Rng,
        count: usize,
    ) -> Result<(SecretBlocks<u8>, Labels), Error> {
        let mut labels = SecretBlocks::zeros(count);
        self.random_bits(channel, rng, &mut labels)?;
        Ok((labels.iter().map(|label| label.colour()).collect(), labels))
    }

    /// As [`CotReceiver::random`].
    fn random_bits(&mut self, channel: &mut Channel, _: &mut Rng, macs: &mut [Label]) -> Result<(), Error> {
        self.provide(channel, macs.len())?;
        self.iterations.draw(macs);
        Ok(())
    }

    fn keys(&mut self, labels: &[Label]) -> Result<Vec<Seed>, Error> {
        self.base.keys(labels)
    }
}
