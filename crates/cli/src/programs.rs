//! Programs out of files of any kind.

use std::fs::File;
use std::path::{Path, PathBuf};

use brickwork::Error;
use brickwork::circuit::formats::{self, FileKind, InputMap};
use brickwork::circuit::{Component, Program, library};
use brickwork_lang::Diagnostics;

use crate::arguments::ProgramArguments;
use crate::failure::Failure;
use crate::files::{MAX_PROGRAM_BYTES, read_all};
use crate::python::Traced;
use crate::report::bytes;
use crate::resources;
use crate::source::{self, SourceFlags};

/// Reads a program or circuit; its kind is told by the content. What is odd in a source is said on stderr.
pub fn program(arguments: &ProgramArguments) -> Result<Program, Failure> {
    load(&arguments.file, &arguments.map.parties())
}

/// Reads a [`program`] of a file and of whose the inputs are.
pub fn load(path: &Path, map: &InputMap) -> Result<Program, Failure> {
    let (program, warnings) = load_with(path, map, &SourceFlags::default())?;
    if let Some(warnings) = warnings {
        source::warn(&warnings);
    }
    Ok(program)
}

/// What a program is read from.
pub struct Content {
    /// What it is called; of a program in Python that is not its file.
    pub path: PathBuf,
    pub bytes: Vec<u8>,
    /// Whether it is a source of the language.
    pub is_source: bool,
}

/// Reads what a path names: a file, or a program in Python, which is traced into a source.
pub fn content(path: &Path) -> Result<Content, Failure> {
    if let Some(traced) = Traced::named(path) {
        return Ok(Content { path: traced.path(), bytes: traced.source()?.into_bytes(), is_source: true });
    }
    let bytes = read_all(File::open(path), MAX_PROGRAM_BYTES, &path.display().to_string())?.to_vec();
    let is_source = match formats::kind(&bytes) {
        Some(kind) => kind == FileKind::Wir,
        None => path.extension().is_some_and(|extension| extension == "wir"),
    };
    Ok(Content { path: path.to_owned(), bytes, is_source })
}

/// Does what [`load`] does, of a source that is compiled with these flags; returns what is odd in it, too.
pub fn load_with(
    path: &Path,
    map: &InputMap,
    flags: &SourceFlags,
) -> Result<(Program, Option<Diagnostics>), Failure> {
    let Content { path, bytes, is_source } = content(path)?;
    let path = &*path;
    if is_source && map.is_empty() {
        return source::compile(path, &bytes, flags).map(|(program, warnings)| (program, Some(warnings)));
    }
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let program = match formats::kind(&bytes) {
        Some(FileKind::CompGc) if map.is_empty() => formats::compgc::read(&bytes, |name| beside(path, name)),
        _ => formats::load_mapped(&bytes, &name, map),
    };
    let hint = match map.is_empty() {
        true => "is it the right file, and complete?",
        false => {
            "--map names inputs of a Bristol circuit, or ranges of those of an SCD circuit, as `brickwork \
             info FILE` without it lists them; leave it out for other files"
        }
    };
    program.map(|program| (program, None)).map_err(|e| Failure::input(e.to_string(), hint))
}

/// The component of this name, for a function of CompGC: what a .bwp or Bristol file of that name beside it
/// computes, as one component; or else one of the library.
fn beside(function: &Path, name: &str) -> Result<Component, Error> {
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
        return Err(Error::Input(format!("{name:?} names no component: letters, digits, _ and - do")));
    }
    for path in ["bwp", "txt"].map(|kind| function.with_file_name(format!("{name}.{kind}"))) {
        if !path.exists() {
            continue;
        }
        let shown = path.display().to_string();
        let bytes = read_all(File::open(&path), MAX_PROGRAM_BYTES, &shown)
            .map_err(|failure| Error::Input(failure.message().into()))?;
        // Not a function again, which could name itself.
        if formats::kind(&bytes) == Some(FileKind::CompGc) {
            return Err(Error::Input(format!("{shown}: a component is a circuit, not a function")));
        }
        return formats::load_component(&bytes, &shown);
    }
    library::compgc::component_named(name).map_err(|e| {
        Error::Input(format!(
            "{e}: neither {name}.bwp nor {name}.txt is beside the function, nor is it known"
        ))
    })
}

/// Returns the program that is garbled: `program` itself, or its repetition.
pub fn repeated(program: &Program, executions: Option<u32>) -> Result<Program, Failure> {
    match executions {
        Some(n) => {
            fits(program, n, bytes_an_execution(program))?;
            Ok(program.repeat(n as usize)?)
        }
        None => Ok(program.clone()),
    }
}

/// Bytes that a wire or a soldering of a repeated program takes, with what protocols lay out beside it.
const BYTES_A_WIRE: u64 = 16;

/// Bytes of a slot, likewise.
const BYTES_A_SLOT: u64 = 96;

/// Bytes that an execution takes in a repeated program, before anything runs.
fn bytes_an_execution(program: &Program) -> u64 {
    let inputs = program.slots().map(|slot| slot.inputs.len() as u64).sum::<u64>();
    let outputs = program.outputs().iter().map(|output| output.wires.len() as u64).sum::<u64>();
    BYTES_A_WIRE * (program.wires() as u64 + inputs + outputs) + BYTES_A_SLOT * program.slot_count() as u64
}

/// Refuses executions that are laid out beside each other, of so many bytes each, and do not fit into the
/// memory of this machine.
pub fn fits(program: &Program, executions: u32, bytes_an_execution: u64) -> Result<(), Failure> {
    let needed = bytes_an_execution.saturating_mul(executions.into());
    match resources::available_bytes() {
        Some(free) if free < needed => Err(Failure::usage(
            format!(
                "{executions} executions of {} at once take some {} of memory here, and {} are free",
                program.name(),
                bytes(needed),
                bytes(free)
            ),
            "ask for fewer --executions, and run more often",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn what_does_not_fit_is_not_laid_out() {
        let program = library::millionaires().expect("a program");
        assert!(fits(&program, u32::MAX, 0).is_ok() && fits(&program, 1, 1000).is_ok());
        let failure = fits(&program, 3, u64::MAX).expect_err("that is more than there is");
        assert!(failure.message().starts_with("3 executions of millionaires at once"), "{failure:?}");
        assert!(repeated(&program, Some(u32::MAX)).is_err());
        assert_eq!(repeated(&program, Some(1000)).expect("it fits").and_gates(), 1000 * program.and_gates());
    }
}
