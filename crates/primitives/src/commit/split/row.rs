//! Rows of many commitments, at the sender. Their values are held while there is room for them, and otherwise
//! made again whenever they are wanted: random ones follow from the seeds like the shares, for a few
//! nanoseconds each; those of the sender's choice from the corrections, too, which lie in a temporary file:
//! they are what was sent, and hide the values from everybody who does not know the seeds.

use std::ops::Range;
use std::sync::Arc;

use brickwork_kernels as kernels;
use rayon::prelude::*;
use zeroize::{Zeroize, Zeroizing};

use super::again::resize;
use super::{
    BLOCK, CHUNK, CHUNK_BLOCKS, CHUNKS_IN_HAND, DIMENSION, Lsb, Recipe, Sender, Shares, rows_to_values,
};
use crate::commit::{Committed, New, NewValues, Selection};
use crate::spill::{Fault, Held, SpillFile};
use brickwork_base::Error;
use brickwork_base::label::{Label, Labels};
use brickwork_wire::Channel;

/// A row of commitments, or some of one. What it keeps of each is little or nothing.
pub struct Row {
    values: Values,
    shares: Shares,
}

enum Values {
    Held(Memory),
    Again(Arc<Origin>),
    /// Some of a row.
    Picked(Arc<Origin>, Arc<Selection>),
}

