//! `plan`, `bench`, and the imitated link.

use serde_json::json;

use super::*;

#[test]
fn garbling_is_timed() {
    let (human, json) = good(&["bench", "garbling", "--rounds", "1", "--copies", "2"]);
    assert!(human.contains("6 400 AND gates, 2 copies"), "{human}");
    for field in ["garble_ns_per_and", "evaluate_ns_per_and", "check_ns_per_and", "seconds"] {
        assert!(json[field].as_f64().is_some_and(|ns| ns > 0.1), "{field}: {json}");
    }
    assert_eq!((json["and_gates"].as_u64(), json["copies"].as_u64()), (Some(6400), Some(2)));
    assert!(json["kernel"].is_string());
    bad(&["bench", "garbling", "--copies", "0"], 2, "--copies");
    bad(&["bench", "garbling", &example("alice.json")], 3, "alice.json");
}

#[test]
fn a_protocol_is_timed() {
    let file = example("millionaires.bwp");
    let (human, json) = good(&["bench", "protocol", &file, "--executions", "3", "--rounds", "2"]);
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

/// The phases that take a reply of the peer cannot be faster than the link, and bytes need their time.
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
    // No run can be faster than its link; how the time falls to the phases is another matter.
    let sum = |field: &str| {
        json["phases"].as_array().unwrap().iter().map(|phase| phase[field].as_f64().unwrap()).sum::<f64>()
    };
    let (seconds, bits) = (sum("seconds"), 8.0 * sum("garbler_sent_bytes"));
    assert!(seconds >= 5.0 * 0.03 && seconds >= 0.9 * bits / 4e6, "{json}");
    bad(&["run", &file, "--garbler", "5", "--evaluator", "6", "--rtt", "30"], 2, "--rtt");
    bad(&["run", &file, "--garbler", "5", "--evaluator", "6", "--bandwidth", "fast"], 2, "--bandwidth");
}

