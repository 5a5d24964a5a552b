//! Where tests get their hands in: they alter a party's state before it is used, so that the rest of the run
//! is consistent with the lie. In a normal build none of this exists.

use bytemuck::Pod;

/// A place where state can be altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// Garbler: the offset that it commits to; the one in the OTs, gates and solderings stays.
    CommittedOffset,
    /// Garbler: the offset that gates are garbled with.
    GateOffset,
    /// Garbler: the committed output wires of the gates, before they are committed to.
    GateOutputs,
    /// Garbler: the tables of the gates, 32 bytes each.
    Tables,
    /// Garbler: the hashes of wire authenticators, 32 bytes each.
    WireHashes,
    /// Garbler: the committed wires of the input authenticators, before they are committed to.
    InputWires,
    /// Garbler: the hashes of input authenticators, 32 bytes each.
    InputHashes,
    /// Garbler: its OT labels, before they are committed to.
    OtLabels,
    /// Garbler: what is opened of gates, wire authenticators, input authenticators.
    OpenedGates,
    OpenedAuthenticators,
    OpenedInputs,
    /// Garbler: solderings, and delta differences.
    GateSolderings,
    AuthenticatorSolderings,
    DeltaDifferences,
    InputSolderings,
    Solderings,
    /// Garbler: labels of its inputs and openings for the evaluator's.
    InputLabels,
    /// Garbler: indicator bits of the outputs, a byte each.
    Indicators,
    /// Evaluator: the seeds of its challenges.
    Challenge,
    /// Evaluator: what it shows of the OTs.
    OtBinding,
    /// Evaluator: colours of the garbler's outputs, packed, then the hash.
    OutputLabels,
    /// Evaluator: of each label of a bucket's gates whether it was refused, a byte each.
    Refused,
}

/// Alters bytes.
#[cfg(test)]
pub(super) type Alter = Box<dyn FnMut(Point, &mut [u8]) + Send>;

/// What a test alters; nothing in a normal build.
#[derive(Default)]
pub(super) struct Hooks {
    #[cfg(test)]
    pub alter: Option<Alter>,
}

impl Hooks {
    #[inline(always)]
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "nothing is altered"))]
    pub fn alter<T: Pod>(&mut self, _point: Point, _data: &mut [T]) {
        #[cfg(test)]
        if let Some(alter) = &mut self.alter {
            alter(_point, bytemuck::cast_slice_mut(_data));
        }
    }
}
