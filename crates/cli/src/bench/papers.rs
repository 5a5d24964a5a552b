//! `brickwork bench papers`: what the tables and figures of DUPLO (CCS 2017, section 7) measure, measured here.
//!
//! Every row is a run of both parties in two processes over the imitated link. Rows that are done are kept in a file, one JSON
//! object a line, so that an interrupted measurement goes on where it was; what this machine's memory or the user's patience
//! cannot hold is skipped, and the report says so.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brickwork::circuit::Program;
use brickwork::circuit::library::{aes, matrix, papers};
use brickwork::plan;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::protocol::measure;
use crate::arguments::{Choice, Commitments, Executions, Map, Parameters, ProgramArguments, Protocol, Resources};
use crate::chart::{self, Axis, Chart, Point, Series};
use crate::failure::Failure;
use crate::files::Folder;
use crate::link::Link;
use crate::report::{Report, bytes, thousands};
use crate::run::Both;
use crate::{files, machine, resources};

/// Reproduce the tables and figures of the DUPLO paper on this machine
#[derive(Args)]
pub struct Arguments {
    /// What to reproduce; everything by default
    tables: Vec<Table>,
    /// Where rows are kept; those that are there already are not measured again
    #[arg(long, value_name = "FILE", default_value = "brickwork-papers.jsonl")]
    results: PathBuf,
    /// Rounds of each row; the median counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Skip rows with more AND gates than this, all executions together
    #[arg(long, value_name = "N")]
    largest: Option<u64>,
    /// Skip rows that are predicted to take longer
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    longest: u32,
    /// Also draw the figures, into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    resources: Resources,
    #[command(flatten)]
    choice: Choice,
}

/// A table or figure of the paper.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// Random programs of 2^n AND gates, cut into slots of 2^t
    Figure1,
    /// AES-128 and CBC-MAC-16, cut in several ways
    Figure2,
    /// Products of 16 x 16 matrices in blocks (figure 3 of the paper shows the same)
    Table1,
    /// AES-128, CBC-MAC-16 and the matrix product, on two networks
    Table2,
    /// Long CBC-MACs
    Table3,
    /// Bytes of AES-128
    Table4,
}

/// What is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Workload {
    Random { n: u32, t: u32 },
    Aes,
    AesRounds,
    CbcMac { blocks: u32, each: u32 },
    Matrix { block: u32 },
}

impl Workload {
    fn name(self) -> String {
        match self {
            Workload::Random { n, t } => format!("random 2^{n} in 2^{t}"),
            Workload::Aes => "AES-128".into(),
            Workload::AesRounds => "AES-128 in rounds".into(),
            Workload::CbcMac { blocks, each } => format!("CBC-MAC-{blocks} by {each}"),
            Workload::Matrix { block } => format!("Mat-Mul in {block}x{block}"),
        }
    }

    /// AND gates of one execution, known before the program is made.
    fn and_gates(self) -> u64 {
        match self {
            Workload::Random { n, .. } => 1 << n,
            Workload::Aes | Workload::AesRounds => 6400,
            Workload::CbcMac { blocks, .. } => 6400 * u64::from(blocks),
            Workload::Matrix { .. } => 4_186_368,
        }
    }

    fn program(self) -> Result<Program, brickwork::Error> {
        match self {
            Workload::Random { n, t } => papers::random(n, t),
            Workload::Aes => aes::aes_128(),
            Workload::AesRounds => aes::aes_from_rounds(aes::KeySize::Aes128),
            Workload::CbcMac { blocks, each } => papers::cbc_mac_in(blocks, each),
            Workload::Matrix { block } => matrix::product(16, 32, block),
        }
    }
}

/// The networks of the paper.
const LAN: Link = Link { bits_per_second: Some(1_000_000_000), rtt: Duration::from_micros(20) };
const WAN: Link = Link { bits_per_second: Some(200_000_000), rtt: Duration::from_millis(96) };

/// A row of a table, with the paper's milliseconds of an execution before its inputs are there, and from then on.
struct Row {
    table: Table,
    workload: Workload,
    executions: u32,
    link: Link,
    paper: Option<[f64; 2]>,
}

