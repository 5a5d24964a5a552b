//! What a protocol keeps of its items: records in batches, written by who made them, and read by who took
//! them.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use zeroize::Zeroizing;

use brickwork_base::Error;
use brickwork_circuit::Component;
use brickwork_stock::{
    Batch, Elsewhere, EpochId, GivenUp, Left, Record, Serial, Store, TAG_BYTES, Taken, Writer, Writers,
};

/// What is kept together in a record, at least: so much is read for the smallest item.
const RECORD_BYTES: usize = 128 << 10;

/// Items of one batch that a store can keep: arrays of plain values, side by side. How many values an item
/// has follows from the batch's header, never from a record.
pub trait Records: Sized {
    /// What the items are made of besides their records.
    type Context<'c>;

    /// Returns the number of items.
    fn count(&self) -> usize;

    /// Writes some of the items.
    ///
    /// # Errors
    /// [`Error::Resource`] if they cannot be read from where they lie.
    fn encode(&self, items: Range<usize>, out: &mut Out) -> Result<(), Error>;

    /// Reads `count` items that [`Records::encode`] wrote in one go.
    ///
    /// # Errors
    /// [`Error::Stock`] if they are malformed.
    fn decode(context: &Self::Context<'_>, count: usize, record: &mut In) -> Result<Self, Error>;

    /// Selects some of the items: those of a record that were taken.
    fn some(&self, items: Range<usize>) -> Self;

    /// Puts those of another record of the same batch behind these items.
    ///
    /// # Errors
    /// As [`Records::encode`].
    fn append(&mut self, others: Self) -> Result<(), Error>;

    /// Makes again what follows from seeds, when all items are there.
    ///
    /// # Errors
    /// If the seeds are not there.
    fn derive(&mut self, _: &Self::Context<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Hands out the segment that a part of the items is in already, if there is one.
    fn take_segment(&mut self) -> Option<Writer> {
        None
    }

    /// Returns the units of the batch's bulk that belong to the items, one after the other; none where there
    /// is no bulk.
    fn units(&self) -> &[u32] {
        &[]
    }

    /// Puts these units back.
    fn put_units(&mut self, _: Vec<u8>) {}
}

/// The store that what is made goes into.
pub(super) enum Shelf<'a> {
    /// An epoch of one that this process has.
    Here(&'a Store, &'a EpochId),
    /// That of this party's coordinator.
    Elsewhere(Arc<dyn Elsewhere>),
}

impl Shelf<'_> {
    /// Makes writers of what need not wait.
    pub fn writers(&self) -> Writers {
        match self {
            Shelf::Here(store, epoch) => store.writers(epoch),
            Shelf::Elsewhere(store) => Writers::elsewhere(store.clone()),
        }
    }
}

/// Puts batches of one step into a store.
pub struct Keeper<'a> {
    shelf: &'a Shelf<'a>,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(shelf: &'a Shelf<'a>) -> Self {
        Keeper { shelf }
    }

    /// Puts a batch, durably. `serial` was drawn from the entry's range of
    /// [`SERIALS`](brickwork_stock::SERIALS), or is that of the items' segment.
    ///
    /// # Errors
    /// [`Error::Stock`] if the disk fails or the batch is none of the step that is open.
    pub fn put(&mut self, serial: Serial, batch: &Batch, mut items: impl Records) -> Result<(), Error> {
        let mut writer = match items.take_segment() {
            Some(begun) => begun,
            None => match self.shelf {
                Shelf::Here(store, epoch) => store.writer(epoch, serial)?,
                Shelf::Elsewhere(_) => self.shelf.writers().begin(serial, None)?,
            },
        };
        let count = items.count();
        let one = |range| {
            let mut out = Out::default();
            items.encode(range, &mut out)?;
            Ok::<_, Error>(out.finish())
        };
        let a_record = RECORD_BYTES.div_ceil(one(0..1)?.len().max(1));
        for first in (0..count).step_by(a_record) {
            let here = a_record.min(count - first);
            writer.record(first as u64, here as u32, one(first..first + here)?)?;
        }
        match self.shelf {
            Shelf::Here(store, epoch) => store.put(epoch, serial, batch, writer),
            Shelf::Elsewhere(store) => store.finish(serial, batch),
        }
    }
}

