//! `brickwork preprocess`: one party of making stock, before the programs are known.

use std::path::{Path, PathBuf};

use brickwork::StoreRequest;
use brickwork::circuit::Party;
use brickwork::cut::Cut;
use brickwork::engine::Watch;
use brickwork::engine::stocked::{Asked, Opening, Stocked, Wishes};
use brickwork::ot::Cot;
use brickwork::session::{PhaseReport, TABLE_MEMORY, Terms, Unobserved};
use brickwork::stock::MAX_WORKERS;
use brickwork::wire::Channel;
use brickwork::wire::tls::{self, PublicKey};
use clap::Args;
use serde::Deserialize;
use serde_json::json;

use crate::arguments::{Address, HalfGates, Map, Protocol, Resources, Role, SECURITY, cot, scheme, security};
use crate::failure::Failure;
use crate::files;
use crate::maker::{self, Caller, Hired};
use crate::outcome::phases_text;
use crate::party::{Coming, connections};
use crate::progress::watch;
use crate::report::{Report, plural};
use crate::requested::Requested;
use crate::store::{KeyArguments, MaxAge};

/// Make stock with the peer: garbled components, checked and ready for any program
#[derive(Args)]
pub struct Arguments {
    /// The role of this party
    #[arg(long, value_name = "ROLE")]
    role: Role,
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
    _scheme: Option<HalfGates>,
    /// Statistical security of duplo, lego, jimu and authenticated in bits; the default is 40
    #[arg(long, value_name = "40|64|80", value_parser = security)]
    security: Option<u32>,
    #[command(flatten)]
    resources: Resources,
    /// With duplo: make each step by this many workers side by side, on as many additional connections; the
    /// peer must give the same number. Programs use the items of all workers
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=i64::from(MAX_WORKERS)))]
    workers: Option<u32>,
    /// With --workers: one of them is a `brickwork maker` of this party, which listens at this address and
    /// has this key, or @file; may be repeated. The peer need not know it
    #[arg(long = "maker", value_name = "HOST:PORT=PUBKEY", requires = "workers", value_parser = maker::hired)]
    makers: Vec<Hired>,
    /// With --workers and --connect: one of the peer's workers is a maker that listens at this address
    /// instead of that of --connect; may be repeated
    #[arg(long, value_name = "HOST:PORT", requires = "workers", conflicts_with = "listen")]
    worker_at: Vec<String>,
}

