//! Circuits in the form of the paper (section II): each gate has two inputs and an arbitrary function.
//!
//! Wires are numbered from 0: first the inputs, then one wire for each gate. The paper demands the following
//! of every circuit, and this type guarantees it. A gate reads two different earlier wires, the smaller one
//! first. An output is the wire of a gate, no gate reads it, and no two outputs are the same wire.
//! [`Circuit::normalised`] converts any other circuit to this form. The form is important for security. If a
//! gate read the same wire twice, a cipher that adds its keys (A1) would encrypt under the tweak alone.
//! Everybody could then read both rows. The program of the paper's authors builds negations in this way.

use brickwork_base::Error;
use brickwork_circuit as plain;
use brickwork_circuit::formats::scd::Scd;

/// The function of a gate. Bit 2a + b is its value for the inputs a and b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateFunction(u8);

impl GateFunction {
    /// Conjunction, a ∧ b.
    pub const AND: GateFunction = GateFunction(0b1000);
    /// Exclusive or, a ⊕ b.
    pub const XOR: GateFunction = GateFunction(0b0110);
    /// Disjunction, a ∨ b.
    pub const OR: GateFunction = GateFunction(0b1110);
    /// The first input, independent of the second one.
    pub const FIRST: GateFunction = GateFunction(0b1100);
    /// The negation of the second input, as in files of the authors' program.
    pub const NOT_SECOND: GateFunction = GateFunction(0b0101);
    /// The negation of the first input.
    pub const NOT_FIRST: GateFunction = GateFunction(0b0011);
    /// The negation of a ∧ b.
    pub const NAND: GateFunction = GateFunction(0b0111);
    /// The negation of a ⊕ b.
    pub const XNOR: GateFunction = GateFunction(0b1001);
    /// The conjunction of the first input and the negated second input.
    pub const AND_NOT: GateFunction = GateFunction(0b0100);

    /// Returns the function with this truth table, or none if the table has more than four bits.
    pub fn of_table(table: u8) -> Option<Self> {
        (table < 16).then_some(GateFunction(table))
    }

    /// Returns the truth table.
    pub fn table(self) -> u8 {
        self.0
    }

    /// Returns the value, 0 or 1, for two bits.
    pub fn apply(self, a: u8, b: u8) -> u8 {
        self.0 >> (2 * a + b) & 1
    }

    /// Returns the coefficients c, x, y and p, each 0 or 1, of the function c + xa + yb + pab.
    pub(crate) fn terms(self) -> BitCoefficients {
        let value = |a, b| self.apply(a, b);
        let constant = value(0, 0);
        BitCoefficients {
            constant,
            first: value(1, 0) ^ constant,
            second: value(0, 1) ^ constant,
            product: value(0, 0) ^ value(0, 1) ^ value(1, 0) ^ value(1, 1),
        }
    }

    /// Returns whether the function is not linear, as AND and OR are not.
    pub fn has_product(self) -> bool {
        self.terms().product == 1
    }

    /// Returns the function with its inputs and its value negated, where a parameter is 1.
    fn negated(self, first: u8, second: u8, value: u8) -> Self {
        let table = (0..4).map(|k| (self.apply(k >> 1 ^ first, k & 1 ^ second) ^ value) << k);
        GateFunction(table.sum())
    }

    fn exchanged(self) -> Self {
        GateFunction((0..4).map(|k| self.apply(k & 1, k >> 1) << k).sum())
    }
}

/// The coefficients of 1, a, b and ab in a function.
#[derive(Clone, Copy)]
pub(crate) struct BitCoefficients {
    pub(crate) constant: u8,
    pub(crate) first: u8,
    pub(crate) second: u8,
    pub(crate) product: u8,
}

/// A gate with its function. The gate reads two earlier wires, the smaller one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NormalGate {
    /// The first input.
    pub first: u32,
    /// The second input.
    pub second: u32,
    /// The function of both inputs.
    pub function: GateFunction,
}

impl NormalGate {
    pub(crate) fn in_order(first: u32, second: u32, function: GateFunction) -> Self {
        match first < second {
            true => NormalGate { first, second, function },
            false => NormalGate { first: second, second: first, function: function.exchanged() },
        }
    }
}

/// A circuit in the paper's form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormalCircuit {
    inputs: u32,
    gates: Vec<NormalGate>,
    outputs: Vec<u32>,
}

/// A wire of another circuit, expressed in the paper's form.
#[derive(Clone, Copy)]
enum Signal {
    /// A wire, negated if the second number is 1.
    Wire(u32, u8),
    Constant(u8),
}

