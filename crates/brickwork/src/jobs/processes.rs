//! Workers that are processes of `brickwork worker`, on this machine, or on another machine where a command
//! starts them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use brickwork_base::Error as ProtocolError;
use brickwork_circuit::Program;
use brickwork_jobs::control::{JobProgress, JobWorkers};
use brickwork_jobs::coordinator::{Evidence, News, WorkerEnding, WorkerOrder};
use brickwork_jobs::terms::{JobId, JobTerms, LaneNumber, Partition};
use serde::{Deserialize, Serialize};

use super::request::{JobRequest, WorkerOptions, parts};
use super::worker::{WorkerEvent, WorkerReport, WorkerRequest, WorkerStart, WorkerTask};
use crate::engine::link::Relay;
use crate::engine::request::LinkSpeed;
use crate::engine::task::Endpoint;
use crate::failure::Error;

/// A worker's process, and the way to its stdin. A thread writes there, so a process that does not read never
/// blocks the coordinator.
struct WorkerProcess {
    child: Child,
    tasks: Option<Sender<String>>,
    /// The time when the worker was asked to stop.
    asked: Option<Instant>,
    /// True if the worker was killed, so that its current work is not continued.
    killed: Arc<AtomicBool>,
    reader: Option<std::thread::JoinHandle<()>>,
}

/// The time that a stopping worker has before it is killed. A killed worker may miss a failed check of its
/// peer. Therefore its lane does not use its stock again, and a new one is made.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time limit for a worker that only reads the log of a stock.
const LOOKING: Duration = Duration::from_secs(30);

impl WorkerProcess {
    /// Asks the worker to stop, by closing its stdin.
    fn ask(&mut self) {
        drop(self.tasks.take());
        self.asked.get_or_insert_with(Instant::now);
    }

    /// Kills the worker if it was asked to stop too long ago.
    fn lose_patience(&mut self) {
        if self.asked.is_some_and(|asked| asked.elapsed() > PATIENCE) {
            self.killed.store(true, Ordering::Relaxed);
            let _ = self.child.kill();
        }
    }
}

/// A line that the process of a worker prints.
#[derive(Debug)]
pub enum WorkerLine {
    /// The result of a task.
    Event(WorkerEvent),
    /// The report of a worker that was stopped.
    Ended(WorkerReport),
    /// The message of the error that ended the worker.
    Failed(String),
}

/// The object of an error.
#[derive(Deserialize)]
struct WorkerFailure {
    error: WorkerMessage,
}

#[derive(Deserialize)]
struct WorkerMessage {
    message: String,
}

impl WorkerLine {
    /// Reads a line, if it is one of a worker.
    fn read(line: &str) -> Option<Self> {
        let event = serde_json::from_str(line).map(WorkerLine::Event);
        let line_of = event.or_else(|_| serde_json::from_str(line).map(WorkerLine::Ended));
        let failed =
            |_| serde_json::from_str(line).map(|said: WorkerFailure| WorkerLine::Failed(said.error.message));
        line_of.or_else(failed).ok()
    }
}

/// This party's workers as processes.
pub struct WorkerProcesses<'r> {
    request: &'r JobRequest,
    /// The compiled program, which each worker gets through its stdin.
    program: Arc<Vec<u8>>,
    /// The file of inputs for each partition, if this party has inputs.
    inputs: Option<Vec<PathBuf>>,
    sink: PathBuf,
    /// The job, and the digest of its terms.
    job: (JobId, [u8; 32]),
    lanes: BTreeMap<LaneNumber, WorkerProcess>,
    sender: Sender<News>,
    news: Receiver<News>,
    /// The simulated network from this party's workers to the peer's, if there is one.
    link: Option<LinkSpeed>,
    relays: BTreeMap<LaneNumber, Relay>,
    lines: Arc<Mutex<Vec<WorkerLine>>>,
}

impl<'r> WorkerProcesses<'r> {
    /// Makes the state without workers. The request is [complete](JobRequest::for_processes).
    ///
    /// # Errors
    /// An error of input if the files of inputs cannot be listed.
    pub fn new(request: &'r JobRequest, program: &Program) -> Result<Self, Error> {
        let (sender, news) = channel();
        Ok(WorkerProcesses {
            request,
            program: Arc::new(program.to_bytes()),
            inputs: request.source.as_deref().map(parts).transpose()?,
            sink: request.sink.clone().unwrap_or_else(|| request.folder.join("results")),
            job: Default::default(),
            lanes: BTreeMap::new(),
            sender,
            news,
            link: None,
            relays: BTreeMap::new(),
            lines: Arc::default(),
        })
    }

    /// Makes this party's workers connect over a simulated network, each over one of its own.
    #[doc(hidden)]
    pub fn imitate(self, link: LinkSpeed) -> Self {
        WorkerProcesses { link: (!link.is_perfect()).then_some(link), ..self }
    }

