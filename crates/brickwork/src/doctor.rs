//! The doctor: checks that find problems before a run begins. Nothing is changed, in particular no store.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use brickwork_base::{Party, at_most};
use brickwork_circuit::formats::InputMap;
use brickwork_duplo::{self as duplo, Inventory};
use brickwork_kernels::{KERNEL_VARIABLE, Kernel};
use brickwork_protocol::stock::Lacking;
use brickwork_report::words::{bytes, plural};
use brickwork_store::{Account, Store};
use brickwork_wire::tls::{self, Identity, Listener, PublicKey};
use serde::Serialize;
use zeroize::Zeroizing;

use crate::engine::protocols::{self, Only, Proposed};
use crate::engine::request::{Protocol, RunRequest};
use crate::engine::stocks::Stocks;
use crate::engine::ways::{Protocols, RunPart, Ways};
use crate::engine::work::{PartyWork, RunEstimate};
use crate::engine::{hex, role};
use crate::failure::{Error, ErrorKind};
use crate::files;
use crate::inventory::peer_of;
use crate::plan::check_temporary_files;
use crate::program::{Program, SourceOptions};
use crate::reading::{self, ReadingOptions};
use crate::resources;
use crate::store::StoreRequest;

/// A request for checks. Each field that is given requests its checks. A requested check fails if it needs
/// another field that is missing.
pub struct DoctorRequest {
    /// The file with the program, and the parties of the inputs of a circuit.
    pub program: Option<(PathBuf, InputMap)>,
    /// This party's role.
    pub role: Option<Party>,
    /// The address at which this party waits for the peer.
    pub listen: Option<String>,
    /// The address at which the peer listens.
    pub connect: Option<String>,
    /// This party's input, in the form of the flag.
    pub input: Option<Zeroizing<String>>,
    /// The way in which the input is read.
    pub reading: ReadingOptions,
    /// The file with this party's key.
    pub identity: Option<PathBuf>,
    /// The peer's public key, or `@` and its file.
    pub peer: Option<String>,
    /// The run that is checked.
    pub run: RunRequest<Protocols>,
    /// The store, if the run takes items from one.
    pub store: Option<StoreRequest>,
}

/// The results of all checks, in order.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    /// The checks.
    pub checks: Vec<Check>,
    /// The error of the first check that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// The program, if it could be loaded.
    #[serde(skip)]
    pub program: Option<Program>,
}

/// The result of a check.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// The name.
    pub name: &'static str,
    /// True if nothing is wrong; none if the check was not made.
    pub ok: Option<bool>,
    /// The result in words, or the message of the error.
    pub detail: String,
    /// The remedy, or the option that requests the check.
    pub hint: String,
}

impl Diagnosis {
    /// Records the result of a check, and returns its value.
    fn note<T>(&mut self, name: &'static str, result: Result<(T, String), Error>) -> Option<T> {
        let (value, ok, detail, hint) = match result {
            Ok((value, detail)) => (Some(value), true, detail, String::new()),
            Err(error) => {
                let (message, hint) = (error.message().to_owned(), error.hint().to_owned());
                self.error.get_or_insert(error);
                (None, false, message, hint)
            }
        };
        self.checks.push(Check { name, ok: Some(ok), detail, hint });
        value
    }

    /// Records that a check was not requested, or lacks something that it needs.
    fn skip(&mut self, name: &'static str, why: impl Into<String>) {
        self.checks.push(Check { name, ok: None, detail: "not checked".into(), hint: why.into() });
    }

    /// Records the error of a requested check that needs other checks. A check that could not be made
    /// counts as failed.
    fn fail(&mut self, name: &'static str, flag: &str, lacking: Option<String>) {
        let hint = lacking.unwrap_or_default();
        let error = Error::usage(format!("{flag} asks for this check, but it could not be made"), hint);
        self.note::<()>(name, Err(error));
    }

    /// Checks the value of an option.
    fn of_option<A, T>(
        &mut self,
        name: &'static str,
        flag: &str,
        given: &Option<A>,
        check: impl FnOnce(&A) -> Result<(T, String), Error>,
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
        (true, false) => Some("repair the failed checks above".into()),
        (true, true) => None,
    }
}

