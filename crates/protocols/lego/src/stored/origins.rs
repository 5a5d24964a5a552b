//! The cut-and-choose of each batch in stock, and the failure probability of a program from stock.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::needs::kind;
use crate::mixed::Mixed;
use crate::parameters::{
    GATES_CHECK, INPUTS_CHECK, NOTHING, add_gates, add_inputs, bound_of_gates, bound_of_inputs,
    empty_promise, spent_on_checks, stock_checks, stock_share,
};
use brickwork_base::Error;
use brickwork_base::at_most;
use brickwork_primitives::cut_and_choose::{BatchKind, Bucketing, Upper};
use brickwork_protocol::stock::GIVEN_UP_SHARE;
use brickwork_protocol::{CheckSpent, Promise};
use brickwork_store::{EpochId, GivenUp, Serial, Store};

const VERSION: u32 = 1;

/// The cut-and-choose of a batch, either of gates with their authenticators, or of input authenticators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// The batch's number, unique in a session.
    pub serial: Serial,
    pub cut: CutAndChoose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CutAndChoose {
    Gates(Mixed),
    Inputs(Bucketing),
}

impl CutAndChoose {
    fn is_sensible(&self) -> bool {
        match self {
            CutAndChoose::Gates(mixed) => mixed.is_sensible(),
            CutAndChoose::Inputs(cut) => *cut != NOTHING && BatchKind::InputAuthenticator.may_have(cut),
        }
    }

    pub fn bound(&self, security: u32) -> Upper {
        match self {
            CutAndChoose::Gates(mixed) => bound_of_gates(mixed, security),
            CutAndChoose::Inputs(cut) => bound_of_inputs(cut),
        }
    }

    fn check(&self) -> &'static str {
        match self {
            CutAndChoose::Gates(_) => GATES_CHECK,
            CutAndChoose::Inputs(_) => INPUTS_CHECK,
        }
    }
}

/// The data that all items of a batch share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub version: u32,
    /// The statistical security in bits, s.
    pub security: u32,
    /// The cut-and-choose from which the items come. A built program has those of all its items.
    pub origins: Vec<Origin>,
    /// The number at which the gates' hash keys begin.
    pub start: u128,
    /// The number of authenticators that the session made before this batch.
    pub made: u64,
    /// The first rows of the garbler's commitments: two for the items, and one for the wires of inputs.
    pub rows: [u64; 3],
    /// The batches of a built program's gates and inputs, in order. It is empty for other items.
    pub parts: Vec<BatchPart>,
}

/// The items of a built program that come from one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BatchPart {
    /// The numbers of gates and wire authenticators in a bucket, or the number of input authenticators and 0.
    pub sizes: [u32; 2],
    /// The number of buckets.
    pub count: u32,
    /// The number at which the gates' hash keys begin, and the batch's number of copies.
    pub start: u128,
    pub copies: u32,
    /// The number of authenticators that the session made before this batch.
    pub made: u64,
    /// True for gates, false for inputs.
    pub gates: bool,
}

fn malformed() -> Error {
    Error::Stock("the header of a batch is malformed".into())
}

impl Header {
    pub fn new(security: u32, origins: Vec<Origin>) -> Self {
        Header { version: VERSION, security, origins, start: 0, made: 0, rows: [0; 3], parts: Vec::new() }
    }

    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("each header has an encoding")
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let header: Header = postcard::from_bytes(bytes).map_err(|_| malformed())?;
        if header.version != VERSION {
            return Err(Error::Stock(format!(
                "a stored batch has version {}, but this release reads version {VERSION}",
                header.version
            )));
        }
        match header.origins.iter().all(|origin| origin.cut.is_sensible()) {
            true => Ok(header),
            false => {
                Err(Error::Stock("the header of a batch has impossible cut-and-choose parameters".into()))
            }
        }
    }

    /// Returns the cut-and-choose of a batch of gates.
    ///
    /// # Errors
    /// [`Error::Stock`] if the batch has other items.
    pub fn mixed(&self) -> Result<Mixed, Error> {
        match self.origins[..] {
            [Origin { cut: CutAndChoose::Gates(mixed), .. }] => Ok(mixed),
            _ => Err(malformed()),
        }
    }

    /// Returns the cut-and-choose of a batch of input authenticators.
    ///
    /// # Errors
    /// As [`Header::mixed`].
    pub fn inputs(&self) -> Result<Bucketing, Error> {
        match self.origins[..] {
            [Origin { cut: CutAndChoose::Inputs(cut), .. }] => Ok(cut),
            _ => Err(malformed()),
        }
    }
}

