//! Peak memory, from what a party holds at its fullest moments: when everything is committed to and the tables are sent, and
//! when the gadgets are opened, where all of them and their parts stand side by side.

use crate::circuit::{Component, Party, Program};
use crate::commit::code::Code;
use crate::cut_and_choose::Cut;
use crate::duplo::Parameters;
use crate::session::TABLE_MEMORY;

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

/// Where a gadget is, and that it is there.
const PLACE: u64 = 12;

/// Bytes of the tables of all chosen copies.
fn tables(program: &Program, parameters: &Parameters) -> u64 {
    let of = |(component, cut): (&Component, &Cut)| cut.kept() * 32 * component.circuit.and_gates() as u64;
    program.components().iter().zip(&parameters.components).map(of).sum()
}

/// Bytes of the evaluator's temporary file.
pub(super) fn file(program: &Program, parameters: &Parameters) -> u64 {
    let tables = tables(program, parameters);
    if tables > TABLE_MEMORY { tables } else { 0 }
}

/// Of the garbler and of the evaluator.
pub(super) fn peaks(program: &Program, parameters: &Parameters) -> [u64; 2] {
    let code = Code::for_security(parameters.security);
    let share = code.map_or(0, |code| 8 * code.words() as u64);
    // What a commitment's recipe takes where the receiver keeps corrections, in bits.
    let (random, chosen) = code.map_or((0, 0), |code| (code.parity_bits() as u64, code.length() as u64));
    let used = || program.components().iter().zip(&parameters.components).filter(|(_, cut)| cut.slots > 0);
    let (mut all, mut joints, mut in_hand, mut hashes, mut opened, mut corrections) = (0, 0, 0, 0, 0, 0);
    for (component, cut) in used() {
        let circuit = &component.circuit;
        let (inputs, outputs) = (circuit.inputs() as u64, circuit.outputs().len() as u64);
        all += cut.copies() * (inputs + outputs + 1);
        corrections += cut.copies() * ((inputs + 1) * random + outputs * chosen) / 8;
        joints += LABEL * (cut.kept() * (inputs + outputs + 1) + u64::from(cut.slots) * inputs);
        in_hand = in_hand.max(cut.kept().min(COPIES_IN_HAND) * 32 * circuit.and_gates() as u64);
        hashes += 32 * cut.copies();
        opened += LABEL * u64::from(cut.opened) * (2 * inputs + outputs + 2);
    }
    let (plain, input) = (parameters.plain, parameters.input);
    let gadgets = plain.copies() + 2 * input.copies();
    corrections += (plain.copies() * random + input.copies() * (random + chosen)) / 8;
    let authenticators = (plain.copies() + input.copies()) * AUTHENTICATOR;
    // All of a kind, and those of each use.
    let gadget_joints = 2 * LABEL * (plain.kept() + 2 * input.kept()) + PLACE * (plain.copies() + input.copies());
    let program_bytes = program.components().iter().map(|c| c.circuit.gate_count() as u64 * GATE).sum::<u64>()
        + 4 * (program.wires() as u64 + used().map(|(c, cut)| u64::from(cut.slots) * c.circuit.inputs() as u64).sum::<u64>())
        + 2 * (program.input_width(Party::Garbler) + program.input_width(Party::Evaluator)) as u64;
    let garbler = (all + gadgets) * (share + LABEL) + joints + gadget_joints.max(in_hand);
    let committed = corrections + hashes + authenticators;
    let all_tables = tables(program, parameters);
    let tables = if all_tables > TABLE_MEMORY { in_hand } else { all_tables };
    let authenticators = authenticators + AUTHENTICATOR * plain.copies().max(input.copies());
    let later = (all + gadgets) * share + authenticators + tables + opened + joints + gadget_joints;
    [garbler, committed.max(later + LABEL * program.wires() as u64)].map(|bytes| PROCESS + program_bytes + bytes)
}
