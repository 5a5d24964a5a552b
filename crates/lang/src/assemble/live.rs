//! Finds the parts of a program that its outputs need.

use brickwork_base::stop::looking;

use crate::generate::Trace;
use crate::graph::{Graph, NodeKind};

/// The calls and nodes on which the outputs depend.
pub struct Liveness {
    pub nodes: Vec<bool>,
    /// The numbers of the live calls, in order.
    pub calls: Vec<usize>,
}

impl Liveness {
    pub fn of(graph: &Graph, trace: &Trace) -> Liveness {
        let mut nodes = vec![false; graph.len() as usize];
        trace.outputs.iter().flatten().for_each(|b| nodes[b.node() as usize] = true);
        let mut calls = Vec::new();
        let mut end = graph.len();
        for (number, call) in looking(trace.calls.iter().enumerate().rev()) {
            Self::gates(graph, &mut nodes, call.first, end);
            end = call.first;
            let results = trace.results(number);
            if nodes[results.start as usize..results.end as usize].contains(&true) {
                calls.push(number);
                trace.args(number).iter().for_each(|b| nodes[b.node() as usize] = true);
            }
        }
        Self::gates(graph, &mut nodes, 1, end);
        calls.reverse();
        Liveness { nodes, calls }
    }

    fn gates(graph: &Graph, nodes: &mut [bool], from: u32, to: u32) {
        for node in looking((from..to).rev()) {
            if nodes[node as usize]
                && let NodeKind::Xor(a, b) | NodeKind::And(a, b) = graph.kind(node)
            {
                nodes[a.node() as usize] = true;
                nodes[b.node() as usize] = true;
            }
        }
    }
}
