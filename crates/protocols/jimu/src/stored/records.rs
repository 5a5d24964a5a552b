//! The records of stock items. A record contains the data that a later program needs. For buckets, these are
//! the words of the operands and of the outputs. The operands are those of the first gate or copy, to which
//! programs are soldered. The evaluator's records also have the data for evaluation. For wires of the
//! garbler's inputs, these are their words, or their hashes at the evaluator. For OTs, these are their
//! labels.

use std::ops::Range;

use brickwork_base::Error;
use brickwork_circuit::Circuit;
use brickwork_kernels::SecretBlocks;
use brickwork_primitives::ihash::{Hashes, Receiver, Words};
use brickwork_protocol::stock::records::{In, Out, Records};
use zeroize::Zeroizing;

use super::origins::Header;
use crate::buckets::{HashedWires, PermutedLabels};
use crate::build::Back;
use crate::components::{ComponentGarbling, table_bytes};
use crate::gates::GateHashKeys;
use crate::layout::CopyKind;
use crate::open::CheckedChoices;
use crate::parameters::HashLevel;

/// The words of an item. A bucket has the words of its operands and then of its outputs. If copies have their
/// own offsets, the offset of the first copy follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    inputs: usize,
    outputs: usize,
    offset: bool,
    /// True if wires have permutation messages.
    messages: bool,
}

impl Shape {
    /// The shape of a wire of the garbler.
    pub const INPUTS: Shape = Shape { inputs: 1, outputs: 0, offset: false, messages: true };
    /// The shape of an OT, which has the label of choice 0.
    pub const OTS: Shape = Shape { messages: false, ..Shape::INPUTS };

    /// Returns the shape of a bucket of this kind.
    pub fn of(kind: &CopyKind) -> Self {
        let [inputs, outputs] = [kind.inputs(), kind.outputs()];
        Shape { inputs, outputs, offset: kind.has_offsets(), messages: true }
    }

    fn labels(&self) -> usize {
        self.inputs + self.outputs + usize::from(self.offset)
    }

    fn permutations(&self) -> usize {
        if self.messages { self.inputs + self.outputs } else { 0 }
    }

    /// Returns the indices of the operands of this many items among all words, if each item has `each` words.
    fn operands(self, count: usize, each: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
        let inputs = self.inputs.max(1);
        (0..count * self.inputs).map(move |k| k / inputs * each + k % inputs)
    }

    /// Returns the indices of the outputs of this many items, if each item has `each` words.
    fn outputs(self, count: usize, each: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
        let outputs = self.outputs.max(1);
        (0..count * self.outputs).map(move |k| k / outputs * each + self.inputs + k % outputs)
    }

    /// Returns the indices of the offsets of this many items, which are the last labels of their items.
    fn offsets(self, count: usize) -> impl ExactSizeIterator<Item = usize> + Clone {
        (0..count).map(move |item| (item + 1) * self.labels() - 1)
    }
}

/// The data, besides the records, from which items are restored.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub header: &'a Header,
    pub level: &'a HashLevel,
    pub shape: Shape,
    /// The circuit of a component, for buckets of copies.
    pub circuit: Option<&'a Circuit>,
    /// The evaluator's receivers of hashes: of labels and of permutation messages.
    pub hashes: Option<[&'a Receiver; 2]>,
}

/// Returns the indices of the values of some items, with `each` values per item.
fn values(items: &Range<usize>, each: usize) -> Range<usize> {
    items.start * each..items.end * each
}

fn other_role() -> Error {
    Error::Stock("the batch belongs to the other role".into())
}

fn read_words(record: &mut In, symbols: usize, count: usize) -> Result<Words, Error> {
    Words::stored(symbols, record.pods(count * symbols.div_ceil(16))?)
}

fn write_words(words: &Words, some: Range<usize>, out: &mut Out) {
    let blocks = words.blocks();
    out.pods(&words.data()[some.start * blocks..some.end * blocks]);
}

fn write_hashes(hashes: &Hashes, some: Range<usize>, out: &mut Out) {
    out.pods(hashes.range(some).data());
}

