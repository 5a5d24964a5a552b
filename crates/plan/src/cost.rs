//! What a run costs: a script, read with the constants of a machine and of a link.

use serde::Serialize;

use crate::clock::Clock;
use crate::link::Link;
use crate::machine::Machine;
use crate::rounds::Hops;
use crate::script::{Action, Script};
use brickwork_base::Party;

/// What one phase will take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseCost {
    /// Its name, one of the protocol's.
    pub name: &'static str,
    /// Wall time at the evaluator, estimated.
    pub seconds: f64,
    /// Bytes that the garbler sends: payload and framing. Exact.
    pub garbler_sent_bytes: u64,
    /// Bytes that the evaluator sends. Exact.
    pub evaluator_sent_bytes: u64,
    /// Times that a message crosses the link and the evaluator cannot go on before. Two of them are a round
    /// trip. Exact.
    pub crossings: u64,
}

impl PhaseCost {
    fn of(name: &'static str) -> Self {
        PhaseCost { name, seconds: 0.0, garbler_sent_bytes: 0, evaluator_sent_bytes: 0, crossings: 0 }
    }
}

/// What a whole computation will take.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// In their order.
    pub phases: Vec<PhaseCost>,
    /// CPU time of both parties, estimated.
    pub cpu_seconds: f64,
    /// Peak memory of the garbler in bytes, estimated.
    pub garbler_memory_bytes: u64,
    /// Peak memory of the evaluator in bytes, estimated.
    pub evaluator_memory_bytes: u64,
    /// Bytes of temporary files.
    pub disk_bytes: u64,
}

impl Cost {
    /// Returns the estimated seconds of all phases.
    pub fn seconds(&self) -> f64 {
        self.phases.iter().map(|phase| phase.seconds).sum()
    }

    /// Returns the exact bytes in both directions.
    pub fn bytes(&self) -> u64 {
        self.phases.iter().map(|phase| phase.garbler_sent_bytes + phase.evaluator_sent_bytes).sum()
    }

    /// Returns the peak memory of a party in bytes, estimated.
    pub fn memory_bytes(&self, party: Party) -> u64 {
        match party {
            Party::Garbler => self.garbler_memory_bytes,
            Party::Evaluator => self.evaluator_memory_bytes,
        }
    }

    /// Returns the same with so many seconds more of other work in a phase.
    #[must_use]
    pub fn with_work(mut self, phase: &str, seconds: f64) -> Self {
        self.phases.iter_mut().filter(|of| of.name == phase).for_each(|of| of.seconds += seconds);
        self.cpu_seconds += seconds;
        self
    }

    /// Crossings of all phases.
    pub fn crossings(&self) -> u64 {
        self.phases.iter().map(|phase| phase.crossings).sum()
    }
}

/// Returns what a run costs on these machines, both alike, over this link.
pub fn predict(script: &Script, machine: &Machine, link: &Link) -> Cost {
    let mut phases: Vec<PhaseCost> = Vec::new();
    let mut clock = Clock::new(machine, link);
    let mut hops = Hops::default();
    let (mut running, mut since) = (0, (0.0, 0));
    for step in script.steps() {
        if let Action::Phase(name) = *step {
            running = phases.iter().position(|phase| phase.name == name).unwrap_or_else(|| {
                phases.push(PhaseCost::of(name));
                phases.len() - 1
            });
        }
        clock.step(step);
        hops.step(step);
        let phase = &mut phases[running];
        let now = (clock.time(Party::Evaluator), hops.evaluator);
        phase.seconds += now.0 - since.0;
        phase.crossings += now.1 - since.1;
        since = now;
        match step.sent_bytes(link.lanes) {
            Some((Party::Garbler, bytes)) => phase.garbler_sent_bytes += bytes,
            Some((Party::Evaluator, bytes)) => phase.evaluator_sent_bytes += bytes,
            None => {}
        }
        if let Action::Beyond { work, units } = *step {
            phase.seconds += machine.seconds(work, units);
        }
    }
    phases.sort_by_key(|phase| script.phases().iter().position(|name| *name == phase.name));
    let [garbler_memory_bytes, evaluator_memory_bytes] = script.memory_bytes;
    Cost {
        phases,
        cpu_seconds: clock.cpu,
        garbler_memory_bytes,
        evaluator_memory_bytes,
        disk_bytes: script.disk_bytes,
    }
}

/// What another cut of a program must be predicted to take at most, as a part of the time of the cut that was
/// asked for. Two predictions for one program err by less against each other (`docs/cost-model.md` has the
/// table), so a run is hardly ever slower than it would be without any choice.
pub const WORTH_ANOTHER_CUT: f64 = 0.85;

/// Returns the place of the cut that is taken among those with these costs, of which the first is the one
/// that the program has: that one, unless the fastest is faster by more than predictions err.
pub fn best_cut<'a>(costs: impl IntoIterator<Item = &'a Cost>) -> Option<usize> {
    let seconds: Vec<f64> = costs.into_iter().map(Cost::seconds).collect();
    let fastest = (0..seconds.len()).min_by(|&a, &b| seconds[a].total_cmp(&seconds[b]))?;
    Some(if seconds[fastest] <= WORTH_ANOTHER_CUT * seconds[0] { fastest } else { 0 })
}
