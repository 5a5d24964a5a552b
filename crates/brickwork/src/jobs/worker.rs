//! One worker of a lane, with tasks from any source: a Python program calls its functions, and
//! [`serve`] reads lines of JSON.

use std::collections::HashMap;
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use brickwork_base::stop::Stop;
use brickwork_circuit::{Party, Program};
use brickwork_jobs::coordinator::{Evidence, WorkerEnding};
use brickwork_jobs::entered;
use brickwork_jobs::lane::{self, Attempt, ConnectedLane, Means};
use brickwork_jobs::terms::JobId;
use brickwork_protocol::{PhaseReport, Promise, SessionProtocol as _, TABLE_MEMORY, Unobserved};
use brickwork_store::Store;
use serde::{Deserialize, Serialize};

use super::request::{Agreed, JobRequest, Listens};
use crate::engine::Observe;
use crate::engine::request::Resources;
use crate::engine::task::Endpoint;
use crate::failure::{Error, ErrorKind};
use crate::program::MAX_PROGRAM_BYTES;
use crate::reading::{self, GivenValue, ReadingOptions};
use crate::{StoreRequest, parse_errors, resources};

/// The largest number of bytes of a task.
const MAX_TASK_BYTES: u64 = 1 << 20;

/// The largest number of bytes of a request.
const MAX_REQUEST_BYTES: u64 = 64 << 20;

/// The time for which an earlier worker may still use the store.
const IN_USE: Duration = Duration::from_secs(10);

/// A request for a worker: one attempt of a lane of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerRequest {
    /// The job, as the coordinator of this party has it. It names the rows of each partition.
    pub request: JobRequest,
    /// The identifier of the job, 64 hexadecimal digits, as both coordinators have named it.
    #[serde(with = "digits")]
    pub job: JobId,
    /// The digest of the job's terms, 64 hexadecimal digits. A worker of a job with other terms does nothing.
    #[serde(with = "digits")]
    pub terms: [u8; 32],
    /// The worker's lane, from 0.
    pub lane: u32,
    /// The attempt of the lane, from 0; for a worker that only reads the log, the lane's last attempt.
    pub attempt: u32,
    /// The address of the worker or of its peer. A worker without one only reads the log of a stock.
    #[serde(default)]
    pub address: Option<Endpoint>,
}

/// 32 bytes as hexadecimal digits.
mod digits {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    use crate::engine::hex;

    pub fn serialize<S: Serializer>(bytes: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = blake3::Hash::from_hex(&text)
            .map_err(|_| D::Error::custom("this value must be 64 hexadecimal digits"));
        bytes.map(Into::into)
    }
}

/// The first line to the process of a worker. The bytes of its program follow it, in the format `.bwp`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkerStart {
    pub worker: WorkerRequest,
    /// The length of the program.
    pub program_bytes: u64,
}

/// A task for the process of a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum WorkerTask {
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

/// The result of a task, and the other messages of a worker's process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkerEvent {
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
        /// False if no stock was used for the partition.
        taken: bool,
    },
    /// The worker ends.
    Gone {
        /// The reason, of which the peer's coordinator may learn only a part.
        cause: WorkerEnding,
    },
}

/// The report of a worker that was stopped.
#[derive(Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WorkerReport {
    /// The lane.
    pub lane: u32,
    /// The attempt of the lane.
    pub attempt: u32,
    /// The time and the bytes of each phase, if the worker had met its peer.
    pub phases: Option<Vec<PhaseReport>>,
    /// The CPU time of the process.
    pub cpu_seconds: f64,
    /// The largest memory of the process, if the system tells it.
    pub peak_rss_bytes: Option<u64>,
}

/// A worker of a lane: one attempt, with a session, a store and secrets of its own.
pub struct LaneWorker {
    request: WorkerRequest,
    agreed: Agreed,
    program: Program,
    reading: ReadingOptions,
    store: StoreRequest,
    /// The repeated program for each number of rows of a partition.
    repeated: HashMap<u32, Arc<Program>>,
    met: Option<(ConnectedLane, Store)>,
}