/// Values, and the part of a budget that they take.
struct Memory(Labels, #[expect(dead_code, reason = "goes back with the values")] Option<Held>);

/// What the values of a row are made of.
pub struct Origin {
    recipe: Arc<Recipe>,
    second: Arc<Vec<kernels::Aes128>>,
    /// Of chosen values: what corrects the first coordinates, chunk after chunk, one row of blocks each.
    corrections: Option<SpillFile>,
    fault: Arc<Fault>,
}

/// Rows and values in the making; erased at the end.
#[derive(Default)]
pub(super) struct Room {
    first: Zeroizing<Vec<u128>>,
    pub message: Zeroizing<Vec<u128>>,
    corrections: Vec<u128>,
    values: Labels,
}

impl Origin {
    /// The rows of value bits of some blocks of a chunk, into `room.message`.
    fn message(&self, chunk: usize, blocks: Range<usize>, room: &mut Room) -> Result<(), Error> {
        let Room { first, message, corrections, .. } = room;
        let (recipe, count) = (&self.recipe, blocks.len());
        let start = u128::from(recipe.start) + (chunk * CHUNK_BLOCKS + blocks.start) as u128;
        for (keys, lowest, rows) in
            [(&recipe.source.seeds, 0, &mut *first), (&*self.second, u128::MAX, &mut *message)]
        {
            resize(rows, DIMENSION * count);
            kernels::ctr_rows(&keys[..DIMENSION], start, rows, count);
            match recipe.lsb {
                Lsb::Random => {}
                Lsb::Zero => rows[..count].fill(0),
                Lsb::One => rows[..count].fill(lowest),
            }
        }
        message.iter_mut().zip(&**first).for_each(|(b, a)| *b ^= a);
        if let Some(file) = &self.corrections {
            let all = recipe.blocks(chunk);
            corrections.resize(DIMENSION * all, 0);
            file.read(bytemuck::cast_slice_mut(corrections), Self::offset(chunk))?;
            for (row, correction) in message.chunks_exact_mut(count).zip(corrections.chunks_exact(all)) {
                row.iter_mut()
                    .zip(&correction[blocks.clone()])
                    .for_each(|(row, correction)| *row ^= correction);
            }
        }
        Ok(())
    }

    /// Where the corrections of a chunk lie.
    fn offset(chunk: usize) -> u64 {
        (chunk * CHUNK * DIMENSION / 8) as u64
    }

    /// As [`Origin::message`] of a whole chunk, zero behind the last commitment. What cannot be read is
    /// noted.
    pub(super) fn rows_to_the_last(&self, chunk: usize, room: &mut Room) {
        let blocks = self.recipe.blocks(chunk);
        self.message(chunk, 0..blocks, room).unwrap_or_else(|error| self.fault.note(error));
        self.recipe.clear_behind_the_last(chunk, &mut room.message);
    }

    /// The values at the places from `first` on.
    fn fill(&self, first: usize, values: &mut [Label]) -> Result<(), Error> {
        let (mut room, end) = (Room::default(), first + values.len());
        let mut rest = values;
        let mut place = first;
        while place < end {
            let (chunk, until) = (place / CHUNK, end.min((place / CHUNK + 1) * CHUNK));
            let blocks = place % CHUNK / BLOCK..(until - chunk * CHUNK).div_ceil(BLOCK);
            self.message(chunk, blocks.clone(), &mut room)?;
            resize(&mut room.values, blocks.len() * BLOCK);
            rows_to_values(&room.message, &mut room.values, blocks.len());
            let (here, behind) = rest.split_at_mut(until - place);
            here.copy_from_slice(&room.values[place % BLOCK..][..here.len()]);
            (rest, place) = (behind, until);
        }
        Ok(())
    }

    /// The values of those chunks that are wanted, in their order: `with` gets the first place and the
    /// values.
    fn each_chunk(
        &self,
        wanted: impl Fn(Range<usize>) -> bool,
        mut with: impl FnMut(usize, &[Label]) + Send,
    ) -> Result<(), Error> {
        let count = self.recipe.count;
        let places = |chunk: usize| chunk * CHUNK..count.min((chunk + 1) * CHUNK);
        let chunks: Vec<usize> = (0..count.div_ceil(CHUNK)).filter(|&chunk| wanted(places(chunk))).collect();
        let groups: Vec<&[usize]> = chunks.chunks(CHUNKS_IN_HAND).collect();
        let room = || Labels::new(vec![Label::ZERO; CHUNK * chunks.len().min(CHUNKS_IN_HAND)]);
        let make = |group: Option<&&[usize]>, values: &mut Labels| -> Result<(), Error> {
            let chunks = group.copied().unwrap_or_default().par_iter().zip(values.par_chunks_mut(CHUNK));
            chunks
                .map(|(&chunk, values)| self.fill(chunk * CHUNK, &mut values[..places(chunk).len()]))
                .collect()
        };
        let (mut ready, mut next) = (room(), room());
        make(groups.first(), &mut ready)?;
        for (g, group) in groups.iter().enumerate() {
            let use_ready = || {
                for (&chunk, values) in group.iter().zip(ready.chunks(CHUNK)) {
                    with(chunk * CHUNK, &values[..places(chunk).len()]);
                }
            };
            let ((), made) = rayon::join(use_ready, || make(groups.get(g + 1), &mut next));
            made?;
            std::mem::swap(&mut ready, &mut next);
        }
        Ok(())
    }
}

impl Default for Row {
    fn default() -> Self {
        Committed::default().into()
    }
}

impl From<Committed> for Row {
    fn from(committed: Committed) -> Self {
        Row::held_in(None, committed)
    }
}

impl<'a> From<&'a Row> for New<'a> {
    fn from(row: &'a Row) -> Self {
        let values = match &row.values {
            Values::Held(memory) => NewValues::Held(&memory.0),
            Values::Again(origin) | Values::Picked(origin, _) => NewValues::Again(origin),
        };
        New { shares: &row.shares, values }
    }
}

impl Row {
    /// With all values in memory, of which this is a part of a budget.
    fn held_in(budget: Option<Held>, mut committed: Committed) -> Self {
        let (values, shares) = (std::mem::take(&mut committed.values), std::mem::take(&mut committed.shares));
        Row { values: Values::Held(Memory(values.into(), budget)), shares }
    }

    /// Number of commitments.
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Held(memory) => memory.0.len(),
            Values::Again(origin) => origin.recipe.count,
            Values::Picked(_, selection) => selection.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// This party's shares.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// The shares alone.
    pub fn into_shares(self) -> Shares {
        self.shares
    }

