//! What the two parties agree on before they start, and what a run reports: shared by all protocols.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use brickwork_base::Error;
use brickwork_base::random::Rng;
use brickwork_circuit::{Party, Program};
use brickwork_wire::{Channel, Tag};

/// Version of everything that two parties must have in common to understand each other.
pub const PROTOCOL_VERSION: u32 = 4;

/// Bytes of tables, and likewise of corrections of commitments, that an evaluator keeps in memory if it is
/// not told otherwise; of what it is told of copies and authenticators it keeps three times as much.
pub const TABLE_MEMORY: u64 = 64 << 20;

/// Bytes of what it is told of copies and authenticators, which all go to a temporary file if there are more.
pub fn told_memory(table_memory: u64) -> u64 {
    table_memory.saturating_mul(3)
}

/// Bytes of committed values that a garbler keeps in memory, which keeps no tables. It makes the others
/// again.
pub fn garbler_memory(table_memory: u64) -> u64 {
    table_memory.saturating_mul(2)
}

/// The computation that both parties must agree on; a peer with another one is refused before anything secret
/// is used.
#[derive(Clone)]
pub struct Job {
    /// What is computed, in a cut that both parties have. The garbler may propose another one.
    pub program: Arc<Program>,
    /// Statistical security s in bits: 40, 64 or 80.
    pub security: u32,
    /// Threads that this party uses, at least 1. Not part of the agreement.
    pub threads: usize,
    /// Most bytes of tables, and likewise of corrections of commitments, that the evaluator keeps in memory,
    /// and a third of those of what it is told of copies and authenticators; more go to temporary files. Not
    /// part of the agreement.
    pub table_memory: u64,
    /// The public keys of the garbler and the evaluator, as the transport authenticated them.
    pub identities: [[u8; 32]; 2],
}

impl Job {
    /// What the parties agree on apart from the program.
    pub fn terms(&self) -> Terms {
        Terms {
            security: self.security,
            threads: self.threads,
            table_memory: self.table_memory,
            identities: self.identities,
        }
    }
}

/// What both parties must agree on before it is known which program they will run.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Statistical security s in bits: 40, 64 or 80.
    pub security: u32,
    /// Threads that this party uses, at least 1. Not part of the agreement.
    pub threads: usize,
    /// Most bytes of tables, and likewise of corrections of commitments, that the evaluator keeps in memory,
    /// and a third of those of what it is told of copies and authenticators; more go to temporary files. Not
    /// part of the agreement.
    pub table_memory: u64,
    /// The public keys of the garbler and the evaluator, as the transport authenticated them.
    pub identities: [[u8; 32]; 2],
}

/// Is told how far a run is.
pub trait Observer: Send {
    /// A phase begins, or goes on after messages of other phases.
    fn phase(&mut self, name: &'static str);
    /// `done` of `total` bytes of all tables have passed: neither falls in a run. `total` is 0 where it is
    /// not known.
    fn progress(&mut self, done: u64, total: u64);
}

/// An observer that looks away.
pub struct Unobserved;

impl Observer for Unobserved {
    fn phase(&mut self, _: &'static str) {}
    fn progress(&mut self, _: u64, _: u64) {}
}

/// The phases of a run, in their order. Their messages take turns where flights are shared.
pub const PHASES: [&str; 6] = ["setup", "preprocess", "prepare", "build", "evaluate", "decode"];

/// The place of a phase in the order.
pub fn phase_order(name: &str) -> usize {
    PHASES.iter().position(|phase| *phase == name).unwrap_or(PHASES.len())
}

/// What one phase took.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseReport {
    /// setup, preprocess, prepare, build, evaluate or decode.
    pub name: &'static str,
    /// Wall time at this party.
    pub seconds: f64,
    /// Bytes that the garbler sent: payload and framing.
    pub garbler_sent_bytes: u64,
    /// Bytes that the evaluator sent.
    pub evaluator_sent_bytes: u64,
}

/// A connection with a stopwatch.
pub struct Run<'o> {
    /// The connection.
    pub channel: Channel,
    /// Which of the parties this one is.
    pub role: Party,
    observer: &'o mut dyn Observer,
    phases: Vec<PhaseReport>,
    /// Which of them is running.
    running: Option<usize>,
    started: Instant,
    bytes: [u64; 2],
    /// Bytes of tables that have passed, and all that are expected to.
    passed: u64,
    expected: u64,
}

