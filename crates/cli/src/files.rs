//! Reading and writing files: bytes, text and keys.

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use brickwork::circuit::Party;
use brickwork::private;
use brickwork::random::Rng;
use brickwork::stock::StoreKey;
use brickwork::stop::look;
use brickwork::wire::tls::{Identity, PublicKey};
use brickwork_kernels::Erasing;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use crate::failure::Failure;
use crate::parse_errors;

/// The largest program file.
pub const MAX_PROGRAM_BYTES: u64 = 4 << 30;

/// The largest file with a party's input.
pub const MAX_VALUE_BYTES: u64 = 1 << 30;

/// The largest key file.
pub const MAX_KEY_BYTES: u64 = 64 << 10;

/// The bytes that are read before the next check whether to stop.
const PIECE: u64 = 16 << 20;

/// Reads all of `source`, up to `limit` bytes. The limit is needed because a device or a pipe may never end.
pub fn read_all(
    source: io::Result<impl Read>,
    limit: u64,
    name: &str,
) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let mut bytes = Zeroizing::new(Vec::new());
    let read = source.and_then(|source| {
        let mut source = source.take(limit + 1);
        // It reads piece by piece, so that another thread can stop it.
        while source.by_ref().take(PIECE).read_to_end(&mut bytes)? > 0 {
            look();
        }
        Ok(())
    });
    read.map_err(|e| Failure::cannot_read(name, &e))?;
    if bytes.len() as u64 > limit {
        return Err(Failure::input(format!("{name} is longer than {limit} bytes"), "is it the right file?"));
    }
    Ok(bytes)
}

/// Makes the error for two values from stdin, which can hold only one.
pub fn one_from_stdin() -> Failure {
    Failure::usage("only one value can come from stdin", "give the other one in a file, as @FILE or csv:FILE")
}

/// Reads a file with a value, or stdin for the path `-`; `private` refuses files that other users can access.
/// Stdin can be read once.
pub fn value_bytes(path: &Path, private: bool) -> Result<Zeroizing<Vec<u8>>, Failure> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if path != Path::new("-") {
        return bytes(path, private);
    }
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(one_from_stdin());
    }
    read_all(Ok(io::stdin().lock()), MAX_VALUE_BYTES, "stdin")
}

fn bytes(path: &Path, private: bool) -> Result<Zeroizing<Vec<u8>>, Failure> {
    match private {
        true => private_bytes(path, MAX_VALUE_BYTES),
        false => read_all(File::open(path), MAX_VALUE_BYTES, &path.display().to_string()),
    }
}

/// Reads the text in a file; `hint` is for a file that is not text.
pub fn utf8<'a>(bytes: &'a [u8], name: &str, hint: &str) -> Result<&'a str, Failure> {
    std::str::from_utf8(bytes).map_err(|_| Failure::input(format!("{name} is not a text file"), hint))
}

/// Reads a text file; `private` refuses files that other users can access.
pub fn text(path: &Path, private: bool) -> Result<Zeroizing<String>, Failure> {
    let bytes = bytes(path, private)?;
    let text = utf8(&bytes, &path.display().to_string(), "is it the right file?")?;
    Ok(Zeroizing::new(text.to_owned()))
}

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

/// The hint about the key of a store.
pub const STORE_KEY_HINT: &str = "give the key that the store was made with; for a new store `brickwork \
                                  keygen --store-key -o FILE` makes one";

/// Reads the key of a store, which other users must not be able to read.
pub fn store_key(path: &Path) -> Result<StoreKey, Failure> {
    let _erasing = Erasing::begin();
    let name = path.display().to_string();
    let text = private_bytes(path, MAX_KEY_BYTES)?;
    StoreKey::from_hex(std::str::from_utf8(&text).unwrap_or(""))
        .map_err(|e| Failure::from(e).within(&name).advise(STORE_KEY_HINT))
}

/// Returns the role's name.
pub fn role(party: Party) -> &'static str {
    match party {
        Party::Garbler => "garbler",
        Party::Evaluator => "evaluator",
    }
}

/// Reads a private key, which other users must not be able to read.
pub fn identity(path: &Path) -> Result<Identity, Failure> {
    Ok(identity_and_pem(path)?.0)
}

/// Returns an [`identity`] together with its text.
pub fn identity_and_pem(path: &Path) -> Result<(Identity, Zeroizing<String>), Failure> {
    let _erasing = Erasing::begin();
    let name = path.display().to_string();
    let pem = private_bytes(path, MAX_KEY_BYTES)?;
    let pem = std::str::from_utf8(&pem).unwrap_or("");
    let identity = Identity::from_pem(pem);
    let identity = identity
        .map_err(|e| Failure::input(format!("{name}: {e}"), "`brickwork keygen -o KEYFILE` makes a key"))?;
    Ok((identity, Zeroizing::new(pem.to_owned())))
}

/// Reads a file with a secret, which other users must not be able to [read or change](check_private).
pub fn private_bytes(path: &Path, limit: u64) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|e| Failure::cannot_read(&name, &e))?;
    check_private(&file, path)?;
    read_all(Ok(file), limit, &name)
}

/// Opens a file with secrets to append to it. If it is new, only its owner can read it.
pub fn append_private(path: &Path) -> Result<File, Failure> {
    let file = private::options().append(true).create(true).open(path);
    let file = file.map_err(|e| Failure::cannot_write(path, &e))?;
    check_private(&file, path)?;
    Ok(file)
}

/// Refuses a file with a secret that other users can read or change. It checks the open file, because another
/// user could have replaced the file of this name.
pub fn check_private(file: &File, path: &Path) -> Result<(), Failure> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let name = path.display();
        let data = file.metadata().map_err(|e| Failure::cannot_read(&name.to_string(), &e))?;
        let me = rustix::process::geteuid().as_raw();
        exposed(data.mode(), data.uid(), me)
            .map_err(|(what, hint)| Failure::input(format!("{name}: {what}"), hint))
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        Ok(())
    }
}

/// Returns an error if users besides this one and root can read or change a file.
#[cfg(unix)]
fn exposed(mode: u32, owner: u32, me: u32) -> Result<(), (&'static str, &'static str)> {
    if mode & 0o077 != 0 {
        return Err((
            "other users can read or change this file, which is a secret",
            "`chmod 600` it, or make a new one if it may be known",
        ));
    }
    match owner == me || owner == 0 {
        true => Ok(()),
        false => Err((
            "this file, which is a secret, belongs to another user",
            "`chown` it to the user that runs this command, or make a new one if it may be known",
        )),
    }
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

/// A temporary folder for programs, which is deleted when this is dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Result<Self, Failure> {
        let mut name = [0; 8];
        Rng::new("brickwork temporary folder")?.fill(&mut name);
        let path = std::env::temp_dir().join(format!("brickwork-{:016x}", u64::from_le_bytes(name)));
        let mut builder = std::fs::DirBuilder::new();
        // Other users cannot write into this folder.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(|e| Failure::cannot_write(&path, &e))?;
        Ok(Folder(path))
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it cannot be deleted, only programs remain, which are not secret.
        let _ = std::fs::remove_dir_all(&self.0);
    }
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
