//! Circuits in Bristol Fashion, and in the older format with two inputs and one output.
//!
//! A file begins with the numbers of gates and wires. In Bristol Fashion, a line with the number and widths
//! of the inputs follows, and such a line for the outputs; in the old format, one line has the three widths.
//! Each gate follows on a line: numbers of input and output wires, the wires, the name in letters of either
//! case. Inputs are the first wires, outputs the last. Files of both formats may have all gates.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use super::lines::{FileLine, FileLines};
use crate::{Circuit, Component, Gate, Party, Port, Program, ProgramBuilder, Recipient, Type, Wire};
use brickwork_base::Error;

/// The party of each input of a Bristol circuit, by name (`in2`).
pub type InputMap = BTreeMap<String, Party>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Fashion,
    Old,
}

/// Reads a circuit as a program of one component. Gates stay as they are, except gates that read a constant
/// and gates that no output needs.
pub(super) fn read(
    mut lines: FileLines<'_>,
    name: &str,
    dialect: Dialect,
    map: &InputMap,
) -> Result<Program, Error> {
    let header = lines.expect("the numbers of gates and wires")?;
    let [gate_count, wires] = header.exactly("the numbers of gates and wires")?;
    lines.allow_wires(&header, wires.into())?;
    let (inputs, outputs) = match dialect {
        Dialect::Fashion => (widths(&mut lines, "inputs")?, widths(&mut lines, "outputs")?),
        Dialect::Old => {
            let line = lines.expect("the widths of the inputs and of the output")?;
            let [in0, in1, out] = line.exactly("the widths of both inputs and of the output")?;
            (vec![in0, in1], vec![out])
        }
    };
    let total = |widths: &[u32]| widths.iter().fold(0u64, |sum, w| sum + u64::from(*w));
    let (input_wires, output_wires) = (total(&inputs), total(&outputs));
    if input_wires > wires.into() || output_wires > wires.into() {
        return header.fail(format!(
            "the file announces {wires} wires in all, fewer than its inputs or \
             outputs need"
        ));
    }

    let mut body =
        Body { map: vec![None; wires as usize], inputs: input_wires as u32, gates: Vec::new(), zero: None };
    for wire in 0..input_wires as u32 {
        body.map[wire as usize] = Some(wire);
    }
    for index in 0..gate_count {
        let line = lines.expect(format_args!("gate {} of {gate_count}", index + 1))?;
        body.gate(&line)?;
    }
    lines.end()?;
    let first_output = wires - output_wires as u32;
    let driven = (first_output..wires).map(|w| body.map[w as usize].ok_or(w)).collect::<Result<Vec<_>, _>>();
    let driven = driven.or_else(|w| header.fail(format!("no gate drives wire {w}, which is an output")))?;
    program(name, &inputs, &outputs, Circuit::new(body.inputs, body.gates, driven)?, map)
}

fn widths(lines: &mut FileLines<'_>, what: &str) -> Result<Vec<u32>, Error> {
    let line = lines.expect(format_args!("the widths of the {what}"))?;
    let mut numbers = line.numbers()?;
    let count = numbers.remove(0);
    if numbers.len() as u64 != u64::from(count) {
        return line.fail(format!("the line announces {count} {what}, but {} widths follow", numbers.len()));
    }
    Ok(numbers)
}

/// The gates of the circuit so far.
struct Body {
    /// For each wire of the file the wire of the circuit.
    map: Vec<Option<Wire>>,
    inputs: u32,
    gates: Vec<Gate>,
    zero: Option<Wire>,
}

impl Body {
    fn push(&mut self, gate: Gate) -> Wire {
        self.gates.push(gate);
        self.inputs + (self.gates.len() - 1) as u32
    }

    fn read(&self, line: &FileLine<'_>, wire: u32) -> Result<Wire, Error> {
        match self.map.get(wire as usize) {
            Some(Some(mapped)) => Ok(*mapped),
            Some(None) => line.fail(format!("wire {wire} is read before any gate drives it")),
            None => line.fail(format!("there is no wire {wire}; the file announces {}", self.map.len())),
        }
    }

    fn drive(&mut self, line: &FileLine<'_>, wire: u32, driven: Wire) -> Result<(), Error> {
        let wires = self.map.len();
        match self.map.get_mut(wire as usize) {
            Some(place @ None) => {
                *place = Some(driven);
                Ok(())
            }
            Some(_) => line.fail(format!("wire {wire} is driven twice")),
            None => line.fail(format!("there is no wire {wire}; the file announces {wires}")),
        }
    }

