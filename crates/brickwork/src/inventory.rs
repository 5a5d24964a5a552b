//! The contents and the history of a store, for people and for programs. Neither the contents nor the history
//! contains a secret.

use std::fmt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use brickwork_base::{Error as ProtocolError, Security, at_most};
use brickwork_circuit::Party;
use brickwork_primitives::cut_and_choose::Upper;
use brickwork_protocol::PROTOCOL_VERSION;
use brickwork_protocol::stock::inventory::{BatchInventory, GivenUpInventory, Inventory};
use brickwork_report::words::{bytes, plural, thousands};
use brickwork_store::{Account, EpochEntry, Relation, Store};
use brickwork_wire::tls::PublicKey;
use serde::Serialize;

use crate::engine::{hex, protocols, role};
use crate::failure::Error;
use crate::program::Program;
use crate::store::StoreRequest;
use crate::system;

/// The contents of a store.
#[derive(Clone, Debug, Serialize)]
pub struct StoreContents {
    /// The folder.
    pub store: String,
    /// Bytes on disk.
    pub bytes: u64,
    pub pairs: Vec<PairOfStores>,
    pub epochs: Vec<EpochContents>,
    /// The failed attempts of peers.
    pub vain: Vec<FailedAttempts>,
    /// For each named program the number of executions for which the stock is enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<Vec<ProgramExecutions>>,
}

/// A pair of stores, of this party and of a peer, that belong together.
#[derive(Clone, Debug, Serialize)]
pub struct PairOfStores {
    /// The identifier, in hexadecimal digits.
    pub id: String,
    /// The role of this party.
    pub role: Party,
    pub peer: PublicKey,
}

/// The attempts with a peer that were begun and not completed, or burned because a check failed.
#[derive(Clone, Debug, Serialize)]
pub struct FailedAttempts {
    /// The role of this party.
    pub role: Party,
    pub peer: PublicKey,
    pub protocol: String,
    /// Statistical security in bits.
    pub security: u32,
    /// The base-2 logarithm of the sum of their risks.
    pub bound_log2: f64,
    /// New stock is begun while the sum does not exceed this bound.
    #[serde(skip)]
    most: Security,
}

/// The number of executions of a program for which a store has enough items.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramExecutions {
    /// The file of the program.
    pub program: String,
    pub executions: u64,
}

/// An epoch of a store: items that were made with the same secrets.
#[derive(Clone, Debug, Serialize)]
pub struct EpochContents {
    /// The identifier, in hexadecimal digits, which is the same at both parties.
    pub id: String,
    pub protocol: String,
    /// The version of the protocol.
    pub version: u32,
    /// The identifier of the pair of stores.
    pub pair: Option<String>,
    /// The role of this party.
    pub role: Party,
    pub peer: PublicKey,
    /// Statistical security in bits, if the protocol has levels.
    pub security: Option<u32>,
    /// Seconds since 1970.
    pub created: u64,
    pub age_seconds: u64,
    pub max_age_seconds: u64,
    pub condition: Condition,
    /// The reason, if it is burned.
    pub burned: Option<String>,
    /// The number of programs that took items from it.
    pub uses: u64,
    /// The number of log entries that both parties have.
    pub entries: u64,
    /// The position of the log, in hexadecimal digits.
    pub head: String,
    /// The steps of the last preprocessing.
    pub progress: Option<FillProgress>,
    /// The steps that were begun and not completed.
    pub given_up: GivenUpInventory,
    /// Base-2 logarithm of the bound on a cheating garbler's success in all programs together.
    pub bound_log2: Option<f64>,
    /// Bytes on disk.
    pub bytes: u64,
    pub batches: Vec<BatchContents>,
    /// The history, in a report for comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<Vec<LogEntry>>,
}

/// The condition of an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Condition {
    /// Nothing can be taken from it any more.
    #[serde(rename = "burned")]
    Burned,
    /// A program took items from it.
    #[serde(rename = "in use")]
    InUse,
    #[serde(rename = "unused")]
    Unused,
}

/// The steps of a preprocessing.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FillProgress {
    /// The completed steps.
    pub made: u32,
    /// All steps.
    pub of: u32,
}

/// A batch of items.
#[derive(Clone, Debug, Serialize)]
pub struct BatchContents {
    #[serde(flatten)]
    pub batch: BatchInventory,
    /// The digest of the component, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
}

/// An entry of an epoch's log.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "entry", rename_all = "lowercase")]
pub enum LogEntry {
    /// A step of making stock has begun.
    Fill { job: String, step: u32, of: u32, risk: String, workers: u32 },
    /// The peer may have seen something of the step.
    Exposed,
    /// The items of the step are stored.
    Stored,
    /// The step is completed.
    Made,
    /// A program takes items of the stock.
    Use { program: String, taken: Vec<TakenOfBatch> },
    /// Items cannot be read.
    Damaged { items: Vec<DamagedOfBatch> },
    /// The peer has the same log.
    Confirmed,
    /// Nothing can be taken from the epoch any more.
    Burned { why: String },
    /// Makers have the secrets of the epoch.
    Lent,
    /// All makers have reported.
    Returned,
}

