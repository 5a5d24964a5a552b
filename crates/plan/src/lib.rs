//! What a computation costs, known before it runs: bytes exactly, rounds exactly, seconds and memory as
//! estimates.
//!
//! `plan/script.rs` writes the protocol down as a list of steps, messages and work, for a program and its
//! parameters. Three readings of that one list give everything else: the sum of its messages is the traffic,
//! the length of the chain of messages that wait for each other is the number of rounds, and with the
//! constants of a [`Machine`] and of a [`Link`] its longest path is the time. The model is derived in
//! `docs/cost-model.md`.
#![forbid(unsafe_code)]

mod known;
mod machine;
mod scale;
mod script;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use brickwork_base::Error;
use brickwork_circuit::{Party, Program};
use brickwork_duplo::{Duplo, Parameters, memory};
use brickwork_primitives::commit::code::Code;
use brickwork_session::Protocol;
use brickwork_wire as wire;

pub use machine::Machine;
pub use scale::{Rate, Scale, scale};
use script::{Step, script};

/// What lies between the parties.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// In each direction; none is as fast as the machine's own loopback.
    pub bits_per_second: Option<f64>,
    /// Of a message there and back.
    pub rtt_seconds: f64,
    /// Connections that carry bulk data in parallel.
    pub lanes: u8,
}

impl Link {
    /// Two processes of one machine.
    pub const LOOPBACK: Link = Link { bits_per_second: None, rtt_seconds: 0.0, lanes: 1 };
}

/// What one phase will take.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseCost {
    /// setup, preprocess, prepare, build, evaluate or decode.
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
    /// Bytes of the evaluator's temporary file.
    pub disk_bytes: u64,
}

impl Cost {
    /// Estimated seconds of all phases.
    pub fn seconds(&self) -> f64 {
        self.phases.iter().map(|phase| phase.seconds).sum()
    }

    /// Exact bytes in both directions.
    pub fn bytes(&self) -> u64 {
        self.phases.iter().map(|phase| phase.garbler_sent_bytes + phase.evaluator_sent_bytes).sum()
    }

