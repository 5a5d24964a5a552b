//! `brickwork doctor`: finds problems before work starts.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use brickwork::at_most;
use brickwork::circuit::Party;
use brickwork::duplo::{self, Inventory, Lacking};
use brickwork::engine::protocols::{self, Only, Proposed};
use brickwork::engine::stocks::Stocks;
use brickwork::engine::ways::{RunPart, Ways};
use brickwork::engine::work::{Estimate, Work};
use brickwork::plan::check_temporary_files;
use brickwork::reading;
use brickwork::resources;
use brickwork::stock::{Account, Store};
use brickwork::wire::tls::{self, Identity, Listener, PublicKey};
use brickwork::{Program, StoreRequest};
use brickwork_kernels::{KERNEL_VARIABLE, Kernel};
use clap::Args;
use serde_json::{Value, json};

use crate::arguments::{
    Address, Choice, CutArguments, Keep, LineArguments, Map, ParameterArguments, Protocol, Reading,
    Resources, Role, request,
};
use crate::failure::{Failure, code};
use crate::report::{Report, bytes, hex, plural};
use crate::store::StoreArguments;
use crate::terminal::announce;
use crate::{files, programs};

/// Find problems before work starts
///
/// Give the flags of the command that you want to check. Each flag requests its checks. A requested check
/// fails if it needs another flag that is missing. To check the peer, it must be waiting: with --connect the
/// other side may run `garbler --listen`, `evaluator --listen` or `doctor --listen`; with --listen it runs
/// `doctor --connect`. Nothing is changed, in particular no store.
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
    #[command(flatten)]
    keep: Keep,
    /// This party's input, to see whether the program takes it
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    input: Option<String>,
    #[command(flatten)]
    reading: Reading,
    /// This party's private key
    #[arg(long, value_name = "KEYFILE")]
    identity: Option<PathBuf>,
    /// The peer's public key, or @file
    #[arg(long, value_name = "PUBKEY")]
    peer: Option<String>,
    #[command(flatten)]
    parameters: ParameterArguments,
    #[command(flatten)]
    resources: Resources,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    cut: CutArguments,
    #[command(flatten)]
    line: LineArguments,
    #[command(flatten)]
    stock: StoreArguments,
}

/// The result of a check.
enum Finding {
    Good(String),
    /// The check was not made; the text names the flag that requests it.
    NotChecked(String),
    Failed(Failure),
}

/// The results of all checks, in order.
#[derive(Default)]
struct Findings {
    done: Vec<(&'static str, Finding)>,
}

impl Findings {
    /// Records the result of a check; returns its value.
    fn note<T>(&mut self, name: &'static str, result: Result<(T, String), Failure>) -> Option<T> {
        let (value, finding) = match result {
            Ok((value, detail)) => (Some(value), Finding::Good(detail)),
            Err(failure) => (None, Finding::Failed(failure)),
        };
        self.done.push((name, finding));
        value
    }

    /// Records that a check was not requested, or lacks something that it needs.
    fn skip(&mut self, name: &'static str, why: impl Into<String>) {
        self.done.push((name, Finding::NotChecked(why.into())));
    }

    /// Records the failure of a requested check that needs other checks. A check that could not be made
    /// counts as failed.
    fn fail(&mut self, name: &'static str, flag: &str, lacking: Option<String>) {
        let hint = lacking.unwrap_or_default();
        let failure = Failure::usage(format!("{flag} asks for this check, which could not be made"), hint);
        self.done.push((name, Finding::Failed(failure)));
    }

