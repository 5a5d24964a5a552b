//! Merges components without AND gates into their neighbours.
//!
//! A component without AND gates needs no garbled tables, but its slots cost copies, cut-and-choose and
//! soldering like all others. If each slot of one kind is read by exactly one slot of another kind, and one
//! of the two kinds has no AND gates, the two kinds become one. The kind with AND gates keeps its name, and
//! either all or none of its slots are merged. A function that the user requested as a component is not
//! merged.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use brickwork_base::stop::looking;
use brickwork_circuit::Error;
use brickwork_circuit::{
    Circuit, Component, ComponentId, Gate, Party, Port, Program, ProgramBuilder, Slot, Type, Wire,
};

use super::kinds::copies;

/// The largest number of rounds. In each round a component can be merged with one other.
const MAX_ROUNDS: usize = 16;

/// Returns the program with as few components without AND gates as possible. Components in `keep` stay
/// unchanged.
///
/// # Errors
/// If the result is not a valid program, which would be a fault of this module.
pub fn merge(mut program: Program, keep: &HashSet<String>) -> Result<Program, Error> {
    for _ in 0..MAX_ROUNDS {
        let Some(pair) = Pair::best(&program, keep) else { break };
        program = pair.merge(&program)?;
    }
    Ok(program)
}

/// Returns the program with other names for its components.
///
/// # Errors
/// If two components get the same name.
pub fn rename(program: Program, names: &[String]) -> Result<Program, Error> {
    if program.components().iter().zip(names).all(|(c, name)| c.name == *name) {
        return Ok(program);
    }
    let mut out = like(&program)?;
    for (component, name) in program.components().iter().zip(names) {
        out.component(Component { name: name.clone(), ..component.clone() })?;
    }
    for slot in program.slots() {
        out.slot(slot.component, slot.inputs)?;
    }
    for output in program.outputs() {
        out.output(output.port.clone(), output.to, output.wires.clone())?;
    }
    out.finish()
}

/// Returns an empty program with the same name and inputs.
fn like(program: &Program) -> Result<ProgramBuilder, Error> {
    let [garbler, evaluator] =
        [Party::Garbler, Party::Evaluator].map(|party| program.input_ports(party).to_vec());
    ProgramBuilder::new(program.name(), garbler, evaluator)
}

/// Two pairs of slots with the same pattern can be merged into the same component.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Pattern {
    producer: ComponentId,
    reader: ComponentId,
    /// For each input of the reader, the producer's output that it reads, if it reads one.
    fed: Vec<Option<u32>>,
}

/// Two kinds that are merged.
struct Pair {
    pattern: Pattern,
    /// For each reading slot, the slot that it reads.
    slots: HashMap<usize, usize>,
}

/// The readers of a slot's results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    None,
    One(usize),
    Many,
}

const INPUT: u32 = u32::MAX;

