//! The FJNT16 commitments as a [`CommitmentScheme`](crate::commit::Scheme).

use super::{Receiver, Sender};
use crate::commit::code::BinaryCode;
use crate::commit::rows::DIMENSION;
use crate::commit::scheme::{CommitmentLevel, CommitmentScheme};

/// The commitments of FJNT16: seeds, a code, and watch bits.
pub struct Split;

impl CommitmentScheme for Split {
    const NAME: &'static str = "split";

    type Sender = Sender;
    type Receiver = Receiver;

    fn level(security: u32) -> Option<CommitmentLevel> {
        BinaryCode::for_security(security).map(|code| CommitmentLevel {
            code: [code.length(), DIMENSION, code.distance() as usize],
            ots: code.length(),
            random_bits: code.parity_bits(),
            chosen_bits: code.length(),
            words: code.words(),
            binding_log2: -f64::from(code.distance()),
            misses: f64::from(4 * code.distance() + code.length() as u32),
        })
    }
}
