//! The `.wir` compiler: source text becomes a [`brickwork::circuit::Program`] of components.
#![forbid(unsafe_code)]

mod arith;
pub mod ast;
mod check;
pub mod diagnostic;
pub mod expand;
mod graph;
mod ir;
pub mod lexer;
pub mod parser;
pub mod source;
mod stdlib;
mod types;

pub use stdlib::{StdFile, std_library};
