//! Where a cheater gets its hands in: tests and the adversary drive the real parties and alter a party's
//! state before it is used, so that the rest of the run is consistent with the lie. In a normal build none of
//! this exists.

#[cfg(any(test, feature = "adversary"))]
pub use cheating::Hooks;
#[cfg(not(any(test, feature = "adversary")))]
pub(super) use honest::Hooks;

/// A place where state can be altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Either: the offset by whose bits it chooses in base OTs and sends in its series, 16 bytes; its last
    /// bit may be 0. All else has the offset that ends in 1.
    Offset,
    /// Garbler: its keys A_μ of AND gates, before they are garbled. Labels.
    Products,
    /// Either: ciphertexts of leaky ANDs, before they are sent. t bits each, in bytes.
    Ciphertexts,
    /// Either: its bits of leaky ANDs, before they are sent, a byte each. It goes on with them.
    Bits,
    /// Either: the words of leaky ANDs that are compared, the lower t bits of each, before they are hashed.
    Compared,
    /// Evaluator: its coin, when it opens it: 32 bytes.
    Coin,
    /// Either: its shares of Beaver bits, when it opens them, a byte each.
    Opened,
    /// Garbler: two rows of each gate, labels `[gate][row]`.
    Rows,
    /// Garbler: the bits that make the outputs of gates end in 0, a byte each; it goes on with its own ones.
    Colours,
    /// Garbler: solderings, labels.
    Solderings,
    /// Either: its shares of the masks of the other's inputs, a byte each.
    InputMasks,
    /// Garbler: active labels of all inputs.
    InputLabels,
    /// Evaluator: masked values that it reports, a byte each.
    Report,
    /// Evaluator: tags of the labels that it reports, c bytes each.
    ReportedTags,
    /// Garbler: tags of its answer, c bytes a gate.
    Gates,
    /// Either: its shares of the masks of the other's outputs, a byte each.
    OutputMasks,
}

#[cfg(not(any(test, feature = "adversary")))]
mod honest {
    use super::Point;
    use crate::layout::Forced;
    use brickwork_base::Party;
    use brickwork_base::label::Delta;
    use brickwork_primitives::ot::base::Keys;

    /// Nothing to hook.
    pub struct Hooks;

    impl Hooks {
        pub fn none() -> Self {
            Hooks
        }

        #[inline(always)]
        pub fn forced(&self) -> Forced {
            Forced::default()
        }

        #[inline(always)]
        pub fn look_away(&self) -> bool {
            false
        }

        #[inline(always)]
        pub fn dealt(&self, _: Party, _: &[u8]) -> Option<Keys> {
            None
        }

        #[inline(always)]
        pub fn offset(&mut self, _: Point, drawn: Delta) -> Delta {
            drawn
        }

        #[inline(always)]
        pub fn alter<T>(&mut self, _: Point, _: &mut [T]) {}
    }
}

#[cfg(any(test, feature = "adversary"))]
mod cheating {
    use super::Point;
    use crate::layout::Forced;
    use crate::parameters::{Level, Pool, Sizes};
    use brickwork_base::Party;
    use brickwork_base::label::Delta;
    use brickwork_harness::dealt;
    use brickwork_primitives::ot::base::Keys;
    use bytemuck::TransparentWrapper;

    /// Alters the bytes of a party's state at a point.
    type StateHook = Box<dyn FnMut(Point, &mut [u8]) + Send>;

    /// The lies of a cheater.
    #[derive(Default)]
    pub struct Hooks {
        /// Alters the bytes of a party's state.
        pub alter: Option<StateHook>,
        /// Lengths instead of the safe ones, so that cheating succeeds often enough to be counted. Both
        /// parties must have the same, here and below.
        pub level: Option<Level>,
        /// Buckets instead of the safe ones.
        pub pool: Option<Pool>,
        /// Sizes of lots, groups and portions instead of the large ones.
        pub sizes: Option<Sizes>,
        /// True if it continues after a check shows it its own lie.
        pub looks_away: bool,
        /// Deals the keys of the base OTs, to both parties alike, instead of running them: for thousands of
        /// runs.
        pub dealer: Option<[u8; 32]>,
    }

    impl Hooks {
        pub(crate) fn none() -> Self {
            Hooks::default()
        }

        pub(crate) fn forced(&self) -> Forced {
            Forced { level: self.level, pool: self.pool, sizes: self.sizes }
        }

        pub(crate) fn look_away(&self) -> bool {
            self.looks_away
        }

        /// Returns the keys of both series at this party, if there is a dealer: it chooses by these bits, and
        /// the peer as often.
        pub(crate) fn dealt(&self, role: Party, choices: &[u8]) -> Option<Keys> {
            Some(dealt(self.dealer.as_ref()?, role, choices.len(), choices))
        }

        /// Returns the offset that a series is set up with, instead of the one that was drawn.
        pub(crate) fn offset(&mut self, point: Point, drawn: Delta) -> Delta {
            let mut bits = [drawn.bits()];
            self.alter(point, &mut bits);
            // No other way leads to one that ends in 0.
            Delta::wrap(bits[0])
        }

        pub(crate) fn alter<T: bytemuck::Pod>(&mut self, point: Point, data: &mut [T]) {
            if let Some(alter) = &mut self.alter {
                alter(point, bytemuck::cast_slice_mut(data));
            }
        }
    }
}
