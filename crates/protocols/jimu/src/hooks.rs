//! The hooks of a cheater. Tests and the adversary run the real parties, and change a party's state before
//! the party uses it, so that the rest of the run is consistent with the lie. In a normal build the hooks do
//! nothing.

#[cfg(any(test, feature = "adversary"))]
pub use cheating::{Hooks, StateHook};
#[cfg(not(any(test, feature = "adversary")))]
pub(super) use honest::Hooks;

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

#[cfg(not(any(test, feature = "adversary")))]
mod honest {
    use super::Point;
    use crate::parameters::Sizes;
    use brickwork_base::Party;
    use brickwork_primitives::ot::base::SeriesKeys;

    /// Hooks without effect, for normal builds.
    pub struct Hooks;

    impl Hooks {
        pub fn none() -> Self {
            Hooks
        }

        #[inline(always)]
        pub fn sizes(&self) -> Option<Sizes> {
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
    use crate::parameters::Sizes;
    use brickwork_base::Party;
    use brickwork_harness::dealt;
    use brickwork_primitives::ot::base::SeriesKeys;

    /// Changes the bytes of a party's state at a point.
    pub type StateHook = Box<dyn FnMut(Point, &mut [u8]) + Send>;

    /// The lies of a cheater.
    #[derive(Default)]
    pub struct Hooks {
        /// Changes the bytes of a party's state.
        pub alter: Option<StateHook>,
        /// Sizes to use in place of secure ones, so that cheats succeed often enough to be counted. Both
        /// parties must use the same sizes.
        pub sizes: Option<Sizes>,
        /// Deals the keys of the base OTs to both parties instead of running the base OTs. This saves time,
        /// because tests make thousands of runs.
        pub dealer: Option<[u8; 32]>,
    }

    impl Hooks {
        pub(crate) fn none() -> Self {
            Hooks::default()
        }

        pub(crate) fn sizes(&self) -> Option<Sizes> {
            self.sizes.clone()
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
