//! The stored form of items.
//!
//! A record has the data that a later program needs. For the heads of buckets and the wires of inputs, to
//! which programs are soldered, this includes commitments. For all other gates and authenticators, it is only
//! what the evaluator needs to evaluate them. The garbler stores the positions of its commitments in its
//! streams, because its seeds recompute the commitments, and the gates' outputs can be garbled again. For a
//! built program each party stores its data for evaluation.

use std::ops::Range;

use zeroize::Zeroizing;

use super::origins::{BatchPart, Header};
use crate::evaluate::GarblerReady;
use crate::gates::GateKeys;
use crate::inputs::{GarblerInputs, InputBuckets, offsets_of, wires_of};
use crate::instance::CommitmentSender;
use crate::layout::Layout;
use crate::online::{EvaluatorReady, values};
use crate::ots::{EvaluatorOts, GarblerOts};
use crate::preprocess::{AndBuckets, GarblerHeads};
use crate::walk::Joined;
use brickwork_base::Error;
use brickwork_base::label::Delta;
use brickwork_kernels::SecretBlocks;
use brickwork_primitives::Labels;
use brickwork_primitives::authenticator::{AuthenticatorKind, Hasher};
use brickwork_primitives::commit::{Committed, Lsb, Places, Sender as _, Shares};
use brickwork_primitives::solder::GarblerWire;
use brickwork_protocol::SessionId;
use brickwork_protocol::stock::records::{In, Out, Records};

/// The data, besides the records, that is needed to read items.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub header: &'a Header,
    pub session: &'a SessionId,
    /// The number of words of a share.
    pub words: usize,
    /// The garbler's commitments and offset, which recompute its gates. It is `None` at the evaluator.
    pub garbler: Option<(&'a CommitmentSender, Delta)>,
    /// The layout of a built program.
    pub layout: Option<&'a Layout<'a>>,
}

impl<'a> Context<'a> {
    fn garbler(&self) -> Result<(&'a CommitmentSender, Delta), Error> {
        self.garbler.ok_or_else(|| Error::Stock("the batch belongs to the other role".into()))
    }

    /// Returns the layout of the built program. A batch has exactly one.
    fn built(&self, count: usize) -> Result<&'a Layout<'a>, Error> {
        match self.layout {
            Some(layout) if count == 1 => Ok(layout),
            Some(_) => Err(Error::Stock("the batch has several built programs".into())),
            None => Err(Error::Stock("the batch has items of another kind".into())),
        }
    }

    fn hasher(&self, kind: AuthenticatorKind, made: u64) -> Hasher {
        Hasher::new(self.session, kind).after(made)
    }

    /// Reads the shares of this many commitments.
    fn shares(&self, record: &mut In, count: usize) -> Result<Shares, Error> {
        Ok(Shares::of_columns(self.words, record.pods(count * self.words)?))
    }

    fn committed(&self, record: &mut In, count: usize) -> Result<Committed, Error> {
        Ok(Committed { values: record.pods(count)?, shares: self.shares(record, count)? })
    }

    fn places(&self, items: Vec<u32>) -> Places {
        Places { rows: [self.header.rows[0], self.header.rows[1]], items }
    }

    fn buckets(&self, record: &mut In, part: &BatchPart) -> Result<AndBuckets, Error> {
        let (count, [beta, alpha]) = (part.count as usize, part.sizes.map(|size| size as usize));
        Ok(AndBuckets {
            gates: GateKeys::new(part.start, part.copies as usize),
            sizes: [beta, alpha],
            numbers: record.pods(count * beta)?,
            tables: record.pods(count * beta)?,
            guards: record.pods(count * alpha)?,
            hashes: record.pods(count * alpha)?,
            hasher: self.hasher(AuthenticatorKind::Plain, part.made),
            gate_solderings: record.pods(count * (beta - 1))?,
            guard_solderings: record.pods(count * alpha)?,
        })
    }

