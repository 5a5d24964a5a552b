//! Storing a protocol's items: records in batches. The code that makes items writes records, and the code
//! that takes items reads them.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::slice::ChunksMut;
use std::sync::Arc;

use bytemuck::Pod;
use zeroize::Zeroizing;

use crate::BeforeExposing;
use brickwork_base::Error;
use brickwork_circuit::Component;
use brickwork_store::{
    Batch, BatchWriter, Chain, Elsewhere, EpochId, GivenUp, Record, RemainingBatch, Serial, Store, TAG_BYTES,
    TakenEntry, TakenOf, Writers,
};

/// Bytes of items that are stored together in a record, which is the smallest unit that is read. A small
/// batch has smaller records, so that a damaged record costs only a part of the batch.
const RECORD_BYTES: std::ops::RangeInclusive<usize> = 4 << 10..=128 << 10;

/// The smallest number of records in a batch, as long as they do not become smaller than the limit.
const RECORDS: usize = 16;

/// Items of one batch in a form that a store can keep: arrays of plain values, one after another. The number
/// of values of an item follows from the batch's header, never from a record.
pub trait Records: Sized {
    /// Other data that is needed to restore the items.
    type Context<'c>;

    /// Returns the number of items.
    fn count(&self) -> usize;

    /// Writes some of the items.
    ///
    /// # Errors
    /// [`Error::Resource`] if they cannot be read from their temporary file.
    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error>;

    /// Reads `count` items. Each column has the values of all items, whichever records they come from.
    ///
    /// # Errors
    /// [`Error::Stock`] if they are malformed.
    fn decode(context: &Self::Context<'_>, count: usize, columns: &mut In) -> Result<Self, Error>;

    /// Computes the data that follows from seeds, after all items were read.
    ///
    /// # Errors
    /// If the seeds are missing.
    fn derive(&mut self, _: &Self::Context<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the segment into which a part of the items was already written, if there is one.
    fn take_segment(&mut self) -> Option<BatchWriter> {
        None
    }

    /// Returns the units of the batch's bulk data that belong to the items, in order; empty if there is no
    /// bulk data.
    fn units(&self) -> &[u32] {
        &[]
    }

    /// Sets the units of the items.
    fn put_units(&mut self, _: Vec<u8>) {}
}

/// The place where new items are stored.
pub(super) enum NewItemsPlace<'a> {
    /// An epoch of the store that this process has open.
    Here(&'a Store, &'a EpochId),
    /// The store of this party's coordinator.
    Elsewhere(Arc<dyn Elsewhere>),
}

impl NewItemsPlace<'_> {
    /// Makes writers for data that is stored while it arrives.
    pub fn writers(&self) -> Writers {
        match self {
            NewItemsPlace::Here(store, epoch) => store.writers(epoch),
            NewItemsPlace::Elsewhere(store) => Writers::elsewhere(store.clone()),
        }
    }

    /// Returns the action that records the exposure of the current step. A maker has none, because its
    /// coordinator has recorded the exposure before.
    pub fn before_exposing(&self) -> Option<BeforeExposing> {
        match self {
            NewItemsPlace::Here(store, epoch) => {
                let (store, epoch) = ((*store).clone(), **epoch);
                Some(Box::new(move || store.expose(&epoch)))
            }
            NewItemsPlace::Elsewhere(_) => Some(Box::new(|| Ok(()))),
        }
    }
}

/// Writes the batches of one step into a store.
pub struct Keeper<'a> {
    shelf: &'a NewItemsPlace<'a>,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(shelf: &'a NewItemsPlace<'a>) -> Self {
        Keeper { shelf }
    }

    /// Writes a batch to disk. `serial` comes from the entry's range of
    /// [`SERIALS`](brickwork_store::SERIALS), or is the serial of the items' segment.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails or the batch does not belong to the current step.
    pub fn put(&mut self, serial: Serial, batch: &Batch, mut items: impl Records) -> Result<(), Error> {
        let mut writer = match items.take_segment() {
            Some(begun) => begun,
            None => match self.shelf {
                NewItemsPlace::Here(store, epoch) => store.writer(epoch, serial)?,
                NewItemsPlace::Elsewhere(_) => self.shelf.writers().begin(serial, None)?,
            },
        };
        let count = items.count();
        let one = |range: Range<usize>| {
            let mut out = Out::of(range.len());
            items.encode(range, &mut out)?;
            Ok::<_, Error>(out)
        };
        let each = if count == 0 { 1 } else { one(0..1)?.plain().len().max(1) };
        let wanted = (each * count / RECORDS).clamp(*RECORD_BYTES.start(), *RECORD_BYTES.end());
        let a_record = wanted.div_ceil(each);
        let start = Chain::random()?;
        let mut chain = start.clone();
        for first in (0..count).step_by(a_record) {
            let here = a_record.min(count - first);
            writer.record(first as u64, here as u32, one(first..first + here)?.masked(&mut chain))?;
        }
        match self.shelf {
            NewItemsPlace::Here(store, epoch) => store.put(epoch, serial, batch, writer, &start),
            NewItemsPlace::Elsewhere(store) => store.finish(serial, batch, &start),
        }
    }
}

