//! JIMU's computation with labels, offsets and permutation bits.

use std::hint::black_box;
use std::rc::Rc;

use brickwork::ProtocolError as Error;
use brickwork::circuit::{Builder, Circuit};
use brickwork::ihash::{self, HashParameters, Hashes, Receiver, Sender, SymbolCode, Unsent, Words};
use brickwork::jimu::adversary::AllSeeds;
use brickwork::jimu::buckets::{Checks, DeltaKnowledge, Translated, lowest_bits};
use brickwork::jimu::components::{ComponentGarbling, GivenWords};
use brickwork::jimu::gates::{CompressedLabels, GateHashKeys, LabelBuffer, VALUES, add_lefts, values_of};
use brickwork::jimu::parameters::{COMPRESSED, HashLevel};
use brickwork::ot::{Direction, Series, extension};
use brickwork::random::{Rng, Seed};
use brickwork::wire::{Channel, memory_pair};

use crate::subjects::{Subject, TimedCall, bits, secret, subject};

const GATES: usize = 64;
const BUCKET: usize = 4;

/// Returns words of whole blocks: fixed ones for class 0, and random ones for class 1.
fn words(class: bool, symbols: usize, count: usize, rng: &mut Rng) -> Words {
    let mut words = Words::zeros(symbols, count);
    words.data_mut().iter_mut().for_each(|block| *block = secret(class, rng));
    words
}

/// Runs both parties of a hash, and a further function for each party, on the two ends of a channel.
fn parties<T: Send>(
    parameters: &HashParameters,
    rng: &mut Rng,
    sends: impl FnOnce(&mut Sender, &mut Channel) -> Result<(), Error> + Send,
    receives: impl FnOnce(&mut Receiver, &mut Channel) -> Result<T, Error>,
) -> (Sender, Receiver, T) {
    let watch = Receiver::watch(parameters).expect("randomness");
    let pairs: Vec<[Seed; 2]> = (0..parameters.n()).map(|_| [rng.seed(), rng.seed()]).collect();
    let chosen = pairs.iter().zip(watch.choices()).map(|(pair, &bit)| pair[usize::from(bit)].clone());
    let chosen: Vec<Seed> = chosen.collect();
    let (mut left, mut right) = memory_pair();
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let mut sender = Sender::set_up(&mut left, parameters, pairs, 40)?;
            sends(&mut sender, &mut left)?;
            left.flush()?;
            Ok::<_, Error>(sender)
        });
        let mut receiver =
            Receiver::set_up(&mut right, parameters, watch, &chosen, 40).expect("an honest sender");
        let received = receives(&mut receiver, &mut right).expect("an honest sender");
        (sender.join().expect("no panic").expect("an honest receiver"), receiver, received)
    })
}

/// Returns a party that holds hashes.
fn receiver(parameters: &HashParameters, rng: &mut Rng) -> Receiver {
    parties(parameters, rng, |_, _| Ok(()), |_, _| Ok(())).1
}

/// Returns the seeds of all symbols, and a function that reads words with given seeds.
fn reader(parameters: &HashParameters, rng: &mut Rng) -> (Vec<Seed>, impl Fn(&[Seed]) -> Words + use<>) {
    let (sender, receiver, readable) = parties(
        parameters,
        rng,
        |sender, channel| {
            let (words, masks) = (sender.random(channel, GATES)?, sender.masks(channel)?);
            let seed = ihash::asked(channel)?;
            sender.prove(channel, &seed, &[&words], masks)
        },
        |receiver, channel| {
            let pending = receiver.readable(channel, GATES)?;
            let seed = ihash::ask(channel)?;
            receiver.verify_readable(channel, &seed, pending)
        },
    );
    let point = receiver.code().seeded_evaluation(&rng.seed(), 1);
    (sender.seeds().to_vec(), move |seeds: &[Seed]| readable.1.read(&receiver, seeds, &point))
}

/// Makes the seeds of all symbols from an offset of this many blocks.
fn all_seeds(symbols: usize, blocks: usize, rng: &mut Rng) -> AllSeeds {
    let again = (0..blocks).map(|block| {
        let series = Series::new(&[block as u8; 32], Direction::GarblerSends);
        let pairs: Vec<[Seed; 2]> = (0..128).map(|_| [rng.seed(), rng.seed()]).collect();
        extension::Receiver::new(&series, &pairs).expect("randomness").keys_again()
    });
    let again = again.collect();
    AllSeeds { labels: Words::random(16 * blocks, symbols, rng), again }
}

/// Copies of a component, in buckets.
struct Copies {
    garbling: ComponentGarbling,
    receiver: Receiver,
    openings: Unsent,
    inputs: usize,
    outputs: usize,
    symbols: usize,
}

/// The number of buckets.
const SLOTS: usize = 4;

