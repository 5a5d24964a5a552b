//! Garbled copies of components, each with its own offset (section 5.1, *Solder gates garbled with different
//! Δs*).
//!
//! Only the input and output wires of a component are hashed, so only these have labels longer than a block.
//! DEVIATION: inside a copy, labels are compressed, under the compressed offset, and gates are the half-gates
//! of the other protocols: 32 bytes per AND gate instead of two rows of ℓ bytes. At an output, two rows lead
//! from the short labels s to the labels of the hashed word,
//!
//! ```text
//!   R_c(s) = H(s, k) ⊕ W(s)           c(s) the colour of s, W(s) the label of the same bit, k the output
//! ```
//!
//! for either label s of the wire. For any watched symbols, the compressions of a copy's input labels and of
//! its offset are independent and uniform (`ihash::Code::evaluation`), except for the colour of the offset.
//! So they have the same distribution as randomly drawn labels, and garbling is as secure as without hashes.
//!
//! The evaluator gets all hashed words of an opened copy. The evaluator garbles the copy again and compares
//! the hash of its tables, so a bad copy is always detected.

use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_circuit::Circuit;
use brickwork_kernels::SecretBlocks;
use brickwork_primitives::garbling::{
    Collect, GarblingKeys, GarblingScheme as _, HalfGates, Schedule, table_hash,
};
use brickwork_primitives::ihash::Words;
use zeroize::Zeroizing;

use crate::gates::{colour, mask};
use crate::hash::LabelHash;

/// The number of copies that are garbled side by side, and the largest size of their tables together. A
/// single copy may have larger tables.
const LANES: usize = 16;
const MOST_TABLES: usize = 64 << 20;

/// The size of the tables that are sent at a time, and the largest number of copies that are sent at a time.
const TABLES: usize = 1 << 20;
const MOST_COPIES: usize = 1 << 12;

/// The largest number of blocks of a label.
const MOST_BLOCKS: usize = 4;

/// Bytes of the hash of a copy's tables.
pub const HASH: usize = 32;

/// Returns the bytes of the tables of a copy, if labels have this many blocks.
pub fn table_bytes(circuit: &Circuit, blocks: usize) -> usize {
    HalfGates::TABLE_BYTES.and * circuit.and_gates() + 2 * 16 * blocks * circuit.outputs().len()
}

/// Returns the number of copies that are garbled and sent at a time, if each has tables of this size.
pub fn copies_at_once(table_bytes: usize) -> usize {
    let of = |bytes: usize| bytes / table_bytes.max(1);
    of(MOST_TABLES).min(LANES).max(of(TABLES)).clamp(1, MOST_COPIES)
}

/// The hash keys and tables' sizes for garbling copies of a component.
pub struct ComponentGarbling {
    schedule: Schedule,
    keys: GarblingKeys,
    rows: LabelHash,
    blocks: usize,
    table_bytes: usize,
}

/// The words with which copies are garbled, in the order of a list of copies.
pub struct GivenWords {
    /// The offsets of the copies, compressed and in full length.
    pub offsets: (Zeroizing<Vec<u128>>, Words),
    /// Compressed false labels of the inputs, `[copy][input]`.
    pub inputs: Zeroizing<Vec<u128>>,
    /// False labels of the outputs, `[copy][output]`.
    pub outputs: Words,
}

impl GivenWords {
    /// Makes the input of garbling from hashed words: offsets with their compressions, compressed labels of
    /// inputs, and labels of outputs. The labels of inputs and outputs have their permutation bits,
    /// `[copy][wire]`.
    ///
    /// # Panics
    /// If the numbers of bits and words differ, or differ between copies.
    pub fn new(
        offsets: (Zeroizing<Vec<u128>>, Words),
        inputs: (Zeroizing<Vec<u128>>, &[u8]),
        outputs: (Words, &[u8]),
    ) -> Self {
        let ((mut inputs, input_bits), (mut outputs, output_bits)) = (inputs, outputs);
        assert_eq!(
            (inputs.len(), outputs.count()),
            (input_bits.len(), output_bits.len()),
            "each wire must have a bit"
        );
        let copies = offsets.0.len().max(1);
        let [input, output] = [inputs.len() / copies, outputs.count() / copies];
        for (k, (label, &bit)) in inputs.iter_mut().zip(input_bits).enumerate() {
            *label ^= offsets.0[k / input] & u128::from(bit & 1).wrapping_neg();
        }
        output_bits.iter().enumerate().for_each(|(k, &bit)| {
            outputs.add_to(k, offsets.1.word(k / output), bit);
        });
        GivenWords { offsets, inputs, outputs }
    }
}

impl ComponentGarbling {
    /// Prepares garbling or evaluating copies `0..copies` of a component, if labels have this many blocks.
    /// The garbler chooses `start`, and sends it with the hashes of the tables.
    pub fn new(circuit: &Circuit, start: u128, copies: usize, blocks: usize) -> Self {
        let schedule = HalfGates::schedule(circuit);
        let keys = HalfGates::keys(start, copies, &schedule);
        let outputs = circuit.outputs().len();
        let context = "brickwork 2026-11 JIMU keys of the rows of outputs";
        let rows = LabelHash::new(context, start, copies * outputs, blocks);
        ComponentGarbling { schedule, keys, rows, blocks, table_bytes: table_bytes(circuit, blocks) }
    }

