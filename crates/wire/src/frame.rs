//! Frames on a byte stream: a tag, a length, and at most [`MAX_FRAME_BYTES`] of payload.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use zeroize::Zeroize as _;

use brickwork_base::{Error, Malformed};

/// The kind of message in a frame. Each message of the protocol has its own tag, so that a message out of
/// order is noticed. The values 254 and 255 are reserved for a refusal and a keep-alive frame, which never
/// reach the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Tag(pub u8);

/// The number of bytes of a frame's header: the tag and the payload's length, little endian.
pub const FRAME_HEADER_BYTES: usize = 5;

/// The longest payload of one frame. Longer messages are sent as several frames.
pub const MAX_FRAME_BYTES: usize = 1 << 20;

/// The keep-alive frame of an idle party: an empty frame with a tag of its own. It tells the peer that this
/// party still computes.
pub(super) const SIGN_OF_LIFE: [u8; FRAME_HEADER_BYTES] = [0xff, 0, 0, 0, 0];

/// If a peer sends only keep-alive frames for this time, the connection is given up.
pub(super) const PATIENCE: Duration = Duration::from_secs(3600);

/// Buffered output is flushed when it is this long.
const OUT_BYTES: usize = 64 << 10;

/// The peer must deliver at least this many bytes before each deadline of the stream.
const PACE_BYTES: usize = 64 << 10;

/// A duplex byte stream: a TLS connection, or a pipe within the process.
pub trait Stream: Read + Write + Send {
    /// Restarts the deadline: the peer has the stream's timeout for all reads and writes until the next call;
    /// after that they return an error of kind [`std::io::ErrorKind::TimedOut`].
    fn rearm(&mut self) {}

    /// Changes the timeout of the peer; a stream without deadlines has none.
    fn set_timeout(&mut self, _timeout: Duration) {}

    /// Writes `head` and then `body`, with no other bytes between them.
    ///
    /// # Errors
    /// If the stream fails or the deadline passes.
    fn write_frame(&mut self, head: &[u8], body: &[u8]) -> io::Result<()> {
        self.write_all(head)?;
        self.write_all(body)
    }
}

/// The message of a peer that does not want to begin: its reason as text.
pub(super) const REFUSAL: Tag = Tag(254);

/// The longest reason of a refusal.
pub(super) const MAX_REFUSAL_BYTES: usize = 2048;

/// Makes a peer's text safe for a terminal and a log: one line, without characters that move the cursor or
/// change the writing direction.
fn printable(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || c.is_ascii_punctuation() || c == ' ';
    text.chars().map(|c| if is_plain(c) { c } else { '?' }).collect()
}

/// The messages of a party that carry its input, or give the peer its outputs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Departures {
    /// The messages that carry this party's input, or a part of the input.
    pub input: &'static [Tag],
    /// Once the first of these messages has left, the peer may have its outputs.
    pub outputs: &'static [Tag],
}

/// The kinds of a program's messages that have left this party.
#[derive(Clone, Copy, Default)]
pub(super) struct Departed {
    pub input: bool,
    pub outputs: bool,
}

/// A stream that carries frames.
pub(super) struct Framed {
    stream: Box<dyn Stream>,
    out: Vec<u8>,
    /// True if the stream may hold messages that have not been sent to the peer.
    unflushed: bool,
    departures: Departures,
    /// The kinds of messages in the buffer, which leave with the next write.
    waiting: Departed,
    /// The kinds of messages of which some bytes may have left.
    pub departed: Departed,
    pub sent: u64,
    pub received: u64,
    /// The time for which keep-alive frames alone are accepted.
    pub patience: Duration,
}

/// The buffer is erased, because connections within a party carry secrets.
impl Drop for Framed {
    fn drop(&mut self) {
        self.out.zeroize();
    }
}

impl Framed {
    pub fn new(stream: Box<dyn Stream>) -> Self {
        Framed {
            stream,
            out: Vec::new(),
            unflushed: false,
            departures: Departures::default(),
            waiting: Departed::default(),
            departed: Departed::default(),
            sent: 0,
            received: 0,
            patience: PATIENCE,
        }
    }

    pub fn set_timeout(&mut self, timeout: Duration) {
        self.stream.set_timeout(timeout);
    }

    /// Starts to watch for these messages, none of which has left.
    pub fn look_for(&mut self, departures: Departures) {
        self.departures = departures;
        self.waiting = Departed::default();
        self.departed = Departed::default();
    }

