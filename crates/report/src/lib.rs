//! Pages of a run, a plan, a comparison or a program: one HTML file each.
//!
//! [`page`] needs only the JSON that the command prints with `--json`. The page has no script and no link,
//! and loads nothing. Each picture has a title, a description and its data as a table, and each colour a
//! pattern. Only [`page_with_outputs`] shows outputs; records contain no inputs, and nothing that an
//! evaluator must hide.
#![forbid(unsafe_code)]

mod arcs;
mod bars;
pub mod chart;
mod compare;
pub mod html;
mod parts;
mod plan;
mod program;
mod run;
mod timeline;
pub mod words;

use std::fmt;

use serde_json::Value;

pub use compare::charts as charts_of_comparison;
pub use plan::charts as charts_of_plan;

/// An error: the JSON is not a record that has a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this JSON is not the record of a run, a plan, a comparison or a program")
    }
}

impl std::error::Error for Unknown {}

/// Makes the page of the JSON of `brickwork run`, `garbler`, `evaluator`, `plan`, `bench compare` or `info`.
/// If the record of a run or a plan has a `program`, the JSON of `info`, the page also shows solderings and
/// the digest.
///
/// # Errors
/// [`Unknown`] if the record is none of these.
pub fn page(record: &Value) -> Result<String, Unknown> {
    write(record, None)
}

/// Makes the same page as [`page`], with the outputs of the run.
///
/// # Errors
/// As [`page`].
pub fn page_with_outputs(record: &Value) -> Result<String, Unknown> {
    write(record, record.get("outputs"))
}

fn write(record: &Value, outputs: Option<&Value>) -> Result<String, Unknown> {
    let has = |fields: &[&str]| fields.iter().all(|field| record.get(field).is_some());
    match () {
        () if has(&["phases", "promise", "protocol", "outputs"]) => Ok(run::page(record, outputs)),
        () if has(&["candidates", "proposed"]) => Ok(plan::page_of_proposal(record)),
        () if has(&["phases", "promise", "alternatives"]) => Ok(plan::page(record)),
        () if has(&["rows", "rounds", "program", "link"]) => Ok(compare::page(record)),
        () if has(&["components", "digest", "slots"]) => Ok(program::page(record)),
        () => Err(Unknown),
    }
}