    /// Returns the start of the hash keys.
    pub fn start(&self) -> u128 {
        self.keys.start()
    }

    /// Returns the bytes of a copy's tables.
    pub fn table_bytes(&self) -> usize {
        self.table_bytes
    }

    /// Returns the number of copies that are garbled and sent at a time.
    pub fn copies_at_once(&self) -> usize {
        copies_at_once(self.table_bytes)
    }

    /// Garbles copies with these numbers. Returns the tables of each copy: the tables of the AND gates, then
    /// two rows for each output, the row of colour 0 first.
    ///
    /// # Panics
    /// If `given` has too few words.
    pub fn garble(&self, copies: &[u32], given: &GivenWords) -> Result<Vec<Vec<u8>>, Error> {
        let (short, wide) = (&given.offsets.0, &given.offsets.1);
        let outputs = self.schedule.outputs();
        let mut sink = Collect::new(copies.len(), self.table_bytes);
        let offsets: Zeroizing<Vec<Delta>> =
            Zeroizing::new(short.iter().map(|&bits| Delta::new(bits)).collect());
        let mut labels = Zeroizing::new(vec![Label::ZERO; copies.len() * outputs]);
        HalfGates::garble(
            &self.schedule,
            &self.keys,
            copies,
            &offsets,
            bytemuck::cast_slice(&given.inputs),
            &mut labels,
            &mut sink,
        )?;
        let mut tables = sink.finish();
        // For each output, the labels that are hashed.
        let asked = (0..2 * labels.len()).map(|k| {
            let (copy, output) = (k / 2 / outputs, k / 2 % outputs);
            let label = labels[k / 2] ^ offsets[copy].times(k as u8 & 1);
            (label.bits(), copies[copy] as usize * outputs + output)
        });
        let hashes = self.rows.of(&asked.collect::<SecretBlocks<(u128, usize)>>());
        let of_copy = hashes.chunks_exact((2 * self.blocks * outputs).max(1));
        for (copy, (hashes, tables)) in of_copy.zip(&mut tables).enumerate() {
            let colours = labels[copy * outputs..][..outputs].iter().map(|label| colour(label.bits()));
            let words = (copy * outputs..(copy + 1) * outputs).map(|k| given.outputs.word(k));
            let of_output = colours.zip(words).zip(hashes.chunks_exact(2 * self.blocks));
            for ((colour, word), hashes) in of_output {
                // The hashes for the output labels of 0 and of 1, in the order of the colours. Takes constant
                // time.
                let (of_0, of_1) = hashes.split_at(self.blocks);
                let swaps = mask(colour);
                let mut rows = Zeroizing::new([[0; MOST_BLOCKS]; 2]);
                for block in 0..self.blocks {
                    let zero = of_0[block] ^ word[block];
                    let one = of_1[block] ^ word[block] ^ wide.word(copy)[block];
                    let both = (zero ^ one) & swaps;
                    (rows[0][block], rows[1][block]) = (zero ^ both, one ^ both);
                }
                for row in &*rows {
                    tables.extend_from_slice(bytemuck::cast_slice(&row[..self.blocks]));
                }
            }
        }
        Ok(tables)
    }

    /// Returns the hash that binds the garbler to a copy's tables before the challenge.
    pub fn hash(tables: &[u8]) -> [u8; HASH] {
        table_hash(tables)
    }

    /// Evaluates copies with these numbers. `inputs` has the compressed active labels of their inputs,
    /// `[copy][input]`, and `tables` the tables of each copy. Returns the resulting labels, `[copy][output]`,
    /// which are the active labels if a copy is good.
    ///
    /// # Panics
    /// If there are too few labels or tables, or tables are too short.
    pub fn evaluate(&self, copies: &[u32], inputs: &[u128], tables: &[&[u8]]) -> Result<Words, Error> {
        let outputs = self.schedule.outputs();
        let mut labels = Zeroizing::new(vec![Label::ZERO; copies.len() * outputs]);
        let mut source = tables;
        let inputs: &[Label] = bytemuck::cast_slice(inputs);
        HalfGates::evaluate(&self.schedule, &self.keys, copies, inputs, &mut source, &mut labels)?;
        let asked = (0..labels.len())
            .map(|k| (labels[k].bits(), copies[k / outputs] as usize * outputs + k % outputs));
        let hashes = self.rows.of(&asked.collect::<SecretBlocks<(u128, usize)>>());
        let mut active = Words::zeros(16 * self.blocks, labels.len());
        let row = 16 * self.blocks;
        for (k, hash) in hashes.chunks_exact((self.blocks).max(1)).enumerate() {
            let rows =
                &tables[k / outputs][self.table_bytes - 2 * row * outputs..][2 * row * (k % outputs)..];
            let (first, second) = rows[..2 * row].split_at(row);
            let second_counts = mask(colour(labels[k].bits()));
            let rows = first.as_chunks().0.iter().zip(second.as_chunks().0);
            for ((block, hash), (first, second)) in active.word_mut(k).iter_mut().zip(hash).zip(rows) {
                let [first, second] = [first, second].map(|bytes| u128::from_le_bytes(*bytes));
                *block = hash ^ first ^ ((first ^ second) & second_counts);
            }
        }
        Ok(active)
    }
}

