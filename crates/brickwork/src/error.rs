//! What can go wrong, and whose fault it is.

use thiserror::Error;

/// Why a call failed. The command line maps each kind to an exit code.
#[derive(Debug, Error)]
pub enum Error {
    /// The peer broke the protocol. Whatever was derived from this session's secrets must not be used again.
    #[error("the peer cheated: {0}")]
    Peer(#[from] Cheat),
    /// The connection failed or the peer went away.
    #[error("connection: {0}")]
    Io(#[from] std::io::Error),
    /// The peers do not agree on version, parameters or program.
    #[error("the peers do not agree: {0}")]
    Mismatch(String),
    /// The peer said so in the place of its greeting: nothing has begun, and nothing that depends on a secret
    /// was sent.
    #[error("the peers do not agree: the peer refuses: {0}")]
    Refused(String),
    /// A program, an input or a file is not what it must be.
    #[error("{0}")]
    Input(String),
    /// The caller asked for something that does not exist or does not fit.
    #[error("{0}")]
    Usage(String),
    /// More at once than a program or a session can hold.
    #[error("{0}")]
    Limit(String),
    /// The stock does not hold what is asked for, or cannot be trusted any more.
    #[error("stock: {0}")]
    Stock(String),
    /// The parties' stores do not belong together. Nothing was burned.
    #[error("stock: {0}")]
    Strangers(crate::stock::Strangers),
    /// Memory, disk, threads or randomness ran out.
    #[error("{0}")]
    Resource(String),
}

/// A check of the protocol that the peer failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Cheat {
    /// A message out of its place, or of a length that the protocol does not allow.
    #[error("a message out of place or of the wrong length")]
    UnexpectedMessage,
    /// Base OT (Masny–Rindal 2019): a message holds an encoding of no point of the group.
    #[error("base OT: not a point of the group")]
    BaseOtPoint,
    /// Base OT (Masny–Rindal 2019): a message holds the identity, whose key everybody knows.
    #[error("base OT: the identity instead of a point")]
    BaseOtIdentity,
    /// OT extension (Roy 2022): the receiver's rows do not agree on its choices.
    #[error("OT extension: inconsistent choices")]
    OtExtension,
    /// Commitments (FJNT16): something that was sent as a commitment is none.
    #[error("commitments: a correction leaves the code")]
    Commitment,
    /// Commitments: an opened value is not the committed one (Open in appendix A).
    #[error("commitments: a value was opened that was not committed to")]
    Opening,
    /// Commitments: an indicator bit is not the committed one (section 5.1, decoding).
    #[error("commitments: an indicator bit was opened that was not committed to")]
    Indicator,
    /// VerWire: an opened offset whose lowest bit is 0.
    #[error("an offset ends in 0")]
    OffsetColour,
    /// GenSold: the sum of two offsets whose lowest bit is 1.
    #[error("the sum of two offsets ends in 1")]
    LinkColour,
    /// VerSub: an opened copy is no garbling of its component under the opened labels.
    #[error("an opened copy is garbled wrongly")]
    OpenedCopy,
    /// The tables of a chosen copy are not those that were hashed before the challenge.
    #[error("the tables of a copy changed after the challenge")]
    ChosenTables,
    /// VerKeyAuth: a checked key authenticator refuses a valid label.
    #[error("a checked key authenticator refuses its label")]
    KeyAuthenticator,
    /// VerInKeyAuth: a checked input authenticator is not what its offset makes it.
    #[error("a checked input authenticator does not authenticate itself")]
    InputAuthenticator,
    /// PreProcessOTINIT: the evaluator claims a label that the OT did not give it.
    #[error("the OT offset: a label that the OT did not give")]
    OtBinding,
    /// InputG, InputE: the authenticators refuse the label of an input.
    #[error("the label of an input is not valid")]
    InputLabel,
    /// EvKAs: no copy of a bucket gave a label that the authenticators accept.
    #[error("a bucket gives no valid label")]
    NoValidLabel,
    /// EvKAs: the authenticators accept a third label.
    #[error("three labels of one wire are accepted")]
    ThirdLabel,
    /// OutputG: the evaluator does not hold the labels of the garbler's outputs.
    #[error("forged labels of the garbler's outputs")]
    ForgedOutput,
}
