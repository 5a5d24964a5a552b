//! Runs: both parties on threads of this process, or one of them; and simulations.

use std::io::{self, Read, Write};

use brickwork::circuit::Party;
use brickwork::engine::both::{Both, fastest, merged};
use brickwork::engine::role;
use brickwork::engine::run::PartyRun;
use brickwork::engine::task::Host;
use brickwork::options::{RunOptions, from_json};
use brickwork::program::repeated;
use brickwork::reading::{self, GivenValue};
use brickwork::wire::tls::Identity as Key;
use brickwork::wire::{Channel, over};
use brickwork::{Error, Program, Report};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::objects::{Identity, Program as PyProgram, loaded, party};
use crate::task::{Task, TaskResult, TaskState};

/// An input of a party, as Python gives it.
#[derive(FromPyObject)]
pub enum GivenInput {
    /// The bits of its wires, one in each byte.
    Bits(PyBackedBytes),
    /// A value in the form of the command's flag.
    Text(String),
}

/// An input in the memory of this library.
pub enum HeldInput {
    /// The bits of its wires.
    Bits(brickwork_kernels::SecretBlocks<bool>),
    /// A value in the form of the command's flag.
    Text(Zeroizing<String>),
    /// No input.
    Nothing,
}

impl HeldInput {
    /// Takes an input that Python gave.
    pub fn of(input: Option<GivenInput>) -> Self {
        match input {
            Some(GivenInput::Bits(bytes)) => HeldInput::Bits(brickwork_kernels::SecretBlocks::new(
                bytes.iter().map(|byte| *byte == 1).collect(),
            )),
            Some(GivenInput::Text(text)) => HeldInput::Text(Zeroizing::new(text)),
            None => HeldInput::Nothing,
        }
    }

    /// Returns the input in the form that the library reads.
    pub fn given(self: &HeldInput) -> GivenValue<'_> {
        match self {
            HeldInput::Bits(bits) => GivenValue::Bits(bits),
            HeldInput::Text(text) => GivenValue::Text(text),
            HeldInput::Nothing => GivenValue::Nothing,
        }
    }
}

/// The report of a run, and the role of the party if the report is about one party.
#[derive(Serialize)]
struct Ran<'r> {
    #[serde(flatten)]
    report: &'r Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
}

/// Starts both parties on threads of this process.
#[pyfunction]
#[pyo3(signature = (program, options, garbler, evaluator))]
pub fn run_both(
    program: &PyProgram,
    options: String,
    garbler: Option<GivenInput>,
    evaluator: Option<GivenInput>,
) -> PyResult<Task> {
    let (program, inputs) = (loaded(program)?, [garbler, evaluator].map(HeldInput::of));
    // The parties' threads look for a stop by themselves.
    Task::start(move |shared| both(&program, &from_json(&options)?, &inputs, shared))
}

fn both(
    program: &Program,
    options: &RunOptions,
    inputs: &[HeldInput; 2],
    shared: &TaskState,
) -> Result<TaskResult, Error> {
    let request = options.request()?;
    let _ = request.allowed()?;
    let given = inputs.each_ref().map(HeldInput::given);
    let inputs = reading::bits_of_both(given, program.given(), options.executions(), &options.reading()?)?;
    let stores = options.store();
    let (request, reason) = fastest(&request, program, stores.as_ref())?;
    let both = Both {
        program,
        request: &request,
        stores: stores.as_ref(),
        recovery_notes: options.recovery_notes.as_deref(),
    };
    let ran = both.run(inputs, &shared.control)?;
    let report = merged(&ran[0].report, &ran[1].report, reason);
    Ok(TaskResult {
        bits: ran.map(|ran| Some(ran.outputs)),
        ..TaskResult::of(&Ran { report: &report, role: None })?
    })
}

