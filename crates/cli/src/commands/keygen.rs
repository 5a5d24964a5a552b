//! `brickwork keygen`: a key pair for a party, or the key of a store.

use std::path::PathBuf;

use brickwork::keygen;

use crate::render::failure::Failure;
use crate::render::report::Report;
use crate::render::terminal::say;

/// Make a key pair: write the private key, print the public one for the peer
#[derive(clap::Args)]
pub struct KeygenFlags {
    /// The file to write the private key to; an existing file is never overwritten.
    #[arg(short, long, value_name = "KEYFILE")]
    output: PathBuf,
    /// Make the key of a store instead, which has no public part
    #[arg(long)]
    store_key: bool,
}

pub fn run(arguments: &KeygenFlags, quiet: bool) -> Result<Report, Failure> {
    let path = &arguments.output;
    if arguments.store_key {
        return Report::of(&keygen::store_key(path)?);
    }
    let made = keygen::identity(path)?;
    if !quiet {
        let words = format!(
            "The private key is in {}; keep it secret. The public key, for the peer:",
            path.display()
        );
        say(&format!("{words}\n"));
    }
    Report::of(&made)
}
