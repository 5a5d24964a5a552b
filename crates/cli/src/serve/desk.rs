//! The queue of a service: its waiting requests, the runs that the peer has announced, and the choice of the
//! next run. The HTTP server adds requests, and the connection to the peer takes them.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use brickwork::circuit::{Party, Port, value};
use brickwork::disk::{Account, EpochId, Relation, Store, Tried};
use brickwork::duplo::Duplo;
use brickwork::protocol::Terms;
use brickwork::protocol::stock::inventory;
use brickwork::quota::Quota;
use brickwork::stop::Stop;
use brickwork_kernels::SecretBlocks;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

use super::budget::{BudgetBook, BudgetSpent, HOUR, Payer, RunBudget, now};
use super::config::{Allowed, Config, NamedToken};
use super::figures::{Figures, Lacks, RunEnding};
use super::results::{FoundRun, Results, Which};
use crate::commands::files;
use crate::render::failure::Failure;
use crate::render::trail::{Asker, EventKind, EventOutcome, Trail, TrailEvent, UNREADABLE, burned};

/// The reason why a party does not run a requested program, or does not run it yet. Parties send each other
/// only these reasons, and no text that a user would see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    NotAllowed,
    /// The program's total number of runs is used up.
    Spent,
    /// The program's runs in an hour are used up; another run is allowed after this many seconds.
    SpentForNow(u64),
    /// Too many requests are waiting.
    Full,
    /// There is no input for the run yet.
    NoInput,
    /// There is no stock for the run yet.
    NoStock,
    /// The service is stopping.
    Stopping,
    /// The run cannot be counted on disk, or its outputs cannot be stored.
    Uncounted,
    /// So many of the peer's attempts failed that no more stock is made.
    Vain,
}

impl Why {
    /// Returns whether the reason may disappear while a request waits.
    pub fn passes(self) -> bool {
        matches!(self, Why::NoInput | Why::NoStock | Why::Stopping | Why::Full)
    }
}

impl From<BudgetSpent> for Why {
    fn from(spent: BudgetSpent) -> Self {
        match spent {
            BudgetSpent::Total => Why::Spent,
            BudgetSpent::ForNow(seconds) => Why::SpentForNow(seconds),
        }
    }
}

/// The reason why a request gets no outputs, for the user. It contains no value of a party.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestRefusal {
    #[serde(skip)]
    pub status: u16,
    pub error: String,
    pub hint: String,
    /// The number of seconds after which the user may ask again.
    pub retry_after: Option<u64>,
}

impl RequestRefusal {
    pub fn new(status: u16, error: impl Into<String>, hint: impl Into<String>) -> Self {
        RequestRefusal { status, error: error.into(), hint: hint.into(), retry_after: None }
    }

    pub fn after(self, seconds: u64) -> Self {
        RequestRefusal { retry_after: Some(seconds), ..self }
    }

    /// Returns the reason for the audit trail. A message about an input may contain row numbers or a length,
    /// so the trail only tells that there was a message.
    fn audited(&self) -> String {
        if self.status == 400 { UNREADABLE.into() } else { self.error.clone() }
    }

    /// Returns the refusal as the user sees it when the peer has refused.
    pub fn of_the_peer(self) -> Self {
        RequestRefusal { error: format!("the peer refuses: {}", self.error), ..self }
    }

    /// Returns whether the refusal comes from a run that had begun.
    pub fn is_of_run(&self) -> bool {
        self.status == 502
    }

    fn late() -> Self {
        let hint = "the peer may be disconnected, may have given no input for this id, or the stock is \
                    empty; the status page shows the reason. wait_seconds in [limits] sets how long a \
                    request waits";
        RequestRefusal::new(504, "the run could not begin in time", hint).after(1)
    }
}

impl From<Why> for RequestRefusal {
    fn from(why: Why) -> Self {
        let budget = "each run tells the peer something about the inputs, so the configuration limits the \
             runs of a program (its budget)";
        match why {
            Why::NotAllowed => RequestRefusal::new(
                403,
                "the program is not allowed",
                "list the program under [[program]] in the configuration on both sides",
            ),
            Why::Spent => RequestRefusal::new(429, "the program's budget is used up", budget),
            Why::SpentForNow(seconds) => {
                RequestRefusal::new(429, "the program has reached its limit of runs in an hour", budget)
                    .after(seconds.clamp(1, HOUR))
            }
            Why::Full => {
                let hint = "ask again later; `waiting` in [limits] sets how many requests may wait";
                RequestRefusal::new(503, "too many requests wait", hint).after(1)
            }
            Why::NoInput => RequestRefusal::new(
                503,
                "this party has no input for the program",
                "send an input with the request, or set a standing input in the configuration",
            )
            .after(1),
            Why::NoStock => RequestRefusal::new(
                503,
                "there is no stock for the program",
                "the service makes more stock; ask again later",
            )
            .after(1),
            Why::Stopping => RequestRefusal::new(
                503,
                "the service is shutting down",
                "ask again when the service runs again",
            )
            .after(5),
            Why::Uncounted => {
                let error = "the service cannot record the run or its outputs";
                RequestRefusal::new(503, error, "the log of the service says why")
            }
            Why::Vain => RequestRefusal::new(
                503,
                "the service makes no more stock: too many attempts failed",
                "the log of the service says which side counts them; `brickwork stock forgive` on that side \
                 lets both begin again, also while the services run",
            ),
        }
    }
}

/// The answer to a request.
pub type DeskAnswer = Result<Value, RequestRefusal>;

/// A request that waits.
struct Queued {
    which: Which,
    token: Arc<NamedToken>,
    input: SecretBlocks<bool>,
    until: Instant,
    answer: oneshot::Sender<DeskAnswer>,
    /// The run is not tried again before this time, because something was missing.
    not_before: Instant,
    /// True while the program of the request runs. Then the request ends with the run.
    runs: bool,
    /// True if the peer has no input for the run yet. The run is tried again when the peer announces it.
    waits_for_peer: bool,
    announced: Option<Instant>,
}

/// A run that the evaluator has announced.
struct Announced {
    which: Which,
    until: Instant,
    not_before: Instant,
}

