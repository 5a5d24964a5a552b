//! Compares honest runs of the protocol with plaintext simulation.

use std::sync::Arc;

use brickwork::ProtocolError as Error;
use brickwork::circuit::{
    Bit, Builder, Component, Party, Port, Program, ProgramBuilder, Recipient, Type, formats, library, value,
};
use brickwork::duplo::{self, Report};
use brickwork::protocol::{AgreedJob, SessionProtocol, Unobserved};
use brickwork::random::{Rng, Seed};
use brickwork::semi_honest::{self, SemiHonest};
use brickwork::wire::memory_pair;

/// Returns the generator of a test's random choices, which a replay repeats.
fn draws() -> Rng {
    Rng::expand(&Seed::from_bytes(brickwork_testing::seed()), "test")
}

fn job(program: &Arc<Program>, security: u32, threads: usize) -> AgreedJob {
    AgreedJob { threads, ..AgreedJob::new(program.clone(), security, [[1; 32], [2; 32]]) }
}

fn run(program: &Arc<Program>, security: u32, threads: usize, x: &[bool], y: &[bool]) -> (Report, Report) {
    let (left, right) = memory_pair();
    let job = job(program, security, threads);
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| duplo::garbler(left, &job, x, Unobserved));
        let evaluator = duplo::evaluator(right, &job, y, Unobserved);
        let garbler = garbler.join().unwrap();
        match (garbler, evaluator) {
            (Ok(garbler), Ok(evaluator)) => (garbler, evaluator),
            (garbler, evaluator) => panic!("garbler: {:?}, evaluator: {:?}", garbler.err(), evaluator.err()),
        }
    })
}

/// The limit of memory decides where tables and corrections are kept, and changes neither outputs nor bytes.
#[test]
fn a_small_memory_changes_no_output_and_no_byte() {
    let program = Arc::new(library::aes::aes_128().unwrap().repeat(2).unwrap());
    let mut rng = draws();
    let mut bits = |n: usize| (0..n).map(|_| rng.below(2) == 1).collect::<Vec<bool>>();
    let (x, y) = (bits(program.input_width(Party::Garbler)), bits(program.input_width(Party::Evaluator)));
    let expected = program.simulate(&x, &y);
    let with = |table_memory: u64| {
        let (left, right) = memory_pair();
        let job = AgreedJob { table_memory, ..job(&program, 40, 2) };
        std::thread::scope(|scope| {
            let garbler = scope.spawn(|| duplo::garbler(left, &job, &x, Unobserved).unwrap());
            let evaluator = duplo::evaluator(right, &job, &y, Unobserved).unwrap();
            let garbler = garbler.join().unwrap();
            assert_eq!(garbler.outputs, program.output_bits(Party::Garbler, &expected));
            assert_eq!(evaluator.outputs, program.output_bits(Party::Evaluator, &expected));
            let bytes = |report: &Report| {
                report
                    .phases
                    .iter()
                    .map(|p| (p.garbler_sent_bytes, p.evaluator_sent_bytes))
                    .collect::<Vec<_>>()
            };
            [bytes(&garbler), bytes(&evaluator)]
        })
    };
    let in_memory = with(u64::MAX);
    // With a limit of 0, everything lies in files. With 1 MiB, some of the corrections and no tables lie in
    // memory.
    assert_eq!(with(0), in_memory);
    assert_eq!(with(1 << 20), in_memory);
}

fn check(program: &Arc<Program>, security: u32, threads: usize, rng: &mut Rng) {
    let mut bits = |n: usize| (0..n).map(|_| rng.below(2) == 1).collect::<Vec<bool>>();
    let (x, y) = (bits(program.input_width(Party::Garbler)), bits(program.input_width(Party::Evaluator)));
    let expected = program.simulate(&x, &y);
    let (garbler, evaluator) = run(program, security, threads, &x, &y);
    assert_eq!(garbler.outputs, program.output_bits(Party::Garbler, &expected));
    assert_eq!(evaluator.outputs, program.output_bits(Party::Evaluator, &expected));
    assert!(!evaluator.aside.recovered);
    for (g, e) in garbler.phases.iter().zip(&evaluator.phases) {
        assert_eq!(
            (&g.name, g.garbler_sent_bytes, g.evaluator_sent_bytes),
            (&e.name, e.garbler_sent_bytes, e.evaluator_sent_bytes)
        );
    }
}

fn random_component(name: &str, inputs: u32, outputs: u32, gates: usize, rng: &mut Rng) -> Component {
    let mut builder = Builder::new(inputs);
    let mut bits = builder.all_inputs();
    for _ in 0..gates {
        let mut pick = || {
            let bit = bits[rng.below(bits.len() as u64) as usize];
            if rng.below(4) == 0 { !bit } else { bit }
        };
        let (a, b) = (pick(), pick());
        let out = if rng.below(2) == 0 { builder.and(a, b) } else { builder.xor(a, b) };
        bits.push(out);
    }
    let outs: Vec<Bit> = (0..outputs)
        .map(|_| bits[bits.len() - 1 - rng.below(bits.len().min(3 * outputs as usize) as u64) as usize])
        .collect();
    Component {
        name: name.into(),
        inputs: vec![Port::new("in", Type::Uint(inputs))],
        outputs: vec![Port::new("out", Type::Uint(outputs))],
        circuit: Arc::new(builder.finish(&outs).unwrap()),
    }
}

