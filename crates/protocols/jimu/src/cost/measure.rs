//! This protocol's own work, measured by doing a little of it.

use std::hint::black_box;
use std::sync::Arc;

use super::script;
use super::work::{ALL, BEYOND, COMPARE, GARBLE, HASH, HASHED};
use crate::gates::{Garbling, Wide};
use crate::parameters::Level;
use crate::report::Jimu;
use crate::{evaluator, garbler};
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_circuit::library::aes;
use brickwork_plan::{Machine, Measure, Measured, Work, beyond, fastest, over_loopback};
use brickwork_primitives::ihash::{Code, Symbols};
use brickwork_session::{Job, TABLE_MEMORY, Unobserved};

/// The kinds of work of this protocol, besides those of the primitives.
impl Measure for Jimu {
    fn kinds(&self) -> &'static [&'static Work] {
        ALL
    }

    fn work(&self, measured: &mut Measured) -> Result<(), Error> {
        const COUNT: usize = 1 << 10;
        let mut rng = Rng::new("brickwork calibration")?;
        let level = Level::of(40)?;
        let code = Code::new(&level.labels);
        let words: Vec<Vec<u8>> = (0..COUNT)
            .map(|_| {
                let mut word = vec![0; level.labels.l()];
                rng.fill(&mut word);
                word
            })
            .collect();
        let words = Symbols::of_words(level.labels.l(), words.iter().map(|word| &word[..]));
        // Corrections, and combinations, which are a fraction of them.
        let parity = fastest(COUNT as f64, || {
            black_box(code.parity(&words));
            Ok(())
        })?;
        measured.set(&HASH, 1.5 * parity);
        measured.set(&HASHED, 2.0 * parity);
        let encode = fastest(COUNT as f64, || {
            black_box(code.encode(&words));
            Ok(())
        })?;
        measured.set(&COMPARE, encode);
        let garbling = Garbling::new(code, &rng.seed(), rng.block(), COUNT);
        let wide = Wide::of(&words);
        let gates = fastest(COUNT as f64, || {
            let offset = garbling.compress(wide.select(0..1));
            let labels = garbling.compress(wide.clone());
            black_box(garbling.garble(&offset, &labels, &labels));
            Ok(())
        })?;
        measured.set(&GARBLE, gates);
        Ok(())
    }

    /// What a run of a single AES takes in each phase beyond the sum of its parts.
    fn runs(&self, machine: &Machine, measured: &mut Measured) -> Result<(), Error> {
        let program = Arc::new(aes::aes_128()?);
        let job = |identities| Job {
            program: program.clone(),
            security: 40,
            threads: machine.threads as usize,
            table_memory: TABLE_MEMORY,
            identities,
            post_quantum: false,
        };
        let zeros = |party| vec![false; program.input_width(party)];
        let kinds: Vec<&'static Work> = BEYOND.iter().collect();
        beyond(machine, &script(&program, 40)?, &kinds, measured, || {
            let (_, report) = over_loopback(
                |channel, identities| garbler(channel, &job(identities), &zeros(Party::Garbler), Unobserved),
                |channel, identities| {
                    evaluator(channel, &job(identities), &zeros(Party::Evaluator), Unobserved)
                },
            )?;
            Ok(report.phases.into_iter().map(|phase| (phase.name, phase.seconds)).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_plan::{KNOWN_KERNELS, measure};
    use brickwork_primitives::cost::{Primitives, probe};

    /// A machine is measured for this protocol: every kind of work, each under a name of its own.
    #[test]
    fn all_work_is_measured() {
        let machine = measure(probe, &[&Primitives, &Jimu]).unwrap();
        assert!(machine.is_sound(), "{machine:?}");
        assert!(machine.has(Primitives.kinds().iter().chain(Jimu.kinds()).copied()), "{machine:?}");
        for (k, work) in ALL.iter().enumerate() {
            let others = Primitives.kinds().iter().chain(&ALL[..k]);
            assert!(others.clone().all(|other| other.name != work.name), "{work:?} is there twice");
            for kernel in KNOWN_KERNELS {
                let known = Machine::known(kernel, 2).seconds(work, 1.0);
                let beyond = BEYOND.iter().any(|beyond| beyond.name == work.name);
                assert!(beyond || known > 0.0, "{work:?} is not known with {kernel}");
            }
        }
        let own = [&HASH, &HASHED, &GARBLE, &COMPARE];
        assert!(own.iter().all(|work| machine.seconds(work, 1.0) > 0.0), "{machine:?}");
    }
}
