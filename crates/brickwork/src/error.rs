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
    /// A program, an input or a file is not what it must be.
    #[error("{0}")]
    Input(String),
    /// The caller asked for something that does not exist or does not fit.
    #[error("{0}")]
    Usage(String),
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
}
