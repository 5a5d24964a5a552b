//! Tables: CSV files whose named columns become the fields of an array of structs.
//!
//! Messages name the line and the column, but repeat nothing that the file says: it may be secret.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use brickwork::circuit::{Port, Type, value};
use csv::StringRecord;
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::files;

/// Puts tables where a value of this type names one, as `"@file.csv"`; paths start from `folder`.
pub fn fill(value: &mut Value, ty: &Type, folder: &Path) -> Result<(), Failure> {
    match (&mut *value, ty) {
        (Value::String(text), _) => {
            let Some(path) = table_path(text, folder)? else { return Ok(()) };
            match ty {
                Type::Array(row, rows) => *value = read(&path, row, *rows, Rows::All)?.0,
                Type::Struct(fields) => {
                    // The struct with the table in it, and the number of its rows if it has a place for that.
                    let rest: Vec<_> = fields.iter().filter(|field| !is_count(field)).collect();
                    let [(field, _)] = rest[..] else { return Err(no_table(&path)) };
                    *value = json!({ field: value });
                    fill(value, ty, folder)?;
                }
                _ => return Err(no_table(&path)),
            }
        }
        (Value::Array(values), Type::Array(element, _)) => {
            values.iter_mut().try_for_each(|value| fill(value, element, folder))?
        }
        (Value::Object(given), Type::Struct(fields)) => fill_fields(given, fields, folder)?,
        // Whatever does not fit is refused when the value becomes bits.
        _ => {}
    }
    Ok(())
}

fn fill_fields(
    given: &mut Map<String, Value>,
    fields: &[(String, Type)],
    folder: &Path,
) -> Result<(), Failure> {
    let is_array = |(_, ty): &&(String, Type)| matches!(ty, Type::Array(..));
    let counts = !given.contains_key("count")
        && fields.iter().any(is_count)
        && fields.iter().filter(is_array).count() == 1;
    for (name, ty) in fields {
        let Some(value) = given.get_mut(name) else { continue };
        if let (true, Type::Array(row, rows), Value::String(text)) = (counts, ty, &*value)
            && let Some(path) = table_path(text, folder)?
        {
            let (table, count) = read(&path, row, *rows, Rows::Some)?;
            *value = table;
            given.insert("count".into(), count.into());
        } else {
            fill(value, ty, folder)?;
        }
    }
    Ok(())
}

/// Whether a field is for the number of rows of a table beside it.
fn is_count((name, ty): &(String, Type)) -> bool {
    name == "count" && matches!(ty, Type::Uint(_))
}

/// The file that a string in a value names, if it does.
fn table_path(text: &str, folder: &Path) -> Result<Option<PathBuf>, Failure> {
    match text.strip_prefix('@') {
        Some(path) if is_table(path) => Ok(Some(folder.join(path))),
        Some(_) => Err(Failure::input(
            "a file named inside a value must be a table that ends in .csv",
            "give other values inline",
        )),
        None => Ok(None),
    }
}

fn no_table(path: &Path) -> Failure {
    Failure::input(
        format!("{}: this input is not a table", path.display()),
        "a table gives an array, or a struct of nothing but an array and perhaps its `count`; `brickwork info FILE` shows the type",
    )
}

/// Whether a file of this name is a table.
pub fn is_table(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
}

/// How many rows a table must have.
#[derive(Clone, Copy, PartialEq)]
enum Rows {
    /// As many as the array has elements.
    All,
    /// No more than that.
    Some,
}

/// The integers in a value, each with the name of its column; one that is an integer itself has any name.
fn columns(ty: &Type, name: String, out: &mut Vec<Port>) {
    match ty {
        Type::Uint(_) | Type::Int(_) => out.push(Port::new(name, ty.clone())),
        Type::Array(element, n) => (0..*n).for_each(|i| columns(element, format!("{name}[{i}]"), out)),
        Type::Struct(fields) => {
            let dot = if name.is_empty() { "" } else { "." };
            fields.iter().for_each(|(field, ty)| columns(ty, format!("{name}{dot}{field}"), out));
        }
    }
}

/// The table in a file, as the value of an array that is filled up with zeros, and the number of its rows.
fn read(path: &Path, row: &Type, rows: u32, wanted: Rows) -> Result<(Value, u32), Failure> {
    let name = path.display().to_string();
    let bytes = files::read_all(File::open(path), files::MAX_VALUE_BYTES, &name)?;
    let text = files::utf8(&bytes, &name, "save the table as CSV in UTF-8")?;
    parse(text, row, rows, wanted).map_err(|e| e.within(&name))
}

/// The table in a text, of no more than so many rows.
pub fn up_to(text: &str, row: &Type, rows: u32) -> Result<(Value, u32), Failure> {
    parse(text, row, rows, Rows::Some)
}