    /// The values at the places from `first` on, which are fewest work where they follow each other in the
    /// row.
    ///
    /// # Errors
    /// [`Error::Resource`] if they lie in a file that cannot be read.
    pub fn fill(&self, first: usize, values: &mut [Label]) -> Result<(), Error> {
        let end = first + values.len();
        match &self.values {
            Values::Held(memory) => values.copy_from_slice(&memory.0[first..end]),
            Values::Again(origin) => origin.fill(first, values)?,
            Values::Picked(origin, selection) => {
                let runs = |places| {
                    let within = move |(place, number, count): (usize, usize, usize)| {
                        let (start, end) = (number.max(first), (number + count).min(end));
                        (start < end).then(|| (place + start - number, start - first, end - start))
                    };
                    selection.runs(places).filter_map(within)
                };
                origin.each_chunk(
                    |places| runs(places).next().is_some(),
                    |first, made| {
                        for (place, number, count) in runs(first..first + made.len()) {
                            values[number..number + count].copy_from_slice(&made[place - first..][..count]);
                        }
                    },
                )?;
            }
        }
        Ok(())
    }

    /// All values.
    ///
    /// # Errors
    /// As [`Row::fill`].
    pub fn values(&self) -> Result<Labels, Error> {
        let mut values = Labels::new(vec![Label::ZERO; self.len()]);
        match &self.values {
            Values::Again(_) => values
                .par_chunks_mut(CHUNK)
                .enumerate()
                .try_for_each(|(c, values)| self.fill(c * CHUNK, values))?,
            _ => self.fill(0, &mut values)?,
        }
        Ok(values)
    }

    /// Puts the values of items, of `each` commitments, where they are wanted: for each item the place among
    /// `wanted`.
    ///
    /// # Errors
    /// As [`Row::fill`].
    pub fn scatter(
        &self,
        each: usize,
        place: impl Fn(usize) -> Option<usize> + Sync,
        wanted: &mut [Label],
    ) -> Result<(), Error> {
        let mut put = |first: usize, values: &[Label]| {
            let (mut at, end) = (first, first + values.len());
            while at < end {
                let (item, until) = (at / each, end.min((at / each + 1) * each));
                if let Some(place) = place(item) {
                    wanted[place * each + at % each..][..until - at]
                        .copy_from_slice(&values[at - first..until - first]);
                }
                at = until;
            }
        };
        match &self.values {
            Values::Held(memory) => put(0, &memory.0),
            Values::Again(origin) => {
                let some = |places: Range<usize>| {
                    (places.start / each..places.end.div_ceil(each)).any(|item| place(item).is_some())
                };
                origin.each_chunk(some, put)?;
            }
            Values::Picked(..) => put(0, &self.values()?),
        }
        Ok(())
    }

    /// Some of these, which are not made yet if all are not.
    pub fn pick(&self, selection: &Arc<Selection>) -> Row {
        let values = match &self.values {
            Values::Again(origin) => Values::Picked(origin.clone(), selection.clone()),
            Values::Held(memory) => {
                let mut values = Labels::new(Vec::with_capacity(selection.len()));
                values.extend(selection.places().map(|place| memory.0[place]));
                Values::Held(Memory(values, None))
            }
            Values::Picked(..) => unreachable!("nothing is picked twice"),
        };
        Row { values, shares: self.shares.pick(selection) }
    }

    /// With all values in memory and all shares as columns, so that some can be had quickly.
    ///
    /// # Errors
    /// As [`Row::fill`].
    pub fn gathered(self) -> Result<Row, Error> {
        Ok(Row { values: Values::Held(Memory(self.values()?, None)), shares: self.shares.gathered() })
    }

    /// The first of these.
    ///
    /// # Errors
    /// As [`Row::fill`].
    pub fn first(&self, count: usize) -> Result<Row, Error> {
        let mut values = Labels::new(vec![Label::ZERO; count]);
        self.fill(0, &mut values)?;
        Ok(Row { values: Values::Held(Memory(values, None)), shares: self.shares.slice(0..count) })
    }

    /// The values of a [gathered](Row::gathered) row.
    ///
    /// # Panics
    /// If they would have to be made.
    pub fn held(&self) -> &[Label] {
        match &self.values {
            Values::Held(memory) => &memory.0,
            Values::Again(_) | Values::Picked(..) => unreachable!("what is kept for programs is gathered"),
        }
    }

