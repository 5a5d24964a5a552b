//! `brickwork examples`: the programs of the standard library, to read and to run.

use std::path::{Path, PathBuf};
use std::{fs, io};

use brickwork_lang::{Example, StdFile, std_library};
use clap::Args;
use serde_json::{Value, json};

use crate::failure::{Failure, code};
use crate::report::Report;

/// List the programs that come with the compiler, or write them and inputs for both parties
#[derive(Args)]
pub struct Arguments {
    /// The program or library to write
    name: Option<String>,
    /// The file to write
    #[arg(short, long, value_name = "DIR", default_value = ".", requires = "name")]
    output: PathBuf,
    /// Write all of them
    #[arg(long, value_name = "DIR", conflicts_with_all = ["name", "output"])]
    write: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<Report, Failure> {
    match (&arguments.name, &arguments.write) {
        (Some(name), _) => write(&arguments.output, &[*find(name)?]),
        (None, Some(folder)) => write(folder, std_library()),
        (None, None) => Ok(list()),
    }
}

fn find(name: &str) -> Result<&'static StdFile, Failure> {
    let found = std_library().iter().find(|file| stem(file) == name || file.name == name);
    found.ok_or_else(|| {
        Failure::new(
            code::USAGE,
            format!("there is no example called {name}"),
            "`brickwork examples` lists them",
        )
    })
}

fn stem(file: &StdFile) -> &'static str {
    file.name.strip_suffix(".wir").unwrap_or(file.name)
}

fn list() -> Report {
    let lines = |programs: bool| -> String {
        let files = std_library().iter().filter(|file| file.example.is_some() == programs);
        files.map(|file| format!("  {:16} {}\n", stem(file), file.summary)).collect()
    };
    let human = format!(
        "Programs:\n{}\nLibraries, which `#include \"NAME.wir\"` finds:\n{}\n`brickwork examples NAME` \
         writes one of them here, with inputs for both parties; `brickwork examples --write DIR` writes \
         all.\n",
        lines(true),
        lines(false)
    );
    let entry = |file: &StdFile| {
        let kind = if file.example.is_some() { "program" } else { "library" };
        json!({ "name": stem(file), "kind": kind, "summary": file.summary })
    };
    Report::new(json!({ "examples": std_library().iter().map(entry).collect::<Vec<_>>() }), human)
}

/// Writes these files and their inputs, and returns how to run them.
fn write(folder: &Path, files: &[StdFile]) -> Result<Report, Failure> {
    fs::create_dir_all(folder).map_err(|e| Failure::cannot_write(folder, &e))?;
    let (mut written, mut commands, mut human) = (Vec::new(), Vec::new(), String::new());
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
                    let why =
                        io::Error::new(io::ErrorKind::AlreadyExists, "another file of this name is there");
                    return Err(Failure::cannot_write(&path, &why)
                        .advise("choose another folder with --output or --write"));
                }
                Err(_) => fs::write(&path, text).map_err(|e| Failure::cannot_write(&path, &e))?,
            }
            written.push(Value::from(path.display().to_string()));
        }
        let path = in_folder(folder, file.name);
        human.push_str(&format!("{}: {}\n", path.display(), file.summary));
        if let Some(example) = &file.example {
            let command = command(folder, &path, example);
            human.push_str(&format!("  {}\n", command.join(" ")));
            commands.push(command);
        }
    }
    Ok(Report::new(json!({ "written": written, "commands": commands }), human))
}

/// Returns the path of a file in a folder; in the current folder it is the bare name.
fn in_folder(folder: &Path, name: &str) -> PathBuf {
    if folder == Path::new(".") { name.into() } else { folder.join(name) }
}

fn command(folder: &Path, program: &Path, example: &Example) -> Vec<String> {
    let value = |name: &str| format!("@{}", in_folder(folder, name).display());
    let (garbler, evaluator) = (value(example.garbler.name), value(example.evaluator.name));
    [
        "brickwork".into(),
        "run".into(),
        program.display().to_string(),
        "--garbler".into(),
        garbler,
        "--evaluator".into(),
        evaluator,
    ]
    .into()
}
