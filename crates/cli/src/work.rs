//! What a party works on, but for its input: the flags that say so, and what they come to.

use std::sync::Arc;

use brickwork::circuit::{Party, Program};
use brickwork::session::{self, Job};
use brickwork::wire::tls::PublicKey;

use crate::arguments::{Choice, LineArguments, Parameters, Resources};
use crate::cut::Wish;
use crate::origin::Origin;
use crate::resources;
use crate::store::StoreArguments;

/// The flags that say what a run takes and how it is done.
#[derive(Clone, Copy)]
pub struct Flags<'a> {
    pub parameters: &'a Parameters,
    pub resources: &'a Resources,
    pub choice: &'a Choice,
    pub cut: &'a Wish,
    pub line: &'a LineArguments,
    pub stock: &'a StoreArguments,
}

/// What a party works on, but for its input.
pub struct Work<'a> {
    pub party: Party,
    pub flags: Flags<'a>,
    pub origin: Origin<'a>,
    pub job: Job,
    /// What is free or allowed.
    pub memory: Option<u64>,
}

impl<'a> Work<'a> {
    /// What a party works on that has these flags and keys: `program`, which the protocol makes of what the
    /// file gives.
    pub fn new(
        party: Party,
        flags: Flags<'a>,
        origin: Origin<'a>,
        program: Program,
        own: PublicKey,
        peer: PublicKey,
    ) -> Self {
        let keys = match party {
            Party::Garbler => [own, peer],
            Party::Evaluator => [peer, own],
        };
        let job = Job {
            program: Arc::new(program),
            security: flags.parameters.security(),
            threads: flags.resources.threads(),
            table_memory: session::TABLE_MEMORY,
            identities: keys.map(PublicKey::to_bytes),
        };
        let memory = flags.resources.max_ram.or_else(resources::available_bytes);
        Work { party, flags, origin, job, memory }
    }

    /// How often the program is evaluated, if that was said.
    pub fn executions(&self) -> Option<u32> {
        self.flags.parameters.executions.executions
    }
}
