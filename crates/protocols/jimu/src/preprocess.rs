//! Gates and authenticators are made and hashed; some of them are opened, the others go into buckets.

use std::ops::Range;

use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::{Error, Party};
use brickwork_primitives::cut_and_choose::Challenge;
use brickwork_primitives::ihash::{Hashes, Symbols, chosen_bytes};

use crate::authenticators::{self, Hashed};
use crate::buckets::{self, HashedWires, Wires, permutation_bits};
use crate::cheat::Cheat;
use crate::gates::{Garbling, Labels, Wide};
use crate::hooks::Point;
use crate::layout::Layout;
use crate::msg;
use crate::setup::{Evaluator, Garbler};

/// Bytes of the start of the hash keys.
pub(super) const START: usize = 16;

/// Where the words of a draw lie: of labels, and of permutation messages, which are fewer.
struct Draw {
    /// Left, right, and of the outputs of all gates.
    gates: [Range<usize>; 3],
    /// The garbler's inputs.
    inputs: Range<usize>,
    authenticators: Range<usize>,
    /// Labels alone: of OTs, and the offset.
    ots: Range<usize>,
    offset: Range<usize>,
}

impl Draw {
    fn of(layout: &Layout) -> Self {
        let mut next = 0;
        let mut take = |count: usize| {
            next += count;
            next - count..next
        };
        let gates = [(); 3].map(|()| take(layout.gates()));
        let inputs = take(layout.inputs(Party::Garbler));
        let authenticators = take(layout.authenticators());
        Draw { gates, inputs, authenticators, ots: take(layout.hashed_ots()), offset: take(1) }
    }
}

/// Returns how many labels and how many permutation messages are drawn.
pub(super) fn drawn(layout: &Layout) -> [usize; 2] {
    let draw = Draw::of(layout);
    [draw.offset.end, draw.authenticators.end]
}

/// Returns how many labels and how many permutation messages are chosen in the place of drawn ones.
pub(super) fn chosen(layout: &Layout) -> [usize; 2] {
    [layout.gates() + layout.hashed_ots() + 1, layout.authenticators()]
}

fn numbers(range: &Range<usize>) -> Vec<usize> {
    range.clone().collect()
}

/// What the evaluator wants to see, and where the rest goes.
pub(super) struct Choice {
    /// Gates in buckets, one bucket after the other.
    pub gates: Vec<usize>,
    /// Authenticators in buckets, likewise.
    pub authenticators: Vec<usize>,
    opened: Vec<u32>,
    /// The bits on which opened gates are looked at, left ones and right ones.
    bits: [Vec<u8>; 2],
    opened_authenticators: Vec<usize>,
}

impl Choice {
    pub fn expand(seed: &Seed, layout: &Layout) -> Self {
        let mut rng = Rng::expand(seed, "brickwork JIMU challenge");
        let (opened, gates) = Challenge::draw(&mut rng, &layout.sizes.gates).into_parts();
        let bits = [(); 2].map(|()| opened.iter().map(|_| rng.below(2) as u8).collect());
        let (other, authenticators) = Challenge::draw(&mut rng, &layout.sizes.authenticators).into_parts();
        let places = |numbers: Vec<u32>| numbers.into_iter().map(|k| k as usize).collect();
        Choice {
            gates: places(gates),
            authenticators: places(authenticators),
            opened,
            bits,
            opened_authenticators: places(other),
        }
    }

    /// The bit of each wire of the opened gates: left, right, outputs.
    fn opened_bits(&self) -> Vec<u8> {
        let [left, right] = &self.bits;
        let outputs = left.iter().zip(right).map(|(a, b)| a & b);
        left.iter().copied().chain(right.iter().copied()).chain(outputs).collect()
    }

    fn opened(&self) -> Vec<usize> {
        self.opened.iter().map(|&gate| gate as usize).collect()
    }
}

/// What the garbler has of gates and authenticators.
pub(super) struct Made {
    pub offset: Labels,
    pub garbling: Garbling,
    /// Left, right, outputs.
    pub gates: [Wires; 3],
    pub inputs: Wires,
    pub authenticators: (Wide, Symbols),
    pub choice: Choice,
}

/// What the evaluator has.
pub(super) struct Received {
    pub offset: Hashes,
    pub garbling: Garbling,
    pub gates: [HashedWires; 3],
    pub tables: Wide,
    pub inputs: HashedWires,
    /// Hashes of labels of the evaluator's inputs.
    pub own: Hashes,
    pub authenticators: Hashed,
    pub choice: Choice,
}

/// Of what the evaluator has, all that was opened is right: who has this may use the rest.
pub(super) struct Checked(Received);

impl std::ops::Deref for Checked {
    type Target = Received;

    fn deref(&self) -> &Received {
        &self.0
    }
}

