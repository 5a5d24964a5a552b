//! Transposed tiles and hashes of rows, compared with the portable kernel and computed bit by bit.

use brickwork_kernels::{
    Aes128, Kernel, TILE_ROWS, Tile, TileRow, gf128_reduce, hash_rows_with, hash_to_columns,
};

fn random(seed: u128, blocks: usize) -> Vec<u128> {
    let mut random = vec![0; blocks];
    Aes128::new(seed).ctr(0, &mut random);
    random
}

fn tiles(blocks: &[u128]) -> Vec<Tile> {
    blocks.as_chunks().0.to_vec()
}

fn rows(blocks: &[u128]) -> Vec<TileRow> {
    blocks.as_chunks().0.to_vec()
}

/// Returns block `block` of a row, counted over all tiles.
fn block(tiles: &[Tile], row: usize, block: usize) -> u128 {
    tiles[block / 4][4 * row + block % 4]
}

#[test]
fn columns_and_hashes_are_those_of_the_rows() {
    for count in [0, 1, 2, 5] {
        let (given, chis) = (random(11, 512 * count), random(12, 4 * count));
        let (first_row, before) = (rows(&random(13, 4 * count)), [[5, 6]; TILE_ROWS]);
        let of = tiles(&given);
        let mut expected = before;
        for (tile, chis) in of.iter().zip(rows(&chis)) {
            hash_rows_with(Kernel::PORTABLE, &mut expected, tile, &chis);
        }
        for kernel in Kernel::all_available() {
            for replaced in [None, Some(&first_row[..])] {
                let (mut acc, mut columns) = (before, of.clone());
                hash_to_columns(kernel, &mut acc, &rows(&chis), replaced, &mut columns);
                let reduced = |acc: [[u128; 2]; TILE_ROWS]| acc.map(gf128_reduce);
                assert_eq!(reduced(acc), reduced(expected), "{kernel:?}");
                for (c, column) in columns.as_flattened().iter().enumerate() {
                    let bit = |row: usize| match replaced {
                        Some(first_row) if row == 0 => first_row[c / 512][c % 512 / 128],
                        _ => block(&of, row, c / 128),
                    };
                    let bits = (0..TILE_ROWS).map(|row| (bit(row) >> (c % 128) & 1) << row);
                    assert_eq!(*column, bits.fold(0, |a, b| a | b), "{kernel:?}, column {c}");
                }
            }
        }
    }
}
