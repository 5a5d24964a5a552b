//! Tests the refusal of flags in every command and protocol: schemes other than half-gates, security levels
//! without security against a cheater, and stores of other protocols. Each error has a hint.

use brickwork::disk::{Epoch, EpochEntry, EpochSecrets, FillStep, Store, StoreKey};
use brickwork::{Security, circuit::Party};

use super::stock::{Parties, ROLES};
use super::*;

const PROTOCOLS: [&str; 6] = ["duplo", "semi-honest", "compgc", "jimu", "lego", "authenticated"];
/// The protocols that are not secure against a cheater.
const SEMI_HONEST: [&str; 2] = ["semi-honest", "compgc"];
/// The protocols with stock, and the security level of each one's epochs in this test.
const STOCKED: [(&str, u32); 6] =
    [("duplo", 40), ("semi-honest", 0), ("compgc", 0), ("lego", 40), ("jimu", 40), ("authenticated", 40)];

/// Returns the commands that have a flag for the protocol.
fn commands(parties: &Parties) -> Vec<Vec<String>> {
    let with = |arguments: Vec<String>, more: &[&str]| -> Vec<String> {
        arguments.into_iter().chain(more.iter().map(|s| s.to_string())).collect()
    };
    let [listen, connect] = [["--listen", "127.0.0.1:0"], ["--connect", "127.0.0.1:1"]];
    let file = &parties.file;
    let party = |role: &str| parties.without_store(role, "7");
    let three = format!("{file}=3");
    vec![
        with(party("garbler"), &listen),
        with(party("evaluator"), &connect),
        with(["doctor", "--role"].map(str::to_owned).into_iter().chain(party("garbler")).collect(), &listen),
        with(parties.preprocess("garbler", &["--component", &three]), &listen),
        with(vec!["run".into(), file.clone()], &["--garbler", "1", "--evaluator", "2", "--json"]),
        with(vec!["plan".into(), file.clone()], &["--json"]),
    ]
}

/// Asserts that a command with these flags ends with this code, these words, and a hint.
fn refused(command: &[String], flags: &[&str], code: i32, words: &str) {
    let all: Vec<&str> = command.iter().map(String::as_str).chain(flags.iter().copied()).collect();
    let output = run(&all);
    assert!(
        text(&output.stdout).contains(words),
        "{all:?}: {} {}",
        text(&output.stdout),
        text(&output.stderr)
    );
    is_error(&output, code, words);
}

/// Every protocol refuses every scheme other than half-gates, in every command.
#[test]
fn no_protocol_takes_another_scheme() {
    let parties = Parties::new("millionaires.bwp");
    let schemes = [
        ("ga", "brickwork garble --scheme ga"),
        ("gax", "brickwork garble --scheme gax"),
        ("gaxr", "brickwork garble --scheme gaxr"),
        ("privacy-free", "shows the evaluator every bit of the inputs"),
    ];
    for (p, protocol) in PROTOCOLS.iter().enumerate() {
        for (c, command) in commands(&parties).iter().enumerate() {
            let (scheme, words) = schemes[(p + c) % schemes.len()];
            refused(command, &["--protocol", protocol, "--scheme", scheme], 2, words);
        }
    }
}

/// If nothing is checked, a security level has no effect, and the flag is refused. This also holds for
/// garblings in files.
#[test]
fn what_does_not_hold_against_a_cheater_has_no_level() {
    let parties = Parties::new("millionaires.bwp");
    for protocol in SEMI_HONEST {
        let words = format!("--security has no effect with --protocol {protocol}");
        for (c, command) in commands(&parties).iter().enumerate() {
            let level = ["40", "64", "80"][c % 3];
            refused(command, &["--protocol", protocol, "--security", level], 2, &words);
        }
    }
    for command in [
        &["garble", "x", "--garbled", "f", "--tokens", "e", "--decoding", "d", "--json"][..],
        &["garbled-inputs", "x", "--tokens", "e", "--garbler", "1", "--evaluator", "2", "-o", "o", "--json"],
        &["evaluate-garbled", "f", "--inputs", "i", "-o", "o", "--json"],
        &["decode-garbled", "y", "--decoding", "d", "--json"],
    ] {
        let command: Vec<String> = command.iter().map(|s| s.to_string()).collect();
        refused(&command, &["--security", "64"], 2, "with --protocol duplo");
        refused(&command, &["--protocol", "lego"], 2, "use `brickwork run --protocol lego`");
        refused(&command, &["--store", "s"], 2, "use `brickwork preprocess`");
    }
}

/// Makes both parties' stores as if this protocol had filled them.
fn stores_of(parties: &Parties, (protocol, bits): (&str, u32)) {
    for (role, party) in ROLES.iter().zip([Party::Garbler, Party::Evaluator]) {
        let folder = parties.store(role);
        let _ = std::fs::remove_dir_all(&folder);
        let store = Store::open(Path::new(&folder), &StoreKey::from_bytes([0x5e; 32])).unwrap();
        let epoch = Epoch {
            protocol: protocol.into(),
            version: brickwork::protocol::PROTOCOL_VERSION,
            role: party,
            security: Security::of(bits),
            identities: parties.identities(),
            created: 0,
            max_age: u64::MAX,
            fixed: 0,
            early: 0,
            counted: brickwork::disk::Counted::Nothing,
        };
        store.begin(&[3; 32], &epoch, &EpochSecrets::fixed(b"secrets")).unwrap();
        let step = FillStep { job: [1; 32], number: 0, of: 1, risk: 0, workers: 1 };
        let _ = store.append(&[3; 32], &EpochEntry::Fill(step)).unwrap();
    }
}

/// Stock of one protocol is refused by all others, for runs and for making stock, and nothing of it is lost.
/// A protocol without stock refuses any store.
#[test]
fn no_protocol_takes_the_stock_of_another() {
    let parties = Parties::new("millionaires.bwp");
    let three = format!("{}=3", parties.file);
    for (m, made) in STOCKED.iter().enumerate() {
        stores_of(&parties, *made);
        for (t, (this, _)) in STOCKED.iter().enumerate().filter(|(t, _)| *t != m) {
            let flags = ["--protocol", *this];
            let outputs = parties.both(match (m + t) % 2 {
                0 => ROLES.map(|role| parties.run(role, "7", &flags)),
                _ => ROLES
                    .map(|role| parties.preprocess(role, &[&flags[..], &["--component", &three]].concat())),
            });
            let words = format!(
                "was made for the protocol {}, but this run uses {this}; give another --store",
                made.0
            );
            outputs.iter().for_each(|output| is_error(output, 6, &words));
        }
        let store = Store::open(Path::new(&parties.store("garbler")), &StoreKey::from_bytes([0x5e; 32]));
        assert_eq!(store.unwrap().epochs().unwrap().len(), 1, "nothing was made, nothing lost");
    }
}
