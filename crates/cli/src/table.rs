//! Tables: CSV files whose named columns become the fields of an array of structs.
//!
//! Messages name the line and the column, but repeat nothing that the file says: it may be secret.

use std::fs::File;
use std::path::Path;

use brickwork::circuit::{Port, Type, value};
use csv::StringRecord;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::files;

/// Puts tables where a value of this type names one, as `"@file.csv"`; paths start from `folder`.
pub fn fill(value: &mut Value, ty: &Type, folder: &Path) -> Result<(), Failure> {
    match (&mut *value, ty) {
        (Value::String(text), _) => match text.strip_prefix('@') {
            Some(path) if is_table(path) => {
                *value = read(&folder.join(path), ty)?;
                Ok(())
            }
            Some(_) => Err(Failure::input("a file named inside a value must be a table that ends in .csv", "give numbers inline")),
            None => Ok(()),
        },
        (Value::Array(values), Type::Array(element, _)) => values.iter_mut().try_for_each(|value| fill(value, element, folder)),
        (Value::Object(given), Type::Struct(fields)) => {
            fields.iter().try_for_each(|(name, ty)| given.get_mut(name).map_or(Ok(()), |value| fill(value, ty, folder)))
        }
        // Whatever does not fit is refused when the value becomes bits.
        _ => Ok(()),
    }
}

/// Whether a file of this name is a table.
pub fn is_table(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
}

/// A type that a table can give.
struct Shape<'t> {
    row: &'t Type,
    rows: u32,
    /// The type of the field `count`, and whether it stands before the array.
    count: Option<(&'t Type, bool)>,
}

impl<'t> Shape<'t> {
    /// An array, a struct of just one, or a struct of an array and its `count`.
    fn of(ty: &'t Type) -> Option<Self> {
        let array = |ty: &'t Type, count| match ty {
            Type::Array(row, rows) => Some(Shape { row, rows: *rows, count }),
            _ => None,
        };
        match ty {
            Type::Array(..) => array(ty, None),
            Type::Struct(fields) => match &fields[..] {
                [(_, only)] => Shape::of(only),
                [(name, count @ Type::Uint(_)), (_, rows)] if name == "count" => array(rows, Some((count, true))),
                [(_, rows), (name, count @ Type::Uint(_))] if name == "count" => array(rows, Some((count, false))),
                _ => None,
            },
            _ => None,
        }
    }
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

/// The table in a file, as a value of this type.
fn read(path: &Path, ty: &Type) -> Result<Value, Failure> {
    let name = path.display().to_string();
    let bytes = files::read_all(File::open(path), files::MAX_VALUE_BYTES, &name)?;
    let text = files::utf8(&bytes, &name, "save the table as CSV in UTF-8")?;
    parse(text, ty).map_err(|e| e.within(&name))
}

fn parse(text: &str, ty: &Type) -> Result<Value, Failure> {
    let shape = Shape::of(ty).ok_or_else(|| {
        Failure::input(
            "this input is not a table",
            "a table gives an array, or a struct of nothing but an array and perhaps its `count`; `brickwork info FILE` shows the type",
        )
    })?;
    let mut expected = Vec::new();
    columns(shape.row, String::new(), &mut expected);
    // Programs that save spreadsheets put a mark before the first line; in half of Europe they separate by semicolons.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let delimiter = if first.contains(';') && !first.contains(',') { b';' } else { b',' };
    let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).delimiter(delimiter).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|e| broken(&e))?;
    let places = order(header, line(header, text), &mut expected)?;

    let mut rows = Zeroizing::new(String::new());
    let mut count = 0;
    for record in reader.into_records() {
        let record = record.map_err(|e| broken(&e))?;
        let line = line(&record, text);
        if count == shape.rows {
            return Err(Failure::input(
                format!("line {line}: the program takes no more than {}", rows_text(shape.rows)),
                "leave some out, or use a program for more rows; both parties need the same one",
            ));
        }
        row(&record, line, &expected, &places, &mut rows)?;
        count += 1;
    }
    finish(&shape, count, &rows)
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
    if let Some(column) = header.iter().position(|name| name.starts_with(|c: char| c == '-' || c.is_ascii_digit())) {
        return fail(format!("line {line}, column {}: a number stands where the name of a column should be", column + 1));
    }
    if let ([port], 1) = (&mut *expected, header.len())
        && port.name.is_empty()
    {
        port.name = "value".into();
        return Ok(vec![0]);
    }
    let mut places = Vec::with_capacity(expected.len());
    for port in &*expected {
        let mut found = header.iter().enumerate().filter(|(_, name)| *name == port.name).map(|(column, _)| column);
        match (found.next(), found.next()) {
            (Some(place), None) => places.push(place),
            (Some(_), Some(again)) => return fail(format!("line {line}, column {}: {} stands there twice", again + 1, port.name)),
            (None, _) if port.name.is_empty() => {
                return fail(format!("line {line}, column 2: one column is expected, not {}", header.len()));
            }
            (None, _) => return fail(format!("line {line}: the column {} ({}) is missing", port.name, port.ty)),
        }
    }
    match (0..header.len()).find(|column| !places.contains(column)) {
        Some(unknown) => fail(format!("line {line}, column {}: the program has no column of this name", unknown + 1)),
        None => Ok(places),
    }
}