/// The batches of an epoch, whose items programs can use.
pub struct Batches {
    /// The remaining items of each batch, oldest first.
    left: Vec<RemainingBatch>,
    /// All batches that were made, including used-up ones.
    made: Vec<RemainingBatch>,
    given_up: GivenUp,
}

impl Batches {
    /// Returns the batches of an epoch, each with its remaining items.
    ///
    /// # Errors
    /// [`Error::Stock`] if the index cannot be read or was altered.
    pub fn of(store: &Store, epoch: &EpochId) -> Result<Self, Error> {
        let state = store.state(epoch)?;
        let all = store.batches(epoch)?;
        let left = all.iter().filter(|batch| batch.left > 0).cloned().collect();
        let made = all.into_iter().filter(|batch| state.is_made(batch.serial)).collect();
        Ok(Batches { left, made, given_up: state.given_up() })
    }

    /// Returns all batches that were made in the epoch, including used ones, oldest first.
    pub fn made(&self) -> impl Iterator<Item = &RemainingBatch> {
        self.made.iter()
    }

    /// Returns the steps that were begun in the epoch and not completed. Their risk counts in the bound of
    /// every program from the epoch.
    pub fn given_up(&self) -> GivenUp {
        self.given_up
    }

    /// Returns the batches of one kind.
    pub fn of_kind(&self, kind: u8) -> impl Iterator<Item = &RemainingBatch> {
        self.left.iter().filter(move |left| left.batch.kind == kind)
    }

    /// Counts the remaining items of a kind.
    pub fn left(&self, kind: u8) -> usize {
        self.of_kind(kind).map(|left| left.left as usize).sum()
    }

    /// Chooses `count` items of a kind and a component, or as many as exist, oldest first, and adds them to
    /// `taken`. Returns the batches of these items.
    ///
    /// # Errors
    /// [`Error::Limit`] for more than 2^32 items of one batch.
    pub fn take(
        &self,
        kind: u8,
        component: &[u8; 32],
        mut count: usize,
        taken: &mut Vec<(Serial, u32)>,
    ) -> Result<Vec<&RemainingBatch>, Error> {
        let mut from = Vec::new();
        for left in self.of_kind(kind).filter(|left| left.batch.component == *component) {
            let serial = left.serial;
            let known = taken.iter().position(|(named, _)| *named == serial);
            let already = known.map_or(0, |k| taken[k].1);
            let here = count.min((left.left as usize).saturating_sub(already as usize));
            if here > 0 {
                let items = u32::try_from(here + already as usize)
                    .map_err(|_| Error::Limit("the program takes more than 2^32 items of a batch".into()))?;
                match known {
                    Some(k) => taken[k].1 = items,
                    None => taken.push((serial, items)),
                }
                from.push(left);
                count -= here;
            }
        }
        Ok(from)
    }

    /// Counts the existing items of this kind.
    fn there(&self, wanted: &WantedItems) -> usize {
        let ours = self.of_kind(wanted.kind).filter(|left| left.batch.component == wanted.component);
        ours.map(|left| left.left as usize).sum()
    }

    /// Chooses the items for a program with these needs, oldest first: the batches, and the number of items
    /// of each.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are too few items of a kind.
    pub fn choose(&self, wanted: &[WantedItems]) -> Result<Vec<(Serial, u32)>, Error> {
        let mut taken = Vec::new();
        for one in wanted {
            let there = self.there(one);
            let WantedItems { kind, component, name, count } = one;
            if there < *count {
                return Err(Error::Stock(format!(
                    "the program needs {count} {name}, but the stock has {there}"
                )));
            }
            self.take(*kind, component, *count, &mut taken)?;
        }
        Ok(taken)
    }

