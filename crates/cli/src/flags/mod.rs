//! The flags of commands, and their conversion into requests of the library.

pub mod arguments;
pub mod page;
pub mod parsers;
pub mod recovery;
pub mod source;
pub mod store;
