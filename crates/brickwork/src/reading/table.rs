//! Tables: CSV files whose named columns become the fields of an array of structs. This module also fills
//! short arrays with zeros, and converts decimals.
//!
//! Error messages name the line and the column, but repeat nothing of the file, which may be secret.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use brickwork_base::stop::looking;
use brickwork_circuit::{Party, Port, Program, Type, value};
use csv::StringRecord;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::decimal;
use super::options::{DecimalScale, ReadingOptions};
use crate::failure::Error;
use crate::files;

/// Returns the type of a party's value for these ports.
pub fn type_of(ports: &[Port]) -> Type {
    match ports {
        [port] => port.ty.clone(),
        ports => Type::Struct(ports.iter().map(|port| (port.name.clone(), port.ty.clone())).collect()),
    }
}

/// Replaces each name of a table in a value (`"@file.csv"` or `"csv:file"`) by the table. It also fills short
/// arrays that have a count with zeros, and converts decimals with a scale to integers. Paths are relative to
/// `folder`.
pub fn fill(
    value: &mut Value,
    ports: &[Port],
    executions: Option<u32>,
    folder: &Path,
    reading: &ReadingOptions,
) -> Result<(), Error> {
    let one = type_of(ports);
    let ty = match executions {
        Some(n) => Type::Array(Box::new(one), n),
        None => one,
    };
    let top = Place::Top;
    let place = match ports {
        [port] => Place::Name(&top, &port.name),
        _ => top,
    };
    Filler { folder, reading }.fill(value, &ty, place)
}

/// Returns whether a value, before its tables are read, is a list of values of this type.
pub fn is_list(value: &Value, ty: &Type) -> bool {
    match value {
        Value::Array(values) => matches!(&values[..], [value] if has_form(value, ty)),
        // The rows of a table are the values of the list, unless a single value is a table.
        Value::String(text) => names_one(text) && !takes_table(ty),
        _ => false,
    }
}

/// Returns whether a value has the form of this type, apart from lengths and ranges.
fn has_form(value: &Value, ty: &Type) -> bool {
    match (value, ty) {
        (Value::String(_), _) => true,
        (Value::Number(_), ty) => ty.is_number(),
        (Value::Object(_), Type::Struct(_)) => true,
        (Value::Array(values), Type::Array(element, _)) => {
            looking(values).all(|value| has_form(value, element))
        }
        _ => false,
    }
}

/// The position of a part in the value of a party.
#[derive(Clone, Copy)]
enum Place<'a> {
    Top,
    Name(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl<'a> Place<'a> {
    /// Returns the names of the fields on the path to this position, innermost first.
    fn names(self) -> impl Iterator<Item = &'a str> {
        let mut place = self;
        std::iter::from_fn(move || {
            loop {
                match place {
                    Place::Top => return None,
                    Place::Index(outer, _) => place = *outer,
                    Place::Name(outer, name) => {
                        place = *outer;
                        return Some(name);
                    }
                }
            }
        })
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Top => f.write_str("the value"),
            Place::Name(Place::Top, name) => f.write_str(name),
            Place::Name(outer, name) => write!(f, "{outer}.{name}"),
            Place::Index(outer, index) => write!(f, "{outer}[{index}]"),
        }
    }
}

impl DecimalScale {
    /// Returns whether `names`, innermost first, are the end of the path to this position.
    fn is_for<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> bool {
        self.name.rsplit('.').all(|part| names.next() == Some(part))
    }
}

/// Refuses a scale for a field that these parties do not give, and two scales for one field, so that no value
/// is read with a wrong scale.
pub fn check_scales(reading: &ReadingOptions, program: &Program, parties: &[Party]) -> Result<(), Error> {
    if reading.scales.is_empty() {
        return Ok(());
    }
    let (mut uses, mut known) = (vec![0; reading.scales.len()], Vec::new());
    for port in parties.iter().flat_map(|party| program.input_ports(*party)) {
        each_field(&port.ty, Place::Name(&Place::Top, &port.name), &mut |place| {
            let mut scales = reading.scales.iter().zip(&mut uses).filter(|(s, _)| s.is_for(place.names()));
            let (first, second) = (scales.next(), scales.next());
            if let (Some((first, _)), Some((second, _))) = (&first, &second) {
                return Err(Error::usage(
                    format!("--scale {} and --scale {} are both for {place}", first.name, second.name),
                    "give only one of the two, or write the full name of the field, such as price.net=2",
                ));
            }
            if let Some((_, uses)) = first {
                *uses += 1;
            }
            if known.len() < 20 {
                known.push(place.to_string());
            }
            Ok(())
        })?;
    }
    match reading.scales.iter().zip(&uses).find(|(_, uses)| **uses == 0) {
        Some((scale, _)) => Err(Error::usage(
            format!("--scale {}: no input has a field of integers with this name", scale.name),
            format!("the fields of integers are {}", known.join(", ")),
        )),
        None => Ok(()),
    }
}

/// Calls `visit` for each integer field of a type; the elements of an array are visited once.
fn each_field(
    ty: &Type,
    place: Place<'_>,
    visit: &mut impl FnMut(Place<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    match ty {
        Type::Uint(_) | Type::Int(_) => visit(place),
        // The scale of a fixed-point number is part of its type.
        Type::Fixed { .. } => Ok(()),
        Type::Array(element, _) => each_field(element, place, visit),
        Type::Struct(fields) => {
            fields.iter().try_for_each(|(name, ty)| each_field(ty, Place::Name(&place, name), visit))
        }
    }
}

/// The options for reading values, and the folder to which their paths are relative.
struct Filler<'a> {
    folder: &'a Path,
    reading: &'a ReadingOptions,
}

