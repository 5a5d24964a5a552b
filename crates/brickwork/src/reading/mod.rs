//! Parties' values: from text, files and stdin to bits, and back.

mod decimal;
mod options;
mod table;

pub use options::{DecimalScale, ReadingOptions};
pub use table::up_to as table_up_to;

use std::collections::BTreeMap;
use std::path::Path;

use brickwork_circuit::{Party, Port, Program, value};
use brickwork_kernels::{Erasing, SecretBlocks};
use serde::Serialize;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::engine::role;
use crate::failure::Error;
use crate::files::{one_from_stdin, utf8, value_bytes};

/// A party's value, as a caller gives it.
#[derive(Clone, Copy)]
pub enum GivenValue<'g> {
    /// No value.
    Nothing,
    /// A text: JSON or a bare number, a file (`@file`), stdin (`-`), or a table in a file (`@file.csv`,
    /// `csv:file`) or on stdin (`csv:-`). JSON may also name tables where an array is expected.
    Text(&'g str),
    /// The bits of its wires, for all executions one after another.
    Bits(&'g [bool]),
}

impl<'g> From<Option<&'g str>> for GivenValue<'g> {
    fn from(text: Option<&'g str>) -> Self {
        text.map_or(GivenValue::Nothing, GivenValue::Text)
    }
}

/// Returns the bits of a party's value.
pub fn bits<'g>(
    given: impl Into<GivenValue<'g>>,
    program: &Program,
    party: Party,
    executions: Option<u32>,
    reading: &ReadingOptions,
) -> Result<SecretBlocks<bool>, Error> {
    table::check_scales(reading, program, &[party])?;
    read_bits(given.into(), program, party, executions, reading)
}

/// Returns the [`bits`] of a party's value for these ports, for one execution.
pub fn step_bits(
    given: GivenValue,
    ports: &[Port],
    party: Party,
    reading: &ReadingOptions,
) -> Result<SecretBlocks<bool>, Error> {
    let text = match given {
        GivenValue::Text(text) => text,
        GivenValue::Bits(bits) => return checked(bits, ports, party, 1),
        GivenValue::Nothing => "null",
    };
    let within = |failure: Error| failure.within(&format!("input of the {}", role(party)));
    let _erasing = Erasing::begin();
    let (mut value, folder) = parse(text, reading.private).map_err(within)?;
    table::fill(&mut value, &value::given(ports), None, folder, reading).map_err(within)?;
    value::encode(ports, &value).map(SecretBlocks::new).map_err(|e| within(Error::from(e)))
}

/// Returns the [`bits`] of both parties.
pub fn bits_of_both<'g>(
    given: [impl Into<GivenValue<'g>>; 2],
    program: &Program,
    executions: Option<u32>,
    reading: &ReadingOptions,
) -> Result<[SecretBlocks<bool>; 2], Error> {
    let given = given.map(Into::into);
    if given.iter().all(|given| matches!(given, GivenValue::Text("-" | "csv:-"))) {
        return Err(one_from_stdin());
    }
    let [garbler, evaluator] = [Party::Garbler, Party::Evaluator];
    table::check_scales(reading, program, &[garbler, evaluator])?;
    Ok([
        read_bits(given[0], program, garbler, executions, reading)?,
        read_bits(given[1], program, evaluator, executions, reading)?,
    ])
}

fn read_bits(
    given: GivenValue,
    program: &Program,
    party: Party,
    executions: Option<u32>,
    reading: &ReadingOptions,
) -> Result<SecretBlocks<bool>, Error> {
    let text = match given {
        GivenValue::Bits(bits) => {
            return checked(bits, program.input_ports(party), party, executions.unwrap_or(1));
        }
        GivenValue::Text(text) => Some(text),
        GivenValue::Nothing => None,
    };
    // Libraries do not erase the memory that they use.
    let _erasing = Erasing::begin();
    let value = read_value(text, program, party, executions, reading)?;
    input_bits(program, party, executions, &value)
}

/// Returns the bits of all ports, from those of the given ports. These must keep the ports' rules, as every
/// other form of a value.
fn checked(
    bits: &[bool],
    ports: &[Port],
    party: Party,
    executions: u32,
) -> Result<SecretBlocks<bool>, Error> {
    let own = value::given(ports);
    let width = own.iter().map(|port| port.ty.width()).fold(0, u64::saturating_add);
    if width.checked_mul(executions.into()) != Some(bits.len() as u64) {
        return Err(Error::fault(format!("these {} input bits belong to another program", bits.len())));
    }
    let within = |error| Error::from(error).within(&format!("input of the {}", role(party)));
    value::check_rules(&own, bits).map_err(within)?;
    let all = value::with_drawn(ports, bits.to_vec(), executions as usize);
    all.map(SecretBlocks::new).map_err(within)
}

