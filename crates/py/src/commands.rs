//! Commands on programs and files: compiling, plans, pages, examples, keys and the doctor.

use std::path::PathBuf;

use brickwork::compile::CompileRequest;
use brickwork::cut::Cut;
use brickwork::options::{PlanOptions, RunOptions, from_json};
use brickwork::{Error, checks, examples, keygen, page};
use pyo3::prelude::*;
use zeroize::Zeroizing;

use crate::objects::{InputRoles, Program, input_map, loaded, party};
use crate::task::{Failed, Task, TaskResult, error_json};

/// Starts to write a program into a file. A program that was read before is not read again.
#[pyfunction]
#[pyo3(signature = (request, program=None))]
pub fn compile(request: String, program: Option<&Program>) -> PyResult<Task> {
    let program = program.and_then(Program::get);
    Task::start(move |_| {
        let request: CompileRequest = from_json(&request)?;
        let program = program.map_or_else(|| request.load(), Ok)?;
        TaskResult::told(&request.write(&program)?)
    })
}

/// Starts to describe a program in this cut.
#[pyfunction]
pub fn describe(program: &Program, cut: String) -> PyResult<Task> {
    let program = loaded(program)?;
    Task::start(move |_| {
        let cut: Cut = cut.parse().map_err(|why: String| Error::usage(why, "name another cut"))?;
        TaskResult::told(&program.describe(&cut)?)
    })
}

/// Starts to plan runs of a program.
#[pyfunction]
pub fn plan(program: &Program, options: String) -> PyResult<Task> {
    let program = loaded(program)?;
    Task::start(move |_| {
        let request = from_json::<PlanOptions>(&options)?.request()?;
        TaskResult::told(&request.plan(&program, &mut |_| {})?)
    })
}

/// Starts to list the programs that come with the compiler, or to write one of them into a folder.
#[pyfunction]
#[pyo3(signature = (name=None, folder=PathBuf::from(".")))]
pub fn write_examples(name: Option<String>, folder: PathBuf) -> PyResult<Task> {
    Task::start(move |_| match name {
        Some(name) => TaskResult::told(&examples::write(Some(&name), &folder)?),
        None => TaskResult::told(&examples::list()),
    })
}

/// Starts to make a key pair in a file, or the key of a store.
#[pyfunction]
pub fn new_key(path: PathBuf, of_store: bool) -> PyResult<Task> {
    Task::start(move |_| match of_store {
        true => TaskResult::told(&keygen::store_key(&path)?),
        false => TaskResult::told(&keygen::identity(&path)?),
    })
}

/// Starts to look for problems of a run.
#[pyfunction]
#[pyo3(signature = (program, role, input, options))]
pub fn doctor(
    program: Option<(PathBuf, InputRoles)>,
    role: Option<&str>,
    input: Option<String>,
    options: String,
) -> PyResult<Task> {
    let program = program.map(|(file, map)| Ok::<_, PyErr>((file, input_map(map)?))).transpose()?;
    let (role, input) = (role.map(party).transpose()?, input.map(Zeroizing::new));
    Task::start(move |shared| {
        let request = from_json::<RunOptions>(&options)?.doctor(program, role, input)?;
        TaskResult::told(&request.diagnose(&mut |address| shared.listens(address))?)
    })
}

/// Returns the page about a result in its JSON form, with the outputs if `outputs` is true. If a path is
/// given, the page is written to this file, which only its owner can read.
#[pyfunction]
#[pyo3(signature = (record, outputs, path), name = "page")]
pub fn page_of(py: Python<'_>, record: &str, outputs: bool, path: Option<PathBuf>) -> PyResult<String> {
    py.detach(|| page::of_json(record, outputs, path.as_deref()))
        .map_err(|error| Failed::new_err(error_json(&error)))
}

/// Returns every check that a peer can fail: its part, name and description.
#[pyfunction(name = "checks")]
pub fn all_checks() -> Vec<(&'static str, &'static str, String)> {
    checks::all().into_iter().map(|cheat| (cheat.part(), cheat.check(), cheat.to_string())).collect()
}
