//! Key authenticators: an authenticator accepts the two valid labels of a wire and refuses everything else.
//! So the evaluator can check a label without learning which bit the label stands for (Kolesnikov et al.
//! 2017, section 5.1 and appendix A, GenKeyAuth).
//!
//! A *plain* authenticator belongs to a wire whose offset is the session's Δ_ka. An *input* authenticator has
//! its own offset Δ, and its false label is H(Δ). So a party that learns both labels of a wire, and thereby
//! every offset, can read the garbler's input bit from its label (section 5.2).
//!
//! DEVIATION: the pair of hashes is ordered by colour instead of unordered. A label is accepted only by the
//! hash of its own colour, so two different accepted labels differ in colour. The order reveals nothing,
//! because colours are random. DEVIATION: hashes are BLAKE3 under a key of the session, and include the index
//! of the authenticator. So a collision that is found for one authenticator is useless for all others.

use brickwork_kernels as kernels;
use subtle::{Choice, ConstantTimeEq};

use brickwork_base::label::{Delta, Label};
use brickwork_base::pool;

/// Bytes of an authenticator on the wire: the hashes of the labels of colour 0 and 1, 16 bytes each.
pub const BYTES: usize = 32;

/// The hashes of the two valid labels, indexed by colour.
#[derive(Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Authenticator([u128; 2]);

impl Authenticator {
    /// Returns whether `hash` is the stored hash for the label's colour.
    fn has(&self, label: Label, hash: u128) -> Choice {
        let [zero, one] = self.0;
        (zero ^ ((zero ^ one) & u128::from(label.colour()).wrapping_neg())).ct_eq(&hash)
    }
}

/// The purpose of an authenticator; authenticators of different kinds never share a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AuthenticatorKind {
    /// A plain authenticator, for outputs of slots.
    Plain = 0,
    /// An input authenticator, for the garbler's inputs and for outputs that only the garbler learns.
    Input = 1,
}

/// The kind of the hashed value: a label or an offset.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Purpose {
    Label = 0,
    Offset = 1,
}

/// The number of messages that are hashed in one call: enough to fill the registers of every kernel several
/// times.
const RUN: usize = 256;

/// The hash function for the authenticators of one kind in a session.
///
/// A message has 32 bytes: index of the authenticator (8 bytes, little endian), kind, purpose, six zeros,
/// label or offset. The hash is the first 16 bytes of BLAKE3, keyed by the session. Many authenticators are
/// hashed side by side.
#[derive(Clone)]
pub struct Hasher {
    key: [u8; 32],
    kind: AuthenticatorKind,
    first: u64,
}

impl Hasher {
    /// Makes the hasher for the authenticators of this kind in the session with this identifier.
    pub fn new(session: &[u8; 32], kind: AuthenticatorKind) -> Self {
        Hasher { key: blake3::derive_key("brickwork 2026-11 key authenticators", session), kind, first: 0 }
    }

    /// Returns the hasher for further authenticators, if the session has already made `made` of them. The
    /// indices continue at `made`, so that no two authenticators of a session share a hash.
    pub fn after(self, made: u64) -> Self {
        Hasher { first: made, ..self }
    }

    /// Returns the number of authenticators that the session made before.
    pub fn made(&self) -> u64 {
        self.first
    }

    /// Computes each of `hashes` from the pair (authenticator, bits) that `item` returns for its index.
    fn hash_run(&self, purpose: Purpose, hashes: &mut [u128], item: impl Fn(usize) -> (u64, u128)) {
        let mut messages = [[0; 2]; RUN];
        let head = u128::from(self.kind as u8) << 64 | u128::from(purpose as u8) << 72;
        for (r, hashes) in hashes.chunks_mut(RUN).enumerate() {
            let messages = &mut messages[..hashes.len()];
            for (i, message) in messages.iter_mut().enumerate() {
                let (index, bits) = item(r * RUN + i);
                *message = [head | u128::from(self.first + index), bits];
            }
            kernels::keyed_hashes(&self.key, messages, hashes);
        }
        kernels::erase(&mut messages);
    }

    /// Returns H(Δ) for authenticators, given by index and offset: the false labels of input authenticators.
    pub fn false_labels(
        &self,
        count: usize,
        authenticator: impl Fn(usize) -> (u64, Delta) + Sync,
    ) -> Vec<Label> {
        let mut labels = vec![Label::ZERO; count];
        let hash = |_: &mut (), r: usize, labels: &mut [Label]| {
            self.hash_run(Purpose::Offset, bytemuck::cast_slice_mut(labels), |i| {
                let (index, delta) = authenticator(r * RUN + i);
                (index, delta.bits())
            });
        };
        pool::map(labels.chunks_mut(RUN).collect(), || (), hash);
        labels
    }

