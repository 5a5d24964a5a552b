//! Measures the cost of one additional input, output or gate: it compares a program with the same one with
//! more inputs or outputs, and with itself run twice as often. It also measures the disk space of stock.

use brickwork::ProtocolError as Error;
use brickwork::circuit::{Party, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork::compgc;
use brickwork::cut::{Cut, CutChoice};
use brickwork::engine::protocols::{self, cut_of_a_run};
use brickwork::engine::request::{Buckets, Parameters, Protocol, RunRequest, SECURITY};
use brickwork::engine::stocked::{Asked, Stocked, Wishes};
use brickwork::program::repeated;
use brickwork::session::Unobserved;
use brickwork_cli::parts::{Both, Failure, ProgramArguments, Requested, programs};
use serde_json::{Value, json};

use crate::protocol::Trial;
use crate::stock::{Folders, Parties};

/// The number of additional bits: sixteen words of 64.
const MORE: u32 = 1024;

/// The kind of additional bits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum More {
    Inputs(Party),
    Outputs,
}

const ALL: [More; 3] = [More::Inputs(Party::Garbler), More::Inputs(Party::Evaluator), More::Outputs];

/// The name of each kind.
const NAMES: [&str; 3] = ["garbler_input", "evaluator_input", "output"];

/// Returns the same program with additional input bits of a party, which nothing reads, or with additional
/// output bits of the evaluator, which repeat existing ones.
fn grown(program: &Program, more: More) -> Result<Program, Error> {
    let port = || Port::new("more", Type::Array(Box::new(Type::Uint(64)), MORE / 64));
    let mut inputs = [Party::Garbler, Party::Evaluator].map(|party| program.input_ports(party).to_vec());
    let mut behind = u32::MAX;
    if let More::Inputs(party) = more {
        inputs[party as usize].push(port());
        let widths = [Party::Garbler, Party::Evaluator].map(|party| program.input_width(party) as u32);
        behind = widths[..=party as usize].iter().sum();
    }
    let moved = |wires: &[u32]| -> Vec<u32> {
        wires.iter().map(|&wire| if wire < behind { wire } else { wire + MORE }).collect()
    };
    let [garbler, evaluator] = inputs;
    let mut builder = ProgramBuilder::new(program.name(), garbler, evaluator)?;
    for component in program.components() {
        builder.component(component.clone())?;
    }
    for slot in program.slots() {
        builder.slot(slot.component, &moved(slot.inputs))?;
    }
    for output in program.outputs() {
        builder.output(output.port.clone(), output.to, moved(&output.wires))?;
    }
    if more == More::Outputs {
        let wires = program.outputs().iter().flat_map(|output| &output.wires).copied().cycle();
        builder.output(port(), Recipient::Evaluator, wires.take(MORE as usize).collect())?;
    }
    builder.finish()
}

/// A program, and its variants with additional bits of each kind.
pub struct Probes<'p> {
    program: &'p brickwork::Program,
    grown: Vec<brickwork::Program>,
}

