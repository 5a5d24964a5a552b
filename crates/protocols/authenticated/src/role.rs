//! The operations on lots and programs that both roles have.

use brickwork_base::{Error, Party};

use crate::components::{Copies, Garbled, Made, Received};
use crate::keep::Wires;
use crate::layout::{Layout, Lot};
use crate::leaky::Drawn;
use crate::parameters::Sizes;
use crate::setup::Member;
use crate::shelf::Shelf;
use crate::{build, decode, evaluate, preprocess};

/// A role, named by the type of its copies.
pub(super) trait Role: Copies + Sized {
    const ROLE: Party;

    /// Returns the bytes that wait for a program for each AND gate, if tags have `c` bytes.
    fn an_and(c: usize) -> usize;

    /// Makes a lot. `room` is the memory of the previous lot's masks.
    ///
    /// # Errors
    /// As [`preprocess::garble`].
    fn make(
        member: &mut Member,
        lot: &Lot,
        sizes: Sizes,
        shelf: &Shelf,
        room: &mut Drawn,
        made: &mut Made<Self>,
    ) -> Result<(), Error>;

    /// Runs a program on the items of `made`. Returns this party's outputs and all wires of the program.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are too few items, [`Error::Peer`] if the peer cheats, [`Error::Io`] if it
    /// goes away.
    fn execute(
        member: &mut Member,
        layout: &Layout,
        made: &mut Made<Self>,
        input: &[bool],
    ) -> Result<(Vec<bool>, Wires), Error>;
}

impl Role for Garbled {
    const ROLE: Party = Party::Garbler;

    fn an_and(c: usize) -> usize {
        4 * c
    }

    fn make(
        member: &mut Member,
        lot: &Lot,
        sizes: Sizes,
        shelf: &Shelf,
        room: &mut Drawn,
        made: &mut Made<Self>,
    ) -> Result<(), Error> {
        preprocess::garble(member, lot, sizes, shelf, room, made)
    }

    fn execute(
        member: &mut Member,
        layout: &Layout,
        made: &mut Made<Self>,
        input: &[bool],
    ) -> Result<(Vec<bool>, Wires), Error> {
        let (connected, labels) = build::garbler(member, layout, made)?;
        let masked = evaluate::garbler(member, layout, &connected, &labels, input)?;
        let outputs = decode::open(member, layout, &connected.masks, &masked)?;
        Ok((outputs, Wires { masks: connected.masks, labels, masked }))
    }
}

impl Role for Received {
    const ROLE: Party = Party::Evaluator;

    fn an_and(c: usize) -> usize {
        3 * (brickwork_base::label::LABEL_BYTES + c)
    }

    fn make(
        member: &mut Member,
        lot: &Lot,
        sizes: Sizes,
        shelf: &Shelf,
        room: &mut Drawn,
        made: &mut Made<Self>,
    ) -> Result<(), Error> {
        preprocess::receive(member, lot, sizes, shelf, room, made)
    }

    fn execute(
        member: &mut Member,
        layout: &Layout,
        made: &mut Made<Self>,
        input: &[bool],
    ) -> Result<(Vec<bool>, Wires), Error> {
        let (connected, own) = build::evaluator(member, layout, made)?;
        let (masked, labels) = evaluate::evaluator(member, layout, &connected, own, input)?;
        let outputs = decode::open(member, layout, &connected.masks, &masked)?;
        Ok((outputs, Wires { masks: connected.masks, labels, masked }))
    }
}
