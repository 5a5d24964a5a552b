//! `brickwork worker`: one lane of a job, whose tasks come line by line. `brickwork cluster` starts such
//! processes, and other schedulers may, too.
//!
//! It reads tasks as lines of JSON from stdin, and writes results as lines of JSON to stdout:
//!
//! ```text
//! {"fill": {"partitions": 3}}                                      {"filled": {"partitions": 3, …}}
//! {"run": {"partition": 0, "input": "@in.json", "output": "out"}}  {"done": {"partition": 0, …}}
//! {"look": {"partition": 0}}                                       {"found": {"taken": false, …}}
//! "stop", or the end of stdin                                      {"gone": {"cause": "stopped"}}
//! ```
//!
//! With `--listen` the first line is `{"listens": "HOST:PORT"}`. A worker without an address only reads the
//! log of a stock. No private value is sent on these pipes. A worker reads the input from the path in its
//! task. It writes the outputs to the path in its task, on disk, before `done`.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use brickwork::StoreRequest;
use brickwork::circuit::{Party, Program};
use brickwork::jobs::coordinator::{Cause, Evidence};
use brickwork::jobs::lane::{self, Attempt, Lane, Means};
use brickwork::jobs::place;
use brickwork::jobs::terms::Terms;
use brickwork::process::Owned;
use brickwork::reading;
use brickwork::resources;
use brickwork::session::Protocol as _;
use brickwork::session::{Promise, TABLE_MEMORY};
use brickwork::stock::Store;
use brickwork::stop::Stop;
use brickwork::wire::tls::{self, Identity, Listener, PublicKey};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arguments::Role;
use crate::arguments::{Address, ProgramArguments, Reading, Resources, SECURITY, security};
use crate::failure::{Failure, code};
use crate::party::parsed;
use crate::progress::Bar;
use crate::report::{Report, bit_string};
use crate::store::KeyArguments;
use crate::{files, parse_errors, print, programs};

/// The largest number of bytes of a task.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// The time for which an earlier worker may still use the store.
const IN_USE: Duration = Duration::from_secs(10);

/// Run one lane of a job, with tasks on stdin: `brickwork cluster` starts it
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
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
    /// The job, 64 hexadecimal digits, as the two coordinators named it
    #[arg(long, value_name = "DIGITS", value_parser = job)]
    job: [u8; 32],
    /// The digest of the job's terms, 64 hexadecimal digits: a worker with another program, other rows or
    /// flags does nothing
    #[arg(long, value_name = "DIGITS", value_parser = job)]
    terms: [u8; 32],
    /// This worker's lane, from 0
    #[arg(long, value_name = "N")]
    lane: u32,
    /// The attempt of the lane, from 0; for a worker that only reads the log, the lane's last attempt
    #[arg(long, value_name = "N")]
    attempt: u32,
    /// Lanes of the job
    #[arg(long, value_name = "N")]
    of: u32,
    /// Number of lost stocks of lanes that may be made again
    #[arg(long, value_name = "N")]
    retries: u32,
    /// A JSON array with the number of rows of each partition
    #[arg(long, value_name = "FILE")]
    rows: PathBuf,
    /// Statistical security of the whole job in bits; the default is 40
    #[arg(long, value_name = "40|64|80", value_parser = security)]
    security: Option<u32>,
    /// The folder of the lane's store; it is created if it does not exist
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    #[command(flatten)]
    key: KeyArguments,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    resources: Resources,
}

fn job(text: &str) -> Result<[u8; 32], String> {
    let mut id = [0; 32];
    match base16ct::lower::decode(text, &mut id) {
        Ok(digits) if digits.len() == 32 => Ok(id),
        _ => Err("it is 64 hexadecimal digits".into()),
    }
}

/// A task of a worker.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Task {
    /// Make stock.
    Fill {
        /// The number of partitions for which the stock must be enough.
        partitions: u32,
    },
    /// Run a partition.
    Run {
        /// The number of the partition.
        partition: u32,
        /// This party's input in the form of `--input`; none if the program has no input of this party.
        input: Option<String>,
        /// The file for the outputs.
        output: PathBuf,
    },
    /// Report whether stock may have been used for a partition.
    Look {
        /// The number of the partition.
        partition: u32,
    },
    /// End the worker.
    Stop,
}

