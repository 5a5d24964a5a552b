//! `brickwork bench stock`: the cost of stock on disk, and of a program that uses it.
//!
//! Both parties are threads of this process, each with its own store, and communicate by TLS over the
//! loopback interface. The connection is open before the first program, because a process starts, shakes
//! hands and compares the stores only once, for any number of programs.

use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use brickwork::circuit::{Party, Program};
use brickwork::disk::{Store, StoreKey};
use brickwork::duplo::{Evaluator, Garbler, Lacking, Request, Step, Stocked};
use brickwork::engine::role;
use brickwork::protocol::{TABLE_MEMORY, Terms, Unobserved};
use brickwork::random::Rng;
use brickwork::resources;
use brickwork::wire::Channel;
use brickwork::wire::tls::{self, EndpointOptions, Identity, Listener, PublicKey};
use brickwork_cli::parts::{Failure, ProgramArguments, Report, programs, security};
use brickwork_report::words::{bytes, plural};
use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::runs::{OfBoth, PARTIES, folder, median};

/// Time making stock on disk and in memory, programs that use stock over one connection, steps of a session
/// in memory, and verifying the store
#[derive(Args)]
pub struct BenchStockFlags {
    #[command(flatten)]
    program: ProgramArguments,
    /// Number of executions to make stock for and to run
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    executions: u16,
    /// Threads of each party
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Statistical security in bits
    #[arg(long, value_name = "40|64|80", default_value = "40", hide_default_value = true,
        value_parser = security)]
    security: u32,
}

/// Wall-clock time, and CPU time of both parties.
#[derive(Clone, Copy, Serialize)]
struct Time {
    seconds: f64,
    cpu_seconds_of_both: f64,
}

/// The begin of a measurement.
struct Begun(Instant, f64);

impl Begun {
    fn now() -> Self {
        Begun(Instant::now(), resources::cpu_seconds())
    }

    fn time(&self) -> Time {
        let (seconds, cpu) = (self.0.elapsed().as_secs_f64(), resources::cpu_seconds());
        Time { seconds, cpu_seconds_of_both: cpu - self.1 }
    }
}

/// Two parties with keys.
pub struct Parties {
    identities: [Identity; 2],
    pub terms: Terms,
}

impl Parties {
    /// Makes two parties with this statistical security and this many threads each.
    pub fn new(security: u32, threads: usize) -> Result<Self, Failure> {
        let identities = [Identity::generate()?.0, Identity::generate()?.0];
        let keys = [0, 1].map(|i| PublicKey::to_bytes(identities[i].public_key()));
        Ok(Parties {
            identities,
            terms: Terms {
                security: security.into(),
                threads,
                table_memory: TABLE_MEMORY,
                identities: keys,
                post_quantum: false,
            },
        })
    }

    /// Connects both parties over TLS, and runs each on its end of the connection.
    pub fn connect<T: Send>(
        &self,
        work: impl Fn(Party, Channel) -> Result<T, Failure> + Sync,
    ) -> Result<[T; 2], Failure> {
        let [garbler, evaluator] = &self.identities;
        let options =
            |party| EndpointOptions { party, lanes: 1, timeout: std::time::Duration::from_secs(60) };
        let listener =
            Listener::bind("127.0.0.1:0", garbler, evaluator.public_key(), &options(Party::Garbler))?;
        let address = listener.local_addr()?.to_string();
        let work = &work;
        let (first, second) = thread::scope(|scope| {
            let first = scope.spawn(move || work(Party::Garbler, listener.accept()?));
            let channel = tls::connect(&address, evaluator, garbler.public_key(), &options(Party::Evaluator));
            let second = channel.map_err(Failure::from).and_then(|channel| work(Party::Evaluator, channel));
            (first.join().unwrap_or_else(|_| Err(Failure::fault("the garbler's thread failed"))), second)
        });
        Ok([first?, second?])
    }
}

/// Both parties' stores, in a folder that is deleted when this is dropped.
pub struct Folders {
    folder: tempfile::TempDir,
    key: StoreKey,
}

