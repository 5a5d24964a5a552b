//! Tests the forms in which users give values.

use std::io::Write;

use serde_json::json;

use super::*;

/// A program in which one party gives up to four items of a shop, and the other party gives a price. The
/// outputs are the sum of all amounts and the price, and the number of items.
const SHOP: &str = "
    #parties 2
    typedef uint_t 32 money
    typedef uint_t 8 byte
    typedef struct_t item { byte id; money amount; }
    typedef struct_t shop { item rows[4]; byte count; }
    typedef struct_t other { money price; }
    #input 1 shop
    #input 2 other
    #output 1 money
    #output 2 byte
    function money sum(money a, money b) { return a + b; }
    function byte same(byte a) { return a; }
    function void main() {
        money all = input2.price;
        for (byte i = 0; i < 4; i++) all = sum(all, input1.rows[i].amount);
        output1 = all;
        output2 = same(input1.count);
    }
";

/// Runs a command with this text on stdin.
fn with_stdin(arguments: &[&str], stdin: &str) -> Output {
    let mut child = Child::spawn(brickwork(arguments).stdin(Stdio::piped()));
    // A command that refuses something else does not read its stdin.
    let _ = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    finish(child)
}

fn outputs(arguments: &[&str]) -> [Value; 2] {
    let (_, json) = good(arguments);
    ["garbler", "evaluator"].map(|role| json["outputs"][role].clone())
}

const ITEMS: &str = "id,amount\n1,1250\n2,300\n";

#[test]
fn tables_come_from_files_of_any_name_and_from_stdin() {
    let keys = Keys::new();
    let source = keys.write("shop.wir", SHOP.as_bytes());
    let rows = keys.write("rows.txt", ITEMS.as_bytes());
    let fixed = ["simulate", &source, "--evaluator", "{\"price\": 1}", "--garbler"];
    let expected = [json!(1551), json!(2)];
    assert_eq!(outputs(&[&fixed[..], &[&format!("csv:{rows}")]].concat()), expected);
    assert_eq!(outputs(&[&fixed[..], &[&format!("{{\"rows\": \"csv:{rows}\"}}")]].concat()), expected);
    // Paths in a file are relative to its folder.
    let inside = keys.write("own.json", b"{\"rows\": \"csv:rows.txt\"}");
    assert_eq!(outputs(&[&fixed[..], &[&format!("@{inside}")]].concat()), expected);
    for value in ["csv:-", "{\"rows\": \"csv:-\"}"] {
        // `run` reads the file once and passes the value to the garbler's process.
        for command in ["simulate", "run"] {
            let arguments = [&[command], &fixed[1..], &[value, "--json"]].concat();
            let output = with_stdin(&arguments, ITEMS);
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
            assert_eq!(object(&output)["outputs"], json!({"garbler": 1551, "evaluator": 2}));
        }
    }
    #[cfg(target_os = "linux")]
    {
        // A shell replaces the `<(…)` in `csv:<(…)` by such a path.
        let arguments = [&fixed[..], &["csv:/dev/fd/0", "--json"]].concat();
        assert_eq!(object(&with_stdin(&arguments, ITEMS))["outputs"]["garbler"], 1551);
        let shell =
            "\"$0\" simulate \"$1\" --evaluator '{\"price\": 1}' --json --garbler csv:<(printf \"$2\")";
        let mut bash = Command::new("bash");
        bash.args(["-c", shell, env!("CARGO_BIN_EXE_brickwork"), &source, "id,amount\\n1,1250\\n2,300\\n"]);
        let output = bash.output().expect("bash starts");
        assert_eq!(object(&output)["outputs"]["garbler"], 1551, "{}", text(&output.stderr));
    }
    // Stdin can be read only once, wherever it is named.
    for (garbler, evaluator) in [("-", "-"), ("csv:-", "-"), ("{\"rows\": \"csv:-\"}", "-")] {
        let arguments = ["simulate", &source, "--garbler", garbler, "--evaluator", evaluator, "--json"];
        is_error(&with_stdin(&arguments, ITEMS), 2, "only one value can be read from stdin");
    }
    bad(&[&fixed[..], &["csv:no-such"]].concat(), 3, "input of the garbler: cannot read no-such");
    bad(&[&fixed[..], &[&format!("@{rows}")]].concat(), 3, "the value is not JSON");
    let hint = text(&run(&[&fixed[..], &[&format!("@{rows}")]].concat()).stderr);
    assert!(hint.contains("csv:FILE"), "{hint}");
}

