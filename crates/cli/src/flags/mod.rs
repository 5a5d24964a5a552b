//! The flags of commands, and their conversion into requests of the library.

pub mod arguments;
pub mod audit;
pub mod page;
pub mod parsers;
pub mod source;
pub mod store;
