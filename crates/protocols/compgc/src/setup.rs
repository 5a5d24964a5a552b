//! Crossing 1: the data of a session and of its program.

use crate::layout::Layout;
use crate::report::CompGc;
use brickwork_base::Error;
use brickwork_primitives::garbling::Schedule;
use brickwork_primitives::ot::extension;
use brickwork_protocol::stock::ots::OtEnd;
use brickwork_protocol::{Digests, Metered, PlainSession, Terms};

/// The schedule of each used component. There are none in a session that makes stock.
pub type UsedSchedules = Vec<Option<Schedule>>;

/// The garbler. The offset of its OTs, R in the paper, is also the offset of every wire of every component.
pub(super) type Garbler = PlainSession<extension::Sender, UsedSchedules>;
pub(super) type Evaluator = PlainSession<extension::Receiver, UsedSchedules>;

/// Hashes the program and the name of its linking. The hash has a domain separator of its own.
pub(super) fn digest(layout: &Layout) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 compgc program");
    hasher.update(&layout.program.digest()).update(layout.linking.name().as_bytes());
    *hasher.finalize().as_bytes()
}

pub(super) fn schedules(layout: &Layout) -> UsedSchedules {
    let used = layout.program.slots_by_component().into_iter().map(|slots| slots > 0);
    let components = layout.program.components().iter().zip(used);
    components.map(|(component, used)| used.then(|| Schedule::new(&component.circuit))).collect()
}

/// Sets up the session of a run. Both parties must agree on the program and its linking.
pub(super) fn run<C: OtEnd>(
    run: Metered,
    terms: &Terms,
    layout: &Layout,
) -> Result<PlainSession<C, UsedSchedules>, Error> {
    let digests = Digests { stock: false, program: digest(layout), parameters: [0; 32] };
    PlainSession::set_up::<CompGc>(run, terms, &digests, || schedules(layout))
}