/// What an epoch holds for programs.
pub struct Batches {
    /// What is left of each batch, oldest first.
    left: Vec<Left>,
    /// All batches that were made, those among them of which nothing is left.
    made: Vec<Left>,
    given_up: GivenUp,
}

impl Batches {
    /// Returns the batches of an epoch, each with the items that are left.
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

    /// Returns all batches that were made in the epoch, whether something is left of them or not, oldest
    /// first.
    pub fn made(&self) -> impl Iterator<Item = &Left> {
        self.made.iter()
    }

    /// Returns what was begun in the epoch and not made: it counts in the bound of all that takes from it.
    pub fn given_up(&self) -> GivenUp {
        self.given_up
    }

    /// Returns the batches of one kind.
    pub fn of_kind(&self, kind: u8) -> impl Iterator<Item = &Left> {
        self.left.iter().filter(move |left| left.batch.kind == kind)
    }

    /// Counts the items of a kind that are left.
    pub fn left(&self, kind: u8) -> usize {
        self.of_kind(kind).map(|left| left.left as usize).sum()
    }

    /// Notes in `taken` that `count` items of a kind and a component are taken, or as many as there are,
    /// oldest first. Returns the batches that they come from.
    ///
    /// # Errors
    /// [`Error::Limit`] for more than 2^32 items of one batch.
    pub fn take(
        &self,
        kind: u8,
        component: &[u8; 32],
        mut count: usize,
        taken: &mut Vec<(Serial, u32)>,
    ) -> Result<Vec<&Left>, Error> {
        let mut from = Vec::new();
        for left in self.of_kind(kind).filter(|left| left.batch.component == *component) {
            let serial = left.serial;
            let known = taken.iter().position(|(named, _)| *named == serial);
            let already = known.map_or(0, |k| taken[k].1);
            let here = count.min((left.left as usize).saturating_sub(already as usize));
            if here > 0 {
                let items = u32::try_from(here + already as usize).map_err(|_| {
                    Error::Limit("a program that takes more than 2^32 items of a batch".into())
                })?;
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

    /// Counts what is there of something wanted.
    fn there(&self, wanted: &Wanted) -> usize {
        let ours = self.of_kind(wanted.kind).filter(|left| left.batch.component == wanted.component);
        ours.map(|left| left.left as usize).sum()
    }

    /// Chooses what a program is given that wants all of these, oldest first: how many of which batch.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is too little of something.
    pub fn choose(&self, wanted: &[Wanted]) -> Result<Vec<(Serial, u32)>, Error> {
        let mut taken = Vec::new();
        for one in wanted {
            let there = self.there(one);
            let Wanted { kind, component, name, count } = one;
            if there < *count {
                return Err(Error::Stock(format!("the program needs {count} {name}, and there are {there}")));
            }
            self.take(*kind, component, *count, &mut taken)?;
        }
        Ok(taken)
    }

    /// Returns how much is lacking of each.
    pub fn lacking(&self, wanted: &[Wanted]) -> Vec<usize> {
        wanted.iter().map(|one| one.count.saturating_sub(self.there(one))).collect()
    }

    /// Returns for how many programs that want all of these there is enough.
    pub fn suffices(&self, wanted: &[Wanted]) -> u64 {
        let times = wanted.iter().filter_map(|one| self.there(one).checked_div(one.count));
        times.min().unwrap_or(0) as u64
    }
}

/// What a program takes of one kind.
pub struct Wanted<'r> {
    /// What the items are: the `kind` of their batches.
    pub kind: u8,
    /// Digest of the component, or zeros.
    pub component: [u8; 32],
    /// Name of the items, for people.
    pub name: &'r str,
    /// How many.
    pub count: usize,
}

impl<'r> Wanted<'r> {
    /// Lists components, so many copies of each, which are of this kind.
    pub fn copies(kind: u8, components: &'r [(Component, usize)]) -> impl Iterator<Item = Self> {
        components.iter().map(move |(component, count)| Wanted {
            kind,
            component: component.digest(),
            name: &component.name,
            count: *count,
        })
    }
}

/// What an entry of the log took, as it lies in the store.
pub struct TakenItems<'a> {
    store: &'a Store,
    taken: &'a Taken,
    epoch: &'a EpochId,
}

impl<'a> TakenItems<'a> {
    pub(super) fn new(store: &'a Store, epoch: &'a EpochId, taken: &'a Taken) -> Self {
        TakenItems { store, taken, epoch }
    }

