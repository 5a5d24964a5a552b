//! Sessions with stock on disk: set up once, filled in steps, and resumed over any number of connections.
//! This module has the parts that all protocols share. A protocol implements [`StockProtocol`] and, for each
//! role, [`StockSession`]: its setup, the items it keeps, and the items it takes.
//!
//! ```text
//!   both ways    whether the stores belong together, and where their logs stand ([`meeting`])
//!   fill:        both ways    what is made next
//!                             each appends `Fill`, durably;  both ways  the head of the log
//!                             [`StockSession::fill`]; each writes its items, durably
//!                both ways    that it is written;  each appends `Made`;  both ways  the head of the log
//!                (several [`workers`] make a step side by side, each on a connection of its own)
//!   run:         both ways    the program, and what it takes from where
//!                             each appends `Use`, durably;  both ways  the head of the log
//!                             [`StockSession::take`]
//! ```
//!
//! An *epoch* of the store is one session: its offsets, seeds and watch bits, and everything that was made
//! with them. Each shared entry of its log owns a range of every counter: blocks of streams, indices, hash
//! keys, serials. A range is used only by the process that has just written the entry to disk and knows that
//! the peer has the entry, too. So no stream is ever used twice, even after a crash at any moment
//! (`docs/concepts/stock-safety.md`).
//!
//! An action that a crash has interrupted is never continued. The items that a program had taken are burned.
//! The items of an incomplete step are never used, and the step is repeated in other ranges. If a peer
//! cheats, the whole epoch is burned, because the failed check has told the peer something about the secrets
//! of the epoch.

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

pub use epochs::{compare_stores, in_stock};
pub use from_stock::FromStock;
pub use intent::intent_again;
pub use run::{Gave, RunOutcome};
pub use side::{
    GIVEN_UP_SHARE, Lacking, Preprocessed, PreprocessingStep, STOCK_SHARE, Stand, StockProtocol, StockSession,
};
pub use stocked::Stocked;
