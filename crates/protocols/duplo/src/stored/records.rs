//! The records of stock items.
//!
//! A record has the data that later programs need. It has commitments only for the heads of buckets, to which
//! programs are soldered; for all chosen items it has the data with which the evaluator checks and evaluates.
//! The garbler keeps no tables, because it has sent them. It keeps only the places of commitments in its
//! streams, because it recomputes the values from its seeds. Tables are units of the segment's bulk, in the
//! order of their arrival.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::authenticators::{
    AuthenticatorRows, EvaluatorAuthenticators, EvaluatorComponent, GarblerAuthenticators, GarblerComponent,
};
use crate::batch::{EvaluatorBatch, GarblerBatch, Shape};
use crate::challenge::BatchSizes;
use crate::input_ots::{EvaluatorInputOts, GarblerInputOts};
use crate::instance::CommitmentSender;
use crate::items::{Items, Origin};
use crate::tables::Tables;
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};
use brickwork_circuit::{Component, ComponentDigest};
use brickwork_primitives::Labels;
use brickwork_primitives::authenticator::{AuthenticatorKind, Hasher};
use brickwork_primitives::commit::{CommitmentRow, Committed, Lsb, Places, Sender as _, Shares};
use brickwork_primitives::cut_and_choose;
use brickwork_primitives::garbling::{GarblingKeys, Schedule};
use brickwork_primitives::solder::GarblerWire;
use brickwork_primitives::spill::SpilledVec;
use brickwork_protocol::SessionId;
use brickwork_protocol::stock::records::{In, Out, Records};
use brickwork_store::{BatchWriter, GivenUp};

const VERSION: u32 = 1;

/// The data that all items of a batch share.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Header {
    version: u32,
    /// The cut-and-choose of the items and, after it, of a component's authenticators.
    pub origins: Vec<Origin>,
    /// The start of a component's hash keys, at the evaluator.
    start: u128,
    /// The number of authenticators that the session made before these.
    made: u64,
    /// At the garbler: [`Places::rows`] for each origin.
    rows: Vec<[u64; 2]>,
}

impl Header {
    pub fn new(origins: Vec<Origin>) -> Self {
        Header { version: VERSION, origins, start: 0, made: 0, rows: Vec::new() }
    }

    pub fn decode(bytes: &[u8], given_up: GivenUp) -> Result<Self, Error> {
        let mut header: Header = postcard::from_bytes(bytes).map_err(|_| malformed())?;
        if header.version != VERSION {
            return Err(Error::Stock(format!(
                "a stored batch has version {}, but this release reads version {VERSION}",
                header.version
            )));
        }
        if !header.origins.iter().all(|origin| origin.kind.may_have(&origin.bucketing)) {
            return Err(Error::Stock(
                "the header of a batch has impossible cut-and-choose parameters".into(),
            ));
        }
        header.origins.iter_mut().for_each(|origin| origin.given_up = given_up);
        Ok(header)
    }

    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("each header has an encoding")
    }

    fn origin(&self, k: usize) -> Result<Origin, Error> {
        self.origins.get(k).copied().ok_or_else(malformed)
    }

    /// Returns the origin of the batch's authenticators, which is the last.
    fn of_authenticators(&self) -> Result<Origin, Error> {
        self.origins.last().copied().ok_or_else(malformed)
    }

    /// Reads the places of the garbler's commitments to `count` items.
    fn places(&self, rows: Option<&[u64; 2]>, count: usize, bytes: &mut In) -> Result<Places, Error> {
        Ok(Places { rows: *rows.ok_or_else(malformed)?, items: bytes.pods(count)? })
    }
}

/// A component of a program.
#[derive(Clone, Copy)]
pub(crate) struct KnownComponent<'a> {
    pub component: &'a Component,
    pub digest: &'a ComponentDigest,
    /// The schedule of the component, at the evaluator.
    pub schedule: Option<&'a Arc<Schedule>>,
}

