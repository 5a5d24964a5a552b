//! DUPLO's programs, `.GC_duplo`: components as lists of gates with truth tables, then the calls of `main`.
//!
//! ```text
//! components calls
//! garbler-input evaluator-input output garbler-output evaluator-output  (bits)
//! FN k inputs outputs wires and-gates gates    k = 1, 2, …
//! left right driven table                      a line a gate; table f(1,1) f(1,0) f(0,1) f(0,0)
//! --end FN k--
//! FN components+1                              main
//! FN k                                         a call, with its input and output wires
//! …
//! …
//! ```
//!
//! Wires inside a component begin with its inputs, its outputs, and the constants 1 and 0; wires of `main`
//! begin with the garbler's inputs, the evaluator's inputs, and the outputs. A wire may be driven again, so
//! lines are executed in order. The garbler learns the first bits of the output, the evaluator the last.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use super::lines::{FileLine, FileLines};
use crate::{
    Bit, Builder, Component, ComponentId, Gate, OutputPort, Party, Port, Program, ProgramBuilder, Recipient,
    Type, Wire,
};
use brickwork_base::Error;

pub(super) fn read(mut lines: FileLines<'_>, name: &str) -> Result<Program, Error> {
    let header = lines.expect("the header")?;
    if header.text.starts_with("Error!") {
        return header.fail("the compiler that wrote this file could not translate the program");
    }
    let [components, calls] = header.exactly("the numbers of components and of calls")?;
    let widths = lines.expect("the widths of inputs and outputs")?;
    let [garbler, evaluator, output, garbler_output, evaluator_output] =
        widths.exactly("the widths of inputs and outputs")?;
    let ends = [
        u64::from(garbler) + u64::from(evaluator),
        u64::from(garbler) + u64::from(evaluator) + u64::from(output),
    ];
    lines.allow_wires(&widths, ends[1])?;
    if garbler_output > output || evaluator_output > output {
        return widths.fail("a party cannot learn more bits than the output has");
    }
    let port = |name: &str, width: u32| (width > 0).then(|| Port::new(name, Type::Uint(width)));
    let ports = |name: &str, width: u32| port(name, width).into_iter().collect();
    let mut program = ProgramBuilder::new(name, ports("input1", garbler), ports("input2", evaluator))?;

    let mut kinds = HashMap::new();
    for _ in 0..components {
        let (k, kind) = component(&mut lines)?;
        let io = (kind.circuit.inputs(), kind.circuit.outputs().len());
        if kinds.insert(k, (program.component(kind)?, io)).is_some() {
            return header.fail(format!("the file has two components FN {k}"));
        }
    }
    let main = lines.expect("main")?;
    match main.words().collect::<Vec<_>>()[..] {
        ["FN", k] if main.number(k)? == components.saturating_add(1) => {}
        _ => {
            return main.fail(format!(
                "the file must continue with FN {}, the beginning of main",
                u64::from(components) + 1
            ));
        }
    }

    // The program's wire for each wire of the file that is no input.
    let mut global: HashMap<u32, Wire> = HashMap::new();
    for index in 0..calls {
        let line = lines.expect(format_args!("call {} of {calls}", index + 1))?;
        let (id, (inputs, outputs)) = match line.words().collect::<Vec<_>>()[..] {
            ["FN", k] => match kinds.get(&line.number(k)?) {
                Some(kind) => *kind,
                None => return line.fail("this line calls a component that the file does not have"),
            },
            _ => return line.fail("this line must be a call: FN and the number of a component"),
        };
        let (line, wires) = list(&mut lines, "the input wires of a call", inputs)?;
        let find = |&w: &u32| if u64::from(w) < ends[0] { Ok(w) } else { global.get(&w).copied().ok_or(w) };
        let solderings = wires.iter().map(find).collect::<Result<Vec<_>, _>>();
        let solderings = solderings
            .or_else(|w| line.fail(format!("the call reads wire {w} before any call drives it")))?;
        let first = program.slot(id, &solderings)?;
        let (line, wires) = list(&mut lines, "the output wires of a call", outputs)?;
        for (driven, wire) in (first..).zip(wires) {
            if u64::from(wire) < ends[0] {
                return line.fail(format!("wire {wire} is an input and cannot be driven"));
            }
            global.insert(wire, driven);
        }
    }
    lines.end()?;

    let mut learn = |name: &str, to, range: std::ops::Range<u64>| {
        let wires =
            range.clone().map(|w| global.get(&(w as u32)).copied().ok_or(w)).collect::<Result<Vec<_>, _>>();
        let wires = wires.or_else(|w| widths.fail(format!("no call drives wire {w}, which is an output")))?;
        match port(name, wires.len() as u32) {
            Some(port) => program.output(port, to, wires),
            None => Ok(()),
        }
    };
    if garbler_output == output && evaluator_output == output {
        learn("output", Recipient::Both, ends[0]..ends[1])?;
    } else {
        learn("output1", Recipient::Garbler, ends[0]..ends[0] + u64::from(garbler_output))?;
        learn("output2", Recipient::Evaluator, ends[1] - u64::from(evaluator_output)..ends[1])?;
    }
    program.finish()
}

