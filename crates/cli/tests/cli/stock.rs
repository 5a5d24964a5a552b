//! Tests `preprocess`, `stock`, and runs from a store with two real processes, and with `kill -9` of either
//! process at any time.
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

/// The number of kills, unless the variable sets another.
const KILLS: u32 = 6;

/// The variable that sets another number of kills.
const KILLS_VARIABLE: &str = "BRICKWORK_KILLS";

pub const ROLES: [&str; 2] = ["garbler", "evaluator"];

/// Two parties with a store each.
pub struct Parties {
    keys: Keys,
    pub file: String,
    store_key: String,
}

impl Parties {
    pub fn new(file: &str) -> Self {
        let keys = Keys::new();
        let store_key = keys.write("store.key", "5e".repeat(32).as_bytes());
        private(&store_key);
        Parties { keys, file: example(file), store_key }
    }

    /// Returns the folder with the keys of the parties, which can hold further files.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    pub fn store(&self, role: &str) -> String {
        self.keys.file(&format!("{role} store"))
    }

    /// Returns the flags that both commands need.
    fn common(&self, role: &str) -> Vec<String> {
        let peer = if role == "garbler" { &self.keys.evaluator } else { &self.keys.garbler };
        let flags = [
            ("--identity", self.keys.file(&format!("{role}.key"))),
            ("--peer", peer.clone()),
            ("--store", self.store(role)),
        ];
        let flags = flags.into_iter().chain([("--store-key", self.store_key.clone())]);
        flags.flat_map(|(flag, value)| [flag.to_owned(), value]).chain(["--json".to_owned()]).collect()
    }

    pub fn preprocess(&self, role: &str, more: &[&str]) -> Vec<String> {
        let own = ["preprocess", "--role", role].map(str::to_owned).into_iter().chain(self.common(role));
        own.chain(more.iter().map(|s| s.to_string())).collect()
    }

    pub fn run(&self, role: &str, input: &str, more: &[&str]) -> Vec<String> {
        let own =
            [role, &self.file, "--input", input].map(str::to_owned).into_iter().chain(self.common(role));
        own.chain(more.iter().map(|s| s.to_string())).collect()
    }

    /// Returns the output of `doctor` for a party. It must end with this code.
    #[track_caller]
    pub fn doctor(&self, role: &str, more: &[&str], code: i32) -> String {
        let arguments = self.run(role, "1", more);
        let arguments = ["doctor", "--role"].into_iter().chain(arguments.iter().map(String::as_str));
        let found = super::run(&arguments.collect::<Vec<_>>());
        assert_eq!(found.status.code(), Some(code), "{}", text(&found.stdout));
        text(&found.stdout)
    }

    /// Returns the same flags as [`Parties::run`], without a store.
    pub fn without_store(&self, role: &str, input: &str) -> Vec<String> {
        let mut arguments = self.run(role, input, &[]);
        for flag in ["--store", "--store-key"] {
            let at = arguments.iter().position(|argument| argument == flag).expect("a flag");
            arguments.drain(at..at + 2);
        }
        arguments
    }

    /// Returns the garbler's and the evaluator's public key.
    pub fn identities(&self) -> [[u8; 32]; 2] {
        [&self.keys.garbler, &self.keys.evaluator].map(|key| {
            let digits = key.strip_prefix("brickwork1:").expect("a public key");
            std::array::from_fn(|k| u8::from_str_radix(&digits[2 * k..2 * k + 2], 16).expect("a byte"))
        })
    }

    /// Starts both processes, of which the garbler listens.
    fn start(&self, arguments: [Vec<String>; 2]) -> [Child; 2] {
        let [garbler, evaluator] = arguments;
        let strings = |all: &[String], more: [&str; 2]| {
            all.iter().map(String::as_str).chain(more).map(str::to_owned).collect::<Vec<_>>()
        };
        let launch = |all: Vec<String>| start(&all.iter().map(String::as_str).collect::<Vec<_>>());
        let mut first = launch(strings(&garbler, ["--listen", "127.0.0.1:0"]));
        let address = address(&mut first);
        [first, launch(strings(&evaluator, ["--connect", &address]))]
    }

    pub fn both(&self, arguments: [Vec<String>; 2]) -> [Output; 2] {
        self.start(arguments).map(finish)
    }

    /// Asserts that both processes succeed, and returns their outputs.
    pub fn good(&self, arguments: [Vec<String>; 2]) -> [Value; 2] {
        self.both(arguments).map(|output| {
            assert_eq!(output.status.code(), Some(0), "{} {}", text(&output.stdout), text(&output.stderr));
            object(&output)
        })
    }

    fn fill(&self, component: &str) -> [Value; 2] {
        self.good(ROLES.map(|role| self.preprocess(role, &["--component", component])))
    }

    /// Runs the millionaires' program, and checks its outputs.
    fn millionaires(&self, more: &[&str]) -> [Value; 2] {
        let results =
            self.good([self.run("garbler", "1000000", more), self.run("evaluator", "1250000", more)]);
        for (role, result) in ROLES.iter().zip(&results) {
            assert_eq!(result["outputs"][role], json!({ "alice": 0, "bob": 1 }), "{result}");
        }
        results
    }

    pub fn stock(&self, role: &str, command: &str, more: &[&str]) -> Vec<String> {
        let place = ["stock", command, &self.store(role), "--store-key", &self.store_key]
            .map(str::to_owned)
            .into_iter();
        place.chain(more.iter().map(|s| s.to_string())).collect()
    }

    pub fn ls(&self, role: &str) -> Value {
        let arguments = self.stock(role, "ls", &["--program", &self.file]);
        good(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).1
    }

    pub fn executions(&self, role: &str) -> u64 {
        self.ls(role)["programs"][0]["executions"].as_u64().expect("a number")
    }

    /// Forgives the failed attempts at both parties, if there are any.
    pub fn forgive(&self) {
        for role in ROLES {
            let arguments = self.stock(role, "forgive", &["--all"]);
            let output = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
            let said = text(&output.stderr);
            let expected = match said.contains("nothing to forgive") {
                true => 6,
                // A process that was killed early has no store.
                false => 3 * i32::from(said.contains("is not a store")),
            };
            assert_eq!(output.status.code(), Some(expected), "{said}");
        }
    }

    /// Returns both parties' epochs, sorted by identifier, with their logs.
    fn logs(&self) -> [Vec<Value>; 2] {
        ROLES.map(|role| {
            let arguments = self.stock(role, "export-report", &[]);
            let report = good(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).1;
            report["epochs"].as_array().expect("epochs").clone()
        })
    }
}

fn phase_bytes(result: &Value, name: &str) -> u64 {
    let phases = result["phases"].as_array().expect("phases").iter().filter(|phase| phase["name"] == name);
    phases
        .map(|phase| {
            phase["garbler_sent_bytes"].as_u64().expect("bytes")
                + phase["evaluator_sent_bytes"].as_u64().expect("bytes")
        })
        .sum()
}

