//! Tests every refusal of a request: its status, its text, and the time for another attempt.

use super::*;

/// Asserts that a request was refused with this status and text.
pub fn is(got: &Got, status: u16, words: &str) {
    assert_eq!(got.status, status, "{}", got.body);
    let refused = got.json();
    assert!(refused["error"].as_str().is_some_and(|error| error.contains(words)), "{}", got.body);
    assert!(refused["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{}", got.body);
    let header = |name: &str| got.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let seconds = refused["retry_after"].as_u64().map(|seconds| seconds.to_string());
    assert_eq!(header("retry-after").map(str::to_owned), seconds, "{got:?}");
    assert_eq!(header("allow").is_some(), status == 405, "{got:?}");
    assert_eq!(header("www-authenticate"), (status == 401).then_some("Bearer"), "{got:?}");
}

/// A service refuses requests that are not allowed, that are too large, or that lack the token. Each refusal
/// has a text.
#[test]
fn refusals_are_polite() {
    let both = entry("richer", "millionaires.bwp", "input = \"5\"\ntotal = 2");
    let more = both.clone() + &entry("aes", "aes-128.bwp", "");
    let mut pair = Pair::new([&more, &both]);
    pair.limits[0] = "request_bytes = 2000\n".into();
    let [garbler, evaluator] = pair.both();
    garbler.stocked("richer", 2);
    // If the body of a request does not arrive, other requests do not wait for it.
    let slow = std::thread::spawn({
        let (http, head) =
            (garbler.http, format!("POST /run HTTP/1.1\r\nHost: localhost\r\n{}", bearer(TOKEN)));
        move || ask(http, &format!("{head}Content-Length: 10\r\n\r\n{{")).expect("an answer")
    });
    let richer = json!({ "program": "richer", "input": 4 });
    is(&garbler.post("wrong", &richer.to_string()), 401, "token");
    is(&garbler.post(&TOKEN[1..], &richer.to_string()), 401, "token");
    is(&garbler.run(&json!({ "program": "other", "input": 4 })), 403, "not allowed");
    is(&garbler.run(&json!({ "program": "richer", "input": "four" })), 400, "");
    is(&garbler.run(&json!({ "program": "richer", "inputs": 4 })), 400, "neither program, id nor input");
    is(&garbler.post(TOKEN, "nothing"), 400, "not JSON");
    is(&garbler.post(TOKEN, &"x".repeat(2001)), 413, "longer than 2000 bytes");
    is(&garbler.get("else"), 404, "no page with this path");
    is(&garbler.get("run"), 405, "method");
    // The garbler's configuration allows this program, and the evaluator's does not.
    let key = "bits:".to_owned() + &"0".repeat(128);
    is(&garbler.run(&json!({ "program": "aes", "input": key })), 403, "the peer refuses: the program is not");

    // The budget is used up at both parties, whichever party's users ran the program, even after a restart.
    assert_eq!(garbler.run(&richer).status, 200);
    assert_eq!(evaluator.run(&richer).status, 200);
    is(&slow.join().unwrap(), 408, "did not come in time");
    is(&garbler.run(&richer), 429, "budget");
    is(&evaluator.run(&richer), 429, "budget");
    garbler.stop();
    let garbler = pair.start(0);
    is(&garbler.run(&richer), 429, "budget");
    // The garbler gets another budget by SIGHUP, and the evaluator keeps its own.
    pair.programs[0] = pair.programs[0].replace("total = 2", "total = 9");
    pair.reload(0, &garbler);
    is(&garbler.run(&richer), 429, "the peer refuses: the program's budget is used up");
    garbler.stop();
    evaluator.stop();
    pair.verified();
}

/// A service without its peer refuses a second request with the same id, requests beyond the limit, and
/// requests that have waited too long. A client that closes its connection leaves no request behind.
#[test]
fn what_waits_is_answered() {
    let program = entry("richer", "millionaires.bwp", "");
    let mut pair = Pair::new([&program, &program]);
    pair.limits[0] = "waiting = 2\nwait_seconds = 600".into();
    let garbler = pair.start(0);
    let body = |id: &str| json!({ "program": "richer", "input": 4, "id": id });
    let waits = |count: &str| {
        let line = format!("brickwork_waiting {count}");
        garbler.until("metrics", |got| got.body.lines().any(|found| found == line));
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| garbler.run(&body("a")));
        waits("1");
        is(&garbler.run(&body("a")), 409, "a request with this id already waits");
        // This client closes the connection before it gets an answer.
        let mut gone = TcpStream::connect(garbler.http).expect("a door");
        let text = body("b").to_string();
        let head = format!("POST /run HTTP/1.1\r\nHost: localhost\r\n{}", bearer(TOKEN));
        let head = format!("{head}Content-Length: {}\r\n\r\n", text.len());
        gone.write_all(format!("{head}{text}").as_bytes()).expect("a request");
        waits("2");
        is(&garbler.run(&body("c")), 503, "too many requests wait");
        drop(gone);
        waits("1");
        let third = scope.spawn(|| garbler.run(&body("c")));
        waits("2");
        // With a new limit the next request waits only this long, even without a peer.
        pair.limits[0] = "waiting = 3\nwait_seconds = 1".into();
        pair.reload(0, &garbler);
        is(&garbler.run(&body("d")), 504, "could not begin in time");
        // If a program is not allowed any more, its waiting requests are refused.
        let programs = std::mem::take(&mut pair.programs[0]);
        pair.reload(0, &garbler);
        [first, third].into_iter().for_each(|waits| is(&waits.join().unwrap(), 403, "not allowed"));
        pair.programs[0] = programs;
        pair.limits[0] = "waiting = 3".into();
        pair.reload(0, &garbler);
        // Requests that wait when the service stops get this answer.
        let last = scope.spawn(|| garbler.run(&body("e")));
        waits("1");
        garbler.signal(rustix::process::Signal::TERM);
        is(&last.join().unwrap(), 503, "shutting down");
    });
}

