//! The programs that commands name: files of all formats, and programs in Python.

use std::path::Path;
use std::sync::Arc;

use brickwork::circuit::formats::InputMap;
use brickwork::{Program, SourceOptions, circuit};

use crate::arguments::ProgramArguments;
use crate::failure::Failure;
use crate::source;

/// Reads a program or circuit; its content tells the format. Warnings of the compiler are printed on stderr.
pub fn program(arguments: &ProgramArguments) -> Result<Program, Failure> {
    let program = read(arguments, &SourceOptions::default())?;
    if arguments.loaded.is_none() {
        program.warnings().into_iter().for_each(source::warn);
    }
    Ok(program)
}

/// Reads a program, compiles a source with these options, and prints no warnings. If this process has read
/// the program before, it returns that program.
pub fn read(arguments: &ProgramArguments, options: &SourceOptions) -> Result<Program, Failure> {
    match &arguments.loaded {
        Some(loaded) if *options == SourceOptions::default() => Ok(loaded.clone()),
        _ => Ok(Program::load_with(&arguments.file, &arguments.map.parties(), options)?),
    }
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
