//! Correlated OT extension that sends less and computes more: SoftSpokenOT (Roy, CRYPTO 2022, eprint
//! 2022/192). K bits of the offset share one row of corrections. So an OT costs 16/K bytes, and each K bits
//! need 2^K streams.
//!
//! The receiver grows a binary tree of K levels from the seeds of each K base OTs. The sender gets all leaves
//! but one. The number of the missing leaf is the *block* D, which consists of those K bits of the sender's
//! offset. Each leaf y is the key of a stream `r_y`, and both parties fold the streams:
//!
//! ```text
//!   receiver    u = ⊕ r_y    v_b = ⊕ r_y over the y whose bit b is 1, for b < K
//!   sender      the same with rubbish for r_D:    q_b = v'_b ⊕ D_b·u' = v_b ⊕ D_b·u
//! ```
//!
//! In `q_b`, leaf y has the coefficient `y_b ⊕ D_b`, which is 0 for leaf D. With a correction `c = u ⊕ x`
//! from the receiver, the sender has rows `q_b ⊕ D_b·c = v_b ⊕ D_b·x`, as in [`extension`](super::extension),
//! which is K = 1 without a tree. The check of the rows, the labels and the keys are the same. OTs with
//! random choices use `x = u` of the first tree, which saves this tree's corrections.
//!
//! # Trees
//!
//! ```text
//!   receiver -> sender     for each base OT but the first of each tree two masked sums,
//!                          for each tree the sum of its leaves' proofs; a digest of all proofs
//! ```
//!
//! This is 4128 bytes for every K. The seeds of a tree's first base OT are the two nodes of its first level.
//! Each bit of y selects a child on one level. The sender knows the child that its own bit does *not* select,
//! so the seeds are assigned in reverse order. For each deeper level the receiver sends the sum of the left
//! children and the sum of the right children. A seed of that level's base OT masks each sum, again in
//! reverse order. The sender unmasks one sum and subtracts the children that it has. This gives the last
//! child of the level, except for the one that leads to D. The sender's computation has a node everywhere,
//! with meaningless nodes on the path to D, so no bit of D selects an address.
//!
//! **The check.** Each leaf also gives a proof of 32 bytes. The sender computes all proofs, that of leaf D
//! from the sum of all proofs. It compares the digest before it uses any leaf. If a receiver's values fit no
//! single tree for all D, they determine the set of blocks for which the check passes. The cheat is detected
//! unless the sender's block is in this set. docs/protocols/ot.md says how much a surviving receiver learns,
//! with a proof.

use brickwork_base::cheats;
use brickwork_kernels::{SecretBlocks, TileRow};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, Zeroizing};

use super::cot::{CotReceiver, CotSender, Series};
use super::rows::{ChunkCorrections, Flavour, ROWS, ReceiverSide, SenderSide, choices, empty_row, sound};
use crate::Labels;
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::{Rng, Seed};
use brickwork_store::{Forward, Ranges};
use brickwork_wire::Channel;

pub use super::rows::{CHECK_LOG2, msg};

cheats! {
    /// The ways in which a receiver can cheat when a series is set up.
    pub enum Cheat of "oblivious transfer" {
        /// SoftSpokenOT (Roy 2022): the sender's completed trees do not match the proofs.
        OtTrees = "OT extension: the trees are inconsistent",
    }
}

/// A sum of nodes or a proof: two blocks.
type Pair = [u128; 2];

/// The number of pairs that the receiver sends in the setup. For each base OT there are two masked sums, or,
/// for the base OT at a tree's root, the sum of the tree's proofs. The last pair is the digest of all proofs.
const PAIRS: usize = ROWS + 1;

const EXTEND: Flavour = Flavour { random: false, last_bits: false };
const RANDOM: Flavour = Flavour { random: true, last_bits: false };
/// The form of OTs with random choices that are the last bits of the labels.
const RANDOM_BITS: Flavour = Flavour { random: true, last_bits: true };

const fn trees<const K: usize>() -> usize {
    const { assert!(K == 2 || K == 4 || K == 8, "K must be 2, 4 or 8") };
    ROWS / K
}

/// The purpose of a query to the oracle, so that no two purposes share an answer.
#[derive(Clone, Copy)]
enum Question {
    /// The mask of a sum.
    Mask,
    /// The two children of a node.
    Children,
    /// The key of a leaf's stream, and the leaf's proof.
    Leaf,
}

/// The random oracle of a series's trees.
struct Oracle([u8; 32]);

impl Drop for Oracle {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Oracle {
    fn new<const K: usize>(series: &Series) -> Self {
        let named = [&series.as_bytes()[..], &[K as u8]].concat();
        Oracle(blake3::derive_key("brickwork 2026-11 SoftSpokenOT trees", &named))
    }

