//! What a party works on, but for its input: the flags that say so, and what they come to.

use std::sync::Arc;

use brickwork::circuit::{self, Party};
use brickwork::plan::{Cost, Link, Machine, check_temporary_files};
use brickwork::session::{self, Job};
use brickwork::wire::tls::PublicKey;
use brickwork::{Program, resources};

use crate::arguments::{Choice, LineArguments, Parameters, Resources};
use crate::failure::{Failure, code};
use crate::machine;
use crate::report::bytes;
use crate::stocks::Stocks;
use crate::store::StoreArguments;
use brickwork::cut::CutChoice;

/// The flags that say what a run takes and how it is done.
#[derive(Clone, Copy)]
pub struct Flags<'a> {
    pub parameters: &'a Parameters,
    pub resources: &'a Resources,
    pub choice: &'a Choice,
    pub cut: &'a CutChoice,
    pub line: &'a LineArguments,
    pub stock: &'a StoreArguments,
}

/// What flags choose, which a protocol may leave no choice of.
pub struct Choices<'a> {
    pub parameters: &'a Parameters,
    pub buckets: &'a Choice,
    pub cut: &'a CutChoice,
    pub lanes: u8,
    /// Whether there is a store.
    pub stored: bool,
    /// Whether what must not show is to be noted.
    pub audited: bool,
    /// Whether what there is to choose is to be drawn.
    pub drawn: bool,
}

impl<'a> Flags<'a> {
    /// Returns what these flags of a party choose.
    pub fn choices(&self, audited: bool) -> Choices<'a> {
        Choices {
            parameters: self.parameters,
            buckets: self.choice,
            cut: self.cut,
            lanes: self.resources.lanes,
            stored: self.stock.store.is_some(),
            audited,
            drawn: false,
        }
    }
}

/// What a party works on, but for its input.
pub struct Work<'a> {
    pub party: Party,
    pub flags: Flags<'a>,
    /// As the file says.
    pub given: &'a Program,
    pub job: Job,
    /// What its protocol does with stores, if anything.
    pub stocks: Option<&'a dyn Stocks>,
    /// What is free or allowed.
    pub memory: Option<u64>,
}

impl<'a> Work<'a> {
    /// Returns what a party works on that has these flags and keys: `program`, which the protocol makes of
    /// what the file gives.
    pub fn new(
        party: Party,
        flags: Flags<'a>,
        given: &'a Program,
        program: circuit::Program,
        stocks: Option<&'a dyn Stocks>,
        own: PublicKey,
        peer: PublicKey,
    ) -> Self {
        let keys = match party {
            Party::Garbler => [own, peer],
            Party::Evaluator => [peer, own],
        };
        let job = Job {
            program: Arc::new(program),
            security: flags.parameters.security(),
            threads: flags.resources.threads(),
            table_memory: session::TABLE_MEMORY,
            identities: keys.map(PublicKey::to_bytes),
            post_quantum: flags.parameters.post_quantum,
        };
        let memory = flags.resources.max_ram.or_else(resources::available_bytes);
        Work { party, flags, given, job, stocks, memory }
    }

    /// Returns how often the program is evaluated, if that was said.
    pub fn executions(&self) -> Option<u32> {
        self.flags.parameters.executions.executions
    }
}

/// What a run will take: a garbler proposes by it, and both parties compare it with what the run took.
pub struct Estimate {
    pub machine: Machine,
    pub link: Link,
}

impl Estimate {
    /// Estimates for a party with these flags, on this machine.
    pub fn of(flags: &Flags) -> Result<Self, Failure> {
        let machine = machine::at_hand()?.with_threads(flags.resources.threads);
        Ok(Estimate { machine, link: flags.line.link().with_lanes(flags.resources.lanes) })
    }
}

/// Refuses a run that is predicted to take more memory here than is allowed, or larger temporary files than
/// there is room for.
///
/// # Errors
/// If it is.
pub fn fits_here(cost: &Cost, party: Party, allowed: Option<u64>) -> Result<(), Failure> {
    fits_memory(cost.memory_bytes(party), allowed)?;
    match party {
        Party::Garbler => Ok(()),
        Party::Evaluator => Ok(check_temporary_files(cost.disk_bytes)?),
    }
}

/// Refuses a run that is predicted to take more memory here than is allowed.
///
/// # Errors
/// If it is.
pub fn fits_memory(need: u64, allowed: Option<u64>) -> Result<(), Failure> {
    match allowed {
        Some(limit) if need > limit => Err(Failure::new(
            code::OTHER,
            format!("this takes some {} of memory here, and --max-ram allows {}", bytes(need), bytes(limit)),
            "choose fewer --executions, or smaller components; `brickwork plan` shows what takes how much",
        )),
        _ => Ok(()),
    }
}
