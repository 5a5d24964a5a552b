//! Runs of both parties, each in its process over TLS, on random inputs; every output is checked.

use brickwork::circuit::{self, Party, value};
use brickwork::cut::{Cut, CutChoice};
use brickwork::engine::both::Both;
use brickwork::engine::request::{AgreedParameters, BucketChoice, LinkSpeed, RunRequest};
use brickwork::engine::role;
use brickwork::plan::Cost;
use brickwork::program::repeated;
use brickwork::protocol::{PhaseReport, Promise};
use brickwork::random::Rng;
use brickwork::reading::output_value;
use brickwork::{Program, Report};
use brickwork_cli::parts::{Failure, ResourceFlags, in_processes};
use brickwork_kernels::{Kernel, SecretBlocks};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempDir;

/// Both parties, in the order of their values.
pub const PARTIES: [Party; 2] = [Party::Garbler, Party::Evaluator];

/// A value of each party.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct OfBoth<T> {
    pub garbler: T,
    pub evaluator: T,
}

impl<T> From<[T; 2]> for OfBoth<T> {
    fn from([garbler, evaluator]: [T; 2]) -> Self {
        OfBoth { garbler, evaluator }
    }
}

/// The simulated network between the parties.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct SimulatedLine {
    bits_per_second: Option<u64>,
    rtt_seconds: f64,
}

impl From<LinkSpeed> for SimulatedLine {
    fn from(link: LinkSpeed) -> Self {
        SimulatedLine { bits_per_second: link.bits_per_second, rtt_seconds: link.rtt.as_secs_f64() }
    }
}

/// A phase of one of several executions, whose bytes need not be integers.
#[derive(Clone, Serialize, Deserialize)]
pub struct Phase {
    pub name: String,
    pub seconds: f64,
    pub garbler_sent_bytes: f64,
    pub evaluator_sent_bytes: f64,
}

/// Random inputs of a program, and its outputs without a protocol.
pub struct Trial {
    inputs: [SecretBlocks<bool>; 2],
    /// The inputs, in the form of a file.
    pub values: [Value; 2],
    /// The outputs as bits, and in the form of a file.
    expected: [Vec<bool>; 2],
    pub outputs: [Value; 2],
}

/// Returns the CPU seconds of a party's process.
pub fn cpu_seconds(report: &brickwork::Report) -> f64 {
    report.cpu_seconds.unwrap_or_default()
}

impl Trial {
    /// Draws inputs for all executions.
    pub fn draw(program: &circuit::Program, executions: Option<u32>) -> Result<Self, Failure> {
        let repeated = repeated(program, executions)?;
        let mut rng = Rng::new("brickwork bench inputs")?;
        let inputs = PARTIES.map(|party| {
            let mut bytes = vec![0; repeated.input_width(party)];
            rng.fill(&mut bytes);
            bytes.iter().map(|byte: &u8| byte & 1 == 1).collect::<Vec<bool>>()
        });
        let outputs = repeated.simulate(&inputs[0], &inputs[1]);
        let outputs = PARTIES.map(|party| repeated.output_bits(party, &outputs));
        let value = |party: Party| {
            let (ports, bits) = (program.input_ports(party), &inputs[party as usize]);
            match (executions, program.input_width(party)) {
                (_, 0) => Value::Null,
                (None, _) => value::decode(ports, bits),
                (Some(_), width) => bits.chunks(width).map(|bits| value::decode(ports, bits)).collect(),
            }
        };
        Ok(Trial {
            values: PARTIES.map(value),
            outputs: PARTIES.map(|party| output_value(program, party, executions, &outputs[party as usize])),
            expected: outputs,
            inputs: inputs.map(SecretBlocks::new),
        })
    }

    /// Runs both parties on these inputs. Every output must be the same as without a protocol.
    pub fn run(&self, both: &Both, quiet: bool) -> Result<[Report; 2], Failure> {
        let ran = in_processes(both, &self.inputs, quiet)?;
        match PARTIES.into_iter().find(|&party| ran[party as usize].outputs != self.expected[party as usize])
        {
            None => Ok(ran.map(|ran| ran.report)),
            Some(party) => Err(Failure::fault(format!(
                "the output of the {} is not that of the simulation",
                role(party)
            ))),
        }
    }
}

/// The rounds of one request: each with two new processes.
pub struct Rounds(pub Vec<[Report; 2]>);

impl Rounds {
    /// Returns the median of a number of each round.
    pub fn median(&self, of: impl Fn(&[Report; 2]) -> f64) -> f64 {
        median(self.0.iter().map(of).collect())
    }

    /// Returns the median time of these phases at the evaluator.
    pub fn seconds(&self, phases: &[PhaseReport]) -> f64 {
        let named = |phase: &&PhaseReport| phases.iter().any(|of| of.name == phase.name);
        self.median(|[_, said]| said.phases.iter().filter(named).map(|phase| phase.seconds).sum())
    }

    /// Returns an error if the phases differ from those of the first round in name or in bytes, because the
    /// protocol and the program determine both.
    pub fn check(&self) -> Result<(), Failure> {
        let is_same = |a: &PhaseReport, b: &PhaseReport| {
            let bytes = |phase: &PhaseReport| [phase.garbler_sent_bytes, phase.evaluator_sent_bytes];
            a.name == b.name && bytes(a) == bytes(b)
        };
        let first = &self.0[0][1].phases;
        let are_same = |[_, said]: &[Report; 2]| {
            said.phases.len() == first.len() && said.phases.iter().zip(first).all(|(a, b)| is_same(a, b))
        };
        match self.0.iter().all(are_same) {
            true => Ok(()),
            false => Err(Failure::fault("the bytes of the phases differ from round to round")),
        }
    }

