//! A circuit under construction: XOR and AND of possibly inverted bits. Gates that can be folded at no cost
//! are folded.
//!
//! A node has only eight bytes, because a 4096-bit product has tens of millions of nodes. Equal nodes are
//! shared if a bounded table still contains them.

use brickwork_base::stop::{look, looking};

use crate::multiples::Chains;

/// A bit: a constant, or the output of a node, possibly inverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GraphBit(u32);

impl GraphBit {
    /// False.
    pub const ZERO: GraphBit = GraphBit(0);
    /// True.
    pub const ONE: GraphBit = GraphBit(1);

    /// Makes a constant.
    pub fn constant(value: bool) -> GraphBit {
        GraphBit(value.into())
    }

    /// Returns the value, if the bit is a constant.
    pub fn known(self) -> Option<bool> {
        (self.0 < 2).then_some(self.0 == 1)
    }

    /// Returns the node of the bit; 0 for constants.
    pub fn node(self) -> u32 {
        self.0 >> 1
    }

    /// Returns whether the node's output is inverted, or the value of a constant.
    pub fn inverted(self) -> bool {
        self.0 & 1 == 1
    }

    /// Makes the bit that is the output of a node.
    pub fn of(node: u32) -> GraphBit {
        GraphBit(node << 1)
    }

    /// Inverts the bit if `flip` is true.
    pub fn flip(self, flip: bool) -> GraphBit {
        GraphBit(self.0 ^ u32::from(flip))
    }

    fn plain(self) -> GraphBit {
        GraphBit(self.0 & !1)
    }
}

impl std::ops::Not for GraphBit {
    type Output = GraphBit;
    fn not(self) -> GraphBit {
        GraphBit(self.0 ^ 1)
    }
}

/// Two operands. The order of the operands tells the kind: an AND has the older operand first, and an XOR has
/// the newer operand first. A leaf has the same operand twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Node {
    a: GraphBit,
    b: GraphBit,
}

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// An input.
    Leaf,
    /// Exclusive or; the operands are not inverted.
    Xor(GraphBit, GraphBit),
    /// AND.
    And(GraphBit, GraphBit),
}

/// The largest size of the table of known nodes: 64 MiB. The table finds all nodes if there are at most eight
/// million. In larger circuits it finds the recent nodes.
const MAX_TABLE: usize = 1 << 24;
/// The number of table positions in which a node can be.
const PROBES: usize = 8;

/// The number of new nodes between two checks for a stop.
const NODES_BETWEEN_LOOKS: usize = 1 << 10;

/// A circuit under construction.
pub struct Graph {
    nodes: Vec<Node>,
    table: Vec<u32>,
    /// The largest number of nodes.
    limit: usize,
    full: bool,
    /// The shortest known chains for multiplication by constants.
    pub chains: Chains,
}

impl Graph {
    /// Makes an empty circuit that may grow to `limit` nodes.
    pub fn new(limit: usize) -> Graph {
        let nothing = Node { a: GraphBit::ZERO, b: GraphBit::ZERO };
        Graph {
            nodes: vec![nothing],
            table: vec![0; 1 << 5],
            limit: limit.min((1 << 31) - 2),
            full: false,
            chains: Chains::default(),
        }
    }

    /// Returns the number of nodes including the constant, so nodes are numbered `1..len()`.
    pub fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Returns whether the limit was exceeded. From then on all results are constants.
    pub fn full(&self) -> bool {
        self.full
    }

    /// Returns whether this many more nodes fit. If they do not, the circuit counts as full.
    pub fn reserve(&mut self, nodes: u64) -> bool {
        if nodes > (self.limit - self.nodes.len().min(self.limit)) as u64 {
            self.full = true;
        }
        !self.full
    }

    /// Returns the kind of node `index`.
    pub fn kind(&self, index: u32) -> NodeKind {
        let Node { a, b } = self.nodes[index as usize];
        match a.cmp(&b) {
            std::cmp::Ordering::Equal => NodeKind::Leaf,
            std::cmp::Ordering::Less => NodeKind::And(a, b),
            std::cmp::Ordering::Greater => NodeKind::Xor(a, b),
        }
    }

