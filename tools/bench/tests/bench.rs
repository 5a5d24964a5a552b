//! Tests `brickwork-bench` as users run it: as another process, with its exit code, stdout and stderr.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;
use std::sync::OnceLock;

use brickwork::duplo::cost::{script_from_stock, script_of_filling};
use brickwork::{Security, plan};
use brickwork_kernels::Kernel;
use brickwork_lang::std_library;
use brickwork_testing::command::{ProjectBinary, example, is_error, object, path, text};
use brickwork_testing::{pages, schema};
use serde_json::{Value, json};
use tempfile::TempDir;

const BENCH: ProjectBinary = ProjectBinary {
    path: env!("CARGO_BIN_EXE_brickwork-bench"),
    caches,
    name: |arguments| format!("bench-{}", arguments[0]),
};

/// Returns a cache folder with constants that are always the same. So predictions and chosen cuts depend
/// neither on the load of the machine nor on the user's own folder.
fn caches() -> &'static Path {
    static FOLDER: OnceLock<&Path> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
        for kernel in Kernel::all_available() {
            let constants = plan::known(kernel.name(), 2);
            brickwork::engine::machine::keep(folder, &constants).expect("a folder of caches");
        }
        folder
    })
}

fn run(arguments: &[&str]) -> Output {
    BENCH.run(arguments)
}

fn good(arguments: &[&str]) -> (String, Value) {
    BENCH.good(arguments)
}

fn bad(arguments: &[&str], code: i32, words: &str) {
    BENCH.bad(arguments, code, words);
}

/// Writes a file, and returns its path.
fn write(folder: &TempDir, name: &str, content: &[u8]) -> String {
    let file = folder.path().join(name);
    std::fs::write(&file, content).expect("a file");
    path(&file)
}

/// Returns the commands that the help lists.
fn commands() -> BTreeSet<String> {
    let help = text(&run(&["--help"]).stdout);
    assert!(help.contains("Usage: brickwork bench [OPTIONS] <COMMAND>"), "{help}");
    let list = help.split("Commands:\n").nth(1).and_then(|list| list.split("\n\n").next()).expect("a list");
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    names.filter(|name| name != "help").collect()
}

/// Each command is run in all its forms. The fields of its output are exactly those of the schema.
#[test]
fn every_command_prints_what_the_schema_says() {
    let folder = TempDir::new().expect("a folder");
    let seen = RefCell::new(BTreeSet::new());
    let one = |arguments: &[&str]| {
        let output = run(&[arguments, &["--json", "--quiet"]].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stdout));
        schema::holds(schema::of_the_command(), &(BENCH.name)(arguments), &object(&output));
        seen.borrow_mut().insert(arguments[0].to_owned());
    };
    let file = example("millionaires.bwp");
    one(&["garbling", "--rounds", "1", "--copies", "1"]);
    one(&["garbling", &file, "--scheme", "ga-a1,gaxr-sha-1", "--rounds", "1", "--copies", "1"]);
    one(&["protocol", &file, "--rounds", "1"]);
    one(&["compare", &file, "--rounds", "1"]);
    one(&["stock", &file, "--executions", "1"]);
    one(&["cuts", &file, "--rounds", "1"]);
    one(&["cuts", &example("aes-128.bwp"), "--rounds", "1"]);
    one(&["scale"]);
    one(&["cluster", &file, "--lanes", "1,2", "--partitions", "1", "--rows", "2"]);
    one(&["jimu", "--rounds", "1", "--largest", "1"]);
    one(&["jimu", "--rounds", "1", "--largest", "3000"]);
    let results = path(&folder.path().join("rows.jsonl"));
    one(&["papers", "figure2", "table4", "--largest", "6400", "--results", &results]);
    let seen = seen.into_inner();
    assert_eq!(commands(), seen, "each of them was run");
    let listed = schema::of_the_command()["anyOf"].as_array().expect("a list").iter();
    let listed = listed.filter_map(|entry| entry["$ref"].as_str()?.strip_prefix("#/$defs/bench-"));
    assert_eq!(listed.map(str::to_owned).collect::<BTreeSet<_>>(), seen, "each of them is described");
}