impl NormalCircuit {
    /// Makes a circuit of gates that already have the paper's form.
    ///
    /// # Errors
    /// [`Error::Input`] with the violated condition.
    pub fn new(inputs: u32, gates: Vec<NormalGate>, outputs: Vec<u32>) -> Result<Self, Error> {
        let fail = |why: String| Err(Error::Input(why));
        if inputs < 2 || outputs.is_empty() {
            return fail("a circuit must have at least two inputs and one output to be garbled".into());
        }
        if gates.len() as u64 + u64::from(inputs) > u64::from(u32::MAX) {
            return fail("a circuit must have fewer than 2^32 wires".into());
        }
        let mut reads = vec![false; inputs as usize + gates.len()];
        for (wire, gate) in (inputs..).zip(&gates) {
            if gate.first >= gate.second || gate.second >= wire {
                return fail(format!(
                    "the gate of wire {wire} reads wires {} and {}",
                    gate.first, gate.second
                ));
            }
            reads[gate.first as usize] = true;
            reads[gate.second as usize] = true;
        }
        for &output in &outputs {
            match reads.get_mut(output as usize) {
                Some(read @ false) if output >= inputs => *read = true,
                _ => {
                    return fail(format!(
                        "wire {output} cannot be an output, because it is an input, is read by a gate, or \
                         is already an output"
                    ));
                }
            }
        }
        Ok(NormalCircuit { inputs, gates, outputs })
    }

    /// Converts any gates to a circuit in the paper's form. Negations become part of the gates that read
    /// them. Gates that depend on one input or none disappear. An output without a wire of its own gets one.
    /// Each of `gates` reads earlier wires.
    ///
    /// # Errors
    /// [`Error::Input`] if a gate reads a wire that is not before it, or an output does not exist.
    pub fn normalised(
        inputs: u32,
        gates: impl IntoIterator<Item = (u32, u32, GateFunction)>,
        outputs: &[u32],
    ) -> Result<Self, Error> {
        let mut made = Normaliser { inputs, gates: Vec::new() };
        let mut signals: Vec<Signal> = (0..inputs).map(|wire| Signal::Wire(wire, 0)).collect();
        for (first, second, function) in gates {
            let of = |wire: u32| {
                let signal = signals.get(wire as usize).copied();
                signal.ok_or_else(|| {
                    Error::Input(format!(
                        "a gate reads wire {wire}, which no input and no earlier gate drives"
                    ))
                })
            };
            let signal = made.gate(of(first)?, of(second)?, function);
            signals.push(signal);
        }
        let of = |&output: &u32| {
            let signal = signals.get(output as usize).copied();
            signal.ok_or_else(|| {
                Error::Input(format!(
                    "wire {output} cannot be an output, because the circuit does not have it"
                ))
            })
        };
        let driven = outputs.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        // The number of uses of each wire. A wire needs no copy if it is used once, by an output.
        let mut uses = vec![0u32; inputs as usize + made.gates.len()];
        made.gates
            .iter()
            .flat_map(|gate| [gate.first, gate.second])
            .for_each(|wire| uses[wire as usize] += 1);
        for signal in &driven {
            if let Signal::Wire(wire, _) = signal {
                uses[*wire as usize] += 1;
            }
        }
        let placed = driven.into_iter().map(|signal| made.output(signal, &uses)).collect();
        NormalCircuit::new(inputs, made.gates, placed)
    }

    /// Converts a circuit of Brickwork's other crates to the paper's form.
    ///
    /// # Errors
    /// [`Error::Input`] if it has fewer than two inputs or no output.
    pub fn of(circuit: &plain::Circuit) -> Result<Self, Error> {
        let gates = circuit.gates().map(|gate| match gate {
            plain::Gate::And(a, b) => (a, b, GateFunction::AND),
            plain::Gate::Xor(a, b) => (a, b, GateFunction::XOR),
            plain::Gate::Inv(a) => (a, a, GateFunction::NOT_SECOND),
        });
        NormalCircuit::normalised(circuit.inputs() as u32, gates, circuit.outputs())
    }

    /// Converts the circuit of an SCD file to the paper's form. A circuit in this form stays the same.
    ///
    /// # Errors
    /// [`Error::Input`] if the file has no functions of gates, or fewer than two inputs or no output.
    pub fn of_scd(scd: &Scd) -> Result<Self, Error> {
        let Some(functions) = scd.functions() else {
            return Err(Error::Input(
                "a topological circuit has no functions of gates, so it cannot be garbled".into(),
            ));
        };
        let functions = functions.iter().map(|&table| GateFunction(table));
        let gates = scd.gates().iter().zip(functions).map(|(&[a, b], function)| (a, b, function));
        let as_it_is = gates.clone().map(|(first, second, function)| NormalGate { first, second, function });
        NormalCircuit::new(scd.inputs(), as_it_is.collect(), scd.outputs().to_vec())
            .or_else(|_| NormalCircuit::normalised(scd.inputs(), gates, scd.outputs()))
    }

