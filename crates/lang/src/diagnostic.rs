//! Errors and warnings that point into the source.

use std::collections::HashSet;
use std::fmt;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use serde::Serialize;

use crate::source::{Position, SourceMap, SourceSpan};

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The source has a mistake and is not compiled.
    Error,
    /// The source is compiled, but probably has a mistake.
    Warning,
}

/// One error or warning. It is built step by step. [`Draft::hint`] is the last step, so that every diagnostic
/// has a hint.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// A stable name for the kind of problem, e.g. `type::mismatch`.
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// The place in the source.
    pub span: SourceSpan,
    /// The note at the place.
    pub label: String,
    /// Other places that explain the problem.
    pub related: Vec<(SourceSpan, String)>,
    /// The hint, which is written for users who are new to the language.
    pub hint: String,
}

impl Diagnostic {
    /// Makes an error, still without its hint.
    pub fn error(code: &'static str, span: SourceSpan, message: impl Into<String>) -> Draft {
        Draft::new(Severity::Error, code, span, message.into())
    }

    /// Makes a warning, still without its hint.
    pub fn warning(code: &'static str, span: SourceSpan, message: impl Into<String>) -> Draft {
        Draft::new(Severity::Warning, code, span, message.into())
    }
}

/// A [`Diagnostic`] without its hint, which completes it.
#[must_use = "call `hint` to make the diagnostic"]
pub struct Draft(Diagnostic);

impl Draft {
    fn new(severity: Severity, code: &'static str, span: SourceSpan, message: String) -> Self {
        Draft(Diagnostic {
            severity,
            code,
            message,
            span,
            label: String::new(),
            related: Vec::new(),
            hint: String::new(),
        })
    }

    /// Adds a text at the place.
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.0.label = text.into();
        self
    }

    /// Adds another place with a text.
    pub fn also(mut self, span: SourceSpan, text: impl Into<String>) -> Self {
        self.0.related.push((span, text.into()));
        self
    }

    /// Adds the hint, which explains what to do and does not repeat the error.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Diagnostic {
        self.0.hint = text.into();
        self.0
    }
}

/// The largest number of listed errors, because later errors are usually consequences.
const MAX_ERRORS: usize = 100;

/// Collects diagnostics while compiling. If a loop finds the same problem at the same place again, it is kept
/// only once.
#[derive(Default)]
pub struct Sink {
    list: Vec<Diagnostic>,
    seen: HashSet<(&'static str, SourceSpan)>,
    errors: usize,
}

impl Sink {
    /// Adds a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if !self.seen.insert((diagnostic.code, diagnostic.span)) {
            return;
        }
        if diagnostic.severity == Severity::Error {
            self.errors += 1;
        }
        if self.list.len() < 4 * MAX_ERRORS
            && (diagnostic.severity == Severity::Warning || self.errors <= MAX_ERRORS)
        {
            self.list.push(diagnostic);
        }
    }

    /// Adds several diagnostics.
    pub fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        diagnostics.into_iter().for_each(|diagnostic| self.push(diagnostic));
    }

    /// Returns the number of errors so far.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Returns all diagnostics, in the order of the source.
    pub fn finish(mut self, sources: SourceMap, warnings_as_errors: bool) -> Diagnostics {
        if warnings_as_errors {
            for d in &mut self.list {
                d.severity = Severity::Error;
            }
        }
        self.list.sort_by_key(|d| (d.span, d.severity == Severity::Warning));
        Diagnostics { sources, list: self.list }
    }
}

/// If a place has more than this number of bytes before it on its line, the line is not shown.
const MAX_COLUMNS: usize = 4096;

/// The number of characters that are shown of a longer line.
const PIECE: usize = 80;

/// The errors and warnings of one compilation, with their sources.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    sources: SourceMap,
    list: Vec<Diagnostic>,
}

/// A place in a machine-readable form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// File name.
    pub file: String,
    /// The start.
    pub start: Position,
    /// The end, exclusive.
    pub end: Position,
    /// The note at that place.
    pub label: String,
}

/// A diagnostic in a machine-readable form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiagnosticRecord {
    /// Error or warning.
    pub severity: Severity,
    /// The kind of problem.
    pub code: String,
    /// The message.
    pub message: String,
    /// File name.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// Line of the end.
    pub end_line: u32,
    /// The column after the last character.
    pub end_column: u32,
    /// The source line.
    pub text: String,
    /// The hint.
    pub hint: String,
    /// Further places.
    pub related: Vec<Location>,
}

impl Diagnostics {
    /// Returns all diagnostics, in the order of the source.
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// Returns the sources.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Returns whether there are no diagnostics.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns whether there is an error among the diagnostics.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// Returns the diagnostics in a machine-readable form.
    pub fn records(&self) -> Vec<DiagnosticRecord> {
        self.list.iter().map(|d| self.record(d)).collect()
    }

