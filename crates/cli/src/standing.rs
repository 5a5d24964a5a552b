//! A session that another process of this party keeps open. That process chooses each next step.

use std::path::PathBuf;
use std::sync::Arc;

use brickwork::circuit::formats::InputMap;
use brickwork::circuit::{Party, Program, Recipient};
use brickwork::engine::stocked::{Asked, FromStock, Job, Stocked, Wishes};
use brickwork::ot::Cot;
use brickwork::process::Process;
use brickwork::program::repeated;
use brickwork::session::steps::{Secret, Step};
use brickwork::session::{TABLE_MEMORY, Terms};
use brickwork::stock::Store;
use brickwork::wire::tls::{Identity, PublicKey};
use brickwork_kernels::{Erasing, Secrets};
use clap::Args;
use serde_json::json;

use crate::arguments::{Address, Protocol, Reading, Resources, SECURITY, security};
use crate::failure::Failure;
use crate::party::{Host, parsed};
use crate::progress::watch;
use crate::report::{Report, bit_string, hex};
use crate::requested::Requested;
use crate::session::{Given, Needs, Playing, has_sessions, meet};
use crate::store::StoreArguments;
use crate::{files, programs, values};

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub address: Address,
    /// This party's private key; by default the caller gives it
    #[arg(long, value_name = "KEYFILE")]
    identity: Option<PathBuf>,
    #[arg(long, value_name = "PUBKEY")]
    peer: String,
    #[arg(long, value_name = "NAME", default_value_t = Protocol::OF_NEW_STOCK)]
    protocol: Protocol,
    #[arg(long, value_name = "40|64|80", value_parser = security)]
    security: Option<u32>,
    #[arg(long)]
    post_quantum: bool,
    #[command(flatten)]
    pub resources: Resources,
    #[command(flatten)]
    stock: StoreArguments,
    /// Without a store: a program and how often it may run
    #[arg(long = "program", value_name = "FILE=TIMES")]
    programs: Vec<String>,
}

/// A session between two steps, and the values that its steps have kept.
pub struct Standing {
    process: Process,
    party: Party,
    protocol: Protocol,
    /// The connection. It is `None` after a failed step, because the session's data must not be used again.
    line: Option<Line>,
    programs: Vec<Known>,
    kept: Vec<Secret>,
}

/// A program of the session.
struct Known {
    program: Arc<Program>,
    /// The number of further runs for which items were made at the beginning; `None` with a store.
    left: Option<u32>,
}

enum Line {
    /// All items were made when the session began, and are in memory.
    Made(Playing),
    /// The items come from a store, and missing ones may be made.
    Stocked(Stocked, StoreArguments),
}

/// The step that a caller requests.
pub struct Wish<'a> {
    /// The number of the program in the session.
    pub program: usize,
    /// This party's input, in the form of a value for `--input`.
    pub input: Option<&'a str>,
    /// The number of executions that run side by side.
    pub executions: Option<u32>,
    /// For each port of either party that takes a kept value: the port, and the value's number.
    pub carried: &'a [(Party, String, usize)],
    /// The outputs that are not decoded. Each gets a number.
    pub keep: &'a [String],
}

impl Standing {
    /// Connects to the peer, which must have the same session. Without a store, it makes all items for the
    /// programs.
    pub fn begin(
        party: Party,
        flags: Vec<std::ffi::OsString>,
        identity: Option<Identity>,
        host: &mut Host,
    ) -> Result<Self, Failure> {
        let arguments: Arguments = parsed(flags)?;
        let store = arguments.checked()?;
        let programs = arguments.programs.iter().map(|text| named(text)).collect::<Result<Vec<_>, _>>()?;
        let peer = files::public_key(&arguments.peer)?;
        let identity = {
            let _erasing = Erasing::begin();
            let none = || Failure::usage("--identity is missing", "`brickwork keygen` makes a key");
            identity.map_or_else(|| files::identity(arguments.identity.as_deref().ok_or_else(none)?), Ok)?
        };
        let keys = match party {
            Party::Garbler => [identity.public_key(), peer],
            Party::Evaluator => [peer, identity.public_key()],
        };
        let terms = Terms {
            security: arguments.security.unwrap_or(SECURITY).into(),
            threads: arguments.resources.threads(),
            table_memory: TABLE_MEMORY,
            identities: keys.map(PublicKey::to_bytes),
            post_quantum: arguments.post_quantum,
        };
        let options = arguments.resources.options(party);
        let digest = arguments.digest(&programs);
        let channel = meet(&arguments.address, &options, &identity, peer, &digest, host)?;
        let protocol = arguments.protocol;
        let line = match store {
            Some(store) => {
                let line =
                    Stocked::open(protocol, Cot::default(), party, channel, &store, &terms, &watch(true))?;
                Line::Stocked(line, arguments.stock)
            }
            None => Line::Made(Playing::begin(protocol, party, channel, &terms, needs(&programs), true)?),
        };
        Ok(Standing {
            process: Process::here(),
            party,
            protocol,
            line: Some(line),
            programs,
            kept: Vec::new(),
        })
    }

