//! Measures the work that only this protocol has, by doing a small amount of it.

use std::hint::black_box;
use std::sync::Arc;

use super::work::{ALL, BEYOND, SLOT, WIRE};
use super::{Ots, script};
use crate::evaluate::WireLabels;
use crate::layout::Layout;
use crate::report::SemiHonest;
use crate::{evaluator, garbler};
use brickwork_base::label::Label;
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_circuit::library::aes;
use brickwork_circuit::{Circuit, Gate};
use brickwork_plan::{Machine, Measure, MeasuredWork, WorkKind, beyond, fastest, over_loopback};
use brickwork_primitives::garbling::{Collect, GarblingKeys, GarblingScheme as _, HalfGates, Schedule};
use brickwork_protocol::{AgreedJob, Unobserved};

impl Measure for SemiHonest {
    fn kinds(&self) -> &'static [&'static WorkKind] {
        ALL
    }

    fn work(&self, measured: &mut MeasuredWork) -> Result<(), Error> {
        const TIMES: usize = 256;
        let program = aes::aes_128()?;
        let layout = Layout::new(&program, 1)?;
        let chunk = layout.chunks().next().ok_or_else(|| Error::Resource("no chunk".into()))?;
        let slot = program.slots().next().ok_or_else(|| Error::Resource("no slot".into()))?;
        let circuit = &program.component(slot.component).circuit;
        let mut wires = WireLabels::new(&chunk);
        let moved = fastest((TIMES * (circuit.inputs() + circuit.outputs().len())) as f64, || {
            for _ in 0..TIMES {
                black_box(wires.gather(&slot, 1));
                wires.scatter(&slot, 1);
            }
            Ok(())
        })?;
        measured.set(&WIRE, moved);

        // The time of a single gate is negligible, compared with the fixed work for a slot.
        let gate = Schedule::new(&Circuit::new(2, vec![Gate::And(0, 1)], vec![2])?);
        let mut rng = Rng::new("brickwork calibration")?;
        let (start, delta) = (rng.block(), [rng.delta()]);
        let (inputs, mut outputs) = ([rng.label(), rng.label()], [Label::ZERO]);
        let slots = fastest(TIMES as f64, || {
            (0..TIMES as u32).try_for_each(|copy| {
                let keys = GarblingKeys::streamed(start, 1, 1);
                HalfGates::garble(
                    &gate,
                    &keys,
                    &[copy],
                    &delta,
                    &inputs,
                    &mut outputs,
                    &mut Collect::new(1, HalfGates::table_bytes(&gate)),
                )
            })
        })?;
        measured.set(&SLOT, slots);
        Ok(())
    }

    /// Runs a single AES, and measures how much longer each phase takes than its counted work and messages.
    fn runs(&self, machine: &Machine, measured: &mut MeasuredWork) -> Result<(), Error> {
        let program = Arc::new(aes::aes_128()?);
        let job = |identities| AgreedJob {
            threads: machine.threads as usize,
            ..AgreedJob::new(program.clone(), 40, identities)
        };
        let zeros = |party| vec![false; program.input_width(party)];
        let kinds: Vec<&'static WorkKind> = BEYOND.iter().collect();
        beyond(machine, &script(&program, 1, Ots::Made)?, &kinds, measured, || {
            let (_, report) = over_loopback(
                |channel, identities| {
                    garbler(channel, &job(identities), 1, &zeros(Party::Garbler), Unobserved)
                },
                |channel, identities| {
                    evaluator(channel, &job(identities), 1, &zeros(Party::Evaluator), Unobserved)
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
        check_all_work_is_measured(&SemiHonest, &BEYOND);
    }
}
