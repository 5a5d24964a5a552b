use std::net::Shutdown;
use std::thread;

use super::lane::AHEAD_BYTES;
use super::*;
use crate::frame::SIGN_OF_LIFE;
use crate::{MAX_FRAME_BYTES, Tag};
use brickwork_base::Malformed;

const TAG: Tag = Tag(7);

struct Two {
    garbler: Identity,
    evaluator: Identity,
}

fn two() -> Two {
    Two { garbler: Identity::generate().unwrap().0, evaluator: Identity::generate().unwrap().0 }
}

fn options(party: Party) -> EndpointOptions {
    EndpointOptions { party, lanes: 1, timeout: Duration::from_secs(20) }
}

/// Options with short timeouts, for tests of failures.
fn short(party: Party) -> EndpointOptions {
    EndpointOptions { timeout: Duration::from_millis(300), ..options(party) }
}

/// Sends a hello, with an empty sheet if it has one.
fn say(hello: Hello, lane: &mut TlsLane) -> io::Result<()> {
    if hello.has_sheet() { hello.send_with(lane, &[]) } else { hello.send(lane) }
}

impl Two {
    fn listener(&self, options: EndpointOptions) -> (Listener, String) {
        let listener =
            Listener::bind("127.0.0.1:0", &self.garbler, self.evaluator.public_key(), &options).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        (listener, address)
    }

    fn connect(&self, address: &str, options: EndpointOptions) -> Result<Channel, Error> {
        connect(address, &self.evaluator, self.garbler.public_key(), &options)
    }

    /// Makes a channel: the listening garbler's end, and the connecting evaluator's end.
    fn pair(&self, garbler: EndpointOptions, evaluator: EndpointOptions) -> (Channel, Channel) {
        let (listener, address) = self.listener(garbler);
        thread::scope(|scope| {
            let listening = scope.spawn(|| listener.accept().unwrap());
            let connected = self.connect(&address, evaluator).unwrap();
            (listening.join().unwrap(), connected)
        })
    }
}

fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    match result.err() {
        Some(Error::Io(e)) => e.kind(),
        other => panic!("an I/O error was expected, not {other:?}"),
    }
}

#[test]
fn messages_and_bulk_cross_the_network() {
    let parties = two();
    let (mut a, mut b) = parties.pair(
        EndpointOptions { lanes: 4, ..options(Party::Garbler) },
        EndpointOptions { lanes: 3, ..options(Party::Evaluator) },
    );
    assert_eq!((a.lanes(), b.lanes()), (3, 3));
    let data: Vec<u8> = (0..4 * MAX_FRAME_BYTES + 17).map(|i| (i % 251) as u8).collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            a.send(TAG, b"question").unwrap();
            assert_eq!(a.receive(TAG, 6).unwrap(), b"answer");
            a.send_bulk(TAG, &data).unwrap();
            a.send(TAG, b"the last message").unwrap();
            a.flush().unwrap();
            drop(a);
        });
        assert_eq!(b.receive(TAG, 8).unwrap(), b"question");
        b.send(TAG, b"answer").unwrap();
        let mut copy = vec![0; data.len()];
        b.receive_bulk_into(TAG, &mut copy).unwrap();
        assert!(copy == data);
        assert_eq!(b.receive(TAG, 16).unwrap(), b"the last message");
        assert_eq!(kind(b.receive(TAG, 1)), ErrorKind::UnexpectedEof);
    });
}

#[test]
fn both_directions_at_once_do_not_block_each_other_for_ever() {
    // Each party writes more than any system buffers before it reads.
    let parties = two();
    let (mut a, mut b) = parties.pair(options(Party::Garbler), options(Party::Evaluator));
    for count in [64 << 10, AHEAD_BYTES / 4 * 3] {
        let data: Vec<u8> = (0..count).map(|i| (i % 251) as u8).collect();
        thread::scope(|scope| {
            let left = scope.spawn(|| a.send(TAG, &data).and_then(|()| a.receive(TAG, data.len())));
            b.send(TAG, &data).and_then(|()| b.flush()).unwrap();
            assert!(b.receive(TAG, data.len()).unwrap() == data);
            assert!(left.join().unwrap().unwrap() == data);
        });
    }
}

