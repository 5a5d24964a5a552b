//! Tests the commands within another process: if another thread asks one to stop, it ends, whatever it is
//! doing.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;

use brickwork::circuit::{Party, Program};
use brickwork::control::Control;
use brickwork::engine::task::Endpoint;
use brickwork::jobs::terms::JobTerms;
use brickwork::jobs::{LaneWorker, WorkerRequest};
use brickwork::wire::tls::{self, EndpointOptions, Identity};
use brickwork::wire::{Channel, Tag};
use serde_json::json;

use super::*;

/// Writes a program that compares two numbers, and returns its path.
fn program(folder: &Path) -> String {
    let path = folder.join("p.wir");
    let text = "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n#output 1 uint_t 1\n\
                function void main() { output1 = input1 < input2; }\n";
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// A job with one lane and one partition. Its worker is the garbler's and listens, and this process is the
/// peer.
struct OneLane {
    folder: TempDir,
    request: WorkerRequest,
    program: Program,
    /// The keys of the worker and of the peer.
    keys: [Identity; 2],
}

impl OneLane {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let file = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| {
            std::fs::write(file(name), text).unwrap();
            private(&path(&file(name)));
        };
        let [(here, pem), (there, _)] = [(); 2].map(|()| Identity::generate().unwrap());
        write("key", &pem);
        write("store.key", &"07".repeat(32));
        let program = Program::clone(brickwork::Program::load(program(folder.path())).unwrap().given());
        let identities = [&here, &there].map(|key| key.public_key().to_bytes());
        let (digest, rows) = (program.digest(), vec![1]);
        let terms = JobTerms { security: 40, lanes: 1, retries: 0, program: digest, rows, identities };
        let request = serde_json::from_value(json!({
            "role": "garbler", "identity": file("key"), "peer": there.public_key().to_string(), "lanes": 1,
            "retries": 0, "rows": [1], "folder": folder.path(), "store_key": file("store.key"),
            "control": {}, "workers": { "threads": 1 },
        }));
        let address = Some(Endpoint::Listen("127.0.0.1:0".into()));
        let (request, job, terms) = (request.unwrap(), [5; 32], terms.digest());
        let request = WorkerRequest { request, job, terms, lane: 0, attempt: 0, address };
        OneLane { request, program, keys: [here, there], folder }
    }

    /// Connects to the worker and cheats. When this returns, the worker has detected the cheat, and waits
    /// until the returned connection is closed.
    fn cheats(&self, address: &str) -> Channel {
        let [here, there] = &self.keys;
        let options = EndpointOptions { party: Party::Evaluator, lanes: 1, timeout: Duration::from_secs(60) };
        let mut channel = tls::connect(address, there, here.public_key(), &options).unwrap();
        // The message is not a greeting. The worker closes its side when it has detected this.
        channel.send(Tag(3), &[0; 9]).and_then(|()| channel.flush()).unwrap();
        assert!(channel.receive_up_to(Tag(1), 1 << 10).is_ok(), "its greeting");
        while !matches!(channel.receive_up_to(Tag(1), 1 << 10), Err(brickwork::ProtocolError::Io(_))) {}
        channel
    }
}

/// A worker that has detected a cheat reports it, even if it is asked to stop before it has closed the
/// connection.
#[test]
fn a_worker_that_is_stopped_says_that_its_peer_cheated() {
    let lane = OneLane::new();
    let mut worker = LaneWorker::new(lane.request.clone(), lane.program.clone()).unwrap();
    let (line, (says, hears)) = (Control::default(), std::sync::mpsc::channel::<std::net::SocketAddr>());
    let (asks, lane) = (&line, &lane);
    let answer = std::thread::scope(|scope| {
        scope.spawn(move || {
            let channel = lane.cheats(&hears.recv().unwrap().to_string());
            asks.ask_to_stop();
            std::thread::sleep(Duration::from_secs(2));
            drop(channel);
        });
        line.run_to_next_wait(|| {
            worker.meet(&line.progress.watch(), &mut |at| {
                says.send(at).unwrap();
                Ok(())
            })
        })
    });
    line.ended();
    let error = answer.expect_err("it was no greeting");
    assert_eq!(error.exit_code(), 5, "{error}");
}

/// A worker reports a cheat before any slow work. So the report arrives even if the worker is killed later,
/// while it opens its store again.
#[test]
fn a_worker_says_that_its_peer_cheated_before_it_opens_its_store_again() {
    let lane = OneLane::new();
    let mut worker = Child::spawn(brickwork(&["worker"]).stdin(Stdio::piped()));
    let program = lane.program.to_bytes();
    let start = json!({ "worker": lane.request, "program_bytes": program.len() });
    let stdin = worker.stdin.as_mut().unwrap();
    stdin.write_all(&[format!("{start}\n").as_bytes(), &program].concat()).unwrap();
    let said: Value = serde_json::from_str(&line(worker.stdout.as_mut().unwrap())).unwrap();
    // To open the store, the worker reads the key from this pipe, into which nothing is written.
    let key = lane.folder.path().join("store.key");
    std::fs::remove_file(&key).unwrap();
    assert!(Command::new("mkfifo").args(["-m", "600"]).arg(&key).status().unwrap().success());
    drop(lane.cheats(said["listens"].as_str().unwrap()));
    // Opening this end of the pipe succeeds when the worker has opened the other end.
    let at_once = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let _kept = loop {
        match File::options().write(true).custom_flags(at_once).open(&key) {
            Ok(pipe) => break pipe,
            Err(_) => assert!(worker.try_wait().unwrap().is_none(), "it did not open its store again"),
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    worker.kill().unwrap();
    let said = text(&finish(worker).stdout);
    assert_eq!(said.lines().last(), Some(r#"{"gone":{"cause":"check"}}"#), "{said}");
}
