//! The instances that the protocol is made with. Its steps are written for any commitment scheme; here stands
//! which one a session has, and which correlated OTs.

use brickwork_base::Error;
use brickwork_primitives::commit::{self, Level, Scheme as _, split};
use brickwork_primitives::ot::extension;

/// The commitments.
pub(super) type Commitments = split::Split;

/// The garbler's commitments, which it computes again for items of a stock.
pub(super) type CommitmentSender = <Commitments as commit::Scheme>::Sender;

/// The correlated OTs of the party that chooses the offset: the garbler.
pub(super) type CotSender = extension::Sender;

/// The correlated OTs of the party that chooses the bits: the evaluator.
pub(super) type CotReceiver = extension::Receiver;

/// Returns the level of the commitments for this security.
///
/// # Errors
/// [`Error::Usage`] if there is no such level.
pub(super) fn level(security: u32) -> Result<Level, Error> {
    Commitments::level(security).ok_or_else(|| {
        Error::Usage(format!("a security of {security} bits is not offered; choose 40, 64 or 80"))
    })
}