impl DoctorRequest {
    /// Makes all checks that are requested. `listens` receives the address if this party listens.
    ///
    /// # Errors
    /// An error of usage if no protocol allows the options; the errors of checks are in the result.
    pub fn diagnose(&self, listens: &mut dyn FnMut(SocketAddr)) -> Result<Diagnosis, Error> {
        let mut findings = Diagnosis { checks: Vec::new(), error: None, program: None };
        let DoctorRequest { role, run: request, store: asked, .. } = self;
        let role = *role;
        let _ = request.allowed()?;
        let identity =
            findings.of_option("identity", "--identity KEYFILE", &self.identity, |path| check_identity(path));
        let peer = findings.of_option("peer", "--peer PUBKEY", &self.peer, |text| {
            files::public_key(text).map(|key| (key, key.to_string()))
        });
        let program = findings.of_option("program", "FILE", &self.program, check_program);
        self.check_input(&mut findings, program.as_ref());
        findings.note("kernel", Ok(((), kernel())));

        let directory = asked.as_ref().map(|store| store.store.as_path());
        let store = match asked {
            Some(asked) => findings.note("store", check_store(asked)),
            None => {
                findings.skip("store", "give --store DIR, if the run uses a store");
                None
            }
        };

        if let Some(store) = store.iter().flatten().next() {
            let own_stock = asked.as_ref().is_some_and(|store| store.no_top_up);
            findings.note("attempts", check_attempts(store, peer, own_stock));
        }

        let need = |flag, given, good| (flag, given, good);
        let file = need("FILE", self.program.is_some(), program.is_some());
        let role_known = need("--role", role.is_some(), true);
        let keys = [
            need("--identity", self.identity.is_some(), identity.is_some()),
            need("--peer", self.peer.is_some(), peer.is_some()),
        ];
        // The program, the request and the keys, as far as they are known. Without keys, no stock belongs to
        // this party, but everything else can be checked.
        let own = identity.as_ref().map(Identity::public_key);
        let nobody = PublicKey::from_bytes([0; 32]);
        let part = program.as_ref().zip(role).map(|(given, party)| {
            let keys = [own.unwrap_or(nobody), peer.unwrap_or(nobody)];
            RunPart { party, request, given, keys, warns: false }
        });
        let seen = store.as_ref().and_then(Option::as_ref);
        let ways = part.as_ref().map(|part| part.predicted(seen)).transpose()?;
        let work = match (&part, &ways) {
            (Some(part), Some(Ways { requests, reason })) => {
                let first =
                    requests.first().ok_or_else(|| Error::fault("the flags exclude all protocols"))?;
                if let Some(reason) = reason {
                    let who = if part.party == Party::Garbler {
                        ""
                    } else {
                        "unless the garbler prefers another protocol: "
                    };
                    findings
                        .note("protocol", Ok(((), format!("{who}{}, {reason}", first.parameters.protocol))));
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
                    findings.note("memory", memory(need, request.resources.max_ram));
                    findings.note("disk", check_disk(disk));
                    proposal = Some(proposed);
                }
            }
            (Some(_), _) => findings.skip("parameters", "the store has stock of these protocols"),
            (None, why) => findings.skip("parameters", why.unwrap_or_default()),
        }
        if let Some(directory) = directory {
            let why = lacking(&[file, role_known, keys[0], keys[1], need("--store", true, store.is_some())]);
            match (&work, &store, why) {
                (Some(work), Some(store), None) => {
                    proposal = findings.note("stock", stock(work, directory, store.as_ref()));
                }
                (_, _, why) if self.program.is_some() => findings.fail("stock", "--store", why),
                (_, _, why) => findings.skip("stock", why.unwrap_or_default()),
            }
        }

        let flag = self.listen.as_ref().map(|_| "--listen").or(self.connect.as_ref().map(|_| "--connect"));
        if let Some(flag) = flag {
            let checked = need("a run that can begin", true, proposal.is_some());
            let why = lacking(&[file, role_known, keys[0], keys[1], checked]);
            match (&identity, peer, &work, &proposal, why) {
                (Some(identity), Some(peer), Some(work), Some(proposed), None) => {
                    let Some(both) = part.as_ref().zip(ways.as_ref()) else {
                        return Err(Error::fault("the party has no protocol"));
                    };
                    let result = self.connection((identity, peer), both, work, proposed, seen, listens);
                    findings.note("connection", result.map(|detail| ((), detail)));
                }
                (.., why) => findings.fail("connection", flag, why),
            }
        } else {
            findings.skip("connection", "give --listen or --connect HOST:PORT");
        }
        findings.program = program;
        Ok(findings)
    }

