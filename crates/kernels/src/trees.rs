//! The rows of SoftSpokenOT (Roy, CRYPTO 2022): streams of many keys, added up while they are in registers.

use crate::tile::{TILE_BLOCKS, TILE_ROWS, Tile, TileRow};
use crate::vector::{Vector, VectorLoop};
use crate::{Aes128, Kernel};

/// The streams of the leaves of 128/K trees of K levels, in counter mode. `r_y` is the stream of leaf y, and
/// `y_b` is bit b of y. A tree gives a row u and K rows v:
///
/// ```text
///   u = ⊕ r_y        v_b = ⊕ r_y over the y whose bit b is 1
/// ```
pub struct Trees {
    levels: usize,
    leaves: Vec<Aes128>,
}

impl Trees {
    /// Makes trees from these keys, one for each leaf, tree after tree. A tree of one level may have a single
    /// leaf. Then it can only be used to [send](Trees::send).
    ///
    /// # Panics
    /// If there are not 1, 2, 4 or 8 levels, or the number of keys is wrong.
    pub fn new(kernel: Kernel, levels: usize, keys: &[u128]) -> Self {
        assert!(matches!(levels, 1 | 2 | 4 | 8), "a tree must have 1, 2, 4 or 8 levels");
        let all = (TILE_ROWS / levels) << levels;
        assert!(keys.len() == all || levels == 1 && keys.len() == TILE_ROWS, "each leaf must have a key");
        let mut leaves = Vec::with_capacity(keys.len());
        Aes128::expand_many(kernel, keys, &mut leaves);
        Trees { levels, leaves }
    }

    /// Returns the number of trees.
    pub fn count(&self) -> usize {
        TILE_ROWS / self.levels
    }

    /// Computes the rows v of the party that has all leaves, from block `block` of all streams on. The
    /// corrections of a tree are `u ⊕ x`. If there are corrections for all trees but the first, the first
    /// tree makes the choices: its u is written to `x`. Takes constant time.
    ///
    /// # Panics
    /// If the sizes of `x` and the corrections do not fit the number of tiles.
    pub fn receive(
        &self,
        kernel: Kernel,
        block: u64,
        x: &mut [TileRow],
        corrections: &mut [TileRow],
        tiles: &mut [Tile],
    ) {
        assert_eq!(self.leaves.len(), self.count() << self.levels, "all leaves");
        assert_eq!(x.len(), tiles.len(), "the row of choices must have one tile for each tile of the sums");
        let first = self.first(corrections.len(), tiles.len());
        kernel.run(Receive { trees: self, first, block, x, corrections, tiles });
    }

    /// Computes the rows of the party that lacks one leaf of each tree. In place of the missing key, it has
    /// an arbitrary one. A row is `v_b ⊕ (u ⊕ c)·mask`, with the tree's corrections c, and a mask of all ones
    /// or zero for each row. If the first tree has no corrections, its c is 0. Takes constant time.
    ///
    /// # Panics
    /// If the size of the corrections does not fit the number of tiles.
    pub fn send(
        &self,
        kernel: Kernel,
        block: u64,
        masks: &[u128; TILE_ROWS],
        corrections: &[TileRow],
        tiles: &mut [Tile],
    ) {
        let first = self.first(corrections.len(), tiles.len());
        kernel.run(Send { trees: self, first, block, masks, corrections, tiles });
    }

    /// Returns the number of the first tree that has corrections: 0 or 1.
    fn first(&self, corrections: usize, tiles: usize) -> usize {
        let trees = self.count();
        assert!(
            corrections == trees * tiles || corrections == (trees - 1) * tiles,
            "each tree, or each tree but the first, must have a row of corrections"
        );
        usize::from(corrections != trees * tiles)
    }
}

/// The place of a register in tiles: the tile, and the block of a row.
#[derive(Clone, Copy)]
struct Place(usize);

impl Place {
    /// Returns the position of row `row` of this place, in tiles with `rows` rows.
    fn at(self, rows: usize, row: usize) -> usize {
        (self.0 / TILE_BLOCKS * rows + row) * TILE_BLOCKS + self.0 % TILE_BLOCKS
    }
}

/// Registers of one stream, or of its results.
type Registers<V, const M: usize> = [V; M];