/// The data, apart from the records, that is needed to read items.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub header: &'a Header,
    pub session: &'a SessionId,
    /// The number of words of a share.
    pub words: usize,
    /// The component; `None` for other items.
    pub component: Option<KnownComponent<'a>>,
    /// The garbler's commitments, for recomputing committed values.
    pub committer: Option<&'a CommitmentSender>,
}

impl<'a> Context<'a> {
    fn known(&self) -> Result<KnownComponent<'a>, Error> {
        self.component.ok_or_else(no_component)
    }

    fn committer(&self) -> Result<&'a CommitmentSender, Error> {
        self.committer.ok_or_else(|| Error::Stock("the batch belongs to the other role".into()))
    }

    /// Reads shares of this many commitments.
    fn shares(&self, record: &mut In, count: usize) -> Result<Shares, Error> {
        Ok(Shares::of_columns(self.words, record.pods(count * self.words)?))
    }
}

fn malformed() -> Error {
    Error::Stock("the header of a batch is malformed".into())
}

fn no_component() -> Error {
    Error::Stock("a batch belongs to a component that the program does not have".into())
}

/// Items that a store can keep.
pub(super) trait Stored: Items + for<'c> Records<Context<'c> = Context<'c>> {
    /// Returns the data that all items of the batch share.
    fn header(&self) -> Header;
}

impl Stored for GarblerAuthenticators {
    fn header(&self) -> Header {
        Header { made: self.made, rows: vec![self.at.rows], ..Header::new(self.origins()) }
    }
}

impl Records for GarblerAuthenticators {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.len()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        out.pods(&self.at.items[items]);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, bytes: &mut In) -> Result<Self, Error> {
        let header = context.header;
        let (origin, at) = (header.of_authenticators()?, header.places(header.rows.last(), count, bytes)?);
        Ok(GarblerAuthenticators {
            origin,
            at,
            made: header.made,
            wires: CommitmentRow::default(),
            offsets: CommitmentRow::default(),
        })
    }

    /// Recomputes the heads: plain authenticators are random; input authenticators follow from their random
    /// offsets.
    fn derive(&mut self, context: &Context<'_>) -> Result<(), Error> {
        let (committer, numbers) = (context.committer()?, self.at.numbers(1));
        let [wires, offsets] = self.at.rows;
        if self.origin.kind == cut_and_choose::BatchKind::KeyAuthenticator {
            self.wires = committer.again(wires, Lsb::Random, &numbers).into();
            return Ok(());
        }
        let offsets = committer.again(offsets, Lsb::One, &numbers);
        let hasher = Hasher::new(context.session, AuthenticatorKind::Input).after(self.made);
        let delta = |i: usize| Delta::new(offsets.values[i].bits());
        let values = hasher.false_labels(numbers.len(), |i| (numbers[i], delta(i)));
        let mut values = Labels::new(values);
        values
            .iter_mut()
            .enumerate()
            .for_each(|(i, v)| *v = GarblerWire::from_false_label(*v, delta(i)).value);
        self.wires = Committed {
            values: std::mem::take(&mut *values),
            shares: committer.shares_again(wires, &numbers),
        }
        .into();
        self.offsets = offsets.into();
        Ok(())
    }
}

impl Stored for GarblerComponent {
    fn header(&self) -> Header {
        let rows = vec![self.batch.at.rows, self.authenticators.at.rows];
        Header { made: self.authenticators.made, rows, ..Header::new(self.origins()) }
    }
}