    /// Returns the contents of an SCD file with this circuit.
    ///
    /// # Errors
    /// [`Error::Input`] if the circuit has more wires than a file can number.
    pub fn to_scd(&self) -> Result<Scd, Error> {
        let gates = self.gates.iter().map(|gate| [gate.first, gate.second]).collect();
        let functions = self.gates.iter().map(|gate| gate.function.table()).collect();
        Scd::new(self.inputs, gates, Some(functions), self.outputs.clone())
    }

    /// Returns n, the number of inputs.
    pub fn inputs(&self) -> u32 {
        self.inputs
    }

    /// Returns the gates. Gate g drives wire n + g.
    pub fn gates(&self) -> &[NormalGate] {
        &self.gates
    }

    /// Returns the wires of the outputs, in order.
    pub fn outputs(&self) -> &[u32] {
        &self.outputs
    }

    /// Returns the number of XOR gates.
    pub fn xor_gates(&self) -> usize {
        self.gates.iter().filter(|gate| gate.function == GateFunction::XOR).count()
    }

    /// Evaluates without garbling: ev of the paper. Returns the outputs.
    ///
    /// # Panics
    /// If the number of bits is wrong.
    pub fn evaluate(&self, inputs: &[bool]) -> Vec<bool> {
        assert_eq!(inputs.len(), self.inputs as usize, "the caller must give one bit for each input");
        let mut bits: Vec<u8> = inputs.iter().map(|&bit| bit.into()).collect();
        for gate in &self.gates {
            bits.push(gate.function.apply(bits[gate.first as usize], bits[gate.second as usize]));
        }
        self.outputs.iter().map(|&wire| bits[wire as usize] == 1).collect()
    }
}

/// The gates of a circuit under construction.
struct Normaliser {
    inputs: u32,
    gates: Vec<NormalGate>,
}

impl Normaliser {
    fn push(&mut self, first: u32, second: u32, function: GateFunction) -> u32 {
        self.gates.push(NormalGate::in_order(first, second, function));
        self.inputs + (self.gates.len() - 1) as u32
    }

    fn gate(&mut self, first: Signal, second: Signal, function: GateFunction) -> Signal {
        // A function of one input, given by its values for 0 and 1, needs no gate.
        let of_one = |wire: u32, values: [u8; 2]| match values {
            [0, 1] => Signal::Wire(wire, 0),
            [1, 0] => Signal::Wire(wire, 1),
            [value, _] => Signal::Constant(value),
        };
        match (first, second) {
            (Signal::Constant(a), Signal::Constant(b)) => Signal::Constant(function.apply(a, b)),
            (Signal::Wire(wire, not), Signal::Constant(b)) => {
                of_one(wire, [0, 1].map(|a| function.apply(a ^ not, b)))
            }
            (Signal::Constant(a), Signal::Wire(wire, not)) => {
                of_one(wire, [0, 1].map(|b| function.apply(a, b ^ not)))
            }
            (Signal::Wire(one, not), Signal::Wire(other, also)) if one == other => {
                of_one(one, [0, 1].map(|bit| function.apply(bit ^ not, bit ^ also)))
            }
            (Signal::Wire(one, not), Signal::Wire(other, also)) => {
                let function = function.negated(not, also, 0);
                let values = |a, b| function.apply(a, b);
                match function.table() {
                    0 | 15 => Signal::Constant(values(0, 0)),
                    // These functions depend on only one input.
                    0b1100 | 0b0011 => of_one(one, [values(0, 0), values(1, 0)]),
                    0b1010 | 0b0101 => of_one(other, [values(0, 0), values(0, 1)]),
                    // An XOR may be free, and the negation becomes part of later gates.
                    0b1001 => Signal::Wire(self.push(one, other, GateFunction::XOR), 1),
                    _ => Signal::Wire(self.push(one, other, function), 0),
                }
            }
        }
    }

    /// Returns the wire of an output. `uses` has the number of uses of each wire.
    fn output(&mut self, signal: Signal, uses: &[u32]) -> u32 {
        let (wire, not) = match signal {
            Signal::Constant(bit) => return self.push(0, 1, GateFunction(15 * bit)),
            Signal::Wire(wire, not) => (wire, not),
        };
        if wire >= self.inputs && uses[wire as usize] == 1 {
            let gate = &mut self.gates[(wire - self.inputs) as usize];
            if not == 0 || gate.function != GateFunction::XOR {
                gate.function = gate.function.negated(0, 0, not);
                return wire;
            }
        }
        // A copy of the wire. The gate also reads another wire, but ignores it.
        self.push(wire, u32::from(wire == 0), GateFunction::FIRST.negated(not, 0, 0))
    }
}
