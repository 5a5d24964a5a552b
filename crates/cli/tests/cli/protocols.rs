//! Tests the protocols besides DUPLO through the command.

use brickwork::authenticated;
use brickwork::circuit::{Party, Program};
use brickwork::compgc::{self, Linking};
use brickwork::jimu::{self, Unit};
use brickwork::lego;
use brickwork::ot::Cot;
use brickwork::plan::Script;
use brickwork::semi_honest::{Ots, WARNING, sent_bytes};
use serde_json::json;

use super::parties::Side;
use super::stock::{Parties, ROLES};
use super::*;

const SEMI_HONEST: [&str; 2] = ["--protocol", "semi-honest"];

/// Returns the error about a store that another protocol has filled.
fn of_another(made: &str, this: &str) -> String {
    format!("was made for the protocol {made}, but this run uses {this}; give another --store")
}

/// Two processes compute one execution and several. The bytes are the predicted ones. The output has a clear
/// warning about the missing guarantees.
#[test]
fn semi_honest_parties_compute_and_say_so() {
    let keys = Keys::new();
    let program = Program::from_bytes(&std::fs::read(example("millionaires.bwp")).unwrap()).unwrap();
    for (inputs, flags, executions, learned) in [
        (["1000000", "1250000"], &[][..], 1, json!({ "alice": 0, "bob": 1 })),
        (
            ["[7, 9, 0]", "[9, 7, 0]"],
            &["--executions", "3"][..],
            3,
            json!([
                { "alice": 0, "bob": 1 }, { "alice": 1, "bob": 0 }, { "alice": 0, "bob": 0 }
            ]),
        ),
    ] {
        let flags = [&SEMI_HONEST[..], &["--json", "--timeout", "60"], flags].concat();
        let [garbler, evaluator] = [
            Side { input: inputs[0], ..Side::garbler(&keys) },
            Side { input: inputs[1], ..Side::evaluator(&keys) },
        ];
        let (listening, address) = garbler.listen(&flags);
        let outputs = [evaluator.connect(&address, &flags), finish(listening)];
        for (output, role) in outputs.iter().zip(["evaluator", "garbler"]) {
            let json = object(output);
            assert_eq!(output.status.code(), Some(0), "{json} {}", text(&output.stderr));
            schema::holds(&[role], &json);
            assert_eq!((&json["outputs"][role], &json["protocol"]), (&learned, &json!("semi-honest")));
            let promise = json!({ "model": "semi-honest", "computational_bits": 111.0, "warning": WARNING });
            assert_eq!(json["promise"], promise);
            assert_eq!(json["and_gates"], program.and_gates() * executions);
            assert!(text(&output.stderr).contains(WARNING) || role == "garbler", "{}", text(&output.stderr));
            let sent = |field: &str| -> u64 {
                json["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
            };
            let expected = sent_bytes(&program, executions as usize, Ots::Made).unwrap();
            assert_eq!([sent("garbler_sent_bytes"), sent("evaluator_sent_bytes")], expected);
        }
    }
}

/// One command for both parties gives the same result as DUPLO, and has a clear warning about the missing
/// guarantees.
#[test]
fn both_protocols_give_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    good(&["examples", "--write", folder.path().to_str().unwrap()]);
    for (name, [garbler, evaluator]) in
        [("auction", ["json", "json"]), ("accounts", ["csv", "csv"]), ("aes128_encrypt", ["json", "json"])]
    {
        let values = [
            format!("@{}", at(&format!("{name}.garbler.{garbler}"))),
            format!("@{}", at(&format!("{name}.evaluator.{evaluator}"))),
        ];
        let file = at(&format!("{name}.wir"));
        let arguments = ["run", &file, "--garbler", &values[0], "--evaluator", &values[1]];
        let (said, semi_honest) = good(&[&arguments[..], &SEMI_HONEST].concat());
        assert!(said.contains("Security: SEMI-HONEST ONLY."), "{said}");
        let (_, duplo) = good(&arguments);
        for field in ["outputs", "output_bits"] {
            assert_eq!(semi_honest[field], duplo[field], "{name}");
        }
    }
}

/// The output bits 0 to 4 are b, 0, 0, a AND b, and 1. The constants come from EQ, from `w XOR w`, and from a
/// sum that cancels. One AND gate is not used.
const CONSTANTS: &str = "11 13
2 1 1
1 5

1 1 1 2 EQ
2 1 0 0 3 XOR
2 1 0 1 4 XOR
2 1 4 1 5 XOR
2 1 5 0 6 XOR
2 1 0 1 7 AND
2 1 2 1 8 AND
2 1 3 0 9 AND
2 1 6 1 10 AND
2 1 0 1 11 AND
1 1 6 12 INV
";

/// Every protocol computes a circuit with constants inside at no cost for the constants. The source and the
/// compiled file have the same digest.
#[test]
fn constants_are_folded_for_every_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| path(&folder.path().join(name));
    let circuit = at("constants.txt");
    std::fs::write(&circuit, CONSTANTS).unwrap();
    let compiled = at("constants.bwp");
    good(&["compile", &circuit, "--output", &compiled]);
    let [read, of_compiled] = [&circuit, &compiled].map(|file| good(&["info", file]).1);
    assert_eq!((&read["and_gates"], &read["gates"]), (&json!(1), &json!(3)));
    assert_eq!(read["digest"], of_compiled["digest"]);
    // The compiled file has the three gates that are left after folding.
    let bytes = std::fs::read(&compiled).unwrap();
    let program = Program::from_bytes(&bytes).unwrap();
    assert_eq!((program.components()[0].circuit.gate_count(), program.to_bytes()), (3, bytes));
    for protocol in ["duplo", "authenticated", "lego", "jimu", "compgc", "semi-honest"] {
        for (file, [a, b], want) in
            [(&circuit, ["1", "1"], 25), (&compiled, ["1", "0"], 16), (&circuit, ["0", "1"], 17)]
        {
            let run = ["run", file, "--garbler", a, "--evaluator", b, "--protocol", protocol];
            let (_, json) = good(&run);
            assert_eq!(json["outputs"], json!({ "garbler": want, "evaluator": want }), "{protocol} {a} {b}");
            assert_eq!(json["and_gates"], 1, "{protocol}");
        }
    }
}