#[derive(Default)]
struct Queue {
    /// The waiting requests, oldest first.
    requests: Vec<Queued>,
    announced: Vec<Announced>,
    next: u64,
    /// True if the last run was for this party's users. Then the peer's users are next.
    mine_was_last: bool,
}

/// The time after which an announcement expires if the peer does not repeat it.
const ANNOUNCED: Duration = Duration::from_secs(3);

/// The largest number of log lines in a minute about meetings with the peer, and about wrong tokens.
const MEETINGS: u32 = 60;

/// The time between two announcements of a waiting request.
pub const AGAIN: Duration = Duration::from_secs(1);

/// The pause before a run that lacked something is tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// The free bytes on the store's disk that a run needs besides its outputs. They are for log entries, and for
/// the page copies of a transaction.
const ROOM: u64 = 16 << 20;

/// Returns the number of bytes that must be free before a program runs. The outputs are written as JSON
/// twice: into the index, as a sealed result with pages of its own, and into the file `outputs`.
fn room(ports: &[Port]) -> u64 {
    // With these bits, numbers of either sign have nearly the longest text.
    let bits: Vec<bool> = (0..ports.iter().map(Port::width).sum::<u64>()).map(|bit| bit % 2 == 0).collect();
    ROOM + 4 * value::decode(ports, &bits).to_string().len() as u64
}

/// The largest number of announced runs of the peer.
const MAX_ANNOUNCED: usize = 256;

/// The kind of a reason for which a service is not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    Stopping,
    /// The peer has cheated.
    Accused,
    Peer,
    Attempts,
    Disk,
    Stock,
    Budget,
}

/// A reason for which a service is not ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    pub cause: Cause,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    pub text: String,
}

/// The shared state of a service.
pub struct Desk {
    pub party: Party,
    pub store: Store,
    pub terms: Terms,
    pub figures: Figures,
    pub trail: Trail,
    /// Bounds the lines of the log about meetings, which a peer can cause without end.
    meetings: Mutex<Quota>,
    /// Bounds the lines of the log about requests without a known token.
    wrong_tokens: Mutex<Quota>,
    /// The burned epochs that are in the audit trail already.
    burned: Mutex<BTreeSet<EpochId>>,
    config: RwLock<Arc<Config>>,
    book: Mutex<BudgetBook>,
    results: Mutex<Results>,
    /// The number of all results that were ever stored.
    kept: AtomicU64,
    queue: Mutex<Queue>,
    bell: Condvar,
    stopping: AtomicBool,
    /// Set when the service stops, so that no further step of stock begins.
    pub between_steps: Stop,
    /// Set while stock is being made.
    filling: Mutex<bool>,
    filled: Condvar,
    /// True if the peer failed a check, so that no further program runs with it.
    broken_off: AtomicBool,
    /// The account in which the peer's attempts are counted.
    account: Account,
    /// True if this party makes no more stock with the peer until its user runs `stock forgive`.
    in_vain: AtomicBool,
    /// True if the peer has cheated, also before a restart, until the user runs `stock forgive`.
    accused: AtomicBool,
    /// True if the peer makes no more stock with this party.
    pub peer_in_vain: AtomicBool,
    /// Held while a program runs.
    running: Mutex<()>,
    /// Ends the current run, and the time when it must end.
    overdue: Mutex<Option<(Stop, Instant)>>,
}

/// A run that has begun or was offered to the peer. It ends when this value is dropped. Code that waits for
/// the peer must enter its stop.
pub struct Running<'a> {
    desk: &'a Desk,
    pub stop: Stop,
    /// This party's input: that of the request, or else the standing input.
    pub input: Option<SecretBlocks<bool>>,
    /// The token of the request that belongs to the run, if there is one. The request is answered with the
    /// outputs, and does not expire before.
    pub token: Option<Arc<NamedToken>>,
    _one_at_a_time: MutexGuard<'a, ()>,
}

