//! `brickwork bench jimu`: the measurements of figures 8, 10 and 11 of JIMU (Zhu and Huang, ASIACRYPT 2017),
//! on this machine.

use brickwork_cli::parts::{Both, Failure, LinkArguments, Report, Resources};
use brickwork_report::words::thousands;
use std::io::Write;
use std::sync::Arc;

use brickwork::circuit::Program;
use brickwork::circuit::library::{aes, papers};
use brickwork::cut::{Cut, CutChoice};
use brickwork::engine::request::{Parameters, Protocol, RunRequest};
use brickwork::jimu::{self, Jimu, Unit};
use brickwork::resources::thread_cpu_seconds;
use brickwork::session::Protocol as _;
use brickwork_kernels::Kernel;
use brickwork_lang::std_library;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::median::median;
use crate::protocol::measure;

/// Reproduce figures 8, 10 and 11 of the JIMU paper on this machine
#[derive(Args)]
pub struct Arguments {
    /// The figures to reproduce; all by default
    figures: Vec<Figure>,
    /// Rounds of each row; the table has medians
    #[arg(
        long,
        value_name = "N",
        default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    rounds: u32,
    /// Skip rows whose executions have more than N AND gates in total, and measure single tasks with N gates
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    largest: u64,
    #[command(flatten)]
    link: LinkArguments,
    #[command(flatten)]
    resources: Resources,
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

/// Measures the tasks, and lists the paper's figures beside them.
fn tasks(arguments: &Arguments) -> Result<Vec<Value>, Failure> {
    let gates = arguments.largest.clamp(8, GATES) as usize;
    let round = |_| jimu::tasks::measure(40, gates, gates / 4, thread_cpu_seconds);
    let rounds = (0..arguments.rounds).map(round).collect::<Result<Vec<_>, _>>()?;
    let of = |(k, [micros, bytes]): (usize, [f64; 2])| {
        let seconds = [0, 1].map(|party| median(rounds.iter().map(|of| of[k].seconds[party]).collect()));
        let task = rounds[0][k];
        json!({
            "task": task.name,
            "items": task.items,
            "garbler_cpu_seconds": seconds[0],
            "evaluator_cpu_seconds": seconds[1],
            "bytes": task.bytes,
            "kernel": Kernel::best().name(),
            "paper": { "cpu_seconds": micros / 1e6, "bytes": bytes },
        })
    };
    Ok(FIGURE_8.into_iter().enumerate().map(of).collect())
}

/// Formats a task for people.
fn task_line(task: &Value) -> String {
    let number = |of: &Value, field: &str| of[field].as_f64().unwrap_or_default();
    format!(
        "  {:24} {:>8.3} {:>8.3} {:>9.1} | {:>8.3} {:>9.1}",
        task["task"].as_str().unwrap_or_default(),
        1e6 * number(task, "garbler_cpu_seconds"),
        1e6 * number(task, "evaluator_cpu_seconds"),
        number(task, "bytes"),
        1e6 * number(&task["paper"], "cpu_seconds"),
        number(&task["paper"], "bytes"),
    )
}

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

/// A row, with the paper's values for all executions with k = 127 in a LAN, without setup: milliseconds and
/// megabytes, and its N, B and T.
struct Row {
    figure: Figure,
    workload: Workload,
    cut: Cut,
    executions: u32,
    paper: [f64; 2],
    /// N, B, T.
    buckets: [u64; 3],
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (workload, paper, buckets) in [
        (Workload::Aes, [119.0, 26.5], [6800, 5, 39_535]),
        (Workload::Des, [300.0, 64.6], [18_175, 5, 97_593]),
        (Workload::Comparison, [202.0, 89.8], [10_000, 5, 55_973]),
        (Workload::Hamming, [75.0, 27.6], [4087, 5, 25_432]),
    ] {
        rows.push(Row { figure: Figure::Figure10, workload, cut: Cut::Gates, executions: 1, paper, buckets });
    }
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
            let (figure, workload, cut) = (Figure::Figure11, Workload::SubBytes, cut.clone());
            rows.push(Row { figure, workload, cut, executions, paper, buckets });
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

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let wanted = |figure: Figure| arguments.figures.is_empty() || arguments.figures.contains(&figure);
    let (mut done, mut skipped) = (Vec::new(), Vec::new());
    for row in rows().iter().filter(|row| wanted(row.figure)) {
        let program = row.workload.program()?;
        let gates = program.and_gates() * u64::from(row.executions);
        if gates > arguments.largest {
            skipped.push(json!({ "row": row.name(), "why": format!("{} AND gates", thousands(gates)) }));
            continue;
        }
        let measured = measured(row, &program, arguments)?;
        if !quiet {
            // If stderr is closed, the benchmark goes on.
            let _ = writeln!(std::io::stderr(), "{}", line(&measured));
        }
        done.push(measured);
    }
    let tasks = if wanted(Figure::Figure8) { tasks(arguments)? } else { Vec::new() };
    let mut human = String::new();
    if !tasks.is_empty() {
        human += TASKS;
        tasks.iter().for_each(|task| human += &format!("{}\n", task_line(task)));
    }
    if !done.is_empty() || !skipped.is_empty() {
        human += HEAD;
    }
    done.iter().for_each(|row| human += &format!("{}\n", line(row)));
    for row in &skipped {
        let text = |field: &str| row[field].as_str().unwrap_or_default();
        human += &format!("skipped {}: {}\n", text("row"), text("why"));
    }
    Ok(Report::new(json!({ "tasks": tasks, "rows": done, "skipped": skipped }), human))
}

impl Row {
    fn name(&self) -> String {
        format!("{}, N = {}, --cut {}", self.workload.name(), self.executions, self.cut)
    }
}

/// Measures a row on this machine, and lists the paper's values beside it.
fn measured(row: &Row, program: &brickwork::Program, arguments: &Arguments) -> Result<Value, Failure> {
    let executions = (row.executions > 1).then_some(row.executions);
    let mut parameters = Parameters::new(Protocol::Jimu);
    (parameters.security, parameters.executions) = (Some(40), executions);
    let request = RunRequest {
        resources: arguments.resources.of_request(),
        line: arguments.link.line(),
        cut: CutChoice::Fixed(row.cut.clone()),
        ..RunRequest::new(parameters)
    };
    let both = Both::of(program, &request);
    let json = measure(&both, arguments.rounds, true).map_err(|f| f.within(&row.name()))?;
    let threads = threads(row, program.given(), arguments.rounds)?;
    // As in the paper: everything except setup, in both directions.
    let phases = json["phases"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sent = |phase: &Value| {
        ["garbler_sent_bytes", "evaluator_sent_bytes"]
            .map(|field| phase[field].as_f64().unwrap_or_default())
            .iter()
            .sum::<f64>()
    };
    let bytes: f64 = phases.iter().filter(|phase| phase["name"] != Jimu::PHASES[0]).map(sent).sum();
    let copies = &json["promise"]["batches"][0];
    let [slots, bucket, made] = row.buckets;
    Ok(json!({
        "program": row.workload.name(),
        "cut": row.cut.to_string(),
        "executions": row.executions,
        "and_gates": json["and_gates"],
        "seconds": json["seconds_after_setup"],
        "seconds_with_setup": json["seconds"],
        "cpu_seconds": json["cpu_seconds"],
        "garbler_cpu_seconds": threads[0],
        "evaluator_cpu_seconds": threads[1],
        "bytes": bytes * f64::from(row.executions),
        "slots": copies["slots"],
        "bucket": copies["bucket_size"],
        "made": copies["copies"],
        "bound_log2": json["promise"]["bound_log2"],
        "kernel": json["kernel"],
        "threads": json["threads"],
        "paper": {
            "seconds": row.paper[0] / 1e3, "bytes": row.paper[1] * 1e6, "slots": slots, "bucket": bucket,
            "made": made,
        },
    }))
}

/// Returns the CPU seconds of each party's thread without setup, as a median. Both run in this process, over
/// memory.
fn threads(row: &Row, program: &Program, rounds: u32) -> Result<[f64; 2], Failure> {
    let program = Arc::new(program.repeat(row.executions as usize)?);
    let unit = if row.cut == Cut::Gates { Unit::Gates } else { Unit::Components };
    let round = |_| jimu::tasks::whole(&program, unit, 40, thread_cpu_seconds);
    let rounds = (0..rounds).map(round).collect::<Result<Vec<_>, _>>()?;
    Ok([0, 1].map(|party| median(rounds.iter().map(|of| of[party]).collect())))
}

const TASKS: &str = concat!(
    "Microseconds of CPU and bytes of each task, for one gate, input or output\n",
    "  task                      garbler evaluator    bytes | the paper's, k = 127\n"
);

const HEAD: &str = concat!(
    "Milliseconds and megabytes of all executions without setup; G, E: CPU of either party's thread, ",
    "over memory; CPU: of both parties with setup\n",
    "  program                          N  cut    N, B, T                       MB      ms      G      E",
    "    CPU",
    " | the paper's, k = 127          MB      ms\n"
);

/// Formats a row for people.
fn line(row: &Value) -> String {
    let buckets = |of: &Value| {
        let number = |field: &str| of[field].as_u64().unwrap_or_default();
        format!("{}, {}, {}", thousands(number("slots")), number("bucket"), thousands(number("made")))
    };
    let number = |of: &Value, field: &str| of[field].as_f64().unwrap_or_default();
    format!(
        "  {:30} {:>3}  {:6} {:24} {:>7.1} {:>7.1} {:>6.1} {:>6.1} {:>6.1} | {:24} {:>7.1} {:>7.1}",
        row["program"].as_str().unwrap_or_default(),
        row["executions"],
        row["cut"].as_str().unwrap_or_default(),
        buckets(row),
        number(row, "bytes") / 1e6,
        1e3 * number(row, "seconds"),
        1e3 * number(row, "garbler_cpu_seconds"),
        1e3 * number(row, "evaluator_cpu_seconds"),
        1e3 * number(row, "cpu_seconds"),
        buckets(&row["paper"]),
        number(&row["paper"], "bytes") / 1e6,
        1e3 * number(&row["paper"], "seconds"),
    )
}
