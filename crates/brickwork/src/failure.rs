//! The error of the library: its kind, a message, and a hint about the remedy.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use brickwork_base::stop::Stopped;
use brickwork_base::{Cheat, Error as ProtocolError, RunStanding};
use brickwork_lang::Diagnostics;
use brickwork_report::words::plural;
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::damage::Verified;
use crate::jobs::JobReport;
use crate::system;

/// The kind of an error, named after the party or the thing that is at fault.
///
/// ```
/// use brickwork::{ErrorKind, Program};
///
/// let error = Program::load("no/such/file.wir").unwrap_err();
/// assert_eq!((error.kind(), ErrorKind::Input.exit_code()), (ErrorKind::Input, 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// This machine: memory, disk, threads, or a fault of the library.
    Machine,
    /// The caller asked for something that does not exist or does not fit.
    Usage,
    /// A program, a value, a key or a file is malformed, or does not fit the others.
    Input,
    /// The connection to the peer failed, or the peer is absent, has gone away, or has an unknown key.
    Network,
    /// The peer sent a message that the protocol forbids, or failed a check.
    Peer,
    /// The stock is exhausted, refused or damaged.
    Stock,
    /// The parties differ in version, program, parameters or roles.
    Mismatch,
}

impl ErrorKind {
    /// All kinds, by their exit codes.
    pub const ALL: [ErrorKind; 7] = [
        ErrorKind::Machine,
        ErrorKind::Usage,
        ErrorKind::Input,
        ErrorKind::Network,
        ErrorKind::Peer,
        ErrorKind::Stock,
        ErrorKind::Mismatch,
    ];

    /// Returns the exit code of a command that ends with an error of this kind: 1 to 7.
    pub const fn exit_code(self) -> u8 {
        match self {
            ErrorKind::Machine => 1,
            ErrorKind::Usage => 2,
            ErrorKind::Input => 3,
            ErrorKind::Network => 4,
            ErrorKind::Peer => 5,
            ErrorKind::Stock => 6,
            ErrorKind::Mismatch => 7,
        }
    }
}

/// An error of the library. Neither message nor hint repeats a secret.
///
/// ```
/// use brickwork::{ErrorKind, Program};
///
/// let error = Program::from_source("bad.wir", "this is no program").unwrap_err();
/// assert_eq!((error.kind(), error.exit_code()), (ErrorKind::Input, 3));
/// assert!(!error.hint().is_empty());
/// ```
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Cow<'static, str>,
    cause: Option<Box<Cause>>,
}

/// Details of an error that its text does not contain.
#[derive(Debug)]
enum Cause {
    /// The peer failed this check.
    Check(Cheat),
    /// The connection ended; this is how far the run had come.
    Ended(RunStanding),
    /// The errors of a source that does not compile.
    Source(Diagnostics),
    /// The items of a store that cannot be read.
    Damage(Verified),
    /// The state of a job that is not complete.
    Job(JobReport),
}