    fn push(&mut self, node: Node) -> GraphBit {
        if self.nodes.len() >= self.limit {
            self.full = true;
            return GraphBit::ZERO;
        }
        self.nodes.push(node);
        if self.nodes.len().is_multiple_of(NODES_BETWEEN_LOOKS) {
            look();
        }
        GraphBit::of(self.nodes.len() as u32 - 1)
    }

    /// Returns a new input.
    pub fn leaf(&mut self) -> GraphBit {
        self.push(Node { a: GraphBit::ZERO, b: GraphBit::ZERO })
    }

    /// Makes new inputs.
    pub fn leaves(&mut self, count: u32) -> Vec<GraphBit> {
        (0..count).map(|_| self.leaf()).collect()
    }

    /// Returns the node of this kind with these operands, or the position for it in the table. For an AND,
    /// the operands' signs are ignored.
    fn find(&self, hi: GraphBit, lo: GraphBit, and: bool) -> Result<u32, usize> {
        let key = (u64::from(hi.0) << 32) | u64::from(lo.0 | u32::from(and));
        let start = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        let mask = self.table.len() - 1;
        for probe in 0..PROBES {
            let place = (start + probe) & mask;
            let index = self.table[place];
            if index == 0 {
                return Err(place);
            }
            let Node { a, b } = self.nodes[index as usize];
            let same = if and { a < b && a.plain() == lo && b.plain() == hi } else { a == hi && b == lo };
            if same {
                return Ok(index);
            }
        }
        // All positions are in use, so the new node replaces one of them.
        Err((start + (start >> 8) % PROBES) & mask)
    }

    /// Makes the table larger as the circuit grows.
    fn grow(&mut self) {
        if 2 * self.nodes.len() < self.table.len() || self.table.len() >= MAX_TABLE {
            return;
        }
        let size = self.table.len() * 4;
        let old = std::mem::replace(&mut self.table, vec![0; size]);
        for index in looking(old.into_iter().filter(|i| *i != 0)) {
            let free = match self.kind(index) {
                NodeKind::Leaf => continue,
                NodeKind::Xor(hi, lo) => self.find(hi, lo, false),
                NodeKind::And(lo, hi) => self.find(hi.plain(), lo.plain(), true),
            };
            if let Err(place) = free {
                self.table[place] = index;
            }
        }
    }

    /// Adds an XOR.
    pub fn xor(&mut self, a: GraphBit, b: GraphBit) -> GraphBit {
        let flip = a.inverted() ^ b.inverted();
        let (hi, lo) = if a > b { (a.plain(), b.plain()) } else { (b.plain(), a.plain()) };
        if hi == lo {
            return GraphBit::constant(flip);
        }
        if lo == GraphBit::ZERO {
            return hi.flip(flip);
        }
        // (lo ^ y) ^ lo = y
        if let NodeKind::Xor(x, y) = self.kind(hi.node()) {
            if x == lo {
                return y.flip(flip);
            }
            if y == lo {
                return x.flip(flip);
            }
        }
        let place = match self.find(hi, lo, false) {
            Ok(found) => return GraphBit::of(found).flip(flip),
            Err(place) => place,
        };
        let out = self.push(Node { a: hi, b: lo });
        if out == GraphBit::ZERO {
            return out;
        }
        self.table[place] = out.node();
        self.grow();
        out.flip(flip)
    }