impl Folders {
    /// Makes a folder for both stores.
    pub fn new() -> Result<Self, Failure> {
        let folder = folder()?;
        let mut key = [0; 32];
        Rng::new("brickwork bench store key")?.fill(&mut key);
        Ok(Folders { folder, key: StoreKey::from_bytes(key) })
    }

    fn place(&self, party: Party) -> std::path::PathBuf {
        self.folder.path().join(role(party))
    }

    /// Fills both stores.
    fn fill(&self, parties: &Parties, request: &Request) -> Result<(), Failure> {
        let filled = parties.connect(|party, channel| {
            let store = self.open(party)?;
            let session = Stocked::open(party, channel, &store, &parties.terms, Unobserved)?;
            Ok(session.preprocess(std::slice::from_ref(request))?.1.close().map(drop)?)
        });
        filled.map(drop)
    }

    /// Opens a party's store.
    pub fn open(&self, party: Party) -> Result<Store, brickwork::ProtocolError> {
        Store::open(&self.place(party), &self.key)
    }

    /// Counts the bytes of both stores.
    pub fn bytes(&self) -> Result<OfBoth<u64>, Failure> {
        let [garbler, evaluator] = PARTIES.map(|party| folder_bytes(&self.place(party)));
        Ok([garbler?, evaluator?].into())
    }
}

/// The time of one execution at the evaluator: the median and the minimum.
#[derive(Serialize)]
struct Online {
    #[serde(flatten)]
    middle: Time,
    least_seconds: f64,
    /// The bytes that both parties sent, if they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

impl Online {
    fn of(runs: &[Time], bytes: Option<u64>) -> Self {
        let middle = |of: fn(&Time) -> f64| median(runs.iter().map(of).collect());
        Online {
            middle: Time {
                seconds: middle(|time| time.seconds),
                cpu_seconds_of_both: middle(|time| time.cpu_seconds_of_both),
            },
            least_seconds: runs.iter().map(|time| time.seconds).fold(f64::INFINITY, f64::min),
            bytes,
        }
    }
}

impl Display for Online {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let times = [self.middle.seconds, self.least_seconds, self.middle.cpu_seconds_of_both];
        let [seconds, least, cpu] = times.map(|seconds| 1e3 * seconds);
        write!(f, "{seconds:.2} ms (least {least:.2} ms), CPU time of both parties {cpu:.2} ms")
    }
}

/// The inputs of both parties to each execution.
struct Inputs(Vec<[Vec<bool>; 2]>);

impl Inputs {
    fn random(program: &Program, executions: usize) -> Result<Self, Failure> {
        let mut rng = Rng::new("brickwork bench inputs")?;
        let mut bits = |party| (0..program.input_width(party)).map(|_| rng.below(2) == 1).collect::<Vec<_>>();
        Ok(Inputs((0..executions).map(|_| PARTIES.map(&mut bits)).collect()))
    }

    /// Runs the program in a session on each of the inputs, and checks every output.
    fn each<S>(
        &self,
        program: &Program,
        party: Party,
        mut session: S,
        mut run: impl FnMut(S, &[bool]) -> Result<(Vec<bool>, S), brickwork::ProtocolError>,
    ) -> Result<(Vec<Time>, S), brickwork::ProtocolError> {
        let mut times = Vec::new();
        for input in &self.0 {
            let begun = Begun::now();
            let outputs;
            (outputs, session) = run(session, &input[party as usize])?;
            times.push(begun.time());
            if outputs != program.output_bits(party, &program.simulate(&input[0], &input[1])) {
                return Err(brickwork::ProtocolError::Resource(
                    "an output is not that of the simulation".into(),
                ));
            }
        }
        Ok((times, session))
    }
}

