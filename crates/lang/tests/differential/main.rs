//! Compares random programs with an interpreter of the source: the compiled program in every cut, after
//! export and import, and in a run of two parties.

#[path = "../common/mod.rs"]
mod common;
mod generator;
mod interpreter;

use std::sync::Arc;

use brickwork::circuit::Party;
use brickwork::circuit::Program;
use brickwork::circuit::formats::{bristol, duplo, load};
use brickwork::protocol::{AgreedJob, Unobserved};
use brickwork::wire::memory_pair;
use brickwork_lang::{CompileOptions, NoFiles, Sink, SourceMap, expand};
use common::{build_with, options, simulate_bits};
use generator::{Generator, Random};
use interpreter::Interpreter;

/// A random program, and its expected results.
struct Case {
    seed: u64,
    source: String,
    functions: Vec<String>,
    interpreter: Interpreter,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut generator = Generator::new(seed);
        let body = generator.program();
        let (head, functions) = body.split_at(body.find("function").unwrap());
        let source = format!("{head}{}{functions}", generator.prelude());
        let (mut sources, mut sink) = (SourceMap::default(), Sink::default());
        let items = expand::load("random.wir", &source, &NoFiles, &mut sources, &mut sink);
        assert_eq!(sink.errors(), 0, "seed {seed}: {}\n{source}", sink.finish(sources, false).render(false));
        Case { seed, interpreter: Interpreter::new(&items), functions: generator.functions(), source }
    }

    fn compile(&self, cut: &CompileOptions) -> Program {
        match build_with(&self.source, cut) {
            Ok(compiled) => compiled.program,
            Err(e) => panic!("seed {}: {}\n{}", self.seed, e.render(false), self.source),
        }
    }

    /// Returns the program in several cuts.
    fn cuts(&self) -> Vec<Program> {
        let mut cuts = vec![options(&[], &[]), options(&["*"], &[])];
        let f = &self.functions[self.seed as usize % self.functions.len()];
        cuts.push(options(&[], &[f]));
        cuts.push(options(&[f], &[]));
        cuts.iter().map(|cut| self.compile(cut)).collect()
    }
}

/// Returns inputs for both parties: all zeros, all ones, or random.
fn inputs(program: &Program, random: &mut Random) -> [Vec<bool>; 2] {
    let mode = random.below(4);
    let mut bit = || match mode {
        0 => false,
        1 => true,
        _ => random.below(2) == 1,
    };
    [Party::Garbler, Party::Evaluator].map(|party| (0..program.input_width(party)).map(|_| bit()).collect())
}

/// The program after it was written in other formats and read again.
struct Exported {
    duplo: Option<Program>,
    bristol: Program,
}

impl Exported {
    fn new(program: &Program, seed: u64) -> Exported {
        let again =
            |text: String| load(text.as_bytes(), "again").unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        // DUPLO's format can express only some assignments of outputs to parties.
        Exported {
            duplo: duplo::write(program).ok().map(again),
            bristol: again(bristol::write(program).unwrap()),
        }
    }

    fn check(&self, [x, y]: &[Vec<bool>; 2], want: &[Vec<bool>; 2], all: &[bool], seed: u64) {
        if let Some(duplo) = &self.duplo {
            assert_eq!(simulate_bits(duplo, x, y), *want, "seed {seed}, after export to .GC_duplo");
        }
        // A Bristol circuit does not contain who learns an output, so both parties learn all outputs.
        assert_eq!(self.bristol.simulate(x, y).concat(), all, "seed {seed}, after export to Bristol Fashion");
    }
}

/// Checks a program in several cuts on some inputs. Returns how many of the cuts DUPLO's format could
/// express.
fn check(seed: u64) -> usize {
    let case = Case::new(seed);
    let mut random = Random(seed ^ 0xabcdef);
    let mut files = 0;
    for (number, program) in case.cuts().iter().enumerate() {
        let exported = Exported::new(program, seed);
        files += usize::from(exported.duplo.is_some());
        for _ in 0..6 {
            let bits = inputs(program, &mut random);
            let want = case.interpreter.run([&bits[0], &bits[1]]);
            let outputs = program.simulate(&bits[0], &bits[1]);
            let got = [Party::Garbler, Party::Evaluator].map(|p| program.output_bits(p, &outputs));
            assert_eq!(got, want, "seed {seed}, cut {number}, inputs {bits:?}\n{}", case.source);
            exported.check(&bits, &want, &outputs.concat(), seed);
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

/// Together, the random programs use every construct of the language.
#[test]
fn random_programs_use_the_whole_language() {
    let sources: String = (0..300).map(|seed| Generator::new(seed).program()).collect();
    for piece in [
        "wider(",
        "nth(",
        "same(",
        "return",
        "<< q",
        ">> q",
        "<<> q",
        ">>> q",
        ">>> 2",
        "[q",
        "[p",
        "++(--",
        "= {{",
        "(++v",
        "if (",
        "for (",
        " ? ",
        "uint_t 8(",
        "s8(",
        " += ",
        " >>= ",
        "0x",
        "0b",
    ] {
        assert!(sources.matches(piece).count() > 5, "{piece}");
    }
}

/// Runs both parties of the DUPLO protocol, in two threads.
fn run_protocol(program: Program, [x, y]: &[Vec<bool>; 2]) -> [Vec<bool>; 2] {
    let job = AgreedJob::new(Arc::new(program), 40, [[1; 32], [2; 32]]);
    let (left, right) = memory_pair();
    std::thread::scope(|scope| {
        let garbler = scope.spawn(|| brickwork::duplo::garbler(left, &job, x, Unobserved));
        let evaluator = brickwork::duplo::evaluator(right, &job, y, Unobserved);
        [garbler.join().unwrap(), evaluator].map(|report| report.unwrap().outputs)
    })
}

/// Two parties compute the small ones of these programs with the same results.
#[test]
fn random_programs_compute_the_same_between_two_parties() {
    let mut random = Random(0x5eed);
    let (mut programs, mut components) = (0, 0);
    for case in (1000..1200).map(Case::new) {
        let small = |p: &Program| p.and_gates() <= 1500 && p.slot_count() > 1;
        let Some(program) = case.cuts().into_iter().rev().find(small) else { continue };
        let bits = inputs(&program, &mut random);
        let want = case.interpreter.run([&bits[0], &bits[1]]);
        components += program.components().len();
        assert_eq!(
            run_protocol(program, &bits),
            want,
            "seed {}, inputs {bits:?}\n{}",
            case.seed,
            case.source
        );
        programs += 1;
        if programs == 12 {
            break;
        }
    }
    assert!(programs == 12 && components > 24, "programs of several components");
}
