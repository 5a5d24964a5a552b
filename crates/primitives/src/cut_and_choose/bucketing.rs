//! The sizes of a batch, and the rules by which bad copies are detected and ruin a bucket.

use std::borrow::Cow;

use brickwork_base::promise::{BatchPromise, ItemKind};
use serde::{Deserialize, Serialize};

/// The probability that an opened bad copy is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detection {
    /// Always detected, because the whole copy is opened.
    Full,
    /// Detected with probability 1/2, because the evaluator's coin decides which of two halves is opened.
    Half,
}

/// When a bad copy is detected, and how many bad copies ruin a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BucketRule {
    /// The probability that an opened bad copy is detected.
    pub detection: Detection,
    /// True if the majority of a bucket must be good. If not, one good copy is enough.
    pub majority: bool,
}

impl BucketRule {
    /// Components: an opened copy is garbled again, and one good copy in a bucket is enough.
    pub const COMPONENT: BucketRule = BucketRule { detection: Detection::Full, majority: false };
    /// Key authenticators: opening shows one of the two hashes, and the majority decides.
    pub const KEY_AUTHENTICATOR: BucketRule = BucketRule { detection: Detection::Half, majority: true };
    /// Input authenticators: opened completely, and the majority decides.
    pub const INPUT_AUTHENTICATOR: BucketRule = BucketRule { detection: Detection::Full, majority: true };

    /// Returns the number of bad copies that ruin a bucket of this size.
    pub(super) fn ruinous(self, bucket: u64) -> u64 {
        if self.majority { bucket / 2 + 1 } else { bucket }
    }

    /// Returns whether buckets may have this size. If the majority decides, an even size would waste a copy.
    pub(super) fn allows(self, bucket: u32) -> bool {
        bucket > 0 && (bucket % 2 == 1 || !self.majority)
    }
}

/// The sizes of a batch: the number of slots, the copies in a bucket, and the opened copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bucketing {
    /// `N`, the number of slots.
    pub slots: u32,
    /// `B`, the number of copies in a bucket.
    pub bucket: u32,
    /// `c`, the number of opened copies.
    pub opened: u32,
}

impl Bucketing {
    /// Returns `L`, the number of garbled copies.
    pub fn copies(&self) -> u64 {
        self.kept() + u64::from(self.opened)
    }

    /// Returns the sizes in the form of a promise, for items of this kind and name.
    pub fn batch(&self, kind: ItemKind, name: impl Into<Cow<'static, str>>) -> BatchPromise {
        BatchPromise {
            kind,
            name: name.into(),
            slots: self.slots.into(),
            bucket_size: self.bucket.into(),
            copies: self.copies(),
            opened: self.opened.into(),
        }
    }

    /// Returns the number of copies in buckets.
    pub fn kept(&self) -> u64 {
        u64::from(self.slots) * u64::from(self.bucket)
    }
}

/// Returns the greatest number of bad copies that is examined. A bucketing that needs more has too few opened
/// copies to be useful, and a peer that proposes it must not cause much work.
pub(super) fn most_bad(rule: BucketRule) -> u64 {
    match rule.detection {
        Detection::Full => 1 << 16,
        Detection::Half => 1 << 13,
    }
}
