//! A run as a list of steps.

use crate::work::WorkKind;
use brickwork_base::Party;
use brickwork_wire as wire;

/// A step of a run.
#[derive(Clone, Copy, Debug)]
pub enum ScriptStep {
    /// A phase begins or continues.
    Phase(&'static str),
    /// Work of this many units, which at most `tasks` threads can share.
    Work {
        /// The party that does the work.
        by: Party,
        /// The kind of the work.
        work: &'static WorkKind,
        /// The number of units.
        units: f64,
        /// The number of parts that can be done side by side, at least 1.
        tasks: u64,
    },
    /// Messages of one length, one after another.
    Message {
        /// The sender.
        from: Party,
        /// Bytes of each message, without frames.
        payload: u64,
        /// The number of messages.
        times: u64,
        /// True if the messages use all connections.
        bulk: bool,
        /// True if the messages do not wait for the peer's last messages.
        crossing: bool,
        /// True if the peer does something else first, and reads the messages with an [`ScriptStep::Read`].
        posted: bool,
    },
    /// A party reads the oldest messages that were posted to it.
    Read {
        /// The party that reads.
        by: Party,
        /// The number of [`ScriptStep::Message`]s.
        messages: usize,
    },
    /// The phase takes this many units longer than its work and its messages explain. The clocks of the
    /// parties do not count them.
    Beyond {
        /// The kind of the units.
        work: &'static WorkKind,
        /// The number of units.
        units: f64,
    },
    /// The previous steps are repeated.
    Again {
        /// The number of steps, none of which is a repetition.
        steps: usize,
        /// The number of repetitions, after the first time.
        times: u64,
    },
}

/// The number of slices of a long stretch in which both parties work and the link is busy at the same time.
pub const SLICES: u64 = 16;

/// The number of tasks for work that any number of threads can share.
pub const MANY: u64 = 1 << 20;

/// Memory of an idle process, in bytes: code, stacks, buffers of TLS.
pub const PROCESS_BYTES: u64 = 15 << 20;

/// Returns the size of part `k` if a number is divided into `parts` nearly equal parts.
pub fn share(whole: u64, k: u64, parts: u64) -> u64 {
    (k + 1) * whole / parts - k * whole / parts
}

/// A run of a protocol as a list of steps, in an order in which both parties execute them, and the memory
/// that they need. It depends only on public values.
#[derive(Clone, Debug)]
pub struct Script {
    phases: &'static [&'static str],
    steps: Vec<ScriptStep>,
    /// Peak memory of the garbler and of the evaluator in bytes, estimated.
    pub memory_bytes: [u64; 2],
    /// Bytes of the temporary files of the garbler and of the evaluator.
    pub disk_bytes: [u64; 2],
}

