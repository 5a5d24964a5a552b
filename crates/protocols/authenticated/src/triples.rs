//! Triples: masks x, y and z with z = x·y, of which neither party knows more than its shares.
//!
//! **Leaky ANDs** (after Katz, Ranellucci, Rosulek and Wang, CRYPTO 2018). Of random ⟨x⟩, ⟨y⟩ and ⟨r⟩, with
//! the words of this table and a hash H_P of either party:
//!
//! ```text
//!        k                m     Y            Z            Θ
//!   G    A_x + x^G·Δ_G    M_x   A_y + ⌊M_y⌋  A_r + ⌊M_r⌋  Δ_G
//!   E    C_x + x^E·Δ_E    B_x   B_y + ⌊C_y⌋  B_r + ⌊C_r⌋  ⌊Δ_E⌋
//!
//!   g_P = H_P(k) + H_P(k + Δ_P) + Y                          t bits, to the other party Q
//!   S_P = H_Q(m) + x^P·(g_Q + Y) + H_P(k) + Z                d_P = lsb(S_P), to the other party
//!   ⟨z⟩ = ⟨r⟩ + d_G + d_E                                    L_P = S_P + d·Θ
//! ```
//!
//! S_G + S_E = (xy + r)·(Θ_G + Θ_E), so the words L are equal just if z = xy. A cheater can bet on the
//! other's share of x, and loses with probability 1/2.
//!
//! **Equality** by 128 OTs, so that a party that fails learns whether it was right and nothing else: of
//! digests in the clear it could find the other's words by trying.
//!
//! **Buckets**: layers of leaky ANDs, shifted against each other by coins. A bucket is as good as one of it.

use std::ops::Range;

use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::Label;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::stop::look;
use brickwork_base::{Error, Party};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::cheat::Cheat;
use crate::hash::{HASH, Hasher, Purpose};
use crate::hooks::Point;
use crate::msg;
use crate::pads::Pads;
use crate::parameters::{COMPARED, Pool, Sizes};
use crate::secrets::Secrets;
use crate::setup::Member;
use crate::share::{Owner, Share, Shares};

/// Bytes of the start of the hash keys and of the factor.
pub(super) const PADS: usize = 32;

/// Bytes of a coin: random, so that its hash hides it.
pub(super) const COIN: usize = SEED_BYTES;

/// Masks x, y and z, an equal number.
pub(super) struct Triples {
    pub x: Shares,
    pub y: Shares,
    pub z: Shares,
}

/// Words of leaky ANDs while they are made.
pub(super) struct Half {
    /// g_P, of which t bits are sent.
    ciphertexts: Secrets<Label>,
    /// H_P(k) + Z.
    own: Secrets<Label>,
}

/// Makes the leaky ANDs of a pool, compares the parties' words, and makes so many masks beside. Returns all
/// layers, one after the other, the masks, and a coin.
///
/// # Errors
/// [`Error::Peer`] if the peer cheats, [`Error::Io`] if the connection fails.
fn leaky_ands(
    member: &mut Member,
    pool: &Pool,
    sizes: Sizes,
    batch: usize,
    masks: usize,
) -> Result<(Triples, Shares, Seed), Error> {
    let all = pool.leaky_ands();
    let [mut x, mut y, mut z] = [(); 3].map(|()| Shares::with_capacity(all));
    let mut digest = Hasher::new(&member.key, Purpose::Compared, batch, Party::Garbler);
    let (mut further, mut comparison) = (Shares::default(), Shares::default());
    for (count, draw) in pool.pieces(sizes).zip(pool.draws(sizes, masks)) {
        look();
        let drawn = member.draw(draw)?;
        let (of_x, rest) = drawn.split_at(count);
        let (of_y, rest) = rest.split_at(count);
        let (of_r, rest) = rest.split_at(count);
        if !rest.is_empty() {
            let (of_comparison, others) = rest.split_at(COMPARED);
            (comparison, further) = (Shares::new(of_comparison.to_vec()), Shares::new(others.to_vec()));
        }
        let [bits, words] = multiply(member, of_x, of_y, of_r)?;
        digest.update(&words);
        x.extend_from_slice(of_x);
        y.extend_from_slice(of_y);
        z.extend(of_r.iter().zip(bits.iter()).map(|(r, &bit)| member.own.plus(*r, bit)));
    }
    let digest = Zeroizing::new(digest.finish());
    let coin = compare(member, label(&digest[..16]).bits(), &comparison, batch)?;
    Ok((Triples { x, y, z }, further, coin))
}

