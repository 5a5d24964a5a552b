//! The setup of a session: the greeting, the OTs, the symbols of both hashes that the evaluator watches, and
//! the offset of all labels.

use brickwork_base::label::Delta;
use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::{Error, Party};
use brickwork_primitives::counters::Counters;
use brickwork_primitives::ihash::{
    self, Completion, Hashes, Receiver, Sender, Sight, SymbolCode, Unsent, Words,
};
use brickwork_primitives::ot::base::{self, Direction, SeriesKeys};
use brickwork_primitives::ot::{BASE_OTS, CotReceiver as _, CotSender as _, Series, extension};
use brickwork_protocol::{Digests, Greeting, Metered, PhaseReport, Terms};
use zeroize::Zeroizing;

use crate::buckets::Checks;
use crate::cheat::Cheat;
use crate::gates::{CompressedLabels, colour, compressed};
use crate::hooks::{Hooks, Point};
use crate::layout::Layout;
use crate::msg;
use crate::ots::{self, AllSeeds, Counts};
use crate::parameters::{COMPRESSED, HashLevel};
use crate::report::Jimu;

/// The points at which both parties evaluate words. These points are not points of the code, so no symbol
/// that is sent is a value at one of them.
pub(super) struct Points {
    /// The seeds of the points of labels, and of those of permutation messages.
    pub seeds: [Seed; 2],
    /// The points at which labels are compressed.
    pub compression: Unsent,
    /// The points at which labels are opened, as many as there are unwatched symbols. The points of the
    /// compression are first.
    pub openings: Unsent,
    /// The point of the permutation bits, at which permutation messages are opened.
    pub permutation: Unsent,
    /// A label of colour 1.
    pub unit: Words,
}

impl Points {
    /// Draws the points from the seed of labels and the seed of permutation messages.
    pub fn new(labels: &SymbolCode, permutations: &SymbolCode, seeds: [&Seed; 2]) -> Self {
        let hidden = |code: &SymbolCode| code.parameters().l() - code.parameters().w();
        let compression = labels.seeded_evaluation(seeds[0], COMPRESSED);
        let openings = labels.seeded_evaluation(seeds[0], hidden(labels));
        let permutation = permutations.seeded_evaluation(seeds[1], hidden(permutations));
        // Half of all words with a single bit 1 have colour 1.
        let units = |symbol: usize| {
            let mut word = Words::zeros(labels.parameters().l(), 1);
            word.symbols_mut(0)[symbol] = 1;
            word
        };
        let is_coloured = |word: &Words| colour(compressed(labels, &compression, word)[0]) == 1;
        let unit = (0..labels.parameters().l()).map(units).find(is_coloured);
        let unit = unit.unwrap_or_else(|| units(0));
        Points { seeds: seeds.map(Clone::clone), compression, openings, permutation, unit }
    }
}

pub(super) struct Garbler {
    pub run: Metered,
    pub rng: Rng,
    pub session: [u8; 32],
    pub level: HashLevel,
    /// Δ.
    pub offset: CompressedLabels,
    pub labels: Sender,
    pub permutations: Sender,
    pub points: Points,
    /// The OTs with the blocks of Δ as offsets.
    pub series: Vec<extension::Sender>,
    pub counters: Counters,
    pub hooks: Hooks,
}

pub(super) struct Evaluator {
    pub run: Metered,
    pub rng: Rng,
    pub session: [u8; 32],
    pub level: HashLevel,
    /// The hash of Δ.
    pub offset: Hashes,
    pub labels: Receiver,
    pub permutations: Receiver,
    pub points: Points,
    /// The matrices that compute opened labels from their hashes and values.
    pub completion: Completion,
    /// Converts words to the form in which results of gates are checked.
    pub sight: Sight,
    pub series: Vec<extension::Receiver>,
    /// The data for reading permutation messages with Δ.
    pub all_seeds: AllSeeds,
    pub counters: Counters,
    pub hooks: Hooks,
}

impl Garbler {
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.run.finish()
    }
}

impl Evaluator {
    pub fn close(self) -> Result<Vec<PhaseReport>, Error> {
        self.run.finish()
    }
}

/// Returns the OTs of a session's setup: those of the watched symbols, then those that check the offset.
pub(super) fn setup_ots(level: &HashLevel) -> Counts {
    let checking = level.checking_ots();
    Counts { ots: watched_ots(level) + checking, combinations: checking }
}

/// Returns the number of OTs for watched symbols: one for each symbol of both hashes.
pub(super) fn watched_ots(level: &HashLevel) -> usize {
    level.labels.n() + level.permutations.n()
}

