//! `brickwork serve`: one party as a service. It keeps the connection to its peer, refills the stock in the
//! background, and runs the programs of its list for users of this machine.

mod budget;
pub mod config;
mod desk;
mod figures;
mod http;
pub mod lines;
mod page;
mod rate;
pub mod request;
mod results;
mod trail;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brickwork::StoreRequest;
use brickwork::circuit::Party;
use brickwork::protocol::{TABLE_MEMORY, Terms};
use brickwork::wire::tls::PublicKey;
use clap::Args;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use self::trail::{Common, EventKind, EventOutcome, PeerName, Trail, TrailEvent};
use crate::commands::files;
use crate::flags::store::{KeyArguments, MaxAge};
use crate::render::failure::Failure;
use crate::render::report::Report;
use budget::BudgetBook;
use desk::Desk;
use lines::PeerRoutes;
use results::Results;

/// Stay up: keep the line to the peer and the stock full, and run allowed programs for requests from this
/// machine
#[derive(Args)]
pub struct ServeFlags {
    /// The configuration, with the allowed programs and the peer's address: a TOML file, which SIGHUP reads
    /// again (docs/guides/serve.md)
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The store that stock is kept in, and how often programs have run
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    #[command(flatten)]
    key: KeyArguments,
    #[command(flatten)]
    max_age: MaxAge,
    /// Append a line of JSON to this file for all that the service does and refuses; SIGHUP opens it anew
    /// (docs/reference/json.md)
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
}

/// The interval at which expired requests are refused.
const TICK: Duration = Duration::from_millis(50);

/// The times that an HTTP header can express, in seconds since 1970: the years 1970 to 9999.
const HTTP_DATES: std::ops::Range<u64> = 0..253_402_300_800;

/// Refuses a clock that HTTP dates cannot express and that would break hourly budgets.
fn clock_is_set() -> Result<(), Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    match now.is_ok_and(|now| HTTP_DATES.contains(&now.as_secs())) {
        true => Ok(()),
        false => Err(Failure::other(
            "this machine's clock shows a time before 1970, or after 9999",
            "set the clock, and start the service again",
        )),
    }
}

