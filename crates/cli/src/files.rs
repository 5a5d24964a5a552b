//! Programs, values and keys out of files.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use brickwork::circuit::formats::{self, InputMap, Kind};
use brickwork::circuit::{Party, Program, value};
use brickwork::random::Rng;
use brickwork::stock::StoreKey;
use brickwork::wire::tls::Identity;
use brickwork_kernels::Erasing;
use brickwork_lang::Diagnostics;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::arguments::{ProgramArguments, Reading};
use crate::compile::{self, SourceFlags};
use crate::failure::Failure;
use crate::table;

/// Largest program file.
pub const MAX_PROGRAM_BYTES: u64 = 4 << 30;

/// Largest file with a party's input.
pub const MAX_VALUE_BYTES: u64 = 1 << 30;

/// Largest key file.
pub const MAX_KEY_BYTES: u64 = 64 << 10;

/// All of `source`, unless it is longer than `limit`: a device or a pipe may never end.
pub fn read_all(
    source: io::Result<impl Read>,
    limit: u64,
    name: &str,
) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let mut bytes = Zeroizing::new(Vec::new());
    source
        .and_then(|source| source.take(limit + 1).read_to_end(&mut bytes))
        .map_err(|e| Failure::cannot_read(name, &e))?;
    if bytes.len() as u64 > limit {
        return Err(Failure::input(format!("{name} is longer than {limit} bytes"), "is it the right file?"));
    }
    Ok(bytes)
}

/// Reads a program or circuit; its kind is told by the content. What is odd in a source is said on stderr.
pub fn program(arguments: &ProgramArguments) -> Result<Program, Failure> {
    load(&arguments.file, &arguments.map.parties())
}

/// [`program`], of a file and whose the inputs are.
pub fn load(path: &Path, map: &InputMap) -> Result<Program, Failure> {
    let (program, warnings) = load_with(path, map, &SourceFlags::default())?;
    if let Some(warnings) = warnings {
        compile::warn(&warnings);
    }
    Ok(program)
}

/// Whether this file is a source of the language.
pub fn is_source(path: &Path, bytes: &[u8]) -> bool {
    match formats::kind(bytes) {
        Some(kind) => kind == Kind::Wir,
        None => path.extension().is_some_and(|extension| extension == "wir"),
    }
}

/// [`load`], of a source that is compiled with these flags; what is odd in it is returned.
pub fn load_with(
    path: &Path,
    map: &InputMap,
    flags: &SourceFlags,
) -> Result<(Program, Option<Diagnostics>), Failure> {
    let bytes = read_all(File::open(path), MAX_PROGRAM_BYTES, &path.display().to_string())?;
    if is_source(path, &bytes) && map.is_empty() {
        return compile::compile(path, &bytes, flags).map(|(program, warnings)| (program, Some(warnings)));
    }
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let program = formats::load_mapped(&bytes, &name, map);
    let hint = match map.is_empty() {
        true => "is it the right file, and complete?",
        false => {
            "--map names inputs of a Bristol circuit, as `brickwork info FILE` without it lists them; leave it out for other files"
        }
    };
    program.map(|program| (program, None)).map_err(|e| Failure::input(e.to_string(), hint))
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

/// [`value`], of both parties.
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

fn one_from_stdin() -> Failure {
    Failure::usage("only one value can come from stdin", "give the other one in a file, as @FILE or csv:FILE")
}

/// All that stands in a file with a value, or on stdin for the path `-`; stdin can be read once.
pub fn value_bytes(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if path != Path::new("-") {
        return read_all(File::open(path), MAX_VALUE_BYTES, &path.display().to_string());
    }
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(one_from_stdin());
    }
    read_all(Ok(io::stdin().lock()), MAX_VALUE_BYTES, "stdin")
}

/// The text in a file; the hint is for one that is something else.
pub fn utf8<'a>(bytes: &'a [u8], name: &str, hint: &str) -> Result<&'a str, Failure> {
    std::str::from_utf8(bytes).map_err(|_| Failure::input(format!("{name} is not a text file"), hint))
}

