//! Sources from anybody: the compiler neither panics nor loops forever, and a compiled program computes the
//! same in every form.
//!
//! The fuzz target uses this module, and so do the tests of the compiler, with the seeds.
#![allow(dead_code)]

use brickwork::circuit::formats::{bristol, duplo, load};
use brickwork::circuit::{Party, Program};
use brickwork_lang::{CompileOptions, Diagnostics, NoFiles, Sink, SourceMap, compile, expand, lexer as lex};

/// Larger programs are not simulated, because fuzzing needs many runs.
const SIMULATED: u64 = 200_000;

/// Passes a source to the lexer, the parser and the compiler.
pub fn wir(data: &[u8]) {
    let Some(text) = std::str::from_utf8(data).ok().filter(|text| text.len() <= 1 << 16) else { return };
    lexer(text);
    parser(text);
    compiler(text);
}

/// Writes all diagnostics, for people and for programs.
fn tell(diagnostics: &Diagnostics) {
    let (plain, colourful) = (diagnostics.render(false), diagnostics.render(true));
    assert_eq!(plain.is_empty(), diagnostics.is_empty());
    assert!(colourful.len() >= plain.len());
    for record in diagnostics.records() {
        assert!(record.line > 0 && record.column > 0 && !record.message.is_empty());
        assert!(!record.message.contains("please report it"), "{}", record.message);
    }
}

/// Each token is a part of the text, and the tokens are in order.
fn lexer(text: &str) {
    let mut sink = Sink::default();
    let lexed = lex::lex(0, text, &mut sink);
    let mut end = 0;
    for token in &lexed.tokens {
        assert!(end <= token.span.start && token.span.start <= token.span.end);
        assert!(text.get(token.span.start as usize..token.span.end as usize).is_some());
        end = token.span.end;
    }
}

/// Any text is parsed or reported as an error. Trees are visited by recursion, so the test uses a thread with
/// the same stack as the compiler.
fn parser(text: &str) {
    std::thread::scope(|scope| {
        let run = || {
            let (mut sources, mut sink) = (SourceMap::default(), Sink::default());
            expand::load("fuzz.wir", text, &NoFiles, &mut sources, &mut sink);
            tell(&sink.finish(sources, false));
        };
        let worker = std::thread::Builder::new().stack_size(512 << 20).spawn_scoped(scope, run);
        worker.expect("a thread").join().expect("no panic");
    });
}

fn limits(inline: &str) -> CompileOptions {
    CompileOptions {
        inline: (!inline.is_empty()).then(|| inline.to_string()).into_iter().collect(),
        unroll_limit: 300,
        max_steps: 3_000,
        max_gates: 100_000,
        ..CompileOptions::default()
    }
}

/// Returns the outputs of a program for zeros, for ones and for mixed inputs.
fn outputs(program: &Program) -> Vec<Vec<bool>> {
    let inputs = |party, step: usize| {
        (0..program.input_width(party)).map(|i| step > 0 && i % step == 0).collect::<Vec<_>>()
    };
    let run =
        |step| program.simulate(&inputs(Party::Garbler, step), &inputs(Party::Evaluator, step)).concat();
    [0, 1, 3].map(run).to_vec()
}

/// A source compiles, or errors are reported. In every cut and format, the program computes the same.
fn compiler(text: &str) {
    let compiled = |inline| compile("fuzz.wir", text, &NoFiles, &limits(inline));
    let program = match compiled("") {
        Err(errors) => {
            assert!(errors.has_errors());
            return tell(&errors);
        }
        Ok(compiled) => {
            tell(&compiled.warnings);
            compiled.program
        }
    };
    let gates = program.info().gates + program.wires() as u64;
    if gates > SIMULATED {
        return;
    }
    let want = outputs(&program);
    // If calls are computed as part of `main`, they may exceed the limit of steps.
    if let Ok(flat) = compiled("*") {
        assert_eq!(outputs(&flat.program), want, "in one piece");
    }
    assert_eq!(outputs(&Program::from_bytes(&program.to_bytes()).expect("our own file")), want, ".bwp");
    if let Ok(file) = duplo::write(&program) {
        assert_eq!(outputs(&load(file.as_bytes(), "fuzz").expect("our own file")), want, ".GC_duplo");
    }
    // If the garbler has no inputs, a Bristol circuit cannot be read back without a map of the inputs'
    // parties.
    if program.input_width(Party::Garbler) > 0
        && let Ok(file) = bristol::write(&program)
    {
        assert_eq!(outputs(&load(file.as_bytes(), "fuzz").expect("our own file")), want, "Bristol Fashion");
    }
}
