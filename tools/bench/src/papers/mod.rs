//! `brickwork bench papers`: the measurements of the tables and figures of DUPLO (CCS 2017, section 7), on
//! this machine.
//!
//! Every row is a run of both parties in two processes over a simulated network. Finished rows are kept in a
//! file, one JSON object per line, so that an interrupted measurement can continue. Rows that need too much
//! memory or time are skipped, and the report says so.

mod rows;
mod show;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use brickwork::circuit::Program;
use brickwork::cut::Cut;
use brickwork::engine::machine;
use brickwork::engine::request::{AgreedParameters, Protocol};
use brickwork::program::repeated;
use brickwork::{duplo, resources, system};
use brickwork_cli::parts::{Failure, ProtocolFlags, Report, ResourceFlags};
use brickwork_report::chart;
use brickwork_report::words::{bytes, thousands};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::json;

use self::rows::{PaperRow, PaperTable, rows, table_name};
use self::show::{COLUMNS, COLUMNS_OF_BYTES, COLUMNS_OF_PLAN, MeasuredRow, charts, table_4};
use crate::runs::{MeasuredRuns, Setting};
use crate::table::{say, skipped, table};

/// Reproduce the tables and figures of the DUPLO paper on this machine
#[derive(Args)]
pub struct BenchPapersFlags {
    /// The tables and figures to reproduce; all by default
    tables: Vec<PaperTable>,
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
    resources: ResourceFlags,
    #[command(flatten)]
    choice: ProtocolFlags,
}

/// A measured row, in the form of a line in the file of results.
#[derive(Clone, Serialize, Deserialize)]
pub struct KeptRow {
    pub key: String,
    pub measured: MeasuredRuns,
}

