//! Tests limits that SIGHUP changes.

use super::refusals::is;
use super::*;

/// Returns for each of these connections, oldest first, whether it is still answered.
fn answered(streams: Vec<TcpStream>) -> Vec<bool> {
    let request = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answer = |mut stream: TcpStream| {
        let mut all = String::new();
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        let answered = stream.write_all(request).and_then(|()| stream.read_to_string(&mut all));
        answered.is_ok() && all.starts_with("HTTP/1.1 200")
    };
    // The newest connection sends a request first: when it is answered, all connections have been accepted,
    // and the surplus ones were closed.
    let mut answered: Vec<bool> = streams.into_iter().rev().map(answer).collect();
    answered.reverse();
    answered
}

/// Opens this many connections, in order.
fn crowd(at: SocketAddr, count: usize) -> Vec<TcpStream> {
    (0..count).map(|_| TcpStream::connect(at).expect("a door")).collect()
}

/// If there are too many connections, the oldest one is closed. SIGHUP changes the limit.
#[test]
fn connections() {
    let program = entry("richer", "millionaires.bwp", "");
    let mut pair = Pair::new([&program, &program]);
    pair.limits[0] = "connections = 2".into();
    let garbler = pair.start(0);
    let four = crowd(garbler.http, 4);
    assert_eq!(answered(four), [false, false, true, true]);
    pair.limit(0, &garbler, "connections = 8");
    let four = crowd(garbler.http, 4);
    assert_eq!(answered(four), [true; 4]);
    pair.limit(0, &garbler, "connections = 1");
    let four = crowd(garbler.http, 4);
    assert_eq!(answered(four), [false, false, false, true]);
    garbler.stop();
}

/// The compiler's warning is about a column beyond the underlined ones; the source is still read.
#[test]
fn a_source_with_a_long_line() {
    let sum = "#parties 2\ntypedef uint_t 8 u8\ntypedef int_t 8 s8\n#input 1 u8\n#input 2 u8\n#output 1 \
               u8\nfunction void main() { output1 = input1 + input2; }\n";
    let mut pair = Pair::new(["", ""]);
    let file = pair.keys.write("sum.wir", sum.as_bytes());
    pair.programs[0] = format!("[[program]]\nname = \"sum\"\nfile = \"{file}\"\n");
    let garbler = pair.start(0);
    let far = format!("{}s8 z = input1; output1", " ".repeat(70_000));
    pair.keys.write("sum.wir", sum.replace("output1 =", &format!("{far} =")).as_bytes());
    pair.reload(0, &garbler);
    assert_eq!(garbler.get("health").status, 200);
    let log = std::fs::read_to_string(pair.log(0)).expect("a log");
    assert!(log.contains(" again: ") && !log.contains("stays as it was"), "{log}");
    garbler.stop();
}

/// SIGHUP changes the number of requests per second, the size of a body, and the token. A wrong configuration
/// changes nothing.
#[test]
fn requests() {
    let program = entry("richer", "millionaires.bwp", "");
    let mut pair = Pair::new([&program, &program]);
    let garbler = pair.start(0);
    let refused = || (0..20).filter(|_| garbler.get("metrics").status == 429).count();
    let long = "x".repeat(1000);
    assert_eq!((refused(), garbler.post(TOKEN, &long).status), (0, 400));
    pair.limit(0, &garbler, "requests_per_second = 1\nrequest_bytes = 999");
    assert!(refused() > 5);
    assert_eq!(garbler.post(TOKEN, &long).status, 413);
    pair.limit(0, &garbler, "requests_per_second = 0");
    assert_eq!(garbler.post(TOKEN, &long).status, 413, "it stays as it was");
    let other = "fedcba9876543210fedcba9876543210";
    pair.keys.write("token", other.as_bytes());
    pair.limit(0, &garbler, "");
    // The new limit is reached only after some time, because the old limit was used up.
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(garbler.post(TOKEN, &long).status, 401);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!((refused(), garbler.post(other, &long).status), (0, 400));
    garbler.stop();
}