/// The result of a task, and the other messages of a worker.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// The worker waits for its peer at this address.
    Listens(String),
    /// The worker has made stock.
    Filled {
        /// The number of partitions for which it is enough.
        partitions: u32,
        /// The size of the lane's store.
        disk_bytes: u64,
    },
    /// The worker has run a partition, and the outputs are durable.
    Done {
        /// The number of the partition.
        partition: u32,
        /// The promise of its run.
        promise: Box<Promise>,
    },
    /// The worker has looked into the log of the stock.
    Found {
        /// The number of the partition.
        partition: u32,
        /// False if no stock was used for it.
        taken: bool,
    },
    /// The worker ends.
    Gone {
        /// The reason, of which the peer's coordinator may learn only a part.
        cause: Cause,
    },
}

/// One attempt of a lane, with tasks from any source.
pub struct Worker {
    party: Party,
    terms: Terms,
    attempt: Attempt,
    program: Program,
    means: Means,
    reading: Reading,
    /// The lane's store.
    store: StoreRequest,
    /// The repeated program for each number of rows of a partition.
    repeated: HashMap<u32, Arc<Program>>,
    met: Option<(Lane, Store)>,
}

impl Worker {
    fn new(arguments: &Arguments, identities: [[u8; 32]; 2]) -> Result<Self, Failure> {
        let program = programs::program(&arguments.program)?.given().clone();
        let terms = Terms {
            security: arguments.security.unwrap_or(SECURITY),
            lanes: arguments.of,
            retries: arguments.retries,
            program: program.digest(),
            rows: rows_of(&arguments.rows)?,
            identities,
        };
        terms.check()?;
        if terms.digest() != arguments.terms {
            return Err(Failure::input(
                "the program, the rows or the flags of this worker are not those of the job",
                "leave them as they are while a job runs, and let all machines have the same",
            ));
        }
        let Arguments { job, lane, attempt, .. } = *arguments;
        if lane >= terms.lanes {
            return Err(Failure::usage(
                format!("there is no lane {lane} of {}", terms.lanes),
                "--lane is from 0, --of says how many there are",
            ));
        }
        Ok(Worker {
            party: arguments.role.into(),
            attempt: Attempt { job, lane, number: attempt },
            terms,
            program: (*program).clone(),
            means: Means { threads: arguments.resources.threads(), table_memory: TABLE_MEMORY },
            reading: arguments.reading.clone(),
            store: arguments.key.of(&arguments.store),
            repeated: HashMap::new(),
            met: None,
        })
    }

    /// Connects to the peer's worker; `says` receives the address if this worker listens.
    fn meet(
        &mut self,
        (identity, peer): (&Identity, PublicKey),
        address: &Address,
        options: &tls::Options,
        says: &mut dyn FnMut(Event) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if address.listen.is_none() && address.connect.is_none() {
            return Ok(());
        }
        let store = self.store.open_when_free(IN_USE)?;
        let place = place::enter(&self.store.store, store, &self.attempt, &self.terms.digest())?;
        let channel = match (&address.listen, &address.connect) {
            (Some(address), _) => {
                let listener = Listener::bind(address, identity, peer, options)?;
                says(Event::Listens(listener.local_addr()?.to_string()))?;
                listener.accept()?
            }
            (None, Some(address)) => tls::connect(address, identity, peer, options)?,
            (None, None) => return Ok(()),
        };
        let terms = lane::session_terms(&self.terms, self.means)?;
        let bar = Bar::new(brickwork::duplo::Duplo::PHASES, true);
        let lane = Lane::open(&self.attempt, self.party, channel, &place, &terms, bar)?;
        self.met = Some((lane, place.store().clone()));
        Ok(())
    }

    /// Does a task, and returns its result; none for the task to stop.
    fn task(&mut self, task: Task) -> Result<Option<Event>, Failure> {
        Ok(Some(match task {
            Task::Fill { partitions } => {
                let executions = u64::from(partitions) * u64::from(self.terms.most_rows());
                let (lane, store) = self.met()?;
                self.met = Some((lane.fill(&self.program, executions)?, store));
                Event::Filled { partitions, disk_bytes: folder_bytes(&self.store.store) }
            }
            Task::Run { partition, input, output } => self.run(partition, input.as_deref(), &output)?,
            Task::Look { partition } => {
                let rows = self.rows(partition)?;
                let step = lane::step(&self.attempt.job, partition, &rows);
                let taken = match self.evidence(&step) {
                    Evidence::NotTaken => false,
                    Evidence::PerhapsTaken => true,
                };
                Event::Found { partition, taken }
            }
            Task::Stop => return Ok(None),
        }))
    }

    fn met(&mut self) -> Result<(Lane, Store), Failure> {
        self.met.take().ok_or_else(|| {
            Failure::usage("this worker has met nobody", "give --listen or --connect; without, it only looks")
        })
    }

