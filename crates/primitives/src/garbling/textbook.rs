//! Two further schemes for tests, written gate by gate from the textbook: four-row tables with independent
//! labels, and privacy-free half-gates. All schemes are tested for the same properties.

use brickwork_testing::Replayable as _;
use proptest::prelude::*;

use super::tests::random_circuit;
use super::{Collect, Colours, GarblingScheme, GateBytes, HalfGates, HashUse, TableSink, TableSource};
use brickwork_base::Error;
use brickwork_base::label::{Delta, LABEL_BYTES, Label};
use brickwork_base::random::Rng;
use brickwork_circuit::{Circuit, Gate};

fn hash(start: u128, copy: u32, gate: usize, labels: &[Label]) -> Label {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&start.to_le_bytes()).update(&copy.to_le_bytes()).update(&(gate as u64).to_le_bytes());
    labels.iter().for_each(|label| _ = hasher.update(&label.to_bytes()));
    Label::from_bytes(*hasher.finalize().as_bytes().first_chunk().unwrap())
}

/// Calls `gate` for each gate in order, with its number.
fn walk<W: Copy>(circuit: &Circuit, inputs: &[W], mut gate: impl FnMut(usize, Gate, &[W]) -> W) -> Vec<W> {
    let mut wires = inputs.to_vec();
    for (number, of) in circuit.gates().enumerate() {
        let out = gate(number, of, &wires);
        wires.push(out);
    }
    circuit.outputs().iter().map(|&wire| wires[wire as usize]).collect()
}

/// Yao's scheme with point-and-permute: four rows for XOR and AND. The two labels of a wire are independent,
/// except that exactly one of them ends in 1.
struct FourRows;

impl GarblingScheme for FourRows {
    const NAME: &'static str = "four rows";
    const TABLE_BYTES: GateBytes = GateBytes { and: 4 * LABEL_BYTES, xor: 4 * LABEL_BYTES, inv: 0 };
    const LABEL_BYTES: usize = LABEL_BYTES;
    const COLOURS: Colours = Colours::Random;
    const PRIVATE: bool = true;
    const HASH: HashUse = HashUse { calls_per_and: 4, calls_per_key: None };

    type Offset = ();
    type Wire = [Label; 2];
    type Active = Label;
    type Schedule = Circuit;
    type Keys = u128;

    fn offset(_: &mut Rng) {}

    fn wire((): (), rng: &mut Rng) -> [Label; 2] {
        let colour = rng.below(2) as u8;
        [rng.label().with_colour(colour), rng.label().with_colour(1 - colour)]
    }

    fn label((): (), wire: [Label; 2], bit: u8) -> Label {
        wire[usize::from(bit)]
    }

    fn colour(label: Label) -> u8 {
        label.colour()
    }

    fn schedule(circuit: &Circuit) -> Circuit {
        circuit.clone()
    }

    fn table_bytes(circuit: &Circuit) -> usize {
        4 * LABEL_BYTES * circuit.gates().filter(|gate| !matches!(gate, Gate::Inv(_))).count()
    }

    fn keys(start: u128, _: usize, _: &Circuit) -> u128 {
        start
    }

    fn garble(
        circuit: &Circuit,
        &start: &u128,
        copies: &[u32],
        _: &[()],
        inputs: &[[Label; 2]],
        outputs: &mut [[Label; 2]],
        sink: &mut impl TableSink,
    ) -> Result<(), Error> {
        let mut rng = Rng::replayable("four rows");
        for (p, &copy) in copies.iter().enumerate() {
            let mut tables = Vec::new();
            let inputs = &inputs[p * circuit.inputs()..][..circuit.inputs()];
            let made = walk(circuit, inputs, |number, gate, wires| {
                let (a, b, truth): (_, _, fn(u8, u8) -> u8) = match gate {
                    Gate::Inv(a) => return [wires[a as usize][1], wires[a as usize][0]],
                    Gate::Xor(a, b) => (wires[a as usize], wires[b as usize], |a, b| a ^ b),
                    Gate::And(a, b) => (wires[a as usize], wires[b as usize], |a, b| a & b),
                };
                let out = Self::wire((), &mut rng);
                let mut rows = [Label::ZERO; 4];
                for (x, y) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let operands = [a[usize::from(x)], b[usize::from(y)]];
                    let row = usize::from(2 * operands[0].colour() + operands[1].colour());
                    rows[row] = hash(start, copy, number, &operands) ^ out[usize::from(truth(x, y))];
                }
                tables.extend(rows.iter().flat_map(|row| row.to_bytes()));
                out
            });
            outputs[p * made.len()..][..made.len()].copy_from_slice(&made);
            sink.tables(p, &tables)?;
        }
        Ok(())
    }

    fn evaluate(
        circuit: &Circuit,
        &start: &u128,
        copies: &[u32],
        inputs: &[Label],
        source: &mut impl TableSource,
        outputs: &mut [Label],
    ) -> Result<(), Error> {
        for (p, &copy) in copies.iter().enumerate() {
            source.prepare(&[p], 0..Self::table_bytes(circuit))?;
            let mut rows = source.tables(p, 0..Self::table_bytes(circuit)).as_chunks::<16>().0;
            let inputs = &inputs[p * circuit.inputs()..][..circuit.inputs()];
            let made = walk(circuit, inputs, |number, gate, wires| {
                let (a, b) = match gate {
                    Gate::Inv(a) => return wires[a as usize],
                    Gate::Xor(a, b) | Gate::And(a, b) => (wires[a as usize], wires[b as usize]),
                };
                let (here, behind) = rows.split_at(4);
                rows = behind;
                let row = here[usize::from(2 * a.colour() + b.colour())];
                hash(start, copy, number, &[a, b]) ^ Label::from_bytes(row)
            });
            outputs[p * made.len()..][..made.len()].copy_from_slice(&made);
        }
        Ok(())
    }
}

