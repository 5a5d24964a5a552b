//! `brickwork preprocess`: one party of making stock, before the programs are known.

use std::path::PathBuf;
use std::str::FromStr;

use brickwork::StoreRequest;
use brickwork::cut::Cut;
use brickwork::disk::MAX_WORKERS;
use brickwork::engine::stocked::{StockOptions, StockRequest};
use brickwork::engine::task::Host;
use brickwork::maker::Hired;
use brickwork::ot::Cot;
use brickwork::preprocess::{ComponentCount, PreprocessRequest};
use clap::Args;

use crate::commands::party::listens;
use crate::commands::{files, programs};
use crate::flags::arguments::{
    Address, Map, OnlyHalfGates, Protocol, ResourceFlags, RoleFlag, cot, scheme, security,
};
use crate::flags::store::{KeyArguments, MaxAge};
use crate::render::failure::Failure;
use crate::render::progress::watch;
use crate::render::report::Report;
use crate::render::trail::{EventKind, EventOutcome, Once, PeerName, Trail, TrailEvent};

/// Make stock with the peer: garbled components, checked and ready for any program
#[derive(Args)]
pub struct PreprocessFlags {
    /// The role of this party
    #[arg(long, value_name = "ROLE")]
    role: RoleFlag,
    #[command(flatten)]
    address: Address,
    /// This party's private key, made by `brickwork keygen`
    #[arg(long, value_name = "KEYFILE")]
    identity: PathBuf,
    /// The peer's public key, or @file
    #[arg(long, value_name = "PUBKEY")]
    peer: String,
    /// The folder of the store; it is created if it does not exist
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    #[command(flatten)]
    key: KeyArguments,
    #[command(flatten)]
    max_age: MaxAge,
    /// A component and how often programs will use it, such as aes.bwp:sbox=1600; without a name, all
    /// components of the program, for this many executions
    #[arg(long = "component", value_name = "FILE[:NAME]=COUNT")]
    components: Vec<String>,
    /// A TOML file that lists components, as tables [[component]] with file, name and count
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    /// Make no authenticators for inputs and private outputs, and no OTs
    #[arg(long)]
    no_inputs: bool,
    /// Make no OTs; they are then made when a program runs
    #[arg(long)]
    no_ots: bool,
    #[command(flatten)]
    map: Map,
    /// With lego: also build the programs from all components, COUNT of each, so that a run only needs the
    /// inputs; with =N for runs of N --executions each, COUNT/N of them
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    build: Option<std::num::NonZeroU32>,
    /// The protocol for which stock is made: for semi-honest the OTs of the executions; for compgc components
    /// and OTs for --linking standard; for lego and jimu the components' AND gates, or for jimu with --cut
    /// given the components; for authenticated components and masks of inputs
    #[arg(long, value_name = "NAME", default_value_t = Protocol::OF_NEW_STOCK)]
    protocol: Protocol,
    /// With jimu: make components (given), each copy with its own offset, or AND gates, which fit any program
    /// (gates); a store may hold both. The default is gates
    #[arg(long, value_name = "given|gates")]
    cut: Option<Cut>,
    /// The OTs for the masks of authenticated, if new stock with other secrets is begun: extension,
    /// softspoken-2, softspoken-4, softspoken-8 or pcg; the default is softspoken-4
    #[arg(long, value_name = "NAME", value_parser = cot)]
    cot: Option<Cot>,
    /// The garbling scheme; every protocol uses half-gates, and `brickwork garble` has others
    #[arg(long = "scheme", value_name = "half-gates", value_parser = scheme)]
    _scheme: Option<OnlyHalfGates>,
    /// Statistical security of duplo, lego, jimu and authenticated in bits; the default is 40
    #[arg(long, value_name = "40|64|80", value_parser = security)]
    security: Option<u32>,
    #[command(flatten)]
    resources: ResourceFlags,
    /// With duplo: make each step by this many workers side by side, on as many additional connections; the
    /// peer must give the same number. Programs use the items of all workers
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=i64::from(MAX_WORKERS)))]
    workers: Option<u32>,
    /// With --workers: one of them is a `brickwork maker` of this party, which listens at this address and
    /// has this key, or @file; may be repeated. The peer need not know it
    #[arg(long = "maker", value_name = "HOST:PORT=PUBKEY", requires = "workers",
        value_parser = Hired::from_str)]
    makers: Vec<Hired>,
    /// With --workers and --connect: one of the peer's workers is a maker that listens at this address
    /// instead of that of --connect; may be repeated
    #[arg(long, value_name = "HOST:PORT", requires = "workers", conflicts_with = "listen")]
    worker_at: Vec<String>,
}

/// Makes stock with the peer.
pub fn run(arguments: &PreprocessFlags, quiet: bool, trail: &Trail) -> Result<Report, Failure> {
    let PreprocessFlags { protocol, no_inputs, no_ots, build, security, cot, workers, .. } = *arguments;
    let cut = arguments.cut.clone();
    let wishes = StockOptions { protocol, no_inputs, no_ots, build, cut, security, cot, workers };
    wishes.check()?;
    let map = arguments.map.parties();
    let components = ComponentCount::read(&arguments.components, arguments.list.as_deref())?;
    let load = |one: ComponentCount| {
        let program = programs::load(&one.file, &map)?;
        Ok(one.of(&program))
    };
    let components = components.into_iter().map(load).collect::<Result<Vec<_>, Failure>>()?;
    // A mistake in these is reported before the peer's key is read.
    let _ = StockRequest::of(&components, &wishes)?;
    let (max_age, store) = (arguments.max_age.max_age, arguments.key.of(&arguments.store));
    let request = PreprocessRequest {
        role: arguments.role.into(),
        components,
        peer: files::public_key(&arguments.peer)?,
        place: arguments.address.endpoint()?,
        store: StoreRequest { max_age, ..store },
        wishes,
        resources: arguments.resources.of_request(),
        makers: arguments.makers.clone(),
        worker_at: arguments.worker_at.clone(),
    };
    let (identity, pem) = files::identity_and_pem(&arguments.identity)?;
    trail.between(request.role, PeerName::new(request.peer, &arguments.peer));
    trail.speaks(protocol.name());
    let once = Once::new(trail);
    let watch = once.watch(watch(quiet));
    let mut host = Host { listens: &mut listens(quiet), watch: &watch, line: None, warns: true };
    let made = request.run((identity, &pem), &mut host);
    once.ended(TrailEvent::new(EventKind::Fill, EventOutcome::Done), &made, |made, event| {
        event.with_bytes(&made.phases)
    });
    let made = made?;
    Ok(Report { human: made.text(quiet), ..Report::of(&made)? })
}
