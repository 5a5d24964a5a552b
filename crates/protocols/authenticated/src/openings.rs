//! Opening masks: both parties say their shares, and one hash shows the macs of all.

use brickwork_base::Error;
use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::Label;
use brickwork_wire::Tag;
use subtle::ConstantTimeEq;

use crate::cheat::Cheat;
use crate::hash::{HASH, Hasher, Place, Purpose};
use crate::hooks::Point;
use crate::msg;
use crate::secrets::Secrets;
use crate::setup::Member;
use crate::share::View;
use crate::words::{add_where, colours};

/// Macs that are hashed at a time.
const IN_HAND: usize = 1 << 12;

/// The masks that are opened: the name of their hash, and how they travel.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    pub purpose: Purpose,
    pub tag: Tag,
    pub point: Point,
}

impl Opening {
    /// The differences by which triples multiply, of a part of a lot.
    pub const TRIPLES: Self = Opening { purpose: Purpose::Opened, tag: msg::OPENED, point: Point::Opened };

    /// Masks of inputs.
    pub const INPUTS: Self =
        Opening { purpose: Purpose::InputMasks, tag: msg::INPUT_MASKS, point: Point::InputMasks };

    /// Masks of outputs.
    pub const OUTPUTS: Self =
        Opening { purpose: Purpose::OutputMasks, tag: msg::OUTPUT_MASKS, point: Point::OutputMasks };
}

/// A party's shares of masks, and the proof that they are right.
pub(super) struct Shown {
    pub bits: Secrets<u8>,
    hash: [u8; HASH],
}

/// Goes through a list of words, a few at a time.
type Words<'a> = &'a dyn Fn(&mut dyn FnMut(&[Label]));

impl Member {
    /// Returns this party's message about this many masks with these MACs.
    pub fn shown(&self, opening: Opening, place: Place, count: usize, macs: Words<'_>) -> Shown {
        let mut bits = Secrets::with_capacity(count);
        let mut hash = Hasher::new(&self.key, opening.purpose, place, self.own.role);
        macs(&mut |macs| {
            bits.extend(colours(macs));
            hash.update(bytemuck::cast_slice(macs));
        });
        Shown { bits, hash: hash.finish() }
    }

    /// Says its shares.
    pub fn show(&mut self, opening: Opening, shown: &Shown) -> Result<(), Error> {
        let mut bits = shown.bits.clone();
        self.hooks.alter(opening.point, &mut bits);
        let mut message = pack(bits.iter().copied());
        message.extend_from_slice(&shown.hash);
        self.run.channel.send(opening.tag, &message)
    }

    /// Hears the peer's shares of masks whose keys these are, and of which this party's shares are `own`.
    /// Returns the masks' values, which are checked.
    pub fn see(
        &mut self,
        opening: Opening,
        place: Place,
        keys: Words<'_>,
        own: &[u8],
    ) -> Result<Secrets<u8>, Error> {
        let bytes = own.len().div_ceil(8);
        let message = Secrets::new(self.run.channel.receive(opening.tag, bytes + HASH)?);
        let (bits, told) = message.split_at(bytes);
        let mut values = Secrets::new(unpack(bits, own.len())?);
        let mut hash = Hasher::new(&self.key, opening.purpose, place, self.peer());
        let (mut expected, mut rest) = (Secrets::<Label>::with_capacity(IN_HAND), &values[..]);
        keys(&mut |keys| {
            for keys in keys.chunks(IN_HAND) {
                let (bits, behind) = rest.split_at(keys.len());
                expected.clear();
                expected.extend_from_slice(keys);
                add_where(&mut expected, self.own.delta.label(), bits);
                hash.update(bytemuck::cast_slice(&expected));
                rest = behind;
            }
        });
        self.require(hash.finish()[..].ct_eq(told), Cheat::Opening)?;
        self.run.cover();
        values.iter_mut().zip(own).for_each(|(value, bit)| *value ^= bit);
        Ok(values)
    }

    /// Says its shares of these masks.
    pub fn say(&mut self, opening: Opening, place: Place, shares: View<'_>) -> Result<(), Error> {
        let shown = self.shown(opening, place, shares.len(), &|each| each(shares.macs));
        self.show(opening, &shown)
    }

    /// Hears the peer's shares of these masks. Returns the masks' values, which are checked.
    pub fn hear(&mut self, opening: Opening, place: Place, shares: View<'_>) -> Result<Secrets<u8>, Error> {
        let own: Secrets<u8> = colours(shares.macs).collect();
        self.see(opening, place, &|each| each(shares.keys), &own)
    }
}
