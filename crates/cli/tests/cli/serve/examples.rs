//! Tests the files in `examples/serve`: configurations, a systemd unit, a container file, manifests for
//! Kubernetes, alerts and a dashboard.

use std::collections::BTreeSet;

use super::*;

fn read(name: &str) -> String {
    std::fs::read_to_string(example(&format!("serve/{name}"))).expect("an example")
}

/// Both configurations are used as they are, except for addresses. The two services connect, make stock, and
/// answer.
#[test]
fn configurations() {
    let pair = Pair::new(["", ""]);
    std::fs::create_dir(pair.keys.file("serve")).expect("a folder");
    std::fs::copy(example("millionaires.bwp"), pair.keys.file("millionaires.bwp")).expect("a copy");
    for name in ["garbler.key", "evaluator.key", "token", "store.key"] {
        let file = pair.keys.file(&format!("serve/{name}"));
        std::fs::copy(pair.keys.file(name), &file).expect("a copy");
        private(&file);
    }
    pair.keys.write("serve/garbler.pub", format!("{}\n", pair.keys.garbler).as_bytes());
    pair.keys.write("serve/evaluator.pub", format!("{}\n", pair.keys.evaluator).as_bytes());
    pair.keys.write("serve/wealth.json", b"500");
    let serve = |name: &str, changes: [(&str, &str); 2]| {
        let text = changes.iter().fold(read(&format!("{name}.toml")), |text, (from, to)| {
            assert_eq!(text.matches(from).count(), 1, "{from} in {text}");
            text.replace(from, to)
        });
        let config = pair.keys.write(&format!("serve/{name}.toml"), text.as_bytes());
        let (store, key) =
            (pair.keys.file(&format!("serve/{name}.store")), pair.keys.file("serve/store.key"));
        let mut child =
            start(&["serve", "--json", "--config", &config, "--store", &store, "--store-key", &key]);
        let said = line(child.stderr.as_mut().expect("a pipe"));
        let http = said.strip_prefix("requests are taken at ").expect(&said).parse().expect("an address");
        let listening = (name == "garbler").then(|| address(&mut child));
        Service { child: Some(child), http, listening }
    };
    let garbler = serve("garbler", [("0.0.0.0:7000", "127.0.0.1:0"), ("127.0.0.1:8080", "127.0.0.1:0")]);
    let at = garbler.listening.clone().expect("it listens");
    let evaluator = serve("evaluator", [("garbler.example:7000", &at), ("127.0.0.1:8081", "127.0.0.1:0")]);
    garbler.stocked("richer", 100);
    let (token, at) = (pair.keys.file("serve/token"), garbler.http.to_string());
    let (_, report) = good(&["request", "richer", "--input", "700", "--at", &at, "--token", &token]);
    assert_eq!(report["outputs"], richer(700, 500));
    evaluator.stop();
    garbler.stop();
    let learned = std::fs::read_to_string(pair.keys.file("serve/learned.jsonl")).expect("what it learned");
    assert_eq!(learned.lines().count(), 2, "{learned}");
}

/// Checks that the command knows these arguments: it fails only because the configuration does not exist.
fn is_a_command(words: &[&str]) {
    assert!(words.contains(&"serve") && words.contains(&"--config"), "{words:?}");
    let log = TempDir::new().expect("a folder");
    let log = path(&log.path().join("log"));
    let words: Vec<&str> =
        words.iter().map(|word| if *word == "/var/lib/brickwork/log" { &log } else { *word }).collect();
    let output = run(&words);
    assert_eq!(output.status.code(), Some(3), "{words:?}: {}", text(&output.stderr));
    assert!(text(&output.stderr).contains("serve.toml"), "{}", text(&output.stderr));
}

/// The unit starts the command with known flags, and gives a run enough time to end. If systemd is installed,
/// it accepts the unit.
#[test]
fn a_systemd_unit() {
    let unit = read("brickwork.service").replace("\\\n", " ");
    let value = |key: &str| {
        let found = unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("no {key}"))
    };
    let words: Vec<&str> = value("ExecStart").split_whitespace().collect();
    assert_eq!(words[0], "/usr/local/bin/brickwork");
    is_a_command(&words[1..]);
    assert_eq!(value("ExecReload"), "/bin/kill -HUP $MAINPID");
    let page = std::fs::read_to_string(example("../docs/guides/serve.md")).expect("a page");
    let seconds = page.lines().find_map(|line| line.strip_prefix("* `run_seconds` (")).expect("its line");
    let seconds: u64 = seconds.split(')').next().and_then(|text| text.parse().ok()).expect("a number");
    // As docs/guides/serve.md promises, the service does not connect again to a peer that cheated.
    assert_eq!((value("Restart"), value("RestartPreventExitStatus")), ("on-failure", "5"));
    assert!(value("TimeoutStopSec").parse::<u64>().expect("seconds") > seconds);

    let is_there = Command::new("systemd-analyze").arg("--version").output();
    if !is_there.is_ok_and(|output| output.status.success()) {
        eprintln!("not verified by systemd-analyze, which is not here");
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let verified = |unit: &str| {
        // systemd checks that the command exists, so the path is replaced by that of the built command.
        let file = folder.path().join("brickwork.service");
        let unit = unit.replace("/usr/local/bin/brickwork", env!("CARGO_BIN_EXE_brickwork"));
        std::fs::write(&file, unit).expect("a file");
        let output = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output();
        let output = output.expect("it starts");
        (output.status.success(), text(&output.stderr))
    };
    let right = read("brickwork.service");
    let (success, said) = verified(&right);
    assert!(success && said.is_empty(), "{said}");
    assert!(!verified(&right.replace("NoNewPrivileges", "NoOldPrivileges")).1.is_empty(), "it looks at it");
}