    /// Adds an AND.
    pub fn and(&mut self, a: GraphBit, b: GraphBit) -> GraphBit {
        let (hi, lo) = if a > b { (a, b) } else { (b, a) };
        if lo.node() == hi.node() {
            return if lo == hi { hi } else { GraphBit::ZERO };
        }
        if let Some(value) = lo.known() {
            return if value { hi } else { GraphBit::ZERO };
        }
        let p = lo.plain();
        match self.kind(hi.node()) {
            // p & (p ^ y) = p & !y
            NodeKind::Xor(x, y) if x == p || y == p => {
                // Here hi = lo ^ (other ^ lo's sign ^ hi's sign).
                let other = if x == p { y } else { x };
                return self.and(lo, !other.flip(lo.inverted() ^ hi.inverted()));
            }
            // p & (p & z) = p & z and p & !(p & z) = p & !z. With the other sign of p, the result is false or
            // p.
            NodeKind::And(x, z) if x.plain() == p || z.plain() == p => {
                let (same, other) = if x.plain() == p { (x == lo, z) } else { (z == lo, x) };
                return match (hi.inverted(), same) {
                    (false, true) => hi,
                    (false, false) => GraphBit::ZERO,
                    (true, true) => self.and(lo, !other),
                    (true, false) => lo,
                };
            }
            _ => {}
        }
        // One node is used for all four signs of the same two operands, because the other results differ from
        // it by XORs.
        let place = match self.find(hi.plain(), p, true) {
            Err(place) => place,
            Ok(found) => {
                let (out, Node { a: l, b: h }) = (GraphBit::of(found), self.nodes[found as usize]);
                return match (l == lo, h == hi) {
                    (true, true) => out,
                    (false, true) => self.xor(hi, out),
                    (true, false) => self.xor(lo, out),
                    (false, false) => {
                        // With the stored signs l and h: !l & !h = 1 ^ l ^ h ^ (l & h).
                        let sum = self.xor(l, h);
                        !self.xor(sum, out)
                    }
                };
            }
        };
        let out = self.push(Node { a: lo, b: hi });
        if out == GraphBit::ZERO {
            return out;
        }
        self.table[place] = out.node();
        self.grow();
        out
    }

    /// Adds an OR.
    pub fn or(&mut self, a: GraphBit, b: GraphBit) -> GraphBit {
        !self.and(!a, !b)
    }

    /// Adds `if condition { then } else { otherwise }`, which costs one AND.
    pub fn mux(&mut self, condition: GraphBit, then: GraphBit, otherwise: GraphBit) -> GraphBit {
        let difference = self.xor(then, otherwise);
        let masked = self.and(condition, difference);
        self.xor(masked, otherwise)
    }

    /// Appends a finished circuit on these inputs.
    pub fn append(&mut self, template: &Template, inputs: &[GraphBit]) -> Vec<GraphBit> {
        let mut bits = Vec::with_capacity(template.nodes.len() + inputs.len() + 1);
        bits.push(GraphBit::ZERO);
        bits.extend_from_slice(inputs);
        for node in looking(&template.nodes) {
            let (a, b) = (
                bits[node.a.node() as usize].flip(node.a.inverted()),
                bits[node.b.node() as usize].flip(node.b.inverted()),
            );
            bits.push(if node.a > node.b { self.xor(a, b) } else { self.and(a, b) });
        }
        template.outputs.iter().map(|o| bits[o.node() as usize].flip(o.inverted())).collect()
    }

    /// Returns the finished circuit. Nodes `1..=inputs` must be its inputs, and all later nodes gates. Nodes
    /// that no output needs are dropped.
    pub fn finish(mut self, inputs: u32, outputs: &[GraphBit]) -> Template {
        self.table = Vec::new();
        let mut live = vec![false; self.nodes.len()];
        for o in outputs {
            live[o.node() as usize] = true;
        }
        for index in looking((inputs as usize + 1..self.nodes.len()).rev()) {
            if live[index] {
                let Node { a, b } = self.nodes[index];
                live[a.node() as usize] = true;
                live[b.node() as usize] = true;
            }
        }
        let mut renamed: Vec<u32> = (0..=inputs).collect();
        renamed.reserve_exact(self.nodes.len() - renamed.len());
        let mut next = inputs + 1;
        let rename =
            |renamed: &[u32], bit: GraphBit| GraphBit::of(renamed[bit.node() as usize]).flip(bit.inverted());
        let mut write = 0;
        for (index, live) in looking(live.into_iter().enumerate().skip(inputs as usize + 1)) {
            renamed.push(next);
            if live {
                let Node { a, b } = self.nodes[index];
                self.nodes[write] = Node { a: rename(&renamed, a), b: rename(&renamed, b) };
                write += 1;
                next += 1;
            }
        }
        self.nodes.truncate(write);
        self.nodes.shrink_to_fit();
        let outputs = outputs.iter().map(|o| rename(&renamed, *o)).collect();
        Template { inputs, nodes: self.nodes, outputs }
    }
}

