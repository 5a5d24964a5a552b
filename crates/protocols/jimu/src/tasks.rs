//! The cost of the protocol's separate tasks, as in figure 8 of the paper. Two real parties, connected in
//! memory, perform each task for many gates or wires at once, and a clock measures the CPU time of each
//! party.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use brickwork_base::{Error, Party};
use brickwork_circuit::{Port, Program, ProgramBuilder, Recipient, Type};
use brickwork_primitives::cut_and_choose::Bucketing;
use brickwork_primitives::ihash::{self, Words};
use brickwork_protocol::{AgreedJob, Metered, Observer, TABLE_MEMORY, Terms, Unobserved};
use brickwork_wire::memory_pair;

use crate::buckets::{Checks, DeltaKnowledge, lowest_bits};
use crate::choice::{numbers, wires_of};
use crate::gates::{CompressedLabels, GATES_AT_ONCE, LabelBuffer, add_lefts};
use crate::hooks::Hooks;
use crate::layout::{CopyKind, Supply};
use crate::parameters::{HashLevel, Sizes, Unit};
use crate::preprocess::{self, Garbled};
use crate::report::Jimu;
use crate::setup::{self, Evaluator, Garbler, SetupTerms};
use crate::solder::{HashedSolder, Pairs, Solder, Target};
use crate::{evaluator, garbler, open};

/// The cost of a task per item.
#[derive(Clone, Copy, Debug)]
pub struct TaskCost {
    /// The name of the task in the paper.
    pub name: &'static str,
    /// The number of items.
    pub items: usize,
    /// CPU seconds of the garbler and of the evaluator.
    pub seconds: [f64; 2],
    /// Bytes in both directions.
    pub bytes: f64,
}

/// A function that returns the CPU seconds of the calling thread.
pub type CpuClock = fn() -> f64;

/// A function that runs the protocol with this many wires, and returns each party's cost.
type Runs<'a> = &'a dyn Fn(usize) -> Result<[Mark; 2], Error>;

/// A party's cost at the end of a task.
#[derive(Clone, Copy, Default)]
struct Mark {
    seconds: f64,
    bytes: u64,
}

fn mark(run: &Metered, clock: CpuClock) -> Mark {
    Mark { seconds: clock(), bytes: run.channel.sent_bytes() }
}

/// Measures all tasks with this many gates, half of which are opened, and this many inputs and outputs.
///
/// # Errors
/// [`Error::Usage`] if the security is not offered, [`Error::Resource`] if the system gives no randomness.
///
/// # Panics
/// If there are fewer than four gates, or no wires.
pub fn measure(security: u32, gates: usize, wires: usize, clock: CpuClock) -> Result<Vec<TaskCost>, Error> {
    assert!(gates >= 4 && wires > 1, "a measurement needs at least four gates and two wires");
    let mut tasks = of_gates(security, gates / 2, clock)?;
    let inputs = |party: Party, count: usize| ports(security, clock, (party, count), 1);
    let cases: [(&str, Runs); 3] = [
        ("input of the garbler", &|count| inputs(Party::Garbler, count)),
        ("input of the evaluator", &|count| inputs(Party::Evaluator, count)),
        ("output", &|count| ports(security, clock, (Party::Garbler, 1), count)),
    ];
    for (name, of) in cases {
        // The cost for one item is the difference between two runs, divided by the number of items.
        let (one, many) = (of(1)?, of(wires)?);
        let each = |all: f64| all.max(0.0) / (wires - 1) as f64;
        tasks.push(TaskCost {
            name,
            items: wires - 1,
            seconds: [0, 1].map(|k| each(many[k].seconds - one[k].seconds)),
            bytes: each([0, 1].map(|k| many[k].bytes as f64 - one[k].bytes as f64).iter().sum()),
        });
    }
    Ok(tasks)
}

fn job(program: &Arc<Program>, security: u32) -> AgreedJob {
    let identities = [[1; 32], [2; 32]];
    AgreedJob::new(program.clone(), security, identities)
}

/// Notes the CPU seconds of a party when its setup ends.
struct SetUp(CpuClock, Sender<f64>);

impl Observer for SetUp {
    fn phase(&mut self, name: &'static str) {
        if name == "preprocess" {
            // If nobody reads the value any more, the error is ignored.
            let _ = self.1.send(self.0());
        }
    }