    /// Checks the value of a flag.
    fn of_flag<A, T>(
        &mut self,
        name: &'static str,
        flag: &str,
        given: Option<&A>,
        check: impl FnOnce(&A) -> Result<(T, String), Failure>,
    ) -> Option<T> {
        match given {
            Some(given) => self.note(name, check(given)),
            None => {
                self.skip(name, format!("give {flag}"));
                None
            }
        }
    }
}

/// Returns why a check cannot be made: the flags that it needs and that are missing or wrong.
fn lacking(needs: &[(&str, bool, bool)]) -> Option<String> {
    let missing: Vec<&str> = needs.iter().filter(|(_, given, _)| !given).map(|(flag, ..)| *flag).collect();
    match (missing.is_empty(), needs.iter().all(|(.., good)| *good)) {
        (false, _) => Some(format!("give {}", missing.join(", "))),
        (true, false) => Some("mend what failed above".into()),
        (true, true) => None,
    }
}

pub fn run(arguments: &Arguments, quiet: bool) -> Result<Report, Failure> {
    let mut findings = Findings::default();
    let asked = arguments.stock.request();
    let request = {
        let Arguments { parameters, resources, choice, cut, .. } = arguments;
        request(parameters, resources, choice, cut, arguments.line.line(), asked.as_ref())
    };
    let _ = request.allowed()?;
    let role = arguments.role.map(Party::from);
    let identity = findings
        .of_flag("identity", "--identity KEYFILE", arguments.identity.as_ref(), |path| check_identity(path));
    let peer = findings.of_flag("peer", "--peer PUBKEY", arguments.peer.as_ref(), |text| {
        let key = files::public_key(text)?;
        Ok((key, key.to_string()))
    });
    let program = findings
        .of_flag("program", "FILE", arguments.file.as_ref(), |path| check_program(path, &arguments.map));
    check_input(&mut findings, arguments, program.as_ref(), role);
    findings.note("kernel", Ok(((), kernel())));

    let directory = asked.as_ref().map(|store| store.store.as_path());
    let store = match &asked {
        Some(asked) => findings.note("store", check_store(asked)),
        None => {
            findings.skip("store", "give --store DIR, if the run takes from one");
            None
        }
    };

    if let Some(store) = store.iter().flatten().next() {
        let own_stock = asked.as_ref().is_some_and(|store| store.no_top_up);
        findings.note("attempts", check_attempts(store, peer, own_stock));
    }

    let need = |flag, given, good| (flag, given, good);
    let file = need("FILE", arguments.file.is_some(), program.is_some());
    let role_known = need("--role", role.is_some(), true);
    let keys = [
        need("--identity", arguments.identity.is_some(), identity.is_some()),
        need("--peer", arguments.peer.is_some(), peer.is_some()),
    ];
    // This describes the run as far as it is known. Without keys, no stock belongs to this party, but
    // everything else can be checked.
    let own = identity.as_ref().map(Identity::public_key);
    let nobody = PublicKey::from_bytes([0; 32]);
    let part = program.as_ref().zip(role).map(|(given, party)| {
        let keys = [own.unwrap_or(nobody), peer.unwrap_or(nobody)];
        RunPart { party, request: &request, given, keys, warns: false }
    });
    let seen = store.as_ref().and_then(Option::as_ref);
    let ways = part.as_ref().map(|part| part.predicted(seen)).transpose()?;
    let work = match (&part, &ways) {
        (Some(part), Some(Ways { requests, reason })) => {
            let first = requests.first().ok_or_else(|| Failure::fault("no protocol is left"))?;
            if let Some(reason) = reason {
                let who =
                    if part.party == Party::Garbler { "" } else { "unless the garbler prefers another: " };
                findings.note("protocol", Ok(((), format!("{who}{}, {reason}", first.parameters.protocol))));
            }
            Some(part.work(first)?)
        }
        _ => None,
    };
    let mut proposal = None;
    match (&work, lacking(&[file, role_known])) {
        (Some(work), _) if directory.is_none() => {
            let planned = findings.note("parameters", plan(work));
            if let Some(Planned { proposed, memory: need, disk }) = planned {
                findings.note("memory", memory(need, arguments.resources.max_ram));
                findings.note("disk", check_disk(disk));
                proposal = Some(proposed);
            }
        }
        (Some(_), _) => findings.skip("parameters", "they are those of the stock"),
        (None, why) => findings.skip("parameters", why.unwrap_or_default()),
    }
    if let Some(directory) = directory {
        let why = lacking(&[file, role_known, keys[0], keys[1], need("--store", true, store.is_some())]);
        match (&work, &store, why) {
            (Some(work), Some(store), None) => {
                proposal = findings.note("stock", stock(work, directory, store.as_ref()));
            }
            (_, _, why) if arguments.file.is_some() => findings.fail("stock", "--store", why),
            (_, _, why) => findings.skip("stock", why.unwrap_or_default()),
        }
    }

    if let Some(flag) = address_flag(&arguments.address) {
        let checked = need("a run that can begin", true, proposal.is_some());
        let why = lacking(&[file, role_known, keys[0], keys[1], checked]);
        match (&identity, peer, &work, &proposal, why) {
            (Some(identity), Some(peer), Some(work), Some(proposed), None) => {
                let Some(both) = part.as_ref().zip(ways.as_ref()) else {
                    return Err(Failure::fault("a part without ways"));
                };
                let result = connection(arguments, (identity, peer), both, work, proposed, seen, quiet);
                findings.note("connection", result.map(|detail| ((), detail)));
            }
            (.., why) => findings.fail("connection", flag, why),
        }
    } else {
        findings.skip("connection", "give --listen or --connect HOST:PORT");
    }
    Ok(report(findings))
}

fn address_flag(address: &Address) -> Option<&'static str> {
    match (&address.listen, &address.connect) {
        (Some(_), _) => Some("--listen"),
        (None, Some(_)) => Some("--connect"),
        (None, None) => None,
    }
}