    fn inputs(&self, record: &mut In, part: &BatchPart) -> Result<InputBuckets, Error> {
        let (count, size) = (part.count as usize, part.sizes[0] as usize);
        Ok(InputBuckets {
            hasher: self.hasher(AuthenticatorKind::Input, part.made),
            size,
            numbers: record.pods(count * size)?,
            hashes: record.pods(count * size)?,
            delta_differences: record.pods(count * size)?,
            solderings: record.pods(count * (size - 1))?,
            to_wires: record.pods(count)?,
        })
    }
}

fn write_buckets(buckets: &AndBuckets, items: Range<usize>, out: &mut Out) {
    let [beta, alpha] = buckets.sizes;
    out.pods(&buckets.numbers[values(&items, beta)]);
    out.pods(&buckets.tables[values(&items, beta)]);
    out.pods(&buckets.guards[values(&items, alpha)]);
    out.pods(&buckets.hashes[values(&items, alpha)]);
    out.pods(&buckets.gate_solderings[values(&items, beta - 1)]);
    out.pods(&buckets.guard_solderings[values(&items, alpha)]);
}

fn write_inputs(buckets: &InputBuckets, items: Range<usize>, out: &mut Out) {
    let size = buckets.size;
    out.pods(&buckets.numbers[values(&items, size)]);
    out.pods(&buckets.hashes[values(&items, size)]);
    out.pods(&buckets.delta_differences[values(&items, size)]);
    out.pods(&buckets.solderings[values(&items, size - 1)]);
    out.pods(&buckets.to_wires[items]);
}

fn write_ots(ots: &EvaluatorOts, items: Range<usize>, out: &mut Out) {
    out.pods(ots.committed.slice(items.clone()).words());
    out.pods(ots.wires.slice(items.clone()).words());
    out.pods(&ots.choices[items.clone()]);
    out.pods(&ots.labels[items]);
}

fn read_ots(context: &Context, count: usize, record: &mut In) -> Result<EvaluatorOts, Error> {
    let (committed, wires) = (context.shares(record, count)?, context.shares(record, count)?);
    let choices = SecretBlocks::new(record.pods::<u8>(count)?);
    match choices.iter().fold(0, |all, choice| all | choice) {
        0 | 1 => Ok(EvaluatorOts { committed, wires, choices, labels: Labels::new(record.pods(count)?) }),
        _ => Err(Error::Stock("a stored record contains a choice that is neither 0 nor 1".into())),
    }
}

fn write_committed(committed: &Committed, out: &mut Out) {
    out.pods(&committed.values);
    if !committed.shares.is_empty() {
        out.pods(committed.shares.words());
    }
}

/// Describes items of one batch as a part of a built program.
fn part(header: &Header, gates: bool, count: usize) -> Result<BatchPart, Error> {
    let (sizes, copies) = if gates {
        let mixed = header.mixed()?;
        let sizes = [mixed.gates.bucket, mixed.authenticators.bucket];
        (sizes, mixed.gates.copies())
    } else {
        let cut = header.inputs()?;
        ([cut.bucket, 0], cut.copies())
    };
    let number = |count: u64| {
        u32::try_from(count)
            .map_err(|_| Error::Stock("the batch has more items than 32 bits can number".into()))
    };
    let Header { start, made, .. } = *header;
    Ok(BatchPart { sizes, count: number(count as u64)?, start, copies: number(copies)?, made, gates })
}

impl Records for GarblerHeads {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.at.items.len()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        out.pods(&self.at.items[items]);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, record: &mut In) -> Result<Self, Error> {
        let Header { start, .. } = *context.header;
        let made = context.header.mixed()?.gates.copies() as usize;
        let at = context.places(record.pods(count)?);
        Ok(GarblerHeads { at, start, made, ..GarblerHeads::none() })
    }

    /// The commitments to inputs are random. The commitments to outputs follow when the gates are garbled
    /// again.
    fn derive(&mut self, context: &Context<'_>) -> Result<(), Error> {
        let (committer, delta) = context.garbler()?;
        let [inputs, outputs] = self.at.rows;
        self.inputs = committer.again(inputs, Lsb::Random, &self.at.numbers(2));
        let mut labels = Labels::new(self.inputs.values.clone());
        labels.iter_mut().for_each(|value| *value = GarblerWire { value: *value, delta }.false_label());
        let gates = GateKeys::new(self.start, self.made);
        let (mut made, _) = gates.garble_these(&self.at.items, delta, &labels);
        made.iter_mut().for_each(|label| *label = GarblerWire::from_false_label(*label, delta).value);
        let shares = committer.shares_again(outputs, &self.at.numbers(1));
        self.outputs = Committed { values: std::mem::take(&mut *made), shares };
        Ok(())
    }
}

