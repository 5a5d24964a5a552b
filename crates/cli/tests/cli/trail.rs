//! Tests `--audit`, `--rotate` and `--log-format json` of commands that end.

use super::parties::Side;
use super::*;
use serde_json::json;

/// Returns the lines of an audit trail.
fn lines(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str(line).expect(line));
    lines.inspect(|line| schema::holds_for("audit-line", line)).collect()
}

fn events(lines: &[Value]) -> Vec<[String; 2]> {
    let of =
        |line: &Value| ["event", "outcome"].map(|field| line[field].as_str().expect("a text").to_owned());
    lines.iter().map(of).collect()
}

/// The trail of each party has its meeting, its run, its start and its end, and no value.
#[test]
fn a_run_is_audited() {
    let keys = Keys::new();
    let [mine, theirs] = ["garbler.audit", "evaluator.audit"].map(|name| keys.file(name));
    let (garbler, evaluator) = (Side::garbler(&keys), Side::evaluator(&keys));
    let (listening, address) = garbler.listen(&["--json", "--timeout", "60", "--audit", &mine]);
    let connected = evaluator.connect(&address, &["--json", "--timeout", "60", "--audit", &theirs]);
    let digest = good(&["info", &example("millionaires.bwp")]).1["digest"].clone();
    let session = lines(&mine)[2]["session"].clone();
    assert!(session.as_str().is_some_and(|name| name.len() == 32), "{session}");
    for (output, path, role, peer) in [
        (finish(listening), &mine, "garbler", &keys.evaluator),
        (connected, &theirs, "evaluator", &keys.garbler),
    ] {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let (report, lines) = (object(&output), lines(path));
        let expected = [["process", "begun"], ["meeting", "begun"], ["run", "done"], ["process", "done"]];
        assert_eq!(events(&lines), expected);
        let run = &lines[2];
        assert_eq!((&lines[1]["session"], &run["session"]), (&session, &session), "{lines:?}");
        assert_eq!(run["program"], json!({ "name": "millionaires", "digest": digest }));
        assert_eq!(
            (&run["role"], &run["peer"]["key"], &run["command"]),
            (&json!(role), &json!(peer), &json!(role))
        );
        assert_eq!(
            (&run["protocol"], &run["bound_log2"]),
            (&report["protocol"], &report["promise"]["bound_log2"])
        );
        assert!(run["bytes"].as_u64() > Some(1000) && run["milliseconds"].is_number(), "{run}");
        let trail = std::fs::read_to_string(path).expect("a trail");
        for secret in ["1000000", "1250000", "250000", "outputs", "recover"] {
            assert!(!trail.contains(secret), "{secret}: {trail}");
        }
    }
}

/// A peer that is absent, a peer that is refused, and a run that breaks off are in the trail, with the phase
/// that the run had reached.
#[test]
fn failures_are_audited() {
    let keys = Keys::new();
    let [mine, theirs] = ["garbler.audit", "evaluator.audit"].map(|name| keys.file(name));
    let (garbler, evaluator) = (Side::garbler(&keys), Side::evaluator(&keys));
    evaluator.bad(
        &["--connect", "127.0.0.1:1", "--timeout", "1", "--audit", &theirs],
        4,
        "the peer did not answer",
    );
    let absent = [["process", "begun"], ["meeting", "failed"], ["process", "failed"]];
    // `bad` runs the command twice.
    assert_eq!(events(&lines(&theirs)), [absent, absent].concat());
    std::fs::remove_file(&theirs).expect("a trail");

    let (listening, address) = garbler.listen(&["--timeout", "60", "--audit", &mine]);
    let other = ["--timeout", "60", "--audit", &theirs, "--security", "64"];
    let output = evaluator.connect(&address, &other);
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    finish(listening);
    for path in [&mine, &theirs] {
        assert_eq!(events(&lines(path))[1], ["refusal", "refused"], "{:?}", lines(path));
        std::fs::remove_file(path).expect("a trail");
    }

    let many = ["--timeout", "60", "--executions", "2000", "--protocol", "duplo"];
    let values = json!(vec![5; 2000]).to_string();
    let side = |side: Side<'static>| Side { input: values.clone().leak(), ..side };
    let keys: &'static Keys = Box::leak(Box::new(keys));
    let (garbler, evaluator) = (side(Side::garbler(keys)), side(Side::evaluator(keys)));
    let (listening, address) = garbler.listen(&many);
    let connected = evaluator.start(&[&many[..], &["--connect", &address, "--audit", &theirs]].concat());
    while lines(&theirs).len() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    drop(listening);
    let output = finish(connected);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let lines = lines(&theirs);
    assert_eq!(events(&lines)[1..], [["meeting", "begun"], ["run", "failed"], ["process", "failed"]]);
    assert!(lines[2]["phase"].is_string() && lines[2]["reason"].is_string(), "{}", lines[2]);
}

/// A malformed input is not repeated in the trail.
#[test]
fn a_malformed_input_is_not_audited() {
    let keys = Keys::new();
    let (trail, file) = (keys.file("audit"), example("millionaires.bwp"));
    let values = ["--garbler", "[31415926", "--evaluator", "5"];
    let output = run(&[&["run", &file, "--audit", &trail], &values[..]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    let lines = lines(&trail);
    assert_eq!(events(&lines), [["process", "begun"], ["process", "failed"]]);
    assert!(!lines[1].to_string().contains("31415926"), "{}", lines[1]);
}

/// Files are set aside at a size, and no line is lost.
#[test]
fn a_trail_is_set_aside() {
    let keys = Keys::new();
    let (trail, file) = (keys.file("audit"), example("millionaires.bwp"));
    for _ in 0..2 {
        good(&["info", &file, "--audit", &trail, "--rotate", "300B,30d"]);
    }
    let files: Vec<String> = std::fs::read_dir(Path::new(&trail).parent().expect("a folder"))
        .expect("a folder")
        .map(|entry| path(&entry.expect("an entry").path()))
        .filter(|path| path.contains("audit"))
        .collect();
    assert!(files.len() > 2, "{files:?}");
    assert!(files.iter().all(|path| std::fs::metadata(path).expect("a file").len() < 600));
    let written: usize = files.iter().map(|path| lines(path).len()).sum();
    // `good` runs the command twice, and each run has a start and an end.
    assert_eq!(written, 8);
    bad(&["info", &file, "--rotate", "often"], 2, "expected a size such as 100MiB, or an age such as 24h");
}

/// With `--log-format json`, each line on stderr is an object, also for errors of the command line.
#[test]
fn every_line_on_stderr_is_json() {
    let keys = Keys::new();
    let (file, key) = (example("millionaires.bwp"), keys.file("key"));
    let semi = ["run", &file, "--garbler", "1", "--evaluator", "2", "--protocol", "semi-honest"];
    for (arguments, code) in [
        (&["keygen", "-o", &key][..], 0),
        (&semi, 0),
        (&["run", &file, "--garbler", "x", "--evaluator", "2"], 3),
        (&["garbler", &file, "--listen", "256.0.0.1:1", "--input", "1"], 2),
        (&["serve"], 2),
        (&["compile", "no.wir", "-o", &key], 3),
    ] {
        let output = run(&[arguments, &["--log-format", "json"]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(!said.is_empty(), "{arguments:?}");
        for line in said.lines() {
            let object: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
            assert!(object["message"].is_string() && object["timestamp"].is_string(), "{line}");
        }
        if code != 0 {
            let last: Value = serde_json::from_str(said.lines().last().expect("a line")).expect("JSON");
            assert_eq!((&last["code"], last["hint"].is_string()), (&json!(code), true), "{said}");
        }
    }
}
