//! The cut-and-choose of the batches that a program uses, and the failure probability of a program from
//! stock.

use std::collections::HashSet;
use std::sync::LazyLock;

use brickwork_base::{Error, at_most};
use brickwork_primitives::cut_and_choose::{BatchKind, Bucketing, KnownBounds, Upper};
use brickwork_protocol::stock::GIVEN_UP_SHARE;
use brickwork_protocol::{self as session, CheckSpent, ItemKind, Promise};
use brickwork_store::{Batch, EpochId, GivenUp, Serial, Store};
use serde::{Deserialize, Serialize};

use super::needs::kind;
use crate::parameters::{HashLevel, Unit};
use crate::report::{AND_GATES, of_stock};

const VERSION: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BatchCut {
    pub unit: Unit,
    pub bucketing: Bucketing,
}

impl BatchCut {
    /// Returns the bound on a garbler's success with this cut. The bound is cached, because computing it is
    /// slow and many programs use the same cut.
    pub fn bound(&self, level: &HashLevel) -> Upper {
        static KNOWN: LazyLock<KnownBounds<(BatchCut, u32)>> = LazyLock::new(KnownBounds::default);
        KNOWN.of((*self, level.security), |(cut, _)| level.of_copies(cut.unit.rule(), &cut.bucketing))
    }
}

/// A batch whose items a program uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub serial: Serial,
    /// The name of the items in its buckets, as users see it.
    pub name: String,
    pub cut: BatchCut,
}

impl Origin {
    fn batch(&self) -> session::BatchPromise {
        let kind = match self.cut.unit {
            Unit::Gates => ItemKind::Gate,
            Unit::Components => ItemKind::Component,
        };
        self.cut.bucketing.batch(kind, self.name.clone())
    }

    /// Returns the origin of a batch, if it has a cut-and-choose.
    ///
    /// # Errors
    /// [`Error::Stock`] if its header is malformed.
    pub fn of(serial: Serial, batch: &Batch) -> Result<Option<Self>, Error> {
        let of = |unit, bucketing| {
            Some(Origin { serial, name: shown(unit, &batch.name), cut: BatchCut { unit, bucketing } })
        };
        let of_component = batch.component != [0; 32];
        match (batch.kind, Header::decode(&batch.header)?.cut, of_component) {
            (kind::GATES, Some(cut), false) => Ok(of(Unit::Gates, cut)),
            (kind::COPIES, Some(cut), true) => Ok(of(Unit::Components, cut)),
            (kind::INPUTS | kind::OTS, None, false) => Ok(None),
            _ => Err(malformed()),
        }
    }
}

/// Returns the name of the items in buckets, as a run without stock reports it.
pub(super) fn shown(unit: Unit, name: &str) -> String {
    match unit {
        Unit::Gates => AND_GATES.into(),
        Unit::Components => name.into(),
    }
}

/// The common data of a batch's items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    version: u32,
    /// s, the statistical security in bits.
    security: u32,
    /// The cut of a batch of buckets. It is `None` for wires and OTs, because no wires or OTs are opened.
    cut: Option<Bucketing>,
    /// The start of the hash keys of the items in the buckets.
    pub start: u128,
}

impl Header {
    pub fn new(security: u32, cut: Option<Bucketing>, start: u128) -> Self {
        Header { version: VERSION, security, cut, start }
    }

    /// Returns the level of the batch.
    ///
    /// # Errors
    /// [`Error::Usage`] if that security is not offered.
    pub fn level(&self) -> Result<HashLevel, Error> {
        HashLevel::of_stock(self.security)
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
        match header.cut.is_none_or(|cut| is_sensible(&cut)) {
            true => Ok(header),
            false => Err(malformed()),
        }
    }

    /// Returns the cut of a batch of buckets.
    ///
    /// # Errors
    /// [`Error::Stock`] if the batch has no cut.
    pub fn bucketing(&self) -> Result<Bucketing, Error> {
        self.cut.ok_or_else(|| Error::Stock("the header of a batch belongs to another kind of items".into()))
    }
}

fn malformed() -> Error {
    Error::Stock("the header of a batch is malformed".into())
}

pub(super) fn is_sensible(cut: &Bucketing) -> bool {
    cut.slots > 0 && cut.bucket > 0 && cut.opened > 0 && BatchKind::Component.may_have(cut)
}

/// Returns each batch once, even if several parts of the program use it.
fn distinct(origins: &[Origin]) -> Vec<&Origin> {
    let mut seen = HashSet::new();
    origins.iter().filter(|origin| seen.insert(origin.serial)).collect()
}

/// Returns the bound on failures in any of these batches. Each batch counts once and as a whole. The risk of
/// all given-up steps and of all other checks of their session is added.
fn bound(origins: &[Origin], given_up: GivenUp, level: &HashLevel) -> Upper {
    let checks: Upper = level.checks().into_iter().map(|(_, bound)| bound).sum();
    let batches: Upper = distinct(origins).iter().map(|origin| origin.cut.bound(level)).sum();
    checks + batches + Upper::fixed(given_up.risk)
}

