//! `brickwork bench jimu`: the measurements of figures 8, 10 and 11 of JIMU (Zhu and Huang, ASIACRYPT 2017),
//! on this machine.

use std::sync::Arc;

use brickwork::circuit::Program;
use brickwork::circuit::library::{aes, papers};
use brickwork::cut::Cut;
use brickwork::engine::request::{AgreedParameters, BucketChoice, Protocol};
use brickwork::jimu::{self, Unit};
use brickwork::resources::thread_cpu_seconds;
use brickwork_cli::parts::{Failure, LinkArguments, Report, ResourceFlags};
use brickwork_kernels::Kernel;
use brickwork_lang::std_library;
use brickwork_report::words::thousands;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::runs::{Phase, Setting, median};
use crate::table::{Form, MS, TableColumn, say, skipped, table};

/// Reproduce figures 8, 10 and 11 of the JIMU paper on this machine
#[derive(Args)]
pub struct BenchJimuFlags {
    /// The figures to reproduce; all by default
    figures: Vec<Figure>,
    /// Rounds of each row; the table has medians
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Skip rows whose executions have more than N AND gates in total, and measure single tasks with N gates
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    largest: u64,
    #[command(flatten)]
    link: LinkArguments,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// A figure of the paper.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Figure {
    /// The tasks of which the protocol consists, one by one
    Figure8,
    /// AES, DES, a comparison and a Hamming distance, cut by AND gates
    Figure10,
    /// AES, cut by AND gates and by SubBytes
    Figure11,
}

/// The paper's figure 8 for k = 127: microseconds and bytes of each task.
const FIGURE_8: [[f64; 2]; 7] =
    [[2.37, 333.0], [1.40, 159.0], [0.48, 207.0], [0.79, 138.0], [0.34, 88.0], [4.18, 6400.0], [0.031, 48.0]];

/// The largest number of gates with which tasks are measured; inputs and outputs are a quarter of it.
const GATES: u64 = 1 << 16;

/// Measures the tasks, and lists the paper's values beside them.
fn tasks(arguments: &BenchJimuFlags) -> Result<Vec<Value>, Failure> {
    let gates = arguments.largest.clamp(8, GATES) as usize;
    let round = |_| jimu::tasks::measure(40, gates, gates / 4, thread_cpu_seconds);
    let rounds = (0..arguments.rounds).map(round).collect::<Result<Vec<_>, _>>()?;
    let of = |(k, [micros, bytes]): (usize, [f64; 2])| {
        let seconds = |party: usize| median(rounds.iter().map(|of| of[k].seconds[party]).collect());
        let task = &rounds[0][k];
        json!({
            "task": task.name,
            "items": task.items,
            "garbler_cpu_seconds": seconds(0),
            "evaluator_cpu_seconds": seconds(1),
            "bytes": task.bytes,
            "kernel": Kernel::best().name(),
            "paper": { "cpu_seconds": micros / 1e6, "bytes": bytes },
        })
    };
    Ok(FIGURE_8.into_iter().enumerate().map(of).collect())
}

/// The columns of the tasks, in microseconds of CPU.
const TASKS: [TableColumn; 6] = [
    ("task", "/task", Form::Word),
    ("garbler", "/garbler_cpu_seconds", Form::Scaled(1e6, 3)),
    ("evaluator", "/evaluator_cpu_seconds", Form::Scaled(1e6, 3)),
    ("bytes", "/bytes", Form::Scaled(1.0, 1)),
    ("paper, k = 127", "/paper/cpu_seconds", Form::Scaled(1e6, 3)),
    ("bytes", "/paper/bytes", Form::Scaled(1.0, 1)),
];

/// A program of the paper.
#[derive(Clone, Copy)]
enum Workload {
    Aes,
    Des,
    Comparison,
    Hamming,
    /// AES without its key schedule, in SubBytes components.
    SubBytes,
}

