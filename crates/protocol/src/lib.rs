//! The agreement of two parties before they start, and the report of a run.
#![forbid(unsafe_code)]

mod greeting;
mod metered;
mod plain;
mod protocol;
pub mod steps;
pub mod stock;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use brickwork_base::Security;
use brickwork_circuit::Program;

pub use brickwork_base::promise::{
    BatchPromise, Cheater, CheckSpent, CommitmentPromise, ItemKind, LinkingPromise, Model, Promise,
    TriplesPromise,
};
pub(crate) use greeting::exchange;
pub use greeting::{Answer, Digests, GREETING_BYTES, Greeting, OTHER_PROGRAM, agree, announce, confirm};
pub use metered::{BeforeExposing, Metered};
pub use plain::PlainSession;
pub use protocol::{Flight, PhaseReport, PhaseSpan, Report, SessionProtocol};

/// The version of all messages. Two parties must have the same.
pub const PROTOCOL_VERSION: u32 = 1;

/// Identifier of a session: a hash over both parties' nonces, their identities and everything they agree on.
pub type SessionId = [u8; 32];

/// Bytes of tables that an evaluator keeps in memory, unless the user chooses another limit
/// ([`Terms::table_memory`]).
pub const TABLE_MEMORY: u64 = 64 << 20;

/// The computation that both parties must agree on. If the peer has a different job, it is refused before any
/// secret is used.
#[derive(Clone)]
pub struct AgreedJob {
    /// The program, cut into components. Both parties have this cut. The garbler may propose another cut.
    pub program: Arc<Program>,
    /// Statistical security s in bits: 40, 64 or 80.
    pub security: u32,
    /// Threads that compute for this party, at least 1, besides the thread that communicates. If a
    /// [`Pool`](brickwork_base::pool::Pool) was entered, its threads compute instead. Not part of the
    /// agreement.
    pub threads: usize,
    /// The largest number of bytes of tables that the evaluator keeps in memory; more go to temporary files.
    /// Each protocol limits its other data that grows with the program in proportion. Not part of the
    /// agreement.
    pub table_memory: u64,
    /// The public keys of the garbler and the evaluator, as the transport authenticated them.
    pub identities: [[u8; 32]; 2],
    /// True if the base OTs use lattices instead of discrete logarithms.
    pub post_quantum: bool,
}

impl AgreedJob {
    /// Makes a job with one thread, with [`TABLE_MEMORY`], and with base OTs from discrete logarithms.
    pub fn new(program: Arc<Program>, security: u32, identities: [[u8; 32]; 2]) -> Self {
        AgreedJob {
            program,
            security,
            threads: 1,
            table_memory: TABLE_MEMORY,
            identities,
            post_quantum: false,
        }
    }

    /// Returns the terms: everything that the parties agree on except the program.
    pub fn terms(&self) -> Terms {
        Terms {
            security: self.security.into(),
            threads: self.threads,
            table_memory: self.table_memory,
            identities: self.identities,
            post_quantum: self.post_quantum,
        }
    }
}

/// Everything that both parties must agree on before they know which program they will run.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Statistical security: 2^-s with s = 40, 64 or 80, or a share of it.
    pub security: Security,
    /// Threads that compute for this party, at least 1, besides the thread that communicates. If a
    /// [`Pool`](brickwork_base::pool::Pool) was entered, its threads compute instead. Not part of the
    /// agreement.
    pub threads: usize,
    /// The largest number of bytes of tables that the evaluator keeps in memory; more go to temporary files.
    /// Each protocol limits its other data that grows with the program in proportion. Not part of the
    /// agreement.
    pub table_memory: u64,
    /// The public keys of the garbler and the evaluator, as the transport authenticated them.
    pub identities: [[u8; 32]; 2],
    /// True if the base OTs use lattices instead of discrete logarithms.
    pub post_quantum: bool,
}

/// Receives the progress of a run.
pub trait Observer: Send {
    /// Reports the session's identifier, as soon as both parties know it.
    fn met(&mut self, _: &SessionId) {}
    /// Reports that a phase begins, or continues after messages of other phases.
    fn phase(&mut self, name: &'static str);
    /// Reports that `done` of `total` bytes of all tables were sent or received; both numbers only grow
    /// during a run. `total` is 0 if it is not known.
    fn progress(&mut self, done: u64, total: u64);
    /// Reports that the party has its outputs; after this, it only closes the connection.
    fn finished(&mut self) {}
}

impl Observer for Box<dyn Observer> {
    fn met(&mut self, session: &SessionId) {
        (**self).met(session);
    }

    fn phase(&mut self, name: &'static str) {
        (**self).phase(name);
    }

    fn progress(&mut self, done: u64, total: u64) {
        (**self).progress(done, total);
    }

    fn finished(&mut self) {
        (**self).finished();
    }
}

/// An observer that ignores everything.
pub struct Unobserved;

impl Observer for Unobserved {
    fn phase(&mut self, _: &'static str) {}
    fn progress(&mut self, _: u64, _: u64) {}
}

/// The messages of the handshake.
pub mod msg {
    use brickwork_wire::Tag;

    /// Version, level, role, whether stock is used, digests of program, parameters and identities, and a
    /// nonce. Both parties send it at the same time.
    pub const HELLO: Tag = Tag(1);
    /// A digest of the next action. Both parties send it at the same time.
    pub const NEXT: Tag = Tag(2);
}