    /// Writes the waiting frames, and `body` after them.
    fn write(&mut self, body: &[u8]) -> io::Result<()> {
        self.unflushed = true;
        self.departed = self.waiting;
        self.stream.write_frame(&self.out, body)?;
        self.out.clear();
        Ok(())
    }

    pub fn send(&mut self, tag: Tag, payload: &[u8]) -> Result<(), Error> {
        self.waiting.input |= self.departures.input.contains(&tag);
        self.waiting.outputs |= self.departures.outputs.contains(&tag);
        let mut rest = payload;
        loop {
            let (frame, tail) = rest.split_at(rest.len().min(MAX_FRAME_BYTES));
            let mut header = [tag.0, 0, 0, 0, 0];
            header[1..].copy_from_slice(&(frame.len() as u32).to_le_bytes());
            self.out.extend_from_slice(&header);
            self.sent += (FRAME_HEADER_BYTES + frame.len()) as u64;
            if self.out.len() + frame.len() > OUT_BYTES {
                self.stream.rearm();
                self.write(frame)?;
            } else {
                self.out.extend_from_slice(frame);
            }
            rest = tail;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    /// Sends buffered bytes. If no message waits, nothing is written. So an undelivered keep-alive frame to a
    /// peer that has left is no error in a completed run.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.stream.rearm();
        if !self.out.is_empty() {
            self.write(&[])?;
        }
        if self.unflushed {
            self.stream.flush()?;
            self.unflushed = false;
        }
        Ok(())
    }

    pub fn receive_into(&mut self, tag: Tag, payload: &mut [u8]) -> Result<(), Error> {
        let mut rest = payload;
        loop {
            let length = rest.len().min(MAX_FRAME_BYTES);
            let (frame, tail) = rest.split_at_mut(length);
            if self.header(tag)? != frame.len() {
                return Err(Malformed::UnexpectedMessage.into());
            }
            self.body(frame)?;
            rest = tail;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    pub fn receive_up_to(&mut self, tag: Tag, limit: usize) -> Result<Vec<u8>, Error> {
        let length = self.header(tag)?;
        if length > limit.min(MAX_FRAME_BYTES) {
            return Err(Malformed::UnexpectedMessage.into());
        }
        let mut payload = vec![0; length];
        self.body(&mut payload)?;
        Ok(payload)
    }

    /// Does the same as [`Framed::receive_into`], but the peer's first frame may be a refusal. Later frames
    /// may not.
    pub fn receive_unless_refused(&mut self, tag: Tag, payload: &mut [u8]) -> Result<(), Error> {
        let is_first = self.received == 0;
        let (next, length) = self.next()?;
        if is_first && next == REFUSAL && length <= MAX_REFUSAL_BYTES {
            let mut why = vec![0; length];
            self.body(&mut why)?;
            return Err(Error::Refused(printable(&String::from_utf8_lossy(&why))));
        }
        if next != tag || length != payload.len() {
            return Err(Malformed::UnexpectedMessage.into());
        }
        self.body(payload)
    }

    /// Reads the length of the next frame, which must have this tag.
    fn header(&mut self, tag: Tag) -> Result<usize, Error> {
        let (next, length) = self.next()?;
        if next == tag { Ok(length) } else { Err(Malformed::UnexpectedMessage.into()) }
    }

    /// Fills a buffer. An end of the stream without a closing message counts as a broken connection.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.stream.read_exact(buffer).map_err(|why| match why.kind() {
            io::ErrorKind::UnexpectedEof if why.get_ref().is_none() => io::Error::new(
                io::ErrorKind::ConnectionReset,
                "the connection ended without a closing message",
            ),
            _ => why,
        })
    }

    /// Reads the tag and the length of the next frame.
    fn next(&mut self) -> Result<(Tag, usize), Error> {
        let start = Instant::now();
        let mut header = [0; FRAME_HEADER_BYTES];
        loop {
            self.stream.rearm();
            self.read(&mut header)?;
            if header != SIGN_OF_LIFE {
                break;
            }
            if start.elapsed() > self.patience {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the peer keeps the connection open but sends no data",
                )
                .into());
            }
        }
        self.received += FRAME_HEADER_BYTES as u64;
        let [tag, length @ ..] = header;
        Ok((Tag(tag), u32::from_le_bytes(length) as usize))
    }

    /// Reads a payload. The deadline applies to each part of it, so a slow connection is allowed, but not
    /// single bytes at long intervals.
    fn body(&mut self, payload: &mut [u8]) -> Result<(), Error> {
        for part in payload.chunks_mut(PACE_BYTES) {
            self.stream.rearm();
            self.read(part)?;
        }
        self.received += payload.len() as u64;
        Ok(())
    }
}