    fn progress(&mut self, _: u64, _: u64) {}
}

/// Runs without gates, with this many inputs of a party or outputs of the evaluator. Returns each party's
/// cost after its setup.
fn ports(
    security: u32,
    clock: CpuClock,
    (party, count): (Party, usize),
    outputs: usize,
) -> Result<[Mark; 2], Error> {
    let port = |count: usize| Port::new("a", Type::Array(Box::new(Type::Uint(1)), count as u32));
    let own = vec![port(count)];
    let (a, b) = if party == Party::Garbler { (own, Vec::new()) } else { (Vec::new(), own) };
    let mut program = ProgramBuilder::new("wires", a, b)?;
    program.output(port(outputs), Recipient::Evaluator, vec![0; outputs])?;
    behind_setup(&job(&Arc::new(program.finish()?), security), Unit::Gates, clock)
}

/// Returns the CPU seconds of each party's thread for a whole run of a program after its setup, as the paper
/// counts. All inputs are 0, because the time depends only on sizes.
///
/// # Errors
/// [`Error::Usage`] if the security is not offered, [`Error::Limit`] if the program is too large,
/// [`Error::Resource`] if the system gives no randomness.
pub fn whole(program: &Arc<Program>, unit: Unit, security: u32, clock: CpuClock) -> Result<[f64; 2], Error> {
    Ok(behind_setup(&job(program, security), unit, clock)?.map(|mark| mark.seconds))
}

/// Runs a program, and returns each party's cost after its setup.
fn behind_setup(job: &AgreedJob, unit: Unit, clock: CpuClock) -> Result<[Mark; 2], Error> {
    let (left, right) = memory_pair();
    let zeros = |role: Party| vec![false; job.program.input_width(role)];
    std::thread::scope(|scope| {
        let one = |role: Party, line| {
            let zeros = &zeros;
            scope.spawn(move || {
                let (noted, begun) = channel();
                let observer = SetUp(clock, noted);
                let report = match role {
                    Party::Garbler => garbler(line, job, unit, &zeros(role), observer)?,
                    Party::Evaluator => evaluator(line, job, unit, &zeros(role), observer)?,
                };
                let phases = report.phases.iter().filter(|phase| phase.name != "setup");
                let bytes = phases.map(|phase| match role {
                    Party::Garbler => phase.garbler_sent_bytes,
                    Party::Evaluator => phase.evaluator_sent_bytes,
                });
                let begun = begun.try_iter().next().unwrap_or_default();
                Ok(Mark { seconds: clock() - begun, bytes: bytes.sum() })
            })
        };
        let parties = [one(Party::Garbler, left), one(Party::Evaluator, right)];
        let [garbler, evaluator] = parties.map(|party| party.join().unwrap_or_else(|_| Err(gone())));
        Ok([garbler?, evaluator?])
    })
}

fn gone() -> Error {
    Error::Resource("one of the measured parties ended early".into())
}

