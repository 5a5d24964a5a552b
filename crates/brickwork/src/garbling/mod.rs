//! Half-gates garbling (Zahur, Rosulek, Evans 2015) of many copies of a component in lockstep.
//!
//! A [`Plan`] is made once for a component; [`garble`] and [`evaluate`] walk it with many copies side by side. XOR and
//! INV are free, an AND gate takes a table of 32 bytes, `T_G ‖ T_E`. A copy's tables are those of its AND gates in the
//! order of the circuit; they are passed on piece by piece, so that memory depends on the labels alive at a time and
//! not on the number of gates.
//!
//! # The hash
//!
//! `H(x, i) = AES_k(y) ⊕ y` with `y = σ(x) ⊕ i` and `σ(x_hi ‖ x_lo) = (x_hi ⊕ x_lo) ‖ x_hi`; `i` is the index of the half
//! gate, `2j` and `2j + 1` for AND gate `j` of the circuit. An attacker who sees many instances under one key gains by
//! their number (Guo, Katz, Wang, Weng, Yu 2020), so a key serves at most 2^15 calls: [`GarblingKeys`] derives them
//! from a random start of the batch, the copy's *group* and the gate's *chunk*. Copies of a group share keys, which is
//! what lets them go in lockstep; a group is as large as the bound allows, because the copies that are evaluated
//! together come from anywhere in the batch.

mod evaluate;
mod garble;
mod keys;
mod plan;
#[cfg(test)]
mod tests;

pub use evaluate::{TableSource, evaluate};
pub use garble::{Collect, HashTables, TableSink, garble};
pub use keys::GarblingKeys;
pub use plan::Plan;

/// Bytes of the table of an AND gate.
pub const TABLE_BYTES: usize = 32;

/// Copies that go through a component together: indices into the caller's list, all of one group.
struct LaneGroup<'a> {
    group: u64,
    members: &'a [usize],
}

/// Sorts the copies by group and cuts them into lane groups of 16, 8 or 4 lanes with few of them idle.
fn lane_groups(order: &[usize], group_of: impl Fn(usize) -> u64) -> Vec<LaneGroup<'_>> {
    let mut groups = Vec::new();
    for same in order.chunk_by(|&p, &q| group_of(p) == group_of(q)) {
        let mut rest = same;
        while !rest.is_empty() {
            let lanes = match rest.len() {
                13.. => 16,
                5.. => 8,
                _ => 4,
            };
            let (members, later) = rest.split_at(rest.len().min(lanes));
            groups.push(LaneGroup { group: group_of(members[0]), members });
            rest = later;
        }
    }
    groups
}

/// Positions in `copies`, those of a group together.
fn by_group(copies: &[u32], keys: &GarblingKeys) -> Vec<usize> {
    let mut order: Vec<usize> = (0..copies.len()).collect();
    order.sort_by_key(|&p| keys.group_of(copies[p]));
    order
}