#[test]
fn strangers_and_wrong_keys_are_refused_and_the_listener_lives_on() {
    let parties = two();
    let stranger = Identity::generate().unwrap().0;
    let (listener, address) = parties.listener(options(Party::Garbler));
    thread::scope(|scope| {
        let listening = scope.spawn(|| listener.accept());
        // One stranger sends nothing, one does not use TLS, and one goes away.
        let _silent = TcpStream::connect(&address).unwrap();
        TcpStream::connect(&address).unwrap().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        drop(TcpStream::connect(&address).unwrap());
        // The listener expects another key.
        let refused = connect(&address, &stranger, parties.garbler.public_key(), &options(Party::Evaluator));
        assert_eq!(kind(refused), ErrorKind::PermissionDenied);
        // The key is right, but the party with it expects another listener.
        let refused =
            connect(&address, &parties.evaluator, stranger.public_key(), &options(Party::Evaluator));
        assert_eq!(kind(refused), ErrorKind::PermissionDenied);
        let mut b = parties.connect(&address, options(Party::Evaluator)).unwrap();
        let mut a = listening.join().unwrap().unwrap();
        a.send(TAG, b"x").unwrap();
        a.flush().unwrap();
        assert_eq!(b.receive(TAG, 1).unwrap(), b"x");
    });
}

#[test]
fn a_crowd_of_silent_strangers_does_not_keep_the_peer_out() {
    let parties = two();
    let (listener, address) = parties.listener(options(Party::Garbler));
    thread::scope(|scope| {
        let listening = scope.spawn(|| listener.accept());
        let _crowd: Vec<_> =
            (0..lobby::MAX_SILENT + 16).map(|_| TcpStream::connect(&address).unwrap()).collect();
        parties.connect(&address, options(Party::Evaluator)).unwrap();
        listening.join().unwrap().unwrap();
    });
}

/// Returns a socket at a port that the system chooses, and its address.
fn bound() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// Makes a connection of the evaluator, before a hello is sent.
fn raw(parties: &Two, address: &str) -> TlsLane {
    let config = parties.evaluator.client_config(parties.garbler.public_key()).unwrap();
    client(TcpStream::connect(address).unwrap(), &config, Duration::from_secs(20)).unwrap()
}

/// Makes the listening garbler's end of a connection, before any hello.
fn handshake(parties: &Two, socket: TcpStream) -> io::Result<TlsLane> {
    let config = parties.garbler.server_config(parties.evaluator.public_key()).unwrap();
    TlsLane::handshake(
        socket,
        Connection::Server(ServerConnection::new(config).unwrap()),
        Duration::from_secs(20),
    )
}

/// Makes both ends of a connection before any hello, the garbler's end first.
fn ends(parties: &Two) -> (TlsLane, TlsLane) {
    let (listener, address) = bound();
    thread::scope(|scope| {
        let listening = scope.spawn(|| handshake(parties, listener.accept().unwrap().0).unwrap());
        let connected = raw(parties, &address);
        (listening.join().unwrap(), connected)
    })
}

/// Closes both ends at the same time, because each waits for the other.
fn close(one: impl Send, other: impl Send) {
    thread::scope(|scope| {
        scope.spawn(move || drop(one));
        drop(other);
    });
}

/// The hello of a further lane names its session, so that the lane can join no other session.
#[test]
fn each_connection_has_a_session_of_its_own() {
    let parties = two();
    let (a, b) = ends(&parties);
    let (c, d) = ends(&parties);
    let [first, second] = [(&a, &b), (&c, &d)].map(|(here, there)| {
        let session = here.session().unwrap();
        assert_eq!(session, there.session().unwrap());
        session
    });
    assert_ne!(first, second);
    close([a, c], [b, d]);
}

