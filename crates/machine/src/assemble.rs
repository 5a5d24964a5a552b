//! Makes programs of components from instructions: soldered instructions if the program is public, and a
//! chain of universal steps if it is secret.

use std::collections::HashMap;

use brickwork_circuit::{ComponentId, Error, Party, Port, Program, ProgramBuilder, Type, Wire};

use crate::instruction::{FIELDS, Instruction, MEMORY, Operand, Operation, REGISTERS, WORD};
use crate::library::{CONSTANTS, STEP, component};
use crate::problem::Problem;
use crate::source::{Assembly, Cells};

/// The wires of a word, the least significant bit first.
type Word = [Wire; WORD];

/// The name of the holder's port for a secret program.
pub(crate) const PROGRAM: &str = "program";

impl Assembly {
    /// Returns the program if both parties see every instruction: it has a slot for each instruction that
    /// needs gates.
    ///
    /// # Errors
    /// A [`Problem`] if the source has no instruction or no input.
    pub fn public(&self, name: &str) -> Result<Program, Problem> {
        if self.instructions.is_empty() {
            return Err(Problem::new(
                self.last_line,
                "the program has no instructions",
                "write an instruction, such as `add r0, r0, 1`; only with --secret-program may a file have \
                 just inputs, outputs and steps",
            ));
        }
        let ports = [self.ports(Party::Garbler), self.ports(Party::Evaluator)];
        self.wire(name, ports, None, |wiring| {
            self.instructions.iter().try_for_each(|(instruction, _)| wiring.instruction(*instruction))
        })
    }

    /// Returns the program that executes any secret program with this interface and number of steps; the
    /// holder gives the secret program as an input. The program does not depend on this source's
    /// instructions.
    ///
    /// # Errors
    /// A [`Problem`] if `.steps` is missing or too small for the instructions, or the holder's other inputs
    /// use the name `program`.
    pub fn secret(&self, holder: Party) -> Result<Program, Problem> {
        let steps = self.steps_of_secret()?;
        if let Some(input) = self.inputs.iter().find(|i| i.party == holder && i.name == PROGRAM) {
            return Err(Problem::new(
                input.line,
                "the party that holds the secret program also has an input called program, and this name is \
                 taken by the secret program",
                "give it another name",
            ));
        }
        let ports = [Party::Garbler, Party::Evaluator].map(|party| {
            let mut ports = self.ports(party);
            if party == holder {
                let ty = Type::Array(Box::new(instruction_type()), steps);
                ports.insert(0, Port::new(PROGRAM, ty));
            }
            ports
        });
        // The secret program comes first among its holder's wires. If the holder is the evaluator, the
        // garbler's wires come before it.
        let first = if holder == Party::Garbler { 0 } else { width(&ports[0]) };
        let each = instruction_type().width() as Wire;
        // Each party assembles its own file, and the name of the file must not change the program.
        self.wire("machine", ports, Some((holder, steps * each)), |wiring| {
            (0..steps).try_for_each(|step| wiring.step(first + step * each..first + (step + 1) * each))
        })
    }

    /// Returns the holder's program as an input of [`Assembly::secret`]: the bits of the port `program`.
    ///
    /// # Errors
    /// As [`Assembly::secret`].
    pub fn program_input(&self) -> Result<Vec<bool>, Problem> {
        let steps = self.steps_of_secret()? as usize;
        let nothing = std::iter::repeat(Instruction::NOP);
        let all = self.instructions.iter().map(|(instruction, _)| *instruction).chain(nothing);
        Ok(all.take(steps).flat_map(Instruction::bits).collect())
    }

