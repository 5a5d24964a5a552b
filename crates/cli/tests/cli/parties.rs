//! Tests `garbler`, `evaluator` and `run`: whole computations, and everything that can go wrong between two
//! parties.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use brickwork::circuit::Party;
use brickwork::wire::tls::{self, Identity};
use brickwork::wire::{Channel, Tag};
use serde_json::json;

use super::*;

/// A party in a test: both parties' keys, its role, its program file and its input.
pub struct Side<'k> {
    pub keys: &'k Keys,
    pub role: &'static str,
    pub file: String,
    pub input: &'static str,
}

impl<'k> Side<'k> {
    pub fn garbler(keys: &'k Keys) -> Self {
        Side { keys, role: "garbler", file: example("millionaires.bwp"), input: "1000000" }
    }

    pub fn evaluator(keys: &'k Keys) -> Self {
        Side { keys, role: "evaluator", file: example("millionaires.bwp"), input: "1250000" }
    }

    pub fn arguments(&self, more: &[&str]) -> Vec<String> {
        let (own, peer) = match self.role {
            "garbler" => ("garbler.key", &self.keys.evaluator),
            _ => ("evaluator.key", &self.keys.garbler),
        };
        let fixed = [
            self.role,
            &self.file,
            "--identity",
            &self.keys.file(own),
            "--peer",
            peer,
            "--input",
            self.input,
        ];
        fixed.iter().chain(more).map(|s| s.to_string()).collect()
    }

