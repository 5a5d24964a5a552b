//! Correlated OTs from a pseudorandom correlation generator: a few OTs become many, at a fraction of a byte
//! each. The construction is Ferret (Yang, Weng, Lan, Zhang, Wang, CCS 2020) with the correlated trees of
//! Half-Tree (Guo, Yang, Wang, Zhang, Xie, Liu, Zhao, EUROCRYPT 2023).
//!
//! An *iteration* uses k + t·d + 128 OTs of the iteration before ([`PcgParameters`]) and makes n = t·2^d. The
//! first iteration uses OTs of [`softspoken`](super::softspoken) with K = 8.
//!
//! ```text
//!   sender -> receiver     a word for each level of each tree but the first
//!   receiver -> sender     a challenge χ; x' = x ⊕ x*
//!   sender -> receiver     a hash of V
//! ```
//!
//! **Trees.** The sender grows t trees of d levels. The nodes of each level of a tree add up to Δ. For each
//! level, there is an OT with the sender's key K and the receiver's mac M = K ⊕ r·Δ. On the first level K is
//! the left node, so M is the left node for r = 0 and the right node for r = 1. For each other level, the
//! sender sends `c = K ⊕ (sum of the left nodes)`, and `c ⊕ M` is the sum of the left nodes or of the right
//! nodes. So the receiver learns all nodes of a level but one. The missing node is on the path that takes the
//! unknown child on each level. On the last level it learns all leaves v but the leaf of this path α. There
//! it has v_α ⊕ Δ, the sum of all others. So the leaves are OTs `w = v ⊕ e·Δ` whose choice e is 1 at α and 0
//! elsewhere. Both parties overwrite the last bits: 0 at the sender, e at the receiver.
//!
//! If enough OTs are left, several iterations run at once to save flights.
//!
//! **Code.** k OTs have the keys K, the macs M and the choices u. With a public sparse matrix A, the sender
//! computes `A·K ⊕ v`, and the receiver `A·M ⊕ w`. These are OTs with choices `A·u ⊕ e`. The choices look
//! random by LPN with regular noise, whose hardness [`lpn`](super::lpn) estimates. A hash of all earlier
//! messages determines a new A for each iteration.
//!
//! # The check
//!
//! A sender that sends other corrections makes trees that depend on α. The sender would learn something about
//! α from the receiver's failure or success. So all trees are checked before a leaf is used. χ gives random
//! elements a of trees and b of leaves in GF(2^128), and the check compares
//!
//! ```text
//!   W = Σ a_i·b_j·w_ij ⊕ Σ X^l·M_l      x = Σ a_i·b_(α_i)      x* = Σ X^l·r_l      over 128 further OTs l
//!   V = Σ a_i·b_j·v_ij ⊕ Σ X^l·K_l ⊕ x'·Δ
//! ```
//!
//! The receiver draws χ after it has received the words. The sender sends only a hash of V, so that a wrong
//! x' reveals nothing to the receiver. docs/protocols/ot.md says how much either party learns by cheating.
//!
//! The receiver's paths are secret: they steer no branch and no address
//! ([`brickwork_kernels::complete_tree`]). The positions of the ones in a row of A are public.

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
use brickwork_kernels::{Aes128, Kernel, SecretBlocks, add_encoded, erase, gf128_reduce, hash_rows};
use zeroize::Zeroizing;

pub use both::provide;
use parameters::CHECK;
pub use parameters::{LEAST_BITS, PARAMETERS, PcgParameters, check_log2, iterations, lpn_bits};
pub use receiver::Receiver;
pub use sender::Sender;

/// The messages of an iteration.
pub mod msg {
    use brickwork_wire::Tag;

    /// From the sender: a correction for each level of each tree except the first level.
    pub const CORRECTIONS: Tag = Tag(27);
    /// From the receiver: χ and x'.
    pub const CHALLENGE: Tag = Tag(28);
    /// From the sender: the hash of V.
    pub const PROOF: Tag = Tag(29);
    /// From the receiver, if its caller gives the choices: their differences to the random choices, packed.
    pub const DIFFERENCES: Tag = Tag(30);
}

cheats! {
    /// The ways in which a sender can cheat in an iteration.
    pub enum Cheat of "oblivious transfer" {
        /// PCG (Yang et al. 2020, Guo et al. 2023): the receiver's completed trees do not match the sender's.
        PcgTrees = "PCG: the trees are inconsistent",
    }
}

/// The keys of an iteration, derived from a hash of all earlier messages.
struct Keys {
    trees: Vec<Aes128>,
    /// The key that determines the positions of the ones in A.
    code: Aes128,
    proof: [u8; 32],
}

impl Keys {
    /// Returns the keys of iteration `k` of those that run at the same time.
    fn new(hashed: &[u8; 32], k: usize, parameters: &PcgParameters) -> Self {
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

    /// Returns the hash of V, which the parties compare.
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

/// Returns the digest of an iteration's messages, on which later keys depend.
fn transcript(corrections: &[u128], challenge: &[u128; 2]) -> Seed {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 PCG transcript");
    hasher.update(bytemuck::cast_slice(corrections)).update(bytemuck::cast_slice(challenge));
    Seed::from_bytes(*hasher.finalize().as_bytes().first_chunk().expect("32 bytes"))
}

/// The elements of the check: one for each tree, and one for each leaf position.
pub(crate) struct Elements {
    trees: Vec<u128>,
    leaves: Vec<u128>,
}

impl Elements {
    fn new(chi: u128, parameters: &PcgParameters) -> Self {
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

fn product(words: &[u128], elements: &[u128]) -> u128 {
    let mut sum = [[0; 2]];
    hash_rows(&mut sum, words, elements);
    gf128_reduce(sum[0])
}

/// Returns Σ X^l·word_l over 128 words.
fn packed(words: &[Label]) -> u128 {
    let powers: [u128; CHECK] = std::array::from_fn(|l| 1 << l);
    product(bytemuck::cast_slice(words), &powers)
}

/// OTs that passed the check and are not used yet.
#[derive(Default)]
struct Pool {
    /// The OTs of each iteration, oldest first, with the number of those that are used.
    made: VecDeque<(SecretBlocks<Label>, usize)>,
}

impl Pool {
    fn left(&self) -> usize {
        self.made.iter().map(|(labels, used)| labels.len() - used).sum()
    }

    /// Adds the OTs of an iteration.
    fn put(&mut self, labels: SecretBlocks<Label>) {
        self.made.push_back((labels, 0));
    }

    /// Removes and returns the next OTs. The caller must make sure that there are enough.
    fn take(&mut self, count: usize) -> SecretBlocks<Label> {
        let mut taken = SecretBlocks::zeros(count);
        self.draw(&mut taken);
        taken
    }

    /// Removes the next OTs and writes them to `to`. The caller must make sure that there are enough.
    fn draw(&mut self, mut to: &mut [Label]) {
        while !to.is_empty() {
            let (labels, used) =
                self.made.front_mut().expect("the caller has checked that enough OTs are left");
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
