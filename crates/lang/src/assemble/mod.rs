//! Makes a program from the trace of `main`: calls become slots, and the code between them becomes glue
//! components.
//!
//! A gate of `main` belongs to the first layer in which its operands are available, and a layer ends with the
//! slots that read its values. Gates of one layer that depend on each other, or come from one execution of a
//! statement, form a glue component. Equal glue components are one kind, so the rounds of a loop share it.

mod circuit;
mod glue;
mod kinds;
mod live;
mod merge;
mod order;
mod wires;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use brickwork_circuit::Error;
use brickwork_circuit::{Component, Port, Program, ProgramBuilder, Recipient, Type};

use crate::diagnostic::Sink;
use crate::generate::{ExecutionData, Trace};
use crate::graph::{Graph, GraphBit};
use circuit::circuit;
use glue::Glue;
use kinds::CallComponents;
use live::Liveness;
use wires::{GlobalWires, add};

/// Returns the program that computes the same as `main`.
///
/// # Errors
/// If it is larger than a program can be, or computes constants without any input.
pub fn assemble(
    cx: &ExecutionData<'_>,
    mut trace: Trace,
    name: &str,
    sink: &mut Sink,
) -> Result<Program, Error> {
    let module = cx.module;
    let mut program = ProgramBuilder::new(name, module.input_ports(1), module.input_ports(2))?;
    let graph = trace.graph.take().unwrap_or_else(|| Graph::new(0));

    let live = Liveness::of(&graph, &trace);
    let output_wires = if live.calls.is_empty() {
        flat(cx, graph, &trace, &mut program)?
    } else {
        let mut wires = GlobalWires {
            plain: vec![u32::MAX; graph.len() as usize],
            inverted: HashMap::new(),
            constants: [None; 2],
        };
        (1..=trace.inputs).for_each(|node| wires.plain[node as usize] = node - 1);
        let kinds = CallComponents::choose(cx, &trace, &live, sink);
        constants(&mut program, &mut wires, &trace, &live, &kinds)?;
        Glue::find(&graph, &trace, &live, &kinds).emit(
            cx,
            &graph,
            &trace,
            &live,
            &kinds,
            &mut program,
            &mut wires,
        )?;
        trace
            .outputs
            .iter()
            .map(|bits| bits.iter().map(|b| wires.get(*b)).collect())
            .collect::<Result<Vec<Vec<u32>>, Error>>()?
    };

    let recipient = |party| if party == 1 { Recipient::Garbler } else { Recipient::Evaluator };
    match (&module.output_ports()[..], &output_wires[..]) {
        // If both parties get the same value, it becomes one output for both.
        ([(_, a), (_, b)], [x, y]) if x == y && a.ty == b.ty => {
            program.output(Port::new("output", a.ty.clone()), Recipient::Both, x.clone())?;
        }
        (outputs, wires) => {
            for ((party, port), wires) in outputs.iter().zip(wires) {
                program.output(port.clone(), recipient(*party), wires.clone())?;
            }
        }
    }
    let kept = module
        .functions
        .iter()
        .zip(&cx.placements)
        .filter(|(_, cut)| cut.component)
        .map(|(f, _)| f.base_name().to_string());
    let kept: HashSet<String> = kept.chain([CONSTANTS.to_string()]).collect();
    let program = merge::merge(program.finish()?, &kept)?;
    let names = glue::numbered(cx, &program);
    merge::rename(program, &names)
}

/// The name of the component that makes constants.
const CONSTANTS: &str = "constants";

/// Returns the program if `main` has no calls: a single component, or no component if all outputs are inputs.
fn flat(
    cx: &ExecutionData<'_>,
    graph: Graph,
    trace: &Trace,
    program: &mut ProgramBuilder,
) -> Result<Vec<Vec<u32>>, Error> {
    let wiring = |b: &GraphBit| {
        (b.known().is_none() && b.node() <= trace.inputs && !b.inverted()).then(|| b.node() - 1)
    };
    let direct: Option<Vec<Vec<u32>>> =
        trace.outputs.iter().map(|bits| bits.iter().map(wiring).collect()).collect();
    if let Some(direct) = direct {
        return Ok(direct);
    }
    if trace.inputs == 0 {
        return Err(Error::Input("the program has no inputs: there is nothing to compute".into()));
    }
    let same = trace.outputs.len() == 2 && trace.outputs[0] == trace.outputs[1];
    let bits = if same { trace.outputs[0].clone() } else { trace.outputs.concat() };
    let template = graph.finish(trace.inputs, &bits);
    // Both parties may have ports of the same name.
    let named = |party: u32, port: Port| match port.name.ends_with(char::is_numeric) {
        true => Port::new(port.name, port.ty),
        false => Port::new(format!("{}.{party}", port.name), port.ty),
    };
    let mut outputs: Vec<Port> =
        cx.module.output_ports().into_iter().map(|(party, port)| named(party, port)).collect();
    if same {
        outputs.truncate(1);
    }
    let circuit = Arc::new(circuit(&template)?);
    drop(template);
    let of = |party| cx.module.input_ports(party).into_iter().map(move |port| named(party, port));
    let inputs = [1, 2].into_iter().flat_map(of).collect();
    let component = Component { name: "main".into(), inputs, outputs, circuit };
    let id = program.component(component)?;
    let inputs: Vec<u32> = (0..trace.inputs).collect();
    let first = program.slot(id, &inputs)?;
    let mut next = first;
    Ok(trace
        .outputs
        .iter()
        .map(|bits| {
            let start = if same { first } else { next };
            next = start + bits.len() as u32;
            (start..next).collect()
        })
        .collect())
}

/// Makes a component for the constants that slots and outputs read.
fn constants(
    program: &mut ProgramBuilder,
    wires: &mut GlobalWires,
    trace: &Trace,
    live: &Liveness,
    kinds: &CallComponents,
) -> Result<(), Error> {
    let mut needed = [false; 2];
    let args = live.calls.iter().flat_map(|call| kinds.args(*call, trace));
    for value in args.chain(trace.outputs.iter().flatten().copied()).filter_map(GraphBit::known) {
        needed[usize::from(value)] = true;
    }
    let values: Vec<bool> = [false, true].into_iter().filter(|v| needed[usize::from(*v)]).collect();
    if values.is_empty() {
        return Ok(());
    }
    let graph = {
        let mut graph = Graph::new(4);
        graph.leaf();
        graph
    };
    let bits: Vec<GraphBit> = values.iter().map(|v| GraphBit::constant(*v)).collect();
    let id = add(
        program,
        CONSTANTS,
        vec![Port::new("any", Type::Uint(1))],
        Type::Uint(values.len() as u32),
        &graph.finish(1, &bits),
    )?;
    // The input can be any wire, because the result does not depend on it.
    let first = program.slot(id, &[0])?;
    for (wire, value) in (first..).zip(values) {
        wires.constants[usize::from(value)] = Some(wire);
    }
    Ok(())
}