/// A row to measure, and its values in the paper.
struct Row {
    figure: Figure,
    workload: Workload,
    cut: Cut,
    executions: u32,
    /// Milliseconds and megabytes of all executions with k = 127 in a LAN, without setup.
    paper: [f64; 2],
    /// N, B, T.
    buckets: [u64; 3],
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let figure = Figure::Figure10;
    for (workload, paper, buckets) in [
        (Workload::Aes, [119.0, 26.5], [6800, 5, 39_535]),
        (Workload::Des, [300.0, 64.6], [18_175, 5, 97_593]),
        (Workload::Comparison, [202.0, 89.8], [10_000, 5, 55_973]),
        (Workload::Hamming, [75.0, 27.6], [4087, 5, 25_432]),
    ] {
        rows.push(Row { figure, workload, cut: Cut::Gates, executions: 1, paper, buckets });
    }
    let (figure, workload) = (Figure::Figure11, Workload::SubBytes);
    // Thousands and seconds, as the paper prints them.
    let by_gates = [
        (1, [120.0, 21.9], [5440, 5, 33_643]),
        (32, [3890.0, 495.88], [174_000, 4, 763_000]),
        (64, [7650.0, 956.1], [348_000, 4, 1_470_000]),
        (128, [15_280.0, 1869.8], [696_000, 4, 2_871_000]),
    ];
    let by_sub_bytes = [
        (1, [60.0, 11.1], [160, 7, 1401]),
        (32, [1660.0, 230.5], [5120, 5, 28_222]),
        (64, [3240.0, 447.1], [10_240, 5, 54_200]),
        (128, [6070.0, 802.8], [20_480, 4, 100_410]),
    ];
    for (cut, columns) in [(Cut::Gates, by_gates), (Cut::Given, by_sub_bytes)] {
        for (executions, paper, buckets) in columns {
            rows.push(Row { figure, workload, cut: cut.clone(), executions, paper, buckets });
        }
    }
    rows
}

impl Workload {
    fn name(self) -> &'static str {
        match self {
            Workload::Aes => "AES-128",
            Workload::Des => "DES",
            Workload::Comparison => "comparison of 10 000 bits",
            Workload::Hamming => "Hamming distance of 2 048 bits",
            Workload::SubBytes => "AES-128 in SubBytes",
        }
    }

    /// Makes the program.
    fn program(self) -> Result<brickwork::Program, Failure> {
        Ok(match self {
            Workload::Aes => aes::aes_128()?.into(),
            Workload::Comparison => papers::comparison(10_000)?.into(),
            Workload::Hamming => papers::hamming_distance(11)?.into(),
            Workload::SubBytes => papers::aes_in_sub_bytes()?.into(),
            Workload::Des => {
                let source = std_library().iter().find(|file| file.name == "des_encrypt.wir");
                let source = source.ok_or_else(|| Failure::fault("the library has DES"))?;
                brickwork::Program::from_source(source.name, source.text)?
            }
        })
    }
}

pub fn run(arguments: &BenchJimuFlags, quiet: bool) -> Result<Report, Failure> {
    let wanted = |figure: Figure| arguments.figures.is_empty() || arguments.figures.contains(&figure);
    let (mut done, mut left_out) = (Vec::new(), Vec::new());
    for row in rows().iter().filter(|row| wanted(row.figure)) {
        let program = row.workload.program()?;
        let gates = program.and_gates() * u64::from(row.executions);
        if gates > arguments.largest {
            let why = format!("{} AND gates", thousands(gates));
            left_out.push(json!({ "row": row.name(), "why": why }));
            continue;
        }
        done.push(row.measured(&program, arguments)?);
        say(quiet, &format!("{} is measured", row.name()));
    }
    let tasks = if wanted(Figure::Figure8) { tasks(arguments)? } else { Vec::new() };
    let mut human = String::new();
    if !tasks.is_empty() {
        human += "Microseconds of CPU and bytes of each task, for one gate, input or output\n\n";
        human += &table(&TASKS, &tasks);
    }
    if !done.is_empty() || !left_out.is_empty() {
        human += "\nMilliseconds and megabytes of all executions without setup; G, E: CPU of either party's \
                  thread, over memory; CPU: of both parties with setup; paper: k = 127\n\n";
        human += &table(&COLUMNS, &done);
    }
    human += &skipped(&left_out);
    Report::new(&json!({ "tasks": tasks, "rows": done, "skipped": left_out }), human)
}