/// Reads a value; a missing value is [`Value::Null`].
fn read_value(
    text: Option<&str>,
    program: &Program,
    party: Party,
    executions: Option<u32>,
    reading: &ReadingOptions,
) -> Result<Value, Error> {
    let Some(text) = text else { return Ok(Value::Null) };
    let within = |failure: Error| failure.within(&format!("input of the {}", role(party)));
    let (mut value, folder) = parse(text, reading.private).map_err(within)?;
    let ports = value::given(program.input_ports(party));
    if ports.is_empty() {
        return Ok(value);
    }
    if executions == Some(1) && !table::is_list(&value, &table::type_of(&ports)) {
        // A single value may be given without brackets.
        value = Value::Array(vec![value]);
    }
    table::fill(&mut value, &ports, executions, folder, reading).map_err(within)?;
    Ok(value)
}

/// Returns the value that a text describes, without its tables, and the folder from which its paths start.
fn parse(text: &str, private: bool) -> Result<(Value, &Path), Error> {
    let here = Path::new("");
    if table::names_one(text) {
        return Ok((Value::String(text.to_owned()), here));
    }
    let (source, folder) = match text.strip_prefix('@') {
        Some(path) => (Path::new(path), Path::new(path).parent().unwrap_or(here)),
        None if text == "-" => (Path::new("-"), here),
        None => return Ok((inline(text)?, here)),
    };
    let hint = "a value must be JSON text; write csv:FILE for a table in a file that does not end in .csv, \
         and csv:- for a table on stdin";
    let name = if source == Path::new("-") { "stdin".into() } else { source.display().to_string() };
    let value = value::parse(utf8(&value_bytes(source, private)?, &name, hint)?);
    Ok((value.map_err(|e| Error::from(e).within(&name).advise(hint))?, folder))
}

/// Reads a value on the command line.
fn inline(text: &str) -> Result<Value, Error> {
    value::parse(text).map_err(|e| {
        let path = Path::new(text.trim());
        // Such an extension has only letters, unlike the text `12.5e3`.
        let ends_like_a_file = path.extension().and_then(|e| e.to_str()).is_some_and(|extension| {
            extension.len() <= 5 && extension.chars().all(|c| c.is_ascii_alphabetic())
        });
        let is_json = text.trim_start().starts_with(['{', '[', '"']);
        let failure = Error::from(e);
        // This error must not repeat the text, because the text may be a secret.
        if path.is_file() {
            failure.advise("it is the name of a file: write an @ before it, or csv: if the file is a table")
        } else if !is_json && (ends_like_a_file || text.contains('/')) {
            failure.advise("if it is meant to be a file, write an @ before its name, or csv: for a table")
        } else {
            failure
        }
    })
}

fn input_bits(
    program: &Program,
    party: Party,
    executions: Option<u32>,
    value: &Value,
) -> Result<SecretBlocks<bool>, Error> {
    let ports = program.input_ports(party);
    let role = role(party);
    if value.is_null() && ports.iter().any(|port| port.drawn.is_none()) {
        return Err(Error::usage(
            format!("the program needs an input of the {role}"),
            "give it inline, as @FILE, or on stdin as -; `brickwork info FILE` shows its type",
        ));
    }
    let bits = match executions {
        Some(n) => value::encode_executions(ports, n as usize, value),
        None => value::encode(ports, value),
    };
    bits.map(SecretBlocks::new).map_err(|e| {
        let failure = Error::from(e).within(&format!("input of the {role}"));
        match names_a_file(value) {
            true => failure
                .advise("there is the name of a file in it: write an @ before it, or csv: if it is a table"),
            false => failure,
        }
    })
}

/// Returns whether a string in this value is the name of a file.
fn names_a_file(value: &Value) -> bool {
    match value {
        Value::String(text) => Path::new(text).is_file(),
        Value::Array(elements) => elements.iter().any(names_a_file),
        Value::Object(fields) => fields.values().any(names_a_file),
        _ => false,
    }
}

