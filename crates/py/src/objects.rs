//! The objects that Python holds: programs and keys.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use brickwork::circuit::{Party, formats};
use brickwork::options::from_json;
use brickwork::reading::output_values;
use brickwork::wire::tls::Identity as Key;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use zeroize::Zeroizing;

use crate::task::{Task, TaskResult};

/// Returns the party of this role.
pub fn party(role: &str) -> PyResult<Party> {
    match role {
        "garbler" => Ok(Party::Garbler),
        "evaluator" => Ok(Party::Evaluator),
        _ => Err(PyTypeError::new_err("a role must be garbler or evaluator")),
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

/// Returns a program that has been read.
pub fn loaded(program: &Program) -> PyResult<brickwork::Program> {
    program.get().ok_or_else(|| PyRuntimeError::new_err("the program has not been read"))
}

#[pymethods]
impl Program {
    /// Makes a program that has not been read.
    #[new]
    fn new() -> Self {
        Program(Arc::default())
    }

    /// Starts to read the program in a file, and to describe its inputs and outputs. `map` assigns the inputs
    /// of a circuit to the parties. `source` is the JSON of the compiler's options.
    fn load(&self, path: PathBuf, map: InputRoles, source: String) -> PyResult<Task> {
        let (keeps, map) = (self.0.clone(), input_map(map)?);
        Task::start(move |_| {
            let read = brickwork::Program::load_with(&path, &map, &from_json(&source)?)?;
            TaskResult::of(&keeps.get_or_init(|| read).ports())
        })
    }

    /// Returns the compiled program in the cut of its file, as a `.bwp` file.
    fn compiled(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let program = loaded(self)?;
        Ok(py.detach(|| program.given().to_bytes()))
    }

    /// Starts to decode output bits.
    fn outputs(
        &self,
        executions: Option<u32>,
        garbler: Option<PyBackedBytes>,
        evaluator: Option<PyBackedBytes>,
    ) -> PyResult<Task> {
        let (program, both) = (loaded(self)?, [garbler, evaluator]);
        Task::start(move |_| {
            let bits = both.map(|bits| bits.map(|bits| bits.iter().map(|&bit| bit == 1).collect::<Vec<_>>()));
            TaskResult::of(&output_values(
                program.given(),
                executions,
                bits.each_ref().map(Option::as_deref),
            )?)
        })
    }
}

/// The parties of the inputs of a circuit, by the names of their roles.
pub type InputRoles = BTreeMap<String, String>;

/// Returns the parties of the inputs of a circuit.
pub fn input_map(map: InputRoles) -> PyResult<formats::InputMap> {
    map.into_iter().map(|(name, role)| Ok((name, party(&role)?))).collect()
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
            "a private key cannot be copied or pickled: keep it in a file that keygen made",
        ))
    }
}
