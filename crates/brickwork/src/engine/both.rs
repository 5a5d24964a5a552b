//! Both parties of a run on this machine: the choice of the protocol, the parties' tasks, and the run on two
//! threads.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use brickwork_base::private;
use brickwork_base::stop::Stop;
use brickwork_circuit::Party;
use brickwork_kernels::SecretBlocks;
use brickwork_protocol::Unobserved;
use brickwork_store::Store;
use brickwork_wire::tls::{Identity, PublicKey};
use zeroize::Zeroizing;

use super::Observe;
use super::link::Relay;
use super::report::Report;
use super::request::RunRequest;
use super::role;
use super::run::PartyRun;
use super::task::{Endpoint, Host, PartyTask};
use super::ways::{Protocols, RunPart};
use crate::control::Control;
use crate::failure::{Error, ErrorKind};
use crate::program::Program;
use crate::store::StoreRequest;
use crate::{files, keygen};

/// The address at which the garbler listens.
pub const HERE: &str = "127.0.0.1:0";

/// The time that the second party has to report its own reason after the first party has failed.
pub const GRACE: Duration = Duration::from_secs(3);

/// Returns the request with the protocol that the garbler would choose, and the reason if there was a choice.
/// The stores of both parties are in one folder.
///
/// # Errors
/// As [`RunPart::ways`].
pub fn fastest(
    request: &RunRequest<Protocols>,
    program: &Program,
    stores: Option<&StoreRequest>,
) -> Result<(RunRequest, Option<String>), Error> {
    let (mut store, mut keys) = (None, [PublicKey::from_bytes([0; 32]); 2]);
    if let (Some(stores), None) = (stores, request.parameters.protocol.only()) {
        let own = stores.within(role(Party::Garbler));
        if Store::exists(&own.store)? {
            store = Some(own.view()?);
            for party in [Party::Garbler, Party::Evaluator] {
                keys[party as usize] = files::identity(&key_file(stores, party))?.public_key();
            }
        }
    }
    let part = RunPart { party: Party::Garbler, request, given: program, keys, warns: false };
    let ways = part.ways(store.as_ref())?;
    let chosen = ways.requests.into_iter().next();
    Ok((chosen.ok_or_else(|| Error::fault("the flags exclude all protocols"))?, ways.reason))
}

/// The task of both parties.
#[derive(Clone, Copy)]
pub struct Both<'a> {
    /// The program.
    pub program: &'a Program,
    /// The request, whose network is simulated.
    pub request: &'a RunRequest,
    /// The folder with both parties' stores and keys.
    pub stores: Option<&'a StoreRequest>,
    /// The file for the evaluator's note about recovery.
    pub recovery_notes: Option<&'a Path>,
}

/// Returns the file with the key of a party, beside the stores of both.
fn key_file(stores: &StoreRequest, party: Party) -> PathBuf {
    stores.store.join(format!("{}.key", role(party)))
}

impl<'a> Both<'a> {
    /// Makes a task without stores.
    pub fn of(program: &'a Program, request: &'a RunRequest) -> Self {
        Both { program, request, stores: None, recovery_notes: None }
    }

    /// Returns a party's key, and its text. The key is made for this run. But a store belongs to two keys, so
    /// with stores the keys are kept beside them.
    ///
    /// # Errors
    /// If the key cannot be made, written or read, or no store may be made.
    pub fn key(&self, party: Party) -> Result<(Identity, Zeroizing<String>), Error> {
        let Some(stores) = self.stores else { return Ok(Identity::generate()?) };
        stores.within(role(party)).may_be_made()?;
        let path = key_file(stores, party);
        if !path.exists() {
            let made = private::create_folders(&stores.store);
            made.map_err(|e| Error::cannot_write(&stores.store, &e))?;
            keygen::identity(&path)?;
        }
        files::identity_and_pem(&path)
    }

    /// Returns the task of a party.
    pub fn task(&self, party: Party, peer: PublicKey, place: Endpoint) -> PartyTask {
        let protocol = Protocols::from(self.request.parameters.protocol);
        let recovery_notes = self.recovery_notes.filter(|_| party == Party::Evaluator).map(Path::to_owned);
        let request = RunRequest { notes_recovery: recovery_notes.is_some(), ..self.request.with(protocol) };
        let store = self.stores.map(|stores| stores.within(role(party)));
        PartyTask {
            party,
            peer: peer.to_bytes(),
            place: Some(place),
            keep: false,
            request,
            store,
            recovery_notes,
        }
    }

    /// Starts the relay that simulates the network to this address, unless the network has no limit. Returns
    /// the address for the evaluator.
    ///
    /// # Errors
    /// An error of the network if the relay cannot listen.
    pub fn relay(&self, address: String) -> Result<(Option<Relay>, String), Error> {
        if self.request.line.is_perfect() {
            return Ok((None, address));
        }
        let relay = Relay::start(self.request.line, &address).map_err(brickwork_base::Error::from)?;
        let address = relay.address().to_string();
        Ok((Some(relay), address))
    }