/// Where `paper` holds one number, it is the whole time.
const WHOLE: f64 = 0.0;

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = |table, workload, executions, link, paper| rows.push(Row { table, workload, executions, link, paper });
    for n in (10..=20).step_by(2) {
        for t in (0..=n).step_by(2) {
            row(Table::Figure1, Workload::Random { n, t }, 1, LAN, None);
        }
    }
    for executions in [1, 32, 128] {
        for workload in [Workload::Aes, Workload::AesRounds] {
            row(Table::Figure2, workload, executions, LAN, None);
        }
        for each in [1, 2, 4, 8, 16] {
            row(Table::Figure2, Workload::CbcMac { blocks: 16, each }, executions, LAN, None);
        }
    }
    for (k, executions) in [1, 32, 128].into_iter().enumerate() {
        let paper = [(2, [11_160.0, 7_815.0, 7_554.0]), (4, [14_847.0, 7_539.0, 6_622.0]), (8, [52_334.0, 9_615.0, 7_324.0])];
        for (block, times) in paper.into_iter().chain([(16, [351_002.0, 11_338.0, 9_298.0])]) {
            row(Table::Table1, Workload::Matrix { block }, executions, LAN, Some([times[k], WHOLE]));
        }
    }
    let (cbc, product) = (Workload::CbcMac { blocks: 16, each: 1 }, Workload::Matrix { block: 2 });
    let lan = [
        (Workload::Aes, [[371.0, 8.62], [47.03, 0.65], [27.77, 0.41], [17.58, 0.30]]),
        (cbc, [[828.83, 41.94], [313.18, 3.72], [224.54, 2.49], [188.30, 1.61]]),
        (product, [[10_837.0, 118.0], [7_455.0, 83.73], [6_563.0, 58.65], [f64::NAN; 2]]),
    ];
    let wan = [
        (Workload::Aes, [[7_391.0, 585.0], [347.0, 19.37], [148.0, 5.55], [74.03, 1.53]]),
        (cbc, [[10_340.0, 620.0], [1_526.21, 23.62], [1_012.23, 8.85], [748.93, 3.83]]),
        (product, [[52_631.0, 744.0], [32_615.0, 135.0], [28_001.0, 101.0], [f64::NAN; 2]]),
    ];
    for (link, paper) in [(LAN, lan), (WAN, wan)] {
        for (workload, times) in paper {
            for (executions, times) in [1, 32, 128, 1024].into_iter().zip(times) {
                row(Table::Table2, workload, executions, link, Some(times).filter(|times| !times[0].is_nan()));
            }
        }
    }
    let blocks = [32, 64, 128, 256, 1024];
    let lan = [[1_211.0, 68.29], [1_877.0, 104.0], [2_991.0, 196.0], [5_072.0, 274.0], [14_167.0, 1_003.0]];
    let wan = [[12_269.0, 656.0], [15_039.0, 698.0], [19_089.0, 793.0], [27_093.0, 910.0], [81_883.0, 1_733.0]];
    for (link, paper) in [(LAN, lan), (WAN, wan)] {
        for (blocks, times) in blocks.into_iter().zip(paper) {
            row(Table::Table3, Workload::CbcMac { blocks, each: 1 }, 1, link, Some(times));
        }
    }
    rows
}

/// Megabytes to the evaluator before the inputs and kilobytes after them, of one AES: DUPLO, table 4.
const BYTES: [(u32, [f64; 2]); 4] = [(1, [12.94, 19.36]), (32, [2.60, 18.97]), (128, [1.96, 18.96]), (1024, [1.59, 18.96])];

impl Row {
    fn table_name(&self) -> String {
        table_name(self.table)
    }

    fn link_name(&self) -> &'static str {
        if self.link == LAN { "LAN" } else { "WAN" }
    }

    /// By what a row is found again in the file of results.
    fn key(&self, arguments: &Arguments) -> String {
        let threads = arguments.resources.threads.map_or("all".into(), |threads| threads.to_string());
        let rest = format!("{} rounds, {threads} threads, {} lanes", arguments.rounds, arguments.resources.lanes);
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "{version}, {}, N = {}, {}, {rest}, {}",
            self.workload.name(),
            self.executions,
            self.link_name(),
            arguments.choice.as_flag()
        )
    }
}

