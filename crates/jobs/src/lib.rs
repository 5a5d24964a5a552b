//! Jobs of many lanes, in which either party may be a cluster: stock and tables for many machines.
//!
//! A *lane* is a pair of workers, one of each party, with a session, stores and secrets of its own. Two
//! *coordinators* have a connection of their own and a [ledger] each, which records the actions and their
//! results. `docs/guides/clusters.md` explains why this is safe.
#![forbid(unsafe_code)]

pub mod book;
pub mod control;
pub mod coordinator;
pub mod lane;
pub mod ledger;
#[cfg(test)]
mod model;
pub mod place;
pub mod said;
pub mod terms;
mod workers;
