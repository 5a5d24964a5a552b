//! The counters of a service, for `/metrics` and the status page. They contain no values of the parties.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// The number of latencies from which the page computes the median and the 99th percentile.
const LATENCIES: usize = 1000;

/// The number of errors that the page shows.
const ERRORS: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfProgram {
    program: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRun {
    program: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStatus {
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfProtocol {
    protocol: &'static str,
}

/// The counters.
pub struct Figures {
    registry: Registry,
    runs: Family<OfRun, Counter<u64, AtomicU64>>,
    seconds: Family<OfProgram, Histogram, fn() -> Histogram>,
    made: Family<OfProgram, Counter<u64, AtomicU64>>,
    stock: Family<OfProgram, Gauge<i64, AtomicI64>>,
    answers: Family<OfStatus, Counter<u64, AtomicU64>>,
    bytes: Counter<u64, AtomicU64>,
    connected: Gauge<i64, AtomicI64>,
    waiting: Gauge<i64, AtomicI64>,
    /// The peer's remaining attempts, after the first step of stock.
    attempts: Family<OfProtocol, Gauge<i64, AtomicI64>>,
    recent: Mutex<Recent>,
}

#[derive(Default)]
struct Recent {
    seconds: VecDeque<f64>,
    errors: VecDeque<(SystemTime, String)>,
}

/// Makes the histogram of a program's latencies: buckets from 1 ms, each twice as long, up to two minutes.
fn latencies() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 18))
}

impl Figures {
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("brickwork");
        let runs = Family::default();
        let made = Family::default();
        let stock = Family::default();
        let answers = Family::default();
        let (bytes, connected, waiting) = (Counter::default(), Gauge::default(), Gauge::default());
        let seconds = Family::new_with_constructor(latencies as fn() -> Histogram);
        registry.register("runs", "Programs run, by how they ended", runs.clone());
        registry.register(
            "run_seconds",
            "Seconds from the agreement to run until the outputs, by program",
            seconds.clone(),
        );
        registry.register("made", "Executions that were put into stock", made.clone());
        registry.register("stock", "Executions in stock", stock.clone());
        registry.register("answers", "HTTP answers, by status", answers.clone());
        registry.register(
            "line_bytes",
            "Bytes over the connection that runs programs, both ways",
            bytes.clone(),
        );
        registry.register("peer_connected", "1 if the peer is connected, 0 otherwise", connected.clone());
        registry.register("waiting", "Requests that wait", waiting.clone());
        let attempts = Family::default();
        registry.register(
            "attempts_left",
            "Steps of stock that may still fail before the service makes no more stock with the peer",
            attempts.clone(),
        );
        Figures {
            registry,
            runs,
            seconds,
            made,
            stock,
            answers,
            bytes,
            connected,
            waiting,
            attempts,
            recent: Mutex::default(),
        }
    }

    fn recent(&self) -> std::sync::MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn ran(&self, program: &str, took: Duration, bytes: u64) {
        self.runs.get_or_create(&OfRun { program: program.into(), outcome: "done" }).inc();
        self.seconds.get_or_create(&OfProgram { program: program.into() }).observe(took.as_secs_f64());
        self.bytes.inc_by(bytes);
        let mut recent = self.recent();
        if recent.seconds.len() == LATENCIES {
            recent.seconds.pop_front();
        }
        recent.seconds.push_back(took.as_secs_f64());
    }

    pub fn failed(&self, program: &str) {
        self.runs.get_or_create(&OfRun { program: program.into(), outcome: "failed" }).inc();
    }

    pub fn made(&self, program: &str, executions: u64) {
        self.made.get_or_create(&OfProgram { program: program.into() }).inc_by(executions);
    }

    pub fn stock(&self, program: &str, executions: u64) {
        self.stock.get_or_create(&OfProgram { program: program.into() }).set(executions as i64);
    }

    pub fn answered(&self, status: u16) {
        self.answers.get_or_create(&OfStatus { status }).inc();
    }

    pub fn connected(&self, is: bool) {
        self.connected.set(is.into());
    }

    pub fn is_connected(&self) -> bool {
        self.connected.get() == 1
    }

    pub fn waiting(&self, requests: usize) {
        self.waiting.set(requests as i64);
    }

    /// Sets the number of attempts that the peer has left, if it is known.
    pub fn attempts_left(&self, left: Option<u64>) {
        match left {
            Some(left) => {
                let gauge = self.attempts.get_or_create(&OfProtocol { protocol: "duplo" });
                gauge.set(left.try_into().unwrap_or(i64::MAX));
            }
            None => self.attempts.clear(),
        }
    }

    /// Adds an error to the page. Like every error, it contains no value of a party.
    pub fn error(&self, why: impl Into<String>) {
        let mut recent = self.recent();
        if recent.errors.len() == ERRORS {
            recent.errors.pop_front();
        }
        recent.errors.push_back((SystemTime::now(), why.into()));
    }

    /// Returns the last errors, oldest first.
    pub fn errors(&self) -> Vec<(SystemTime, String)> {
        self.recent().errors.iter().cloned().collect()
    }

    /// Returns the median and the 99th percentile of the last runs in seconds, if there are any.
    pub fn latency(&self) -> Option<[f64; 2]> {
        let mut seconds: Vec<f64> = self.recent().seconds.iter().copied().collect();
        seconds.sort_by(f64::total_cmp);
        let at =
            |share: f64| seconds.get(((seconds.len() as f64 * share) as usize).min(seconds.len().max(1) - 1));
        Some([*at(0.5)?, *at(0.99)?])
    }

    /// Returns the number of runs, and the bytes over the connection.
    pub fn totals(&self, programs: impl Iterator<Item = String>) -> (u64, u64) {
        let runs = programs.map(|program| self.runs.get_or_create(&OfRun { program, outcome: "done" }).get());
        (runs.sum(), self.bytes.get())
    }

    /// Returns the counters in the text format of OpenMetrics.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