/// The program knows all flags in each `brickwork bench` of a page. The test appends `--help`: then the
/// program prints its help only if it knows the flags before.
#[test]
fn commands_of_the_pages_are_known() {
    let mut checked = 0;
    for (page, text_of_page) in pages::all() {
        for words in pages::commands(&text_of_page).iter().filter(|words| words[0] == "bench") {
            let words: Vec<&str> = words[1..].iter().map(String::as_str).chain(["--help"]).collect();
            let output = run(&words);
            assert_eq!(output.status.code(), Some(0), "{page}: {words:?}: {}", text(&output.stderr));
            checked += 1;
        }
    }
    assert!(checked > 1, "{checked}");
}

/// Error messages name the command as users call it, and a missing command is an error.
#[test]
fn mistakes_are_those_of_the_command() {
    bad(&["protocol", &example("millionaires.bwp"), "--no-such-flag"], 2, "--no-such-flag");
    let said = text(&run(&["protocol", "--no-such-flag"]).stderr);
    assert!(said.contains("Usage: brickwork bench protocol "), "{said}");
    let missing = run(&[]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("Usage: brickwork bench [OPTIONS] <COMMAND>"));
    is_error(&run(&["--json"]), 2, "requires a subcommand");
}

/// Every protocol is timed, with its promise and its prediction. Flags without effect are refused.
#[test]
fn every_protocol_is_timed() {
    let file = example("millionaires.bwp");
    let timed = |flags: &[&str]| good(&[&["protocol", &file, "--rounds", "1", "--protocol"], flags].concat());
    for (flags, promised) in [
        (&["semi-honest"][..], "SEMI-HONEST ONLY"),
        (&["compgc", "--linking", "scmc"], "SEMI-HONEST ONLY"),
        (&["lego"], "AND gates: 64 buckets"),
        (&["authenticated"], "asked for: 2^-40"),
        (&["jimu"], "asked for: 2^-40"),
    ] {
        let (said, json) = timed(flags);
        assert!(said.contains(promised) && json["predicted"]["seconds"].is_f64(), "{said}");
    }
    let (_, json) = timed(&["semi-honest", "--executions", "2"]);
    let names: Vec<_> =
        json["phases"].as_array().expect("phases").iter().map(|phase| &phase["name"]).collect();
    assert_eq!(names, ["setup", "prepare", "evaluate", "decode"]);
    let refused = |flags: &[&str], words: &str| bad(&[&["protocol", &file], flags].concat(), 2, words);
    refused(&["--protocol", "lego", "--scheme", "ga"], "brickwork garble --scheme ga");
    let words = "--security has no effect with --protocol compgc";
    refused(&["--protocol", "compgc", "--security", "64"], words);
}

/// The lanes of a job send the bytes of the library's scripts, which `plan` predicts.
#[test]
fn jobs_send_what_was_planned() {
    let file = example("millionaires.bwp");
    let program = brickwork::Program::load(&file).expect("a program");
    let timed = good(&["cluster", &file, "--lanes", "1,3", "--partitions", "2", "--rows", "3"]).1;
    for (round, lanes) in timed["rounds"].as_array().expect("rounds").iter().zip([1u32, 3]) {
        let shares = lanes + lanes.div_ceil(4);
        let share = Security::shared(40, shares).expect("few shares");
        let fill = script_of_filling(program.given(), 2 * 3, share).expect("a script");
        let run =
            script_from_stock(&program.given().repeat(3).expect("small"), None, share).expect("a script");
        let [fill, run] = [fill, run].map(|script| script.sent_bytes(1).iter().sum::<u64>());
        let sent = ["garbler", "evaluator"].map(|role| round["sent_bytes"][role].as_u64().expect("bytes"));
        assert_eq!(sent[0] + sent[1], u64::from(lanes) * (fill + 2 * run), "{lanes} lanes");
        let bound = (f64::from(lanes) / f64::from(shares)).log2() - 40.0;
        assert_eq!(round["bound_log2"].as_f64(), Some(bound));
    }
}

