//! `brickwork._native`: the native part of the Python package. A task runs a command on a thread and reports
//! its progress; the interface for users is written in Python.
//!
//! A [`Task`] never takes Python's lock. Python waits for a task in short slices, so that Ctrl-C is handled.

mod commands;
mod jobs;
mod objects;
mod runs;
mod session;
mod stock;
mod task;

use std::ffi::OsString;
use std::sync::{Mutex, PoisonError};

use brickwork::{process, system};
use objects::{Identity, Program};
use pyo3::prelude::*;
use task::{Failed, Task};

/// Some libraries do not erase inputs and keys, so the allocator erases freed memory.
#[global_allocator]
static ALLOCATOR: brickwork_kernels::LargePages = brickwork_kernels::LargePages::new();

/// Lines of the log that Python has not yet taken; the oldest are dropped.
static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

const LONGEST_LOG: usize = 1000;

/// Keeps the messages of the library, as one line of JSON each. Nothing is printed.
#[pyfunction]
fn keep_log() {
    struct Keeper;
    impl std::io::Write for Keeper {
        fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
            let mut lines = LOG.lock().unwrap_or_else(PoisonError::into_inner);
            if lines.len() == LONGEST_LOG {
                lines.remove(0);
            }
            lines.push(String::from_utf8_lossy(line).trim_end().to_owned());
            Ok(line.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let to =
        tracing_subscriber::fmt().log_internal_errors(false).with_target(false).json().flatten_event(true);
    // Only the first call in a process has an effect.
    let _ = to.with_max_level(tracing::Level::INFO).with_writer(|| Keeper).try_init();
}

/// Takes the lines of the log, each a JSON object.
#[pyfunction]
fn log() -> Vec<String> {
    std::mem::take(&mut LOG.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Keeps this process's memory out of core dumps, and hides it from other processes of this user.
#[pyfunction]
fn harden() {
    system::keep_memory_private();
}

/// Runs the command `brickwork`, and returns its exit code. The first word is the path of a program that
/// calls this function with its words.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    system::set_words(words);
    py.detach(brickwork_cli::main)
}

/// Notes that this process was forked a moment ago.
#[pyfunction]
fn forked() {
    process::forked();
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Task>()?;
    module.add_class::<Program>()?;
    module.add_class::<Identity>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<jobs::Worker>()?;
    module.add("Failed", module.py().get_type::<Failed>())?;
    module.add_function(wrap_pyfunction!(jobs::coordinate, module)?)?;
    module.add_function(wrap_pyfunction!(runs::run_both, module)?)?;
    module.add_function(wrap_pyfunction!(runs::run_party, module)?)?;
    module.add_function(wrap_pyfunction!(runs::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(stock::preprocess, module)?)?;
    module.add_function(wrap_pyfunction!(stock::stock_ls, module)?)?;
    module.add_function(wrap_pyfunction!(stock::stock_verify, module)?)?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(keep_log, module)?)?;
    module.add_function(wrap_pyfunction!(log, module)?)?;
    module.add_function(wrap_pyfunction!(harden, module)?)?;
    module.add_function(wrap_pyfunction!(forked, module)?)?;
    module.add_function(wrap_pyfunction!(commands::compile, module)?)?;
    module.add_function(wrap_pyfunction!(commands::describe, module)?)?;
    module.add_function(wrap_pyfunction!(commands::plan, module)?)?;
    module.add_function(wrap_pyfunction!(commands::write_examples, module)?)?;
    module.add_function(wrap_pyfunction!(commands::new_key, module)?)?;
    module.add_function(wrap_pyfunction!(commands::doctor, module)?)?;
    module.add_function(wrap_pyfunction!(commands::page_of, module)?)?;
    module.add_function(wrap_pyfunction!(commands::all_checks, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
