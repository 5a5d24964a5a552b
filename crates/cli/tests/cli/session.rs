//! Tests `session`: computations in steps, by two real processes.

use super::*;
use serde_json::json;

/// Runs a session by two processes, and returns what each of them prints.
fn play(file: &str, garbler: &[&str], evaluator: &[&str]) -> [Value; 2] {
    let keys = Keys::new();
    both(&keys, [file, file], [garbler, evaluator]).map(|output| {
        assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
        object(&output)
    })
}

fn both(keys: &Keys, files: [&str; 2], more: [&[&str]; 2]) -> [Output; 2] {
    let side = |own: usize, place: [&str; 2]| {
        let (role, identity) =
            (["garbler", "evaluator"][own], keys.file(["garbler.key", "evaluator.key"][own]));
        let peer = [&keys.evaluator, &keys.garbler][own];
        let fixed = ["--role", role, "--json", "--timeout", "60", "--identity", &identity, "--peer", peer];
        start(&[&["session", files[own]], &place[..], &fixed, more[own]].concat())
    };
    let mut garbler = side(0, ["--listen", "127.0.0.1:0"]);
    let address = address(&mut garbler);
    let evaluator = side(1, ["--connect", &address]);
    [finish(garbler), finish(evaluator)]
}

/// Returns the results of the steps at a party.
fn outputs(party: &Value) -> Vec<(String, Value)> {
    let role = party["role"].as_str().expect("a role");
    let steps = party["steps"].as_array().expect("steps").iter();
    steps
        .map(|step| (step["step"].as_str().expect("a name").to_owned(), step["outputs"][role].clone()))
        .collect()
}

