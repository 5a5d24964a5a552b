//! Makes circuits: programs are executed on bits that are constants or wires.
//!
//! A function becomes one circuit with secret parameters. A call inside a function appends the circuit of the
//! called function. If some argument bits are known, its body is executed again, so that they fold. `main` is
//! executed once: its calls become slots, and everything else becomes glue.

mod context;
mod exec;
mod expr;
mod loops;
mod trace;

use std::collections::HashSet;

pub(crate) use context::ExecutionData;
pub use context::Placement;
pub use trace::Trace;

use crate::CompileOptions;
use crate::arith::shares::{open, split};
use crate::ast::FunctionPragma;
use crate::diagnostic::{Diagnostic, Sink};
use crate::graph::{Graph, GraphBit, Template};
use crate::ir::Module;
use context::{builtin_name, is_builtin};
use exec::{Exec, Frame};

/// Makes the circuits of all functions.
pub fn templates<'m>(module: &'m Module, options: &'m CompileOptions, sink: &mut Sink) -> ExecutionData<'m> {
    let placements = placements(module, options, sink);
    let count = module.functions.len();
    let mut cx = ExecutionData { module, options, templates: (0..count).map(|_| None).collect(), placements };
    for function in callees_first(module) {
        if function == module.main {
            continue;
        }
        let f = &module.functions[function];
        let ready = f.calls.iter().all(|(callee, _)| cx.templates[*callee].is_some());
        let builtin = builtin(module, function, options, sink);
        if ready {
            let generic = generic(&cx, function, sink);
            cx.templates[function] = match builtin {
                Some(template) if generic.is_some() => Some(template),
                _ => generic,
            };
        }
    }
    cx
}

fn generic(cx: &ExecutionData<'_>, function: usize, sink: &mut Sink) -> Option<Template> {
    let f = &cx.module.functions[function];
    let mut exec = Exec::new(cx, sink);
    let mut inputs = 0;
    let args = f
        .params
        .iter()
        .map(|(_, ty)| {
            let width = cx.module.types.width(ty);
            inputs += width;
            exec.graph.leaves(width)
        })
        .collect();
    let result = exec.call_body(function, args, false).ok()?;
    Some(exec.graph.finish(inputs, &result))
}

/// Returns the circuit of a function for which some parameter bits are known. Its inputs are the other bits.
pub fn specialise(
    cx: &ExecutionData<'_>,
    function: usize,
    pattern: &[Option<bool>],
    sink: &mut Sink,
) -> Option<Template> {
    let f = &cx.module.functions[function];
    let mut exec = Exec::new(cx, sink);
    exec.parameters_known = true;
    let bits: Vec<GraphBit> =
        pattern.iter().map(|b| b.map_or_else(|| exec.graph.leaf(), GraphBit::constant)).collect();
    let inputs = exec.graph.len() - 1;
    let result = if is_builtin(cx.module, function, cx.options) {
        exec.graph.append(cx.templates[function].as_ref()?, &bits)
    } else {
        let mut rest = &bits[..];
        let args = f.params.iter().map(|(_, ty)| {
            let (own, others) = rest.split_at(cx.module.types.width(ty) as usize);
            rest = others;
            own.to_vec()
        });
        let args = args.collect();
        exec.call_body(function, args, false).ok()?
    };
    Some(exec.graph.finish(inputs, &result))
}

/// Executes `main`.
pub fn main(cx: &ExecutionData<'_>, sink: &mut Sink) -> Option<Trace> {
    let main = &cx.module.functions[cx.module.main];
    let mut exec = Exec::new(cx, sink);
    let mut frame = Frame::new(main, 0, true);
    frame.is_main = true;
    // The wires of each party are first its input, and then its share or its mask of each shared value.
    let types = &cx.module.types;
    let mut shares = [const { Vec::new() }; 2];
    for (party, shares) in (1..).zip(&mut shares) {
        for input in cx.module.inputs.iter().filter(|input| input.party == party) {
            frame.vars[input.var as usize].bits = exec.graph.leaves(types.width(&input.ty));
        }
        let own = cx.module.shared.iter().map(|shared| exec.graph.leaves(types.width(&shared.ty)));
        shares.extend(own);
    }
    exec.trace.inputs = exec.graph.len() - 1;
    for (at, shared) in cx.module.shared.iter().enumerate() {
        let (a, b) = (&shares[0][at], &shares[1][at]);
        frame.vars[shared.var as usize].bits = match shared.input {
            true => open(&mut exec.graph, &shared.sharing, a, b),
            false => vec![GraphBit::ZERO; a.len()],
        };
    }
    for output in &cx.module.outputs {
        frame.vars[output.var as usize].bits =
            vec![GraphBit::ZERO; cx.module.types.width(&output.ty) as usize];
    }
    exec.statements(&mut frame, &main.body).ok()?;
    exec.mark(&frame);
    let mut outputs = Vec::new();
    for party in 1..3 {
        let own = cx.module.outputs.iter().filter(|output| output.party == party);
        outputs.extend(own.map(|output| std::mem::take(&mut frame.vars[output.var as usize].bits)));
        for (at, shared) in cx.module.shared.iter().enumerate().filter(|(_, shared)| !shared.input) {
            let masks = [&shares[0][at][..], &shares[1][at]];
            let value = &frame.vars[shared.var as usize].bits;
            let [first, second] = split(&mut exec.graph, &shared.sharing, value, masks);
            outputs.push(if party == 1 { first } else { second });
        }
    }
    let mut trace = std::mem::take(&mut exec.trace);
    trace.outputs = outputs;
    trace.graph = Some(exec.graph);
    Some(trace)
}

