//! Tests `--audit`: the record of everything that a service does and refuses.

use super::*;

/// Both trails record all events, with the same names of sessions and runs, and contain no value of a party.
/// A file that was renamed keeps its lines, and SIGHUP begins a new one.
#[test]
fn a_trail_of_what_happened() {
    let program = entry("richer", "millionaires.bwp", "input = \"314159\"\ntotal = 2\n");
    let mut pair = Pair::new([&program, &program]);
    let [garbler, evaluator] = pair.both();
    garbler.stocked("richer", 3);
    let ask = |id: &str| garbler.run(&json!({ "program": "richer", "input": 271828, "id": id })).status;
    assert_eq!([ask("first"), ask("second"), ask("third")], [200, 200, 429]);
    assert_eq!(garbler.run(&json!({ "program": "none", "input": 271828 })).status, 403);
    assert_eq!(garbler.run(&json!({ "program": "richer", "input": [271828] })).status, 400);
    // The evaluator may record its run after the garbler has answered, so this waits.
    let runs = |role: usize| -> Vec<Value> {
        let mut lines = pair.audited(role);
        lines.retain(|line| line["event"] == "run");
        lines
    };
    let begun = Instant::now();
    while runs(1).len() < 2 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let digest = good(&["info", &example("millionaires.bwp")]).1["digest"].clone();
    let of = |line: &Value| (line["run"].clone(), line["session"].clone());
    let both = [runs(0), runs(1)];
    assert_eq!(both[0].iter().map(of).collect::<Vec<_>>(), both[1].iter().map(of).collect::<Vec<_>>());
    for (lines, asked_by) in both.iter().zip(["here", "peer"]) {
        for (line, run) in lines.iter().zip(["=first", "=second"]) {
            assert_eq!(line["run"], run);
            assert_eq!((&line["outcome"], &line["asked_by"]), (&json!("done"), &json!(asked_by)));
            assert_eq!(line["program"], json!({ "name": "richer", "digest": digest }));
            assert!(line["bytes"].as_u64() > Some(0) && line["session"].is_string(), "{line}");
            assert!(line["bound_log2"].as_f64() <= Some(-40.0) && line["protocol"] == "duplo", "{line}");
        }
        assert_eq!(lines.len(), 2);
    }
    let refusals: Vec<Value> =
        pair.audited(0).into_iter().filter(|line| line["event"] == "refusal").collect();
    assert_eq!(refusals.len(), 3, "{refusals:?}");
    assert_eq!((&refusals[0]["run"], &refusals[0]["program"]["name"]), (&json!("=third"), &json!("richer")));
    assert_eq!(refusals[0]["reason"], "the program's budget is used up");
    assert_eq!(refusals[1]["reason"], "the program is not allowed");
    assert_eq!(refusals[2]["reason"], "an input, a program, a key or a list cannot be read");

    // SIGHUP opens new files.
    let [old, log] = ["audit", "log"].map(|kind| pair.keys.file(&format!("garbler.{kind}.1")));
    std::fs::rename(pair.audit(0), &old).expect("a name");
    std::fs::rename(pair.log(0), &log).expect("a name");
    std::fs::write(pair.log(0), "").expect("an empty log");
    pair.reload(0, &garbler);
    assert!(!std::fs::read_to_string(&log).expect("a log").contains(" again: "));
    let text = std::fs::read_to_string(&old).expect("a trail");
    evaluator.stop();
    garbler.until("ready", |got| got.status == 503);
    garbler.stop();
    assert_eq!(text, std::fs::read_to_string(&old).expect("a trail"), "the old file is left alone");
    let events = |lines: &[Value]| -> Vec<(String, String)> {
        let text = |line: &Value, field: &str| line[field].as_str().expect("a text").to_owned();
        lines.iter().map(|line| (text(line, "event"), text(line, "outcome"))).collect()
    };
    let is = |event: &str, outcome: &str| (event.to_owned(), outcome.to_owned());
    let first: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let first = events(&first);
    assert_eq!(first[..2], [is("process", "begun"), is("meeting", "begun")]);
    assert!(first.contains(&is("fill", "done")), "{first:?}");
    assert_eq!(events(&pair.audited(0)), [is("meeting", "failed"), is("process", "done")]);
    let trails = [text, std::fs::read_to_string(pair.audit(1)).expect("a trail")];
    for secret in ["314159", "271828", TOKEN] {
        assert!(!trails.iter().any(|trail| trail.contains(secret)), "{secret}");
    }
}

/// If stock was burned because the service was down, the trail of the party that burned it has a line.
#[test]
fn burned_stock_is_in_the_trail() {
    let program = entry("richer", "millionaires.bwp", "input = \"500\"\n");
    let mut pair = Pair::new([&program, &program]);
    let [garbler, evaluator] = pair.both();
    garbler.stocked("richer", 6);
    evaluator.stop();
    let (store, key) = (pair.keys.file("evaluator.store"), pair.keys.file("store.key"));
    let burned = object(&run(&["stock", "burn", "--all", "--store", &store, "--store-key", &key, "--json"]));
    let evaluator = pair.start(1);
    let begun = Instant::now();
    let burns = || -> Vec<Value> {
        pair.audited(0)
            .into_iter()
            .filter(|line| line["event"] == "burn")
            .map(|line| line["epoch"].clone())
            .collect()
    };
    let epochs = burned["burned"].as_array().expect("a list");
    while burns().len() < epochs.len() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let (mut found, mut expected) = (burns(), epochs.clone());
    found.sort_by_key(Value::to_string);
    expected.sort_by_key(Value::to_string);
    assert_eq!(found, expected);
    evaluator.stop();
    garbler.stop();
}