/// Sends where this party's hashes begin, and ciphertexts; in the same order as it is received.
fn send_ciphertexts(member: &mut Member, pads: &Pads, ciphertexts: &[Label]) -> Result<(), Error> {
    let bytes = member.level.compared_bytes();
    let mut message = Vec::with_capacity(PADS + bytes * ciphertexts.len());
    message.extend_from_slice(&pads.start.to_le_bytes());
    message.extend_from_slice(&pads.factor.to_le_bytes());
    ciphertexts.iter().for_each(|word| message.extend_from_slice(&word.to_bytes()[..bytes]));
    member.hooks.alter(Point::Ciphertexts, &mut message[PADS..]);
    member.run.channel.send(msg::CIPHERTEXTS, &message)
}

/// Receives them.
fn receive_ciphertexts(member: &mut Member, count: usize) -> Result<(Pads, Vec<Label>), Error> {
    let bytes = member.level.compared_bytes();
    let message = member.run.channel.receive(msg::CIPHERTEXTS, PADS + bytes * count)?;
    let (pads, words) = message.split_at(PADS);
    let [start, factor] =
        [0, 16].map(|at| u128::from_le_bytes(*pads[at..].first_chunk().expect("two words")));
    Ok((Pads { start, factor }, words.chunks_exact(bytes).map(label).collect()))
}

/// The label with these bytes at its low end.
fn label(bytes: &[u8]) -> Label {
    let mut all = [0; 16];
    all[..bytes.len()].copy_from_slice(bytes);
    Label::from_bytes(all)
}

/// Computes what this party makes of its own words.
pub(super) fn half(own: &Owner, pads: &Pads, x: &[Share], y: &[Share], r: &[Share]) -> Half {
    let keys = x.iter().map(|x| x.key ^ own.delta.times(x.bit()));
    let mut zero: Secrets<Label> = keys.collect();
    let mut ciphertexts = pads.hash_pairs(&mut zero, own.delta.label());
    for ((g, zero), (y, r)) in ciphertexts.iter_mut().zip(zero.iter_mut()).zip(y.iter().zip(r)) {
        *g ^= *zero ^ own.word(*y);
        *zero ^= own.word(*r);
    }
    Half { ciphertexts, own: zero }
}

/// Computes S_P of each leaky AND, all its bits.
pub(super) fn sums(
    own: &Owner,
    half: &Half,
    (pads, theirs): &(Pads, Vec<Label>),
    x: &[Share],
    y: &[Share],
) -> Secrets<Label> {
    let mut sums: Secrets<Label> = x.iter().map(|x| x.mac).collect();
    pads.hash(&mut sums);
    let of = half.own.iter().zip(theirs).zip(x.iter().zip(y));
    for (sum, ((zero, theirs), (x, y))) in sums.iter_mut().zip(of) {
        *sum ^= *zero ^ (*theirs ^ own.word(*y)).times(x.bit());
    }
    sums
}

/// Multiplies masks. Returns of each product what is to be added to r, and the words that are to be equal.
fn multiply(member: &mut Member, x: &[Share], y: &[Share], r: &[Share]) -> Result<[Secrets<u8>; 2], Error> {
    // All OTs that these masks come of have been checked.
    let pads = Pads { start: member.rng.block(), factor: member.rng.block() };
    let half = half(&member.own, &pads, x, y, r);
    let received = exchange_ciphertexts(member, &pads, &half.ciphertexts)?;
    let sums = sums(&member.own, &half, &received, x, y);
    let mut bits: Secrets<u8> = sums.iter().map(|sum| sum.colour()).collect();
    member.hooks.alter(Point::Bits, &mut bits);
    let theirs = exchange_bits(member, &bits)?;
    bits.iter_mut().zip(theirs.iter()).for_each(|(bit, theirs)| *bit ^= theirs);
    let bytes = member.level.compared_bytes();
    let difference = member.own.difference();
    let mut words = Secrets::with_capacity(bytes * sums.len());
    for (&sum, &bit) in sums.iter().zip(bits.iter()) {
        words.extend_from_slice(&(sum ^ difference.times(bit)).to_bytes()[..bytes]);
    }
    member.hooks.alter(Point::Compared, &mut words);
    Ok([bits, words])
}

