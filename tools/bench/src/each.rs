//! Measures the cost of one additional input, output or gate. It compares a program with the same program
//! with more inputs or outputs, or with itself run twice as often. It also measures the disk space of stock.

use brickwork::circuit::{Party, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork::cut::{Cut, CutChoice};
use brickwork::engine::Observe;
use brickwork::engine::both::Both;
use brickwork::engine::protocols;
use brickwork::engine::request::{BucketChoice, Protocol, RunRequest};
use brickwork::engine::stocked::{Requested, StockOptions, StockRequest, Stocked, UngreetedConnection};
use brickwork::protocol::Unobserved;
use brickwork::{ProtocolError as Error, Report};
use brickwork_cli::parts::Failure;
use serde::Serialize;

use crate::runs::{OfBoth, Trial};
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

/// The bytes of one additional bit or gate, in both directions together.
#[derive(Serialize)]
pub struct AdditionalBytes {
    /// `None` for a program that has only XOR gates.
    pub and_gate: Option<f64>,
    pub garbler_input: f64,
    pub evaluator_input: f64,
    pub output: f64,
    /// The fields whose larger run has buckets of other sizes.
    pub other_buckets: Vec<&'static str>,
}

/// Returns the bytes of a run in both directions together, and the sizes of its buckets, batch after batch.
fn cost(said: &Report) -> (f64, Vec<u64>) {
    let bytes = said.phases.iter().map(|phase| phase.garbler_sent_bytes + phase.evaluator_sent_bytes);
    let batches = said.promise.batches.iter().map(|batch| batch.bucket_size);
    let triples = said.promise.triples.iter().map(|triples| triples.bucket_size);
    (bytes.sum::<u64>() as f64, batches.chain(triples).collect())
}

impl<'p> Probes<'p> {
    /// Makes them.
    pub fn new(program: &'p brickwork::Program) -> Result<Self, Failure> {
        let grown = ALL.iter().map(|&more| Ok(grown(program.given(), more)?.into()));
        Ok(Probes { program, grown: grown.collect::<Result<_, Failure>>()? })
    }

    /// Runs the program and its variants with the same request. Returns the bytes of one additional bit of
    /// each kind, compared with the run of this report. With `duplo` that run has the given cut and standard
    /// buckets, because the fastest parameters may change with the inputs.
    pub fn run(&self, request: &RunRequest, said: &Report) -> Result<AdditionalBytes, Failure> {
        let executions = request.parameters.executions;
        let play = |program: &brickwork::Program, request: &RunRequest| -> Result<_, Failure> {
            let trial = Trial::draw(program.given(), request.parameters.executions)?;
            Ok(cost(&trial.run(&Both::of(program, request), true)?[1]))
        };
        let (mut request, mut alone) = (request.clone(), cost(said));
        if request.parameters.protocol == Protocol::DUPLO {
            // With another cut, the program would be another one, so the given cut is compared.
            (request.cut, request.buckets) = (CutChoice::Fixed(Cut::Given), BucketChoice::Standard);
            alone = play(self.program, &request)?;
        }
        let (alone, sizes) = alone;
        let n = f64::from(executions.unwrap_or(1));
        let (mut each, mut other_buckets) = (Vec::new(), Vec::new());
        for (grown, name) in self.grown.iter().zip(NAMES) {
            let (bytes, others) = play(grown, &request)?;
            each.push((bytes - alone) / (n * f64::from(MORE)));
            other_buckets.extend((others != sizes).then_some(name));
        }
        request.parameters.executions = Some(2 * executions.unwrap_or(1));
        let (twice, others) = play(self.program, &request)?;
        other_buckets.extend((others != sizes).then_some("and_gate"));
        let given = self.program.given();
        let outputs = given.outputs().iter().filter(|output| output.to != Recipient::Nobody);
        let borders = [
            given.input_width(Party::Garbler),
            given.input_width(Party::Evaluator),
            outputs.map(|output| output.wires.len()).sum(),
        ];
        let of_borders: f64 = borders.iter().zip(&each).map(|(&count, each)| count as f64 * each).sum();
        let ands = self.program.and_gates();
        let and = ((twice - alone) / n - of_borders) / ands as f64;
        Ok(AdditionalBytes {
            and_gate: (ands > 0).then_some(and),
            garbler_input: each[0],
            evaluator_input: each[1],
            output: each[2],
            other_buckets,
        })
    }
}

/// Makes stock for all executions of a program, if a run by this request can use a store. Returns the bytes
/// on disk of both parties.
pub fn stock(
    program: &brickwork::Program,
    request: &RunRequest,
    said: &Report,
    threads: usize,
) -> Result<Option<OfBoth<u64>>, Failure> {
    let way = &request.parameters;
    let from_store = RunRequest { stored: true, ..request.clone() };
    if protocols::played(way.protocol).stocks().is_none() || protocols::allows(&from_store).is_err() {
        return Ok(None);
    }
    let requested = Requested {
        file: program.name().into(),
        program: program.given().clone(),
        name: None,
        count: way.executions.unwrap_or(1),
    };
    // The stock that the run would use: with the run's cut, if its protocol has a choice.
    let mut wishes = StockOptions {
        cut: Some(said.cut.clone()),
        security: way.security,
        ..StockOptions::new(way.protocol)
    };
    if wishes.check().is_err() {
        wishes.cut = None;
    }
    let asked = StockRequest::of(&[requested], &wishes)?;
    let folders = Folders::new()?;
    let parties = Parties::new(way.security(), threads)?;
    parties.connect(|party, channel| {
        let (store, terms) = (folders.open(party)?, &parties.terms);
        let (cot, watch): (_, &Observe) = (way.cot(), &|_| Box::new(Unobserved));
        let opening = UngreetedConnection { party, channel, store: &store, terms, cot, watch };
        let line = Stocked::open(way.protocol, opening)?;
        Ok(line.make(&asked)?.1.close().map(drop)?)
    })?;
    Ok(Some(folders.bytes()?))
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