pub fn run(arguments: &BenchStockFlags) -> Result<Report, Failure> {
    let program = programs::program(&arguments.program)?.given().clone();
    let executions = usize::from(arguments.executions);
    let Request { components, garbler_wires, .. } = Request::of(&program);
    let request = Request {
        components: components.into_iter().map(|(of, slots)| (of, slots * executions)).collect(),
        garbler_wires: garbler_wires * executions,
        ots: Some(program.input_width(Party::Evaluator) * executions),
    };
    let parties = Parties::new(arguments.security, arguments.threads.into())?;
    let inputs = Inputs::random(&program, executions)?;
    let (steps, in_memory) = in_memory(&parties, &request, &program, &inputs)?;
    let folders = Folders::new()?;
    let begun = Begun::now();
    folders.fill(&parties, &request)?;
    let (on_disk, sizes) = (begun.time(), folders.bytes()?);
    let [_, (runs, sent)] = run_from(&parties, &program, &inputs, &folders)?;
    // Used items are deleted, so the verification uses another store of the original size.
    let second = Folders::new()?;
    second.fill(&parties, &request)?;
    let store = second.open(Party::Evaluator)?;
    let begun = Begun::now();
    let rate = store.verify()? as f64 / begun.time().seconds;

    let (online, step) = (Online::of(&runs, Some(sent)), Online::of(&steps, None));
    let human = format!(
        "{}: stock for {}.\nOne execution from stock over an open connection: {online}, {}.\nOne further \
         step of a session in memory: {step}.\nMaking the stock: in memory {:.3} s (CPU {:.3} s), on disk \
         {:.3} s (CPU {:.3} s).\nOn disk: garbler {}, evaluator {}; verified at {}/s\n",
        program.name(),
        plural(executions as u64, "execution"),
        bytes(sent),
        in_memory.seconds,
        in_memory.cpu_seconds_of_both,
        on_disk.seconds,
        on_disk.cpu_seconds_of_both,
        bytes(sizes.garbler),
        bytes(sizes.evaluator),
        bytes(rate as u64),
    );
    let json = json!({
        "executions": executions,
        "online": online,
        "step": step,
        "preprocess_in_memory": in_memory,
        "preprocess_on_disk": on_disk,
        "disk_bytes": sizes,
        "verify_bytes_per_second": rate,
    });
    Report::new(&json, human)
}

/// Makes stock in memory, and runs the program in steps of that session. Returns the time of the steps at the
/// evaluator, and the time of making the stock.
fn in_memory(
    parties: &Parties,
    request: &Request,
    program: &Arc<Program>,
    inputs: &Inputs,
) -> Result<(Vec<Time>, Time), Failure> {
    let step = &Step::new(program, &[], &[])?;
    let begun = Begun::now();
    let [_, (steps, made)] = parties.connect(|party, channel| {
        // The types of the two sessions differ, but the code for them is the same.
        macro_rules! session {
            ($party:ident) => {{
                let session = $party::setup(channel, &parties.terms, Unobserved)?.fill(request)?;
                let made = begun.time();
                let (steps, session) = inputs.each(program, party, session, |session, input| {
                    let (report, session) = session.run(step.clone(), input)?;
                    Ok((report.outputs, session))
                })?;
                session.close()?;
                Ok((steps, made))
            }};
        }
        match party {
            Party::Garbler => session!(Garbler),
            Party::Evaluator => session!(Evaluator),
        }
    })?;
    Ok((steps, made))
}

/// Runs the program on stock over one connection. Returns the times, and the bytes of an execution.
fn run_from(
    parties: &Parties,
    program: &Arc<Program>,
    inputs: &Inputs,
    folders: &Folders,
) -> Result<[(Vec<Time>, u64); 2], Failure> {
    parties.connect(|party, channel| {
        let store = folders.open(party)?;
        let mut session =
            Stocked::open(party, channel, &store, &parties.terms, Unobserved)?.expect(program)?;
        let before = session.bytes();
        let (runs, mut session) = inputs.each(program, party, session, |session, input| {
            let (done, session) = session.run(program, input, Lacking::Refuse)?;
            Ok((done.outputs, session))
        })?;
        let sent = (session.bytes() - before) / inputs.0.len() as u64;
        session.close()?;
        Ok((runs, sent))
    })
}

fn folder_bytes(folder: &Path) -> Result<u64, Failure> {
    let failed = |e: std::io::Error| {
        Failure::cannot_read(&folder.display().to_string(), &e)
            .advise("let nothing else work in the temporary folder meanwhile")
    };
    let mut total = 0;
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let data = entry.metadata().map_err(failed)?;
        total += if data.is_dir() { folder_bytes(&entry.path())? } else { data.len() };
    }
    Ok(total)
}
