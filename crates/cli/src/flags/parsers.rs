//! The parsers of users' files and of peers' messages, for the fuzz targets.

use std::path::Path;

pub use brickwork::engine::meeting::shown as sheet;

pub use brickwork::maker::call_again as call;
use brickwork::preprocess::ComponentCount;

use crate::serve::config;
pub use crate::serve::lines::{
    heard_again as service_hears, said_again as service_says, sheet_again as service_sheet,
};

/// Reads a list of requests: files, names of components, counts. Returns `None` if the list is refused.
pub fn list(text: &str) -> Option<Vec<(String, Option<String>, u32)>> {
    ComponentCount::list(text).map(|list| list.into_iter().map(parts).collect())
}

/// Reads a request in the form of an argument.
pub fn argument(text: &str) -> Option<(String, Option<String>, u32)> {
    text.parse::<ComponentCount>().ok().map(parts)
}

/// Reads the configuration of a service, and all files that it names. Returns the error, if there is one.
pub fn service(path: &Path) -> Option<String> {
    config::read(path).err().map(|failure| failure.human())
}

fn parts(requested: ComponentCount) -> (String, Option<String>, u32) {
    (requested.file.to_string_lossy().into_owned(), requested.name, requested.count)
}
