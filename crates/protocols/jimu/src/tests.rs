mod cheats;
mod honest;

use std::sync::Arc;

use super::*;
use brickwork_base::random::Rng;
use brickwork_circuit::{Builder, Component, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_session::{TABLE_MEMORY, Unobserved};
use brickwork_wire::memory_pair;

fn job(program: &Arc<Program>, security: u32) -> Job {
    let identities = [[1; 32], [2; 32]];
    Job {
        program: program.clone(),
        security,
        threads: 1,
        table_memory: TABLE_MEMORY,
        identities,
        post_quantum: false,
    }
}

fn random_inputs(program: &Program, rng: &mut Rng) -> [Vec<bool>; 2] {
    [Party::Garbler, Party::Evaluator]
        .map(|party| (0..program.input_width(party)).map(|_| rng.below(2) == 1).collect())
}

/// Random gates, with inputs and outputs of both parties, some of them of nobody or of both.
fn random_program(rng: &mut Rng) -> Program {
    let widths: [u32; 2] = [rng.below(9) as u32, rng.below(9) as u32];
    let ports = |name: &str, width: u32| match width {
        0 => vec![],
        width => vec![Port::new(name, Type::Uint(width))],
    };
    let mut widths = widths;
    widths[1] += u32::from(widths == [0, 0]);
    let mut program = ProgramBuilder::new("random", ports("x", widths[0]), ports("y", widths[1])).unwrap();
    let total = widths[0] + widths[1];
    let mut builder = Builder::new(total);
    let mut wires = builder.all_inputs();
    for _ in 0..rng.below(120) {
        let mut any = || wires[rng.below(wires.len() as u64) as usize];
        let (a, b) = (any(), any());
        let next = if rng.below(2) == 0 { builder.and(a, b) } else { !builder.xor(a, b) };
        wires.push(next);
    }
    let outs: Vec<_> = (0..12).map(|_| wires[rng.below(wires.len() as u64) as usize]).collect();
    let component = Component {
        name: "c".into(),
        inputs: vec![Port::new("a", Type::Uint(total))],
        outputs: vec![Port::new("z", Type::Uint(12))],
        circuit: Arc::new(builder.finish(&outs).unwrap()),
    };
    let id = program.component(component).unwrap();
    let inputs: Vec<u32> = (0..total).collect();
    let first = program.slot(id, &inputs).unwrap();
    for (k, to) in [Recipient::Garbler, Recipient::Evaluator, Recipient::Both].into_iter().enumerate() {
        let width = rng.below(5) as u32;
        if width > 0 {
            let wires = (0..width).map(|j| first + 4 * k as u32 + j % 4).collect();
            program.output(Port::new(format!("{to:?}"), Type::Uint(width)), to, wires).unwrap();
        }
    }
    program.output(Port::new("one", Type::Uint(1)), Recipient::Both, vec![0]).unwrap();
    program.finish().unwrap()
}

/// Both parties over these channels.
fn over(
    (left, right): (Channel, Channel),
    program: &Arc<Program>,
    security: u32,
    inputs: [&[bool]; 2],
) -> [Result<Report, Error>; 2] {
    let job = job(program, security);
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| garbler(left, &job, inputs[0], Unobserved));
        let evaluator = evaluator(right, &job, inputs[1], Unobserved);
        [garbler.join().expect("no panic"), evaluator]
    })
}
