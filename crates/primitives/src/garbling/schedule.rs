//! The schedule of a circuit: the order of its gates, as the kernels execute them.

use brickwork_kernels::{And, GateList, GateListBuilder, Kernel, ONE};

use super::order::{AndGate, layers};
use brickwork_circuit::{Circuit, Gate, Wire};

/// The gates of a circuit, prepared for garbling once for each component.
///
/// Each wire has a slot, a place in memory. A slot is reused after the last read of its wire, so that the
/// live labels stay in the cache. The gates are reordered into runs of XORs and layers of independent AND
/// gates. An AND gate keeps its number, and with it its index in the hash and its position in the tables.
pub struct Schedule {
    pub(super) kernel: Kernel,
    pub(super) script: GateList,
    inputs: usize,
    /// The slot of each output.
    pub(super) outputs: Vec<u32>,
}

impl Schedule {
    /// Schedules the gates and assigns the slots. All AND gates are garbled, even those that no output needs,
    /// because their tables are part of the copy.
    pub fn new(circuit: &Circuit) -> Self {
        Self::with_kernel(Kernel::best(), circuit)
    }

    /// Does the same as [`Schedule::new`] for a kernel of the caller's choice. The kernel changes the speed
    /// of garbling, but not its result.
    pub fn with_kernel(kernel: Kernel, circuit: &Circuit) -> Self {
        let mut slots = Slots::new(circuit);
        let mut script = GateListBuilder::new(slots.count as usize);
        layers(circuit, |layer| {
            // All gates of a layer are computed side by side. So the results of its AND gates need slots that
            // no other gate of the layer uses, and their operands stay until the layer ends.
            layer.ands.iter().for_each(|and| _ = slots.place(and.out));
            for free in &layer.free {
                let (a, b) = match free.gate {
                    Gate::Xor(a, b) => (a, Some(b)),
                    Gate::Inv(a) => (a, None),
                    Gate::And(..) => unreachable!("a gate in the list of free gates is not an AND gate"),
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

    /// Returns the gates in the form that the kernels execute.
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

    /// Returns the largest number of live labels of a copy, including the one of the constant.
    pub fn working_set(&self) -> usize {
        self.script.slots()
    }
}

/// Returns the slot of an input wire at the start of the walk.
#[inline]
pub fn input_slot(wire: usize) -> u32 {
    wire as u32 + ONE + 1
}

struct Slots {
    of_wire: Vec<u32>,
    /// The number of reads of each wire that are still to come. An output has one more read, so its slot is
    /// never reused.
    reads: Vec<u32>,
    /// Free slots. The last freed slot is reused first, because it is still in the cache.
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

    fn of(&self, wire: Wire) -> u32 {
        self.of_wire[wire as usize]
    }

    /// Counts one read of a wire, and frees its slot after the last one.
    fn read(&mut self, wire: Wire) {
        self.reads[wire as usize] -= 1;
        self.release_if_unread(wire);
    }

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
