//! A simulated slower network between two processes of this machine: the connecting party connects to a relay
//! instead of its peer.
//!
//! It simulates, in each direction, a bandwidth that all connections share and a constant delay of half the
//! round-trip time. Opening a connection costs one round trip. It does not simulate loss, jitter, TCP's slow
//! start and congestion control, or the headers of packets, which take 3 to 5 % of a real network of that
//! rate. The relay also uses this machine's cores.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::request::LinkSpeed;

/// The bytes that are forwarded at a time.
const CHUNK: usize = 16 << 10;

/// The number of chunks that may be in transit in one direction of a connection.
const CHUNKS: usize = 4096;

/// The time by which a sender may run ahead of the simulated network, like the queue of a network card. If
/// this time were zero, inexact sleeps would leave the network idle.
const AHEAD: Duration = Duration::from_millis(2);

/// The interval at which the relay looks for new connections.
const POLL: Duration = Duration::from_micros(200);

/// One direction of the network.
struct Direction {
    seconds_a_byte: f64,
    free: Mutex<Instant>,
}

impl Direction {
    fn new(link: LinkSpeed) -> Self {
        Direction {
            seconds_a_byte: link.bits_per_second.map_or(0.0, |rate| 8.0 / rate as f64),
            free: Mutex::new(Instant::now()),
        }
    }

    /// Returns the time when the last of these bytes has left the queue, if they join it now.
    fn departure(&self, bytes: usize) -> Instant {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        *free = (*free).max(Instant::now()) + Duration::from_secs_f64(bytes as f64 * self.seconds_a_byte);
        *free
    }
}

/// Forwards connections until it is dropped.
pub struct Relay {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
}

impl Relay {
    /// Starts to forward connections from an address of its own to `target`.
    pub fn start(link: LinkSpeed, target: &str) -> io::Result<Self> {
        let target: SocketAddr = target.parse().map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let relay = Relay { address: listener.local_addr()?, ended: Arc::default() };
        let ended = relay.ended.clone();
        let lines = [(); 2].map(|()| Arc::new(Direction::new(link)));
        thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((near, _)) => {
                        let lines = lines.clone();
                        thread::spawn(move || {
                            // If connecting fails, both parties see that their connection closes.
                            let _ = connect(near, target, link, &lines);
                        });
                    }
                    Err(_) => thread::sleep(POLL),
                }
            }
        });
        Ok(relay)
    }

    /// Returns the address to connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

fn connect(
    near: TcpStream,
    target: SocketAddr,
    link: LinkSpeed,
    lines: &[Arc<Direction>; 2],
) -> io::Result<()> {
    // The pause stands for the handshake of TCP.
    thread::sleep(link.rtt);
    near.set_nonblocking(false)?;
    let far = TcpStream::connect(target)?;
    for socket in [&near, &far] {
        socket.set_nodelay(true)?;
    }
    let (back, forth) = ((far.try_clone()?, near.try_clone()?), (near, far));
    let other = lines[1].clone();
    thread::spawn(move || forward(back.0, back.1, &other, link));
    forward(forth.0, forth.1, &lines[0], link);
    Ok(())
}

/// Forwards everything from one socket to the other until it ends.
fn forward(mut from: TcpStream, mut to: TcpStream, line: &Direction, link: LinkSpeed) {
    let (sent, arriving) = sync_channel::<(Instant, Vec<u8>)>(CHUNKS);
    let delivery = thread::spawn(move || {
        while let Ok((at, bytes)) = arriving.recv() {
            sleep_until(at);
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
    let mut buffer = vec![0; CHUNK];
    loop {
        match from.read(&mut buffer) {
            Ok(n @ 1..) => {
                let departure = line.departure(n);
                if sent.send((departure + link.rtt / 2, buffer[..n].to_vec())).is_err() {
                    break;
                }
                sleep_until(departure.checked_sub(AHEAD).unwrap_or(departure));
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            _ => break,
        }
    }
    drop(sent);
    let _ = delivery.join();
    let _ = from.shutdown(Shutdown::Read);
}

fn sleep_until(at: Instant) {
    thread::sleep(at.saturating_duration_since(Instant::now()));
}

/// Splits a quantity such as `200Mbit` into its number and unit.
fn quantity<'a>(text: &'a str, units: &[(&str, f64)]) -> Option<(f64, &'a str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    Some((number.parse::<f64>().ok()? * factor, unit))
}

/// Reads a bandwidth.
pub fn bits_per_second(text: &str) -> Result<u64, String> {
    let text = text.strip_suffix("/s").unwrap_or(text);
    match quantity(text, &[("bit", 1.0), ("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9)]) {
        Some((rate, _)) if (1e3..=1e13).contains(&rate) => Ok(rate as u64),
        _ => Err("a bandwidth must be a number with kbit, Mbit or Gbit, such as 200Mbit, and at least 1kbit"
            .into()),
    }
}

/// Reads a time.
pub fn time(text: &str) -> Result<Duration, String> {
    match quantity(text, &[("us", 1e-6), ("ms", 1e-3), ("s", 1.0)]) {
        Some((seconds, _)) if (0.0..=60.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("a time must be a number with us, ms or s, such as 96ms, and at most 60s".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        assert_eq!(bits_per_second("200Mbit"), Ok(200_000_000));
        assert_eq!(bits_per_second("1gbit/s"), Ok(1_000_000_000));
        assert_eq!(bits_per_second("2.5Gbit"), Ok(2_500_000_000));
        for bad in ["", "Mbit", "200", "200MB", "-1Gbit", "0kbit", "1e9bit", "999999Gbit", "1.2.3Mbit"] {
            assert!(bits_per_second(bad).is_err(), "{bad}");
        }
        assert_eq!(time("96ms"), Ok(Duration::from_millis(96)));
        assert_eq!(time("0.02ms"), Ok(Duration::from_micros(20)));
        assert_eq!(time("0s"), Ok(Duration::ZERO));
        for bad in ["", "ms", "96", "61s", "-1s", "1min"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    /// Sends `bytes` through a relay and waits for an echo of one byte.
    fn round_trip(link: LinkSpeed, bytes: usize) -> Duration {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Relay::start(link, &listener.local_addr().unwrap().to_string()).unwrap();
        let peer = thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut got = vec![0; bytes];
            socket.read_exact(&mut got).unwrap();
            assert!(got.iter().all(|&b| b == 7));
            socket.write_all(&[9]).unwrap();
            socket.read(&mut [0]).unwrap()
        });
        let start = Instant::now();
        let mut socket = TcpStream::connect(relay.address()).unwrap();
        socket.write_all(&vec![7; bytes]).unwrap();
        socket.read_exact(&mut [0]).unwrap();
        let time = start.elapsed();
        drop(socket);
        assert_eq!(peer.join().unwrap(), 0, "the end arrives too");
        time
    }

    #[test]
    fn bytes_take_their_time() {
        // Only lower bounds are checked, because they hold on every machine.
        let rtt = Duration::from_millis(40);
        assert!(round_trip(LinkSpeed { bits_per_second: None, rtt }, 10) >= 2 * rtt);
        let slow = LinkSpeed { bits_per_second: Some(80_000_000), rtt: Duration::ZERO };
        assert!(round_trip(slow, 1 << 20) >= Duration::from_millis(100));
        assert!(round_trip(LinkSpeed::default(), 3 << 20) < Duration::from_secs(20));
    }
}
