//! `brickwork info`: what a program takes, gives and costs.

use std::fmt::Write;

use brickwork::circuit::{Component, Party, Port, Program, Recipient, Wire};
use serde_json::{Value, json};

use crate::arguments::ProgramArguments;
use crate::failure::Failure;
use crate::files;
use crate::report::{Report, plural, thousands};

/// Show a program's ports, components, AND gates and wire map.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    program: ProgramArguments,
}

pub fn run(arguments: &Arguments) -> Result<Report, Failure> {
    let program = files::program(&arguments.program)?;
    Ok(Report::new(as_json(&program), as_text(&program)))
}

/// Hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The input ports of both parties with their first wires.
fn inputs(program: &Program, party: Party) -> impl Iterator<Item = (&Port, u64)> {
    let mut next = match party {
        Party::Garbler => 0,
        Party::Evaluator => program.input_width(Party::Garbler) as u64,
    };
    program.input_ports(party).iter().map(move |port| {
        let first = next;
        next += port.width();
        (port, first)
    })
}

/// The wires as runs `first..=last`.
fn runs(wires: &[Wire]) -> Vec<(Wire, Wire)> {
    let mut runs: Vec<(Wire, Wire)> = Vec::new();
    for &wire in wires {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == wire => *last = wire,
            _ => runs.push((wire, wire)),
        }
    }
    runs
}

fn recipient(to: Recipient) -> &'static str {
    match to {
        Recipient::Garbler => "garbler",
        Recipient::Evaluator => "evaluator",
        Recipient::Both => "both",
    }
}

fn as_json(program: &Program) -> Value {
    let input = |(port, first): (&Port, u64)| json!({ "name": port.name, "type": port.ty.to_string(), "bits": port.width(), "wires": [[first, first + port.width() - 1]] });
    let of = |party| inputs(program, party).map(input).collect::<Vec<_>>();
    let outputs = program.outputs().iter().map(|o| {
        json!({ "name": o.port.name, "type": o.port.ty.to_string(), "bits": o.wires.len(), "to": recipient(o.to), "wires": runs(&o.wires) })
    });
    let port = |p: &Port| json!({ "name": p.name, "type": p.ty.to_string(), "bits": p.width() });
    let slots = program.slots_by_component();
    let components = program.components().iter().zip(&slots).map(|(c, slots)| {
        json!({
            "name": c.name,
            "slots": slots,
            "inputs": c.inputs.iter().map(port).collect::<Vec<_>>(),
            "outputs": c.outputs.iter().map(port).collect::<Vec<_>>(),
            "and_gates": c.circuit.and_gates(),
            "gates": c.circuit.gate_count(),
        })
    });
    json!({
        "name": program.name(),
        "digest": hex(&program.digest()),
        "inputs": { "garbler": of(Party::Garbler), "evaluator": of(Party::Evaluator) },
        "outputs": outputs.collect::<Vec<_>>(),
        "components": components.collect::<Vec<_>>(),
        "slots": program.slot_count(),
        "and_gates": program.and_gates(),
        "wires": program.wires(),
    })
}

/// Longest list that is shown in full.
const SHOWN: usize = 40;

/// The lines, or the first of them and how many more there are.
fn list(out: &mut String, lines: impl ExactSizeIterator<Item = String>) {
    let more = lines.len().saturating_sub(SHOWN);
    for line in lines.take(SHOWN) {
        out.push_str("  ");
        out.push_str(&line);
        out.push('\n');
    }
    if more > 0 {
        let _ = writeln!(out, "  and {} more; --json gives them all", thousands(more as u64));
    }
}

/// A type may be a struct of a million fields.
fn shortened(text: String) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn wire_text(runs: &[(Wire, Wire)]) -> String {
    let one = |&(first, last): &(Wire, Wire)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    let shown: Vec<_> = runs.iter().take(6).map(one).collect();
    format!("{}{}", shown.join(", "), if runs.len() > 6 { ", …" } else { "" })
}

fn as_text(program: &Program) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "{}: {} in {}, {} wires\ndigest {}",
        program.name(),
        plural(program.and_gates(), "AND gate"),
        plural(program.slot_count() as u64, "slot"),
        thousands(program.wires() as u64),
        hex(&program.digest())
    );
    for (party, title) in [(Party::Garbler, "garbler"), (Party::Evaluator, "evaluator")] {
        let _ = writeln!(out, "\ninput of the {title}{}", if program.input_ports(party).is_empty() { ": none" } else { "" });
        let lines: Vec<_> = inputs(program, party)
            .map(|(port, first)| {
                let wires = wire_text(&[(first as Wire, (first + port.width() - 1) as Wire)]);
                format!("{}: {}, wires {wires}", port.name, shortened(port.ty.to_string()))
            })
            .collect();
        list(&mut out, lines.into_iter());
    }
    let _ = writeln!(out, "\noutputs");
    list(
        &mut out,
        program.outputs().iter().map(|o| {
            let to = if o.to == Recipient::Both { "to both".into() } else { format!("to the {}", recipient(o.to)) };
            format!("{}: {} {to}, wires {}", o.port.name, shortened(o.port.ty.to_string()), wire_text(&runs(&o.wires)))
        }),
    );
    let _ = writeln!(out, "\ncomponents");
    let slots = program.slots_by_component();
    let describe = |(c, &slots): (&Component, &usize)| {
        format!(
            "{}: {}, each {} ({} in all), {} to {} wires",
            c.name,
            plural(slots as u64, "slot"),
            plural(c.circuit.and_gates() as u64, "AND gate"),
            plural(c.circuit.gate_count() as u64, "gate"),
            c.circuit.inputs(),
            c.circuit.outputs().len()
        )
    };
    list(&mut out, program.components().iter().zip(&slots).map(describe));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_join_neighbours() {
        assert_eq!(runs(&[]), []);
        assert_eq!(runs(&[3, 4, 5, 7, 6, 6]), [(3, 5), (7, 7), (6, 6), (6, 6)]);
        assert_eq!(wire_text(&[(3, 5), (7, 7)]), "3-5, 7");
    }
}
