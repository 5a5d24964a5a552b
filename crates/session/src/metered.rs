//! A connection with a stopwatch: what each phase of a run takes.

use std::time::Instant;

use brickwork_base::{Error, Party};
use brickwork_wire::Channel;

use crate::Observer;
use crate::protocol::{PhaseReport, Protocol};

/// A connection that measures the phases of a run.
pub struct Metered {
    /// The connection.
    pub channel: Channel,
    /// Which of the parties this one is.
    pub role: Party,
    observer: Box<dyn Observer>,
    /// All phases of the protocol, in their order.
    order: &'static [&'static str],
    phases: Vec<PhaseReport>,
    /// Which of them is running.
    running: Option<usize>,
    started: Instant,
    bytes: [u64; 2],
    /// Bytes of tables that have passed, and all that are expected to.
    passed: u64,
    expected: u64,
}

impl Metered {
    /// Starts the stopwatch of a party of this protocol; `observer` is told of its phases.
    pub fn new<P: Protocol>(channel: Channel, role: Party, observer: Box<dyn Observer>) -> Self {
        let bytes = [channel.sent_bytes(), channel.received_bytes()];
        let (started, phases, order) = (Instant::now(), Vec::new(), P::PHASES);
        Metered {
            channel,
            role,
            observer,
            order,
            phases,
            running: None,
            started,
            bytes,
            passed: 0,
            expected: 0,
        }
    }

    /// What follows belongs to this phase, which may have run before: flights hold messages of several
    /// phases.
    pub fn phase(&mut self, name: &'static str) {
        self.end_phase();
        self.observer.phase(name);
        self.running = Some(self.phases.iter().position(|phase| phase.name == name).unwrap_or_else(|| {
            self.phases.push(PhaseReport {
                name,
                seconds: 0.0,
                garbler_sent_bytes: 0,
                evaluator_sent_bytes: 0,
            });
            self.phases.len() - 1
        }));
    }

    fn end_phase(&mut self) {
        let now = [self.channel.sent_bytes(), self.channel.received_bytes()];
        let [sent, received] = [now[0] - self.bytes[0], now[1] - self.bytes[1]];
        if let Some(running) = self.running {
            let phase = &mut self.phases[running];
            phase.seconds += self.started.elapsed().as_secs_f64();
            let (garblers, evaluators) =
                if self.role == Party::Garbler { (sent, received) } else { (received, sent) };
            phase.garbler_sent_bytes += garblers;
            phase.evaluator_sent_bytes += evaluators;
        }
        self.bytes = now;
        self.started = Instant::now();
    }

    /// So many bytes will pass. What is part of something that was announced as a whole does not count again.
    pub fn expect(&mut self, bytes: u64) {
        if self.passed >= self.expected {
            self.expected = self.passed.saturating_add(bytes);
        }
    }

    /// So many more bytes have passed.
    pub fn progress(&mut self, bytes: u64) {
        self.passed += bytes;
        self.observer.progress(self.passed, self.expected);
    }

    /// Hands what was sent to the network and stops. Returns what each phase took, in their order.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn finish(mut self) -> Result<Vec<PhaseReport>, Error> {
        self.channel.flush()?;
        self.end_phase();
        self.observer.finished();
        let order = self.order;
        self.phases.sort_by_key(|phase| order.iter().position(|name| *name == phase.name));
        Ok(self.phases)
    }
}
