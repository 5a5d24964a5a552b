use super::*;
use brickwork_circuit::library;
use brickwork_testing::Replayable as _;
use brickwork_wire::{Channel, Tag};
fn over(
    (left, right): (Channel, Channel),
    program: &Arc<Program>,
    linkings: [Linking; 2],
    inputs: [&[bool]; 2],
) -> [Result<Report, Error>; 2] {
    let job = job(program);
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| garbler(left, &job, linkings[0], inputs[0], Unobserved));
        let evaluator = evaluator(right, &job, linkings[1], inputs[1], Unobserved);
        [garbler.join().expect("no panic"), evaluator]
    })
}

/// Runs the program, and compares its outputs and the bytes of both directions with the prediction.
#[track_caller]
fn runs(program: Program, linking: Linking, rng: &mut Rng) {
    let program = Arc::new(program);
    let [a, b] = random_inputs(&program, rng);
    let reports = over(memory_pair(), &program, [linking; 2], [&a, &b]).map(Result::unwrap);
    let expected = program.simulate(&a, &b);
    let sent = sent_bytes(&program, linking).unwrap();
    for (party, report) in [Party::Garbler, Party::Evaluator].into_iter().zip(&reports) {
        assert_eq!(report.outputs, program.output_bits(party, &expected), "{} {linking:?}", program.name());
        let told = [
            report.phases.iter().map(|phase| phase.garbler_sent_bytes).sum::<u64>(),
            report.phases.iter().map(|phase| phase.evaluator_sent_bytes).sum::<u64>(),
        ];
        assert_eq!(told, sent, "{} {linking:?}", program.name());
        assert_eq!(report.promise, promise(linking));
    }
}

#[test]
fn outputs_and_bytes_are_right() {
    let mut rng = Rng::replayable("test inputs");
    for linking in Linking::ALL {
        for _ in 0..25 {
            runs(random_program(&mut rng), linking, &mut rng);
        }
        runs(library::millionaires().unwrap(), linking, &mut rng);
        runs(library::aes::cbc_mac(3).unwrap(), linking, &mut rng);
        runs(library::aes::aes_from_rounds(library::aes::KeySize::Aes192).unwrap(), linking, &mut rng);
        // The program has more copies of a component than are garbled side by side, and its tables fill more
        // than one frame.
        runs(library::millionaires().unwrap().repeat(70).unwrap(), linking, &mut rng);
    }
}

/// The observer of a run gets the phases in their order, and at the end a notice that the outputs are there.
#[test]
fn who_watches_is_told_when_outputs_are_there() {
    struct Watch(Arc<std::sync::Mutex<Vec<&'static str>>>);
    impl brickwork_protocol::Observer for Watch {
        fn phase(&mut self, name: &'static str) {
            self.0.lock().unwrap().push(name);
        }

        fn progress(&mut self, _: u64, _: u64) {}

        fn finished(&mut self) {
            self.0.lock().unwrap().push("outputs");
        }
    }
    let program = Arc::new(library::millionaires().unwrap());
    let (job, seen) = (job(&program), Arc::default());
    let bits = |party| vec![false; program.input_width(party)];
    let (left, right) = memory_pair();
    std::thread::scope(|scope| {
        let _ =
            scope.spawn(|| garbler(left, &job, Linking::Scmc, &bits(Party::Garbler), Unobserved).map(drop));
        let watch: Box<dyn brickwork_protocol::Observer> = Box::new(Watch(Arc::clone(&seen)));
        let _ = evaluator(right, &job, Linking::Scmc, &bits(Party::Evaluator), watch).unwrap();
    });
    assert_eq!(*seen.lock().unwrap(), [CompGc::PHASES, &["outputs"]].concat());
}

/// The links of a program, counted by hand for each linking. The program has two slots of one component. The
/// second slot reads half of the first slot's outputs, and the garbler's input.
#[test]
fn links_are_counted_as_on_paper() {
    let mut rng = Rng::replayable("test");
    let mut program = ProgramBuilder::new(
        "paper",
        vec![Port::new("x", Type::Uint(8))],
        vec![Port::new("y", Type::Uint(8))],
    )
    .unwrap();
    let id = program.component(component("c", &[8, 8], &[8, 8], 20, &mut rng)).unwrap();
    let first = program.slot(id, &(0..16).collect::<Vec<_>>()).unwrap();
    let from = |wire: u32| (wire..wire + 8).collect::<Vec<_>>();
    let second = program.slot(id, &[from(first + 4), from(0)].concat()).unwrap();
    program.output(Port::new("z", Type::Uint(8)), Recipient::Both, from(second)).unwrap();
    let program = program.finish().unwrap();
    let count = |linking| Layout::new(&program, linking).unwrap().labels_of_links();
    assert_eq!(count(Linking::Naive), 0);
    // All 32 slot inputs need a label, except the 8 that take over the labels of the garbler's input.
    assert_eq!(count(Linking::Standard), 24);
    // The first slot takes over the blocks of x and y. The second slot reads one block from each output port
    // of the first slot, and x a second time.
    assert_eq!(count(Linking::Scmc), 3);
}

#[test]
fn another_program_or_linking_is_refused() {
    let mut rng = Rng::replayable("test");
    let program = Arc::new(library::millionaires().unwrap());
    let [a, b] = random_inputs(&program, &mut rng);
    let results = over(memory_pair(), &program, [Linking::Standard, Linking::Scmc], [&a, &b]);
    assert!(results.iter().all(|result| matches!(result, Err(Error::Mismatch(_)))), "{results:?}");
    let results = over(memory_pair(), &program, [Linking::Standard; 2], [&a[1..], &b[1..]]);
    assert!(results.iter().all(|result| matches!(result, Err(Error::Input(_)))), "{results:?}");
}

/// Each message of a wrong length ends in an error, never in a panic.
#[test]
fn messages_of_another_length_are_refused() {
    let program = Arc::new(library::aes::cbc_mac(2).unwrap());
    let inputs: [&[bool]; 2] = [&[true; 128], &[true; 256]];
    for linking in Linking::ALL {
        for (tag, by_garbler, of) in [
            (msg::KEYS, true, None),
            (msg::TABLES, true, None),
            (msg::CORRECTIONS, true, Some(Linking::Scmc)),
            (msg::CHOICES, false, None),
            (msg::INPUT_LABELS, true, None),
            (msg::INPUT_CORRECTIONS, true, Some(Linking::Scmc)),
            (msg::LINKS, true, (linking == Linking::Naive).then_some(Linking::Standard)),
            (msg::DECODING, true, None),
            (msg::COLOURS, false, None),
        ] {
            if of.is_some_and(|only| only != linking) {
                continue;
            }
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
                let [garbler, evaluator] = over((left, right), &program, [linking; 2], inputs);
                let honest = if by_garbler { evaluator } else { garbler };
                assert!(honest.is_err_and(|e| e.is_cheat(Cheat::UnexpectedMessage)), "{tag:?} {linking:?}");
            }
        }
    }
}

