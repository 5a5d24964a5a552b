//! The audit trail of a party: what it did and refused, as lines of JSON that are only appended to a file.
//! `docs/reference/json.md` describes the lines. No line contains an input, an output, or whether the
//! evaluator recovered.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brickwork::circuit::Party;
use brickwork::disk::{EpochId, Store};
use brickwork::engine::role;
use brickwork::protocol::{Observer, PhaseReport, SessionId};
use brickwork::quota::Quota;
use brickwork::wire::tls::PublicKey;
use brickwork::{Error, ErrorKind, Program, ProtocolError, Report};
use serde::Serialize;

use crate::render::appended::{Appended, Rotation};
use crate::render::failure::Failure;
use crate::render::report::hex;
use crate::render::terminal::now;
use crate::render::versions::Versions;

/// The largest number of lines per minute, for each kind of event that others can cause as often as they
/// like. Further events are only counted.
const LINES: u32 = 100;
const MINUTE: Duration = Duration::from_secs(60);

/// The subject of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The start, the end or a signal of the process.
    Process,
    /// The connections of one session with the peer.
    Meeting,
    /// A run of a program.
    Run,
    /// Stock that is made.
    Fill,
    /// A part of the store that was burned.
    Burn,
    /// Failed attempts that the user forgave.
    Forgiveness,
    /// A request that this party refused.
    Refusal,
    /// A request whose token is not known.
    Token,
}

/// The state or the result of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventOutcome {
    Begun,
    Done,
    Failed,
    Refused,
}

/// The party whose user requested the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asker {
    /// An application of this party, which has given a token.
    Here,
    Peer,
}

/// A program: its name in the configuration or that of its file, and its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedProgram {
    pub name: String,
    pub digest: String,
}

/// An event. Fields that do not apply are left out of its line.
#[derive(Clone, Debug, Serialize)]
pub struct TrailEvent {
    pub event: EventKind,
    pub outcome: EventOutcome,
    /// The reason for a failure or a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<Asker>,
    /// The name of the token with which an application of this party asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The name of the run: `=` and the id of its request, or a number that this process has given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<NamedProgram>,
    /// Base-2 logarithm of the bound on a cheater's success in the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_log2: Option<f64>,
    /// The phase of the protocol that a failed run or fill had reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<&'static str>,
    /// The number of executions for which stock was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executions: Option<u64>,
    /// The identifier of the epoch, as `stock ls` shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// Bytes between the parties, in both directions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<f64>,
    /// The number of further events of this kind in a minute, for which no line was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<u64>,
}

impl TrailEvent {
    pub fn new(event: EventKind, outcome: EventOutcome) -> Self {
        TrailEvent {
            event,
            outcome,
            reason: None,
            asked_by: None,
            token: None,
            run: None,
            program: None,
            bound_log2: None,
            phase: None,
            executions: None,
            epoch: None,
            bytes: None,
            milliseconds: None,
            more: None,
        }
    }

    /// Makes the event of a run of this program that has ended.
    pub fn run_of(program: &Program) -> Self {
        let program = NamedProgram { name: program.name().to_owned(), digest: hex(&program.digest()) };
        TrailEvent { program: Some(program), ..TrailEvent::new(EventKind::Run, EventOutcome::Done) }
    }

    /// Adds the bytes of these phases.
    pub fn with_bytes(self, phases: &[PhaseReport]) -> Self {
        let bytes = phases.iter().map(|phase| phase.garbler_sent_bytes + phase.evaluator_sent_bytes).sum();
        TrailEvent { bytes: Some(bytes), ..self }
    }
}

