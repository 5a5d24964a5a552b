//! Text, tables and figures of pages.

use std::fmt::Write as _;

use serde_json::Value;

use crate::words::{self, number};

/// Escapes text within HTML or SVG, also in attributes. Characters that move a cursor or change the direction
/// of writing are replaced. Otherwise a name could use them to look like another name.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => {
                safe.push('\u{fffd}');
            }
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// A cell of a table or of the facts: text, or a number with its exact value.
pub(crate) struct Cell {
    /// The exact value, as in the record.
    exact: Option<String>,
    /// The value as people read it.
    shown: String,
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Cell { exact: None, shown: text.into() }
    }

    /// Shows a number of the record in another form; nothing if the value is not a number.
    fn shown(value: &Value, show: impl Fn(&Value) -> String) -> Self {
        match value {
            Value::Number(exact) => Cell { exact: Some(exact.to_string()), shown: show(value) },
            _ => Cell::text("–"),
        }
    }

    pub fn number(value: &Value) -> Self {
        Cell::shown(value, number)
    }

    pub fn bytes(value: &Value) -> Self {
        Cell::shown(value, |value| value.as_u64().map_or_else(|| number(value), words::bytes))
    }

    pub fn seconds(value: &Value) -> Self {
        Cell::shown(value, |value| words::seconds(value.as_f64().unwrap_or_default()))
    }

    /// Shows a bound by its logarithm.
    pub fn bound(value: &Value) -> Self {
        Cell::shown(value, |value| words::at_most(value.as_f64().unwrap_or_default()))
    }

    /// Shows any value of a field: text, a number, a list of numbers, yes or no.
    pub fn any(value: &Value) -> Self {
        match value {
            Value::Number(_) => Cell::number(value),
            Value::String(text) => Cell::text(text),
            Value::Bool(is) => Cell::text(if *is { "yes" } else { "no" }),
            _ => Cell::text("–"),
        }
    }

    fn html(&self) -> String {
        match &self.exact {
            Some(exact) => {
                format!("<data value=\"{}\">{}</data>", escaped(exact), escaped(&self.shown))
            }
            None => escaped(&self.shown),
        }
    }
}

/// A table; the first cell of a row names it.
pub(crate) struct HtmlTable {
    pub caption: String,
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<Cell>>,
}

/// A page in the making.
pub(crate) struct HtmlPage {
    /// The prefix of the names of all elements of this page, so that one document may contain several pages.
    id: String,
    named: usize,
    body: String,
}

impl HtmlPage {
    /// Begins a page about a record, with a title and a sentence that describes the page.
    pub fn new(record: &Value, title: &str, kind: &str) -> Self {
        // This hash is not for security: it only gives the pages of different records different identifiers.
        let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = record.to_string().bytes().fold(0xcbf2_9ce4_8422_2325, fold);
        let body =
            format!("<header><p class=\"kind\">{}</p><h1>{}</h1></header>\n", escaped(kind), escaped(title));
        HtmlPage { id: format!("b{hash:016x}"), named: 0, body }
    }

    /// Returns a new name of an element.
    fn name(&mut self) -> String {
        self.named += 1;
        format!("{}-{}", self.id, self.named)
    }

    /// Adds the most important values, in a row of boxes; facts without a value are left out.
    pub fn facts(&mut self, facts: &[(&str, Cell)]) {
        self.body.push_str("<dl class=\"facts\">\n");
        for (what, cell) in facts.iter().filter(|(_, cell)| cell.exact.is_some() || cell.shown != "–") {
            let _ = writeln!(self.body, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(what), cell.html());
        }
        self.body.push_str("</dl>\n");
    }

    pub fn section(&mut self, title: &str) {
        let _ = writeln!(self.body, "<h2>{}</h2>", escaped(title));
    }

