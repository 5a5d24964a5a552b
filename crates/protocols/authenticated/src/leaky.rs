//! Leaky ANDs (after Katz, Ranellucci, Rosulek and Wang, CRYPTO 2018): masks x, y and z with z = x·y, of
//! which a cheater can bet on the other's share of x, and loses with probability 1/2.
//!
//! For random ⟨x⟩, ⟨y⟩ and ⟨r⟩, with the words of this table and a hash H_P of either party:
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
//! busy. A party's messages in a step have nothing to do with those that it receives in it:
//!
//! ```text
//!   step k, both ways     choices of portion k + 1, ciphertexts of portion k, bits of portion k - 1
//! ```
//!
//! So choices are sent before the ciphertexts and bits of earlier portions have arrived, and nobody waits for
//! a crossing except in the first steps. docs/protocols/authenticated.md explains why this is secure. The
//! hash of a portion is drawn when the peer's choices for it are checked.

use std::collections::VecDeque;
use std::ops::Range;

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
use crate::pads::{Pads, STRIP};
use crate::parameters::{Draw, Draws};
use crate::secrets::Secrets;
use crate::setup::Member;
use crate::share::{Owner, Shares, View};
use crate::words::{self, SPARE, add_where, colours, pack_words, short_word};

/// Bytes of the start of the hash keys and of the factor.
pub(super) const PADS: usize = 32;

/// One of the masks of leaky ANDs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    X,
    Y,
    /// r until z is made of it.
    Z,
}

/// Masks that were drawn together: x, y and z of leaky ANDs, one after the other, then others.
#[derive(Clone, Copy)]
pub(super) struct Portion {
    pub draw: Draw,
    /// Where they begin among the masks of the lot.
    first: usize,
}

impl Portion {
    /// Returns the portions of a lot, one behind the other.
    fn of(draws: Draws) -> Vec<Portion> {
        let lay = |first: &mut usize, draw: Draw| {
            let portion = Portion { draw, first: *first };
            *first += draw.total();
            Some(portion)
        };
        draws.all().scan(0, lay).collect()
    }

    /// Where those of some leaky ANDs are.
    fn places(&self, of: Of, leaky: Range<usize>) -> Range<usize> {
        let first = self.first + of as usize * self.draw.leaky;
        first + leaky.start..first + leaky.end
    }

    /// Returns the range of all of these.
    fn all(&self, of: Of) -> Range<usize> {
        self.places(of, 0..self.draw.leaky)
    }

    /// Where the masks are by whose choices digests are compared.
    fn compared(&self) -> Range<usize> {
        let first = self.first + 3 * self.draw.leaky;
        first..first + self.draw.compared
    }

    /// Where the masks beside leaky ANDs are.
    fn others(&self) -> Range<usize> {
        self.end() - self.draw.masks..self.end()
    }

    fn end(&self) -> usize {
        self.first + self.draw.total()
    }
}

/// All masks of a lot. They are in two long lists, which the next lot overwrites: touching new pages for the
/// first time takes longer than writing to them.
#[derive(Default)]
pub(super) struct Drawn {
    portions: Vec<Portion>,
    shares: Shares,
}

impl Drawn {
    /// Makes room for a lot, in that of another one if it suffices. Former contents are overwritten.
    fn begin(&mut self, draws: Draws) {
        self.portions = Portion::of(draws);
        let count = draws.total();
        if self.shares.len() < count {
            // The old contents are freed before more memory is requested.
            self.shares = Shares::default();
            self.shares = Shares::zeros(count);
        }
    }

    /// Makes random words, of no mask: for measuring.
    pub fn random(draws: Draws, rng: &mut Rng) -> Self {
        let mut words = || (0..draws.total()).map(|_| rng.label()).collect();
        Drawn { portions: Portion::of(draws), shares: Shares { keys: words(), macs: words() } }
    }

    /// Returns the portions, in order.
    pub fn portions(&self) -> &[Portion] {
        &self.portions
    }

    /// Returns the masks of some leaky ANDs of a portion.
    pub fn some(&self, portion: &Portion, of: Of, leaky: Range<usize>) -> View<'_> {
        self.shares.some(portion.places(of, leaky))
    }

    /// Returns the masks beside leaky ANDs, portion after portion.
    pub fn others(&self) -> impl Iterator<Item = View<'_>> {
        self.portions.iter().map(|portion| self.shares.some(portion.others()))
    }
}

