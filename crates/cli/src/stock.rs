//! `brickwork stock`: the contents of a store.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use brickwork::StoreRequest;
use brickwork::at_most;
use brickwork::circuit::{Party, Program};
use brickwork::cut_and_choose::Upper;
use brickwork::engine::protocols;
use brickwork::session::PROTOCOL_VERSION;
use brickwork::session::stock::inventory::{BatchInventory, Inventory};
use brickwork::session::stock::meeting::BY_USER;
use brickwork::stock::{Account, Damage, Entry, EpochId, PairId, Relation, Store};
use brickwork::system;
use brickwork::wire::tls::PublicKey;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::arguments::Map;
use crate::failure::{Failure, code};
use crate::report::{Report, bytes, hex, plural, thousands};
use crate::store::KeyArguments;
use crate::{files, programs};

/// List, check and repair a store
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the contents, their age, and for how many executions of programs they are enough
    Ls(Ls),
    /// Read everything and name the parts that were altered or are missing
    Verify(Verify),
    /// Make stock unusable for good, for instance after a machine was restored from an old copy
    ///
    /// The peer is told when the stores next meet, and burns its part as well.
    Burn(Burn),
    /// Allow a peer to make stock again that has made too many failed attempts
    ///
    /// Stock that is begun with a peer and not completed, or burned because a check failed, is counted as
    /// failed attempts. When their sum reaches the promise of a run, nothing more is begun until this command
    /// resets it. Find out the reason first: a peer that cheats looks like a connection that breaks. Both
    /// sides count, each for itself.
    Forgive(Forgive),
    /// Write the contents and the history as JSON, without secrets; both parties' reports can be compared
    ExportReport(ExportReport),
}

/// The store.
#[derive(Args)]
struct Place {
    /// The folder of the store
    #[arg(value_name = "DIR", required_unless_present = "store")]
    directory: Option<PathBuf>,
    /// The same as DIR
    #[arg(long, value_name = "DIR", conflicts_with = "directory")]
    store: Option<PathBuf>,
    #[command(flatten)]
    key: KeyArguments,
}

impl Place {
    fn request(&self) -> StoreRequest {
        self.key.of(self.directory.clone().or_else(|| self.store.clone()).unwrap_or_default())
    }

    fn open(&self) -> Result<Store, Failure> {
        Ok(self.request().open_existing()?)
    }

    /// Opens the store for viewing in its present state, even while a party uses it.
    fn view(&self) -> Result<Store, Failure> {
        Ok(self.request().view()?)
    }
}

#[derive(Args)]
struct Ls {
    #[command(flatten)]
    place: Place,
    /// Show for how many executions of this program the stock is enough
    #[arg(long = "program", value_name = "FILE")]
    programs: Vec<PathBuf>,
    #[command(flatten)]
    map: Map,
}

#[derive(Args)]
struct Verify {
    #[command(flatten)]
    place: Place,
    /// Repair a damaged index, and give up the items that cannot be read, so that programs can use the rest.
    /// If you have a good copy of a damaged file, restore it instead
    #[arg(long)]
    repair: bool,
}

// The next two are one group, so that the error for a missing choice names both.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("what").args(["epoch", "all"]).required(true))]
struct Burn {
    #[command(flatten)]
    place: Place,
    /// The part to burn: the beginning of its identifier, as `ls` shows it
    #[arg(long, value_name = "ID")]
    epoch: Option<String>,
    /// Burn everything that the store holds
    #[arg(long)]
    all: bool,
}

// One group, as in `burn`.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("whom").args(["peer", "all"]).required(true))]
struct Forgive {
    #[command(flatten)]
    place: Place,
    /// The peer's public key
    #[arg(long, value_name = "KEY")]
    peer: Option<PublicKey>,
    /// All peers
    #[arg(long)]
    all: bool,
}

#[derive(Args)]
struct ExportReport {
    #[command(flatten)]
    place: Place,
    /// The file to write; the default is stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<Report, Failure> {
    match &arguments.command {
        Command::Ls(command) => ls(command),
        Command::Verify(command) => verify(command),
        Command::Burn(command) => burn(command),
        Command::Forgive(command) => forgive(command),
        Command::ExportReport(command) => export(command),
    }
}