/// The peer: its key, and the file from which the key was read.
#[derive(Clone, Debug, Serialize)]
pub struct PeerName {
    key: PublicKey,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl PeerName {
    /// Names a peer by its key and the text of the flag or field that gives it.
    pub fn new(key: PublicKey, given: &str) -> Self {
        let file = given.strip_prefix('@').and_then(|path| Path::new(path).file_name());
        PeerName { key, name: file.map(|name| name.to_string_lossy().into_owned()) }
    }
}

/// This party, its peer and their protocol, as far as they are known.
#[derive(Clone, Debug, Default, Serialize)]
struct Parties {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<PeerName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<&'static str>,
    /// The name of the session, which is the same at both parties.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

#[derive(Serialize)]
struct TrailLine<'a> {
    /// The time in UTC, in the form of the log.
    time: String,
    version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
    process: u32,
    /// The command, such as `serve`.
    command: &'a str,
    #[serde(flatten)]
    parties: &'a Parties,
    #[serde(flatten)]
    event: &'a TrailEvent,
}

/// An audit trail, if there is one.
#[derive(Clone)]
pub struct Trail(Option<Arc<Kept>>);

struct Kept {
    command: String,
    state: Mutex<State>,
}

struct State {
    file: Appended,
    parties: Parties,
    meetings: Quota,
    refusals: Quota,
    tokens: Quota,
}

impl Kept {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each change under this lock is complete even if the thread panicked later.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, state: &mut State, event: &TrailEvent) {
        let Versions { version, commit, .. } = Versions::HERE;
        let (process, command) = (std::process::id(), &*self.command);
        let line =
            TrailLine { time: now(), version, commit, process, command, parties: &state.parties, event };
        let mut line = serde_json::to_vec(&line).expect("names and numbers");
        line.push(b'\n');
        if let Err(e) = state.file.write_all(&line) {
            let (path, why) = (state.file.path().display(), brickwork::system::explained(&e).0);
            tracing::error!("{path}: {why}; the audit trail lacks this entry: {:?}", event.event);
        }
    }
}

impl Trail {
    /// Returns a trail that writes nothing.
    pub fn none() -> Self {
        Trail(None)
    }

    /// Opens the file of a command's trail.
    ///
    /// # Errors
    /// If this process cannot append to the file, or other users can read or change it.
    pub fn open(path: &Path, rotation: Rotation, command: &str) -> Result<Self, Failure> {
        let quota = || Quota::new(LINES, MINUTE);
        let (meetings, refusals, tokens) = (quota(), quota(), quota());
        let file = Appended::open(path, rotation, true)?;
        let state = State { file, parties: Parties::default(), meetings, refusals, tokens };
        Ok(Trail(Some(Arc::new(Kept { command: command.to_owned(), state: Mutex::new(state) }))))
    }

    /// Opens the file again, because another program may have renamed it.
    ///
    /// # Errors
    /// As [`Trail::open`]. After an error the old file stays in use.
    pub fn reopen(&self) -> Result<(), Failure> {
        self.0.as_ref().map_or(Ok(()), |kept| kept.state().file.reopen())
    }

    /// Changes what following lines say about the parties.
    fn set(&self, change: impl FnOnce(&mut Parties)) {
        if let Some(kept) = &self.0 {
            change(&mut kept.state().parties);
        }
    }

    /// Sets this party's role and the peer of the following lines.
    pub fn between(&self, party: Party, peer: PeerName) {
        self.set(|parties| (parties.role, parties.peer) = (Some(role(party)), Some(peer)));
    }

    /// Sets the protocol of the following lines.
    pub fn speaks(&self, protocol: &'static str) {
        self.set(|parties| parties.protocol = Some(protocol));
    }

    /// Completes the event of a run with the run's report. The following lines name the report's protocol.
    pub fn reported(&self, report: &Report, event: TrailEvent) -> TrailEvent {
        self.speaks(report.protocol.name());
        TrailEvent { bound_log2: Some(report.promise.bound_log2), ..event.with_bytes(&report.phases) }
    }

    /// Sets the session of the following lines; `None` after its end.
    pub fn enter(&self, session: Option<&str>) {
        self.set(|parties| parties.session = session.map(str::to_owned));
    }

    /// Writes an event.
    pub fn note(&self, event: TrailEvent) {
        let Some(kept) = &self.0 else { return };
        let state = &mut *kept.state();
        let now = Instant::now();
        let quota = match event.event {
            EventKind::Meeting => &mut state.meetings,
            EventKind::Refusal => &mut state.refusals,
            EventKind::Token => &mut state.tokens,
            _ => return kept.write(state, &event),
        };
        let (left_out, takes) = (quota.left_out(now), quota.takes(now));
        if left_out.is_some() {
            kept.write(state, &TrailEvent { more: left_out, ..TrailEvent::new(event.event, event.outcome) });
        }
        if takes {
            kept.write(state, &event);
        }
    }

