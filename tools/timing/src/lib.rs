//! Tests that secrets stay secret: freed memory is erased, and no output shows a secret. The library plays a
//! run and returns its secrets.
#![forbid(unsafe_code)]

pub mod welch;

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::path::Path;
use std::sync::{Arc, Mutex};

use brickwork::circuit::{Bit, Builder, Component, Party, Port, Program, ProgramBuilder, Recipient, Type};
use brickwork::disk::{Store, StoreKey};
use brickwork::duplo::Report;
use brickwork::duplo::adversary::{Hooks, Point, evaluator, garbler, stocked, works};
use brickwork::duplo::{Lacking, Maker, Request};
use brickwork::protocol::{AgreedJob, TABLE_MEMORY, Terms, Unobserved};
use brickwork::wire::Channel;
use brickwork::{ProtocolError as Error, Security};
use zeroize::Zeroizing;

/// The secrets of a run that is being played.
pub type SharedSecrets = Arc<Mutex<RunSecrets>>;

/// The secrets of a run, as the hooks report them; sent bytes are not secrets.
#[derive(Default)]
pub struct RunSecrets {
    /// The values that were reported at each point, with the number of the reporter: 0 for the party's
    /// session, from 1 for its makers.
    at: Vec<(usize, Point, Vec<u128>)>,
    /// Hashes of every 16 consecutive sent bytes. This set grows, and so parts of it are freed in the memory
    /// that is searched for secrets. So it must not contain the bytes themselves.
    sent: HashSet<u64>,
    hasher: BuildHasherDefault<DefaultHasher>,
}

/// The number of the party's session. It reports secrets if there is no maker, and otherwise the epoch's
/// offsets.
const SESSION: usize = 0;

impl RunSecrets {
    fn note(&mut self, who: usize, point: Point, bytes: &[u8]) {
        if !bytes.is_empty() && bytes.len().is_multiple_of(16) {
            let values =
                bytes.chunks_exact(16).map(|value| u128::from_le_bytes(value.try_into().expect("16 bytes")));
            self.at.push((who, point, values.collect()));
        }
    }

    /// Returns every label that the reported values determine, and every offset.
    fn finish(&self) -> HashMap<u128, &'static str> {
        let who: HashSet<usize> = self.at.iter().map(|(who, ..)| *who).collect();
        let mut known: HashMap<_, _> = who.into_iter().flat_map(|who| self.noted_by(who)).collect();
        known.retain(|secret, _| !self.sent.contains(&self.hasher.hash_one(secret)) && *secret > 1);
        known
    }

    fn noted_by(&self, who: usize) -> HashMap<u128, &'static str> {
        let find = |who, point| self.at.iter().find(|(by, at, _)| (*by, *at) == (who, point));
        let values = |point| find(who, point).map_or(&[][..], |(.., values)| values);
        let offset = |point| find(SESSION, point).expect("the offsets of an epoch").2[0];
        let mut known = HashMap::new();
        let wires = |name, values: &[u128], offset: &dyn Fn(usize) -> u128| -> Vec<(u128, &'static str)> {
            // Values that belong to an opened offset are not secret any more.
            let hidden = values
                .iter()
                .enumerate()
                .filter(|(k, _)| !self.sent.contains(&self.hasher.hash_one(offset(*k))));
            let labels = hidden.flat_map(|(k, &value)| [value, value & !1, value & !1 ^ offset(k)]);
            labels.map(|label| (label, name)).collect()
        };
        let (delta_ka, delta_ot) = (offset(Point::KaOffset), offset(Point::OtOffset));
        known.extend(wires("the wire of a plain authenticator", values(Point::PlainHashed), &|_| delta_ka));
        let offsets = values(Point::InputOffsets);
        known.extend(wires("the wire of an input authenticator", values(Point::InputWires), &|k| offsets[k]));
        for id in 0..COMPONENTS {
            let (offsets, outputs) = (values(Point::GarbledOffsets(id)), values(Point::CommittedOutputs(id)));
            let each = outputs.len() / offsets.len().max(1);
            known.extend(wires("an output wire of a copy", outputs, &|k| offsets[k / each]));
            known.extend(offsets.iter().map(|&offset| (offset, "the offset of a copy")));
        }
        known.extend(offsets.iter().map(|&offset| (offset, "the offset of an input authenticator")));
        known.extend(
            values(Point::OtLabels)
                .iter()
                .flat_map(|&r| [r, r ^ delta_ot])
                .map(|label| (label, "a label of the OTs")),
        );
        known.extend([(delta_ka, "the offset of the authenticators"), (delta_ot, "the offset of the OTs")]);
        known
    }
}

