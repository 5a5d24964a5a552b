//! Cut-and-choose: the number of garbled copies, the choice of the opened ones, and the resulting security of
//! the evaluator.
//!
//! The evaluator's challenge shuffles a batch of `L = N·B + c` copies. `c` copies are opened and checked, and
//! the others fill `N` buckets of `B`, one for each slot (Kolesnikov et al. 2017, section 4).
//! [`Bucketing::bound`] bounds the probability that a garbler succeeds with bad copies. [`Budget`] chooses
//! the bucketings of a session so that all failures together stay below `2^-s`. [`BatchChallenge`] makes the
//! random choice.

mod bound;
mod bucketing;
mod budget;
mod challenge;
mod estimate;
mod known;
mod search;
mod upper;

pub use bucketing::{BucketRule, Bucketing, Detection};
pub use budget::{Allocation, BatchKind, BatchSpec, Budget};
pub use challenge::BatchChallenge;
pub use known::KnownBounds;
pub use search::{alternatives, cheapest, fewest_copies};
pub use upper::Upper;

#[cfg(test)]
mod tests;