impl KeptRow {
    /// Reads the lines of a file. A line that was incomplete when the measurement was interrupted is left
    /// out.
    pub fn lines(text: &str) -> Vec<KeptRow> {
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

/// The rows that were measured before.
struct Results {
    kept: Vec<KeptRow>,
    file: File,
}

impl Results {
    fn open(path: &Path) -> Result<Self, Failure> {
        let failed = |e: std::io::Error| Failure::cannot_write(path, &e);
        let kept = match fs::read_to_string(path) {
            Ok(text) => KeptRow::lines(&text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(Failure::cannot_read(&path.display().to_string(), &e)),
        };
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        // After an incomplete line, the next one still begins on a new line.
        file.write_all(b"\n").map_err(failed)?;
        Ok(Results { kept, file })
    }

    /// Returns the row of this key; measures and keeps it if it is not there. An error in the inner result is
    /// the reason why the row is skipped.
    fn row(
        &mut self,
        key: String,
        measure: impl FnOnce() -> Result<Result<MeasuredRuns, String>, Failure>,
    ) -> Result<Result<MeasuredRuns, String>, Failure> {
        if let Some(kept) = self.kept.iter().find(|kept| kept.key == key) {
            return Ok(Ok(kept.measured.clone()));
        }
        let measured = match measure()? {
            Ok(measured) => measured,
            Err(why) => return Ok(Err(why)),
        };
        let line = format!("{}\n", json!(KeptRow { key, measured }));
        self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data()).map_err(|e| {
            Failure::other(
                format!("cannot write the results: {}", system::explained(&e).0),
                "check the space on their disk; what is in the file stays",
            )
        })?;
        // The row is read from its text, so that it has the same numbers as if it were read from the file
        // later.
        self.kept.extend(KeptRow::lines(&line));
        let kept = self.kept.last().ok_or_else(|| {
            Failure::fault(
                "a row that was just written cannot be \
            read",
            )
        })?;
        Ok(Ok(kept.measured.clone()))
    }
}

pub fn run(arguments: &BenchPapersFlags, quiet: bool) -> Result<Report, Failure> {
    let wanted = |table: PaperTable| arguments.tables.is_empty() || arguments.tables.contains(&table);
    let mut results = Results::open(&arguments.results)?;
    let (mut done, mut left_out) = (Vec::new(), Vec::new());
    for row in rows().into_iter().filter(|row| wanted(row.table)) {
        let key = row.key(arguments.rounds, &arguments.resources, arguments.choice.buckets);
        match results.row(key, || measured(&row, arguments))? {
            Ok(measured) => {
                say(quiet, &format!("{}: {:.1} ms", row.name(), 1e3 * measured.seconds));
                done.push(MeasuredRow { row, measured });
            }
            Err(why) => left_out.push(json!({ "row": row.name(), "why": why })),
        }
    }
    let bytes = if wanted(PaperTable::Table4) { table_4()? } else { Vec::new() };
    if let Some(path) = &arguments.svg {
        fs::write(path, chart::document(&charts(&done))).map_err(|e| Failure::cannot_write(path, &e))?;
    }
    let mut human = String::new();
    for &of in PaperTable::value_variants() {
        let rows: Vec<_> = done.iter().filter(|done| done.row.table == of).map(MeasuredRow::shown).collect();
        let (name, columns) = match of {
            PaperTable::Plan => ("milliseconds of a run, and predicted by measured", &COLUMNS_OF_PLAN[..]),
            _ => ("milliseconds and megabytes of one execution", &COLUMNS[..]),
        };
        if !rows.is_empty() {
            human += &format!("{}: {name}\n\n{}\n", table_name(of), table(columns, &rows));
        }
    }
    if !bytes.is_empty() {
        human += "table4: bytes to the evaluator of one AES-128, and the paper's\n\n";
        human += &table(&COLUMNS_OF_BYTES, &bytes);
    }
    human += &skipped(&left_out);
    let rows: Vec<_> = done.iter().map(MeasuredRow::json).collect();
    Report::new(&json!({ "rows": rows, "bytes": bytes, "skipped": left_out }), human)
}

/// Returns a row's measurement, or the reason why it is skipped.
fn measured(row: &PaperRow, arguments: &BenchPapersFlags) -> Result<Result<MeasuredRuns, String>, Failure> {
    let gates = row.workload.and_gates() * u64::from(row.executions);
    if arguments.largest.is_some_and(|largest| gates > largest) {
        return Ok(Err(format!("{} AND gates", thousands(gates))));
    }
    // No machine can run both parties of this row, so its program is not even made.
    if gates > 1 << 31 {
        return Ok(Err(format!("{} AND gates are beyond the memory of one machine", thousands(gates))));
    }
    let program = row.workload.program()?;
    if let Some(why) = too_much(row, &program, arguments)? {
        return Ok(Err(why));
    }
    let executions = (row.executions > 1).then_some(row.executions);
    let parameters =
        AgreedParameters { security: Some(40), executions, ..AgreedParameters::new(Protocol::DUPLO) };
    let BenchPapersFlags { resources, choice, rounds, .. } = arguments;
    let setting = Setting { resources, line: row.link, buckets: choice.buckets, rounds: *rounds };
    setting.measure(&program.into(), parameters, &Cut::Given).map(Ok)
}

/// Returns the reason why a row cannot run on this machine, or not within the time that is allowed.
fn too_much(
    row: &PaperRow,
    program: &Program,
    arguments: &BenchPapersFlags,
) -> Result<Option<String>, Failure> {
    let BenchPapersFlags { resources: own, choice, rounds, longest, .. } = arguments;
    let repeated = repeated(program, Some(row.executions))?;
    let machine = machine::measured(false, || {})?.with_threads(own.threads);
    let link = row.link.with_lanes(own.lanes);
    let parameters = match choice.buckets.choose(&repeated, 40, &machine, &link) {
        Ok(parameters) => parameters,
        // The program has more wires than one session can have.
        Err(failure) => return Ok(Some(failure.message().into())),
    };
    let cost = duplo::cost::predict(&repeated, &parameters, &machine, &link);
    let memory = cost.memory_bytes.garbler + cost.memory_bytes.evaluator;
    let disk = cost.disk_bytes.garbler + cost.disk_bytes.evaluator;
    let place = std::env::temp_dir();
    let seconds = cost.seconds() * f64::from(*rounds);
    let is_short = |need: u64, there: &u64| need > there / 10 * 9;
    let limit = [own.max_ram, resources::available_bytes()].into_iter().flatten().min();
    let limit = limit.filter(|limit| is_short(memory, limit));
    let free = brickwork::disk::free_bytes(&place).filter(|free| is_short(disk, free));
    Ok(match (limit, free) {
        (Some(limit), _) => Some(format!(
            "both parties need some {} of memory, and there are {}",
            bytes(memory),
            bytes(limit)
        )),
        (None, Some(free)) => {
            let (need, free) = (bytes(disk), bytes(free));
            Some(format!("temporary files need {need} of disk, and {} has {free}", place.display()))
        }
        (None, None) if seconds > f64::from(*longest) => {
            Some(format!("it would take some {seconds:.0} seconds"))
        }
        (None, None) => None,
    })
}