    /// The same with so many seconds more of other work in a phase.
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

/// What a run of `program` with these parameters costs on these machines, both alike, over this link.
pub fn predict(program: &Program, parameters: &Parameters, machine: &Machine, link: &Link) -> Cost {
    let steps = script(program, parameters);
    let mut phases: Vec<PhaseCost> = Vec::new();
    let mut clock = Clock::new(machine, link);
    let mut hops = Hops::default();
    let (mut running, mut since) = (0, (0.0, 0));
    for step in &steps {
        if let Step::Phase(name) = step {
            running = phases.iter().position(|phase| phase.name == *name).unwrap_or_else(|| {
                phases.push(PhaseCost {
                    name,
                    seconds: 0.0,
                    garbler_sent_bytes: 0,
                    evaluator_sent_bytes: 0,
                    crossings: 0,
                });
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
        if let Step::Message { from, payload, times, bulk, .. } = *step {
            let bytes = times * message_bytes(payload, if bulk { link.lanes } else { 1 });
            match from {
                Party::Garbler => phase.garbler_sent_bytes += bytes,
                Party::Evaluator => phase.evaluator_sent_bytes += bytes,
            }
        }
    }
    phases.sort_by_key(|phase| Duplo::phase_order(phase.name));
    // The machine knows what a run of one component takes besides; components are preprocessed one after the
    // other.
    let components = parameters.components.iter().filter(|cut| cut.slots > 0).count().max(1);
    for phase in &mut phases {
        let times = if phase.name == "preprocess" { components } else { 1 };
        phase.seconds += times as f64 * machine.beyond(phase.name);
    }
    let [garbler_memory_bytes, evaluator_memory_bytes] = memory::peaks(program, parameters);
    Cost {
        phases,
        cpu_seconds: clock.cpu,
        garbler_memory_bytes,
        evaluator_memory_bytes,
        disk_bytes: memory::files(program, parameters),
    }
}

/// What a choice of buckets may take longer than the fastest one if it sends less. Seconds are estimates,
/// bytes are exact and others share the line.
pub const AS_GOOD_AS_FASTEST: f64 = 1.1;

/// The parameters with which a run of `program` at `security` bits is expected to take least on these
/// machines over this link: the cheapest buckets at the prices here, and of the component that dominates
/// whichever is then predicted to be fastest, or as good as fastest with fewer bytes.
///
/// # Errors
/// As [`Parameters::choose`].
pub fn choose(program: &Program, security: u32, machine: &Machine, link: &Link) -> Result<Parameters, Error> {
    let length = Code::for_security(security).map_or(0, |code| code.length());
    let first = Parameters::choose_at(program, security, &machine.prices(length, link))?;
    let mut all = first.alternatives(program)?;
    all.insert(0, first);
    let costs: Vec<Cost> = all.iter().map(|parameters| predict(program, parameters, machine, link)).collect();
    Ok(all.swap_remove(best(&costs).unwrap_or(0)))
}

/// The place of the choice of buckets that is taken among these: of the fastest one and those that are hardly
/// slower, the one that sends least.
fn best<'a>(costs: impl IntoIterator<Item = &'a Cost, IntoIter: Clone>) -> Option<usize> {
    let costs = costs.into_iter();
    let fastest = costs.clone().map(Cost::seconds).fold(f64::INFINITY, f64::min);
    let good = costs.enumerate().filter(|(_, cost)| cost.seconds() <= AS_GOOD_AS_FASTEST * fastest);
    good.min_by_key(|(_, cost)| cost.bytes()).map(|(place, _)| place)
}

/// What another cut of a program must be predicted to take at most, as a part of the time of the cut that was
/// asked for. Two predictions for one program err by less against each other (`docs/cost-model.md` has the
/// table), so a run is hardly ever slower than it would be without any choice.
pub const WORTH_ANOTHER_CUT: f64 = 0.85;

/// The place of the cut that is taken among those with these costs, of which the first is the one that the
/// program has: that one, unless the fastest is faster by more than predictions err.
pub fn best_cut<'a>(costs: impl IntoIterator<Item = &'a Cost>) -> Option<usize> {
    let seconds: Vec<f64> = costs.into_iter().map(Cost::seconds).collect();
    let fastest = (0..seconds.len()).min_by(|&a, &b| seconds[a].total_cmp(&seconds[b]))?;
    Some(if seconds[fastest] <= WORTH_ANOTHER_CUT * seconds[0] { fastest } else { 0 })
}

/// Bytes of a message on the wire, with its frames.
fn message_bytes(payload: u64, lanes: u8) -> u64 {
    let framed = |payload: u64| {
        payload + wire::FRAME_HEADER_BYTES as u64 * payload.div_ceil(wire::MAX_FRAME_BYTES as u64).max(1)
    };
    let (share, lanes) = wire::shares(payload as usize, lanes.into());
    let (share, lanes) = (share as u64, lanes as u64);
    let part = |lane: u64| framed(payload.saturating_sub(lane * share).min(share));
    (0..lanes).map(part).sum()
}

/// Follows the chain of messages that wait for each other.
#[derive(Default)]
struct Hops {
    garbler: u64,
    evaluator: u64,
    turn: Turn<u64>,
}

/// Where both parties were before the last messages of one of them began.
#[derive(Default)]
struct Turn<T> {
    of: Option<Party>,
    before: [T; 2],
}

impl<T: Copy> Turn<T> {
    /// Where both are when a message leaves: now, or for a crossing one before what the other party sent
    /// last.
    fn departure(&mut self, from: Party, crossing: bool, now: [T; 2]) -> [T; 2] {
        if crossing {
            return self.before;
        }
        if self.of != Some(from) {
            (self.of, self.before) = (Some(from), now);
        }
        now
    }
}

impl Hops {
    fn step(&mut self, step: &Step) {
        let Step::Message { from, crossing, .. } = *step else { return };
        let at = self.turn.departure(from, crossing, [self.garbler, self.evaluator]);
        match from {
            Party::Garbler => self.evaluator = self.evaluator.max(at[0] + 1),
            Party::Evaluator => self.garbler = self.garbler.max(at[1] + 1),
        }
    }
}

/// Follows the time of both parties, of the cores that they share and of the line.
struct Clock<'m> {
    machine: &'m Machine,
    link: &'m Link,
    parties: [f64; 2],
    turn: Turn<f64>,
    /// When each party was at work, and with which part of the cores; without what the other can no longer
    /// meet.
    busy: [VecDeque<Busy>; 2],
    /// All work so far.
    cpu: f64,
    /// When each direction of the line has nothing left to send: garbler to evaluator, and back.
    line: [f64; 2],
}

/// A stretch of work.
#[derive(Clone, Copy)]
struct Busy {
    start: f64,
    end: f64,
    cores: f64,
}

impl<'m> Clock<'m> {
    fn new(machine: &'m Machine, link: &'m Link) -> Self {
        // As in a run the garbler listens: it has greeted by the time the evaluator's connection stands.
        let parties = [-link.rtt_seconds / 2.0, 0.0];
        let turn = Turn { of: None, before: parties };
        Clock { machine, link, parties, turn, busy: Default::default(), cpu: 0.0, line: parties }
    }

