//! Checks names, types and signatures, and all other rules that do not depend on values.

mod body;
mod checker;
mod depends;
mod expr;
mod generic;
mod width;

use std::collections::{HashMap, VecDeque};

use crate::ast::Item;
use crate::diagnostic::{Diagnostic, Sink};
use crate::ir::{Func, Io, Module};
use crate::source::{SourceMap, SourceSpan};
use crate::types::Types;
use checker::{Checker, PortDirective};

/// Checks a program. Returns nothing if there are too many errors to continue.
pub fn check(
    items: Vec<Item>,
    sources: &SourceMap,
    root: SourceSpan,
    reverse_structs: bool,
    sink: &mut Sink,
) -> Option<Module> {
    let mut cx = Checker {
        sink,
        sources,
        types: Types::default(),
        globals: HashMap::new(),
        signatures: Vec::new(),
        generics: Vec::new(),
        made: VecDeque::new(),
    };
    cx.declare_types(&items, reverse_structs);
    let mut functions = Vec::new();
    let (mut parties, mut io, mut shared) = (None, Vec::new(), Vec::new());
    for item in items {
        match item {
            Item::Function(f) if f.generics.is_empty() => functions.push(*f),
            Item::Function(f) => cx.generic(*f),
            Item::Parties(n, span) => parties = Some((n, span)),
            Item::Io { .. } => io.push(item),
            Item::Shared { .. } => shared.push(item),
            Item::Vars(decl) => cx.sink.push(
                Diagnostic::warning(
                    "variable::global",
                    decl.span,
                    "variables outside of functions are ignored",
                )
                .hint(
                    "declare it in the function that uses it; functions share nothing but arguments and \
                     results",
                ),
            ),
            Item::Define(..) | Item::Include(..) | Item::IntType { .. } | Item::StructType { .. } => {}
        }
    }
    let parties = cx.parties(parties, root);
    let (inputs, outputs) = cx.io(io, parties);
    functions.iter().for_each(|f| cx.signature(f));
    let main = cx.main(root);
    let mut vars_of_main: Vec<checker::Predeclared> = Vec::new();
    let mut ports = |list: Vec<PortDirective>, what: &str| -> Vec<Io> {
        list.into_iter()
            .map(|PortDirective { party, ty, rules, span }| {
                let (name, is_output) = (format!("{what}{party}").into(), what == "output");
                let whose = format!("party {party}");
                vars_of_main.push(checker::Predeclared { name, ty: ty.clone(), at: span, is_output, whose });
                Io { party, ty, rules, var: vars_of_main.len() as u32 - 1 }
            })
            .collect()
    };
    let (inputs, outputs) = (ports(inputs, "input"), ports(outputs, "output"));
    let first = vars_of_main.len() as u32;
    let shared = cx.shared(shared, first, &mut vars_of_main);
    cx.made.extend(functions);
    let mut functions: Vec<Func> = Vec::new();
    // Checking a body may add instances of generic functions to the list.
    while let Some(f) = cx.made.pop_front() {
        let number = functions.len();
        let predeclared = if Some(number) == main { &vars_of_main[..] } else { &[] };
        functions.push(body::check(&mut cx, number, f, predeclared));
    }
    find_recursion(&functions, cx.sink);
    Some(Module { types: cx.types, functions, main: main?, inputs, outputs, shared })
}

/// Reports functions that call themselves, directly or through others.
fn find_recursion(functions: &[Func], sink: &mut Sink) {
    let mut state = vec![0u8; functions.len()];
    for root in 0..functions.len() {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        let mut path = vec![(root, 0)];
        while let Some((at, next)) = path.last_mut() {
            let at = *at;
            let Some(&(callee, span)) = functions[at].calls.get(*next) else {
                state[at] = 2;
                path.pop();
                continue;
            };
            *next += 1;
            match state[callee] {
                0 => {
                    state[callee] = 1;
                    path.push((callee, 0));
                }
                1 => {
                    let from = path.iter().position(|(f, _)| *f == callee).unwrap_or(0);
                    let names: Vec<&str> = path[from..]
                        .iter()
                        .map(|(f, _)| &*functions[*f].name)
                        .chain([&*functions[callee].name])
                        .collect();
                    sink.push(
                        Diagnostic::error(
                            "function::recursion",
                            span,
                            format!("recursion: {}", names.join(" calls ")),
                        )
                        .label("this call never ends")
                        .hint("use a `for` loop with a fixed bound: a circuit is finite"),
                    );
                }
                _ => {}
            }
        }
    }
}
