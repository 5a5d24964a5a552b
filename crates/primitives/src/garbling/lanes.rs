//! Which copies go through a component together.

use super::GarblingKeys;

/// Copies that are garbled or evaluated side by side: positions in the caller's list, all of one group.
pub(super) struct LaneGroup<'a> {
    pub group: u64,
    pub members: &'a [usize],
    /// Number of lanes; those beyond the members are idle.
    pub lanes: usize,
}

/// Positions in `copies`, those of a group together.
pub(super) fn by_group(copies: &[u32], keys: &GarblingKeys) -> Vec<usize> {
    let mut order: Vec<usize> = (0..copies.len()).collect();
    order.sort_by_key(|&p| keys.group_of(copies[p]));
    order
}

/// Cuts sorted positions into lane groups, with as few idle lanes as pays.
pub(super) fn lane_groups<'a>(order: &'a [usize], copies: &[u32], keys: &GarblingKeys) -> Vec<LaneGroup<'a>> {
    let group_of = |p: usize| keys.group_of(copies[p]);
    let mut groups = Vec::new();
    for same in order.chunk_by(|&p, &q| group_of(p) == group_of(q)) {
        let mut rest = same;
        while !rest.is_empty() {
            let lanes = match rest.len() {
                13.. => 16,
                5.. => 8,
                2.. => 4,
                _ if keys.one_for_a_piece() => 1,
                _ => 4,
            };
            let (members, later) = rest.split_at(rest.len().min(lanes));
            groups.push(LaneGroup { group: group_of(members[0]), members, lanes });
            rest = later;
        }
    }
    groups
}
