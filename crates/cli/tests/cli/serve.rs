//! `serve` and `request`: standing parties in two real processes, asked over HTTP.

use super::*;
use serde_json::json;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The configurations, keys and stores of two services.
struct Pair {
    keys: Keys,
    /// What both allow, behind the lines that differ.
    programs: [String; 2],
    /// Further lines of both.
    limits: String,
    /// Where the evaluator finds the garbler.
    address: Option<String>,
}

/// A service, which is gone with its test.
struct Service {
    child: Option<Child>,
    http: SocketAddr,
    /// Where its peer finds it, if it listens.
    listening: Option<String>,
}

/// What an HTTP request gave: the status, the head, the body.
struct Got {
    status: u16,
    head: String,
    body: String,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }
}

impl Pair {
    fn new(programs: [&str; 2]) -> Pair {
        let keys = Keys::new();
        keys.write("store.key", "01".repeat(32).as_bytes());
        keys.write("token", TOKEN.as_bytes());
        private(&keys.file("store.key"));
        private(&keys.file("token"));
        Pair { keys, programs: programs.map(str::to_owned), limits: String::new(), address: None }
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
             token = \"token\"\nthreads = 1\n[limits]\nwait_seconds = 40\nstall_seconds = 20\n{}\n{}",
            self.limits, self.programs[role]
        );
        self.keys.write(&format!("{name}.toml"), text.as_bytes())
    }

    /// Where a service writes its log.
    fn log(&self, role: usize) -> String {
        self.keys.file(["garbler.log", "evaluator.log"][role])
    }

    fn start(&self, role: usize) -> Service {
        let name = ["garbler", "evaluator"][role];
        let (config, store) = (self.configure(role), self.keys.file(&format!("{name}.store")));
        let key = self.keys.file("store.key");
        let log = self.log(role);
        let files = ["--config", &config, "--store", &store, "--store-key", &key, "--log", &log];
        let mut child = start(&[&["serve", "--json", "--log-format", "json"], &files[..]].concat());
        let said = line(child.stderr.as_mut().expect("a pipe"));
        let Some(http) = said.strip_prefix("requests are taken at ") else {
            panic!("{said}{}", text(&child.wait_with_output().expect("it ends").stderr));
        };
        let http = http.parse().expect("an address");
        let listening = (role == 0 || self.address.is_none()).then(|| address(&mut child));
        Service { child: Some(child), http, listening }
    }

    /// Both, connected.
    fn both(&mut self) -> [Service; 2] {
        let garbler = self.start(0);
        self.address = garbler.listening.clone();
        let evaluator = self.start(1);
        let both = [garbler, evaluator];
        both.iter().for_each(|service| service.until("ready", |got| got.status == 200));
        both
    }

    /// Both stores are sound, and say the same of what is left.
    fn verified(&self) {
        let key = self.keys.file("store.key");
        for name in ["garbler", "evaluator"] {
            let store = self.keys.file(&format!("{name}.store"));
            let (_, report) = good(&["stock", "verify", "--store", &store, "--store-key", &key]);
            assert!(report.is_object(), "{report}");
        }
    }
}

impl Service {
    fn get(&self, path: &str) -> Got {
        self.try_get(path).expect("an answer")
    }

    fn try_get(&self, path: &str) -> std::io::Result<Got> {
        ask(self.http, &format!("GET /{path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"))
    }

    fn post(&self, token: &str, body: &str) -> Got {
        self.try_post(token, body).expect("an answer")
    }

    fn try_post(&self, token: &str, body: &str) -> std::io::Result<Got> {
        let head = format!(
            "POST /run HTTP/1.1\r\nHost: here\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n"
        );
        ask(self.http, &format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()))
    }

    fn run(&self, body: &Value) -> Got {
        self.post(TOKEN, &body.to_string())
    }

    /// Waits for what a page says.
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
        let name = format!("brickwork_stock{{program=\"{program}\"}} ");
        self.until("metrics", |got| {
            let line = got.body.lines().find_map(|line| line.strip_prefix(&name));
            line.is_some_and(|count| count.parse::<u64>().expect("a number") >= at_least)
        });
    }

    fn signal(&self, which: rustix::process::Signal) {
        let id = self.child.as_ref().expect("it runs").id();
        let pid = rustix::process::Pid::from_raw(id as i32).expect("a process");
        rustix::process::kill_process(pid, which).expect("a signal");
    }

    /// Goes down as it should.
    fn stop(mut self) {
        self.signal(rustix::process::Signal::TERM);
        let output = finish(self.child.take().expect("it runs"));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        schema::holds_for("serve", &object(&output));
    }
}

