//! Tests machines whose clock is not set.

use super::*;

/// A library that lets a process see a clock before 1970.
const EARLY: &str = r#"
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec = -1000000;
    return result;
}
"#;

/// With a clock before 1970, keys, runs with stock and logs work, and a service refuses because it cannot
/// date its answers.
#[test]
fn a_clock_before_1970_is_no_panic() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| path(&folder.path().join(name));
    std::fs::write(file("early.c"), EARLY).unwrap();
    let (source, library) = (file("early.c"), file("early.so"));
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o", &library, &source]).status();
    assert!(built.is_ok_and(|status| status.success()), "cc, which links Rust programs, builds a library");
    let early = |arguments: &[&str]| brickwork(arguments).env("LD_PRELOAD", &library).output().unwrap();

    let program = example("millionaires.bwp");
    let (log, store, key) = (file("log"), file("stock"), file("store.key"));
    let made = early(&["keygen", "--store-key", "-o", &key]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let parties = ["--garbler", "7", "--evaluator", "5", "--store", &store, "--store-key", &key];
    let ran = early(&[&["--log", &log, "run", &program], &parties[..]].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert!(text(&ran.stdout).contains("alice"), "{}", text(&ran.stdout));
    let listed = early(&["stock", "ls", &path(&Path::new(&store).join("garbler")), "--store-key", &key]);
    assert_eq!(listed.status.code(), Some(0), "{}", text(&listed.stderr));
    let none = file("none.toml");
    let serves = early(&["serve", "--config", &none, "--store", &store, "--store-key", &key]);
    assert!(serves.status.code() == Some(1) && text(&serves.stderr).contains("clock"), "{serves:?}");
}
