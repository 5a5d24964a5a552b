//! Source files, positions in them, and access to included files.

use std::sync::Arc;

use serde::Serialize;

/// A part of a source file, as a range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceSpan {
    /// The number of the file in its [`SourceMap`].
    pub file: u32,
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl SourceSpan {
    /// Returns the span from the start of this one to the end of `other`, which must be in the same file.
    #[must_use]
    pub fn to(self, other: SourceSpan) -> SourceSpan {
        if self.file == other.file { SourceSpan { end: self.end.max(other.end), ..self } } else { self }
    }
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The name under which the file is included.
    pub name: String,
    /// The text.
    pub text: Arc<String>,
}

/// A line and a column, both counted from 1. Columns are counted in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// All files of one compilation.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// Adds a file and returns its number.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> u32 {
        self.files.push(SourceFile { name: name.into(), text: Arc::new(text.into()) });
        self.files.len() as u32 - 1
    }

    /// Returns a file.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn file(&self, file: u32) -> &SourceFile {
        &self.files[file as usize]
    }

    /// Returns the text of a span.
    pub fn text(&self, span: SourceSpan) -> &str {
        self.file(span.file).text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// Returns the text of a span with single blanks, for a hint. A long text is cut off.
    pub fn on_one_line(&self, span: SourceSpan) -> String {
        let text = self.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
        match text.char_indices().nth(60) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    /// Returns the line and column of a byte offset.
    pub fn position(&self, file: u32, offset: u32) -> Position {
        let text = &self.file(file).text;
        let before = &text.as_bytes()[..(offset as usize).min(text.len())];
        let line_start = before.iter().rposition(|&b| b == b'\n').map_or(0, |p| p + 1);
        let line = before.iter().filter(|&&b| b == b'\n').count() as u32 + 1;
        let column = String::from_utf8_lossy(&before[line_start..]).chars().count() as u32 + 1;
        Position { line, column }
    }

    /// Returns the text on the line before a byte offset.
    pub fn until(&self, file: u32, offset: u32) -> &str {
        let text = &self.file(file).text;
        let mut offset = (offset as usize).min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        &text[start..offset]
    }

    /// Returns the whole line with a byte offset.
    pub fn line(&self, file: u32, offset: u32) -> &str {
        let text = &self.file(file).text;
        let offset = (offset as usize).min(text.len());
        let start = text.as_bytes()[..offset].iter().rposition(|&b| b == b'\n').map_or(0, |p| p + 1);
        let end =
            text.as_bytes()[offset..].iter().position(|&b| b == b'\n').map_or(text.len(), |p| offset + p);
        text[start..end].trim_end_matches('\r')
    }
}

/// Gives access to the text of included files. Names are as written in the `#include`. They are relative to
/// the folder of the root source, even in nested includes. If the resolver does not know a file, the compiler
/// looks for it in the standard library.
pub trait Resolver: Sync {
    /// Returns the bytes of the file, or `None` if there is no such file.
    ///
    /// # Errors
    /// A message for the user, if the file exists but cannot be read.
    fn resolve(&self, name: &str) -> Result<Option<Vec<u8>>, String>;
}

/// A resolver that knows no files.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Resolver for NoFiles {
    fn resolve(&self, _: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }
}

/// A resolver for the files of one folder.
#[derive(Clone, Debug)]
pub struct Directory(pub std::path::PathBuf);

/// The largest source file in bytes. Spans have 32 bits.
pub(crate) const MAX_SOURCE: u64 = 64 << 20;

impl Resolver for Directory {
    fn resolve(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        use std::io::Read;
        let file = match std::fs::File::open(self.0.join(name)) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e.to_string()),
        };
        let mut bytes = Vec::new();
        file.take(MAX_SOURCE + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
        Ok(Some(bytes))
    }
}

impl Resolver for std::collections::HashMap<String, String> {
    fn resolve(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.get(name).map(|text| text.clone().into_bytes()))
    }
}
