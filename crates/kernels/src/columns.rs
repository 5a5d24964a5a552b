//! Hashes of rows in tiles, and the transposition of the tiles.

use zeroize::Zeroize;

use crate::Kernel;
use crate::tile::{TILE_ROWS, Tile, TileRow};
use crate::vector::{Vector, VectorLoop};

/// Computes, for each row r, the sum of its blocks times `chis` over all tiles, and adds it to `acc[r]`:
/// polynomials over GF(2) without reduction, low and high half. Then transposes each tile in place: column c
/// is block c, and its bit r is a bit of row r. `first_row`, if given, replaces row 0 before. Takes constant
/// time.
///
/// # Panics
/// If the numbers of tiles, elements and blocks of `first_row` do not match.
pub fn hash_to_columns(
    kernel: Kernel,
    acc: &mut [[u128; 2]; TILE_ROWS],
    chis: &[TileRow],
    first_row: Option<&[TileRow]>,
    tiles: &mut [Tile],
) {
    assert_eq!(chis.len(), tiles.len(), "each block must have one field element");
    assert!(
        first_row.is_none_or(|row| row.len() == tiles.len()),
        "the first row must have as many blocks as the others"
    );
    kernel.run(Columns { acc, chis, first_row, tiles });
}

struct Columns<'a> {
    acc: &'a mut [[u128; 2]; TILE_ROWS],
    chis: &'a [TileRow],
    first_row: Option<&'a [TileRow]>,
    tiles: &'a mut [Tile],
}

/// Sums of the partial products that [`Vector::multiply_halves`] returns.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Sums([[u128; 4]; 3]);

impl VectorLoop for Columns<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let mut sums = [Sums([[0; 4]; 3]); TILE_ROWS];
        let mut room = [0; 512];
        for (i, (tile, chis)) in self.tiles.iter_mut().zip(self.chis).enumerate() {
            // SAFETY: the caller guarantees the features of `V`. A row of a tile, the elements of a tile and
            // the sums have four blocks each, which are whole registers.
            unsafe {
                for at in (0..4).step_by(V::BLOCKS) {
                    let chi = V::load(chis.as_ptr().add(at));
                    for (row, sums) in tile.as_chunks::<4>().0.iter().zip(&mut sums) {
                        let products = V::load(row.as_ptr().add(at)).multiply_halves(chi);
                        for (sum, product) in sums.0.iter_mut().zip(products) {
                            let sum = sum.as_mut_ptr().add(at);
                            V::load(sum).xor(product).store(sum);
                        }
                    }
                }
            }
            if let Some(first_row) = self.first_row {
                tile[..4].copy_from_slice(&first_row[i]);
            }
            // SAFETY: the caller guarantees the features of `V`.
            unsafe { V::transpose_tile(tile, &mut room) };
        }
        for (acc, sums) in self.acc.iter_mut().zip(&sums) {
            let [low, high, both] = sums.0.map(|sum| sum.iter().fold(0, |a, b| a ^ b));
            let middle = both ^ low ^ high;
            acc[0] ^= low ^ middle << 64;
            acc[1] ^= high ^ middle >> 64;
        }
        room.zeroize();
        crate::erase(&mut sums);
    }
}
