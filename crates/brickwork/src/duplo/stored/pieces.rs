//! The pieces of a stock as records.
//!
//! Kept is what a later program needs: of commitments only those of the heads of buckets, to which programs are soldered; of
//! the other copies and gadgets what the evaluator checks and evaluates with. The garbler keeps no tables: it has sent
//! them. Tables are a part of their own, so that they can be written while they arrive.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::codec::{In, Out};
use crate::Error;
use crate::authenticator::{Hasher, Kind};
use crate::circuit::{Component, ComponentDigest};
use crate::commit::{Committed, Shares};
use crate::cut_and_choose;
use crate::duplo::challenge::Batch;
use crate::duplo::ots::{EvaluatorOts, GarblerOts};
use crate::duplo::prepare::{EvaluatorComponent, EvaluatorGadgets, GarblerComponent, GarblerGadgets};
use crate::duplo::preprocess::{EvaluatorBatch, GarblerBatch, Shape};
use crate::duplo::stock::{Origin, Pieces};
use crate::duplo::tables::Tables;
use crate::garbling::{GarblingKeys, Plan};
use crate::session::SessionId;

/// Version of the records.
const VERSION: u32 = 2;

/// What the items of a batch have in common.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Header {
    version: u32,
    /// The cut-and-choose of the items and, for a component, of its authenticators.
    pub origins: Vec<Origin>,
    /// Start of a component's hash keys, at the evaluator.
    start: u128,
    /// Authenticators that the session had made before these.
    made: u64,
}

impl Header {
    pub fn new(origins: Vec<Origin>) -> Self {
        Header { version: VERSION, origins, start: 0, made: 0 }
    }

    pub fn decode(bytes: &[u8], attempts: u32) -> Result<Self, Error> {
        let mut header: Header = postcard::from_bytes(bytes).map_err(|_| Error::Stock("the header of a batch is malformed".into()))?;
        if header.version != VERSION {
            return Err(Error::Stock(format!("a batch has version {}, this is version {VERSION}", header.version)));
        }
        header.origins.iter_mut().for_each(|origin| origin.attempts = attempts);
        Ok(header)
    }

    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a header can be encoded")
    }

    fn origin(&self, k: usize) -> Result<Origin, Error> {
        self.origins.get(k).copied().ok_or_else(|| Error::Stock("the header of a batch is malformed".into()))
    }
}

/// A component that a program has.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub component: &'a Component,
    pub digest: &'a ComponentDigest,
    /// At the evaluator.
    pub plan: Option<&'a Arc<Plan>>,
}

/// What pieces are made of besides their records.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub session: &'a SessionId,
    /// Words of a share.
    pub words: usize,
    /// Where the pieces are a component's.
    pub component: Option<Known<'a>>,
}

impl<'a> Context<'a> {
    fn known(&self) -> Result<Known<'a>, Error> {
        self.component.ok_or_else(no_component)
    }
}

fn no_component() -> Error {
    Error::Stock("a batch of a component that the program does not have".into())
}

/// Pieces that a store can keep.
pub(super) trait Stored: Pieces {
    fn header(&self) -> Header;

    /// Writes some of the items.
    fn encode(&self, items: Range<usize>, out: &mut Out);

    /// Reads `count` items that [`Stored::encode`] wrote in one go.
    fn decode(header: &Header, context: &Context, count: usize, bytes: &mut In) -> Result<Self, Error>;

    /// These items, then those of the same batch.
    fn append(&mut self, others: Self);

    /// Bytes of each item that are a part of their own.
    fn bulk_bytes(&self) -> usize {
        0
    }

    /// That part of some items, item after item.
    ///
    /// # Errors
    /// If it lies in a file that cannot be read.
    fn bulk(&self, _: Range<usize>) -> Result<Vec<u8>, Error> {
        Ok(Vec::new())
    }

    /// Puts that part of all items back.
    fn put_bulk(&mut self, _: Vec<u8>) {}
}

/// The heads of buckets, where there are `size` items in each.
fn heads(buckets: Range<usize>, size: usize) -> impl Iterator<Item = usize> + Clone {
    buckets.map(move |bucket| bucket * size)
}

/// The wires of the heads.
fn head_wires(buckets: Range<usize>, size: usize, wires: usize) -> impl Iterator<Item = usize> + Clone {
    heads(buckets, size).flat_map(move |head| head * wires..(head + 1) * wires)
}

