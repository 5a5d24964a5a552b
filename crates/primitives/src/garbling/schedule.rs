//! From a circuit to the steps of the kernels.

use brickwork_kernels::{And, GateList, GateListBuilder, Kernel, ONE};

use super::order::{AndGate, layers};
use brickwork_circuit::{Circuit, Gate, Wire};

/// A circuit made ready for garbling, once for a component.
///
/// Its wires live in slots that are used again once a wire has been read for the last time, so that the
/// labels alive at a time stay in the cache. Its gates are put into an order with runs of XORs and layers of
/// independent AND gates; an AND gate keeps its number, and with it its index in the hash and its place in
/// the tables.
pub struct Schedule {
    pub(super) kernel: Kernel,
    pub(super) script: GateList,
    inputs: usize,
    /// Returns the slot of each output.
    pub(super) outputs: Vec<u32>,
}

impl Schedule {
    /// Schedules the gates and assigns the slots. All AND gates are garbled, even one that no output needs,
    /// because their tables are part of the copy.
    pub fn new(circuit: &Circuit) -> Self {
        Self::with_kernel(Kernel::best(), circuit)
    }

    /// Does the same as [`Schedule::new`] for a kernel of the caller's choice. The kernel changes the time
    /// that garbling takes, not one bit of its result.
    pub fn with_kernel(kernel: Kernel, circuit: &Circuit) -> Self {
        let mut slots = Slots::new(circuit);
        let mut script = GateListBuilder::new(slots.count as usize);
        layers(circuit, |layer| {
            // All gates of a layer are done side by side: the results of its AND gates go to slots that
            // nothing else of it uses, and their operands stay until its end.
            layer.ands.iter().for_each(|and| _ = slots.place(and.out));
            for free in &layer.free {
                let (a, b) = match free.gate {
                    Gate::Xor(a, b) => (a, Some(b)),
                    Gate::Inv(a) => (a, None),
                    Gate::And(..) => unreachable!("an AND gate is not free"),
                };
                let (slot_a, slot_b) = (slots.of(a), b.map_or(ONE, |b| slots.of(b)));
                [Some(a), b].into_iter().flatten().for_each(|wire| slots.read(wire));
                script.xor(slot_a, slot_b, slots.place(free.out));
                slots.release_if_unread(free.out);
            }
            let of = |and: &AndGate| And {
                a: slots.of(and.a),
                b: slots.of(and.b),
                out: slots.of(and.out),
                gate: and.number_in_section,
            };
            script.layer(&layer.ands.iter().map(of).collect::<Vec<_>>());
            for and in &layer.ands {
                slots.read(and.a);
                slots.read(and.b);
                slots.release_if_unread(and.out);
            }
        });
        let outputs = circuit.outputs().iter().map(|&w| slots.of_wire[w as usize]).collect();
        Schedule { kernel, script: script.finish(), inputs: circuit.inputs(), outputs }
    }

    /// Returns the number of input wires.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Returns the steps, for kernels.
    pub fn script(&self) -> &GateList {
        &self.script
    }

    /// Returns the slot of each output.
    pub fn output_slots(&self) -> &[u32] {
        &self.outputs
    }

    /// Returns the number of output wires.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Returns the number of AND gates.
    pub fn and_gates(&self) -> usize {
        self.script.and_gates()
    }

    /// Returns the labels of a copy that are alive at a time, at most, and one for the constant.
    pub fn working_set(&self) -> usize {
        self.script.slots()
    }
}

/// Returns the slot of an input wire when the walk begins.
#[inline]
pub fn input_slot(wire: usize) -> u32 {
    wire as u32 + ONE + 1
}

/// The slots while they are assigned.
struct Slots {
    of_wire: Vec<u32>,
    /// How often each wire is still to be read; outputs count as one read that never comes.
    reads: Vec<u32>,
    /// The slot that was given back last is used first: it is still in the cache.
    free: Vec<u32>,
    count: u32,
}

impl Slots {
    fn new(circuit: &Circuit) -> Self {
        let mut of_wire = vec![0; circuit.wires()];
        for (wire, slot) in of_wire[..circuit.inputs()].iter_mut().enumerate() {
            *slot = input_slot(wire);
        }
        let mut reads = vec![0; circuit.wires()];
        let mut read = |wire: Wire| reads[wire as usize] += 1;
        for gate in circuit.gates() {
            match gate {
                Gate::Xor(a, b) | Gate::And(a, b) => [a, b].into_iter().for_each(&mut read),
                Gate::Inv(a) => read(a),
            }
        }
        circuit.outputs().iter().copied().for_each(read);
        Slots { of_wire, reads, free: Vec::new(), count: input_slot(circuit.inputs()) }
    }

    /// The slot of a wire that is alive.
    fn of(&self, wire: Wire) -> u32 {
        self.of_wire[wire as usize]
    }

    /// Reads a wire once.
    fn read(&mut self, wire: Wire) {
        self.reads[wire as usize] -= 1;
        self.release_if_unread(wire);
    }

    /// Returns the slot in which a wire will live from now on.
    fn place(&mut self, wire: Wire) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.of_wire[wire as usize] = slot;
        slot
    }

    fn release_if_unread(&mut self, wire: Wire) {
        if self.reads[wire as usize] == 0 {
            self.free.push(self.of_wire[wire as usize]);
        }
    }
}
