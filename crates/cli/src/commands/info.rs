//! `brickwork info`: the inputs, outputs and size of a program.

use brickwork::cut::Cut;
use brickwork::description::Description;

use crate::commands::programs;
use crate::flags::arguments::ProgramArguments;
use crate::render::failure::Failure;
use crate::render::report::Report;

/// Show a program's ports, components and AND gates, and on request its wires
#[derive(clap::Args)]
pub struct InfoFlags {
    #[command(flatten)]
    pub program: ProgramArguments,
    /// Also show which wire is which bit of which input and output
    #[arg(long)]
    wires: bool,
}

pub fn run(arguments: &InfoFlags) -> Result<Report, Failure> {
    let description = programs::program(&arguments.program)?.describe(&Cut::Given)?;
    Report::of(&Description { wires: arguments.wires, ..description })
}
