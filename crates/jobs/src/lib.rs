//! Jobs of many lanes, of which either party is a cluster: stock and tables at the scale of many machines.
//!
//! A *lane* is a worker of either party with a session, a store and secrets of its own. Two *coordinators*
//! have a line of their own and a [ledger] each, which says what was begun and what came of it.
//! `docs/guides/clusters.md` has the argument.
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
