//! Does what a Python call does, without Python: for each line of stdin it runs both parties and prints how
//! many seconds that took. The arguments are both inputs and those of `brickwork run`;
//! `python/measure/calls.py` starts it and compares.

use std::io::{BufRead, Write};
use std::time::Instant;

use brickwork_cli::embedded::{self, Line};
use brickwork_kernels::LargePages;
use zeroize::Zeroizing;

/// As the command and the Python package have it.
#[global_allocator]
static ALLOCATOR: LargePages = LargePages::new();

fn main() -> Result<(), Box<dyn std::error::Error>> {
    embedded::begin(|_| ());
    let mut arguments = std::env::args().skip(1);
    let [garbler, evaluator] = [(); 2].map(|()| arguments.next().map(Zeroizing::new));
    let words: Vec<String> = arguments.collect();
    for line in std::io::stdin().lock().lines() {
        line?;
        let inputs = [garbler.clone(), evaluator.clone()];
        let begin = Instant::now();
        let (json, _) = embedded::run_both(&words, inputs, &Line::default())
            .map_err(|error| error["message"].to_string())?;
        let seconds = begin.elapsed().as_secs_f64();
        assert!(json["output_bits"].is_object(), "it was executed");
        println!("{seconds}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
