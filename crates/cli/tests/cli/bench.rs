//! Tests `plan`, `bench`, and the simulated network.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;

#[test]
fn garbling_is_timed() {
    let (human, json) = good(&["bench", "garbling", "--rounds", "1", "--copies", "2"]);
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
    bad(&["bench", "garbling", "--copies", "0"], 2, "--copies");
    bad(&["bench", "garbling", &example("alice.json")], 3, "alice.json");
}

/// Garbling can be timed with any kernel of the machine, not only the chosen one.
#[test]
fn garbling_is_timed_with_any_kernel() {
    for kernel in brickwork_kernels::Kernel::all_available() {
        let name = kernel.name();
        let (human, json) = good(&["bench", "garbling", "--rounds", "1", "--copies", "1", "--kernel", name]);
        assert_eq!(json["kernel"], name);
        assert!(human.contains(&format!("kernel {name},")), "{human}");
    }
    bad(&["bench", "garbling", "--kernel", "abacus"], 2, "it has");
}

/// The schemes of JustGarble are timed on the paper's circuits and on others. The sizes are exact, and no
/// figure is missing.
#[test]
fn schemes_of_justgarble_are_timed() {
    let flags = ["--rounds", "1", "--copies", "3"];
    let schemes = ["--scheme", "ga-a1,gax-a2,gaxr-a4-d5,half-gates-a2,gaxr-aes-256"];
    let (human, json) = good(&[&["bench", "garbling"], &schemes[..], &flags].concat());
    assert!(human.contains("36 480 gates, 29 820 of them XORs; 3 copies side by side"), "{human}");
    assert_eq!(
        [&json["gates"], &json["xor_gates"], &json["copies"]].map(Value::as_u64),
        [36_480, 29_820, 3].map(Some)
    );
    let rows: Vec<&Value> = json["schemes"].as_array().expect("schemes").iter().collect();
    let names: Vec<&str> = rows.iter().filter_map(|row| row["scheme"].as_str()).collect();
    assert_eq!(names, ["ga-a1", "gax-a2-d7", "gaxr-a4-d5", "half-gates-a2-d1", "gaxr-aes-256"]);
    let with_rows = 6660.0 / 36_480.0;
    // Half-gates have rows only for nonlinear gates: 160 S-boxes with 36 gates each, and three gates in each
    // column.
    let not_linear = (160.0 * 36.0 + 36.0 * 3.0) / 36_480.0;
    let bytes = [64.0, 64.0 * with_rows, 30.0 * with_rows, 32.0 * not_linear, 48.0 * with_rows];
    for (row, bytes) in rows.iter().zip(bytes) {
        assert!((row["row_bytes_per_gate"].as_f64().expect("bytes") - bytes).abs() < 1e-9, "{row}");
        let is_aes_128 = row["scheme"] != "gaxr-aes-256";
        for party in ["garble", "evaluate"] {
            assert!(row[party]["ns_per_gate"].as_f64().is_some_and(|ns| ns > 0.01), "{row}");
            assert_eq!(row[party]["ratio_to_aes"].is_number(), is_aes_128, "{row}");
        }
        // With one round the ratio must be that of the two times.
        let garble =
            ["ns_per_gate", "aes_ns_per_gate", "ratio_to_aes"].map(|name| row["garble"][name].as_f64());
        if let [Some(ns), Some(aes), Some(ratio)] = garble {
            assert!((ratio - ns / aes).abs() < 1e-9 * ratio, "{row}");
        }
        assert_eq!(row["xors_ns_per_gate"].is_null(), row["scheme"] == "ga-a1", "{row}");
    }
    for (circuit, name) in [("mexp-10", "MEXP-10"), ("edt-7", "EDT-7")] {
        let of_paper = ["bench", "garbling", "--circuit", circuit, "--scheme", "gax-a2"];
        assert_eq!(good(&[&of_paper[..], &flags].concat()).1["circuit"], name);
    }
    for wrong in ["gax-a1", "gaxr-a2-d8", "rows"] {
        bad(&["bench", "garbling", "--scheme", wrong], 2, "scheme");
    }
    bad(&["bench", "garbling", "--circuit", "mexp-65", "--scheme", "gax-a2"], 2, "mexp-64");
    bad(&["bench", "garbling", "--circuit", "aes"], 2, "half-gates-a2");
    bad(&["bench", "garbling", "--scheme", "half-gates,gax-a2"], 2, "half-gates-a2");
}

