//! Tests strangers that connect to either listener.

use super::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Connects, unless the queue of the listener is full.
fn connect(at: SocketAddr) -> std::io::Result<TcpStream> {
    TcpStream::connect_timeout(&at, Duration::from_millis(50))
}

/// While programs run, clients without a key or token connect to both listeners, stall, flood them and
/// request everything. Every run still gives the right outputs, and clients with the token are answered.
#[test]
fn strangers_do_not_disturb_runs() {
    let program = entry("richer", "millionaires.bwp", "input = \"500\"\n")
        .replace("low = 2", "low = 30")
        .replace("high = 6", "high = 60");
    let mut pair = Pair::new([&program, &program]);
    pair.limits[0] = "connections = 8\nrequests_per_second = 200".into();
    let [garbler, evaluator] = pair.both();
    garbler.stocked("richer", 30);
    let door: SocketAddr = garbler.listening.as_ref().expect("it listens").parse().expect("an address");
    let (over, tries) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; 4]);
    std::thread::scope(|scope| {
        let stranger = |kind: usize, act: fn(SocketAddr, SocketAddr) -> std::io::Result<Vec<TcpStream>>| {
            let (over, tries, http) = (&over, &tries[kind], garbler.http);
            scope.spawn(move || {
                let mut held = std::collections::VecDeque::new();
                while !over.load(Ordering::SeqCst) {
                    held.extend(act(door, http).unwrap_or_default());
                    tries.fetch_add(1, Ordering::SeqCst);
                    while held.len() > 40 {
                        held.pop_front();
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
            });
        };
        // These clients connect to both listeners and send nothing.
        stranger(0, |door, http| Ok(vec![connect(door)?, connect(http)?]));
        // These clients begin a request or a handshake, and stall.
        stranger(1, |door, http| {
            let (mut a, mut b) = (connect(http)?, connect(door)?);
            a.write_all(b"POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Le")?;
            b.write_all(&[0x16, 3, 1, 0x02])?;
            Ok(vec![a, b])
        });
        // These clients send noise to both listeners.
        stranger(2, |door, http| {
            for at in [door, http] {
                let mut noise = connect(at)?;
                noise.set_write_timeout(Some(Duration::from_millis(50)))?;
                let _ = noise.write_all(&[0x16; 100_000]);
            }
            Ok(Vec::new())
        });
        // These clients request runs without the token, and pages, and read no answer.
        stranger(3, |_, http| {
            let mut asks = connect(http)?;
            asks.set_write_timeout(Some(Duration::from_millis(50)))?;
            let run = "POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
            asks.write_all(run.as_bytes())?;
            asks.write_all("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(50).as_bytes())?;
            Ok(vec![asks])
        });
        let wealth = [700, 300, 500, 501, 499];
        let enough = || tries.iter().all(|tries| tries.load(Ordering::SeqCst) >= 30);
        let mut runs = 0;
        while runs < 20 || !enough() {
            let x = wealth[runs % wealth.len()];
            let body = json!({ "program": "richer", "input": x }).to_string();
            // If the request on a connection has not arrived yet, the service may close the connection to
            // accept a newer one.
            let got = std::iter::repeat_with(|| garbler.try_post(TOKEN, &body)).take(50);
            let got = got.filter_map(Result::ok).find(|got| got.status != 0).expect("an answer");
            assert_eq!((got.status, got.json()["outputs"].clone()), (200, richer(x, 500)), "{}", got.body);
            runs += 1;
        }
        over.store(true, Ordering::SeqCst);
    });
    // The connection to the peer was never lost.
    let log = std::fs::read_to_string(pair.log(0)).expect("a log");
    assert_eq!(log.lines().filter(|line| line.contains("the peer is connected")).count(), 1, "{log}");
    evaluator.stop();
    garbler.stop();
    pair.verified();
}
