//! Measures the speed of DUPLO's own kinds of work on this machine.

use std::hint::black_box;
use std::sync::Arc;

use super::script;
use super::work::{ALL, BEYOND, BOUND, COMBINE_OT, KEEP, SIMULATE};
use crate::instance::level;
use crate::report::Duplo;
use crate::{Combinations, Parameters, Proposal, evaluator, garbler_proposing};
use brickwork_base::Error;
use brickwork_base::label::Label;
use brickwork_base::random::Seed;
use brickwork_circuit::library::aes;
use brickwork_circuit::{Party, Program};
use brickwork_plan::{Machine, Measure, MeasuredWork, WorkKind, beyond, fastest, over_loopback};
use brickwork_primitives::commit::Shares;
use brickwork_protocol::{AgreedJob, PhaseReport, Unobserved};

/// The statistical security of the measured runs, in bits.
const SECURITY: u32 = 40;

impl Measure for Duplo {
    fn kinds(&self) -> &'static [&'static WorkKind] {
        ALL
    }

    fn work(&self, measured: &mut MeasuredWork) -> Result<(), Error> {
        combinations(measured)?;
        let program = aes::aes_128()?;
        let circuit = &program.components()[0].circuit;
        let inputs = vec![false; circuit.inputs()];
        let simulates = fastest(circuit.gate_count() as f64, || {
            black_box(circuit.evaluate(&inputs));
            Ok(())
        })?;
        measured.set(&SIMULATE, simulates);
        let parameters = Parameters::choose(&program, SECURITY)?;
        let bound = fastest(1.0, || {
            black_box(parameters.bounded(&program)?);
            Ok(())
        })?;
        measured.set(&BOUND, bound);
        Ok(())
    }

    /// Measures how much longer each phase of a run of a single AES takes than the predicted work.
    fn runs(&self, machine: &Machine, measured: &mut MeasuredWork) -> Result<(), Error> {
        let program = Arc::new(aes::aes_128()?);
        let parameters = Parameters::choose(&program, SECURITY)?;
        let kinds: Vec<&'static WorkKind> = BEYOND.iter().collect();
        beyond(machine, &script(&program, &parameters), &kinds, measured, || {
            let phases = a_run(&program, &parameters, machine.threads as usize)?;
            Ok(phases.into_iter().map(|phase| (phase.name, phase.seconds)).collect())
        })
    }
}

/// Measures two kinds of work: bringing values into order, and computing random combinations of OTs.
fn combinations(measured: &mut MeasuredWork) -> Result<(), Error> {
    const COUNT: usize = 1 << 14;
    const SUMS: usize = 48;
    let words = level(SECURITY)?.words;
    let values = vec![Label::ZERO; COUNT];
    let shares = Shares::of_columns(words, vec![0; COUNT * words]);
    // Only values are moved; shares stay in their places.
    let backwards: Vec<usize> = (0..COUNT).rev().collect();
    let keep = fastest(COUNT as f64, || {
        black_box(backwards.iter().map(|&place| values[place]).collect::<Vec<Label>>());
        Ok(())
    })?;
    measured.set(&KEEP, keep);
    let combinations = Combinations::expand(&Seed::from_bytes([7; 16]), COUNT - SUMS, SUMS);
    let combine = fastest((COUNT * SUMS) as f64, || {
        black_box((combinations.labels(&values), combinations.shares(&shares)));
        Ok(())
    })?;
    measured.set(&COMBINE_OT, combine);
    Ok(())
}

/// Runs both parties over loopback with zero inputs. Returns the phases as the evaluator saw them.
fn a_run(program: &Arc<Program>, parameters: &Parameters, threads: usize) -> Result<Vec<PhaseReport>, Error> {
    let job = |identities| AgreedJob { threads, ..AgreedJob::new(program.clone(), SECURITY, identities) };
    let zeros = |party| vec![false; program.input_width(party)];
    let (_, report) = over_loopback(
        |channel, identities| {
            let job = job(identities);
            let proposal = Proposal::given(&job, parameters.clone());
            garbler_proposing(channel, &job, &proposal, &zeros(Party::Garbler), Unobserved)
        },
        |channel, identities| evaluator(channel, &job(identities), &zeros(Party::Evaluator), Unobserved),
    )?;
    Ok(report.phases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_harness::measured::check_all_work_is_measured;

    #[test]
    fn all_work_is_measured() {
        check_all_work_is_measured(&Duplo, &BEYOND);
    }
}