impl Records for GarblerComponent {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.len()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        let outputs = self.batch.shape.outputs;
        out.pods(&self.batch.at.items[items.clone()]);
        self.authenticators.encode(items.start * outputs..items.end * outputs, out)
    }

    fn decode(context: &Context<'_>, count: usize, bytes: &mut In) -> Result<Self, Error> {
        let KnownComponent { component, digest, .. } = context.known()?;
        let header = context.header;
        let origin = header.origin(0)?;
        let shape =
            Shape::new(&component.circuit, BatchSizes::from(origin.bucketing).with_buckets(count).heads());
        let at = header.places(header.rows.first(), count, bytes)?;
        let authenticators = GarblerAuthenticators::decode(context, count * shape.outputs, bytes)?;
        let [inputs, offsets] = std::array::from_fn(|_| CommitmentRow::default());
        Ok(GarblerComponent {
            batch: GarblerBatch { origin, component: *digest, shape, at, inputs, offsets },
            authenticators,
        })
    }

    fn derive(&mut self, context: &Context<'_>) -> Result<(), Error> {
        let (committer, GarblerBatch { at, shape, .. }) = (context.committer()?, &self.batch);
        let inputs = committer.again(at.rows[0], Lsb::Random, &at.numbers(shape.inputs));
        let offsets = committer.again(at.rows[1], Lsb::One, &at.numbers(1));
        (self.batch.inputs, self.batch.offsets) = (inputs.into(), offsets.into());
        self.authenticators.derive(context)
    }
}

impl Stored for GarblerInputOts {
    fn header(&self) -> Header {
        Header { rows: vec![self.at.rows], ..Header::new(Vec::new()) }
    }
}

impl Records for GarblerInputOts {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.len()
    }

    /// The labels are stored, because they cannot be recomputed: they depend on messages of the evaluator.
    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        out.pods(&self.at.items[items.clone()]);
        out.pods(&self.committed.held()[items]);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, bytes: &mut In) -> Result<Self, Error> {
        let at = context.header.places(context.header.rows.last(), count, bytes)?;
        let committed = Committed { values: bytes.pods(count)?, shares: Shares::default() };
        Ok(GarblerInputOts { at, committed: committed.into(), wires: CommitmentRow::default() })
    }

    fn derive(&mut self, context: &Context<'_>) -> Result<(), Error> {
        let (committer, numbers) = (context.committer()?, self.at.numbers(1));
        self.committed = std::mem::take(&mut self.committed)
            .with_shares(committer.shares_again(self.at.rows[0], &numbers));
        self.wires = committer.again(self.at.rows[1], Lsb::Random, &numbers).into();
        Ok(())
    }
}

impl Stored for EvaluatorAuthenticators {
    fn header(&self) -> Header {
        Header { made: self.hasher.made(), ..Header::new(self.origins()) }
    }
}

impl Records for EvaluatorAuthenticators {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.len()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        let size = self.size;
        let authenticators = items.start * size..items.end * size;
        out.pods(self.wires.slice(items.clone()).words());
        if !self.offsets.is_empty() {
            out.pods(self.offsets.slice(items.clone()).words());
            out.pods(&self.rows.delta_differences.read(authenticators.clone())?);
        }
        out.pods(&self.rows.indices.read(authenticators.clone())?);
        out.pods(&self.rows.hashes.read(authenticators)?);
        out.pods(&self.rows.solderings.read(items.start * (size - 1)..items.end * (size - 1))?);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, bytes: &mut In) -> Result<Self, Error> {
        let header = context.header;
        let origin = header.of_authenticators()?;
        let (size, input) = (
            origin.bucketing.bucket.max(1) as usize,
            origin.kind == cut_and_choose::BatchKind::InputAuthenticator,
        );
        let kind = if input { AuthenticatorKind::Input } else { AuthenticatorKind::Plain };
        let wires = context.shares(bytes, count)?;
        let (offsets, links) = if input {
            (context.shares(bytes, count)?, bytes.pods::<Label>(count * size)?)
        } else {
            (Shares::default(), Vec::new())
        };
        Ok(EvaluatorAuthenticators {
            origin,
            size,
            hasher: Hasher::new(context.session, kind).after(header.made),
            wires,
            offsets,
            head_delta_differences: links.iter().step_by(size).copied().collect(),
            rows: AuthenticatorRows {
                indices: SpilledVec::of(bytes.pods(count * size)?),
                hashes: SpilledVec::of(bytes.pods(count * size)?),
                delta_differences: SpilledVec::of(links),
                solderings: SpilledVec::of(bytes.pods(count * (size - 1))?),
            },
        })
    }
}

