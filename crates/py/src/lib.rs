//! `brickwork._native`: the native part of the Python package. A task runs a command on a thread and reports
//! its progress; the interface for users is written in Python.
//!
//! A [`Task`] never takes Python's lock. Python waits for a task in short slices, so that Ctrl-C is handled.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use brickwork::circuit::Party;
use brickwork::jobs::coordinator::{News, Order};
use brickwork::process::{self, Owned};
use brickwork::wire::tls::Identity as Key;
use brickwork_cli::embedded::{self, Answer, Line, Standing, Wish, WorkerTask};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use zeroize::Zeroizing;

/// Some libraries do not erase inputs and keys, so the allocator erases freed memory.
#[global_allocator]
static ALLOCATOR: brickwork_kernels::LargePages = brickwork_kernels::LargePages::new();

create_exception!(_native, Failed, PyException, "A command failed; its argument is the JSON of its error.");

/// The state of a task's thread so far.
#[derive(Default)]
struct State {
    listens: Option<SocketAddr>,
    /// The JSON and the text of a result, or the JSON of an error.
    answer: Option<Result<(String, String), String>>,
    done: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    line: Line,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listens(&self, address: SocketAddr) {
        self.state().listens = Some(address);
    }
}

/// A command that runs on a thread of its own. A forked child has no such thread, so the command fails there.
#[pyclass(frozen, module = "brickwork._native")]
struct Task(Owned<Arc<Shared>>);

impl Task {
    fn start(work: impl FnOnce(&Shared) -> Answer + Send + 'static) -> PyResult<Self> {
        let shared = Arc::new(Shared::default());
        let of_thread = shared.clone();
        let body = move || {
            // This thread writes the JSON, because the waiting thread holds Python's lock.
            let answered = || match work(&of_thread) {
                Ok((json, human)) => Ok((json.to_string(), human)),
                Err(error) => Err(error.to_string()),
            };
            let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(answered));
            let mut state = of_thread.state();
            state.answer = answer.ok();
            state.done = true;
            of_thread.line.ended();
            of_thread.changed.notify_all();
        };
        std::thread::Builder::new()
            .name("brickwork".into())
            .spawn(body)
            .map_err(|e| PyRuntimeError::new_err(format!("no thread can be started: {e}")))?;
        Ok(Task(Owned::new(shared)))
    }

    /// Starts work on an object of this process; fails in a forked child, which does not own the object.
    fn with<T: Clone + Send + 'static>(
        of: &Owned<T>,
        work: impl FnOnce(&T, &Shared) -> Answer + Send + 'static,
    ) -> PyResult<Self> {
        if let Ok(of) = of.get() {
            let of = of.clone();
            return Task::start(move |shared| work(&of, shared));
        }
        let state = State { answer: Some(Err(embedded::forked().to_string())), done: true, listens: None };
        Ok(Task(Owned::new(Arc::new(Shared { state: Mutex::new(state), ..Shared::default() }))))
    }
}

#[pymethods]
impl Task {
    /// Starts a command by its command line, with its program if that has been read.
    #[staticmethod]
    #[pyo3(signature = (arguments, program=None))]
    fn call(arguments: Vec<String>, program: Option<&Program>) -> PyResult<Self> {
        let program = loaded(program);
        Task::start(move |shared| embedded::call(&arguments, program, &shared.line))
    }

    /// Starts one party, `garbler` or `evaluator`.
    #[staticmethod]
    #[pyo3(signature = (role, flags, program, identity, input))]
    fn party(
        role: &str,
        flags: Vec<String>,
        program: Option<&Program>,
        identity: Option<&Identity>,
        input: Option<String>,
    ) -> PyResult<Self> {
        let (role, program) = (party(role)?, loaded(program));
        let (pem, input) = (identity.map(|identity| identity.pem.clone()), input.map(Zeroizing::new));
        Task::start(move |shared| {
            embedded::take_part(role, &flags, program, [pem, input], &shared.line, &mut |address| {
                shared.listens(address)
            })
        })
    }

    /// Starts both parties.
    #[staticmethod]
    fn both(
        arguments: Vec<String>,
        program: &Program,
        garbler: Option<String>,
        evaluator: Option<String>,
    ) -> PyResult<Self> {
        let inputs = [garbler, evaluator].map(|input| input.map(Zeroizing::new));
        let program = loaded(Some(program));
        Task::start(move |shared| embedded::run_both(&arguments, program, inputs, &shared.line))
    }

    /// Starts to coordinate a job with the workers of `hands`.
    #[staticmethod]
    fn coordinate(flags: Vec<String>, hands: Py<PyAny>) -> PyResult<Self> {
        Task::start(move |shared| {
            embedded::coordinate(&flags, &mut Hands(hands), &shared.line, &mut |address| {
                shared.listens(address)
            })
        })
    }

