//! The smallest example: both parties run in this process.

use brickwork::{Program, run_local};

const RICHER: &str = "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n#output 1 uint_t 1\n\
                      #output 2 uint_t 1\n\
                      function void main() { output1 = input1 > input2; output2 = output1; }";

/// Runs both parties.
pub fn main() -> Result<(), brickwork::Error> {
    let program = Program::from_source("richer.wir", RICHER)?;
    let [garbler, evaluator] = run_local(&program, ("input1", 1_250_000u32), ("input2", 1_000_000u32))?;
    // Both parties learn whether the garbler has more, and nothing else.
    assert!(garbler.outputs.get::<bool>("output")? && evaluator.outputs.get::<bool>("output")?);
    println!("{}", garbler.report.promise);
    Ok(())
}
