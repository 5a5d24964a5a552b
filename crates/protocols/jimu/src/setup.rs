//! The greeting, the OTs, and what the evaluator watches of both hashes.

use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::{Error, Party};
use brickwork_primitives::ihash::{Code, Receiver, Sender, Unsent};
use brickwork_primitives::ot::base::{self, Direction, Keys};
use brickwork_primitives::ot::{BASE_OTS, CotReceiver as _, CotSender as _, Series, extension};
use brickwork_session::{Digests, Greeting, Job, Metered, PhaseReport};
use zeroize::Zeroizing;

use crate::gates::{Garbling, Wide};
use crate::hooks::{Hooks, Point};
use crate::layout::Layout;
use crate::report::Jimu;
use crate::{msg, ots};
use brickwork_base::label::Delta;

/// The points that both parties take from where no symbol is sent.
pub(super) struct Points {
    /// Those by which labels are compressed, by their seed.
    pub compression: Seed,
    /// That of the permutation bits.
    pub permutation: Unsent,
}

/// The garbler of a run.
pub(super) struct Garbler {
    pub run: Metered,
    pub rng: Rng,
    pub session: [u8; 32],
    /// Δ.
    pub delta: Wide,
    pub labels: Sender,
    pub permutations: Sender,
    pub points: Points,
    /// Of the OTs with the offset Δ: the labels of choice 0.
    pub ots: Wide,
    pub hooks: Hooks,
}

/// The evaluator of a run.
pub(super) struct Evaluator {
    pub run: Metered,
    pub session: [u8; 32],
    pub labels: Receiver,
    pub permutations: Receiver,
    pub points: Points,
    /// The choices in these OTs, and their labels.
    pub choices: Zeroizing<Vec<u8>>,
    pub ots: Wide,
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

fn digests(layout: &Layout) -> Digests {
    Digests { stock: false, program: layout.digest(), parameters: [0; 32] }
}

/// The series for a block of labels.
fn series(session: &[u8; 32], block: usize) -> Series {
    let mut hasher = blake3::Hasher::new_derive_key("brickwork 2026-11 JIMU OTs of a block of labels");
    hasher.update(session).update(&(block as u64).to_le_bytes());
    Series::new(hasher.finalize().as_bytes(), Direction::GarblerSends)
}

/// Greets the peer. Returns the keys of the base OTs, which the evaluator offers and in which the garbler has
/// these choices, and the session.
fn base_ots(
    run: &mut Metered,
    hooks: &Hooks,
    job: &Job,
    layout: &Layout,
    choices: &[u8],
) -> Result<(Keys, [u8; 32]), Error> {
    let role = run.role;
    let greeting = Greeting::send::<Jimu>(&mut run.channel, role, &job.terms(), &digests(layout))?;
    let (side, offered) = match role {
        Party::Garbler => (Direction::GarblerSends, 0),
        Party::Evaluator => (Direction::EvaluatorSends, BASE_OTS * layout.blocks()),
    };
    if let Some(keys) = hooks.dealt(role, offered, choices) {
        run.channel.flush()?;
        return Ok((keys, greeting.answered(&mut run.channel)?.session));
    }
    let begun = base::Begun::send(
        &mut run.channel,
        side,
        &greeting.digest(),
        choices,
        job.post_quantum,
        job.threads,
    )?;
    let answer = greeting.answered(&mut run.channel)?;
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, offered)?;
    Ok((keys, answer.session))
}