/// The terms of a session's setup, on which both parties must agree, and its hashes.
#[derive(Clone, Copy)]
pub(super) struct SetupTerms {
    stock: bool,
    program: [u8; 32],
    level: HashLevel,
}

impl SetupTerms {
    /// Returns the terms for running a program.
    pub fn run(layout: &Layout) -> Self {
        SetupTerms { stock: false, program: layout.digest(), level: *layout.level() }
    }

    /// Returns the terms for filling a stock, before programs are known.
    pub fn stock(level: HashLevel) -> Self {
        SetupTerms { stock: true, program: [0; 32], level }
    }

    fn digests(&self) -> Digests {
        Digests { stock: self.stock, program: self.program, parameters: [0; 32] }
    }
}

pub(super) fn series(session: &[u8; 32], block: usize) -> Series {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 JIMU OTs of a block of labels");
    hasher.update(session).update(&(block as u64).to_le_bytes());
    Series::new(hasher.finalize().as_bytes(), Direction::GarblerSends).numbered(block)
}

/// Greets the peer. Returns the keys of the base OTs and the session. In the base OTs, the evaluator is the
/// sender, and the garbler has these choices.
fn base_ots(
    run: &mut Metered,
    hooks: &Hooks,
    terms: &Terms,
    purpose: &SetupTerms,
    choices: &[u8],
) -> Result<(SeriesKeys, [u8; 32]), Error> {
    let role = run.role;
    let greeting = Greeting::send::<Jimu>(&mut run.channel, role, terms, &purpose.digests())?;
    let (side, offered) = match role {
        Party::Garbler => (Direction::GarblerSends, 0),
        Party::Evaluator => (Direction::EvaluatorSends, BASE_OTS * purpose.level.blocks()),
    };
    if let Some(keys) = hooks.dealt(role, offered, choices) {
        run.channel.flush()?;
        return Ok((keys, run.answer(greeting)?.session));
    }
    let begun = base::BegunSeries::send(
        &mut run.channel,
        side,
        &greeting.digest(),
        choices,
        terms.post_quantum,
        terms.threads,
    )?;
    let answer = run.answer(greeting)?;
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, offered)?;
    Ok((keys, answer.session))
}

/// Sets a session up as the garbler.
pub(super) fn garbler(
    mut run: Metered,
    terms: &Terms,
    purpose: SetupTerms,
    hooks: Hooks,
) -> Result<Garbler, Error> {
    run.phase("setup");
    let (mut rng, level) = (Rng::new("brickwork JIMU garbler")?, purpose.level);
    let offsets: Zeroizing<Vec<Delta>> = Zeroizing::new((0..level.blocks()).map(|_| rng.delta()).collect());
    let bits = offsets.iter().flat_map(|offset| (0..BASE_OTS).map(move |i| (offset.bits() >> i) as u8 & 1));
    let choices: Zeroizing<Vec<u8>> = Zeroizing::new(bits.collect());
    let (keys, session) = base_ots(&mut run, &hooks, terms, &purpose, &choices)?;
    let mut all = Vec::new();
    for (block, (seeds, &offset)) in keys.received.chunks_exact(BASE_OTS).zip(&*offsets).enumerate() {
        let series = series(&session, block);
        all.push(extension::Sender::set_up(&mut run.channel, &series, offset, seeds)?);
    }
    let mut delta = Words::zeros(level.labels.l(), 1);
    delta.word_mut(0).iter_mut().zip(&*offsets).for_each(|(block, offset)| *block = offset.bits());
    garbler_of(run, rng, session, level, delta, all, hooks)
}

