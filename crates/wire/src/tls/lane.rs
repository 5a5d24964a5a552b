//! One TLS connection as a [`Stream`], with deadlines and keep-alive frames.
//!
//! The socket blocks for at most [`SLICE`]; in between the deadline is checked. A party that computes for a
//! long time sends keep-alive frames twice a second from another thread. So the deadline can be short and
//! still distinguishes a busy peer from one that has gone away.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::{Duration, Instant};

use rustls::{AlertDescription, Connection};

use super::super::frame::{PATIENCE, SIGN_OF_LIFE, Stream};
use brickwork_base::process::Process;
use brickwork_base::stop;

/// The longest time that a call into the socket blocks.
const SLICE: Duration = Duration::from_millis(100);

/// Bytes of ciphertext that are read from the socket at once.
const RAW_BYTES: usize = 256 << 10;

/// The same number during a handshake. It is small, because an unauthenticated peer can use this memory, and
/// there may be many such peers.
const HANDSHAKE_BYTES: usize = 4 << 10;

/// The largest number of bytes of ciphertext that are read while the socket accepts no bytes. It is enough
/// for two parties that both send before they read. (The system's own buffers are smaller, and their size is
/// not known.)
pub(super) const AHEAD_BYTES: usize = 16 << 20;

/// Bytes of plaintext that rustls may hold in encrypted form before they go to the socket: sixteen full
/// records.
const BUFFER_BYTES: usize = 256 << 10;

/// A party that has sent nothing for this time sends a keep-alive frame.
const LIFE_PERIOD: Duration = Duration::from_millis(500);

/// The time for which a closing party waits for the other to close too. Closing a socket with unread bytes
/// resets the connection, and the peer could lose our last message.
const LINGER: Duration = Duration::from_secs(1);

/// One TLS connection.
pub(super) struct TlsLane {
    link: Arc<Link>,
    /// Ciphertext that was read and not processed yet is in `raw[start..end]`.
    raw: Vec<u8>,
    start: usize,
    end: usize,
    timeout: Duration,
    deadline: Instant,
    /// The time when the lanes of this channel stop waiting for the peer to close; the first dropped lane
    /// sets it.
    linger: Arc<OnceLock<Instant>>,
    /// As long as this exists, a thread sends keep-alive frames.
    alive: Option<Sender<()>>,
    /// The process that made the connection. In a fork, the next record would have the same key and number as
    /// a record of this process.
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
        // A poisoned lock means that a thread panicked inside rustls, so the state of the connection is
        // unknown. But every record is authenticated, so the worst consequence is an error.
        self.tls.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl TlsLane {
    /// Runs the handshake on a new connection; it must end within `timeout`.
    pub fn handshake(socket: TcpStream, connection: Connection, timeout: Duration) -> io::Result<Self> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(SLICE))?;
        socket.set_write_timeout(Some(SLICE))?;
        let mut connection = connection;
        connection.set_buffer_limit(Some(BUFFER_BYTES));
        let tls = Mutex::new(Tls { connection, last_write: Instant::now(), closed: false });
        let mut lane = TlsLane {
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

    /// Returns a value that only the two ends of this connection can compute.
    pub fn session(&self) -> io::Result<[u8; 32]> {
        let tls = self.link.tls();
        tls.connection.export_keying_material([0; 32], b"EXPORTER-brickwork-session", None).map_err(tls_error)
    }

    /// Joins these connections as the lanes of one channel.
    pub fn join(mut lanes: Vec<TlsLane>) -> io::Result<Vec<Box<dyn Stream>>> {
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

    /// Returns an error in a fork of the process that made the connection.
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
                return Err(io::Error::new(
                    ErrorKind::TimedOut,
                    "the peer sends no data, or sends too slowly",
                ));
            }
            stop::check()?;
            match (&self.link.socket).read(&mut self.raw) {
                Ok(0) => {
                    return Err(io::Error::new(
                        ErrorKind::ConnectionReset,
                        "the connection to the peer broke",
                    ));
                }
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
                // The alert tells an honest peer with a wrong key the cause. If the alert cannot be sent, the
                // error stays the same.
                let _ = tls.connection.write_tls(&mut &self.link.socket);
                Err(tls_error(e))
            }
        }
    }

    /// Writes all ciphertext to the socket. While the socket accepts nothing, the peer may be busy; then its
    /// keep-alive frames are read and extend the deadline. The peer may also be writing and waiting for this
    /// party to read. Therefore incoming bytes are read, up to [`AHEAD_BYTES`].
    fn drain(&mut self, tls: &mut Tls) -> io::Result<()> {
        self.here()?;
        let start = Instant::now();
        while tls.connection.wants_write() {
            if Instant::now() >= self.deadline {
                return Err(io::Error::new(
                    ErrorKind::TimedOut,
                    "the peer receives no data, or receives too slowly",
                ));
            }
            match tls.connection.write_tls(&mut &self.link.socket) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                // A party that sends and never has to wait must also check for a stop request.
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
                        // There was no room for more bytes, or the peer has closed its side: neither is
                        // progress.
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

impl Read for TlsLane {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // This check comes before the decryption, because rustls answers malformed bytes with a record.
        self.here()?;
        let link = self.link.clone();
        loop {
            let mut tls = link.tls();
            match tls.connection.reader().read(buffer) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                // The peer has closed the connection in order. That is too early, because the protocol
                // decides when the run is over.
                Ok(0) if !buffer.is_empty() => {
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, "the peer closed the connection"));
                }
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

impl Write for TlsLane {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.write_frame(&[], buffer)?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let link = self.link.clone();
        self.drain(&mut link.tls())
    }
}

impl Stream for TlsLane {
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
        // The lock is held for head and body together, so that no keep-alive frame comes between them.
        let mut tls = link.tls();
        self.write_part(&mut tls, head)?;
        self.write_part(&mut tls, body)
    }
}

impl Drop for TlsLane {
    /// Closes the connection in the same way after success and after every kind of error. A fork does not
    /// close it, because the original process still uses it.
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

/// Sends a keep-alive frame on every lane on which nothing was sent recently.
fn give_signs_of_life(links: &[Weak<Link>], ended: &Receiver<()>) {
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LIFE_PERIOD) {
        for link in links.iter().filter_map(Weak::upgrade) {
            // If the lock of a lane is taken, the lane is in use and needs no keep-alive frame.
            let Ok(mut tls) = link.tls.try_lock() else { continue };
            if tls.closed || tls.last_write.elapsed() < LIFE_PERIOD {
                continue;
            }
            // Bytes that the socket does not accept stay in the buffer, and nothing is added to it. So a peer
            // that does not read cannot make it grow. The lane's user notices a failure.
            if tls.connection.wants_write() || tls.connection.writer().write_all(&SIGN_OF_LIFE).is_ok() {
                let _ = tls.connection.write_tls(&mut &link.socket);
            }
        }
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Converts a TLS error into an error with a meaning for the user.
fn tls_error(error: rustls::Error) -> io::Error {
    match error {
        rustls::Error::InvalidCertificate(_) => {
            io::Error::new(ErrorKind::PermissionDenied, "the peer has another key than this party expects")
        }
        rustls::Error::AlertReceived(AlertDescription::AccessDenied) => {
            io::Error::new(ErrorKind::PermissionDenied, "the peer expects another key than this party has")
        }
        other => io::Error::new(ErrorKind::InvalidData, other),
    }
}
