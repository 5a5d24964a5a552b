//! A session of a party with a store, in which stock is made and programs run one after another.

use brickwork_base::Party;
use brickwork_session::steps::{Secret, Step};
use brickwork_session::stock::{Lacking, Preprocessed};
use brickwork_session::{PhaseReport, Promise};

use crate::engine::request::Protocol;
use crate::engine::stocked::{Asked, FromStock, Job, Requested, Stocked, Wishes};
use crate::failure::Error;
use crate::program::Program;
use crate::values::{Inputs, Outputs};

/// A session with the peer, on the stores of both parties. After an error it cannot be used any more.
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
    pub(crate) role: Party,
    pub(crate) protocol: Protocol,
    /// The connection with both stores; `None` after an error.
    pub(crate) line: Option<Stocked>,
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
    /// Makes stock for this number of executions of a program.
    ///
    /// # Errors
    /// The errors of the protocol and of the store.
    pub fn prepare(&mut self, program: &Program, executions: u32) -> Result<(), Error> {
        let requested = Requested {
            file: program.name().to_owned(),
            program: program.given().clone(),
            name: None,
            count: executions,
        };
        let asked = Asked::of(&[requested], &Wishes::new(self.protocol))?;
        self.with(|line| {
            let (Preprocessed { .. }, line) = line.make(&asked)?;
            Ok(((), line))
        })
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
    /// An error of input if a value is missing or does not fit, or a name is unknown; the session can go on.
    /// An error of the protocol or of the store ends the session.
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
            true => Job::Program(program.given(), None),
            false => Job::Step(&step),
        };
        let FromStock { outputs, kept, promise, made, .. } =
            self.with(|line| line.run(&job, &input, Lacking::Make))?;
        let ports: Vec<_> = step.program().outputs_of(self.role).map(|output| output.port.clone()).collect();
        Ok(StepRun {
            outputs: Outputs::decode(&ports, &outputs),
            kept: kept.into_iter().map(KeptValue).collect(),
            promise,
            made,
        })
    }

    /// Ends the session, with the peer's consent. Returns the time and the bytes of each phase.
    ///
    /// # Errors
    /// If the peer went away.
    pub fn close(mut self) -> Result<Vec<PhaseReport>, Error> {
        self.line.take().map_or(Ok(Vec::new()), Stocked::close)
    }

    /// Hands the connection to `work`, and takes it back unless `work` fails.
    fn with<T>(&mut self, work: impl FnOnce(Stocked) -> Result<(T, Stocked), Error>) -> Result<T, Error> {
        let over = || Error::usage("the session is over", "begin another one with `Party::session`");
        let (done, line) = work(self.line.take().ok_or_else(over)?)?;
        self.line = Some(line);
        Ok(done)
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("role", &self.role).finish_non_exhaustive()
    }
}