    /// The commitments of a gathered row that belong to some of `all` items, which have equally many each.
    pub fn of_items(&self, all: usize, items: Range<usize>) -> Row {
        let each = self.len().checked_div(all).unwrap_or(0);
        let places = items.start * each..items.end * each;
        let values = Labels::new(self.held()[places.clone()].to_vec());
        Row { values: Values::Held(Memory(values, None)), shares: self.shares.slice(places) }
    }

    /// These commitments of a gathered row, then those of another.
    pub fn append(&mut self, others: &Row) {
        let mut values = Labels::new(Vec::with_capacity(self.len() + others.len()));
        values.extend(self.held().iter().chain(others.held()));
        self.values = Values::Held(Memory(values, None));
        self.shares.append(&others.shares);
    }

    /// Puts shares in the place of none.
    pub fn with_shares(self, shares: Shares) -> Row {
        Row { shares, ..self }
    }
}

/// A row of commitments to values that come one after the other.
pub struct Committing {
    recipe: Recipe,
    /// Values that do not fill a message yet.
    waiting: Labels,
    corrections: Vec<u128>,
    sent: usize,
    storage: RowStorage,
}

enum RowStorage {
    Memory(Labels, Option<Held>),
    File(SpillFile),
}

/// Commitments whose corrections are one message.
const MESSAGE: usize = CHUNK * CHUNKS_IN_HAND;

