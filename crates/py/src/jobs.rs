//! Jobs of lanes: the coordinator with workers in Python, and the worker of a lane.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brickwork::circuit::Program as Circuit;
use brickwork::engine::hex;
use brickwork::jobs::control::{JobProgress, JobWorkers};
use brickwork::jobs::coordinator::{Evidence, News, WorkerOrder};
use brickwork::jobs::terms::{JobId, JobTerms, LaneNumber, Partition};
use brickwork::jobs::{JobRequest, LaneWorker};
use brickwork::options::from_json;
use brickwork::process::Owned;
use brickwork::{Error, ProtocolError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::objects::{Program, loaded};
use crate::runs::{GivenInput, HeldInput};
use crate::task::{Failed, Task, TaskResult, TaskState, error_json};

/// Starts to coordinate a job with the caller's workers. `rerun` are partitions in doubt that are to run
/// again.
#[pyfunction]
pub fn coordinate(
    request: String,
    program: &Program,
    rerun: Vec<u32>,
    only_fill: bool,
    workers: Py<PyAny>,
) -> PyResult<Task> {
    let program = loaded(program)?;
    Task::start(move |shared| {
        let request: JobRequest = from_json(&request)?;
        let (choice, workers) = ((&rerun[..], only_fill), &mut PythonWorkers(workers));
        TaskResult::told(&request.coordinate(program.given(), choice, workers, &mut listens(shared))?)
    })
}

/// Returns a function that notes the address of a listener.
fn listens(shared: &TaskState) -> impl FnMut(std::net::SocketAddr) -> Result<(), Error> {
    |address| {
        shared.listens(address);
        Ok(())
    }
}

/// A worker of one lane of a job. Only one thread uses it at a time.
#[pyclass(frozen, module = "brickwork._native")]
pub struct Worker(Owned<Arc<Mutex<LaneWorker>>>);

#[pymethods]
impl Worker {
    /// Makes a worker by the JSON of its request and the compiled program, not yet connected.
    #[new]
    fn new(py: Python<'_>, request: &str, program: &[u8]) -> PyResult<Self> {
        let made = || LaneWorker::new(from_json(request)?, Circuit::from_bytes(program)?);
        match py.detach(made) {
            Ok(worker) => Ok(Worker(Owned::new(Arc::new(Mutex::new(worker))))),
            Err(error) => Err(Failed::new_err(error_json(&error))),
        }
    }

    /// Starts to connect to the peer's worker.
    fn meet(&self) -> PyResult<Task> {
        self.start(|worker, shared| {
            worker.meet(&shared.control.progress.watch(), &mut listens(shared))?;
            Ok(TaskResult::default())
        })
    }

    /// Starts to make stock for this many partitions.
    fn fill(&self, partitions: u32) -> PyResult<Task> {
        self.start(move |worker, _| worker.fill(partitions).map(|()| TaskResult::default()))
    }

    /// Starts to run a partition. The answer has the bits of this party's outputs.
    fn run(&self, partition: u32, input: Option<GivenInput>) -> PyResult<Task> {
        let input = HeldInput::of(input);
        self.start(move |worker, _| {
            let (outputs, promise) = worker.run(partition, input.given())?;
            let mut answer = TaskResult::of(&promise)?;
            answer.bits[worker.role() as usize] = Some(outputs);
            Ok(answer)
        })
    }

    /// Starts to check whether stock may have been taken for a partition.
    fn look(&self, partition: u32) -> PyResult<Task> {
        self.start(move |worker, _| TaskResult::of(&worker.look(partition)?))
    }

    /// Starts to end the session.
    fn close(&self) -> PyResult<Task> {
        self.start(|worker, _| TaskResult::of(&worker.close()?))
    }
}

impl Worker {
    /// Starts work, which ends when it next waits for its peer if a stop is requested.
    fn start(
        &self,
        work: impl FnOnce(&mut LaneWorker, &TaskState) -> Result<TaskResult, Error> + Send + 'static,
    ) -> PyResult<Task> {
        Task::with(&self.0, |worker, shared| {
            let worker = &mut *worker.lock().unwrap_or_else(PoisonError::into_inner);
            let ran = shared.control.run_to_next_wait(|| work(worker, shared));
            ran.map_err(|error| error_json(&error))
        })
    }
}

/// The workers of a Python program: an object whose methods have the names of [`JobWorkers`]. Orders, news
/// and progress are JSON.
struct PythonWorkers(Py<PyAny>);

impl PythonWorkers {
    fn call<T>(
        &self,
        method: &str,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
        read: impl for<'py> FnOnce(Bound<'py, PyAny>) -> PyResult<T>,
    ) -> Result<T, ProtocolError> {
        Python::attach(|py| {
            let called = arguments(py).and_then(|arguments| self.0.bind(py).call_method1(method, arguments));
            // Python keeps the exception; this library notes only its kind.
            called.and_then(read).map_err(|error| {
                let kind =
                    error.get_type(py).name().map_or_else(|_| "an error".into(), |name| name.to_string());
                // The task's result carries an error of this package.
                if !is_ours(&error, py) {
                    error.print(py);
                }
                ProtocolError::Resource(format!("the workers' keeper raised {kind} in {method}"))
            })
        })
    }
}

fn is_ours(error: &PyErr, py: Python<'_>) -> bool {
    py.import("brickwork.errors")
        .and_then(|errors| errors.getattr("Error"))
        .is_ok_and(|class| error.get_type(py).is_subclass(&class).unwrap_or(false))
}

/// Returns the error for a message of the caller that is no JSON of this type.
fn no_json(error: serde_json::Error) -> ProtocolError {
    ProtocolError::Resource(format!("a message of the workers' keeper: {error}"))
}

impl JobWorkers for PythonWorkers {
    fn begins(&mut self, job: &JobId, terms: &JobTerms) -> Result<(), ProtocolError> {
        let (job, terms) = (hex(job), hex(&terms.digest()));
        self.call("begins", |py| (job, terms).into_pyobject(py), |_| Ok(()))
    }

    fn obey(&mut self, order: WorkerOrder) -> Result<(), ProtocolError> {
        let order = serde_json::to_string(&order).map_err(no_json)?;
        self.call("obey", |py| (order,).into_pyobject(py), |_| Ok(()))
    }

    fn look(&mut self, lane: LaneNumber, attempt: u32, partition: Partition) -> Evidence {
        let found =
            self.call("look", |py| (lane, attempt, partition).into_pyobject(py), |found| found.extract());
        match found {
            Ok(false) => Evidence::NotTaken,
            Ok(true) | Err(_) => Evidence::PerhapsTaken,
        }
    }

    fn news(&mut self, wait: Duration) -> Result<Vec<News>, ProtocolError> {
        let lines: Vec<String> =
            self.call("news", |py| (wait.as_secs_f64(),).into_pyobject(py), |found| found.extract())?;
        lines.iter().map(|text| serde_json::from_str(text).map_err(no_json)).collect()
    }

    fn kept(&mut self) -> Result<BTreeSet<Partition>, ProtocolError> {
        self.call("kept", |py| Ok(PyTuple::empty(py)), |found| found.extract::<Vec<_>>())
            .map(BTreeSet::from_iter)
    }

    fn stands(&mut self, progress: JobProgress) {
        let Ok(progress) = serde_json::to_string(&progress) else { return };
        let _ = self.call("stands", |py| (progress,).into_pyobject(py), |_| Ok(()));
    }

    fn end(&mut self) {
        let _ = self.call("end", |py| Ok(PyTuple::empty(py)), |_| Ok(()));
    }
}
