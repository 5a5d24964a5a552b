//! Tests the programs that come with the compiler, and their tables.

use serde_json::json;

use super::stock::ROLES;
use super::*;

/// Returns the example programs in a folder, each with the arguments that run it.
fn written(folder: &str) -> Vec<(String, Vec<String>)> {
    let (human, json) = good(&["examples", "--write", folder]);
    let commands: Vec<Vec<String>> = serde_json::from_value(json["commands"].clone()).expect("command lines");
    commands
        .into_iter()
        .map(|command| {
            assert!(human.contains(&command.join(" ")), "{human}");
            let name =
                Path::new(&command[2]).file_stem().expect("a name").to_str().expect("UTF-8").to_owned();
            assert_eq!(command[..2], ["brickwork", "run"]);
            (name, command[1..].to_vec())
        })
        .collect()
}

fn strings(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

#[test]
fn examples_are_listed_and_written() {
    let (human, json) = good(&["examples"]);
    let listed = json["examples"].as_array().unwrap();
    assert_eq!(listed.len(), brickwork_lang::std_library().len());
    for entry in listed {
        assert!(
            human.contains(&format!(
                "  {:16} {}\n",
                entry["name"].as_str().unwrap(),
                entry["summary"].as_str().unwrap()
            )),
            "{human}"
        );
    }

    let keys = Keys::new();
    let (_, json) = good(&["examples", "credit", "-o", &keys.file("new/folder")]);
    let expected = ["credit.wir", "credit.garbler.json", "credit.evaluator.json", "credit.card.csv"];
    assert_eq!(json["written"], json!(expected.map(|name| keys.file(&format!("new/folder/{name}")))));
    let (_, json) = good(&["examples", "sha256.wir", "-o", &keys.file("new/folder")]);
    assert_eq!(
        (&json["written"], &json["commands"]),
        (&json!([keys.file("new/folder/sha256.wir")]), &json!([]))
    );

    // Files that a user has changed are not overwritten.
    let changed = keys.write("new/folder/credit.wir", b"mine");
    bad(
        &["examples", "credit", "-o", &keys.file("new/folder")],
        1,
        "another file with this name already exists",
    );
    assert_eq!(std::fs::read(changed).unwrap(), b"mine");
    bad(&["examples", "no-such"], 2, "no example called no-such");
    bad(&["examples", "credit", "--write", &keys.file("x")], 2, "--write");
    bad(&["examples", "credit", "-o", &keys.file("garbler.key")], 1, "cannot write");
}

/// Both parties learn the same result as in the clear, and `docs/getting-started/examples.md` has the right
/// costs.
#[test]
fn every_example_runs_and_costs_what_its_page_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/getting-started/examples.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let keys = Keys::new();
    let examples = written(&keys.file("examples"));
    assert_eq!(
        examples.len(),
        brickwork_lang::std_library().iter().filter(|file| file.example.is_some()).count()
    );
    let mut lacking = Vec::new();
    for (name, mut arguments) in examples {
        arguments.extend(
            ["--json", "--quiet", "--timeout", "60", "--cut", "given", "--buckets", "standard"]
                .map(str::to_owned),
        );
        let output = run(&strings(&arguments));
        let real = object(&output);
        assert_eq!(output.status.code(), Some(0), "{name}: {real}");
        assert_eq!(real["promise"]["statistical_bits"], 40);
        arguments.truncate(arguments.len() - 6);
        arguments[0] = "simulate".into();
        let clear = object(&run(&strings(&arguments)));
        assert_eq!(real["outputs"], clear["outputs"], "{name}");

        let info = object(&run(&["info", &arguments[1], "--json"]));
        let sent = |phase: &Value| {
            phase["garbler_sent_bytes"].as_u64().unwrap() + phase["evaluator_sent_bytes"].as_u64().unwrap()
        };
        let bytes: u64 = real["phases"].as_array().unwrap().iter().map(sent).sum();
        let (components, slots) = (info["components"].as_array().unwrap().len(), &info["slots"]);
        let file = brickwork_lang::std_library()
            .iter()
            .find(|file| file.name == format!("{name}.wir"))
            .expect("its file");
        let costs = format!("{components} | {slots} | {} | {:.1}", info["and_gates"], bytes as f64 / 1e6);
        let row = format!("| `{name}` | {} | {costs} |", file.summary);
        if !page.contains(&row) {
            lacking.push(row);
        }
    }
    assert!(
        lacking.is_empty(),
        "docs/getting-started/examples.md should say (and then the seconds)\n{}",
        lacking.join("\n")
    );
}

const SCALED: &str = "
    #parties 2
    typedef uint_t 8 byte
    typedef struct_t item { byte price; byte amount; }
    typedef struct_t shelf { byte limit; item items[2]; }
    typedef struct_t numbers { byte count; byte values[3]; }
    #input 1 shelf
    #input 2 numbers
    #output 1 byte
    function byte value(byte limit, byte a, byte b, byte n) { return limit + a + b + n; }
    function void main() {
        output1 = value(input1.limit, input1.items[0].price, input1.items[1].amount, input2.values[1] + \
                      input2.count);
    }
";