fn report(findings: Findings) -> Report {
    let mut human = String::new();
    let mut checks = Vec::new();
    let mut first = None;
    for (name, finding) in findings.done {
        let (ok, detail, hint) = match &finding {
            Finding::Good(detail) => {
                human += &format!("ok           {name}: {detail}\n");
                (Some(true), detail.as_str(), "")
            }
            Finding::NotChecked(why) => {
                human += &format!("not checked  {name}: {why}\n");
                (None, "not checked", why.as_str())
            }
            Finding::Failed(failure) => {
                human += &format!(
                    "FAILED       {name}: {}\n             hint: {}\n",
                    failure.message(),
                    failure.hint()
                );
                (Some(false), failure.message(), failure.hint())
            }
        };
        checks.push(json!({ "name": name, "ok": ok, "detail": detail, "hint": hint }));
        if let Finding::Failed(failure) = finding {
            first.get_or_insert(failure);
        }
    }
    let mut json = json!({ "checks": checks });
    if let (Some(failure), Value::Object(fields)) = (&first, &mut json) {
        fields.insert("error".into(), failure.value());
    }
    Report { json, human, exit: first.map_or(ExitCode::SUCCESS, |failure| failure.exit_code()) }
}

fn check_identity(path: &Path) -> Result<(Identity, String), Failure> {
    let identity = files::identity(path)?;
    let detail = format!("readable and private; its public key is {}", identity.public_key());
    Ok((identity, detail))
}