#[test]
fn stock_is_made_used_and_used_up() {
    let parties = Parties::new("millionaires.bwp");
    let done = parties.fill(&format!("{}=3", parties.file));
    assert_eq!(done[0]["steps"], done[1]["steps"]);
    assert_eq!(done[0]["steps"].as_array().expect("steps").len(), 2, "a component, and authenticators");
    assert!(ROLES.iter().all(|role| parties.executions(role) == 3));
    for left in [2, 1, 0] {
        for result in parties.millionaires(&["--no-top-up"]) {
            assert!(result["made_on_the_spot"].is_null());
            // A run from stock sends no tables.
            assert_eq!(phase_bytes(&result, "preprocess") + phase_bytes(&result, "prepare"), 0);
            assert!(result["promise"]["bound_log2"].as_f64().expect("a bound") <= -40.0);
        }
        assert!(ROLES.iter().all(|role| parties.executions(role) == left));
    }
    for output in parties.both([
        parties.run("garbler", "1", &["--no-top-up"]),
        parties.run("evaluator", "2", &["--no-top-up"]),
    ]) {
        is_error(&output, 6, "needs 1 compare");
    }
    // Missing items are made during the run, with a warning, and tables are sent.
    let outputs =
        parties.both([parties.run("garbler", "1000000", &[]), parties.run("evaluator", "1250000", &[])]);
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("during this run"), "{}", text(&output.stderr));
        let result = object(output);
        assert!(
            result["made_on_the_spot"].as_str().expect("what").contains("1 compare")
                && phase_bytes(&result, "preprocess") > 0
        );
    }
    let logs = parties.logs();
    assert_eq!(logs[0].len(), 2);
    for (garbler, evaluator) in logs[0].iter().zip(&logs[1]) {
        assert_eq!(
            (&garbler["id"], &garbler["head"], &garbler["uses"]),
            (&evaluator["id"], &evaluator["head"], &evaluator["uses"])
        );
    }
}

/// Items for inputs are made for the same number of executions, unless a flag excludes them.
#[test]
fn inputs_and_ots_unless_told_otherwise() {
    let fill = |parties: &Parties, flag: &str| {
        let component = format!("{}:compare=2", parties.file);
        let done =
            parties.good(ROLES.map(|role| parties.preprocess(role, &["--component", &component, flag])));
        done[0]["steps"]
            .as_array()
            .expect("steps")
            .iter()
            .map(|step| step.as_str().expect("text").to_owned())
            .collect::<Vec<_>>()
    };
    // Missing OTs are made when a program is built, which is not reported as missing stock.
    let parties = Parties::new("millionaires.bwp");
    let steps = fill(&parties, "--no-ots");
    assert!(
        steps.len() == 2 && steps[1].contains("input authenticators") && !steps[1].contains("OTs"),
        "{steps:?}"
    );
    assert!(ROLES.iter().all(|role| parties.executions(role) == 2));
    parties.millionaires(&["--no-top-up"]);
    // If the items for inputs are missing, a program cannot run from stock.
    let parties = Parties::new("millionaires.bwp");
    let steps = fill(&parties, "--no-inputs");
    assert_eq!(steps, ["2 compare"]);
    assert!(ROLES.iter().all(|role| parties.executions(role) == 0));
    for output in parties.both([
        parties.run("garbler", "1", &["--no-top-up"]),
        parties.run("evaluator", "2", &["--no-top-up"]),
    ]) {
        is_error(&output, 6, "input authenticators");
    }
    assert!(parties.millionaires(&[]).iter().all(|result| !result["made_on_the_spot"].is_null()));
}

#[test]
fn an_old_copy_is_code_6_on_both_sides() {
    for role in ROLES {
        let parties = Parties::new("millionaires.bwp");
        parties.fill(&format!("{}=2", parties.file));
        let (store, kept) = (parties.store(role), parties.keys.file("kept"));
        copy(&store, &kept);
        parties.millionaires(&["--no-top-up"]);
        std::fs::remove_dir_all(&store).expect("a folder");
        copy(&kept, &store);
        for output in parties.both([parties.run("garbler", "1", &[]), parties.run("evaluator", "2", &[])]) {
            is_error(&output, 6, "the logs of this store and of the peer's store differ");
        }
        assert!(ROLES.iter().all(|role| parties.ls(role)["epochs"][0]["condition"] == "burned"));
        assert!(ROLES.iter().all(|role| parties.executions(role) == 0));
        // Afterwards new stock can be made and used.
        parties.millionaires(&[]);
    }
}

fn copy(from: &str, to: &str) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let (source, target) = (path(&entry.path()), path(&Path::new(to).join(entry.file_name())));
        if entry.path().is_dir() {
            copy(&source, &target);
        } else {
            std::fs::copy(source, target).expect("a copy");
        }
    }
}

