//! The interface to the stock of a protocol: the contents of its stores, and whether they are enough for a
//! run.

use brickwork_base::Error as ProtocolError;
use brickwork_circuit::{Party, Program};
use brickwork_session::Terms;
use brickwork_session::stock::inventory::Inventory;
use brickwork_stock::Store;
use brickwork_wire::Channel;

use crate::cut::CutChoice;

/// A protocol that keeps stock.
pub trait Stocks {
    /// Returns whether the items that both parties may still use are enough for this program, cut and number
    /// of executions.
    ///
    /// # Errors
    /// If the store cannot be read or was altered.
    fn has(
        &self,
        store: &Store,
        party: Party,
        terms: &Terms,
        run: (&Program, u32, &CutChoice),
    ) -> Result<bool, ProtocolError>;

    /// Compares both stores, and changes nothing. Returns the number of parts that both may use.
    ///
    /// # Errors
    /// If the two stores are no pair.
    fn compare(
        &self,
        channel: &mut Channel,
        store: Option<&Store>,
        role: Party,
        terms: &Terms,
    ) -> Result<usize, ProtocolError>;

    /// Lists the content of a store that belongs to this protocol.
    ///
    /// # Errors
    /// If the store cannot be read or was altered.
    fn inventory(&self, store: &Store) -> Result<Vec<Inventory>, ProtocolError>;

    /// Counts the executions of a program for which a part of a store has enough items.
    ///
    /// # Errors
    /// As [`Stocks::inventory`].
    fn executions(&self, part: &Inventory, store: &Store, program: &Program) -> Result<u64, ProtocolError>;

    /// Returns whether stock is made for one level of statistical security.
    fn has_levels(&self) -> bool;
}

/// Implements [`Stocks`] for a protocol. The closure implements [`Stocks::has`]. Without a closure the crate
/// must have `in_stock`, which takes the program with all executions.
macro_rules! stocks {
    ($protocol:ty, $of:ident, levels: $levels:literal) => {
        stocks!(
            $protocol,
            $of,
            levels: $levels,
            |store: &Store, party, terms: &Terms, (program, ..): (&Program, u32, &CutChoice)| {
                $of::in_stock(store, party, terms, program)
            }
        );
    };
    ($protocol:ty, $of:ident, levels: $levels:literal, $has:expr) => {
        impl $crate::engine::stocks::Stocks for $protocol {
            fn has(
                &self,
                store: &Store,
                party: Party,
                terms: &Terms,
                run: (&Program, u32, &CutChoice),
            ) -> Result<bool, ProtocolError> {
                ($has)(store, party, terms, run)
            }

            fn compare(
                &self,
                channel: &mut Channel,
                store: Option<&Store>,
                role: Party,
                terms: &Terms,
            ) -> Result<usize, ProtocolError> {
                brickwork_session::stock::compare_stores::<$protocol>(channel, store, role, terms)
            }

            fn inventory(
                &self,
                store: &Store,
            ) -> Result<Vec<brickwork_session::stock::inventory::Inventory>, ProtocolError> {
                brickwork_session::stock::inventory::inventory::<$protocol>(store)
            }

            fn executions(
                &self,
                part: &brickwork_session::stock::inventory::Inventory,
                store: &Store,
                program: &Program,
            ) -> Result<u64, ProtocolError> {
                brickwork_session::stock::inventory::executions::<$protocol>(part, store, program)
            }

            fn has_levels(&self) -> bool {
                $levels
            }
        }
    };
}

pub(super) use stocks;
