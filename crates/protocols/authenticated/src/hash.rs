//! Hashes of a session: no two for the same purpose, place and sender.

use brickwork_base::stop::look;
use brickwork_base::{Error, Party};
use brickwork_primitives::long_hash::LongHash;
use brickwork_stock::{Counter, Range};

/// Bytes of a hash.
pub const HASH: usize = 32;

/// Bytes that are hashed between two looks whether this party is to stop: some milliseconds.
const BETWEEN_LOOKS: usize = 16 << 20;

/// The counter of positions: each hash has one, and both parties draw them in the same order.
pub const PLACES: Counter = Counter::new("places of hashes", 40);

/// The place of a hash, or of several for different purposes, in all that a session says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u64);

impl Place {
    /// Returns the next one.
    ///
    /// # Errors
    /// [`Error::Limit`] if there is none left.
    pub fn next(places: &mut Range) -> Result<Self, Error> {
        places.draw(1).map(Place)
    }
}

/// The purpose of a hash.
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

/// A hash that is being computed, mostly of secrets. It is erased when dropped.
pub struct Hasher(LongHash);

impl Hasher {
    /// Begins the hash of a party's message for a purpose, at this position.
    pub fn new(key: &[u8; 32], purpose: Purpose, place: Place, from: Party) -> Self {
        let mut hash = LongHash::keyed(key);
        hash.update(&[purpose as u8, from as u8]).update(&place.0.to_le_bytes());
        Hasher(hash)
    }

    /// Takes in these bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        for some in bytes.chunks(BETWEEN_LOOKS) {
            look();
            self.0.update(some);
        }
    }

    /// Returns the hash of all that was taken in.
    pub fn finish(self) -> [u8; HASH] {
        self.0.finish()
    }

    /// Returns the hash of these bytes, after its name.
    pub fn of(mut self, bytes: &[u8]) -> [u8; HASH] {
        self.update(bytes);
        self.finish()
    }
}
