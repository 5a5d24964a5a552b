//! Compares digests by 128 OTs, so that a cheater that fails learns only whether its digest was right. If a
//! party sent its digest unmasked, the other party could find its words by trial.
//!
//! ```text
//!   E -> G   its digest, masked by the choices of OTs; the hash of its coin
//!   G -> E   the hash of the keys that the masked digest selects; its coin
//!   E -> G   the hash of its own keys; its coin
//! ```

use brickwork_base::label::Label;
use brickwork_base::random::{SEED_BYTES, Seed};
use brickwork_base::{Error, Party};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::cheat::Cheat;
use crate::hash::{HASH, HashNumber, HashPurpose, RunningHash};
use crate::hooks::Point;
use crate::msg;
use crate::setup::SessionState;
use crate::share::ShareView;
use crate::words::short_word;

/// Bytes of a coin: random, so that its hash hides it.
pub(super) const COIN: usize = SEED_BYTES;

/// Returns the keys of the comparison's OTs. The garbler has the keys of choice 0 and choice 1, the evaluator
/// the key of its choice and a dummy.
fn equality_keys(
    member: &SessionState,
    place: HashNumber,
    masks: ShareView<'_>,
) -> Vec<[Zeroizing<[u8; HASH]>; 2]> {
    let key = |i: usize, label: Label| {
        let mut hash = RunningHash::new(&member.key, HashPurpose::EqualityKey, place, Party::Garbler);
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

/// Hashes one key of each pair: bit i of `asked` selects the key of pair i.
fn hash_of_keys(
    member: &SessionState,
    purpose: HashPurpose,
    place: HashNumber,
    keys: &[[Zeroizing<[u8; HASH]>; 2]],
    asked: u128,
) -> [u8; HASH] {
    let mut hash = RunningHash::new(&member.key, purpose, place, Party::Garbler);
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

/// Returns the hash by which the evaluator commits to its coin.
fn announced(member: &SessionState, place: HashNumber, coin: &[u8]) -> [u8; HASH] {
    RunningHash::new(&member.key, HashPurpose::Coin, place, Party::Evaluator).of(coin)
}

/// Returns the joint coin of both parties.
fn coin(member: &SessionState, place: HashNumber, garblers: &[u8], evaluators: &[u8]) -> Seed {
    let mut hash = RunningHash::new(&member.key, HashPurpose::Coins, place, Party::Garbler);
    hash.update(garblers);
    hash.update(evaluators);
    Seed::from_bytes(*hash.finish().first_chunk().expect("32 bytes"))
}

/// Compares digests: a party learns only whether they are equal. Returns a coin that neither party knew
/// before the compared values were fixed.
pub(super) fn compare(
    member: &mut SessionState,
    digest: u128,
    masks: ShareView<'_>,
    place: HashNumber,
) -> Result<Seed, Error> {
    let keys = equality_keys(member, place, masks);
    let mut own = [0; COIN];
    member.rng.fill(&mut own);
    match member.own.role {
        Party::Garbler => {
            let message = member.run.channel.receive(msg::COMPARE, 16 + HASH)?;
            let (masked, promise) = message.split_at(16);
            let asked = digest ^ short_word(masked).bits();
            let answer = hash_of_keys(member, HashPurpose::Asked, place, &keys, asked);
            // After this message the evaluator knows which of its bets it won. This party does not know it
            // yet.
            member.run.expose()?;
            member.run.channel.send(msg::COMPARED, &[&answer[..], &own].concat())?;
            let message = member.run.channel.receive(msg::COIN, HASH + COIN)?;
            let (told, theirs) = message.split_at(HASH);
            let known = hash_of_keys(member, HashPurpose::Known, place, &keys, asked);
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
            let expected = hash_of_keys(member, HashPurpose::Asked, place, &keys, 0);
            member.require(expected[..].ct_eq(told), Cheat::Equality)?;
            let known = hash_of_keys(member, HashPurpose::Known, place, &keys, 0);
            member.hooks.alter(Point::Coin, &mut own);
            // After this message the garbler knows which of its bets it won. This party learns it only when
            // the garbler sends its first opening.
            member.run.expose()?;
            member.run.channel.send(msg::COIN, &[&known[..], &own].concat())?;
            Ok(coin(member, place, theirs, &own))
        }
    }
}
