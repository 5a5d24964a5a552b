//! Honest parties: the outputs are those of the program.

use super::*;
use brickwork_circuit::library::aes;

fn is_right(program: &Arc<Program>, security: u32, rng: &mut Rng) {
    let inputs = random_inputs(program, rng);
    let hooks = [Hooks::none(), Hooks::none()];
    let results = over(memory_pair(), program, security, [&inputs[0], &inputs[1]], hooks);
    let clear = program.simulate(&inputs[0], &inputs[1]);
    for (party, result) in [Party::Garbler, Party::Evaluator].into_iter().zip(results) {
        let report = result.unwrap();
        assert_eq!(report.outputs, program.output_bits(party, &clear), "{party:?}");
        assert!(report.security.bound_log2 <= -f64::from(security), "{:?}", report.security);
    }
}

#[test]
fn random_programs_are_computed() {
    let mut rng = Rng::replayable("test programs");
    for _ in 0..12 {
        let program = Arc::new(random_program(&mut rng));
        is_right(&program, [40, 64, 80][rng.below(3) as usize], &mut rng);
    }
}

#[test]
fn aes_is_computed() {
    let program = Arc::new(aes::aes_128().unwrap());
    let mut rng = Rng::replayable("test inputs");
    for security in [40, 64, 80] {
        is_right(&program, security, &mut rng);
    }
}
