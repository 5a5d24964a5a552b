//! The cost of a run: the evaluation of a script with the constants of a machine and of a link.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::clock::PlanClock;
use crate::link::Link;
use crate::machine::Machine;
use crate::rounds::Hops;
use crate::script::{Script, ScriptStep};
use brickwork_base::Party;

/// The predicted cost of one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseCost {
    /// The phase's name in the protocol.
    pub name: Cow<'static, str>,
    /// Wall time at the evaluator, estimated.
    pub seconds: f64,
    /// Bytes that the garbler sends: payload and framing. The value is exact.
    pub garbler_sent_bytes: u64,
    /// Bytes that the evaluator sends. The value is exact.
    pub evaluator_sent_bytes: u64,
    /// Number of messages in sequence that the evaluator must wait for. Two of them are a round trip. The
    /// value is exact.
    pub crossings: u64,
}

impl PhaseCost {
    fn of(name: &'static str) -> Self {
        PhaseCost {
            name: name.into(),
            seconds: 0.0,
            garbler_sent_bytes: 0,
            evaluator_sent_bytes: 0,
            crossings: 0,
        }
    }
}

/// The predicted cost of a whole computation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Shown", into = "Shown")]
pub struct Cost {
    /// The phases, in their order.
    pub phases: Vec<PhaseCost>,
    /// CPU time of both parties, estimated.
    pub cpu_seconds: f64,
    /// Peak memory of each party in bytes, estimated.
    pub memory_bytes: PartyBytes,
    /// Bytes of each party's temporary files.
    pub disk_bytes: PartyBytes,
}

/// The form of a [`Cost`] in reports, with its sums.
#[derive(Serialize, Deserialize)]
struct Shown {
    phases: Vec<PhaseCost>,
    seconds: f64,
    cpu_seconds: f64,
    round_trips: f64,
    memory_bytes: PartyBytes,
    disk_bytes: PartyBytes,
}

/// Bytes at each of both parties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartyBytes {
    /// The garbler's.
    pub garbler: u64,
    /// The evaluator's.
    pub evaluator: u64,
}

impl PartyBytes {
    /// Returns the bytes of one party.
    pub fn of(self, party: Party) -> u64 {
        match party {
            Party::Garbler => self.garbler,
            Party::Evaluator => self.evaluator,
        }
    }
}

impl From<[u64; 2]> for PartyBytes {
    fn from([garbler, evaluator]: [u64; 2]) -> Self {
        PartyBytes { garbler, evaluator }
    }
}

impl From<Cost> for Shown {
    fn from(cost: Cost) -> Self {
        Shown {
            seconds: cost.seconds(),
            cpu_seconds: cost.cpu_seconds,
            round_trips: cost.crossings() as f64 / 2.0,
            memory_bytes: cost.memory_bytes,
            disk_bytes: cost.disk_bytes,
            phases: cost.phases,
        }
    }
}

impl From<Shown> for Cost {
    fn from(Shown { phases, cpu_seconds, memory_bytes, disk_bytes, .. }: Shown) -> Self {
        Cost { phases, cpu_seconds, memory_bytes, disk_bytes }
    }
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

    /// Returns the same cost with this many additional seconds of other work in a phase.
    #[must_use]
    pub fn with_work(mut self, phase: &str, seconds: f64) -> Self {
        self.phases.iter_mut().filter(|of| of.name == phase).for_each(|of| of.seconds += seconds);
        self.cpu_seconds += seconds;
        self
    }

    /// Returns the number of crossings of all phases.
    pub fn crossings(&self) -> u64 {
        self.phases.iter().map(|phase| phase.crossings).sum()
    }
}