#[test]
fn replayed_and_foreign_lanes_are_refused() {
    let parties = two();
    let (listener, address) = parties.listener(EndpointOptions { lanes: 3, ..options(Party::Garbler) });
    thread::scope(|scope| {
        let listening = scope.spawn(|| listener.accept());
        let mut main = raw(&parties, &address);
        let hello = Hello { version: VERSION, party: Party::Evaluator, lane: 0, lanes: 3, session: [0; 32] };
        say(hello, &mut main).unwrap();
        assert_eq!(Hello::receive(&mut main).unwrap().lanes, 3);
        assert!(receive_sheet(&mut main).unwrap().is_empty());
        let session = main.session().unwrap();
        let open = |lane, session| {
            let mut connection = raw(&parties, &address);
            say(Hello { lane, session, ..hello }, &mut connection).unwrap();
            Hello::receive(&mut connection).map(|answer| (connection, answer.lane))
        };
        let (_first, index) = open(1, session).unwrap();
        assert_eq!(index, 1);
        // The cases of a lane number that is in use, that is missing, that is too large, and that belongs to
        // another session.
        for (lane, session) in [(1, session), (0, session), (3, session), (255, session), (2, [1; 32])] {
            assert_eq!(open(lane, session).err().map(|e| e.kind()), Some(ErrorKind::UnexpectedEof), "{lane}");
        }
        let (_second, index) = open(2, session).unwrap();
        assert_eq!(index, 2);
        assert_eq!(listening.join().unwrap().unwrap().lanes(), 3);
    });
}

#[test]
fn missing_lanes_hit_the_deadline() {
    let parties = two();
    let (listener, address) = parties.listener(EndpointOptions {
        lanes: 2,
        timeout: Duration::from_secs(1),
        ..options(Party::Garbler)
    });
    thread::scope(|scope| {
        let listening = scope.spawn(|| listener.accept());
        let mut main = raw(&parties, &address);
        let hello = Hello { version: VERSION, party: Party::Evaluator, lane: 0, lanes: 2, session: [0; 32] };
        say(hello, &mut main).unwrap();
        assert_eq!(kind(listening.join().unwrap()), ErrorKind::TimedOut);
    });
}

#[test]
fn roles_and_versions_must_fit() {
    let parties = two();
    let (listener, address) = parties.listener(options(Party::Garbler));
    thread::scope(|scope| {
        let listening = scope.spawn(|| listener.accept());
        assert!(matches!(parties.connect(&address, options(Party::Garbler)), Err(Error::Mismatch(_))));
        assert!(matches!(listening.join().unwrap(), Err(Error::Mismatch(_))));
        let listening = scope.spawn(|| listener.accept());
        let mut main = raw(&parties, &address);
        let hello =
            Hello { version: VERSION + 1, party: Party::Evaluator, lane: 0, lanes: 1, session: [0; 32] };
        say(hello, &mut main).unwrap();
        assert!(matches!(listening.join().unwrap(), Err(Error::Mismatch(_))));
    });
}

#[test]
fn row_19_hellos_must_agree() {
    let mismatch = |result: Result<(), Error>| match result {
        Err(Error::Mismatch(text)) => text,
        other => panic!("a mismatch was expected, not {other:?}"),
    };
    let [garbler, evaluator] = [Party::Garbler, Party::Evaluator].map(|party| Hello::first(&options(party)));
    garbler.agree(&evaluator).unwrap();
    for version in [VERSION - 1, VERSION + 1] {
        assert!(mismatch(garbler.agree(&Hello { version, ..evaluator })).contains("version"));
    }
    assert!(mismatch(garbler.agree(&garbler)).starts_with("both parties run as the garbler; start one"));
    assert!(
        mismatch(evaluator.agree(&evaluator)).starts_with("both parties run as the evaluator; start one")
    );
}