fn table_name(table: Table) -> String {
    table.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The rows that were measured before.
struct Results {
    kept: Vec<Value>,
    file: File,
}

impl Results {
    fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |e: std::io::Error| Failure::cannot_write(path, &e);
        let kept = match fs::read_to_string(path) {
            // A line that was being written when the measurement ended is measured again.
            Ok(text) => text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(failed(e)),
        };
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        // Behind such a line, too, the next one begins at its beginning.
        file.write_all(b"\n").map_err(failed)?;
        Ok(Results { kept, file })
    }

    fn find(&self, key: &str) -> Option<Value> {
        self.kept.iter().find(|row| row["key"] == key).cloned()
    }

    fn keep(&mut self, row: &Value) -> Result<(), Failure> {
        let line = format!("{row}\n");
        self.file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|e| Failure::other(e.to_string(), "check the space on the disk of the results; what is in the file stays"))
    }
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let wanted = |table: Table| arguments.tables.is_empty() || arguments.tables.contains(&table);
    let mut results = Results::open(&arguments.results)?;
    let folder = Folder::new()?;
    let (mut done, mut skipped) = (Vec::new(), Vec::new());
    for row in rows().iter().filter(|row| wanted(row.table)) {
        let key = row.key(arguments);
        let measured = match results.find(&key) {
            Some(measured) => measured,
            None => match measured(row, arguments, &folder)? {
                Ok(mut measured) => {
                    measured["key"] = key.clone().into();
                    results.keep(&measured)?;
                    results.kept.push(measured.clone());
                    if !quiet {
                        say(&line(row, &measured));
                    }
                    measured
                }
                Err(why) => {
                    let name = format!("{}, N = {}, {}", row.workload.name(), row.executions, row.link_name());
                    skipped.push(json!({ "table": row.table_name(), "row": name, "why": why }));
                    continue;
                }
            },
        };
        done.push((row.table, line(row, &measured), point(row, &measured)));
    }
    let bytes = if wanted(Table::Table4) { table_4()? } else { Vec::new() };
    if let Some(path) = &arguments.svg {
        fs::write(path, chart::document(&charts(&done))).map_err(|e| Failure::cannot_write(path, &e))?;
    }
    let mut human = String::new();
    for &table in Table::value_variants() {
        let lines: Vec<&String> = done.iter().filter(|(of, ..)| *of == table).map(|(_, line, _)| line).collect();
        if !lines.is_empty() {
            human += &format!("{}: milliseconds and megabytes of one execution\n{HEAD}", table_name(table));
            lines.into_iter().for_each(|line| human += &format!("{line}\n"));
        }
    }
    if !bytes.is_empty() {
        human += "table4: bytes to the evaluator of one AES-128\n     N   MB before   kB after   the paper's\n";
    }
    for row in &bytes {
        let number = |field: &str| row[field].as_f64().unwrap_or_default();
        human += &format!(
            "  {:>4} {:>11.3} {:>10.3}   {:.2} MB, {:.2} kB\n",
            row["executions"],
            number("before_bytes") / 1e6,
            number("after_bytes") / 1e3,
            number("paper_before_megabytes"),
            number("paper_after_kilobytes")
        );
    }
    for row in &skipped {
        human += &format!(
            "skipped {}: {}: {}\n",
            row["table"].as_str().unwrap_or(""),
            row["row"].as_str().unwrap_or(""),
            row["why"].as_str().unwrap_or("")
        );
    }
    let rows: Vec<Value> = done.into_iter().map(|(_, _, row)| row).collect();
    Ok(Report::new(json!({ "rows": rows, "bytes": bytes, "skipped": skipped }), human))
}

