//! Stores: making stock, their contents, and their check.

use brickwork::damage::Verified;
use brickwork::engine::stocked::Requested;
use brickwork::engine::task::Host;
use brickwork::inventory::StoreContents;
use brickwork::options::from_json;
use brickwork::preprocess::PreprocessOptions;
use brickwork::{SourceOptions, StoreRequest, files};
use pyo3::prelude::*;

use crate::objects::{InputRoles, Program, input_map, loaded, party};
use crate::task::{Task, TaskResult};

/// Starts to make stock with the peer: for the given numbers of executions of programs, and for the requests
/// in the options. The map assigns the inputs of circuits to the parties.
#[pyfunction]
pub fn preprocess(
    role: &str,
    options: String,
    programs: Vec<(PyRef<'_, Program>, u32)>,
    map: InputRoles,
) -> PyResult<Task> {
    let (role, map) = (party(role)?, input_map(map)?);
    let mut components = counted(programs)?;
    Task::start(move |shared| {
        let options: PreprocessOptions = from_json(&options)?;
        for one in options.components()? {
            let program = brickwork::Program::load_with(&one.file, &map, &SourceOptions::default())?;
            components.push(one.of(&program));
        }
        let request = options.request(role, components)?;
        let (identity, pem) = files::identity_and_pem(options.identity()?)?;
        let mut listens = |address| {
            shared.listens(address);
            Ok(())
        };
        let watch = shared.control.progress.watch();
        let mut host = Host { listens: &mut listens, watch: &watch, line: None, warns: true };
        TaskResult::told(&request.run((identity, &pem), &mut host)?)
    })
}

/// Returns the requests for these numbers of executions of programs.
pub fn counted(programs: Vec<(PyRef<'_, Program>, u32)>) -> PyResult<Vec<Requested>> {
    programs.into_iter().map(|(program, count)| Ok(Requested::of(&loaded(&program)?, count))).collect()
}

/// Starts to list the contents of a store, and the number of executions for each named program.
#[pyfunction]
pub fn stock_ls(options: String, programs: Vec<(String, PyRef<'_, Program>)>) -> PyResult<Task> {
    let programs = programs.into_iter().map(|(name, program)| Ok((name, loaded(&program)?)));
    let programs = programs.collect::<PyResult<Vec<_>>>()?;
    Task::start(move |_| {
        TaskResult::told(&StoreContents::list(&from_json::<StoreRequest>(&options)?, &programs)?)
    })
}

/// Starts to read everything in a store.
#[pyfunction]
pub fn stock_verify(options: String) -> PyResult<Task> {
    Task::start(move |_| TaskResult::told(&Verified::read(&from_json::<StoreRequest>(&options)?, false)?))
}