    /// Runs a command, and writes its start and its end.
    pub fn of<T>(&self, command: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        self.note(TrailEvent::new(EventKind::Process, EventOutcome::Begun));
        let done = command();
        self.note(match &done {
            Ok(_) => TrailEvent::new(EventKind::Process, EventOutcome::Done),
            Err(failure) => {
                let reason = Some(reason(failure.kind(), failure.message()));
                TrailEvent { reason, ..TrailEvent::new(EventKind::Process, EventOutcome::Failed) }
            }
        });
        done
    }

    /// Writes which epochs of a store were burned.
    pub fn burned(&self, epochs: impl IntoIterator<Item = (EpochId, String)>) {
        for (id, why) in epochs {
            let (epoch, reason) = (Some(hex(&id)), Some(why));
            self.note(TrailEvent { epoch, reason, ..TrailEvent::new(EventKind::Burn, EventOutcome::Done) });
        }
    }
}

/// The reason that the trail gives if an input was refused. The full message may reveal something about the
/// input.
pub const UNREADABLE: &str = "an input, a program, a key or a list cannot be read";

/// Returns the reason for a failure. A message about a malformed input may repeat a part of it, so the trail
/// only tells its kind.
fn reason(kind: ErrorKind, message: &str) -> String {
    match kind {
        ErrorKind::Input => UNREADABLE.into(),
        _ => message.to_owned(),
    }
}

/// Returns the burned epochs of a store, each with the reason.
///
/// # Errors
/// [`ProtocolError::Stock`] if the store cannot be read or was altered.
pub fn burned(store: &Store) -> Result<Vec<(EpochId, String)>, ProtocolError> {
    let mut burned = Vec::new();
    for (id, _) in store.epochs()? {
        burned.extend(store.state(&id)?.burned().map(|why| (id, why.to_owned())));
    }
    Ok(burned)
}

/// The phase that a protocol has reached.
#[derive(Clone, Default)]
pub struct Reached(Arc<Mutex<Option<&'static str>>>);

impl Reached {
    /// Returns the phase, and forgets it.
    pub fn take(&self) -> Option<&'static str> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Observer for Reached {
    fn phase(&mut self, name: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
    }

    fn progress(&mut self, _: u64, _: u64) {}
}

/// An observer that also notes the meeting and the phase.
struct Noting {
    shown: Box<dyn Observer>,
    trail: Trail,
    met: Arc<AtomicBool>,
    reached: Reached,
}

impl Observer for Noting {
    fn met(&mut self, session: &SessionId) {
        if !self.met.swap(true, Ordering::SeqCst) {
            self.trail.enter(Some(&hex(&session[..SESSION_BYTES])));
            self.trail.note(TrailEvent::new(EventKind::Meeting, EventOutcome::Begun));
        }
    }

    fn phase(&mut self, name: &'static str) {
        self.shown.phase(name);
        self.reached.phase(name);
    }

    fn progress(&mut self, done: u64, total: u64) {
        self.shown.progress(done, total);
    }

    fn finished(&mut self) {
        self.shown.finished();
    }
}

/// The bytes of a session's identifier that the trail shows.
const SESSION_BYTES: usize = 16;

/// The one meeting of a command that meets its peer once.
pub struct Once<'t> {
    trail: &'t Trail,
    begun: Instant,
    met: Arc<AtomicBool>,
    reached: Reached,
}

impl<'t> Once<'t> {
    pub fn new(trail: &'t Trail) -> Self {
        Once { trail, begun: Instant::now(), met: Arc::default(), reached: Reached::default() }
    }

