//! Channels over the network: TCP with TLS 1.3, with both sides authenticated by pinned Ed25519 keys.
//!
//! TLS protects against third parties; the protocol does not rely on it against the peer. One party listens
//! and the other connects, in either role. The first connection becomes the main stream, and its TLS exporter
//! gives a session identifier that only the two parties know. Each further lane is another connection between
//! the same keys. The hello of each further lane has this identifier and the lane's number, so that the lane
//! cannot join another session or replace another lane.
//!
//! ```text
//!      connecting side                                    listening side
//!      hello(version, role, lane 0, lanes wanted), sheet  ─────▶
//!      ◀─────  hello(version, role, lane 0, lanes: the smaller wish), sheet
//!      hello(…, lane i, session)  ─────▶                         for each further lane, all at once
//!      ◀─────  the same, as an acknowledgement
//! ```
//!
//! A *sheet* is a text in which a party describes the run that it is about to begin. So a peer with other
//! plans notices the difference before anything begins. This module does not read sheets; the callers do. The
//! protocol does not rely on sheets, because it compares everything itself.
//!
//! A *visit* is a meeting without a run: one connection, over which both compare their descriptions of the
//! run. The listener continues to wait for the run.

mod identity;
mod lane;
mod lobby;

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use tracing::{debug, warn};

use super::Channel;
use super::frame::Stream;
use brickwork_base::Error;
use brickwork_base::Party;
use brickwork_base::stop;
use lane::TlsLane;
use lobby::{Lobby, Refusals};

pub use identity::{Identity, PublicKey};

/// Largest number of lanes of a channel.
pub const MAX_LANES: u8 = 64;

// The lobby has room for the handshakes of all lanes of a peer at the same time.
const _: () = assert!(lobby::MAX_HANDSHAKES >= MAX_LANES as usize);

/// The version of this module's messages and of frames; the protocols have their own versions.
pub const VERSION: u16 = 1;

/// The lane number of a visit.
const VISIT: u8 = 255;

/// Longest sheet, in bytes.
pub const MAX_SHEET_BYTES: usize = 64 << 10;

/// The interval at which a listener checks for connections, and at which a connecting party tries again.
const POLL: Duration = Duration::from_millis(5);
const RETRY: Duration = Duration::from_millis(100);
/// The longest time that a connecting party waits for one address of a host name before it tries the next
/// one, because packets may be lost.
const TURN: Duration = Duration::from_secs(3);

/// The settings of both kinds of endpoint.
#[derive(Clone, Copy, Debug)]
pub struct EndpointOptions {
    /// This party's role; the peer must have the other one.
    pub party: Party,
    /// The number of lanes that this party wants, 1 to [`MAX_LANES`]; the smaller number of both parties is
    /// used.
    pub lanes: u8,
    /// The time limit for connecting, for a handshake, and for a stalling peer.
    pub timeout: Duration,
}

/// The first bytes on every connection.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Hello {
    version: u16,
    party: Party,
    lane: u8,
    lanes: u8,
    /// The session identifier, on a further lane.
    session: [u8; 32],
}

const HELLO_BYTES: usize = 39;

/// Reads a hello and writes it again. Fuzz targets use it. Returns none if it is malformed.
pub fn hello_again(bytes: [u8; HELLO_BYTES]) -> Option<[u8; HELLO_BYTES]> {
    Hello::from_bytes(bytes).map(Hello::to_bytes)
}

impl Hello {
    fn first(options: &EndpointOptions) -> Hello {
        Hello { version: VERSION, party: options.party, lane: 0, lanes: options.lanes, session: [0; 32] }
    }

    fn visit(options: &EndpointOptions) -> Hello {
        Hello { lane: VISIT, ..Hello::first(options) }
    }

    fn to_bytes(self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        bytes[..2].copy_from_slice(b"BW");
        bytes[2..4].copy_from_slice(&self.version.to_le_bytes());
        bytes[4] = matches!(self.party, Party::Evaluator).into();
        bytes[5] = self.lane;
        bytes[6] = self.lanes;
        bytes[7..].copy_from_slice(&self.session);
        bytes
    }

    /// Reads a hello. It does not check whether the hello fits this party.
    fn from_bytes(bytes: [u8; HELLO_BYTES]) -> Option<Hello> {
        let [b'B', b'W', v0, v1, party @ 0..=1, lane, lanes, session @ ..] = bytes else { return None };
        let party = if party == 1 { Party::Evaluator } else { Party::Garbler };
        Some(Hello { version: u16::from_le_bytes([v0, v1]), party, lane, lanes, session })
    }

