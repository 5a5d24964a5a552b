//! The keys of a batch's items. From each key, the next key can be computed, and no earlier one. So an item
//! that was taken cannot be read again.
//!
//! Programs take the items of a batch in their order. So a store keeps only the key of the first remaining
//! item.

use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop};

use brickwork_base::Error;

/// Bytes of a block of the mask; each block is one output of the hash.
const BLOCK_BYTES: u64 = 64;

/// The keys of a batch's items, from one item on.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
pub struct Chain {
    item: u64,
    key: [u8; 32],
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chain").field("item", &self.item).finish_non_exhaustive()
    }
}

impl Chain {
    /// Draws random keys for a new batch.
    ///
    /// # Errors
    /// [`Error::Resource`] if the operating system gives no randomness.
    pub fn random() -> Result<Self, Error> {
        let mut chain = Chain::of(&[0; 32]);
        getrandom::fill(&mut chain.key).map_err(|error| {
            Error::Resource(format!("the operating system gave no random bytes ({error})"))
        })?;
        Ok(chain)
    }

    /// Makes the keys of a new batch from its first key.
    pub fn of(key: &[u8; 32]) -> Self {
        Chain { item: 0, key: *key }
    }

    /// Returns the key of the next item.
    pub fn key(&self) -> &[u8; 32] {
        &self.key
    }

    /// Returns the first item whose key can still be computed.
    pub fn item(&self) -> u64 {
        self.item
    }

    /// Advances to the key of this item.
    ///
    /// # Errors
    /// [`Error::Stock`] if the item was taken before: its key is erased.
    pub fn go_to(&mut self, item: u64) -> Result<(), Error> {
        if item < self.item {
            return Err(Error::Stock(format!(
                "item {item} was used and its key erased, but the index still has it: the index is an old \
                 copy; burn this part of the stock (`brickwork stock burn`)"
            )));
        }
        while self.item < item {
            self.mask_next(&mut []);
        }
        Ok(())
    }

    /// Masks or unmasks the parts of the next item, and erases the item's key.
    pub fn mask_next(&mut self, pieces: &mut [&mut [u8]]) {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(b"brickwork 2026-11 stock item");
        let mut stream = hasher.finalize_xof();
        stream.fill(&mut self.key);
        self.item += 1;
        stream.set_position(BLOCK_BYTES);
        let mut room = [0; 1024];
        for piece in pieces {
            for chunk in piece.chunks_mut(room.len()) {
                let mask = &mut room[..chunk.len()];
                stream.fill(mask);
                chunk.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= *mask);
            }
        }
        room.zeroize();
        stream.zeroize();
        hasher.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of an item unmasks this item and all later ones, whatever the sizes of the parts, and no
    /// earlier item.
    #[test]
    fn masks_go_forward_only() {
        let start = Chain::random().unwrap();
        let items: Vec<Vec<u8>> = (0..5_u8).map(|k| vec![k; 3000]).collect();
        let (mut chain, mut masked) = (start.clone(), items.clone());
        for item in &mut masked {
            chain.mask_next(&mut [item]);
        }
        assert_eq!(chain.item(), 5);
        let mut seen = std::collections::HashSet::new();
        for (item, masked) in items.iter().zip(&masked) {
            let mask: Vec<u8> = item.iter().zip(masked).map(|(a, b)| a ^ b).collect();
            assert!(mask.chunks(20).all(|part| seen.insert(part.to_vec())), "a mask comes twice");
        }
        for first in 0..5 {
            let mut chain = start.clone();
            chain.go_to(first).unwrap();
            for (item, masked) in items.iter().zip(&masked).skip(first as usize) {
                let (mut head, mut rest) = (masked[..17].to_vec(), masked[17..].to_vec());
                chain.mask_next(&mut [&mut head, &mut rest]);
                assert_eq!([head, rest].concat(), *item);
            }
            if first > 0 {
                let mut chain = start.clone();
                chain.go_to(first).unwrap();
                assert!(matches!(chain.go_to(first - 1), Err(Error::Stock(why)) if why.contains("erased")));
            }
        }
    }
}
