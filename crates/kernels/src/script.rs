//! A circuit in the form that the garbling loops process.

use std::ops::{BitXor, Range};

/// The number of AND gates in a section: 16 KiB of tables for each copy.
pub const SECTION: usize = 512;

/// The largest number of AND gates in a layer.
pub const LAYER: usize = 16;

/// The slot of the constant one. For the garbler it contains Δ, and for the evaluator zero, so that INV is an
/// XOR with this slot. No step writes it.
pub const ONE: u32 = 0;

/// `out = a ⊕ b`, on slots.
#[derive(Clone, Copy)]
pub(crate) struct Xor {
    pub a: u32,
    pub b: u32,
    pub out: u32,
}

/// `out = a ∧ b`, on slots.
#[derive(Clone, Copy, Debug)]
pub struct And {
    /// First operand.
    pub a: u32,
    /// Second operand.
    pub b: u32,
    /// The slot of the result.
    pub out: u32,
    /// The number of the gate in its section.
    pub gate: u32,
}

/// The end of a layer in the lists of steps.
#[derive(Clone, Copy)]
struct Ends {
    xors: usize,
    ands: usize,
}

/// XORs in order, and AND gates. No AND gate writes a slot that another gate of the layer reads or writes,
/// and no XOR writes a slot that an AND gate reads. So an AND gate may be processed at any time within the
/// layer.
pub(crate) struct ScriptLayer<'a> {
    pub xors: &'a [Xor],
    pub ands: &'a [And],
}

impl<'a> ScriptLayer<'a> {
    /// Returns at most `most` AND gates at a time, each time together with a part of the XORs. XORs are loads
    /// and stores, which the machine performs while its AES unit is busy. If a layer has no AND gates, all
    /// its XORs are one part.
    #[inline(always)]
    pub fn shares(self, most: usize) -> impl Iterator<Item = (&'a [Xor], &'a [And])> {
        let shares = self.ands.len().div_ceil(most).max(1);
        let share = self.xors.len().div_ceil(shares);
        let (mut xors, mut ands) = (self.xors, self.ands);
        (0..shares).map(move |_| {
            let (some, rest) = xors.split_at(share.min(xors.len()));
            let (gates, others) = ands.split_at(most.min(ands.len()));
            (xors, ands) = (rest, others);
            (some, gates)
        })
    }
}

/// The steps of a circuit whose wires have *slots*: layers of XORs and independent AND gates. Layers are
/// grouped in sections of [`SECTION`] AND gates.
///
/// The loops rely on these invariants: every slot in the lists is below `slots`, and the number of every gate
/// of a section is below the section's number of AND gates.
pub struct GateList {
    xors: Vec<Xor>,
    ands: Vec<And>,
    layers: Vec<Ends>,
    /// The number of layers up to the end of each section.
    sections: Vec<usize>,
    slots: usize,
}

impl GateList {
    /// Returns the number of slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Returns the number of AND gates.
    pub fn and_gates(&self) -> usize {
        self.ands.len()
    }

    /// Returns the number of sections, at least 1. Each but the last has [`SECTION`] AND gates.
    pub fn sections(&self) -> usize {
        self.sections.len()
    }

    /// Returns the numbers of the AND gates of a section.
    pub fn section_gates(&self, section: usize) -> Range<usize> {
        section * SECTION..self.ands.len().min((section + 1) * SECTION)
    }

    /// Returns the AND gates of a section in the order of its layers.
    pub(crate) fn section_ands(&self, section: usize) -> &[And] {
        &self.ands[self.section_gates(section)]
    }

    /// Computes a section on values of any kind, one in each of the `slots`. An XOR adds two values. `and`
    /// gets the number of the AND gate in the circuit and its operands, and returns the result.
    ///
    /// # Panics
    /// If there are fewer values than slots.
    pub fn walk<W: Copy + BitXor<Output = W>>(
        &self,
        section: usize,
        slots: &mut [W],
        mut and: impl FnMut(usize, W, W) -> W,
    ) {
        let first = self.section_gates(section).start;
        for ScriptLayer { xors, ands } in self.layers(section) {
            for &Xor { a, b, out } in xors {
                slots[out as usize] = slots[a as usize] ^ slots[b as usize];
            }
            for &And { a, b, out, gate } in ands {
                slots[out as usize] = and(first + gate as usize, slots[a as usize], slots[b as usize]);
            }
        }
    }

