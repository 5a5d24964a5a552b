//! The messages of parties with stock, between their greeting and the messages of a protocol.

use brickwork_wire::Tag;

/// From both parties, at the same time: the pair of their stores, and whether they hold anything.
pub const PAIR: Tag = Tag(43);
/// From both parties, at the same time: the positions of their logs.
pub const STANDINGS: Tag = Tag(40);
/// From both parties, at the same time: a hash of the current position of their log.
pub const STAND: Tag = Tag(41);
/// From both parties, at the same time: the next action (run a program on stock, make stock, or refuse) and
/// its epoch.
pub const INTENT: Tag = Tag(42);
/// From both parties: the items of the stock that the sender cannot read, after an intent that announces the
/// list.
pub const DAMAGED: Tag = Tag(39);
/// Garbler, after its greeting on a worker's connection: the number of this worker, and the number of all
/// workers.
pub const WORKER: Tag = Tag(44);
/// A party's coordinator, to a maker: the work to do, or an answer.
pub const TOLD: Tag = Tag(45);
/// A maker, to its party's coordinator: a result, or an announcement of data.
pub const SAID: Tag = Tag(46);
/// From both parties: bytes whose number the previous message has announced.
pub const BYTES: Tag = Tag(47);