    /// Adds a program to a session with a store. Returns its number.
    pub fn add(&mut self, file: &str) -> Result<usize, Failure> {
        self.here()?;
        if !matches!(self.line, Some(Line::Stocked(..))) {
            return Err(Failure::usage(
                "a program that this session was not made for",
                "name all of them when connecting, or take a store",
            ));
        }
        let program = programs::circuit(file.as_ref(), &InputMap::new())?;
        self.programs.push(Known { program, left: None });
        Ok(self.programs.len() - 1)
    }

    /// Makes stock. The arguments have the form `FILE[:NAME]=COUNT`.
    pub fn fill(&mut self, words: &[String]) -> Result<Report, Failure> {
        self.here()?;
        let requested = words.iter().map(|word| Requested::parse(word)?.load(&InputMap::new()));
        let requested = requested.collect::<Result<Vec<_>, _>>()?;
        let asked = Asked::of(&requested, &Wishes::new(self.protocol))?;
        let line = self.line.take().ok_or_else(ended)?;
        let Line::Stocked(line, stock) = line else {
            self.line = Some(line);
            return Err(Failure::usage(
                "all of this session was made when it began",
                "take a store, which can be filled",
            ));
        };
        let (done, line) = line.make(&asked)?;
        self.line = Some(Line::Stocked(line, stock));
        Ok(Report::new(json!({ "steps": asked.words(), "resumed": done.resumed }), String::new()))
    }

    /// Runs one of the programs.
    pub fn step(&mut self, wish: &Wish) -> Result<Report, Failure> {
        self.here()?;
        let unknown = || Failure::usage("nothing of this session", "carry on what this session has kept");
        let known = self.programs.get_mut(wish.program).ok_or_else(unknown)?;
        let secrets: Option<Vec<_>> = wish
            .carried
            .iter()
            .map(|(party, port, k)| Some((*party, &port[..], self.kept.get(*k)?)))
            .collect();
        let secrets = secrets.ok_or_else(unknown)?;
        let keep: Vec<&str> = wish.keep.iter().map(String::as_str).collect();
        let plain = secrets.is_empty() && keep.is_empty();
        if wish.executions.is_some() && !plain {
            return Err(Failure::usage(
                "several executions carry nothing on, and keep nothing",
                "run it once at a time",
            ));
        }
        let step = Step::new(&known.program, &secrets, &keep)?;
        let input = given(wish, &step, &known.program, self.party)?;
        let times = wish.executions.unwrap_or(1);
        if let Some(left) = &mut known.left {
            *left = left.checked_sub(times).ok_or_else(|| {
                Failure::usage(
                    "the program has run as often as it may",
                    "say when connecting how often: all is made before the first input",
                )
            })?;
        }
        let FromStock { outputs, kept, promise, made, .. } = match self.line.take().ok_or_else(ended)? {
            Line::Made(playing) => {
                let step = match wish.executions {
                    Some(_) => (&Arc::new(repeated(&known.program, wish.executions)?)).into(),
                    None => step.clone(),
                };
                let (given, playing) = playing.step(&step, &input)?;
                self.line = Some(Line::Made(playing));
                let Given { outputs, kept, promise } = given;
                FromStock { outputs, kept, recovered: false, promise, made: None }
            }
            Line::Stocked(line, stock) => {
                let job = match plain {
                    true => Job::Program(&known.program, wish.executions),
                    false => Job::Step(&step),
                };
                let (given, line) = line.run(&job, &input, stock.lacking())?;
                self.line = Some(Line::Stocked(line, stock));
                given
            }
        };
        let names = step.program().outputs().iter().filter(|output| output.to == Recipient::Nobody);
        let names: Vec<&str> = names.map(|output| output.port.name.as_str()).collect();
        let first = self.kept.len();
        self.kept.extend(kept);
        let json = json!({
            "output_bits": bit_string(&outputs),
            "kept": names.iter().zip(first..).map(|(name, k)| json!([name, k])).collect::<Vec<_>>(),
            "promise": promise,
            "made_on_the_spot": made,
        });
        Ok(Report::new(json, String::new()))
    }

