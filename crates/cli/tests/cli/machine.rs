//! Tests the garbled machine: four programs run on a stock that was made before any of them was written.

use std::fs;

use brickwork_machine::Assembly;
use serde_json::json;

use super::stock::{Parties, ROLES};
use super::*;

/// A folder with the instruction set, the list of its components, and the four programs.
struct Machine {
    parties: Parties,
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine =
            Machine { parties: Parties::new("millionaires.bwp"), folder: TempDir::new().expect("a folder") };
        fs::copy(example("machine/stock.toml"), machine.file("stock.toml")).expect("a copy");
        good(&["assemble", "--library", "-o", &machine.file("isa.bwp")]);
        machine
    }

    fn file(&self, name: &str) -> String {
        path(&self.folder.path().join(name))
    }

    /// Both parties run a program on these inputs, from stock only; returns their outputs.
    fn run(&mut self, program: &str, inputs: [Option<&str>; 2]) -> Value {
        self.parties.file = self.file(program);
        let arguments = |role: usize| {
            let mut all = self.parties.run(ROLES[role], inputs[role].unwrap_or_default(), &["--no-top-up"]);
            if inputs[role].is_none() {
                let at = all.iter().position(|word| word == "--input").expect("an input");
                all.drain(at..at + 2);
            }
            all
        };
        let [garbler, evaluator] = self.parties.good([arguments(0), arguments(1)]);
        for result in [&garbler, &evaluator] {
            assert!(result["made_on_the_spot"].is_null(), "{result}");
            // `--nocapture` shows the times for docs/guides/machine.md.
            eprintln!("{program}: {}", result["phases"]);
        }
        json!([garbler["outputs"]["garbler"], evaluator["outputs"]["evaluator"]])
    }
}

/// Runs an example on the machine without cryptography.
fn in_the_clear(name: &str, garbler: &[u32], evaluator: &[u32]) -> Vec<Vec<u32>> {
    let source = fs::read_to_string(example(&format!("machine/{name}.bwa"))).expect("an example");
    Assembly::parse(&source).expect("a program").run(garbler, evaluator)
}

#[test]
fn three_programs_and_a_secret_one_run_from_one_stock() {
    let mut machine = Machine::new();
    let list = machine.file("stock.toml");
    machine.parties.good(ROLES.map(|role| machine.parties.preprocess(role, &["--list", &list])));

    // The programs are written only after the stock was made.
    for name in ["gcd", "lookup", "score"] {
        let source = example(&format!("machine/{name}.bwa"));
        good(&["assemble", &source, "-o", &machine.file(&format!("{name}.bwp"))]);
    }
    assert_eq!(machine.run("gcd.bwp", [Some("84"), Some("105")]), json!([21, 21]));
    assert_eq!(in_the_clear("gcd", &[84], &[105]), [[21]]);
    // Numbers that the program does not support give no plausible divisor.
    for (number, odd, divisor) in
        [(255, 85, 85), (0, 7, 7), (84, 1, 1), (84, 106, 0), (84, 0, 0), (256, 3, 0), (9, 261, 0)]
    {
        assert_eq!(in_the_clear("gcd", &[number], &[odd]), [[divisor]], "{number} {odd}");
    }

    let table: Vec<u32> = (0..16).map(|n| n * n + 3).collect();
    let printed = json!(table).to_string();
    let found = machine.run("lookup.bwp", [Some("84"), Some(&printed)]);
    assert_eq!(found, json!([{ "found": 1, "position": 9 }, null]));
    assert_eq!(in_the_clear("lookup", &[84], &table), [[1], [9]]);

    let weights = r#"{"weights": [3, 1, 4, 1, 5, 9, 2, 6], "threshold": 157}"#;
    let reached = machine.run("score.bwp", [Some(weights), Some("[2, 7, 1, 8, 2, 8, 1, 8]")]);
    let (weights, marks) = ([3, 1, 4, 1, 5, 9, 2, 6, 157], [2, 7, 1, 8, 2, 8, 1, 8]);
    assert_eq!(in_the_clear("score", &weights, &marks), [[1]], "the score is 157");
    assert_eq!(reached, json!([1, 1]));

    // The garbler has a secret program. The evaluator assembles the program itself, with the same result.
    let (secret, known) = (machine.file("tariff.bwp"), machine.file("interface.bwp"));
    let input = machine.file("tariff.json");
    let role = ["--secret-program", "garbler"];
    let tariff = run(&[
        &["assemble", &example("machine/tariff.bwa"), "-o", &secret, "--program-input", &input],
        &role[..],
    ]
    .concat());
    assert_eq!(tariff.status.code(), Some(0), "{}", text(&tariff.stderr));
    good(&[&["assemble", &example("machine/tariff.interface.bwa"), "-o", &known], &role[..]].concat());
    assert_eq!(fs::read(secret).expect("a program"), fs::read(known).expect("a program"));
    let price = machine.run("tariff.bwp", [Some(&format!("@{input}")), Some("120")]);
    assert_eq!(price, json!([null, 950]));
    assert_eq!(in_the_clear("tariff", &[], &[120]), [[950]]);
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let keys = Keys::new();
    let source = keys.write("bad.bwa", b".input garbler x r0\nadd r0, r0, r1\n.output both x r0\n");
    bad(&["assemble", &source], 3, "bad.bwa:2: the program reads r1 before anything was written to it");
    bad(&["assemble", &source, "--library"], 2, "--library");
    bad(&["assemble"], 2, "FILE");
    let source = keys.write("good.bwa", b".input garbler x r0\n.steps 1\nadd r0, r0, 1\n.output both x r0\n");
    bad(&["assemble", &source, "-o", &source], 2, "overwritten by its program");
    let (input, program) = (keys.file("input"), keys.file("p.bwp"));
    let secret =
        ["assemble", &source, "-o", &program, "--secret-program", "garbler", "--program-input", &input];
    bad(&secret, 2, "more inputs than its program: x");
    let printed = run(&[&secret[..], &["--input", "5"]].concat());
    assert_eq!(printed.status.code(), Some(0), "{}", text(&printed.stderr));
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&input).expect("a file").permissions()) & 0o077,
        0,
        "nobody else may read it"
    );
    bad(&[&secret[..], &["--input", "5"]].concat(), 1, "a file with this name already exists");
    let (_, json) = good(&["simulate", &program, "--garbler", &format!("@{input}")]);
    assert_eq!(json["outputs"]["evaluator"], 6);
}
