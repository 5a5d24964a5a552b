//! Where a cheater gets its hands in: tests and the adversary drive the real parties and alter a party's
//! state before it is used, so that the rest of the run is consistent with the lie. In a normal build none of
//! this exists.

#[cfg(any(test, feature = "adversary"))]
pub use cheating::{Bucketings, Hooks, StateHook};
#[cfg(not(any(test, feature = "adversary")))]
pub(super) use honest::{Bucketings, Hooks};

/// A place where state can be altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Garbler: the offset that it commits to; the one in the OTs, gates and solderings stays.
    CommittedOffset,
    /// Garbler: the offset that gates are garbled with.
    GateOffset,
    /// Garbler: the committed output wires of the gates, before they are committed to.
    GateOutputs,
    /// Garbler: the tables of the gates, 32 bytes each.
    Tables,
    /// Garbler: the wires that the hashes of wire authenticators are made of; the committed ones stay. Labels
    /// of 16 bytes, of the first authenticators.
    WireLabels,
    /// Garbler: the hashes of wire authenticators, 32 bytes each.
    WireHashes,
    /// Garbler: the committed wires of the input authenticators, before they are committed to.
    InputWires,
    /// Garbler: the hashes of input authenticators, 32 bytes each.
    InputHashes,
    /// Garbler: its OT labels, before they are committed to.
    OtLabels,
    /// Garbler: the openings of gates: both inputs of each, 32 bytes.
    OpenedGates,
    /// Garbler: the openings of wire authenticators.
    OpenedAuthenticators,
    /// Garbler: the offsets of opened input authenticators.
    OpenedInputs,
    /// Garbler: solderings between the gates of buckets.
    GateSolderings,
    /// Garbler: solderings to the wire authenticators of buckets.
    AuthenticatorSolderings,
    /// Garbler: delta differences of input authenticators.
    DeltaDifferences,
    /// Garbler: solderings between input authenticators, then to the wires of inputs.
    InputSolderings,
    /// Garbler: solderings of the program.
    Solderings,
    /// Garbler: labels of its inputs and openings for the evaluator's.
    InputLabels,
    /// Garbler: indicator bits of the outputs, a byte each.
    Indicators,
    /// Evaluator: the seeds of its challenges.
    Challenge,
    /// Evaluator: its message about the OTs.
    OtBinding,
    /// Evaluator: colours of the garbler's outputs, packed, then the hash.
    OutputLabels,
    /// Evaluator: how many labels of a layer's gates were refused, 8 bytes.
    Refused,
}

#[cfg(not(any(test, feature = "adversary")))]
mod honest {
    use super::Point;
    use brickwork_base::Party;
    use brickwork_primitives::ot::base::Keys;

    /// No cuts but safe ones.
    pub enum Bucketings {}

    /// Nothing to hook.
    pub struct Hooks;

    impl Hooks {
        pub fn none() -> Self {
            Hooks
        }

        #[inline(always)]
        pub fn cuts(&self) -> Option<&Bucketings> {
            None
        }

        #[inline(always)]
        pub fn dealt(&self, _: Party, _: usize, _: &[u8]) -> Option<Keys> {
            None
        }

        #[inline(always)]
        pub fn alter<T>(&mut self, _: Point, _: &mut [T]) {}
    }
}

#[cfg(any(test, feature = "adversary"))]
mod cheating {
    use super::Point;
    use brickwork_base::Party;
    use brickwork_harness::dealt;
    use brickwork_primitives::ot::base::Keys;

    /// Alters the bytes of a party's state at a point.
    pub type StateHook = Box<dyn FnMut(Point, &mut [u8]) + Send>;

    /// For each kind the bucket size, and the number of opened items.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Bucketings {
        /// AND gates.
        pub gates: [u32; 2],
        /// Wire authenticators.
        pub authenticators: [u32; 2],
        /// Input authenticators.
        pub inputs: [u32; 2],
    }

    /// The cheats of a party.
    #[derive(Default)]
    pub struct Hooks {
        /// Alters the bytes of a party's state.
        pub alter: Option<StateHook>,
        /// Sizes of buckets instead of safe ones, so that cheating succeeds often enough to be counted. Both
        /// parties must have the same.
        pub cuts: Option<Bucketings>,
        /// Deals the keys of the base OTs, to both parties alike, instead of running them: for thousands of
        /// runs.
        pub dealer: Option<[u8; 32]>,
    }

    impl Hooks {
        /// Does nothing.
        pub fn none() -> Self {
            Hooks::default()
        }

        pub(crate) fn cuts(&self) -> Option<&Bucketings> {
            self.cuts.as_ref()
        }

        /// Returns the keys of the OTs that the evaluator offers, at either party, if there is a dealer.
        pub(crate) fn dealt(&self, role: Party, send: usize, choices: &[u8]) -> Option<Keys> {
            Some(dealt(self.dealer.as_ref()?, role, send, choices))
        }

        pub(crate) fn alter<T: bytemuck::Pod>(&mut self, point: Point, data: &mut [T]) {
            if let Some(alter) = &mut self.alter {
                alter(point, bytemuck::cast_slice_mut(data));
            }
        }
    }
}
