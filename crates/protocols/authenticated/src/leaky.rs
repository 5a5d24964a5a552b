//! Leaky ANDs (after Katz, Ranellucci, Rosulek and Wang, CRYPTO 2018): masks x, y and z with z = x·y. A
//! cheater can bet on the other party's share of x; it loses the bet with probability 1/2.
//!
//! Let ⟨x⟩, ⟨y⟩ and ⟨r⟩ be random masks and H_P the hash of party P. Each party has the words of this table:
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
//! S_G + S_E = (xy + r)·(Θ_G + Θ_E), so the words L are equal if and only if z = xy. In the names of `share`,
//! k is the key of x for the party's own bit, m is its MAC, and Y is K_y + M_y + y·⌊Δ⌋ at either party; Z is
//! the same for r.
//!
//! Leaky ANDs are made in portions. Both parties do the same at the same time, so that both directions of the
//! connection are used. Each party is up to `a` portions ahead ([`MaskDraws::ahead`]):
//!
//! ```text
//!   step k, both ways     choices of portion k + a, ciphertexts of portion k, bits of portion k - a
//! ```
//!
//! In a step, a party sends messages that depend on none of the messages that the peer sends in its last `a`
//! steps. So it waits for the network only once in `a` steps. A party sends choices before the ciphertexts
//! and bits of earlier portions have arrived. docs/protocols/authenticated.md explains why this is secure. A
//! party draws the hash for a portion after it has checked the peer's choices for this portion.

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
use crate::hash::{HashPurpose, RunningHash};
use crate::hooks::Point;
use crate::msg;
use crate::pads::{Pads, STRIP};
use crate::parameters::{Draw, MaskDraws};
use crate::secrets::SecretBlocks;
use crate::setup::SessionState;
use crate::share::{MaskShares, OffsetOwner, ShareView};
use crate::words::{self, SPARE, add_where, colours, pack_words, short_word};

/// The bytes of the start of the hash keys and of the factor ρ.
pub(super) const PADS: usize = 32;

/// One of the three masks of a leaky AND.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    X,
    Y,
    /// First r, later z.
    Z,
}

/// The masks that were drawn together: x, y and z of all leaky ANDs, and then the other masks.
#[derive(Clone, Copy)]
pub(super) struct Portion {
    pub draw: Draw,
    /// The index of the first mask in the list of the lot.
    first: usize,
}

impl Portion {
    fn of(draws: MaskDraws) -> Vec<Portion> {
        let lay = |first: &mut usize, draw: Draw| {
            let portion = Portion { draw, first: *first };
            *first += draw.total();
            Some(portion)
        };
        draws.all().scan(0, lay).collect()
    }

    /// Returns the range of one of the three masks of some leaky ANDs.
    fn places(&self, of: Of, leaky: Range<usize>) -> Range<usize> {
        let first = self.first + of as usize * self.draw.leaky;
        first + leaky.start..first + leaky.end
    }

    /// Returns the range of one of the three masks of all leaky ANDs.
    fn all(&self, of: Of) -> Range<usize> {
        self.places(of, 0..self.draw.leaky)
    }

    /// Returns the range of the masks whose OTs compare digests.
    fn compared(&self) -> Range<usize> {
        let first = self.first + 3 * self.draw.leaky;
        first..first + self.draw.compared
    }

    /// Returns the range of the masks that belong to no leaky AND.
    fn others(&self) -> Range<usize> {
        self.end() - self.draw.masks..self.end()
    }

    fn end(&self) -> usize {
        self.first + self.draw.total()
    }
}

/// All masks of a lot, in two long lists. The next lot overwrites the lists, which is faster than touching
/// new memory pages.
#[derive(Default)]
pub(super) struct DrawnMasks {
    portions: Vec<Portion>,
    shares: MaskShares,
}

impl DrawnMasks {
    /// Makes room for a lot. The memory of an earlier lot is used again if it is large enough.
    fn begin(&mut self, draws: MaskDraws) {
        self.portions = Portion::of(draws);
        let count = draws.total();
        if self.shares.len() < count {
            // The old contents are freed before more memory is requested.
            self.shares = MaskShares::default();
            self.shares = MaskShares::zeros(count);
        }
    }

    /// Makes random words that are no masks, for measuring.
    pub fn random(draws: MaskDraws, rng: &mut Rng) -> Self {
        let mut words = || (0..draws.total()).map(|_| rng.label()).collect();
        DrawnMasks { portions: Portion::of(draws), shares: MaskShares { keys: words(), macs: words() } }
    }

