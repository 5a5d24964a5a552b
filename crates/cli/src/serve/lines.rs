//! The three connections between two services; each is called a line. If one line fails, all three end.
//!
//! ```text
//!   work    garbler -> evaluator    run this? | compare the stores again | (nothing, now and then)
//!           evaluator -> garbler    yes | why not            then both run it, on what is in stock
//!   fill    garbler -> evaluator    make so many executions of this? | (nothing)
//!           evaluator -> garbler    so many | why not        then both make them, and compare the stores
//!   ask     evaluator -> garbler    somebody here asks for this run | (nothing)
//!           garbler -> evaluator    noted | why not
//! ```
//!
//! On each line one party, the driver, sends messages. It sends one at least every two seconds, so that the
//! other party can check for a stop. Security does not depend on these messages: programs are compared by
//! digest and stores by their logs, and each party checks its own list and budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use brickwork::ProtocolError as Error;
use brickwork::circuit::{Party, value};
use brickwork::duplo::{FromStock, Lacking, Request, Stocked};
use brickwork::random::Rng;
use brickwork::stop::Stop;
use brickwork::wire::tls::{self, Identity, Listener, Met, PublicKey};
use brickwork::wire::{Channel, Tag};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::{Allowed, PeerRoute};
use super::desk::{AGAIN, Desk, DeskAnswer, RequestRefusal, Running, Why};
use super::figures::RunEnding;
use super::rate::RateLimit;
use super::results::Which;
use crate::render::report::hex;
use crate::render::trail::{Asker, EventKind, EventOutcome, Reached, TrailEvent};

/// All messages of this module have this tag, and are JSON.
const SERVE: Tag = Tag(120);

/// The number of messages that the driver of a line may send in a second. Further messages wait.
const MESSAGES_A_SECOND: u32 = 1000;

/// The maximum length of a message.
const MAX_BYTES: usize = 4096;

/// The maximum length of a request's id.
pub const MAX_ID: usize = 64;

/// The maximum length of an id in a message, including the mark that tells a user's id from a generated one.
const MAX_MARKED_ID: usize = MAX_ID + 1;

/// The version of these messages.
const VERSION: u32 = 1;

/// The time after which a driver with nothing to send sends an empty message. It is a constant, because a
/// lost driver is detected by the connection's own signs of life.
const PULSE: Duration = Duration::from_secs(2);

/// The names of the three lines, in the order in which they are opened.
const LINES: [&str; 3] = ["work", "fill", "ask"];

/// The message in which the connecting side describes a connection.
#[derive(Serialize, Deserialize)]
struct Sheet {
    serve: u32,
    line: String,
    /// A name that the three lines of one meeting share.
    meeting: String,
}

/// A message of the driver of a line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Say {
    Idle,
    Renew,
    /// A run; `theirs` is true if only the evaluator's users have requested it.
    Run {
        digest: String,
        id: String,
        theirs: bool,
    },
    Fill {
        digest: String,
        count: u64,
    },
    Ask {
        digest: String,
        id: String,
    },
}

/// An answer to the driver of a line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Hear {
    Yes,
    Count(u64),
    No(Why),
}

fn send<T: Serialize>(channel: &mut Channel, message: &T) -> Result<(), Error> {
    let bytes = serde_json::to_vec(message).map_err(|e| Error::Usage(e.to_string()))?;
    channel.send(SERVE, &bytes)?;
    channel.flush()
}

fn receive<T: for<'d> Deserialize<'d>>(channel: &mut Channel) -> Result<T, Error> {
    let bytes = channel.receive_up_to(SERVE, MAX_BYTES)?;
    serde_json::from_slice(&bytes).map_err(|_| {
        Error::Mismatch(
            "the peer's service sent a message that this service does not know; install the same release on \
             both sides"
                .into(),
        )
    })
}

/// Reads a digest that the peer has sent.
fn parse_digest(text: &str) -> Result<[u8; 32], Error> {
    let mut digest = [0; 32];
    let digits = text.as_bytes();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(confused());
    }
    for (byte, pair) in digest.iter_mut().zip(digits.chunks(2)) {
        let pair = std::str::from_utf8(pair).map_err(|_| confused())?;
        *byte = u8::from_str_radix(pair, 16).map_err(|_| confused())?;
    }
    Ok(digest)
}

