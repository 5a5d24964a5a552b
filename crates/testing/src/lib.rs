//! Draws of tests, which a failed one can have again.
//!
//! A test that draws asks [`seed`] for the seed of each of its generators. The first time it prints to
//! stderr, which is shown where the test fails, the value of [`SEED_VARIABLE`] with which the same test draws
//! the same numbers again:
//!
//! ```text
//! BRICKWORK_TEST_SEED=8a0c… cargo test -p brickwork --lib name_of_the_test
//! ```
#![forbid(unsafe_code)]

pub mod schema;

use std::cell::Cell;
use std::sync::OnceLock;
use std::thread;

use brickwork_base::random::{Rng, Seed};

/// The environment variable that replays what tests drew: 32 hexadecimal digits.
pub const SEED_VARIABLE: &str = "BRICKWORK_TEST_SEED";

/// Bytes of a seed.
const BYTES: usize = 16;

/// Returns the seed of a test's next generator: another one in each test and at each call, and all of them
/// follow from the one that is said.
///
/// # Panics
/// Where no test runs, as on a thread that a test started: what is drawn there depends on which thread comes
/// first. Draw on the test's own thread and hand it on. And if [`SEED_VARIABLE`] is no seed, or the operating
/// system gives none.
pub fn seed() -> [u8; BYTES] {
    seed_of_test().expect("drawn on the thread of a test")
}

/// Returns a [`seed`], or none outside of tests: for what programs draw, too. Tests run on threads with their
/// names.
///
/// # Panics
/// As [`seed`], but not for the thread.
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

/// Generators that a failed test can have again.
pub trait Replayable {
    /// Makes the generator of what a test draws for a purpose, from its next [`seed`]. Outside of tests,
    /// where the adversary plays, it is one that the operating system seeds.
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

/// Returns what a digest of this domain over these bytes is, for tests that write them out.
pub fn digest(domain: &str, parts: &[&[u8]]) -> [u8; 32] {
    blake3::derive_key(domain, &parts.concat())
}

/// Returns the seed that all seeds of this process follow from.
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
