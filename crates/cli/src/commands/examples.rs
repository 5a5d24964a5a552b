//! `brickwork examples`: the programs of the standard library, to read and to run.

use std::path::PathBuf;

use brickwork::examples;
use clap::Args;

use crate::render::failure::Failure;
use crate::render::report::Report;

/// List the programs that come with the compiler, or write them and inputs for both parties
#[derive(Args)]
pub struct ExamplesFlags {
    /// The program or library to write
    name: Option<String>,
    /// The file to write
    #[arg(short, long, value_name = "DIR", default_value = ".", requires = "name")]
    output: PathBuf,
    /// Write all of them
    #[arg(long, value_name = "DIR", conflicts_with_all = ["name", "output"])]
    write: Option<PathBuf>,
}

pub fn run(arguments: &ExamplesFlags) -> Result<Report, Failure> {
    match (arguments.name.as_deref(), &arguments.write) {
        (None, None) => Report::of(&examples::list()),
        (None, Some(folder)) => Report::of(&examples::write(None, folder)?),
        (name, _) => Report::of(&examples::write(name, &arguments.output)?),
    }
}