    fn send(&self, lane: &mut TlsLane) -> io::Result<()> {
        lane.write_all(&self.to_bytes())?;
        lane.flush()
    }

    /// Sends the hello with a sheet.
    fn send_with(&self, lane: &mut TlsLane, sheet: &[u8]) -> io::Result<()> {
        lane.write_all(&self.to_bytes())?;
        lane.write_all(&(sheet.len() as u32).to_le_bytes())?;
        lane.write_all(sheet)?;
        lane.flush()
    }

    /// Returns whether a sheet follows the hello: only in this version, and only if the hello names no
    /// session.
    fn has_sheet(&self) -> bool {
        self.version == VERSION && [0, VISIT].contains(&self.lane)
    }

    /// Receives the peer's hello.
    fn receive(lane: &mut TlsLane) -> io::Result<Hello> {
        let mut bytes = [0; HELLO_BYTES];
        lane.read_exact(&mut bytes)?;
        Hello::from_bytes(bytes)
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "the peer does not run Brickwork"))
    }

    fn same_version(&self, peer: &Hello) -> Result<(), Error> {
        if self.version == peer.version {
            return Ok(());
        }
        Err(Error::Mismatch(format!(
            "this party has version {} of the transport, but the peer has version {}; install the same \
             release on both sides",
            self.version, peer.version
        )))
    }

    /// Checks that two parties with these hellos can work together.
    fn agree(&self, peer: &Hello) -> Result<(), Error> {
        self.same_version(peer)?;
        if self.party == peer.party {
            let role = if self.party == Party::Garbler { "garbler" } else { "evaluator" };
            return Err(Error::Mismatch(format!(
                "both parties run as the {role}; start one as the garbler and the other as the evaluator"
            )));
        }
        Ok(())
    }
}

/// Receives the sheet that follows a hello.
fn receive_sheet(lane: &mut TlsLane) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    lane.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_SHEET_BYTES {
        return Err(io::Error::new(ErrorKind::InvalidData, "the peer's description of the run is too long"));
    }
    let mut sheet = vec![0; length];
    lane.read_exact(&mut sheet)?;
    Ok(sheet)
}

fn check(identity: &Identity, peer: PublicKey, options: &EndpointOptions) -> Result<(), Error> {
    if identity.public_key() == peer {
        return Err(Error::Usage(
            "the peer's public key is the same as this party's; each party needs its own key (`brickwork \
             keygen` makes one)"
                .into(),
        ));
    }
    if !(1..=MAX_LANES).contains(&options.lanes) {
        return Err(Error::Usage(format!(
            "the number of lanes must be 1 to {MAX_LANES}, not {}",
            options.lanes
        )));
    }
    Ok(())
}

/// An authenticated peer, and its sheet.
pub struct Met {
    /// The connection to the peer.
    pub channel: Channel,
    /// The peer's sheet.
    pub sheet: Vec<u8>,
    /// True if the peer only wants to compare, without a run.
    pub visits: bool,
}

/// Connects to a listening peer at `address` (`host:port`). If the peer does not listen yet, this party tries
/// again until the timeout.
///
/// # Errors
/// [`Error::Io`] if there is no connection in time or the peer has another key, [`Error::Mismatch`] if the
/// peer has another version or the same role, [`Error::Usage`] if an argument is out of its range.
pub fn connect(
    address: &str,
    identity: &Identity,
    peer: PublicKey,
    options: &EndpointOptions,
) -> Result<Channel, Error> {
    meet(address, identity, peer, options, &[]).map(|met| met.channel)
}

/// Does the same as [`connect`], with a sheet that describes the run that this party is about to begin.
///
/// # Errors
/// As [`connect`].
pub fn meet(
    address: &str,
    identity: &Identity,
    peer: PublicKey,
    options: &EndpointOptions,
    sheet: &[u8],
) -> Result<Met, Error> {
    check(identity, peer, options)?;
    let config = identity.client_config(peer)?;
    let mut hello = Hello::first(options);
    let greeting = |lane: &mut TlsLane| exchange(lane, &hello, sheet);
    let Reached { lane: main, at, heard: (answer, theirs) } =
        first_connection(address, &config, options.timeout, greeting)?;
    if !(1..=options.lanes).contains(&answer.lanes) {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            "the peer chose a number of lanes outside of the allowed range",
        )
        .into());
    }
    hello.session = main.session()?;
    hello.lanes = answer.lanes;
    let further = std::thread::scope(|scope| {
        let open = |index| {
            let config = &config;
            scope.spawn(stop::carried(move || {
                further_lane(at, config, options, Hello { lane: index, ..hello })
            }))
        };
        let workers: Vec<_> = (1..answer.lanes).map(open).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| {
            worker.join().unwrap_or_else(|_| Err(ErrorKind::Other.into()))
        };
        workers.into_iter().map(join).collect::<io::Result<Vec<TlsLane>>>()
    })?;
    let lanes = std::iter::once(main).chain(further).collect();
    Ok(Met { channel: Channel::new(TlsLane::join(lanes)?), sheet: theirs, visits: false })
}