/// The garbler's ciphertexts travel with its corrections, the evaluator's with its bits.
fn exchange_ciphertexts(
    member: &mut Member,
    pads: &Pads,
    ciphertexts: &[Label],
) -> Result<(Pads, Vec<Label>), Error> {
    match member.own.role {
        Party::Garbler => {
            send_ciphertexts(member, pads, ciphertexts)?;
            receive_ciphertexts(member, ciphertexts.len())
        }
        Party::Evaluator => {
            let received = receive_ciphertexts(member, ciphertexts.len())?;
            send_ciphertexts(member, pads, ciphertexts)?;
            Ok(received)
        }
    }
}

/// Sends a bit of each leaky AND and returns the peer's.
fn exchange_bits(member: &mut Member, bits: &[u8]) -> Result<Secrets<u8>, Error> {
    let packed = pack(bits.iter().copied());
    let theirs = match member.own.role {
        Party::Garbler => {
            let theirs = member.run.channel.receive(msg::BITS, packed.len())?;
            member.run.channel.send(msg::BITS, &packed)?;
            theirs
        }
        Party::Evaluator => {
            member.run.channel.send(msg::BITS, &packed)?;
            member.run.channel.receive(msg::BITS, packed.len())?
        }
    };
    Ok(Secrets::new(unpack(&theirs, bits.len())?))
}

/// The keys of the OTs of an equality test: of choice 0 and of choice 1 at the garbler, the chosen one and
/// nothing at the evaluator.
fn equality_keys(member: &Member, batch: usize, masks: &Shares) -> Vec<[Zeroizing<[u8; HASH]>; 2]> {
    let key = |i: usize, label: Label| {
        let mut hash = Hasher::new(&member.key, Purpose::EqualityKey, batch, Party::Garbler);
        hash.update(&(i as u64).to_le_bytes());
        hash.update(&*Zeroizing::new(label.to_bytes()));
        Zeroizing::new(hash.finish())
    };
    let both = |(i, share): (usize, &Share)| match member.own.role {
        Party::Garbler => {
            let zero = member.own.expected(*share, share.bit());
            [key(i, zero), key(i, zero ^ member.own.delta)]
        }
        Party::Evaluator => [key(i, share.mac), Zeroizing::default()],
    };
    masks.iter().enumerate().map(both).collect()
}