fn ls(command: &Ls) -> Result<Report, Failure> {
    let programs = command
        .programs
        .iter()
        .map(|path| Ok((path, programs::circuit(path, &command.map.parties())?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    let store = command.place.view()?;
    let epochs = protocols::inventory(&store)?;
    let mut json = summary(&command.place, &store, &epochs)?;
    let mut human = text(&store, &epochs)?;
    let mut makes = Vec::new();
    for (path, program) in &programs {
        let executions = executions(&store, &epochs, program)?;
        human += &format!("It makes {} of {}.\n", plural(executions, "execution"), path.display());
        makes.push(json!({ "program": path.display().to_string(), "executions": executions }));
    }
    json["programs"] = makes.into();
    Ok(Report::new(json, human))
}

fn executions(store: &Store, epochs: &[Inventory], program: &Program) -> Result<u64, Failure> {
    let each = epochs.iter().map(|epoch| protocols::executions(epoch, store, program));
    Ok(each.sum::<Result<u64, _>>()?)
}

pub fn peer(relation: &Relation) -> String {
    let [garbler, evaluator] = relation.identities;
    let key = if relation.role == Party::Garbler { evaluator } else { garbler };
    PublicKey::from_bytes(key).to_string()
}

fn age(created: u64) -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs().saturating_sub(created))
}

fn condition(epoch: &Inventory) -> &'static str {
    match epoch.state.burned() {
        Some(_) => "burned",
        None if epoch.state.is_used() => "in use",
        None => "unused",
    }
}

fn summary(place: &Place, store: &Store, epochs: &[Inventory]) -> Result<Value, Failure> {
    let pairs = store.pairs()?;
    let pair = |(relation, id): &(Relation, PairId)| {
        let role = files::role(relation.role);
        json!({ "id": hex(id), "role": role, "peer": peer(relation) })
    };
    let pairs: Vec<Value> = pairs.iter().map(pair).collect();
    let epochs: Vec<Value> = epochs.iter().map(epoch_json).collect();
    let total: u64 = epochs.iter().filter_map(|epoch| epoch["bytes"].as_u64()).sum();
    Ok(json!({
        "store": place.request().store.display().to_string(),
        "bytes": total,
        "pairs": pairs,
        "epochs": epochs,
        "vain": store.accounts()?.iter().map(vain_json).collect::<Vec<_>>(),
    }))
}

/// Returns the failed attempts of a peer as the base-2 logarithm of the sum of their risks.
fn vain_json((account, risk): &(Account, u128)) -> Value {
    json!({
        "role": files::role(account.relation.role),
        "peer": peer(&account.relation),
        "protocol": account.protocol,
        "security": account.security.bits(),
        "bound_log2": Upper::fixed(*risk).log2(),
    })
}

/// Returns the security level, if the protocol has levels.
fn level(epoch: &Inventory) -> Option<u32> {
    Some(epoch.epoch.security.bits()).filter(|&bits| bits > 0)
}

fn epoch_json(epoch: &Inventory) -> Value {
    let progress = epoch.progress.map(|(made, of)| json!({ "made": made, "of": of }));
    let batch = |batch: &BatchInventory| {
        let mut value = json!(batch);
        value["missing"] = batch.missing.as_deref().map(brickwork::system::translated).into();
        if batch.kind == "component" {
            value["component"] = hex(&batch.component).into();
        }
        value
    };
    json!({
        "id": hex(&epoch.id),
        "protocol": epoch.epoch.protocol,
        "version": epoch.epoch.version,
        "pair": epoch.pair.map(|id| hex(&id)),
        "role": files::role(epoch.epoch.role),
        "peer": peer(&epoch.epoch.relation()),
        "security": level(epoch),
        "created": epoch.epoch.created,
        "age_seconds": age(epoch.epoch.created),
        "max_age_seconds": epoch.epoch.max_age,
        "condition": condition(epoch),
        "burned": epoch.state.burned(),
        "uses": epoch.uses,
        "entries": epoch.state.shared(),
        "head": hex(epoch.state.head()),
        "progress": progress,
        "given_up": epoch.given_up,
        "bound_log2": epoch.bound_log2,
        "bytes": epoch.batches.iter().map(|b| b.bytes).sum::<u64>(),
        "batches": epoch.batches.iter().map(batch).collect::<Vec<_>>(),
    })
}