/// Visits a listening peer, to compare the descriptions of the run; the peer continues to wait for the real
/// connection.
///
/// # Errors
/// As [`connect`].
pub fn visit(
    address: &str,
    identity: &Identity,
    peer: PublicKey,
    options: &EndpointOptions,
    sheet: &[u8],
) -> Result<Met, Error> {
    check(identity, peer, options)?;
    let (config, hello) = (identity.client_config(peer)?, Hello::visit(options));
    let greeting = |lane: &mut TlsLane| exchange(lane, &hello, sheet);
    let Reached { lane, heard: (_, sheet), .. } =
        first_connection(address, &config, options.timeout, greeting)?;
    Ok(Met { channel: Channel::new(TlsLane::join(vec![lane])?), sheet, visits: true })
}

/// Greets a listening peer. Returns its answer.
fn exchange(lane: &mut TlsLane, hello: &Hello, sheet: &[u8]) -> Result<(Hello, Vec<u8>), Error> {
    hello.send_with(lane, sheet)?;
    let answer = Hello::receive(lane)?;
    hello.agree(&answer)?;
    if answer.lane != hello.lane {
        return Err(
            io::Error::new(ErrorKind::InvalidData, "the peer mixed up the lanes of the connection").into()
        );
    }
    Ok((answer, receive_sheet(lane)?))
}

fn client(socket: TcpStream, config: &Arc<ClientConfig>, timeout: Duration) -> io::Result<TlsLane> {
    let name = ServerName::try_from("brickwork").expect("a valid name");
    let connection = ClientConnection::new(config.clone(), name).map_err(io::Error::other)?;
    TlsLane::handshake(socket, Connection::Client(connection), timeout)
}

/// Opens a further lane of a session. A listener with too many connections may close the lane before it has
/// read the hello; then another connection is tried, within the timeout.
fn further_lane(
    at: SocketAddr,
    config: &Arc<ClientConfig>,
    options: &EndpointOptions,
    hello: Hello,
) -> io::Result<TlsLane> {
    let deadline = Instant::now() + options.timeout;
    loop {
        let opened = TcpStream::connect_timeout(&at, options.timeout)
            .and_then(|socket| client(socket, config, options.timeout))
            .and_then(|mut lane| {
                hello.send(&mut lane)?;
                let answer = Hello::receive(&mut lane)?;
                if answer.lane != hello.lane || answer.session != hello.session {
                    return Err(io::Error::new(
                        ErrorKind::InvalidData,
                        "the peer mixed up the lanes of the connection",
                    ));
                }
                Ok(lane)
            });
        match opened {
            Err(e) if was_closed(&e) && Instant::now() + RETRY < deadline => {
                stop::check()?;
                std::thread::sleep(RETRY);
            }
            opened => return opened,
        }
    }
}

/// Returns whether the other end has closed the connection.
fn was_closed(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected | UnexpectedEof)
}

/// Returns the time that one of several addresses gets to answer, from the remaining time.
fn turn(left: Duration, addresses: usize) -> Duration {
    TURN.min(left / addresses as u32)
}

/// A listener that answered.
struct Reached<T> {
    lane: TlsLane,
    at: SocketAddr,
    /// The listener's answer to the greeting.
    heard: T,
}

