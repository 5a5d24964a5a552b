//! The size of an iteration, and the hardness of its LPN instance.

use std::sync::OnceLock;

use brickwork_base::Error;
use brickwork_kernels::CODE_ONES;

use crate::ot::lpn::Lpn;

/// The number of OTs that mask the receiver's answer in the check.
pub(super) const CHECK: usize = 128;

/// The least accepted cost of the best attack on an iteration, as base-2 logarithm.
pub const LEAST_BITS: f64 = 128.0;

/// The largest number of iterations that run at once.
const AT_ONCE: usize = 8;

/// The size of an iteration: its trees, each of which gives samples with one error, and the vector that is
/// multiplied by the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcgParameters {
    /// The levels of a tree below its root.
    pub depth: usize,
    /// t, the number of trees.
    pub trees: usize,
    /// k, the number of OTs that are multiplied by the code: a power of two.
    pub dimension: usize,
}

/// The parameters of every honest run. With these parameters, an attacker with 2^128 guesses does not find
/// error-free samples that determine the unknown bits or part of them, even if a guess costs nothing.
pub const PARAMETERS: PcgParameters = PcgParameters { depth: 10, trees: 1024, dimension: 1 << 17 };

impl PcgParameters {
    /// Returns n: the LPN samples, and the OTs that an iteration makes.
    pub const fn samples(&self) -> usize {
        self.trees << self.depth
    }

    /// Returns the number of OTs that an iteration needs, which the previous iteration reserves.
    pub const fn reserve(&self) -> usize {
        self.dimension + self.levels() + CHECK
    }

    /// Returns the number of OTs that an iteration yields in addition to the reserve.
    pub const fn yields(&self) -> usize {
        self.samples() - self.reserve()
    }

    /// Returns the number of iterations that must run at the same time for `count` OTs to be left, if `left`
    /// are left now. All except one of them take their OTs from those that are left.
    ///
    /// # Panics
    /// If `left` is at least `count`.
    pub const fn at_once(&self, left: usize, count: usize) -> usize {
        let (wanted, possible) = ((count - left).div_ceil(self.yields()), 1 + left / self.reserve());
        let most = if possible < AT_ONCE { possible } else { AT_ONCE };
        if wanted < most { wanted } else { most }
    }

    /// Returns the number of OTs that complete the trees: one for each level of each tree.
    pub const fn levels(&self) -> usize {
        self.trees * self.depth
    }

    /// Returns the number of corrections that the sender sends: one for each level of each tree except the
    /// first level.
    pub const fn corrections(&self) -> usize {
        self.trees * (self.depth - 1)
    }

    /// Returns the LPN instance of an iteration.
    pub fn lpn(&self) -> Lpn {
        let [dimension, blocks, block] = [self.dimension, self.trees, 1 << self.depth].map(|n| n as u64);
        Lpn { dimension, blocks, block, ones: Some(CODE_ONES as u64) }
    }

    /// Refuses an instance whose best attack costs too little.
    ///
    /// # Errors
    /// [`Error::Usage`] if `bits` is below [`LEAST_BITS`].
    pub(super) fn checked(&self, bits: f64) -> Result<(), Error> {
        if bits >= LEAST_BITS {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "the LPN instance of the PCG has only {bits:.1} bits of security, less than {LEAST_BITS}"
        )))
    }
}

/// Returns the base-2 logarithm of the cost of the best known attack on an iteration. The estimate is
/// computed once.
pub fn lpn_bits() -> f64 {
    static BITS: OnceLock<f64> = OnceLock::new();
    *BITS.get_or_init(|| PARAMETERS.lpn().bits())
}

/// Returns the base-2 logarithm of the probability that an iteration's check accepts two different errors in
/// a tree: 2^-128 for each pair of positions of each tree.
pub fn check_log2() -> f64 {
    (PARAMETERS.trees as f64).log2() + 2.0 * PARAMETERS.depth as f64 - 1.0 - 128.0
}

/// Returns the largest number of iterations that this many OTs can need.
pub fn iterations(ots: u64) -> u64 {
    ots.div_ceil(PARAMETERS.yields() as u64)
}
