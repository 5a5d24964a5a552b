//! A soak: two services run programs for a while, with stock made in the background, while processes are
//! ended and killed, the connection is cut, and clients ask for more than a budget allows. All results must
//! be right, no request may fail in quiet times, refusals must have a reason, memory must not grow, and both
//! stores must be sound and equal at the end.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::test::cargo;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The interval of the faults.
const EVERY: Duration = Duration::from_secs(20);

/// The number of rounds in which no process is stopped, so that the memory can be compared.
const QUIET: usize = 2;

/// The budget of the program of which clients ask for more runs.
const SCARCE: u64 = 30;

/// Resident memory may always grow by this much.
const SLACK_BYTES: u64 = 32 << 20;

type Outcome<T> = Result<T, String>;

fn say(what: impl std::fmt::Display) -> String {
    what.to_string()
}

/// A folder that is removed with this value.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // The remaining files are not needed.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Forwards bytes between the two services, until it must cut the connection.
struct Wire {
    door: SocketAddr,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Wire {
    fn new(to: Arc<Mutex<SocketAddr>>) -> Outcome<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(say)?;
        let door = listener.local_addr().map_err(say)?;
        let open = Arc::new(Mutex::new(Vec::new()));
        let all = open.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let at = *to.lock().expect("nobody panics in here");
                let Ok(far) = TcpStream::connect(at) else { continue };
                let ends = [&near, &far].map(|end| end.try_clone());
                let [Ok(a), Ok(b)] = ends else { continue };
                let mut open = all.lock().expect("nobody panics in here");
                open.retain(|end: &TcpStream| end.peer_addr().is_ok());
                open.extend([&near, &far].into_iter().filter_map(|end| end.try_clone().ok()));
                drop(open);
                for (mut from, mut to) in [(near, b), (far, a)] {
                    let _ = to.set_nodelay(true);
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Ok(Wire { door, open })
    }

    fn cut(&self) {
        for end in self.open.lock().expect("nobody panics in here").drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

/// Both parties, and their files.
struct World {
    binary: PathBuf,
    folder: PathBuf,
    examples: PathBuf,
    /// The public keys of the garbler and the evaluator.
    keys: [String; 2],
    garbler_at: Arc<Mutex<SocketAddr>>,
    wire: Wire,
}

struct Service {
    child: Child,
    http: SocketAddr,
}

impl World {
    fn command(&self, arguments: &[&str]) -> Outcome<String> {
        let output = Command::new(&self.binary).args(arguments).output().map_err(say)?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
            false => Err(format!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn start(&self, role: usize) -> Outcome<Service> {
        let name = ["garbler", "evaluator"][role];
        let place = match role {
            0 => format!("listen = \"{}\"", self.garbler_at.lock().expect("nobody panics in here")),
            _ => format!("connect = \"{}\"", self.wire.door),
        };
        let program = |name: &str, file: &str, input: &str, low: u32, high: u32| {
            let file = self.examples.join(file).display().to_string();
            let input = if role == 1 { format!("input = '{input}'\n") } else { String::new() };
            format!("[[program]]\nname = \"{name}\"\nfile = \"{file}\"\n{input}low = {low}\nhigh = {high}\n")
        };
        // The garbler's budget is smaller, so it refuses before the peer hears of the request.
        let scarce = format!("total = {}\n", SCARCE * (1 + role as u64));
        let block = self.examples.join("aes-128.evaluator.json").display().to_string();
        let text = format!(
            "role = \"{name}\"\nidentity = \"{name}.key\"\npeer = \"{}\"\n{place}\nhttp = \"127.0.0.1:0\"\n\
             token = \"token\"\n[limits]\nrequests_per_second = 100000\nstall_seconds = 10\n{}{}{}{scarce}",
            self.keys[1 - role],
            program("aes", "aes-128.bwp", &format!("@{block}"), 100, 200),
            program("richer", "millionaires.bwp", "500", 100, 200),
            program("scarce", "aes-128-rounds.bwp", &format!("@{block}"), 5, 10),
        );
        let config = self.path(&format!("{name}.toml"));
        std::fs::write(&config, text).map_err(say)?;
        let (store, key) = (self.path(&format!("{name}.store")), self.path("store.key"));
        let arguments = ["serve", "--config", &config, "--store", &store, "--store-key", &key];
        let log = self.path(&format!("{name}.log"));
        let mut child = Command::new(&self.binary)
            .args(["--log", &log])
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(say)?;
        let stderr = child.stderr.take().ok_or("no pipe")?;
        let mut lines = BufReader::new(stderr);
        let (mut http, mut said) = (None, String::new());
        while http.is_none() || role == 0 && !said.contains("waiting for the peer") {
            let mut line = String::new();
            if lines.read_line(&mut line).map_err(say)? == 0 {
                return Err(format!("{name} does not start: {said}"));
            }
            if let Some(at) = line.trim().strip_prefix("requests are taken at ") {
                http = Some(at.parse().map_err(say)?);
            }
            said += &line;
        }
        // All further output is in the log.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        let http = http.ok_or("no address")?;
        Ok(Service { child, http })
    }
}

impl Service {
    /// Returns the resident bytes.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) << 10
    }

    fn end(&mut self, signal: &str) -> Outcome<()> {
        let pid = self.child.id().to_string();
        Command::new("kill").args([signal, &pid]).status().map_err(say)?;
        let status = self.child.wait().map_err(say)?;
        match signal == "-TERM" && !status.success() {
            true => Err(format!("a service did not go down as it should: {status}")),
            false => Ok(()),
        }
    }

    fn until_ready(&self) -> Outcome<()> {
        let (begun, mut answer) = (Instant::now(), Err("nothing was asked".into()));
        while begun.elapsed() < Duration::from_secs(120) {
            answer = ask(self.http, "GET /ready", "");
            if answer.as_ref().is_ok_and(|(status, _)| *status == 200) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(format!("a service is not ready after two minutes: {answer:?}"))
    }
}

/// Sends a request to a service. Returns the status and the body of the answer, or an error if there was
/// none.
fn ask(at: SocketAddr, line: &str, body: &str) -> Outcome<(u16, String)> {
    let mut stream = TcpStream::connect(at).map_err(say)?;
    let _ = stream.set_nodelay(true);
    stream.set_read_timeout(Some(Duration::from_secs(90))).map_err(say)?;
    let head = format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n"
    );
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).map_err(say)?;
    let mut all = String::new();
    stream.read_to_string(&mut all).map_err(say)?;
    let (head, body) = all.split_once("\r\n\r\n").ok_or("no answer")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or("no status")?;
    Ok((status, body.to_owned()))
}

/// The clients' counts.
#[derive(Default)]
struct Counts {
    right: AtomicU64,
    /// Runs of the program with the small budget.
    scarce: AtomicU64,
    /// Requests that were refused with a reason, by status.
    refused: Mutex<BTreeMap<u16, u64>>,
    /// Requests without an answer, or whose run failed, during a fault.
    cut_off: AtomicU64,
    wrong: Mutex<Option<String>>,
    seconds: Mutex<Vec<f64>>,
    /// The number of times that a fault has begun or ended: it is odd from a fault until both parties are
    /// ready again.
    happened: AtomicU64,
    over: AtomicBool,
    at: Mutex<Option<SocketAddr>>,
}

impl Counts {
    fn is_wrong(&self, why: String) {
        self.wrong.lock().expect("nobody panics in here").get_or_insert(why);
    }

    /// Requests a run, and counts its result. Returns the outputs, and the run's time if there was no fault
    /// during the run.
    fn run(&self, at: SocketAddr, body: &Value) -> Option<(Value, Option<f64>)> {
        let (before, begun) = (self.happened.load(Ordering::SeqCst), Instant::now());
        let answer = ask(at, "POST /run", &body.to_string());
        let calm = before % 2 == 0 && before == self.happened.load(Ordering::SeqCst);
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        match answer {
            Ok((200, text)) => {
                let seconds = calm.then(|| begun.elapsed().as_secs_f64());
                return Some((parsed(&text)["outputs"].clone(), seconds));
            }
            Ok((status @ (429 | 503 | 504), text)) => {
                let said = parsed(&text);
                if !["error", "hint"].iter().all(|field| said[*field].as_str().is_some_and(|s| !s.is_empty()))
                {
                    self.is_wrong(format!("{status} without words: {text}"));
                }
                if calm && status != 429 {
                    self.is_wrong(format!("{body} is refused while nothing happens: {status} {text}"));
                }
                *self.refused.lock().expect("nobody panics in here").entry(status).or_default() += 1;
            }
            other if calm => self.is_wrong(format!("{body} fails while nothing happens: {other:?}")),
            _ => _ = self.cut_off.fetch_add(1, Ordering::SeqCst),
        }
        std::thread::sleep(Duration::from_millis(20));
        None
    }

    /// Returns the address at which the garbler takes requests, until the soak is over.
    fn place(&self) -> Option<SocketAddr> {
        loop {
            if self.over.load(Ordering::SeqCst) {
                return None;
            }
            if let Some(at) = *self.at.lock().expect("nobody panics in here") {
                return Some(at);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Requests one run after another, until the soak is over.
fn client(counts: &Counts, aes: &Value) {
    for number in 0u64.. {
        let Some(at) = counts.place() else { return };
        let is_aes = number % 4 != 3;
        let wealth = number % 1000;
        let (body, expected) = match is_aes {
            true => (json!({ "program": "aes", "input": "0x000102030405060708090a0b0c0d0e0f" }), aes.clone()),
            false => (
                json!({ "program": "richer", "input": wealth }),
                json!({ "alice": u64::from(wealth > 500), "bob": u64::from(wealth < 500) }),
            ),
        };
        let Some((outputs, seconds)) = counts.run(at, &body) else { continue };
        if outputs != expected {
            return counts.is_wrong(format!("{body} gave {outputs}"));
        }
        counts.right.fetch_add(1, Ordering::SeqCst);
        if let Some(seconds) = seconds.filter(|_| is_aes) {
            counts.seconds.lock().expect("nobody panics in here").push(seconds);
        }
    }
}

/// Requests more runs of a program than its budget allows.
fn greedy(counts: &Counts, aes: &Value) {
    let body = json!({ "program": "scarce", "input": "0x000102030405060708090a0b0c0d0e0f" });
    while let Some(at) = counts.place() {
        std::thread::sleep(Duration::from_millis(200));
        if let Some((outputs, _)) = counts.run(at, &body) {
            if outputs != *aes {
                return counts.is_wrong(format!("{body} gave {outputs}"));
            }
            counts.scarce.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Returns the number of runs that a service has counted since its start.
fn scraped(service: &Service) -> Outcome<u64> {
    let (status, text) = ask(service.http, "GET /metrics", "")?;
    if status != 200 || !text.ends_with("# EOF\n") {
        return Err(format!("/metrics answers {status}: {text}"));
    }
    let runs = text.lines().filter(|line| line.starts_with("brickwork_runs_total"));
    let counts = runs.map(|line| line.rsplit(' ').next().and_then(|n| n.parse::<u64>().ok()));
    counts.sum::<Option<u64>>().ok_or(format!("runs without a number in {text}"))
}

/// Returns the first and the last memory if it has grown: if the last third of the rounds has more than the
/// first third, by more than a third and [`SLACK_BYTES`].
fn grown(memory: &[u64]) -> Option<[u64; 2]> {
    let third = memory.len().div_ceil(3);
    let most = |part: &[u64]| part.iter().copied().max().unwrap_or(0);
    let (first, last) = (most(&memory[..third]), most(&memory[memory.len() - third..]));
    (last > first / 3 * 4 + SLACK_BYTES).then_some([first, last])
}

/// Soaks for so many minutes, and prints the counts.
pub fn run(root: &Path, minutes: &str) -> Outcome<()> {
    let minutes: f64 =
        minutes.parse().map_err(|_| "a number of minutes is needed, such as 20".to_string())?;
    cargo(root, &["build", "--release", "-q", "-p", "brickwork-cli"])?;
    let folder = Folder(std::env::temp_dir().join(format!("brickwork-soak-{}", std::process::id())));
    std::fs::create_dir(&folder.0).map_err(say)?;
    let free = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).map_err(say)?;
    let garbler_at = Arc::new(Mutex::new(free));
    let mut world = World {
        binary: root.join("target/release/brickwork"),
        folder: folder.0.clone(),
        examples: root.join("examples"),
        keys: Default::default(),
        wire: Wire::new(garbler_at.clone())?,
        garbler_at,
    };
    for (role, name) in ["garbler", "evaluator"].iter().enumerate() {
        world.keys[role] = world.command(&["keygen", "-o", &world.path(&format!("{name}.key"))])?;
    }
    world.command(&["keygen", "--store-key", "-o", &world.path("store.key")])?;
    std::fs::write(world.path("token"), TOKEN).map_err(say)?;
    Command::new("chmod").args(["600", &world.path("token")]).status().map_err(say)?;
    let inputs = ["garbler", "evaluator"].map(|name| world.examples.join(format!("aes-128.{name}.json")));
    let [key, block] = inputs.each_ref().map(|path| format!("@{}", path.display()));
    let file = world.examples.join("aes-128.bwp").display().to_string();
    let clear = world.command(&["simulate", &file, "--garbler", &key, "--evaluator", &block, "--json"])?;
    let clear: Value = serde_json::from_str(&clear).map_err(say)?;
    let aes = clear["outputs"]["garbler"].clone();

    let counts = Counts::default();
    let mut services = [world.start(0)?, world.start(1)?];
    let begun = Instant::now();
    let lasts = Duration::from_secs_f64(minutes * 60.0);
    let (mut memory, mut happened): (Vec<[u64; 2]>, [u64; 5]) = (Vec::new(), [0; 5]);
    let soaked = std::thread::scope(|scope| {
        let mut clients: Vec<_> = (0..2).map(|_| scope.spawn(|| client(&counts, &aes))).collect();
        clients.push(scope.spawn(|| greedy(&counts, &aes)));
        let soaked = (|| {
            for round in 0.. {
                services.iter().try_for_each(Service::until_ready)?;
                *counts.at.lock().expect("nobody panics in here") = Some(services[0].http);
                if counts.happened.load(Ordering::SeqCst) % 2 == 1 {
                    counts.happened.fetch_add(1, Ordering::SeqCst);
                }
                std::thread::sleep(EVERY.min(lasts / 8));
                if let Some(why) = counts.wrong.lock().expect("nobody panics in here").take() {
                    return Err(why);
                }
                if services.iter().map(scraped).sum::<Outcome<u64>>()? == 0 {
                    return Err("no run shows in the figures of either service".into());
                }
                memory.push(services.each_ref().map(Service::memory));
                if begun.elapsed() > lasts {
                    return Ok(());
                }
                if round < QUIET {
                    continue;
                }
                counts.happened.fetch_add(1, Ordering::SeqCst);
                let what = (round - QUIET) % 5;
                happened[what] += 1;
                match what {
                    0 => world.wire.cut(),
                    1 | 2 => {
                        services[1].end(["-TERM", "-KILL"][what - 1])?;
                        services[1] = world.start(1)?;
                    }
                    _ => {
                        services[0].end(["-TERM", "-KILL"][what - 3])?;
                        *counts.at.lock().expect("nobody panics in here") = None;
                        services[0] = world.start(0)?;
                    }
                }
            }
            Ok(())
        })();
        counts.over.store(true, Ordering::SeqCst);
        clients.into_iter().for_each(|client| drop(client.join()));
        soaked
    });
    let ended: Outcome<Vec<()>> = services.iter_mut().map(|service| service.end("-TERM")).collect();
    soaked?;
    ended?;
    for (role, name) in ["garbler", "evaluator"].iter().enumerate() {
        let of_role: Vec<u64> = memory.iter().map(|both| both[role]).collect();
        if let Some([first, last]) = grown(&of_role) {
            return Err(format!("the {name}'s memory grows from {first} to {last} bytes"));
        }
    }
    let scarce = counts.scarce.into_inner();
    let refused = counts.refused.into_inner().map_err(say)?;
    if scarce == 0 || scarce > SCARCE || !refused.contains_key(&429) {
        return Err(format!("{scarce} runs of a program that may run {SCARCE} times; refused: {refused:?}"));
    }
    let mut stands = Vec::new();
    for name in ["garbler", "evaluator"] {
        let place =
            [&*world.path(&format!("{name}.store")), "--store-key", &world.path("store.key"), "--json"];
        world.command(&[&["stock", "verify"], &place[..]].concat())?;
        let report = world.command(&[&["stock", "export-report"], &place[..]].concat())?;
        let report: Value = serde_json::from_str(&report).map_err(say)?;
        stands.push(uses(&report));
    }
    let [of_garbler, of_evaluator] = &stands[..] else { return Err("two parties".into()) };
    // A killed party may lack only the last use of an epoch that the other party has recorded.
    for (epoch, uses) in of_garbler {
        let theirs = of_evaluator.get(epoch).map_or(0, Vec::len);
        let shared = uses.len().min(theirs);
        if uses[..shared] != *of_evaluator.get(epoch).map_or(&[][..], |uses| &uses[..shared])
            || uses.len().abs_diff(theirs) > 1
        {
            return Err(format!("the logs of epoch {epoch} differ"));
        }
    }
    let mut seconds = counts.seconds.into_inner().map_err(say)?;
    seconds.sort_by(f64::total_cmp);
    let at = |share: f64| seconds.get((seconds.len() as f64 * share) as usize).map_or(0.0, |s| s * 1e3);
    let [cuts, evaluator_term, evaluator_kill, garbler_term, garbler_kill] = happened;
    println!(
        "{:.1} minutes: {} runs, all right; {} requests cut off; {scarce} runs of the program with a budget \
         of {SCARCE}; refused with words, by status: {refused:?}\n\
         the line was cut {cuts} times; the evaluator ended {evaluator_term} and killed {evaluator_kill} \
         times, the garbler {garbler_term} and {garbler_kill}\n\
         AES-128 while nothing happened, two clients: median {:.1} ms, 99th percentile {:.1} ms, of {}\n\
         both stores are sound, and their logs of the same uses",
        begun.elapsed().as_secs_f64() / 60.0,
        counts.right.load(Ordering::SeqCst),
        counts.cut_off.load(Ordering::SeqCst),
        at(0.5),
        at(0.99),
        seconds.len(),
    );
    let mib =
        |role: usize| memory.iter().map(|both| (both[role] >> 20).to_string()).collect::<Vec<_>>().join(" ");
    println!(
        "resident MiB of the garbler, every round: {}\n              of the evaluator: {}",
        mib(0),
        mib(1)
    );
    Ok(())
}

/// Returns for each epoch the items that its programs took, in order.
fn uses(report: &Value) -> BTreeMap<String, Vec<Value>> {
    let epochs = report["epochs"].as_array().cloned().unwrap_or_default();
    let of = |epoch: &Value| {
        let log = epoch["log"].as_array().cloned().unwrap_or_default();
        let uses = log.into_iter().filter(|entry| entry["entry"] == "use").collect();
        (epoch["id"].as_str().unwrap_or_default().to_owned(), uses)
    };
    epochs.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::grown;

    #[test]
    fn memory_that_grows_is_seen() {
        let mib = |sizes: &[u64]| sizes.iter().map(|size| size << 20).collect::<Vec<_>>();
        assert_eq!(grown(&mib(&[30, 70, 50, 40, 71, 60])), None);
        assert!(grown(&mib(&[30, 40, 60, 80, 100, 130])).is_some());
    }
}
