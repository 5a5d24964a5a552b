//! Measures the nanoseconds for each AND gate of each copy, on one thread, for the AES-128 circuit. The best
//! of many runs counts, because other programs may run at the same time.
//!
//! `cargo bench --bench garbling [-- KERNEL [CIRCUIT]]` measures every kernel or the named one, on AES-128 or
//! the circuit in the file. The variant *garble* discards the tables. Checking a copy costs as much as
//! *hash*, which hashes the tables of each copy. The variant *keep* collects the tables in memory.

use std::time::{Duration, Instant};

use brickwork::circuit::{Circuit, formats, library};
use brickwork::garbling::{
    Collect, GarblingKeys, GarblingScheme as _, HalfGates, HashTables, Schedule, TableSink,
};
use brickwork::label::{Delta, LABEL_BYTES, Label};
use brickwork_kernels::Kernel;

struct Discard;

impl TableSink for Discard {
    fn tables(&mut self, _: usize, bytes: &[u8]) -> Result<(), brickwork::ProtocolError> {
        std::hint::black_box(bytes);
        Ok(())
    }
}

/// Returns the shortest time of many runs, in nanoseconds.
fn best(mut run: impl FnMut()) -> f64 {
    let (start, mut best) = (Instant::now(), Duration::MAX);
    while start.elapsed() < Duration::from_millis(300) {
        let now = Instant::now();
        run();
        best = best.min(now.elapsed());
    }
    best.as_nanos() as f64
}

fn measure(schedule: &Schedule, copies: usize, batch: usize) {
    let mut bytes = vec![0; LABEL_BYTES * copies * (schedule.inputs() + 1)];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    let labels: Vec<Label> = bytes.as_chunks().0.iter().map(|b| Label::from_bytes(*b)).collect();
    let (deltas, inputs) = labels.split_at(copies);
    let deltas: Vec<Delta> = deltas.iter().map(|d| Delta::new(d.bits())).collect();
    let mut outputs = vec![Label::ZERO; copies * schedule.outputs()];
    let keys = GarblingKeys::new(1, batch, schedule.and_gates());
    let list: Vec<u32> = (0..copies as u32).collect();

    let plain = best(|| {
        HalfGates::garble(schedule, &keys, &list, &deltas, inputs, &mut outputs, &mut Discard)
            .expect("nothing fails")
    });
    let hash = best(|| {
        let mut sink = HashTables::new(copies, HalfGates::table_bytes(schedule));
        HalfGates::garble(schedule, &keys, &list, &deltas, inputs, &mut outputs, &mut sink)
            .expect("nothing fails");
        std::hint::black_box(sink.finish());
    });
    let mut tables = Vec::new();
    let keep = best(|| {
        let mut sink = Collect::new(copies, HalfGates::table_bytes(schedule));
        HalfGates::garble(schedule, &keys, &list, &deltas, inputs, &mut outputs, &mut sink)
            .expect("nothing fails");
        tables = sink.finish();
    });
    let eval = best(|| {
        HalfGates::evaluate(schedule, &keys, &list, inputs, &mut tables.as_slice(), &mut outputs)
            .expect("nothing fails")
    });
    let per_gate = |ns: f64| ns / (copies * schedule.and_gates()) as f64;
    println!(
        "  {copies:4} of {batch:4} copies: garble {:6.2}  hash {:6.2}  keep {:6.2}  evaluate {:6.2}",
        per_gate(plain),
        per_gate(hash),
        per_gate(keep),
        per_gate(eval)
    );
}

fn circuit(file: Option<&String>) -> Result<Circuit, Box<dyn std::error::Error>> {
    let program = match file {
        Some(file) => formats::load(&std::fs::read(file)?, "circuit")?,
        None => library::aes::aes_128()?,
    };
    let component = program.components().first().ok_or("a program without components")?;
    Ok(Circuit::clone(&component.circuit))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let circuit = circuit(arguments.get(1))?;
    println!("{circuit:?}");
    for kernel in Kernel::all_available() {
        if arguments.first().is_some_and(|name| name != kernel.name()) {
            continue;
        }
        let schedule = Schedule::with_kernel(kernel, &circuit);
        println!("{}, {} slots, ns per AND gate and copy:", kernel.name(), schedule.working_set());
        for (copies, batch) in [(1, 1), (2, 2), (4, 4), (8, 8), (11, 79), (16, 16), (64, 64), (64, 1024)] {
            measure(&schedule, copies, batch);
        }
    }
    Ok(())
}