#[cfg(test)]
mod tests {
    use brickwork_base::random::Rng;
    use brickwork_circuit::{Bit, Builder};
    use brickwork_primitives::ihash::{SymbolCode, Unsent};
    use brickwork_testing::Replayable as _;

    use super::*;
    use crate::gates::compressed;
    use crate::parameters::HashLevel;

    struct Copies {
        circuit: Circuit,
        garbling: ComponentGarbling,
        numbers: Vec<u32>,
        given: GivenWords,
        inputs: Words,
        code: SymbolCode,
        compression: Unsent,
    }

    /// A component with a product, a sum and a copied input. Three of nine copies are evaluated.
    fn copies(security: u32, rng: &mut Rng) -> Copies {
        let mut builder = Builder::new(3);
        let wires: Vec<Bit> = builder.all_inputs();
        let and = builder.and(wires[0], wires[1]);
        let sum = builder.xor(and, wires[2]);
        let circuit = builder.finish(&[and, !sum, wires[2]]).unwrap();
        let level = HashLevel::of(security).unwrap();
        let code = SymbolCode::new(&level.labels);
        let compression = code.seeded_evaluation(&rng.seed(), 16);
        let garbling = ComponentGarbling::new(&circuit, rng.block(), 9, level.blocks());
        let numbers = vec![1, 8, 5];
        let symbols = level.labels.l();
        let mut offsets = Words::random(symbols, 3, rng);
        while compressed(&code, &compression, &offsets).iter().any(|&short| colour(short) == 0) {
            offsets = Words::random(symbols, 3, rng);
        }
        let [inputs, outputs] = [(); 2].map(|()| Words::random(symbols, 9, rng));
        let short = |words: &Words| compressed(&code, &compression, words);
        let given = GivenWords { offsets: (short(&offsets), offsets), inputs: short(&inputs), outputs };
        Copies { circuit, garbling, numbers, given, inputs, code, compression }
    }

    #[test]
    fn copies_give_the_labels_that_are_hashed() {
        let mut rng = Rng::replayable("test components");
        for security in [40, 64] {
            let Copies { circuit, garbling, numbers, given, inputs, code, compression } =
                copies(security, &mut rng);
            let tables = garbling.garble(&numbers, &given).unwrap();
            assert!(tables.iter().all(|tables| tables.len() == garbling.table_bytes()));
            assert_eq!(garbling.table_bytes(), 32 + 2 * 3 * code.parameters().l());
            let tables: Vec<&[u8]> = tables.iter().map(|tables| &tables[..]).collect();
            for bits in 0..8_u8 {
                let bits = [bits & 1, bits >> 1 & 1, bits >> 2];
                let mut active = inputs.clone();
                (0..9).for_each(|k| active.add_to(k, given.offsets.1.word(k / 3), bits[k % 3]));
                let active = compressed(&code, &compression, &active);
                let labels = garbling.evaluate(&numbers, &active, &tables).unwrap();
                let expected = circuit.evaluate(&bits.map(|bit| bit == 1));
                for k in 0..9 {
                    let mut label = given.outputs.range(k..k + 1);
                    label.add_to(0, given.offsets.1.word(k / 3), expected[k % 3].into());
                    assert!(bool::from(labels.is(k, label.word(0))));
                }
            }
        }
    }

    /// The same values give the same tables, one by one or side by side, and the hash detects any difference.
    #[test]
    fn row_05_copies_are_garbled_again() {
        let mut rng = Rng::replayable("test components");
        let Copies { garbling, numbers, mut given, .. } = copies(40, &mut rng);
        let hashes = |numbers: &[u32], given: &GivenWords| -> Vec<[u8; HASH]> {
            garbling
                .garble(numbers, given)
                .unwrap()
                .iter()
                .map(|tables| ComponentGarbling::hash(tables))
                .collect()
        };
        let all = hashes(&numbers, &given);
        for (k, &number) in numbers.iter().enumerate() {
            let one = GivenWords {
                offsets: (Zeroizing::new(vec![given.offsets.0[k]]), given.offsets.1.range(k..k + 1)),
                inputs: Zeroizing::new(given.inputs[3 * k..3 * k + 3].to_vec()),
                outputs: given.outputs.range(3 * k..3 * k + 3),
            };
            assert_eq!(hashes(&[number], &one), [all[k]]);
        }
        given.inputs[4] ^= 1 << 77;
        given.outputs.symbols_mut(8)[47] ^= 1;
        let others = hashes(&numbers, &given);
        assert_eq!(
            others.iter().zip(&all).map(|(one, other)| one == other).collect::<Vec<_>>(),
            [true, false, false]
        );
        assert_ne!(hashes(&[2, 8, 5], &given)[0], all[0]);
    }
}
