//! Tests `health`, `/ready`, HEAD, the metrics and HTTP over a Unix socket.

use super::*;
use std::os::unix::net::UnixStream;

/// Returns the exit code, and the JSON, of `health`.
fn health(at: &str, more: &[&str]) -> (Option<i32>, Value) {
    let output = run(&[&["health", "--json", "--at", at], more].concat());
    let object = object(&output);
    schema::holds_for(if output.status.success() { "health" } else { "error" }, &object);
    (output.status.code(), object)
}

/// A service that cannot serve requests names the reasons: the peer, the stock and the budget. The exit code
/// of `health` shows whether the service is ready.
#[test]
fn reasons() {
    let program = entry("richer", "millionaires.bwp", "input = \"5\"\ntotal = 1\n");
    let none = program.replace("low = 2", "low = 0");
    let mut pair = Pair::new([&none, &none]);
    let garbler = pair.start(0);
    let at = garbler.http.to_string();
    let causes = || -> Vec<Value> {
        let reasons = garbler.get("ready").json()["reasons"].clone();
        let reasons = reasons.as_array().cloned().unwrap_or_default();
        reasons.iter().map(|reason| reason["cause"].clone()).collect()
    };
    assert_eq!(causes(), ["peer", "stock"]);
    assert_eq!(health(&at, &[]), (Some(0), json!({ "status": "up", "reasons": [] })));
    let (code, failure) = health(&at, &["--ready"]);
    assert_eq!(code, Some(1));
    let message = failure["error"]["message"].as_str().expect("a message");
    assert_eq!(message, "the service is not ready: the peer is not connected; there is no stock for richer");
    pair.address = garbler.listening.clone();
    let evaluator = pair.start(1);
    garbler.connected();
    assert_eq!(causes(), ["stock"]);
    pair.programs = [program.clone(), program];
    [(0, &garbler), (1, &evaluator)].iter().for_each(|(role, service)| pair.reload(*role, service));
    garbler.until("ready", |got| got.status == 200);
    assert_eq!(health(&at, &["--ready"]), (Some(0), json!({ "status": "ready", "reasons": [] })));
    assert_eq!(garbler.run(&json!({ "program": "richer", "input": 4 })).status, 200);
    garbler.until("ready", |got| got.status == 503);
    assert_eq!(causes(), ["budget"]);
    let head = ask(garbler.http, "HEAD /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let head = head.expect("an answer");
    assert_eq!((head.status, &*head.body), (503, ""));
    evaluator.stop();
    garbler.stop();
    assert_eq!(health(&at, &[]).0, Some(4));
}

/// Runs are counted from 0, and the stock, its parts and the budgets are measured.
#[test]
fn metrics() {
    let program = entry("richer", "millionaires.bwp", "input = \"5\"\ntotal = 9\nper_hour = 7\n");
    let token = "[[tokens]]\nname = \"app\"\nfile = \"app\"\ntotal = 3\n";
    let mut pair = Pair::new([&[&program, token].concat(), &program]);
    pair.keys.write("app", &[b'a'; 32]);
    let garbler = pair.start(0);
    let got = garbler.get("metrics");
    for outcome in ["done", "failed", "refused"] {
        let name = format!("brickwork_runs_total{{program=\"richer\",outcome=\"{outcome}\"}}");
        assert_eq!(got.metric(&name), Some(0.0), "{}", got.body);
    }
    let versions = object(&run(&["--version", "--json"]));
    let build = format!(
        "brickwork_build_info{{version={},commit=\"{}\",protocol=\"{}\"}}",
        versions["version"],
        versions["commit"].as_str().unwrap_or_default(),
        versions["protocol"]
    );
    assert_eq!(got.metric(&build), Some(1.0), "{}", got.body);
    assert_eq!(got.metric("brickwork_run_seconds_count{program=\"richer\"}"), Some(0.0));
    pair.address = garbler.listening.clone();
    let evaluator = pair.start(1);
    garbler.stocked("richer", 6);
    assert_eq!(garbler.run(&json!({ "program": "richer", "input": 4 })).status, 200);
    let of = |got: &Got, start: &str| -> Vec<f64> {
        let lines = got.body.lines().filter(|line| line.starts_with(start));
        lines.map(|line| line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect(line)).collect()
    };
    let holds = |got: &Got| {
        got.metric("brickwork_budget_left{program=\"richer\",window=\"total\"}") == Some(8.0)
            && got.metric("brickwork_budget_left{program=\"richer\",window=\"hour\"}") == Some(6.0)
            && !of(got, "brickwork_stock_items{name=\"compare\"").is_empty()
    };
    garbler.until("metrics", holds);
    let got = garbler.get("metrics");
    assert!(of(&got, "brickwork_stock_bytes{").iter().any(|bytes| *bytes > 1000.0), "{}", got.body);
    assert!(of(&got, "brickwork_epoch_bound_log2{").iter().all(|bound| *bound <= -39.0), "{}", got.body);
    assert!(of(&got, "brickwork_epoch_age_seconds{").iter().all(|age| *age < 600.0), "{}", got.body);
    assert!(of(&got, "brickwork_epoch_left_seconds{").iter().all(|left| *left > 86_400.0), "{}", got.body);
    assert_eq!(of(&got, "brickwork_meetings_total"), [1.0]);
    assert_eq!(got.metric("brickwork_disk_has_room"), Some(1.0));
    // Every name that the page documents exists.
    let page = std::fs::read_to_string(example("../docs/guides/serve.md")).expect("a page");
    let described: Vec<&str> = page.split('`').filter(|word| word.starts_with("brickwork_")).collect();
    assert!(described.len() > 15, "{described:?}");
    // The metric about attempts exists only after an attempt has failed.
    for name in described.into_iter().filter(|name| *name != "brickwork_attempts_left") {
        assert!(got.body.contains(&format!("# TYPE {name} ")), "{name}");
    }
    evaluator.stop();
    garbler.stop();
}

/// A service takes requests at a Unix socket, which only its owner can use. A socket that a killed service
/// has left is replaced.
#[test]
fn a_unix_socket() {
    let program = entry("richer", "millionaires.bwp", "input = \"5\"\n");
    let mut pair = Pair::new([&program, &program]);
    let (key, store) = (pair.keys.file("store.key"), pair.keys.file("garbler.store"));
    let serve = |pair: &Pair| {
        let text = std::fs::read_to_string(pair.configure(0)).expect("a file");
        let text = text.replace("http = \"127.0.0.1:0\"", "http = \"unix:http.sock\"");
        let config = pair.keys.write("garbler.toml", text.as_bytes());
        let mut child = start(&["serve", "--config", &config, "--store", &store, "--store-key", &key]);
        let said = line(child.stderr.as_mut().expect("a pipe"));
        let at = said.strip_prefix("requests are taken at ").expect(&said).to_owned();
        let address = address(&mut child);
        (child, at, address)
    };
    let (child, at, _) = serve(&pair);
    let path = at.strip_prefix("unix:").expect(&at);
    assert_eq!(mode(path), 0o600);
    drop(child);
    assert!(Path::new(path).exists(), "it was killed");
    let (mut child, _, address) = serve(&pair);
    pair.address = Some(address);
    let evaluator = pair.start(1);
    evaluator.stocked("richer", 2);
    assert_eq!(health(&at, &[]).0, Some(0));
    let token = pair.keys.file("token");
    let (_, report) =
        good(&["request", "richer", "--input", "501", "--at", &at, "--token", &token, "--id", "a"]);
    schema::holds_for("request", &report);
    assert_eq!(report["outputs"], richer(501, 5));
    let mut stream = UnixStream::connect(path).expect("a connection");
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("sent");
    let mut all = String::new();
    stream.read_to_string(&mut all).expect("an answer");
    assert!(all.starts_with("HTTP/1.1 200") && all.ends_with("{\"status\":\"up\"}\n"), "{all}");
    evaluator.stop();
    let pid = rustix::process::Pid::from_raw(child.id() as i32).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    assert_eq!(finish(std::mem::replace(&mut child, start(&["--version"]))).status.code(), Some(0));
    assert!(!Path::new(path).exists());
    assert_eq!(health(&at, &[]).0, Some(4));
    bad(&["health", "--at", "nowhere"], 2, "expected an address such as 127.0.0.1:8080, or unix:PATH");
}
