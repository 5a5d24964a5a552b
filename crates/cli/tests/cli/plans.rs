//! Tests `plan`, and the simulated network.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;

/// The proposal is secure against the requested kind of peer, and is the fastest or nearly so; each candidate
/// has the same numbers as in a `plan` of its own. The link decides: bytes cost on a slow line, round trips
/// on a long one.
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
        // The end of the reason names a time that includes a search for cuts, so it differs each time.
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
        (["--lanes", "2"], "--lanes has no effect"),
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
    assert_eq!(json["outputs"]["evaluator"], json!({ "alice": 0, "bob": 1 }), "{json}");
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
    assert_eq!(first["disk_bytes"], json!({"garbler": 0, "evaluator": 0}));
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
    // The test tries every second cut, and also the given cut and the chosen one.
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
    bad(&["plan", &source, "--inline", "*", "--cut", "whole"], 2, "both choose a cut");
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
/// holds for cuts and for buckets, if the user or the search chose them, in the text and in the JSON. (The
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
                _ if flags.iter().any(|flag| remark == format!("the user asked for --cut {flag}.")) => {
                    "a cut"
                }
                _ if flags.contains(&"standard") && remark == "the user asked for --buckets standard." => {
                    "buckets"
                }
                "Buckets of" => {
                    assert!(remark.contains("of all that take at most 10 % longer"), "{human}");
                    // The printed seconds have three digits.
                    assert!(star.seconds - 0.0005 <= 1.1 * (least + 0.0005), "{human}");
                    "fewer bytes"
                }
                _ if remark.contains(" ends before it finds ") => {
                    let fastest = fastest.expect("one is the fastest");
                    assert!(remark.contains(&format!("ends before it finds {fastest}")), "{human}");
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
    assert_eq!(plan("whole")["cut_reason"], "the user asked for --cut whole");
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
    ] {
        let output = really(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("measuring"), "{}", text(&output.stderr));
        let report = object(&output);
        assert!(report["predicted"]["seconds"].as_f64() > Some(0.0), "predicted all the same: {report}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "{arguments:?}");
    }
    // A plan may measure the machine. The measurement is valid only for this kernel.
    let plan = really(&["plan", &small, "--json"]);
    assert!(text(&plan.stderr).contains("measuring this machine"), "{}", text(&plan.stderr));
    let kernel = object(&plan)["machine"]["kernel"].as_str().expect("a kernel").to_owned();
    assert_eq!(Kernel::best().name(), kernel);
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

/// A garbler whose memory is limited below the need of the program refuses before it begins.
#[test]
fn memory_is_limited() {
    let file = example("aes-128.bwp");
    let inputs = ["--garbler", "0", "--evaluator", "0"];
    bad(&[&["run", &file, "--max-ram", "1MiB"], &inputs[..]].concat(), 1, "--max-ram allows only 1.0 MiB");
    bad(&[&["run", &file, "--max-ram", "7 elephants"], &inputs[..]].concat(), 2, "--max-ram");
    good(&[&["run", &file, "--max-ram", "1GiB"], &inputs[..]].concat());
}
