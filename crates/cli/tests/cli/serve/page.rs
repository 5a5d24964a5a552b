//! The page of a service in a browser, its figures and its log.

use super::*;

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
        let read = || std::fs::read_to_string(pair.log(role)).expect("a log");
        // The evaluator may write down that it ran after the garbler has answered.
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
    // A party that has lost its peer shows this on its page.
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

/// A real browser shows the page, and asks the service for nothing else. The test is skipped, with a message,
/// if there is no browser.
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
    // The page requested nothing that does not exist.
    let metrics = garbler.get("metrics").body;
    assert!(!metrics.contains("brickwork_answers_total{status=\"404\"}"), "{metrics}");
    garbler.stop();
    evaluator.stop();
}