pub fn run(arguments: &ServeFlags, quiet: bool) -> Result<Report, Failure> {
    clock_is_set()?;
    let (fixed, config) = config::read(&arguments.config)?;
    let peer = files::public_key(&fixed.peer)?;
    let identity = files::identity(&fixed.identity)?;
    let keys = match fixed.party {
        Party::Garbler => [identity.public_key(), peer],
        Party::Evaluator => [peer, identity.public_key()],
    };
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let terms = Terms {
        security: fixed.security.into(),
        threads: fixed.threads.unwrap_or_else(cores),
        table_memory: TABLE_MEMORY,
        identities: keys.map(PublicKey::to_bytes),
        post_quantum: false,
    };
    let common = Common {
        version: env!("CARGO_PKG_VERSION"),
        process: std::process::id(),
        role: files::role(fixed.party),
        peer: PeerName { key: peer, name: fixed.peer.strip_prefix('@').and_then(file_name) },
        protocol: "duplo",
    };
    let trail = Trail::open(arguments.audit.clone(), common)?;
    let store =
        StoreRequest { max_age: arguments.max_age.max_age, ..arguments.key.of(&arguments.store) }.open()?;
    let (book, results) = (BudgetBook::open(&store)?, Results::open(&store)?);
    let desk = Arc::new(Desk::new(fixed.party, store, terms, config, book, results, trail)?);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| {
        Failure::other(
            format!("the operating system started no threads for the service: {e}"),
            "check the limit of threads (`ulimit -u`)",
        )
    })?;
    let socket = runtime.block_on(tokio::net::TcpListener::bind(fixed.http));
    let socket = socket.map_err(|e| {
        Failure::other(
            format!("cannot listen at {}: {e}", fixed.http),
            "check that no other service uses this address; http in the configuration sets the address",
        )
    })?;
    let at = socket.local_addr().map_err(|e| Failure::other(e.to_string(), "give http another address"))?;

    // This comes before the address is printed, because a reader of the address may send a signal at once.
    let signals = {
        let _inside = runtime.enter();
        [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal)
    };
    let [Ok(mut term), Ok(mut int), Ok(mut hup)] = signals else {
        return Err(Failure::other(
            "signals cannot be received",
            "check the limit of open files (`ulimit -n`)",
        ));
    };
    let (failed, mut failure) = tokio::sync::mpsc::unbounded_channel();
    let line = {
        let desk = desk.clone();
        let place = fixed.place.clone();
        std::thread::Builder::new().name("lines".into()).spawn(move || {
            let meeting = PeerRoutes { place: &place, identity: &identity, peer };
            let kept = lines::keep(&desk, &meeting, |listener| {
                let peer = listener.and_then(|listener| listener.local_addr().ok());
                said(quiet, at, peer);
            });
            if let Err(why) = kept {
                let _ = failed.send(why);
            }
        })
    };
    let clock = {
        let desk = desk.clone();
        std::thread::Builder::new().name("clock".into()).spawn(move || {
            loop {
                desk.tick();
                std::thread::sleep(TICK);
            }
        })
    };
    for started in [line, clock] {
        started.map_err(|e| {
            Failure::other(
                format!("the operating system started no thread: {e}"),
                "check the limit of threads (`ulimit -u`)",
            )
        })?;
    }
    desk.trail.note(TrailEvent::new(EventKind::Process, EventOutcome::Begun));

    let why = runtime.block_on(async {
        tokio::spawn(http::serve(desk.clone(), socket));
        loop {
            tokio::select! {
                _ = term.recv() => return None,
                _ = int.recv() => return None,
                _ = hup.recv() => {
                    let (desk, path) = (desk.clone(), arguments.config.clone());
                    // This may take long, and must not block requests.
                    let reloading = tokio::task::spawn_blocking(move || reload(&desk, &path));
                    tokio::select! {
                        ended = reloading => if ended.is_err() {
                            tracing::error!("the service failed to read the configuration again, which is a \
                                             fault of brickwork; the old configuration stays in force");
                        },
                        _ = term.recv() => return None,
                        _ = int.recv() => return None,
                    }
                }
                Some(why) = failure.recv() => return Some(Failure::from(why)),
            }
        }
    });
    // A run that has begun is completed, and its user gets the answer.
    let stopping = desk.clone();
    runtime.block_on(async {
        let _ = tokio::task::spawn_blocking(move || stopping.stop()).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    });
    runtime.shutdown_background();
    match why {
        Some(failure) => {
            let reason = Some(failure.message().to_owned());
            desk.trail
                .note(TrailEvent { reason, ..TrailEvent::new(EventKind::Process, EventOutcome::Failed) });
            Err(failure)
        }
        None => {
            desk.trail.note(TrailEvent::new(EventKind::Process, EventOutcome::Done));
            let programs =
                desk.config().programs.values().map(|allowed| allowed.name.clone()).collect::<Vec<_>>();
            let (runs, bytes) = desk.figures.totals(programs.into_iter());
            let json = json!({ "role": files::role(fixed.party), "runs": runs, "line_bytes": bytes });
            Ok(Report::new(json, format!("ran {}\n", crate::render::report::plural(runs, "program"))))
        }
    }
}

/// Returns the last part of a path.
fn file_name(path: &str) -> Option<String> {
    Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned())
}

/// Prints the address of the service.
fn said(quiet: bool, http: std::net::SocketAddr, peer: Option<std::net::SocketAddr>) {
    tracing::info!("requests are taken at {http}");
    if quiet {
        return;
    }
    // If stderr is closed, the text is lost.
    let _ = writeln!(std::io::stderr(), "requests are taken at {http}");
    if let Some(peer) = peer {
        let _ = writeln!(std::io::stderr(), "waiting for the peer at {peer}");
    }
}

/// Reads the configuration again. If the file is wrong, nothing changes. Changes that need a restart are
/// reported.
fn reload(desk: &Desk, path: &Path) {
    if let Err(failure) = desk.trail.reopen() {
        tracing::error!("the audit trail continues in its old file: {}", failure.message());
        desk.figures.error(format!("the audit trail could not be opened again: {}", failure.message()));
    }
    match config::read(path) {
        Ok((_, config)) => {
            desk.reload(config);
            tracing::warn!(
                "read {} again: programs, limits and token are new; all other lines need a restart",
                path.display()
            );
        }
        Err(failure) => {
            tracing::error!("{} stays as it was: {}", path.display(), failure.message());
            desk.figures
                .error(format!("the service could not read the configuration again: {}", failure.message()));
        }
    }
}
