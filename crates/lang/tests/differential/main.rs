//! Random programs: what the compiled program gives is what an interpreter of the source gives, in every cut.

#[path = "../common/mod.rs"]
mod common;
mod generator;
mod interpreter;

use brickwork::circuit::Party;
use brickwork::circuit::formats::{duplo, load};
use brickwork_lang::{NoFiles, Sink, SourceMap, expand};
use common::{build_with, options, simulate_bits};
use generator::{Generator, Random};
use interpreter::Interpreter;

/// A program and random inputs for it, in several cuts; how many of them could be exported.
fn check(seed: u64) -> usize {
    let mut generator = Generator::new(seed);
    let body = generator.program();
    let (head, functions) = body.split_at(body.find("function").unwrap());
    let source = format!("{head}{}{functions}", generator.prelude());

    let (mut sources, mut sink) = (SourceMap::default(), Sink::default());
    let items = expand::load("random.wir", &source, &NoFiles, &mut sources, &mut sink);
    assert_eq!(sink.errors(), 0, "seed {seed}: {}\n{source}", sink.finish(sources, false).render(false));
    let interpreter = Interpreter::new(&items);

    let named: Vec<&str> = ["fun1", "fun2", "fun3", "fun4"].into_iter().filter(|f| source.contains(&format!(" {f}("))).collect();
    let mut cuts = vec![options(&[], &[]), options(&["*"], &[])];
    if let Some(f) = named.first() {
        cuts.push(options(&[], &[f]));
        cuts.push(options(&[f], &[]));
    }
    let mut random = Random(seed ^ 0xabcdef);
    let mut files = 0;
    for (number, cut) in cuts.iter().enumerate() {
        let program = match build_with(&source, cut) {
            Ok(compiled) => compiled.program,
            // Outputs that are constants, in a program that reads no input, cannot be made from anything.
            Err(e) => panic!("seed {seed}, cut {number}: {}\n{source}", e.render(false)),
        };
        let widths = [Party::Garbler, Party::Evaluator].map(|p| program.input_width(p));
        // Files of the old format, written and read again.
        let exported =
            duplo::write(&program).ok().map(|text| load(text.as_bytes(), "again").unwrap_or_else(|e| panic!("seed {seed}: {e}")));
        files += usize::from(exported.is_some());
        for _ in 0..6 {
            let mode = random.below(4);
            let mut bits = |n: usize| -> Vec<bool> {
                (0..n)
                    .map(|_| match mode {
                        0 => false,
                        1 => true,
                        _ => random.below(2) == 1,
                    })
                    .collect()
            };
            let (x, y) = (bits(widths[0]), bits(widths[1]));
            let want = interpreter.run([&x, &y]);
            let got = simulate_bits(&program, &x, &y);
            assert_eq!(got, want, "seed {seed}, cut {number}, inputs {x:?} {y:?}\n{source}");
            if let Some(again) = &exported {
                assert_eq!(simulate_bits(again, &x, &y), want, "seed {seed}, cut {number}, after export\n{source}");
            }
        }
    }
    files
}

#[test]
fn random_programs_compute_what_they_say() {
    let count = std::env::var("BRICKWORK_RANDOM_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let start = std::env::var("BRICKWORK_RANDOM_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let files: usize = (start..start + count).map(check).sum();
    assert!(files > count as usize, "most programs can be exported");
}