impl Filler<'_> {
    fn fill(&self, value: &mut Value, ty: &Type, place: Place<'_>) -> Result<(), Error> {
        match (&mut *value, ty) {
            (Value::String(text), _) if text.starts_with('@') || text.starts_with(CSV) => {
                let path = self.table_path(text)?;
                match ty {
                    Type::Array(row, rows) => *value = self.read(&path, row, *rows, Rows::All, place)?.0,
                    Type::Struct(fields) => {
                        let Some((field, _)) = table_of(fields) else { return Err(no_table(&path)) };
                        *value = Value::Object(Map::from_iter([(field.clone(), value.take())]));
                        self.fill(value, ty, place)?;
                    }
                    _ => return Err(no_table(&path)),
                }
            }
            (Value::Array(values), Type::Array(element, _)) => {
                for (index, value) in looking(values.iter_mut().enumerate()) {
                    self.fill(value, element, Place::Index(&place, index))?;
                }
            }
            (Value::Object(given), Type::Struct(fields)) => self.fill_fields(given, fields, place)?,
            (Value::String(_) | Value::Number(_), Type::Fixed { .. }) if self.reading.rounding => {
                if let Some(nearest) = value::nearest(text_of(value), ty) {
                    *value = Value::String(nearest);
                }
            }
            (Value::String(_) | Value::Number(_), Type::Uint(_) | Type::Int(_)) => {
                let text = text_of(value);
                let integer = decimal::integer(text, self.digits(place), '.')
                    .map_err(|why| bad_decimal(&format!("{place} ({ty}): {why}"), place))?;
                if integer != text {
                    *value = Value::String(integer.into_owned());
                }
            }
            // A wrong value is refused later, when it is converted to bits.
            _ => {}
        }
        Ok(())
    }

    fn fill_fields(
        &self,
        given: &mut Map<String, Value>,
        fields: &[(String, Type)],
        place: Place<'_>,
    ) -> Result<(), Error> {
        let is_array = |(_, ty): &&(String, Type)| matches!(ty, Type::Array(..));
        let counted = fields.iter().any(is_count) && fields.iter().filter(is_array).count() == 1;
        // The number of given elements, and the length of the array.
        let mut lengths = None;
        for (name, ty) in fields {
            let Some(value) = given.get_mut(name) else { continue };
            let place = Place::Name(&place, name);
            match (&mut *value, ty) {
                (Value::String(text), Type::Array(row, rows))
                    if counted && (text.starts_with('@') || text.starts_with(CSV)) =>
                {
                    let path = self.table_path(text)?;
                    let (table, count) = self.read(&path, row, *rows, Rows::Some, place)?;
                    *value = table;
                    lengths = Some((count, *rows));
                }
                (Value::Array(values), Type::Array(element, n)) if counted && values.len() <= *n as usize => {
                    lengths = Some((values.len() as u32, *n));
                    self.fill(value, ty, place)?;
                    if let Value::Array(values) = value {
                        let zero = format!("bits:{}", "0".repeat(element.width() as usize));
                        values.resize(*n as usize, Value::String(zero));
                    }
                }
                _ => self.fill(value, ty, place)?,
            }
        }
        let (Some((length, of)), Some(port)) = (lengths, fields.iter().find(|field| is_count(field))) else {
            return Ok(());
        };
        match given.get("count") {
            None => {
                given.insert("count".into(), length.into());
            }
            // The count must not include elements that were filled in. An invalid count is refused later.
            Some(count) if length < of && number(count, port).is_some_and(|count| count > length.into()) => {
                return Err(Error::input(
                    format!(
                        "{}: the count is larger than the number of elements in the array",
                        Place::Name(&place, "count")
                    ),
                    "add the missing elements, or leave the count out; the number of elements is then \
                     filled in",
                ));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Returns the number of digits after the point in this field's decimals.
    fn digits(&self, place: Place<'_>) -> Option<u8> {
        self.reading.scales.iter().find(|scale| scale.is_for(place.names())).map(|scale| scale.digits)
    }

    /// Returns the path of a table. A string in a value names the table; `-` is stdin.
    fn table_path(&self, text: &str) -> Result<PathBuf, Error> {
        match text.strip_prefix(CSV) {
            Some("-") => Ok("-".into()),
            Some(path) => Ok(self.folder.join(path)),
            None if names_one(text) => Ok(self.folder.join(&text[1..])),
            None => Err(Error::input(
                "a file that is named inside a value must be a table in a file that ends in .csv",
                "write csv:FILE for a table in a file with another ending; give other values inline",
            )),
        }
    }

    /// Reads the table in a file. Returns the array, filled up with zeros, and the number of rows.
    fn read(
        &self,
        path: &Path,
        row: &Type,
        rows: u32,
        wanted: Rows,
        place: Place<'_>,
    ) -> Result<(Value, u32), Error> {
        let name = if path == Path::new("-") { "stdin".into() } else { path.display().to_string() };
        let bytes = files::value_bytes(path, self.reading.private)?;
        let text = files::utf8(&bytes, &name, "save the table as a CSV file in UTF-8")?;
        self.parse(text, row, rows, wanted, place).map_err(|e| e.within(&name))
    }
}

/// Returns the digits of a number, or the contents of a string.
fn text_of(value: &Value) -> &str {
    match value {
        Value::Number(number) => number.as_str(),
        other => other.as_str().unwrap_or_default(),
    }
}

/// The prefix of a table whose file has any name.
const CSV: &str = "csv:";

/// Returns whether a text is the name of a table.
pub fn names_one(text: &str) -> bool {
    let ends_in_csv = |path: &str| {
        Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
    };
    text.starts_with(CSV) || text.strip_prefix('@').is_some_and(ends_in_csv)
}

/// Returns whether a whole value of this type can be a table.
fn takes_table(ty: &Type) -> bool {
    match ty {
        Type::Array(..) => true,
        Type::Struct(fields) => table_of(fields).is_some_and(|(_, ty)| takes_table(ty)),
        Type::Uint(_) | Type::Int(_) | Type::Fixed { .. } => false,
    }
}

/// Returns the only field of a struct, apart from a count of its rows.
fn table_of(fields: &[(String, Type)]) -> Option<&(String, Type)> {
    let mut rest = fields.iter().filter(|field| !is_count(field));
    rest.next().filter(|_| rest.next().is_none())
}

/// Returns whether a field can be the count of the rows of a table beside it.
fn is_count((name, ty): &(String, Type)) -> bool {
    name == "count" && matches!(ty, Type::Uint(_))
}

/// Returns the number that is given for this field, if it fits.
fn number(value: &Value, (name, ty): &(String, Type)) -> Option<u64> {
    let bits = value::encode(&[Port::new(name.clone(), ty.clone())], value).map(Zeroizing::new).ok()?;
    let high = bits.iter().skip(64).any(|bit| *bit);
    let low = bits.iter().take(64).rev().fold(0, |number, bit| number << 1 | u64::from(*bit));
    Some(if high { u64::MAX } else { low })
}

fn no_table(path: &Path) -> Error {
    Error::input(
        format!("{}: this input of the program is not a table", path.display()),
        "a table can only be given for an array, or for a struct of an array and its `count`; `brickwork \
         info FILE` shows the type",
    )
}

/// Makes an error that explains how decimals are read.
fn bad_decimal(message: &str, place: Place<'_>) -> Error {
    let name = place.names().next().unwrap_or("NAME");
    let hint = format!("--scale {name}=2 turns 12.50 into the integer 1250, and --scale {name}=3 into 12500");
    Error::input(message, hint)
}

/// The number of rows that a table may have.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    /// Exactly as many as the array has elements.
    All,
    /// At most as many as the array has elements.
    Some,
}

/// Lists the integers in a value, each with the name of its column. If the value itself is an integer, its
/// column may have any name.
fn columns(ty: &Type, name: String, out: &mut Vec<Port>) {
    match ty {
        Type::Uint(_) | Type::Int(_) | Type::Fixed { .. } => out.push(Port::new(name, ty.clone())),
        Type::Array(element, n) => (0..*n).for_each(|i| columns(element, format!("{name}[{i}]"), out)),
        Type::Struct(fields) => {
            let dot = if name.is_empty() { "" } else { "." };
            fields.iter().for_each(|(field, ty)| columns(ty, format!("{name}{dot}{field}"), out));
        }
    }
}

/// Returns the table in a text, with at most this many rows.
pub fn up_to(text: &str, row: &Type, rows: u32) -> Result<(Value, u32), Error> {
    let filler = Filler { folder: Path::new(""), reading: &ReadingOptions::default() };
    filler.parse(text, row, rows, Rows::Some, Place::Name(&Place::Top, "value"))
}

/// A column that the program needs.
struct Column {
    port: Port,
    /// Number of digits after the point of its decimals.
    digits: Option<u8>,
    /// The index of the column in a line.
    place: usize,
}

impl Filler<'_> {
    fn parse(
        &self,
        text: &str,
        ty: &Type,
        rows: u32,
        wanted: Rows,
        place: Place<'_>,
    ) -> Result<(Value, u32), Error> {
        // Spreadsheet programs may write a byte-order mark before the first line. In many European countries
        // they separate columns by semicolons, because numbers contain commas.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let delimiter = if first.contains(';') && !first.contains(',') { b';' } else { b',' };
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .trim(csv::Trim::All)
            .delimiter(delimiter)
            .from_reader(text.as_bytes());
        let header = reader.headers().map_err(|e| broken(&e))?.clone();
        let columns = self.columns(&header, line(&header, text), ty, place)?;
        let rounding = self.reading.rounding;
        let mut lines = Lines { columns, width: header.len(), delimiter, mark: None, rounding };

        let mut bits = Zeroizing::new(String::from("bits:"));
        let mut count = 0;
        for record in looking(reader.into_records()) {
            let record = record.map_err(|e| broken(&e))?;
            let line = line(&record, text);
            if count == rows {
                return Err(Error::input(
                    format!("line {line}: the program takes at most {}", rows_text(rows)),
                    "leave some rows out, or use a program for more rows (the same program on both sides)",
                ));
            }
            lines.encode(&record, line, &mut bits)?;
            count += 1;
        }
        if count < rows && wanted == Rows::All {
            return Err(Error::input(
                format!("the table has {} only, but the program needs {}", rows_text(count), rows_text(rows)),
                "add rows that the program ignores; or let its author put a field `count` beside the array, \
                 so that the program takes shorter tables",
            ));
        }
        bits.push_str(&"0".repeat((ty.width() * u64::from(rows - count)) as usize));
        Ok((Value::String(std::mem::take(&mut *bits)), count))
    }

    /// Finds the columns that the rows of this type need in the first line. `place` is the position of the
    /// array.
    fn columns(
        &self,
        header: &StringRecord,
        line: u64,
        ty: &Type,
        place: Place<'_>,
    ) -> Result<Vec<Column>, Error> {
        let mut expected = Vec::new();
        columns(ty, String::new(), &mut expected);
        let own = place.names().next().unwrap_or("value");
        let places = order(header, line, &mut expected, own, self.reading.ignore_extra_columns)?;
        let bare = ty.is_number();
        let column = |(port, at): (Port, usize)| {
            // The name of a column consists of the fields of a row, and the index of an element.
            let of_row = if bare { "" } else { &*port.name };
            let fields = of_row.rsplit('.').map(|part| part.split('[').next().unwrap_or(part));
            let names = || fields.clone().filter(|name| !name.is_empty()).chain(place.names());
            let digits = self.reading.scales.iter().find(|scale| scale.is_for(names())).map(|s| s.digits);
            Column { digits, place: at, port }
        };
        Ok(expected.into_iter().zip(places).map(column).collect())
    }
}