/// With `standard`, the tables reveal nothing about the links: programs that use the same components equally
/// often have messages of the same lengths before the inputs.
#[test]
fn standard_components_do_not_depend_on_their_links() {
    let mut rng = Rng::replayable("test");
    let made = component("c", &[4, 4], &[4], 30, &mut rng);
    let program = |wires: [&[u32]; 2]| {
        let port = |name| vec![Port::new(name, Type::Uint(8))];
        let mut program = ProgramBuilder::new("two", port("x"), port("y")).unwrap();
        let id = program.component(made.clone()).unwrap();
        let last = wires.map(|wires| program.slot(id, wires).unwrap())[1];
        let output = Port::new("z", Type::Uint(4));
        program.output(output, Recipient::Both, (last..last + 4).collect()).unwrap();
        program.finish().unwrap()
    };
    let one = program([&[0, 1, 2, 3, 8, 9, 10, 11], &[16, 17, 18, 19, 4, 5, 6, 7]]);
    let other = program([&[0; 8], &[19, 3, 16, 2, 15, 0, 1, 8]]);
    let before = |program: &Program| {
        let cost = cost::predict(
            program,
            Linking::Standard,
            &brickwork_plan::Machine::free(),
            &brickwork_plan::Link::LOOPBACK,
        )
        .unwrap();
        let phase = &cost.phases[1];
        (phase.name.clone(), phase.garbler_sent_bytes, phase.evaluator_sent_bytes)
    };
    assert_eq!(before(&one), before(&other));
    let order = |program: &Program| Layout::new(program, Linking::Standard).unwrap().order.clone();
    assert_eq!(order(&one), order(&other));
}

/// The evaluator gets the colours of its outputs' false labels, and can decode no other wire. The colour of
/// the active label of any other wire is 0 as often as 1, whatever its bit is. The same holds for the XOR of
/// the colours of two neighbouring wires.
#[test]
fn intermediate_wires_do_not_decode() {
    const RUNS: usize = 100;
    let mut rng = Rng::replayable("test");
    let word = |name| vec![Port::new(name, Type::Uint(4))];
    let mut program = ProgramBuilder::new("chain", word("x"), word("y")).unwrap();
    // Every output is a wire of its own, and none is constant.
    let mut builder = Builder::new(8);
    let inputs = builder.all_inputs();
    let (x, y) = inputs.split_at(4);
    let ands: Vec<_> = x.iter().zip(y).map(|(&x, &y)| builder.and(x, y)).collect();
    let sums = ands.iter().zip(y.iter().rev()).map(|(&and, &y)| builder.xor(and, y));
    let outputs: Vec<_> = sums.collect::<Vec<_>>().into_iter().chain(ands.clone()).collect();
    let circuit = Arc::new(builder.finish(&outputs).unwrap());
    let of = component("c", &[4, 4], &[4, 4], 20, &mut rng);
    let id = program.component(Component { circuit, ..of }).unwrap();
    let first = program.slot(id, &(0..8).collect::<Vec<_>>()).unwrap();
    let second = program.slot(id, &(first..first + 8).collect::<Vec<_>>()).unwrap();
    let outputs: Vec<u32> = (second..second + 4).collect();
    program.output(Port::new("z", Type::Uint(4)), Recipient::Evaluator, outputs.clone()).unwrap();
    let program = Arc::new(program.finish().unwrap());
    let [a, b] = random_inputs(&program, &mut rng);
    for linking in Linking::ALL {
        let wires = first as usize + 8;
        let (mut ones, mut sums) = (vec![0_usize; wires], vec![0_usize; wires]);
        for _ in 0..RUNS {
            let inside = inside(&program, linking, [&a, &b], rng.seed());
            assert_eq!(inside.told, outputs.len(), "only the outputs are decoded");
            for wire in 0..wires {
                ones[wire] += usize::from(inside.actives[wire].colour());
                let next = inside.actives[(wire + 1) % wires].colour();
                sums[wire] += usize::from(inside.actives[wire].colour() ^ next);
            }
        }
        // 50 is expected, and 30 is six standard deviations. A wire that decodes would count 0 or 100.
        assert!(ones.iter().chain(&sums).all(|count| count.abs_diff(RUNS / 2) < 30), "{ones:?} {sums:?}");
    }
}
