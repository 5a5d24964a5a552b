//! A channel over a line of the caller's: anything that reads, and anything that writes.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::{Channel, Stream};

/// Frames that wait to be written: more than the parties ever send each other before they listen.
const FRAMES: usize = 1024;

/// How long a channel that is dropped waits until its last messages are written.
const PATIENCE: Duration = Duration::from_secs(10);

/// Both halves of a line. A thread writes, so that two parties that both write never block each other.
struct Own<R> {
    reader: R,
    /// Until it is dropped.
    frames: Option<SyncSender<Zeroizing<Vec<u8>>>>,
    /// Tells when all is written, or why it is not.
    written: Receiver<io::Result<()>>,
}

/// Makes a channel over a reader and a writer that are connected to the peer's. The line must be private and
/// authenticated by itself. Both halves are dropped with the channel, as soon as its messages are written.
pub fn over(reader: impl Read + Send + 'static, writer: impl Write + Send + 'static) -> Channel {
    let (frames, to_write) = sync_channel(FRAMES);
    let (tell, written) = channel();
    thread::spawn(move || {
        let written = write_behind(writer, &to_write);
        // Frames that come from now on are refused.
        drop(to_write);
        let _ = tell.send(written);
    });
    Channel::new(vec![Box::new(Own { reader, frames: Some(frames), written })])
}

fn write_behind(mut writer: impl Write, frames: &Receiver<Zeroizing<Vec<u8>>>) -> io::Result<()> {
    while let Ok(frame) = frames.recv() {
        writer.write_all(&frame)?;
        // An empty frame asks to flush.
        if frame.is_empty() {
            writer.flush()?;
        }
    }
    writer.flush()
}

impl<R> Own<R> {
    fn send(&self, frame: Vec<u8>) -> io::Result<()> {
        let sent = self.frames.as_ref().map(|frames| frames.send(Zeroizing::new(frame)));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => match self.written.try_recv() {
                Ok(Err(why)) => Err(why),
                _ => Err(ErrorKind::BrokenPipe.into()),
            },
        }
    }
}

impl<R> Drop for Own<R> {
    fn drop(&mut self) {
        self.frames = None;
        // Of a peer that takes nothing, the thread ends when the line does.
        let _ = self.written.recv_timeout(PATIENCE);
    }
}

impl<R: Read> Read for Own<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

impl<R> Write for Own<R> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !bytes.is_empty() {
            self.send(bytes.to_vec())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send(Vec::new())
    }
}

impl<R: Read + Send> Stream for Own<R> {}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::net::UnixStream;

    use brickwork_base::Error;

    use super::*;
    use crate::Tag;

    /// Both parties write more than a socket holds before either reads; and a peer that is gone is an error.
    #[test]
    fn both_may_write_first() {
        let (left, right) = UnixStream::pair().unwrap();
        let channel = |socket: UnixStream| over(socket.try_clone().unwrap(), socket);
        let (mut left, mut right) = (channel(left), channel(right));
        let message: Vec<u8> = (0..4 << 20).map(|k: u32| k as u8).collect();
        let talk = |channel: &mut Channel| {
            channel.send(Tag(9), &message).unwrap();
            channel.flush().unwrap();
            assert!(channel.receive(Tag(9), message.len()).unwrap() == message);
        };
        thread::scope(|scope| {
            scope.spawn(|| talk(&mut left));
            talk(&mut right);
        });
        drop(left);
        assert!(matches!(right.receive(Tag(9), 1), Err(Error::Io(_))));
    }
}
