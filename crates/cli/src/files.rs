//! Reading and writing files: lists and configurations, results, and keys.

use std::fs::File;
use std::path::Path;

use brickwork::private;
use brickwork::wire::tls::PublicKey;
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

/// Opens a file with secrets to append to it; a new one can be read only by its owner.
pub fn append_private(path: &Path) -> Result<File, Failure> {
    let file = private::options().append(true).create(true).open(path);
    let file = file.map_err(|e| Failure::cannot_write(path, &e))?;
    check_private(&file, path)?;
    Ok(file)
}

/// Reads a public key, given inline or as `@FILE`.
pub fn public_key(text: &str) -> Result<PublicKey, Failure> {
    let hint = "ask the other party for the public key that its own `brickwork keygen` printed";
    let Some(path) = text.strip_prefix('@') else {
        return text.parse().map_err(|e: brickwork::ProtocolError| {
            let failure = Failure::usage(format!("--peer: {e}"), hint);
            match Path::new(text).is_file() {
                true => {
                    failure.advise("this is the name of a file: write an @ before it, as in --peer @FILE")
                }
                false => failure,
            }
        });
    };
    let bytes = read_all(File::open(path), MAX_KEY_BYTES, path).map_err(|e| e.within("--peer"))?;
    let key = utf8(&bytes, path, hint).map_err(|e| e.within("--peer"))?;
    if key.contains("PRIVATE KEY") {
        return Err(Failure::input(
            format!("--peer: {path} holds a private key, and the public one is needed"),
            "`brickwork keygen` printed it for its owner; a private key stays with its owner: if this one \
             is not yours, tell its owner to make another one",
        ));
    }
    key.trim()
        .parse()
        .map_err(|e: brickwork::ProtocolError| Failure::input(format!("--peer: {path}: {e}"), hint))
}
