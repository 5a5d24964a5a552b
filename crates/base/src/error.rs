//! The errors of the library, by the party or the thing that is at fault.

use thiserror::Error;

use crate::stop::Stopped;

/// The reason why a call failed. The command line maps each kind to an exit code.
#[derive(Debug, Error)]
pub enum Error {
    /// The peer broke the protocol. Nothing that was derived from this session's secrets may be used again.
    #[error("the peer cheated: {0}")]
    Peer(#[from] Cheat),
    /// The connection failed or the peer went away.
    #[error("connection: {0}")]
    Io(#[from] std::io::Error),
    /// The peers do not agree on version, parameters or program.
    #[error("the peers do not agree: {0}")]
    Mismatch(String),
    /// The peer refused in its first message. No run has begun, and nothing that depends on a secret was
    /// sent.
    #[error("the peers do not agree: the peer refuses: {0}")]
    Refused(String),
    /// A program, an input or a file is malformed or does not fit.
    #[error("{0}")]
    Input(String),
    /// The caller asked for something that does not exist or does not fit.
    #[error("{0}")]
    Usage(String),
    /// A request is larger than a program or a session can be.
    #[error("{0}")]
    Limit(String),
    /// The stock lacks something, or cannot be trusted any more.
    #[error("stock: {0}")]
    Stock(String),
    /// A part of a store is missing, such as its index. Nothing was changed.
    #[error("stock: {0}")]
    Incomplete(String),
    /// The parties' stores do not belong together. Nothing was burned.
    #[error("stock: {0}")]
    Strangers(Strangers),
    /// Another session of this process, or of the peer's, uses the requested stock. Nothing was taken.
    #[error("stock: {0}")]
    Busy(String),
    /// The peer has made too many failed attempts, so no more stock is made until the user allows it.
    #[error("stock: {0}")]
    Vain(String),
    /// Memory, disk, threads or randomness ran out.
    #[error("{0}")]
    Resource(String),
}

/// Two stores that do not belong together. Nothing was burned, and nothing written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strangers {
    /// The pair to which this party's store belongs.
    pub mine: Option<[u8; 32]>,
    /// The pair to which the peer's store belongs, according to the peer.
    pub theirs: Option<[u8; 32]>,
}

/// Shortens an identifier, for people.
pub fn short(id: &[u8; 32]) -> String {
    id[..6].iter().map(|byte| format!("{byte:02x}")).collect()
}

impl std::fmt::Display for Strangers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kept = "nothing was burned or changed in either store";
        match (self.mine.map(|id| short(&id)), self.theirs.map(|id| short(&id))) {
            (Some(mine), Some(theirs)) => {
                write!(
                    f,
                    "this store belongs to the pair of stores {mine}, but the peer's store belongs to \
                     the pair {theirs}; {kept}"
                )
            }
            (None, Some(theirs)) => write!(
                f,
                "the peer's store has stock for this party (pair of stores {theirs}), but this store has no \
                 stock for that peer; {kept}"
            ),
            (Some(mine), None) => write!(
                f,
                "this store has stock for the peer (pair of stores {mine}), but the peer's store has no \
                 stock for this party; {kept}"
            ),
            (None, None) => {
                write!(
                    f,
                    "the two stores have no stock for each other in these roles, but one of them has stock \
                     for another peer or role; were the folders of two stores exchanged? {kept}"
                )
            }
        }
    }
}

/// The progress of a run at this party when its connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RunStanding {
    /// The phase that was running, by the name that reports give it.
    pub phase: &'static str,
    /// True if this party's input was sent: the peer cannot read it, but can compute with it.
    pub input_left: bool,
    /// True if the peer may have its outputs.
    pub peer_may_have_outputs: bool,
    /// True if the peer could already see, before this party, that a check would fail. Then a cheater's abort
    /// cannot be distinguished from an accident, so another run gives a cheater another attempt.
    pub deniable: bool,
}

/// A connection that ended within a run.
#[derive(Debug)]
struct Broken {
    why: std::io::Error,
    standing: RunStanding,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RunStanding { phase, input_left, peer_may_have_outputs, deniable } = self.standing;
        let sent = if input_left { "was sent" } else { "was not sent" };
        let has = if peer_may_have_outputs { "may have" } else { "does not have" };
        write!(f, "{}, in phase {phase}; this party's input {sent}; the peer {has} its outputs", self.why)?;
        if deniable {
            f.write_str("; in this phase, a cheating peer already knows whether a check would catch it")?;
        }
        Ok(())
    }
}