    /// Returns what the logs of the lane's store show. They show nothing if another process uses the store,
    /// the store cannot be read or is gone, or another attempt used it last.
    fn evidence(&self, step: &brickwork::duplo::Step) -> Evidence {
        let found = |store: &Store| {
            place::evidence(&self.store.store, store, &self.attempt, &self.terms.digest(), step)
        };
        match &self.met {
            Some((_, store)) => found(store),
            None => self.store.open_existing().map_or(Evidence::PerhapsTaken, |s| found(&s)),
        }
    }

    /// Returns the program with all executions of a partition, side by side.
    fn rows(&mut self, partition: u32) -> Result<Arc<Program>, Failure> {
        let rows = self.terms.rows.get(partition as usize).copied().ok_or_else(|| {
            Failure::usage(format!("the job has no partition {partition}"), "they are numbered from 0")
        })?;
        if let Some(program) = self.repeated.get(&rows) {
            return Ok(program.clone());
        }
        let program = Arc::new(self.program.repeat(rows as usize)?);
        self.repeated.insert(rows, program.clone());
        Ok(program)
    }

    fn run(&mut self, partition: u32, input: Option<&str>, output: &Path) -> Result<Event, Failure> {
        let (bits, promise) = self.compute(partition, input)?;
        let executions = Some(self.terms.rows[partition as usize]);
        keep(output, &reading::output_value(&self.program, self.party, executions, &bits))?;
        Ok(Event::Done { partition, promise: Box::new(promise) })
    }

    /// Runs a partition. Returns the bits of this party's outputs, and the promise. This must not show
    /// whether the evaluator recovered.
    fn compute(&mut self, partition: u32, input: Option<&str>) -> Result<(Vec<bool>, Promise), Failure> {
        let rows = self.rows(partition)?;
        let executions = Some(self.terms.rows[partition as usize]);
        let bits = reading::bits(input, &self.program, self.party, executions, &self.reading.given())?;
        let (lane, store) = self.met()?;
        let (done, lane) = lane.run(&rows, partition, &bits)?;
        self.met = Some((lane, store));
        Ok((done.outputs, done.promise))
    }
}

/// Returns the bytes of the files in a folder and its subfolders.
fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    bytes.sum()
}

/// Writes a partition's outputs to their file on disk, completely or not at all.
fn keep(path: &Path, outputs: &Value) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut file, outputs)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        std::fs::File::open(folder)?.sync_all()
    };
    write().map_err(|e| Failure::cannot_write(path, &e))
}

/// Reads the number of rows of each partition.
pub fn rows_of(path: &Path) -> Result<Vec<u32>, Failure> {
    serde_json::from_str(&files::text(path, false)?).map_err(|e| {
        Failure::input(
            format!("{}: {}", path.display(), parse_errors::of_json(&e)),
            "it holds a JSON array of numbers of rows",
        )
    })
}

/// Returns the cause of a worker's end. The peer's coordinator may learn only a part of it.
pub fn cause(failure: &Failure) -> Cause {
    match failure.kind() {
        code::PEER => Cause::Check,
        code::STOCK => Cause::Stock,
        _ => Cause::Line,
    }
}

/// Reads tasks from stdin; the end of stdin, or a task to stop, stops the worker in any work.
fn tasks(stop: &Stop) -> Receiver<Result<Task, Failure>> {
    let (sender, tasks) = channel();
    let stop = stop.clone();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = String::new();
            match std::io::Read::take(&mut input, MAX_LINE_BYTES).read_line(&mut line) {
                Ok(1..) => {}
                Ok(0) | Err(_) => break,
            }
            let task = serde_json::from_str(&line).map_err(|e| {
                Failure::usage(
                    format!("an invalid task: {}", parse_errors::of_json(&e)),
                    "`brickwork worker --help` names the page",
                )
            });
            let ends = matches!(task, Ok(Task::Stop) | Err(_));
            if sender.send(task).is_err() || ends {
                break;
            }
        }
        stop.ask();
    });
    tasks
}

/// A worker within another process of this party, which gives it tasks.
pub struct Embedded {
    worker: Owned<Worker>,
    identity: Identity,
    peer: PublicKey,
    address: Address,
    options: tls::Options,
}

