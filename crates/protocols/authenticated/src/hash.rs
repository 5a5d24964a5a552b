//! Hashes of a session: no two for the same purpose, batch and sender.

use brickwork_base::Party;

/// Bytes of a hash.
pub const HASH: usize = 32;

/// What a hash is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The words of leaky ANDs.
    Compared,
    /// The key of an OT by which digests are compared.
    EqualityKey,
    /// Keys that a masked digest asked for.
    Asked,
    /// The evaluator's own keys.
    Known,
    /// The evaluator's coin, hidden.
    Coin,
    /// Both coins.
    Coins,
    /// Macs of opened shares.
    Opened,
    /// Macs of soldered wires.
    Soldered,
    /// Macs of the masks of inputs.
    InputMasks,
    /// Labels that the evaluator has.
    Labels,
    /// That all gates are AND.
    Gates,
    /// Macs of the masks of outputs.
    OutputMasks,
}

/// A hash in the making: of what this party says, in this batch.
pub fn hasher(key: &[u8; 32], purpose: Purpose, batch: usize, from: Party) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&[purpose as u8, from as u8]).update(&(batch as u64).to_le_bytes());
    hasher
}
