//! Checks of measured machines.

use brickwork_plan::{KNOWN_KERNELS, Machine, Measure, WorkKind, measure};
use brickwork_primitives::cost::{Primitives, probe};

/// Measures this machine for a protocol and checks the result. Every kind of work has a unique name and takes
/// some time, on this machine and on the machines in the tables. The time `beyond` the sum of a run's parts
/// may be 0.
///
/// # Panics
/// If a check fails.
pub fn check_all_work_is_measured(protocol: &'static dyn Measure, beyond: &[WorkKind]) {
    let machine = measure(probe, &[&Primitives, protocol]).expect("a machine that can be measured");
    assert!(machine.is_sound(), "{machine:?}");
    let all: Vec<&WorkKind> = [Primitives.kinds(), protocol.kinds()].concat();
    assert!(machine.has(Primitives.kinds().iter().chain(protocol.kinds()).copied()), "{machine:?}");
    for (k, work) in all.iter().enumerate() {
        assert!(all[..k].iter().all(|other| other.name != work.name), "{work:?} is there twice");
        if beyond.iter().any(|beyond| beyond.name == work.name) {
            continue;
        }
        assert!(machine.seconds(work, 1.0) > 0.0, "{work:?} takes no time: {machine:?}");
        for kernel in KNOWN_KERNELS {
            let known = Machine::known(kernel, 2).seconds(work, 1.0);
            assert!(known > 0.0, "{work:?} is not known with {kernel}");
        }
    }
}
