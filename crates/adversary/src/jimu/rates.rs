//! The exact rates of endings for a garbler that lies about symbols.

use crate::sampler::choose;

/// Returns the probability that all of `few` symbols, drawn from n, are among `of` given symbols.
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