    /// Returns the wire of a constant, derived from an input wire.
    fn constant(&mut self, line: &FileLine<'_>, value: u32) -> Result<Wire, Error> {
        if self.inputs == 0 {
            return line.fail("a circuit without inputs cannot be garbled");
        }
        let zero = match self.zero {
            Some(wire) => wire,
            None => self.push(Gate::Xor(0, 0)),
        };
        self.zero = Some(zero);
        match value {
            0 => Ok(zero),
            1 => Ok(self.push(Gate::Inv(zero))),
            _ => line.fail(format!("a constant must be 0 or 1, not {value}")),
        }
    }

    fn gate(&mut self, line: &FileLine<'_>) -> Result<(), Error> {
        let mut words: Vec<&str> = line.words().collect();
        let name = words.pop().unwrap_or_default().to_ascii_uppercase();
        let numbers = words.iter().map(|word| line.number(word)).collect::<Result<Vec<_>, _>>()?;
        let [fan_in, fan_out, ref wires @ ..] = numbers[..] else {
            return line.fail(
                "the line of a gate must begin with the number of its input wires and of its \
                 output wires",
            );
        };
        if u64::from(fan_in) + u64::from(fan_out) != wires.len() as u64 {
            return line
                .fail(format!("the line announces {fan_in} + {fan_out} wires, but {} follow", wires.len()));
        }
        match (&*name, wires) {
            ("XOR" | "AND" | "OR" | "NAND" | "NOR" | "XNOR" | "NXOR", &[a, b, out]) if fan_in == 2 => {
                self.binary(line, &name, a, b, out)
            }
            ("INV" | "NOT", &[a, out]) if fan_in == 1 => {
                let a = self.read(line, a)?;
                let driven = self.push(Gate::Inv(a));
                self.drive(line, out, driven)
            }
            ("EQW", &[a, out]) if fan_in == 1 => {
                let a = self.read(line, a)?;
                self.drive(line, out, a)
            }
            ("EQ", &[value, out]) if fan_in == 1 => {
                let driven = self.constant(line, value)?;
                self.drive(line, out, driven)
            }
            ("MAND", wires) if fan_out > 0 && fan_in / 2 == fan_out && fan_in % 2 == 0 => {
                let n = fan_out as usize;
                // All inputs are read before any output is driven, because all ANDs of a MAND gate happen at
                // the same time.
                let read =
                    wires[..2 * n].iter().map(|&w| self.read(line, w)).collect::<Result<Vec<_>, _>>()?;
                for (i, &out) in wires[2 * n..].iter().enumerate() {
                    let driven = self.push(Gate::And(read[i], read[n + i]));
                    self.drive(line, out, driven)?;
                }
                Ok(())
            }
            _ => line.fail(format!(
                "there is no gate {:?} with {fan_in} inputs and {fan_out} outputs; gates are XOR, AND, OR, \
                 XNOR, NAND and NOR of two wires, INV and EQW of one, EQ of a 0 or 1, and MAND",
                name.chars().take(20).collect::<String>()
            )),
        }
    }

    fn binary(&mut self, line: &FileLine<'_>, name: &str, a: u32, b: u32, out: u32) -> Result<(), Error> {
        let (a, b) = (self.read(line, a)?, self.read(line, b)?);
        let mut driven = match name {
            "XOR" | "XNOR" | "NXOR" => self.push(Gate::Xor(a, b)),
            _ => self.push(Gate::And(a, b)),
        };
        if matches!(name, "OR" | "NOR") {
            let differ = self.push(Gate::Xor(a, b));
            driven = self.push(Gate::Xor(driven, differ));
        }
        if matches!(name, "NAND" | "NOR" | "XNOR" | "NXOR") {
            driven = self.push(Gate::Inv(driven));
        }
        self.drive(line, out, driven)
    }
}

