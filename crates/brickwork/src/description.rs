//! Descriptions of a program: its inputs, outputs and size.

use std::fmt;

use brickwork_base::Party;
use brickwork_circuit::info::{ComponentInfo, Info, OutputInfo, PortInfo, WireRange};
use brickwork_circuit::{Recipient, Type};
use brickwork_report::words::{plural, thousands};
use serde::Serialize;

use crate::cut::Cut;
use crate::engine::hex;
use crate::failure::Error;
use crate::program::{Program, gates_within};
use crate::resources;

/// A description of a program in one of its cuts: its ports, components, slots and gates.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Description {
    /// The facts.
    pub info: Info,
    /// True if the text shows which wire is which bit.
    #[serde(skip)]
    pub wires: bool,
}

/// The inputs and outputs of a program, with their types.
#[derive(Clone, Debug, Serialize)]
pub struct Ports<'p> {
    digest: String,
    and_gates: u64,
    inputs: Vec<TypedPort<'p, Party>>,
    outputs: Vec<TypedPort<'p, Recipient>>,
}

/// An input of a party, or an output to its recipients.
#[derive(Clone, Debug, Serialize)]
struct TypedPort<'p, P> {
    name: &'p str,
    party: P,
    #[serde(rename = "type")]
    ty: &'p Type,
}

impl Program {
    /// Describes the program in this cut.
    ///
    /// # Errors
    /// An error of input if the program cannot be cut like this.
    #[doc(hidden)]
    pub fn describe(&self, cut: &Cut) -> Result<Description, Error> {
        let info = match cut {
            Cut::Given => self.given().info(),
            cut => self.cut(cut, gates_within(resources::available_bytes()))?.info(),
        };
        Ok(Description { info, wires: false })
    }

    /// Returns the inputs that the parties give, and the outputs, with their types.
    #[doc(hidden)]
    pub fn ports(&self) -> Ports<'_> {
        let given = self.given();
        let inputs = [Party::Garbler, Party::Evaluator].into_iter().flat_map(|party| {
            let ports = given.input_ports(party).iter().filter(|port| port.drawn.is_none());
            ports.map(move |port| TypedPort { name: &port.name, party, ty: &port.ty })
        });
        let outputs = given.outputs().iter().map(|output| TypedPort {
            name: &output.port.name,
            party: output.to,
            ty: &output.port.ty,
        });
        Ports {
            digest: hex(&given.digest()),
            and_gates: given.and_gates(),
            inputs: inputs.collect(),
            outputs: outputs.collect(),
        }
    }
}

/// The number of lines of a list that are shown.
const SHOWN: usize = 40;

/// Writes a title and lines. If the list is long, writes its first lines and the number of the others.
fn list<T>(f: &mut fmt::Formatter<'_>, title: &str, items: &[T], line: impl Fn(&T) -> String) -> fmt::Result {
    writeln!(f, "\n{title}{}", if items.is_empty() { ": none" } else { "" })?;
    items.iter().take(SHOWN).try_for_each(|item| writeln!(f, "  {}", line(item)))?;
    match items.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(f, "  and {} more; --json gives them all", thousands(more as u64)),
    }
}

fn to(recipient: &str) -> String {
    if recipient == "both" { "to both".into() } else { format!("to the {recipient}") }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = &self.info;
        writeln!(
            f,
            "{}: {} in {}, depth {}; {} in all, {}\ndigest {}",
            info.name,
            plural(info.and_gates, "AND gate"),
            plural(info.slots, "slot"),
            thousands(info.and_depth),
            plural(info.gates, "gate"),
            plural(info.wires, "wire"),
            info.digest
        )?;
        let port = |p: &PortInfo| {
            let rules: String = p.rules.iter().map(|rule| format!("; {rule}")).collect();
            format!("{}: {}, {}{rules}", p.name, p.ty, plural(p.width, "bit"))
        };
        list(f, "input of the garbler", &info.garbler_inputs, port)?;
        list(f, "input of the evaluator", &info.evaluator_inputs, port)?;
        list(f, "outputs", &info.outputs, |o: &OutputInfo| format!("{} {}", port(&o.port), to(o.to)))?;
        list(f, "components", &info.components, |c: &ComponentInfo| {
            let (slots, and_gates, gates) =
                (plural(c.slots, "slot"), plural(c.and_gates, "AND gate"), plural(c.gates, "gate"));
            let depth = thousands(c.and_depth);
            format!(
                "{}: {slots}, each {and_gates} ({gates} in all, depth {depth}), {} to {}",
                c.name,
                plural(c.inputs, "wire"),
                c.outputs
            )
        })?;
        if !self.wires {
            return f.write_str("\n--wires shows which wire is which bit.\n");
        }
        let range = |r: &WireRange| {
            let last = u64::from(r.first_wire) + r.wires - 1;
            let wires =
                if r.wires == 1 { format!("wire {last}") } else { format!("wires {}-{last}", r.first_wire) };
            let bits = if r.first_bit == 0 { String::new() } else { format!(" from bit {}", r.first_bit) };
            (wires, bits)
        };
        list(f, "input wires", &info.input_map, |r| {
            let (wires, bits) = range(r);
            format!("{wires}: {}'s {}{bits}", r.party, r.value)
        })?;
        list(f, "output wires", &info.output_map, |r| {
            let (wires, bits) = range(r);
            format!("{wires}: {}{bits} {}", r.value, to(r.party))
        })
    }
}
