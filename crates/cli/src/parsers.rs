//! Doors to what reads the files of users, for the fuzz targets.

use std::path::Path;

use brickwork::circuit::Type;
use serde_json::Value;

use crate::preprocess;
use crate::requested::Requested;
use crate::serve::config;
use crate::table;

/// Returns a table with at most so many rows of this type: a value, and the number of rows. `None` if it is
/// refused.
pub fn table(text: &str, row: &Type, rows: u32) -> Option<(Value, u32)> {
    table::up_to(text, row, rows).ok()
}

/// Returns what a list asks for: files, names of components, counts. `None` if it is refused.
pub fn list(text: &str) -> Option<Vec<(String, Option<String>, u32)>> {
    preprocess::list(text).map(|list| list.into_iter().map(parts).collect())
}

/// Returns the same of an argument.
pub fn argument(text: &str) -> Option<(String, Option<String>, u32)> {
    Requested::parse(text).ok().map(parts)
}

/// Reads the configuration of a service and all that it names. Returns what is wrong with it, if anything is.
pub fn service(path: &Path) -> Option<String> {
    config::read(path).err().map(|failure| failure.human())
}

fn parts(requested: Requested) -> (String, Option<String>, u32) {
    (requested.file.to_string_lossy().into_owned(), requested.name, requested.count)
}
