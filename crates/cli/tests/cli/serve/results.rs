//! Tests the results of runs whose users lost their connection.

use super::refusals::is;
use super::*;

/// A user loses the connection at any time and repeats the request, even after a restart. The outputs are the
/// same, and the program runs only once.
#[test]
fn a_result_is_there_for_an_asker_that_went_away() {
    const ASKERS: u32 = 12;
    let marks = |entry: String| entry.replace("low = 2", "low = 20").replace("high = 6", "high = 24");
    let limited = marks(entry("richer", "millionaires.bwp", &format!("total = {}\n", ASKERS + 1)));
    let stands = marks(entry("richer", "millionaires.bwp", "input = \"500\"\noutputs = \"seen\"\n"));
    let mut pair = Pair::new([&limited, &stands]);
    let [garbler, evaluator] = pair.both();
    garbler.stocked("richer", 20);
    let body = |k: u32| json!({ "program": "richer", "input": 490 + 2 * k, "id": format!("asker{k}") });
    for k in 0..ASKERS {
        let body = body(k).to_string();
        let head = format!("POST /run HTTP/1.1\r\nHost: localhost\r\n{}", bearer(TOKEN));
        let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        let mut stream = TcpStream::connect(garbler.http).expect("a connection");
        stream.write_all(request.as_bytes()).expect("a request");
        std::thread::sleep(Duration::from_millis(u64::from(3 * k)));
    }
    let again = |service: &Service, k: u32| {
        let begun = Instant::now();
        loop {
            let got = service.run(&body(k));
            // The first request may still be running.
            if got.status != 409 || begun.elapsed() > Duration::from_secs(60) {
                assert_eq!((got.status, &got.json()["outputs"]), (200, &richer(490 + 2 * k, 500)), "{k}");
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    (0..ASKERS).for_each(|k| again(&garbler, k));
    assert_eq!(garbler.runs_ever("richer"), u64::from(ASKERS));
    is(&garbler.run(&json!({ "program": "richer", "input": 1, "id": "asker1" })), 409, "another input");
    garbler.stop();
    let garbler = pair.start(0);
    again(&garbler, 3);
    assert_eq!(garbler.runs_ever("richer"), u64::from(ASKERS));
    garbler.stop();
    evaluator.stop();
    pair.verified();
}

/// If outputs could not be written, the program does not run, and its budget is not charged.
#[test]
fn a_run_whose_outputs_cannot_be_written_does_not_begin() {
    let program = entry("richer", "millionaires.bwp", "");
    let stands = entry("richer", "millionaires.bwp", "input = \"500\"\noutputs = \"seen\"\n");
    let mut pair = Pair::new([&program, &stands]);
    let [garbler, evaluator] = pair.both();
    [&garbler, &evaluator].iter().for_each(|service| service.stocked("richer", 6));
    let seen = pair.keys.file("seen");
    if std::fs::metadata(&seen).is_ok() {
        std::fs::remove_file(&seen).expect("a file");
    }
    std::fs::create_dir(&seen).expect("a folder");
    let body = json!({ "program": "richer", "input": 700 });
    is(&garbler.run(&body), 503, "cannot record the run");
    assert_eq!([&garbler, &evaluator].map(|service| service.runs_ever("richer")), [0, 0]);
    std::fs::remove_dir(&seen).expect("a folder");
    assert_eq!(garbler.run(&body).status, 200);
    garbler.stop();
    evaluator.stop();
    pair.verified();
}
