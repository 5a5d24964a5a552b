//! Garbling of a component whose wires have masks that neither party knows: half-gates with an additional
//! word of each party for every AND gate (after Katz, Ranellucci, Rosulek and Wang, CRYPTO 2018).
//!
//! The label of masked value 0 ends in 0. So half-gates need no terms for colours, and an active label ends
//! in the masked value. The party that knows its share of the masks adds it to a row of the table. It must
//! also add its share to the label of each gate's result during the walk, because the next gates are garbled
//! with the sum.
//!
//! ```text
//!   garbler     T_G = H(A) ⊕ H(A ⊕ Δ)     T_E = H(B) ⊕ H(B ⊕ Δ) ⊕ A     C' = H(A) ⊕ H(B) ⊕ w,  C = ⌊C'⌋
//!   evaluator   C = H(A) ⊕ H(B) ⊕ lsb(A)·T_G ⊕ lsb(B)·(T_E ⊕ A) ⊕ w
//! ```
//!
//! Lists are `[copy][wire]` or `[copy][gate]`, for a few consecutive copies that are processed side by side.

use std::ops::Range;

use brickwork_kernels::{MaskedTables, ONE, SECTION, WalkLabels, erase};

use super::keys::{GarblingKeys, GroupKeys};
use super::schedule::{Schedule, input_slot};
use brickwork_base::label::{Delta, LABEL_BYTES, Label};

/// Bytes of a gate's table: `T_G ‖ T_E`.
const TABLE: usize = 2 * LABEL_BYTES;

/// The largest number of copies that are processed together by this module.
pub const SIDE_BY_SIDE: usize = 16;

/// If there are fewer copies than this, they are processed four at a time.
const FOR_ALL_LANES: usize = 5;

/// Returns the number of copies to process next, and the number of lanes.
fn next_lanes(left: usize) -> (usize, usize) {
    if left < FOR_ALL_LANES { (left.min(4), 4) } else { (left.min(SIDE_BY_SIDE), SIDE_BY_SIDE) }
}

/// The state of garbling or evaluating a few copies of a component: copies `copies` of the caller's lists.
struct Walk<'s> {
    schedule: &'s Schedule,
    wires: WalkLabels,
    copies: Range<usize>,
    lanes: usize,
    /// A buffer for the output of idle lanes.
    idle: Vec<u128>,
}

impl<'s> Walk<'s> {
    /// Makes a walk with buffers for `most` copies at a time.
    fn new(schedule: &'s Schedule, most: usize) -> Self {
        let (_, lanes) = next_lanes(most);
        let idle = 2 * schedule.script.and_gates().min(SECTION);
        let (wires, idle) = (WalkLabels::new(&schedule.script, lanes), vec![0; idle * (lanes - 1)]);
        Walk { schedule, wires, copies: 0..0, lanes, idle }
    }

    /// Begins with the next copies, of which `left` remain: sets the labels of their inputs and of the
    /// constant.
    fn next(&mut self, left: usize, one: Label, inputs: &[Label]) {
        let (count, lanes) = next_lanes(left);
        (self.copies, self.lanes) = (self.copies.end..self.copies.end + count, lanes);
        self.wires.set_lanes(lanes);
        let width = self.schedule.inputs();
        for lane in 0..lanes {
            // Idle lanes repeat the first copy.
            let copy = if lane < count { self.copies.start + lane } else { self.copies.start };
            self.wires.set(ONE, lane, one.bits());
            for (wire, label) in inputs[copy * width..][..width].iter().enumerate() {
                self.wires.set(input_slot(wire), lane, label.bits());
            }
        }
    }

    fn finish(&self, outputs: &mut [Label]) {
        let places = &self.schedule.outputs;
        for (lane, copy) in self.copies.clone().enumerate() {
            for (label, &slot) in outputs[copy * places.len()..][..places.len()].iter_mut().zip(places) {
                *label = Label::from_bits(self.wires.get(slot, lane));
            }
        }
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        erase(&mut self.idle);
    }
}