/// A visitor and a listener see each other's sheets and communicate, and the listener continues to wait. The
/// parties of a run see each other's sheets, too.
#[test]
fn a_visit_leaves_the_listener_waiting() {
    let parties = two();
    let (listener, address) = parties.listener(options(Party::Garbler));
    let (evaluator, garbler) = (&parties.evaluator, parties.garbler.public_key());
    let visits = |sheet: &[u8]| visit(&address, evaluator, garbler, &options(Party::Evaluator), sheet);
    thread::scope(|scope| {
        let listening = scope.spawn(|| {
            let long = vec![7; MAX_SHEET_BYTES];
            let mut visitor = listener.meet(&long, None).unwrap();
            assert!(visitor.visits && visitor.sheet == b"hers");
            visitor.channel.refuse("not so\u{1b}[31m").unwrap();
            drop(visitor);
            let mut peer = listener.meet(b"his", None).unwrap();
            assert!(!peer.visits && peer.sheet.is_empty());
            peer.channel.receive(Tag(7), 3).unwrap()
        });
        let mut met = visits(b"hers").unwrap();
        assert!(met.visits && met.sheet == vec![7; MAX_SHEET_BYTES]);
        let refused = met.channel.receive_first_into(Tag(1), &mut [0; 4]);
        assert!(matches!(&refused, Err(Error::Refused(why)) if why == "not so?[31m"), "{refused:?}");
        let options = options(Party::Evaluator);
        let Met { mut channel, sheet, visits, .. } =
            meet(&address, evaluator, garbler, &options, &[]).unwrap();
        assert!(!visits && sheet == b"his");
        channel.send(Tag(7), b"run").unwrap();
        channel.flush().unwrap();
        assert_eq!(listening.join().unwrap(), b"run");
    });
    let none = listener.meet(&[], Some(Instant::now() + Duration::from_millis(50)));
    assert!(matches!(none, Err(Error::Io(e)) if e.kind() == ErrorKind::TimedOut));
}

/// A listener that only accepts runs refuses visitors with a reason. A refusal is accepted only instead of a
/// first message.
#[test]
fn visitors_are_turned_away() {
    let parties = two();
    let (listener, address) = parties.listener(options(Party::Garbler));
    let (evaluator, garbler) = (&parties.evaluator, parties.garbler.public_key());
    thread::scope(|scope| {
        let listening = scope.spawn(|| listener.accept().unwrap());
        let mut met = visit(&address, evaluator, garbler, &options(Party::Evaluator), b"sheet").unwrap();
        let refused = met.channel.receive_first_into(Tag(1), &mut []);
        assert!(matches!(refused, Err(Error::Refused(why)) if why.contains("does not compare")));
        let mut peer = parties.connect(&address, options(Party::Evaluator)).unwrap();
        let mut own = listening.join().unwrap();
        peer.refuse("late").unwrap();
        let refused = own.receive(Tag(1), 4);
        assert!(refused.is_err_and(|error| error.is_cheat(Malformed::UnexpectedMessage)));
    });
}

/// A sheet whose stated length is too large is refused before memory is allocated.
#[test]
fn row_18_a_sheet_is_bounded() {
    let parties = two();
    let (listener, address) = parties.listener(options(Party::Garbler));
    thread::scope(|scope| {
        let listening = scope.spawn(|| listener.accept().unwrap());
        let config = parties.evaluator.client_config(parties.garbler.public_key()).unwrap();
        let socket = TcpStream::connect(&address).unwrap();
        let mut lane = client(socket, &config, Duration::from_secs(20)).unwrap();
        lane.write_all(&Hello::first(&options(Party::Evaluator)).to_bytes()).unwrap();
        lane.write_all(&(MAX_SHEET_BYTES as u32 + 1).to_le_bytes()).unwrap();
        lane.flush().unwrap();
        assert!(lane.read(&mut [0]).is_err(), "it is closed");
        drop(lane);
        parties.connect(&address, options(Party::Evaluator)).unwrap();
        listening.join().unwrap();
    });
}

#[test]
fn nobody_at_the_address() {
    let parties = two();
    let (listener, address) = parties.listener(options(Party::Garbler));
    drop(listener);
    assert_eq!(kind(parties.connect(&address, short(Party::Evaluator))), ErrorKind::ConnectionRefused);
    assert!(matches!(parties.connect("no port", short(Party::Evaluator)), Err(Error::Usage(_))));
    // An unknown host name may become known later, so the connection is tried until the timeout. No resolver
    // asks the network for a name of this length.
    let nowhere = format!("{}:1", "x".repeat(64));
    assert!(matches!(parties.connect(&nowhere, short(Party::Evaluator)), Err(Error::Io(_))));
    assert!(matches!(
        Listener::bind("no port", &parties.garbler, parties.evaluator.public_key(), &options(Party::Garbler)),
        Err(Error::Usage(_))
    ));
}

