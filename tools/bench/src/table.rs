//! The texts that measurements print: tables, and the progress on stderr.

use std::io::Write;

use brickwork_report::words::thousands;
use serde_json::Value;

/// The form in which a column shows its values.
pub enum Form {
    Word,
    Count,
    /// A number times this factor, with this many digits after the point.
    Scaled(f64, usize),
    /// A number with a power of ten, and this many digits after the point.
    Power(usize),
    /// A text that is made from the whole row.
    Made(fn(&Value) -> String),
}

/// Milliseconds of a time in seconds.
pub const MS: Form = Form::Scaled(1e3, 1);

/// A column: its heading, the JSON pointer to its value in a row, and its form.
pub type TableColumn = (&'static str, &'static str, Form);

/// Formats rows as a table that is also valid Markdown. Words are aligned to the left, and numbers to the
/// right.
pub fn table(columns: &[TableColumn], rows: &[Value]) -> String {
    let cell = |row: &Value, (_, at, form): &TableColumn| {
        let value = row.pointer(at).unwrap_or(&Value::Null);
        match (form, value.as_f64()) {
            (Form::Word, _) => value.as_str().unwrap_or_default().to_owned(),
            (Form::Made(word), _) => word(row),
            (Form::Count, _) => value.as_u64().map_or(String::new(), thousands),
            (Form::Scaled(factor, digits), Some(number)) => format!("{:.digits$}", factor * number),
            (Form::Power(digits), Some(number)) => format!("{number:.digits$e}"),
            (_, None) => String::new(),
        }
    };
    let body = rows.iter().map(|row| columns.iter().map(|column| cell(row, column)).collect());
    let head = columns.iter().map(|(head, ..)| (*head).to_owned()).collect();
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(body).collect();
    let (mut text, mut rule) = (vec![String::from("|"); lines.len()], String::from("|"));
    for (k, (.., form)) in columns.iter().enumerate() {
        let width = lines.iter().map(|cells| cells[k].chars().count()).max().unwrap_or_default().max(4);
        let is_word = matches!(form, Form::Word | Form::Made(_));
        rule += &match is_word {
            true => format!(" {} |", "-".repeat(width)),
            false => format!(" {}: |", "-".repeat(width - 1)),
        };
        for (text, cells) in text.iter_mut().zip(&lines) {
            *text += &match is_word {
                true => format!(" {:width$} |", cells[k]),
                false => format!(" {:>width$} |", cells[k]),
            };
        }
    }
    text.insert(1, rule);
    text.join("\n") + "\n"
}

/// Lists the rows that were not measured.
pub fn skipped(rows: &[Value]) -> String {
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    rows.iter().map(|row| format!("skipped {}: {}\n", text(row, "row"), text(row, "why"))).collect()
}

/// Prints a line of progress on stderr, unless the user wants quiet. If stderr is closed, the measurement
/// goes on.
pub fn say(quiet: bool, line: &str) {
    if !quiet {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}