/// The bits of a party's input.
pub fn input_bits(
    program: &Program,
    party: Party,
    executions: Option<u32>,
    value: &Value,
) -> Result<Zeroizing<Vec<bool>>, Failure> {
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
    bits.map(Zeroizing::new).map_err(|e| {
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

/// What a party's output bits mean.
pub fn output_value(program: &Program, party: Party, executions: Option<u32>, bits: &[bool]) -> Value {
    match executions {
        Some(n) => value::decode_executions(program, n as usize, party, bits),
        None => value::decode(&program.output_ports(party), bits),
    }
}

/// The program that is garbled: `program` itself, or its repetition.
pub fn repeated(program: &Program, executions: Option<u32>) -> Result<Program, Failure> {
    match executions {
        Some(n) => Ok(program.repeat(n as usize)?),
        None => Ok(program.clone()),
    }
}

/// Reads a text file.
pub fn text(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let bytes = read_all(File::open(path), MAX_VALUE_BYTES, &name)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Failure::input(format!("{name} is not a text file"), "is it the right file?"))?;
    Ok(text.to_owned())
}

/// How to come by the key of a store.
pub const STORE_KEY_HINT: &str = "give the key that the store was made with; for a new store `brickwork keygen --store-key -o FILE` makes one";

/// Reads the key of a store, which nobody else may read.
pub fn store_key(path: &Path) -> Result<StoreKey, Failure> {
    let _erasing = Erasing::begin();
    let name = path.display().to_string();
    check_private(path).map_err(|e| e.within(&name))?;
    let text = read_all(File::open(path), MAX_KEY_BYTES, &name)?;
    StoreKey::from_hex(std::str::from_utf8(&text).unwrap_or(""))
        .map_err(|e| Failure::from(e).within(&name).advise(STORE_KEY_HINT))
}

/// The role's name.
pub fn role(party: Party) -> &'static str {
    match party {
        Party::Garbler => "garbler",
        Party::Evaluator => "evaluator",
    }
}

/// Reads a private key that nobody else may read.
pub fn identity(path: &Path) -> Result<Identity, Failure> {
    Ok(identity_and_pem(path)?.0)
}

/// [`identity`], and the text that it is made of.
pub fn identity_and_pem(path: &Path) -> Result<(Identity, Zeroizing<String>), Failure> {
    let _erasing = Erasing::begin();
    let name = path.display().to_string();
    check_private(path).map_err(|e| e.within(&name))?;
    let pem = read_all(File::open(path), MAX_KEY_BYTES, &name)?;
    let pem = std::str::from_utf8(&pem).unwrap_or("");
    let identity = Identity::from_pem(pem);
    let identity = identity
        .map_err(|e| Failure::input(format!("{name}: {e}"), "`brickwork keygen -o KEYFILE` makes a key"))?;
    Ok((identity, Zeroizing::new(pem.to_owned())))
}

/// Whether other users can read or change an open file.
pub fn is_open_to_others(file: &File) -> io::Result<bool> {
    #[cfg(unix)]
    return Ok(std::os::unix::fs::PermissionsExt::mode(&file.metadata()?.permissions()) & 0o077 != 0);
    #[cfg(not(unix))]
    file.metadata().map(|_| false)
}

#[cfg(unix)]
fn check_private(path: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt;
    // A file that is not there is reported by whoever opens it.
    match std::fs::metadata(path) {
        Ok(data) if data.permissions().mode() & 0o077 != 0 => Err(Failure::input(
            "other users can read or change this private key",
            "`chmod 600` it, or make a new one if it may be known",
        )),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn check_private(_: &Path) -> Result<(), Failure> {
    Ok(())
}

/// A folder for programs that are made on the way, gone when this is dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Result<Self, Failure> {
        let mut name = [0; 8];
        Rng::new("brickwork temporary folder")?.fill(&mut name);
        let path = std::env::temp_dir().join(format!("brickwork-{:016x}", u64::from_le_bytes(name)));
        let mut builder = std::fs::DirBuilder::new();
        // Nobody else may put another program there.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(|e| Failure::cannot_write(&path, &e))?;
        Ok(Folder(path))
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is a program, which is no secret.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
