//! `brickwork keygen`: a key pair for a party, or the key of a store.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use brickwork::stock::StoreKey;
use brickwork::wire::tls::Identity;
use brickwork_kernels::Erasing;
use serde_json::json;

use crate::failure::Failure;
use crate::files;
use crate::report::Report;

/// Make a key pair: write the private key, print the public one for the peer
#[derive(clap::Args)]
pub struct Arguments {
    /// The file to write the private key to; an existing file is never overwritten.
    #[arg(short, long, value_name = "KEYFILE")]
    output: PathBuf,
    /// Make the key of a store instead, which has no public part
    #[arg(long)]
    store_key: bool,
}

/// Makes a key pair. Only the public key goes to stdout, so that a shell can use `PUBLIC=$(brickwork keygen
/// -o KEYFILE)`.
pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let path = &arguments.output;
    if arguments.store_key {
        return store_key(path);
    }
    let identity = make(path)?;
    let public = identity.public_key();
    if !quiet {
        let words = format!(
            "The private key is in {}; keep it secret. The public one, for the peer:",
            path.display()
        );
        // If stderr is closed, this message is lost, and the key is still made.
        let _ = writeln!(std::io::stderr(), "{words}");
    }
    Ok(Report::new(
        json!({ "identity": path.display().to_string(), "public_key": public }),
        format!("{public}\n"),
    ))
}

/// Makes a key pair and writes the private key to a new file that only its owner can read.
pub fn make(path: &Path) -> Result<Identity, Failure> {
    let (identity, pem) = Identity::generate()?;
    write(path, &pem)?;
    Ok(identity)
}

/// Makes the key of a store.
fn store_key(path: &Path) -> Result<Report, Failure> {
    let _erasing = Erasing::begin();
    let key = StoreKey::generate()?;
    write(path, &format!("{}\n", *key))?;
    let name = path.display().to_string();
    let human = format!(
        "The key is in {name}; give it as --store-key {name}. Without it nobody can read the store, nor can \
         you.\n"
    );
    Ok(Report::new(json!({ "store_key": name }), human))
}

/// Writes a secret to a new file that only its owner can read.
pub fn write(path: &Path, secret: &str) -> Result<(), Failure> {
    files::check_output(path)?;
    let mut file = brickwork::private::options().create_new(true).open(path).map_err(|e| {
        let failure = Failure::cannot_write(path, &e);
        match e.kind() {
            ErrorKind::AlreadyExists => failure.advise("choose another name; a secret is never overwritten"),
            _ => failure,
        }
    })?;
    if let Err(e) = file.write_all(secret.as_bytes()).and_then(|()| file.sync_all()) {
        // A part of a secret is useless, so a failure to remove it needs no message.
        let _ = fs::remove_file(path);
        return Err(Failure::cannot_write(path, &e));
    }
    Ok(())
}