/// A row's measurement, or why it is skipped.
fn measured(row: &Row, arguments: &Arguments, folder: &Folder) -> Result<Result<Value, String>, Failure> {
    let gates = row.workload.and_gates() * u64::from(row.executions);
    if arguments.largest.is_some_and(|largest| gates > largest) {
        return Ok(Err(format!("{} AND gates", thousands(gates))));
    }
    // Beyond any machine that runs both parties, and not worth making the program.
    if gates > 1 << 31 {
        return Ok(Err(format!("{} AND gates are beyond the memory of one machine", thousands(gates))));
    }
    let program = row.workload.program()?;
    let executions = (row.executions > 1).then_some(row.executions);
    let repeated = files::repeated(&program, executions)?;
    let machine = machine::constants(false, true)?.with_threads(arguments.resources.threads);
    let link = row.link.with_lanes(arguments.resources.lanes);
    let parameters = match arguments.choice.choose(&repeated, 40, &machine, &link) {
        Ok(parameters) => parameters,
        // More wires than one session can have.
        Err(failure) => return Ok(Err(failure.message().into())),
    };
    let cost = plan::predict(&repeated, &parameters, &machine, &link);
    drop(repeated);
    let need = cost.garbler_memory_bytes + cost.evaluator_memory_bytes;
    let limit = [arguments.resources.max_ram, resources::available_bytes()].into_iter().flatten().min();
    if let Some(limit) = limit.filter(|&limit| need > limit / 10 * 9) {
        return Ok(Err(format!("both parties need some {} of memory, and there are {}", bytes(need), bytes(limit))));
    }
    if cost.seconds() * f64::from(arguments.rounds) > f64::from(arguments.longest) {
        return Ok(Err(format!("it would take some {:.0} seconds", cost.seconds() * f64::from(arguments.rounds))));
    }
    let file = folder.file("program.bwp");
    fs::write(&file, program.to_bytes()).map_err(|e| Failure::cannot_write(&file, &e))?;
    let both = Both {
        program: &ProgramArguments { file, map: Map { entries: Vec::new() } },
        parameters: &Parameters {
            protocol: Protocol::Duplo,
            commitments: Commitments::Split,
            security: 40,
            executions: Executions { executions },
        },
        resources: &arguments.resources,
        link: row.link,
        choice: &arguments.choice,
        stock: None,
    };
    let measured = measure(&both, &program, arguments.rounds, true).map_err(|failure| failure.within(&row.workload.name()))?;
    Ok(Ok(json!({ "measured": measured, "predicted_seconds": cost.seconds() })))
}

const BEFORE: [&str; 4] = ["setup", "preprocess", "prepare", "build"];

/// Of one execution: milliseconds before the inputs and after them, bytes that the garbler sends before them and after.
fn split(measured: &Value) -> ([f64; 2], [f64; 2]) {
    let (mut milliseconds, mut sent) = ([0.0; 2], [0.0; 2]);
    for phase in measured["measured"]["phases"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let part = usize::from(!BEFORE.iter().any(|name| phase["name"] == *name));
        milliseconds[part] += 1e3 * phase["seconds"].as_f64().unwrap_or_default();
        sent[part] += phase["garbler_sent_bytes"].as_f64().unwrap_or_default();
    }
    (milliseconds, sent)
}

const HEAD: &str = "  program                   N  link   before inputs   after      MB   the paper's\n";

fn line(row: &Row, measured: &Value) -> String {
    let ([before, after], [offline, online]) = split(measured);
    let paper = match row.paper {
        Some([whole, WHOLE]) => format!("{whole} in all"),
        Some([before, after]) => format!("{before} and {after}"),
        None => String::new(),
    };
    format!(
        "  {:22} {:>4}  {}  {before:>14.2} {after:>7.2} {:>7.2}   {paper}",
        row.workload.name(),
        row.executions,
        row.link_name(),
        (offline + online) / 1e6
    )
}

fn point(row: &Row, measured: &Value) -> Value {
    let ([before, after], [offline, online]) = split(measured);
    let program = match row.workload {
        Workload::Random { n, t } => json!({ "and_gates_log2": n, "slot_log2": t }),
        Workload::CbcMac { blocks, each } => json!({ "blocks": blocks, "blocks_a_component": each }),
        Workload::Matrix { block } => json!({ "block": block }),
        Workload::Aes | Workload::AesRounds => json!({}),
    };
    json!({
        "table": row.table_name(),
        "program": row.workload.name(),
        "cut": program,
        "executions": row.executions,
        "link": row.link_name(),
        "before_inputs_milliseconds": before,
        "after_inputs_milliseconds": after,
        "garbler_sent_bytes": [offline, online],
        "and_gates": row.workload.and_gates(),
        "predicted_seconds": measured["predicted_seconds"],
        "seconds": measured["measured"]["seconds"],
        "cpu_seconds": measured["measured"]["cpu_seconds"],
        "peak_rss_bytes": measured["measured"]["peak_rss_bytes"],
        "paper_milliseconds": row.paper,
    })
}

