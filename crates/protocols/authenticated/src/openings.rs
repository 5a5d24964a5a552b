//! Opening masks: both parties say their shares, and one hash shows the macs of all.

use brickwork_base::Error;
use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::Label;
use brickwork_wire::Tag;
use subtle::ConstantTimeEq;

use crate::cheat::Cheat;
use crate::hash::{HASH, Hasher, Purpose};
use crate::hooks::Point;
use crate::msg;
use crate::secrets::Secrets;
use crate::setup::Member;
use crate::share::Share;

/// Which masks are opened: what names their hash, and how they travel.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    pub purpose: Purpose,
    pub tag: Tag,
    pub point: Point,
    /// Which of several openings for this purpose.
    pub number: usize,
}

impl Opening {
    /// Makes the differences by which triples multiply, of a group of slots.
    pub fn of_triples(group: usize) -> Self {
        Opening { purpose: Purpose::Opened, tag: msg::OPENED, point: Point::Opened, number: group }
    }

    /// Masks of inputs.
    pub const INPUTS: Self =
        Opening { purpose: Purpose::InputMasks, tag: msg::INPUT_MASKS, point: Point::InputMasks, number: 0 };

    /// Masks of outputs.
    pub const OUTPUTS: Self = Opening {
        purpose: Purpose::OutputMasks,
        tag: msg::OUTPUT_MASKS,
        point: Point::OutputMasks,
        number: 0,
    };
}

impl Member {
    /// Says its shares of these masks.
    pub fn say(&mut self, opening: Opening, shares: &[Share]) -> Result<(), Error> {
        let mut bits: Secrets<u8> = shares.iter().map(Share::bit).collect();
        self.hooks.alter(opening.point, &mut bits);
        let macs: Secrets<Label> = shares.iter().map(|share| share.mac).collect();
        let hash = Hasher::new(&self.key, opening.purpose, opening.number, self.own.role);
        let mut message = pack(bits.iter().copied());
        message.extend_from_slice(&hash.of(bytemuck::cast_slice(&macs)));
        self.run.channel.send(opening.tag, &message)
    }

    /// Hears the peer's shares of these masks. Returns the masks' values, which are checked.
    pub fn hear(&mut self, opening: Opening, shares: &[Share]) -> Result<Secrets<u8>, Error> {
        let bytes = shares.len().div_ceil(8);
        let message = Secrets::new(self.run.channel.receive(opening.tag, bytes + HASH)?);
        let (bits, told) = message.split_at(bytes);
        let mut values = Secrets::new(unpack(bits, shares.len())?);
        values.iter_mut().zip(shares).for_each(|(value, share)| *value ^= share.bit());
        let words = shares.iter().zip(values.iter());
        let expected: Secrets<Label> =
            words.map(|(share, &value)| self.own.expected(*share, value)).collect();
        let hash = Hasher::new(&self.key, opening.purpose, opening.number, self.peer());
        self.require(hash.of(bytemuck::cast_slice(&expected))[..].ct_eq(told), Cheat::Opening)?;
        Ok(values)
    }
}
