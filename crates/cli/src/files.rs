//! What stands in files: bytes, text and keys.

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use brickwork::circuit::Party;
use brickwork::random::Rng;
use brickwork::stock::StoreKey;
use brickwork::stop::look;
use brickwork::wire::tls::{Identity, PublicKey};
use brickwork_kernels::Erasing;
use zeroize::Zeroizing;

use crate::failure::Failure;

/// Largest program file.
pub const MAX_PROGRAM_BYTES: u64 = 4 << 30;

/// Largest file with a party's input.
pub const MAX_VALUE_BYTES: u64 = 1 << 30;

/// Largest key file.
pub const MAX_KEY_BYTES: u64 = 64 << 10;

/// Bytes that are read between two looks whether to stop.
const PIECE: u64 = 16 << 20;

/// Reads all of `source`, unless it is longer than `limit`: a device or a pipe may never end.
pub fn read_all(
    source: io::Result<impl Read>,
    limit: u64,
    name: &str,
) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let mut bytes = Zeroizing::new(Vec::new());
    let read = source.and_then(|source| {
        let mut source = source.take(limit + 1);
        // In pieces, so that somebody may stop it.
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

/// Says that both parties' values are asked of stdin.
pub fn one_from_stdin() -> Failure {
    Failure::usage("only one value can come from stdin", "give the other one in a file, as @FILE or csv:FILE")
}

/// Reads all that stands in a file with a value, or on stdin for the path `-`; stdin can be read once.
pub fn value_bytes(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if path != Path::new("-") {
        return read_all(File::open(path), MAX_VALUE_BYTES, &path.display().to_string());
    }
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(one_from_stdin());
    }
    read_all(Ok(io::stdin().lock()), MAX_VALUE_BYTES, "stdin")
}

/// Reads the text in a file; the hint is for one that is something else.
pub fn utf8<'a>(bytes: &'a [u8], name: &str, hint: &str) -> Result<&'a str, Failure> {
    std::str::from_utf8(bytes).map_err(|_| Failure::input(format!("{name} is not a text file"), hint))
}

/// Reads a text file.
pub fn text(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let bytes = read_all(File::open(path), MAX_VALUE_BYTES, &name)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Failure::input(format!("{name} is not a text file"), "is it the right file?"))?;
    Ok(text.to_owned())
}

/// Refuses the name that stands for stdin elsewhere: results on stdout are what commands report.
pub fn check_output(path: &Path) -> Result<(), Failure> {
    match path == Path::new("-") {
        true => Err(Failure::usage(
            "- names no file, and stdout is for what the command reports",
            "give the name of a file, such as ./- if it is to be called so",
        )),
        false => Ok(()),
    }
}

/// Returns whether two paths lead to one file, whatever they are.
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

/// Writes a file, whole or not at all: what has this name stays until all is written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    check_output(path)?;
    // A link stays one, and leads to the file.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = std::fs::metadata(&target).ok();
    let written = match &before {
        // A device or a pipe is nothing that could be put in another's place.
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
    // Errors without the name of the temporary file, of which the user knows nothing.
    let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")));
    let mut file = file.map_err(|e| io::Error::from(e.kind()))?;
    file.as_file_mut().write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.persist(target).map(drop).map_err(|e| e.error)
}

/// How to come by the key of a store.
pub const STORE_KEY_HINT: &str = "give the key that the store was made with; for a new store `brickwork \
                                  keygen --store-key -o FILE` makes one";

/// Reads the key of a store, which nobody else may read.
pub fn store_key(path: &Path) -> Result<StoreKey, Failure> {
    let _erasing = Erasing::begin();
    let name = path.display().to_string();
    check_private(path).map_err(|e| e.within(&name))?;
    let text = read_all(File::open(path), MAX_KEY_BYTES, &name)?;
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

/// Reads a private key that nobody else may read.
pub fn identity(path: &Path) -> Result<Identity, Failure> {
    Ok(identity_and_pem(path)?.0)
}

/// Reads an [`identity`], and the text that it is made of.
pub fn identity_and_pem(path: &Path) -> Result<(Identity, Zeroizing<String>), Failure> {
    let _erasing = Erasing::begin();
    let name = path.display().to_string();
    check_private(path).map_err(|e| e.within(&name))?;
    let pem = read_all(File::open(path), MAX_KEY_BYTES, &name)?;
    let pem = std::str::from_utf8(&pem).unwrap_or("");
    let identity = Identity::from_pem(pem);
    let identity = identity
        .map_err(|e| Failure::input(format!("{name}: {e}"), "`brickwork keygen -o KEYFILE` makes a key"))?;
    Ok((identity, Zeroizing::new(pem.to_owned())))
}

/// Returns whether other users can read or change an open file.
pub fn is_open_to_others(file: &File) -> io::Result<bool> {
    #[cfg(unix)]
    return Ok(std::os::unix::fs::PermissionsExt::mode(&file.metadata()?.permissions()) & 0o077 != 0);
    #[cfg(not(unix))]
    file.metadata().map(|_| false)
}

/// Refuses a file that other users can read or change.
#[cfg(unix)]
pub fn check_private(path: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt;
    // A file that is not there is reported by whoever opens it.
    match std::fs::metadata(path) {
        Ok(data) if data.permissions().mode() & 0o077 != 0 => Err(Failure::input(
            "other users can read or change this file, which is a secret",
            "`chmod 600` it, or make a new one if it may be known",
        )),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
pub fn check_private(_: &Path) -> Result<(), Failure> {
    Ok(())
}

/// Reads a public key, given inline or as `@FILE`.
pub fn public_key(text: &str) -> Result<PublicKey, Failure> {
    let hint = "ask the other party for the public key that its own `brickwork keygen` printed";
    let Some(path) = text.strip_prefix('@') else {
        return text.parse().map_err(|e: brickwork::Error| {
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
    key.trim().parse().map_err(|e: brickwork::Error| Failure::input(format!("--peer: {path}: {e}"), hint))
}

/// A folder for programs that are made on the way, gone when this is dropped.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Result<Self, Failure> {
        let mut name = [0; 8];
        Rng::new("brickwork temporary folder")?.fill(&mut name);
        let path = std::env::temp_dir().join(format!("brickwork-{:016x}", u64::from_le_bytes(name)));
        let mut builder = std::fs::DirBuilder::new();
        // Nobody else may put another program there.
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
        // What stays is a program, which is no secret.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
