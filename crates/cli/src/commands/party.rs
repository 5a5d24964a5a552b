//! `brickwork garbler` and `brickwork evaluator`: one party of a computation.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use brickwork::circuit::Party;
use brickwork::engine::request::RunRequest;
use brickwork::engine::role;
use brickwork::engine::task::{Host, PartyTask};
use brickwork::reading;
use brickwork::wire::tls::{Identity, PublicKey};
use brickwork::{Error, Program};
use brickwork_kernels::SecretBlocks;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::commands::{files, programs};
use crate::flags::arguments::CutArguments;
use crate::flags::arguments::{
    Address, KeepFlag, LineArguments, ParameterArguments, ProgramArguments, ProtocolFlags, ReadingFlags,
    ResourceFlags, request,
};
use crate::flags::page::RunPageArguments;
use crate::flags::recovery::RecoveryArguments;
use crate::flags::store::StoreArguments;
use crate::render::failure::Failure;
use crate::render::outcome::of_run;
use crate::render::progress::watch;
use crate::render::report::Report;
use crate::render::terminal::announce;
use crate::render::trail::{Once, PeerName, Trail, TrailEvent};

#[derive(Args)]
pub struct PartyFlags {
    #[command(flatten)]
    program: ProgramArguments,
    #[command(flatten)]
    address: Address,
    #[command(flatten)]
    keep: KeepFlag,
    /// This party's input: JSON, @file, @table.csv, csv:FILE for a table with any file name, or - for stdin
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    input: Option<String>,
    #[command(flatten)]
    reading: ReadingFlags,
    /// This party's private key, made by `brickwork keygen`
    #[arg(long, value_name = "KEYFILE")]
    identity: Option<PathBuf>,
    /// The peer's public key, or @file
    #[arg(long, value_name = "PUBKEY")]
    peer: String,
    #[command(flatten)]
    parameters: ParameterArguments,
    #[command(flatten)]
    resources: ResourceFlags,
    #[command(flatten)]
    choice: ProtocolFlags,
    #[command(flatten)]
    cut: CutArguments,
    #[command(flatten)]
    line: LineArguments,
    #[command(flatten)]
    stock: StoreArguments,
    #[command(flatten)]
    page: RunPageArguments,
}

#[derive(Args)]
pub struct EvaluatorArguments {
    #[command(flatten)]
    party: PartyFlags,
    #[command(flatten)]
    recovery: RecoveryArguments,
}

impl EvaluatorArguments {
    pub fn run(&self, quiet: bool, trail: &Trail) -> Result<Report, Failure> {
        run(Party::Evaluator, &self.party, self.recovery.recovery_notes.as_deref(), (quiet, trail))
    }
}

/// A line that a child prints.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChildLine {
    /// The child listens at this address.
    Listening(String),
    /// The run has ended.
    Done {
        /// The number of output bits.
        bits: usize,
        /// The output bits, packed.
        outputs: Vec<u8>,
        /// The report of the run.
        report: Box<brickwork::Report>,
    },
    /// The run has failed.
    Error {
        /// The exit code.
        code: u8,
        /// The message, without the hint.
        message: String,
        /// Instructions for the user.
        hint: String,
    },
}

/// Runs one party to its end. `notes` is the file for the evaluator's notes about recovery.
pub fn run(
    party: Party,
    arguments: &PartyFlags,
    notes: Option<&Path>,
    (quiet, trail): (bool, &Trail),
) -> Result<Report, Failure> {
    let page = arguments.page.open()?;
    let program = programs::program(&arguments.program)?;
    let (identity, input) = arguments.secrets(party, &program)?;
    let task = arguments.task(party, notes)?;
    trail.between(party, PeerName::new(PublicKey::from_bytes(task.peer), &arguments.peer));
    let once = Once::new(trail);
    let watch = once.watch(watch(quiet));
    let mut host = Host { listens: &mut listens(quiet), watch: &watch, line: None, warns: true };
    let ran = task.run(&program, (&identity, &input), &mut host);
    once.ended(TrailEvent::run_of(&program), &ran, |ran, event| trail.reported(&ran.report, event));
    let ran = ran?;
    let executions = arguments.parameters.executions.executions;
    let mut report = of_run((&program, executions), &[(party, &ran.outputs[..])], &ran.report, quiet)?;
    report.json["role"] = role(party).into();
    if let Some(page) = page {
        page.write(&report.json, Some(&program));
    }
    Ok(report)
}

/// Returns a function that prints the address of a listener.
pub fn listens(quiet: bool) -> impl FnMut(SocketAddr) -> Result<(), Error> {
    move |address| {
        announce(address, quiet);
        Ok(())
    }
}

impl PartyFlags {
    /// Returns the task of a party with these flags.
    fn task(&self, party: Party, notes: Option<&Path>) -> Result<PartyTask, Failure> {
        let PartyFlags { parameters, resources, choice, cut, stock, line, address, keep, .. } = self;
        let store = stock.request();
        let request = request(parameters, resources, choice, cut, line.line(), store.as_ref());
        Ok(PartyTask {
            party,
            peer: files::public_key(&self.peer)?.to_bytes(),
            place: Some(address.endpoint()?),
            keep: keep.keep,
            request: RunRequest { notes_recovery: notes.is_some(), ..request },
            store,
            recovery_notes: notes.map(Path::to_owned),
        })
    }

    /// Returns the key and the input bits of a party.
    fn secrets(&self, party: Party, program: &Program) -> Result<(Identity, SecretBlocks<bool>), Failure> {
        let (executions, input) = (self.parameters.executions.executions, self.input.as_deref());
        let input = reading::bits(input, program.given(), party, executions, &self.reading.given())?;
        let identity = self.identity.as_deref().ok_or_else(no_identity)?;
        Ok((files::identity(identity)?, input))
    }
}

pub fn no_identity() -> Failure {
    Failure::usage("--identity is missing", "`brickwork keygen` makes a key")
}