    /// Expands one secret of base OT `bit` of a tree. Each position gives another answer.
    fn ask<const N: usize>(
        &self,
        question: Question,
        [tree, bit, place]: [usize; 3],
        secret: u128,
    ) -> Zeroizing<[u128; N]> {
        let mut asked = [0; 24];
        asked[..4].copy_from_slice(&[question as u8, tree as u8, bit as u8, 0]);
        asked[4..8].copy_from_slice(&(place as u32).to_le_bytes());
        asked[8..].copy_from_slice(&secret.to_le_bytes());
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&asked);
        let mut answer = Zeroizing::new([0; N]);
        hasher.finalize_xof().fill(bytemuck::cast_slice_mut(&mut answer[..]));
        hasher.zeroize();
        asked.zeroize();
        answer
    }

    /// Returns the mask of a sum, from a seed of base OT `bit`.
    fn mask(&self, tree: usize, bit: usize, seed: &Seed) -> u128 {
        self.ask::<1>(Question::Mask, [tree, bit, 0], seed.bits())[0]
    }

    /// Returns the children of these nodes side by side, on the level of base OT `bit`.
    fn children(&self, tree: usize, bit: usize, nodes: &[u128]) -> Zeroizing<Vec<u128>> {
        let mut children = Zeroizing::new(vec![0; 2 * nodes.len()]);
        for ((place, &node), pair) in (0..).zip(nodes).zip(children.as_chunks_mut::<2>().0) {
            *pair = *self.ask(Question::Children, [tree, bit, place], node);
        }
        children
    }

    fn leaves(&self, tree: usize, nodes: &[u128], keys: &mut [u128], proofs: &mut [Pair]) {
        for (place, ((&node, key), proof)) in nodes.iter().zip(keys).zip(proofs).enumerate() {
            let answer = self.ask::<3>(Question::Leaf, [tree, 0, place], node);
            (*key, *proof) = (answer[0], [answer[1], answer[2]]);
        }
    }

    fn digest(&self, proofs: &[Pair]) -> Pair {
        bytemuck::cast(*blake3::keyed_hash(&self.0, bytemuck::cast_slice(proofs)).as_bytes())
    }
}

fn add(sum: &mut Pair, other: &Pair) {
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum ^= other);
}

/// Returns the sum of the left children and the sum of the right children.
fn sums(children: &[u128]) -> Pair {
    children.as_chunks::<2>().0.iter().fold([0; 2], |mut sum, pair| {
        add(&mut sum, pair);
        sum
    })
}

fn sum(proofs: &[Pair]) -> Pair {
    proofs.iter().fold([0; 2], |mut sum, proof| {
        add(&mut sum, proof);
        sum
    })
}

/// The keys and proofs of all leaves of a party's trees.
struct Leaves {
    keys: Zeroizing<Vec<u128>>,
    proofs: Zeroizing<Vec<Pair>>,
}

impl Leaves {
    fn new<const K: usize>() -> Self {
        let all = trees::<K>() << K;
        Leaves { keys: Zeroizing::new(vec![0; all]), proofs: Zeroizing::new(vec![[0; 2]; all]) }
    }

    fn into_keys(mut self) -> Forward {
        Forward::of_setup(std::mem::take(&mut *self.keys))
    }

    fn of_tree<const K: usize>(&mut self, tree: usize) -> (&mut [u128], &mut [Pair]) {
        (&mut self.keys[tree << K..][..1 << K], &mut self.proofs[tree << K..][..1 << K])
    }
}

/// Grows the receiver's trees. Returns their leaves, and the values for the sender.
fn grow<const K: usize>(oracle: &Oracle, seeds: &[[Seed; 2]]) -> (Leaves, Vec<Pair>) {
    assert_eq!(seeds.len(), ROWS, "each bit of the offset must have a pair of seeds");
    let (mut leaves, mut setup) = (Leaves::new::<K>(), vec![[0; 2]; PAIRS]);
    for tree in 0..trees::<K>() {
        let (seeds, setup) = (&seeds[tree * K..][..K], &mut setup[tree * K..][..K]);
        let [zero, one] = &seeds[K - 1];
        let mut nodes = Zeroizing::new(vec![one.bits(), zero.bits()]);
        for bit in (0..K - 1).rev() {
            nodes = oracle.children(tree, bit, &nodes);
            let [left, right] = sums(&nodes);
            let [zero, one] = &seeds[bit];
            setup[bit] = [right ^ oracle.mask(tree, bit, zero), left ^ oracle.mask(tree, bit, one)];
        }
        let (keys, proofs) = leaves.of_tree::<K>(tree);
        oracle.leaves(tree, &nodes, keys, proofs);
        setup[K - 1] = sum(proofs);
    }
    setup[ROWS] = oracle.digest(&leaves.proofs);
    (leaves, setup)
}

