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

/// Which masks are opened: what names their hash, and how they travel.
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

impl Member {
    /// Says its shares of these masks.
    pub fn say(&mut self, opening: Opening, place: Place, shares: View<'_>) -> Result<(), Error> {
        let mut bits: Secrets<u8> = colours(shares.macs).collect();
        self.hooks.alter(opening.point, &mut bits);
        let hash = Hasher::new(&self.key, opening.purpose, place, self.own.role);
        let mut message = pack(bits.iter().copied());
        message.extend_from_slice(&hash.of(bytemuck::cast_slice(shares.macs)));
        self.run.channel.send(opening.tag, &message)
    }

    /// Hears the peer's shares of these masks. Returns the masks' values, which are checked.
    pub fn hear(&mut self, opening: Opening, place: Place, shares: View<'_>) -> Result<Secrets<u8>, Error> {
        let (count, bytes) = (shares.macs.len(), shares.macs.len().div_ceil(8));
        let message = Secrets::new(self.run.channel.receive(opening.tag, bytes + HASH)?);
        let (bits, told) = message.split_at(bytes);
        let mut values = Secrets::new(unpack(bits, count)?);
        let mut hash = Hasher::new(&self.key, opening.purpose, place, self.peer());
        let mut expected = Secrets::<Label>::zeros(IN_HAND.min(count));
        for (keys, bits) in shares.keys.chunks(IN_HAND).zip(values.chunks(IN_HAND)) {
            let expected = &mut expected[..keys.len()];
            expected.copy_from_slice(keys);
            add_where(expected, self.own.delta.label(), bits);
            hash.update(bytemuck::cast_slice(expected));
        }
        self.require(hash.finish()[..].ct_eq(told), Cheat::Opening)?;
        values.iter_mut().zip(colours(shares.macs)).for_each(|(value, bit)| *value ^= bit);
        Ok(values)
    }
}
