//! The desk of a standing party: requests that wait, what the peer has announced, and what may run next. HTTP
//! puts requests here, the line to the peer takes them.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use brickwork::circuit::{Party, value};
use brickwork::duplo;
use brickwork::session::Terms;
use brickwork::stock::Store;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use zeroize::Zeroizing;

use super::budget::{Book, Spent};
use super::config::{Allowed, Config};
use super::figures::Figures;
use crate::failure::Failure;
use crate::files;

/// Which run: the program, and the request that it belongs to. A request without an id of its user's has one
/// of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Which {
    pub program: String,
    pub id: String,
}

/// Why something is not run. What it says goes to users and to the peer: no value is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub status: u16,
    pub error: String,
    pub hint: String,
    /// Seconds after which it may be asked again.
    pub retry_after: Option<u64>,
}

impl Refusal {
    pub fn new(status: u16, error: impl Into<String>, hint: impl Into<String>) -> Self {
        Refusal { status, error: error.into(), hint: hint.into(), retry_after: None }
    }

    pub fn after(self, seconds: u64) -> Self {
        Refusal { retry_after: Some(seconds), ..self }
    }

    pub fn not_allowed() -> Self {
        Refusal::new(
            403,
            "the program is not allowed",
            "allowed are those of [[program]] in the configuration, on both sides",
        )
    }

    fn stopping() -> Self {
        Refusal::new(503, "the service is going down", "ask again when it is up").after(5)
    }

    fn full() -> Self {
        Refusal::new(
            503,
            "as many requests wait as may",
            "ask again later; `waiting` in [limits] is how many",
        )
        .after(1)
    }

    /// Returns the refusal as the one who asked hears it of the peer's.
    pub fn of_the_peer(self) -> Self {
        Refusal { error: format!("the peer refuses: {}", self.error), ..self }
    }

    pub fn json(&self) -> Value {
        json!({ "error": self.error, "hint": self.hint, "retry_after": self.retry_after })
    }
}

impl From<Spent> for Refusal {
    fn from(spent: Spent) -> Self {
        let hint =
            "every output tells something about the inputs, so a program runs as often as its budget says";
        match spent {
            Spent::Total => Refusal::new(429, "the program's budget is used up", hint),
            Spent::ForNow(seconds) => {
                Refusal::new(429, "the program has run as often as it may in an hour", hint).after(seconds)
            }
        }
    }
}

/// What a request gets.
pub type Answer = Result<Value, Refusal>;

/// A request that waits.
struct Request {
    number: u64,
    which: Which,
    digest: [u8; 32],
    input: Zeroizing<Vec<bool>>,
    until: Instant,
    answer: oneshot::Sender<Answer>,
    /// Not to be tried before: something is lacking.
    not_before: Instant,
    /// The peer has no input for it yet; it is tried again when the peer announces it.
    waits_for_peer: bool,
    announced: Option<Instant>,
}

/// What the peer has announced, which is the evaluator.
struct Announced {
    which: Which,
    digest: [u8; 32],
    until: Instant,
    not_before: Instant,
}

#[derive(Default)]
struct Queue {
    requests: Vec<Request>,
    announced: Vec<Announced>,
    next: u64,
}

/// How long what the peer announced counts unless it says it again.
const ANNOUNCED: Duration = Duration::from_secs(3);

/// How often what waits is announced.
pub const AGAIN: Duration = Duration::from_secs(1);

/// How long what lacks something is left alone.
const PAUSE: Duration = Duration::from_millis(200);

/// Most runs that the peer may have announced at a time.
const MAX_ANNOUNCED: usize = 256;

/// The desk.
pub struct Desk {
    pub party: Party,
    pub store: Store,
    pub terms: Terms,
    pub figures: Figures,
    config: RwLock<Arc<Config>>,
    book: Mutex<Book>,
    queue: Mutex<Queue>,
    bell: Condvar,
    stopping: AtomicBool,
    /// Held while a program runs.
    running: Mutex<()>,
}

/// What the garbler may try next.
pub struct Candidate {
    pub which: Which,
    pub digest: [u8; 32],
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked in here left nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    pub fn new(party: Party, store: Store, terms: Terms, config: Config, book: Book) -> Self {
        Desk {
            party,
            store,
            terms,
            figures: Figures::new(),
            config: RwLock::new(Arc::new(config)),
            book: Mutex::new(book),
            queue: Mutex::default(),
            bell: Condvar::new(),
            stopping: AtomicBool::new(false),
            running: Mutex::new(()),
        }
    }

    pub fn config(&self) -> Arc<Config> {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Goes on with another configuration. Requests that wait stay.
    pub fn reload(&self, config: Config) {
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
        self.ring();
    }

    pub fn ring(&self) {
        self.bell.notify_all();
    }

    /// Takes nothing more, refuses what waits, and returns when nothing runs.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        let running = lock(&self.running);
        let waiting = std::mem::take(&mut lock(&self.queue).requests);
        for request in waiting {
            let _ = request.answer.send(Err(Refusal::stopping()));
        }
        self.ring();
        // Whoever has begun a run has it here; whoever has not sees that all stops.
        drop(running);
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Says that a program runs, for as long as the guard lives; none once all stops.
    pub fn begin(&self) -> Option<MutexGuard<'_, ()>> {
        let guard = lock(&self.running);
        (!self.is_stopping()).then_some(guard)
    }