/// Returns the part of a list that each lane reads. Each copy has `each` elements; `place` are those of the
/// section. Idle lanes read the part of the first copy.
fn shared<'a, T>(list: &'a [T], copies: &Range<usize>, each: usize, place: &Range<usize>) -> [&'a [T]; 16] {
    std::array::from_fn(|lane| {
        let copy = if lane < copies.len() { copies.start + lane } else { copies.start };
        &list[copy * each..][place.clone()]
    })
}

/// Splits a list like [`shared`], for writing. Idle lanes get a buffer of their own.
fn owned<'a, T>(
    list: &'a mut [T],
    idle: &'a mut [T],
    copies: &Range<usize>,
    each: usize,
    place: &Range<usize>,
) -> [&'a mut [T]; 16] {
    let mut lanes: [&mut [T]; 16] = Default::default();
    let mut rest = &mut list[copies.start * each..];
    for lane in lanes.iter_mut().take(copies.len()) {
        let (here, behind) = rest.split_at_mut(each);
        (*lane, rest) = (&mut here[place.clone()], behind);
    }
    if !place.is_empty() {
        let rooms = idle.chunks_exact_mut(place.len());
        lanes.iter_mut().skip(copies.len()).zip(rooms).for_each(|(lane, room)| *lane = room);
    }
    lanes
}

/// Computes a word for each wire of the copies; this needs no hashes. The word of an XOR gate is the sum of
/// its operands' words, the word of an AND gate is given in `results`, and an INV gate adds `one`. Writes the
/// words of the AND gates' operands, `[copy][gate][2]`, and of the outputs.
///
/// # Panics
/// If the lengths of the lists do not match.
pub fn carry(
    schedule: &Schedule,
    one: Label,
    inputs: &[Label],
    results: &[Label],
    operands: &mut [Label],
    outputs: &mut [Label],
    copies: usize,
) {
    let (script, ands) = (&schedule.script, schedule.and_gates());
    assert!(inputs.len() == copies * schedule.inputs() && outputs.len() == copies * schedule.outputs());
    assert!(
        results.len() == copies * ands && operands.len() == 2 * copies * ands,
        "each gate of each copy must have its words"
    );
    if copies == 0 {
        return;
    }
    let (results, operands) = (bytemuck::cast_slice(results), bytemuck::cast_slice_mut(operands));
    let mut walk = Walk::new(schedule, copies);
    while walk.copies.end < copies {
        walk.next(copies - walk.copies.end, one, inputs);
        let (lanes, of) = (walk.lanes, walk.copies.clone());
        for section in 0..script.sections() {
            let gates = script.section_gates(section);
            let results: [&[u128]; 16] = shared(results, &of, ands, &gates);
            let twice = 2 * gates.start..2 * gates.end;
            let mut operands = owned(operands, &mut walk.idle, &of, 2 * ands, &twice);
            walk.wires.carry(schedule.kernel, script, section, &results[..lanes], &mut operands[..lanes]);
        }
        walk.finish(outputs);
    }
}

/// Consecutive copies of a batch, whose numbers select the hash keys.
#[derive(Clone, Copy)]
pub struct Numbered<'k> {
    /// The keys of the batch.
    pub keys: &'k GarblingKeys,
    /// The number of the first copy.
    pub first: u32,
    /// The number of copies.
    pub count: usize,
}

impl Numbered<'_> {
    /// Returns how many copies from number `done` on use the same keys, so that they can be processed
    /// together.
    fn alike(&self, done: usize) -> usize {
        let copy = self.first + done as u32;
        let group = self.keys.group_of(copy);
        let most = (self.count - done).min(SIDE_BY_SIDE);
        (1..=most).rev().find(|&n| self.keys.group_of(copy + n as u32 - 1) == group).unwrap_or(1)
    }

    /// Returns the keys of the copy at this place. `at_hand` has the keys of another copy. It is reused if
    /// both copies belong to one group.
    fn keys(&self, schedule: &Schedule, done: usize, at_hand: Option<GroupKeys>) -> GroupKeys {
        let group = self.keys.group_of(self.first + done as u32);
        at_hand
            .filter(|keys| keys.group() == group)
            .unwrap_or_else(|| self.keys.of_group(schedule.kernel, group))
    }
}

