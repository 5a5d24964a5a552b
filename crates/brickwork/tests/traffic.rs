//! The bytes of every phase, computed on paper (docs/formats.md), against what a run sends.

use std::sync::Arc;

use brickwork::circuit::library::aes;
use brickwork::circuit::{Builder, Component, Party, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork::commit::code::Code;
use brickwork::cut_and_choose::Cut;
use brickwork::duplo::{self, Parameters};
use brickwork::random::Rng;
use brickwork::session::{Job, PhaseReport, Unobserved};
use brickwork::wire::memory_pair;

/// A message of so many bytes: a header of 5 bytes for each begun MiB, at least one.
fn message(bytes: u64) -> u64 {
    bytes + 5 * bytes.div_ceil(1 << 20).max(1)
}

/// Commitments in one message of corrections.
const COMMITMENTS: u64 = 256 * 128;

/// The formulas for one level of security.
#[derive(Clone, Copy)]
struct Formulas {
    /// n: coordinates of the code.
    n: u64,
}

impl Formulas {
    /// Corrections of so many coordinates for so many commitments: 16 bytes a coordinate for each begun 128 of them.
    fn corrections(coordinates: u64, count: u64) -> u64 {
        let full = message(16 * coordinates * (COMMITMENTS / 128));
        let rest = count % COMMITMENTS;
        count / COMMITMENTS * full + if rest > 0 { message(16 * coordinates * rest.div_ceil(128)) } else { 0 }
    }

    /// Commitments to random values.
    fn random(self, count: u64) -> u64 {
        Self::corrections(self.n - 128, count)
    }

    /// Commitments to chosen values.
    fn chosen(self, count: u64) -> u64 {
        Self::corrections(self.n, count)
    }

    /// The garbler's part of a proof with or without new commitments, claimed bits and claimed values; the evaluator's is
    /// `message(16)`.
    fn proof(self, new: bool, bits: bool, known: bool) -> u64 {
        let [new, bits, known] = [new, bits, known].map(u64::from);
        (new + bits) * self.random(128) + message(16 * ((new + bits) * (128 + self.n) + known * self.n))
    }

    /// The evaluator's part of so many OTs of the extension; the garbler's is `message(16)`.
    fn extension(ots: u64) -> u64 {
        let blocks = ots.div_ceil(128) + 1;
        let rest = if blocks % 64 > 0 { message(128 * 16 * (blocks % 64)) } else { 0 };
        blocks / 64 * message(128 * 16 * 64) + rest + message(16 * 129)
    }

    /// What garbler and evaluator send in each phase.
    fn phases(self, program: &Program, parameters: &Parameters) -> [(&'static str, u64, u64); 6] {
        let sizes = |cut: &Cut| [cut.copies(), cut.kept(), u64::from(cut.slots), u64::from(cut.opened)];
        let [x, y] = [Party::Garbler, Party::Evaluator].map(|party| program.input_width(party) as u64);
        let outputs =
            |to: &dyn Fn(Recipient) -> bool| -> u64 { program.outputs().iter().filter(|o| to(o.to)).map(|o| o.wires.len() as u64).sum() };
        let private = outputs(&|to| to == Recipient::Garbler);
        let seed = message(16);

        let hello = message(144);
        let setup = (
            hello + message(32 + 64 * 128) + seed + self.random(1) + self.chosen(1) + message(16) + self.proof(true, true, true),
            hello + message(32) + Self::extension(self.n) + seed,
        );

        let used: Vec<_> = program.components().iter().zip(&parameters.components).filter(|(_, cut)| cut.slots > 0).collect();
        let (mut preprocess, mut output_solderings, mut joints) = (0, 0, 0);
        for (component, cut) in &used {
            let [copies, kept, slots, opened] = sizes(cut);
            let (i, o) = (component.circuit.inputs() as u64, component.circuit.outputs().len() as u64);
            let table = 32 * component.circuit.and_gates() as u64;
            preprocess += self.random(copies * i) + self.random(copies) + self.chosen(copies * o) + message(16 + 32 * copies);
            preprocess += message(16 * opened * (1 + i)) + message(16 * kept) + message(16 * (kept - slots) * i);
            preprocess += kept / 16 * message(16 * table) + if kept % 16 > 0 { message(kept % 16 * table) } else { 0 };
            output_solderings += message(16 * kept * o);
            joints += message(16 * slots * i);
        }
        let any = !used.is_empty();
        let preprocess = (preprocess + self.proof(any, false, any), message(16 * used.len() as u64) + seed);

        let [plain, plain_kept, plain_slots, plain_opened] = sizes(&parameters.plain);
        let [input, input_kept, input_slots, input_opened] = sizes(&parameters.input);
        let prepare = (
            self.random(plain)
                + message(32 * plain)
                + self.random(input)
                + self.chosen(input)
                + message(32 * input)
                + message(16 * plain_opened)
                + message(0)
                + message(16 * (plain_kept - plain_slots))
                + message(16 * input_opened)
                + message(16 * input_kept)
                + message(16 * (input_kept - input_slots))
                + output_solderings
                + self.proof(true, false, true),
            message(2 * 16) + seed,
        );

        let binding = parameters.ot_binding as u64;
        let ots = y + binding;
        let build = (
            joints + message(16 * private) + seed + self.chosen(ots) + self.proof(true, false, true),
            Self::extension(ots) + message(17 * binding) + seed,
        );

        let evaluators = outputs(&|to| to.includes(Party::Evaluator));
        let evaluate = (message(16 * (x + y) + evaluators.div_ceil(8)) + self.proof(false, true, true), message(y.div_ceil(8)) + seed);

        let garblers = outputs(&|to| to.includes(Party::Garbler));
        let decode = (0, message(garblers.div_ceil(8) + 32));

        [
            ("setup", setup.0, setup.1),
            ("preprocess", preprocess.0, preprocess.1),
            ("prepare", prepare.0, prepare.1),
            ("build", build.0, build.1),
            ("evaluate", evaluate.0, evaluate.1),
            ("decode", decode.0, decode.1),
        ]
    }
}

fn run(program: &Arc<Program>, security: u32, threads: usize) -> Vec<PhaseReport> {
    let (left, right) = memory_pair();
    let job = Job { program: program.clone(), security, threads, identities: [[1; 32], [2; 32]] };
    let zeros = |party| vec![false; program.input_width(party)];
    let (x, y) = (zeros(Party::Garbler), zeros(Party::Evaluator));
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| duplo::garbler(left, &job, &x, &mut Unobserved));
        let evaluator = duplo::evaluator(right, &job, &y, &mut Unobserved).unwrap();
        garbler.join().unwrap().unwrap();
        evaluator.phases
    })
}

