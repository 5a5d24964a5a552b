//! The operations on lots and programs that both roles have.

use brickwork_base::label::LABEL_BYTES;
use brickwork_base::{Error, Party};
use brickwork_circuit::Circuit;

use crate::components::{CopiesOf, Garbled, MadeComponents, Received};
use crate::keep::Computed;
use crate::layout::{Layout, Lot, MakingPlan};
use crate::leaky::DrawnMasks;
use crate::parameters::Sizes;
use crate::setup::SessionState;
use crate::shelf::ListPlace;
use crate::{build, decode, evaluate, preprocess};

/// The operations of one role; the type of its copies represents the role.
pub(super) trait Role: CopiesOf + Sized {
    const ROLE: Party;

    /// The bytes that wait for a program for each wire of a port, an output or an input.
    const WIRE_BYTES: u64;

    /// Returns the bytes that wait for a program for each AND gate, if tags have `c` bytes.
    fn and_bytes(c: usize) -> u64;

    /// Returns the bytes of these numbers of copies, and of masks of inputs, that wait for a program.
    fn waiting<'c>(c: usize, copies: impl Iterator<Item = (&'c Circuit, usize)>, inputs: usize) -> u64 {
        let each = |circuit: &Circuit| {
            let wires = circuit.inputs() + circuit.outputs().len();
            Self::and_bytes(c) * circuit.and_gates() as u64 + Self::WIRE_BYTES * wires as u64
        };
        let copies: u64 = copies.map(|(circuit, copies)| each(circuit) * copies as u64).sum();
        copies + Self::WIRE_BYTES * inputs as u64
    }

    /// Makes a lot. `room` is the memory of the previous lot's masks.
    ///
    /// # Errors
    /// As [`preprocess::garble`].
    fn make(
        member: &mut SessionState,
        lot: &Lot,
        sizes: Sizes,
        room: &mut DrawnMasks,
        made: &mut MadeComponents<Self>,
    ) -> Result<(), Error>;

    /// Runs a program on the items of `made`. Returns this party's outputs and all wires of the program.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are too few items, [`Error::Peer`] if the peer cheats, [`Error::Io`] if it
    /// goes away.
    fn execute(
        member: &mut SessionState,
        layout: &Layout,
        made: &mut MadeComponents<Self>,
        input: &[bool],
    ) -> Result<(Vec<bool>, Computed), Error>;
}

/// Makes a party's part of the components of a run. At most `memory` bytes of data that wait for the program
/// stay in memory.
///
/// # Errors
/// As [`preprocess::garble`].
pub(super) fn all<C: Role>(
    member: &mut SessionState,
    layout: &Layout,
    making: &MakingPlan,
    memory: u64,
) -> Result<MadeComponents<C>, Error> {
    member.run.phase("preprocess");
    let shelf = ListPlace::new(
        C::waiting(member.level.tag, layout.counted(), layout.all_inputs()),
        memory,
        &mut member.rng,
    )?;
    let mut made = MadeComponents::new(layout.components(), layout.all_inputs(), shelf);
    let mut room = DrawnMasks::default();
    for lot in &making.lots {
        C::make(member, lot, making.sizes, &mut room, &mut made)?;
    }
    Ok(made)
}

impl Role for Garbled {
    const ROLE: Party = Party::Garbler;

    const WIRE_BYTES: u64 = 3 * LABEL_BYTES as u64;

    fn and_bytes(c: usize) -> u64 {
        4 * c as u64
    }

    fn make(
        member: &mut SessionState,
        lot: &Lot,
        sizes: Sizes,
        room: &mut DrawnMasks,
        made: &mut MadeComponents<Self>,
    ) -> Result<(), Error> {
        preprocess::garble(member, lot, sizes, room, made)
    }

    fn execute(
        member: &mut SessionState,
        layout: &Layout,
        made: &mut MadeComponents<Self>,
        input: &[bool],
    ) -> Result<(Vec<bool>, Computed), Error> {
        let (mut connected, mut labels) = build::garbler(member, layout, made)?;
        let masked = evaluate::garbler(member, layout, &mut connected, &mut labels, input)?;
        let outputs = decode::open(member, layout, &mut connected.masks, &masked)?;
        Ok((outputs, Computed { masks: connected.masks, labels, masked }))
    }
}

impl Role for Received {
    const ROLE: Party = Party::Evaluator;

    const WIRE_BYTES: u64 = 2 * LABEL_BYTES as u64;

    fn and_bytes(c: usize) -> u64 {
        3 * (LABEL_BYTES + c) as u64
    }

    fn make(
        member: &mut SessionState,
        lot: &Lot,
        sizes: Sizes,
        room: &mut DrawnMasks,
        made: &mut MadeComponents<Self>,
    ) -> Result<(), Error> {
        preprocess::receive(member, lot, sizes, room, made)
    }

    fn execute(
        member: &mut SessionState,
        layout: &Layout,
        made: &mut MadeComponents<Self>,
        input: &[bool],
    ) -> Result<(Vec<bool>, Computed), Error> {
        let (mut connected, own) = build::evaluator(member, layout, made)?;
        let (masked, labels) = evaluate::evaluator(member, layout, &connected, own, input)?;
        let outputs = decode::open(member, layout, &mut connected.masks, &masked)?;
        Ok((outputs, Computed { masks: connected.masks, labels, masked }))
    }
}
