//! Chooses the commitment scheme and the correlated OTs, over which the protocol's steps are generic.

use brickwork_base::{Error, Security};
use brickwork_primitives::commit::{self, CommitmentLevel, CommitmentScheme as _, split};
use brickwork_primitives::ot::extension;

/// The commitment scheme.
pub type Commitments = split::Split;

/// The sender of the commitments, which recomputes committed values of stock.
pub(super) type CommitmentSender = <Commitments as commit::CommitmentScheme>::Sender;

/// The correlated OTs at the garbler, which has the offset.
pub(super) type CotSender = extension::Sender;

/// The correlated OTs at the evaluator, which has the choice bits.
pub(super) type CotReceiver = extension::Receiver;

/// Returns the level of the commitments for a security: its code, and the words of a share.
///
/// # Errors
/// [`Error::Usage`] if no level has this security.
pub(super) fn level(security: impl Into<Security>) -> Result<CommitmentLevel, Error> {
    let security = security.into();
    Commitments::level(security.level()).ok_or_else(|| {
        Error::Usage(match security.is_share() {
            true => format!(
                "no error-correcting code reaches {security}; choose a lower --security or fewer lanes"
            ),
            false => format!("a security of {} bits is not offered; choose 40, 64 or 80", security.bits()),
        })
    })
}
