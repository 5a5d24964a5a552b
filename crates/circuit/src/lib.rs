//! Boolean circuits, the components and programs made of them, and their file formats.
//!
//! A [`Circuit`] is a list of XOR, AND and INV gates in static single assignment: wires `0..inputs` are the
//! inputs, gate `k` drives wire `inputs + k`. A [`Component`] gives a circuit a name and typed ports; a
//! [`Program`] places components into slots and solders the slots' wires.
#![forbid(unsafe_code)]

mod builder;
mod bwp;
mod fold;
pub mod formats;
pub mod info;
pub mod library;
mod port;
mod program;
mod rule;
mod simulate;
mod transform;
pub mod value;

pub use builder::{Bit, Builder};
pub use bwp::FILE_VERSION;
pub use port::{MAX_TYPE_DEPTH, Port, RowOrder, Rule, Type};
pub use program::{
    Component, ComponentDigest, ComponentId, OutputPort, Program, ProgramBuilder, Recipient, Slot,
};

pub use brickwork_base::{Error, Party};

use brickwork_base::stop::looking;
use zeroize::Zeroizing;

/// Index of a wire.
pub type Wire = u32;

/// The largest number of wires of a circuit. An operand is packed into 32 bits, of which the top bit is a
/// mark.
pub const MAX_WIRES: u32 = 1 << 31;

/// The number of a program's solderings, for inputs of slots and outputs together, must be less than this,
/// because they are numbered in 32 bits.
const MAX_SOLDERINGS: u64 = 1 << 32;

/// One gate; the wire it drives follows from its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Exclusive or of two wires; free to garble.
    Xor(Wire, Wire),
    /// Conjunction of two wires; two ciphertexts.
    And(Wire, Wire),
    /// Negation of a wire; free to garble.
    Inv(Wire),
}

/// A gate in 8 bytes: the top bit of `a` marks AND, the top bit of `b` marks INV.
#[derive(Clone, Copy, PartialEq, Eq)]
struct PackedGate {
    a: u32,
    b: u32,
}

const MARK: u32 = 1 << 31;

impl PackedGate {
    #[inline]
    fn pack(gate: Gate) -> Self {
        match gate {
            Gate::Xor(a, b) => PackedGate { a, b },
            Gate::And(a, b) => PackedGate { a: a | MARK, b },
            Gate::Inv(a) => PackedGate { a, b: MARK },
        }
    }

    #[inline]
    fn unpack(self) -> Gate {
        if self.a & MARK != 0 {
            Gate::And(self.a & !MARK, self.b)
        } else if self.b & MARK != 0 {
            Gate::Inv(self.a)
        } else {
            Gate::Xor(self.a, self.b)
        }
    }
}

/// A Boolean circuit. Every instance is well formed: gates read only wires before them, outputs exist.
#[derive(Clone, PartialEq, Eq)]
pub struct Circuit {
    inputs: u32,
    and_gates: u32,
    gates: Vec<PackedGate>,
    outputs: Vec<Wire>,
}

impl Circuit {
    /// Checks and packs a circuit of `inputs` input wires.
    ///
    /// # Errors
    /// [`Error::Input`] if a gate or an output names a wire that does not exist yet, or there are too many
    /// wires.
    pub fn new(
        inputs: u32,
        gates: impl IntoIterator<Item = Gate>,
        outputs: Vec<Wire>,
    ) -> Result<Self, Error> {
        if inputs >= MAX_WIRES {
            return Err(Error::Input(format!(
                "the circuit has {inputs} input wires, but a circuit may have at most {MAX_WIRES} wires"
            )));
        }
        let mut packed = Vec::new();
        let (mut next, mut and_gates) = (inputs, 0u32);
        for gate in looking(gates) {
            let (a, b) = match gate {
                Gate::Xor(a, b) => (a, b),
                Gate::And(a, b) => {
                    and_gates += 1;
                    (a, b)
                }
                Gate::Inv(a) => (a, a),
            };
            if a >= next || b >= next {
                return Err(Error::Input(format!(
                    "gate {} reads wire {}, but only wires 0 to {} are driven before this gate",
                    packed.len(),
                    a.max(b),
                    i64::from(next) - 1
                )));
            }
            next += 1;
            if next >= MAX_WIRES {
                return Err(Error::Input(format!("the circuit has more than {MAX_WIRES} wires")));
            }
            packed.push(PackedGate::pack(gate));
        }
        if let Some(&wire) = outputs.iter().find(|&&w| w >= next) {
            return Err(Error::Input(format!(
                "output wire {wire} is not driven; the circuit has {next} wires"
            )));
        }
        Ok(Circuit { inputs, and_gates, gates: packed, outputs })
    }

    /// Returns the number of input wires.
    pub fn inputs(&self) -> usize {
        self.inputs as usize
    }

    /// Returns the wires that are the outputs, in order; a wire may appear several times.
    pub fn outputs(&self) -> &[Wire] {
        &self.outputs
    }

    /// Returns the number of gates of any kind.
    pub fn gate_count(&self) -> usize {
        self.gates.len()
    }

    /// Returns the number of AND gates, the ones that cost ciphertexts.
    pub fn and_gates(&self) -> usize {
        self.and_gates as usize
    }

    /// Returns the number of wires, inputs included.
    pub fn wires(&self) -> usize {
        self.inputs as usize + self.gates.len()
    }

    /// Returns the gates, in order; gate `k` drives wire `inputs() + k`.
    pub fn gates(&self) -> impl ExactSizeIterator<Item = Gate> + DoubleEndedIterator + Clone + '_ {
        self.gates.iter().map(|g| g.unpack())
    }

    /// Evaluates the circuit in the clear: one bool a wire.
    ///
    /// # Panics
    /// If `inputs` does not have [`Circuit::inputs`] elements.
    pub fn evaluate(&self, inputs: &[bool]) -> Vec<bool> {
        assert_eq!(inputs.len(), self.inputs(), "the caller must give one bit for each input wire");
        let mut wires = Zeroizing::new(Vec::with_capacity(self.wires()));
        wires.extend_from_slice(inputs);
        for gate in looking(self.gates()) {
            let bit = match gate {
                Gate::Xor(a, b) => wires[a as usize] ^ wires[b as usize],
                Gate::And(a, b) => wires[a as usize] & wires[b as usize],
                Gate::Inv(a) => !wires[a as usize],
            };
            wires.push(bit);
        }
        self.outputs.iter().map(|&w| wires[w as usize]).collect()
    }
}

impl std::fmt::Debug for Circuit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Circuit({} inputs, {} gates of which {} AND, {} outputs)",
            self.inputs,
            self.gates.len(),
            self.and_gates,
            self.outputs.len()
        )
    }
}