/// Starts one party, `garbler` or `evaluator`. `line` is a connection that the caller made, like a socket.
#[pyfunction]
#[pyo3(signature = (role, program, options, identity, input, line))]
pub fn run_party(
    role: &str,
    program: &PyProgram,
    options: String,
    identity: Option<&Identity>,
    input: Option<GivenInput>,
    line: Option<Py<PyAny>>,
) -> PyResult<Task> {
    let (of, program, input) = (party(role)?, loaded(program)?, HeldInput::of(input));
    let pem = identity.map(|identity| identity.pem.clone());
    let line = line.map(|line| -> PyResult<_> {
        let (reader, writer) = Python::attach(|py| (PythonLine(line.clone_ref(py)), PythonLine(line)));
        over(reader, writer).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    });
    let line = line.transpose()?;
    Task::start(move |shared| one(of, &program, &from_json(&options)?, (pem, &input, line), shared))
}

fn one(
    party: Party,
    program: &Program,
    options: &RunOptions,
    (pem, input, line): (Option<Zeroizing<String>>, &HeldInput, Option<Channel>),
    shared: &TaskState,
) -> Result<TaskResult, Error> {
    let task = options.task(party, line.is_some())?;
    let reading = options.reading()?;
    let input = reading::bits(input.given(), program.given(), party, options.executions(), &reading)?;
    let identity = match pem {
        Some(pem) => Key::from_pem(&pem)?,
        // The caller's connection is not protected by keys, so any key will do.
        None if line.is_some() && !options.has_identity() => Key::generate()?.0,
        None => options.identity()?,
    };
    let watch = shared.control.progress.watch();
    let mut listens = |address| {
        shared.listens(address);
        Ok(())
    };
    let mut host = Host { listens: &mut listens, watch: &watch, line, warns: true };
    let PartyRun { outputs, report, .. } = task.run(program, (&identity, &input), &mut host)?;
    let mut answer = TaskResult::of(&Ran { report: &report, role: Some(role(party)) })?;
    answer.bits[party as usize] = Some(outputs);
    Ok(answer)
}

/// A connection that Python made: an object with the methods `recv` and `sendall` of a socket.
struct PythonLine(Py<PyAny>);

impl PythonLine {
    fn call<T>(&self, work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> io::Result<T> {
        Python::attach(|py| {
            work(self.0.bind(py)).map_err(|error| {
                // The message of the exception may repeat the sent bytes, so only the kind of the exception
                // is passed on.
                let kind = error.get_type(py).name();
                io::Error::other(kind.map_or_else(|_| "an error".into(), |name| name.to_string()))
            })
        })
    }
}

impl Read for PythonLine {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.call(|line| {
            let received: PyBackedBytes = line.call_method1("recv", (to.len(),))?.extract()?;
            match to.get_mut(..received.len()) {
                Some(part) => part.copy_from_slice(&received),
                None => return Err(PyRuntimeError::new_err("recv returned more than was asked for")),
            }
            Ok(received.len())
        })
    }
}

impl Write for PythonLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.call(|line| line.call_method1("sendall", (PyBytes::new(line.py(), bytes),)).map(drop))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Starts a computation in the clear.
#[pyfunction]
#[pyo3(signature = (program, options, garbler, evaluator))]
pub fn simulate(
    program: &PyProgram,
    options: String,
    garbler: Option<GivenInput>,
    evaluator: Option<GivenInput>,
) -> PyResult<Task> {
    let (program, inputs) = (loaded(program)?, [garbler, evaluator].map(HeldInput::of));
    Task::start(move |_| {
        let options: RunOptions = from_json(&options)?;
        let (program, executions) = (program.given(), options.executions());
        let given = inputs.each_ref().map(HeldInput::given);
        let [garbler, evaluator] = reading::bits_of_both(given, program, executions, &options.reading()?)?;
        let repeated = repeated(program, executions)?;
        let outputs = repeated.simulate(&garbler, &evaluator);
        let bits =
            [Party::Garbler, Party::Evaluator].map(|party| Some(repeated.output_bits(party, &outputs)));
        Ok(TaskResult { bits, ..TaskResult::of(&())? })
    })
}
