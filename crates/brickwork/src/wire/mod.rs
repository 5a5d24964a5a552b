//! How the parties talk: frames of known length over byte streams.
//!
//! Almost every length in the protocol follows from public parameters, so a receiver says which message and how many
//! bytes it expects; anything else is the peer's fault and is refused before a byte is allocated.

mod memory;

use std::io::{Read, Write};

use crate::{Cheat, Error};

pub use memory::memory_pair;

/// Bytes of a frame's header: the tag and the length of what follows, little endian.
pub const FRAME_HEADER_BYTES: usize = 5;

/// Longest payload of one frame. Longer messages travel as several frames.
pub const MAX_FRAME_BYTES: usize = 1 << 20;

/// A duplex byte stream: a TLS connection, or a pipe within the process. Reads time out with an error of kind
/// [`std::io::ErrorKind::TimedOut`] or `WouldBlock` when the peer stalls past the deadline.
pub trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// Which message a frame holds. One tag for each message of the protocol, so that a message out of its place is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Tag(pub u8);

/// A hook that may alter a message on its way out; only cheaters in tests have one.
pub type Tamper = Box<dyn FnMut(Tag, &mut Vec<u8>) + Send>;

/// A connection to the peer: one stream for the protocol's messages and further lanes for bulk data.
pub struct Channel {
    lanes: Vec<Box<dyn Stream>>,
    out: Vec<u8>,
    sent: u64,
    received: u64,
    tamper: Option<Tamper>,
}

/// Buffered output is flushed once it is this long.
const OUT_BYTES: usize = 64 << 10;

impl Channel {
    /// A channel over these streams, at least one; the first is the main one.
    ///
    /// # Panics
    /// If there is no stream.
    pub fn new(lanes: Vec<Box<dyn Stream>>) -> Self {
        assert!(!lanes.is_empty(), "a channel needs a stream");
        Channel { lanes, out: Vec::new(), sent: 0, received: 0, tamper: None }
    }

    /// Lets `tamper` alter every outgoing message. For tests of what a cheater can do.
    pub fn set_tamper(&mut self, tamper: Tamper) {
        self.tamper = Some(tamper);
    }

    /// Bytes sent so far on all lanes: payload and framing.
    pub fn sent_bytes(&self) -> u64 {
        self.sent
    }

    /// Bytes received so far on all lanes: payload and framing.
    pub fn received_bytes(&self) -> u64 {
        self.received
    }

    /// Sends one message. It may stay in a buffer until [`Channel::flush`] or the next receive.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn send(&mut self, tag: Tag, payload: &[u8]) -> Result<(), Error> {
        if let Some(mut tamper) = self.tamper.take() {
            let mut altered = payload.to_vec();
            tamper(tag, &mut altered);
            self.tamper = Some(tamper);
            return self.send_frames(tag, &altered);
        }
        self.send_frames(tag, payload)
    }

    fn send_frames(&mut self, tag: Tag, payload: &[u8]) -> Result<(), Error> {
        let mut rest = payload;
        loop {
            let (frame, tail) = rest.split_at(rest.len().min(MAX_FRAME_BYTES));
            let mut header = [tag.0, 0, 0, 0, 0];
            header[1..].copy_from_slice(&(frame.len() as u32).to_le_bytes());
            self.out.extend_from_slice(&header);
            self.sent += (FRAME_HEADER_BYTES + frame.len()) as u64;
            if self.out.len() + frame.len() > OUT_BYTES {
                self.write_out()?;
                self.lanes[0].write_all(frame)?;
            } else {
                self.out.extend_from_slice(frame);
            }
            rest = tail;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    fn write_out(&mut self) -> Result<(), Error> {
        self.lanes[0].write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Hands everything that was sent to the network.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.write_out()?;
        Ok(self.lanes[0].flush()?)
    }

    /// Receives the message `tag` of exactly `payload.len()` bytes.
    ///
    /// # Errors
    /// [`Cheat::UnexpectedMessage`] if another message or another length comes, [`Error::Io`] if the connection fails.
    pub fn receive_into(&mut self, tag: Tag, payload: &mut [u8]) -> Result<(), Error> {
        self.flush()?;
        let mut rest = payload;
        loop {
            let length = rest.len().min(MAX_FRAME_BYTES);
            let (frame, tail) = rest.split_at_mut(length);
            if self.header(tag)? != frame.len() {
                return Err(Cheat::UnexpectedMessage.into());
            }
            self.lanes[0].read_exact(frame)?;
            self.received += frame.len() as u64;
            rest = tail;
            if rest.is_empty() {
                return Ok(());
            }
        }
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

    /// Receives the message `tag`, whose length is the sender's choice up to `limit` bytes (at most one frame).
    ///
    /// # Errors
    /// As [`Channel::receive_into`].
    pub fn receive_up_to(&mut self, tag: Tag, limit: usize) -> Result<Vec<u8>, Error> {
        self.flush()?;
        let length = self.header(tag)?;
        if length > limit.min(MAX_FRAME_BYTES) {
            return Err(Cheat::UnexpectedMessage.into());
        }
        let mut payload = vec![0; length];
        self.lanes[0].read_exact(&mut payload)?;
        self.received += length as u64;
        Ok(payload)
    }

    fn header(&mut self, tag: Tag) -> Result<usize, Error> {
        let mut header = [0; FRAME_HEADER_BYTES];
        self.lanes[0].read_exact(&mut header)?;
        self.received += FRAME_HEADER_BYTES as u64;
        if header[0] != tag.0 {
            return Err(Cheat::UnexpectedMessage.into());
        }
        let [_, length @ ..] = header;
        Ok(u32::from_le_bytes(length) as usize)
    }
}
