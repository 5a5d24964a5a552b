//! Glue: the gates of `main` between its slots.

use std::collections::{BTreeSet, HashMap};

use brickwork_base::stop::looking;
use brickwork_circuit::Error;
use brickwork_circuit::{ComponentId, Port, Program, ProgramBuilder, Type};

use super::kinds::CallComponents;
use super::live::Liveness;
use super::wires::{GlobalWires, add};
use crate::generate::{ExecutionData, Trace};
use crate::graph::{Graph, GraphBit, NodeKind, Template};

/// A glue component that has no slot yet.
#[derive(Default)]
struct Group {
    level: u32,
    /// The gates, in order.
    gates: Vec<u32>,
    /// The results that are used outside the group. Inverted leaves belong to the group that makes the
    /// inversion.
    outputs: BTreeSet<GraphBit>,
}

/// All glue components, and the layers of the calls.
pub struct Glue {
    groups: Vec<Group>,
    /// The layer of each live call.
    levels: Vec<u32>,
}

/// Sets that can be joined, for the groups of gates.
struct Union(Vec<u32>);

impl Union {
    fn root(&mut self, mut x: u32) -> u32 {
        while self.0[x as usize] != x {
            let up = self.0[self.0[x as usize] as usize];
            self.0[x as usize] = up;
            x = up;
        }
        x
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = if a < b { (a, b) } else { (b, a) };
        self.0[high as usize] = low;
    }

    fn add(&mut self) -> u32 {
        self.0.push(self.0.len() as u32);
        self.0.len() as u32 - 1
    }
}

impl Glue {
    /// Groups the live gates.
    pub fn find(graph: &Graph, trace: &Trace, live: &Liveness, kinds: &CallComponents) -> Glue {
        let count = graph.len();
        let mut level = vec![0u32; count as usize];
        let mut union = Union((0..count).collect());
        let mut statements: HashMap<(u32, u32), u32> = HashMap::new();
        let mut together = |union: &mut Union, key: (u32, u32), item: u32| {
            let first = *statements.entry(key).or_insert(item);
            union.join(first, item);
        };
        let mut levels = Vec::with_capacity(live.calls.len());
        let mut calls = live.calls.iter().peekable();
        let mut mark = 0;
        for node in looking(1..count) {
            while trace.marks.get(mark).is_some_and(|m| *m <= node) {
                mark += 1;
            }
            // The loop has reached the first result of a call, so all results of the call get their layer.
            while let Some(call) = calls.next_if(|call| trace.calls[**call].first <= node) {
                let own = kinds.args(*call, trace).map(|b| level[b.node() as usize]).max().unwrap_or(0);
                levels.push(own);
                for result in trace.results(*call) {
                    level[result as usize] = own + 1;
                }
            }
            if !live.nodes[node as usize] {
                continue;
            }
            if let NodeKind::Xor(a, b) | NodeKind::And(a, b) = graph.kind(node) {
                let own = level[a.node() as usize].max(level[b.node() as usize]);
                level[node as usize] = own;
                for operand in [a, b].map(GraphBit::node) {
                    if level[operand as usize] == own && graph.kind(operand) != NodeKind::Leaf {
                        union.join(operand, node);
                    }
                }
                together(&mut union, (own, mark as u32), node);
            }
        }

        // The code below finds the wires from a group to slots, outputs and other groups.
        let leaf = |bit: GraphBit| bit.known().is_some() || graph.kind(bit.node()) == NodeKind::Leaf;
        let mut not: HashMap<u32, u32> = HashMap::new();
        let mut crossing: Vec<(u32, GraphBit)> = Vec::new();
        let mut cross = |union: &mut Union, bit: GraphBit, statement: u32| {
            if !leaf(bit) {
                crossing.push((bit.node(), bit));
            } else if bit.known().is_none() && bit.inverted() {
                let cell = *not.entry(bit.node()).or_insert_with(|| union.add());
                together(union, (level[bit.node() as usize], statement), cell);
                crossing.push((cell, bit));
            }
        };
        for &call in looking(&live.calls) {
            let statement = trace.marks.partition_point(|m| *m <= trace.calls[call].first) as u32;
            for bit in kinds.args(call, trace) {
                cross(&mut union, bit, statement);
            }
        }
        for bit in trace.outputs.iter().flatten() {
            cross(&mut union, *bit, u32::MAX);
        }
        for node in looking(1..count).filter(|n| live.nodes[*n as usize]) {
            if let NodeKind::Xor(a, b) | NodeKind::And(a, b) = graph.kind(node) {
                for operand in [a, b].map(|b| GraphBit::of(b.node())) {
                    if !leaf(operand) && level[operand.node() as usize] != level[node as usize] {
                        crossing.push((operand.node(), operand));
                    }
                }
            }
        }

        let mut numbers: HashMap<u32, usize> = HashMap::new();
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of = |union: &mut Union, groups: &mut Vec<Group>, item: u32, level: u32| {
            *numbers.entry(union.root(item)).or_insert_with(|| {
                groups.push(Group { level, ..Group::default() });
                groups.len() - 1
            })
        };
        for node in looking(1..count) {
            if live.nodes[node as usize] && graph.kind(node) != NodeKind::Leaf {
                let number = group_of(&mut union, &mut groups, node, level[node as usize]);
                groups[number].gates.push(node);
            }
        }
        for (item, bit) in looking(crossing) {
            let number = group_of(&mut union, &mut groups, item, level[bit.node() as usize]);
            groups[number].outputs.insert(bit);
        }
        Glue { groups, levels }
    }

