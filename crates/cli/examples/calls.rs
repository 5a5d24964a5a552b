//! Does the same work as a call from Python, without Python: for each line of stdin it runs both parties, and
//! prints the seconds and the CPU seconds of the run. The arguments are both inputs, and then those of
//! `brickwork run`. `python/measure/calls.py` starts this program and compares.

use std::io::{BufRead, Write};
use std::time::Instant;

use brickwork_cli::embedded::{self, Line};
use brickwork_kernels::LargePages;
use zeroize::Zeroizing;

/// The allocator of the command and of the Python package.
#[global_allocator]
static ALLOCATOR: LargePages = LargePages::new();

/// Returns the CPU time of all threads of this process.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    embedded::begin(|_| ());
    let mut arguments = std::env::args().skip(1);
    let [garbler, evaluator] = [(); 2].map(|()| arguments.next().map(Zeroizing::new));
    let words: Vec<String> = arguments.collect();
    for line in std::io::stdin().lock().lines() {
        line?;
        let inputs = [garbler.clone(), evaluator.clone()];
        let (begin, cpu) = (Instant::now(), cpu_seconds());
        let (json, _) = embedded::run_both(&words, None, inputs, &Line::default())
            .map_err(|error| error["message"].to_string())?;
        let (seconds, cpu) = (begin.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        assert!(json["output_bits"].is_object(), "it was executed");
        println!("{seconds} {cpu}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