impl Stored for GarblerGadgets {
    fn header(&self) -> Header {
        Header::new(self.origins())
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) {
        out.committed(&self.wires.select(heads(items.clone(), self.size)));
        if !self.offsets.values.is_empty() {
            out.committed(&self.offsets.select(heads(items, self.size)));
        }
    }

    fn decode(header: &Header, _: &Context, count: usize, bytes: &mut In) -> Result<Self, Error> {
        let origin = *header.origins.last().ok_or_else(|| Error::Stock("the header of a batch is malformed".into()))?;
        let input = origin.kind == cut_and_choose::Kind::InputAuthenticator;
        let wires = bytes.committed(count)?;
        Ok(GarblerGadgets { origin, size: 1, wires, offsets: if input { bytes.committed(count)? } else { Committed::default() } })
    }

    fn append(&mut self, others: Self) {
        self.wires.append(&others.wires);
        self.offsets.append(&others.offsets);
    }
}

impl Stored for GarblerComponent {
    fn header(&self) -> Header {
        Header::new(self.origins())
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) {
        let Shape { batch, inputs, outputs, .. } = self.batch.shape;
        out.committed(&self.batch.inputs.select(head_wires(items.clone(), batch.size, inputs)));
        out.committed(&self.batch.offsets.select(heads(items.clone(), batch.size)));
        self.authenticators.encode(items.start * outputs..items.end * outputs, out);
    }

    fn decode(header: &Header, context: &Context, count: usize, bytes: &mut In) -> Result<Self, Error> {
        let Known { component, digest, .. } = context.known()?;
        let origin = header.origin(0)?;
        let batch = Batch::from(origin.cut).part(count).heads();
        let shape = Shape::new(&component.circuit, batch);
        let inputs = bytes.committed(count * shape.inputs)?;
        let offsets = bytes.committed(count)?;
        let authenticators = GarblerGadgets::decode(header, context, count * shape.outputs, bytes)?;
        let batch = GarblerBatch { origin, component: *digest, shape, inputs, outputs: Committed::default(), offsets };
        Ok(GarblerComponent { batch, authenticators })
    }

    fn append(&mut self, others: Self) {
        let GarblerBatch { shape, inputs, offsets, .. } = &mut self.batch;
        shape.batch.buckets += others.batch.shape.batch.buckets;
        inputs.append(&others.batch.inputs);
        offsets.append(&others.batch.offsets);
        self.authenticators.append(others.authenticators);
    }
}

impl Stored for GarblerOts {
    fn header(&self) -> Header {
        Header::new(Vec::new())
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) {
        out.committed(&self.committed.slice(items.clone()));
        out.committed(&self.wires.slice(items));
    }

    fn decode(_: &Header, _: &Context, count: usize, bytes: &mut In) -> Result<Self, Error> {
        Ok(GarblerOts { committed: bytes.committed(count)?, wires: bytes.committed(count)? })
    }

    fn append(&mut self, others: Self) {
        self.committed.append(&others.committed);
        self.wires.append(&others.wires);
    }
}

impl Stored for EvaluatorGadgets {
    fn header(&self) -> Header {
        Header { made: self.hasher.made(), ..Header::new(self.origins()) }
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) {
        let (size, stride) = (self.size, self.stride());
        let gadgets = items.start * size..items.end * size;
        out.shares(&self.wires.select(heads(items.clone(), stride)));
        if !self.offsets.is_empty() {
            out.shares(&self.offsets.select(heads(items.clone(), stride)));
            out.pods(&self.links[gadgets.clone()]);
        }
        out.indices(&self.indices[gadgets.clone()]);
        out.pods(&self.authenticators[gadgets]);
        out.pods(&self.solderings[items.start * (size - 1)..items.end * (size - 1)]);
    }

    fn decode(header: &Header, context: &Context, count: usize, bytes: &mut In) -> Result<Self, Error> {
        let origin = *header.origins.last().ok_or_else(|| Error::Stock("the header of a batch is malformed".into()))?;
        let (size, input) = (origin.cut.bucket.max(1) as usize, origin.kind == cut_and_choose::Kind::InputAuthenticator);
        let kind = if input { Kind::Input } else { Kind::Plain };
        let wires = bytes.shares(count)?;
        let (offsets, links) = if input { (bytes.shares(count)?, bytes.pods(count * size)?) } else { (Shares::default(), Vec::new()) };
        Ok(EvaluatorGadgets {
            origin,
            size,
            hasher: Hasher::new(context.session, kind).after(header.made),
            indices: bytes.indices(count * size)?,
            authenticators: bytes.pods(count * size)?,
            wires,
            offsets,
            links,
            solderings: bytes.pods(count * (size - 1))?,
        })
    }