    fn steps_of_secret(&self) -> Result<u32, Problem> {
        let Some((steps, line)) = self.steps else {
            return Err(Problem::new(
                self.last_line,
                "the number of steps of the secret program is missing",
                "write `.steps N`, in the files of both parties, with room for all instructions",
            ));
        };
        match self.instructions.get(steps as usize) {
            None => Ok(steps),
            Some((_, surplus)) => Err(Problem::new(
                *surplus,
                format!("this instruction is beyond the {steps} steps of line {line}"),
                format!(
                    "with all rounds of loops, the program has {} instructions: write that number in the \
                     files of both parties",
                    self.instructions.len()
                ),
            )),
        }
    }

    /// Returns a party's inputs, without a secret program.
    pub fn ports(&self, party: Party) -> Vec<Port> {
        let own = self.inputs.iter().filter(|input| input.party == party);
        own.map(|input| Port::new(&*input.name, input.place.ty())).collect()
    }

    /// Wires the inputs to registers and memory, calls `body`, and wires the outputs. `program` gives the
    /// holder of a secret program and the program's number of wires.
    fn wire(
        &self,
        name: &str,
        ports: [Vec<Port>; 2],
        program: Option<(Party, Wire)>,
        body: impl FnOnce(&mut Wiring) -> Result<(), Error>,
    ) -> Result<Program, Problem> {
        let fault = |error: Error| {
            Problem::new(self.last_line, error.to_string(), "make the program smaller, or rename its file")
        };
        if self.inputs.is_empty() && program.is_none() {
            return Err(Problem::new(
                self.last_line,
                "neither party gives an input",
                "declare an input, such as `.input garbler x r0`",
            ));
        }
        let evaluators = width(&ports[0]);
        let [garbler, evaluator] = ports;
        let builder = ProgramBuilder::new(name, garbler, evaluator).map_err(fault)?;
        let mut wiring = Wiring::new(builder).map_err(fault)?;
        for (party, start) in [(Party::Garbler, 0), (Party::Evaluator, evaluators)] {
            let mut next =
                start + program.filter(|(holder, _)| *holder == party).map_or(0, |(_, wires)| wires);
            for cell in self.inputs.iter().filter(|i| i.party == party).flat_map(|i| i.place.cells()) {
                wiring.cells[cell] = std::array::from_fn(|bit| next + bit as Wire);
                next += WORD as Wire;
            }
        }
        body(&mut wiring).map_err(fault)?;
        for output in &self.outputs {
            let wires = output.place.cells().flat_map(|cell| wiring.cells[cell]).collect();
            let port = Port::new(&*output.name, output.place.ty());
            wiring.program.output(port, output.to, wires).map_err(fault)?;
        }
        wiring.program.finish().map_err(fault)
    }
}

fn width(ports: &[Port]) -> Wire {
    ports.iter().map(|port| port.width() as Wire).sum()
}

/// The fields of an instruction, as `isa.wir` has them.
fn instruction_type() -> Type {
    Type::Struct(FIELDS.map(|(name, width)| (name.to_owned(), Type::Uint(width))).into())
}

/// A program while it is made: the wires of each register and each word of memory.
struct Wiring {
    program: ProgramBuilder,
    ids: HashMap<&'static str, ComponentId>,
    /// Registers, then memory.
    cells: [Word; REGISTERS + MEMORY],
    /// A wire that is 0 and a wire that is 1.
    constants: [Wire; 2],
}

impl Wiring {
    fn new(program: ProgramBuilder) -> Result<Self, Error> {
        let mut wiring = Wiring {
            program,
            ids: HashMap::new(),
            cells: [[0; WORD]; REGISTERS + MEMORY],
            constants: [0; 2],
        };
        let zero = wiring.slot(CONSTANTS, [0])?;
        wiring.constants = [zero, zero + 1];
        wiring.cells = [[zero; WORD]; REGISTERS + MEMORY];
        Ok(wiring)
    }

    /// Adds a slot of a component; returns its first output.
    fn slot(&mut self, name: &'static str, inputs: impl IntoIterator<Item = Wire>) -> Result<Wire, Error> {
        let id = match self.ids.get(name) {
            Some(id) => *id,
            None => {
                let id = self.program.component(component(name).clone())?;
                self.ids.insert(name, id);
                id
            }
        };
        self.program.slot(id, &inputs.into_iter().collect::<Vec<_>>())
    }