    pub(crate) fn layers(&self, section: usize) -> impl Iterator<Item = ScriptLayer<'_>> {
        let first = if section == 0 { 0 } else { self.sections[section - 1] };
        let mut start = if first == 0 { Ends { xors: 0, ands: 0 } } else { self.layers[first - 1] };
        self.layers[first..self.sections[section]].iter().map(move |end| {
            let layer = ScriptLayer {
                xors: &self.xors[start.xors..end.xors],
                ands: &self.ands[start.ands..end.ands],
            };
            start = *end;
            layer
        })
    }
}

/// Builds a [`GateList`].
pub struct GateListBuilder {
    script: GateList,
    /// For each number, whether a gate of the current section has it.
    seen: [bool; SECTION],
    /// For each slot, the last layer (counted from 1) whose AND gates write it, and the last layer whose
    /// gates read it.
    written: Vec<usize>,
    read: Vec<usize>,
}

impl GateListBuilder {
    /// Makes an empty script over slots `0..slots`, where slot 0 is [`ONE`]. Later steps may use more slots.
    pub fn new(slots: usize) -> Self {
        let script = GateList {
            xors: Vec::new(),
            ands: Vec::new(),
            layers: Vec::new(),
            sections: Vec::new(),
            slots: slots.max(1),
        };
        GateListBuilder { script, seen: [false; SECTION], written: Vec::new(), read: Vec::new() }
    }

    fn use_slots(&mut self, a: u32, b: u32, out: u32) {
        assert!(out != ONE, "a step must not write the slot of the constant");
        self.script.slots = self.script.slots.max(a.max(b).max(out) as usize + 1);
    }

    /// Asserts the independence of a layer: no AND gate writes a slot that another gate of the layer reads or
    /// writes, and no XOR writes a slot that an AND gate reads.
    fn check_independent(&mut self, xors: std::ops::Range<usize>, ands: &[And]) {
        let layer = self.script.layers.len() + 1;
        self.written.resize(self.script.slots, 0);
        self.read.resize(self.script.slots, 0);
        for and in ands {
            self.read[and.a as usize] = layer;
            self.read[and.b as usize] = layer;
        }
        for and in ands {
            let written = std::mem::replace(&mut self.written[and.out as usize], layer);
            assert!(
                written != layer && self.read[and.out as usize] != layer,
                "the AND gates of a layer must not depend on each other"
            );
        }
        for xor in &self.script.xors[xors] {
            assert!(
                [xor.a, xor.b, xor.out].iter().all(|&slot| self.written[slot as usize] != layer)
                    && self.read[xor.out as usize] != layer,
                "an XOR must not write an operand of an AND gate of its layer"
            );
        }
    }

    /// Adds an XOR to the next layer.
    ///
    /// # Panics
    /// If the XOR writes [`ONE`].
    pub fn xor(&mut self, a: u32, b: u32, out: u32) {
        self.use_slots(a, b, out);
        self.script.xors.push(Xor { a, b, out });
    }

    /// Ends a layer: adds these AND gates beside the XORs that were added before.
    ///
    /// # Panics
    /// If a gate writes a slot that another gate of the layer reads or writes, or an XOR writes an operand of
    /// a gate. If there are more than [`LAYER`] gates, or a gate's number occurs twice or exceeds the
    /// section.
    pub fn layer(&mut self, ands: &[And]) {
        assert!(ands.len() <= LAYER, "a layer cannot have {} AND gates", ands.len());
        for and in ands {
            self.use_slots(and.a, and.b, and.out);
            assert!(
                !std::mem::replace(&mut self.seen[and.gate as usize], true),
                "a section contains its AND gate {} twice",
                and.gate
            );
        }
        let first = self.script.layers.last().map_or(0, |end| end.xors);
        self.check_independent(first..self.script.xors.len(), ands);
        let script = &mut self.script;
        script.ands.extend_from_slice(ands);
        script.layers.push(Ends { xors: script.xors.len(), ands: script.ands.len() });
        assert!(
            script.ands.len() <= (script.sections.len() + 1) * SECTION,
            "a layer must lie in one section"
        );
        if script.ands.len() == (script.sections.len() + 1) * SECTION {
            script.sections.push(script.layers.len());
            self.seen = [false; SECTION];
        }
    }

    /// Returns the script.
    ///
    /// # Panics
    /// If the gates of the last section are not numbered without a gap.
    pub fn finish(mut self) -> GateList {
        let in_last = self.script.ands.len() % SECTION;
        assert!(
            self.seen[..in_last].iter().all(|&s| s),
            "the AND gates of the last section must be numbered without gaps"
        );
        if self.script.layers.last().map_or(0, |end| end.xors) < self.script.xors.len() {
            self.layer(&[]);
        }
        if self.script.sections.last().is_none_or(|&end| end < self.script.layers.len()) {
            self.script.sections.push(self.script.layers.len());
        }
        self.script
    }
}