impl LaneWorker {
    /// Makes a worker for this program, without connecting to the peer.
    ///
    /// # Errors
    /// An error of input if the program, the rows or the options are not those of the job, or a key cannot be
    /// read; an error of usage if the lane does not exist.
    pub fn new(request: WorkerRequest, program: Program) -> Result<Self, Error> {
        let JobRequest { store_key, scale, ignore_extra_columns, rounding, .. } = &request.request;
        let agreed = request.request.agreed(&program)?;
        if agreed.terms.digest() != request.terms {
            return Err(Error::input(
                "the program, the rows or the options of this worker are not those of the job",
                "do not change them while a job runs, and give all machines the same program, rows and flags",
            ));
        }
        if request.lane >= agreed.terms.lanes {
            let lanes = agreed.terms.lanes;
            let why = format!("there is no lane {} of {lanes}", request.lane);
            return Err(Error::usage(why, "lanes are numbered from 0"));
        }
        let scales = scale.iter().map(|(name, digits)| format!("{name}={digits}").parse());
        let scales: Result<_, String> = scales.collect();
        let scales = scales.map_err(|why| Error::usage(format!("scale: {why}"), "correct it in the job"))?;
        let (ignore_extra_columns, rounding) = (*ignore_extra_columns, *rounding);
        let reading = ReadingOptions { scales, ignore_extra_columns, rounding, private: false };
        let directory = request.request.store(request.lane);
        let store = StoreRequest { store_key: store_key.clone(), ..StoreRequest::new(directory) };
        Ok(LaneWorker { request, agreed, program, reading, store, repeated: HashMap::new(), met: None })
    }

    /// Returns the role of this party.
    pub fn role(&self) -> Party {
        self.request.request.role
    }

    fn attempt(&self) -> Attempt {
        let WorkerRequest { job, lane, attempt, .. } = self.request;
        Attempt { job, lane, number: attempt }
    }

    /// Connects to the peer's worker, if the request has an address. `listens` learns the address if this
    /// worker listens.
    ///
    /// # Errors
    /// Errors of the network, and of the store if another attempt has used it.
    pub fn meet(&mut self, watch: &Observe, listens: &mut Listens) -> Result<(), Error> {
        let Some(address) = &self.request.address else { return Ok(()) };
        let JobRequest { role, workers, .. } = &self.request.request;
        let resources = Resources {
            threads: workers.threads,
            timeout: Duration::from_secs(workers.timeout.into()),
            ..Resources::default()
        };
        let store = self.store.open_when_free(IN_USE)?;
        let Agreed { terms, identity, peer } = &self.agreed;
        let attempt = self.attempt();
        let place = entered::enter(&self.store.store, store, &attempt, &terms.digest())?;
        let channel = address.meet((identity, *peer), &resources.options(*role), listens)?;
        let means = Means { threads: resources.threads(), table_memory: TABLE_MEMORY };
        let terms = lane::session_terms(terms, means)?;
        let observer = watch(brickwork_duplo::Duplo::PHASES);
        let lane = ConnectedLane::open(&attempt, *role, channel, &place, &terms, observer)?;
        self.met = Some((lane, place.store().clone()));
        Ok(())
    }

    fn met(&mut self) -> Result<(ConnectedLane, Store), Error> {
        self.met.take().ok_or_else(|| {
            Error::usage(
                "this worker has no connection to a peer",
                "give it an address; without one, it only looks",
            )
        })
    }

    /// Makes stock for this many partitions.
    ///
    /// # Errors
    /// Those of the protocol. After an error the worker has lost its connection.
    pub fn fill(&mut self, partitions: u32) -> Result<(), Error> {
        let executions = u64::from(partitions) * u64::from(self.agreed.terms.most_rows());
        let (lane, store) = self.met()?;
        self.met = Some((lane.fill(&self.program, executions)?, store));
        Ok(())
    }