impl Pair {
    /// Returns the pair of kinds whose merge saves most.
    fn best(program: &Program, keep: &HashSet<String>) -> Option<Pair> {
        let free = |id: ComponentId| program.component(id).circuit.and_gates() == 0;
        if program.slots().all(|slot| !free(slot.component)) {
            return None;
        }
        let counts = program.slots_by_component();
        let mut pairs: HashMap<Pattern, Vec<(usize, usize)>> = HashMap::new();
        for (slot, reader) in looking(only_readers(program)) {
            let (producer, reading) = (program.slot(slot), program.slot(reader));
            let [a, b] = [producer.component, reading.component];
            // A variant of a function has the function's name with a number.
            let name = |id: ComponentId| program.component(id).name.split('.').next().unwrap_or_default();
            let kept = [a, b].iter().any(|id| keep.contains(name(*id)));
            if a != b && (free(a) || free(b)) && !kept {
                let fed = reading.inputs.iter().map(|w| output_of(program, &producer, *w)).collect();
                pairs.entry(Pattern { producer: a, reader: b, fed }).or_default().push((reader, slot));
            }
        }
        // Returns the saving, if all slots of the kind with AND gates can be merged.
        let worth = |pattern: &Pattern, slots: &[(usize, usize)]| {
            let (a, b) = (pattern.producer, pattern.reader);
            let (whole, own) = if free(b) && !free(a) { (a, b) } else { (b, a) };
            if slots.len() != counts[whole.0 as usize] {
                return None;
            }
            let cost = |id: ComponentId, slots: usize| cost(&program.component(id).circuit, slots as u64);
            let (n, all) = (slots.len(), counts[own.0 as usize]);
            let inner = pattern.fed.iter().flatten().count() + program.component(a).circuit.outputs().len();
            let wires =
                [a, b].map(|id| wires(&program.component(id).circuit)).iter().sum::<u64>() - inner as u64;
            let ands = 2 * program.component(whole).circuit.and_gates() as u64;
            let merged = n as u64 * copies(n as u64) * (ands + wires);
            (cost(whole, n) + cost(own, all))
                .checked_sub(cost(own, all - n) + merged)
                .filter(|saved| *saved > 0)
        };
        let valued =
            pairs.into_iter().filter_map(|(pattern, slots)| Some((worth(&pattern, &slots)?, pattern, slots)));
        // If several pairs save the same, the first in the program is taken.
        let (_, pattern, slots) =
            valued.max_by_key(|(saved, _, slots)| (*saved, std::cmp::Reverse(slots[0])))?;
        Some(Pair { pattern, slots: slots.into_iter().collect() })
    }

    fn merge(&self, program: &Program) -> Result<Program, Error> {
        let Pattern { producer, reader, fed } = &self.pattern;
        let (a, b) = (program.component(*producer), program.component(*reader));
        let main = if b.circuit.and_gates() == 0 && a.circuit.and_gates() > 0 { *producer } else { *reader };
        let rest: Vec<usize> = (0..fed.len()).filter(|i| fed[*i].is_none()).collect();
        let merged = Component {
            name: program.component(main).name.clone(),
            inputs: ports(a, b, fed),
            outputs: b.outputs.clone(),
            circuit: Arc::new(join(&a.circuit, &b.circuit, fed)?),
        };
        let mut merged = Some(merged);

        let mut out = like(program)?;
        let gone: HashSet<usize> = self.slots.values().copied().collect();
        let mut ids: HashMap<ComponentId, ComponentId> = HashMap::new();
        let mut wires: Vec<Wire> = (0..out.wires()).collect();
        let mut inputs = Vec::new();
        for (number, slot) in program.slots().enumerate() {
            if gone.contains(&number) {
                // No other slot reads these wires.
                wires.extend(program.component(slot.component).circuit.outputs().iter().map(|_| Wire::MAX));
                continue;
            }
            inputs.clear();
            let mut kind = slot.component;
            if let Some(before) = self.slots.get(&number) {
                kind = main;
                inputs.extend(program.slot(*before).inputs.iter().map(|w| wires[*w as usize]));
                inputs.extend(rest.iter().map(|i| wires[slot.inputs[*i] as usize]));
            } else {
                inputs.extend(slot.inputs.iter().map(|w| wires[*w as usize]));
            }
            let id = match ids.get(&kind) {
                Some(id) => *id,
                None => {
                    let component = if kind == main { merged.take() } else { None };
                    let id = out.component(component.unwrap_or_else(|| program.component(kind).clone()))?;
                    ids.insert(kind, id);
                    id
                }
            };
            let first = out.slot(id, &inputs)?;
            wires.extend(first..out.wires());
        }
        for output in program.outputs() {
            out.output(
                output.port.clone(),
                output.to,
                output.wires.iter().map(|w| wires[*w as usize]).collect(),
            )?;
        }
        out.finish()
    }
}