/// If one address does not answer, there is still time for the others.
#[test]
fn every_address_has_its_turn() {
    let seconds = Duration::from_secs;
    assert_eq!([turn(seconds(60), 1), turn(seconds(60), 2), turn(seconds(4), 2)], [TURN, TURN, seconds(2)]);
}

/// The client of a run, a visit or a further lane tries again if its connection ends before the listener has
/// answered. A full listener closes connections before or after their handshake.
#[test]
fn who_is_turned_away_tries_again() {
    let parties = two();
    let (socket, address) = bound();
    let config = parties.garbler.server_config(parties.evaluator.public_key()).unwrap();
    let (evaluator, garbler) = (&parties.evaluator, parties.garbler.public_key());
    let options = EndpointOptions { lanes: 2, ..options(Party::Evaluator) };
    let next = || greet(socket.accept().unwrap().0, config.clone(), Duration::from_secs(20)).unwrap();
    let answer =
        |guest: &mut Guest| say(Hello { party: Party::Garbler, ..guest.hello }, &mut guest.lane).unwrap();
    thread::scope(|scope| {
        let listening = scope.spawn(|| {
            // The visit comes first, and then the first and the second lane.
            for _ in 0..3 {
                drop(socket.accept().unwrap());
                drop(next());
                let mut guest = next();
                answer(&mut guest);
                if guest.hello.lane == 0 {
                    scope.spawn(move || guest.lane.read(&mut [0]));
                }
            }
        });
        let met = visit(&address, evaluator, garbler, &options, b"sheet").unwrap();
        assert!(met.visits && met.sheet.is_empty());
        assert_eq!(parties.connect(&address, options).unwrap().lanes(), 2);
        listening.join().unwrap();
    });
}

#[test]
fn a_taken_port_is_an_error() {
    let parties = two();
    let (_listener, address) = parties.listener(options(Party::Garbler));
    let second =
        Listener::bind(&address, &parties.garbler, parties.evaluator.public_key(), &options(Party::Garbler));
    assert_eq!(kind(second), ErrorKind::AddrInUse);
}

#[test]
fn bad_arguments_are_refused() {
    let Two { garbler, evaluator } = two();
    let (own, other) = (garbler.public_key(), evaluator.public_key());
    for (peer, lanes) in [(own, 1), (other, 0), (other, MAX_LANES + 1)] {
        let options = EndpointOptions { lanes, ..short(Party::Garbler) };
        let errors = [
            connect("127.0.0.1:1", &garbler, peer, &options).err(),
            visit("127.0.0.1:1", &garbler, peer, &options, &[]).err(),
            Listener::bind("127.0.0.1:0", &garbler, peer, &options).err(),
        ];
        assert!(errors.iter().all(|e| matches!(e, Some(Error::Usage(_)))), "{lanes} lanes: {errors:?}");
    }
}

/// Returns the garbler's end of a channel whose peer behaves as the test wants.
fn with_odd_peer(parties: &Two, timeout: Duration) -> (Channel, TlsLane) {
    let (listener, address) = parties.listener(EndpointOptions { timeout, ..options(Party::Garbler) });
    thread::scope(|scope| {
        let listening = scope.spawn(|| listener.accept().unwrap());
        let mut main = raw(parties, &address);
        let hello = Hello { version: VERSION, party: Party::Evaluator, lane: 0, lanes: 1, session: [0; 32] };
        say(hello, &mut main).unwrap();
        Hello::receive(&mut main).unwrap();
        assert!(receive_sheet(&mut main).unwrap().is_empty());
        (listening.join().unwrap(), main)
    })
}