/// Appends the wire bits of a line.
fn row(record: &StringRecord, line: u64, expected: &[Port], places: &[usize], bits: &mut String) -> Result<(), Failure> {
    if record.len() != places.len() {
        let (cells, columns) = (crate::report::plural(record.len() as u64, "cell"), crate::report::plural(places.len() as u64, "column"));
        return Err(Failure::input(
            format!("line {line}: {cells} for {columns}"),
            "every line needs a number for every column; are there commas in the numbers?",
        ));
    }
    for (port, &place) in expected.iter().zip(places) {
        let cell = Value::String(record[place].to_owned());
        let encoded = value::encode(std::slice::from_ref(port), &cell).map(Zeroizing::new);
        let encoded = encoded.map_err(|e| Failure::from(e).within(&format!("line {line}, column {}", place + 1)))?;
        push(bits, &encoded);
    }
    Ok(())
}

fn push(text: &mut String, bits: &[bool]) {
    text.extend(bits.iter().map(|bit| if *bit { '1' } else { '0' }));
}

/// The value, filled up with zeros where the program asks for the number of rows.
fn finish(shape: &Shape<'_>, count: u32, rows: &str) -> Result<Value, Failure> {
    let mut number = String::new();
    match shape.count {
        None if count < shape.rows => {
            return Err(Failure::input(
                format!("{} only, and the program wants {}", rows_text(count), rows_text(shape.rows)),
                "add rows that mean nothing to the program; or let its author put a field `count` beside the array, and shorter tables will do",
            ));
        }
        None => {}
        Some((ty, _)) => push(&mut number, &value::encode(&[Port::new("count", ty.clone())], &count.into())?),
    }
    let zeros = "0".repeat((shape.row.width() * u64::from(shape.rows - count)) as usize);
    Ok(Value::String(match shape.count {
        Some((_, false)) => format!("bits:{rows}{zeros}{number}"),
        _ => format!("bits:{number}{rows}{zeros}"),
    }))
}

#[cfg(test)]
mod tests {
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

    /// A pair of numbers, one of them signed.
    fn person() -> Type {
        structure(&[("id", uint(16)), ("balance", Type::Int(12))])
    }

    /// What a table means, in the form of an output.
    fn good(text: &str, ty: &Type) -> Value {
        let value = parse(text, ty).unwrap_or_else(|e| panic!("{}", e.human()));
        let port = [Port::new("input1", ty.clone())];
        value::decode(&port, &value::encode(&port, &value).expect("bits of this type"))
    }

    fn bad(text: &str, ty: &Type, words: &str) {
        let failure = parse(text, ty).expect_err(text);
        assert!(failure.is(crate::failure::code::INPUT), "{}", failure.human());
        assert!(failure.message().contains(words), "{}", failure.human());
        assert!(!failure.hint().is_empty(), "{}", failure.human());
        assert!(!failure.human().contains("77"), "a cell is repeated: {}", failure.human());
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
        bad("v\n1\n2\n", &structure(&[("count", uint(1)), ("rows", array(uint(8), 3))]), "count (uint1): the number does not fit");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let ty = array(person(), 2);
        for (text, words) in [
            ("", "the table is empty"),
            ("\n\n", "the table is empty"),
            ("id\n1\n2\n", "line 1: the column balance (int12) is missing"),
            ("id,balance,n77me\n1,2,3\n4,5,6\n", "line 1, column 3: the program has no column of this name"),
            ("id,balance,id\n1,2,3\n4,5,6\n", "line 1, column 3: id stands there twice"),
            ("ID,balance\n1,2\n4,5\n", "the column id (uint16) is missing"),
            ("77,78\n1,2\n", "line 1, column 1: a number stands where the name of a column should be"),
            ("id,balance\n1,2\n3,77.5\n", "line 3, column 2: balance (int12): expected an integer"),
            ("id,balance\n1,2\n\n-77,5\n", "line 4, column 1: id (uint16): a negative number"),
            ("id,balance\n1,2\n77000,5\n", "line 3, column 1: id (uint16): the number does not fit; expected 0 to 65535"),
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

    #[test]
    fn values_name_tables_inside() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("v.CSV"), "v\n1\n2\n").expect("a file");
        let ty = array(structure(&[("limit", uint(8)), ("rows", array(uint(8), 2))]), 2);
        let mut value = json!([{"limit": 9, "rows": "@v.CSV"}, {"limit": 3, "rows": [3, 4]}]);
        fill(&mut value, &ty, folder.path()).expect("a table");
        assert_eq!(value, json!([{"limit": 9, "rows": "bits:1000000001000000"}, {"limit": 3, "rows": [3, 4]}]));
        for (given, words) in [(json!([{"rows": "@w.csv"}]), "cannot read"), (json!([{"rows": "@v.txt"}]), "must be a table")] {
            let failure = fill(&mut given.clone(), &ty, folder.path()).expect_err("no table");
            assert!(failure.message().contains(words), "{}", failure.human());
        }
    }
}
