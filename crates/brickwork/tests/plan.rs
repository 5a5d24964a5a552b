//! Compares the planner's predictions with real runs.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use brickwork::authenticated;
use brickwork::circuit::library::{aes, papers};
use brickwork::circuit::{Builder, Component, Party, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork::compgc::{self, Linking};
use brickwork::disk::{Store, StoreKey};
use brickwork::duplo::{self, Parameters};
use brickwork::jimu;
use brickwork::lego;
use brickwork::ot::Cot;
use brickwork::plan::{self, Link, Machine};
use brickwork::protocol::{AgreedJob, Observer, PhaseReport, SessionProtocol, Terms, Unobserved};
use brickwork::random::{Rng, Seed};
use brickwork::semi_honest::{self, Lacking, Ots};
use brickwork::wire::{Channel, Stream, memory_pair};

/// Returns the generator of a test's random choices, which a replay repeats.
fn draws() -> Rng {
    Rng::expand(&Seed::from_bytes(brickwork_testing::seed()), "test")
}

/// A stream that sends the sender's logical time with every byte, so that a test sees which messages depend
/// on which.
struct Clocked {
    to: Sender<(u64, Vec<u8>)>,
    from: Receiver<(u64, Vec<u8>)>,
    current: Vec<u8>,
    position: usize,
    /// The longest chain of crossings of the link on which this end depends so far.
    clock: Arc<AtomicU64>,
}

impl Read for Clocked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position == self.current.len() {
            let Ok((sent, bytes)) = self.from.recv() else { return Ok(0) };
            self.clock.fetch_max(sent + 1, Ordering::Relaxed);
            (self.current, self.position) = (bytes, 0);
        }
        let n = buffer.len().min(self.current.len() - self.position);
        buffer[..n].copy_from_slice(&self.current[self.position..self.position + n]);
        self.position += n;
        Ok(n)
    }
}

