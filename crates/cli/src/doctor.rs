//! `brickwork doctor`: what would fail before work starts.

use std::path::PathBuf;
use std::process::ExitCode;

use brickwork::circuit::{Party, Program};
use brickwork::wire::tls::{self, Identity, Listener, PublicKey};
use brickwork_kernels::Kernel;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::arguments::{Address, Parameters, ProgramArguments, Resources, public_key};
use crate::failure::Failure;
use crate::report::{Report, bytes, plural};
use crate::{announce, files, info};

/// Find what would fail, before work starts
///
/// Give the flags of the command that is to be checked. What needs the peer works while the peer waits: with --connect
/// the other side may run `garbler --listen`, `evaluator --listen` or `doctor --listen`; with --listen it runs
/// `doctor --connect`.
#[derive(Args)]
pub struct Arguments {
    /// The program: a .bwp file
    #[arg(required = false)]
    file: Option<PathBuf>,
    /// This party's role
    #[arg(long, required = false)]
    role: Option<Role>,
    #[command(flatten)]
    address: Address,
    /// This party's private key
    #[arg(long, value_name = "KEYFILE")]
    identity: Option<PathBuf>,
    /// The peer's public key
    #[arg(long, value_name = "PUBKEY")]
    peer: Option<String>,
    #[command(flatten)]
    parameters: Parameters,
    #[command(flatten)]
    resources: Resources,
}

#[derive(Clone, Copy, ValueEnum)]
enum Role {
    Garbler,
    Evaluator,
}

/// What was found, in order.
#[derive(Default)]
struct Findings {
    done: Vec<(&'static str, Result<String, Failure>)>,
}

impl Findings {
    /// Notes the outcome of a check; passes a success on.
    fn note<T>(&mut self, name: &'static str, result: Result<(T, String), Failure>) -> Option<T> {
        match result {
            Ok((value, detail)) => {
                self.done.push((name, Ok(detail)));
                Some(value)
            }
            Err(failure) => {
                self.done.push((name, Err(failure)));
                None
            }
        }
    }
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let mut findings = Findings::default();
    let identity = arguments.identity.as_ref().and_then(|path| findings.note("identity", check_identity(path)));
    let peer = arguments.peer.as_ref().and_then(|text| findings.note("peer", public_key(text).map(|key| (key, key.to_string()))));
    let program = arguments.file.as_ref().and_then(|path| findings.note("program", check_program(path)));
    findings.note("kernel", Ok(((), kernel())));
    if let Some(program) = &program {
        findings.note("memory", memory(program, arguments));
    }
    findings.note("disk", Ok(((), "none is needed: nothing is kept".into())));
    if arguments.address.listen.is_some() || arguments.address.connect.is_some() {
        let result = match (identity, peer, program, arguments.role) {
            (Some(identity), Some(peer), Some(program), Some(role)) => connection(arguments, &identity, peer, &program, role, quiet),
            _ => Err(Failure::usage("the connection cannot be checked without FILE, --role, --identity and --peer, all of them good")),
        };
        findings.note("connection", result.map(|detail| ((), detail)));
    }
    Ok(report(findings))
}

fn report(findings: Findings) -> Report {
    let mut human = String::new();
    let mut checks = Vec::new();
    for (name, result) in &findings.done {
        match result {
            Ok(detail) => {
                human.push_str(&format!("ok      {name}: {detail}\n"));
                checks.push(json!({ "name": name, "ok": true, "detail": detail, "hint": "" }));
            }
            Err(failure) => {
                human.push_str(&format!("FAILED  {name}: {}\n        hint: {}\n", failure.message(), failure.hint()));
                checks.push(json!({ "name": name, "ok": false, "detail": failure.message(), "hint": failure.hint() }));
            }
        }
    }
    let mut json = json!({ "checks": checks });
    let first = findings.done.iter().find_map(|(_, result)| result.as_ref().err());
    if let (Some(failure), Value::Object(fields)) = (first, &mut json) {
        fields.insert("error".into(), failure.value());
    }
    Report { json, human, exit: first.map_or(ExitCode::SUCCESS, Failure::exit_code) }
}

fn check_identity(path: &std::path::Path) -> Result<(Identity, String), Failure> {
    let identity = files::identity(path)?;
    let detail = format!("readable and private; its public key is {}", identity.public_key());
    Ok((identity, detail))
}

fn check_program(path: &std::path::Path) -> Result<(Program, String), Failure> {
    let program = files::program(&ProgramArguments { file: path.to_owned() })?;
    let detail = format!("{}, digest {}", plural(program.and_gates(), "AND gate"), info::hex(&program.digest()));
    Ok((program, detail))
}

fn kernel() -> String {
    let best = Kernel::best();
    let slow = if best == Kernel::PORTABLE { "; this machine has no AES instructions, so expect a tenth of the speed" } else { "" };
    format!("{}{slow}", best.name())
}

/// Bytes of an AND gate's two half gates.
const GATE_BYTES: u64 = 32;

/// The most copies of a slot that the smallest programs need; large ones need far fewer.
const MOST_COPIES: u64 = 67;

fn memory(program: &Program, arguments: &Arguments) -> Result<((), String), Failure> {
    let executions = arguments.parameters.executions.executions.map_or(1, u64::from);
    let tables = program.and_gates().saturating_mul(executions).saturating_mul(GATE_BYTES * MOST_COPIES);
    let wires = (program.wires() as u64).saturating_mul(executions).saturating_mul(16 * MOST_COPIES);
    let need = tables.saturating_add(wires);
    match available_memory() {
        Some(available) if available < need => Err(Failure::new(
            crate::failure::code::OTHER,
            format!("{} are free, and the run may need up to {}", bytes(available), bytes(need)),
            "close other programs, or use fewer --executions",
        )),
        Some(available) => Ok(((), format!("{} are free, and the run needs less than {}", bytes(available), bytes(need)))),
        None => Ok(((), format!("the run needs less than {}; what is free is not known on this system", bytes(need)))),
    }
}

/// What Linux says is available.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn connection(
    arguments: &Arguments,
    identity: &Identity,
    peer: PublicKey,
    program: &Program,
    role: Role,
    quiet: bool,
) -> Result<String, Failure> {
    let party = match role {
        Role::Garbler => Party::Garbler,
        Role::Evaluator => Party::Evaluator,
    };
    let options = arguments.resources.options(party, arguments.parameters.terms(program));
    if let Some(address) = &arguments.address.connect {
        tls::probe(address, identity, peer, &options)?;
    } else if let Some(address) = &arguments.address.listen {
        let listener = Listener::bind(address, identity, peer, &options)?;
        announce(&listener, quiet)?;
        listener.answer_probe(options.timeout)?;
    }
    Ok("the peer is there, holds its key, and has the same version, program and parameters".into())
}
