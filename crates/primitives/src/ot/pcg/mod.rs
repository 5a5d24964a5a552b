//! Correlated OTs from a pseudorandom correlation generator: some OTs become many, at a fraction of a byte
//! each. Ferret (Yang, Weng, Lan, Zhang, Wang, CCS 2020) over the correlated trees of Half-Tree (Guo, Yang,
//! Wang, Zhang, Xie, Liu, Zhao, EUROCRYPT 2023).
//!
//! An *iteration* takes k + t·d + 128 OTs of the iteration before ([`Parameters`]; those of the first come
//! from [`softspoken`](super::softspoken), K = 8) and makes n = t·2^d:
//!
//! ```text
//!   sender -> receiver     a word for each level of each tree but the first
//!   receiver -> sender     a challenge χ; x' = x ⊕ x*
//!   sender -> receiver     a hash of V
//! ```
//!
//! **Trees.** The sender grows t trees of d levels, each of which adds up to Δ on every level. For a level
//! the receiver has an OT, key K and mac M = K ⊕ r·Δ. On the first level K is the left node, so M is the left
//! node for r = 0 and the right one for r = 1. For the other levels the sender sends `c = K ⊕ (sum of the
//! left nodes)`; `c ⊕ M` is the sum of the left nodes or of the right ones. So the receiver learns all nodes
//! of a level but the one whose path takes the other child each time. On the last level it learns all leaves
//! v except that of a path α, and there v_α ⊕ Δ, the sum of all others. These are OTs whose choice is 1 at α
//! and 0 elsewhere: `w = v ⊕ e·Δ`, e with one 1 a tree. All last bits are written: 0 at the sender, e at the
//! receiver.
//!
//! Several iterations are made at once where enough OTs are left to begin them, so that crossings are few.
//!
//! **Code.** With the keys and macs of k OTs whose choices are u, and a public sparse matrix A, the sender
//! has `A·K ⊕ v`, the receiver `A·M ⊕ w`: OTs whose choices are `A·u ⊕ e`. That these look random is LPN with
//! regular noise; [`lpn`](super::lpn) estimates how hard it is. A is drawn anew for each iteration by a hash
//! of all that was sent.
//!
//! # The check
//!
//! A sender that sends other words makes trees that hang on α; whether the receiver notices would tell it α.
//! So all trees are compared before a leaf is used: χ gives random elements a of trees and b of leaves in
//! GF(2^128), and
//!
//! ```text
//!   W = Σ a_i·b_j·w_ij ⊕ Σ X^l·M_l      x = Σ a_i·b_(α_i)      x* = Σ X^l·r_l      over 128 further OTs l
//!   V = Σ a_i·b_j·v_ij ⊕ Σ X^l·K_l ⊕ x'·Δ
//! ```
//!
//! are the same. The receiver draws χ when it has the words. It compares hashes: nothing that a wrong x'
//! would bring a receiver is in the clear. docs/protocols/ot.md says how much either learns by cheating.
//!
//! The receiver's paths are secret: they steer no branch and no address
//! ([`brickwork_kernels::complete_tree`]). It is public which bits of u a row of A adds.

mod both;
mod iterations;
mod parameters;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use brickwork_base::cheats;
use brickwork_base::label::Label;
use brickwork_base::random::{Rng, Seed};
use brickwork_kernels::{Aes128, Kernel, Secrets, add_encoded, erase, gf128_reduce, hash_rows};
use zeroize::Zeroizing;

pub use both::provide;
use parameters::CHECK;
pub use parameters::{LEAST_BITS, PARAMETERS, Parameters, check_log2, iterations, lpn_bits};
pub use receiver::Receiver;
pub use sender::Sender;

/// The messages of an iteration.
pub mod msg {
    use brickwork_wire::Tag;

    /// Sender: a word for each level of each tree but the first.
    pub const CORRECTIONS: Tag = Tag(27);
    /// Receiver: χ, x'.
    pub const CHALLENGE: Tag = Tag(28);
    /// Sender: the hash of V.
    pub const PROOF: Tag = Tag(29);
    /// Receiver, if choices are given: their difference to the random ones, packed.
    pub const DIFFERENCES: Tag = Tag(30);
}

cheats! {
    /// Cheats of a sender in an iteration.
    pub enum Cheat of "oblivious transfer" {
        /// PCG (Yang et al. 2020, Guo et al. 2023): the trees that the receiver completed are not the
        /// sender's.
        PcgTrees = "PCG: inconsistent trees",
    }
}

/// The key of an iteration: a hash of all that was sent before.
struct Keys {
    /// The keys of the trees.
    trees: Vec<Aes128>,
    /// The key of the code's positions.
    code: Aes128,
    proof: [u8; 32],
}