    pub fn portions(&self) -> &[Portion] {
        &self.portions
    }

    /// Returns one of the three masks of some leaky ANDs of a portion.
    pub fn some(&self, portion: &Portion, of: Of, leaky: Range<usize>) -> ShareView<'_> {
        self.shares.some(portion.places(of, leaky))
    }

    /// Returns the masks that belong to no leaky AND, portion after portion.
    pub fn others(&self) -> impl Iterator<Item = ShareView<'_>> {
        self.portions.iter().map(|portion| self.shares.some(portion.others()))
    }
}

/// Casts keys and MACs to the type that the kernels take.
fn as_words(some: ShareView<'_>) -> MaskWords<'_> {
    MaskWords { keys: cast_slice(some.keys), macs: cast_slice(some.macs) }
}

/// Words of leaky ANDs as they are sent: `bytes` bytes of each, and [`SPARE`] bytes at the end.
#[derive(Clone, Copy)]
pub(super) struct Packed<B> {
    pub bytes: usize,
    pub list: B,
}

/// Writes g_P of each leaky AND to `list`, and H_P(k) + Z, which this party keeps, to `kept`.
pub(super) fn half(
    own: &OffsetOwner,
    pads: &Pads,
    [x, y, r]: [ShareView<'_>; 3],
    Packed { bytes, list }: Packed<&mut [u8]>,
    kept: &mut SecretBlocks<Label>,
) {
    let mut room = SecretBlocks::<Label>::zeros(STRIP);
    match kept.capacity() < x.len() {
        // A list that grows in place would leave a copy of the secrets in freed memory.
        true => *kept = SecretBlocks::zeros(x.len()),
        false => kept.resize(x.len(), Label::ZERO),
    }
    pads.strips(x.len(), |strip, hash| {
        let [x, y, r] = [x, y, r].map(|masks| as_words(masks.some(strip.clone())));
        let (made, kept) = (&mut room[..strip.len()], cast_slice_mut(&mut kept[strip.clone()]));
        leaky_ciphertexts(Kernel::best(), hash, own.delta.bits(), x.keys, [y, r], cast_slice_mut(made), kept);
        pack_words(&mut list[bytes * strip.start..], bytes, made.iter());
    });
}

/// Computes S_P of each leaky AND from `kept`, and overwrites `kept` with the result.
pub(super) fn sums(
    own: &OffsetOwner,
    pads: &Pads,
    Packed { bytes, list }: Packed<&[u8]>,
    [x, y]: [ShareView<'_>; 2],
    kept: &mut SecretBlocks<Label>,
) {
    let mut room = [Label::ZERO; STRIP];
    pads.strips(x.len(), |strip, hash| {
        let [x, y] = [x, y].map(|masks| as_words(masks.some(strip.clone())));
        let (theirs, kept) = (&mut room[..strip.len()], cast_slice_mut(&mut kept[strip.clone()]));
        theirs.iter_mut().zip(strip).for_each(|(word, k)| *word = words::word(list, bytes, k));
        leaky_sums(Kernel::best(), hash, own.delta.bits(), x.macs, y, cast_slice(theirs), kept);
    });
}

/// A portion after this party has sent its ciphertexts, with the words H_P(k) + Z.
struct Halved {
    portion: Portion,
    kept: SecretBlocks<Label>,
}

/// A portion after its words S_P are computed and their last bits are sent.
struct Summed {
    portion: Portion,
    sums: SecretBlocks<Label>,
    bits: SecretBlocks<u8>,
}

impl SessionState {
    /// Sends the start of this party's hash keys, the factor and the ciphertexts of a portion. `kept` is
    /// memory of an earlier portion.
    fn send_half(
        &mut self,
        drawn: &DrawnMasks,
        portion: Portion,
        mut kept: SecretBlocks<Label>,
    ) -> Result<Halved, Error> {
        // The choices for these masks have been checked, so the hash may now be drawn.
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

    /// Receives the peer's ciphertexts of a portion, and sends one bit of each leaky AND.
    fn send_bits(
        &mut self,
        drawn: &DrawnMasks,
        Halved { portion, kept: mut sums }: Halved,
    ) -> Result<Summed, Error> {
        let (bytes, count) = (self.level.compared_bytes(), sums.len());
        let mut message = vec![0; PADS + bytes * count + SPARE];
        self.run.channel.receive_into(msg::CIPHERTEXTS, &mut message[..PADS + bytes * count])?;
        let [start, factor] = [0, 16].map(|at| short_word(&message[at..at + 16]).bits());
        let of = [Of::X, Of::Y].map(|of| drawn.shares.some(portion.all(of)));
        let theirs = Packed { bytes, list: &message[PADS..] };
        self::sums(&self.own, &Pads { start, factor }, theirs, of, &mut sums);
        let mut bits: SecretBlocks<u8> = colours(&sums).collect();
        self.hooks.alter(Point::Bits, &mut bits);
        self.run.channel.send(msg::BITS, &pack(bits.iter().copied()))?;
        Ok(Summed { portion, sums, bits })
    }

    /// Receives the peer's bits of a portion. Turns r into z, and adds the words to compare to the digest.
    /// Returns the sums, whose memory can be used again.
    fn multiply(
        &mut self,
        drawn: &mut DrawnMasks,
        summed: Summed,
        digest: &mut RunningHash,
    ) -> Result<SecretBlocks<Label>, Error> {
        let Summed { portion, mut sums, mut bits } = summed;
        let theirs = self.run.channel.receive(msg::BITS, bits.len().div_ceil(8))?;
        let theirs = SecretBlocks::new(unpack(&theirs, bits.len())?);
        bits.iter_mut().zip(theirs.iter()).for_each(|(bit, theirs)| *bit ^= theirs);
        self.own.add_public(&mut drawn.shares, portion.all(Of::Z), &bits);
        add_where(&mut sums, self.own.difference(), &bits);
        let bytes = self.level.compared_bytes();
        let mut words = SecretBlocks::<u8>::zeros(bytes * sums.len() + SPARE);
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
pub(super) fn make(
    member: &mut SessionState,
    draws: MaskDraws,
    drawn: &mut DrawnMasks,
) -> Result<Seed, Error> {
    member.provide(draws.total())?;
    let place = member.place()?;
    let mut digest = RunningHash::new(&member.key, HashPurpose::Compared, place, Party::Garbler);
    drawn.begin(draws);
    let count = draws.count();
    let ahead = draws.ahead(member.cot(), member.level);
    let (mut halved, mut summed) = (VecDeque::new(), VecDeque::new());
    let (mut chosen, mut room) = (Choices::new(ahead), Vec::new());
    for step in 0..count + 2 * ahead {
        look();
        if let Some(portion) = chosen.next(member, drawn)? {
            halved.push_back(member.send_half(drawn, portion, room.pop().unwrap_or_default())?);
        }
        if (ahead..ahead + count).contains(&step) {
            let before = halved.pop_front().expect("this portion is in the queue of an earlier step");
            summed.push_back(member.send_bits(drawn, before)?);
        }
        if step >= 2 * ahead {
            let before = summed.pop_front().expect("this portion is in the queue of an earlier step");
            room.push(member.multiply(drawn, before, &mut digest)?);
        }
    }
    let digest = Zeroizing::new(digest.finish());
    let compared = drawn.shares.some(drawn.portions[0].compared());
    compare(member, short_word(&digest[..16]).bits(), compared, place)
}

/// Draws the masks of a lot without leaky ANDs.
///
/// # Errors
/// As [`make`].
pub(super) fn others(
    member: &mut SessionState,
    draws: MaskDraws,
    drawn: &mut DrawnMasks,
) -> Result<(), Error> {
    member.provide(draws.total())?;
    drawn.begin(draws);
    let mut chosen = Choices::new(draws.ahead(member.cot(), member.level));
    while chosen.next(member, drawn)?.is_some() {}
    Ok(())
}

/// The progress of choosing masks. The choices of a portion are sent before earlier portions are accepted.
struct Choices {
    /// The largest number of portions that are chosen but not accepted.
    ahead: usize,
    /// The number of chosen portions, and of accepted ones.
    chosen: usize,
    accepted: usize,
}

impl Choices {
    fn new(ahead: usize) -> Self {
        Choices { ahead, chosen: 0, accepted: 0 }
    }

    /// Sends choices for up to `ahead` further portions, and then receives and checks the peer's choices for
    /// the next portion. Returns this portion, or `None` after the last one.
    fn next(&mut self, member: &mut SessionState, drawn: &mut DrawnMasks) -> Result<Option<Portion>, Error> {
        let DrawnMasks { portions, shares } = drawn;
        while self.chosen < portions.len().min(self.accepted + self.ahead + 1) {
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
