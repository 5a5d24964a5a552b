//! `brickwork doctor`: finds problems before work starts.

use std::path::PathBuf;

use brickwork::doctor::DoctorRequest;
use clap::Args;
use zeroize::Zeroizing;

use crate::flags::arguments::{
    Address, CutArguments, KeepFlag, LineArguments, Map, ParameterArguments, ProtocolFlags, ReadingFlags,
    ResourceFlags, RoleFlag, request, secret,
};
use crate::flags::source;
use crate::flags::store::StoreArguments;
use crate::render::failure::Failure;
use crate::render::report::Report;
use crate::render::terminal::announce;

/// Find problems before work starts
///
/// Give the flags of the command that you want to check. Each flag requests its checks. A requested check
/// fails if it needs another flag that is missing. To check the peer, it must be waiting: with --connect the
/// other side may run `garbler --listen`, `evaluator --listen` or `doctor --listen`; with --listen it runs
/// `doctor --connect`. Nothing is changed, in particular no store.
#[derive(Args)]
pub struct DoctorFlags {
    /// The program
    file: Option<PathBuf>,
    #[command(flatten)]
    map: Map,
    /// This party's role
    #[arg(long)]
    role: Option<RoleFlag>,
    #[command(flatten)]
    address: Address,
    #[command(flatten)]
    keep: KeepFlag,
    /// This party's input, to see whether the program takes it
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true, value_parser = secret)]
    input: Option<Zeroizing<String>>,
    #[command(flatten)]
    reading: ReadingFlags,
    /// This party's private key
    #[arg(long, value_name = "KEYFILE")]
    identity: Option<PathBuf>,
    /// The peer's public key, or @file
    #[arg(long, value_name = "PUBKEY")]
    peer: Option<String>,
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
}

pub fn run(arguments: &DoctorFlags, quiet: bool) -> Result<Report, Failure> {
    let DoctorFlags { parameters, resources, choice, cut, line, .. } = arguments;
    let store = arguments.stock.request();
    let request = DoctorRequest {
        program: arguments.file.clone().map(|file| (file, arguments.map.parties())),
        role: arguments.role.map(Into::into),
        listen: arguments.address.listen.clone(),
        connect: arguments.address.connect.clone(),
        input: arguments.input.clone(),
        reading: arguments.reading.given(),
        identity: arguments.identity.clone(),
        peer: arguments.peer.clone(),
        run: request(parameters, resources, choice, cut, line.line(), store.as_ref()),
        store,
    };
    let diagnosis = request.diagnose(&mut |address| announce(address, quiet))?;
    diagnosis.program.iter().filter_map(|program| program.warnings()).for_each(source::warn);
    let exit = diagnosis.error.as_ref().map_or(0, |error| error.exit_code());
    Ok(Report { exit, ..Report::of(&diagnosis)? })
}