/// A measurement of runs does not measure the constants of the machine. It does not fill an empty cache.
#[test]
fn no_run_measures_the_machine() {
    let folder = TempDir::new().expect("a folder");
    let (small, rounds) = (example("millionaires.bwp"), example("aes-128-rounds.bwp"));
    for arguments in
        [["protocol", &small, "--rounds", "1", "--json"], ["cuts", &rounds, "--rounds", "1", "--json"]]
    {
        let mut command = BENCH.command(&arguments);
        let output = command.env("XDG_CACHE_HOME", folder.path()).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("measuring"), "{}", text(&output.stderr));
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "{arguments:?}");
    }
}

/// The page of a comparison is made from its JSON.
#[test]
fn a_comparison_has_a_page() {
    let folder = TempDir::new().expect("a folder");
    let page = path(&folder.path().join("page.html"));
    let file = example("millionaires.bwp");
    let record = object(&run(&["compare", &file, "--rounds", "1", "--report", &page, "--json"]));
    let html = std::fs::read_to_string(page).expect("a page");
    assert_eq!(html, brickwork_report::page(&record).expect("a page"));
}

#[test]
fn garbling_is_timed() {
    let (human, json) = good(&["garbling", "--rounds", "1", "--copies", "2"]);
    assert!(human.contains("6 400 AND gates, 2 copies"), "{human}");
    for field in ["garble_ns_per_and", "evaluate_ns_per_and", "check_ns_per_and"] {
        assert!(json[field].as_f64().is_some_and(|ns| ns > 0.1), "{field}: {json}");
    }
    assert!(json["seconds"].as_f64().is_some_and(|seconds| seconds > 0.04), "four in a round: {json}");
    assert_eq!((json["and_gates"].as_u64(), json["copies"].as_u64()), (Some(6400), Some(2)));
    assert!(json["kernel"].is_string());
    for what in ["garble", "evaluate", "check"] {
        let [ns, aes, ratio] =
            [&json[format!("{what}_ns_per_and")], &json["aes_ns_per_and"][what], &json["ratio_to_aes"][what]]
                .map(|number| number.as_f64().expect("a number"));
        assert!(aes > 0.0 && (ratio - ns / aes).abs() < 1e-9 * ratio, "{what} in one round: {json}");
    }
    let calls = &json["aes_ns_per_and"];
    assert_eq!(calls["garble"], calls["check"]);
    assert_eq!(calls["garble"].as_f64(), calls["evaluate"].as_f64().map(|ns| 2.0 * ns), "4 calls and 2");
    assert!(human.contains("AES alone"), "{human}");
    bad(&["garbling", "--copies", "0"], 2, "--copies");
    bad(&["garbling", &example("alice.json")], 3, "alice.json");
}

/// Garbling can be timed with any kernel of the machine, not only the chosen one.
#[test]
fn garbling_is_timed_with_any_kernel() {
    for kernel in Kernel::all_available() {
        let name = kernel.name();
        let (human, json) = good(&["garbling", "--rounds", "1", "--copies", "1", "--kernel", name]);
        assert_eq!(json["kernel"], name);
        assert!(human.contains(&format!("kernel {name},")), "{human}");
    }
    bad(&["garbling", "--kernel", "abacus"], 2, "it has");
}