/// Returns the cost of a run over this link, of two parties that share the cores of this machine. On two
/// machines, the traffic of the run is the same, and it takes at most this time.
pub fn predict(script: &Script, machine: &Machine, link: &Link) -> Cost {
    let mut reading = Reading::new(machine, link);
    for (place, step) in script.steps().iter().enumerate() {
        match *step {
            ScriptStep::Again { steps, times } => reading.again(&script.steps()[place - steps..place], times),
            _ => reading.step(step),
        }
    }
    let Reading { mut phases, clock, .. } = reading;
    phases.sort_by_key(|phase| script.phases().iter().position(|name| *name == phase.name));
    let (memory_bytes, disk_bytes) = (script.memory_bytes.into(), script.disk_bytes.into());
    Cost { phases, cpu_seconds: clock.cpu, memory_bytes, disk_bytes }
}

/// The number of repetitions that are evaluated step by step. Each further repetition counts as long as the
/// last of them.
const FOLLOWED: u64 = 32;

/// The state of the evaluation of a script.
#[derive(Clone)]
struct Reading<'m> {
    machine: &'m Machine,
    link: &'m Link,
    clock: PlanClock<'m>,
    hops: Hops,
    /// The phases in the order in which they began.
    phases: Vec<PhaseCost>,
    /// The index of the running phase.
    running: usize,
}

impl<'m> Reading<'m> {
    fn new(machine: &'m Machine, link: &'m Link) -> Self {
        let (clock, hops) = (PlanClock::new(machine, link), Hops::default());
        Reading { machine, link, clock, hops, phases: Vec::new(), running: 0 }
    }

    fn step(&mut self, step: &ScriptStep) {
        if let ScriptStep::Phase(name) = *step {
            let known = self.phases.iter().position(|phase| phase.name == name);
            self.running = known.unwrap_or(self.phases.len());
            if known.is_none() {
                self.phases.push(PhaseCost::of(name));
            }
        }
        let since = (self.clock.time(Party::Evaluator), self.hops.evaluator);
        self.clock.step(step);
        self.hops.step(step);
        let phase = &mut self.phases[self.running];
        phase.seconds += self.clock.time(Party::Evaluator) - since.0;
        phase.crossings += self.hops.evaluator - since.1;
        match step.sent_bytes(self.link.lanes) {
            Some((Party::Garbler, bytes)) => phase.garbler_sent_bytes += bytes,
            Some((Party::Evaluator, bytes)) => phase.evaluator_sent_bytes += bytes,
            None => {}
        }
        if let ScriptStep::Beyond { work, units } = *step {
            phase.seconds += self.machine.seconds(work, units);
        }
    }

    /// Repeats steps that have been evaluated once.
    fn again(&mut self, steps: &[ScriptStep], times: u64) {
        let followed = times.min(FOLLOWED);
        let mut before = None;
        for k in 1..=followed {
            if k == followed && times > followed {
                before = Some(self.clone());
            }
            steps.iter().for_each(|step| self.step(step));
        }
        if let Some(before) = before {
            self.advance(&before, times - followed);
        }
    }

    /// Adds this many times the cost since `before`.
    fn advance(&mut self, before: &Self, times: u64) {
        self.clock.advance(&before.clock, times);
        self.hops.advance(&before.hops, times);
        for (phase, before) in self.phases.iter_mut().zip(&before.phases) {
            phase.seconds += times as f64 * (phase.seconds - before.seconds);
            phase.crossings += times * (phase.crossings - before.crossings);
            phase.garbler_sent_bytes += times * (phase.garbler_sent_bytes - before.garbler_sent_bytes);
            phase.evaluator_sent_bytes += times * (phase.evaluator_sent_bytes - before.evaluator_sent_bytes);
        }
    }
}

/// The program's own cut is replaced only by a cut whose predicted time is at most this fraction of its own
/// predicted time. The error of a quotient of two predictions for one program is smaller than that of a
/// prediction (`docs/concepts/cost-model.md` has the table). So a run is hardly ever slower than with the
/// program's own cut.
pub const WORTH_ANOTHER_CUT: f64 = 0.85;