/// Connects to a peer with the right key; `answer` changes the peer's answer to the hello of each connection,
/// by number.
fn with_odd_listener(lanes: u8, answer: impl Fn(usize, Hello) -> Hello + Sync) -> Result<Channel, Error> {
    let parties = two();
    let (socket, address) = bound();
    let config = parties.garbler.server_config(parties.evaluator.public_key()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut kept = Vec::new();
            for number in 0..usize::from(lanes) {
                let Ok((connection, _)) = socket.accept() else { break };
                let Ok(mut guest) = greet(connection, config.clone(), Duration::from_secs(20)) else { break };
                let garbler = Hello { party: Party::Garbler, ..guest.hello };
                if say(answer(number, garbler), &mut guest.lane).is_err() {
                    break;
                }
                kept.push(guest);
            }
        });
        let result = parties.connect(&address, EndpointOptions { lanes, ..options(Party::Evaluator) });
        // If the connecting party opened too few connections, these end the listener's wait.
        (0..lanes).for_each(|_| drop(TcpStream::connect(&address)));
        result
    })
}

#[test]
fn lanes_that_the_listener_confuses_are_refused() {
    assert_eq!(with_odd_listener(2, |_, hello| hello).unwrap().lanes(), 2);
    for lanes in [0, 3, u8::MAX] {
        let refused =
            with_odd_listener(2, |number, hello| if number == 0 { Hello { lanes, ..hello } } else { hello });
        assert_eq!(kind(refused), ErrorKind::InvalidData, "{lanes} lanes");
    }
    let another: [fn(Hello) -> Hello; 2] =
        [|hello| Hello { lane: 2, ..hello }, |hello| Hello { session: [1; 32], ..hello }];
    for change in another {
        let refused = with_odd_listener(2, |number, hello| if number == 1 { change(hello) } else { hello });
        assert_eq!(kind(refused), ErrorKind::InvalidData);
    }
}