    fn record(&self, d: &Diagnostic) -> DiagnosticRecord {
        let (start, end) = (
            self.sources.position(d.span.file, d.span.start),
            self.sources.position(d.span.file, d.span.end),
        );
        DiagnosticRecord {
            severity: d.severity,
            code: d.code.into(),
            message: d.message.clone(),
            file: self.sources.file(d.span.file).name.clone(),
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
            text: self.sources.line(d.span.file, d.span.start).into(),
            hint: d.hint.clone(),
            related: d
                .related
                .iter()
                .map(|(span, label)| Location {
                    file: self.sources.file(span.file).name.clone(),
                    start: self.sources.position(span.file, span.start),
                    end: self.sources.position(span.file, span.end),
                    label: label.clone(),
                })
                .collect(),
        }
    }

    /// Renders the diagnostics as text, each with its source line and the place underlined. `colour` is for
    /// terminals.
    pub fn render(&self, colour: bool) -> String {
        let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme).with_width(100).with_links(false);
        let mut out = String::new();
        for d in &self.list {
            if self.is_far_out(d) {
                out.push_str(&self.in_brief(d));
                continue;
            }
            let report = Shown { diagnostic: d, sources: &self.sources, source: self.named(d) };
            if handler.render_report(&mut out, &report).is_err() {
                out.push_str(&self.short(d));
            }
            out.push('\n');
        }
        out
    }

    /// Returns whether a place is so far to the right that its line should not be shown.
    fn is_far_out(&self, d: &Diagnostic) -> bool {
        let spans = d.related.iter().map(|(span, _)| *span).chain([d.span]);
        let mut ends = spans.flat_map(|span| [(span.file, span.start), (span.file, span.end)]);
        ends.any(|(file, end)| self.sources.until(file, end).len() > MAX_COLUMNS)
    }

    /// Renders a diagnostic with only a piece of its line.
    fn in_brief(&self, d: &Diagnostic) -> String {
        let line = self.sources.line(d.span.file, d.span.start);
        let before = self.sources.until(d.span.file, d.span.start);
        let from = before.char_indices().rev().nth(PIECE / 4).map_or(0, |(place, _)| place);
        let piece: String = line.get(from..).unwrap_or_default().chars().take(PIECE).collect();
        let dots = |cut: bool| if cut { "…" } else { "" };
        let (left, right) = (dots(from > 0), dots(from + piece.len() < line.len()));
        format!("{}: {}\n  {left}{piece}{right}\n  help: {}\n\n", d.code, self.short(d), d.hint)
    }

    fn named(&self, d: &Diagnostic) -> NamedSource<String> {
        let file = self.sources.file(d.span.file);
        NamedSource::new(&file.name, file.text.as_ref().clone())
    }

    fn short(&self, d: &Diagnostic) -> String {
        let at = self.sources.position(d.span.file, d.span.start);
        let kind = if d.severity == Severity::Error { "error" } else { "warning" };
        format!("{}:{}:{}: {kind}: {}", self.sources.file(d.span.file).name, at.line, at.column, d.message)
    }
}

/// Writes one line for each diagnostic: `file:line:column: error: message`.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.list.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{}", self.short(d))?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// A diagnostic in the form that the library miette needs.
struct Shown<'a> {
    diagnostic: &'a Diagnostic,
    sources: &'a SourceMap,
    source: NamedSource<String>,
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostic.fmt(f)
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.diagnostic.message)
    }
}

impl std::error::Error for Shown<'_> {}

impl miette::Diagnostic for Shown<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.diagnostic.code))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(if self.diagnostic.severity == Severity::Error {
            miette::Severity::Error
        } else {
            miette::Severity::Warning
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let mut text = self.diagnostic.hint.clone();
        // miette shows one source per report, so a place in another file is described in words.
        for (span, label) in
            self.diagnostic.related.iter().filter(|(span, _)| span.file != self.diagnostic.span.file)
        {
            let at = self.sources.position(span.file, span.start);
            text.push_str(&format!(
                "\n{}:{}:{}: {label}",
                self.sources.file(span.file).name,
                at.line,
                at.column
            ));
        }
        Some(Box::new(text))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let d = self.diagnostic;
        let length = |s: SourceSpan| (s.end - s.start) as usize;
        let first = LabeledSpan::new_primary_with_span(
            Some(d.label.clone()).filter(|l| !l.is_empty()),
            (d.span.start as usize, length(d.span)),
        );
        let others = d.related.iter().filter(|(span, _)| span.file == d.span.file);
        let others = others.map(move |(span, label)| {
            LabeledSpan::new(Some(label.clone()), span.start as usize, length(*span))
        });
        Some(Box::new(std::iter::once(first).chain(others)))
    }
}
