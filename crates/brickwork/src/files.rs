//! Reading and writing files: values, results, and keys that other users must not know.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use brickwork_base::private;
use brickwork_base::stop::look;
use brickwork_kernels::Erasing;
use brickwork_store::StoreKey;
use brickwork_wire::tls::{Identity, PublicKey};
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use crate::failure::Error;
use crate::parse_errors;

/// Largest file with a party's input.
pub const MAX_VALUE_BYTES: u64 = 1 << 30;

/// Largest key file.
pub const MAX_KEY_BYTES: u64 = 64 << 10;

/// The number of bytes that are read before the next check for a request to stop.
const PIECE: u64 = 16 << 20;

/// Reads all of `source`, unless it is longer than `limit`, because a device or a pipe may never end.
pub fn read_all(source: io::Result<impl Read>, limit: u64, name: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
    let mut bytes = Zeroizing::new(Vec::new());
    let read = source.and_then(|source| {
        let mut source = source.take(limit + 1);
        // The file is read in pieces, so that another thread can stop the reading.
        while source.by_ref().take(PIECE).read_to_end(&mut bytes)? > 0 {
            look();
        }
        Ok(())
    });
    read.map_err(|e| Error::cannot_read(name, &e))?;
    if bytes.len() as u64 > limit {
        return Err(Error::input(
            format!("{name} is longer than {limit} bytes"),
            "check that this is the right file",
        ));
    }
    Ok(bytes)
}

/// Makes an error: stdin can hold the value of only one party.
pub fn one_from_stdin() -> Error {
    Error::usage(
        "only one value can be read from stdin",
        "give the other value in a file, as @FILE or csv:FILE",
    )
}

/// Reads a file with a value, or stdin for the path `-`; `private` refuses files that other users can access.
/// Stdin can be read once.
pub fn value_bytes(path: &Path, private: bool) -> Result<Zeroizing<Vec<u8>>, Error> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if path != Path::new("-") {
        return bytes(path, private);
    }
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(one_from_stdin());
    }
    read_all(Ok(io::stdin().lock()), MAX_VALUE_BYTES, "stdin")
}

fn bytes(path: &Path, private: bool) -> Result<Zeroizing<Vec<u8>>, Error> {
    match private {
        true => private_bytes(path, MAX_VALUE_BYTES),
        false => read_all(File::open(path), MAX_VALUE_BYTES, &path.display().to_string()),
    }
}

/// Reads the text in a file; `hint` is for a file that is not text.
pub fn utf8<'a>(bytes: &'a [u8], name: &str, hint: &str) -> Result<&'a str, Error> {
    std::str::from_utf8(bytes)
        .map_err(|_| Error::input(format!("{name} is not a text file"), hint.to_owned()))
}

