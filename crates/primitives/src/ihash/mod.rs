//! XOR-homomorphic interactive hashes (Zhu and Huang 2017, section 4). The receiver has a *hash* of each of
//! the sender's words, and can check by itself whether a word is the hashed one.
//!
//! A word is encoded by a Reed–Solomon code; the receiver watches w of the n symbols, the same ones of all
//! words, and the sender does not know which. Two codewords agree in ℓ − 1 symbols at most, so another word
//! passes only if all watched symbols are among these: `C(ℓ − 1, w) / C(n, w)`. Of a uniform word, σ(ℓ − w)
//! bits stay hidden. Hashes add up as words do.
//!
//! ```text
//!   once:   w-out-of-n OT           sender: n seeds                    receiver: w of them
//!   random words:                   parity symbols, corrected  ──▶     (n − ℓ)·σ bits a word
//!   chosen words:                   differences to random ones ──▶     ℓ·σ bits a word
//!                                   ◀──  seed of combinations          16 bytes
//!                                   combined words             ──▶     ℓ·σ bits each, masked
//!   opened words:                   values at ℓ − w points     ──▶     (ℓ − w)·σ bits a word
//!                                   ◀──  seed of combinations          16 bytes
//!                                   combined words             ──▶     ℓ·σ bits each
//! ```
//!
//! A commitment hides everything until it is opened. A hash does not: the receiver immediately knows the
//! information in it, and this is allowed. So a bit is hidden by taking it from where no symbol is sent:
//! [`Code::evaluation`]. The paper takes the parity of all bits of the word instead, which about one of 64
//! sets of watched symbols determines (docs/protocols/jimu.md); a receiver that cheats chooses such a set.
//!
//! # Openings
//!
//! As printed, an opened word is sent as a whole and compared with its hash. The receiver has w symbols of
//! its codeword, so ℓ − w others are enough to make the word, at points that are never sent. Then every word
//! fits its hash, and a wrong one must be detected differently: after all openings, the receiver draws
//! combinations, for which the sender sends the whole words. If an opened value is wrong, a combination of
//! the errors is 0 with probability 2·2^-σ, or the sender must send another word than the combined one, which
//! fits the hash with the probability of [`Parameters::binding`]. No mask is needed, because both parties
//! know all opened values.
//!
//! # The purpose of the combinations
//!
//! Parity symbols could be corrected to something that is no codeword, which would then pass for several
//! words, each on another set of symbols. Let A be the symbols in which the combinations that the sender
//! sends agree with the combinations of the hashed words. Its answer passes if all watched symbols are in A.
//! If A has fewer than ℓ symbols, that has probability [`Parameters::binding`] at most. If it has more, the
//! combined words are codewords on A; were the words themselves not, for a given A, each combination would be
//! one with probability 2·2^-σ at most, and there are at most 2^n sets A: [`Parameters::check`]. So all words
//! are codewords on a set that has every watched symbol, and the others might as well be. Each combination is
//! masked with a word of its own; without it the combination would reveal something about the hashed words.
//!
//! The paper's count of combinations leaves the choice of A out: the sender chooses it when it knows the
//! combinations.
//!
//! Neither time nor memory accesses depend on words or on the watched symbols: the receiver computes all n
//! symbols, and masks those that it does not watch.

mod code;
mod combine;
mod corrected;
mod field;
mod parameters;
mod reading;
mod receiver;
mod seeds;
mod sender;
#[cfg(test)]
mod tests;
mod watch;
mod words;

pub use code::{Code, Unsent};
pub use field::Field;
pub use parameters::Parameters;
pub use reading::{PendingReadable, Readable};
pub use receiver::{Completion, Hashes, Opened, Pending, Receiver, Seen, Sight};
pub use seeds::setup_bytes;
pub use sender::{MORE_WORDS, Masks, Openings, Sender, WORDS};
pub use watch::Watch;
pub use words::{Step, Words};

