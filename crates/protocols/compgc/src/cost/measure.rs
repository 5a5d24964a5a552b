//! Measures the speed of this protocol's own kinds of work on this machine.

use std::hint::black_box;
use std::sync::Arc;

use super::script;
use super::work::{ALL, BEYOND, INPUT, SLOT};
use crate::linking::Linking;
use crate::preprocess::keys;
use crate::report::CompGc;
use crate::{evaluator, garbler};
use brickwork_base::label::Label;
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_circuit::library::aes::{KeySize, aes_from_rounds};
use brickwork_circuit::{Circuit, Gate};
use brickwork_plan::{Machine, Measure, MeasuredWork, WorkKind, beyond, fastest, over_loopback};
use brickwork_primitives::garbling::{Collect, GarblingScheme as _, HalfGates, Schedule};
use brickwork_primitives::solder::Soldering;
use brickwork_protocol::{AgreedJob, Unobserved};

impl Measure for CompGc {
    fn kinds(&self) -> &'static [&'static WorkKind] {
        ALL
    }

    fn work(&self, measured: &mut MeasuredWork) -> Result<(), Error> {
        const TIMES: usize = 256;
        let mut rng = Rng::new("brickwork calibration")?;
        let labels: Vec<Label> = (0..1 << 12).map(|_| rng.label()).collect();
        let mut carried = Vec::with_capacity(labels.len());
        let inputs = fastest(labels.len() as f64, || {
            carried.clear();
            let link = Soldering::of_one_offset(labels[0], labels[1]);
            carried.extend(labels.iter().map(|&label| black_box(link).carry(label, Label::ZERO)));
            black_box(&carried);
            Ok(())
        })?;
        measured.set(&INPUT, inputs);

        // A single AND gate costs almost nothing, so its time is that of the fixed work for a slot.
        let gate = Schedule::new(&Circuit::new(2, vec![Gate::And(0, 1)], vec![2])?);
        let (start, delta) = (rng.block(), [rng.delta()]);
        let (inputs, mut outputs) = ([rng.label(), rng.label()], [Label::ZERO]);
        let slots = fastest(TIMES as f64, || {
            (0..TIMES as u32).try_for_each(|copy| {
                let mut tables = Collect::new(1, HalfGates::table_bytes(&gate));
                HalfGates::garble(&gate, &keys(start, 1), &[copy], &delta, &inputs, &mut outputs, &mut tables)
            })
        })?;
        measured.set(&SLOT, slots);
        Ok(())
    }

    /// Measures how much longer each phase of a run of a single AES takes than the predicted work.
    fn runs(&self, machine: &Machine, measured: &mut MeasuredWork) -> Result<(), Error> {
        let program = Arc::new(aes_from_rounds(KeySize::Aes128)?);
        let linking = Linking::Standard;
        let job = |identities| AgreedJob {
            threads: machine.threads as usize,
            ..AgreedJob::new(program.clone(), 40, identities)
        };
        let zeros = |party| vec![false; program.input_width(party)];
        let kinds: Vec<&'static WorkKind> = BEYOND.iter().collect();
        beyond(machine, &script(&program, linking)?, &kinds, measured, || {
            let (_, report) = over_loopback(
                |channel, identities| {
                    garbler(channel, &job(identities), linking, &zeros(Party::Garbler), Unobserved)
                },
                |channel, identities| {
                    evaluator(channel, &job(identities), linking, &zeros(Party::Evaluator), Unobserved)
                },
            )?;
            Ok(report.phases.into_iter().map(|phase| (phase.name, phase.seconds)).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_harness::measured::check_all_work_is_measured;

    #[test]
    fn all_work_is_measured() {
        check_all_work_is_measured(&CompGc, &BEYOND);
    }
}
