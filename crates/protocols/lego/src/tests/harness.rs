//! Runs of the whole protocol between two threads, with small parameters that nobody should accept, and lies.

use brickwork_testing::Replayable as _;
use std::sync::Arc;

pub(super) use crate::hooks::Point;
use crate::hooks::{Alter, Hooks};
use crate::layout::Layout;
use crate::{Parameters, Report, evaluator_with, garbler_with};
use brickwork_base::random::Rng;
use brickwork_base::{Cheat, Error, Party};
use brickwork_circuit::{Builder, Component, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_session::{Job, TABLE_MEMORY, Unobserved};
use brickwork_wire::{Tag, Tamper, memory_pair};

pub fn port(name: &str, width: u32) -> Port {
    Port::new(name, Type::Uint(width))
}

/// A component of random gates.
fn component(name: &str, inputs: u32, outputs: u32, gates: u64, rng: &mut Rng) -> Component {
    let mut builder = Builder::new(inputs);
    let mut wires = builder.all_inputs();
    for _ in 0..gates {
        let [a, b] = [0, 1].map(|_| wires[rng.below(wires.len() as u64) as usize]);
        let next = match rng.below(4) {
            0 | 1 => builder.and(a, b),
            2 => builder.xor(a, b),
            _ => !a,
        };
        wires.push(next);
    }
    let outs: Vec<_> = (0..outputs).map(|_| wires[rng.below(wires.len() as u64) as usize]).collect();
    Component {
        name: name.into(),
        inputs: vec![port("in", inputs)],
        outputs: vec![port("out", outputs)],
        circuit: Arc::new(builder.finish(&outs).unwrap()),
    }
}

/// A few components in slots that read any wires, and outputs to everybody of any wires, also of inputs and
/// twice of the same.
pub fn random_program(rng: &mut Rng) -> Program {
    let (x, y) = (1 + rng.below(6) as u32, 1 + rng.below(6) as u32);
    let mut program = ProgramBuilder::new("random", vec![port("x", x)], vec![port("y", y)]).unwrap();
    let kinds: Vec<_> = (0..3)
        .map(|k| {
            let (inputs, outputs) = (1 + rng.below(6) as u32, 1 + rng.below(6) as u32);
            let made = component(&format!("c{k}"), inputs, outputs, rng.below(12), rng);
            (program.component(made).unwrap(), inputs)
        })
        .collect();
    for _ in 0..rng.below(8) {
        let (kind, width) = kinds[rng.below(2) as usize];
        let inputs: Vec<u32> = (0..width).map(|_| rng.below(program.wires().into()) as u32).collect();
        program.slot(kind, &inputs).unwrap();
    }
    for to in [Recipient::Garbler, Recipient::Evaluator, Recipient::Both, Recipient::Nobody] {
        let width = rng.below(6) as u32;
        if width > 0 {
            let wires = (0..width).map(|_| rng.below(program.wires().into()) as u32).collect();
            program.output(port(&format!("{to:?}"), width), to, wires).unwrap();
        }
    }
    program.output(port("one", 1), Recipient::Both, vec![0]).unwrap();
    program.finish().unwrap()
}

/// Four AND gates in two layers, with outputs to everybody: `((x0 ∧ y0) ⊕ y1) ∧ ¬(x1 ∧ y1)` and the like.
pub fn toy() -> Program {
    let mut builder = Builder::new(4);
    let w = builder.all_inputs();
    let (a, b) = (builder.and(w[0], w[2]), builder.and(w[1], w[3]));
    let c = builder.xor(a, w[3]);
    let d = builder.and(c, !b);
    let e = builder.and(d, w[0]);
    let gates = Component {
        name: "gates".into(),
        inputs: vec![port("in", 4)],
        outputs: vec![port("out", 4)],
        circuit: Arc::new(builder.finish(&[a, b, d, e]).unwrap()),
    };
    let mut program = ProgramBuilder::new("toy", vec![port("x", 2)], vec![port("y", 2)]).unwrap();
    let gates = program.component(gates).unwrap();
    let first = program.slot(gates, &[0, 1, 2, 3]).unwrap();
    program.output(port("private", 2), Recipient::Garbler, vec![first, first + 2]).unwrap();
    program.output(port("own", 2), Recipient::Evaluator, vec![first + 1, first + 3]).unwrap();
    program.output(port("both", 2), Recipient::Both, vec![first + 3, 0]).unwrap();
    program.finish().unwrap()
}

pub fn random_inputs(program: &Program, rng: &mut Rng) -> [Vec<bool>; 2] {
    [Party::Garbler, Party::Evaluator]
        .map(|party| (0..program.input_width(party)).map(|_| rng.below(2) == 1).collect())
}

/// Buckets of β gates and α authenticators, of B input authenticators, with so many opened items each.
pub fn small(program: &Program, gates: [u32; 2], wires: [u32; 2], inputs: [u32; 2]) -> Parameters {
    let layout = Layout::new(program).unwrap();
    let cut = |slots: usize, [bucket, opened]: [u32; 2]| match slots {
        0 => Bucketing { slots: 0, bucket: 1, opened: 0 },
        _ => Bucketing { slots: slots as u32, bucket, opened },
    };
    Parameters {
        security: 40,
        gates: cut(layout.ands, gates),
        authenticators: cut(layout.ands, wires),
        inputs: cut(layout.garbler, inputs),
        ot_binding: 48,
        bound_log2: 0.0,
    }
}

/// A run.
pub struct Case {
    program: Arc<Program>,
    parameters: Parameters,
    inputs: [Vec<bool>; 2],
    alter: [Option<Alter>; 2],
    tamper: [Option<Tamper>; 2],
    threads: usize,
    strict: bool,
    post_quantum: bool,
}

/// What the parties came to.
pub struct Outcome {
    pub garbler: Result<Report, Error>,
    pub evaluator: Result<Report, Error>,
    program: Arc<Program>,
    inputs: [Vec<bool>; 2],
}

impl Case {
    pub fn new(program: Program, rng: &mut Rng) -> Self {
        let parameters = small(&program, [2, 5], [3, 5], [3, 4]);
        let inputs = random_inputs(&program, rng);
        Case {
            program: Arc::new(program),
            parameters,
            inputs,
            alter: [None, None],
            tamper: [None, None],
            threads: 1,
            strict: false,
            post_quantum: false,
        }
    }

    /// With base OTs from lattices.
    pub fn post_quantum(mut self) -> Self {
        self.post_quantum = true;
        self
    }

    pub fn toy() -> Self {
        Case::new(toy(), &mut Rng::replayable("test lego"))
    }

    pub fn with(mut self, parameters: Parameters) -> Self {
        self.parameters = parameters;
        self
    }

    pub fn on(mut self, garbler: &[bool], evaluator: &[bool]) -> Self {
        self.inputs = [garbler.to_vec(), evaluator.to_vec()];
        self
    }

    /// The garbler alters its messages on their way out.
    pub fn tamper(self, tamper: impl FnMut(Tag, &mut Vec<u8>) + Send + 'static) -> Self {
        self.tampers(Party::Garbler, tamper)
    }

    /// A party does.
    pub fn tampers(mut self, party: Party, tamper: impl FnMut(Tag, &mut Vec<u8>) + Send + 'static) -> Self {
        self.tamper[party as usize] = Some(Box::new(tamper));
        self
    }

    /// The evaluator accepts what any evaluator would.
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The garbler alters what it has at this point.
    pub fn lie(self, at: Point, mut lie: impl FnMut(&mut [u8]) + Send + 'static) -> Self {
        self.alter(
            Party::Garbler,
            Box::new(move |point, bytes| {
                if point == at {
                    lie(bytes);
                }
            }),
        )
    }

    /// The evaluator does.
    pub fn evaluator_lies(self, at: Point, mut lie: impl FnMut(&mut [u8]) + Send + 'static) -> Self {
        self.alter(
            Party::Evaluator,
            Box::new(move |point, bytes| {
                if point == at {
                    lie(bytes);
                }
            }),
        )
    }

    fn alter(mut self, party: Party, next: Alter) -> Self {
        let mut next = next;
        let before = self.alter[party as usize].take();
        self.alter[party as usize] = Some(match before {
            None => next,
            Some(mut before) => Box::new(move |point, bytes| {
                before(point, bytes);
                next(point, bytes);
            }),
        });
        self
    }

    pub fn run(self) -> Outcome {
        let Case {
            program,
            parameters,
            inputs,
            alter: [of_garbler, of_evaluator],
            tamper,
            threads,
            strict,
            post_quantum,
        } = self;
        let job = Job {
            program: program.clone(),
            security: 40,
            threads,
            table_memory: TABLE_MEMORY,
            identities: [[1; 32], [2; 32]],
            post_quantum,
        };
        let (mut left, mut right) = memory_pair();
        for (channel, tamper) in [&mut left, &mut right].into_iter().zip(tamper) {
            if let Some(tamper) = tamper {
                channel.set_tamper(tamper);
            }
        }
        let (garbler, evaluator) = std::thread::scope(|scope| {
            let garbler = scope.spawn(|| {
                let hooks = Hooks { alter: of_garbler };
                garbler_with(left, &job, &parameters, &inputs[0], Box::new(Unobserved), hooks)
            });
            let hooks = Hooks { alter: of_evaluator };
            let unsafe_ones = (!strict).then_some(&parameters);
            let evaluator = evaluator_with(right, &job, &inputs[1], Box::new(Unobserved), unsafe_ones, hooks);
            (garbler.join().expect("the garbler does not panic"), evaluator)
        });
        Outcome { garbler, evaluator, program, inputs }
    }
}

impl Outcome {
    /// Both have the outputs of a plain run, and it went without a recovery, or with one.
    pub fn right(&self, recovered: bool) {
        let clear = self.program.simulate(&self.inputs[0], &self.inputs[1]);
        let of = |party| self.program.output_bits(party, &clear);
        let (garbler, evaluator) = (self.garbler.as_ref().unwrap(), self.evaluator.as_ref().unwrap());
        assert_eq!(evaluator.outputs, of(Party::Evaluator));
        assert_eq!(garbler.outputs, of(Party::Garbler));
        assert_eq!(evaluator.aside.recovered, recovered);
    }

    /// The evaluator ended with this check.
    pub fn evaluator_caught(&self, cheat: impl Into<Cheat>) {
        match &self.evaluator {
            Err(Error::Peer(caught)) => assert_eq!(*caught, cheat.into()),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("nothing was noticed"),
        }
        assert!(self.garbler.is_err());
    }

    /// The garbler did.
    pub fn garbler_caught(&self, cheat: impl Into<Cheat>) {
        match &self.garbler {
            Err(Error::Peer(caught)) => assert_eq!(*caught, cheat.into()),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("nothing was noticed"),
        }
    }
}