/// The form of a list file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    component: Vec<Requested>,
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let party = Party::from(arguments.role);
    let protocol = arguments.protocol;
    let wishes = Wishes {
        protocol,
        no_inputs: arguments.no_inputs,
        no_ots: arguments.no_ots,
        build: arguments.build,
        cut: arguments.cut.as_ref(),
        level: arguments.security.is_some(),
        cot: arguments.cot,
        workers: arguments.workers.is_some(),
    };
    wishes.check()?;
    let map = arguments.map.parties();
    let requested = requested(arguments)?.into_iter().map(|one| one.load(&map));
    let asked = Asked::of(&requested.collect::<Result<Vec<_>, _>>()?, &wishes)?;
    let peer = files::public_key(&arguments.peer)?;
    let (identity, pem) = files::identity_and_pem(&arguments.identity)?;
    maker::check(&arguments.makers, identity.public_key(), peer)?;
    let workers = arguments.workers.map_or(0, |workers| workers as usize);
    let most = arguments.makers.len().max(arguments.worker_at.len());
    if most > workers {
        let hint = "give a larger number to --workers, on both sides";
        return Err(Failure::usage(format!("{most} makers, and {workers} workers"), hint));
    }
    let keys = match party {
        Party::Garbler => [identity.public_key(), peer],
        Party::Evaluator => [peer, identity.public_key()],
    };
    let terms = Terms {
        security: arguments.security.unwrap_or(SECURITY).into(),
        threads: arguments.resources.threads(),
        table_memory: TABLE_MEMORY,
        identities: keys.map(PublicKey::to_bytes),
        post_quantum: false,
    };
    let max_age = arguments.max_age.max_age;
    let store = StoreRequest { max_age, ..arguments.key.of(&arguments.store) }.open()?;
    let options = arguments.resources.options(party);
    let connect = connections(&arguments.address, &identity, peer, &options, quiet)?;
    let (done, phases) = match workers {
        0 => {
            let cot = arguments.cot.unwrap_or_default();
            let (channel, watch) = (connect(Coming::First)?, &watch(quiet));
            let opening = Opening { party, channel, store: &store, terms: &terms, cot, watch };
            let line = Stocked::open(protocol, opening)?;
            let (done, line) = line.make(&asked)?;
            (done, line.close()?)
        }
        _ => {
            let (channel, watch): (_, &Watch) = (connect(Coming::First)?, &|_| Box::new(Unobserved));
            let opening =
                Opening { party, channel, store: &store, terms: &terms, cot: Cot::default(), watch };
            let line = Stocked::open_for_workers(protocol, workers, opening)?;
            let Arguments { makers, worker_at, address, resources, .. } = arguments;
            // The addresses of the peer's workers: first the peer's makers, then the peer itself for the
            // other workers.
            let mut at = worker_at.iter();
            let caller = Caller { identity: &identity, pem: &pem, peer, role: party, resources };
            let makers: Vec<Channel> = makers
                .iter()
                .map(|maker| caller.call(maker, at.next().or(address.connect.as_ref()).cloned()))
                .collect::<Result<_, _>>()?;
            let line_of_worker = |_| match at.next() {
                Some(address) => tls::connect(address, &identity, peer, &options),
                None => connect(Coming::Again),
            };
            let lines = (makers.len()..workers).map(line_of_worker).collect::<Result<Vec<_>, _>>()?;
            let (done, phases, line) = line.make_by(&asked, lines, makers)?;
            (done, together(line.close()?, phases))
        }
    };
    let made = &asked.words;
    let mut human = made.iter().map(|step| format!("in stock: {step}\n")).collect::<String>();
    if done.resumed > 0 {
        human +=
            &format!("{} of them from a run that was interrupted\n", plural(done.resumed.into(), "step"));
    }
    let mut json = json!({
        "role": files::role(party),
        "protocol": protocol.name(),
        "steps": made,
        "resumed": done.resumed,
        "phases": phases,
        "store": arguments.store.display().to_string(),
    });
    if let Some(workers) = arguments.workers {
        json["workers"] = workers.into();
    }
    human += &phases_text(&phases, &[], quiet);
    if let Some(promise) = &asked.promise {
        human += &promise.to_string();
    }
    Ok(Report::new(json, human))
}

/// Adds up each phase over all connections: the time of the slowest connection, and all bytes.
fn together(line: Vec<PhaseReport>, workers: Vec<Vec<PhaseReport>>) -> Vec<PhaseReport> {
    let mut all: Vec<PhaseReport> = Vec::new();
    for phase in line.into_iter().chain(workers.into_iter().flatten()) {
        match all.iter_mut().find(|known| known.name == phase.name) {
            None => all.push(phase),
            Some(known) => {
                known.seconds = known.seconds.max(phase.seconds);
                known.garbler_sent_bytes += phase.garbler_sent_bytes;
                known.evaluator_sent_bytes += phase.evaluator_sent_bytes;
                known.spans.clear();
            }
        }
    }
    all
}

fn requested(arguments: &Arguments) -> Result<Vec<Requested>, Failure> {
    let mut requested =
        arguments.components.iter().map(|text| Requested::parse(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &arguments.list {
        let hint = "a list holds tables [[component]] with file, name and count";
        let List { component: list } = files::toml(path, false, hint)?;
        // Paths in a list are relative to its file.
        let folder = path.parent().unwrap_or(Path::new(""));
        requested.extend(list.into_iter().map(|w| Requested { file: folder.join(&w.file), ..w }));
    }
    Ok(requested)
}

/// Reads the requests of a list, if it is valid.
pub fn list(text: &str) -> Option<Vec<Requested>> {
    toml::from_str(text).map(|list: List| list.component).ok()
}
