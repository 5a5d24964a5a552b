//! The constants of a machine.

use brickwork_kernels::Kernel;
use serde::{Deserialize, Serialize};

use crate::work::{MeasuredWork, WorkKind, known_as};

/// The cost of work on a machine: the seconds for a unit of each kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The kernel with which the constants were measured.
    kernel: String,
    /// Seconds of one thread per unit, for each kind of work that was measured here.
    seconds: MeasuredWork,
    /// Seconds of one thread for a short garbling, which compares machines with the same kernel. Work that
    /// was not measured is scaled from the reference machine by the same factor.
    probe_seconds: f64,
    /// Threads of each party.
    pub threads: u32,
    /// Cores, which both parties share, as in `brickwork run`.
    pub cores: u32,
    /// The time from sending a short message until it is read, over loopback.
    pub message_seconds: f64,
    /// The time for sending a byte over loopback, including TLS.
    pub send_seconds_a_byte: f64,
    /// The time for receiving a byte.
    pub receive_seconds_a_byte: f64,
}

/// The probe on the reference machine, with each of its kernels.
static PROBE: WorkKind = WorkKind { name: "probe", known: [2.69e-5, 3.15e-5, 5.64e-5, 1.62e-3] };
/// A message, from sending it until it is read.
static MESSAGE: WorkKind = WorkKind { name: "message", known: [8.41e-6, 9.46e-6, 9.46e-6, 8.41e-6] };
/// A byte that is sent.
static SEND: WorkKind = WorkKind { name: "send", known: [2.71e-10, 2.72e-10, 2.46e-10, 2.42e-10] };
/// A byte that is received.
static RECEIVE: WorkKind = WorkKind { name: "receive", known: [7.34e-10, 4.26e-10, 7.12e-10, 7.40e-10] };

/// The largest factor by which a machine may differ from the reference machine with the same kernel.
const MOST_SCALED: f64 = 16.0;

impl Machine {
    /// Returns the seconds of one thread for this amount of work.
    pub fn seconds(&self, work: &WorkKind, units: f64) -> f64 {
        self.seconds.get(work).unwrap_or_else(|| self.usual_seconds(work)) * units
    }

    /// Returns the seconds of one thread for a unit, estimated only from the kernel and the probe.
    pub fn usual_seconds(&self, work: &WorkKind) -> f64 {
        let known = known_as(&self.kernel);
        work.known[known] * (self.probe_seconds / PROBE.known[known]).min(MOST_SCALED)
    }

    /// Returns whether each of these kinds of work was measured.
    pub fn has(&self, kinds: impl IntoIterator<Item = &'static WorkKind>) -> bool {
        kinds.into_iter().all(|work| self.seconds.get(work).is_some())
    }

    /// Returns this machine with fewer threads, if fewer are wanted.
    #[must_use]
    pub fn with_threads(self, wanted: Option<u16>) -> Self {
        Machine { threads: wanted.map_or(self.threads, |threads| self.threads.min(threads.into())), ..self }
    }

    /// Returns this machine with other constants for some kinds of work.
    #[must_use]
    pub fn with(mut self, measured: MeasuredWork) -> Self {
        self.seconds.extend(measured);
        self
    }

    /// Makes a machine on which work takes no time, for counting bytes and rounds.
    pub fn free() -> Self {
        Machine {
            kernel: Kernel::best().name().into(),
            seconds: MeasuredWork::default(),
            probe_seconds: 0.0,
            threads: 1,
            cores: 1,
            message_seconds: 0.0,
            send_seconds_a_byte: 0.0,
            receive_seconds_a_byte: 0.0,
        }
    }

    /// Returns the kernel to which these constants belong.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// Returns whether the constants are for this process's kernel and have sensible values. They may come
    /// from a file.
    pub fn is_sound(&self) -> bool {
        let sensible = |seconds: f64| seconds.is_finite() && (0.0..1.0).contains(&seconds);
        let rest =
            [self.probe_seconds, self.message_seconds, self.send_seconds_a_byte, self.receive_seconds_a_byte];
        self.kernel == Kernel::best().name()
            && self.seconds.iter().map(|(_, seconds)| seconds).chain(rest).all(sensible)
            && [self.threads, self.cores].iter().all(|count| (1..=1024).contains(count))
    }

    /// Estimates this machine by scaling the constants of the reference machine with a probe. This is good
    /// enough to compare cuts and buckets.
    pub fn estimated(probe_seconds: f64) -> Self {
        let kernel = Kernel::best().name();
        Machine::known(kernel, threads_here()).scaled(probe_seconds / PROBE.known[known_as(kernel)])
    }

