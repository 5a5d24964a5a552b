//! Tests of greetings and reports.
//!
//! Rows are those of the table of attacks (docs/concepts/security.md, section 14).

use brickwork_base::{Error, Party, Security};
use brickwork_wire::{Channel, Departures, FRAME_HEADER_BYTES, Tag, memory_pair};

use crate::*;

/// A protocol for tests that nobody runs.
pub(crate) struct Empty;

impl SessionProtocol for Empty {
    const NAME: &'static str = "empty";
    const CODE: [u8; 2] = *b"EM";
    const PHASES: &'static [&'static str] = &["setup", "prepare", "decode"];
    const DEPARTURES: [Departures; 2] = [Departures { input: &[], outputs: &[] }; 2];
    type Proposal = ();
    type Limits<'a> = ();
    type Aside = ();

    fn garbler(
        _: Channel,
        _: &AgreedJob,
        _: &(),
        _: &[bool],
        _: Box<dyn Observer>,
    ) -> Result<Report<Self>, Error> {
        unreachable!("nobody runs it")
    }

    fn evaluator(
        _: Channel,
        _: &AgreedJob,
        _: &(),
        _: &[bool],
        _: Box<dyn Observer>,
    ) -> Result<Report<Self>, Error> {
        unreachable!("nobody runs it")
    }
}

/// A flight can contain messages of several phases. The report adds up each phase, at either party.
#[test]
fn a_report_counts_each_phase_once_and_in_order() {
    const TAG: Tag = Tag(7);
    for role in [Party::Garbler, Party::Evaluator] {
        let (left, mut peer) = memory_pair();
        let observer = Box::new(Unobserved);
        let mut run = Metered::new::<Empty>(left, role, observer);
        for (phase, sent, received) in
            [("prepare", 10, 0), ("setup", 20, 3), ("decode", 0, 0), ("prepare", 5, 4)]
        {
            run.phase(phase);
            run.channel.send(TAG, &vec![0; sent]).unwrap();
            peer.send(TAG, &vec![0; received]).unwrap();
            peer.flush().unwrap();
            run.channel.receive(TAG, received).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let reports = run.finish().unwrap();
        let told: Vec<_> =
            reports.iter().map(|r| (&*r.name, r.garbler_sent_bytes, r.evaluator_sent_bytes)).collect();
        let header = FRAME_HEADER_BYTES as u64;
        let expected = [
            ("setup", 20 + header, 3 + header),
            ("prepare", 15 + 2 * header, 4 + 2 * header),
            ("decode", header, header),
        ];
        assert_eq!(
            told,
            expected.map(|(name, sent, received)| if role == Party::Garbler {
                (name, sent, received)
            } else {
                (name, received, sent)
            })
        );
        assert!(reports.iter().all(|r| r.seconds > 0.0), "{reports:?}");
        // The spans have the same sums of seconds and bytes, and are in order.
        let mut spans: Vec<_> =
            reports.iter().flat_map(|r| r.spans.iter().map(move |span| (&*r.name, span))).collect();
        spans.sort_by(|(_, one), (_, other)| one.began_seconds.total_cmp(&other.began_seconds));
        assert_eq!(
            spans.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["prepare", "setup", "decode", "prepare"]
        );
        assert!(spans.windows(2).all(|pair| pair[0].1.ended_seconds == pair[1].1.began_seconds));
        let (own, other) = match role {
            Party::Garbler => ("garbler", "evaluator"),
            Party::Evaluator => ("evaluator", "garbler"),
        };
        for report in &reports {
            let lasted = report.spans.iter().map(|span| span.ended_seconds - span.began_seconds).sum::<f64>();
            assert!((lasted - report.seconds).abs() < 1e-9, "{report:?}");
            let flights = || report.spans.iter().flat_map(|span| &span.flights);
            let bytes = |from| flights().filter(|f| f.from == from).map(|f| f.bytes).sum::<u64>();
            assert_eq!(bytes("garbler"), report.garbler_sent_bytes);
            assert_eq!(bytes("evaluator"), report.evaluator_sent_bytes);
            for span in &report.spans {
                assert_eq!(span.flights.iter().map(|f| &*f.from).collect::<Vec<_>>(), [own, other]);
                for flight in &span.flights {
                    assert!(span.began_seconds <= flight.began_seconds, "{span:?}");
                    assert!(flight.began_seconds <= flight.ended_seconds, "{span:?}");
                    assert!(flight.ended_seconds <= span.ended_seconds, "{span:?}");
                    assert!((flight.waited_seconds > 0.0) == (flight.from == other), "{span:?}");
                }
            }
        }
    }
}

/// A session keeps a limited number of spans, however long it lasts. The sums still count everything.
#[test]
fn a_long_session_keeps_few_spans() {
    let (left, _peer) = memory_pair();
    let mut run = Metered::new::<Empty>(left, Party::Garbler, Box::new(Unobserved));
    for _ in 0..3000 {
        run.phase("prepare");
        run.channel.send(Tag(7), &[]).unwrap();
    }
    let report = run.finish().unwrap().remove(0);
    assert_eq!(report.garbler_sent_bytes, 3000 * FRAME_HEADER_BYTES as u64);
    assert_eq!(report.spans.len(), 512);
    assert!(
        report.spans.iter().map(|span| span.ended_seconds - span.began_seconds).sum::<f64>() < report.seconds
    );
}

/// Time in which the peer is late counts as waiting, and this party's own work does not.
#[test]
fn waiting_is_what_the_peer_lets_wait() {
    use std::time::Duration;
    let (left, mut peer) = memory_pair();
    let mut run = Metered::new::<Empty>(left, Party::Garbler, Box::new(Unobserved));
    run.phase("setup");
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            peer.send(Tag(7), &[1]).unwrap();
            peer.send(Tag(7), &[2]).unwrap();
            peer.flush().unwrap();
            peer
        });
        run.channel.receive(Tag(7), 1).unwrap();
        std::thread::sleep(Duration::from_millis(60));
        run.channel.receive(Tag(7), 1).unwrap();
    });
    let report = run.finish().unwrap().remove(0);
    let [flight] = &report.spans[0].flights[..] else { panic!("{report:?}") };
    let lasted = flight.ended_seconds - flight.began_seconds;
    assert!(flight.waited_seconds >= 0.1, "{flight:?}");
    assert!(lasted >= 0.16 && flight.waited_seconds <= lasted - 0.055, "{flight:?}");
}

