//! Chooses the order of a component's gates, so that garbling keeps few labels at a time.
//!
//! Garbling keeps the label of each wire that will be read later. A program often computes values long before
//! it reads them: a key schedule before the rounds, or a loop that fills an array before the loop that reads
//! it. The other order starts from the outputs and computes a value when it is needed. Of two operands, it
//! computes first the one that needs more labels (Sethi and Ullman). The better of the two orders is taken.

use brickwork_base::stop::looking;

use crate::graph::{NodeKind, Template};

/// An order of the gates of a template.
pub enum GateOrder {
    /// The order of the program.
    Program,
    /// The order of these gate numbers.
    Demand(Vec<u32>),
}

impl GateOrder {
    /// Returns the order that keeps fewer labels at a time.
    pub fn best(template: &Template) -> GateOrder {
        let demand = GateOrder::Demand(demand(template));
        if demand.working_set(template) < GateOrder::Program.working_set(template) {
            demand
        } else {
            GateOrder::Program
        }
    }

    /// Returns the numbers of the gates.
    pub fn gates<'a>(&'a self, template: &'a Template) -> impl Iterator<Item = u32> + 'a {
        let (all, some) = match self {
            GateOrder::Program => (0..template.gates() as u32, &[][..]),
            GateOrder::Demand(order) => (0..0, &order[..]),
        };
        all.chain(some.iter().copied())
    }

    /// Returns the largest number of live wires: inputs live from the start, other wires from their gate on,
    /// and outputs to the end.
    pub fn working_set(&self, template: &Template) -> usize {
        let mut reads = vec![0u32; template.inputs as usize + 1 + template.gates()];
        let operands = |gate: u32| match template.kind(gate) {
            NodeKind::Xor(a, b) | NodeKind::And(a, b) => [a.node() as usize, b.node() as usize],
            NodeKind::Leaf => [0, 0],
        };
        for gate in looking(0..template.gates() as u32) {
            operands(gate).into_iter().for_each(|node| reads[node] += 1);
        }
        // An output is never released, because it is read at the end.
        template.outputs.iter().for_each(|bit| reads[bit.node() as usize] += 1);
        let mut alive = template.inputs as usize;
        let mut most = alive;
        for gate in looking(self.gates(template)) {
            for node in operands(gate) {
                reads[node] -= 1;
                alive -= usize::from(reads[node] == 0);
            }
            alive += 1;
            most = most.max(alive);
        }
        most
    }
}

/// Returns the gates in the order in which the outputs need them.
fn demand(template: &Template) -> Vec<u32> {
    let first = template.inputs + 1;
    let operands = |gate: u32| match template.kind(gate) {
        NodeKind::Xor(a, b) | NodeKind::And(a, b) => [a, b].map(|bit| bit.node().checked_sub(first)),
        NodeKind::Leaf => [None, None],
    };
    // For each gate, the number of labels that its computation needs if no value is shared.
    let mut need = vec![1u8; template.gates()];
    for gate in looking(0..template.gates() as u32) {
        let [a, b] = operands(gate).map(|g| g.map_or(0, |g| need[g as usize]));
        need[gate as usize] = if a == b { a.saturating_add(1) } else { a.max(b) };
    }
    let mut order = Vec::with_capacity(template.gates());
    let mut asked = vec![false; template.gates()];
    // A gate is on the stack to be visited, and then again, inverted, to be computed after its operands.
    let mut stack: Vec<u32> = Vec::new();
    for output in &template.outputs {
        stack.extend(output.node().checked_sub(first));
        for () in looking(std::iter::repeat(())) {
            let Some(entry) = stack.pop() else { break };
            if entry >= 1 << 31 {
                order.push(!entry);
                continue;
            }
            if std::mem::replace(&mut asked[entry as usize], true) {
                continue;
            }
            stack.push(!entry);
            let mut both = operands(entry);
            both.sort_by_key(|g| g.map_or(0, |g| need[g as usize]));
            stack.extend(both.into_iter().flatten().filter(|g| !asked[*g as usize]));
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, GraphBit};

    /// In this circuit, all values are computed before the first one is read.
    #[test]
    fn values_are_made_when_they_are_needed() {
        let mut g = Graph::new(1 << 20);
        let inputs = g.leaves(16);
        let mut early = Vec::new();
        for i in 0..16 {
            for j in 0..i {
                early.push(g.and(inputs[i], inputs[j]));
            }
        }
        let mut sum = inputs[0];
        for bit in early.iter().rev() {
            sum = g.xor(sum, *bit);
            sum = g.and(sum, inputs[3]);
        }
        let template = g.finish(16, &[sum]);
        let best = GateOrder::best(&template);
        assert!(matches!(best, GateOrder::Demand(_)));
        assert!(GateOrder::Program.working_set(&template) >= 120);
        assert!(best.working_set(&template) <= 20, "{}", best.working_set(&template));
    }

    /// In random circuits, each gate occurs once, after its operands.
    #[test]
    fn an_order_is_one() {
        let mut state = 7u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        for _ in 0..200 {
            let mut g = Graph::new(1 << 20);
            let mut bits: Vec<GraphBit> = g.leaves(5);
            for _ in 0..60 {
                let (a, b) = (
                    bits[random(bits.len())].flip(random(2) == 1),
                    bits[random(bits.len())].flip(random(2) == 1),
                );
                bits.push(if random(2) == 1 { g.xor(a, b) } else { g.and(a, b) });
            }
            let outputs: Vec<GraphBit> = (0..4).map(|_| bits[random(bits.len())]).collect();
            let template = g.finish(5, &outputs);
            let order = demand(&template);
            assert_eq!(order.len(), template.gates());
            let mut made = vec![false; template.gates()];
            for gate in order {
                let (NodeKind::Xor(a, b) | NodeKind::And(a, b)) = template.kind(gate) else {
                    panic!("a leaf")
                };
                for node in [a.node(), b.node()] {
                    assert!(node <= 5 || made[node as usize - 6]);
                }
                assert!(!std::mem::replace(&mut made[gate as usize], true));
            }
        }
    }
}
