//! w-out-of-n OT of seeds, from n OTs that the receiver chooses in.
//!
//! ```text
//! sender: keys k_{i,0}, k_{i,1}                         receiver: k_{i,1} where it watches, else k_{i,0}
//! secret S, shared so that n − w shares give it
//! share_i ⊕ k_{i,0} for all i, a hash of S        ──▶   the n − w shares, thus S; is its hash the one sent?
//! is it S?                                        ◀──   S
//! ```
//!
//! The seed of symbol i is k_{i,1}. Whoever knows n − w shares chose that many times the key that is none.
//! Fewer shares say nothing of S. The hash is what binds the sender: without it the sender could send shares
//! of no secret, and learn from the answer which of them it was made of. So all that a sender learns by wrong
//! shares is whether the receiver notices; what that tells of the watched symbols, it pays with the risk of
//! being found out, which the bound of the hash counts: in the end all symbols that were watched lie in a set
//! that the sender named, with probability `C(ℓ − 1, w) / C(n, w)`, whatever it asked before.

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeLess};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::code::{Code, Symbols};
use super::field::Field;
use super::parameters::Parameters;
use super::{Cheat, msg};
use brickwork_base::Error;
use brickwork_base::random::{Rng, Seed};
use brickwork_wire::Channel;

/// Bytes of the secret.
const SECRET: usize = 16;

/// Bytes of its hash.
const HASH: usize = 32;

/// Returns the bytes of the messages by which a hash is set up: the sender's and the receiver's.
pub fn setup_bytes(parameters: &Parameters) -> [usize; 2] {
    [SECRET * parameters.n() + HASH, SECRET]
}

/// Which symbols a receiver watches: for each 1 or 0.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Watch(Vec<u8>);

impl Watch {
    /// Draws w of n symbols, each set as likely as any other: those of the least of n random numbers.
    pub fn draw(parameters: &Parameters, rng: &mut Rng) -> Self {
        let numbers: Zeroizing<Vec<u128>> =
            Zeroizing::new((0..parameters.n()).map(|_| rng.block()).collect());
        let watched = |i: usize| {
            let smaller = numbers
                .iter()
                .fold(0_u32, |smaller, other| smaller + u32::from(other.ct_lt(&numbers[i]).unwrap_u8()));
            smaller.ct_lt(&(parameters.w() as u32)).unwrap_u8()
        };
        Watch((0..parameters.n()).map(watched).collect())
    }

    /// Returns the choices, 1 where a symbol is watched, in the OTs that the seeds come from.
    pub fn choices(&self) -> &[u8] {
        &self.0
    }

    /// Returns all ones where a symbol is watched.
    pub(super) fn mask(&self, i: usize) -> u128 {
        u128::from(self.0[i]).wrapping_neg()
    }

    #[cfg(test)]
    pub(super) fn of(choices: Vec<u8>) -> Self {
        Watch(choices)
    }
}

/// The code of the shares: its words are any n − w of them.
fn sharing(parameters: &Parameters) -> Code {
    let l = parameters.n() - parameters.w();
    Code::new(&Parameters::new(parameters.n(), l, 8, 1).expect("a code of bytes with two symbols or more"))
}

fn hash(secret: &[u8]) -> [u8; HASH] {
    let mut hasher =
        blake3::Hasher::new_derive_key("brickwork 2026-11 interactive hash: secret of the watch");
    hasher.update(secret);
    let hash = *hasher.finalize().as_bytes();
    hasher.zeroize();
    hash
}

fn masked(share: &[u8], key: &Seed) -> u128 {
    let share = share.iter().rev().fold(0, |bits, &byte| bits << 8 | u128::from(byte));
    share ^ key.bits()
}

/// Gives the receiver w of the seeds. `keys` are both keys of n OTs in which the receiver chose. Returns the
/// seeds.
///
/// # Errors
/// [`Cheat::Watched`] if the receiver chose more, [`Error::Io`] if the connection fails.
pub(super) fn give(
    channel: &mut Channel,
    parameters: &Parameters,
    keys: Vec<[Seed; 2]>,
    rng: &mut Rng,
) -> Result<Vec<Seed>, Error> {
    let code = sharing(parameters);
    let mut word = Symbols::zeros(code.parameters().l(), SECRET);
    (0..word.rows()).for_each(|i| rng.fill(word.row_mut(i)));
    let secret = code.at(&code.evaluation(&[u8::MAX]), &word);
    let shares = code.encode(&word);
    let mut message = Vec::with_capacity(SECRET * keys.len() + HASH);
    for (i, [key, _]) in keys.iter().enumerate() {
        message.extend_from_slice(&masked(shares.row(i), key).to_le_bytes());
    }
    message.extend_from_slice(&hash(secret.row(0)));
    channel.send(msg::SHARES, &message)?;
    let answer = channel.receive(msg::SECRET, SECRET)?;
    if !bool::from(answer[..].ct_eq(secret.row(0))) {
        return Err(Cheat::Watched.into());
    }
    Ok(keys.into_iter().map(|[_, seed]| seed).collect())
}

/// The secret that shares come to: those of the symbols that are not watched.
fn secret(
    parameters: &Parameters,
    watch: &Watch,
    shares: &[Zeroizing<[u8; SECRET]>],
) -> Zeroizing<[u8; SECRET]> {
    let field = Field::of_bits(8).expect("bytes");
    let mut secret = Zeroizing::new([0; SECRET]);
    for (i, share) in shares.iter().enumerate() {
        let unwatched = |j: usize| Choice::from(1 - watch.0[j]);
        let others = (0..parameters.n()).filter(|&j| j != i);
        let coefficient = others.fold(1, |product, j| {
            let (x, y) = (i as u8, j as u8);
            let factor = field.mul(u8::MAX ^ y, field.inverse(x ^ y));
            field.mul(product, u8::conditional_select(&1, &factor, unwatched(j)))
        });
        let coefficient = u8::conditional_select(&0, &coefficient, unwatched(i));
        secret.iter_mut().zip(share.iter()).for_each(|(sum, &byte)| *sum ^= field.mul(coefficient, byte));
    }
    secret
}

/// Takes the seeds of the watched symbols. `keys` are those of n OTs with the choices of `watch`. Returns
/// them with a seed that nobody has for the others.
///
/// # Errors
/// [`Cheat::Shares`] if the sender's shares are not of the secret that it hashed, [`Error::Io`] if the
/// connection fails.
pub(super) fn take(
    channel: &mut Channel,
    parameters: &Parameters,
    watch: &Watch,
    keys: &[Seed],
) -> Result<Vec<Seed>, Error> {
    let message = channel.receive(msg::SHARES, SECRET * keys.len() + HASH)?;
    let (masked, hashed) = message.split_at(SECRET * keys.len());
    let shares: Vec<Zeroizing<[u8; SECRET]>> = masked
        .chunks_exact(SECRET)
        .zip(keys)
        .map(|(share, key)| {
            let share: [u8; SECRET] = std::array::from_fn(|k| share[k] ^ key.as_bytes()[k]);
            Zeroizing::new(share)
        })
        .collect();
    let secret = secret(parameters, watch, &shares);
    if !bool::from(hash(&*secret)[..].ct_eq(hashed)) {
        return Err(Cheat::Shares.into());
    }
    channel.send(msg::SECRET, &*secret)?;
    let seed = |(key, &watched): (&Seed, &u8)| {
        let bits = key.bits() & u128::from(watched).wrapping_neg();
        Seed::from_bytes(bits.to_le_bytes())
    };
    Ok(keys.iter().zip(&watch.0).map(seed).collect())
}