use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::{Error, Malformed, cheats};
use brickwork_wire::Channel;
use words::packed_bytes;

/// The messages.
pub mod msg {
    use brickwork_wire::Tag;

    /// Shares of the secret that proves how much is watched, sender to receiver.
    pub const SHARES: Tag = Tag(80);
    /// The secret, receiver to sender.
    pub const SECRET: Tag = Tag(81);
    /// Corrections of the parity symbols of random words, sender to receiver.
    pub const CORRECTIONS: Tag = Tag(82);
    /// Seed of combinations, receiver to sender.
    pub const SEED: Tag = Tag(83);
    /// Combined words, sender to receiver.
    pub const ANSWER: Tag = Tag(84);
    /// Differences of chosen words to random ones, sender to receiver.
    pub const CHOSEN: Tag = Tag(85);
    /// Values of opened words, sender to receiver.
    pub const OPENED: Tag = Tag(86);
    /// Combinations of opened words, sender to receiver.
    pub const OPENINGS: Tag = Tag(87);
}

cheats! {
    /// Cheats with interactive hashes.
    pub enum Cheat of "interactive hashes" {
        /// A message out of its place, or of a length that the protocol does not allow.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// The sender's shares do not come to the secret whose hash it sent.
        Shares = "interactive hash: shares of another secret",
        /// The receiver does not know the secret: it chose too many seeds.
        Watched = "interactive hash: more symbols are watched than allowed",
        /// Section 4.2, Hash, step 2: the sent symbols of words are no codewords.
        Codeword = "interactive hash: symbols of no codeword",
    }
}

/// Most words of a message of corrections.
const MESSAGE: usize = 1 << 11;

/// Returns the words of each message: the first one, and their number.
fn messages(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).step_by(MESSAGE).map(move |first| (first, MESSAGE.min(count - first)))
}

/// Returns the bytes of each message with the corrections of this many random words.
pub fn correction_bytes(parameters: &Parameters, count: usize) -> impl Iterator<Item = usize> + use<> {
    let (symbols, bits) = (parameters.n() - parameters.l(), parameters.bits());
    messages(count).map(move |(_, count)| packed_bytes(symbols, count, bits))
}

/// Returns the bytes of the message with the combined words.
pub fn answer_bytes(parameters: &Parameters, security: u32) -> usize {
    chosen_bytes(parameters, parameters.masks(security))
}

/// Returns the bytes of this many words, or of as many differences of words.
pub fn chosen_bytes(parameters: &Parameters, count: usize) -> usize {
    packed_bytes(parameters.l(), count, parameters.bits())
}

/// Returns the bytes of the opening values of this many words.
pub fn opened_bytes(parameters: &Parameters, count: usize) -> usize {
    packed_bytes(parameters.l() - parameters.w(), count, parameters.bits())
}

/// Returns the bytes of the message with the combinations of opened words.
pub fn openings_bytes(parameters: &Parameters, security: u32) -> usize {
    chosen_bytes(parameters, parameters.openings(security))
}

/// Draws the seed of combinations and sends it at once, so that both parties combine at the same time: when
/// all has come that is combined.
///
/// # Errors
/// [`Error::Io`] if the connection fails, [`Error::Resource`] without randomness.
pub fn ask(channel: &mut Channel) -> Result<Seed, Error> {
    let seed = Rng::new("brickwork interactive hash: combinations")?.seed();
    channel.send(msg::SEED, seed.as_bytes())?;
    channel.flush()?;
    Ok(seed)
}

/// Receives the seed of combinations.
///
/// # Errors
/// [`Error::Io`] if the connection fails.
pub fn asked(channel: &mut Channel) -> Result<Seed, Error> {
    let mut seed = [0; SEED_BYTES];
    channel.receive_into(msg::SEED, &mut seed)?;
    Ok(Seed::from_bytes(seed))
}
