//! Communication of the parties: frames of known length over byte streams.
//!
//! Almost every length in the protocol follows from public parameters. So a receiver expects a message with a
//! certain tag and a certain number of bytes. Any other message is the peer's fault, and is refused before
//! memory is allocated.
//!
//! A [`Channel`] has a main stream, which carries the messages of the protocol in order. A channel may have
//! further lanes, which carry bulk data of known length in parallel. [`tls`] makes channels over the network,
//! [`memory_pair`] within the process, and [`over`] over the caller's connection.
#![forbid(unsafe_code)]

mod frame;
mod memory;
mod own;
pub mod tls;

use std::time::{Duration, Instant};

use brickwork_base::{Error, RunStanding};
use frame::{Framed, MAX_REFUSAL_BYTES, REFUSAL};

pub use frame::{Departures, FRAME_HEADER_BYTES, MAX_FRAME_BYTES, Stream, Tag};
pub use memory::{Crossings, counting_pair, memory_lanes, memory_pair};
pub use own::over;

/// A hook that may change an outgoing message; only cheaters in tests have one.
pub type Tamper = Box<dyn FnMut(Tag, &mut Vec<u8>) + Send>;

/// If each lane would get fewer bytes of bulk data than this, starting a thread costs more than it saves.
const MIN_LANE_BYTES: usize = 64 << 10;

/// The number of flights that a channel remembers until they are [taken](Channel::take_flights).
const MAX_FLIGHTS: usize = 1 << 10;

/// Consecutive messages in one direction, with the times of one party.
#[derive(Clone, Copy, Debug)]
pub struct LinkFlight {
    /// True if the messages come from the peer.
    pub incoming: bool,
    /// The time when this party began to send the first message, or to wait for it.
    pub began: Instant,
    /// The time when this party had handed over the last message, or had received all of it.
    pub ended: Instant,
    /// The time in which this party only received, without its computations between the messages.
    pub waited: Duration,
    /// Bytes of payload and framing.
    pub bytes: u64,
}

/// A connection to the peer: one stream for the protocol's messages and further lanes for bulk data.
pub struct Channel {
    main: Framed,
    further: Vec<Framed>,
    tamper: Option<Tamper>,
    /// Flights that the caller has not taken yet, at most [`MAX_FLIGHTS`]. Later flights are not recorded.
    flights: Vec<LinkFlight>,
    /// The current phase of the run.
    phase: Option<&'static str>,
    /// True while the peer already knows whether this party's next check will fail, and this party does not.
    deniable: bool,
}

impl Channel {
    /// Makes a channel over these streams; the first is the main one.
    ///
    /// # Panics
    /// If there is no stream.
    pub fn new(lanes: Vec<Box<dyn Stream>>) -> Self {
        let mut lanes = lanes.into_iter().map(Framed::new);
        let main = lanes.next().expect("a channel needs at least one stream");
        Channel {
            main,
            further: lanes.collect(),
            tamper: None,
            flights: Vec::new(),
            phase: None,
            deniable: false,
        }
    }

    /// Sets a hook that may change every outgoing message, for tests of cheating parties.
    pub fn set_tamper(&mut self, tamper: Tamper) {
        self.tamper = Some(tamper);
    }

    /// Sets whether the peer already knows the result of this party's next check. If the connection ends in
    /// this state, its error is [deniable](Error::is_deniable).
    pub fn set_deniable(&mut self, deniable: bool) {
        self.deniable = deniable;
    }

    /// Names the current phase of a run. If the connection ends, its error names the phase.
    pub fn set_phase(&mut self, phase: &'static str) {
        self.phase = Some(phase);
    }

    /// Starts to watch for these messages of a program that is about to begin. If the connection ends, its
    /// error tells which of them have left.
    pub fn look_for(&mut self, departures: Departures) {
        self.main.look_for(departures);
    }

