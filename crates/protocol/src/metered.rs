//! A connection that measures the time and the bytes of each phase of a run.

use std::time::Instant;

use brickwork_base::{Error, Party};
use brickwork_wire::{Channel, Departures};

use crate::Observer;
use crate::greeting::{Answer, Greeting};
use crate::protocol::{Flight, PhaseReport, PhaseSpan, SessionProtocol};

/// The largest number of spans and flights that are kept for one session, all phases together.
const MAX_MARKS: usize = 1 << 10;

/// A connection that measures the phases of a run.
pub struct Metered {
    /// The connection.
    pub channel: Channel,
    /// The role of this party.
    pub role: Party,
    observer: Box<dyn Observer>,
    /// All phases of the protocol, in their order.
    order: &'static [&'static str],
    /// The messages which show how far the values of a program have left this party.
    departures: Departures,
    phases: Vec<PhaseReport>,
    /// The index of the running phase.
    running: Option<usize>,
    /// The time when the measurement started, and the time when the running phase began.
    born: Instant,
    started: Instant,
    /// The number of spans and flights that are kept so far.
    marks: usize,
    bytes: [u64; 2],
    /// Bytes of tables that were sent or received, and the expected total.
    passed: u64,
    expected: u64,
    /// The action to perform before a message that a cheating peer can use.
    before_exposing: Option<BeforeExposing>,
}

/// The action to perform before a message that a cheating peer can use.
pub type BeforeExposing = Box<dyn FnMut() -> Result<(), Error> + Send>;

impl Metered {
    /// Starts the measurement of a party of this protocol, and tells `observer` its phases.
    pub fn new<P: SessionProtocol>(mut channel: Channel, role: Party, observer: Box<dyn Observer>) -> Self {
        // Bytes that were sent or received before the start do not count.
        channel.take_flights();
        let bytes = [channel.sent_bytes(), channel.received_bytes()];
        let (started, phases, order) = (Instant::now(), Vec::new(), P::PHASES);
        let departures = P::DEPARTURES[role as usize];
        channel.look_for(departures);
        Metered {
            channel,
            role,
            observer,
            order,
            departures,
            phases,
            running: None,
            born: started,
            started,
            marks: 0,
            bytes,
            passed: 0,
            expected: 0,
            before_exposing: None,
        }
    }

    /// Receives the peer's answer to a greeting, and reports the session's identifier.
    ///
    /// # Errors
    /// As [`Greeting::answered`].
    pub fn answer(&mut self, greeting: Greeting) -> Result<Answer, Error> {
        let answer = greeting.answered(&mut self.channel)?;
        self.observer.met(&answer.session);
        Ok(answer)
    }

    /// Sets the action to perform before each message that a cheating peer can use; `None` for no action.
    pub fn before_exposing(&mut self, act: Option<BeforeExposing>) {
        self.before_exposing = act;
    }

    /// Prepares for a message after which a cheating peer can know whether its cheat will be detected: a
    /// challenge, or the result of a comparison. If stock is being made, this records on disk that the step
    /// counts as an attempt of the peer. If not, an end of the connection is [deniable](Error::is_deniable)
    /// until [`Metered::cover`].
    ///
    /// # Errors
    /// [`Error::Vain`] if this would exceed the allowed attempts; [`Error::Stock`] if the disk fails.
    pub fn expose(&mut self) -> Result<(), Error> {
        self.channel.set_deniable(self.before_exposing.is_none());
        self.exposed()
    }

    /// Notes that the message which was received last was such a message of the peer. It tells this party
    /// nothing that helps it to cheat, but the logs of both parties must have the same entries.
    ///
    /// # Errors
    /// As [`Metered::expose`].
    pub fn exposed(&mut self) -> Result<(), Error> {
        self.before_exposing.as_mut().map_or(Ok(()), |act| act())
    }

    /// Notes that the peer gains nothing any more by breaking the connection: it has passed the check, or can
    /// cheat no more.
    pub fn cover(&mut self) {
        self.channel.set_deniable(false);
    }

    /// Notes that a program begins and has not sent anything yet.
    pub fn program(&mut self) {
        self.channel.look_for(self.departures);
    }

    /// Notes that stock is made or compared, so no message depends on a program.
    pub fn no_program(&mut self) {
        self.channel.look_for(Departures::default());
    }

    /// Begins or resumes a phase, to which all following messages and work belong. A phase may begin several
    /// times, because a flight can contain messages of several phases.
    pub fn phase(&mut self, name: &'static str) {
        self.end_phase();
        self.channel.set_phase(name);
        self.observer.phase(name);
        self.running = Some(self.phases.iter().position(|phase| phase.name == name).unwrap_or_else(|| {
            self.phases.push(PhaseReport {
                name: name.into(),
                seconds: 0.0,
                garbler_sent_bytes: 0,
                evaluator_sent_bytes: 0,
                spans: Vec::new(),
            });
            self.phases.len() - 1
        }));
    }

    fn end_phase(&mut self) {
        let now = [self.channel.sent_bytes(), self.channel.received_bytes()];
        let [sent, received] = [now[0] - self.bytes[0], now[1] - self.bytes[1]];
        let ended = Instant::now();
        let flights = self.channel.take_flights();
        if let Some(running) = self.running {
            let span = self.span(ended, &flights);
            let phase = &mut self.phases[running];
            phase.seconds += (ended - self.started).as_secs_f64();
            let (garblers, evaluators) =
                if self.role == Party::Garbler { (sent, received) } else { (received, sent) };
            phase.garbler_sent_bytes += garblers;
            phase.evaluator_sent_bytes += evaluators;
            phase.spans.extend(span);
        }
        self.bytes = now;
        self.started = ended;
    }

    /// Returns the time span since the running phase began, unless enough spans are kept already.
    fn span(&mut self, ended: Instant, flights: &[brickwork_wire::LinkFlight]) -> Option<PhaseSpan> {
        self.marks += 1 + flights.len();
        if self.marks > MAX_MARKS {
            return None;
        }
        let since = |time: Instant| time.saturating_duration_since(self.born).as_secs_f64();
        let other = match self.role {
            Party::Garbler => Party::Evaluator,
            Party::Evaluator => Party::Garbler,
        };
        let flight = |flight: &brickwork_wire::LinkFlight| Flight {
            from: if flight.incoming { name(other) } else { name(self.role) }.into(),
            began_seconds: since(flight.began),
            ended_seconds: since(flight.ended),
            waited_seconds: flight.waited.as_secs_f64(),
            bytes: flight.bytes,
        };
        Some(PhaseSpan {
            began_seconds: since(self.started),
            ended_seconds: since(ended),
            flights: flights.iter().map(flight).collect(),
        })
    }

    /// Expects this many more bytes of tables. Bytes that were already expected are not counted again.
    pub fn expect(&mut self, bytes: u64) {
        if self.passed >= self.expected {
            self.expected = self.passed.saturating_add(bytes);
        }
    }

    /// Counts this many more bytes of tables as sent or received.
    pub fn progress(&mut self, bytes: u64) {
        self.passed += bytes;
        self.observer.progress(self.passed, self.expected);
    }

    /// Sends buffered messages and stops the measurement. Returns the time and the bytes of each phase, in
    /// their order.
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

fn name(party: Party) -> &'static str {
    match party {
        Party::Garbler => "garbler",
        Party::Evaluator => "evaluator",
    }
}