fn steps(steps: &[(&str, Value)]) -> Vec<(String, Value)> {
    steps.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

/// An auction continues while a bid is raised, as often as the file allows. No party learns the price before
/// the end.
#[test]
fn an_auction_in_rounds() {
    let file = example("sessions/auction.toml");
    let stand = |raised: u8, leader: u8| ("round", json!({ "raised": raised, "leader": leader }));
    // If no bid is raised, the first bids decide. If they are equal, the garbler wins.
    for (open, lead, price) in [([500, 600], 1, 600), ([7, 7], 0, 7)] {
        let inputs = open.map(|bid| [format!("open={bid}"), "round=0".to_owned()]);
        let inputs = inputs.each_ref().map(|[open, round]| ["--input", open, "--input", round]);
        let expected = steps(&[
            ("open", json!(lead)),
            stand(0, lead),
            ("close", json!({ "price": price, "held": lead })),
        ]);
        assert_eq!(play(&file, &inputs[0], &inputs[1]).each_ref().map(outputs), [expected.clone(), expected]);
    }
    // There are at most three rounds, even if a bid is raised in the last one. The evaluator's second input
    // is used again in the third round.
    let garbler =
        ["--input", "open=500", "--input", "round=700", "--input", "round=800", "--input", "round=900"];
    let evaluator = ["--input", "open=600", "--input", "round=750", "--input", "round=850"];
    let expected = steps(&[
        ("open", json!(1)),
        stand(1, 1),
        stand(1, 1),
        stand(1, 0),
        ("close", json!({ "price": 900, "held": 0 })),
    ]);
    for protocol in ["duplo", "authenticated"] {
        let flags = ["--protocol", protocol];
        let played = play(&file, &[&garbler[..], &flags].concat(), &[&evaluator[..], &flags].concat());
        assert_eq!(played.each_ref().map(outputs), [expected.clone(), expected.clone()]);
        assert!(played.iter().all(|party| party["protocol"] == protocol));
    }
    let command =
        ["session", &file, "--role", "garbler", "--identity", "x", "--peer", "y", "--listen", "z:1"];
    for protocol in ["jimu", "lego"] {
        bad(&[&command[..], &["--protocol", protocol]].concat(), 2, "needs a store");
    }
}

/// The second test is made only if the first one has found something. The score stays secret.
#[test]
fn a_program_that_branches_on_a_decoded_bit() {
    let file = example("sessions/triage.toml");
    let model = r#"screen={"weights": [3, 1, 2, 5], "limit": 100}"#;
    let grades = "detail=[110, 150, 1000]";
    let garbler = ["--input", model, "--input", grades];
    // The scores are 3 + 2 + 6 + 20 = 31, and 60 + 20 + 20 + 5 = 105.
    let cases = [
        ("authenticated", [1, 2, 3, 4], 9, 0, None),
        ("duplo", [20, 20, 10, 1], 40, 1, Some(1)),
        ("authenticated", [20, 20, 10, 1], 40, 1, Some(1)),
    ];
    for (protocol, measured, more, risk, grade) in cases {
        let (screen, detail) = (format!("screen={measured:?}"), format!("detail={more}"));
        let flags = ["--protocol", protocol];
        let evaluator = ["--input", &screen, "--input", &detail];
        let played = play(&file, &[&garbler[..], &flags].concat(), &[&evaluator[..], &flags].concat());
        let [theirs, own] = played.each_ref().map(outputs);
        let first = ("screen", json!(risk));
        let nothing = Value::Null;
        let seen = |last: Option<Value>| {
            let all: Vec<_> =
                [Some(first.clone()), last.map(|value| ("detail", value))].into_iter().flatten().collect();
            steps(&all)
        };
        assert_eq!(own, seen(grade.map(|grade| json!(grade))));
        assert_eq!(theirs, seen(grade.map(|_| nothing.clone())));
    }
}

/// Missing inputs are requested on the terminal.
#[test]
fn inputs_are_asked_for() {
    use std::io::Write;
    let keys = Keys::new();
    let file = example("sessions/auction.toml");
    let interactive = |role: &str, place: [&str; 2], identity: &str, peer: &str, lines: &str| {
        let fixed = [
            "--role",
            role,
            "--json",
            "--timeout",
            "60",
            "--interactive",
            "--identity",
            identity,
            "--peer",
            peer,
        ];
        let mut command = brickwork(&[&["session", &file], &place[..], &fixed].concat());
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Child::spawn(pipes);
        child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("it listens");
        child
    };
    let (one, other) = (keys.file("garbler.key"), keys.file("evaluator.key"));
    let mut garbler = interactive("garbler", ["--listen", "127.0.0.1:0"], &one, &keys.evaluator, "5\n6\n0\n");
    let address = address(&mut garbler);
    let evaluator = interactive("evaluator", ["--connect", &address], &other, &keys.garbler, "4\n0\n0\n");
    let expected = steps(&[
        ("open", json!(0)),
        ("round", json!({ "raised": 1, "leader": 0 })),
        ("round", json!({ "raised": 0, "leader": 0 })),
        ("close", json!({ "price": 6, "held": 0 })),
    ]);
    for output in [finish(garbler), finish(evaluator)] {
        assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(outputs(&object(&output)), expected);
        assert!(text(&output.stderr).contains("open: your input ("), "{}", text(&output.stderr));
    }
}

/// A mistake in a session's file is reported, with its reason, before the peer is called.
#[test]
fn sessions_that_are_none() {
    let keys = Keys::new();
    for (name, content) in [
        ("open.wir", include_str!("../../../../examples/sessions/auction-open.wir")),
        ("close.wir", include_str!("../../../../examples/sessions/auction-close.wir")),
    ] {
        keys.write(name, content.as_bytes());
    }
    let open = "[[step]]\nname = \"open\"\nprogram = \"open.wir\"\n";
    let refused = |session: &str, words: &str| {
        let file = keys.write("session.toml", session.as_bytes());
        let common =
            ["--role", "garbler", "--listen", "127.0.0.1:0", "--identity", &keys.file("garbler.key")];
        bad(&[&["session", &file], &common[..], &["--peer", &keys.evaluator]].concat(), 3, words);
    };
    refused("", "`step` is missing");
    refused(&open.replace("open.wir", "none.wir"), "cannot read");
    refused(&format!("{open}{open}"), "the name of step open is used twice");
    refused(
        &format!("{open}keep = [\"prize\"]\n"),
        "step open: the program must have exactly one output prize",
    );
    refused(&format!("{open}carry = {{ input1 = \"price\" }}\n"), "step open: no step keeps price");
    refused(&format!("{open}carry = {{ bid = \"price\" }}\n"), "step open: the program has no input bid");
    let both = |more: &str, keep: &str| {
        format!(
            "{open}{more}{keep}[[step]]\nname = \"close\"\nprogram = \"close.wir\"\ncarry = {{ price = \
             \"held\" }}\n"
        )
    };
    let keep = "keep = [\"held\"]\n";
    refused(&both("", keep), "step close: the kept value held has another type than input price");
    let next = |what: &str| both(&format!("next = [{{ {what} }}]\n"), keep);
    refused(&next("step = \"shut\""), "step open: the session has no step shut");
    refused(
        &next("output = \"held\", is = 1, step = \"end\""),
        "held must be the name of exactly one output",
    );
    refused(&next("output = \"leader\", step = \"end\""), "a condition needs both fields, output and is");
    let file = example("sessions/auction.toml");
    let common = ["--role", "garbler", "--listen", "127.0.0.1:0", "--identity", &keys.file("garbler.key")];
    let given = ["--peer", &keys.evaluator, "--input", "opened=5"];
    bad(&[&["session", &file], &common[..], &given].concat(), 2, "--input opened: expected STEP=VALUE");
}

/// A value of `is` is compared as bits, whatever its spelling. A value that the output cannot have is
/// refused.
#[test]
fn what_comes_next_is_compared_as_bits() {
    let keys = Keys::new();
    let sum = |name: &str, ty: &str| {
        let source = format!(
            "#parties 2\ntypedef {ty} t\n#input 1 t\n#input 2 t\n#output 1 t\n#output 2 t\nfunction void \
             main() {{ t s = input1 + input2; output1 = s; output2 = s; }}\n"
        );
        keys.write(name, source.as_bytes());
    };
    sum("wide.wir", "uint_t 64");
    sum("signed.wir", "int_t 8");
    let session = |program: &str, is: &str| {
        let next = format!("next = [{{ output = \"output\", is = {is}, step = \"end\" }}]");
        let steps = format!(
            "[[step]]\nname = \"first\"\nprogram = \"{program}\"\n{next}\n[[step]]\nname = \
             \"second\"\nprogram = \"{program}\"\n"
        );
        keys.write("session.toml", steps.as_bytes())
    };
    let flags = ["--protocol", "authenticated"];
    let inputs = |first: &'static str| ["--input", first, "--input", "second=0"];
    for (program, is, ends) in [
        ("wide.wir", "7", true),
        ("wide.wir", "\"0x7\"", true),
        ("wide.wir", "8", false),
        ("signed.wir", "7", true),
        ("signed.wir", "\"0x07\"", true),
    ] {
        let file = session(program, is);
        let [garbler, evaluator] =
            [inputs("first=3"), inputs("first=4")].map(|own| [&own[..], &flags].concat());
        let [own, theirs] = both(&keys, [&file, &file], [&garbler, &evaluator]).map(|output| {
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
            outputs(&object(&output)).len()
        });
        assert_eq!([own, theirs], if ends { [1, 1] } else { [2, 2] }, "{program}: {is}");
    }
    let file = session("signed.wir", "\"0xff\"");
    let [garbler, evaluator] = [inputs("first=-3"), inputs("first=2")].map(|own| [&own[..], &flags].concat());
    for output in both(&keys, [&file, &file], [&garbler, &evaluator]) {
        assert_eq!(outputs(&object(&output)).len(), 1, "{}", text(&output.stdout));
    }
    for (program, is) in
        [("signed.wir", "128"), ("signed.wir", "true"), ("wide.wir", "-1"), ("wide.wir", "[7]")]
    {
        let fixed = ["--role", "garbler", "--listen", "127.0.0.1:0", "--identity", &keys.file("garbler.key")];
        let file = session(program, is);
        let command = [&["session", &file], &fixed[..], &["--peer", &keys.evaluator]].concat();
        bad(&command, 3, "step first: the value of `is` does not fit output output");
    }
}

/// A step's input may serve several runs, so a program that draws masks is no step.
#[test]
fn a_step_has_no_shared_outputs() {
    let keys = Keys::new();
    let program = keys.write("shared.wir", SHARED.as_bytes());
    let steps = format!("[[step]]\nname = \"first\"\nprogram = {program:?}\n");
    let file = keys.write("session.toml", steps.as_bytes());
    let own = ["--role", "garbler", "--listen", "127.0.0.1:0", "--identity", &keys.file("garbler.key")];
    let command =
        [&["session", &file], &own[..], &["--peer", &keys.evaluator, "--input", "first=1"]].concat();
    bad(&command, 3, "step first: a program with shared outputs cannot be a step");
}

/// A wrong input does not end a session that has begun. If another error ends it, the results so far are
/// still printed.
#[test]
fn a_session_that_fails_keeps_what_it_gave() {
    let keys = Keys::new();
    let source = "#parties 2\ntypedef uint_t 8 t\n#input 1 t\n#input 2 t\n#output 1 t\n#output 2 t\nfunction \
                  void main() { output1 = input1 + input2; output2 = input1; }\n";
    keys.write("sum.wir", source.as_bytes());
    // The second step follows the second run of the first step, and may run only once.
    let step =
        |name: &str, more: &str| format!("[[step]]\nname = \"{name}\"\nprogram = \"sum.wir\"\n{more}\n");
    let file = step("first", "at_most = 2") + &step("second", "next = [{ step = \"first\" }]");
    let file = keys.write("session.toml", file.as_bytes());

    let fixed = ["--role", "garbler", "--listen", "127.0.0.1:0", "--identity", &keys.file("garbler.key")];
    let command = |inputs: &[&str]| -> Vec<String> {
        let all = [&["session", &file], &fixed[..], &["--peer", &keys.evaluator], inputs].concat();
        all.into_iter().map(str::to_owned).collect()
    };
    let refused = |inputs: &[&str], code: i32, words: &str| {
        let command = command(inputs);
        bad(&command.iter().map(String::as_str).collect::<Vec<_>>(), code, words);
    };
    refused(&["--input", "first=5", "--input", "second=999"], 3, "step second: input of the garbler");
    refused(&["--input", "first=5", "--input", "first=x", "--input", "second=9"], 3, "step first: input of");
    refused(&["--input", "first=5"], 2, "step second needs an input of the garbler");

    let flags = ["--protocol", "authenticated", "--input", "second=9", "--input"];
    let [garbler, evaluator] = ["first=5", "first=6"].map(|first| [&flags[..], &[first]].concat());
    let played = both(&keys, [&file, &file], [&garbler, &evaluator]);
    for (output, (role, given)) in played.iter().zip([("garbler", [11, 18]), ("evaluator", [5, 9])]) {
        is_error(output, 2, "step second ran 1 time, which is its limit");
        let steps = &object(output)["error"]["steps"];
        let seen: Vec<_> =
            steps.as_array().expect("steps").iter().map(|step| &step["outputs"][role]).collect();
        assert_eq!(seen, [given[0], given[1], given[0]], "{steps}");
    }
}

/// Parties with different sessions are told so, and nothing begins.
#[test]
fn both_have_the_same_session() {
    let keys = Keys::new();
    for name in ["auction-open.wir", "auction-round.wir", "auction-close.wir"] {
        let source = std::fs::read(example(&format!("sessions/{name}"))).expect("an example");
        keys.write(name, &source);
    }
    let session = std::fs::read_to_string(example("sessions/auction.toml")).expect("an example");
    let other = keys.write("auction.toml", session.replace("at_most = 3", "at_most = 4").as_bytes());
    let bids: &[&str] = &["--input", "open=3", "--input", "round=5"];
    for output in both(&keys, [&example("sessions/auction.toml"), &other], [bids, bids]) {
        is_error(&output, 7, "different sessions");
    }
}