#[test]
fn stores_are_looked_after() {
    let parties = Parties::new("millionaires.bwp");
    let list = parties.keys.write(
        "list.toml",
        format!("[[component]]\nfile = {:?}\nname = \"compare\"\ncount = 2\n", parties.file).as_bytes(),
    );
    parties.good(ROLES.map(|role| parties.preprocess(role, &["--list", &list])));
    let arguments = parties.stock("evaluator", "verify", &[]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (human, json) = good(&arguments);
    assert!(human.contains("is undamaged") && json["bytes"].as_u64().expect("bytes") > 50_000, "{human}");
    // One bit of a segment is changed.
    let segments = Path::new(&parties.store("evaluator")).join("segments");
    let segment =
        std::fs::read_dir(&segments).expect("a folder").next().expect("a segment").expect("an entry").path();
    let whole = std::fs::read(&segment).expect("a segment");
    let mut altered = whole.clone();
    altered[whole.len() / 2] ^= 4;
    std::fs::write(&segment, altered).expect("a segment");
    bad(&arguments, 6, &path(&segment));
    std::fs::write(&segment, &whole).expect("a segment");
    good(&arguments);
    // First the key is wrong, then no key is given.
    let other = parties.keys.write("other.key", "5f".repeat(32).as_bytes());
    private(&other);
    bad(&["stock", "ls", &parties.store("garbler"), "--store-key", &other], 6, "key");
    bad(&["stock", "ls", &parties.store("garbler")], 2, "BRICKWORK_STORE_KEY");
    bad(&["stock", "ls", &parties.keys.file("nothing"), "--store-key", &other], 3, "not a store");
    let mut by_variable = brickwork(&["stock", "ls", &parties.store("garbler"), "--json"]);
    let by_variable =
        by_variable.env("BRICKWORK_STORE_KEY", "5e".repeat(32)).output().expect("the command starts");
    assert_eq!(object(&by_variable)["epochs"][0]["condition"], "unused");
    bad(
        &["stock", "burn", &parties.store("garbler"), "--store-key", &parties.store_key, "--epoch", ""],
        2,
        "parts begin with ''",
    );
    // If neither flag is given, or both, the error names both.
    let burn = ["stock", "burn", &parties.store("garbler"), "--store-key", &parties.store_key];
    bad(&burn, 2, "--epoch <ID>|--all");
    bad(&[&burn[..], &["--all", "--epoch", "00"]].concat(), 2, "--all");
    let help = text(&run(&["stock", "burn", "--help"]).stdout);
    for flag in ["--epoch <ID>", "--all", "--store <DIR>", "--store-key <FILE>"] {
        assert!(help.contains(flag), "{help}");
    }
    // If one party burns stock, the other party burns it in the next connection. This blocks nobody, and the
    // run makes its own items.
    let id = parties.ls("garbler")["epochs"][0]["id"].as_str().expect("an identifier").to_owned();
    let burn = parties.stock("garbler", "burn", &["--epoch", &id[..8]]);
    let burned = run(&burn.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(burned.status.code(), Some(0), "{}", text(&burned.stderr));
    let outputs = parties.both([parties.run("garbler", "1", &[]), parties.run("evaluator", "2", &[])]);
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let told = text(&outputs[1].stderr);
    assert!(told.contains("burned"), "{told}");
    let epochs = parties.ls("evaluator")["epochs"].clone();
    let old = epochs.as_array().expect("an array").iter().find(|epoch| epoch["id"] == *id);
    assert_eq!(old.expect("what is burned is listed")["condition"], "burned", "{epochs}");
}

/// Returns the beginning of the identifier of a store's pair.
fn pair(parties: &Parties, role: &str) -> String {
    let pairs = parties.ls(role)["pairs"].clone();
    let [pair] = &pairs.as_array().expect("pairs")[..] else { panic!("{pairs}") };
    assert_eq!(pair["role"], role);
    pair["id"].as_str().expect("an identifier")[..12].to_owned()
}

/// With `--keep` a listener does not end when the peer comes with the folder of another pair, because nothing
/// was taken or burned. An error of the stock that both parties share ends the listener.
#[test]
fn a_kept_listener_outlives_the_peers_wrong_folder() {
    let parties = Parties::new("millionaires.bwp");
    parties.fill(&format!("{}=2", parties.file));
    for (k, role) in ROLES.into_iter().enumerate() {
        let peer = ROLES[1 - k];
        let listen = parties.run(role, "1", &["--no-top-up", "--keep", "--listen", "127.0.0.1:0"]);
        let mut waits = start(&listen.iter().map(String::as_str).collect::<Vec<_>>());
        let address = address(&mut waits);
        let connect = |store: &str| {
            let mut arguments = parties.run(peer, "2", &["--connect", &address]);
            let own =
                arguments.iter_mut().find(|argument| **argument == parties.store(peer)).expect("a store");
            store.clone_into(own);
            run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
        };
        for _ in 0..2 {
            is_error(&connect(&parties.keys.file("another folder")), 6, "nothing was burned or changed");
        }
        assert!(waits.try_wait().expect("a child").is_none(), "it waits on");
        assert_eq!(parties.executions(role), 2 - k as u64);
        let output = connect(&parties.store(peer));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
        let waited = finish(waits);
        assert_eq!(waited.status.code(), Some(0), "{}", text(&waited.stdout));
        assert_eq!(text(&waited.stderr).matches("refused the peer").count(), 2, "{}", text(&waited.stderr));
    }
    // The stock is used up at both parties, so waiting longer would not help.
    let listen = parties.run("garbler", "1", &["--no-top-up", "--keep", "--listen", "127.0.0.1:0"]);
    let mut waits = start(&listen.iter().map(String::as_str).collect::<Vec<_>>());
    let address = address(&mut waits);
    let connect = parties.run("evaluator", "2", &["--no-top-up", "--connect", &address]);
    is_error(&run(&connect.iter().map(String::as_str).collect::<Vec<_>>()), 6, "the program needs");
    is_error(&finish(waits), 6, "the program needs");
}

/// Stock that was made with another key is not used, and the error names this reason.
#[test]
fn stock_of_another_peer_is_named_as_such() {
    let mut parties = Parties::new("millionaires.bwp");
    parties.fill(&format!("{}=2", parties.file));
    let other = parties.keys.file("other.key");
    let made = run(&["keygen", "-o", &other]);
    let public = text(&made.stdout).trim_end().to_owned();
    let own = std::mem::replace(&mut parties.keys.evaluator, public);
    let mut arguments =
        [parties.run("garbler", "1", &["--no-top-up"]), parties.run("evaluator", "2", &["--no-top-up"])];
    parties.keys.evaluator = own;
    let place = arguments[1].iter().position(|argument| argument == "--identity").expect("a key") + 1;
    arguments[1][place] = other;
    for output in parties.both(arguments) {
        is_error(&output, 6, "made with other keys");
    }
    whole(&parties, &ROLES);
}

/// Checks that no stock of these parties is burned.
fn whole(parties: &Parties, roles: &[&str]) {
    for role in roles {
        let epochs = parties.ls(role)["epochs"].clone();
        assert!(
            epochs.as_array().expect("epochs").iter().all(|epoch| epoch["condition"] != "burned"),
            "{epochs}"
        );
        assert_eq!(parties.executions(role), 2);
    }
}

/// Checks that stores that are no pair are refused at both parties, in runs with and without top-up and in
/// preprocessing.
fn refused_as_strangers(parties: &Parties, words: &[&str]) {
    let file = format!("{}=1", parties.file);
    let fill = || ROLES.map(|role| parties.preprocess(role, &["--component", &file]));
    let run = |more: &[&str]| [parties.run("garbler", "1", more), parties.run("evaluator", "2", more)];
    for arguments in [run(&[]), run(&["--no-top-up"]), fill()] {
        for output in parties.both(arguments) {
            words.iter().for_each(|words| is_error(&output, 6, words));
            let hint = object(&output)["error"]["hint"].as_str().expect("a hint").to_owned();
            assert!(hint.contains("--store") && hint.contains("stock burn"), "{hint}");
        }
    }
}

/// Row 24 of the table of attacks: the same two parties have two pairs of folders, and open folders of
/// different pairs. Both refuse and name both pairs, and nothing is burned.
#[test]
fn row_24_crossed_stores_are_refused_as_they_are() {
    let parties = Parties::new("millionaires.bwp");
    let component = format!("{}=2", parties.file);
    parties.fill(&component);
    let moved = |from: &str, to: &str| std::fs::rename(from, to).expect("a folder that moves");
    let other = parties.keys.file("the other pair's");
    let swap = || {
        let (here, on_the_way) = (parties.store("evaluator"), parties.keys.file("on the way"));
        moved(&here, &on_the_way);
        moved(&other, &here);
        moved(&on_the_way, &other);
    };
    // The first pair's folders are put aside, and a second pair is made.
    let first = parties.keys.file("the first garbler's");
    moved(&parties.store("garbler"), &first);
    moved(&parties.store("evaluator"), &other);
    parties.fill(&component);
    swap();
    let pairs = ROLES.map(|role| pair(&parties, role));
    assert_ne!(pairs[0], pairs[1]);
    refused_as_strangers(&parties, &[&pairs[0], &pairs[1], "nothing was burned or changed"]);
    whole(&parties, &ROLES);
    swap();
    assert_eq!(pair(&parties, "garbler"), pair(&parties, "evaluator"));
    parties.millionaires(&["--no-top-up"]);
    // The first pair works as before.
    moved(&parties.store("garbler"), &parties.keys.file("the second garbler's"));
    moved(&first, &parties.store("garbler"));
    swap();
    whole(&parties, &ROLES);
    parties.millionaires(&["--no-top-up"]);
}

/// Row 24 of the table of attacks: each party opens the other party's folder, so neither finds a pair for its
/// role. Both refuse before new stock is made.
#[test]
fn row_24_folders_of_both_parties_exchanged_are_refused_as_they_are() {
    let parties = Parties::new("millionaires.bwp");
    parties.fill(&format!("{}=2", parties.file));
    let exchange = || {
        let [garbler, evaluator] = ROLES.map(|role| parties.store(role));
        let away = parties.keys.file("on the way");
        for (from, to) in [(&garbler, &away), (&evaluator, &garbler), (&away, &evaluator)] {
            std::fs::rename(from, to).expect("a folder that moves");
        }
    };
    exchange();
    refused_as_strangers(&parties, &["folders of two stores exchanged", "nothing was burned or changed"]);
    exchange();
    whole(&parties, &ROLES);
    parties.millionaires(&["--no-top-up"]);
}

/// Row 24 of the table of attacks: a missing folder, an empty one, and one of the other role are used instead
/// of the folder with the stock. With `--no-top-up` no folder is made, and the peer is not contacted.
#[test]
fn row_24_a_folder_that_is_not_the_store_burns_nothing() {
    let mut parties = Parties::new("millionaires.bwp");
    parties.fill(&format!("{}=2", parties.file));
    let typo = parties.keys.file("typo");
    for role in ROLES {
        let mut arguments = parties.run(role, "1", &["--no-top-up", "--listen", "127.0.0.1:0"]);
        let store = arguments.iter_mut().find(|argument| **argument == parties.store(role)).expect("a store");
        *store = typo.clone();
        is_error(&run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()), 6, "is not a store");
        assert!(!Path::new(&typo).exists(), "a folder was made");
    }
    let run_both =
        ["run", &parties.file, "--garbler", "1", "--evaluator", "2", "--store", &typo, "--store-key"];
    bad(&[&run_both[..], &[&parties.store_key, "--no-top-up"]].concat(), 6, "is not a store");
    assert!(!Path::new(&typo).exists(), "a folder was made");
    // Neither peer was contacted.
    whole(&parties, &ROLES);
    let key = pair(&parties, "garbler");
    for (role, other) in [("garbler", "evaluator"), ("evaluator", "garbler")] {
        let (store, kept) = (parties.store(role), parties.keys.file("kept"));
        std::fs::rename(&store, &kept).expect("a folder that moves");
        // A missing folder is made, and stays empty.
        refused_as_strangers(&parties, &[&key, "nothing was burned or changed"]);
        whole(&parties, &[other]);
        // Stock of the other role cannot be used.
        std::fs::remove_dir_all(&store).expect("a folder");
        copy(&parties.store(other), &store);
        refused_as_strangers(&parties, &[&key, "nothing was burned or changed"]);
        whole(&parties, &ROLES);
        std::fs::remove_dir_all(&store).expect("a folder");
        std::fs::rename(&kept, &store).expect("a folder that moves");
    }
    parties.millionaires(&["--no-top-up"]);
    // A run of another program burns nothing either.
    let adder = parties.keys.file("other.bwp");
    std::fs::copy(example("aes-128.bwp"), &adder).expect("a copy");
    let given = std::mem::replace(&mut parties.file, adder);
    let wrong = parties.run("garbler", "1", &["--no-top-up"]);
    parties.file = given;
    for output in parties.both([wrong, parties.run("evaluator", "2", &["--no-top-up"])]) {
        assert!([Some(7), Some(4)].contains(&output.status.code()), "{}", text(&output.stdout));
        assert!(!text(&output.stdout).contains("with the cut \\\"\\\""), "{}", text(&output.stdout));
    }
    // One party's list requests another number of items.
    let lists = ["1", "2"].map(|count| ["--component".to_owned(), format!("{}={count}", parties.file)]);
    let lists = [0, 1].map(|k| parties.preprocess(ROLES[k], &[&lists[k][0], &lists[k][1]]));
    for output in parties.both(lists) {
        assert!([Some(7), Some(4)].contains(&output.status.code()), "{}", text(&output.stdout));
    }
    parties.millionaires(&["--no-top-up"]);
}

/// If a folder is lost, the user can give up its stock and begin again.
#[test]
fn a_lost_folder_is_replaced_by_the_users_word() {
    let parties = Parties::new("millionaires.bwp");
    parties.fill(&format!("{}=2", parties.file));
    let before = pair(&parties, "evaluator");
    std::fs::remove_dir_all(parties.store("garbler")).expect("a folder");
    refused_as_strangers(&parties, &[&before]);
    whole(&parties, &["evaluator"]);
    let burn = parties.stock("evaluator", "burn", &["--all"]);
    assert_eq!(run(&burn.iter().map(String::as_str).collect::<Vec<_>>()).status.code(), Some(0));
    parties.fill(&format!("{}=2", parties.file));
    assert!(pair(&parties, "garbler") == pair(&parties, "evaluator") && pair(&parties, "garbler") != before);
    parties.millionaires(&["--no-top-up"]);
}

/// If only one party uses a store, both are told so.
#[test]
fn a_store_on_one_side_only_is_code_7() {
    let parties = Parties::new("millionaires.bwp");
    parties.fill(&format!("{}=2", parties.file));
    for k in 0..2 {
        let mut arguments = [parties.run("garbler", "1", &[]), parties.run("evaluator", "2", &[])];
        let all = &mut arguments[k];
        for flag in ["--store", "--store-key"] {
            let at = all.iter().position(|argument| argument == flag).expect("a flag");
            all.drain(at..at + 2);
        }
        for output in parties.both(arguments) {
            is_error(&output, 7, "give --store on both sides or on neither");
        }
    }
    whole(&parties, &ROLES);
}

/// At another security level there is no stock, and the message names the existing levels.
#[test]
fn another_level_burns_nothing_and_is_named() {
    let parties = Parties::new("millionaires.bwp");
    parties.fill(&format!("{}=2", parties.file));
    let more = ["--no-top-up", "--security", "64"];
    let run = |more: &[&str]| [parties.run("garbler", "1", more), parties.run("evaluator", "2", more)];
    for output in parties.both(run(&more)) {
        is_error(&output, 6, "the store has stock for --security 40");
    }
    // Only one party asks for another level.
    let [garbler, _] = run(&more);
    let [_, evaluator] = run(&["--no-top-up"]);
    for output in parties.both([garbler, evaluator]) {
        is_error(&output, 7, "--security");
    }
    whole(&parties, &ROLES);
    parties.millionaires(&["--no-top-up"]);
}

/// A store can be listed while a party waits with it, and the list names a missing segment.
#[test]
fn stock_is_listed_while_a_party_waits() {
    let parties = Parties::new("millionaires.bwp");
    parties.fill(&format!("{}=2", parties.file));
    let listen = parties.run("garbler", "1000000", &["--no-top-up", "--listen", "127.0.0.1:0"]);
    let mut waits = start(&listen.iter().map(String::as_str).collect::<Vec<_>>());
    let address = address(&mut waits);
    whole(&parties, &ROLES);
    let report = parties.logs();
    assert_eq!(report[0][0]["log"], report[1][0]["log"]);
    // A process that wants to change the store gets an error.
    let burn = parties.stock("garbler", "burn", &["--all"]);
    bad(&burn.iter().map(String::as_str).collect::<Vec<_>>(), 6, "another process uses the store");
    let connect = parties.run("evaluator", "1250000", &["--no-top-up", "--connect", &address]);
    let other = run(&connect.iter().map(String::as_str).collect::<Vec<_>>());
    for output in [finish(waits), other] {
        assert_eq!(output.status.code(), Some(0), "{} {}", text(&output.stdout), text(&output.stderr));
    }
    assert!(ROLES.iter().all(|role| parties.executions(role) == 1));
    // A segment is lost.
    let lost = segments(&parties.store("garbler")).remove(0);
    let bytes = std::fs::read(&lost).expect("a segment");
    std::fs::remove_file(&lost).expect("a segment");
    let arguments = parties.stock("garbler", "ls", &["--program", &parties.file]);
    let (human, json) = good(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(human.contains("MISSING") && human.contains(&path(&lost)), "{human}");
    for said in [&human, &json.to_string()] {
        assert!(said.contains("there is no such file") && !said.contains("os error"), "{said}");
    }
    let batches = json["epochs"][0]["batches"].as_array().expect("batches");
    assert_eq!(batches.iter().filter(|batch| batch["missing"].is_string()).count(), 1, "{json}");
    assert_eq!(json["programs"][0]["executions"], 0);
    std::fs::write(&lost, bytes).expect("a segment");
    parties.millionaires(&["--no-top-up"]);
}

/// The risk of all programs from one part of the stock is printed beside the risk of a run, and in the
/// inventory.
#[test]
fn the_risk_of_all_programs_stands_beside_that_of_a_run() {
    let parties = Parties::new("millionaires.bwp");
    parties.fill(&format!("{}=2", parties.file));
    let results = parties.millionaires(&["--no-top-up"]);
    for (role, result) in ROLES.iter().zip(&results) {
        let all = result["promise"]["epoch_bound_log2"].as_f64().expect("a bound");
        let budget = result["promise"]["budget"].as_array().expect("the checks' bounds");
        let of_checks: f64 =
            budget.iter().map(|one| one["bound_log2"].as_f64().expect("a bound").exp2()).sum();
        let own = result["promise"]["bound_log2"].as_f64().expect("a bound");
        assert!((of_checks.log2() - own).abs() < 1e-6, "{}", result["promise"]);
        assert!(all >= result["promise"]["bound_log2"].as_f64().expect("a bound"), "{result}");
        assert_eq!(parties.ls(role)["epochs"][0]["bound_log2"].as_f64(), Some(all));
    }
    let mut arguments = [parties.run("garbler", "1", &[]), parties.run("evaluator", "2", &[])];
    arguments.iter_mut().for_each(|all| all.retain(|argument| argument != "--json"));
    for output in parties.both(arguments) {
        let human = text(&output.stdout);
        assert!(
            human.contains("for all programs that use this part of the stock, together: at most 2^-4"),
            "{human}"
        );
    }
}

/// One command makes the key of a store, and errors name this command.
#[test]
fn the_key_of_a_store_is_made() {
    let folder = TempDir::new().expect("a folder");
    let [key, other, store] = ["store.key", "other.key", "store"].map(|name| path(&folder.path().join(name)));
    let made = object(&run(&["keygen", "--store-key", "-o", &key, "--json"]));
    assert_eq!(made, json!({ "store_key": key }));
    let human = run(&["keygen", "--store-key", "-o", &other]);
    assert!(human.status.success() && text(&human.stdout).contains(&other), "{}", text(&human.stdout));
    let keys = [&key, &other].map(|key| std::fs::read_to_string(key).expect("a key"));
    assert!(
        keys.iter().all(|key| key.len() == 65 && !text(&human.stdout).contains(key.trim()))
            && keys[0] != keys[1]
    );
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&key).expect("a file").permissions())
            & 0o777,
        0o600
    );
    bad(&["keygen", "--store-key", "-o", &key], 1, "cannot write");
    assert_eq!(std::fs::read_to_string(&key).expect("a key"), keys[0], "it was overwritten");
    let file = example("millionaires.bwp");
    let with = |key: &[&str]| {
        let flags = ["run", &file, "--garbler", "5", "--evaluator", "3", "--json", "--store", &store];
        run(&[&flags[..], key].concat())
    };
    assert_eq!(
        object(&with(&["--store-key", &key]))["outputs"]["evaluator"],
        json!({ "alice": 1, "bob": 0 })
    );
    let without = with(&[]);
    let hint = object(&without)["error"]["hint"].as_str().expect("a hint").to_owned();
    assert!(hint.contains("brickwork keygen --store-key -o FILE") && !hint.contains("openssl"), "{hint}");
    let wrong = folder.path().join("wrong.key");
    std::fs::write(&wrong, "5e").expect("a file");
    private(&path(&wrong));
    is_error(&with(&["--store-key", &path(&wrong)]), 3, "brickwork keygen --store-key");
}

