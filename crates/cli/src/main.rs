//! The `brickwork` command.
#![forbid(unsafe_code)]
fn main() {}