/// The number of the program's components.
const COMPONENTS: usize = 2;

/// Returns a program with 64 input bits of each party, two kinds of component, and outputs for all
/// recipients.
fn program() -> Arc<Program> {
    let component = |name: &str, circuit: &dyn Fn(&mut Builder, &[Bit]) -> Vec<Bit>| {
        let mut builder = Builder::new(2);
        let bits = builder.all_inputs();
        let outputs = circuit(&mut builder, &bits);
        Component {
            name: name.into(),
            inputs: vec![Port::new("in", Type::Uint(2))],
            outputs: vec![Port::new("out", Type::Uint(outputs.len() as u32))],
            circuit: Arc::new(builder.finish(&outputs).unwrap()),
        }
    };
    let port = |name: &str| vec![Port::new(name, Type::Uint(64))];
    let mut program = ProgramBuilder::new("secrets", port("x"), port("y")).unwrap();
    let and = program.component(component("and", &|b, w| vec![b.and(w[0], w[1])])).unwrap();
    let both =
        program.component(component("both", &|b, w| vec![b.and(w[0], w[1]), b.xor(w[0], w[1])])).unwrap();
    let mut results: Vec<u32> = (0..32).map(|i| program.slot(and, &[i, 64 + i]).unwrap()).collect();
    results.extend((32..64).map(|i| program.slot(both, &[i, 64 + i]).unwrap()));
    for (k, to) in [Recipient::Garbler, Recipient::Evaluator, Recipient::Both].into_iter().enumerate() {
        program
            .output(Port::new(format!("z{k}"), Type::Uint(21)), to, results[21 * k..21 * (k + 1)].to_vec())
            .unwrap();
    }
    Arc::new(program.finish().unwrap())
}

/// Returns the garbler's input in the run.
pub fn garbler_input() -> Zeroizing<Vec<bool>> {
    Zeroizing::new(input(3))
}

/// Returns the evaluator's input in the run.
pub fn evaluator_input() -> Zeroizing<Vec<bool>> {
    Zeroizing::new(input(5))
}

