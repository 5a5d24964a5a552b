//! Computes the time of a list of steps of two parties that share a machine, and of the link between them.

use std::collections::VecDeque;

use crate::link::Link;
use crate::machine::Machine;
use crate::rounds::Turn;
use crate::script::ScriptStep;
use brickwork_base::Party;

/// The clocks of both parties, of the cores that they share, and of the link.
#[derive(Clone)]
pub(crate) struct PlanClock<'m> {
    machine: &'m Machine,
    link: &'m Link,
    /// The time of the garbler and of the evaluator.
    parties: [f64; 2],
    turn: Turn<f64>,
    /// The times when each party worked, and the cores that it used. Times that can no longer overlap with
    /// the other party's work are removed.
    busy: [VecDeque<Busy>; 2],
    /// For each message posted to a party: its arrival time, and the work of receiving it.
    posted: [VecDeque<(f64, f64)>; 2],
    /// The CPU seconds of all work so far.
    pub cpu: f64,
    /// For each direction of the link, the time when its last byte is sent: garbler to evaluator, and back.
    line: [f64; 2],
}

/// A stretch of work.
#[derive(Clone, Copy)]
struct Busy {
    start: f64,
    end: f64,
    cores: f64,
}

impl<'m> PlanClock<'m> {
    /// Makes the clocks of both parties at the start.
    pub fn new(machine: &'m Machine, link: &'m Link) -> Self {
        // As in a real run, the garbler listens, and has already sent its greeting when the evaluator's
        // connection is ready.
        let parties = [-link.rtt_seconds / 2.0, 0.0];
        let turn = Turn::new(parties);
        PlanClock {
            machine,
            link,
            parties,
            turn,
            busy: Default::default(),
            posted: Default::default(),
            cpu: 0.0,
            line: parties,
        }
    }

    /// Returns the time of a party.
    pub fn time(&self, party: Party) -> f64 {
        self.parties[party as usize]
    }

    /// Executes a step at both parties.
    pub fn step(&mut self, step: &ScriptStep) {
        match *step {
            ScriptStep::Phase(_) | ScriptStep::Beyond { .. } | ScriptStep::Again { .. } => {}
            ScriptStep::Work { by, work, units, tasks } => {
                self.work(by as usize, self.machine.seconds(work, units), tasks)
            }
            ScriptStep::Read { by, messages } => {
                for _ in 0..messages {
                    let (arrives, receiving) =
                        self.posted[by as usize].pop_front().expect("a message that is read was sent before");
                    self.parties[by as usize] = self.parties[by as usize].max(arrives);
                    self.work(by as usize, receiving, 1);
                }
            }
            ScriptStep::Message { from, payload, times, crossing, posted, .. } => {
                let departs = match posted {
                    true => {
                        self.turn.posted();
                        self.parties[from as usize]
                    }
                    false => self.turn.departure(from, crossing, self.parties)[from as usize],
                };
                let (from, to) = (from as usize, 1 - from as usize);
                let bytes = (payload * times) as f64;
                let seconds = self.link.bits_per_second.map_or(0.0, |rate| 8.0 * bytes / rate);
                self.line[from] = self.line[from].max(departs) + seconds;
                let arrives = self.line[from] + self.link.rtt_seconds / 2.0 + self.machine.message_seconds;
                self.work(from, bytes * self.machine.send_seconds_a_byte, 1);
                // When the last byte arrives, the receiver has decrypted everything but the last slice.
                let receiving = bytes * self.machine.receive_seconds_a_byte;
                let arrives = arrives - receiving.min(seconds);
                if posted {
                    return self.posted[to].push_back((arrives, receiving));
                }
                self.parties[to] = self.parties[to].max(arrives);
                self.work(to, receiving, 1);
            }
        }
    }

    /// Adds this many times the time that passed since `before`.
    pub fn advance(&mut self, before: &Self, times: u64) {
        let times = times as f64;
        let passed: [f64; 2] = std::array::from_fn(|k| times * (self.parties[k] - before.parties[k]));
        let sent: [f64; 2] = std::array::from_fn(|k| times * (self.line[k] - before.line[k]));
        for party in 0..2 {
            self.parties[party] += passed[party];
            self.line[party] += sent[party];
            for busy in &mut self.busy[party] {
                (busy.start, busy.end) = (busy.start + passed[party], busy.end + passed[party]);
            }
            self.posted[party].iter_mut().for_each(|(arrives, _)| *arrives += sent[1 - party]);
        }
        self.turn.advance(|party, time| time + passed[party]);
        self.cpu += times * (self.cpu - before.cpu);
    }

    /// Adds work that consists of `tasks` parallel tasks. While the other party works, this party can use
    /// only the remaining cores.
    fn work(&mut self, party: usize, seconds: f64, tasks: u64) {
        if seconds <= 0.0 {
            return;
        }
        let all = f64::from(self.machine.cores.max(1));
        let (threads, tasks) = (f64::from(self.machine.threads.max(1)).min(all), tasks.max(1) as f64);
        let cores = tasks.min(threads);
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
            let rate = ((all - busy.cores) / cores).clamp(0.0, 1.0);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{KNOWN_KERNELS, WorkKind};
    use brickwork_base::Party::{Evaluator, Garbler};

    /// A kind of work whose unit takes a second, with each kernel.
    static WORK: WorkKind = WorkKind { name: "test.second", known: [1.0; KNOWN_KERNELS.len()] };

    /// Both parties work at the same time on one machine. The time is that of the longer work, or the work of
    /// both on all cores if that is longer.
    #[test]
    fn parties_of_one_machine_share_its_cores() {
        let seconds = |cores: u32, threads: u16, tasks: u64, units: [f64; 2]| {
            let machine = Machine::known(KNOWN_KERNELS[0], cores).with_threads(Some(threads));
            let mut clock = PlanClock::new(&machine, &Link::LOOPBACK);
            for (by, units) in [Garbler, Evaluator].into_iter().zip(units) {
                clock.step(&ScriptStep::Work { by, work: &WORK, units, tasks });
            }
            assert_eq!(clock.cpu, units[0] + units[1]);
            clock.time(Evaluator)
        };
        // Alone, each party would need 8 / 2 seconds on two cores. Together they need 16 / 2.
        assert_eq!(seconds(2, 2, 1 << 20, [8.0, 8.0]), 8.0);
        assert_eq!(seconds(4, 4, 1 << 20, [8.0, 8.0]), 4.0);
        // The garbler's part is over first.
        assert_eq!(seconds(2, 2, 1 << 20, [2.0, 8.0]), 5.0);
        // If a party has one task or one thread, the other party can use the second core.
        assert_eq!(seconds(2, 2, 1, [8.0, 8.0]), 8.0);
        assert_eq!(seconds(2, 1, 1 << 20, [8.0, 8.0]), 8.0);
        assert_eq!(seconds(1, 1, 1 << 20, [8.0, 8.0]), 16.0);
        // Three cores for two parties with two threads each: the garbler leaves one until it is ready.
        assert_eq!(seconds(3, 2, 1 << 20, [8.0, 8.0]), 6.0);
    }
}