#[test]
fn a_protocol_is_timed() {
    let file = example("millionaires.bwp");
    let (human, json) =
        good(&["bench", "protocol", &file, "--executions", "3", "--rounds", "2", "--protocol", "duplo"]);
    assert!(human.contains("3 executions, each checked"), "{human}");
    let names: Vec<&str> =
        json["phases"].as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["setup", "preprocess", "prepare", "build", "evaluate", "decode"]);
    let one = good(&["info", &file]).1;
    assert_eq!(json["and_gates"].as_u64(), one["and_gates"].as_u64().map(|gates| 3 * gates));
    for field in ["seconds", "and_per_second", "cpu_us_per_and"] {
        assert!(json[field].as_f64().is_some_and(|value| value > 0.0), "{field}: {json}");
    }
    if cfg!(target_os = "linux") {
        for party in ["garbler", "evaluator"] {
            assert!(json["peak_rss_bytes"][party].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{json}");
        }
    }
    bad(&["bench", "protocol", &file, "--rounds", "0"], 2, "--rounds");
}

/// `bench compare` runs all protocols on one program. Each sends exactly the bytes of its own plan. The table
/// and the picture contain all of them, or only the named ones.
#[test]
fn protocols_are_compared() {
    let file = example("millionaires.bwp");
    let folder = tempfile::tempdir().unwrap();
    let picture = path(&folder.path().join("protocols.svg"));
    let (human, json) =
        good(&["bench", "compare", &file, "--rounds", "2", "--executions", "2", "--svg", &picture]);
    let rows = json["rows"].as_array().expect("rows");
    let ways: Vec<&str> = rows.iter().filter_map(|row| row["way"].as_str()).collect();
    let linkings = ["standard", "scmc", "naive"].map(|name| format!("compgc --linking {name}"));
    let known = ["duplo", "semi-honest"].into_iter().chain(linkings.iter().map(String::as_str));
    assert!(known.clone().all(|way| ways.contains(&way)), "{ways:?}");
    let drawn = std::fs::read_to_string(&picture).expect("a picture");
    for (row, way) in rows.iter().zip(&ways) {
        assert!(human.contains(&format!("`{way}`")) && drawn.contains(&format!(">{way}</text>")), "{human}");
        let flags: Vec<&str> = way.split(' ').collect();
        let (_, planned) = good(&[&["plan", &file, "--executions", "2", "--protocol"], &flags[..]].concat());
        let phases = planned["phases"].as_array().expect("phases");
        let is_malicious = row["model"] == "malicious";
        assert_eq!(row["bound_log2"].as_f64().is_some_and(|bound| bound <= -40.0), is_malicious, "{row}");
        for field in ["garbler_sent_bytes", "evaluator_sent_bytes"] {
            let sent = |skipped: usize| -> u64 {
                phases.iter().skip(skipped).filter_map(|phase| phase[field].as_u64()).sum()
            };
            assert_eq!(row["all"][field], sent(0), "{way}: {field}");
            // The online phases are the last ones, send some bytes, and never include the setup.
            let online = row["online"][field].as_u64().expect("bytes");
            let tails: Vec<u64> = (1..phases.len()).map(sent).collect();
            assert!(online > 0 && tails.contains(&online), "{way}: {field} {online} of {tails:?}");
        }
        let trips = |span: &str| row[span]["round_trips"].as_f64().expect("round trips");
        assert_eq!(trips("all"), planned["round_trips"].as_f64().expect("round trips"), "{way}");
        assert!(trips("online") >= 0.5 && trips("online") < trips("all"), "{row}");
    }
    let (human, json) =
        good(&["bench", "compare", &file, "--protocols", "semi-honest", "--rounds", "1", "--each"]);
    assert!(human.contains("SEMI-HONEST ONLY") && !human.contains("duplo"), "{human}");
    let each = &json["rows"][0]["each"];
    // The expected bytes are those of a garbled table, a label, an OT and a bit, plus a little framing.
    // Tables seem smaller by 512 bytes in 64 gates, because OTs come in blocks, which the 32 inputs of an
    // execution do not fill.
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
    assert!(!human.contains('*'), "{human}");
    let stock = &json["rows"][0]["stock"];
    assert!(["garbler", "evaluator"].iter().all(|party| stock[party].as_u64().is_some_and(|b| b > 4096)));
    assert!(rows.iter().all(|row| row["each"].is_null() && row["stock"].is_null()));
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(1));
    // More inputs of the garbler need more authenticators, which then have smaller buckets; an asterisk marks
    // this number. More inputs of the evaluator, or more outputs, change no buckets.
    let (human, json) = good(&["bench", "compare", &file, "--protocols", "duplo", "--rounds", "1", "--each"]);
    let each = &json["rows"][0]["each"];
    let others: Vec<&str> =
        each["other_buckets"].as_array().expect("names").iter().filter_map(|name| name.as_str()).collect();
    assert_eq!(others, ["garbler_input", "and_gate"]);
    let cell = |field: &str, mark: &str| format!(" {:.1}{mark} |", each[field].as_f64().expect("bytes"));
    assert!(
        human.contains(&cell("garbler_input", "*")) && human.contains("\n*: the run with more"),
        "{human}"
    );
    for (field, least, most) in [("evaluator_input", 80.0, 90.0), ("output", 0.125, 0.25)] {
        assert!(human.contains(&cell(field, "")), "{human}");
        assert!((least..most).contains(&each[field].as_f64().expect("bytes")), "{field}: {each}");
    }
    bad(&["bench", "compare", &file, "--protocols", "honest"], 2, "semi-honest");
    bad(&["bench", "compare", &file, "--lanes", "2"], 2, "--lanes has no effect with --protocol semi-honest");
}

