//! `brickwork compile`: a program from its source, or in another format.

use std::fs;
use std::path::PathBuf;

use brickwork::circuit::Recipient;
use brickwork::circuit::formats::{InputMap, bristol, compgc, duplo, scd};
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::arguments::ProgramArguments;
use crate::cut::Cut;
use crate::failure::Failure;
use crate::origin::{Origin, gates_within};
use crate::report::{Report, plural};
use crate::source::{self, SourceFlags};
use crate::{info, programs, resources};

/// Compile a .wir source into a program, or convert between formats
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
    /// Where to write it; by default beside FILE
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The format to write
    #[arg(long, value_name = "FORMAT", default_value = "bwp")]
    emit: Format,
    /// Into which components it is cut: as the file says, in one piece (whole), or of a source a list such as
    /// inline:F,component:G; `brickwork plan` shows what each costs. Stock is made of the components that are
    /// written
    #[arg(long, value_name = "given|whole|LIST", default_value_t = Cut::Given, hide_default_value = true)]
    cut: Cut,
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
    let (program, warnings) = programs::load_with(file, &arguments.program.map.parties(), &arguments.source)?;
    warnings.iter().for_each(source::warn);
    let origin = Origin { path: file, flags: &arguments.source, given: &program };
    let program = origin.make(&arguments.cut, gates_within(resources::available_bytes()))?;
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
    if output == *file {
        return Err(Failure::usage(
            format!("{} would be overwritten by its own conversion", file.display()),
            "give another file with --output",
        ));
    }
    fs::write(&output, &bytes).map_err(|e| Failure::cannot_write(&output, &e))?;
    // What the file says is another program where its format cannot say all of this one.
    let written = programs::load(&output, &InputMap::default())?;
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
    json["warnings"] = json!(warnings.map(|w| w.records()).unwrap_or_default());
    Ok(Report::new(json, human))
}
