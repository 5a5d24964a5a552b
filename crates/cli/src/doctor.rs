//! `brickwork doctor`: what would fail before work starts.

use std::path::PathBuf;
use std::process::ExitCode;

use brickwork::circuit::{Party, Program};
use brickwork::duplo;
use brickwork::wire::tls::{self, Identity, Listener, PublicKey};
use brickwork_kernels::{KERNEL_VARIABLE, Kernel};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::arguments::{Address, Map, Parameters, Resources, public_key};
use crate::failure::{Failure, code};
use crate::report::{Report, bytes, hex, plural};
use crate::store::StoreArguments;
use crate::{announce, files, resources};

/// Find what would fail, before work starts
///
/// Give the flags of the command that is to be checked. What needs the peer works while the peer waits: with
/// --connect the other side may run `garbler --listen`, `evaluator --listen` or `doctor --listen`; with
/// --listen it runs `doctor --connect`.
#[derive(Args)]
pub struct Arguments {
    /// The program
    file: Option<PathBuf>,
    #[command(flatten)]
    map: Map,
    /// This party's role
    #[arg(long)]
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
    #[command(flatten)]
    stock: StoreArguments,
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
    let identity =
        arguments.identity.as_ref().and_then(|path| findings.note("identity", check_identity(path)));
    let peer = arguments
        .peer
        .as_ref()
        .and_then(|text| findings.note("peer", public_key(text).map(|key| (key, key.to_string()))));
    let program = arguments
        .file
        .as_ref()
        .and_then(|path| findings.note("program", check_program(path, &arguments.map)));
    findings.note("kernel", Ok(((), kernel())));
    let need =
        program.as_ref().and_then(|program| findings.note("parameters", parameters(program, arguments)));
    if let Some(need) = need {
        findings.note("memory", memory(need));
    }
    let store = arguments.stock.store.as_ref().map(|directory| arguments.stock.key.check(directory));
    findings.note(
        "disk",
        store.unwrap_or_else(|| Ok("none is needed: nothing is kept".into())).map(|detail| ((), detail)),
    );
    if arguments.address.listen.is_some() || arguments.address.connect.is_some() {
        let result = match (identity, peer, program, arguments.role) {
            (Some(identity), Some(peer), Some(program), Some(role)) => {
                connection(arguments, &identity, peer, &program, role, quiet)
            }
            _ => Err(Failure::usage(
                "the connection cannot be checked without FILE, --role, --identity and --peer, all of them good",
                "give those that are missing, and mend those that failed above",
            )),
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
                human.push_str(&format!(
                    "FAILED  {name}: {}\n        hint: {}\n",
                    failure.message(),
                    failure.hint()
                ));
                checks.push(
                    json!({ "name": name, "ok": false, "detail": failure.message(), "hint": failure.hint() }),
                );
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

fn check_program(path: &std::path::Path, map: &Map) -> Result<(Program, String), Failure> {
    let program = files::load(path, &map.parties())?;
    let detail = format!("{}, digest {}", plural(program.and_gates(), "AND gate"), hex(&program.digest()));
    Ok((program, detail))
}

fn kernel() -> String {
    let (kernel, fastest) = (Kernel::best(), Kernel::all_available()[0]);
    let remark = if kernel != fastest {
        format!("; {KERNEL_VARIABLE} asks for it, {} is faster", fastest.name())
    } else if kernel == Kernel::PORTABLE {
        "; this machine has no AES instructions, so expect a tenth of the speed".into()
    } else {
        String::new()
    };
    format!("{}{remark}", kernel.name())
}

/// Cut-and-choose as the run would choose it.
fn parameters(program: &Program, arguments: &Arguments) -> Result<(u64, String), Failure> {
    let repeated = files::repeated(program, arguments.parameters.executions.executions)?;
    let parameters = duplo::Parameters::choose(&repeated, arguments.parameters.security)?;
    let copies: u64 = parameters.components.iter().map(|cut| cut.copies()).sum();
    let detail = format!(
        "{} of components for {}, at most 2^{:.2} for a cheater",
        plural(copies, "copy"),
        plural(repeated.slot_count() as u64, "slot"),
        parameters.bound_log2
    );
    Ok((memory_need(&repeated, &parameters), detail))
}

/// About how many bytes a party needs: the tables of the chosen copies, and the labels and commitments of
/// all. The numbers were measured on runs of AES and of matrix products.
fn memory_need(program: &Program, parameters: &duplo::Parameters) -> u64 {
    const AND_GATE: u64 = 36;
    const WIRE: u64 = 96;
    const GADGET: u64 = 200;
    const PROCESS: u64 = 16 << 20;
    let components = program.components().iter().zip(&parameters.components).map(|(component, cut)| {
        let circuit = &component.circuit;
        let tables = cut.kept().saturating_mul(circuit.and_gates() as u64 * AND_GATE);
        tables.saturating_add(
            cut.copies().saturating_mul((circuit.inputs() + circuit.outputs().len()) as u64 * WIRE),
        )
    });
    let gadgets = (parameters.plain.copies() + parameters.input.copies()).saturating_mul(GADGET);
    components.fold(PROCESS.saturating_add(gadgets), u64::saturating_add)
}

fn memory(need: u64) -> Result<((), String), Failure> {
    match resources::available_bytes() {
        Some(available) if available < need => Err(Failure::new(
            code::OTHER,
            format!("{} are free, and the run needs about {}", bytes(available), bytes(need)),
            "close other programs, or use fewer --executions",
        )),
        Some(available) => {
            Ok(((), format!("{} are free, and the run needs about {}", bytes(available), bytes(need))))
        }
        None => {
            Ok(((), format!("the run needs about {}; what is free is not known on this system", bytes(need))))
        }
    }
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
    let options = arguments
        .resources
        .options(party, arguments.parameters.terms(program, arguments.stock.store.is_some()));
    if let Some(address) = &arguments.address.connect {
        tls::probe(address, identity, peer, &options)?;
    } else if let Some(address) = &arguments.address.listen {
        let listener = Listener::bind(address, identity, peer, &options)?;
        announce(&listener, quiet)?;
        listener.answer_probe(options.timeout)?;
    }
    Ok("the peer is there, holds its key, and has the same version, program and parameters".into())
}
