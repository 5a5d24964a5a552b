//! Functions of CompGC: JSON that lists components and chains their wires.
//!
//! ```json
//! {
//!   "metadata": { "type": "pair", "num_garb_inputs": 2, "num_eval_inputs": 2 },
//!   "components": [ { "type": "adder", "num": 2, "circuit_ids": [1, 2] } ],
//!   "input_mapping": [
//!     { "inputter": "garbler", "start_input_idx": 0, "end_input_idx": 1,
//!       "gc_id": 1, "start_wire_idx": 0, "end_wire_idx": 1 },
//!     { "inputter": "evaluator", "start_input_idx": 0, "end_input_idx": 1,
//!       "gc_id": 2, "start_wire_idx": 0, "end_wire_idx": 1 }
//!   ],
//!   "instructions": [
//!     { "type": "EVAL", "gc_id": 1 },
//!     { "type": "CHAIN", "from_gc_id": 1, "from_wire_id_start": 0, "from_wire_id_end": 1,
//!       "to_gc_id": 2, "to_wire_id_start": 2, "to_wire_id_end": 3 },
//!     { "type": "EVAL", "gc_id": 2 }
//!   ],
//!   "output": [ { "gc_id": 2, "start_wire_idx": 0, "end_wire_idx": 1 } ]
//! }
//! ```
//!
//! A range includes both of its ends. A copy of a component has an id from 1 on; id 0 is the input, first the
//! garbler's bits, then the evaluator's. The file does not contain the components: `type` is the name of each
//! one, and the reader of a function must provide it. An output goes to the evaluator, unless `to` is
//! `garbler` or `both`.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::lines::{FREE_WIRES, unmarked};
use crate::{Component, ComponentId, Port, Program, ProgramBuilder, Recipient, Type, Wire};
use brickwork_base::{Error, Party};

/// Most copies of components, and most entries of each list.
const MAX_ENTRIES: usize = 1 << 24;

#[derive(Serialize, Deserialize)]
struct Function {
    metadata: Metadata,
    components: Vec<Copies>,
    input_mapping: Vec<Mapping>,
    instructions: Vec<Instruction>,
    output: Vec<Output>,
}

#[derive(Serialize, Deserialize)]
struct Metadata {
    #[serde(rename = "type", default)]
    name: Option<String>,
    num_garb_inputs: u32,
    num_eval_inputs: u32,
}