fn check_program(path: &Path, map: &Map) -> Result<(Program, String), Failure> {
    let program = programs::load(path, &map.parties())?;
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

/// Checks whether the program accepts this input. Returns the number of bits; the bits themselves are erased.
fn check_input(
    findings: &mut Findings,
    arguments: &Arguments,
    program: Option<&Program>,
    role: Option<Party>,
) {
    let executions = arguments.parameters.executions.executions;
    let needs_none = |(program, role): (&Program, Party)| program.inputs(role).is_empty();
    let known = program.zip(role);
    if arguments.input.is_none() && !known.is_some_and(needs_none) {
        return findings.skip("input", "give --input VALUE");
    }
    let needs = [("FILE", arguments.file.is_some(), program.is_some()), ("--role", role.is_some(), true)];
    let (Some((program, role)), None) = (known, lacking(&needs)) else {
        return findings.fail("input", "--input", lacking(&needs));
    };
    let bits = reading::bits(
        arguments.input.as_deref(),
        program.given(),
        role,
        executions,
        &arguments.reading.given(),
    );
    findings.note(
        "input",
        bits.map_err(Failure::from)
            .map(|bits| ((), format!("{} of the {}", plural(bits.len() as u64, "bit"), files::role(role)))),
    );
}

/// Checks the store, if there is one, without changing it.
fn check_store(request: &StoreRequest) -> Result<(Option<Store>, String), Failure> {
    let store = request.view_if_made()?;
    let does = if store.is_some() { "opens with its key" } else { "is made by the first run" };
    Ok((store, format!("{} {does}", request.store.display())))
}

/// Checks that more stock can be made with this peer, or with all peers.
fn check_attempts(store: &Store, peer: Option<PublicKey>, is_enough: bool) -> Result<((), String), Failure> {
    let mut words = "less than half of any peer's attempts is used up".to_owned();
    for (account, _) in store.accounts()? {
        let (tried, key) = (store.tried(&account)?, crate::stock::peer(&account.relation));
        if peer.is_some_and(|peer| peer.to_string() != key) {
            continue;
        }
        let Account { protocol, .. } = &account;
        if tried.is_used_up() && !is_enough {
            return Err(Failure::new(
                code::STOCK,
                format!(
                    "no more stock of {protocol} is made with {key}: too much that was begun came to nothing"
                ),
                "find out why connections broke or checks failed; if it was not the peer's will, `brickwork \
                 stock forgive` lets both begin again",
            ));
        }
        if tried.is_low() {
            let left =
                tried.left().map_or_else(String::new, |left| format!(": {} left", plural(left, "step")));
            words = format!("more than half of the attempts at {protocol} with {key} is used up{left}");
        }
    }
    Ok(((), words))
}

/// The resources of a run without stock.
struct Planned {
    /// The garbler's proposal.
    proposed: Option<Proposed>,
    /// Bytes of memory that this party needs.
    memory: u64,
    /// Bytes of this party's temporary files.
    disk: u64,
}

/// Plans a run without stock. An evaluator assumes the standard proposal of a garbler.
fn plan(work: &Work) -> Result<(Planned, String), Failure> {
    let played = protocols::played(work.request.parameters.protocol);
    let executions = work.executions().unwrap_or(1);
    if let Some(Only { cost, .. }) =
        played.only_way(work.given.given(), executions, work.request, &Estimate::of(work.request)?)?
    {
        let memory = cost.memory_bytes(work.party);
        let disk = if work.party == Party::Evaluator { cost.disk_bytes } else { 0 };
        let planned = Planned { proposed: None, memory, disk };
        return Ok((planned, "this protocol leaves nothing to choose".into()));
    }
    let (proposed, parameters, program, memory, disk) = match work.party {
        Party::Garbler => {
            let estimate = Estimate::of(work.request)?;
            let proposed = work.proposal(None, Some(&estimate))?;
            let parameters = proposed.parameters.clone().ok_or_else(|| Failure::fault("there is no plan"))?;
            let (program, memory) = (proposed.program.clone(), proposed.garbler_memory.unwrap_or_default());
            (Some(proposed), parameters, program, memory, 0)
        }
        Party::Evaluator => {
            let parameters = duplo::Parameters::choose(&work.job.program, work.job.security)?;
            let [_, memory] = duplo::memory::peaks(&work.job.program, &parameters);
            let disk = duplo::memory::files(&work.job.program, &parameters);
            (None, parameters, work.job.program.clone(), memory, disk)
        }
    };
    let copies: u64 = parameters.components.iter().map(|cut| cut.copies()).sum();
    let cut = proposed.as_ref().map_or(String::new(), |proposed| format!("cut {}, ", proposed.cut));
    let detail = format!(
        "{cut}{} of components for {}, at most {} for a cheater",
        plural(copies, "copy"),
        plural(program.slot_count() as u64, "slot"),
        at_most(parameters.bound_log2)
    );
    Ok((Planned { proposed, memory, disk }, detail))
}

/// Checks that the disk has room for this many bytes of temporary files.
fn check_disk(need: u64) -> Result<((), String), Failure> {
    check_temporary_files(need)?;
    let words = match need {
        0 => "the run writes no temporary files".into(),
        need => format!("there is room for the run's temporary files, some {}", bytes(need)),
    };
    Ok(((), words))
}

fn memory(need: u64, allowed: Option<u64>) -> Result<((), String), Failure> {
    let (limit, words) = match (allowed, resources::available_bytes()) {
        (Some(allowed), _) => (allowed, "are allowed"),
        (None, Some(free)) => (free, "are free"),
        (None, None) => {
            let need = bytes(need);
            return Ok(((), format!("the run needs about {need}; what is free is not known on this system")));
        }
    };
    let both = format!("{} {words}, and the run needs about {}", bytes(limit), bytes(need));
    if limit < need {
        return Err(Failure::other(both, "close other programs, raise --max-ram, or use fewer --executions"));
    }
    Ok(((), both))
}

/// Describes the items that a run would take from this party's stock.
fn stock(
    work: &Work,
    directory: &Path,
    store: Option<&Store>,
) -> Result<(Option<Proposed>, String), Failure> {
    // The garbler proposes a cut that is in stock, if there is one. The evaluator checks the given cut.
    let proposed = match work.party {
        Party::Garbler if work.request.parameters.protocol == Protocol::DUPLO => {
            Some(work.proposal(store, None)?)
        }
        // Another protocol has no choice, so nothing is proposed.
        _ => None,
    };
    let Some(store) = store else {
        return Ok((proposed, "there is none yet; all is made on the spot".into()));
    };
    let program = proposed.as_ref().map_or(&work.job.program, |proposed| &proposed.program);
    if work.has(store, program)? {
        return Ok((proposed, "it has all that this run takes".into()));
    }
    let has = has(work, directory, store)?;
    let wanted = plural(work.executions().unwrap_or(1).into(), "execution");
    let lacks = format!("{has}, and this run takes what {wanted} need");
    match work.request.lacking {
        Lacking::Make => Ok((proposed, format!("{lacks}: what is lacking is made on the spot"))),
        Lacking::Refuse => Err(Failure::new(
            code::STOCK,
            format!("{lacks}; --no-top-up makes nothing on the spot"),
            "`brickwork preprocess` on both sides makes more; or leave --no-top-up out",
        )),
    }
}

/// Returns for how many runs of this program a store has stock for these two parties, and its other security
/// levels.
fn has(work: &Work, directory: &Path, store: &Store) -> Result<String, Failure> {
    let ours =
        |epoch: &&Inventory| epoch.epoch.role == work.party && epoch.epoch.identities == work.job.identities;
    let epochs = work.stocks.map_or(Ok(Vec::new()), |stocks| stocks.inventory(store))?;
    let has_levels = work.stocks.is_some_and(Stocks::has_levels);
    let (mut executions, mut levels) = (0, std::collections::BTreeSet::new());
    for epoch in epochs.iter().filter(ours).filter(|epoch| epoch.state.burned().is_none()) {
        if !has_levels || epoch.epoch.security == work.job.terms().security {
            executions += protocols::executions(epoch, store, work.given.given())?;
        } else {
            levels.insert(epoch.epoch.security.flag());
        }
    }
    let others = match levels.is_empty() {
        true => String::new(),
        false => format!(" (and stock for {})", levels.into_iter().collect::<Vec<_>>().join(" and ")),
    };
    let level = if has_levels { format!(" for --security {}", work.job.security) } else { String::new() };
    Ok(format!("{} has {} of it{level}{others}", directory.display(), plural(executions, "execution")))
}

/// Connects to the peer and compares everything that can be compared without a run.
fn connection(
    arguments: &Arguments,
    (identity, peer): (&Identity, PublicKey),
    (part, ways): (&RunPart, &Ways),
    work: &Work,
    proposed: &Option<Proposed>,
    store: Option<&Store>,
    quiet: bool,
) -> Result<String, Failure> {
    let options = arguments.resources.options(work.party);
    // A run without stock may choose a faster cut; the cut of stock is fixed.
    let has_others = work.given.given().slot_count() > 1 || work.given.has_source();
    let open = proposed.is_some() && arguments.stock.request().is_none() && has_others;
    let sheet = ways.sheet(part, proposed.as_ref().map(Proposed::offer), open)?;
    let mut met = if let Some(address) = &arguments.address.connect {
        tls::visit(address, identity, peer, &options, &sheet.encoded())?
    } else {
        let address = arguments.address.listen.as_deref().unwrap_or_default();
        let listener = Listener::bind(address, identity, peer, &options)?;
        announce(listener.local_addr()?, quiet);
        let until = Instant::now() + options.timeout;
        loop {
            let mut met = listener.meet(&sheet.encoded(), Some(until))?;
            if met.visits {
                break met;
            }
            tracing::warn!("refused the peer, which would begin a run: this is `doctor`");
            // If the peer has gone away, it does not need the reason.
            let _ = met.channel.refuse("this is `brickwork doctor`; it begins no run");
        }
    };
    let proposed = proposed.as_ref().map(|proposed| &proposed.program);
    let agreed = match sheet.settled(&met.sheet) {
        // The peer accepts a protocol that differs from the one that was checked above.
        Ok(way) if way > 0 => {
            let again = ways.led_by(way).sheet(part, None, true)?;
            again.proposes_again(&sheet, &mut met)?;
            part.work(&ways.requests[way])?.compare(&again, &mut met, None, store)?
        }
        Ok(_) => {
            sheet.proposes_again(&sheet, &mut met)?;
            work.compare(&sheet, &mut met, proposed, store)?
        }
        Err(_) => work.compare(&sheet, &mut met, proposed, store)?,
    };
    Ok(format!("the peer is there, holds its key, and has {agreed}"))
}