    /// Returns, for each need, how many items are missing.
    pub fn lacking(&self, wanted: &[WantedItems]) -> Vec<usize> {
        wanted.iter().map(|one| one.count.saturating_sub(self.there(one))).collect()
    }

    /// Returns the number of programs with these needs for which the items are enough.
    pub fn suffices(&self, wanted: &[WantedItems]) -> u64 {
        let times = wanted.iter().filter_map(|one| self.there(one).checked_div(one.count));
        times.min().unwrap_or(0) as u64
    }
}

/// A program's need of items of one kind.
pub struct WantedItems<'r> {
    /// The `kind` of the items' batches.
    pub kind: u8,
    /// Digest of the component; zeros for other items.
    pub component: [u8; 32],
    /// Name of the items, for people.
    pub name: &'r str,
    /// The number of items.
    pub count: usize,
}

impl<'r> WantedItems<'r> {
    /// Lists the copies of components that a program needs.
    pub fn copies(kind: u8, components: &'r [(Component, usize)]) -> impl Iterator<Item = Self> {
        components.iter().map(move |(component, count)| WantedItems {
            kind,
            component: component.digest(),
            name: &component.name,
            count: *count,
        })
    }
}

/// The items that a log entry took, still in the store.
pub struct TakenItems<'a> {
    store: &'a Store,
    taken: &'a TakenEntry,
    epoch: &'a EpochId,
}

impl<'a> TakenItems<'a> {
    pub(super) fn new(store: &'a Store, epoch: &'a EpochId, taken: &'a TakenEntry) -> Self {
        TakenItems { store, taken, epoch }
    }

    /// Visits the taken items of each batch, in the order of the entry.
    ///
    /// # Errors
    /// [`Error::Stock`] that names the part that was altered or cannot be read.
    pub fn each(&self, mut visit: impl FnMut(TakenBatch<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let state = self.store.state(self.epoch)?;
        let mut records: HashMap<Serial, Vec<Record>> = HashMap::new();
        self.store.read(self.taken, |serial, record| {
            records.entry(serial).or_default().push(record);
            Ok(())
        })?;
        for records in records.values_mut() {
            // An entry may name a batch twice, and one record may contain items of both times.
            records.sort_by_key(|record| record.first);
            records.dedup_by_key(|record| record.first);
        }
        let batches = self.store.batches(self.epoch)?;
        for (serial, items) in self.taken.items() {
            let batch = batches.iter().find(|left| left.serial == *serial);
            let batch = &batch
                .ok_or_else(|| Error::Stock(format!("batch {serial} is not among the taken items")))?
                .batch;
            let holds = |record: &&Record| {
                items.iter().any(|items| record.first < items.end && record.end() > items.start)
            };
            visit(TakenBatch {
                batch,
                given_up: state.given_up(),
                chain: self.taken.chain(*serial)?.clone(),
                items: items.iter().map(|items| items.start as usize..items.end as usize).collect(),
                records: records.get(serial).into_iter().flatten().filter(holds).collect(),
                bulk: &|units| self.store.read_units(self.taken, *serial, units),
            })?;
        }
        Ok(())
    }
}

/// Taken items of one kind, read record by record, for callers with little memory.
pub struct TakenStream<'a> {
    items: &'a TakenItems<'a>,
    /// The batches, each with the range of items that is not read yet, in the order of the entry.
    left: VecDeque<(Serial, Range<u64>)>,
    /// The keys of the items of the current batch.
    chain: Option<(Serial, Chain)>,
    /// The last record that was read. It may have further items.
    record: Option<(Serial, Record)>,
}