fn parse(text: &str, ty: &Type, rows: u32, wanted: Rows) -> Result<(Value, u32), Failure> {
    let mut expected = Vec::new();
    columns(ty, String::new(), &mut expected);
    // Programs that save spreadsheets put a mark before the first line; in half of Europe they separate by
    // semicolons.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let delimiter = if first.contains(';') && !first.contains(',') { b';' } else { b',' };
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .trim(csv::Trim::All)
        .delimiter(delimiter)
        .from_reader(text.as_bytes());
    let header = reader.headers().map_err(|e| broken(&e))?;
    let places = order(header, line(header, text), &mut expected)?;

    let mut bits = Zeroizing::new(String::from("bits:"));
    let mut count = 0;
    for record in reader.into_records() {
        let record = record.map_err(|e| broken(&e))?;
        let line = line(&record, text);
        if count == rows {
            return Err(Failure::input(
                format!("line {line}: the program takes no more than {}", rows_text(rows)),
                "leave some out, or use a program for more rows; both parties need the same one",
            ));
        }
        row(&record, line, &expected, &places, &mut bits)?;
        count += 1;
    }
    if count < rows && wanted == Rows::All {
        return Err(Failure::input(
            format!("{} only, and the program wants {}", rows_text(count), rows_text(rows)),
            "add rows that mean nothing to the program; or let its author put a field `count` beside the array, which is then \
             filled in where it is not given, and shorter tables will do",
        ));
    }
    bits.push_str(&"0".repeat((ty.width() * u64::from(rows - count)) as usize));
    Ok((Value::String(std::mem::take(&mut *bits)), count))
}

fn rows_text(rows: u32) -> String {
    crate::report::plural(rows.into(), "row")
}

/// The line of a record. Its position is that of the empty lines before it.
fn line(record: &StringRecord, text: &str) -> u64 {
    let Some(position) = record.position() else { return 1 };
    let before = text.bytes().skip(position.byte() as usize).take_while(|b| b"\r\n".contains(b));
    position.line() + before.filter(|b| *b == b'\n').count() as u64
}

fn broken(error: &csv::Error) -> Failure {
    // The error's own text could repeat a part of the file.
    let line = error.position().map_or(String::new(), |at| format!("line {}: ", at.line()));
    Failure::input(format!("{line}this is not CSV"), "save the table as CSV in UTF-8")
}