    fn time(&self, party: Party) -> f64 {
        self.parties[index(party)]
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Phase(_) => {}
            Step::Work { by, work, units, tasks } => {
                self.work(index(by), self.machine.seconds(work, units), tasks)
            }
            Step::Message { from, payload, times, crossing, .. } => {
                let departs = self.turn.departure(from, crossing, self.parties)[index(from)];
                let (from, to) = (index(from), 1 - index(from));
                let bytes = (payload * times) as f64;
                let seconds = self.link.bits_per_second.map_or(0.0, |rate| 8.0 * bytes / rate);
                self.line[from] = self.line[from].max(departs) + seconds;
                let arrives = self.line[from] + self.link.rtt_seconds / 2.0 + self.machine.message_seconds;
                self.work(from, bytes * self.machine.send_seconds_a_byte, 1);
                // What the line lets through, the receiver has decrypted when the last byte arrives, but for
                // the last piece.
                let receiving = bytes * self.machine.receive_seconds_a_byte;
                self.parties[to] = self.parties[to].max(arrives - receiving.min(seconds));
                self.work(to, receiving, 1);
            }
        }
    }

    /// Work of so many tasks side by side. Where the other party is at work already, what it leaves of the
    /// cores must do.
    fn work(&mut self, party: usize, seconds: f64, tasks: u64) {
        if seconds <= 0.0 {
            return;
        }
        let (threads, tasks) = (f64::from(self.machine.threads.max(1)), tasks.max(1) as f64);
        let cores = (tasks / threads).min(1.0);
        self.cpu += seconds;
        let start = self.parties[party];
        let mut left = seconds * (tasks / threads).ceil() / tasks;
        let mut now = start;
        let other = &mut self.busy[1 - party];
        while other.front().is_some_and(|busy| busy.end <= now) {
            other.pop_front();
        }
        for busy in other.iter() {
            let free = (busy.start - now).max(0.0);
            if free >= left {
                break;
            }
            (now, left) = (now + free, left - free);
            let rate = ((1.0 - busy.cores) / cores).min(1.0);
            let shared = (busy.end - now).max(0.0);
            if rate * shared >= left {
                (now, left) = (now + left / rate, 0.0);
                break;
            }
            (now, left) = (now + shared, left - rate * shared);
        }
        self.parties[party] = now + left;
        self.busy[party].push_back(Busy { start, end: now + left, cores });
    }
}

