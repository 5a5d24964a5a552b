//! Rows of many commitments, at the sender. The values of a row are kept in memory while there is room.
//! Otherwise they are recomputed whenever they are needed.

use std::ops::Range;
use std::sync::Arc;

use brickwork_kernels::SecretBlocks;

use super::rows::{CHUNK, CHUNKS_IN_HAND, ValueRows};
use super::shares::{Selection, Shares};
use crate::Labels;
use crate::spill::HeldBudget;
use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::pool;

/// A row of commitments at the sender: the values and its shares. An opened row has the same form at the
/// receiver: the opened values, and the receiver's shares.
#[derive(Default)]
pub struct Committed {
    /// The committed values.
    pub values: Vec<Label>,
    /// This party's shares.
    pub shares: Shares,
}

/// New commitments that are not proven to be valid yet, with their values. Only the sender has the values.
pub struct New<'a> {
    pub(super) shares: &'a Shares,
    pub(super) values: NewValues<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum NewValues<'a> {
    Held(&'a [Label]),
    Again(&'a dyn ValueRows),
}

impl<'a> From<&'a Committed> for New<'a> {
    fn from(committed: &'a Committed) -> Self {
        New { shares: &committed.shares, values: NewValues::Held(&committed.values) }
    }
}

impl Drop for Committed {
    fn drop(&mut self) {
        drop(SecretBlocks::new(std::mem::take(&mut self.values)));
    }
}

impl Committed {
    /// Returns the commitments at these places, in this order.
    pub fn select(&self, indices: impl IntoIterator<Item = usize>) -> Committed {
        self.select_each(&[&indices.into_iter().collect::<Vec<_>>()]).swap_remove(0)
    }

    /// Returns, for each list, the commitments at the places in the list, in the order of the list. No place
    /// may occur twice.
    pub fn select_each(&self, lists: &[&[usize]]) -> Vec<Committed> {
        let values = lists.iter().map(|list| list.iter().map(|&i| self.values[i]).collect());
        values
            .zip(self.shares.select_each(lists))
            .map(|(values, shares)| Committed { values, shares })
            .collect()
    }
}

/// A long row of commitments, or a selection from one. It needs little or no memory for each commitment.
pub struct CommitmentRow {
    values: Storage,
    shares: Shares,
}

enum Storage {
    Held(Memory),
    Again(Arc<dyn ValueRows>),
    /// A selection of a row.
    Picked(Arc<dyn ValueRows>, Arc<Selection>),
}

/// Values in memory, with their share of the memory budget.
struct Memory(
    Labels,
    #[expect(dead_code, reason = "the values hold their part of the budget")] Option<HeldBudget>,
);

impl Default for CommitmentRow {
    fn default() -> Self {
        Committed::default().into()
    }
}

impl From<Committed> for CommitmentRow {
    fn from(committed: Committed) -> Self {
        CommitmentRow::held_in(None, committed)
    }
}

impl<'a> From<&'a CommitmentRow> for New<'a> {
    fn from(row: &'a CommitmentRow) -> Self {
        let values = match &row.values {
            Storage::Held(memory) => NewValues::Held(&memory.0),
            Storage::Again(origin) | Storage::Picked(origin, _) => NewValues::Again(&**origin),
        };
        New { shares: &row.shares, values }
    }
}

impl CommitmentRow {
    /// Returns a row with all values in memory. `budget` is the share of the memory budget that the values
    /// take.
    pub(super) fn held_in(budget: Option<HeldBudget>, mut committed: Committed) -> Self {
        let (values, shares) = (std::mem::take(&mut committed.values), std::mem::take(&mut committed.shares));
        CommitmentRow { values: Storage::Held(Memory(values.into(), budget)), shares }
    }

    /// Returns a row whose values are recomputed whenever they are needed.
    pub(super) fn made_again(values: Arc<dyn ValueRows>, shares: Shares) -> Self {
        CommitmentRow { values: Storage::Again(values), shares }
    }