impl Copies {
    fn new(level: &HashLevel, rng: &mut Rng) -> Self {
        let circuit = products();
        let receiver = receiver(&level.labels, rng);
        let hidden = level.labels.l() - level.labels.w();
        Copies {
            garbling: ComponentGarbling::new(&circuit, rng.block(), BUCKET * SLOTS, level.blocks()),
            openings: receiver.code().seeded_evaluation(&rng.seed(), hidden),
            receiver,
            inputs: circuit.inputs(),
            outputs: circuit.outputs().len(),
            symbols: level.labels.l(),
        }
    }

    /// Makes a call that garbles, with labels and offsets of either class.
    fn garble(self: &Rc<Self>, class: bool, rng: &mut Rng) -> TimedCall<'static> {
        let copies = self.clone();
        let numbers: Vec<u32> = (0..(BUCKET * SLOTS) as u32).collect();
        let blocks =
            |count: usize, rng: &mut Rng| -> Vec<u128> { (0..count).map(|_| secret(class, rng)).collect() };
        let count = numbers.len();
        let short: Vec<u128> = blocks(count, rng).into_iter().map(|block| block | 1).collect();
        let given = GivenWords {
            offsets: (short.into(), words(class, self.symbols, count, rng)),
            inputs: blocks(count * self.inputs, rng).into(),
            outputs: words(class, self.symbols, count * self.outputs, rng),
        };
        Box::new(move || {
            black_box(copies.garbling.garble(&numbers, &given).expect("a garbling"));
        })
    }

    /// Makes a call that evaluates, with input labels of either class; one copy of each bucket gives the
    /// other label, or the same.
    fn evaluate(self: &Rc<Self>, class: bool, rng: &mut Rng) -> TimedCall<'static> {
        let copies = self.clone();
        let numbers: Vec<u32> = (0..(BUCKET * SLOTS) as u32).collect();
        let (count, outputs) = (numbers.len(), self.outputs);
        let inputs: Vec<u128> = (0..count * self.inputs).map(|_| secret(class, rng)).collect();
        let mut tables = vec![0; count * self.garbling.table_bytes()];
        rng.fill(&mut tables);
        let [labels, own] = [outputs, 1].map(|each| Words::random(self.symbols, each * count, rng));
        let offset = Words::random(self.symbols, 1, rng);
        let hashed = [&labels, &own, &offset].map(|words| self.receiver.hashes(words));
        let mut results = labels;
        // One copy of each bucket gives the other label in class 1, the same in class 0.
        for k in (0..count * outputs).filter(|k| k / outputs % BUCKET == 1) {
            results.add_to(k, own.word(k / outputs), u8::from(class));
        }
        let solderings: Vec<[[u128; VALUES]; 2]> =
            (0..count * outputs).map(|_| [[rng.block(); VALUES], [rng.block(); VALUES]]).collect();
        let places: Vec<usize> = (0..count).collect();
        Box::new(move || {
            let Copies { garbling, receiver, openings, .. } = &*copies;
            let tables: Vec<&[u8]> = tables.chunks_exact(garbling.table_bytes()).collect();
            black_box(garbling.evaluate(&numbers, &inputs, &tables).expect("an evaluation"));
            let [hashed, own, offset] = &hashed;
            let checks = Checks::new(receiver, offset).expect("an offset");
            let own = own.select((0..count * outputs).map(|k| k / outputs));
            let (found, values) = (checks.kinds(hashed, Some(&own), &results), receiver.code());
            let values = values.at(openings, &results);
            let translated = Translated::of(
                &found,
                (outputs, &places),
                |k| values_of(&values, k),
                |at| (solderings[at][0], at as u8 & 1, solderings[at][1]),
            );
            let mut recovery = DeltaKnowledge::new(openings.count());
            let mut given = Vec::with_capacity(SLOTS * outputs);
            let judged = translated.judge((BUCKET, outputs), &mut recovery, |_, _, short, kind| {
                given.push((short, kind));
            });
            black_box((judged.is_ok(), given));
            black_box(recovery.offset());
        })
    }
}

/// Returns a circuit of four products of sums, of eight bits.
fn products() -> Circuit {
    let mut builder = Builder::new(8);
    let wires = builder.all_inputs();
    let outputs: Vec<_> = (0..4)
        .map(|k| {
            let (sum, other) =
                (builder.xor(wires[k], wires[7 - k]), builder.xor(wires[k], wires[(k + 1) % 8]));
            builder.and(sum, other)
        })
        .collect();
    builder.finish(&outputs).expect("a circuit")
}

