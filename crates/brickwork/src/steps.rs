//! A session of two parties: programs run one after another, and values stay on wires between them.

use brickwork_base::Party;
use brickwork_base::process::Process;
use brickwork_circuit as circuit;
use brickwork_protocol::steps::{Secret, Step};
use brickwork_protocol::stock::Lacking;
use brickwork_protocol::{PhaseReport, Promise};

use crate::engine::request::Protocol;
use crate::engine::sessions::Steps;
use crate::engine::stocked::{FromStock, Requested, StockOptions, StockRequest, Stocked, StockedProgram};
use crate::failure::Error;
use crate::program::Program;
use crate::values::{Inputs, Outputs};

/// A session with the peer, on the stores of both parties, or on items that were made when it began. It
/// cannot be used after an error.
///
/// A step can keep a value on wires that neither party can read, and a later step of the session can use it.
/// `duplo` and `authenticated` keep values.
///
/// ```
/// use brickwork::{Identity, Inputs, Party, Program, Store, StoreKey};
/// # let folder = tempfile::tempdir().unwrap();
/// # let (of_alice, of_bob) = (folder.path().join("alice"), folder.path().join("bob"));
///
/// // Alice's balance is kept, and nobody learns it; a payment of Bob's is taken from it later.
/// let text = "#parties 2\n#input 1 uint_t 32\n#input 2 uint_t 32\n#output 1 uint_t 32\n\
///             function void main() { output1 = input1 - input2; }";
/// let program = Program::from_source("pay.wir", text)?;
/// let key = StoreKey::from_hex(&StoreKey::generate()?)?;
/// let ((alice, _), (bob, _)) = (Identity::generate()?, Identity::generate()?);
/// let (to_bob, to_alice) = (alice.public_key(), bob.public_key());
///
/// let mut garbler = Party::garbler(alice).peer(to_alice).listen("127.0.0.1:0");
/// garbler.store(Store::open(&of_alice, &key)?);
/// let address = garbler.bind()?.to_string();
/// let other = program.clone();
/// # let key = key.clone();
/// let bob = std::thread::spawn(move || -> Result<(), brickwork::Error> {
///     let mut evaluator = Party::evaluator(bob).peer(to_bob).connect(address);
///     evaluator.store(Store::open(&of_bob, &key)?);
///     let mut session = evaluator.session()?;
///     session.prepare(&other, 2)?;
///     let first = session.step(&other, &Inputs::from(("input2", 30u32)), &[], &["output1"])?;
///     let paid = &first.kept[0];
///     session.step(&other, &Inputs::from(("input2", 12u32)), &[("input1", paid)], &[])?;
///     session.close().map(drop)
/// });
/// let mut session = garbler.session()?;
/// session.prepare(&program, 2)?;
/// let first = session.step(&program, &Inputs::from(("input1", 100u32)), &[], &["output1"])?;
/// assert_eq!(first.outputs.names().count(), 0);
/// let second = session.step(&program, &Inputs::new(), &[("input1", &first.kept[0])], &[])?;
/// assert_eq!(second.outputs.get::<u32>("output1")?, 58);
/// session.close()?;
/// bob.join().expect("no panic")?;
/// # Ok::<(), brickwork::Error>(())
/// ```
pub struct Session {
    process: Process,
    role: Party,
    protocol: Protocol,
    /// Absent after an error: the data of this session is not used again.
    line: Option<SessionLine>,
    /// If the session began with a list of programs: for each program, by its digest, the number of runs that
    /// are left.
    left: Option<Vec<([u8; 32], u32)>>,
}

enum SessionLine {
    /// All items were made when the session began, and are in memory.
    Made(Box<dyn Steps>),
    /// Items come from stock, and missing ones may be made.
    Stocked(Stocked),
}

/// The result of a step of a session at one party.
#[derive(Debug)]
#[non_exhaustive]
pub struct StepRun {
    /// The outputs of this party.
    pub outputs: Outputs,
    /// The kept values, in the order in which the program lists their outputs.
    pub kept: Vec<KeptValue>,
    /// The promise of the step.
    pub promise: Promise,
    /// The items that were missing in the stock and were made for the step, in words.
    pub made: Option<String>,
}

/// A value of a session on wires that neither party can read.
#[derive(Debug)]
pub struct KeptValue(Secret);

impl Session {
    pub(crate) fn from_stock(role: Party, protocol: Protocol, line: Stocked) -> Self {
        Session {
            process: Process::here(),
            role,
            protocol,
            line: Some(SessionLine::Stocked(line)),
            left: None,
        }
    }

    pub(crate) fn made(
        role: Party,
        protocol: Protocol,
        line: Box<dyn Steps>,
        left: Option<Vec<([u8; 32], u32)>>,
    ) -> Self {
        Session { process: Process::here(), role, protocol, line: Some(SessionLine::Made(line)), left }
    }

    /// Makes stock for this number of executions of a program.
    ///
    /// # Errors
    /// Those of the protocol and of the store; an error of usage without a store.
    pub fn prepare(&mut self, program: &Program, executions: u32) -> Result<(), Error> {
        self.fill(&[Requested::of(program, executions)]).map(drop)
    }

