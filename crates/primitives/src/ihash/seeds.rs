//! OT of w out of n seeds, built from n OTs in which the receiver chooses.
//!
//! ```text
//! sender: keys k_{i,0}, k_{i,1}                         receiver: k_{i,1} where it watches, else k_{i,0}
//! secret S, shared so that n − w shares give it
//! share_i ⊕ k_{i,0} for all i, a hash of S        ──▶   the n − w shares, thus S; is its hash the one sent?
//! is it S?                                        ◀──   S
//! ```
//!
//! The seed of symbol i is k_{i,1}. To know n − w shares, the receiver must choose the share, and not the
//! seed, in n − w OTs. Fewer shares reveal nothing about S. The sender also sends a hash of S, which binds
//! it. Without the hash, the sender could send shares that belong to no secret, and learn from the answer
//! which shares the receiver used. With the hash, a sender of wrong shares learns only whether the receiver
//! notices them. So each piece of information about the watched symbols costs a risk of detection, and the
//! bound of the hash includes this. In the end, whatever the sender tried before, it has named a set that
//! contains all watched symbols with probability `C(ℓ − 1, w) / C(n, w)` at most.

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::{Zeroize, Zeroizing};

use super::code::SymbolCode;
use super::field::Field;
use super::parameters::HashParameters;
use super::watch::WatchedSymbols;
use super::words::Words;
use super::{Cheat, msg};
use brickwork_base::Error;
use brickwork_base::random::{Rng, Seed};
use brickwork_wire::Channel;

/// Bytes of the secret.
const SECRET: usize = 16;

/// Bytes of the hash of the secret.
const HASH: usize = 32;

/// Returns the bytes of the setup's messages: the sender's and the receiver's.
pub fn setup_bytes(parameters: &HashParameters) -> [usize; 2] {
    [SECRET * parameters.n() + HASH, SECRET]
}

/// Returns the code that shares the secret: any n − w shares determine a codeword.
fn sharing(parameters: &HashParameters) -> SymbolCode {
    let l = parameters.n() - parameters.w();
    SymbolCode::new(
        &HashParameters::new(parameters.n(), l, 8, 1)
            .expect("there is a code over bytes with two or more symbols"),
    )
}

fn hash(secret: &[u8]) -> [u8; HASH] {
    let mut hasher =
        blake3::Hasher::new_derive_key("brickwork 2026-11 interactive hash: secret of the watch");
    hasher.update(secret);
    let hash = *hasher.finalize().as_bytes();
    hasher.zeroize();
    hash
}

/// Returns symbol `i` of each word, one byte of the secret from each.
fn byte_of_each(words: &Words, i: usize) -> Zeroizing<[u8; SECRET]> {
    Zeroizing::new(std::array::from_fn(|k| words.symbols_of(k)[i]))
}

/// Gives the receiver w of the seeds. `keys` are both keys of n OTs in which the receiver chose. Returns all
/// n seeds.
///
/// # Errors
/// [`Cheat::Watched`] if the receiver chose more than w seeds, [`Error::Io`] if the connection fails.
pub(super) fn give(
    channel: &mut Channel,
    parameters: &HashParameters,
    keys: Vec<[Seed; 2]>,
    rng: &mut Rng,
) -> Result<Vec<Seed>, Error> {
    let code = sharing(parameters);
    // One word for each byte of the secret.
    let words = Words::random(code.parameters().l(), SECRET, rng);
    let values = code.at(&code.evaluation(&[u8::MAX]), &words);
    let secret = byte_of_each(&values, 0);
    let shares = code.encode(&words);
    let mut message = Vec::with_capacity(SECRET * keys.len() + HASH);
    for (i, [key, _]) in keys.iter().enumerate() {
        let share = u128::from_le_bytes(*byte_of_each(&shares, i));
        message.extend_from_slice(&(share ^ key.bits()).to_le_bytes());
    }
    message.extend_from_slice(&hash(&*secret));
    channel.send(msg::SHARES, &message)?;
    let answer = channel.receive(msg::SECRET, SECRET)?;
    if !bool::from(answer[..].ct_eq(&*secret)) {
        return Err(Cheat::Watched.into());
    }
    Ok(keys.into_iter().map(|[_, seed]| seed).collect())
}

/// Computes the secret from the shares of the unwatched symbols.
fn secret(
    parameters: &HashParameters,
    watch: &WatchedSymbols,
    shares: &[Zeroizing<[u8; SECRET]>],
) -> Zeroizing<[u8; SECRET]> {
    let field = Field::of_bits(8).expect("bytes");
    let mut secret = Zeroizing::new([0; SECRET]);
    for (i, share) in shares.iter().enumerate() {
        let unwatched = |j: usize| Choice::from(1 - watch.choices()[j]);
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

/// Takes the seeds of the watched symbols. `keys` are the keys of n OTs with the choices of `watch`. Returns
/// w seeds, in the order of the symbols.
///
/// # Errors
/// [`Cheat::Shares`] if the sender's shares do not give the secret that it hashed, [`Error::Io`] if the
/// connection fails.
pub(super) fn take(
    channel: &mut Channel,
    parameters: &HashParameters,
    watch: &WatchedSymbols,
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
    Ok(watch.seeds(keys, parameters.w()))
}