    /// Visits what was taken of each batch, in the order of the entry.
    ///
    /// # Errors
    /// [`Error::Stock`] that names what was altered or cannot be read.
    pub fn each(&self, mut visit: impl FnMut(TakenBatch<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let state = self.store.state(self.epoch)?;
        let mut records: HashMap<Serial, Vec<Record>> = HashMap::new();
        self.store.read(self.taken, |serial, record| {
            records.entry(serial).or_default().push(record);
            Ok(())
        })?;
        for records in records.values_mut() {
            // A batch may be named twice, and a record may hold items of both times.
            records.sort_by_key(|record| record.first);
            records.dedup_by_key(|record| record.first);
        }
        let batches = self.store.batches(self.epoch)?;
        for &(serial, first, count) in self.taken.items() {
            let batch = batches.iter().find(|left| left.serial == serial);
            let batch = &batch.ok_or_else(|| Error::Stock(format!("batch {serial} is gone")))?.batch;
            let end = first + u64::from(count);
            let holds =
                |record: &&Record| record.first < end && record.first + u64::from(record.items) > first;
            visit(TakenBatch {
                batch,
                given_up: state.given_up(),
                items: first as usize..end as usize,
                records: records.get(&serial).into_iter().flatten().filter(holds).collect(),
                bulk: &|units| self.store.read_units(self.taken, serial, units),
            })?;
        }
        Ok(())
    }
}

/// Items of a kind that were taken, one record of them at a time: for who has room for few.
pub struct TakenStream<'a, P> {
    items: &'a TakenItems<'a>,
    /// Batches and what is still to be read of them, in the order of the entry.
    left: VecDeque<(Serial, Range<u64>)>,
    /// What was read and not asked for yet.
    at_hand: Option<P>,
}

impl<'a> TakenItems<'a> {
    /// Begins to go through all items, which are of one kind, in the order of the entry.
    pub fn stream<P>(&'a self) -> TakenStream<'a, P> {
        let range = |&(serial, first, count): &(Serial, u64, u32)| (serial, first..first + u64::from(count));
        TakenStream { items: self, left: self.taken.items().iter().map(range).collect(), at_hand: None }
    }
}

impl<P: Records> TakenStream<'_, P> {
    /// Reads the next items, at least one and at most `most`: those of one record.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are none left, or a record is malformed or missing.
    pub fn next(&mut self, context: &P::Context<'_>, most: usize) -> Result<P, Error> {
        let here = match self.at_hand.take() {
            Some(items) => items,
            None => self.record(context)?,
        };
        let count = here.count();
        if count <= most {
            return Ok(here);
        }
        self.at_hand = Some(here.some(most..count));
        Ok(here.some(0..most))
    }

    /// What was taken of the next record.
    fn record(&mut self, context: &P::Context<'_>) -> Result<P, Error> {
        let missing = || Error::Stock("a record is missing".into());
        let (serial, wanted) = self.left.front_mut().ok_or_else(missing)?;
        let record = self.items.store.read_at(self.items.taken, *serial, wanted.start)?;
        let mut bytes = In::new(&record.bytes);
        let mut part = P::decode(context, record.items as usize, &mut bytes)?;
        bytes.end()?;
        let end = record.first + u64::from(record.items);
        let here = wanted.start - record.first..wanted.end.min(end) - record.first;
        if here != (0..u64::from(record.items)) {
            part = part.some(here.start as usize..here.end as usize);
        }
        wanted.start = wanted.end.min(end);
        if wanted.is_empty() {
            let _ = self.left.pop_front();
        }
        Ok(part)
    }
}

/// Reads units of a batch's bulk.
type ReadUnits<'a> = dyn Fn(&[u32]) -> Result<Vec<u8>, Error> + 'a;

/// Items that were taken of one batch, in records that may hold more.
pub struct TakenBatch<'a> {
    /// The batch.
    pub batch: &'a Batch,
    /// What was begun in its epoch and not made.
    pub given_up: GivenUp,
    items: Range<usize>,
    records: Vec<&'a Record>,
    bulk: &'a ReadUnits<'a>,
}