/// The proposed protocol is secure against the requested kind of peer, and is the fastest or nearly so. Each
/// candidate has the same numbers as in its own `plan`. The network decides: bytes cost time if the bandwidth
/// is low, and round trips if the delay is long.
#[test]
fn a_protocol_is_proposed() {
    let seconds = |one: &serde_json::Value| one["cost"]["seconds"].as_f64().expect("seconds");
    let bytes = |one: &serde_json::Value| -> u64 {
        let phases = one["cost"]["phases"].as_array().expect("phases").iter();
        let sent = ["garbler_sent_bytes", "evaluator_sent_bytes"];
        phases.flat_map(|phase| sent.map(|field| phase[field].as_u64().expect("bytes"))).sum()
    };
    let aes = example("aes-128-rounds.bwp");
    for (model, link) in [
        ("malicious", &[][..]),
        ("semi-honest", &[][..]),
        ("semi-honest", &["--bandwidth", "1Mbit"][..]),
        ("semi-honest", &["--rtt", "200ms"][..]),
    ] {
        let (human, json) = good(&[&["plan", &aes, "--model", model][..], link].concat());
        let candidates = json["candidates"].as_array().expect("candidates");
        let proposed = candidates.iter().find(|one| one["way"] == json["proposed"]).expect("one of them");
        assert!(human.contains(&format!("Proposed: --protocol {}", json["proposed"].as_str().unwrap())));
        // The rest of the reason is a time that includes a search for cuts, so it differs each time.
        let why = json["reason"].as_str().and_then(|reason| reason.split(';').next()).expect("a reason");
        assert!(human.contains(why), "{why}: {human}");
        let models: BTreeSet<_> = candidates.iter().filter_map(|one| one["model"].as_str()).collect();
        let expected = if model == "malicious" { &["malicious"][..] } else { &["malicious", "semi-honest"] };
        assert!(models.iter().eq(expected), "{models:?}");
        let fastest = candidates.iter().map(seconds).fold(f64::INFINITY, f64::min);
        for one in candidates {
            let is_good = seconds(one) <= 1.1 * fastest;
            let is_better = (one["model"] == "malicious", std::cmp::Reverse(bytes(one)))
                > (proposed["model"] == "malicious", std::cmp::Reverse(bytes(proposed)));
            assert!(!(is_good && is_better), "{one}");
            // DUPLO's cost includes a search for cuts, so it differs each time.
            let way: Vec<&str> = one["way"].as_str().expect("a way").split(' ').collect();
            if way[0] != "duplo" {
                let (_, alone) = good(&[&["plan", &aes, "--protocol"][..], &way, link].concat());
                assert_eq!(alone["phases"], one["cost"]["phases"], "{way:?}");
            }
        }
        assert!(seconds(proposed) <= 1.1 * fastest, "{json}");
        // If the bandwidth is low, the bytes decide. Otherwise a busy machine may find other protocols as
        // fast.
        assert!(link != ["--bandwidth", "1Mbit"] || proposed["model"] == "semi-honest", "{json}");
        if proposed["model"] == "semi-honest" {
            assert!(human.contains("SEMI-HONEST ONLY") && human.contains("times as long"), "{human}");
        }
    }
    // If only bytes count, the proposed protocol is one that sends fewest.
    let (_, slow) = good(&["plan", &aes, "--model", "semi-honest", "--bandwidth", "1Mbit"]);
    let all = slow["candidates"].as_array().expect("candidates");
    let least = all.iter().map(bytes).min().expect("some");
    let proposed = all.iter().find(|one| one["way"] == slow["proposed"]).expect("one of them");
    assert_eq!(bytes(proposed), least, "{slow}");
    for (flags, why) in [
        (["--protocol", "duplo"], "--protocol"),
        (["--linking", "scmc"], "--linking"),
        (["--security", "64"], "--security has no effect with --model semi-honest"),
        (["--lanes", "2"], "--lanes says nothing"),
    ] {
        bad(&[&["plan", &aes, "--model", "semi-honest"][..], &flags].concat(), 2, why);
    }
    bad(&["plan", &aes, "--model", "covert"], 2, "malicious");
    let (_, strong) = good(&["plan", &aes, "--model", "malicious", "--security", "80"]);
    assert!(strong["candidates"][0]["bound_log2"].as_f64().is_some_and(|bound| bound <= -80.0), "{strong}");
}

