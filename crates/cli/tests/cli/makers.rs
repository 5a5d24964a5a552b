//! Tests `brickwork maker`: each party has a coordinator and makers as separate processes. Any of them may be
//! killed at any time, and a process that is not a maker of the party is refused.
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::stock::{Parties, ROLES, finish_within};
use super::workers::{EXECUTIONS, by_three_workers, run_all, verified};
use super::*;

/// The number of makers of a party. The third worker is a thread of its coordinator.
const MAKERS: usize = 2;

/// Makes a key, and returns its public part.
fn key(parties: &Parties, name: &str) -> String {
    text(&run(&["keygen", "-o", &parties.keys().file(name)]).stdout).trim_end().to_owned()
}

/// Returns a free port. The system never gives this port to a process that asks for any port.
fn free() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 100) as u16 * 100;
    let mut ports = (0..100).map(|_| first + NEXT.fetch_add(1, Ordering::Relaxed) % 100);
    let port = ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a free port");
    format!("127.0.0.1:{port}")
}

/// A waiting maker: its process, and the data that its coordinator needs.
struct Waiting {
    child: Child,
    flag: String,
    /// The address for the peer's worker.
    peer_listen: Option<String>,
}

fn maker(parties: &Parties, role: &str, name: &str, more: &[&str]) -> Waiting {
    let name = format!("{role}'s {name}.key");
    let path = parties.keys().file(&name);
    let public = match Path::new(&path).exists() {
        true => std::fs::read_to_string(format!("{path}.pub")).expect("a public key"),
        false => {
            let public = key(parties, &name);
            std::fs::write(format!("{path}.pub"), &public).expect("a file");
            public
        }
    };
    let party = if role == "garbler" { &parties.keys().garbler } else { &parties.keys().evaluator };
    // The garbler's makers also listen for the peer's workers.
    let peer_listen = (role == "garbler").then(free);
    let own = ["maker", "--listen", "127.0.0.1:0", "--identity", &path, "--party", party, "--json"];
    let listens = peer_listen.iter().flat_map(|address| ["--peer-listen", address]);
    let mut child = start(&own.into_iter().chain(listens).chain(more.iter().copied()).collect::<Vec<_>>());
    let flag = format!("{}={public}", address(&mut child));
    Waiting { child, flag, peer_listen }
}

/// All processes that make stock: the coordinators, with the garbler's first, and each party's makers.
struct Making {
    coordinators: [Child; 2],
    makers: [Vec<Child>; 2],
}

fn making(parties: &Parties, timeout: &str) -> Making {
    let component = format!("{}={EXECUTIONS}", parties.file);
    let common = ["--component", &component, "--workers", "3", "--timeout", timeout];
    let [garblers, evaluators] = ROLES.map(|role| -> Vec<Waiting> {
        (0..MAKERS).map(|k| maker(parties, role, &k.to_string(), &["--timeout", timeout])).collect()
    });
    let flags = |makers: &[Waiting]| -> Vec<String> {
        makers.iter().flat_map(|maker| ["--maker".to_owned(), maker.flag.clone()]).collect()
    };
    let places = garblers.iter().filter_map(|maker| maker.peer_listen.clone());
    let places: Vec<String> = places.flat_map(|place| ["--worker-at".to_owned(), place]).collect();
    let launch = |role, more: Vec<String>, address: [&str; 2]| {
        let arguments = parties.preprocess(role, &common);
        let all = arguments.iter().chain(&more).map(String::as_str).chain(address);
        start(&all.collect::<Vec<_>>())
    };
    let mut first = launch("garbler", flags(&garblers), ["--listen", "127.0.0.1:0"]);
    let at = address(&mut first);
    let second = launch("evaluator", [flags(&evaluators), places].concat(), ["--connect", &at]);
    let children = |makers: Vec<Waiting>| makers.into_iter().map(|maker| maker.child).collect();
    Making { coordinators: [first, second], makers: [children(garblers), children(evaluators)] }
}

/// Checks that all processes succeed, and that each maker has a share of each step.
fn all_good(making: Making) -> [Value; 2] {
    let good = |child| {
        let (output, waited) = finish_within(child, Duration::from_secs(120));
        assert!(
            !waited && output.status.code() == Some(0),
            "{} {}",
            text(&output.stdout),
            text(&output.stderr)
        );
        object(&output)
    };
    let done = making.coordinators.map(good);
    for (role, makers) in ROLES.iter().zip(making.makers) {
        for made in makers.into_iter().map(good) {
            schema::holds_for("maker", &made);
            assert_eq!((&made["role"], &made["shares"]), (&json!(role), &json!(2)));
        }
    }
    done
}

/// Rows 4, 16 and 21 of the table of attacks: a program takes buckets that a thread and two makers of either
/// party made.
#[test]
fn row_16_makers_make_what_one_run_takes() {
    let parties = Parties::new("millionaires.bwp");
    for done in all_good(making(&parties, "10")) {
        by_three_workers(&done);
    }
    for role in ROLES {
        assert_eq!(parties.executions(role), u64::from(EXECUTIONS));
    }
    verified(&parties);
    run_all(&parties);
    let report = parties.stock("evaluator", "export-report", &[]);
    let report = good(&report.iter().map(String::as_str).collect::<Vec<_>>()).1;
    let entries = report["epochs"][0]["log"].as_array().expect("a log").iter();
    let own: Vec<_> = entries.filter(|e| ["lent", "returned"].iter().any(|own| e["entry"] == *own)).collect();
    assert_eq!(own.len(), 4, "of two steps: {own:?}");
}

/// The number of times that a process is killed.
const KILLS: u32 = 6;

