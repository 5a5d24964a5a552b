//! Soldering: converts a label of one wire into the label of another wire that stands for the same bit. This
//! module only computes; the protocol checks the garbler.
//!
//! `base_w` is the label of wire w with colour 0, `σ_w` its indicator bit: the colour of the false label. One
//! committed value contains both: `C_w` is `base_w` with its lowest bit replaced by `σ_w`.
//!
//! To solder i to j the garbler sends `V = base_i ⊕ base_j ⊕ s·Δ_j` with `s = σ_i ⊕ σ_j`, whose lowest bit is
//! s (the paper's s^σ and S^K in one value). A party with a label of wire i, V and `Δ_i ⊕ Δ_j` can compute
//! the label of wire j for the same bit, and nothing else. If all wires have the same offset, V is the
//! difference of the two false labels, and is sufficient alone.
//!
//! **A pair of wires must be soldered only once**: a V with the other s would reveal Δ_j.

use brickwork_base::label::{Delta, Label};

/// A wire at the garbler: `C_w` and the offset of its copy or authenticator.
#[derive(Clone, Copy, zeroize::Zeroize)]
pub struct GarblerWire {
    /// `C_w`: the label of colour 0 with the indicator bit in its lowest bit.
    pub value: Label,
    /// The wire's offset.
    pub delta: Delta,
}

impl GarblerWire {
    /// Makes the wire with this false label.
    pub fn from_false_label(label: Label, delta: Delta) -> Self {
        let sigma = label.colour();
        GarblerWire { value: (label ^ delta.times(sigma)).with_colour(sigma), delta }
    }

    /// Returns the indicator bit: the colour of the false label.
    pub fn indicator(self) -> u8 {
        self.value.colour()
    }

    /// Returns the label of colour 0.
    pub fn base(self) -> Label {
        self.value.with_colour(0)
    }

    /// Returns the label of this colour.
    pub fn of_colour(self, colour: u8) -> Label {
        self.base() ^ self.delta.times(colour)
    }

    /// Returns the label that stands for `bit`.
    pub fn of_bit(self, bit: u8) -> Label {
        self.of_colour(bit ^ self.indicator())
    }

    /// Returns the label that stands for false.
    pub fn false_label(self) -> Label {
        self.of_bit(0)
    }
}

/// V, which converts a label of one wire into the label of another.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Soldering(Label);

impl Soldering {
    /// Returns the soldering of the wire with value `from` to the wire `to`.
    pub fn new(from: Label, to: GarblerWire) -> Self {
        let s = from.colour() ^ to.indicator();
        Soldering((from ^ to.value ^ to.delta.times(s)).with_colour(s))
    }

    /// Returns the soldering of two wires with the same offset, from their false labels. Any two labels of
    /// the same bit give the same result. The difference of offsets is [zero](Label::ZERO).
    pub fn of_one_offset(from: Label, to: Label) -> Self {
        Soldering(from ^ to)
    }

    /// Returns s, which is 1 if the indicator bits of the two wires differ.
    pub fn flip(self) -> u8 {
        self.0.colour()
    }

    /// Returns `C_i ⊕ C_j ⊕ s·Δ_j`, which is V with lowest bit 0.
    pub fn opening(self) -> Label {
        self.0.with_colour(0)
    }

    /// Converts a label on wire i into the label on wire j; `offsets` is `Δ_i ⊕ Δ_j` (EvSold).
    #[inline]
    pub fn carry(self, label: Label, offsets: Label) -> Label {
        label ^ self.0 ^ offsets.times(label.colour())
    }

    /// Converts a label on wire j into the label on wire i: the inverse of [`Soldering::carry`].
    pub fn carry_back(self, label: Label, offsets: Label) -> Label {
        label ^ self.0 ^ offsets.times(label.colour() ^ self.flip())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;

    #[test]
    fn carries_every_label_to_its_partner_and_back() {
        let mut rng = Rng::replayable("test");
        for _ in 0..50 {
            let (di, dj) = (rng.delta(), rng.delta());
            let i = GarblerWire::from_false_label(rng.label(), di);
            let j = GarblerWire::from_false_label(rng.label(), dj);
            let solder = Soldering::new(i.value, j);
            let offsets = di.label() ^ dj.label();
            assert_eq!(offsets.colour(), 0);
            for bit in [0, 1] {
                assert_eq!(solder.carry(i.of_bit(bit), offsets), j.of_bit(bit));
                assert_eq!(solder.carry_back(j.of_bit(bit), offsets), i.of_bit(bit));
            }
            // The opened value is the sum of the commitments.
            assert_eq!(i.value ^ j.value ^ dj.times(solder.flip()), solder.opening());
            assert_eq!(GarblerWire::from_false_label(i.false_label(), di).value, i.value);
        }
    }

    /// For wires of one offset, the short form equals the general one with a zero difference of offsets.
    #[test]
    fn wires_of_one_offset_need_one_label() {
        let mut rng = Rng::replayable("test");
        for _ in 0..50 {
            let (delta, from, to) = (rng.delta(), rng.label(), rng.label());
            let wire = |label| GarblerWire::from_false_label(label, delta);
            let soldering = Soldering::of_one_offset(from, to);
            assert_eq!(soldering, Soldering::new(wire(from).value, wire(to)));
            assert_eq!(soldering, Soldering::of_one_offset(from ^ delta, to ^ delta));
            for bit in [0, 1] {
                assert_eq!(soldering.carry(from ^ delta.times(bit), Label::ZERO), to ^ delta.times(bit));
                assert_eq!(soldering.carry_back(to ^ delta.times(bit), Label::ZERO), from ^ delta.times(bit));
            }
        }
    }
}