    /// Returns the source that recomputes the values, if there is one.
    #[cfg(test)]
    pub(super) fn origin(&self) -> Option<&dyn ValueRows> {
        match &self.values {
            Storage::Again(origin) => Some(&**origin),
            Storage::Held(_) | Storage::Picked(..) => None,
        }
    }

    /// Returns the number of commitments.
    pub fn len(&self) -> usize {
        match &self.values {
            Storage::Held(memory) => memory.0.len(),
            Storage::Again(origin) => origin.count(),
            Storage::Picked(_, selection) => selection.len(),
        }
    }

    /// Returns whether the row is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns this party's shares.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// Returns the shares alone.
    pub fn into_shares(self) -> Shares {
        self.shares
    }

    /// Writes the values at the places from `first` on. Recomputing is cheapest for consecutive places.
    ///
    /// # Errors
    /// [`Error::Resource`] if a file with corrections cannot be read.
    pub fn fill(&self, first: usize, values: &mut [Label]) -> Result<(), Error> {
        let end = first + values.len();
        match &self.values {
            Storage::Held(memory) => values.copy_from_slice(&memory.0[first..end]),
            Storage::Again(origin) => origin.fill(first, values)?,
            Storage::Picked(origin, selection) => {
                let runs = |places| {
                    let within = move |(place, number, count): (usize, usize, usize)| {
                        let (start, end) = (number.max(first), (number + count).min(end));
                        (start < end).then(|| (place + start - number, start - first, end - start))
                    };
                    selection.runs(places).filter_map(within)
                };
                each_chunk(
                    &**origin,
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

    /// Returns all values.
    ///
    /// # Errors
    /// As [`CommitmentRow::fill`].
    pub fn values(&self) -> Result<Labels, Error> {
        let mut values = Labels::new(vec![Label::ZERO; self.len()]);
        match &self.values {
            Storage::Again(_) => {
                let fill = |_: &mut (), c: usize, values: &mut [Label]| self.fill(c * CHUNK, values);
                pool::map(values.chunks_mut(CHUNK).collect(), || (), fill)
                    .into_iter()
                    .collect::<Result<(), _>>()?;
            }
            _ => self.fill(0, &mut values)?,
        }
        Ok(values)
    }

    /// Writes the values of selected items, which have `each` commitments. `place` returns the position of an
    /// item among the selected ones.
    ///
    /// # Errors
    /// As [`CommitmentRow::fill`].
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
            Storage::Held(memory) => put(0, &memory.0),
            Storage::Again(origin) => {
                let some = |places: Range<usize>| {
                    (places.start / each..places.end.div_ceil(each)).any(|item| place(item).is_some())
                };
                each_chunk(&**origin, some, put)?;
            }
            Storage::Picked(..) => put(0, &self.values()?),
        }
        Ok(())
    }

    /// Returns the commitments of some items of this row. Values that are not in memory will be recomputed.
    pub fn pick(&self, selection: &Arc<Selection>) -> CommitmentRow {
        let values = match &self.values {
            Storage::Again(origin) => Storage::Picked(origin.clone(), selection.clone()),
            Storage::Held(memory) => {
                let mut values = Labels::new(Vec::with_capacity(selection.len()));
                values.extend(selection.places().map(|place| memory.0[place]));
                Storage::Held(Memory(values, None))
            }
            Storage::Picked(..) => unreachable!("nobody selects from a selection"),
        };
        CommitmentRow { values, shares: self.shares.pick(selection) }
    }

    /// Returns the row with all values in memory and all shares as columns, for quick access to single
    /// commitments.
    ///
    /// # Errors
    /// As [`CommitmentRow::fill`].
    pub fn gathered(self) -> Result<CommitmentRow, Error> {
        Ok(CommitmentRow {
            values: Storage::Held(Memory(self.values()?, None)),
            shares: self.shares.gathered(),
        })
    }

    /// Returns the first `count` commitments.
    ///
    /// # Errors
    /// As [`CommitmentRow::fill`].
    pub fn first(&self, count: usize) -> Result<CommitmentRow, Error> {
        let mut values = Labels::new(vec![Label::ZERO; count]);
        self.fill(0, &mut values)?;
        Ok(CommitmentRow { values: Storage::Held(Memory(values, None)), shares: self.shares.slice(0..count) })
    }

    /// Returns the values of a [gathered](CommitmentRow::gathered) row.
    ///
    /// # Panics
    /// If the values are not in memory.
    pub fn held(&self) -> &[Label] {
        match &self.values {
            Storage::Held(memory) => &memory.0,
            Storage::Again(_) | Storage::Picked(..) => {
                unreachable!("a gathered row has its values in memory")
            }
        }
    }

    /// Returns the commitments of a range of items, from a gathered row. The row has the same number of
    /// commitments for each of `all` items.
    pub fn of_items(&self, all: usize, items: Range<usize>) -> CommitmentRow {
        let each = self.len().checked_div(all).unwrap_or(0);
        let places = items.start * each..items.end * each;
        let values = Labels::new(self.held()[places.clone()].to_vec());
        CommitmentRow { values: Storage::Held(Memory(values, None)), shares: self.shares.slice(places) }
    }

    /// Appends the commitments of another row, which must be [gathered](CommitmentRow::gathered), too.
    pub fn append(&mut self, others: &CommitmentRow) {
        let mut values = Labels::new(Vec::with_capacity(self.len() + others.len()));
        values.extend(self.held().iter().chain(others.held()));
        self.values = Storage::Held(Memory(values, None));
        self.shares.append(&others.shares);
    }

    /// Returns the row with these shares instead of its own.
    pub fn with_shares(self, shares: Shares) -> CommitmentRow {
        CommitmentRow { shares, ..self }
    }
}

/// Computes the values of the wanted chunks in order, and passes each chunk's first place and values to
/// `with`.
pub(super) fn each_chunk(
    origin: &dyn ValueRows,
    wanted: impl Fn(Range<usize>) -> bool,
    with: impl FnMut(usize, &[Label]) + Send,
) -> Result<(), Error> {
    let places = |chunk: usize| chunk * CHUNK..origin.count().min((chunk + 1) * CHUNK);
    let chunks = 0..origin.count().div_ceil(CHUNK);
    let chunks: Vec<usize> = chunks.filter(|&chunk| wanted(places(chunk))).collect();
    match chunks.len() {
        // For a single chunk, starting a task in the pool costs more than it saves.
        ..=1 => each_chunk_in_turn(origin, &chunks, with),
        _ => pool::compute(|| each_chunk_in_turn(origin, &chunks, with)),
    }
}

/// Implements [`each_chunk`]: passes a group of chunks on while the next group is computed.
fn each_chunk_in_turn(
    origin: &dyn ValueRows,
    chunks: &[usize],
    mut with: impl FnMut(usize, &[Label]) + Send,
) -> Result<(), Error> {
    let count = origin.count();
    let places = |chunk: usize| chunk * CHUNK..count.min((chunk + 1) * CHUNK);
    let groups: Vec<&[usize]> = chunks.chunks(CHUNKS_IN_HAND).collect();
    let room = || Labels::new(vec![Label::ZERO; CHUNK * chunks.len().min(CHUNKS_IN_HAND)]);
    let make = |group: &[usize], values: &mut Labels| -> Result<(), Error> {
        let fill = |_: &mut (), _: usize, (&chunk, values): (&usize, &mut [Label])| {
            origin.fill(chunk * CHUNK, &mut values[..places(chunk).len()])
        };
        let chunks = group.iter().zip(values.chunks_mut(CHUNK));
        pool::map(chunks.collect(), || (), fill).into_iter().collect()
    };
    let (mut ready, mut next) = (room(), room());
    make(groups.first().copied().unwrap_or_default(), &mut ready)?;
    for (g, group) in groups.iter().enumerate() {
        let mut use_ready = || {
            for (&chunk, values) in group.iter().zip(ready.chunks(CHUNK)) {
                with(chunk * CHUNK, &values[..places(chunk).len()]);
            }
        };
        match groups.get(g + 1) {
            Some(group) => rayon::join(use_ready, || make(group, &mut next)).1?,
            None => use_ready(),
        }
        std::mem::swap(&mut ready, &mut next);
    }
    Ok(())
}