#[inline(always)]
unsafe fn counters<V: Vector, const M: usize>(block: u64) -> Registers<V, M> {
    let lanes = [0, 1, 2, 3].map(|i: u64| u128::from(block.wrapping_add(i)));
    // SAFETY: the caller guarantees the features of `V`, whose registers have at most four blocks.
    unsafe {
        let mut all = [V::load(lanes.as_ptr()); M];
        for m in 1..M {
            all[m] = all[m - 1].add_low(V::BLOCKS as u64);
        }
        all
    }
}

/// Adds up the streams of a tree with at least two levels: returns u and v.
#[inline(always)]
unsafe fn fold<V: Vector, const K: usize, const M: usize>(
    leaves: &[Aes128],
    counters: Registers<V, M>,
) -> (Registers<V, M>, [Registers<V, M>; K]) {
    // SAFETY: the caller guarantees the features of `V`.
    unsafe {
        let zero = V::splat(0);
        let (mut u, mut v) = ([zero; M], [[zero; M]; K]);
        for (group, keys) in leaves.as_chunks::<4>().0.iter().enumerate() {
            let [r0, r1, r2, r3] = V::under_four(Aes128::four(keys), counters);
            for m in 0..M {
                v[0][m] = v[0][m].xor3(r1[m], r3[m]);
                v[1][m] = v[1][m].xor3(r2[m], r3[m]);
                let sum = r0[m].xor3(r1[m], r2[m].xor(r3[m]));
                u[m] = u[m].xor(sum);
                for (bit, v) in v.iter_mut().skip(2).enumerate() {
                    // Everybody knows the number of a group, so a branch may depend on it.
                    if group >> bit & 1 == 1 {
                        v[m] = v[m].xor(sum);
                    }
                }
            }
        }
        (u, v)
    }
}

struct Receive<'a> {
    trees: &'a Trees,
    first: usize,
    block: u64,
    x: &'a mut [TileRow],
    corrections: &'a mut [TileRow],
    tiles: &'a mut [Tile],
}

impl Receive<'_> {
    /// Writes the result of tree `tree` at a place. u becomes corrections, or choices.
    #[inline(always)]
    unsafe fn write<V: Vector, const K: usize, const M: usize>(
        &mut self,
        tree: usize,
        block: usize,
        u: Registers<V, M>,
        v: [Registers<V, M>; K],
    ) {
        let sent = TILE_ROWS / K - self.first;
        let rows = self.tiles.as_mut_ptr().cast::<u128>();
        let x = self.x.as_mut_ptr().cast::<u128>();
        let corrections = self.corrections.as_mut_ptr().cast::<u128>();
        for m in 0..M {
            let place = Place(block + m * V::BLOCKS);
            // SAFETY: the caller guarantees the features of `V`, and M registers of blocks from `block` on in
            // all tiles. A row of four blocks has whole registers.
            unsafe {
                for (b, v) in v.iter().enumerate() {
                    v[m].store(rows.add(place.at(TILE_ROWS, K * tree + b)));
                }
                let x = x.add(place.at(1, 0));
                match tree.checked_sub(self.first) {
                    Some(row) => u[m].xor(V::load(x)).store(corrections.add(place.at(sent, row))),
                    None => u[m].store(x),
                }
            }
        }
    }
}

struct Send<'a> {
    trees: &'a Trees,
    first: usize,
    block: u64,
    masks: &'a [u128; TILE_ROWS],
    corrections: &'a [TileRow],
    tiles: &'a mut [Tile],
}

impl Send<'_> {
    #[inline(always)]
    unsafe fn write<V: Vector, const K: usize, const M: usize>(
        &mut self,
        tree: usize,
        block: usize,
        u: Registers<V, M>,
        v: [Registers<V, M>; K],
    ) {
        let sent = TILE_ROWS / K - self.first;
        let rows = self.tiles.as_mut_ptr().cast::<u128>();
        let corrections = self.corrections.as_ptr().cast::<u128>();
        for m in 0..M {
            let place = Place(block + m * V::BLOCKS);
            // SAFETY: as in `Receive::write`.
            unsafe {
                let difference = match tree.checked_sub(self.first) {
                    Some(row) => u[m].xor(V::load(corrections.add(place.at(sent, row)))),
                    None => u[m],
                };
                for (b, v) in v.iter().enumerate() {
                    let row = K * tree + b;
                    let masked = difference.and(V::splat(self.masks[row]));
                    v[m].xor(masked).store(rows.add(place.at(TILE_ROWS, row)));
                }
            }
        }
    }
}