impl<'o> Run<'o> {
    /// Starts the stopwatch of a party; `observer` is told of its phases.
    pub fn new(channel: Channel, role: Party, observer: &'o mut dyn Observer) -> Self {
        let bytes = [channel.sent_bytes(), channel.received_bytes()];
        let (started, phases) = (Instant::now(), Vec::new());
        Run { channel, role, observer, phases, running: None, started, bytes, passed: 0, expected: 0 }
    }

    /// What follows belongs to this phase, which may have run before: flights hold messages of several
    /// phases.
    pub fn phase(&mut self, name: &'static str) {
        self.end_phase();
        self.observer.phase(name);
        self.running = Some(self.phases.iter().position(|phase| phase.name == name).unwrap_or_else(|| {
            self.phases.push(PhaseReport {
                name,
                seconds: 0.0,
                garbler_sent_bytes: 0,
                evaluator_sent_bytes: 0,
            });
            self.phases.len() - 1
        }));
    }

    fn end_phase(&mut self) {
        let now = [self.channel.sent_bytes(), self.channel.received_bytes()];
        let [sent, received] = [now[0] - self.bytes[0], now[1] - self.bytes[1]];
        if let Some(running) = self.running {
            let phase = &mut self.phases[running];
            phase.seconds += self.started.elapsed().as_secs_f64();
            let (garblers, evaluators) =
                if self.role == Party::Garbler { (sent, received) } else { (received, sent) };
            phase.garbler_sent_bytes += garblers;
            phase.evaluator_sent_bytes += evaluators;
        }
        self.bytes = now;
        self.started = Instant::now();
    }

    /// So many bytes will pass. What is part of something that was announced as a whole does not count again.
    pub fn expect(&mut self, bytes: u64) {
        if self.passed >= self.expected {
            self.expected = self.passed.saturating_add(bytes);
        }
    }

    /// So many more bytes have passed.
    pub fn progress(&mut self, bytes: u64) {
        self.passed += bytes;
        self.observer.progress(self.passed, self.expected);
    }

    /// Hands what was sent to the network and stops. Returns what each phase took, in their order.
    ///
    /// # Errors
    /// [`Error::Io`] if the connection fails.
    pub fn finish(mut self) -> Result<Vec<PhaseReport>, Error> {
        self.channel.flush()?;
        self.end_phase();
        self.phases.sort_by_key(|phase| phase_order(phase.name));
        Ok(self.phases)
    }
}

/// Identifier of a session: a hash over both parties' nonces, their identities and everything they agree on.
pub type SessionId = [u8; 32];

/// The messages of the handshake.
pub mod msg {
    use brickwork_wire::Tag;

    /// Version, level, role, whether with stock, digests of program, parameters and identities, and a nonce.
    /// Both parties send it at once.
    pub const HELLO: Tag = Tag(1);
    /// A digest of what is done next. Both parties send it at once.
    pub const NEXT: Tag = Tag(2);
    /// Garbler: digest of the program as it is to be cut, and the name of this cut; none is the cut that both
    /// have.
    pub const DECOMPOSITION: Tag = Tag(4);
    /// Garbler: of each batch the size of a bucket and the number of opened items.
    pub const PROPOSAL: Tag = Tag(3);
}

const _: Tag = msg::HELLO;

/// What a handshake compares besides the terms.
pub struct Digests {
    /// Whether the parties come with stock.
    pub stock: bool,
    /// Of the program, or of what stands for it while there is none.
    pub program: [u8; 32],
    /// Of what the garbler proposes; zeros where it proposes nothing, and from the evaluator.
    pub parameters: [u8; 32],
}

/// What to say where the parties' programs differ.
pub const OTHER_PROGRAM: &str =
    "the peer's program is another one; compare `brickwork info` on both sides (also --executions and --map)";

