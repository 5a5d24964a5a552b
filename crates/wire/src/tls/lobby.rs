//! Incoming connections before the other end has authenticated as the peer.
//!
//! An unauthenticated connection costs little: it waits without a thread until its whole ClientHello has
//! arrived, and only then its handshake begins, on its own thread. At most [`MAX_SILENT`] connections may
//! wait, and at most [`MAX_HANDSHAKES`] handshakes may run. If there are more, the lobby closes a connection
//! of the network with the most connections, first one without a ClientHello. So many connections from one
//! network close only each other. Attackers in as many networks as there are slots can still keep the peer
//! out. The peer tries again within its timeout.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use brickwork_base::quota::Quota;
use tracing::warn;

/// The number of connections that may wait for their handshake.
pub(super) const MAX_SILENT: usize = 256;

/// The number of handshakes that may run at the same time. An honest peer opens all its lanes at once.
pub(super) const MAX_HANDSHAKES: usize = 64;

/// The longest record of a ClientHello. A party's own ClientHello has less than half of this.
const MAX_HELLO_BYTES: usize = 4 << 10;

/// Bytes of a TLS record's header: its type, a version and its length.
const RECORD_HEAD: usize = 5;

/// The type of a record with a handshake message, and that of a ClientHello (RFC 8446, sections 5.1 and 4).
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;

/// The number of log lines per minute about unauthenticated connections; further connections are only
/// counted.
const LINES: u32 = 10;
const MINUTE: Duration = Duration::from_secs(60);

/// Limits the log lines about refused connections. Attackers can open any number of connections, and the log
/// must not grow with them.
pub(super) struct Refusals(Mutex<Quota>);

impl Refusals {
    pub fn new() -> Self {
        Refusals(Mutex::new(Quota::new(LINES, MINUTE)))
    }

    fn quota(&self) -> MutexGuard<'_, Quota> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs a refused connection, or counts it.
    pub fn refused(&self, from: SocketAddr, why: impl std::fmt::Display) {
        if self.quota().takes(Instant::now()) {
            warn!("refused the connection from {from}: {why}");
        }
    }

    /// Logs the number of connections that were only counted, when their minute has ended.
    pub fn summarise(&self) {
        if let Some(more) = self.quota().left_out(Instant::now()) {
            warn!("refused {more} more connections from unknown machines within a minute");
        }
    }
}

/// An incoming connection.
struct Arrival {
    socket: TcpStream,
    from: SocketAddr,
    /// The time when the lobby stops waiting for the ClientHello.
    until: Instant,
    stage: Stage,
}

enum Stage {
    /// The ClientHello of the connection has not arrived completely.
    Silent,
    /// The ClientHello of the connection has arrived.
    Ready,
    /// The handshake of the connection is running.
    Greets(JoinHandle<()>),
    /// The connection was closed, but its thread has not ended yet.
    Ends(JoinHandle<()>),
}

impl Stage {
    fn is_waiting(&self) -> bool {
        matches!(self, Stage::Silent | Stage::Ready)
    }

    fn has_ended(&self) -> bool {
        matches!(self, Stage::Greets(thread) | Stage::Ends(thread) if thread.is_finished())
    }
}

/// The kinds of first bytes of a waiting connection.
#[derive(Debug, PartialEq)]
enum Said {
    /// The beginning of a ClientHello, or nothing.
    Part,
    /// A whole ClientHello.
    Hello,
    /// The other end has closed the connection.
    Gone,
    /// Other bytes.
    Rubbish,
}

/// Reads the first bytes of a connection without removing them.
fn said(socket: &TcpStream) -> Said {
    let mut bytes = [0; RECORD_HEAD + MAX_HELLO_BYTES];
    match socket.peek(&mut bytes) {
        Ok(0) => Said::Gone,
        Ok(count) => record(&bytes[..count]),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Said::Part,
        Err(_) => Said::Gone,
    }
}

