//! A party's shares of commitments.
//!
//! A scheme makes shares coordinate by coordinate, as rows of bits. The protocol adds up columns of single
//! commitments. For many commitments, this type keeps only a recipe that computes their rows, until some of
//! them are [read](Shares::select_each) as columns. Computing rows twice is cheaper than writing all columns
//! to memory and reading them again.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use brickwork_kernels::{self as kernels, SecretBlocks};
use rayon::prelude::*;
use zeroize::Zeroize;

use super::rows::{BLOCK, CHUNK, CHUNKS_IN_HAND, COLUMN_WORDS, Column, RowShares};
use brickwork_base::pool;

/// The default limit for the bytes of columns that are kept in memory instead of recomputed.
pub const FEW_COLUMNS: usize = 16 << 20;

/// The limit for the bytes of columns that are kept in memory. In the tests of this crate it is 0, so that
/// small lists are recomputed too.
static KEPT_COLUMNS: AtomicUsize = AtomicUsize::new(if cfg!(test) { 0 } else { FEW_COLUMNS });

/// Limits the bytes of columns that this process keeps in memory; the others are recomputed. The limit does
/// not change the results.
pub fn keep_columns(bytes: usize) {
    KEPT_COLUMNS.store(bytes, Ordering::Relaxed);
}

/// A party's shares of a row of commitments.
#[derive(Default)]
pub struct Shares(Form);

enum Form {
    Columns {
        words: usize,
        columns: Vec<u64>,
    },
    Recipe(Arc<dyn RowShares>),
    /// A selection from the commitments that a recipe computes.
    Picked(Arc<dyn RowShares>, Arc<Selection>),
}

/// A selection of a row's items, in any order. All items have the same number of commitments.
pub struct Selection {
    each: usize,
    items: Vec<u32>,
    /// The positions in `items`, sorted by item.
    order: Vec<u32>,
}

impl Selection {
    /// Selects these items, which have `each` commitments.
    ///
    /// # Panics
    /// If there are 2^32 items or more.
    pub fn new(items: Vec<u32>, each: usize) -> Self {
        let mut order: Vec<u32> =
            (0..u32::try_from(items.len()).expect("there are fewer than 2^32 items")).collect();
        order.par_sort_unstable_by_key(|&k| items[k as usize]);
        Selection { each, items, order }
    }

    /// Returns the number of commitments.
    pub fn len(&self) -> usize {
        self.items.len() * self.each
    }

    /// Returns whether the selection is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the places in the row, in the order of the selection.
    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).map(|k| self.place(k))
    }

    /// Returns the place in the row of commitment `k` of the selection.
    fn place(&self, k: usize) -> usize {
        self.items[k / self.each] as usize * self.each + k % self.each
    }

    /// Finds the selected commitments within a range of the row, in the order of the row. Returns runs of
    /// consecutive places: the first place, its number in the selection, and the length of the run.
    pub fn runs(&self, places: Range<usize>) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let each = self.each;
        let first =
            self.order.partition_point(|&k| (self.items[k as usize] as usize + 1) * each <= places.start);
        let of_item = move |&k: &u32| {
            let (item, number) = (self.items[k as usize] as usize * each, k as usize * each);
            let (start, end) = (item.max(places.start), (item + each).min(places.end));
            (start < end).then(|| (start, number + start - item, end - start))
        };
        self.order[first..].iter().map_while(of_item)
    }
}

impl Default for Form {
    fn default() -> Self {
        Form::Columns { words: 0, columns: Vec::new() }
    }
}

impl Drop for Form {
    fn drop(&mut self) {
        if let Form::Columns { columns, .. } = self {
            drop(SecretBlocks::new(std::mem::take(columns)));
        }
    }
}

/// Adds a share to a sum, or nothing if `mask` is 0. The number of words is fixed, so that the compiler can
/// keep the sum in registers.
#[inline(always)]
fn add_words<const WORDS: usize>(column: &[u64], mask: u64, sum: &mut Column) {
    let column: &[u64; WORDS] = column.try_into().expect("a column has WORDS words");
    for (s, c) in sum.iter_mut().zip(column) {
        *s ^= c & mask;
    }
}