    /// Requests that wait.
    pub fn waiting(&self) -> usize {
        lock(&self.queue).requests.len()
    }

    pub fn runs(&self, digest: &[u8; 32]) -> u64 {
        lock(&self.book).runs(digest)
    }

    /// Executions of a program that are in stock.
    pub fn in_stock(&self, allowed: &Allowed) -> Result<u64, brickwork::Error> {
        let parts = duplo::inventory(&self.store)?;
        parts.iter().map(|part| duplo::executions(part, &self.store, &allowed.program)).sum()
    }

    /// Puts a request into the queue.
    ///
    /// # Errors
    /// Why it is refused at once.
    pub fn submit(
        &self,
        program: &str,
        id: Option<String>,
        input: &Value,
    ) -> Result<oneshot::Receiver<Answer>, Refusal> {
        let config = self.config();
        let allowed = config.named(program).ok_or_else(Refusal::not_allowed)?;
        let ports = allowed.program.input_ports(self.party);
        let input = match (ports.is_empty(), input.is_null(), &allowed.input) {
            (true, ..) => Zeroizing::default(),
            (false, true, Some(standing)) => standing.clone(),
            _ => value::encode(ports, input).map(Zeroizing::new).map_err(|e| {
                Refusal::new(400, e.to_string(), "`brickwork info FILE` shows the type of each input")
            })?,
        };
        lock(&self.book).may(allowed)?;
        let now = Instant::now();
        let (answer, answered) = oneshot::channel();
        let mut queue = lock(&self.queue);
        if self.is_stopping() {
            return Err(Refusal::stopping());
        }
        if queue.requests.len() >= config.limits.waiting {
            return Err(Refusal::full());
        }
        queue.next += 1;
        let number = queue.next;
        // What the user names is marked, so that it is never what another request was named here.
        let id = id.map_or_else(|| format!("{}#{number}", files::role(self.party)), |id| format!("={id}"));
        let which = Which { program: allowed.name.clone(), id };
        if queue.requests.iter().any(|other| other.digest == allowed.digest && other.which.id == which.id) {
            return Err(Refusal::new(
                409,
                "a request with this id waits already",
                "give each request an id of its own",
            ));
        }
        queue.requests.push(Request {
            number,
            which,
            digest: allowed.digest,
            input,
            until: now + config.limits.wait(),
            answer,
            not_before: now,
            waits_for_peer: false,
            announced: None,
        });
        drop(queue);
        self.ring();
        Ok(answered)
    }

