//! The hashes of a session. Two hashes differ in their purpose, their number or their sender.

use brickwork_base::stop::look;
use brickwork_base::{Error, Party};
use brickwork_primitives::long_hash::LongHash;
use brickwork_store::{Counter, Range};

/// The number of bytes of a hash.
pub const HASH: usize = 32;

/// The number of bytes that are hashed before the next check for a stop request: this takes a few
/// milliseconds.
const BETWEEN_LOOKS: usize = 16 << 20;

/// The counter of places. Both parties draw the numbers in the same order.
pub const PLACES: Counter = Counter::new("numbers of hashes", 40);

/// The number of a hash within a session. Hashes for different purposes may share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashNumber(u64);

impl HashNumber {
    /// Returns the next number.
    ///
    /// # Errors
    /// [`Error::Limit`] if the counter is used up.
    pub fn next(places: &mut Range) -> Result<Self, Error> {
        places.draw(1).map(HashNumber)
    }
}

/// The purpose of a hash, or the bytes that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashPurpose {
    /// The compared words of leaky ANDs.
    Compared,
    /// A key of an OT by which digests are compared.
    EqualityKey,
    /// The keys that the evaluator's masked digest selects.
    Asked,
    /// The evaluator's own keys of the comparison.
    Known,
    /// The evaluator's coin: this hash commits to it.
    Coin,
    /// The coins of both parties.
    Coins,
    /// The MACs of opened shares.
    Opened,
    /// The MACs of soldered wires.
    Soldered,
    /// The MACs of the masks of inputs.
    InputMasks,
    /// The evaluator's labels.
    Labels,
    /// The digest that shows that all gates compute AND.
    Gates,
    /// The MACs of the masks of outputs.
    OutputMasks,
}

/// A running hash, mostly of secrets. Its state is erased when dropped.
pub struct RunningHash(LongHash);

impl RunningHash {
    /// Begins a hash that this party or the peer sends, with this purpose and number.
    pub fn new(key: &[u8; 32], purpose: HashPurpose, place: HashNumber, from: Party) -> Self {
        let mut hash = LongHash::keyed(key);
        hash.update(&[purpose as u8, from as u8]).update(&place.0.to_le_bytes());
        RunningHash(hash)
    }

    pub fn update(&mut self, bytes: &[u8]) {
        for some in bytes.chunks(BETWEEN_LOOKS) {
            look();
            self.0.update(some);
        }
    }

    pub fn finish(self) -> [u8; HASH] {
        self.0.finish()
    }

    /// Adds these bytes and returns the hash.
    pub fn of(mut self, bytes: &[u8]) -> [u8; HASH] {
        self.update(bytes);
        self.finish()
    }
}