    /// Runs a partition. Returns the bits of this party's outputs, and the promise. This must not show
    /// whether the evaluator recovered.
    ///
    /// # Errors
    /// As [`LaneWorker::fill`], and those of the input.
    pub fn run<'g>(
        &mut self,
        partition: u32,
        input: impl Into<GivenValue<'g>>,
    ) -> Result<(Vec<bool>, Promise), Error> {
        let (rows, role) = (self.rows(partition)?, self.role());
        let executions = Some(self.agreed.terms.rows[partition as usize]);
        let bits = reading::bits(input, &self.program, role, executions, &self.reading)?;
        let (lane, store) = self.met()?;
        let (done, lane) = lane.run(&rows, partition, &bits)?;
        self.met = Some((lane, store));
        Ok((done.outputs, done.promise))
    }

    /// Returns whether stock may have been used for a partition, according to the logs of the lane's store.
    /// The logs show nothing if another process uses the store, if the store cannot be read or is gone, or if
    /// another attempt used it last.
    ///
    /// # Errors
    /// An error of usage if the job has no such partition.
    pub fn look(&mut self, partition: u32) -> Result<bool, Error> {
        let rows = self.rows(partition)?;
        let (attempt, terms) = (self.attempt(), self.agreed.terms.digest());
        let step = lane::step(&attempt.job, partition, &rows);
        let found = |store: &Store| entered::evidence(&self.store.store, store, &attempt, &terms, &step);
        let evidence = match &self.met {
            Some((_, store)) => found(store),
            None => self.store.open_existing().map_or(Evidence::PerhapsTaken, |store| found(&store)),
        };
        Ok(evidence == Evidence::PerhapsTaken)
    }

    /// Ends the session, if there is one. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// An error of the network if the peer went away.
    pub fn close(&mut self) -> Result<Option<Vec<PhaseReport>>, Error> {
        Ok(self.met.take().map(|(lane, _)| lane.close()).transpose()?)
    }

    /// Returns the program with all executions of a partition, side by side.
    fn rows(&mut self, partition: u32) -> Result<Arc<Program>, Error> {
        let rows = self.agreed.terms.rows.get(partition as usize).copied().ok_or_else(|| {
            Error::usage(format!("the job has no partition {partition}"), "partitions are numbered from 0")
        })?;
        if let Some(program) = self.repeated.get(&rows) {
            return Ok(program.clone());
        }
        let program = Arc::new(self.program.repeat(rows as usize)?);
        self.repeated.insert(rows, program.clone());
        Ok(program)
    }

    /// Does a task of a process, and returns its result; `None` if the task is to stop.
    fn task(&mut self, task: WorkerTask) -> Result<Option<WorkerEvent>, Error> {
        Ok(Some(match task {
            WorkerTask::Fill { partitions } => {
                self.fill(partitions)?;
                WorkerEvent::Filled { partitions, disk_bytes: folder_bytes(&self.store.store) }
            }
            WorkerTask::Run { partition, input, output } => {
                let (bits, promise) = self.run(partition, input.as_deref())?;
                let executions = Some(self.agreed.terms.rows[partition as usize]);
                keep(&output, &reading::output_value(&self.program, self.role(), executions, &bits))?;
                WorkerEvent::Done { partition, promise: Box::new(promise) }
            }
            WorkerTask::Look { partition } => WorkerEvent::Found { partition, taken: self.look(partition)? },
            WorkerTask::Stop => return Ok(None),
        }))
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
fn keep(path: &Path, outputs: &impl Serialize) -> Result<(), Error> {
    let write = || -> std::io::Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut file, outputs)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        std::fs::File::open(folder)?.sync_all()
    };
    write().map_err(|e| Error::cannot_write(path, &e))
}

/// Returns the cause of a worker's end. The peer's coordinator may learn only a part of it.
fn cause(error: &Error) -> WorkerEnding {
    match error.kind() {
        ErrorKind::Peer => WorkerEnding::Check,
        ErrorKind::Stock => WorkerEnding::Stock,
        _ => WorkerEnding::Line,
    }
}