/// Tries all addresses of the host name repeatedly, until a listener answers the hello. A listener with too
/// many connections closes some without an answer.
fn first_connection<T>(
    address: &str,
    config: &Arc<ClientConfig>,
    timeout: Duration,
    greeting: impl Fn(&mut TlsLane) -> Result<T, Error>,
) -> Result<Reached<T>, Error> {
    let deadline = Instant::now() + timeout;
    let mut reason = io::Error::new(ErrorKind::NotFound, "the host name has no address");
    let call = |at: SocketAddr, turn: Duration, left: Duration| {
        let mut lane = client(TcpStream::connect_timeout(&at, turn)?, config, left)?;
        lane.set_timeout(timeout);
        let heard = greeting(&mut lane)?;
        Ok(Reached { lane, at, heard })
    };
    loop {
        stop::check()?;
        match address.to_socket_addrs() {
            Ok(addresses) => {
                let count = addresses.len();
                for at in addresses {
                    let left = deadline.saturating_duration_since(Instant::now()).max(POLL);
                    match call(at, turn(left, count), left) {
                        // A peer that answered with a TLS error would do so again.
                        Err(Error::Io(e))
                            if !matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidData) =>
                        {
                            reason = e;
                        }
                        reached => return reached,
                    }
                }
            }
            Err(e) if e.kind() == ErrorKind::InvalidInput => {
                return Err(Error::Usage(format!("{address:?} is not an address of the form host:port")));
            }
            Err(e) => reason = e,
        }
        if Instant::now() + RETRY >= deadline {
            let text =
                format!("the peer did not answer at {address} within {} s: {reason}", timeout.as_secs_f32());
            return Err(io::Error::new(reason.kind(), text).into());
        }
        std::thread::sleep(RETRY);
    }
}

/// Waits for the peer. All other connections are refused and logged, within the lobby's limits.
pub struct Listener {
    socket: TcpListener,
    config: Arc<ServerConfig>,
    options: EndpointOptions,
    refusals: Arc<Refusals>,
    waiting: Mutex<Waiting>,
}

/// The incoming connections, which remain between two meetings.
struct Waiting {
    lobby: Lobby,
    arrived: Sender<Guest>,
    guests: Receiver<Guest>,
}

/// A connection whose other end has authenticated as the peer.
struct Guest {
    lane: TlsLane,
    hello: Hello,
    sheet: Vec<u8>,
    session: [u8; 32],
}

impl Listener {
    /// Listens at `address` (`host:port`; with port 0 the operating system chooses one).
    ///
    /// # Errors
    /// [`Error::Io`] if the address cannot be bound, [`Error::Usage`] if an argument is out of its range.
    pub fn bind(
        address: &str,
        identity: &Identity,
        peer: PublicKey,
        options: &EndpointOptions,
    ) -> Result<Self, Error> {
        check(identity, peer, options)?;
        let socket = TcpListener::bind(address).map_err(|e| match e.kind() {
            ErrorKind::InvalidInput => {
                Error::Usage(format!("{address:?} is not an address of the form host:port"))
            }
            kind => io::Error::new(kind, format!("cannot listen at {address}: {e}")).into(),
        })?;
        socket.set_nonblocking(true)?;
        let (arrived, guests) = channel();
        let waiting = Mutex::new(Waiting { lobby: Lobby::default(), arrived, guests });
        let (config, refusals) = (identity.server_config(peer)?, Arc::new(Refusals::new()));
        Ok(Listener { socket, config, options: *options, refusals, waiting })
    }

