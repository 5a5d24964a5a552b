//! Garbles a circuit gate by gate.

use brickwork_kernels::{ONE, SECTION, WalkLabels};

use super::keys::GarblingKeys;
use super::lanes::{LaneGroup, Lockstep, by_group, lane_groups};
use super::schedule::{Schedule, input_slot};
use super::tables::TableSink;
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};

/// Does the same as [`Scheme::garble`](super::Scheme::garble), with many copies in lockstep.
pub(super) fn garble<S: Lockstep>(
    schedule: &Schedule,
    keys: &GarblingKeys,
    copies: &[u32],
    deltas: &[Delta],
    inputs: &[Label],
    outputs: &mut [Label],
    sink: &mut impl TableSink,
) -> Result<(), Error> {
    assert_eq!(deltas.len(), copies.len(), "each copy must have a delta");
    assert_eq!(
        inputs.len(),
        copies.len() * schedule.inputs(),
        "each input wire of each copy must have a label"
    );
    assert_eq!(
        outputs.len(),
        copies.len() * schedule.outputs(),
        "each output wire of each copy must have a place for its label"
    );
    let order = by_group(copies, keys);
    let groups = lane_groups(schedule.kernel, &order, copies, keys);
    let Some(lanes) = groups.iter().map(|g| g.lanes).max() else { return Ok(()) };
    let script = &schedule.script;
    let mut wires = WalkLabels::new(script, lanes);
    let mut buffer = vec![0; lanes * (script.and_gates().min(SECTION) * S::AND_BYTES + SPACE)];
    let mut hash_keys = keys.of_group(schedule.kernel, groups[0].group);
    for LaneGroup { group, members, lanes } in groups {
        if group != hash_keys.group() {
            hash_keys = keys.of_group(schedule.kernel, group);
        }
        wires.set_lanes(lanes);
        for (lane, &p) in members.iter().enumerate() {
            wires.set(ONE, lane, deltas[p].bits());
            for (wire, label) in inputs[p * schedule.inputs()..][..schedule.inputs()].iter().enumerate() {
                wires.set(input_slot(wire), lane, label.bits());
            }
        }
        for section in 0..script.sections() {
            let gates = script.section_gates(section).len();
            let bytes = gates * S::AND_BYTES;
            let mut tables: [&mut [u8]; 16] = Default::default();
            for (table, space) in tables.iter_mut().zip(buffer.chunks_exact_mut(bytes + SPACE)) {
                *table = &mut space[..bytes];
            }
            S::garble_section(
                &mut wires,
                schedule.kernel,
                script,
                section,
                hash_keys.of_section(section, gates),
                &mut tables[..lanes],
            );
            if gates > 0 {
                sink.section(members, &tables.each_ref().map(|table| &**table)[..members.len()])?;
            }
        }
        for (lane, &p) in members.iter().enumerate() {
            for (label, &slot) in
                outputs[p * schedule.outputs()..][..schedule.outputs()].iter_mut().zip(&schedule.outputs)
            {
                *label = Label::from_bits(wires.get(slot, lane));
            }
        }
    }
    Ok(())
}

/// Space between the tables of two copies, so that they do not fall into the same cache set.
const SPACE: usize = 64;
