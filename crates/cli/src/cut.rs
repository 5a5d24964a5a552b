//! A cut of a program into components: its name, and how a party makes it of its own file.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use brickwork::Error;
use brickwork::circuit::{Program, Slot};
use brickwork::duplo::MAX_DECOMPOSITION_BYTES;
use clap::Args;

use crate::compile::{self, SourceFlags};
use crate::failure::Failure;
use crate::files;

/// A cut of a program, as both parties can make it of their files.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cut {
    /// As the file says.
    Given,
    /// In one piece.
    Whole,
    /// Of a source: these functions computed as part of `main`, and these as components; not none at all.
    Flags { inline: BTreeSet<String>, component: BTreeSet<String> },
}

impl Cut {
    /// The cut of a source by these flags.
    pub fn of_flags(inline: BTreeSet<String>, component: BTreeSet<String>) -> Self {
        if inline.is_empty() && component.is_empty() { Cut::Given } else { Cut::Flags { inline, component } }
    }

    /// The cuts in which this function is treated in another way.
    pub fn one_flag_away(&self, function: &str) -> [Self; 2] {
        [0, 1].map(|which| {
            let mut sets = match self {
                Cut::Flags { inline, component } => [inline.clone(), component.clone()],
                Cut::Given | Cut::Whole => Default::default(),
            };
            if !sets[which].remove(function) {
                sets[1 - which].remove(function);
                sets[which].insert(function.to_owned());
            }
            let [inline, component] = sets;
            Cut::of_flags(inline, component)
        })
    }

    /// The flags that give this cut to `compile`, as a shell takes them.
    pub fn flags(&self) -> String {
        match self {
            Cut::Given => String::new(),
            Cut::Whole => "--emit bristol".into(),
            Cut::Flags { inline, component } => {
                let inline = inline.iter().map(|name| {
                    if name == "*" { "--inline '*'".to_owned() } else { format!("--inline {name}") }
                });
                inline
                    .chain(component.iter().map(|name| format!("--component {name}")))
                    .collect::<Vec<_>>()
                    .join(" ")
            }
        }
    }

    /// How the parties name it to each other: the given one has no name.
    pub fn name(&self) -> String {
        match self {
            Cut::Given => String::new(),
            other => other.to_string(),
        }
    }

    /// The cut of a name.
    pub fn of_name(name: &str) -> Result<Self, String> {
        if name.is_empty() { Ok(Cut::Given) } else { name.parse() }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cut::Given => f.write_str("given"),
            Cut::Whole => f.write_str("whole"),
            Cut::Flags { inline, component } => {
                let inline = inline.iter().map(|name| format!("inline:{name}"));
                f.write_str(
                    &inline
                        .chain(component.iter().map(|name| format!("component:{name}")))
                        .collect::<Vec<_>>()
                        .join(","),
                )
            }
        }
    }
}

impl FromStr for Cut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut inline, mut component) = (BTreeSet::new(), BTreeSet::new());
        match text {
            "given" => return Ok(Cut::Given),
            "whole" => return Ok(Cut::Whole),
            _ if text.len() > MAX_DECOMPOSITION_BYTES => {
                return Err(format!("a cut has a name of at most {MAX_DECOMPOSITION_BYTES} bytes"));
            }
            _ => {}
        }
        let is_name =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        for part in text.split(',') {
            match part.split_once(':') {
                Some(("inline", name)) if is_name(name) || name == "*" => inline.insert(name.to_owned()),
                Some(("component", name)) if is_name(name) => component.insert(name.to_owned()),
                _ => {
                    return Err(
                        "a cut is fastest, given, whole, or of a source a list such as inline:F,component:G (`brickwork plan` shows them)"
                            .into(),
                    );
                }
            };
        }
        Ok(Cut::of_flags(inline, component))
    }
}

/// Which cut a party wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The garbler: what is predicted to be fastest. The evaluator: whatever the garbler proposes.
    Fastest,
    Fixed(Cut),
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wish::Fastest => f.write_str("fastest"),
            Wish::Fixed(cut) => cut.fmt(f),
        }
    }
}

impl FromStr for Wish {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "fastest" { Ok(Wish::Fastest) } else { text.parse().map(Wish::Fixed) }
    }
}

/// Into which components the program is cut.
#[derive(Args)]
pub struct CutArguments {
    /// Into which components the program is cut: as is predicted to be fastest (the garbler proposes, the
    /// evaluator makes the same cut of its own file), as the file says, in one piece, or a list such as
    /// inline:F,component:G. An evaluator that is given one refuses others
    #[arg(
        long,
        value_name = "fastest|given|whole|LIST",
        default_value = "fastest",
        hide_default_value = true
    )]
    pub cut: Wish,
}

