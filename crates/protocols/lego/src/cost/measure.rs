//! Measures, with a real run, how much longer a run takes than its counted work and messages.

use std::sync::Arc;

use super::script;
use super::work::{ALL, BEYOND};
use crate::report::Lego;
use crate::{evaluator, garbler, parameters};
use brickwork_base::{Error, Party};
use brickwork_circuit::library::aes;
use brickwork_plan::{Machine, Measure, MeasuredWork, WorkKind, beyond, over_loopback};
use brickwork_protocol::{AgreedJob, Unobserved};

/// The statistical security of the measured runs, in bits.
const SECURITY: u32 = 40;

/// Measures this protocol's own kinds of work.
impl Measure for Lego {
    fn kinds(&self) -> &'static [&'static WorkKind] {
        ALL
    }

    /// All work of LEGO is that of the primitives.
    fn work(&self, _measured: &mut MeasuredWork) -> Result<(), Error> {
        Ok(())
    }

    /// Measures how much longer each phase of a run of two AES takes than its counted work and messages.
    fn runs(&self, machine: &Machine, measured: &mut MeasuredWork) -> Result<(), Error> {
        let program = Arc::new(aes::aes_128()?.repeat(2)?);
        let job = |identities| AgreedJob {
            threads: machine.threads as usize,
            ..AgreedJob::new(program.clone(), SECURITY, identities)
        };
        let zeros = |party| vec![false; program.input_width(party)];
        let kinds: Vec<&'static WorkKind> = BEYOND.iter().collect();
        let script = script(&program, &parameters(&program, SECURITY)?)?;
        beyond(machine, &script, &kinds, measured, || {
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
    use brickwork_harness::measured::check_all_work_is_measured;
    use brickwork_plan::KNOWN_KERNELS;

    /// The times that grow with the program are known for every kernel, too.
    #[test]
    fn all_work_is_measured() {
        check_all_work_is_measured(&Lego, &BEYOND);
        for kernel in KNOWN_KERNELS {
            let machine = Machine::known(kernel, 2);
            assert!(BEYOND.iter().all(|work| machine.seconds(work, 1.0) > 0.0), "{kernel}");
        }
    }
}