impl<'a> Context<'a> {
    fn hashes(&self) -> Result<[&'a Receiver; 2], Error> {
        self.hashes.ok_or_else(other_role)
    }

    /// Reads hashes of labels (`of` is 0) or of permutation messages (`of` is 1).
    fn read_hashes(&self, of: usize, record: &mut In, count: usize) -> Result<Hashes, Error> {
        let words = [&self.level.labels, &self.level.permutations][of].w();
        self.hashes()?[of].stored(record.pods(count * words.div_ceil(16))?)
    }

    fn read_wires(&self, record: &mut In, count: usize) -> Result<HashedWires, Error> {
        let labels = self.read_hashes(0, record, count)?;
        Ok(HashedWires { labels, permutations: self.read_hashes(1, record, count)? })
    }

    /// Prepares the garbling hash for the batch's gates.
    fn garbling(&self) -> Result<GateHashKeys, Error> {
        let copies = self.header.bucketing()?.copies() as usize;
        Ok(GateHashKeys::new(self.header.start, copies, self.level.blocks()))
    }

    /// Reads the numbers of the items in this many buckets.
    fn read_numbers(&self, record: &mut In, count: usize) -> Result<Vec<u32>, Error> {
        let cut = self.header.bucketing()?;
        let numbers: Vec<u32> = record.pods(count * cut.bucket as usize)?;
        match numbers.iter().all(|&number| u64::from(number) < cut.copies()) {
            true => Ok(numbers),
            false => Err(Error::Stock("a stored record names a gate or a copy that was not made".into())),
        }
    }

    fn circuit(&self) -> Result<&'a Circuit, Error> {
        let other = || Error::Stock("a batch belongs to a component that the program does not have".into());
        self.circuit.ok_or_else(other)
    }
}

pub(crate) struct GarblerItems {
    pub shape: Shape,
    pub labels: Words,
    pub permutations: Words,
}

impl GarblerItems {
    /// Returns an empty list of items with this shape.
    pub fn none(shape: Shape, level: &HashLevel) -> Self {
        let [labels, permutations] =
            [&level.labels, &level.permutations].map(|hash| Words::zeros(hash.l(), 0));
        GarblerItems { shape, labels, permutations }
    }

    /// Appends items of another batch.
    pub fn add(&mut self, others: &GarblerItems) {
        self.labels.append(&others.labels);
        self.permutations.append(&others.permutations);
    }

    /// Returns the operands of the buckets, `[bucket][input]`.
    pub fn operands(&self) -> PermutedLabels {
        let (shape, count) = (self.shape, self.count());
        PermutedLabels {
            labels: self.labels.select(shape.operands(count, shape.labels())),
            permutations: self.permutations.select(shape.operands(count, shape.permutations())),
        }
    }

    /// Returns the outputs of the buckets, `[bucket][output]`.
    pub fn outputs(&self) -> PermutedLabels {
        let (shape, count) = (self.shape, self.count());
        PermutedLabels {
            labels: self.labels.select(shape.outputs(count, shape.labels())),
            permutations: self.permutations.select(shape.outputs(count, shape.permutations())),
        }
    }

    /// Returns the offsets of the first copies, if copies have their own.
    pub fn offsets(&self) -> Option<Words> {
        self.shape.offset.then(|| self.labels.select(self.shape.offsets(self.count())))
    }
}

impl Records for GarblerItems {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.labels.count() / self.shape.labels()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        write_words(&self.labels, values(&items, self.shape.labels()), out);
        if self.shape.permutations() > 0 {
            write_words(&self.permutations, values(&items, self.shape.permutations()), out);
        }
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, record: &mut In) -> Result<Self, Error> {
        let Context { level, shape, .. } = *context;
        let labels = read_words(record, level.labels.l(), count * shape.labels())?;
        let permutations = read_words(record, level.permutations.l(), count * shape.permutations())?;
        Ok(GarblerItems { shape, labels, permutations })
    }
}