fn text(store: &Store, epochs: &[Inventory]) -> Result<String, Failure> {
    let mut text = String::new();
    for (relation, id) in store.pairs()? {
        let role = files::role(relation.role);
        text += &format!("pair {}: as {role}, with {}\n", &hex(&id)[..12], peer(&relation));
    }
    for (account, risk) in store.accounts()? {
        text += &format!(
            "begun as {} with {} ({}, s = {}) and not made: {} in all, over all parts; nothing more is begun \
             beyond {}\n",
            files::role(account.relation.role),
            peer(&account.relation),
            account.protocol,
            account.security.bits(),
            at_most(Upper::fixed(risk).log2()),
            account.security,
        );
    }
    if epochs.is_empty() {
        text += "The store is empty.\n";
    }
    for epoch in epochs {
        let size = bytes(epoch.batches.iter().map(|b| b.bytes).sum());
        let [days, most] = [age(epoch.epoch.created), epoch.epoch.max_age].map(|s| s as f64 / 86400.0);
        text += &format!(
            "{}  {}, {}, {days:.1} of {most:.0} days old, {size}, {}, {}\n    peer {}\n",
            &hex(&epoch.id)[..12],
            files::role(epoch.epoch.role),
            level(epoch).map_or_else(|| epoch.epoch.protocol.to_uppercase(), |bits| format!("s = {bits}")),
            condition(epoch),
            plural(epoch.uses, "use"),
            peer(&epoch.epoch.relation()),
        );
        if let Some(why) = epoch.state.burned() {
            text += &format!("    burned: {why}\n");
            continue;
        }
        if epoch.epoch.version != PROTOCOL_VERSION {
            text += &format!(
                "    made by version {} of the protocol; this is version {PROTOCOL_VERSION}, which cannot \
                 use it\n",
                epoch.epoch.version
            );
        }
        if let Some(bound) = epoch.bound_log2.filter(|_| !epoch.batches.is_empty()) {
            text += &format!("    all programs from it together: at most {}\n", at_most(bound));
        }
        if let Some((made, of)) = epoch.progress.filter(|(made, of)| made < of) {
            text +=
                &format!("    preprocessing was interrupted: {made} of {} made\n", plural(of.into(), "step"));
        }
        if let Some(bound) = epoch.given_up.bound_log2 {
            text += &format!(
                "    given up: {}, {}, in the bound of each program from it\n",
                plural(epoch.given_up.steps.into(), "step"),
                at_most(bound)
            );
        }
        for batch in &epoch.batches {
            let cuts: Vec<String> = batch
                .cuts
                .iter()
                .map(|cut| {
                    format!("{} {}, {} opened", thousands(cut.items), cut.of, thousands(cut.opened.into()))
                })
                .collect();
            let bound = batch.bound_log2.map_or(String::new(), |bound| format!(", {}", at_most(bound)));
            let (left, items) = (thousands(batch.left), thousands(batch.items));
            let damaged = match batch.damaged {
                0 => String::new(),
                damaged => format!(", {} damaged", thousands(damaged)),
            };
            text += &format!(
                "    {}: {left} of {items} left{damaged}, {}{bound}\n",
                batch.name,
                bytes(batch.bytes)
            );
            if let Some(why) = &batch.missing {
                text += &format!(
                    "        MISSING: {}; no program runs until it is back, or until \
                     `brickwork stock verify --repair` gives it up\n",
                    system::translated(why)
                );
            }
            if !cuts.is_empty() {
                text += &format!("        {}\n", cuts.join("; "));
            }
        }
    }
    Ok(text)
}

/// The warning if the note about a service's runs may be lost.
const RUNS_MAY_BE_LOST: &str = "It cannot be told how often a service has run with this store. Its budgets \
                                count only the runs that the logs still name: lower `total` by the others.\n";

