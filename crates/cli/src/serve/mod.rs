//! `brickwork serve`: one party as a service. It keeps the connection to its peer, refills the stock in the
//! background, and runs the programs of its list for users of this machine.

mod budget;
pub mod config;
mod desk;
mod figures;
pub mod health;
mod http;
pub mod lines;
mod page;
mod place;
mod rate;
pub mod request;
mod results;
mod secure;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brickwork::StoreRequest;
use brickwork::circuit::Party;
use brickwork::protocol::{TABLE_MEMORY, Terms};
use brickwork::wire::tls::PublicKey;
use clap::Args;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use crate::commands::files;
use crate::flags::store::{KeyArguments, MaxAge};
use crate::render::failure::Failure;
use crate::render::log::reopen_log;
use crate::render::report::{Report, plural};
use crate::render::terminal::say;
use crate::render::trail::{PeerName, Trail};
use budget::BudgetBook;
use desk::{Desk, Policy};
use lines::PeerRoutes;
use place::HttpPlace;
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
}

/// The interval at which expired requests are refused.
const TICK: Duration = Duration::from_millis(50);

/// The interval at which the stock, the budgets and the disk are measured.
const MEASURED: Duration = Duration::from_secs(2);

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

/// Runs a service until a signal or a peer that cheats ends it.
pub fn run(arguments: &ServeFlags, quiet: bool, trail: &Trail) -> Result<Report, Failure> {
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
    trail.between(fixed.party, PeerName::new(peer, &fixed.peer));
    trail.speaks("duplo");
    let store =
        StoreRequest { max_age: arguments.max_age.max_age, ..arguments.key.of(&arguments.store) }.open()?;
    let (book, results) = (BudgetBook::open(&store)?, Results::open(&store)?);
    let desk = Arc::new(Desk::new(fixed.party, store, terms, config, book, results, trail.clone())?);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| {
        Failure::other(
            format!("the operating system started no threads for the service: {e}"),
            "check the limit of threads (`ulimit -u`)",
        )
    })?;
    let (door, at) = runtime.block_on(fixed.http.listen()).map_err(|e| {
        Failure::other(
            format!("cannot listen at {}: {e}", fixed.http),
            "check that no other service uses this address; http in the configuration sets the address",
        )
    })?;

    // The handlers for signals are set before the address is printed, because a reader of the address may
    // send a signal at once.
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
                said(quiet, &at, peer);
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
    let gauges = {
        let desk = desk.clone();
        std::thread::Builder::new().name("gauges".into()).spawn(move || {
            loop {
                desk.measure();
                std::thread::sleep(MEASURED);
            }
        })
    };
    for started in [line, clock, gauges] {
        started.map_err(|e| {
            Failure::other(
                format!("the operating system started no thread: {e}"),
                "check the limit of threads (`ulimit -u`)",
            )
        })?;
    }

    let why = runtime.block_on(async {
        tokio::spawn(http::serve(desk.clone(), door));
        loop {
            tokio::select! {
                _ = term.recv() => return None,
                _ = int.recv() => return None,
                _ = hup.recv() => {
                    let (desk, path) = (desk.clone(), arguments.config.clone());
                    // Reading the configuration may take long, and must not block requests.
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
    if let HttpPlace::Unix(path) = &fixed.http {
        let _ = std::fs::remove_file(path);
    }
    match why {
        Some(failure) => Err(failure),
        None => {
            let programs =
                desk.config().programs.values().map(|allowed| allowed.name.clone()).collect::<Vec<_>>();
            let (runs, bytes) = desk.figures.totals(programs.into_iter());
            let config = desk.config();
            let budgets = config.programs.values().map(|allowed| desk.policy(allowed)).collect();
            Report::of(&Ended { role: files::role(fixed.party), runs, line_bytes: bytes, budgets })
        }
    }
}

/// The report of a service that has ended.
#[derive(Serialize)]
struct Ended {
    role: &'static str,
    runs: u64,
    line_bytes: u64,
    budgets: Vec<Policy>,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "ran {}", plural(self.runs, "program"))
    }
}

/// Prints the address of the service.
fn said(quiet: bool, http: &HttpPlace, peer: Option<std::net::SocketAddr>) {
    tracing::info!("requests are taken at {http}");
    if quiet {
        return;
    }
    say(&format!("requests are taken at {http}\n"));
    if let Some(peer) = peer {
        say(&format!("waiting for the peer at {peer}\n"));
    }
}

/// Reads the configuration again. If the file is wrong, nothing changes. Changes that need a restart are
/// reported.
fn reload(desk: &Desk, path: &Path) {
    for (name, reopened) in [("audit trail", desk.trail.reopen()), ("log", reopen_log())] {
        if let Err(failure) = reopened {
            tracing::error!("the {name} continues in its old file: {}", failure.message());
            desk.figures.error(format!("the {name} could not be opened again: {}", failure.message()));
        }
    }
    let begins = |config: &config::Config| config.tls.is_some() != desk.config().tls.is_some();
    let read = config::read(path).and_then(|(_, config)| match begins(&config) {
        false => Ok(config),
        true => Err(Failure::usage("[tls] comes or goes", "start the service again")),
    });
    match read {
        Ok(config) => {
            desk.reload(config);
            tracing::warn!(
                "read {} again: programs, limits, tokens and certificate are new; all else needs a restart",
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
