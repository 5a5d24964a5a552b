mod attack;
mod honest;
mod naive;

use std::sync::{Arc, Mutex};

use super::*;
use brickwork_base::label::{Delta, Label};
use brickwork_base::random::{Rng, Seed};
use brickwork_circuit::{Builder, Component, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_harness::random_inputs;
use brickwork_primitives::Labels;
use brickwork_protocol::Unobserved;
use brickwork_wire::{Tag, memory_pair};

fn job(program: &Arc<Program>) -> AgreedJob {
    let identities = [[1; 32], [2; 32]];
    AgreedJob::new(program.clone(), 40, identities)
}

/// Makes a component of random gates whose ports have these widths.
fn component(name: &str, inputs: &[u32], outputs: &[u32], gates: u64, rng: &mut Rng) -> Component {
    let ports = |widths: &[u32]| -> Vec<Port> {
        let named = widths.iter().enumerate();
        named.map(|(k, &width)| Port::new(format!("p{k}"), Type::Uint(width))).collect()
    };
    let mut builder = Builder::new(inputs.iter().sum());
    let mut wires = builder.all_inputs();
    for _ in 0..gates {
        let mut any = || wires[rng.below(wires.len() as u64) as usize];
        let (a, b) = (any(), any());
        let next = if rng.below(2) == 0 { builder.and(a, b) } else { !builder.xor(a, b) };
        wires.push(next);
    }
    let outs: Vec<_> = (0..outputs.iter().sum::<u32>())
        .map(|_| wires[wires.len() - 1 - rng.below(wires.len().min(40) as u64) as usize])
        .collect();
    Component {
        name: name.into(),
        inputs: ports(inputs),
        outputs: ports(outputs),
        circuit: Arc::new(builder.finish(&outs).unwrap()),
    }
}

/// Makes a program of components with several ports. Its slots read whole blocks of wires, parts of blocks
/// and single wires; one component is never used.
pub(crate) fn random_program(rng: &mut Rng) -> Program {
    let width = |rng: &mut Rng| 1 + rng.below(9) as u32;
    let ports = |rng: &mut Rng, count: u64, name: &str| -> Vec<Port> {
        (0..rng.below(count)).map(|k| Port::new(format!("{name}{k}"), Type::Uint(width(rng)))).collect()
    };
    let (x, mut y) = (ports(rng, 3, "x"), ports(rng, 3, "y"));
    y.push(Port::new("last", Type::Uint(2)));
    let mut program = ProgramBuilder::new("random", x, y).unwrap();
    let kinds: Vec<_> = (0..4)
        .map(|k| {
            let widths: Vec<u32> = (0..1 + rng.below(3)).map(|_| width(rng)).collect();
            let outputs: Vec<u32> = (0..1 + rng.below(3)).map(|_| width(rng)).collect();
            let made = component(&format!("c{k}"), &widths, &outputs, rng.below(60), rng);
            (program.component(made).unwrap(), widths)
        })
        .collect();
    for _ in 0..rng.below(50) {
        let (kind, widths) = kinds[rng.below(3) as usize].clone();
        let mut inputs = Vec::new();
        for width in widths {
            let wires = program.wires();
            if rng.below(3) > 0 && wires >= width {
                let first = rng.below(u64::from(wires - width) + 1) as u32;
                inputs.extend(first..first + width);
            } else {
                inputs.extend((0..width).map(|_| rng.below(wires.into()) as u32));
            }
        }
        program.slot(kind, &inputs).unwrap();
    }
    for to in [Recipient::Garbler, Recipient::Evaluator, Recipient::Both] {
        let width = rng.below(13) as u32;
        if width > 0 {
            let wires = (0..width).map(|_| rng.below(program.wires().into()) as u32).collect();
            program.output(Port::new(format!("{to:?}"), Type::Uint(width)), to, wires).unwrap();
        }
    }
    program.output(Port::new("one", Type::Uint(1)), Recipient::Both, vec![0]).unwrap();
    program.finish().unwrap()
}

/// A message of a party: its tag and its bytes.
type Message = (Tag, Vec<u8>);

/// The inner values of a run: the false and the active labels of all wires and of the inputs of all slots.
struct Inside {
    /// The seed of the values that the garbler draws after the OTs, with the domain `test garbler`.
    seed: Seed,
    sent: [Vec<Message>; 2],
    /// The OTs' labels for choice 0, and the choices.
    ots: Labels,
    choices: Vec<u8>,
    delta: Delta,
    falses: Labels,
    false_inputs: Vec<Label>,
    actives: Labels,
    active_inputs: Vec<Label>,
    /// The number of decoding bits that the evaluator got.
    told: usize,
}

/// Runs both parties step by step and keeps their inner values. The values that the garbler draws after the
/// OTs follow from `seed`.
fn inside(program: &Arc<Program>, linking: Linking, inputs: [&[bool]; 2], seed: Seed) -> Inside {
    let job = job(program);
    let layout = Layout::new(program, linking).unwrap();
    let (mut left, mut right) = memory_pair();
    let mut draws = Some(Rng::expand(&seed, "test garbler"));
    let sent: [Arc<Mutex<Vec<Message>>>; 2] = Default::default();
    for (channel, sent) in [&mut left, &mut right].into_iter().zip(&sent) {
        let sent = sent.clone();
        channel.set_tamper(Box::new(move |tag, bytes| sent.lock().unwrap().push((tag, bytes.clone()))));
    }
    let metered = |channel, party| Metered::new::<CompGc>(channel, party, Box::new(Unobserved));
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| {
            let mut party = setup::run(metered(left, Party::Garbler), &job.terms(), &layout).unwrap();
            party.rng = draws.take().expect("the source is taken only once");
            let garbled = preprocess::garbler(&mut party, &layout).unwrap();
            let ots = garbled.ots.clone();
            let theirs = prepare::garbler(&mut party, &layout, &garbled).unwrap();
            let false_inputs = garbled.inputs.to_vec();
            let wires = build::garbler(&mut party, &layout, garbled, inputs[0], &theirs).unwrap();
            evaluate::garbler(&mut party, &layout, &wires).unwrap();
            decode::garbler(&mut party, &layout, &wires).unwrap();
            (*party.delta(), wires, false_inputs, ots)
        });
        let mut party = setup::run(metered(right, Party::Evaluator), &job.terms(), &layout).unwrap();
        let mut received = preprocess::evaluator(&mut party, &layout).unwrap();
        prepare::evaluator(&mut party, inputs[1], &received).unwrap();
        let (mut actives, links) = build::evaluator(&mut party, &layout, &mut received).unwrap();
        let decoding = evaluate::evaluator(&mut party, &layout, &received, &mut actives, &links).unwrap();
        let told = decoding.0.len();
        decode::evaluator(&mut party, &layout, &actives, decoding).unwrap();
        let mut active_inputs = vec![Label::ZERO; layout.slot_inputs()];
        let mut links = links.into_iter();
        for link in &layout.links {
            let difference = if link.free { Label::ZERO } else { links.next().unwrap() };
            for k in 0..link.wires {
                active_inputs[link.to + k] = actives[link.from as usize + k] ^ difference;
            }
        }
        let (delta, falses, false_inputs, ots) = garbler.join().unwrap();
        let sent = sent.map(|sent| std::mem::take(&mut *sent.lock().unwrap()));
        let choices = received.choices.to_vec();
        Inside { seed, sent, ots, choices, delta, falses, false_inputs, actives, active_inputs, told }
    })
}
