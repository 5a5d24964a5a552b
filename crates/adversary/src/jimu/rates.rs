//! How often a garbler with a lie about symbols must end how.

use crate::sampler::choose;

/// Returns the probability with which all of `few` symbols that are drawn out of `n` lie among `of` named
/// ones.
pub(super) fn all_among(of: usize, n: usize, few: usize) -> f64 {
    choose(of as u32, few as u32) / choose(n as u32, few as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_among_others() {
        assert_eq!((all_among(3, 4, 1), all_among(2, 4, 2)), (0.75, 1.0 / 6.0));
    }
}
