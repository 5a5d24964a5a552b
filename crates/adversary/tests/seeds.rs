//! The seeds of the fuzz targets, and what fuzzing has found, on the stable compiler.

#[path = "../../../fuzz/targets/agreement.rs"]
mod agreement;
#[path = "../../../fuzz/targets/files.rs"]
mod files;
#[path = "../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/stock.rs"]
mod stock;
#[path = "../../../fuzz/targets/wire.rs"]
mod wire;

use replay::replay;

#[test]
fn frames() {
    replay("frames", 40, 6, |_, seed| wire::frames(seed));
}

#[test]
fn sessions() {
    // What nobody alters is finished, what does not even have its form is not. (A bit of a commitment that nobody watches may
    // be flipped: then nothing has happened.)
    replay("session", 0, 20, |name, seed| {
        let finished = wire::session(seed);
        let flipped = name.starts_with("flip") || name.starts_with("late");
        assert!(finished == name.starts_with("honest") || flipped, "{name}");
    });
}

#[test]
fn circuits() {
    replay("circuit", 30, 4, |_, seed| files::circuit(seed));
}

#[test]
fn values() {
    replay("value", 30, 10, |_, seed| files::input(seed));
}

#[test]
fn hellos() {
    let honest = ["transport", "transport_lane", "honest_g", "honest_e", "parameters", "nonce", "nonce_end"];
    replay("hello", 0, 20, |name, seed| {
        let good = honest.contains(&name) || name.starts_with("proposal_") && !["proposal_weak", "proposal_huge"].contains(&name);
        assert_eq!(agreement::hello(seed), good, "{name}");
    });
    replay("hello", 20, 20, |_, seed| {
        agreement::hello(seed);
    });
}

#[test]
fn standings() {
    replay("standings", 60, 11, |_, seed| agreement::standings(seed));
}

#[test]
fn records() {
    replay("record", 0, 9, |name, seed| {
        let written = name.starts_with("kind") || name.starts_with("secrets");
        assert_eq!(stock::record(seed), written, "{name}");
    });
    replay("record", 60, 9, |_, seed| {
        stock::record(seed);
    });
}

#[test]
fn stores() {
    replay("store", 0, 16, |name, seed| {
        let read = stock::store(seed);
        assert!(read || name != "honest", "{name}");
        assert!(!read || !name.ends_with("_segment"), "{name}");
    });
}
