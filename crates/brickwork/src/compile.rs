//! Writes a program into a file: from its source, in another cut, repeated, or in another format.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use brickwork_base::{Error as ProtocolError, Party};
use brickwork_circuit::formats::{self, InputMap, bristol, compgc, scd};
use brickwork_circuit::info::Info;
use brickwork_circuit::{self as circuit, Component, Recipient};
use brickwork_lang::DiagnosticRecord;
use brickwork_report::words::plural;
use serde::{Deserialize, Serialize};

use crate::cut::Cut;
use crate::failure::Error;
use crate::files;
use crate::program::{Program, SourceOptions, gates_within};
use crate::resources;
use crate::traced::Traced;

/// A format of program files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Brickwork's own format, which holds every program.
    #[default]
    Bwp,
    /// The components and solderings of the DUPLO paper's programs.
    GcDuplo,
    /// A circuit in Bristol Fashion.
    Bristol,
    /// A function of CompGC.
    #[serde(rename = "compgc")]
    CompGc,
    /// A circuit of JustGarble.
    Scd,
}

impl Format {
    /// All formats, in the order in which users see them.
    pub const ALL: [Format; 5] = [Format::Bwp, Format::GcDuplo, Format::Bristol, Format::CompGc, Format::Scd];

    /// Returns the name that users give.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Bwp => "bwp",
            Format::GcDuplo => "gc-duplo",
            Format::Bristol => "bristol",
            Format::CompGc => "compgc",
            Format::Scd => "scd",
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Format::Bwp => "bwp",
            Format::GcDuplo => "GC_duplo",
            Format::Bristol => "txt",
            Format::CompGc => "json",
            Format::Scd => "scd",
        }
    }

    fn write(self, program: &circuit::Program) -> Result<Vec<u8>, Error> {
        let bytes = match self {
            Format::Bwp => Ok(program.to_bytes()),
            Format::GcDuplo => formats::duplo::write(program).map(String::into_bytes),
            Format::Bristol => bristol::write(program).map(String::into_bytes),
            Format::Scd => scd::write(program),
            Format::CompGc => compgc::write(program),
        };
        bytes.map_err(|e| Error::from(e).advise("write another format; `--emit bwp` can hold every program"))
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let named = Format::ALL.into_iter().find(|format| format.name() == name);
        named.ok_or_else(|| format!("formats are {}", Format::ALL.map(Format::name).join(", ")))
    }
}

/// A request to write a program into a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompileRequest {
    /// The file with the source or the program.
    pub file: PathBuf,
    /// The parties of the inputs of a Bristol or SCD circuit.
    pub map: InputMap,
    /// The options of the compiler.
    pub source: SourceOptions,
    /// The file to write; none for a name beside the file.
    pub output: Option<PathBuf>,
    /// The format to write.
    pub emit: Format,
    /// The cut into components.
    pub cut: Cut,
    /// The number of evaluations that the written program makes of the program. They share the inputs of the
    /// party in `hold`.
    pub repeat: Option<u32>,
    /// The party whose inputs are the same in all evaluations.
    pub hold: Option<Party>,
}

/// A file with a program that was written.
#[derive(Clone, Debug, Serialize)]
pub struct CompiledFile {
    /// The description of the program in the file.
    #[serde(flatten)]
    pub info: Info,
    /// The file.
    pub output: String,
    /// The warnings of the compiler.
    pub warnings: Vec<DiagnosticRecord>,
    /// Private outputs that both parties see, because the format cannot say whose an output is.
    #[serde(skip)]
    pub exposed: Vec<String>,
}

impl CompileRequest {
    /// Loads the program of the request.
    ///
    /// # Errors
    /// As [`Program::load_with`].
    pub fn load(&self) -> Result<Program, Error> {
        Program::load_with(&self.file, &self.map, &self.source)
    }

    /// Writes the program of the request, which was loaded before.
    ///
    /// # Errors
    /// An error of input if the program cannot be cut or written in this way. An error of usage if it would
    /// overwrite its own file. An error of the machine if the file cannot be written.
    pub fn write(&self, given: &Program) -> Result<CompiledFile, Error> {
        let mut program = given.cut(&self.cut, gates_within(resources::available_bytes()))?;
        match (self.repeat, self.hold) {
            (Some(times @ 1..), Some(held)) => program = program.repeat_holding(times as usize, held)?,
            (None, None) => {}
            _ => {
                return Err(Error::usage(
                    "a repeated program needs the number of evaluations, and the party that holds its inputs",
                    "give both --repeat N and --hold PARTY, or none of them",
                ));
            }
        }
        let bytes = self.emit.write(&program)?;
        let output = self.output.clone().unwrap_or_else(|| self.file.with_extension(self.emit.extension()));
        if files::is_same(&output, Traced::named(&self.file).map_or(&self.file, |traced| traced.file())) {
            return Err(Error::usage(
                format!("{} would be overwritten by its own conversion", self.file.display()),
                "give another file with --output",
            ));
        }
        files::write_whole(&output, &bytes)?;
        let private = program.outputs().iter().filter(|output| output.to != Recipient::Both);
        let exposed = match self.emit {
            Format::Bristol | Format::Scd => private.map(|output| output.port.name.clone()).collect(),
            _ => Vec::new(),
        };
        Ok(CompiledFile {
            info: self.written(&output, &bytes, &program)?.info(),
            output: output.display().to_string(),
            warnings: given.warnings().map(|warnings| warnings.records()).unwrap_or_default(),
            exposed,
        })
    }

    /// Reads the written file again, because a format that cannot express the whole program changes it.
    fn written(
        &self,
        output: &Path,
        bytes: &[u8],
        program: &circuit::Program,
    ) -> Result<circuit::Program, Error> {
        let name = output.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        // A CompGC function refers to the components of the program, which are not in its file.
        let component = |name: &str| -> Result<Component, ProtocolError> {
            let found = program.components().iter().find(|component| component.name == name);
            found.cloned().ok_or_else(|| ProtocolError::Input(format!("the program has no component {name}")))
        };
        Ok(match self.emit {
            Format::CompGc => compgc::read(bytes, component)?,
            _ => formats::load(bytes, &name)?,
        })
    }
}

impl fmt::Display for CompiledFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Info { and_gates, slots, digest, .. } = &self.info;
        let (and_gates, slots) = (plural(*and_gates, "AND gate"), plural(*slots, "slot"));
        writeln!(f, "{}: {and_gates} in {slots}, digest {digest}", self.output)?;
        match self.exposed.is_empty() {
            true => Ok(()),
            false => writeln!(
                f,
                "This format cannot say whose an output is: whoever runs this file shows {} to both parties.",
                self.exposed.join(", ")
            ),
        }
    }
}
