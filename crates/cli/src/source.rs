//! Sources of the language: how they are compiled, and what is said of them on stderr.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use brickwork::circuit::Program;
use brickwork_lang::{Diagnostics, Directory, Options, Severity};
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::cut::Cut;
use crate::failure::Failure;
use crate::report::plural;
use crate::terminal;

/// How a .wir source is compiled.
#[derive(Args, Clone, Default, PartialEq, Eq, Hash)]
pub struct SourceFlags {
    /// Compute calls of this function from main as part of main; * stands for all
    #[arg(long, value_name = "FUNCTION")]
    inline: Vec<String>,
    /// Make this function a component also where other functions call it
    #[arg(long, value_name = "FUNCTION")]
    component: Vec<String>,
    /// Replace a function by a built-in circuit, such as SubByte=aes_sbox
    #[arg(long, value_name = "FUNCTION=CIRCUIT", value_parser = builtin)]
    builtin: Vec<(String, String)>,
    /// The first function of the source is the AES S-box, as in old programs
    #[arg(long)]
    aes: bool,
    /// Order of a struct's fields on the wires; reverse is for files of the old compiler
    #[arg(long, value_name = "ORDER", default_value = "declared")]
    struct_order: StructOrder,
    /// Take warnings for errors
    #[arg(long)]
    warnings_as_errors: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, ValueEnum)]
enum StructOrder {
    #[default]
    Declared,
    Reverse,
}

fn builtin(text: &str) -> Result<(String, String), String> {
    let (function, circuit) =
        text.split_once('=').ok_or("expected a function and a circuit, such as SubByte=aes_sbox")?;
    Ok((function.into(), circuit.into()))
}

impl SourceFlags {
    fn options(&self) -> Options {
        Options {
            inline: self.inline.iter().cloned().collect::<BTreeSet<_>>(),
            component: self.component.iter().cloned().collect::<BTreeSet<_>>(),
            builtins: self.builtin.iter().cloned().collect::<BTreeMap<_, _>>(),
            aes: self.aes,
            reverse_structs: self.struct_order == StructOrder::Reverse,
            warnings_as_errors: self.warnings_as_errors,
            ..Options::default()
        }
    }

    /// Returns the same but for the cut.
    pub fn with_cut(&self, inline: BTreeSet<String>, component: BTreeSet<String>) -> Self {
        SourceFlags {
            inline: inline.into_iter().collect(),
            component: component.into_iter().collect(),
            ..self.clone()
        }
    }

    /// Returns the cut.
    pub fn cut(&self) -> Cut {
        Cut::of_flags(self.inline.iter().cloned().collect(), self.component.iter().cloned().collect())
    }
}

/// Returns the functions of a source that the flags of a cut make a difference for.
pub fn functions(path: &Path, source: &[u8], flags: &SourceFlags) -> Vec<String> {
    let folder = Directory(path.parent().map(Path::to_path_buf).unwrap_or_default());
    let text = std::str::from_utf8(source).unwrap_or_default();
    brickwork_lang::functions(&path.display().to_string(), text, &folder, &flags.options())
}

/// Compiles the source at `path`; includes are looked for beside it.
pub fn compile(path: &Path, source: &[u8], flags: &SourceFlags) -> Result<(Program, Diagnostics), Failure> {
    compile_within(path, source, flags, None)
}

/// Does what [`compile`] does, with at most so many gates in one component.
pub fn compile_within(
    path: &Path,
    source: &[u8],
    flags: &SourceFlags,
    max_gates: Option<u64>,
) -> Result<(Program, Diagnostics), Failure> {
    let options = flags.options();
    let options =
        Options { max_gates: max_gates.unwrap_or(options.max_gates).min(options.max_gates), ..options };
    let name = path.display().to_string();
    let text = std::str::from_utf8(source)
        .map_err(|_| Failure::input(format!("{name} is not a text file"), "a source is UTF-8 text"))?;
    let folder = Directory(path.parent().map(Path::to_path_buf).unwrap_or_default());
    match brickwork_lang::compile(&name, text, &folder, &options) {
        Ok(compiled) => Ok((compiled.program, compiled.warnings)),
        Err(diagnostics) => Err(failure(&diagnostics)),
    }
}

fn failure(diagnostics: &Diagnostics) -> Failure {
    let records = diagnostics.records();
    let errors = records.iter().filter(|record| record.severity == Severity::Error);
    let (first, more) = (errors.clone().next(), errors.count().saturating_sub(1));
    let message =
        first.map_or_else(String::new, |e| format!("{}:{}:{}: {}", e.file, e.line, e.column, e.message));
    let more =
        if more == 0 { String::new() } else { format!(" (and {})", plural(more as u64, "further error")) };
    let hint = first.map_or_else(String::new, |e| e.hint.clone());
    let text = format!("{}error: the source has errors\n", render(diagnostics));
    Failure::input(message + &more, hint).with_details(text, json!({ "diagnostics": records }))
}

/// For stderr.
fn render(diagnostics: &Diagnostics) -> String {
    diagnostics.render(io::stderr().is_terminal())
}

/// Says the warnings on stderr, unless the user wants quiet.
pub fn warn(warnings: &Diagnostics) {
    if !terminal::is_quiet() && !warnings.is_empty() {
        // A closed stderr is no reason to stop.
        let _ = io::stderr().write_all(render(warnings).as_bytes());
    }
}
