//! `brickwork info`: the inputs, outputs and size of a program.

use std::fmt::Write;

use brickwork::circuit::info::{ComponentInfo, Info, OutputInfo, PortInfo, WireRange};

use crate::arguments::ProgramArguments;
use crate::failure::Failure;
use crate::programs;
use crate::report::{Report, plural, thousands};

/// Show a program's ports, components and AND gates, and on request its wires
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    pub program: ProgramArguments,
    /// Also show which wire is which bit of which input and output
    #[arg(long)]
    wires: bool,
}

pub fn run(arguments: &Arguments) -> Result<Report, Failure> {
    let info = programs::program(&arguments.program)?.given().info();
    let human = as_text(&info, arguments.wires);
    Ok(Report::new(json(info)?, human))
}

/// Describes the program for machines.
pub fn json(info: Info) -> Result<serde_json::Value, Failure> {
    serde_json::to_value(info).map_err(|e| Failure::fault(format!("the description has no JSON form: {e}")))
}

/// The number of lines of a list that are shown.
const SHOWN: usize = 40;

/// Formats a title and its lines; of a long list, the first lines and the number of the others.
fn list<T>(out: &mut String, title: &str, items: &[T], line: impl Fn(&T) -> String) {
    out.push_str(&format!("\n{title}{}\n", if items.is_empty() { ": none" } else { "" }));
    for item in items.iter().take(SHOWN) {
        out.push_str(&format!("  {}\n", line(item)));
    }
    if items.len() > SHOWN {
        out.push_str(&format!(
            "  and {} more; --json gives them all\n",
            thousands((items.len() - SHOWN) as u64)
        ));
    }
}

fn to(recipient: &str) -> String {
    if recipient == "both" { "to both".into() } else { format!("to the {recipient}") }
}

fn as_text(info: &Info, wires: bool) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{}: {} in {}, depth {}; {} in all, {}\ndigest {}",
        info.name,
        plural(info.and_gates, "AND gate"),
        plural(info.slots, "slot"),
        thousands(info.and_depth),
        plural(info.gates, "gate"),
        plural(info.wires, "wire"),
        info.digest
    );
    let port = |p: &PortInfo| {
        let rules: String = p.rules.iter().map(|rule| format!("; {rule}")).collect();
        format!("{}: {}, {}{rules}", p.name, p.ty, plural(p.width, "bit"))
    };
    list(&mut out, "input of the garbler", &info.garbler_inputs, port);
    list(&mut out, "input of the evaluator", &info.evaluator_inputs, port);
    list(&mut out, "outputs", &info.outputs, |o: &OutputInfo| format!("{} {}", port(&o.port), to(o.to)));
    list(&mut out, "components", &info.components, |c: &ComponentInfo| {
        let (slots, and_gates, gates) =
            (plural(c.slots, "slot"), plural(c.and_gates, "AND gate"), plural(c.gates, "gate"));
        let depth = thousands(c.and_depth);
        format!(
            "{}: {slots}, each {and_gates} ({gates} in all, depth {depth}), {} to {}",
            c.name,
            plural(c.inputs, "wire"),
            c.outputs
        )
    });
    if !wires {
        return out + "\n--wires shows which wire is which bit.\n";
    }
    let range = |r: &WireRange| {
        let last = u64::from(r.first_wire) + r.wires - 1;
        let wires =
            if r.wires == 1 { format!("wire {last}") } else { format!("wires {}-{last}", r.first_wire) };
        let bits = if r.first_bit == 0 { String::new() } else { format!(" from bit {}", r.first_bit) };
        (wires, bits)
    };
    list(&mut out, "input wires", &info.input_map, |r| {
        let (wires, bits) = range(r);
        format!("{wires}: {}'s {}{bits}", r.party, r.value)
    });
    list(&mut out, "output wires", &info.output_map, |r| {
        let (wires, bits) = range(r);
        format!("{wires}: {}{bits} {}", r.value, to(r.party))
    });
    out
}
