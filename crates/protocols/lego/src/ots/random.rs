//! Unused OTs of random choices: one for each of E's input wires, and then those that mask combinations.

use crate::instance::{CotReceiver, CotSender};
use brickwork_base::Error;
use brickwork_base::random::Rng;
use brickwork_kernels::SecretBlocks;
use brickwork_primitives::Labels;
use brickwork_primitives::ot::{CotReceiver as _, CotSender as _};
use brickwork_protocol::Metered;

/// The garbler's labels of unused OTs. Those that mask combinations come last.
pub(crate) struct GarblerRandomOts {
    pub(super) labels: Labels,
    pub(super) binding: usize,
}

impl GarblerRandomOts {
    /// Receives and checks the rows for `count` OTs and `binding` masking OTs.
    pub fn draw(run: &mut Metered, cot: &mut CotSender, count: usize, binding: usize) -> Result<Self, Error> {
        run.phase("prepare");
        Ok(GarblerRandomOts { labels: cot.random(&mut run.channel, count + binding)?, binding })
    }
}

/// The evaluator's choices and labels of unused OTs. Those that mask combinations come last.
pub(crate) struct EvaluatorRandomOts {
    pub(super) choices: SecretBlocks<u8>,
    pub(super) labels: Labels,
    pub(super) binding: usize,
}

impl EvaluatorRandomOts {
    /// Sends the rows for `count` OTs of random choices and `binding` masking OTs.
    pub fn draw(
        run: &mut Metered,
        cot: &mut CotReceiver,
        rng: &mut Rng,
        count: usize,
        binding: usize,
    ) -> Result<Self, Error> {
        run.phase("prepare");
        let (choices, labels) = cot.random(&mut run.channel, rng, count + binding)?;
        Ok(EvaluatorRandomOts { choices, labels, binding })
    }
}