pub(super) fn garbler(
    mut run: Metered,
    job: &Job,
    layout: &Layout,
    mut hooks: Hooks,
) -> Result<Garbler, Error> {
    run.phase("setup");
    let mut rng = Rng::new("brickwork JIMU garbler")?;
    let mut delta = Wide::zeros(layout.blocks(), 1);
    let offsets: Zeroizing<Vec<Delta>> = Zeroizing::new((0..layout.blocks()).map(|_| rng.delta()).collect());
    delta.label_mut(0).iter_mut().zip(&*offsets).for_each(|(block, offset)| *block = offset.bits());
    let bits = offsets.iter().flat_map(|offset| (0..BASE_OTS).map(move |i| (offset.bits() >> i) as u8 & 1));
    let choices: Zeroizing<Vec<u8>> = Zeroizing::new(bits.collect());
    let (keys, session) = base_ots(&mut run, &hooks, job, layout, &choices)?;
    let mut all = Vec::new();
    for (block, (seeds, &offset)) in keys.received.chunks_exact(BASE_OTS).zip(&*offsets).enumerate() {
        let series = series(&session, block);
        all.push(extension::Sender::set_up(&mut run.channel, &series, offset, seeds)?);
    }
    let mut keys = ots::keys_offered(&mut run.channel, &mut all, layout.watched_ots())?;
    let ots = ots::garbler(&mut run.channel, layout, &session, &mut all, &mut rng, delta.label(0))?;
    let level = layout.level();
    let of_permutations = keys.split_off(level.labels.n());
    let security = level.hashes();
    let labels = Sender::set_up(&mut run.channel, &level.labels, keys, security)?;
    let permutations = Sender::set_up(&mut run.channel, &level.permutations, of_permutations, security)?;
    // The offset must have colour 1, so the points are drawn until it has.
    let mut colour = [1];
    hooks.alter(Point::Colour, &mut colour);
    let compression = loop {
        let seed = rng.seed();
        if Garbling::colour(labels.code(), &seed, &delta) == colour[0] {
            break seed;
        }
    };
    let point = rng.seed();
    run.channel.send(msg::POINTS, &[*compression.as_bytes(), *point.as_bytes()].concat())?;
    let points = Points { compression, permutation: permutation_point(permutations.code(), &point) };
    hooks.alter(Point::Offset, delta.label_mut(0));
    Ok(Garbler { run, rng, session, delta, labels, permutations, points, ots, hooks })
}

fn permutation_point(code: &Code, seed: &Seed) -> Unsent {
    code.drawn_evaluation(seed, 1)
}

pub(super) fn evaluator(
    mut run: Metered,
    job: &Job,
    layout: &Layout,
    mut hooks: Hooks,
) -> Result<Evaluator, Error> {
    run.phase("setup");
    let mut rng = Rng::new("brickwork JIMU evaluator")?;
    let level = layout.level();
    let watches = [Receiver::watch(&level.labels)?, Receiver::watch(&level.permutations)?];
    let (keys, session) = base_ots(&mut run, &hooks, job, layout, &[])?;
    let mut all = Vec::new();
    for (block, seeds) in keys.sent.chunks_exact(BASE_OTS).enumerate() {
        all.push(extension::Receiver::set_up(&mut run.channel, &series(&session, block), seeds)?);
    }
    let mut choices = Zeroizing::new([watches[0].choices(), watches[1].choices()].concat());
    hooks.alter(Point::Watch, &mut choices);
    let keys = ots::keys_chosen(&mut run.channel, &mut all, &choices)?;
    let (choices, ots) = ots::evaluator(&mut run.channel, layout, &session, &mut all, &mut rng, &mut hooks)?;
    let (of_labels, of_permutations) = keys.split_at(level.labels.n());
    let [labels, permutations] = watches;
    let security = level.hashes();
    let labels = Receiver::set_up(&mut run.channel, &level.labels, labels, of_labels, security)?;
    let permutations =
        Receiver::set_up(&mut run.channel, &level.permutations, permutations, of_permutations, security)?;
    let seeds = run.channel.receive(msg::POINTS, 2 * SEED_BYTES)?;
    let [compression, point] = [0, SEED_BYTES]
        .map(|first| Seed::from_bytes(*seeds[first..].first_chunk().expect("as many as asked for")));
    let points = Points { compression, permutation: permutation_point(permutations.code(), &point) };
    Ok(Evaluator { run, session, labels, permutations, points, choices, ots, hooks })
}