impl Shares {
    /// Returns shares that are given as columns of `words` words.
    pub fn of_columns(words: usize, columns: Vec<u64>) -> Shares {
        Shares(Form::Columns { words, columns })
    }

    /// Returns shares that a recipe computes. A short list is computed at once.
    pub(super) fn of_recipe(recipe: Arc<dyn RowShares>) -> Shares {
        if recipe.count() > CHUNK {
            return Shares(Form::Recipe(recipe));
        }
        let (words, count) = (recipe.words(), recipe.count());
        let mut columns = vec![0; count.next_multiple_of(BLOCK) * words];
        recipe.columns(0, &mut columns);
        columns[count * words..].zeroize();
        columns.truncate(count * words);
        Shares::of_columns(words, columns)
    }

    /// Returns the recipe, if there are no columns.
    pub(super) fn recipe(&self) -> Option<&dyn RowShares> {
        match &self.0 {
            Form::Recipe(recipe) => Some(&**recipe),
            Form::Columns { .. } | Form::Picked(..) => None,
        }
    }

    /// Returns a copy of these shares. A recipe is shared, columns are copied.
    pub fn same(&self) -> Shares {
        match &self.0 {
            Form::Columns { words, columns } => Shares::of_columns(*words, columns.clone()),
            Form::Recipe(recipe) => Shares(Form::Recipe(recipe.clone())),
            Form::Picked(recipe, selection) => Shares(Form::Picked(recipe.clone(), selection.clone())),
        }
    }

    /// Returns a selection of these shares, for [weighted](super::Claims::weighted) claims. If there are few
    /// shares, they become columns, because adding up columns is faster than running the recipe again. If
    /// there are many, they stay a recipe.
    pub fn pick(&self, selection: &Arc<Selection>) -> Shares {
        match &self.0 {
            Form::Recipe(recipe)
                if selection.len() * recipe.words() * size_of::<u64>()
                    > KEPT_COLUMNS.load(Ordering::Relaxed) =>
            {
                self.in_place(selection)
            }
            _ => self.select(selection.places()),
        }
    }

    /// Returns a selection of these shares. Shares of a recipe stay a recipe, however few they are.
    pub(super) fn in_place(&self, selection: &Arc<Selection>) -> Shares {
        match &self.0 {
            Form::Recipe(recipe) => Shares(Form::Picked(recipe.clone(), selection.clone())),
            Form::Columns { .. } | Form::Picked(..) => self.select(selection.places()),
        }
    }

    /// Returns all shares as columns, for quick access to single commitments.
    pub fn gathered(self) -> Shares {
        match &self.0 {
            Form::Columns { .. } => self,
            Form::Recipe(_) | Form::Picked(..) => self.slice(0..self.len()),
        }
    }

    /// Returns the number of words of a column, and all columns.
    pub(super) fn columns(&self) -> (usize, &[u64]) {
        match &self.0 {
            Form::Columns { words, columns } => (*words, columns),
            Form::Recipe(_) | Form::Picked(..) => unreachable!("the shares were turned into columns before"),
        }
    }