/// Reads the next line, which has `count` wires.
fn list<'b>(lines: &mut FileLines<'b>, what: &str, count: usize) -> Result<(FileLine<'b>, Vec<u32>), Error> {
    let line = lines.expect(what)?;
    let wires = line.numbers()?;
    if wires.len() == count {
        Ok((line, wires))
    } else {
        line.fail(format!("this line must have {count} wires, not {}", wires.len()))
    }
}

fn component(lines: &mut FileLines<'_>) -> Result<(u32, Component), Error> {
    let header = lines.expect("a component")?;
    let Some(rest) = header.text.strip_prefix("FN ") else {
        return header.fail("this line must begin a component: FN and six numbers");
    };
    let numbers =
        rest.split_ascii_whitespace().map(|word| header.number(word)).collect::<Result<Vec<_>, _>>()?;
    // The fifth number is the number of AND gates, which is not needed.
    let [k, inputs, outputs, wires, _, gates] = numbers[..] else {
        return header.fail(
            "a component needs six numbers: its own number, and those of its inputs, \
             outputs, wires, AND gates and gates",
        );
    };
    lines.allow_wires(&header, wires.into())?;
    if u64::from(inputs) + u64::from(outputs) > wires.into() || inputs == 0 || outputs == 0 {
        return header.fail("a component needs an input, an output, and wires for them");
    }
    let mut builder = Builder::new(inputs);
    let mut values: Vec<Option<Bit>> = vec![None; wires as usize];
    for (value, input) in values.iter_mut().zip(builder.all_inputs()) {
        *value = Some(input);
    }
    for index in 0..gates {
        let line = lines.expect(format_args!("gate {} of {gates} of FN {k}", index + 1))?;
        gate(&line, &mut builder, &mut values)?;
    }
    let end = lines.expect(format_args!("the end of FN {k}"))?;
    let words: Vec<&str> =
        end.text.split(|c: char| c == '-' || c.is_ascii_whitespace()).filter(|w| !w.is_empty()).collect();
    if !end.text.starts_with("--") || !end.text.ends_with("--") || words[..] != ["end", "FN", &k.to_string()]
    {
        return end.fail(format!("FN {k} must end with --end FN {k}-- after its {gates} gates"));
    }
    let results = values[inputs as usize..(inputs + outputs) as usize].iter().enumerate();
    let results = results.map(|(i, value)| value.ok_or(i)).collect::<Result<Vec<_>, _>>();
    let results = results.or_else(|i| end.fail(format!("no gate of FN {k} drives its output {i}")))?;
    let component = Component {
        name: format!("fn{k}"),
        inputs: vec![Port::new("in", Type::Uint(inputs))],
        outputs: vec![Port::new("out", Type::Uint(outputs))],
        circuit: Arc::new(builder.finish(&results)?),
    };
    Ok((k, component))
}

