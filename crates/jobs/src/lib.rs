//! Jobs of many lanes, in which either party may be a cluster: stock and tables for many machines.
//!
//! A *lane* is a pair of workers, one of each party, with a session, stores and secrets of its own. Two
//! *coordinators* have a connection of their own and a [ledger] each, which records the actions and their
//! results. `docs/guides/clusters.md` explains why this is safe.
#![forbid(unsafe_code)]

pub mod control;
pub mod coordinator;
pub mod entered;
pub mod lane;
pub mod ledger;
pub mod ledger_file;
#[cfg(test)]
mod model;
pub mod reports;
pub mod terms;
mod workers;
