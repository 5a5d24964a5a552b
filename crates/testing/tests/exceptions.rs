//! Lists the code that draws from the operating system and cannot be replayed: programs, and a few tests of
//! code that draws from it.

use std::path::{Path, PathBuf};

/// The calls of `Rng::new`: the ends of the files' paths, and the beginnings of the purposes.
const GENERATORS: [(&str, &str, &str); 5] = [
    ("", "brickwork ", "what a party, the command or its measurements draw, also where a test runs them"),
    ("tools/timing/src/bin/constant-time/main.rs", "constant time", "a measurement"),
    ("tools/timing/src/bin/constant-time/jimu.rs", "constant time", "a measurement"),
    ("tools/timing/src/bin/recovery-time/main.rs", "recovery time", "a measurement"),
    ("crates/base/src/random.rs", "test", "the tests that two generators differ"),
];

/// The files that ask the operating system directly.
const SOURCES: [&str; 6] = [
    "crates/base/src/random.rs",
    "crates/store/src/chain.rs",
    "crates/store/src/seal.rs",
    "crates/store/src/segment.rs",
    "crates/wire/src/tls/identity.rs",
    // Draws the seed that is printed.
    "crates/testing/src/lib.rs",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// A test with another source of randomness could not be replayed. (Processes that the command's tests start
/// make keys and play sessions with their own randomness.)
#[test]
fn nothing_else_draws_from_the_operating_system() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    ["crates", "tools"].iter().for_each(|folder| sources(&root.join(folder), &mut files));
    files.retain(|file| !file.ends_with("testing/tests/exceptions.rs"));
    let (mut generators, mut fills) = ([0; GENERATORS.len()], [0; SOURCES.len()]);
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        for purpose in text.split("Rng::new(").skip(1) {
            let purpose = purpose.trim_start().strip_prefix('"');
            let known = GENERATORS.iter().position(|(place, begin, _)| {
                file.ends_with(place) && purpose.is_some_and(|purpose| purpose.starts_with(begin))
            });
            generators[known.unwrap_or_else(|| panic!("{file:?} draws: let it be Rng::replayable"))] += 1;
        }
        for _ in text.matches("getrandom::").chain(text.matches("RandomState")) {
            let known = SOURCES.iter().position(|place| file.ends_with(place));
            fills[known.unwrap_or_else(|| panic!("{file:?} asks the operating system for randomness"))] += 1;
        }
    }
    assert!(generators.iter().chain(&fills).all(|&times| times > 0), "{generators:?}, {fills:?}");
}