impl Running<'_> {
    /// Returns whether a request of this party's users belongs to the run.
    pub fn is_asked(&self) -> bool {
        self.token.is_some()
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *lock(&self.desk.overdue) = None;
        lock(&self.desk.queue).requests.iter_mut().for_each(|request| request.runs = false);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change under this lock is complete even if the thread panicked later.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    pub fn new(
        party: Party,
        store: Store,
        terms: Terms,
        config: Config,
        book: BudgetBook,
        results: Results,
        trail: Trail,
    ) -> Result<Self, brickwork::ProtocolError> {
        let figures = Figures::new();
        figures.begin(config.programs.values().map(|allowed| &*allowed.name));
        let burned = burned(&store)?.into_iter().map(|(id, _)| id).collect();
        let relation = Relation { role: party, identities: terms.identities };
        let account = Account { relation, protocol: "duplo".into(), security: terms.security };
        let accused = store.vain(&account.accusation())? > 0;
        Ok(Desk {
            party,
            store,
            terms,
            figures,
            trail,
            meetings: Mutex::new(Quota::new(MEETINGS, Duration::from_secs(60))),
            wrong_tokens: Mutex::new(Quota::new(MEETINGS, Duration::from_secs(60))),
            burned: Mutex::new(burned),
            config: RwLock::new(Arc::new(config)),
            book: Mutex::new(book),
            results: Mutex::new(results),
            kept: AtomicU64::new(0),
            queue: Mutex::default(),
            bell: Condvar::new(),
            stopping: AtomicBool::new(false),
            between_steps: Stop::new(),
            filling: Mutex::default(),
            filled: Condvar::new(),
            broken_off: AtomicBool::new(false),
            accused: AtomicBool::new(accused),
            account,
            in_vain: AtomicBool::new(false),
            peer_in_vain: AtomicBool::new(false),
            running: Mutex::new(()),
            overdue: Mutex::default(),
        })
    }

    /// Warns if few of the peer's attempts are left.
    ///
    /// # Errors
    /// [`brickwork::ProtocolError::Stock`] if the account cannot be read.
    pub fn warn_of_few_attempts(&self) -> Result<(), brickwork::ProtocolError> {
        if self.tried()?.is_low() {
            let few = "more than half of the peer's attempts are used up, so the service makes one step of \
                 stock at a time";
            tracing::warn!("{few}; `brickwork stock ls` shows the count");
            self.figures.error(few);
        }
        Ok(())
    }

    /// Records in the store that the peer has cheated.
    pub fn accuse(&self) {
        let account = self.account.accusation();
        if let Err(why) = self.store.lose_setup(&account, account.security.units()) {
            tracing::error!(%why, "the store cannot record that the peer cheated");
        }
    }

    /// Returns whether the peer has cheated, also before a restart.
    pub fn is_accused(&self) -> bool {
        self.accused.load(Ordering::SeqCst)
    }

    /// Returns the peer's attempts, and updates the metric about them.
    fn tried(&self) -> Result<Tried, brickwork::ProtocolError> {
        let tried = self.store.tried(&self.account)?;
        self.figures.attempts_left(tried.left());
        if tried.is_used_up() {
            self.gives_up();
        }
        Ok(tried)
    }

    /// Records that another attempt would exceed the limit.
    pub fn gives_up(&self) {
        self.in_vain.store(true, Ordering::SeqCst);
    }

    /// Returns whether a step of stock may begin now. It may not begin if no more stock is made, or if few
    /// attempts are left and the last attempt was recent.
    ///
    /// # Errors
    /// [`Why::Vain`] if no more stock is made.
    pub fn may_fill(&self) -> Result<bool, Why> {
        let tried = self.tried().map_err(|why| {
            tracing::error!(%why, "the store cannot read the peer's failed attempts");
            Why::Uncounted
        })?;
        match self.in_vain.load(Ordering::SeqCst) {
            true => Err(Why::Vain),
            false => Ok(tried.rest(now()) == 0),
        }
    }

    /// Forgives attempts if another process has requested it (`brickwork stock forgive`).
    fn hear_forgiven(&self) {
        match self.store.hear_forgiven() {
            Ok(accounts) if accounts.is_empty() => {}
            Ok(accounts) => {
                self.in_vain.store(false, Ordering::SeqCst);
                if accounts.contains(&self.account.accusation()) {
                    self.accused.store(false, Ordering::SeqCst);
                }
                tracing::warn!(
                    "the failed attempts of peers are forgiven: somebody called `brickwork stock forgive`"
                );
                self.trail.note(TrailEvent::new(EventKind::Forgiveness, EventOutcome::Done));
                self.ring();
            }
            Err(why) => {
                tracing::error!(%why, "no attempts are forgiven");
                self.figures.error(format!("no attempts are forgiven: {why}"));
            }
        }
    }

    /// Returns the reasons why requests would not be served. A program that lacks stock or budget is a reason
    /// if no other program can run.
    pub fn not_ready(&self) -> Vec<Reason> {
        let vain =
            "the service makes no more stock, because too many attempts failed: see `brickwork stock ls`";
        let accused =
            "the peer cheated, so the service does not connect to it: see docs/guides/operations.md";
        let peer = "the peer refuses to make more stock, because too many attempts failed";
        let reasons = [
            (self.is_stopping(), Cause::Stopping, "the service is shutting down"),
            (self.is_accused(), Cause::Accused, accused),
            (!self.figures.is_connected(), Cause::Peer, "the peer is not connected"),
            (self.in_vain.load(Ordering::SeqCst), Cause::Attempts, vain),
            (self.peer_in_vain.load(Ordering::SeqCst), Cause::Attempts, peer),
            (!self.figures.has_room(), Cause::Disk, "the disk of the store has no room for a run"),
        ];
        let reasons = reasons.into_iter().filter(|(holds, ..)| *holds);
        let mut reasons: Vec<Reason> =
            reasons.map(|(_, cause, text)| Reason { cause, program: None, text: text.into() }).collect();
        let config = self.config();
        let lacking = |allowed: &Allowed| {
            let (cause, lacks) = match self.figures.lacks(&allowed.name)? {
                Lacks::Stock => (Cause::Stock, "there is no stock"),
                Lacks::Budget => (Cause::Budget, "the budget is used up"),
            };
            let text = format!("{lacks} for {}", allowed.name);
            Some(Reason { cause, program: Some(allowed.name.clone()), text })
        };
        let lacking: Option<Vec<Reason>> = config.programs.values().map(lacking).collect();
        reasons.extend(lacking.into_iter().flatten());
        reasons
    }

    /// Measures what the disk and the budgets still allow. It is called now and then, and may wait for the
    /// disk.
    pub fn measure(&self) {
        self.figures.room(self.store.check_room(ROOM).is_ok());
        let config = self.config();
        let mut book = lock(&self.book);
        for allowed in config.programs.values() {
            let left = book.left(self.payer(allowed), &allowed.budget);
            self.figures.program_left(&allowed.name, &left);
        }
        for token in &config.tokens {
            self.figures.token_left(&token.name, &book.left(Payer::Token(&token.name), &token.budget));
        }
        drop(book);
        match inventory::inventory::<Duplo>(&self.store) {
            Ok(parts) => self.figures.stocked(&parts, now()),
            // The connection that uses the store reports this error.
            Err(why) => tracing::debug!("the stock is not measured: {why}"),
        }
    }

    /// Returns whether the log may have one more line about a meeting. It says how many it had to leave out.
    pub fn tells_of_meeting(&self) -> bool {
        let (mut quota, now) = (lock(&self.meetings), Instant::now());
        if let Some(more) = quota.left_out(now) {
            tracing::warn!("{more} more lines about meetings with the peer were left out within a minute");
        }
        quota.takes(now)
    }

    /// Writes into the audit trail which epochs were burned since the last call.
    pub fn note_burned(&self) {
        let now = match burned(&self.store) {
            Ok(now) => now,
            // The connection that uses the store reports this error.
            Err(why) => return tracing::debug!("the audit trail lacks the burned epochs: {why}"),
        };
        let mut known = lock(&self.burned);
        self.trail.burned(now.into_iter().filter(|(id, _)| known.insert(*id)));
    }

    /// Counts a refused run, and writes it into the audit trail. Without a token, the peer has asked for it.
    pub fn note_refusal(
        &self,
        program: Option<&Allowed>,
        run: Option<&str>,
        token: Option<&NamedToken>,
        why: &RequestRefusal,
    ) {
        if let Some(allowed) = program {
            self.figures.ended(&allowed.name, RunEnding::Refused);
        }
        self.trail.note(TrailEvent {
            program: program.map(Allowed::named),
            run: run.map(str::to_owned),
            asked_by: Some(if token.is_some() { Asker::Here } else { Asker::Peer }),
            token: token.map(|token| token.name.clone()),
            reason: Some(why.audited()),
            ..TrailEvent::new(EventKind::Refusal, EventOutcome::Refused)
        });
    }

    /// Counts and reports a request whose token is not known.
    pub fn note_wrong_token(&self) {
        self.figures.wrong_token();
        let now = Instant::now();
        let mut quota = lock(&self.wrong_tokens);
        if let Some(more) = quota.left_out(now) {
            tracing::warn!("{more} more requests with a wrong token or none were refused within a minute");
        }
        if quota.takes(now) {
            tracing::warn!("a request with a wrong token, or with none, was refused");
        }
        self.trail.note(TrailEvent::new(EventKind::Token, EventOutcome::Refused));
    }

    pub fn config(&self) -> Arc<Config> {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes over another configuration. Waiting requests stay, except those for programs that it does not
    /// allow.
    pub fn reload(&self, config: Config) {
        let config = Arc::new(config);
        self.figures.begin(config.programs.values().map(|allowed| &*allowed.name));
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config.clone();
        let mut queue = lock(&self.queue);
        queue.announced.retain(|announced| config.programs.contains_key(&announced.which.digest));
        // A token with another content is still the same token.
        let stays = |request: &Queued| {
            let allowed = config.programs.get(&request.which.digest);
            let token = config.tokens.iter().find(|token| token.name == request.token.name);
            allowed.zip(token).is_some_and(|(allowed, token)| token.allows(allowed))
        };
        queue.refuse(|request| !request.runs && !stays(request), &Why::NotAllowed.into());
        drop(queue);
        self.ring();
    }

    pub fn ring(&self) {
        self.bell.notify_all();
    }

    /// Makes stock. [`Desk::stop`] waits until `work` has ended.
    pub fn fill<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Marks the end even if `work` panics.
        struct Filling<'a>(&'a Desk);
        impl Drop for Filling<'_> {
            fn drop(&mut self) {
                *lock(&self.0.filling) = false;
                self.0.filled.notify_all();
            }
        }
        *lock(&self.filling) = true;
        let _filling = Filling(self);
        work()
    }

    pub fn is_filling(&self) -> bool {
        *lock(&self.filling)
    }

    /// Stops the service: accepts no more requests, and refuses the waiting ones. It returns when no program
    /// runs and the current step of stock is complete, which takes at most as long as a run.
    pub fn stop(&self) {
        let until = Instant::now() + self.config().limits.run();
        self.stopping.store(true, Ordering::SeqCst);
        self.between_steps.ask();
        lock(&self.queue).refuse(|request| !request.runs, &Why::Stopping.into());
        self.ring();
        // The lock is held by a connection with a current run. Other connections see that the service stops.
        drop(lock(&self.running));
        lock(&self.queue).refuse(|_| true, &Why::Stopping.into());
        let left = until.saturating_duration_since(Instant::now());
        drop(self.filled.wait_timeout_while(lock(&self.filling), left, |filling| *filling));
        if let Err(why) = lock(&self.book).settle() {
            tracing::error!(%why, "the store could not record the number of the last runs");
        }
    }

    /// Refuses requests that have waited too long, ends a run that takes too long, and looks for a request to
    /// forgive failed attempts. It is called often.
    pub fn tick(&self) {
        self.hear_forgiven();
        let now = Instant::now();
        lock(&self.queue).expire(now);
        if let Some((stop, until)) = &*lock(&self.overdue)
            && *until <= now
        {
            stop.ask();
        }
    }

    /// Ends the current run, because the peer failed a check on another connection. No further run begins.
    pub fn break_off(&self) {
        self.broken_off.store(true, Ordering::SeqCst);
        if let Some((stop, _)) = &*lock(&self.overdue) {
            stop.ask();
        }
    }

    pub fn is_broken_off(&self) -> bool {
        self.broken_off.load(Ordering::SeqCst)
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Begins a run, which lasts until the guard is dropped. Returns none if the service stops or the peer
    /// has cheated. The run belongs to the request that waits at this moment, and a request that was
    /// withdrawn earlier gives it no input.
    pub fn begin(&self, which: &Which, allowed: &Allowed) -> Option<Running<'_>> {
        let one_at_a_time = lock(&self.running);
        if self.is_stopping() {
            return None;
        }
        let stop = Stop::new();
        *lock(&self.overdue) = Some((stop.clone(), Instant::now() + self.config().limits.run()));
        // If another connection detects a cheat from now on, it ends this run.
        if self.is_broken_off() {
            *lock(&self.overdue) = None;
            return None;
        }
        let mut queue = lock(&self.queue);
        queue.of(which).for_each(|request| request.runs = true);
        let input = queue.input(which, allowed, self.party);
        let token = queue.of(which).next().map(|request| request.token.clone());
        Some(Running { desk: self, stop, input, token, _one_at_a_time: one_at_a_time })
    }

    /// Returns the number of waiting requests: those of this party's users, and those of the peer.
    pub fn waiting(&self) -> [usize; 2] {
        let queue = lock(&self.queue);
        [queue.requests.len(), queue.announced.len()]
    }

    /// Returns the number of all runs of a program with the peer.
    pub fn runs(&self, allowed: &Allowed) -> u64 {
        lock(&self.book).runs(self.payer(allowed))
    }

    /// Returns the payer for the runs of a program.
    fn payer<'a>(&'a self, allowed: &'a Allowed) -> Payer<'a> {
        let peer = &self.terms.identities[1 - self.party as usize];
        Payer::Program { peer, digest: &allowed.digest }
    }

    /// Returns the budget of a program, and its use so far.
    pub fn policy(&self, allowed: &Allowed) -> Policy {
        let mut book = lock(&self.book);
        let (payer, budget) = (self.payer(allowed), allowed.budget);
        let text = format!(
            "{budget} of {} with this peer, because every output tells something about the inputs",
            allowed.name
        );
        let (runs, left) = (book.runs(payer), book.left(payer, &budget));
        Policy { program: allowed.name.clone(), runs, budget, left, text }
    }

    /// Returns the number of executions of a program that are in stock.
    pub fn in_stock(&self, allowed: &Allowed) -> Result<u64, brickwork::ProtocolError> {
        let parts = inventory::inventory::<Duplo>(&self.store)?;
        parts.iter().map(|part| inventory::executions::<Duplo>(part, &self.store, &allowed.program)).sum()
    }

    /// Adds a request to the queue. Its id is marked, so that it differs from generated ids. This may wait
    /// for the disk.
    ///
    /// # Errors
    /// The reason why the request is refused at once.
    pub fn submit(
        &self,
        program: &str,
        id: Option<String>,
        input: &Value,
        token: &Arc<NamedToken>,
    ) -> Result<oneshot::Receiver<DeskAnswer>, RequestRefusal> {
        let config = self.config();
        let allowed = config.named(program).ok_or(Why::NotAllowed)?;
        if !token.allows(allowed) {
            let error = format!("the token {} is not for this program", token.name);
            return Err(RequestRefusal { error, ..Why::NotAllowed.into() });
        }
        let ports = allowed.program.input_ports(self.party);
        let input = match (ports.is_empty(), input.is_null(), &allowed.input) {
            (true, ..) => SecretBlocks::default(),
            (false, true, Some(standing)) => standing.clone(),
            _ => value::encode(ports, input).map(SecretBlocks::new).map_err(|e| {
                RequestRefusal::new(400, e.to_string(), "`brickwork info FILE` shows the type of each input")
            })?,
        };
        let (answer, answered) = oneshot::channel();
        let mut queue = loop {
            let kept = self.kept.load(Ordering::SeqCst);
            if let Some(id) = &id
                && let Some(found) =
                    self.found(&Which { digest: allowed.digest, id: id.clone() }, &input, token)
            {
                drop(answer.send(found));
                return Ok(answered);
            }
            self.may(allowed)?;
            self.token_may(token)?;
            let queue = lock(&self.queue);
            // A run stores its result before its request leaves the queue. So the search can have missed the
            // result only if another result was stored in the meantime.
            if self.kept.load(Ordering::SeqCst) == kept {
                break queue;
            }
        };
        let now = Instant::now();
        if self.is_stopping() {
            return Err(Why::Stopping.into());
        }
        if queue.requests.len() >= config.limits.waiting {
            return Err(Why::Full.into());
        }
        queue.next += 1;
        let number = queue.next;
        let id = id.unwrap_or_else(|| format!("{}#{number}", files::role(self.party)));
        let which = Which { digest: allowed.digest, id };
        if queue.requests.iter().any(|other| other.which == which) {
            let hint = "give each request its own id; ask later for the outputs of the request that runs";
            return Err(RequestRefusal::new(409, "a request with this id already waits", hint));
        }
        queue.requests.push(Queued {
            which,
            token: token.clone(),
            input,
            until: now + config.limits.wait(),
            answer,
            not_before: now,
            runs: false,
            waits_for_peer: false,
            announced: None,
        });
        drop(queue);
        self.ring();
        Ok(answered)
    }

    /// Returns the next run that the garbler may try, or none within this time. Requests of this party and of
    /// the peer alternate.
    pub fn next(&self, within: Duration) -> Option<Which> {
        let until = Instant::now() + within;
        let mut queue = lock(&self.queue);
        loop {
            let now = Instant::now();
            if self.is_stopping() {
                return None;
            }
            let mine =
                queue.requests.iter().find(|request| !request.waits_for_peer && request.not_before <= now);
            let mine = mine.map(|request| request.which.clone());
            let theirs = queue.announced.iter().find(|announced| announced.not_before <= now);
            let theirs = theirs.map(|announced| announced.which.clone());
            let last = queue.mine_was_last;
            queue.mine_was_last = mine.is_some() && (theirs.is_none() || !last);
            if let Some(which) = if last { theirs.or(mine) } else { mine.or(theirs) } {
                return Some(which);
            }
            let left = until.checked_duration_since(now)?;
            // A run that was postponed is tried again after a pause.
            let waited = self.bell.wait_timeout(queue, left.min(PAUSE));
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Postpones a run, either for a short time or, if the peer has no input for it, until the peer announces
    /// one.
    pub fn park(&self, which: &Which, peer_has_no_input: bool) {
        let mut queue = lock(&self.queue);
        let later = Instant::now() + PAUSE;
        for request in queue.of(which) {
            request.not_before = later;
            request.waits_for_peer = peer_has_no_input;
        }
        for announced in queue.announced.iter_mut().filter(|announced| announced.which == *which) {
            announced.not_before = later;
        }
    }

    /// Returns whether a user of this party waits for a run.
    pub fn is_asked(&self, which: &Which) -> bool {
        lock(&self.queue).requests.iter().any(|request| request.which == *which)
    }

    /// Returns this party's input for a run: that of a request, or else the standing input. Returns none if
    /// there is no input.
    pub fn input(&self, which: &Which, allowed: &Allowed) -> Option<SecretBlocks<bool>> {
        lock(&self.queue).input(which, allowed, self.party)
    }

    /// Checks a program's budget.
    ///
    /// # Errors
    /// The part of the budget that is used up.
    pub fn may(&self, allowed: &Allowed) -> Result<(), Why> {
        Ok(lock(&self.book).may(self.payer(allowed), &allowed.budget)?)
    }

    /// Checks the budget of a token.
    ///
    /// # Errors
    /// The part of the budget that is used up.
    pub fn token_may(&self, token: &NamedToken) -> Result<(), RequestRefusal> {
        let spent = lock(&self.book).may(Payer::Token(&token.name), &token.budget);
        let error = || format!("the budget of the token {} is used up: {}", token.name, token.budget);
        spent.map_err(|spent| RequestRefusal { error: error(), ..Why::from(spent).into() })
    }

    /// Returns the answer to a request whose program has run before.
    fn found(&self, which: &Which, input: &[bool], token: &NamedToken) -> Option<DeskAnswer> {
        match lock(&self.results).find(which, input, &token.name) {
            Ok(FoundRun::Nothing) => None,
            Ok(FoundRun::Outputs(outputs)) => Some(Ok(outputs)),
            Ok(FoundRun::OtherInput) => {
                let hint = "give each request its own id; only the same request gets the same outputs again";
                Some(Err(RequestRefusal::new(
                    409,
                    "a request with this id has already run with another input",
                    hint,
                )))
            }
            Err(why) => {
                tracing::error!(%why, "the store cannot read a result");
                Some(Err(RequestRefusal::new(
                    503,
                    "the service cannot read its results",
                    "the log of the service says why",
                )))
            }
        }
    }

    /// Checks, before a program runs, that its outputs fit on the disk and can be written to the configured
    /// file.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn can_keep(&self, allowed: &Allowed) -> Result<(), Why> {
        let ports = allowed.program.output_ports(self.party);
        let room = self.store.check_room(room(&ports)).map_err(|why| why.to_string());
        let file = || match &allowed.outputs {
            Some(path) => files::append_private(path).map(drop).map_err(|e| e.message().to_owned()),
            None => Ok(()),
        };
        room.and_then(|()| file()).map_err(|why| {
            tracing::error!(%why, program = allowed.name, "the store could not keep outputs, so the program \
                 does not run");
            self.figures.error(format!("the store could not keep outputs: {why}"));
            Why::Uncounted
        })
    }

    /// Checks a program's budget, and counts a run of it, also for the token of its request.
    ///
    /// # Errors
    /// The part of the budget that is used up. Also an error if the run cannot be recorded; then it must not
    /// begin.
    pub fn charge(&self, allowed: &Allowed, token: Option<&NamedToken>) -> Result<(), Why> {
        let mut book = lock(&self.book);
        let payer = self.payer(allowed);
        book.may(payer, &allowed.budget)?;
        let payers = [payer].into_iter().chain(token.map(|token| Payer::Token(&token.name)));
        book.charge(payers).map_err(|why| {
            tracing::error!(%why, "the store could not record the run in the budget");
            self.figures.error(format!("the store could not record the run in the budget: {why}"));
            Why::Uncounted
        })
    }

    /// Returns the evaluator's requests that must be announced to the garbler now, or waits for one.
    pub fn to_announce(&self, within: Duration) -> Vec<Which> {
        let mut queue = lock(&self.queue);
        let due = |queue: &mut Queue| {
            let now = Instant::now();
            let due = |request: &&mut Queued| {
                !request.runs && request.announced.is_none_or(|last| last + AGAIN <= now)
            };
            let due = queue.requests.iter_mut().filter(due).map(|request| {
                request.announced = Some(now);
                request.which.clone()
            });
            due.collect::<Vec<_>>()
        };
        let mut found = due(&mut queue);
        if found.is_empty() {
            let waited = self.bell.wait_timeout(queue, within);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            found = due(&mut queue);
        }
        found
    }

    /// Records a run that the evaluator has announced to the garbler.
    ///
    /// # Errors
    /// If it has announced too many runs.
    pub fn note(&self, which: Which) -> Result<(), Why> {
        let mut queue = lock(&self.queue);
        let now = Instant::now();
        queue.of(&which).for_each(|request| request.waits_for_peer = false);
        let full = queue.announced.len() >= MAX_ANNOUNCED;
        match queue.announced.iter_mut().find(|other| other.which == which) {
            Some(known) => known.until = now + ANNOUNCED,
            None if full => return Err(Why::Full),
            None => queue.announced.push(Announced { which, until: now + ANNOUNCED, not_before: now }),
        }
        drop(queue);
        self.ring();
        Ok(())
    }

    /// Refuses a run: a user of this party gets the reason, or the peer's announcement is forgotten.
    pub fn refuse(&self, which: &Which, why: &RequestRefusal) {
        let mut queue = lock(&self.queue);
        queue.announced.retain(|announced| announced.which != *which);
        queue.refuse(|request| request.which == *which, why);
    }

    /// Ends a run with this input, and answers the user of this party who requested it with this token. If
    /// the user gave an id, the outputs are stored first. An id that only the peer has sent stores no result.
    /// If no user waits for the outputs, they are written to the configured file.
    pub fn ended(
        &self,
        which: &Which,
        allowed: &Allowed,
        input: &[bool],
        token: Option<&NamedToken>,
        answer: DeskAnswer,
    ) {
        if let Ok(outputs) = &answer
            && let Some(token) = token
            && which.id.starts_with('=')
        {
            if let Err(why) = lock(&self.results).keep(which, input, &token.name, outputs) {
                tracing::error!(%why, "the store could not keep a result");
                self.figures.error(format!("the store could not keep a result: {why}"));
            }
            self.kept.fetch_add(1, Ordering::SeqCst);
        }
        let asked = {
            let mut queue = lock(&self.queue);
            queue.announced.retain(|announced| announced.which != *which);
            // A request that came after the run had begun has not given the run its input.
            let place = queue.requests.iter().position(|request| request.which == *which && request.runs);
            place.map(|place| queue.requests.remove(place))
        };
        let unheard = match asked {
            Some(request) => request.answer.send(answer).err(),
            None => Some(answer),
        };
        if let Some(Ok(outputs)) = unheard
            && let Some(path) = &allowed.outputs
        {
            let id = which.id.strip_prefix('=');
            let line = Learned { program: &allowed.name, id, outputs };
            if let Err(failure) = append(path, &line) {
                let program = &allowed.name;
                tracing::error!(program, "the outputs cannot be written: {}", failure.message());
            }
        }
    }

    /// Refuses all requests for a program, except for a run that has begun.
    pub fn refuse_all(&self, digest: &[u8; 32], why: &RequestRefusal) {
        lock(&self.queue).refuse(|request| !request.runs && request.which.digest == *digest, why);
    }
}