impl<'a> TakenItems<'a> {
    /// Begins to read all items of an entry, which must be of one kind, in the order of the entry.
    pub fn stream(&'a self) -> TakenStream<'a> {
        let ranges = |(serial, items): &TakenOf| {
            items.iter().map(|items| (*serial, items.clone())).collect::<Vec<_>>()
        };
        let left = self.taken.items().iter().flat_map(ranges).collect();
        TakenStream { items: self, left, chain: None, record: None }
    }
}

impl TakenStream<'_> {
    /// Reads the next items of one record: at least one and at most `most`.
    ///
    /// # Errors
    /// [`Error::Stock`] if no item is left, or a record is malformed or missing.
    pub fn next<P: Records>(&mut self, context: &P::Context<'_>, most: usize) -> Result<P, Error> {
        let TakenItems { store, taken, .. } = *self.items;
        let (serial, wanted) = self.left.front_mut().ok_or_else(missing)?;
        let has = |(of, record): &(Serial, Record)| of == serial && record.has(wanted.start);
        let (_, record) = match self.record.take().filter(has) {
            Some(record) => self.record.insert(record),
            None => self.record.insert((*serial, store.read_at(taken, *serial, wanted.start)?)),
        };
        let (_, chain) = match self.chain.take().filter(|(of, _)| of == serial) {
            Some(chain) => self.chain.insert(chain),
            None => self.chain.insert((*serial, taken.chain(*serial)?.clone())),
        };
        let end = wanted.end.min(record.end()).min(wanted.start.saturating_add(most as u64));
        let mut values = Values::of((end - wanted.start) as usize);
        values.add(record, wanted.start..end, chain)?;
        wanted.start = end;
        if wanted.is_empty() {
            let _ = self.left.pop_front();
        }
        values.decode(context)
    }
}

/// Reads units of a batch's bulk data.
type ReadUnits<'a> = dyn Fn(&[u32]) -> Result<Vec<u8>, Error> + 'a;

/// Items that an entry took from one batch. Their records may also contain other items.
pub struct TakenBatch<'a> {
    /// The batch.
    pub batch: &'a Batch,
    /// The steps that were begun in the epoch and not completed.
    pub given_up: GivenUp,
    /// The keys of the batch's items, from the first taken item on.
    chain: Chain,
    items: Vec<Range<usize>>,
    records: Vec<&'a Record>,
    bulk: &'a ReadUnits<'a>,
}

impl TakenBatch<'_> {
    /// Returns the ranges of taken items of the batch, in order. There are several ranges if damaged items
    /// are between them.
    pub fn items(&self) -> &[Range<usize>] {
        &self.items
    }

    /// Reads the items.
    ///
    /// # Errors
    /// [`Error::Stock`] if a record is malformed or missing.
    pub fn assemble<P: Records>(self, context: &P::Context<'_>) -> Result<P, Error> {
        let TakenBatch { mut chain, items, records, bulk: read_bulk, .. } = self;
        let mut values = Values::of(items.iter().map(Range::len).sum());
        for record in records {
            for items in &items {
                let wanted = record.first.max(items.start as u64)..record.end().min(items.end as u64);
                if !wanted.is_empty() {
                    values.add(record, wanted, &mut chain)?;
                }
            }
        }
        let mut whole: P = values.decode(context)?;
        whole.derive(context)?;
        if !whole.units().is_empty() {
            let units = read_bulk(whole.units())?;
            whole.put_units(units);
        }
        Ok(whole)
    }
}

fn missing() -> Error {
    Error::Stock("the batch lacks a record".into())
}

/// Bytes of a unit's number. The numbers come after the columns of a record.
const NUMBER_BYTES: usize = 4;

/// A record that is being written: arrays of plain values, one after another, each with the same number of
/// values for every item.
///
/// ```text
///   record = unit:[u8; 4]* column* width:[u8; 4]* columns:[u8; 4]     width: bytes of each item
/// ```
///
/// The bytes of each item are masked with the item's own key ([`Chain`]). So a program that takes one item
/// can erase the key of this item alone. The numbers of units are not secret, because the store reads them.
pub struct Out {
    items: usize,
    /// The bytes with the numbers of units, which are not masked.
    clear: usize,
    /// For each column, the bytes that one item has in it.
    widths: Vec<usize>,
    bytes: Zeroizing<Vec<u8>>,
}

impl Out {
    /// Begins a record of this many items.
    pub fn of(items: usize) -> Self {
        Out { items, clear: 0, widths: Vec::new(), bytes: Zeroizing::default() }
    }