/// Returns whether these first bytes of a connection are a whole record with a ClientHello.
fn record(bytes: &[u8]) -> Said {
    let fits = |place: usize, value: u8| bytes.get(place).is_none_or(|byte| *byte == value);
    if !fits(0, HANDSHAKE) || !fits(1, 3) || !fits(RECORD_HEAD, CLIENT_HELLO) {
        return Said::Rubbish;
    }
    let Some(&[high, low]) = bytes.get(3..RECORD_HEAD) else { return Said::Part };
    let length = usize::from(u16::from_be_bytes([high, low]));
    match length {
        0 => Said::Rubbish,
        _ if length > MAX_HELLO_BYTES => Said::Rubbish,
        _ if bytes.len() < RECORD_HEAD + length => Said::Part,
        _ => Said::Hello,
    }
}

/// Returns the network to which an address belongs, because one customer has many IPv6 addresses (RFC 6177).
fn network(from: SocketAddr) -> IpAddr {
    match from.ip().to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

/// Returns the connection that is closed when there are too many: the oldest one of the network with the most
/// connections. The list has the oldest first.
fn goes(connections: impl Iterator<Item = (usize, IpAddr)> + Clone) -> Option<usize> {
    let mut counts = BTreeMap::<IpAddr, usize>::new();
    connections.clone().for_each(|(_, network)| *counts.entry(network).or_default() += 1);
    let most = counts.values().copied().max()?;
    connections.into_iter().find(|(_, network)| counts[network] == most).map(|(place, _)| place)
}

/// The incoming connections, oldest first.
#[derive(Default)]
pub(super) struct Lobby(Vec<Arrival>);

impl Lobby {
    /// Adds an accepted connection. It has this time to send its ClientHello.
    pub fn admit(&mut self, socket: TcpStream, from: SocketAddr, patience: Duration, refusals: &Refusals) {
        if let Err(e) = socket.set_nonblocking(true) {
            return refusals.refused(from, e);
        }
        if self.0.iter().filter(|arrival| arrival.stage.is_waiting()).count() >= MAX_SILENT {
            self.close_waiting(refusals);
        }
        self.0.push(Arrival { socket, from, until: Instant::now() + patience, stage: Stage::Silent });
    }

    /// Closes a waiting connection, if there is one. A connection without a ClientHello is closed first.
    pub fn close_waiting(&mut self, refusals: &Refusals) {
        let of = |is: fn(&Stage) -> bool| {
            let all = self.0.iter().enumerate();
            goes(all.filter(move |(_, a)| is(&a.stage)).map(|(place, a)| (place, network(a.from))))
        };
        let place = of(|stage| matches!(stage, Stage::Silent)).or_else(|| of(Stage::is_waiting));
        if let Some(place) = place {
            refusals.refused(self.0.remove(place).from, "too many connections wait for a handshake");
        }
    }

    /// Checks all connections: starts handshakes with `greet`, and closes connections that have waited too
    /// long. If there are too many handshakes, one is closed, and its slot is free after its thread has
    /// ended. Closing one handshake in each check is enough: so each handshake has time for as many checks as
    /// there are slots.
    pub fn look(
        &mut self,
        refusals: &Refusals,
        mut greet: impl FnMut(TcpStream, SocketAddr) -> io::Result<JoinHandle<()>>,
    ) {
        self.0.retain(|arrival| !arrival.stage.has_ended());
        let now = Instant::now();
        self.0.retain_mut(|arrival| {
            if !matches!(arrival.stage, Stage::Silent) {
                return true;
            }
            match said(&arrival.socket) {
                Said::Part if arrival.until > now => return true,
                Said::Part => refusals.refused(arrival.from, "the caller began no handshake in time"),
                Said::Hello => {
                    arrival.stage = Stage::Ready;
                    return true;
                }
                Said::Gone => refusals.refused(arrival.from, "the caller closed the connection"),
                Said::Rubbish => {
                    refusals.refused(arrival.from, "the caller did not begin TLS as a Brickwork party does")
                }
            }
            false
        });
        let mut handshakes = self.0.iter().filter(|arrival| !arrival.stage.is_waiting()).count();
        self.0.retain_mut(|arrival| {
            if !matches!(arrival.stage, Stage::Ready) || handshakes == MAX_HANDSHAKES {
                return true;
            }
            match arrival.socket.try_clone().and_then(|socket| greet(socket, arrival.from)) {
                Ok(thread) => {
                    handshakes += 1;
                    arrival.stage = Stage::Greets(thread);
                    true
                }
                Err(e) => {
                    refusals.refused(arrival.from, e);
                    false
                }
            }
        });
        let waits = self.0.iter().any(|arrival| matches!(arrival.stage, Stage::Ready));
        let ends = self.0.iter().any(|arrival| matches!(arrival.stage, Stage::Ends(_)));
        if waits && !ends {
            self.close_handshake();
        }
    }

    /// Closes a running handshake. Its thread notices the closed connection and ends.
    fn close_handshake(&mut self) {
        let greets = self.0.iter().enumerate().filter(|(_, a)| matches!(a.stage, Stage::Greets(_)));
        let Some(place) = goes(greets.map(|(place, a)| (place, network(a.from)))) else { return };
        let Arrival { socket, from, until, stage } = self.0.remove(place);
        let Stage::Greets(thread) = stage else { return };
        // The other end may already have closed the connection.
        let _ = socket.shutdown(Shutdown::Both);
        self.0.insert(place, Arrival { socket, from, until, stage: Stage::Ends(thread) });
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};
    use std::sync::{Arc, RwLock};

    use super::*;
    use crate::tls::Identity;

    /// Returns the first bytes that a party sends when it connects.
    fn hello() -> Vec<u8> {
        let [own, peer] = [0, 1].map(|_| Identity::generate().unwrap().0);
        let config = own.client_config(peer.public_key()).unwrap();
        let name = rustls::pki_types::ServerName::try_from("brickwork").unwrap();
        let mut bytes = Vec::new();
        rustls::ClientConnection::new(config, name).unwrap().write_tls(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_hello_is_known_when_all_of_it_is_there() {
        let hello = hello();
        assert_eq!(record(&hello), Said::Hello);
        (0..hello.len()).for_each(|count| assert_eq!(record(&hello[..count]), Said::Part, "{count} bytes"));
        assert_eq!(record(&[&hello[..], b"more"].concat()), Said::Hello);
        let rubbish: [&[u8]; 6] = [
            b"GET / HTTP/1.1\r\n\r\n",
            &[23],
            &[HANDSHAKE, 2],
            &[HANDSHAKE, 3, 1, 0, 0],
            &[HANDSHAKE, 3, 1, 0x3f, 0xff],
            &[HANDSHAKE, 3, 1, 0, 4, 2],
        ];
        rubbish.into_iter().for_each(|bytes| assert_eq!(record(bytes), Said::Rubbish, "{bytes:?}"));
        let most = MAX_HELLO_BYTES as u16;
        let of =
            |length: u16| record(&[&[HANDSHAKE, 3, 1][..], &length.to_be_bytes(), &[CLIENT_HELLO]].concat());
        assert_eq!([of(most), of(most + 1)], [Said::Part, Said::Rubbish]);
    }

    #[test]
    fn the_oldest_of_the_largest_network_goes() {
        let [a, b, c] = [1, 2, 3].map(|last| IpAddr::from(Ipv4Addr::new(192, 0, 2, last)));
        let goes = |networks: &[IpAddr]| goes(networks.iter().copied().enumerate());
        assert_eq!(goes(&[]), None);
        assert_eq!(goes(&[a, b, c]), Some(0));
        assert_eq!(goes(&[a, b, c, b]), Some(1));
        assert_eq!(goes(&[a, b, c, c, b, c]), Some(2));
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("[2001:db8::1]:1"), of("[2001:db8::ffff:0:2]:9"));
        assert_ne!(of("[2001:db8::1]:1"), of("[2001:db8:0:1::1]:1"));
        assert_eq!(of("[::ffff:192.0.2.1]:1"), a);
        assert_ne!(of("192.0.2.1:1"), of("192.0.2.2:1"));
    }

    /// Connections of this process to itself.
    struct Line(TcpListener);

    impl Line {
        fn new() -> Self {
            Line(TcpListener::bind("127.0.0.1:0").unwrap())
        }

        /// Adds a connection that has sent these bytes; returns its other end.
        fn arrives(&self, lobby: &mut Lobby, says: &[u8]) -> TcpStream {
            let mut there = TcpStream::connect(self.0.local_addr().unwrap()).unwrap();
            let (here, from) = self.0.accept().unwrap();
            there.write_all(says).unwrap();
            let mut come = vec![0; says.len()];
            while !says.is_empty() && here.peek(&mut come).unwrap() < says.len() {
                std::thread::yield_now();
            }
            lobby.admit(here, from, Duration::from_secs(600), &Refusals::new());
            there
        }
    }

    fn is_closed(mut there: &TcpStream) -> bool {
        there.set_nonblocking(true).unwrap();
        !matches!(there.read(&mut [0]), Err(e) if e.kind() == ErrorKind::WouldBlock)
    }

    /// Starts no handshake.
    fn nothing(_: TcpStream, _: SocketAddr) -> io::Result<JoinHandle<()>> {
        panic!("a handshake begins")
    }

    #[test]
    fn the_oldest_without_a_hello_goes_first() {
        let (line, mut lobby, hello, refusals) = (Line::new(), Lobby::default(), hello(), Refusals::new());
        let ready = line.arrives(&mut lobby, &hello);
        lobby.look(&refusals, |_, _| Err(ErrorKind::Other.into()));
        assert!(is_closed(&ready), "no thread can be had for it");
        let rubbish = line.arrives(&mut lobby, b"GET");
        lobby.look(&refusals, nothing);
        assert!(is_closed(&rubbish) && lobby.0.is_empty());
        let silent: Vec<TcpStream> =
            (0..MAX_SILENT).map(|i| line.arrives(&mut lobby, &hello[..i % 9])).collect();
        lobby.look(&refusals, nothing);
        assert!(!silent.iter().any(is_closed));
        let newest = line.arrives(&mut lobby, &hello);
        assert!(is_closed(&silent[0]) && !is_closed(&silent[1]));
        // A connection with a complete ClientHello is not closed, although it is the oldest one.
        lobby.0.rotate_right(1);
        lobby.0[0].stage = Stage::Ready;
        let _next = line.arrives(&mut lobby, &[]);
        assert!(!is_closed(&newest) && is_closed(&silent[1]) && !is_closed(&silent[2]));
        assert_eq!(lobby.0.len(), MAX_SILENT);
    }

    /// No more handshakes run than allowed, even while the thread of a closed one has not ended.
    #[test]
    fn handshakes_are_bounded() {
        let (line, mut lobby, hello, refusals) = (Line::new(), Lobby::default(), hello(), Refusals::new());
        let crowd: Vec<TcpStream> =
            (0..MAX_HANDSHAKES + 2).map(|_| line.arrives(&mut lobby, &hello)).collect();
        let gates: Vec<Arc<RwLock<()>>> = crowd.iter().map(|_| Arc::default()).collect();
        let mut shut: Vec<_> = gates.iter().map(|gate| Some(gate.write().unwrap())).collect();
        let mut begun = 0;
        let mut look = |lobby: &mut Lobby| {
            lobby.look(&refusals, |_, _| {
                let gate = gates[begun].clone();
                begun += 1;
                Ok(std::thread::spawn(move || drop(gate.read())))
            });
            begun
        };
        assert_eq!(look(&mut lobby), MAX_HANDSHAKES);
        assert!(is_closed(&crowd[0]) && !is_closed(&crowd[1]), "the oldest is closed");
        for _ in 0..3 {
            assert_eq!(look(&mut lobby), MAX_HANDSHAKES, "it has not ended");
        }
        assert!(!is_closed(&crowd[1]), "one at a time");
        let ends = |lobby: &mut Lobby, gate: &mut Option<_>| {
            *gate = None;
            while !lobby.0.iter().any(|arrival| arrival.stage.has_ended()) {
                std::thread::yield_now();
            }
        };
        ends(&mut lobby, &mut shut[0]);
        assert_eq!(look(&mut lobby), MAX_HANDSHAKES + 1);
        assert!(is_closed(&crowd[1]) && !is_closed(&crowd[2]));
        ends(&mut lobby, &mut shut[1]);
        assert_eq!(look(&mut lobby), MAX_HANDSHAKES + 2);
        assert!(!is_closed(&crowd[2]), "nobody waits for its place");
        assert!(!crowd[MAX_HANDSHAKES..].iter().any(is_closed));
    }
}