    /// Makes `count` authenticators. `authenticator` returns the index, the label of colour 0 and the offset
    /// of each authenticator.
    pub fn authenticators(
        &self,
        count: usize,
        authenticator: impl Fn(usize) -> (u64, Label, Delta) + Sync,
    ) -> Vec<Authenticator> {
        let mut made = vec![Authenticator::default(); count];
        let hash = |_: &mut (), r: usize, made: &mut [Authenticator]| {
            self.hash_run(Purpose::Label, bytemuck::cast_slice_mut(made), |i| {
                let (index, base, delta) = authenticator(r * RUN + i / 2);
                (index, (base ^ delta.times((i % 2) as u8)).bits())
            });
        };
        pool::map(made.chunks_mut(RUN).collect(), || (), hash);
        made
    }

    /// Returns for each of `count` labels whether an authenticator accepts it: whether its hash is the stored
    /// hash of its colour. `query` returns the authenticator, its index and the label.
    pub fn accepts(
        &self,
        count: usize,
        query: impl Fn(usize) -> (Authenticator, u64, Label) + Sync,
    ) -> Vec<bool> {
        let mut accepted = vec![false; count];
        let judge = |_: &mut (), r: usize, accepted: &mut [bool]| {
            let mut hashes = [0; RUN];
            let query = |i: usize| query(r * RUN + i);
            self.hash_run(Purpose::Label, &mut hashes[..accepted.len()], |i| {
                let (_, index, label) = query(i);
                (index, label.bits())
            });
            for (i, (accepted, hash)) in accepted.iter_mut().zip(hashes).enumerate() {
                let (authenticator, _, label) = query(i);
                *accepted = authenticator.has(label, hash).into();
            }
        };
        pool::map(accepted.chunks_mut(RUN).collect(), || (), judge);
        accepted
    }
}

/// The number of messages that [`Hasher::votes`] hashes at once.
const FEW: usize = 128;

impl Hasher {
    /// Does the same as [`Hasher::accepts`] on this thread and without allocating, and writes votes: 1 for an
    /// accepted label, 0 for a refused one. `authenticator` returns the authenticator of a place, and `query`
    /// its index and the label.
    pub fn votes<'a>(
        &self,
        authenticator: impl Fn(usize) -> &'a Authenticator,
        query: impl Fn(usize) -> (u64, Label),
        votes: &mut [u8],
    ) {
        let head = u128::from(self.kind as u8) << 64 | u128::from(Purpose::Label as u8) << 72;
        let (mut messages, mut hashes) = ([[0; 2]; FEW], [0; FEW]);
        let mut first = 0;
        for votes in votes.chunks_mut(FEW) {
            let (messages, hashes) = (&mut messages[..votes.len()], &mut hashes[..votes.len()]);
            for (i, message) in messages.iter_mut().enumerate() {
                let (index, label) = query(first + i);
                *message = [head | u128::from(self.first + index), label.bits()];
            }
            kernels::keyed_hashes(&self.key, messages, hashes);
            for (i, (vote, (message, &hash))) in
                votes.iter_mut().zip(messages.iter().zip(&*hashes)).enumerate()
            {
                *vote = authenticator(first + i).has(Label::from_bits(message[1]), hash).unwrap_u8();
            }
            first += votes.len();
        }
        kernels::erase(&mut messages);
        kernels::erase(&mut hashes);
    }
}

/// The reason why an evaluator has no usable label for a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLabel {
    /// The authenticators accept no label.
    None,
    /// The authenticators accept three different labels, or two different labels of one colour.
    Third,
}

/// Performs EvKAs of the paper: takes the labels that the copies of a bucket gave for one wire, each with the
/// answer of the authenticators. Returns an accepted label, and the offset if two labels are accepted, or
/// zero. The function examines all labels, even equal ones. No branch depends on which labels are equal, only
/// on whether there is a usable label.
///
/// # Errors
/// If there is no usable label.
pub fn one_or_two(asked: impl Iterator<Item = (Label, bool)>) -> Result<(Label, Label), NoLabel> {
    let (mut one, mut any, mut sum, mut two, mut third) = (Label::ZERO, 0, Label::ZERO, 0, 0);
    for (label, valid) in asked {
        let valid = u8::from(valid);
        one ^= label.times(valid & (1 ^ any));
        any |= valid;
        let difference = (one ^ label).times(valid);
        let differs = (!difference.ct_eq(&Label::ZERO)).unwrap_u8();
        sum ^= difference.times(1 ^ two);
        two |= differs;
        third |= differs & (!difference.ct_eq(&sum)).unwrap_u8();
    }
    if any == 0 {
        return Err(NoLabel::None);
    }
    // Two accepted labels of one colour need a collision of the hash, and so does a third accepted label.
    // Nobody can find one.
    if third == 1 || two != sum.colour() {
        return Err(NoLabel::Third);
    }
    Ok((one, sum))
}

#[cfg(test)]
mod tests {
    // Rows are those of the table of attacks (docs/concepts/security.md, section 14).

    use super::*;
    use brickwork_testing::Replayable as _;

    fn accepts(hasher: &Hasher, authenticator: Authenticator, index: u64, label: Label) -> bool {
        hasher.accepts(1, |_| (authenticator, index, label))[0]
    }

