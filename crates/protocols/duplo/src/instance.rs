//! The instances that the protocol is made with. Its steps are written for any commitment scheme and any
//! correlated OTs; here stands which ones a session has.

use brickwork_base::{Error, Security};
use brickwork_primitives::commit::{self, Level, Scheme as _, split};
use brickwork_primitives::ot::extension;

/// The commitments.
pub type Commitments = split::Split;

/// The garbler's commitments, which it makes again of what a stock keeps.
pub(super) type CommitmentSender = <Commitments as commit::Scheme>::Sender;

/// The correlated OTs of the party that chooses the offset: the garbler.
pub(super) type CotSender = extension::Sender;

/// The correlated OTs of the party that chooses the bits: the evaluator.
pub(super) type CotReceiver = extension::Receiver;

/// Returns the level of the commitments, its code and the words of a share, for this security.
///
/// # Errors
/// [`Error::Usage`] if there is no such level.
pub(super) fn level(security: impl Into<Security>) -> Result<Level, Error> {
    let security = security.into();
    Commitments::level(security.level()).ok_or_else(|| {
        Error::Usage(match security.is_share() {
            true => format!("there is no code for {security}; take a lower --security or fewer lanes"),
            false => format!("a security of {} bits is not offered; choose 40, 64 or 80", security.bits()),
        })
    })
}
