//! `brickwork compile`: a program from its source, or in another format.

use std::path::PathBuf;

use brickwork::circuit::Party;
use brickwork::compile::{CompileRequest, Format};
use brickwork::cut::Cut;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::flags::arguments::{ProgramArguments, party};
use crate::flags::source::{self, SourceFlags};
use crate::render::failure::Failure;
use crate::render::report::Report;

/// Compile a .wir source into a program, or convert between formats
#[derive(Args)]
pub struct CompileFlags {
    #[command(flatten)]
    program: ProgramArguments,
    /// The file to write; by default it is beside FILE
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The format to write
    #[arg(long, value_name = "FORMAT", default_value = "bwp", value_parser = formats())]
    emit: Format,
    /// The cut into components: as the file has it (given), in one piece (whole), or for a source a list such
    /// as inline:F,component:G; `brickwork plan` shows the cost of each. Stock is made of the components in
    /// the written file
    #[arg(long, value_name = "given|whole|LIST", default_value_t = Cut::Given, hide_default_value = true)]
    cut: Cut,
    /// Make a program of this many evaluations, all with the same input of the party that --hold names. Each
    /// input of the other party, and each output, becomes an array
    #[arg(long, value_name = "N", requires = "hold", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: Option<u32>,
    /// The party whose input is shared by all evaluations of --repeat
    #[arg(long, value_name = "PARTY", requires = "repeat", value_parser = party)]
    hold: Option<Party>,
    #[command(flatten)]
    source: SourceFlags,
}

pub fn run(arguments: &CompileFlags) -> Result<Report, Failure> {
    let request = CompileRequest {
        file: arguments.program.file.clone(),
        map: arguments.program.map.parties(),
        source: arguments.source.options(),
        output: arguments.output.clone(),
        emit: arguments.emit,
        cut: arguments.cut.clone(),
        repeat: arguments.repeat,
        hold: arguments.hold,
    };
    let program = request.load()?;
    program.warnings().into_iter().for_each(source::warn);
    Report::of(&request.write(&program)?)
}

/// Reads the name of a format.
fn formats() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| name.parse::<Format>())
}