/// The outputs of a run for which nobody waits.
#[derive(Serialize)]
struct Learned<'a> {
    program: &'a str,
    id: Option<&'a str>,
    outputs: Value,
}

/// The budget of a program with the peer, and its use so far.
#[derive(Serialize)]
pub struct Policy {
    program: String,
    runs: u64,
    budget: RunBudget,
    left: RunBudget,
    text: String,
}

/// Appends a line to a file that only its owner can read.
fn append(path: &std::path::Path, line: &Learned) -> Result<(), Failure> {
    let mut file = files::append_private(path)?;
    let mut line = serde_json::to_vec(line).map_err(|e| Failure::fault(e.to_string()))?;
    line.push(b'\n');
    let written = file.write_all(&line).and_then(|()| file.sync_data());
    written.map_err(|e| Failure::cannot_write(path, &e))
}

impl Queue {
    /// Returns the requests for this run.
    fn of(&mut self, which: &Which) -> impl Iterator<Item = &mut Queued> {
        self.requests.iter_mut().filter(|request| request.which == *which)
    }

    /// Returns a party's input for a run: that of the request, or else the standing input.
    fn input(&self, which: &Which, allowed: &Allowed, party: Party) -> Option<SecretBlocks<bool>> {
        let given = self.requests.iter().find(|request| request.which == *which);
        if allowed.program.input_ports(party).is_empty() {
            return Some(SecretBlocks::default());
        }
        given.map(|request| request.input.clone()).or_else(|| allowed.input.clone())
    }

