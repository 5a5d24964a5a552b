//! Stores: their contents, and their check.

use brickwork::StoreRequest;
use brickwork::inventory::StoreContents;
use brickwork::options::from_json;
use brickwork::upkeep::Verified;
use pyo3::prelude::*;

use crate::objects::Program;
use crate::runs::loaded;
use crate::task::{Answer, Task};

/// Starts to list the contents of a store, and for each program, which has a name, the number of executions.
#[pyfunction]
pub fn stock_ls(options: String, programs: Vec<(String, PyRef<'_, Program>)>) -> PyResult<Task> {
    let programs = programs.into_iter().map(|(name, program)| Ok((name, loaded(&program)?)));
    let programs = programs.collect::<PyResult<Vec<_>>>()?;
    Task::start(move |_| {
        Answer::told(&StoreContents::list(&from_json::<StoreRequest>(&options)?, &programs)?)
    })
}

/// Starts to read everything in a store.
#[pyfunction]
pub fn stock_verify(options: String) -> PyResult<Task> {
    Task::start(move |_| Answer::told(&Verified::read(&from_json::<StoreRequest>(&options)?, false)?))
}
