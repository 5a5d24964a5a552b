//! Rows that are made, hashed and transposed a few blocks at a time.

/// Rows of a [`Tile`].
pub const TILE_ROWS: usize = 128;

/// Blocks of a row of a [`Tile`].
pub const TILE_BLOCKS: usize = 4;

/// The blocks at the same place in each of 128 rows: row r is blocks `4·r` to `4·r + 3`.
pub type Tile = [u128; TILE_ROWS * TILE_BLOCKS];

/// A row of a [`Tile`], or of corrections that belong to a row or several.
pub type TileRow = [u128; TILE_BLOCKS];
