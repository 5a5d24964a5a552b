//! The `.wir` compiler: source text becomes a [`brickwork_circuit::Program`] of components.
//!
//! ```
//! use brickwork_lang::{NoFiles, CompileOptions, compile};
//!
//! let source = "
//!     #parties 2
//!     typedef uint_t 8 byte
//!     #input 1 byte
//!     #input 2 byte
//!     #output 1 byte
//!     function byte larger(byte a, byte b) { byte m = a; if (a < b) m = b; return m; }
//!     function void main() { output1 = larger(input1, input2); }
//! ";
//! let compiled = compile("larger.wir", source, &NoFiles, &CompileOptions::default())?;
//! assert_eq!(compiled.program.components()[0].name, "larger");
//! assert_eq!(compiled.program.and_gates(), 16);
//! # Ok::<(), brickwork_lang::Diagnostics>(())
//! ```
#![forbid(unsafe_code)]

mod arith;
mod assemble;
pub mod ast;
mod builtin;
mod check;
mod diagnostic;
pub mod expand;
mod generate;
mod graph;
mod ir;
pub mod lexer;
mod multiples;
pub mod natural;
mod options;
pub mod parser;
mod source;
mod stdlib;
mod types;

use std::collections::BTreeSet;

use brickwork_base::stop;
use brickwork_circuit::Program;

pub use diagnostic::{Diagnostic, DiagnosticRecord, Diagnostics, Draft, Location, Severity, Sink};
pub use options::CompileOptions;
pub use source::{Directory, NoFiles, Position, Resolver, SourceFile, SourceMap, SourceSpan};
pub use stdlib::{ExampleInputs, Sample, StdFile, std_library};

/// A compiled program.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program. [`Program::info`] has the tables of its components, ports and wires.
    pub program: Program,
    /// The warnings about the source.
    pub warnings: Diagnostics,
}

/// The stack size of the compiling thread, because trees are visited by recursion.
const STACK: usize = 512 << 20;

/// Compiles the root source `text`, called `name` in messages. Included files come from `resolver`.
///
/// # Errors
/// All errors, with the warnings.
pub fn compile(
    name: &str,
    text: &str,
    resolver: &dyn Resolver,
    options: &CompileOptions,
) -> Result<Compiled, Diagnostics> {
    let failed = |message: String, hint: &str| {
        let mut sources = SourceMap::default();
        let span = SourceSpan { file: sources.add(name, text), start: 0, end: 0 };
        let mut sink = Sink::default();
        sink.push(Diagnostic::error("compiler", span, message).hint(hint));
        Err(sink.finish(sources, false))
    };
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("compiler".into()).stack_size(STACK);
        let compile = stop::carried(|| compile_here(name, text, resolver, options));
        match worker.spawn_scoped(scope, compile) {
            Ok(handle) => stop::joined(handle.join()).unwrap_or_else(|_| {
                failed(
                    "the compiler failed on this program".into(),
                    "this is a fault of the compiler: please report it with the source",
                )
            }),
            Err(e) => failed(
                format!("no thread to compile with: {e}"),
                "free memory, or raise the limit of threads (`ulimit -u`)",
            ),
        }
    })
}

/// Returns the functions that `main` calls, directly or indirectly. [`CompileOptions::inline`] and
/// [`CompileOptions::component`] have an effect only on these. The list is empty if the source has errors,
/// which [`compile`] reports.
pub fn functions(name: &str, text: &str, resolver: &dyn Resolver, options: &CompileOptions) -> Vec<String> {
    let find = || {
        let (mut sources, mut sink) = (SourceMap::default(), Sink::default());
        let items = expand::load(name, text, resolver, &mut sources, &mut sink);
        let root = SourceSpan { file: 0, start: 0, end: 0 };
        let module = check::check(items, &sources, root, options.reverse_structs, &mut sink)
            .filter(|_| sink.errors() == 0)?;
        let (mut reached, mut open) = (BTreeSet::new(), vec![module.main]);
        while let Some(function) = open.pop() {
            open.extend(
                module.functions[function]
                    .calls
                    .iter()
                    .map(|(callee, _)| *callee)
                    .filter(|&callee| reached.insert(callee)),
            );
        }
        let mut names: Vec<String> = Vec::new();
        for function in reached {
            let name = module.functions[function].base_name();
            if !names.iter().any(|n| n == name) {
                names.push(name.to_owned());
            }
        }
        Some(names)
    };
    std::thread::scope(|scope| {
        let worker =
            std::thread::Builder::new().name("compiler".into()).stack_size(STACK).spawn_scoped(scope, find);
        worker.ok().and_then(|worker| worker.join().ok()).flatten().unwrap_or_default()
    })
}

fn compile_here(
    name: &str,
    text: &str,
    resolver: &dyn Resolver,
    options: &CompileOptions,
) -> Result<Compiled, Diagnostics> {
    let (mut sources, mut sink) = (SourceMap::default(), Sink::default());
    let program = run(name, text, resolver, options, &mut sources, &mut sink);
    let diagnostics = sink.finish(sources, options.warnings_as_errors);
    match program {
        Some(program) if !diagnostics.has_errors() => Ok(Compiled { program, warnings: diagnostics }),
        _ => Err(diagnostics),
    }
}

/// Runs the phases of the compiler. Each phase reports all errors that it finds. The next phase begins only
/// if there are no errors.
fn run(
    name: &str,
    text: &str,
    resolver: &dyn Resolver,
    options: &CompileOptions,
    sources: &mut SourceMap,
    sink: &mut Sink,
) -> Option<Program> {
    let root = SourceSpan { file: 0, start: 0, end: 0 };
    let items = expand::load(name, text, resolver, sources, sink);
    if sink.errors() > 0 {
        return None;
    }
    let module = check::check(items, sources, root, options.reverse_structs, sink)?;
    if sink.errors() > 0 {
        return None;
    }
    let cx = generate::templates(&module, options, sink);
    let trace = if cx.complete() { generate::main(&cx, sink) } else { None };
    if sink.errors() > 0 {
        return None;
    }
    let stem =
        std::path::Path::new(name).file_stem().map_or("program".into(), |s| s.to_string_lossy().into_owned());
    match assemble::assemble(&cx, trace?, &stem, sink) {
        Ok(program) => Some(program),
        Err(e) => {
            sink.push(Diagnostic::error("program", module.functions[module.main].span, e.to_string()).hint(
                "declare an `#input` and an `#output`, and use both in `main`; if it is too large, use \
                 fewer or smaller calls",
            ));
            None
        }
    }
}