/// Counts the rows of a file of inputs: elements of a JSON array, or lines of a table below its header.
///
/// # Errors
/// If the file cannot be read, is malformed or has too many rows.
pub fn rows(path: &Path) -> Result<u32, Error> {
    let name = path.display().to_string();
    let bad = |why: &str| Error::input(format!("{name}: {why}"), "give the inputs one by one, or as a table");
    let bytes = value_bytes(path, false)?;
    let rows = match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => {
            let mut records = csv::Reader::from_reader(&bytes[..]).into_byte_records();
            records
                .try_fold(0u64, |rows, record| record.map(|_| rows + 1))
                .map_err(|e| table::broken(&e).within(&name))?
        }
        _ => match value::parse(utf8(&bytes, &name, "it holds JSON")?)? {
            Value::Array(rows) => rows.len() as u64,
            _ => return Err(bad("expected an array of inputs, one for each row")),
        },
    };
    u32::try_from(rows).map_err(|_| bad("there are too many rows; make more partitions"))
}

/// Returns the JSON of a party's value for these ports.
pub fn input_text(ports: &[Port], bits: &[bool]) -> Zeroizing<String> {
    Zeroizing::new(value::decode(ports, bits).to_string())
}

/// Returns the bits of a public value for a port.
///
/// # Errors
/// The value does not fit the port's type.
pub fn constant_bits(value: &impl Serialize, port: &Port) -> Result<Vec<bool>, Error> {
    let value = serde_json::to_value(value).map_err(|e| Error::fault(e.to_string()))?;
    Ok(value::encode(std::slice::from_ref(port), &value)?)
}

/// Returns the values of a party's output bits.
pub fn output_value(program: &Program, party: Party, executions: Option<u32>, bits: &[bool]) -> Value {
    match executions {
        Some(n) => value::decode_executions(program, n as usize, party, bits),
        None => value::decode(&program.output_ports(party), bits),
    }
}

/// Returns the values of the output bits of the garbler and of the evaluator, by role.
///
/// # Errors
/// A fault if the number of bits is wrong.
pub fn output_values(
    program: &Program,
    executions: Option<u32>,
    bits: [Option<&[bool]>; 2],
) -> Result<BTreeMap<&'static str, Value>, Error> {
    let of = |party, bits: &[bool]| {
        let width: usize = program.outputs_of(party).map(|output| output.wires.len()).sum();
        match width.checked_mul(executions.unwrap_or(1) as usize) == Some(bits.len()) {
            true => Ok((role(party), output_value(program, party, executions, bits))),
            false => Err(Error::fault(format!("these {} output bits belong to another program", bits.len()))),
        }
    };
    let both = [Party::Garbler, Party::Evaluator].into_iter().zip(bits);
    both.filter_map(|(party, bits)| Some(of(party, bits?))).collect()
}

#[cfg(test)]
mod tests {
    use brickwork_base::stop::{Stop, Stopped};
    use brickwork_circuit::library;

    use super::*;

    /// Reading an input can be stopped, whatever form the input has.
    #[test]
    fn whatever_reads_an_input_may_be_stopped() {
        let program = library::millionaires().expect("a program");
        let folder = tempfile::tempdir().expect("a folder");
        let [json, table] = [("two.json", "[5, \"0x7\"]"), ("two.csv", "v\n5\n7\n")].map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a file");
            format!("@{}", path.display())
        });
        let wire = |number: u32| (0..32).map(move |bit| char::from(b'0' + (number >> bit & 1) as u8));
        let wires: String = "bits:".chars().chain(wire(5)).chain(wire(7)).collect();
        let read = |text: &str| {
            bits(GivenValue::Text(text), &program, Party::Garbler, Some(2), &ReadingOptions::default())
                .unwrap_or_else(|e| panic!("{e}"))
        };
        let expected: Vec<bool> = wire(5).chain(wire(7)).map(|bit| bit == '1').collect();
        for text in ["[5, 7]", &wires, &json, &table] {
            assert_eq!(read(text)[..], expected, "{text}");
            let stop = Stop::new();
            stop.ask();
            assert_eq!(stop.run(|| read(text).len()), Err(Stopped), "{text}");
        }
    }

    #[test]
    fn wires_of_all_executions_are_as_many() {
        let program = library::millionaires().expect("a program");
        for (text, words) in [
            (format!("bits:{}", "0".repeat(63)), "expected 64 wire bits"),
            (format!("bits:{}2", "0".repeat(63)), "wire bits must be 0 or 1"),
        ] {
            let read =
                bits(GivenValue::Text(&text), &program, Party::Garbler, Some(2), &ReadingOptions::default());
            let failure = read.err().expect("they are refused");
            assert!(failure.message().contains(words), "{failure}");
        }
    }
}
