//! How the parties talk: frames of known length over byte streams.
//!
//! Almost every length in the protocol follows from public parameters, so a receiver says which message and
//! how many bytes it expects; anything else is the peer's fault and is refused before a byte is allocated.
//!
//! A [`Channel`] has a main stream, on which the messages of the protocol travel in order. It may have
//! further lanes over which bulk data of known length goes in parallel. [`tls`] makes channels over the
//! network, [`memory_pair`] within the process, and [`over`] over a line of the caller's.
#![forbid(unsafe_code)]

mod frame;
mod memory;
mod own;
pub mod tls;

use std::time::{Duration, Instant};

use brickwork_base::Error;
use frame::{Framed, MAX_REFUSAL_BYTES, REFUSAL};

pub use frame::{FRAME_HEADER_BYTES, MAX_FRAME_BYTES, Stream, Tag};
pub use memory::{Crossings, counting_pair, memory_lanes, memory_pair};
pub use own::over;

/// A hook that may alter a message on its way out; only cheaters in tests have one.
pub type Tamper = Box<dyn FnMut(Tag, &mut Vec<u8>) + Send>;

/// Bulk data shorter than this for each lane is not worth a thread.
const MIN_LANE_BYTES: usize = 64 << 10;

/// Flights that a channel remembers until they are [taken](Channel::take_flights).
const MAX_FLIGHTS: usize = 1 << 10;

/// Messages that go the same way, one after the other, with none between that goes the other way; as one of
/// the parties sees them.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// Says that they come from the peer.
    pub incoming: bool,
    /// When this party began to send the first one, or to wait for it.
    pub began: Instant,
    /// When it had handed the last one over, or had all of it.
    pub ended: Instant,
    /// How long it did nothing but receive; it may have computed between the messages.
    pub waited: Duration,
    /// Payload and framing.
    pub bytes: u64,
}

/// A connection to the peer: one stream for the protocol's messages and further lanes for bulk data.
pub struct Channel {
    main: Framed,
    further: Vec<Framed>,
    tamper: Option<Tamper>,
    /// Those that nobody has taken, at most [`MAX_FLIGHTS`]: what comes then is not remembered.
    flights: Vec<Flight>,
    /// True while the peer knows, before this party does, whether a check of it will fail.
    deniable: bool,
}

impl Channel {
    /// Makes a channel over these streams, at least one; the first is the main one.
    ///
    /// # Panics
    /// If there is no stream.
    pub fn new(lanes: Vec<Box<dyn Stream>>) -> Self {
        let mut lanes = lanes.into_iter().map(Framed::new);
        let main = lanes.next().expect("a channel needs a stream");
        Channel { main, further: lanes.collect(), tamper: None, flights: Vec::new(), deniable: false }
    }

    /// Lets `tamper` alter every outgoing message. For tests of what a cheater can do.
    pub fn set_tamper(&mut self, tamper: Tamper) {
        self.tamper = Some(tamper);
    }

    /// Says whether the peer knows more about this party's next check than this party. If the connection ends
    /// meanwhile, its error is [deniable](Error::is_deniable).
    pub fn set_deniable(&mut self, deniable: bool) {
        self.deniable = deniable;
    }

    fn blamed<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if self.deniable { result.map_err(Error::deniable) } else { result }
    }

    /// Gives the peer another timeout from now on, on all lanes: how long it may stall.
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

    /// Returns the flights so far, or since they were last taken: the last of them may go on.
    pub fn take_flights(&mut self) -> Vec<Flight> {
        std::mem::take(&mut self.flights)
    }

    /// Notes what goes one way and takes no longer than `act`.
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
            _ => self.flights.push(Flight { incoming, began, ended, waited, bytes }),
        }
        self.blamed(result)
    }

    /// Sends one message. It may stay in a buffer until [`Channel::flush`] or the next receive.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn send(&mut self, tag: Tag, payload: &[u8]) -> Result<(), Error> {
        let altered = self.altered(tag, payload);
        self.flight(false, |channel| channel.main.send(tag, altered.as_deref().unwrap_or(payload)))
    }

    /// Begins one message whose bytes come part after part. It is the same as if they came at once.
    pub fn message(&mut self, tag: Tag) -> Message<'_> {
        Message { channel: self, tag, waiting: Vec::new(), sent: false }
    }

    fn altered(&mut self, tag: Tag, payload: &[u8]) -> Option<Vec<u8>> {
        let tamper = self.tamper.as_mut()?;
        let mut altered = payload.to_vec();
        tamper(tag, &mut altered);
        Some(altered)
    }

    /// Hands everything that was sent to the network.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn flush(&mut self) -> Result<(), Error> {
        let flushed = self.main.flush();
        self.blamed(flushed)
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

    /// Tells the peer, who waits for this party's first message, why this party does not begin.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn refuse(&mut self, why: &str) -> Result<(), Error> {
        self.send(REFUSAL, &why.as_bytes()[..why.len().min(MAX_REFUSAL_BYTES)])?;
        self.flush()
    }

    /// Does what [`Channel::receive_into`] does, with the first message of a peer who may
    /// [refuse](Channel::refuse) instead. Nowhere else is a refusal heard, and not here where something has
    /// come before: it would be a way to end a run with another reason than the true one.
    ///
    /// # Errors
    /// As [`Channel::receive_into`]; [`Error::Refused`] with the peer's words if it refuses.
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

    /// Receives the message `tag`, whose length is the sender's choice up to `limit` bytes (at most one
    /// frame).
    ///
    /// # Errors
    /// As [`Channel::receive_into`].
    pub fn receive_up_to(&mut self, tag: Tag, limit: usize) -> Result<Vec<u8>, Error> {
        self.flush()?;
        self.flight(true, |channel| channel.main.receive_up_to(tag, limit))
    }

    /// Sends one message of a length that the receiver knows, spread over all lanes, and hands it to the
    /// network. The receiver calls [`Channel::receive_bulk_into`] at the same point of the protocol.
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

    /// Receives the message `tag` of exactly `payload.len()` bytes that was sent by [`Channel::send_bulk`].
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

/// A message in the making. The peer waits for the rest of it, so it must be [finished](Message::finish).
#[must_use = "a message must be finished"]
pub struct Message<'c> {
    channel: &'c mut Channel,
    tag: Tag,
    /// Less than a frame; where a hook wants to alter the message, all of it.
    waiting: Vec<u8>,
    sent: bool,
}

impl Message<'_> {
    /// Sends the next bytes, or lets them wait for more.
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

    /// Sends what waits: the message is complete.
    ///
    /// # Errors
    /// As [`Channel::send`].
    pub fn finish(self) -> Result<(), Error> {
        // A message without bytes is a frame, too.
        if self.waiting.is_empty() && self.sent { Ok(()) } else { self.channel.send(self.tag, &self.waiting) }
    }
}

/// Returns the bytes for each lane (the last one may get fewer) and the number of lanes that get any.
pub fn shares(length: usize, lanes: usize) -> (usize, usize) {
    let lanes = lanes.min(length / MIN_LANE_BYTES).max(1);
    let share = length.div_ceil(lanes);
    (share, lanes)
}

/// The first error of the lanes, the main one's first. No worker's error may get lost.
fn join(
    main: Result<(), Error>,
    workers: Vec<std::thread::ScopedJoinHandle<'_, Result<(), Error>>>,
) -> Result<(), Error> {
    workers.into_iter().fold(main, |result, worker| {
        let lane = worker.join().unwrap_or_else(|_| Err(Error::Resource("a lane's thread failed".into())));
        result.and(lane)
    })
}

#[cfg(test)]
mod tests;