/// Removes batches that occur twice.
fn distinct(origins: &[Origin]) -> Vec<Origin> {
    let mut seen = HashSet::new();
    origins.iter().filter(|origin| seen.insert(origin.serial)).copied().collect()
}

/// Returns the bound on failures in any of these batches. Each batch counts once and as a whole. The steps of
/// its session that were given up count, too, and all other checks that may fail in it.
fn bound(origins: &[Origin], given_up: GivenUp, security: u32) -> Result<Upper, Error> {
    let checks: Upper = stock_checks(security)?.checks().iter().map(|check| check.1).sum();
    let batches: Upper = distinct(origins).iter().map(|origin| origin.cut.bound(security)).sum();
    Ok(checks + batches + Upper::fixed(given_up.risk))
}

/// Returns the promise of a program from these batches.
///
/// # Errors
/// [`Error::Stock`] if these batches together exceed the budget.
pub(super) fn promise(origins: &[Origin], given_up: GivenUp, security: u32) -> Result<Promise, Error> {
    let spent = bound(origins, given_up, security)?.log2();
    if spent > -f64::from(security) {
        return Err(Error::Stock(format!(
            "the program would use too many batches, or too many steps were given up: a cheater would \
            succeed with probability up to {}, more than 2^-{security}. Make all items for this program \
            in one step of `brickwork preprocess`",
            at_most(spent)
        )));
    }
    let mut budget = spent_on_checks(&stock_checks(security)?);
    let origins = distinct(origins);
    budget.extend(origins.iter().map(|origin| CheckSpent {
        check: origin.cut.check().into(),
        bound_log2: origin.cut.bound(security).log2(),
    }));
    if given_up.risk > 0 {
        let bound_log2 = Upper::fixed(given_up.risk).log2();
        budget.push(CheckSpent { check: "steps that were given up".into(), bound_log2 });
    }
    let mut promise = empty_promise(security, spent, budget);
    for origin in &origins {
        match &origin.cut {
            CutAndChoose::Gates(mixed) => add_gates(&mut promise, mixed),
            CutAndChoose::Inputs(cut) => add_inputs(&mut promise, cut),
        }
    }
    Ok(promise)
}

/// Returns the bound on a cheating garbler's success in all programs together that use an epoch. The bound
/// includes all items that were made in the epoch, even those that are used up.
pub(super) fn bound_of_epoch(store: &Store, epoch: &EpochId, security: u32) -> Result<Upper, Error> {
    let state = store.state(epoch)?;
    let mut origins = Vec::new();
    for left in store.batches(epoch)?.iter().filter(|left| state.is_made(left.serial)) {
        if left.batch.kind != kind::PROGRAM {
            origins.extend(Header::decode(&left.batch.header)?.origins);
        }
    }
    bound(&origins, state.given_up(), security)
}

/// Returns whether the risk of an epoch's given-up steps still allows another step.
pub(super) fn may_begin(given_up: GivenUp, security: u32) -> Result<bool, Error> {
    Ok(Upper::fixed(given_up.risk) <= Upper::exp2(stock_share(security, GIVEN_UP_SHARE)?))
}

/// Returns the risk of an epoch's checks outside its batches, in units of 2^-128.
pub(super) fn fixed(security: u32) -> Result<u128, Error> {
    Ok(stock_checks(security)?.checks().iter().map(|check| check.1).sum::<Upper>().to_fixed())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row 25 of the table of attacks: a batch of another version, or with a cut that nobody would choose, is
    /// refused.
    #[test]
    fn row_25_a_header_of_another_version_or_cut_is_refused() {
        let of = |bucket| {
            let cut = CutAndChoose::Inputs(Bucketing { slots: 8, bucket, opened: 4 });
            Header::new(40, vec![Origin { serial: 1, cut }])
        };
        assert!(Header::decode(&of(3).encode()).is_ok());
        assert!(Header::decode(&of(0).encode()).is_err());
        let other = Header { version: VERSION + 1, ..of(3) };
        assert!(Header::decode(&other.encode()).is_err());
    }
}
