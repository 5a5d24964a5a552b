//! `brickwork bench papers`: the measurements of the tables and figures of DUPLO (CCS 2017, section 7), on
//! this machine.
//!
//! Every row is a run of both parties in two processes over a simulated network. Finished rows are kept in a
//! file, one JSON object per line, so that an interrupted measurement can continue. Rows that need too much
//! memory or time are skipped, and the report says so.

mod rows;
mod show;

use brickwork_cli::parts::{Both, Choice, Failure, Report, Resources};
use brickwork_report::words::{bytes, thousands};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use brickwork::cut::{Cut, CutChoice};
use brickwork::duplo;
use brickwork::engine::machine;
use brickwork::engine::request::{Parameters, Protocol, RunRequest};
use brickwork::program::repeated;
use brickwork::resources;
use brickwork::system;
use brickwork_report::chart;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use self::rows::{Row, Table, rows, table_name};
use self::show::{COMPARISON_HEAD, HEAD, charts, comparison, line, point, table_4};
use crate::protocol::measure;

/// Reproduce the tables and figures of the DUPLO paper on this machine
#[derive(Args)]
pub struct Arguments {
    /// The tables and figures to reproduce; all by default
    tables: Vec<Table>,
    /// The file of measured rows; rows that it already has are not measured again
    #[arg(long, value_name = "FILE", default_value = "brickwork-papers.jsonl")]
    results: PathBuf,
    /// Rounds of each row; the table has medians
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Skip rows whose executions have more than N AND gates in total
    #[arg(long, value_name = "N")]
    largest: Option<u64>,
    /// Skip rows that are predicted to take more seconds
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

/// The rows that were measured before.
struct Results {
    kept: Vec<Value>,
    file: File,
}

impl Results {
    fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |e: std::io::Error| Failure::cannot_write(path, &e);
        let kept = match fs::read_to_string(path) {
            // A line that was incomplete when the measurement was interrupted is measured again.
            Ok(text) => text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(Failure::cannot_read(&path.display().to_string(), &e)),
        };
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        // After such a line, the next one still begins on a new line.
        file.write_all(b"\n").map_err(failed)?;
        Ok(Results { kept, file })
    }

    fn find(&self, key: &str) -> Option<Value> {
        self.kept.iter().find(|row| row["key"] == key).cloned()
    }

    fn keep(&mut self, row: &Value) -> Result<(), Failure> {
        let line = format!("{row}\n");
        self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data()).map_err(|e| {
            Failure::other(
                format!("cannot write the results: {}", system::explained(&e).0),
                "check the space on their disk; what is in the file stays",
            )
        })
    }
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let wanted = |table: Table| arguments.tables.is_empty() || arguments.tables.contains(&table);
    let mut results = Results::open(&arguments.results)?;
    let (mut done, mut skipped) = (Vec::new(), Vec::new());
    for row in rows().iter().filter(|row| wanted(row.table)) {
        let key = row.key(arguments.rounds, &arguments.resources, &arguments.choice);
        let measured = match results.find(&key) {
            Some(measured) => measured,
            None => match measured(row, arguments)? {
                Ok(mut measured) => {
                    measured["key"] = key.clone().into();
                    results.keep(&measured)?;
                    results.kept.push(measured.clone());
                    if !quiet {
                        say(&shown(row, &measured));
                    }
                    measured
                }
                Err(why) => {
                    skipped.push(json!({ "table": row.table_name(), "row": row.name(), "why": why }));
                    continue;
                }
            },
        };
        done.push((row.table, shown(row, &measured), point(row, &measured)));
    }
    let bytes = if wanted(Table::Table4) { table_4()? } else { Vec::new() };
    if let Some(path) = &arguments.svg {
        fs::write(path, chart::document(&charts(&done))).map_err(|e| Failure::cannot_write(path, &e))?;
    }
    let mut human = String::new();
    for &table in Table::value_variants() {
        let lines: Vec<&String> =
            done.iter().filter(|(of, ..)| *of == table).map(|(_, line, _)| line).collect();
        if !lines.is_empty() {
            human += &match table {
                Table::Plan => COMPARISON_HEAD.into(),
                table => {
                    format!("{}: milliseconds and megabytes of one execution\n{HEAD}", table_name(table))
                }
            };
            lines.into_iter().for_each(|line| human += &format!("{line}\n"));
        }
    }
    if !bytes.is_empty() {
        human +=
            "table4: bytes to the evaluator of one AES-128\n     N   MB before   kB after   the paper's\n";
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

/// Formats a row for its table.
fn shown(row: &Row, measured: &Value) -> String {
    if row.table == Table::Plan { comparison(row, measured) } else { line(row, measured) }
}

/// Returns a row's measurement, or the reason why it is skipped.
fn measured(row: &Row, arguments: &Arguments) -> Result<Result<Value, String>, Failure> {
    let gates = row.workload.and_gates() * u64::from(row.executions);
    if arguments.largest.is_some_and(|largest| gates > largest) {
        return Ok(Err(format!("{} AND gates", thousands(gates))));
    }
    // No machine can run both parties of it, so the program is not even made.
    if gates > 1 << 31 {
        return Ok(Err(format!("{} AND gates are beyond the memory of one machine", thousands(gates))));
    }
    let program = row.workload.program()?;
    let executions = (row.executions > 1).then_some(row.executions);
    let repeated = repeated(&program, executions)?;
    let machine = machine::measured(false, || {})?.with_threads(arguments.resources.threads);
    let link = row.link.with_lanes(arguments.resources.lanes);
    let parameters = match arguments.choice.buckets.choose(&repeated, 40, &machine, &link) {
        Ok(parameters) => parameters,
        // The program has more wires than one session can have.
        Err(failure) => return Ok(Err(failure.message().into())),
    };
    let cost = duplo::cost::predict(&repeated, &parameters, &machine, &link);
    drop(repeated);
    let need = cost.garbler_memory_bytes + cost.evaluator_memory_bytes;
    let limit = [arguments.resources.max_ram, resources::available_bytes()].into_iter().flatten().min();
    if let Some(limit) = limit.filter(|&limit| need > limit / 10 * 9) {
        return Ok(Err(format!(
            "both parties need some {} of memory, and there are {}",
            bytes(need),
            bytes(limit)
        )));
    }
    let place = std::env::temp_dir();
    if let Some(free) = brickwork::stock::free_bytes(&place).filter(|&free| cost.disk_bytes > free / 10 * 9) {
        return Ok(Err(format!(
            "tables need {} of disk, and {} has {}",
            bytes(cost.disk_bytes),
            place.display(),
            bytes(free)
        )));
    }
    if cost.seconds() * f64::from(arguments.rounds) > f64::from(arguments.longest) {
        return Ok(Err(format!(
            "it would take some {:.0} seconds",
            cost.seconds() * f64::from(arguments.rounds)
        )));
    }
    let mut parameters = Parameters::new(Protocol::Duplo);
    (parameters.security, parameters.executions) = (Some(40), executions);
    let request = RunRequest {
        resources: arguments.resources.of_request(),
        line: row.link,
        buckets: arguments.choice.buckets,
        cut: CutChoice::Fixed(Cut::Given),
        ..RunRequest::new(parameters)
    };
    let program = program.into();
    let both = Both::of(&program, &request);
    let measured =
        measure(&both, arguments.rounds, true).map_err(|failure| failure.within(&row.workload.name()))?;
    Ok(Ok(json!({ "measured": measured })))
}

fn say(text: &str) {
    // If stderr is closed, the benchmark goes on.
    let _ = writeln!(std::io::stderr(), "{text}");
}
