//! Selection of array elements by secret indexes, and shifts by secret amounts.

use super::{divide, extend, less, significant};
use crate::graph::{Graph, GraphBit};

fn constant(value: usize, width: usize) -> Vec<GraphBit> {
    (0..width).map(|i| GraphBit::constant(i < 64 && value >> i & 1 == 1)).collect()
}

/// Returns whether an index is less than `count`.
fn below(g: &mut Graph, index: &[GraphBit], count: usize) -> GraphBit {
    let index = &index[..significant(index)];
    if index.len() < usize::BITS as usize && count >> index.len() != 0 {
        return GraphBit::ONE;
    }
    let count = constant(count, index.len());
    less(g, index, &count, false)
}

/// Returns the item at `index`, or zeros if there is none. It is a tree of choices. It costs one AND per bit
/// of all items except one, and one more per bit if the index can be too large.
pub fn choose(g: &mut Graph, index: &[GraphBit], mut items: Vec<Vec<GraphBit>>) -> Vec<GraphBit> {
    let inside = below(g, index, items.len());
    // An index with this many bits cannot select any further item.
    items.truncate(1usize.checked_shl(index.len() as u32).unwrap_or(usize::MAX));
    for &bit in index {
        if items.len() <= 1 {
            break;
        }
        // If an item has no partner, it is chosen for both values of the bit, because the other value would
        // make the index too large.
        let pair = |pair: &[Vec<GraphBit>]| match pair {
            [low, high] => low.iter().zip(high).map(|(&low, &high)| g.mux(bit, high, low)).collect(),
            _ => pair[0].clone(),
        };
        items = items.chunks(2).map(pair).collect();
    }
    let item = items.into_iter().next().unwrap_or_default();
    item.into_iter().map(|bit| g.and(inside, bit)).collect()
}

/// Returns a bit for every combination of indexes below their counts, which is set if these are the indexes
/// and `enabled` is set. Each output except the first costs one AND. Detecting an index that is too large
/// costs more.
pub fn decode(
    g: &mut Graph,
    choices: &[(&[GraphBit], usize)],
    mut enabled: GraphBit,
) -> Vec<(Vec<usize>, GraphBit)> {
    for (index, count) in choices {
        let inside = below(g, index, *count);
        enabled = g.and(enabled, inside);
    }
    let mut lines = vec![(Vec::new(), enabled)];
    for (index, count) in choices {
        let mut next = Vec::new();
        for (indexes, line) in lines {
            // From the highest bit of the index down, each output is split in two.
            let mut blocks = vec![(0, line)];
            for bit in (0..usize::BITS - (count - 1).leading_zeros()).rev() {
                let condition = index.get(bit as usize).copied().unwrap_or(GraphBit::ZERO);
                let mut halves = Vec::with_capacity(2 * blocks.len());
                for (start, line) in blocks {
                    let middle = start + (1 << bit);
                    if middle >= *count {
                        // If this bit is set, the index would be too large, so the output is not split.
                        halves.push((start, line));
                        continue;
                    }
                    let high = g.and(line, condition);
                    halves.push((start, g.xor(line, high)));
                    halves.push((middle, high));
                }
                blocks = halves;
            }
            next.extend(blocks.into_iter().map(|(at, line)| ([&indexes[..], &[at]].concat(), line)));
        }
        lines = next;
    }
    lines
}

/// Returns the bits shifted by a secret amount, with zeros coming in. Each bit costs one AND for each
/// relevant bit of the amount, and one more if the amount can be too large.
pub fn shift_by(g: &mut Graph, bits: &[GraphBit], amount: &[GraphBit], left: bool) -> Vec<GraphBit> {
    let (width, mut bits) = (bits.len(), bits.to_vec());
    let mut far = GraphBit::ZERO;
    for (i, &bit) in amount.iter().enumerate() {
        let by = if i < usize::BITS as usize - 1 { 1usize << i } else { usize::MAX };
        if by >= width {
            far = g.or(far, bit);
            continue;
        }
        let moved = |at: usize| {
            let from = if left { at.checked_sub(by) } else { at.checked_add(by) };
            from.and_then(|from| bits.get(from).copied()).unwrap_or(GraphBit::ZERO)
        };
        bits = (0..width).map(|at| g.mux(bit, moved(at), bits[at])).collect();
    }
    bits.into_iter().map(|bit| g.and(!far, bit)).collect()
}

/// Returns the bits rotated to the left by a secret amount. Each bit costs one AND for each bit of the
/// amount, or half an AND if the rotation exchanges halves. If the width is not a power of two, the amount is
/// reduced first.
pub fn rotate_by(g: &mut Graph, bits: &[GraphBit], amount: &[GraphBit]) -> Vec<GraphBit> {
    let (width, mut bits) = (bits.len(), bits.to_vec());
    if width <= 1 {
        return bits;
    }
    let places = (usize::BITS - (width - 1).leading_zeros()) as usize;
    let amount = if width.is_power_of_two() {
        extend(amount, places)
    } else {
        let wide = amount.len().max(places);
        let rest = divide(g, &extend(amount, wide), &constant(width, wide), false, true);
        extend(&rest, places)
    };
    for (i, &bit) in amount.iter().enumerate() {
        bits = (0..width).map(|at| g.mux(bit, bits[(at + width - (1 << i)) % width], bits[at])).collect();
    }
    bits
}