/// A finished circuit. Node 0 is the constant, nodes `1..=inputs` are the inputs, and the gates follow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Template {
    /// Number of inputs.
    pub inputs: u32,
    nodes: Vec<Node>,
    /// The outputs.
    pub outputs: Vec<GraphBit>,
}

impl Template {
    /// Returns the number of gates.
    pub fn gates(&self) -> usize {
        self.nodes.len()
    }

    /// Returns gate `k`, which is node `inputs + 1 + k`.
    pub fn kind(&self, gate: u32) -> NodeKind {
        let Node { a, b } = self.nodes[gate as usize];
        if a > b { NodeKind::Xor(a, b) } else { NodeKind::And(a, b) }
    }

    /// Returns the number of AND gates.
    pub fn ands(&self) -> usize {
        self.nodes.iter().filter(|n| n.a < n.b).count()
    }
}

#[cfg(test)]
impl Template {
    pub(crate) fn evaluate(&self, inputs: &[bool]) -> Vec<bool> {
        let mut bits = vec![false];
        bits.extend_from_slice(inputs);
        for kind in (0..self.gates() as u32).map(|gate| self.kind(gate)) {
            let get = |b: GraphBit| bits[b.node() as usize] ^ b.inverted();
            bits.push(match kind {
                NodeKind::Xor(a, b) => get(a) ^ get(b),
                NodeKind::And(a, b) => get(a) & get(b),
                NodeKind::Leaf => unreachable!("the gates of a template contain no leaf"),
            });
        }
        self.outputs.iter().map(|o| bits[o.node() as usize] ^ o.inverted()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random expressions of few leaves use all folding rules, and the result must not change.
    #[test]
    fn folding_keeps_the_function() {
        let mut state = 1u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        for _ in 0..2000 {
            let mut graph = Graph::new(1 << 20);
            // Each bit has its truth table over three leaves beside it.
            let mut bits = vec![(GraphBit::ZERO, 0u8)];
            let leaves = graph.leaves(3);
            bits.extend(leaves.into_iter().zip([0xf0, 0xcc, 0xaa]));
            for _ in 0..12 {
                let ((a, ta), (b, tb)) = (bits[random(bits.len())], bits[random(bits.len())]);
                let (fa, fb) = (random(2) == 1, random(2) == 1);
                let (a, ta, b, tb) =
                    (a.flip(fa), if fa { !ta } else { ta }, b.flip(fb), if fb { !tb } else { tb });
                bits.push(if random(2) == 1 {
                    (graph.xor(a, b), ta ^ tb)
                } else {
                    (graph.and(a, b), ta & tb)
                });
            }
            let outputs: Vec<GraphBit> = bits.iter().map(|(b, _)| *b).collect();
            let template = graph.finish(3, &outputs);
            assert!(template.ands() <= 12, "twelve operations never need more than twelve ANDs");
            for row in 0..8u8 {
                let got = template.evaluate(&[row & 4 != 0, row & 2 != 0, row & 1 != 0]);
                let want: Vec<bool> = bits.iter().map(|(_, t)| t >> row & 1 == 1).collect();
                assert_eq!(got, want);
            }
        }
    }

    #[test]
    fn one_and_serves_all_signs() {
        let mut graph = Graph::new(100);
        let (a, b) = (graph.leaf(), graph.leaf());
        let outputs = [graph.and(a, b), graph.and(!a, b), graph.and(a, !b), graph.and(!a, !b)];
        assert_eq!(graph.finish(2, &outputs).ands(), 1);
    }

    #[test]
    fn a_full_graph_says_so() {
        let mut graph = Graph::new(4);
        let (a, b) = (graph.leaf(), graph.leaf());
        graph.and(a, b);
        assert!(!graph.full());
        graph.xor(a, b);
        assert!(graph.full());
    }
}
