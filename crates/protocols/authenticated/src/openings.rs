//! Opening masks: both parties say their shares, and one hash shows the macs of all.

use brickwork_base::bits::{pack, unpack};
use brickwork_base::label::Label;
use brickwork_base::{Error, Party};
use brickwork_wire::Tag;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::cheat::Cheat;
use crate::hash::{HASH, Purpose, hasher};
use crate::hooks::Point;
use crate::msg;
use crate::setup::Member;
use crate::share::{Share, Shares};

/// Which masks are opened: what names their hash, and how they travel.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    pub purpose: Purpose,
    pub tag: Tag,
    pub point: Point,
    pub batch: usize,
}

impl Opening {
    /// The differences by which triples multiply, of a batch.
    pub fn of_triples(batch: usize) -> Self {
        Opening { purpose: Purpose::Opened, tag: msg::OPENED, point: Point::Opened, batch }
    }

    /// Masks of inputs.
    pub const INPUTS: Self =
        Opening { purpose: Purpose::InputMasks, tag: msg::INPUT_MASKS, point: Point::InputMasks, batch: 0 };

    /// Masks of outputs.
    pub const OUTPUTS: Self = Opening {
        purpose: Purpose::OutputMasks,
        tag: msg::OUTPUT_MASKS,
        point: Point::OutputMasks,
        batch: 0,
    };
}

impl Member {
    /// Says its shares of these masks.
    pub fn say(&mut self, opening: Opening, shares: &[Share]) -> Result<(), Error> {
        let mut bits: Zeroizing<Vec<u8>> = Zeroizing::new(shares.iter().map(Share::bit).collect());
        self.hooks.alter(opening.point, &mut bits);
        let macs = Zeroizing::new(shares.iter().map(|share| share.mac).collect::<Vec<Label>>());
        let mut hash = hasher(&self.key, opening.purpose, opening.batch, self.own.role);
        hash.update(bytemuck::cast_slice(&macs));
        let mut message = pack(bits.iter().copied());
        message.extend_from_slice(hash.finalize().as_bytes());
        self.run.channel.send(opening.tag, &message)
    }

    /// Hears the peer's shares of these masks. Returns the masks' values, which are checked.
    pub fn hear(&mut self, opening: Opening, shares: &[Share]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let bytes = shares.len().div_ceil(8);
        let message = Zeroizing::new(self.run.channel.receive(opening.tag, bytes + HASH)?);
        let (bits, told) = message.split_at(bytes);
        let mut values = Zeroizing::new(unpack(bits, shares.len())?);
        values.iter_mut().zip(shares).for_each(|(value, share)| *value ^= share.bit());
        let expected = shares.iter().zip(&*values).map(|(share, &value)| self.own.expected(*share, value));
        let expected = Zeroizing::new(expected.collect::<Vec<Label>>());
        let mut hash = hasher(&self.key, opening.purpose, opening.batch, self.peer());
        hash.update(bytemuck::cast_slice(&expected));
        self.require(hash.finalize().as_bytes()[..].ct_eq(told), Cheat::Opening)?;
        Ok(values)
    }

    /// Opens masks to both parties. The garbler has checked the evaluator's shares before it says its own.
    pub fn open(&mut self, opening: Opening, shares: &Shares) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self.own.role {
            Party::Garbler => {
                let values = self.hear(opening, shares)?;
                self.say(opening, shares)?;
                Ok(values)
            }
            Party::Evaluator => {
                self.say(opening, shares)?;
                self.hear(opening, shares)
            }
        }
    }
}
