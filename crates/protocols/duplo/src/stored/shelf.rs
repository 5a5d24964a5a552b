//! Items in the store: what a step has made is put there, what a program takes is fetched.

use std::collections::HashMap;
use std::sync::Arc;

use super::codec::{In, Out};
use super::pieces::{Context, Header, Known, Stored};
use super::side::Side;
use crate::instance::level;
use crate::parameters::{bound_of_origins, report_of_origins};
use crate::stock::{ComponentItems, Counts, Origin, Request, Stock, garbler_wires};
use brickwork_base::Error;
use brickwork_circuit::{ComponentDigest, Party, Program};
use brickwork_primitives::cut_and_choose::Upper;
use brickwork_primitives::garbling::Schedule;
use brickwork_stock::{Batch, EpochId, Left, Record, Serial, Store, Taken};

/// What the items of a batch are: the `kind` of [`Batch`].
pub(super) mod kind {
    pub const COMPONENT: u8 = 0;
    pub const INPUT: u8 = 1;
    pub const OTS: u8 = 2;
}

/// What is kept together in a record, at least: so much is read for the smallest item.
const RECORD_BYTES: usize = 128 << 10;

/// Puts all of a stock into the store, as batches of the step that entry `number` began.
pub(super) fn keep<'o, S: Side<'o>>(
    store: &mut Store,
    epoch: &EpochId,
    number: u64,
    stock: Stock<S::Component, S::Gadgets, S::Ots>,
    request: &Request,
) -> Result<(), Error> {
    let (components, input, ots) = stock.into_items();
    let mut shelf = Shelf { store, epoch, next: brickwork_stock::serial(number, 0) };
    for pieces in components {
        let digest = *pieces.digest();
        let named = request.components.iter().find(|(c, _)| c.digest() == digest);
        shelf.put(kind::COMPONENT, named.map_or("", |(c, _)| &c.name), digest, pieces)?;
    }
    input
        .into_iter()
        .try_for_each(|pieces| shelf.put(kind::INPUT, "input authenticators", [0; 32], pieces))?;
    ots.into_iter().try_for_each(|pieces| shelf.put(kind::OTS, "OTs", [0; 32], pieces))
}

struct Shelf<'a> {
    store: &'a mut Store,
    epoch: &'a EpochId,
    /// Behind all serials so far.
    next: Serial,
}

impl Shelf<'_> {
    fn put<P: Stored>(
        &mut self,
        kind: u8,
        name: &str,
        component: ComponentDigest,
        mut pieces: P,
    ) -> Result<(), Error> {
        let serial = pieces.origins().first().map_or(self.next, Origin::batch_serial);
        self.next = self.next.max(serial + 1);
        let mut writer = match pieces.take_segment() {
            Some(begun) => begun,
            None => self.store.writer(self.epoch, serial)?,
        };
        let count = pieces.len();
        let one = |items| {
            let mut out = Out::default();
            pieces.encode(items, &mut out)?;
            Ok::<_, Error>(out.finish())
        };
        let a_record = RECORD_BYTES.div_ceil(one(0..1)?.len().max(1));
        for first in (0..count).step_by(a_record) {
            let here = a_record.min(count - first);
            writer.record(first as u64, here as u32, one(first..first + here)?)?;
        }
        let batch = Batch { kind, name: name.into(), component, header: pieces.header().encode() };
        self.store.put(self.epoch, serial, &batch, writer)
    }
}

/// What an epoch holds for programs.
pub(super) struct Shelves {
    batches: Vec<(Left, Header)>,
}

impl Shelves {
    pub fn of(store: &Store, epoch: &EpochId) -> Result<Self, Error> {
        let state = store.state(epoch)?;
        let header = |left: Left| {
            let header = Header::decode(&left.batch.header, state.given_up())?;
            Ok((left, header))
        };
        Ok(Shelves {
            batches: store
                .batches(epoch)?
                .into_iter()
                .filter(|left| left.left > 0)
                .map(header)
                .collect::<Result<_, Error>>()?,
        })
    }

    fn of_kind(&self, kind: u8) -> impl Iterator<Item = &(Left, Header)> {
        self.batches.iter().filter(move |(left, _)| left.batch.kind == kind)
    }

    /// Items that are left.
    pub fn counts(&self) -> Counts {
        let left = |kind| self.of_kind(kind).map(|(left, _)| left.left as usize).sum();
        let mut components = HashMap::new();
        for (batch, _) in self.of_kind(kind::COMPONENT) {
            *components.entry(batch.batch.component).or_default() += batch.left as usize;
        }
        let ots = left(kind::OTS);
        Counts { components, input: left(kind::INPUT), ots: (ots > 0).then_some(ots) }
    }