/// A phase that needs a reply of the peer cannot be faster than the network, and bytes take their time.
#[test]
fn a_link_is_imitated() {
    let file = example("millionaires.bwp");
    let arguments = [
        "run",
        &file,
        "--garbler",
        "5",
        "--evaluator",
        "6",
        "--rtt",
        "30ms",
        "--bandwidth",
        "4Mbit",
        "--timeout",
        "30",
        "--json",
    ];
    let json = object(&run(&arguments));
    assert_eq!(json["outputs"]["evaluator"], serde_json::json!({ "alice": 0, "bob": 1 }), "{json}");
    // Only the whole run is checked, because the time of a phase can shift to another phase.
    let sum = |field: &str| {
        json["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_f64().unwrap()).sum::<f64>()
    };
    let (seconds, bits) = (sum("seconds"), 8.0 * sum("garbler_sent_bytes"));
    assert!(seconds >= 5.0 * 0.03 && seconds >= 0.9 * bits / 4e6, "{json}");
    bad(&["run", &file, "--garbler", "5", "--evaluator", "6", "--rtt", "30"], 2, "--rtt");
    bad(&["run", &file, "--garbler", "5", "--evaluator", "6", "--bandwidth", "fast"], 2, "--bandwidth");
}

/// A run sends exactly the planned bytes, and two plans measure the machine only once.
#[test]
fn a_plan_comes_true() {
    let folder = TempDir::new().expect("a folder");
    let file = example("millionaires.bwp");
    let plan = |more: &[&str]| {
        let mut command = brickwork(
            &[&["plan", &file, "--executions", "2", "--json", "--protocol", "duplo"], more].concat(),
        );
        command.env("XDG_CACHE_HOME", folder.path()).output().expect("the command starts")
    };
    let drawing = path(&folder.path().join("plan.svg"));
    let (first, second) = (plan(&["--svg", &drawing]), plan(&["--rtt", "100ms"]));
    assert!(
        text(&first.stderr).contains("measuring this machine") && second.stderr.is_empty(),
        "{}",
        text(&second.stderr)
    );
    let (first, second) = (object(&first), object(&second));
    // The evaluator's clock starts after its handshake, when the garbler's greeting has been on its way for
    // half a round trip.
    assert!(
        second["seconds"].as_f64() > Some((second["round_trips"].as_f64().expect("a number") - 0.5) * 0.1)
    );
    assert!(second["seconds"].as_f64() > first["seconds"].as_f64());
    assert_eq!(first["disk_bytes"], 0);
    let alternatives = first["alternatives"].as_array().expect("an array");
    assert_eq!(alternatives.iter().filter(|other| other["chosen"] == true).count(), 1);
    assert!(std::fs::read_to_string(drawing).expect("a drawing").ends_with("</svg>\n"));

    // Both parties read their constants from this folder, so they choose the same parameters as the plan.
    let really = |more: &[&str]| {
        let arguments =
            ["run", &file, "--executions", "2", "--garbler", "[1, 2]", "--evaluator", "[2, 1]", "--json"];
        let arguments = [&arguments[..], &["--protocol", "duplo"]].concat();
        object(
            &brickwork(&[&arguments[..], more].concat())
                .env("XDG_CACHE_HOME", folder.path())
                .output()
                .expect("the command starts"),
        )
    };
    let standard = ["--buckets", "standard"];
    assert_eq!(object(&plan(&standard))["promise"], really(&standard)["promise"]);
    let run = really(&[]);
    for field in ["name", "garbler_sent_bytes", "evaluator_sent_bytes"] {
        let of = |json: &Value| {
            json["phases"]
                .as_array()
                .expect("phases")
                .iter()
                .map(|phase| phase[field].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&first), of(&run), "{field}");
    }
    assert_eq!(first["promise"], run["promise"]);
    let seconds = |json: &Value| json["seconds"].as_f64().expect("seconds");
    assert!(
        (seconds(&first) / seconds(&run["predicted"]) - 1.0).abs() < 1e-9,
        "printed numbers are read with an error of a bit"
    );
    assert_eq!(first["memory_bytes"], run["predicted"]["memory_bytes"]);

    // Cached constants are checked before they are used.
    let cache = std::fs::read_dir(folder.path().join("brickwork"))
        .expect("a folder")
        .next()
        .expect("a file")
        .expect("a file")
        .path();
    for nonsense in ["{}", "[1e400]"] {
        std::fs::write(&cache, nonsense).expect("a file");
        assert!(text(&plan(&[]).stderr).contains("measuring this machine"), "{nonsense}");
    }
}

/// `compile` makes each listed cut of a source with the listed flags. Any program can also be one component.
#[test]
fn a_plan_tries_other_cuts() {
    let keys = Keys::new();
    good(&["examples", "aes128_encrypt", "-o", &keys.file("")]);
    let source = keys.file("aes128_encrypt.wir");
    let drawing = keys.file("cuts.svg");
    let duplo = ["--protocol", "duplo"];
    let (human, plan) = good(&[&["plan", &source, "--svg", &drawing], &duplo[..]].concat());
    assert!(human.contains("Cuts of the program") && human.contains("fastest"), "{human}");
    assert!(std::fs::read_to_string(drawing).expect("a drawing").contains("AND gates of a slot"));
    let cuts = plan["decompositions"].as_array().expect("an array");
    assert!(cuts.len() > 5, "{cuts:?}");
    assert_eq!(cuts.iter().filter(|cut| cut["given"] == true).count(), 1);
    let sizes: Vec<f64> =
        cuts.iter().map(|cut| cut["and_gates_a_slot"].as_f64().expect("a number")).collect();
    assert!(sizes.is_sorted() && sizes.last() == Some(&6400.0), "{sizes:?}");
    let compiled = keys.file("cut.bwp");
    // Every second cut is tried, and also the given and the chosen one.
    let stands_out = |cut: &Value| cut["given"] == true || cut["chosen"] == true;
    let tried = cuts.iter().enumerate().filter(|(k, cut)| k % 2 == 0 || stands_out(cut));
    for (_, cut) in tried {
        let flags: Vec<&str> = cut["flags"]
            .as_str()
            .expect("flags")
            .split_whitespace()
            .map(|flag| flag.trim_matches('\''))
            .collect();
        good(&[&["compile", &source, "-o", &compiled], &flags[..]].concat());
        let name = cut["cut"].as_str().expect("a name");
        // A run with a named cut sends the name in addition.
        let bytes = |plan: &Value| {
            let phases = plan["phases"].as_array().expect("phases").iter();
            phases
                .map(|p| {
                    p["garbler_sent_bytes"].as_u64().unwrap_or(0)
                        + p["evaluator_sent_bytes"].as_u64().unwrap_or(0)
                })
                .sum::<u64>()
        };
        let standard = ["--buckets", "standard"];
        let given = good(&[&["plan", &compiled, "--cut", "given"], &standard[..], &duplo].concat()).1;
        let named = good(&[&["plan", &source, "--cut", name], &standard[..], &duplo].concat()).1;
        let length = if cut["given"] == true { 0 } else { name.len() as u64 };
        assert_eq!((bytes(&given) + length, &given["promise"]), (bytes(&named), &named["promise"]), "{name}");
        assert_eq!(named["cut"], name);
    }
    let chosen: Vec<&Value> = cuts.iter().filter(|cut| cut["chosen"] == true).collect();
    assert!(chosen.len() == 1 && chosen[0]["cut"] == plan["cut"], "{chosen:?}");
    let inlined = good(&[&["plan", &source, "--inline", "*"], &duplo[..]].concat()).1;
    assert_eq!((&inlined["cut"], components_of(&inlined).len()), (&json!("inline:*"), 1));
    bad(&["plan", &source, "--inline", "*", "--cut", "whole"], 2, "both say how");
    let one = good(&["plan", &example("aes-128.bwp"), "--protocol", "duplo"]).1;
    assert_eq!(one["decompositions"].as_array().map(Vec::len), Some(1), "it is one component already");
    let rounds = good(&["plan", &example("aes-128-rounds.bwp"), "--protocol", "duplo"]).1;
    assert_eq!(rounds["decompositions"].as_array().map(Vec::len), Some(2));
}

/// The rows of a table of choices in the text of a plan, and the remark below the table.
struct Choices<'t> {
    rows: Vec<Row<'t>>,
    remark: Option<&'t str>,
}

