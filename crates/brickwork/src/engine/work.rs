//! A party's part in a run, without its input, and the estimate by which it decides.

use std::sync::Arc;

use brickwork_circuit::{self as circuit, Party};
use brickwork_protocol::{self as session, AgreedJob};
use brickwork_report::words::bytes;

use crate::engine::machine;
use crate::engine::request::RunRequest;
use crate::engine::stocks::Stocks;
use crate::failure::{Error, ErrorKind};
use crate::plan::{Cost, Link, Machine, check_temporary_files};
use crate::program::Program;
use crate::resources;

/// A party's part in a run, without its input.
pub struct PartyWork<'a> {
    /// The role.
    pub party: Party,
    /// The request.
    pub request: &'a RunRequest,
    /// The program as the file describes it.
    pub given: &'a Program,
    /// The program and the parameters that the protocol runs.
    pub job: AgreedJob,
    /// The functions for the protocol's stock, if it keeps one.
    pub stocks: Option<&'a dyn Stocks>,
    /// Bytes of memory that are free or allowed.
    pub memory: Option<u64>,
}

impl<'a> PartyWork<'a> {
    /// Makes the part of a party. `identities` are the keys of the garbler and the evaluator. `program` is
    /// the given program as the protocol has prepared it.
    pub fn new(
        party: Party,
        request: &'a RunRequest,
        given: &'a Program,
        program: circuit::Program,
        stocks: Option<&'a dyn Stocks>,
        identities: [[u8; 32]; 2],
    ) -> Self {
        let job = AgreedJob {
            program: Arc::new(program),
            security: request.parameters.security(),
            threads: request.resources.threads(),
            table_memory: session::TABLE_MEMORY,
            identities,
            post_quantum: request.parameters.post_quantum,
        };
        let memory = request.resources.max_ram.or_else(resources::available_bytes);
        PartyWork { party, request, given, job, stocks, memory }
    }

    /// Returns the number of executions, if the request names one.
    pub fn executions(&self) -> Option<u32> {
        self.request.parameters.executions
    }
}

/// The estimate of a run. A garbler uses it to choose its proposal. Both parties compare it with the real run
/// afterwards.
pub struct RunEstimate {
    /// The constants of this machine.
    pub machine: Machine,
    /// The connection to the peer.
    pub link: Link,
    /// The predicted seconds of another protocol for the same program. A search for cuts that takes longer
    /// than this cannot pay.
    pub rival: f64,
}

impl RunEstimate {
    /// Makes the estimate for a request, on this machine.
    ///
    /// # Errors
    /// An error of the machine if it has no randomness.
    pub fn of<P>(request: &RunRequest<P>) -> Result<Self, Error> {
        let machine = machine::at_hand()?.with_threads(request.resources.threads);
        let link = request.line.with_lanes(request.resources.lanes);
        Ok(RunEstimate { machine, link, rival: f64::INFINITY })
    }
}

/// Refuses a run whose predicted memory is more than is allowed here, or whose temporary files at this
/// party do not fit on the disk.
///
/// # Errors
/// An error of the machine if the run does not fit.
pub fn fits_here(cost: &Cost, party: Party, allowed: Option<u64>) -> Result<(), Error> {
    fits_memory(cost.memory_bytes.of(party), allowed)?;
    Ok(check_temporary_files(cost.disk_bytes.of(party))?)
}

/// Refuses a run whose predicted memory is more than is allowed.
///
/// # Errors
/// An error of the machine if the run does not fit.
pub fn fits_memory(need: u64, allowed: Option<u64>) -> Result<(), Error> {
    match allowed {
        Some(limit) if need > limit => Err(Error::new(
            ErrorKind::Machine,
            format!(
                "this run needs some {} of memory, but --max-ram allows only {}",
                bytes(need),
                bytes(limit)
            ),
            "choose fewer --executions or smaller components; `brickwork plan` shows the memory of each \
             choice",
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PartyBytes;

    /// Each party checks its own disk for the files that it will write itself.
    #[test]
    fn each_party_checks_its_own_disk() {
        let (none, much) = (0, u64::MAX);
        for [garbler, evaluator] in [[none, much], [much, none], [much, much]] {
            let (memory_bytes, disk_bytes) = (PartyBytes::default(), PartyBytes { garbler, evaluator });
            let cost = Cost { phases: Vec::new(), cpu_seconds: 0.0, memory_bytes, disk_bytes };
            for (party, need) in [(Party::Garbler, garbler), (Party::Evaluator, evaluator)] {
                assert_eq!(fits_here(&cost, party, None).is_ok(), need == none, "{party:?} {disk_bytes:?}");
            }
        }
    }
}