fn check(program: Program, security: u32, threads: usize) {
    let program = Arc::new(program);
    let parameters = Parameters::choose(&program, security).unwrap();
    let formulas = Formulas { n: Code::for_security(security).unwrap().length() as u64 };
    let sent: Vec<_> = run(&program, security, threads).iter().map(|p| (p.name, p.garbler_sent_bytes, p.evaluator_sent_bytes)).collect();
    assert_eq!(sent, formulas.phases(&program, &parameters), "{} at {security}", program.name());
}

/// A component of `ands` AND gates in a row, `inputs` and `outputs` wires wide.
fn chain(name: &str, inputs: u32, outputs: u32, ands: u32) -> Component {
    let mut builder = Builder::new(inputs);
    let bits = builder.all_inputs();
    let mut wires = bits.clone();
    for k in 0..ands {
        let (last, other) = (wires[wires.len() - 1], bits[(k % inputs) as usize]);
        let next = builder.and(last, other);
        let next = builder.xor(next, bits[((k + 1) % inputs) as usize]);
        wires.push(next);
    }
    let outs: Vec<_> = (0..outputs as usize).map(|k| wires[wires.len() - 1 - k % wires.len()]).collect();
    Component {
        name: name.into(),
        inputs: vec![Port::new("in", Type::Uint(inputs))],
        outputs: vec![Port::new("out", Type::Uint(outputs))],
        circuit: Arc::new(builder.finish(&outs).unwrap()),
    }
}

/// Components of random sizes, one of them never used, in slots that read random wires, and outputs for everybody.
fn random_program(rng: &mut Rng) -> Program {
    let mut below = |n: u64| rng.below(n) as u32;
    let (x, y) = (1 + below(9), below(20));
    let evaluators = if y > 0 { vec![Port::new("y", Type::Uint(y))] } else { Vec::new() };
    let mut program = ProgramBuilder::new("random", vec![Port::new("x", Type::Uint(x))], evaluators).unwrap();
    let kinds: Vec<_> = (0..3)
        .map(|k| {
            let inputs = 2 + below(6);
            (program.component(chain(&format!("c{k}"), inputs, 1 + below(5), below(40))).unwrap(), inputs)
        })
        .collect();
    for _ in 0..1 + below(5) {
        let (kind, inputs) = kinds[below(2) as usize];
        let wires = u64::from(program.wires());
        let from: Vec<u32> = (0..inputs).map(|_| below(wires)).collect();
        program.slot(kind, &from).unwrap();
    }
    let wires = u64::from(program.wires());
    for to in [Recipient::Garbler, Recipient::Evaluator, Recipient::Both] {
        let width = 1 + below(12);
        program.output(Port::new(format!("{to:?}"), Type::Uint(width)), to, (0..width).map(|_| below(wires)).collect()).unwrap();
    }
    program.finish().unwrap()
}

#[test]
fn random_programs_send_what_the_formulas_say() {
    let mut rng = Rng::new("test programs").unwrap();
    for round in 0..6 {
        check(random_program(&mut rng), [40, 64, 80][round % 3], 1 + round % 2);
    }
}

/// Nothing but wires: no component, and once no input of the evaluator and once none of the garbler.
#[test]
fn programs_without_slots_do_too() {
    for party in [Party::Garbler, Party::Evaluator] {
        let ports = |p| if p == party { vec![Port::new("in", Type::Uint(5))] } else { Vec::new() };
        let mut program = ProgramBuilder::new("wires", ports(Party::Garbler), ports(Party::Evaluator)).unwrap();
        program.output(Port::new("out", Type::Uint(5)), Recipient::Both, (0..5).collect()).unwrap();
        check(program.finish().unwrap(), 40, 1);
    }
}

/// Messages of many frames, and more commitments than one message of corrections holds.
#[test]
fn aes_does_too() {
    check(aes::aes_128().unwrap(), 40, 2);
    check(aes::aes_from_rounds(aes::KeySize::Aes128).unwrap(), 40, 2);
}