/// The hint about the messages to a worker's process.
const HINT: &str = "`brickwork worker --help` names the page that describes tasks";

/// Reads the request and the program of a worker.
fn start(input: &mut impl BufRead) -> Result<(WorkerRequest, Program), Error> {
    let unread = |e: std::io::Error| Error::cannot_read("stdin", &e);
    let mut line = String::new();
    input.by_ref().take(MAX_REQUEST_BYTES).read_line(&mut line).map_err(unread)?;
    let start = serde_json::from_str(&line);
    let WorkerStart { worker, program_bytes } = start
        .map_err(|e| Error::usage(format!("an invalid request: {}", parse_errors::of_json(&e)), HINT))?;
    let mut bytes = Vec::new();
    input.take(program_bytes.min(MAX_PROGRAM_BYTES)).read_to_end(&mut bytes).map_err(unread)?;
    Ok((worker, Program::from_bytes(&bytes)?))
}

/// Reads tasks. The end of the input, or a task to stop, stops the worker in the middle of any work.
fn tasks(mut input: impl BufRead + Send + 'static, stop: &Stop) -> Receiver<Result<WorkerTask, Error>> {
    let (sender, tasks) = channel();
    let stop = stop.clone();
    std::thread::spawn(move || {
        loop {
            let mut line = String::new();
            match input.by_ref().take(MAX_TASK_BYTES).read_line(&mut line) {
                Ok(1..) => {}
                Ok(0) | Err(_) => break,
            }
            let task = serde_json::from_str(&line).map_err(|e| {
                Error::usage(format!("the task is invalid: {}", parse_errors::of_json(&e)), HINT)
            });
            let ends = matches!(task, Ok(WorkerTask::Stop) | Err(_));
            if sender.send(task).is_err() || ends {
                break;
            }
        }
        stop.ask();
    });
    tasks
}

/// Runs the process of a worker to its end, with a request, a program and tasks from `input`. Events are
/// passed to `says`.
///
/// # Errors
/// The error that ended the worker. The last event has its cause.
pub fn serve(
    mut input: impl BufRead + Send + 'static,
    says: &mut dyn FnMut(&WorkerEvent) -> Result<(), Error>,
) -> Result<WorkerReport, Error> {
    let (request, program) = start(&mut input)?;
    let mut worker = LaneWorker::new(request, program)?;
    let stop = Stop::default();
    let tasks = tasks(input, &stop);
    let mut work = |worker: &mut LaneWorker| -> Result<(), Error> {
        let listens = &mut |address: std::net::SocketAddr| says(&WorkerEvent::Listens(address.to_string()));
        worker.meet(&|_| Box::new(Unobserved), listens)?;
        while let Ok(task) = tasks.recv() {
            match worker.task(task?)? {
                None => break,
                Some(event) => says(&event)?,
            }
        }
        Ok(())
    };
    let ended = stop.enter(|| work(&mut worker));
    // The store is closed before this worker's end can be noticed. The reason, which may be a failed check,
    // is reported before any slow work, so it arrives even if the worker is then killed.
    let phases = worker.close().ok().flatten();
    let LaneWorker { request: WorkerRequest { lane, attempt, .. }, store, .. } = worker;
    let (cause, ended) = match ended {
        // The worker waited for the peer when it was asked to stop, so the connection failed because of that.
        Err(error) if stop.is_asked() && error.kind() == ErrorKind::Network => {
            (WorkerEnding::Stopped, Ok(()))
        }
        Err(error) => (cause(&error), Err(error)),
        Ok(()) => (WorkerEnding::Stopped, Ok(())),
    };
    let said = says(&WorkerEvent::Gone { cause });
    // Opening the store again removes used items, which for a completed lane is everything.
    drop(store.open_existing());
    said.and(ended)?;
    let (cpu_seconds, peak_rss_bytes) = (resources::cpu_seconds(), resources::peak_rss_bytes());
    Ok(WorkerReport { lane, attempt, phases, cpu_seconds, peak_rss_bytes })
}
