//! The hooks of a cheater. Tests and the adversary run the real parties, and change a party's state before
//! the party uses it, so that the rest of the run is consistent with the lie. In a normal build the hooks do
//! nothing.

#[cfg(any(test, feature = "adversary"))]
pub use cheating::{Bucketings, Hooks, StateHook};
#[cfg(not(any(test, feature = "adversary")))]
pub(super) use honest::{Bucketings, Hooks};

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

#[cfg(not(any(test, feature = "adversary")))]
mod honest {
    use super::Point;
    use brickwork_base::Party;
    use brickwork_primitives::ot::base::SeriesKeys;

    /// Insecure cuts, which do not exist in normal builds.
    pub enum Bucketings {}

    /// Hooks without effect, for normal builds.
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
        pub fn dealt(&self, _: Party, _: usize, _: &[u8]) -> Option<SeriesKeys> {
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
    use brickwork_primitives::ot::base::SeriesKeys;

    /// A function that changes the bytes of a party's state at a point.
    pub type StateHook = Box<dyn FnMut(Point, &mut [u8]) + Send>;

    /// For each kind of items, an array of the bucket size and the number of opened items.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Bucketings {
        /// The sizes of AND gates.
        pub gates: [u32; 2],
        /// The sizes of wire authenticators.
        pub authenticators: [u32; 2],
        /// The sizes of input authenticators.
        pub inputs: [u32; 2],
    }

    /// The cheats of a party.
    #[derive(Default)]
    pub struct Hooks {
        /// Changes the bytes of a party's state.
        pub alter: Option<StateHook>,
        /// Cuts to use in place of secure ones, so that cheats succeed often enough to be counted. Both
        /// parties must use the same cuts.
        pub cuts: Option<Bucketings>,
        /// Deals the keys of the base OTs to both parties instead of running the base OTs. This saves time,
        /// because tests make thousands of runs.
        pub dealer: Option<[u8; 32]>,
    }

    impl Hooks {
        /// Returns hooks without effect.
        pub fn none() -> Self {
            Hooks::default()
        }

        pub(crate) fn cuts(&self) -> Option<&Bucketings> {
            self.cuts.as_ref()
        }

        /// Returns the keys that a party gets, if there is a dealer. The evaluator is the sender of the OTs.
        pub(crate) fn dealt(&self, role: Party, send: usize, choices: &[u8]) -> Option<SeriesKeys> {
            Some(dealt(self.dealer.as_ref()?, role, send, choices))
        }

        pub(crate) fn alter<T: bytemuck::Pod>(&mut self, point: Point, data: &mut [T]) {
            if let Some(alter) = &mut self.alter {
                alter(point, bytemuck::cast_slice_mut(data));
            }
        }
    }
}