    fn append(&mut self, others: Self) {
        self.indices.extend(&others.indices);
        self.authenticators.extend(&others.authenticators);
        self.wires.append(&others.wires);
        self.offsets.append(&others.offsets);
        self.links.extend(&others.links);
        self.solderings.extend(&others.solderings);
    }
}

impl Stored for EvaluatorComponent {
    fn header(&self) -> Header {
        Header { start: self.batch.keys.start(), made: self.authenticators.hasher.made(), ..Header::new(self.origins()) }
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) {
        let b = &self.batch;
        let Shape { batch, inputs, outputs, .. } = b.shape;
        let copies = items.start * batch.size..items.end * batch.size;
        let pairs = (batch.size - 1) * inputs;
        out.shares(&b.inputs.select(head_wires(items.clone(), b.stride(), inputs)));
        out.shares(&b.offsets.select(heads(items.clone(), b.stride())));
        out.indices(&b.copies[copies.clone()]);
        out.pods(&b.links[copies.clone()]);
        out.pods(&b.solderings[items.start * pairs..items.end * pairs]);
        out.pods(&self.output_solderings[copies.start * outputs..copies.end * outputs]);
        self.authenticators.encode(items.start * outputs..items.end * outputs, out);
    }

    fn decode(header: &Header, context: &Context, count: usize, bytes: &mut In) -> Result<Self, Error> {
        let Known { component, digest, plan } = context.known()?;
        let origin = header.origin(0)?;
        let whole = Batch::from(origin.cut);
        let shape = Shape::new(&component.circuit, whole.part(count));
        let (copies, pairs) = (shape.batch.chosen(), shape.bucket_solderings());
        let batch = EvaluatorBatch {
            origin,
            component: *digest,
            shape,
            plan: plan.ok_or_else(no_component)?.clone(),
            keys: GarblingKeys::new(header.start, whole.items(), component.circuit.and_gates()),
            inputs: bytes.shares(count * shape.inputs)?,
            outputs: Shares::default(),
            offsets: bytes.shares(count)?,
            copies: bytes.indices(copies)?,
            links: bytes.pods(copies)?,
            solderings: bytes.pods(pairs)?,
            tables: Tables::none(copies),
        };
        let output_solderings = bytes.pods(copies * shape.outputs)?;
        let authenticators = EvaluatorGadgets::decode(header, context, count * shape.outputs, bytes)?;
        Ok(EvaluatorComponent { batch, authenticators, output_solderings })
    }

    fn append(&mut self, others: Self) {
        let b = others.batch;
        self.batch.shape.batch.buckets += b.shape.batch.buckets;
        self.batch.copies.extend(&b.copies);
        self.batch.inputs.append(&b.inputs);
        self.batch.offsets.append(&b.offsets);
        self.batch.links.extend(&b.links);
        self.batch.solderings.extend(&b.solderings);
        self.output_solderings.extend(&others.output_solderings);
        self.authenticators.append(others.authenticators);
    }

    fn bulk_bytes(&self) -> usize {
        self.batch.shape.batch.size * self.batch.shape.table_bytes
    }

    fn bulk(&self, items: Range<usize>) -> Result<Vec<u8>, Error> {
        let size = self.batch.shape.batch.size;
        self.batch.tables.bytes(items.start * size..items.end * size)
    }

    fn put_bulk(&mut self, bytes: Vec<u8>) {
        self.batch.tables = Tables::of(bytes, self.batch.shape.table_bytes, self.batch.copies.len());
    }
}

impl Stored for EvaluatorOts {
    fn header(&self) -> Header {
        Header::new(Vec::new())
    }

    fn encode(&self, items: Range<usize>, out: &mut Out) {
        out.shares(&self.committed.slice(items.clone()));
        out.shares(&self.wires.slice(items.clone()));
        out.pods(&self.choices[items.clone()]);
        out.pods(&self.labels[items]);
    }

    fn decode(_: &Header, _: &Context, count: usize, bytes: &mut In) -> Result<Self, Error> {
        let (committed, wires) = (bytes.shares(count)?, bytes.shares(count)?);
        Ok(EvaluatorOts { committed, wires, choices: bytes.pods(count)?.into(), labels: bytes.pods(count)?.into() })
    }

    fn append(&mut self, others: Self) {
        let mine = std::mem::replace(self, EvaluatorOts::join(Vec::new()));
        *self = EvaluatorOts::join(vec![mine, others]);
    }
}
