//! The garbler's walk.

use brickwork_kernels::{ONE, PIECE, Wires};

use super::lanes::{LaneGroup, by_group, lane_groups};
use super::schedule::input_slot;
use super::{GarblingKeys, Schedule, TABLE_BYTES};
use brickwork_base::Error;
use brickwork_base::label::{Delta, Label};

/// Where tables go.
pub trait TableSink {
    /// Takes the next bytes of the tables of a copy, 16 KiB or what is left; `copy` is its position in the
    /// list that [`garble`] was given. The bytes of a copy come in order, those of different copies mixed.
    ///
    /// # Errors
    /// Whatever keeps the sink from taking them; the walk ends there.
    fn tables(&mut self, copy: usize, bytes: &[u8]) -> Result<(), Error>;

    /// Takes the next bytes of the tables of several copies, all of one length; by default one after the
    /// other.
    ///
    /// # Errors
    /// As [`TableSink::tables`].
    fn piece(&mut self, copies: &[usize], tables: &[&[u8]]) -> Result<(), Error> {
        copies.iter().zip(tables).try_for_each(|(&copy, bytes)| self.tables(copy, bytes))
    }
}

/// Garbles copies of a component.
///
/// `copies` are their numbers in the batch, each with its delta and the false labels of its input wires, copy
/// by copy. `outputs` receives the false labels of the output wires, copy by copy, and `sink` the tables.
///
/// # Errors
/// Those of the sink.
///
/// # Panics
/// If the slices do not fit the number of copies.
pub fn garble(
    schedule: &Schedule,
    keys: &GarblingKeys,
    copies: &[u32],
    deltas: &[Delta],
    inputs: &[Label],
    outputs: &mut [Label],
    sink: &mut impl TableSink,
) -> Result<(), Error> {
    assert_eq!(deltas.len(), copies.len(), "one delta for each copy");
    assert_eq!(inputs.len(), copies.len() * schedule.inputs(), "one label for each input wire of each copy");
    assert_eq!(
        outputs.len(),
        copies.len() * schedule.outputs(),
        "one place for each output wire of each copy"
    );
    let order = by_group(copies, keys);
    let groups = lane_groups(&order, copies, keys);
    let Some(lanes) = groups.iter().map(|g| g.lanes).max() else { return Ok(()) };
    let script = &schedule.script;
    let mut wires = Wires::new(script, lanes);
    let mut buffer = vec![0; lanes * (script.and_gates().min(PIECE) * TABLE_BYTES + SPACE)];
    let mut hash_keys = keys.of_group(schedule.kernel, groups[0].group);
    for LaneGroup { group, members, lanes } in groups {
        if group != hash_keys.group() {
            hash_keys = keys.of_group(schedule.kernel, group);
        }
        wires.set_lanes(lanes);
        for (lane, &p) in members.iter().enumerate() {
            wires.set(ONE, lane, deltas[p].bits());
            for (wire, label) in inputs[p * schedule.inputs()..][..schedule.inputs()].iter().enumerate() {
                wires.set(input_slot(wire), lane, label.bits());
            }
        }
        for piece in 0..script.pieces() {
            let gates = script.piece_gates(piece).len();
            let bytes = gates * TABLE_BYTES;
            let mut tables: [&mut [u8]; 16] = Default::default();
            for (table, space) in tables.iter_mut().zip(buffer.chunks_exact_mut(bytes + SPACE)) {
                *table = &mut space[..bytes];
            }
            wires.garble(
                schedule.kernel,
                script,
                piece,
                hash_keys.of_piece(piece, gates),
                &mut tables[..lanes],
            );
            if gates > 0 {
                sink.piece(members, &tables.each_ref().map(|table| &**table)[..members.len()])?;
            }
        }
        for (lane, &p) in members.iter().enumerate() {
            for (label, &slot) in
                outputs[p * schedule.outputs()..][..schedule.outputs()].iter_mut().zip(&schedule.outputs)
            {
                *label = Label::from_bits(wires.get(slot, lane));
            }
        }
    }
    Ok(())
}

/// Space between the tables of two copies, so that they do not compete for the same lines of the cache.
const SPACE: usize = 64;

/// Keeps the tables of every copy.
pub struct Collect {
    tables: Vec<Vec<u8>>,
}

impl Collect {
    /// A sink for this many copies.
    pub fn new(schedule: &Schedule, copies: usize) -> Self {
        Collect { tables: (0..copies).map(|_| Vec::with_capacity(schedule.table_bytes())).collect() }
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