    #[test]
    fn accepts_the_two_labels_by_colour_and_nothing_else() {
        let hasher = Hasher::new(&[7; 32], AuthenticatorKind::Plain);
        let (base, delta) = (Label::from_bits(0x1234_5678), Delta::new(0xdead_beef_0000_0001));
        let authenticator = hasher.authenticators(1, |_| (5, base, delta))[0];
        assert!(accepts(&hasher, authenticator, 5, base) && accepts(&hasher, authenticator, 5, base ^ delta));
        assert!(!accepts(&hasher, authenticator, 6, base), "another authenticator");
        for bit in 0..128 {
            let wrong = Label::from_bits(1 << bit);
            assert!(
                !accepts(&hasher, authenticator, 5, base ^ wrong)
                    && !accepts(&hasher, authenticator, 5, base ^ delta ^ wrong)
            );
        }
        assert!(
            !accepts(&Hasher::new(&[8; 32], AuthenticatorKind::Plain), authenticator, 5, base),
            "another session"
        );
        assert!(
            !accepts(&Hasher::new(&[7; 32], AuthenticatorKind::Input), authenticator, 5, base),
            "another kind"
        );
        assert!(!accepts(&hasher.after(1), authenticator, 5, base), "a later authenticator");
    }

    /// [`Hasher::votes`] accepts the same labels as [`Hasher::accepts`].
    #[test]
    fn votes_are_what_is_accepted() {
        let hasher = Hasher::new(&[7; 32], AuthenticatorKind::Plain).after(11);
        let mut rng = brickwork_base::random::Rng::replayable("test votes");
        for count in [0, 1, 5, FEW - 1, FEW, FEW + 1, 3 * FEW + 7] {
            let wires: Vec<(Label, Delta)> = (0..count).map(|_| (rng.label(), rng.delta())).collect();
            let made = hasher.authenticators(count, |k| (k as u64, wires[k].0.with_colour(0), wires[k].1));
            let asked: Vec<Label> = wires
                .iter()
                .map(|(label, delta)| match rng.below(3) {
                    0 => label.with_colour(0),
                    1 => label.with_colour(0) ^ *delta,
                    _ => rng.label(),
                })
                .collect();
            let query = |k: usize| (made[k], k as u64, asked[k]);
            let mut votes = vec![7; count];
            hasher.votes(|k| &made[k], |k| (k as u64, asked[k]), &mut votes);
            let accepted = hasher.accepts(count, query);
            assert!(votes.iter().zip(&accepted).all(|(&vote, &yes)| vote == u8::from(yes)), "{count}");
            assert!(count < FEW || votes.contains(&0) && votes.contains(&1));
        }
    }

    /// The hashes of authenticators are part of the protocol, so their values must not change.
    #[test]
    fn hashes_are_those_of_blake3_for_any_number_of_authenticators() {
        let session = [3; 32];
        let key = blake3::derive_key("brickwork 2026-11 key authenticators", &session);
        let expected = |kind: u8, purpose: u8, index: u64, bits: u128| {
            let message =
                [&index.to_le_bytes()[..], &[kind, purpose, 0, 0, 0, 0, 0, 0], &bits.to_le_bytes()].concat();
            u128::from_le_bytes(*blake3::keyed_hash(&key, &message).as_bytes().first_chunk().unwrap())
        };
        for count in [0, 1, 31, 33, RUN / 2, RUN, RUN + 1, 2 * RUN + 77] {
            let hasher = Hasher::new(&session, AuthenticatorKind::Input).after(1 << 33);
            let wire = |i: usize| (3 * i as u64, Label::from_bits(2 << (i % 127)), Delta::new(i as u128));
            let made = hasher.authenticators(count, wire);
            let false_labels = hasher.false_labels(count, |i| (wire(i).0, wire(i).2));
            for (i, (made, false_label)) in made.iter().zip(false_labels).enumerate() {
                let (index, base, delta) = wire(i);
                let index = index + (1 << 33);
                assert_eq!(made.0, [base, base ^ delta].map(|label| expected(1, 0, index, label.bits())));
                assert_eq!(false_label.bits(), expected(1, 1, index, delta.bits()));
            }
            let queries = |i: usize| {
                (
                    made[i],
                    wire(i).0,
                    if i.is_multiple_of(3) { Label::from_bits(u128::MAX) } else { wire(i).1 },
                )
            };
            assert!(
                hasher
                    .accepts(count, queries)
                    .iter()
                    .enumerate()
                    .all(|(i, &accepted)| accepted != i.is_multiple_of(3))
            );
        }
    }

    /// Row 29 of the table of attacks: a hash at the position of the other colour is refused, so a third
    /// label cannot be accepted.
    #[test]
    fn row_29_hash_at_the_wrong_colour() {
        let hasher = Hasher::new(&[7; 32], AuthenticatorKind::Plain);
        let (base, delta) = (Label::from_bits(2), Delta::new(9));
        let Authenticator([zero, one]) = hasher.authenticators(1, |_| (0, base, delta))[0];
        assert!(!accepts(&hasher, Authenticator([one, zero]), 0, base));
        let twice = Authenticator([zero, zero]);
        assert!(accepts(&hasher, twice, 0, base));
        assert!(!accepts(&hasher, twice, 0, base ^ delta));
        assert!(!accepts(&hasher, twice, 0, base.with_colour(1)));
    }
}