/// If a run has no stock, or no input of the peer, the request is refused after the limit of time.
#[test]
fn what_is_lacking() {
    let program = entry("richer", "millionaires.bwp", "");
    let none = program.replace("low = 2", "low = 0");
    let mut pair = Pair::new([&none, &none]);
    pair.limits = ["wait_seconds = 1", "wait_seconds = 1"].map(str::to_owned);
    let [garbler, evaluator] = pair.both();
    let body = json!({ "program": "richer", "input": 4 });
    [&garbler, &evaluator].iter().for_each(|service| is(&service.run(&body), 504, "in time"));
    // Now there is stock, and the other party's input is missing.
    pair.programs = [program.clone(), program];
    [(0, &garbler), (1, &evaluator)].iter().for_each(|(role, service)| pair.reload(*role, service));
    [&garbler, &evaluator].iter().for_each(|service| service.stocked("richer", 2));
    [&garbler, &evaluator].iter().for_each(|service| is(&service.run(&body), 504, "in time"));
    evaluator.stop();
    garbler.stop();
}

/// Requests with the token are counted separately from those without it. If there are too many with the
/// token, some are refused.
#[test]
fn too_many_requests() {
    let program = entry("richer", "millionaires.bwp", "");
    let mut pair = Pair::new([&program, &program]);
    pair.limits[0] = "requests_per_second = 1".into();
    let garbler = pair.start(0);
    let with = format!("Host: localhost\r\n{}", bearer(TOKEN));
    let refused = |headers: &str| {
        let ask = || garbler.get_with("metrics", headers).expect("an answer");
        let got: Vec<Got> = std::iter::repeat_with(ask).take(20).collect();
        let refused: Vec<&Got> = got.iter().filter(|got| got.status != 200).collect();
        refused.iter().for_each(|got| is(got, 429, "too many requests"));
        (got[0].status, refused.len())
    };
    assert!(refused("Host: localhost\r\n").1 > 5, "strangers had their turns");
    let (first, of_many) = refused(&with);
    assert!(first == 200 && of_many > 5, "the one with the token had {of_many} of 20 refused");
    assert!((0..20).all(|_| garbler.get("health").status == 200), "a supervisor is always answered");
    // The name of the scheme may have letters of either case: the service knows the token, and refuses only
    // the body.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let post = |scheme: &str| {
        let with = with.replace("Bearer", scheme);
        let text = format!("POST /run HTTP/1.1\r\n{with}Connection: close\r\nContent-Length: 2\r\n\r\n[]");
        ask(garbler.http, &text).expect("an answer").status
    };
    assert_eq!(post("bEARER"), 400);
    assert_eq!(post("Basic"), 401);
    garbler.stop();
}

