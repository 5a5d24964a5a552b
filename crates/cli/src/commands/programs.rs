//! The programs that commands name: files of all formats, and programs in Python.

use std::path::Path;
use std::sync::Arc;

use brickwork::circuit::formats::InputMap;
use brickwork::{Program, SourceOptions, circuit};

use crate::flags::arguments::ProgramArguments;
use crate::flags::source;
use crate::render::failure::Failure;

/// Reads a program or circuit; its content tells the format. Warnings of the compiler are printed on stderr.
pub fn program(arguments: &ProgramArguments) -> Result<Program, Failure> {
    load(&arguments.file, &arguments.map.parties())
}

/// Reads a [`program`] from a file. `map` assigns the inputs of a circuit to the parties.
pub fn load(path: &Path, map: &InputMap) -> Result<Program, Failure> {
    let program = Program::load_with(path, map, &SourceOptions::default())?;
    program.warnings().into_iter().for_each(source::warn);
    Ok(program)
}

/// Reads a [`program`] for a command that uses it in the cut of its file.
pub fn circuit(path: &Path, map: &InputMap) -> Result<Arc<circuit::Program>, Failure> {
    Ok(load(path, map)?.given().clone())
}
