//! A channel over the caller's connection: any reader and any writer.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use zeroize::Zeroizing;

use brickwork_base::Error;

use crate::{Channel, Stream};

/// The largest number of pieces in the queue of the writing thread. They have 64 MiB, which is more than a
/// party ever sends before it reads.
const PIECES: usize = 1024;

/// Bytes of a piece.
const PIECE_BYTES: usize = 64 << 10;

/// The time for which a dropped channel waits until its last messages are written.
const PATIENCE: Duration = Duration::from_secs(10);

/// Both directions of a connection. A separate thread writes, so two parties that write at the same time
/// never block each other.
struct Own<R> {
    reader: R,
    /// The queue of the writing thread; `None` while the channel is being dropped.
    pieces: Option<SyncSender<Zeroizing<Vec<u8>>>>,
    /// Receives a message when everything is written, or the error.
    written: Receiver<io::Result<()>>,
}

/// Makes a channel over a reader and a writer that are connected to the peer's. The connection must be
/// private and authenticated. Both halves are dropped with the channel, as soon as its messages are written.
///
/// A reader that never returns blocks the run forever, so the caller must limit each read, for example by a
/// timeout of the socket.
///
/// # Errors
/// [`Error::Resource`] if the system gives no thread.
pub fn over(
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
) -> Result<Channel, Error> {
    let (pieces, to_write) = sync_channel(PIECES);
    let (tell, written) = channel();
    let write = move || {
        let written = write_behind(writer, &to_write);
        // The thread gets no further pieces.
        drop(to_write);
        let _ = tell.send(written);
    };
    thread::Builder::new().spawn(write).map_err(|e| {
        Error::Resource(format!("the operating system started no thread for the connection: {e}"))
    })?;
    Ok(Channel::new(vec![Box::new(Own { reader, pieces: Some(pieces), written })]))
}

fn write_behind(mut writer: impl Write, pieces: &Receiver<Zeroizing<Vec<u8>>>) -> io::Result<()> {
    while let Ok(piece) = pieces.recv() {
        writer.write_all(&piece)?;
        // An empty piece requests a flush.
        if piece.is_empty() {
            writer.flush()?;
        }
    }
    writer.flush()
}

impl<R> Own<R> {
    fn send(&self, piece: Vec<u8>) -> io::Result<()> {
        let sent = self.pieces.as_ref().map(|pieces| pieces.send(Zeroizing::new(piece)));
        match sent {
            Some(Ok(())) => Ok(()),
            // The thread has ended, and has sent the reason before.
            _ => match self.written.recv() {
                Ok(Err(why)) => Err(why),
                _ => Err(ErrorKind::BrokenPipe.into()),
            },
        }
    }
}

impl<R> Drop for Own<R> {
    fn drop(&mut self) {
        self.pieces = None;
        // If the peer reads nothing, the thread ends when the connection ends.
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
        let piece = &bytes[..bytes.len().min(PIECE_BYTES)];
        if !piece.is_empty() {
            self.send(piece.to_vec())?;
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send(Vec::new())
    }
}

impl<R: Read + Send> Stream for Own<R> {}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::Tag;

    /// Each party writes more than a socket buffers, before either reads. If the peer has gone away, a party
    /// gets an error.
    #[test]
    fn both_may_write_first() {
        let (left, right) = UnixStream::pair().unwrap();
        let channel = |socket: UnixStream| over(socket.try_clone().unwrap(), socket).unwrap();
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

    /// An error of the writer is returned by the next call that sends a message.
    #[test]
    fn errors_of_a_writer_are_told() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut channel = over(io::empty(), Full).unwrap();
        let told =
            (0..10_000).find_map(|_| channel.send(Tag(9), &[0; 100]).and_then(|()| channel.flush()).err());
        assert!(matches!(told, Some(Error::Io(why)) if why.kind() == ErrorKind::StorageFull));
    }
}
