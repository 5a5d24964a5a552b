//! The subjects: all code that computes with an offset, a label, a choice bit or an indicator bit, and three
//! functions that show whether the machine is quiet enough.

use std::hint::black_box;
use std::io::{self, Read, Write};
use zeroize::Zeroizing;

use brickwork::authenticator::{AuthenticatorKind, Hasher};
use brickwork::commit::code::BinaryCode;
use brickwork::commit::split;
use brickwork::commit::{Claims, Lsb, Receiver as _, Sender as _};
use brickwork::disk::StoreKey;
use brickwork::label::{Delta, Label};
use brickwork::ot::{CotReceiver as _, CotSender as _, Direction, Series, base, extension, softspoken};
use brickwork::random::{Rng, Seed};
use brickwork::solder::{GarblerWire, Soldering};
use brickwork::wire::tls::Identity;
use brickwork::wire::{Channel, Stream, memory_pair};
use brickwork_kernels::{
    Aes128, And, GateList, GateListBuilder, HashKeys, Kernel, ONE, WalkLabels, complete_tree, sum_where,
};

/// A call that is ready to be timed.
pub type TimedCall<'a> = Box<dyn FnOnce() + 'a>;

/// A function to time, with a secret of class 0, which is fixed, or of class 1, which is random.
pub struct Subject {
    pub name: String,
    pub prepare: Prepare,
}

/// Makes a call with a secret of a class.
pub type Prepare = Box<dyn FnMut(bool, &mut Rng) -> TimedCall<'static>>;

pub fn subject(
    name: impl Into<String>,
    prepare: impl FnMut(bool, &mut Rng) -> TimedCall<'static> + 'static,
) -> Subject {
    Subject { name: name.into(), prepare: Box::new(prepare) }
}

/// Returns a secret of its class.
pub fn secret(class: bool, rng: &mut Rng) -> u128 {
    let random = rng.block();
    if class { random } else { 0 }
}

pub fn bits(class: bool, count: usize, rng: &mut Rng) -> Vec<u8> {
    let mut random = vec![0; count];
    rng.fill(&mut random);
    random.iter().map(|b| if class { b & 1 } else { 0 }).collect()
}

/// Makes the subject of a comparison that stops at the first difference; the fixed label is equal.
pub fn leaky_comparison() -> Subject {
    subject("a comparison that stops early", |class, rng| {
        let labels: Vec<u128> = (0..64).map(|_| secret(class, rng)).collect();
        Box::new(move || {
            let equal = labels.iter().filter(|label| {
                let bytes = label.to_le_bytes();
                (0..16).all(|i| black_box(bytes[i]) == 0)
            });
            black_box(equal.count());
        })
    })
}

/// Makes the subject of a branch on the colour of a label.
pub fn leaky_branch() -> Subject {
    subject("a branch on the colour", |class, rng| {
        let labels: Vec<u128> = (0..64).map(|_| secret(class, rng)).collect();
        Box::new(move || {
            let mut sum = 0u128;
            for &label in &labels {
                if black_box(label & 1) == 1 {
                    sum = black_box(sum ^ label).rotate_left(7);
                }
            }
            black_box(sum);
        })
    })
}

/// Makes a subject without a leak: both classes are the same.
pub fn nothing() -> Subject {
    subject("the same on both sides", |_, rng| {
        let labels: Vec<u128> = (0..64).map(|_| rng.block()).collect();
        Box::new(move || {
            black_box(labels.iter().fold(0, |sum, label| black_box(sum ^ label)));
        })
    })
}

/// Returns a script of 64 AND gates and as many XORs over 16 inputs.
fn script() -> GateList {
    let mut builder = GateListBuilder::new(145);
    for batch in 0..8u32 {
        let base = 1 + 16 * batch;
        (0..8).for_each(|i| builder.xor(base + i, base + 15 - i, base + 16 + i));
        let ands: Vec<And> = (0..8)
            .map(|i| And { a: base + i, b: base + 8 + i, out: base + 24 + i, gate: 8 * batch + i })
            .collect();
        builder.layer(&ands);
    }
    builder.finish()
}

const GATES: usize = 64;

