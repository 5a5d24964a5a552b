//! The vectorised inner loops of Brickwork, and its allocator. This is the only crate of the project with
//! `unsafe` code.
//!
//! A [`Kernel`] is one implementation of all loops: for wide vectors and the machine's AES unit, or in
//! portable code that takes constant time. All kernels compute exactly the same bits. [`Kernel::best`] is the
//! fastest kernel of this machine, or the one that the environment variable [`KERNEL_VARIABLE`] names:
//! `vaes-avx512`, `vaes-avx2`, `aes-ni`, `neon-aes` or `portable`. A program calls [`Kernel::chosen`] first,
//! to refuse an unknown name.
//!
//! Kernels with few registers keep secrets on the stack for a while. So a value with unwritten bytes must not
//! move from the stack to the heap, because these bytes could contain secrets.
//!
//! Blocks are `u128`, little endian. Byte 0 of an AES block is the least significant byte, and bit 0 of a
//! label is its colour.
#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(target_endian = "big")]
compile_error!(
    "labels and tables are little endian in memory and in messages; big-endian machines are not supported"
);

mod aes;
mod blake3;
mod clmul;
mod columns;
mod dual_key;
mod erase;
mod factors;
mod garble;
mod half_tree;
mod heap;
mod kernel;
mod leaky;
mod lines;
mod local_code;
mod pages;
mod parity;
mod portable;
mod script;
mod secrets;
mod swap;
mod symbols;
mod tile;
mod transpose;
mod trees;
mod vector;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use aes::{Aes128, ctr_rows, ctr_rows_with, encrypt_each, encrypt_each_with};
pub use blake3::{
    CHUNK_BYTES, SUBTREE_BYTES, Subtree, keyed_hashes, keyed_hashes_with, parent_values, parent_values_with,
    subtree_values, subtree_values_with,
};
pub use clmul::{gf128_reduce, hash_accumulate, hash_accumulate_with, hash_rows, hash_rows_with};
pub use columns::hash_to_columns;
pub use dual_key::{Carry, CopyKeys, Doubling, DualKey, LoopGates, Style, Tokens};
pub use erase::erase;
pub use factors::Factor;
pub use garble::{HashKeys, LANES, MaskedTables, WORD_LANES, WalkLabels};
pub use half_tree::{complete_tree, grow_tree, sum_where};
pub use heap::keep_freed;
pub use kernel::{KERNEL_VARIABLE, Kernel, NoSuchKernel};
pub use leaky::{LeakyHash, MaskWords, leaky_ciphertexts, leaky_sums};
pub use local_code::{CODE_ONES, add_encoded};
pub use pages::{Erasing, LargePages};
pub use parity::{parity_rows, parity_rows_with};
pub use script::{And, GateList, GateListBuilder, LAYER, ONE, SECTION};
pub use secrets::SecretBlocks;
pub use symbols::{
    Matrix, Picks, ROW_BLOCKS, SymbolFactors, add_picked, add_picked_with, add_products, add_products_with,
    add_row_products, add_row_products_with, add_scaled, add_scaled_with, words_of_rows, words_of_rows_with,
};
pub use tile::{TILE_BLOCKS, TILE_ROWS, Tile, TileRow};
pub use transpose::{transpose, transpose_back, transpose_back_with, transpose_with, words_for_rows};
pub use trees::Trees;
pub use vector::prefetch;
