//! Cut-and-choose: how many copies to garble, which of them to open, and how sure that makes the evaluator.
//!
//! A batch of `L = N·B + c` copies is shuffled by the evaluator's challenge; `c` copies are opened and
//! checked, the others fill `N` buckets of `B`, one a slot (Kolesnikov et al. 2017, section 4).
//! [`Bucketing::bound`] says with which probability a garbler gets away with bad copies, [`Budget`] chooses
//! the bucketings of a session so that everything that can go wrong in it, taken together, stays below
//! `2^-s`, and [`Challenge`] makes the choice itself.

mod bound;
mod bucketing;
mod budget;
mod challenge;
mod estimate;
mod known;
mod search;
mod upper;

pub use bucketing::{Bucketing, Detection, Rule};
pub use budget::{Allocation, BatchKind, BatchSpec, Budget};
pub use challenge::Challenge;
pub use known::KnownBounds;
pub use search::{alternatives, cheapest, fewest_copies};
pub use upper::Upper;

#[cfg(test)]
mod tests;