/// Reads the name of a run that the peer sent.
fn parse_which(digest: &str, id: String) -> Result<Which, Error> {
    match id.len() <= MAX_MARKED_ID && id.chars().all(|c| c.is_ascii_graphic()) {
        true => Ok(Which { digest: parse_digest(digest)?, id }),
        false => Err(confused()),
    }
}

/// Reads a peer's description of a connection and writes it again, for the fuzz targets.
pub fn sheet_again(bytes: &[u8]) -> Option<Vec<u8>> {
    serde_json::to_vec(&serde_json::from_slice::<Sheet>(bytes).ok()?).ok()
}

/// Reads a driver's message and writes it again, if any run in it can exist.
pub fn said_again(bytes: &[u8]) -> Option<Vec<u8>> {
    let say = serde_json::from_slice::<Say>(bytes).ok()?;
    match &say {
        Say::Run { digest, id, .. } | Say::Ask { digest, id } => drop(parse_which(digest, id.clone()).ok()?),
        Say::Fill { digest, .. } => drop(parse_digest(digest).ok()?),
        Say::Idle | Say::Renew => {}
    }
    serde_json::to_vec(&say).ok()
}

/// Reads an answer to a driver and writes it again.
pub fn heard_again(bytes: &[u8]) -> Option<Vec<u8>> {
    serde_json::to_vec(&serde_json::from_slice::<Hear>(bytes).ok()?).ok()
}

/// The state that the three lines share.
#[derive(Default)]
struct Link {
    /// Set when one of the lines has failed, so that the others stop waiting.
    broken: Stop,
    /// True if there is stock that the line `work` has not seen yet.
    renew: AtomicBool,
    /// True if a step was completed.
    made: AtomicBool,
    /// True if a step was begun and not completed.
    given_up: AtomicBool,
    /// The phases that the lines `work` and `fill` have reached.
    reached: [Reached; 2],
}

impl Link {
    /// Returns whether a line must stay open. All lines stay open while a step is made, because they end
    /// together.
    fn holds(&self, desk: &Desk) -> bool {
        !self.broken.is_asked() && (!desk.is_stopping() || desk.is_filling())
    }

    /// Runs a line. When it fails, all lines end; if the peer failed a check, the current run ends, too.
    fn until(&self, desk: &Desk, line: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
        let ended = line();
        if ended.is_err() {
            self.broken.ask();
            if matches!(ended, Err(Error::Peer(_))) {
                desk.break_off();
            }
            desk.ring();
        }
        ended
    }

    /// Waits for the driver's next message, or until a line fails.
    fn next(&self, desk: &Desk, line: &mut Channel) -> Result<Say, Error> {
        line.set_timeout(desk.config().limits.stall());
        self.broken.enter(|| receive(line))
    }
}

/// The ways in which this party reaches the peer.
pub struct PeerRoutes<'a> {
    pub place: &'a PeerRoute,
    pub identity: &'a Identity,
    pub peer: PublicKey,
}

/// Returns the options for the next connection to the peer.
fn options(desk: &Desk) -> tls::EndpointOptions {
    tls::EndpointOptions { party: desk.party, lanes: 1, timeout: desk.config().limits.stall() }
}

/// The longest time between two attempts to reach the peer.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// The shortest time between two attempts to reach the peer.
const MIN_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause before the next connection after steps were given up.
const MAX_PENALTY: Duration = Duration::from_secs(600);

/// The interval at which an idle line is checked.
const TICK: Duration = Duration::from_millis(500);

/// The interval at which an idle line is checked while the service stops.
const LAST_TICK: Duration = Duration::from_millis(50);