    pub fn start(&self, more: &[&str]) -> Child {
        start(&self.arguments(more).iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Starts the party as the listening side. Returns the process and its address.
    pub fn listen(&self, more: &[&str]) -> (Child, String) {
        let mut child = self.start(&[&["--listen", "127.0.0.1:0"], more].concat());
        let address = address(&mut child);
        (child, address)
    }

    pub fn connect(&self, address: &str, more: &[&str]) -> Output {
        finish(self.start(&[&["--connect", address], more].concat()))
    }

    pub fn bad(&self, more: &[&str], code: i32, words: &str) {
        bad(&self.arguments(more).iter().map(String::as_str).collect::<Vec<_>>(), code, words);
    }
}

fn check_result(output: &Output, role: &str) {
    check_ran(output, role, "authenticated", &["setup", "preprocess", "build", "evaluate", "decode"]);
}

/// Checks that a run succeeded by this protocol, which has these phases.
fn check_ran(output: &Output, role: &str, protocol: &str, phases: &[&str]) {
    let json = object(output);
    assert_eq!(output.status.code(), Some(0), "{json} {}", text(&output.stderr));
    assert_eq!(json["role"], role);
    assert_eq!(json["outputs"][role], json!({ "alice": 0, "bob": 1 }));
    assert_eq!(json["output_bits"][role], "01");
    assert_eq!(json["protocol"], protocol);
    assert_eq!(json["and_gates"], 64);
    assert_eq!(json["promise"]["statistical_bits"], 40);
    let names: Vec<_> =
        json["phases"].as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, phases);
}

/// The evaluator refuses a proposal that would take too much memory.
#[test]
fn an_evaluator_has_limits() {
    let keys = Keys::new();
    let (listening, address) = Side::garbler(&keys).listen(&["--json", "--timeout", "60"]);
    // The garbler takes the protocol that the evaluator accepts, and makes a new proposal for it.
    let flags = ["--json", "--max-ram", "1MiB", "--protocol", "duplo"];
    is_error(&Side::evaluator(&keys).connect(&address, &flags), 7, "memory");
    // Both parties report the same reason.
    is_error(&finish(listening), 7, "memory at the evaluator");
}

/// A source that can be cut in several ways.
pub const MAXIMUM: &str = "
    #parties 2
    typedef uint_t 8 byte
    #input 1 byte
    #input 2 byte
    #output 1 byte
    #output 2 byte
    function byte square(byte a) { return a * a; }
    function byte larger(byte a, byte b) { byte m = a; if (a < b) m = b; return m; }
    function void main() { byte m = larger(square(input1), square(input2)); output1 = m; output2 = m; }
";

/// The garbler proposes a cut. The evaluator makes the same cut of its own file, or refuses it.
#[test]
fn a_cut_is_proposed_and_made_by_both() {
    let keys = Keys::new();
    let source = keys.write("maximum.wir", MAXIMUM.as_bytes());
    let compiled = keys.file("maximum.bwp");
    good(&["compile", &source, "--quiet"]);
    let side = |role, file: &str, input| Side { keys: &keys, role, file: file.to_owned(), input };
    let meet = |files: [&str; 2], flags: [&[&str]; 2]| {
        let (garbler, evaluator) = (side("garbler", files[0], "12"), side("evaluator", files[1], "10"));
        let (listening, address) =
            garbler.listen(&[&["--json", "--timeout", "60", "--protocol", "duplo"], flags[0]].concat());
        let connected = evaluator.connect(&address, &[&["--json", "--timeout", "60"], flags[1]].concat());
        [finish(listening), connected]
    };
    let (both, mixed) = ([&*source, &*source], [&*source, &*compiled]);
    for (files, flags, cut, components) in [
        (both, [&["--cut", "inline:*"][..], &[]], "inline:*", 1),
        (both, [&["--cut", "inline:square"], &["--cut", "inline:square"]], "inline:square", 2),
        (both, [&["--cut", "given"], &[]], "given", 2),
        (mixed, [&["--cut", "given"], &["--cut", "given"]], "given", 2),
        (mixed, [&["--cut", "whole"], &[]], "whole", 1),
    ] {
        for (role, output) in ["garbler", "evaluator"].into_iter().zip(meet(files, flags)) {
            let json = object(&output);
            assert_eq!(
                (output.status.code(), &json["outputs"][role], &json["cut"]),
                (Some(0), &json!(144), &json!(cut)),
                "{json}"
            );
            assert_eq!(components_of(&json).len(), components);
        }
    }
    for (files, flags, why) in [
        (both, [&["--cut", "inline:*"][..], &["--cut", "given"][..]], "wants --cut given"),
        (both, [&["--cut", "given"], &["--cut", "whole"]], "wants --cut whole"),
        (
            both,
            [&["--cut", "component:square,component:larger"], &["--cut", "inline:square"]],
            "wants --cut inline:square",
        ),
        (mixed, [&["--cut", "inline:*"], &[]], "already compiled"),
    ] {
        let [garbler, evaluator] = meet(files, flags);
        is_error(&evaluator, 7, why);
        is_error(&garbler, 7, why);
    }
}

#[test]
fn two_parties_compute_whoever_listens() {
    let keys = Keys::new();
    let (garbler, evaluator) = (Side::garbler(&keys), Side::evaluator(&keys));
    for (first, second) in [(&garbler, &evaluator), (&evaluator, &garbler)] {
        let (listening, address) = first.listen(&["--json", "--timeout", "60"]);
        check_result(&second.connect(&address, &["--json", "--timeout", "60"]), second.role);
        check_result(&finish(listening), first.role);
        // If a flag has an effect for one protocol only, this party accepts only that protocol, so both run
        // it.
        let (listening, address) = first.listen(&["--json", "--timeout", "60"]);
        let connected = second.connect(&address, &["--json", "--lanes", "2", "--timeout", "60"]);
        for (output, role) in [(connected, second.role), (finish(listening), first.role)] {
            let phases = ["setup", "preprocess", "prepare", "build", "evaluate", "decode"];
            check_ran(&output, role, "duplo", &phases);
        }
    }
}

/// Recovering a cheating garbler's input may depend on the evaluator's own input. So no output shows it. A
/// note is written only if the evaluator's user asks for it, and then in every run.
#[test]
fn what_an_evaluator_recovers_stands_in_its_notes_alone() {
    let keys = Keys::new();
    let noted = keys.file("notes");
    let notes = || -> Vec<Value> {
        let text = std::fs::read_to_string(&noted).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (garbler, evaluator) = (Side::garbler(&keys), Side::evaluator(&keys));
    let (listening, address) = garbler.listen(&["--json", "--timeout", "60"]);
    let connected = evaluator.connect(&address, &["--json", "--timeout", "60", "--recovery-notes", &noted]);
    check_result(&connected, "evaluator");
    for output in [connected, finish(listening)] {
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(!said.contains("recover"), "{said}");
    }
    assert_eq!(notes().len(), 1);
    assert_eq!((&notes()[0]["recovered"], &notes()[0]["garbler"]), (&json!(0), &json!(keys.garbler)));
    // `run` passes the file to its evaluator. Without the flag no note is written.
    let file = example("millionaires.bwp");
    let both = ["run", &file, "--garbler", "5", "--evaluator", "6"];
    let (human, json) = good(&[&both[..], &["--recovery-notes", &noted]].concat());
    assert!(!human.contains("recover") && !json.to_string().contains("recover"), "{human} {json}");
    // `good` runs the command twice, so there are two more notes.
    assert_eq!(notes().len(), 3);
    good(&both);
    assert_eq!(notes().len(), 3);
    assert!(notes().iter().all(|note| note["program"] == notes()[0]["program"] && note["recovered"] == 0));
    #[cfg(unix)]
    {
        assert_eq!(mode(&noted), 0o600);
        set_mode(&noted, 0o644);
        let flags = ["--connect", "127.0.0.1:1", "--timeout", "1", "--recovery-notes", &noted];
        evaluator.bad(&flags, 3, "other users can read");
    }
    garbler.bad(&["--listen", "127.0.0.1:0", "--recovery-notes", &noted], 2, "--recovery-notes");
    evaluator.bad(&["--connect", "127.0.0.1:1", "--recovery-notes", "no/such/folder"], 1, "cannot write");
}

#[test]
fn run_starts_both_parties() {
    let (file, alice, bob) = (
        example("millionaires.bwp"),
        format!("@{}", example("alice.json")),
        format!("@{}", example("bob.json")),
    );
    let (human, json) = good(&["run", &file, "--garbler", &alice, "--evaluator", &bob]);
    assert!(
        human.contains("The evaluator learns {\"alice\":1,\"bob\":0}")
            && human.contains("Security: malicious"),
        "{human}"
    );
    assert_eq!(json["outputs"]["garbler"], json!({ "alice": 1, "bob": 0 }));
    assert_eq!(json["output_bits"], json!({ "garbler": "10", "evaluator": "10" }));
    assert_eq!(json["promise"]["statistical_bits"], 40);
    assert!(json["promise"]["bound_log2"].as_f64().unwrap() <= -40.0, "{json}");
    for phase in json["phases"].as_array().unwrap() {
        assert!(
            phase["seconds"].is_number()
                && phase["garbler_sent_bytes"].is_u64()
                && phase["evaluator_sent_bytes"].is_u64()
        );
    }
    let executions = [
        "run",
        &file,
        "--executions",
        "2",
        "--garbler",
        "[5,6]",
        "--evaluator",
        "[6,5]",
        "--lanes",
        "2",
        "--json",
    ];
    assert_eq!(object(&run(&executions))["output_bits"]["evaluator"], "0110");
    bad(&["run", &file, "--garbler", "1"], 2, "needs an input of the evaluator");
    bad(&["run", &file, "--garbler", "x", "--evaluator", "1"], 3, "not JSON");
    bad(&["run", "no-such-file"], 3, "cannot read");
}

#[test]
fn strangers_are_refused_and_the_listener_waits_on() {
    let keys = Keys::new();
    let stranger = Keys::new();
    let (listening, address) = Side::garbler(&keys).listen(&["--json", "--timeout", "60"]);
    let _silent = TcpStream::connect(&address).unwrap();
    TcpStream::connect(&address).unwrap().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    // The first key belongs to a stranger; in the second case the peer expects another key.
    let (wrong, unknown) = (keys.file("evaluator.key"), stranger.file("evaluator.key"));
    for (identity, peer) in [(&unknown, &keys.garbler), (&wrong, &stranger.garbler)] {
        let file = example("millionaires.bwp");
        let fixed = [
            "evaluator",
            &file,
            "--connect",
            &address,
            "--identity",
            identity,
            "--peer",
            peer,
            "--input",
            "1",
        ];
        bad(&fixed, 4, "key");
    }
    // Many refused connections do not fill the log: only some per minute have a line, and the others are
    // counted.
    for _ in 0..40 {
        TcpStream::connect(&address).unwrap().write_all(b"rubbish").unwrap();
    }
    check_result(&Side::evaluator(&keys).connect(&address, &["--json", "--timeout", "60"]), "evaluator");
    let output = finish(listening);
    check_result(&output, "garbler");
    let log = text(&output.stderr);
    let refused = log.matches("refused the connection from 127.0.0.1").count();
    assert!((3..=10).contains(&refused), "{refused} lines: {log}");
}

#[test]
fn what_differs_is_code_7_on_both_sides() {
    let keys = Keys::new();
    let (garbler, evaluator) = (Side::garbler(&keys), Side::evaluator(&keys));
    let other = Side { file: example("matrix-product-16x16.bwp"), input: "@", ..Side::evaluator(&keys) };
    let value = format!("@{}", example("matrix-product-16x16.evaluator.json"));
    let other_arguments = |address: &str| {
        let mut arguments = other.arguments(&["--json", "--connect", address]);
        let place = arguments.iter().position(|a| a == "@").unwrap();
        arguments[place] = value.clone();
        arguments
    };
    let (listening, address) = garbler.listen(&["--json"]);
    let connected = run(&other_arguments(&address).iter().map(String::as_str).collect::<Vec<_>>());
    is_error(&connected, 7, "");
    is_error(&finish(listening), 7, "");

    let (listening, address) = garbler.listen(&["--json"]);
    is_error(&evaluator.connect(&address, &["--json", "--security", "64"]), 7, "security");
    is_error(&finish(listening), 7, "security");
}

/// With `--keep` a listener refuses peers that do not fit, and continues to wait. Such a peer has another
/// program, other flags, another cut, or the same role. Each peer gets the reason. Then a peer fits, and the
/// listener ends with this run.
#[test]
fn a_kept_listener_waits_for_the_peer_that_fits() {
    let keys = Keys::new();
    let (garbler, evaluator) = (Side::garbler(&keys), Side::evaluator(&keys));
    for (first, second) in [(&garbler, &evaluator), (&evaluator, &garbler)] {
        let log = keys.file(&format!("{}.log", first.role));
        let flags = ["--keep", "--json", "--timeout", "60", "--log", &log, "--cut", "given"];
        let (mut listening, address) = first.listen(&flags);
        let connect = |more: &[&str], why: &str| {
            is_error(&second.connect(&address, &[&["--json", "--timeout", "60"], more].concat()), 7, why);
        };
        connect(&["--security", "64"], "--security 64");
        let once = Side { keys: &keys, role: second.role, file: second.file.clone(), input: "[5]" };
        is_error(&once.connect(&address, &["--json", "--executions", "1"]), 7, "--executions 1");
        connect(&["--cut", "whole"], "--cut");
        let key = keys.write("store.key", "5e".repeat(32).as_bytes());
        private(&key);
        connect(&["--store", &keys.file("stock"), "--store-key", &key], "--store");
        let source = keys.write("other.wir", MAXIMUM.as_bytes());
        let other = Side { keys: &keys, role: second.role, file: source, input: "7" };
        is_error(&other.connect(&address, &["--json"]), 7, "different programs");
        let mut arguments = first.arguments(&["--connect", &address, "--json"]);
        // The peer has the same role, and the other party's key.
        let own = ["--identity", "--peer"].map(|flag| arguments.iter().position(|a| a == flag).unwrap() + 1);
        let honest = second.arguments(&[]);
        own.into_iter().for_each(|place| arguments[place] = honest[place].clone());
        let same = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        is_error(&same, 7, &format!("both parties run as the {}", first.role));
        assert!(listening.try_wait().unwrap().is_none(), "it waits on");
        check_result(&second.connect(&address, &["--json", "--timeout", "60"]), second.role);
        let output = finish(listening);
        check_result(&output, first.role);
        let stderr = text(&output.stderr);
        let file = std::fs::read_to_string(&log).unwrap();
        for log in [&stderr, &file] {
            assert_eq!(log.matches("refused the peer").count(), 6, "{log}");
            for why in [
                "--security 64",
                "--executions",
                "--cut",
                "--store",
                "different programs",
                "both parties run as",
            ] {
                assert!(log.contains(why), "{why}: {log}");
            }
            assert!(!log.contains('\u{1b}'), "no colours: {log}");
        }
        // The lines of the file have times and are in order. The file also contains the messages of stderr.
        assert!(file.contains("waiting for the peer at"), "{file}");
        let times: Vec<&str> = file.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
        assert!(times.iter().all(|time| time.len() > 19 && time.ends_with('Z')), "{file}");
        assert!(times.is_sorted(), "{file}");
    }
    garbler.bad(&["--keep", "--connect", "127.0.0.1:1"], 2, "--keep");
}

/// Without `--keep`, the first peer that does not fit ends the listener. With it, a peer that cheats or
/// leaves during a run ends it, too.
#[test]
fn a_kept_listener_does_not_begin_twice() {
    let keys = Keys::new();
    let (listening, address) = Side::garbler(&keys).listen(&["--json", "--keep"]);
    let mut channel = puppet(&keys, &address);
    channel.send(Tag(200), b"nonsense").unwrap();
    channel.flush().unwrap();
    is_error(&finish(listening), 5, "the peer cheated");
    let (listening, address) = Side::garbler(&keys).listen(&["--json", "--keep"]);
    drop(puppet(&keys, &address));
    is_error(&finish(listening), 4, "closed the connection");
}

/// `--quiet` leaves out the tables of phases, but not the result and the promise.
#[test]
fn quiet_leaves_the_tables_of_phases_out() {
    let file = example("millionaires.bwp");
    let arguments = ["run", &file, "--garbler", "5", "--evaluator", "6"];
    let loud = text(&run(&arguments).stdout);
    let quiet = text(&run(&[&arguments[..], &["--quiet"]].concat()).stdout);
    assert!(loud.contains("preprocess") && !quiet.contains("preprocess"), "{quiet}");
    assert!(quiet.contains("The evaluator learns") && quiet.contains("Security:"), "{quiet}");
}

#[test]
fn two_garblers_do_not_get_along() {
    let keys = Keys::new();
    let (listening, address) = Side::garbler(&keys).listen(&["--json"]);
    let file = example("millionaires.bwp");
    let identity = keys.file("evaluator.key");
    let second = run(&[
        "garbler",
        &file,
        "--connect",
        &address,
        "--identity",
        &identity,
        "--peer",
        &keys.garbler,
        "--input",
        "1",
        "--json",
    ]);
    is_error(&second, 7, "both parties run as the garbler");
    is_error(&finish(listening), 7, "both parties run as the garbler");
}

#[test]
fn no_peer_and_no_port_are_code_4() {
    let keys = Keys::new();
    // Only a privileged process can listen at port 1, so nobody does.
    // The log file gets the error, too, wherever the error is printed.
    let (nobody, log) = ("127.0.0.1:1", keys.file("log"));
    let flags = ["--timeout", "1", "--log", &log];
    // The command runs twice: its error is printed as text and as JSON.
    Side::garbler(&keys).bad(&[&["--connect", nobody][..], &flags].concat(), 4, "the peer did not answer");
    let log = std::fs::read_to_string(&log).unwrap();
    assert_eq!(log.matches(" ERROR connection: the peer did not answer").count(), 2, "{log}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    Side::garbler(&keys).bad(&["--listen", &address], 4, "cannot listen");
    // A process listens at this address and never sends anything.
    Side::evaluator(&keys).bad(&["--connect", &address, "--timeout", "1"], 4, "the peer did not answer");
}

/// An evaluator that the test plays. It has the right key and is connected.
fn puppet(keys: &Keys, address: &str) -> Channel {
    let identity = Identity::from_pem(&std::fs::read_to_string(keys.file("evaluator.key")).unwrap()).unwrap();
    let options =
        tls::EndpointOptions { party: Party::Evaluator, lanes: 1, timeout: Duration::from_secs(60) };
    tls::connect(address, &identity, keys.garbler.parse().unwrap(), &options).unwrap()
}

#[test]
fn a_peer_that_goes_away_is_code_4() {
    let keys = Keys::new();
    let (listening, address) = Side::garbler(&keys).listen(&["--json"]);
    drop(puppet(&keys, &address));
    is_error(&finish(listening), 4, "closed the connection");
}

#[test]
fn a_peer_that_breaks_the_protocol_is_code_5() {
    let keys = Keys::new();
    let (listening, address) = Side::garbler(&keys).listen(&["--json"]);
    let mut channel = puppet(&keys, &address);
    channel.send(Tag(200), b"nonsense").unwrap();
    channel.flush().unwrap();
    is_error(&finish(listening), 5, "the peer cheated");
}

#[test]
fn bad_keys_and_flags_are_refused_before_the_network() {
    let keys = Keys::new();
    let file = example("millionaires.bwp");
    let own = keys.file("garbler.key");
    let with = |identity: &str, peer: &str, code, words| {
        bad(
            &[
                "garbler",
                &file,
                "--connect",
                "127.0.0.1:1",
                "--input",
                "1",
                "--identity",
                identity,
                "--peer",
                peer,
            ],
            code,
            words,
        );
    };
    with("no-such-key", &keys.evaluator, 3, "cannot read no-such-key");
    with(&own, "nonsense", 2, "not a public key");
    with(&own, &keys.garbler, 2, "the same as this party's");
    let garbage =
        keys.write("garbage.key", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    #[cfg(unix)]
    {
        set_mode(&garbage, 0o644);
        with(&garbage, &keys.evaluator, 3, "other users can read");
        private(&garbage);
    }
    with(&garbage, &keys.evaluator, 3, "does not hold an Ed25519 private key");
    let garbler = Side::garbler(&keys);
    garbler.bad(&[], 2, "--listen or --connect");
    garbler.bad(&["--listen", "127.0.0.1:0", "--connect", "127.0.0.1:1"], 2, "--connect");
    garbler.bad(&["--connect", "nonsense"], 2, "host:port");
    for flags in [
        ["--lanes", "0"],
        ["--lanes", "65"],
        ["--timeout", "0"],
        ["--threads", "0"],
        ["--security", "41"],
        ["--executions", "0"],
    ] {
        garbler.bad(&flags, 2, flags[0]);
    }
    Side { input: "-1", ..Side::garbler(&keys) }.bad(&["--connect", "127.0.0.1:1"], 3, "negative");
    let truncated = &std::fs::read(&file).unwrap()[..300];
    Side { file: keys.write("truncated.bwp", truncated), ..Side::garbler(&keys) }.bad(
        &["--connect", "127.0.0.1:1"],
        3,
        "truncated",
    );
}

/// The processes of both parties end when the process that started them is killed.
#[cfg(target_os = "linux")]
#[test]
fn no_child_outlives_its_parent() {
    /// Returns the parent and the state of a process, if it exists.
    fn process(id: &str) -> Option<(u32, String)> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let mut words = stat.rsplit_once(") ")?.1.split(' ');
        let state = words.next()?.to_owned();
        Some((words.next()?.parse().ok()?, state))
    }
    let children_of = |parent: u32| -> Vec<String> {
        let all = std::fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name());
        let all = all.filter_map(|name| name.into_string().ok());
        all.filter(|id| process(id).is_some_and(|(of, _)| of == parent)).collect()
    };
    let wait = |what: &dyn Fn() -> bool| {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !what() {
            assert!(std::time::Instant::now() < end, "it takes too long");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    // The network is so slow that both parties wait for each other during the test.
    let (file, slow) = (example("millionaires.bwp"), ["--rtt", "50s", "--timeout", "1000"]);
    let fixed = [&["run", &file, "--garbler", "5", "--evaluator", "6"], &slow[..]].concat();
    let mut parent = Child::spawn(&mut brickwork(&fixed));
    wait(&|| children_of(parent.id()).len() == 2);
    let children = children_of(parent.id());
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait(&|| children.iter().all(|id| process(id).is_none_or(|(_, state)| state == "Z")));
    // Users cannot start such a process.
    bad(&["child"], 2, "only `brickwork run` may call");
}

/// If a party dies, its memory is not written to disk.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_not_dumped() {
    let keys = Keys::new();
    let (child, _) = Side::garbler(&keys).listen(&[]);
    let limits =
        std::fs::read_to_string(format!("/proc/{}/limits", child.id())).expect("limits of the process");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).expect("a limit");
    assert_eq!(core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(), ["0", "0"], "{core}");
}