    /// Adds the progress of the run to an error at the end of its connection.
    fn told<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        result.map_err(|error| match self.phase {
            Some(phase) => error.at(RunStanding {
                phase,
                input_left: self.main.departed.input,
                peer_may_have_outputs: self.main.departed.outputs,
                deniable: self.deniable,
            }),
            None => error,
        })
    }

    /// Sets the longest time without progress of the peer, on all lanes.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.main.set_timeout(timeout);
        self.further.iter_mut().for_each(|lane| lane.set_timeout(timeout));
    }

    /// Returns the number of lanes, the main stream included.
    pub fn lanes(&self) -> usize {
        1 + self.further.len()
    }

    /// Returns the bytes sent so far on all lanes: payload and framing.
    pub fn sent_bytes(&self) -> u64 {
        self.main.sent + self.further.iter().map(|lane| lane.sent).sum::<u64>()
    }

    /// Returns the bytes received so far on all lanes: payload and framing.
    pub fn received_bytes(&self) -> u64 {
        self.main.received + self.further.iter().map(|lane| lane.received).sum::<u64>()
    }

    /// Returns the flights since they were last taken; the last one may still continue.
    pub fn take_flights(&mut self) -> Vec<LinkFlight> {
        std::mem::take(&mut self.flights)
    }

    /// Records a flight during `act`.
    fn flight<T>(
        &mut self,
        incoming: bool,
        act: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let passed = |channel: &Self| if incoming { channel.received_bytes() } else { channel.sent_bytes() };
        let (began, before) = (Instant::now(), passed(self));
        let result = act(self);
        let (ended, bytes) = (Instant::now(), passed(self) - before);
        let waited = if incoming { ended - began } else { Duration::ZERO };
        let is_full = self.flights.len() >= MAX_FLIGHTS;
        match self.flights.last_mut() {
            Some(last) if last.incoming == incoming => {
                last.ended = ended;
                last.waited += waited;
                last.bytes += bytes;
            }
            _ if is_full => {}
            _ => self.flights.push(LinkFlight { incoming, began, ended, waited, bytes }),
        }
        self.told(result)
    }

    /// Sends one message. It may stay in a buffer until [`Channel::flush`] or the next receive.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn send(&mut self, tag: Tag, payload: &[u8]) -> Result<(), Error> {
        let altered = self.altered(tag, payload);
        self.flight(false, |channel| channel.main.send(tag, altered.as_deref().unwrap_or(payload)))
    }

    /// Begins one message whose bytes come in several parts. The peer receives the same bytes as from
    /// [`Channel::send`].
    pub fn message(&mut self, tag: Tag) -> Message<'_> {
        Message { channel: self, tag, waiting: Vec::new(), sent: false }
    }

    fn altered(&mut self, tag: Tag, payload: &[u8]) -> Option<Vec<u8>> {
        let tamper = self.tamper.as_mut()?;
        let mut altered = payload.to_vec();
        tamper(tag, &mut altered);
        Some(altered)
    }

    /// Sends all buffered messages.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn flush(&mut self) -> Result<(), Error> {
        let flushed = self.main.flush();
        self.told(flushed)
    }

    /// Receives the message `tag` of exactly `payload.len()` bytes.
    ///
    /// # Errors
    /// [`UnexpectedMessage`](brickwork_base::Malformed::UnexpectedMessage) if another message or another
    /// length comes, [`Error::Io`] if the connection fails.
    pub fn receive_into(&mut self, tag: Tag, payload: &mut [u8]) -> Result<(), Error> {
        self.flush()?;
        self.flight(true, |channel| channel.main.receive_into(tag, payload))
    }

    /// Refuses to begin, with a reason for the peer, which waits for this party's first message.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn refuse(&mut self, why: &str) -> Result<(), Error> {
        self.send(REFUSAL, &why.as_bytes()[..why.len().min(MAX_REFUSAL_BYTES)])?;
        self.flush()
    }

    /// Does the same as [`Channel::receive_into`] for the first message of a peer, which may
    /// [refuse](Channel::refuse) instead. A refusal is accepted only here, and only as the first message:
    /// otherwise a peer could use it to end a run with a false reason.
    ///
    /// # Errors
    /// As [`Channel::receive_into`]; [`Error::Refused`] with the peer's text if it refuses.
    pub fn receive_first_into(&mut self, tag: Tag, payload: &mut [u8]) -> Result<(), Error> {
        self.flush()?;
        self.flight(true, |channel| channel.main.receive_unless_refused(tag, payload))
    }

    /// Receives the message `tag` of exactly `length` bytes.
    ///
    /// # Errors
    /// As [`Channel::receive_into`].
    pub fn receive(&mut self, tag: Tag, length: usize) -> Result<Vec<u8>, Error> {
        let mut payload = vec![0; length];
        self.receive_into(tag, &mut payload)?;
        Ok(payload)
    }

    /// Receives the message `tag`, whose length the sender chooses, up to `limit` bytes (at most one frame).
    ///
    /// # Errors
    /// As [`Channel::receive_into`].
    pub fn receive_up_to(&mut self, tag: Tag, limit: usize) -> Result<Vec<u8>, Error> {
        self.flush()?;
        self.flight(true, |channel| channel.main.receive_up_to(tag, limit))
    }

    /// Sends one message of a length that the receiver knows, distributed over all lanes, and flushes it. The
    /// receiver calls [`Channel::receive_bulk_into`] at the same point of the protocol.
    ///
    /// # Errors
    /// As [`Channel::send`].
    pub fn send_bulk(&mut self, tag: Tag, payload: &[u8]) -> Result<(), Error> {
        let altered = self.altered(tag, payload);
        let payload = altered.as_deref().unwrap_or(payload);
        self.flight(false, |channel| channel.send_over_lanes(tag, payload))
    }

    fn send_over_lanes(&mut self, tag: Tag, payload: &[u8]) -> Result<(), Error> {
        let (share, lanes) = shares(payload.len(), self.lanes());
        let (first, mut rest) = payload.split_at(share.min(payload.len()));
        std::thread::scope(|scope| {
            let mut workers = Vec::new();
            for lane in &mut self.further[..lanes - 1] {
                let part;
                (part, rest) = rest.split_at(share.min(rest.len()));
                workers.push(scope.spawn(move || lane.send(tag, part).and_then(|()| lane.flush())));
            }
            let main = self.main.send(tag, first).and_then(|()| self.main.flush());
            join(main, workers)
        })
    }

    /// Receives the message `tag` of exactly `payload.len()` bytes that [`Channel::send_bulk`] sent.
    ///
    /// # Errors
    /// As [`Channel::receive_into`].
    pub fn receive_bulk_into(&mut self, tag: Tag, payload: &mut [u8]) -> Result<(), Error> {
        self.flush()?;
        self.flight(true, |channel| channel.receive_over_lanes(tag, payload))
    }

    fn receive_over_lanes(&mut self, tag: Tag, payload: &mut [u8]) -> Result<(), Error> {
        let (share, lanes) = shares(payload.len(), self.lanes());
        let (first, mut rest) = payload.split_at_mut(share.min(payload.len()));
        std::thread::scope(|scope| {
            let mut workers = Vec::new();
            for lane in &mut self.further[..lanes - 1] {
                let part;
                (part, rest) = rest.split_at_mut(share.min(rest.len()));
                workers.push(scope.spawn(move || lane.receive_into(tag, part)));
            }
            let main = self.main.receive_into(tag, first);
            join(main, workers)
        })
    }
}