    /// Returns a function that makes observers.
    pub fn watch<W>(&self, watch: W) -> impl Fn(&'static [&'static str]) -> Box<dyn Observer>
    where
        W: Fn(&'static [&'static str]) -> Box<dyn Observer>,
    {
        move |phases| {
            let (trail, met, reached) = (self.trail.clone(), self.met.clone(), self.reached.clone());
            Box::new(Noting { shown: watch(phases), trail, met, reached })
        }
    }

    /// Writes the end of a run or a fill. If the parties have not met before, the meeting has failed, or one
    /// of them has refused it.
    pub fn ended<T>(
        &self,
        event: TrailEvent,
        ended: &Result<T, Error>,
        of: impl FnOnce(&T, TrailEvent) -> TrailEvent,
    ) {
        let milliseconds = Some(self.begun.elapsed().as_secs_f64() * 1e3);
        let event = TrailEvent { milliseconds, ..event };
        self.trail.note(match ended {
            Ok(done) => of(done, event),
            Err(why) => {
                let (kind, outcome) = match (self.met.load(Ordering::SeqCst), why.kind()) {
                    (false, ErrorKind::Mismatch) => (EventKind::Refusal, EventOutcome::Refused),
                    (false, ErrorKind::Network) => (EventKind::Meeting, EventOutcome::Failed),
                    _ => (event.event, EventOutcome::Failed),
                };
                let (phase, reason) = (self.reached.take(), Some(reason(why.kind(), why.message())));
                TrailEvent { event: kind, outcome, phase, reason, ..event }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn trail(path: std::path::PathBuf) -> Trail {
        let trail = Trail::open(&path, Rotation::default(), "serve").unwrap_or_else(|_| panic!("a trail"));
        trail.between(Party::Garbler, PeerName::new(PublicKey::from_bytes([7; 32]), "@keys/other.pub"));
        trail
    }

    fn lines(path: &std::path::Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Lines are appended to an existing file, and to a new file after the old one was renamed.
    #[test]
    fn lines_are_appended() {
        let folder = tempfile::tempdir().unwrap();
        let (path, old) = (folder.path().join("audit"), folder.path().join("audit.1"));
        trail(path.clone()).note(TrailEvent::new(EventKind::Process, EventOutcome::Begun));
        let trail = trail(path.clone());
        trail.enter(Some("5e"));
        trail.note(TrailEvent { bytes: Some(9), ..TrailEvent::new(EventKind::Run, EventOutcome::Done) });
        std::fs::rename(&path, &old).unwrap();
        trail.note(TrailEvent {
            reason: Some("a reason".into()),
            ..TrailEvent::new(EventKind::Run, EventOutcome::Failed)
        });
        assert!(!path.exists());
        trail.reopen().unwrap_or_else(|_| panic!("it can be opened again"));
        trail.enter(None);
        trail.note(TrailEvent::new(EventKind::Process, EventOutcome::Done));
        let of = |line: &Value| (line["event"].clone(), line["outcome"].clone(), line["session"].clone());
        let old: Vec<_> = lines(&old).iter().map(of).collect();
        let is = |event: &str, outcome: &str, session: Value| (event.into(), outcome.into(), session);
        let expected = [
            is("process", "begun", Value::Null),
            is("run", "done", "5e".into()),
            is("run", "failed", "5e".into()),
        ];
        assert_eq!(old, expected);
        assert_eq!(lines(&path).iter().map(of).collect::<Vec<_>>(), [is("process", "done", Value::Null)]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    /// Others cannot fill the disk with refusals, and refusals do not hide other events.
    #[test]
    fn refusals_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        let trail = trail(path.clone());
        for _ in 0..10 * LINES {
            trail.note(TrailEvent::new(EventKind::Refusal, EventOutcome::Refused));
        }
        trail.note(TrailEvent::new(EventKind::Meeting, EventOutcome::Begun));
        trail.note(TrailEvent::new(EventKind::Run, EventOutcome::Done));
        let lines = lines(&path);
        let refusals = lines.iter().filter(|line| line["event"] == "refusal").count();
        assert!(refusals <= 2 * LINES as usize, "{refusals}");
        assert_eq!(lines.len(), refusals + 2);
    }

    /// The reason of a failure repeats no message about an input, and every other message.
    #[test]
    fn reasons_repeat_no_input() {
        assert_eq!(reason(ErrorKind::Input, "rows 5 and 7 have the same key"), UNREADABLE);
        assert_eq!(reason(ErrorKind::Usage, "no such flag"), "no such flag");
    }
}