    /// Refuses the requests that `which` selects.
    fn refuse(&mut self, which: impl Fn(&Queued) -> bool, why: &RequestRefusal) {
        let (refused, stay) = self.requests.drain(..).partition(which);
        self.requests = stay;
        let refused: Vec<Queued> = refused;
        refused.into_iter().for_each(|request| drop(request.answer.send(Err(why.clone()))));
    }

    /// Refuses requests that have waited too long, and forgets announced runs that have expired. A run that
    /// has begun stays.
    fn expire(&mut self, now: Instant) {
        self.announced.retain(|announced| announced.until > now);
        self.requests.retain(|request| request.runs || !request.answer.is_closed());
        self.refuse(|request| !request.runs && request.until <= now, &RequestRefusal::late());
    }
}

#[cfg(test)]
mod tests {
    use super::super::place::Door;
    use super::*;
    use crate::render::appended::Rotation;
    use crate::serve::config::RequestLimits;
    use brickwork::Security;
    use brickwork::circuit::library;
    use brickwork::disk::StoreKey;
    use brickwork::protocol::TABLE_MEMORY;
    use serde_json::json;

    fn desk(folder: &std::path::Path, input: Option<SecretBlocks<bool>>) -> Desk {
        let program = Arc::new(library::millionaires().expect("a program"));
        let digest = program.digest();
        let allowed = Allowed {
            name: "richer".into(),
            digest,
            program,
            input,
            outputs: None,
            low: 0,
            high: 0,
            budget: RunBudget::default(),
        };
        let config = Config {
            limits: RequestLimits::default(),
            programs: [(digest, allowed)].into(),
            tokens: vec![NamedToken::of("app", "")],
            tls: None,
        };
        let key = StoreKey::from_hex(&"01".repeat(32)).expect("a key");
        let store = Store::open(&folder.join("store"), &key).expect("a store");
        let terms = Terms {
            security: 40.into(),
            threads: 1,
            table_memory: TABLE_MEMORY,
            identities: [[1; 32], [2; 32]],
            post_quantum: false,
        };
        let book = BudgetBook::open(&store).expect("a book");
        let results = Results::open(&store).expect("results");
        let trail = Trail::open(&folder.join("audit"), Rotation::default(), "serve");
        let trail = trail.unwrap_or_else(|_| panic!("a trail"));
        Desk::new(Party::Garbler, store, terms, config, book, results, trail).expect("a desk")
    }

