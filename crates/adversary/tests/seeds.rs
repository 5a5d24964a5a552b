//! Replays the seeds of the fuzz targets, and the inputs that fuzzing found, with the stable compiler.

#[path = "../../../fuzz/targets/altered.rs"]
mod altered;
#[path = "../../../fuzz/targets/circuit.rs"]
mod circuit;
#[path = "../../../fuzz/targets/garbling.rs"]
mod garbling;
#[path = "../../../fuzz/targets/ledgers.rs"]
mod ledgers;
#[path = "../../../fuzz/targets/makers.rs"]
mod makers;
#[path = "../../../fuzz/targets/messages.rs"]
mod messages;
#[path = "../../../fuzz/targets/relatives.rs"]
mod relatives;
#[path = "../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/session.rs"]
mod session;
#[path = "../../../fuzz/targets/store.rs"]
mod store;

use replay::{corpus, replay};

/// The seeds that are messages of an honest peer; all others are refused.
const UNDERSTOOD: [&str; 24] = [
    "frames_alive",
    "frames_one",
    "frames_three",
    "greeting_honest_e",
    "greeting_honest_g",
    "greeting_nonce",
    "greeting_nonce_end",
    "greeting_parameters",
    "proposal_ands_40",
    "proposal_ands_80",
    "proposal_toy_40",
    "proposal_toy_80",
    "decomposition_none",
    "decomposition_given",
    "decomposition_whole",
    "base_ots",
    "bits",
    "transport",
    "transport_lane",
    "hello_new",
    "hello_again",
    "intent_refuse",
    "intent_use",
    "intent_damaged",
];

#[test]
fn messages() {
    replay("messages", 0, 50, |name, seed| {
        // A peer's report about its logs is accepted with any content unless it is too long.
        let good = UNDERSTOOD.contains(&name) || name.starts_with("standings_") && name != "standings_huge";
        assert_eq!(messages::messages(seed), good, "{name}");
    });
    replay("messages", 40, 50, |_, seed| {
        messages::messages(seed);
    });
    corpus("messages", 20_000, |input| {
        messages::messages(input);
    });
}

#[test]
fn lines_within_a_party() {
    // The name of a file with an invalid message begins with `bad_`.
    replay("makers", 0, 50, |name, seed| {
        assert_eq!(makers::makers(seed), !name.starts_with("bad_"), "{name}");
    });
    replay("makers", 20, 50, |_, seed| {
        makers::makers(seed);
    });
    corpus("makers", 300, |input| {
        makers::makers(input);
    });
}

#[test]
fn files_of_jobs() {
    replay("ledgers", 0, 15, |name, seed| {
        let is_whole = name.starts_with("whole_") || ["raw_ledger", "raw_said"].contains(&name);
        assert!(ledgers::ledgers(seed) == is_whole || name == "raw_ledger", "{name}");
    });
    corpus("ledgers", 1000, |input| {
        ledgers::ledgers(input);
    });
}

#[test]
fn sessions() {
    // A session with unaltered messages finishes; a session with a malformed message does not. (A flipped bit
    // of a commitment that is not watched has no effect.)
    replay("session", 0, 20, |name, seed| {
        let finished = session::session(seed);
        let flipped = name.starts_with("flip") || name.starts_with("late");
        assert!(finished == name.starts_with("honest") || flipped, "{name}");
    });
    corpus("session", 16, |input| {
        session::session(input);
    });
}

#[test]
fn sessions_of_relatives() {
    replay("relatives", 0, 40, |name, seed| {
        let finished = relatives::relatives(seed);
        assert!(finished == name.starts_with("honest") || name.starts_with("flip"), "{name}");
    });
    corpus("relatives", 16, |input| {
        relatives::relatives(input);
    });
}

#[test]
fn circuits() {
    replay("circuit", 30, 4, |_, seed| circuit::circuit(seed));
    corpus("circuit", 20_000, circuit::circuit);
}

#[test]
fn stores() {
    replay("store", 0, 26, |name, seed| {
        let read = store::store(seed);
        match name.split_once('_') {
            Some(("files", how)) => {
                assert!(if read { !how.ends_with("_segment") } else { how != "honest" }, "{name}")
            }
            _ => assert_eq!(read, name != "record_bucket_of_none", "{name}"),
        }
    });
    replay("store", 60, 26, |name, seed| {
        // Tests of files are slow, and tests of edits to files need not be limited.
        if !name.starts_with("files") {
            store::store(seed);
        }
    });
    corpus("store", 200, |input| {
        store::store(input);
    });
}

#[test]
fn garblings() {
    // A garbling is read. The name of an invalid file tells what is wrong.
    replay("garbling", 0, 30, |name, seed| {
        assert_eq!(garbling::garbling(seed), !name.starts_with("bad_"), "{name}");
    });
    replay("garbling", 60, 30, |_, seed| {
        garbling::garbling(seed);
    });
    corpus("garbling", 50_000, |input| {
        garbling::garbling(input);
    });
}