impl std::error::Error for Broken {}

impl From<Strangers> for Error {
    fn from(strangers: Strangers) -> Self {
        Error::Strangers(strangers)
    }
}

impl Error {
    /// Adds the progress of the run to the error of a connection that ended. A stop that this party
    /// requested, and other errors, stay unchanged.
    #[must_use]
    pub fn at(self, standing: RunStanding) -> Self {
        match self {
            Error::Io(why)
                if !why.get_ref().is_some_and(|inner| inner.is::<Stopped>() || inner.is::<Broken>()) =>
            {
                Error::Io(std::io::Error::new(why.kind(), Broken { why, standing }))
            }
            other => other,
        }
    }

    /// Returns the progress of the run, if the error is the end of a run's connection.
    pub fn standing(&self) -> Option<RunStanding> {
        match self {
            Error::Io(why) => why.get_ref()?.downcast_ref().map(|broken: &Broken| broken.standing),
            _ => None,
        }
    }

    /// Returns whether the peer may have ended the connection to hide its cheat. Then the risk of another run
    /// is added to the risk of this run.
    pub fn is_deniable(&self) -> bool {
        self.standing().is_some_and(|standing| standing.deniable)
    }

    /// Returns whether the error says that the peer failed this check.
    pub fn is_cheat(&self, check: impl Into<Cheat>) -> bool {
        matches!(self, Error::Peer(cheat) if *cheat == check.into())
    }
}

/// A check that the peer failed. Each part of the project, and each protocol, has an enum of its checks,
/// which [`cheats!`](crate::cheats) defines; this type can hold any of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Cheat {
    part: &'static str,
    check: &'static str,
    says: &'static str,
}

impl Cheat {
    /// Names a check of a part; `says` is its description for people.
    pub const fn new(part: &'static str, check: &'static str, says: &'static str) -> Self {
        Cheat { part, check, says }
    }

    /// Returns the part to which the check belongs.
    pub fn part(&self) -> &'static str {
        self.part
    }

    /// Returns the name of the check: a variant of its part's enum.
    pub fn check(&self) -> &'static str {
        self.check
    }
}

impl std::fmt::Display for Cheat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.says)
    }
}

impl std::fmt::Debug for Cheat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::{}", self.part, self.check)
    }
}

impl std::error::Error for Cheat {}

/// The text of a check: a sentence of its own, or a check that a lower part defines.
pub trait Says {
    /// Returns the check with this name in this part.
    fn cheat(self, part: &'static str, check: &'static str) -> Cheat;
}

impl Says for &'static str {
    fn cheat(self, part: &'static str, check: &'static str) -> Cheat {
        Cheat::new(part, check, self)
    }
}

/// Defines the enum of all checks of a part or of a protocol. Each check has a sentence, or refers to a check
/// of a lower part.
#[macro_export]
macro_rules! cheats {
    (
        $(#[$meta:meta])* $vis:vis enum $name:ident of $part:literal {
            $($(#[$doc:meta])* $check:ident = $says:expr,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name {
            $($(#[$doc])* $check,)*
        }

        impl $name {
            /// All checks.
            pub const ALL: &'static [$name] = &[$($name::$check),*];

            /// Returns the variant of a check, if it belongs to this enum.
            pub fn of(cheat: $crate::Cheat) -> Option<Self> {
                Self::ALL.iter().copied().find(|&check| cheat == check)
            }
        }

        impl From<$name> for $crate::Cheat {
            fn from(check: $name) -> Self {
                match check {
                    $($name::$check => $crate::error::Says::cheat($says, $part, stringify!($check)),)*
                }
            }
        }

        impl From<$name> for $crate::Error {
            fn from(check: $name) -> Self {
                $crate::Error::Peer(check.into())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::Cheat::from(*self).fmt(f)
            }
        }

        impl PartialEq<$name> for $crate::Cheat {
            fn eq(&self, check: &$name) -> bool {
                *self == $crate::Cheat::from(*check)
            }
        }

        impl $crate::error::Says for $name {
            fn cheat(self, _: &'static str, _: &'static str) -> $crate::Cheat {
                self.into()
            }
        }
    };
}

cheats! {
    /// Faults that any message of a cheater can have.
    pub enum Malformed of "messages" {
        /// A message that is not expected at this point, or has a length that the protocol does not allow.
        UnexpectedMessage = "a message is out of order or has the wrong length",
    }
}
