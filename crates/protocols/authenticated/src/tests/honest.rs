//! Honest parties get the outputs of the program.
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use super::*;
use crate::adversary::{Point, case, chain};
use crate::layout::Forced;
use crate::parameters::{Sizes, StatisticalLengths, TriplePool};
use brickwork_circuit::library::aes;
use brickwork_plan::{Link, Machine, predict};
use brickwork_testing::Replayable as _;
use brickwork_wire::counting_pair;

fn is_right(program: &Arc<Program>, security: u32, cot: Cot, rng: &mut Rng) {
    let inputs = random_inputs(program, rng);
    let hooks = [Hooks::none(), Hooks::none()];
    let results = over_these(cot, memory_pair(), program, security, [&inputs[0], &inputs[1]], hooks);
    let clear = program.simulate(&inputs[0], &inputs[1]);
    for (party, result) in [Party::Garbler, Party::Evaluator].into_iter().zip(results) {
        let report = result.unwrap();
        assert_eq!(report.outputs, program.output_bits(party, &clear), "{party:?}");
        assert!(report.promise.bound_log2 <= -f64::from(security), "{:?}", report.promise);
    }
}

/// Row 19 of the table of attacks: an input of a wrong length is refused before anything is sent.
#[test]
fn row_19_inputs_of_another_length() {
    let program = Arc::new(random_program(&mut Rng::replayable("test programs")));
    let [a, b] = [Party::Garbler, Party::Evaluator].map(|party| vec![false; program.input_width(party) + 1]);
    let hooks = [Hooks::none(), Hooks::none()];
    let results = over_these(Cot::default(), memory_pair(), &program, 40, [&a, &b], hooks);
    assert!(results.iter().all(|result| matches!(result, Err(Error::Input(_)))), "{results:?}");
}

#[test]
fn random_programs_are_computed() {
    let mut rng = Rng::replayable("test programs");
    for _ in 0..12 {
        let program = Arc::new(random_program(&mut rng));
        let cot = Cot::ALL[rng.below(Cot::ALL.len() as u64) as usize];
        is_right(&program, [40, 64, 80][rng.below(3) as usize], cot, &mut rng);
    }
}

#[test]
fn aes_is_computed() {
    let program = Arc::new(aes::aes_128().unwrap());
    let mut rng = Rng::replayable("test inputs");
    for security in [40, 64, 80] {
        is_right(&program, security, Cot::default(), &mut rng);
    }
    for cot in Cot::ALL {
        is_right(&program, 40, cot, &mut rng);
    }
}

/// Programs of several lots, parts and portions, of which the last are not full. The sizes of lots are small,
/// because a program of a million gates would take long.
#[test]
fn programs_of_many_lots_are_computed() {
    let (mut rng, mut lots, mut programs) = (Rng::replayable("test programs"), 0, 0);
    // The test continues until enough lots have several parts, because a random program may be small.
    while programs < 8 || lots <= 3 {
        programs += 1;
        let program = Arc::new(random_program(&mut rng).repeat(3).unwrap());
        let sizes = Some(Sizes { lot: 50, part: 20, portion: 7 });
        let pool = Some(TriplePool { size: 5, bucket: 3 });
        let (layout, forced) = (Layout::new(&program).unwrap(), Forced { pool, sizes, ..Forced::default() });
        let making = MakingPlan::forced(&layout, 40, Cot::default(), &forced).unwrap();
        lots += making.lots.iter().filter(|lot| lot.parts.len() > 1).count();
        let inputs = random_inputs(&program, &mut rng);
        let hooks = [(); 2].map(|()| Hooks::none().with(forced));
        let cot = if programs % 2 == 0 { Cot::default() } else { Cot::Pcg };
        let results = over_these(cot, memory_pair(), &program, 40, [&inputs[0], &inputs[1]], hooks);
        let clear = program.simulate(&inputs[0], &inputs[1]);
        for (party, result) in [Party::Garbler, Party::Evaluator].into_iter().zip(results) {
            assert_eq!(result.unwrap().outputs, program.output_bits(party, &clear), "{party:?}");
        }
    }
}

