//! Tests `preprocess --workers`: two processes with several workers each, `kill -9` of either process at any
//! time, and peers with different flags.
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use std::time::{Duration, Instant};

use serde_json::json;

use super::stock::{Parties, ROLES, finish_within};
use super::*;

/// The number of executions, which is so large that no single worker makes enough for it.
pub const EXECUTIONS: u32 = 7;

/// Returns the flags of both parties, with these numbers of workers.
fn making(parties: &Parties, workers: [&str; 2]) -> [Vec<String>; 2] {
    let component = format!("{}={EXECUTIONS}", parties.file);
    let more = |k: usize| ["--component", &component, "--workers", workers[k]];
    [0, 1].map(|k| parties.preprocess(ROLES[k], &more(k)))
}

/// Runs all executions at once, and checks the result.
pub fn run_all(parties: &Parties) {
    let [mine, theirs] = [1_000_000u64, 1_250_000].map(|first| {
        let values: Vec<u64> = (0..u64::from(EXECUTIONS)).map(|k| first + k * 50_000 * (first % 3)).collect();
        (json!(values).to_string(), values)
    });
    let executions = EXECUTIONS.to_string();
    let more = ["--executions", &executions, "--no-top-up"];
    let results =
        parties.good([parties.run("garbler", &mine.0, &more), parties.run("evaluator", &theirs.0, &more)]);
    let wins = |(mine, theirs): (&u64, &u64)| {
        let [alice, bob] = [mine > theirs, theirs > mine].map(u8::from);
        json!({ "alice": alice, "bob": bob })
    };
    let expected: Vec<Value> = mine.1.iter().zip(&theirs.1).map(wins).collect();
    for (role, result) in ROLES.iter().zip(&results) {
        assert_eq!(result["outputs"][role], json!(expected), "{result}");
        assert!(result["promise"]["bound_log2"].as_f64().expect("a bound") <= -40.0);
    }
}

/// Checks that no stock of either party is burned.
fn unburned(parties: &Parties) {
    for role in ROLES {
        let ls = run(&parties.stock(role, "ls", &["--json"]).iter().map(String::as_str).collect::<Vec<_>>());
        // A party that was killed early has no store.
        let ls = object(&ls);
        let epochs = ls["epochs"].as_array().cloned().unwrap_or_default();
        assert!(epochs.iter().all(|epoch| epoch["condition"] != "burned"), "{ls}");
    }
}

