//! A failed test can be replayed by its printed seed.

use std::process::{Command, Output};

use brickwork_testing::{SEED_VARIABLE, seed, seed_of_test};

/// Fails if the environment requests it, and prints the drawn values.
#[test]
fn drawing() {
    let drawn = [seed(), seed(), seed()];
    assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2] && drawn[0] != drawn[2]);
    assert!(std::env::var_os("FAIL").is_none(), "drawn: {drawn:?}");
}

#[test]
fn drawing_too() {
    let drawn = [seed()];
    assert!(std::env::var_os("FAIL").is_none(), "drawn: {drawn:?}");
}

/// Runs a test of this file, which fails, in another process.
fn failing(arguments: &[&str], seed: Option<&str>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(arguments).env("FAIL", "1").env_remove(SEED_VARIABLE);
    let Output { status, stdout, stderr } =
        command.envs(seed.map(|seed| (SEED_VARIABLE, seed))).output().unwrap();
    assert!(!status.success());
    String::from_utf8([stdout, stderr].concat()).unwrap()
}

/// Returns all values that follow `key`, up to the end of the line or a blank.
fn values<'a>(said: &'a str, key: &str, end: char) -> Vec<&'a str> {
    said.split(key).skip(1).filter_map(|rest| rest.split(end).next()).collect()
}

#[test]
fn a_failed_test_prints_its_seed_and_draws_the_same_again() {
    let first = failing(&["--exact", "drawing"], None);
    let (seeds, drawn) = (values(&first, "BRICKWORK_TEST_SEED=", ' '), values(&first, "drawn: ", '\n'));
    assert_eq!((seeds.len(), drawn.len()), (1, 1), "{first}");
    assert_eq!(drawn, values(&failing(&["--exact", "drawing"], Some(seeds[0])), "drawn: ", '\n'));
    // A test may run alone on its thread or beside other tests.
    for threads in ["--test-threads=1", "--test-threads=2"] {
        let both = failing(&["drawing", threads], Some(seeds[0]));
        let again = values(&both, "drawn: ", '\n');
        assert!(again.len() == 2 && again.contains(&drawn[0]) && again[0] != again[1], "{both}");
    }
    // Without the seed, the draws differ.
    assert_ne!(drawn, values(&failing(&["--exact", "drawing"], None), "drawn: ", '\n'));
}

#[test]
fn what_is_no_seed_is_not_ignored() {
    for seed in ["", "7", "+8a0c8a0c8a0c8a0c8a0c8a0c8a0c8a0", "8a0c8a0c8a0c8a0c8a0c8a0c8a0c8a0g"] {
        let said = failing(&["--exact", "drawing"], Some(seed));
        assert!(
            said.contains(&format!("BRICKWORK_TEST_SEED is {seed:?}, not 32 hexadecimal digits")),
            "{said}"
        );
    }
}

/// The order of threads is not deterministic, so they must not draw.
#[test]
fn other_threads_do_not_draw() {
    std::thread::scope(|scope| {
        assert!(scope.spawn(seed).join().is_err());
        assert_eq!(scope.spawn(seed_of_test).join().unwrap(), None);
    });
}
