//! XOR-homomorphic interactive hashes (Zhu and Huang 2017, section 4): the receiver holds a *hash* of each of
//! the sender's words, and checks by itself, without the sender, whether a word is the hashed one.
//!
//! A word is encoded by a Reed–Solomon code; the receiver watches w of the n symbols, the same ones of all
//! words, and the sender does not know which. Two codewords agree in ℓ − 1 symbols at most, so another word
//! passes only if all watched symbols are among these: `C(ℓ − 1, w) / C(n, w)`. Of a uniform word σ(ℓ − w)
//! bits stay hidden. Hashes add up as words do.
//!
//! ```text
//!   once:   w-out-of-n OT           sender: n seeds                    receiver: w of them
//!   random words:                   parity symbols, corrected  ──▶     (n − ℓ)·σ bits a word
//!                                   ◀──  seed of combinations          16 bytes
//!                                   combined words             ──▶     ℓ·σ bits each, masked
//!   chosen words:                   differences to random ones ──▶     ℓ·σ bits a word
//! ```
//!
//! A commitment hides everything until it is opened. A hash does not: what it says of the word is told at
//! once, and that is allowed. So a bit is hidden by taking it from where no symbol is sent:
//! [`Code::evaluation`]. The paper takes the parity of all bits of the word instead, which about one of 64
//! sets of watched symbols determines (docs/jimu.md); a receiver that cheats chooses such a set.
//!
//! # What the combinations are for
//!
//! Parity symbols could be corrected to something that is no codeword, which would then pass for several
//! words, each on another set of symbols. Let A be the symbols in which the combinations that the sender
//! sends agree with the combinations of what it hashed. Its answer passes if all watched symbols are in A. If
//! A has fewer than ℓ symbols, that has probability [`Parameters::binding`] at most. If it has more, the
//! combined words are codewords on A; were the words themselves not, for a given A, each combination would be
//! one with probability 2·2^-σ at most, and there are at most 2^n sets A: [`Parameters::check`]. So all words
//! are codewords on a set that has every watched symbol, and the others might as well be. Each combination
//! has a word of its own as a mask, without which it would tell of the others.
//!
//! The paper's count of combinations leaves the choice of A out: the sender chooses it when it knows the
//! combinations.
//!
//! Neither time nor memory accesses depend on words or on what is watched: the receiver computes all n
//! symbols, and masks those that it does not watch.

mod code;
mod field;
mod parameters;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;
mod watch;

pub use code::{Code, Step, Symbols, Unsent};
pub use field::Field;
pub use parameters::Parameters;
pub use receiver::{Hashes, Pending, Receiver};
pub use sender::Sender;
pub use watch::{Watch, setup_bytes};

use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::{Malformed, cheats};
use field::FOLDED;

/// The messages.
pub mod msg {
    use brickwork_wire::Tag;

    /// Shares of the secret that proves how much is watched, sender to receiver.
    pub const SHARES: Tag = Tag(80);
    /// The secret, receiver to sender.
    pub const SECRET: Tag = Tag(81);
    /// Corrections of the parity symbols of random words, sender to receiver.
    pub const CORRECTIONS: Tag = Tag(82);
    /// Seed of the combinations, receiver to sender.
    pub const SEED: Tag = Tag(83);
    /// Combined words, sender to receiver.
    pub const ANSWER: Tag = Tag(84);
    /// Differences of chosen words to random ones, sender to receiver.
    pub const CHOSEN: Tag = Tag(85);
}

cheats! {
    /// What a cheater can do with interactive hashes.
    pub enum Cheat of "interactive hashes" {
        /// A message out of its place, or of a length that the protocol does not allow.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// The sender's shares do not come to the secret whose hash it sent.
        Shares = "interactive hash: shares of another secret",
        /// The receiver does not know the secret: it chose too many seeds.
        Watched = "interactive hash: more symbols are watched than allowed",
        /// Section 4.2, Hash, step 2: what was sent as the symbols of words are no codewords.
        Codeword = "interactive hash: symbols of no codeword",
    }
}

/// Returns the number of bytes of the message with the combined words.
pub fn answer_bytes(parameters: &Parameters, security: u32) -> usize {
    code::packed_bytes(parameters.l(), parameters.masks(security), parameters.bits())
}

/// Returns the number of bytes of the corrections of so many random words, those of the masks included.
pub fn correction_bytes(parameters: &Parameters, count: usize, security: u32) -> usize {
    let count = count + parameters.masks(security);
    code::packed_bytes(parameters.n() - parameters.l(), count, parameters.bits())
}

/// Returns the number of bytes of the differences of so many chosen words.
pub fn chosen_bytes(parameters: &Parameters, count: usize) -> usize {
    code::packed_bytes(parameters.l(), count, parameters.bits())
}

/// The coefficients of combinations: of each, one for each 64 words, then one for each of the 64 sums.
struct Combinations {
    chunks: Vec<Vec<u8>>,
    lanes: Vec<Vec<u8>>,
}

impl Combinations {
    /// Those of this seed, `masks` of so many words.
    fn expand(seed: &Seed, field: Field, masks: usize, count: usize) -> Self {
        let mut rng = Rng::expand(seed, "brickwork interactive hash combinations");
        let mut draw = |length: usize| {
            let mut coefficients = vec![0; length];
            rng.fill(&mut coefficients);
            coefficients.iter_mut().for_each(|x| *x &= field.mask());
            coefficients
        };
        let (mut chunks, mut lanes) = (Vec::new(), Vec::new());
        for _ in 0..masks {
            chunks.push(draw(count.div_ceil(FOLDED)));
            lanes.push(draw(FOLDED));
        }
        Combinations { chunks, lanes }
    }

    /// The combinations of words, each with a mask: as many words, one for each combination. Symbols behind
    /// the last word must be zeros.
    fn of(&self, field: Field, words: &Symbols, masks: &Symbols) -> Symbols {
        let mut combined = masks.clone();
        for i in 0..words.rows() {
            let mut folded = vec![[0; FOLDED / 16]; self.chunks.len()];
            let blocks = words.row_blocks();
            field.fold(&self.chunks, &words.blocks()[i * blocks..][..blocks], &mut folded);
            let sums: &[u8] = bytemuck::cast_slice(folded.as_flattened());
            for (symbol, (sums, lanes)) in
                combined.row_mut(i).iter_mut().zip(sums.chunks_exact(FOLDED).zip(&self.lanes))
            {
                *symbol ^= sums.iter().zip(lanes).fold(0, |all, (&sum, &lane)| all ^ field.mul(sum, lane));
            }
            zeroize::Zeroize::zeroize(&mut folded);
        }
        combined
    }
}

/// A seed that came in a message.
fn seed_of(bytes: &[u8]) -> Result<Seed, Cheat> {
    <[u8; SEED_BYTES]>::try_from(bytes).map(Seed::from_bytes).map_err(|_| Cheat::UnexpectedMessage)
}
