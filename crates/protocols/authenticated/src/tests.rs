mod honest;
mod steps;

use std::sync::Arc;

use super::*;
use brickwork_base::random::Rng;
use brickwork_circuit::{Builder, Component, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_harness::random_inputs;
use brickwork_protocol::Unobserved;
use brickwork_wire::memory_pair;

fn job(program: &Arc<Program>, security: u32) -> AgreedJob {
    let identities = [[1; 32], [2; 32]];
    AgreedJob::new(program.clone(), security, identities)
}

/// Makes a component of random gates without constant operands.
fn random_component(rng: &mut Rng, name: &str, inputs: u32, outputs: u32) -> Component {
    loop {
        let component = any_component(rng, name, inputs, outputs);
        if walk::constant_operand(&component.circuit).is_none() {
            return component;
        }
    }
}

fn any_component(rng: &mut Rng, name: &str, inputs: u32, outputs: u32) -> Component {
    let mut builder = Builder::new(inputs);
    let mut wires = builder.all_inputs();
    for _ in 0..rng.below(60) {
        let mut any = || wires[rng.below(wires.len() as u64) as usize];
        let (a, b) = (any(), any());
        let next = if rng.below(2) == 0 { builder.and(a, b) } else { !builder.xor(a, b) };
        wires.push(next);
    }
    let outs: Vec<_> = (0..outputs).map(|_| wires[rng.below(wires.len() as u64) as usize]).collect();
    Component {
        name: name.into(),
        inputs: vec![Port::new("a", Type::Uint(inputs))],
        outputs: vec![Port::new("z", Type::Uint(outputs))],
        circuit: Arc::new(builder.finish(&outs).unwrap()),
    }
}

/// Makes a program with slots of two components. Slots read any earlier wires. Both parties have inputs;
/// outputs go to either party, to both or to nobody.
pub(super) fn random_program(rng: &mut Rng) -> Program {
    let widths = [rng.below(5) as u32, rng.below(5) as u32 + 1];
    let ports = |name: &str, width: u32| match width {
        0 => vec![],
        width => vec![Port::new(name, Type::Uint(width))],
    };
    let mut program = ProgramBuilder::new("random", ports("x", widths[0]), ports("y", widths[1])).unwrap();
    let components = [(3, 2), (5, 4)].map(|(inputs, outputs)| {
        let component = random_component(rng, &format!("c{inputs}"), inputs, outputs);
        (program.component(component).unwrap(), inputs)
    });
    let mut wires = widths[0] + widths[1];
    for _ in 0..rng.below(5) {
        let (component, inputs) = components[rng.below(2) as usize];
        let from: Vec<u32> = (0..inputs).map(|_| rng.below(wires.into()) as u32).collect();
        program.slot(component, &from).unwrap();
        wires = program.wires();
    }
    for to in [Recipient::Garbler, Recipient::Evaluator, Recipient::Both, Recipient::Nobody] {
        let width = rng.below(5) as u32;
        if width > 0 {
            let from = (0..width).map(|_| rng.below(wires.into()) as u32).collect();
            program.output(Port::new(format!("{to:?}"), Type::Uint(width)), to, from).unwrap();
        }
    }
    program.output(Port::new("one", Type::Uint(1)), Recipient::Both, vec![0]).unwrap();
    program.finish().unwrap()
}

/// Runs both parties over these channels, with these hooks, and masks from this kind of OTs.
fn over_these(
    cot: Cot,
    (left, right): (Channel, Channel),
    program: &Arc<Program>,
    security: u32,
    inputs: [&[bool]; 2],
    [of_garbler, of_evaluator]: [Hooks; 2],
) -> [Result<Report, Error>; 2] {
    play_job(cot, (left, right), &job(program, security), inputs, [of_garbler, of_evaluator])
}

/// Runs both parties of a job.
fn play_job(
    cot: Cot,
    (left, right): (Channel, Channel),
    job: &AgreedJob,
    inputs: [&[bool]; 2],
    [of_garbler, of_evaluator]: [Hooks; 2],
) -> [Result<Report, Error>; 2] {
    std::thread::scope(|scope| {
        let garbler =
            scope.spawn(|| garbler_with(left, job, cot, inputs[0], Box::new(Unobserved), of_garbler));
        let evaluator = evaluator_with(right, job, cot, inputs[1], Box::new(Unobserved), of_evaluator);
        [garbler.join().expect("no panic"), evaluator]
    })
}
