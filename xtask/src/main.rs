//! The project's own tools, each a command of `cargo xtask`: aarch64, attacks, book, constant-time, crashes,
//! dependencies, examples, fuzz, memory-checks, mutants, python, recovery-time, release, soak, test.
#![forbid(unsafe_code)]

mod book;
mod crashes;
mod dependencies;
mod foreign;
mod fuzz;
mod mutants;
mod python;
mod release;
mod scratch;
mod soak;
mod test;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["attacks", ref options @ ..] => test::cargo(
            root(),
            &[&["run", "--release", "-q", "-p", "brickwork-adversary", "--"], options].concat(),
        ),
        ["constant-time", ref options @ ..] => test::cargo(
            root(),
            &[&["run", "--release", "-q", "-p", "brickwork-timing", "--bin", "constant-time", "--"], options]
                .concat(),
        ),
        ["recovery-time", ref runs @ ..] => test::cargo(
            root(),
            &[&["run", "--release", "-q", "-p", "brickwork-timing", "--bin", "recovery-time", "--"], runs]
                .concat(),
        ),
        ["book"] => book::run(root()),
        ["crashes"] => crashes::run(root(), "300"),
        ["crashes", kills] => crashes::run(root(), kills),
        ["dependencies"] => dependencies::run(root()),
        ["examples"] => test::cargo(
            root(),
            &["run", "--release", "-q", "-p", "brickwork", "--example", "programs", "--", "examples"],
        ),
        ["fuzz", ref arguments @ ..] => fuzz::run(root(), arguments),
        ["aarch64"] => foreign::aarch64(root()),
        ["memory-checks"] => foreign::memory_checks(root()),
        ["mutants", ref arguments @ ..] => mutants::run(root(), arguments),
        ["python", ref pythons @ ..] => python::run(root(), pythons),
        ["release", ref targets @ ..] => release::run(root(), targets),
        ["soak"] => soak::run(root(), "20"),
        ["soak", minutes] => soak::run(root(), minutes),
        ["test"] => test::run(root()),
        _ => Err(format!(
            "usage: cargo xtask aarch64 | attacks [--json] [--quick] [--write] | \
             book | constant-time [SECONDS | --quick] | crashes [KILLS] | dependencies | examples | {} | \
             memory-checks | {} | {} | recovery-time [RUNS] | {} | soak [MINUTES] | test",
            fuzz::USAGE,
            mutants::USAGE,
            python::USAGE,
            release::USAGE
        )),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the workspace's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}
