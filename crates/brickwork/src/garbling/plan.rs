//! From a circuit to the steps of the kernels.

use brickwork_kernels::{Op, Script, Step};

use super::TABLE_BYTES;
use crate::circuit::{Circuit, Gate};

/// A circuit made ready for lockstep garbling: its wires live in slots that are used again once a wire has been read for
/// the last time, so that the labels alive at a time stay in the cache. Made once for a component.
pub struct Plan {
    pub(super) script: Script,
    pub(super) inputs: usize,
    /// The slot of each output.
    pub(super) outputs: Vec<u32>,
}

/// The index of no gate.
const KEPT: u32 = u32::MAX;

impl Plan {
    /// Assigns slots. Gates keep their order, and all AND gates are garbled, even one that no output needs, because
    /// their tables are part of the copy.
    pub fn new(circuit: &Circuit) -> Self {
        let last_reads = last_reads(circuit);
        // Input wire i starts out in slot i.
        let mut slots = Slots { of_wire: vec![0; circuit.wires()], free: Vec::new(), count: circuit.inputs() as u32 };
        for (wire, slot) in slots.of_wire[..circuit.inputs()].iter_mut().enumerate() {
            *slot = wire as u32;
        }
        let mut steps = Vec::with_capacity(circuit.gate_count());
        for (k, gate) in circuit.gates().enumerate() {
            let (op, a, b) = match gate {
                Gate::Xor(a, b) => (Op::Xor, a, b),
                Gate::And(a, b) => (Op::And, a, b),
                Gate::Inv(a) => (Op::Inv, a, a),
            };
            let ends = |wire: u32| last_reads[wire as usize] == k as u32;
            if ends(a) {
                slots.release(a);
            }
            if ends(b) && b != a {
                slots.release(b);
            }
            let out = (circuit.inputs() + k) as u32;
            slots.take(out);
            let [a, b, slot] = [a, b, out].map(|wire| slots.of_wire[wire as usize]);
            steps.push(Step { op, a, b, out: slot });
            if ends(out) {
                slots.release(out);
            }
        }
        let outputs = circuit.outputs().iter().map(|&w| slots.of_wire[w as usize]).collect();
        Plan { script: Script::new(slots.count as usize, steps), inputs: circuit.inputs(), outputs }
    }

    /// Number of input wires.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of output wires.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Number of AND gates.
    pub fn and_gates(&self) -> usize {
        self.script.and_gates()
    }

    /// Bytes of a copy's tables.
    pub fn table_bytes(&self) -> usize {
        self.script.and_gates() * TABLE_BYTES
    }

    /// Labels of a copy that are alive at a time, at most.
    pub fn working_set(&self) -> usize {
        self.script.slots()
    }
}

/// The slots while they are assigned.
struct Slots {
    of_wire: Vec<u32>,
    /// The slot that was given back last is used first: it is still in the cache.
    free: Vec<u32>,
    count: u32,
}

impl Slots {
    fn take(&mut self, wire: u32) {
        self.of_wire[wire as usize] = self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
    }

    fn release(&mut self, wire: u32) {
        self.free.push(self.of_wire[wire as usize]);
    }
}

/// The gate after which each wire is no longer needed: the last one that reads it, or the one that drives it if none
/// does. Outputs and unread inputs are kept.
fn last_reads(circuit: &Circuit) -> Vec<u32> {
    let mut last = vec![KEPT; circuit.inputs()];
    for (k, gate) in circuit.gates().enumerate() {
        last.push(k as u32);
        match gate {
            Gate::Xor(a, b) | Gate::And(a, b) => {
                last[a as usize] = k as u32;
                last[b as usize] = k as u32;
            }
            Gate::Inv(a) => last[a as usize] = k as u32,
        }
    }
    for &wire in circuit.outputs() {
        last[wire as usize] = KEPT;
    }
    last
}
