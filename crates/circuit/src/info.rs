//! Facts about a program that are known without running it.

use std::collections::BTreeMap;

use brickwork_base::stop::looking;
use serde::Serialize;

use super::{Gate, Party, Port, Program, Recipient, Slot, Type, Wire};

/// Everything `brickwork info` shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Info {
    /// Name of the program.
    pub name: String,
    /// Digest in hexadecimal.
    pub digest: String,
    /// The garbler's inputs.
    pub garbler_inputs: Vec<PortInfo>,
    /// The evaluator's inputs.
    pub evaluator_inputs: Vec<PortInfo>,
    /// The outputs for all recipients.
    pub outputs: Vec<OutputInfo>,
    /// The kinds of component, in the program's order.
    pub components: Vec<ComponentInfo>,
    /// The number of wires for each pair of a source and a destination, sorted.
    pub solderings: Vec<SolderingInfo>,
    /// Slots of all components together.
    pub slots: u64,
    /// AND gates of all slots together.
    pub and_gates: u64,
    /// Gates of any kind of all slots together.
    pub gates: u64,
    /// Global wires: inputs and the outputs of all slots.
    pub wires: u64,
    /// Most AND gates on a path through the whole program.
    pub and_depth: u64,
    /// The wires of each bit of each input.
    pub input_map: Vec<WireRange>,
    /// The wires of each bit of each output.
    pub output_map: Vec<WireRange>,
}

/// An input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PortInfo {
    /// The name.
    pub name: String,
    /// The type, as [`Type`] displays it.
    #[serde(rename = "type")]
    pub ty: String,
    /// The number of bits.
    pub width: u64,
    /// The rules that its values must keep, as [`Rule`](crate::Rule) displays them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}

/// An output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutputInfo {
    /// Name, type and width.
    #[serde(flatten)]
    pub port: PortInfo,
    /// The party that learns it.
    pub to: &'static str,
}

/// A kind of component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComponentInfo {
    /// The name.
    pub name: String,
    /// Number of input wires.
    pub inputs: u64,
    /// Number of output wires.
    pub outputs: u64,
    /// AND gates of one slot.
    pub and_gates: u64,
    /// Gates of any kind of one slot.
    pub gates: u64,
    /// Wires of one slot: inputs and the outputs of all gates.
    pub wires: u64,
    /// Most AND gates on a path through one slot.
    pub and_depth: u64,
    /// Slots of the component in the program.
    pub slots: u64,
    /// The input ports.
    pub input_ports: Vec<PortInfo>,
    /// The output ports.
    pub output_ports: Vec<PortInfo>,
}

/// The wires that lead from one source to one destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SolderingInfo {
    /// The source.
    pub from: End,
    /// The destination.
    pub to: End,
    /// The number of wires.
    pub wires: u64,
}

/// The source or the destination of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum End {
    /// Slots of this component, by its place among the components.
    Component(u32),
    /// An input of this party, or an output to it: `garbler`, `evaluator`, `both` or `nobody`.
    Party(&'static str),
}

/// Bits of one integer that lie on consecutive wires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WireRange {
    /// The party that has the input, or learns the output.
    pub party: &'static str,
    /// The value: port, then fields and indices down to an integer. `[0..n]` are all elements of an array.
    pub value: String,
    /// Bits of the integer, or of each in an array.
    pub integer_bits: u32,
    /// The value's bit on the first wire, counted through all elements of an array.
    pub first_bit: u64,
    /// Global number of the first wire.
    pub first_wire: Wire,
    /// Number of wires, each with the next bit.
    pub wires: u64,
}

