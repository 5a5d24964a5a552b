//! The order in which the gates of a circuit are garbled.
//!
//! Circuits come in an order that suited their author, often with each AND gate waiting for the one before.
//! The schedule takes a *window* of gates at a time, which ends where a section of the tables ends. In it, it
//! repeats two steps: take the first few AND gates whose inputs depend on no AND gate still to come, and do
//! the XORs that they need while the AND gates taken before are garbled. So nothing of a layer waits for
//! anything else of it: AND gates fill the AES unit even for a single copy, and loads and stores of the XORs
//! are done beside. XORs are done no later than at the end of their window, so that labels do not pile up.
//! The gates of a layer are sorted by their depth in it, so that few wait for the previous one: loading a
//! value directly after storing it takes longer than an XOR.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use brickwork_kernels::{LAYER, SECTION};

use brickwork_circuit::{Circuit, Gate, Wire};

/// Most gates in a window, for circuits of few AND gates.
const WINDOW: usize = 1 << 16;

/// AND gates, and XOR and INV gates, none before those that it reads. No AND gate depends on another gate of
/// the layer, nor does one depend on it.
#[derive(Default)]
pub(super) struct Layer {
    pub free: Vec<FreeGate>,
    pub ands: Vec<AndGate>,
}

/// An XOR or INV gate and the wire it drives.
pub(super) struct FreeGate {
    pub gate: Gate,
    pub out: Wire,
    /// Length of the longest chain of gates of the layer that ends here.
    depth: u32,
}

/// An AND gate.
pub(super) struct AndGate {
    pub a: Wire,
    pub b: Wire,
    pub out: Wire,
    pub number_in_section: u32,
}

/// Passes all gates of the circuit to `emit`, layer by layer.
pub(super) fn layers(circuit: &Circuit, mut emit: impl FnMut(&Layer)) {
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

/// A stretch of gates while they are scheduled. Gates are counted from the start of the window.
struct Window<'a> {
    first: Wire,
    gates: &'a [Gate],
    /// For each AND gate its number in its section.
    numbers: Vec<u32>,
    /// For each gate how many of its operands wait for an AND gate of the window.
    waits: Vec<u8>,
    /// The gates that read gate `k`: `readers[starts[k]..starts[k + 1]]`.
    readers: Vec<u32>,
    starts: Vec<u32>,
    /// AND gates that wait for nothing, the first of the circuit first.
    ready: BinaryHeap<Reverse<u32>>,
    done: Vec<bool>,
    /// The depths of the gates in the present layer; 0 for all others.
    depths: Vec<u32>,
    layer: Layer,
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
            layer: Layer::default(),
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

    /// The operands of a gate that gates of the window drive.
    fn operands(&self, k: usize) -> impl Iterator<Item = usize> + use<> {
        let (a, b) = match self.gates[k] {
            Gate::Xor(a, b) | Gate::And(a, b) => (a, Some(b)),
            Gate::Inv(a) => (a, None),
        };
        let first = self.first;
        [Some(a), b].into_iter().flatten().filter_map(move |w| w.checked_sub(first)).map(|w| w as usize)
    }

    fn run(mut self, emit: &mut impl FnMut(&Layer)) {
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
                let Gate::And(a, b) = self.gates[k] else { unreachable!("only AND gates become ready") };
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

    /// Takes the first AND gates that wait for nothing, as many as a layer has.
    fn take(&mut self) -> Vec<u32> {
        let mut taken = Vec::with_capacity(LAYER);
        while taken.len() < LAYER
            && let Some(Reverse(k)) = self.ready.pop()
        {
            taken.push(k);
        }
        taken
    }

    fn emit_layer(&mut self, emit: &mut impl FnMut(&Layer)) {
        if self.layer.free.is_empty() && self.layer.ands.is_empty() {
            return;
        }
        // The sort is stable, so that gates of one depth stay near those that read them.
        self.layer.free.sort_by_key(|free| free.depth);
        emit(&self.layer);
        for free in self.layer.free.drain(..) {
            self.depths[(free.out - self.first) as usize] = 0;
        }
        self.layer.ands.clear();
    }

    /// Follows up on gates that no longer wait: AND gates become ready, others need not be waited for.
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

    /// Does an XOR or INV gate, after those that it reads.
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