/// Returns the segments of a store.
fn segments(store: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(Path::new(store).join("segments"))
        .map(|files| files.map(|file| file.expect("an entry").path()));
    files.into_iter().flatten().filter(|path| path.extension().is_some_and(|e| e == "segment")).collect()
}

/// Row 23 of the table of attacks: if a store has lost a segment, or has another in its place, its party ends
/// with code 6 before it sends anything. The peer sees the connection close.
#[test]
fn row_23_a_lost_or_exchanged_segment_is_code_6_on_either_side() {
    let parties = Parties::new("millionaires.bwp");
    parties.fill(&format!("{}=2", parties.file));
    for (k, role) in ROLES.into_iter().enumerate() {
        let files = segments(&parties.store(role));
        let [first, second] = [0, 1].map(|i| std::fs::read(&files[i]).expect("a segment"));
        for lost in [true, false] {
            if lost {
                std::fs::remove_file(&files[0]).expect("a segment");
            } else {
                std::fs::write(&files[0], &second).expect("a segment");
                std::fs::write(&files[1], &first).expect("a segment");
            }
            let outputs =
                parties.both([parties.run("garbler", "1", &[]), parties.run("evaluator", "2", &[])]);
            is_error(
                &outputs[k],
                6,
                if lost { files[0].to_str().expect("a path") } else { ".segment: the file has" },
            );
            assert!(
                [Some(4), Some(6)].contains(&outputs[1 - k].status.code()),
                "{}",
                text(&outputs[1 - k].stdout)
            );
            let verify = parties.stock(role, "verify", &[]);
            bad(&verify.iter().map(String::as_str).collect::<Vec<_>>(), 6, "segment");
            std::fs::write(&files[0], &first).expect("a segment");
            std::fs::write(&files[1], &second).expect("a segment");
        }
    }
    // No other stock is lost.
    parties.millionaires(&["--no-top-up"]);
}