    /// Writes plain values, little endian, with the same number of values for each item.
    ///
    /// # Panics
    /// If the number of values is not a multiple of the number of items.
    pub fn pods<T: Pod>(&mut self, values: &[T]) {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        assert!(
            bytes.len().is_multiple_of(self.items.max(1)),
            "each item must have the same number of values"
        );
        self.widths.push(bytes.len() / self.items.max(1));
        self.reserve(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes, for each item, the numbers of the units that belong to it. Each item has the same number of
    /// units. This must come before all other data.
    ///
    /// # Panics
    /// If something was written before, or the number is not a multiple of the number of items.
    pub fn units(&mut self, units: &[u32]) {
        assert!(self.bytes.is_empty(), "the units must be written before other data");
        self.pods(units);
        let _ = self.widths.pop();
        self.clear = self.bytes.len();
    }

    /// Reserves room for more bytes. A new vector is allocated, because a vector that grows leaves copies of
    /// secrets behind.
    fn reserve(&mut self, more: usize) {
        if self.bytes.capacity() < self.bytes.len() + more {
            let mut larger = Zeroizing::new(Vec::with_capacity(2 * (self.bytes.len() + more)));
            larger.extend_from_slice(&self.bytes);
            self.bytes = larger;
        }
    }

    /// Returns the bytes without masks.
    pub fn plain(self) -> Zeroizing<Vec<u8>> {
        self.bytes
    }

    /// Returns the record, masked with the next keys, and with room for the tag that sealing adds.
    fn masked(mut self, chain: &mut Chain) -> Zeroizing<Vec<u8>> {
        let (mut rest, mut columns) = (&mut self.bytes[self.clear..], Vec::new());
        for width in &self.widths {
            let (column, behind) = rest.split_at_mut(width * self.items);
            columns.push(column.chunks_mut((*width).max(1)));
            rest = behind;
        }
        mask(columns, self.items, chain);
        self.reserve(NUMBER_BYTES * (self.widths.len() + 1) + TAG_BYTES);
        let Out { widths, bytes: mut record, .. } = self;
        for number in widths.iter().chain([&widths.len()]) {
            record.extend_from_slice(&(*number as u32).to_le_bytes());
        }
        record
    }
}

/// Masks or unmasks columns, of which each chunk belongs to an item, with the next keys for this many items.
fn mask(mut columns: Vec<ChunksMut<'_, u8>>, items: usize, chain: &mut Chain) {
    let mut pieces: Vec<&mut [u8]> = Vec::with_capacity(columns.len());
    for _ in 0..items {
        pieces.clear();
        pieces.extend(columns.iter_mut().filter_map(Iterator::next));
        chain.mask_next(&mut pieces);
    }
}

/// Returns the columns of a record of `count` items, and the bytes of an item in each. The first column has
/// the numbers of units, which are not masked.
fn columns(record: &[u8], count: usize) -> Result<(&[u8], Vec<usize>), Error> {
    let number = |bytes: &[u8]| bytes.last_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize);
    let columns = number(record).filter(|&columns| columns < record.len() / NUMBER_BYTES);
    let behind = NUMBER_BYTES * (columns.ok_or_else(In::broken)? + 1);
    let (values, numbers) = record.split_at(record.len() - behind);
    let numbers = &numbers[..behind - NUMBER_BYTES];
    let mut widths = vec![0];
    widths.extend(numbers.chunks(NUMBER_BYTES).filter_map(number));
    let all = widths.iter().try_fold(0usize, |all, width| all.checked_add(width.checked_mul(count)?));
    let clear = all.and_then(|all| values.len().checked_sub(all)).ok_or_else(In::broken)?;
    if !clear.is_multiple_of(NUMBER_BYTES * count.max(1)) {
        return Err(In::broken());
    }
    widths[0] = clear / count.max(1);
    Ok((values, widths))
}

/// The plain values of some items of a batch, column after column. They may come from several records.
struct Values {
    items: usize,
    /// The number of items that are there.
    there: usize,
    widths: Vec<usize>,
    bytes: Zeroizing<Vec<u8>>,
}

impl Values {
    /// Makes room for this many items.
    fn of(items: usize) -> Self {
        Values { items, there: 0, widths: Vec::new(), bytes: Zeroizing::default() }
    }

    /// Adds these items of the batch, which are in the record. `chain` must not be behind the first one.
    fn add(&mut self, record: &Record, items: Range<u64>, chain: &mut Chain) -> Result<(), Error> {
        chain.go_to(items.start)?;
        let items = (items.start - record.first) as usize..(items.end - record.first) as usize;
        self.unmask(&record.bytes, record.items as usize, items, chain)
    }

