//! The interface between a garbling scheme and the protocols.

use bytemuck::Pod;

use super::tables::{TableSink, TableSource};
use brickwork_base::Error;
use brickwork_base::random::Rng;
use brickwork_circuit::Circuit;

/// Bytes of a gate's table, by the kind of gate; 0 for a free gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateBytes {
    /// The bytes for an AND gate.
    pub and: usize,
    /// The bytes for an XOR gate.
    pub xor: usize,
    /// The bytes for an INV gate.
    pub inv: usize,
}

/// The meaning of the lowest bit of a label, its *colour*. The two labels of a wire always differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// A random bit of each wire decides which label has which colour, so a colour reveals nothing to the
    /// evaluator (point-and-permute).
    Random,
    /// The colour is the wire's bit.
    Bits,
}

/// How often a scheme calls the hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashUse {
    /// The number of hash calls of the garbler for an AND gate of one copy. Each call has a tweak or two
    /// labels that no other call under the same key has.
    pub calls_per_and: usize,
    /// The largest number of calls under one key. `None` if one key serves for everything, which costs as
    /// many bits of security as the logarithm of the number of calls.
    pub calls_per_key: Option<usize>,
}

/// A garbling scheme. It defines how the labels of a gate's output follow from the labels of its operands and
/// a table, which the garbler makes and the evaluator reads.
///
/// The garbler has a [`GarblingScheme::Wire`] for each wire, which determines the labels of both bits
/// together with the copy's [`GarblingScheme::Offset`]. The evaluator has the active label. The interface
/// does not fix how the two labels differ: by an offset whose lowest bit is 1, by any offset, or by no common
/// offset.
///
/// A call garbles or evaluates many copies of a circuit, as the scheme prefers. Lists of wires are
/// `[copy][wire]`.
pub trait GarblingScheme: Sized + Send + Sync + 'static {
    /// The name of the scheme, as users see it.
    const NAME: &'static str;
    /// Bytes of the tables.
    const TABLE_BYTES: GateBytes;
    /// Bytes of a label on the wire.
    const LABEL_BYTES: usize;
    /// The meaning of the lowest bit of a label.
    const COLOURS: Colours;
    /// True if the scheme hides the wires' bits from the evaluator. A scheme that does not is useful only if
    /// the evaluator knows all bits.
    const PRIVATE: bool;
    /// The number of calls of the hash.
    const HASH: HashUse;

    /// The garbler's value that all wires of a copy share.
    type Offset: Copy + Send + Sync;
    /// The garbler's form of a wire.
    type Wire: Copy + Send + Sync;
    /// The active label of a wire.
    type Active: Pod + Send + Sync;
    /// A circuit that is prepared for the scheme, once for each component.
    type Schedule: Send + Sync;
    /// The hash keys of a batch of copies. Both parties derive the same keys.
    type Keys: Send + Sync;

    /// Draws the offset of a copy.
    fn offset(rng: &mut Rng) -> Self::Offset;

    /// Draws a wire that no gate computes, such as an input.
    fn wire(offset: Self::Offset, rng: &mut Rng) -> Self::Wire;

    /// Returns the label that represents `bit` (0 or 1).
    fn label(offset: Self::Offset, wire: Self::Wire, bit: u8) -> Self::Active;

    /// Returns the lowest bit of a label.
    fn colour(label: Self::Active) -> u8;

    /// Returns the decoding value of a wire: the colour of the label that represents 0.
    fn decoding(offset: Self::Offset, wire: Self::Wire) -> u8 {
        Self::colour(Self::label(offset, wire, 0))
    }

    /// Prepares a circuit for the scheme.
    fn schedule(circuit: &Circuit) -> Self::Schedule;

    /// Returns the number of bytes of the tables of one copy.
    fn table_bytes(schedule: &Self::Schedule) -> usize;

    /// Makes the keys of a batch of `copies` copies. The garbler draws `start`. It may reveal `start` once
    /// all tables and labels are made.
    fn keys(start: u128, copies: usize, schedule: &Self::Schedule) -> Self::Keys;

    /// Garbles copies. `copies` are their numbers in the batch, each with its offset and its input wires. The
    /// output wires are written into `outputs`; `sink` gets the tables.
    ///
    /// # Errors
    /// The errors of the sink.
    ///
    /// # Panics
    /// If the lengths of the lists do not match the number of copies.
    fn garble(
        schedule: &Self::Schedule,
        keys: &Self::Keys,
        copies: &[u32],
        offsets: &[Self::Offset],
        inputs: &[Self::Wire],
        outputs: &mut [Self::Wire],
        sink: &mut impl TableSink,
    ) -> Result<(), Error>;

    /// Evaluates copies. `copies` are their numbers in the batch, each with the active labels of its input
    /// wires. The active labels of the output wires are written into `outputs`.
    ///
    /// # Errors
    /// The errors of the source.
    ///
    /// # Panics
    /// If the lengths of the lists do not match the number of copies, or the tables of the source are too
    /// short.
    fn evaluate(
        schedule: &Self::Schedule,
        keys: &Self::Keys,
        copies: &[u32],
        inputs: &[Self::Active],
        source: &mut impl TableSource,
        outputs: &mut [Self::Active],
    ) -> Result<(), Error>;
}