/// Makes them, and opens what the evaluator chooses.
pub(super) fn garbler(party: &mut Garbler, layout: &Layout) -> Result<Made, Error> {
    party.run.phase("preprocess");
    let Garbler { run, rng, session, delta, labels, permutations, points, ots, hooks } = party;
    let (draw, [count, messages]) = (Draw::of(layout), drawn(layout));
    let words = labels.random(&mut run.channel, count)?;
    let rho = permutations.random(&mut run.channel, messages)?;
    let start = rng.block();
    let garbling = Garbling::new(labels.code().clone(), &points.compression, start, layout.gates());
    let offset = garbling.compress(delta.clone());
    let wires = |range: &Range<usize>| Wires {
        labels: Wide::of(&words.select(&numbers(range))),
        permutations: rho.select(&numbers(range)),
    };
    let [left, right, mut outputs] = draw.gates.each_ref().map(&wires);
    let bits =
        |wires: &Wires| permutation_bits(permutations.code(), &points.permutation, &wires.permutations);
    let false_labels = |wires: &Wires| {
        let mut labels = wires.labels.clone();
        bits(wires).iter().enumerate().for_each(|(k, &bit)| labels.add(k, delta.label(0), bit));
        garbling.compress(labels)
    };
    let (mut made, mut tables) = garbling.garble(&offset, &false_labels(&left), &false_labels(&right));
    hooks.alter(Point::GateOutputs, made.blocks_mut());
    hooks.alter(Point::Tables, tables.blocks_mut());
    hooks.alter(Point::OtLabels, ots.blocks_mut());
    bits(&outputs).iter().enumerate().for_each(|(k, &bit)| made.add(k, delta.label(0), bit));
    // Labels that are not drawn: of gates' outputs, of OTs, and the offset.
    let places = [numbers(&draw.gates[2]), numbers(&draw.ots), numbers(&draw.offset)].concat();
    let chosen = Symbols::join(&[&made.words(), &ots.words(), &delta.words()]);
    labels.chosen(&mut run.channel, words.select(&places), &chosen)?;
    outputs.labels = made;
    let inputs = wires(&draw.inputs);
    let own = Wide::of(&words.select(&numbers(&draw.authenticators)));
    let all: Vec<u64> = (0..layout.authenticators() as u64).collect();
    let mut from = own.clone();
    hooks.alter(Point::AuthenticatorOffsets, from.blocks_mut());
    let follow = authenticators::permutations(session, permutations.code(), &all, &from);
    permutations.chosen(&mut run.channel, rho.select(&numbers(&draw.authenticators)), &follow)?;
    let mut message = run.channel.message(msg::GATES);
    message.push(&start.to_le_bytes())?;
    message.push(tables.bytes())?;
    message.finish()?;

    let seed = run.channel.receive(msg::CHALLENGE, SEED_BYTES)?;
    let seed = Seed::from_bytes(*seed.first_chunk().expect("as many as asked for"));
    let choice = Choice::expand(&seed, layout);
    let opened = choice.opened();
    let gates = [left, right, outputs];
    let shown = gates.each_ref().map(|wires| wires.permutations.select(&opened));
    let shown = Symbols::join(&shown.each_ref());
    let flips = permutation_bits(permutations.code(), &points.permutation, &shown);
    let mut active = Wide::zeros(layout.blocks(), shown.count());
    for (k, (bit, flip)) in choice.opened_bits().into_iter().zip(&*flips).enumerate() {
        active.add(k, gates[k / opened.len()].labels.label(opened[k % opened.len()]), 1);
        active.add(k, delta.label(0), bit ^ flip);
    }
    run.channel.send(msg::OPENED_PERMUTATIONS, &permutations.code().pack(&shown))?;
    run.channel.send(msg::OPENED_LABELS, active.bytes())?;
    let offsets = own.select(choice.opened_authenticators.iter().copied());
    run.channel.send(msg::OPENED_OFFSETS, offsets.bytes())?;
    Ok(Made { offset, garbling, gates, inputs, authenticators: (own, follow), choice })
}

