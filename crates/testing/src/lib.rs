//! Random draws of tests, which can be replayed after a failure.
//!
//! A test takes the seed of each of its generators from [`seed`]. The first call prints to stderr, which is
//! shown if the test fails, the value of [`SEED_VARIABLE`] with which the test draws the same numbers again:
//!
//! ```text
//! BRICKWORK_TEST_SEED=8a0c… cargo test -p brickwork --lib name_of_the_test
//! ```
#![forbid(unsafe_code)]

pub mod command;
pub mod pages;
pub mod schema;

use std::cell::Cell;
use std::sync::OnceLock;
use std::thread;

use brickwork_base::random::{Rng, Seed};

/// The environment variable that replays the draws of tests: 32 hexadecimal digits.
pub const SEED_VARIABLE: &str = "BRICKWORK_TEST_SEED";

/// Bytes of a seed.
const BYTES: usize = 16;

/// Returns the seed of a test's next generator. Each call in each test has its own seed, and all seeds follow
/// from the printed one.
///
/// # Panics
/// If the thread belongs to no test, such as a thread that a test started: its draws would depend on the
/// order of the threads. Draw on the test's own thread and pass the values on. Also if [`SEED_VARIABLE`] is
/// not a seed, or the operating system gives no randomness.
pub fn seed() -> [u8; BYTES] {
    seed_of_test().expect("drawn on the thread of a test")
}

/// Returns a [`seed`], or nothing outside of tests, for draws of programs. Tests run on threads with the
/// tests' names.
///
/// # Panics
/// As [`seed`], but on a thread of no test this function returns `None` and does not panic.
pub fn seed_of_test() -> Option<[u8; BYTES]> {
    thread_local! {
        static DRAWN: Cell<u64> = const { Cell::new(0) };
    }
    let thread = thread::current();
    let test = thread.name().filter(|&name| name != "main")?;
    let nth = DRAWN.replace(DRAWN.get() + 1);
    let all = of_process();
    if nth == 0 {
        let digits: String = all.iter().map(|byte| format!("{byte:02x}")).collect();
        eprintln!("{SEED_VARIABLE}={digits} makes {test} draw the same again");
    }
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 draws of a test");
    hasher.update(&all).update(&nth.to_le_bytes()).update(test.as_bytes());
    hasher.finalize().as_bytes().first_chunk().copied()
}

/// Generators whose numbers a test can replay.
pub trait Replayable {
    /// Makes the generator for a purpose, from the test's next [`seed`]. Outside of tests, such as in the
    /// adversary, the operating system seeds the generator.
    ///
    /// # Panics
    /// If the operating system gives no randomness.
    fn replayable(domain: &'static str) -> Self;
}

impl Replayable for Rng {
    fn replayable(domain: &'static str) -> Self {
        match seed_of_test() {
            Some(seed) => Self::expand(&Seed::from_bytes(seed), domain),
            None => Self::new(domain).expect("the operating system gives randomness"),
        }
    }
}

/// Returns a digest of this domain over these bytes, for tests with fixed digests.
pub fn digest(domain: &str, parts: &[&[u8]]) -> [u8; 32] {
    blake3::derive_key(domain, &parts.concat())
}

/// Returns the seed from which all seeds of this process follow.
fn of_process() -> [u8; BYTES] {
    static ALL: OnceLock<[u8; BYTES]> = OnceLock::new();
    *ALL.get_or_init(|| match std::env::var_os(SEED_VARIABLE) {
        Some(digits) => digits
            .to_str()
            .and_then(parse)
            .unwrap_or_else(|| panic!("{SEED_VARIABLE} is {digits:?}, not {} hexadecimal digits", 2 * BYTES)),
        None => {
            let mut seed = [0; BYTES];
            getrandom::fill(&mut seed).expect("the operating system gives randomness");
            seed
        }
    })
}

fn parse(digits: &str) -> Option<[u8; BYTES]> {
    if digits.len() != 2 * BYTES || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(digits, 16).ok().map(u128::to_be_bytes)
}
