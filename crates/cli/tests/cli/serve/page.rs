//! Tests a service's status page in a browser, its metrics and its log.

use super::*;

/// The page and the metrics show all events and no value of a party. The page loads nothing.
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
    // Each line of a log is a JSON object, and the log has all events.
    for role in 0..2 {
        let read = || std::fs::read_to_string(pair.log(role)).expect("a log");
        // The evaluator may log its run after the garbler has answered, so this waits.
        let begun = Instant::now();
        while !read().contains("\"ran\"") && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let log = read();
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
    // If the connection to the peer is lost, the page shows this.
    evaluator.stop();
    garbler.until("ready", |got| got.status == 503);
    garbler.stop();
}

/// Returns the browser of this machine. If there is none, prints a message and returns `None`. With
/// `BRICKWORK_CI` set, a missing browser is an error.
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

/// A real browser shows the page, and requests nothing else from the service. The test is skipped, with a
/// message, if there is no browser.
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
    // The browser has requested nothing that does not exist.
    let metrics = garbler.get("metrics").body;
    assert!(!metrics.contains("brickwork_answers_total{status=\"404\"}"), "{metrics}");
    garbler.stop();
    evaluator.stop();
}
