use brickwork_protocol::Model;
use brickwork_testing::Replayable as _;
use std::sync::Arc;

use super::*;
use brickwork_base::random::Rng;
use brickwork_circuit::{Builder, Component, Port, Program, ProgramBuilder, Recipient, Type, library};
use brickwork_protocol::Unobserved;
use brickwork_wire::{Channel, Tag, memory_pair};

fn job(program: &Arc<Program>) -> AgreedJob {
    let identities = [[1; 32], [2; 32]];
    AgreedJob::new(program.clone(), 40, identities)
}

fn over(
    (left, right): (Channel, Channel),
    program: &Arc<Program>,
    executions: usize,
    inputs: [&[bool]; 2],
) -> [Result<Report, Error>; 2] {
    let job = job(program);
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| garbler(left, &job, executions, inputs[0], Unobserved));
        let evaluator = evaluator(right, &job, executions, inputs[1], Unobserved);
        [garbler.join().expect("no panic"), evaluator]
    })
}

fn random_inputs(program: &Program, executions: usize, rng: &mut Rng) -> [Vec<bool>; 2] {
    [Party::Garbler, Party::Evaluator]
        .map(|party| (0..executions * program.input_width(party)).map(|_| rng.below(2) == 1).collect())
}

/// Runs the program, and compares its outputs with those of a plain computation, and the sent bytes with the
/// prediction.
#[track_caller]
fn runs(program: Program, executions: usize) {
    let program = Arc::new(program);
    let mut rng = Rng::replayable("test inputs");
    let [a, b] = random_inputs(&program, executions, &mut rng);
    let reports = over(memory_pair(), &program, executions, [&a, &b]).map(Result::unwrap);
    let whole = if executions == 1 { (*program).clone() } else { program.repeat(executions).unwrap() };
    let ports = whole.simulate(&a, &b);
    let sent = sent_bytes(&program, executions, Ots::Made).unwrap();
    for (party, report) in [Party::Garbler, Party::Evaluator].into_iter().zip(&reports) {
        let learnt = whole.outputs().iter().zip(&ports).filter(|(output, _)| output.to.includes(party));
        let expected: Vec<bool> = learnt.flat_map(|(_, bits)| bits.clone()).collect();
        assert_eq!(report.outputs, expected, "{} x {executions}", program.name());
        let reported = [
            report.phases.iter().map(|phase| phase.garbler_sent_bytes).sum::<u64>(),
            report.phases.iter().map(|phase| phase.evaluator_sent_bytes).sum::<u64>(),
        ];
        assert_eq!(reported, sent, "{} x {executions}", program.name());
        assert_eq!(report.promise.model, Model::SemiHonest);
    }
}

/// A program with outputs for either party alone and for both. Some outputs are inputs.
fn private() -> Program {
    let word = || Port::new("x", Type::Uint(8));
    let mut builder = Builder::new(16);
    let inputs = builder.all_inputs();
    let (a, b) = inputs.split_at(8);
    let and: Vec<_> = a.iter().zip(b).map(|(&a, &b)| builder.and(a, b)).collect();
    let component = Component {
        name: "and".into(),
        inputs: vec![Port::new("a", Type::Uint(8)), Port::new("b", Type::Uint(8))],
        outputs: vec![word()],
        circuit: Arc::new(builder.finish(&and).unwrap()),
    };
    let mut program = ProgramBuilder::new("private", vec![word()], vec![word()]).unwrap();
    let and = program.component(component).unwrap();
    let both: Vec<u32> = (0..16).collect();
    let first = program.slot(and, &both).unwrap();
    let twice: Vec<u32> = (first..first + 8).chain(0..8).collect();
    let second = program.slot(and, &twice).unwrap();
    let wires = |first: u32| (first..first + 8).collect::<Vec<u32>>();
    program.output(Port::new("g", Type::Uint(8)), Recipient::Garbler, wires(first)).unwrap();
    program.output(Port::new("e", Type::Uint(8)), Recipient::Evaluator, wires(8)).unwrap();
    program.output(Port::new("both", Type::Uint(8)), Recipient::Both, wires(second)).unwrap();
    program.output(Port::new("g2", Type::Uint(8)), Recipient::Garbler, wires(0)).unwrap();
    program.finish().unwrap()
}

#[test]
fn outputs_and_bytes_are_right() {
    for executions in [1, 2, 3, 4, 5, 7, 11, 16, 17, 33] {
        runs(private(), executions);
    }
    runs(library::millionaires().unwrap(), 1);
    runs(library::aes::cbc_mac(3).unwrap(), 2);
    // Executions in two chunks: a chunk has 256 executions with 128 OTs each.
    runs(library::aes::aes_128().unwrap(), 300);
}

#[test]
fn another_program_is_refused() {
    let programs = [Arc::new(private()), Arc::new(library::millionaires().unwrap())];
    let (left, right) = memory_pair();
    let results = std::thread::scope(|scope| {
        let job_of = |k: usize| job(&programs[k]);
        let garbler = scope.spawn(move || garbler(left, &job_of(0), 1, &[false; 8], Unobserved));
        let other = scope.spawn(|| evaluator(right, &job(&programs[1]), 1, &[false; 32], Unobserved));
        [garbler.join().unwrap(), other.join().unwrap()]
    });
    assert!(results.iter().all(|result| matches!(result, Err(Error::Mismatch(_)))), "{results:?}");
    // Different numbers of executions are refused, too.
    let program = Arc::new(private());
    let (left, right) = memory_pair();
    let job = job(&program);
    let results = std::thread::scope(|scope| {
        let garbler = scope.spawn(|| garbler(left, &job, 2, &[false; 16], Unobserved));
        let other = evaluator(right, &job, 1, &[false; 8], Unobserved);
        [garbler.join().unwrap(), other]
    });
    assert!(results.iter().all(|result| matches!(result, Err(Error::Mismatch(_)))), "{results:?}");
}

#[test]
fn inputs_of_another_length_are_refused() {
    let program = Arc::new(private());
    let results = over(memory_pair(), &program, 2, [&[false; 8], &[false; 17]]);
    assert!(results.iter().all(|result| matches!(result, Err(Error::Input(_)))), "{results:?}");
    let none = over(memory_pair(), &program, 0, [&[], &[]]);
    assert!(none.iter().all(|result| matches!(result, Err(Error::Input(_)))));
}

#[test]
fn messages_of_another_length_are_refused() {
    let program = Arc::new(private());
    for (tag, by_garbler) in [
        (msg::KEYS, true),
        (msg::INPUT_LABELS, true),
        (msg::TABLES, true),
        (msg::DECODING, true),
        (msg::COLOURS, false),
    ] {
        for longer in [true, false] {
            let (mut left, mut right) = memory_pair();
            let cheater = if by_garbler { &mut left } else { &mut right };
            cheater.set_tamper(Box::new(move |sent: Tag, bytes| {
                if sent == tag && longer {
                    bytes.push(0);
                } else if sent == tag {
                    let _ = bytes.pop();
                }
            }));
            let [garbler, evaluator] = over((left, right), &program, 3, [&[true; 24], &[true; 24]]);
            let honest = if by_garbler { evaluator } else { garbler };
            assert!(honest.is_err_and(|error| error.is_cheat(Cheat::UnexpectedMessage)), "{tag:?}");
        }
    }
}