    /// A run takes the input of the request that waits when it begins. A withdrawn request gives no input,
    /// and a later one waits for the next run.
    #[test]
    fn a_withdrawn_input_does_not_run() {
        let stands = SecretBlocks::new(vec![true; 32]);
        for standing in [None, Some(stands.clone())] {
            let folder = tempfile::tempdir().expect("a folder");
            let desk = desk(folder.path(), standing.clone());
            let config = desk.config();
            let (allowed, app) = (config.named("richer").expect("it is allowed"), config.tokens[0].clone());
            let ask = || desk.submit("richer", Some("=7".into()), &json!(5), &app).expect("it waits");
            let which = Which { digest: allowed.digest, id: "=7".into() };

            let answer = ask();
            assert!(desk.is_asked(&which) && desk.input(&which, allowed).is_some());
            drop(answer);
            desk.tick();
            let running = desk.begin(&which, allowed).expect("a run");
            assert!(!running.is_asked() && running.input.as_deref() == standing.as_deref());
            let mut late = ask();
            desk.ended(&which, allowed, &running.input.clone().unwrap_or_default(), None, Ok(json!(1)));
            assert!(late.try_recv().is_err(), "this run is not the one that it asked for");
            drop(running);

            let running = desk.begin(&which, allowed).expect("a run");
            let five: Vec<bool> = (0..32).map(|bit| 5 >> bit & 1 == 1).collect();
            assert!(running.is_asked() && running.input.as_deref() == Some(&five));
            desk.ended(&which, allowed, &five, Some(&app), Ok(json!(2)));
            assert_eq!(late.try_recv().expect("an answer"), Ok(json!(2)));
            // The same request gets the same answer again.
            assert_eq!(ask().try_recv().expect("an answer"), Ok(json!(2)));
            let other =
                desk.submit("richer", Some("=7".into()), &json!(6), &app).expect("an answer").try_recv();
            assert_eq!(other.expect("an answer").map_err(|why| why.status), Err(409));
        }
    }

