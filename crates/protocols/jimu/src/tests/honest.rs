use super::*;
use brickwork_circuit::library;
use brickwork_plan::{Link, Machine, predict};
use brickwork_testing::Replayable as _;

/// Outputs are those of the plaintext, and the bytes of both directions those that are known beforehand.
#[track_caller]
fn runs(program: Program, unit: Unit, security: u32, rng: &mut Rng) {
    let program = Arc::new(program);
    let [a, b] = random_inputs(&program, rng);
    let (left, right, [_, crossings]) = counting_pair();
    let reports = over((left, right), &program, (unit, security), [&a, &b]).map(Result::unwrap);
    let script = cost::script(&program, unit, security).unwrap();
    let predicted = predict(&script, &Machine::free(), &Link::LOOPBACK).crossings();
    assert_eq!(crossings.get(), predicted, "{} by {unit:?}", program.name());
    let expected = program.simulate(&a, &b);
    let sent = sent_bytes(&program, unit, security).unwrap();
    for (party, report) in [Party::Garbler, Party::Evaluator].into_iter().zip(&reports) {
        assert_eq!(report.outputs, program.output_bits(party, &expected), "{} by {unit:?}", program.name());
        assert_eq!((report.security.model, report.security.statistical_bits), ("malicious", security));
        assert_eq!((report.security.unit, report.proposal), (unit, unit));
        assert!(report.security.bound_log2 <= -f64::from(security));
        let spent: f64 = report.security.budget.iter().map(|part| part.bound_log2.exp2()).sum();
        assert!((spent.log2() - report.security.bound_log2).abs() < 1e-6, "{:?}", report.security);
        assert!(!report.aside.recovered);
        let counted = [
            report.phases.iter().map(|phase| phase.garbler_sent_bytes).sum::<u64>(),
            report.phases.iter().map(|phase| phase.evaluator_sent_bytes).sum::<u64>(),
        ];
        assert_eq!(counted, sent, "{} by {unit:?}", program.name());
    }
}

#[test]
fn random_programs_give_what_they_should() {
    let mut rng = Rng::replayable("test inputs");
    for k in 0..24 {
        runs(random_program(&mut rng), Unit::ALL[k % 2], [40, 64, 80][k % 3], &mut rng);
    }
}

#[test]
fn programs_of_the_library_give_what_they_should() {
    let mut rng = Rng::replayable("test inputs");
    for unit in Unit::ALL {
        runs(library::millionaires().unwrap(), unit, 40, &mut rng);
        runs(library::aes::aes_128().unwrap(), unit, 40, &mut rng);
    }
}

/// Each block of the offset of gates costs a bit: three blocks at s = 40, four above. Components have offsets
/// of their own, and labels of one block.
#[test]
fn what_computing_gains_is_reported() {
    for (security, bits) in [(40, 108.0), (64, 107.0), (80, 107.0)] {
        let level = parameters::Level::of(security).unwrap();
        assert_eq!(report::computational_bits(&level, Unit::Gates), bits);
        assert_eq!(report::computational_bits(&level, Unit::Components), 111.0);
    }
}
