//! A builder of circuits, gate by gate, which folds constants and mostly reuses equal gates.

use super::{Circuit, Gate, MAX_WIRES, Wire};
use brickwork_base::Error;
use brickwork_base::stop::looking;

/// A bit while a circuit is built: a constant, or a wire that may be inverted. Inversion is free and is only
/// turned into a gate where a plain wire is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bit(u32);

impl Bit {
    /// The constant false.
    pub const ZERO: Bit = Bit(0);
    /// The constant true.
    pub const ONE: Bit = Bit(1);

    /// Makes the constant `value`.
    pub const fn constant(value: bool) -> Bit {
        Bit(value as u32)
    }

    /// Returns the value, if it is a constant.
    pub const fn known(self) -> Option<bool> {
        if self.0 < 2 { Some(self.0 == 1) } else { None }
    }

    const fn wire(wire: Wire) -> Bit {
        Bit((wire + 1) << 1)
    }

    const fn inverted(self) -> u32 {
        self.0 & 1
    }

    const fn plain(self) -> Bit {
        Bit(self.0 & !1)
    }

    /// Returns the wire of a bit that is not a constant, without its inversion.
    const fn index(self) -> Wire {
        (self.0 >> 1) - 1
    }
}

impl std::ops::Not for Bit {
    type Output = Bit;
    fn not(self) -> Bit {
        Bit(self.0 ^ 1)
    }
}

/// Builds one [`Circuit`]. If an equal gate exists, the builder mostly returns its wire.
pub struct Builder {
    inputs: u32,
    gates: Vec<Gate>,
    and_gates: usize,
    /// For each hash, a recent gate, by which an equal gate is found. Entries are overwritten, so the memory
    /// is limited. Only equal gates from long ago are missed.
    recent: Vec<u32>,
    /// True if a gate was left out because no wire number was left.
    full: bool,
}

const FIRST_RECENT: usize = 1 << 8;
const MAX_RECENT: usize = 1 << 20;

impl Builder {
    /// Makes a builder for a circuit of `inputs` input wires.
    pub fn new(inputs: u32) -> Self {
        Builder {
            inputs,
            gates: Vec::new(),
            and_gates: 0,
            recent: vec![0; FIRST_RECENT],
            full: inputs >= MAX_WIRES - 2,
        }
    }

    /// Returns input wire `index`.
    ///
    /// # Panics
    /// If there is no such input.
    pub fn input(&self, index: u32) -> Bit {
        assert!(index < self.inputs, "there is no input wire {index}; the circuit has {}", self.inputs);
        Bit::wire(index)
    }

    /// Returns all input wires, in order.
    pub fn all_inputs(&self) -> Vec<Bit> {
        (0..self.inputs).map(Bit::wire).collect()
    }

    fn push(&mut self, gate: Gate) -> Bit {
        // The operands are sorted, so that `a & b` and `b & a` are equal gates.
        let gate = match gate {
            Gate::Xor(a, b) => Gate::Xor(a.min(b), a.max(b)),
            Gate::And(a, b) => Gate::And(a.min(b), a.max(b)),
            Gate::Inv(a) => Gate::Inv(a),
        };
        if self.gates.len() > self.recent.len() && self.recent.len() < MAX_RECENT {
            self.recent = vec![0; self.recent.len() * 4];
            for (index, gate) in self.gates.iter().enumerate() {
                let place = hash(gate, self.recent.len());
                self.recent[place] = index as u32;
            }
        }
        let place = hash(&gate, self.recent.len());
        let candidate = self.recent[place];
        if self.gates.get(candidate as usize) == Some(&gate) {
            return Bit::wire(self.inputs + candidate);
        }
        if self.inputs as usize + self.gates.len() >= MAX_WIRES as usize - 2 {
            self.full = true;
            return Bit::wire(0);
        }
        let index = self.gates.len() as u32;
        self.recent[place] = index;
        self.and_gates += usize::from(matches!(gate, Gate::And(..)));
        self.gates.push(gate);
        Bit::wire(self.inputs + index)
    }

    /// Adds an exclusive or; returns its wire.
    pub fn xor(&mut self, a: Bit, b: Bit) -> Bit {
        let flip = a.inverted() ^ b.inverted();
        let (p, q) = (a.plain(), b.plain());
        if p == q {
            return Bit(flip);
        }
        if p == Bit::ZERO {
            return Bit(q.0 ^ flip);
        }
        if q == Bit::ZERO {
            return Bit(p.0 ^ flip);
        }
        let out = self.push(Gate::Xor(p.index(), q.index()));
        Bit(out.0 ^ flip)
    }