/// Keys and macs as the kernels have them.
fn as_words(some: View<'_>) -> MaskWords<'_> {
    MaskWords { keys: cast_slice(some.keys), macs: cast_slice(some.macs) }
}

/// Words of leaky ANDs in their sent form: this many bytes of each, and [`SPARE`] bytes at the end.
#[derive(Clone, Copy)]
pub(super) struct Packed<B> {
    pub bytes: usize,
    pub list: B,
}

/// Writes g_P of each leaky AND, and the part that the party keeps: H_P(k) + Z.
pub(super) fn half(
    own: &Owner,
    pads: &Pads,
    [x, y, r]: [View<'_>; 3],
    Packed { bytes, list }: Packed<&mut [u8]>,
    kept: &mut Secrets<Label>,
) {
    let mut room = Secrets::<Label>::zeros(STRIP);
    match kept.capacity() < x.len() {
        // Growing would leave a copy behind.
        true => *kept = Secrets::zeros(x.len()),
        false => kept.resize(x.len(), Label::ZERO),
    }
    pads.strips(x.len(), |strip, hash| {
        let [x, y, r] = [x, y, r].map(|masks| as_words(masks.some(strip.clone())));
        let (made, kept) = (&mut room[..strip.len()], cast_slice_mut(&mut kept[strip.clone()]));
        leaky_ciphertexts(Kernel::best(), hash, own.delta.bits(), x.keys, [y, r], cast_slice_mut(made), kept);
        pack_words(&mut list[bytes * strip.start..], bytes, made.iter());
    });
}

/// Computes S_P of each leaky AND, all bits, and overwrites the kept part with it.
pub(super) fn sums(
    own: &Owner,
    pads: &Pads,
    Packed { bytes, list }: Packed<&[u8]>,
    [x, y]: [View<'_>; 2],
    kept: &mut Secrets<Label>,
) {
    let mut room = [Label::ZERO; STRIP];
    pads.strips(x.len(), |strip, hash| {
        let [x, y] = [x, y].map(|masks| as_words(masks.some(strip.clone())));
        let (theirs, kept) = (&mut room[..strip.len()], cast_slice_mut(&mut kept[strip.clone()]));
        theirs.iter_mut().zip(strip).for_each(|(word, k)| *word = words::word(list, bytes, k));
        leaky_sums(Kernel::best(), hash, own.delta.bits(), x.macs, y, cast_slice(theirs), kept);
    });
}

/// A portion whose masks exist, and this party's kept part of it.
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
    /// Sends where this party's hashes of a portion begin, and its ciphertexts. The hashes to keep take the
    /// place of those of another portion.
    fn send_half(
        &mut self,
        drawn: &Drawn,
        portion: Portion,
        mut kept: Secrets<Label>,
    ) -> Result<Halved, Error> {
        // All OTs that these masks come of have been checked.
        let pads = Pads { start: self.rng.block(), factor: self.rng.block() };
        let of = [Of::X, Of::Y, Of::Z].map(|of| drawn.shares.some(portion.all(of)));
        let bytes = self.level.compared_bytes();
        let mut message = vec![0; PADS + bytes * portion.draw.leaky + SPARE];
        message[..16].copy_from_slice(&pads.start.to_le_bytes());
        message[16..PADS].copy_from_slice(&pads.factor.to_le_bytes());
        half(&self.own, &pads, of, Packed { bytes, list: &mut message[PADS..] }, &mut kept);
        message.truncate(message.len() - SPARE);
        self.hooks.alter(Point::Ciphertexts, &mut message[PADS..]);
        self.run.channel.send(msg::CIPHERTEXTS, &message)?;
        Ok(Halved { portion, kept })
    }

    /// Receives the peer's ciphertexts of a portion, and sends a bit of each leaky AND.
    fn send_bits(
        &mut self,
        drawn: &Drawn,
        Halved { portion, kept: mut sums }: Halved,
    ) -> Result<Summed, Error> {
        let (bytes, count) = (self.level.compared_bytes(), sums.len());
        let mut message = vec![0; PADS + bytes * count + SPARE];
        self.run.channel.receive_into(msg::CIPHERTEXTS, &mut message[..PADS + bytes * count])?;
        let [start, factor] = [0, 16].map(|at| short_word(&message[at..at + 16]).bits());
        let of = [Of::X, Of::Y].map(|of| drawn.shares.some(portion.all(of)));
        let theirs = Packed { bytes, list: &message[PADS..] };
        self::sums(&self.own, &Pads { start, factor }, theirs, of, &mut sums);
        let mut bits: Secrets<u8> = colours(&sums).collect();
        self.hooks.alter(Point::Bits, &mut bits);
        self.run.channel.send(msg::BITS, &pack(bits.iter().copied()))?;
        Ok(Summed { portion, sums, bits })
    }

    /// Receives the peer's bits of a portion: r becomes z, and the words that are to be equal go into the
    /// digest. Returns the sums, of which nothing is needed any more.
    fn multiply(
        &mut self,
        drawn: &mut Drawn,
        summed: Summed,
        digest: &mut Hasher,
    ) -> Result<Secrets<Label>, Error> {
        let Summed { portion, mut sums, mut bits } = summed;
        let theirs = self.run.channel.receive(msg::BITS, bits.len().div_ceil(8))?;
        let theirs = Secrets::new(unpack(&theirs, bits.len())?);
        bits.iter_mut().zip(theirs.iter()).for_each(|(bit, theirs)| *bit ^= theirs);
        self.own.add_public(&mut drawn.shares, portion.all(Of::Z), &bits);
        add_where(&mut sums, self.own.difference(), &bits);
        let bytes = self.level.compared_bytes();
        let mut words = Secrets::<u8>::zeros(bytes * sums.len() + SPARE);
        pack_words(&mut words, bytes, sums.iter());
        let compared = bytes * sums.len();
        self.hooks.alter(Point::Compared, &mut words[..compared]);
        digest.update(&words[..compared]);
        Ok(sums)
    }
}

/// Draws all masks of a lot, makes its leaky ANDs, and compares the parties' words. Returns a coin.
///
/// # Errors
/// [`Error::Peer`] if the peer cheats, [`Error::Io`] if the connection fails.
pub(super) fn make(member: &mut Member, draws: Draws, drawn: &mut Drawn) -> Result<Seed, Error> {
    member.provide(draws.total())?;
    let place = member.place()?;
    let mut digest = Hasher::new(&member.key, Purpose::Compared, place, Party::Garbler);
    drawn.begin(draws);
    let count = draws.count();
    let (mut halved, mut summed) = (VecDeque::new(), VecDeque::new());
    let (mut chosen, mut room) = (Choices::default(), Vec::new());
    for step in 0..count + 2 {
        look();
        if let Some(portion) = chosen.next(member, drawn)? {
            halved.push_back(member.send_half(drawn, portion, room.pop().unwrap_or_default())?);
        }
        if (1..=count).contains(&step) {
            let before = halved.pop_front().expect("the portion of the step before");
            summed.push_back(member.send_bits(drawn, before)?);
        }
        if step >= 2 {
            let before = summed.pop_front().expect("the portion of two steps before");
            room.push(member.multiply(drawn, before, &mut digest)?);
        }
    }
    let digest = Zeroizing::new(digest.finish());
    let compared = drawn.shares.some(drawn.portions[0].compared());
    compare(member, short_word(&digest[..16]).bits(), compared, place)
}

/// Draws masks that are not for leaky ANDs.
///
/// # Errors
/// As [`make`].
pub(super) fn others(member: &mut Member, draws: Draws, drawn: &mut Drawn) -> Result<(), Error> {
    member.provide(draws.total())?;
    drawn.begin(draws);
    let mut chosen = Choices::default();
    while chosen.next(member, drawn)?.is_some() {}
    Ok(())
}

/// The choices of a lot, a portion of which is sent before the one before it is accepted.
#[derive(Default)]
struct Choices {
    /// How many portions were chosen, and how many of these accepted.
    chosen: usize,
    accepted: usize,
}

impl Choices {
    /// Sends the choices of the portion behind the next one, receives the peer's for the next one and checks
    /// them. Returns the next one, if there is one.
    fn next(&mut self, member: &mut Member, drawn: &mut Drawn) -> Result<Option<Portion>, Error> {
        let Drawn { portions, shares } = drawn;
        while self.chosen < portions.len().min(self.accepted + 2) {
            let portion = &portions[self.chosen];
            member.choose(&mut shares.macs[portion.first..portion.end()])?;
            self.chosen += 1;
        }
        let Some(&portion) = portions.get(self.accepted) else { return Ok(None) };
        member.accept(&mut shares.keys[portion.first..portion.end()])?;
        self.accepted += 1;
        Ok(Some(portion))
    }
}