impl Service {
    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("a process");
            child.wait().expect("it ends");
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
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

fn entry(name: &str, file: &str, more: &str) -> String {
    format!("[[program]]\nname = \"{name}\"\nfile = \"{}\"\nlow = 2\nhigh = 6\n{more}\n", example(file))
}

/// Requests at either side give what the program gives: with an input that stands at the other, or with one
/// that is asked for there under the same id; stock is made when it falls below its mark.
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
    // The evaluator may write down what it has learned after the garbler has answered.
    let (seen, begun) = (pair.keys.file("seen"), Instant::now());
    let seen = || std::fs::read_to_string(&seen).expect("what the evaluator learned");
    while seen().lines().count() < 5 && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(seen().lines().count(), 5, "{}", seen());
    // The evaluator's own input comes before the one that stands, if somebody gives it under this id.
    let (mine, theirs) = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| evaluator.run(&json!({ "program": "richer", "id": "a", "input": 10 })));
        std::thread::sleep(Duration::from_millis(300));
        (garbler.run(&json!({ "program": "richer", "id": "a", "input": 11 })), theirs.join().unwrap())
    });
    assert_eq!([&mine, &theirs].map(|got| got.json()["outputs"].clone()), [richer(11, 10), richer(11, 10)]);
    assert_eq!(mine.json()["id"], json!("a"));
    // Below the mark more is made, and runs go on.
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
    // Without an input of the garbler's nothing runs for the evaluator.
    let other = std::thread::spawn(move || evaluator.stop());
    garbler.stop();
    other.join().unwrap();
    pair.verified();
}

/// What the millionaires' program gives: who has more.
fn richer(garbler: u32, evaluator: u32) -> Value {
    json!({ "alice": u32::from(garbler > evaluator), "bob": u32::from(evaluator > garbler) })
}