    /// Adds items of a record of `count` items, unmasked with the next keys.
    fn unmask(
        &mut self,
        record: &[u8],
        count: usize,
        items: Range<usize>,
        chain: &mut Chain,
    ) -> Result<(), Error> {
        let (mut from, widths) = columns(record, count)?;
        if self.there == 0 {
            let length = widths.iter().sum::<usize>().checked_mul(self.items).ok_or_else(In::broken)?;
            (self.bytes, self.widths) = (Zeroizing::new(vec![0; length]), widths);
        } else if widths != self.widths {
            return Err(In::broken());
        }
        if items.end > count || items.len() > self.items - self.there {
            return Err(In::broken());
        }
        let (mut to, mut masked) = (&mut self.bytes[..], Vec::with_capacity(self.widths.len()));
        for (k, &width) in self.widths.iter().enumerate() {
            let (column, behind) = to.split_at_mut(width * self.items);
            let (source, others) = from.split_at(width * count);
            let here = &mut column[width * self.there..][..width * items.len()];
            here.copy_from_slice(&source[width * items.start..width * items.end]);
            if k > 0 {
                masked.push(here.chunks_mut(width.max(1)));
            }
            (to, from) = (behind, others);
        }
        mask(masked, items.len(), chain);
        self.there += items.len();
        Ok(())
    }

    fn decode<P: Records>(&self, context: &P::Context<'_>) -> Result<P, Error> {
        if self.there == 0 || self.there < self.items {
            return Err(missing());
        }
        let mut columns = In::new(&self.bytes);
        let items = P::decode(context, self.items, &mut columns)?;
        columns.end()?;
        Ok(items)
    }
}

/// Writes `items` in two records, of which the first has `first` items, and reads them again. Tests of a
/// protocol's items use it.
///
/// # Errors
/// As [`Records::encode`] and [`Records::decode`].
#[doc(hidden)]
pub fn rewritten<P: Records>(items: &P, first: usize, context: &P::Context<'_>) -> Result<P, Error> {
    let (count, start) = (items.count(), Chain::random()?);
    let (mut writing, mut reading, mut values) = (start.clone(), start, Values::of(count));
    for range in [0..first, first..count] {
        let mut out = Out::of(range.len());
        items.encode(range.clone(), &mut out)?;
        values.unmask(&out.masked(&mut writing), range.len(), 0..range.len(), &mut reading)?;
    }
    values.decode(context)
}

/// Columns that are being read.
pub struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    /// Begins to read columns.
    pub fn new(bytes: &'a [u8]) -> Self {
        In(bytes)
    }

    fn broken() -> Error {
        Error::Stock("a stored record has the wrong length".into())
    }

    /// Reads `count` plain values.
    ///
    /// # Errors
    /// [`Error::Stock`] if fewer than `count` values are left.
    pub fn pods<T: Pod>(&mut self, count: usize) -> Result<Vec<T>, Error> {
        let length = count
            .checked_mul(size_of::<T>())
            .filter(|&length| length <= self.0.len())
            .ok_or_else(Self::broken)?;
        let (bytes, rest) = self.0.split_at(length);
        self.0 = rest;
        let mut values = vec![T::zeroed(); count];
        bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
        Ok(values)
    }

    /// Checks that everything was read.
    ///
    /// # Errors
    /// [`Error::Stock`] if bytes are left.
    pub fn end(self) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(Self::broken()) }
    }
}

#[cfg(test)]
mod tests {
    // Rows are those of the table of attacks (docs/concepts/security.md, section 14).

    use super::*;
    use crate::stock::ots::GarblerOts;

    /// Writing secrets leaves no copies behind, because a new buffer replaces one that is too small.
    #[test]
    fn a_record_that_outgrows_its_room_is_made_anew() {
        let mut out = Out::of(1);
        for more in [30, 30, 1, 2] {
            let (room, needed) = (out.bytes.capacity(), out.bytes.len() + more);
            out.pods(&vec![7u8; more]);
            assert_eq!(out.bytes.len(), needed);
            match room >= needed {
                true => assert_eq!(out.bytes.capacity(), room, "{needed}"),
                // A vector that grew by itself would have a smaller capacity.
                false => assert!(out.bytes.capacity() >= 2 * needed, "{needed}"),
            }
        }
        // Encrypting does not move the bytes either, because there is room for the tag.
        let mut full = Out::of(1);
        (0..2).for_each(|_| full.pods(&[7u8; 30]));
        let record = full.masked(&mut Chain::random().unwrap());
        assert!(record.capacity() >= record.len() + TAG_BYTES);
    }