impl Stored for EvaluatorComponent {
    fn header(&self) -> Header {
        Header {
            start: self.batch.keys.start(),
            made: self.authenticators.hasher.made(),
            ..Header::new(self.origins())
        }
    }
}

impl Records for EvaluatorComponent {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.len()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        let b = &self.batch;
        let Shape { batch, inputs, outputs, .. } = b.shape;
        let copies = items.start * batch.size..items.end * batch.size;
        let pairs = (batch.size - 1) * inputs;
        out.units(&b.tables.ranks()[copies.clone()]);
        out.pods(b.inputs.slice(items.start * inputs..items.end * inputs).words());
        out.pods(b.offsets.slice(items.clone()).words());
        out.pods(&b.copies[copies.clone()]);
        out.pods(&b.delta_differences[copies.clone()]);
        out.pods(&b.solderings.read(items.start * pairs..items.end * pairs)?);
        out.pods(&self.output_solderings.read(copies.start * outputs..copies.end * outputs)?);
        self.authenticators.encode(items.start * outputs..items.end * outputs, out)
    }

    fn decode(context: &Context<'_>, count: usize, bytes: &mut In) -> Result<Self, Error> {
        let KnownComponent { component, digest, schedule } = context.known()?;
        let header = context.header;
        let origin = header.origin(0)?;
        let whole = BatchSizes::from(origin.bucketing);
        let shape = Shape::new(&component.circuit, whole.with_buckets(count));
        let (copies, pairs) = (shape.batch.chosen(), shape.bucket_solderings());
        let ranks = bytes.pods(copies)?;
        let batch = EvaluatorBatch {
            origin,
            component: *digest,
            shape,
            schedule: schedule.ok_or_else(no_component)?.clone(),
            keys: GarblingKeys::new(header.start, whole.items(), component.circuit.and_gates()),
            inputs: context.shares(bytes, count * shape.inputs)?,
            offsets: context.shares(bytes, count)?,
            copies: bytes.pods(copies)?,
            tables: Tables::elsewhere(ranks),
            delta_differences: bytes.pods(copies)?,
            solderings: SpilledVec::of(bytes.pods(pairs)?),
        };
        let output_solderings = SpilledVec::of(bytes.pods(copies * shape.outputs)?);
        let authenticators = EvaluatorAuthenticators::decode(context, count * shape.outputs, bytes)?;
        Ok(EvaluatorComponent { batch, authenticators, output_solderings })
    }

    fn take_segment(&mut self) -> Option<BatchWriter> {
        let ranks = self.batch.tables.ranks().to_vec();
        std::mem::replace(&mut self.batch.tables, Tables::elsewhere(ranks)).into_segment()
    }

    fn units(&self) -> &[u32] {
        if self.batch.shape.table_bytes == 0 { &[] } else { self.batch.tables.ranks() }
    }

    fn put_units(&mut self, bytes: Vec<u8>) {
        self.batch.tables = Tables::of(bytes, self.batch.shape.table_bytes, self.batch.copies.len());
    }
}

impl Stored for EvaluatorInputOts {
    fn header(&self) -> Header {
        Header::new(Vec::new())
    }
}

impl Records for EvaluatorInputOts {
    type Context<'c> = Context<'c>;