/// Returns the index of the cut that a run takes. This is the first cut, which the program has, unless the
/// fastest cut is faster by more than the error of predictions.
pub fn best_cut<'a>(costs: impl IntoIterator<Item = &'a Cost>) -> Option<usize> {
    let seconds: Vec<f64> = costs.into_iter().map(Cost::seconds).collect();
    let fastest = (0..seconds.len()).min_by(|&a, &b| seconds[a].total_cmp(&seconds[b]))?;
    Some(if seconds[fastest] <= WORTH_ANOTHER_CUT * seconds[0] { fastest } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::KNOWN_KERNELS;
    use brickwork_base::Party::{Evaluator, Garbler};

    static WORK: crate::WorkKind =
        crate::WorkKind { name: "test.repeated", known: [1e-6; KNOWN_KERNELS.len()] };

    /// Repeated steps cost exactly as much as the same steps written out, in bytes and crossings.
    #[test]
    fn what_is_repeated_is_what_is_written_out() {
        let machine = Machine::known(KNOWN_KERNELS[0], 2);
        let stretches: [fn(&mut Script); 3] = [
            // A message and its answer, with work at both parties.
            |script| {
                script.phase("first");
                script.message(Evaluator, 1000);
                script.work(Garbler, &WORK, 300, 1);
                script.phase("second");
                script.messages(Garbler, 1 << 20, 3);
                script.work(Evaluator, &WORK, 200, 1);
            },
            // Only one party sends, and it waits for nothing. So its clock is ahead of the other's.
            |script| {
                script.phase("first");
                script.work(Garbler, &WORK, 100, 1);
                script.message(Garbler, 1 << 16);
                script.work(Evaluator, &WORK, 900, 1);
            },
            |script| {
                script.phase("second");
                script.exchange([700], [500]);
                script.beyond(&WORK, 7);
                let posted = script.post(|script| script.message(Garbler, 50));
                script.read(Evaluator, posted);
                script.message(Evaluator, 20);
            },
        ];
        for link in [Link::LOOPBACK, Link { bits_per_second: Some(1e8), rtt_seconds: 0.02, lanes: 1 }] {
            for (stretch, steps) in stretches.into_iter().enumerate() {
                for times in [0, 1, 2, FOLLOWED, FOLLOWED + 1, FOLLOWED + 2, 500] {
                    let begun = || {
                        let mut script = Script::new(&["first", "second"]);
                        script.phase("first");
                        script.message(Evaluator, 10);
                        script
                    };
                    let (mut short, mut long) = (begun(), begun());
                    short.repeat(times, steps);
                    (0..times).for_each(|_| steps(&mut long));
                    for script in [&mut short, &mut long] {
                        script.message(Garbler, 77);
                    }
                    let at = format!("stretch {stretch}, {times} times");
                    assert_eq!(short.sent_bytes(1), long.sent_bytes(1), "{at}");
                    assert_eq!(short.units_beyond(&WORK), long.units_beyond(&WORK), "{at}");
                    let [short, long] = [short, long].map(|script| predict(&script, &machine, &link));
                    for (short, long) in short.phases.iter().zip(&long.phases) {
                        let exact = |phase: &PhaseCost| {
                            (
                                phase.name.clone(),
                                phase.garbler_sent_bytes,
                                phase.evaluator_sent_bytes,
                                phase.crossings,
                            )
                        };
                        assert_eq!(exact(short), exact(long), "{at}");
                        let close = (short.seconds - long.seconds).abs() <= 1e-6 * long.seconds.max(1e-3);
                        assert!(close, "{at}: {} {}", short.seconds, long.seconds);
                    }
                    assert_eq!(short.phases.len(), long.phases.len(), "{at}");
                    let close = (short.cpu_seconds - long.cpu_seconds).abs() <= 1e-6 * long.cpu_seconds;
                    assert!(close, "{at}: {} {}", short.cpu_seconds, long.cpu_seconds);
                }
            }
        }
    }
}