/// Reads a text file; `private` refuses files that other users can access.
pub fn text(path: &Path, private: bool) -> Result<Zeroizing<String>, Error> {
    let bytes = bytes(path, private)?;
    let text = utf8(&bytes, &path.display().to_string(), "check that this is the right file")?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// Refuses `-`, which stands for stdin in inputs, as an output file: stdout is for the results of the
/// command.
pub fn check_output(path: &Path) -> Result<(), Error> {
    match path == Path::new("-") {
        true => Err(Error::usage(
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
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    check_output(path)?;
    // A symbolic link stays, and its target is replaced.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = std::fs::metadata(&target).ok();
    let written = match &before {
        // A device or a pipe cannot be replaced by a file.
        Some(data) if !data.is_file() => std::fs::write(path, bytes),
        _ => replace(&target, bytes, before.map(|data| data.permissions())),
    };
    written.map_err(|e| Error::cannot_write(path, &e))
}

fn replace(target: &Path, bytes: &[u8], permissions: Option<std::fs::Permissions>) -> io::Result<()> {
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

/// Writes a secret to a new file that only its owner can read.
pub fn write_secret(path: &Path, secret: &str) -> Result<(), Error> {
    check_output(path)?;
    let mut file = private::options().create_new(true).open(path).map_err(|e| {
        let error = Error::cannot_write(path, &e);
        match e.kind() {
            io::ErrorKind::AlreadyExists => {
                error.advise("choose another name; a secret is never overwritten")
            }
            _ => error,
        }
    })?;
    if let Err(e) = file.write_all(secret.as_bytes()).and_then(|()| file.sync_all()) {
        // A part of a secret is useless, so a failure to remove it needs no message.
        let _ = std::fs::remove_file(path);
        return Err(Error::cannot_write(path, &e));
    }
    Ok(())
}

/// Reads a TOML file; `private` refuses files that other users can access. The hint describes the contents of
/// such a file.
///
/// # Errors
/// The place and the kind of the mistake. This text contains no part of the file, which may hold a secret.
pub fn toml<T: DeserializeOwned>(path: &Path, private: bool, hint: &str) -> Result<T, Error> {
    let text = text(path, private)?;
    toml::from_str(&text).map_err(|e| {
        Error::input(format!("{}: {}", path.display(), parse_errors::of_toml(&text, &e)), hint.to_owned())
    })
}

/// The hint how to get the key of a store.
pub const STORE_KEY_HINT: &str = "give the key of this store; for a new store, `brickwork keygen \
                                  --store-key -o FILE` makes a key";

/// Reads the key of a store, which other users must not be able to read.
pub fn store_key(path: &Path) -> Result<StoreKey, Error> {
    let _erasing = Erasing::begin();
    let name = path.display().to_string();
    let text = private_bytes(path, MAX_KEY_BYTES)?;
    StoreKey::from_hex(std::str::from_utf8(&text).unwrap_or(""))
        .map_err(|e| Error::from(e).within(&name).advise(STORE_KEY_HINT))
}

/// Reads a private key, which other users must not be able to read.
pub fn identity(path: &Path) -> Result<Identity, Error> {
    Ok(identity_and_pem(path)?.0)
}

/// Reads an [`identity`], and its text.
pub fn identity_and_pem(path: &Path) -> Result<(Identity, Zeroizing<String>), Error> {
    let _erasing = Erasing::begin();
    let name = path.display().to_string();
    let pem = private_bytes(path, MAX_KEY_BYTES)?;
    let pem = std::str::from_utf8(&pem).unwrap_or("");
    let identity = Identity::from_pem(pem);
    let identity = identity
        .map_err(|e| Error::input(format!("{name}: {e}"), "`brickwork keygen -o KEYFILE` makes a key"))?;
    Ok((identity, Zeroizing::new(pem.to_owned())))
}

/// Reads a file with a secret, which other users must not be able to [read or change](check_private).
pub fn private_bytes(path: &Path, limit: u64) -> Result<Zeroizing<Vec<u8>>, Error> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|e| Error::cannot_read(&name, &e))?;
    check_private(&file, path)?;
    read_all(Ok(file), limit, &name)
}

/// Refuses an open file with a secret that other users can read or change. It checks the open file, because
/// another user could replace the file with this name.
pub fn check_private(file: &File, path: &Path) -> Result<(), Error> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let name = path.display();
        let data = file.metadata().map_err(|e| Error::cannot_read(&name.to_string(), &e))?;
        let me = rustix::process::geteuid().as_raw();
        exposed(data.mode(), data.uid(), me)
            .map_err(|(what, hint)| Error::input(format!("{name}: {what}"), hint))
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        Ok(())
    }
}

/// Returns the users besides this one and root who can read or change a file, if there are any.
#[cfg(unix)]
fn exposed(mode: u32, owner: u32, me: u32) -> Result<(), (&'static str, &'static str)> {
    if mode & 0o077 != 0 {
        return Err((
            "other users can read or change this file, which contains a secret",
            "run `chmod 600` on this file; if somebody may have read the secret, make a new secret",
        ));
    }
    match owner == me || owner == 0 {
        true => Ok(()),
        false => Err((
            "this file, which contains a secret, belongs to another user",
            "`chown` this file to the user that runs this command; if somebody may have read the secret, \
             make a new secret",
        )),
    }
}

/// Opens a file with secrets to append to it. If it is new, only its owner can read it.
pub fn append_private(path: &Path) -> Result<File, Error> {
    let file = private::options().append(true).create(true).open(path);
    let file = file.map_err(|e| Error::cannot_write(path, &e))?;
    check_private(&file, path)?;
    Ok(file)
}

/// Reads a public key, given inline or as `@FILE`.
pub fn public_key(text: &str) -> Result<PublicKey, Error> {
    let hint = "ask the other party for the public key that its own `brickwork keygen` printed";
    let Some(path) = text.strip_prefix('@') else {
        return text.parse().map_err(|e: brickwork_base::Error| {
            let error = Error::usage(format!("--peer: {e}"), hint);
            match Path::new(text).is_file() {
                true => {
                    error.advise("the value is the name of a file: write an @ before it, as in --peer @FILE")
                }
                false => error,
            }
        });
    };
    let bytes = read_all(File::open(path), MAX_KEY_BYTES, path).map_err(|e| e.within("--peer"))?;
    let key = utf8(&bytes, path, hint).map_err(|e| e.within("--peer"))?;
    if key.contains("PRIVATE KEY") {
        return Err(Error::input(
            format!("--peer: {path} contains a private key; give the peer's public key"),
            "`brickwork keygen` printed the public key. A private key must stay with its owner: if this key \
             is not yours, tell its owner to make a new one",
        ));
    }
    key.trim().parse().map_err(|e: brickwork_base::Error| Error::input(format!("--peer: {path}: {e}"), hint))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Only this user and root may be able to read or change a secret.
    #[test]
    fn a_secret_has_one_owner() {
        let (me, other) = (1000, 1001);
        for mode in [0o100_600, 0o100_400, 0o700] {
            assert!(
                exposed(mode, me, me).is_ok() && exposed(mode, 0, me).is_ok() && exposed(mode, 0, 0).is_ok()
            );
            assert!(exposed(mode, other, me).is_err() && exposed(mode, me, 0).is_err());
        }
        for bit in [0o1, 0o2, 0o4, 0o10, 0o20, 0o40] {
            assert!(exposed(0o600 | bit, me, me).is_err(), "{bit:o}");
        }
    }
}
