//! This protocol's own work, measured by doing a little of it.

use std::hint::black_box;
use std::sync::Arc;

use super::script;
use super::work::{ALL, BEYOND, EVALUATE, GARBLE, LEAKY_AND};
use crate::pads::Pads;
use crate::report::Authenticated;
use crate::share::{Owner, Share};
use crate::tables::{GateHash, GateMasks, evaluate, garble};
use crate::triples::{half, sums};
use crate::{evaluator, garbler};
use brickwork_base::label::Label;
use brickwork_base::random::Rng;
use brickwork_base::{Error, Party};
use brickwork_circuit::library::aes;
use brickwork_circuit::{Circuit, Gate};
use brickwork_plan::{Machine, Measure, Measured, Work, beyond, fastest, over_loopback};
use brickwork_session::{Job, TABLE_MEMORY, Unobserved};

/// The kinds of work of this protocol, besides those of the primitives.
impl Measure for Authenticated {
    fn kinds(&self) -> &'static [&'static Work] {
        ALL
    }

    fn work(&self, measured: &mut Measured) -> Result<(), Error> {
        const COUNT: usize = 1 << 13;
        let mut rng = Rng::new("brickwork calibration")?;
        let own = Owner { role: Party::Garbler, delta: rng.delta() };
        let mut shares = |count: usize| -> Vec<Share> {
            (0..count).map(|_| own.share(rng.label(), rng.below(2) as u8, rng.label())).collect()
        };
        let [x, y, r] = [(); 3].map(|()| shares(COUNT));
        let mut rng = Rng::new("brickwork calibration")?;
        let pads = Pads { start: rng.block(), factor: rng.block() };
        let theirs: Vec<Label> = (0..COUNT).map(|_| rng.label()).collect();
        let leaky = fastest(COUNT as f64, || {
            let half = half(&own, &pads, &x, &y, &r);
            black_box(sums(&own, &half, &(pads, theirs.clone()), &x, &y));
            Ok(())
        })?;
        measured.set(&LEAKY_AND, leaky);
        let mut hash = GateHash::new(1);
        let garbled = fastest(COUNT as f64, || {
            let mut last = theirs[0];
            for (i, (&a, &b)) in x.iter().zip(&y).enumerate() {
                let masks = GateMasks { a, b, mu: r[i] };
                last = garble(&mut hash, i as u64, own.delta, &masks, [last, theirs[i]]).output;
            }
            black_box(last);
            Ok(())
        })?;
        measured.set(&GARBLE, garbled);
        let gates = (0..COUNT as u32).map(|i| Gate::And(i, i + 1));
        let circuit = Circuit::new(2, gates, vec![COUNT as u32 + 1])?;
        let rows: Vec<[Label; 3]> = theirs.iter().map(|&label| [label; 3]).collect();
        let evaluated = fastest(COUNT as f64, || {
            let mut wires = theirs[..2].to_vec();
            evaluate(&circuit, &mut hash, 0, &rows, &mut wires, |_, _| {});
            black_box(wires.last().copied());
            Ok(())
        })?;
        measured.set(&EVALUATE, evaluated);
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
        let machine = measure(probe, &[&Primitives, &Authenticated]).unwrap();
        assert!(machine.is_sound(), "{machine:?}");
        assert!(machine.has(Primitives.kinds().iter().chain(Authenticated.kinds()).copied()), "{machine:?}");
        for (k, work) in ALL.iter().enumerate() {
            let others = Primitives.kinds().iter().chain(&ALL[..k]);
            assert!(others.clone().all(|other| other.name != work.name), "{work:?} is there twice");
            for kernel in KNOWN_KERNELS {
                let known = Machine::known(kernel, 2).seconds(work, 1.0);
                let beyond = BEYOND.iter().any(|beyond| beyond.name == work.name);
                assert!(beyond || known > 0.0, "{work:?} is not known with {kernel}");
            }
        }
        let own = [&LEAKY_AND, &GARBLE, &EVALUATE];
        assert!(own.iter().all(|work| machine.seconds(work, 1.0) > 0.0), "{machine:?}");
    }
}