/// The schemes of JustGarble are timed on the paper's circuits and on others. The sizes are exact, and no
/// figure is missing.
#[test]
fn schemes_of_justgarble_are_timed() {
    let flags = ["--rounds", "1", "--copies", "3"];
    let schemes = ["--scheme", "ga-a1,gax-a2,gaxr-a4-d5,half-gates-a2,gaxr-aes-256"];
    let (human, json) = good(&[&["garbling"], &schemes[..], &flags].concat());
    assert!(human.contains("36 480 gates, 29 820 of them XORs; 3 copies side by side"), "{human}");
    assert_eq!(
        [&json["gates"], &json["xor_gates"], &json["copies"]].map(Value::as_u64),
        [36_480, 29_820, 3].map(Some)
    );
    let rows: Vec<&Value> = json["schemes"].as_array().expect("schemes").iter().collect();
    let names: Vec<&str> = rows.iter().filter_map(|row| row["scheme"].as_str()).collect();
    assert_eq!(names, ["ga-a1", "gax-a2-d7", "gaxr-a4-d5", "half-gates-a2-d1", "gaxr-aes-256"]);
    let with_rows = 6660.0 / 36_480.0;
    // Half-gates have rows only for gates that are not linear: 160 S-boxes of 36 gates, and three gates in
    // each column.
    let not_linear = (160.0 * 36.0 + 36.0 * 3.0) / 36_480.0;
    let bytes = [64.0, 64.0 * with_rows, 30.0 * with_rows, 32.0 * not_linear, 48.0 * with_rows];
    for (row, bytes) in rows.iter().zip(bytes) {
        assert!((row["row_bytes_per_gate"].as_f64().expect("bytes") - bytes).abs() < 1e-9, "{row}");
        let is_aes_128 = row["scheme"] != "gaxr-aes-256";
        for party in ["garble", "evaluate"] {
            assert!(row[party]["ns_per_gate"].as_f64().is_some_and(|ns| ns > 0.01), "{row}");
            assert_eq!(row[party]["ratio_to_aes"].is_number(), is_aes_128, "{row}");
        }
        // With a single round, the median of the ratios is the ratio of the medians.
        let garble =
            ["ns_per_gate", "aes_ns_per_gate", "ratio_to_aes"].map(|name| row["garble"][name].as_f64());
        if let [Some(ns), Some(aes), Some(ratio)] = garble {
            assert!((ratio - ns / aes).abs() < 1e-9 * ratio, "{row}");
        }
        assert_eq!(row["xors_ns_per_gate"].is_null(), row["scheme"] == "ga-a1", "{row}");
    }
    for (circuit, name) in [("mexp-10", "MEXP-10"), ("edt-7", "EDT-7")] {
        let of_paper = ["garbling", "--circuit", circuit, "--scheme", "gax-a2"];
        assert_eq!(good(&[&of_paper[..], &flags].concat()).1["circuit"], name);
    }
    for wrong in ["gax-a1", "gaxr-a2-d8", "rows"] {
        bad(&["garbling", "--scheme", wrong], 2, "scheme");
    }
    bad(&["garbling", "--circuit", "mexp-65", "--scheme", "gax-a2"], 2, "mexp-64");
    bad(&["garbling", "--circuit", "aes"], 2, "half-gates-a2");
    bad(&["garbling", "--scheme", "half-gates,gax-a2"], 2, "half-gates-a2");
}

#[test]
fn a_protocol_is_timed() {
    let file = example("millionaires.bwp");
    let (human, json) =
        good(&["protocol", &file, "--executions", "3", "--rounds", "2", "--protocol", "duplo"]);
    assert!(human.contains("3 executions, each checked"), "{human}");
    let names: Vec<&str> =
        json["phases"].as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["setup", "preprocess", "prepare", "build", "evaluate", "decode"]);
    let program = brickwork::Program::load(&file).expect("a program");
    assert_eq!(json["and_gates"].as_u64(), Some(3 * program.and_gates()));
    for field in ["seconds", "and_per_second", "cpu_us_per_and"] {
        assert!(json[field].as_f64().is_some_and(|value| value > 0.0), "{field}: {json}");
    }
    if cfg!(target_os = "linux") {
        for party in ["garbler", "evaluator"] {
            assert!(json["peak_rss_bytes"][party].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{json}");
        }
    }
    bad(&["protocol", &file, "--rounds", "0"], 2, "--rounds");
}