/// Makes the subjects of the garbling loops of one kernel for a number of copies: garbling with offsets and
/// labels of either class, evaluation with labels of either class.
pub fn garbling(kernel: Kernel, lanes: usize) -> Vec<Subject> {
    let wires = move |class: bool, rng: &mut Rng, script: &GateList| {
        let mut wires = WalkLabels::new(script, lanes);
        for lane in 0..lanes {
            wires.set(ONE, lane, secret(class, rng) | 1);
            (1..17).for_each(|slot| wires.set(slot, lane, secret(class, rng)));
        }
        wires
    };
    let garble = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let script = script();
        let (mut wires, key) = (wires(class, rng, &script), [Aes128::with_kernel(kernel, rng.block())]);
        let mut tables = vec![vec![0u8; 32 * GATES]; lanes];
        Box::new(move || {
            let mut tables: Vec<&mut [u8]> = tables.iter_mut().map(|t| &mut t[..]).collect();
            wires.garble(kernel, &script, 0, HashKeys { keys: &key, gates_per_key: GATES }, &mut tables);
            black_box(&tables);
        })
    };
    let evaluate = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let script = script();
        let (mut wires, key) = (wires(class, rng, &script), [Aes128::with_kernel(kernel, rng.block())]);
        let mut tables = vec![vec![0u8; 32 * GATES]; lanes];
        tables.iter_mut().for_each(|t| rng.fill(t));
        Box::new(move || {
            let tables: Vec<&[u8]> = tables.iter().map(|t| &t[..]).collect();
            wires.evaluate(kernel, &script, 0, HashKeys { keys: &key, gates_per_key: GATES }, &tables);
            black_box(wires.get(1, 0));
        })
    };
    let name = |what: &str| format!("{what}, {} for {lanes}", kernel.name());
    vec![subject(name("garble"), garble), subject(name("evaluate"), evaluate)]
}

/// Makes the subjects of wires, solderings and authenticators, with labels of either class.
pub fn labels() -> Vec<Subject> {
    const COUNT: usize = 256;
    let carry = |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let wire = |rng: &mut Rng| GarblerWire { value: rng.label(), delta: rng.delta() };
        let (from, to) = (wire(rng), wire(rng));
        let (soldering, offsets) = (Soldering::new(from.value, to), from.delta.label() ^ to.delta.label());
        let labels: Vec<Label> = (0..COUNT).map(|_| Label::from_bits(secret(class, rng))).collect();
        Box::new(move || {
            for &label in &labels {
                black_box(soldering.carry(black_box(label), offsets).bits());
            }
        })
    };
    let solder = |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let wire = |rng: &mut Rng| GarblerWire {
            value: Label::from_bits(secret(class, rng)),
            delta: Delta::new(secret(class, rng)),
        };
        let wires: Vec<[GarblerWire; 2]> = (0..COUNT).map(|_| [wire(rng), wire(rng)]).collect();
        Box::new(move || {
            for &[from, to] in &wires {
                black_box(Soldering::new(black_box(from).value, black_box(to)).opening().bits());
            }
        })
    };
    let input = |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let wire = GarblerWire { value: rng.label(), delta: rng.delta() };
        let bits = bits(class, COUNT, rng);
        Box::new(move || {
            for &bit in &bits {
                black_box(wire.of_bit(black_box(bit)).bits());
            }
        })
    };
    // The label of class 0 is accepted and that of class 1 refused, for both colours.
    let accept = |class: bool, rng: &mut Rng, by_colour: bool| -> TimedCall<'static> {
        let hasher = Hasher::new(&[3; 32], AuthenticatorKind::Plain);
        let wires: Vec<(Label, Delta)> =
            (0..COUNT).map(|_| (rng.label().with_colour(0), rng.delta())).collect();
        let authenticators = hasher.authenticators(COUNT, |i| (i as u64, wires[i].0, wires[i].1));
        let labels: Vec<Label> = wires
            .iter()
            .map(|&(base, delta)| {
                let random = rng.label();
                match (by_colour, class) {
                    (false, true) => random,
                    (false, false) => base ^ delta.times(random.colour()),
                    (true, true) => base ^ delta,
                    (true, false) => base,
                }
            })
            .collect();
        Box::new(move || drop(black_box(hasher.accepts(COUNT, |i| (authenticators[i], i as u64, labels[i])))))
    };
    let make = |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let hasher = Hasher::new(&[3; 32], AuthenticatorKind::Input);
        let deltas: Vec<Delta> = (0..COUNT).map(|_| Delta::new(secret(class, rng))).collect();
        Box::new(move || drop(black_box(hasher.false_labels(COUNT, |i| (i as u64, deltas[i])))))
    };
    vec![
        subject("carry a label along a soldering", carry),
        subject("make a soldering", solder),
        subject("choose the label of an input bit", input),
        subject("authenticators, accepted or refused", move |class, rng| accept(class, rng, false)),
        subject("authenticators, either colour", move |class, rng| accept(class, rng, true)),
        subject("labels that authenticate themselves", make),
    ]
}

/// A peer that always sends the same messages.
struct Replay {
    bytes: Vec<u8>,
    position: usize,
}

impl Read for Replay {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = buffer.len().min(self.bytes.len() - self.position);
        buffer[..n].copy_from_slice(&self.bytes[self.position..self.position + n]);
        self.position += n;
        Ok(n)
    }
}

