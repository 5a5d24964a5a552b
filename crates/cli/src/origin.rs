//! How a party makes a cut of its own file.

use std::path::Path;
use std::sync::Arc;

use brickwork::Error;
use brickwork::circuit::{Program, Slot};
use serde_json::Value;

use crate::arguments::ProgramArguments;
use crate::cut::{Cut, Wish};
use crate::failure::Failure;
use crate::programs::{self, Content};
use crate::resources;
use crate::source::{self, SourceFlags};

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

/// Returns the most gates in one piece that so much memory is enough for.
pub fn gates_within(memory: Option<u64>) -> u64 {
    memory.map_or(MAX_GATES, |memory| (memory / BYTES_A_GATE).min(MAX_GATES))
}

/// Returns the program of a file, compiled with these flags, in the cut that a record names.
pub fn in_cut(program: &ProgramArguments, flags: &SourceFlags, cut: &Value) -> Result<Program, Failure> {
    let (given, _) = programs::load_with(&program.file, &program.map.parties(), flags)?;
    Origin { path: &program.file, flags, given: &given }.of_record(cut)
}

impl Origin<'_> {
    /// Returns the source, if the file is one.
    pub fn source(&self) -> Result<Option<Content>, Failure> {
        Ok(Some(programs::content(self.path)?).filter(|content| content.is_source))
    }

    /// Returns the gates of all slots of the given program.
    pub fn gates(&self) -> u64 {
        let of = |slot: Slot| self.given.component(slot.component).circuit.gate_count() as u64;
        self.given.slots().map(of).sum()
    }

    /// Returns the program in this cut, if no piece has more than so many gates.
    pub fn make(&self, cut: &Cut, max_gates: u64) -> Result<Program, Failure> {
        match cut {
            Cut::Given => Ok(self.given.clone()),
            Cut::Gates => Err(Failure::input(
                "only --protocol jimu cuts a program into single AND gates",
                "choose another --cut",
            )),
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
                source::compile_within(&source.path, &source.bytes, &flags, Some(max_gates))
                    .map(|(program, _)| program)
            }
        }
    }

    /// Returns the program in the cut that a record of a run or of a plan names.
    pub fn of_record(&self, cut: &Value) -> Result<Program, Failure> {
        let cut = cut.as_str().unwrap_or("given").parse::<Cut>().map_err(Failure::fault)?;
        self.make(&cut, gates_within(resources::available_bytes()))
    }

    /// Returns the evaluator's part: the program in the cut that the garbler names, so often, unless this
    /// party wants another one.
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
                    .and_then(|program| programs::repeated(&program, executions));
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
    fn memory_bounds_the_gates() {
        assert_eq!(gates_within(None), MAX_GATES);
        assert_eq!(gates_within(Some(6400)), 100);
        assert_eq!(gates_within(Some(u64::MAX)), MAX_GATES);
    }
}
