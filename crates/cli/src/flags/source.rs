//! Sources of the language: compiler options, and warnings on stderr.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal};

use brickwork::SourceOptions;
use brickwork::cut::Cut;
use brickwork_lang::Diagnostics;
use clap::{Args, ValueEnum};

use crate::render::terminal;

#[derive(Args, Clone, Default, PartialEq, Eq, Hash)]
pub struct SourceFlags {
    /// Make calls of this function in main a part of main instead of a component; * means all functions
    #[arg(long, value_name = "FUNCTION")]
    inline: Vec<String>,
    /// Make this function a component even where other functions call it
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
    /// Treat warnings as errors
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
    /// Returns the options of the compiler.
    pub fn options(&self) -> SourceOptions {
        SourceOptions {
            inline: self.inline.iter().cloned().collect(),
            component: self.component.iter().cloned().collect(),
            ..self.options_without_cut()
        }
    }

    /// Returns the options of the compiler without the flags of the cut.
    pub fn options_without_cut(&self) -> SourceOptions {
        SourceOptions {
            inline: BTreeSet::new(),
            component: BTreeSet::new(),
            builtins: self.builtin.iter().cloned().collect(),
            aes: self.aes,
            reverse_structs: self.struct_order == StructOrder::Reverse,
            warnings_as_errors: self.warnings_as_errors,
        }
    }

    /// Returns the cut.
    pub fn cut(&self) -> Cut {
        Cut::of_flags(self.inline.iter().cloned().collect(), self.component.iter().cloned().collect())
    }
}

/// Formats diagnostics for stderr.
fn render(diagnostics: &Diagnostics) -> String {
    diagnostics.render(io::stderr().is_terminal() && !terminal::is_json())
}

/// Prints the warnings on stderr, except with `--quiet`.
pub fn warn(warnings: &Diagnostics) {
    if !terminal::is_quiet() && !warnings.is_empty() {
        terminal::warn(&render(warnings));
    }
}
