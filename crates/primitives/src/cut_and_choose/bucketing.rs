//! The sizes of a batch, and the probability of detecting its bad copies.

use std::borrow::Cow;

use brickwork_base::promise::{Batch, ItemKind};
use serde::{Deserialize, Serialize};

/// How surely a bad copy is noticed when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detection {
    /// Always: all of it is opened.
    Full,
    /// With probability 1/2: one of two halves is opened, by the evaluator's coin.
    Half,
}

/// When a bad copy is noticed, and how many of them ruin a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// How surely a bad copy is noticed when it is opened.
    pub detection: Detection,
    /// Says that the majority of a bucket must be good; if not, one good copy is enough.
    pub majority: bool,
}

impl Rule {
    /// Components: an opened copy is garbled again, and one good copy in a bucket is enough.
    pub const COMPONENT: Rule = Rule { detection: Detection::Full, majority: false };
    /// Key authenticators: opening shows one of the two hashes, and the majority accepts.
    pub const KEY_AUTHENTICATOR: Rule = Rule { detection: Detection::Half, majority: true };
    /// Input authenticators: opened completely, and the majority accepts.
    pub const INPUT_AUTHENTICATOR: Rule = Rule { detection: Detection::Full, majority: true };

    /// Returns how many bad copies ruin a bucket of this size.
    pub(super) fn ruinous(self, bucket: u64) -> u64 {
        if self.majority { bucket / 2 + 1 } else { bucket }
    }

    /// Returns whether buckets may have this size: an even majority would only waste a copy.
    pub(super) fn allows(self, bucket: u32) -> bool {
        bucket > 0 && (bucket % 2 == 1 || !self.majority)
    }
}

/// The sizes of a batch: the number of slots, copies per bucket, and opened copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bucketing {
    /// `N`: slots to fill.
    pub slots: u32,
    /// `B`: copies in a bucket.
    pub bucket: u32,
    /// `c`: copies to open.
    pub opened: u32,
}

impl Bucketing {
    /// Returns `L`: how many copies are garbled.
    pub fn copies(&self) -> u64 {
        self.kept() + u64::from(self.opened)
    }

    /// Returns it as a promise tells it, of items of this kind and name.
    pub fn batch(&self, kind: ItemKind, name: impl Into<Cow<'static, str>>) -> Batch {
        Batch {
            kind,
            name: name.into(),
            slots: self.slots.into(),
            bucket_size: self.bucket.into(),
            copies: self.copies(),
            opened: self.opened.into(),
        }
    }

    /// Returns how many copies end in a bucket.
    pub fn kept(&self) -> u64 {
        u64::from(self.slots) * u64::from(self.bucket)
    }
}

/// Returns the greatest `t` worth the effort. A bucketing that needs more has too few opened copies to be
/// useful, and a peer that proposes it must not cause much work.
pub(super) fn most_bad(rule: Rule) -> u64 {
    match rule.detection {
        Detection::Full => 1 << 16,
        Detection::Half => 1 << 13,
    }
}
