//! Row 18 of the table of attacks (docs/concepts/security.md, section 14): a peer or an unauthenticated
//! connection cannot cause larger allocations than the protocol needs.
//!
//! The allocator of this test counts bytes. A party is attacked, and its largest allocation is compared with
//! that of the same party when the peer is silent. The difference must not exceed the longest message that
//! could have arrived.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use brickwork::ProtocolError as Error;
use brickwork::circuit::{Party, Recipient, library};
use brickwork::disk::{EpochEntry, EpochReport, EpochState};
use brickwork::duplo;
use brickwork::duplo::Cheat;
use brickwork::duplo::adversary::harness::{ands, small};
use brickwork::duplo::adversary::{Hooks, evaluator, garbler, parsers};
use brickwork::protocol::{AgreedJob, GREETING_BYTES, Unobserved};
use brickwork::wire::tls::{EndpointOptions, Identity, Listener, connect};
use brickwork::wire::{Channel, Stream};

/// The system's allocator, which counts the allocated bytes and their maximum.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// One test runs at a time, because all allocations are counted.
static ALONE: Mutex<()> = Mutex::new(());

// SAFETY: memory comes from and returns to the system's allocator, with the caller's layouts. `realloc` is
// the default one.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Returns the maximum of allocated bytes during `run`, above the earlier allocations, and its result.
fn most<T>(run: impl FnOnce() -> T) -> (usize, T) {
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let result = run();
    (MOST.load(Ordering::Relaxed).saturating_sub(before), result)
}

/// A peer that repeats the same bytes until this many are sent, and reads nothing.
struct Flood {
    says: Vec<u8>,
    at: usize,
    left: usize,
}

impl Read for Flood {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = buffer.len().min(self.left);
        for byte in &mut buffer[..n] {
            *byte = self.says[self.at % self.says.len()];
            self.at += 1;
        }
        self.left -= n;
        Ok(n)
    }
}

impl Write for Flood {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Flood {}

/// The tag of the greeting, which is the first message.
const HELLO: u8 = 1;

/// More bytes than the messages have that parties send before they agree on a program.
const FLOOD: usize = 64 << 20;

/// Returns the largest allocation of a party under attack, and the error with which it ends.
fn attacked(party: Party, job: &AgreedJob, says: &[u8], left: usize) -> (usize, Error) {
    most(|| {
        let channel = Channel::new(vec![Box::new(Flood { says: says.to_vec(), at: 0, left })]);
        let input = vec![false; 32];
        let result = match party {
            Party::Garbler => duplo::garbler(channel, job, &input, Unobserved),
            Party::Evaluator => duplo::evaluator(channel, job, &input, Unobserved),
        };
        result.expect_err("no session")
    })
}

fn frame(tag: u8, length: u32, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &length.to_le_bytes(), body].concat()
}

/// The tolerance for buffers of output, errors, and threads that end a little later.
const SLACK: usize = 64 << 10;

#[test]
fn row_18_a_flood_of_any_message_takes_no_memory() {
    let _alone = ALONE.lock().unwrap();
    let program = std::sync::Arc::new(library::millionaires().unwrap());
    let job = AgreedJob::new(program, 40, [[1; 32], [2; 32]]);
    for party in [Party::Garbler, Party::Evaluator] {
        // The first run fills caches that are filled only once.
        attacked(party, &job, &[0], 0);
        let (quiet, silence) = attacked(party, &job, &[0], 0);
        assert!(matches!(silence, Error::Io(_)));
        const GREETING: u32 = GREETING_BYTES as u32;
        let lengths = |tag| match tag {
            HELLO => &[0, 1, GREETING - 1, GREETING, 1 << 20, (1 << 20) + 1, u32::MAX][..],
            _ => &[1 << 20],
        };
        for tag in (0..80).chain([0xfe, 0xff]) {
            for &length in lengths(tag) {
                let (bytes, error) = attacked(party, &job, &frame(tag, length, &[tag; 64]), FLOOD);
                assert!(
                    bytes <= quiet + SLACK,
                    "{party:?}: message {tag} of {length} bytes takes {bytes} bytes, silence {quiet}"
                );
                // A greeting of the right length has wrong content; keep-alive messages are skipped.
                let expected = match (tag, length) {
                    (HELLO, GREETING) => matches!(error, Error::Mismatch(_)),
                    _ => error.is_cheat(Cheat::UnexpectedMessage),
                };
                assert!(expected, "{party:?}: message {tag} of {length} bytes ends in {error}");
            }
        }
        let (bytes, error) = attacked(party, &job, &frame(0xff, 0, &[]), FLOOD);
        assert!(
            matches!(error, Error::Io(_)) && bytes <= quiet + SLACK,
            "{party:?}: signs of life take {bytes} bytes, silence {quiet}"
        );
    }
}

