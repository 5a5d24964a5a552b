//! The connection is cut before each message in turn. The error of each party tells in which phase the
//! connection was cut. It also tells whether this party's input had been sent, and whether the peer may have
//! the peer's outputs. A relay between the parties records the messages that were really sent.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

use brickwork::disk::Store;
use brickwork::ot::Cot;
use brickwork::protocol::{AgreedJob, Observer};
use brickwork::wire::{Channel, FRAME_HEADER_BYTES, over};
use brickwork::{authenticated, compgc, duplo, jimu, lego, semi_honest};

use super::disk::{Folders, KEY};
use super::*;

const BOTH: [Party; 2] = [Party::Garbler, Party::Evaluator];

/// For each party, the first message that depends on its input, and the last message before the peer may have
/// its outputs.
type Tags = [[u8; 2]; 2];

/// One party's part in a run.
type Act<'a> = &'a (dyn Fn(Party, Channel, Phases, &Folders) -> Result<(), Error> + Sync);

/// Remembers the current phase.
#[derive(Clone, Default)]
struct Phases(Arc<Mutex<&'static str>>);

impl Observer for Phases {
    fn phase(&mut self, name: &'static str) {
        *self.0.lock().unwrap() = name;
    }

    fn progress(&mut self, _: u64, _: u64) {}
}

/// Carries messages of one party until the connection is cut, at the latest before the message of this
/// number. Returns the tags of all messages that the party sent, even after the cut.
fn carry(mut from: UnixStream, mut to: UnixStream, back: &UnixStream, mut left: usize) -> Vec<u8> {
    let mut tags = Vec::new();
    let mut header = [0; FRAME_HEADER_BYTES];
    while from.read_exact(&mut header).is_ok() {
        let [tag, length @ ..] = header;
        tags.push(tag);
        if left == 0 {
            // Both parties then see the end of the connection.
            let _ = (to.shutdown(Shutdown::Write), back.shutdown(Shutdown::Write));
        }
        let mut payload = vec![0; u32::from_le_bytes(length) as usize];
        if from.read_exact(&mut payload).is_err() {
            break;
        }
        if left > 0 {
            left -= 1;
            let _ = to.write_all(&header).and_then(|()| to.write_all(&payload));
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    tags
}

/// The end of a party: its result, the phase in which it ended, and the tags of its messages.
type Ended = (Result<(), Error>, &'static str, Vec<u8>);

/// Both parties act over a relay, which cuts the connection before a message of one of them.
fn talk(act: Act, cut: Option<(Party, usize)>) -> [Ended; 2] {
    let folders = Folders::new();
    let pairs = BOTH.map(|_| UnixStream::pair().unwrap());
    let relay = |party: Party| pairs[party as usize].1.try_clone().unwrap();
    let phases = BOTH.map(|_| Phases::default());
    let (acted, carried) = std::thread::scope(|scope| {
        let carriers = BOTH.map(|party| {
            let left = cut.filter(|(of, _)| *of == party).map_or(usize::MAX, |(_, k)| k);
            let (from, to, back) = (relay(party), relay(BOTH[1 - party as usize]), relay(party));
            scope.spawn(move || carry(from, to, &back, left))
        });
        let parties = BOTH.map(|party| {
            let (socket, phases) = (&pairs[party as usize].0, phases[party as usize].clone());
            let folders = &folders;
            scope.spawn(move || {
                let channel = over(socket.try_clone().unwrap(), socket.try_clone().unwrap()).unwrap();
                let acted = act(party, channel, phases, folders);
                // The pair holds another handle of this socket, so it must be shut down explicitly.
                let _ = socket.shutdown(Shutdown::Both);
                acted
            })
        });
        (parties.map(|party| party.join().unwrap()), carriers.map(|carrier| carrier.join().unwrap()))
    });
    let phases = phases.map(|phases| *phases.0.lock().unwrap());
    let mut sides = acted.into_iter().zip(phases).zip(carried);
    [(); 2].map(|()| sides.next().map(|((acted, phase), tags)| (acted, phase, tags)).unwrap())
}

/// Cuts the connection before each message in turn.
fn play(name: &str, departures: Tags, act: Act) {
    let honest = talk(act, None);
    assert!(honest.iter().all(|(result, ..)| result.is_ok()), "{name}: {honest:?}");
    // For each party, how many errors came after neither, one, or both of its two messages.
    let mut seen = [[0; 3]; 2];
    for party in BOTH {
        for k in 0..honest[party as usize].2.len() {
            let ended = talk(act, Some((party, k)));
            for of in BOTH {
                let (Err(error), phase, sent) = &ended[of as usize] else { continue };
                let place = format!("{name}: {of:?}, cut before message {k} of {party:?}: {error}");
                let standing = error.standing().unwrap_or_else(|| panic!("{place}"));
                assert_eq!(standing.phase, *phase, "{place}");
                let [input, outputs] = departures[of as usize].map(|tag| sent.contains(&tag));
                assert_eq!(standing.input_left, input, "{place}: {sent:?}");
                assert_eq!(standing.peer_may_have_outputs, outputs, "{place}: {sent:?}");
                let peer_is_done = ended[1 - of as usize].0.is_ok();
                assert!(!peer_is_done || standing.peer_may_have_outputs, "{place}");
                seen[of as usize][usize::from(input) + usize::from(outputs)] += 1;
            }
        }
    }
    // The evaluator waits for nothing after its last message, which gives the garbler its outputs. So the
    // evaluator has no error there.
    let [garbler, evaluator] = seen;
    assert!(garbler[0] > 0 && garbler[2] > 0 && evaluator[0] > 0 && evaluator[1] > 0, "{name}: {seen:?}");
}

#[test]
fn row_04_a_broken_line_says_what_has_left() {
    let program = program(0, Recipient::Both);
    let job = AgreedJob::new(program.clone(), 40, terms().identities);
    let input = vec![true; WIDTH as usize];
    play("semi-honest", [[161, 163], [24, 164]], &|party, channel, phases, _| match party {
        Party::Garbler => semi_honest::garbler(channel, &job, 1, &input, phases).map(drop),
        Party::Evaluator => semi_honest::evaluator(channel, &job, 1, &input, phases).map(drop),
    });
    play("duplo", [[61, 61], [60, 62]], &|party, channel, phases, _| match party {
        Party::Garbler => duplo::garbler(channel, &job, &input, phases).map(drop),
        Party::Evaluator => duplo::evaluator(channel, &job, &input, phases).map(drop),
    });
    let cot = Cot::default();
    play("authenticated", [[139, 142], [138, 142]], &|party, channel, phases, _| match party {
        Party::Garbler => authenticated::garbler(channel, &job, cot, &input, phases).map(drop),
        Party::Evaluator => authenticated::evaluator(channel, &job, cot, &input, phases).map(drop),
    });
    play("lego", [[214, 214], [213, 215]], &|party, channel, phases, _| match party {
        Party::Garbler => lego::garbler(channel, &job, &input, phases).map(drop),
        Party::Evaluator => lego::evaluator(channel, &job, &input, phases).map(drop),
    });
    let unit = jimu::Unit::ALL[0];
    play("jimu", [[234, 234], [233, 235]], &|party, channel, phases, _| match party {
        Party::Garbler => jimu::garbler(channel, &job, unit, &input, phases).map(drop),
        Party::Evaluator => jimu::evaluator(channel, &job, unit, &input, phases).map(drop),
    });
    let linking = compgc::Linking::Standard;
    play("compgc", [[184, 187], [183, 188]], &|party, channel, phases, _| match party {
        Party::Garbler => compgc::garbler(channel, &job, linking, &input, phases).map(drop),
        Party::Evaluator => compgc::evaluator(channel, &job, linking, &input, phases).map(drop),
    });
}

/// The OTs of a store are random and do not depend on an input. The input leaves with the corrections, later.
#[test]
fn row_04_stock_is_no_input() {
    let program = program(0, Recipient::Both);
    let input = vec![true; WIDTH as usize];
    play("semi-honest from stock", [[161, 163], [165, 164]], &|party, channel, phases, folders| {
        let store = Store::open(&folders.of(party), &KEY)?;
        let line = semi_honest::Stocked::open(party, channel, &store, &terms(), phases)?;
        line.run(&program, 1, &input, semi_honest::Lacking::Make)?.1.close().map(drop)
    });
}