/// Compares a digest of what both parties do next. Rounds: half of one, both ways at once.
///
/// # Errors
/// [`Error::Mismatch`] with `what` if the peer's is another one.
pub fn agree(channel: &mut Channel, digest: &[u8; 32], what: &str) -> Result<(), Error> {
    channel.send(msg::NEXT, digest)?;
    let theirs = channel.receive(msg::NEXT, digest.len())?;
    if theirs == digest { Ok(()) } else { Err(Error::Mismatch(what.into())) }
}

/// Fixed layout, 4 + 4 + 4 + 1 + 1 + 2 + 32 * 4 bytes.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Hello {
    magic: [u8; 4],
    version: [u8; 4],
    security: [u8; 4],
    role: u8,
    stock: u8,
    zero: [u8; 2],
    program: [u8; 32],
    parameters: [u8; 32],
    identities: [u8; 32],
    nonce: [u8; 32],
}

/// Bytes of a greeting.
pub const GREETING_BYTES: usize = size_of::<Hello>();

/// This party's greeting, sent. All that may differ is refused, so that nothing can be negotiated down. What
/// the garbler proposes is not compared here: the evaluator computes its bound.
pub struct Greeting {
    role: Party,
    security: u32,
    mine: Hello,
}

impl Greeting {
    /// Greets the peer.
    ///
    /// # Errors
    /// [`Error::Resource`] without randomness, [`Error::Io`] if the connection fails.
    pub fn send(channel: &mut Channel, role: Party, terms: &Terms, digests: &Digests) -> Result<Self, Error> {
        let mut nonce = [0; 32];
        Rng::new("brickwork session nonce")?.fill(&mut nonce);
        let mine = Hello {
            magic: *b"BRWK",
            version: PROTOCOL_VERSION.to_le_bytes(),
            security: terms.security.to_le_bytes(),
            role: role as u8,
            stock: digests.stock.into(),
            zero: [0; 2],
            program: digests.program,
            parameters: digests.parameters,
            identities: *blake3::hash(&terms.identities.concat()).as_bytes(),
            nonce,
        };
        channel.send(msg::HELLO, bytemuck::bytes_of(&mine))?;
        Ok(Greeting { role, security: terms.security, mine })
    }

    /// A digest of it, by which this party's messages are bound to it before the session has a name.
    pub fn digest(&self) -> [u8; 32] {
        digest(&self.mine)
    }

    /// Compares it with the peer's.
    ///
    /// # Errors
    /// [`Error::Mismatch`] that names what differs.
    pub fn answered(self, channel: &mut Channel) -> Result<Answer, Error> {
        let Greeting { role, security, mine } = self;
        let mut theirs = mine;
        channel.receive_first_into(msg::HELLO, bytemuck::bytes_of_mut(&mut theirs))?;
        let differs = [
            (theirs.magic != mine.magic, "the peer is no Brickwork".to_string()),
            (
                theirs.version != mine.version,
                format!(
                    "this is version {PROTOCOL_VERSION} of the protocol, the peer's is {}; install the same release on both sides",
                    u32::from_le_bytes(theirs.version)
                ),
            ),
            (
                theirs.role == mine.role,
                format!("both parties are {role:?}; one must be the garbler and one the evaluator"),
            ),
            (
                theirs.role > 1 || theirs.stock > 1 || theirs.zero != mine.zero,
                "the peer's greeting is malformed".to_string(),
            ),
            (
                theirs.stock != mine.stock,
                match mine.stock {
                    1 => "this party works with a store, and the peer was started without --store",
                    _ => "the peer works with a store, and this party was started without --store",
                }
                .to_string()
                    + "; give it on both sides or on neither",
            ),
            (
                theirs.security != mine.security,
                format!(
                    "--security is {security} here and {} at the peer",
                    u32::from_le_bytes(theirs.security)
                ),
            ),
            (theirs.program != mine.program, OTHER_PROGRAM.to_string()),
            (theirs.identities != mine.identities, "the peer believes in other identities".to_string()),
        ];
        if let Some((_, why)) = differs.into_iter().find(|(bad, _)| *bad) {
            return Err(Error::Mismatch(why));
        }
        let (garbler, evaluator) = if role == Party::Garbler { (&mine, &theirs) } else { (&theirs, &mine) };
        let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 session identifier");
        hasher.update(bytemuck::bytes_of(garbler)).update(bytemuck::bytes_of(evaluator));
        Ok(Answer {
            digest: digest(&theirs),
            parameters: theirs.parameters,
            session: *hasher.finalize().as_bytes(),
        })
    }
}