/// Returns the functions, each after all functions that it calls. There is no recursion, because the checker
/// has reported it.
fn callees_first(module: &Module) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; module.functions.len()];
    for root in 0..module.functions.len() {
        let mut path = vec![(root, 0)];
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        while let Some((at, next)) = path.last_mut() {
            match module.functions[*at].calls.get(*next) {
                Some((callee, _)) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[*callee], true) {
                        path.push((*callee, 0));
                    }
                }
                None => {
                    order.push(*at);
                    path.pop();
                }
            }
        }
    }
    order
}

fn placements(module: &Module, options: &CompileOptions, sink: &mut Sink) -> Vec<Placement> {
    let known: HashSet<&str> = module.functions.iter().map(|f| f.base_name()).collect();
    let root = module.functions[module.main].span;
    for name in options.inline.iter().chain(&options.component).chain(options.builtins.keys()) {
        if name != "*" && (!known.contains(name.as_str()) || name == "main") {
            let message = format!("there is no function `{name}` to be inlined, a component or built in");
            sink.push(
                Diagnostic::error("options::function", root, message)
                    .hint("name a function of the source other than `main`, or `*` to inline all"),
            );
        }
    }
    let mut placements: Vec<Placement> = module
        .functions
        .iter()
        .map(|f| {
            let asked = |r: FunctionPragma| f.requests.iter().any(|(request, _)| *request == r);
            let (inline, component) =
                (options.inline.contains(f.base_name()), options.component.contains(f.base_name()));
            // A flag wins over a pragma, and a named function over `*`.
            let component_now =
                component || (asked(FunctionPragma::Component) && !inline && !options.inline.contains("*"));
            let open =
                !component_now && (inline || options.inline.contains("*") || asked(FunctionPragma::Inline));
            Placement { component: component_now, open }
        })
        .collect();
    // A function that calls a component is executed as part of `main`, so that the component gets slots.
    let mut reaches = vec![false; placements.len()];
    for function in callees_first(module) {
        reaches[function] = module.functions[function]
            .calls
            .iter()
            .any(|(callee, _)| placements[*callee].component || reaches[*callee]);
        if reaches[function] && !placements[function].component {
            placements[function].open = true;
        }
    }
    placements
}

fn builtin(module: &Module, function: usize, options: &CompileOptions, sink: &mut Sink) -> Option<Template> {
    let f = &module.functions[function];
    let name = builtin_name(module, function, options)?;
    if name != "aes_sbox" {
        sink.push(
            Diagnostic::error("builtin::unknown", f.span, format!("there is no built-in circuit `{name}`"))
                .hint("the only built-in circuit is `aes_sbox`"),
        );
        return None;
    }
    let params: u32 = f.params.iter().map(|(_, ty)| module.types.width(ty)).sum();
    if params != 8 || module.types.width(&f.ret) != 8 {
        sink.push(
            Diagnostic::error(
                "builtin::signature",
                f.span,
                format!("`{}` does not have the ports of `aes_sbox`", f.name),
            )
            .label(format!("{params} bits to {}", module.types.width(&f.ret)))
            .hint("give it parameters of 8 bits in all, and a result of 8 bits, as the S-box has"),
        );
        return None;
    }
    let mut graph = Graph::new(1 << 12);
    let inputs = graph.leaves(8);
    let outputs = crate::builtin::aes_sbox(&mut graph, &inputs);
    Some(graph.finish(8, &outputs))
}
