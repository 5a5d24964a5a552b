//! Lists that are too long for memory are made, sent, read and claimed chunk by chunk.

use brickwork_testing::Replayable as _;
use std::sync::Arc;

use super::harness::*;
use crate::adversary::{evaluator, garbler};
use crate::hooks::{Hooks, Point};
use brickwork_base::random::Rng;
use brickwork_circuit::{Party, Port, ProgramBuilder, Recipient, Type};
use brickwork_protocol::AgreedJob;
use brickwork_wire::memory_pair;

/// An honest run with little memory, in which all lists about authenticators have several chunks. A chunk has
/// 2^16 authenticators that are being made, 2^16 delta differences or solderings for a file, 2^14 weighted
/// heads, 2^11 OTs or solderings in claims, or 2^12 items of a list whose size depends on memory. The program
/// uses the last input wires of both parties, too.
#[test]
fn long_lists_go_chunk_by_chunk() {
    const MINE: u32 = 16_500;
    const YOURS: u32 = 4_200;
    const SLOTS: u32 = 1_400;
    let port = |name: &str, width| Port::new(name, Type::Uint(width));
    let mut program = ProgramBuilder::new("long", vec![port("x", MINE)], vec![port("y", YOURS)]).unwrap();
    let three = component("three", 3, |b, w| vec![b.and(w[0], w[1]), b.xor(w[1], w[2]), b.xor(w[0], w[2])]);
    let three = program.component(three).unwrap();
    let mut results = Vec::new();
    for k in 0..SLOTS {
        let first = program.slot(three, &[11 * k, MINE - 1 - k, MINE + 3 * k]).unwrap();
        results.extend(first..first + 3);
    }
    let shared = results.split_off(64);
    program.output(port("mine", 64), Recipient::Garbler, results).unwrap();
    program.output(port("ours", shared.len() as u32), Recipient::Both, shared).unwrap();
    let program = Arc::new(program.finish().unwrap());

    let mut rng = Rng::replayable("test inputs");
    let [x, y] = [MINE, YOURS].map(|width| (0..width).map(|_| rng.below(2) == 1).collect::<Vec<bool>>());
    let expected = program.simulate(&x, &y);
    let parameters = small(&program, [3, 40], [3, 4_200], [5, 4_200]);
    let hooks = |hooks: Hooks| hooks.with(parameters.clone().into()).dealt_by([1; 32]);
    let job = AgreedJob {
        program: program.clone(),
        security: 40,
        threads: 2,
        table_memory: 0,
        identities: [[1; 32], [2; 32]],
        post_quantum: false,
    };
    let good = |point: Point, data: &mut [u8]| {
        assert!(point != Point::Refused || data.iter().all(|byte| *byte == 0), "a copy is bad")
    };
    let (left, right) = memory_pair();
    let [garbled, evaluated] = std::thread::scope(|scope| {
        let garbled = scope.spawn(|| garbler(left, &job, &x, hooks(Hooks::none())));
        let evaluated = evaluator(right, &job, &y, hooks(Hooks::lying(good)));
        [garbled.join().unwrap(), evaluated]
    });
    assert!(evaluated.unwrap().outputs == program.output_bits(Party::Evaluator, &expected));
    assert!(garbled.unwrap().outputs == program.output_bits(Party::Garbler, &expected));
}