/// Buckets of gates of one batch, as the evaluator keeps them.
pub(crate) struct EvaluatorGates {
    /// The bucket size.
    pub bucket: usize,
    /// Hashes of the wires of the first gates: `[bucket][left, right, output]`.
    pub hashes: HashedWires,
    /// The numbers of all gates, `[bucket][gate]`, and their rows, two for each gate.
    pub numbers: Vec<u32>,
    pub rows: Words,
    /// The solderings from the first gate to the others, `[bucket][gate after the first]`: δ of left
    /// operands, compressions of δ of both operands, and δ of outputs, which lead back to the first gate.
    pub left: Words,
    pub short: [Zeroizing<Vec<u128>>; 2],
    pub outputs: Words,
    /// The hash for the gates' labels, set after all records are read.
    pub garbling: Option<GateHashKeys>,
}

/// Buckets of copies of a component of one batch, as the evaluator keeps them.
pub(crate) struct EvaluatorCopies {
    pub shape: Shape,
    /// The bucket size.
    pub bucket: usize,
    /// Hashes of the first copies' inputs and of the buckets' outputs, `[bucket][input, then output]`.
    pub hashes: HashedWires,
    /// The numbers of all copies, `[bucket][copy]`, their tables, and the hashes of their offsets.
    pub numbers: Vec<u32>,
    pub tables: Vec<u8>,
    pub offsets: Hashes,
    /// Hashes of the labels of the copies' outputs, `[bucket][copy][output]`.
    pub outputs: Hashes,
    /// The solderings to the buckets' outputs, and S of each copy.
    pub back: Back,
    /// The solderings from the first copy to the others: compressions of δ, `[bucket][copy after the
    /// first][input]`.
    pub within: Zeroizing<Vec<u128>>,
    /// The data for evaluating the copies, set after all records are read.
    pub garbling: Option<Box<ComponentGarbling>>,
}

/// Buckets of one batch, as the evaluator keeps them.
pub(crate) enum EvaluatorBuckets {
    Gates(EvaluatorGates),
    Copies(EvaluatorCopies),
}

impl EvaluatorBuckets {
    fn hashes(&self) -> (Shape, &HashedWires) {
        match self {
            EvaluatorBuckets::Gates(gates) => (Shape::of(&CopyKind::Gate), &gates.hashes),
            EvaluatorBuckets::Copies(copies) => (copies.shape, &copies.hashes),
        }
    }

    /// Returns the number of buckets.
    pub fn count(&self) -> usize {
        match self {
            EvaluatorBuckets::Gates(gates) => gates.count(),
            EvaluatorBuckets::Copies(copies) => copies.count(),
        }
    }

    /// Returns hashes of the operands of the buckets, `[bucket][input]`.
    pub fn operands(&self) -> HashedWires {
        let (shape, hashes) = self.hashes();
        hashes.select(shape.operands(self.count(), shape.permutations()))
    }

    /// Returns hashes of the outputs of the buckets, `[bucket][output]`.
    pub fn wires(&self) -> HashedWires {
        let (shape, hashes) = self.hashes();
        hashes.select(shape.outputs(self.count(), shape.permutations()))
    }

    /// Returns the hashes of the first copies' offsets, if copies have their own.
    pub fn offsets(&self) -> Option<Hashes> {
        match self {
            EvaluatorBuckets::Gates(_) => None,
            EvaluatorBuckets::Copies(EvaluatorCopies { bucket, offsets, .. }) => {
                let count = self.count();
                Some(offsets.select((0..count).map(|k| k * bucket)))
            }
        }
    }
}

impl Records for EvaluatorGates {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.numbers.len() / self.bucket
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        write_hashes(&self.hashes.labels, values(&items, 3), out);
        write_hashes(&self.hashes.permutations, values(&items, 3), out);
        out.pods(&self.numbers[values(&items, self.bucket)]);
        write_words(&self.rows, values(&items, 2 * self.bucket), out);
        let others = values(&items, self.bucket - 1);
        write_words(&self.left, others.clone(), out);
        self.short.iter().for_each(|short| out.pods(&short[others.clone()]));
        write_words(&self.outputs, others, out);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, record: &mut In) -> Result<Self, Error> {
        let (bucket, l) = (context.header.bucketing()?.bucket as usize, context.level.labels.l());
        let others = count * (bucket - 1);
        let hashes = context.read_wires(record, 3 * count)?;
        let numbers = context.read_numbers(record, count)?;
        let rows = read_words(record, l, 2 * count * bucket)?;
        let left = read_words(record, l, others)?;
        let short = [record.pods(others)?, record.pods(others)?].map(Zeroizing::new);
        let outputs = read_words(record, l, others)?;
        Ok(EvaluatorGates { bucket, hashes, numbers, rows, left, short, outputs, garbling: None })
    }

    fn derive(&mut self, context: &Context<'_>) -> Result<(), Error> {
        self.garbling = Some(context.garbling()?);
        Ok(())
    }
}