/// A program runs as often in an hour as its budget allows. A refusal contains the time of the next run, even
/// if the peer's budget is used up, and after a restart.
#[test]
fn a_budget_for_each_hour() {
    let program = entry("richer", "millionaires.bwp", "input = \"5\"\n");
    let limited = program.clone() + "per_hour = 2\n";
    let mut pair = Pair::new([&program, &limited]);
    let [garbler, evaluator] = pair.both();
    garbler.stocked("richer", 2);
    let body = json!({ "program": "richer", "input": 4 });
    assert_eq!(garbler.run(&body).status, 200);
    assert_eq!(evaluator.run(&body).status, 200);
    let spent = "has reached its limit of runs in an hour";
    let until = |got: &Got| {
        let seconds = got.json()["retry_after"].as_u64().expect("a time");
        assert!((3000..=3600).contains(&seconds), "{seconds} s");
    };
    let refused = evaluator.run(&body);
    is(&refused, 429, spent);
    until(&refused);
    let refused = garbler.run(&body);
    is(&refused, 429, &format!("the peer refuses: the program {spent}"));
    until(&refused);
    evaluator.stop();
    let evaluator = pair.start(1);
    evaluator.connected();
    is(&evaluator.run(&body), 429, spent);
    is(&garbler.run(&body), 429, spent);
    evaluator.stop();
    garbler.stop();
    pair.verified();
}

/// Web pages in a browser cannot send requests, neither under a host name that an attacker has pointed at
/// this machine, nor from another origin. They cannot display the answers of the service either.
#[test]
fn web_pages_are_refused() {
    let program = entry("richer", "millionaires.bwp", "");
    let pair = Pair::new([&program, &program]);
    let garbler = pair.start(0);
    let port = garbler.http.port();
    let get = |headers: &str| garbler.get_with("metrics", headers).expect("an answer");
    for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "10.0.0.1"] {
        is(&get(&format!("Host: {host}\r\n")), 421, "names another host");
    }
    is(&get(""), 421, "names another host");
    for host in ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{port}")) {
        assert_eq!(get(&format!("Host: {host}\r\n")).status, 200, "{host}");
    }
    // The service checks the host in the request line, and not the one in the header.
    let absolute = "GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    is(&ask(garbler.http, absolute).expect("an answer"), 421, "names another host");
    let own = format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n");
    assert_eq!(get(&own).status, 200);
    for origin in ["http://evil.example", "null", "https://localhost", "http://localhost:1"] {
        let headers = format!("Host: localhost:{port}\r\nOrigin: {origin}\r\n");
        is(&get(&headers), 403, "a web page sent this request");
        // Even a web page that has the token is refused.
        is(&get(&format!("{headers}{}", bearer(TOKEN))), 403, "a web page sent this request");
    }
    let preflight = "OPTIONS /run HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let got = ask(garbler.http, preflight).expect("an answer");
    is(&got, 405, "method");
    for got in [got, get("Host: localhost\r\n"), garbler.get("")] {
        let head = got.head.to_lowercase();
        assert!(!head.contains("access-control"), "{head}");
        for header in ["x-content-type-options: nosniff", "cross-origin-resource-policy: same-origin"] {
            assert!(head.contains(header), "{header} in {head}");
        }
    }
    assert!(garbler.get("").head.contains("frame-ancestors 'none'"));
    // HEAD gets the headers of GET without a body. Metrics in the older format have no end mark.
    let fields = "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let got = ask(garbler.http, fields).expect("an answer");
    assert_eq!((got.status, got.body.as_str()), (200, ""));
    assert!(got.head.to_lowercase().contains("content-type: text/plain; version=0.0.4"), "{}", got.head);
    let older = get("Host: localhost\r\n").body;
    assert!(older.contains("# TYPE brickwork_answers_total counter") && !older.contains("# EOF"), "{older}");
    let newer = get("Host: localhost\r\nAccept: application/openmetrics-text\r\n").body;
    assert!(newer.contains("# TYPE brickwork_answers counter") && newer.ends_with("# EOF\n"), "{newer}");
    garbler.stop();
}