/// Garbles copies. `inputs` are labels of masked value 0. `words` are added to the labels of the AND gates'
/// results. They are overwritten with the sums, including their last bits. Writes the tables, `[copy][gate]`
/// with two labels each, and the labels of the outputs.
///
/// # Panics
/// If the lengths of the lists do not match.
pub fn garble(
    schedule: &Schedule,
    copies: Numbered<'_>,
    delta: Delta,
    inputs: &[Label],
    words: &mut [Label],
    tables: &mut [Label],
    outputs: &mut [Label],
) {
    let (script, ands, count) = (&schedule.script, schedule.and_gates(), copies.count);
    assert!(inputs.len() == count * schedule.inputs() && outputs.len() == count * schedule.outputs());
    assert!(
        words.len() == count * ands && tables.len() == 2 * count * ands,
        "each gate of each copy must have its words"
    );
    if count == 0 {
        return;
    }
    let (words, tables) = (bytemuck::cast_slice_mut(words), bytemuck::cast_slice_mut::<_, u8>(tables));
    let (mut walk, mut at_hand) = (Walk::new(schedule, count), None);
    let mut unused = vec![0u8; TABLE * ands.min(SECTION) * (SIDE_BY_SIDE - 1)];
    while walk.copies.end < count {
        let mut keys = copies.keys(schedule, walk.copies.end, at_hand);
        walk.next(copies.alike(walk.copies.end), Label::ZERO, inputs);
        let (lanes, of) = (walk.lanes, walk.copies.clone());
        for section in 0..script.sections() {
            let gates = script.section_gates(section);
            let bytes = TABLE * gates.start..TABLE * gates.end;
            let mut tables = owned(tables, &mut unused, &of, TABLE * ands, &bytes);
            let mut words = owned(words, &mut walk.idle, &of, ands, &gates);
            walk.wires.garble_with_words(
                schedule.kernel,
                script,
                section,
                keys.of_section(section, gates.len()),
                delta.bits(),
                MaskedTables { tables: &mut tables[..lanes], words: &mut words[..lanes] },
            );
        }
        walk.finish(outputs);
        at_hand = Some(keys);
    }
    erase(&mut unused);
}

/// Evaluates copies. `inputs` are active labels. `words` are added to the labels of the gates' results, and
/// are overwritten with the active labels. Writes the active labels of the outputs.
///
/// # Panics
/// As [`garble`].
pub fn evaluate(
    schedule: &Schedule,
    copies: Numbered<'_>,
    inputs: &[Label],
    tables: &[Label],
    words: &mut [Label],
    outputs: &mut [Label],
) {
    let (script, ands, count) = (&schedule.script, schedule.and_gates(), copies.count);
    assert!(inputs.len() == count * schedule.inputs() && outputs.len() == count * schedule.outputs());
    assert!(
        words.len() == count * ands && tables.len() == 2 * count * ands,
        "each gate of each copy must have its words"
    );
    if count == 0 {
        return;
    }
    let (words, tables) = (bytemuck::cast_slice_mut(words), bytemuck::cast_slice::<_, u8>(tables));
    let (mut walk, mut at_hand) = (Walk::new(schedule, count), None);
    while walk.copies.end < count {
        let mut keys = copies.keys(schedule, walk.copies.end, at_hand);
        walk.next(copies.alike(walk.copies.end), Label::ZERO, inputs);
        let (lanes, of) = (walk.lanes, walk.copies.clone());
        for section in 0..script.sections() {
            let gates = script.section_gates(section);
            let tables = shared(tables, &of, TABLE * ands, &(TABLE * gates.start..TABLE * gates.end));
            let mut words = owned(words, &mut walk.idle, &of, ands, &gates);
            walk.wires.evaluate_with_words(
                schedule.kernel,
                script,
                section,
                keys.of_section(section, gates.len()),
                &tables[..lanes],
                &mut words[..lanes],
            );
        }
        walk.finish(outputs);
        at_hand = Some(keys);
    }
}