/// The lines below the first one.
struct Lines {
    columns: Vec<Column>,
    /// The number of cells of a line.
    width: usize,
    delimiter: u8,
    /// The decimal mark, once one was seen.
    mark: Option<char>,
    /// True if fixed-point inputs are rounded.
    rounding: bool,
}

impl Lines {
    /// Appends the wire bits of a line.
    fn encode(&mut self, record: &StringRecord, line: u64, bits: &mut String) -> Result<(), Error> {
        if record.len() != self.width {
            let plural = |count: usize, noun| brickwork_report::words::plural(count as u64, noun);
            return Err(Error::input(
                format!(
                    "line {line}: the line has {} for {}",
                    plural(record.len(), "cell"),
                    plural(self.width, "column")
                ),
                "every line needs one number for each column; numbers must not contain commas",
            ));
        }
        for Column { port, digits, place } in &self.columns {
            let cell = &record[*place];
            let within = |failure: Error| failure.within(&format!("line {line}, column {}", place + 1));
            let may_be_comma = self.delimiter == b';' && self.mark != Some('.');
            let mark = if may_be_comma && cell.contains(',') { ',' } else { self.mark.unwrap_or('.') };
            let name = Place::Name(&Place::Top, port.name.rsplit('.').next().unwrap_or(&port.name));
            let is_fixed = matches!(port.ty, Type::Fixed { .. });
            let number = match is_fixed {
                true => {
                    let text = cell.replace(mark, ".");
                    value::nearest(&text, &port.ty).filter(|_| self.rounding).unwrap_or(text)
                }
                false => decimal::integer(cell, *digits, mark)
                    .map_err(|why| within(bad_decimal(&format!("{} ({}): {why}", port.name, port.ty), name)))?
                    .into_owned(),
            };
            if (is_fixed || digits.is_some()) && cell.contains(mark) {
                self.mark = Some(mark);
            }
            let encoded = value::encode(std::slice::from_ref(port), &Value::String(number));
            let encoded = encoded.map(Zeroizing::new).map_err(|e| {
                let failure = Error::from(e);
                within(match digits {
                    _ if is_text(cell) => failure.advise(instead_of_text(port.width())),
                    Some(digits) => failure.advise(format!(
                        "the number with {digits} digits after its point becomes one integer, which must \
                         fit the type"
                    )),
                    None => failure,
                })
            })?;
            value::write_bits(&encoded, bits);
        }
        Ok(())
    }
}