impl Keys {
    /// Those of number `k` of the iterations that are made at once.
    fn new(hashed: &[u8; 32], k: usize, parameters: &Parameters) -> Self {
        let hashed = [&hashed[..], &(k as u64).to_le_bytes()].concat();
        let mut keys = [0u128; 2];
        let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 PCG trees and code");
        hasher.update(&hashed).finalize_xof().fill(bytemuck::cast_slice_mut(&mut keys));
        // A tree's key is used for only as many calls as the tree has leaves.
        let of_trees: Vec<u128> =
            (0..parameters.trees as u128).map(|tree| keys[0].wrapping_add(tree)).collect();
        let mut trees = Vec::new();
        Aes128::expand_many(Kernel::best(), &of_trees, &mut trees);
        let proof = blake3::derive_key("brickwork 2026-11 PCG proof", &hashed);
        Keys { trees, code: Aes128::new(keys[1]), proof }
    }

    /// The hash that is compared.
    fn proof(&self, word: u128) -> [u8; 32] {
        *blake3::keyed_hash(&self.proof, &word.to_le_bytes()).as_bytes()
    }

    /// Adds A·message to the leaves.
    fn encode(&self, message: &[Label], leaves: &mut [Label]) {
        const AT_ONCE: usize = 1 << 14;
        let message = bytemuck::cast_slice(message);
        for (first, leaves) in (0..).step_by(AT_ONCE).zip(leaves.chunks_mut(AT_ONCE)) {
            brickwork_base::stop::look();
            let leaves = bytemuck::cast_slice_mut(leaves);
            add_encoded(Kernel::best(), &self.code, first, message, leaves);
        }
    }
}

/// The digest of an iteration's messages: keys of labels that are made of it depend on it.
fn transcript(corrections: &[u128], challenge: &[u128; 2]) -> Seed {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 PCG transcript");
    hasher.update(bytemuck::cast_slice(corrections)).update(bytemuck::cast_slice(challenge));
    Seed::from_bytes(*hasher.finalize().as_bytes().first_chunk().expect("32 bytes"))
}

/// The elements by which trees are checked: of each tree, and of each leaf of any.
pub(crate) struct Elements {
    trees: Vec<u128>,
    leaves: Vec<u128>,
}

impl Elements {
    fn new(chi: u128, parameters: &Parameters) -> Self {
        let mut rng = Rng::expand(&Seed::from_bytes(chi.to_le_bytes()), "brickwork PCG check");
        let (mut trees, mut leaves) = (vec![0; parameters.trees], vec![0; 1 << parameters.depth]);
        rng.fill(bytemuck::cast_slice_mut(&mut trees));
        rng.fill(bytemuck::cast_slice_mut(&mut leaves));
        Elements { trees, leaves }
    }

    /// Returns Σ a_i·b_j·leaf_ij.
    fn combine(&self, leaves: &[Label]) -> u128 {
        let mut sums = Zeroizing::new(vec![[0; 2]; self.trees.len()]);
        hash_rows(&mut sums, bytemuck::cast_slice(leaves), &self.leaves);
        let of_trees = Zeroizing::new(sums.iter().map(|&sum| gf128_reduce(sum)).collect::<Vec<u128>>());
        self.combine_trees(&of_trees)
    }

    /// Returns Σ a_i·word_i.
    fn combine_trees(&self, words: &[u128]) -> u128 {
        product(words, &self.trees)
    }
}

/// The sum of products in GF(2^128).
fn product(words: &[u128], elements: &[u128]) -> u128 {
    let mut sum = [[0; 2]];
    hash_rows(&mut sum, words, elements);
    gf128_reduce(sum[0])
}

/// Σ X^l·word_l, of 128 words.
fn packed(words: &[Label]) -> u128 {
    let powers: [u128; CHECK] = std::array::from_fn(|l| 1 << l);
    product(bytemuck::cast_slice(words), &powers)
}

/// OTs that are checked and not used.
#[derive(Default)]
struct Pool {
    /// Iterations, the oldest first, and how many of each are used.
    made: VecDeque<(Secrets<Label>, usize)>,
}

impl Pool {
    fn left(&self) -> usize {
        self.made.iter().map(|(labels, used)| labels.len() - used).sum()
    }

    /// Takes all of an iteration.
    fn put(&mut self, labels: Secrets<Label>) {
        self.made.push_back((labels, 0));
    }

    /// Takes the next ones out, of which there are enough.
    fn take(&mut self, count: usize) -> Secrets<Label> {
        let mut taken = Secrets::zeros(count);
        self.draw(&mut taken);
        taken
    }

    /// Writes the next ones, of which there are enough.
    fn draw(&mut self, mut to: &mut [Label]) {
        while !to.is_empty() {
            let (labels, used) = self.made.front_mut().expect("as many were made");
            let here = to.len().min(labels.len() - *used);
            let (now, rest) = to.split_at_mut(here);
            let from = &mut labels[*used..*used + here];
            now.copy_from_slice(from);
            erase(from);
            (to, *used) = (rest, *used + here);
            if *used == labels.len() {
                let _ = self.made.pop_front();
            }
        }
    }
}
