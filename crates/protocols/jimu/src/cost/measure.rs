//! Measures this protocol's own work by doing a small amount of it.

use std::hint::black_box;
use std::sync::Arc;

use super::script;
use super::work::{ALL, BEYOND, COMPARE, GARBLE, HASH, HASHED, ROWS, SOLDERED};
use crate::gates::{CompressedLabels, GateHashKeys};
use crate::parameters::{COMPRESSED, HashLevel, Unit};
use crate::report::Jimu;
use crate::{evaluator, garbler};
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_circuit::library::aes;
use brickwork_plan::{Machine, Measure, MeasuredWork, WorkKind, beyond, fastest, over_loopback};
use brickwork_primitives::ihash::{SymbolCode, Words};
use brickwork_protocol::{AgreedJob, Unobserved};

/// The kinds of work of this protocol, in addition to those of the primitives.
impl Measure for Jimu {
    fn kinds(&self) -> &'static [&'static WorkKind] {
        ALL
    }

    fn work(&self, measured: &mut MeasuredWork) -> Result<(), Error> {
        const COUNT: usize = 1 << 10;
        let mut rng = Rng::new("brickwork calibration")?;
        let level = HashLevel::of(40)?;
        let code = SymbolCode::new(&level.labels);
        let [hidden, symbols] = [level.labels.l() - level.labels.w(), level.labels.l()];
        let openings = code.seeded_evaluation(&rng.seed(), hidden);
        let compression = code.seeded_evaluation(&rng.seed(), COMPRESSED);
        let words = Words::random(symbols, COUNT, &mut rng);
        // Corrections are most of the work, so their time includes the small work of streams and
        // combinations. Streams and combinations are a small part.
        let encode = fastest(COUNT as f64, || {
            black_box(code.encode(&words));
            Ok(())
        })?;
        measured.set(&HASH, 1.5 * encode);
        measured.set(&HASHED, encode);
        measured.set(&COMPARE, encode);
        let solder = fastest(COUNT as f64, || {
            black_box(code.at(&openings, &words));
            Ok(())
        })?;
        measured.set(&SOLDERED, 2.0 * solder);
        let garbling = GateHashKeys::new(rng.block(), COUNT / 2, level.blocks());
        let gates = fastest((COUNT / 2) as f64, || {
            let offset = CompressedLabels::new(&code, &compression, words.range(0..1));
            let labels = CompressedLabels::new(&code, &compression, words.clone());
            black_box(garbling.garble(0, &offset, &labels));
            Ok(())
        })?;
        measured.set(&GARBLE, gates);
        // Hashing both labels of an output is as expensive as hashing those of an operand.
        measured.set(&ROWS, 0.5 * gates);
        Ok(())
    }

    /// Measures how much longer each phase takes than its counted work and messages, for a single AES.
    fn runs(&self, machine: &Machine, measured: &mut MeasuredWork) -> Result<(), Error> {
        let program = Arc::new(aes::aes_128()?);
        let job = |identities| AgreedJob {
            threads: machine.threads as usize,
            ..AgreedJob::new(program.clone(), 40, identities)
        };
        let zeros = |party| vec![false; program.input_width(party)];
        let kinds: Vec<&'static WorkKind> = BEYOND.iter().collect();
        beyond(machine, &script(&program, Unit::Gates, 40)?, &kinds, measured, || {
            let (_, report) = over_loopback(
                |channel, identities| {
                    garbler(channel, &job(identities), Unit::Gates, &zeros(Party::Garbler), Unobserved)
                },
                |channel, identities| {
                    evaluator(channel, &job(identities), Unit::Gates, &zeros(Party::Evaluator), Unobserved)
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
        check_all_work_is_measured(&Jimu, &BEYOND);
    }
}