/// `bench compare` runs all protocols on one program. Each sends exactly the bytes of its own plan. The table
/// and the picture contain all of them, or only the named ones.
#[test]
fn protocols_are_compared() {
    let file = example("millionaires.bwp");
    let folder = tempfile::tempdir().unwrap();
    let picture = path(&folder.path().join("protocols.svg"));
    let (human, json) = good(&["compare", &file, "--rounds", "2", "--executions", "2", "--svg", &picture]);
    let rows = json["rows"].as_array().expect("rows");
    let ways: Vec<&str> = rows.iter().filter_map(|row| row["way"].as_str()).collect();
    let linkings = ["standard", "scmc", "naive"].map(|name| format!("compgc --linking {name}"));
    let known = ["duplo", "semi-honest"].into_iter().chain(linkings.iter().map(String::as_str));
    assert!(known.clone().all(|way| ways.contains(&way)), "{ways:?}");
    let drawn = std::fs::read_to_string(&picture).expect("a picture");
    for (row, way) in rows.iter().zip(&ways) {
        assert!(human.contains(&format!("`{way}`")) && drawn.contains(&format!(">{way}</text>")), "{human}");
        let flags: Vec<&str> = way.split(' ').collect();
        let alone = ["protocol", &file, "--executions", "2", "--rounds", "1", "--protocol"];
        let planned = &good(&[&alone[..], &flags].concat()).1["predicted"];
        let phases = planned["phases"].as_array().expect("phases");
        let is_malicious = row["model"] == "malicious";
        assert_eq!(row["bound_log2"].as_f64().is_some_and(|bound| bound <= -40.0), is_malicious, "{row}");
        for field in ["garbler_sent_bytes", "evaluator_sent_bytes"] {
            let sent = |skipped: usize| -> u64 {
                phases.iter().skip(skipped).filter_map(|phase| phase[field].as_u64()).sum()
            };
            assert_eq!(row["all"][field], sent(0), "{way}: {field}");
            // The online bytes are those of the last phases, without the setup.
            let online = row["online"][field].as_u64().expect("bytes");
            let tails: Vec<u64> = (1..phases.len()).map(sent).collect();
            assert!(online > 0 && tails.contains(&online), "{way}: {field} {online} of {tails:?}");
        }
        let trips = |span: &str| row[span]["round_trips"].as_f64().expect("round trips");
        assert_eq!(trips("all"), planned["round_trips"].as_f64().expect("round trips"), "{way}");
        assert!(trips("online") >= 0.5 && trips("online") < trips("all"), "{row}");
    }
    let (human, json) = good(&["compare", &file, "--protocols", "semi-honest", "--rounds", "1", "--each"]);
    assert!(human.contains("SEMI-HONEST ONLY") && !human.contains("duplo"), "{human}");
    let each = &json["rows"][0]["each"];
    // The expected bytes are those of a table of half-gates, of a label, of an OT and of a bit. Framing adds
    // little. But OTs are made in blocks, which the 32 inputs of one execution do not fill: 512 bytes less
    // for 64 gates.
    for (field, least, most) in [
        ("and_gate", 23.9, 24.1),
        ("garbler_input", 16.0, 16.1),
        ("evaluator_input", 16.0, 16.1),
        ("output", 0.125, 0.25),
    ] {
        let bytes = each[field].as_f64().expect("bytes");
        assert!((least..most).contains(&bytes), "{field}: {each}");
    }
    assert_eq!(each["other_buckets"], serde_json::json!([]));
    assert!(!human.contains("*: the larger run"), "{human}");
    let stock = &json["rows"][0]["stock"];
    assert!(["garbler", "evaluator"].iter().all(|party| stock[party].as_u64().is_some_and(|b| b > 4096)));
    assert!(rows.iter().all(|row| row["each"].is_null() && row["stock"].is_null()));
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(1));
    // More inputs of the garbler need more authenticators in smaller buckets, which the output mentions; more
    // inputs of the evaluator or more outputs change no bucket.
    let (human, json) = good(&["compare", &file, "--protocols", "duplo", "--rounds", "1", "--each"]);
    let each = &json["rows"][0]["each"];
    let others: Vec<&str> =
        each["other_buckets"].as_array().expect("names").iter().filter_map(|name| name.as_str()).collect();
    assert_eq!(others, ["garbler_input", "and_gate"]);
    assert!(human.contains(" garbler input, and gate |") && human.contains("\n*: the larger run"), "{human}");
    for (field, least, most) in [("evaluator_input", 80.0, 90.0), ("output", 0.125, 0.25)] {
        let bytes = each[field].as_f64().expect("bytes");
        assert!((least..most).contains(&bytes) && human.contains(&format!(" {bytes:.1} |")), "{human}");
    }
    bad(&["compare", &file, "--protocols", "honest"], 2, "semi-honest");
    bad(&["compare", &file, "--lanes", "2"], 2, "--lanes has no effect with --protocol semi-honest");
}