/// Evaluates masked bits of up to [`SIDE_BY_SIDE`] copies. A word has one bit for each copy, that of the
/// first copy lowest. `and` gets the number of each AND gate and the masked bits of its operands, and returns
/// the masked result. Returns the bits of the outputs.
///
/// # Panics
/// If the number of words differs from the number of inputs.
pub fn walk_bits(
    schedule: &Schedule,
    inputs: &[u16],
    mut and: impl FnMut(usize, u16, u16) -> u16,
) -> Vec<u16> {
    assert_eq!(inputs.len(), schedule.inputs(), "each input must have a word");
    let script = &schedule.script;
    let mut slots = vec![0u16; script.slots()];
    for (wire, &bits) in inputs.iter().enumerate() {
        slots[input_slot(wire) as usize] = bits;
    }
    // A negation changes the mask only, so the masked value stays the same.
    slots[ONE as usize] = 0;
    (0..script.sections()).for_each(|section| script.walk(section, &mut slots, &mut and));
    let outputs = schedule.outputs.iter().map(|&slot| slots[slot as usize]).collect();
    erase(&mut slots);
    outputs
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_base::random::Rng;
    use brickwork_circuit::{Circuit, Gate};
    use brickwork_kernels::Kernel;
    use brickwork_testing::Replayable as _;

    /// Returns a circuit of random gates that mostly read recent wires, with some negations. Its outputs are
    /// arbitrary wires.
    fn circuit(rng: &mut Rng, gates: u64) -> Circuit {
        let inputs = 1 + rng.below(6) as u32;
        let gates: Vec<Gate> = (0..gates as u32)
            .map(|k| {
                let wires = u64::from(inputs + k);
                let mut any = || (wires - 1 - rng.below(wires.min(40))) as u32;
                let (a, b) = (any(), any());
                match rng.below(4) {
                    0 => Gate::Xor(a, b),
                    1 => Gate::Inv(a),
                    _ => Gate::And(a, b),
                }
            })
            .collect();
        let wires = u64::from(inputs) + gates.len() as u64;
        let outputs = (0..1 + rng.below(9)).map(|_| rng.below(wires) as u32).collect();
        Circuit::new(inputs, gates, outputs).unwrap()
    }

    fn as_labels(bits: &[u8]) -> Vec<Label> {
        bits.iter().map(|&bit| Label::from_bits(bit.into())).collect()
    }

    /// Garbles gates with masks and evaluates them at random masked values. The outputs are active labels of
    /// the circuit's results, for any number of copies, any first number, and every kernel.
    #[test]
    fn copies_are_evaluated_to_the_labels_of_their_masked_values() {
        let mut rng = Rng::replayable("test masked gates");
        for (count, first, gates) in
            [(1, 0, 300), (4, 3, 200), (5, 9, 150), (17, 0, 60), (40, 30, 1300), (3, 1, 0)]
        {
            let circuit = circuit(&mut rng, gates);
            for kernel in Kernel::all_available() {
                let schedule = Schedule::with_kernel(kernel, &circuit);
                check(&schedule, &circuit, count, first, &mut rng);
            }
        }
    }

    fn check(schedule: &Schedule, circuit: &Circuit, count: usize, first: u32, rng: &mut Rng) {
        let (delta, ands) = (rng.delta(), circuit.and_gates());
        let keys = GarblingKeys::new(rng.block(), first as usize + count, ands);
        let copies = Numbered { keys: &keys, first, count };
        let mut bits = |n: usize| -> Vec<u8> { (0..n).map(|_| rng.below(2) as u8).collect() };
        let (values, masks) = (bits(count * circuit.inputs()), bits(count * circuit.inputs()));
        let fresh = bits(count * ands);
        // The masks are carried as words whose last bit is the mask.
        let (mut operands, mut out_masks) =
            (vec![Label::ZERO; 2 * count * ands], vec![Label::ZERO; count * circuit.outputs().len()]);
        let one = Label::from_bits(1);
        let (inputs, results) = (as_labels(&masks), as_labels(&fresh));
        carry(schedule, one, &inputs, &results, &mut operands, &mut out_masks, count);
        let masked_with = |k: usize| operands[k].colour();
        let ports: Vec<Label> = masks.iter().map(|_| rng.label().with_colour(0)).collect();
        let own: Vec<Label> = (0..count * ands).map(|_| rng.label()).collect();
        let mut words = own.clone();
        let mut tables = vec![Label::ZERO; 2 * count * ands];
        let mut labels = vec![Label::ZERO; out_masks.len()];
        garble(schedule, copies, delta, &ports, &mut words, &mut tables, &mut labels);
        assert!(labels.iter().all(|label| label.colour() == 0));
        let theirs: Vec<Label> = (0..count * ands)
            .map(|k| {
                let mu = masked_with(2 * k) & masked_with(2 * k + 1) ^ fresh[k];
                own[k] ^ delta.times(mu) ^ Label::from_bits(words[k].colour().into())
            })
            .collect();
        for k in 0..count * ands {
            tables[2 * k] ^= delta.times(masked_with(2 * k + 1));
            tables[2 * k + 1] ^= delta.times(masked_with(2 * k));
        }
        let active = |label: &Label, value: u8, mask: u8| *label ^ delta.times(value ^ mask);
        let inputs: Vec<Label> =
            ports.iter().zip(values.iter().zip(&masks)).map(|(l, (&v, &m))| active(l, v, m)).collect();
        let (mut results, mut outputs) = (theirs, vec![Label::ZERO; out_masks.len()]);
        evaluate(schedule, copies, &inputs, &tables, &mut results, &mut outputs);
        for copy in 0..count {
            let input: Vec<bool> =
                values[copy * circuit.inputs()..][..circuit.inputs()].iter().map(|&bit| bit == 1).collect();
            let clear = circuit.evaluate(&input);
            let at = copy * circuit.outputs().len();
            for (k, &value) in clear.iter().enumerate() {
                let mask = out_masks[at + k].colour();
                assert!(outputs[at + k] == active(&labels[at + k], value.into(), mask), "copy {copy}");
                assert_eq!(outputs[at + k].colour(), u8::from(value) ^ mask);
            }
        }
        walked(schedule, circuit, (&inputs, &results, &outputs), count.min(SIDE_BY_SIDE));
    }

    /// The masked values that [`walk_bits`] computes equal the colours of the active labels.
    fn walked(
        schedule: &Schedule,
        circuit: &Circuit,
        (inputs, results, outputs): (&[Label], &[Label], &[Label]),
        count: usize,
    ) {
        let side_by_side = |labels: &[Label], each: usize, k: usize| {
            (0..count).fold(0, |bits, copy| bits | u16::from(labels[copy * each + k].colour()) << copy)
        };
        let (width, ands) = (circuit.inputs(), circuit.and_gates());
        let of_inputs: Vec<u16> = (0..width).map(|k| side_by_side(inputs, width, k)).collect();
        let mut seen = 0;
        let walked = walk_bits(schedule, &of_inputs, |gate, _, _| {
            seen += 1;
            side_by_side(results, ands, gate)
        });
        assert_eq!(seen, ands);
        for (k, bits) in walked.into_iter().enumerate() {
            assert_eq!(bits, side_by_side(outputs, circuit.outputs().len(), k));
        }
    }
}