    /// Adds a slot of a component whose output is a word, or a single bit that becomes the last bit of a
    /// word.
    fn computed(
        &mut self,
        operation: Operation,
        inputs: impl IntoIterator<Item = Wire>,
    ) -> Result<Word, Error> {
        let first = self.slot(operation.name(), inputs)?;
        let width = component(operation.name()).circuit.outputs().len();
        let zero = self.constants[0];
        Ok(std::array::from_fn(|bit| if bit < width { first + bit as Wire } else { zero }))
    }

    /// Adds one instruction that both parties know.
    fn instruction(&mut self, instruction: Instruction) -> Result<(), Error> {
        use Operation::*;
        let a = self.cells[usize::from(instruction.first)];
        let b: Word = match instruction.second {
            Operand::Register(register) => self.cells[usize::from(register)],
            Operand::Value(value) => std::array::from_fn(|bit| self.constants[(value >> bit & 1) as usize]),
        };
        let known = match instruction.second {
            Operand::Register(_) => None,
            Operand::Value(value) => Some(value as usize),
        };
        let zero = self.constants[0];
        let target = usize::from(instruction.target);
        let result = match (instruction.operation, known) {
            (Nop, _) => return Ok(()),
            (Store, Some(address)) => {
                self.cells[REGISTERS + address % MEMORY] = a;
                return Ok(());
            }
            (Store, None) => {
                let memory = self.cells[REGISTERS..].as_flattened().to_vec();
                let first = self.slot(Store.name(), memory.into_iter().chain(b[..4].to_vec()).chain(a))?;
                for (cell, start) in (REGISTERS..).zip((first..).step_by(WORD)).take(MEMORY) {
                    self.cells[cell] = std::array::from_fn(|bit| start + bit as Wire);
                }
                return Ok(());
            }
            (Load, Some(address)) => self.cells[REGISTERS + address % MEMORY],
            (Load, None) => {
                let memory = self.cells[REGISTERS..].as_flattened().to_vec();
                self.computed(Load, memory.into_iter().chain(b[..4].to_vec()))?
            }
            (Mov, _) => b,
            (Sel, _) => self.computed(Sel, std::iter::once(a[0]).chain(b).chain(self.cells[target]))?,
            (Shl, Some(by)) => {
                let by = by % WORD;
                std::array::from_fn(|bit| if bit < by { zero } else { a[bit - by] })
            }
            (Shr, Some(by)) => {
                let by = by % WORD;
                std::array::from_fn(|bit| a.get(bit + by).copied().unwrap_or(zero))
            }
            (Shl | Shr, None) => {
                self.computed(instruction.operation, a.into_iter().chain(b[..5].to_vec()))?
            }
            (Eq | Lt | Lts | Add | Sub | Mul | And | Or | Xor, _) => {
                self.computed(instruction.operation, a.into_iter().chain(b))?
            }
        };
        self.cells[target] = result;
        Ok(())
    }

    /// Adds one step, whose instruction is on these wires.
    fn step(&mut self, instruction: std::ops::Range<Wire>) -> Result<(), Error> {
        let state = self.cells.as_flattened().to_vec();
        let first = self.slot(STEP, instruction.chain(state))?;
        for (cell, start) in self.cells.iter_mut().zip((first..).step_by(WORD)) {
            *cell = std::array::from_fn(|bit| start + bit as Wire);
        }
        Ok(())
    }
}

impl Cells {
    /// Returns the type: a single word, or an array of words.
    fn ty(&self) -> Type {
        let word = Type::Uint(WORD as u32);
        match self.cells().len() {
            1 => word,
            n => Type::Array(Box::new(word), n as u32),
        }
    }
}