impl Write for Clocked {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if !buffer.is_empty() {
            let message = (self.clock.load(Ordering::Relaxed), buffer.to_vec());
            self.to.send(message).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Clocked {}

/// Returns two ends of a channel, each with its clock.
fn clocked_pair(lanes: usize) -> [(Channel, Arc<AtomicU64>); 2] {
    let clocks: [Arc<AtomicU64>; 2] = Default::default();
    let mut streams: [Vec<Box<dyn Stream>>; 2] = Default::default();
    for _ in 0..lanes {
        let ((to_right, from_left), (to_left, from_right)) = (channel(), channel());
        for (side, to, from) in [(0, to_right, from_right), (1, to_left, from_left)] {
            let clock = clocks[side].clone();
            streams[side].push(Box::new(Clocked { to, from, current: Vec::new(), position: 0, clock }));
        }
    }
    let [left, right] = streams;
    let [a, b] = clocks;
    [(Channel::new(left), a), (Channel::new(right), b)]
}

/// Notes the clock whenever a phase begins or continues.
struct Watch(Arc<AtomicU64>, Arc<Mutex<Vec<(&'static str, u64)>>>);

impl Observer for Watch {
    fn phase(&mut self, name: &'static str) {
        self.1.lock().unwrap().push((name, self.0.load(Ordering::Relaxed)));
    }

    fn progress(&mut self, _: u64, _: u64) {}
}

/// The progress of a run, step after step: the bytes done, and all bytes.
type Progress = Arc<Mutex<Vec<(u64, u64)>>>;

/// Notes every step of progress.
struct Steps(Progress);

impl Observer for Steps {
    fn phase(&mut self, _: &'static str) {}

    fn progress(&mut self, done: u64, total: u64) {
        self.0.lock().unwrap().push((done, total));
    }
}

/// In a run with several components, the total never changes, and the progress reaches it without going back.
#[test]
fn progress_runs_forward_to_one_end() {
    let ports = |name: &str| vec![Port::new(name, Type::Uint(4))];
    let mut program = ProgramBuilder::new("two", ports("x"), ports("y")).unwrap();
    let kinds = [("small", 20), ("large", 300)]
        .map(|(name, ands)| program.component(chain(name, 4, 4, ands)).unwrap());
    let first = program.slot(kinds[0], &[0, 1, 4, 5]).unwrap();
    let wires = program.slot(kinds[1], &[first, 2, 6, 7]).unwrap();
    let port = Port::new("z", Type::Uint(4));
    program.output(port, Recipient::Both, (wires..wires + 4).collect()).unwrap();
    let program = Arc::new(program.finish().unwrap());
    let [(left, _), (right, _)] = clocked_pair(1);
    let job = AgreedJob::new(program.clone(), 40, [[1; 32], [2; 32]]);
    let zeros = |party| vec![false; program.input_width(party)];
    let (x, y) = (zeros(Party::Garbler), zeros(Party::Evaluator));
    let steps: [Progress; 2] = Default::default();
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| duplo::garbler(left, &job, &x, Steps(steps[0].clone())).unwrap());
        duplo::evaluator(right, &job, &y, Steps(steps[1].clone())).unwrap();
        garbler.join().unwrap();
    });
    for steps in steps {
        let steps = steps.lock().unwrap();
        assert!(steps.len() > 1, "{steps:?}");
        assert!(steps.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 == pair[1].1), "{steps:?}");
        assert!(steps.last().is_some_and(|(done, total)| done == total && *total > 0), "{steps:?}");
    }
}

/// Runs both parties, each with its end of a connection and its observer. Returns the evaluator's phases and
/// the crossings of each.
fn clocked(
    lanes: usize,
    garbler: impl FnOnce(Channel, Box<dyn Observer>) + Send,
    evaluator: impl FnOnce(Channel, Box<dyn Observer>) -> Vec<PhaseReport>,
) -> (Vec<PhaseReport>, Vec<u64>) {
    let [(left, garblers), (right, evaluators)] = clocked_pair(lanes);
    let began = Arc::new(Mutex::new(Vec::new()));
    let phases = std::thread::scope(|scope| {
        let garbler = scope.spawn(|| garbler(left, Box::new(Watch(garblers, Arc::default()))));
        let phases = evaluator(right, Box::new(Watch(evaluators.clone(), began.clone())));
        garbler.join().unwrap();
        phases
    });
    let mut began = began.lock().unwrap().clone();
    began.push(("end", evaluators.load(Ordering::Relaxed)));
    let of = |name| began.windows(2).filter(|pair| pair[0].0 == name).map(|pair| pair[1].1 - pair[0].1).sum();
    let crossings = phases.iter().map(|phase| of(&phase.name)).collect();
    (phases, crossings)
}

fn job(program: &Arc<Program>, security: u32, threads: usize) -> AgreedJob {
    AgreedJob { threads, ..AgreedJob::new(program.clone(), security, [[1; 32], [2; 32]]) }
}

/// Compares a measured run with the prediction, phase by phase, for a machine and a network that take no
/// time.
#[track_caller]
fn is_exact(predicted: &plan::Cost, (phases, crossings): (Vec<PhaseReport>, Vec<u64>), what: &str) {
    assert_eq!(predicted.phases.len(), phases.len(), "{what}");
    for ((predicted, phase), crossings) in predicted.phases.iter().zip(&phases).zip(crossings) {
        assert_eq!(
            (
                &predicted.name,
                predicted.garbler_sent_bytes,
                predicted.evaluator_sent_bytes,
                predicted.crossings
            ),
            (&phase.name, phase.garbler_sent_bytes, phase.evaluator_sent_bytes, crossings),
            "{what}"
        );
        assert_eq!(predicted.seconds, 0.0, "nothing takes time on a free machine and line");
    }
}

fn check(program: Program, security: u32, threads: usize, lanes: u8) {
    let program = Arc::new(program);
    let parameters = Parameters::choose(&program, security).unwrap();
    let link = Link { lanes, ..Link::LOOPBACK };
    let predicted = duplo::cost::predict(&program, &parameters, &Machine::free(), &link);
    let job = job(&program, security, threads);
    let zeros = |party| vec![false; program.input_width(party)];
    let run = clocked(
        lanes.into(),
        |channel, watch| {
            duplo::garbler(channel, &job, &zeros(Party::Garbler), watch).unwrap();
        },
        |channel, watch| duplo::evaluator(channel, &job, &zeros(Party::Evaluator), watch).unwrap().phases,
    );
    let name = program.name();
    assert_eq!(run.0.iter().map(|phase| &*phase.name).collect::<Vec<_>>(), brickwork::duplo::Duplo::PHASES);
    // The limit is 12 because the evaluator's last message is one more crossing.
    assert!(predicted.crossings() < 12, "{name}: more than 6 round trips");
    is_exact(&predicted, run, &format!("{name} at {security} over {lanes} lanes"));
}

/// Checks the prediction for the semi-honest protocol.
fn check_semi_honest(program: Program, executions: usize, lanes: u8) {
    let program = Arc::new(program);
    let link = Link { lanes, ..Link::LOOPBACK };
    let predicted =
        semi_honest::cost::predict(&program, executions, Ots::Made, &Machine::free(), &link).unwrap();
    let job = job(&program, 40, 1);
    let zeros = |party| vec![false; executions * program.input_width(party)];
    let run = clocked(
        lanes.into(),
        |channel, watch| {
            semi_honest::garbler(channel, &job, executions, &zeros(Party::Garbler), watch).unwrap();
        },
        |channel, watch| {
            let zeros = zeros(Party::Evaluator);
            semi_honest::evaluator(channel, &job, executions, &zeros, watch).unwrap().phases
        },
    );
    is_exact(&predicted, run, &format!("{executions} x {} over {lanes} lanes", program.name()));
}

/// Checks the prediction for CompGC, with each linking.
fn check_compgc(program: Program, lanes: u8) {
    let program = Arc::new(program);
    let link = Link { lanes, ..Link::LOOPBACK };
    let job = job(&program, 40, 1);
    let zeros = |party| vec![false; program.input_width(party)];
    for linking in Linking::ALL {
        let predicted = compgc::cost::predict(&program, linking, &Machine::free(), &link).unwrap();
        let run = clocked(
            lanes.into(),
            |channel, watch| {
                compgc::garbler(channel, &job, linking, &zeros(Party::Garbler), watch).unwrap();
            },
            |channel, watch| {
                compgc::evaluator(channel, &job, linking, &zeros(Party::Evaluator), watch).unwrap().phases
            },
        );
        is_exact(&predicted, run, &format!("{linking:?} {} over {lanes} lanes", program.name()));
    }
}

/// Checks the prediction for LEGO.
fn check_lego(program: Program, security: u32, lanes: u8) {
    let program = Arc::new(program);
    let link = Link { lanes, ..Link::LOOPBACK };
    let job = job(&program, security, 1);
    let zeros = |party| vec![false; program.input_width(party)];
    let parameters = lego::parameters(&program, security).unwrap();
    let predicted = lego::cost::predict(&program, &parameters, &Machine::free(), &link).unwrap();
    let run = clocked(
        lanes.into(),
        |channel, watch| {
            lego::garbler(channel, &job, &zeros(Party::Garbler), watch).unwrap();
        },
        |channel, watch| lego::evaluator(channel, &job, &zeros(Party::Evaluator), watch).unwrap().phases,
    );
    is_exact(&predicted, run, &format!("{} at {security} bits over {lanes} lanes", program.name()));
}

/// Checks the prediction for JIMU, with gates and with components.
fn check_jimu(program: Program, security: u32, lanes: u8) {
    let program = Arc::new(program);
    let link = Link { lanes, ..Link::LOOPBACK };
    let job = job(&program, security, 1);
    let zeros = |party| vec![false; program.input_width(party)];
    for unit in jimu::Unit::ALL {
        let (predicted, _) = jimu::cost::predict(&program, unit, security, &Machine::free(), &link).unwrap();
        let run = clocked(
            lanes.into(),
            |channel, watch| {
                jimu::garbler(channel, &job, unit, &zeros(Party::Garbler), watch).unwrap();
            },
            |channel, watch| {
                jimu::evaluator(channel, &job, unit, &zeros(Party::Evaluator), watch).unwrap().phases
            },
        );
        let what = format!("jimu {} by {unit:?} at {security} bits over {lanes} lanes", program.name());
        is_exact(&predicted, run, &what);
    }
}

/// Checks the prediction for components with authenticated masks.
fn check_authenticated(program: Program, security: u32, cot: Cot, lanes: u8) {
    let program = Arc::new(program);
    let link = Link { lanes, ..Link::LOOPBACK };
    let job = job(&program, security, 1);
    let zeros = |party| vec![false; program.input_width(party)];
    let (predicted, _) =
        authenticated::cost::predict(&program, security, cot, &Machine::free(), &link).unwrap();
    let run = clocked(
        lanes.into(),
        |channel, watch| {
            authenticated::garbler(channel, &job, cot, &zeros(Party::Garbler), watch).unwrap();
        },
        |channel, watch| {
            authenticated::evaluator(channel, &job, cot, &zeros(Party::Evaluator), watch).unwrap().phases
        },
    );
    is_exact(&predicted, run, &format!("authenticated {} at {security} bits", program.name()));
}

/// Makes a component of `ands` AND gates in a row.
fn chain(name: &str, inputs: u32, outputs: u32, ands: u32) -> Component {
    let mut builder = Builder::new(inputs);
    let bits = builder.all_inputs();
    let mut wires = bits.clone();
    for k in 0..ands {
        let (last, other) = (wires[wires.len() - 1], bits[(k % inputs) as usize]);
        let next = builder.and(last, other);
        let next = builder.xor(next, bits[((k + 1) % inputs) as usize]);
        wires.push(next);
    }
    let outs: Vec<_> = (0..outputs as usize).map(|k| wires[wires.len() - 1 - k % wires.len()]).collect();
    Component {
        name: name.into(),
        inputs: vec![Port::new("in", Type::Uint(inputs))],
        outputs: vec![Port::new("out", Type::Uint(outputs))],
        circuit: Arc::new(builder.finish(&outs).unwrap()),
    }
}

/// Makes components of random sizes, of which one is never used and one has no AND gates, in slots that read
/// random wires.
fn random_program(rng: &mut Rng) -> Program {
    let mut below = |n: u64| rng.below(n) as u32;
    let (x, y) = (below(9), 1 + below(20));
    let ports = |name: &str, width: u32| {
        if width > 0 { vec![Port::new(name, Type::Uint(width))] } else { Vec::new() }
    };
    let mut program = ProgramBuilder::new("random", ports("x", x), ports("y", y)).unwrap();
    let kinds: Vec<_> = (0..4)
        .map(|k| {
            let (inputs, outputs, ands) = (2 + below(6), 1 + below(5), if k == 1 { 0 } else { below(40) });
            (program.component(chain(&format!("c{k}"), inputs, outputs, ands)).unwrap(), inputs)
        })
        .collect();
    for _ in 0..1 + below(5) {
        let (kind, inputs) = kinds[below(3) as usize];
        let wires = u64::from(program.wires());
        let from: Vec<u32> = (0..inputs).map(|_| below(wires)).collect();
        program.slot(kind, &from).unwrap();
    }
    let wires = u64::from(program.wires());
    for to in [Recipient::Garbler, Recipient::Evaluator, Recipient::Both] {
        let width = 1 + below(12);
        program
            .output(
                Port::new(format!("{to:?}"), Type::Uint(width)),
                to,
                (0..width).map(|_| below(wires)).collect(),
            )
            .unwrap();
    }
    program.finish().unwrap()
}

#[test]
fn bytes_and_rounds_of_random_programs_are_as_predicted() {
    let mut rng = draws();
    for round in 0..6 {
        check(random_program(&mut rng), [40, 64, 80][round % 3], 1 + round % 2, 1 + round as u8 / 2);
    }
    for executions in [1, 2, 3, 5, 8, 17, 100] {
        check_semi_honest(random_program(&mut rng), executions, 1 + executions as u8 % 3);
        check_compgc(random_program(&mut rng), 1 + executions as u8 % 3);
    }
}

/// Makes a program without slots, whose wires lead from one party's input to the outputs of `to`.
fn wires(from: Party, width: u32, to: Recipient) -> Program {
    let ports = |p| if p == from { vec![Port::new("in", Type::Uint(width))] } else { Vec::new() };
    let mut program = ProgramBuilder::new("wires", ports(Party::Garbler), ports(Party::Evaluator)).unwrap();
    program.output(Port::new("out", Type::Uint(width)), to, (0..width).collect()).unwrap();
    program.finish().unwrap()
}

/// The programs have many messages of tables, many batches of executions, inputs or outputs of one party
/// only, or no component.
#[test]
fn semi_honest_bytes_and_rounds_are_as_predicted() {
    let aes = aes::aes_128().unwrap();
    check_semi_honest(aes.clone(), 1, 1);
    check_semi_honest(aes.clone(), 300, 2);
    check_semi_honest(aes.repeat(7).unwrap(), 1, 3);
    check_semi_honest(aes::cbc_mac(3).unwrap(), 2, 1);
    check_semi_honest(aes::aes_from_rounds(aes::KeySize::Aes128).unwrap(), 16, 1);
    for from in [Party::Garbler, Party::Evaluator] {
        for to in [Recipient::Garbler, Recipient::Evaluator, Recipient::Both] {
            check_semi_honest(wires(from, 5, to), 3, 1);
            // The inputs are so wide that each execution is a batch.
            check_semi_honest(wires(from, 40_000, to), 3, 1);
        }
    }
}

/// Checks the prediction for runs on OTs from a store: of one epoch or several, for programs that take a
/// ticket, and in many batches.
#[test]
fn semi_honest_bytes_and_rounds_from_stock_are_as_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let stored = |party: Party| {
        Store::open(&folder.path().join(format!("{party:?}")), &StoreKey::from_bytes([7; 32])).unwrap()
    };
    let terms = job(&Arc::new(wires(Party::Garbler, 5, Recipient::Both)), 40, 1).terms();
    let total = 120_000 + 300 * 128 + 3000;
    let mut left = total;
    let mut check = |program: Program, executions: usize, epochs: u64, lacking: Lacking| {
        let ots = Ots::Stocked { epochs };
        let predicted =
            semi_honest::cost::predict(&program, executions, ots, &Machine::free(), &Link::LOOPBACK).unwrap();
        let zeros = |party| vec![false; executions * program.input_width(party)];
        let run = |party, channel, watch| {
            let store = stored(party);
            let line = semi_honest::Stocked::open(party, channel, &store, &terms, watch).unwrap();
            line.run(&program, executions, &zeros(party), lacking).unwrap().1.close().unwrap()
        };
        let ran = clocked(
            1,
            |channel, watch| drop(run(Party::Garbler, channel, watch)),
            |channel, watch| run(Party::Evaluator, channel, watch),
        );
        if lacking == Lacking::Refuse {
            left -= semi_honest::ots(&program, executions).unwrap();
            is_exact(&predicted, ran, &format!("{executions} x {} from stock", program.name()));
        }
        left
    };
    let fill = |count: usize| {
        let fill = |party, channel, watch| {
            let store = stored(party);
            let line = semi_honest::Stocked::open(party, channel, &store, &terms, watch).unwrap();
            line.preprocess(count).unwrap().1.close().unwrap()
        };
        let _ = clocked(
            1,
            |channel, watch| drop(fill(Party::Garbler, channel, watch)),
            |channel, watch| fill(Party::Evaluator, channel, watch),
        );
    };
    fill(1000);
    let _ = check(wires(Party::Garbler, 5, Recipient::Both), 3, 1, Lacking::Refuse);
    let _ = check(aes::aes_128().unwrap(), 1, 1, Lacking::Refuse);
    let _ = check(aes::cbc_mac(3).unwrap(), 2, 1, Lacking::Refuse);
    fill(total - 1000);
    let _ = check(aes::aes_128().unwrap(), 300, 1, Lacking::Refuse);
    let left = check(wires(Party::Evaluator, 40_000, Recipient::Evaluator), 3, 1, Lacking::Refuse);
    // This run takes all OTs that are left. The next run finds none, and burns the used epochs.
    let _ = check(wires(Party::Evaluator, left as u32, Recipient::Garbler), 1, 1, Lacking::Refuse);
    let _ = check(wires(Party::Garbler, 5, Recipient::Evaluator), 1, 1, Lacking::Make);
    let _ = check(wires(Party::Garbler, 5, Recipient::Evaluator), 1, 1, Lacking::Make);
}

