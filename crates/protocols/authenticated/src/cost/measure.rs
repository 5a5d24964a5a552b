//! Measures the speed of this protocol's own kinds of work on this machine.

use std::hint::black_box;
use std::sync::Arc;

use super::script;
use super::work::{ALL, BEYOND, EVALUATE, GARBLE, LEAKY_AND, MULTIPLY};
use crate::buckets::Triples;
use crate::layout::ComponentPart;
use crate::leaky::{DrawnMasks, Of, Packed, half, sums};
use crate::pads::Pads;
use crate::parameters::{MaskDraws, TriplePool};
use crate::preprocess::{Fresh, Half, three_tags};
use crate::report::Authenticated;
use crate::secrets::SecretBlocks;
use crate::share::{MaskShares, OffsetOwner, ShareList};
use crate::words::SPARE;
use crate::{evaluator, garbler};
use brickwork_base::label::Label;
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_circuit::library::aes;
use brickwork_circuit::{Circuit, Gate};
use brickwork_plan::{Machine, Measure, MeasuredWork, WorkKind, beyond, fastest, over_loopback};
use brickwork_primitives::garbling::masked::{self, Numbered};
use brickwork_primitives::garbling::{GarblingKeys, Schedule};
use brickwork_primitives::ot::Cot;
use brickwork_protocol::{AgreedJob, Unobserved};

impl Measure for Authenticated {
    fn kinds(&self) -> &'static [&'static WorkKind] {
        ALL
    }

    fn work(&self, measured: &mut MeasuredWork) -> Result<(), Error> {
        const COUNT: usize = 1 << 14;
        let mut rng = Rng::new("brickwork calibration")?;
        let own = OffsetOwner { role: Party::Garbler, delta: rng.delta() };
        let pool = TriplePool { size: COUNT, bucket: 3 };
        let draws = MaskDraws { leaky: 3 * COUNT, masks: 0, portion: COUNT };
        let drawn = DrawnMasks::random(draws, &mut rng);
        let pads = Pads { start: rng.block(), factor: rng.block() };
        let theirs: Vec<Label> = (0..COUNT).map(|_| rng.label()).collect();
        let [x, y, z] = [Of::X, Of::Y, Of::Z].map(|of| drawn.some(&drawn.portions()[0], of, 0..COUNT));
        let (mut ciphertexts, mut kept) = (vec![0; 6 * COUNT + SPARE], SecretBlocks::default());
        let leaky = fastest(COUNT as f64, || {
            half(&own, &pads, [x, y, z], Packed { bytes: 6, list: &mut ciphertexts }, &mut kept);
            sums(&own, &pads, Packed { bytes: 6, list: &ciphertexts }, [x, y], &mut kept);
            black_box(&kept);
            Ok(())
        })?;
        measured.set(&LEAKY_AND, leaky);
        let chains = COUNT / 4;
        let gates = (0..chains as u32).map(|i| Gate::And(i, i + 1));
        let circuit = Circuit::new(2, gates, vec![chains as u32 + 1])?;
        let schedule = Schedule::new(&circuit);
        let mut words = || (0..8 + COUNT).map(|_| rng.label()).collect();
        let fresh = MaskShares { keys: words(), macs: words() };
        let triples = Triples::of(drawn, COUNT, pool, vec![0, 5, 1000]);
        let part = ComponentPart { component: 0, copies: 4, ands: 0..COUNT };
        let opened: Vec<u8> = (0..4 * COUNT).map(|i| (i % 3 == 0).into()).collect();
        let multiplied = fastest(COUNT as f64, || {
            let mut half = Half::new(&own, &schedule, &part, &mut Fresh::new(fresh.all()), &triples);
            for list in ShareList::BOTH {
                half.opened(&triples, list, &mut |words| _ = black_box(words));
            }
            black_box(half.multiplied(&own, &triples, &opened));
            Ok(())
        })?;
        measured.set(&MULTIPLY, multiplied);
        let keys = GarblingKeys::new(1, 4, chains);
        let numbered = Numbered { keys: &keys, first: 0, count: 4 };
        let (mut words, mut tables) = (SecretBlocks::zeros(COUNT), SecretBlocks::zeros(2 * COUNT));
        let (inputs, mut outputs) = (&theirs[..8], SecretBlocks::zeros(4));
        let garbled = fastest(COUNT as f64, || {
            words.copy_from_slice(&theirs);
            masked::garble(&schedule, numbered, own.delta, inputs, &mut words, &mut tables, &mut outputs);
            black_box(three_tags(8, &tables, &words));
            Ok(())
        })?;
        measured.set(&GARBLE, garbled);
        let evaluated = fastest(COUNT as f64, || {
            words.copy_from_slice(&theirs);
            masked::evaluate(&schedule, numbered, inputs, &tables, &mut words, &mut outputs);
            black_box(&words);
            Ok(())
        })?;
        measured.set(&EVALUATE, evaluated);
        Ok(())
    }

    /// Measures how much longer each phase of a run of a single AES takes than the predicted work.
    fn runs(&self, machine: &Machine, measured: &mut MeasuredWork) -> Result<(), Error> {
        let program = Arc::new(aes::aes_128()?);
        let job = |identities| AgreedJob {
            threads: machine.threads as usize,
            ..AgreedJob::new(program.clone(), 40, identities)
        };
        let zeros = |party| vec![false; program.input_width(party)];
        let kinds: Vec<&'static WorkKind> = BEYOND.iter().collect();
        beyond(machine, &script(&program, 40, Cot::default())?, &kinds, measured, || {
            let (_, report) = over_loopback(
                |channel, identities| {
                    garbler(channel, &job(identities), Cot::default(), &zeros(Party::Garbler), Unobserved)
                },
                |channel, identities| {
                    evaluator(channel, &job(identities), Cot::default(), &zeros(Party::Evaluator), Unobserved)
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
        check_all_work_is_measured(&Authenticated, &BEYOND);
    }
}