/// Where each of the expected columns stands in a line.
fn order(header: &StringRecord, line: u64, expected: &mut [Port]) -> Result<Vec<usize>, Failure> {
    let names: Vec<_> = expected.iter().take(20).map(|port| &*port.name).collect();
    let known = match &names[..] {
        [""] => "any one name".to_owned(),
        _ => format!("{}{}", names.join(", "), if expected.len() > 20 { ", …" } else { "" }),
    };
    let hint = format!("the first line must name the columns, in any order: {known}");
    let fail = |message: String| Err(Failure::input(message, &*hint));
    if header.iter().all(str::is_empty) {
        return fail("the table is empty".into());
    }
    if let Some(column) =
        header.iter().position(|name| name.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
    {
        return fail(format!(
            "line {line}, column {}: a number stands where the name of a column should be",
            column + 1
        ));
    }
    if let [port] = &mut *expected
        && port.name.is_empty()
    {
        port.name = "value".into();
        return match header.len() {
            1 => Ok(vec![0]),
            columns => fail(format!("line {line}, column 2: one column is expected, not {columns}")),
        };
    }
    let mut given = HashMap::new();
    for (column, name) in header.iter().enumerate() {
        if given.insert(name, column).is_some() {
            return fail(format!("line {line}, column {}: another column has the same name", column + 1));
        }
    }
    let mut places = Vec::with_capacity(expected.len());
    for port in &*expected {
        match given.remove(&*port.name) {
            Some(place) => places.push(place),
            None => return fail(format!("line {line}: the column {} ({}) is missing", port.name, port.ty)),
        }
    }
    match given.into_values().min() {
        Some(unknown) => {
            fail(format!("line {line}, column {}: the program has no column of this name", unknown + 1))
        }
        None => Ok(places),
    }
}

/// Appends the wire bits of a line.
fn row(
    record: &StringRecord,
    line: u64,
    expected: &[Port],
    places: &[usize],
    bits: &mut String,
) -> Result<(), Failure> {
    if record.len() != places.len() {
        let (cells, columns) = (
            crate::report::plural(record.len() as u64, "cell"),
            crate::report::plural(places.len() as u64, "column"),
        );
        return Err(Failure::input(
            format!("line {line}: {cells} for {columns}"),
            "every line needs a number for every column; are there commas in the numbers?",
        ));
    }
    for (port, &place) in expected.iter().zip(places) {
        let cell = Value::String(record[place].to_owned());
        let encoded = value::encode(std::slice::from_ref(port), &cell).map(Zeroizing::new);
        let encoded =
            encoded.map_err(|e| Failure::from(e).within(&format!("line {line}, column {}", place + 1)))?;
        bits.extend(encoded.iter().map(|bit| if *bit { '1' } else { '0' }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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

    /// A pair of numbers, one of them signed.
    fn person() -> Type {
        structure(&[("id", uint(16)), ("balance", Type::Int(12))])
    }

    /// The value of this type that a file with this text gives.
    fn value_of(text: &str, ty: &Type) -> Result<Value, Failure> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("t.csv"), text).expect("a file");
        let mut value = json!("@t.csv");
        fill(&mut value, ty, folder.path()).map(|()| value)
    }

    /// What a table means, in the form of an output.
    fn good(text: &str, ty: &Type) -> Value {
        let value = value_of(text, ty).unwrap_or_else(|e| panic!("{}", e.human()));
        let port = [Port::new("input1", ty.clone())];
        value::decode(&port, &value::encode(&port, &value).expect("bits of this type"))
    }

    fn bad(text: &str, ty: &Type, words: &str) {
        let failure = value_of(text, ty).expect_err(text);
        assert!(failure.is(crate::failure::code::INPUT), "{}", failure.human());
        assert!(failure.message().contains(words), "{}", failure.human());
        assert!(!failure.hint().is_empty(), "{}", failure.human());
        // The folder's name is random and may hold any digits.
        let told = failure.human();
        assert!(
            told.rsplit("t.csv").next().is_some_and(|said| !said.contains("77")),
            "a cell is repeated: {told}"
        );
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
    fn shorter_tables_for_programs_that_count() {
        let before = structure(&[("count", uint(4)), ("rows", array(uint(8), 3))]);
        assert_eq!(good("v\n5\n6\n", &before), json!({"count": 2, "rows": [5, 6, 0]}));
        assert_eq!(good("v\n", &before), json!({"count": 0, "rows": [0, 0, 0]}));
        let after = structure(&[("rows", array(person(), 2)), ("count", uint(9))]);
        let rows = json!([{"id": 1, "balance": -1}, {"id": 0, "balance": 0}]);
        assert_eq!(good("id,balance\n1,-1\n", &after), json!({"rows": rows, "count": 1}));
        bad("v\n5\n6\n7\n77\n", &before, "line 5: the program takes no more than 3 rows");
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
            ("77,78\n1,2\n", "line 1, column 1: a number stands where the name of a column should be"),
            ("id,balance\n1,2\n3,77.5\n", "line 3, column 2: balance (int12): expected an integer"),
            ("id,balance\n1,2\n\n-77,5\n", "line 4, column 1: id (uint16): a negative number"),
            (
                "id,balance\n1,2\n77000,5\n",
                "line 3, column 1: id (uint16): the number does not fit; expected 0 to 65535",
            ),
            ("id,balance\n1,2\n,5\n", "line 3, column 1: id (uint16): expected an integer"),
            ("id,balance\n1,77,3\n", "line 2: 3 cells for 2 columns"),
            ("id,balance\n1,2\n3\n", "line 3: 1 cell for 2 columns"),
            ("id,balance\n1,2\n", "1 row only, and the program wants 2 rows"),
            ("id,balance\n1,2\n1,2\n1,77\n", "line 4: the program takes no more than 2 rows"),
        ] {
            bad(text, &ty, words);
        }
        bad("a,b\n1,77\n", &array(uint(8), 1), "line 1, column 2: one column is expected, not 2");
        bad("v\n77\n", &uint(8), "not a table");
        bad("v\n77\n", &structure(&[("limit", uint(8)), ("rows", array(uint(8), 1))]), "not a table");
    }

    /// Whatever stands in a file, it is a table of the right width or an error.
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
        let ty = array(structure(&[("limit", uint(8)), ("rows", array(uint(8), 2))]), 2);
        let mut value = json!([{"limit": 9, "rows": "@v.CSV"}, {"limit": 3, "rows": [3, 4]}]);
        fill(&mut value, &ty, folder.path()).expect("a table");
        assert_eq!(
            value,
            json!([{"limit": 9, "rows": "bits:1000000001000000"}, {"limit": 3, "rows": [3, 4]}])
        );
        let counted = structure(&[("limit", uint(8)), ("rows", array(uint(8), 3)), ("count", uint(8))]);
        let mut value = json!({"limit": 9, "rows": "@v.CSV"});
        fill(&mut value, &counted, folder.path()).expect("a table");
        assert_eq!(value, json!({"limit": 9, "rows": "bits:100000000100000000000000", "count": 2}));
        // Who gives the number has to give all of the rows.
        let failure = fill(&mut json!({"limit": 9, "rows": "@v.CSV", "count": 2}), &counted, folder.path())
            .expect_err("too short");
        assert!(failure.message().contains("2 rows only"), "{}", failure.human());
        for (given, words) in
            [(json!([{"rows": "@w.csv"}]), "cannot read"), (json!([{"rows": "@v.txt"}]), "must be a table")]
        {
            let failure = fill(&mut given.clone(), &ty, folder.path()).expect_err("no table");
            assert!(failure.message().contains(words), "{}", failure.human());
        }
    }
}
