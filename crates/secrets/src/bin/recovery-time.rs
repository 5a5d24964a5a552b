//! Whether a garbler can tell by the clock that the evaluator has recovered its input: `cargo xtask
//! recovery-time [RUNS]`.
//!
//! Sessions in which one copy gives the opposite output, with a valid label, and honest ones take turns in
//! random order. What the garbler can measure is the time from its last message to the evaluator's. Two tests
//! compare the times of both kinds, Welch's and that of ranks. The challenge is known to the garbler, so it
//! is never caught.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use brickwork::circuit::{Party, Program, library};
use brickwork::duplo::Parameters;
use brickwork::duplo::adversary::harness::{SEED, chosen, small};
use brickwork::duplo::adversary::{Hooks, Point, StateHook, evaluator, garbler};
use brickwork::random::Rng;
use brickwork::session::{Job, TABLE_MEMORY};
use brickwork::wire::memory_pair;
use brickwork_secrets::welch::{CERTAIN, Comparison, Times};

/// Runs that warm up caches.
const COLD: usize = 10;

/// A session; returns what the garbler measures, in nanoseconds, and whether the evaluator recovered.
fn session(program: &Arc<Program>, parameters: &Parameters, cheat: bool, rng: &mut Rng) -> (f64, bool) {
    let job = Job {
        program: program.clone(),
        security: 40,
        threads: 1,
        table_memory: TABLE_MEMORY,
        identities: [[1; 32], [2; 32]],
        post_quantum: false,
    };
    let mut inputs = [Party::Garbler, Party::Evaluator]
        .map(|party| (0..program.input_width(party)).map(|_| rng.below(2) == 1).collect::<Vec<bool>>());
    let [x, y] = std::mem::take(&mut inputs);
    let (mut left, right) = memory_pair();
    let last = Arc::new(Mutex::new(Instant::now()));
    let sent = last.clone();
    left.set_tamper(Box::new(move |_, _| *sent.lock().expect("no panic") = Instant::now()));
    let outputs = program.components()[0].circuit.outputs().len();
    let lie = 16 * outputs * chosen(parameters.components[0])[1];
    let hooks = |alter: StateHook| Hooks {
        alter: Some(alter),
        parameters: Some(parameters.clone()),
        dealer: Some([7; 32]),
        ..Hooks::default()
    };
    let lies = hooks(Box::new(move |point, bytes| {
        if cheat && point == Point::CommittedOutputs(0) {
            bytes[lie] ^= 1;
        }
    }));
    let known = hooks(Box::new(|point, bytes| {
        if point == Point::Challenge {
            bytes.fill(SEED);
        }
    }));
    let (taken, recovered) = std::thread::scope(|scope| {
        let job = &job;
        let garbled = scope.spawn(move || {
            let report = garbler(left, job, &x, lies);
            let taken = last.lock().expect("no panic").elapsed();
            report.map(|_| taken)
        });
        let evaluated = evaluator(right, job, &y, known);
        (garbled.join().expect("no panic").expect("a run"), evaluated.expect("a run").aside.recovered)
    });
    (taken.as_nanos() as f64, recovered)
}

fn main() -> ExitCode {
    let runs = match std::env::args().nth(1).map(|runs| runs.parse::<usize>()) {
        None => 1000,
        Some(Ok(runs)) if runs >= 20 => runs,
        Some(_) => {
            eprintln!("usage: recovery-time [RUNS], at least 20");
            return ExitCode::from(2);
        }
    };
    let mut rng = Rng::new("recovery time").expect("the operating system has randomness");
    let program = Arc::new(library::aes::aes_128().expect("the circuit"));
    let parameters = small(&program, [3, 2], [3, 2], [3, 2]);
    let mut times = Times::default();
    for run in 0..COLD + runs {
        let cheat = rng.below(2) == 1;
        let (taken, recovered) = session(&program, &parameters, cheat, &mut rng);
        assert_eq!(cheat, recovered, "the cheat is seen, and nothing else is");
        if run >= COLD {
            times.add(cheat, taken);
        }
    }
    let Comparison { t, difference, median } = times.compare();
    println!("{runs} sessions of AES-128, buckets of 3; from the garbler's last message to the evaluator's:");
    println!(
        "  median {:.1} us without recovery, {:.1} us with it",
        times.median(false) / 1e3,
        times.median(true) / 1e3
    );
    println!(
        "  Welch's t {t:+.1} at a difference of {:+.1} us of {:.1} us; ranks {:+.1} standard deviations",
        difference / 1e3,
        median / 1e3,
        times.rank_test()
    );
    if t.abs() > CERTAIN {
        eprintln!("the times differ for certain");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