/// The plan says exactly which bytes a run then sends, and measures the machine once.
#[test]
fn a_plan_comes_true() {
    let folder = TempDir::new().expect("a folder");
    let file = example("millionaires.bwp");
    let plan = |more: &[&str]| {
        let mut command = brickwork(&[&["plan", &file, "--executions", "2", "--json"], more].concat());
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
    // The evaluator's clock starts when the garbler, who answered its handshake, has greeted half a round
    // trip before.
    assert!(
        second["seconds"].as_f64() > Some((second["round_trips"].as_f64().expect("a number") - 0.5) * 0.1)
    );
    assert!(second["seconds"].as_f64() > first["seconds"].as_f64());
    assert_eq!(first["disk_bytes"], 0);
    let alternatives = first["alternatives"].as_array().expect("an array");
    assert_eq!(alternatives.iter().filter(|other| other["chosen"] == true).count(), 1);
    assert!(std::fs::read_to_string(drawing).expect("a drawing").ends_with("</svg>\n"));

    // Both parties take the constants from there, too, and come to the same choice; and the standard one is
    // no other than that of a plan for it.
    let really = |more: &[&str]| {
        let arguments =
            ["run", &file, "--executions", "2", "--garbler", "[1, 2]", "--evaluator", "[2, 1]", "--json"];
        object(
            &brickwork(&[&arguments, more].concat())
                .env("XDG_CACHE_HOME", folder.path())
                .output()
                .expect("the command starts"),
        )
    };
    let standard = ["--buckets", "standard"];
    assert_eq!(object(&plan(&standard))["choice"], really(&standard)["security"]);
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
    assert_eq!(first["choice"], run["security"]);
    let seconds = |json: &Value| json["seconds"].as_f64().expect("seconds");
    assert!(
        (seconds(&first) / seconds(&run["predicted"]) - 1.0).abs() < 1e-9,
        "printed numbers are read with an error of a bit"
    );
    assert_eq!(first["memory_bytes"], run["predicted"]["memory_bytes"]);

    // What is in the cache is not believed blindly.
    let cache = std::fs::read_dir(folder.path().join("brickwork"))
        .expect("a folder")
        .next()
        .expect("a file")
        .expect("a file")
        .path();
    for nonsense in ["", "{}", "null", "[1e400]"] {
        std::fs::write(&cache, nonsense).expect("a file");
        assert!(text(&plan(&[]).stderr).contains("measuring this machine"), "{nonsense}");
    }
}

/// Other cuts of a source are those that `compile` gives with the flags that are shown; any program may be
/// one component.
#[test]
fn a_plan_tries_other_cuts() {
    let keys = Keys::new();
    good(&["examples", "aes128_encrypt", "-o", &keys.file("")]);
    let source = keys.file("aes128_encrypt.wir");
    let drawing = keys.file("cuts.svg");
    let (human, plan) = good(&["plan", &source, "--svg", &drawing]);
    assert!(human.contains("Cuts of the program") && human.contains("fastest"), "{human}");
    assert!(std::fs::read_to_string(drawing).expect("a drawing").contains("AND gates of a slot"));
    let cuts = plan["decompositions"].as_array().expect("an array");
    assert!(cuts.len() > 5, "{cuts:?}");
    assert_eq!(cuts.iter().filter(|cut| cut["given"] == true).count(), 1);
    let sizes: Vec<f64> =
        cuts.iter().map(|cut| cut["and_gates_a_slot"].as_f64().expect("a number")).collect();
    assert!(sizes.is_sorted() && sizes.last() == Some(&6400.0), "{sizes:?}");
    let compiled = keys.file("cut.bwp");
    for cut in cuts {
        let flags: Vec<&str> = cut["flags"]
            .as_str()
            .expect("flags")
            .split_whitespace()
            .map(|flag| flag.trim_matches('\''))
            .collect();
        good(&[&["compile", &source, "-o", &compiled], &flags[..]].concat());
        let name = cut["cut"].as_str().expect("a name");
        // The name of the cut travels, too.
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
        let given = good(&[&["plan", &compiled, "--cut", "given"], &standard[..]].concat()).1;
        let named = good(&[&["plan", &source, "--cut", name], &standard[..]].concat()).1;
        let length = if cut["given"] == true { 0 } else { name.len() as u64 };
        assert_eq!((bytes(&given) + length, &given["choice"]), (bytes(&named), &named["choice"]), "{name}");
        assert_eq!(named["cut"], name);
    }
    let chosen: Vec<&Value> = cuts.iter().filter(|cut| cut["chosen"] == true).collect();
    assert!(chosen.len() == 1 && chosen[0]["cut"] == plan["cut"], "{chosen:?}");
    // Hardly slower than the fastest, and of those it sends least.
    let [seconds, bytes] =
        ["seconds", "bytes"].map(|field| move |cut: &Value| cut[field].as_f64().expect("a number"));
    let (fastest, own) = (cuts.iter().map(seconds).fold(f64::INFINITY, f64::min), seconds(chosen[0]));
    assert!(
        own <= 1.1 * fastest
            && cuts.iter().all(|cut| seconds(cut) > 1.1 * fastest || bytes(cut) >= bytes(chosen[0])),
        "{cuts:?}"
    );
    let inlined = good(&["plan", &source, "--inline", "*"]).1;
    assert_eq!(
        (&inlined["cut"], inlined["choice"]["components"].as_array().map(Vec::len)),
        (&json!("inline:*"), Some(1))
    );
    bad(&["plan", &source, "--inline", "*", "--cut", "whole"], 2, "both say how");
    let one = good(&["plan", &example("aes-128.bwp")]).1;
    assert_eq!(one["decompositions"].as_array().map(Vec::len), Some(1), "it is one component already");
    let rounds = good(&["plan", &example("aes-128-rounds.bwp")]).1;
    assert_eq!(rounds["decompositions"].as_array().map(Vec::len), Some(2));
}

/// A run with the fastest cut is one of the same function.
#[test]
fn a_run_takes_the_fastest_cut() {
    let keys = Keys::new();
    good(&["examples", "aes128_encrypt", "-o", &keys.file("")]);
    let (source, [x, y]) = (
        keys.file("aes128_encrypt.wir"),
        ["garbler", "evaluator"].map(|of| format!("@{}", keys.file(&format!("aes128_encrypt.{of}.json")))),
    );
    let inputs = ["--garbler", &x, "--evaluator", &y];
    let given = good(&[&["run", &source, "--cut", "given"], &inputs[..]].concat()).1;
    // Where bytes count, so that it is no matter how busy the machine is.
    let cut = good(&[&["run", &source, "--bandwidth", "200Mbit"], &inputs[..]].concat()).1;
    assert_eq!(given["outputs"], cut["outputs"]);
    assert!(given["cut"] == "given" && cut["cut"] != "given", "{cut}");
    // What is predicted is what both parties then exchange.
    let bytes = |of: &Value| {
        of["phases"]
            .as_array()
            .map(|phases| phases.iter().map(|p| p["garbler_sent_bytes"].clone()).collect::<Vec<_>>())
    };
    assert_eq!(bytes(&cut), bytes(&cut["predicted"]));
    let components = |run: &Value| run["security"]["components"].as_array().map(Vec::len);
    assert!(components(&cut) < components(&given), "{cut}");
    bad(&[&["run", &source, "--cut", "thin"], &inputs[..]].concat(), 2, "thin");
}

/// Rows are measured once, kept line by line, and skipped with a reason; a line that was cut off is measured
/// again.
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

/// The model goes on where no machine does, and with more slots no gate costs more.
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
        // Where a smaller bucket takes over, it may have more copies opened: how many, the machine decides.
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

/// A garbler that may not take so much memory says so before it begins.
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
    // Joints, labels, and one proof of both: no table.
    assert!((5_000..25_000).contains(&json["online"]["bytes"].as_u64().expect("bytes")), "{json}");
    assert!(json["disk_bytes"]["garbler"].as_u64() < json["disk_bytes"]["evaluator"].as_u64());
}