/// If a key occurs twice in a party's own table, the table is refused before the computation. The error names
/// the rows, but no value. A text as a key is refused with a hint what to write instead.
#[test]
fn keys_are_checked_before_a_table_leaves() {
    let keys = Keys::new();
    good(&["examples", "join", "-o", &keys.file("join")]);
    let join = keys.file("join/join.wir");
    let table = |name: &str, text: &str| format!("@{}", keys.write(name, text.as_bytes()));
    let once = table("once.csv", "key,amount\n500,1\n5213,10\n900,3\n");
    let twice = table("twice.csv", "key,amount\n5213,5\n900,1\n5213,6\n");
    let names = table("names.csv", "key,amount\nc-00521,5\n");
    let [a, b] = ["--garbler", "--evaluator"];
    let (_, json) = good(&["simulate", &join, a, &once, b, &table("other.csv", "amount,key\n90,5213\n")]);
    assert_eq!(
        json["outputs"]["evaluator"],
        json!({ "matches": 1, "a": 10, "b": 90, "a_twice": 0, "b_twice": 0 })
    );
    for (which, given) in [(0, [&twice, &once]), (1, [&once, &twice])] {
        let words =
            format!("input of the {}: input{}: rows 1 and 3 have the same key", ROLES[which], which + 1);
        for command in ["simulate", "run"] {
            let arguments = [command, &join, a, given[0], b, given[1]];
            bad(&arguments, 3, &words);
            assert!(!text(&run(&arguments).stderr).contains("5213"));
        }
    }
    let arguments = ["simulate", &join, a, &names, b, &once];
    bad(&arguments, 3, "names.csv: line 2, column 1: key");
    assert!(
        text(&run(&arguments).stderr).contains("0x and the first 8 hexadecimal digits of the text's SHA-256")
    );
    let (said, info) = good(&["info", &join]);
    assert!(said.contains("amount: uint32}[16]}, 1 029 bits; each key once"), "{said}");
    assert_eq!(info["evaluator_inputs"][0]["rules"], json!(["each key once"]));
    // The compiled program has the same check.
    let compiled = keys.file("join.bwp");
    good(&["compile", &join, "--output", &compiled]);
    bad(&["simulate", &compiled, a, &twice, b, &once], 3, "rows 1 and 3 have the same key");
}

#[test]
fn tables_are_values() {
    let keys = Keys::new();
    let source = keys.write("shelf.wir", SCALED.as_bytes());
    std::fs::create_dir(keys.file("data")).unwrap();
    keys.write("data/items.csv", b"amount,price\n3,10\n40,5\n");
    let own = format!("@{}", keys.write("data/own.json", b"{\"limit\": 100, \"items\": \"@items.csv\"}"));
    let other = format!("@{}", keys.write("other.csv", b"value\n7\n1\n"));
    let (_, json) = good(&["simulate", &source, "--garbler", &own, "--evaluator", &other]);
    assert_eq!(json["outputs"]["garbler"], 100 + 10 + 40 + 1 + 2);
    let twice = [
        format!("[\"{other}\", \"{other}\"]"),
        format!("[{{\"limit\": 0, \"items\": \"@{}\"}}, 0]", keys.file("data/items.csv")),
    ];
    bad(
        &["simulate", &source, "--executions", "2", "--evaluator", &twice[0], "--garbler", &twice[1]],
        3,
        "expected an object",
    );

    // Each row of the table is the input of an execution.
    let wealth = format!("@{}", keys.write("wealth.csv", b"wealth\n5\n6\n7\n"));
    let run_thrice = [
        "simulate",
        &example("millionaires.bwp"),
        "--executions",
        "3",
        "--garbler",
        &wealth,
        "--evaluator",
        "[6,6,6]",
    ];
    let richer = good(&run_thrice).1["outputs"]["garbler"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| o["alice"].clone())
        .collect::<Vec<_>>();
    assert_eq!(richer, [0, 0, 1]);

    // A listening party reads its table before it waits for the peer.
    let broken = format!("@{}", keys.write("broken.csv", b"price,amount\n199,2\n3,1990\n"));
    let inline = format!("{{\"limit\": 1, \"items\": \"{broken}\"}}");
    let place = "broken.csv: line 3, column 2: amount (uint8): the number does not fit";
    let identity = keys.file("garbler.key");
    let link = ["--listen", "127.0.0.1:0", "--identity", &identity, "--peer", &keys.evaluator];
    for arguments in [
        [&["simulate", &source, "--evaluator", &other, "--garbler", &inline][..], &[]].concat(),
        [&["run", &source, "--evaluator", &other, "--garbler", &inline][..], &[]].concat(),
        [&["garbler", &source, "--input", &inline][..], &link].concat(),
    ] {
        bad(&arguments, 3, place);
        assert!(!text(&run(&arguments).stderr).contains("199"), "a cell is repeated");
    }
    bad(&["simulate", &source, "--garbler", &broken, "--evaluator", &other], 3, "not a table");
    bad(
        &["simulate", &source, "--garbler", &own, "--evaluator", "@no-such.csv"],
        3,
        "cannot read no-such.csv",
    );
    let binary = format!("@{}", keys.write("binary.csv", &[b'a', b'\n', 0xff]));
    bad(&["simulate", &source, "--garbler", &own, "--evaluator", &binary], 3, "not a text file");
}
