//! Leaky ANDs (after Katz, Ranellucci, Rosulek and Wang, CRYPTO 2018): masks x, y and z with z = x·y, of
//! which a cheater can bet on the other's share of x, and loses with probability 1/2.
//!
//! Of random ⟨x⟩, ⟨y⟩ and ⟨r⟩, with the words of this table and a hash H_P of either party:
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
//! S_G + S_E = (xy + r)·(Θ_G + Θ_E), so the words L are equal just if z = xy. In a party's own words
//! (`share`) k is its key of x, m its mac, Y is K_y + M_y + y·⌊Δ⌋ at either party, and Z alike.
//!
//! They are made in portions, and both parties do the same at the same time: both directions of the line are
//! busy. What a party sends in a step has nothing to do with what it hears in it:
//!
//! ```text
//!   step k, both ways     choices of portion k + 1, ciphertexts of portion k, bits of portion k - 1
//! ```
//!
//! So choices leave before the ciphertexts and bits of the portions before are there, and nobody waits for a
//! crossing but in the first steps. docs/authenticated.md says why they may. The hash of a portion is drawn
//! when the peer's choices for it are checked.

use std::collections::VecDeque;

use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::Label;
use brickwork_base::random::{Rng, Seed};
use brickwork_base::stop::look;
use brickwork_base::{Error, Party};
use brickwork_kernels::{Kernel, MaskWords, leaky_ciphertexts, leaky_sums};
use bytemuck::{cast_slice, cast_slice_mut};
use zeroize::Zeroizing;

use crate::equality::compare;
use crate::hash::{Hasher, Purpose};
use crate::hooks::Point;
use crate::msg;
use crate::pads::Pads;
use crate::parameters::{Draw, Draws};
use crate::secrets::Secrets;
use crate::setup::Member;
use crate::share::{Owner, Shares, View};
use crate::words::{SPARE, add_where, colours, pack_words, short_word, word};

/// Bytes of the start of the hash keys and of the factor.
pub(super) const PADS: usize = 32;

/// Masks that were drawn together: x, y and z of leaky ANDs, one after the other, then others.
pub(super) struct Portion {
    pub draw: Draw,
    shares: Shares,
}

/// One of the masks of leaky ANDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    X,
    Y,
    /// r until z is made of it.
    Z,
}

impl Portion {
    /// Makes random words, of no mask: for measuring.
    pub fn random(draw: Draw, rng: &mut Rng) -> Self {
        let mut words = || (0..draw.total()).map(|_| rng.label()).collect();
        Portion { draw, shares: Shares { keys: words(), macs: words() } }
    }

    /// Returns where these begin.
    pub fn first(&self, of: Of) -> usize {
        of as usize * self.draw.leaky
    }

    /// Returns those of some leaky ANDs of the portion.
    pub fn some(&self, of: Of, places: std::ops::Range<usize>) -> View<'_> {
        let first = self.first(of);
        self.shares.some(first + places.start..first + places.end)
    }

    /// All of these.
    fn all(&self, of: Of) -> View<'_> {
        self.some(of, 0..self.draw.leaky)
    }

    /// The masks by whose choices digests are compared.
    fn compared(&self) -> View<'_> {
        let first = 3 * self.draw.leaky;
        self.shares.some(first..first + self.draw.compared)
    }

    /// Returns the masks beside leaky ANDs.
    pub fn others(&self) -> View<'_> {
        self.shares.some(self.shares.len() - self.draw.masks..self.shares.len())
    }
}