/// Receives them, and chooses what is opened.
pub(super) fn evaluator(party: &mut Evaluator, layout: &Layout) -> Result<Received, Error> {
    party.run.phase("preprocess");
    let Evaluator { run, labels, permutations, points, choices, ots, hooks, .. } = party;
    let (draw, [count, messages]) = (Draw::of(layout), drawn(layout));
    let words = labels.random(&mut run.channel, count)?;
    let rho = permutations.random(&mut run.channel, messages)?;
    let places = [numbers(&draw.gates[2]), numbers(&draw.ots), numbers(&draw.offset)].concat();
    let chosen = labels.chosen(&mut run.channel, words.select(&places))?;
    let [made, rest] =
        [0..layout.gates(), layout.gates()..chosen.count()].map(|r| chosen.select(&numbers(&r)));
    let hashed_ots = rest.select(&(0..layout.hashed_ots()).collect::<Vec<_>>());
    let offset = rest.select(&[layout.hashed_ots()]);
    let follow = permutations.chosen(&mut run.channel, rho.select(&numbers(&draw.authenticators)))?;
    let message = run.channel.receive(msg::GATES, START + 2 * 16 * layout.blocks() * layout.gates())?;
    let (start, rows) = message.split_at(START);
    let start = u128::from_le_bytes(*start.first_chunk().expect("as many as asked for"));
    let tables = Wide::from_bytes(layout.blocks(), rows);
    let garbling = Garbling::new(labels.code().clone(), &points.compression, start, layout.gates());
    let wires = |range: &Range<usize>| HashedWires {
        labels: words.select(&numbers(range)),
        permutations: rho.select(&numbers(range)),
    };
    let [left, right, mut outputs] = draw.gates.each_ref().map(&wires);
    outputs.labels = made;
    let gates = [left, right, outputs];
    let inputs = wires(&draw.inputs);
    let authenticators =
        Hashed { permutations: follow, offsets: words.select(&numbers(&draw.authenticators)) };
    drop(words);

    let checks = buckets::Checks::new(labels, permutations, &points.permutation, &offset)?;
    checks.active(&hashed_ots, choices, ots).map_err(|_| Cheat::OtOffset)?;
    let mut seed = *Rng::new("brickwork JIMU challenge")?.seed().as_bytes();
    hooks.alter(Point::Challenge, &mut seed);
    let seed = Seed::from_bytes(seed);
    run.channel.send(msg::CHALLENGE, seed.as_bytes())?;
    let choice = Choice::expand(&seed, layout);
    let own = hashed_ots.select(&(0..layout.inputs(Party::Evaluator)).collect::<Vec<_>>());
    Ok(Received { offset, garbling, gates, tables, inputs, own, authenticators, choice })
}

/// Checks what is opened.
pub(super) fn check(party: &mut Evaluator, layout: &Layout, received: Received) -> Result<Checked, Error> {
    party.run.phase("preprocess");
    let Evaluator { run, session, labels, permutations, points, .. } = party;
    let (choice, opened) = (&received.choice, received.choice.opened());
    let (count, blocks) = (opened.len(), layout.blocks());
    let packed = run
        .channel
        .receive(msg::OPENED_PERMUTATIONS, chosen_bytes(&layout.level().permutations, 3 * count))?;
    let rho = permutations.code().unpack(3 * count, &packed);
    let active = run.channel.receive(msg::OPENED_LABELS, 3 * count * 16 * blocks)?;
    let active = Wide::from_bytes(blocks, &active);
    let others = choice.opened_authenticators.len();
    let offsets = run.channel.receive(msg::OPENED_OFFSETS, others * 16 * blocks)?;
    let offsets = Wide::from_bytes(blocks, &offsets);

    let checks = buckets::Checks::new(labels, permutations, &points.permutation, &received.offset)?;
    let hashed = |side: &HashedWires| HashedWires {
        labels: side.labels.select(&opened),
        permutations: side.permutations.select(&opened),
    };
    let [l, r, o] = received.gates.each_ref().map(hashed);
    let hashed = HashedWires {
        labels: Hashes::join(&[&l.labels, &r.labels, &o.labels]),
        permutations: Hashes::join(&[&l.permutations, &r.permutations, &o.permutations]),
    };
    let flips = checks.opened(&hashed.permutations, &rho)?;
    let bits: Vec<u8> = choice.opened_bits().into_iter().zip(&*flips).map(|(bit, flip)| bit ^ flip).collect();
    checks.active(&hashed.labels, &bits, &active)?;
    let side = |k: usize| active.select(k * count..(k + 1) * count);
    let (l, r) = (received.garbling.compress(side(0)), received.garbling.compress(side(1)));
    let tables = received.tables.select(rows(&opened));
    received.garbling.check(&choice.opened, &l, &r, &tables, &side(2))?;

    let checks = authenticators::Checks { session, labels, permutations, point: &points.permutation };
    let places = &choice.opened_authenticators;
    let hashed = Hashed {
        permutations: received.authenticators.permutations.select(places),
        offsets: received.authenticators.offsets.select(places),
    };
    let numbers: Vec<u64> = places.iter().map(|&k| k as u64).collect();
    checks.opened(&numbers, &hashed, &offsets)?;
    Ok(Checked(received))
}

/// Returns the places of both rows of gates.
pub(super) fn rows(gates: &[usize]) -> impl ExactSizeIterator<Item = usize> {
    (0..2 * gates.len()).map(|k| 2 * gates[k / 2] + k % 2)
}
