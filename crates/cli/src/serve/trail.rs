//! The audit trail of a party: what it did and refused, as lines of JSON that are only appended to a file.
//! `docs/reference/json.md` describes the lines. No line contains an input, an output, or whether the
//! evaluator recovered.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use brickwork::quota::Quota;
use brickwork::wire::tls::PublicKey;
use serde::Serialize;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

use crate::commands::files;
use crate::render::failure::Failure;

/// The largest number of lines per minute, for each kind that others can cause at will. Further events are
/// only counted.
const LINES: u32 = 100;
const MINUTE: Duration = Duration::from_secs(60);

/// The subject of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The start, the end or a signal of the process.
    Process,
    /// The three connections of one session with the peer.
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

/// The side whose user requested the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asker {
    /// An application of this party that has the token.
    Here,
    Peer,
}

/// A program: its name in the configuration, and its digest.
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
    /// The name of the run: `=` and the id of its request, or a number that this process has given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<NamedProgram>,
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
            run: None,
            program: None,
            executions: None,
            epoch: None,
            bytes: None,
            milliseconds: None,
            more: None,
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct PeerName {
    pub key: PublicKey,
    /// The file from which its key was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The fields that all lines of a process have in common.
#[derive(Clone, Debug, Serialize)]
pub struct Common {
    pub version: &'static str,
    pub process: u32,
    pub role: &'static str,
    pub peer: PeerName,
    pub protocol: &'static str,
}

#[derive(Serialize)]
struct Line<'a> {
    /// The time in UTC, in the form of the log.
    time: String,
    #[serde(flatten)]
    common: &'a Common,
    /// The name of the session, which is the same at both parties.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(flatten)]
    event: &'a TrailEvent,
}

/// An audit trail, if there is one.
pub struct Trail(Option<Kept>);

struct Kept {
    path: PathBuf,
    common: Common,
    state: Mutex<State>,
}

struct State {
    file: File,
    session: Option<String>,
    meetings: Quota,
    refusals: Quota,
}

impl Kept {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each change under this lock is complete even if the thread panicked later.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, state: &mut State, event: &TrailEvent) {
        let session = state.session.as_deref();
        let line = Line { time: now(), common: &self.common, session, event };
        let mut line = serde_json::to_vec(&line).expect("names and numbers");
        line.push(b'\n');
        // The line is written in one piece, so that lines of other processes stay whole.
        if let Err(e) = state.file.write_all(&line) {
            let why = brickwork::system::explained(&e).0;
            tracing::error!(
                "{}: {why}; the audit trail lacks this entry: {:?}",
                self.path.display(),
                event.event
            );
        }
    }
}

/// Returns the time in the form of the log.
fn now() -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut text));
    text
}

impl Trail {
    /// Opens the file of a trail, if one is named.
    ///
    /// # Errors
    /// If this process cannot append to the file, or other users can read or change it.
    pub fn open(path: Option<PathBuf>, common: Common) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Trail(None)) };
        let quota = || Quota::new(LINES, MINUTE);
        let file = files::append_private(&path)?;
        let state = State { file, session: None, meetings: quota(), refusals: quota() };
        Ok(Trail(Some(Kept { path, common, state: Mutex::new(state) })))
    }

    /// Opens the file again, because another program may have renamed it.
    ///
    /// # Errors
    /// As [`Trail::open`]. After an error the old file stays in use.
    pub fn reopen(&self) -> Result<(), Failure> {
        if let Some(kept) = &self.0 {
            kept.state().file = files::append_private(&kept.path)?;
        }
        Ok(())
    }

    /// Sets the session of the following lines; `None` after its end.
    pub fn enter(&self, session: Option<&str>) {
        if let Some(kept) = &self.0 {
            kept.state().session = session.map(str::to_owned);
        }
    }

    /// Writes an event.
    pub fn note(&self, event: TrailEvent) {
        let Some(kept) = &self.0 else { return };
        let state = &mut *kept.state();
        let now = Instant::now();
        let quota = match event.event {
            EventKind::Meeting => &mut state.meetings,
            EventKind::Refusal => &mut state.refusals,
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn trail(path: PathBuf) -> Trail {
        let key = PublicKey::from_bytes([7; 32]);
        let peer = PeerName { key, name: Some("other.pub".into()) };
        let common = Common { version: "1", process: 2, role: "garbler", peer, protocol: "duplo" };
        Trail::open(Some(path), common).unwrap_or_else(|_| panic!("a trail"))
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
}