impl TakenBatch<'_> {
    /// Returns which of the batch's items were taken.
    pub fn items(&self) -> Range<usize> {
        self.items.clone()
    }

    /// Reads the items.
    ///
    /// # Errors
    /// [`Error::Stock`] if a record is malformed or missing.
    pub fn assemble<P: Records>(self, context: &P::Context<'_>) -> Result<P, Error> {
        let TakenBatch { items, records, bulk: read_bulk, .. } = self;
        let mut whole: Option<P> = None;
        for record in records {
            let (start, here) = (record.first as usize, record.items as usize);
            let mut bytes = In::new(&record.bytes);
            let part = P::decode(context, here, &mut bytes)?;
            bytes.end()?;
            let wanted = items.start.max(start) - start..items.end.min(start + here) - start;
            let part = if wanted == (0..here) { part } else { part.some(wanted) };
            match &mut whole {
                None => whole = Some(part),
                Some(whole) => whole.append(part)?,
            }
        }
        let mut whole = whole
            .filter(|whole| whole.count() == items.len())
            .ok_or_else(|| Error::Stock("a record is missing".into()))?;
        whole.derive(context)?;
        if !whole.units().is_empty() {
            let units = read_bulk(whole.units())?;
            whole.put_units(units);
        }
        Ok(whole)
    }
}

/// A record that is being written: arrays of plain values, one after the other.
#[derive(Default)]
pub struct Out(Zeroizing<Vec<u8>>);

impl Out {
    /// Writes plain values, little endian.
    pub fn pods<T: Pod>(&mut self, values: &[T]) {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        self.reserve(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn reserve(&mut self, more: usize) {
        if self.0.capacity() < self.0.len() + more {
            // What grows leaves copies behind; so it is made anew.
            let mut larger = Zeroizing::new(Vec::with_capacity(2 * (self.0.len() + more)));
            larger.extend_from_slice(&self.0);
            self.0 = larger;
        }
    }

    /// Returns the record, with room for what sealing adds.
    pub fn finish(mut self) -> Zeroizing<Vec<u8>> {
        self.reserve(TAG_BYTES);
        self.0
    }
}

/// A record that is being read.
pub struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    /// Begins to read a record.
    pub fn new(bytes: &'a [u8]) -> Self {
        In(bytes)
    }

    fn broken() -> Error {
        Error::Stock("a record is shorter or longer than what it should hold".into())
    }

    /// Reads `count` plain values.
    ///
    /// # Errors
    /// [`Error::Stock`] if there are fewer.
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

    /// Ends the record: everything must have been read.
    ///
    /// # Errors
    /// [`Error::Stock`] if something is left.
    pub fn end(self) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(Self::broken()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written of secrets leaves no copies behind: nothing grows where it lies.
    #[test]
    fn a_record_that_outgrows_its_room_is_made_anew() {
        let mut out = Out::default();
        for more in [30, 30, 1, 2] {
            let (room, needed) = (out.0.capacity(), out.0.len() + more);
            out.pods(&vec![7u8; more]);
            assert_eq!(out.0.len(), needed);
            match room >= needed {
                true => assert_eq!(out.0.capacity(), room, "{needed}"),
                // A vector that grows by itself takes less.
                false => assert!(out.0.capacity() >= 2 * needed, "{needed}"),
            }
        }
        // And it does not move to be sealed.
        let mut full = Out::default();
        (0..2).for_each(|_| full.pods(&[7u8; 30]));
        assert!(full.finish().capacity() >= 60 + TAG_BYTES);
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
            assert!(
                matches!(read(bytes, count), Err(Error::Stock(why)) if why.contains("shorter or longer"))
            );
        }
    }
}
