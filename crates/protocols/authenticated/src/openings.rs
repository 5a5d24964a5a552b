//! Opens masks: both parties send their shares, and one hash shows the MACs of all shares.

use brickwork_base::Error;
use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::Label;
use brickwork_wire::Tag;
use subtle::ConstantTimeEq;

use crate::cheat::Cheat;
use crate::hash::{HASH, HashNumber, HashPurpose, RunningHash};
use crate::hooks::Point;
use crate::layout::parts;
use crate::msg;
use crate::secrets::SecretBlocks;
use crate::setup::SessionState;
use crate::share::Share;
use crate::shelf::Paged;
use crate::words::{add_where, colours};

/// The number of MACs that are hashed at a time.
const IN_HAND: usize = 1 << 12;

/// A kind of opening: the purpose of its hash, its message, and its hook.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    pub purpose: HashPurpose,
    pub tag: Tag,
    pub point: Point,
}

impl Opening {
    /// The masks that are opened for the triples of a part.
    pub const TRIPLES: Self =
        Opening { purpose: HashPurpose::Opened, tag: msg::OPENED, point: Point::Opened };

    pub const INPUTS: Self =
        Opening { purpose: HashPurpose::InputMasks, tag: msg::INPUT_MASKS, point: Point::InputMasks };

    pub const OUTPUTS: Self =
        Opening { purpose: HashPurpose::OutputMasks, tag: msg::OUTPUT_MASKS, point: Point::OutputMasks };
}

/// A party's shares of the masks to open, and the hash of their MACs.
pub(super) struct Shown {
    pub bits: SecretBlocks<u8>,
    hash: [u8; HASH],
}

/// Visits the words of a list, a few at a time.
type Words<'a> = &'a dyn Fn(&mut dyn FnMut(&[Label]));

impl SessionState {
    /// Makes this party's message that opens `count` masks with these MACs.
    pub fn shown(&self, opening: Opening, place: HashNumber, count: usize, macs: Words<'_>) -> Shown {
        let mut bits = SecretBlocks::with_capacity(count);
        let mut hash = RunningHash::new(&self.key, opening.purpose, place, self.own.role);
        macs(&mut |macs| {
            bits.extend(colours(macs));
            hash.update(bytemuck::cast_slice(macs));
        });
        Shown { bits, hash: hash.finish() }
    }

    /// Sends this party's shares.
    pub fn show(&mut self, opening: Opening, shown: &Shown) -> Result<(), Error> {
        let mut bits = shown.bits.clone();
        self.hooks.alter(opening.point, &mut bits);
        let mut message = pack(bits.iter().copied());
        message.extend_from_slice(&shown.hash);
        self.run.channel.send(opening.tag, &message)
    }

    /// Receives the peer's shares of masks, and checks them. `keys` are this party's keys of the masks, `own`
    /// its shares. Returns the values of the masks.
    pub fn see(
        &mut self,
        opening: Opening,
        place: HashNumber,
        keys: Words<'_>,
        own: &[u8],
    ) -> Result<SecretBlocks<u8>, Error> {
        let bytes = own.len().div_ceil(8);
        let message = SecretBlocks::new(self.run.channel.receive(opening.tag, bytes + HASH)?);
        let (bits, told) = message.split_at(bytes);
        let mut values = SecretBlocks::new(unpack(bits, own.len())?);
        let mut hash = RunningHash::new(&self.key, opening.purpose, place, self.peer());
        let (mut expected, mut rest) = (SecretBlocks::<Label>::with_capacity(IN_HAND), &values[..]);
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

    /// Sends this party's shares of the `count` masks at these places.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails, [`Error::Resource`] if a mask cannot be read.
    pub fn say(
        &mut self,
        opening: Opening,
        masks: &mut Paged<Share>,
        count: usize,
        mut places: impl Iterator<Item = usize>,
    ) -> Result<(), Error> {
        for some in parts(count) {
            let place = self.place()?;
            let shares = masks.gathered(some, &mut places)?;
            let shown = self.shown(opening, place, some, &|each| each(&shares.macs));
            self.show(opening, &shown)?;
        }
        Ok(())
    }

    /// Receives the peer's shares of the `count` masks at these places, and checks them. Returns the values
    /// of the masks.
    ///
    /// # Errors
    /// As [`SessionState::say`]; [`Error::Peer`] if a share is wrong.
    pub fn hear(
        &mut self,
        opening: Opening,
        masks: &mut Paged<Share>,
        count: usize,
        mut places: impl Iterator<Item = usize>,
    ) -> Result<SecretBlocks<u8>, Error> {
        let mut values = SecretBlocks::with_capacity(count);
        for some in parts(count) {
            let place = self.place()?;
            let shares = masks.gathered(some, &mut places)?;
            let own: SecretBlocks<u8> = colours(&shares.macs).collect();
            values.extend_from_slice(&self.see(opening, place, &|each| each(&shares.keys), &own)?);
        }
        Ok(values)
    }
}
