//! The commitment scheme and the OTs of the protocol. The protocol's steps are generic over the commitment
//! scheme; this module selects it.

use brickwork_base::Error;
use brickwork_primitives::commit::{self, CommitmentLevel, CommitmentScheme as _, split};
use brickwork_primitives::ot::extension;

pub(super) type Commitments = split::Split;

/// The garbler's sender of commitments, which also recomputes the commitments of a stock.
pub(super) type CommitmentSender = <Commitments as commit::CommitmentScheme>::Sender;

/// The garbler's correlated OTs: it chooses the offset.
pub(super) type CotSender = extension::Sender;

/// The evaluator's correlated OTs: it chooses the bits.
pub(super) type CotReceiver = extension::Receiver;

/// Returns the level of the commitments for this security.
///
/// # Errors
/// [`Error::Usage`] if the commitments do not support this security.
pub(super) fn level(security: u32) -> Result<CommitmentLevel, Error> {
    Commitments::level(security).ok_or_else(|| {
        Error::Usage(format!("a security of {security} bits is not offered; choose 40, 64 or 80"))
    })
}
