//! How large an iteration is, and how hard its LPN instance.

use std::sync::OnceLock;

use brickwork_base::Error;
use brickwork_kernels::CODE_ONES;

use crate::ot::lpn::Lpn;

/// OTs that hide the receiver's answer to the check.
pub(super) const CHECK: usize = 128;

/// The least cost of the best attack on an iteration, as base-2 logarithm: a run below it is refused.
pub const LEAST_BITS: f64 = 128.0;

/// Iterations that are made at once, at most.
const AT_ONCE: usize = 8;

/// An iteration: trees, each of which gives samples with one error, and the vector that the code multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Levels of a tree below its root.
    pub depth: usize,
    /// t: trees.
    pub trees: usize,
    /// k: OTs that are multiplied by the code, a power of two.
    pub dimension: usize,
}

/// The parameters of every honest run. Fewer than 2^128 guesses, at any cost of a guess, do not find samples
/// without errors that determine the unknown bits, or part of them. docs/protocols/ot.md has the cost of all
/// attacks, and the parameters of others.
pub const PARAMETERS: Parameters = Parameters { depth: 10, trees: 1024, dimension: 1 << 17 };

impl Parameters {
    /// Returns n: samples of LPN, OTs that an iteration makes.
    pub const fn samples(&self) -> usize {
        self.trees << self.depth
    }

    /// Returns the number of OTs that an iteration needs: the previous iteration keeps this many for it.
    pub const fn reserve(&self) -> usize {
        self.dimension + self.levels() + CHECK
    }

    /// Returns how many OTs an iteration gives besides.
    pub const fn yields(&self) -> usize {
        self.samples() - self.reserve()
    }

    /// Returns the number of iterations that are made together to have `count` OTs, if `left` are left: all
    /// but one take their OTs from these.
    ///
    /// # Panics
    /// If there are enough.
    pub const fn at_once(&self, left: usize, count: usize) -> usize {
        let (wanted, possible) = ((count - left).div_ceil(self.yields()), 1 + left / self.reserve());
        let most = if possible < AT_ONCE { possible } else { AT_ONCE };
        if wanted < most { wanted } else { most }
    }

    /// Returns how many OTs complete the trees: one for each level.
    pub const fn levels(&self) -> usize {
        self.trees * self.depth
    }

    /// Returns how many words are sent for it: one for each level but the first, which the OT gives itself.
    pub const fn corrections(&self) -> usize {
        self.trees * (self.depth - 1)
    }

    /// Returns the LPN instance of an iteration.
    pub fn lpn(&self) -> Lpn {
        let [dimension, blocks, block] = [self.dimension, self.trees, 1 << self.depth].map(|n| n as u64);
        Lpn { dimension, blocks, block, ones: Some(CODE_ONES as u64) }
    }

    /// Refuses an instance that is too easy.
    ///
    /// # Errors
    /// [`Error::Usage`] below [`LEAST_BITS`].
    pub(super) fn checked(&self, bits: f64) -> Result<(), Error> {
        if bits >= LEAST_BITS {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "the PCG's LPN instance has {bits:.1} bits of security, less than {LEAST_BITS}"
        )))
    }
}

/// Returns the base-2 logarithm of the cost of the best known attack on an iteration, which is estimated
/// once.
pub fn lpn_bits() -> f64 {
    static BITS: OnceLock<f64> = OnceLock::new();
    *BITS.get_or_init(|| PARAMETERS.lpn().bits())
}

/// Returns the base-2 logarithm of the probability that the check of an iteration cannot distinguish two
/// errors of one tree with different effects: 2^-128 for each pair of positions of each tree.
pub fn check_log2() -> f64 {
    (PARAMETERS.trees as f64).log2() + 2.0 * PARAMETERS.depth as f64 - 1.0 - 128.0
}

/// Returns the largest number of iterations for this many OTs.
pub fn iterations(ots: u64) -> u64 {
    ots.div_ceil(PARAMETERS.yields() as u64)
}