impl Records for GarblerInputs {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.at.items.len()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        out.pods(&self.at.items[items.clone()]);
        out.pods(&self.buckets[items]);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, record: &mut In) -> Result<Self, Error> {
        let Header { made, rows: [.., inputs_row], .. } = *context.header;
        let (at, buckets) = (context.places(record.pods(count)?), record.pods(count)?);
        Ok(GarblerInputs { at, made, inputs_row, buckets, ..GarblerInputs::none() })
    }

    /// Offsets are random, and the values of the heads' wires follow from the offsets.
    fn derive(&mut self, context: &Context<'_>) -> Result<(), Error> {
        let (committer, _) = context.garbler()?;
        let numbers = self.at.numbers(1);
        let deltas = offsets_of(&committer.again(self.at.rows[0], Lsb::One, &numbers));
        let hasher = context.hasher(AuthenticatorKind::Input, self.made);
        let wires = wires_of(&hasher, |k| numbers[k], &deltas);
        let heads = wires.iter().zip(&*deltas).map(|(&value, &delta)| GarblerWire { value, delta });
        self.heads = Zeroizing::new(heads.collect());
        let buckets: Vec<u64> = self.buckets.iter().map(|&bucket| bucket.into()).collect();
        self.wires = committer.again(self.inputs_row, Lsb::Random, &buckets);
        Ok(())
    }
}

impl Records for GarblerOts {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.at.items.len()
    }

    /// The labels must be stored, because they depend on the evaluator's messages.
    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        out.pods(&self.at.items[items.clone()]);
        out.pods(&self.labels[items]);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, record: &mut In) -> Result<Self, Error> {
        let (at, labels) = (context.places(record.pods(count)?), Labels::new(record.pods(count)?));
        Ok(GarblerOts { at, labels, ..GarblerOts::none() })
    }

    fn derive(&mut self, context: &Context<'_>) -> Result<(), Error> {
        let (committer, _) = context.garbler()?;
        let (numbers, [committed, wires]) = (self.at.numbers(1), self.at.rows);
        self.committed = committer.shares_again(committed, &numbers);
        self.wires = committer.again(wires, Lsb::Random, &numbers);
        Ok(())
    }
}

impl Records for GarblerReady {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        1
    }

    fn encode(&self, _: Range<usize>, out: &mut Out) -> Result<(), Error> {
        let GarblerReady { heads, ots, outputs } = self;
        out.pods(&Labels::new(heads.iter().map(|head| head.value).collect()));
        out.pods(&Labels::new(heads.iter().map(|head| head.delta.label()).collect()));
        out.pods(&ots.labels);
        if !ots.committed.is_empty() {
            out.pods(ots.committed.words());
        }
        write_committed(&ots.wires, out);
        write_committed(outputs, out);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, record: &mut In) -> Result<Self, Error> {
        let layout = context.built(count)?;
        let (inputs, ots) = (layout.garbler, layout.evaluator);
        let (wires, deltas) = (Labels::new(record.pods(inputs)?), Labels::new(record.pods(inputs)?));
        let heads = wires.iter().zip(deltas.iter());
        let heads = heads.map(|(&value, delta)| GarblerWire { value, delta: Delta::new(delta.bits()) });
        let heads = Zeroizing::new(heads.collect());
        let labels = Labels::new(record.pods(ots)?);
        let (committed, wires) = (context.shares(record, ots)?, context.committed(record, ots)?);
        let outputs = context.committed(record, layout.outputs.len())?;
        let ots = GarblerOts { at: Places::default(), labels, committed, wires };
        Ok(GarblerReady { heads, ots, outputs })
    }
}

/// The evaluator's data about buckets of gates of one batch.
pub(crate) struct EvaluatorGates {
    pub heads: [Shares; 2],
    pub buckets: AndBuckets,
}