    /// Returns all lines that workers have printed. The list is complete when all workers have ended.
    #[doc(hidden)]
    pub fn take_lines(&self) -> Vec<WorkerLine> {
        std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the path for a partition's outputs. The file's name contains its number, so both parties use
    /// the same name.
    #[doc(hidden)]
    pub fn result(&self, partition: Partition) -> PathBuf {
        self.sink.join(format!("part-{partition:05}.json"))
    }

    /// Starts the process of an attempt, and sends it its request. Returns the way to its stdin, too.
    fn spawn(
        &self,
        lane: LaneNumber,
        attempt: u32,
        address: Option<Endpoint>,
    ) -> Result<(Child, Sender<String>), ProtocolError> {
        let words = &self.request.workers.command;
        let words: Vec<String> = words.iter().map(|word| word.replace("{lane}", &lane.to_string())).collect();
        let mut command = match words.split_first() {
            Some((program, rest)) => {
                let mut command = Command::new(program);
                command.args(rest);
                command
            }
            None => Command::new(crate::system::own_program()?),
        };
        command.args(["worker", "--json", "--quiet"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (job, terms) = self.job;
        let worker = WorkerRequest { request: self.request.clone(), job, terms, lane, attempt, address };
        let start = WorkerStart { worker, program_bytes: self.program.len() as u64 };
        let (program, mut stdin) = (self.program.clone(), child.stdin.take());
        let (tasks, lines) = channel::<String>();
        // If a worker has ended, writing fails. This is noticed elsewhere.
        std::thread::spawn(move || -> std::io::Result<()> {
            let Some(stdin) = &mut stdin else { return Ok(()) };
            stdin.write_all(line(&start).as_bytes())?;
            stdin.write_all(&program)?;
            lines.iter().try_for_each(|line| stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()))
        });
        Ok((child, tasks))
    }

    fn start(
        &mut self,
        lane: LaneNumber,
        attempt: u32,
        address: Option<String>,
    ) -> Result<(), ProtocolError> {
        self.finish(lane);
        let WorkerOptions { peer_hosts, listen, advertise, .. } = &self.request.workers;
        let address = match &address {
            None => Endpoint::Listen(listen.clone()),
            Some(address) => {
                let mut address = allowed(peer_hosts, self.request.control.connect.as_deref(), address)?;
                if let Some(link) = self.link {
                    let relay = Relay::start(link, &address)?;
                    address = relay.address().to_string();
                    self.relays.insert(lane, relay);
                }
                Endpoint::Connect(address)
            }
        };
        let (mut child, tasks) = self.spawn(lane, attempt, Some(address))?;
        let (sender, advertise) = (self.sender.clone(), advertise.clone());
        let (printed, killed) = (self.lines.clone(), Arc::<AtomicBool>::default());
        let (was_killed, stdout) = (killed.clone(), child.stdout.take());
        let reader = std::thread::spawn(move || {
            let mut cause = None;
            for line in lines(stdout) {
                match &line {
                    WorkerLine::Event(WorkerEvent::Gone { cause: said }) => cause = Some(*said),
                    WorkerLine::Event(event) => {
                        let news = heard(event, (lane, attempt), advertise.as_deref());
                        news.into_iter().for_each(|news| _ = sender.send(news));
                    }
                    WorkerLine::Failed(message) => {
                        tracing::warn!("lane {lane}, attempt {attempt}, ends: {}", message.escape_debug());
                    }
                    WorkerLine::Ended(_) => {}
                }
                printed.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
            let cause = cause.unwrap_or(match was_killed.load(Ordering::Relaxed) {
                true => WorkerEnding::Stock,
                false => WorkerEnding::Line,
            });
            // A worker closes its store before it ends and closes stdout.
            let _ = sender.send(News::Gone { lane, attempt, cause });
        });
        let (tasks, reader) = (Some(tasks), Some(reader));
        self.lanes.insert(lane, WorkerProcess { child, tasks, asked: None, killed, reader });
        Ok(())
    }

    fn tell(&mut self, lane: LaneNumber, task: &WorkerTask) {
        if let Some(WorkerProcess { tasks: Some(tasks), .. }) = self.lanes.get(&lane) {
            // A worker that has died is noticed elsewhere.
            let _ = tasks.send(line(task));
        }
    }

    /// Ends a worker and waits for it.
    fn finish(&mut self, lane: LaneNumber) {
        let Some(mut process) = self.lanes.remove(&lane) else { return };
        process.ask();
        while matches!(process.child.try_wait(), Ok(None)) {
            process.lose_patience();
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = process.child.kill();
        let _ = process.child.wait();
        if let Some(reader) = process.reader.take() {
            let _ = reader.join();
        }
    }

    /// Starts a worker without a peer, which reads the log of a lane's stock. Returns whether stock may have
    /// been used for the partition.
    fn looked(&self, lane: LaneNumber, attempt: u32, partition: Partition) -> Result<bool, ProtocolError> {
        let (mut child, tasks) = self.spawn(lane, attempt, None)?;
        let (sender, said) = channel();
        let stdout = child.stdout.take();
        // Sending fails if the caller no longer waits.
        std::thread::spawn(move || sender.send(lines(stdout).next()));
        let _ = tasks.send(line(&WorkerTask::Look { partition }));
        let said = said.recv_timeout(LOOKING).ok().flatten();
        // The process ends when its stdin is closed, and closes the store.
        drop(tasks);
        ended(&mut child, PATIENCE);
        match said {
            Some(WorkerLine::Event(WorkerEvent::Found { partition: found, taken })) if found == partition => {
                Ok(taken)
            }
            _ => {
                Err(ProtocolError::Resource("a worker did not report the position of its stock's log".into()))
            }
        }
    }
}

/// Returns the line of JSON of a message to a worker.
fn line(message: &impl Serialize) -> String {
    serde_json::to_string(message).expect("a message has names as keys") + "\n"
}

/// Returns the lines of a worker, up to an object that cannot be read. Without its result the coordinator
/// would wait for ever, so such a worker counts as gone. The other lines come from a command that starts a
/// worker on another machine.
fn lines(stdout: Option<ChildStdout>) -> impl Iterator<Item = WorkerLine> {
    let lines = stdout.map(BufReader::new).into_iter().flat_map(BufRead::lines).map_while(Result::ok);
    lines.filter(|line| line.starts_with('{')).map_while(|line| {
        let read = WorkerLine::read(&line);
        if read.is_none() {
            tracing::warn!("a worker prints what this version cannot read");
        }
        read
    })
}

/// Waits for a process that was asked to end, and kills it if that takes too long.
fn ended(child: &mut Child, patience: Duration) {
    let end = Instant::now() + patience;
    while Instant::now() < end && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Returns the news in a worker's event.
fn heard(event: &WorkerEvent, (lane, attempt): (LaneNumber, u32), advertise: Option<&str>) -> Option<News> {
    Some(match event {
        WorkerEvent::Listens(address) => {
            let address = match (advertise, address.rsplit_once(':')) {
                (Some(host), Some((_, port))) => format!("{host}:{port}"),
                _ => address.clone(),
            };
            News::Listens { lane, attempt, address }
        }
        WorkerEvent::Filled { .. } => News::Filled { lane, attempt },
        WorkerEvent::Done { partition, .. } => News::Done { lane, attempt, partition: *partition },
        WorkerEvent::Found { .. } | WorkerEvent::Gone { .. } => return None,
    })
}

/// Returns the address where a worker connects to the peer's worker. The peer's coordinator has sent it as
/// text. Only a configured host name and a port number are used.
fn allowed(hosts: &[String], control: Option<&str>, address: &str) -> Result<String, ProtocolError> {
    let of_control = control.and_then(|at| at.rsplit_once(':')).map(|at| at.0);
    let mut hosts = hosts.iter().map(String::as_str).chain(of_control);
    let meant = address.rsplit_once(':').and_then(|(host, port)| {
        let port = port.parse::<NonZeroU16>().ok()?;
        hosts.find(|allowed| *allowed == host).map(|host| format!("{host}:{port}"))
    });
    meant.ok_or_else(|| {
        ProtocolError::Mismatch(format!(
            "the peer's coordinator sends a worker to {}, but the host of this address is not in peer_hosts",
            address.escape_debug()
        ))
    })
}

impl JobWorkers for WorkerProcesses<'_> {
    fn begins(&mut self, job: &JobId, terms: &JobTerms) -> Result<(), ProtocolError> {
        self.job = (*job, terms.digest());
        Ok(())
    }

    fn obey(&mut self, order: WorkerOrder) -> Result<(), ProtocolError> {
        match order {
            WorkerOrder::Start { lane, attempt, address } => self.start(lane, attempt, address)?,
            WorkerOrder::Fill { lane, partitions } => self.tell(lane, &WorkerTask::Fill { partitions }),
            WorkerOrder::Run { lane, partition } => {
                let input = self.inputs.as_ref().map(|inputs| input(&inputs[partition as usize]));
                let output = self.result(partition);
                self.tell(lane, &WorkerTask::Run { partition, input, output });
            }
            // Other workers continue in the meantime. The stopped worker reports its end, and only then its
            // lane begins again.
            WorkerOrder::Stop { lane } => _ = self.lanes.get_mut(&lane).map(WorkerProcess::ask),
            WorkerOrder::Look { .. } => {}
        }
        Ok(())
    }

    fn look(&mut self, lane: LaneNumber, attempt: u32, partition: Partition) -> Evidence {
        self.finish(lane);
        match self.looked(lane, attempt, partition) {
            Ok(false) => Evidence::NotTaken,
            Ok(true) | Err(_) => Evidence::PerhapsTaken,
        }
    }

    fn news(&mut self, wait: Duration) -> Result<Vec<News>, ProtocolError> {
        self.lanes.values_mut().for_each(WorkerProcess::lose_patience);
        match self.news.recv_timeout(wait) {
            Ok(first) => Ok(std::iter::once(first).chain(self.news.try_iter()).collect()),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(Vec::new()),
        }
    }

    fn kept(&mut self) -> Result<BTreeSet<Partition>, ProtocolError> {
        let mut kept = BTreeSet::new();
        for partition in 0..self.request.rows.as_ref().map_or(0, Vec::len) as Partition {
            if self.result(partition).try_exists()? {
                kept.insert(partition);
            }
        }
        Ok(kept)
    }

    fn stands(&mut self, progress: JobProgress) {
        tracing::info!("the job goes on: {progress}");
    }

    fn end(&mut self) {
        // All workers are asked to stop before this waits for the first one.
        self.lanes.values_mut().for_each(WorkerProcess::ask);
        let lanes: Vec<LaneNumber> = self.lanes.keys().copied().collect();
        lanes.into_iter().for_each(|lane| self.finish(lane));
    }
}

/// Returns the value of `--input` for a file of inputs.
fn input(path: &Path) -> String {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => format!("csv:{}", path.display()),
        _ => format!("@{}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    // Rows are those of the table of attacks (docs/concepts/security.md, section 14).

    use super::*;

    /// The coordinator does not wait for a worker that neither answers nor ends.
    #[cfg(unix)]
    #[test]
    fn what_hangs_is_ended() {
        use std::os::unix::process::ExitStatusExt as _;

        let mut hangs = Command::new("sleep").arg("3600").spawn().unwrap();
        ended(&mut hangs, Duration::from_millis(50));
        assert_eq!(hangs.try_wait().unwrap().and_then(|status| status.signal()), Some(9));
        let mut quick = Command::new("true").spawn().unwrap();
        ended(&mut quick, Duration::from_secs(60));
        assert!(quick.try_wait().unwrap().unwrap().success());
    }

    /// Each line of a worker is read as it was written.
    #[test]
    fn lines_of_workers_are_read() {
        let report = WorkerReport {
            lane: 1,
            attempt: 2,
            phases: None,
            cpu_seconds: 0.5,
            peak_rss_bytes: Some(1 << 40),
        };
        let filled = WorkerEvent::Filled { partitions: 3, disk_bytes: 1 << 40 };
        let read = |text: &str| WorkerLine::read(text.trim_end()).map(|line| format!("{line:?}"));
        assert_eq!(read(&line(&report)), Some(format!("{:?}", WorkerLine::Ended(report))));
        assert_eq!(read(&line(&filled)), Some(format!("{:?}", WorkerLine::Event(filled))));
        let failed = r#"{"error": {"code": 4, "message": "gone", "hint": "wait"}}"#;
        assert_eq!(read(failed).as_deref(), Some("Failed(\"gone\")"));
        assert_eq!(read(r#"{"dance": {}}"#), None);
    }

    /// Row 16 of the table of attacks: a worker connects only to a port of a configured host, and nothing
    /// else of the peer's text is used.
    #[test]
    fn row_16_nothing_of_an_address_goes_on_but_host_and_port() {
        let hosts = ["bob.example".to_owned(), "[::1]".to_owned()];
        let may = |address: &str| allowed(&hosts, Some("10.0.0.7:7000"), address);
        for (address, goes) in [
            ("bob.example:7001", "bob.example:7001"),
            ("[::1]:1", "[::1]:1"),
            ("10.0.0.7:65535", "10.0.0.7:65535"),
            ("bob.example:+07001", "bob.example:7001"),
        ] {
            assert_eq!(may(address).unwrap(), goes);
        }
        for address in [
            "bob.example:7001;touch /tmp/x",
            "bob.example:$(reboot)",
            "bob.example:0",
            "bob.example:65536",
            "bob.example:-1",
            "bob.example: 7001",
            "bob.example:",
            "bob.example",
            "bob.example:7001:7002",
            "evil.example:7001",
            "evil.example\u{1b}[2J:7001",
            "",
        ] {
            let Err(ProtocolError::Mismatch(why)) = may(address) else { panic!("{address:?} is allowed") };
            assert!(!why.contains('\u{1b}'), "{why:?}");
        }
    }
}