/// Completes the sender's trees, and compares the proofs. The leaves equal the receiver's leaves, except for
/// the leaf of each block, whose key is meaningless.
fn complete<const K: usize>(
    oracle: &Oracle,
    delta: Delta,
    seeds: &[Seed],
    setup: &[Pair],
) -> Result<Leaves, Cheat> {
    assert_eq!((seeds.len(), setup.len()), (ROWS, PAIRS), "each bit of the offset must have a seed");
    let mut leaves = Leaves::new::<K>();
    for tree in 0..trees::<K>() {
        let (seeds, setup) = (&seeds[tree * K..][..K], &setup[tree * K..][..K]);
        let block = (delta.bits() >> (tree * K)) as u64 & ((1 << K) - 1);
        let choice = |bit: usize| Choice::from((block >> bit & 1) as u8);
        let either = |pair: &Pair, choice: Choice| u128::conditional_select(&pair[0], &pair[1], choice);
        let (root, known) = (choice(K - 1), seeds[K - 1].bits());
        let mut nodes = Zeroizing::new(vec![either(&[0, known], root), either(&[known, 0], root)]);
        for bit in (0..K - 1).rev() {
            nodes = oracle.children(tree, bit, &nodes);
            let [left, right] = sums(&nodes);
            let sent = either(&setup[bit], choice(bit)) ^ oracle.mask(tree, bit, &seeds[bit]);
            let missing = sent ^ either(&[right, left], choice(bit));
            // The sibling of the node on the path to the missing leaf.
            let beside = (block >> bit) ^ 1;
            for (place, node) in (0..).zip(nodes.iter_mut()) {
                *node ^= either(&[0, missing], beside.ct_eq(&place));
            }
        }
        let (keys, proofs) = leaves.of_tree::<K>(tree);
        oracle.leaves(tree, &nodes, keys, proofs);
        let mut missing = sum(proofs);
        add(&mut missing, &setup[K - 1]);
        for (place, proof) in (0..).zip(proofs) {
            let here = block.ct_eq(&place);
            add(proof, &missing.map(|word| either(&[0, word], here)));
        }
    }
    let digest = oracle.digest(&leaves.proofs);
    let difference = (digest[0] ^ setup[ROWS][0]) | (digest[1] ^ setup[ROWS][1]);
    if bool::from(difference.ct_eq(&0)) { Ok(leaves) } else { Err(Cheat::OtTrees) }
}

/// The sender of a series, which chooses the offset. A block is K bits of the offset: 2, 4 or 8.
pub struct Sender<const K: usize> {
    side: SenderSide,
}

/// The receiver of a series, which chooses the bits.
pub struct Receiver<const K: usize> {
    side: ReceiverSide,
}

impl<const K: usize> Sender<K> {
    /// Returns a hash of all messages of the receiver.
    pub(super) fn hashed(&self) -> [u8; 32] {
        self.side.hashed()
    }

    /// Adds another message, which this party sends, to the hash on which keys depend.
    pub(super) fn follow(&mut self, seed: &Seed) {
        self.side.follow(seed);
    }

    fn call(&mut self, channel: &mut Channel, count: usize, flavour: Flavour) -> Result<Labels, Error> {
        let mut labels = Labels::zeros(count);
        self.side.call(channel, &mut labels, flavour)?;
        Ok(labels)
    }
}

impl<const K: usize> CotSender for Sender<K> {
    const KEYS: usize = trees::<K>() << K;

    const CHECK_LOG2: f64 = CHECK_LOG2;

    /// Rounds: half of one. [`Cheat::OtTrees`] if the receiver's trees do not match its proofs.
    fn set_up(channel: &mut Channel, series: &Series, offset: Delta, seeds: &[Seed]) -> Result<Self, Error> {
        let mut setup = vec![[0; 2]; PAIRS];
        channel.receive_into(msg::TREES, bytemuck::cast_slice_mut(&mut setup))?;
        let leaves = complete::<K>(&Oracle::new::<K>(series), offset, seeds, &setup)?;
        Ok(Sender { side: SenderSide::new(series, offset, K, leaves.into_keys()) })
    }

    fn restored(series: &Series, offset: Delta, keys: Forward) -> Result<Self, Error> {
        Ok(Sender { side: SenderSide::restored(series, offset, K, sound(keys, Self::KEYS)?) })
    }

    fn keys_behind(&self) -> Forward {
        self.side.behind()
    }

    fn offset(&self) -> Label {
        self.side.delta.label()
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.side.enter(ranges)
    }

    /// Rounds: half of one. [`Cheat::OtExtension`](super::Cheat::OtExtension) if the receiver's rows are
    /// inconsistent.
    fn extend(&mut self, channel: &mut Channel, count: usize) -> Result<Labels, Error> {
        self.call(channel, count, EXTEND)
    }

    /// As [`CotSender::extend`], without corrections for the first tree.
    fn random(&mut self, channel: &mut Channel, count: usize) -> Result<Labels, Error> {
        self.call(channel, count, RANDOM)
    }

    /// As [`CotSender::random`].
    fn random_bits(&mut self, channel: &mut Channel, keys: &mut [Label]) -> Result<(), Error> {
        self.side.call_in(channel, keys, RANDOM_BITS)
    }

    fn keys(&mut self, labels: &[Label]) -> Result<Vec<[Seed; 2]>, Error> {
        self.side.keys(labels)
    }
}

impl<const K: usize> Receiver<K> {
    /// Does the same as [`Sender::hashed`].
    pub(super) fn hashed(&self) -> [u8; 32] {
        self.side.hashed()
    }

    /// Does the same as [`Sender::follow`].
    pub(super) fn follow(&mut self, seed: &Seed) {
        self.side.follow(seed);
    }