impl Error {
    /// Makes an error of this kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>, hint: impl Into<Cow<'static, str>>) -> Self {
        Error { kind, message: message.into(), hint: hint.into(), cause: None }
    }

    /// Makes an error about a wrong use.
    pub fn usage(message: impl Into<String>, hint: impl Into<Cow<'static, str>>) -> Self {
        Error::new(ErrorKind::Usage, message, hint)
    }

    /// Makes an error about an input.
    pub fn input(message: impl Into<String>, hint: impl Into<Cow<'static, str>>) -> Self {
        Error::new(ErrorKind::Input, message, hint)
    }

    /// Makes an error about this machine.
    pub fn machine(message: impl Into<String>, hint: impl Into<Cow<'static, str>>) -> Self {
        Error::new(ErrorKind::Machine, message, hint)
    }

    /// Makes an error about a file that cannot be written.
    pub fn cannot_write(path: &Path, why: &io::Error) -> Self {
        let (what, hint) = system::explained(why);
        Error::machine(format!("cannot write {}: {what}", path.display()), hint)
    }

    /// Makes an error about an input that cannot be read. The name is that of a file, or `stdin`.
    pub fn cannot_read(name: &str, why: &io::Error) -> Self {
        let (what, hint) = system::explained(why);
        Error::input(format!("cannot read {name}: {what}"), hint)
    }

    /// Makes an error about a program that cannot be started.
    pub fn cannot_start(program: &str, why: &io::Error) -> Self {
        let (what, hint) = system::explained(why);
        Error::machine(format!("cannot start {program}: {what}"), hint)
    }

    /// Makes an error for work that was stopped before it was done.
    pub fn stopped(stopped: Stopped) -> Self {
        ProtocolError::Io(stopped.into()).into()
    }

    /// Makes an error for a state that must never occur: a fault of the library.
    pub fn fault(message: impl Into<String>) -> Self {
        Error::machine(
            message,
            "this is a fault of brickwork: please report it, with the command and its whole output",
        )
    }

    /// Makes an error for a source that does not compile. The message and the hint are those of its first
    /// error.
    pub fn source(message: impl Into<String>, hint: impl Into<String>, diagnostics: Diagnostics) -> Self {
        Error::input(message, hint.into()).because(Cause::Source(diagnostics))
    }

    /// Makes an error for a store with items that cannot be read.
    pub(crate) fn damaged(found: Verified) -> Self {
        let first = found.damaged.first().map_or("", |items| items.why.as_str());
        let others = match found.damaged.len().saturating_sub(1) {
            0 => String::new(),
            more => format!("; and {}", plural(more as u64, "more such place")),
        };
        let hint = "restore segments that were moved or exchanged; or let `brickwork stock verify --repair` \
                    give up the items that cannot be read, so that programs can use the rest";
        Error::new(ErrorKind::Stock, format!("{first}{others}"), hint).because(Cause::Damage(found))
    }

    /// Adds the report of a job that is not complete.
    pub(crate) fn with_job(self, report: JobReport) -> Self {
        self.because(Cause::Job(report))
    }

    fn because(self, cause: Cause) -> Self {
        Error { cause: Some(Box::new(cause)), ..self }
    }

    /// Replaces the hint, for cases where more is known than the kind of the error.
    pub fn advise(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Adds the place where the error happened.
    pub fn within(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the exit code of a command that ends with this error.
    pub fn exit_code(&self) -> u8 {
        self.kind.exit_code()
    }

    /// Returns the message without the hint.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the hint: a remedy for the error.
    pub fn hint(&self) -> &str {
        &self.hint
    }

    /// Returns the check that the peer failed, if it cheated.
    pub fn check(&self) -> Option<Cheat> {
        match self.cause.as_deref() {
            Some(Cause::Check(check)) => Some(*check),
            _ => None,
        }
    }

    /// Returns the result of reading a store, if some of its items cannot be read.
    #[doc(hidden)]
    pub fn damage(&self) -> Option<&Verified> {
        match self.cause.as_deref() {
            Some(Cause::Damage(found)) => Some(found),
            _ => None,
        }
    }

    /// Returns how far the run had come, if its connection ended.
    pub fn standing(&self) -> Option<&RunStanding> {
        match self.cause.as_deref() {
            Some(Cause::Ended(standing)) => Some(standing),
            _ => None,
        }
    }

    /// Returns the report of the job, if it is not complete.
    pub fn job(&self) -> Option<&JobReport> {
        match self.cause.as_deref() {
            Some(Cause::Job(report)) => Some(report),
            _ => None,
        }
    }

    /// Returns all errors and warnings of a source that does not compile.
    pub fn diagnostics(&self) -> Option<&Diagnostics> {
        match self.cause.as_deref() {
            Some(Cause::Source(diagnostics)) => Some(diagnostics),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

impl std::error::Error for Error {}

/// Writes the object under `error` of `--json`: the exit code, the message, the hint, and the details that
/// are known.
impl Serialize for Error {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(None)?;
        fields.serialize_entry("code", &self.exit_code())?;
        fields.serialize_entry("message", self.message())?;
        fields.serialize_entry("hint", self.hint())?;
        match self.cause.as_deref() {
            Some(Cause::Source(diagnostics)) => {
                fields.serialize_entry("diagnostics", &diagnostics.records())?;
            }
            Some(Cause::Check(cheat)) => {
                let check = BTreeMap::from([("part", cheat.part()), ("name", cheat.check())]);
                fields.serialize_entry("check", &check)?;
            }
            Some(Cause::Ended(standing)) => fields.serialize_entry("standing", standing)?,
            Some(Cause::Damage(found)) => fields.serialize_entry("damaged", &found.damaged)?,
            Some(Cause::Job(report)) => fields.serialize_entry("stands", report)?,
            None => {}
        }
        fields.end()
    }
}

impl From<ProtocolError> for Error {
    fn from(error: ProtocolError) -> Self {
        let (kind, hint) = match &error {
            ProtocolError::Peer(_) => (
                ErrorKind::Peer,
                "do not run again with this peer before you know the cause; the items that this session \
                 used are never used again",
            ),
            ProtocolError::Io(_) if error.is_deniable() => (ErrorKind::Network, DENIABLE_HINT),
            ProtocolError::Io(e) => (ErrorKind::Network, network_hint(e.kind())),
            ProtocolError::Mismatch(_) | ProtocolError::Refused(_) => (
                ErrorKind::Mismatch,
                "both parties need the same version, program and parameters; one must be the garbler and \
                 the other the evaluator",
            ),
            ProtocolError::Input(_) => {
                (ErrorKind::Input, "`brickwork info FILE` shows what a program expects")
            }
            ProtocolError::Usage(_) => (
                ErrorKind::Usage,
                "correct the argument that the message names; `brickwork COMMAND --help` explains each flag",
            ),
            ProtocolError::Limit(_) => (
                ErrorKind::Usage,
                "ask for less at a time (fewer --executions, or a lower count for `preprocess`) and run \
                 more often, or use a smaller program",
            ),
            ProtocolError::Incomplete(_) => (
                ErrorKind::Stock,
                "restore the missing file from the place where it was moved, or from a copy; the command \
                 removed nothing. If the file is lost, name another folder, and burn the stock that the \
                 peer still has",
            ),
            ProtocolError::Strangers(_) => (
                ErrorKind::Stock,
                "give --store the two folders of one pair; `brickwork stock ls` shows its name on both \
                 sides. To begin with new stores, burn the old stock with `brickwork stock burn` on each \
                 side that has some",
            ),
            ProtocolError::Stock(_) => (
                ErrorKind::Stock,
                "`brickwork stock ls` shows the stock; run `brickwork preprocess` on both sides to make more",
            ),
            ProtocolError::Busy(_) => (
                ErrorKind::Stock,
                "wait until the other session with this peer has ended, and run again; nothing was taken or \
                 burned",
            ),
            ProtocolError::Vain(_) => (
                ErrorKind::Stock,
                "find out why connections broke or checks failed; if the peer did not intend this, run \
                 `brickwork stock forgive --all` on each side. Existing stock can be used in any case",
            ),
            ProtocolError::Resource(_) => (
                ErrorKind::Machine,
                "free the resource that the message names, or use a smaller program, fewer --executions or \
                 fewer --threads",
            ),
        };
        let translated = Error::new(kind, system::translated(&error.to_string()), hint);
        match (&error, error.standing()) {
            (ProtocolError::Peer(cheat), _) => translated.because(Cause::Check(*cheat)),
            (_, Some(standing)) => translated.because(Cause::Ended(standing)),
            _ => translated,
        }
    }
}

/// The hint if the peer may have gone away to hide a cheat that the next check would detect.
const DENIABLE_HINT: &str = "a bad connection causes this, and so does a peer that cheats until a check \
                             misses it. The bound holds for one run, and each run that ends like this adds \
                             the same risk: find out why the connection broke before you run again";

/// The hint if the connection ended without a message about the reason.
const BROKEN_HINT: &str = "the network failed, or the peer's process was killed; if the peer's output names \
                           another cause, look there";

fn network_hint(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::AddrInUse => "another program already listens at this port; choose another port",
        io::ErrorKind::AddrNotAvailable => {
            "--listen needs an address of this machine, or 0.0.0.0 for all its addresses"
        }
        io::ErrorKind::ConnectionRefused => {
            "start the listening side first, or raise --timeout; also check the address"
        }
        io::ErrorKind::PermissionDenied => {
            "on both sides, --peer must be the public key that the other party's `brickwork keygen` printed"
        }
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            "check that the peer still runs; if the connection is slow, raise --timeout"
        }
        io::ErrorKind::UnexpectedEof => "the peer closed the connection; the peer's own output says why",
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => BROKEN_HINT,
        io::ErrorKind::ConnectionAborted => "run again when both parties are ready",
        io::ErrorKind::InvalidData => "check the address; a machine between the parties may alter the data",
        _ => "check the address and the network",
    }
}
