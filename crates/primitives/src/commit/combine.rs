//! Random combinations of claims and of new commitments, for a proof. Both parties compute them in the same
//! way, each from its own shares.

use brickwork_kernels as kernels;
use kernels::Aes128;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::claims::{Claim, Claims, Coefficient, EachClaim, KnownSums, Weights};
use super::row::{New, NewValues};
use super::rows::{BLOCK, CHUNK, CHUNK_BLOCKS, COLUMN_WORDS, Column, DIMENSION, RowBuffers, values_to_rows};
use super::shares::Shares;
use brickwork_base::label::Label;
use brickwork_base::pool;

/// The sums of 128 random combinations of claims: one block for each coordinate of the shares, and one for
/// each bit of the values.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Sums {
    pub shares: Vec<u128>,
    pub values: Vec<u128>,
}

impl Sums {
    /// Adds masking commitment j to combination j, for all 128 combinations.
    pub fn add_mask(&mut self, mask: &Shares, values: Option<&[Label]>) {
        let mut rows = vec![0u128; self.shares.len()];
        let (words, columns) = mask.columns();
        kernels::transpose_back(columns, words, &mut rows);
        self.shares.iter_mut().zip(&rows).for_each(|(s, r)| *s ^= r);
        if let Some(values) = values {
            let rows = Zeroizing::new(values_to_rows(values, 1));
            self.values.iter_mut().zip(&*rows).for_each(|(s, r)| *s ^= r);
        }
        rows.zeroize();
    }
}

/// The commitments to combine: claims, or new commitments with the values that their sender knows.
pub(super) enum Group<'a> {
    Claims(usize, &'a Claim<'a>),
    Each(&'a EachClaim<'a>),
    New(&'a Shares, Option<NewValues<'a>>),
}

impl<'a> Group<'a> {
    /// Returns the group of new commitments.
    pub fn new(new: &'a New<'a>) -> Self {
        Group::New(new.shares, Some(new.values))
    }

    fn of(known: &'a KnownSums<'a>) -> Self {
        match known {
            KnownSums::Sums(count, claim) => Group::Claims(*count, claim),
            KnownSums::Each(each) => Group::Each(each),
        }
    }

    fn len(&self) -> usize {
        match self {
            Group::Claims(count, _) => *count,
            Group::Each(each) => each.count(),
            Group::New(shares, _) => shares.len(),
        }
    }
}

/// The products that one thread adds up, before their reduction in GF(2^128).
struct Accumulator {
    shares: Vec<[u128; 2]>,
    values: Vec<[u128; 2]>,
    /// The weight of the one commitment that many claims of a group share.
    one: [[u128; 2]; 1],
    columns: Vec<Column>,
    labels: Vec<Label>,
    rows: Vec<u128>,
    room: RowBuffers,
}

/// The number of blocks of claims whose random elements are computed in one call.
pub(super) const COMBINE_BLOCKS: usize = 64;

/// The number of the known claims among the parts of a proof.
const KNOWN: usize = 2;

/// Combines the known claims, with the commitments that have weights in them.
pub(super) fn combine_known(seed: u128, n: usize, with_values: bool, claims: &Claims) -> Sums {
    let groups: Vec<Group> = claims.known.iter().map(Group::of).collect();
    let mut sums = combine(seed, KNOWN, n, with_values, &groups);
    add_weighted(seed, with_values, claims, &mut sums);
    sums
}

/// Adds the commitments that have weights in the known claims, and the listed values of these claims.
fn add_weighted(seed: u128, with_values: bool, claims: &Claims, sums: &mut Sums) {
    let weights = &draw_weights(seed, claims.known.iter().map(KnownSums::count));
    let lists: Vec<_> = claims
        .weighted
        .iter()
        .map(|(shares, weigh)| (*shares, |first: usize, sums: &mut [u128]| weigh(weights, first, sums)))
        .collect();
    Shares::weighted(&lists, &mut sums.shares);
    if with_values {
        for (count, give) in &claims.values {
            let weighted = weighted_values(*count, |first, values, of| give(weights, first, values, of));
            sums.values.iter_mut().zip(&weighted).for_each(|(sum, value)| *sum ^= value);
        }
    }
}

