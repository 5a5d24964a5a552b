//! The programs of the standard library, to read and to run.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use brickwork_lang::{ExampleInputs, StdFile, std_library};
use serde::Serialize;

use crate::failure::Error;

/// The kind of a file of the standard library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExampleKind {
    /// A program that can run.
    Program,
    /// Functions that a source includes.
    Library,
}

/// A file of the standard library.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ExampleFile {
    /// The name without its ending.
    pub name: &'static str,
    /// The kind.
    pub kind: ExampleKind,
    /// The purpose, in one line.
    pub summary: &'static str,
}

/// The files of the standard library.
#[derive(Clone, Debug, Serialize)]
pub struct Examples {
    /// All files.
    pub examples: Vec<ExampleFile>,
}

/// Files that were written.
#[derive(Clone, Debug, Serialize)]
pub struct WrittenExamples {
    /// The files.
    pub written: Vec<String>,
    /// For each program the command that runs it with the example inputs.
    pub commands: Vec<Vec<String>>,
    #[serde(skip)]
    text: String,
}

/// Lists the files of the standard library.
pub fn list() -> Examples {
    let entry = |file: &StdFile| ExampleFile {
        name: stem(file),
        kind: if file.example.is_some() { ExampleKind::Program } else { ExampleKind::Library },
        summary: file.summary,
    };
    Examples { examples: std_library().iter().map(entry).collect() }
}

/// Writes the file of this name and its inputs into a folder; all files if there is no name.
///
/// # Errors
/// An error of usage if there is no file of this name; an error of the machine if a file cannot be written,
/// or differs from an existing file.
pub fn write(name: Option<&str>, folder: &Path) -> Result<WrittenExamples, Error> {
    let Some(name) = name else { return write_all(folder, std_library()) };
    let found = std_library().iter().find(|file| stem(file) == name || file.name == name);
    let none =
        || Error::usage(format!("there is no example called {name}"), "`brickwork examples` lists them");
    write_all(folder, &[*found.ok_or_else(none)?])
}

fn stem(file: &StdFile) -> &'static str {
    file.name.strip_suffix(".wir").unwrap_or(file.name)
}

/// Writes these files and their inputs, and returns how to run them.
fn write_all(folder: &Path, files: &[StdFile]) -> Result<WrittenExamples, Error> {
    fs::create_dir_all(folder).map_err(|e| Error::cannot_write(folder, &e))?;
    let (mut written, mut commands, mut text) = (Vec::new(), Vec::new(), String::new());
    for file in files {
        let samples = file
            .example
            .iter()
            .flat_map(|e| [e.garbler, e.evaluator].into_iter().chain(e.tables.iter().copied()));
        for (name, text) in
            std::iter::once((file.name, file.text)).chain(samples.map(|sample| (sample.name, sample.text)))
        {
            let path = in_folder(folder, name);
            match fs::read(&path) {
                Ok(there) if there == text.as_bytes() => {}
                // A user may have edited the existing file.
                Ok(_) => {
                    let why = io::Error::new(
                        io::ErrorKind::AlreadyExists,
                        "another file with this name already exists",
                    );
                    return Err(Error::cannot_write(&path, &why)
                        .advise("choose another folder with --output or --write"));
                }
                Err(_) => fs::write(&path, text).map_err(|e| Error::cannot_write(&path, &e))?,
            }
            written.push(path.display().to_string());
        }
        let path = in_folder(folder, file.name);
        text += &format!("{}: {}\n", path.display(), file.summary);
        if let Some(example) = &file.example {
            let command = command(folder, &path, example);
            text += &format!("  {}\n", command.join(" "));
            commands.push(command);
        }
    }
    Ok(WrittenExamples { written, commands, text })
}

/// Returns the path of a file in a folder; in the current folder it is the bare name.
fn in_folder(folder: &Path, name: &str) -> PathBuf {
    if folder == Path::new(".") { name.into() } else { folder.join(name) }
}

fn command(folder: &Path, program: &Path, example: &ExampleInputs) -> Vec<String> {
    let value = |name: &str| format!("@{}", in_folder(folder, name).display());
    let (garbler, evaluator) = (value(example.garbler.name), value(example.evaluator.name));
    let program = program.display().to_string();
    let words = ["brickwork", "run", &program, "--garbler", &garbler, "--evaluator", &evaluator];
    words.map(str::to_owned).into()
}

impl fmt::Display for Examples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = |kind: ExampleKind| -> String {
            let files = self.examples.iter().filter(|file| file.kind == kind);
            files.map(|file| format!("  {:16} {}\n", file.name, file.summary)).collect()
        };
        let (programs, libraries) = (lines(ExampleKind::Program), lines(ExampleKind::Library));
        writeln!(
            f,
            "Programs:\n{programs}\nLibraries, which `#include \"NAME.wir\"` finds:\n{libraries}\n\
             `brickwork examples NAME` writes one of them here, with inputs for both parties; `brickwork \
             examples --write DIR` writes all."
        )
    }
}

impl fmt::Display for WrittenExamples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
