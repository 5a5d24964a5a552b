//! `brickwork compile`: a program from its source, or in another format.

use std::path::PathBuf;

use brickwork::ProtocolError as Error;
use brickwork::circuit::formats::{self, bristol, compgc, duplo, scd};
use brickwork::circuit::{Component, Party, Program, Recipient};
use brickwork::program::gates_within;
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::arguments::{ProgramArguments, party};
use crate::failure::Failure;
use crate::python::Traced;
use crate::report::{Report, plural};
use crate::source::{self, SourceFlags};
use crate::{files, info, programs};
use brickwork::cut::Cut;
use brickwork::resources;

/// Compile a .wir source into a program, or convert between formats
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    /// The file to write; by default it is beside FILE
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The format to write
    #[arg(long, value_name = "FORMAT", default_value = "bwp")]
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

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Bwp,
    GcDuplo,
    Bristol,
    #[value(name = "compgc")]
    CompGc,
    Scd,
}

pub fn run(arguments: &Arguments) -> Result<Report, Failure> {
    let file = &arguments.program.file;
    let given = programs::load_with(file, &arguments.program.map.parties(), &arguments.source.options())?;
    given.warnings().into_iter().for_each(source::warn);
    let mut program = given.cut(&arguments.cut, gates_within(resources::available_bytes()))?;
    if let (Some(times), Some(held)) = (arguments.repeat, arguments.hold) {
        program = program.repeat_holding(times as usize, held)?;
    }
    let other_format =
        |e| Failure::from(e).advise("write another format; `--emit bwp` can hold every program");
    let (extension, bytes) = match arguments.emit {
        Format::Bwp => ("bwp", program.to_bytes()),
        Format::GcDuplo => ("GC_duplo", duplo::write(&program).map_err(other_format)?.into_bytes()),
        Format::Bristol => ("txt", bristol::write(&program).map_err(other_format)?.into_bytes()),
        Format::Scd => ("scd", scd::write(&program).map_err(other_format)?),
        Format::CompGc => ("json", compgc::write(&program).map_err(other_format)?),
    };
    let output = arguments.output.clone().unwrap_or_else(|| file.with_extension(extension));
    if files::is_same(&output, Traced::named(file).map_or(file, |traced| traced.file())) {
        return Err(Failure::usage(
            format!("{} would be overwritten by its own conversion", file.display()),
            "give another file with --output",
        ));
    }
    files::write_whole(&output, &bytes)?;
    // A format that cannot express the whole program changes it, so the written file is read again.
    let name = output.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let written = match arguments.emit {
        // A CompGC function refers to the components of the program, which are not in its file.
        Format::CompGc => compgc::read(&bytes, |name| component(&program, name))?,
        _ => formats::load(&bytes, &name)?,
    };
    let info = written.info();
    let mut human = format!(
        "{}: {} in {}, digest {}\n",
        output.display(),
        plural(info.and_gates, "AND gate"),
        plural(info.slots, "slot"),
        info.digest
    );
    let private = program.outputs().iter().filter(|output| output.to != Recipient::Both);
    if matches!(arguments.emit, Format::Bristol | Format::Scd) && private.clone().next().is_some() {
        let names: Vec<&str> = private.map(|output| output.port.name.as_str()).collect();
        human += &format!(
            "This format cannot say whose an output is: whoever runs this file shows {} to both parties.\n",
            names.join(", ")
        );
    }
    let mut json = info::json(info)?;
    json["output"] = json!(output.display().to_string());
    json["warnings"] = json!(given.warnings().map(|w| w.records()).unwrap_or_default());
    Ok(Report::new(json, human))
}

/// Returns the component with this name.
fn component(program: &Program, name: &str) -> Result<Component, Error> {
    let found = program.components().iter().find(|component| component.name == name);
    found.cloned().ok_or_else(|| Error::Input(format!("the program has no component {name}")))
}