/// Returns the sum of values, each multiplied by a weight in GF(2^128). Bit `m` of result `i` is bit `i` of
/// the sum for bit `m` of the weights. `give` writes the values from the given number on, and their weights.
fn weighted_values(
    count: usize,
    give: impl Fn(usize, &mut [Label], &mut [u128]) + Sync,
) -> [u128; DIMENSION] {
    let work = |mut total: [Label; BLOCK], chunk: usize| {
        let here = CHUNK.min(count - chunk * CHUNK);
        let (mut values, mut weights) =
            (vec![Label::ZERO; here.next_multiple_of(BLOCK)], vec![0; here.next_multiple_of(BLOCK)]);
        give(chunk * CHUNK, &mut values[..here], &mut weights[..here]);
        for (values, weights) in values.chunks_exact(BLOCK).zip(weights.chunks_exact(BLOCK)) {
            // For each bit of the weights, the mask of the values whose weight has this bit.
            let (mut masks, mut product) = ([0u128; BLOCK], [0u128; BLOCK]);
            kernels::transpose(weights, 1, bytemuck::cast_slice_mut(&mut masks));
            kernels::parity_rows(&masks, bytemuck::cast_slice(values), &mut product, 1);
            total.iter_mut().zip(product).for_each(|(total, product)| *total ^= Label::from_bits(product));
        }
        values.zeroize();
        total
    };
    let zero = || [Label::ZERO; BLOCK];
    let total = pool::sum(count.div_ceil(CHUNK), zero, work, |mut a, b| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
        a
    });
    let mut rows = [0; DIMENSION];
    kernels::transpose_back(bytemuck::cast_slice(&total), DIMENSION / 64, &mut rows);
    rows
}

/// Draws the weights for the groups of known claims; `counts` has the number of claims of each group.
fn draw_weights(seed: u128, counts: impl Iterator<Item = usize>) -> Weights {
    let (key, mut first) = (Aes128::new(seed), (KNOWN as u128) << 64);
    let of_group = |count: usize| {
        let mut elements = vec![0; count.div_ceil(BLOCK)];
        key.ctr(first, &mut elements);
        first += elements.len() as u128;
        elements
    };
    Weights::new(counts.map(of_group).collect())
}

/// Combines all groups of a part. Each group begins a new block. Block b of part p is multiplied by
/// AES_seed(p · 2^64 + b).
pub(super) fn combine(seed: u128, part: usize, n: usize, with_values: bool, groups: &[Group]) -> Sums {
    let key = Aes128::new(seed);
    let zero = || Accumulator {
        shares: vec![[0; 2]; n],
        values: vec![[0; 2]; if with_values { DIMENSION } else { 0 }],
        one: [[0; 2]],
        columns: vec![[0; _]; BLOCK],
        labels: vec![Label::ZERO; BLOCK],
        rows: vec![0; n * CHUNK_BLOCKS],
        room: RowBuffers::default(),
    };
    let mut first = (part as u128) << 64;
    let mut total = zero();
    for group in groups {
        let blocks = group.len().div_ceil(BLOCK);
        let add = |mut acc: Accumulator, task: usize| {
            let mut elements = [0u128; COMBINE_BLOCKS];
            let elements = &mut elements[..COMBINE_BLOCKS.min(blocks - task * COMBINE_BLOCKS)];
            key.ctr(first + (task * COMBINE_BLOCKS) as u128, elements);
            acc.add(group, task, elements);
            acc
        };
        let sum = pool::sum(blocks.div_ceil(COMBINE_BLOCKS), zero, add, |mut a, b| {
            a.merge(&b);
            a
        });
        total.merge(&sum);
        if let Group::Each(EachClaim { one: Some((shares, _)), .. }) = group {
            let mut column = Column::default();
            shares.add(0, &mut column);
            total.add_one(&column);
            total.one = [[0; 2]];
            column.zeroize();
        }
        first += blocks as u128;
    }
    Sums {
        shares: total.shares.iter().map(|&x| kernels::gf128_reduce(x)).collect(),
        values: total.values.iter().map(|&x| kernels::gf128_reduce(x)).collect(),
    }
}

impl Accumulator {
    /// Adds the blocks of a task, each multiplied by its random element.
    fn add(&mut self, group: &Group, task: usize, elements: &[u128]) {
        let start = task * COMBINE_BLOCKS * BLOCK;
        match group {
            Group::Claims(count, claim) => self.add_claims(start, *count, claim, elements),
            Group::Each(each) => {
                for (c, elements) in elements.chunks(CHUNK_BLOCKS).enumerate() {
                    self.add_each(each, task * (COMBINE_BLOCKS / CHUNK_BLOCKS) + c, elements);
                }
            }
            Group::New(shares, values) => match shares.recipe() {
                None => {
                    let claim = |i: usize, sum: &mut Column| {
                        shares.add(i, sum);
                        match values {
                            Some(NewValues::Held(values)) => values[i],
                            _ => Label::ZERO,
                        }
                    };
                    self.add_claims(start, shares.len(), &claim, elements);
                }
                Some(recipe) => {
                    for (c, elements) in elements.chunks(CHUNK_BLOCKS).enumerate() {
                        let chunk = task * (COMBINE_BLOCKS / CHUNK_BLOCKS) + c;
                        recipe.rows_to_the_last(chunk, &mut self.rows);
                        kernels::hash_rows(&mut self.shares, &self.rows, elements);
                        match values {
                            None => {}
                            Some(NewValues::Held(values)) => {
                                let here = &values[chunk * CHUNK..values.len().min((chunk + 1) * CHUNK)];
                                let mut rows = values_to_rows(here, elements.len());
                                kernels::hash_rows(&mut self.values, &rows, elements);
                                rows.zeroize();
                            }
                            Some(NewValues::Again(origin)) => {
                                origin.rows_to_the_last(chunk, &mut self.room);
                                kernels::hash_rows(&mut self.values, &self.room.message, elements);
                            }
                        }
                    }
                }
            },
        }
    }