    /// Emits glue and slots, layer by layer.
    #[allow(clippy::too_many_arguments)]
    pub fn emit(
        mut self,
        cx: &ExecutionData<'_>,
        graph: &Graph,
        trace: &Trace,
        live: &Liveness,
        kinds: &CallComponents,
        program: &mut ProgramBuilder,
        wires: &mut GlobalWires,
    ) -> Result<(), Error> {
        let mut calls: Vec<(u32, usize)> =
            self.levels.iter().copied().zip(live.calls.iter().copied()).collect();
        calls.sort();
        let mut calls = calls.into_iter().peekable();
        self.groups.sort_by_key(|g| (g.level, g.gates.first().copied().unwrap_or(u32::MAX)));
        let mut groups = self.groups.into_iter().peekable();

        let mut functions: HashMap<usize, ComponentId> = HashMap::new();
        let mut variants: HashMap<usize, ComponentId> = HashMap::new();
        let mut glue: HashMap<Template, ComponentId> = HashMap::new();
        let mut inputs = Vec::new();
        loop {
            let layer = match (groups.peek(), calls.peek()) {
                (Some(g), Some((level, _))) => g.level.min(*level),
                (Some(g), None) => g.level,
                (None, Some((level, _))) => *level,
                (None, None) => return Ok(()),
            };
            while let Some(group) = groups.next_if(|g| g.level == layer) {
                let (template, reads) = group.template(graph);
                let name = format!("glue{}", glue.len() + 1);
                let id = match glue.get(&template) {
                    Some(id) => *id,
                    None => {
                        let ports = vec![Port::new("in", Type::Uint(template.inputs))];
                        let id = add(
                            program,
                            &free(cx, name),
                            ports,
                            Type::Uint(template.outputs.len() as u32),
                            &template,
                        )?;
                        glue.insert(template, id);
                        id
                    }
                };
                inputs.clear();
                for node in reads {
                    inputs.push(wires.get(GraphBit::of(node))?);
                }
                let first = program.slot(id, &inputs)?;
                for (wire, bit) in (first..).zip(&group.outputs) {
                    wires.set(*bit, wire);
                }
            }
            while let Some((_, call)) = calls.next_if(|(level, _)| *level == layer) {
                let function = trace.calls[call].function as usize;
                let f = &cx.module.functions[function];
                let output = cx.module.types.port(&f.ret);
                let id = match kinds.variant(call) {
                    Some(number) => match variants.get(&number) {
                        Some(id) => *id,
                        None => {
                            let variant = &kinds.variants[number];
                            let id =
                                add(program, &variant.name, variant.ports(cx), output, &variant.template)?;
                            variants.insert(number, id);
                            id
                        }
                    },
                    None => match (functions.get(&function), &cx.templates[function]) {
                        (Some(id), _) => *id,
                        (None, None) => return Err(Error::Input(format!("`{}` has no circuit", f.name))),
                        (None, Some(template)) => {
                            let ports = f
                                .params
                                .iter()
                                .map(|(name, ty)| Port::new(&**name, cx.module.types.port(ty)))
                                .collect();
                            let id = add(program, &f.name, ports, output, template)?;
                            functions.insert(function, id);
                            id
                        }
                    },
                };
                inputs.clear();
                for bit in kinds.args(call, trace) {
                    inputs.push(wires.get(bit)?);
                }
                let first = program.slot(id, &inputs)?;
                for (wire, node) in (first..).zip(trace.results(call)) {
                    wires.plain[node as usize] = wire;
                }
            }
        }
    }
}

