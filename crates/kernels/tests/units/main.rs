//! Each loop by itself, with every kernel of this machine. They lie outside of the crate, so that it is
//! compiled once: a second time, for tests in it, would take as long again.

mod aes;
mod blake3;
mod clmul;
mod columns;
mod dual_key;
mod erase;
mod half_tree;
mod leaky;
/// This includes the module with its tests, which check its private parts; it depends on nothing in the
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
