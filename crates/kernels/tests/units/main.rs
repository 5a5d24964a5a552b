//! Tests each loop with every kernel of this machine. The tests are in a crate of their own, so that the
//! kernels are compiled once and not a second time with their tests.

mod aes;
mod blake3;
mod clmul;
mod columns;
mod dual_key;
mod erase;
mod half_tree;
mod leaky;
/// Includes the module with its tests, which check private parts. The module depends on nothing else in the
/// crate.
#[allow(dead_code, reason = "they look at parts of it")]
#[path = "../../src/pages.rs"]
mod pages;
mod parity;
mod seeds;
mod subtree;
mod symbols;
mod transpose;
mod trees;
