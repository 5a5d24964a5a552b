//! Two parties in one process: a pair of connected streams.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::{Channel, Stream};

/// How long a read waits before it gives up: a protocol error in a test should fail it, not hang it.
const DEADLINE: Duration = Duration::from_secs(60);

struct Pipe {
    to: Sender<Vec<u8>>,
    from: Receiver<Vec<u8>>,
    current: Vec<u8>,
    position: usize,
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.position == self.current.len() {
            match self.from.recv_timeout(DEADLINE) {
                Ok(next) => {
                    self.current = next;
                    self.position = 0;
                }
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        let n = buffer.len().min(self.current.len() - self.position);
        buffer[..n].copy_from_slice(&self.current[self.position..self.position + n]);
        self.position += n;
        Ok(n)
    }
}

impl Write for Pipe {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if !buffer.is_empty() {
            self.to.send(buffer.to_vec()).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Pipe {}

pub(super) fn pipes() -> (Box<dyn Stream>, Box<dyn Stream>) {
    let (a, b) = (channel(), channel());
    let left = Pipe { to: a.0, from: b.1, current: Vec::new(), position: 0 };
    let right = Pipe { to: b.0, from: a.1, current: Vec::new(), position: 0 };
    (Box::new(left), Box::new(right))
}

/// The two ends of a channel within the process.
pub fn memory_pair() -> (Channel, Channel) {
    memory_lanes(1)
}

/// The two ends of a channel of this many lanes within the process.
///
/// # Panics
/// If `lanes` is 0.
pub fn memory_lanes(lanes: usize) -> (Channel, Channel) {
    let (left, right) = (0..lanes).map(|_| pipes()).unzip();
    (Channel::new(left), Channel::new(right))
}
