//! Workers that are processes of `brickwork worker`, on this machine, or on another machine where a command
//! starts them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use brickwork::ProtocolError as Error;
use brickwork::engine::link::Relay;
use brickwork::engine::request::LinkSpeed;
use brickwork::jobs::control::Crew;
use brickwork::jobs::coordinator::{Cause, Evidence, News, Order};
use brickwork::jobs::ledger::State;
use brickwork::jobs::terms::{JobId, Lane, Partition};
use serde_json::{Value, json};

use super::config::Config;
use crate::files;
use crate::report::hex;
use crate::worker::{Event, Task};

/// A worker's process, and the pipe for its tasks.
struct Process {
    child: Child,
    tasks: Option<ChildStdin>,
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

impl Process {
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

/// The workers of this party.
pub struct Processes<'c> {
    config: &'c Config,
    job: JobId,
    lanes: BTreeMap<Lane, Process>,
    sender: Sender<News>,
    news: Receiver<News>,
    /// Is called with the progress of the job.
    stands: &'c mut dyn FnMut(&State),
    /// The simulated network from this party's workers to the peer's, if there is one.
    link: Option<LinkSpeed>,
    relays: BTreeMap<Lane, Relay>,
    /// The reports that workers send when they have made stock and when they end.
    reports: Arc<Mutex<Vec<Value>>>,
}

impl<'c> Processes<'c> {
    /// Makes the state without workers. `rerun` are partitions in doubt that this party's user wants to run
    /// again.
    pub fn new(config: &'c Config, rerun: &[Partition], stands: &'c mut dyn FnMut(&State)) -> Self {
        let (sender, news) = channel();
        for &partition in rerun {
            // Sending cannot fail, because this value holds the receiver.
            let _ = sender.send(News::Consent { partition });
        }
        let (link, relays, reports) = (None, BTreeMap::new(), Arc::default());
        Processes {
            config,
            job: [0; 32],
            lanes: BTreeMap::new(),
            sender,
            news,
            stands,
            link,
            relays,
            reports,
        }
    }

    /// Makes this party's workers connect over a simulated network, each over one of its own.
    pub fn imitate(self, link: LinkSpeed) -> Self {
        Processes { link: (!link.is_perfect()).then_some(link), ..self }
    }

    /// Returns the reports of all workers. The list is complete when all workers have ended.
    pub fn reports(&self) -> Arc<Mutex<Vec<Value>>> {
        self.reports.clone()
    }

    fn store(&self, lane: Lane) -> PathBuf {
        self.config.folder.join(format!("lane-{lane}"))
    }

    /// Returns the path for a partition's outputs. The file's name contains its number, so both parties use
    /// the same name.
    pub fn result(config: &Config, partition: Partition) -> PathBuf {
        config.sink.join(format!("part-{partition:05}.json"))
    }