/// Continues after the OTs: both parties prove the watched symbols, and the garbler proves Δ.
fn garbler_of(
    mut run: Metered,
    mut rng: Rng,
    session: [u8; 32],
    level: HashLevel,
    mut delta: Words,
    mut series: Vec<extension::Sender>,
    mut hooks: Hooks,
) -> Result<Garbler, Error> {
    let channel = &mut run.channel;
    let (counts, watched) = (setup_ots(&level), watched_ots(&level));
    let unchecked = ots::garbler(channel, &mut series, counts, &mut rng)?;
    let ots = unchecked.check(channel, &session, delta.word(0))?;
    // No label becomes a key before this check, because an evaluator with different choices could find blocks
    // of Δ.
    let mut keys = ots::keys_offered(&mut series, &ots.range(0..watched))?;
    let ots = ots.range(watched..counts.ots);
    let of_permutations = keys.split_off(level.labels.n());
    let mut labels = Sender::set_up(channel, &level.labels, keys, level.hashes())?;
    let permutations = Sender::set_up(channel, &level.permutations, of_permutations, level.hashes())?;
    // The offset must have colour 1, so the points are drawn until it does.
    let mut wanted = [1];
    hooks.alter(Point::Colour, &mut wanted);
    let compression = loop {
        let seed = rng.seed();
        let points = labels.code().seeded_evaluation(&seed, COMPRESSED);
        if colour(compressed(labels.code(), &points, &delta)[0]) == wanted[0] {
            break seed;
        }
    };
    let point = rng.seed();
    channel.send(msg::POINTS, &[*compression.as_bytes(), *point.as_bytes()].concat())?;
    let points = Points::new(labels.code(), permutations.code(), [&compression, &point]);
    hooks.alter(Point::Offset, delta.word_mut(0));

    let chosen = Words::join(&[&ots, &delta]);
    let mut differences = labels.random(channel, chosen.count())?;
    let masks = labels.masks(channel)?;
    let seed = ihash::asked(channel)?;
    labels.prove(channel, &seed, &[&differences], masks)?;
    differences.add(&chosen);
    labels.chosen(channel, &differences)?;
    channel.flush()?;
    let offset = CompressedLabels::new(labels.code(), &points.compression, delta);
    Ok(Garbler {
        run,
        rng,
        session,
        level,
        offset,
        labels,
        permutations,
        points,
        series,
        counters: Counters::of_setup()?,
        hooks,
    })
}

/// Sets a session up as the evaluator.
pub(super) fn evaluator(
    mut run: Metered,
    terms: &Terms,
    purpose: SetupTerms,
    hooks: Hooks,
) -> Result<Evaluator, Error> {
    run.phase("setup");
    let rng = Rng::new("brickwork JIMU evaluator")?;
    let (keys, session) = base_ots(&mut run, &hooks, terms, &purpose, &[])?;
    let mut all = Vec::new();
    for (block, seeds) in keys.sent.chunks_exact(BASE_OTS).enumerate() {
        all.push(extension::Receiver::set_up(&mut run.channel, &series(&session, block), seeds)?);
    }
    evaluator_of(run, rng, session, purpose.level, all, hooks)
}

/// Continues after the OTs.
fn evaluator_of(
    mut run: Metered,
    mut rng: Rng,
    session: [u8; 32],
    level: HashLevel,
    mut series: Vec<extension::Receiver>,
    mut hooks: Hooks,
) -> Result<Evaluator, Error> {
    let channel = &mut run.channel;
    let watches = [Receiver::watch(&level.labels)?, Receiver::watch(&level.permutations)?];
    let mut watching = Zeroizing::new([watches[0].choices(), watches[1].choices()].concat());
    hooks.alter(Point::Watch, &mut watching);
    let (counts, watched) = (setup_ots(&level), watching.len());
    let made = ots::evaluator(channel, &mut series, counts, &watching, &mut rng, &mut hooks)?;
    let (choices, ots) = made.prove(channel, &session)?;
    let again = series.iter().map(extension::Receiver::keys_again).collect();
    let keys = ots::keys_chosen(&mut series, &ots.range(0..watched))?;
    let all_seeds = AllSeeds { labels: ots.range(level.labels.n()..watched), again };
    let (choices, ots) = (&choices[watched..], ots.range(watched..counts.ots));
    let (of_labels, of_permutations) = keys.split_at(level.labels.n());
    let [watch, of_messages] = watches;
    let mut labels = Receiver::set_up(channel, &level.labels, watch, of_labels, level.hashes())?;
    let permutations =
        Receiver::set_up(channel, &level.permutations, of_messages, of_permutations, level.hashes())?;
    let seeds = channel.receive(msg::POINTS, 2 * SEED_BYTES)?;
    let [compression, point] = [0, SEED_BYTES].map(|first| {
        Seed::from_bytes(*seeds[first..].first_chunk().expect("the message has the requested length"))
    });
    let points = Points::new(labels.code(), permutations.code(), [&compression, &point]);

    let count = ots.count() + 1;
    let (pending, masks) = (labels.random(channel, count)?, labels.masks(channel)?);
    let seed = ihash::ask(channel)?;
    let mut hashes = labels.verify(channel, &seed, vec![pending], masks)?.remove(0);
    hashes.add(&labels.hashes(&labels.chosen(channel, count)?));
    let offset = hashes.range(count - 1..count);
    let checks = Checks::new(&labels, &offset)?;
    checks.active(&hashes.range(0..count - 1), choices, &ots).map_err(|_| Cheat::OtOffset)?;
    let (completion, sight) = (labels.completion(&points.openings), labels.sight(&points.openings));
    Ok(Evaluator {
        run,
        rng,
        session,
        level,
        offset,
        labels,
        permutations,
        points,
        completion,
        sight,
        series,
        all_seeds,
        counters: Counters::of_setup()?,
        hooks,
    })
}