/// The predictions also hold for programs without slots: without inputs of one of the parties, and with many
/// OTs.
#[test]
fn those_of_programs_without_slots_too() {
    for (party, width) in [(Party::Garbler, 5), (Party::Evaluator, 5), (Party::Evaluator, 64 * 128 + 1)] {
        check(wires(party, width, Recipient::Both), 40, 2, 1);
    }
}

/// The predictions also hold for larger programs: their messages have many frames over several lanes, and
/// their commitments need more than one message of corrections.
#[test]
fn those_of_larger_programs_too() {
    let aes = aes::aes_128().unwrap();
    check(aes.repeat(32).unwrap(), 40, 2, 3);
    check(aes, 40, 2, 1);
    check(aes::aes_from_rounds(aes::KeySize::Aes128).unwrap(), 64, 2, 1);
    check(aes::cbc_mac(4).unwrap(), 40, 2, 2);
}

/// On a slower network a run takes longer, by at least the time of its bytes, and other parameters keep the
/// bound.
#[test]
fn estimates_follow_the_link_and_alternatives_keep_the_bound() {
    let program = aes::aes_128().unwrap();
    let parameters = Parameters::choose(&program, 40).unwrap();
    let free = Machine::free();
    let slow = Link { bits_per_second: Some(200e6), rtt_seconds: 0.096, lanes: 1 };
    let cost = duplo::cost::predict(&program, &parameters, &free, &slow);
    let least = cost.phases.iter().map(|p| p.garbler_sent_bytes as f64).sum::<f64>() * 8.0 / 200e6
        + cost.crossings() as f64 * 0.048;
    assert!((cost.seconds() / least - 1.0).abs() < 0.1, "{} and {least}", cost.seconds());

    let others = parameters.alternatives(&program).unwrap();
    assert!(others.len() > 3);
    for other in &others {
        let rule = brickwork::cut_and_choose::BucketRule::COMPONENT;
        assert!(other.components[0].bound(rule).log2() <= parameters.components[0].bound(rule).log2());
        let bytes = duplo::cost::predict(&program, other, &free, &Link::LOOPBACK).bytes();
        assert!(bytes > 32 * 6400 * other.components[0].kept());
    }
}