fn gate(line: &FileLine<'_>, builder: &mut Builder, values: &mut [Option<Bit>]) -> Result<(), Error> {
    let words: Vec<&str> = line.words().collect();
    let [left, right, driven, table] = words[..] else {
        return line.fail("this line must be a gate: left wire, right wire, driven wire and truth table");
    };
    if table.len() != 4 || !table.bytes().all(|c| matches!(c, b'0' | b'1')) {
        return line.fail("a truth table must be four digits, each 0 or 1");
    }
    let table = table.bytes().fold(0u8, |t, c| t << 1 | (c - b'0'));
    // A gate may ignore an operand. The file may then name any wire, even one that no gate drives.
    let (needs_left, needs_right) = (table >> 2 != table & 3, table >> 1 & 5 != table & 5);
    let operand = |word: &str, needed: bool| {
        let wire = line.number(word)?;
        match values.get(wire as usize) {
            None => line.fail(format!("there is no wire {wire}; the component announces {}", values.len())),
            Some(Some(bit)) if needed => Ok(*bit),
            Some(None) if needed => {
                line.fail(format!("the gate reads wire {wire} before any gate drives it"))
            }
            Some(_) => Ok(Bit::ZERO),
        }
    };
    let (l, r) = (operand(left, needs_left)?, operand(right, needs_right)?);
    let driven = line.number(driven)?;
    let invert = |bit: Bit, inverted: bool| if inverted { !bit } else { bit };
    let value = match table.count_ones() {
        0 => Bit::ZERO,
        4 => Bit::ONE,
        2 => match table {
            0b1100 | 0b0011 => invert(l, table == 0b0011),
            0b1010 | 0b0101 => invert(r, table == 0b0101),
            _ => {
                let sum = builder.xor(l, r);
                invert(sum, table == 0b1001)
            }
        },
        ones => {
            // A table with an odd number of ones is an AND of operands that may be inverted, itself inverted
            // if three of the four results are 1.
            let single = (if ones == 1 { table } else { !table & 15 }).trailing_zeros();
            let product = builder.and(invert(l, single & 2 == 0), invert(r, single & 1 == 0));
            invert(product, ones == 3)
        }
    };
    match values.get_mut(driven as usize) {
        Some(place) => {
            *place = Some(value);
            Ok(())
        }
        None => line.fail(format!("the gate drives wire {driven}, but the component announces fewer wires")),
    }
}

/// Returns the program for DUPLO, without names and types, and without components that have no slot.
///
/// DUPLO's own reader groups the inputs of a call by the calls that produce them. So it would change their
/// order if wires of one call surround wires of another.
///
/// # Errors
/// [`Error::Input`] if the program has more wires than the format's 32-bit numbers can name, or outputs for
/// nobody.
pub fn write(program: &Program) -> Result<String, Error> {
    let group = |to| program.outputs().iter().filter(move |o| o.to == to);
    program.refuse_kept_outputs()?;
    // The garbler learns a prefix of the output and the evaluator a suffix, so the bits for both are in the
    // middle.
    let outputs: Vec<&OutputPort> =
        group(Recipient::Garbler).chain(group(Recipient::Both)).chain(group(Recipient::Evaluator)).collect();
    let results: Vec<Wire> = outputs.iter().flat_map(|o| o.wires.iter().copied()).collect();
    let learns = |party| program.outputs_of(party).map(|o| o.wires.len()).sum::<usize>();
    let inputs = program.input_width(Party::Garbler) + program.input_width(Party::Evaluator);

    // Components are numbered in the order of their first calls.
    let mut order: Vec<ComponentId> = Vec::new();
    let mut number = vec![0; program.components().len()];
    for slot in program.slots() {
        let place = &mut number[slot.component.0 as usize];
        if *place == 0 {
            order.push(slot.component);
            *place = order.len();
        }
    }
    let direct = outputs_are_whole_slots(program, &results);
    let kinds = order.len() + usize::from(!direct);

    let mut text = String::new();
    let _ = writeln!(text, "{kinds} {}", program.slot_count() + usize::from(!direct));
    let (garbler, evaluator) = (program.input_width(Party::Garbler), program.input_width(Party::Evaluator));
    let _ = writeln!(
        text,
        "{garbler} {evaluator} {} {} {}\n",
        results.len(),
        learns(Party::Garbler),
        learns(Party::Evaluator)
    );
    for (k, id) in (1..).zip(&order) {
        write_component(&mut text, k, program.component(*id));
    }
    if !direct {
        write_identity(&mut text, kinds, results.len());
    }
    let _ = writeln!(text, "FN {}\n", kinds + 1);

    let mut global: Vec<u64> = (0..program.wires() as u64)
        .map(|w| if w < inputs as u64 { w } else { w + results.len() as u64 })
        .collect();
    if direct {
        for (place, wire) in results.iter().enumerate() {
            global[*wire as usize] = (inputs + place) as u64;
        }
    }
    if program.wires() + results.len() > u32::MAX as usize {
        return Err(Error::Input(format!("{} has too many wires for a .GC_duplo file", program.name())));
    }
    let list = |text: &mut String, wires: &mut dyn Iterator<Item = u64>| {
        for wire in wires {
            // DUPLO's own reader needs a blank after the last number, too.
            let _ = write!(text, "{wire} ");
        }
        text.push('\n');
    };
    for slot in program.slots() {
        let _ = writeln!(text, "FN {}", number[slot.component.0 as usize]);
        list(&mut text, &mut slot.inputs.iter().map(|&w| global[w as usize]));
        let width = program.component(slot.component).circuit.outputs().len();
        list(&mut text, &mut (slot.first_output as usize..).take(width).map(|w| global[w]));
        text.push('\n');
    }
    if !direct {
        let _ = writeln!(text, "FN {kinds}");
        list(&mut text, &mut results.iter().map(|&w| global[w as usize]));
        list(&mut text, &mut (inputs as u64..).take(results.len()));
        text.push('\n');
    }
    Ok(text)
}

