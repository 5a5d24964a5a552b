//! The greeting, the OTs, and what the evaluator watches of both hashes.

use brickwork_base::random::{Rng, SEED_BYTES, Seed};
use brickwork_base::{Error, Party};
use brickwork_primitives::ihash::{Code, Receiver, Sender, Unsent};
use brickwork_primitives::ot::base::{self, Direction};
use brickwork_primitives::ot::{BASE_OTS, CotReceiver as _, CotSender as _, Series, extension};
use brickwork_session::{Digests, Greeting, Job, Metered, PhaseReport};
use zeroize::Zeroizing;

use crate::gates::{Garbling, Wide};
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

pub(super) fn garbler(mut run: Metered, job: &Job, layout: &Layout) -> Result<Garbler, Error> {
    run.phase("setup");
    let mut rng = Rng::new("brickwork JIMU garbler")?;
    let mut delta = Wide::zeros(layout.blocks(), 1);
    let offsets: Zeroizing<Vec<Delta>> = Zeroizing::new((0..layout.blocks()).map(|_| rng.delta()).collect());
    delta.label_mut(0).iter_mut().zip(&*offsets).for_each(|(block, offset)| *block = offset.bits());
    let bits = offsets.iter().flat_map(|offset| (0..BASE_OTS).map(move |i| (offset.bits() >> i) as u8 & 1));
    let choices: Zeroizing<Vec<u8>> = Zeroizing::new(bits.collect());
    let greeting = Greeting::send::<Jimu>(&mut run.channel, Party::Garbler, &job.terms(), &digests(layout))?;
    let side = Direction::GarblerSends;
    let begun = base::Begun::send(&mut run.channel, side, &greeting.digest(), &choices, job.threads)?;
    let answer = greeting.answered(&mut run.channel)?;
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, 0)?.received;
    let session = answer.session;
    let mut all = Vec::new();
    for (block, (seeds, &offset)) in keys.chunks_exact(BASE_OTS).zip(&*offsets).enumerate() {
        let series = series(&session, block);
        all.push(extension::Sender::set_up(&mut run.channel, &series, offset, seeds)?);
    }
    let watched = Zeroizing::new(all[0].extend(&mut run.channel, layout.watched_ots())?);
    let mut keys = all[0].keys(&watched)?;
    let ots = ots::garbler(&mut run.channel, layout, &session, &mut all, &mut rng, delta.label(0))?;
    let level = layout.level();
    let of_permutations = keys.split_off(level.labels.n());
    let security = level.hashes();
    let labels = Sender::set_up(&mut run.channel, &level.labels, keys, security)?;
    let permutations = Sender::set_up(&mut run.channel, &level.permutations, of_permutations, security)?;
    // The offset must have colour 1, so the points are drawn until it has.
    let compression = loop {
        let seed = rng.seed();
        if Garbling::colour(labels.code(), &seed, &delta) == 1 {
            break seed;
        }
    };
    let point = rng.seed();
    run.channel.send(msg::POINTS, &[*compression.as_bytes(), *point.as_bytes()].concat())?;
    let points = Points { compression, permutation: permutation_point(permutations.code(), &point) };
    Ok(Garbler { run, rng, session, delta, labels, permutations, points, ots })
}

fn permutation_point(code: &Code, seed: &Seed) -> Unsent {
    code.drawn_evaluation(seed, 1)
}

pub(super) fn evaluator(mut run: Metered, job: &Job, layout: &Layout) -> Result<Evaluator, Error> {
    run.phase("setup");
    let mut rng = Rng::new("brickwork JIMU evaluator")?;
    let level = layout.level();
    let watches = [Receiver::watch(&level.labels)?, Receiver::watch(&level.permutations)?];
    let greeting =
        Greeting::send::<Jimu>(&mut run.channel, Party::Evaluator, &job.terms(), &digests(layout))?;
    let side = Direction::EvaluatorSends;
    let begun = base::Begun::send(&mut run.channel, side, &greeting.digest(), &[], job.threads)?;
    let answer = greeting.answered(&mut run.channel)?;
    let count = BASE_OTS * layout.blocks();
    let keys = begun.receive(&mut run.channel, &answer.digest, &answer.session, count)?.sent;
    let session = answer.session;
    let mut all = Vec::new();
    for (block, seeds) in keys.chunks_exact(BASE_OTS).enumerate() {
        all.push(extension::Receiver::set_up(&mut run.channel, &series(&session, block), seeds)?);
    }
    let choices = Zeroizing::new([watches[0].choices(), watches[1].choices()].concat());
    let watched = Zeroizing::new(all[0].extend(&mut run.channel, &choices)?);
    let keys = all[0].keys(&watched)?;
    let (choices, ots) = ots::evaluator(&mut run.channel, layout, &session, &mut all, &mut rng)?;
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
    Ok(Evaluator { run, session, labels, permutations, points, choices, ots })
}
