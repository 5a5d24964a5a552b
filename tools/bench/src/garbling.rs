//! `brickwork bench garbling`: only the inner loops, on one thread.

use brickwork_cli::parts::{Failure, Report, programs};
use brickwork_report::words::{plural, thousands};
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use brickwork::circuit::formats::InputMap;
use brickwork::circuit::{Component, library};
use brickwork::garbling::{GarblingKeys, HalfGates, HashTables, Schedule, Scheme as _, TableSink};
use brickwork::label::{Delta, Label};
use brickwork::random::Rng;
use brickwork_kernels::{Aes128, Kernel};
use clap::Args;
use serde_json::json;

use crate::measured::{BLOCKS, Measured, time};
use crate::median::median;
use crate::schemes::{self, Named, OfPaper};

/// Time garbling, evaluating and checking of copies that are processed side by side
#[derive(Args)]
pub struct Arguments {
    /// A program, whose largest component is measured; the default is AES-128. With schemes of JustGarble it
    /// is measured as one circuit
    file: Option<PathBuf>,
    /// Number of copies that are processed side by side
    #[arg(long, value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..=1024))]
    copies: u32,
    /// The kernel: vaes-avx512, vaes-avx2, aes-ni, neon-aes or portable; the default is the one that all
    /// commands use
    #[arg(long, value_name = "NAME", value_parser = kernel)]
    kernel: Option<Kernel>,
    /// Rounds, in each of which every task runs once; the table has medians
    #[arg(long, value_name = "N", default_value_t = 15,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// half-gates, which the protocols use; or schemes of JustGarble, such as gaxr-a2-d7 and half-gates-a2;
    /// or figures, for all schemes of the paper's figures 1 and 8
    #[arg(long, value_name = "NAME,…", default_value = "half-gates", value_delimiter = ',')]
    #[arg(value_parser = Named::parse)]
    scheme: Vec<Named>,
    /// A circuit of JustGarble's paper for its schemes: aes, mexp-N or edt-N; the default is aes
    #[arg(long, value_name = "NAME", conflicts_with = "file", value_parser = OfPaper::parse)]
    circuit: Option<OfPaper>,
}

/// AES calls of the evaluator for each AND gate.
const EVALUATOR_CALLS: usize = 2;

/// Returns the kernel with this name.
fn kernel(name: &str) -> Result<Kernel, String> {
    Kernel::named(name).ok_or_else(|| {
        let names: Vec<&str> = Kernel::all_available().into_iter().map(Kernel::name).collect();
        format!("no kernel of this machine; it has {}", names.join(", "))
    })
}

/// Tables in memory, one copy after another, which are overwritten in every pass.
struct Tables {
    bytes: Vec<u8>,
    /// Bytes from the start of one copy to the start of the next.
    stride: usize,
    filled: Vec<usize>,
}

/// Space between the tables of two copies, so that they do not compete for the same cache lines.
const SPACE: usize = 64;

impl Tables {
    fn new(copies: usize, table_bytes: usize) -> Self {
        let stride = table_bytes + SPACE;
        Tables { bytes: vec![0; copies * stride], stride, filled: vec![0; copies] }
    }

    /// Returns the tables of each copy.
    fn of_copies(&self) -> Vec<&[u8]> {
        self.bytes.chunks_exact(self.stride).map(|tables| &tables[..self.stride - SPACE]).collect()
    }
}

impl TableSink for Tables {
    fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), brickwork::ProtocolError> {
        let start = copy * self.stride + self.filled[copy];
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        self.filled[copy] += bytes.len();
        Ok(())
    }
}