/// Runs with twice `half` gates. All gates are garbled, half of them are opened, and the others are soldered
/// to each other and evaluated.
fn of_gates(security: u32, half: usize, clock: CpuClock) -> Result<Vec<TaskCost>, Error> {
    let bucketing = Bucketing { slots: half as u32, bucket: 1, opened: half as u32 };
    let level = HashLevel::of(security)?;
    let sizes = Sizes { level, unit: Unit::Gates, copies: vec![bucketing] };
    let supply = Supply { sizes, kinds: vec![CopyKind::Gate], inputs: 0, slot_wires: 0, ots: 0 };
    let terms = Terms {
        security: security.into(),
        threads: 1,
        table_memory: TABLE_MEMORY,
        identities: [[1; 32], [2; 32]],
        post_quantum: false,
    };
    let (left, right) = memory_pair();
    let (labels, active) = channel();
    let purpose = SetupTerms::stock(level);
    let marks: [Result<[Mark; 5], Error>; 2] = std::thread::scope(|scope| {
        let (terms, supply) = (&terms, &supply);
        let garbler = scope.spawn(move || {
            let run = Metered::new::<Jimu>(left, Party::Garbler, Box::new(Unobserved));
            garblers(setup::garbler(run, terms, purpose, Hooks::none())?, supply, labels, clock)
        });
        let evaluator = scope.spawn(move || {
            let run = Metered::new::<Jimu>(right, Party::Evaluator, Box::new(Unobserved));
            evaluators(setup::evaluator(run, terms, purpose, Hooks::none())?, supply, active, clock)
        });
        [garbler, evaluator].map(|party| party.join().unwrap_or_else(|_| Err(gone())))
    });
    let [garbler, evaluator] = marks;
    let marks = [garbler?, evaluator?];
    let tasks = [("garble", 2 * half), ("check", half), ("solder", half), ("evaluate", half)];
    let task = |(k, (name, items)): (usize, (&'static str, usize))| {
        let of = |party: &[Mark; 5]| party[k + 1].seconds - party[k].seconds;
        let sent = |party: &[Mark; 5]| (party[k + 1].bytes - party[k].bytes) as f64;
        TaskCost {
            name,
            items,
            seconds: marks.each_ref().map(|party| of(party) / items as f64),
            bytes: marks.iter().map(sent).sum::<f64>() / items as f64,
        }
    };
    Ok(tasks.into_iter().enumerate().map(task).collect())
}

/// Returns pairs of wires that are soldered: the wires of each gate in a bucket with those of the next one.
fn pairs(kept: &[u32], each: usize) -> Pairs {
    let mut pairs = Pairs::default();
    for (k, &gate) in kept.iter().enumerate() {
        let next = kept[(k + 1) % kept.len()] as usize;
        (0..each).for_each(|wire| pairs.push(gate as usize * each + wire, next * each + wire));
    }
    pairs
}

fn garblers(
    mut party: Garbler,
    supply: &Supply,
    labels: Sender<Words>,
    clock: CpuClock,
) -> Result<[Mark; 5], Error> {
    let mut marks = [mark(&party.run, clock); 5];
    let made = preprocess::garbler(&mut party, supply)?;
    marks[1] = mark(&party.run, clock);
    open::garbler(&mut party, supply, &made)?;
    marks[2] = mark(&party.run, clock);
    let (gates, kept) = (&made.copies[0], &made.choice.copies[0].kept);
    let (inputs, outputs) = (pairs(kept, 2), pairs(kept, 1));
    let delta = party.offset.wide.clone();
    let offset = || Target::Session(&delta);
    let solders = [
        Solder { pairs: &inputs, from: &gates.inputs, to: &gates.inputs, offset: offset() },
        Solder { pairs: &outputs, from: &gates.outputs, to: &gates.outputs, offset: offset() },
    ];
    let bits = [solders[0].open(&mut party)?, solders[1].open(&mut party)?];
    party.run.channel.flush()?;
    let seed = ihash::asked(&mut party.run.channel)?;
    let (mut of_permutations, mut of_labels) =
        (party.permutations.openings(&seed), party.labels.openings(&seed));
    solders.iter().zip(&bits).for_each(|(solder, bits)| {
        solder.prove(&mut of_permutations, &mut of_labels, bits);
    });
    of_permutations.send(&mut party.run.channel)?;
    of_labels.send(&mut party.run.channel)?;
    party.run.channel.flush()?;
    marks[3] = mark(&party.run, clock);
    // The test hashes labels of some bits.
    labels.send(gates.inputs.labels.select(wires_of(kept, 2))).map_err(|_| gone())?;
    marks[4] = marks[3];
    Ok(marks)
}

fn evaluators(
    mut party: Evaluator,
    supply: &Supply,
    active: Receiver<Words>,
    clock: CpuClock,
) -> Result<[Mark; 5], Error> {
    let mut marks = [mark(&party.run, clock); 5];
    let received = preprocess::evaluator(&mut party, supply)?;
    marks[1] = mark(&party.run, clock);
    let mut received = open::evaluator(&mut party, supply, received)?.into_received();
    marks[2] = mark(&party.run, clock);
    let (gates, kept) = (received.copies.remove(0), received.choice.copies.remove(0).kept);
    let (inputs, outputs) = (pairs(&kept, 2), pairs(&kept, 1));
    let delta = party.offset.clone();
    let offset = || Target::Session(&delta);
    let solders = [
        HashedSolder { pairs: &inputs, from: &gates.inputs, to: &gates.inputs, offset: offset() },
        HashedSolder { pairs: &outputs, from: &gates.outputs, to: &gates.outputs, offset: offset() },
    ];
    let opened = [solders[0].opened(&mut party)?, solders[1].opened(&mut party)?];
    let seed = ihash::ask(&mut party.run.channel)?;
    let mut of_permutations = party.permutations.openings(&seed, &party.points.permutation);
    let mut of_labels = party.labels.openings(&seed, &party.points.openings);
    opened.iter().flatten().for_each(|part| part.check(&mut of_permutations, &mut of_labels));
    let right = of_permutations.are_right(&mut party.run.channel)?;
    if !(right & of_labels.are_right(&mut party.run.channel)?) {
        return Err(gone());
    }
    let bits: usize = opened.iter().flatten().map(|part| lowest_bits(&part.permutations.1).len()).sum();
    assert_eq!(bits, 3 * kept.len(), "each kept gate must have three solderings");
    let operands = active.recv().map_err(|_| gone())?;
    marks[3] = mark(&party.run, clock);
    let labels = CompressedLabels::new(party.labels.code(), &party.points.compression, operands);
    let short = labels.short.as_chunks::<2>().0;
    let left = party.sight.of(&labels.wide.select((0..kept.len()).map(|k| 2 * k)));
    let Garbled::Gates(garbling, rows) = &gates.garbled else { return Err(gone()) };
    let heads = party.sight.hashes(&gates.outputs.labels.select(numbers(&kept)));
    let judging = Checks::new(&party.labels, &party.offset)?.judging(&party.sight);
    let mut recovery = DeltaKnowledge::new(party.points.openings.count());
    let (mut room, symbols) = (LabelBuffer::default(), party.level.labels.l());
    for first in (0..kept.len()).step_by(GATES_AT_ONCE) {
        let here = first..kept.len().min(first + GATES_AT_ONCE);
        let mut words = Words::zeros(symbols, here.len());
        let to = (&mut room, words.data_mut());
        garbling.evaluate(&kept[here.clone()], &short[here.clone()], rows, |k| first + k, to);
        let mut seen = party.sight.of(&words);
        add_lefts(&mut seen, &left.range(here.clone()), &short[here]);
        judging.judge(1, seen.data(), |k| heads.word(first + k), &mut recovery, |_, _, _| ())?;
    }
    marks[4] = mark(&party.run, clock);
    Ok(marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every task takes time of the party that performs it, and has the bytes of its messages.
    #[test]
    fn all_tasks_are_measured() {
        let clock: CpuClock = || {
            static BORN: std::sync::LazyLock<std::time::Instant> =
                std::sync::LazyLock::new(std::time::Instant::now);
            BORN.elapsed().as_secs_f64()
        };
        let tasks = measure(40, 600, 40, clock).unwrap();
        let names: Vec<&str> = tasks.iter().map(|task| task.name).collect();
        let inputs = ["input of the garbler", "input of the evaluator", "output"];
        assert_eq!(names, [&["garble", "check", "solder", "evaluate"], &inputs[..]].concat());
        for task in &tasks[..4] {
            assert!(task.items >= 300 && task.seconds[1] > 0.0, "{task:?}");
        }
        let level = HashLevel::of(40).unwrap();
        let opened = |hash: &ihash::HashParameters, count: usize| ihash::opened_bytes(hash, count) as f64;
        let [labels, messages] = [opened(&level.labels, 300), opened(&level.permutations, 300)];
        // An opened gate needs two labels and three messages, and a soldered gate three of each. The cost of
        // combinations is divided among all gates.
        let expected = [2.0 * labels + 3.0 * messages, 3.0 * (labels + messages)].map(|all| all / 300.0);
        for (task, expected) in tasks[1..3].iter().zip(expected) {
            assert!(task.bytes > expected && task.bytes < expected + 10.0, "{task:?} {expected}");
        }
        assert_eq!(tasks[3].bytes, 0.0);
        // Each output has a symbol of 6 bits, 0.75 bytes, in the decoding message.
        assert!(tasks[6].bytes > 0.6 && tasks[6].bytes < 1.0, "{:?}", tasks[6]);
    }
}