    /// Returns the number of commitments.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Columns { words, columns } => columns.len().checked_div(*words).unwrap_or(0),
            Form::Recipe(recipe) => recipe.count(),
            Form::Picked(_, selection) => selection.len(),
        }
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds commitment `index` to a sum.
    #[inline(always)]
    pub fn add(&self, index: usize, sum: &mut Column) {
        self.add_if(1, index, sum);
    }

    /// Adds commitment `index` to a sum if `bit` is 1, in constant time. A recipe computes a whole block for
    /// this, so it is slow before [`Shares::select_each`].
    #[inline(always)]
    pub fn add_if(&self, bit: u8, index: usize, sum: &mut Column) {
        let mask = u64::from(bit & 1).wrapping_neg();
        match &self.0 {
            Form::Columns { words: 5, columns } => {
                add_words::<5>(&columns[index * 5..(index + 1) * 5], mask, sum)
            }
            Form::Columns { words: 7, columns } => {
                add_words::<7>(&columns[index * 7..(index + 1) * 7], mask, sum)
            }
            _ => self.add_any(mask, index, sum),
        }
    }

    #[cold]
    fn add_any(&self, mask: u64, index: usize, sum: &mut Column) {
        match &self.0 {
            Form::Columns { words, columns } => {
                let column = &columns[index * words..(index + 1) * words];
                sum.iter_mut().zip(column).for_each(|(s, c)| *s ^= c & mask);
            }
            Form::Recipe(recipe) => recipe.add(index, mask, sum),
            Form::Picked(recipe, selection) => recipe.add(selection.place(index), mask, sum),
        }
    }

    /// Writes the rows of a chunk, one row of bits for each coordinate, as many as `rows` has room for. Bits
    /// after the last commitment are arbitrary.
    pub(super) fn rows(&self, chunk: usize, rows: &mut Vec<u128>) {
        match &self.0 {
            Form::Recipe(recipe) => recipe.rows(chunk, rows),
            Form::Picked(..) => self.slice(chunk * CHUNK..self.len().min((chunk + 1) * CHUNK)).rows(0, rows),
            Form::Columns { words, columns } => {
                let here = &columns[chunk * CHUNK * words..columns.len().min((chunk + 1) * CHUNK * words)];
                let blocks = here.len().div_ceil(BLOCK * words);
                let mut padded = vec![0; BLOCK * words];
                let mut block_rows = vec![0; rows.len() / blocks];
                for (b, columns) in here.chunks(BLOCK * words).enumerate() {
                    padded[..columns.len()].copy_from_slice(columns);
                    kernels::transpose_back(&padded, *words, &mut block_rows);
                    rows.iter_mut()
                        .skip(b)
                        .step_by(blocks)
                        .zip(&block_rows)
                        .for_each(|(row, block_row)| *row = *block_row);
                }
                padded.zeroize();
                block_rows.zeroize();
            }
        }
    }

    /// Identifies the row of these shares, so that several lists of claims about the same row need only one
    /// pass.
    fn row(&self) -> *const () {
        match &self.0 {
            Form::Columns { columns, .. } => columns.as_ptr().cast(),
            Form::Recipe(recipe) | Form::Picked(recipe, _) => Arc::as_ptr(recipe).cast(),
        }
    }

    /// Adds up the commitments of several lists, each multiplied by a weight in GF(2^128). Bit `m` of the
    /// sum's coordinate `i` is added to bit `m` of `sums[i]`. The function beside each list adds the weights
    /// of its commitments, from the given number on, to the given weights.
    pub(super) fn weighted<W: Fn(usize, &mut [u128]) + Sync>(lists: &[(&Shares, W)], sums: &mut [u128]) {
        let mut rows: Vec<Vec<&(&Shares, W)>> = Vec::new();
        for list in lists.iter().filter(|(shares, _)| !shares.is_empty()) {
            match rows.iter_mut().find(|row| row[0].0.row() == list.0.row()) {
                Some(row) => row.push(list),
                None => rows.push(vec![list]),
            }
        }
        for row in rows {
            let shares = row[0].0;
            let mut lists: Vec<Listed<W>> = Vec::new();
            for (shares, weigh) in row {
                // Lists of the same selection share one list of weights.
                if !lists.iter_mut().any(|list| list.also(shares, weigh)) {
                    lists.push(Listed::of(shares, weigh));
                }
            }
            let work = |mut sum: Weighted, chunk: usize| {
                sum.add(shares, &lists, chunk);
                sum
            };
            let chunks = shares.places().div_ceil(CHUNK);
            let total = pool::sum(chunks, Weighted::default, work, |mut a, b| {
                a.total.iter_mut().zip(&b.total).for_each(|(a, b)| *a ^= b);
                a
            });
            let mut rows = vec![0; sums.len()];
            kernels::transpose_back(bytemuck::cast_slice(&total.total), COLUMN_WORDS, &mut rows);
            sums.iter_mut().zip(&rows).for_each(|(sum, row)| *sum ^= row);
            rows.zeroize();
        }
    }

    /// Returns the number of places of the underlying row.
    fn places(&self) -> usize {
        match &self.0 {
            Form::Columns { .. } => self.len(),
            Form::Recipe(recipe) | Form::Picked(recipe, _) => recipe.count(),
        }
    }

    /// Returns the words of all shares, one share after the other. The shares must be columns.
    pub fn words(&self) -> &[u64] {
        self.columns().1
    }

    /// Returns the shares of a range of items. The list has the same number of shares for each of `all`
    /// items.
    pub fn of_items(&self, all: usize, items: Range<usize>) -> Shares {
        let each = self.len().checked_div(all).unwrap_or(0);
        self.slice(items.start * each..items.end * each)
    }

    /// Returns the shares at a range of places.
    pub fn slice(&self, places: Range<usize>) -> Shares {
        match &self.0 {
            _ if places.is_empty() => Shares::default(),
            Form::Columns { words, columns } => {
                Shares::of_columns(*words, columns[places.start * words..places.end * words].to_vec())
            }
            Form::Recipe(_) | Form::Picked(..) => {
                self.select_each(&[&places.collect::<Vec<_>>()]).swap_remove(0)
            }
        }
    }

    /// Appends other shares. The capacity doubles when it grows, so that appending many small pieces is
    /// cheap.
    ///
    /// # Panics
    /// If the shares belong to different codes.
    pub fn append(&mut self, others: &Shares) {
        if self.is_empty() {
            *self = others.slice(0..others.len());
        } else if !others.is_empty() {
            *self = std::mem::take(self).gathered();
            let others = others.slice(0..others.len());
            let (other_words, theirs) = others.columns();
            let Form::Columns { words, columns } = &mut self.0 else { unreachable!("gathered") };
            assert_eq!(*words, other_words, "both shares must have the same code");
            let all = columns.len() + theirs.len();
            if columns.capacity() < all {
                // A growing `Vec` leaves a copy of the secrets behind. So this code allocates a larger one
                // and erases the old one.
                let mut larger = Vec::with_capacity(2 * all);
                larger.extend_from_slice(columns);
                columns.zeroize();
                *columns = larger;
            }
            columns.extend_from_slice(theirs);
        }
    }

    /// Returns the shares at these places, in this order.
    pub fn select(&self, indices: impl IntoIterator<Item = usize>) -> Shares {
        self.select_each(&[&indices.into_iter().collect::<Vec<_>>()]).swap_remove(0)
    }

    /// Returns, for each list, the shares at the places in the list, in the order of the list. No place may
    /// occur twice.
    ///
    /// # Panics
    /// If there are 2^32 places or more.
    pub fn select_each(&self, lists: &[&[usize]]) -> Vec<Shares> {
        let of_columns = |words: usize, columns: &[u64], list: &[usize]| {
            let mut part = Vec::with_capacity(list.len() * words);
            list.iter().for_each(|&i| part.extend_from_slice(&columns[i * words..(i + 1) * words]));
            Shares::of_columns(words, part)
        };
        match &self.0 {
            Form::Columns { words, columns } => {
                lists.iter().map(|list| of_columns(*words, columns, list)).collect()
            }
            Form::Recipe(recipe) => pool::compute(|| SELECT_EACH[recipe.words() - 1](&**recipe, lists)),
            Form::Picked(recipe, selection) => {
                let places: Vec<Vec<usize>> =
                    lists.iter().map(|list| list.iter().map(|&k| selection.place(k)).collect()).collect();
                Shares(Form::Recipe(recipe.clone()))
                    .select_each(&places.iter().map(Vec::as_slice).collect::<Vec<_>>())
            }
        }
    }
}