    /// Starts a computation in the clear.
    #[staticmethod]
    fn simulate(
        arguments: Vec<String>,
        program: &Program,
        garbler: Option<String>,
        evaluator: Option<String>,
    ) -> PyResult<Self> {
        let inputs = [garbler, evaluator].map(|input| input.map(Zeroizing::new));
        let program = loaded(Some(program));
        Task::start(move |shared| embedded::simulate(&arguments, program, inputs, &shared.line))
    }

    /// Starts to describe a program with its cut; the arguments are those of `info` or of a plan.
    #[staticmethod]
    fn describe(arguments: Vec<String>, program: &Program, cut: String) -> PyResult<Self> {
        let program = loaded(Some(program));
        Task::start(move |shared| embedded::describe(&arguments, program, &cut, &shared.line))
    }

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
            shared.line.ask_to_stop();
        }
    }

    /// Returns a party's address, as host and port, once the party listens.
    fn address(&self) -> Option<(String, u16)> {
        self.0.get().ok()?.state().listens.map(|address| (address.ip().to_string(), address.port()))
    }

    /// Returns the phase, the bytes so far, and all bytes.
    fn progress(&self) -> (&'static str, u64, u64) {
        self.0.get().map_or(("", 0, 0), |shared| shared.line.progress.now())
    }

    /// Takes the result of an ended task: the JSON of `--json`, and the text for people.
    fn result(&self) -> PyResult<(String, String)> {
        let Ok(shared) = self.0.get() else { return Err(Failed::new_err(embedded::forked().to_string())) };
        match shared.state().answer.take() {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err(Failed::new_err(error)),
            None => Err(PyRuntimeError::new_err("a fault of brickwork: a thread has ended without a result")),
        }
    }
}

/// A program, or nothing before the program has been read. All calls share the compiled program.
#[pyclass(frozen, module = "brickwork._native")]
struct Program(Arc<OnceLock<brickwork::Program>>);

/// Returns a program that has been read.
fn loaded(program: Option<&Program>) -> Option<brickwork::Program> {
    program.and_then(|program| program.0.get().cloned())
}

#[pymethods]
impl Program {
    /// Makes a program that has not been read.
    #[new]
    fn new() -> Self {
        Program(Arc::default())
    }

    /// Starts to read the program, and to describe its inputs and outputs, as `info` with these arguments.
    fn load(&self, arguments: Vec<String>) -> PyResult<Task> {
        let keeps = self.0.clone();
        Task::start(move |shared| embedded::ports(&arguments, &keeps, &shared.line))
    }

    /// Starts to decode output bits.
    fn outputs(
        &self,
        executions: Option<u32>,
        garbler: Option<String>,
        evaluator: Option<String>,
    ) -> PyResult<Task> {
        let Some(program) = self.0.get().cloned() else {
            return Err(PyRuntimeError::new_err("the program has not been read"));
        };
        Task::start(move |shared| {
            let bits = [garbler.as_deref(), evaluator.as_deref()];
            embedded::outputs(&program, executions, bits, &shared.line)
        })
    }
}

/// A session, or nothing before it has begun. Only one thread uses it at a time.
#[pyclass(frozen, module = "brickwork._native")]
struct Session(Owned<Arc<Mutex<Option<Standing>>>>);

#[pymethods]
impl Session {
    /// Makes a session that has not begun.
    #[new]
    fn new() -> Self {
        Session(Owned::default())
    }

    /// Starts to connect to the peer.
    fn connect(&self, role: &str, flags: Vec<String>, identity: Option<&Identity>) -> PyResult<Task> {
        let role = party(role)?;
        let pem = identity.map(|identity| identity.pem.clone());
        Task::with(&self.0, move |session, shared| {
            let begun =
                embedded::connect(role, &flags, pem, &shared.line, &mut |address| shared.listens(address))?;
            *session.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
            Ok(nothing())
        })
    }

    /// Starts to read a program of a session with a store.
    fn add(&self, file: String) -> PyResult<Task> {
        self.start(move |session, line| embedded::add(session, &file, line))
    }

    /// Starts to make stock.
    fn fill(&self, words: Vec<String>) -> PyResult<Task> {
        self.start(move |session, line| embedded::fill(session, &words, line))
    }

    /// Starts a step.
    fn step(
        &self,
        program: usize,
        input: Option<String>,
        executions: Option<u32>,
        carried: Vec<(String, String, usize)>,
        keep: Vec<String>,
    ) -> PyResult<Task> {
        let carried = carried.into_iter().map(|(role, port, kept)| Ok((party(&role)?, port, kept)));
        let carried = carried.collect::<PyResult<Vec<_>>>()?;
        let input = input.map(Zeroizing::new);
        self.start(move |session, line| {
            let input = input.as_ref().map(|input| input.as_str());
            let wish = Wish { program, input, executions, carried: &carried, keep: &keep };
            embedded::step(session, &wish, line)
        })
    }

