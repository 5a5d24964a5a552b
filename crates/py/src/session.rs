//! Sessions that Python keeps open. Python chooses each next step.

use std::sync::{Arc, Mutex, PoisonError};

use brickwork::circuit::{Party, Program as Circuit, Recipient, value};
use brickwork::control::Control;
use brickwork::engine::stocked::{FromStock, Requested, StockedProgram};
use brickwork::options::{RunOptions, from_json};
use brickwork::preprocess::ComponentCount;
use brickwork::process::Owned;
use brickwork::protocol::steps::{Secret, Step};
use brickwork::protocol::stock::Lacking;
use brickwork::protocol::{PhaseReport, Promise};
use brickwork::reading::{self, ReadingOptions};
use brickwork::wire::tls::Identity as Key;
use brickwork::{Error, Party as Participant, Program, Session as Library};
use brickwork_kernels::{Erasing, SecretBlocks};
use pyo3::prelude::*;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::objects::{Identity, Program as PyProgram, party};
use crate::runs::{GivenInput, HeldInput};
use crate::stock::counted;
use crate::task::{Task, TaskResult, TaskState, error_json};

/// A session; empty before it has begun. Only one thread uses it at a time.
#[pyclass(frozen, module = "brickwork._native")]
pub struct Session(Owned<Arc<Mutex<Option<Standing>>>>);

#[pymethods]
impl Session {
    /// Makes a session that has not begun.
    #[new]
    fn new() -> Self {
        Session(Owned::default())
    }

