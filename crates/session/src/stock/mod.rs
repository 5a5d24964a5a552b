//! Sessions whose stock lies on disk: set up once, filled in steps, resumed over any number of connections.
//! What any protocol needs for that; a protocol brings its [`Side`]: how it sets up, what it keeps, what it
//! takes.
//!
//! ```text
//!   both ways    whether the stores belong together, and where their logs stand ([`meeting`])
//!   fill:        both ways    what is made next
//!                             each appends `Fill`, durably;  both ways  the head of the log
//!                             [`Side::fill`]; each writes what it made, durably
//!                both ways    that it is written;  each appends `Made`;  both ways  the head of the log
//!                (several [`workers`] make a step side by side, each on a connection of its own)
//!   run:         both ways    the program, and what it takes from where
//!                             each appends `Use`, durably;  both ways  the head of the log
//!                             [`Side::take`]
//! ```
//!
//! An *epoch* of the store is one session: its offsets, seeds and watch bits, and all that was made with
//! them. Every shared entry of its log has a range of every counter: blocks of streams, indices, hash keys,
//! serials. The ranges are handed out once, to the process that has just made the entry durable and has heard
//! that the peer has it too. So no stream is ever used twice, whatever crashes in between
//! (`docs/concepts/stock-safety.md`).
//!
//! What is broken off is not continued but given up: the items of a program's entry are burned, those of a
//! step that is not made are never used, and the step is begun anew in other ranges. A peer that cheats
//! costs the whole epoch: what its failed check told it concerns everything that was made with the same
//! secrets.

mod epochs;
mod fill;
mod from_stock;
mod intent;
pub mod inventory;
pub mod makers;
pub mod meeting;
pub mod msg;
pub mod ots;
pub mod plain;
pub mod records;
mod run;
mod side;
mod stocked;
#[cfg(test)]
mod tests;
pub mod workers;

pub use epochs::in_stock;
pub use from_stock::FromStock;
pub use run::{Gave, Ran};
pub use side::{Asked, GIVEN_UP_SHARE, Lacking, Preprocessed, STOCK_SHARE, Side, Stand};
pub use stocked::Stocked;