    /// Returns this machine with this number of cores, and as many threads of each party.
    #[must_use]
    pub fn with_cores(self, cores: u32) -> Self {
        Machine { threads: cores, cores, ..self }
    }

    /// Makes a machine with this number of cores and the reference constants of this kernel. An unknown
    /// kernel is treated as AES-NI.
    pub fn known(kernel: &str, cores: u32) -> Self {
        let known = known_as(kernel);
        Machine {
            kernel: kernel.into(),
            seconds: MeasuredWork::default(),
            probe_seconds: PROBE.known[known],
            threads: cores,
            cores,
            message_seconds: MESSAGE.known[known],
            send_seconds_a_byte: SEND.known[known],
            receive_seconds_a_byte: RECEIVE.known[known],
        }
    }

    /// Returns this machine with the measured times of its probe and of its loopback connections.
    pub(crate) fn measured(probe_seconds: f64, seconds: MeasuredWork, loopback: [f64; 3]) -> Self {
        let [message_seconds, send_seconds_a_byte, receive_seconds_a_byte] = loopback;
        Machine {
            kernel: Kernel::best().name().into(),
            seconds,
            probe_seconds,
            threads: threads_here(),
            cores: threads_here(),
            message_seconds,
            send_seconds_a_byte,
            receive_seconds_a_byte,
        }
    }

    /// Returns a machine with no measurements, on which everything takes `factor` times as long.
    fn scaled(mut self, factor: f64) -> Self {
        let factor = factor.clamp(1.0 / MOST_SCALED, MOST_SCALED);
        let all = [
            &mut self.probe_seconds,
            &mut self.message_seconds,
            &mut self.send_seconds_a_byte,
            &mut self.receive_seconds_a_byte,
        ];
        all.into_iter().for_each(|seconds| *seconds *= factor);
        self
    }
}

/// Returns the number of threads that this machine runs at the same time.
pub(crate) fn threads_here() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get().min(1024) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{READ_BACK, SPILL, TOUCH};

    /// A machine on which work takes no time is valid. A slower machine is slower for every kind of work.
    #[test]
    fn a_machine_is_estimated() {
        for kernel in Kernel::all_available() {
            let known = Machine::known(kernel.name(), 2);
            let slower = known.clone().scaled(2.0);
            let all = |machine: &Machine| {
                let work = [&TOUCH, &SPILL, &READ_BACK].map(|work| machine.seconds(work, 1.0));
                let rest =
                    [machine.message_seconds, machine.send_seconds_a_byte, machine.receive_seconds_a_byte];
                [work, rest].concat()
            };
            assert!(all(&known).iter().zip(all(&slower)).all(|(one, two)| 2.0 * one == two), "{kernel:?}");
            assert!(all(&known).iter().all(|&seconds| seconds > 0.0), "{kernel:?}");
            assert_eq!(known.clone().scaled(1e9).probe_seconds, MOST_SCALED * known.probe_seconds);
            assert_eq!(known.clone().scaled(0.0).probe_seconds, known.probe_seconds / MOST_SCALED);
        }
        assert!(Machine::estimated(1e-4).is_sound());
        let free = Machine::free();
        assert!(free.is_sound() && free.seconds(&TOUCH, 1e9) == 0.0);
    }

    /// A kind of work that is missing in a file gets an estimate, and a measured one keeps its value.
    #[test]
    fn what_was_measured_counts() {
        let known = Machine::known(Kernel::best().name(), 2);
        let mut measured = MeasuredWork::default();
        measured.set(&TOUCH, 0.25);
        let machine = known.clone().with(measured);
        assert!(machine.is_sound() && machine.has([&TOUCH]) && !machine.has([&TOUCH, &SPILL]));
        assert_eq!(machine.seconds(&TOUCH, 2.0), 0.5);
        assert_eq!(machine.seconds(&SPILL, 2.0), known.seconds(&SPILL, 2.0));
        for wrong in [f64::NAN, f64::INFINITY, -1e-9, 1.0] {
            let mut measured = MeasuredWork::default();
            measured.set(&SPILL, wrong);
            assert!(!machine.clone().with(measured).is_sound(), "{wrong}");
            assert!(!Machine { message_seconds: wrong, ..machine.clone() }.is_sound(), "{wrong}");
        }
        assert!(!Machine { threads: 0, ..machine.clone() }.is_sound());
        assert!(!Machine { cores: 0, ..machine.clone() }.is_sound());
        assert!(!Machine { kernel: "another".into(), ..machine }.is_sound());
    }
}
