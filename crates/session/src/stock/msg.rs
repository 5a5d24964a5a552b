//! The messages of parties with stock, between their greeting and what a protocol does.

use brickwork_wire::Tag;

/// Both, at once: the pair that their stores are of, and whether they hold anything.
pub const PAIR: Tag = Tag(43);
/// Both, at once: where the logs of their stores stand.
pub const STANDINGS: Tag = Tag(40);
/// Both, at once: a hash over where they stand now.
pub const STAND: Tag = Tag(41);
/// Both, at once: whether a program is run on stock, more is made, or it is refused; and what is taken from
/// where.
pub const INTENT: Tag = Tag(42);
/// Both: which items of the stock this party cannot read, behind an intent that says so.
pub const DAMAGED: Tag = Tag(39);
/// Garbler, behind its greeting on the connection of a worker: which worker it is, and of how many.
pub const WORKER: Tag = Tag(44);
/// A party's coordinator, to a maker: what it is to do, or may.
pub const TOLD: Tag = Tag(45);
/// A maker, to its party's coordinator: what it did, or is about to send.
pub const SAID: Tag = Tag(46);
/// Both: bytes whose number the message before has said.
pub const BYTES: Tag = Tag(47);
