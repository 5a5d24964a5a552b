//! Evaluates a circuit gate by gate.

use brickwork_kernels::WalkLabels;

use super::keys::GarblingKeys;
use super::lanes::{LaneGroup, Lockstep, by_group, lane_groups};
use super::schedule::{Schedule, input_slot};
use super::tables::TableSource;
use brickwork_base::Error;
use brickwork_base::label::Label;

/// Does the same as [`Scheme::evaluate`](super::Scheme::evaluate), with many copies in lockstep.
pub(super) fn evaluate<S: Lockstep>(
    schedule: &Schedule,
    keys: &GarblingKeys,
    copies: &[u32],
    inputs: &[Label],
    source: &mut impl TableSource,
    outputs: &mut [Label],
) -> Result<(), Error> {
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
    let mut hash_keys = keys.of_group(schedule.kernel, groups[0].group);
    for LaneGroup { group, members, lanes } in groups {
        if group != hash_keys.group() {
            hash_keys = keys.of_group(schedule.kernel, group);
        }
        wires.set_lanes(lanes);
        for (lane, &p) in members.iter().enumerate() {
            for (wire, label) in inputs[p * schedule.inputs()..][..schedule.inputs()].iter().enumerate() {
                wires.set(input_slot(wire), lane, label.bits());
            }
        }
        for section in 0..script.sections() {
            let gates = script.section_gates(section);
            let bytes = gates.start * S::AND_BYTES..gates.end * S::AND_BYTES;
            source.prepare(members, bytes.clone())?;
            // Lanes without a copy read the tables of the first copy.
            let tables: [&[u8]; 16] = std::array::from_fn(|lane| {
                source.tables(*members.get(lane).unwrap_or(&members[0]), bytes.clone())
            });
            S::evaluate_section(
                &mut wires,
                schedule.kernel,
                script,
                section,
                hash_keys.of_section(section, gates.len()),
                &tables[..lanes],
            );
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
