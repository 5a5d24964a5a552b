//! A coordinator for another process of this party, which has the workers itself.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use brickwork::ProtocolError as Error;
use brickwork::circuit::Party;
use brickwork::circuit::formats::InputMap;
use brickwork::jobs::control::{Crew, coordinate};
use brickwork::jobs::coordinator::{Evidence, Manner, News, Order};
use brickwork::jobs::ledger::State;
use brickwork::jobs::terms::{JobId, Lane, Partition, Terms};
use brickwork::wire::tls::{self, Listener, PublicKey};
use clap::Args;
use serde_json::Value;

use super::crew::left_behind;
use super::{Progress, summary};
use crate::arguments::{Address, SECURITY, security};
use crate::arguments::{Role, no_address};
use crate::failure::Failure;
use crate::party::parsed;
use crate::report::{Report, hex};
use crate::{files, programs, worker};

/// The flags of a coordinator for another process.
#[derive(Args)]
struct Arguments {
    /// The program; every row is an execution of it
    file: PathBuf,
    #[arg(long)]
    role: Role,
    #[command(flatten)]
    address: Address,
    #[arg(long, value_name = "KEYFILE")]
    identity: PathBuf,
    #[arg(long, value_name = "PUBKEY")]
    peer: String,
    /// A JSON array with the number of rows of each partition
    #[arg(long, value_name = "FILE")]
    rows: PathBuf,
    #[arg(long = "of")]
    lanes: u32,
    #[arg(long)]
    retries: u32,
    #[arg(long, value_name = "40|64|80", value_parser = security)]
    security: Option<u32>,
    /// The folder of the ledger
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
    #[arg(long, default_value_t = 30)]
    timeout: u32,
    #[arg(long, value_delimiter = ',')]
    rerun: Vec<u32>,
    #[arg(long)]
    only_fill: bool,
    #[arg(long)]
    at_once: Option<u32>,
}

/// The workers of another process, called by the coordinator. Its errors are texts.
pub trait Hands {
    /// Receives the identifier of the job and the digest of its terms, in hexadecimal digits.
    fn begins(&mut self, job: &str, terms: &str) -> Result<(), String>;
    /// Obeys an order without waiting: to start a worker, to fill, to run a partition, or to stop.
    fn obey(&mut self, order: &Order) -> Result<(), String>;
    /// Answers whether stock of a lane may have been used. The lane has no worker left; `attempt` is its last
    /// attempt.
    fn look(&mut self, lane: u32, attempt: u32, partition: u32) -> Result<bool, String>;
    /// Waits for news, at most for this time: workers listen, have filled, are done or are gone.
    fn news(&mut self, wait: Duration) -> Result<Vec<News>, String>;
    /// Returns the partitions whose results are stored durably.
    fn kept(&mut self) -> Result<Vec<u32>, String>;
    /// Receives the progress of the job.
    fn stands(&mut self, progress: Value) -> Result<(), String>;
    /// Ends all workers.
    fn end(&mut self);
}

struct Foreign<'h> {
    hands: &'h mut dyn Hands,
    rerun: Vec<Partition>,
    progress: Progress,
    folder: PathBuf,
    terms: String,
}

fn of_hands(why: String) -> Error {
    Error::Resource(why)
}

impl Crew for Foreign<'_> {
    fn begins(&mut self, job: &JobId) -> Result<(), Error> {
        self.hands.begins(&hex(job), &self.terms).map_err(of_hands)
    }

    fn obey(&mut self, order: Order) -> Result<(), Error> {
        // Python is asked for evidence by a call.
        if matches!(order, Order::Look { .. }) {
            return Ok(());
        }
        self.hands.obey(&order).map_err(of_hands)
    }

    fn look(&mut self, lane: Lane, attempt: u32, partition: Partition) -> Evidence {
        match self.hands.look(lane, attempt, partition) {
            Ok(false) => Evidence::NotTaken,
            Ok(true) | Err(_) => Evidence::PerhapsTaken,
        }
    }

    fn news(&mut self, wait: Duration) -> Result<Vec<News>, Error> {
        let mut news: Vec<News> = self.rerun.drain(..).map(|partition| News::Consent { partition }).collect();
        let wait = if news.is_empty() { wait } else { Duration::ZERO };
        news.extend(self.hands.news(wait).map_err(of_hands)?);
        Ok(news)
    }

    fn kept(&mut self) -> Result<BTreeSet<Partition>, Error> {
        Ok(self.hands.kept().map_err(of_hands)?.into_iter().collect())
    }

    fn left_behind(&self) -> Result<Option<PathBuf>, Error> {
        Ok(left_behind(&self.folder)?)
    }

    fn stands(&mut self, state: &State) {
        if let Some(progress) = self.progress.changed(state) {
            let _ = self.hands.stands(progress);
        }
    }

    fn end(&mut self) {
        self.hands.end();
    }
}

/// Coordinates a job to its end, as these flags describe it; `listens` receives the address if this party
/// listens.
pub fn run(
    flags: Vec<OsString>,
    hands: &mut dyn Hands,
    listens: &mut dyn FnMut(SocketAddr),
) -> Result<Report, Failure> {
    let arguments: Arguments = parsed(flags)?;
    let party = Party::from(arguments.role);
    let program = programs::circuit(&arguments.file, &InputMap::new())?;
    let identity = files::identity(&arguments.identity)?;
    let peer = files::public_key(&arguments.peer)?;
    let keys = match party {
        Party::Garbler => [identity.public_key(), peer],
        Party::Evaluator => [peer, identity.public_key()],
    };
    let terms = Terms {
        security: arguments.security.unwrap_or(SECURITY),
        lanes: arguments.lanes,
        retries: arguments.retries,
        program: program.digest(),
        rows: worker::rows_of(&arguments.rows)?,
        identities: keys.map(PublicKey::to_bytes),
    };
    terms.check()?;
    terms.share()?;
    let options = tls::Options { party, lanes: 1, timeout: Duration::from_secs(arguments.timeout.into()) };
    let channel = match (&arguments.address.listen, &arguments.address.connect) {
        (Some(address), _) => {
            let listener = Listener::bind(address, &identity, peer, &options)?;
            listens(listener.local_addr()?);
            listener.accept()?
        }
        (None, Some(address)) => tls::connect(address, &identity, peer, &options)?,
        (None, None) => return Err(no_address()),
    };
    let begun = std::time::Instant::now();
    let ledger = arguments.folder.join("ledger");
    let mut crew = Foreign {
        hands,
        rerun: arguments.rerun,
        progress: Progress::default(),
        folder: arguments.folder,
        terms: hex(&terms.digest()),
    };
    let listens = arguments.address.listen.is_some();
    let manner = Manner { listens, only_fills: arguments.only_fill, at_once: arguments.at_once };
    let outcome = coordinate(channel, party, &ledger, &terms, manner, &mut crew)?;
    summary(party, &terms, &outcome, arguments.only_fill, begun.elapsed(), None)
}