    fn add_claims(
        &mut self,
        start: usize,
        count: usize,
        claim: &(dyn Fn(usize, &mut Column) -> Label + Sync + '_),
        elements: &[u128],
    ) {
        let n = self.shares.len();
        self.rows.resize(n, 0);
        for (block, &element) in elements.iter().enumerate() {
            let start = start + block * BLOCK;
            let here = BLOCK.min(count - start);
            self.columns.fill([0; _]);
            self.labels[here..].fill(Label::ZERO);
            for (j, (column, label)) in self.columns.iter_mut().zip(&mut self.labels[..here]).enumerate() {
                *label = claim(start + j, column);
            }
            kernels::transpose_back(self.columns.as_flattened(), COLUMN_WORDS, &mut self.rows[..n]);
            kernels::hash_accumulate(&mut self.shares, &self.rows[..n], element);
            if !self.values.is_empty() {
                kernels::transpose_back(
                    bytemuck::cast_slice(&self.labels),
                    DIMENSION / 64,
                    &mut self.rows[..DIMENSION],
                );
                kernels::hash_accumulate(&mut self.values, &self.rows[..DIMENSION], element);
            }
        }
    }

    /// Adds the claims about one chunk of commitments.
    fn add_each(&mut self, each: &EachClaim, chunk: usize, elements: &[u128]) {
        let blocks = elements.len();
        let claims = chunk * CHUNK..each.count().min((chunk + 1) * CHUNK);
        let mut parts = [0; CHUNK_BLOCKS];
        for (shares, coefficient) in &each.terms {
            pack(coefficient, each.places(claims.clone()), &mut parts);
            self.rows.resize(self.shares.len() * blocks, 0);
            shares.rows(chunk, &mut self.rows);
            for row in self.rows.chunks_exact_mut(blocks) {
                row.iter_mut().zip(&parts).for_each(|(row, part)| *row &= part);
            }
            kernels::hash_rows(&mut self.shares, &self.rows, elements);
        }
        if let Some((_, coefficient)) = &each.one {
            pack(coefficient, each.places(claims.clone()), &mut parts);
            kernels::hash_rows(&mut self.one, &parts[..blocks], elements);
        }
        if let (false, Some(fill)) = (self.values.is_empty(), &each.values) {
            let mut values = Zeroizing::new(vec![Label::ZERO; claims.len()]);
            let mut rest = &mut values[..];
            for (item, wires) in each.runs(claims) {
                let (here, behind) = rest.split_at_mut(wires.len());
                fill(item, wires, here);
                rest = behind;
            }
            let rows = Zeroizing::new(values_to_rows(&values, blocks));
            kernels::hash_rows(&mut self.values, &rows, elements);
        }
    }

    /// Adds a column, multiplied by the weight in `one`.
    fn add_one(&mut self, column: &Column) {
        let weight = kernels::gf128_reduce(self.one[0]);
        for (i, [low, _]) in self.shares.iter_mut().enumerate() {
            *low ^= weight & u128::from(column[i / 64] >> (i % 64) & 1).wrapping_neg();
        }
    }

    fn merge(&mut self, other: &Accumulator) {
        let pairs =
            self.shares.iter_mut().zip(&other.shares).chain(self.values.iter_mut().zip(&other.values));
        let pairs = pairs.chain(self.one.iter_mut().zip(&other.one));
        for (a, b) in pairs {
            a[0] ^= b[0];
            a[1] ^= b[1];
        }
    }
}

impl Drop for Accumulator {
    fn drop(&mut self) {
        // The sums are secret: without a mask, the combination of a single commitment would reveal its value,
        // such as an offset.
        kernels::erase(&mut self.shares);
        kernels::erase(&mut self.values);
        kernels::erase(&mut self.columns);
        kernels::erase(&mut self.labels);
        kernels::erase(&mut self.rows);
    }
}

/// Packs the coefficients of claims into blocks, one bit for each claim. The first claim begins a new block.
fn pack(
    coefficient: &Coefficient,
    places: impl Iterator<Item = (usize, usize)>,
    parts: &mut [u128; CHUNK_BLOCKS],
) {
    parts.fill(0);
    for (k, (item, wire)) in places.enumerate() {
        parts[k / BLOCK] |= u128::from(coefficient(item, wire) & 1) << (k % BLOCK);
    }
}