/// What is not allowed, by either party, too much, too long, or without the token is refused, with words.
#[test]
fn refusals_are_polite() {
    let both = entry("richer", "millionaires.bwp", "input = \"5\"\ntotal = 2");
    let more = both.clone() + &entry("aes", "aes-128.bwp", "");
    let mut pair = Pair::new([&more, &both]);
    pair.limits = "request_bytes = 2000\n".into();
    let [garbler, evaluator] = pair.both();
    garbler.stocked("richer", 2);
    let is = |got: &Got, status: u16, words: &str| {
        assert_eq!(got.status, status, "{}", got.body);
        assert!(got.json()["error"].as_str().is_some_and(|error| error.contains(words)), "{}", got.body);
        assert!(got.json()["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{}", got.body);
    };
    let richer = json!({ "program": "richer", "input": 4 });
    is(&garbler.post("wrong", &richer.to_string()), 401, "token");
    is(&garbler.post(&TOKEN[1..], &richer.to_string()), 401, "token");
    is(&garbler.run(&json!({ "program": "other", "input": 4 })), 403, "not allowed");
    is(&garbler.run(&json!({ "program": "richer", "input": "four" })), 400, "");
    is(&garbler.run(&json!({ "program": "richer", "inputs": 4 })), 400, "inputs");
    is(&garbler.post(TOKEN, "nothing"), 400, "no JSON");
    is(&garbler.post(TOKEN, &"x".repeat(2001)), 413, "longer than 2000 bytes");
    is(&garbler.get("else"), 404, "nothing here");
    is(&garbler.get("run"), 405, "method");
    // The garbler allows it, the evaluator does not.
    let key = "bits:".to_owned() + &"0".repeat(128);
    is(&garbler.run(&json!({ "program": "aes", "input": key })), 403, "the peer refuses: the program is not");

    // The budget is used up at both, whoever asks, and stays so.
    assert_eq!(garbler.run(&richer).status, 200);
    assert_eq!(evaluator.run(&richer).status, 200);
    is(&garbler.run(&richer), 429, "budget");
    is(&evaluator.run(&richer), 429, "budget");
    garbler.stop();
    let garbler = pair.start(0);
    is(&garbler.run(&richer), 429, "budget");
    // Another budget, read again; the evaluator keeps its own.
    pair.programs[0] = pair.programs[0].replace("total = 2", "total = 9");
    pair.configure(0);
    garbler.signal(rustix::process::Signal::HUP);
    garbler.until("ready", |got| got.status == 200);
    let begun = Instant::now();
    let refused = loop {
        let got = garbler.run(&richer);
        if got.body.contains("the peer refuses") || begun.elapsed() > Duration::from_secs(30) {
            break got;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    is(&refused, 429, "the peer refuses: the program's budget is used up");
    garbler.stop();
    evaluator.stop();
    pair.verified();
}

/// A party that is killed in the middle of runs comes back; its peer finds it again, runs go on, nothing is used
/// twice, and what was begun counts.
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
    let runs = std::fs::read_to_string(pair.keys.file("garbler.store/runs")).expect("the book");
    assert!(runs.lines().count() > done, "{done} runs of {runs}");
    garbler.stop();
    evaluator.stop();
    pair.verified();
}

/// Strangers at either door, who say nothing, too much, or come in crowds, do not disturb a run.
#[test]
fn strangers_do_not_disturb() {
    let program = entry("richer", "millionaires.bwp", "input = \"500\"\n");
    let mut pair = Pair::new([&program, &program]);
    let [garbler, evaluator] = pair.both();
    garbler.stocked("richer", 3);
    let door: SocketAddr = garbler.listening.as_ref().expect("it listens").parse().expect("an address");
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(door).expect("a door")).collect();
    let mut noise = TcpStream::connect(door).expect("a door");
    let _ = noise.write_all(&[0x16; 100_000]);
    let slow: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(garbler.http).expect("a door");
            stream.write_all(b"POST /run HTTP/1.1\r\nHost: he").expect("a part");
            stream
        })
        .collect();
    for _ in 0..2 {
        let got = garbler.run(&json!({ "program": "richer", "input": 501 }));
        assert_eq!((got.status, got.json()["outputs"].clone()), (200, richer(700, 500)), "{}", got.body);
    }
    // More than may be there at a time: some are turned away, with an answer or at once.
    let crowd: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(garbler.http).expect("a door")).collect();
    match garbler.try_get("health") {
        Ok(got) => {
            assert!(got.status == 503 && got.head.contains("retry-after: 1"), "{} {}", got.head, got.body);
            assert!(got.json()["hint"].is_string(), "{}", got.body);
        }
        Err(e) => assert!([ErrorKind::ConnectionReset, ErrorKind::BrokenPipe].contains(&e.kind()), "{e}"),
    }
    drop((crowd, slow));
    // Once they are gone and the door has seen it, there is room again.
    let begun = Instant::now();
    while !garbler.try_get("health").is_ok_and(|got| got.status == 200) {
        assert!(begun.elapsed() < Duration::from_secs(60), "still no room");
        std::thread::sleep(Duration::from_millis(50));
    }
    let again = || {
        let body = json!({ "program": "richer", "input": 501 }).to_string();
        garbler.try_post(TOKEN, &body).ok().filter(|got| got.head.contains("cache-control"))
    };
    let got = std::iter::repeat_with(again).take(100).flatten().next().expect("an answer");
    assert_eq!(got.status, 200, "{}", got.body);
    drop(silent);
    garbler.stop();
    evaluator.stop();
}

/// The page and the figures hold what happened, and no value of a party; the page asks for nothing.
#[test]
fn a_page_without_secrets() {
    let program = entry("richer", "millionaires.bwp", "input = \"314159\"\n");
    let mut pair = Pair::new([&program, &program]);
    let [garbler, evaluator] = pair.both();
    garbler.stocked("richer", 3);
    assert_eq!(garbler.run(&json!({ "program": "richer", "input": 271828 })).status, 200);
    let (page, metrics) = (garbler.get(""), garbler.get("metrics"));
    for got in [&page, &metrics] {
        assert_eq!(got.status, 200);
        for secret in ["314159", "271828", TOKEN] {
            assert!(!got.body.contains(secret), "{secret} in {}", got.body);
        }
    }
    let body = page.body.to_lowercase();
    for asked in ["<script", "src=", "href=", "url(", "@import", "http:", "https:"] {
        assert!(!body.contains(asked), "{asked} in {body}");
    }
    assert!(
        page.head.to_lowercase().contains("content-security-policy: default-src 'none'"),
        "{}",
        page.head
    );
    assert!(body.contains("connected") && body.contains("richer"), "{body}");
    let runs = "brickwork_runs_total{program=\"richer\",outcome=\"done\"} 1";
    assert!(metrics.body.lines().any(|line| line == runs), "{}", metrics.body);
    assert_eq!(garbler.get("health").json(), json!({ "status": "up" }));
    // The logs are objects, line by line, and have what happened.
    for role in 0..2 {
        let log = std::fs::read_to_string(pair.log(role)).expect("a log");
        for secret in ["314159", "271828", TOKEN] {
            assert!(!log.contains(secret), "{secret} in {log}");
        }
        let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        assert!(lines.iter().all(|line| line["timestamp"].is_string() && line["level"].is_string()), "{log}");
        for said in ["made stock", "ran"] {
            let line = lines.iter().find(|line| line["message"] == said).expect(said);
            assert!(line["program"] == "richer" && line["milliseconds"].is_f64(), "{line}");
        }
    }
    // Who has lost its peer says so.
    evaluator.stop();
    garbler.until("ready", |got| got.status == 503);
    garbler.stop();
}

