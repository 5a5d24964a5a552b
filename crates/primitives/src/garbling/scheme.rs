//! The interface of a garbling scheme for the protocols.

use bytemuck::Pod;

use super::tables::{TableSink, TableSource};
use brickwork_base::Error;
use brickwork_base::random::Rng;
use brickwork_circuit::Circuit;

/// Bytes of a gate's table, by the kind of gate; 0 where it is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateBytes {
    /// For an AND gate.
    pub and: usize,
    /// For an XOR gate.
    pub xor: usize,
    /// For an INV gate.
    pub inv: usize,
}

/// The meaning of the lowest bit of a label, its *colour*. The two labels of a wire differ in it, always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// The place of this label among the wire's two, in an order that is random for each wire: the evaluator
    /// learns nothing of it (point-and-permute).
    Random,
    /// The wire's bit.
    Bits,
}

/// How the hash is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashUse {
    /// Calls for an AND gate of a copy, at the garbler: each has a tweak or two labels that no other call
    /// under the same key has.
    pub calls_per_and: usize,
    /// Most calls under one key; none where one key serves for everything, which costs the scheme as many
    /// bits of security as the logarithm of the calls.
    pub calls_per_key: Option<usize>,
}

/// A garbling scheme: how the labels of a gate's output follow from those of its operands, with a table that
/// the garbler makes and the evaluator reads.
///
/// The two parties see a wire differently. The garbler has a [`Scheme::Wire`], which stands for the labels of
/// both bits, together with the [`Scheme::Offset`] of the copy; the evaluator has the active label. Nothing
/// is said here of how labels differ: by an offset whose lowest bit is 1, by one that is free, or by none at
/// all.
///
/// Copies of a circuit are garbled and evaluated many at a time, as the scheme likes best; lists of wires are
/// `[copy][wire]`.
pub trait Scheme: Sized + Send + Sync + 'static {
    /// The name that people use.
    const NAME: &'static str;
    /// Bytes of the tables.
    const TABLE_BYTES: GateBytes;
    /// Bytes of a label on the wire.
    const LABEL_BYTES: usize;
    /// The meaning of the lowest bit of a label.
    const COLOURS: Colours;
    /// Says that it hides the wires' bits from the evaluator. If not, it serves where the evaluator knows
    /// them all.
    const PRIVATE: bool;
    /// How the hash is used.
    const HASH: HashUse;

    /// The value that all wires of a copy share, at the garbler.
    type Offset: Copy + Send + Sync;
    /// A wire at the garbler.
    type Wire: Copy + Send + Sync;
    /// The active label of a wire.
    type Active: Pod + Send + Sync;
    /// A circuit made ready, once for a component.
    type Schedule: Send + Sync;
    /// Where the hash keys of a batch of copies come from. Both parties have the same.
    type Keys: Send + Sync;

    /// Draws the offset of a copy.
    fn offset(rng: &mut Rng) -> Self::Offset;

    /// Draws a wire that no gate drives.
    fn wire(offset: Self::Offset, rng: &mut Rng) -> Self::Wire;

    /// Returns the label that stands for `bit` (0 or 1).
    fn label(offset: Self::Offset, wire: Self::Wire, bit: u8) -> Self::Active;

    /// Returns the lowest bit of a label.
    fn colour(label: Self::Active) -> u8;

    /// Returns the decoding value of a wire: the colour of the label that stands for 0.
    fn decoding(offset: Self::Offset, wire: Self::Wire) -> u8 {
        Self::colour(Self::label(offset, wire, 0))
    }

    /// Makes a circuit ready.
    fn schedule(circuit: &Circuit) -> Self::Schedule;

    /// Returns the number of bytes of the tables of one copy.
    fn table_bytes(schedule: &Self::Schedule) -> usize;

    /// Makes the keys of a batch of `copies` copies. `start` is random, the garbler's choice, and no secret
    /// once all that depends on it is made.
    fn keys(start: u128, copies: usize, schedule: &Self::Schedule) -> Self::Keys;

    /// Garbles copies. `copies` are their numbers in the batch, each with its offset and its input wires.
    /// `outputs` receives the output wires, and `sink` the tables.
    ///
    /// # Errors
    /// Those of the sink.
    ///
    /// # Panics
    /// If the slices do not fit the number of copies.
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
    /// wires. `outputs` receives those of the output wires.
    ///
    /// # Errors
    /// Those of the source.
    ///
    /// # Panics
    /// If the slices do not fit the number of copies, or the source has tables that are too short.
    fn evaluate(
        schedule: &Self::Schedule,
        keys: &Self::Keys,
        copies: &[u32],
        inputs: &[Self::Active],
        source: &mut impl TableSource,
        outputs: &mut [Self::Active],
    ) -> Result<(), Error>;
}
