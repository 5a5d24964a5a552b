//! XOR-homomorphic interactive hashes (Zhu and Huang 2017, section 4). The receiver has a *hash* of each of
//! the sender's words, and can check by itself whether a word is the hashed one.
//!
//! A word is encoded by a Reed–Solomon code. The receiver watches the same w of the n symbols of every
//! codeword, and the sender does not know which. Two different codewords agree in ℓ − 1 symbols at most. So a
//! word other than the hashed one fits the hash only if all watched symbols are among these. This has
//! probability `C(ℓ − 1, w) / C(n, w)`. If the word is uniform, σ(ℓ − w) bits of it stay hidden. Hashes are
//! linear: the sum of two hashes is the hash of the sum of the words.
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
//! A commitment hides everything until it is opened. A hash reveals the watched symbols at once, so the
//! protocol must not use them as secrets. It derives a secret bit from a value at a point that is never sent:
//! [`SymbolCode::evaluation`]. The paper uses the parity of all bits of the word instead. About one of 64
//! sets of watched symbols determines this parity, and a cheating receiver chooses such a set
//! (docs/protocols/jimu.md).
//!
//! # Openings
//!
//! In the paper, an opened word is sent as a whole and compared with its hash. The receiver already has w
//! symbols of the codeword, so ℓ − w values at points that are never sent complete the word. But then any
//! values fit the hash, so wrong values must be detected in another way. After all openings, the receiver
//! draws combinations, and the sender answers with the combined words in full. If an opened value is wrong,
//! the errors cancel in a combination with probability 2·2^-σ. Otherwise the sender must answer with a word
//! other than the combined one, and this word fits the hash with the probability of
//! [`HashParameters::binding`]. No mask is needed, because both parties know all opened values.
//!
//! # The purpose of the combinations
//!
//! A cheating sender can send wrong corrections of parity symbols, so that the result is not a codeword. Such
//! a result would fit several words, each on another set of symbols. Let A be the symbols in which the
//! sender's answer agrees with the combinations of the hashed words. The answer passes if all watched symbols
//! are in A. If A has fewer than ℓ symbols, this has probability [`HashParameters::binding`] at most. If A
//! has ℓ or more symbols, the combined words agree with codewords on A. If, on a fixed A, the hashed words do
//! not agree with codewords, each combination does so with probability 2·2^-σ at most. There are at most 2^n
//! sets A, which gives [`HashParameters::check`]. So the hashed words agree with codewords on a set that
//! contains every watched symbol. The symbols outside the set do not matter. Each combination is masked by a
//! random word of its own, because an unmasked one would reveal information about the hashed words.
//!
//! The paper counts the needed combinations without the choice of A, but the sender chooses A after it has
//! seen the combinations.
//!
//! Neither time nor memory accesses depend on words or on the choice of the watched symbols: the receiver
//! computes all n symbols and masks the unwatched ones.

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

pub use code::{SymbolCode, Unsent};
pub use field::Field;
pub use parameters::HashParameters;
pub use reading::{PendingReadable, Readable};
pub use receiver::{Completion, Hashes, OpenedCombinations, Receiver, SeenWords, Sight, UncheckedHashes};
pub use seeds::setup_bytes;
pub use sender::{HashMasks, MORE_WORDS, Openings, Sender, WORDS};
pub use watch::WatchedSymbols;
pub use words::{WordStep, Words};

use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::{Error, Malformed, cheats};
use brickwork_wire::Channel;
use words::packed_bytes;

/// The tags of the messages.
pub mod msg {
    use brickwork_wire::Tag;

    /// Sender to receiver: the shares of a secret, which limit the number of symbols that the receiver can
    /// watch.
    pub const SHARES: Tag = Tag(80);
    /// Receiver to sender: the secret.
    pub const SECRET: Tag = Tag(81);
    /// Sender to receiver: corrections of the parity symbols of random words.
    pub const CORRECTIONS: Tag = Tag(82);
    /// Receiver to sender: the seed of combinations.
    pub const SEED: Tag = Tag(83);
    /// Sender to receiver: combined words.
    pub const ANSWER: Tag = Tag(84);
    /// Sender to receiver: differences between chosen words and random words.
    pub const CHOSEN: Tag = Tag(85);
    /// Sender to receiver: values of opened words.
    pub const OPENED: Tag = Tag(86);
    /// Sender to receiver: combinations of opened words.
    pub const OPENINGS: Tag = Tag(87);
}

cheats! {
    /// The ways to cheat with interactive hashes.
    pub enum Cheat of "interactive hashes" {
        /// A message of a wrong type, or of a length that the protocol does not allow.
        UnexpectedMessage = Malformed::UnexpectedMessage,
        /// The sender's shares do not give the secret whose hash it sent.
        Shares = "interactive hash: the shares belong to another secret",
        /// The receiver does not know the secret, because it chose too many seeds.
        Watched = "interactive hash: the receiver watches more symbols than allowed",
        /// Section 4.2, Hash, step 2: the sender's corrected symbols are not a codeword.
        Codeword = "interactive hash: the symbols are not a codeword",
    }
}

/// The largest number of words in a message of corrections.
const MESSAGE: usize = 1 << 11;

/// Returns, for each message of corrections, its first word and its number of words.
fn messages(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).step_by(MESSAGE).map(move |first| (first, MESSAGE.min(count - first)))
}

/// Returns the bytes of each message with corrections, for this many random words.
pub fn correction_bytes(parameters: &HashParameters, count: usize) -> impl Iterator<Item = usize> + use<> {
    let (symbols, bits) = (parameters.n() - parameters.l(), parameters.bits());
    messages(count).map(move |(_, count)| packed_bytes(symbols, count, bits))
}

/// Returns the bytes of the message with the combined words.
pub fn answer_bytes(parameters: &HashParameters, security: u32) -> usize {
    chosen_bytes(parameters, parameters.masks(security))
}

/// Returns the bytes of this many words, or of as many differences.
pub fn chosen_bytes(parameters: &HashParameters, count: usize) -> usize {
    packed_bytes(parameters.l(), count, parameters.bits())
}

/// Returns the bytes of the values that open this many words.
pub fn opened_bytes(parameters: &HashParameters, count: usize) -> usize {
    packed_bytes(parameters.l() - parameters.w(), count, parameters.bits())
}

/// Returns the bytes of the message with the combinations of opened words.
pub fn openings_bytes(parameters: &HashParameters, security: u32) -> usize {
    chosen_bytes(parameters, parameters.openings(security))
}

/// Draws the seed of combinations and sends it at once, so that both parties compute the combinations at the
/// same time. The caller must have received everything that is combined.
///
/// # Errors
/// [`Error::Io`] if the connection fails, [`Error::Resource`] if the system gives no randomness.
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
