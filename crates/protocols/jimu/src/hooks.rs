//! The points at which tests and the adversary may change a party's state, by
//! [hooks](brickwork_primitives::hooks).

use brickwork_primitives::hooks;

use crate::parameters::Sizes;

/// The hooks of this protocol.
pub type Hooks = hooks::Hooks<Point, Sizes>;

/// A point of the protocol at which a hook can change state. The state of the listed party is given as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Garbler: the colour that Δ must have, one byte. The garbler draws the points of the compression until
    /// Δ has this colour.
    Colour,
    /// Garbler: Δ when the OTs are made, a label of several blocks. The OTs' own offset is not changed.
    Offset,
    /// Garbler: the labels of its OTs for choice 0, before they are hashed.
    OtLabels,
    /// Garbler: the labels of 0 of the gates' outputs, before they are hashed, `[gate]`. The hook gets those
    /// of the first gates that are garbled together.
    GateOutputs,
    /// Garbler: two rows of each of these gates, `[gate][row]`.
    Tables,
    /// Garbler: for each copy of this kind of component, a byte that is 1 if a word of colour 1 is added to
    /// its random offset. If the byte is flipped, the copy's offset has colour 0. The hashes and tables are
    /// then made from this offset.
    CopyColours(usize),
    /// Garbler: the offsets with which copies of this kind of component are garbled. The hashed offsets are
    /// not changed.
    CopyOffsets(usize),
    /// Garbler: the compressed labels of 0 of these copies' inputs for garbling, `[copy][input]`. The hashed
    /// labels are not changed.
    CopyInputs(usize),
    /// Garbler: the labels of 0 of these copies' outputs in their rows, `[copy][output]`. The hashed labels
    /// are not changed.
    CopyOutputs(usize),
    /// Garbler: the tables of one of these copies, each time it is garbled: tables of AND gates, then two
    /// rows of each output.
    CopyTables(usize, u32),
    /// Garbler: the labels of the circuit's wires for solderings, `[wire]`, the constant first. The labels
    /// that it sends for its inputs are not changed.
    Circuit,
    /// Garbler: the active labels of its inputs, before they are opened.
    InputLabels,
    /// Evaluator: the symbols that it watches, a byte each, first of labels and then of permutation messages.
    Watch,
    /// Evaluator: its choices in the OTs of this series, a byte each. In the other series they are not
    /// changed.
    Choices(usize),
    /// Evaluator: the seed of its challenge, so that a test knows it.
    Challenge,
    /// Evaluator: the compressed labels of the garbler's outputs, 16 bytes each.
    OutputLabels,
}