/// A timed run takes the cut of the flag, or the fastest one, and prints its name.
#[test]
fn a_timed_protocol_names_its_cut() {
    let folder = TempDir::new().expect("a folder");
    let source = |name: &str| {
        let file = std_library().iter().find(|file| file.name == name).expect("an example");
        write(&folder, name, file.text.as_bytes())
    };
    let once = |source: &str, flags: &[&str]| good(&[&["protocol", source, "--rounds", "1"], flags].concat());
    let vickrey = source("vickrey.wir");
    for cut in ["given", "whole", "inline:*"] {
        let (human, json) = once(&vickrey, &["--cut", cut]);
        assert!(human.contains(&format!("\nCut: {cut}\n")) && json["cut"] == cut, "{human}");
    }
    // On a slow network, the bytes determine the fastest cut, so the load of the machine does not matter.
    let slow = ["--bandwidth", "200Mbit", "--protocol", "duplo"];
    let cut = &once(&source("aes128_encrypt.wir"), &slow).1["cut"];
    assert!(cut != "given", "{cut}");
    bad(&["protocol", &vickrey, "--cut", "thin"], 2, "thin");
}

/// Both cuts run, and the cut that a run would choose is compared with the given one.
#[test]
fn cuts_are_compared() {
    let file = example("aes-128-rounds.bwp");
    let whole = example("aes-128.bwp");
    let (human, json) = good(&["cuts", &file, &whole, "--rounds", "1"]);
    assert!(human.contains("skipped aes-128: there is no other cut"), "{human}");
    let [row] = &json["rows"].as_array().expect("rows")[..] else { panic!("{json}") };
    assert_eq!((&row["given"]["cut"], &row["other"]["cut"]), (&json!("given"), &json!("whole")));
    for cut in ["given", "other"] {
        for field in ["predicted_seconds", "predicted_cpu_seconds", "seconds", "cpu_seconds"] {
            assert!(row[cut][field].as_f64() > Some(0.0), "{row}");
        }
    }
    let ratio = row["chosen_by_given"]["seconds"].as_f64().expect("a ratio");
    let seconds = |cut: &str| row[cut]["seconds"].as_f64().expect("seconds");
    assert_eq!(ratio, if row["chosen"] == "given" { 1.0 } else { seconds("other") / seconds("given") });
    assert!(json["kernel"].is_string() && json["constants"].is_string(), "{json}");
    let none = good(&["cuts", &file, "--rounds", "1", "--longest", "0"]).1;
    assert!(none["rows"].as_array().is_some_and(Vec::is_empty), "{none}");
}

/// Each row is measured once and stored as a line, or skipped with a reason. If a line is incomplete, its row
/// is measured again.
#[test]
fn the_papers_tables_are_reproduced() {
    let folder = TempDir::new().expect("a folder");
    let [results, drawing] = ["rows.jsonl", "figures.svg"].map(|name| path(&folder.path().join(name)));
    let papers = |more: &[&str]| {
        good(
            &[&["papers", "figure2", "table4", "--largest", "6400", "--results", &results, "--quiet"], more]
                .concat(),
        )
    };
    let (human, first) = papers(&["--svg", &drawing]);
    assert!(
        human.contains("AES-128 in 5") && human.contains("skipped figure2: CBC-MAC-16 by 1, N = 32, LAN"),
        "{human}"
    );
    let rows = first["rows"].as_array().expect("an array");
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_eq!((row["executions"].as_u64(), row["and_gates"].as_u64()), (Some(1), Some(6400)));
        assert!(
            row["predicted"]["seconds"].as_f64() > Some(0.0)
                && row["predicted"]["memory_bytes"]["garbler"].as_u64() > Some(0),
            "{row}"
        );
        assert!(
            row["before_inputs_milliseconds"].as_f64() > Some(0.0) && row["seconds"].as_f64() > Some(0.0),
            "{row}"
        );
    }
    assert_eq!(first["bytes"].as_array().map(Vec::len), Some(4));
    assert!(first["bytes"][3]["before_bytes"].as_f64() < first["bytes"][0]["before_bytes"].as_f64());
    assert!(std::fs::read_to_string(drawing).expect("a drawing").ends_with("</svg>\n"));

    let lines = || {
        std::fs::read_to_string(&results)
            .expect("the rows")
            .lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let kept = lines();
    assert_eq!(papers(&[]).1["rows"], first["rows"], "nothing is measured again");
    assert_eq!(lines(), kept);
    std::fs::write(&results, format!("{}\n{}\n{}", kept[0], kept[1], &kept[2][..kept[2].len() / 2]))
        .expect("a file");
    assert_eq!(papers(&[]).1["rows"][0], first["rows"][0]);
    assert_eq!(lines().len(), 4, "the whole ones, half of one, and that again");
    let compared = good(&["papers", "plan", "--largest", "6400", "--results", &results, "--quiet"]);
    assert!(
        compared.0.contains("predicted by measured")
            && compared.1["rows"].as_array().map(Vec::len) == Some(3),
        "{}",
        compared.0
    );
    bad(&["papers", "table9"], 2, "table9");
}

