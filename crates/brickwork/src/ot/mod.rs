//! Oblivious transfer: base OTs from elliptic curves, and their extension to any number of correlated OTs.

pub mod base;

use crate::wire::Tag;

/// Base OT, both directions: the sender's point and the receiver's points.
pub const BASE_OT: Tag = Tag(16);
pub mod extension;