    /// Waits for the next run that the garbler may try, its own or the peer's; none within this time. What
    /// has waited too long is refused.
    pub fn next(&self, within: Duration) -> Option<Candidate> {
        let until = Instant::now() + within;
        let mut queue = lock(&self.queue);
        loop {
            let now = Instant::now();
            queue.expire(now);
            if self.is_stopping() {
                return None;
            }
            let mine =
                queue.requests.iter().find(|request| !request.waits_for_peer && request.not_before <= now);
            let mine = mine.map(|request| (request.which.clone(), request.digest));
            let theirs = queue.announced.iter().find(|announced| announced.not_before <= now);
            let theirs = theirs.map(|announced| (announced.which.clone(), announced.digest));
            if let Some((which, digest)) = mine.or(theirs) {
                return Some(Candidate { which, digest });
            }
            let left = until.checked_duration_since(now)?;
            // What is left alone for a while is looked at again.
            let waited = self.bell.wait_timeout(queue, left.min(PAUSE));
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Leaves a run alone for a while, or, if the peer has no input for it, until it has.
    pub fn park(&self, candidate: &Candidate, peer_has_no_input: bool) {
        let mut queue = lock(&self.queue);
        let later = Instant::now() + PAUSE;
        for request in
            queue.requests.iter_mut().filter(|request| candidate.is(&request.which, &request.digest))
        {
            request.not_before = later;
            request.waits_for_peer = peer_has_no_input;
        }
        for announced in queue.announced.iter_mut().filter(|a| candidate.is(&a.which, &a.digest)) {
            announced.not_before = later;
        }
    }

    /// Returns whether somebody here waits for a run.
    pub fn is_asked(&self, candidate: &Candidate) -> bool {
        lock(&self.queue).requests.iter().any(|request| candidate.is(&request.which, &request.digest))
    }

    /// Returns this party's input to a run: of a request, or else the standing one; none if it has none.
    pub fn input(&self, candidate: &Candidate, allowed: &Allowed) -> Option<Zeroizing<Vec<bool>>> {
        let queue = lock(&self.queue);
        let given = queue.requests.iter().find(|request| candidate.is(&request.which, &request.digest));
        if allowed.program.input_ports(self.party).is_empty() {
            return Some(Zeroizing::default());
        }
        given.map(|request| request.input.clone()).or_else(|| allowed.input.clone())
    }

    /// Checks a program's budget.
    pub fn may(&self, allowed: &Allowed) -> Result<(), Refusal> {
        Ok(lock(&self.book).may(allowed)?)
    }

    /// Checks a program's budget, and takes a run from it, on disk.
    pub fn charge(&self, allowed: &Allowed) -> Result<(), Refusal> {
        let mut book = lock(&self.book);
        book.may(allowed)?;
        book.charge(allowed).map_err(|failure: Failure| {
            tracing::error!("the budget cannot be written down: {}", failure.message());
            Refusal::new(503, "the service cannot write down that the program runs", "its log says why")
        })
    }

    /// Returns the evaluator's requests that are to be announced to the garbler now.
    pub fn to_announce(&self, within: Duration) -> Vec<(u64, Candidate)> {
        let mut queue = lock(&self.queue);
        queue.expire(Instant::now());
        let due = |queue: &mut Queue| {
            let now = Instant::now();
            let due = |request: &&mut Request| request.announced.is_none_or(|last| last + AGAIN <= now);
            let due = queue.requests.iter_mut().filter(due).map(|request| {
                request.announced = Some(now);
                (request.number, Candidate { which: request.which.clone(), digest: request.digest })
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

    /// Notes, at the garbler, what the evaluator has announced.
    pub fn note(&self, which: Which, digest: [u8; 32]) -> Result<(), Refusal> {
        let mut queue = lock(&self.queue);
        let now = Instant::now();
        let candidate = Candidate { which, digest };
        for request in
            queue.requests.iter_mut().filter(|request| candidate.is(&request.which, &request.digest))
        {
            request.waits_for_peer = false;
        }
        let full = queue.announced.len() >= MAX_ANNOUNCED;
        match queue.announced.iter_mut().find(|other| candidate.is(&other.which, &other.digest)) {
            Some(known) => known.until = now + ANNOUNCED,
            None if full => return Err(Refusal::full()),
            None => {
                let Candidate { which, digest } = candidate;
                queue.announced.push(Announced { which, digest, until: now + ANNOUNCED, not_before: now });
            }
        }
        drop(queue);
        self.ring();
        Ok(())
    }

    /// Ends a run: whoever has asked for it here is answered. Outputs that nobody has asked for go where the
    /// configuration says.
    pub fn ended(&self, candidate: &Candidate, allowed: &Allowed, answer: Answer) {
        let asked = {
            let mut queue = lock(&self.queue);
            queue.announced.retain(|announced| !candidate.is(&announced.which, &announced.digest));
            let place = queue.requests.iter().position(|r| candidate.is(&r.which, &r.digest));
            place.map(|place| queue.requests.swap_remove(place))
        };
        match (asked, answer) {
            (Some(request), answer) => drop(request.answer.send(answer)),
            (None, Ok(outputs)) => {
                let id = &candidate.which.id;
                let line = json!({ "program": allowed.name, "id": id.strip_prefix('='), "outputs": outputs });
                if let Some(path) = &allowed.outputs
                    && let Err(e) = append(path, &line)
                {
                    let (program, path) = (&allowed.name, path.display());
                    tracing::error!(program, %path, error = %e, "outputs cannot be written");
                }
            }
            (None, Err(_)) => {}
        }
    }

    /// Refuses all requests for a program.
    pub fn refuse_all(&self, digest: &[u8; 32], why: &Refusal) {
        let mut queue = lock(&self.queue);
        let (refused, stay) = queue.requests.drain(..).partition(|request| request.digest == *digest);
        queue.requests = stay;
        let refused: Vec<Request> = refused;
        refused.into_iter().for_each(|request| drop(request.answer.send(Err(why.clone()))));
    }

    /// Refuses a request by its number.
    pub fn refuse(&self, number: u64, why: Refusal) {
        let mut queue = lock(&self.queue);
        if let Some(place) = queue.requests.iter().position(|request| request.number == number) {
            let _ = queue.requests.swap_remove(place).answer.send(Err(why));
        }
    }
}

/// Appends a line to a file that nobody else may read.
fn append(path: &std::path::Path, line: &Value) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()
}

impl Candidate {
    fn is(&self, which: &Which, digest: &[u8; 32]) -> bool {
        self.digest == *digest && self.which.id == which.id
    }
}

impl Queue {
    /// Refuses what has waited too long, and forgets what nobody waits for any more.
    fn expire(&mut self, now: Instant) {
        self.announced.retain(|announced| announced.until > now);
        self.requests.retain(|request| !request.answer.is_closed());
        while let Some(place) = self.requests.iter().position(|request| request.until <= now) {
            let request = self.requests.swap_remove(place);
            let _ = request.answer.send(Err(Refusal::new(
                504,
                "the run could not begin in time",
                "the peer is away, has given no input to it, or there is no stock: the status page tells; \
                 wait_seconds in [limits] is how long a request waits",
            )
            .after(1)));
        }
    }
}
