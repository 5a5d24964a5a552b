//! The items of a stock as records. Kept is what a later program needs: of gates the words of the first one
//! in each bucket, to which programs are soldered, and at the evaluator what the bucket is evaluated with; of
//! the garbler's wires the words, at the evaluator their hashes; of OTs their labels.

use std::ops::Range;

use brickwork_base::Error;
use brickwork_kernels::Secrets;
use brickwork_primitives::ihash::{Hashes, Receiver, Words};
use brickwork_session::stock::records::{In, Out, Records};
use zeroize::Zeroizing;

use super::origins::Header;
use crate::buckets::HashedWires;
use crate::gates::Garbling;
use crate::open::CheckedChoices;
use crate::parameters::Level;

/// Words of an item: labels, and permutation messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    labels: usize,
    permutations: usize,
}

impl Shape {
    /// Of the first gate of a bucket: left, right, output.
    pub const GATES: Shape = Shape { labels: 3, permutations: 3 };
    /// Of a wire of the garbler's.
    pub const INPUTS: Shape = Shape { labels: 1, permutations: 1 };
    /// Of an OT, the label of choice 0.
    pub const OTS: Shape = Shape { labels: 1, permutations: 0 };
}

/// What items are made of besides their records.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub header: &'a Header,
    pub level: &'a Level,
    pub shape: Shape,
    /// The evaluator's hashes: of labels and of permutation messages.
    pub hashes: Option<[&'a Receiver; 2]>,
}

/// The values of some items, `each` of them an item.
fn values(items: &Range<usize>, each: usize) -> Range<usize> {
    items.start * each..items.end * each
}

fn other_role() -> Error {
    Error::Stock("the other role's batch".into())
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

    /// Reads hashes of labels (0) or of permutation messages (1).
    fn read_hashes(&self, of: usize, record: &mut In, count: usize) -> Result<Hashes, Error> {
        let words = [&self.level.labels, &self.level.permutations][of].w();
        self.hashes()?[of].stored(record.pods(count * words.div_ceil(16))?)
    }

    fn read_wires(&self, record: &mut In, count: usize) -> Result<HashedWires, Error> {
        let labels = self.read_hashes(0, record, count)?;
        Ok(HashedWires { labels, permutations: self.read_hashes(1, record, count)? })
    }

    /// Makes what hashes the labels of the batch's gates.
    fn garbling(&self) -> Result<Garbling, Error> {
        let copies = self.header.gates()?.copies() as usize;
        Ok(Garbling::new(self.header.start, copies, self.level.blocks()))
    }
}

/// Items of any kind at the garbler: words, `[item][word]`.
pub(crate) struct GarblerItems {
    pub shape: Shape,
    pub labels: Words,
    pub permutations: Words,
}

impl GarblerItems {
    /// Returns none of this shape.
    pub fn none(shape: Shape, level: &Level) -> Self {
        let [labels, permutations] =
            [&level.labels, &level.permutations].map(|hash| Words::zeros(hash.l(), 0));
        GarblerItems { shape, labels, permutations }
    }

    /// Puts items of another batch behind these.
    pub fn add(&mut self, others: &GarblerItems) {
        self.labels.append(&others.labels);
        self.permutations.append(&others.permutations);
    }
}

impl Records for GarblerItems {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.labels.count() / self.shape.labels
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        write_words(&self.labels, values(&items, self.shape.labels), out);
        if self.shape.permutations > 0 {
            write_words(&self.permutations, values(&items, self.shape.permutations), out);
        }
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, record: &mut In) -> Result<Self, Error> {
        let Context { level, shape, .. } = *context;
        let labels = read_words(record, level.labels.l(), count * shape.labels)?;
        let permutations = read_words(record, level.permutations.l(), count * shape.permutations)?;
        Ok(GarblerItems { shape, labels, permutations })
    }

    fn some(&self, items: Range<usize>) -> Self {
        GarblerItems {
            shape: self.shape,
            labels: self.labels.range(values(&items, self.shape.labels)),
            permutations: self.permutations.range(values(&items, self.shape.permutations)),
        }
    }

    fn append(&mut self, others: Self) -> Result<(), Error> {
        self.add(&others);
        Ok(())
    }
}

