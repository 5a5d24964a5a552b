//! The order in which the gates of a circuit are garbled.
//!
//! In many circuits, each AND gate depends on the one before. The schedule processes a *window* of gates at a
//! time, which ends where a section of the tables ends. Within a window, two steps are repeated. The first
//! step takes the first few AND gates whose inputs depend on no AND gate that is not taken yet. The second
//! step computes the XORs that these gates need, while the previously taken AND gates are garbled. So no gate
//! of a layer waits for another AND gate of the layer. AND gates fill the AES unit even for a single copy.
//! Meanwhile, the loads and stores for XORs run. XORs are computed by the end of their window at the latest,
//! so that live labels do not accumulate. The XORs of a layer are sorted by depth, so that few wait for the
//! XOR before them: loading a value directly after storing it takes longer than an XOR.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use brickwork_kernels::{LAYER, SECTION};

use brickwork_circuit::{Circuit, Gate, Wire};

/// The largest number of gates in a window, for circuits with few AND gates.
const WINDOW: usize = 1 << 16;

/// A layer of AND gates, and a layer of XOR and INV gates. Each gate comes after the gates that it reads. No
/// AND gate of the layer depends on another AND gate of it, and none of its XOR and INV gates depends on its
/// AND gates.
#[derive(Default)]
pub(super) struct GateLayer {
    pub free: Vec<FreeGate>,
    pub ands: Vec<AndGate>,
}

/// An XOR or INV gate, and its output wire.
pub(super) struct FreeGate {
    pub gate: Gate,
    pub out: Wire,
    /// The length of the longest chain of XOR and INV gates of this layer that ends at this gate.
    depth: u32,
}

pub(super) struct AndGate {
    pub a: Wire,
    pub b: Wire,
    pub out: Wire,
    pub number_in_section: u32,
}

/// Puts all gates of the circuit into an order, and passes them to `emit` layer by layer.
pub(super) fn layers(circuit: &Circuit, mut emit: impl FnMut(&GateLayer)) {
    let mut gates = circuit.gates();
    let mut first = circuit.inputs() as Wire;
    let (mut and_gates, mut window) = (0, Vec::new());
    loop {
        window.clear();
        let start = and_gates;
        for gate in gates.by_ref() {
            and_gates += usize::from(matches!(gate, Gate::And(..)));
            window.push(gate);
            if window.len() == WINDOW || (and_gates > start && and_gates % SECTION == 0) {
                break;
            }
        }
        if window.is_empty() {
            return;
        }
        Window::new(first, start, &window).run(&mut emit);
        first += window.len() as Wire;
    }
}

/// The window of gates whose order is being determined. Gates are counted from the start of the window.
struct Window<'a> {
    first: Wire,
    gates: &'a [Gate],
    /// The number of each AND gate within its section.
    numbers: Vec<u32>,
    /// For each gate, how many of its operands depend on an AND gate of the window that is not computed yet.
    waits: Vec<u8>,
    /// The gates that read gate `k`: `readers[starts[k]..starts[k + 1]]`.
    readers: Vec<u32>,
    starts: Vec<u32>,
    /// AND gates whose operands are all computed, in the order of the circuit.
    ready: BinaryHeap<Reverse<u32>>,
    done: Vec<bool>,
    /// The depths of the gates in the current layer, and 0 for all other gates.
    depths: Vec<u32>,
    layer: GateLayer,
}

impl<'a> Window<'a> {
    fn new(first: Wire, and_gates: usize, gates: &'a [Gate]) -> Self {
        let mut window = Window {
            first,
            gates,
            numbers: Vec::with_capacity(gates.len()),
            waits: vec![0; gates.len()],
            readers: Vec::new(),
            starts: vec![0; gates.len() + 1],
            ready: BinaryHeap::new(),
            done: vec![false; gates.len()],
            depths: vec![0; gates.len()],
            layer: GateLayer::default(),
        };
        let mut number = and_gates;
        for (k, gate) in gates.iter().enumerate() {
            window.numbers.push((number % SECTION) as u32);
            number += usize::from(matches!(gate, Gate::And(..)));
            for operand in window.operands(k) {
                window.waits[k] += 1;
                window.starts[operand + 1] += 1;
            }
        }
        for k in 0..gates.len() {
            window.starts[k + 1] += window.starts[k];
        }
        let mut next = window.starts.clone();
        window.readers = vec![0; window.starts[gates.len()] as usize];
        for k in 0..gates.len() {
            for operand in window.operands(k) {
                window.readers[next[operand] as usize] = k as u32;
                next[operand] += 1;
            }
        }
        window
    }

