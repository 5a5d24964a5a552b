//! The counters of a service, for `/metrics` and the status page. They contain no values of the parties.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use brickwork::protocol::stock::inventory::Inventory;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};

use super::budget::RunBudget;
use crate::render::report::hex;
use crate::render::versions::Versions;

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
    outcome: RunEnding,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunEnding {
    Done,
    Failed,
    Refused,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStatus {
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfProtocol {
    protocol: &'static str,
}

/// A limit of a budget.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfBudget {
    program: String,
    window: Window,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfToken {
    token: String,
    window: Window,
}

/// The time for which a budget holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Window {
    Hour,
    Total,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfItems {
    name: String,
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfEpoch {
    epoch: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfBuild {
    version: &'static str,
    commit: &'static str,
    protocol: u32,
}

impl EncodeLabelValue for RunEnding {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> Result<(), fmt::Error> {
        let name = match self {
            RunEnding::Done => "done",
            RunEnding::Failed => "failed",
            RunEnding::Refused => "refused",
        };
        name.encode(encoder)
    }
}

impl EncodeLabelValue for Window {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> Result<(), fmt::Error> {
        let name = match self {
            Window::Hour => "hour",
            Window::Total => "total",
        };
        name.encode(encoder)
    }
}

/// Returns the limits of a budget that exist.
fn windows(budget: &RunBudget) -> impl Iterator<Item = (Window, i64)> {
    let windows = [(Window::Hour, budget.per_hour), (Window::Total, budget.total)];
    windows.into_iter().filter_map(|(window, left)| Some((window, i64::try_from(left?).unwrap_or(i64::MAX))))
}

/// The resource that a program lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacks {
    Stock,
    Budget,
}

type Count = Counter<u64, AtomicU64>;
type Level = Gauge<i64, AtomicI64>;
type Number = Gauge<f64, AtomicU64>;

/// The counters.
pub struct Figures {
    registry: Registry,
    runs: Family<OfRun, Count>,
    seconds: Family<OfProgram, Histogram, fn() -> Histogram>,
    made: Family<OfProgram, Count>,
    stock: Family<OfProgram, Level>,
    answers: Family<OfStatus, Count>,
    bytes: Count,
    connected: Level,
    meetings: Count,
    waiting: Level,
    announced: Level,
    wrong_tokens: Count,
    /// The peer's remaining attempts, after the first step of stock.
    attempts: Family<OfProtocol, Level>,
    budgets: Family<OfBudget, Level>,
    tokens: Family<OfToken, Level>,
    items: Family<OfItems, Level>,
    item_bytes: Family<OfItems, Level>,
    ages: Family<OfEpoch, Level>,
    lives: Family<OfEpoch, Level>,
    bounds: Family<OfEpoch, Number>,
    room: Level,
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

/// Adds a metric to the registry.
fn put<M: Clone + Metric>(registry: &mut Registry, name: &str, help: &str, metric: &M) {
    registry.register(name, help, metric.clone());
}

impl Figures {
    pub fn new() -> Self {
        let figures = Figures {
            registry: Registry::with_prefix("brickwork"),
            runs: Family::default(),
            seconds: Family::new_with_constructor(latencies as fn() -> Histogram),
            made: Family::default(),
            stock: Family::default(),
            answers: Family::default(),
            bytes: Counter::default(),
            connected: Gauge::default(),
            meetings: Counter::default(),
            waiting: Gauge::default(),
            announced: Gauge::default(),
            wrong_tokens: Counter::default(),
            attempts: Family::default(),
            budgets: Family::default(),
            tokens: Family::default(),
            items: Family::default(),
            item_bytes: Family::default(),
            ages: Family::default(),
            lives: Family::default(),
            bounds: Family::default(),
            room: Gauge::default(),
            recent: Mutex::default(),
        };
        figures.room(true);
        figures.registered()
    }

    /// Names and describes the metrics.
    fn registered(mut self) -> Self {
        let build = Family::<OfBuild, Level>::default();
        let Versions { version, commit, protocol, .. } = Versions::HERE;
        build.get_or_create(&OfBuild { version, commit: commit.unwrap_or_default(), protocol }).set(1);
        let r = &mut self.registry;
        put(r, "build_info", "The version and the commit of the program, and its protocol version", &build);
        put(r, "runs", "Programs run, by how they ended", &self.runs);
        put(
            r,
            "run_seconds",
            "Seconds from the agreement to run until the outputs, by program",
            &self.seconds,
        );
        put(r, "made", "Executions that were put into stock", &self.made);
        put(r, "stock", "Executions in stock", &self.stock);
        put(r, "answers", "HTTP answers, by status", &self.answers);
        put(r, "line_bytes", "Bytes over the connection that runs programs, both ways", &self.bytes);
        put(r, "peer_connected", "1 if the peer is connected, 0 otherwise", &self.connected);
        put(r, "meetings", "How often the peer was connected", &self.meetings);
        put(r, "waiting", "Requests that wait", &self.waiting);
        put(r, "announced", "Requests of the peer that wait", &self.announced);
        put(r, "tokens_refused", "Requests with a wrong token, or with none", &self.wrong_tokens);
        let attempts =
            "Steps of stock that may still fail before the service makes no more stock with the peer";
        put(r, "attempts_left", attempts, &self.attempts);
        put(r, "budget_left", "Runs of a program that its budget still allows", &self.budgets);
        put(r, "token_budget_left", "Runs that the budget of a token still allows", &self.tokens);
        put(r, "stock_items", "Items in stock, by name and kind", &self.items);
        put(r, "stock_bytes", "Bytes on disk of batches in stock, by name and kind", &self.item_bytes);
        put(r, "epoch_age_seconds", "Age of a part of the stock that can be used", &self.ages);
        put(r, "epoch_left_seconds", "Seconds until a part of the stock is erased", &self.lives);
        let bound = "Base-2 logarithm of the bound on a cheater for all programs from a part of the stock";
        put(r, "epoch_bound_log2", bound, &self.bounds);
        put(r, "disk_has_room", "1 if the disk of the store has room for a run, 0 otherwise", &self.room);
        self
    }

    fn recent(&self) -> std::sync::MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn ran(&self, program: &str, took: Duration, bytes: u64) {
        self.ended(program, RunEnding::Done);
        self.seconds.get_or_create(&OfProgram { program: program.into() }).observe(took.as_secs_f64());
        self.bytes.inc_by(bytes);
        let mut recent = self.recent();
        if recent.seconds.len() == LATENCIES {
            recent.seconds.pop_front();
        }
        recent.seconds.push_back(took.as_secs_f64());
    }

    /// Counts a run that has ended or was refused.
    pub fn ended(&self, program: &str, outcome: RunEnding) {
        self.runs.get_or_create(&OfRun { program: program.into(), outcome }).inc();
    }

    /// Makes the counters of these programs, so that they begin with 0.
    pub fn begin<'p>(&self, programs: impl Iterator<Item = &'p str>) {
        for program in programs {
            for outcome in [RunEnding::Done, RunEnding::Failed, RunEnding::Refused] {
                drop(self.runs.get_or_create(&OfRun { program: program.into(), outcome }));
            }
            let of = OfProgram { program: program.into() };
            drop(self.seconds.get_or_create(&of));
            drop(self.made.get_or_create(&of));
        }
        self.budgets.clear();
        self.tokens.clear();
    }

    pub fn met(&self) {
        self.meetings.inc();
    }

    pub fn wrong_token(&self) {
        self.wrong_tokens.inc();
    }

    pub fn announced(&self, requests: usize) {
        self.announced.set(requests as i64);
    }

    pub fn room(&self, has: bool) {
        self.room.set(has.into());
    }

    pub fn has_room(&self) -> bool {
        self.room.get() == 1
    }

    /// Sets the budget that is left of a program.
    pub fn program_left(&self, program: &str, left: &RunBudget) {
        for (window, left) in windows(left) {
            self.budgets.get_or_create(&OfBudget { program: program.into(), window }).set(left);
        }
    }

    /// Sets the budget that is left of a token.
    pub fn token_left(&self, token: &str, left: &RunBudget) {
        for (window, left) in windows(left) {
            self.tokens.get_or_create(&OfToken { token: token.into(), window }).set(left);
        }
    }

    /// Returns the resource that a program lacks, if it cannot run now.
    pub fn lacks(&self, program: &str) -> Option<Lacks> {
        let spent = |window: Window| {
            let of = OfBudget { program: program.into(), window };
            self.budgets.get(&of).is_some_and(|left| left.get() == 0)
        };
        let stock = self.stock.get(&OfProgram { program: program.into() });
        match () {
            () if stock.is_none_or(|stock| stock.get() == 0) => Some(Lacks::Stock),
            () if spent(Window::Hour) || spent(Window::Total) => Some(Lacks::Budget),
            () => None,
        }
    }

    /// Sets the stock by kind, and the age and the bound of its parts.
    pub fn stocked(&self, parts: &[Inventory], now: u64) {
        let mut all = BTreeMap::<(&str, &'static str), [u64; 2]>::new();
        self.ages.clear();
        self.lives.clear();
        self.bounds.clear();
        for part in parts.iter().filter(|part| !part.is_lost()) {
            let of = OfEpoch { epoch: hex(&part.id[..4]) };
            let age = now.saturating_sub(part.epoch.created);
            self.ages.get_or_create(&of).set(age as i64);
            self.lives.get_or_create(&of).set(part.epoch.max_age.saturating_sub(age) as i64);
            if let Some(bound) = part.bound_log2 {
                self.bounds.get_or_create(&of).set(bound);
            }
            for batch in &part.batches {
                let [items, bytes] = all.entry((&batch.name, batch.kind)).or_default();
                *items += batch.left;
                *bytes += if batch.left > 0 { batch.bytes } else { 0 };
            }
        }
        self.items.clear();
        self.item_bytes.clear();
        for ((name, kind), [items, bytes]) in all {
            let of = OfItems { name: name.into(), kind };
            self.items.get_or_create(&of).set(items as i64);
            self.item_bytes.get_or_create(&of).set(bytes as i64);
        }
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
        let runs = programs
            .map(|program| self.runs.get_or_create(&OfRun { program, outcome: RunEnding::Done }).get());
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