/// The container starts the command from the project's image, with known flags, and as a user that is not
/// root.
#[test]
fn a_container_file() {
    let file = read("Containerfile").replace("\\\n", " ");
    let line = |key: &str| file.lines().find_map(|line| line.strip_prefix(key)).expect(key).trim();
    let entry: Vec<String> = serde_json::from_str(line("ENTRYPOINT ")).expect("a list");
    let words: Vec<&str> = entry.iter().map(String::as_str).collect();
    let image = std::fs::read_to_string(example("../Containerfile")).expect("the project's file");
    let placed = format!("COPY --from=build /brickwork/target/release/brickwork {}\n", words[0]);
    assert!(image.contains(&placed), "{placed}");
    is_a_command(&words[1..]);
    assert_ne!(line("USER "), "0");
    assert_eq!(line("STOPSIGNAL "), "SIGTERM");
    // The port is the one in the example's configuration.
    assert!(read("garbler.toml").contains(&format!(":{}\"", line("EXPOSE "))));
}

/// Returns the metrics that a text names, without the suffixes of a histogram.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = words.filter(|word| word.starts_with("brickwork_"));
    names.map(|name| name.trim_end_matches("_bucket").to_owned()).collect()
}

/// The alerts and the dashboard use only metrics that the guide describes, and another test compares the
/// guide with the service. The guide for operators explains every alert.
#[test]
fn alerts_and_a_dashboard() {
    let page =
        |name: &str| std::fs::read_to_string(example(&format!("../docs/guides/{name}"))).expect("a page");
    let described = metrics_in(&page("serve.md"));
    let (alerts, dashboard) = (read("alerts.yaml"), read("dashboard.json"));
    for text in [&alerts, &dashboard] {
        let unknown: Vec<_> = metrics_in(text).difference(&described).cloned().collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
    // Every metric is shown.
    let missing: Vec<_> = described.difference(&metrics_in(&dashboard)).cloned().collect();
    assert!(missing.is_empty(), "{missing:?}");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
    assert!(dashboard["panels"].as_array().is_some_and(|panels| panels.len() > 10));
    let operations = page("operations.md");
    let names: Vec<&str> = alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(operations.contains(&format!("`{name}`")), "docs/guides/operations.md lacks {name}");
    }
}

/// The manifests run the image of the container file with known flags, ask for its health with known
/// commands, and give a run enough time to end. If Python's YAML reader is installed, it can read them.
#[test]
fn kubernetes() {
    let manifests = read("kubernetes.yaml");
    let value = |key: &str| {
        let found = manifests.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": "));
        found.unwrap_or_else(|| panic!("no {key}")).split(" #").next().unwrap_or_default().trim()
    };
    let list = |text: &str| -> Vec<String> {
        let words = text.trim_matches(['[', ']', '}']).split(", ");
        words.map(|word| word.trim_matches(['"', ']']).to_owned()).collect()
    };
    let container = read("Containerfile").replace("\\\n", " ");
    let line = |key: &str| container.lines().find_map(|line| line.strip_prefix(key)).expect(key).trim();
    let mut words: Vec<String> = serde_json::from_str(line("ENTRYPOINT ")).expect("a list");
    let folder = TempDir::new().expect("a folder");
    let audit = path(&folder.path().join("audit"));
    let own = |word: String| if word.ends_with("/audit") { audit.clone() } else { word };
    words.extend(list(value("args")).into_iter().map(own));
    is_a_command(&words[1..].iter().map(String::as_str).collect::<Vec<_>>());
    let probes: Vec<&str> =
        manifests.lines().filter_map(|line| line.split("exec: {command: ").nth(1)).collect();
    assert_eq!(probes.len(), 2);
    for probe in probes {
        let words = list(probe);
        assert_eq!(words[0], "/brickwork");
        let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        assert_eq!(run(&words).status.code(), Some(4), "{words:?}");
    }
    assert!(manifests.contains(&format!("runAsUser: {},", line("USER "))));
    assert!(manifests.contains(&format!("containerPort: {},", line("EXPOSE "))));
    assert_eq!(value("replicas"), "1");
    assert!(value("terminationGracePeriodSeconds").parse::<u64>().expect("seconds") > 300);
    for file in ["kubernetes.yaml", "alerts.yaml"] {
        let script = "import sys, yaml; print(len([d for d in yaml.safe_load_all(open(sys.argv[1])) if d]))";
        let file = example(&format!("serve/{file}"));
        match Command::new("python3").args(["-c", script, &file]).output() {
            Ok(output) if output.status.success() => assert_ne!(text(&output.stdout).trim(), "0"),
            Ok(output) if !text(&output.stderr).contains("No module named") => {
                panic!("{file}: {}", text(&output.stderr))
            }
            _ => eprintln!("{file} is not read by Python's YAML reader, which is not here"),
        }
    }
}