/// The kernels for which a reference machine was measured.
const KERNELS: [&str; 4] = ["vaes-avx512", "vaes-avx2", "aes-ni", "portable"];

/// Returns the costs of a program in its own cut and in one piece, and the index of the cut that a run takes.
fn cuts(program: &Program, kernel: &str, link: &Link) -> ([plan::Cost; 2], usize) {
    let machine = Machine::known(kernel, 2);
    let costs = [program.clone(), program.whole().unwrap()].map(|program| {
        let parameters = duplo::cost::choose(&program, 40, &machine, link).unwrap();
        duplo::cost::predict(&program, &parameters, &machine, link)
    });
    let best = plan::best_cut(&costs).unwrap();
    (costs, best)
}

/// A run keeps the given cut if another cut gains less than the error of a prediction, or loses. A component
/// that is used once needs many more copies for its slot than one that is used often. A run takes another cut
/// if the program has a thousand slots of one gate, which cost many times as much as one piece.
#[test]
fn another_cut_must_be_worth_it() {
    for kernel in KERNELS {
        let choice = |program: &Program| cuts(program, kernel, &Link::LOOPBACK);
        let ([given, whole], best) = choice(&papers::random(10, 0).unwrap());
        assert!(best == 1 && whole.seconds() < 0.5 * given.seconds(), "{kernel}: {given:?} {whole:?}");
        let ([given, whole], best) = choice(&aes::cbc_mac(32).unwrap());
        assert!(best == 0 && given.seconds() < whole.seconds(), "{kernel}: {given:?} {whole:?}");
        assert!(given.cpu_seconds > 0.5 * given.seconds(), "{kernel}: {given:?}");
    }
    let of = |seconds: f64| plan::Cost {
        phases: vec![plan::PhaseCost {
            name: "build".into(),
            seconds,
            garbler_sent_bytes: 0,
            evaluator_sent_bytes: 0,
            crossings: 0,
        }],
        cpu_seconds: seconds,
        memory_bytes: plan::PartyBytes::default(),
        disk_bytes: plan::PartyBytes::default(),
    };
    let best = |seconds: &[f64]| plan::best_cut(&seconds.iter().map(|&s| of(s)).collect::<Vec<_>>());
    assert_eq!(best(&[]), None);
    assert_eq!(best(&[1.0]), Some(0));
    assert_eq!(best(&[1.0, 2.0, 0.9]), Some(0), "within the error");
    assert_eq!(best(&[1.0, 0.8, 0.7, 0.75]), Some(2), "the fastest of those that are worth it");
}