    /// Returns those operands of a gate that other gates of the window compute.
    fn operands(&self, k: usize) -> impl Iterator<Item = usize> + use<> {
        let (a, b) = match self.gates[k] {
            Gate::Xor(a, b) | Gate::And(a, b) => (a, Some(b)),
            Gate::Inv(a) => (a, None),
        };
        let first = self.first;
        [Some(a), b].into_iter().flatten().filter_map(move |w| w.checked_sub(first)).map(|w| w as usize)
    }

    fn run(mut self, emit: &mut impl FnMut(&GateLayer)) {
        let waiting_for_nothing: Vec<u32> =
            (0..self.gates.len() as u32).filter(|&k| self.waits[k as usize] == 0).collect();
        self.now_available(waiting_for_nothing);
        let mut present = Vec::new();
        while !(self.ready.is_empty() && present.is_empty()) {
            let next = self.take();
            for &k in &next {
                self.operands(k as usize).for_each(|operand| self.compute(operand));
            }
            for k in present.iter().map(|&k: &u32| k as usize) {
                let Gate::And(a, b) = self.gates[k] else {
                    unreachable!("only AND gates are in the list of ready gates")
                };
                let (out, number_in_section) = (self.first + k as Wire, self.numbers[k]);
                self.layer.ands.push(AndGate { a, b, out, number_in_section });
            }
            self.emit_layer(emit);
            let mut available = Vec::new();
            for k in present {
                self.done[k as usize] = true;
                self.release_readers(k as usize, &mut available);
            }
            self.now_available(available);
            present = next;
        }
        for k in 0..self.gates.len() {
            self.compute(k);
        }
        self.emit_layer(emit);
    }

    /// Removes and returns the first ready AND gates, at most a layer.
    fn take(&mut self) -> Vec<u32> {
        let mut taken = Vec::with_capacity(LAYER);
        while taken.len() < LAYER
            && let Some(Reverse(k)) = self.ready.pop()
        {
            taken.push(k);
        }
        taken
    }

    fn emit_layer(&mut self, emit: &mut impl FnMut(&GateLayer)) {
        if self.layer.free.is_empty() && self.layer.ands.is_empty() {
            return;
        }
        // The sort is stable, so gates of the same depth stay near the gates that read them.
        self.layer.free.sort_by_key(|free| free.depth);
        emit(&self.layer);
        for free in self.layer.free.drain(..) {
            self.depths[(free.out - self.first) as usize] = 0;
        }
        self.layer.ands.clear();
    }

    /// Processes gates whose operands depend on no pending AND gate. An AND gate becomes ready; after any
    /// other gate, the gates that read it may be processed.
    fn now_available(&mut self, mut available: Vec<u32>) {
        while let Some(k) = available.pop() {
            match self.gates[k as usize] {
                Gate::And(..) => self.ready.push(Reverse(k)),
                _ => self.release_readers(k as usize, &mut available),
            }
        }
    }

    fn release_readers(&mut self, k: usize, available: &mut Vec<u32>) {
        for &reader in &self.readers[self.starts[k] as usize..self.starts[k + 1] as usize] {
            self.waits[reader as usize] -= 1;
            if self.waits[reader as usize] == 0 {
                available.push(reader);
            }
        }
    }

    /// Adds an XOR or INV gate to the layer, after the gates that it reads.
    fn compute(&mut self, k: usize) {
        let mut path = vec![k];
        while let Some(&k) = path.last() {
            let before = path.len();
            if !self.done[k] {
                path.extend(self.operands(k).filter(|&o| !self.done[o]));
            }
            if path.len() == before {
                path.pop();
                if !std::mem::replace(&mut self.done[k], true) {
                    let depth = 1 + self.operands(k).map(|o| self.depths[o]).max().unwrap_or(0);
                    self.depths[k] = depth;
                    self.layer.free.push(FreeGate {
                        gate: self.gates[k],
                        out: self.first + k as Wire,
                        depth,
                    });
                }
            }
        }
    }
}