impl Program {
    /// Describes the program.
    pub fn info(&self) -> Info {
        let ports = |ports: &[Port]| ports.iter().map(PortInfo::new).collect::<Vec<_>>();
        let components =
            self.components().iter().zip(self.slots_by_component()).map(|(c, slots)| ComponentInfo {
                name: c.name.clone(),
                inputs: c.circuit.inputs() as u64,
                outputs: c.circuit.outputs().len() as u64,
                and_gates: c.circuit.and_gates() as u64,
                gates: c.circuit.gate_count() as u64,
                wires: c.circuit.wires() as u64,
                and_depth: c.circuit.and_depth().into(),
                slots: slots as u64,
                input_ports: ports(&c.inputs),
                output_ports: ports(&c.outputs),
            });
        let components: Vec<ComponentInfo> = components.collect();

        let mut input_map = Vec::new();
        let mut next = 0;
        for (party, name) in [(Party::Garbler, "garbler"), (Party::Evaluator, "evaluator")] {
            for port in self.input_ports(party) {
                leaves(&port.ty, &port.name, &mut |value, integer_bits, width| {
                    input_map.push(WireRange {
                        party: name,
                        value: value.into(),
                        integer_bits,
                        first_bit: 0,
                        first_wire: next,
                        wires: width,
                    });
                    next += width as Wire;
                });
            }
        }
        let mut output_map = Vec::new();
        for output in self.outputs() {
            let mut rest = &output.wires[..];
            leaves(&output.port.ty, &output.port.name, &mut |value, integer_bits, width| {
                let (own, others) = rest.split_at(width as usize);
                rest = others;
                let mut first_bit = 0;
                for run in own.chunk_by(|a, b| a + 1 == *b) {
                    let (party, wires) = (recipient(output.to), run.len() as u64);
                    output_map.push(WireRange {
                        party,
                        value: value.into(),
                        integer_bits,
                        first_bit,
                        first_wire: run[0],
                        wires,
                    });
                    first_bit += wires;
                }
            });
        }
        Info {
            name: self.name().into(),
            digest: self.digest().iter().map(|b| format!("{b:02x}")).collect(),
            garbler_inputs: ports(self.input_ports(Party::Garbler)),
            evaluator_inputs: ports(self.input_ports(Party::Evaluator)),
            solderings: self.solderings_by_kind(),
            outputs: self
                .outputs()
                .iter()
                .map(|o| OutputInfo { port: PortInfo::new(&o.port), to: recipient(o.to) })
                .collect(),
            slots: self.slot_count() as u64,
            and_gates: self.and_gates(),
            gates: components.iter().map(|c| c.gates * c.slots).sum(),
            wires: self.wires() as u64,
            and_depth: self.and_depth(&components),
            components,
            input_map,
            output_map,
        }
    }

    /// Returns the solderings by kind.
    fn solderings_by_kind(&self) -> Vec<SolderingInfo> {
        let garblers = self.input_width(Party::Garbler) as Wire;
        let inputs = garblers + self.input_width(Party::Evaluator) as Wire;
        // Returns the source of a wire, and the range of all wires with this source.
        let source = |wire: Wire| {
            if wire < garblers {
                return (End::Party("garbler"), 0..garblers);
            }
            if wire < inputs {
                return (End::Party("evaluator"), garblers..inputs);
            }
            let Slot { component, first_output, .. } = self.slot(self.producer(wire, self.slot_count()));
            let outputs = self.component(component).circuit.outputs().len() as Wire;
            (End::Component(component.0), first_output..first_output + outputs)
        };
        let mut joined = BTreeMap::<(End, End), u64>::new();
        let mut join = |wires: &[Wire], to: End| {
            let mut rest = wires;
            while let Some(&first) = rest.first() {
                // Neighbours mostly have the same source.
                let (from, known) = source(first);
                let same = rest.iter().take_while(|&wire| known.contains(wire)).count();
                *joined.entry((from, to)).or_default() += same as u64;
                rest = &rest[same..];
            }
        };
        for slot in looking(self.slots()) {
            join(slot.inputs, End::Component(slot.component.0));
        }
        self.outputs().iter().for_each(|output| join(&output.wires, End::Party(recipient(output.to))));
        joined.into_iter().map(|((from, to), wires)| SolderingInfo { from, to, wires }).collect()
    }

    /// Returns the largest number of AND gates on a path, if every output of a component depends on its
    /// deepest gate. This is an upper bound, which is exact for programs of one slot.
    fn and_depth(&self, components: &[ComponentInfo]) -> u64 {
        self.longest_path(|component| components[component.0 as usize].and_depth)
    }
}

