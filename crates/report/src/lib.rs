//! Pages of a run, a plan, a comparison or a program: one file of HTML each, which can be looked at anywhere.
//!
//! [`page`] makes it only from what the command prints with `--json`. The page is one file: no script, no
//! address, nothing that is loaded. Each picture has a title, a description and its data as a table, and what
//! has a colour has a pattern, too. Outputs are shown by [`page_with_outputs`] alone; inputs and what an
//! evaluator must not let show are in no record.
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

/// The JSON is none of the records that have a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is no record of a run, a plan, a comparison or a program")
    }
}

impl std::error::Error for Unknown {}

/// Makes the page of what `brickwork run`, `garbler`, `evaluator`, `plan`, `bench compare` or `info` print as
/// JSON. A run's and a plan's record may have a `program`, which is what `info` prints of it: then the page
/// shows its solderings and digest, too.
///
/// # Errors
/// [`Unknown`] if the record is none of these.
pub fn page(record: &Value) -> Result<String, Unknown> {
    write(record, None)
}

/// Does what [`page`] does, with the outputs of the run.
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