/// Buckets of gates of one batch, as the evaluator keeps them.
pub(crate) struct EvaluatorGates {
    /// Gates in a bucket.
    pub bucket: usize,
    /// Hashes of the first gates' wires: `[bucket][left, right, output]`.
    pub hashes: HashedWires,
    /// Of all gates, `[bucket][gate]`: their numbers, and their rows, two each.
    pub numbers: Vec<u32>,
    pub rows: Words,
    /// What leads from the first gate to the others, `[bucket][gate behind the first]`: δ of left operands,
    /// compressions of δ of both, δ of outputs, which leads back.
    pub left: Words,
    pub short: [Zeroizing<Vec<u128>>; 2],
    pub outputs: Words,
    /// What hashes their labels, when all are there.
    pub garbling: Option<Garbling>,
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
        let cut = context.header.gates()?;
        let (bucket, l) = (cut.bucket as usize, context.level.labels.l());
        let others = count * (bucket - 1);
        let hashes = context.read_wires(record, 3 * count)?;
        let numbers: Vec<u32> = record.pods(count * bucket)?;
        if numbers.iter().any(|&number| u64::from(number) >= cut.copies()) {
            return Err(Error::Stock("a record names a gate that was not made".into()));
        }
        let rows = read_words(record, l, 2 * count * bucket)?;
        let left = read_words(record, l, others)?;
        let short = [record.pods(others)?, record.pods(others)?].map(Zeroizing::new);
        let outputs = read_words(record, l, others)?;
        Ok(EvaluatorGates { bucket, hashes, numbers, rows, left, short, outputs, garbling: None })
    }

    fn some(&self, items: Range<usize>) -> Self {
        let others = values(&items, self.bucket - 1);
        EvaluatorGates {
            bucket: self.bucket,
            hashes: self.hashes.range(values(&items, 3)),
            numbers: self.numbers[values(&items, self.bucket)].to_vec(),
            rows: self.rows.range(values(&items, 2 * self.bucket)),
            left: self.left.range(others.clone()),
            short: self.short.each_ref().map(|short| Zeroizing::new(short[others.clone()].to_vec())),
            outputs: self.outputs.range(others),
            garbling: None,
        }
    }

    fn append(&mut self, others: Self) -> Result<(), Error> {
        self.hashes.append(&others.hashes);
        self.numbers.extend(&others.numbers);
        self.rows.append(&others.rows);
        self.left.append(&others.left);
        // Both parties know these.
        self.short.iter_mut().zip(&others.short).for_each(|(mine, others)| mine.extend_from_slice(others));
        self.outputs.append(&others.outputs);
        Ok(())
    }

    fn derive(&mut self, context: &Context<'_>) -> Result<(), Error> {
        self.garbling = Some(context.garbling()?);
        Ok(())
    }
}

/// Wires of the garbler's of one batch, as the evaluator keeps them: their hashes.
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

    fn some(&self, items: Range<usize>) -> Self {
        EvaluatorInputs(self.0.range(items))
    }

    fn append(&mut self, others: Self) -> Result<(), Error> {
        self.0.append(&others.0);
        Ok(())
    }
}

/// OTs as the evaluator keeps them: its choice, its label, and the hash of that of choice 0.
pub(crate) struct EvaluatorOts {
    pub hashes: Hashes,
    pub choices: Secrets<u8>,
    pub labels: Words,
}

impl EvaluatorOts {
    /// Returns the choices: labels were compared with their hashes before they were kept.
    pub fn checked(&self) -> CheckedChoices<'_> {
        CheckedChoices(&self.choices)
    }

    /// Puts OTs of another batch behind these.
    pub fn add(&mut self, others: &EvaluatorOts) {
        self.hashes.append(&others.hashes);
        // What grows leaves copies behind; so it is made anew.
        self.choices = Secrets::new([&self.choices[..], &others.choices].concat());
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
        let choices = Secrets::new(record.pods::<u8>(count)?);
        if choices.iter().fold(0, |all, choice| all | choice) > 1 {
            return Err(Error::Stock("a record holds a choice that is no bit".into()));
        }
        Ok(EvaluatorOts { hashes, choices, labels: read_words(record, context.level.labels.l(), count)? })
    }

    fn some(&self, items: Range<usize>) -> Self {
        EvaluatorOts {
            hashes: self.hashes.range(items.clone()),
            choices: Secrets::new(self.choices[items.clone()].to_vec()),
            labels: self.labels.range(items),
        }
    }

    fn append(&mut self, others: Self) -> Result<(), Error> {
        self.add(&others);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_base::random::Rng;
    use brickwork_primitives::cut_and_choose::Bucketing;
    use brickwork_testing::Replayable as _;

    use crate::buckets::tests::Hash;
    use crate::stored::origins::Cut;

    /// Records that name what is not there are refused: a choice that is no bit, a gate that was not made,
    /// something behind the last symbol of a word, the other role's.
    #[test]
    fn row_25_malformed_records_are_refused() {
        let (mut rng, level) = (Rng::replayable("test records"), Level::of_stock(40).unwrap());
        let hashes = [&level.labels, &level.permutations].map(|hash| Hash::new(hash, &mut rng));
        let cut = Bucketing { slots: 1, bucket: 2, opened: 3 };
        let header = Header::new(40, Some(Cut(cut)), 7);
        let receivers = [&hashes[0].receiver.0, &hashes[1].receiver.0];
        let context = |hashes| Context { header: &header, level: &level, shape: Shape::OTS, hashes };
        let decoded = |bytes: &[u8]| {
            EvaluatorOts::decode(&context(Some(receivers)), 1, &mut In::new(bytes)).map(|_| ())
        };
        let ots = |choice: u8, behind: u8| {
            let mut bytes = vec![0; 32 + 1 + 48];
            (bytes[31], bytes[32]) = (behind, choice);
            bytes
        };
        decoded(&ots(1, 0)).unwrap();
        assert!(decoded(&ots(2, 0)).is_err_and(|error| error.to_string().contains("no bit")));
        // A hash has 31 symbols.
        assert!(decoded(&ots(1, 1)).is_err_and(|error| error.to_string().contains("malformed")));
        let other = EvaluatorOts::decode(&context(None), 1, &mut In::new(&ots(1, 0)));
        assert!(other.is_err_and(|error| error.to_string().contains("other role")));
        let gates = |number: u32| {
            let mut out = Out::default();
            out.pods(&[0_u128; 12]);
            out.pods(&[4, number]);
            out.pods(&[0_u128; 4 * 3 + 3 + 2 + 3]);
            let (bytes, context) = (out.finish(), context(Some(receivers)));
            let mut record = In::new(&bytes);
            EvaluatorGates::decode(&context, 1, &mut record).and_then(|_| record.end())
        };
        gates(3).unwrap();
        assert!(gates(5).is_err_and(|error| error.to_string().contains("not made")));
    }
}