    fn count(&self) -> usize {
        self.len()
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error> {
        out.pods(self.committed.slice(items.clone()).words());
        out.pods(self.wires.slice(items.clone()).words());
        out.pods(&self.choices[items.clone()]);
        out.pods(&self.labels[items]);
        Ok(())
    }

    fn decode(context: &Context<'_>, count: usize, bytes: &mut In) -> Result<Self, Error> {
        let (committed, wires) = (context.shares(bytes, count)?, context.shares(bytes, count)?);
        Ok(EvaluatorInputOts {
            committed,
            wires,
            choices: bytes.pods(count)?.into(),
            labels: bytes.pods(count)?.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adversary::harness::pair;
    use crate::instance::level;
    use brickwork_primitives::cut_and_choose::{BatchKind, Bucketing};
    use brickwork_protocol::stock::records::rewritten;

    const ITEMS: usize = 5;

    /// Items that are read from two records equal the items from one record, wherever the second record
    /// begins.
    fn cut_and_joined<P: Stored>(context: &Context) {
        let bytes: Vec<u8> = (0..1 << 14).map(|k: u32| (k * k / 32) as u8).collect();
        let write = |all: &P| {
            let mut out = Out::of(ITEMS);
            all.encode(0..ITEMS, &mut out).unwrap();
            out.plain()
        };
        let whole = P::decode(context, ITEMS, &mut In::new(&bytes)).unwrap();
        let record = write(&whole);
        assert!(!record.is_empty() && bytes.starts_with(&record));
        for at in 1..ITEMS {
            let again = rewritten(&whole, at, context).unwrap();
            assert_eq!(again.len(), ITEMS);
            assert_eq!(*write(&again), *record, "the second begins at {at}");
        }
    }

    #[test]
    fn what_lies_in_two_records_is_joined() {
        let component = pair();
        let (digest, schedule) = (component.digest(), Arc::new(Schedule::new(&component.circuit)));
        let known =
            Some(KnownComponent { component: &component, digest: &digest, schedule: Some(&schedule) });
        let words = level(40).unwrap().words;
        let header = |kinds: &[BatchKind]| {
            let cut = Bucketing { slots: 8, bucket: 3, opened: 20 };
            let origin = |(&kind, serial)| Origin::new(serial, kind, cut);
            Header { rows: vec![[1, 2], [3, 4]], ..Header::new(kinds.iter().zip(1..).map(origin).collect()) }
        };
        let copies = header(&[BatchKind::Component, BatchKind::KeyAuthenticator]);
        let authenticators = header(&[BatchKind::InputAuthenticator]);
        let ots = header(&[]);
        let context =
            |header, component| Context { header, session: &[3; 32], words, component, committer: None };
        cut_and_joined::<GarblerComponent>(&context(&copies, known));
        cut_and_joined::<EvaluatorComponent>(&context(&copies, known));
        cut_and_joined::<GarblerAuthenticators>(&context(&authenticators, None));
        cut_and_joined::<EvaluatorAuthenticators>(&context(&authenticators, None));
        cut_and_joined::<GarblerInputOts>(&context(&ots, None));
        cut_and_joined::<EvaluatorInputOts>(&context(&ots, None));
    }

    #[test]
    fn row_25_a_header_of_another_version_is_refused() {
        let header = Header::new(vec![]);
        assert!(Header::decode(&header.encode(), GivenUp::default()).is_ok());
        let other = Header { version: VERSION + 1, ..header };
        assert!(matches!(Header::decode(&other.encode(), GivenUp::default()), Err(Error::Stock(why))
                if why.contains("version")));
        assert!(matches!(Header::decode(&other.encode()[..3], GivenUp::default()), Err(Error::Stock(why))
                if why.contains("malformed")));
    }

    #[test]
    fn row_25_a_header_of_parameters_that_nobody_chooses_is_refused() {
        let cut = |bucket| cut_and_choose::Bucketing { slots: 8, bucket, opened: 20 };
        let header = |bucket| {
            let origin = Origin::new(1, cut_and_choose::BatchKind::Component, cut(bucket));
            Header::new(vec![origin]).encode()
        };
        assert!(Header::decode(&header(3), GivenUp::default()).is_ok());
        assert!(matches!(Header::decode(&header(0), GivenUp::default()), Err(Error::Stock(why))
                if why.contains("impossible cut-and-choose")));
    }
}
