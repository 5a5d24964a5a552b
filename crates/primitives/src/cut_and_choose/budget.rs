//! The statistical budget of a session: the probabilities of all failures of its checks add up to at most
//! `2^-s`.

use serde::{Deserialize, Serialize};

use super::search::is_sensible;
use super::{BucketRule, Bucketing, Upper, cheapest};
use brickwork_base::{Error, Security, at_most};

/// The kind of item that a batch consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BatchKind {
    /// Copies of a component.
    Component,
    /// Key authenticators.
    KeyAuthenticator,
    /// Input authenticators.
    InputAuthenticator,
}

impl BatchKind {
    /// Returns the rule by which a batch of this kind is checked and used.
    pub fn rule(self) -> BucketRule {
        match self {
            BatchKind::Component => BucketRule::COMPONENT,
            BatchKind::KeyAuthenticator => BucketRule::KEY_AUTHENTICATOR,
            BatchKind::InputAuthenticator => BucketRule::INPUT_AUTHENTICATOR,
        }
    }

    /// Returns whether a batch of this kind may have this bucketing. The sizes must be sensible, and the
    /// number of each copy must fit into 32 bits.
    pub fn may_have(self, bucketing: &Bucketing) -> bool {
        bucketing.slots <= MOST_SLOTS && is_sensible(self.rule(), bucketing)
    }
}

/// A batch that will be made: all items of one cut-and-choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchSpec {
    /// The kind of the items.
    pub kind: BatchKind,
    /// The number of slots that the batch must fill.
    pub slots: u32,
}

/// The error probabilities of a session's other checks, and the security level that must be reached in total.
#[derive(Clone, Debug)]
pub struct Budget {
    security: Security,
    checks: Vec<(&'static str, Upper)>,
}

/// The bucketings of a session, each with its bound.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// The bucketing and the bound of each batch, in the order of the request.
    pub batches: Vec<(Bucketing, Upper)>,
    /// An upper bound on the probability that anything in the session fails.
    pub total: Upper,
}

/// The largest number of slots of a batch. The numbers of its copies have 32 bits, so a bucket may have up to
/// 31 copies.
const MOST_SLOTS: u32 = 1 << 27;

impl Budget {
    /// Returns the budget of a session that has no checks yet.
    pub fn new(security: impl Into<Security>) -> Self {
        Budget { security: security.into(), checks: Vec::new() }
    }

    /// Adds a check that a cheater passes with probability at most `2^log2`. `name` appears in messages.
    #[must_use]
    pub fn with_check(mut self, name: &'static str, log2: f64) -> Self {
        self.checks.push((name, Upper::exp2(log2)));
        self
    }

    /// Returns the checks that were added, each with its error probability.
    pub fn checks(&self) -> &[(&'static str, Upper)] {
        &self.checks
    }

    /// Returns the cheapest bucketings for these batches with which the session fails with probability at
    /// most `2^-s`. `cost` gets the position of a batch and a bucketing for it, and returns a price. The
    /// batches share the rest of the budget equally. The part of its share that a batch does not use goes to
    /// the next batch.
    ///
    /// # Errors
    /// [`Error::Usage`] if the checks alone exceed the budget, [`Error::Limit`] if a batch has too many
    /// slots.
    pub fn allocate(
        &self,
        batches: &[BatchSpec],
        cost: impl Fn(usize, &Bucketing) -> f64,
    ) -> Result<Allocation, Error> {
        let mut spent = self.spent();
        let mut bucketings = Vec::new();
        for (i, batch) in batches.iter().enumerate() {
            if batch.slots > MOST_SLOTS {
                return Err(Error::Limit(format!(
                    "the program needs {} uses of one component, or wires of one kind, at once, but at most \
                     {MOST_SLOTS} are possible; split the program",
                    batch.slots
                )));
            }
            let share = self.rest(spent) / (batches.len() - i) as f64;
            let limit =
                if share > 0.0 { Upper::limit(share.log2() + self.security.log2()) } else { Upper::ZERO };
            let bucketing = cheapest(batch.kind.rule(), batch.slots, limit, |bucketing| cost(i, bucketing))
                .ok_or_else(|| self.exhausted(spent))?;
            let bound = bucketing.bound(batch.kind.rule());
            spent = spent + bound;
            bucketings.push((bucketing, bound));
        }
        self.verified(bucketings)
    }

    /// Returns the bound of bucketings that the peer proposes.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the bucketings do not fit these batches, or everything together exceeds `2^-s`.
    pub fn check(&self, batches: &[BatchSpec], bucketings: &[Bucketing]) -> Result<Allocation, Error> {
        let fits = |(batch, bucketing): (&BatchSpec, &Bucketing)| {
            bucketing.slots == batch.slots && batch.kind.may_have(bucketing)
        };
        if bucketings.len() != batches.len() || !batches.iter().zip(bucketings).all(fits) {
            return Err(Error::Mismatch(
                "the proposed cut-and-choose parameters do not fit this program".into(),
            ));
        }
        self.verified(
            batches
                .iter()
                .zip(bucketings)
                .map(|(batch, bucketing)| (*bucketing, bucketing.bound(batch.kind.rule())))
                .collect(),
        )
    }

    fn spent(&self) -> Upper {
        self.checks.iter().map(|check| check.1).sum()
    }

    /// Returns the part of the budget that is left.
    fn rest(&self, spent: Upper) -> f64 {
        1.0 - (spent.log2() - self.security.log2()).exp2()
    }

    fn exhausted(&self, spent: Upper) -> Error {
        let (level, spent) = (self.security, at_most(spent.log2()));
        Error::Usage(format!(
            "the bound {level} cannot be reached, because the other checks already leave a cheater {spent}; \
             choose a lower --security"
        ))
    }

    fn verified(&self, batches: Vec<(Bucketing, Upper)>) -> Result<Allocation, Error> {
        let total = self.spent() + batches.iter().map(|batch| batch.1).sum();
        if total.log2() > self.security.log2() {
            let (level, total) = (self.security, at_most(total.log2()));
            return Err(Error::Mismatch(format!(
                "with these parameters a cheater succeeds with probability up to {total}, but {level} was \
                 asked for"
            )));
        }
        Ok(Allocation { batches, total })
    }
}
