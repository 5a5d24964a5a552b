//! The objects that Python holds: programs and keys.

use std::sync::{Arc, OnceLock};

use brickwork::wire::tls::Identity as Key;
use brickwork_cli::embedded;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use zeroize::Zeroizing;

use crate::task::{Answer, Task};

/// Makes a task's answer of that of a command.
pub fn answer(answer: embedded::Answer) -> Result<Answer, String> {
    match answer {
        Ok((json, text)) => Ok(Answer { json: json.to_string(), text, ..Answer::default() }),
        Err(error) => Err(error.to_string()),
    }
}

/// A program, or nothing before the program has been read. All calls share the compiled program.
#[pyclass(frozen, module = "brickwork._native")]
pub struct Program(Arc<OnceLock<brickwork::Program>>);

impl Program {
    /// Returns the program, if it has been read.
    pub fn get(&self) -> Option<brickwork::Program> {
        self.0.get().cloned()
    }
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
        Task::start_plain(move |shared| answer(embedded::ports(&arguments, &keeps, &shared.control)))
    }

    /// Starts to decode output bits.
    fn outputs(
        &self,
        executions: Option<u32>,
        garbler: Option<PyBackedBytes>,
        evaluator: Option<PyBackedBytes>,
    ) -> PyResult<Task> {
        let text = |bits: PyBackedBytes| bits.iter().map(|bit| char::from(b'0' + bit)).collect::<String>();
        let [garbler, evaluator] = [garbler, evaluator].map(|bits| bits.map(text));
        let Some(program) = self.0.get().cloned() else {
            return Err(PyRuntimeError::new_err("the program has not been read"));
        };
        Task::start_plain(move |shared| {
            let bits = [garbler.as_deref(), evaluator.as_deref()];
            answer(embedded::outputs(&program, executions, bits, &shared.control))
        })
    }
}

/// A party's key pair.
#[pyclass(frozen, module = "brickwork")]
pub struct Identity {
    /// The private key in PEM form.
    pub pem: Zeroizing<String>,
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
