//! Tests `serve` and `request` with two real services, over HTTP.

mod audit;
mod examples;
mod health;
mod hostile;
mod limits;
mod page;
mod refusals;
mod results;
#[cfg(unix)]
mod secrets;
mod strangers;
mod tls;
mod tokens;

use super::*;
use serde_json::json;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The configurations, keys and stores of two services.
struct Pair {
    keys: Keys,
    /// For each party, the allowed programs, as text for the end of the configuration.
    programs: [String; 2],
    /// For each party, further lines for [limits].
    limits: [String; 2],
    /// The garbler's address in the evaluator's configuration.
    address: Option<String>,
}

/// A service, which is stopped at the end of the test.
struct Service {
    child: Option<Child>,
    http: SocketAddr,
    /// The address for the peer, if the service listens.
    listening: Option<String>,
}

/// The response to an HTTP request: the status, the headers and the body.
#[derive(Debug)]
struct Got {
    status: u16,
    head: String,
    body: String,
}

impl Got {
    /// Returns the value of a metric, if it is there.
    fn metric(&self, name: &str) -> Option<f64> {
        let value = self.body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map(|value| value.parse().expect(value))
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }
}

impl Pair {
    fn new(programs: [&str; 2]) -> Pair {
        let keys = Keys::new();
        keys.write("store.key", "01".repeat(32).as_bytes());
        keys.write("token", TOKEN.as_bytes());
        Pair { keys, programs: programs.map(str::to_owned), limits: Default::default(), address: None }
    }

    fn configure(&self, role: usize) -> String {
        let [name, key, peer] = [
            ["garbler", "garbler.key", &self.keys.evaluator],
            ["evaluator", "evaluator.key", &self.keys.garbler],
        ][role];
        let place = match (&self.address, role) {
            (Some(address), 0) => format!("listen = \"{address}\""),
            (Some(address), _) => format!("connect = \"{address}\""),
            (None, _) => "listen = \"127.0.0.1:0\"".into(),
        };
        let text = format!(
            "role = \"{name}\"\nidentity = \"{key}\"\npeer = \"{peer}\"\n{place}\nhttp = \"127.0.0.1:0\"\n\
             token = \"token\"\nthreads = 1\n[limits]\n{}\n{}",
            self.limits[role], self.programs[role]
        );
        self.keys.write(&format!("{name}.toml"), text.as_bytes())
    }

    /// Returns the path of a service's log.
    fn log(&self, role: usize) -> String {
        self.keys.file(["garbler.log", "evaluator.log"][role])
    }

    /// Returns the path of a service's audit trail.
    fn audit(&self, role: usize) -> String {
        self.keys.file(["garbler.audit", "evaluator.audit"][role])
    }