/// Keys and macs as the kernels have them.
fn as_words(some: View<'_>) -> MaskWords<'_> {
    MaskWords { keys: cast_slice(some.keys), macs: cast_slice(some.macs) }
}

/// Returns what a party makes of its own words: g_P of each leaky AND, and H_P(k) + Z.
pub(super) fn half(own: &Owner, pads: &Pads, [x, y, r]: [View<'_>; 3]) -> [Secrets<Label>; 2] {
    let count = x.keys.len();
    let [mut ciphertexts, mut kept] = [(); 2].map(|()| Secrets::<Label>::zeros(count));
    pads.strips(count, |strip, hash| {
        let [x, y, r] = [x, y, r].map(|masks| as_words(masks.some(strip.clone())));
        let made = cast_slice_mut(&mut ciphertexts[strip.clone()]);
        let kept = cast_slice_mut(&mut kept[strip]);
        leaky_ciphertexts(Kernel::best(), hash, own.delta.bits(), x.keys, [y, r], made, kept);
    });
    [ciphertexts, kept]
}

/// Makes S_P of each leaky AND, all bits, of what was kept, and in its place.
pub(super) fn sums(
    own: &Owner,
    pads: &Pads,
    theirs: &[Label],
    [x, y]: [View<'_>; 2],
    kept: &mut Secrets<Label>,
) {
    pads.strips(theirs.len(), |strip, hash| {
        let [x, y] = [x, y].map(|masks| as_words(masks.some(strip.clone())));
        let (theirs, kept) = (cast_slice(&theirs[strip.clone()]), cast_slice_mut(&mut kept[strip]));
        leaky_sums(Kernel::best(), hash, own.delta.bits(), x.macs, y, theirs, kept);
    });
}

/// A portion whose masks are there, and what this party keeps of it.
struct Halved {
    portion: Portion,
    kept: Secrets<Label>,
}

/// A portion whose sums are made, and their last bits, which were sent.
struct Summed {
    portion: Portion,
    sums: Secrets<Label>,
    bits: Secrets<u8>,
}

impl Member {
    /// Sends where this party's hashes of a portion begin, and its ciphertexts.
    fn send_half(&mut self, portion: Portion) -> Result<Halved, Error> {
        // All OTs that these masks come of have been checked.
        let pads = Pads { start: self.rng.block(), factor: self.rng.block() };
        let [ciphertexts, kept] = half(&self.own, &pads, [Of::X, Of::Y, Of::Z].map(|of| portion.all(of)));
        let bytes = self.level.compared_bytes();
        let mut message = vec![0; PADS + bytes * ciphertexts.len() + SPARE];
        message[..16].copy_from_slice(&pads.start.to_le_bytes());
        message[16..PADS].copy_from_slice(&pads.factor.to_le_bytes());
        pack_words(&mut message[PADS..], bytes, ciphertexts.iter());
        message.truncate(PADS + bytes * ciphertexts.len());
        self.hooks.alter(Point::Ciphertexts, &mut message[PADS..]);
        self.run.channel.send(msg::CIPHERTEXTS, &message)?;
        Ok(Halved { portion, kept })
    }

    /// Receives the peer's ciphertexts of a portion, and sends a bit of each leaky AND.
    fn send_bits(&mut self, Halved { portion, kept: mut sums }: Halved) -> Result<Summed, Error> {
        let (bytes, count) = (self.level.compared_bytes(), sums.len());
        let mut message = self.run.channel.receive(msg::CIPHERTEXTS, PADS + bytes * count)?;
        let [start, factor] = [0, 16].map(|at| short_word(&message[at..at + 16]).bits());
        message.extend_from_slice(&[0; SPARE]);
        let theirs: Vec<Label> = (0..count).map(|k| word(&message[PADS..], bytes, k)).collect();
        let of = [Of::X, Of::Y].map(|of| portion.all(of));
        self::sums(&self.own, &Pads { start, factor }, &theirs, of, &mut sums);
        let mut bits: Secrets<u8> = colours(&sums).collect();
        self.hooks.alter(Point::Bits, &mut bits);
        self.run.channel.send(msg::BITS, &pack(bits.iter().copied()))?;
        Ok(Summed { portion, sums, bits })
    }

    /// Receives the peer's bits of a portion: r becomes z, and the words that are to be equal go into the
    /// digest.
    fn multiply(&mut self, summed: Summed, digest: &mut Hasher) -> Result<Portion, Error> {
        let Summed { mut portion, mut sums, mut bits } = summed;
        let theirs = self.run.channel.receive(msg::BITS, bits.len().div_ceil(8))?;
        let theirs = Secrets::new(unpack(&theirs, bits.len())?);
        bits.iter_mut().zip(theirs.iter()).for_each(|(bit, theirs)| *bit ^= theirs);
        let z = portion.first(Of::Z)..portion.first(Of::Z) + bits.len();
        self.own.add_public(&mut portion.shares, z, &bits);
        add_where(&mut sums, self.own.difference(), &bits);
        let bytes = self.level.compared_bytes();
        let mut words = Secrets::<u8>::zeros(bytes * sums.len() + SPARE);
        pack_words(&mut words, bytes, sums.iter());
        let compared = bytes * sums.len();
        self.hooks.alter(Point::Compared, &mut words[..compared]);
        digest.update(&words[..compared]);
        Ok(portion)
    }
}

/// Draws all masks of a lot, makes its leaky ANDs, and compares the parties' words. Returns the portions,
/// and a coin.
///
/// # Errors
/// [`Error::Peer`] if the peer cheats, [`Error::Io`] if the connection fails.
pub(super) fn make(member: &mut Member, draws: Draws) -> Result<(Vec<Portion>, Seed), Error> {
    member.provide(draws.total())?;
    let place = member.place()?;
    let mut digest = Hasher::new(&member.key, Purpose::Compared, place, Party::Garbler);
    let count = draws.count();
    let (mut halved, mut summed) = (VecDeque::new(), VecDeque::new());
    let (mut chosen, mut portions) = (Choices::new(draws), Vec::with_capacity(count));
    for step in 0..count + 2 {
        look();
        if let Some(portion) = chosen.next(member)? {
            halved.push_back(member.send_half(portion)?);
        }
        if (1..=count).contains(&step) {
            let before = halved.pop_front().expect("the portion of the step before");
            summed.push_back(member.send_bits(before)?);
        }
        if step >= 2 {
            let before = summed.pop_front().expect("the portion of two steps before");
            portions.push(member.multiply(before, &mut digest)?);
        }
    }
    let digest = Zeroizing::new(digest.finish());
    let coin = compare(member, short_word(&digest[..16]).bits(), portions[0].compared(), place)?;
    Ok((portions, coin))
}

/// Draws masks that are not for leaky ANDs.
///
/// # Errors
/// As [`make`].
pub(super) fn others(member: &mut Member, draws: Draws) -> Result<Vec<Portion>, Error> {
    member.provide(draws.total())?;
    let (mut chosen, mut portions) = (Choices::new(draws), Vec::with_capacity(draws.count()));
    while let Some(portion) = chosen.next(member)? {
        portions.push(portion);
    }
    Ok(portions)
}

/// The choices of a lot, a portion of which is sent before the one before it is accepted.
struct Choices {
    draws: Draws,
    /// How many portions were chosen.
    done: usize,
    /// Macs of those that are not accepted yet.
    macs: VecDeque<Secrets<Label>>,
}

impl Choices {
    fn new(draws: Draws) -> Self {
        Choices { draws, done: 0, macs: VecDeque::new() }
    }

    /// Sends the choices of the portion behind the next one, receives the peer's for the next one and checks
    /// them. Returns the next one, if there is one.
    fn next(&mut self, member: &mut Member) -> Result<Option<Portion>, Error> {
        let k = self.done - self.macs.len();
        while self.done < self.draws.count().min(k + 2) {
            self.macs.push_back(member.choose(self.draws.at(self.done).total())?);
            self.done += 1;
        }
        let Some(macs) = self.macs.pop_front() else { return Ok(None) };
        let draw = self.draws.at(k);
        let keys = member.accept(draw.total())?;
        Ok(Some(Portion { draw, shares: Shares { keys, macs } }))
    }
}