/// Returns the slots whose results are read by exactly one other slot and by no output of the program, each
/// with that slot.
fn only_readers(program: &Program) -> impl Iterator<Item = (usize, usize)> {
    let mut producer =
        vec![INPUT; program.input_width(Party::Garbler) + program.input_width(Party::Evaluator)];
    for (number, slot) in program.slots().enumerate() {
        let outputs = program.component(slot.component).circuit.outputs().len();
        producer.extend(std::iter::repeat_n(number as u32, outputs));
    }
    let mut readers = vec![Readers::None; program.slot_count()];
    let mut read = |wire: Wire, by: Readers| {
        if producer[wire as usize] != INPUT {
            let readers = &mut readers[producer[wire as usize] as usize];
            *readers = if *readers == Readers::None || *readers == by { by } else { Readers::Many };
        }
    };
    for (number, slot) in program.slots().enumerate() {
        slot.inputs.iter().for_each(|w| read(*w, Readers::One(number)));
    }
    program.outputs().iter().flat_map(|o| &o.wires).for_each(|w| read(*w, Readers::Many));
    readers.into_iter().enumerate().filter_map(|(slot, readers)| match readers {
        Readers::One(reader) => Some((slot, reader)),
        _ => None,
    })
}

/// Returns the number of the slot's output on this wire.
fn output_of(program: &Program, slot: &Slot<'_>, wire: Wire) -> Option<u32> {
    let outputs = program.component(slot.component).circuit.outputs().len() as u32;
    wire.checked_sub(slot.first_output).filter(|output| *output < outputs)
}

fn wires(circuit: &Circuit) -> u64 {
    (circuit.inputs() + circuit.outputs().len()) as u64
}

fn cost(circuit: &Circuit, slots: u64) -> u64 {
    slots * copies(slots) * (2 * circuit.and_gates() as u64 + wires(circuit))
}

/// Returns the inputs of both components, without the inputs of the second that read the first. A port of
/// which only a part remains becomes a number.
fn ports(a: &Component, b: &Component, fed: &[Option<u32>]) -> Vec<Port> {
    let mut ports = a.inputs.clone();
    let mut rest = fed;
    for port in &b.inputs {
        let (own, others) = rest.split_at(port.width() as usize);
        rest = others;
        let ty = match own.iter().filter(|f| f.is_none()).count() {
            0 => continue,
            n if n == own.len() => port.ty.clone(),
            n => Type::Uint(n as u32),
        };
        let mut name = port.name.clone();
        while ports.iter().any(|p| p.name == name) {
            name.push('_');
        }
        ports.push(Port::new(name, ty));
    }
    ports
}

/// Returns one circuit that computes the first one, and then the second one on its outputs.
fn join(a: &Circuit, b: &Circuit, fed: &[Option<u32>]) -> Result<Circuit, Error> {
    let inputs = a.inputs() + fed.iter().filter(|f| f.is_none()).count();
    let place = |wire: Wire, own: &[Wire], gates: usize| match own.get(wire as usize) {
        Some(input) => *input,
        None => (inputs + gates + wire as usize - own.len()) as Wire,
    };
    let first: Vec<Wire> = (0..a.inputs() as Wire).collect();
    let mut next = a.inputs() as Wire..;
    let second: Vec<Wire> = fed
        .iter()
        .map(|fed| match fed {
            Some(output) => place(a.outputs()[*output as usize], &first, 0),
            None => next.next().unwrap_or(Wire::MAX),
        })
        .collect();
    let moved = |gate: Gate, own: &[Wire], gates: usize| match gate {
        Gate::Xor(x, y) => Gate::Xor(place(x, own, gates), place(y, own, gates)),
        Gate::And(x, y) => Gate::And(place(x, own, gates), place(y, own, gates)),
        Gate::Inv(x) => Gate::Inv(place(x, own, gates)),
    };
    let gates =
        a.gates().map(|g| moved(g, &first, 0)).chain(b.gates().map(|g| moved(g, &second, a.gate_count())));
    let outputs = b.outputs().iter().map(|w| place(*w, &second, a.gate_count())).collect();
    Circuit::new(inputs as u32, gates, outputs)
}