impl Sender {
    /// Commits to `count` values drawn by the protocol.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn row(&mut self, channel: &mut Channel, count: usize, lsb: Lsb) -> Result<Row, Error> {
        let held = self.budget.take((16 * count) as u64);
        if count <= CHUNK || held.is_some() {
            return Ok(Row::held_in(held, self.commit_rows(channel, count, lsb, None)?));
        }
        let recipe = self.next_recipe(count, lsb);
        let mut corrections = Vec::new();
        for m in 0..count.div_ceil(MESSAGE) {
            self.send_message(channel, &recipe, m, None, None, &mut corrections)?;
        }
        Ok(self.made(recipe, None))
    }

    /// Commits to `count` values that [`Sender::push`] is given.
    ///
    /// # Errors
    /// [`Error::Resource`] if there is no room for a file.
    pub fn begin_row(&mut self, count: usize) -> Result<Committing, Error> {
        let held = self.budget.take((16 * count) as u64);
        let storage = match count <= CHUNK || held.is_some() {
            true => RowStorage::Memory(Labels::new(Vec::with_capacity(count)), held),
            false => RowStorage::File(SpillFile::new()?),
        };
        let waiting = Labels::new(Vec::with_capacity(count.min(MESSAGE)));
        Ok(Committing {
            recipe: self.next_recipe(count, Lsb::Random),
            waiting,
            corrections: Vec::new(),
            sent: 0,
            storage,
        })
    }

    /// Commits to the next values.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails, [`Error::Resource`] if there is no room for a file.
    pub fn push(
        &self,
        channel: &mut Channel,
        row: &mut Committing,
        mut values: &[Label],
    ) -> Result<(), Error> {
        while !values.is_empty() {
            let (here, behind) = values.split_at(values.len().min(MESSAGE - row.waiting.len()));
            row.waiting.extend_from_slice(here);
            values = behind;
            if row.waiting.len() == MESSAGE || row.sent + row.waiting.len() == row.recipe.count {
                self.send_waiting(channel, row)?;
            }
        }
        Ok(())
    }

    fn send_waiting(&self, channel: &mut Channel, row: &mut Committing) -> Result<(), Error> {
        let Committing { recipe, waiting, corrections, sent, storage } = row;
        let message = *sent / MESSAGE;
        self.send_message(channel, recipe, message, Some(waiting), None, corrections)?;
        match storage {
            RowStorage::Memory(values, _) => values.extend_from_slice(waiting),
            RowStorage::File(file) => {
                let first = message * CHUNKS_IN_HAND;
                for (c, corrections) in corrections.chunks(self.code.length() * CHUNK_BLOCKS).enumerate() {
                    let message = &corrections[..DIMENSION * recipe.blocks(first + c)];
                    file.write(bytemuck::cast_slice(message), Origin::offset(first + c))?;
                }
            }
        }
        *sent += waiting.len();
        waiting.zeroize();
        Ok(())
    }

    /// The row, when all values are there.
    ///
    /// # Panics
    /// If they are not.
    pub fn finish(&self, row: Committing) -> Row {
        let Committing { recipe, sent, storage, .. } = row;
        assert_eq!(sent, recipe.count, "a value for each commitment");
        match storage {
            RowStorage::Memory(values, held) => {
                Row { values: Values::Held(Memory(values, held)), shares: Shares::of_recipe(recipe) }
            }
            RowStorage::File(file) => self.made(recipe, Some(file)),
        }
    }

    /// Many commitments that were made.
    fn made(&self, recipe: Recipe, corrections: Option<SpillFile>) -> Row {
        let shares = Shares::of_recipe(recipe);
        let recipe = shares.recipe().expect("there are many").clone();
        let origin = Origin { recipe, second: self.second.clone(), corrections, fault: self.fault.clone() };
        Row { values: Values::Again(Arc::new(origin)), shares }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Code;
    use super::*;
    use crate::commit::Sender as _;
    use crate::commit::{Claims, Column, Shares};
    use brickwork_base::random::{Rng, Seed};
    use brickwork_wire::memory_pair;

    /// Two senders of the same seeds; the second holds so many bytes of chosen values.
    fn twins(s: u32, memory: u64) -> [Sender; 2] {
        let code = Code::for_security(s).unwrap();
        let mut rng = Rng::replayable("test dealer");
        let pairs: Vec<[Seed; 2]> = (0..code.length()).map(|_| [rng.seed(), rng.seed()]).collect();
        [u64::MAX, memory].map(|memory| Sender::new(code, &pairs, memory))
    }

    /// A row has the values and the shares that commitments would have which are held, whichever of them are
    /// asked for.
    fn assert_same(row: &Row, made: &Committed) {
        let count = made.values.len();
        let columns = |shares: &Shares| {
            if shares.is_empty() { Vec::new() } else { shares.slice(0..shares.len()).words().to_vec() }
        };
        assert_eq!(row.len(), count);
        assert!(*row.values().unwrap() == made.values);
        assert!(columns(row.shares()) == columns(&made.shares));
        for places in [0..count, 0..1, count / 3..count / 2, count - 1..count] {
            let mut values = vec![Label::ZERO; places.len()];
            row.fill(places.start, &mut values).unwrap();
            assert!(values == made.values[places.clone()], "{places:?} of {count}");
        }
        for each in [1, 3] {
            let items = count / each;
            // Every fourth item, in an order of its own: 7 has no factor in common with the number of them.
            let kept = (items / 4).max(1) / 7 * 7 + 1;
            let chosen: Vec<u32> = (0..kept)
                .map(|k| (k * 7 % kept * 4) as u32)
                .filter(|&item| (item as usize) < items)
                .collect();
            let expected: Vec<Label> = chosen
                .iter()
                .flat_map(|&item| made.values[item as usize * each..(item as usize + 1) * each].to_vec())
                .collect();
            let picked = row.pick(&Arc::new(Selection::new(chosen.clone(), each)));
            assert!(*picked.values().unwrap() == expected);
            let some = expected.len() / 3..expected.len() / 2;
            let mut values = vec![Label::ZERO; some.len()];
            picked.fill(some.start, &mut values).unwrap();
            assert!(values == expected[some]);
            let gathered = picked.gathered().unwrap();
            assert!(gathered.held() == expected);
            let places = chosen.iter().flat_map(|&item| item as usize * each..(item as usize + 1) * each);
            assert!(columns(gathered.shares()) == columns(&made.shares.select(places)));

            let mut places = vec![None; items + 1];
            chosen.iter().enumerate().for_each(|(k, &item)| places[item as usize] = Some(k));
            let mut values = vec![Label::ZERO; expected.len()];
            row.scatter(each, |item| places[item], &mut values).unwrap();
            assert!(values == expected);
        }
    }

    #[test]
    fn values_made_again_are_those_that_were_committed_to() {
        for (s, count) in [(40, 1), (40, CHUNK), (40, CHUNK + 1), (80, 2 * CHUNK + 130), (40, MESSAGE + 777)]
        {
            for memory in [u64::MAX, 0] {
                let [mut plain, mut sender] = twins(s, memory);
                let [(mut left, _right), (mut other, _other)] = [memory_pair(), memory_pair()];
                for lsb in [Lsb::Random, Lsb::Zero, Lsb::One] {
                    let made = plain.commit_random(&mut left, count, lsb).unwrap();
                    assert_same(&sender.row(&mut other, count, lsb).unwrap(), &made);
                }
                let values: Vec<Label> =
                    (0..count as u128).map(|k| Label::from_bits(k * k * k + 5)).collect();
                let made = plain.commit(&mut left, &values).unwrap();
                let mut row = sender.begin_row(count).unwrap();
                values.chunks(1000).for_each(|values| sender.push(&mut other, &mut row, values).unwrap());
                assert_same(&sender.finish(row), &made);
                assert_eq!((left.sent_bytes(), sender.next_block), (other.sent_bytes(), plain.next_block));
            }
        }
    }

    /// What a file has lost is told as that, before anything is proven of it.
    #[test]
    fn lost_corrections_are_an_error() {
        let [_, mut sender] = twins(40, 0);
        let (mut left, mut right) = memory_pair();
        let mut row = sender.begin_row(CHUNK + 1).unwrap();
        sender.push(&mut left, &mut row, &vec![Label::from_bits(9); CHUNK + 1]).unwrap();
        let row = sender.finish(row);
        match &row.values {
            Values::Again(origin) => origin.corrections.as_ref().unwrap().lose(),
            _ => panic!("no file"),
        }
        assert!(matches!(row.values(), Err(Error::Resource(_))));
        right.send(super::super::msg::SEED, &[1; 16]).unwrap();
        right.flush().unwrap();
        let proof = sender.prove(&mut left, &[New::from(&row)], &Claims::new());
        assert!(matches!(proof, Err(Error::Resource(_))), "nothing is answered");
    }

    /// Also what it has lost further on: of a message's chunks, which are made at a time, all are there.
    #[test]
    fn corrections_lost_further_on_are_an_error() {
        let [_, mut sender] = twins(40, 0);
        let (mut left, _right) = memory_pair();
        let mut row = sender.begin_row(MESSAGE + 1).unwrap();
        sender.push(&mut left, &mut row, &vec![Label::from_bits(9); MESSAGE + 1]).unwrap();
        let row = sender.finish(row);
        let Values::Again(whole) = &row.values else { panic!("no file") };
        let (file, mut bytes) = (SpillFile::new().unwrap(), vec![0; Origin::offset(CHUNKS_IN_HAND) as usize]);
        whole.corrections.as_ref().unwrap().read(&mut bytes, 0).unwrap();
        file.write(&bytes, 0).unwrap();
        let (recipe, second, fault) = (whole.recipe.clone(), whole.second.clone(), whole.fault.clone());
        let short = Origin { recipe, second, corrections: Some(file), fault };
        assert!(whole.each_chunk(|_| true, |_, _| {}).is_ok());
        assert!(matches!(short.each_chunk(|_| true, |_, _| {}), Err(Error::Resource(_))));
    }

    /// An item may lie in two chunks.
    #[test]
    fn items_are_scattered_across_chunks() {
        let [mut plain, mut sender] = twins(40, 0);
        let [(mut left, _right), (mut other, _other)] = [memory_pair(), memory_pair()];
        let (items, each) = (683, 3);
        assert_eq!(items * each, CHUNK + 1);
        let made = plain.commit_random(&mut left, items * each, Lsb::Random).unwrap();
        let row = sender.row(&mut other, items * each, Lsb::Random).unwrap();
        let mut values = vec![Label::ZERO; items * each];
        row.scatter(each, |item| Some(items - 1 - item), &mut values).unwrap();
        assert!(values.chunks(each).eq(made.values.chunks(each).rev()));
    }

    /// Values that are held take their part of the budget; those for which nothing is left are made again.
    #[test]
    fn held_values_take_their_part_of_the_budget() {
        const COUNT: usize = CHUNK + 1;
        let [_, mut sender] = twins(40, 16 * COUNT as u64);
        let (mut left, _right) = memory_pair();
        let held = |rows: [Row; 2]| rows.map(|row| matches!(row.values, Values::Held(_)));
        let random = [(), ()].map(|()| sender.row(&mut left, COUNT, Lsb::Random).unwrap());
        assert_eq!(held(random), [true, false]);
        let chosen = [(), ()].map(|()| {
            let mut row = sender.begin_row(COUNT).unwrap();
            sender.push(&mut left, &mut row, &vec![Label::from_bits(9); COUNT]).unwrap();
            sender.finish(row)
        });
        assert_eq!(held(chosen), [true, false]);
    }

    /// The rows of a chunk are the same in whatever form shares are kept.
    #[test]
    fn every_form_of_shares_has_the_same_rows() {
        let [_, mut sender] = twins(40, 0);
        let (mut left, _right) = memory_pair();
        let count = 2 * CHUNK + 300;
        let shares = sender.row(&mut left, count, Lsb::Random).unwrap().into_shares();
        let recipe = shares.recipe().unwrap();
        let all = Arc::new(Selection::new((0..count as u32).collect(), 1));
        for chunk in 0..3 {
            let rows = |shares: &Shares| {
                let mut rows = vec![0; 275 * recipe.blocks(chunk)];
                shares.rows(chunk, &mut rows);
                // What stands there is arbitrary.
                recipe.clear_behind_the_last(chunk, &mut rows);
                rows
            };
            assert!(
                [shares.same().gathered(), shares.in_place(&all)]
                    .iter()
                    .all(|other| rows(other) == rows(&shares)),
                "{chunk}"
            );
        }
    }

    type List<'a> = (&'a Shares, Box<dyn Fn(usize, &mut [u128]) + Sync>);

    /// Picked commitments are weighted like columns, by themselves and together with all of their row.
    #[test]
    fn picked_commitments_are_weighted_where_they_lie() {
        let [mut sender, _] = twins(40, 0);
        let (mut left, _right) = memory_pair();
        let row = sender.row(&mut left, 9 * CHUNK + 100, Lsb::Random).unwrap();
        let weigh = |factor: u128| {
            move |first: usize, sums: &mut [u128]| {
                sums.iter_mut()
                    .zip(first as u128..)
                    .for_each(|(sum, k)| *sum ^= (k + 1).wrapping_mul(factor));
            }
        };
        let sums = |lists: &[List]| {
            let mut sums = vec![0; 275];
            Shares::weighted(lists, &mut sums);
            sums
        };
        // So many single ones that several tasks make their weights.
        for (each, count) in [(1, 17_000), (5, 700)] {
            let items = (0..count).map(|k| k * 3 % count).collect();
            let picked = row.shares().in_place(&Arc::new(Selection::new(items, each)));
            let (columns, all) = (picked.same().gathered(), row.shares().same().gathered());
            // Weights of a commitment have bits in common.
            let (first, second, third) =
                (0x1234_5678_9abc_def1 << 50, 0x9e37_79b9_7f4a_7c15 << 45, 0xffff_0001 << 64);
            let where_they_lie: Vec<u128> = sums(&[
                (row.shares(), Box::new(weigh(first))),
                (&picked, Box::new(weigh(second))),
                (&picked, Box::new(weigh(third))),
            ]);
            let apart = sums(&[
                (&all, Box::new(weigh(first))),
                (&columns, Box::new(weigh(second))),
                (&columns, Box::new(weigh(third))),
            ]);
            assert!(where_they_lie == apart && where_they_lie.iter().any(|&sum| sum != 0));
            // And a single one is what it is among the columns.
            let column = |shares: &Shares, k: usize| {
                let mut sum = Column::default();
                shares.add(k, &mut sum);
                sum
            };
            assert!((0..columns.len()).step_by(97).all(|k| column(&picked, k) == column(&columns, k)));
        }
    }
}