struct Row<'t> {
    star: bool,
    seconds: f64,
    /// The text to the right of the bar.
    name: &'t str,
}

impl<'t> Choices<'t> {
    /// Reads the table below this heading.
    fn below(heading: &str, human: &'t str) -> Self {
        let table = &human[human.find(heading).unwrap_or_else(|| panic!("no {heading}: {human}"))..];
        let mut lines = table.lines().skip(2).peekable();
        let rows = std::iter::from_fn(|| Row::read(lines.next_if(|line| Row::read(line).is_some())?));
        let rows = rows.collect();
        let remark = lines.next().and_then(|line| line.strip_prefix("  * is not the fastest of these: "));
        Choices { rows, remark }
    }
}

impl<'t> Row<'t> {
    fn read(line: &'t str) -> Option<Self> {
        let (numbers, right) = line.split_once('#')?;
        let seconds = numbers.split_whitespace().last()?.parse().ok()?;
        Some(Row { star: line.starts_with("  * "), seconds, name: right.trim_start_matches(['#', ' ']) })
    }
}

/// The row with a star has the smallest time, or the remark below the table explains why it does not. This
/// holds for cuts and for buckets, chosen by the user or by the search, in the text and in the JSON. (The
/// text and the JSON come from two calls. The search for cuts is limited by time, so each call is compared
/// only with its own explanation.)
#[test]
fn the_star_is_the_fastest_or_says_why_not() {
    let keys = Keys::new();
    good(&["examples", "--write", &keys.file("")]);
    // The gain depends on the seconds for compiling a cut. These programs have gains just above and just
    // below the limit, on slow and on fast machines.
    let cases: [(String, &[&str]); 10] = [
        (keys.file("benchmarking.wir"), &[]),
        (keys.file("credit.wir"), &[]),
        (keys.file("join.wir"), &[]),
        (keys.file("hamming.wir"), &[]),
        (keys.file("edit_distance.wir"), &[]),
        (keys.file("vickrey.wir"), &["--cut", "whole"]),
        (example("aes-128-rounds.bwp"), &[]),
        (example("aes-128-rounds.bwp"), &["--cut", "given"]),
        (example("cbc-mac-16.bwp"), &["--cut", "whole"]),
        (example("cbc-mac-16.bwp"), &["--executions", "8", "--buckets", "standard"]),
    ];
    // The kinds of remarks that occurred.
    let mut met = BTreeSet::new();
    for (file, flags) in cases {
        let (human, plan) = good(&[&["plan", &file, "--protocol", "duplo"], flags].concat());
        for (heading, table, field) in [
            ("Cuts of the program", "decompositions", "cut_reason"),
            ("Buckets of", "alternatives", "buckets_reason"),
        ] {
            let Choices { rows, remark } = Choices::below(heading, &human);
            let least = rows.iter().map(|row| row.seconds).fold(f64::INFINITY, f64::min);
            let starred: Vec<&Row> = rows.iter().filter(|row| row.star).collect();
            let [star] = starred[..] else { panic!("{} stars: {human}", starred.len()) };
            assert!(star.seconds == least || remark.is_some(), "{file} {flags:?}: {human}");
            let is_alone = rows.iter().all(|row| row.star || row.seconds > star.seconds);
            assert!(!is_alone || remark.is_none(), "{file} {flags:?}: {human}");
            let fastest = rows.iter().find_map(|row| row.name.strip_suffix("   fastest"));
            let says = remark.map(|remark| match heading {
                _ if flags.iter().any(|flag| remark == format!("--cut says {flag}.")) => "a cut",
                _ if flags.contains(&"standard") && remark == "--buckets says standard." => "buckets",
                "Buckets of" => {
                    assert!(remark.starts_with("of those that take at most 10 % longer"), "{human}");
                    // The printed seconds have three digits.
                    assert!(star.seconds - 0.0005 <= 1.1 * (least + 0.0005), "{human}");
                    "fewer bytes"
                }
                _ if remark.contains(" is not found so soon; --cut ") => {
                    let fastest = fastest.expect("one is the fastest");
                    assert!(remark.contains(&format!("and {fastest} is not found so soon")), "{human}");
                    "no time"
                }
                _ => {
                    let fastest = fastest.expect("one is the fastest");
                    assert!(remark.contains(&format!("; {fastest} is predicted to take ")), "{human}");
                    assert!(
                        star.name == "given" && least + 0.0005 > 0.85 * (star.seconds - 0.0005),
                        "{human}"
                    );
                    "the error of predictions"
                }
            });
            met.extend(says);

            let rows = plan[table].as_array().expect("an array");
            let seconds = |row: &Value| row["seconds"].as_f64().expect("seconds");
            let least = rows.iter().map(seconds).fold(f64::INFINITY, f64::min);
            let starred: Vec<&Value> = rows.iter().filter(|row| row["chosen"] == true).collect();
            let [star] = starred[..] else { panic!("{plan}") };
            assert_eq!(seconds(star) > least, plan[field].is_string(), "{file} {flags:?}: {plan}");
            if heading == "Buckets of" && !flags.contains(&"standard") {
                let good = rows.iter().filter(|row| seconds(row) <= 1.1 * least);
                let fewest = good.map(|row| row["bytes"].as_u64().expect("bytes")).min();
                assert_eq!(star["bytes"].as_u64(), fewest, "{plan}");
            }
        }
    }
    let reasons = ["a cut", "buckets", "fewer bytes", "no time", "the error of predictions"];
    assert_eq!(met, BTreeSet::from(reasons));
    // If the user names a cut, the planner has no choice. The given cut is kept unless the gain is large.
    let plan = |cut: &str| good(&["plan", &example("cbc-mac-16.bwp"), "--cut", cut]).1;
    assert_eq!(plan("whole")["cut_reason"], "--cut says whole");
    assert_eq!((&plan("fastest")["cut"], &plan("given")["cut_reason"]), (&json!("given"), &Value::Null));
}