/// The items that a program takes from a batch.
#[derive(Clone, Debug, Serialize)]
pub struct TakenOfBatch {
    pub batch: u64,
    pub items: u32,
}

/// The items of a batch that cannot be read.
#[derive(Clone, Debug, Serialize)]
pub struct DamagedOfBatch {
    pub batch: u64,
    pub first: u64,
    pub items: u64,
}

impl StoreContents {
    /// Lists the contents of a store, even while a party uses it, and the number of executions of each of
    /// these programs, with their names, for which they are enough.
    ///
    /// # Errors
    /// An error of the stock if the store cannot be opened or was altered.
    pub fn list(request: &StoreRequest, programs: &[(String, Program)]) -> Result<Self, Error> {
        let store = request.view()?;
        let epochs = protocols::inventory(&store)?;
        let makes = |(name, program): &(String, Program)| {
            let each = epochs.iter().map(|epoch| protocols::executions(epoch, &store, program.given()));
            let executions = each.sum::<Result<u64, ProtocolError>>()?;
            Ok(ProgramExecutions { program: name.clone(), executions })
        };
        let programs = Some(programs.iter().map(makes).collect::<Result<_, Error>>()?);
        Ok(StoreContents { programs, ..StoreContents::of(&request.store, &store, &epochs)? })
    }

    /// Lists the contents of a store with the history of each epoch. The reports of both parties can be
    /// compared.
    ///
    /// # Errors
    /// An error of the stock if the store cannot be opened or was altered.
    pub fn report(request: &StoreRequest) -> Result<Self, Error> {
        let store = request.view()?;
        let epochs = protocols::inventory(&store)?;
        let mut contents = StoreContents::of(&request.store, &store, &epochs)?;
        for (listed, epoch) in contents.epochs.iter_mut().zip(&epochs) {
            listed.log = Some(store.log(&epoch.id)?.iter().map(LogEntry::of).collect());
        }
        Ok(contents)
    }

    fn of(folder: &Path, store: &Store, epochs: &[Inventory]) -> Result<Self, Error> {
        let epochs: Vec<_> = epochs.iter().map(EpochContents::of).collect();
        Ok(StoreContents {
            store: folder.display().to_string(),
            bytes: epochs.iter().map(|epoch| epoch.bytes).sum(),
            pairs: store
                .pairs()?
                .iter()
                .map(|(relation, id)| PairOfStores {
                    id: hex(id),
                    role: relation.role,
                    peer: peer_of(relation),
                })
                .collect(),
            epochs,
            vain: store.accounts()?.iter().map(FailedAttempts::of).collect(),
            programs: None,
        })
    }
}

/// Returns the key of the peer.
#[doc(hidden)]
pub fn peer_of(relation: &Relation) -> PublicKey {
    let [garbler, evaluator] = relation.identities;
    PublicKey::from_bytes(if relation.role == Party::Garbler { evaluator } else { garbler })
}

impl FailedAttempts {
    pub(crate) fn of((account, risk): &(Account, u128)) -> Self {
        FailedAttempts {
            role: account.relation.role,
            peer: peer_of(&account.relation),
            protocol: account.protocol.clone(),
            security: account.security.bits(),
            bound_log2: Upper::fixed(*risk).log2(),
            most: account.security,
        }
    }
}

impl EpochContents {
    fn of(of: &Inventory) -> Self {
        let Inventory { id, epoch, pair, state, given_up, uses, progress, batches, bound_log2 } = of;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        EpochContents {
            id: hex(id),
            protocol: epoch.protocol.clone(),
            version: epoch.version,
            pair: pair.map(|id| hex(&id)),
            role: epoch.role,
            peer: peer_of(&epoch.relation()),
            security: Some(epoch.security.bits()).filter(|&bits| bits > 0),
            created: epoch.created,
            age_seconds: now.saturating_sub(epoch.created),
            max_age_seconds: epoch.max_age,
            condition: match state.burned() {
                Some(_) => Condition::Burned,
                None if state.is_used() => Condition::InUse,
                None => Condition::Unused,
            },
            burned: state.burned().map(str::to_owned),
            uses: *uses,
            entries: state.shared(),
            head: hex(state.head()),
            progress: progress.map(|(made, of)| FillProgress { made, of }),
            given_up: *given_up,
            bound_log2: *bound_log2,
            bytes: batches.iter().map(|batch| batch.bytes).sum(),
            batches: batches.iter().map(BatchContents::of).collect(),
            log: None,
        }
    }
}

impl BatchContents {
    fn of(batch: &BatchInventory) -> Self {
        let missing = batch.missing.as_deref().map(system::translated);
        BatchContents {
            batch: BatchInventory { missing, ..batch.clone() },
            component: (batch.kind == "component").then(|| hex(&batch.component)),
        }
    }
}

