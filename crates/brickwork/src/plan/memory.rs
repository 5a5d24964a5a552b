//! Peak memory, from what a party holds at its fullest moments: the end of preprocess, where all copies and the chosen ones
//! stand side by side, and the end of prepare.

use crate::circuit::{Party, Program};
use crate::commit::code::Code;
use crate::duplo::Parameters;

/// A process that does nothing: code, stacks, buffers of TLS.
const PROCESS: u64 = 11 << 20;
/// A gate of a component: in the circuit and in the plan for garbling.
const GATE: u64 = 32;
/// A label, a soldering, an offset.
const LABEL: u64 = 16;
/// A pair of hashes.
const AUTHENTICATOR: u64 = 32;
/// Copies whose tables the garbler has in hand: those that are sent and those that are made.
const COPIES_IN_HAND: u64 = 2 * 16 * 2;

/// Of the garbler and of the evaluator.
pub(super) fn peaks(program: &Program, parameters: &Parameters) -> [u64; 2] {
    let share = Code::for_security(parameters.security).map_or(0, |code| 8 * code.words() as u64);
    let used = || program.components().iter().zip(&parameters.components).filter(|(_, cut)| cut.slots > 0);
    let (mut all, mut kept, mut joints, mut tables, mut in_hand, mut hashes, mut opened) = (0, 0, 0, 0, 0, 0, 0);
    for (component, cut) in used() {
        let circuit = &component.circuit;
        let (inputs, outputs) = (circuit.inputs() as u64, circuit.outputs().len() as u64);
        let table = 32 * circuit.and_gates() as u64;
        all += cut.copies() * (inputs + outputs + 1);
        kept += cut.kept() * (inputs + outputs + 1);
        joints += LABEL * (cut.kept() * (inputs + 1) + u64::from(cut.slots) * inputs);
        tables += cut.kept() * table;
        in_hand = in_hand.max(cut.kept().min(COPIES_IN_HAND) * table);
        hashes += 32 * cut.copies();
        opened += LABEL * u64::from(cut.opened) * (2 * inputs + outputs + 2);
    }
    let output_joints: u64 = used().map(|(component, cut)| LABEL * cut.kept() * component.circuit.outputs().len() as u64).sum();
    let (plain, input) = (parameters.plain, parameters.input);
    let gadgets = |shares: u64, values: u64| {
        let wires = plain.copies() + plain.kept() + 2 * (input.copies() + input.kept());
        wires * (shares + values) + (plain.copies() + input.copies()) * (AUTHENTICATOR + LABEL) + output_joints
    };
    let program_bytes = program.components().iter().map(|c| c.circuit.gate_count() as u64 * GATE).sum::<u64>()
        + 4 * (program.wires() as u64 + used().map(|(c, cut)| u64::from(cut.slots) * c.circuit.inputs() as u64).sum::<u64>())
        + 2 * (program.input_width(Party::Garbler) + program.input_width(Party::Evaluator)) as u64;
    let garbler = (all + kept) * (share + LABEL) + in_hand + joints;
    let garbler_later = kept * (share + LABEL) + gadgets(share, LABEL);
    let evaluator = (all + kept) * share + tables + hashes + opened + joints;
    let evaluator_later = kept * share + tables + joints + gadgets(share, 0) + LABEL * program.wires() as u64;
    [garbler.max(garbler_later), evaluator.max(evaluator_later)].map(|bytes| PROCESS + program_bytes + bytes)
}