/// An estimate takes no measurement and is good enough for a plan.
#[test]
fn a_machine_is_estimated_at_once() {
    let machine = plan::estimated().unwrap();
    assert!(machine.is_sound() && !plan::is_whole(&machine), "{machine:?}");
    let [slow, fast] = ["aes-ni", "vaes-avx512"].map(|kernel| Machine::known(kernel, 2));
    let program = aes::aes_128().unwrap().repeat(64).unwrap();
    let parameters = Parameters::choose(&program, 40).unwrap();
    let cpu =
        |machine: &Machine| duplo::cost::predict(&program, &parameters, machine, &Link::LOOPBACK).cpu_seconds;
    assert!(cpu(&slow) > cpu(&fast));
}

/// The programs have no component, components with each linking, or inputs or outputs of one party only.
#[test]
fn compgc_bytes_and_rounds_are_as_predicted() {
    check_compgc(aes::aes_128().unwrap(), 1);
    check_compgc(aes::cbc_mac(3).unwrap(), 2);
    check_compgc(aes::aes_from_rounds(aes::KeySize::Aes128).unwrap().repeat(3).unwrap(), 1);
    for from in [Party::Garbler, Party::Evaluator] {
        for to in [Recipient::Garbler, Recipient::Evaluator, Recipient::Both] {
            check_compgc(wires(from, 5, to), 1);
            check_compgc(wires(from, 40_000, to), 3);
        }
    }
}