/// An honest peer that turns into an attacker after its first messages.
struct Turning {
    socket: UnixStream,
    /// The number of the honest peer's messages that still pass.
    messages: usize,
    /// The known part of the next message's header, and the number of bytes of its body that are to come.
    head: Vec<u8>,
    body: usize,
    then: Then,
    flood: Flood,
}

#[derive(Clone, Copy, Debug)]
enum Then {
    /// Repeats another message of 16 MiB.
    Flood,
    /// Sends the right message with a header that announces 4 GiB.
    Longer,
}

impl Read for Turning {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let turns = self.messages == 0 && self.body == 0;
        if turns && (matches!(self.then, Then::Flood) || self.head.len() == 5) {
            return self.flood.read(buffer);
        }
        let most = if self.body > 0 { self.body } else { 5 - self.head.len() };
        let most = most.min(buffer.len());
        let n = self.socket.read(&mut buffer[..most])?;
        if self.body > 0 {
            self.body -= n;
            return Ok(n);
        }
        if turns {
            let known = self.head.len();
            buffer[..n]
                .iter_mut()
                .enumerate()
                .filter(|(k, _)| known + k > 0)
                .for_each(|(_, byte)| *byte = 0xff);
        }
        self.head.extend_from_slice(&buffer[..n]);
        if self.head.len() == 5 && !turns {
            self.body = u32::from_le_bytes(self.head[1..].try_into().expect("4 bytes")) as usize;
            self.head.clear();
            self.messages -= 1;
        }
        Ok(n)
    }
}

impl Write for Turning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl Stream for Turning {}

/// Returns the largest allocation of both parties together if the other party turns after `messages`
/// messages, and the victim's result.
fn turned(victim: Party, messages: usize, then: Then) -> (usize, Result<(), Error>) {
    let program = ands(2, Recipient::Both);
    let run = |party, channel| {
        let job = AgreedJob::new(program.clone(), 40, [[1; 32], [2; 32]]);
        let hooks = Hooks::none().with(small(&program, [3, 2], [3, 2], [3, 2]).into()).dealt_by([7; 32]);
        match party {
            Party::Garbler => garbler(channel, &job, &[true; 2], hooks).map(drop),
            Party::Evaluator => evaluator(channel, &job, &[true; 2], hooks).map(drop),
        }
    };
    let peer = if victim == Party::Garbler { Party::Evaluator } else { Party::Garbler };
    most(|| {
        let (mine, theirs) = UnixStream::pair().unwrap();
        let end = |socket, messages| {
            let flood = Flood { says: frame(0x54, 1 << 24, &[0; 64]), at: 0, left: FLOOD };
            Channel::new(vec![Box::new(Turning {
                socket,
                messages,
                head: Vec::with_capacity(5),
                body: 0,
                then,
                flood,
            })])
        };
        std::thread::scope(|scope| {
            // The victim finds the connection closed.
            scope.spawn(|| drop(run(peer, end(theirs, usize::MAX))));
            run(victim, end(mine, messages))
        })
    })
}

/// The peer may begin its attack after any number of messages.
#[test]
fn row_18_a_peer_that_turns_later_gets_no_more_memory() {
    let _alone = ALONE.lock().unwrap();
    for victim in [Party::Garbler, Party::Evaluator] {
        // The first run fills caches that are filled only once.
        let _ = turned(victim, usize::MAX, Then::Flood);
        let (honest, result) = turned(victim, usize::MAX, Then::Flood);
        result.unwrap();
        let mut turns = 0;
        for then in [Then::Flood, Then::Longer] {
            for messages in 0.. {
                let (bytes, result) = turned(victim, messages, then);
                let Err(error) = result else { break };
                turns += 1;
                assert!(
                    bytes <= 2 * honest,
                    "{victim:?}: {then:?} after {messages} takes {bytes} bytes, an honest peer {honest}"
                );
                assert!(
                    error.is_cheat(Cheat::UnexpectedMessage),
                    "{victim:?}: {then:?} after {messages} ends in {error}"
                );
            }
        }
        println!("{victim:?}: {turns} turns, {} KiB for an honest peer", honest >> 10);
        assert!(turns > 10);
    }
}

