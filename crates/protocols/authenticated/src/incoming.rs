//! Receives a long message without holding all of it.

use brickwork_base::Error;
use brickwork_wire::{Channel, MAX_FRAME_BYTES, Tag};

/// A message of known length that is received frame by frame.
pub(super) struct Incoming {
    tag: Tag,
    /// The number of bytes of the message that have not arrived yet.
    left: usize,
    frame: Vec<u8>,
    /// The number of bytes of the current frame that have been read.
    read: usize,
}

impl Incoming {
    /// Begins to receive a message of this many bytes.
    pub fn new(tag: Tag, left: usize) -> Self {
        Incoming { tag, left, frame: Vec::new(), read: 0 }
    }

    /// Reads the next bytes of the message.
    ///
    /// # Errors
    /// As [`Channel::receive_into`].
    pub fn next<const N: usize>(&mut self, channel: &mut Channel) -> Result<[u8; N], Error> {
        let (mut bytes, mut done) = ([0; N], 0);
        while done < N {
            if self.read == self.frame.len() {
                let next = self.left.min(MAX_FRAME_BYTES);
                (self.left, self.read) = (self.left - next, 0);
                self.frame.resize(next, 0);
                channel.receive_into(self.tag, &mut self.frame)?;
            }
            let here = (N - done).min(self.frame.len() - self.read);
            bytes[done..done + here].copy_from_slice(&self.frame[self.read..self.read + here]);
            (self.read, done) = (self.read + here, done + here);
        }
        Ok(bytes)
    }

    /// Receives the frame of a message without bytes, if it has not been received yet.
    ///
    /// # Errors
    /// As [`Channel::receive_into`].
    pub fn end(self, channel: &mut Channel) -> Result<(), Error> {
        if self.frame.is_empty() { channel.receive_into(self.tag, &mut []) } else { Ok(()) }
    }
}