    /// Adds a conjunction; returns its wire. No other gate needs ciphertexts.
    pub fn and(&mut self, a: Bit, b: Bit) -> Bit {
        if a == Bit::ZERO || b == Bit::ZERO || a == !b {
            return Bit::ZERO;
        }
        if a == Bit::ONE || a == b {
            return b;
        }
        if b == Bit::ONE {
            return a;
        }
        let (a, b) = (self.materialise(a), self.materialise(b));
        self.push(Gate::And(a, b))
    }

    /// Adds a disjunction, by De Morgan, for one AND; returns its wire.
    pub fn or(&mut self, a: Bit, b: Bit) -> Bit {
        !self.and(!a, !b)
    }

    /// Adds `if condition { then } else { otherwise }`, for one AND; returns its wire.
    pub fn mux(&mut self, condition: Bit, then: Bit, otherwise: Bit) -> Bit {
        let difference = self.xor(then, otherwise);
        let masked = self.and(condition, difference);
        self.xor(masked, otherwise)
    }

    /// Returns a wire that carries this bit: constants and inversions become gates.
    fn materialise(&mut self, bit: Bit) -> Wire {
        if bit.inverted() == 0 { bit.index() } else { self.push(Gate::Inv(bit.index())).index() }
    }

    /// Returns the number of AND gates so far, dead ones included.
    pub fn and_gates(&self) -> usize {
        self.and_gates
    }

    /// Returns the circuit with these outputs; gates that no output needs are dropped.
    ///
    /// # Errors
    /// [`Error::Input`] if an output is a constant and there is no input wire to derive it from, or there are
    /// more than [`MAX_WIRES`] wires.
    pub fn finish(mut self, outputs: &[Bit]) -> Result<Circuit, Error> {
        let mut zero = None;
        let mut wires = Vec::with_capacity(outputs.len());
        for &bit in outputs {
            wires.push(match bit.known() {
                None => self.materialise(bit),
                Some(value) => {
                    if self.inputs == 0 {
                        return Err(Error::Input("a circuit without inputs cannot have outputs".into()));
                    }
                    let zero = *zero.get_or_insert_with(|| self.push(Gate::Xor(0, 0)));
                    self.materialise(Bit(zero.0 ^ u32::from(value)))
                }
            });
        }
        if self.full {
            return Err(Error::Input(format!("the circuit has more than {MAX_WIRES} wires")));
        }
        let (gates, wires) = drop_dead(self.inputs, self.gates, wires);
        Circuit::new(self.inputs, gates, wires)
    }
}

/// Returns the place of a gate in a table of `size` entries, a power of two.
fn hash(gate: &Gate, size: usize) -> usize {
    let (kind, a, b) = match *gate {
        Gate::Xor(a, b) => (0, a, b),
        Gate::And(a, b) => (1, a, b),
        Gate::Inv(a) => (2, a, a),
    };
    let key = (u64::from(a) << 32 | u64::from(b)) ^ kind << 62;
    // The high bits of a product depend on all bits of the key.
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (size - 1)
}

/// Keeps the gates that `outputs` depend on and renumbers the wires.
pub(super) fn drop_dead(inputs: u32, gates: Vec<Gate>, mut outputs: Vec<Wire>) -> (Vec<Gate>, Vec<Wire>) {
    let mut live = vec![false; inputs as usize + gates.len()];
    for &w in &outputs {
        live[w as usize] = true;
    }
    for (k, gate) in looking(gates.iter().enumerate().rev()) {
        if live[inputs as usize + k] {
            match *gate {
                Gate::Xor(a, b) | Gate::And(a, b) => {
                    live[a as usize] = true;
                    live[b as usize] = true;
                }
                Gate::Inv(a) => live[a as usize] = true,
            }
        }
    }
    let mut renamed: Vec<Wire> = (0..inputs).collect();
    let mut kept = Vec::new();
    let mut next = inputs;
    for (k, gate) in looking(gates.into_iter().enumerate()) {
        renamed.push(next);
        if live[inputs as usize + k] {
            let r = |w: Wire| renamed[w as usize];
            kept.push(match gate {
                Gate::Xor(a, b) => Gate::Xor(r(a), r(b)),
                Gate::And(a, b) => Gate::And(r(a), r(b)),
                Gate::Inv(a) => Gate::Inv(r(a)),
            });
            next += 1;
        }
    }
    for w in &mut outputs {
        *w = renamed[*w as usize];
    }
    (kept, outputs)
}