    pub fn subsection(&mut self, title: &str) {
        let _ = writeln!(self.body, "<h3>{}</h3>", escaped(title));
    }

    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escaped(text));
    }

    /// Adds a warning.
    pub fn warning(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p class=\"warning\" role=\"note\">{}</p>", escaped(text));
    }

    /// Adds a digest or a long name.
    pub fn code(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p><code>{}</code></p>", escaped(text));
    }

    /// Adds a picture with a title, a description, a legend, and a table of its data that the reader can
    /// open; `draw` takes the attributes and the first elements of the SVG element.
    pub fn figure(
        &mut self,
        title: &str,
        description: &str,
        legend: &[(&str, &str)],
        table: &HtmlTable,
        draw: impl FnOnce(&str, &str) -> String,
    ) {
        let [title_id, about_id] = [self.name(), self.name()];
        let attributes = format!("role=\"img\" aria-labelledby=\"{title_id} {about_id}\"");
        let first = format!(
            "<title id=\"{title_id}\">{}</title><desc id=\"{about_id}\">{}</desc>",
            escaped(title),
            escaped(description)
        );
        let _ = writeln!(
            self.body,
            "<figure><figcaption><h3>{}</h3><p>{}</p></figcaption>",
            escaped(title),
            escaped(description)
        );
        self.body.push_str(&draw(&attributes, &first));
        if !legend.is_empty() {
            self.body.push_str("<ul class=\"legend\">");
            for (class, text) in legend {
                let _ = write!(
                    self.body,
                    "<li><svg width=\"22\" height=\"12\" aria-hidden=\"true\"><rect class=\"{class}\" \
                     x=\"1\" y=\"1\" width=\"20\" height=\"10\"/></svg> {}</li>",
                    escaped(text)
                );
            }
            self.body.push_str("</ul>\n");
        }
        self.details(table);
        self.body.push_str("</figure>\n");
    }

    /// Adds a table that the reader can open.
    pub fn details(&mut self, table: &HtmlTable) {
        let _ = writeln!(self.body, "<details><summary>{}</summary>", escaped(&table.caption));
        self.table(table);
        self.body.push_str("</details>\n");
    }

    /// Adds a visible table.
    pub fn table(&mut self, table: &HtmlTable) {
        // A table wider than the screen scrolls in its frame, also with the keyboard.
        let _ = write!(
            self.body,
            "<div class=\"wide\" tabindex=\"0\" role=\"group\" \
             aria-label=\"{0}\"><table><caption>{0}</caption><thead><tr>",
            escaped(&table.caption)
        );
        for head in &table.head {
            let _ = write!(self.body, "<th scope=\"col\">{}</th>", escaped(head));
        }
        self.body.push_str("</tr></thead><tbody>\n");
        for row in &table.rows {
            self.body.push_str("<tr>");
            for (k, cell) in row.iter().enumerate() {
                let _ = match (k, &cell.exact) {
                    (0, _) => write!(self.body, "<th scope=\"row\">{}</th>", cell.html()),
                    (_, Some(_)) => write!(self.body, "<td class=\"number\">{}</td>", cell.html()),
                    (_, None) => write!(self.body, "<td>{}</td>", cell.html()),
                };
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</tbody></table></div>\n");
    }

    /// Returns the whole file.
    pub fn document(self, title: &str) -> String {
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta \
             http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
             'unsafe-inline'\"><meta name=\"viewport\" content=\"width=device-width, \
             initial-scale=1\"><meta name=\"referrer\" \
             content=\"no-referrer\"><title>{}</title>\n<style>{STYLE}</style></head><body \
             class=\"brickwork-page\"><main class=\"brickwork\">\n{PATTERNS}\n{}<footer><p>Brickwork {}. \
             This page contains sizes, times and names, but no input. It loads nothing from the \
             network.</p></footer>\n</main></body></html>\n",
            escaped(title),
            self.body,
            env!("CARGO_PKG_VERSION"),
        )
    }
}

/// Each colour has a pattern of its own, for readers who do not see colours.
const PATTERNS: &str = include_str!("patterns.svg");

/// All rules are about `.brickwork`, because a page may be part of a notebook.
const STYLE: &str = include_str!("style.css");