/// Privacy-free half-gates (Zahur, Rosulek, Evans 2015, section 5): the evaluator knows all bits, and a
/// label's lowest bit is the wire's bit.
struct PrivacyFree;

/// The label of the constant 1, which is public.
const ONE: u128 = 1;

impl GarblingScheme for PrivacyFree {
    const NAME: &'static str = "privacy-free half-gates";
    const TABLE_BYTES: GateBytes = GateBytes { and: LABEL_BYTES, xor: 0, inv: 0 };
    const LABEL_BYTES: usize = LABEL_BYTES;
    const COLOURS: Colours = Colours::Bits;
    const PRIVATE: bool = false;
    const HASH: HashUse = HashUse { calls_per_and: 2, calls_per_key: None };

    type Offset = Delta;
    type Wire = Label;
    type Active = Label;
    type Schedule = Circuit;
    type Keys = u128;

    fn offset(rng: &mut Rng) -> Delta {
        rng.delta()
    }

    fn wire(_: Delta, rng: &mut Rng) -> Label {
        rng.label().with_colour(0)
    }

    fn label(offset: Delta, wire: Label, bit: u8) -> Label {
        wire ^ offset.times(bit)
    }

    fn colour(label: Label) -> u8 {
        label.colour()
    }

    fn schedule(circuit: &Circuit) -> Circuit {
        circuit.clone()
    }

    fn table_bytes(circuit: &Circuit) -> usize {
        LABEL_BYTES * circuit.and_gates()
    }

    fn keys(start: u128, _: usize, _: &Circuit) -> u128 {
        start
    }

    fn garble(
        circuit: &Circuit,
        &start: &u128,
        copies: &[u32],
        offsets: &[Delta],
        inputs: &[Label],
        outputs: &mut [Label],
        sink: &mut impl TableSink,
    ) -> Result<(), Error> {
        for (p, (&copy, &offset)) in copies.iter().zip(offsets).enumerate() {
            let mut tables = Vec::new();
            let inputs = &inputs[p * circuit.inputs()..][..circuit.inputs()];
            let made = walk(circuit, inputs, |number, gate, wires| match gate {
                Gate::Inv(a) => wires[a as usize] ^ offset ^ Label::from_bits(ONE),
                Gate::Xor(a, b) => wires[a as usize] ^ wires[b as usize],
                Gate::And(a, b) => {
                    let (a, b) = (wires[a as usize], wires[b as usize]);
                    let of = |label: Label| hash(start, copy, number, &[label]).with_colour(0);
                    tables.extend((of(a) ^ of(a ^ offset) ^ b).to_bytes());
                    of(a)
                }
            });
            outputs[p * made.len()..][..made.len()].copy_from_slice(&made);
            sink.tables(p, &tables)?;
        }
        Ok(())
    }

    fn evaluate(
        circuit: &Circuit,
        &start: &u128,
        copies: &[u32],
        inputs: &[Label],
        source: &mut impl TableSource,
        outputs: &mut [Label],
    ) -> Result<(), Error> {
        for (p, &copy) in copies.iter().enumerate() {
            source.prepare(&[p], 0..Self::table_bytes(circuit))?;
            let mut rows = source.tables(p, 0..Self::table_bytes(circuit)).as_chunks::<16>().0.iter();
            let inputs = &inputs[p * circuit.inputs()..][..circuit.inputs()];
            let made = walk(circuit, inputs, |number, gate, wires| match gate {
                Gate::Inv(a) => wires[a as usize] ^ Label::from_bits(ONE),
                Gate::Xor(a, b) => wires[a as usize] ^ wires[b as usize],
                Gate::And(a, b) => {
                    let (a, b, row) = (wires[a as usize], wires[b as usize], rows.next().unwrap());
                    let of = hash(start, copy, number, &[a]).with_colour(0);
                    of ^ (Label::from_bytes(*row) ^ b).times(a.colour())
                }
            });
            outputs[p * made.len()..][..made.len()].copy_from_slice(&made);
        }
        Ok(())
    }
}

