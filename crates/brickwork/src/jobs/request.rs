//! The request for a job.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use brickwork_circuit::{Party, Program};
use brickwork_jobs::terms::JobTerms;
use brickwork_wire::Channel;
use brickwork_wire::tls::{self, Identity, Listener, PublicKey};
use serde::{Deserialize, Serialize};

use crate::engine::request::SECURITY;
use crate::engine::task::Endpoint;
use crate::engine::ways::ordered;
use crate::failure::Error;
use crate::{files, reading};

/// A job, as its coordinator and all workers of a party are given it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobRequest {
    /// The role of this party.
    pub role: Party,
    /// The file with this party's private key.
    pub identity: PathBuf,
    /// The peer's public key, or `@` and the name of the file that holds it.
    pub peer: String,
    /// The number of lanes that work side by side.
    pub lanes: u32,
    /// The number of lost stocks that may be made again; a quarter of the lanes if none.
    #[serde(default)]
    pub retries: Option<u32>,
    /// Statistical security of the whole job in bits: 40, 64 or 80.
    #[serde(default = "JobRequest::default_security")]
    pub security: u32,
    /// The number of rows of each partition. If there is none, the files of `source` have as many.
    #[serde(default)]
    pub rows: Option<Vec<u32>>,
    /// The largest number of lanes with work or stock at the same time, if there is a limit.
    #[serde(default)]
    pub at_once: Option<u32>,
    /// The folder of the ledger, and of the lanes' stores.
    pub folder: PathBuf,
    /// The file with the stores' key. Without it, the environment has the key.
    #[serde(default)]
    pub store_key: Option<PathBuf>,
    /// For each field of the inputs that contains decimals, the number of digits after the point.
    #[serde(default)]
    pub scale: BTreeMap<String, u8>,
    /// True to leave out the columns of a table that the program does not know.
    #[serde(default)]
    pub ignore_extra_columns: bool,
    /// True to round inputs to the nearest number that a fixed-point type holds.
    #[serde(default)]
    pub rounding: bool,
    /// The file of the program, for a coordinator of processes.
    #[serde(default)]
    pub program: Option<PathBuf>,
    /// The folder with a file of inputs for each partition, for a coordinator of processes.
    #[serde(default)]
    pub source: Option<PathBuf>,
    /// The folder for the outputs, for a coordinator of processes; by default a folder in `folder`.
    #[serde(default)]
    pub sink: Option<PathBuf>,
    /// The connection to the peer's coordinator.
    pub control: CoordinatorAddress,
    /// The options of the workers.
    #[serde(default)]
    pub workers: WorkerOptions,
}

/// The address of the peer's coordinator, or this party's: exactly one of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoordinatorAddress {
    /// The address to listen at. Then the workers of this party listen, too.
    #[serde(default)]
    pub listen: Option<String>,
    /// The address to connect to.
    #[serde(default)]
    pub connect: Option<String>,
    /// The seconds for which this party tries to connect, and for which the peer may stall.
    #[serde(default = "CoordinatorAddress::default_timeout")]
    pub timeout: u32,
}

/// The options of a party's workers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WorkerOptions {
    /// The address where this party's workers listen, if they listen.
    pub listen: String,
    /// The host name at which the peer's workers reach them.
    pub advertise: Option<String>,
    /// The hosts where the peer's workers may run, besides the host of the peer's coordinator.
    pub peer_hosts: Vec<String>,
    /// The command that starts a worker, up to the word `worker`; `{lane}` stands for the worker's number. If
    /// it is empty, the program of this process is started, which must be `brickwork`.
    pub command: Vec<String>,
    /// The number of threads of each worker; all cores if none.
    pub threads: Option<u16>,
    /// The seconds for which a worker's peer may stall.
    pub timeout: u32,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        WorkerOptions {
            listen: "127.0.0.1:0".into(),
            advertise: None,
            peer_hosts: Vec::new(),
            command: Vec::new(),
            threads: None,
            timeout: CoordinatorAddress::default_timeout(),
        }
    }
}

/// Receives the address at which this party listens.
pub type Listens<'l> = dyn FnMut(SocketAddr) -> Result<(), Error> + 'l;

impl Endpoint {
    /// Connects to the peer, or waits for it.
    pub(super) fn meet(
        &self,
        (identity, peer): (&Identity, PublicKey),
        options: &tls::EndpointOptions,
        listens: &mut Listens,
    ) -> Result<Channel, Error> {
        Ok(match self {
            Endpoint::Listen(address) => {
                let listener = Listener::bind(address, identity, peer, options)?;
                listens(listener.local_addr()?)?;
                listener.accept()?
            }
            Endpoint::Connect(address) => tls::connect(address, identity, peer, options)?,
        })
    }
}

impl CoordinatorAddress {
    const fn default_timeout() -> u32 {
        30
    }
}

/// The hint about the fields of a job.
const HINT: &str =
    "docs/guides/clusters.md describes the lines of this file; examples/cluster has a pair of such files";

/// The keys of a job, and the terms on which both parties must agree.
pub(super) struct Agreed {
    pub terms: JobTerms,
    pub identity: Identity,
    pub peer: PublicKey,
}