    /// Makes stock as requested. Returns the stock in words, and the number of steps that an
    /// interrupted session had completed.
    #[doc(hidden)]
    pub fn fill(&mut self, requested: &[Requested]) -> Result<(Vec<String>, u32), Error> {
        let asked = StockRequest::of(requested, &StockOptions::new(self.protocol))?;
        let (done, line) = match self.take()? {
            SessionLine::Stocked(line) => line.make(&asked)?,
            made @ SessionLine::Made(_) => {
                self.line = Some(made);
                let hint = "begin a session with a store, because a store can be filled";
                return Err(Error::usage(
                    "this session made all its items when it began and cannot make more",
                    hint,
                ));
            }
        };
        self.line = Some(SessionLine::Stocked(line));
        Ok((asked.words, done.resumed))
    }

    /// Runs a program with the inputs of this party. Items that are missing in the stock are made, but not in
    /// a part of the store that a program of this session has used before. So [prepare](Session::prepare) all
    /// runs of a session first.
    ///
    /// # Errors
    /// As [`Session::step`].
    pub fn run(&mut self, program: &Program, inputs: &Inputs) -> Result<StepRun, Error> {
        self.step(program, inputs, &[], &[])
    }

    /// Runs a program as a step. The inputs in `carried`, of either party, get values that earlier steps
    /// kept. The outputs in `keep` are kept. Both parties must give the same names.
    ///
    /// # Errors
    /// An error of input if a value is missing or does not fit, or a name is unknown; one of usage if the
    /// program has run as often as it may. After such an error the session can continue. Also errors of the
    /// protocol and of the store, which end the session.
    pub fn step(
        &mut self,
        program: &Program,
        inputs: &Inputs,
        carried: &[(&str, &KeptValue)],
        keep: &[&str],
    ) -> Result<StepRun, Error> {
        let owner = |name: &str| {
            let has = |party: &Party| program.inputs(*party).iter().any(|port| port.name == name);
            [Party::Garbler, Party::Evaluator].into_iter().find(has).unwrap_or(Party::Garbler)
        };
        let secrets: Vec<_> = carried.iter().map(|(name, kept)| (owner(name), *name, &kept.0)).collect();
        let step = Step::new(program.given(), &secrets, keep)?;
        let input = inputs.encode(&step.input_ports(self.role))?;
        let job = match carried.is_empty() && keep.is_empty() {
            true => StockedProgram::Program(program.given(), None),
            false => StockedProgram::Step(&step),
        };
        let FromStock { outputs, kept, promise, made, .. } =
            self.play(program.given(), &job, &input, Lacking::Make)?;
        let ports: Vec<_> = step.program().outputs_of(self.role).map(|output| output.port.clone()).collect();
        Ok(StepRun {
            outputs: Outputs::decode(&ports, &outputs),
            kept: kept.into_iter().map(KeptValue).collect(),
            promise,
            made,
        })
    }

    /// Runs a program, or a step of it, on the input bits of this party.
    #[doc(hidden)]
    pub fn play(
        &mut self,
        program: &circuit::Program,
        job: &StockedProgram,
        input: &[bool],
        lacking: Lacking,
    ) -> Result<FromStock, Error> {
        self.here()?;
        let (digest, times) = (program.digest(), job.executions());
        let left = self.left.as_mut().map(|left| left.iter_mut().find(|(known, _)| *known == digest));
        if let Some(known) = left {
            let hint = "give the number of runs when the session begins, because all items are made before \
                 the first input";
            let often = || Error::usage("the program has already run as often as this session allows", hint);
            let (_, left) = known
                .ok_or_else(|| Error::usage("this program was not named when the session began", hint))?;
            *left = left.checked_sub(times).ok_or_else(often)?;
        }
        let (done, line) = match self.take()? {
            SessionLine::Made(session) => {
                let (done, session) = session.step(&job.step()?, input)?;
                (done, SessionLine::Made(session))
            }
            SessionLine::Stocked(line) => {
                let (done, line) = line.run(job, input, lacking)?;
                (done, SessionLine::Stocked(line))
            }
        };
        self.line = Some(line);
        Ok(done)
    }

    /// Ends the session in agreement with the peer. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// If the peer went away.
    pub fn close(mut self) -> Result<Vec<PhaseReport>, Error> {
        self.here()?;
        match self.line.take() {
            None => Ok(Vec::new()),
            Some(SessionLine::Made(session)) => Ok(session.close()?),
            Some(SessionLine::Stocked(line)) => line.close(),
        }
    }

    /// Refuses to run in a forked process: its labels, stock and record numbers are copies of those that the
    /// first process uses.
    fn here(&self) -> Result<(), Error> {
        self.process.check().map_err(|_| Session::forked())
    }

    /// Takes the connection, which a failed step does not give back.
    fn take(&mut self) -> Result<SessionLine, Error> {
        self.here()?;
        self.line.take().ok_or_else(Session::over)
    }

    /// Returns the error of a session that has ended.
    #[doc(hidden)]
    pub fn over() -> Error {
        Error::usage("the session has ended", "begin another session")
    }

    /// Returns the error for a forked process that uses something that was begun before the fork.
    #[doc(hidden)]
    pub fn forked() -> Error {
        Error::usage(
            "a session belongs to the process that began it, but this process was forked from it",
            "begin a session in each process, each with its own store",
        )
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.process.is_here() {
            // Dropping the connection would close the store and the connection, which the first process still
            // uses.
            std::mem::forget(self.line.take());
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("role", &self.role).finish_non_exhaustive()
    }
}
