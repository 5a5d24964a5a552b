//! One TLS connection as a [`Stream`], with deadlines and signs of life.
//!
//! The socket blocks for [`SLICE`] at most; in between the deadline is checked. A party that computes for
//! long sends a sign of life twice a second from a thread of its own, so a deadline can be short and still
//! tell a busy peer from one that is gone.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant};

use rustls::{AlertDescription, Connection};

use super::super::frame::{PATIENCE, SIGN_OF_LIFE, Stream};
use brickwork_base::process::Process;
use brickwork_base::stop;

/// Longest time that a call into the socket blocks.
const SLICE: Duration = Duration::from_millis(100);

/// Ciphertext read from the socket at once.
const RAW_BYTES: usize = 256 << 10;

/// The same during a handshake: strangers get this far, and there may be many.
const HANDSHAKE_BYTES: usize = 4 << 10;

/// Ciphertext that is read, at most, while the socket takes nothing: what parties may send each other before
/// either reads. (The system's own buffers are smaller, and how large is its own business.)
pub(super) const AHEAD_BYTES: usize = 16 << 20;

/// Plaintext that rustls may hold encrypted before it goes to the socket: sixteen full records.
const BUFFER_BYTES: usize = 256 << 10;

/// A party that has sent nothing for this long gives a sign of life.
const LIFE_PERIOD: Duration = Duration::from_millis(500);

/// How long a closing party waits for the other to close too. Closing a socket with unread bytes in it resets
/// the connection, and the peer could lose our last message.
const LINGER: Duration = Duration::from_secs(1);

/// One TLS connection.
pub(super) struct Lane {
    link: Arc<Link>,
    /// Ciphertext that was read and not processed yet: `raw[start..end]`.
    raw: Vec<u8>,
    start: usize,
    end: usize,
    timeout: Duration,
    deadline: Instant,
    /// When the lanes of this channel stop waiting for the peer to close; set by the first that is dropped.
    linger: Arc<OnceLock<Instant>>,
    /// Keeps the thread that gives signs of life; it ends when this is dropped.
    alive: Option<Sender<()>>,
    /// The process that it belongs to: in a fork the next record would have the key and the number of one
    /// that this party sends.
    process: Process,
}

struct Link {
    socket: TcpStream,
    tls: Mutex<Tls>,
}

struct Tls {
    connection: Connection,
    last_write: Instant,
    closed: bool,
}