    /// Makes OTs of this flavour with the choices in `x`, or writes the choices that a tree makes into `x`.
    /// `alter` changes each chunk of corrections before it is sent and hashed; only tests change anything.
    fn call(
        &mut self,
        channel: &mut Channel,
        x: &mut [TileRow],
        count: usize,
        flavour: Flavour,
        alter: impl FnMut(&mut ChunkCorrections),
    ) -> Result<Labels, Error> {
        let mut labels = Labels::zeros(count);
        self.side.call(channel, x, &mut labels, flavour, alter)?;
        Ok(labels)
    }
}

impl<const K: usize> CotReceiver for Receiver<K> {
    const KEYS: usize = trees::<K>() << K;

    /// Rounds: half of one.
    fn set_up(channel: &mut Channel, series: &Series, seeds: &[[Seed; 2]]) -> Result<Self, Error> {
        let (leaves, setup) = grow::<K>(&Oracle::new::<K>(series), seeds);
        channel.send(msg::TREES, bytemuck::cast_slice(&setup))?;
        channel.flush()?;
        Ok(Receiver { side: ReceiverSide::new(series, K, leaves.into_keys())? })
    }

    fn restored(series: &Series, keys: Forward) -> Result<Self, Error> {
        Ok(Receiver { side: ReceiverSide::restored(series, K, sound(keys, Self::KEYS)?)? })
    }

    fn keys_behind(&self) -> Forward {
        self.side.behind()
    }

    fn enter(&mut self, ranges: &mut Ranges) -> Result<(), Error> {
        self.side.enter(ranges)
    }

    fn extend(&mut self, channel: &mut Channel, choices: &[u8]) -> Result<Labels, Error> {
        let mut x = self.side.row(choices);
        self.call(channel, &mut x, choices.len(), EXTEND, |_| {})
    }

    /// The choices follow from the first tree's leaves, so `rng` is not used.
    fn random(
        &mut self,
        channel: &mut Channel,
        _: &mut Rng,
        count: usize,
    ) -> Result<(SecretBlocks<u8>, Labels), Error> {
        let mut x = empty_row(count);
        let labels = self.call(channel, &mut x, count, RANDOM, |_| {})?;
        Ok((choices(&x, count), labels))
    }

    /// As [`CotReceiver::random`].
    fn random_bits(&mut self, channel: &mut Channel, _: &mut Rng, macs: &mut [Label]) -> Result<(), Error> {
        self.side.call(channel, &mut empty_row(macs.len()), macs, RANDOM_BITS, |_| {})
    }

    fn keys(&mut self, labels: &[Label]) -> Result<Vec<Seed>, Error> {
        self.side.keys(labels)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::{BLOCK, CHUNK, blocks_for};
    use super::*;
    use crate::ot::{self, Direction};
    use brickwork_testing::Replayable as _;
    use brickwork_wire::{Tamper, memory_pair};
    use std::collections::HashSet;

    /// The bytes before a message's content: its tag and its length.
    const HEADER: usize = 5;

    fn series(session: u8) -> Series {
        Series::new(&[session; 32], Direction::GarblerSends)
    }

    /// Returns the results of base OTs: the sender's seeds, the receiver's seeds, and the offset.
    fn base_ots(rng: &mut Rng) -> (Vec<Seed>, Vec<[Seed; 2]>, Delta) {
        let delta = rng.delta();
        let pairs: Vec<[Seed; 2]> = (0..ROWS).map(|_| [rng.seed(), rng.seed()]).collect();
        let choice = |i: usize| (delta.bits() >> i & 1) as usize;
        let seeds = pairs.iter().enumerate().map(|(i, pair)| pair[choice(i)].clone()).collect();
        (seeds, pairs, delta)
    }

    fn block<const K: usize>(delta: Delta, tree: usize) -> usize {
        (delta.bits() >> (tree * K)) as usize % (1 << K)
    }

    /// Both parties of a series whose setup was altered by a receiver that knows all proofs. `sender` is the
    /// result of the sender's check.
    struct Dealt<const K: usize> {
        sender: Result<Sender<K>, Error>,
        receiver: Receiver<K>,
        delta: Delta,
    }

    fn deal<const K: usize>(
        rng: &mut Rng,
        alter: impl FnOnce(&Oracle, &mut Leaves, &mut [Pair]),
    ) -> Dealt<K> {
        let (seeds, pairs, delta) = base_ots(rng);
        let oracle = Oracle::new::<K>(&series(3));
        let (mut leaves, mut setup) = grow::<K>(&oracle, &pairs);
        alter(&oracle, &mut leaves, &mut setup);
        let (mut left, mut right) = memory_pair();
        right.send(msg::TREES, bytemuck::cast_slice(&setup)).unwrap();
        right.flush().unwrap();
        let sender = Sender::<K>::set_up(&mut left, &series(3), delta, &seeds);
        let receiver = Receiver { side: ReceiverSide::new(&series(3), K, leaves.into_keys()).unwrap() };
        Dealt { sender, receiver, delta }
    }

    fn honest<const K: usize>() -> (Sender<K>, Receiver<K>, Delta) {
        let Dealt { sender, receiver, delta } = deal::<K>(&mut Rng::replayable("test dealer"), |_, _, _| {});
        (sender.unwrap(), receiver, delta)
    }

    /// A call with given choices, or with a number of random choices.
    #[derive(Clone, Copy)]
    enum Call<'a> {
        Extend(&'a [u8]),
        Random(usize),
    }

    impl Call<'_> {
        fn count(self) -> usize {
            match self {
                Call::Extend(choices) => choices.len(),
                Call::Random(count) => count,
            }
        }

        fn flavour(self) -> Flavour {
            if matches!(self, Call::Random(_)) { RANDOM } else { EXTEND }
        }
    }

