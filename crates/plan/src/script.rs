//! A run as a list of steps.

use crate::work::Work;
use brickwork_base::Party;
use brickwork_wire as wire;

/// One step.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A phase begins, or goes on.
    Phase(&'static str),
    /// So many units of work, which at most `tasks` threads can share.
    Work {
        /// The party that does it.
        by: Party,
        /// Its kind.
        work: &'static Work,
        /// How much of it.
        units: f64,
        /// Parts that can be done side by side, at least 1.
        tasks: u64,
    },
    /// Messages of one length, one behind the other.
    Message {
        /// The party that sends them.
        from: Party,
        /// Bytes of each, without frames.
        payload: u64,
        /// How many.
        times: u64,
        /// Says that they use all lanes.
        bulk: bool,
        /// Says that they do not wait for the messages that the peer sent last.
        crossing: bool,
        /// Says that the peer does something else first, and takes them with an [`Action::Read`].
        posted: bool,
    },
    /// A party reads messages that were posted to it: the oldest ones.
    Read {
        /// The party that reads.
        by: Party,
        /// How many [`Action::Message`]s.
        messages: usize,
    },
    /// The phase takes so many units longer than its work and its messages say, at nobody's clock.
    Beyond {
        /// The kind of the units.
        work: &'static Work,
        /// How many.
        units: f64,
    },
    /// The steps before happen again.
    Again {
        /// How many steps, none of which is one of these.
        steps: usize,
        /// How often, after the first time.
        times: u64,
    },
}

/// A long stretch in which both parties work and the line is busy is cut into so many slices.
pub const SLICES: u64 = 16;

/// As many tasks as there could be threads.
pub const MANY: u64 = 1 << 20;

/// Bytes of a process that does nothing: code, stacks, buffers of TLS.
pub const PROCESS_BYTES: u64 = 15 << 20;

/// Returns part `k` of `parts` about equal parts of a number.
pub fn share(whole: u64, k: u64, parts: u64) -> u64 {
    (k + 1) * whole / parts - k * whole / parts
}

/// The plan of a run of a protocol: its steps, in an order in which both parties go through them, and the
/// memory that they hold. All of it follows from what is public.
#[derive(Clone, Debug)]
pub struct Script {
    phases: &'static [&'static str],
    steps: Vec<Action>,
    /// Peak memory of the garbler and of the evaluator in bytes, estimated.
    pub memory_bytes: [u64; 2],
    /// Bytes of temporary files.
    pub disk_bytes: u64,
}

impl Script {
    /// Begins a script without steps, of a protocol with these phases, in their order.
    pub fn new(phases: &'static [&'static str]) -> Self {
        Script { phases, steps: Vec::new(), memory_bytes: [0; 2], disk_bytes: 0 }
    }

    /// Returns all steps so far.
    pub fn steps(&self) -> &[Action] {
        &self.steps
    }

    /// Returns the protocol's phases in their order.
    pub fn phases(&self) -> &'static [&'static str] {
        self.phases
    }

    /// Begins or resumes a phase, to which what follows belongs.
    pub fn phase(&mut self, name: &'static str) {
        self.steps.push(Action::Phase(name));
    }

    /// Adds so many units of work, which at most `tasks` threads can share.
    pub fn work(&mut self, by: Party, work: &'static Work, units: u64, tasks: u64) {
        if units > 0 {
            self.steps.push(Action::Work { by, work, units: units as f64, tasks });
        }
    }

    /// Adds a message of a party of so many bytes.
    pub fn message(&mut self, from: Party, payload: u64) {
        self.messages(from, payload, 1);
    }

    /// Adds messages of a party of one length, one behind the other.
    pub fn messages(&mut self, from: Party, payload: u64, times: u64) {
        if times > 0 {
            self.steps.push(Action::Message {
                from,
                payload,
                times,
                bulk: false,
                crossing: false,
                posted: false,
            });
        }
    }

    /// Does what [`Script::messages`] does over all lanes.
    pub fn bulk(&mut self, from: Party, payload: u64, times: u64) {
        if times > 0 {
            self.steps.push(Action::Message {
                from,
                payload,
                times,
                bulk: true,
                crossing: false,
                posted: false,
            });
        }
    }

    /// Adds messages that both send at once, of these lengths: the garbler's and the evaluator's.
    pub fn exchange<const G: usize, const E: usize>(&mut self, garbler: [u64; G], evaluator: [u64; E]) {
        let messages = |from: Party, payloads: &[u64], crossing| -> Vec<Action> {
            let one =
                |&payload| Action::Message { from, payload, times: 1, bulk: false, crossing, posted: false };
            payloads.iter().map(one).collect()
        };
        // The party that sent last waits for nothing, so the messages of the other one cross its own.
        let last = self.steps.iter().rev().find_map(|step| match step {
            Action::Message { from, .. } => Some(*from),
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

    /// Adds what `steps` adds, of which the peer does not read the messages at once. Returns how many
    /// [`Action::Message`]s they are.
    pub fn post(&mut self, steps: impl FnOnce(&mut Script)) -> usize {
        let (first, mut messages) = (self.steps.len(), 0);
        steps(self);
        for step in &mut self.steps[first..] {
            if let Action::Message { posted, .. } = step {
                (*posted, messages) = (true, messages + 1);
            }
        }
        messages
    }

    /// Lets a party read so many of the messages that were [posted](Script::post) to it, the oldest first.
    pub fn read(&mut self, by: Party, messages: usize) {
        if messages > 0 {
            self.steps.push(Action::Read { by, messages });
        }
    }

    /// Adds what `steps` adds, so often, one after the other; repetitions have no repetitions in them.
    /// If both send at once in it before anything else is sent, whoever sent last before it does so at its
    /// end.
    pub fn repeat(&mut self, times: u64, steps: impl FnOnce(&mut Script)) {
        if times == 0 {
            return;
        }
        let first = self.steps.len();
        steps(self);
        if times > 1 {
            self.steps.push(Action::Again { steps: self.steps.len() - first, times: times - 1 });
        }
    }

    /// Returns the steps, and how often each of them happens at its place.
    fn often(&self) -> impl Iterator<Item = (&Action, u64)> {
        let mut often = vec![1; self.steps.len()];
        for (place, step) in self.steps.iter().enumerate() {
            if let Action::Again { steps, times } = *step {
                often[place - steps..place].iter_mut().for_each(|often| *often += times);
            }
        }
        self.steps.iter().zip(often)
    }

    /// Adds so many units by which the phase takes longer than all else says.
    pub fn beyond(&mut self, work: &'static Work, units: u64) {
        self.steps.push(Action::Beyond { work, units: units as f64 });
    }

    /// Units of a kind of work that phases take [beyond](Script::beyond) all else.
    pub(crate) fn units_beyond(&self, kind: &Work) -> f64 {
        let units = self.often().map(|(step, often)| match step {
            Action::Beyond { work, units } if std::ptr::eq(*work, kind) => *units * often as f64,
            _ => 0.0,
        });
        units.sum()
    }

    /// Returns the bytes that the garbler and the evaluator send over so many lanes, with their frames.
    /// Exact.
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

impl Action {
    /// Returns who sends, and how many bytes over so many lanes, with their frames.
    pub(crate) fn sent_bytes(&self, lanes: u8) -> Option<(Party, u64)> {
        let Action::Message { from, payload, times, bulk, .. } = *self else { return None };
        Some((from, times * message_bytes(payload, if bulk { lanes } else { 1 })))
    }
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