/// Makes random components in random slots, with outputs of all kinds and some inputs passed through.
fn random_program(rng: &mut Rng) -> Arc<Program> {
    let (a, b) = (rng.below(6) as u32, rng.below(6) as u32);
    let (a, b) = if a + b == 0 { (1, 0) } else { (a, b) };
    let ports = |name: &str, width: u32| {
        if width > 0 { vec![Port::new(name, Type::Uint(width))] } else { Vec::new() }
    };
    let mut program = ProgramBuilder::new("random", ports("x", a), ports("y", b)).unwrap();
    let kinds: Vec<_> = (0..1 + rng.below(3))
        .map(|i| {
            let (inputs, outputs, gates) =
                (1 + rng.below(5) as u32, 1 + rng.below(4) as u32, 1 + rng.below(40) as usize);
            (
                program.component(random_component(&format!("c{i}"), inputs, outputs, gates, rng)).unwrap(),
                inputs,
            )
        })
        .collect();
    let mut wires = a + b;
    for _ in 0..1 + rng.below(6) {
        let (kind, inputs) = kinds[rng.below(kinds.len() as u64) as usize];
        let from: Vec<u32> = (0..inputs).map(|_| rng.below(wires as u64) as u32).collect();
        program.slot(kind, &from).unwrap();
        wires = program.wires();
    }
    for (i, to) in
        [Recipient::Both, Recipient::Garbler, Recipient::Evaluator, Recipient::Both].into_iter().enumerate()
    {
        let width = rng.below(4) as u32 + u32::from(i == 0);
        if width == 0 {
            continue;
        }
        let from = (0..width).map(|_| rng.below(wires as u64) as u32).collect();
        program.output(Port::new(format!("o{i}"), Type::Uint(width)), to, from).unwrap();
    }
    Arc::new(program.finish().unwrap())
}

#[test]
fn random_programs_give_what_simulation_gives() {
    let mut rng = draws();
    for round in 0..12 {
        let program = random_program(&mut rng);
        check(&program, 40, 1 + round % 3, &mut rng);
    }
}

#[test]
fn higher_levels_of_security() {
    let mut rng = draws();
    for security in [64, 80] {
        check(&random_program(&mut rng), security, 2, &mut rng);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_outputs() {
    let mut rng = draws();
    let program = Arc::new(library::millionaires().unwrap().repeat(3).unwrap());
    for threads in [1, 2, 4] {
        check(&program, 40, threads, &mut rng);
    }
}

/// Checks the vectors of FIPS 197, appendix C, with AES as one component, and as rounds that all key sizes
/// share.
#[test]
fn aes_gives_the_vectors_of_the_standard() {
    let block = "0x00112233445566778899aabbccddeeff";
    for example in library::examples().unwrap() {
        let expected = match example.program.name() {
            "aes-128" | "aes-128-expanded" | "aes-128-rounds" => "0x69c4e0d86a7b0430d8cdb78070b4c55a",
            "aes-192-rounds" => "0xdda97ca4864cdfe06eaf70a0ec0d7191",
            "aes-256-rounds" => "0x8ea2b7ca516745bfeafc49904b496089",
            _ => continue,
        };
        assert_eq!(example.evaluator.1, block);
        let bits = |party, json| value::encode(example.program.input_ports(party), json).unwrap();
        let (x, y) = (bits(Party::Garbler, &example.garbler.1), bits(Party::Evaluator, &example.evaluator.1));
        let (garbler, evaluator) = run(&Arc::new(example.program.clone()), 40, 2, &x, &y);
        let ports = example.program.output_ports(Party::Evaluator);
        assert_eq!(value::decode(&ports, &evaluator.outputs), expected, "{}", example.program.name());
        assert_eq!(garbler.outputs, evaluator.outputs);
    }
}

/// Parties of two different protocols refuse each other, whichever of them greets first.
#[test]
fn row_19_protocols_do_not_meet() {
    assert_ne!((duplo::Duplo::NAME, duplo::Duplo::CODE), (SemiHonest::NAME, SemiHonest::CODE));
    let program = Arc::new(library::millionaires().unwrap());
    let (job, input) = (job(&program, 40, 1), vec![false; 32]);
    let results = |one: Result<(), Error>, other: Result<(), Error>, names: [&str; 2]| {
        for (result, name) in [one, other].into_iter().zip(names) {
            let Err(Error::Mismatch(why)) = result else { panic!("{result:?}") };
            assert!(why.contains(&format!("runs {name},")) && why.contains("--protocol"), "{why}");
        }
    };
    std::thread::scope(|scope| {
        let (left, right) = memory_pair();
        let garbler = scope.spawn(|| duplo::garbler(left, &job, &input, Unobserved).map(drop));
        let evaluator = semi_honest::evaluator(right, &job, 1, &input, Unobserved).map(drop);
        results(garbler.join().unwrap(), evaluator, [duplo::Duplo::NAME, SemiHonest::NAME]);
        let (left, right) = memory_pair();
        let garbler = scope.spawn(|| semi_honest::garbler(left, &job, 1, &input, Unobserved).map(drop));
        let evaluator = duplo::evaluator(right, &job, &input, Unobserved).map(drop);
        results(garbler.join().unwrap(), evaluator, [SemiHonest::NAME, duplo::Duplo::NAME]);
    });
}

/// Runs every public circuit of the shared folder, if the folder is there.
#[test]
fn public_circuits_give_what_simulation_gives() {
    let shared = std::env::var("BRICKWORK_SHARED")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into());
    let folders =
        ["circuits", "circuits/old-bristol"].map(|folder| std::path::Path::new(&shared).join(folder));
    let mut rng = draws();
    let mut seen = 0;
    for entry in folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "txt") {
            continue;
        }
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let program = formats::load(&std::fs::read(&path).unwrap(), &name).unwrap();
        check(&Arc::new(program), 40, 2, &mut rng);
        seen += 1;
    }
    if seen == 0 {
        eprintln!("SKIPPED: no circuits at {shared}; set BRICKWORK_SHARED to run them");
    }
}