const COLUMN_BLOCKS: usize = COLUMN_WORDS / 2;

/// Copies packed columns into padded ones, with zeros after each column.
fn pad<const WORDS: usize>(packed: &[u64], padded: &mut [Column]) {
    for (to, from) in padded.iter_mut().zip(packed.as_chunks::<WORDS>().0) {
        to[..WORDS].copy_from_slice(from);
    }
}

/// A sum of weighted columns: for each bit of the weights, the sum of the columns whose weight has this bit.
struct Weighted {
    total: Vec<u128>,
    rows: Vec<u128>,
    packed: Vec<u64>,
    /// A block of columns, each padded to whole 128-bit blocks.
    columns: Vec<u128>,
    product: Vec<u128>,
}

impl Default for Weighted {
    fn default() -> Self {
        let padded = || vec![0; BLOCK * COLUMN_BLOCKS];
        Weighted {
            total: padded(),
            rows: Vec::new(),
            packed: Vec::new(),
            columns: padded(),
            product: padded(),
        }
    }
}

impl Drop for Weighted {
    fn drop(&mut self) {
        [&mut self.total, &mut self.rows, &mut self.columns, &mut self.product]
            .into_iter()
            .for_each(|part| part.zeroize());
        self.packed.zeroize();
    }
}

impl Weighted {
    /// Adds the weighted commitments of one chunk of the row to which all lists refer.
    fn add<W: Fn(usize, &mut [u128])>(&mut self, shares: &Shares, lists: &[Listed<W>], chunk: usize) {
        let first = chunk * CHUNK;
        let here = CHUNK.min(shares.places() - first);
        let mut weights = vec![0; here.next_multiple_of(BLOCK)];
        lists.iter().for_each(|list| list.weigh(first..first + here, &mut weights));
        if weights.iter().all(|&weight| weight == 0) {
            return;
        }
        let (words, columns) = match &shares.0 {
            Form::Columns { words, columns } => (*words, &columns[first * words..(first + here) * words]),
            Form::Recipe(recipe) | Form::Picked(recipe, _) => {
                let words = recipe.words();
                self.packed.resize(weights.len() * words, 0);
                recipe.rows(chunk, &mut self.rows);
                kernels::transpose(&self.rows, recipe.blocks(chunk), &mut self.packed);
                (words, &self.packed[..])
            }
        };
        for (weights, packed) in weights.chunks_exact(BLOCK).zip(columns.chunks(BLOCK * words)) {
            if weights.iter().all(|&weight| weight == 0) {
                continue;
            }
            let padded = bytemuck::cast_slice_mut(&mut self.columns);
            match words {
                5 => pad::<5>(packed, padded),
                7 => pad::<7>(packed, padded),
                _ => padded
                    .iter_mut()
                    .zip(packed.chunks_exact(words))
                    .for_each(|(to, from)| to[..words].copy_from_slice(from)),
            }
            // For each bit of the weights, the mask of the columns whose weight has this bit. Weights after
            // the last commitment are 0.
            let mut masks = [0; BLOCK];
            kernels::transpose(weights, 1, bytemuck::cast_slice_mut(&mut masks));
            kernels::parity_rows(&masks, &self.columns, &mut self.product, COLUMN_BLOCKS);
            self.total.iter_mut().zip(&self.product).for_each(|(total, product)| *total ^= product);
        }
    }
}