    /// Runs one call of a receiver that changes its corrections, computes the check for the changed
    /// corrections, and then changes its messages too. Returns the sender's result, and the receiver's
    /// choices and labels.
    fn run<const K: usize>(
        sender: &mut Sender<K>,
        receiver: &mut Receiver<K>,
        call: Call,
        alter: impl FnMut(&mut ChunkCorrections),
        tamper: Option<Tamper>,
    ) -> (Result<Labels, Error>, Vec<u8>, Labels) {
        let (mut left, mut right) = memory_pair();
        if let Some(tamper) = tamper {
            right.set_tamper(tamper);
        }
        let mut x = match call {
            Call::Extend(choices) => receiver.side.row(choices),
            Call::Random(count) => empty_row(count),
        };
        let got = receiver.call(&mut right, &mut x, call.count(), call.flavour(), alter).unwrap();
        let sent = sender.call(&mut left, call.count(), call.flavour());
        (sent, choices(&x, call.count()).to_vec(), got)
    }

    fn works<const K: usize>(sender: &mut Sender<K>, receiver: &mut Receiver<K>, call: Call) -> Labels {
        let (sent, choices, got) = run(sender, receiver, call, |_| {}, None);
        let (sent, offset) = (sent.unwrap(), sender.side.delta);
        assert_eq!((sent.len(), got.len()), (call.count(), call.count()));
        assert!(sent.iter().zip(&*got).zip(&choices).all(|((r, t), &b)| *t == *r ^ offset.times(b)));
        if let Call::Extend(given) = call {
            assert_eq!(choices, given);
        }
        sent
    }

    fn trees_refused<T>(result: Result<T, Error>) -> bool {
        match result {
            Err(Error::Peer(cheat)) => {
                assert!(cheat == Cheat::OtTrees);
                true
            }
            Ok(_) => false,
            Err(other) => panic!("{other}"),
        }
    }

    fn rows_refused(result: Result<Labels, Error>) -> bool {
        match result {
            Err(Error::Peer(cheat)) => {
                assert!(cheat == ot::Cheat::OtExtension);
                true
            }
            Ok(_) => false,
            Err(other) => panic!("{other}"),
        }
    }

    /// Checks that a frequency is within 4.5 standard deviations of this probability.
    fn as_often(passed: usize, trials: usize, p: f64) {
        let (expected, sigma) = (trials as f64 * p, (trials as f64 * p * (1.0 - p)).sqrt());
        assert!((passed as f64 - expected).abs() <= 4.5 * sigma, "{passed} of {trials}, not {expected}");
    }

    /// Compares with the ideal functionality, for numbers of OTs around the ends of blocks and chunks: T = R
    /// ⊕ b·Δ, with a fresh R in every call.
    fn labels_are_correlated<const K: usize>() {
        let (mut sender, mut receiver, _) = honest::<K>();
        let mut seen = HashSet::new();
        let mut rng = Rng::replayable("test");
        let chunk = BLOCK * (CHUNK - 1);
        for count in [0, 1, 127, 128, 129, 1000, chunk - 1, chunk, chunk + 1, chunk + BLOCK, 3 * chunk + 77] {
            let choices: Vec<u8> = (0..count).map(|_| rng.below(2) as u8).collect();
            for call in [Call::Extend(&choices), Call::Random(count)] {
                let labels = works(&mut sender, &mut receiver, call);
                assert!(labels.iter().all(|label| seen.insert(label.bits())), "a label occurs twice");
            }
        }
    }

    #[test]
    fn labels_differ_by_the_offset_where_the_choice_is_1() {
        labels_are_correlated::<2>();
        labels_are_correlated::<4>();
        labels_are_correlated::<8>();
    }