/// No run measures the machine, even with an empty cache, and a run leaves the cache empty.
#[test]
fn no_run_measures_the_machine() {
    let folder = TempDir::new().expect("a folder");
    let really = |arguments: &[&str]| {
        let mut command = brickwork(arguments);
        command.env("XDG_CACHE_HOME", folder.path()).output().expect("the command starts")
    };
    let small = example("millionaires.bwp");
    let rounds = example("aes-128-rounds.bwp");
    for arguments in [
        &["run", &small, "--garbler", "5", "--evaluator", "6", "--json"][..],
        &["run", &rounds, "--garbler", "1", "--evaluator", "2", "--json"],
        &["bench", "protocol", &small, "--rounds", "1", "--json"],
        &["bench", "cuts", &rounds, "--rounds", "1", "--json"],
    ] {
        let output = really(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("measuring"), "{}", text(&output.stderr));
        let report = object(&output);
        if arguments[1] != "cuts" {
            assert!(report["predicted"]["seconds"].as_f64() > Some(0.0), "predicted all the same: {report}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "{arguments:?}");
    }
    // A plan may measure the machine. The measurement is valid only for this kernel.
    let plan = really(&["plan", &small, "--json"]);
    assert!(text(&plan.stderr).contains("measuring this machine"), "{}", text(&plan.stderr));
    let kernel = object(&plan)["machine"]["kernel"].as_str().expect("a kernel").to_owned();
    assert_eq!(good(&["bench", "garbling", "--rounds", "1"]).1["kernel"], kernel);
    let kept: Vec<_> = std::fs::read_dir(folder.path().join("brickwork"))
        .expect("a folder")
        .map(|entry| entry.expect("a file").path())
        .collect();
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(kept.len() == 1 && name(&kept[0]).contains(&format!("-{kernel}-")), "{kept:?}");
    let other = std::fs::read_to_string(&kept[0]).expect("constants").replace(&kernel, "another-kernel");
    std::fs::write(&kept[0], other).expect("constants");
    let plan = really(&["plan", &small, "--json"]);
    assert!(text(&plan.stderr).contains("measuring this machine"), "those were another kernel's");
}

/// `bench protocol` runs the same cut as `run`, and names it.
#[test]
fn a_timed_protocol_names_its_cut() {
    let keys = Keys::new();
    good(&["examples", "vickrey", "-o", &keys.file("")]);
    let source = keys.file("vickrey.wir");
    let once = |flags: &[&str]| good(&[&["bench", "protocol", &source, "--rounds", "1"], flags].concat());
    for cut in ["given", "whole", "inline:*"] {
        let (human, json) = once(&["--cut", cut]);
        assert!(human.contains(&format!("\nCut: {cut}\n")) && json["cut"] == cut, "{human}");
    }
    let inputs = ["garbler", "evaluator"].map(|of| format!("@{}", keys.file(&format!("vickrey.{of}.json"))));
    let run = |flags: &[&str]| {
        good(&[&["run", &source, "--garbler", &inputs[0], "--evaluator", &inputs[1]], flags].concat()).1
    };
    // With a low bandwidth the bytes decide, so the load of the machine does not matter.
    let slow = ["--bandwidth", "20Mbit"];
    assert_eq!(once(&slow).1["cut"], run(&slow)["cut"]);
    assert_eq!(once(&[&slow[..], &["--cut", "fastest"]].concat()).1["cut"], run(&slow)["cut"]);
    bad(&["bench", "protocol", &source, "--cut", "thin"], 2, "thin");
}

/// Both cuts run, and the cut that a run would choose is compared with the given one.
#[test]
fn cuts_are_compared() {
    let file = example("aes-128-rounds.bwp");
    let whole = example("aes-128.bwp");
    let (human, json) = good(&["bench", "cuts", &file, &whole, "--rounds", "1"]);
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
    let none = good(&["bench", "cuts", &file, "--rounds", "1", "--longest", "0"]).1;
    assert!(none["rows"].as_array().is_some_and(Vec::is_empty), "{none}");
}

/// A run with the fastest cut computes the same function.
#[test]
fn a_run_takes_the_fastest_cut() {
    let keys = Keys::new();
    good(&["examples", "aes128_encrypt", "-o", &keys.file("")]);
    let (source, [x, y]) = (
        keys.file("aes128_encrypt.wir"),
        ["garbler", "evaluator"].map(|of| format!("@{}", keys.file(&format!("aes128_encrypt.{of}.json")))),
    );
    let inputs = ["--garbler", &x, "--evaluator", &y, "--protocol", "duplo"];
    let given = good(&[&["run", &source, "--cut", "given"], &inputs[..]].concat()).1;
    // With a low bandwidth the bytes decide, so the load of the machine does not matter.
    let cut = good(&[&["run", &source, "--bandwidth", "200Mbit"], &inputs[..]].concat()).1;
    assert_eq!(given["outputs"], cut["outputs"]);
    assert!(given["cut"] == "given" && cut["cut"] != "given", "{cut}");
    // The parties exchange exactly the predicted bytes.
    let bytes = |of: &Value| {
        of["phases"]
            .as_array()
            .map(|phases| phases.iter().map(|p| p["garbler_sent_bytes"].clone()).collect::<Vec<_>>())
    };
    assert_eq!(bytes(&cut), bytes(&cut["predicted"]));
    assert!(components_of(&cut).len() < components_of(&given).len(), "{cut}");
    bad(&[&["run", &source, "--cut", "thin"], &inputs[..]].concat(), 2, "thin");
}

/// Each row is measured once and stored as a line, or skipped with a reason. If a line is incomplete, its row
/// is measured again.
#[test]
fn the_papers_tables_are_reproduced() {
    let keys = Keys::new();
    let (results, drawing) = (keys.file("rows.jsonl"), keys.file("figures.svg"));
    let papers = |more: &[&str]| {
        good(
            &[
                &[
                    "bench",
                    "papers",
                    "figure2",
                    "table4",
                    "--largest",
                    "6400",
                    "--results",
                    &results,
                    "--quiet",
                ],
                more,
            ]
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
    let compared = good(&["bench", "papers", "plan", "--largest", "6400", "--results", &results, "--quiet"]);
    assert!(
        compared.0.contains("predicted by measured")
            && compared.1["rows"].as_array().map(Vec::len) == Some(3),
        "{}",
        compared.0
    );
    bad(&["bench", "papers", "table9"], 2, "table9");
}

/// The model covers sizes that no machine reaches, and with more slots a gate never costs more.
#[test]
fn cost_grows_as_the_model_says() {
    let keys = Keys::new();
    let (drawing, results) = (
        keys.file("scale.svg"),
        keys.write(
            "rows.jsonl",
            b"{\"key\": \"a row\", \"measured\": {\"and_gates\": 6400, \"seconds\": 0.1}}\n",
        ),
    );
    let (human, json) = good(&["bench", "scale", "--svg", &drawing, "--results", &results]);
    assert!(
        human.contains("AES-128")
            && std::fs::read_to_string(drawing).expect("a drawing").contains("measured: a row")
    );
    let rows = json["rows"].as_array().expect("an array");
    assert!(rows.iter().any(|row| row["and_gates"].as_f64() > Some(0.9e12)));
    let of = |row: &Value, field: &str| row[field].as_f64().expect("a number");
    for component in rows.chunk_by(|a, b| a["component"] == b["component"]) {
        // At a change to smaller buckets, more copies may be opened. How many depends on the machine.
        let copies: Vec<f64> = component.iter().map(|row| of(row, "copies_a_slot")).collect();
        assert!(copies.iter().all(|&copies| copies > 2.0) && copies.last() < copies.first(), "{copies:?}");
        assert!(
            component.windows(2).all(|pair| of(&pair[1], "seconds") > of(&pair[0], "seconds")),
            "{component:?}"
        );
    }
    assert_eq!(json["cores_and_links"].as_array().map(Vec::len), Some(20));
    bad(&["bench", "scale", "--results", &keys.file("none")], 3, "none");
}

/// A garbler with less memory than the program needs refuses before it begins.
#[test]
fn memory_is_limited() {
    let file = example("aes-128.bwp");
    let inputs = ["--garbler", "0", "--evaluator", "0"];
    bad(&[&["run", &file, "--max-ram", "1MiB"], &inputs[..]].concat(), 1, "--max-ram allows 1.0 MiB");
    bad(&[&["run", &file, "--max-ram", "7 elephants"], &inputs[..]].concat(), 2, "--max-ram");
    good(&[&["run", &file, "--max-ram", "1GiB"], &inputs[..]].concat());
}

#[test]
fn stock_is_timed() {
    let (human, json) = good(&["bench", "stock", &example("millionaires.bwp"), "--executions", "3"]);
    assert!(human.contains("connection standing") && human.contains("verified"), "{human}");
    assert_eq!(json["executions"], 3);
    // The online phase sends solderings, labels, and a proof of each party, but no table.
    assert!((5_000..25_000).contains(&json["online"]["bytes"].as_u64().expect("bytes")), "{json}");
    assert!(json["disk_bytes"]["garbler"].as_u64() < json["disk_bytes"]["evaluator"].as_u64());
}