impl super::Circuit {
    /// Returns the number of AND gates on the longest path from an input to an output.
    pub fn and_depth(&self) -> u32 {
        let mut depth = vec![0u32; self.inputs()];
        depth.reserve(self.gate_count());
        for gate in looking(self.gates()) {
            depth.push(match gate {
                Gate::Xor(a, b) => depth[a as usize].max(depth[b as usize]),
                Gate::And(a, b) => depth[a as usize].max(depth[b as usize]) + 1,
                Gate::Inv(a) => depth[a as usize],
            });
        }
        self.outputs().iter().map(|&w| depth[w as usize]).max().unwrap_or(0)
    }
}

impl PortInfo {
    fn new(port: &Port) -> Self {
        let rules = port.rules.iter().map(ToString::to_string).collect();
        PortInfo { name: port.name.clone(), ty: port.ty.to_string(), width: port.width(), rules }
    }
}

fn recipient(to: Recipient) -> &'static str {
    match to {
        Recipient::Garbler => "garbler",
        Recipient::Evaluator => "evaluator",
        Recipient::Both => "both",
        Recipient::Nobody => "nobody",
    }
}

/// Calls `visit` with the path, the bits of an integer and the number of wires of each integer or array of
/// integers, in the order of the wires.
fn leaves(ty: &Type, path: &str, visit: &mut impl FnMut(&str, u32, u64)) {
    match ty {
        Type::Uint(w) | Type::Int(w) | Type::Fixed { width: w, .. } => visit(path, *w, u64::from(*w)),
        Type::Array(element, n) => {
            let (mut inner, mut indices) = (&**element, format!("[0..{n}]"));
            while let Type::Array(element, n) = inner {
                indices += &format!("[0..{n}]");
                inner = element;
            }
            match inner {
                inner if inner.is_number() => {
                    visit(&format!("{path}{indices}"), inner.width() as u32, ty.width());
                }
                _ => (0..*n).for_each(|i| leaves(element, &format!("{path}[{i}]"), visit)),
            }
        }
        Type::Struct(fields) => {
            fields.iter().for_each(|(name, ty)| leaves(ty, &format!("{path}.{name}"), visit))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats;

    /// Every input of a slot, and every wire of an output, is soldered exactly once.
    #[test]
    fn solderings_are_all_wires_by_kind() {
        for name in ["millionaires.bwp", "aes-128.bwp", "cbc-mac-16.bwp"] {
            let path = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
            let program = formats::load(&std::fs::read(path).unwrap(), name).unwrap();
            let info = program.info();
            let wires = |of: &dyn Fn(&SolderingInfo) -> bool| -> u64 {
                info.solderings.iter().filter(|one| of(one)).map(|one| one.wires).sum()
            };
            for (id, component) in info.components.iter().enumerate() {
                let own = End::Component(id as u32);
                assert_eq!(wires(&|one| one.to == own), component.inputs * component.slots, "{name}");
            }
            let widths = |to: &str| -> u64 {
                info.outputs.iter().filter(|output| output.to == to).map(|output| output.port.width).sum()
            };
            for to in ["garbler", "evaluator", "both", "nobody"] {
                assert_eq!(wires(&|one| one.to == End::Party(to)), widths(to), "{name}: {to}");
            }
            // The pairs are sorted, and each occurs once.
            let pairs: Vec<_> = info.solderings.iter().map(|one| (one.from, one.to)).collect();
            assert!(pairs.windows(2).all(|pair| pair[0] < pair[1]), "{name}");
            let mut owners = vec![End::Party("garbler"); program.input_width(Party::Garbler)];
            owners.resize(owners.len() + program.input_width(Party::Evaluator), End::Party("evaluator"));
            for slot in program.slots() {
                let outputs = program.component(slot.component).circuit.outputs().len();
                owners.resize(owners.len() + outputs, End::Component(slot.component.0));
            }
            let mut counted = BTreeMap::<(End, End), u64>::new();
            for slot in program.slots() {
                for &wire in slot.inputs {
                    let pair = (owners[wire as usize], End::Component(slot.component.0));
                    *counted.entry(pair).or_default() += 1;
                }
            }
            for one in info.solderings.iter().filter(|one| matches!(one.to, End::Component(_))) {
                assert_eq!(counted.remove(&(one.from, one.to)), Some(one.wires), "{name}");
            }
            assert!(counted.is_empty(), "{name}: {counted:?}");
        }
    }
}
