//! The items in an epoch, and the choice of a program's items among them.

use std::collections::HashMap;
use std::sync::Arc;

use super::records::Header;
use crate::items::Origin;
use crate::parameters::{bound_of_origins, promise_of_origins};
use crate::stock::Counts;
use brickwork_base::{Error, Security};
use brickwork_circuit::{ComponentDigest, Party, Program};
use brickwork_primitives::cut_and_choose::Upper;
use brickwork_primitives::garbling::Schedule;
use brickwork_protocol::stock::records::Batches;
use brickwork_store::{EpochId, RemainingBatch, Serial, Store};

/// The kinds of item in a batch: the `kind` of [`Batch`](brickwork_store::Batch).
pub(super) mod kind {
    pub const COMPONENT: u8 = 0;
    pub const INPUT: u8 = 1;
    pub const OTS: u8 = 2;
}

/// Counts the items that are left.
pub(super) fn counts(batches: &Batches) -> Counts {
    let mut components = HashMap::new();
    for left in batches.of_kind(kind::COMPONENT) {
        *components.entry(left.batch.component).or_default() += left.left as usize;
    }
    let ots = batches.left(kind::OTS);
    Counts { components, input: batches.left(kind::INPUT), ots: (ots > 0).then_some(ots) }
}

/// Chooses the items of a program with this many input authenticators: pairs of a batch and a number, oldest
/// first.
///
/// # Errors
/// [`Error::Stock`] if there are too few items, or if they come from so many batches that the bound is
/// exceeded.
pub(super) fn choose(
    batches: &Batches,
    (program, garbler_wires): (&Program, usize),
    carried: &[(String, Origin)],
    security: Security,
) -> Result<Vec<(Serial, u32)>, Error> {
    let counts = counts(batches);
    let with_ots = counts.ots.is_some();
    let missing = counts.missing(program, garbler_wires);
    if !missing.is_empty() {
        return Err(Error::Stock(format!("the program needs {missing} more than the stock has")));
    }
    let mut needs: Vec<(u8, ComponentDigest, usize)> = Vec::new();
    for (digest, slots) in program.component_digests().iter().zip(program.slots_by_component()) {
        match needs.iter_mut().find(|need| need.1 == *digest) {
            Some(need) => need.2 += slots,
            None => needs.push((kind::COMPONENT, *digest, slots)),
        }
    }
    needs.push((kind::INPUT, [0; 32], garbler_wires));
    needs.push((kind::OTS, [0; 32], if with_ots { program.input_width(Party::Evaluator) } else { 0 }));
    let mut taken = Vec::new();
    let mut origins: Vec<(String, Origin)> = Vec::new();
    for (kind, component, count) in needs {
        for RemainingBatch { batch, .. } in batches.take(kind, &component, count, &mut taken)? {
            let header = Header::decode(&batch.header, batches.given_up())?;
            origins.extend(header.origins.iter().map(|origin| (batch.name.clone(), *origin)));
        }
    }
    if security.is_share() {
        // In a session with a share of a promise, all programs together use this share. So every program
        // counts all batches.
        let of_all = batches.made().map(|left| Header::decode(&left.batch.header, batches.given_up()));
        for header in of_all.collect::<Result<Vec<_>, _>>()? {
            origins.extend(header.origins.iter().map(|origin| (String::new(), *origin)));
        }
    }
    if taken.is_empty() {
        return Err(Error::Stock("the program takes nothing from the stock; run it without --store".into()));
    }
    promise_of_origins(&origins, carried, security)?;
    Ok(taken)
}

/// Returns the bound on the probability that a garbler cheats in any program of an epoch. It covers all
/// batches that were made, used ones included.
pub(super) fn bound_of_epoch(store: &Store, epoch: &EpochId, security: Security) -> Result<Upper, Error> {
    let state = store.state(epoch)?;
    let mut origins = Vec::new();
    for left in store.batches(epoch)?.iter().filter(|left| state.is_made(left.serial)) {
        origins.extend(Header::decode(&left.batch.header, state.given_up())?.origins);
    }
    bound_of_origins(&origins, security)
}

/// The evaluator's schedules of components. Each schedule is made once.
pub(super) type Schedules = HashMap<ComponentDigest, Arc<Schedule>>;

/// Makes the schedules that a program needs.
pub(super) fn schedule(schedules: &mut Schedules, program: &Program) {
    for (component, digest) in program.components().iter().zip(program.component_digests()) {
        schedules.entry(*digest).or_insert_with(|| Arc::new(Schedule::new(&component.circuit)));
    }
}