/// Returns whether a cell is certainly not a number.
fn is_text(cell: &str) -> bool {
    let starts_like_a_number = cell.starts_with(|c: char| c.is_ascii_digit() || "+-.,".contains(c));
    cell.chars().any(char::is_alphabetic) && (!starts_like_a_number || cell.contains(char::is_whitespace))
}

/// Explains how to replace texts by numbers that are equal exactly if the texts are.
fn instead_of_text(width: u64) -> String {
    let digits = (width / 4).clamp(1, 64);
    let wider = match width {
        ..64 => "; with a field of 64 bits, two texts hardly ever become the same number",
        _ => "",
    };
    format!(
        "the cell contains text, such as a name; in its place, both parties write 0x and the first {digits} \
         hexadecimal digits of the text's SHA-256{wider}"
    )
}

fn rows_text(rows: u32) -> String {
    brickwork_report::words::plural(rows.into(), "row")
}

/// Returns the line of a record. The parser's position is before any empty lines, which must be skipped.
fn line(record: &StringRecord, text: &str) -> u64 {
    let Some(position) = record.position() else { return 1 };
    let before = text.bytes().skip(position.byte() as usize).take_while(|b| b"\r\n".contains(b));
    position.line() + before.filter(|b| *b == b'\n').count() as u64
}

/// Makes an error for a text that is not valid CSV.
pub fn broken(error: &csv::Error) -> Error {
    // The parser's own message can contain a part of the file.
    let line = error.position().map_or(String::new(), |at| format!("line {}: ", at.line()));
    Error::input(format!("{line}this is not CSV"), "save the table as a CSV file in UTF-8")
}

