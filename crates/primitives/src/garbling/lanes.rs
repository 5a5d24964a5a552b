//! Groups of copies that are garbled or evaluated in lockstep.

use brickwork_kernels::{GateList, HashKeys, Kernel, WalkLabels};

use super::keys::{CALLS_PER_GATE, GarblingKeys};
use super::schedule::Schedule;
use super::scheme::GarblingScheme;
use brickwork_base::label::{Delta, Label};

/// A scheme with free XOR, whose offset has the lowest bit 1, and whose AND gates the kernels process for
/// many copies side by side.
pub(super) trait Lockstep:
    GarblingScheme<Offset = Delta, Wire = Label, Active = Label, Schedule = Schedule, Keys = GarblingKeys>
{
    /// Bytes of the table of an AND gate. Other gates have no table. A gate needs at most
    /// [`CALLS_PER_GATE`] calls of the hash.
    const AND_BYTES: usize = {
        assert!(Self::TABLE_BYTES.xor == 0 && Self::TABLE_BYTES.inv == 0);
        assert!(Self::HASH.calls_per_and <= CALLS_PER_GATE);
        Self::TABLE_BYTES.and
    };

    /// Garbles a section, with the false labels of all lanes, and writes the tables.
    fn garble_section(
        wires: &mut WalkLabels,
        kernel: Kernel,
        script: &GateList,
        section: usize,
        keys: HashKeys<'_>,
        tables: &mut [&mut [u8]],
    );

    /// Evaluates a section, with the active labels of all lanes.
    fn evaluate_section(
        wires: &mut WalkLabels,
        kernel: Kernel,
        script: &GateList,
        section: usize,
        keys: HashKeys<'_>,
        tables: &[&[u8]],
    );
}

/// Copies that are processed side by side, given as positions in the caller's list. All copies use the same
/// group of keys.
pub(super) struct LaneGroup<'a> {
    pub group: u64,
    pub members: &'a [usize],
    /// The number of lanes. Lanes without a copy are idle.
    pub lanes: usize,
}

pub(super) fn by_group(copies: &[u32], keys: &GarblingKeys) -> Vec<usize> {
    let mut order: Vec<usize> = (0..copies.len()).collect();
    order.sort_by_key(|&p| keys.group_of(copies[p]));
    order
}

/// Splits sorted positions into groups of lanes. A group may have idle lanes if a wider kernel is faster
/// nevertheless.
pub(super) fn lane_groups<'a>(
    kernel: Kernel,
    order: &'a [usize],
    copies: &[u32],
    keys: &GarblingKeys,
) -> Vec<LaneGroup<'a>> {
    let group_of = |p: usize| keys.group_of(copies[p]);
    let mut groups = Vec::new();
    for same in order.chunk_by(|&p, &q| group_of(p) == group_of(q)) {
        let mut rest = same;
        while !rest.is_empty() {
            let lanes = match rest.len() {
                13.. if kernel.most_copies() >= 16 => 16,
                5.. => 8,
                2.. => 4,
                _ if keys.one_for_a_section() => 1,
                _ => 4,
            };
            let (members, later) = rest.split_at(rest.len().min(lanes));
            groups.push(LaneGroup { group: group_of(members[0]), members, lanes });
            rest = later;
        }
    }
    groups
}