    /// Makes the command of a worker for an attempt, with these flags after those of the job.
    fn command(&self, lane: Lane, attempt: u32, flags: &[String]) -> Result<Command, Error> {
        let config = self.config;
        let words: Vec<String> =
            config.workers.command.iter().map(|word| word.replace("{lane}", &lane.to_string())).collect();
        let mut command = match words.split_first() {
            Some((program, rest)) => {
                let mut command = Command::new(program);
                command.args(rest);
                command
            }
            None => Command::new(std::env::current_exe()?),
        };
        command.arg("worker").arg(&config.program);
        command.args(["--role", files::role(config.party), "--job", &hex(&self.job)]);
        command.args(["--terms", &hex(&config.terms.digest())]);
        command.arg("--identity").arg(&config.identity.1).arg("--store-key").arg(&config.store_key);
        command.arg("--peer").arg(config.peer.to_string()).arg("--store").arg(self.store(lane));
        command.arg("--rows").arg(config.folder.join("rows.json"));
        let numbers = [
            ("--lane", lane),
            ("--attempt", attempt),
            ("--of", config.terms.lanes),
            ("--retries", config.terms.retries),
            ("--security", config.terms.security),
            ("--timeout", config.workers.timeout),
        ];
        numbers.iter().for_each(|(flag, number)| _ = command.arg(flag).arg(number.to_string()));
        if let Some(threads) = config.workers.threads {
            command.arg("--threads").arg(threads.to_string());
        }
        command.args(flags).args(["--json", "--quiet"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(command)
    }

    fn start(&mut self, lane: Lane, attempt: u32, address: Option<String>) -> Result<(), Error> {
        self.finish(lane);
        let flags = match &address {
            None => vec!["--listen".into(), self.config.workers.listen.clone()],
            Some(address) => {
                let Config { workers, control, .. } = self.config;
                let mut address = allowed(&workers.peer_hosts, control.connect.as_deref(), address)?;
                if let Some(link) = self.link {
                    let relay = Relay::start(link, &address)?;
                    address = relay.address().to_string();
                    self.relays.insert(lane, relay);
                }
                vec!["--connect".into(), address]
            }
        };
        let mut child = self.command(lane, attempt, &flags)?.spawn()?;
        let tasks = child.stdin.take();
        let lines = child.stdout.take().map(BufReader::new);
        let (sender, advertise) = (self.sender.clone(), self.config.workers.advertise.clone());
        let (reports, killed) = (self.reports.clone(), Arc::<AtomicBool>::default());
        let was_killed = killed.clone();
        let reader = std::thread::spawn(move || {
            let mut cause = None;
            for line in lines.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
                match heard(&line, lane, attempt, advertise.as_deref()) {
                    Some(News::Gone { cause: said, .. }) => cause = Some(said),
                    Some(news) => _ = sender.send(news),
                    None => {}
                }
                let Ok(said) = serde_json::from_str::<Value>(&line) else { continue };
                if let Some(why) = said["error"]["message"].as_str() {
                    tracing::warn!("lane {lane}, attempt {attempt}, ends: {}", why.escape_debug());
                }
                if said["cpu_seconds"].is_number() || said["filled"].is_object() {
                    reports.lock().unwrap_or_else(PoisonError::into_inner).push(said);
                }
            }
            let cause = cause.unwrap_or(match was_killed.load(Ordering::Relaxed) {
                true => Cause::Stock,
                false => Cause::Line,
            });
            // A worker closes its store before it ends and closes stdout.
            let _ = sender.send(News::Gone { lane, attempt, cause });
        });
        self.lanes.insert(lane, Process { child, tasks, asked: None, killed, reader: Some(reader) });
        Ok(())
    }

    fn tell(&mut self, lane: Lane, task: &Task) {
        if let Some(Process { tasks: Some(tasks), .. }) = self.lanes.get_mut(&lane) {
            // A worker that has died is noticed elsewhere.
            let line = format!("{}\n", json!(task));
            let _ = tasks.write_all(line.as_bytes()).and_then(|()| tasks.flush());
        }
    }

    /// Ends a worker and waits for it.
    fn finish(&mut self, lane: Lane) {
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
    fn looked(&self, lane: Lane, attempt: u32, partition: Partition) -> Result<bool, Error> {
        let mut child = self.command(lane, attempt, &[])?.spawn()?;
        let (sender, said) = channel();
        let lines = child.stdout.take().map(BufReader::new);
        std::thread::spawn(move || {
            // If this fails, the caller has stopped waiting.
            let line = lines.into_iter().flat_map(BufRead::lines).map_while(Result::ok).next();
            let _ = sender.send(line.unwrap_or_default());
        });
        let asked = match &mut child.stdin {
            Some(tasks) => tasks.write_all(format!("{}\n", json!(Task::Look { partition })).as_bytes()),
            None => Ok(()),
        };
        let line = said.recv_timeout(LOOKING).unwrap_or_default();
        // The process ends when its stdin is closed, and closes the store.
        drop(child.stdin.take());
        ended(&mut child, PATIENCE);
        asked?;
        match serde_json::from_str(&line) {
            Ok(Event::Found { partition: found, taken }) if found == partition => Ok(taken),
            _ => Err(Error::Resource("a worker did not report the position of its stock's log".into())),
        }
    }
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

/// Reads a line that a worker has printed.
fn heard(line: &str, lane: Lane, attempt: u32, advertise: Option<&str>) -> Option<News> {
    Some(match serde_json::from_str(line).ok()? {
        Event::Listens(address) => {
            let address = match (advertise, address.rsplit_once(':')) {
                (Some(host), Some((_, port))) => format!("{host}:{port}"),
                _ => address,
            };
            News::Listens { lane, attempt, address }
        }
        Event::Filled { .. } => News::Filled { lane, attempt },
        Event::Done { partition, .. } => News::Done { lane, attempt, partition },
        Event::Gone { cause } => News::Gone { lane, attempt, cause },
        Event::Found { .. } => return None,
    })
}

/// Returns the address where a worker connects to the peer's worker. The peer's coordinator has sent it as
/// text. Only a configured host name and a port number are used.
fn allowed(hosts: &[String], control: Option<&str>, address: &str) -> Result<String, Error> {
    let of_control = control.and_then(|at| at.rsplit_once(':')).map(|at| at.0);
    let mut hosts = hosts.iter().map(String::as_str).chain(of_control);
    let meant = address.rsplit_once(':').and_then(|(host, port)| {
        let port = port.parse::<NonZeroU16>().ok()?;
        hosts.find(|allowed| *allowed == host).map(|host| format!("{host}:{port}"))
    });
    meant.ok_or_else(|| {
        Error::Mismatch(format!(
            "the peer's coordinator sends a worker to {}, but the host of this address is not in peer_hosts",
            address.escape_debug()
        ))
    })
}

/// Returns a file of a started job in the job's folder, if there is one: the folder of a lane, or the file of
/// the lanes' states.
pub fn left_behind(folder: &Path) -> std::io::Result<Option<PathBuf>> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with("lane-") || name == "machines.json" {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

/// Writes a file that workers read, either completely or not at all.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

impl Crew for Processes<'_> {
    fn begins(&mut self, job: &JobId) -> Result<(), Error> {
        self.job = *job;
        let rows = self.config.folder.join("rows.json");
        Ok(write_whole(&rows, &json!(self.config.terms.rows).to_string())?)
    }

    fn obey(&mut self, order: Order) -> Result<(), Error> {
        match order {
            Order::Start { lane, attempt, address } => self.start(lane, attempt, address)?,
            Order::Fill { lane, partitions } => self.tell(lane, &Task::Fill { partitions }),
            Order::Run { lane, partition } => {
                let input = self.config.inputs.as_ref().map(|inputs| input(&inputs[partition as usize]));
                let output = Self::result(self.config, partition);
                self.tell(lane, &Task::Run { partition, input, output });
            }
            // Other workers continue in the meantime. The stopped worker reports its end, and only then its
            // lane begins again.
            Order::Stop { lane } => _ = self.lanes.get_mut(&lane).map(Process::ask),
            Order::Look { .. } => {}
        }
        Ok(())
    }

    fn look(&mut self, lane: Lane, attempt: u32, partition: Partition) -> Evidence {
        self.finish(lane);
        match self.looked(lane, attempt, partition) {
            Ok(false) => Evidence::NotTaken,
            Ok(true) | Err(_) => Evidence::PerhapsTaken,
        }
    }

    fn news(&mut self, wait: Duration) -> Result<Vec<News>, Error> {
        self.lanes.values_mut().for_each(Process::lose_patience);
        match self.news.recv_timeout(wait) {
            Ok(first) => Ok(std::iter::once(first).chain(self.news.try_iter()).collect()),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(Vec::new()),
        }
    }

    fn kept(&mut self) -> Result<BTreeSet<Partition>, Error> {
        let mut kept = BTreeSet::new();
        for partition in 0..self.config.terms.rows.len() as Partition {
            if Self::result(self.config, partition).try_exists()? {
                kept.insert(partition);
            }
        }
        Ok(kept)
    }

    fn left_behind(&self) -> Result<Option<PathBuf>, Error> {
        Ok(left_behind(&self.config.folder)?)
    }

    fn stands(&mut self, state: &State) {
        (self.stands)(state);
    }

    fn end(&mut self) {
        // All workers are asked to stop before this waits for the first one.
        self.lanes.values_mut().for_each(Process::ask);
        let lanes: Vec<Lane> = self.lanes.keys().copied().collect();
        lanes.into_iter().for_each(|lane| self.finish(lane));
    }
}

/// Returns the value of `--input` for a file of inputs.
fn input(path: &std::path::Path) -> String {
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

    /// Row 16: a worker connects only to a port of a configured host, and nothing else of the peer's text is
    /// used.
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
            let Err(Error::Mismatch(why)) = may(address) else { panic!("{address:?} is allowed") };
            assert!(!why.contains('\u{1b}'), "{why:?}");
        }
    }
}