pub fn run(arguments: &Arguments) -> Result<Report, Failure> {
    if arguments.scheme != [Named::OfProtocols] || arguments.circuit.is_some() {
        return schemes::run(&schemes::Bench {
            file: arguments.file.as_deref(),
            circuit: arguments.circuit,
            copies: arguments.copies,
            rounds: arguments.rounds,
            kernel: arguments.kernel.unwrap_or_else(Kernel::best),
            schemes: &arguments.scheme,
        });
    }
    let start = Instant::now();
    let component = component(arguments)?;
    let circuit = &component.circuit;
    let (ands, copies) = (circuit.and_gates(), arguments.copies as usize);
    if ands == 0 {
        return Err(Failure::input(
            format!("component {} has no AND gate", component.name),
            "choose another program",
        ));
    }
    let bytes = ands as u64 * 32 * u64::from(arguments.copies);
    if bytes > MOST_BYTES {
        let why = format!(
            "the tables of {} of {} would take {bytes} bytes",
            plural(arguments.copies.into(), "copy"),
            component.name
        );
        return Err(Failure::usage(why, "choose fewer --copies"));
    }

    let mut rng = Rng::new("brickwork bench")?;
    let kernel = arguments.kernel.unwrap_or_else(Kernel::best);
    let schedule = Schedule::with_kernel(kernel, circuit);
    let keys = GarblingKeys::new(rng.block(), copies, ands);
    let indices: Vec<u32> = (0..arguments.copies).collect();
    let deltas: Vec<Delta> = indices.iter().map(|_| rng.delta()).collect();
    let inputs: Vec<Label> = (0..copies * schedule.inputs()).map(|_| rng.label()).collect();
    let mut outputs = vec![Label::ZERO; copies * schedule.outputs()];
    let mut tables = Tables::new(copies, HalfGates::table_bytes(&schedule));

    let cells = (ands * copies) as f64;
    let (aes, mut blocks) = (Aes128::with_kernel(kernel, rng.block()), vec![0; BLOCKS]);
    let [mut garble, mut evaluate, mut check] = [(); 3].map(|()| Measured::default());
    for _ in 0..arguments.rounds {
        // The same number of AES calls at a time as garbling a copy makes.
        let runs = (HalfGates::HASH.calls_per_and * ands).div_ceil(BLOCKS);
        let block = time((runs * BLOCKS) as f64, || {
            (0..runs).for_each(|_| aes.encrypt_with(kernel, black_box(&mut blocks)));
            Ok(())
        })?;
        let (garblers, evaluators) =
            (HalfGates::HASH.calls_per_and as f64 * block, EVALUATOR_CALLS as f64 * block);
        garble.add(
            garblers,
            time(cells, || {
                tables.filled.fill(0);
                HalfGates::garble(&schedule, &keys, &indices, &deltas, &inputs, &mut outputs, &mut tables)
            })?,
        );
        // The false labels are active, because every input is 0.
        let made = tables.of_copies();
        evaluate.add(
            evaluators,
            time(cells, || {
                HalfGates::evaluate(&schedule, &keys, &indices, &inputs, &mut &made[..], &mut outputs)
            })?,
        );
        let expected: Vec<[u8; 32]> = made.iter().map(|t| *blake3::hash(t).as_bytes()).collect();
        let mut honest = true;
        check.add(
            garblers,
            time(cells, || {
                let mut hashes = HashTables::with_kernel(kernel, copies, HalfGates::table_bytes(&schedule));
                HalfGates::garble(&schedule, &keys, &indices, &deltas, &inputs, &mut outputs, &mut hashes)?;
                honest &= black_box(hashes.finish() == expected);
                Ok(())
            })?,
        );
        if !honest {
            return Err(Failure::fault("garbling the same copies twice gave different tables"));
        }
    }
    let checks_to_garbles =
        median(check.ns.iter().zip(&garble.ns).map(|(check, garble)| check / garble).collect());
    let [garble, evaluate, check] = [garble, evaluate, check].map(Measured::medians);
    let (kernel, seconds) = (kernel.name(), start.elapsed().as_secs_f64());
    let json = json!({
        "garble_ns_per_and": garble.ns,
        "evaluate_ns_per_and": evaluate.ns,
        "check_ns_per_and": check.ns,
        "aes_ns_per_and": {"garble": garble.aes, "evaluate": evaluate.aes, "check": check.aes},
        "ratio_to_aes": {"garble": garble.ratio, "evaluate": evaluate.ratio, "check": check.ratio},
        "ratio_of_check_to_garble": checks_to_garbles,
        "kernel": kernel,
        "copies": copies,
        "and_gates": ands,
        "gates": circuit.gate_count(),
        "component": component.name,
        "rounds": arguments.rounds,
        "seconds": seconds,
    });
    let human = format!(
        "{}: {}, {} side by side, kernel {kernel}, one thread; CPU time, median of {}\n  ns per AND      \
         all   AES alone   ratio\n  garble   {garble}\n  evaluate {evaluate}\n  check    {check}   (garble \
         again, and hash the tables: {checks_to_garbles:.2} times garbling)\n",
        component.name,
        format_args!("{} AND gates", thousands(ands as u64)),
        plural(u64::from(arguments.copies), "copy"),
        plural(u64::from(arguments.rounds), "round"),
    );
    Ok(Report::new(json, human))
}

/// The largest size of tables that are kept in memory.
const MOST_BYTES: u64 = 1 << 30;

fn component(arguments: &Arguments) -> Result<Component, Failure> {
    let Some(file) = &arguments.file else { return Ok(library::aes::aes_128_component()?) };
    let program = programs::circuit(file, &InputMap::default())?;
    let largest = program.components().iter().max_by_key(|c| c.circuit.and_gates());
    largest.cloned().ok_or_else(|| Failure::input("the program has no component", "choose another program"))
}
