//! The project's chores.
#![forbid(unsafe_code)]
fn main() {}
