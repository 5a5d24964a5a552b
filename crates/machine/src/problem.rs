//! An error in a source.

use std::fmt;

/// An error in a source: its line, its description, and a correction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// A description of the error.
    pub message: String,
    /// The suggested correction.
    pub hint: String,
}

impl Problem {
    pub(crate) fn new(line: usize, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Problem { line, message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}; {}", self.line, self.message, self.hint)
    }
}

impl std::error::Error for Problem {}