impl Row {
    fn name(&self) -> String {
        format!("{}, N = {}, --cut {}", self.workload.name(), self.executions, self.cut)
    }

    /// Measures the row on this machine, and lists the paper's values beside it.
    fn measured(&self, program: &brickwork::Program, arguments: &BenchJimuFlags) -> Result<Value, Failure> {
        let executions = (self.executions > 1).then_some(self.executions);
        let parameters =
            AgreedParameters { security: Some(40), executions, ..AgreedParameters::new(Protocol::JIMU) };
        let BenchJimuFlags { resources, link, rounds, .. } = arguments;
        let setting =
            Setting { resources, line: link.line(), buckets: BucketChoice::Fastest, rounds: *rounds };
        let runs = setting.measure(program, parameters, &self.cut)?;
        let threads = self.threads(program.given(), *rounds)?;
        // As in the paper: everything except setup, in both directions.
        let bytes = |phase: &Phase| phase.garbler_sent_bytes + phase.evaluator_sent_bytes;
        let bytes: f64 = runs.phases.iter().skip(1).map(bytes).sum();
        let batch = runs.promise.batches.first().ok_or_else(|| Failure::fault("a run without batches"))?;
        let [slots, bucket, made] = self.buckets;
        Ok(json!({
            "program": self.workload.name(),
            "cut": self.cut.to_string(),
            "executions": self.executions,
            "and_gates": runs.and_gates,
            "seconds": runs.seconds_after_setup,
            "seconds_with_setup": runs.seconds,
            "cpu_seconds": runs.cpu_seconds,
            "garbler_cpu_seconds": threads[0],
            "evaluator_cpu_seconds": threads[1],
            "bytes": bytes * f64::from(self.executions),
            "slots": batch.slots,
            "bucket": batch.bucket_size,
            "made": batch.copies,
            "bound_log2": runs.promise.bound_log2,
            "kernel": runs.kernel,
            "threads": runs.threads,
            "paper": {
                "seconds": self.paper[0] / 1e3, "bytes": self.paper[1] * 1e6, "slots": slots,
                "bucket": bucket, "made": made,
            },
        }))
    }

    /// Returns the CPU seconds of each party's thread without setup, as a median. Both run in this process,
    /// over memory.
    fn threads(&self, program: &Program, rounds: u32) -> Result<[f64; 2], Failure> {
        let program = Arc::new(program.repeat(self.executions as usize)?);
        let unit = if self.cut == Cut::Gates { Unit::Gates } else { Unit::Components };
        let round = |_| jimu::tasks::whole(&program, unit, 40, thread_cpu_seconds);
        let rounds = (0..rounds).map(round).collect::<Result<Vec<_>, _>>()?;
        Ok([0, 1].map(|party| median(rounds.iter().map(|of| of[party]).collect())))
    }
}

const COLUMNS: [TableColumn; 16] = [
    ("program", "/program", Form::Word),
    ("cut", "/cut", Form::Word),
    ("runs", "/executions", Form::Count),
    ("N", "/slots", Form::Count),
    ("B", "/bucket", Form::Count),
    ("T", "/made", Form::Count),
    ("MB", "/bytes", Form::Scaled(1e-6, 1)),
    ("ms", "/seconds", MS),
    ("G", "/garbler_cpu_seconds", MS),
    ("E", "/evaluator_cpu_seconds", MS),
    ("CPU", "/cpu_seconds", MS),
    ("paper: N", "/paper/slots", Form::Count),
    ("B", "/paper/bucket", Form::Count),
    ("T", "/paper/made", Form::Count),
    ("MB", "/paper/bytes", Form::Scaled(1e-6, 1)),
    ("ms", "/paper/seconds", MS),
];