/// Returns the bytes of a run, in both directions together.
fn bytes(reports: &[Value; 2]) -> f64 {
    let phases = reports[1]["phases"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |phase: &Value, field: &str| phase[field].as_f64().unwrap_or_default();
    phases.iter().map(|phase| of(phase, "garbler_sent_bytes") + of(phase, "evaluator_sent_bytes")).sum()
}

/// Returns the bucket sizes that a run reports, batch after batch.
fn buckets(reports: &[Value; 2]) -> Vec<u64> {
    let promise = &reports[1]["promise"];
    let batches = promise["batches"].as_array().into_iter().flatten();
    batches.chain([&promise["triples"]]).filter_map(|batch| batch["bucket_size"].as_u64()).collect()
}

impl<'p> Probes<'p> {
    /// Makes them.
    pub fn new(program: &'p brickwork::Program) -> Result<Self, Failure> {
        let grown = ALL.iter().map(|&more| Ok(grown(program.given(), more)?.into()));
        Ok(Probes { program, grown: grown.collect::<Result<_, Failure>>()? })
    }

    /// Runs all of them by one request. Returns the bytes of one additional bit of each kind, compared with
    /// the run of these reports. With `duplo` that run has the given cut and standard buckets, because the
    /// fastest parameters may change with the inputs. `other_buckets` lists the kinds
    /// for which the bucket sizes changed all the same.
    pub fn run(&self, request: &RunRequest, reports: &[Value; 2]) -> Result<Value, Failure> {
        let executions = request.parameters.executions;
        let play = |program: &brickwork::Program, request: &RunRequest| {
            let trial = Trial::draw(program.given(), request.parameters.executions)?;
            trial.run(&Both::of(program, request), true)
        };
        let (mut request, mut alone) = (request.clone(), (bytes(reports), buckets(reports)));
        if request.parameters.protocol == Protocol::Duplo {
            // Another cut would be another program, so the given one is compared.
            (request.cut, request.buckets) = (CutChoice::Fixed(Cut::Given), Buckets::Standard);
            let ran = play(self.program, &request)?;
            alone = (bytes(&ran), buckets(&ran));
        }
        let (alone, sizes) = alone;
        let n = f64::from(executions.unwrap_or(1));
        let (mut each, mut others) = (Vec::new(), Vec::new());
        for (grown, name) in self.grown.iter().zip(NAMES) {
            let ran = play(grown, &request)?;
            each.push((bytes(&ran) - alone) / (n * f64::from(MORE)));
            others.extend((buckets(&ran) != sizes).then_some(name));
        }
        request.parameters.executions = Some(2 * executions.unwrap_or(1));
        let ran = play(self.program, &request)?;
        others.extend((buckets(&ran) != sizes).then_some("and_gate"));
        let twice = bytes(&ran);
        let outputs = self.program.given().outputs().iter().filter(|output| output.to != Recipient::Nobody);
        let borders = [
            self.program.given().input_width(Party::Garbler),
            self.program.given().input_width(Party::Evaluator),
            outputs.map(|output| output.wires.len()).sum(),
        ];
        let of_borders: f64 = borders.iter().zip(&each).map(|(&count, each)| count as f64 * each).sum();
        let ands = self.program.and_gates();
        let and = ((twice - alone) / n - of_borders) / ands as f64;
        Ok(json!({
            "and_gate": if ands == 0 { Value::Null } else { json!(and) },
            "garbler_input": each[0],
            "evaluator_input": each[1],
            "output": each[2],
            "other_buckets": others,
        }))
    }
}

/// Makes stock for all executions of a program, if a run in this protocol can use a store. Returns the bytes
/// on disk of both parties.
pub fn stock(program: &ProgramArguments, way: &Parameters, threads: usize) -> Result<Value, Failure> {
    let keeps = match way.protocol {
        Protocol::CompGc => way.linking() == compgc::Linking::Standard,
        protocol => protocols::played(protocol).stocks().is_some(),
    };
    if !keeps {
        return Ok(Value::Null);
    }
    let count = way.executions.unwrap_or(1);
    // Figures of the stock that a run uses.
    let cut = match way.protocol {
        Protocol::Jimu => {
            let given = programs::circuit(&program.file, &program.map.parties())?;
            let whole = repeated(&given, Some(count))?;
            Some(cut_of_a_run(&whole, way.security.unwrap_or(SECURITY))?)
        }
        _ => None,
    };
    let requested = Requested { file: program.file.clone(), name: None, count };
    let requested = requested.load(&program.map.parties())?;
    let level = way.security.is_some();
    let wishes = Wishes { cut: cut.as_ref(), level, ..Wishes::new(way.protocol) };
    let asked = Asked::of(&[requested], &wishes)?;
    let folders = Folders::new()?;
    let parties = Parties::new(way.security.unwrap_or(SECURITY), threads)?;
    parties.connect(|party, channel| {
        let store = folders.open(party)?;
        let cot = way.cot();
        let line = Stocked::open(way.protocol, cot, party, channel, &store, &parties.terms, &|_| {
            Box::new(Unobserved)
        })?;
        Ok(line.make(&asked)?.1.close().map(drop)?)
    })?;
    let [garbler, evaluator] = folders.bytes()?;
    Ok(json!({ "garbler": garbler, "evaluator": evaluator }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork::circuit::library;

    /// A program with additional bits computes the same; new outputs repeat old ones.
    #[test]
    fn a_grown_program_computes_the_same() {
        let program = library::aes::aes_128().unwrap();
        let [x, y] = [Party::Garbler, Party::Evaluator]
            .map(|party| (0..program.input_width(party)).map(|k| k % 3 == 1).collect::<Vec<bool>>());
        let expected = program.output_bits(Party::Evaluator, &program.simulate(&x, &y));
        for more in ALL {
            let grown = grown(&program, more).unwrap();
            let longer = |party: Party, bits: &[bool]| {
                let mut bits = bits.to_vec();
                bits.resize(grown.input_width(party), true);
                bits
            };
            let inputs = [longer(Party::Garbler, &x), longer(Party::Evaluator, &y)];
            let outputs = grown.output_bits(Party::Evaluator, &grown.simulate(&inputs[0], &inputs[1]));
            assert_eq!(outputs[..expected.len()], expected);
            let added = (outputs.len() - expected.len()) + inputs.concat().len() - x.len() - y.len();
            assert_eq!(added, MORE as usize);
            assert!(outputs.iter().zip(expected.iter().cycle()).all(|(new, old)| new == old));
        }
    }
}