/// Returns the names of the components. Glue is numbered without gaps, because some glue components have been
/// merged with others.
pub fn numbered(cx: &ExecutionData<'_>, program: &Program) -> Vec<String> {
    let function = |name: &str| {
        cx.module.functions.iter().any(|f| *f.base_name() == *name.split('.').next().unwrap_or_default())
    };
    let mut number = 0;
    let names = program.components().iter().map(|c| {
        if !c.name.starts_with("glue") || function(&c.name) {
            return c.name.clone();
        }
        number += 1;
        free(cx, format!("glue{number}"))
    });
    names.collect()
}

/// Returns a name for a generated component that no function has.
fn free(cx: &ExecutionData<'_>, mut name: String) -> String {
    while cx.module.functions.iter().any(|f| *f.name == *name) {
        name.push('_');
    }
    name
}

impl Group {
    /// Returns the circuit of the group, and the nodes that its inputs read, in the order of first use. So
    /// equal groups have equal circuits.
    fn template(&self, graph: &Graph) -> (Template, Vec<u32>) {
        let mut inside: HashMap<u32, GraphBit> = self.gates.iter().map(|g| (*g, GraphBit::ZERO)).collect();
        let mut reads = Vec::new();
        let mut number: HashMap<u32, u32> = HashMap::new();
        let mut read = |node: u32| {
            if node != 0 && !inside.contains_key(&node) {
                number.entry(node).or_insert_with(|| {
                    reads.push(node);
                    reads.len() as u32
                });
            }
        };
        for gate in &self.gates {
            if let NodeKind::Xor(a, b) | NodeKind::And(a, b) = graph.kind(*gate) {
                read(a.node());
                read(b.node());
            }
        }
        self.outputs.iter().for_each(|b| read(b.node()));
        let mut own = Graph::new(usize::MAX);
        own.leaves(reads.len() as u32);
        let find = |inside: &HashMap<u32, GraphBit>, bit: GraphBit| {
            let plain = number.get(&bit.node()).map_or_else(|| inside[&bit.node()], |n| GraphBit::of(*n));
            plain.flip(bit.inverted())
        };
        for gate in &self.gates {
            let bit = match graph.kind(*gate) {
                NodeKind::Xor(a, b) => own.xor(find(&inside, a), find(&inside, b)),
                NodeKind::And(a, b) => own.and(find(&inside, a), find(&inside, b)),
                NodeKind::Leaf => GraphBit::ZERO,
            };
            inside.insert(*gate, bit);
        }
        let outputs: Vec<GraphBit> = self.outputs.iter().map(|b| find(&inside, *b)).collect();
        (own.finish(reads.len() as u32, &outputs), reads)
    }
}
