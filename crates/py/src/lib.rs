//! `brickwork._native`: the native part of the Python package. A task runs a command on a thread and reports
//! its progress; the interface for users is written in Python.
//!
//! A [`Task`] never takes Python's lock. Python waits for a task in short slices, so that Ctrl-C is handled.

mod commands;
mod objects;
mod runs;
mod session;
mod stock;
mod task;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brickwork::jobs::coordinator::{News, Order};
use brickwork::process::{self, Owned};
use brickwork::system;
use brickwork_cli::embedded::{self, WorkerTask};
use objects::{Identity, Program, answer};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use runs::{Held, Input};
use task::{Failed, Task};

/// Some libraries do not erase inputs and keys, so the allocator erases freed memory.
#[global_allocator]
static ALLOCATOR: brickwork_kernels::LargePages = brickwork_kernels::LargePages::new();

/// Starts a command by its command line.
#[pyfunction]
fn call(arguments: Vec<String>) -> PyResult<Task> {
    Task::start_plain(move |shared| answer(embedded::call(&arguments, &shared.control)))
}

/// Starts to coordinate a job with the workers of `hands`.
#[pyfunction]
fn coordinate(flags: Vec<String>, hands: Py<PyAny>) -> PyResult<Task> {
    Task::start_plain(move |shared| {
        answer(embedded::coordinate(&flags, &mut Hands(hands), &shared.control, &mut |address| {
            shared.listens(address)
        }))
    })
}

/// A worker of one lane of a job. Only one thread uses it at a time.
#[pyclass(frozen, module = "brickwork._native")]
struct Worker(Owned<Arc<Mutex<embedded::Worker>>>);

#[pymethods]
impl Worker {
    /// Makes a worker with the flags of `brickwork worker`, not yet connected.
    #[new]
    fn new(py: Python<'_>, flags: Vec<String>) -> PyResult<Self> {
        match py.detach(|| embedded::worker(&flags)) {
            Ok(worker) => Ok(Worker(Owned::new(Arc::new(Mutex::new(worker))))),
            Err(error) => Err(Failed::new_err(error.to_string())),
        }
    }

    /// Starts to connect to the peer's worker.
    fn meet(&self) -> PyResult<Task> {
        self.start(WorkerTask::Meet)
    }

    /// Starts to make stock for so many partitions.
    fn fill(&self, partitions: u32) -> PyResult<Task> {
        self.start(WorkerTask::Fill(partitions))
    }

    /// Starts to run a partition.
    fn run(&self, partition: u32, input: Option<Input>) -> PyResult<Task> {
        self.start(WorkerTask::Run(partition, Held::of(input).text()))
    }

    /// Starts to check whether stock may have been taken for a partition.
    fn look(&self, partition: u32) -> PyResult<Task> {
        self.start(WorkerTask::Look(partition))
    }

    /// Starts to end the session.
    fn close(&self) -> PyResult<Task> {
        self.start(WorkerTask::Close)
    }
}

impl Worker {
    fn start(&self, task: WorkerTask) -> PyResult<Task> {
        Task::with(&self.0, |worker, shared| {
            let worker = &mut *worker.lock().unwrap_or_else(PoisonError::into_inner);
            answer(embedded::work(worker, task, &shared.control, &mut |address| shared.listens(address)))
        })
    }
}

/// The workers of a Python program: an object with the methods of [`embedded::Hands`], which take and return
/// JSON.
struct Hands(Py<PyAny>);

impl Hands {
    fn call<T>(
        &self,
        method: &str,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
        read: impl for<'py> FnOnce(Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Result<T, String> {
        Python::attach(|py| {
            let called = arguments(py).and_then(|arguments| self.0.bind(py).call_method1(method, arguments));
            // Python keeps the exception; only its kind is noted here.
            called.and_then(read).map_err(|error| {
                let kind =
                    error.get_type(py).name().map_or_else(|_| "an error".into(), |name| name.to_string());
                // The task's result carries an error of this package.
                if !is_ours(&error, py) {
                    error.print(py);
                }
                format!("the workers' keeper raised {kind} in {method}")
            })
        })
    }
}

fn is_ours(error: &PyErr, py: Python<'_>) -> bool {
    py.import("brickwork.errors")
        .and_then(|errors| errors.getattr("Error"))
        .is_ok_and(|class| error.get_type(py).is_subclass(&class).unwrap_or(false))
}

impl embedded::Hands for Hands {
    fn begins(&mut self, job: &str, terms: &str) -> Result<(), String> {
        self.call("begins", |py| (job, terms).into_pyobject(py), |_| Ok(()))
    }

    fn obey(&mut self, order: &Order) -> Result<(), String> {
        let order = serde_json::to_string(order).map_err(|e| e.to_string())?;
        self.call("obey", |py| (order,).into_pyobject(py), |_| Ok(()))
    }

    fn look(&mut self, lane: u32, attempt: u32, partition: u32) -> Result<bool, String> {
        self.call("look", |py| (lane, attempt, partition).into_pyobject(py), |found| found.extract())
    }

    fn news(&mut self, wait: Duration) -> Result<Vec<News>, String> {
        let lines: Vec<String> =
            self.call("news", |py| (wait.as_secs_f64(),).into_pyobject(py), |found| found.extract())?;
        lines.iter().map(|text| serde_json::from_str(text).map_err(|e| e.to_string())).collect()
    }

    fn kept(&mut self) -> Result<Vec<u32>, String> {
        self.call("kept", |py| Ok(PyTuple::empty(py)), |found| found.extract())
    }

    fn stands(&mut self, progress: serde_json::Value) -> Result<(), String> {
        self.call("stands", |py| (progress.to_string(),).into_pyobject(py), |_| Ok(()))
    }

    fn end(&mut self) {
        let _ = self.call("end", |py| Ok(PyTuple::empty(py)), |_| Ok(()));
    }
}

/// Lines of the log that Python has not yet taken; the oldest are dropped.
static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

const LONGEST_LOG: usize = 1000;

/// Keeps the messages of the library, as one line of JSON each. Nothing is printed.
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

/// Keeps this process's memory out of dumps, and from other processes of this user.
#[pyfunction]
fn harden() {
    system::keep_memory_private();
}

/// Notes that this process was forked a moment ago.
#[pyfunction]
fn forked() {
    process::forked();
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    keep_log();
    module.add_class::<Task>()?;
    module.add_class::<Program>()?;
    module.add_class::<Identity>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<Worker>()?;
    module.add("Failed", module.py().get_type::<Failed>())?;
    module.add_function(wrap_pyfunction!(call, module)?)?;
    module.add_function(wrap_pyfunction!(coordinate, module)?)?;
    module.add_function(wrap_pyfunction!(runs::run_both, module)?)?;
    module.add_function(wrap_pyfunction!(runs::run_party, module)?)?;
    module.add_function(wrap_pyfunction!(runs::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(stock::preprocess, module)?)?;
    module.add_function(wrap_pyfunction!(stock::stock_ls, module)?)?;
    module.add_function(wrap_pyfunction!(stock::stock_verify, module)?)?;
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
