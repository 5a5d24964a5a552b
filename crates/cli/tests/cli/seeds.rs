//! Runs the fuzz targets on their seeds and on earlier findings, with the stable compiler.

#[path = "../../../../fuzz/targets/lines.rs"]
mod lines;
#[path = "../../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../../fuzz/targets/users.rs"]
mod users;

use replay::{corpus, replay};

#[test]
fn values() {
    replay("value", 30, 22, |_, seed| users::value(seed));
    corpus("value", 20_000, users::value);
}

#[test]
fn lists() {
    replay("list", 30, 22, |_, seed| users::list(seed));
    corpus("list", 20_000, users::list);
}

#[test]
fn lines_of_the_command() {
    replay("lines", 0, 20, |name, seed| {
        assert_eq!(lines::lines(seed), !name.starts_with("bad_"), "{name}");
    });
    replay("lines", 30, 20, |_, seed| {
        lines::lines(seed);
    });
    corpus("lines", 20_000, |input| {
        lines::lines(input);
    });
}