impl Script {
    /// Makes a script without steps, for a protocol with these phases in order.
    pub fn new(phases: &'static [&'static str]) -> Self {
        Script { phases, steps: Vec::new(), memory_bytes: [0; 2], disk_bytes: [0; 2] }
    }

    /// Returns all steps so far.
    pub fn steps(&self) -> &[ScriptStep] {
        &self.steps
    }

    /// Returns the protocol's phases in their order.
    pub fn phases(&self) -> &'static [&'static str] {
        self.phases
    }

    /// Begins or resumes a phase, to which the following steps belong.
    pub fn phase(&mut self, name: &'static str) {
        self.steps.push(ScriptStep::Phase(name));
    }

    /// Adds this many units of work, which at most `tasks` threads can share.
    pub fn work(&mut self, by: Party, work: &'static WorkKind, units: u64, tasks: u64) {
        if units > 0 {
            self.steps.push(ScriptStep::Work { by, work, units: units as f64, tasks });
        }
    }

    /// Adds a message of this many bytes.
    pub fn message(&mut self, from: Party, payload: u64) {
        self.messages(from, payload, 1);
    }

    /// Adds messages of one length, one after another.
    pub fn messages(&mut self, from: Party, payload: u64, times: u64) {
        if times > 0 {
            self.steps.push(ScriptStep::Message {
                from,
                payload,
                times,
                bulk: false,
                crossing: false,
                posted: false,
            });
        }
    }

    /// Does the same as [`Script::messages`] over all connections.
    pub fn bulk(&mut self, from: Party, payload: u64, times: u64) {
        if times > 0 {
            self.steps.push(ScriptStep::Message {
                from,
                payload,
                times,
                bulk: true,
                crossing: false,
                posted: false,
            });
        }
    }

    /// Adds messages of these lengths that both parties send at the same time.
    pub fn exchange<const G: usize, const E: usize>(&mut self, garbler: [u64; G], evaluator: [u64; E]) {
        let messages = |from: Party, payloads: &[u64], crossing| -> Vec<ScriptStep> {
            let one = |&payload| ScriptStep::Message {
                from,
                payload,
                times: 1,
                bulk: false,
                crossing,
                posted: false,
            };
            payloads.iter().map(one).collect()
        };
        // The party that sent last does not wait for an answer, so the other party's messages cross its own.
        let last = self.steps.iter().rev().find_map(|step| match step {
            ScriptStep::Message { from, .. } => Some(*from),
            _ => None,
        });
        let evaluator_first = last == Some(Party::Garbler) && G > 0;
        let own = messages(Party::Garbler, &garbler, evaluator_first);
        let theirs = messages(Party::Evaluator, &evaluator, !evaluator_first);
        self.steps.extend(match evaluator_first {
            true => [theirs, own].concat(),
            false => [own, theirs].concat(),
        });
    }

    /// Adds the steps of `steps`, whose messages the peer does not read immediately. Returns the number of
    /// its [`ScriptStep::Message`]s.
    pub fn post(&mut self, steps: impl FnOnce(&mut Script)) -> usize {
        let (first, mut messages) = (self.steps.len(), 0);
        steps(self);
        for step in &mut self.steps[first..] {
            if let ScriptStep::Message { posted, .. } = step {
                (*posted, messages) = (true, messages + 1);
            }
        }
        messages
    }

    /// Lets a party read this many messages that were [posted](Script::post) to it, the oldest first.
    pub fn read(&mut self, by: Party, messages: usize) {
        if messages > 0 {
            self.steps.push(ScriptStep::Read { by, messages });
        }
    }

    /// Adds the steps of `steps` this many times, one after another. Repetitions cannot be nested. If both
    /// parties send at the same time at the beginning of `steps`, the party that sent last before them must
    /// also send last at their end.
    pub fn repeat(&mut self, times: u64, steps: impl FnOnce(&mut Script)) {
        if times == 0 {
            return;
        }
        let first = self.steps.len();
        steps(self);
        if times > 1 {
            self.steps.push(ScriptStep::Again { steps: self.steps.len() - first, times: times - 1 });
        }
    }

    /// Returns the steps, each with the number of its executions.
    fn often(&self) -> impl Iterator<Item = (&ScriptStep, u64)> {
        let mut often = vec![1; self.steps.len()];
        for (place, step) in self.steps.iter().enumerate() {
            if let ScriptStep::Again { steps, times } = *step {
                often[place - steps..place].iter_mut().for_each(|often| *often += times);
            }
        }
        self.steps.iter().zip(often)
    }

    /// Adds this many units by which the phase takes longer than its work and its messages explain.
    pub fn beyond(&mut self, work: &'static WorkKind, units: u64) {
        self.steps.push(ScriptStep::Beyond { work, units: units as f64 });
    }

    /// Returns the units of this kind by which phases exceed their work and messages ([`Script::beyond`]).
    pub(crate) fn units_beyond(&self, kind: &WorkKind) -> f64 {
        let units = self.often().map(|(step, often)| match step {
            ScriptStep::Beyond { work, units } if std::ptr::eq(*work, kind) => *units * often as f64,
            _ => 0.0,
        });
        units.sum()
    }

    /// Returns the bytes that the garbler and the evaluator send over this many connections, including
    /// frames.
    pub fn sent_bytes(&self, lanes: u8) -> [u64; 2] {
        let mut sent = [0; 2];
        for (step, often) in self.often() {
            if let Some((from, bytes)) = step.sent_bytes(lanes) {
                sent[from as usize] += often * bytes;
            }
        }
        sent
    }
}

impl ScriptStep {
    /// Returns the sender of this step and the bytes that it sends over this many connections, including
    /// frames.
    pub(crate) fn sent_bytes(&self, lanes: u8) -> Option<(Party, u64)> {
        let ScriptStep::Message { from, payload, times, bulk, .. } = *self else { return None };
        Some((from, times * message_bytes(payload, if bulk { lanes } else { 1 })))
    }
}

/// Returns the bytes of a message on the wire, including its frames.
fn message_bytes(payload: u64, lanes: u8) -> u64 {
    let framed = |payload: u64| {
        payload + wire::FRAME_HEADER_BYTES as u64 * payload.div_ceil(wire::MAX_FRAME_BYTES as u64).max(1)
    };
    let (share, lanes) = wire::shares(payload as usize, lanes.into());
    let (share, lanes) = (share as u64, lanes as u64);
    let part = |lane: u64| framed(payload.saturating_sub(lane * share).min(share));
    (0..lanes).map(part).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_framed() {
        assert_eq!(message_bytes(0, 1), 5);
        assert_eq!(message_bytes(1 << 20, 1), (1 << 20) + 5);
        assert_eq!(message_bytes((1 << 20) + 1, 1), (1 << 20) + 1 + 10);
        assert_eq!(message_bytes(200 << 10, 4), (200 << 10) + 15, "no lane gets less than 64 KiB");
    }

    #[test]
    fn what_both_send_is_added_up() {
        let mut script = Script::new(&["all"]);
        script.phase("all");
        script.exchange([10, 20], [30]);
        script.messages(Party::Evaluator, 100, 3);
        script.bulk(Party::Garbler, 200 << 10, 2);
        assert_eq!(script.sent_bytes(1), [40 + 2 * ((200 << 10) + 5), 35 + 315]);
        assert_eq!(script.sent_bytes(4), [40 + 2 * ((200 << 10) + 15), 35 + 315]);
    }

    #[test]
    fn shares_add_up_to_the_whole() {
        for (whole, parts) in [(0, 1), (7, 16), (1000, 7), (16, 16)] {
            assert_eq!((0..parts).map(|k| share(whole, k, parts)).sum::<u64>(), whole);
        }
    }
}
