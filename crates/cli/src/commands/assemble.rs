//! `brickwork assemble`: a program of the garbled machine from its source, or the instruction set itself.

use std::fmt;
use std::path::{Path, PathBuf};

use brickwork::circuit::info::Info;
use brickwork::circuit::{Party, Program};
use brickwork::reading;
use brickwork_kernels::Erasing;
use brickwork_machine::{Assembly, Problem, library};
use clap::Args;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::commands::files;
use crate::flags::arguments::RoleFlag;
use crate::render::failure::Failure;
use crate::render::report::{Report, plural};

/// Assemble a program of the garbled machine, public or secret, or write its instruction set
#[derive(Args)]
pub struct AssembleFlags {
    /// The source: instructions, inputs and outputs; usually a .bwa file
    #[arg(required_unless_present = "library")]
    file: Option<PathBuf>,
    /// Write the instruction set as a program with each component, to make stock of
    #[arg(long, conflicts_with_all = ["file", "secret_program"])]
    library: bool,
    /// The file to write; by default it is beside FILE, and isa.bwp for the library
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// This party's instructions are secret: write the program that can execute any instructions; the peer's
    /// source has none
    #[arg(long, value_name = "ROLE")]
    secret_program: Option<RoleFlag>,
    /// Write the input of the party that has the secret instructions, to a new file
    #[arg(long, value_name = "FILE", requires = "secret_program")]
    program_input: Option<PathBuf>,
    /// The other inputs of this party: JSON, @file, or - for stdin
    #[arg(long, value_name = "VALUE", requires = "program_input", allow_negative_numbers = true)]
    input: Option<String>,
}

pub fn run(arguments: &AssembleFlags) -> Result<Report, Failure> {
    let _erasing = Erasing::begin();
    let (program, default) = match &arguments.file {
        None => (library()?, PathBuf::from("isa.bwp")),
        Some(file) => {
            let problem = |problem: Problem| of_source(file, problem);
            let assembly = Assembly::parse(&files::text(file, false)?).map_err(problem)?;
            let program = match arguments.secret_program.map(Party::from) {
                None => {
                    let stem = file.file_stem().map_or("program".into(), |stem| stem.to_string_lossy());
                    assembly.public(&stem).map_err(problem)?
                }
                Some(holder) => {
                    let program = assembly.secret(holder).map_err(problem)?;
                    if let Some(path) = &arguments.program_input {
                        let other = arguments.input.as_deref();
                        let input = holders_input((&assembly, holder), &program, other, file)?;
                        files::write_secret(path, &format!("{}\n", *input))?;
                    }
                    program
                }
            };
            (program, file.with_extension("bwp"))
        }
    };
    let output = arguments.output.clone().unwrap_or(default);
    if arguments.file.as_ref().is_some_and(|file| files::is_same(file, &output)) {
        let why = format!("the source {} would be overwritten by its program", output.display());
        return Err(Failure::usage(why, "give another file with --output"));
    }
    files::write_whole(&output, &program.to_bytes())?;
    Report::of(&Assembled {
        info: program.info(),
        output: output.display().to_string(),
        program_input: arguments.program_input.as_ref().map(|path| path.display().to_string()),
    })
}

/// A program of the garbled machine that was written.
#[derive(Serialize)]
struct Assembled {
    #[serde(flatten)]
    info: Info,
    output: String,
    program_input: Option<String>,
}

impl fmt::Display for Assembled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Info { and_gates, slots, digest, .. } = &self.info;
        let (and_gates, slots) = (plural(*and_gates, "AND gate"), plural(*slots, "slot"));
        writeln!(f, "{}: {and_gates} in {slots}, digest {digest}", self.output)?;
        match &self.program_input {
            Some(path) => writeln!(f, "{path}: the secret program, an input that nobody else may see"),
            None => Ok(()),
        }
    }
}

fn of_source(file: &Path, problem: Problem) -> Failure {
    Failure::input(format!("{}:{}: {}", file.display(), problem.line, problem.message), problem.hint)
}

/// Returns the whole input of the party that has the secret instructions, as JSON.
fn holders_input(
    (assembly, holder): (&Assembly, Party),
    program: &Program,
    other: Option<&str>,
    file: &Path,
) -> Result<Zeroizing<String>, Failure> {
    let mut bits = assembly.program_input().map_err(|problem| of_source(file, problem))?;
    let ports = assembly.ports(holder);
    match other {
        None if ports.is_empty() => {}
        None => {
            let names: Vec<&str> = ports.iter().map(|port| &*port.name).collect();
            return Err(Failure::usage(
                format!("the {} has more inputs than its program: {}", files::role(holder), names.join(", ")),
                "give them with --input, as to `brickwork simulate`",
            ));
        }
        Some(_) if ports.is_empty() => {
            return Err(Failure::usage(
                format!("the {} has no input except its program", files::role(holder)),
                "leave --input out",
            ));
        }
        Some(text) => {
            let given = reading::GivenValue::Text(text);
            bits.extend_from_slice(&reading::step_bits(given, &ports, holder, &Default::default())?);
        }
    }
    Ok(reading::input_text(program.input_ports(holder), &bits))
}