impl Embedded {
    /// Makes a worker with these flags, without connecting to the peer.
    pub fn new(flags: Vec<std::ffi::OsString>) -> Result<Self, Failure> {
        let _erasing = brickwork_kernels::Erasing::begin();
        let arguments: Arguments = parsed(flags)?;
        let identity = files::identity(&arguments.identity)?;
        let peer = files::public_key(&arguments.peer)?;
        let keys = identities(arguments.role.into(), &identity, peer);
        let worker = Worker::new(&arguments, keys)?;
        let options = arguments.resources.options(worker.party);
        Ok(Embedded { worker: Owned::new(worker), identity, peer, address: arguments.address, options })
    }

    /// Connects to the peer's worker.
    pub fn meet(&mut self, listens: &mut dyn FnMut(SocketAddr)) -> Result<Report, Failure> {
        let mut says = |event: Event| {
            if let Event::Listens(address) = event {
                listens(address.parse().map_err(|_| Failure::fault("no address to listen at"))?);
            }
            Ok(())
        };
        self.worker.get_mut()?.meet((&self.identity, self.peer), &self.address, &self.options, &mut says)?;
        Ok(Report::new(Value::Null, String::new()))
    }

    /// Makes stock for this many partitions.
    pub fn fill(&mut self, partitions: u32) -> Result<Report, Failure> {
        self.report(Task::Fill { partitions })
    }

    /// Runs a partition, and returns its outputs to the calling process.
    pub fn run(&mut self, partition: u32, input: Option<&str>) -> Result<Report, Failure> {
        let (bits, promise) = self.worker.get_mut()?.compute(partition, input)?;
        let json = json!({ "partition": partition, "output_bits": bit_string(&bits), "promise": promise });
        Ok(Report::new(json, String::new()))
    }

    /// Returns whether stock may have been used for a partition.
    pub fn look(&mut self, partition: u32) -> Result<Report, Failure> {
        self.report(Task::Look { partition })
    }

    fn report(&mut self, task: Task) -> Result<Report, Failure> {
        Ok(Report::new(json!(self.worker.get_mut()?.task(task)?), String::new()))
    }

    /// Ends the session, if there is one.
    pub fn close(&mut self) -> Result<Report, Failure> {
        let phases = self.worker.get_mut()?.met.take().map(|(lane, _)| lane.close()).transpose()?;
        Ok(Report::new(json!({ "phases": phases }), String::new()))
    }
}

/// Returns the public keys of garbler and evaluator.
fn identities(party: Party, own: &Identity, peer: PublicKey) -> [[u8; 32]; 2] {
    let keys = match party {
        Party::Garbler => [own.public_key(), peer],
        Party::Evaluator => [peer, own.public_key()],
    };
    keys.map(PublicKey::to_bytes)
}

/// Runs a worker to its end.
pub fn run(arguments: &Arguments) -> Result<Report, Failure> {
    let party = Party::from(arguments.role);
    let identity = files::identity(&arguments.identity)?;
    let peer = files::public_key(&arguments.peer)?;
    let options = arguments.resources.options(party);
    let keys = identities(party, &identity, peer);
    let mut worker = Worker::new(arguments, keys)?;
    let mut says = |event: Event| print(&format!("{}\n", json!(event)));
    let stop = Stop::default();
    let tasks = tasks(&stop);
    let mut work = |worker: &mut Worker| -> Result<(), Failure> {
        worker.meet((&identity, peer), &arguments.address, &options, &mut says)?;
        while let Ok(task) = tasks.recv() {
            match worker.task(task?)? {
                None => break,
                Some(event) => says(event)?,
            }
        }
        Ok(())
    };
    let ended = stop.enter(|| work(&mut worker));
    let own = worker.store.clone();
    // The store is closed before this worker's end can be noticed. The reason, which may be a failed check,
    // is reported before any slow work, so it arrives even if the worker is then killed.
    let phases = worker.met.take().and_then(|(lane, _)| lane.close().ok());
    drop(worker);
    let (cause, ended) = match ended {
        // The worker waited for the peer when it was asked to stop, so the connection failed because of that.
        Err(failure) if stop.is_asked() && failure.is(code::NETWORK) => (Cause::Stopped, Ok(())),
        Err(failure) => (cause(&failure), Err(failure)),
        Ok(()) => (Cause::Stopped, Ok(())),
    };
    let said = print(&format!("{}\n", json!(Event::Gone { cause })));
    // Opening the store again removes used items, which for a completed lane is everything.
    drop(own.open_existing());
    said?;
    ended?;
    let json = json!({
        "lane": arguments.lane,
        "attempt": arguments.attempt,
        "phases": phases,
        "cpu_seconds": resources::cpu_seconds(),
        "peak_rss_bytes": resources::peak_rss_bytes(),
    });
    Ok(Report::new(json, String::new()))
}