#[derive(Serialize, Deserialize)]
struct Copies {
    #[serde(rename = "type")]
    name: String,
    num: usize,
    circuit_ids: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
struct Mapping {
    inputter: Inputter,
    start_input_idx: u32,
    end_input_idx: u32,
    gc_id: u32,
    start_wire_idx: u32,
    end_wire_idx: u32,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Inputter {
    Garbler,
    Evaluator,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type")]
enum Instruction {
    #[serde(rename = "EVAL")]
    Eval { gc_id: u32 },
    #[serde(rename = "CHAIN")]
    Chain {
        from_gc_id: u32,
        from_wire_id_start: u32,
        from_wire_id_end: u32,
        to_gc_id: u32,
        to_wire_id_start: u32,
        to_wire_id_end: u32,
    },
}

#[derive(Serialize, Deserialize)]
struct Output {
    gc_id: u32,
    start_wire_idx: u32,
    end_wire_idx: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<To>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum To {
    Garbler,
    Evaluator,
    Both,
}

/// Reads a function; `component` is called once for each name of a component.
///
/// # Errors
/// [`Error::Input`] that names the wrong entry, such as a range outside its component, an input wire that is
/// set twice or not at all, or a chain from a component that is not evaluated. Also errors of `component`.
pub fn read(bytes: &[u8], component: impl FnMut(&str) -> Result<Component, Error>) -> Result<Program, Error> {
    let function: Function = serde_json::from_slice(unmarked(bytes)).map_err(|e| {
        // The parser's own message could repeat a part of a file, and the user may have named a secret file
        // by mistake.
        let (line, column) = (e.line(), e.column());
        Error::Input(format!("the JSON is not a function of CompGC (line {line}, column {column})"))
    })?;
    let lists = [function.input_mapping.len(), function.instructions.len(), function.output.len()];
    if lists.into_iter().any(|entries| entries > MAX_ENTRIES) {
        return Err(Error::Limit(format!(
            "a list in a function of CompGC may have at most {MAX_ENTRIES} entries"
        )));
    }
    let Metadata { num_garb_inputs: garblers, num_eval_inputs: evaluators, .. } = function.metadata;
    // A small file must not reserve much memory by many inputs, or by many outputs of the same wires.
    let mut room = FREE_WIRES + bytes.len() as u64;
    let mut reserve = |wires: u64| {
        room = room.checked_sub(wires).ok_or_else(|| {
            Error::Limit(format!(
                "a function of CompGC may have at most {FREE_WIRES} wires of inputs and outputs"
            ))
        })?;
        Ok::<_, Error>(())
    };
    reserve(u64::from(garblers) + u64::from(evaluators))?;
    let mut reader = Reader::new(&function, component)?;
    for (k, mapping) in function.input_mapping.iter().enumerate() {
        let (shift, width) = match mapping.inputter {
            Inputter::Garbler => (0, garblers),
            Inputter::Evaluator => (garblers, evaluators),
        };
        let what = || format!("input_mapping {k}");
        let from = range([mapping.start_input_idx, mapping.end_input_idx], width, &what)?;
        let to = [mapping.start_wire_idx, mapping.end_wire_idx];
        reader.set(from.start + shift..from.end + shift, mapping.gc_id, to, &what)?;
    }
    for (k, instruction) in function.instructions.iter().enumerate() {
        let what = || format!("instruction {k}");
        match *instruction {
            Instruction::Eval { gc_id } => reader.evaluate(gc_id, &what)?,
            Instruction::Chain {
                from_gc_id,
                from_wire_id_start,
                from_wire_id_end,
                to_gc_id,
                to_wire_id_start,
                to_wire_id_end,
            } => {
                let from = reader.wires(from_gc_id, [from_wire_id_start, from_wire_id_end], &what)?;
                reader.set(from, to_gc_id, [to_wire_id_start, to_wire_id_end], &what)?;
            }
        }
    }
    for (k, output) in function.output.iter().enumerate() {
        let ends = [output.start_wire_idx, output.end_wire_idx];
        let wires = reader.wires(output.gc_id, ends, &|| format!("output {k}"))?;
        reserve(wires.len() as u64)?;
        let to = match output.to.unwrap_or(To::Evaluator) {
            To::Garbler => Recipient::Garbler,
            To::Evaluator => Recipient::Evaluator,
            To::Both => Recipient::Both,
        };
        let port = Port::new(format!("out{k}"), Type::Uint(wires.len() as u32));
        reader.program.output(port, to, wires.collect())?;
    }
    reader.program.finish()
}

fn wrong(what: &dyn Fn() -> String, why: &str) -> Error {
    Error::Input(format!("{}: {why}", what()))
}

/// Returns a range, both ends included, of so many wires.
fn range([start, end]: [u32; 2], wires: u32, what: &dyn Fn() -> String) -> Result<Range<u32>, Error> {
    if start > end || end >= wires {
        return Err(wrong(what, &format!("{start} to {end} is not a range within {wires} wires")));
    }
    Ok(start..end + 1)
}

/// A copy of a component.
struct Copy {
    component: ComponentId,
    /// The wire that each input reads, once it is set.
    inputs: Vec<Option<Wire>>,
    outputs: u32,
    /// The wire of the copy's first output, once the copy is evaluated.
    first: Option<Wire>,
}

struct Reader {
    program: ProgramBuilder,
    /// The number of input wires of both parties.
    inputs: u32,
    copies: HashMap<u32, Copy>,
}

impl Reader {
    fn new(
        function: &Function,
        mut component: impl FnMut(&str) -> Result<Component, Error>,
    ) -> Result<Self, Error> {
        let Metadata { name, num_garb_inputs, num_eval_inputs } = &function.metadata;
        let port = |name: &str, width: u32| match width {
            0 => Vec::new(),
            width => vec![Port::new(name, Type::Uint(width))],
        };
        let name = name.as_deref().filter(|name| !name.is_empty()).unwrap_or("function");
        let [x, y] = [port("x", *num_garb_inputs), port("y", *num_eval_inputs)];
        let program = ProgramBuilder::new(name, x, y)?;
        let mut reader = Reader { inputs: program.wires(), program, copies: HashMap::new() };
        let all = function.components.iter().map(|copies| copies.circuit_ids.len()).sum::<usize>();
        let mut room = MAX_ENTRIES;
        for (k, Copies { name, num, circuit_ids }) in function.components.iter().enumerate() {
            let what = || format!("components {k}");
            if *num != circuit_ids.len() {
                return Err(wrong(
                    &what,
                    &format!("num is {num}, but the list has {} ids", circuit_ids.len()),
                ));
            }
            let made = component(name)?;
            let made = Component { name: name.clone(), ..made };
            let [inputs, outputs] = [made.circuit.inputs(), made.circuit.outputs().len()];
            let id = reader.program.component(made)?;
            for &copy in circuit_ids {
                if copy == 0 || copy as usize > all {
                    return Err(wrong(&what, &format!("id {copy} is not between 1 and {all}")));
                }
                // A small file must not reserve much memory.
                room = room.checked_sub(inputs).ok_or_else(|| {
                    Error::Limit(format!(
                        "the copies in a function of CompGC may have at most {MAX_ENTRIES} \
                         inputs in all"
                    ))
                })?;
                let new =
                    Copy { component: id, inputs: vec![None; inputs], outputs: outputs as u32, first: None };
                if reader.copies.insert(copy, new).is_some() {
                    return Err(wrong(&what, &format!("id {copy} is in the list twice")));
                }
            }
        }
        Ok(reader)
    }

    fn copy(&mut self, id: u32, what: &dyn Fn() -> String) -> Result<&mut Copy, Error> {
        self.copies.get_mut(&id).ok_or_else(|| wrong(what, &format!("there is no component {id}")))
    }

    /// Returns the wires of a range of a copy's outputs, or of the input.
    fn wires(&mut self, id: u32, ends: [u32; 2], what: &dyn Fn() -> String) -> Result<Range<Wire>, Error> {
        if id == 0 {
            return range(ends, self.inputs, what);
        }
        let copy = self.copy(id, what)?;
        let wires = range(ends, copy.outputs, what)?;
        let first = copy.first.ok_or_else(|| {
            wrong(
                what,
                &format!(
                    "the function reads component {id} before \
             its instruction EVAL"
                ),
            )
        })?;
        Ok(first + wires.start..first + wires.end)
    }

    /// Sets a range of a copy's inputs.
    fn set(
        &mut self,
        from: Range<Wire>,
        id: u32,
        ends: [u32; 2],
        what: &dyn Fn() -> String,
    ) -> Result<(), Error> {
        let copy = self.copy(id, what)?;
        if copy.first.is_some() {
            return Err(wrong(what, &format!("component {id} is evaluated already")));
        }
        let to = range(ends, copy.inputs.len() as u32, what)?;
        if from.len() != to.len() {
            return Err(wrong(
                what,
                &format!(
                    "the function connects {} wires to {} wires; both numbers must \
                 be equal",
                    from.len(),
                    to.len()
                ),
            ));
        }
        for (wire, input) in from.zip(to) {
            if copy.inputs[input as usize].replace(wire).is_some() {
                return Err(wrong(what, &format!("input {input} of component {id} is set twice")));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, id: u32, what: &dyn Fn() -> String) -> Result<(), Error> {
        let copy = self.copy(id, what)?;
        let (component, inputs) = (copy.component, std::mem::take(&mut copy.inputs));
        if copy.first.is_some() {
            return Err(wrong(what, &format!("component {id} is evaluated already")));
        }
        let unset = inputs.iter().position(Option::is_none);
        let inputs: Option<Vec<Wire>> = inputs.into_iter().collect();
        let inputs = inputs.ok_or_else(|| {
            wrong(what, &format!("input {} of component {id} is not set", unset.unwrap_or_default()))
        })?;
        let first = self.program.slot(component, &inputs)?;
        self.copy(id, what)?.first = Some(first);
        Ok(())
    }
}

/// Writes a program as a function: its slots become copies 1, 2, …, named after their components, whose
/// circuits are not written. Ports are lost; the numbers of each party's input bits and the parties that
/// learn each wire are kept.
///
/// # Errors
/// [`Error::Input`] if the function has no JSON form.
pub fn write(program: &Program) -> Result<Vec<u8>, Error> {
    let [garblers, evaluators] =
        [Party::Garbler, Party::Evaluator].map(|party| program.input_width(party) as u32);
    let mut components: Vec<Copies> = program
        .components()
        .iter()
        .map(|component| Copies { name: component.name.clone(), num: 0, circuit_ids: Vec::new() })
        .collect();
    // The first output wire of each slot.
    let firsts: Vec<Wire> = program.slots().map(|slot| slot.first_output).collect();
    let source = |wire: Wire| match firsts.partition_point(|&first| first <= wire) {
        0 => (0, wire),
        id => (id as u32, wire - firsts[id - 1]),
    };
    let (mut input_mapping, mut instructions) = (Vec::new(), Vec::new());
    for (id, slot) in (1..).zip(program.slots()) {
        let copies = &mut components[slot.component.0 as usize];
        copies.num += 1;
        copies.circuit_ids.push(id);
        let mut input = 0;
        for (from, first, last) in runs(slot.inputs, |wire| {
            let (from, index) = source(wire);
            // The inputs of the garbler and of the evaluator are separate ranges.
            (from, u32::from(from == 0 && wire >= garblers), index)
        }) {
            let end = input + (last - first);
            match from {
                (0, party) => {
                    let shift = if party == 0 { 0 } else { garblers };
                    input_mapping.push(Mapping {
                        inputter: if party == 0 { Inputter::Garbler } else { Inputter::Evaluator },
                        start_input_idx: first - shift,
                        end_input_idx: last - shift,
                        gc_id: id,
                        start_wire_idx: input,
                        end_wire_idx: end,
                    });
                }
                (from, _) => instructions.push(Instruction::Chain {
                    from_gc_id: from,
                    from_wire_id_start: first,
                    from_wire_id_end: last,
                    to_gc_id: id,
                    to_wire_id_start: input,
                    to_wire_id_end: end,
                }),
            }
            input = end + 1;
        }
        instructions.push(Instruction::Eval { gc_id: id });
    }
    let mut output = Vec::new();
    for port in program.outputs() {
        let to = match port.to {
            Recipient::Garbler => Some(To::Garbler),
            Recipient::Evaluator => None,
            Recipient::Both => Some(To::Both),
            Recipient::Nobody => {
                let name = &port.port.name;
                return Err(Error::Input(format!(
                    "output {name} goes to neither party, but a function of CompGC needs a recipient for \
                     each output"
                )));
            }
        };
        for ((gc_id, _), first, last) in runs(&port.wires, |wire| (source(wire).0, 0, source(wire).1)) {
            output.push(Output { gc_id, start_wire_idx: first, end_wire_idx: last, to });
        }
    }
    let function = Function {
        metadata: Metadata {
            name: Some(program.name().into()),
            num_garb_inputs: garblers,
            num_eval_inputs: evaluators,
        },
        components,
        input_mapping,
        instructions,
        output,
    };
    serde_json::to_vec_pretty(&function).map_err(|e| {
        Error::Input(format!(
            "this program cannot be written \
         as a function of CompGC: {e}"
        ))
    })
}

/// Returns ranges of consecutive wires: for each range its source, and its first and last wire.
fn runs(wires: &[Wire], source: impl Fn(Wire) -> (u32, u32, u32)) -> Vec<((u32, u32), u32, u32)> {
    let mut runs: Vec<((u32, u32), u32, u32)> = Vec::new();
    for &wire in wires {
        let (id, party, index) = source(wire);
        match runs.last_mut() {
            Some((from, _, last)) if *from == (id, party) && *last + 1 == index => *last = index,
            _ => runs.push(((id, party), index, index)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::compgc::{aes, cbc, levenshtein};
    use brickwork_base::random::Rng;
    use brickwork_testing::Replayable as _;
    use serde_json::{Value, json};

    fn of(program: &Program) -> impl FnMut(&str) -> Result<Component, Error> + '_ {
        |name| {
            let found = program.components().iter().find(|component| component.name == name);
            found.cloned().ok_or_else(|| Error::Input(format!("no component {name}")))
        }
    }

    #[test]
    fn programs_come_back() {
        let mut rng = Rng::replayable("test");
        for program in [aes().unwrap(), cbc(2).unwrap(), levenshtein([4, 5], 3).unwrap()] {
            let written = write(&program).unwrap();
            assert_eq!(super::super::kind(&written), Some(super::super::FileKind::CompGc));
            let read = read(&written, of(&program)).unwrap();
            assert_eq!(read.slot_count(), program.slot_count());
            let mut bits =
                |party| -> Vec<bool> { (0..program.input_width(party)).map(|_| rng.below(2) == 1).collect() };
            let (x, y) = (bits(Party::Garbler), bits(Party::Evaluator));
            assert_eq!(read.simulate(&x, &y).concat(), program.simulate(&x, &y).concat());
            assert_eq!(write(&read).unwrap(), written);
        }
    }

    /// The example in the module's documentation; its components are the XORs of two words of two bits.
    fn example() -> Value {
        json!({
            "metadata": { "type": "pair", "num_garb_inputs": 2, "num_eval_inputs": 4, "anything": [] },
            "components": [{ "type": "xor", "num": 2, "circuit_ids": [1, 2] }],
            "input_mapping": [
                { "inputter": "garbler", "start_input_idx": 0, "end_input_idx": 1,
                  "gc_id": 1, "start_wire_idx": 0, "end_wire_idx": 1 },
                { "inputter": "evaluator", "start_input_idx": 0, "end_input_idx": 1,
                  "gc_id": 1, "start_wire_idx": 2, "end_wire_idx": 3 },
                { "inputter": "evaluator", "start_input_idx": 2, "end_input_idx": 3,
                  "gc_id": 2, "start_wire_idx": 2, "end_wire_idx": 3 }
            ],
            "instructions": [
                { "type": "EVAL", "gc_id": 1 },
                { "type": "CHAIN", "from_gc_id": 1, "from_wire_id_start": 0, "from_wire_id_end": 1,
                  "to_gc_id": 2, "to_wire_id_start": 0, "to_wire_id_end": 1 },
                { "type": "EVAL", "gc_id": 2 }
            ],
            "output": [{ "gc_id": 2, "start_wire_idx": 0, "end_wire_idx": 1 }]
        })
    }

    fn parse(value: &Value) -> Result<Program, Error> {
        read(&serde_json::to_vec(value).unwrap(), |name| match name {
            "xor" => crate::library::component(
                "xor",
                vec![Port::new("x", Type::Uint(2)), Port::new("y", Type::Uint(2))],
                vec![Port::new("sum", Type::Uint(2))],
                |b, w| vec![crate::library::xor(b, w[0], w[1])],
            ),
            other => Err(Error::Input(format!("no component {other}"))),
        })
    }

    #[test]
    fn every_bound_is_checked() {
        let good = parse(&example()).unwrap();
        let bits = |n: u8, count: u32| (0..count).map(|i| n >> i & 1 == 1).collect::<Vec<bool>>();
        assert_eq!(good.simulate(&bits(0b01, 2), &bits(0b1011, 4)).concat(), bits(0b01 ^ 0b11 ^ 0b10, 2));
        assert!(good.outputs()[0].to == Recipient::Evaluator);
        // A chain may start at the input.
        let mut chained = example();
        chained["input_mapping"].as_array_mut().unwrap().pop();
        let chain = json!({ "type": "CHAIN", "from_gc_id": 0, "from_wire_id_start": 4, "from_wire_id_end": 5,
                            "to_gc_id": 2, "to_wire_id_start": 2, "to_wire_id_end": 3 });
        chained["instructions"].as_array_mut().unwrap().insert(0, chain);
        assert_eq!(
            parse(&chained).unwrap().simulate(&bits(1, 2), &bits(7, 4)),
            good.simulate(&bits(1, 2), &bits(7, 4))
        );
        let words = |path: &str, value: Value| {
            let mut bad = example();
            *bad.pointer_mut(path).unwrap() = value;
            parse(&bad).expect_err(path).to_string()
        };
        for (path, value, why) in [
            ("/components/0/num", json!(3), "num is 3"),
            ("/components/0/circuit_ids/1", json!(1), "twice"),
            ("/components/0/circuit_ids/1", json!(0), "not between 1 and 2"),
            ("/components/0/circuit_ids/1", json!(3), "not between 1 and 2"),
            ("/components/0/type", json!("and"), "no component and"),
            ("/input_mapping/0/end_input_idx", json!(2), "not a range within 2 wires"),
            ("/input_mapping/0/start_input_idx", json!(2), "not a range"),
            ("/input_mapping/0/end_wire_idx", json!(4), "not a range within 4 wires"),
            ("/input_mapping/0/end_wire_idx", json!(u32::MAX), "not a range within 4 wires"),
            ("/input_mapping/0/end_wire_idx", json!(0), "connects 2 wires to 1 wires"),
            ("/input_mapping/0/gc_id", json!(3), "no component 3"),
            ("/input_mapping/0/gc_id", json!(0), "no component 0"),
            ("/input_mapping/1/start_wire_idx", json!(1), "both numbers must be equal"),
            ("/input_mapping/2/gc_id", json!(1), "set twice"),
            ("/input_mapping/0/inputter", json!("nobody"), "not a function"),
            ("/instructions/0/gc_id", json!(2), "not set"),
            ("/instructions/0/type", json!("SKIP"), "not a function"),
            ("/instructions/1/from_gc_id", json!(2), "before its instruction EVAL"),
            ("/instructions/1/to_gc_id", json!(1), "evaluated already"),
            ("/instructions/1/from_wire_id_end", json!(2), "not a range within 2 wires"),
            ("/instructions/1/from_wire_id_start", json!(-1), "not a function"),
            ("/instructions/2/gc_id", json!(1), "evaluated already"),
            ("/output/0/end_wire_idx", json!(2), "not a range within 2 wires"),
            ("/output/0/gc_id", json!(7), "no component 7"),
            ("/output", json!([]), "output"),
            ("/metadata/num_garb_inputs", json!(u32::MAX), "wires"),
        ] {
            let said = words(path, value);
            assert!(said.contains(why), "{path}: {said}");
        }
        // A small file must not ask for much memory by its inputs, or by outputs of the same wires again and
        // again.
        assert!(words("/metadata/num_eval_inputs", json!(1 << 25)).contains("wires of inputs and outputs"));
        let mut many = example();
        many["metadata"]["num_garb_inputs"] = json!(1 << 22);
        let output = json!({ "gc_id": 0, "start_wire_idx": 0, "end_wire_idx": (1 << 22) - 1 });
        many["output"] = json!(vec![output; 4]);
        let said = parse(&many).expect_err("too many outputs").to_string();
        assert!(said.contains("wires of inputs and outputs"), "{said}");
        // Any part of the file that begins at its start but is incomplete is refused.
        let whole = serde_json::to_vec(&example()).unwrap();
        assert!((0..whole.len()).all(|end| read(&whole[..end], |_| Err(Error::Input("no".into()))).is_err()));
    }

    /// If any field is missing or has a wrong type, the file is refused. The function's name may be missing,
    /// and unknown fields are ignored.
    #[test]
    fn every_field_is_needed_and_typed() {
        let example = example();
        let mut paths = Vec::new();
        walk(&example, String::new(), &mut paths);
        let mut tried = 0;
        paths.retain(|path| !path.contains("anything") && path != "/metadata/type");
        for path in &paths {
            let others =
                [json!(null), json!(true), json!(-1), json!(0.5), json!(u64::MAX), json!({}), json!([{}])];
            for other in others {
                let mut bad = example.clone();
                *bad.pointer_mut(path).unwrap() = other.clone();
                let said = parse(&bad).expect_err(path).to_string();
                assert!(!said.is_empty(), "{path} as {other}");
                tried += 1;
            }
            let (parent, key) = path.rsplit_once('/').unwrap();
            let mut bad = example.clone();
            if let Some(fields) = bad.pointer_mut(parent).unwrap().as_object_mut() {
                fields.remove(key).unwrap();
                assert!(parse(&bad).is_err(), "without {path}");
            }
        }
        assert!(tried > 200, "{tried} damages were tried");
        let mut more = example.clone();
        more["comment"] = json!("nobody's");
        more["instructions"][1]["comment"] = json!(7);
        assert!(parse(&more).is_ok());
    }

    /// Appends the pointers of all fields and elements below a value.
    fn walk(value: &Value, path: String, paths: &mut Vec<String>) {
        let below: Vec<(String, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
            Value::Array(all) => all.iter().enumerate().map(|(k, value)| (k.to_string(), value)).collect(),
            _ => return,
        };
        for (key, value) in below {
            let path = format!("{path}/{key}");
            paths.push(path.clone());
            walk(value, path, paths);
        }
    }

    /// A flipped bit causes an error or gives another valid function, which can be written and read again.
    #[test]
    fn flipped_bits_do_no_harm() {
        let whole = serde_json::to_vec(&example()).unwrap();
        for bit in 0..8 * whole.len() {
            let mut bad = whole.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            if let Ok(value) = serde_json::from_slice::<Value>(&bad)
                && let Ok(program) = parse(&value)
            {
                let written = write(&program).unwrap();
                assert_eq!(write(&read(&written, of(&program)).unwrap()).unwrap(), written, "bit {bit}");
            }
        }
    }
}
