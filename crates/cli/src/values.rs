//! Parties' values: out of flags, files and stdin, to bits and back.

use std::path::Path;

use brickwork::circuit::{Party, Port, Program, value};
use brickwork_kernels::{Erasing, Secrets};
use serde_json::Value;

use crate::arguments::Reading;
use crate::failure::Failure;
use crate::files::{one_from_stdin, role, utf8, value_bytes};
use crate::table;

/// Something with a secret in it, of libraries that erase nothing: it is erased when it is dropped. What is
/// taken out of it is not.
pub struct Erased<T: Default>(pub T);

impl<T: Default> Drop for Erased<T> {
    fn drop(&mut self) {
        let _erasing = Erasing::begin();
        drop(std::mem::take(&mut self.0));
    }
}

/// Reads a party's value: JSON or a bare number inline, in a file (`@file`), or on stdin (`-`), or a table in
/// a file (`@file.csv`, `csv:file`) or on stdin (`csv:-`), which JSON may also name where it has a place for
/// one. No value is [`Value::Null`].
pub fn value(
    text: Option<&str>,
    program: &Program,
    party: Party,
    executions: Option<u32>,
    reading: &Reading,
) -> Result<Value, Failure> {
    table::check_scales(reading, program, &[party])?;
    read_value(text, program, party, executions, reading)
}

/// Returns the bits of a party's value for these ports, of one execution.
pub fn step_bits(
    text: &str,
    ports: &[Port],
    party: Party,
    reading: &Reading,
) -> Result<Secrets<bool>, Failure> {
    let within = |failure: Failure| failure.within(&format!("input of the {}", role(party)));
    let (mut value, folder) = parse(text).map_err(within)?;
    table::fill(&mut value, ports, None, folder, reading).map_err(within)?;
    value::encode(ports, &value).map(Secrets::new).map_err(|e| within(Failure::from(e)))
}

/// Reads the [`value`] of both parties.
pub fn values(
    texts: [Option<&str>; 2],
    program: &Program,
    executions: Option<u32>,
    reading: &Reading,
) -> Result<[Value; 2], Failure> {
    if texts.iter().all(|text| matches!(text, Some("-" | "csv:-"))) {
        return Err(one_from_stdin());
    }
    let [garbler, evaluator] = [Party::Garbler, Party::Evaluator];
    table::check_scales(reading, program, &[garbler, evaluator])?;
    Ok([
        read_value(texts[0], program, garbler, executions, reading)?,
        read_value(texts[1], program, evaluator, executions, reading)?,
    ])
}

fn read_value(
    text: Option<&str>,
    program: &Program,
    party: Party,
    executions: Option<u32>,
    reading: &Reading,
) -> Result<Value, Failure> {
    let Some(text) = text else { return Ok(Value::Null) };
    let within = |failure: Failure| failure.within(&format!("input of the {}", role(party)));
    let (mut value, folder) = parse(text).map_err(within)?;
    let ports = program.input_ports(party);
    if ports.is_empty() {
        return Ok(value);
    }
    if executions == Some(1) && !table::is_list(&value, &table::type_of(ports)) {
        // One value needs no brackets.
        value = Value::Array(vec![value]);
    }
    table::fill(&mut value, ports, executions, folder, reading).map_err(within)?;
    if let (Value::String(rows), Some(_)) = (&value, executions) {
        // A table of all executions is an array of values, like any other input to several.
        value = rows_of(rows, table::type_of(ports).width());
    }
    Ok(value)
}

/// The wire bits of several values, each of this width, as an array; other strings stay what they are.
fn rows_of(text: &str, width: u64) -> Value {
    match text.strip_prefix("bits:") {
        Some(bits) => bits
            .as_bytes()
            .chunks((width as usize).max(1))
            .map(|row| format!("bits:{}", String::from_utf8_lossy(row)))
            .collect(),
        None => text.into(),
    }
}

/// What is written in a value, tables aside, and where the paths in it start.
fn parse(text: &str) -> Result<(Value, &Path), Failure> {
    let here = Path::new("");
    if table::names_one(text) {
        return Ok((Value::String(text.to_owned()), here));
    }
    let (source, folder) = match text.strip_prefix('@') {
        Some(path) => (Path::new(path), Path::new(path).parent().unwrap_or(here)),
        None if text == "-" => (Path::new("-"), here),
        None => return Ok((inline(text)?, here)),
    };
    let hint =
        "a value is JSON text; a table in a file that does not end in .csv is csv:FILE, or csv:- on stdin";
    let name = if source == Path::new("-") { "stdin".into() } else { source.display().to_string() };
    let value = value::parse(utf8(&value_bytes(source)?, &name, hint)?);
    Ok((value.map_err(|e| Failure::from(e).within(&name).advise(hint))?, folder))
}

/// A value on the command line.
fn inline(text: &str) -> Result<Value, Failure> {
    value::parse(text).map_err(|e| {
        let path = Path::new(text.trim());
        // Not `12.5e` or the like.
        let ends_like_a_file = path.extension().and_then(|e| e.to_str()).is_some_and(|extension| {
            extension.len() <= 5 && extension.chars().all(|c| c.is_ascii_alphabetic())
        });
        let is_json = text.trim_start().starts_with(['{', '[', '"']);
        let failure = Failure::from(e);
        // Whatever it is, it is not repeated: it may be a secret all the same.
        if path.is_file() {
            failure.advise("it is the name of a file: write an @ before it, or csv: if the file is a table")
        } else if !is_json && (ends_like_a_file || text.contains('/')) {
            failure.advise("if it is meant to be a file, write an @ before its name, or csv: for a table")
        } else {
            failure
        }
    })
}

/// Returns the bits of a party's input.
pub fn input_bits(
    program: &Program,
    party: Party,
    executions: Option<u32>,
    value: &Value,
) -> Result<Secrets<bool>, Failure> {
    let ports = program.input_ports(party);
    let role = role(party);
    if value.is_null() && !ports.is_empty() {
        return Err(Failure::usage(
            format!("the program needs an input of the {role}"),
            "give it inline, as @FILE, or on stdin as -; `brickwork info FILE` shows its type",
        ));
    }
    let bits = match executions {
        Some(n) => value::encode_executions(ports, n as usize, value),
        None => value::encode(ports, value),
    };
    bits.map(Secrets::new).map_err(|e| {
        let failure = Failure::from(e).within(&format!("input of the {role}"));
        match names_a_file(value) {
            true => failure
                .advise("there is the name of a file in it: write an @ before it, or csv: if it is a table"),
            false => failure,
        }
    })
}

/// Whether a text in this value is the name of a file.
fn names_a_file(value: &Value) -> bool {
    match value {
        Value::String(text) => Path::new(text).is_file(),
        Value::Array(elements) => elements.iter().any(names_a_file),
        Value::Object(fields) => fields.values().any(names_a_file),
        _ => false,
    }
}

/// Returns what a party's output bits mean.
pub fn output_value(program: &Program, party: Party, executions: Option<u32>, bits: &[bool]) -> Value {
    match executions {
        Some(n) => value::decode_executions(program, n as usize, party, bits),
        None => value::decode(&program.output_ports(party), bits),
    }
}