    /// Checks whether the program accepts this input. Returns the number of bits; the bits themselves are
    /// erased.
    fn check_input(&self, findings: &mut Diagnosis, program: Option<&Program>) {
        let known = program.zip(self.role);
        let needs_none = |(program, role): (&Program, Party)| program.inputs(role).is_empty();
        if self.input.is_none() && !known.is_some_and(needs_none) {
            return findings.skip("input", "give --input VALUE");
        }
        let needs =
            [("FILE", self.program.is_some(), program.is_some()), ("--role", self.role.is_some(), true)];
        let (Some((program, party)), None) = (known, lacking(&needs)) else {
            return findings.fail("input", "--input", lacking(&needs));
        };
        let (input, executions) = (self.input.as_deref(), self.run.parameters.executions);
        let bits =
            reading::bits(input.map(String::as_str), program.given(), party, executions, &self.reading);
        let words =
            bits.map(|bits| ((), format!("{} of the {}", plural(bits.len() as u64, "bit"), role(party))));
        findings.note("input", words);
    }

    /// Connects to the peer and compares everything that can be compared without a run.
    fn connection(
        &self,
        (identity, peer): (&Identity, PublicKey),
        (part, ways): (&RunPart, &Ways),
        work: &PartyWork,
        proposed: &Option<Proposed>,
        store: Option<&Store>,
        listens: &mut dyn FnMut(SocketAddr),
    ) -> Result<String, Error> {
        let options = self.run.resources.options(work.party);
        // A run without stock may choose a faster cut; the cut of stock is fixed.
        let has_others = work.given.given().slot_count() > 1 || work.given.has_source();
        let open = proposed.is_some() && self.store.is_none() && has_others;
        let sheet = ways.sheet(part, proposed.as_ref().map(Proposed::offer), open)?;
        let mut met = if let Some(address) = &self.connect {
            tls::visit(address, identity, peer, &options, &sheet.encoded())?
        } else {
            let address = self.listen.as_deref().unwrap_or_default();
            let listener = Listener::bind(address, identity, peer, &options)?;
            listens(listener.local_addr()?);
            let until = Instant::now() + options.timeout;
            loop {
                let mut met = listener.meet(&sheet.encoded(), Some(until))?;
                if met.visits {
                    break met;
                }
                tracing::warn!("refused the peer's run, because this is only `brickwork doctor`");
                // If the peer is gone, it does not need the reason.
                let _ = met.channel.refuse("this party runs `brickwork doctor`, which begins no run");
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
        Ok(format!("the peer answers with the expected key, and {agreed}"))
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.checks.iter().try_for_each(|Check { name, ok, detail, hint }| match ok {
            Some(true) => writeln!(f, "ok           {name}: {detail}"),
            None => writeln!(f, "not checked  {name}: {hint}"),
            Some(false) => writeln!(f, "FAILED       {name}: {detail}\n             hint: {hint}"),
        })
    }
}

fn check_identity(path: &Path) -> Result<(Identity, String), Error> {
    let identity = files::identity(path)?;
    let detail = format!("readable and private; its public key is {}", identity.public_key());
    Ok((identity, detail))
}

fn check_program((path, map): &(PathBuf, InputMap)) -> Result<(Program, String), Error> {
    let program = Program::load_with(path, map, &SourceOptions::default())?;
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

/// Checks the store, if there is one, without changing it.
fn check_store(request: &StoreRequest) -> Result<(Option<Store>, String), Error> {
    let store = request.view_if_made()?;
    let does = if store.is_some() { "opens with its key" } else { "is made by the first run" };
    Ok((store, format!("{} {does}", request.store.display())))
}

/// Checks that more stock can be made with this peer, or with all peers.
fn check_attempts(store: &Store, peer: Option<PublicKey>, is_enough: bool) -> Result<((), String), Error> {
    let mut words = "no peer has used more than half of its attempts".to_owned();
    for (account, _) in store.accounts()? {
        let (tried, key) = (store.tried(&account)?, peer_of(&account.relation));
        if peer.is_some_and(|peer| peer != key) {
            continue;
        }
        let Account { protocol, .. } = &account;
        if protocol == Account::ACCUSATION {
            return Err(Error::new(
                ErrorKind::Stock,
                format!("{key} cheated, so `brickwork serve` does not connect to it"),
                "docs/guides/operations.md says what to do; `brickwork stock forgive` lets it connect again",
            ));
        }
        if tried.is_used_up() && !is_enough {
            return Err(Error::new(
                ErrorKind::Stock,
                format!("this party makes no more stock of {protocol} with {key}: too many attempts failed"),
                "find out why connections broke or checks failed; if the peer did not intend this, \
                 `brickwork stock forgive` lets both begin again",
            ));
        }
        if tried.is_low() {
            let left =
                tried.left().map_or_else(String::new, |left| format!(": {} left", plural(left, "step")));
            words = format!("more than half of the attempts at {protocol} with {key} are used up{left}");
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
fn plan(work: &PartyWork) -> Result<(Planned, String), Error> {
    let played = protocols::played(work.request.parameters.protocol);
    let executions = work.executions().unwrap_or(1);
    if let Some(Only { cost, .. }) =
        played.only_way(work.given.given(), executions, work.request, &RunEstimate::of(work.request)?)?
    {
        let memory = cost.memory_bytes.of(work.party);
        let disk = cost.disk_bytes.of(work.party);
        let planned = Planned { proposed: None, memory, disk };
        return Ok((planned, "this protocol has no choices".into()));
    }
    let (proposed, parameters, program, memory, disk) = match work.party {
        Party::Garbler => {
            let estimate = RunEstimate::of(work.request)?;
            let proposed = work.proposal(None, Some(&estimate))?;
            let parameters =
                proposed.parameters.clone().ok_or_else(|| Error::fault("the run has no plan"))?;
            let (program, memory) = (proposed.program.clone(), proposed.garbler_memory.unwrap_or_default());
            (Some(proposed), parameters, program, memory, 0)
        }
        Party::Evaluator => {
            let parameters = duplo::Parameters::choose(&work.job.program, work.job.security)?;
            let [_, memory] = duplo::memory::peaks(&work.job.program, &parameters);
            let [_, disk] = duplo::memory::files(&work.job.program, &parameters);
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
fn check_disk(need: u64) -> Result<((), String), Error> {
    check_temporary_files(need)?;
    let words = match need {
        0 => "the run writes no temporary files".into(),
        need => format!("there is room for the run's temporary files, some {}", bytes(need)),
    };
    Ok(((), words))
}

fn memory(need: u64, allowed: Option<u64>) -> Result<((), String), Error> {
    let (limit, words) = match (allowed, resources::available_bytes()) {
        (Some(allowed), _) => (allowed, "are allowed"),
        (None, Some(free)) => (free, "are free"),
        (None, None) => {
            let need = bytes(need);
            return Ok((
                (),
                format!("the run needs about {need}; this system does not tell how much memory is free"),
            ));
        }
    };
    let both = format!("{} {words}, but the run needs about {}", bytes(limit), bytes(need));
    if limit < need {
        return Err(Error::machine(both, "close other programs, raise --max-ram, or use fewer --executions"));
    }
    Ok(((), both))
}

/// Describes the items that a run would take from this party's stock.
fn stock(
    work: &PartyWork,
    directory: &Path,
    store: Option<&Store>,
) -> Result<(Option<Proposed>, String), Error> {
    // The garbler proposes a cut that is in stock, if there is one. The evaluator checks the given cut.
    let proposed = match work.party {
        Party::Garbler if work.request.parameters.protocol == Protocol::DUPLO => {
            Some(work.proposal(store, None)?)
        }
        // Another protocol has no choice, so nothing is proposed.
        _ => None,
    };
    let Some(store) = store else {
        return Ok((proposed, "there is no stock yet, so everything is made during the run".into()));
    };
    let program = proposed.as_ref().map_or(&work.job.program, |proposed| &proposed.program);
    if work.has(store, program)? {
        return Ok((proposed, "the stock has all items for this run".into()));
    }
    let has = has(work, directory, store)?;
    let wanted = plural(work.executions().unwrap_or(1).into(), "execution");
    let lacks = format!("{has}, but this run needs the items of {wanted}");
    match work.request.lacking {
        Lacking::Make => Ok((proposed, format!("{lacks}; the missing items are made during the run"))),
        Lacking::Refuse => Err(Error::new(
            ErrorKind::Stock,
            format!("{lacks}; --no-top-up forbids to make them during the run"),
            "run `brickwork preprocess` on both sides, or leave --no-top-up out",
        )),
    }
}

/// Returns for how many runs of this program a store has stock for these two parties, and its other security
/// levels.
fn has(work: &PartyWork, directory: &Path, store: &Store) -> Result<String, Error> {
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