    /// Checks the exact bytes of a setup and of a call. A setup has 4128 bytes for every K. A call has, for
    /// each started block of 128 OTs and for one additional block, 16 bytes per tree; random choices save one
    /// tree.
    fn costs<const K: usize>() {
        let (seeds, pairs, delta) = base_ots(&mut Rng::replayable("test dealer"));
        let (mut left, mut right) = memory_pair();
        let mut receiver = Receiver::<K>::set_up(&mut right, &series(3), &pairs).unwrap();
        let mut sender = Sender::<K>::set_up(&mut left, &series(3), delta, &seeds).unwrap();
        assert_eq!((right.sent_bytes(), left.sent_bytes()), ((HEADER + 4128) as u64, 0));
        let mut before = right.sent_bytes();
        for (count, random) in [(1, true), (129, false), (128 * 199, true), (128 * 199, false)] {
            let (messages, blocks) = (usize::div_ceil(blocks_for(count), CHUNK), blocks_for(count));
            let rows = 128 / K - usize::from(random);
            let expected = messages * HEADER + 16 * rows * blocks + HEADER + 16 * 129;
            if random {
                receiver.random(&mut right, &mut Rng::replayable("test"), count).unwrap();
                sender.random(&mut left, count).unwrap();
            } else {
                receiver.extend(&mut right, &vec![1; count]).unwrap();
                sender.extend(&mut left, count).unwrap();
            }
            assert_eq!(right.sent_bytes() - before, expected as u64, "{count}, random: {random}");
            before = right.sent_bytes();
        }
        assert_eq!(left.sent_bytes(), 0);
    }

    #[test]
    fn what_is_sent_is_known_to_the_byte() {
        costs::<2>();
        costs::<4>();
        costs::<8>();
    }

    /// The sender has every leaf but the one whose number is its block.
    fn is_punctured<const K: usize>() {
        let mut rng = Rng::replayable("test dealer");
        for delta in [Delta::new(1), Delta::new(u128::MAX), rng.delta()] {
            let pairs: Vec<[Seed; 2]> = (0..ROWS).map(|_| [rng.seed(), rng.seed()]).collect();
            let choice = |i: usize| (delta.bits() >> i & 1) as usize;
            let seeds: Vec<Seed> =
                pairs.iter().enumerate().map(|(i, pair)| pair[choice(i)].clone()).collect();
            let oracle = Oracle::new::<K>(&series(3));
            let (all, setup) = grow::<K>(&oracle, &pairs);
            let own = complete::<K>(&oracle, delta, &seeds, &setup).unwrap();
            assert_eq!(
                all.keys.iter().collect::<HashSet<_>>().len(),
                trees::<K>() << K,
                "a leaf occurs twice"
            );
            for (place, (all, own)) in all.keys.iter().zip(own.keys.iter()).enumerate() {
                let (tree, leaf) = (place >> K, place % (1 << K));
                assert_eq!(all == own, leaf != block::<K>(delta, tree), "tree {tree}, leaf {leaf}");
            }
        }
    }

    #[test]
    fn one_leaf_of_each_tree_is_unknown() {
        is_punctured::<2>();
        is_punctured::<4>();
        is_punctured::<8>();
    }

    /// A receiver that lies about one sum of a level guesses a bit of the offset in each of g trees. The
    /// receiver survives with probability 2^-g, and then the OTs are the same as without the lie.
    fn wrong_sums<const K: usize>() {
        for g in 0..=3 {
            let (mut survived, trials) = (0, 300);
            for trial in 0..trials {
                // Chooses base OTs whose seeds mask sums.
                let lies: Vec<(usize, usize)> = (0..g)
                    .map(|k| (((trial + 5 * k) % trees::<K>()) * K + (trial + k) % (K - 1), (trial + k) % 2))
                    .filter(|&(bit, _)| bit > 0)
                    .collect();
                let mut dealt = deal::<K>(&mut Rng::replayable("test dealer"), |_, _, setup| {
                    for &(bit, slot) in &lies {
                        setup[bit][slot] ^= 1 << (trial % 128);
                    }
                });
                let named = |&(bit, slot): &(usize, usize)| (dealt.delta.bits() >> bit & 1) as usize != slot;
                let right = lies.iter().all(named);
                match &mut dealt.sender {
                    Ok(sender) => {
                        assert!(right);
                        works(sender, &mut dealt.receiver, Call::Random(200));
                    }
                    Err(_) => assert!(!right && trees_refused(dealt.sender)),
                }
                survived += usize::from(right && lies.len() == g);
            }
            // A trial is not counted if it would have guessed the lowest bit of the offset, which is known.
            let counted = (0..trials).filter(|trial| {
                (0..g).all(|k| ((trial + 5 * k) % trees::<K>()) * K + (trial + k) % (K - 1) > 0)
            });
            as_often(survived, counted.count(), 0.5f64.powi(g as i32));
        }
    }

    #[test]
    fn row_02_wrong_sums_survive_as_often_as_bits_are_guessed() {
        wrong_sums::<2>();
        wrong_sums::<4>();
        wrong_sums::<8>();
    }

    /// This receiver proves another leaf D than the tree has, and so guesses the whole block. The check
    /// passes if the block is D, with probability 2^-K. Otherwise the sender computes the proof of leaf D
    /// itself.
    fn wrong_leaf<const K: usize>(trials: usize) {
        let mut survived = 0;
        for trial in 0..trials {
            let (tree, leaf) = (1 + trial % (trees::<K>() - 1), trial * 7 % (1 << K));
            let mut dealt = deal::<K>(&mut Rng::replayable("test dealer"), |oracle, leaves, setup| {
                leaves.of_tree::<K>(tree).1[leaf][trial % 2] ^= 1;
                setup[tree * K + K - 1] = sum(leaves.of_tree::<K>(tree).1);
                setup[ROWS] = oracle.digest(&leaves.proofs);
            });
            let right = block::<K>(dealt.delta, tree) == leaf;
            match &mut dealt.sender {
                Ok(sender) => {
                    assert!(right);
                    works(sender, &mut dealt.receiver, Call::Random(200));
                }
                Err(_) => assert!(!right && trees_refused(dealt.sender)),
            }
            survived += usize::from(right);
        }
        as_often(survived, trials, 0.5f64.powi(K as i32));
    }