#[test]
fn lego_runs_are_what_was_said() {
    let mut rng = draws();
    for round in 0..6 {
        check_lego(random_program(&mut rng), if round == 0 { 64 } else { 40 }, 1 + round % 2);
    }
    check_lego(aes::aes_from_rounds(aes::KeySize::Aes128).unwrap().repeat(2).unwrap(), 40, 1);
    for from in [Party::Garbler, Party::Evaluator] {
        for to in [Recipient::Garbler, Recipient::Evaluator, Recipient::Both] {
            check_lego(wires(from, 5, to), 40, 1);
            check_lego(wires(from, 5_000, to), 40, 1);
        }
    }
}

/// Checks the predictions for making DUPLO's stock in one step and for a run from it, with a whole promise
/// and with a share of a promise.
#[test]
fn duplo_stock_and_runs_from_it_are_what_was_said() {
    let mut rng = draws();
    let one = |security: u32| brickwork::Security::from(security);
    let share = brickwork::Security::shared(40, 20).unwrap();
    let programs = [
        (random_program(&mut rng), one(40), 3),
        (random_program(&mut rng), one(64), 1),
        (wires(Party::Garbler, 5, Recipient::Both), one(40), 2),
        (wires(Party::Evaluator, 3000, Recipient::Garbler), one(40), 1),
        (aes::aes_from_rounds(aes::KeySize::Aes128).unwrap(), share, 2),
    ];
    for (program, security, executions) in programs {
        let folder = tempfile::tempdir().unwrap();
        let program = Arc::new(program);
        let terms = Terms { security, ..job(&program, 40, 1).terms() };
        let request = duplo::cost::request(&program, executions).unwrap();
        let zeros = |party| vec![false; program.input_width(party)];
        let one = |party: Party, channel, watch, fills: bool| {
            let store = folder.path().join(format!("{party:?}"));
            let store = Store::open(&store, &StoreKey::from_bytes([7; 32])).unwrap();
            let line = duplo::Stocked::open(party, channel, &store, &terms, watch).unwrap();
            match fills {
                true => line.preprocess(std::slice::from_ref(&request)).unwrap().1,
                false => line.run(&program, &zeros(party), Lacking::Refuse).unwrap().1,
            }
            .close()
            .unwrap()
        };
        let both = |fills: bool| {
            clocked(
                1,
                |channel, watch| drop(one(Party::Garbler, channel, watch, fills)),
                |channel, watch| one(Party::Evaluator, channel, watch, fills),
            )
        };
        let (machine, link) = (Machine::free(), Link::LOOPBACK);
        let filling = duplo::cost::script_of_filling(&program, executions, security).unwrap();
        is_exact(
            &plan::predict(&filling, &machine, &link),
            both(true),
            &format!("{} is made", program.name()),
        );
        let running = duplo::cost::script_from_stock(&program, Some(1), security).unwrap();
        is_exact(&plan::predict(&running, &machine, &link), both(false), &format!("{} runs", program.name()));
    }
}

