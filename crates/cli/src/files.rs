//! Reading and writing files: lists and configurations, results, and keys.

use std::fs::{File, Permissions};
use std::io::{self, Write};
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

/// Refuses `-`, which stands for stdin in inputs, as an output file: stdout is for the results of the
/// command.
pub fn check_output(path: &Path) -> Result<(), Failure> {
    match path == Path::new("-") {
        true => Err(Failure::usage(
            "- names no file, and stdout is for what the command reports",
            "give the name of a file, such as ./- if it is to be called so",
        )),
        false => Ok(()),
    }
}

/// Returns whether two paths lead to the same file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    let place = |path: &Path| {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path).map(|data| (data.dev(), data.ino()))
    };
    #[cfg(not(unix))]
    let place = std::fs::canonicalize::<&Path>;
    one == other || matches!((place(one), place(other)), (Ok(one), Ok(other)) if one == other)
}

/// Writes a file completely or not at all. An existing file stays until all bytes are written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    check_output(path)?;
    // A symbolic link stays, and its target is replaced.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = std::fs::metadata(&target).ok();
    let written = match &before {
        // A device or a pipe cannot be replaced by a file.
        Some(data) if !data.is_file() => std::fs::write(path, bytes),
        _ => replace(&target, bytes, before.map(|data| data.permissions())),
    };
    written.map_err(|e| Failure::cannot_write(path, &e))
}

fn replace(target: &Path, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // Errors must not show the name of the temporary file, which the user does not know.
    let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")));
    let mut file = file.map_err(|e| io::Error::from(e.kind()))?;
    file.as_file_mut().write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.persist(target).map(drop).map_err(|e| e.error)
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
