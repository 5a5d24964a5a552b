//! The points at which tests and the adversary may change a party's state, by
//! [hooks](brickwork_primitives::hooks).

use brickwork_primitives::hooks;

/// The hooks of this protocol.
pub type Hooks = hooks::Hooks<Point, Bucketings>;

/// Insecure cuts for tests: for each kind of items, the bucket size and the number of opened items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucketings {
    /// The sizes of AND gates.
    pub gates: [u32; 2],
    /// The sizes of wire authenticators.
    pub authenticators: [u32; 2],
    /// The sizes of input authenticators.
    pub inputs: [u32; 2],
}

/// A point of the protocol at which a hook can change state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Garbler: the offset that it commits to. The offset of the OTs, gates and solderings is not changed.
    CommittedOffset,
    /// Garbler: the offset with which gates are garbled.
    GateOffset,
    /// Garbler: the output wires of the gates, before they are committed to.
    GateOutputs,
    /// Garbler: the tables of the gates, 32 bytes each.
    Tables,
    /// Garbler: the wires from which the hashes of the first wire authenticators are made, 16 bytes each. The
    /// committed wires are not changed.
    WireLabels,
    /// Garbler: the hashes of wire authenticators, 32 bytes each.
    WireHashes,
    /// Garbler: the wires of the input authenticators, before they are committed to.
    InputWires,
    /// Garbler: the hashes of input authenticators, 32 bytes each.
    InputHashes,
    /// Garbler: its OT labels, before they are committed to.
    OtLabels,
    /// Garbler: the openings of gates, 32 bytes for the two inputs of each gate.
    OpenedGates,
    /// Garbler: the openings of wire authenticators.
    OpenedAuthenticators,
    /// Garbler: the offsets of opened input authenticators.
    OpenedInputs,
    /// Garbler: the solderings between the gates of buckets.
    GateSolderings,
    /// Garbler: the solderings to the wire authenticators of buckets.
    AuthenticatorSolderings,
    /// Garbler: the delta differences of input authenticators.
    DeltaDifferences,
    /// Garbler: the solderings between input authenticators, then to the wires of inputs.
    InputSolderings,
    /// Garbler: the solderings of the program.
    Solderings,
    /// Garbler: the labels of its inputs, and the openings for the evaluator's inputs.
    InputLabels,
    /// Garbler: the indicator bits of the outputs, a byte each.
    Indicators,
    /// Evaluator: the seeds of its challenges.
    Challenge,
    /// Evaluator: its message that reveals combinations of the OTs.
    OtBinding,
    /// Evaluator: the packed colours of the garbler's outputs, then the hash.
    OutputLabels,
    /// Evaluator: the number of refused labels in a layer, 8 bytes.
    Refused,
}