pub fn verified(parties: &Parties) {
    unburned(parties);
    for role in ROLES {
        let verify = parties.stock(role, "verify", &[]);
        good(&verify.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

/// Checks the output of `preprocess` for two steps by three workers, wherever they run.
pub(super) fn by_three_workers(done: &Value) {
    schema::holds_for("preprocess", done);
    assert_eq!((&done["workers"], done["steps"].as_array().expect("steps").len()), (&json!(3), 2));
    let phases = done["phases"].as_array().expect("phases");
    let bytes = |phase: &Value| phase["garbler_sent_bytes"].as_u64().expect("bytes");
    assert!(phases.iter().map(bytes).sum::<u64>() > 100_000, "those of all connections: {phases:?}");
}

/// Rows 4, 16 and 21 of the table of attacks: a program uses buckets of three workers, none of which made
/// enough.
#[test]
fn row_16_workers_make_what_one_run_takes() {
    let parties = Parties::new("millionaires.bwp");
    for done in parties.good(making(&parties, ["3", "3"])) {
        by_three_workers(&done);
    }
    for role in ROLES {
        let ls = parties.ls(role);
        let batches = ls["epochs"][0]["batches"].as_array().expect("batches");
        let components = batches.iter().filter(|batch| batch["kind"] == "component");
        let mut left: Vec<u64> = components.map(|batch| batch["left"].as_u64().expect("items")).collect();
        left.sort_unstable();
        assert_eq!(left, [2, 2, 3]);
        assert_eq!(parties.executions(role), u64::from(EXECUTIONS));
    }
    verified(&parties);
    run_all(&parties);
    // The log contains the number of workers.
    let report = parties.stock("garbler", "export-report", &[]);
    let report = good(&report.iter().map(String::as_str).collect::<Vec<_>>()).1;
    let entries = report["epochs"][0]["log"].as_array().expect("a log");
    let workers: Vec<_> = entries.iter().filter(|e| e["entry"] == "fill").map(|e| &e["workers"]).collect();
    assert_eq!(workers, [3, 3]);
}

/// The number of kills.
const KILLS: u32 = 4;

/// Row 21 of the table of attacks: either process with all its workers is killed while stock is made. Nothing
/// is burned, the interrupted step is given up, and the same command makes it again without any
/// acknowledgement.
#[cfg(unix)]
#[test]
fn row_21_kill_9_while_workers_make_stock() {
    // Measures the time that the command takes without a kill.
    let (whole, alone) = (Instant::now(), Parties::new("millionaires.bwp"));
    let _ = alone.good(making(&alone, ["3", "3"]));
    let whole = whole.elapsed();
    let (mut in_time, mut tries) = (0, 0);
    let parties = Parties::new("millionaires.bwp");
    while in_time < KILLS && tries < 40 {
        let victim = tries as usize % 2;
        let [garbler, evaluator] = making(&parties, ["3", "3"]);
        let flags = |all: Vec<String>, more: [&str; 2]| {
            let more = [&more[..], &["--timeout", "2"]].concat();
            start(&all.iter().map(String::as_str).chain(more).collect::<Vec<_>>())
        };
        let mut garbler = flags(garbler, ["--listen", "127.0.0.1:0"]);
        let address = address(&mut garbler);
        let mut children = [garbler, flags(evaluator, ["--connect", &address])];
        std::thread::sleep(whole * (1 + tries % 10) / 12);
        children[victim].kill().expect("a signal");
        let [garbler, evaluator] = children.map(|child| finish_within(child, Duration::from_secs(10)));
        let (killed, (other, waited)) = match victim {
            0 => (garbler.0, evaluator),
            _ => (evaluator.0, garbler),
        };
        // The other process lost the connection of a worker or of the coordinator, had succeeded, or was
        // never called.
        let code = other.status.code();
        assert!(waited || [Some(0), Some(4)].contains(&code), "{code:?} {}", text(&other.stdout));
        in_time += u32::from(killed.status.code().is_none() && !waited);
        tries += 1;
        unburned(&parties);
    }
    assert!(in_time >= KILLS, "{in_time} of {tries} were killed in time");
    println!("counted: {in_time} of {tries} kills in time");
    let made = parties.good(making(&parties, ["3", "3"]));
    assert_eq!(made[0]["steps"], made[1]["steps"]);
    verified(&parties);
    run_all(&parties);
}

/// Row 24 of the table of attacks: parties with different numbers of workers, or of which only one has
/// workers, refuse each other before their stores are compared. Other protocols refuse the flag.
#[test]
fn row_24_both_say_how_many_workers_there_are() {
    let parties = Parties::new("millionaires.bwp");
    for workers in [["2", "3"], ["3", "2"]] {
        for output in parties.both(making(&parties, workers)) {
            is_error(&output, 7, "another number of workers");
        }
    }
    let component = format!("{}={EXECUTIONS}", parties.file);
    let without = |role| parties.preprocess(role, &["--component", &component]);
    let [garbler, evaluator] = making(&parties, ["2", "2"]);
    for arguments in [[garbler, without("evaluator")], [without("garbler"), evaluator]] {
        for output in parties.both(arguments) {
            is_error(&output, 7, "number of workers, or no job");
        }
    }
    for role in ROLES {
        assert!(parties.ls(role)["epochs"].as_array().expect("epochs").is_empty());
    }
    for (more, code, words) in [
        (["--workers", "1"], 2, "--workers"),
        (["--workers", "257"], 2, "--workers"),
        (["--protocol", "lego"], 2, "--workers"),
    ] {
        let with = ["--component", &component, "--listen", "127.0.0.1:0", "--workers", "2"];
        let flags =
            if more[0] == "--workers" { [&with[..4], &more].concat() } else { [&with[..], &more].concat() };
        let arguments = parties.preprocess("garbler", &flags);
        is_error(&run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()), code, words);
    }
}
