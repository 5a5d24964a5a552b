//! The programs in `examples/`.

use serde_json::{Value, json};

use super::aes::{self, KeySize};
use super::{component, less_than, matrix, uint};
use crate::{Port, Program, ProgramBuilder, Recipient, Type, value};
use brickwork_base::Error;

/// A program to try, with inputs.
pub struct Example {
    /// The program; the file is called after it.
    pub program: Program,
    /// The name and content of the garbler's input file.
    pub garbler: (String, Value),
    /// The name and content of the evaluator's input file.
    pub evaluator: (String, Value),
}

impl Example {
    fn new(program: Program, garbler: Value, evaluator: Value) -> Self {
        let file = |party: &str| format!("{}.{party}.json", program.name());
        Example { garbler: (file("garbler"), garbler), evaluator: (file("evaluator"), evaluator), program }
    }

    /// Returns the names and contents of the input files.
    pub fn input_files(&self) -> [(&str, String); 2] {
        [&self.garbler, &self.evaluator].map(|(name, value)| (&**name, format!("{value}\n")))
    }
}

/// Returns all example programs.
///
/// # Errors
/// Only if a circuit exceeds its limits.
pub fn examples() -> Result<Vec<Example>, Error> {
    let millionaires = Example {
        program: millionaires()?,
        garbler: ("alice.json".into(), json!(1_250_000)),
        evaluator: ("bob.json".into(), json!(1_000_000)),
    };
    let mut examples = vec![millionaires];

    // The inputs of the standard's examples.
    let counting = |length: u8| hex(&(0..length).collect::<Vec<u8>>());
    let block = hex(&(0..16).map(|i| 17 * i).collect::<Vec<u8>>());
    examples.push(Example::new(aes::aes_128()?, counting(16), block.clone()));
    let key = value::encode(&[uint("key", 128)], &counting(16))?;
    let schedule = Port::new("round_keys", Type::Array(Box::new(Type::Uint(128)), 11));
    let round_keys = value::decode(&[schedule], &aes::round_keys(&key)?);
    examples.push(Example::new(aes::aes_128_expanded()?, round_keys, block.clone()));
    for (size, length) in [(KeySize::Aes128, 16), (KeySize::Aes192, 24), (KeySize::Aes256, 32)] {
        examples.push(Example::new(aes::aes_from_rounds(size)?, counting(length), block.clone()));
    }
    let message: Vec<Value> = (0..16).map(|i| hex(&[i; 16])).collect();
    examples.push(Example::new(aes::cbc_mac(16)?, counting(16), json!(message)));

    let matrix = |f: fn(u32, u32) -> u32| {
        json!((0..16).map(|i| (0..16).map(|j| f(i, j)).collect()).collect::<Vec<Vec<u32>>>())
    };
    let (a, b) = (matrix(|i, j| 16 * i + j), matrix(|i, j| ((i + 1) * 0x0101_0101) ^ j));
    examples.push(Example::new(matrix::product(16, 32, 2)?, a, b));
    Ok(examples)
}

fn hex(bytes: &[u8]) -> Value {
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    Value::String(format!("0x{digits}"))
}

/// Returns Yao's millionaires' problem: which of two people is richer, while neither learns the other's
/// wealth. If they are equally rich, the result is that neither is richer.
///
/// # Errors
/// Only if a circuit exceeds its limits.
pub fn millionaires() -> Result<Program, Error> {
    let richer = Type::Struct(vec![("alice".into(), Type::Uint(1)), ("bob".into(), Type::Uint(1))]);
    let compare = component(
        "compare",
        vec![uint("alice", 32), uint("bob", 32)],
        vec![Port::new("richer", richer.clone())],
        |b, words| {
            let (alice, bob) = (words[0], words[1]);
            vec![vec![less_than(b, bob, alice), less_than(b, alice, bob)]]
        },
    )?;
    let mut program =
        ProgramBuilder::new("millionaires", vec![uint("wealth", 32)], vec![uint("wealth", 32)])?;
    let compare = program.component(compare)?;
    let inputs: Vec<u32> = (0..64).collect();
    let first = program.slot(compare, &inputs)?;
    program.output(Port::new("richer", richer), Recipient::Both, vec![first, first + 1])?;
    program.finish()
}
