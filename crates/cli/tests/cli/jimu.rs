//! Tests JIMU through the command.

use brickwork::circuit::{Party, Program};
use brickwork::jimu::{self, Unit};
use serde_json::json;

use super::parties::Side;
use super::stock::{Parties, ROLES};
use super::*;

/// Two processes run at each security level. The sent bytes are the predicted ones, and the promise reaches
/// the level.
#[test]
fn jimu_parties_compute_and_say_what_they_promise() {
    let keys = Keys::new();
    let program = Program::from_bytes(&std::fs::read(example("millionaires.bwp")).unwrap()).unwrap();
    for (security, unit, flags, inputs, learned) in [
        (40, None, &[][..], ["1000000", "1250000"], json!({ "alice": 0, "bob": 1 })),
        (40, Some(Unit::Components), &["--cut", "given"][..], ["3", "2"], json!({ "alice": 1, "bob": 0 })),
        (
            64,
            Some(Unit::Gates),
            &["--security", "64", "--cut", "gates"][..],
            ["7", "5"],
            json!({ "alice": 1, "bob": 0 }),
        ),
        (
            80,
            None,
            &["--security", "80", "--executions", "2"][..],
            ["[7, 9]", "[9, 7]"],
            json!([{ "alice": 0, "bob": 1 }, { "alice": 1, "bob": 0 }]),
        ),
    ] {
        let executions = if flags.contains(&"--executions") { 2 } else { 1 };
        let flags = [&["--protocol", "jimu", "--json", "--timeout", "60"][..], flags].concat();
        let [garbler, evaluator] = [
            Side { input: inputs[0], ..Side::garbler(&keys) },
            Side { input: inputs[1], ..Side::evaluator(&keys) },
        ];
        let (listening, address) = garbler.listen(&flags);
        let outputs = [evaluator.connect(&address, &flags), finish(listening)];
        let whole = if executions == 1 { program.clone() } else { program.repeat(executions).unwrap() };
        for (output, role) in outputs.iter().zip(["evaluator", "garbler"]) {
            let json = object(output);
            assert_eq!(output.status.code(), Some(0), "{json} {}", text(&output.stderr));
            schema::holds(&[role], &json);
            assert_eq!((&json["outputs"][role], &json["protocol"]), (&learned, &json!("jimu")));
            let promised = &json["promise"];
            assert_eq!(
                (&promised["model"], &promised["statistical_bits"]),
                (&json!("malicious"), &json!(security))
            );
            assert!(promised["bound_log2"].as_f64().unwrap() <= -f64::from(security), "{promised}");
            assert_eq!(json["and_gates"], whole.and_gates());
            let sent = |field: &str| -> u64 {
                json["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
            };
            let unit = unit.unwrap_or_else(|| jimu::cost::choose(&whole, security).unwrap());
            let (kind, cut) = match unit {
                Unit::Gates => ("gate", "gates"),
                Unit::Components => ("component", "given"),
            };
            assert_eq!((&promised["batches"][0]["kind"], &json["cut"]), (&json!(kind), &json!(cut)));
            let expected = jimu::sent_bytes(&whole, unit, security).unwrap();
            assert_eq!([sent("garbler_sent_bytes"), sent("evaluator_sent_bytes")], expected);
        }
    }
}

/// JIMU works in one command for both parties and in `plan`. It refuses flags without
/// effect, other parameters at the peer, and a peer with another protocol.
#[test]
fn jimu_is_planned_and_refuses_what_it_is_not() {
    let file = example("millionaires.bwp");
    let program = Program::from_bytes(&std::fs::read(&file).unwrap()).unwrap();
    let flags = ["--protocol", "jimu"];
    let (said, planned) = good(&[&["plan", &file, "--executions", "3"], &flags[..]].concat());
    assert!(said.contains("of them opened"), "{said}");
    let sent = |field: &str| -> u64 {
        planned["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
    };
    let program = program.repeat(3).unwrap();
    let unit = jimu::cost::choose(&program, 40).unwrap();
    let expected = jimu::sent_bytes(&program, unit, 40).unwrap();
    assert_eq!([sent("garbler_sent_bytes"), sent("evaluator_sent_bytes")], expected);
    let (said, ran) = good(&[&["run", &file, "--garbler", "1", "--evaluator", "2"], &flags[..]].concat());
    assert!(said.contains("asked for: 2^-40") && ran["promise"]["model"] == "malicious", "{said}");
    for flag in [
        ["--commitments", "split"],
        ["--linking", "scmc"],
        ["--buckets", "standard"],
        ["--cut", "whole"],
        ["--lanes", "2"],
    ] {
        let run = ["run", &file, "--garbler", "1", "--evaluator", "2"];
        bad(&[&run[..], &flags, &flag].concat(), 2, "has no effect with --protocol jimu");
    }
    let run = ["run", &file, "--garbler", "1", "--evaluator", "2", "--store", "nowhere", "--cut", "whole"];
    bad(&[&run[..], &flags].concat(), 2, "--cut has no effect with --protocol jimu");
    assert!(!Path::new("nowhere").exists());

    let keys = Keys::new();
    let (listening, address) =
        Side::garbler(&keys).listen(&["--protocol", "jimu", "--json", "--timeout", "60"]);
    let words = "the garbler has --protocol jimu, but the evaluator has --protocol duplo";
    is_error(&Side::evaluator(&keys).connect(&address, &["--json", "--protocol", "duplo"]), 7, words);
    is_error(&finish(listening), 7, words);
    // One party cuts into gates, and the other into components.
    let flags = ["--protocol", "jimu", "--json", "--timeout", "60", "--cut"];
    let (listening, address) = Side::garbler(&keys).listen(&[&flags[..], &["gates"]].concat());
    let words = "different programs; compare";
    is_error(&Side::evaluator(&keys).connect(&address, &[&flags[..], &["given"]].concat()), 7, words);
    is_error(&finish(listening), 7, words);
}

/// Two processes put components and gates into one store, run programs on either, make missing items, and
/// report the cut of each run.
#[test]
fn jimu_parties_run_from_stock() {
    const JIMU: [&str; 2] = ["--protocol", "jimu"];
    let parties = Parties::new("millionaires.bwp");
    let program = Program::from_bytes(&std::fs::read(&parties.file).unwrap()).unwrap();
    let (bits, name) = (program.input_width(Party::Evaluator), &program.components()[0].name);
    let ands = program.and_gates();
    let fill = |flags: &[&str], what: &str| {
        let flags = [&JIMU, flags, &["--component", what]].concat();
        ROLES.map(|role| parties.preprocess(role, &flags))
    };
    let run = |inputs: [&str; 2], more: &[&str]| {
        let flags = [&JIMU, more].concat();
        [0, 1].map(|k| parties.run(ROLES[k], inputs[k], &flags))
    };
    let two = format!("{}=2", parties.file);
    let whole = format!("{bits} inputs, {bits} OTs");
    // Stock is made for two runs by components, and then for one run by gates, without inputs.
    let filled = [
        (
            ["--cut", "given"].to_vec(),
            &two,
            format!("2 {name}, {} inputs, {} OTs for jimu runs", 2 * bits, 2 * bits),
        ),
        (
            ["--no-inputs"].to_vec(),
            &format!("{}:{name}=1", parties.file),
            format!("{ands} AND gates for jimu runs"),
        ),
    ];
    for (flags, what, made) in &filled {
        for output in parties.both(fill(flags, what)) {
            let json = object(&output);
            assert_eq!(output.status.code(), Some(0), "{json} {}", text(&output.stderr));
            schema::holds(&["preprocess"], &json);
            assert_eq!(json["steps"], json!([made]));
        }
    }
    for role in ROLES {
        let arguments = parties.stock(role, "ls", &["--program", &parties.file]);
        let (said, json) = good(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(said.contains("The preprocessing makes 2 executions"), "{said}");
        let epoch = &json["epochs"][0];
        assert_eq!((&epoch["protocol"], &epoch["security"]), (&json!("jimu"), &json!(40)));
        let kinds: Vec<_> = epoch["batches"].as_array().unwrap().iter().map(|batch| &batch["kind"]).collect();
        assert_eq!(kinds, ["component", "inputs", "ots", "gates"]);
    }
    for (cut, code) in [(&[][..], 0), (&["--cut", "given"], 0), (&["--cut", "gates"], 0)] {
        assert!(
            parties
                .doctor("evaluator", &[&JIMU, cut].concat(), code)
                .contains("the stock has all items for this run")
        );
    }

    // Without a named cut, components are taken as long as there are some.
    let learned = json!({ "alice": 0, "bob": 1 });
    for (flags, cut, unit) in [
        (&["--no-top-up"][..], "given", Unit::Components),
        (&["--no-top-up", "--cut", "gates"], "gates", Unit::Gates),
    ] {
        for (output, role) in parties.both(run(["7", "9"], flags)).iter().zip(ROLES) {
            let json = object(output);
            assert_eq!(output.status.code(), Some(0), "{json} {}", text(&output.stderr));
            schema::holds(&[role], &json);
            assert_eq!((&json["outputs"][role], &json["made_on_the_spot"]), (&learned, &json!(null)));
            let kind = if unit == Unit::Gates { "gate" } else { "component" };
            assert_eq!((&json["cut"], &json["promise"]["batches"][0]["kind"]), (&json!(cut), &json!(kind)));
            assert!(json["promise"]["epoch_bound_log2"].as_f64().unwrap() < -40.0);
            let sent = ["garbler_sent_bytes", "evaluator_sent_bytes"].map(|field| -> u64 {
                json["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
            });
            assert_eq!(sent, jimu::cost::script_from_stock(&program, unit, 1, 40).unwrap().sent_bytes(1));
        }
    }
    // One bucket is left, but no items for inputs.
    for output in parties.both(run(["7", "9"], &["--cut", "given", "--no-top-up"])) {
        is_error(&output, 6, &format!("the program needs {whole} more than the stock has"));
    }
    for output in parties.both(run(["7", "9"], &["--cut", "given"])) {
        let json = object(&output);
        assert_eq!(output.status.code(), Some(0), "{json} {}", text(&output.stderr));
        assert_eq!(
            (&json["cut"], &json["made_on_the_spot"]),
            (&json!("given"), &json!(format!("1 {name}, {whole}")))
        );
    }
    let (garbler, evaluator) = (&["--cut", "given", "--no-top-up"][..], &["--cut", "gates", "--no-top-up"]);
    let differ = [(0, "7", garbler), (1, "9", evaluator)]
        .map(|(k, input, flags)| parties.run(ROLES[k], input, &[&JIMU, flags].concat()));
    assert!(parties.both(differ).iter().any(|output| output.status.code() == Some(7)));

    let fill =
        ["preprocess", "--role", "garbler", "--identity", "x", "--peer", "y", "--store", "z", "--listen"];
    let fill = [&fill[..], &["127.0.0.1:0", "--component", &two]].concat();
    bad(&[&fill[..], &["--cut", "given"]].concat(), 2, "--cut has no effect with --protocol duplo");
    bad(
        &[&fill[..], &["--protocol", "lego", "--cut", "gates"]].concat(),
        2,
        "the stock of this protocol has AND gates",
    );
    bad(&[&fill[..], &JIMU, &["--cut", "whole"]].concat(), 2, "--cut has no effect with --protocol jimu");
}
