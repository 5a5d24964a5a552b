//! Crossing 1: the data of a session and of its program.

use crate::layout::Layout;
use crate::report::SemiHonest;
use brickwork_base::Error;
use brickwork_circuit::Program;
use brickwork_primitives::garbling::Schedule;
use brickwork_primitives::ot::extension;
use brickwork_protocol::stock::ots::OtEnd;
use brickwork_protocol::{Digests, Metered, PlainSession, Terms};

/// The garbler. Its OTs and all wires have the same offset.
pub(super) type Garbler = PlainSession<extension::Sender, Components>;

pub(super) type Evaluator = PlainSession<extension::Receiver, Components>;

/// The data of a run for each component of its program.
#[derive(Default)]
pub struct Components {
    /// The schedule of each used component.
    pub schedules: Vec<Option<Schedule>>,
    /// The start of each component's hash keys. The list is empty until the garbler has drawn and sent the
    /// starts.
    pub starts: Vec<u128>,
    /// The number of garbled or evaluated slots of each component. Executions that are processed together
    /// count as one.
    pub visits: Vec<u32>,
}

impl Components {
    /// Makes the data for a program before its first slot.
    pub fn of(program: &Program) -> Self {
        let used = program.slots_by_component().into_iter().map(|slots| slots > 0);
        let components = program.components().iter().zip(used);
        let schedules: Vec<_> =
            components.map(|(component, used)| used.then(|| Schedule::new(&component.circuit))).collect();
        Components { visits: vec![0; schedules.len()], schedules, starts: Vec::new() }
    }
}

/// Returns the digest of this protocol, a program and its number of executions.
pub(super) fn digest(layout: &Layout) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 semi-honest program");
    hasher.update(&layout.program.digest()).update(&(layout.executions() as u64).to_le_bytes());
    *hasher.finalize().as_bytes()
}

/// Sets up the session of a run. Both parties must agree on the program and its number of executions.
pub(super) fn run<C: OtEnd>(
    run: Metered,
    terms: &Terms,
    layout: &Layout,
) -> Result<PlainSession<C, Components>, Error> {
    let digests = Digests { stock: false, program: digest(layout), parameters: [0; 32] };
    PlainSession::set_up::<SemiHonest>(run, terms, &digests, || Components::of(layout.program))
}
