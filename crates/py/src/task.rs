//! Tasks: work on a thread of its own, which reports its progress and can be stopped.
//!
//! A [`Task`] never takes Python's lock. Python waits for a task in short slices, so that Ctrl-C is handled.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use brickwork::control::Control;
use brickwork::process::Owned;
use brickwork::resources::check_kernel;
use brickwork::{Error, Session};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

create_exception!(_native, Failed, PyException, "A call failed; its argument is the JSON of its error.");

/// The result of a task.
#[derive(Default)]
pub struct TaskResult {
    /// The object that the command prints with `--json`, without the outputs of programs.
    pub json: String,
    /// The text for people.
    pub text: String,
    /// The bits of the outputs of the garbler and of the evaluator, one a byte, as far as this process has
    /// them.
    pub bits: [Option<Vec<bool>>; 2],
}

impl TaskResult {
    /// Makes the result of a task from a value that has no text for the user.
    pub fn of(result: &impl Serialize) -> Result<Self, Error> {
        let json = serde_json::to_string(result).map_err(|e| Error::fault(format!("no JSON form: {e}")))?;
        Ok(TaskResult { json, ..TaskResult::default() })
    }

    /// Makes the result of a task from a value and its text for the user.
    pub fn told(result: &(impl Serialize + Display)) -> Result<Self, Error> {
        Ok(TaskResult { text: result.to_string(), ..TaskResult::of(result)? })
    }
}

/// Writes the JSON form of an error.
pub fn error_json(error: &Error) -> String {
    serde_json::to_string(error).unwrap_or_default()
}

/// The current state of a task's thread.
#[derive(Default)]
struct State {
    listens: Option<SocketAddr>,
    /// The answer, or the JSON of an error.
    answer: Option<Result<TaskResult, String>>,
    bits: [Option<Vec<bool>>; 2],
    done: bool,
}

/// The state that a task's thread shares with Python.
#[derive(Default)]
pub struct TaskState {
    state: Mutex<State>,
    changed: Condvar,
    /// The control of the work.
    pub control: Control,
}

impl TaskState {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the address at which this party listens.
    pub fn listens(&self, address: SocketAddr) {
        tracing::info!("waiting for the peer at {address}");
        self.state().listens = Some(address);
    }
}

/// Work on a thread of its own. A forked child has no such thread, so the task fails there.
#[pyclass(frozen, module = "brickwork._native")]
pub struct Task(Owned<Arc<TaskState>>);

impl Task {
    /// Starts work, which ends at once if a stop is requested.
    pub fn start(
        work: impl FnOnce(&TaskState) -> Result<TaskResult, Error> + Send + 'static,
    ) -> PyResult<Self> {
        Task::start_plain(move |shared| {
            let work = || check_kernel().and_then(|()| work(shared));
            shared.control.run(work).map_err(|error| error_json(&error))
        })
    }

    /// Starts work that looks for requests to stop by itself. Its error is JSON.
    pub fn start_plain(
        work: impl FnOnce(&TaskState) -> Result<TaskResult, String> + Send + 'static,
    ) -> PyResult<Self> {
        let shared = Arc::new(TaskState::default());
        let of_thread = shared.clone();
        let body = move || {
            let answered = || work(&of_thread);
            let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(answered));
            let mut state = of_thread.state();
            state.answer = answer.ok();
            state.done = true;
            of_thread.control.ended();
            of_thread.changed.notify_all();
        };
        std::thread::Builder::new()
            .name("brickwork".into())
            .spawn(body)
            .map_err(|e| PyRuntimeError::new_err(format!("the operating system started no thread: {e}")))?;
        Ok(Task(Owned::new(shared)))
    }

    /// Starts work on an object of this process; fails in a forked child, which does not own the object.
    pub fn with<T: Clone + Send + 'static>(
        of: &Owned<T>,
        work: impl FnOnce(&T, &TaskState) -> Result<TaskResult, String> + Send + 'static,
    ) -> PyResult<Self> {
        if let Ok(of) = of.get() {
            let of = of.clone();
            return Task::start_plain(move |shared| work(&of, shared));
        }
        let state = State { answer: Some(Err(forked())), done: true, ..State::default() };
        Ok(Task(Owned::new(Arc::new(TaskState { state: Mutex::new(state), ..TaskState::default() }))))
    }
}

/// Returns the error for an object that was made before this process was forked.
fn forked() -> String {
    error_json(&Session::forked())
}

#[pymethods]
impl Task {
    /// Waits for the end, for so many seconds at most; returns whether the task has ended.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let Ok(shared) = self.0.get() else { return true };
        py.detach(|| {
            let patience = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
            let waited = shared.changed.wait_timeout_while(shared.state(), patience, |state| !state.done);
            waited.unwrap_or_else(PoisonError::into_inner).0.done
        })
    }

    /// Asks the task to stop, unless it has ended.
    fn stop(&self) {
        let Ok(shared) = self.0.get() else { return };
        let state = shared.state();
        if !state.done {
            shared.control.ask_to_stop();
        }
    }

    /// Returns a party's address, as host and port, once the party listens.
    fn address(&self) -> Option<(String, u16)> {
        self.0.get().ok()?.state().listens.map(|address| (address.ip().to_string(), address.port()))
    }

    /// Returns the phase, the bytes so far, and all bytes.
    fn progress(&self) -> (&'static str, u64, u64) {
        self.0.get().map_or(("", 0, 0), |shared| shared.control.progress.now())
    }

    /// Takes the result of an ended task: the JSON of `--json`, and the text for people.
    fn result(&self) -> PyResult<(String, String)> {
        let Ok(shared) = self.0.get() else { return Err(Failed::new_err(forked())) };
        let mut state = shared.state();
        match state.answer.take() {
            Some(Ok(TaskResult { json, text, bits })) => {
                state.bits = bits;
                Ok((json, text))
            }
            Some(Err(error)) => Err(Failed::new_err(error)),
            None => Err(PyRuntimeError::new_err("a fault of brickwork: a thread has ended without a result")),
        }
    }

    /// Takes the bits of the garbler's and of the evaluator's outputs, one a byte, after [`Task::result`].
    fn bits<'py>(&self, py: Python<'py>) -> [Option<Bound<'py, PyBytes>>; 2] {
        let Ok(shared) = self.0.get() else { return [None, None] };
        let bits = std::mem::take(&mut shared.state().bits);
        bits.map(|bits| bits.map(|bits| PyBytes::new(py, bytemuck::cast_slice(&bits))))
    }
}
