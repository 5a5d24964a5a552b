//! Tests that `docs/reference/cli.schema.json` describes the output of `--json`, and `docs/reference/json.md`
//! its meaning.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use brickwork_testing::schema::check;

use super::*;

static SCHEMA: LazyLock<&Value> = LazyLock::new(brickwork_testing::schema::of_the_command);

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    std::fs::read_to_string(path).expect("a page")
}

/// Returns the name in the schema of the output of the command with these arguments.
pub fn name_of_output(arguments: &[&str]) -> String {
    match arguments {
        ["stock", which, ..] => format!("stock-{which}"),
        _ => arguments[0].to_owned(),
    }
}

/// Asserts that the output of a command agrees with the schema.
pub fn holds(arguments: &[&str], printed: &Value) {
    holds_for(&name_of_output(arguments), printed);
}

pub fn holds_for(name: &str, printed: &Value) {
    brickwork_testing::schema::holds(&SCHEMA, name, printed);
}

#[test]
fn the_check_finds_what_is_wrong() {
    let error = |value: &str| {
        let value = serde_json::from_str(value).expect("JSON");
        check(&SCHEMA, &SCHEMA["$defs"]["error"], &value, "error").expect_err("not as described")
    };
    assert!(error("[]").contains("not of type"));
    assert!(error("{}").contains("error is missing"));
    assert!(error(r#"{"error": {"code": 3, "message": "", "hint": ""}, "x": 1}"#).contains("a field x"));
    assert!(error(r#"{"error": {"code": 8, "message": "", "hint": ""}}"#).contains("8 is none of"));
    assert!(
        error(r#"{"error": {"code": 3, "message": 1, "hint": ""}}"#).contains("error.error.message: 1 is")
    );
    assert!(error(r#"{"error": {"code": 3, "message": ""}}"#).contains("hint is missing"));
    let entry = |value: &str| {
        check(&SCHEMA, &SCHEMA["$defs"]["entry"], &serde_json::from_str(value).unwrap(), "entry")
    };
    assert_eq!(entry(r#"{"entry": "made"}"#), Ok(()));
    assert!(entry(r#"{"entry": "fill"}"#).expect_err("incomplete").contains("none of these"));
}

/// Returns the names of all commands in the help.
fn commands() -> BTreeSet<String> {
    let listed = |arguments: &[&str]| -> Vec<String> {
        let help = text(&run(&[arguments, &["--help"]].concat()).stdout);
        let (_, list) = help.split_once("Commands:\n").expect("commands");
        let list = list.split_once("\n\n").map_or(list, |(list, _)| list);
        // A long description continues on the next line, further to the right.
        let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    };
    let mut all = BTreeSet::new();
    for name in listed(&[]) {
        match &*name {
            // Another program has the commands of `bench`, and its tests compare their output with the
            // schema. `sql` is a program of the Python package, whose tests check its output.
            "help" | "bench" | "sql" => {}
            "stock" => {
                let own = listed(&["stock"]).into_iter().filter(|own| own != "help");
                all.extend(own.map(|own| format!("stock-{own}")));
            }
            _ => drop(all.insert(name)),
        }
    }
    all
}

/// Every command is run in all its forms; the fields of its output are exactly those of the schema.
#[test]
fn every_command_prints_what_the_schema_says() {
    let keys = Keys::new();
    let seen = RefCell::new(BTreeSet::from(["error".to_owned()]));
    let one = |arguments: &[&str]| {
        let output = run(&[arguments, &["--json", "--quiet"]].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stdout));
        let printed = object(&output);
        holds(arguments, &printed);
        seen.borrow_mut().insert(name_of_output(arguments));
        printed
    };
    let file = example("millionaires.bwp");
    // The compiler warns of a constant that loses its upper bits.
    let odd = keys.write(
        "odd.wir",
        b"#parties 2\ntypedef int_t 8 small\n#input 1 small\n#input 2 small\n#output 1 small\n\
          function void main() { output1 = input1 + input2 + 300; }\n",
    );
    let compiled = one(&["compile", &odd, "-o", &keys.file("odd.bwp")]);
    assert!(compiled["warnings"].as_array().is_some_and(|all| !all.is_empty()), "{compiled}");
    let library = one(&["assemble", "--library", "-o", &keys.file("isa.bwp")]);
    assert!(library["program_input"].is_null(), "{library}");
    let tariff = [&*example("machine/tariff.bwa"), "--secret-program", "garbler"];
    let secret =
        ["-o", &*keys.file("tariff.bwp"), "--program-input", &keys.file("tariff.json")].map(str::to_owned);
    one(&[&["assemble"], &tariff[..], &secret.each_ref().map(String::as_str)].concat());
    one(&["--version"]);
    one(&["info", &file]);
    one(&["simulate", &file, "--garbler", "1", "--evaluator", "2"]);
    one(&["simulate", &file, "--garbler", "[1]", "--evaluator", "2", "--executions", "1"]);
    one(&["keygen", "-o", &keys.file("third.key")]);
    one(&["run", &file, "--garbler", "1", "--evaluator", "2"]);
    one(&["examples"]);
    one(&["examples", "vickrey", "-o", &keys.file("vickrey")]);
    one(&["doctor", &file]);
    one(&["completions", "bash"]);
    one(&["man"]);
    one(&["man", "-o", &keys.file("pages")]);
    let garbling = ["f", "e", "d"].map(|name| keys.file(name));
    let [f, e, d] = &garbling;
    one(&["garble", &file, "--garbled", f, "--tokens", e, "--decoding", d]);
    let (x, y) = (keys.file("x"), keys.file("y"));
    one(&["garbled-inputs", &file, "--tokens", e, "--garbler", "1", "--evaluator", "2", "-o", &x]);
    one(&["evaluate-garbled", f, "--inputs", &x, "-o", &y]);
    one(&["decode-garbled", &y, "--decoding", d]);
    one(&["decode-garbled", &y, "--decoding", d, "--program", &file]);
    // The output of `demo-cheat` comes from another program, whose tests compare it with the schema.
    seen.borrow_mut().insert("demo-cheat".into());
    // Other tests compare these outputs with the schema.
    seen.borrow_mut().extend(["serve", "request", "health", "cluster", "worker", "maker"].map(str::to_owned));
    one(&["plan", &example("millionaires.bwp")]);
    one(&["plan", &example("millionaires.bwp"), "--model", "semi-honest"]);
    one(&["plan", &example("millionaires.bwp"), "--workers", "1,16", "--rows", "4000", "--uplink", "1Gbit"]);

    // Two parties run, with a store and without.
    let store_key = keys.write("store.key", "5e".repeat(32).as_bytes());
    private(&store_key);
    let stores = ["garbler", "evaluator"].map(|role| keys.file(&format!("stock.{role}")));
    let both = |first: [&[&str]; 2], more: &[&str]| {
        let side = |own: usize, place: [&str; 2]| {
            let identity = keys.file(["garbler.key", "evaluator.key"][own]);
            let peer = [&keys.evaluator, &keys.garbler][own];
            let fixed = ["--json", "--timeout", "60", "--identity", &identity, "--peer", peer];
            start(&[first[own], &place, &fixed, more, &own_store(more, &stores[own])].concat())
        };
        let mut garbler = side(0, ["--listen", "127.0.0.1:0"]);
        let address = address(&mut garbler);
        let evaluator = side(1, ["--connect", &address]);
        for (output, arguments) in [finish(garbler), finish(evaluator)].iter().zip(first) {
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
            holds(arguments, &object(output));
            seen.borrow_mut().insert(name_of_output(arguments));
        }
    };
    let component = format!("{file}=2");
    let parties: [&[&str]; 2] = [&["garbler", &file, "--input", "1"], &["evaluator", &file, "--input", "2"]];
    both(parties, &[]);
    let with_store = ["--store-key", &*store_key];
    let making: [&[&str]; 2] = [
        &["preprocess", "--role", "garbler", "--component", &component],
        &["preprocess", "--role", "evaluator", "--component", &component],
    ];
    both(making, &with_store);
    let session = example("sessions/auction.toml");
    let bids = ["--input", "open=3", "--input", "round=5"];
    let sessions =
        ["garbler", "evaluator"].map(|role| [&["session", &session, "--role", role], &bids[..]].concat());
    both([&sessions[0], &sessions[1]], &[]);
    both(parties, &with_store);
    let place = [&*stores[0], "--store-key", &store_key];
    one(&[&["stock", "ls"], &place[..], &["--program", &file]].concat());
    one(&[&["stock", "verify"], &place[..]].concat());
    let key = std::fs::read_to_string(&store_key).expect("a key");
    let key = brickwork::disk::StoreKey::from_hex(key.trim()).expect("a key");
    let store = brickwork::disk::Store::open(stores[0].as_ref(), &key).expect("a store");
    store.attempt(&store.epochs().expect("a part")[0].1.account(), 1 << 80).expect("an attempt");
    drop(store);
    let vain = one(&[&["stock", "ls"], &place[..]].concat())["vain"].clone();
    let bound = vain[0]["bound_log2"].as_f64().expect("a number");
    assert!((-48.0..-47.999_999).contains(&bound), "{vain}");
    let peer = vain[0]["peer"].as_str().expect("a key").to_owned();
    one(&[&["stock", "forgive"], &place[..], &["--peer", &peer]].concat());
    bad(&[&["stock", "forgive"], &place[..], &["--all"]].concat(), 6, "nothing to forgive");
    one(&[&["stock", "burn"], &place[..], &["--all"]].concat());
    one(&[&["stock", "export-report"], &place[..]].concat());
    one(&[&["stock", "export-report"], &place[..], &["-o", &keys.file("report.json")]].concat());

    // These are errors with and without a diagnostic, and an error of `doctor`.
    bad(&["info", "no-such-file"], 3, "cannot read");
    bad(&["info", "--no-such-flag"], 2, "--no-such-flag");
    bad(&["info", &keys.write("bad.wir", b"function void main() { output1 = 1; }\n")], 3, "bad.wir");
    let doctor = run(&["doctor", "no-such-file", "--json"]);
    assert_eq!(doctor.status.code(), Some(3));
    holds_for("doctor", &object(&doctor));

    let listed = SCHEMA["anyOf"].as_array().expect("a list").iter();
    let listed: BTreeSet<String> = listed
        .map(|entry| entry["$ref"].as_str().expect("a name").trim_start_matches("#/$defs/").to_owned())
        .filter(|name| !name.starts_with("bench-"))
        .collect();
    assert_eq!(seen.into_inner(), listed, "each of them was run");
    let mut all = commands();
    all.extend(["error", "--version"].map(str::to_owned));
    assert_eq!(all, listed, "each command is described");
}

/// Returns the flags, with a store if they use one.
fn own_store<'a>(flags: &[&str], store: &'a str) -> Vec<&'a str> {
    if flags.is_empty() { Vec::new() } else { vec!["--store", store] }
}

/// Collects the names of all fields in a schema.
fn fields(schema: &Value, into: &mut BTreeSet<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        into.extend(properties.keys().cloned());
        properties.values().for_each(|schema| fields(schema, into));
    }
    fields_of_each(&schema["anyOf"], into);
    if schema["items"].is_object() {
        fields(&schema["items"], into);
    }
}

fn fields_of_each(schemas: &Value, into: &mut BTreeSet<String>) {
    schemas.as_array().into_iter().flatten().for_each(|schema| fields(schema, into));
}

/// Each part of the schema has one row on the page, which names all fields of this part.
#[test]
fn every_field_is_on_the_page() {
    let page = page("json.md");
    let mut lacking = Vec::new();
    for (name, schema) in SCHEMA["$defs"].as_object().expect("parts") {
        let row = page.lines().find(|line| {
            line.starts_with(&format!(
                "| `{}` |",
                name.replace("stock-", "stock ").replace("bench-", "bench ")
            ))
        });
        let mut names = BTreeSet::new();
        fields(schema, &mut names);
        match row {
            None => lacking.push(format!("a row of {name}")),
            Some(row) => lacking.extend(
                names
                    .into_iter()
                    .filter(|field| !row.contains(&format!("`{field}`")))
                    .map(|f| format!("{name}.{f}")),
            ),
        }
    }
    assert!(lacking.is_empty(), "docs/reference/json.md does not say what these are: {lacking:?}");
    // The page names no field that the schema lacks.
    for line in page.lines().filter_map(|line| line.strip_prefix("| `")) {
        let name = line
            .split('`')
            .next()
            .unwrap_or_default()
            .replace("stock ", "stock-")
            .replace("bench ", "bench-");
        assert!(
            SCHEMA["$defs"][&name].is_object(),
            "docs/reference/json.md describes {name}, which the schema lacks"
        );
    }
}