/// Exact, with the standard buckets: nothing is run.
fn table_4() -> Result<Vec<Value>, Failure> {
    let program = aes::aes_128()?;
    let mut rows = Vec::new();
    for (executions, [before, after]) in BYTES {
        let repeated = program.repeat(executions as usize)?;
        let parameters = brickwork::duplo::Parameters::choose(&repeated, 40)?;
        let cost = plan::predict(&repeated, &parameters, &plan::Machine::free(), &plan::Link::LOOPBACK);
        let sent = |is_before: bool| -> f64 {
            let phases = cost.phases.iter().filter(|phase| BEFORE.contains(&phase.name) == is_before);
            phases.map(|phase| phase.garbler_sent_bytes).sum::<u64>() as f64 / f64::from(executions)
        };
        rows.push(json!({
            "executions": executions,
            "before_bytes": sent(true),
            "after_bytes": sent(false),
            "paper_before_megabytes": before,
            "paper_after_kilobytes": after,
        }));
    }
    Ok(rows)
}

/// The figures: time against the size of a component.
fn charts(done: &[(Table, String, Value)]) -> Vec<Chart> {
    let number = |row: &Value, field: &str| row[field].as_f64().unwrap_or_default();
    let milliseconds = |row: &Value| number(row, "before_inputs_milliseconds") + number(row, "after_inputs_milliseconds");
    let rows = |table: Table| done.iter().filter(move |(of, ..)| *of == table).map(|(_, _, row)| row);
    let at = |row: &Value, x: f64| Point {
        x,
        y: milliseconds(row),
        title: format!("{}: {:.1} ms", row["program"].as_str().unwrap_or_default(), milliseconds(row)),
        marked: false,
    };
    let series = |table: Table, by: &dyn Fn(&Value) -> Option<(String, f64)>| -> Vec<Series> {
        let mut all: Vec<Series> = Vec::new();
        for row in rows(table) {
            let Some((name, x)) = by(row) else { continue };
            let place = all.iter().position(|series| series.name == name).unwrap_or_else(|| {
                all.push(Series { name, points: Vec::new() });
                all.len() - 1
            });
            all[place].points.push(at(row, x));
        }
        all
    };
    let executions = |row: &Value| format!("N = {}", row["executions"]);
    let of = |title: &str, x: Axis, series: Vec<Series>| Chart {
        title: title.into(),
        x,
        y: Axis::logarithmic("milliseconds of an execution"),
        series,
    };
    let random = |row: &Value| {
        let cut = &row["cut"];
        Some((format!("2^{} AND gates", cut["and_gates_log2"]), cut["slot_log2"].as_f64()?))
    };
    let cbc = |row: &Value| Some((executions(row), row["cut"]["blocks_a_component"].as_f64()?));
    let product = |row: &Value| Some((executions(row), row["cut"]["block"].as_f64()?));
    vec![
        of("Figure 1: random programs", Axis::linear("t: 2^t AND gates a slot"), series(Table::Figure1, &random)),
        of("Figure 2: CBC-MAC-16", Axis::linear("blocks a component"), series(Table::Figure2, &cbc)),
        of("Figure 3 and table 1: product of 16 x 16 matrices", Axis::linear("side of a block"), series(Table::Table1, &product)),
    ]
}

fn say(text: &str) {
    // A closed stderr is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workloads_have_the_gates_that_are_said() {
        let mut seen: Vec<Workload> = Vec::new();
        for row in rows() {
            if row.workload.and_gates() < 1 << 14 && !seen.contains(&row.workload) {
                seen.push(row.workload);
                assert_eq!(row.workload.program().unwrap().and_gates(), row.workload.and_gates(), "{}", row.workload.name());
            }
        }
        assert_eq!(seen.len(), 15);
    }

    #[test]
    fn bytes_are_of_the_order_of_the_papers() {
        for row in table_4().unwrap() {
            let ratio = row["before_bytes"].as_f64().unwrap() / 1e6 / row["paper_before_megabytes"].as_f64().unwrap();
            assert!((0.2..1.5).contains(&ratio), "{row}");
        }
    }
}