    /// Returns the largest peak of memory of each party.
    pub fn peak_rss_bytes(&self) -> OfBoth<Option<u64>> {
        [0, 1]
            .map(|party| self.0.iter().filter_map(|round| round[party].peak_rss_bytes.flatten()).max())
            .into()
    }
}

/// The cost of runs in several rounds: medians.
#[derive(Clone, Serialize, Deserialize)]
pub struct MeasuredRuns {
    /// The phases of one execution.
    pub phases: Vec<Phase>,
    pub cut: String,
    pub executions: u32,
    pub rounds: usize,
    pub predicted: Option<Cost>,
    pub seconds: f64,
    pub seconds_after_setup: f64,
    /// The number of AND gates of all executions together.
    pub and_gates: u64,
    /// `None` for a program that has only XOR gates.
    pub and_per_second: Option<f64>,
    pub cpu_us_per_and: Option<f64>,
    pub cpu_seconds: f64,
    pub peak_rss_bytes: OfBoth<Option<u64>>,
    pub promise: Promise,
    pub kernel: String,
    pub threads: usize,
    lanes: u8,
    link: SimulatedLine,
}

/// Returns the cost of runs by `both` on random inputs.
pub fn measure(both: &Both, count: u32, quiet: bool) -> Result<MeasuredRuns, Failure> {
    let (program, executions) = (both.program.given(), both.request.parameters.executions);
    let mut rounds = Vec::new();
    for round in 1..=count {
        // A warning is shown only in the first round.
        let ran = Trial::draw(program, executions)?.run(both, quiet || round > 1);
        rounds.push(ran.map_err(|failure| failure.within(&format!("round {round}")))?);
    }
    let executions = executions.unwrap_or(1);
    let (rounds, n, and_gates) =
        (Rounds(rounds), f64::from(executions), program.and_gates() * u64::from(executions));
    rounds.check()?;
    let [garbler, evaluator] = &rounds.0[0];
    if rounds.0.iter().any(|[_, said]| said.cut != evaluator.cut) {
        return Err(Failure::other(
            "not every round took the same cut of the program",
            "say which one is to be timed: --cut given, or another one that `brickwork plan` shows",
        ));
    }
    let of_one = |phase: &PhaseReport| Phase {
        name: phase.name.clone().into_owned(),
        seconds: rounds.seconds(std::slice::from_ref(phase)) / n,
        garbler_sent_bytes: phase.garbler_sent_bytes as f64 / n,
        evaluator_sent_bytes: phase.evaluator_sent_bytes as f64 / n,
    };
    let after_setup = rounds.seconds(evaluator.phases.get(1..).unwrap_or_default());
    let cpu = rounds.median(|[garbler, evaluator]| cpu_seconds(garbler) + cpu_seconds(evaluator));
    let per_and = |value: f64| (and_gates > 0).then_some(value);
    let resources = both.request.resources;
    Ok(MeasuredRuns {
        phases: evaluator.phases.iter().map(of_one).collect(),
        cut: evaluator.cut.to_string(),
        executions,
        rounds: rounds.0.len(),
        predicted: garbler.predicted.clone(),
        seconds: rounds.seconds(&evaluator.phases),
        seconds_after_setup: after_setup,
        and_gates,
        and_per_second: per_and(and_gates as f64 / after_setup),
        cpu_us_per_and: per_and(cpu * 1e6 / and_gates as f64),
        cpu_seconds: cpu,
        peak_rss_bytes: rounds.peak_rss_bytes(),
        promise: evaluator.promise.clone(),
        kernel: Kernel::best().name().into(),
        threads: threads(resources.threads),
        lanes: resources.lanes,
        link: both.request.line.into(),
    })
}

/// Returns the number of threads of a party that may have this many.
fn threads(given: Option<u16>) -> usize {
    given.map_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()), usize::from)
}

/// The flags for measuring runs in a given cut.
pub struct Setting<'a> {
    pub resources: &'a ResourceFlags,
    pub line: LinkSpeed,
    pub buckets: BucketChoice,
    pub rounds: u32,
}

impl Setting<'_> {
    /// Returns the cost of runs of a program in this cut.
    pub fn measure(
        &self,
        program: &Program,
        parameters: AgreedParameters,
        cut: &Cut,
    ) -> Result<MeasuredRuns, Failure> {
        let request = RunRequest {
            resources: self.resources.of_request(),
            line: self.line,
            buckets: self.buckets,
            cut: CutChoice::Fixed(cut.clone()),
            ..RunRequest::new(parameters)
        };
        let measured = measure(&Both::of(program, &request), self.rounds, true);
        measured.map_err(|failure| failure.within(&format!("{}, {cut}", program.name())))
    }
}

/// Makes a temporary folder, which is deleted when this is dropped.
pub fn folder() -> Result<TempDir, Failure> {
    tempfile::tempdir().map_err(|e| Failure::cannot_write(&std::env::temp_dir(), &e))
}

/// Returns the median, or the mean of the two middle values; 0 for no values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |i: usize| values.get(i).copied().unwrap_or_default();
    match values.len() {
        n if n % 2 == 1 => at(n / 2),
        0 => 0.0,
        n => (at(n / 2 - 1) + at(n / 2)) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), 0.0);
        assert_eq!(median(vec![3.0]), 3.0);
        assert_eq!(median(vec![5.0, 1.0]), 3.0);
        assert_eq!(median(vec![5.0, 1.0, 100.0]), 5.0);
    }
}