/// Returns the promise of a program that uses these batches, whose buckets have this unit.
///
/// # Errors
/// [`Error::Stock`] if their bounds together exceed the budget, [`Error::Usage`] if the security is not
/// offered.
pub(super) fn promise(
    origins: &[Origin],
    unit: Unit,
    given_up: GivenUp,
    security: u32,
) -> Result<Promise, Error> {
    let level = HashLevel::of_stock(security)?;
    let spent = bound(origins, given_up, &level).log2();
    if spent > -f64::from(security) {
        return Err(Error::Stock(format!(
            "the program would use too many batches, or too many steps were given up: a cheater would \
             succeed with probability up to {}, more than 2^-{security}. Make all items for this program in \
             one step of `brickwork preprocess`",
            at_most(spent)
        )));
    }
    let part = |check: &str, bound: Upper| CheckSpent { check: check.into(), bound_log2: bound.log2() };
    let mut budget: Vec<CheckSpent> =
        level.checks().into_iter().map(|(check, bound)| part(check, bound)).collect();
    let origins = distinct(origins);
    budget.extend(origins.iter().map(|origin| part(unit.bad(), origin.cut.bound(&level))));
    if given_up.risk > 0 {
        budget.push(part("steps that were given up", Upper::fixed(given_up.risk)));
    }
    let mut promise = of_stock(&level, spent, budget);
    promise.batches = origins.iter().map(|origin| origin.batch()).collect();
    Ok(promise)
}

/// Returns the bound on a cheating garbler's success in all programs together that use an epoch. The bound
/// covers all batches of the epoch, including used ones.
///
/// # Errors
/// [`Error::Stock`] if the store cannot be read or was altered.
pub(super) fn bound_of_epoch(store: &Store, epoch: &EpochId, security: u32) -> Result<Upper, Error> {
    let state = store.state(epoch)?;
    let mut origins = Vec::new();
    for left in store.batches(epoch)?.iter().filter(|left| state.is_made(left.serial)) {
        origins.extend(Origin::of(left.serial, &left.batch)?);
    }
    Ok(bound(&origins, state.given_up(), &HashLevel::of_stock(security)?))
}

/// Returns whether the budget of an epoch with these given-up steps allows another step.
///
/// # Errors
/// [`Error::Usage`] if that security is not offered.
pub(super) fn may_begin(given_up: GivenUp, security: u32) -> Result<bool, Error> {
    Ok(Upper::fixed(given_up.risk) <= Upper::exp2(HashLevel::of_stock(security)?.share(GIVEN_UP_SHARE)))
}

/// Returns the risk of an epoch outside of its batches, in units of 2^-128.
///
/// # Errors
/// [`Error::Usage`] if that security is not offered.
pub(super) fn fixed(security: u32) -> Result<u128, Error> {
    let checks = HashLevel::of_stock(security)?.checks();
    Ok(checks.into_iter().map(|(_, bound)| bound).sum::<Upper>().to_fixed())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row 25 of the table of attacks: a batch of another version, or with a cut that nobody would choose, is
    /// refused.
    #[test]
    fn row_25_a_header_of_another_version_or_cut_is_refused() {
        let header = Header::new(40, Some(Bucketing { slots: 8, bucket: 3, opened: 4 }), 5);
        assert!(Header::decode(&header.encode()).is_ok());
        let other = Header { version: VERSION + 1, ..header.clone() };
        assert!(Header::decode(&other.encode()).is_err());
        let other = Header { cut: Some(Bucketing { slots: 8, bucket: 0, opened: 4 }), ..header };
        assert!(Header::decode(&other.encode()).is_err());
    }

    /// A batch's data must be consistent: only buckets of gates or components have a cut-and-choose.
    #[test]
    fn row_25_batches_that_contradict_themselves_are_refused() {
        let cut = Some(Bucketing { slots: 8, bucket: 3, opened: 20 });
        let of = |kind, cut, component: u8| {
            let header = Header::new(40, cut, 0).encode();
            Origin::of(0, &Batch { kind, name: "x".into(), component: [component; 32], header })
        };
        let unit = |origin: Option<Origin>| origin.map(|origin| origin.cut.unit);
        assert_eq!(unit(of(kind::GATES, cut, 0).unwrap()), Some(Unit::Gates));
        assert_eq!(unit(of(kind::COPIES, cut, 1).unwrap()), Some(Unit::Components));
        assert_eq!(unit(of(kind::INPUTS, None, 0).unwrap()), None);
        assert_eq!(unit(of(kind::OTS, None, 0).unwrap()), None);
        for (kind, cut, component) in [
            (kind::GATES, cut, 1),
            (kind::GATES, None, 0),
            (kind::COPIES, cut, 0),
            (kind::COPIES, None, 1),
            (kind::INPUTS, cut, 0),
            (kind::OTS, None, 1),
            (4, cut, 0),
            (4, None, 0),
        ] {
            let refused = of(kind, cut, component);
            assert!(matches!(&refused, Err(Error::Stock(why)) if why.contains("malformed")), "{kind}");
        }
    }
}
