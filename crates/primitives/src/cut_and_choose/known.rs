//! A cache of bounds.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use super::Upper;

/// The largest number of cached bounds. The limit is needed because peers may propose many bucketings.
const MOST: usize = 1 << 10;

/// A cache of bounds, because computing a bound is slow and many programs need the same one.
#[derive(Debug)]
pub struct KnownBounds<K>(Mutex<HashMap<K, Upper>>);

impl<K> Default for KnownBounds<K> {
    fn default() -> Self {
        KnownBounds(Mutex::default())
    }
}

impl<K: Eq + Hash> KnownBounds<K> {
    /// Returns the bound of this bucketing, and computes it with `bound` if it is not in the cache. The cache
    /// is not locked during the computation.
    pub fn of(&self, cut: K, bound: impl FnOnce(&K) -> Upper) -> Upper {
        if let Some(&known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&cut) {
            return known;
        }
        let bound = bound(&cut);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MOST {
            known.insert(cut, bound);
        }
        bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each bound is computed once while there is room, and the cache does not grow beyond its limit.
    #[test]
    fn bounds_are_remembered_and_not_without_limit() {
        let known = KnownBounds::<usize>::default();
        let mut computed = 0;
        for cut in (0..2 * MOST).chain(0..2 * MOST) {
            let bound = known.of(cut, |&cut| {
                computed += 1;
                Upper::integer(cut as u64 + 1)
            });
            assert_eq!(bound.log2(), Upper::integer(cut as u64 + 1).log2());
        }
        assert_eq!((computed, known.0.lock().unwrap().len()), (3 * MOST, MOST));
    }
}