    #[test]
    fn row_02_wrong_leaves_survive_as_often_as_blocks_are_guessed() {
        wrong_leaf::<2>(300);
        wrong_leaf::<4>(600);
    }

    /// These lies never pass: a sum of proofs or a digest that fits no tree, or the trees in another order.
    fn never_passes<const K: usize>() {
        let refused = |alter: &dyn Fn(&mut [Pair])| {
            let rng = &mut Rng::replayable("test dealer");
            trees_refused(deal::<K>(rng, |_, _, setup| alter(setup)).sender)
        };
        assert!(!refused(&|_| {}));
        for bit in [0, 63, 127] {
            for word in 0..2 {
                assert!(refused(&|setup| setup[K - 1][word] ^= 1 << bit), "a sum of proofs");
                assert!(refused(&|setup| setup[ROWS - 1][word] ^= 1 << bit), "the last sum of proofs");
                assert!(refused(&|setup| setup[ROWS][word] ^= 1 << bit), "the digest");
            }
        }
        assert!(refused(&|setup| setup.rotate_left(K)), "trees in another order");
        assert!(refused(&|setup| {
            let (one, other) = setup.split_at_mut(K);
            one.swap_with_slice(&mut other[..K]);
        }));
        assert!(refused(&|setup| setup.swap(0, K - 1)), "a sum in the place of another");
        // The two masked sums are exchanged everywhere, so the sender unmasks with the wrong seed.
        assert!(refused(&|setup| setup[..ROWS].iter_mut().for_each(|pair| pair.swap(0, 1))));
        assert!(refused(&|setup| setup.fill([0; 2])));
    }

    #[test]
    fn row_02_wrong_proofs_and_trees_in_another_order_are_refused() {
        never_passes::<2>();
        never_passes::<4>();
        never_passes::<8>();
    }

    /// Trees of another session, direction or depth are refused, even if the base OTs have the same seeds.
    #[test]
    fn row_16_trees_of_another_series_are_refused() {
        let (seeds, pairs, delta) = base_ots(&mut Rng::replayable("test dealer"));
        let here = Oracle::new::<4>(&series(3));
        let passes = |(_, setup): (Leaves, Vec<Pair>)| complete::<4>(&here, delta, &seeds, &setup).is_ok();
        assert!(passes(grow::<4>(&here, &pairs)));
        assert!(!passes(grow::<4>(&Oracle::new::<4>(&series(4)), &pairs)));
        let back = Series::new(&[3; 32], Direction::EvaluatorSends);
        assert!(!passes(grow::<4>(&Oracle::new::<4>(&back), &pairs)));
        assert!(!passes(grow::<2>(&Oracle::new::<2>(&series(3)), &pairs)));
        assert!(!passes(grow::<8>(&Oracle::new::<8>(&series(3)), &pairs)));
        let others = base_ots(&mut Rng::replayable("other base OTs")).1;
        assert!(!passes(grow::<4>(&here, &others)));
    }

    /// Keys of one series are useless in a series of another session or direction, because the seed of the
    /// check includes the series.
    #[test]
    fn row_16_keys_of_another_series_are_refused() {
        let (sender, receiver, delta) = honest::<4>();
        let back = Series::new(&[3; 32], Direction::EvaluatorSends);
        for (other, is_refused) in [(series(3), false), (series(4), true), (back, true)] {
            let mut sender = Sender::<4>::restored(&series(3), delta, sender.keys_behind()).unwrap();
            let mut receiver = Receiver::<4>::restored(&other, receiver.keys_behind()).unwrap();
            sender.enter(&mut Ranges::lent(1).unwrap()).unwrap();
            receiver.enter(&mut Ranges::lent(1).unwrap()).unwrap();
            for call in [Call::Extend(&[0, 1, 1]), Call::Random(100)] {
                let (sent, ..) = run(&mut sender, &mut receiver, call, |_| {}, None);
                assert_eq!(rows_refused(sent), is_refused);
                if is_refused {
                    break;
                }
            }
        }
    }