    /// Runs both parties, each on a thread of this process, on the bits of these inputs. If a stop is
    /// requested, both end. The evaluator, which receives most bytes, shows the progress.
    ///
    /// # Errors
    /// If both parties fail, the error that tells the user more.
    pub fn run(
        &self,
        [first_input, second_input]: [SecretBlocks<bool>; 2],
        control: &Control,
    ) -> Result<[PartyRun; 2], Error> {
        let [garbler, evaluator] = [self.key(Party::Garbler)?.0, self.key(Party::Evaluator)?.0];
        let peers = [evaluator.public_key(), garbler.public_key()];
        let watch = control.progress.watch();
        let (said, heard) = channel();
        let play = |task: PartyTask,
                    identity: Identity,
                    input: SecretBlocks<bool>,
                    watch: &Observe,
                    tell: &mut dyn FnMut(String)| {
            let mut listens = |address: SocketAddr| {
                tell(address.to_string());
                Ok(())
            };
            let warns = task.party == Party::Evaluator;
            let mut host = Host { listens: &mut listens, watch, line: None, warns };
            let run = || task.run(self.program, (&identity, &input), &mut host);
            control.stop.run(run).unwrap_or_else(|stopped| Err(Error::stopped(stopped)))
        };
        std::thread::scope(|scope| {
            let (tell, told) = channel();
            let first = {
                let (said, play) = (said.clone(), &play);
                let task = self.task(Party::Garbler, peers[0], Endpoint::Listen(HERE.into()));
                move || {
                    let mut tell = |address| _ = tell.send(address);
                    let unseen = |_: &'static [&'static str]| -> Box<dyn brickwork_protocol::Observer> {
                        Box::new(Unobserved)
                    };
                    let done = play(task, garbler, first_input, &unseen, &mut tell);
                    let _ = said.send((Party::Garbler, done));
                }
            };
            scope.spawn(first);
            // If the garbler fails before it listens, this returns an error, because the sender is dropped.
            if let Ok(address) = told.recv() {
                let (relay, address) = self.relay(address)?;
                let task = self.task(Party::Evaluator, peers[1], Endpoint::Connect(address));
                let (said, play, watch) = (said.clone(), &play, &watch);
                scope.spawn(move || {
                    let done = play(task, evaluator, second_input, watch, &mut |_| {});
                    let _ = said.send((Party::Evaluator, done));
                    drop(relay);
                });
            }
            drop(said);
            results(&heard, &control.stop)
        })
    }
}

/// Waits for both threads. If one party fails, the other party has some time to report its reason, and then
/// it is stopped.
fn results(heard: &Receiver<(Party, Result<PartyRun, Error>)>, stop: &Stop) -> Result<[PartyRun; 2], Error> {
    let mut results = [None, None];
    let mut patience = None;
    loop {
        let next = match patience {
            None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(patience) => heard.recv_timeout(patience),
        };
        let (party, result) = match next {
            Ok(next) => next,
            Err(RecvTimeoutError::Timeout) => {
                stop.ask();
                patience = None;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return first_reason(results),
        };
        if result.is_err() {
            patience = Some(GRACE);
        }
        results[usize::from(party == Party::Evaluator)] =
            Some(result.map_err(|error| error.within(role(party))));
    }
}

/// Returns both results, or the more informative one of two errors.
///
/// # Errors
/// This error; an error of this machine if a party ended without a result.
pub fn first_reason<T>(results: [Option<Result<T, Error>>; 2]) -> Result<[T; 2], Error> {
    match results {
        [Some(Ok(garbler)), Some(Ok(evaluator))] => Ok([garbler, evaluator]),
        results => {
            let mut errors: Vec<Error> = results.into_iter().flatten().filter_map(Result::err).collect();
            // An error of the network tells least, because that party only saw the other party go away.
            errors.sort_by_key(|error| error.kind() == ErrorKind::Network);
            Err(errors.into_iter().next().unwrap_or_else(silent))
        }
    }
}

/// The hint if a party's process ends without a message.
pub const PROCESS_HINT: &str =
    "somebody may have ended it, or memory ran out; use fewer --executions, or run again";

/// Returns the error for a party that ended without a result.
pub fn silent() -> Error {
    Error::machine("one of the parties ended without a result", PROCESS_HINT)
}

/// Returns the report of a run of both parties, from their own reports.
pub fn merged(garbler: &Report, evaluator: &Report, reason: Option<String>) -> Report {
    // Only the garbler predicts; the evaluator's times include the garbler's work.
    Report {
        predicted: garbler.predicted.clone(),
        protocol_reason: reason,
        cpu_seconds: None,
        peak_rss_bytes: None,
        ..evaluator.clone()
    }
}
