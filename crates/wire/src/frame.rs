//! Frames on one byte stream: a tag, a length, and at most [`MAX_FRAME_BYTES`] of payload.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use zeroize::Zeroize as _;

use brickwork_base::{Error, Malformed};

/// The kind of message in a frame. One tag for each message of the protocol, so that a message out of its
/// place is seen. The values 254 and 255 are taken: a refusal and a sign of life, which never reach the
/// protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Tag(pub u8);

/// Bytes of a frame's header: the tag and the length of what follows, little endian.
pub const FRAME_HEADER_BYTES: usize = 5;

/// Longest payload of one frame. Longer messages travel as several frames.
pub const MAX_FRAME_BYTES: usize = 1 << 20;

/// The sign of life that an idle party sends so that the peer can tell "computing" from "gone": an empty
/// frame of a tag of its own.
pub(super) const SIGN_OF_LIFE: [u8; FRAME_HEADER_BYTES] = [0xff, 0, 0, 0, 0];

/// A peer that only gives signs of life is given up after this time.
pub(super) const PATIENCE: Duration = Duration::from_secs(3600);

/// Buffered output is flushed once it is this long.
const OUT_BYTES: usize = 64 << 10;

/// The peer must deliver at least this much in each period of the stream's deadline.
const PACE_BYTES: usize = 64 << 10;

/// A duplex byte stream: a TLS connection, or a pipe within the process.
pub trait Stream: Read + Write + Send {
    /// Starts the deadline anew: from now on the peer has the stream's timeout for whatever is read or
    /// written until the next call; then an error of kind [`std::io::ErrorKind::TimedOut`] follows.
    fn rearm(&mut self) {}

    /// Gives the peer another timeout from now on; a stream without deadlines has none.
    fn set_timeout(&mut self, _timeout: Duration) {}

    /// Writes `head` and then `body` with nothing in between.
    ///
    /// # Errors
    /// If the stream fails or the deadline passes.
    fn write_frame(&mut self, head: &[u8], body: &[u8]) -> io::Result<()> {
        self.write_all(head)?;
        self.write_all(body)
    }
}

/// The message of a peer that does not want to begin: its reason, as text.
pub(super) const REFUSAL: Tag = Tag(254);

/// Longest reason.
pub(super) const MAX_REFUSAL_BYTES: usize = 2048;

/// A peer's words as they may stand on a terminal and in a log: on one line, and nothing that moves a cursor
/// or turns the direction of writing.
fn printable(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || c.is_ascii_punctuation() || c == ' ';
    text.chars().map(|c| if is_plain(c) { c } else { '?' }).collect()
}

/// A stream with frames on it.
pub(super) struct Framed {
    stream: Box<dyn Stream>,
    out: Vec<u8>,
    /// Says that the stream may hold messages that the peer has not got.
    unflushed: bool,
    pub sent: u64,
    pub received: u64,
    /// How long signs of life alone are taken.
    pub patience: Duration,
}

/// On a line within a party secrets have lain in it.
impl Drop for Framed {
    fn drop(&mut self) {
        self.out.zeroize();
    }
}

impl Framed {
    pub fn new(stream: Box<dyn Stream>) -> Self {
        Framed { stream, out: Vec::new(), unflushed: false, sent: 0, received: 0, patience: PATIENCE }
    }

    pub fn set_timeout(&mut self, timeout: Duration) {
        self.stream.set_timeout(timeout);
    }

    pub fn send(&mut self, tag: Tag, payload: &[u8]) -> Result<(), Error> {
        let mut rest = payload;
        loop {
            let (frame, tail) = rest.split_at(rest.len().min(MAX_FRAME_BYTES));
            let mut header = [tag.0, 0, 0, 0, 0];
            header[1..].copy_from_slice(&(frame.len() as u32).to_le_bytes());
            self.out.extend_from_slice(&header);
            self.sent += (FRAME_HEADER_BYTES + frame.len()) as u64;
            if self.out.len() + frame.len() > OUT_BYTES {
                self.stream.rearm();
                self.unflushed = true;
                self.stream.write_frame(&self.out, frame)?;
                self.out.clear();
            } else {
                self.out.extend_from_slice(frame);
            }
            rest = tail;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    /// Sends what waits. Where no message does, nothing is written: a sign of life that the peer did not stay
    /// for is no error of a run that has sent all it had to.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.stream.rearm();
        if !self.out.is_empty() {
            self.unflushed = true;
            self.stream.write_frame(&self.out, &[])?;
            self.out.clear();
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

    /// Does what [`Framed::receive_into`] does, if the peer has not refused to begin: with its first frame,
    /// and with no later one.
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

    /// The length of the next frame, which must carry `tag`.
    fn header(&mut self, tag: Tag) -> Result<usize, Error> {
        let (next, length) = self.next()?;
        if next == tag { Ok(length) } else { Err(Malformed::UnexpectedMessage.into()) }
    }

    /// The tag and the length of the next frame.
    fn next(&mut self) -> Result<(Tag, usize), Error> {
        let start = Instant::now();
        let mut header = [0; FRAME_HEADER_BYTES];
        loop {
            self.stream.rearm();
            self.stream.read_exact(&mut header)?;
            if header != SIGN_OF_LIFE {
                break;
            }
            if start.elapsed() > self.patience {
                return Err(
                    io::Error::new(io::ErrorKind::TimedOut, "the peer is there but sends nothing").into()
                );
            }
        }
        self.received += FRAME_HEADER_BYTES as u64;
        let [tag, length @ ..] = header;
        Ok((Tag(tag), u32::from_le_bytes(length) as usize))
    }

    /// The deadline holds for each part, so that a slow line is fine and a peer that trickles is not.
    fn body(&mut self, payload: &mut [u8]) -> Result<(), Error> {
        for part in payload.chunks_mut(PACE_BYTES) {
            self.stream.rearm();
            self.stream.read_exact(part)?;
        }
        self.received += payload.len() as u64;
        Ok(())
    }
}