/// Returns bits without a pattern, so that they do not occur by chance elsewhere.
fn input(seed: u64) -> Vec<bool> {
    (0..64u64)
        .map(|i| (i + 1).wrapping_mul(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40 & 1 == 1)
        .collect()
}

/// Runs a program over these ends of a channel, and notes its secrets. Returns the reports of the garbler and
/// the evaluator.
///
/// # Panics
/// If the run fails.
pub fn play(ends: (Channel, Channel), secrets: &SharedSecrets) -> [Report; 2] {
    let job = AgreedJob { threads: 2, ..AgreedJob::new(program(), 40, IDENTITIES) };
    let (left, right) = watched(ends, secrets);
    std::thread::scope(|scope| {
        let job = &job;
        let garbler = scope.spawn(move || {
            garbler(left, job, &garbler_input(), noting(secrets, SESSION)).expect("an honest run")
        });
        let evaluator =
            evaluator(right, job, &evaluator_input(), noting(secrets, SESSION)).expect("an honest run");
        [garbler.join().expect("no panic"), evaluator]
    })
}

/// Makes stock and, over another connection, runs the program from the stock; notes the secrets. Returns the
/// outputs of the garbler and the evaluator.
///
/// # Panics
/// If anything fails.
pub fn play_from_stock(ends: impl Fn() -> (Channel, Channel), secrets: &SharedSecrets) -> [Vec<bool>; 2] {
    let (program, folder) = (program(), tempfile::tempdir().expect("a temporary folder"));
    let stock = stock_for(&program);
    let party = |party: Party, channel, input: Option<Zeroizing<Vec<bool>>>| -> Result<Vec<bool>, Error> {
        let store = store(folder.path(), party)?;
        let session = stocked(party, channel, &store, &TERMS, Unobserved, noting(secrets, SESSION))?;
        let Some(input) = input else {
            return session.preprocess(std::slice::from_ref(&stock))?.1.close().map(|_| Vec::new());
        };
        let (done, session) = session.expect(&program)?.run(&program, &input, Lacking::Refuse)?;
        session.close().map(|_| done.outputs)
    };
    let connect = |inputs: [Option<Zeroizing<Vec<bool>>>; 2]| {
        let ((left, right), [x, y]) = (watched(ends(), secrets), inputs);
        std::thread::scope(|scope| {
            let garbler = scope.spawn(|| party(Party::Garbler, left, x).expect("an honest garbler"));
            let evaluator = party(Party::Evaluator, right, y).expect("an honest evaluator");
            [garbler.join().expect("no panic"), evaluator]
        })
    };
    connect([None, None]);
    connect([Some(garbler_input()), Some(evaluator_input())])
}

/// Makes stock by two workers of each party: both of the garbler's workers are makers, and one of the
/// evaluator's.
///
/// # Panics
/// `home` makes the connections to the makers, whose messages are secret.
pub fn play_by_makers(
    ends: impl Fn() -> (Channel, Channel),
    home: impl Fn() -> (Channel, Channel) + Sync,
    secrets: &SharedSecrets,
) {
    let (program, folder) = (program(), tempfile::tempdir().expect("a temporary folder"));
    let steps = [stock_for(&program)];
    let (peers, others): (Vec<_>, Vec<_>) = (0..2).map(|_| watched(ends(), secrets)).unzip();
    let party = |party: Party, channel, mut here: Vec<Channel>| -> Result<(), Error> {
        let away = here.split_off(party as usize);
        let (lines, its): (Vec<_>, Vec<_>) = away.iter().map(|_| home()).unzip();
        std::thread::scope(|scope| {
            for (number, (line, peer)) in its.into_iter().zip(away).enumerate() {
                let makes = move || works(Maker::hear(line)?, peer, 2, noting(secrets, 1 + number));
                scope.spawn(move || assert_eq!(makes().expect("an honest maker"), 1));
            }
            let store = store(folder.path(), party)?;
            let session = stocked(party, channel, &store, &TERMS, Unobserved, noting(secrets, SESSION))?;
            session.preprocess_by_makers(&steps, here, lines)?.2.close().map(drop)
        })
    };
    let ((left, right), party) = (watched(ends(), secrets), &party);
    std::thread::scope(|scope| {
        scope.spawn(move || party(Party::Garbler, left, peers).expect("an honest garbler"));
        party(Party::Evaluator, right, others).expect("an honest evaluator");
    });
}

const IDENTITIES: [[u8; 32]; 2] = [[1; 32], [2; 32]];

const TERMS: Terms = Terms {
    security: Security::of(40),
    threads: 2,
    table_memory: TABLE_MEMORY,
    identities: IDENTITIES,
    post_quantum: false,
};

/// Returns the stock for a run of the program.
fn stock_for(program: &Program) -> Request {
    Request { ots: Some(program.input_width(Party::Evaluator)), ..Request::of(program) }
}

fn store(folder: &Path, party: Party) -> Result<Store, Error> {
    Store::open(&folder.join(format!("{party:?}")), &StoreKey::from_bytes([7; 32]))
}

/// Returns these ends of a channel with a hook that notes all sent bytes, because they are not secret.
fn watched((mut left, mut right): (Channel, Channel), secrets: &SharedSecrets) -> (Channel, Channel) {
    for channel in [&mut left, &mut right] {
        let secrets = secrets.clone();
        channel.set_tamper(Box::new(move |_, payload| {
            // Tables are large and contain no secret.
            if payload.len() < 100_000 {
                let mut secrets = secrets.lock().unwrap();
                let hasher = secrets.hasher.clone();
                let value = |window: &[u8]| u128::from_le_bytes(window.try_into().expect("16 bytes"));
                secrets.sent.extend(payload.windows(16).map(|window| hasher.hash_one(value(window))));
            }
        }));
    }
    (left, right)
}

/// Returns hooks that note secrets with this number of the reporter.
fn noting(secrets: &SharedSecrets, who: usize) -> Hooks {
    let secrets = secrets.clone();
    Hooks::lying(move |point, bytes| secrets.lock().unwrap().note(who, point, bytes))
}

/// Returns the secrets of a run, labels and offsets, with their names.
pub fn known(secrets: &SharedSecrets) -> HashMap<u128, &'static str> {
    secrets.lock().expect("no panic").finish()
}