/// What the greetings gave.
pub struct Answer {
    /// Of the peer's greeting.
    pub digest: [u8; 32],
    /// What the peer says of the parameters: the garbler the digest of those that it proposes, an evaluator
    /// nothing, zeros.
    pub parameters: [u8; 32],
    /// The session's identifier.
    pub session: SessionId,
}

fn digest(hello: &Hello) -> [u8; 32] {
    blake3::derive_key("brickwork 2026-11 greeting", bytemuck::bytes_of(hello))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brickwork_wire::{FRAME_HEADER_BYTES, memory_pair};

    /// Flights hold messages of several phases: what each took is added up, at either party.
    #[test]
    fn a_report_counts_each_phase_once_and_in_order() {
        const TAG: Tag = Tag(7);
        for role in [Party::Garbler, Party::Evaluator] {
            let (left, mut peer) = memory_pair();
            let mut observer = Unobserved;
            let mut run = Run::new(left, role, &mut observer);
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
                reports.iter().map(|r| (r.name, r.garbler_sent_bytes, r.evaluator_sent_bytes)).collect();
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
        }
    }

    const TERMS: Terms = Terms { security: 40, threads: 1, table_memory: 0, identities: [[1; 32], [2; 32]] };

    /// What a party greeted with, its digest, and what it made of the other's greeting.
    type Greeted = (Vec<u8>, [u8; 32], Result<Answer, Error>);

    /// A garbler and an evaluator greet each other; one of the greetings may be altered on its way.
    fn greeted(alter: impl Fn(Party, &mut Vec<u8>) + Copy + Send + 'static) -> [Greeted; 2] {
        let (mut left, mut right) = memory_pair();
        let greet = |channel: &mut Channel, role: Party| {
            let (sent, seen) = std::sync::mpsc::channel();
            channel.set_tamper(Box::new(move |_, hello| {
                sent.send(hello.clone()).unwrap();
                alter(role, hello);
            }));
            let greeting = Greeting::send(
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

    /// What a session's secrets are bound to: both greetings, the garbler's first, each with its nonce. Fixed
    /// for good: a change is one of the protocol.
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
        assert_ne!(greeted(|_, _| ())[0].1, mine, "a nonce is drawn anew");
    }

    /// Who comes with a store and who without are told so, whichever of them it is.
    #[test]
    fn row_19_a_store_on_one_side_only_is_named() {
        for liar in [Party::Garbler, Party::Evaluator] {
            let [garbler, evaluator] = greeted(move |role, hello| hello[13] ^= u8::from(role == liar));
            let (told, other) =
                if liar == Party::Garbler { (evaluator.2, garbler.2) } else { (garbler.2, evaluator.2) };
            assert!(matches!(told, Err(Error::Mismatch(why)) if why.contains("peer works with a store")));
            assert!(other.is_ok());
        }
    }

    /// Each field by itself: of the role and the stock, which are 0 or 1, and of the padding every byte.
    #[test]
    fn row_19_each_field_of_a_greeting_counts() {
        for (byte, why) in [
            (0, "no Brickwork"),
            (7, "version"),
            (8, "--security"),
            (12, "malformed"),
            (13, "malformed"),
            (14, "malformed"),
            (15, "malformed"),
            (16, "program"),
            (47, "program"),
            (80, "identities"),
            (111, "identities"),
        ] {
            for liar in [Party::Garbler, Party::Evaluator] {
                let results = greeted(move |role, hello| hello[byte] ^= if role == liar { 2 } else { 0 });
                for (role, (_, _, result)) in [Party::Garbler, Party::Evaluator].into_iter().zip(results) {
                    match result {
                        Err(Error::Mismatch(reason)) => {
                            assert!(role != liar && reason.contains(why), "byte {byte}: {reason}")
                        }
                        result => assert!(role == liar && result.is_ok(), "byte {byte} is not looked at"),
                    }
                }
            }
        }
    }
}