    /// Starts to end the session.
    fn close(&self) -> PyResult<Task> {
        Task::with(&self.0, |session, shared| {
            match &mut *session.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(session) => embedded::close(session, &shared.line),
                None => Ok(nothing()),
            }
        })
    }

    /// Drops the session without a message to the peer, who sees a closed connection. A step must not be
    /// running.
    fn leave(&self, py: Python<'_>) {
        // Dropping it closes a connection and a store. A forked child has neither.
        let Ok(session) = self.0.get() else { return };
        py.detach(|| drop(session.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

impl Session {
    fn start(&self, work: impl FnOnce(&mut Standing, &Line) -> Answer + Send + 'static) -> PyResult<Task> {
        Task::with(&self.0, |session, shared| {
            match &mut *session.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(session) => work(session, &shared.line),
                None => Err(embedded::session_is_over()),
            }
        })
    }
}

/// Returns the answer of a task without a result.
fn nothing() -> (serde_json::Value, String) {
    (serde_json::Value::Null, String::new())
}

fn party(role: &str) -> PyResult<Party> {
    match role {
        "garbler" => Ok(Party::Garbler),
        "evaluator" => Ok(Party::Evaluator),
        _ => Err(PyTypeError::new_err("a role is garbler or evaluator")),
    }
}

/// A party's key pair.
#[pyclass(frozen, module = "brickwork")]
struct Identity {
    pem: Zeroizing<String>,
    public_key: String,
}

#[pymethods]
impl Identity {
    /// Makes a new key pair.
    #[staticmethod]
    fn generate() -> PyResult<Self> {
        let (key, pem) = Key::generate().map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        Ok(Identity { public_key: key.public_key().to_string(), pem })
    }

    /// Returns the public key, for the peer.
    #[getter]
    fn public_key(&self) -> &str {
        &self.public_key
    }

    fn __repr__(&self) -> String {
        format!("<brickwork.Identity {}>", self.public_key)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "a private key is neither copied nor pickled: keep it in a file, made by keygen",
        ))
    }
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
    fn run(&self, partition: u32, input: Option<String>) -> PyResult<Task> {
        self.start(WorkerTask::Run(partition, input.map(Zeroizing::new)))
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
            embedded::work(worker, task, &shared.line, &mut |address| shared.listens(address))
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

/// Takes the lines of the log, each a JSON object.
#[pyfunction]
fn log() -> Vec<String> {
    std::mem::take(&mut LOG.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Keeps this process's memory out of dumps, and from other processes of this user.
#[pyfunction]
fn harden() {
    embedded::harden();
}

/// Notes that this process was forked a moment ago.
#[pyfunction]
fn forked() {
    process::forked();
}

/// Returns the page of a command's JSON, with the outputs if so asked. If a path is given, the page is
/// written there, for its owner only.
#[pyfunction]
#[pyo3(signature = (record, outputs, path))]
fn page(py: Python<'_>, record: &str, outputs: bool, path: Option<PathBuf>) -> PyResult<String> {
    py.detach(|| embedded::page(record, outputs, path.as_deref()))
        .map_err(|error| Failed::new_err(error.to_string()))
}

/// Returns the flags of a command, and whether each takes a value.
#[pyfunction]
fn flags(command: &str) -> Vec<(String, bool)> {
    embedded::flags(command)
}

/// Returns every check that a peer can fail: its part, name and description.
#[pyfunction]
fn checks() -> Vec<(&'static str, &'static str, String)> {
    embedded::checks().into_iter().map(|cheat| (cheat.part(), cheat.check(), cheat.to_string())).collect()
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    embedded::begin(|line| {
        let mut lines = LOG.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LONGEST_LOG {
            lines.remove(0);
        }
        lines.push(line.trim_end().to_owned());
    });
    module.add_class::<Task>()?;
    module.add_class::<Program>()?;
    module.add_class::<Identity>()?;
    module.add_class::<Session>()?;
    module.add_class::<Worker>()?;
    module.add("Failed", module.py().get_type::<Failed>())?;
    module.add_function(wrap_pyfunction!(log, module)?)?;
    module.add_function(wrap_pyfunction!(harden, module)?)?;
    module.add_function(wrap_pyfunction!(forked, module)?)?;
    module.add_function(wrap_pyfunction!(page, module)?)?;
    module.add_function(wrap_pyfunction!(flags, module)?)?;
    module.add_function(wrap_pyfunction!(checks, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