impl Records for EvaluatorCopies {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.numbers.len() / self.bucket
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        let Shape { inputs, outputs, .. } = self.shape;
        let wires = values(&items, inputs + outputs);
        write_hashes(&self.hashes.labels, wires.clone(), out);
        write_hashes(&self.hashes.permutations, wires, out);
        let copies = values(&items, self.bucket);
        out.pods(&self.numbers[copies.clone()]);
        write_hashes(&self.offsets, copies.clone(), out);
        out.pods(&self.back.offsets[copies.clone()]);
        let of_outputs = values(&copies, outputs);
        write_hashes(&self.outputs, of_outputs.clone(), out);
        out.pods(&self.back.outputs[of_outputs.clone()]);
        out.pods(&self.back.bits[of_outputs]);
        out.pods(&self.within[values(&items, (self.bucket - 1) * inputs)]);
        out.pods(&self.tables[self.tables_of(&items)]);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, record: &mut In) -> Result<Self, Error> {
        let Context { header, level, shape, .. } = *context;
        let (bucket, Shape { inputs, outputs, .. }) = (header.bucketing()?.bucket as usize, shape);
        let (copies, each) = (count * bucket, table_bytes(context.circuit()?, level.blocks()));
        let hashes = context.read_wires(record, count * (inputs + outputs))?;
        let numbers = context.read_numbers(record, count)?;
        let offsets = context.read_hashes(0, record, copies)?;
        let of_offsets = Zeroizing::new(record.pods(copies)?);
        let of_outputs = context.read_hashes(0, record, copies * outputs)?;
        let back = Back {
            offsets: of_offsets,
            outputs: Zeroizing::new(record.pods(copies * outputs)?),
            bits: Zeroizing::new(record.pods(copies * outputs)?),
        };
        if back.bits.iter().any(|&bit| bit > 1) {
            return Err(Error::Stock(
                "a stored record contains a sum of permutation bits that is neither 0 nor 1".into(),
            ));
        }
        let within = Zeroizing::new(record.pods(count * (bucket - 1) * inputs)?);
        let tables = record.pods(copies * each)?;
        let (outputs, garbling) = (of_outputs, None);
        Ok(EvaluatorCopies {
            shape,
            bucket,
            hashes,
            numbers,
            tables,
            offsets,
            outputs,
            back,
            within,
            garbling,
        })
    }

    fn derive(&mut self, context: &Context<'_>) -> Result<(), Error> {
        let (copies, blocks) = (context.header.bucketing()?.copies() as usize, context.level.blocks());
        let garbling = ComponentGarbling::new(context.circuit()?, context.header.start, copies, blocks);
        self.garbling = Some(Box::new(garbling));
        Ok(())
    }
}

impl EvaluatorCopies {
    /// Returns the range of the tables of some buckets.
    fn tables_of(&self, items: &Range<usize>) -> Range<usize> {
        values(items, self.tables.len() / self.count().max(1))
    }
}

/// The garbler's wires of one batch, as the evaluator stores them: their hashes.
pub(crate) struct EvaluatorInputs(pub HashedWires);

impl Records for EvaluatorInputs {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.0.labels.count()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        write_hashes(&self.0.labels, items.clone(), out);
        write_hashes(&self.0.permutations, items, out);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, record: &mut In) -> Result<Self, Error> {
        context.read_wires(record, count).map(EvaluatorInputs)
    }
}