impl Write for Replay {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        black_box(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Replay {}

/// Returns a channel that receives these messages.
fn replay(messages: &[(u8, &[u8])]) -> Channel {
    let mut bytes = Vec::new();
    for (tag, payload) in messages {
        bytes.push(*tag);
        bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes.extend_from_slice(payload);
    }
    Channel::new(vec![Box::new(Replay { bytes, position: 0 })])
}

fn random_bytes(count: usize, rng: &mut Rng) -> Vec<u8> {
    let mut bytes = vec![0; count];
    rng.fill(&mut bytes);
    bytes
}

/// Returns both ends of a series of SoftSpokenOT, from random base OTs.
fn grown(series: &Series, offset: u128, rng: &mut Rng) -> (softspoken::Sender<4>, softspoken::Receiver<4>) {
    let delta = Delta::new(offset);
    let pairs: Vec<[Seed; 2]> = (0..128).map(|_| [rng.seed(), rng.seed()]).collect();
    let choice = |i: usize| (delta.bits() >> i & 1) as usize;
    let seeds: Vec<Seed> = pairs.iter().enumerate().map(|(i, pair)| pair[choice(i)].clone()).collect();
    let (mut left, mut right) = memory_pair();
    let receiver = softspoken::Receiver::set_up(&mut right, series, &pairs).expect("randomness");
    let sender = softspoken::Sender::set_up(&mut left, series, delta, &seeds).expect("an honest peer");
    (sender, receiver)
}

/// Makes the subjects of OTs and commitments, each against a peer that sends random bytes. The time must not
/// depend on the secret, whether the check after it passes or fails.
pub fn protocols() -> Vec<Subject> {
    let seeds = |count: usize, rng: &mut Rng| -> Vec<Seed> { (0..count).map(|_| rng.seed()).collect() };
    let series = Series::new(&[1; 32], Direction::GarblerSends);
    let sender = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let delta = Delta::new(secret(class, rng));
        let mut sender = extension::Sender::new(&series, delta, &seeds(128, rng));
        let (rows, check) = (random_bytes(2048 * 3, rng), random_bytes(2064, rng));
        let mut channel = replay(&[(extension::msg::ROWS.0, &rows), (extension::msg::CHECK.0, &check)]);
        Box::new(move || assert!(sender.extend(&mut channel, 256).is_err(), "random rows pass the check"))
    };
    let receiver = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let pairs: Vec<[Seed; 2]> = (0..128).map(|_| [rng.seed(), rng.seed()]).collect();
        let mut receiver = extension::Receiver::new(&series, &pairs).expect("randomness");
        let choices = bits(class, 256, rng);
        let mut channel = replay(&[]);
        Box::new(move || {
            drop(black_box(receiver.extend(&mut channel, &choices).expect("nothing is received")))
        })
    };
    // The trees come from another party: completing the trees must take the same time for every offset, too.
    let trees = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let delta = Delta::new(secret(class, rng));
        let (seeds, setup) = (seeds(128, rng), random_bytes(4128, rng));
        let mut channel = replay(&[(softspoken::msg::TREES.0, &setup)]);
        Box::new(move || {
            let refused = softspoken::Sender::<4>::set_up(&mut channel, &series, delta, &seeds).is_err();
            assert!(refused, "random trees pass the check")
        })
    };
    let folds = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let (mut sender, _) = grown(&series, secret(class, rng), rng);
        let (rows, check) = (random_bytes(31 * 16 * 3, rng), random_bytes(2064, rng));
        let mut channel = replay(&[(softspoken::msg::ROWS.0, &rows), (softspoken::msg::CHECK.0, &check)]);
        let mut keys = vec![Label::ZERO; 256];
        Box::new(move || {
            let refused = sender.random_bits(&mut channel, &mut keys).is_err();
            assert!(refused, "random rows pass the check")
        })
    };
    let chosen = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let (_, mut receiver) = grown(&series, rng.block(), rng);
        let choices = bits(class, 256, rng);
        let mut channel = replay(&[]);
        Box::new(move || {
            drop(black_box(receiver.extend(&mut channel, &choices).expect("nothing is received")))
        })
    };
    // The sender's message about trees is public; the path in each tree is secret.
    let path = |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let path = (secret(class, rng) >> 64) as usize % 1024;
        let (key, known) = (Aes128::new(rng.block()), (0..10).map(|_| rng.block()).collect::<Vec<u128>>());
        let (mut leaves, values) = (vec![0; 1024], (0..1024).map(|_| rng.block()).collect::<Vec<u128>>());
        Box::new(move || {
            complete_tree(Kernel::best(), &key, path, &known, &mut leaves);
            let _ = black_box(sum_where(Kernel::best(), &leaves, &values));
        })
    };
    let base_receiver = |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let instance = base::Instance::new(&[1; 32], base::Direction::EvaluatorSends);
        let choices = bits(class, 2, rng);
        let mut rng = Rng::expand(&rng.seed(), "base OT");
        Box::new(move || drop(black_box(base::curve::Receiver::new(&instance, &choices, &mut rng, 1))))
    };
    let lattice_receiver = |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let instance = base::Instance::new(&[1; 32], base::Direction::EvaluatorSends);
        let choices = bits(class, 2, rng);
        let mut rng = Rng::expand(&rng.seed(), "base OT");
        Box::new(move || drop(black_box(base::lattice::Receiver::new(&instance, &choices, &mut rng, 1))))
    };
    let commit_sender = |rng: &mut Rng| {
        let code = BinaryCode::for_security(40).expect("it is offered");
        let pairs: Vec<[Seed; 2]> = (0..code.length()).map(|_| [rng.seed(), rng.seed()]).collect();
        split::Sender::new(code, &pairs, u64::MAX)
    };
    let values = |class: bool, rng: &mut Rng| -> Vec<Label> {
        (0..256).map(|_| Label::from_bits(secret(class, rng))).collect()
    };
    let commit = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let (mut sender, values, mut channel) = (commit_sender(rng), values(class, rng), replay(&[]));
        Box::new(move || drop(black_box(sender.commit(&mut channel, &values).expect("nothing is received"))))
    };
    let prove = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let (mut sender, values) = (commit_sender(rng), values(class, rng));
        let mut channel = replay(&[(split::msg::SEED.0, &random_bytes(16, rng))]);
        let committed = sender.commit(&mut channel, &values).expect("nothing is received");
        Box::new(move || {
            sender.prove(&mut channel, &[(&committed).into()], &Claims::new()).expect("a seed is received")
        })
    };
    let commit_receiver = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let code = BinaryCode::for_security(40).expect("it is offered");
        let watch = bits(class, code.length(), rng);
        let mut commit_receiver =
            split::Receiver::new(code, &seeds(code.length(), rng), &watch, u64::MAX).expect("randomness");
        let corrections = random_bytes(16 * code.length() * 2, rng);
        let mut channel = replay(&[(split::msg::CORRECTIONS.0, &corrections)]);
        Box::new(move || {
            drop(black_box(commit_receiver.receive(&mut channel, 256).expect("any correction is taken")))
        })
    };
    let verify = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let code = BinaryCode::for_security(40).expect("it is offered");
        let watch = bits(class, code.length(), rng);
        let mut commit_receiver =
            split::Receiver::new(code, &seeds(code.length(), rng), &watch, u64::MAX).expect("randomness");
        let corrections = random_bytes(16 * (code.length() - 128), rng);
        let answer = random_bytes(16 * (code.length() + 128), rng);
        let messages = [
            (split::msg::CORRECTIONS.0, &corrections[..]),
            (split::msg::CORRECTIONS.0, &corrections),
            (split::msg::ANSWER.0, &answer),
        ];
        let mut channel = replay(&messages);
        let pending =
            commit_receiver.receive_random(&mut channel, 128, Lsb::Random).expect("any correction is taken");
        Box::new(move || assert!(commit_receiver.verify(&mut channel, &[&pending], &Claims::new()).is_err()))
    };
    vec![
        subject("OT extension, sender's offset", sender),
        subject("OT extension, receiver's choices", receiver),
        subject("SoftSpokenOT, sender's offset: trees", trees),
        subject("SoftSpokenOT, sender's offset: rows", folds),
        subject("SoftSpokenOT, receiver's choices", chosen),
        subject("PCG, receiver's paths: trees and errors", path),
        subject("base OT, receiver's choices", base_receiver),
        subject("base OT from lattices, receiver's choices", lattice_receiver),
        subject("commitments, values: corrections", commit),
        subject("commitments, values: a proof", prove),
        subject("commitments, watch bits: corrections", commit_receiver),
        subject("commitments, watch bits: a proof", verify),
    ]
}

/// Makes the subjects of keys as text. Random texts have random digits, so a branch or a table for letters
/// would be detected.
pub fn keys() -> Vec<Subject> {
    // The secrets of both classes are made in the same way, so that they are equally well cached.
    let fixed_hex = "5e".repeat(32);
    let hex = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let fresh = [rng.block(), rng.block()].map(|block| format!("{block:032x}")).concat();
        let text = [&fixed_hex, &fresh][usize::from(class)].clone();
        Box::new(move || drop(black_box(StoreKey::from_hex(&text).expect("64 digits"))))
    };
    let (_, fixed) = Identity::generate().expect("randomness");
    let pem = move |class: bool, _: &mut Rng| -> TimedCall<'static> {
        let (_, fresh) = Identity::generate().expect("randomness");
        let text = Zeroizing::new(if class { fresh.to_string() } else { fixed.to_string() });
        Box::new(move || drop(black_box(Identity::from_pem(&text).expect("a key"))))
    };
    vec![subject("read a store's key", hex), subject("read a private key", pem)]
}