/// Row 21 of the table of attacks: any process is killed while all make stock. If a part of a store is
/// burned, the log has the reason: the party's own process was killed, or the peer's log differs. The same
/// commands then make the part again.
#[cfg(unix)]
#[test]
fn row_21_kill_9_of_makers_and_coordinators() {
    let (whole, alone) = (Instant::now(), Parties::new("millionaires.bwp"));
    all_good(making(&alone, "10"));
    let whole = whole.elapsed();
    let (mut in_time, mut tries, mut burned) = (0, 0, 0);
    let parties = Parties::new("millionaires.bwp");
    while in_time < KILLS && tries < 40 {
        parties.forgive();
        let Making { mut coordinators, mut makers } = making(&parties, "3");
        std::thread::sleep(whole * (1 + tries % 5) / 10);
        let (role, which) = (tries as usize % 2, tries as usize / 2 % 3);
        let victim = if which < MAKERS { &mut makers[role][which] } else { &mut coordinators[role] };
        victim.kill().expect("a signal");
        let ended = coordinators.map(|child| finish_within(child, Duration::from_secs(30)));
        // Makers whose coordinator is gone notice it at once. Makers that are never called wait for the whole
        // timeout.
        let patience = Duration::from_secs(10);
        let makers =
            makers.map(|all| all.into_iter().map(|child| finish_within(child, patience)).collect::<Vec<_>>());
        let all = || ended.iter().chain(makers.iter().flatten());
        for (output, waited) in all() {
            let code = output.status.code();
            // The process was killed, succeeded, or lost a connection; or no coordinator called it.
            let known = [None, Some(0), Some(4), Some(6)].contains(&code);
            let called = text(&output.stderr).contains("the party has connected");
            assert!(known && !(*waited && called), "{code:?} {output:?}");
        }
        in_time += u32::from(all().any(|(output, _)| output.status.code() != Some(0)));
        tries += 1;
        for role in ROLES {
            // Opening the store burns the parts that a killed coordinator left behind.
            let verify = parties.stock(role, "verify", &[]);
            let verified = run(&verify.iter().map(String::as_str).collect::<Vec<_>>());
            assert!(verified.status.success() || text(&verified.stderr).contains("is not a store"));
            if !verified.status.success() {
                continue;
            }
            for epoch in parties.ls(role)["epochs"].as_array().expect("epochs") {
                let Some(why) = epoch["burned"].as_str() else { continue };
                let known = ["without a report", "makers had the secrets", "the peer has a different log"];
                assert!(known.iter().any(|words| why.contains(words)), "{why}");
                burned += 1;
            }
        }
    }
    assert!(in_time >= KILLS, "{in_time} of {tries} were killed in time");
    println!("counted: {in_time} of {tries} kills in time, {burned} times a burned part was seen");
    parties.forgive();
    // In the next connection, the party that was not killed burns the epoch, too, and the command fails.
    let component = format!("{}=1", parties.file);
    let met = parties.both(ROLES.map(|role| parties.preprocess(role, &["--component", &component])));
    assert!(met.iter().all(|output| [Some(0), Some(6)].contains(&output.status.code())), "{met:?}");
    all_good(making(&parties, "10"));
    run_all(&parties);
}

/// Row 24 of the table of attacks: a process that is not a maker of this party is refused before it gets any
/// data. The cases are the peer, the party itself, a maker that is named twice, a maker of another party, and
/// a maker with another key.
#[test]
fn row_24_strangers_are_no_makers() {
    let parties = Parties::new("millionaires.bwp");
    let component = format!("{}={EXECUTIONS}", parties.file);
    let with = |role: &str, makers: &[&str]| -> Vec<String> {
        let flags = makers.iter().flat_map(|maker| ["--maker", maker]);
        let own = ["--component", &component, "--workers", "2", "--timeout", "2"];
        parties.preprocess(role, &own.into_iter().chain(flags).collect::<Vec<_>>())
    };
    let [own, peer] = [&parties.keys().garbler, &parties.keys().evaluator];
    let other = key(&parties, "other.key");
    let at = |port: u16, key: &str| format!("127.0.0.1:{port}={key}");
    for (makers, words) in [
        (vec![at(1, peer)], "peer's key"),
        (vec![at(1, own)], "own key"),
        (vec![at(1, &other), at(2, &other)], "named twice"),
        (vec!["nothing".to_owned()], "HOST:PORT=PUBKEY"),
        (vec![at(1, "nothing")], "public key"),
    ] {
        let makers: Vec<&str> = makers.iter().map(String::as_str).collect();
        let arguments = with("garbler", &makers);
        let all = arguments.iter().map(String::as_str).chain(["--listen", "127.0.0.1:0"]);
        is_error(&run(&all.collect::<Vec<_>>()), 2, words);
    }
    // The first maker works for the peer, and the second has a key that the command does not expect.
    let mut of_peer = maker(&parties, "evaluator", "0", &[]);
    let mut ours = maker(&parties, "garbler", "0", &[]);
    let (address, _) = ours.flag.split_once('=').expect("a flag");
    for flag in [of_peer.flag.clone(), format!("{address}={other}")] {
        let [garbler, evaluator] = parties.both([with("garbler", &[&flag]), with("evaluator", &[])]);
        is_error(&garbler, 4, "the maker at");
        assert_eq!(evaluator.status.code(), Some(4));
        for role in ROLES {
            assert!(parties.ls(role)["epochs"].as_array().expect("epochs").is_empty());
        }
    }
    // Both makers still wait for their party.
    for waiting in [&mut of_peer, &mut ours] {
        assert!(waiting.child.try_wait().expect("a state").is_none());
    }
    let party = ["--party", own, "--identity", &parties.keys().file("garbler.key")];
    is_error(
        &run(&[&["maker", "--listen", "127.0.0.1:0", "--json"][..], &party].concat()),
        2,
        "is the key of the party",
    );
}