impl Records for EvaluatorGates {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.buckets.count()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        let [inputs, outputs] = &self.heads;
        out.pods(inputs.slice(values(&items, 2)).words());
        out.pods(outputs.slice(items.clone()).words());
        write_buckets(&self.buckets, items, out);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, record: &mut In) -> Result<Self, Error> {
        let heads = [context.shares(record, 2 * count)?, context.shares(record, count)?];
        Ok(EvaluatorGates { heads, buckets: context.buckets(record, &part(context.header, true, count)?)? })
    }
}

/// The evaluator's data about buckets of input authenticators of one batch.
pub(crate) struct EvaluatorInputs {
    pub wires: Shares,
    pub buckets: InputBuckets,
}

impl Records for EvaluatorInputs {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.buckets.buckets()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        out.pods(self.wires.slice(items.clone()).words());
        write_inputs(&self.buckets, items, out);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, record: &mut In) -> Result<Self, Error> {
        let wires = context.shares(record, count)?;
        Ok(EvaluatorInputs { wires, buckets: context.inputs(record, &part(context.header, false, count)?)? })
    }
}

impl Records for EvaluatorOts {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.labels.len()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        write_ots(self, items, out);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, record: &mut In) -> Result<Self, Error> {
        read_ots(context, count, record)
    }
}

impl EvaluatorReady {
    /// Describes the items of each batch in this built program.
    pub(super) fn parts(&self) -> Result<Vec<BatchPart>, Error> {
        let number = |count: usize| {
            u32::try_from(count)
                .map_err(|_| Error::Limit("the built program has more gates than 32 bits can number".into()))
        };
        let mut parts = Vec::new();
        for buckets in &self.joined.gates {
            let [beta, alpha] = buckets.sizes;
            parts.push(BatchPart {
                sizes: [number(beta)?, number(alpha)?],
                count: number(buckets.count())?,
                start: buckets.gates.ands().start(),
                copies: number(buckets.gates.ands().count())?,
                made: buckets.hasher.made(),
                gates: true,
            });
        }
        for buckets in &self.joined.inputs {
            parts.push(BatchPart {
                sizes: [number(buckets.size)?, 0],
                count: number(buckets.buckets())?,
                start: 0,
                copies: 0,
                made: buckets.hasher.made(),
                gates: false,
            });
        }
        Ok(parts)
    }
}

impl Records for EvaluatorReady {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        1
    }

    fn encode(&self, _: Range<usize>, out: &mut Out) -> Result<(), Error> {
        let EvaluatorReady { joined: Joined { gates, inputs, solderings }, ots, outputs } = self;
        gates.iter().for_each(|buckets| write_buckets(buckets, 0..buckets.count(), out));
        inputs.iter().for_each(|buckets| write_inputs(buckets, 0..buckets.buckets(), out));
        out.pods(solderings);
        if !ots.labels.is_empty() {
            write_ots(ots, 0..ots.labels.len(), out);
        }
        if !outputs.is_empty() {
            out.pods(outputs.words());
        }
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, record: &mut In) -> Result<Self, Error> {
        let layout = context.built(count)?;
        let (mut gates, mut inputs) = (Vec::new(), Vec::new());
        for part in &context.header.parts {
            let sizes = if part.gates { &part.sizes[..] } else { &part.sizes[..1] };
            if sizes.contains(&0) {
                return Err(Error::Stock("the built program has empty buckets".into()));
            }
            match part.gates {
                true => gates.push(context.buckets(record, part)?),
                false => inputs.push(context.inputs(record, part)?),
            }
        }
        let counts = [
            gates.iter().map(AndBuckets::count).sum::<usize>(),
            inputs.iter().map(InputBuckets::buckets).sum(),
        ];
        if counts != [layout.ands, layout.garbler] {
            return Err(Error::Stock("the built program has another size than this program".into()));
        }
        let solderings = record.pods(layout.solderings())?;
        let ots = match layout.evaluator {
            0 => EvaluatorOts::none(),
            count => read_ots(context, count, record)?,
        };
        let outputs = context.shares(record, layout.outputs.len())?;
        Ok(EvaluatorReady { joined: Joined { gates, inputs, solderings }, ots, outputs })
    }
}