/// The predicted bytes of a run are exact, and flags without effect are refused.
#[test]
fn a_semi_honest_run_is_planned() {
    let file = example("millionaires.bwp");
    let program = Program::from_bytes(&std::fs::read(&file).unwrap()).unwrap();
    for (flags, executions) in [(&[][..], 1), (&["--executions", "5"][..], 5)] {
        let (said, planned) = good(&[&["plan", &file], &SEMI_HONEST[..], flags].concat());
        assert!(said.contains("SEMI-HONEST ONLY"), "{said}");
        let sent = |field: &str| -> u64 {
            planned["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
        };
        let expected = sent_bytes(&program, executions, Ots::Made).unwrap();
        assert_eq!([sent("garbler_sent_bytes"), sent("evaluator_sent_bytes")], expected);
        assert_eq!(planned["promise"]["model"], "semi-honest");
        assert_eq!(planned["and_gates"], program.and_gates() * executions as u64);
    }
    for flag in [["--security", "40"], ["--cut", "whole"], ["--svg", "nowhere.svg"], ["--lanes", "2"]] {
        bad(
            &[&["plan", &file], &SEMI_HONEST[..], &flag].concat(),
            2,
            "has no effect with --protocol semi-honest",
        );
    }
    assert!(!Path::new("nowhere.svg").exists());
}

/// A flag without effect is refused, so that no user relies on it.
#[test]
fn flags_of_another_protocol_are_refused() {
    let file = example("millionaires.bwp");
    for (flags, why) in [
        (["--security", "64"], "--security has no effect"),
        (["--commitments", "split"], "--commitments has no effect"),
        (["--buckets", "standard"], "--buckets has no effect"),
        (["--cut", "whole"], "--cut has no effect"),
        (["--lanes", "2"], "--lanes has no effect"),
        (["--recovery-notes", "nowhere"], "--recovery-notes has no effect"),
    ] {
        let run = ["run", &file, "--garbler", "1", "--evaluator", "2"];
        bad(&[&run[..], &SEMI_HONEST, &flags].concat(), 2, why);
        assert!(!Path::new("nowhere").exists());
    }
    bad(&["run", &file, "--garbler", "1", "--evaluator", "2", "--protocol", "honest"], 2, "semi-honest");
}

/// Parties with different protocols are both told about the difference, and `doctor` finds it in advance.
#[test]
fn parties_of_two_protocols_are_told() {
    let keys = Keys::new();
    let (listening, address) =
        Side::garbler(&keys).listen(&["--json", "--timeout", "60", "--protocol", "duplo"]);
    let words = "the garbler has --protocol duplo, but the evaluator has --protocol semi-honest";
    is_error(&Side::evaluator(&keys).connect(&address, &[&SEMI_HONEST[..], &["--json"]].concat()), 7, words);
    is_error(&finish(listening), 7, words);

    let (listening, address) =
        Side::garbler(&keys).listen(&[&SEMI_HONEST[..], &["--json", "--timeout", "60"]].concat());
    let visit = |flags: &[&str]| {
        let evaluator = Side::evaluator(&keys);
        let arguments =
            evaluator.arguments(&[&["--connect", &address, "--role", "evaluator", "--json"], flags].concat());
        let arguments: Vec<&str> =
            ["doctor"].into_iter().chain(arguments[1..].iter().map(String::as_str)).collect();
        let output = self::run(&arguments);
        let json = object(&output);
        schema::holds(&["doctor"], &json);
        (output.status.code(), json.to_string())
    };
    let (code, said) = visit(&["--protocol", "duplo"]);
    let words = "the garbler has --protocol semi-honest, but the evaluator has --protocol duplo";
    assert!(code == Some(7) && said.contains(words), "{said}");
    let (code, said) = visit(&SEMI_HONEST);
    assert_eq!(code, Some(0), "{said}");
    let connected = Side::evaluator(&keys).connect(&address, &[&SEMI_HONEST[..], &["--json"]].concat());
    assert_eq!(connected.status.code(), Some(0), "{}", text(&connected.stderr));
    assert_eq!(finish(listening).status.code(), Some(0));
}

/// Two processes fill their stores, run from them, make missing stock, and refuse flags without effect. The
/// stock is listed, and each report has a clear warning about the missing guarantees.
#[test]
fn semi_honest_parties_run_from_stock() {
    let parties = Parties::new("millionaires.bwp");
    let program = Program::from_bytes(&std::fs::read(&parties.file).unwrap()).unwrap();
    let bits = program.input_width(Party::Evaluator);
    let three = format!("{}=3", parties.file);
    let fill = |flags: &[&str]| {
        let flags = [flags, &["--component", &three]].concat();
        ROLES.map(|role| parties.preprocess(role, &flags))
    };
    let run = |inputs: [&str; 2], more: &[&str]| {
        let flags = [&SEMI_HONEST, more].concat();
        [0, 1].map(|k| parties.run(ROLES[k], inputs[k], &flags))
    };
    for output in parties.both(fill(&SEMI_HONEST)) {
        let json = object(&output);
        assert_eq!(output.status.code(), Some(0), "{json}");
        schema::holds(&["preprocess"], &json);
        assert_eq!(json["protocol"], "semi-honest");
        assert_eq!(json["steps"], json!([format!("{} OTs for semi-honest runs", 3 * bits)]));
        assert!(text(&output.stderr).contains(WARNING));
    }
    for role in ROLES {
        let arguments = parties.stock(role, "ls", &["--program", &parties.file]);
        let (said, json) = good(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(
            said.contains("SEMI-HONEST") && said.contains("The preprocessing makes 3 executions"),
            "{said}"
        );
        let epoch = &json["epochs"][0];
        assert_eq!((&epoch["protocol"], &epoch["security"]), (&json!("semi-honest"), &json!(null)));
        assert_eq!((&epoch["bound_log2"], &epoch["batches"][0]["kind"]), (&json!(null), &json!("ots")));
    }
    // `doctor` finds the stock, too, and changes nothing.
    assert!(parties.doctor("evaluator", &SEMI_HONEST, 0).contains("the stock has all items for this run"));

    // The stock has three executions: the first run takes two, and the second one needs one more than are
    // left.
    let learned = json!([{ "alice": 0, "bob": 1 }, { "alice": 1, "bob": 0 }]);
    let two = ["[7, 9]", "[9, 7]"];
    for made in [json!(null), json!(format!("{bits} OTs"))] {
        let outputs = parties.both(run(two, &["--executions", "2"]));
        for (output, role) in outputs.iter().zip(ROLES) {
            let json = object(output);
            assert_eq!(output.status.code(), Some(0), "{json} {}", text(&output.stderr));
            schema::holds(&[role], &json);
            assert_eq!((&json["outputs"][role], &json["made_on_the_spot"]), (&learned, &made));
            let promise = json!({ "model": "semi-honest", "computational_bits": 111.0, "warning": WARNING });
            assert_eq!(json["promise"], promise);
            if made.is_null() {
                let sent = |field: &str| -> u64 {
                    let phases = json["phases"].as_array().unwrap();
                    phases.iter().map(|phase| phase[field].as_u64().unwrap()).sum()
                };
                let expected = sent_bytes(&program, 2, Ots::Stocked { epochs: 1 }).unwrap();
                assert_eq!([sent("garbler_sent_bytes"), sent("evaluator_sent_bytes")], expected);
            }
        }
    }
    for output in parties.both(run(["1", "2"], &["--no-top-up"])) {
        is_error(&output, 6, &format!("the program needs {bits} OTs, but the store has no stock"));
    }
    let found = parties.doctor("garbler", &[&SEMI_HONEST[..], &["--no-top-up"]].concat(), 6);
    assert!(found.contains("has 0 executions of it"), "{found}");

    // Neither protocol accepts the other's files, and both errors explain what to do.
    let _ = parties.good(fill(&SEMI_HONEST));
    for output in parties.both(fill(&[])) {
        is_error(&output, 6, &of_another("semi-honest", "duplo"));
    }
    assert_eq!(ROLES.map(|role| parties.executions(role)), [3; 2]);
    for role in ROLES {
        std::fs::remove_dir_all(parties.store(role)).unwrap();
    }
    let _ = parties.good(fill(&[]));
    for output in parties.both(run(["1", "2"], &[])) {
        is_error(&output, 6, &of_another("duplo", "semi-honest"));
    }
    assert_eq!(ROLES.map(|role| parties.executions(role)), [3; 2]);
}

/// One command for both parties, on stock that it makes, gives the same result as without stock. The cost of
/// the run is predicted.
#[test]
fn semi_honest_runs_from_stock_are_planned() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (file, key, stores) = (example("millionaires.bwp"), at("key"), at("stores"));
    let made = self::run(&["keygen", "--store-key", "-o", &key]);
    assert_eq!(made.status.code(), Some(0));
    let run = ["run", &file, "--garbler", "3", "--evaluator", "4"];
    let (_, without) = good(&[&run[..], &SEMI_HONEST].concat());
    let stocked = [&run[..], &SEMI_HONEST, &["--store", &stores, "--store-key", &key]].concat();
    let (said, with) = good(&stocked);
    assert!(said.contains("SEMI-HONEST ONLY"), "{said}");
    assert_eq!(with["outputs"], without["outputs"]);
    let program = Program::from_bytes(&std::fs::read(&file).unwrap()).unwrap();
    let (said, planned) = good(&[&["plan", &file, "--stocked"], &SEMI_HONEST[..]].concat());
    assert!(said.contains("SEMI-HONEST ONLY"), "{said}");
    let sent = |field: &str| -> u64 {
        planned["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
    };
    let expected = sent_bytes(&program, 1, Ots::Stocked { epochs: 1 }).unwrap();
    assert_eq!([sent("garbler_sent_bytes"), sent("evaluator_sent_bytes")], expected);
    let (_, planned) = good(&["plan", &file, "--stocked", "--protocol", "duplo"]);
    let script = brickwork::duplo::cost::script_from_stock(&program, Some(1), 40.into()).unwrap();
    let sent = ["garbler_sent_bytes", "evaluator_sent_bytes"].map(|field| -> u64 {
        planned["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
    });
    assert_eq!(sent, script.sent_bytes(1));
    bad(
        &["plan", &file, "--stocked", "--cut", "whole", "--protocol", "duplo"],
        2,
        "--stocked has no effect with --cut",
    );
    let jimu = ["--protocol", "jimu"];
    let (said, planned) = good(&[&["plan", &file, "--stocked"], &jimu[..]].concat());
    assert!(said.contains("AND gates: 64 buckets"), "{said}");
    let sent = |planned: &Value| {
        ["garbler_sent_bytes", "evaluator_sent_bytes"].map(|field| -> u64 {
            planned["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
        })
    };
    let script = |unit| jimu::cost::script_from_stock(&program, unit, 1, 40).unwrap();
    assert_eq!(sent(&planned), script(Unit::Gates).sent_bytes(1));
    let given = ["plan", &file, "--stocked", "--cut", "given"];
    let (said, planned) = good(&[&given[..], &jimu].concat());
    assert!(said.contains(&format!("{}: 1 bucket of", program.components()[0].name)), "{said}");
    assert_eq!(sent(&planned), script(Unit::Components).sent_bytes(1));
    let fill = [
        "preprocess",
        "--role",
        "garbler",
        "--identity",
        "x",
        "--peer",
        "y",
        "--store",
        "z",
        "--listen",
        "127.0.0.1:0",
    ];
    for (flags, why) in [
        (&["--security", "64"][..], "--security has no effect"),
        (&["--no-ots"], "--no-ots has no effect"),
        (&["--no-inputs"], "--no-inputs has no effect"),
    ] {
        let component = ["--component", &format!("{file}=1")];
        bad(&[&fill[..], &SEMI_HONEST, &component, flags].concat(), 2, why);
    }
    let named = format!("{file}:compare=1");
    bad(
        &[&fill[..], &SEMI_HONEST, &["--component", &named]].concat(),
        2,
        "no component is made ahead of time",
    );
}

/// Returns the flags for CompGC with this linking.
fn linked(linking: Linking) -> [&'static str; 4] {
    ["--protocol", "compgc", "--linking", linking.name()]
}

/// Two processes compute with each linking. The bytes are the predicted ones, and the missing guarantees are
/// named.
#[test]
fn compgc_parties_compute_and_say_so() {
    let keys = Keys::new();
    let program = Program::from_bytes(&std::fs::read(example("millionaires.bwp")).unwrap()).unwrap();
    for (linking, flags, inputs, learned) in [
        (Linking::Naive, &[][..], ["1000000", "1250000"], json!({ "alice": 0, "bob": 1 })),
        (Linking::Standard, &[][..], ["7", "5"], json!({ "alice": 1, "bob": 0 })),
        (
            Linking::Scmc,
            &["--executions", "2"][..],
            ["[7, 9]", "[9, 7]"],
            json!([{ "alice": 0, "bob": 1 }, { "alice": 1, "bob": 0 }]),
        ),
    ] {
        let executions = flags.len().max(1);
        let flags = [&linked(linking)[..], &["--json", "--timeout", "60"], flags].concat();
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
            assert_eq!((&json["outputs"][role], &json["protocol"]), (&learned, &json!("compgc")));
            let promise = json!({
                "model": "semi-honest",
                "computational_bits": 111.0,
                "warning": compgc::WARNING,
                "linking": { "name": linking.name(), "garbled": linking.garbled() },
            });
            assert_eq!(json["promise"], promise);
            assert_eq!(json["and_gates"], whole.and_gates());
            assert!(text(&output.stderr).contains(compgc::WARNING) || role == "garbler");
            let sent = |field: &str| -> u64 {
                json["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
            };
            let expected = compgc::sent_bytes(&whole, linking).unwrap();
            assert_eq!([sent("garbler_sent_bytes"), sent("evaluator_sent_bytes")], expected);
        }
    }
}

/// CompGC works in one command for both parties and in `plan`. Flags without effect are
/// refused, and so is a peer with another linking.
#[test]
fn compgc_is_planned_and_refuses_what_it_is_not() {
    let file = example("millionaires.bwp");
    let program = Program::from_bytes(&std::fs::read(&file).unwrap()).unwrap();
    for linking in Linking::ALL {
        let flags = linked(linking);
        let (said, planned) = good(&[&["plan", &file, "--executions", "3"], &flags[..]].concat());
        assert!(said.contains("SEMI-HONEST ONLY") && said.contains(linking.garbled()), "{said}");
        let sent = |field: &str| -> u64 {
            planned["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
        };
        let expected = compgc::sent_bytes(&program.repeat(3).unwrap(), linking).unwrap();
        assert_eq!([sent("garbler_sent_bytes"), sent("evaluator_sent_bytes")], expected);
    }
    let flags = ["--protocol", "compgc"];
    let (said, planned) = good(&[&["plan", &file, "--stocked"], &flags[..]].concat());
    assert!(said.contains("SEMI-HONEST ONLY"), "{said}");
    let sent = ["garbler_sent_bytes", "evaluator_sent_bytes"].map(|field| -> u64 {
        planned["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
    });
    assert_eq!(sent, compgc::cost::script_from_stock(&program, 1).unwrap().sent_bytes(1));
    for linking in [Linking::Naive, Linking::Scmc] {
        let why = format!("--store has no effect with --linking {}", linking.name());
        bad(&[&["plan", &file, "--stocked"], &linked(linking)[..]].concat(), 2, &why);
    }
    let (said, ran) = good(&[&["run", &file, "--garbler", "1", "--evaluator", "2"], &flags[..]].concat());
    assert!(said.contains("SEMI-HONEST ONLY") && ran["promise"]["linking"]["name"] == "standard", "{said}");
    for flag in [
        ["--security", "40"],
        ["--commitments", "split"],
        ["--buckets", "standard"],
        ["--cut", "whole"],
        ["--lanes", "2"],
        ["--recovery-notes", "nowhere"],
    ] {
        let run = ["run", &file, "--garbler", "1", "--evaluator", "2"];
        bad(&[&run[..], &flags, &flag].concat(), 2, "has no effect with --protocol compgc");
        assert!(!Path::new("nowhere").exists());
    }
    for linking in [Linking::Naive, Linking::Scmc] {
        let run = ["run", &file, "--garbler", "1", "--evaluator", "2", "--store", "nowhere"];
        let why = format!("--store has no effect with --linking {}: {}", linking.name(), linking.garbled());
        bad(&[&run[..], &linked(linking)].concat(), 2, &why);
        assert!(!Path::new("nowhere").exists());
    }
    for other in ["duplo", "semi-honest"] {
        let run = ["run", &file, "--garbler", "1", "--evaluator", "2", "--protocol", other];
        bad(&[&run[..], &["--linking", "scmc"]].concat(), 2, "--linking has no effect");
    }

    let keys = Keys::new();
    let flags = [&linked(Linking::Scmc)[..], &["--json", "--timeout", "60"]].concat();
    let (listening, address) = Side::garbler(&keys).listen(&flags);
    let words = "the garbler has --protocol compgc --linking scmc, but the evaluator has --protocol compgc \
                 --linking standard";
    let flags = [&linked(Linking::Standard)[..], &["--json"]].concat();
    is_error(&Side::evaluator(&keys).connect(&address, &flags), 7, words);
    is_error(&finish(listening), 7, words);
}

/// Two processes compute. The bytes are the predicted ones, and both promise the same bound.
#[test]
fn lego_parties_compute_and_promise() {
    let keys = Keys::new();
    let program = Program::from_bytes(&std::fs::read(example("millionaires.bwp")).unwrap()).unwrap();
    for (level, flags, inputs, learned) in [
        (40, &[][..], ["1000000", "1250000"], json!({ "alice": 0, "bob": 1 })),
        (
            64,
            &["--executions", "2", "--security", "64"][..],
            ["[7, 9]", "[9, 7]"],
            json!([{ "alice": 0, "bob": 1 }, { "alice": 1, "bob": 0 }]),
        ),
    ] {
        let whole = if level == 40 { program.clone() } else { program.repeat(2).unwrap() };
        let flags = [&["--protocol", "lego", "--json", "--timeout", "60"], flags].concat();
        let [garbler, evaluator] = [
            Side { input: inputs[0], ..Side::garbler(&keys) },
            Side { input: inputs[1], ..Side::evaluator(&keys) },
        ];
        let (listening, address) = garbler.listen(&flags);
        let outputs = [evaluator.connect(&address, &flags), finish(listening)];
        let parameters = lego::parameters(&whole, level).unwrap();
        for (output, role) in outputs.iter().zip(["evaluator", "garbler"]) {
            let json = object(output);
            assert_eq!(output.status.code(), Some(0), "{json} {}", text(&output.stderr));
            schema::holds(&[role], &json);
            assert_eq!((&json["outputs"][role], &json["protocol"]), (&learned, &json!("lego")));
            assert_eq!(json["promise"], serde_json::to_value(parameters.promise()).unwrap());
            assert!(json["promise"]["bound_log2"].as_f64().unwrap() <= -f64::from(level));
            assert_eq!(json["and_gates"], whole.and_gates());
            let sent = |field: &str| -> u64 {
                json["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
            };
            let expected = lego::sent_bytes(&whole, &parameters).unwrap();
            assert_eq!([sent("garbler_sent_bytes"), sent("evaluator_sent_bytes")], expected);
        }
    }
}

/// LEGO works in one command for both parties and in `plan`. Flags without effect are
/// refused.
#[test]
fn lego_is_planned_and_refuses_what_it_is_not() {
    let file = example("millionaires.bwp");
    let program = Program::from_bytes(&std::fs::read(&file).unwrap()).unwrap();
    let flags = ["--protocol", "lego"];
    let (said, planned) = good(&[&["plan", &file, "--executions", "3"], &flags[..]].concat());
    assert!(said.contains("Security: malicious") && said.contains("AND gates: 192 buckets"), "{said}");
    let sent = |field: &str| -> u64 {
        planned["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
    };
    let whole = program.repeat(3).unwrap();
    let expected = lego::sent_bytes(&whole, &lego::parameters(&whole, 40).unwrap()).unwrap();
    assert_eq!([sent("garbler_sent_bytes"), sent("evaluator_sent_bytes")], expected);
    assert_eq!(planned["round_trips"], 5.5);
    let run = ["run", &file, "--garbler", "1", "--evaluator", "2"];
    let (said, ran) = good(&[&run[..], &flags].concat());
    assert!(
        said.contains("wire authenticators: 64 buckets") && ran["promise"]["model"] == "malicious",
        "{said}"
    );
    for flag in [["--linking", "scmc"], ["--buckets", "standard"], ["--cut", "whole"], ["--lanes", "2"]] {
        bad(&[&run[..], &flags, &flag].concat(), 2, "has no effect with --protocol lego");
    }
}

/// Two processes make gates, build programs of them, run both kinds of stock, make missing items, and refuse
/// flags without effect. The stock is listed, and the cost of a run from it is predicted.
#[test]
fn lego_parties_run_from_stock() {
    const LEGO: [&str; 2] = ["--protocol", "lego"];
    let parties = Parties::new("millionaires.bwp");
    let program = Program::from_bytes(&std::fs::read(&parties.file).unwrap()).unwrap();
    let (bits, name) = (program.input_width(Party::Evaluator), &program.components()[0].name);
    let (each, three) = (program.and_gates(), format!("{}=3", parties.file));
    let fill = |flags: &[&str], what: &str| {
        let flags = [&LEGO, flags, &["--component", what]].concat();
        ROLES.map(|role| parties.preprocess(role, &flags))
    };
    let run = |inputs: [&str; 2], more: &[&str]| {
        let flags = [&LEGO, more].concat();
        [0, 1].map(|k| parties.run(ROLES[k], inputs[k], &flags))
    };
    // A named component gives only gates. Then stock for whole programs is made, and one of them is built.
    let one = format!("{}:{name}=2", parties.file);
    for output in parties.both(fill(&["--no-inputs"], &one)) {
        let json = object(&output);
        assert_eq!(output.status.code(), Some(0), "{json}");
        schema::holds(&["preprocess"], &json);
        assert_eq!(json["steps"], json!([format!("{} AND gates for lego runs", 2 * each)]));
    }
    for output in parties.both(fill(&["--build"], &three)) {
        let json = object(&output);
        assert_eq!(output.status.code(), Some(0), "{json} {}", text(&output.stderr));
        schema::holds(&["preprocess"], &json);
        let made = format!("{} AND gates, {} inputs, {} OTs for lego runs", 3 * each, 3 * bits, 3 * bits);
        assert_eq!(json["steps"], json!([made, format!("3 x {}, built", program.name())]));
    }
    for role in ROLES {
        let arguments = parties.stock(role, "ls", &["--program", &parties.file]);
        let (said, json) = good(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(
            said.contains("The preprocessing makes 3 executions") && said.contains("wire authenticators"),
            "{said}"
        );
        let epoch = &json["epochs"][0];
        assert_eq!((&epoch["protocol"], &epoch["security"]), (&json!("lego"), &json!(40)));
        let kinds: Vec<_> = epoch["batches"].as_array().unwrap().iter().map(|batch| &batch["kind"]).collect();
        let program = "program";
        assert_eq!(kinds, ["gates", "gates", "input authenticators", "ots", program, program, program]);
    }
    assert!(parties.doctor("evaluator", &LEGO, 0).contains("the stock has all items for this run"));

    let learned = json!({ "alice": 0, "bob": 1 });
    let sent = |json: &serde_json::Value, field: &str| -> u64 {
        json["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
    };
    let script = |stock| lego::cost::script_from_stock(&program, stock, 40).unwrap().sent_bytes(1);
    for (output, role) in parties.both(run(["7", "9"], &["--no-top-up"])).iter().zip(ROLES) {
        let json = object(output);
        assert_eq!(output.status.code(), Some(0), "{json} {}", text(&output.stderr));
        schema::holds(&[role], &json);
        assert_eq!((&json["outputs"][role], &json["made_on_the_spot"]), (&learned, &json!(null)));
        assert!(json["promise"]["epoch_bound_log2"].as_f64().unwrap() < -40.0);
        let all = ["garbler_sent_bytes", "evaluator_sent_bytes"].map(|field| sent(&json, field));
        assert_eq!(all, script(lego::cost::GateSource::Built { epochs: 1 }));
    }
    // For four executions at once no program was built, and there are too few gates.
    let four = ["[7, 9, 7, 9]", "[9, 7, 9, 7]"];
    for output in parties.both(run(four, &["--executions", "4", "--no-top-up"])) {
        is_error(&output, 6, "more than the stock has");
    }
    for output in parties.both(run(four, &["--executions", "4"])) {
        let json = object(&output);
        assert_eq!(output.status.code(), Some(0), "{json} {}", text(&output.stderr));
        let made = format!("{} AND gates, {} inputs, {} OTs", 4 * each, 4 * bits, 4 * bits);
        assert_eq!(json["made_on_the_spot"], json!(made));
    }
    let _ = parties.doctor("garbler", &[&LEGO[..], &["--no-top-up", "--security", "64"]].concat(), 6);

    // No other protocol accepts the store, and every error has a hint.
    let duplos = [0, 1].map(|k| parties.run(ROLES[k], "7", &["--protocol", "duplo"]));
    for output in parties.both(duplos) {
        is_error(&output, 6, &of_another("lego", "duplo"));
    }
    for role in ROLES {
        std::fs::remove_dir_all(parties.store(role)).unwrap();
    }
    let duplos = ROLES.map(|role| parties.preprocess(role, &["--component", &three]));
    let _ = parties.good(duplos);
    for output in parties.both(run(["1", "2"], &[])) {
        is_error(&output, 6, &of_another("duplo", "lego"));
    }

    let (said, planned) = good(&[&["plan", &parties.file, "--stocked"], &LEGO[..]].concat());
    assert!(said.contains("Security: malicious"), "{said}");
    let all = ["garbler_sent_bytes", "evaluator_sent_bytes"].map(|field| sent(&planned, field));
    assert_eq!(all, script(lego::cost::GateSource::Gates { epochs: 1 }));
    let fill =
        ["preprocess", "--role", "garbler", "--identity", "x", "--peer", "y", "--store", "z", "--listen"];
    let whole = ["127.0.0.1:0", "--component", &three];
    bad(&[&fill[..], &whole, &["--build"]].concat(), 2, "--build has no effect with --protocol duplo");
    for flags in [&["--build=2"][..], &["--build", "--no-ots"]] {
        bad(&[&fill[..], &whole, &LEGO, flags].concat(), 2, "makes whole programs");
    }
}

/// Two processes compute with authenticated masks at each security level. The bytes are the predicted ones,
/// and the promise reaches the level. `run` and `plan` work, and flags without effect are
/// refused.
#[test]
fn parties_with_authenticated_masks_compute_and_say_what_they_promise() {
    let (keys, file) = (Keys::new(), example("millionaires.bwp"));
    let program = Program::from_bytes(&std::fs::read(&file).unwrap()).unwrap();
    // Each level uses another kind of OTs, which both parties name, or one of them, or neither.
    for (security, cot, [garblers, evaluators]) in [
        (40, Some(Cot::SoftSpoken8), [true, true]),
        (40, Some(Cot::SoftSpoken2), [false, true]),
        (64, Some(Cot::Extension), [true, false]),
        (80, None, [false, false]),
        (80, Some(Cot::Pcg), [true, true]),
    ] {
        let level = security.to_string();
        let flags = ["--protocol", "authenticated", "--security", &level, "--json", "--timeout", "60"];
        let with = |named: bool| match cot {
            Some(cot) if named => [&flags[..], &["--cot", cot.name()]].concat(),
            _ => flags.to_vec(),
        };
        let garbler = Side { input: "1000000", ..Side::garbler(&keys) };
        let evaluator = Side { input: "1250000", ..Side::evaluator(&keys) };
        let (listening, address) = garbler.listen(&with(garblers));
        let outputs = [evaluator.connect(&address, &with(evaluators)), finish(listening)];
        // If neither party names one, both report the choice, which needs no additional assumption.
        let chosen =
            object(&outputs[0])["promise"]["triples"]["cot"].as_str().map(str::to_owned).unwrap_or_default();
        let chosen = Cot::ALL.into_iter().find(|cot| cot.name() == chosen).unwrap();
        assert!(cot.is_some() || chosen != Cot::Pcg);
        let cot = cot.unwrap_or(chosen);
        let learned = json!({"alice": 0, "bob": 1});
        for (output, role) in outputs.iter().zip(["evaluator", "garbler"]) {
            let json = object(output);
            assert_eq!(output.status.code(), Some(0), "{json} {}", text(&output.stderr));
            schema::holds(&[role], &json);
            assert_eq!((&json["outputs"][role], &json["protocol"]), (&learned, &json!("authenticated")));
            let promised = &json["promise"];
            assert!(promised["bound_log2"].as_f64().unwrap() <= -f64::from(security), "{promised}");
            let triples = &promised["triples"];
            assert_eq!(
                (&triples["used"], &triples["cot"]),
                (&json!(program.and_gates()), &json!(cot.name()))
            );
            assert_eq!(triples["lpn_bits"].as_f64().is_some_and(|bits| bits >= 128.0), cot == Cot::Pcg);
            let sent = |field: &str| -> u64 {
                json["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
            };
            let expected = authenticated::sent_bytes(&program, security, cot).unwrap();
            assert_eq!([sent("garbler_sent_bytes"), sent("evaluator_sent_bytes")], expected);
            let predicted = json["predicted"]["phases"].as_array().unwrap();
            let of_all = |field: &str| predicted.iter().map(|p| p[field].as_u64().unwrap()).sum::<u64>();
            assert_eq!([of_all("garbler_sent_bytes"), of_all("evaluator_sent_bytes")], expected);
        }
    }
    let flags = ["--protocol", "authenticated"];
    let plan = [&["plan", &file, "--executions", "3"], &flags[..]].concat();
    // With a low bandwidth, the OTs with the fewest bytes are taken. Without a limit, the OTs with the most
    // computation are not.
    let fast = ["extension", "softspoken-2", "softspoken-4"];
    for (line, expected) in [(&["--bandwidth", "1Mbit"][..], &["softspoken-8"][..]), (&[], &fast)] {
        let (said, planned) = good(&[&["plan", &file, "--executions", "2000"], &flags[..], line].concat());
        schema::holds(&["plan"], &planned);
        let cot = planned["promise"]["triples"]["cot"].as_str().unwrap();
        assert!(expected.contains(&cot), "{said}");
        assert!(said.contains(&format!("{cot} for the masks: ")), "{said}");
        assert!(planned["cot_reason"].as_str().is_some_and(|why| said.contains(why)), "{planned}");
    }
    let (said, planned) = good(&[&plan[..], &["--cot", "softspoken-4"]].concat());
    assert!(said.contains("leaky ANDs") && !said.contains("for the masks"), "{said}");
    assert!(planned["cot_reason"].is_null());
    let sent: u64 =
        planned["phases"].as_array().unwrap().iter().map(|p| p["garbler_sent_bytes"].as_u64().unwrap()).sum();
    assert_eq!(sent, authenticated::sent_bytes(&program.repeat(3).unwrap(), 40, Cot::default()).unwrap()[0]);
    for flag in [
        ["--commitments", "split"],
        ["--linking", "scmc"],
        ["--buckets", "standard"],
        ["--cut", "whole"],
        ["--lanes", "2"],
    ] {
        let run = ["run", &file, "--garbler", "1", "--evaluator", "2"];
        bad(&[&run[..], &flags, &flag].concat(), 2, "has no effect with --protocol authenticated");
    }
    let (said, json) = good(&[&["plan", &file, "--stocked"], &flags[..]].concat());
    assert!(said.contains("asked for: 2^-40"), "{said}");
    let phases = json["phases"].as_array().unwrap();
    let sent = ["garbler_sent_bytes", "evaluator_sent_bytes"]
        .map(|field| phases.iter().map(|phase| phase[field].as_u64().unwrap()).sum::<u64>());
    assert_eq!(sent, authenticated::cost::script_from_stock(&program, 40, 1).unwrap().sent_bytes(1));
    let run = ["run", &file, "--garbler", "1", "--evaluator", "2"];
    bad(
        &[&run[..], &["--cot", "softspoken-4", "--protocol", "duplo"]].concat(),
        2,
        "--cot has no effect with --protocol duplo",
    );
    bad(&[&run[..], &flags, &["--cot", "softspoken-3"]].concat(), 2, "softspoken-2, softspoken-4");
    // Parties that name different OTs refuse each other, and so do parties of which only one names PCG.
    for (of_garbler, theirs, words) in [
        (
            &["--cot", "softspoken-4"][..],
            "softspoken-8",
            "the garbler has --protocol authenticated --cot softspoken-4, but the evaluator has --protocol \
             authenticated --cot softspoken-8",
        ),
        (&[], "pcg", "also assumes that LPN is hard, so both parties must ask for it"),
    ] {
        let (listening, address) =
            Side::garbler(&keys).listen(&[&flags[..], of_garbler, &["--json", "--timeout", "60"]].concat());
        let others = ["--protocol", "authenticated", "--cot", theirs, "--json"];
        is_error(&Side::evaluator(&keys).connect(&address, &others), 7, words);
        is_error(&finish(listening), 7, words);
    }
}

/// Both parties send megabytes before either reads them. This is more than the buffers of the sockets hold,
/// so each must read while it writes.
#[test]
fn parties_that_send_at_once_do_not_wait_for_each_other() {
    let file = example("cbc-mac-16.bwp");
    let input = |role: &str| format!("@{}", example(&format!("cbc-mac-16.{role}.json")));
    let (garbler, evaluator) = (input("garbler"), input("evaluator"));
    let run = ["run", &file, "--garbler", &garbler, "--evaluator", &evaluator, "--timeout", "60"];
    let outputs = [Cot::Extension, Cot::SoftSpoken8].map(|cot| {
        let flags = ["--protocol", "authenticated", "--cot", cot.name()];
        good(&[&run[..], &flags].concat()).1["output_bits"].clone()
    });
    assert!(outputs[0]["evaluator"].as_str().is_some_and(|bits| bits.len() == 128), "{outputs:?}");
    assert_eq!(outputs[0], outputs[1]);
}

/// Base OTs from lattices give the same outputs in every protocol, and change only their own messages. Both
/// parties must request them, a store cannot have them, and no prediction is shown.
#[test]
fn no_secret_rests_on_discrete_logarithms_if_asked_for() {
    let file = example("millionaires.bwp");
    let run = ["run", &file, "--garbler", "5", "--evaluator", "7"];
    // For each protocol, two numbers of base OTs in blocks of 128: those in which the garbler chooses, and
    // those in which the evaluator chooses.
    let protocols = [
        ("duplo", [1, 0]),
        ("authenticated", [1, 1]),
        ("semi-honest", [1, 0]),
        ("compgc", [1, 0]),
        ("lego", [1, 0]),
        ("jimu", [3, 0]),
    ];
    for (protocol, blocks) in protocols {
        let flags = ["--protocol", protocol];
        let (said, curve) = good(&[&run[..], &flags].concat());
        assert!(!said.contains("ML-KEM") && curve["post_quantum"] == false);
        let (said, lattice) = good(&[&run[..], &flags, &["--post-quantum"]].concat());
        assert!(said.contains("Base OTs from ML-KEM-768"), "{said}");
        assert!(lattice["post_quantum"] == true && lattice["predicted"].is_null(), "{lattice}");
        assert_eq!(lattice["outputs"], curve["outputs"]);
        let sent = |run: &Value, field: &str| -> u64 {
            run["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_u64().unwrap()).sum()
        };
        // The choosing party sends ML-KEM keys instead of points. The other party sends ciphertexts instead
        // of one point.
        let mut more = [Script::new(&["setup"]), Script::new(&["setup"])];
        let pairs = [(Party::Garbler, Party::Evaluator), (Party::Evaluator, Party::Garbler)];
        for ((chooses, offers), ots) in pairs.into_iter().zip(blocks.map(|blocks| 128 * blocks)) {
            more[0].message(chooses, 32 + 64 * ots);
            if ots > 0 {
                more[1].message(chooses, (32 + 2 * 1152) * ots);
                more[1].message(offers, 2 * 1088 * ots);
            }
        }
        for (k, field) in ["garbler_sent_bytes", "evaluator_sent_bytes"].into_iter().enumerate() {
            let [before, after] = [0, 1].map(|i: usize| more[i].sent_bytes(1)[k]);
            assert_eq!(sent(&lattice, field) + before, sent(&curve, field) + after, "{protocol} {field}");
        }
    }
    bad(&[&run[..], &["--post-quantum", "--store", "nowhere"]].concat(), 2, "cannot be used with a store");
    assert!(!Path::new("nowhere").exists());
    bad(&["plan", &file, "--post-quantum"], 2, "elliptic curve");

    let keys = Keys::new();
    let (listening, address) =
        Side::garbler(&keys).listen(&["--post-quantum", "--json", "--timeout", "60", "--protocol", "duplo"]);
    let words = "the garbler has --protocol duplo --post-quantum, but the evaluator has --protocol duplo";
    is_error(&Side::evaluator(&keys).connect(&address, &["--json", "--protocol", "duplo"]), 7, words);
    is_error(&finish(listening), 7, words);
}

/// Two processes garble components into their stores, run programs that were not named then, make missing
/// items, and refuse flags without effect.
#[test]
fn compgc_parties_run_from_stock() {
    const COMPGC: [&str; 2] = ["--protocol", "compgc"];
    let parties = Parties::new("millionaires.bwp");
    let program = Program::from_bytes(&std::fs::read(&parties.file).unwrap()).unwrap();
    let (bits, name) = (program.input_width(Party::Evaluator), &program.components()[0].name);
    let fill = |flags: &[&str], what: &str| {
        let flags = [flags, &["--component", what]].concat();
        ROLES.map(|role| parties.preprocess(role, &flags))
    };
    let run = |inputs: [&str; 2], more: &[&str]| {
        let flags = [&COMPGC, more].concat();
        [0, 1].map(|k| parties.run(ROLES[k], inputs[k], &flags))
    };
    let three = format!("{}=3", parties.file);
    for output in parties.both(fill(&COMPGC, &three)) {
        let json = object(&output);
        assert_eq!(output.status.code(), Some(0), "{json}");
        schema::holds(&["preprocess"], &json);
        assert_eq!(json["protocol"], "compgc");
        assert_eq!(json["steps"], json!([format!("3 {name}, {} OTs for compgc runs", 3 * bits)]));
        assert!(text(&output.stderr).contains(compgc::WARNING));
    }
    // For a named component, stock has copies without OTs.
    let _ =
        parties.good(fill(&[&COMPGC[..], &["--no-inputs"]].concat(), &format!("{}:{name}=2", parties.file)));
    for role in ROLES {
        let arguments = parties.stock(role, "ls", &["--program", &parties.file]);
        let (said, json) = good(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(said.contains("The preprocessing makes 3 executions"), "{said}");
        let epoch = &json["epochs"][0];
        assert_eq!((&epoch["protocol"], &epoch["security"]), (&json!("compgc"), &json!(null)));
        let kinds: Vec<_> = epoch["batches"].as_array().unwrap().iter().map(|batch| &batch["kind"]).collect();
        assert_eq!(kinds, ["component", "ots", "component"]);
    }
    assert!(parties.doctor("evaluator", &COMPGC, 0).contains("the stock has all items for this run"));

    // The stock has three executions. The first run takes two of them as one program with two slots. The
    // second run needs as many, for which some OTs are missing.
    let learned = json!([{ "alice": 0, "bob": 1 }, { "alice": 1, "bob": 0 }]);
    let two = ["[7, 9]", "[9, 7]"];
    for made in [json!(null), json!(format!("{bits} OTs"))] {
        let outputs = parties.both(run(two, &["--executions", "2"]));
        for (output, role) in outputs.iter().zip(ROLES) {
            let json = object(output);
            assert_eq!(output.status.code(), Some(0), "{json} {}", text(&output.stderr));
            schema::holds(&[role], &json);
            assert_eq!((&json["outputs"][role], &json["made_on_the_spot"]), (&learned, &made));
            assert_eq!(
                (&json["promise"]["model"], &json["predicted"]),
                (&json!("semi-honest"), &json!(null))
            );
            let names = json["phases"].as_array().unwrap().iter().map(|phase| &phase["name"]);
            assert_eq!(names.into_iter().any(|name| name == "preprocess"), !made.is_null(), "{json}");
        }
    }
    for output in parties.both(run(two, &["--executions", "2", "--no-top-up"])) {
        is_error(&output, 6, &format!("the program needs 2 {name}, but the stock has 1"));
    }
    let _ = parties.doctor("garbler", &[&COMPGC[..], &["--no-top-up"]].concat(), 6);

    // No other protocol accepts the store, and every error has a hint.
    for output in parties.both(fill(&SEMI_HONEST, &three)) {
        is_error(&output, 6, &of_another("compgc", "semi-honest"));
    }
    for role in ROLES {
        std::fs::remove_dir_all(parties.store(role)).unwrap();
    }
    let _ = parties.good(fill(&SEMI_HONEST, &three));
    for output in parties.both(run(["1", "2"], &[])) {
        is_error(&output, 6, &of_another("semi-honest", "compgc"));
    }
    assert_eq!(ROLES.map(|role| parties.executions(role)), [3; 2]);

    // One command runs both parties.
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (key, stores) = (at("key"), at("stores"));
    assert_eq!(self::run(&["keygen", "--store-key", "-o", &key]).status.code(), Some(0));
    let run = ["run", &parties.file, "--garbler", "3", "--evaluator", "4"];
    let (_, without) = good(&[&run[..], &COMPGC].concat());
    let (said, with) = good(&[&run[..], &COMPGC, &["--store", &stores, "--store-key", &key]].concat());
    assert!(said.contains("SEMI-HONEST ONLY"), "{said}");
    assert_eq!(with["outputs"], without["outputs"]);
    let fill =
        ["preprocess", "--role", "garbler", "--identity", "x", "--peer", "y", "--store", "z", "--listen"];
    let flags = ["127.0.0.1:0", "--component", &three, "--security", "64"];
    bad(&[&fill[..], &flags, &COMPGC].concat(), 2, "--security has no effect with --protocol compgc");
}

/// Two processes make components with authenticated masks, run programs that were not named then, make
/// missing items, even in an epoch that was used, and print the promise.
#[test]
fn parties_with_authenticated_masks_run_from_stock() {
    const AUTHENTICATED: [&str; 2] = ["--protocol", "authenticated"];
    let parties = Parties::new("millionaires.bwp");
    let program = Program::from_bytes(&std::fs::read(&parties.file).unwrap()).unwrap();
    let bits = program.input_width(Party::Garbler) + program.input_width(Party::Evaluator);
    let name = &program.components()[0].name;
    let fill = |flags: &[&str], what: &str| {
        let flags = [&AUTHENTICATED, flags, &["--component", what]].concat();
        ROLES.map(|role| parties.preprocess(role, &flags))
    };
    let run = |inputs: [&str; 2], more: &[&str]| {
        let flags = [&AUTHENTICATED, more].concat();
        [0, 1].map(|k| parties.run(ROLES[k], inputs[k], &flags))
    };
    for output in parties.both(fill(&["--cot", "softspoken-8"], &format!("{}=3", parties.file))) {
        let json = object(&output);
        assert_eq!(output.status.code(), Some(0), "{json}");
        schema::holds(&["preprocess"], &json);
        assert_eq!(
            json["steps"],
            json!([format!("3 {name}, {} input masks for authenticated runs", 3 * bits)])
        );
    }
    let _ = parties.good(fill(&["--no-inputs"], &format!("{}:{name}=2", parties.file)));
    for role in ROLES {
        let arguments = parties.stock(role, "ls", &["--program", &parties.file]);
        let (said, json) = good(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(said.contains("The preprocessing makes 3 executions"), "{said}");
        let epoch = &json["epochs"][0];
        assert_eq!((&epoch["protocol"], &epoch["security"]), (&json!("authenticated"), &json!(40)));
        assert!(epoch["bound_log2"].as_f64().unwrap() <= -40.0, "{epoch}");
        let kinds: Vec<_> = epoch["batches"].as_array().unwrap().iter().map(|batch| &batch["kind"]).collect();
        assert_eq!(kinds, ["component", "input masks", "component"]);
    }
    let learned = json!([{ "alice": 0, "bob": 1 }, { "alice": 1, "bob": 0 }]);
    for made in [json!(null), json!(format!("{bits} input masks"))] {
        let outputs = parties.both(run(["[7, 9]", "[9, 7]"], &["--executions", "2"]));
        for (output, role) in outputs.iter().zip(ROLES) {
            let json = object(output);
            assert_eq!(output.status.code(), Some(0), "{json} {}", text(&output.stderr));
            schema::holds(&[role], &json);
            assert_eq!((&json["outputs"][role], &json["made_on_the_spot"]), (&learned, &made));
            assert_eq!(json["promise"]["triples"]["cot"], "softspoken-8", "the epoch has its own");
            assert!(json["promise"]["bound_log2"].as_f64().unwrap() <= -40.0);
        }
    }
    for output in parties.both(run(["[7, 9]", "[9, 7]"], &["--executions", "2", "--no-top-up"])) {
        is_error(&output, 6, &format!("the program needs 2 {name}, but the stock has 1"));
    }
    for output in parties.both(run(["1", "2"], &["--security", "64", "--no-top-up"])) {
        is_error(&output, 6, "has no stock for --security 64");
    }
    let flags =
        ["--role", "garbler", "--identity", "x", "--peer", "y", "--store", "z", "--listen", "127.0.0.1:0"];
    let three = format!("{}=3", parties.file);
    let fill = [&["preprocess"][..], &flags, &["--component", &three]].concat();
    bad(&[&fill[..], &["--cot", "extension"]].concat(), 2, "--cot has no effect with --protocol duplo");
    bad(&[&fill[..], &AUTHENTICATED, &["--build"]].concat(), 2, "--build has no effect");
    bad(&[&fill[..], &AUTHENTICATED, &["--no-ots"]].concat(), 2, "--no-ots has no effect");

    // One command runs both parties.
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (key, stores) = (at("key"), at("stores"));
    assert_eq!(self::run(&["keygen", "--store-key", "-o", &key]).status.code(), Some(0));
    let run = ["run", &parties.file, "--garbler", "3", "--evaluator", "4"];
    let (_, without) = good(&[&run[..], &AUTHENTICATED].concat());
    let (said, with) = good(&[&run[..], &AUTHENTICATED, &["--store", &stores, "--store-key", &key]].concat());
    assert!(said.contains("leaky ANDs, in buckets of"), "{said}");
    assert_eq!(with["outputs"], without["outputs"]);
}

/// A program is converted to a CompGC function and back. Its component is the circuit with this name in the
/// same folder. Numbers outside their bounds, and unknown names, are refused.
#[test]
fn functions_of_compgc_are_programs() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let given = example("millionaires.bwp");
    let program = Program::from_bytes(&std::fs::read(&given).unwrap()).unwrap();
    let function = at("function.json");
    good(&["compile", &given, "--emit", "compgc", "-o", &function]);
    let component = format!("{}.bwp", program.components()[0].name);
    bad(&["info", &function], 3, &component);
    std::fs::copy(&given, at(&component)).unwrap();
    let run = ["run", &function, "--garbler", "7", "--evaluator", "9"];
    let (_, ran) = good(&[&run[..], &linked(Linking::Scmc)].concat());
    assert_eq!(ran["output_bits"], json!({ "garbler": "01", "evaluator": "01" }), "{ran}");
    let text = std::fs::read_to_string(&function).unwrap();
    for (from, to, why) in [
        ("\"gc_id\": 1", "\"gc_id\": 2", "no component 2"),
        ("\"end_wire_idx\": 31", "\"end_wire_idx\": 4000", "not a range"),
        ("\"EVAL\"", "\"NOTHING\"", "not a function"),
        ("\"num\": 1", "\"num\": 2", "num is 2"),
    ] {
        assert!(text.contains(from), "{text}");
        std::fs::write(&function, text.replacen(from, to, 1)).unwrap();
        bad(&["info", &function], 3, why);
    }
    // The owners of a component's inputs do not matter, so its inputs may have three owners.
    std::fs::remove_file(at(&component)).unwrap();
    let bristol = brickwork::circuit::formats::bristol::write(&program).unwrap();
    let three = bristol.replacen("\n2 32 32\n", "\n3 32 16 16\n", 1);
    assert_ne!(three, bristol);
    std::fs::write(at(&component).replace(".bwp", ".txt"), three).unwrap();
    std::fs::write(&function, &text).unwrap();
    let (_, ran) = good(&[&run[..], &linked(Linking::Scmc)].concat());
    assert_eq!(ran["output_bits"], json!({ "garbler": "01", "evaluator": "01" }), "{ran}");

    let name = &program.components()[0].name;
    std::fs::write(&function, text.replace(name.as_str(), "../up")).unwrap();
    bad(&["info", &function], 3, "is not the name of a component");
}