/// Returns whether DUPLO's own reader can take the outputs directly from the calls: all outputs of each call,
/// in order, and the calls in order. Otherwise the outputs go through a component that copies its inputs.
fn outputs_are_whole_slots(program: &Program, results: &[Wire]) -> bool {
    let mut rest = results;
    for slot in program.slots() {
        let width = program.component(slot.component).circuit.outputs().len();
        if rest.first() == Some(&slot.first_output) {
            let Some((own, tail)) = rest.split_at_checked(width) else { return false };
            if own.iter().zip(slot.first_output..).any(|(w, expected)| *w != expected) {
                return false;
            }
            rest = tail;
        }
    }
    rest.is_empty()
}

fn write_component(text: &mut String, k: usize, component: &Component) {
    let circuit = &component.circuit;
    let (inputs, outputs) = (circuit.inputs(), circuit.outputs());
    let (one, zero) = (inputs + outputs.len(), inputs + outputs.len() + 1);
    // A gate drives its output wire directly; an input that is an output is copied, and so is an output that
    // occurs twice.
    let mut place = vec![None; circuit.wires()];
    let mut copies = Vec::new();
    for (i, &wire) in outputs.iter().enumerate() {
        match &mut place[wire as usize] {
            free @ None if wire as usize >= inputs => *free = Some(inputs + i),
            _ => copies.push((wire as usize, inputs + i)),
        }
    }
    let mut fresh = zero + 1;
    let number: Vec<usize> = (0..circuit.wires())
        .map(|w| match place[w] {
            _ if w < inputs => w,
            Some(output) => output,
            None => {
                fresh += 1;
                fresh - 1
            }
        })
        .collect();
    let lines = circuit.gate_count() + copies.len() + 2;
    let _ = writeln!(text, "FN {k} {inputs} {} {fresh} {} {lines} ", outputs.len(), circuit.and_gates());
    let _ = writeln!(text, "0 0 {one} 1001\n0 0 {zero} 0110");
    for (driven, gate) in number[inputs..].iter().zip(circuit.gates()) {
        let _ = match gate {
            Gate::Xor(a, b) => writeln!(text, "{} {} {driven} 0110", number[a as usize], number[b as usize]),
            Gate::And(a, b) => writeln!(text, "{} {} {driven} 1000", number[a as usize], number[b as usize]),
            Gate::Inv(a) => writeln!(text, "{} {one} {driven} 0110", number[a as usize]),
        };
    }
    for (wire, driven) in copies {
        let _ = writeln!(text, "{} {zero} {driven} 0110", number[wire]);
    }
    let _ = writeln!(text, "--end FN {k}-- \n");
}

fn write_identity(text: &mut String, k: usize, width: usize) {
    let (one, zero) = (2 * width, 2 * width + 1);
    let _ = writeln!(text, "FN {k} {width} {width} {} 0 {} ", zero + 1, width + 2);
    let _ = writeln!(text, "0 0 {one} 1001\n0 0 {zero} 0110");
    for i in 0..width {
        let _ = writeln!(text, "{i} {zero} {} 0110", width + i);
    }
    let _ = writeln!(text, "--end FN {k}-- \n");
}