/// Returns a program of one component, with inputs and outputs of these widths.
pub(super) fn program(
    name: &str,
    inputs: &[u32],
    outputs: &[u32],
    circuit: Circuit,
    map: &InputMap,
) -> Result<Program, Error> {
    let ports = |prefix: &str, widths: &[u32]| {
        let ports = widths.iter().enumerate().filter(|(_, w)| **w > 0);
        ports.map(|(i, w)| Port::new(format!("{prefix}{i}"), Type::Uint(*w))).collect::<Vec<_>>()
    };
    let (inputs, outputs) = (ports("in", inputs), ports("out", outputs));
    if let Some(unknown) = map.keys().find(|name| !inputs.iter().any(|p| p.name == **name)) {
        let names: Vec<_> = inputs.iter().take(10).map(|p| &*p.name).collect();
        return Err(Error::Input(format!(
            "{name}: there is no input {unknown} to map; the circuit has {}",
            names.join(", ")
        )));
    }
    let owner = |port: &Port| match (map.get(&port.name), &*port.name) {
        (Some(party), _) => Ok(*party),
        (None, "in0") => Ok(Party::Garbler),
        (None, "in1") => Ok(Party::Evaluator),
        (None, other) => Err(Error::Input(format!(
            "{name}: the file does not say which party gives input {other}; add --map {other}=garbler or \
             --map {other}=evaluator"
        ))),
    };
    let owners = inputs.iter().map(owner).collect::<Result<Vec<_>, _>>()?;
    let own = |party| {
        inputs.iter().zip(&owners).filter(|(_, o)| **o == party).map(|(p, _)| p.clone()).collect::<Vec<_>>()
    };
    let (garbler, evaluator) = (own(Party::Garbler), own(Party::Evaluator));

    let mut next = [0, garbler.iter().map(|p| p.width() as Wire).sum()];
    let mut solderings = Vec::with_capacity(circuit.inputs());
    for (port, owner) in inputs.iter().zip(&owners) {
        let next = &mut next[usize::from(*owner == Party::Evaluator)];
        solderings.extend(*next..*next + port.width() as Wire);
        *next += port.width() as Wire;
    }
    let mut program = ProgramBuilder::new(name, garbler, evaluator)?;
    let component =
        Component { name: name.into(), inputs, outputs: outputs.clone(), circuit: Arc::new(circuit) };
    let component = program.component(component)?;
    let mut first = program.slot(component, &solderings)?;
    for port in outputs {
        let width = port.width() as Wire;
        program.output(port, Recipient::Both, (first..first + width).collect())?;
        first += width;
    }
    program.finish()
}

/// Returns the whole program in Bristol Fashion, with one input for each party and the outputs in order. An
/// input without bits has width 0; the format has no recipients of outputs.
///
/// # Errors
/// [`Error::Input`] if the program is too large for one circuit, or an output goes to nobody: a reader of the
/// file would give it to both parties.
pub fn write(program: &Program) -> Result<String, Error> {
    program.refuse_kept_outputs()?;
    let circuit = program.flatten()?;
    let (inputs, outputs) = (circuit.inputs(), circuit.outputs());
    // The outputs must be the last wires, so gates that drive an output get those numbers. An input that is
    // an output is copied there, and so is an output that occurs twice.
    let mut position = vec![None; circuit.wires()];
    let mut copies = Vec::new();
    for (place, &wire) in outputs.iter().enumerate() {
        match &mut position[wire as usize] {
            free @ None if wire as usize >= inputs => *free = Some(place),
            _ => copies.push((wire, place)),
        }
    }
    let first_output = circuit.wires() - (outputs.len() - copies.len());
    let mut number = Vec::with_capacity(circuit.wires());
    let mut inner = inputs..;
    for (wire, place) in position.iter().enumerate() {
        number.push(match place {
            Some(place) => first_output + place,
            None if wire < inputs => wire,
            None => inner.next().expect("unbounded"),
        });
    }

    let mut text = String::new();
    let _ = writeln!(text, "{} {}", circuit.gate_count() + copies.len(), first_output + outputs.len());
    let _ = match (program.input_width(Party::Garbler), program.input_width(Party::Evaluator)) {
        (garbler, 0) => writeln!(text, "1 {garbler}"),
        (garbler, evaluator) => writeln!(text, "2 {garbler} {evaluator}"),
    };
    let _ = write!(text, "{}", program.outputs().len());
    for output in program.outputs() {
        let _ = write!(text, " {}", output.wires.len());
    }
    text.push_str("\n\n");
    for (k, gate) in circuit.gates().enumerate() {
        let out = number[inputs + k];
        let _ = match gate {
            Gate::Xor(a, b) => writeln!(text, "2 1 {} {} {out} XOR", number[a as usize], number[b as usize]),
            Gate::And(a, b) => writeln!(text, "2 1 {} {} {out} AND", number[a as usize], number[b as usize]),
            Gate::Inv(a) => writeln!(text, "1 1 {} {out} INV", number[a as usize]),
        };
    }
    for (wire, place) in copies {
        let _ = writeln!(text, "1 1 {} {} EQW", number[wire as usize], first_output + place);
    }
    Ok(text)
}
