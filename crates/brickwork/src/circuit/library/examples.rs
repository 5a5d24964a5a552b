//! The programs in `examples/`.

use serde_json::{Value, json};

use super::{component, less_than, uint};
use crate::Error;
use crate::circuit::{Port, Program, ProgramBuilder, Recipient, Type};

/// A program to try, with inputs.
pub struct Example {
    /// The program; the file is called after it.
    pub program: Program,
    /// What the garbler's input file is called, and what is in it.
    pub garbler: (String, Value),
    /// What the evaluator's input file is called, and what is in it.
    pub evaluator: (String, Value),
}

impl Example {
    /// The names and contents of the input files.
    pub fn input_files(&self) -> [(&str, String); 2] {
        [&self.garbler, &self.evaluator].map(|(name, value)| (&**name, format!("{value}\n")))
    }
}

/// All example programs.
///
/// # Errors
/// None but those of the circuits' limits.
pub fn examples() -> Result<Vec<Example>, Error> {
    let millionaires = Example {
        program: millionaires()?,
        garbler: ("alice.json".into(), json!(1_250_000)),
        evaluator: ("bob.json".into(), json!(1_000_000)),
    };
    Ok(vec![millionaires])
}

/// Yao's question: which of two people is richer, without telling either the other's wealth. If they are equally rich,
/// neither is.
///
/// # Errors
/// None but those of the circuits' limits.
pub fn millionaires() -> Result<Program, Error> {
    let richer = Type::Struct(vec![("alice".into(), Type::Uint(1)), ("bob".into(), Type::Uint(1))]);
    let compare = component("compare", vec![uint("alice", 32), uint("bob", 32)], vec![Port::new("richer", richer.clone())], |b, words| {
        let (alice, bob) = (words[0], words[1]);
        vec![vec![less_than(b, bob, alice), less_than(b, alice, bob)]]
    })?;
    let mut program = ProgramBuilder::new("millionaires", vec![uint("wealth", 32)], vec![uint("wealth", 32)])?;
    let compare = program.component(compare)?;
    let inputs: Vec<u32> = (0..64).collect();
    let first = program.slot(compare, &inputs)?;
    program.output(Port::new("richer", richer), Recipient::Both, vec![first, first + 1])?;
    program.finish()
}