/// The browser of this machine. None if there is none, with a word, and not where `BRICKWORK_CI` is set.
fn browser() -> Option<&'static str> {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let is_there =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    let found = browsers.into_iter().find(is_there);
    if found.is_none() {
        let ci = std::env::var_os("BRICKWORK_CI").is_some_and(|set| !set.is_empty());
        assert!(!ci, "no browser of {browsers:?} is here; install one: apt-get install chromium");
        eprintln!("skipped: no browser of {browsers:?} here, which would show the status page");
    }
    found
}

/// A real browser shows the page, and asks the service for nothing else. Skipped, with a word, where there is
/// none.
#[test]
fn a_browser_shows_the_page() {
    let Some(browser) = browser() else { return };
    let program = entry("richer", "millionaires.bwp", "input = \"500\"\n");
    let mut pair = Pair::new([&program, &program]);
    let [garbler, evaluator] = pair.both();
    garbler.stocked("richer", 3);
    assert_eq!(garbler.run(&json!({ "program": "richer", "input": 700 })).status, 200);
    let (profile, picture) = (pair.keys.file("profile"), pair.keys.file("page.png"));
    let show = |what: &str| {
        let quiet =
            "--disable-quic --disable-background-networking --disable-component-update --disable-sync";
        let shape = "--headless --no-sandbox --disable-gpu --no-first-run --hide-scrollbars";
        let output = Command::new(browser)
            .args(shape.split(' ').chain(quiet.split(' ')))
            .arg("--window-size=400,1200")
            .args([&format!("--user-data-dir={profile}"), what, &format!("http://{}/", garbler.http)])
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let shown = show("--dump-dom");
    for part in
        ["<h1>Brickwork, garbler</h1>", "id=\"peer\">connected", "<td>richer</td>", "<td>compare</td>"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    show(&format!("--screenshot={picture}"));
    let png = std::fs::read(&picture).expect("a picture");
    assert!(png.starts_with(b"\x89PNG") && png.len() > 5000, "{} bytes", png.len());
    // Nothing that is not there was asked for.
    let metrics = garbler.get("metrics").body;
    assert!(!metrics.contains("brickwork_answers_total{status=\"404\"}"), "{metrics}");
    garbler.stop();
    evaluator.stop();
}

/// What is wrong in a configuration is said, with what to write.
#[test]
fn a_configuration_that_is_wrong() {
    let pair = Pair::new(["", ""]);
    let (key, store) = (pair.keys.file("store.key"), pair.keys.file("some.store"));
    let good = std::fs::read_to_string(pair.configure(0)).expect("a file");
    for (from, to, words) in [
        ("role = \"garbler\"", "role = \"both\"", "role is garbler or evaluator"),
        ("http = \"127.0.0.1:0\"", "http = \"0.0.0.0:0\"", "from this machine only"),
        ("listen", "waits", "unknown field `waits`"),
        ("token = \"token\"", "token = \"garbler.key\"", "holds no token"),
        ("wait_seconds = 40", "waiting = 0", "lets nothing through"),
        ("threads = 1", "security = 41", "security"),
        ("wait_seconds = 40", "memory = \"much\"", "memory"),
    ] {
        let file = pair.keys.write("wrong.toml", good.replace(from, to).as_bytes());
        let arguments = ["serve", "--config", &file, "--store", &store, "--store-key", &key];
        let output = run(&arguments);
        assert_ne!(output.status.code(), Some(0), "{to}");
        assert!(text(&output.stderr).contains(words), "{to}: {}", text(&output.stderr));
    }
    // More stock at a time than there is memory for: the hint says how much fits, and that does.
    let serve = |high: u32| {
        let program = entry("richer", "millionaires.bwp", "").replace("high = 6", &format!("high = {high}"));
        let text = format!("{}{program}", good.replace("wait_seconds = 40", "memory = \"64MiB\""));
        let file = pair.keys.write("wrong.toml", text.as_bytes());
        // It is read before the store's key, which is not there.
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