/// SIGHUP changes at either party how long the peer may be silent, even for open lines. A stopped peer is
/// given up after the new limit. Different limits of the two parties do not close idle lines.
#[test]
fn stalling() {
    std::thread::scope(|scope| {
        let both = [1, 0].map(|stopped| scope.spawn(move || stalls(stopped)));
        both.into_iter().for_each(|stalls| stalls.join().expect("no panic"));
    });
}

/// Stops this party, and checks when the other one gives it up.
fn stalls(stopped: usize) {
    let program = entry("richer", "millionaires.bwp", "input = \"5\"\n");
    let mut pair = Pair::new([&program, &program]);
    let long = "stall_seconds = 604800\nwait_seconds = 600";
    pair.limits = [long, "stall_seconds = 5"].map(str::to_owned);
    let both = pair.both();
    both.iter().for_each(|service| service.stocked("richer", 6));
    // The pause is longer than the shorter limit.
    std::thread::sleep(Duration::from_secs(6));
    for role in 0..2 {
        let log = std::fs::read_to_string(pair.log(role)).expect("a log");
        let count = |what: &str| log.lines().filter(|line| line.contains(what)).count();
        assert_eq!((count("the peer is connected"), count("has ended")), (1, 0), "{log}");
    }
    let stays = 1 - stopped;
    for limits in [long, "stall_seconds = 2\nwait_seconds = 600"] {
        pair.limit(stays, &both[stays], limits);
    }
    // A receive call that waits already keeps the old limit until the peer sends a message.
    std::thread::sleep(Duration::from_secs(3));
    both[stopped].signal(rustix::process::Signal::STOP);
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| both[stays].run(&json!({ "program": "richer", "input": 4 })));
        both[stays].until("ready", |got| got.status == 503);
        both[stopped].signal(rustix::process::Signal::CONT);
        both.iter().for_each(|service| service.until("ready", |got| got.status == 200));
        // The earlier request gets its outputs when the peer is back, or an error about a failed run.
        let got = asks.join().unwrap();
        assert!(got.status == 200 || got.body.contains("the run failed"), "{}", got.body);
    });
    let [garbler, evaluator] = both;
    assert_eq!(garbler.run(&json!({ "program": "richer", "input": 4 })).status, 200);
    evaluator.stop();
    garbler.stop();
    pair.verified();
}

/// A budget stays used up if files outside the index are removed, emptied or added.
#[test]
fn a_budget_is_not_reset() {
    let program = entry("richer", "millionaires.bwp", "input = \"500\"\n");
    let limited = program.clone() + "total = 3\n";
    let mut pair = Pair::new([&limited, &program]);
    pair.limits[0] = "wait_seconds = 1".into();
    let [garbler, evaluator] = pair.both();
    garbler.stocked("richer", 4);
    let body = json!({ "program": "richer", "input": 700 });
    let runs: Vec<u16> = (0..4).map(|_| garbler.run(&body).status).collect();
    assert_eq!(runs, [200, 200, 200, 429]);
    garbler.stop();
    evaluator.stop();
    let store = pair.keys.file("garbler.store");
    let foreign = || {
        let entries =
            std::fs::read_dir(&store).expect("a folder").map(|entry| entry.expect("an entry").path());
        let own = ["index.redb", "keys", "segments", "lock"];
        entries.filter(|path| !own.iter().any(|own| path.ends_with(own))).collect::<Vec<_>>()
    };
    for written in ["1 0\n", "", "removed"] {
        drop(pair.keys.write("garbler.store/runs", written.as_bytes()));
        if written == "removed" {
            let all = foreign();
            assert!(!all.is_empty());
            all.iter()
                .filter(|path| path.is_file())
                .for_each(|path| std::fs::remove_file(path).expect("a file"));
        }
        let garbler = pair.start(0);
        is(&garbler.run(&body), 429, "budget is used up");
        assert_eq!(garbler.runs_ever("richer"), 3);
        garbler.stop();
    }
}