impl LogEntry {
    fn of(entry: &EpochEntry) -> Self {
        match entry {
            EpochEntry::Fill(step) => LogEntry::Fill {
                job: hex(&step.job),
                step: step.number,
                of: step.of,
                risk: format!("{:#034x}", step.risk),
                workers: step.workers,
            },
            EpochEntry::Exposed => LogEntry::Exposed,
            EpochEntry::Stored => LogEntry::Stored,
            EpochEntry::Made => LogEntry::Made,
            EpochEntry::Use { program, taken } => LogEntry::Use {
                program: hex(program),
                taken: taken.iter().map(|&(batch, items)| TakenOfBatch { batch, items }).collect(),
            },
            EpochEntry::Damaged(items) => LogEntry::Damaged {
                items: items
                    .iter()
                    .map(|&(batch, first, items)| DamagedOfBatch { batch, first, items })
                    .collect(),
            },
            EpochEntry::Confirmed => LogEntry::Confirmed,
            EpochEntry::Burned(why) => LogEntry::Burned { why: why.clone() },
            EpochEntry::Lent => LogEntry::Lent,
            EpochEntry::Returned => LogEntry::Returned,
        }
    }
}

impl fmt::Display for StoreContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for PairOfStores { id, role: own, peer } in &self.pairs {
            writeln!(f, "pair {}: as {}, with {peer}", &id[..12], role(*own))?;
        }
        for FailedAttempts { role: own, peer, protocol, security, bound_log2, most } in &self.vain {
            if protocol == Account::ACCUSATION {
                writeln!(f, "{peer} cheated, so `brickwork serve` does not connect to it")?;
                continue;
            }
            writeln!(
                f,
                "begun as {} with {peer} ({protocol}, s = {security}) and not made: {} in all, over all \
                 parts; nothing more is begun beyond {most}",
                role(*own),
                at_most(*bound_log2),
            )?;
        }
        if self.epochs.is_empty() {
            writeln!(f, "The store is empty.")?;
        }
        self.epochs.iter().try_for_each(|epoch| epoch.fmt(f))?;
        for ProgramExecutions { program, executions } in self.programs.iter().flatten() {
            writeln!(f, "The preprocessing makes {} of {program}.", plural(*executions, "execution"))?;
        }
        Ok(())
    }
}

impl fmt::Display for EpochContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [days, most] = [self.age_seconds, self.max_age_seconds].map(|s| s as f64 / 86400.0);
        writeln!(
            f,
            "{}  {}, {}, {days:.1} of {most:.0} days old, {}, {}, {}\n    peer {}",
            &self.id[..12],
            role(self.role),
            self.security.map_or_else(|| self.protocol.to_uppercase(), |bits| format!("s = {bits}")),
            bytes(self.bytes),
            self.condition,
            plural(self.uses, "use"),
            self.peer,
        )?;
        if let Some(why) = &self.burned {
            return writeln!(f, "    burned: {why}");
        }
        if self.version != PROTOCOL_VERSION {
            writeln!(
                f,
                "    made by version {} of the protocol; this is version {PROTOCOL_VERSION}, which cannot \
                 use it",
                self.version
            )?;
        }
        if let Some(bound) = self.bound_log2.filter(|_| !self.batches.is_empty()) {
            writeln!(f, "    a cheater succeeds in any of the programs from it: at most {}", at_most(bound))?;
        }
        if let Some(FillProgress { made, of }) = self.progress.filter(|progress| progress.made < progress.of)
        {
            writeln!(f, "    preprocessing was interrupted: {made} of {} made", plural(of.into(), "step"))?;
        }
        if let Some(bound) = self.given_up.bound_log2 {
            writeln!(
                f,
                "    given up: {}, {}, in the bound of each program from it",
                plural(self.given_up.steps.into(), "step"),
                at_most(bound)
            )?;
        }
        self.batches.iter().try_for_each(|batch| batch.fmt(f))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Condition::Burned => "burned",
            Condition::InUse => "in use",
            Condition::Unused => "unused",
        })
    }
}

impl fmt::Display for BatchContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BatchInventory { name, left, items, damaged, bytes: size, missing, cuts, bound_log2, .. } =
            &self.batch;
        write!(f, "    {name}: {} of {} left", thousands(*left), thousands(*items))?;
        if *damaged > 0 {
            write!(f, ", {} damaged", thousands(*damaged))?;
        }
        let bound = bound_log2.map_or(String::new(), |bound| format!(", {}", at_most(bound)));
        writeln!(f, ", {}{bound}", bytes(*size))?;
        if let Some(why) = missing {
            writeln!(
                f,
                "        MISSING: {why}; no program runs until it is back, or until `brickwork stock verify \
                 --repair` gives it up"
            )?;
        }
        let cuts: Vec<_> = cuts
            .iter()
            .map(|cut| {
                format!("{} {}, {} opened", thousands(cut.items), cut.of, thousands(cut.opened.into()))
            })
            .collect();
        if cuts.is_empty() { Ok(()) } else { writeln!(f, "        {}", cuts.join("; ")) }
    }
}
