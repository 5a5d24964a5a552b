//! The points at which tests and the adversary may change a party's state, by
//! [hooks](brickwork_primitives::hooks).

use brickwork_base::label::Delta;
use brickwork_primitives::hooks;
use bytemuck::TransparentWrapper as _;

use crate::layout::Forced;

/// The hooks of this protocol.
pub type Hooks = hooks::Hooks<Point, Forced>;

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

/// Returns the offset that a series uses, altered or not.
pub fn offset(hooks: &mut Hooks, point: Point, drawn: Delta) -> Delta {
    if !hooks.is_lying() {
        return drawn;
    }
    let mut bits = [drawn.bits()];
    hooks.alter(point, &mut bits);
    // Only a wrapped offset can end in 0.
    Delta::wrap(bits[0])
}
