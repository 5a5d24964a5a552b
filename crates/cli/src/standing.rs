//! A session that another process of this party keeps open. That process chooses each next step.

use std::path::{Path, PathBuf};

use brickwork::circuit::formats::InputMap;
use brickwork::circuit::{Party, Program as Circuit, Recipient};
use brickwork::engine::protocols::sessions;
use brickwork::engine::request::RunRequest;
use brickwork::engine::stocked::{FromStock, Job, Wishes};
use brickwork::engine::ways::Protocols;
use brickwork::reading;
use brickwork::session::steps::{Secret, Step};
use brickwork::session::stock::Lacking;
use brickwork::stock::Store;
use brickwork::wire::tls::Identity;
use brickwork::{self as library, Program, Session, StoreRequest};
use brickwork_kernels::{Erasing, Secrets};
use clap::Args;
use serde_json::json;

use crate::arguments::{Address, Parameters, Protocol, Resources, security};
use crate::failure::Failure;
use crate::party::{Host, no_address, no_identity, parsed, told};
use crate::progress::watch;
use crate::report::{Report, bit_string};
use crate::requested::Requested;
use crate::store::StoreArguments;
use crate::{files, programs};

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
    party: Party,
    /// None after the end.
    session: Option<Session>,
    store: Option<StoreRequest>,
    programs: Vec<Program>,
    kept: Vec<Secret>,
}

/// A requested step.
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
        role: Party,
        flags: Vec<std::ffi::OsString>,
        identity: Option<Identity>,
        host: &mut Host,
    ) -> Result<Self, Failure> {
        let arguments: Arguments = parsed(flags)?;
        let store = arguments.checked()?;
        let programs = arguments.programs.iter().map(|text| named(text)).collect::<Result<Vec<_>, _>>()?;
        let Arguments { address, identity: keyfile, peer, .. } = &arguments;
        let mut party = joining(role, address, identity, keyfile.as_deref(), peer, arguments.request())?;
        listens(&mut party, address, host)?;
        let session = match store {
            Some(store) => party.store(store).session_watched(&watch(true))?,
            None => {
                let programs: Vec<_> = programs.iter().map(|(program, times)| (program, *times)).collect();
                party.session_of_watched(&programs, &watch(true))?
            }
        };
        Ok(Standing {
            party: role,
            session: Some(session),
            store: arguments.stock.request(),
            programs: programs.into_iter().map(|(program, _)| program).collect(),
            kept: Vec::new(),
        })
    }

    /// Adds a program to a session with a store. Returns its number.
    pub fn add(&mut self, file: &str) -> Result<usize, Failure> {
        if self.store.is_none() {
            return Err(Failure::usage(
                "a program that this session was not made for",
                "name all of them when connecting, or take a store",
            ));
        }
        self.programs.push(programs::load(file.as_ref(), &InputMap::new())?);
        Ok(self.programs.len() - 1)
    }

    /// Makes stock. The arguments have the form `FILE[:NAME]=COUNT`.
    pub fn fill(&mut self, words: &[String]) -> Result<Report, Failure> {
        let requested = words.iter().map(|word| Requested::parse(word)?.load(&InputMap::new()));
        let requested = requested.collect::<Result<Vec<_>, _>>()?;
        let session = self.session.as_mut().ok_or_else(Session::over)?;
        let (steps, resumed) = session.fill(&requested)?;
        Ok(Report::new(json!({ "steps": steps, "resumed": resumed }), String::new()))
    }

    /// Runs one of the programs.
    pub fn step(&mut self, wish: &Wish) -> Result<Report, Failure> {
        let unknown = || Failure::usage("nothing of this session", "carry on what this session has kept");
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
            return Err(Failure::usage(
                "several executions carry nothing on, and keep nothing",
                "run it once at a time",
            ));
        }
        let step = Step::new(program, &secrets, &keep)?;
        let input = given(wish, &step, program, self.party)?;
        let job = match plain {
            true => Job::Program(program, wish.executions),
            false => Job::Step(&step),
        };
        let session = self.session.as_mut().ok_or_else(Session::over)?;
        let lacking = self.store.as_ref().map_or(Lacking::Make, StoreRequest::lacking);
        let FromStock { outputs, kept, promise, made, .. } = session.play(program, &job, &input, lacking)?;
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
        let phases = self.session.take().map_or(Ok(Vec::new()), Session::close)?;
        Ok(Report::new(json!({ "phases": phases }), String::new()))
    }
}

