mod cheats;
mod honest;

use std::sync::Arc;

use super::*;
use brickwork_base::random::Rng;
use brickwork_circuit::{Builder, Component, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_harness::random_inputs;
use brickwork_protocol::Unobserved;
use brickwork_wire::{counting_pair, memory_pair};

fn job(program: &Arc<Program>, security: u32) -> AgreedJob {
    let identities = [[1; 32], [2; 32]];
    AgreedJob::new(program.clone(), security, identities)
}

/// Returns a program with random components in several slots each. Both parties have inputs, and outputs go
/// to either party, to both or to nobody. Some components have no AND gates, and some inputs are not read.
pub(crate) fn random_program(rng: &mut Rng) -> Program {
    let mut widths: [u32; 2] = [rng.below(9) as u32, rng.below(9) as u32];
    let ports = |name: &str, width: u32| match width {
        0 => vec![],
        width => vec![Port::new(name, Type::Uint(width))],
    };
    widths[1] += u32::from(widths == [0, 0]);
    let mut program = ProgramBuilder::new("random", ports("x", widths[0]), ports("y", widths[1])).unwrap();
    for k in 0..rng.below(4) {
        let component = random_component(&format!("c{k}"), k == 0, rng);
        let (inputs, id) = (component.circuit.inputs(), program.component(component).unwrap());
        for _ in 0..rng.below(4) {
            let wires: Vec<u32> = (0..inputs).map(|_| rng.below(program.wires().into()) as u32).collect();
            program.slot(id, &wires).unwrap();
        }
    }
    for to in [Recipient::Garbler, Recipient::Evaluator, Recipient::Both] {
        let width = rng.below(5) as u32;
        if width > 0 {
            let wires = (0..width).map(|_| rng.below(program.wires().into()) as u32).collect();
            program.output(Port::new(format!("{to:?}"), Type::Uint(width)), to, wires).unwrap();
        }
    }
    program.output(Port::new("one", Type::Uint(1)), Recipient::Both, vec![0]).unwrap();
    program.finish().unwrap()
}

fn random_component(name: &str, linear: bool, rng: &mut Rng) -> Component {
    let [inputs, outputs] = [(); 2].map(|()| 1 + rng.below(6) as u32);
    let mut builder = Builder::new(inputs);
    let mut wires = builder.all_inputs();
    for _ in 0..rng.below(40) {
        let mut any = || wires[rng.below(wires.len() as u64) as usize];
        let (a, b) = (any(), any());
        let next = match rng.below(3) {
            0 if !linear => builder.and(a, b),
            1 => builder.xor(a, b),
            _ => !builder.xor(a, b),
        };
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

fn over(
    (left, right): (Channel, Channel),
    program: &Arc<Program>,
    (unit, security): (Unit, u32),
    inputs: [&[bool]; 2],
) -> [Result<Report, Error>; 2] {
    let job = job(program, security);
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| garbler(left, &job, unit, inputs[0], Unobserved));
        let evaluator = evaluator(right, &job, unit, inputs[1], Unobserved);
        [garbler.join().expect("no panic"), evaluator]
    })
}
