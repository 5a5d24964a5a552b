//! `brickwork bench garbling`: only the inner loops, on one thread.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use brickwork::circuit::formats::InputMap;
use brickwork::circuit::{Component, library};
use brickwork::garbling::{GarblingKeys, GarblingScheme as _, HalfGates, HashTables, Schedule, TableSink};
use brickwork::label::{Delta, Label};
use brickwork::random::Rng;
use brickwork_cli::parts::{Failure, Report, programs};
use brickwork_kernels::Kernel;
use brickwork_report::words::{plural, thousands};
use clap::Args;
use serde_json::json;

use crate::measured::{GarblingTimes, aes_ns, time};
use crate::runs::median;
use crate::schemes::{self, OfPaper, SchemeFlag};
use crate::table::{Form, TableColumn, table};

/// Time garbling, evaluating and checking of copies that are processed side by side
#[derive(Args)]
pub struct BenchGarblingFlags {
    /// A program, whose largest component is measured; the default is AES-128. With schemes of JustGarble it
    /// is measured as one circuit
    pub file: Option<PathBuf>,
    /// Number of copies that are processed side by side
    #[arg(long, value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub copies: u32,
    /// The kernel: vaes-avx512, vaes-avx2, aes-ni, neon-aes or portable; the default is the one that all
    /// commands use
    #[arg(long, value_name = "NAME", value_parser = kernel)]
    kernel: Option<Kernel>,
    /// Rounds, in each of which every task runs once; the table has medians
    #[arg(long, value_name = "N", default_value_t = 15,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// half-gates, which the protocols use; or schemes of JustGarble, such as gaxr-a2-d7 and half-gates-a2;
    /// or figures, for all schemes of the paper's figures 1 and 8
    #[arg(long, value_name = "NAME,…", default_value = "half-gates", value_delimiter = ',')]
    #[arg(value_parser = SchemeFlag::parse)]
    pub scheme: Vec<SchemeFlag>,
    /// A circuit of JustGarble's paper for its schemes: aes, mexp-N or edt-N; the default is aes
    #[arg(long, value_name = "NAME", conflicts_with = "file", value_parser = OfPaper::parse)]
    pub circuit: Option<OfPaper>,
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

impl BenchGarblingFlags {
    /// Returns the kernel to measure.
    pub fn kernel(&self) -> Kernel {
        self.kernel.unwrap_or_else(Kernel::best)
    }
}

pub fn run(arguments: &BenchGarblingFlags) -> Result<Report, Failure> {
    if arguments.scheme != [SchemeFlag::OfProtocols] || arguments.circuit.is_some() {
        return schemes::run(arguments);
    }
    let start = Instant::now();
    let component = component(arguments)?;
    let circuit = &component.circuit;
    let (ands, copies) = (circuit.and_gates(), arguments.copies as usize);
    let side_by_side = plural(arguments.copies.into(), "copy");
    if ands == 0 {
        return Err(Failure::input(
            format!("component {} has no AND gate", component.name),
            "choose another program",
        ));
    }
    let bytes = ands as u64 * 32 * u64::from(arguments.copies);
    if bytes > MOST_BYTES {
        let why = format!("the tables of {side_by_side} of {} would take {bytes} bytes", component.name);
        return Err(Failure::usage(why, "choose fewer --copies"));
    }

    let mut rng = Rng::new("brickwork bench")?;
    let kernel = arguments.kernel();
    let schedule = Schedule::with_kernel(kernel, circuit);
    let keys = GarblingKeys::new(rng.block(), copies, ands);
    let indices: Vec<u32> = (0..arguments.copies).collect();
    let deltas: Vec<Delta> = indices.iter().map(|_| rng.delta()).collect();
    let inputs: Vec<Label> = (0..copies * schedule.inputs()).map(|_| rng.label()).collect();
    let mut outputs = vec![Label::ZERO; copies * schedule.outputs()];
    let mut tables = Tables::new(copies, HalfGates::table_bytes(&schedule));

    let cells = (ands * copies) as f64;
    let [mut garble, mut evaluate, mut check] = [(); 3].map(|()| GarblingTimes::default());
    for _ in 0..arguments.rounds {
        // As many AES calls are made at a time as garbling a copy makes.
        let call = aes_ns(kernel, HalfGates::HASH.calls_per_and * ands)?;
        let of_garbler = HalfGates::HASH.calls_per_and as f64 * call;
        garble.add(
            of_garbler,
            time(cells, || {
                tables.filled.fill(0);
                HalfGates::garble(&schedule, &keys, &indices, &deltas, &inputs, &mut outputs, &mut tables)
            })?,
        );
        // The false labels are active, because every input is 0.
        let made = tables.of_copies();
        evaluate.add(
            EVALUATOR_CALLS as f64 * call,
            time(cells, || {
                HalfGates::evaluate(&schedule, &keys, &indices, &inputs, &mut &made[..], &mut outputs)
            })?,
        );
        let expected: Vec<[u8; 32]> = made.iter().map(|t| *blake3::hash(t).as_bytes()).collect();
        let mut honest = true;
        check.add(
            of_garbler,
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
    let ratios = check.ns.iter().zip(&garble.ns).map(|(check, garble)| check / garble);
    let checks_to_garbles = median(ratios.collect());
    let [garble, evaluate, check] = [garble, evaluate, check].map(GarblingTimes::medians);
    let rows = [("garble", &garble), ("evaluate", &evaluate), ("check", &check)]
        .map(|(task, of)| json!({ "task": task, "ns": of.ns, "aes": of.aes, "ratio": of.ratio }));
    let human = format!(
        "{}: {} AND gates, {side_by_side} side by side, kernel {}, one thread; CPU time, median of {}\n\n\
         {}\nTo check is to garble again and to hash the tables: {checks_to_garbles:.2} times garbling.\n",
        component.name,
        thousands(ands as u64),
        kernel.name(),
        plural(arguments.rounds.into(), "round"),
        table(&COLUMNS, &rows),
    );
    let json = json!({
        "garble_ns_per_and": garble.ns,
        "evaluate_ns_per_and": evaluate.ns,
        "check_ns_per_and": check.ns,
        "aes_ns_per_and": {"garble": garble.aes, "evaluate": evaluate.aes, "check": check.aes},
        "ratio_to_aes": {"garble": garble.ratio, "evaluate": evaluate.ratio, "check": check.ratio},
        "ratio_of_check_to_garble": checks_to_garbles,
        "kernel": kernel.name(),
        "copies": copies,
        "and_gates": ands,
        "gates": circuit.gate_count(),
        "component": component.name,
        "rounds": arguments.rounds,
        "seconds": start.elapsed().as_secs_f64(),
    });
    Report::new(&json, human)
}

const COLUMNS: [TableColumn; 4] = [
    ("ns per AND", "/task", Form::Word),
    ("all", "/ns", Form::Scaled(1.0, 2)),
    ("AES alone", "/aes", Form::Scaled(1.0, 2)),
    ("ratio", "/ratio", Form::Scaled(1.0, 2)),
];

/// The largest size of tables that are kept in memory.
const MOST_BYTES: u64 = 1 << 30;

fn component(arguments: &BenchGarblingFlags) -> Result<Component, Failure> {
    let Some(file) = &arguments.file else { return Ok(library::aes::aes_128_component()?) };
    let program = programs::circuit(file, &InputMap::default())?;
    let largest = program.components().iter().max_by_key(|c| c.circuit.and_gates());
    largest.cloned().ok_or_else(|| Failure::input("the program has no component", "choose another program"))
}