/// Row 23 of the table of attacks: a party without its index changes nothing, whatever the command. When the
/// index is back, nothing is lost.
#[test]
fn row_23_a_missing_index_costs_nothing() {
    let parties = Parties::new("millionaires.bwp");
    parties.fill(&format!("{}=2", parties.file));
    let nobody = ["--connect", "127.0.0.1:1", "--timeout", "1"];
    for role in ROLES {
        let (store, before) = (parties.store(role), segments(&parties.store(role)).len());
        let (index, away) = (Path::new(&store).join("index.redb"), parties.keys.file("away"));
        std::fs::rename(&index, &away).expect("an index");
        let commands = [
            parties.run(role, "1", &nobody),
            parties
                .preprocess(role, &[&nobody[..], &["--component", &format!("{}=1", parties.file)]].concat()),
            parties.stock(role, "ls", &["--json"]),
            parties.stock(role, "verify", &["--json"]),
            parties.stock(role, "burn", &["--all", "--json"]),
        ];
        for command in commands {
            let output = run(&command.iter().map(String::as_str).collect::<Vec<_>>());
            is_error(&output, 6, "index.redb is missing");
            let hint = object(&output)["error"]["hint"].as_str().expect("a hint").to_owned();
            assert!(hint.contains("restore the missing file"), "{command:?}: {hint}");
        }
        parties.doctor(role, &nobody, 6);
        assert!(before > 0 && segments(&store).len() == before);
        std::fs::rename(&away, &index).expect("an index");
    }
    whole(&parties, &ROLES);
    parties.millionaires(&["--no-top-up"]);
}