#[test]
fn a_deadline_can_be_set_anew() {
    let (mut lane, mut peer) = ends(&two());
    peer.write_all(b"x").and_then(|()| peer.flush()).unwrap();
    // A byte has arrived, but the deadline has passed.
    lane.set_timeout(Duration::ZERO);
    assert_eq!(lane.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
    lane.set_timeout(Duration::from_secs(20));
    assert_eq!(lane.read(&mut [0]).unwrap(), 1);
    // The read must last this long, even if the socket itself returns earlier.
    lane.set_timeout(Duration::from_millis(150));
    assert_eq!(lane.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
    close(lane, peer);
}

/// The timeout of a channel and of a listener can be changed.
#[test]
fn a_timeout_can_be_set_anew() {
    let parties = two();
    let (mut a, b) = parties.pair(options(Party::Garbler), options(Party::Evaluator));
    a.set_timeout(Duration::ZERO);
    assert_eq!(kind(a.receive(TAG, 1)), ErrorKind::TimedOut);
    drop((a, b));
    let (mut listener, address) = parties.listener(short(Party::Garbler));
    listener.set_timeout(Duration::from_secs(20));
    thread::scope(|scope| {
        let accepted = scope.spawn(|| listener.accept().unwrap().receive(TAG, 1));
        let mut lane = raw(&parties, &address);
        say(Hello::first(&options(Party::Evaluator)), &mut lane).unwrap();
        // The peer sends no keep-alive frame for longer than the listener's first timeout.
        thread::sleep(2 * short(Party::Garbler).timeout);
        lane.write_all(&[TAG.0, 1, 0, 0, 0, b'x']).and_then(|()| lane.flush()).unwrap();
        assert_eq!(accepted.join().unwrap().unwrap(), b"x");
    });
}

/// While the peer accepts no bytes, its own bytes are read and are available afterwards.
#[test]
fn what_comes_while_the_peer_takes_nothing_is_kept() {
    let (mut lane, mut peer) = ends(&two());
    peer.write_all(b"x").and_then(|()| peer.flush()).unwrap();
    let data = vec![0; MAX_FRAME_BYTES];
    for _ in 0..2 {
        lane.set_timeout(Duration::from_millis(300));
        let error = (0..).find_map(|_| lane.write_all(&data).err()).unwrap();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
    lane.set_timeout(Duration::from_secs(5));
    let mut message = [0];
    lane.read_exact(&mut message).unwrap();
    assert_eq!(message, *b"x");
    close(lane, peer);
}

/// An error of the socket ends the wait. A pause does not.
#[test]
fn a_peer_that_is_gone_is_not_waited_for() {
    let parties = two();
    let (listener, address) = bound();
    let config = parties.garbler.server_config(parties.evaluator.public_key()).unwrap();
    let mut lane = thread::scope(|scope| {
        // The socket is closed right after the handshake, as if its process had ended.
        scope.spawn(|| {
            ServerConnection::new(config).unwrap().complete_io(&mut listener.accept().unwrap().0).unwrap()
        });
        raw(&parties, &address)
    });
    let error = (0..).find_map(|_| lane.write_all(b"x").and_then(|()| lane.flush()).err()).unwrap();
    assert_ne!(error.kind(), ErrorKind::TimedOut);
}

/// The protocol decides when it is over; before that, even an orderly close is an error.
#[test]
fn an_orderly_end_is_too_early() {
    let (mut lane, peer) = ends(&two());
    assert_eq!(lane.read(&mut []).unwrap(), 0);
    thread::scope(|scope| {
        scope.spawn(move || drop(peer));
        assert_eq!(lane.read(&mut [0]).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        drop(lane);
    });
}

#[test]
fn who_has_nothing_to_say_gives_signs_of_life() {
    let (lane, mut peer) = ends(&two());
    let lanes = TlsLane::join(vec![lane]).unwrap();
    let mut sign = [0; SIGN_OF_LIFE.len()];
    peer.read_exact(&mut sign).unwrap();
    assert_eq!(sign, SIGN_OF_LIFE);
    close(lanes, peer);
}

/// If a party is asked to stop, it waits for nothing more: no connection, no answer, no message, and not
/// until the peer closes.
#[test]
fn who_is_asked_to_stop_waits_no_longer() {
    let parties = two();
    let stops_soon = |wait: &(dyn Fn() -> Result<(), Error> + Sync)| {
        let stop = brickwork_base::stop::Stop::new();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| stop.enter(wait));
            thread::sleep(Duration::from_millis(150));
            let asked = Instant::now();
            stop.ask();
            assert_eq!(kind(waiting.join().unwrap()), ErrorKind::ConnectionAborted);
            assert!(asked.elapsed() < Duration::from_secs(5), "the deadline is 20 s");
        });
    };
    let (listener, address) = parties.listener(options(Party::Garbler));
    stops_soon(&|| listener.accept().map(drop));
    let nobody = bound().1;
    stops_soon(&|| parties.connect(&nobody, options(Party::Evaluator)).map(drop));
    drop(listener);
    stops_soon(&|| parties.connect(&address, options(Party::Evaluator)).map(drop));
    let (a, b) = parties.pair(options(Party::Garbler), options(Party::Evaluator));
    let a = Mutex::new(Some(a));
    stops_soon(&|| {
        let mut a = a.lock().unwrap().take().unwrap();
        a.receive(TAG, 1).map(drop)
    });
    drop(b);
}

#[test]
fn a_silent_peer_hits_the_deadline() {
    let parties = two();
    let (mut channel, _peer) = with_odd_peer(&parties, Duration::from_secs(1));
    assert_eq!(kind(channel.receive(TAG, 1)), ErrorKind::TimedOut);
}

#[test]
fn a_trickling_peer_hits_the_deadline() {
    let parties = two();
    let (mut channel, mut peer) = with_odd_peer(&parties, Duration::from_secs(1));
    thread::scope(|scope| {
        let receiving = scope.spawn(move || kind(channel.receive(TAG, 1000)));
        peer.write_all(&[TAG.0, 0xe8, 3, 0, 0]).unwrap();
        // Bytes arrive singly, each well before the deadline, until the channel has closed.
        while peer.write_all(&[1]).and_then(|()| peer.flush()).is_ok() && !receiving.is_finished() {
            thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(receiving.join().unwrap(), ErrorKind::TimedOut);
    });
}

#[test]
fn a_peer_that_takes_nothing_hits_the_deadline() {
    let parties = two();
    let (mut channel, _peer) = with_odd_peer(&parties, Duration::from_secs(1));
    let data = vec![0; MAX_FRAME_BYTES];
    let error = (0..1000).find_map(|_| channel.send(TAG, &data).and_then(|()| channel.flush()).err());
    assert_eq!(kind(error.map_or(Ok(()), Err)), ErrorKind::TimedOut);
}

#[test]
fn a_busy_peer_is_not_taken_for_a_stalled_one() {
    let parties = two();
    let busy = EndpointOptions { timeout: Duration::from_millis(1500), ..options(Party::Garbler) };
    let (mut a, mut b) = parties.pair(busy, options(Party::Evaluator));
    thread::scope(|scope| {
        let waiting = scope.spawn(move || a.receive(TAG, 1).map(|message| (message, a.received_bytes())));
        thread::sleep(Duration::from_millis(4000));
        b.send(TAG, b"x").unwrap();
        b.flush().unwrap();
        assert_eq!(waiting.join().unwrap().unwrap(), (b"x".to_vec(), 6));
    });
}

#[test]
fn a_writer_waits_for_a_busy_reader() {
    let parties = two();
    let busy = EndpointOptions { timeout: Duration::from_millis(1500), ..options(Party::Garbler) };
    let (mut a, mut b) = parties.pair(busy, options(Party::Evaluator));
    let data: Vec<u8> = (0..32 * MAX_FRAME_BYTES).map(|i| (i % 249) as u8).collect();
    thread::scope(|scope| {
        let writing = scope.spawn(|| a.send_bulk(TAG, &data));
        thread::sleep(Duration::from_millis(4000));
        assert!(!writing.is_finished());
        assert!(b.receive(TAG, data.len()).unwrap() == data);
        writing.join().unwrap().unwrap();
    });
}

#[test]
fn a_flipped_record_ends_the_connection() {
    // A relay between the parties changes one byte of the first record after the handshake.
    let parties = two();
    let (listener, address) = parties.listener(options(Party::Garbler));
    let (relay, through) = bound();
    thread::scope(|scope| {
        let listening = scope.spawn(|| listener.accept().unwrap());
        scope.spawn(|| {
            let (mut from, _) = relay.accept().unwrap();
            let mut to = TcpStream::connect(&address).unwrap();
            let (mut back_from, mut back_to) = (to.try_clone().unwrap(), from.try_clone().unwrap());
            let back = thread::spawn(move || io::copy(&mut back_from, &mut back_to));
            let mut buffer = [0; 1 << 16];
            while let Ok(n @ 1..) = from.read(&mut buffer) {
                if n > 1000 && buffer[0] == 23 {
                    buffer[n / 2] ^= 1;
                }
                if to.write_all(&buffer[..n]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
            drop(back);
        });
        let mut b = parties.connect(&through, options(Party::Evaluator)).unwrap();
        let mut a = listening.join().unwrap();
        b.send(TAG, &[0; 5000]).unwrap();
        b.flush().unwrap();
        assert_eq!(kind(a.receive(TAG, 5000)), ErrorKind::InvalidData);
    });
}

#[test]
fn throughput() {
    // The test checks that no data is lost or reordered. The measured rate is only printed (`--nocapture`).
    let parties = two();
    for lanes in [1, 2] {
        let (mut a, mut b) = parties.pair(
            EndpointOptions { lanes, ..options(Party::Garbler) },
            EndpointOptions { lanes, ..options(Party::Evaluator) },
        );
        let data: Vec<u8> = (0..32usize << 20).map(|i| (i ^ i >> 8 ^ i >> 16) as u8).collect();
        let mut copy = vec![0; data.len()];
        let rounds = if cfg!(debug_assertions) { 1 } else { 16 };
        let start = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| (0..rounds).for_each(|_| a.send_bulk(TAG, &data).unwrap()));
            (0..rounds).for_each(|_| b.receive_bulk_into(TAG, &mut copy).unwrap());
        });
        let rate = (rounds * data.len()) as f64 / start.elapsed().as_secs_f64() / f64::from(1 << 30);
        println!("{lanes} lanes: {rate:.2} GiB/s");
        assert!(copy == data);
    }
}