    /// What a program takes: items of batches, oldest first.
    ///
    /// # Errors
    /// [`Error::Stock`] if there is not enough, or if it comes out of so many batches that the bound is
    /// exceeded.
    pub fn choose(&self, program: &Program, security: u32) -> Result<Vec<(Serial, u32)>, Error> {
        let counts = self.counts();
        let with_ots = counts.ots.is_some();
        let missing = counts.missing(program);
        if !missing.is_empty() {
            return Err(Error::Stock(format!("the program needs {missing} more than there is")));
        }
        let mut wanted: Vec<(u8, ComponentDigest, usize)> = Vec::new();
        for (digest, slots) in program.component_digests().iter().zip(program.slots_by_component()) {
            match wanted.iter_mut().find(|w| w.1 == *digest) {
                Some(w) => w.2 += slots,
                None => wanted.push((kind::COMPONENT, *digest, slots)),
            }
        }
        wanted.push((kind::INPUT, [0; 32], garbler_wires(program)));
        wanted.push((kind::OTS, [0; 32], if with_ots { program.input_width(Party::Evaluator) } else { 0 }));
        let mut taken = Vec::new();
        let mut origins: Vec<(String, Origin)> = Vec::new();
        for (kind, component, mut count) in wanted {
            for (left, header) in self.of_kind(kind).filter(|(left, _)| left.batch.component == component) {
                let here = count.min(left.left as usize);
                if here > 0 {
                    taken.push((
                        left.serial,
                        u32::try_from(here)
                            .map_err(|_| Error::Limit("a program of more than 2^32 slots".into()))?,
                    ));
                    origins.extend(header.origins.iter().map(|origin| (left.batch.name.clone(), *origin)));
                    count -= here;
                }
            }
        }
        if taken.is_empty() {
            return Err(Error::Stock(
                "the program takes nothing from the stock; run it without --store".into(),
            ));
        }
        report_of_origins(&origins, security)?;
        Ok(taken)
    }
}

/// The bound on a cheating garbler's success in all programs together that take from an epoch: over all that
/// was made in it, also where nothing is left.
pub(super) fn bound_of_epoch(store: &Store, epoch: &EpochId, security: u32) -> Result<Upper, Error> {
    let state = store.state(epoch)?;
    let mut origins = Vec::new();
    for left in store.batches(epoch)?.iter().filter(|left| state.is_made(left.serial)) {
        origins.extend(Header::decode(&left.batch.header, state.given_up())?.origins);
    }
    bound_of_origins(&origins, security)
}

/// The evaluator's plans for components, made once.
pub(super) type Plans = HashMap<ComponentDigest, Arc<Schedule>>;

/// Makes the plans that a program needs.
pub(super) fn plan(plans: &mut Plans, program: &Program) {
    for (component, digest) in program.components().iter().zip(program.component_digests()) {
        plans.entry(*digest).or_insert_with(|| Arc::new(Schedule::new(&component.circuit)));
    }
}

/// Fetches what was taken for a program.
pub(super) fn fetch<'o, S: Side<'o>>(
    session: &mut S,
    store: &Store,
    taken: &Taken,
    program: &Program,
    plans: &Plans,
) -> Result<(), Error> {
    let id = *session.id();
    let words = level(session.security())?.words;
    let state = store.state(&id)?;
    let mut records: HashMap<Serial, Vec<Record>> = HashMap::new();
    store.read(taken, |serial, record| {
        records.entry(serial).or_default().push(record);
        Ok(())
    })?;
    let batches = store.batches(&id)?;
    for &(serial, first, count) in taken.items() {
        let batch = &batches
            .iter()
            .find(|b| b.serial == serial)
            .ok_or_else(|| Error::Stock(format!("batch {serial} is gone")))?
            .batch;
        let header = Header::decode(&batch.header, state.given_up())?;
        let mut components = program.components().iter().zip(program.component_digests());
        let component =
            components.find(|(_, digest)| batch.kind == kind::COMPONENT && **digest == batch.component);
        let component =
            component.map(|(component, digest)| Known { component, digest, plan: plans.get(digest) });
        let context = Context { session: &id, words, component, committer: session.committer() };
        let piece = Piece {
            header,
            context,
            first: first as usize,
            count: count as usize,
            records: records.remove(&serial).unwrap_or_default(),
            bulk: &|units| store.read_units(taken, serial, units),
        };
        match batch.kind {
            kind::COMPONENT => {
                let component = piece.assemble()?;
                session.stock().put_component(component);
            }
            kind::INPUT => {
                let gadgets = piece.assemble()?;
                session.stock().put_input(gadgets);
            }
            kind::OTS => {
                let ots = piece.assemble()?;
                session.stock().put_ots(ots);
            }
            other => return Err(Error::Stock(format!("a batch of unknown kind {other}"))),
        }
    }
    Ok(())
}

/// Reads units of a batch's bulk.
type ReadUnits<'a> = dyn Fn(&[u32]) -> Result<Vec<u8>, Error> + 'a;

/// Items of a batch, in records that may hold more.
struct Piece<'a> {
    header: Header,
    context: Context<'a>,
    first: usize,
    count: usize,
    records: Vec<Record>,
    /// Reads units of the bulk.
    bulk: &'a ReadUnits<'a>,
}

impl Piece<'_> {
    fn assemble<P: Stored>(self) -> Result<P, Error> {
        let Piece { header, context, first, count, records, bulk: read_bulk } = self;
        let end = first + count;
        let mut whole: Option<P> = None;
        for record in &records {
            let (start, here) = (record.first as usize, record.items as usize);
            let mut bytes = In::new(&record.bytes, context.words);
            let piece = P::decode(&header, &context, here, &mut bytes)?;
            bytes.end()?;
            let wanted = first.max(start) - start..end.min(start + here) - start;
            let piece = if wanted == (0..here) { piece } else { piece.slice(wanted) };
            match &mut whole {
                None => whole = Some(piece),
                Some(whole) => whole.append(piece)?,
            }
        }
        let mut whole = whole
            .filter(|whole| whole.len() == count)
            .ok_or_else(|| Error::Stock("a record is missing".into()))?;
        whole.derive(&context)?;
        if !whole.units().is_empty() {
            let units = read_bulk(whole.units())?;
            whole.put_units(units);
        }
        Ok(whole)
    }
}