/// Keeps the lines to the peer open until the service stops. `ready` is called when the peer can reach this
/// party.
///
/// A peer that dislikes the challenge can break a line during a step, to get another challenge. Therefore
/// this party waits before the next connection. The wait doubles each time that this happens. The wait goes
/// back to zero when the lines of a meeting close and all its steps were completed.
///
/// # Errors
/// [`Error::Peer`] if the peer failed a check; then this party does not connect again.
pub fn keep(
    desk: &Arc<Desk>,
    meeting: &PeerRoutes<'_>,
    ready: impl FnOnce(Option<&Listener>),
) -> Result<(), Error> {
    let mut listener = match meeting.place {
        PeerRoute::Listen(address) => {
            Some(Listener::bind(address, meeting.identity, meeting.peer, &options(desk))?)
        }
        PeerRoute::Connect(_) => None,
    };
    ready(listener.as_ref());
    desk.warn_of_few_attempts()?;
    if desk.is_accused() {
        tracing::error!(
            "the peer cheated, so the service does not connect to it until `brickwork stock forgive`"
        );
    }
    while desk.is_accused() && !desk.is_stopping() {
        std::thread::sleep(TICK);
    }
    let (mut pause, mut penalty) = (MIN_PAUSE, MIN_PAUSE);
    while !desk.is_stopping() {
        let met = match &mut listener {
            Some(listener) => gather(desk, listener),
            None => call(desk, meeting),
        };
        let why = match met {
            Ok((channels, name)) => {
                let link = Link::default();
                desk.trail.enter(Some(&name));
                let why = together(desk, channels, &link).err();
                desk.figures.connected(false);
                desk.note_burned();
                let reason = why.as_ref().map(ToString::to_string);
                let outcome = if why.is_some() { EventOutcome::Failed } else { EventOutcome::Done };
                desk.trail.note(TrailEvent { reason, ..TrailEvent::new(EventKind::Meeting, outcome) });
                desk.trail.enter(None);
                if let Some(why @ Error::Peer(_)) = why {
                    desk.accuse();
                    tracing::error!(%why, "the service ends, so it does not connect to the peer again");
                    return Err(why);
                }
                pause = MIN_PAUSE;
                let (rest, next) = rest_after(&link, penalty);
                penalty = next;
                wait(desk, rest);
                why
            }
            Err(why) => Some(why),
        };
        desk.figures.connected(false);
        if desk.is_stopping() {
            break;
        }
        if let Some(why) = why {
            if desk.tells_of_meeting() {
                tracing::warn!(%why, "the connection to the peer has ended");
            }
            desk.figures.error(format!("the connection to the peer failed: {why}"));
        }
        if listener.is_none() {
            std::thread::sleep(pause);
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }
    Ok(())
}

/// Returns the pause before the next connection, and the new wait. A completed step does not reduce the wait
/// if another step of the same meeting was given up.
fn rest_after(link: &Link, penalty: Duration) -> (Duration, Duration) {
    match (link.made.load(Ordering::SeqCst), link.given_up.load(Ordering::SeqCst)) {
        (_, true) => (penalty, (penalty * 2).min(MAX_PENALTY)),
        (true, false) => (Duration::ZERO, MIN_PAUSE),
        (false, false) => (Duration::ZERO, penalty),
    }
}

/// Waits, unless the service stops.
fn wait(desk: &Desk, time: Duration) {
    let end = Instant::now() + time;
    while !desk.is_stopping() && Instant::now() < end {
        std::thread::sleep(TICK.min(end.saturating_duration_since(Instant::now())));
    }
}

/// The three lines, and the name that they share.
type Lines = (Vec<Channel>, String);

/// Opens the three lines.
fn call(desk: &Desk, meeting: &PeerRoutes<'_>) -> Result<Lines, Error> {
    let PeerRoute::Connect(address) = meeting.place else {
        return Err(Error::Usage("a party that listens does not connect".into()));
    };
    let mut name = [0; NAME_BYTES];
    Rng::new("brickwork serve meeting")?.fill(&mut name);
    let name = hex(&name);
    let open = |line: &&str| {
        let sheet = Sheet { serve: VERSION, line: (*line).to_owned(), meeting: name.clone() };
        let sheet = serde_json::to_vec(&sheet).map_err(|e| Error::Usage(e.to_string()))?;
        let met = tls::meet(address, meeting.identity, meeting.peer, &options(desk), &sheet)?;
        fits(&met).map(|_| met.channel)
    };
    Ok((LINES.iter().map(open).collect::<Result<_, Error>>()?, name))
}

/// Waits for three connections with the same name. A connection with another purpose is refused with a
/// message. If connections with a newer name come, the older ones are dropped.
fn gather(desk: &Desk, listener: &mut Listener) -> Result<Lines, Error> {
    let sheet = Sheet { serve: VERSION, line: String::new(), meeting: String::new() };
    let sheet = serde_json::to_vec(&sheet).map_err(|e| Error::Usage(e.to_string()))?;
    let mut lines: Vec<Channel> = Vec::new();
    let (mut name, mut begun) = (String::new(), Instant::now());
    while lines.len() < LINES.len() {
        if desk.is_stopping() {
            return Err(Error::Usage("the service is shutting down".into()));
        }
        let patience = options(desk).timeout;
        listener.set_timeout(patience);
        let mut met = match listener.meet(&sheet, Some(Instant::now() + TICK)) {
            Ok(met) => met,
            Err(Error::Io(e)) if e.kind() == std::io::ErrorKind::TimedOut => {
                if !lines.is_empty() && begun.elapsed() > patience {
                    return Err(Error::Mismatch("the peer has opened only some of its connections".into()));
                }
                continue;
            }
            Err(why) => return Err(why),
        };
        let theirs = fits(&met).ok().filter(|sheet| is_name(&sheet.meeting));
        let Some(theirs) = theirs else {
            // If the peer is gone, it does not need the reason.
            let _ = met
                .channel
                .refuse("this party runs `brickwork serve`; run `brickwork serve` at the peer, too");
            continue;
        };
        if theirs.line == LINES[0] {
            lines.clear();
            (name, begun) = (theirs.meeting.clone(), Instant::now());
        }
        if theirs.meeting == name && LINES[lines.len()] == theirs.line {
            lines.push(met.channel);
        }
    }
    Ok((lines, name))
}

/// Bytes of a meeting's name.
const NAME_BYTES: usize = 16;

/// Returns whether the peer's name for the lines has the right form, because it is written to the audit
/// trail.
fn is_name(name: &str) -> bool {
    name.len() == 2 * NAME_BYTES && name.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

fn fits(met: &Met) -> Result<Sheet, Error> {
    let sheet = serde_json::from_slice::<Sheet>(&met.sheet).ok();
    sheet
        .filter(|sheet| sheet.serve == VERSION && !met.visits)
        .ok_or_else(|| Error::Mismatch("the peer does not run `brickwork serve` of this release".into()))
}

/// Runs the three lines until one fails or the service stops.
fn together(desk: &Arc<Desk>, channels: Vec<Channel>, link: &Link) -> Result<(), Error> {
    let Ok([work, fill, ask]) = <[Channel; 3]>::try_from(channels) else {
        return Err(Error::Usage("there are three connections".into()));
    };
    // The lines compare their stores one after the other, in the same order at both parties, because only one
    // at a time can do so.
    let open = |channel, reached: &Reached| {
        Stocked::open(desk.party, channel, &desk.store, &desk.terms, reached.clone())
    };
    let (work, fill) = (open(work, &link.reached[0])?, open(fill, &link.reached[1])?);
    desk.figures.connected(true);
    desk.figures.met();
    desk.trail.note(TrailEvent::new(EventKind::Meeting, EventOutcome::Begun));
    desk.note_burned();
    if desk.tells_of_meeting() {
        tracing::info!("the peer is connected");
    }
    let desk = &**desk;
    let garbles = desk.party == Party::Garbler;
    let ended = std::thread::scope(|scope| {
        let filling = scope
            .spawn(move || link.until(desk, || if garbles { fills } else { serves_fill }(desk, link, fill)));
        let asking = scope
            .spawn(move || link.until(desk, || if garbles { serves_asks } else { asks }(desk, link, ask)));
        let working = link.until(desk, || if garbles { works } else { serves_work }(desk, link, work));
        let panicked = || {
            Err(Error::Resource("a connection of the service failed, which is a fault of brickwork".into()))
        };
        [working, filling.join().unwrap_or_else(|_| panicked()), asking.join().unwrap_or_else(|_| panicked())]
    });
    // A failed check is reported first. Otherwise the first failure counts, because the other lines only
    // found their connection closed.
    let weight = |e: &Error| match e {
        Error::Peer(_) => 0,
        Error::Io(_) => 2,
        _ => 1,
    };
    ended.into_iter().filter_map(Result::err).min_by_key(weight).map_or(Ok(()), Err)
}

/// Sends the driver's regular empty messages.
struct Pulse(Instant);

impl Pulse {
    fn new() -> Self {
        Pulse(Instant::now())
    }

    fn beat(&mut self, channel: &mut Channel) -> Result<(), Error> {
        if self.0.elapsed() >= PULSE {
            send(channel, &Say::Idle)?;
            self.0 = Instant::now();
        }
        Ok(())
    }
}

/// While the service stops and the lines stay open for the current step, waits a little.
fn last_step(desk: &Desk) {
    if desk.is_stopping() {
        std::thread::sleep(LAST_TICK);
    }
}

/// The garbler's end of the line `work`, which chooses the runs.
fn works(desk: &Desk, link: &Link, mut line: Stocked) -> Result<(), Error> {
    let mut pulse = Pulse::new();
    while link.holds(desk) {
        match desk.next(TICK) {
            Some(which) => line = attempt(desk, link, line, &which)?,
            None => {
                pulse.beat(line.channel())?;
                last_step(desk);
            }
        }
    }
    Ok(())
}

/// Tries a run.
fn attempt(desk: &Desk, link: &Link, mut line: Stocked, which: &Which) -> Result<Stocked, Error> {
    let config = desk.config();
    let Some(allowed) = config.programs.get(&which.digest) else {
        desk.refuse(which, &Why::NotAllowed.into());
        return Ok(line);
    };
    let asked = desk.is_asked(which);
    if desk.input(which, allowed).is_none() {
        desk.park(which, false);
        return Ok(line);
    }
    if let Err(why) = desk.may(allowed) {
        desk.refuse(which, &why.into());
        return Ok(line);
    }
    line.channel().set_timeout(config.limits.stall());
    if link.renew.swap(false, Ordering::SeqCst) {
        send(line.channel(), &Say::Renew)?;
        line = link.broken.enter(|| line.renew())?;
    }
    if !line.has(&allowed.program)? {
        desk.park(which, false);
        return Ok(line);
    }
    let Some(running) = desk.begin(which, allowed) else { return Ok(line) };
    // If the request was withdrawn in the meantime, its input is gone.
    let Some(input) = running.input.as_ref().filter(|_| running.is_asked() || !asked) else {
        return Ok(line);
    };
    if let Err(why) = desk.can_keep(allowed) {
        desk.refuse(which, &why.into());
        return Ok(line);
    }
    if let Some(Err(why)) = running.token.as_ref().map(|token| desk.token_may(token)) {
        desk.refuse(which, &why);
        return Ok(line);
    }
    let say = Say::Run { digest: hex(&which.digest), id: which.id.clone(), theirs: !running.is_asked() };
    let heard = running.stop.enter(|| {
        send(line.channel(), &say)?;
        receive(line.channel())
    });
    match heard? {
        Hear::Yes => {}
        Hear::No(why) if why.passes() => {
            desk.park(which, why == Why::NoInput);
            return Ok(line);
        }
        Hear::No(why) => {
            desk.refuse(which, &RequestRefusal::from(why).of_the_peer());
            return Ok(line);
        }
        Hear::Count(_) => return Err(confused()),
    }
    if let Err(why) = desk.charge(allowed, running.token.as_deref()) {
        desk.refuse(which, &why.into());
        return Err(Error::Resource("the store could not record the run in the budget".into()));
    }
    run(desk, link, &running, line, which, allowed, input)
}

fn confused() -> Error {
    Error::Mismatch("the answer of the peer's service does not fit the question".into())
}

/// Runs an agreed program.
fn run(
    desk: &Desk,
    link: &Link,
    running: &Running<'_>,
    mut line: Stocked,
    which: &Which,
    allowed: &Allowed,
    input: &[bool],
) -> Result<Stocked, Error> {
    let (begun, before) = (Instant::now(), line.bytes());
    let event = |outcome| TrailEvent {
        program: Some(allowed.named()),
        run: Some(which.id.clone()),
        token: running.token.as_ref().map(|token| token.name.clone()),
        asked_by: Some(if running.is_asked() { Asker::Here } else { Asker::Peer }),
        milliseconds: Some(begun.elapsed().as_secs_f64() * 1e3),
        ..TrailEvent::new(EventKind::Run, outcome)
    };
    match running.stop.enter(|| line.run(&allowed.program, input, Lacking::Refuse)) {
        Ok((FromStock { outputs, promise, .. }, mut line)) => {
            let (took, bytes) = (begun.elapsed(), line.bytes() - before);
            desk.figures.ran(&allowed.name, took, bytes);
            let bound_log2 = Some(promise.bound_log2);
            desk.trail.note(TrailEvent { bytes: Some(bytes), bound_log2, ..event(EventOutcome::Done) });
            tracing::info!(program = allowed.name, milliseconds = took.as_secs_f64() * 1e3, "ran");
            let outputs: Value = value::decode(&allowed.program.output_ports(desk.party), &outputs);
            let answer: DeskAnswer = Ok(outputs);
            desk.ended(which, allowed, input, running.token.as_deref(), answer);
            Ok(line)
        }
        Err(why) => {
            desk.figures.ended(&allowed.name, RunEnding::Failed);
            let text = match running.stop.is_asked() {
                true if desk.is_broken_off() => {
                    "the peer cheated on another connection, so the run was stopped".into()
                }
                true => "the run took longer than the configuration allows".into(),
                false => format!("the run failed: {why}"),
            };
            let (reason, phase) = (Some(text.clone()), link.reached[0].take());
            desk.trail.note(TrailEvent { reason, phase, ..event(EventOutcome::Failed) });
            let refusal = RequestRefusal::new(502, text, "see the log and the status page of the service");
            desk.ended(which, allowed, input, running.token.as_deref(), Err(refusal));
            Err(why)
        }
    }
}

/// The evaluator's end of the line `work`.
fn serves_work(desk: &Desk, link: &Link, mut line: Stocked) -> Result<(), Error> {
    let rate = RateLimit::new();
    while link.holds(desk) {
        rate.wait(MESSAGES_A_SECOND);
        line = match link.next(desk, line.channel())? {
            Say::Idle => line,
            Say::Renew => link.broken.enter(|| line.renew())?,
            Say::Run { digest, id, theirs } => answer(desk, link, line, &parse_which(&digest, id)?, theirs)?,
            _ => return Err(confused()),
        };
    }
    Ok(())
}

/// Answers whether the garbler's proposed run is accepted, and runs it.
fn answer(
    desk: &Desk,
    link: &Link,
    mut line: Stocked,
    which: &Which,
    theirs: bool,
) -> Result<Stocked, Error> {
    let config = desk.config();
    let allowed = config.programs.get(&which.digest);
    let refused = |mut line: Stocked, why: Why| {
        if !why.passes() {
            desk.note_refusal(allowed, Some(&which.id), None, &why.into());
        }
        send(line.channel(), &Hear::No(why)).map(|()| line)
    };
    let Some(allowed) = allowed else {
        return refused(line, Why::NotAllowed);
    };
    let Some(running) = desk.begin(which, allowed) else { return refused(line, Why::Stopping) };
    // If no user requests the run any more, the standing input is not used for it.
    let input = running.input.as_ref().filter(|_| running.is_asked() || !theirs);
    let Some(input) = input else { return refused(line, Why::NoInput) };
    if !line.has(&allowed.program)? {
        return refused(line, Why::NoStock);
    }
    if let Some(Err(why)) = running.token.as_ref().map(|token| desk.token_may(token)) {
        desk.refuse(which, &why);
        return refused(line, Why::NoInput);
    }
    if let Err(why) = desk.can_keep(allowed).and_then(|()| desk.charge(allowed, running.token.as_deref())) {
        return refused(line, why);
    }
    send(line.channel(), &Hear::Yes)?;
    run(desk, link, &running, line, which, allowed, input)
}

/// Returns the items for this many executions of a program, as a step for each component.
fn steps(allowed: &Allowed, count: u64) -> Vec<Request> {
    let count = count as usize;
    let none = || Request { components: Vec::new(), garbler_wires: 0, ots: None };
    let Request { components, garbler_wires, .. } = Request::of(&allowed.program);
    let mut steps: Vec<Request> = components
        .into_iter()
        .map(|(component, slots)| Request { components: vec![(component, slots * count)], ..none() })
        .collect();
    let ots = allowed.program.input_width(Party::Evaluator) * count;
    let inputs = Request { garbler_wires: garbler_wires * count, ots: (ots > 0).then_some(ots), ..none() };
    if !inputs.is_empty() {
        steps.push(inputs);
    }
    steps
}

/// The garbler's end of the line `fill`, which makes stock when there is too little.
fn fills(desk: &Desk, link: &Link, mut line: Stocked) -> Result<(), Error> {
    let mut pulse = Pulse::new();
    while link.holds(desk) {
        let config = desk.config();
        let mut idle = true;
        for allowed in config.programs.values() {
            if desk.is_stopping() {
                break;
            }
            let there = desk.in_stock(allowed)?;
            desk.figures.stock(&allowed.name, there);
            if there >= allowed.low {
                continue;
            }
            match desk.may_fill() {
                Ok(true) => {}
                Ok(false) => continue,
                Err(why) => {
                    desk.refuse_all(&allowed.digest, &why.into());
                    continue;
                }
            }
            let count = allowed.high - there;
            line.channel().set_timeout(config.limits.stall());
            send(line.channel(), &Say::Fill { digest: hex(&allowed.digest), count })?;
            let granted = match link.broken.enter(|| receive(line.channel()))? {
                Hear::Count(granted) => {
                    desk.peer_in_vain.store(false, Ordering::SeqCst);
                    granted
                }
                Hear::No(why) => {
                    desk.peer_in_vain.store(why == Why::Vain, Ordering::SeqCst);
                    // No stock will be made for this program, so no request should wait for it.
                    desk.refuse_all(&allowed.digest, &RequestRefusal::from(why).of_the_peer());
                    continue;
                }
                _ => return Err(confused()),
            };
            if granted > count {
                return Err(confused());
            }
            if granted > 0 {
                idle = false;
                line = make(desk, link, line, allowed, granted)?;
            }
        }
        if idle {
            pulse.beat(line.channel())?;
            std::thread::sleep(TICK);
        }
    }
    Ok(())
}

/// The evaluator's end of the line `fill`, which makes at most as much as its own configuration allows.
fn serves_fill(desk: &Desk, link: &Link, mut line: Stocked) -> Result<(), Error> {
    let rate = RateLimit::new();
    while link.holds(desk) {
        rate.wait(MESSAGES_A_SECOND);
        let (digest, count) = match link.next(desk, line.channel())? {
            Say::Idle => (None, 0),
            Say::Fill { digest, count } => (Some(parse_digest(&digest)?), count),
            _ => return Err(confused()),
        };
        let config = desk.config();
        for allowed in config.programs.values() {
            desk.figures.stock(&allowed.name, desk.in_stock(allowed)?);
        }
        let Some(digest) = digest else { continue };
        let Some(allowed) = config.programs.get(&digest) else {
            desk.note_refusal(None, None, None, &Why::NotAllowed.into());
            send(line.channel(), &Hear::No(Why::NotAllowed))?;
            continue;
        };
        let granted = match desk.may_fill() {
            Ok(true) => count.min(allowed.high.saturating_sub(desk.in_stock(allowed)?)),
            // No step may begin now, and the garbler asks again later.
            Ok(false) => 0,
            Err(why) => {
                send(line.channel(), &Hear::No(why))?;
                continue;
            }
        };
        send(line.channel(), &Hear::Count(granted))?;
        if granted > 0 {
            line = make(desk, link, line, allowed, granted)?;
        }
    }
    Ok(())
}

/// Makes stock, and then releases its epoch for the other lines.
fn make(
    desk: &Desk,
    link: &Link,
    mut line: Stocked,
    allowed: &Allowed,
    count: u64,
) -> Result<Stocked, Error> {
    let (begun, before) = (Instant::now(), line.bytes());
    line.stop_between_steps(&desk.between_steps);
    let mut made = desk.fill(|| link.broken.enter(|| line.preprocess(&steps(allowed, count))));
    let bytes = made.as_mut().ok().map(|(_, line)| line.bytes() - before);
    desk.trail.note(TrailEvent {
        program: Some(allowed.named()),
        executions: Some(count),
        bytes,
        milliseconds: Some(begun.elapsed().as_secs_f64() * 1e3),
        reason: made.as_ref().err().map(ToString::to_string),
        phase: made.as_ref().err().and_then(|_| link.reached[1].take()),
        ..TrailEvent::new(
            EventKind::Fill,
            if made.is_ok() { EventOutcome::Done } else { EventOutcome::Failed },
        )
    });
    match &made {
        Err(_) if desk.is_stopping() => {}
        Ok(_) => link.made.store(true, Ordering::SeqCst),
        // No step has begun, and another attempt would fail in the same way.
        Err(Error::Vain(_)) => desk.gives_up(),
        Err(_) => link.given_up.store(true, Ordering::SeqCst),
    }
    let line = link.broken.enter(|| made?.1.renew())?;
    desk.note_burned();
    link.renew.store(true, Ordering::SeqCst);
    desk.figures.made(&allowed.name, count);
    desk.figures.stock(&allowed.name, desk.in_stock(allowed)?);
    let milliseconds = begun.elapsed().as_secs_f64() * 1e3;
    tracing::info!(program = allowed.name, executions = count, milliseconds, "made stock");
    desk.ring();
    Ok(line)
}

/// The evaluator's end of the line `ask`, which announces the requests of its users.
fn asks(desk: &Desk, link: &Link, mut line: Channel) -> Result<(), Error> {
    let mut pulse = Pulse::new();
    while link.holds(desk) {
        for which in desk.to_announce(TICK.min(AGAIN)) {
            line.set_timeout(desk.config().limits.stall());
            send(&mut line, &Say::Ask { digest: hex(&which.digest), id: which.id.clone() })?;
            match link.broken.enter(|| receive(&mut line))? {
                Hear::Yes => {}
                Hear::No(why) => desk.refuse(&which, &RequestRefusal::from(why).of_the_peer()),
                _ => return Err(confused()),
            }
        }
        pulse.beat(&mut line)?;
        last_step(desk);
    }
    Ok(())
}

/// The garbler's end of the line `ask`, which records the announced requests.
fn serves_asks(desk: &Desk, link: &Link, mut line: Channel) -> Result<(), Error> {
    let rate = RateLimit::new();
    while link.holds(desk) {
        rate.wait(MESSAGES_A_SECOND);
        let which = match link.next(desk, &mut line)? {
            Say::Idle => continue,
            Say::Ask { digest, id } => parse_which(&digest, id)?,
            _ => return Err(confused()),
        };
        let config = desk.config();
        let (allowed, run) = (config.programs.get(&which.digest), which.id.clone());
        let noted = match allowed {
            None => Err(Why::NotAllowed),
            Some(allowed) => desk.may(allowed).and_then(|()| desk.note(which)),
        };
        if let Err(why) = noted {
            desk.note_refusal(allowed, Some(&run), None, &why.into());
        }
        send(&mut line, &noted.map_or_else(Hear::No, |()| Hear::Yes))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A peer that completes one step and breaks off the next does not shorten the wait.
    #[test]
    fn a_step_that_is_made_takes_nothing_from_one_that_is_given_up() {
        let after = |made: bool, given_up: bool, penalty| {
            let link = Link { made: made.into(), given_up: given_up.into(), ..Link::default() };
            rest_after(&link, penalty)
        };
        let so_far = 8 * MIN_PAUSE;
        assert_eq!(after(true, true, so_far), (so_far, 2 * so_far));
        assert_eq!(after(false, true, so_far), (so_far, 2 * so_far));
        assert_eq!(after(false, true, MAX_PENALTY), (MAX_PENALTY, MAX_PENALTY));
        assert_eq!(after(false, false, so_far), (Duration::ZERO, so_far));
        assert_eq!(after(true, false, so_far), (Duration::ZERO, MIN_PAUSE));
    }
}