/// A table from a spreadsheet has names and cents.
#[test]
fn columns_are_left_out_and_decimals_read_when_asked() {
    let keys = Keys::new();
    let source = keys.write("shop.wir", SHOP.as_bytes());
    let table = "name;amount;id;note\nAda;12,50;1;\"a; b\"\nBob;0,7;2;\n";
    let garbler = format!("@{}", keys.write("items.csv", table.as_bytes()));
    let evaluator = "{\"price\": 3.25}";
    let values = ["--garbler", &garbler, "--evaluator", evaluator];
    let flags = ["--ignore-extra-columns", "--scale", "amount=2", "--scale", "input2.price=2"];
    for command in ["simulate", "run"] {
        let arguments = [&[command, &source], &values[..], &flags].concat();
        assert_eq!(outputs(&arguments), [json!(1250 + 70 + 325), json!(2)]);
    }
    let refused = |flags: &[&str], code, words: &str, hint: &str| {
        let arguments = [&["run", &source], &values[..], flags].concat();
        bad(&arguments, code, words);
        let told = text(&run(&arguments).stderr);
        assert!(told.contains(hint), "{told}");
        for secret in ["Ada", "12,5", "12.5", "3.25", "0,7"] {
            assert!(!told.replace("turns 12.50", "").contains(secret), "{secret}: {told}");
        }
    };
    let place = "input of the garbler: ";
    refused(&flags[1..], 3, "line 1, column 1: the program has no column", "--ignore-extra-columns");
    refused(&flags[..1], 3, "line 2, column 2: amount (uint32): expected an integer", "--scale amount=2");
    refused(&[flags[0], "--scale", "amount=1", "--scale", "price=2"], 3, place, "--scale amount=2");
    refused(
        &flags[..3],
        3,
        "input of the evaluator: input2.price (uint32): expected an integer",
        "--scale price=2",
    );
    refused(
        &[&flags[..], &["--scale", "amonut=2"]].concat(),
        2,
        "--scale amonut: no input",
        "input1.rows.amount",
    );
    refused(
        &[&flags[..], &["--scale", "rows.amount=3"]].concat(),
        2,
        "are both for input1.rows.amount",
        "only one of the two",
    );
    refused(&["--scale", "amount"], 2, "amount=2", "--help");
    refused(&["--scale", "amount=101"], 2, "at most 100", "--help");

    // A single party has scales for its own fields only. A single party does not know the other party's
    // fields.
    let identity = keys.file("garbler.key");
    let link =
        ["--connect", "127.0.0.1:1", "--timeout", "1", "--identity", &identity, "--peer", &keys.evaluator];
    let own = [&["garbler", &source, "--input", &garbler], &link[..]].concat();
    let good_so_far = run(&[&own[..], &flags[..3], &["--json"]].concat());
    is_error(&good_so_far, 4, "the peer did not answer");
    bad(&[own, flags.to_vec()].concat(), 2, "--scale input2.price: no input");
}

#[test]
fn short_arrays_are_filled_up_beside_a_count() {
    let keys = Keys::new();
    let source = keys.write("shop.wir", SHOP.as_bytes());
    let table = keys.write("items.csv", ITEMS.as_bytes());
    let simulate = |garbler: &str| {
        ["simulate", &source, "--evaluator", "{\"price\": 0}", "--garbler", garbler].map(str::to_owned)
    };
    let items = "[{\"id\": 1, \"amount\": 1250}, {\"id\": 2, \"amount\": 300}]";
    for (value, count) in [
        (format!("{{\"rows\": \"@{table}\", \"count\": 2}}"), 2),
        (format!("{{\"rows\": \"@{table}\", \"count\": 1}}"), 1),
        (format!("{{\"rows\": {items}}}"), 2),
        (format!("{{\"rows\": {items}, \"count\": \"0x2\"}}"), 2),
    ] {
        let arguments = simulate(&value);
        assert_eq!(
            outputs(&arguments.each_ref().map(String::as_str)),
            [json!(1550), json!(count)],
            "{value}"
        );
    }
    for value in [
        format!("{{\"rows\": \"@{table}\", \"count\": 177}}"),
        format!("{{\"rows\": {items}, \"count\": 177}}"),
    ] {
        let arguments = simulate(&value);
        let arguments = arguments.each_ref().map(String::as_str);
        bad(&arguments, 3, "input of the garbler: input1.count: the count is larger than");
        assert!(!text(&run(&arguments).stderr).contains("177"));
    }
    let long = simulate("{\"rows\": [0, 0, 0, 0, 0]}");
    bad(&long.each_ref().map(String::as_str), 3, "expected 4 elements, not 5");
}

#[test]
fn one_execution_takes_a_plain_value() {
    let file = example("millionaires.bwp");
    let one = ["--executions", "1", "--garbler"];
    for (garbler, evaluator) in [("5", "6"), ("[5]", "6"), ("0x5", "[6]")] {
        let arguments = [&["run", &file], &one[..], &[garbler, "--evaluator", evaluator]].concat();
        let both = json!([{"alice": 0, "bob": 1}]);
        assert_eq!(outputs(&arguments), [both.clone(), both], "the outputs are arrays all the same");
    }
    // If the value of an execution is a table, the file is this value. Otherwise each row of a table is the
    // value of an execution.
    let keys = Keys::new();
    let source = keys.write("shop.wir", SHOP.as_bytes());
    let (items, price) = (keys.write("items.csv", ITEMS.as_bytes()), keys.write("price.csv", b"price\n4\n"));
    let tables = [format!("@{items}"), format!("@{price}")];
    let arguments =
        ["simulate", &source, "--executions", "1", "--garbler", &tables[0], "--evaluator", &tables[1]];
    assert_eq!(outputs(&arguments), [json!([1554]), json!([2])]);
    bad(
        &["run", &file, "--executions", "2", "--garbler", "5", "--evaluator", "[1, 2]"],
        3,
        "an array of 2 values",
    );
    bad(
        &["run", &file, "--executions", "1", "--garbler", "[5, 6]", "--evaluator", "1"],
        3,
        "input of the garbler",
    );
}

