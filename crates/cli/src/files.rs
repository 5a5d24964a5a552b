//! Reading and writing files: lists and configurations, results, and keys.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::parse_errors;

pub use brickwork::engine::role;
pub use brickwork::files::*;

/// Reads a TOML file; `private` refuses files that other users can access. The hint describes the contents of
/// such a file.
///
/// # Errors
/// The place and the kind of the mistake. It contains nothing of the text, which may hold a secret.
pub fn toml<T: DeserializeOwned>(path: &Path, private: bool, hint: &str) -> Result<T, Failure> {
    let text = text(path, private)?;
    toml::from_str(&text).map_err(|e| {
        Failure::input(format!("{}: {}", path.display(), parse_errors::of_toml(&text, &e)), hint)
    })
}