    /// Returns the lines of an audit trail.
    fn audited(&self, role: usize) -> Vec<Value> {
        let text = std::fs::read_to_string(self.audit(role)).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str(line).expect(line));
        lines.inspect(|line| schema::holds_for("audit-line", line)).collect()
    }

    fn start(&self, role: usize) -> Service {
        let name = ["garbler", "evaluator"][role];
        let (config, store) = (self.configure(role), self.keys.file(&format!("{name}.store")));
        let key = self.keys.file("store.key");
        let (log, audit) = (self.log(role), self.audit(role));
        let files = ["--config", &config, "--store", &store, "--store-key", &key, "--log", &log];
        let files = [&files[..], &["--audit", &audit]].concat();
        let mut child = start(&[&["serve", "--json", "--log-format", "json"], &files[..]].concat());
        let said = line(child.stderr.as_mut().expect("a pipe"));
        let Some(http) = said.strip_prefix("requests are taken at ") else {
            panic!("{said}{}", text(&finish(child).stderr));
        };
        let http = http.parse().expect("an address");
        let listening = (role == 0 || self.address.is_none()).then(|| address(&mut child));
        Service { child: Some(child), http, listening }
    }

    /// Starts both services, and waits until they are connected.
    fn both(&mut self) -> [Service; 2] {
        let garbler = self.start(0);
        self.address = garbler.listening.clone();
        let evaluator = self.start(1);
        let both = [garbler, evaluator];
        both.iter().for_each(Service::connected);
        both
    }

    /// Changes a service's limits, and lets it read them.
    fn limit(&mut self, role: usize, service: &Service, limits: &str) {
        self.limits[role] = limits.into();
        self.reload(role, service);
    }

    /// Lets a service read its configuration again.
    fn reload(&self, role: usize, service: &Service) {
        let before = self.readings(role);
        self.configure(role);
        service.signal(rustix::process::Signal::HUP);
        self.until_read_again(role, before);
    }

    /// Returns how often a service has read its configuration again, or tried to.
    fn readings(&self, role: usize) -> usize {
        let log = std::fs::read_to_string(self.log(role)).expect("a log");
        let said = |line: &&str| [" again: ", " stays as it was: "].iter().any(|said| line.contains(said));
        log.lines().filter(said).count()
    }

    /// Waits until the service has read its configuration more often than `before`.
    fn until_read_again(&self, role: usize, before: usize) {
        let begun = Instant::now();
        while self.readings(role) == before {
            assert!(begun.elapsed() < Duration::from_secs(60), "the configuration is not read again");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Checks that both stores are sound, and have the same items left.
    fn verified(&self) {
        let key = self.keys.file("store.key");
        for name in ["garbler", "evaluator"] {
            let store = self.keys.file(&format!("{name}.store"));
            let (_, report) = good(&["stock", "verify", "--store", &store, "--store-key", &key]);
            assert!(report.is_object(), "{report}");
        }
        (0..2).for_each(|role| assert!(!self.audited(role).is_empty()));
    }
}

impl Service {
    fn get(&self, path: &str) -> Got {
        self.try_get(path).expect("an answer")
    }

    fn try_get(&self, path: &str) -> std::io::Result<Got> {
        self.get_with(path, "Host: localhost\r\n")
    }

    /// Requests a page with these headers.
    fn get_with(&self, path: &str, headers: &str) -> std::io::Result<Got> {
        ask(self.http, &format!("GET /{path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n"))
    }

    fn post(&self, token: &str, body: &str) -> Got {
        self.try_post(token, body).expect("an answer")
    }

    fn try_post(&self, token: &str, body: &str) -> std::io::Result<Got> {
        let head = format!("POST /run HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}", bearer(token));
        ask(self.http, &format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()))
    }

    fn run(&self, body: &Value) -> Got {
        self.post(TOKEN, &body.to_string())
    }

    /// Waits until a page fulfils a condition.
    fn until(&self, path: &str, holds: impl Fn(&Got) -> bool) {
        let begun = Instant::now();
        loop {
            let got = self.get(path);
            if holds(&got) {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{path}: {}", got.body);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn stocked(&self, program: &str, at_least: u64) {
        let name = format!("brickwork_stock{{program=\"{program}\"}}");
        self.until("metrics", |got| got.metric(&name).is_some_and(|count| count >= at_least as f64));
    }

    /// Waits until the peer is connected.
    fn connected(&self) {
        self.until("metrics", |got| got.metric("brickwork_peer_connected") == Some(1.0));
    }

    /// Returns the number of all runs of a program, as the page shows it.
    fn runs_ever(&self, program: &str) -> u64 {
        let page = self.get("").body;
        let (_, row) = page.split_once(&format!("<tr><td>{program}</td>")).expect("a row");
        let cell = row.split("<td class=\"number\">").nth(2).expect("a cell");
        cell.split('<').next().expect("a number").replace(' ', "").parse().expect(cell)
    }

    fn signal(&self, which: rustix::process::Signal) {
        let id = self.child.as_ref().expect("it runs").id();
        let pid = rustix::process::Pid::from_raw(id as i32).expect("a process");
        rustix::process::kill_process(pid, which).expect("a signal");
    }

    /// Stops the service, which must end without an error.
    fn stop(mut self) {
        self.signal(rustix::process::Signal::TERM);
        let output = finish(self.child.take().expect("it runs"));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        schema::holds_for("serve", &object(&output));
    }

    fn kill(&mut self) {
        self.child = None;
    }
}

fn ask(at: SocketAddr, request: &str) -> std::io::Result<Got> {
    let mut stream = TcpStream::connect(at)?;
    stream.set_read_timeout(Some(Duration::from_secs(90)))?;
    stream.write_all(request.as_bytes())?;
    let mut all = String::new();
    stream.read_to_string(&mut all)?;
    let (head, body) = all.split_once("\r\n\r\n").unwrap_or((&all, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Ok(Got { status, head: head.to_owned(), body: body.to_owned() })
}

/// Returns the header for requests with the token.
fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

fn entry(name: &str, file: &str, more: &str) -> String {
    format!("[[program]]\nname = \"{name}\"\nfile = \"{}\"\nlow = 2\nhigh = 6\n{more}\n", example(file))
}

/// Requests at either party give the program's outputs. The other party's input is its standing input, or one
/// that its user gives under the same id. Stock is made when it falls below `low`.
#[test]
fn requests_at_either_side() {
    let program = entry("richer", "millionaires.bwp", "");
    let stands = entry("richer", "millionaires.bwp", "input = \"500\"\noutputs = \"seen\"");
    let mut pair = Pair::new([&program, &stands]);
    let [garbler, evaluator] = pair.both();
    [&garbler, &evaluator].iter().for_each(|service| service.stocked("richer", 6));
    for x in [700, 300, 501, 500, 9] {
        let got = garbler.run(&json!({ "program": "richer", "input": x }));
        assert_eq!((got.status, got.json()["outputs"].clone()), (200, richer(x, 500)), "{}", got.body);
    }
    // The evaluator may write its outputs after the garbler has answered, so this waits.
    let (seen, begun) = (pair.keys.file("seen"), Instant::now());
    let seen = || std::fs::read_to_string(&seen).expect("what the evaluator learned");
    while seen().lines().count() < 5 && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(seen().lines().count(), 5, "{}", seen());
    // If a user of the evaluator gives an input under this id, it is used instead of the standing input.
    let (mine, theirs) = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| evaluator.run(&json!({ "program": "richer", "id": "a", "input": 10 })));
        std::thread::sleep(Duration::from_millis(300));
        (garbler.run(&json!({ "program": "richer", "id": "a", "input": 11 })), theirs.join().unwrap())
    });
    assert_eq!([&mine, &theirs].map(|got| got.json()["outputs"].clone()), [richer(11, 10), richer(11, 10)]);
    assert_eq!(mine.json()["id"], json!("a"));
    // Below `low` more stock is made, while programs run.
    [&garbler, &evaluator].iter().for_each(|service| service.stocked("richer", 4));
    let token = pair.keys.file("token");
    let at = garbler.http.to_string();
    let (_, report) = good(&["request", "richer", "--input", "501", "--at", &at, "--token", &token]);
    assert_eq!(report["outputs"], richer(501, 500));
    bad(
        &["request", "poorer", "--input", "501", "--at", &at, "--token", &token],
        2,
        "the program is not allowed",
    );
    // If the garbler has no input, no run for the evaluator's users begins.
    let other = std::thread::spawn(move || evaluator.stop());
    garbler.stop();
    other.join().unwrap();
    pair.verified();
}

/// Returns the output of the millionaires' program.
fn richer(garbler: u32, evaluator: u32) -> Value {
    json!({ "alice": u32::from(garbler > evaluator), "bob": u32::from(evaluator > garbler) })
}

/// A party is killed during runs and started again. Its peer connects again, runs continue, nothing is used
/// twice, and runs that had begun count.
#[test]
fn a_killed_party_comes_back() {
    let program = entry("richer", "millionaires.bwp", "input = \"500\"\n")
        .replace("low = 2", "low = 20")
        .replace("high = 6", "high = 40");
    let mut pair = Pair::new([&program, &program]);
    let [garbler, mut evaluator] = pair.both();
    garbler.stocked("richer", 20);
    let mut done = 0;
    for round in 0..3 {
        std::thread::scope(|scope| {
            let runs = scope.spawn(|| {
                (0..4)
                    .filter(|_| garbler.run(&json!({ "program": "richer", "input": 700 })).status == 200)
                    .count()
            });
            std::thread::sleep(Duration::from_millis(20 + 13 * round));
            evaluator.kill();
            evaluator = pair.start(1);
            done += runs.join().unwrap();
        });
        evaluator.until("ready", |got| got.status == 200);
        garbler.until("ready", |got| got.status == 200);
    }
    let got = garbler.run(&json!({ "program": "richer", "input": 700 }));
    assert_eq!((got.status, got.json()["outputs"].clone()), (200, richer(700, 500)), "{}", got.body);
    let runs = garbler.runs_ever("richer");
    assert!(runs > done as u64, "{done} of {runs} runs");
    garbler.stop();
    evaluator.stop();
    pair.verified();
}

/// Errors in a configuration are reported, each with a hint.
#[test]
fn a_configuration_that_is_wrong() {
    let pair = Pair::new(["", ""]);
    let (key, store) = (pair.keys.file("store.key"), pair.keys.file("some.store"));
    let good = std::fs::read_to_string(pair.configure(0)).expect("a file");
    for (from, to, words) in [
        ("role = \"garbler\"", "role = \"both\"", "role must be garbler or evaluator"),
        ("http = \"127.0.0.1:0\"", "http = \"0.0.0.0:0\"", "only from this machine"),
        ("listen", "waits", "line 4, column 1: an unknown name; expected one of `role`"),
        ("token = \"token\"", "token = \"garbler.key\"", "does not contain a token"),
        ("[limits]", "[limits]\nwaiting = 0", "would refuse everything"),
        ("[limits]", "[limits]\nrun_seconds = 18446744073709551615", "a limit of time may be"),
        ("threads = 1", "security = 41", "security"),
        ("[limits]", "[limits]\nmemory = \"much\"", "memory"),
    ] {
        let file = pair.keys.write("wrong.toml", good.replace(from, to).as_bytes());
        let arguments = ["serve", "--config", &file, "--store", &store, "--store-key", &key];
        let output = run(&arguments);
        assert_ne!(output.status.code(), Some(0), "{to}");
        assert!(text(&output.stderr).contains(words), "{to}: {}", text(&output.stderr));
    }
    // The masks of shared outputs must be new in each run, and a service keeps its inputs.
    let shared = pair.keys.write("shared.wir", SHARED.as_bytes());
    let program = entry("child", "shared.wir", "").replace(&example("shared.wir"), &shared);
    let file = pair.keys.write("wrong.toml", (good.clone() + &program).as_bytes());
    bad(&["serve", "--config", &file, "--store", &store, "--store-key", &key], 3, "shared outputs");
    // If `high` needs more memory than allowed, the hint has a number that fits.
    let serve = |high: u32| {
        let program = entry("richer", "millionaires.bwp", "").replace("high = 6", &format!("high = {high}"));
        let text = format!("{}{program}", good.replace("[limits]", "[limits]\nmemory = \"64MiB\""));
        let file = pair.keys.write("wrong.toml", text.as_bytes());
        // The configuration is read before the store's key, which does not exist here.
        let output =
            run(&["serve", "--config", &file, "--store", &store, "--store-key", "nowhere", "--json"]);
        let refused: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        refused["error"].clone()
    };
    let too_much =
        |error: &Value| error["message"].as_str().is_some_and(|message| message.contains("of memory"));
    let refused = serve(200_000);
    assert!(too_much(&refused), "{refused}");
    let hint = refused["hint"].as_str().expect("a hint");
    let fits: u32 = hint.split(' ').nth(2).and_then(|high| high.parse().ok()).expect(hint);
    assert!((7..200_000).contains(&fits), "{hint}");
    assert!(!too_much(&serve(fits)) && too_much(&serve(fits + 1)), "{hint}");
}