fn index(party: Party) -> usize {
    match party {
        Party::Garbler => 0,
        Party::Evaluator => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_circuit::{Recipient, library};
    use brickwork_primitives::cut_and_choose::Bucketing;

    #[test]
    fn messages_are_framed() {
        assert_eq!(message_bytes(0, 1), 5);
        assert_eq!(message_bytes(1 << 20, 1), (1 << 20) + 5);
        assert_eq!(message_bytes((1 << 20) + 1, 1), (1 << 20) + 1 + 10);
        assert_eq!(message_bytes(200 << 10, 4), (200 << 10) + 15, "no lane gets less than 64 KiB");
    }

    /// The table "What a run costs" of `docs/formats.md`, with all that does not grow with the program:
    /// counted in eighths of bytes, it must give every byte that the garbler sends.
    #[test]
    fn the_table_of_what_a_run_costs_is_exact() {
        for (name, program) in [
            ("millionaires", library::millionaires().unwrap()),
            ("aes", library::aes::aes_128().unwrap()),
            ("256 aes", library::aes::aes_128().unwrap().repeat(256).unwrap()),
            ("cbc-mac", library::aes::cbc_mac(4).unwrap()),
        ] {
            for security in [40, 64, 80] {
                let parameters = Parameters::choose(&program, security).unwrap();
                let sent: u64 = script(&program, &parameters)
                    .iter()
                    .map(|step| match *step {
                        Step::Message { from: Party::Garbler, payload, times, .. } => 8 * payload * times,
                        _ => 0,
                    })
                    .sum();
                assert_eq!(sent, table(&program, &parameters), "{name}, s = {security}");
            }
        }
    }

    fn table(program: &Program, parameters: &Parameters) -> u64 {
        let n = Code::for_security(parameters.security).unwrap().length() as u64;
        // Commitments are made in blocks of 128; in bits, as 8 bits are a byte and all is in eighths of
        // bytes.
        let random = |count: u64| count.next_multiple_of(128) * (n - 128);
        let chosen = |count: u64| count.next_multiple_of(128) * n;
        let label = 8 * 16;
        let mut bits = 0;
        for (component, cut) in
            program.components().iter().zip(&parameters.components).filter(|(_, cut)| cut.slots > 0)
        {
            let (a, i, o) = (
                component.circuit.and_gates() as u64,
                component.circuit.inputs() as u64,
                component.circuit.outputs().len() as u64,
            );
            let (slots, b, c, l) =
                (u64::from(cut.slots), u64::from(cut.bucket), u64::from(cut.opened), cut.copies());
            bits += slots * a * 2 * label * b;
            bits += random(l) + 2 * label * l + label * c + slots * label * b;
            bits += random(l * i) + i * label * (c + slots * (b - 1) + slots);
            bits += chosen(l * o) + slots * o * label * b;
            bits += label; // start of the keys
        }
        let (p, q) = (parameters.plain, parameters.input);
        let pairs = |cut: &Bucketing| u64::from(cut.slots) * u64::from(cut.bucket - 1);
        bits += random(p.copies()) + label * (2 * p.copies() + u64::from(p.opened) + pairs(&p));
        bits += random(q.copies())
            + chosen(q.copies())
            + label * (2 * q.copies() + u64::from(q.opened) + q.kept() + pairs(&q));
        let (x, y) =
            (program.input_width(Party::Garbler) as u64, program.input_width(Party::Evaluator) as u64);
        let wires = |to: &dyn Fn(Recipient) -> bool| {
            program.outputs().iter().filter(|o| to(o.to)).map(|o| o.wires.len() as u64).sum::<u64>()
        };
        bits += chosen(y + parameters.ot_binding as u64)
            + random(y)
            + label * (x + y)
            + label * wires(&|to| to == Recipient::Garbler);
        bits += wires(&|to| to.includes(Party::Evaluator)).next_multiple_of(8);
        // Once a run: greeting, proposal, base OTs, both offsets and their delta difference; three proofs
        // with masks and answers.
        bits += 8 * (144 + 32 + Parameters::proposal_bytes(program) as u64 + 32 + 64 * 128)
            + random(1)
            + chosen(1)
            + label;
        let (values, hidden) = (label * n, label * (n + 128));
        bits + (2 * random(128) + 2 * hidden + values) + values + (random(128) + hidden + values)
    }
}