#[test]
fn messages_say_whose_input_it_is_and_that_an_at_may_be_missing() {
    let keys = Keys::new();
    let file = example("millionaires.bwp");
    let value = keys.write("alice", b"5");
    let table = keys.write("bob.csv", b"77secret\n");
    let told = |arguments: &[&str]| text(&run(arguments).stderr);
    for (given, hint) in [
        (&*value, "it is the name of a file: write an @ before it"),
        (&*table, "it is the name of a file: write an @ before it"),
        ("alise.json", "write an @ before its name"),
        ("no/such/value", "write an @ before its name"),
    ] {
        for (flag, other, whose) in [
            ("--garbler", "--evaluator", "input of the garbler: the value is not JSON"),
            ("--evaluator", "--garbler", "input of the evaluator: the value is not JSON"),
        ] {
            let arguments = ["simulate", &file, flag, given, other, "1"];
            bad(&arguments, 3, whose);
            let said = told(&arguments);
            assert!(said.contains(hint) && !said.contains(given), "{said}");
        }
    }
    // The command gives the hint also for a name inside a value.
    for given in [format!("{value:?}"), format!("{{\"of\": {table:?}}}"), format!("[1, {value:?}]")] {
        let arguments = ["simulate", &file, "--garbler", &given, "--evaluator", "1"];
        bad(&arguments, 3, "input of the garbler");
        let said = told(&arguments);
        assert!(said.contains("write an @ before it") && !said.contains(&value), "{said}");
    }
    // A text that is not the name of a file gets no hint, and no secret is repeated.
    for given in ["{\"77secret", "77secret", "[1.", "12.5e"] {
        let said = told(&["simulate", &file, "--garbler", given, "--evaluator", "1"]);
        assert!(
            said.contains("input of the garbler") && !said.contains('@') && !said.contains("77"),
            "{said}"
        );
    }
    for (given, words) in [
        (format!("@{table}"), "bob.csv: line 1, column 1: the first line must have names"),
        ("@no-such.json".into(), "cannot read no-such.json"),
        ("300000000000".into(), "the number does not fit"),
    ] {
        let arguments = ["simulate", &file, "--executions", "1", "--garbler", "1", "--evaluator", &given];
        bad(&arguments, 3, words);
        assert!(told(&arguments).contains("error: input of the evaluator: "), "{}", told(&arguments));
    }
}

/// `keygen -o own.key > own.pub` writes a public key to a file, which `--peer` accepts.
#[test]
fn the_peers_key_may_be_in_a_file() {
    let keys = Keys::new();
    let file = example("millionaires.bwp");
    let public = [("garbler.pub", &keys.garbler), ("evaluator.pub", &keys.evaluator)]
        .map(|(name, key)| keys.write(name, format!("{key}\n").as_bytes()));
    let side = |own: usize, place: [&str; 2], input: &str| {
        let (role, peer) = (["garbler", "evaluator"][own], format!("@{}", public[1 - own]));
        let identity = keys.file(&format!("{role}.key"));
        let value = format!("@{}", keys.write(&format!("{role}.json"), input.as_bytes()));
        let fixed = [role, &file, "--identity", &identity, "--peer", &peer, "--input", &value, "--json"];
        start(&[&fixed[..], &place, &["--timeout", "60"]].concat())
    };
    let mut garbler = side(0, ["--listen", "127.0.0.1:0"], "5");
    let address = address(&mut garbler);
    let evaluator = side(1, ["--connect", &address], "6");
    for (output, role) in [(finish(garbler), "garbler"), (finish(evaluator), "evaluator")] {
        assert_eq!(
            object(&output)["outputs"][role],
            json!({"alice": 0, "bob": 1}),
            "{}",
            text(&output.stderr)
        );
    }

    let identity = keys.file("garbler.key");
    let refused = |peer: &str, code, words: &str, hint: &str| {
        let place = ["--connect", "127.0.0.1:1", "--timeout", "1", "--input", "1"];
        let arguments = [&["garbler", &file, "--identity", &identity, "--peer", peer], &place[..]].concat();
        bad(&arguments, code, words);
        let told = text(&run(&arguments).stderr);
        assert!(told.contains(hint) && !told.contains("-----"), "{told}");
    };
    refused(&public[1], 2, "not a public key", "write an @ before it");
    refused("@no-such.pub", 3, "--peer: cannot read no-such.pub", "path");
    refused(&format!("@{}", keys.file("evaluator.key")), 3, "contains a private key", "make a new one");
    refused(&format!("@{}", keys.file("evaluator.json")), 3, "not a public key", "keygen");
    refused(&format!("@{}", public[0]), 2, "the same as this party's", "");
}