/// Tests the only message whose length the peer chooses: the positions of its logs, at most a mebibyte. Two
/// bytes of the message represent a layer, which needs 16 bytes in memory. A growing vector needs three times
/// as much for a moment.
#[test]
fn row_18_the_longest_log_that_a_peer_can_tell_of() {
    const LONGEST: usize = 1 << 20;
    let _alone = ALONE.lock().unwrap();
    let state = EpochState::new(&[5; 32]);
    let entry = EpochEntry::Use { program: [2; 32], taken: vec![(1, 1); LONGEST / 2 - 200] };
    let standing = EpochReport { head: [3; 32], last: Some((*state.head(), entry)) };
    let told = postcard::to_stdvec(&[([5u8; 32], standing)][..]).unwrap();
    assert!(told.len() <= LONGEST && told.len() > LONGEST - 400);
    // The second message claims that it contains 2^64 - 1 layers.
    let mut huge = told[..140].to_vec();
    huge.extend([0xff; 9]);
    huge.push(1);
    for (told, limit) in [(told, 48 * LONGEST / 2), (huge, 4 << 20), (vec![0xff; LONGEST], 4 << 20)] {
        let (bytes, _) = most(|| parsers::standings(&state, &told));
        assert!(bytes <= limit, "{} bytes take {bytes}", told.len());
        println!("{} bytes of a log: {} KiB at most", told.len(), bytes >> 10);
    }
}

/// The number of simultaneous handshakes (`MAX_HANDSHAKES`), and the memory of each: a TLS connection, some
/// ciphertext and its thread.
const HANDSHAKES: usize = 64;
const EACH: usize = 32 << 10;

/// Returns the first bytes that a party sends when it connects.
fn hello(own: &Identity, peer: &Identity) -> Vec<u8> {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let options = EndpointOptions { party: Party::Evaluator, lanes: 1, timeout: Duration::from_secs(1) };
    std::thread::scope(|scope| {
        scope.spawn(|| connect(&address, own, peer.public_key(), &options).err());
        let mut hello = vec![0; 4 << 10];
        let mut connection = socket.accept().unwrap().0;
        let count = connection.read(&mut hello).unwrap();
        hello.truncate(count);
        hello
    })
}

/// Many unauthenticated connections wait at the same time. The connections send nothing, invalid bytes, or
/// only a hello. The peer can still connect.
#[test]
fn row_18_a_crowd_of_half_open_connections() {
    let _alone = ALONE.lock().unwrap();
    let [mine, theirs] = [0, 1].map(|_| Identity::generate().unwrap().0);
    let options = |party| EndpointOptions { party, lanes: 1, timeout: Duration::from_secs(30) };
    let listener =
        Listener::bind("127.0.0.1:0", &mine, theirs.public_key(), &options(Party::Garbler)).unwrap();
    let address = listener.local_addr().unwrap();
    let hello = hello(&theirs, &mine);
    for strangers in [3 * HANDSHAKES, 9 * HANDSHAKES] {
        let (bytes, crowd) = most(|| {
            std::thread::scope(|scope| {
                let accepted = scope.spawn(|| listener.accept());
                let mut crowd: Vec<TcpStream> = Vec::with_capacity(strangers);
                for i in 0..strangers {
                    let mut stranger = TcpStream::connect(address).unwrap();
                    let says: &[u8] = [&hello[..], &[0xff; 600], &hello[..9], &[]][i % 4];
                    // The other side may have closed a refused connection already, so errors are ignored.
                    let _ = stranger.write_all(says);
                    crowd.push(stranger);
                    std::thread::sleep(Duration::from_millis(1));
                }
                let peer =
                    connect(&address.to_string(), &theirs, mine.public_key(), &options(Party::Evaluator));
                drop((
                    peer.expect("the peer gets through the crowd"),
                    accepted.join().unwrap().expect("the peer"),
                ));
                crowd
            })
        });
        assert!(bytes <= (HANDSHAKES + 4) * EACH, "{strangers} strangers take {bytes} bytes");
        println!("{strangers} strangers: {} KiB at most", bytes >> 10);
        drop(crowd);
        // The threads of the handshakes must end before the next connections are counted.
        let start = Instant::now();
        while NOW.load(Ordering::Relaxed) > (8 << 20) && start.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
