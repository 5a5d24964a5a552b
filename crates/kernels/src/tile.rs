//! Tiles: rows that are made, hashed and transposed a few blocks at a time.

/// The number of rows of a [`Tile`].
pub const TILE_ROWS: usize = 128;

/// The number of blocks of a row of a [`Tile`].
pub const TILE_BLOCKS: usize = 4;

/// A few blocks of each of 128 rows. Row r is blocks `4·r` to `4·r + 3`.
pub type Tile = [u128; TILE_ROWS * TILE_BLOCKS];

/// A row of a [`Tile`], or of corrections that belong to one or more rows.
pub type TileRow = [u128; TILE_BLOCKS];
