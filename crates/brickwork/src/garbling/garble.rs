//! The garbler's walk.

use brickwork_kernels::{Kernel, PIECE, Wires};

use super::{GarblingKeys, LaneGroup, Plan, TABLE_BYTES, by_group, lane_groups};
use crate::Error;
use crate::label::{Delta, Label};

/// Where tables go.
pub trait TableSink {
    /// Takes the next bytes of the tables of a copy, at most 16 KiB; `copy` is its position in the list that [`garble`]
    /// was given. The bytes of a copy come in order, those of different copies mixed.
    ///
    /// # Errors
    /// Whatever keeps the sink from taking them; the walk ends there.
    fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error>;
}

/// Garbles copies of a component.
///
/// `copies` are their numbers in the batch, each with its delta and the false labels of its input wires, copy by copy.
/// `outputs` receives the false labels of the output wires, copy by copy, and `sink` the tables.
///
/// # Errors
/// Those of the sink.
///
/// # Panics
/// If the slices do not fit the number of copies.
pub fn garble(
    plan: &Plan,
    keys: &GarblingKeys,
    copies: &[u32],
    deltas: &[Delta],
    inputs: &[Label],
    outputs: &mut [Label],
    sink: &mut impl TableSink,
) -> Result<(), Error> {
    garble_with(Kernel::best(), plan, keys, copies, deltas, inputs, outputs, sink)
}

#[expect(clippy::too_many_arguments, reason = "one more than the public face")]
pub(super) fn garble_with(
    kernel: Kernel,
    plan: &Plan,
    keys: &GarblingKeys,
    copies: &[u32],
    deltas: &[Delta],
    inputs: &[Label],
    outputs: &mut [Label],
    sink: &mut impl TableSink,
) -> Result<(), Error> {
    assert_eq!(deltas.len(), copies.len(), "one delta for each copy");
    assert_eq!(inputs.len(), copies.len() * plan.inputs(), "one label for each input wire of each copy");
    assert_eq!(outputs.len(), copies.len() * plan.outputs(), "one place for each output wire of each copy");
    let mut walk = Walk { kernel, plan, keys, deltas, inputs, outputs, sink };
    for group in lane_groups(&by_group(copies, keys), |p| keys.group_of(copies[p])) {
        match group.members.len() {
            9.. => walk.run::<16>(&group)?,
            5.. => walk.run::<8>(&group)?,
            _ => walk.run::<4>(&group)?,
        }
    }
    Ok(())
}

struct Walk<'a, S> {
    kernel: Kernel,
    plan: &'a Plan,
    keys: &'a GarblingKeys,
    deltas: &'a [Delta],
    inputs: &'a [Label],
    outputs: &'a mut [Label],
    sink: &'a mut S,
}

/// Space between the tables of two copies, so that they do not compete for the same lines of the cache.
const SPACE: usize = 64;

impl<S: TableSink> Walk<'_, S> {
    fn run<const L: usize>(&mut self, group: &LaneGroup<'_>) -> Result<(), Error> {
        let (plan, script) = (self.plan, &self.plan.script);
        let mut wires = Wires::<L>::new(script);
        for (lane, &p) in group.members.iter().enumerate() {
            wires.set_delta(lane, self.deltas[p].bits());
            for (slot, label) in self.inputs[p * plan.inputs()..][..plan.inputs()].iter().enumerate() {
                wires.set(slot as u32, lane, label.bits());
            }
        }
        let mut keys = self.keys.of_group(group.group);
        let mut buffer = vec![0; L * (script.and_gates().min(PIECE) * TABLE_BYTES + SPACE)];
        for piece in 0..script.pieces() {
            let gates = script.piece_gates(piece).len();
            let mut spaces = buffer.chunks_exact_mut(gates * TABLE_BYTES + SPACE);
            let tables: [&mut [u8]; L] = std::array::from_fn(|_| &mut spaces.next().expect("as many as lanes")[..gates * TABLE_BYTES]);
            wires.garble(self.kernel, script, piece, &keys.of_piece(self.kernel, piece, gates), tables);
            if gates > 0 {
                for (&p, tables) in group.members.iter().zip(buffer.chunks_exact(gates * TABLE_BYTES + SPACE)) {
                    self.sink.tables(p, &tables[..gates * TABLE_BYTES])?;
                }
            }
        }
        for (lane, &p) in group.members.iter().enumerate() {
            for (label, &slot) in self.outputs[p * plan.outputs()..][..plan.outputs()].iter_mut().zip(&plan.outputs) {
                *label = Label::from_bits(wires.get(slot, lane));
            }
        }
        Ok(())
    }
}

/// Hashes the tables of each copy and keeps nothing else.
pub struct HashTables {
    hashers: Vec<blake3::Hasher>,
}

impl HashTables {
    /// A sink for this many copies.
    pub fn new(copies: usize) -> Self {
        HashTables { hashers: vec![blake3::Hasher::new(); copies] }
    }

    /// The hashes, copy by copy.
    pub fn finish(&self) -> Vec<[u8; 32]> {
        self.hashers.iter().map(|h| *h.finalize().as_bytes()).collect()
    }
}

impl TableSink for HashTables {
    fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error> {
        self.hashers[copy].update(bytes);
        Ok(())
    }
}

/// Keeps the tables of every copy.
pub struct Collect {
    tables: Vec<Vec<u8>>,
}

impl Collect {
    /// A sink for this many copies.
    pub fn new(plan: &Plan, copies: usize) -> Self {
        Collect { tables: (0..copies).map(|_| Vec::with_capacity(plan.table_bytes())).collect() }
    }

    /// The tables, copy by copy.
    pub fn finish(self) -> Vec<Vec<u8>> {
        self.tables
    }
}

impl TableSink for Collect {
    fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error> {
        self.tables[copy].extend_from_slice(bytes);
        Ok(())
    }
}
