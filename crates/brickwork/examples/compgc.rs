//! Times CompGC with the programs of its paper, both parties as two threads over loopback TLS, on random
//! inputs: `cargo run --release -p brickwork --example compgc -- ROUNDS [DIR]`. With a folder it writes the
//! programs there.
//!
//! Both parties' outputs are compared with a simulation. The bytes and the CPU time are those of the online
//! phase, which begins when the inputs are there and ends with the outputs. The CPU time is the median over
//! the rounds of the evaluator's thread, and does not include closing the connection.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use brickwork::circuit::library::compgc::{aes, cbc, levenshtein};
use brickwork::circuit::{Party, Program};
use brickwork::compgc::{self, Linking, Report};
use brickwork::plan::thread_seconds;
use brickwork::protocol::{AgreedJob, Observer, Unobserved};
use brickwork::random::Rng;
use brickwork::wire::tls::{self, EndpointOptions, Identity, Listener};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds: usize = arguments.first().ok_or("ROUNDS [DIR]")?.parse()?;
    println!("kernel {}", brickwork_kernels::Kernel::best().name());
    for program in [aes()?, cbc(10)?, levenshtein([30, 30], 8)?, levenshtein([60, 60], 8)?] {
        if let Some(folder) = arguments.get(1) {
            std::fs::write(format!("{folder}/{}.bwp", program.name()), program.to_bytes())?;
        }
        let program = Arc::new(program);
        println!("{}: {} slots, {} AND gates", program.name(), program.slot_count(), program.and_gates());
        for linking in Linking::ALL {
            let mut seconds = Vec::new();
            let mut bytes = [0; 2];
            for _ in 0..rounds.max(1) {
                let (report, online) = checked(&program, linking)?;
                let phases = report.phases.iter().skip(2);
                bytes = phases.fold([0; 2], |[garbler, evaluator], phase| {
                    [garbler + phase.garbler_sent_bytes, evaluator + phase.evaluator_sent_bytes]
                });
                seconds.push(online);
            }
            seconds.sort_by(f64::total_cmp);
            println!(
                "  {:8}  online {:9} bytes to the evaluator, {:5} from it; {:.3} ms CPU, least {:.3}",
                linking.name(),
                bytes[0],
                bytes[1],
                1e3 * seconds[seconds.len() / 2],
                1e3 * seconds[0],
            );
        }
    }
    Ok(())
}

/// Runs the program, checks its outputs, and returns the report with the CPU seconds of the evaluator's
/// online phase.
fn checked(program: &Arc<Program>, linking: Linking) -> Result<(Report, f64), Box<dyn std::error::Error>> {
    let mut rng = Rng::new("brickwork compgc example")?;
    let mut random =
        |party| -> Vec<bool> { (0..program.input_width(party)).map(|_| rng.below(2) == 1).collect() };
    let inputs = [random(Party::Garbler), random(Party::Evaluator)];
    let expected = program.simulate(&inputs[0], &inputs[1]);
    let keys = [Identity::generate()?.0, Identity::generate()?.0];
    let identities = [0, 1].map(|k: usize| keys[k].public_key().to_bytes());
    let job = AgreedJob::new(program.clone(), 40, identities);
    let options = |party| EndpointOptions { party, lanes: 1, timeout: Duration::from_secs(60) };
    let listener = Listener::bind("127.0.0.1:0", &keys[0], keys[1].public_key(), &options(Party::Garbler))?;
    let address = listener.local_addr()?.to_string();
    let online = Arc::new(Mutex::new(0.0));
    std::thread::scope(|scope| {
        let garbler =
            scope.spawn(|| compgc::garbler(listener.accept()?, &job, linking, &inputs[0], Unobserved));
        let channel = tls::connect(&address, &keys[1], keys[0].public_key(), &options(Party::Evaluator))?;
        let report = compgc::evaluator(channel, &job, linking, &inputs[1], Online(online.clone()))?;
        let garbler = garbler.join().map_err(|_| "the garbler panicked")??;
        for (party, report) in [(Party::Garbler, &garbler), (Party::Evaluator, &report)] {
            assert_eq!(report.outputs, program.output_bits(party, &expected), "{linking:?} {party:?}");
        }
        let seconds = *online.lock().map_err(|_| "a thread failed")?;
        Ok((report, seconds))
    })
}

/// Measures the CPU seconds of one thread, from the first use of the inputs to the outputs.
struct Online(Arc<Mutex<f64>>);

impl Online {
    fn add(&self, seconds: f64) {
        if let Ok(mut online) = self.0.lock() {
            *online += seconds;
        }
    }
}

impl Observer for Online {
    fn phase(&mut self, name: &'static str) {
        if name == "prepare" {
            self.add(-thread_seconds());
        }
    }

    fn progress(&mut self, _: u64, _: u64) {}

    fn finished(&mut self) {
        self.add(thread_seconds());
    }
}