impl Link {
    fn tls(&self) -> MutexGuard<'_, Tls> {
        // A poisoned lock means that a thread died inside rustls; the connection is then in an unknown state,
        // but every record is authenticated, so the worst that follows is an error.
        self.tls.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Lane {
    /// Runs the handshake on a fresh connection; it must end within `timeout`.
    pub fn handshake(socket: TcpStream, connection: Connection, timeout: Duration) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(SLICE))?;
        socket.set_write_timeout(Some(SLICE))?;
        let mut connection = connection;
        connection.set_buffer_limit(Some(BUFFER_BYTES));
        let tls = Mutex::new(Tls { connection, last_write: Instant::now(), closed: false });
        let mut lane = Lane {
            link: Arc::new(Link { socket, tls }),
            raw: vec![0; HANDSHAKE_BYTES],
            start: 0,
            end: 0,
            timeout,
            deadline: Instant::now() + timeout,
            linger: Arc::default(),
            alive: None,
            process: Process::here(),
        };
        loop {
            lane.flush()?;
            let link = lane.link.clone();
            let mut tls = link.tls();
            if !tls.connection.is_handshaking() {
                return Ok(lane);
            }
            if lane.start == lane.end {
                drop(tls);
                lane.fill()?;
            } else {
                lane.process(&mut tls)?;
            }
        }
    }

    /// Returns a value that both ends of this very connection, and nobody else, can compute.
    pub fn session(&self) -> io::Result<[u8; 32]> {
        let tls = self.link.tls();
        tls.connection.export_keying_material([0; 32], b"EXPORTER-brickwork-session", None).map_err(tls_error)
    }

    /// Makes these connections the lanes of one channel.
    pub fn join(mut lanes: Vec<Lane>) -> io::Result<Vec<Box<dyn Stream>>> {
        let links: Vec<_> = lanes.iter().map(|lane| Arc::downgrade(&lane.link)).collect();
        let (alive, ended) = channel();
        std::thread::Builder::new()
            .name("signs of life".into())
            .spawn(move || give_signs_of_life(&links, &ended))?;
        let linger = Arc::<OnceLock<Instant>>::default();
        for lane in &mut lanes {
            lane.raw.resize(RAW_BYTES, 0);
            lane.alive = Some(alive.clone());
            lane.linger = linger.clone();
        }
        Ok(lanes.into_iter().map(|lane| Box::new(lane) as Box<dyn Stream>).collect())
    }

    /// Refuses in a fork of the process that made the connection.
    fn here(&self) -> io::Result<()> {
        self.process.check().map_err(|e| io::Error::new(ErrorKind::PermissionDenied, e))
    }

    /// Reads ciphertext from the socket; at least one byte, or an error.
    fn fill(&mut self) -> io::Result<()> {
        self.here()?;
        if self.raw.len() > RAW_BYTES {
            self.raw = vec![0; RAW_BYTES];
        }
        loop {
            if Instant::now() >= self.deadline {
                return Err(io::Error::new(ErrorKind::TimedOut, "the peer sends nothing, or too slowly"));
            }
            stop::check()?;
            match (&self.link.socket).read(&mut self.raw) {
                Ok(0) => return Err(closed()),
                Ok(n) => {
                    (self.start, self.end) = (0, n);
                    return Ok(());
                }
                Err(e) if is_pause(&e) => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Decrypts some of the ciphertext that was read.
    fn process(&mut self, tls: &mut Tls) -> io::Result<()> {
        let mut rest = &self.raw[self.start..self.end];
        let n = tls.connection.read_tls(&mut rest)?;
        self.start += n;
        match tls.connection.process_new_packets() {
            Ok(_) if n == 0 => {
                Err(io::Error::new(ErrorKind::InvalidData, "the peer sent a malformed TLS record"))
            }
            Ok(_) => Ok(()),
            Err(e) => {
                // The alert tells an honest peer with a wrong key what is wrong. It may fail: the error is
                // the same.
                let _ = tls.connection.write_tls(&mut &self.link.socket);
                Err(tls_error(e))
            }
        }
    }

    /// Hands all ciphertext to the socket. While the socket takes nothing, the peer may be busy; its signs of
    /// life show it, so they are read and give it more time. Or it is writing, too, and waits for this party
    /// to read: so whatever comes is read, up to [`AHEAD_BYTES`].
    fn drain(&mut self, tls: &mut Tls) -> io::Result<()> {
        self.here()?;
        let start = Instant::now();
        while tls.connection.wants_write() {
            if Instant::now() >= self.deadline {
                return Err(io::Error::new(ErrorKind::TimedOut, "the peer takes nothing, or too slowly"));
            }
            match tls.connection.write_tls(&mut &self.link.socket) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                // A party that sends without end never waits, but stops.
                Ok(_) => stop::check()?,
                Err(e) if is_pause(&e) => {
                    stop::check()?;
                    if self.start == self.end {
                        (self.start, self.end) = (0, 0);
                    }
                    if self.end == self.raw.len() {
                        self.raw.resize((2 * self.end).min(AHEAD_BYTES), 0);
                    }
                    match (&self.link.socket).read(&mut self.raw[self.end..]) {
                        // No room, or the peer has closed its side: neither is progress.
                        Ok(0) => {}
                        Ok(n) => {
                            self.end += n;
                            self.deadline =
                                self.deadline.max((Instant::now() + self.timeout).min(start + PATIENCE));
                        }
                        Err(e) if is_pause(&e) => {}
                        Err(e) => return Err(e),
                    }
                }
                Err(e) => return Err(e),
            }
        }
        tls.last_write = Instant::now();
        Ok(())
    }

    fn write_part(&mut self, tls: &mut Tls, part: &[u8]) -> io::Result<()> {
        let mut rest = part;
        while !rest.is_empty() {
            let n = tls.connection.writer().write(rest)?;
            rest = &rest[n..];
            if n == 0 {
                self.drain(tls)?;
                self.rearm();
            }
        }
        Ok(())
    }
}

impl Read for Lane {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Before anything that was read is decrypted: what is malformed is answered with a record.
        self.here()?;
        let link = self.link.clone();
        loop {
            let mut tls = link.tls();
            match tls.connection.reader().read(buffer) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                // An orderly end is still too early: the protocol says when it is over.
                Ok(0) if !buffer.is_empty() => return Err(closed()),
                result => return result,
            }
            if self.start == self.end {
                drop(tls);
                self.fill()?;
            } else {
                self.process(&mut tls)?;
            }
        }
    }
}