/// Checks a scheme: its evaluation gives the labels of the circuit's result, its tables have the stated size,
/// and the lowest bit of a label decodes it.
fn is_a_scheme<S: GarblingScheme<Active = Label>>(circuit: &Circuit, count: u32) {
    let mut rng = Rng::replayable("test schemes");
    let copies: Vec<u32> = (0..count).collect();
    let schedule = S::schedule(circuit);
    let keys = S::keys(rng.block(), copies.len(), &schedule);
    let offsets: Vec<S::Offset> = copies.iter().map(|_| S::offset(&mut rng)).collect();
    let wires = |width: usize, rng: &mut Rng| -> Vec<S::Wire> {
        offsets.iter().flat_map(|&o| (0..width).map(|_| S::wire(o, rng)).collect::<Vec<_>>()).collect()
    };
    let inputs = wires(circuit.inputs(), &mut rng);
    let mut outputs = wires(circuit.outputs().len(), &mut rng);
    let mut sink = Collect::new(copies.len(), S::table_bytes(&schedule));
    S::garble(&schedule, &keys, &copies, &offsets, &inputs, &mut outputs, &mut sink).unwrap();
    let tables = sink.finish();
    let of_gate = |gate| match gate {
        Gate::And(..) => S::TABLE_BYTES.and,
        Gate::Xor(..) => S::TABLE_BYTES.xor,
        Gate::Inv(_) => S::TABLE_BYTES.inv,
    };
    let bytes: usize = circuit.gates().map(of_gate).sum();
    assert_eq!(S::table_bytes(&schedule), bytes, "{}", S::NAME);
    assert!(tables.iter().all(|table| table.len() == bytes), "{}", S::NAME);

    let bits: Vec<Vec<bool>> =
        copies.iter().map(|_| (0..circuit.inputs()).map(|_| rng.below(2) == 1).collect()).collect();
    let active: Vec<Label> = inputs
        .iter()
        .zip(bits.iter().flatten())
        .enumerate()
        .map(|(k, (&wire, &bit))| S::label(offsets[k / circuit.inputs()], wire, bit.into()))
        .collect();
    let mut got = vec![Label::ZERO; outputs.len()];
    S::evaluate(&schedule, &keys, &copies, &active, &mut tables.as_slice(), &mut got).unwrap();
    let width = circuit.outputs().len().max(1);
    for ((bits, &offset), (got, outputs)) in
        bits.iter().zip(&offsets).zip(got.chunks_exact(width).zip(outputs.chunks_exact(width)))
    {
        for ((&bit, &label), &wire) in circuit.evaluate(bits).iter().zip(got).zip(outputs) {
            assert!(label == S::label(offset, wire, bit.into()), "{}", S::NAME);
            assert_eq!(S::colour(label) ^ S::decoding(offset, wire), u8::from(bit), "{}", S::NAME);
            assert_ne!(S::decoding(offset, wire), S::colour(S::label(offset, wire, 1)), "{}", S::NAME);
            if S::COLOURS == Colours::Bits {
                assert_eq!(S::colour(label), u8::from(bit), "{}", S::NAME);
            }
        }
    }
    // A scheme is private exactly if its colours are random.
    assert_eq!(S::PRIVATE, S::COLOURS == Colours::Random, "{}", S::NAME);
}

/// If a scheme has random colours, labels of 0 with both colours occur.
fn has_random_colours<S: GarblingScheme>() {
    let mut rng = Rng::replayable("test colours");
    let offset = S::offset(&mut rng);
    let zeros = (0..400).filter(|_| {
        let wire = S::wire(offset, &mut rng);
        S::decoding(offset, wire) == 0
    });
    let zeros = zeros.count();
    match S::COLOURS {
        Colours::Random => assert!((140..260).contains(&zeros), "{}: {zeros}", S::NAME),
        Colours::Bits => assert_eq!(zeros, 400, "{}", S::NAME),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_scheme_computes_what_the_circuit_does(circuit in random_circuit(80), copies in 1u32..20) {
        is_a_scheme::<HalfGates>(&circuit, copies);
        is_a_scheme::<FourRows>(&circuit, copies);
        is_a_scheme::<PrivacyFree>(&circuit, copies);
    }
}

#[test]
fn colours_are_what_the_scheme_says() {
    has_random_colours::<HalfGates>();
    has_random_colours::<FourRows>();
    has_random_colours::<PrivacyFree>();
}