    /// Starts to connect to the peer. Without a store, each program may run as often as the number beside it
    /// says.
    fn connect(
        &self,
        role: &str,
        options: String,
        programs: Vec<(PyRef<'_, PyProgram>, u32)>,
        identity: Option<&Identity>,
    ) -> PyResult<Task> {
        let role = party(role)?;
        let pem = identity.map(|identity| identity.pem.clone());
        let programs: Vec<_> =
            programs.iter().filter_map(|(program, times)| Some((program.get()?, *times))).collect();
        Task::with(&self.0, move |session, shared| {
            let begin = || Standing::begin(role, &from_json(&options)?, pem, programs, shared);
            let begun = shared.control.run(begin).map_err(|error| error_json(&error))?;
            *session.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
            Ok(TaskResult::default())
        })
    }

    /// Starts to add a program to a session with a store.
    fn add(&self, program: &PyProgram) -> PyResult<Task> {
        let program = program.get();
        self.start(move |session, _| session.add(program))
    }

    /// Starts to make stock.
    fn fill(&self, words: Vec<String>, programs: Vec<(PyRef<'_, PyProgram>, u32)>) -> PyResult<Task> {
        let programs = counted(programs)?;
        self.start(move |session, _| session.fill(&words, programs))
    }

    /// Starts a step.
    fn step(
        &self,
        program: usize,
        input: Option<GivenInput>,
        executions: Option<u32>,
        carried: Vec<(String, String, usize)>,
        keep: Vec<String>,
    ) -> PyResult<Task> {
        let carried = carried.into_iter().map(|(role, port, kept)| Ok((party(&role)?, port, kept)));
        let carried = carried.collect::<PyResult<Vec<_>>>()?;
        let wish = KeptWish { program, input: HeldInput::of(input), executions, carried, keep };
        self.start(move |session, _| session.step(&wish))
    }

    /// Starts to end the session.
    fn close(&self) -> PyResult<Task> {
        Task::with(&self.0, |session, shared| {
            match &mut *session.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(session) => answer(&shared.control, || session.close()),
                None => Ok(TaskResult::default()),
            }
        })
    }

    /// Drops the session without a message to the peer, who sees a closed connection. A step must not be
    /// running.
    fn leave(&self, py: Python<'_>) {
        // Dropping the session closes a connection and a store. A forked child has neither.
        let Ok(session) = self.0.get() else { return };
        py.detach(|| drop(session.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}

impl Session {
    fn start(
        &self,
        work: impl FnOnce(&mut Standing, &Control) -> Result<TaskResult, Error> + Send + 'static,
    ) -> PyResult<Task> {
        Task::with(&self.0, |session, shared| {
            match &mut *session.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(session) => answer(&shared.control, || work(session, &shared.control)),
                None => Err(error_json(&Library::over())),
            }
        })
    }
}

fn answer(control: &Control, work: impl FnOnce() -> Result<TaskResult, Error>) -> Result<TaskResult, String> {
    control.run(work).map_err(|error| error_json(&error))
}

/// A session between two steps, and the values that its steps have kept.
pub struct Standing {
    party: Party,
    /// `None` after the end of the session.
    session: Option<Library>,
    stored: bool,
    lacking: Lacking,
    programs: Vec<Program>,
    kept: Vec<Secret>,
}

/// A requested step.
struct KeptWish {
    /// The number of the program in the session.
    program: usize,
    /// This party's input.
    input: HeldInput,
    /// The number of executions that run side by side.
    executions: Option<u32>,
    /// For each port of either party that takes a kept value: the port, and the value's number.
    carried: Vec<(Party, String, usize)>,
    /// The outputs that are not decoded. Each gets a number.
    keep: Vec<String>,
}

/// The result of a step.
#[derive(Serialize)]
struct Stepped<'s> {
    /// Each kept output with its number.
    kept: Vec<(&'s str, usize)>,
    promise: Promise,
    made_on_the_spot: Option<String>,
}

/// The result of making stock.
#[derive(Serialize)]
struct Filled {
    steps: Vec<String>,
    resumed: u32,
}

/// The phases of a session that has ended.
#[derive(Serialize)]
struct Closed {
    phases: Vec<PhaseReport>,
}

impl Standing {
    /// Connects to the peer, which must have the same session. Without a store, it makes all items for the
    /// programs.
    fn begin(
        role: Party,
        options: &RunOptions,
        pem: Option<Zeroizing<String>>,
        programs: Vec<(Program, u32)>,
        shared: &TaskState,
    ) -> Result<Self, Error> {
        let request = options.session_request()?;
        let identity = {
            let _erasing = Erasing::begin();
            match pem {
                Some(pem) => Key::from_pem(&pem)?,
                None => options.identity()?,
            }
        };
        let lacking = request.lacking;
        let party = Participant::with_request(role, identity, request);
        let mut party = party.peer(options.peer()?).at(options.place()?);
        let watch = shared.control.progress.watch();
        let store = options.store();
        let stored = store.is_some();
        if let Some(store) = store {
            if !programs.is_empty() {
                return Err(Error::usage(
                    "with a store, programs are named when they run, not when the session begins",
                    "leave the programs out; `fill` makes stock beforehand",
                ));
            }
            party.store(store.open()?);
        } else if programs.is_empty() {
            return Err(Error::usage(
                "a session needs its programs, and the number of runs of each",
                "name them with their numbers; or give a store, and missing items are made on the way",
            ));
        }
        if options.listens() {
            shared.listens(party.bind()?);
        }
        let session = match stored {
            true => party.session_watched(&watch)?,
            false => {
                let programs: Vec<_> = programs.iter().map(|(program, times)| (program, *times)).collect();
                party.session_of_watched(&programs, &watch)?
            }
        };
        let programs = programs.into_iter().map(|(program, _)| program).collect();
        Ok(Standing { party: role, session: Some(session), stored, lacking, programs, kept: Vec::new() })
    }

    /// Adds a program to a session with a store. Returns its number.
    fn add(&mut self, program: Option<Program>) -> Result<TaskResult, Error> {
        if !self.stored {
            return Err(Error::usage(
                "this program was not named when the session began",
                "name all programs when the session begins, or use a store",
            ));
        }
        self.programs.push(program.ok_or_else(|| Error::fault("the program has not been read yet"))?);
        TaskResult::of(&(self.programs.len() - 1))
    }

    /// Makes stock. The arguments have the form `FILE[:NAME]=COUNT`.
    fn fill(&mut self, words: &[String], mut requested: Vec<Requested>) -> Result<TaskResult, Error> {
        for one in ComponentCount::read(words, None)? {
            let program = Program::load(&one.file)?;
            requested.push(one.of(&program));
        }
        let session = self.session.as_mut().ok_or_else(Library::over)?;
        let (steps, resumed) = session.fill(&requested)?;
        TaskResult::of(&Filled { steps, resumed })
    }

    /// Runs one of the programs.
    fn step(&mut self, wish: &KeptWish) -> Result<TaskResult, Error> {
        let unknown = || {
            Error::usage(
                "this value does not belong to this session",
                "use only values that this session has kept",
            )
        };
        let program = self.programs.get(wish.program).ok_or_else(unknown)?.given();
        let secrets: Option<Vec<_>> = wish
            .carried
            .iter()
            .map(|(party, port, k)| Some((*party, &port[..], self.kept.get(*k)?)))
            .collect();
        let secrets = secrets.ok_or_else(unknown)?;
        let keep: Vec<&str> = wish.keep.iter().map(String::as_str).collect();
        let plain = secrets.is_empty() && keep.is_empty();
        if wish.executions.is_some() && !plain {
            return Err(Error::usage(
                "a step with several executions cannot use or keep values",
                "run the step with one execution at a time",
            ));
        }
        let step = Step::new(program, &secrets, &keep)?;
        let input = given(wish, &step, program, self.party)?;
        let job = match plain {
            true => StockedProgram::Program(program, wish.executions),
            false => StockedProgram::Step(&step),
        };
        let session = self.session.as_mut().ok_or_else(Library::over)?;
        let FromStock { outputs, kept, promise, made, .. } =
            session.play(program, &job, &input, self.lacking)?;
        let names = step.program().outputs().iter().filter(|output| output.to == Recipient::Nobody);
        let kept_names = names.map(|output| output.port.name.as_str()).zip(self.kept.len()..).collect();
        self.kept.extend(kept);
        let stepped = Stepped { kept: kept_names, promise, made_on_the_spot: made };
        let mut answer = TaskResult::of(&stepped)?;
        answer.bits[self.party as usize] = Some(outputs);
        Ok(answer)
    }

    /// Ends the session, in agreement with the peer.
    fn close(&mut self) -> Result<TaskResult, Error> {
        let phases = self.session.take().map_or(Ok(Vec::new()), Library::close)?;
        TaskResult::of(&Closed { phases })
    }
}

/// Returns the bits of this party's input to a step.
fn given(wish: &KeptWish, step: &Step, program: &Circuit, party: Party) -> Result<SecretBlocks<bool>, Error> {
    let ports = step.input_ports(party);
    let reading = ReadingOptions::default();
    match (&wish.input, wish.executions) {
        (HeldInput::Nothing, _) if !value::given(&ports).is_empty() => {
            Err(Error::usage("the step needs an input", "`Program.inputs` shows the inputs of a program"))
        }
        (HeldInput::Nothing, _) | (_, None) if ports.is_empty() => Ok(SecretBlocks::default()),
        (input, None) => reading::step_bits(input.given(), &ports, party, &reading),
        (input, executions) => reading::bits(input.given(), program, party, executions, &reading),
    }
}