    /// Sets the timeout of handshakes and, after the meeting, of the peer.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.options.timeout = timeout;
    }

    /// Returns the address at which it listens.
    ///
    /// # Errors
    /// [`Error::Io`] if the operating system cannot tell.
    pub fn local_addr(&self) -> Result<SocketAddr, Error> {
        Ok(self.socket.local_addr()?)
    }

    /// Waits for the peer without limit; after the first connection, the further lanes must arrive within the
    /// timeout. Visits are refused.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the peer has another version or the same role, [`Error::Io`] if the connection
    /// fails.
    pub fn accept(&self) -> Result<Channel, Error> {
        loop {
            let Met { mut channel, visits, .. } = self.meet(&[], None)?;
            if !visits {
                return Ok(channel);
            }
            if let Err(e) =
                channel.refuse("this party does not compare descriptions of runs; begin the run itself")
            {
                debug!("a peer that came only to compare closed the connection: {e}");
            }
        }
    }

    /// Waits for the peer's run or visit, without limit or until this time. It sends the peer a sheet that
    /// describes the run that this party is about to begin.
    ///
    /// # Errors
    /// As [`Listener::accept`]; [`Error::Io`] of the kind [`ErrorKind::TimedOut`] if no peer came in time.
    pub fn meet(&self, sheet: &[u8], until: Option<Instant>) -> Result<Met, Error> {
        // The data are valid even if a thread panicked while it held the lock.
        let mut waiting = self.waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let waiting = &mut *waiting;
        let here = Hello::first(&self.options);
        let main = loop {
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(io::Error::new(ErrorKind::TimedOut, "the peer did not connect in time").into());
            }
            stop::check()?;
            self.welcome(waiting);
            let Ok(mut guest) = waiting.guests.recv_timeout(POLL) else { continue };
            match guest.hello.lane {
                0 => {
                    let lanes = here.lanes.min(guest.hello.lanes).max(1);
                    match (Hello { lanes, ..here }).send_with(&mut guest.lane, sheet) {
                        Ok(()) => break guest,
                        // Nothing has begun, and the peer will try again.
                        Err(e) if was_closed(&e) => {
                            debug!("the peer closed the connection before this party answered: {e}")
                        }
                        Err(e) => return Err(e.into()),
                    }
                }
                VISIT => {
                    let answer = Hello::visit(&self.options);
                    let answered = answer.send_with(&mut guest.lane, sheet).map_err(Error::from);
                    match answered.and_then(|()| answer.same_version(&guest.hello)) {
                        Ok(()) => {
                            let channel = Channel::new(TlsLane::join(vec![guest.lane])?);
                            return Ok(Met { channel, sheet: guest.sheet, visits: true });
                        }
                        Err(e) => warn!("refused a peer that came only to compare: {e}"),
                    }
                }
                _ => warn!("refused a lane of a session that has ended"),
            }
        };
        here.agree(&main.hello)?;
        let mut further: Vec<Option<TlsLane>> =
            (1..here.lanes.min(main.hello.lanes).max(1)).map(|_| None).collect();
        let deadline = Instant::now() + self.options.timeout;
        while further.iter().any(Option::is_none) {
            if Instant::now() >= deadline {
                return Err(
                    io::Error::new(ErrorKind::TimedOut, "the peer did not open all lanes in time").into()
                );
            }
            stop::check()?;
            self.welcome(waiting);
            let Ok(mut guest) = waiting.guests.recv_timeout(POLL) else { continue };
            let place = usize::from(guest.hello.lane).checked_sub(1).and_then(|i| further.get_mut(i));
            match place {
                Some(place @ None) if guest.hello.session == main.session => {
                    match guest.hello.send(&mut guest.lane) {
                        Ok(()) => *place = Some(guest.lane),
                        Err(e) if was_closed(&e) => {
                            debug!("the peer closed a lane before this party answered: {e}")
                        }
                        Err(e) => return Err(e.into()),
                    }
                }
                _ => warn!("refused a lane of another session, or a lane that is already open"),
            }
        }
        let lanes = std::iter::once(main.lane).chain(further.into_iter().flatten()).collect();
        Ok(Met { channel: Channel::new(TlsLane::join(lanes)?), sheet: main.sheet, visits: false })
    }

    /// Accepts pending connections and starts their handshakes.
    fn welcome(&self, waiting: &mut Waiting) {
        let Waiting { lobby, arrived, .. } = waiting;
        let (refusals, timeout) = (&self.refusals, self.options.timeout);
        loop {
            match self.socket.accept() {
                Ok((socket, from)) => lobby.admit(socket, from, timeout, refusals),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                // Either the connection ended before it was accepted, or no file descriptor was left. In the
                // second case, another connection is closed to free one.
                Err(e) => {
                    debug!("the operating system could not accept a connection: {e}");
                    lobby.close_waiting(refusals);
                    break;
                }
            }
        }
        lobby.look(refusals, |socket, from| {
            let (config, arrived, refusals) = (self.config.clone(), arrived.clone(), refusals.clone());
            let greeting = move || match greet(socket, config, timeout) {
                Ok(guest) => {
                    debug!("the peer connected from {from}");
                    // If no call waits for this peer any more, its connection is closed.
                    let _ = arrived.send(guest);
                }
                Err(e) => refusals.refused(from, e),
            };
            std::thread::Builder::new().name("handshake".into()).spawn(greeting)
        });
        refusals.summarise();
    }
}

fn greet(socket: TcpStream, config: Arc<ServerConfig>, timeout: Duration) -> io::Result<Guest> {
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut lane = TlsLane::handshake(socket, Connection::Server(connection), timeout)?;
    let hello = Hello::receive(&mut lane)?;
    let sheet = if hello.has_sheet() { receive_sheet(&mut lane)? } else { Vec::new() };
    let session = lane.session()?;
    lane.set_timeout(timeout);
    Ok(Guest { lane, hello, sheet, session })
}

#[cfg(test)]
mod tests;