fn verify(command: &Verify) -> Result<Report, Failure> {
    let (store, lost) = match command.place.open() {
        Err(failure) if command.repair => match command.place.request().rebuild()? {
            lost @ Some(_) => (command.place.open()?, lost),
            None => return Err(failure),
        },
        opened => (opened?, None),
    };
    let start = Instant::now();
    let (read, damage) = store.examine()?;
    let seconds = start.elapsed().as_secs_f64();
    let rate = read as f64 / seconds.max(1e-9);
    let (size, speed) = (bytes(read), bytes(rate as u64));
    let damaged = json!({ "damaged": damage.iter().map(damage_json).collect::<Vec<_>>() });
    let mut json = json!({ "bytes": read, "seconds": seconds, "bytes_per_second": rate as u64 });
    json["damaged"] = damaged["damaged"].clone();
    let burned = lost.as_ref().map(|lost| &lost.burned);
    json["burned"] = json!(burned.map(|burned| burned.iter().map(|id| hex(id)).collect::<Vec<_>>()));
    let runs_may_be_lost = lost.as_ref().is_some_and(|lost| lost.notes_may_be_lost);
    json["runs_may_be_lost"] = json!(runs_may_be_lost);
    let remade = lost.iter().map(|_| "The index was damaged and is made anew.\n".to_owned());
    let runs = runs_may_be_lost.then(|| RUNS_MAY_BE_LOST.to_owned());
    let burned = burned.into_iter().flatten().map(|id| format!("{} is burned\n", &hex(id)[..12]));
    let lines: String = remade.chain(runs).chain(burned).chain(damage.iter().map(damage_text)).collect();
    match damage.first() {
        None => Ok(Report::new(json, format!("{lines}All of it is as it was written: {size}, {speed}/s.\n"))),
        Some(_) if command.repair => {
            store.give_up(&damage)?;
            Ok(Report::new(json, format!("{lines}The rest is as it was written: {size}, {speed}/s.\n")))
        }
        Some(first) => {
            let others = match damage.len() - 1 {
                0 => String::new(),
                more => format!("; and {}", plural(more as u64, "more such place")),
            };
            let message = format!("{}{others}", system::translated(&first.why.to_string()));
            let hint = "put back a segment that was moved or exchanged; `brickwork stock verify --repair` \
                        gives up the items that cannot be read, and programs go on with the rest";
            let human = format!("{lines}error: {message}\nhint: {hint}\n");
            Err(Failure::new(code::STOCK, message, hint).with_details(human, damaged))
        }
    }
}

/// Counts the items that cannot be read.
fn items_of(damage: &Damage) -> u64 {
    damage.items.iter().map(|items| items.end - items.start).sum()
}

fn damage_json(damage: &Damage) -> Value {
    json!({
        "epoch": hex(&damage.epoch),
        "batch": damage.serial,
        "name": damage.name,
        "items": items_of(damage),
        "why": system::translated(&damage.why.to_string()),
    })
}

fn damage_text(damage: &Damage) -> String {
    format!(
        "{}, {} of {}: {}\n",
        &hex(&damage.epoch)[..12],
        plural(items_of(damage), "item"),
        damage.name,
        system::translated(&damage.why.to_string())
    )
}

fn burn(command: &Burn) -> Result<Report, Failure> {
    let store = command.place.open()?;
    let mut wanted: Vec<EpochId> = store.epochs()?.into_iter().map(|(id, _)| id).collect();
    if let Some(start) = &command.epoch {
        wanted.retain(|id| hex(id).starts_with(start.as_str()));
        // Burned stock cannot be restored, so the empty value of a script's variable must not mean
        // everything.
        if wanted.len() > 1 || start.is_empty() {
            let hint = "give more of the identifier, as `brickwork stock ls` shows it, or --all";
            return Err(Failure::usage(format!("{} parts begin with '{start}'", wanted.len()), hint));
        }
    }
    let mut burned = Vec::new();
    for id in wanted {
        if store.state(&id)?.burned().is_none() {
            store.append(&id, &Entry::Burned(BY_USER.into())).map(drop)?;
            burned.push(hex(&id));
        }
    }
    if burned.is_empty() {
        return Err(Failure::new(
            code::STOCK,
            "there is nothing to burn",
            "`brickwork stock ls` shows what there is",
        ));
    }
    let human = burned.iter().map(|id| format!("burned {}\n", &id[..12])).collect();
    Ok(Report::new(json!({ "burned": burned }), human))
}

