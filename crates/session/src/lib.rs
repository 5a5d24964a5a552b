//! What the two parties agree on before they start, and what a run reports: shared by all protocols.
#![forbid(unsafe_code)]

mod greeting;
mod metered;
mod protocol;
pub mod steps;
pub mod stock;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use brickwork_base::Security;
use brickwork_circuit::Program;

pub use brickwork_base::promise::{
    Batch, Cheater, Commitments, ItemKind, Linking, Model, Promise, Spent, Triples,
};
pub(crate) use greeting::exchange;
pub use greeting::{
    Answer, Digests, GREETING_BYTES, Greeting, OTHER_PROGRAM, SessionId, agree, announce, confirm,
};
pub use metered::{BeforeExposing, Metered};
pub use protocol::{Flight, PhaseReport, Protocol, Report, Span};

/// Version of everything that two parties must have in common to understand each other.
pub const PROTOCOL_VERSION: u32 = 1;

/// Bytes of tables that an evaluator keeps in memory if the user says nothing else ([`Terms::table_memory`]).
pub const TABLE_MEMORY: u64 = 64 << 20;

/// The computation that both parties must agree on; a peer with another one is refused before anything secret
/// is used.
#[derive(Clone)]
pub struct Job {
    /// What is computed, in a cut that both parties have. The garbler may propose another one.
    pub program: Arc<Program>,
    /// Statistical security s in bits: 40, 64 or 80.
    pub security: u32,
    /// Threads that compute for this party, at least 1, besides the one that talks; if a
    /// [`Pool`](brickwork_base::pool::Pool) was entered, its threads do instead. Not part of the agreement.
    pub threads: usize,
    /// Most bytes of tables that the evaluator keeps in memory; more go to temporary files. A protocol says
    /// what else that grows with the program is held in proportion to it. Not part of the agreement.
    pub table_memory: u64,
    /// The public keys of the garbler and the evaluator, as the transport authenticated them.
    pub identities: [[u8; 32]; 2],
    /// Whether the base OTs rest on lattices instead of discrete logarithms.
    pub post_quantum: bool,
}

impl Job {
    /// Makes a job on one thread, with [`TABLE_MEMORY`] and base OTs that rest on discrete logarithms.
    pub fn new(program: Arc<Program>, security: u32, identities: [[u8; 32]; 2]) -> Self {
        Job { program, security, threads: 1, table_memory: TABLE_MEMORY, identities, post_quantum: false }
    }

    /// Returns the terms: all that the parties agree on apart from the program.
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

/// What both parties must agree on before it is known which program they will run.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Statistical security: all of 2^-s with s = 40, 64 or 80, or a share of it.
    pub security: Security,
    /// Threads that compute for this party, at least 1, besides the one that talks; if a
    /// [`Pool`](brickwork_base::pool::Pool) was entered, its threads do instead. Not part of the agreement.
    pub threads: usize,
    /// Most bytes of tables that the evaluator keeps in memory; more go to temporary files. A protocol says
    /// what else that grows with the program is held in proportion to it. Not part of the agreement.
    pub table_memory: u64,
    /// The public keys of the garbler and the evaluator, as the transport authenticated them.
    pub identities: [[u8; 32]; 2],
    /// Whether the base OTs rest on lattices instead of discrete logarithms.
    pub post_quantum: bool,
}

/// Is told how far a run is.
pub trait Observer: Send {
    /// Says that a phase begins, or goes on after messages of other phases.
    fn phase(&mut self, name: &'static str);
    /// Says that `done` of `total` bytes of all tables have passed: neither falls in a run. `total` is 0
    /// where it is not known.
    fn progress(&mut self, done: u64, total: u64);
    /// Says that the party has its outputs: what follows closes the connection.
    fn finished(&mut self) {}
}

impl Observer for Box<dyn Observer> {
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

/// An observer that looks away.
pub struct Unobserved;

impl Observer for Unobserved {
    fn phase(&mut self, _: &'static str) {}
    fn progress(&mut self, _: u64, _: u64) {}
}

/// The messages of the handshake.
pub mod msg {
    use brickwork_wire::Tag;

    /// Version, level, role, whether with stock, digests of program, parameters and identities, and a nonce.
    /// Both parties send it at once.
    pub const HELLO: Tag = Tag(1);
    /// A digest of what is done next. Both parties send it at once.
    pub const NEXT: Tag = Tag(2);
}
