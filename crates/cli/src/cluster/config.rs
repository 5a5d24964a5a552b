//! A coordinator's configuration: this party, its peer, the job, and the addresses of its workers.

use std::path::{Path, PathBuf};

use brickwork::circuit::{Party, Program};
use brickwork::jobs::terms::Terms;
use brickwork::reading;
use brickwork::wire::tls::{Identity, PublicKey};
use serde::Deserialize;

use crate::arguments::security;
use crate::failure::Failure;
use crate::{files, programs};

/// The content of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    role: String,
    identity: PathBuf,
    peer: String,
    program: PathBuf,
    #[serde(default = "forty")]
    security: u32,
    lanes: u32,
    retries: Option<u32>,
    at_once: Option<u32>,
    folder: PathBuf,
    store_key: PathBuf,
    source: Option<PathBuf>,
    rows: Option<Vec<u32>>,
    sink: Option<PathBuf>,
    control: Control,
    #[serde(default)]
    workers: Workers,
}

fn forty() -> u32 {
    40
}

/// The address of the peer's coordinator.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// The address to listen at.
    pub listen: Option<String>,
    /// The address to connect to.
    pub connect: Option<String>,
    /// The seconds for which this party tries to connect, and for which the peer may stall.
    #[serde(default = "thirty")]
    pub timeout: u32,
}

fn thirty() -> u32 {
    30
}

/// The configuration of this party's workers.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Workers {
    /// The address where this party's workers listen, if they listen.
    pub listen: String,
    /// The host name at which the peer's workers reach them.
    pub advertise: Option<String>,
    /// The hosts where the peer's workers may run.
    pub peer_hosts: Vec<String>,
    /// The command that starts a worker, without the flags; `{lane}` stands for the worker's number.
    pub command: Vec<String>,
    /// Threads of each worker.
    pub threads: Option<u16>,
    /// The seconds for which a worker's peer may stall.
    pub timeout: u32,
}

impl Default for Workers {
    fn default() -> Self {
        Workers {
            listen: "127.0.0.1:0".into(),
            advertise: None,
            peer_hosts: Vec::new(),
            command: Vec::new(),
            threads: None,
            timeout: 30,
        }
    }
}

/// A job, as this party's configuration describes it.
pub struct Config {
    /// This party.
    pub party: Party,
    /// The terms on which both parties must agree.
    pub terms: Terms,
    /// This party's key, and its file.
    pub identity: (Identity, PathBuf),
    /// The peer's key.
    pub peer: PublicKey,
    /// The file of the program.
    pub program: PathBuf,
    /// The largest number of lanes with work or stock at the same time, if there is a limit.
    pub at_once: Option<u32>,
    /// The folder of the ledger and the stores.
    pub folder: PathBuf,
    /// The file of the stores' key.
    pub store_key: PathBuf,
    /// The input of each partition, if this party has one.
    pub inputs: Option<Vec<PathBuf>>,
    /// The folder for the outputs.
    pub sink: PathBuf,
    /// The address of the peer's coordinator.
    pub control: Control,
    /// The configuration of the workers.
    pub workers: Workers,
}

const HINT: &str =
    "docs/guides/clusters.md describes the lines of this file; examples/cluster has a pair of such files";

fn bad(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::input(format!("{}: {why}", path.display()), HINT)
}

/// Reads the file of a job. Paths in it are relative to the file.
pub fn read(path: &Path) -> Result<Config, Failure> {
    let file: File = files::toml(path, false, HINT)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let beside = |name: &Path| folder.join(name);
    let party = match file.role.as_str() {
        "garbler" => Party::Garbler,
        "evaluator" => Party::Evaluator,
        _ => return Err(bad(path, "role must be garbler or evaluator")),
    };
    security(&file.security.to_string()).map_err(|why| bad(path, why))?;
    if file.control.listen.is_some() == file.control.connect.is_some() {
        return Err(bad(path, "[control] must have listen at one party and connect at the other"));
    }
    let program_path = beside(&file.program);
    let program = programs::circuit(&program_path, &Default::default())?;
    let inputs = file.source.as_deref().map(|source| parts(&beside(source))).transpose()?;
    let takes = !program.input_ports(party).is_empty();
    if takes && inputs.is_none() {
        return Err(bad(path, "source is missing: the program takes an input of this party"));
    }
    let rows = match (&inputs, file.rows) {
        (Some(inputs), None) => {
            inputs.iter().map(|part| reading::rows(part)).collect::<Result<Vec<_>, _>>()?
        }
        (None, Some(rows)) => rows,
        (None, None) => {
            return Err(bad(path, "give source, or give rows with the number of rows of each partition"));
        }
        (Some(inputs), Some(rows)) if inputs.len() == rows.len() => rows,
        (Some(inputs), Some(rows)) => {
            return Err(bad(
                path,
                format!("source has {} files, but rows has {} numbers", inputs.len(), rows.len()),
            ));
        }
    };
    let identity_path = beside(&file.identity);
    let identity = files::identity(&identity_path)?;
    let peer = files::public_key(&named(&file.peer, folder))?;
    let keys = match party {
        Party::Garbler => [identity.public_key(), peer],
        Party::Evaluator => [peer, identity.public_key()],
    };
    let terms = Terms {
        security: file.security,
        lanes: file.lanes,
        // By default a quarter of the stocks may be made again, because lanes are sometimes lost.
        retries: file.retries.unwrap_or(file.lanes.div_ceil(4)),
        program: Program::digest(&program),
        rows,
        identities: keys.map(PublicKey::to_bytes),
    };
    terms.check()?;
    // This finds errors that would otherwise appear only in a worker.
    terms.share()?;
    let job_folder = beside(&file.folder);
    let sink = file.sink.map_or_else(|| job_folder.join("results"), |sink| beside(&sink));
    let resolved = |folder: PathBuf| folder.canonicalize().unwrap_or(folder);
    if file.source.is_some_and(|source| resolved(beside(&source)) == resolved(sink.clone())) {
        return Err(bad(
            path,
            "sink is the same folder as source; give another folder, so that results and inputs are not \
             mixed",
        ));
    }
    Ok(Config {
        party,
        terms,
        identity: (identity, identity_path),
        peer,
        program: program_path,
        at_once: file.at_once,
        store_key: beside(&file.store_key),
        folder: job_folder,
        inputs,
        sink,
        control: file.control,
        workers: file.workers,
    })
}

/// Returns a key, or the path of its file relative to the job's file.
fn named(text: &str, folder: &Path) -> String {
    match text.strip_prefix('@') {
        Some(path) => format!("@{}", folder.join(path).display()),
        None => text.to_owned(),
    }
}

/// Returns the files of a folder by name: one for each partition.
fn parts(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |e: &std::io::Error| Failure::cannot_read(&folder.display().to_string(), e);
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

    /// The two example files can be read and fit each other.
    #[test]
    fn the_examples_are_two_sides_of_one_job() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cluster");
        let [alice, bob] = ["alice.toml", "bob.toml"].map(|name| {
            let text = std::fs::read_to_string(folder.join(name)).expect("the file");
            toml::from_str::<File>(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
        });
        assert_eq!([&*alice.role, &*bob.role], ["garbler", "evaluator"]);
        assert_eq!((alice.lanes, alice.retries, alice.security), (bob.lanes, bob.retries, bob.security));
        assert_eq!(alice.program, bob.program);
        assert!(folder.join(&alice.program).is_file());
        assert!(alice.control.listen.is_some() && bob.control.connect.is_some());
    }

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