/// Runs a program of `executions` chains of two AND gates with these sizes, and all data in files. Bytes are
/// as predicted. Returns the crossings, which are as predicted, too.
fn crossings(executions: usize, sizes: Sizes, cot: Cot) -> u64 {
    let program = Arc::new(chain(Recipient::Both).repeat(executions).unwrap());
    let mut rng = Rng::replayable("test inputs");
    let (pool, sizes) = (Some(TriplePool { size: 3, bucket: 3 }), Some(sizes));
    let layout = Layout::new(&program).unwrap();
    let forced = Forced { pool, sizes, ..Forced::default() };
    let making = MakingPlan::forced(&layout, 40, cot, &forced).unwrap();
    let predicted = predict(&cost::steps(&layout, &making), &Machine::free(), &Link::LOOPBACK);
    let inputs = random_inputs(&program, &mut rng);
    let hooks = [(); 2].map(|()| Hooks::none().with(forced));
    let job = AgreedJob { table_memory: 0, ..job(&program, 40) };
    let (left, right, [_, crossings]) = counting_pair();
    let results = play_job(cot, (left, right), &job, [&inputs[0], &inputs[1]], hooks);
    let clear = program.simulate(&inputs[0], &inputs[1]);
    for (party, result) in [Party::Garbler, Party::Evaluator].into_iter().zip(results) {
        let report = result.unwrap();
        assert_eq!(report.outputs, program.output_bits(party, &clear), "{party:?}");
        // The garbler receives the last message of a phase only in the next phase.
        for (phase, predicted) in report.phases.iter().zip(&predicted.phases) {
            let sent = [phase.garbler_sent_bytes, phase.evaluator_sent_bytes];
            let expected = [predicted.garbler_sent_bytes, predicted.evaluator_sent_bytes];
            assert!(
                party == Party::Garbler || sent == expected,
                "{}: {sent:?}, not {expected:?}",
                phase.name
            );
        }
    }
    assert_eq!(crossings.get(), predicted.crossings(), "{executions} chains, {sizes:?}, {}", cot.name());
    crossings.get()
}

/// A program has so many inputs and outputs that their masks are drawn in several lots and opened by several
/// messages. The bytes and crossings are as predicted.
#[test]
fn programs_of_many_inputs_are_computed() {
    const WIDTH: u32 = 700_000;
    let port = |name: &str| vec![Port::new(name, Type::Array(Box::new(Type::Uint(1)), WIDTH))];
    let mut program = ProgramBuilder::new("wide", port("x"), port("y")).unwrap();
    let all = Port::new("all", Type::Array(Box::new(Type::Uint(1)), 2 * WIDTH));
    program.output(all, Recipient::Both, (0..2 * WIDTH).rev().collect()).unwrap();
    let program = Arc::new(program.finish().unwrap());
    let layout = Layout::new(&program).unwrap();
    let making = MakingPlan::of(&layout, 80, Cot::default()).unwrap();
    assert_eq!(
        making.lots.iter().map(|lot| lot.inputs).collect::<Vec<_>>(),
        [1 << 20, 1_400_000 - (1 << 20)]
    );
    let predicted = predict(&cost::steps(&layout, &making), &Machine::free(), &Link::LOOPBACK);
    let inputs = random_inputs(&program, &mut Rng::replayable("test inputs"));
    let clear = program.simulate(&inputs[0], &inputs[1]);
    for table_memory in [0, u64::MAX] {
        let job = AgreedJob { table_memory, ..job(&program, 80) };
        let (left, right, [_, crossings]) = counting_pair();
        let both = [&inputs[0][..], &inputs[1]];
        let results = play_job(Cot::default(), (left, right), &job, both, [(); 2].map(|()| Hooks::none()));
        let mut sent = [0; 2];
        for (party, result) in [Party::Garbler, Party::Evaluator].into_iter().zip(results) {
            let report = result.unwrap();
            assert!(report.outputs == program.output_bits(party, &clear), "{party:?}");
            assert!(report.promise.bound_log2 <= -80.0);
            sent = [
                report.phases.iter().map(|phase| phase.garbler_sent_bytes).sum(),
                report.phases.iter().map(|phase| phase.evaluator_sent_bytes).sum(),
            ];
        }
        assert_eq!(sent, sent_bytes(&program, 80, Cot::default()).unwrap());
        assert_eq!((crossings.get(), predicted.crossings()), (11, 11));
    }
}

/// A lot needs six crossings, however many parts it has. It needs one more each time a party has sent as many
/// portions as it may be ahead. A program needs four crossings in addition to those of the setup and the
/// lots, whatever its size.
#[test]
fn crossings_do_not_grow_with_parts() {
    let sizes = |lot, part, portion| Sizes { lot, part, portion };
    let mut all = Vec::new();
    for cot in [Cot::Extension, Cot::SoftSpoken4] {
        // The case of one lot: 2 parts or 200; 1 portion, 23, or 86, of which up to 16 are on their way.
        let [one, parts] = [400, 4].map(|part| crossings(200, sizes(400, part, 1 << 12), cot));
        assert_eq!(parts, one);
        let windows = [80, 21].map(|portion| crossings(200, sizes(400, 40, portion), cot));
        // The case of a program of twice the size, in twice as many lots.
        let lots = [2, 4].map(|times| crossings(200 * times, sizes(400, 40, 1 << 12), cot));
        all.push([vec![one], windows.to_vec(), lots.to_vec()].concat());
    }
    assert_eq!(all, [[12, 13, 17, 18, 30], [13, 14, 18, 19, 31]]);
}

