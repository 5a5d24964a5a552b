//! A session that another process of ours keeps, and in which it decides step by step what comes next.

use std::path::PathBuf;
use std::sync::Arc;

use brickwork::circuit::formats::InputMap;
use brickwork::circuit::{Party, Program, Recipient};
use brickwork::duplo::{Request, Secret, Step};
use brickwork::session::{TABLE_MEMORY, Terms};
use brickwork::wire::tls::{Identity, PublicKey};
use brickwork_kernels::Erasing;
use clap::Args;
use serde_json::json;

use crate::arguments::{Address, Reading, Resources, security};
use crate::failure::Failure;
use crate::party::{Home, parsed};
use crate::report::{Report, bit_string, hex};
use crate::session::{Playing, meet};
use crate::{files, programs, values};

/// What a party says of a session.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub address: Address,
    /// This party's private key; without it the caller has one
    #[arg(long, value_name = "KEYFILE")]
    identity: Option<PathBuf>,
    #[arg(long, value_name = "PUBKEY")]
    peer: String,
    #[arg(long, value_name = "40|64|80", default_value = "40", value_parser = security)]
    security: u32,
    #[command(flatten)]
    pub resources: Resources,
    /// A program, and how often it may run
    #[arg(long = "program", value_name = "FILE=TIMES", required = true)]
    programs: Vec<String>,
}

/// A session between two steps, and what its steps have kept.
pub struct Standing {
    party: Party,
    /// None once a step has failed: what this session has is not used again.
    playing: Option<Playing>,
    programs: Vec<(Arc<Program>, u32)>,
    kept: Vec<Secret>,
}

impl Standing {
    /// Meets the peer, who must mean the same programs as often, and makes all that they can take.
    pub fn begin(
        party: Party,
        flags: Vec<std::ffi::OsString>,
        identity: Option<Identity>,
        home: &mut Home,
    ) -> Result<Self, Failure> {
        let arguments: Arguments = parsed(flags)?;
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
            security: arguments.security.into(),
            threads: arguments.resources.threads(),
            table_memory: TABLE_MEMORY,
            identities: keys.map(PublicKey::to_bytes),
            post_quantum: false,
        };
        let options = arguments.resources.options(party);
        let digest = digest(&programs, arguments.security);
        let channel = meet(&arguments.address, &options, &identity, peer, &digest, true, home)?;
        let playing = Playing::begin(party, channel, &terms, &needs(&programs), true)?;
        Ok(Standing { party, playing: Some(playing), programs, kept: Vec::new() })
    }

    /// Runs one of the programs once. `carried` are ports of either party, each with the number of what it
    /// takes; outputs that `keep` names are decoded for nobody, and get numbers.
    pub fn step(
        &mut self,
        program: usize,
        input: Option<&str>,
        carried: &[(Party, String, usize)],
        keep: &[String],
    ) -> Result<Report, Failure> {
        let ended = || Failure::usage("the session is over", "begin another one: `brickwork.connect`");
        let unknown = || Failure::usage("nothing of this session", "carry on what this session has kept");
        let left = self.programs.get_mut(program).ok_or_else(unknown)?;
        let secrets: Option<Vec<_>> =
            carried.iter().map(|(party, port, k)| Some((*party, &port[..], self.kept.get(*k)?))).collect();
        let keep: Vec<&str> = keep.iter().map(String::as_str).collect();
        let step = Step::new(&left.0, &secrets.ok_or_else(unknown)?, &keep)?;
        let ports = step.input_ports(self.party);
        let input = match (input, ports.is_empty()) {
            (_, true) => zeroize::Zeroizing::default(),
            (Some(text), false) => values::step_bits(text, &ports, self.party, &Reading::default())?,
            (None, false) => {
                return Err(Failure::usage(
                    "the step needs an input",
                    "`Program.inputs` shows what it takes",
                ));
            }
        };
        left.1 = left.1.checked_sub(1).ok_or_else(|| {
            Failure::usage(
                "the program has run as often as it may",
                "say when connecting how often: all is made before the first input",
            )
        })?;
        let (given, playing) = self.playing.take().ok_or_else(ended)?.step(&step, &input)?;
        self.playing = Some(playing);
        let names = step.program().outputs().iter().filter(|output| output.to == Recipient::Nobody);
        let names: Vec<&str> = names.map(|output| output.port.name.as_str()).collect();
        let first = self.kept.len();
        self.kept.extend(given.kept);
        let json = json!({
            "output_bits": bit_string(&given.outputs),
            "kept": names.iter().zip(first..).map(|(name, k)| json!([name, k])).collect::<Vec<_>>(),
            "security": given.security,
        });
        Ok(Report::new(json, String::new()))
    }

    /// Ends the session.
    pub fn close(&mut self) -> Result<Report, Failure> {
        let phases = self.playing.take().map(Playing::close).transpose()?;
        Ok(Report::new(json!({ "phases": phases.unwrap_or_default() }), String::new()))
    }
}

/// Reads `FILE=TIMES`.
fn named(text: &str) -> Result<(Arc<Program>, u32), Failure> {
    let wrong = || Failure::usage("--program: expected FILE=TIMES", "such as auction.bwp=10");
    let (file, times) = text.rsplit_once('=').ok_or_else(wrong)?;
    let times = times.parse().ok().filter(|&times| times > 0).ok_or_else(wrong)?;
    Ok((Arc::new(programs::load(file.as_ref(), &InputMap::new())?), times))
}

/// All that the programs can take, whatever is carried on or kept.
fn needs(programs: &[(Arc<Program>, u32)]) -> Request {
    let mut all = Request { components: Vec::new(), garbler_wires: 0, ots: None };
    for (program, times) in programs {
        let times = *times as usize;
        let outputs: usize = program.outputs().iter().map(|output| output.wires.len()).sum();
        for (component, slots) in program.components().iter().zip(program.slots_by_component()) {
            let digest = component.digest();
            match all.components.iter_mut().find(|(known, _)| known.digest() == digest) {
                Some((_, sum)) => *sum += slots * times,
                None => all.components.push((component.clone(), slots * times)),
            }
        }
        all.garbler_wires += (program.input_width(Party::Garbler) + outputs) * times;
        all.ots =
            Some(all.ots.unwrap_or(0) + program.input_width(Party::Evaluator) * times).filter(|&n| n > 0);
    }
    all.components.retain(|(_, slots)| *slots > 0);
    all
}

/// Names a session; both parties must have the same.
fn digest(programs: &[(Arc<Program>, u32)], security: u32) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 standing session");
    hasher.update(&security.to_le_bytes());
    for (program, times) in programs {
        hasher.update(&program.digest()).update(&times.to_le_bytes());
    }
    hex(hasher.finalize().as_bytes())
}
