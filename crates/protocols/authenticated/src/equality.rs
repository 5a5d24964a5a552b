//! Equality of digests by 128 OTs, so that a party that fails learns whether it was right and nothing else:
//! of digests in the clear it could find the other's words by trying.
//!
//! ```text
//!   E -> G   its digest, masked by the choices of OTs; the hash of its coin
//!   G -> E   the hash of the keys that the masked digest asks for; its coin
//!   E -> G   the hash of its own keys; its coin
//! ```
//!
//! Both parties contribute to the coins before either knows the compared values.

use brickwork_base::label::Label;
use brickwork_base::random::{SEED_BYTES, Seed};
use brickwork_base::{Error, Party};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::cheat::Cheat;
use crate::hash::{HASH, Hasher, Place, Purpose};
use crate::hooks::Point;
use crate::msg;
use crate::setup::Member;
use crate::share::View;
use crate::words::short_word;

/// Bytes of a coin: random, so that its hash hides it.
pub(super) const COIN: usize = SEED_BYTES;

/// The keys of the OTs of an equality test: of choice 0 and of choice 1 at the garbler, the chosen one and
/// nothing at the evaluator.
fn equality_keys(member: &Member, place: Place, masks: View<'_>) -> Vec<[Zeroizing<[u8; HASH]>; 2]> {
    let key = |i: usize, label: Label| {
        let mut hash = Hasher::new(&member.key, Purpose::EqualityKey, place, Party::Garbler);
        hash.update(&(i as u64).to_le_bytes());
        hash.update(&*Zeroizing::new(label.to_bytes()));
        Zeroizing::new(hash.finish())
    };
    let both = |i: usize| match member.own.role {
        Party::Garbler => [key(i, masks.keys[i]), key(i, masks.keys[i] ^ member.own.delta)],
        Party::Evaluator => [key(i, masks.macs[i]), Zeroizing::default()],
    };
    (0..masks.keys.len()).map(both).collect()
}

/// The hash of keys, of which `asked` says which.
fn hash_of_keys(
    member: &Member,
    purpose: Purpose,
    place: Place,
    keys: &[[Zeroizing<[u8; HASH]>; 2]],
    asked: u128,
) -> [u8; HASH] {
    let mut hash = Hasher::new(&member.key, purpose, place, Party::Garbler);
    for (i, [zero, one]) in keys.iter().enumerate() {
        let choice = subtle::Choice::from((asked >> i) as u8 & 1);
        let mut key = Zeroizing::new([0; HASH]);
        for (byte, (zero, one)) in key.iter_mut().zip(zero.iter().zip(&**one)) {
            *byte = subtle::ConditionallySelectable::conditional_select(zero, one, choice);
        }
        hash.update(&*key);
    }
    hash.finish()
}

/// The hash by which the evaluator announces its coin.
fn announced(member: &Member, place: Place, coin: &[u8]) -> [u8; HASH] {
    Hasher::new(&member.key, Purpose::Coin, place, Party::Evaluator).of(coin)
}

/// The coin of both.
fn coin(member: &Member, place: Place, garblers: &[u8], evaluators: &[u8]) -> Seed {
    let mut hash = Hasher::new(&member.key, Purpose::Coins, place, Party::Garbler);
    hash.update(garblers);
    hash.update(evaluators);
    Seed::from_bytes(*hash.finish().first_chunk().expect("32 bytes"))
}

/// Compares digests: a party learns whether they are equal, and a cheater nothing else. Returns a coin that
/// neither knew before all that is compared was fixed.
pub(super) fn compare(
    member: &mut Member,
    digest: u128,
    masks: View<'_>,
    place: Place,
) -> Result<Seed, Error> {
    let keys = equality_keys(member, place, masks);
    let mut own = [0; COIN];
    member.rng.fill(&mut own);
    match member.own.role {
        Party::Garbler => {
            let message = member.run.channel.receive(msg::COMPARE, 16 + HASH)?;
            let (masked, promise) = message.split_at(16);
            let asked = digest ^ short_word(masked).bits();
            let answer = hash_of_keys(member, Purpose::Asked, place, &keys, asked);
            // The evaluator will know whether it won its bets, and where, before this party does.
            member.run.expose()?;
            member.run.channel.send(msg::COMPARED, &[&answer[..], &own].concat())?;
            let message = member.run.channel.receive(msg::COIN, HASH + COIN)?;
            let (told, theirs) = message.split_at(HASH);
            let known = hash_of_keys(member, Purpose::Known, place, &keys, asked);
            member.require(known[..].ct_eq(told), Cheat::Equality)?;
            member.require(announced(member, place, theirs) == promise, Cheat::Coin)?;
            member.run.cover();
            Ok(coin(member, place, &own, theirs))
        }
        Party::Evaluator => {
            let choices = masks.macs.iter().rev().fold(0, |all, mac| all << 1 | u128::from(mac.colour()));
            let promise = announced(member, place, &own);
            let message = [&(choices ^ digest).to_le_bytes()[..], &promise].concat();
            member.run.channel.send(msg::COMPARE, &message)?;
            let message = member.run.channel.receive(msg::COMPARED, HASH + COIN)?;
            let (told, theirs) = message.split_at(HASH);
            let expected = hash_of_keys(member, Purpose::Asked, place, &keys, 0);
            member.require(expected[..].ct_eq(told), Cheat::Equality)?;
            let known = hash_of_keys(member, Purpose::Known, place, &keys, 0);
            member.hooks.alter(Point::Coin, &mut own);
            // This party sees that the garbler won its bets when the garbler continues with the first
            // opening.
            member.run.expose()?;
            member.run.channel.send(msg::COIN, &[&known[..], &own].concat())?;
            Ok(coin(member, place, theirs, &own))
        }
    }
}