/// Returns the index of each expected column in a line. If a row is an integer, the only column may have any
/// name. Among several columns its name must be that of the array.
fn order(
    header: &StringRecord,
    line: u64,
    expected: &mut [Port],
    array: &str,
    ignore_extra: bool,
) -> Result<Vec<usize>, Error> {
    let names: Vec<_> = expected.iter().take(20).map(|port| &*port.name).collect();
    let known = match &names[..] {
        [""] => {
            format!("one column with any name; or the column {array} and others, with --ignore-extra-columns")
        }
        _ => format!("{}{}", names.join(", "), if expected.len() > 20 { ", …" } else { "" }),
    };
    let hint = format!("the first line must name the columns, in any order: {known}");
    let fail = |message: String| Err(Error::input(message, hint.clone()));
    if header.iter().all(str::is_empty) {
        return fail("the table is empty".into());
    }
    if let Some(column) =
        header.iter().position(|name| name.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
    {
        return fail(format!(
            "line {line}, column {}: the first line must have names of columns, not numbers",
            column + 1
        ));
    }
    if let [port] = &mut *expected
        && port.name.is_empty()
    {
        if header.len() == 1 {
            port.name = "value".into();
            return Ok(vec![0]);
        }
        if !ignore_extra {
            return fail(format!(
                "line {line}, column 2: the program takes one column, not {}",
                header.len()
            ));
        }
        port.name = array.into();
    }
    let mut given = HashMap::new();
    let mut twice = HashMap::new();
    for (column, name) in header.iter().enumerate() {
        if given.insert(name, column).is_some() {
            twice.insert(name, column);
        }
    }
    if !ignore_extra && let Some(column) = twice.values().min() {
        return fail(format!("line {line}, column {}: another column has the same name", column + 1));
    }
    let mut places = Vec::with_capacity(expected.len());
    for port in &*expected {
        if let Some(column) = twice.get(&*port.name) {
            return fail(format!("line {line}, column {}: another column has the same name", column + 1));
        }
        match given.remove(&*port.name) {
            Some(place) => places.push(place),
            None => return fail(format!("line {line}: the column {} ({}) is missing", port.name, port.ty)),
        }
    }
    match given.into_values().min() {
        Some(unknown) if !ignore_extra => Err(Error::input(
            format!("line {line}, column {}: the program has no column of this name", unknown + 1),
            format!("{hint}; --ignore-extra-columns ignores all other columns"),
        )),
        _ => Ok(places),
    }
}

#[cfg(test)]
mod tests {
    use crate::failure::ErrorKind;
    use serde_json::json;

    use super::*;

    fn uint(width: u32) -> Type {
        Type::Uint(width)
    }

    fn structure(fields: &[(&str, Type)]) -> Type {
        Type::Struct(fields.iter().map(|(name, ty)| ((*name).to_owned(), ty.clone())).collect())
    }

    fn array(ty: Type, n: u32) -> Type {
        Type::Array(Box::new(ty), n)
    }

    /// Returns the type of a pair of numbers, one of them signed.
    fn person() -> Type {
        structure(&[("id", uint(16)), ("balance", Type::Int(12))])
    }

    /// Returns an error's text without the path of its file, because the random name of a folder may contain
    /// any digits.
    fn beside_the_path(failure: &Error) -> String {
        failure.to_string().rsplit(".csv").next().unwrap_or_default().to_owned()
    }

    /// Returns the value of this type that a file with this text gives.
    fn value_of(text: &str, ty: &Type, reading: &ReadingOptions) -> Result<Value, Error> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("t.csv"), text).expect("a file");
        let mut value = json!("@t.csv");
        fill(&mut value, &[Port::new("input1", ty.clone())], None, folder.path(), reading).map(|()| value)
    }

    /// Returns the table in the form of an output.
    fn good(text: &str, ty: &Type) -> Value {
        let value = value_of(text, ty, &ReadingOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        let port = [Port::new("input1", ty.clone())];
        value::decode(&port, &value::encode(&port, &value).expect("bits of this type"))
    }

    fn bad(text: &str, ty: &Type, words: &str) {
        let failure = value_of(text, ty, &ReadingOptions::default()).expect_err(text);
        assert!(failure.kind() == ErrorKind::Input, "{failure}");
        assert!(failure.message().contains(words), "{failure}");
        assert!(!failure.hint().is_empty(), "{failure}");
        assert!(!beside_the_path(&failure).contains("77"), "a cell is repeated: {failure}");
    }

    #[test]
    fn columns_go_by_name_in_any_order() {
        let ty = array(person(), 2);
        let expected = json!([{"id": 7, "balance": -3}, {"id": 65535, "balance": 2047}]);
        assert_eq!(good("id,balance\n7,-3\n65535,2047\n", &ty), expected);
        assert_eq!(good("balance , id\r\n-3, 7\r\n\r\n2047, 0xffff", &ty), expected);
        assert_eq!(good("\u{feff}\"balance\";\"id\"\n\"-3\";7\n2047;65535\n", &ty), expected);
        let wrapped = structure(&[("people", ty.clone())]);
        assert_eq!(good("id,balance\n7,-3\n65535,2047\n", &wrapped), json!({ "people": expected }));
    }

    #[test]
    fn nested_fields_and_bare_numbers() {
        let place = structure(&[("axis", array(uint(8), 2)), ("of", structure(&[("body", uint(4))]))]);
        let expected = json!([{"axis": [1, 2], "of": {"body": 3}}]);
        assert_eq!(good("of.body,axis[1],axis[0]\n3,2,1\n", &array(place, 1)), expected);
        assert_eq!(good("[0],[1]\n1,2\n3,4\n", &array(array(uint(8), 2), 2)), json!([[1, 2], [3, 4]]));
        assert_eq!(good("salary\n1\n2\n3\n", &array(uint(8), 3)), json!([1, 2, 3]));
    }

    #[test]
    fn cells_of_fixed_point_are_decimals() {
        let price = Type::Fixed { width: 16, point: 8, signed: true };
        let ty = array(structure(&[("price", price.clone()), ("id", uint(8))]), 2);
        let expected = json!([{"price": 2.5, "id": 1}, {"price": -0.25, "id": 2}]);
        assert_eq!(good("price,id\n2.50,1\n-.25,2\n", &ty).to_string(), expected.to_string());
        assert_eq!(good("price;id\n2,5;1\n-0,25;2\n", &ty).to_string(), expected.to_string());
        assert_eq!(good("v\n0x280\n3\n", &array(price.clone(), 2)).to_string(), "[2.5,3]");
        bad(
            "price,id\n77.1,1\n1,2\n",
            &ty,
            "line 2, column 1: price (fixed16.8): the type cannot hold this \
             number exactly",
        );
        bad("price,id\n1,1\n1,7.5\n", &ty, "line 3, column 2: id (uint8): expected an integer");
        let reading = ReadingOptions { rounding: true, ..ReadingOptions::default() };
        let rounded = value_of("v\n0.1\n-0.1\n", &array(price.clone(), 2), &reading).expect("numbers");
        let ports = [Port::new("input1", array(price.clone(), 2))];
        let bits = value::encode(&ports, &rounded).expect("bits of this type");
        assert_eq!(value::decode(&ports, &bits).to_string(), "[0.1015625,-0.1015625]");
        let mut value = json!([0.1, 1]);
        fill(&mut value, &ports, None, Path::new(""), &reading).expect("numbers");
        let bits = value::encode(&ports, &value).expect("bits of this type");
        assert_eq!(value::decode(&ports, &bits).to_string(), "[0.1015625,1]");
    }

    #[test]
    fn shorter_tables_for_programs_that_count() {
        let before = structure(&[("count", uint(4)), ("rows", array(uint(8), 3))]);
        assert_eq!(good("v\n5\n6\n", &before), json!({"count": 2, "rows": [5, 6, 0]}));
        assert_eq!(good("v\n", &before), json!({"count": 0, "rows": [0, 0, 0]}));
        let after = structure(&[("rows", array(person(), 2)), ("count", uint(9))]);
        let rows = json!([{"id": 1, "balance": -1}, {"id": 0, "balance": 0}]);
        assert_eq!(good("id,balance\n1,-1\n", &after), json!({"rows": rows, "count": 1}));
        bad("v\n5\n6\n7\n77\n", &before, "line 5: the program takes at most 3 rows");
        bad("v\n1\n2\n", &structure(&[("count", Type::Int(8)), ("rows", array(uint(8), 3))]), "not a table");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let ty = array(person(), 2);
        for (text, words) in [
            ("", "the table is empty"),
            ("\n\n", "the table is empty"),
            ("id\n1\n2\n", "line 1: the column balance (int12) is missing"),
            ("id,balance,n77me\n1,2,3\n4,5,6\n", "line 1, column 3: the program has no column of this name"),
            ("id,balance,id\n1,2,3\n4,5,6\n", "line 1, column 3: another column has the same name"),
            ("ID,balance\n1,2\n4,5\n", "the column id (uint16) is missing"),
            ("77,78\n1,2\n", "line 1, column 1: the first line must have names of columns"),
            ("id,balance\n1,2\n3,77.5\n", "line 3, column 2: balance (int12): expected an integer"),
            ("id,balance\n1,2\n\n-77,5\n", "line 4, column 1: id (uint16): a negative number"),
            (
                "id,balance\n1,2\n77000,5\n",
                "line 3, column 1: id (uint16): the number does not fit; expected 0 to 65535",
            ),
            ("id,balance\n1,2\n,5\n", "line 3, column 1: id (uint16): expected an integer"),
            ("id,balance\n1,77,3\n", "line 2: the line has 3 cells for 2 columns"),
            ("id,balance\n1,2\n3\n", "line 3: the line has 1 cell for 2 columns"),
            ("id,balance\n1,2\n", "the table has 1 row only, but the program needs 2 rows"),
            ("id,balance\n1,2\n1,2\n1,77\n", "line 4: the program takes at most 2 rows"),
        ] {
            bad(text, &ty, words);
        }
        bad("a,b\n1,77\n", &array(uint(8), 1), "line 1, column 2: the program takes one column, not 2");
        bad("v\n77\n", &uint(8), "not a table");
        bad("v\n77\n", &structure(&[("limit", uint(8)), ("rows", array(uint(8), 1))]), "not a table");
    }

    /// A text is refused with a hint about a number to write instead, and the number is accepted.
    #[test]
    fn text_becomes_a_number() {
        for (cell, width, words) in [
            (
                "c-77521",
                32,
                Some("0x and the first 8 hexadecimal digits of the text's SHA-256; with a field of 64 bits"),
            ),
            ("Ada Lovelace 77", 64, Some("0x and the first 16 hexadecimal digits of the text's SHA-256")),
            ("77 Main Street", 64, Some("the first 16 hexadecimal digits")),
            ("7c", 32, None),
            ("", 32, None),
        ] {
            let text = format!("key\n{cell}\n");
            let failure = value_of(&text, &array(uint(width), 1), &ReadingOptions::default())
                .expect_err("it is no number");
            let said = beside_the_path(&failure);
            assert!(said.contains("contains text") == words.is_some(), "{said}");
            assert!(said.contains(words.unwrap_or("")) && !said.contains("77"), "{said}");
        }
        let number = value_of("key\n0x3fdba35f04dc8c46\n", &array(uint(64), 1), &ReadingOptions::default());
        assert!(number.is_ok());
    }

    /// Every file is either a table of the right width or an error.
    #[test]
    fn any_text_is_a_table_or_refused() {
        let (alphabet, mut state) = (
            [
                "id", "balance", ",", ",", ";", "\n", "\n", "\r\n", "\"", " ", "7", "-1", "0x", "bits:01",
                "é", "@",
            ],
            1u64,
        );
        let mut next = |bound: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as usize % bound
        };
        let mut tables = 0;
        for round in 0..20_000 {
            let start = if round % 2 == 0 { "id,balance\n" } else { "" };
            let text: String =
                std::iter::once(start).chain((0..next(12)).map(|_| alphabet[next(alphabet.len())])).collect();
            if let Ok((value, count)) = up_to(&text, &person(), 3) {
                assert!(count <= 3, "{text:?}");
                value::encode(&[Port::new("input1", array(person(), 3))], &value)
                    .unwrap_or_else(|e| panic!("{text:?}: {e}"));
                tables += 1;
            }
        }
        assert!(tables > 100, "{tables}");
    }

    #[test]
    fn values_name_tables_inside() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("v.CSV"), "v\n1\n2\n").expect("a file");
        std::fs::write(folder.path().join("rows.txt"), "v\n1\n2\n").expect("a file");
        let fill = |value: &mut Value, ty: &Type| {
            fill(value, &[Port::new("input1", ty.clone())], None, folder.path(), &ReadingOptions::default())
        };
        let ty = array(structure(&[("limit", uint(8)), ("rows", array(uint(8), 2))]), 2);
        for table in ["@v.CSV", "csv:rows.txt", "csv:v.CSV"] {
            let mut value = json!([{"limit": 9, "rows": table}, {"limit": 3, "rows": [3, 4]}]);
            fill(&mut value, &ty).expect("a table");
            let expected =
                json!([{"limit": 9, "rows": "bits:1000000001000000"}, {"limit": 3, "rows": [3, 4]}]);
            assert_eq!(value, expected);
        }
        for (given, words) in [
            (json!([{"rows": "@w.csv"}]), "cannot read"),
            (json!([{"rows": "@rows.txt"}]), "must be a table"),
            (json!([{"limit": "csv:rows.txt"}]), "not a table"),
        ] {
            let failure = fill(&mut given.clone(), &ty).expect_err("no table");
            assert!(failure.message().contains(words), "{failure}");
        }
    }

    #[test]
    fn short_arrays_and_tables_beside_a_count() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("v.csv"), "v\n1\n2\n").expect("a file");
        let port = |count| {
            let fields = [("limit", uint(8)), ("rows", array(uint(8), 3)), ("count", count)];
            [Port::new("input1", structure(&fields))]
        };
        let counted = port(uint(8));
        let fill = |ports: &[Port], value: Value| {
            let mut value = value;
            fill(&mut value, ports, None, folder.path(), &ReadingOptions::default()).map(|()| value)
        };
        let bits = |value: &Value| value::decode(&counted, &value::encode(&counted, value).expect("bits"));
        for (rows, count, expected, counts) in [
            (json!("@v.csv"), json!(null), [1, 2, 0], 2),
            (json!("@v.csv"), json!(2), [1, 2, 0], 2),
            // If an array has a count, its last elements may be left out.
            (json!("@v.csv"), json!("0x1"), [1, 2, 0], 1),
            (json!([7]), json!(null), [7, 0, 0], 1),
            (json!([7]), json!(1), [7, 0, 0], 1),
            (json!([]), json!(null), [0, 0, 0], 0),
            (json!([7, 8, 9]), json!(null), [7, 8, 9], 3),
            // The array is complete, so any count is accepted.
            (json!([7, 8, 9]), json!(200), [7, 8, 9], 200),
        ] {
            let mut given = json!({"limit": 9, "rows": rows});
            if !count.is_null() {
                given["count"] = count;
            }
            let filled = fill(&counted, given).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(bits(&filled), json!({"limit": 9, "rows": expected, "count": counts}));
        }
        for rows in [json!("@v.csv"), json!([1, 2])] {
            let given = json!({"limit": 9, "rows": rows, "count": 177});
            let failure = fill(&counted, given).expect_err("too few");
            assert!(failure.message().contains("input1.count: the count is larger than"), "{failure}");
            assert!(!beside_the_path(&failure).contains("77"), "{failure}");
            // A count of another type is a number like any other.
            let given = json!({"limit": 9, "rows": rows, "count": 1});
            let ports = port(Type::Int(8));
            assert!(fill(&ports, given).and_then(|v| Ok(value::encode(&ports, &v)?)).is_err());
        }
        // An array that is too long, or has no count beside it, is not filled up.
        assert!(
            value::encode(&counted, &fill(&counted, json!({"limit": 9, "rows": [1, 2, 3, 4]})).unwrap())
                .is_err()
        );
        let ports = [Port::new("input1", array(uint(8), 3))];
        assert!(value::encode(&ports, &fill(&ports, json!([1, 2])).unwrap()).is_err());
    }

    fn scaled(scales: &[(&str, u8)]) -> ReadingOptions {
        let scales =
            scales.iter().map(|(name, digits)| DecimalScale { name: (*name).into(), digits: *digits });
        ReadingOptions { scales: scales.collect(), ..ReadingOptions::default() }
    }

    #[test]
    fn decimals_have_a_scale() {
        let price = structure(&[("net", uint(16)), ("weights", array(Type::Int(12), 2))]);
        let ty = array(structure(&[("id", uint(8)), ("price", price)]), 2);
        let expected = json!([
            {"id": 1, "price": {"net": 1250, "weights": [-5, 10]}},
            {"id": 2, "price": {"net": 9900, "weights": [15, 2]}}
        ]);
        let table = "price.net,id,price.weights[0],price.weights[1]\n12.50,1,-0.5,1\n99,2,1.5,0x2\n";
        let port = [Port::new("input1", ty.clone())];
        let meaning = |value: &Value| value::decode(&port, &value::encode(&port, value).expect("bits"));
        for names in [["net", "weights"], ["price.net", "input1.price.weights"]] {
            let reading = scaled(&[(names[0], 2), (names[1], 1)]);
            let value = value_of(table, &ty, &reading).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(meaning(&value), expected);
            // In JSON, decimals may be numbers or strings.
            let mut value: Value = serde_json::from_str(
                r#"[{"id": 1, "price": {"net": 12.50, "weights": ["-0.5", 1]}},
                    {"id": 2, "price": {"net": "99", "weights": [1.5, "0x2"]}}]"#,
            )
            .expect("JSON");
            fill(&mut value, &port, None, Path::new(""), &reading).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(meaning(&value), expected);
        }
        // If semicolons separate the columns, decimals may have commas or points, but a file must not have
        // both.
        let numbers = array(uint(16), 2);
        let reading = scaled(&[("input1", 2)]);
        for text in ["v;\n1,5;\n2;\n", "v;\n1.5;\n2;\n"] {
            let text = text.replace(";\n", "\n").replacen('v', "\"v;\"", 1);
            let value = value_of(&text, &numbers, &reading).unwrap_or_else(|e| panic!("{e}"));
            let port = [Port::new("input1", numbers.clone())];
            let meaning = value::decode(&port, &value::encode(&port, &value).expect("bits"));
            assert_eq!(meaning, json!([150, 200]), "{text}");
        }
        for (text, words) in [
            ("v\n1.5\n77.123\n", "line 3, column 1: value (uint16): expected at most 2 digits"),
            ("v\n1.5\n777777\n", "line 3, column 1: value (uint16): the number does not fit"),
            ("v\n1.5\n\"7,70\"\n", "line 3, column 1: value (uint16): expected an integer"),
            ("\"v;\"\n1,5\n77.2\n", "line 3, column 1: value (uint16): expected an integer"),
            ("\"v;\"\n1.5\n77,2\n", "line 3, column 1: value (uint16): expected an integer"),
            ("v\n1.5\n7e7\n", "line 3, column 1: value (uint16): expected an integer"),
        ] {
            let failure = value_of(text, &numbers, &reading).expect_err(text);
            assert!(failure.message().contains(words), "{failure}");
            assert!(!beside_the_path(&failure).contains("77"), "{failure}");
        }
        for (value, words) in [
            (json!([1, "77.123"]), "input1[1] (uint16): expected at most 2 digits"),
            (json!([1, "7,77"]), "expected an integer"),
        ] {
            let (mut value, port) = (value, [Port::new("input1", numbers.clone())]);
            let filled = fill(&mut value, &port, None, Path::new(""), &reading);
            let failure = filled.and_then(|()| Ok(value::encode(&port, &value)?)).expect_err("a bad decimal");
            assert!(
                failure.message().contains(words) && !failure.to_string().contains("77"),
                "{}",
                failure.to_string()
            );
        }
        let without = value_of("v\n1\n77.5\n", &numbers, &ReadingOptions::default()).expect_err("no scale");
        assert!(without.message().contains("not a decimal"), "{without}");
        assert!(without.hint().contains("--scale"), "{without}");
    }

    #[test]
    fn extra_columns_are_ignored_when_asked() {
        let ignoring = ReadingOptions { ignore_extra_columns: true, ..ReadingOptions::default() };
        let ty = array(person(), 1);
        let text = "name,id,,balance,name\nEve,7,,-3,\"E, V\"\n";
        let failure = value_of(text, &ty, &ReadingOptions::default()).expect_err("extra columns");
        assert!(failure.message().contains("another column has the same name"), "{failure}");
        let failure =
            value_of("id,name,balance\n1,x,2\n", &ty, &ReadingOptions::default()).expect_err("one more");
        assert!(failure.hint().contains("--ignore-extra-columns"), "{failure}");
        let meaning = |text: &str, ty: &Type| {
            let value = value_of(text, ty, &ignoring).unwrap_or_else(|e| panic!("{e}"));
            let port = [Port::new("input1", ty.clone())];
            value::decode(&port, &value::encode(&port, &value).expect("bits"))
        };
        assert_eq!(meaning(text, &ty), json!([{"id": 7, "balance": -3}]));
        // If a row is an integer, the column with the name of the array is used.
        let wrapped = structure(&[("salary", array(uint(8), 2))]);
        assert_eq!(meaning("level,salary\n9,1\n9,2\n", &wrapped), json!({"salary": [1, 2]}));
        assert_eq!(meaning("any\n1\n2\n", &wrapped), json!({"salary": [1, 2]}));
        for (text, words) in [
            ("id,id,balance\n1,2,3\n", "line 1, column 2: another column has the same name"),
            ("id,name\n1,2\n", "the column balance (int12) is missing"),
            ("id,balance,name\n1,2\n", "line 2: the line has 2 cells for 3 columns"),
        ] {
            let failure = value_of(text, &ty, &ignoring).expect_err(text);
            assert!(failure.message().contains(words), "{failure}");
        }
        let failure = value_of("level,pay\n9,1\n9,2\n", &wrapped, &ignoring).expect_err("no such column");
        assert!(failure.message().contains("the column salary (uint8) is missing"), "{failure}");
    }

    /// If there is only one execution, its value may stand with or without the brackets of a list.
    #[test]
    fn one_value_or_a_list_of_one() {
        let (row, table) = (array(uint(8), 1), structure(&[("rows", array(uint(8), 2)), ("count", uint(8))]));
        for (value, ty, list) in [
            (json!(5), uint(8), false),
            (json!([5]), uint(8), true),
            (json!([5]), row.clone(), false),
            (json!([[5]]), row.clone(), true),
            (json!([[5]]), array(row.clone(), 1), false),
            (json!([[[5]]]), array(row.clone(), 1), true),
            (json!({"x": 1}), structure(&[("x", uint(8))]), false),
            (json!([{"x": 1}]), structure(&[("x", uint(8))]), true),
            (json!([{"x": 1}]), array(structure(&[("x", uint(8))]), 1), false),
            (json!([1, 2]), array(uint(8), 2), false),
            (json!("bits:01"), uint(2), false),
            // The rows of a table are the values of the list, unless a single value is a table.
            (json!("@t.csv"), structure(&[("x", uint(8))]), true),
            (json!("csv:-"), uint(8), true),
            (json!("@t.csv"), row, false),
            (json!("csv:-"), table, false),
        ] {
            assert_eq!(is_list(&value, &ty), list, "{value} {ty}");
        }
    }
}