/// The weights of a list of commitments, read in the order of the row's places.
enum Listed<'a, W> {
    /// Commitments whose places are consecutive, or the commitments of selected items. Their weights are
    /// computed when they are needed.
    Runs(&'a W, Option<&'a Selection>),
    /// Single commitments in any order, whose weights are computed in advance.
    Made(Vec<u128>, &'a Selection),
}

const WEIGHTS_A_TASK: usize = 1 << 14;

impl<'a, W: Fn(usize, &mut [u128]) + Sync> Listed<'a, W> {
    fn of(shares: &'a Shares, weigh: &'a W) -> Self {
        match &shares.0 {
            Form::Columns { .. } | Form::Recipe(_) => Listed::Runs(weigh, None),
            Form::Picked(_, selection) if selection.each > 1 => Listed::Runs(weigh, Some(selection)),
            Form::Picked(_, selection) => {
                let mut list = Listed::Made(vec![0; selection.len()], selection);
                list.also(shares, weigh);
                list
            }
        }
    }

    /// Adds the weights of another list, if it refers to the same selection of single commitments as this
    /// one. Otherwise it returns false.
    fn also(&mut self, shares: &Shares, weigh: &W) -> bool {
        let (Listed::Made(made, mine), Form::Picked(_, theirs)) = (self, &shares.0) else { return false };
        let same = std::ptr::eq(*mine, &**theirs);
        if same {
            made.par_chunks_mut(WEIGHTS_A_TASK)
                .enumerate()
                .for_each(|(k, weights)| weigh(k * WEIGHTS_A_TASK, weights));
        }
        same
    }
}

