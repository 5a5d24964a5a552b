use super::*;
use brickwork_circuit::library;
use brickwork_testing::Replayable as _;

/// Outputs are those of the plaintext, and the bytes of both directions those that are known beforehand.
#[track_caller]
fn runs(program: Program, security: u32, rng: &mut Rng) {
    let program = Arc::new(program);
    let [a, b] = random_inputs(&program, rng);
    let reports = over(memory_pair(), &program, security, [&a, &b]).map(Result::unwrap);
    let expected = program.simulate(&a, &b);
    let sent = sent_bytes(&program, security).unwrap();
    for (party, report) in [Party::Garbler, Party::Evaluator].into_iter().zip(&reports) {
        assert_eq!(report.outputs, program.output_bits(party, &expected), "{}", program.name());
        assert_eq!((report.security.model, report.security.statistical_bits), ("malicious", security));
        assert!(report.security.bound_log2 <= -f64::from(security));
        assert!(!report.aside.recovered);
        let told = [
            report.phases.iter().map(|phase| phase.garbler_sent_bytes).sum::<u64>(),
            report.phases.iter().map(|phase| phase.evaluator_sent_bytes).sum::<u64>(),
        ];
        assert_eq!(told, sent, "{}", program.name());
    }
}

#[test]
fn random_programs_give_what_they_should() {
    let mut rng = Rng::replayable("test inputs");
    for k in 0..12 {
        runs(random_program(&mut rng), [40, 64, 80][k % 3], &mut rng);
    }
}

#[test]
fn programs_of_the_library_give_what_they_should() {
    let mut rng = Rng::replayable("test inputs");
    runs(library::millionaires().unwrap(), 40, &mut rng);
    runs(library::aes::aes_128().unwrap(), 40, &mut rng);
}

/// Each block of the offset costs a bit: three blocks at s = 40, four above.
#[test]
fn what_computing_gains_is_told() {
    for (security, bits) in [(40, 108.0), (64, 107.0), (80, 107.0)] {
        let sizes = parameters::Sizes::choose(security, 10, 10).unwrap();
        assert_eq!(SecurityReport::of(&sizes).computational_bits, bits);
    }
}