/// Row 23 of the table of attacks: a damaged index gives code 6, and the message mentions no panic. At the
/// user's request the index is made again, and programs use the undamaged part.
#[test]
fn row_23_a_damaged_index_is_repaired() {
    let parties = Parties::new("millionaires.bwp");
    parties.fill(&format!("{}=4", parties.file));
    let index = Path::new(&parties.store("evaluator")).join("index.redb");
    let good = std::fs::read(&index).expect("an index");
    let command = |name: &str, more: &[&str]| {
        let arguments = parties.stock("evaluator", name, more);
        run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let mut refused = 0;
    // The pages are damaged from the last to the first, because the first page leads to all others.
    for page in (0..good.len()).step_by(4096).rev() {
        let mut bad = good.clone();
        bad[page..page + 300].fill(0xa5);
        std::fs::write(&index, &bad).expect("an index");
        let output = command("ls", &[]);
        assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
        match output.status.code() {
            Some(0) => {}
            code => {
                assert_eq!(code, Some(6), "{}", text(&output.stderr));
                refused += 1;
            }
        }
    }
    assert!(refused > 1);
    let output = command("verify", &[]);
    assert_eq!(output.status.code(), Some(6));
    assert!(text(&output.stderr).contains("verify --repair"), "{}", text(&output.stderr));
    let output = command("verify", &["--repair", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // The last entry of a log may have been lost without a trace, so all stock is burned.
    assert_eq!(object(&output)["burned"].as_array().expect("an array").len(), 1);
    parties.millionaires(&[]);
}

/// Row 23 of the table of attacks: a changed bit at either party prevents no run. The damaged record is left
/// out, and a program makes the items that it then lacks. The user gives up a lost segment with a command.
#[test]
fn row_23_a_flipped_bit_costs_no_run() {
    let parties = Parties::new("millionaires.bwp");
    parties.fill(&format!("{}=12", parties.file));
    for role in ROLES {
        for file in segments(&parties.store(role)) {
            let mut bytes = std::fs::read(&file).expect("a segment");
            // This byte comes after the header, which programs do not need, and belongs to the first items.
            bytes[120] ^= 1;
            std::fs::write(&file, bytes).expect("a segment");
        }
    }
    let verify = |more: &[&str]| parties.stock("evaluator", "verify", more);
    let arguments = verify(&[]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    bad(&arguments, 6, "altered");
    let named = object(&run(&[&arguments[..], &["--json"]].concat()))["error"]["damaged"].clone();
    assert!(
        named.as_array().is_some_and(|all| !all.is_empty() && all[0]["items"].as_u64() > Some(0)),
        "{named}"
    );
    for _ in 0..6 {
        parties.millionaires(&[]);
    }
    let logs = parties.logs();
    // The epochs have no fixed order, and include those that were made during runs.
    let damaged = |parts: &[Value]| {
        let entries = parts.iter().flat_map(|part| part["log"].as_array().expect("a log").clone());
        entries.filter(|entry| entry["entry"] == "damaged").collect::<Vec<_>>()
    };
    let [garblers, evaluators] = [damaged(&logs[0]), damaged(&logs[1])];
    assert!(!garblers.is_empty() && garblers == evaluators, "{garblers:?} {evaluators:?}");
    let (human, _) = good(&["stock", "ls", &parties.store("evaluator"), "--store-key", &parties.store_key]);
    assert!(human.contains(" damaged, "), "{human}");
    // Lost segments are reported until the user gives them up.
    segments(&parties.store("evaluator"))
        .iter()
        .for_each(|lost| std::fs::remove_file(lost).expect("a segment"));
    bad(&arguments, 6, ".segment");
    let repair = verify(&["--repair"]);
    let (human, json) = good(&repair.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(human.contains("The rest of the stock is undamaged"), "{human}");
    assert_eq!(json["damaged"].as_array().map(Vec::is_empty), Some(true), "the second time nothing is left");
    good(&arguments);
    parties.millionaires(&[]);
}

/// Row 22 of the table of attacks: a real disk becomes full while stock is made. The party with the full disk
/// reports it and ends with code 6. Both parties continue when there is room.
#[cfg(target_os = "linux")]
#[test]
fn row_22_a_full_disk() {
    for (k, role) in ROLES.into_iter().enumerate() {
        let parties = Parties::new("millionaires.bwp");
        parties.fill(&format!("{}=1", parties.file));
        // The garbler's OTs alone need more room than the limit leaves.
        let arguments =
            ROLES.map(|role| parties.preprocess(role, &["--component", &format!("{}=1500", parties.file)]));
        let index =
            std::fs::metadata(Path::new(&parties.store(role)).join("index.redb")).expect("an index").len();
        // No file may become larger than the index is now, in blocks of 512 bytes.
        let limited = |arguments: &[String]| {
            let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", index / 512);
            let mut command = Command::new("sh");
            command.args(["-c", &script, env!("CARGO_BIN_EXE_brickwork")]).args(arguments);
            Child::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))
        };
        let start = |who: usize, more: [&str; 2]| {
            let all: Vec<String> = arguments[who].iter().cloned().chain(more.map(str::to_owned)).collect();
            if who == k { limited(&all) } else { start(&all.iter().map(String::as_str).collect::<Vec<_>>()) }
        };
        let mut garbler = start(0, ["--listen", "127.0.0.1:0"]);
        let address = address(&mut garbler);
        let outputs = [garbler, start(1, ["--connect", &address])].map(finish);
        is_error(&outputs[k], 1, "the file would become too large");
        assert!(
            [Some(4), Some(6)].contains(&outputs[1 - k].status.code()),
            "{}",
            text(&outputs[1 - k].stdout)
        );
        // The existing stock is kept, and the interrupted steps are made.
        assert!(ROLES.iter().all(|role| parties.executions(role) == 1));
        parties.good(arguments);
        assert!(ROLES.iter().all(|role| parties.executions(role) == 1501));
        parties.millionaires(&["--no-top-up"]);
    }
}

/// A store can hold batches with other sizes and another security level. The printed bound is that of the
/// batches that a program uses.
#[test]
fn batches_of_different_parameters_side_by_side() {
    let parties = Parties::new("millionaires.bwp");
    // `ls` sorts epochs by their age in seconds, so those of the same second have no fixed order.
    let by_security = |ls: &Value| {
        let mut epochs = ls["epochs"].as_array().expect("epochs").clone();
        epochs.sort_by_key(|epoch| epoch["security"].as_u64());
        epochs
    };
    let fill = |count: u32, security: &str| {
        let component = format!("{}={count}", parties.file);
        parties.good(
            ROLES.map(|role| parties.preprocess(role, &["--component", &component, "--security", security])),
        );
    };
    fill(1, "40");
    fill(30, "40");
    fill(2, "64");
    for role in ROLES {
        let epochs = by_security(&parties.ls(role));
        assert_eq!(epochs.iter().map(|epoch| &epoch["security"]).collect::<Vec<_>>(), [40, 64]);
        let of_components = |epoch: &Value| -> Vec<Value> {
            epoch["batches"]
                .as_array()
                .expect("batches")
                .iter()
                .filter(|b| b["kind"] == "component")
                .map(|b| b["cuts"][0].clone())
                .collect()
        };
        let (small, large) = (&of_components(&epochs[0])[0], &of_components(&epochs[0])[1]);
        assert!(small["bucket_size"].as_u64() > large["bucket_size"].as_u64(), "{small} {large}");
        assert_eq!(parties.executions(role), 33);
    }
    // The sums of the bounds of each step, as `ls` shows them. The first program uses the first step, and the
    // second program the second.
    let mut made: BTreeMap<u64, f64> = BTreeMap::new();
    for batch in by_security(&parties.ls("evaluator"))[0]["batches"].as_array().expect("batches") {
        let step = batch["serial"].as_u64().expect("a number") >> 16;
        *made.entry(step).or_default() += batch["bound_log2"].as_f64().map_or(0.0, f64::exp2);
    }
    let steps: Vec<f64> = made.into_values().collect();
    assert_eq!(steps.len(), 4, "a component and authenticators, twice");
    let sums = [steps[0] + steps[1], steps[2] + steps[3]];
    let run = |security: &str| {
        let more = ["--no-top-up", "--security", security];
        parties.millionaires(&more).map(|result| result["promise"]["bound_log2"].as_f64().expect("a bound"))
    };
    // The runs use the first step, the second step, and the other security level.
    let bounds = [run("40"), run("40"), run("64")];
    assert!(bounds.iter().all(|[garbler, evaluator]| garbler == evaluator));
    assert!(bounds[0][0] <= -40.0 && bounds[1][0] <= -40.0 && bounds[2][0] <= -64.0, "{bounds:?}");
    assert_ne!(bounds[0], bounds[1], "another batch, another bound");
    // Each bound is the sum over the used batches and the other checks, which add the same amount.
    let others = [0, 1].map(|k| bounds[k][0].exp2() - sums[k]);
    assert!(
        (others[0] - others[1]).abs() < 1e-6 * bounds[0][0].exp2() && others[0] >= 0.0,
        "{others:?} {bounds:?}"
    );
}

/// Ctrl-C interrupts the making of stock. `stock ls` shows the progress, and the same command continues.
#[cfg(unix)]
#[test]
fn row_20_preprocessing_goes_on_after_ctrl_c() {
    let parties = Parties::new("millionaires.bwp");
    // There is a small step and then a large one, because steps have the order of their files.
    let components =
        [("millionaires.bwp", "a.bwp", 2), ("aes-128.bwp", "b.bwp", 300)].map(|(from, to, count)| {
            let to = parties.keys.file(to);
            std::fs::copy(example(from), &to).expect("a copy");
            format!("{to}={count}")
        });
    let fill = || {
        ROLES.map(|role| {
            parties.preprocess(role, &["--component", &components[0], "--component", &components[1]])
        })
    };
    // The time of a step depends on the machine and its load. If the kill came too early, the next attempt
    // waits a little longer; if it came too late, the next one fills a new store and is killed earlier.
    let made = |role: &str| {
        parties.ls(role)["epochs"].get(0).and_then(|epoch| epoch["progress"]["made"].as_u64()).unwrap_or(0)
    };
    let mut delay = Duration::from_millis(200);
    let interrupted = (0..40).any(|_| {
        let children = parties.start(fill());
        std::thread::sleep(delay);
        for child in &children {
            let _ = Command::new("kill")
                .args(["-s", interrupt(), &child.id().to_string()])
                .stderr(Stdio::null())
                .status();
        }
        let outputs = children.map(finish);
        let ended = outputs.iter().any(|output| output.status.code() == Some(0));
        delay = if ended { delay * 2 / 3 } else { delay * 5 / 4 };
        !ended && ROLES.iter().all(|role| (1..3).contains(&made(role)))
    });
    assert!(interrupted, "it was never interrupted between two steps");
    for role in ROLES {
        assert_eq!(parties.ls(role)["epochs"][0]["progress"]["of"], 3);
    }
    let done = parties.good(fill());
    assert!(done.iter().all(|done| done["resumed"].as_u64().expect("steps") >= 1), "{done:?}");
    parties.millionaires(&["--no-top-up"]);
}

#[test]
fn wrong_requests() {
    let parties = Parties::new("millionaires.bwp");
    let wrong = |more: &[&str], code, words: &str| {
        let all = parties.preprocess("garbler", &[more, &["--listen", "127.0.0.1:0"]].concat());
        is_error(&run(&all.iter().map(String::as_str).collect::<Vec<_>>()), code, words);
    };
    wrong(&[], 2, "names no component");
    wrong(&["--component", "x"], 2, "FILE:NAME=COUNT");
    wrong(&["--component", &format!("{}=0", parties.file)], 2, "a count must be at least 1");
    wrong(&["--component", &format!("{}:adder=1", parties.file)], 3, "no component adder");
    wrong(&["--component", "nothing.bwp=1"], 3, "nothing.bwp");
    let list = parties.keys.write("list.toml", b"[[component]]\nfile = 3");
    wrong(&["--list", &list], 3, "list.toml");
    let wants = |role: &str, count: u32| {
        parties.preprocess(role, &["--component", &format!("{}={count}", parties.file)])
    };
    for output in parties.both([wants("garbler", 1), wants("evaluator", 2)]) {
        assert!([Some(7), Some(4)].contains(&output.status.code()), "{}", text(&output.stdout));
    }
}

#[test]
fn run_keeps_both_stores_in_one_folder() {
    let folder = TempDir::new().expect("a folder");
    let (store, file) = (path(&folder.path().join("stores")), example("millionaires.bwp"));
    for _ in 0..2 {
        let mut command =
            brickwork(&["run", &file, "--garbler", "5", "--evaluator", "3", "--store", &store, "--json"]);
        let output =
            command.env("BRICKWORK_STORE_KEY", "5e".repeat(32)).output().expect("the command starts");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let result = object(&output);
        assert_eq!(result["outputs"]["evaluator"], json!({ "alice": 1, "bob": 0 }));
        assert!(result["made_on_the_spot"].is_string());
    }
}

/// A generator of times for kills, so that a failure can be repeated (if the machine behaves the same).
struct Moments(u64);

impl Moments {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// The results of the kills.
#[derive(Default)]
struct Tally {
    /// For each command and killed party: the number of processes that were killed in time, and of processes
    /// that had ended before.
    kills: BTreeMap<(&'static str, &'static str), [u32; 2]>,
    /// The number of other parties that succeeded, that saw the connection end, and that waited for a peer
    /// that never came.
    survivors: [u32; 3],
    /// The numbers of later runs: those that used remaining stock, and those that used new stock. All gave
    /// the right result.
    runs: [u32; 2],
}

impl Tally {
    fn in_time(&self) -> u32 {
        self.kills.values().map(|kills| kills[0]).sum()
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "kill -9 in        of           in time   too late")?;
        for ((command, victims), [in_time, late]) in &self.kills {
            writeln!(f, "{command:<17} {victims:<12} {in_time:>7} {late:>10}")?;
        }
        let [done, saw, waited] = self.survivors;
        writeln!(
            f,
            "the others: {done} were done, {saw} saw the connection end, {waited} waited for a peer that \
             never came"
        )?;
        let [left, made] = self.runs;
        write!(
            f,
            "{} runs afterwards, all right: {left} from what was left, {made} from what was made then",
            left + made
        )
    }
}

/// Rows 20 and 21 of the table of attacks: one of the processes or both are killed at random times while they
/// make stock or run a program. After each kill both stores are sound. Their logs only grow, and are equal
/// except for an entry that the other party is about to write. A program then gives the right result, from
/// remaining or from new stock, and no epoch is burned.
#[test]
fn row_21_kill_9_at_any_moment() {
    let kills: u32 = std::env::var(KILLS_VARIABLE).ok().and_then(|n| n.parse().ok()).unwrap_or(KILLS);
    let parties = Parties::new("millionaires.bwp");
    let stock = format!("{}=2", parties.file);
    let fill = || ROLES.map(|role| parties.preprocess(role, &["--component", &stock]));
    let use_it = || [parties.run("garbler", "1000000", &[]), parties.run("evaluator", "1250000", &[])];
    // Measures the time of a command, so that the kills cover it.
    let timed = |arguments: [Vec<String>; 2]| {
        let start = Instant::now();
        parties.good(arguments);
        start.elapsed()
    };
    let mut times = [timed(fill()), timed(use_it())].map(|time| time.as_micros() as u64);
    let (mut moments, mut tally) = (Moments(1), Tally::default());
    let mut before = parties.logs();
    while tally.in_time() < kills {
        parties.forgive();
        let what = moments.below(2) as usize;
        let mut children = parties.start(if what == 0 { fill() } else { use_it() });
        let moment = times[what] * moments.below(1000) / 1000;
        std::thread::sleep(Duration::from_micros(moment));
        let (victims, names): (&[usize], _) =
            [(&[0][..], "the garbler"), (&[1], "the evaluator"), (&[0, 1], "both")]
                [moments.below(3) as usize];
        let came = victims.iter().any(|&victim| children[victim].try_wait().expect("a state").is_none());
        tally.kills.entry((["preprocess", "run from stock"][what], names)).or_default()
            [usize::from(!came)] += 1;
        // The times of the kills are adapted to the speed of the machine.
        times[what] =
            if came { times[what] + times[what] / 16 } else { times[what] - times[what] / 4 }.max(1000);
        for &victim in victims {
            // This sends SIGKILL; the process may have ended by itself.
            let _ = children[victim].kill();
        }
        for (child, (k, role)) in children.into_iter().zip(ROLES.into_iter().enumerate()) {
            let (output, waited) = finish_within(child, PATIENCE);
            // A process succeeded, was killed, or saw the other one go. Nothing else is allowed.
            let code = output.status.code();
            assert!(
                [Some(0), Some(4), None].contains(&code),
                "{tally}\n{role} {code:?} {} {}",
                text(&output.stdout),
                text(&output.stderr)
            );
            if !victims.contains(&k) {
                tally.survivors[if waited { 2 } else { usize::from(code != Some(0)) }] += 1;
            }
        }
        let after = parties.logs();
        only_grown(&before, &after);
        before = after;
        // Half of the time a run follows at once. Otherwise the next kill comes first.
        if moments.below(2) == 0 {
            parties.forgive();
            let results = parties.millionaires(&[]);
            tally.runs[usize::from(!results[0]["made_on_the_spot"].is_null())] += 1;
            let after = parties.logs();
            only_grown(&before, &after);
            before = after;
        }
    }
    parties.forgive();
    parties.millionaires(&[]);
    let last = parties.logs();
    only_grown(&before, &last);
    for (garbler, evaluator) in last[0].iter().zip(&last[1]) {
        assert_eq!(garbler["head"], evaluator["head"]);
    }
    tally.to_string().lines().for_each(|line| println!("counted: {line}"));
}

/// A party waits this long if it listens for a peer that was killed before it connected. A party with a
/// connection notices at once that its peer is gone.
const PATIENCE: Duration = Duration::from_secs(1);

/// Waits for the end of a process, and kills it after this time. Returns whether that was necessary.
pub fn finish_within(mut child: Child, patience: Duration) -> (Output, bool) {
    let start = Instant::now();
    while child.try_wait().expect("a state").is_none() {
        if start.elapsed() > patience {
            let _ = child.kill();
            return (finish(child), true);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    (finish(child), false)
}

/// Checks that no log entry changes or disappears. An epoch with entries stays until it is used up; it is
/// burned only after a cheat or by the user. Both parties must count the items that programs took in the same
/// way, item after item for each batch.
fn only_grown(before: &[Vec<Value>; 2], after: &[Vec<Value>; 2]) {
    for (before, after) in before.iter().zip(after) {
        for old in before.iter().filter(|epoch| epoch["entries"] != 0) {
            let Some(new) = after.iter().find(|epoch| epoch["id"] == old["id"]) else {
                assert_eq!(old["condition"], "burned", "an epoch was lost");
                continue;
            };
            let (old, new) = (old["log"].as_array().expect("a log"), new["log"].as_array().expect("a log"));
            assert!(new.starts_with(old), "a log was rewritten: {old:?} {new:?}");
        }
        let sound = |epoch: &Value| epoch["burned"].is_null() || epoch["burned"] == "all its items are used";
        assert!(after.iter().all(sound), "an honest crash burned an epoch: {after:?}");
    }
    let shared = |epoch: &Value| -> Vec<Value> {
        let own = ["stored", "confirmed", "burned", "lent", "returned"];
        epoch["log"]
            .as_array()
            .expect("a log")
            .iter()
            .filter(|e| !own.contains(&e["entry"].as_str().expect("a name")))
            .cloned()
            .collect()
    };
    for mine in &after[0] {
        let Some(theirs) = after[1].iter().find(|epoch| epoch["id"] == mine["id"]) else { continue };
        let (mine, theirs) = (shared(mine), shared(theirs));
        let (short, long) = if mine.len() < theirs.len() { (mine, theirs) } else { (theirs, mine) };
        assert!(
            long.starts_with(&short) && long.len() <= short.len() + 1,
            "the logs part: {short:?} {long:?}"
        );
    }
}

/// A run uses the cut that is in stock. If the user names another cut, its items are made during the run, or
/// the run is refused.
#[test]
fn the_cut_is_one_that_is_in_stock() {
    let mut parties = Parties::new("millionaires.bwp");
    good(&["examples", "aes128_encrypt", "-o", &parties.keys.file("")]);
    let (source, one_piece) = (parties.keys.file("aes128_encrypt.wir"), parties.keys.file("one.bwp"));
    good(&["compile", &source, "--inline", "*", "-o", &one_piece]);
    parties.fill(&format!("{one_piece}=2"));
    parties.file = source;
    let inputs = ROLES.map(|role| format!("@{}", parties.keys.file(&format!("aes128_encrypt.{role}.json"))));
    let run = |flags: [&[&str]; 2]| {
        parties
            .both([0, 1].map(|k| parties.run(ROLES[k], &inputs[k], &[&["--no-top-up"], flags[k]].concat())))
    };
    for flags in [[&[][..], &[]], [&["--cut", "inline:*"], &["--cut", "inline:*"]]] {
        for output in run(flags) {
            let json = object(&output);
            assert_eq!((output.status.code(), &json["cut"]), (Some(0), &json!("inline:*")), "{json}");
        }
    }
    run([&["--cut", "given"], &[]]).iter().for_each(|output| is_error(output, 6, ""));
    let [_, evaluator] = run([&["--cut", "inline:*"], &["--cut", "given"]]);
    is_error(&evaluator, 7, "wants --cut given");
}

/// The commands at the beginning of the guide work as printed, line after line. A listening command continues
/// while the next command runs.
#[test]
#[cfg(unix)]
fn the_guide_works_as_printed() {
    let page = std::fs::read_to_string(example("../docs/guides/stock.md")).expect("the page");
    let block = page.split("```\n").nth(1).expect("a block");
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["aes-128.bwp", "aes-128.garbler.json", "aes-128.evaluator.json"] {
        std::fs::copy(example(name), folder.path().join(name)).expect("a copy");
    }
    let command = path(Path::new(env!("CARGO_BIN_EXE_brickwork")));
    // The process that listens, its address, and its output.
    let (mut listening, mut address, mut said) = (None, String::new(), String::new());
    for line in block.lines().filter(|line| !line.is_empty()) {
        let (_, line) = line.split_once("$ ").expect("a prompt");
        let line = line.trim_start().replacen("brickwork", &format!("'{command}'"), 1);
        let line = line.replace("0.0.0.0:7000", "127.0.0.1:0").replace("alice.example:7000", &address);
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("umask 077; exec {line}")]).current_dir(folder.path());
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        shell.env("XDG_CACHE_HOME", caches());
        if line.contains("--listen") {
            let mut child = Child::spawn(&mut shell);
            address = super::address(&mut child);
            listening = Some(child);
            continue;
        }
        for output in
            [Some(shell.output().expect("a shell")), listening.take().map(finish)].into_iter().flatten()
        {
            assert_eq!(output.status.code(), Some(0), "{line}: {}", text(&output.stderr));
            said += &text(&output.stdout);
        }
    }
    assert!(said.contains("10 executions") && said.contains("The evaluator learns"), "{said}");
}