/// Makes the subjects. They are gates with labels of either class, labels with bits of either class, and
/// buckets of gates or of copies that give one label or two.
pub fn subjects() -> Vec<Subject> {
    let mut rng = Rng::new("constant time of JIMU").expect("randomness");
    let level = HashLevel::of(40).expect("a level");
    let (code, symbols, blocks) = (Rc::new(SymbolCode::new(&level.labels)), level.labels.l(), level.blocks());
    let compression: Rc<Unsent> = Rc::new(code.seeded_evaluation(&rng.seed(), COMPRESSED));
    let garbling = Rc::new(GateHashKeys::new(rng.block(), GATES, blocks));

    let (of_garbling, of_code, of_points) = (garbling.clone(), code.clone(), compression.clone());
    let garble = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let (garbling, code, points) = (of_garbling.clone(), of_code.clone(), of_points.clone());
        let (offset, operands) = (words(class, symbols, 1, rng), words(class, symbols, 2 * GATES, rng));
        let offset = CompressedLabels::new(&code, &points, offset);
        Box::new(move || {
            let operands = CompressedLabels::new(&code, &points, operands);
            black_box(garbling.garble(0, &offset, &operands));
        })
    };
    let evaluate = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let (garbling, code, points) = (garbling.clone(), code.clone(), compression.clone());
        let [left, right] = [(); 2].map(|()| words(class, symbols, GATES, rng));
        let (gates, rows) = ((0..GATES as u32).collect::<Vec<_>>(), Words::random(symbols, 2 * GATES, rng));
        Box::new(move || {
            let [l, r] = [left, right].map(|labels| CompressedLabels::new(&code, &points, labels));
            let short: Vec<[u128; 2]> = l.short.iter().zip(&*r.short).map(|(&l, &r)| [l, r]).collect();
            let (mut room, mut outputs) = (LabelBuffer::default(), Words::zeros(symbols, GATES));
            garbling.evaluate(&gates, &short, &rows, |k| k, (&mut room, outputs.data_mut()));
            add_lefts(&mut outputs, &l.wide, &short);
            black_box(outputs);
        })
    };
    let choose = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let (mut labels, offset) = (Words::random(symbols, GATES, rng), Words::random(symbols, 1, rng));
        let bits = bits(class, GATES, rng);
        Box::new(move || {
            labels.add_where(offset.word(0), &bits);
            black_box(lowest_bits(&labels));
        })
    };
    let receiver = Rc::new(receiver(&level.labels, &mut rng));
    let hidden = level.labels.l() - level.labels.w();
    let sight = Rc::new(receiver.sight(&receiver.code().seeded_evaluation(&rng.seed(), hidden)));
    let judge = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let (receiver, sight) = (receiver.clone(), sight.clone());
        let offset = Words::random(symbols, 1, rng);
        let labels = Words::random(symbols, GATES, rng);
        let [hashed_offset, outputs]: [Hashes; 2] = [&offset, &labels].map(|words| receiver.hashes(words));
        let mut results = labels.select((0..BUCKET * GATES).map(|k| k / BUCKET));
        // One gate of each bucket gives the other label in class 1, the same in class 0.
        (0..GATES).for_each(|k| results.add_to(BUCKET * k + 1, offset.word(0), u8::from(class)));
        Box::new(move || {
            let checks = Checks::new(&receiver, &hashed_offset).expect("an offset");
            let mut recovery = DeltaKnowledge::new(hidden);
            let (results, heads) = (sight.of(&results), sight.hashes(&outputs));
            let mut labels = sight.zeros(GATES);
            let judged = checks.judging(&sight).judge(
                BUCKET,
                results.data(),
                |slot| heads.word(slot),
                &mut recovery,
                |slot, label, kind| labels.add_to(slot, label, kind),
            );
            black_box((judged.is_ok(), labels));
            black_box(recovery.offset());
        })
    };
    let of_copies = Rc::new(Copies::new(&level, &mut rng));
    let (garbled, evaluated) = (of_copies.clone(), of_copies);
    let garble_copies = move |class: bool, rng: &mut Rng| garbled.garble(class, rng);
    let evaluate_copies = move |class: bool, rng: &mut Rng| evaluated.evaluate(class, rng);
    let (symbols_of_messages, before) = (level.permutations.n(), level.labels.n());
    let of_offset = Rc::new(all_seeds(symbols_of_messages, blocks, &mut rng));
    let all_seeds = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        let (all, choices) = (of_offset.clone(), bits(class, symbols_of_messages, rng));
        let delta: Vec<u128> = (0..blocks).map(|_| secret(class, rng)).collect();
        Box::new(move || {
            black_box(all.with(before, &choices, &delta));
        })
    };
    let (seeds, reader) = reader(&level.permutations, &mut rng);
    let reader = Rc::new(reader);
    let read = move |class: bool, rng: &mut Rng| -> TimedCall<'static> {
        // The seeds of class 1 are the right ones, as if the offset was known. Those of class 0 are random.
        let others: Vec<Seed> = seeds.iter().map(|_| rng.seed()).collect();
        let (reader, seeds) = (reader.clone(), if class { seeds.clone() } else { others });
        Box::new(move || {
            black_box(reader(&seeds));
        })
    };
    vec![
        subject("JIMU: garble gates", garble),
        subject("JIMU: evaluate gates", evaluate),
        subject("JIMU: choose labels", choose),
        subject("JIMU: buckets with one label or two", judge),
        subject("JIMU: garble copies", garble_copies),
        subject("JIMU: evaluate copies, with one label or two", evaluate_copies),
        subject("JIMU: the seeds of all symbols by an offset", all_seeds),
        subject("JIMU: read messages with all seeds or with others", read),
    ]
}
