//! `brickwork maker`: a worker of `brickwork preprocess --workers` on another machine of the same party.

use std::path::PathBuf;

use brickwork::maker::MakerRequest;
use clap::Args;

use crate::commands::files;
use crate::commands::party::listens;
use crate::flags::arguments::ResourceFlags;
use crate::render::failure::Failure;
use crate::render::report::Report;
use crate::render::terminal::say;

/// Make a worker's share of `brickwork preprocess --workers` on another machine of the same party, which has
/// the store; ends after one such command
#[derive(Args)]
pub struct MakerFlags {
    /// Wait for this party's `brickwork preprocess --maker` at this address of this machine; port 0 lets the
    /// system choose
    #[arg(long, value_name = "HOST:PORT")]
    listen: String,
    /// This maker's own private key, made by `brickwork keygen`; not the party's
    #[arg(long, value_name = "KEYFILE")]
    identity: PathBuf,
    /// The public key of the party that it works for, or @file: connections with other keys are refused
    #[arg(long, value_name = "PUBKEY")]
    party: String,
    /// If the party listens for its peer: also listen for the peer's worker at this address, which the peer
    /// gives as --worker-at
    #[arg(long, value_name = "HOST:PORT")]
    peer_listen: Option<String>,
    #[command(flatten)]
    resources: ResourceFlags,
}

pub fn run(arguments: &MakerFlags, quiet: bool) -> Result<Report, Failure> {
    let request = MakerRequest {
        listen: arguments.listen.clone(),
        identity: arguments.identity.clone(),
        party: files::public_key(&arguments.party)?,
        peer_listen: arguments.peer_listen.clone(),
        resources: arguments.resources.of_request(),
    };
    let mut called = || {
        if !quiet {
            say("the party has connected\n");
        }
    };
    Report::of(&request.run(&mut listens(quiet), &mut called)?)
}