    /// Makes a record of five items in three columns, one of them empty.
    fn record(chain: &mut Chain) -> Zeroizing<Vec<u8>> {
        let mut out = Out::of(5);
        out.pods(&(0..5_u8).collect::<Vec<_>>());
        out.pods::<u8>(&[]);
        out.pods(&(0..15_u64).collect::<Vec<_>>());
        out.masked(chain)
    }

    /// Each item is read with its own key. With the key after a taken item, all later items can be read, and
    /// no earlier ones.
    #[test]
    fn items_of_a_record_are_masked_one_by_one() {
        let start = Chain::random().unwrap();
        let mut chain = start.clone();
        let record = record(&mut chain);
        assert_eq!(chain.item(), 5);
        let read = |items: Range<usize>, chain: &mut Chain| {
            let mut values = Values::of(items.len());
            values.unmask(&record, 5, items.clone(), chain).unwrap();
            let mut bytes = In::new(&values.bytes);
            let small = bytes.pods::<u8>(items.len()).unwrap();
            let large = bytes.pods::<u64>(3 * items.len()).unwrap();
            bytes.end().unwrap();
            (small, large)
        };
        for first in 0..5 {
            for end in first + 1..=5 {
                let mut chain = start.clone();
                chain.go_to(first as u64).unwrap();
                let (small, large) = read(first..end, &mut chain);
                assert_eq!(small, (first as u8..end as u8).collect::<Vec<_>>());
                assert_eq!(large, (3 * first as u64..3 * end as u64).collect::<Vec<_>>());
                assert_eq!(chain.item(), end as u64);
            }
        }
        // The keys after item 2 do not unmask item 2.
        let mut behind = start.clone();
        behind.go_to(3).unwrap();
        let (small, large) = read(2..3, &mut behind);
        assert!(small != [2] || large != [6, 7, 8], "one of 2^200");
        assert!(large.iter().zip([6, 7, 8]).all(|(read, item)| *read != item));
    }

    /// Row 25 of the table of attacks: a record whose header differs from the index is refused.
    #[test]
    fn row_25_other_columns_are_refused() {
        let whole = record(&mut Chain::random().unwrap());
        let read = |bytes: &[u8], count, items| {
            Values::of(5).unmask(bytes, count, items, &mut Chain::random().unwrap())
        };
        assert!(read(&whole, 5, 0..5).is_ok());
        for (count, items) in [(4, 0..4), (6, 0..5), (usize::MAX, 0..1), (5, 0..6)] {
            assert!(read(&whole, count, items).is_err());
        }
        for place in 1..=16 {
            let mut other = whole.clone();
            let place = other.len() - place;
            other[place] ^= 0x80;
            assert!(read(&other, 5, 0..5).is_err(), "{place}");
        }
        assert!([0, 3, 4, 15, whole.len() - 1].iter().all(|&end| read(&whole[..end], 5, 0..5).is_err()));
    }

    /// Items of a batch are read only if all are there, and all records have the same columns.
    #[test]
    fn items_are_read_together_or_not_at_all() {
        let written = |width: usize| {
            let (mut out, chain) = (Out::of(3), Chain::random().unwrap());
            out.pods(&vec![7u8; 3 * width]);
            (out.masked(&mut chain.clone()), chain)
        };
        for (widths, wanted, good) in [
            (&[16][..], 3, true),
            (&[16], 4, false),
            (&[16], 2, false),
            (&[16, 16], 6, true),
            (&[16, 8], 6, false),
            (&[], 3, false),
        ] {
            let mut values = Values::of(wanted);
            let added = widths.iter().try_for_each(|&width| {
                let (record, mut chain) = written(width);
                values.unmask(&record, 3, 0..3, &mut chain)
            });
            let read = added.and_then(|()| values.decode::<GarblerOts>(&()));
            assert_eq!(
                read.map_or(0, |ots| ots.count()),
                if good { wanted } else { 0 },
                "{widths:?} {wanted}"
            );
        }
    }

    #[test]
    fn a_record_is_read_to_its_end_and_no_further() {
        let bytes = [0; 16];
        let read = |bytes, count| {
            let mut record = In::new(bytes);
            record.pods::<u64>(count).and_then(|_| record.end())
        };
        assert!(read(&bytes, 2).is_ok());
        for (bytes, count) in [(&bytes[..], 1), (&bytes[..], 3), (&bytes[..15], 2), (&bytes[..], usize::MAX)]
        {
            assert!(matches!(read(bytes, count), Err(Error::Stock(why)) if why.contains("wrong length")));
        }
    }
}