/// Row 5 of the table of attacks: a wrong share of an opened difference is noticed in every part of a lot.
/// The evaluator opens all parts before it receives tables, and computes the words of most parts twice.
#[test]
fn row_05_a_wrong_share_in_any_part_is_seen() {
    let program = Arc::new(chain(Recipient::Both).repeat(20).unwrap());
    let mut rng = Rng::replayable("test inputs");
    let inputs = random_inputs(&program, &mut rng);
    let sizes = Some(Sizes { lot: 40, part: 4, portion: 64 });
    let pool = Some(TriplePool { size: 3, bucket: 3 });
    let forced = Forced { pool, sizes, ..Forced::default() };
    for (cheater, part) in [0, 1].into_iter().flat_map(|cheater| [0, 1, 2, 9].map(|part| (cheater, part))) {
        let mut hooks = [(); 2].map(|()| Hooks::none().with(forced));
        let mut opened = 0;
        let lies = Hooks::at(Point::Opened, move |bytes| {
            bytes[0] ^= u8::from(opened == part);
            opened += 1;
        });
        hooks[cheater] = lies.with(Forced { looks_away: true, ..forced });
        let both = [&inputs[0][..], &inputs[1]];
        let results = over_these(Cot::default(), memory_pair(), &program, 40, both, hooks);
        let seen = results[1 - cheater].as_ref().map(|_| ()).map_err(|error| error.to_string());
        assert!(seen.as_ref().is_err_and(|why| why.contains("opened share")), "{cheater} {part}: {seen:?}");
    }
}

/// A program folds a component's gates with constant operands. In a component outside a program, such a gate
/// is refused before any message.
#[test]
fn row_21_a_constant_operand_is_never_garbled() {
    let mut rng = Rng::replayable("test components");
    let component = loop {
        let component = any_component(&mut rng, "c", 4, 2);
        if walk::constant_operand(&component.circuit).is_some() {
            break component;
        }
    };
    let mut request = stored::Request { components: Vec::new(), inputs: 0 };
    request.add(&component, 1);
    let refused = request.steps(StatisticalLengths::of(40).unwrap(), &Forced::default()).map(|_| ());
    assert!(matches!(refused, Err(Error::Input(why)) if why.contains("operand")));
    let mut program = ProgramBuilder::new("constant", vec![], vec![Port::new("y", Type::Uint(4))]).unwrap();
    let component = program.component(component).unwrap();
    let first = program.slot(component, &[0, 1, 2, 3]).unwrap();
    program.output(Port::new("z", Type::Uint(2)), Recipient::Both, vec![first, first + 1]).unwrap();
    is_right(&Arc::new(program.finish().unwrap()), 40, Cot::default(), &mut rng);
}

/// A sender's offset always ends in 1, because both parties set the last bit.
#[test]
fn an_offset_that_ends_in_0_is_none() {
    let mut rng = Rng::replayable("test offset");
    let case = case(&chain(Recipient::Both), &mut rng);
    case.lie(Point::Offset, |offset| offset[0] &= !1).run().survived();
}

/// Parties with different kinds of OTs do not continue.
#[test]
fn both_take_the_same_ots() {
    let program = Arc::new(aes::aes_128().unwrap());
    let (left, right) = memory_pair();
    let job = job(&program, 40);
    let input = vec![false; 128];
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| garbler(left, &job, Cot::SoftSpoken4, &input, Unobserved));
        let evaluator = evaluator(right, &job, Cot::SoftSpoken8, &input, Unobserved);
        for result in [garbler.join().unwrap(), evaluator] {
            assert!(matches!(result, Err(Error::Mismatch(_))));
        }
    });
}

/// The cost that the protocol is designed for: bytes per AND gate, in both directions together, in large
/// lots. In a run of two lots, the setup of a PCG takes half a byte of them.
#[test]
fn an_and_gate_takes_so_many_bytes() {
    for (cot, executions, most) in [
        (Cot::Extension, 163, 400.0),
        (Cot::SoftSpoken2, 163, 232.0),
        (Cot::SoftSpoken4, 163, 150.0),
        (Cot::SoftSpoken8, 163, 110.0),
        (Cot::Pcg, 163, 75.5),
        (Cot::Pcg, 652, 75.0),
    ] {
        let program = aes::aes_128().unwrap().repeat(executions).unwrap();
        let ands = program.and_gates();
        assert!(ands > 1_000_000);
        let sent: u64 = cost::sent_bytes(&program, 40, cot).unwrap().iter().sum();
        let bytes = sent as f64 / ands as f64;
        assert!(bytes <= most && bytes > 0.9 * most, "{}: {bytes:.2}", cot.name());
    }
}