impl JobRequest {
    const fn default_security() -> u32 {
        SECURITY
    }

    /// Returns the same request with paths that are relative to this folder.
    pub fn within(mut self, folder: &Path) -> Self {
        let paths = [&mut self.identity, &mut self.folder].into_iter();
        let named = [&mut self.store_key, &mut self.program, &mut self.source, &mut self.sink];
        paths.chain(named.into_iter().flatten()).for_each(|path| *path = folder.join(&*path));
        if let Some(file) = self.peer.strip_prefix('@') {
            self.peer = format!("@{}", folder.join(file).display());
        }
        self
    }

    /// Returns the number of lost stocks that may be made again. By default it is a quarter of the lanes,
    /// because lanes are sometimes lost.
    pub fn retries(&self) -> u32 {
        self.retries.unwrap_or(self.lanes.div_ceil(4))
    }

    /// Returns the folder of a lane's store.
    pub fn store(&self, lane: u32) -> PathBuf {
        self.folder.join(format!("lane-{lane}"))
    }

    /// Checks a request for workers that are processes, and completes it: the folder of the results, and the
    /// number of rows of each file of inputs.
    ///
    /// # Errors
    /// An error of input that names the mistake.
    pub fn for_processes(mut self, program: &Program) -> Result<Self, Error> {
        let wrong = |why: &str| Err(Error::input(why, HINT));
        let _ = (self.place()?, self.check_security()?);
        if self.source.is_none() && !program.input_ports(self.role).is_empty() {
            return wrong("source is missing: the program takes an input of this party");
        }
        let sink = self.sink.get_or_insert_with(|| self.folder.join("results"));
        let resolved = |folder: &Path| folder.canonicalize().unwrap_or(folder.to_owned());
        if self.source.as_ref().is_some_and(|source| resolved(source) == resolved(sink)) {
            return wrong(
                "sink is the same folder as source; give another folder, so that results and inputs are not \
                 mixed",
            );
        }
        let files = self.source.as_deref().map(parts).transpose()?;
        match (&files, &self.rows) {
            (Some(files), None) => {
                let rows = files.iter().map(|part| reading::rows(part));
                self.rows = Some(rows.collect::<Result<_, _>>()?);
            }
            (Some(files), Some(rows)) if files.len() != rows.len() => {
                return wrong(&format!(
                    "source has {} files, but rows has {} numbers",
                    files.len(),
                    rows.len()
                ));
            }
            (Some(_), Some(_)) | (None, _) => {}
        }
        self.rows().map(drop)?;
        Ok(self)
    }

    fn rows(&self) -> Result<&[u32], Error> {
        let missing =
            || Error::input("give source, or give rows with the number of rows of each partition", HINT);
        self.rows.as_deref().ok_or_else(missing)
    }

    pub(super) fn place(&self) -> Result<Endpoint, Error> {
        match (&self.control.listen, &self.control.connect) {
            (Some(address), None) => Ok(Endpoint::Listen(address.clone())),
            (None, Some(address)) => Ok(Endpoint::Connect(address.clone())),
            _ => Err(Error::input("[control] must have listen at one party and connect at the other", HINT)),
        }
    }

    fn check_security(&self) -> Result<(), Error> {
        match self.security {
            40 | 64 | 80 => Ok(()),
            _ => Err(Error::input("the statistical security must be 40, 64 or 80 bits", HINT)),
        }
    }

    /// Reads the keys, and checks the terms.
    pub(super) fn agreed(&self, program: &Program) -> Result<Agreed, Error> {
        self.check_security()?;
        let (identity, peer) = (files::identity(&self.identity)?, files::public_key(&self.peer)?);
        let terms = JobTerms {
            security: self.security,
            lanes: self.lanes,
            retries: self.retries(),
            program: program.digest(),
            rows: self.rows()?.to_vec(),
            identities: ordered(self.role, [identity.public_key(), peer]),
        };
        terms.check()?;
        // An error here would otherwise appear only in a worker.
        terms.share()?;
        Ok(Agreed { terms, identity, peer })
    }
}

/// Returns the files of a folder by name: one for each partition.
pub(super) fn parts(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let unreadable = |e: &std::io::Error| Error::cannot_read(&folder.display().to_string(), e);
    let mut parts = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| unreadable(&e))? {
        let path = entry.map_err(|e| unreadable(&e))?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_file() && !is_hidden {
            parts.push(path);
        }
    }
    parts.sort();
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
            reading::rows(&folder.path().join(name))
        };
        assert_eq!(file("a.json", "[1, 2, 3]").ok(), Some(3));
        assert_eq!(file("b.csv", "id,amount\n1,2\n\"3\n4\",5\n").ok(), Some(2));
        assert!(file("c.json", "{\"x\": 1}").is_err());
        assert_eq!(parts(folder.path()).unwrap().len(), 3);
        // Two files may differ only in their endings, because results have numbers and not these names.
        assert_eq!(file("c.csv", "id\n1\n").ok(), Some(1));
        assert_eq!(parts(folder.path()).unwrap().len(), 4);
    }
}