/// The model covers sizes that no machine can run. With more slots, a gate never costs more.
#[test]
fn cost_grows_as_the_model_says() {
    let folder = TempDir::new().expect("a folder");
    let row = b"{\"key\": \"a row\", \"measured\": {\"and_gates\": 6400, \"seconds\": 0.1}}\n";
    let (drawing, results) = (path(&folder.path().join("scale.svg")), write(&folder, "rows.jsonl", row));
    let (human, json) = good(&["scale", "--svg", &drawing, "--results", &results]);
    assert!(
        human.contains("AES-128")
            && std::fs::read_to_string(drawing).expect("a drawing").contains("measured: a row")
    );
    let rows = json["rows"].as_array().expect("an array");
    assert!(rows.iter().any(|row| row["and_gates"].as_f64() > Some(0.9e12)));
    let of = |row: &Value, field: &str| row[field].as_f64().expect("a number");
    for component in rows.chunk_by(|a, b| a["component"] == b["component"]) {
        // Where the bucket size becomes smaller, more copies may be opened. This choice depends on the
        // machine.
        let copies: Vec<f64> = component.iter().map(|row| of(row, "copies_a_slot")).collect();
        assert!(copies.iter().all(|&copies| copies > 2.0) && copies.last() < copies.first(), "{copies:?}");
        assert!(
            component.windows(2).all(|pair| of(&pair[1], "seconds") > of(&pair[0], "seconds")),
            "{component:?}"
        );
    }
    assert_eq!(json["cores_and_links"].as_array().map(Vec::len), Some(20));
    bad(&["scale", "--results", &path(&folder.path().join("none"))], 3, "none");
}

#[test]
fn stock_is_timed() {
    let (human, json) = good(&["stock", &example("millionaires.bwp"), "--executions", "3"]);
    assert!(human.contains("over an open connection") && human.contains("verified"), "{human}");
    assert_eq!(json["executions"], 3);
    // A run from stock sends solderings, labels, and a single proof, but no table.
    assert!((5_000..25_000).contains(&json["online"]["bytes"].as_u64().expect("bytes")), "{json}");
    assert!(json["disk_bytes"]["garbler"].as_u64() < json["disk_bytes"]["evaluator"].as_u64());
}

/// The values of the paper's figures are measured, without those for many gates. The remaining program runs
/// by gates and by components.
#[test]
fn jimu_figures_are_measured_beside_the_paper() {
    let (said, figures) = good(&["jimu", "--rounds", "1", "--largest", "5200"]);
    let rows = figures["rows"].as_array().unwrap();
    let of = |field: &str| rows.iter().map(|row| row[field].clone()).collect::<Vec<_>>();
    // The rows are DES, the Hamming distance, and a single AES in two cuts. All other rows have more than 5
    // 200 gates.
    assert_eq!(of("and_gates"), [2720, 4083, 5120, 5120]);
    assert_eq!(
        (of("cut"), of("slots")),
        (
            ["gates", "gates", "gates", "given"].map(serde_json::Value::from).to_vec(),
            [2720, 4083, 5120, 160].map(serde_json::Value::from).to_vec()
        )
    );
    assert_eq!(figures["skipped"].as_array().unwrap().len(), 8);
    for row in rows {
        assert!(row["bound_log2"].as_f64().unwrap() <= -40.0 && row["paper"]["made"].is_u64(), "{row}");
    }
    assert!(said.contains("AES-128 in SubBytes") && said.contains("skipped comparison"), "{said}");
    let tasks = figures["tasks"].as_array().unwrap();
    assert_eq!((tasks.len(), tasks[0]["items"].as_u64()), (7, Some(5200)));
    assert!(said.contains("input of the evaluator") && tasks[1]["bytes"].as_f64().unwrap() > 30.0, "{said}");
}