    /// A receiver uses choices in one tree's corrections that differ from those in the other trees'
    /// corrections. In its answer it must then guess all K bits of this tree's block. The receiver survives
    /// with probability 2^-K.
    fn wrong_rows<const K: usize>(trials: usize) {
        for random in [false, true] {
            let mut survived = 0;
            for trial in 0..trials {
                let (mut sender, mut receiver, delta) = honest::<K>();
                let (tree, named) = (1 + trial % (trees::<K>() - 1), trial * 7 % (1 << K));
                let lie: u128 = 4 << (8 * (trial % 16));
                // Changes the last block: it is added to the hash unchanged, so the answer can be adapted to
                // any block.
                let alter = |c: &mut ChunkCorrections| *c.at(tree - usize::from(random), 2).unwrap() ^= lie;
                let tamper: Tamper = Box::new(move |tag, bytes| {
                    if tag == msg::CHECK {
                        for bit in (0..K).filter(|bit| named >> bit & 1 == 1) {
                            bytes[16 * (1 + tree * K + bit) + trial % 16] ^= 4;
                        }
                    }
                });
                let call = if random { Call::Random(200) } else { Call::Extend(&[1; 200]) };
                let (sent, ..) = run(&mut sender, &mut receiver, call, alter, Some(tamper));
                let passed = !rows_refused(sent);
                assert_eq!(passed, block::<K>(delta, tree) == named, "only the guess matters");
                survived += usize::from(passed);
            }
            as_often(survived, trials, 0.5f64.powi(K as i32));
        }
    }

    #[test]
    fn row_02_inconsistent_rows_survive_as_often_as_blocks_are_guessed() {
        wrong_rows::<2>(300);
        wrong_rows::<4>(500);
    }

    /// Changed choices are noticed in every block. The offset's lowest bit is 1, so a change in the first
    /// tree is noticed for any block. After a failed check, every call fails.
    fn any_block<const K: usize>() {
        let count = 2 * BLOCK * CHUNK;
        for position in (0..blocks_for(count)).step_by(23) {
            let (mut sender, mut receiver, _) = honest::<K>();
            let alter = |c: &mut ChunkCorrections| c.at(0, position).into_iter().for_each(|c| *c ^= 1);
            let (sent, ..) = run(&mut sender, &mut receiver, Call::Extend(&vec![0; count]), alter, None);
            assert!(rows_refused(sent), "block {position}");
            let (sent, ..) = run(&mut sender, &mut receiver, Call::Random(1), |_| {}, None);
            assert!(rows_refused(sent), "used again after a failed check");
        }
    }

    #[test]
    fn row_02_a_deviation_in_any_block_is_seen() {
        any_block::<2>();
        any_block::<4>();
        any_block::<8>();
    }

    #[test]
    fn row_02_rows_and_answers_changed_on_their_way_are_refused() {
        for (message, byte) in
            [(msg::ROWS, 0), (msg::ROWS, 31 * 16 * 3 - 1), (msg::CHECK, 0), (msg::CHECK, 2063)]
        {
            let (mut sender, mut receiver, _) = honest::<4>();
            let tamper: Tamper = Box::new(move |tag, bytes| {
                if tag == message {
                    bytes[byte] ^= 1;
                }
            });
            let (sent, ..) = run(&mut sender, &mut receiver, Call::Random(200), |_| {}, Some(tamper));
            assert!(rows_refused(sent), "byte {byte} of message {}", message.0);
        }
    }

    #[test]
    fn row_18_other_lengths_are_refused() {
        for length in [0, 4127, 4129, 4160] {
            let (seeds, _, delta) = base_ots(&mut Rng::replayable("test dealer"));
            let (mut left, mut right) = memory_pair();
            right.send(msg::TREES, &vec![0; length]).unwrap();
            right.flush().unwrap();
            let refused = Sender::<4>::set_up(&mut left, &series(3), delta, &seeds).err();
            assert!(
                matches!(refused, Some(Error::Peer(cheat)) if cheat == ot::Cheat::UnexpectedMessage),
                "{length}"
            );
        }
    }

    /// A call with random choices is refused where given choices are expected, because it has fewer rows.
    #[test]
    fn row_18_random_choices_are_not_given_ones() {
        let (mut sender, mut receiver, _) = honest::<8>();
        let (mut left, mut right) = memory_pair();
        receiver.random(&mut right, &mut Rng::replayable("test"), 100).unwrap();
        let refused = sender.extend(&mut left, 100);
        assert!(matches!(refused, Err(Error::Peer(cheat)) if cheat == ot::Cheat::UnexpectedMessage));
    }

    /// Keys of trees of another depth are refused. A party that has entered no range makes no OT and sends
    /// nothing.
    #[test]
    fn row_25_keys_of_other_trees_are_refused() {
        let (sender, receiver, delta) = honest::<4>();
        let [sent, got] = [sender.keys_behind(), receiver.keys_behind()];
        assert!(matches!(Sender::<2>::restored(&series(3), delta, sent.clone()), Err(Error::Stock(_))));
        assert!(matches!(Receiver::<8>::restored(&series(3), got.clone()), Err(Error::Stock(_))));
        let mut sender = Sender::<4>::restored(&series(3), delta, sent).unwrap();
        let mut receiver = Receiver::<4>::restored(&series(3), got).unwrap();
        let (mut left, mut right) = memory_pair();
        assert!(matches!(receiver.extend(&mut right, &[1]), Err(Error::Limit(_))));
        assert!(matches!(receiver.random(&mut right, &mut Rng::replayable("test"), 1), Err(Error::Limit(_))));
        assert!(matches!(sender.extend(&mut left, 1), Err(Error::Limit(_))));
        assert_eq!((left.sent_bytes(), right.sent_bytes()), (0, 0));
    }
}