/// A file with a program and how it is compiled: what its other cuts are made of.
pub struct Origin<'a> {
    pub path: &'a Path,
    /// Those that have nothing to do with cuts.
    pub flags: &'a SourceFlags,
    /// The program as the file says.
    pub given: &'a Program,
}

/// What a gate takes while a program is compiled, in bytes.
const BYTES_A_GATE: u64 = 64;

/// Most gates of a function or of a program in one piece.
const MAX_GATES: u64 = 1 << 28;

/// The most gates in one piece that so much memory is enough for.
pub fn gates_within(memory: Option<u64>) -> u64 {
    memory.map_or(MAX_GATES, |memory| (memory / BYTES_A_GATE).min(MAX_GATES))
}

impl Origin<'_> {
    /// The source, if the file is one.
    pub fn source(&self) -> Result<Option<Vec<u8>>, Failure> {
        let bytes = files::read_all(
            File::open(self.path),
            files::MAX_PROGRAM_BYTES,
            &self.path.display().to_string(),
        )?;
        Ok(files::is_source(self.path, &bytes).then(|| bytes.to_vec()))
    }

    /// Gates of all slots of the given program.
    pub fn gates(&self) -> u64 {
        let of = |slot: Slot| self.given.component(slot.component).circuit.gate_count() as u64;
        self.given.slots().map(of).sum()
    }

    /// The program in this cut, if no piece has more than so many gates.
    pub fn make(&self, cut: &Cut, max_gates: u64) -> Result<Program, Failure> {
        match cut {
            Cut::Given => Ok(self.given.clone()),
            Cut::Whole => {
                let gates = self.gates();
                if gates > max_gates {
                    return Err(Failure::input(
                        format!("one piece would have {gates} gates, and {max_gates} are allowed"),
                        "choose another --cut",
                    ));
                }
                Ok(self.given.whole()?)
            }
            Cut::Flags { inline, component } => {
                let Some(source) = self.source()? else {
                    return Err(Failure::input(
                        format!(
                            "{} is compiled already and can be cut as it is or not at all, but not by {cut}",
                            self.path.display()
                        ),
                        "take the source instead, on both sides; or --cut given",
                    ));
                };
                let flags = self.flags.with_cut(inline.clone(), component.clone());
                compile::compile_within(self.path, &source, &flags, Some(max_gates))
                    .map(|(program, _)| program)
            }
        }
    }

    /// The evaluator's part: the program in the cut that the garbler names, so often, unless this party wants
    /// another one.
    pub fn accept(
        &self,
        wish: &Wish,
        name: &str,
        memory: Option<u64>,
        executions: Option<u32>,
    ) -> Result<Arc<Program>, Error> {
        let refused = |why: String| Error::Mismatch(format!("the garbler proposes the cut {name:?}: {why}"));
        let cut = Cut::of_name(name).map_err(refused)?;
        match wish {
            Wish::Fixed(own) if *own != cut => Err(refused(format!("this party wants --cut {own}"))),
            _ => {
                let made = self
                    .make(&cut, gates_within(memory))
                    .and_then(|program| files::repeated(&program, executions));
                made.map(Arc::new)
                    .map_err(|failure| refused(format!("{}; {}", failure.message(), failure.hint())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_have_names() {
        for text in ["given", "whole", "inline:*", "inline:a,inline:b_2,component:C"] {
            assert_eq!(text.parse::<Cut>().map(|cut| cut.to_string()).as_deref(), Ok(text));
            assert_eq!(text.parse::<Wish>().map(|wish| wish.to_string()).as_deref(), Ok(text));
        }
        assert_eq!(
            "component:C,inline:b,inline:a,inline:a".parse::<Cut>().map(|cut| cut.to_string()).as_deref(),
            Ok("inline:a,inline:b,component:C")
        );
        assert_eq!("fastest".parse(), Ok(Wish::Fastest));
        assert_eq!((Cut::of_name(""), Cut::Given.name()), (Ok(Cut::Given), String::new()));
        let long = format!("inline:{}", "x".repeat(MAX_DECOMPOSITION_BYTES));
        for bad in [
            "",
            "thin",
            "inline",
            "inline:",
            "component:*",
            "inline:a,",
            "inline:a b",
            "inline:../a",
            "component:é",
            "fastest,given",
            &long,
        ] {
            assert!(bad.parse::<Wish>().is_err(), "{bad}");
        }
    }

    #[test]
    fn memory_bounds_the_gates() {
        assert_eq!(gates_within(None), MAX_GATES);
        assert_eq!(gates_within(Some(6400)), 100);
        assert_eq!(gates_within(Some(u64::MAX)), MAX_GATES);
    }
}