fn forgive(command: &Forgive) -> Result<Report, Failure> {
    let (own, place) = (command.place.request().open_if_free()?, &command.place);
    let store = own.clone().map_or_else(|| place.view(), Ok)?;
    let mut accounts = store.accounts()?;
    if let Some(key) = &command.peer {
        accounts.retain(|(account, _)| peer(&account.relation) == key.to_string());
    }
    if accounts.is_empty() {
        return Err(Failure::new(
            code::STOCK,
            "there is nothing to forgive",
            "`brickwork stock ls` shows what was begun with whom and not made",
        ));
    }
    let json: Vec<Value> = accounts.iter().map(vain_json).collect();
    let human = accounts.iter().map(|(account, risk)| {
        let bound = at_most(Upper::fixed(*risk).log2());
        format!("forgiven {}: {bound}, with {}\n", peer(&account.relation), account.protocol)
    });
    let human = human.collect();
    let names: Vec<Account> = accounts.into_iter().map(|(account, _)| account).collect();
    match own {
        Some(store) => names.iter().try_for_each(|account| store.forgive(account))?,
        None => ask_to_forgive(place, &store, &names)?,
    }
    Ok(Report::new(json!({ "forgiven": json }), human))
}

/// The time in which a service must answer the request to forgive.
const HEARD: Duration = Duration::from_secs(10);

/// Asks the process that has opened the store to forgive, and waits until it has.
fn ask_to_forgive(place: &Place, store: &Store, accounts: &[Account]) -> Result<(), Failure> {
    let (asked, until) = (store.ask_to_forgive(accounts)?, Instant::now() + HEARD);
    while !asked.is_heard() {
        if Instant::now() >= until {
            return Err(Failure::other(
                format!("{} is in use by a process that does not forgive", place.request().store.display()),
                "a service does, while it is up; end any other command, and try again",
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let now = place.view()?;
    for account in accounts {
        if now.vain(account)? > 0 {
            return Err(Failure::other(
                "something else was begun meanwhile, so it is not forgiven",
                "look at `brickwork stock ls`, and try again",
            ));
        }
    }
    Ok(())
}

fn export(command: &ExportReport) -> Result<Report, Failure> {
    let store = command.place.view()?;
    let epochs = protocols::inventory(&store)?;
    let mut report = summary(&command.place, &store, &epochs)?;
    for (value, epoch) in report["epochs"].as_array_mut().into_iter().flatten().zip(&epochs) {
        value["log"] = store.log(&epoch.id)?.iter().map(entry).collect();
    }
    let Some(path) = &command.output else {
        let text = serde_json::to_string_pretty(&report).map_err(|e| Failure::fault(e.to_string()))?;
        return Ok(Report::new(report, text + "\n"));
    };
    let text = serde_json::to_vec_pretty(&report).map_err(|e| Failure::fault(e.to_string()))?;
    files::write_whole(path, &text)?;
    let name = path.display().to_string();
    Ok(Report::new(json!({ "report": name }), format!("The report is in {name}.\n")))
}

fn entry(entry: &Entry) -> Value {
    match entry {
        Entry::Fill(step) => {
            json!({
                "entry": "fill",
                "job": hex(&step.job),
                "step": step.number,
                "of": step.of,
                "risk": format!("{:#034x}", step.risk),
                "workers": step.workers,
            })
        }
        Entry::Exposed => json!({ "entry": "exposed" }),
        Entry::Stored => json!({ "entry": "stored" }),
        Entry::Made => json!({ "entry": "made" }),
        Entry::Use { program, taken } => json!({
            "entry": "use",
            "program": hex(program),
            "taken": taken
                .iter()
                .map(|(serial, count)| json!({ "batch": serial, "items": count }))
                .collect::<Vec<_>>(),
        }),
        Entry::Damaged(items) => json!({
            "entry": "damaged",
            "items": items
                .iter()
                .map(|(serial, first, count)| json!({ "batch": serial, "first": first, "items": count }))
                .collect::<Vec<_>>(),
        }),
        Entry::Confirmed => json!({ "entry": "confirmed" }),
        Entry::Burned(why) => json!({ "entry": "burned", "why": why }),
        Entry::Lent => json!({ "entry": "lent" }),
        Entry::Returned => json!({ "entry": "returned" }),
    }
}
