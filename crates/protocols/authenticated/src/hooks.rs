//! Hooks by which tests and the adversary alter a party's state before the party uses it, so that the rest of
//! the run is consistent with the lie. A normal build has none of them.

#[cfg(any(test, feature = "adversary"))]
pub use cheating::Hooks;
#[cfg(not(any(test, feature = "adversary")))]
pub(super) use honest::Hooks;

/// A point of the protocol at which state can be altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Either party: its offset, 16 bytes. The bits of the offset are the party's choices in base OTs, and
    /// the party uses it in its OT series. The last bit may become 0. Everything else uses the unaltered
    /// offset, which ends in 1.
    Offset,
    /// Garbler: its words A_μ of AND gates, before the gates are garbled; labels.
    Products,
    /// Either: the ciphertexts of leaky ANDs before they are sent, t bits each, in bytes.
    Ciphertexts,
    /// Either: its bits of leaky ANDs before they are sent, a byte each. The party continues with the altered
    /// bits.
    Bits,
    /// Either: the compared words of leaky ANDs, the lower t bits of each, before they are hashed.
    Compared,
    /// Evaluator: its coin, 32 bytes, when it opens the coin.
    Coin,
    /// Either: its shares of the masks that are opened for triples, a byte each.
    Opened,
    /// Garbler: the two sent rows of each AND gate, labels `[gate][row]`.
    Rows,
    /// Garbler: the bits β, a byte each, before they are sent. The garbler continues with the unaltered bits.
    Colours,
    /// Garbler: the solderings; labels.
    Solderings,
    /// Either: its shares of the masks of the other party's inputs, a byte each.
    InputMasks,
    /// Garbler: the active labels of all inputs.
    InputLabels,
    /// Evaluator: the masked values that it reports, a byte each.
    Report,
    /// Evaluator: the tags of the labels that it reports, c bytes each.
    ReportedTags,
    /// Garbler: the tags m_g of its digest, c bytes each.
    Gates,
    /// Either: its shares of the masks of the other party's outputs, a byte each.
    OutputMasks,
}

#[cfg(not(any(test, feature = "adversary")))]
mod honest {
    use super::Point;
    use crate::layout::Forced;
    use brickwork_base::Party;
    use brickwork_base::label::Delta;
    use brickwork_primitives::ot::base::SeriesKeys;

    /// The hooks of a normal build: none.
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
        pub fn dealt(&self, _: Party, _: &[u8]) -> Option<SeriesKeys> {
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
    use crate::parameters::{Sizes, StatisticalLengths, TriplePool};
    use brickwork_base::Party;
    use brickwork_base::label::Delta;
    use brickwork_harness::dealt;
    use brickwork_primitives::ot::base::SeriesKeys;
    use bytemuck::TransparentWrapper;

    type StateHook = Box<dyn FnMut(Point, &mut [u8]) + Send>;

    /// The lies of a cheater, and the settings of a test.
    #[derive(Default)]
    pub struct Hooks {
        /// Alters the bytes of a party's state at a point.
        pub alter: Option<StateHook>,
        /// Lengths for the tests, short enough that cheating succeeds often. Both parties must have the same
        /// lengths, and the same values below.
        pub level: Option<StatisticalLengths>,
        /// The pool of each lot, instead of a safe one.
        pub pool: Option<TriplePool>,
        /// Sizes of lots, parts and portions, instead of the usual ones.
        pub sizes: Option<Sizes>,
        /// True if the cheater ignores failed checks of its own, which its lies may cause.
        pub looks_away: bool,
        /// A seed that gives both parties the keys of base OTs, which saves time in thousands of runs.
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

        /// Returns this party's keys of both OT series, if there is a dealer. `choices` are the party's
        /// choice bits; the peer has as many.
        pub(crate) fn dealt(&self, role: Party, choices: &[u8]) -> Option<SeriesKeys> {
            Some(dealt(self.dealer.as_ref()?, role, choices.len(), choices))
        }

        /// Returns the offset that a series uses, after the hook.
        pub(crate) fn offset(&mut self, point: Point, drawn: Delta) -> Delta {
            let mut bits = [drawn.bits()];
            self.alter(point, &mut bits);
            // Only an offset that is wrapped directly can end in 0.
            Delta::wrap(bits[0])
        }

        pub(crate) fn alter<T: bytemuck::Pod>(&mut self, point: Point, data: &mut [T]) {
            if let Some(alter) = &mut self.alter {
                alter(point, bytemuck::cast_slice_mut(data));
            }
        }
    }
}