/// Each worker of a step sends exactly the predicted bytes.
#[test]
fn workers_send_what_was_said() {
    let mut rng = draws();
    let programs = [
        (random_program(&mut rng), 40, 5, 2),
        (wires(Party::Evaluator, 300, Recipient::Both), 64, 4, 3),
        (aes::aes_from_rounds(aes::KeySize::Aes128).unwrap(), 40, 3, 3),
    ];
    for (program, security, executions, workers) in programs {
        let program = Arc::new(program);
        if program.input_width(Party::Evaluator) == 0 {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let terms = job(&program, security, 1).terms();
        let request = [duplo::cost::request(&program, executions).unwrap()];
        let (main, lanes) = (memory_pair(), (0..workers).map(|_| memory_pair()));
        let (left, right): (Vec<_>, Vec<_>) = lanes.unzip();
        let one = |party: Party, channel, lanes: Vec<Channel>| {
            let store = folder.path().join(format!("{party:?}"));
            let store = Store::open(&store, &StoreKey::from_bytes([7; 32])).unwrap();
            let line = duplo::Stocked::open(party, channel, &store, &terms, Unobserved).unwrap();
            let (_, phases, line) = line.preprocess_by(&request, lanes).unwrap();
            line.close().unwrap();
            phases
        };
        let phases = std::thread::scope(|scope| {
            let garbler = scope.spawn(|| one(Party::Garbler, main.0, left));
            let phases = one(Party::Evaluator, main.1, right);
            garbler.join().unwrap();
            phases
        });
        let scripts =
            duplo::cost::scripts_of_workers(&program, executions, workers, security.into()).unwrap();
        let sent = |phases: &Vec<PhaseReport>| {
            let bytes = phases.iter().map(|phase| [phase.garbler_sent_bytes, phase.evaluator_sent_bytes]);
            bytes.fold([0; 2], |all: [u64; 2], some| [0, 1].map(|k| all[k] + some[k]))
        };
        let said: Vec<_> = scripts.iter().map(|script| script.sent_bytes(1)).collect();
        assert_eq!(phases.iter().map(sent).collect::<Vec<_>>(), said, "{}", program.name());
    }
}

/// Computes the saving of one cut-and-choose over all workers, compared with one for each worker, for
/// 8.3*10^8 AND gates. docs/project/benchmarks.md has this number. The bytes are exact, and the CPU time is
/// that of a reference machine.
#[test]
fn what_one_cut_over_all_workers_would_save() {
    let program = aes::aes_from_rounds(aes::KeySize::Aes128).unwrap().whole().unwrap();
    let (machine, link) = (Machine::known("vaes-avx512", 2), Link::LOOPBACK);
    let made = |workers: usize| {
        let scripts = duplo::cost::scripts_of_workers(&program, 130_000, workers, 40.into()).unwrap();
        let sent: u64 = scripts.iter().flat_map(|script| script.sent_bytes(1)).sum();
        let cpu = scripts.iter().map(|script| plan::predict(script, &machine, &link).cpu_seconds);
        (sent as f64, cpu.sum::<f64>())
    };
    let (ands, one) = (130_000.0 * program.components()[0].circuit.and_gates() as f64, made(1));
    let figures = [
        (1, ["165.9", "1.00", "395", "1.00"]),
        (4, ["174.1", "1.05", "498", "1.26"]),
        (16, ["207.4", "1.25", "510", "1.29"]),
        (64, ["246.3", "1.49", "593", "1.50"]),
    ];
    for (workers, figures) in figures {
        let (bytes, cpu) = made(workers);
        let found = [
            format!("{:.1}", bytes / ands),
            format!("{:.2}", bytes / one.0),
            format!("{cpu:.0}"),
            format!("{:.2}", cpu / one.1),
        ];
        println!("counted: {workers} workers: bytes an AND gate, against one, CPU, against one: {found:?}");
        assert_eq!(found, figures, "{workers} workers");
    }
}

/// Checks the predictions for LEGO on gates from stock and on programs that were built ahead, from one epoch
/// and from two, at two security levels.
#[test]
fn lego_runs_from_stock_are_what_was_said() {
    let mut rng = draws();
    let programs = [
        (random_program(&mut rng), 40),
        (random_program(&mut rng), 64),
        (wires(Party::Garbler, 5, Recipient::Both), 40),
        (wires(Party::Evaluator, 3000, Recipient::Garbler), 40),
        (aes::aes_from_rounds(aes::KeySize::Aes128).unwrap(), 40),
    ];
    for (program, security) in programs {
        let folder = tempfile::tempdir().unwrap();
        let stored = |party: Party| {
            let name = format!("{party:?}");
            Store::open(&folder.path().join(name), &StoreKey::from_bytes([7; 32])).unwrap()
        };
        let program = Arc::new(program);
        let terms = job(&program, security, 1).terms();
        let zeros = |party| vec![false; program.input_width(party)];
        let request = lego::Request::of(&program).unwrap();
        let one = |party: Party, channel, watch, asked: &Asked| {
            let store = stored(party);
            let line = lego::Stocked::open(party, channel, &store, &terms, watch).unwrap();
            match asked {
                Asked::Fill => line.preprocess(&request.times(2).unwrap()).unwrap().1,
                Asked::Build => line.build(&program, Lacking::Refuse).unwrap().1,
                Asked::Run => line.run(&program, &zeros(party), Lacking::Refuse).unwrap().1,
            }
            .close()
            .unwrap()
        };
        let both = |asked: Asked| {
            clocked(
                1,
                |channel, watch| drop(one(Party::Garbler, channel, watch, &asked)),
                |channel, watch| one(Party::Evaluator, channel, watch, &asked),
            )
        };
        let check = |stock: lego::cost::GateSource| {
            let (machine, link) = (Machine::free(), Link::LOOPBACK);
            let predicted = lego::cost::predict_from_stock(&program, stock, security, &machine, &link);
            is_exact(&predicted.unwrap(), both(Asked::Run), &format!("{} {stock:?}", program.name()));
        };
        let _ = both(Asked::Fill);
        let _ = both(Asked::Build);
        check(lego::cost::GateSource::Built { epochs: 1 });
        // An epoch from which a program has taken items gets no more stock, so another epoch begins.
        let _ = both(Asked::Fill);
        check(lego::cost::GateSource::Gates { epochs: 2 });
        // The next connection burns the used epochs, and its comparison of the stores names them once more.
        check(lego::cost::GateSource::Gates { epochs: 2 });
        let _ = both(Asked::Build);
        check(lego::cost::GateSource::Built { epochs: 1 });
    }
    enum Asked {
        Fill,
        Build,
        Run,
    }
}

/// Checks the predictions for JIMU on gates and on components from stock, from one epoch and from two, at two
/// security levels.
#[test]
fn jimu_runs_from_stock_are_what_was_said() {
    let mut rng = draws();
    let programs = [
        (random_program(&mut rng), 40),
        (random_program(&mut rng), 64),
        (wires(Party::Garbler, 5, Recipient::Both), 40),
        (wires(Party::Evaluator, 700, Recipient::Garbler), 40),
    ];
    let cut = |(program, security)| jimu::Unit::ALL.map(|unit| (Arc::clone(&program), unit, security));
    let programs = programs.map(|(program, security)| (Arc::new(program), security));
    for (program, unit, security) in programs.into_iter().flat_map(cut) {
        let folder = tempfile::tempdir().unwrap();
        let terms = job(&program, security, 1).terms();
        let request = jimu::Request::of(&program, unit).unwrap();
        let one = |party: Party, channel, watch, run: bool| {
            let path = folder.path().join(format!("{party:?}"));
            let store = Store::open(&path, &StoreKey::from_bytes([7; 32])).unwrap();
            let line = jimu::Stocked::open(party, channel, &store, &terms, watch).unwrap();
            let input = vec![false; program.input_width(party)];
            match run {
                true => line.run(&program, Some(unit), &input, Lacking::Refuse).unwrap().1.close().unwrap(),
                false => line.preprocess(&request).unwrap().1.close().unwrap(),
            }
        };
        let both = |run: bool| {
            clocked(
                1,
                |channel, watch| drop(one(Party::Garbler, channel, watch, run)),
                |channel, watch| one(Party::Evaluator, channel, watch, run),
            )
        };
        // The next connection burns the used epochs, and its comparison of the stores names them once more.
        for epochs in [1, 2] {
            let _ = both(false);
            let (machine, link) = (Machine::free(), Link::LOOPBACK);
            let predicted = jimu::cost::predict_from_stock(&program, unit, 1, security, &machine, &link);
            is_exact(&predicted.unwrap(), both(true), &format!("{} {unit:?} {epochs}", program.name()));
        }
    }
}

#[test]
fn runs_with_authenticated_masks_are_what_was_said() {
    for cot in Cot::ALL {
        check_authenticated(aes::aes_128().unwrap(), 40, cot, 1);
    }
    check_authenticated(aes::aes_128().unwrap().repeat(32).unwrap(), 40, Cot::default(), 1);
    for (k, security) in [40, 64, 80].into_iter().enumerate() {
        for (from, to) in [(Party::Garbler, Recipient::Evaluator), (Party::Evaluator, Recipient::Garbler)] {
            check_authenticated(
                wires(from, 5, to),
                security,
                Cot::ALL[(k + 2) % Cot::ALL.len()],
                1 + k as u8,
            );
        }
    }
}

#[test]
fn jimu_runs_are_what_was_said() {
    check_jimu(aes::aes_128().unwrap(), 40, 1);
    for (k, security) in [40, 64, 80].into_iter().enumerate() {
        for (from, to) in [(Party::Garbler, Recipient::Evaluator), (Party::Evaluator, Recipient::Garbler)] {
            check_jimu(wires(from, 5, to), security, 1 + k as u8);
        }
    }
}
