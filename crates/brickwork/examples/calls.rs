//! Does the same work as a call from Python, without Python: for each line of stdin it runs both parties, and
//! prints the seconds and the CPU seconds of the run. The arguments are the program's file, the options as
//! JSON, and the files with both inputs: their wire bits, one a byte, or text. `python/measure/calls.py`
//! starts this program and compares.

use std::io::{BufRead, Write};
use std::time::Instant;

use brickwork::Program;
use brickwork::control::Control;
use brickwork::engine::both::{Both, fastest};
use brickwork::options::{RunOptions, from_json};
use brickwork::reading::{GivenValue, ReadingOptions, bits_of_both};
use brickwork::resources::cpu_seconds;
use brickwork_kernels::LargePages;

/// The allocator of the command and of the Python package.
#[global_allocator]
static ALLOCATOR: LargePages = LargePages::new();

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, options, garbler, evaluator] = &arguments[..] else { return Err("four arguments".into()) };
    let program = Program::load(file)?;
    let inputs = [std::fs::read(garbler)?, std::fs::read(evaluator)?];
    let bits = inputs.each_ref().map(|bytes| bytes.iter().map(|byte| *byte == 1).collect::<Vec<bool>>());
    let given = |party: usize| match inputs[party].first() {
        Some(0 | 1) => Ok(GivenValue::Bits(&bits[party])),
        _ => std::str::from_utf8(&inputs[party]).map(GivenValue::Text),
    };
    for line in std::io::stdin().lock().lines() {
        line?;
        let (begin, cpu) = (Instant::now(), cpu_seconds());
        let options: RunOptions = from_json(options)?;
        let given = [given(0)?, given(1)?];
        let inputs = bits_of_both(given, program.given(), options.executions(), &ReadingOptions::default())?;
        let (request, _) = fastest(&options.request()?, &program, None)?;
        let ran = Both::of(&program, &request).run(inputs, &Control::default())?;
        let (seconds, cpu) = (begin.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        assert!(ran.iter().any(|ran| !ran.outputs.is_empty()), "it was executed");
        println!("{seconds} {cpu}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
