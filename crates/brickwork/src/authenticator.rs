//! Key authenticators: gadgets that accept the two valid labels of a wire and refuse everything else, without telling
//! which truth value a label stands for (Kolesnikov et al. 2017, section 5.1 and appendix A, GenKeyAuth).
//!
//! A *plain* authenticator belongs to a wire whose offset is the session's Δ_ka. An *input* authenticator has its own
//! offset and authenticates itself: its false label is H(Δ). Who learns both labels of a wire learns every offset, and
//! then tells from the label that the garbler sent which input bit it stood for (section 5.2).
//!
//! DEVIATION: the pair of hashes is ordered by colour instead of unordered. A label is accepted only by the hash of its
//! own colour, so two different accepted labels differ in colour. The order tells nothing: colours are random.
//! DEVIATION: hashes are BLAKE3 under a key of the session, separated by gadget, so that one collision, found for one
//! gadget, serves no other.

use subtle::{Choice, ConstantTimeEq};

use crate::label::{Delta, Label};

/// Bytes of an authenticator's hash.
pub const HASH_BYTES: usize = 16;

/// Bytes of an authenticator on the wire: the hashes of the labels of colour 0 and 1.
pub const BYTES: usize = 2 * HASH_BYTES;

/// The hashes of the two valid labels, by colour.
#[derive(Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Authenticator([[u8; HASH_BYTES]; 2]);

/// What a gadget is for; gadgets of different kinds never share a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Plain: outputs of slots and the evaluator's inputs.
    Plain = 0,
    /// Self-authenticating: the garbler's inputs and the outputs that only the garbler learns.
    Input = 1,
}

/// The gadgets of one kind in a session: hashing with its key.
#[derive(Clone)]
pub struct Hasher {
    key: [u8; 32],
    kind: Kind,
    first: u64,
}

impl Hasher {
    /// For the gadgets of this kind in the session with this identifier.
    pub fn new(session: &[u8; 32], kind: Kind) -> Self {
        Hasher { key: blake3::derive_key("brickwork 2026-11 key authenticators", session), kind, first: 0 }
    }

    /// For gadgets made when the session had `made` gadgets already: their indices count from there, so that no two
    /// gadgets of a session share a hash.
    pub fn after(self, made: u64) -> Self {
        Hasher { first: made, ..self }
    }

    fn hash(&self, purpose: u8, index: u64, bits: u128) -> [u8; HASH_BYTES] {
        let mut message = [0; 26];
        message[0] = self.kind as u8;
        message[1] = purpose;
        message[2..10].copy_from_slice(&(self.first + index).to_le_bytes());
        message[10..].copy_from_slice(&bits.to_le_bytes());
        *blake3::keyed_hash(&self.key, &message).as_bytes().first_chunk().expect("32 bytes")
    }

    /// Hash of a label of gadget `index`.
    pub fn label(&self, index: u64, label: Label) -> [u8; HASH_BYTES] {
        self.hash(0, index, label.bits())
    }

    /// H(Δ): the false label of a self-authenticating gadget.
    pub fn false_label(&self, index: u64, delta: Delta) -> Label {
        Label::from_bytes(self.hash(1, index, delta.bits()))
    }

    /// The authenticator of gadget `index` for the label of colour 0 and its offset.
    pub fn authenticator(&self, index: u64, base: Label, delta: Delta) -> Authenticator {
        Authenticator([self.label(index, base), self.label(index, base ^ delta)])
    }

    /// Whether gadget `index` accepts a label: its hash stands at its colour.
    pub fn accepts(&self, authenticator: &Authenticator, index: u64, label: Label) -> Choice {
        let [zero, one] = &authenticator.0;
        let mut expected = [0; HASH_BYTES];
        for (e, (z, o)) in expected.iter_mut().zip(zero.iter().zip(one)) {
            *e = z ^ ((z ^ o) & label.colour().wrapping_neg());
        }
        self.label(index, label).ct_eq(&expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_the_two_labels_by_colour_and_nothing_else() {
        let hasher = Hasher::new(&[7; 32], Kind::Plain);
        let (base, delta) = (Label::from_bits(0x1234_5678), Delta::new(0xdead_beef_0000_0001));
        let gadget = hasher.authenticator(5, base, delta);
        let accepts = |index, label| bool::from(hasher.accepts(&gadget, index, label));
        assert!(accepts(5, base) && accepts(5, base ^ delta));
        assert!(!accepts(6, base), "another gadget");
        for bit in 0..128 {
            let wrong = Label::from_bits(1 << bit);
            assert!(!accepts(5, base ^ wrong) && !accepts(5, base ^ delta ^ wrong));
        }
        assert!(!bool::from(Hasher::new(&[8; 32], Kind::Plain).accepts(&gadget, 5, base)), "another session");
        assert!(!bool::from(Hasher::new(&[7; 32], Kind::Input).accepts(&gadget, 5, base)), "another kind");
    }

    /// Row 29: a hash that stands at the other colour's place is refused, so a third label cannot be accepted.
    #[test]
    fn row_29_hash_at_the_wrong_colour() {
        let hasher = Hasher::new(&[7; 32], Kind::Plain);
        let (base, delta) = (Label::from_bits(2), Delta::new(9));
        let Authenticator([zero, one]) = hasher.authenticator(0, base, delta);
        let swapped = Authenticator([one, zero]);
        assert!(!bool::from(hasher.accepts(&swapped, 0, base)));
        let twice = Authenticator([zero, zero]);
        assert!(bool::from(hasher.accepts(&twice, 0, base)));
        assert!(!bool::from(hasher.accepts(&twice, 0, base ^ delta)));
        assert!(!bool::from(hasher.accepts(&twice, 0, base.with_colour(1))));
    }
}