const TERMS: Terms = Terms {
    security: Security::of(40),
    threads: 1,
    table_memory: 0,
    identities: [[1; 32], [2; 32]],
    post_quantum: false,
};

/// The greeting that a party sent, its digest, and the result of reading the peer's greeting.
type Greeted = (Vec<u8>, [u8; 32], Result<Answer, Error>);

/// Runs the greeting between a garbler and an evaluator. One of the messages may be altered on its way.
fn greeted(alter: impl Fn(Party, &mut Vec<u8>) + Copy + Send + 'static) -> [Greeted; 2] {
    let (mut left, mut right) = memory_pair();
    let greet = |channel: &mut Channel, role: Party| {
        let (sent, seen) = std::sync::mpsc::channel();
        channel.set_tamper(Box::new(move |_, hello| {
            sent.send(hello.clone()).unwrap();
            alter(role, hello);
        }));
        let greeting = Greeting::send::<Empty>(
            channel,
            role,
            &TERMS,
            &Digests { stock: false, program: [3; 32], parameters: [4 + role as u8; 32] },
        )
        .unwrap();
        channel.flush().unwrap();
        (seen.recv().unwrap(), greeting.digest(), greeting)
    };
    let (garbler, evaluator) = (greet(&mut left, Party::Garbler), greet(&mut right, Party::Evaluator));
    [(garbler, left), (evaluator, right)]
        .map(|((sent, digest, greeting), mut channel)| (sent, digest, greeting.answered(&mut channel)))
}

/// Row 16 of the table of attacks: a session's identifier depends on both greetings, the garbler's first,
/// each with its nonce. The expected value is fixed: if it changes, the protocol has changed.
#[test]
fn row_16_the_session_is_named_after_both_greetings() {
    let [(garbler, mine, at_garbler), (evaluator, other, at_evaluator)] = greeted(|_, _| ());
    let (at_garbler, at_evaluator) = (at_garbler.unwrap(), at_evaluator.unwrap());
    let name =
        blake3::derive_key("brickwork 2026-11 session identifier", &[&garbler[..], &evaluator].concat());
    assert_eq!((at_garbler.session, at_evaluator.session), (name, name));
    assert_eq!((mine, other), (at_evaluator.digest, at_garbler.digest));
    assert_eq!(
        [mine, other],
        [garbler, evaluator].map(|hello| blake3::derive_key("brickwork 2026-11 greeting", &hello))
    );
    assert_eq!((at_garbler.parameters, at_evaluator.parameters), ([5; 32], [4; 32]));
    assert_ne!(greeted(|_, _| ())[0].1, mine, "each greeting has a new nonce");
}

/// Row 19 of the table of attacks: if only one party has a store, both users are told which party it is.
#[test]
fn row_19_a_store_on_one_side_only_is_named() {
    for liar in [Party::Garbler, Party::Evaluator] {
        let [garbler, evaluator] = greeted(move |role, hello| hello[13] ^= u8::from(role == liar));
        let (told, other) =
            if liar == Party::Garbler { (evaluator.2, garbler.2) } else { (garbler.2, evaluator.2) };
        assert!(matches!(told, Err(Error::Mismatch(why)) if why.contains("peer was started with --store")));
        assert!(other.is_ok());
    }
}

/// Row 19 of the table of attacks: if only one party wants base OTs from lattices, both users are told which
/// party it is.
#[test]
fn row_19_post_quantum_on_one_side_only_is_named() {
    for liar in [Party::Garbler, Party::Evaluator] {
        let [garbler, evaluator] = greeted(move |role, hello| hello[13] ^= if role == liar { 2 } else { 0 });
        let (told, other) =
            if liar == Party::Garbler { (evaluator.2, garbler.2) } else { (garbler.2, evaluator.2) };
        assert!(matches!(told, Err(Error::Mismatch(why)) if why.contains("with --post-quantum")));
        assert!(other.is_ok());
    }
}

/// Each field of a greeting is altered by itself: the role, which is 0 or 1, the two bits of the modes, and
/// every byte of the padding.
#[test]
fn row_19_each_field_of_a_greeting_counts() {
    for (byte, why) in [
        (0, "does not run Brickwork"),
        (7, "version"),
        (8, "--security"),
        (12, "malformed"),
        (13, "malformed"),
        (14, "protocol"),
        (15, "protocol"),
        (16, "program"),
        (47, "program"),
        (80, "public keys"),
        (111, "public keys"),
        (144, "divides the promise among"),
        (147, "divides the promise among"),
    ] {
        for liar in [Party::Garbler, Party::Evaluator] {
            let results = greeted(move |role, hello| hello[byte] ^= if role == liar { 4 } else { 0 });
            for (role, (_, _, result)) in [Party::Garbler, Party::Evaluator].into_iter().zip(results) {
                match result {
                    Err(Error::Mismatch(reason)) => {
                        assert!(role != liar && reason.contains(why), "byte {byte}: {reason}")
                    }
                    result => assert!(role == liar && result.is_ok(), "byte {byte} is not checked"),
                }
            }
        }
    }
}