/// The hash of keys, of which `asked` says which.
fn hash_of_keys(
    member: &Member,
    purpose: Purpose,
    batch: usize,
    keys: &[[Zeroizing<[u8; HASH]>; 2]],
    asked: u128,
) -> [u8; HASH] {
    let mut hash = Hasher::new(&member.key, purpose, batch, Party::Garbler);
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
fn announced(member: &Member, batch: usize, coin: &[u8]) -> [u8; HASH] {
    Hasher::new(&member.key, Purpose::Coin, batch, Party::Evaluator).of(coin)
}

/// The coin of both.
fn coin(member: &Member, batch: usize, garblers: &[u8], evaluators: &[u8]) -> Seed {
    let mut hash = Hasher::new(&member.key, Purpose::Coins, batch, Party::Garbler);
    hash.update(garblers);
    hash.update(evaluators);
    Seed::from_bytes(*hash.finish().first_chunk().expect("32 bytes"))
}

/// Compares digests: a party learns whether they are equal, and a cheater nothing else. Returns a coin that
/// neither knew before all that is compared was fixed.
fn compare(member: &mut Member, digest: u128, masks: &Shares, batch: usize) -> Result<Seed, Error> {
    let keys = equality_keys(member, batch, masks);
    let mut own = [0; COIN];
    member.rng.fill(&mut own);
    match member.own.role {
        Party::Garbler => {
            let message = member.run.channel.receive(msg::COMPARE, 16 + HASH)?;
            let (masked, promise) = message.split_at(16);
            let asked = digest ^ label(masked).bits();
            let answer = hash_of_keys(member, Purpose::Asked, batch, &keys, asked);
            member.run.channel.send(msg::COMPARED, &[&answer[..], &own].concat())?;
            let message = member.run.channel.receive(msg::COIN, HASH + COIN)?;
            let (told, theirs) = message.split_at(HASH);
            let known = hash_of_keys(member, Purpose::Known, batch, &keys, asked);
            member.require(known[..].ct_eq(told), Cheat::Equality)?;
            member.require(announced(member, batch, theirs) == promise, Cheat::Coin)?;
            Ok(coin(member, batch, &own, theirs))
        }
        Party::Evaluator => {
            let choices = masks.iter().rev().fold(0, |all, mask| all << 1 | u128::from(mask.bit()));
            let promise = announced(member, batch, &own);
            let message = [&(choices ^ digest).to_le_bytes()[..], &promise].concat();
            member.run.channel.send(msg::COMPARE, &message)?;
            let message = member.run.channel.receive(msg::COMPARED, HASH + COIN)?;
            let (told, theirs) = message.split_at(HASH);
            let expected = hash_of_keys(member, Purpose::Asked, batch, &keys, 0);
            member.require(expected[..].ct_eq(told), Cheat::Equality)?;
            let known = hash_of_keys(member, Purpose::Known, batch, &keys, 0);
            member.hooks.alter(Point::Coin, &mut own);
            member.run.channel.send(msg::COIN, &[&known[..], &own].concat())?;
            Ok(coin(member, batch, theirs, &own))
        }
    }
}

/// Leaky ANDs in buckets.
pub(super) struct Buckets {
    layers: Triples,
    pool: Pool,
    /// Of each layer, how far it is shifted.
    shifts: Vec<usize>,
}

impl Buckets {
    /// Makes the buckets of a batch, and so many masks beside them.
    ///
    /// # Errors
    /// As [`leaky_ands`].
    pub fn make(
        member: &mut Member,
        pool: Pool,
        sizes: Sizes,
        batch: usize,
        masks: usize,
    ) -> Result<(Self, Shares), Error> {
        if pool.size == 0 {
            let [x, y, z] = [(); 3].map(|()| Shares::default());
            let buckets = Buckets { layers: Triples { x, y, z }, pool, shifts: Vec::new() };
            return Ok((buckets, member.draw(masks)?));
        }
        let (layers, masks, coin) = leaky_ands(member, &pool, sizes, batch, masks)?;
        let mut rng = Rng::expand(&coin, "brickwork buckets of leaky ANDs");
        let shifts = (0..pool.bucket).map(|k| if k == 0 { 0 } else { rng.below(pool.size as u64) as usize });
        Ok((Buckets { layers, pool, shifts: shifts.collect() }, masks))
    }

    /// Layers of leaky ANDs.
    pub fn layers(&self) -> usize {
        self.pool.bucket
    }

    /// Where the leaky AND of a layer is that sits in this bucket.
    fn place(&self, layer: usize, bucket: usize) -> usize {
        let place = bucket + self.shifts[layer];
        layer * self.pool.size + if place < self.pool.size { place } else { place - self.pool.size }
    }

    /// Returns what is opened to join some buckets: of each layer but the first the differences of y.
    pub fn differences(&self, buckets: Range<usize>) -> impl Iterator<Item = Share> + '_ {
        let y = &self.layers.y;
        (1..self.pool.bucket)
            .flat_map(move |layer| buckets.clone().map(move |i| y[i] ^ y[self.place(layer, i)]))
    }

    /// Masks x and y of a bucket's triple: the sum of all x, and y of the first layer. Known before anything
    /// is opened.
    pub fn factors(&self, bucket: usize) -> [Share; 2] {
        let sum = |x, layer| x ^ self.layers.x[self.place(layer, bucket)];
        [(0..self.pool.bucket).fold(Share::default(), sum), self.layers.y[bucket]]
    }

    /// Returns the product of a bucket's factors, by the opened differences of its layers.
    pub fn product(&self, bucket: usize, difference: impl Fn(usize) -> u8) -> Share {
        (1..self.pool.bucket).fold(self.layers.z[bucket], |z, layer| {
            let k = self.place(layer, bucket);
            z ^ self.layers.z[k] ^ self.layers.x[k].times(difference(layer - 1))
        })
    }
}