/// Returns the party of a session with these flags. A key that is given replaces that of the flags.
pub fn joining(
    role: Party,
    address: &Address,
    identity: Option<Identity>,
    keyfile: Option<&Path>,
    peer: &str,
    request: RunRequest<Protocols>,
) -> Result<library::Party, Failure> {
    let peer = files::public_key(peer)?;
    let identity = {
        let _erasing = Erasing::begin();
        match (identity, keyfile) {
            (Some(identity), _) => identity,
            (None, Some(path)) => files::identity(path)?,
            (None, None) => return Err(no_identity()),
        }
    };
    let party = library::Party::with_request(role, identity, request).peer(peer);
    match (&address.listen, &address.connect) {
        (Some(address), _) => Ok(party.listen(address)),
        (None, Some(address)) => Ok(party.connect(address)),
        (None, None) => Err(no_address()),
    }
}

/// Starts to listen, if the flags say so, and tells the host the address.
pub fn listens(party: &mut library::Party, address: &Address, host: &mut Host) -> Result<(), Failure> {
    match address.listen {
        Some(_) => told(party.bind()?, host),
        None => Ok(()),
    }
}

/// Returns the bits of this party's input to a step.
fn given(wish: &Wish, step: &Step, program: &Circuit, party: Party) -> Result<Secrets<bool>, Failure> {
    let ports = step.input_ports(party);
    let Some(text) = wish.input else {
        return match ports.is_empty() {
            true => Ok(Secrets::default()),
            false => Err(Failure::usage("the step needs an input", "`Program.inputs` shows what it takes")),
        };
    };
    match wish.executions {
        None if ports.is_empty() => Ok(Secrets::default()),
        None => Ok(reading::step_bits(text, &ports, party, &Default::default())?),
        Some(times) => Ok(reading::bits(Some(text), program, party, Some(times), &Default::default())?),
    }
}

impl Arguments {
    /// Refuses options that have no effect in sessions, and opens the store, if there is one.
    fn checked(&self) -> Result<Option<Store>, Failure> {
        let Some(store) = self.stock.request() else {
            return match self.protocol {
                Protocol::Duplo | Protocol::Authenticated if self.programs.is_empty() => Err(Failure::usage(
                    "a session needs its programs, and how often each may run",
                    "give --program FILE=TIMES; or --store, and what is lacking is made on the way",
                )),
                protocol => Ok(sessions(protocol).map(|_| None)?),
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
        Ok(Some(store.open()?))
    }

    /// Returns the request of the session.
    fn request(&self) -> RunRequest<Protocols> {
        let parameters = Parameters {
            security: self.security,
            post_quantum: self.post_quantum,
            ..Parameters::new(Protocols::from(self.protocol))
        };
        RunRequest { resources: self.resources.of_request(), ..RunRequest::new(parameters) }
    }
}

/// Reads `FILE=TIMES`.
fn named(text: &str) -> Result<(Program, u32), Failure> {
    let wrong = || Failure::usage("--program: expected FILE=TIMES", "such as auction.bwp=10");
    let (file, times) = text.rsplit_once('=').ok_or_else(wrong)?;
    let times = times.parse().ok().filter(|&times| times > 0).ok_or_else(wrong)?;
    Ok((programs::load(file.as_ref(), &InputMap::new())?, times))
}
