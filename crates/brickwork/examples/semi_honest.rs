//! Times Yao's protocol with half-gates, both parties as two threads over loopback TLS, on random inputs:
//! `cargo run --release -p brickwork --example semi_honest -- PROGRAM.bwp EXECUTIONS`.
//!
//! The outputs of both parties are compared with a simulation, and the cost with the prediction for this
//! machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brickwork::ProtocolError as Error;
use brickwork::circuit::{Party, Program};
use brickwork::plan::{self, Link};
use brickwork::protocol::{AgreedJob, Unobserved};
use brickwork::random::Rng;
use brickwork::semi_honest::{self, Ots, Report};
use brickwork::wire::tls::{self, EndpointOptions, Identity, Listener};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, executions] = &arguments[..] else { return Err("PROGRAM.bwp EXECUTIONS".into()) };
    let (program, executions): (_, usize) =
        (Program::from_bytes(&std::fs::read(file)?)?, executions.parse()?);
    let program = Arc::new(program);
    let mut rng = Rng::new("brickwork semi-honest example")?;
    let mut random = |party| -> Vec<bool> {
        (0..executions * program.input_width(party)).map(|_| rng.below(2) == 1).collect()
    };
    let inputs = [random(Party::Garbler), random(Party::Evaluator)];
    let start = Instant::now();
    let [garbler, evaluator] = run(&program, executions, &inputs)?;
    let seconds = start.elapsed().as_secs_f64();
    let memory = peak_memory();
    let predicted =
        semi_honest::cost::predict(&program, executions, Ots::Made, &plan::measured()?, &Link::LOOPBACK)?;

    let (mut own, mut common) = (Vec::new(), Vec::new());
    for execution in 0..executions {
        let input = |k: usize, party| {
            let width = program.input_width(party);
            &inputs[k][execution * width..(execution + 1) * width]
        };
        let ports = program.simulate(input(0, Party::Garbler), input(1, Party::Evaluator));
        for (output, bits) in program.outputs().iter().zip(ports) {
            if output.to.includes(Party::Evaluator) {
                let alone = !output.to.includes(Party::Garbler) || executions == 1;
                if alone { &mut own } else { &mut common }.extend(bits);
            }
        }
    }
    own.append(&mut common);
    assert_eq!(evaluator.outputs, own, "the evaluator's outputs");
    let ands = program.and_gates() * executions as u64;
    let after_setup: f64 = evaluator.phases.iter().skip(1).map(|phase| phase.seconds).sum();
    println!("{executions} x {}: {ands} AND gates, {seconds:.4} s in all", program.name());
    for (phase, predicted) in evaluator.phases.iter().zip(&predicted.phases) {
        println!(
            "  {:10} {:9.4} s, predicted {:9.4} s  garbler sent {:12} bytes, evaluator {:9}",
            phase.name,
            phase.seconds,
            predicted.seconds,
            phase.garbler_sent_bytes,
            phase.evaluator_sent_bytes
        );
    }
    println!(
        "  memory {memory} for both, their inputs and outputs; predicted for one {} KiB, the other {} KiB",
        predicted.memory_bytes.garbler >> 10,
        predicted.memory_bytes.evaluator >> 10
    );
    println!("  after setup {after_setup:.4} s, {:.1} M AND/s", ands as f64 / after_setup / 1e6);
    println!("  {}", garbler.promise.model.name());
    Ok(())
}

/// Returns the largest amount of memory that this process has had so far, if the system can tell.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".into(), |peak| peak.trim().to_owned())
}

fn run(program: &Arc<Program>, executions: usize, inputs: &[Vec<bool>; 2]) -> Result<[Report; 2], Error> {
    let keys = [Identity::generate()?.0, Identity::generate()?.0];
    let identities = [0, 1].map(|k: usize| keys[k].public_key().to_bytes());
    let job = AgreedJob::new(program.clone(), 40, identities);
    let options = |party| EndpointOptions { party, lanes: 1, timeout: Duration::from_secs(60) };
    let listener = Listener::bind("127.0.0.1:0", &keys[0], keys[1].public_key(), &options(Party::Garbler))?;
    let address = listener.local_addr()?.to_string();
    std::thread::scope(|scope| {
        let garbler = scope
            .spawn(|| semi_honest::garbler(listener.accept()?, &job, executions, &inputs[0], Unobserved));
        let channel = tls::connect(&address, &keys[1], keys[0].public_key(), &options(Party::Evaluator))?;
        let evaluator = semi_honest::evaluator(channel, &job, executions, &inputs[1], Unobserved)?;
        Ok([garbler.join().expect("the garbler does not panic")?, evaluator])
    })
}
