//! Peak memory, from what a party holds at its fullest moments: when everything is committed to and the tables are sent, and
//! when the gadgets are opened, where all of them and their parts stand side by side.

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
    let (mut all, mut joints, mut tables, mut in_hand, mut hashes, mut opened) = (0, 0, 0, 0, 0, 0);
    for (component, cut) in used() {
        let circuit = &component.circuit;
        let (inputs, outputs) = (circuit.inputs() as u64, circuit.outputs().len() as u64);
        let table = 32 * circuit.and_gates() as u64;
        all += cut.copies() * (inputs + outputs + 1);
        joints += LABEL * (cut.kept() * (inputs + 1) + u64::from(cut.slots) * inputs);
        tables += cut.kept() * table;
        in_hand = in_hand.max(cut.kept().min(COPIES_IN_HAND) * table);
        hashes += 32 * cut.copies();
        opened += LABEL * u64::from(cut.opened) * (2 * inputs + outputs + 2);
    }
    let output_joints: u64 = used().map(|(component, cut)| LABEL * cut.kept() * component.circuit.outputs().len() as u64).sum();
    let (plain, input) = (parameters.plain, parameters.input);
    let gadgets = |bytes: u64| (plain.copies() + 2 * input.copies()) * bytes;
    let authenticators = (plain.copies() + input.copies()) * AUTHENTICATOR;
    let program_bytes = program.components().iter().map(|c| c.circuit.gate_count() as u64 * GATE).sum::<u64>()
        + 4 * (program.wires() as u64 + used().map(|(c, cut)| u64::from(cut.slots) * c.circuit.inputs() as u64).sum::<u64>())
        + 2 * (program.input_width(Party::Garbler) + program.input_width(Party::Evaluator)) as u64;
    let committed = (all * (share + LABEL) + gadgets(share + LABEL), all * share + gadgets(share) + hashes + authenticators);
    let garbler = committed.0 + in_hand + joints;
    let garbler_later = committed.0 + gadgets(share + LABEL) + joints + output_joints;
    let evaluator = committed.1 + tables + opened + joints;
    let evaluator_later = evaluator + gadgets(share) + authenticators + output_joints + LABEL * program.wires() as u64;
    [garbler.max(garbler_later), evaluator.max(evaluator_later)].map(|bytes| PROCESS + program_bytes + bytes)
}
