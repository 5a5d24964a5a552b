//! The seeds of the fuzz targets, and what fuzzing has found, on the stable compiler.

#[path = "../../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../../fuzz/targets/users.rs"]
mod users;

use replay::replay;

#[test]
fn tables() {
    replay("table", 30, 12, |_, seed| users::table(seed));
}

#[test]
fn lists() {
    replay("list", 30, 12, |_, seed| users::list(seed));
}

#[test]
fn keys() {
    replay("keys", 30, 10, |_, seed| users::keys(seed));
}