    /// Ends the session, in agreement with the peer.
    pub fn close(&mut self) -> Result<Report, Failure> {
        self.here()?;
        let phases = match self.line.take() {
            Some(Line::Made(playing)) => playing.close()?,
            Some(Line::Stocked(line, _)) => line.close()?,
            None => Vec::new(),
        };
        Ok(Report::new(json!({ "phases": phases }), String::new()))
    }

    /// Refuses to run in a forked process, whose labels, stock and record numbers are copies of those in the
    /// first process.
    fn here(&self) -> Result<(), Failure> {
        self.process.check().map_err(|_| forked())
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        if !self.process.is_here() {
            // Dropping it would close the store and the connection, which the first process still uses.
            std::mem::forget(self.line.take());
        }
    }
}

/// Returns the error for an object that was made before this process was forked.
pub fn forked() -> Failure {
    Failure::usage(
        "a session belongs to the process that began it, and this process was forked from that one",
        "begin one in each process, with a store of its own",
    )
}

/// Returns the error of a session that has ended.
pub fn ended() -> Failure {
    Failure::usage("the session is over", "begin another one: `brickwork.connect`")
}

/// Returns the bits of this party's input to a step.
fn given(wish: &Wish, step: &Step, program: &Program, party: Party) -> Result<Secrets<bool>, Failure> {
    let ports = step.input_ports(party);
    let Some(text) = wish.input else {
        return match ports.is_empty() {
            true => Ok(Secrets::default()),
            false => Err(Failure::usage("the step needs an input", "`Program.inputs` shows what it takes")),
        };
    };
    match wish.executions {
        None if ports.is_empty() => Ok(Secrets::default()),
        None => values::step_bits(text, &ports, party, &Reading::default()),
        Some(times) => values::bits(Some(text), program, party, Some(times), &Reading::default()),
    }
}

impl Arguments {
    /// Refuses options that have no effect in sessions, and opens the store, if there is one.
    fn checked(&self) -> Result<Option<Store>, Failure> {
        let Some(folder) = &self.stock.store else {
            return match self.protocol {
                Protocol::Duplo | Protocol::Authenticated if self.programs.is_empty() => Err(Failure::usage(
                    "a session needs its programs, and how often each may run",
                    "give --program FILE=TIMES; or --store, and what is lacking is made on the way",
                )),
                protocol => has_sessions(protocol).map(|()| None),
            };
        };
        if self.post_quantum {
            return Err(Failure::usage(
                "--post-quantum does not go with a store: what is in stock rests on base OTs from an \
                 elliptic curve",
                "leave --store or --post-quantum out",
            ));
        }
        if !self.programs.is_empty() {
            return Err(Failure::usage(
                "with a store programs are named when they run",
                "leave --program out; `fill` makes stock beforehand",
            ));
        }
        let level = self.security.is_some();
        Wishes { level, ..Wishes::new(self.protocol) }.check()?;
        self.stock.open(folder).map(Some)
    }

    /// Returns a digest of a session, which must be the same at both parties.
    fn digest(&self, programs: &[Known]) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 standing session");
        let terms = json!([
            self.protocol.name(),
            self.security.unwrap_or(SECURITY),
            self.post_quantum,
            self.stock.store.is_some(),
        ]);
        hasher.update(terms.to_string().as_bytes());
        for Known { program, left } in programs {
            hasher.update(&program.digest()).update(&left.unwrap_or_default().to_le_bytes());
        }
        hex(hasher.finalize().as_bytes())
    }
}

/// Reads `FILE=TIMES`.
fn named(text: &str) -> Result<Known, Failure> {
    let wrong = || Failure::usage("--program: expected FILE=TIMES", "such as auction.bwp=10");
    let (file, times) = text.rsplit_once('=').ok_or_else(wrong)?;
    let times = times.parse().ok().filter(|&times| times > 0).ok_or_else(wrong)?;
    Ok(Known { program: programs::circuit(file.as_ref(), &InputMap::new())?, left: Some(times) })
}

/// Returns the items that all programs can need, whatever values they keep.
fn needs(programs: &[Known]) -> Needs {
    let mut all = Needs::default();
    for Known { program, left } in programs {
        let times = left.unwrap_or_default() as usize;
        let outputs: usize = program.outputs().iter().map(|output| output.wires.len()).sum();
        all.add(program, times);
        for (sum, party) in all.inputs.iter_mut().zip([Party::Garbler, Party::Evaluator]) {
            *sum += program.input_width(party) * times;
        }
        all.sealed += outputs * times;
    }
    all
}