/// OTs as the evaluator stores them: its choice, its label, and the hash of the label of choice 0.
pub(crate) struct EvaluatorOts {
    pub hashes: Hashes,
    pub choices: SecretBlocks<u8>,
    pub labels: Words,
}

impl EvaluatorOts {
    /// Returns the choices. The labels were compared with their hashes before they were stored.
    pub fn checked(&self) -> CheckedChoices<'_> {
        CheckedChoices(&self.choices)
    }

    /// Appends OTs of another batch.
    pub fn add(&mut self, others: &EvaluatorOts) {
        self.hashes.append(&others.hashes);
        // A growing vector leaves copies behind, so new vectors are allocated.
        self.choices = SecretBlocks::new([&self.choices[..], &others.choices].concat());
        self.labels.append(&others.labels);
    }
}

impl Records for EvaluatorOts {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.choices.len()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        write_hashes(&self.hashes, items.clone(), out);
        out.pods(&self.choices[items.clone()]);
        write_words(&self.labels, items, out);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, record: &mut In) -> Result<Self, Error> {
        let hashes = context.read_hashes(0, record, count)?;
        let choices = SecretBlocks::new(record.pods::<u8>(count)?);
        if choices.iter().fold(0, |all, choice| all | choice) > 1 {
            return Err(Error::Stock("a stored record contains a choice that is neither 0 nor 1".into()));
        }
        Ok(EvaluatorOts { hashes, choices, labels: read_words(record, context.level.labels.l(), count)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use brickwork_base::random::Rng;
    use brickwork_circuit::{Builder, Component, Port, Type};
    use brickwork_primitives::cut_and_choose::Bucketing;
    use brickwork_protocol::stock::records::rewritten;
    use brickwork_testing::Replayable as _;

    use crate::buckets::tests::Hash;

    /// Malformed records are refused: a choice that is neither 0 nor 1, a gate that was not made, bytes after
    /// the last symbol of a word, or a record of the other role.
    #[test]
    fn row_25_malformed_records_are_refused() {
        let (mut rng, level) = (Rng::replayable("test records"), HashLevel::of_stock(40).unwrap());
        let hashes = [&level.labels, &level.permutations].map(|hash| Hash::new(hash, &mut rng));
        let cut = Bucketing { slots: 1, bucket: 2, opened: 3 };
        let header = Header::new(40, Some(cut), 7);
        let receivers = [&hashes[0].receiver.0, &hashes[1].receiver.0];
        let of = |shape, circuit| Context { header: &header, level: &level, shape, circuit, hashes: None };
        let context = |hashes| Context { hashes, ..of(Shape::OTS, None) };
        let decoded = |bytes: &[u8]| {
            EvaluatorOts::decode(&context(Some(receivers)), 1, &mut In::new(bytes)).map(|_| ())
        };
        let ots = |choice: u8, behind: u8| {
            let mut bytes = vec![0; 32 + 1 + 48];
            (bytes[31], bytes[32]) = (behind, choice);
            bytes
        };
        decoded(&ots(1, 0)).unwrap();
        assert!(decoded(&ots(2, 0)).is_err_and(|error| error.to_string().contains("neither 0 nor 1")));
        // A hash has 31 symbols.
        assert!(decoded(&ots(1, 1)).is_err_and(|error| error.to_string().contains("malformed")));
        let other = EvaluatorOts::decode(&context(None), 1, &mut In::new(&ots(1, 0)));
        assert!(other.is_err_and(|error| error.to_string().contains("other role")));
        let gates = |number: u32| {
            let mut out = Out::of(1);
            out.pods(&[0_u128; 12]);
            out.pods(&[4, number]);
            out.pods(&[0_u128; 4 * 3 + 3 + 2 + 3]);
            let (bytes, context) = (out.plain(), context(Some(receivers)));
            let mut record = In::new(&bytes);
            EvaluatorGates::decode(&context, 1, &mut record).and_then(|_| record.end())
        };
        gates(3).unwrap();
        assert!(gates(5).is_err_and(|error| error.to_string().contains("not made")));
        let component = component();
        let copies = |number: u32, bit: u8, circuit| {
            let mut out = Out::of(1);
            // The record has hashes of three wires, numbers, hashes of offsets and opening values of S,
            // hashes of two outputs, opening values of δ and bits, δ of two inputs, and tables.
            out.pods(&[0_u128; 12]);
            out.pods(&[4, number]);
            out.pods(&[0_u128; 2 * 4 + 2 * 4]);
            out.pods(&[1, bit]);
            out.pods(&[0_u128; 2]);
            out.pods(&vec![0_u8; 2 * table_bytes(&component.circuit, level.blocks())]);
            let (bytes, shape) = (out.plain(), Shape::of(&CopyKind::Component(&component)));
            let mut record = In::new(&bytes);
            let context = Context { hashes: Some(receivers), ..of(shape, circuit) };
            EvaluatorCopies::decode(&context, 1, &mut record).and_then(|_| record.end())
        };
        let circuit = Some(&*component.circuit);
        copies(3, 0, circuit).unwrap();
        for (number, bit, circuit, why) in
            [(5, 0, circuit, "not made"), (3, 2, circuit, "neither 0 nor 1"), (3, 0, None, "does not have")]
        {
            let refused = copies(number, bit, circuit).map_err(|error| error.to_string());
            assert!(refused.is_err_and(|error| error.contains(why)), "{why}");
        }
    }

    fn component() -> Component {
        let mut builder = Builder::new(2);
        let wires = builder.all_inputs();
        let product = builder.and(wires[0], wires[1]);
        Component {
            name: "product".into(),
            inputs: vec![Port::new("in", Type::Uint(2))],
            outputs: vec![Port::new("out", Type::Uint(1))],
            circuit: Arc::new(builder.finish(&[product]).unwrap()),
        }
    }

    /// Buckets of copies from two records, split at any position, equal those from a single record.
    #[test]
    fn what_lies_in_two_records_is_joined() {
        const ITEMS: usize = 5;
        const COPIES: usize = 3 * ITEMS;
        let (mut rng, level) = (Rng::replayable("test records"), HashLevel::of_stock(40).unwrap());
        let mut hashes = [&level.labels, &level.permutations].map(|hash| Hash::new(hash, &mut rng));
        let component = component();
        let shape = Shape::of(&CopyKind::Component(&component));
        let mut random = |of: usize, count: usize| hashes[of].random(count).1;
        let wires = HashedWires { labels: random(0, 3 * ITEMS), permutations: random(1, 3 * ITEMS) };
        let [offsets, outputs] = [(); 2].map(|()| random(0, COPIES));
        let mut block = || rng.block();
        let mut pairs = || Zeroizing::new((0..COPIES).map(|_| [block(), block()]).collect::<Vec<_>>());
        let back = Back {
            offsets: pairs(),
            outputs: pairs(),
            bits: Zeroizing::new((0..COPIES).map(|k| (k % 3 == 1).into()).collect()),
        };
        let within = Zeroizing::new((0..2 * 2 * ITEMS).map(|_| rng.block()).collect());
        let mut tables = vec![0; COPIES * table_bytes(&component.circuit, level.blocks())];
        rng.fill(&mut tables);
        let whole = EvaluatorCopies {
            shape,
            bucket: 3,
            hashes: wires,
            numbers: (1..=COPIES as u32).rev().collect(),
            tables,
            offsets,
            outputs,
            back,
            within,
            garbling: None,
        };
        let cut = Bucketing { slots: 5, bucket: 3, opened: 3 };
        let header = Header::new(40, Some(cut), 7);
        let context = Context {
            header: &header,
            level: &level,
            shape,
            circuit: Some(&component.circuit),
            hashes: Some([&hashes[0].receiver.0, &hashes[1].receiver.0]),
        };
        let write = |all: &EvaluatorCopies| {
            let mut out = Out::of(ITEMS);
            all.encode(0..ITEMS, &mut out).unwrap();
            out.plain()
        };
        for at in 1..ITEMS {
            let again = rewritten(&whole, at, &context).unwrap();
            assert_eq!(again.count(), ITEMS);
            assert_eq!(*write(&again), *write(&whole), "the second begins at {at}");
        }
    }
}