/// The parameter K for trees of one level with a single leaf.
const ALONE: usize = 0;

/// The loops of both parties: over trees of K levels, or over four leaves at a time for trees with fewer than
/// four leaves. Each loop uses `M` registers of each stream while there are as many, and then `H`.
macro_rules! loops {
    ($task:ty) => {
        impl $task {
            #[inline(always)]
            unsafe fn levels<V: Vector, const M: usize, const H: usize>(&mut self) {
                let alone = self.trees.leaves.len() == TILE_ROWS;
                // SAFETY: as below.
                unsafe {
                    match self.trees.levels {
                        1 if alone => self.walk::<V, ALONE, M, H>(),
                        1 => self.walk::<V, 1, M, H>(),
                        2 => self.walk::<V, 2, M, H>(),
                        4 => self.walk::<V, 4, M, H>(),
                        _ => self.walk::<V, 8, M, H>(),
                    }
                }
            }

            #[inline(always)]
            unsafe fn walk<V: Vector, const K: usize, const M: usize, const H: usize>(&mut self) {
                let (blocks, trees) = (self.tiles.len() * TILE_BLOCKS, self.trees);
                for (unit, leaves) in trees.leaves.chunks_exact(if K < 2 { 4 } else { 1 << K }).enumerate() {
                    let mut block = 0;
                    // SAFETY: the caller guarantees the features of `V`; this many blocks exist.
                    unsafe {
                        while block + M * V::BLOCKS <= blocks {
                            self.unit::<V, K, M>(unit, leaves, block);
                            block += M * V::BLOCKS;
                        }
                        while block < blocks {
                            self.unit::<V, K, H>(unit, leaves, block);
                            block += H * V::BLOCKS;
                        }
                    }
                }
            }

            /// Processes a tree, or four leaves, from this block on.
            #[inline(always)]
            unsafe fn unit<V: Vector, const K: usize, const M: usize>(
                &mut self,
                unit: usize,
                leaves: &[Aes128],
                block: usize,
            ) {
                // SAFETY: as above.
                unsafe {
                    let counters = counters(self.block.wrapping_add(block as u64));
                    if const { K >= 2 } {
                        let (u, v) = fold::<V, K, M>(leaves, counters);
                        self.write::<V, K, M>(unit, block, u, v);
                    } else {
                        let keys = leaves.first_chunk().expect("four leaves");
                        let streams = V::under_four(Aes128::four(keys), counters);
                        self.write_streams::<V, K, M>(unit, block, streams);
                    }
                }
            }

            /// Writes the results of four leaves, if trees have fewer than four leaves.
            #[inline(always)]
            unsafe fn write_streams<V: Vector, const K: usize, const M: usize>(
                &mut self,
                unit: usize,
                block: usize,
                streams: [Registers<V, M>; 4],
            ) {
                // SAFETY: as above.
                unsafe {
                    if const { K == ALONE } {
                        // With v = r and u = 0, the formula gives r ⊕ c·mask, which is the row of a single
                        // leaf.
                        for (k, r) in streams.into_iter().enumerate() {
                            self.write(4 * unit + k, block, [V::splat(0); M], [r]);
                        }
                    } else {
                        for k in 0..2 {
                            let (r0, r1) = (streams[2 * k], streams[2 * k + 1]);
                            let mut u = r0;
                            for m in 0..M {
                                u[m] = u[m].xor(r1[m]);
                            }
                            self.write(2 * unit + k, block, u, [r1]);
                        }
                    }
                }
            }
        }

        impl VectorLoop for $task {
            type Output = ();
            #[inline(always)]
            unsafe fn run<V: Vector>(mut self) {
                // SAFETY: the caller guarantees the features of `V`. `M` registers cover two tiles, one, or
                // half a tile. If `M` registers cover two tiles, one tile may remain, which `H` registers
                // cover exactly.
                unsafe {
                    if const { V::STREAM == 2 } {
                        self.levels::<V, 2, 1>();
                    } else {
                        self.levels::<V, 8, 4>();
                    }
                }
            }
        }
    };
}

loops!(Receive<'_>);
loops!(Send<'_>);
