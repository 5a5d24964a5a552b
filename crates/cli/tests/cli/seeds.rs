//! The seeds of the fuzz targets, and what fuzzing has found, on the stable compiler.

#[path = "../../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../../fuzz/targets/users.rs"]
mod users;

use replay::{corpus, replay};

#[test]
fn values() {
    replay("value", 30, 22, |_, seed| users::value(seed));
    corpus("value", users::value);
}

#[test]
fn lists() {
    replay("list", 30, 22, |_, seed| users::list(seed));
    corpus("list", users::list);
}