    /// A peer that comes and goes all the time does not fill the log.
    #[test]
    fn meetings_do_not_fill_the_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let desk = desk(folder.path(), None);
        let told = (0..100 * MEETINGS).filter(|_| desk.tells_of_meeting()).count();
        assert!((1..=2 * MEETINGS as usize).contains(&told), "{told}");
    }

    /// The computed room is larger than any text of the outputs.
    #[test]
    fn large_outputs_need_more_room() {
        use brickwork::circuit::Type;
        for ty in [Type::Uint(64), Type::Int(64)] {
            let list = |count: u32| [Port::new("list", Type::Array(Box::new(ty.clone()), count))];
            let longest = vec!["-9223372036854775808"; 100_000].join(",").len() as u64;
            assert!(room(&list(100_000)) > room(&list(1)) + 3 * longest);
        }
    }

    /// The peer may choose any ids. But they never use up an id of a user of this party, or replace such a
    /// result.
    #[test]
    fn ids_of_the_peer_keep_no_results() {
        let folder = tempfile::tempdir().expect("a folder");
        let desk = desk(folder.path(), Some(SecretBlocks::new(vec![true; 32])));
        let config = desk.config();
        let (allowed, app) = (config.named("richer").expect("it is allowed"), config.tokens[0].clone());
        let which = Which { digest: allowed.digest, id: "=7".into() };
        let run = |outputs: u32| {
            let running = desk.begin(&which, allowed).expect("a run");
            let input = running.input.clone().expect("an input");
            desk.ended(&which, allowed, &input, running.token.as_deref(), Ok(json!(outputs)));
        };
        let ask = || desk.submit("richer", Some("=7".into()), &json!(5), &app).expect("it waits");
        run(1);
        let mut asked = ask();
        assert!(asked.try_recv().is_err(), "the id is free");
        run(2);
        assert_eq!(asked.try_recv().expect("an answer"), Ok(json!(2)));
        run(3);
        assert_eq!(
            ask().try_recv().expect("an answer"),
            Ok(json!(2)),
            "the result is the one that was asked for"
        );
    }

    /// While one request waits for the disk, the HTTP thread answers others.
    #[test]
    fn http_does_not_wait_for_the_disk() {
        use std::io::Read;
        let folder = tempfile::tempdir().expect("a folder");
        let desk = Arc::new(desk(folder.path(), None));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let socket = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a socket");
        let at = socket.local_addr().expect("an address");
        let (over, ends) = oneshot::channel::<()>();
        let (results, book) = (lock(&desk.results), lock(&desk.book));
        let connect = || {
            let stream = std::net::TcpStream::connect(at).expect("a connection");
            stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
            stream
        };
        std::thread::scope(|scope| {
            let (served, door) = (desk.clone(), Door::Tcp(socket));
            scope.spawn(move || {
                runtime.block_on(async {
                    tokio::select! { () = super::super::http::serve(served, door) => {}, _ = ends => {} }
                });
                runtime.shutdown_background();
            });
            let mut waits = connect();
            let body = r#"{"program": "richer", "input": 5, "id": "7"}"#;
            let head = "POST /run HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \r\n";
            let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
            waits.write_all(request.as_bytes()).expect("it is sent");
            for page in ["health", "ready", "metrics"] {
                let mut asks = connect();
                let request = format!("GET /{page} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
                asks.write_all(request.as_bytes()).expect("it is sent");
                let mut answer = String::new();
                asks.read_to_string(&mut answer).expect("an answer");
                assert!(answer.starts_with("HTTP/1.1 "), "{page}: {answer}");
            }
            assert_eq!(desk.waiting()[0], 0);
            drop((results, book));
            let begun = Instant::now();
            while desk.waiting()[0] == 0 && begun.elapsed() < Duration::from_secs(30) {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(desk.waiting()[0], 1);
            desk.reload(Config {
                limits: RequestLimits::default(),
                programs: Default::default(),
                tokens: Vec::new(),
                tls: None,
            });
            drop(over);
        });
    }

    /// If few attempts are left, the service pauses between steps of stock, even after a restart. If none is
    /// left, it makes no more stock, and reports that it is not ready, until its user forgives the attempts.
    #[test]
    fn few_attempts_are_spread_over_time() {
        use brickwork::disk::{Counted, Epoch, EpochEntry, EpochSecrets as Kept, FillStep};
        let folder = tempfile::tempdir().expect("a folder");
        let open = || desk(folder.path(), None);
        let (desk, most) = (open(), Security::of(40).units());
        let Account { relation, protocol, security } = desk.account.clone();
        let epoch = Epoch {
            protocol,
            version: 1,
            role: relation.role,
            security,
            identities: relation.identities,
            created: now(),
            max_age: 1000,
            fixed: 0,
            early: 0,
            counted: Counted::BrokenOff,
        };
        desk.store.begin(&[3; 32], &epoch, &Kept::fixed(b"secrets")).expect("an epoch");
        let step = |risk: u128| {
            let fill = EpochEntry::Fill(FillStep { job: [1; 32], number: 0, of: 9, risk, workers: 1 });
            drop(desk.store.append(&[3; 32], &fill).expect("an entry"));
            desk.store.expose(&[3; 32]).expect("an attempt");
        };
        let left = |desk: &Desk| {
            desk.figures.text().lines().find_map(|line| {
                line.strip_prefix("brickwork_attempts_left{protocol=\"duplo\"} ").map(str::to_owned)
            })
        };
        desk.figures.connected(true);
        let ready = |desk: &Desk| {
            desk.figures.stock("richer", 1);
            desk.measure();
            desk.not_ready().into_iter().next().map(|reason| reason.text)
        };
        assert_eq!((desk.may_fill(), left(&desk), ready(&desk)), (Ok(true), None, None));
        step(most / 10);
        assert_eq!((desk.may_fill(), left(&desk)), (Ok(true), Some("9".into())));
        (0..7).for_each(|_| step(most / 10));
        assert_eq!((desk.may_fill(), left(&desk)), (Ok(false), Some("2".into())));
        drop(desk);
        let desk = open();
        desk.figures.connected(true);
        assert_eq!((desk.may_fill(), left(&desk), ready(&desk)), (Ok(false), Some("2".into()), None));
        desk.store.attempt(&desk.account, most / 5).expect("an attempt");
        assert_eq!((desk.may_fill(), left(&desk)), (Err(Why::Vain), Some("0".into())));
        assert!(ready(&desk).is_some_and(|why| why.contains("makes no more stock")));
        let key = StoreKey::from_hex(&"01".repeat(32)).expect("a key");
        let view = Store::view(&folder.path().join("store"), &key).expect("a store");
        let asked = view.ask_to_forgive(std::slice::from_ref(&desk.account)).expect("it asks");
        desk.tick();
        assert!(asked.is_heard());
        assert_eq!((desk.may_fill(), ready(&desk)), (Ok(true), None));
        let trail = std::fs::read_to_string(folder.path().join("audit")).expect("a trail");
        assert!(trail.contains("\"event\":\"forgiveness\""), "{trail}");
        desk.peer_in_vain.store(true, Ordering::SeqCst);
        assert!(ready(&desk).is_some_and(|why| why.contains("the peer refuses to make more stock")));
    }
}
