//! Two parties in one process: a pair of connected streams.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use brickwork_base::stop;

use super::{Channel, Stream};

/// The time after which a read fails, so that a protocol error makes a test fail instead of blocking it.
const DEADLINE: Duration = Duration::from_secs(60);

/// The interval at which a waiting read checks for a request to stop.
const SLICE: Duration = Duration::from_millis(50);

/// Bytes, and the length of the chain of messages that led to them.
type Sent = (Vec<u8>, u64);

struct Pipe {
    to: Sender<Sent>,
    from: Receiver<Sent>,
    crossings: Crossings,
    current: Vec<u8>,
    position: usize,
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let until = Instant::now() + DEADLINE;
        while self.position == self.current.len() {
            match self.from.recv_timeout(SLICE) {
                Ok((next, crossings)) => {
                    self.crossings.0.fetch_max(crossings, Ordering::Relaxed);
                    self.current = next;
                    self.position = 0;
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() > until => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Err(RecvTimeoutError::Timeout) => stop::check()?,
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
            let crossings = self.crossings.get() + 1;
            let sent = self.to.send((buffer.to_vec(), crossings));
            sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Pipe {}

/// The length of the longest chain of messages for which one end of a pair has waited: a round trip counts as
/// two.
#[derive(Clone, Default)]
pub struct Crossings(Arc<AtomicU64>);

impl Crossings {
    /// Returns the length since the pair was made or last [reset](Crossings::reset).
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Resets the count, while no message is in transit.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

pub(super) fn pipes() -> (Box<dyn Stream>, Box<dyn Stream>) {
    let (left, right, _) = counting_pipes();
    (left, right)
}

fn counting_pipes() -> (Box<dyn Stream>, Box<dyn Stream>, [Crossings; 2]) {
    let (a, b) = (channel(), channel());
    let crossings = [Crossings::default(), Crossings::default()];
    let [at_left, at_right] = crossings.clone();
    let left = Pipe { to: a.0, from: b.1, crossings: at_left, current: Vec::new(), position: 0 };
    let right = Pipe { to: b.0, from: a.1, crossings: at_right, current: Vec::new(), position: 0 };
    (Box::new(left), Box::new(right), crossings)
}

/// Makes the two ends of a channel within the process.
pub fn memory_pair() -> (Channel, Channel) {
    memory_lanes(1)
}

/// Makes a [`memory_pair`], and counts the crossings for which either end has waited.
pub fn counting_pair() -> (Channel, Channel, [Crossings; 2]) {
    let (left, right, crossings) = counting_pipes();
    (Channel::new(vec![left]), Channel::new(vec![right]), crossings)
}

/// Makes the two ends of a channel of this many lanes within the process.
///
/// # Panics
/// If `lanes` is 0.
pub fn memory_lanes(lanes: usize) -> (Channel, Channel) {
    let (left, right) = (0..lanes).map(|_| pipes()).unzip();
    (Channel::new(left), Channel::new(right))
}