impl Write for Lane {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.write_frame(&[], buffer)?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let link = self.link.clone();
        self.drain(&mut link.tls())
    }
}

impl Stream for Lane {
    fn rearm(&mut self) {
        self.deadline = Instant::now() + self.timeout;
    }

    fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
        self.rearm();
    }

    fn write_frame(&mut self, head: &[u8], body: &[u8]) -> io::Result<()> {
        self.here()?;
        let link = self.link.clone();
        // Under one lock, so that no sign of life comes between.
        let mut tls = link.tls();
        self.write_part(&mut tls, head)?;
        self.write_part(&mut tls, body)
    }
}

impl Drop for Lane {
    /// Closes the connection in the same way after success and after every kind of error; not in a fork, as
    /// it is not closed where it is used.
    fn drop(&mut self) {
        if !self.process.is_here() {
            return;
        }
        self.alive = None;
        let until = *self.linger.get_or_init(|| Instant::now() + LINGER);
        let link = self.link.clone();
        let mut tls = link.tls();
        tls.closed = true;
        self.deadline = until;
        self.timeout = Duration::ZERO;
        tls.connection.send_close_notify();
        if self.drain(&mut tls).is_err() || link.socket.shutdown(Shutdown::Write).is_err() {
            return;
        }
        while self.fill().is_ok() {}
    }
}

/// Sends a sign of life on every lane on which nothing was sent lately.
fn give_signs_of_life(links: &[Weak<Link>], ended: &Receiver<()>) {
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LIFE_PERIOD) {
        for link in links.iter().filter_map(Weak::upgrade) {
            // A lane whose lock is taken is in use.
            let Ok(mut tls) = link.tls.try_lock() else { continue };
            if tls.closed || tls.last_write.elapsed() < LIFE_PERIOD {
                continue;
            }
            // Bytes that the socket does not take stay in the buffer and nothing is added to it, so a peer
            // that does not read cannot make it grow. A failure is found by the lane's user.
            if tls.connection.wants_write() || tls.connection.writer().write_all(&SIGN_OF_LIFE).is_ok() {
                let _ = tls.connection.write_tls(&mut &link.socket);
            }
        }
    }
}

fn closed() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the peer closed the connection")
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Returns the meaning of a TLS error for the user.
fn tls_error(error: rustls::Error) -> io::Error {
    match error {
        rustls::Error::InvalidCertificate(_) => {
            io::Error::new(ErrorKind::PermissionDenied, "the peer holds another key than the one expected")
        }
        rustls::Error::AlertReceived(AlertDescription::AccessDenied) => {
            io::Error::new(ErrorKind::PermissionDenied, "the peer expects another key than ours")
        }
        other => io::Error::new(ErrorKind::InvalidData, other),
    }
}
