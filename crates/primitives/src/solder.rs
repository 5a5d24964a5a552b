//! Soldering: turning a label of one wire into the label of another that stands for the same bit.
//!
//! `base_w` is the label of wire w with colour 0, `σ_w` its indicator bit: the colour of the false label. One
//! commitment a wire holds both: `C_w = base_w`, its lowest bit replaced by `σ_w`. A copy's offset is
//! committed as `D`.
//!
//! To solder i to j the garbler sends `V = base_i ⊕ base_j ⊕ s·Δ_j` with `s = σ_i ⊕ σ_j`, whose lowest bit is
//! s (the paper's s^σ and S^K in one value). The evaluator claims that `C_i ⊕ C_j ⊕ s·D_j` opens to V with
//! lowest bit 0; that bit is what binds s, because `lsb(D_j) = 1`. Every offset is linked to Δ_ka by an
//! opened `S_c = Δ_c ⊕ Δ_ka` (lowest bit 0), so `Δ_i ⊕ Δ_j = S_i ⊕ S_j` and one opening an offset serves all
//! solderings.
//!
//! A pair is soldered once and in one way: opening both `C_i ⊕ C_j` and `C_i ⊕ C_j ⊕ D_j` would give Δ_j
//! away. DEVIATION: the paper solders copies of a bucket to its head and the head to the authenticator; here
//! every copy's output is soldered to the authenticator directly, which is as many openings and one step
//! less.

use std::ops::Range;

use crate::spill::SpilledVec;
use brickwork_base::bits::Bits;
use brickwork_base::label::{Delta, Label};

/// A wire as the garbler knows it: `C_w` and the offset of its copy or authenticator.
#[derive(Clone, Copy, zeroize::Zeroize)]
pub struct CommittedWire {
    /// The committed value: the label of colour 0 with the indicator bit in its lowest bit.
    pub value: Label,
    /// The wire's offset.
    pub delta: Delta,
}

impl CommittedWire {
    /// The wire with this false label.
    pub fn from_false_label(label: Label, delta: Delta) -> Self {
        let sigma = label.colour();
        CommittedWire { value: (label ^ delta.times(sigma)).with_colour(sigma), delta }
    }

    /// The indicator bit: the colour of the false label.
    pub fn indicator(self) -> u8 {
        self.value.colour()
    }

    /// The label of colour 0.
    pub fn base(self) -> Label {
        self.value.with_colour(0)
    }

    /// The label of this colour.
    pub fn of_colour(self, colour: u8) -> Label {
        self.base() ^ self.delta.times(colour)
    }

    /// The label that stands for `bit`.
    pub fn of_bit(self, bit: u8) -> Label {
        self.of_colour(bit ^ self.indicator())
    }

    /// The label that stands for false.
    pub fn false_label(self) -> Label {
        self.of_bit(0)
    }
}

/// V: how a label of one wire becomes one of another.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Soldering(Label);

impl Soldering {
    /// What the garbler sends to solder the wire with the committed value `from` to `to`.
    pub fn new(from: Label, to: CommittedWire) -> Self {
        let s = from.colour() ^ to.indicator();
        Soldering((from ^ to.value ^ to.delta.times(s)).with_colour(s))
    }

    /// s: whether the indicator bits of the two wires differ, and so whether `D_j` is part of the opening.
    pub fn flip(self) -> u8 {
        self.0.colour()
    }

    /// What `C_i ⊕ C_j ⊕ s·D_j` must open to.
    pub fn opening(self) -> Label {
        self.0.with_colour(0)
    }

    /// The label on wire j that `label` on wire i becomes; `offsets` is `Δ_i ⊕ Δ_j` (EvSold).
    pub fn carry(self, label: Label, offsets: Label) -> Label {
        label ^ self.0 ^ offsets.times(label.colour())
    }

    /// The label on wire i that becomes `label` on wire j: the inverse of [`Soldering::carry`].
    pub fn carry_back(self, label: Label, offsets: Label) -> Label {
        label ^ self.0 ^ offsets.times(label.colour() ^ self.flip())
    }
}

/// Solderings as claims speak of them: the evaluator was told their values, and of the garbler's only the
/// flips matter.
#[derive(Clone, Copy)]
pub struct Solderings<'a> {
    /// s of each.
    pub flips: &'a Bits,
    /// At the evaluator.
    pub received: Option<&'a SpilledVec<Soldering>>,
}

impl Solderings<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.flips.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// s of one of them.
    #[inline]
    pub fn flip(&self, k: usize) -> u8 {
        self.flips.get(k)
    }

    /// What some of them open, where that is known.
    pub fn openings(&self, places: Range<usize>, openings: &mut [Label]) {
        if let Some(received) = self.received {
            openings
                .iter_mut()
                .zip(&*received.read_or_note(places))
                .for_each(|(opening, soldering)| *opening = soldering.opening());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_base::random::Rng;

    #[test]
    fn carries_every_label_to_its_partner_and_back() {
        let mut rng = Rng::replayable("test");
        for _ in 0..50 {
            let (di, dj) = (rng.delta(), rng.delta());
            let i = CommittedWire::from_false_label(rng.label(), di);
            let j = CommittedWire::from_false_label(rng.label(), dj);
            let solder = Soldering::new(i.value, j);
            let offsets = di.label() ^ dj.label();
            assert_eq!(offsets.colour(), 0);
            for bit in [0, 1] {
                assert_eq!(solder.carry(i.of_bit(bit), offsets), j.of_bit(bit));
                assert_eq!(solder.carry_back(j.of_bit(bit), offsets), i.of_bit(bit));
            }
            // What is opened is what the commitments add up to.
            assert_eq!(i.value ^ j.value ^ dj.times(solder.flip()), solder.opening());
            assert_eq!(CommittedWire::from_false_label(i.false_label(), di).value, i.value);
        }
    }
}