impl<W: Fn(usize, &mut [u128])> Listed<'_, W> {
    /// Adds the weights of the commitments within a range of the row.
    fn weigh(&self, places: Range<usize>, weights: &mut [u128]) {
        let first = places.start;
        match self {
            Listed::Runs(weigh, None) => weigh(first, &mut weights[..places.len()]),
            Listed::Runs(weigh, Some(selection)) => {
                selection
                    .runs(places)
                    .for_each(|(place, number, count)| weigh(number, &mut weights[place - first..][..count]));
            }
            Listed::Made(made, selection) => selection.runs(places).for_each(|(place, number, count)| {
                weights[place - first..][..count]
                    .iter_mut()
                    .zip(&made[number..])
                    .for_each(|(weight, made)| *weight ^= made);
            }),
        }
    }
}

/// Marks a place of the row that is in no list.
const NOT_WANTED: u32 = u32::MAX;

#[cfg(test)]
impl Shares {
    /// Truncates the file of corrections, which must exist. Tests use it to cause read errors.
    pub(super) fn lose_file(&self) {
        self.recipe().expect("no file").lose_file();
    }
}

/// One [`SelectEach`] for each possible number of words of a column, so that the compiler knows this number.
const SELECT_EACH: [SelectEach; COLUMN_WORDS] = [
    select_each::<1>,
    select_each::<2>,
    select_each::<3>,
    select_each::<4>,
    select_each::<5>,
    select_each::<6>,
    select_each::<7>,
    select_each::<8>,
];

/// An implementation of [`Shares::select_each`] for shares of a recipe.
type SelectEach = fn(&dyn RowShares, &[&[usize]]) -> Vec<Shares>;

/// Implements [`SelectEach`]: copies the columns of one group of chunks to their places while it computes the
/// next group.
fn select_each<const WORDS: usize>(recipe: &dyn RowShares, lists: &[&[usize]]) -> Vec<Shares> {
    let wanted: usize = lists.iter().map(|list| list.len()).sum();
    assert!(wanted < NOT_WANTED as usize, "there are fewer than 2^32 places");
    let mut places = vec![NOT_WANTED; recipe.count()];
    for (&index, place) in lists.iter().copied().flatten().zip(0..) {
        assert_eq!(std::mem::replace(&mut places[index], place), NOT_WANTED, "no place occurs twice");
    }
    let mut parts: Vec<Vec<u64>> = lists.iter().map(|list| vec![0; list.len() * WORDS]).collect();
    let chunks: Vec<usize> = (0..recipe.count().div_ceil(CHUNK))
        .filter(|c| places[c * CHUNK..].iter().take(CHUNK).any(|&place| place != NOT_WANTED))
        .collect();
    let groups: Vec<&[usize]> =
        chunks.chunk_by(|a, b| a + 1 == *b).flat_map(|run| run.chunks(CHUNKS_IN_HAND)).collect();
    let make = |group: Option<&&[usize]>, columns: &mut Vec<u64>| {
        let Some(group) = group else { return };
        let blocks: usize = group.iter().map(|&c| recipe.blocks(c)).sum();
        columns.resize(blocks * BLOCK * WORDS, 0);
        recipe.columns(group[0], columns);
    };
    let room = || Vec::with_capacity(CHUNKS_IN_HAND * CHUNK * WORDS);
    let (mut ready, mut next) = (room(), room());
    make(groups.first(), &mut ready);
    for (g, group) in groups.iter().enumerate() {
        let scatter = || {
            let first = group[0] * CHUNK;
            for (column, &place) in ready.as_chunks::<WORDS>().0.iter().zip(&places[first..]) {
                let mut place = place as usize;
                for part in &mut parts {
                    let columns = part.as_chunks_mut::<WORDS>().0;
                    if let Some(to) = columns.get_mut(place) {
                        *to = *column;
                        break;
                    }
                    place = place.wrapping_sub(columns.len());
                }
            }
        };
        rayon::join(scatter, || make(groups.get(g + 1), &mut next));
        std::mem::swap(&mut ready, &mut next);
    }
    ready.zeroize();
    next.zeroize();
    parts.into_iter().map(|columns| Shares::of_columns(WORDS, columns)).collect()
}