/// A message that is being sent in parts. The peer waits for its end, so it must be
/// [finished](Message::finish).
#[must_use = "a message must be finished"]
pub struct Message<'c> {
    channel: &'c mut Channel,
    tag: Tag,
    /// Bytes that are not sent yet: less than a frame, or the whole message if a hook may change it.
    waiting: Vec<u8>,
    sent: bool,
}

impl Message<'_> {
    /// Sends the next bytes, or buffers them.
    ///
    /// # Errors
    /// As [`Channel::send`].
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        if self.channel.tamper.is_some() {
            self.waiting.extend_from_slice(bytes);
            return Ok(());
        }
        if !self.waiting.is_empty() {
            let (here, behind) = bytes.split_at(bytes.len().min(MAX_FRAME_BYTES - self.waiting.len()));
            self.waiting.extend_from_slice(here);
            bytes = behind;
            if self.waiting.len() == MAX_FRAME_BYTES {
                let (tag, waiting) = (self.tag, &self.waiting);
                self.channel.flight(false, |channel| channel.main.send(tag, waiting))?;
                self.sent = true;
                self.waiting.clear();
            }
        }
        let (frames, rest) = bytes.split_at(bytes.len() / MAX_FRAME_BYTES * MAX_FRAME_BYTES);
        if !frames.is_empty() {
            let tag = self.tag;
            self.channel.flight(false, |channel| channel.main.send(tag, frames))?;
            self.sent = true;
        }
        self.waiting.extend_from_slice(rest);
        Ok(())
    }

    /// Sends the buffered bytes, which completes the message.
    ///
    /// # Errors
    /// As [`Channel::send`].
    pub fn finish(self) -> Result<(), Error> {
        // A message without bytes also needs a frame.
        if self.waiting.is_empty() && self.sent { Ok(()) } else { self.channel.send(self.tag, &self.waiting) }
    }
}

/// Returns the bytes for each lane (the last one may get fewer) and the number of lanes that get any bytes.
pub fn shares(length: usize, lanes: usize) -> (usize, usize) {
    let lanes = lanes.min(length / MIN_LANE_BYTES).max(1);
    let share = length.div_ceil(lanes);
    (share, lanes)
}

/// Returns the first error of the lanes, starting with the main stream, so that errors of other threads are
/// not lost.
fn join(
    main: Result<(), Error>,
    workers: Vec<std::thread::ScopedJoinHandle<'_, Result<(), Error>>>,
) -> Result<(), Error> {
    workers.into_iter().fold(main, |result, worker| {
        let lane =
            worker.join().unwrap_or_else(|_| Err(Error::Resource("the thread of a lane failed".into())));
        result.and(lane)
    })
}

#[cfg(test)]
mod tests;
